#!/usr/bin/env python3
"""Compares what mcp-preflight says Codex would offer its model with what Codex really offers, scenario by scenario.

    testdata/clients/compare_codex.py CODEX [SCENARIO ...]

CODEX is the client's own program (npm: the binary within @openai/codex-linux-x64). Its model is a stand-in on loopback, started here: the tools
are read from the request that Codex makes of it. Whatever else it would reach goes to a proxy address where nobody listens. Each scenario is
run twice: with `required = true`, and as an optional server that gets one second. Scenarios are the files of testdata/scenario, the ones
generated below, and configurations of several servers. Builds wanted before: cargo build --examples && cargo build. Every process is given a time limit. Exit 1 on a difference.
"""
import http.server, json, os, pathlib, signal, subprocess, sys, tempfile, threading

from common import FAKE, PREFLIGHT, ROOT, SCENARIOS, Served

LIMIT = 40
# What a server may take to start, for scenarios that never answer.
STARTUP = 5
CONFIG = """model = "stand-in"
model_provider = "stand_in"
check_for_update_on_startup = false
%(top)s
[analytics]
enabled = false
[model_providers.stand_in]
name = "stand-in"
base_url = "http://127.0.0.1:%(port)d/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
%(servers)s"""


class Model(http.server.ThreadingHTTPServer):
    """Answers every POST with a turn that says "ok", and keeps the tools it was offered."""

    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        EVENTS = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}},
            {"type": "response.completed", "response": {"id": "r", "usage": {
                "input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}}},
        ]

        def log_message(self, *_):
            pass

        def answer(self, status, kind, body):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(404, "text/plain", b"")

        def do_POST(self):
            self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in self.EVENTS)
            self.answer(200, "text/event-stream", events.encode())

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def offered(self):
        """The full names of what came from servers: each is a namespace, and its tools stand within."""
        tools = self.asked[-1]["tools"] if self.asked else []
        spaces = [tool for tool in tools if tool["type"] == "namespace" and tool["name"].startswith("mcp__")]
        return sorted(f"{space['name']}__{tool['name']}" for space in spaces for tool in space["tools"])


def run(command, folder, env):
    """Runs a program in a process group of its own, which is ended as a whole."""
    child = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, errors="replace", start_new_session=True)
    try:
        out, err = child.communicate(timeout=LIMIT)
        return child.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        return None, out, err


def offered_by_codex(codex, folder, servers, top="", env=None):
    """What its model is offered, and what it says of servers that failed it."""
    with Model() as model:
        (folder / "config.toml").write_text(CONFIG % {"top": top, "port": model.server_port, "servers": servers})
        nowhere = {name: "http://127.0.0.1:9" for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")}
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "CODEX_HOME": str(folder), "NO_PROXY": "127.0.0.1", **nowhere, **(env or {})}
        work = folder / "work"
        work.mkdir(exist_ok=True)
        code, _, err = run([codex, "exec", "--json", "--ephemeral", "--skip-git-repo-check", "hi"], work, env)
        said = [line for line in err.splitlines() if "failed" in line or "rror" in line]
        return (model.offered() if model.asked else None), f"{code} {' '.join(said)}"


def offered_by_preflight(folder, servers, top=""):
    (folder / "config.toml").write_text(f"{top}\n{servers}")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    _, out, err = run([PREFLIGHT, "tools", "--client", "codex", "-c", folder / "config.toml", "-t", str(STARTUP), "--format", "json"], folder, env)
    try:
        servers = json.loads(out)["servers"]
    except ValueError:
        return None, {"class": err.strip(), "step": "reading"}
    offered = sorted(name for server in servers for name in server["offered"])
    return offered, next((server["failure"] for server in servers if server.get("failure")), None)


