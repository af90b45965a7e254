"""Two tools on any release of the Python SDK, or of FastMCP: the interpreter's environment decides.

Without PORT stdio; with PORT the transport that MODE names: http, stateless, json (stateless, and JSON answers) or sse.
PAGE=1 makes FastMCP 3 and 4 list one tool a page.
"""

import importlib.metadata
import importlib.util
import os

PORT, MODE, PAGE = (os.environ.get(name) for name in ("PORT", "MODE", "PAGE"))
WEB = {"host": "127.0.0.1", "port": int(PORT or 0)}
STATE = {"stateless_http": MODE in ("stateless", "json"), "json_response": MODE == "json"}


def add(a: int, b: int) -> int:
    """add"""
    return a + b


def echo(text: str) -> str:
    """echo"""
    return text


def release(package):
    return tuple(int(part) for part in importlib.metadata.version(package).split(".")[:2])


def fastmcp():
    """The package of its own, 2 to 4."""
    from fastmcp import FastMCP

    server = FastMCP("zoo", **({"list_page_size": int(PAGE)} if PAGE else {}))
    server.tool(add)
    server.tool(echo)
    if not PORT:
        server.run(show_banner=False)
    elif MODE == "sse":
        server.run(transport="sse", show_banner=False, **WEB)
    else:
        server.run(transport="http", show_banner=False, **WEB, **STATE)


def mcp2():
    from mcp.server import MCPServer

    server = MCPServer("zoo")
    server.add_tool(add)
    server.add_tool(echo)
    if not PORT:
        server.run("stdio")
    elif MODE == "sse":
        server.run("sse", **WEB)
    else:
        server.run("streamable-http", **WEB, **STATE)


def mcp1():
    from mcp.server.fastmcp import FastMCP

    settings = (STATE if release("mcp") >= (1, 8) else {}) | WEB if PORT else {}
    server = FastMCP("zoo", **settings)
    server.add_tool(add)
    server.add_tool(echo)
    server.run("stdio" if not PORT else "sse" if MODE == "sse" else "streamable-http")


def low_level():
    """mcp 1.1 has nothing else."""
    import asyncio

    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import Tool

    server = Server("zoo")

    @server.list_tools()
    async def tools():
        return [Tool(name=name, description=name, inputSchema={"type": "object"}) for name in ("add", "echo")]

    async def serve():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    asyncio.run(serve())


if importlib.util.find_spec("fastmcp"):
    fastmcp()
elif release("mcp") >= (2, 0):
    mcp2()
elif release("mcp") >= (1, 2):
    mcp1()
else:
    low_level()
