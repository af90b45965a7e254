#!/usr/bin/env bash
# Brings up the zoo: real MCP servers, written by others, every version pinned.
#   testdata/zoo/setup.sh DIR
# Fails when any install fails. What is there already, with the same pins, is not installed again.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: setup.sh DIR}"
ZOO=$(cd "$1" && pwd)
mkdir -p "$ZOO"/{logs,npm,js2,py,bin,home,work/repo}
PYTHON=$(command -v python3.11 || command -v python3)
UV_VERSION=0.13.9
# A virtual environment holds absolute paths and belongs to one interpreter: in another place it is made anew.
SALT="$ZOO, $("$PYTHON" --version), node $(node --version)"

# One at a time in the same folder.
exec 9>"$ZOO/.lock"
flock 9

# once NAME PRODUCT PINS... -- COMMAND...: runs the command, unless it has made PRODUCT from the same files PINS before.
once() {
  local name=$1 product=$2 stamp="$ZOO/.done-$1" pins=() hash status=0 began=$SECONDS
  shift 2
  while [ "$1" != -- ]; do pins+=("$1"); shift; done
  shift
  hash=$( (echo "$SALT" && cat "${pins[@]}") | sha256sum | cut -d' ' -f1)
  if [ -e "$product" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$hash" ]; then return; fi
  rm -f "$stamp"
  # A shell of its own and no condition around it: in `if COMMAND` a function goes on after a line that has failed.
  set +e
  (set -e; "$@") >"$ZOO/logs/$name.log" 2>&1 9>&-
  status=$?
  set -e
  if [ "$status" -ne 0 ] || [ ! -e "$product" ]; then
    echo "zoo: installing $name failed ($status):" >&2
    tail -n 40 "$ZOO/logs/$name.log" >&2
    exit 1
  fi
  echo "$hash" >"$stamp"
  echo "zoo: $name installed in $((SECONDS - began)) s"
}

install_uv() {
  "$PYTHON" -m venv --clear "$ZOO/uv"
  "$ZOO/uv/bin/pip" install --quiet "uv==$UV_VERSION"
}

install_npm() {
  cp "$HERE/$1"/package.json "$HERE/$1"/package-lock.json "$ZOO/$1/"
  cd "$ZOO/$1"
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

# Exactly what the file says: nothing is resolved, and what would be missing or does not fit together is an error.
install_python() {
  "$ZOO/uv/bin/uv" venv --quiet --clear --python "$PYTHON" "$ZOO/py/$1"
  "$ZOO/uv/bin/uv" pip sync --quiet --python "$ZOO/py/$1/bin/python" "$HERE/py/$1.txt"
  "$ZOO/uv/bin/uv" pip check --quiet --python "$ZOO/py/$1/bin/python"
}

install_rmcp() {
  rm -rf "$ZOO/cargo-target"
  CARGO_TARGET_DIR="$ZOO/cargo-target" nice cargo build --quiet --release --locked --manifest-path "$HERE/rmcp-server/Cargo.toml"
  mv "$ZOO/cargo-target/release/zoo-rmcp-server" "$ZOO/bin/"
  rm -rf "$ZOO/cargo-target"
}

echo "$UV_VERSION" >"$ZOO/.uv-version"
once uv "$ZOO/uv/bin/uv" "$ZOO/.uv-version" -- install_uv
for project in npm js2; do
  once "$project" "$ZOO/$project/node_modules" "$HERE/$project/package-lock.json" -- install_npm "$project"
done
for server in time git fetch atlassian grafana; do
  once "$server" "$ZOO/py/$server/bin/python" "$HERE/py/$server.txt" -- install_python "$server"
done
once rmcp "$ZOO/bin/zoo-rmcp-server" "$HERE"/rmcp-server/{Cargo.toml,Cargo.lock,src/main.rs} -- install_rmcp
cp "$HERE/js2/server.mjs" "$ZOO/js2/"
[ -d "$ZOO/work/repo/.git" ] || git init --quiet "$ZOO/work/repo"

# The configurations, for the client and for the gate: credentials by reference, as a careful user writes them.
"$PYTHON" - "$ZOO" <<'PY'
import json, os, sys
zoo = sys.argv[1]
node = lambda package, *rest: {"command": "node", "args": [f"{zoo}/npm/node_modules/@modelcontextprotocol/{package}/dist/index.js", *rest]}
python = lambda name, program, *rest: {"command": f"{zoo}/py/{name}/bin/{program}", "args": list(rest)}
variables = lambda *names: {"env": {name: "${%s}" % name for name in names}}
atlassian = ["JIRA_URL", "JIRA_USERNAME", "JIRA_API_TOKEN", "CONFLUENCE_URL", "CONFLUENCE_USERNAME", "CONFLUENCE_API_TOKEN"]
js2 = {"command": "node", "args": [f"{zoo}/js2/server.mjs"]}
rmcp = {"command": f"{zoo}/bin/zoo-rmcp-server"}
http = lambda variable: {"type": "http", "url": "http://127.0.0.1:${%s}/mcp" % variable}
configs = {
    "mcp": {
        "everything": node("server-everything"),
        "filesystem": node("server-filesystem", f"{zoo}/work"),
        "memory": node("server-memory"),
        "time": python("time", "mcp-server-time"),
        "git": python("git", "mcp-server-git", "--repository", f"{zoo}/work/repo"),
        "fetch": python("fetch", "mcp-server-fetch"),
        "atlassian": python("atlassian", "mcp-atlassian") | variables(*atlassian),
        "grafana": python("grafana", "mcp-grafana") | variables("GRAFANA_URL", "GRAFANA_SERVICE_ACCOUNT_TOKEN"),
        "rmcp": rmcp,
    },
    "http": {"everything-http": http("EVERYTHING_PORT"), "rmcp-http": http("RMCP_PORT")},
    "npx": {"everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything@2026.8.31"]}},
    "js2": {"js2": js2 | variables("JS2_KEY")},
    "js2-http": {"js2-http": http("JS2_PORT")},
    # These refuse `initialize`.
    "modern": {"js2-modern": js2 | {"env": {"LEGACY": "reject"}}, "rmcp-modern": rmcp | {"env": {"MODERN_ONLY": "1"}}},
}
for name, servers in configs.items():
    with open(f"{zoo}/{name}.json.new", "w") as file:
        json.dump({"mcpServers": servers}, file, indent=2)
    os.replace(f"{zoo}/{name}.json.new", f"{zoo}/{name}.json")
PY
echo "zoo: ready in $ZOO"
