#!/usr/bin/env python3
"""Does --opt-bisect-limit give the same results at every value?

usage: bisect_limit.py [-O3] FILE...
Each file's first `RUN: nvmini run %s …` line is executed with the passes of the level cut off after
0, 1, 2, … of their runs, up to all of them; what it prints must always be the same. (Once for each
PTX that comes out: most runs of a pass change nothing.) nvmini is taken from the PATH. Prints the
disagreements, and `N passed, N failed` (kernels); exit status 1 if any.
"""
import re
import shlex
import subprocess
import sys


def output(command):
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode, run.stdout


def check(path, level):
    """The limits at which the kernel's results differ, and how many there are."""
    with open(path, encoding="utf-8") as file:
        line = re.search(r"RUN: nvmini (run %s [^|\n]*)", file.read()).group(1)
    command = ["nvmini"] + [path if word == "%s" else word for word in shlex.split(line)] + [level]
    stats = subprocess.run(["nvmini", "compile", path, "--cpu", "sm_90", level, "--stats", "-o", "/dev/null"],
                           capture_output=True, text=True, check=True).stderr
    total = int(re.search(r"(\d+) passes run", stats).group(1))
    expected = output(command + ["--opt-bisect-limit", "0"])
    if expected[0] != 0:
        return ["0: it fails"], total
    wrong, seen = [], set()
    for n in range(total + 1):
        limit = ["--opt-bisect-limit", str(n)]
        _, ptx = output(["nvmini", "compile", path, "--cpu", "sm_90", level] + limit)
        if ptx not in seen and output(command + limit) != expected:
            wrong.append(f"{n} passes")
        seen.add(ptx)
    return wrong, total


def main():
    arguments = sys.argv[1:]
    level = arguments.pop(0) if arguments and arguments[0].startswith("-O") else "-O3"
    passed = failed = 0
    for path in arguments:
        wrong, total = check(path, level)
        for limit in wrong:
            print(f"FAIL {path}: differs after {limit}")
        print(f"{path}: 0 to {total} passes")
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
