#!/usr/bin/env python3
"""Proves mcp-preflight on the whole zoo, and writes docs/servers.md.

    testdata/zoo/whole/setup.sh DIR
    testdata/zoo/whole/run.py DIR [--binary target/release/mcp-preflight] [--config mcp --config sdk ...]

Each configuration is listed with `mcp-preflight tools`; then the gate compares mcp.json with expected.json as its lock. Exits 1 when
any names differ from the expected ones, or when a failure is not named as known.py says.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import report
import zoo
from servers import ONLINE

CONFIGS = ("mcp", "mcp-nocred", "mcp-broken", "mcp-http", "sdk", "sdk-http")


def preflight(options, arguments, limit):
    """The report and the exit code of one run."""
    command = [options.binary, *arguments, "--format", "json", "--jobs", str(options.jobs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=options.zoo.folder / "work", env=options.zoo.environment())
    try:
        return json.loads(done.stdout), done.returncode
    except ValueError:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}, no JSON\n{done.stdout}{done.stderr}") from None


def probe(options, config, entries):
    """Rows for these entries of one configuration. Those that must run into their deadline get a short one."""
    path = options.zoo.write(config, entries)
    slow = [entry for entry in entries if entry.failure and entry.failure["class"] == "timeout"]
    rows = {}
    for group, timeout in ((slow, "15s"), ([entry for entry in entries if entry not in slow], "60s")):
        if not group:
            continue
        chosen = [word for entry in group for word in ("--server", entry.name)]
        seen, _ = preflight(options, ["tools", "--config", str(path), "--timeout", timeout, *chosen], 60 + 60 * len(group))
        by_name = {server["name"]: server for server in seen["servers"]}
        for entry in group:
            findings = [finding["code"] for finding in seen["findings"] if finding["server"] == entry.name]
            rows[entry.name] = row(entry, by_name.get(entry.name), findings)
    return [rows[entry.name] for entry in entries]


def row(entry, server, findings):
    failure = server and server["failure"]
    made = {"config": entry.config, "name": entry.name, "package": entry.package, "entry": entry.entry, "findings": findings}
    if server:
        made |= {key: server[key] for key in ("transport", "era", "protocol_version")}
        made |= {"names": None if failure else sorted(server["observed"]), "seconds": server["elapsed_ms"] / 1000, "failure": failure}
        made["expected_failure"] = entry.failure
    made["wrong"] = judge(entry, server, failure)
    return made


def judge(entry, server, failure):
    """What is not as expected, or None."""
    if server is None:
        return "not in the report"
    if entry.failure is None and entry.names is None:
        return "nothing is expected of this entry: known.py or expected.json lacks it"
    if entry.failure is None:
        if failure:
            return f"{failure['class']} in {failure['step']}: {failure['message']}"
        missing, added = (sorted(a - b) for a, b in ((set(entry.names), set(server["observed"])), (set(server["observed"]), set(entry.names))))
        return f"missing {missing}, added {added}" if missing or added else None
    if not failure:
        return f"lists {len(server['observed'])} tools, and should fail"
    said = "\n".join(str(failure[key]) for key in ("message", "stderr") if failure[key])
    for key in ("class", "step"):
        if failure[key] != entry.failure[key]:
            return f"{key} is {failure[key]}, not {entry.failure[key]}: {failure['message']}"
    return None if re.search(entry.failure["says"], said) else f"does not say /{entry.failure['says']}/: {said}"


def gate(options):
    """The gate's own verdict on mcp.json, with the expected names as its lock."""
    entries = options.zoo.of("mcp")
    names = {entry.name: entry.names for entry in entries}
    lock = options.zoo.results / "mcp.lock.json"
    lock.write_text(json.dumps(names, indent=2))
    path = options.zoo.write("mcp", entries)
    seen, code = preflight(options, ["--config", str(path), "--lock", str(lock), "--timeout", "60s"], 60 + 60 * len(entries))
    return {"exit_code": code, "servers": len(entries), "summary": seen["summary"], "seconds": seen["elapsed_ms"] / 1000,
            "not_verified": [server["name"] for server in seen["servers"] if server["status"] != "verified"]}


def online(options):
    """What needs the package registry runs before the network is left."""
    saved = options.zoo.results / "online.json"
    if not os.environ.get("ZOO_ALONE"):
        saved.write_text(json.dumps(probe(options, "mcp-online", [entry for entry in options.zoo.entries if entry.name in ONLINE])))
    return {row["name"]: row for row in json.loads(saved.read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=zoo.Zoo, metavar="DIR")
    parser.add_argument("--binary", default="mcp-preflight")
    parser.add_argument("--config", action="append", choices=CONFIGS, help="only this one (repeatable); the others' last results stay")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-gate", action="store_true")
    options = parser.parse_args()
    chosen = options.config or CONFIGS
    rows = online(options)
    zoo.alone()

    wrong = 0
    for config in chosen:
        entries = options.zoo.of(config)
        with options.zoo.serving(entries):
            here = [entry for entry in entries if entry.name not in rows]
            rows_here = {row["name"]: row for row in probe(options, config, here)}
        made = [rows_here.get(entry.name) or rows[entry.name] for entry in entries]
        (options.zoo.results / f"{config}.json").write_text(json.dumps(made, indent=1))
        for line in made:
            if line["wrong"]:
                wrong += 1
                print(f"WRONG {config} {line['name']}: {line['wrong']}")
        print(f"{config}: {sum(not line['wrong'] for line in made)} of {len(made)} as expected", flush=True)
    if "mcp" in chosen and not options.no_gate:
        verdict = gate(options)
        (options.zoo.results / "gate.json").write_text(json.dumps(verdict, indent=1))
        wrong += verdict["exit_code"] != 0
        print("gate:", json.dumps(verdict))
    report.write(options.zoo)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
