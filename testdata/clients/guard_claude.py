#!/usr/bin/env python3
"""Runs Claude Code itself, offline, with the guard as its hook, and looks at what its model gets and what its servers are asked.

    testdata/clients/guard_claude.py CLAUDE

CLAUDE is the client's own program (npm: @anthropic-ai/claude-code, or its package for the platform). Its model is a stand-in on loopback
(model.py) that calls tools by a plan. Build wanted before: cargo build. Every process is given a time limit. Exit 1 when something is not as it should be.
"""
import json, os, pathlib, subprocess, sys, tempfile, time

from common import PREFLIGHT
from model import Model

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 90
failures = []


def check(what, is_so, seen):
    failures.extend([] if is_so else [what])
    print(f"{'as expected' if is_so else 'WRONG'}\t{what}" + ("" if is_so else f"\t{seen}"), flush=True)


class Session:
    """A home, a folder, a server that can be switched off, and one run of the client."""

    def __init__(self, scope="project", hook="", environment={}, name="my.server", project_settings=None, over_http=False):
        self.root = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.root.name)
        self.home, self.folder, self.log, self.switch = root / "home", root / "work", root / "calls.log", root / "on"
        (self.home / ".claude").mkdir(parents=True)
        self.folder.mkdir()
        self.log.touch()
        self.switch.touch()
        self.health = self.home / ".claude/mcp-health-cache.json"
        entry = {"command": "python3", "args": [str(HERE / "guarded.py"), str(self.log), str(self.switch)]}
        self.server = None
        if over_http:
            self.server = subprocess.Popen(["python3", str(HERE / "guarded.py"), str(self.log)], stdout=subprocess.PIPE, text=True)
            entry = {"type": "http", "url": f"http://127.0.0.1:{self.server.stdout.readline().strip()}/mcp"}
        servers = {"mcpServers": {name: entry}}
        self.arguments = []
        if scope == "project":
            (self.folder / ".mcp.json").write_text(json.dumps(servers))
        elif scope == "user":
            (self.home / ".claude.json").write_text(json.dumps(servers))
        elif scope == "local":
            (self.home / ".claude.json").write_text(json.dumps({"projects": {str(self.folder.resolve()): servers}}))
        else:
            (root / "agent.json").write_text(json.dumps(servers))
            self.arguments += ["--mcp-config", str(root / "agent.json")]
        command = [{"type": "command", "command": f"{PREFLIGHT} hook {hook}"}]
        events = {event: [{"matcher": "mcp__.*", "hooks": command}] for event in ("PreToolUse", "PostToolUseFailure", "PostToolUse")}
        (self.home / ".claude/settings.json").write_text(json.dumps({"hooks": events}))
        if project_settings is not None:
            (self.folder / ".claude").mkdir()
            (self.folder / ".claude/settings.json").write_text(json.dumps(project_settings))
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "0", **environment,
        }

    def run(self, claude, plan):
        """What the model got for each call of the plan, and the exit code of the client."""
        model = Model(plan)
        try:
            command = [claude, "-p", "hi", "--output-format", "stream-json", "--verbose", "--max-turns", "20", "--allowedTools", "mcp__my_server", *self.arguments]
            environment = {**self.environment, "ANTHROPIC_BASE_URL": model.address}
            run = subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
            return [json.dumps(result["content"]) for result in model.results], run.returncode
        finally:
            model.close()

    def calls(self):
        return self.log.read_text().split()

    def record(self):
        servers = json.loads(self.health.read_text())["servers"] if self.health.exists() else {}
        return next(iter(servers.values()), {})

    def close(self):
        if self.server:
            self.server.kill()
            self.server.wait()
        self.root.cleanup()


OK, DIES, BUSY, UPSTREAM = (f"mcp__my_server__{tool}" for tool in ("ok", "dies", "busy", "upstream"))


def outage(claude):
    """A server goes down in the middle of a session, and comes back."""
    session = Session(environment={"MCP_PREFLIGHT_HEALTH_TTL_MS": "1", "MCP_PREFLIGHT_HEALTH_BACKOFF_MS": "3000"})

    def off():
        session.switch.unlink()
        return OK

    def on():
        session.switch.touch()
        return OK

    def later():
        time.sleep(3.2)
        return OK

    results, code = session.run(claude, [OK, off, on, later, OK])
    check("a healthy server: the call goes through", "fine" in results[0], results)
    check("a server that is down: the model reads why, until when, and not to retry", all(part in results[1] for part in ("is down since", "the switch is off", "blocked until", "do not retry")), results)
    check("back, but before its time: still blocked, without a probe", "is down since" in results[2], results)
    check("its time has come: the first call goes through", "fine" in results[3] and "fine" in results[4], results)
    check("the server was asked for the calls that went through, and for no other", session.calls() == ["ok", "ok", "ok"], session.calls())
    check("the client ends well all the same", code == 0, code)
    check("the record knows when it came back", session.record().get("status") == "healthy" and session.record().get("lastRestoredAt"), session.record())
    session.close()


