#!/usr/bin/env python3
"""Compiles the tests of LLVM itself: thousands of small files that each were trouble once.

    check_llvm_tests.py FOLDER [--nvmini PATH] [--level -O3] [--cpu sm_90] [--step N] [--start K] [--show]

FOLDER is a part of llvm/test in a checkout of LLVM (CodeGen/NVPTX, Transforms, Assembler). A file's triple and data
layout give way to ours. It passes if nvmini compiles it or refuses it with an error, and fails if nvmini ends in any
other way: a crash, an internal compiler error, more than 20 seconds. What is refused although llvm-as takes it is counted by
its message, names left out, and shown file by file with --show; what llvm-as refuses too is skipped, as are files
that use types or exceptions of other machines. Ends with `N passed, N failed, N skipped`.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OTHER_MACHINES = re.compile(r'x86_fp80|fp128|vscale|x86_amx|landingpad|catchpad|cleanuppad|\binvoke |\bcallbr |target\("')


def run(command):
    """(exit status, standard error); -1: it does not end."""
    try:
        p = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
        return p.returncode, p.stderr
    except subprocess.TimeoutExpired:
        return -1, "does not end"


def try_file(path, options, scratch):
    """(verdict, message): passed, refused, skipped or failed."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if OTHER_MACHINES.search(text):
        return "skipped", ""
    with open(scratch, "w", encoding="utf-8") as f:
        f.write('target triple = "nvptx64-nvidia-cuda"\n' + re.sub(r"^target (triple|datalayout).*$", "", text, flags=re.M))
    status, errors = run([options.nvmini, "compile", scratch, "--cpu", options.cpu, options.level, "-o", os.devnull])
    if status == 0:
        return "passed", ""
    if status != 1:
        return "failed", f"exit status {status}: {errors[-300:]}"
    if run([options.llvm_as, scratch, "-o", os.devnull])[0] != 0:
        return "skipped", ""
    return "refused", errors.split("\n", 1)[0].split("error: ", 1)[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--nvmini", default=os.path.join(HERE, "../../build/nvmini"))
    parser.add_argument("--llvm-as", default="llvm-as-19")
    parser.add_argument("--level", default="-O3")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--step", type=int, default=1, help="every Nth file")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="what is refused, file by file")
    options = parser.parse_args()
    files = sorted(os.path.join(root, name) for root, _, names in os.walk(options.folder) for name in names
                   if name.endswith(".ll"))[options.start::options.step]
    counts, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            verdict, message = try_file(path, options, os.path.join(folder, "test.ll"))
            counts[verdict] += 1
            if verdict == "refused":
                reasons[re.sub(r" \[in @.*", "", re.sub(r"'[^']*'", "'…'", message))] += 1
            if verdict == "failed" or (verdict == "refused" and options.show):
                print(f"{verdict}: {os.path.relpath(path, options.folder)}: {message}", flush=True)
    for reason, count in reasons.most_common():
        print(f"{count:5} refused: {reason}")
    print(f"compiled {counts['passed']}, refused {counts['refused']}")
    print(f"{counts['passed'] + counts['refused']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not files else 0


if __name__ == "__main__":
    sys.exit(main())
