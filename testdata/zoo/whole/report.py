"""docs/servers.md, from what run.py and compare.py have left in DIR/results."""

import json
import re

import known
import zoo

HEAD = """# Real servers

Written by `testdata/zoo/whole/run.py` and `compare.py`; do not edit. Every server runs with dummy credentials in a network that has
nothing but loopback. Time: from the start of the process to the complete list, on a machine with two processors, two
probes at once, busy with other work; a time is no promise.
"""


def write(world):
    def load(name):
        path = world.results / name
        return json.loads(anonymous(path.read_text(), world)) if path.exists() else None

    runs = {config: load(f"{config}.json") or [] for config in zoo.CONFIGS}
    every = [row for rows in runs.values() for row in rows]
    document = [HEAD, summary(runs, [load(f"gate-{config}.json") for config in ("mcp", "mcp-nocred")], world.absent)]
    listed = [row for row in runs["mcp"] + runs["mcp-http"] if row["names"] is not None]
    document.append("## Servers\n\n" + table(listed))
    document.append("## Without the credential or the flag\n\n" + without(runs))
    document.append("## Servers on SDK releases\n\nTwo tools each (`testdata/zoo/whole/sdk`).\n\n" + table(runs["sdk"] + runs["sdk-http"]))
    document.append("## What cannot be listed, and the cause that the report names\n\n" + failures(every))
    compared = {config: load(f"compare-{config}.json") for config in zoo.CONFIGS}
    if any(compared.values()):
        document.append("## The same servers through other clients\n\n" + clients([row for rows in compared.values() if rows for row in rows]))
    zoo.DOCUMENT.write_text("\n".join(part.strip() + "\n" for part in document))


def anonymous(text, world):
    """Without what differs from one run and machine to the next."""
    return re.sub(r"(127\.0\.0\.1|localhost):\d{5}\b", r"\1:PORT", text.replace(str(world.folder), "DIR").replace(str(zoo.HERE), "testdata/zoo/whole"))


def grid(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def table(rows):
    head = ("server", "version", "transport", "era", "protocol", "tools", "s")
    return grid(head, [(row["name"], row["package"], row["transport"], row["era"], row["protocol_version"],
                        "FAILED" if row["names"] is None else len(row["names"]), f"{row['seconds']:.2f}") for row in rows])


def summary(runs, gates, absent):
    titles = {"mcp": "with credentials", "mcp-nocred": "without them, or without a flag", "mcp-broken": "broken, or badly configured",
              "mcp-http": "over HTTP", "sdk": "on SDK releases, stdio", "sdk-http": "on SDK releases, HTTP and SSE"}
    rows = [(titles[config], len(rows), sum(row["names"] is not None and not row["wrong"] for row in rows),
             sum(row["names"] is None and not row["wrong"] for row in rows), sum(bool(row["wrong"]) for row in rows)) for config, rows in runs.items()]
    rows.append(("together", *(sum(column) for column in list(zip(*rows))[1:])))
    text = grid(("configuration", "entries", "listed, names as expected", "failed, cause as expected", "not as expected"),
                rows)
    wrong = [f"- {row['config']}, {row['name']}: {row['wrong'].splitlines()[0]}" for rows in runs.values() for row in rows if row["wrong"]]
    if wrong:
        text += "\n\nNot as expected:\n\n" + "\n".join(wrong)
    if all(gates):
        full, bare = gates
        text += (f"\n\nThe gate, with the names of the first configuration as its lock, on the first: exit code {full['exit_code']}, "
                 f"{full['summary']['tools_verified']} tools of {full['summary']['verified']} servers verified, {' and '.join(known.UNUSABLE)} made optional, in {full['seconds']:.0f} s. On the second: exit code "
                 f"{bare['exit_code']}, {bare['missing']} missing tools named, and no other."
                 + "".join(f"\n- NOT AS EXPECTED: {line}" for gate in gates for line in gate["wrong"]))
    if absent:
        text += "\n\nNot installed in this run: " + ", ".join(f"{name} ({config})" for config, name in absent) + "."
    return text


def without(runs):
    full = {row["name"]: row for row in runs["mcp"]}
    rows = []
    for row in runs["mcp-nocred"]:
        before = full.get(row["name"])
        count = len(before["names"]) if before and before["names"] is not None else "-"
        if row["names"] is None:
            said = cause(row) + (": " + found(row, row["expected_failure"]) if found(row, row["expected_failure"]) else "")
        elif not row["names"]:
            said = "`tools-empty`"
        elif len(row["names"]) == count:
            said = "nothing is missing"
        else:
            said = "handshake and list are fine: only the lock shows it"
        rows.append((row["name"], count, "-" if row["names"] is None else len(row["names"]), said))
    return grid(("server", "tools with", "tools without", "what the report says"), rows)


def cause(row):
    failure = row["failure"]
    if not failure:
        return row["wrong"]
    if failure["class"] == "exited":
        return f"`exited` with status {failure['exit_status']} in {failure['step']}"
    return f"`{failure['class']}` in {failure['step']}: {shorten(failure['message'])}"


def shorten(text):
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= 140 else text[:137] + "..."


def failures(rows):
    rows = [row for row in rows if row["names"] is None and row["config"] != "mcp-nocred"]
    lines = []
    for row in rows:
        expected = row.get("expected_failure") or {}
        lines.append((row["name"], row["package"], expected.get("why", ""), cause(row), found(row, expected)))
    return grid(("entry", "version", "what is wrong", "what the report says", "from its standard error"), lines)


def found(row, expected):
    """The line of standard error that names the cause."""
    for line in reversed(((row["failure"] or {}).get("stderr") or "").splitlines()):
        if expected and re.search(expected["says"], line):
            return "`" + shorten(line).replace("`", "'") + "`"
    return ""


def clients(rows):
    names = list(rows[0]["clients"])
    healthy = [row for row in rows if row["count"] is not None]
    lines = []
    for name in names:
        cells = [row["clients"][name] for row in healthy]
        lines.append((name, len(cells), sum(cell["same"] for cell in cells), sum(cell["same"] and bool(cell["tried"]) for cell in cells),
                      sum(cell["count"] is not None and not cell["same"] for cell in cells), sum(cell["count"] is None for cell in cells)))
    text = grid(("client", "servers", "the same names", "of these only in its legacy mode", "other names", "no list"), lines)
    broken = [row for row in rows if row["count"] is None]
    listed = [f"{row['name']} ({name})" for row in broken for name in names if row["clients"][name]["count"] is not None]
    text += (f"\n\nOf the {len(broken)} entries that mcp-preflight cannot list, these clients list "
             f"{', '.join(listed) if listed else 'none either'}.")
    reasons = {}
    for row in healthy:
        for name in names:
            cell = row["clients"][name]
            if cell["same"] and not cell["tried"]:
                continue
            if cell["same"]:
                what = "only in legacy mode"
            elif cell["count"] is None:
                what = "no list"
            else:
                what = f"{cell['count']} against {row['count']}" + "".join(
                    f", {word} {', '.join(cell[word])}" for word in ("missing", "added") if cell[word])
            why = known.difference(name, row["config"], row["name"]) or f"NOT EXPLAINED: {'; '.join(cell['tried'].values())}"
            reasons.setdefault((name, what, why), []).append(row["name"])
    if reasons:
        text += "\n\n" + grid(("client", "servers", "difference", "why"),
                              [(name, ", ".join(entries), what, why) for (name, what, why), entries in reasons.items()])
    return text
