#!/usr/bin/env python3
"""Proves mcp-preflight on the whole zoo, and writes docs/servers.md.

    testdata/zoo/whole/setup.sh DIR
    testdata/zoo/whole/run.py DIR [--binary target/release/mcp-preflight] [--config mcp --config sdk ...]

Each configuration is listed with `mcp-preflight tools`; then the gate compares mcp.json and mcp-nocred.json with expected.json as its
lock. Exits 1 when any names differ from the expected ones, or when a failure is not named as known.py says.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import known
import report
import zoo
from servers import ONLINE


def preflight(options, arguments, limit):
    """Both reports of one run, the one in JSON and the one for people, and its exit code."""
    path = options.zoo.results / "report.json"
    path.unlink(missing_ok=True)
    command = [options.binary, *arguments, "--format", f"json={path}", "--jobs", str(options.jobs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=options.zoo.folder / "work", env=options.zoo.environment())
    if not path.exists():
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}, no report\n{done.stdout}{done.stderr}")
    return json.loads(path.read_text()), done.stdout, done.returncode


def probe(options, config, entries):
    """Rows for these entries of one configuration. Those that must run into their deadline get a short one."""
    path = options.zoo.write(config, entries)
    slow = [entry for entry in entries if entry.failure and entry.failure["class"] == "timeout"]
    rows = {}
    for group, timeout in ((slow, "15s"), ([entry for entry in entries if entry not in slow], "60s")):
        if not group:
            continue
        chosen = [word for entry in group for word in ("--server", entry.name)]
        seen, text, _ = preflight(options, ["tools", "--config", str(path), "--timeout", timeout, *chosen], 60 + 60 * len(group))
        by_name = {server["name"]: server for server in seen["servers"]}
        for entry in group:
            findings = [finding for finding in seen["findings"] if finding["server"] == entry.name]
            # Paragraphs, each about one finding.
            shown = [part for part in text.split("\n\n") if re.match(rf"(error|warning|note)\[[a-z-]+\] {re.escape(entry.name)}\b", part)]
            rows[entry.name] = row(entry, by_name.get(entry.name), findings, "\n".join(shown))
    return [rows[entry.name] for entry in entries]


def row(entry, server, findings, shown):
    failure = server and server["failure"]
    made = {"config": entry.config, "name": entry.name, "package": entry.package, "entry": entry.entry, "findings": [finding["code"] for finding in findings],
            "expected_failure": entry.failure, "names": None, "seconds": 0, "failure": None}
    made |= {key: server and server[key] for key in ("transport", "era", "protocol_version")}
    if server:
        made |= {"names": None if failure else sorted(server["observed"]), "seconds": server["elapsed_ms"] / 1000, "failure": failure}
    made["wrong"] = judge(entry, server, failure, findings, shown)
    return made


def judge(entry, server, failure, findings, shown):
    """What is not as expected, or None."""
    if server is None:
        return "not in the report"
    if entry.failure is None and entry.names is None:
        return "nothing is expected of this entry: known.py or expected.json lacks it"
    if entry.failure is None:
        if failure:
            return f"{failure['class']} in {failure['step']}: {failure['message']}"
        missing, added = (sorted(a - b) for a, b in ((set(entry.names), set(server["observed"])), (set(server["observed"]), set(entry.names))))
        codes = [finding["code"] for finding in findings]
        if ("tools-unusable" in codes) != (entry.name in known.UNUSABLE):
            return f"findings: {codes}"
        if not entry.names and "tools-empty" not in codes:
            return "lists nothing, and the report says nothing"
        return f"missing {missing}, added {added}" if missing or added else None
    if not failure:
        return f"lists {len(server['observed'])} tools, and should fail"
    said = "\n".join(text or "" for text in (failure["message"], failure["stderr"], *(finding["help"] for finding in findings)))
    for key in ("class", "step"):
        if failure[key] != entry.failure[key]:
            return f"{key} is {failure[key]}, not {entry.failure[key]}: {failure['message']}"
    for name, text in (("JSON", said), ("human", shown)):
        if not re.search(entry.failure["says"], text):
            return f"the {name} report does not say /{entry.failure['says']}/:\n{text}"
    return None


def gate(options, config):
    """The gate's own verdict, with the names of mcp.json as its lock: all verified there, every lost tool named in mcp-nocred.json."""
    full = {entry.name: entry.names for entry in options.zoo.of("mcp")}
    entries = [entry for entry in options.zoo.of(config) if entry.name in full]
    lock = options.zoo.results / f"{config}.lock.json"
    lock.write_text(json.dumps({entry.name: full[entry.name] for entry in entries}))
    path = options.zoo.write(f"{config}-gate", entries)
    seen, _, code = preflight(options, ["--config", str(path), "--lock", str(lock), "--timeout", "60s",
                                       *(word for name in known.UNUSABLE for word in ("--optional", name))], 60 + 60 * len(entries))
    wrong = []
    for entry, server in zip(entries, seen["servers"], strict=True):
        lost = sorted(set(full[entry.name]) - set(entry.names or []))
        unusable = not lost and entry.name in known.UNUSABLE
        status = "failed" if entry.failure else "drift" if lost or unusable else "verified"
        if (server["name"], server["status"]) != (entry.name, status) or not entry.failure and sorted(server["missing"]) != lost:
            wrong.append(f"{server['name']}: {server['status']}, not {status}; missing {server['missing']}, not {lost}")
    if code != (0 if config == "mcp" else 78):
        wrong.append(f"exit code {code}")
    missing = sum(len(server["missing"]) for server in seen["servers"] if not server["failure"])
    return {"config": config, "exit_code": code, "summary": seen["summary"], "missing": missing, "seconds": seen["elapsed_ms"] / 1000, "wrong": wrong}


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
    parser.add_argument("--config", action="append", choices=zoo.CONFIGS, help="only this one (repeatable); the others' last results stay")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-gate", action="store_true")
    options = parser.parse_args()
    if os.sep in options.binary:
        options.binary = os.path.abspath(options.binary)
    chosen = options.config or zoo.CONFIGS
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
    for config in ("mcp", "mcp-nocred"):
        if config in chosen and not options.no_gate:
            verdict = gate(options, config)
            (options.zoo.results / f"gate-{config}.json").write_text(json.dumps(verdict, indent=1))
            wrong += len(verdict["wrong"])
            print("gate:", json.dumps(verdict), flush=True)
    report.write(options.zoo)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
