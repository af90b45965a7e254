#!/bin/sh
# The client under test: the suite calls it with the address of its server.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf '{"mcpServers": {"suite": {"type": "http", "url": "%s"}}}\n' "$1" >"$dir/.mcp.json"
"$MCP_PREFLIGHT" tools --config "$dir/.mcp.json" --format json -vv
status=$?
# The suite keeps what is written, not how the client ended.
echo "exit $status" >&2
exit "$status"
