#!/usr/bin/env python3
"""Checks the mutator of fuzz/mutate over the samples and the execution tests: every mutation and the
cross-over find places; the verifier accepts all results, except of the mutation that breaks a rule;
the same seed gives the same text; a first line with options is kept; AFL++'s entry points work.

Closes with "mutate: N passed, N failed".

  check_mutate.py [--mutate build/mutate] [--times N]
"""
import argparse
import ctypes
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Checks:
    """Counts checks, and prints those that fail."""

    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {name}: {detail}")


def run(*command):
    return subprocess.run(command, capture_output=True, check=False)


def check_all(checks, mutate, times, files):
    """Each mutation often: made, and accepted by the verifier."""
    result = run(mutate, "--check", str(times), *files)
    rows = re.findall(r"^(\w+) +(\d+) made, +(\d+) refused$", result.stdout.decode(), re.M)
    names = run(mutate, "--list").stdout.decode().split() + ["cross"]
    checks.add("every mutation is listed", [r[0] for r in rows] == names and result.returncode == 0, result.stderr[-500:])
    for name, made, refused in rows:
        checks.add(f"{name} is made", int(made) > 0, "never")
        wanted = int(refused) > 0 if name == "rule" else refused == "0"
        checks.add(f"{name} is valid", wanted, f"{refused} of {made} are refused")


def check_seeds(checks, mutate, file):
    """A seed decides the text; other seeds give other texts; an option line stays the first line."""
    texts = [run(mutate, file, str(seed)).stdout for seed in range(8)]
    checks.add("deterministic", texts == [run(mutate, file, str(seed)).stdout for seed in range(8)])
    checks.add("seeds differ", len(set(texts)) > 4, f"{len(set(texts))} texts of 8 seeds")
    with open(file, encoding="utf-8") as f:
        text = "; fuzz: -O1\n" + f.read()
    path = os.path.join(ROOT, "build", "mutate-options.nvir")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    kept = [run(mutate, path, str(seed)).stdout.startswith(b"; fuzz:") for seed in range(8)]
    checks.add("options are kept", all(kept), str(kept))
    checks.add("the options change", any(not run(mutate, path, str(s)).stdout.startswith(b"; fuzz: -O1\n") for s in range(60)))
    with open(path, "w", encoding="utf-8") as f:
        f.write("define void @f( {")
    checks.add("no module, no mutation", run(mutate, path).returncode == 1)
    os.unlink(path)


def check_afl(checks, library, file):
    """The functions that AFL++ calls, as it calls them."""
    afl = ctypes.CDLL(library)
    afl.afl_custom_init.restype = ctypes.c_void_p
    afl.afl_custom_fuzz.restype = ctypes.c_size_t
    afl.afl_custom_fuzz.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                                    ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
    afl.afl_custom_deinit.argtypes = [ctypes.c_void_p]
    with open(file, "rb") as f:
        text = f.read()
    state, made = afl.afl_custom_init(None, 7), set()
    for n in range(40):
        out = ctypes.c_void_p()
        length = afl.afl_custom_fuzz(state, text, len(text), ctypes.byref(out), text if n % 2 else None, len(text) if n % 2 else 0, 1 << 16)
        if length:
            made.add(ctypes.string_at(out.value, length))
    small = ctypes.c_void_p()
    checks.add("AFL++: texts", len(made) > 20 and text not in made, f"{len(made)} texts of 40 calls")
    checks.add("AFL++: room", afl.afl_custom_fuzz(state, text, len(text), ctypes.byref(small), None, 0, 10) == 0, "10 bytes suffice")
    afl.afl_custom_deinit(state)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutate", default=os.path.join(ROOT, "build/mutate"))
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    files = sorted(glob.glob(os.path.join(ROOT, "samples/*.nvir")) + glob.glob(os.path.join(ROOT, "runtime-tests/exec/algorithms/*.nvir")))
    files = [f for f in files if os.path.getsize(f) < 30000]
    checks = Checks()
    check_all(checks, options.mutate, options.times, files)
    check_seeds(checks, options.mutate, files[0])
    check_afl(checks, os.path.join(os.path.dirname(options.mutate), "nvir_mutator.so"), files[0])
    print(f"mutate: {checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
