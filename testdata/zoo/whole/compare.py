#!/usr/bin/env python3
"""The same servers through other clients: the official TypeScript and Python ones, and the Inspector's CLI.

    testdata/zoo/whole/compare.py DIR [--config mcp ...] [--only NAME ...]

after run.py, whose names these are compared with. Exits 1 when a client sees other names than mcp-preflight and known.py does not
say why. A client that fails in its `auto` mode is asked again in `legacy`, and the report says so.
"""

import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys

import known
import report
import zoo

LIMIT = 90
CLIENTS = {"TypeScript client 2.4.0": ("auto", "legacy"), "TypeScript SDK 1.32.2": ("v1",), "Python client 2.3.0": ("auto", "legacy"),
           "Inspector 2.12.0": ("auto", "legacy")}


def command(world, client, mode, entry, config):
    if client.startswith("TypeScript"):
        return ["node", str(world.folder / "clients/list.mjs"), mode, json.dumps(entry.entry)]
    if client.startswith("Python"):
        return [str(world.folder / "sdk/python/mcp-2.3.0/bin/python"), str(zoo.HERE / "clients/list.py"), mode, json.dumps(entry.entry)]
    inspector = world.folder / "clients/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    return [str(world.folder / "clients/node22/node_modules/node/bin/node"), str(inspector), "--cli", "--config", str(config), "--server", entry.name,
            "--method", "tools/list", "--format", "json", "--quiet", "--protocol-era", mode, "--connect-timeout", str(LIMIT * 1000)]


def ask(world, client, mode, entry, config, limit):
    """The names, or why there are none."""
    words = command(world, client, mode, entry, config)
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             cwd=world.folder / "work", env=world.environment(), start_new_session=True)
    try:
        out, errors = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"no list in {limit} s"
    finally:
        # Its servers as well: they are in its group, or end with their standard input.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.stdout.close()
        child.stderr.close()
        child.wait()
    for line in out.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and "names" in answer:
            return sorted(answer["names"]), None
        if isinstance(answer, dict) and "result" in answer:
            return sorted(tool["name"] for tool in answer["result"]["tools"]), None
    said = [line.strip() for line in (errors or out).splitlines() if line.strip()]
    return None, next((line for line in reversed(said) if "rror" in line), said[-1] if said else f"exit code {child.returncode}")[:300]


def compare(world, client, entry, ours, config):
    """One cell of the table."""
    limit = 20 if ours is None else LIMIT
    cell = {"mode": None, "tried": {}}
    for mode in CLIENTS[client]:
        names, reason = ask(world, client, mode, entry, config, limit)
        if names is not None:
            cell["mode"] = mode
            break
        cell["tried"][mode] = reason
        if ours is None:
            break
    cell["count"] = None if names is None else len(names)
    seen, expected = set(names or []), set(ours or [])
    cell["missing"], cell["added"] = sorted(expected - seen), sorted(seen - expected)
    cell["same"] = names == ours
    cell["why"] = None if cell["same"] and not cell["tried"] else known.difference(client, entry.config, entry.name)
    return cell


def save(path, rows, names):
    """Beside the rows of entries that were left out this time."""
    earlier = json.loads(path.read_text()) if path.exists() else []
    by_name = {row["name"]: row for row in [*earlier, *rows]}
    path.write_text(json.dumps([by_name[name] for name in names if name in by_name], indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=zoo.Zoo, metavar="DIR")
    parser.add_argument("--config", action="append", choices=zoo.CONFIGS)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    zoo.alone()

    unexplained = 0
    for config in options.config or zoo.CONFIGS:
        ours = {row["name"]: row.get("names") for row in json.loads((options.zoo.results / f"{config}.json").read_text())}
        entries = [entry for entry in options.zoo.of(config) if not options.only or entry.name in options.only]
        with options.zoo.serving(entries), concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            path = options.zoo.write(f"{config}-compare", entries)
            cells = {(entry.name, client): pool.submit(compare, options.zoo, client, entry, ours[entry.name], path) for entry in entries for client in CLIENTS}
            rows = []
            for entry in entries:
                row = {"config": config, "name": entry.name, "count": None if ours[entry.name] is None else len(ours[entry.name]),
                       "clients": {client: cells[entry.name, client].result() for client in CLIENTS}}
                rows.append(row)
                for client, cell in row["clients"].items():
                    if not cell["same"]:
                        unexplained += not cell["why"]
                        print(f"{'explained' if cell['why'] else 'DIFFERENT'} {config} {entry.name}, {client}: {cell['count']} against {row['count']}, "
                              f"missing {cell['missing'][:5]}, added {cell['added'][:5]} {cell['tried']} {cell['why'] or ''}")
                    elif cell["tried"] and row["count"] is not None:
                        print(f"fallback  {config} {entry.name}, {client}: {cell['tried']} {cell['why'] or ''}")
        save(options.zoo.results / f"compare-{config}.json", rows, [entry.name for entry in options.zoo.of(config)])
        same = sum(cell["same"] for row in rows for cell in row["clients"].values())
        print(f"{config}: {same} of {len(rows) * len(CLIENTS)} lists are the same", flush=True)
    report.write(options.zoo)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