def generated():
    """Scenarios that are lists of tools, made here: their size or their number would fill many files."""

    def tool(name, **more):
        return {"name": name, "inputSchema": {"type": "object"}, **more}

    def page(names, after=None):
        return {"tools": {"names": names, **({"next_cursor": {"text": after}} if after else {})}}

    def pages(count):
        last = {"when": "tools/list", "nth": count, "do": [page([f"tool_{count}"])]}
        return {"rules": [last, {"when": "tools/list", "do": [page(["tool_$n"], "after-$n")]}]}

    yield "tools-100", {"tools": [f"t{at}" for at in range(100)]}
    yield "tools-101", {"tools": [f"t{at}" for at in range(101)]}
    yield "tools-2048", {"tools": [f"t{at}" for at in range(2048)]}
    yield "tools-2049", {"tools": [f"t{at}" for at in range(2049)]}
    yield "pages-100", pages(100)
    yield "pages-101", pages(101)
    yield "long-name", {"tools": ["x" * 119, "y" * 120, "z" * 121, "w" * 200]}
    yield "long-collision", {"tools": ["a." + "x" * 118, "a/" + "x" * 118]}
    yield "long-equal-after-cut", {"tools": ["x" * 150 + "1", "x" * 150 + "2"]}
    yield "long-wide", {"tools": ["\u00e9" * 70, "\U0001f600" * 130, "x" * 116 + "\u00e9\u00e9\u00e9\u00e9\u00e9"]}
    yield "three-collide", {"tools": ["a.b", "a/b", "a_b", "A_b", "a b"]}
    yield "hyphens", {"tools": ["a-b", "a_b", "c-d", "-", "_"]}
    yield "odd-names", {"tools": ["", " ", "mcp__x", "a__b", "__", "\u0000", "0"]}
    faults = {
        "no-input": {"inputSchema": ...}, "input-null": {"inputSchema": None}, "input-array": {"inputSchema": []}, "input-text": {"inputSchema": "x"},
        "input-true": {"inputSchema": True}, "input-empty": {"inputSchema": {}}, "type-string": {"inputSchema": {"type": "string"}},
        "type-array": {"inputSchema": {"type": ["object", "null"]}}, "type-null": {"inputSchema": {"type": None}}, "type-odd": {"inputSchema": {"type": 7}},
        "any-of": {"inputSchema": {"anyOf": [{"type": "object"}]}}, "all-of": {"inputSchema": {"type": "object", "allOf": []}},
        "properties-null": {"inputSchema": {"type": "object", "properties": None}},
        "properties-array": {"inputSchema": {"type": "object", "properties": []}},
        "property-null": {"inputSchema": {"type": "object", "properties": {"p": None}}},
        "property-true": {"inputSchema": {"type": "object", "properties": {"p": True}}},
        "property-text": {"inputSchema": {"type": "object", "properties": {"p": "string"}}},
        "property-type-odd": {"inputSchema": {"type": "object", "properties": {"p": {"type": "text"}}}},
        "property-type-int": {"inputSchema": {"type": "object", "properties": {"p": {"type": 1}}}},
        "property-ref-gone": {"inputSchema": {"type": "object", "properties": {"p": {"$ref": "#/$defs/gone"}}}},
        "property-ref-self": {"inputSchema": {"type": "object", "properties": {"p": {"$ref": "#"}}}},
        "property-pattern": {"inputSchema": {"type": "object", "properties": {"p": {"type": "string", "pattern": "("}}}},
        "enum-text": {"inputSchema": {"type": "object", "properties": {"p": {"enum": "x"}}}},
        "items-array": {"inputSchema": {"type": "object", "properties": {"p": {"type": "array", "items": [{}]}}}},
        "required-text": {"inputSchema": {"type": "object", "required": "p"}}, "required-null": {"inputSchema": {"type": "object", "required": None}},
        "required-number": {"inputSchema": {"type": "object", "required": [1]}},
        "additional-odd": {"inputSchema": {"type": "object", "additionalProperties": 1}},
        "description-null": {"description": None}, "description-number": {"description": 1}, "description-absent": {"description": ...},
        "title-null": {"title": None}, "title-number": {"title": 1},
        "annotations-null": {"annotations": None}, "annotations-text": {"annotations": "x"}, "annotations-array": {"annotations": []},
        "hint-text": {"annotations": {"readOnlyHint": "yes"}}, "hint-null": {"annotations": {"readOnlyHint": None}},
        "annotations-title-number": {"annotations": {"title": 1}},
        "output-null": {"outputSchema": None}, "output-type-string": {"outputSchema": {"type": "string"}}, "output-text": {"outputSchema": "x"},
        "output-array": {"outputSchema": []}, "output-empty": {"outputSchema": {}}, "output-true": {"outputSchema": True},
        "meta-null": {"_meta": None}, "meta-text": {"_meta": "x"}, "meta-array": {"_meta": []},
        "icons-null": {"icons": None}, "icons-text": {"icons": "x"}, "icons-no-src": {"icons": [{}]}, "icons-empty": {"icons": []},
        "execution-null": {"execution": None}, "execution-text": {"execution": "x"}, "execution-odd": {"execution": {"taskSupport": "odd"}},
        "execution-required": {"execution": {"taskSupport": "required"}},
        "name-number": {"name": 7}, "name-null": {"name": None}, "name-absent": {"name": ...},
        "unknown-key": {"bogus": None}, "visible-to-app": {"_meta": {"ui": {"visibility": ["app"]}}},
        "visible-to-model": {"_meta": {"ui": {"visibility": ["model", "app"]}}}, "visible-to-none": {"_meta": {"ui": {"visibility": []}}},
        "visible-flat": {"_meta": {"ui/visibility": ["app"]}},
    }
    for name, fault in faults.items():
        bad = {key: value for key, value in {**tool("bad"), "description": "x", **fault}.items() if value is not ...}
        yield f"fault-{name}", {"tools": ["good", bad]}
    for name, tools in {"list-null": None, "list-object": {}, "list-of-null": [None], "list-of-text": ["x"]}.items():
        yield name, {"rules": [{"when": "tools/list", "do": [{"result": {"tools": tools}}]}]}
    yield "list-absent", {"rules": [{"when": "tools/list", "do": [{"result": {}}]}]}
    yield "cursor-number", {"rules": [{"when": "tools/list", "do": [{"result": {"tools": [tool("a")], "nextCursor": 1}}]}]}
    full = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    for name, more in {
        "no-info": {"serverInfo": ...}, "info-null": {"serverInfo": None}, "info-no-version": {"serverInfo": {"name": "x"}},
        "info-no-name": {"serverInfo": {"version": "1"}}, "info-title-null": {"serverInfo": {"name": "x", "version": "1", "title": None}},
        "info-number": {"serverInfo": {"name": "x", "version": 1}},
        "capabilities-null": {"capabilities": None}, "capabilities-absent": {"capabilities": ...}, "capabilities-array": {"capabilities": []},
        "capability-null": {"capabilities": {"tools": None}}, "capability-true": {"capabilities": {"tools": True}},
        "list-changed-text": {"capabilities": {"tools": {"listChanged": "x"}}},
        "experimental-odd": {"capabilities": {"tools": {}, "experimental": {"a": True}}},
        "version-number": {"protocolVersion": 1}, "version-empty": {"protocolVersion": ""}, "version-2024-11-05": {"protocolVersion": "2024-11-05"},
        "version-2025-11-25": {"protocolVersion": "2025-11-25"}, "instructions-null": {"instructions": None}, "instructions-number": {"instructions": 1},
    }.items():
        result = {key: value for key, value in {**full, **more}.items() if value is not ...}
        yield f"handshake-{name}", {"tools": ["a"], "rules": [{"when": "initialize", "do": [{"result": result}]}]}


