#!/usr/bin/env python3
"""Makes docs/departures.md from docs/departures.tsv: where nvmini departs from the source documents on purpose.

A row has five columns, separated by tabs: a name that runtime-tests/seeds.tsv can refer to, the document, its row,
what nvmini does, and why. tools/readme.py checks the page, and writes it with --update.
"""
import collections
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE, PAGE = f"{ROOT}/docs/departures.tsv", f"{ROOT}/docs/departures.md"
COLUMNS = ["name", "document", "row", "what nvmini does", "why"]
DOCUMENTS = {
    "seed1": "NVPTX target infrastructure",
    "seed2": "Family-specific architectures (LLVM PR 141899)",
    "seed3": "LoopVectorize and VPlan",
    "seed4": "NVVMReflect",
    "seed5": "NVPTX subtarget and feature matrix",
}
Departure = collections.namedtuple("Departure", "name document row does why")


def read():
    """The rows; raises ValueError for one that is not well formed."""
    with open(TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if lines[0].split("\t") != COLUMNS:
        raise ValueError(f"{TABLE}:1: expected the columns {', '.join(COLUMNS)}")
    rows, names = [], set()
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not all(cell.strip() for cell in cells):
            raise ValueError(f"{TABLE}:{number}: expected {len(COLUMNS)} columns, none of them empty")
        row = Departure(*cells)
        if row.document not in DOCUMENTS:
            raise ValueError(f"{TABLE}:{number}: expected a document of {', '.join(DOCUMENTS)}; found '{row.document}'")
        if row.name in names:
            raise ValueError(f"{TABLE}:{number}: the name '{row.name}' is used twice")
        names.add(row.name)
        rows.append(row)
    return rows


def page():
    parts = ["""# Departures from the source documents

For people who know the five documents that nvmini follows, and find that it does something else. Each row is a decision;
[decisions.md](decisions.md) has the longer reasons. `runtime-tests/seeds.tsv` lists what nvmini does as the documents say, row
by row, each with a command that shows it. This page is made from `docs/departures.tsv` by `make update-golden`.
"""]
    rows = read()
    for document, title in DOCUMENTS.items():
        here = [row for row in rows if row.document == document]
        if not here:
            parts.append(f"\n## {title}\n\nNone.\n")
            continue
        parts.append(f"\n## {title}\n\n| name | row of the document | what nvmini does | why |\n|---|---|---|---|\n")
        parts += ["| `{}` | {} | {} | {} |\n".format(
            row.name, *(cell.replace("|", "\\|") for cell in (row.row, row.does, row.why))) for row in here]
    return "".join(parts)
