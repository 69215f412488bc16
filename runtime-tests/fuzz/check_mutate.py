#!/usr/bin/env python3
"""Checks the mutator of fuzz/mutate over the samples and the execution tests: every mutation and the
cross-over find places; the verifier accepts all results, except of the mutation that breaks a rule;
every mutation changes the text; the same seed gives the same text; a first line with options is
kept; unusual files are mutated or refused; AFL++'s entry points work.

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
import tempfile

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


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="latin-1", newline="") as f:
        f.write(text)
    return path


def check_seeds(checks, mutate, file, folder):
    """A seed decides the text; other seeds give other texts; an option line stays the first line."""
    texts = [run(mutate, file, str(seed)).stdout for seed in range(8)]
    checks.add("deterministic", texts == [run(mutate, file, str(seed)).stdout for seed in range(8)])
    checks.add("seeds differ", len(set(texts)) > 4, f"{len(set(texts))} texts of 8 seeds")
    with open(file, encoding="utf-8") as f:
        text = "; fuzz: -O1\n" + f.read()
    path = write(folder, "options.nvir", text)
    kept = [run(mutate, path, str(seed)).stdout.startswith(b"; fuzz:") for seed in range(8)]
    checks.add("options are kept", all(kept), str(kept))
    checks.add("the options change", any(not run(mutate, path, str(s)).stdout.startswith(b"; fuzz: -O1\n") for s in range(60)))


def check_changes(checks, mutate, file, folder):
    """Each result differs from the printed module; the mutation that breaks a rule may make no change."""
    printed = run(os.path.join(os.path.dirname(mutate), "nvmini"), "print", file).stdout.decode()
    text = re.sub(r"^source_filename.*\n", "", printed)
    path = write(folder, "printed.nvir", text)
    for name in run(mutate, "--list").stdout.decode().split():
        results = [run(mutate, path, str(seed), name).stdout.decode() for seed in range(20)]
        same = sum(re.sub(r"^; fuzz:.*\n", "", r) == text for r in results)
        checks.add(f"{name} changes the text", same == 0 or name == "rule", f"{same} of {len(results)} do not")


MUSTTAIL = """
define i32 @callee(i32 %a, i32 %b) {
  %s = add i32 %a, %b
  ret i32 %s
}
define i32 @caller(i32 %a, i32 %b) {
  %s = mul i32 %a, %b
  %r = musttail call i32 @callee(i32 %s, i32 %b)
  ret i32 %r
}
"""
WIDE = """
define i256 @wide(i256 %a, ptr %p) {
  %b = add i256 %a, 5
  %t = load i3, ptr %p
  %n = load i1000, ptr %p
  store i256 %b, ptr %p
  switch i3 %t, label %end [ i3 1, label %end ]
end:
  ret i256 %b
}
"""


def check_unusual(checks, mutate, file, folder):
    """Files that are not modules, or have nothing to change, are refused; the rest is mutated."""
    with open(file, encoding="utf-8") as f:
        text = f.read()
    refused = {"empty": "", "comments": "; one\n; two", "options only": "; fuzz: -O1", "cut off": "define void @f( {",
               "declarations": "declare void @f(i32)\n@v = external global i32\n", "a NUL byte": "; a\0b\n" + text, "broken bitcode": "BC\xc0\xde" * 8}
    for name, content in refused.items():
        result = run(mutate, write(folder, "refused.nvir", content))
        checks.add(f"{name}: refused", result.returncode == 1 and not result.stdout, f"status {result.returncode}")
    function = "define i32 @f{0}(i32 %a, ptr %p) {{\n  %b = add i32 %a, {0}\n  store i32 %b, ptr %p\n  ret i32 %b\n}}\n"
    mutated = {"CRLF": text.replace("\n", "\r\n"), "200 functions": "".join(function.format(k) for k in range(200)), "musttail": MUSTTAIL, "wide": WIDE}
    paths = [write(folder, name, content) for name, content in mutated.items()]
    paths.append(os.path.join(ROOT, "runtime-tests/check/print/debug_records.nvir"))
    for path in paths:
        rows = re.findall(r"^(\w+) +(\d+) made, +(\d+) refused$", run(mutate, "--check", "5", path).stdout.decode(), re.M)
        bad = [row for row in rows if row[0] != "rule" and row[2] != "0"]
        checks.add(f"{os.path.basename(path)}: valid", rows and not bad and sum(int(r[1]) for r in rows) > 50, f"{bad or rows}")
    large = "".join(function.format(k) for k in range(12000))
    result = run(mutate, write(folder, "large", large), "1", "insert")
    checks.add("1 MiB", result.returncode == 0 and len(result.stdout) > len(large) > 1 << 20, result.stderr[-200:])
    result = run(mutate, write(folder, "large", large * 5))
    checks.add("a file over the limit", result.returncode == 2 and b"larger than" in result.stderr, result.stderr[-200:])
    checks.add("no file", run(mutate, os.path.join(folder, "none")).returncode == 2)


def check_cross(checks, mutate, file, folder):
    """A module can be crossed with itself, and the result with it again, as often as wanted."""
    path = file
    for n in range(3):
        results = [run(mutate, "--cross", path, file, str(seed)).stdout for seed in range(8)]
        checks.add(f"crossed {n + 1} times", sum(len(r) > 0 for r in results) > 4, f"{sum(len(r) > 0 for r in results)} of 8")
        path = write(folder, "crossed.nvir", max(results, key=len).decode())
    plain, other = write(folder, "plain.nvir", MUSTTAIL), os.path.join(ROOT, "samples/reduction.nvir")
    made = sum(run(mutate, "--cross", plain, other, str(seed)).returncode == 0 for seed in range(16))
    checks.add("crossed with one definition among declarations", made > 10, f"{made} of 16")
    names = re.findall(r"@(saxpy_x\d+)\(", max(results, key=len).decode())
    checks.add("fresh names", len(set(names)) >= 2, str(names))


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
    saxpy = os.path.join(ROOT, "samples/saxpy.nvir")
    with tempfile.TemporaryDirectory() as folder:
        check_seeds(checks, options.mutate, files[0], folder)
        check_changes(checks, options.mutate, saxpy, folder)
        check_unusual(checks, options.mutate, saxpy, folder)
        check_cross(checks, options.mutate, saxpy, folder)
    check_afl(checks, os.path.join(os.path.dirname(options.mutate), "nvir_mutator.so"), files[0])
    print(f"mutate: {checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
