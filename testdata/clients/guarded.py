"""A server for guard_claude.py. `guarded.py LOG SWITCH` speaks on its standard input and output, and starts only while SWITCH is there; `guarded.py LOG`
serves over HTTP on loopback, and prints its port. It writes every call into LOG. Standard library only."""
import http.server, json, os, sys

log = sys.argv[1]


def answer(asked):
    """The members of the answer; a number is an HTTP status, or the end of the process."""
    if asked["method"] == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}}}
    if asked["method"] == "tools/list":
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("ok", "dies", "busy", "upstream")]}}
    if asked["method"] != "tools/call":
        return {"error": {"code": -32601, "message": "no such method"}}
    name = asked["params"]["name"]
    with open(log, "a") as file:
        file.write(name + "\n")
    if name == "dies":
        os._exit(3)
    if name == "busy":
        return 429
    if name == "upstream":
        return {"result": {"isError": True, "content": [{"type": "text", "text": "429 Too Many Requests for https://upstream.invalid (retry after 60 seconds)"}]}}
    return {"result": {"content": [{"type": "text", "text": "fine"}]}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        members = answer(asked) if "id" in asked else 202
        if isinstance(members, int):
            return self.send(members, "Too Many Requests, retry after 60 seconds" if members == 429 else "")
        self.send(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **members}))

    def do_GET(self):
        self.send(405, "")

    do_DELETE = do_GET

    def send(self, status, text):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if len(sys.argv) == 2:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
if not os.path.exists(sys.argv[2]):
    sys.exit("the switch is off")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(asked)}), flush=True)
