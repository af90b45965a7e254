#!/usr/bin/env python3
"""Compares what mcp-preflight says Claude Code would offer its model with what Claude Code really offers, scenario by scenario.

    testdata/clients/compare_claude.py CLAUDE [SCENARIO ...]

CLAUDE is the client's own program (npm: @anthropic-ai/claude-code, or its package for the platform). Nothing but loopback is reached: the
model's address is one where nobody listens, and the tools are read from the first event, which comes before any model is asked.
The name `collisions` asks something else: which of several tools of one full name the model really gets. A stand-in for the model on loopback
looks at their descriptions. The name `settings` goes through claude-settings.json: what settings allow, deny and give to servers.

Builds wanted before: cargo build --examples && cargo build. Every process is given a time limit. Exit 1 on a difference.
"""
import http.server, json, os, pathlib, subprocess, sys, tempfile, threading

from common import FAKE, PREFLIGHT, ROOT, SCENARIOS, Served

# Behaviour in time (a hang, a flood, a server that dies by itself later) is compared by the tests of each; here only lists are.
LIMIT = 40


def transports(name, script):
    """Where a scenario makes sense."""
    if name.startswith(("sse", "ws")):
        return [name.split("-")[0]]
    text = json.dumps(script["rules"]) if "rules" in script else ""
    if name.startswith(("http", "gateway")) or '"respond"' in text:
        return ["http"]
    return ["stdio", "http", "ws"] if name == "healthy" else ["stdio"]


def offered_by_claude(claude, folder, config, environment={}):
    env = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "MCP_TIMEOUT": "8000", **environment,
    }
    command = [claude, "-p", "hi", "--output-format", "stream-json", "--verbose", "--max-turns", "1", "--mcp-config", str(config), "--strict-mcp-config"]
    child = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    timer = threading.Timer(LIMIT, child.kill)
    timer.start()
    try:
        for line in child.stdout:
            event = json.loads(line)
            if event.get("type") == "system" and event.get("subtype") == "init":
                status = {server["name"]: server["status"] for server in event["mcp_servers"]}
                return sorted(tool for tool in event["tools"] if tool.startswith("mcp__")), status
        return None, {}
    finally:
        timer.cancel()
        child.kill()
        child.wait()


class Model(http.server.BaseHTTPRequestHandler):
    """Answers no question, and keeps what came with it."""

    asked = []

    def do_POST(self):
        Model.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "a stand-in"}}'
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def described_to_the_model(claude, folder, servers):
    """Full name -> description, as the model gets them."""
    Model.asked.clear()
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}", "ENABLE_TOOL_SEARCH": "false"}
    command = [claude, "-p", "hi", "--max-turns", "1", "--mcp-config", str(config), "--strict-mcp-config"]
    subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    model.shutdown()
    asked = next((body for body in Model.asked if body.get("tools")), {"tools": []})
    return {tool["name"]: tool.get("description") for tool in asked["tools"] if tool["name"].startswith("mcp__")}


def collisions(claude):
    """Whether the first keeps a name within a server, and the quicker server between two."""

    def server(folder, name, tools, delay=0.0):
        path = folder / f"{name}.json"
        listed = [{"name": tool, "description": text, "inputSchema": {"type": "object"}} for tool, text in tools]
        path.write_text(json.dumps({"about": name, "tools": listed}))
        return {"command": "sh", "args": ["-c", f"sleep {delay}; exec {FAKE} stdio {path}"]}

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        one = server(folder, "one", [("a.b", "first"), ("a/b", "second"), ("dup", "first"), ("dup", "second")])
        within = described_to_the_model(claude, folder, {"s": one})
        two = lambda slow: {"x y": server(folder, "x", [("t", "x y"), ("u", "x y")], slow[0]), "x_y": server(folder, "y", [("t", "x_y"), ("v", "x_y")], slow[1])}
        between = [described_to_the_model(claude, folder, two(slow))["mcp__x_y__t"] for slow in ((1.5, 0), (0, 1.5))]
    print(f"within a server: {within}\nbetween servers, the second and then the first being quicker: {between}")
    expected = {"mcp__s__a_b": "first", "mcp__s__dup": "first"}
    return within == expected and between == ["x_y", "x y"]


