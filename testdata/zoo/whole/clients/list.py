"""The tools of one server as the official Python client sees them: list.py auto|legacy '{"command": ...}'. Prints {"names": [...]}, all pages."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

MODE, ENTRY = sys.argv[1], json.loads(sys.argv[2])


async def main():
    headers = ENTRY.get("headers")
    if ENTRY["type"] == "stdio":
        server = StdioServerParameters(command=ENTRY["command"], args=ENTRY["args"], env=dict(os.environ) | ENTRY.get("env", {}))
    elif ENTRY["type"] == "sse":
        server = sse_client(ENTRY["url"], headers=headers)
    else:
        server = streamable_http_client(ENTRY["url"], http_client=create_mcp_http_client(headers=headers))
    async with Client(server, mode=MODE) as client:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        print(json.dumps({"names": names}), flush=True)


asyncio.run(main())
