#!/bin/sh
# The expectations of seeds.tsv: what each kind of item accepts and refuses, and rows that are not well formed.
# Ends with "N passed, N failed" and that status.
PYTHONDONTWRITEBYTECODE=1 exec python3 - "$(cd "$(dirname "$0")/.." && pwd)" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
import seeds

OUTPUT = "define i32 @f() {\n  ret i32 900\n}\nadd.s32 \t%r1, %r1, 1;\nadd.s32 \t%r2, %r1, 1;\n"
# (expectation, exit status, whether the output is what it says)
CASES = [
    ("ret i32 900", 0, True), ("ret i32 90;", 0, False), ("ret i32 900", 1, False), ("ret i32 900 ;; exit 1", 1, True),
    ("exit 2", 0, False), ("define i32 @f() { ret i32 900 }", 0, True), ("define i32 @g() { ret i32 900 }", 0, False),
    ("@f ;; ret", 0, True), ("ret ;; @f", 0, False), ("{{ret i32 [0-9]+}}", 0, True), ("{{ret i32 [a-z]+}}", 0, False),
    ("ret i32 {{^}}900", 0, False), ("{{^}}}", 0, True), ("!@f ;; ret", 0, False), ("!add ;; ret", 0, True),
    ("ret ;; !add", 0, False), ("ret ;; !mul", 0, True), ("!ret ;; add.s32 ;; !ret ;; add.s32", 0, False),
    ("=2 add.s32", 0, True), ("=1 add.s32", 0, False), ("=0 mul", 0, True), ("add.s32 {{(%r[0-9]), \\1}}", 0, True),
    ("{{add|mul}}.u32", 0, False), ("{{add|mul}}.s32", 0, True),
    ("departure:x ;; ret", 0, True), ("departure:x ;; mul", 0, False), ("ret i32 {900}", 0, False),
]
ROW = seeds.Row(2, "seed1", "1 row", "true", "text")
DEPARTURE = seeds.departures.Departure("x", "seed1", "row", "does", "why")
# (rows, the number of their faults)
TABLES = [
    ([ROW], 0), ([ROW, ROW], 1), ([ROW._replace(document="seed9")], 1), ([ROW._replace(expected="!text")], 1),
    ([ROW._replace(expected="exit 0")], 1), ([ROW._replace(expected="exit 1")], 0), ([ROW._replace(expected="=0 text")], 1),
    ([ROW._replace(command="-")], 1), ([ROW._replace(expected="departure:y ;; text")], 1),
    ([ROW._replace(command="-", expected="departure:x")], 0),
    ([ROW._replace(document="seed2", expected="departure:x ;; text")], 1),
]
faults = [f"'{expected}' with exit status {status}" for expected, status, good in CASES
          if good == bool(seeds.faults_of(seeds.items(expected), status, OUTPUT))]
for rows, number in TABLES:
    named = any("departure:x" in row.expected for row in rows)
    found = seeds.faults_of_table(rows, {"x": DEPARTURE})
    if len(found) != number + (not named):
        faults.append(f"{rows} has the faults {found}")
for fault in faults:
    print("FAILED:", fault)
total = len(CASES) + len(TABLES)
print(f"{total - len(faults)} passed, {len(faults)} failed")
sys.exit(bool(faults))
END