def failures_of_calls(claude):
    session = Session(over_http=True)
    results, _ = session.run(claude, [OK, BUSY, OK])
    check("a quota that is used up: the next call is blocked for as long as the server said", "limits its rate" in results[2] and session.calls() == ["ok", "busy"], results)
    record = session.record()
    check("its record has the status and the wait", record.get("lastFailureCode") == 429 and record["nextRetryAt"] - record["checkedAt"] == 60_000, record)
    session.close()
    session = Session()
    results, _ = session.run(claude, [DIES, OK, UPSTREAM, OK])
    check("a connection that broke: the server starts again, so the next call goes through (as the client starts it again)", "Connection closed" in results[0] and "fine" in results[1], results)
    check("a tool's own words about something else block nothing", "429" in results[2] and "fine" in results[3], results)
    session.close()


def scopes(claude):
    for scope in ("project", "user", "local", "dynamic"):
        session = Session(scope=scope, environment={"MCP_PREFLIGHT_HEALTH_TTL_MS": "1"})

        def off():
            session.switch.unlink()
            return OK

        results, _ = session.run(claude, [OK, off])
        check(f"a server of the scope {scope}, in a folder that nobody has trusted: found, probed, blocked", "fine" in results[0] and "is down since" in results[1], results)
        session.close()


def answers(claude):
    session = Session(hook="--json", environment={"MCP_PREFLIGHT_HEALTH_TTL_MS": "1"})

    def off():
        session.switch.unlink()
        return OK

    results, _ = session.run(claude, [OK, off])
    check("--json: the decision says the same", "fine" in results[0] and "is down since" in results[1], results)
    session.close()
    for hook in ("--no-such-option", "--strict"):
        session = Session(hook=hook)
        results, _ = session.run(claude, [OK])
        check(f"a mistake in the hook's own command line ({hook}) blocks nothing", "fine" in results[0], results)
        session.close()


def project_settings(claude):
    """What the client hands on of a project's settings must not become a command of the guard's."""
    marker = "reconnected"
    settings = {"env": {"MCP_PREFLIGHT_RECONNECT_COMMAND": f"touch {marker}", "MCP_PREFLIGHT_HEALTH_FAIL_OPEN": "1"}}
    session = Session(environment={"MCP_PREFLIGHT_HEALTH_TTL_MS": "1"}, project_settings=settings)

    def off():
        session.switch.unlink()
        return OK

    results, _ = session.run(claude, [OK, off])
    ran = (session.folder / marker).exists()
    check("a project's settings neither run a reconnect command nor open the guard", "is down since" in results[1] and not ran, results)
    session.close()

    session = Session(scope="user", environment={"PF_PYTHON": "python3"}, project_settings={"env": {"PF_PYTHON": "/no/such/program"}})
    own = session.home / ".claude.json"
    own.write_text(own.read_text().replace('"python3"', '"${PF_PYTHON}"'))
    results, _ = session.run(claude, [OK])
    check("an entry is expanded with what the client was started with, not with what a project's settings say", "fine" in results[0] and session.record().get("status") == "healthy", results)
    session.close()
    session = Session(environment={"MCP_PREFLIGHT_HEALTH_TTL_MS": "1"})
    subprocess.run(["git", "init", "-q", str(session.folder)], check=True)
    (session.folder / ".claude").mkdir()
    (session.folder / ".claude/settings.local.json").write_text(json.dumps(settings))
    session.folder = session.folder / "below"
    session.folder.mkdir()
    results, _ = session.run(claude, [OK, off])
    check("nor do those at the root of its repository", "is down since" in results[1] and not any(session.folder.parent.rglob(marker)), results)
    session.close()


def main():
    claude = sys.argv[1]
    version = subprocess.run([claude, "--version"], capture_output=True, text=True, timeout=LIMIT).stdout.strip()
    print(f"Claude Code {version}")
    for part in (outage, failures_of_calls, scopes, answers, project_settings):
        part(claude)
    sys.exit(1 if failures else 0)


main()
