#!/usr/bin/env python3
"""The executed suite on a GPU: gpu.py [NVMINI [CPU [REGEX]]]

Every sample, every kernel that is executed in every way and every other run in a test of this folder that is expected
to succeed is done with `--on gpu`, which compares what the GPU leaves in the buffers with the simulator's. CPU: the
GPU's, if it is not sm_90. REGEX: of the tests' paths. Left out are runs that depend on an order. Prints which differ, closes with `N passed,
N failed`; without a GPU it says so and fails."""
import glob
import os
import re
import shlex
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
nvmini = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build", "nvmini"))
cpu = ["--cpu", sys.argv[2]] if len(sys.argv) > 2 else []
chosen = sys.argv[3] if len(sys.argv) > 3 else ""


def commands():
    for sample in sorted(glob.glob(os.path.join(root, "samples", "*.nvir"))):
        yield sample, [sample]
    for test in sorted(glob.glob(os.path.join(here, "**", "*.nvir"), recursive=True) + glob.glob(os.path.join(here, "*.test"))):
        for line in open(test, encoding="utf-8"):
            everyway = re.match(r"^; RUN: everyway %s (?:--skip \S+ )*(--tolerance \S+ )?", line)
            if everyway:
                yield test, [test, *(everyway[1] or "").split(), "--fma-level", "0"]
            found = re.match(r"^(?:;|//) RUN: nvmini run (%s [^|>&;]*)", line)
            if found and not re.search(r"--(trace|save|expect|from|cluster|schedule)|%t", found[1]):
                yield test, [test if word == "%s" else word for word in shlex.split(found[1])]


def main():
    probe = subprocess.run([nvmini, "run", os.path.join(root, "samples", "saxpy.nvir"), "--on", "gpu"],
                           capture_output=True, text=True, check=False)
    if "there is no GPU" in probe.stderr:
        print(probe.stderr.strip())
        return 1
    passed = failed = 0
    for test, words in commands():
        if not re.search(chosen, os.path.relpath(test, root)):
            continue
        result = subprocess.run([nvmini, "run"] + words + cpu + ["--on", "gpu"], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            passed += 1
            continue
        failed += 1
        print(f"FAIL {os.path.relpath(test, root)}: {' '.join(words[1:])}\n  {result.stderr.strip()}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
