#!/usr/bin/env python3
"""Executes test programs in C, of suites that were not written here, on one thread of the simulator.

    check_c_tests.py FOLDER_OR_FILE... [--only NAME] [--jobs J] [--keep FOLDER] [--verbose]

A test is a file `.c` with a function main. It passes where it returns or exits with 0 and prints what its
`.reference_output` or `.c.expected` says, if there is one. Tests of GCC (`gcc.c-torture/execute`), of LLVM's test-suite
(`SingleSource/UnitTests`, `SingleSource/Regression/C`) and of c-testsuite have this form. Each is compiled by clang-19 for the
host and for NVPTX in four shapes (-O0, raw -O2, -O2, -O3 with vectors), and each shape is executed as IR and as the PTX of five
levels and of vectorizer knobs, with a small C library (c_tests/library.c). A test that fails on the host too, or that clang
does not compile for NVPTX, is skipped, by reason.

Closes with `N passed, N failed, N skipped`; exit status 1 if a test failed.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBRARY = os.path.join(HERE, "c_tests")
HEADERS = """assert ctype errno fcntl inttypes math memory stdio stdlib string strings unistd malloc alloca complex
    sys/types sys/stat sys/time time""".split()
C_FLAGS = ["-w", "-std=gnu99", "-Wno-error=implicit-function-declaration", "-Wno-error=implicit-int", "-Wno-error=int-conversion",
           "-Wno-error=return-type", "-Wno-error=incompatible-function-pointer-types"]
GPU_FLAGS = ["--target=nvptx64-nvidia-cuda", "-march=sm_90", "-S", "-emit-llvm", "-nogpulib"]
SHAPES = {"O0": ["-O0"], "raw O2": ["-O2", "-Xclang", "-disable-llvm-passes"], "O2": ["-O2"],
          "vectors": ["-O3", "-mllvm", "-force-vector-width=4", "-mllvm", "-unroll-count=3"]}
KNOBS = [f"--knob={k}" for k in ("force-vector-width=4", "force-vector-interleave=2", "enable-early-exit-vectorization=1",
                                 "vectorizer-min-trip-count=2")]
IR = ["--from", "ir"]
WAYS = [["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Ofc=max"], ["-Oz"], ["-O3", *KNOBS]]
STEPS = 50_000_000
OUTPUT = 1 << 16

Outcome = collections.namedtuple("Outcome", "status detail executions shapes")


class Skipped(Exception):
    pass


def call(command, limit=60, folder=None):
    try:
        return subprocess.run(command, capture_output=True, timeout=limit, cwd=folder)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"", b"timeout")


def first_error(text):
    text = text.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if "error" in line] or text.splitlines() or ["nothing said"]
    return lines[0].split("error: ", 1)[-1]


def reason(text):
    """Without names and numbers, so that equal reasons are counted together."""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|@[\w.$]+|/\S+:", "NAME", text))[:120]


def expected_text(path):
    for name in (path[:-2] + ".reference_output", path + ".expected"):
        if os.path.exists(name):
            with open(name, "rb") as f: return re.sub(rb"exit 0\n?$", b"", f.read())
    return None


def run_on_host(path, folder, expected):
    built = call(["clang-19", *C_FLAGS, "-O1", path, "-o", f"{folder}/host", "-lm"])
    if built.returncode: raise Skipped("clang does not compile it for the host")
    ran = call([f"{folder}/host"], 10, folder)
    if ran.returncode: raise Skipped("it fails on the host")
    if expected is not None and ran.stdout != expected: raise Skipped("it prints something else on the host")


def build(path, folder, shape, options):
    """The module of a test, linked with the library."""
    module = f"{folder}/{shape.replace(' ', '-')}.ll"
    built = call(["clang-19", *C_FLAGS, *GPU_FLAGS, *SHAPES[shape], "-nostdlibinc", f"-I{options.headers}",
                  f"-I{os.path.dirname(path)}", path, "-o", module])
    if built.returncode: raise Skipped("clang for NVPTX: " + reason(first_error(built.stderr)))
    with open(module, encoding="utf-8", errors="surrogateescape") as f: text = f.read()
    found = re.search(r"^define [^@]*@main\(([^)]*)\)", text, re.MULTILINE)
    if not found: raise Skipped("no function main")
    parameters = found[1].count(",") + 1 if found[1].strip() else 0
    if parameters not in (0, 2): raise Skipped("main has one or three parameters")
    return module, f"{options.headers}/library{parameters}.ll"


def execute(options, module, library, way, folder):
    """(status, text), or what is wrong as a string."""
    saved = f"{folder}/result"
    if os.path.exists(saved): os.unlink(saved)
    ran = call([options.nvmini, "run", library, "--link", module, "--kernel", "run", "--fma-level", "0", "--no-checks", "--step-limit", str(STEPS),
                f"--arg=buf:u8:{OUTPUT + 8}:zero", f"--save=0:{saved}", *way], 120)
    if ran.returncode: return f"exit status {ran.returncode}: {first_error(ran.stderr)}"
    with open(saved, "rb") as f: data = f.read()
    status, length = struct.unpack("<iI", data[:8])
    return status, data[8:8 + length]


def reason_of(found):
    return reason(found) if isinstance(found, str) else "the status is not 0"


def text_to_expect(expected, found):
    """The host's text, but what the IR prints if there are floats in it, which library.c writes in another way. None: a test
    without a known text may print addresses."""
    if expected is None: return None
    if b"." in expected: return found
    if expected != found: raise Skipped("as IR of -O0: it prints something else")
    return expected


def check_shape(options, module, library, expected, folder):
    """(what is wrong, or None, in which way; the number of executions)"""
    for count, way in enumerate(WAYS, 1):
        found = execute(options, module, library, way, folder)
        if isinstance(found, str) and "step-limit" in found: raise Skipped("too many steps")
        if isinstance(found, str) and "cannot lower inline assembly" in found: raise Skipped("inline assembly of another machine")
        if isinstance(found, str): return f"{' '.join(way)}: {found}", count
        if found[0] or expected not in (None, found[1]): return f"{' '.join(way)}: status {found[0]}, text {found[1][-200:]!r}", count
    return None, len(WAYS)


def check(options, path):
    executions, shapes = 0, collections.Counter()
    expected = expected_text(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_on_host(path, folder, expected)
            for shape in SHAPES:
                module, library = build(path, folder, shape, options)
                found = execute(options, module, library, IR, folder)
                executions += 1
                if isinstance(found, str) or found[0]:
                    if shape == "O0": raise Skipped(f"as IR of -O0: {reason_of(found)}")
                    shapes[f"{shape}: {reason_of(found)}"] += 1  # clang's optimizer, or a test of what it folds
                    continue
                if shape == "O0": expected = text_to_expect(expected, found[1])
                wrong, count = check_shape(options, module, library, expected, folder)
                executions += count
                if wrong:
                    if options.keep: shutil.copy(module, f"{options.keep}/{os.path.basename(path)[:-2]}.{shape.replace(' ', '-')}.ll")
                    return Outcome("failed", f"{shape}, {wrong}", executions, shapes)
            return Outcome("passed", "", executions, shapes)
        except Skipped as why:
            return Outcome("skipped", str(why), executions, shapes)


def prepare(folder):
    """The headers, and the library as a module for main without and with parameters."""
    for name in HEADERS:
        os.makedirs(os.path.dirname(f"{folder}/{name}.h"), exist_ok=True)
        with open(f"{folder}/{name}.h", "w", encoding="utf-8") as f: f.write(f'#include "{LIBRARY}/library.h"\n')
    for count, parameters, arguments in ((0, "void", ""), (2, "int, char **", '1, (char *[]){"test", 0}')):
        subprocess.run(["clang-19", "-std=gnu11", "-w", "-ffreestanding", "-fno-builtin", "-O1", *GPU_FLAGS, f"-DMAIN_PARAMETERS={parameters}",
                        f"-DMAIN_ARGUMENTS={arguments}", f"{LIBRARY}/library.c", "-o", f"{folder}/library{count}.ll"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--verbose", action="store_true", help="name the tests that are skipped")
    options = parser.parse_args()
    files = []
    for source in options.sources:
        if os.path.isfile(source): files.append(source)
        for folder, _, names in os.walk(source): files += [os.path.join(folder, n) for n in names if n.endswith(".c")]
    files = sorted(f for f in files if options.only in f)
    if options.keep: os.makedirs(options.keep, exist_ok=True)
    counts, reasons, shapes, executions = collections.Counter(), collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as options.headers:
        prepare(options.headers)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for path, outcome in zip(files, pool.map(lambda path: check(options, path), files)):
                counts[outcome.status] += 1
                executions += outcome.executions
                shapes.update(outcome.shapes)
                if outcome.status == "skipped": reasons[outcome.detail] += 1
                if outcome.status == "skipped" and options.verbose: print(f"{os.path.relpath(path)}: skipped: {outcome.detail}", flush=True)
                if outcome.status == "failed": print(f"{os.path.relpath(path)}: {outcome.detail}", flush=True)
    for why, count in reasons.most_common(40): print(f"skipped {count}: {why}")
    for why, count in shapes.most_common(): print(f"shapes that fail before nvmini optimizes them, {count}: {why}")
    print(f"{executions} executions")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
