"""A stand-in for the client's model, on loopback: it calls the tools of a plan, one a turn, and keeps what it gets for them."""
import http.server, json, threading


class Model:
    """`plan`: names of tools, or functions that are called between two turns and return such a name."""

    def __init__(self, plan):
        self.plan, self.results = list(plan), []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.answer(model.next(asked), asked)

            def answer(self, block, asked):
                stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
                head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", ""), "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
                if not asked.get("stream"):
                    return self.send("application/json", json.dumps({**head, "content": [block], "stop_reason": stop}))
                empty = {**block, "input": {}} if stop == "tool_use" else {**block, "text": ""}
                delta = {"type": "input_json_delta", "partial_json": "{}"} if stop == "tool_use" else {"type": "text_delta", "text": block["text"]}
                events = [
                    ("message_start", {"message": {**head, "content": [], "stop_reason": None}}),
                    ("content_block_start", {"index": 0, "content_block": empty}),
                    ("content_block_delta", {"index": 0, "delta": delta}),
                    ("content_block_stop", {"index": 0}),
                    ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}}),
                    ("message_stop", {}),
                ]
                self.send("text/event-stream", "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events))

            def send(self, kind, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_HEAD(self):
                self.send("text/plain", "")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self, asked):
        said = {"type": "text", "text": "done"}
        if not asked.get("tools"):
            return said
        contents = [message["content"] for message in asked["messages"] if isinstance(message["content"], list)]
        self.results = [block for content in contents for block in content if block.get("type") == "tool_result"]
        number = len(self.results)
        if number >= len(self.plan):
            return said
        step = self.plan[number]
        return {"type": "tool_use", "id": f"toolu_{number}", "name": step() if callable(step) else step, "input": {}}

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
