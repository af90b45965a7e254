#!/bin/sh
# The main job on a bundled demo server: the gate passes with the server's credential and fails without it.
# Needs nothing but a Rust toolchain. Exits 0 when both came out as they should.
set -u
cd "$(dirname "$0")/../.." || exit 1
cargo build --quiet --bin mcp-preflight --example demo-server || exit 1
gate() {
  "${CARGO_TARGET_DIR:-target}/debug/mcp-preflight" --config testdata/demo/.mcp.json
  code=$?
  echo "(exit code $code)"
}

echo '$ REPORT_API_TOKEN=test-token mcp-preflight --config testdata/demo/.mcp.json'
REPORT_API_TOKEN=test-token
export REPORT_API_TOKEN
gate
with=$code

echo
echo '$ env -u REPORT_API_TOKEN mcp-preflight --config testdata/demo/.mcp.json'
unset REPORT_API_TOKEN
gate
[ "$with" = 0 ] && [ "$code" = 78 ]
