#!/usr/bin/env bash
# Brings up the whole zoo: some 75 real MCP servers from npm and PyPI, small ones on many SDK releases, and the clients to compare with.
#   testdata/zoo/whole/setup.sh DIR               10 minutes on two cores, 10 GB; needs node 20, npm, Python 3.11 and 3.12, git
#   RUST=1 testdata/zoo/whole/setup.sh DIR        the Rust servers too (cargo, 20 minutes more)
#   ONLY="memory time" testdata/zoo/whole/setup.sh DIR   only these of servers.py
# Versions are those of servers.py and py/*.txt. An npm server's own dependencies are resolved as of one day: exact, without 50 lock files.
# No package script is run, but for node 22 (the Inspector wants it). What is there already is not installed again.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: setup.sh DIR}"
ZOO=$(cd "$1" && pwd)
AS_OF=2026-11-30
UV_VERSION=0.13.9
export HERE ZOO AS_OF PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
mkdir -p "$ZOO"/{npm,py,cargo/bin,sdk/{ts,js2,python},clients/node22,logs,home,work/repo}

python() {
  local candidate
  for candidate in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/python; do
    if "$candidate" -c '' 2>/dev/null; then command -v "$candidate"; return; fi
  done
  return 1
}
export -f python

# once NAME PIN COMMAND...: one log each; what was installed with the same PIN stays.
once() {
  local name=$1 pin=$2 stamp="$ZOO/.done-${1//\//-}" began=$SECONDS
  shift 2
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$pin" ]; then return; fi
  rm -f "$stamp"
  if "$@" >"$ZOO/logs/setup-${name//\//-}.log" 2>&1; then
    echo "$pin" >"$stamp"
    echo "zoo: $name in $((SECONDS - began)) s"
  else
    echo "zoo: $name FAILED, see $ZOO/logs/setup-${name//\//-}.log" | tee -a "$ZOO/failed" >&2
  fi
}

npm_server() {
  mkdir -p "$ZOO/npm/$1"
  npm install --prefix "$ZOO/npm/$1" "$2" --before "$AS_OF" --ignore-scripts --no-audit --no-fund --loglevel=error
}

# FOLDER FILES...
npm_project() {
  local folder=$1
  shift
  cp -- "$@" "$ZOO/$folder/" && cd "$ZOO/$folder" || return
  if [ -f package-lock.json ]; then npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  else npm install --no-package-lock --before "$AS_OF" --ignore-scripts --no-audit --no-fund --loglevel=error; fi
}

# FOLDER LOCK VERSION
python_environment() {
  local interpreter
  interpreter=$(python "$3") || { echo "no Python $3"; return 1; }
  "$ZOO/uv/bin/uv" venv --quiet --clear --python "$interpreter" "$ZOO/$1" &&
    "$ZOO/uv/bin/uv" pip sync --quiet --python "$ZOO/$1/bin/python" "$2"
}

install_uv() { "$(python 3.11)" -m venv --clear "$ZOO/uv" && "$ZOO/uv/bin/pip" install --quiet "uv==$UV_VERSION"; }

crate_server() {
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR="$ZOO/cargo/target" \
    nice cargo install --quiet --locked --root "$ZOO/cargo" "$1@$2"
}

crate_own() {
  CARGO_TARGET_DIR="$ZOO/cargo/target" nice cargo build --quiet --release --locked --manifest-path "$1/Cargo.toml" &&
    find "$ZOO/cargo/target/release" -maxdepth 1 -type f -executable -name 'zoo-*' -exec cp {} "$ZOO/cargo/bin/" \;
}

export -f once npm_server npm_project python_environment crate_server crate_own
rm -f "$ZOO/failed"

once uv "$UV_VERSION" install_uv
"$(python 3.11)" "$HERE/servers.py" npm ${ONLY:-} | xargs -r -P 3 -L 1 bash -c 'once "npm/$0" "$1 $AS_OF" npm_server "$0" "$1"'
"$(python 3.11)" "$HERE/servers.py" pypi ${ONLY:-} |
  xargs -r -P 2 -L 1 bash -c 'once "py/$0" "$1 $(md5sum <"$2")" python_environment "py/$0" "$2" "$1"'
for lock in "$HERE"/py/{mcp,fastmcp}-[0-9]*.txt; do
  name=$(basename "$lock" .txt)
  once "sdk/$name" "$(md5sum <"$lock")" python_environment "sdk/python/$name" "$lock" 3.11
done
once sdk/ts "$(md5sum <"$HERE/sdk/ts/package.json") $AS_OF" npm_project sdk/ts "$HERE/sdk/ts/package.json"
once sdk/js2 "$(md5sum <"$HERE/../js2/package-lock.json")" npm_project sdk/js2 "$HERE"/../js2/package*.json
once clients "$(md5sum <"$HERE/clients/package.json") $AS_OF" npm_project clients "$HERE/clients/package.json"
once clients/node22 22.23.3 npm install --prefix "$ZOO/clients/node22" node@22.23.3 --no-audit --no-fund --loglevel=error
if [ -n "${RUST:-}" ]; then
  once crate/rmcp-3.11 "$(cat "$HERE"/../rmcp-server/{Cargo.lock,src/main.rs} | md5sum)" crate_own "$HERE/../rmcp-server"
  once crate/sdk "$(cat "$HERE"/sdk/rust/{Cargo.lock,src/bin/*} | md5sum)" crate_own "$HERE/sdk/rust"
  while read -r name version; do once "crate/$name" "$version" crate_server "$name" "$version"; done < <("$(python 3.11)" "$HERE/servers.py" crate)
  rm -rf "$ZOO/cargo/target"
fi
# Modules are looked for from where the program lies.
cp "$HERE/sdk/ts/server.mjs" "$ZOO/sdk/ts/"
cp "$HERE/../js2/server.mjs" "$ZOO/sdk/js2/"
cp "$HERE/clients/list.mjs" "$ZOO/clients/"

# What some servers are given to work on.
cp "$HERE"/fixtures/* "$ZOO/work/"
[ -d "$ZOO/work/repo/.git" ] || git init --quiet "$ZOO/work/repo"
if [ -x "$ZOO/py/duckdb-mcp1/bin/python" ] && [ ! -f "$ZOO/work/t.duckdb" ]; then
  "$ZOO/py/duckdb-mcp1/bin/python" -c 'import duckdb, sys; duckdb.connect(sys.argv[1]).close()' "$ZOO/work/t.duckdb"
fi
[ ! -s "$ZOO/failed" ] || exit 1
echo "zoo: ready in $ZOO"
