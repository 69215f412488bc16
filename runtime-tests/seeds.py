#!/usr/bin/env python3
"""Executes seeds.tsv: what the five source documents say, row by row, each with a command that shows it.

    seeds.py [BUILD_FOLDER] [--document seed3] [--row TEXT] [--show]

A row has four columns, separated by tabs: the document; its row (line, and what it says); a shell command, executed in
runtime-tests/seeds/ with the command under test in $NVMINI, an empty folder in $T, and standard error added to standard
output; what is expected.
Equal commands are executed once. The expectation is a list of items separated by ` ;; `:

    TEXT             occurs after the match of the item before; a run of blanks matches any run of blanks and line ends,
                     and {{...}} is a regular expression
    !TEXT            does not occur between the matches of its neighbours (or the ends of the output)
    =N TEXT          occurs exactly N times in the output
    exit N           the exit status, 0 if not given
    departure:NAME   nvmini departs on purpose: a row of docs/departures.tsv; what follows is what it does instead, and
                     the command is `-` if there is nothing to execute

A row that could not fail is refused: it has no TEXT, no count above 0 and the exit status 0. So is a departure that no row
names. Closes with `seeds: N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TABLE = f"{HERE}/seeds.tsv"
COLUMNS = ["document", "row", "command", "expected"]
LIMIT = 30  # seconds for a command
sys.path.insert(0, f"{ROOT}/tools")
import departures  # pylint: disable=wrong-import-position

Row = collections.namedtuple("Row", "line document row command expected")


def pattern(text):
    """The regular expression of a TEXT."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(f"(?:{part})" if k % 2 else r"\s+".join(map(re.escape, re.split(r"\s+", part)))
                              for k, part in enumerate(parts)), re.M)


def items(expected):
    return [item.strip() for item in expected.split(" ;; ")]


def kind(item):
    for name, start in (("exit", r"exit (\d+)$"), ("departure", r"departure:([\w-]+)$"), ("count", r"=\d+ "), ("not", "!")):
        if re.match(start, item):
            return name
    return "text"


def faults_of_order(expected, output):
    """The texts in order, and those that must not occur between them."""
    at, forbidden = 0, []

    def found_between(end):
        return [f"'{text}' occurs" for text in forbidden if pattern(text).search(output[at:end])]

    for item in expected:
        if kind(item) == "not":
            forbidden.append(item[1:])
        elif kind(item) == "text":
            match = pattern(item).search(output, at)
            if not match:
                return [f"'{item}' does not occur" + (" after the items before it" if at else "")]
            faults = found_between(match.start())
            if faults:
                return faults
            at, forbidden = match.end(), []
    return found_between(len(output))


def faults_of(expected, status, output):
    """Why the output is not what is expected; empty if it is."""
    statuses = [int(item.split()[1]) for item in expected if kind(item) == "exit"] or [0]
    if status != statuses[0]:
        return [f"exit status {status} instead of {statuses[0]}"]
    for item in expected:
        if kind(item) == "count":
            number, text = re.match(r"=(\d+) (.*)", item).groups()
            found = len(pattern(text).findall(output))
            if found != int(number):
                return [f"'{text}' occurs {found} times instead of {number}"]
    return faults_of_order(expected, output)


def faults_of_table(rows, table):
    """Rows that are not well formed, or could not fail; table: the departures by name."""
    faults, seen, named = [], set(), set()
    for row in rows:
        where, kinds = f"{TABLE}:{row.line}: ", [kind(item) for item in items(row.expected)]
        departed = [item.split(":")[1] for item in items(row.expected) if kind(item) == "departure"]
        named.update(departed)
        if row.document not in departures.DOCUMENTS:
            faults.append(f"{where}there is no document '{row.document}'")
        if (row.document, row.row) in seen:
            faults.append(f"{where}the row occurs twice")
        seen.add((row.document, row.row))
        faults += [f"{where}docs/departures.tsv has no '{name}' of this document" for name in departed
                   if name not in table or table[name].document != row.document]
        strict = "text" in kinds or any(kind(item) in ("count", "exit") and not re.match(r"=0 |exit 0$", item)
                                        for item in items(row.expected))
        if row.command == "-" and not departed:
            faults.append(f"{where}a row without a command must name a departure")
        elif row.command != "-" and not strict:
            faults.append(f"{where}the row cannot fail: expected a text, a count or an exit status")
    return faults + [f"docs/departures.tsv: no row of seeds.tsv names '{name}'" for name in table if name not in named]


def read():
    with open(TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows, faults = [], []
    if lines[0].split("\t") != COLUMNS:
        faults.append(f"{TABLE}:1: expected the columns {', '.join(COLUMNS)}")
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not all(cell.strip() for cell in cells):
            faults.append(f"{TABLE}:{number}: expected {len(COLUMNS)} columns, none of them empty")
        else:
            rows.append(Row(number, *cells))
    return rows, faults


def execute(command, build):
    """(exit status, output); status None if it ran too long."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NVMINI": os.path.abspath(f"{build}/nvmini"), "T": folder}
        try:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=f"{HERE}/seeds", env=environment,
                                  timeout=LIMIT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description="Executes seeds.tsv.")
    parser.add_argument("build", nargs="?", default=f"{ROOT}/build")
    parser.add_argument("--document", default="", help="only the rows of this document")
    parser.add_argument("--row", default="", help="only rows that contain this text")
    parser.add_argument("--show", action="store_true", help="print the output of each command")
    options = parser.parse_args()
    rows, faults = read()
    if not faults:
        faults = faults_of_table(rows, {row.name: row for row in departures.read()})
    for fault in faults:
        print(fault)
    rows = [row for row in rows if options.document in row.document and options.row in row.row]
    commands = sorted({row.command for row in rows} - {"-"})
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        outputs = dict(zip(commands, pool.map(lambda command: execute(command, options.build), commands)))
    failed = len(faults)
    for row in rows:
        if row.command == "-":
            continue
        status, output = outputs[row.command]
        wrong = faults_of(items(row.expected), status, output)
        failed += bool(wrong)
        if wrong or options.show:
            print(f"{row.document}: {row.row}\n  $ {row.command}\n  expected: {row.expected}\n  {'; '.join(wrong) or 'as expected'}")
            print("  | " + "\n  | ".join(output.splitlines() if options.show else output.splitlines()[:25]))
    print(f"seeds: {len(rows) + len(faults) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
