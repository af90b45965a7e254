"""A server for guard_claude.py: `guarded.py LOG SWITCH`. It writes every call into LOG, starts only while SWITCH is there, and has a tool that
breaks its connection. Standard library only."""
import json, os, sys

log, switch = sys.argv[1], sys.argv[2]
if not os.path.exists(switch):
    sys.exit("the switch is off")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue

    def answer(**members):
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **members}), flush=True)

    if asked["method"] == "initialize":
        answer(result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}})
    elif asked["method"] == "tools/list":
        answer(result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("ok", "dies", "busy", "upstream")]})
    elif asked["method"] == "tools/call":
        name = asked["params"]["name"]
        with open(log, "a") as file:
            file.write(name + "\n")
        if name == "dies":
            os._exit(3)
        elif name == "busy":
            answer(error={"code": -32000, "message": "429 Too Many Requests, retry after 60 seconds"})
        elif name == "upstream":
            answer(result={"isError": True, "content": [{"type": "text", "text": "upstream said 403 Forbidden"}]})
        else:
            answer(result={"content": [{"type": "text", "text": "fine"}]})
    else:
        answer(error={"code": -32601, "message": "no such method"})
