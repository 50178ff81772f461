"""Writes what was measured as a table into docs/performance.md: table.py FILE [--print]"""
import datetime
import json
import os
import pathlib
import sys

BEGIN, END = "<!-- peers: benches/peers/run -->\n", "<!-- /peers -->\n"
KINDS = [
    ("chain", "a step of a chain of 100 that do nothing"),
    ("graph", "a node of a graph of 10, one after the other"),
    ("diamond", "a node of a graph of 1,000, all but two side by side, and merged"),
    ("turn", "an agent's turn: two calls of a model in the process, one tool call"),
    ("durable", "a durable step, one run after another"),
]


def shown(microseconds):
    if microseconds is None:
        return "not measured"
    if microseconds >= 1000:
        return f"{microseconds / 1000:,.1f} ms"
    return f"{microseconds:,.2f} µs" if microseconds < 10 else f"{microseconds:,.0f} µs"


def table(lines):
    load = os.getloadavg()[0]
    yield f"{datetime.date.today()}, {os.cpu_count()} cores, load {load:.1f} at the end.\n"
    yield "| what | engine | time | processor time |\n| --- | --- | --- | --- |\n"
    for kind, words in KINDS:
        found = sorted((line for line in lines if line["what"] == kind), key=lambda line: line["cpu_us"] or line["wall_us"])
        for line in found:
            yield f"| {words} | {line['engine']} | {shown(line['wall_us'])} | {shown(line['cpu_us'])} |\n"
            words = ""


lines = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line.startswith("{")]
dated, *rows = table(lines)
made = dated + "\n" + "".join(rows)
if "--print" in sys.argv[2:]:
    sys.stdout.write(made)
else:
    page = pathlib.Path("docs/performance.md")
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"docs/performance.md has no place for the table: {BEGIN.strip()} … {END.strip()}")
    page.write_text(before + BEGIN + made + END + after)
