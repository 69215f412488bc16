"""counts.py IR KERNEL RUN_SHORT RUN_LONG ITERATIONS: the instructions of the only loop that `nvmini cost` shows,
by class, times the iterations by which the runs differ, are the difference of the counts that `nvmini run` prints.

RUN_SHORT, RUN_LONG: the options of `nvmini run`, for one warp. ITERATIONS: of the warp."""
import json
import subprocess
import sys


def nvmini(*arguments):
    return subprocess.run(["nvmini", *arguments], check=True, capture_output=True, text=True).stdout


source, kernel, short, long, iterations = sys.argv[1:]
same = [source, "--cpu=sm_90a", "-O3", "--kernel", kernel]
cost = json.loads(nvmini("cost", *same, "--format", "json"))
static = {}
for row in cost["classes"]:
    assert row["loop"] == 1, "several loops"
    static[row["class"]] = static.get(row["class"], 0) + row["PTX"]


def executed(options):
    text = nvmini("run", *same, *options.split(), "--stats")
    counts = dict(line.split(" ") for line in text.splitlines() if line.count(" ") == 1)
    return {name[6:]: int(count) for name, count in counts.items() if name.startswith("class.")}


few, many = executed(short), executed(long)
for name in sorted(many):
    expected = static.get(name, 0) * int(iterations) * 32
    found = many[name] - few[name]
    if expected or found:
        print(f"{name}: {static.get(name, 0)} in an iteration, {found} executed,", "equal" if expected == found else f"not {expected}")
