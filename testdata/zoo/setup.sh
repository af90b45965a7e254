#!/usr/bin/env bash
# Brings up the zoo: real MCP servers, written by others, every version pinned.
#   testdata/zoo/setup.sh DIR
# Fails when any install fails. What is there already, with the same pins, is not installed again.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: setup.sh DIR}"
ZOO=$(cd "$1" && pwd)
mkdir -p "$ZOO"/{logs,py,bin,home,work/repo}
PYTHON=$(command -v python3.11 || command -v python3)
UV_VERSION=0.13.9

# once NAME HASHED-FILE COMMAND...: runs the command unless it has succeeded before with the same file.
once() {
  local name=$1 stamp="$ZOO/.done-$1" hash
  hash=$(sha256sum <"$2" | cut -d' ' -f1)
  shift 2
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$hash" ]; then return; fi
  local began=$SECONDS
  if ! "$@" >"$ZOO/logs/$name.log" 2>&1; then
    echo "zoo: installing $name failed:" >&2
    tail -n 40 "$ZOO/logs/$name.log" >&2
    exit 1
  fi
  echo "$hash" >"$stamp"
  echo "zoo: $name installed in $((SECONDS - began)) s"
}

install_uv() { "$PYTHON" -m venv "$ZOO/uv" && "$ZOO/uv/bin/pip" install --quiet "uv==$UV_VERSION"; }

install_npm() {
  mkdir -p "$ZOO/npm"
  cp "$HERE/npm/package.json" "$HERE/npm/package-lock.json" "$ZOO/npm/"
  (cd "$ZOO/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
}

install_python() {
  "$ZOO/uv/bin/uv" venv --quiet --allow-existing --python "$PYTHON" "$ZOO/py/$1"
  "$ZOO/uv/bin/uv" pip install --quiet --python "$ZOO/py/$1/bin/python" --requirement "$HERE/py/$1.txt"
}

install_rmcp() {
  CARGO_TARGET_DIR="$ZOO/cargo-target" cargo build --quiet --release --locked --manifest-path "$HERE/rmcp-server/Cargo.toml"
  cp "$ZOO/cargo-target/release/zoo-rmcp-server" "$ZOO/bin/"
  rm -rf "$ZOO/cargo-target"
}

once uv "$HERE/setup.sh" install_uv
once npm "$HERE/npm/package-lock.json" install_npm
for server in time git fetch atlassian grafana; do
  once "$server" "$HERE/py/$server.txt" install_python "$server"
done
cat "$HERE/rmcp-server/Cargo.lock" "$HERE/rmcp-server/src/main.rs" >"$ZOO/.rmcp-sources"
once rmcp "$ZOO/.rmcp-sources" install_rmcp
[ -d "$ZOO/work/repo/.git" ] || git init --quiet "$ZOO/work/repo"

# The configurations, for the client and for the gate: credentials by reference, as a careful user writes them.
"$PYTHON" - "$ZOO" <<'PY'
import json, sys
zoo = sys.argv[1]
node = lambda package, *rest: {"command": "node", "args": [f"{zoo}/npm/node_modules/@modelcontextprotocol/{package}/dist/index.js", *rest]}
python = lambda name, program, *rest: {"command": f"{zoo}/py/{name}/bin/{program}", "args": list(rest)}
variables = lambda *names: {"env": {name: "${%s}" % name for name in names}}
atlassian = ["JIRA_URL", "JIRA_USERNAME", "JIRA_API_TOKEN", "CONFLUENCE_URL", "CONFLUENCE_USERNAME", "CONFLUENCE_API_TOKEN"]
stdio = {
    "everything": node("server-everything"),
    "filesystem": node("server-filesystem", f"{zoo}/work"),
    "memory": node("server-memory"),
    "time": python("time", "mcp-server-time"),
    "git": python("git", "mcp-server-git", "--repository", f"{zoo}/work/repo"),
    "fetch": python("fetch", "mcp-server-fetch"),
    "atlassian": python("atlassian", "mcp-atlassian") | variables(*atlassian),
    "grafana": python("grafana", "mcp-grafana") | variables("GRAFANA_URL", "GRAFANA_SERVICE_ACCOUNT_TOKEN"),
    "rmcp": {"command": f"{zoo}/bin/zoo-rmcp-server"},
}
http = {
    "everything-http": {"type": "http", "url": "http://127.0.0.1:${EVERYTHING_PORT}/mcp"},
    "rmcp-http": {"type": "http", "url": "http://127.0.0.1:${RMCP_PORT}/mcp"},
}
npx = {"everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything@2026.8.31"]}}
for name, servers in {"mcp": stdio, "http": http, "npx": npx}.items():
    with open(f"{zoo}/{name}.json", "w") as file:
        json.dump({"mcpServers": servers}, file, indent=2)
PY
echo "zoo: ready in $ZOO"
