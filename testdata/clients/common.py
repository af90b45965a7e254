"""What the comparisons with clients share: where the builds and scenarios are, and a scenario served over HTTP."""
import os, pathlib, subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
PREFLIGHT, FAKE = TARGET / "mcp-preflight", TARGET / "examples/fake-server"
SCENARIOS = ROOT / "testdata/scenario"


class Served:
    """A scenario served over HTTP."""

    def __init__(self, path):
        self.process = subprocess.Popen([FAKE, "http", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