def configurations():
    """Several servers, or keys of an entry: each is a name, the tools, and more of the entry."""
    yield "config-names-become-one", [("a-b", ["t"], ""), ("a_b", ["t"], ""), ("a.b", ["t", "u"], "")]
    yield "config-names-adjoin", [("a", ["bc"], ""), ("ab", ["c"], "")]
    yield "config-name-has-prefix", [("mcp__q", ["t"], ""), ("q", ["t"], "")]
    yield "config-names-by-case", [("q", ["t"], ""), ("Q", ["t"], "")]
    yield "config-name-refused", [("a b", ["t"], ""), ("", ["t"], ""), ("\u00e9", ["t"], ""), ("ok/1:2@3", ["t"], "")]
    yield "config-name-refused-of-two", [("a b", ["t"], ""), ("a_b", ["t"], "")]
    yield "config-name-long", [("n" * 106, ["t", "u" * 30], ""), ("m" * 140, ["t", "t-"], "")]
    yield "config-enabled-tools", [("s", ["a.b", "c", "d"], 'enabled_tools = ["a.b", "c", "gone"]\ndisabled_tools = ["c"]\n')]
    yield "config-filter-before-names", [("s", ["a.b", "a/b"], 'enabled_tools = ["a.b"]\n')]
    yield "config-filter-by-full-name", [("s", ["a.b", "c"], 'enabled_tools = ["a_b", "mcp__s__c", "c*"]\n')]
    yield "config-disabled", [("s", ["a"], "enabled = false\n"), ("r", ["a"], "")]
    yield "config-unknown-key", [("s", ["a"], 'type = "http"\nbogus = 1\n')]
    yield "config-header-on-stdio", [("s", ["a"], 'http_headers = { A = "b" }\n')]
    yield "config-bearer-on-stdio", [("s", ["a"], 'bearer_token_env_var = "A"\n')]
    yield "config-enabled-text", [("s", ["a"], 'enabled = "no"\n')]
    yield "config-approval-odd", [("s", ["a"], 'default_tools_approval_mode = "x"\n')]
    yield "config-variable-unset", [("s", ["a"], 'env_vars = ["MCP_PREFLIGHT_GONE"]\n')]
    yield "config-variable-remote", [("s", ["a"], 'env_vars = [{ name = "HOME", source = "remote" }]\n')]
    yield "config-milliseconds", [("s", ["a"], "startup_timeout_ms = 500.5\n")]
    yield "config-elsewhere", [("s", ["a"], 'environment_id = "gone"\n')]


