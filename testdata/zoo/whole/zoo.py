"""The zoo as entries of configurations, and the world that they are run in: a network of their own, processes that end with it."""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

import servers
from known import BARE_FAILS, FAILS

HERE = servers.HERE
CONFIGS = ("mcp", "mcp-nocred", "mcp-broken", "mcp-http", "sdk", "sdk-http")
DOCUMENT = HERE.parents[2] / "docs" / "servers.md"


class Entry:
    """One entry of one configuration, with what must come out of it: names, or a failure."""

    def __init__(self, config, name, package, entry, names=None, failure=None, service=None):
        self.config, self.name, self.package, self.entry = config, name, package, entry
        self.names, self.failure, self.service = names, failure, service


class Zoo:
    """What setup.sh has filled, and the catalogue's entries for it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.results = self.folder / "results"
        self.results.mkdir(exist_ok=True)
        self.entries, self.absent = [], []
        self._fill()

    def place(self, text, port=0):
        return text.replace("{zoo}", str(self.folder)).replace("{work}", str(self.folder / "work")).replace("{port}", str(port))

    def environment(self, more=()):
        """What a server is given: nothing of the caller's but how to find programs and certificates."""
        kept = ("PATH", "LANG", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
        own = {"HOME": str(self.folder / "home"), "TMPDIR": "/tmp"}
        return {name: os.environ[name] for name in kept if name in os.environ} | own | dict(more)

    def of(self, config):
        return [entry for entry in self.entries if entry.config == config]

    def _fill(self):
        full, bare = (json.loads((HERE / name).read_text()) for name in ("expected.json", "expected-nocred.json"))

        def wanted(like):
            return like if isinstance(like, list) else bare[like[5:]] if like.startswith("bare:") else full[like]

        for name, server in servers.SERVERS.items():
            package = f"{server['package']}@{server['version']}"
            config = "mcp-broken" if name in FAILS else "mcp"
            self._stdio(config, name, package, [*server["command"], *server["args"]], server["env"], full.get(name), FAILS.get(name))
            if server["bare"] is not None:
                arguments = server["bare"] if isinstance(server["bare"], list) else server["args"]
                env = server["bare"] if isinstance(server["bare"], dict) else server["env"]
                self._stdio("mcp-nocred", name, package, [*server["command"], *arguments], env, bare.get(name), BARE_FAILS.get(name))
        for name, (command, env) in servers.MISTAKES.items():
            names = [] if name == "atlassian-typo-env" else None
            self._stdio("mcp-broken", name, "", command, env, names, FAILS.get(name))
        for name, server in servers.SDK.items():
            package = f"{server['package']}@{server['version']}"
            if server["transport"] == "stdio":
                self._stdio("sdk", name, package, server["command"], server["env"], wanted(server["like"]), None)
            else:
                service = self._service(name, server["command"], server["env"] | {"PORT": "{port}"})
                path = "/sse" if server["transport"] == "sse" else "/mcp"
                self._remote("sdk-http", name, package, service, server["transport"], "127.0.0.1", path, None, wanted(server["like"]), None)
        for name, entry in servers.REMOTE.items():
            service, package = None, ""
            if entry["service"]:
                described = servers.SERVICES[entry["service"]]
                server = servers.SERVERS[described["of"]]
                package = f"{server['package']}@{server['version']}"
                service = self._service(entry["service"], described["command"], described["env"])
            names = None if entry["like"] is None else wanted(entry["like"])
            self._remote("mcp-http", name, package, service, entry["type"], entry["host"], entry["path"], entry["headers"], names, FAILS.get(name))

    def _installed(self, command):
        program = command[1] if command[0] == "node" else command[0]
        return not program.startswith("{zoo}") or os.path.exists(self.place(program))

    def _stdio(self, config, name, package, command, env, names, failure):
        if not self._installed(command):
            self.absent.append((config, name))
            return
        words = [self.place(word) for word in command]
        entry = {"type": "stdio", "command": words[0], "args": words[1:]}
        if env:
            entry["env"] = {key: self.place(value) for key, value in env.items()}
        self.entries.append(Entry(config, name, package, entry, names, failure))

    def _service(self, name, command, env):
        return (name, command, env) if self._installed(command) else ()

    def _remote(self, config, name, package, service, transport, host, path, headers, names, failure):
        if service == ():
            self.absent.append((config, name))
            return
        entry = {"type": transport, "url": f"http://{host}:{{port}}{path}"} | ({"headers": headers} if headers else {})
        self.entries.append(Entry(config, name, package, entry, names, failure, service))

    def write(self, config, entries):
        """The configuration as a file, and its path."""
        path = self.folder / f"{config}.json"
        path.write_text(json.dumps({"mcpServers": {entry.name: entry.entry for entry in entries}}, indent=2) + "\n")
        return path

    @contextlib.contextmanager
    def serving(self, entries):
        """The services that these entries need are up on free ports, and the entries know where; all are ended afterwards."""
        ports, children = {}, []
        try:
            for entry in entries:
                if "url" not in entry.entry:
                    continue
                name, command, env = entry.service or (None, None, None)
                if name and name not in ports:
                    ports[name] = free_port()
                    words = [self.place(word, ports[name]) for word in command]
                    values = {key: self.place(value, ports[name]) for key, value in env.items()}
                    with open(self.folder / "logs" / f"serve-{name}.log", "w") as log:
                        children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder / "work",
                                                         env=self.environment(values), start_new_session=True))
                entry.entry["url"] = entry.entry["url"].replace("{port}", str(ports.get(name, 1)))
            deadline = time.monotonic() + 120
            for name, port in ports.items():
                while not listens(port):
                    if time.monotonic() > deadline:
                        raise SystemExit(f"{name} does not listen on {port}: see {self.folder}/logs/serve-{name}.log")
                    time.sleep(0.1)
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(child.pid, number)
                deadline = time.monotonic() + 5
                for child in children:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(max(0, deadline - time.monotonic()))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def alone():
    """Goes on in namespaces of its own: no network but loopback, so that every run sees the same world and no server can be reached
    from outside or reach anybody; and when the script ends, so does every process that it has left behind."""
    if os.environ.get("ZOO_ALONE"):
        control = socket.socket()
        fcntl.ioctl(control, 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING
        return
    os.environ["ZOO_ALONE"] = "1"
    command = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv]
    os.execvp(command[0], command)