def settings(claude):
    """Whether servers are allowed, denied, and given variables as the client does it."""
    scenario = SCENARIOS / "names-from-environment.json"
    differences = 0
    with Served(scenario) as server:
        places = {"@PORT@": str(server.port), "@FAKE@": str(FAKE), "@SCENARIO@": str(scenario)}
        text = (ROOT / "testdata/clients/claude-settings.json").read_text()
        for place, value in places.items():
            text = text.replace(place, value)
        started, host = {"args": ["stdio", str(scenario)], "env": {"PF_C": "${PF_A:-none}/${PF_B:-none}"}}, f"http://127.0.0.1:{server.port}"
        entries = {
            "stdio": {"command": str(FAKE), **started}, "stdio-variable": {"command": "${PF_FAKE}", **started},
            "http": {"type": "http", "url": f"{host}/mcp"}, "http-variable": {"type": "http", "url": "${PF_HOST}/mcp"},
        }
        for row in json.loads(text):
            with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
                home, folder = pathlib.Path(home), pathlib.Path(folder)
                for path, who in ((home / "settings.json", "user"), (folder / ".claude/settings.json", "project"), (folder / ".claude/settings.local.json", "local")):
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(json.dumps(row.get(who, {})))
                config = folder / "servers.json"
                config.write_text(json.dumps({"mcpServers": {"s": entries[row["entry"]]}}))
                environment = {"CLAUDE_CONFIG_DIR": str(home), "PF_FAKE": str(FAKE), "PF_HOST": host, **row.get("environment", {})}
                ours, _ = offered_by_preflight(folder, config, environment)
                theirs, _ = offered_by_claude(claude, folder, config, environment)
            same = ours == theirs
            differences += not same
            print(f"{'same' if same else 'DIFFERENT'}\t{row['about']}\t{ours}\t{theirs}", flush=True)
    return differences == 0


def offered_by_preflight(folder, config, environment={}):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    run = subprocess.run([PREFLIGHT, "tools", "-c", config, "-t", "8", "--format", "json"], cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT)
    report = json.loads(run.stdout)
    server = report["servers"][0]
    return sorted(server["offered"]), server.get("failure")


def main():
    claude, wanted = sys.argv[1], set(sys.argv[2:])
    if wanted == {"collisions"}:
        sys.exit(0 if collisions(claude) else 1)
    if wanted == {"settings"}:
        sys.exit(0 if settings(claude) else 1)
    differences = 0
    for path in sorted(SCENARIOS.glob("*.json")):
        if wanted and path.stem not in wanted:
            continue
        script = json.loads(path.read_text())
        for transport in transports(path.stem, script):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                config = folder / "servers.json"
                if transport == "stdio":
                    entry = {"command": str(FAKE), "args": ["stdio", str(path)]}
                    config.write_text(json.dumps({"mcpServers": {"s": entry}}))
                    ours, failure = offered_by_preflight(folder, config)
                    theirs, status = offered_by_claude(claude, folder, config)
                else:
                    asked = []
                    # A server each: some count what they were asked.
                    for ask in (offered_by_preflight, lambda *where: offered_by_claude(claude, *where)):
                        with Served(path) as server:
                            scheme = "ws" if transport == "ws" else "http"
                            entry = {"type": transport, "url": f"{scheme}://127.0.0.1:{server.port}/{transport}"}
                            config.write_text(json.dumps({"mcpServers": {"s": entry}}))
                            asked.append(ask(folder, config))
                    (ours, failure), (theirs, status) = asked
            same = ours == (theirs or [])
            differences += not same
            said = "" if failure is None else f" ({failure['class']} at {failure['step']})"
            print(f"{'same' if same else 'DIFFERENT'}\t{path.stem}\t{transport}\t{len(ours)}{said}\t{'no event' if theirs is None else len(theirs)} {status.get('s', '')}", flush=True)
            if not same:
                print(f"\tours   {ours}\n\ttheirs {theirs}")
    sys.exit(1 if differences else 0)


main()
