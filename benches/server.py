"""A small MCP server with three tools, for the benchmarks: what a Python server costs before it does anything."""
import asyncio  # noqa: F401  - real servers import it, and pay for it
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}}
    else:
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("alpha", "beta", "gamma")]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