def transports(name, script):
    """Where a scenario makes sense: Codex knows stdio and Streamable HTTP."""
    if name.startswith(("sse", "ws")):
        return []
    text = json.dumps(script.get("rules", ""))
    if name.startswith(("http", "gateway")) or '"respond"' in text:
        return ["http"]
    both = name.split("-")[0] in ("healthy", "pages", "bom", "batch", "null", "empty", "unicode", "colliding", "version", "modern", "tools", "long")
    return ["stdio", "http"] if both else ["stdio"]


def scenarios(folder):
    for path in sorted(SCENARIOS.glob("*.json")):
        yield path
    for name, script in generated():
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"about": "Made by compare_codex.py.", **script}))
        yield path


def compare(codex, path, transport, required):
    """Ours and theirs, each asked with a server of its own: some count what they were asked."""
    more = f"startup_timeout_sec = {STARTUP}\n" + ("required = true\n" if required else "")
    asked = []
    for ask in (offered_by_preflight, lambda *where: offered_by_codex(codex, *where)):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            folder = pathlib.Path(folder)
            if transport == "stdio":
                entry = f"command = {json.dumps(str(FAKE))}\nargs = {json.dumps(['stdio', str(path)])}\n"
                asked.append(ask(folder, f"[mcp_servers.s]\n{entry}{more}"))
            else:
                with Served(path) as server:
                    asked.append(ask(folder, f'[mcp_servers.s]\nurl = "http://127.0.0.1:{server.port}/http"\n{more}'))
    return asked


def compare_configuration(codex, folder, servers):
    text = ""
    for at, (name, tools, more) in enumerate(servers):
        path = folder / f"server-{at}.json"
        path.write_text(json.dumps({"about": "Made by compare_codex.py.", "tools": tools}))
        entry = f"command = {json.dumps(str(FAKE))}\nargs = {json.dumps(['stdio', str(path)])}\n{more}"
        text += f"[mcp_servers.{json.dumps(name, ensure_ascii=False)}]\n{entry}"
    asked = []
    for ask in (offered_by_preflight, lambda *where: offered_by_codex(codex, *where)):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            asked.append(ask(pathlib.Path(home), text, "mcp_optional_startup_grace_ms = 0"))
    return asked


def told(name, transport, series, asked):
    """Prints a comparison; whether it is a difference."""
    (ours, failure), (theirs, said) = asked
    same = (ours or []) == (theirs or [])
    why = "" if failure is None else f" ({failure['class']} at {failure['step']})"
    count = "no turn" if theirs is None else len(theirs)
    print(f"{'same' if same else 'DIFFERENT'}\t{name}\t{transport}\t{series}\t{len(ours or [])}{why}\t{count}\t{said[:300]}", flush=True)
    if not same:
        print(f"\tours   {brief(ours)}\n\ttheirs {brief(theirs)}", flush=True)
    return not same


def brief(names):
    return names if names is None or len(names) <= 8 else f"{names[:3]} ... {names[-3:]}"


def main():
    codex, wanted = sys.argv[1], set(sys.argv[2:])
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in scenarios(pathlib.Path(folder)):
            if wanted and path.stem not in wanted:
                continue
            for transport in transports(path.stem, json.loads(path.read_text())):
                for required in (True, False):
                    asked = compare(codex, path, transport, required)
                    differences += told(path.stem, transport, "required" if required else "optional", asked)
        for name, servers in configurations():
            if not wanted or name in wanted:
                differences += told(name, "stdio", "no grace", compare_configuration(codex, pathlib.Path(folder), servers))
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
