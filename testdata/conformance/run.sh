#!/usr/bin/env bash
# Runs the official conformance suite, in its pinned version, against mcp-preflight.
#   testdata/conformance/run.sh DIR
# Installs into DIR and fails when that fails. Fails unless every check of every scenario ends as expected.txt says.
# MCP_PREFLIGHT is the program to test; with UPDATE=1 expected.txt is written anew, and the diff is to be read.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: run.sh DIR}"
DIR=$(cd "$1" && pwd)
MCP_PREFLIGHT=${MCP_PREFLIGHT:-$HERE/../../target/debug/mcp-preflight}
[ -x "$MCP_PREFLIGHT" ] || { echo "conformance: no program at $MCP_PREFLIGHT (cargo build)" >&2; exit 1; }
MCP_PREFLIGHT=$(realpath "$MCP_PREFLIGHT")
export MCP_PREFLIGHT

# One at a time in the same folder.
exec 9>"$DIR/.lock"
flock 9

NODE="$DIR/node_modules/.bin/node"
if ! cmp -s "$HERE/package-lock.json" "$DIR/.installed" || ! [ -x "$NODE" ]; then
  rm -f "$DIR/.installed"
  cp "$HERE"/package.json "$HERE"/package-lock.json "$DIR/"
  # Nothing of it needs an install script: Node itself is the platform's own package.
  (cd "$DIR" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) 9>&-
  # An optional package that cannot be installed is no error to npm.
  [ -x "$NODE" ] || { echo "conformance: no Node for this platform was installed" >&2; exit 1; }
  cp "$HERE/package-lock.json" "$DIR/.installed"
fi

rm -rf "$DIR/results"
# The suite runs its command in a shell, with the address at its end.
cd "$HERE"
while read -r scenario versions; do
  for version in $versions; do
    results="$DIR/results/$scenario/$version"
    mkdir -p "$results"
    # It ends with 1 as soon as one check fails, also one that must: compare.mjs judges.
    timeout 60 "$NODE" "$DIR/node_modules/@modelcontextprotocol/conformance/dist/index.js" client --command "sh client.sh" \
      --scenario "$scenario" --spec-version "$version" --timeout 20000 --output-dir "$results" \
      </dev/null >"$results/log" 2>&1 9>&- || true
  done
done <scenarios.txt
"$NODE" compare.mjs "$DIR/results"
