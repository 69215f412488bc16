#!/usr/bin/env python3
"""numba-cuda's own tests on a machine without a GPU, with NVIDIA's libNVVM and with ours: a table of both.

    numba_tests.py --python ENVIRONMENT/bin/python [--build build] [--original libnvvm.so.4] [--driver] [--modules cudapy.test_inspect...]

ENVIRONMENT is a virtual environment, outside the checkout, with `pip install 'numba-cuda[cu13]' filecheck psutil cffi pytest ml_dtypes`.
Every test is run in it twice, in one process for each test module. Those that pass with NVIDIA's library must pass with
ours, but for EXCEPTIONS. Without a GPU, most others fail with both for want of a driver. --driver gives them one that has
no device (no_device.c): they compile, nvJitLink assembles the PTX, and what depends on results fails with both; then ours
must also compile what NVIDIA's compiles. It turns link-time optimization off, which our library does not have.
Without an environment the script says so. Closes with a line `numba: N passed, N failed`."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

LTO, DEBUG = "asks for LTO-IR (-gen-lto)", "looks for .debug_info"
COMMENT, DEPOT = "looks for the comment that names NVIDIA's compiler", "looks for the name __local_depot0; ours is __local_depot"
EXCEPTIONS = {
    "cudadrv.test_nvvm_driver.TestNvvmDriver.test_nvvm_compile_nullary_option": LTO,
    "cudadrv.test_nvvm_driver.TestNvvmDriver.test_nvvm_support": "asks for compute_107, new in CUDA 13.5",
    # With --driver.
    "cudapy.test_compiler.TestCompile.test_compile_cabi_calling_device_function_returning_optional": LTO,
    "cudapy.test_compiler.TestCompile.test_compile_jitted_subroutine": LTO,
    "cudapy.test_compiler.TestCompile.test_compile_to_ltoir": LTO,
    "cudapy.test_compiler.TestCompile.test_device_function_with_debug": DEBUG,
    "cudapy.test_compiler.TestCompile.test_kernel_with_debug": DEBUG,
    "cudapy.test_debuginfo.TestCudaDebugInfo.test_debuginfo_in_asm": DEBUG,
    "cudapy.test_debuginfo.TestCudaDebugInfo.test_environment_override": DEBUG,
    "cudapy.test_inspect.TestInspect.test_monotyped": COMMENT,
    "cudapy.test_inspect.TestInspect.test_polytyped": COMMENT,
    "cudapy.test_optimization.TestOptimization.test_eager_noopt": DEPOT,
    "cudapy.test_optimization.TestOptimization.test_lazy_noopt": DEPOT,
    "cudapy.test_print.TestPrint.test_printempty": LTO,  # in a new process, where it is not off
}
PACKAGE = "numba.cuda.tests"
OUTCOMES = ("passed", "failed", "skipped")
NOT_RUN = ["not run", 0, 0]


# ---- In the environment -------------------------------------------------------------------------

class Record(unittest.TestResult):
    """Each test's outcome, and how often libNVVM compiled and refused meanwhile."""

    def __init__(self):
        super().__init__()
        self.outcomes, self.compiled, self.refused = {}, 0, 0

    def startTest(self, test):
        super().startTest(test)
        self.compiled = self.refused = 0
        self.outcomes[test.id()] = "passed"

    def stopTest(self, test):
        super().stopTest(test)
        self.outcomes[test.id()] = [self.outcomes[test.id()], self.compiled, self.refused]

    def _set(self, test, outcome, error=None):
        text = f"{outcome}: {error[0].__name__}: {str(error[1]).strip().splitlines()[:1]}" if error else outcome
        self.outcomes[getattr(test, "test_case", test).id()] = text

    def addError(self, test, err):
        self._set(test, "failed", err)

    def addFailure(self, test, err):
        self._set(test, "failed", err)

    def addSubTest(self, test, subtest, err):
        if err:
            self._set(test, "failed", err)

    def addSkip(self, test, reason):
        self._set(test, "skipped")

    def addExpectedFailure(self, test, err):
        self._set(test, "passed")

    def addUnexpectedSuccess(self, test):
        self._set(test, "failed")


def run_module(name, without_lto):
    """Runs one test module here and prints what came out, as JSON."""
    from cuda.bindings import nvvm
    if without_lto:  # jit's default, if there is nvJitLink
        from numba.cuda import decorators
        decorators._have_nvjitlink = lambda: False
    record, compile_program = Record(), nvvm.compile_program

    def counted(*arguments):
        try:
            result = compile_program(*arguments)
        except nvvm.nvvmError:
            record.refused += 1
            raise
        record.compiled += 1
        return result

    nvvm.compile_program = counted
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"{PACKAGE}.{name}")
    except unittest.SkipTest:
        suite = unittest.TestSuite()
    suite.run(record)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libraries = sorted({line.split()[-1] for line in maps if "libnvvm" in line})
    outcomes = {test: outcome for test, outcome in record.outcomes.items() if isinstance(outcome, list)}
    print("\nOUTCOMES " + json.dumps([outcomes, libraries]))


# ---- Outside ------------------------------------------------------------------------------------

def modules_of(python):
    code = f"import {PACKAGE} as t, os; print(t.__path__[0])"
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/")
    root = done.stdout.strip()
    return sorted(os.path.relpath(os.path.join(base, name), root)[:-3].replace("/", ".")
                  for base, _, names in os.walk(root) for name in names if name.startswith("test_") and name.endswith(".py")) if root else []


def outcomes_of(python, module, library, driver):
    """{test: [outcome, compilations, refusals]} of one module; nothing if it cannot be loaded or takes too long."""
    environment = {**os.environ, "LD_PRELOAD": library or "", "LD_LIBRARY_PATH": driver, "PYTHONWARNINGS": "ignore"}
    command = [python, os.path.abspath(__file__), "--module", module] + (["--driver"] if driver else [])
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, errors="replace", cwd="/", env=environment, timeout=600)
    except subprocess.TimeoutExpired:
        return {}
    line = [line for line in done.stdout.splitlines() if line.startswith("OUTCOMES ")]
    if not line:
        return {}
    outcomes, libraries = json.loads(line[-1].split(" ", 1)[1])
    assert not library or libraries in ([], [library]), f"{libraries} are loaded"
    return {test.removeprefix(PACKAGE + "."): outcome for test, outcome in outcomes.items()}


def count(outcomes, word):
    return sum(1 for outcome, *_ in outcomes.values() if outcome.startswith(word))


class Row:
    """One module, or several without a difference, in both libraries: tests by outcome, and what differs."""

    def __init__(self, name):
        self.name, self.modules, self.tests, self.compiled = name, 0, 0, 0
        self.theirs, self.ours, self.differences = [0, 0, 0], [0, 0, 0], []

    def add(self, theirs, ours):
        self.modules += 1
        self.tests += len(theirs)
        self.compiled += sum(1 for _, compiled, _ in theirs.values() if compiled)
        for numbers, outcomes in ((self.theirs, theirs), (self.ours, ours)):
            for i, word in enumerate(OUTCOMES):
                numbers[i] += count(outcomes, word)

    def text(self):
        cells = [self.name, self.tests, self.compiled, *self.theirs, *self.ours, "; ".join(self.differences)]
        return "| " + " | ".join(str(cell) for cell in cells) + " |"


def compare(module, theirs, ours, wrong):
    """The row of a module; tests that only our library fails are added to `wrong`."""
    row = Row(module)
    row.add(theirs, ours)
    for test in sorted({**theirs, **ours}):
        before, compiled, refused = theirs.get(test, NOT_RUN)
        after, compiled_too, refused_too = ours.get(test, NOT_RUN)
        if (before == "passed" and after != "passed") or refused_too > refused or compiled_too < compiled:
            row.differences.append(f"{test.rsplit('.', 1)[1]}: {EXCEPTIONS.get(test, 'FAILS')}")
            if test not in EXCEPTIONS:
                wrong.append(f"{test}: {after[:200]}, {compiled_too} compilations, {refused_too} refused; with NVIDIA's {before}, {compiled}, {refused}")
        elif after == "passed" and before != "passed":
            row.differences.append(f"{test.rsplit('.', 1)[1]} passes")
    return row


def summarized(rows):
    """Modules that compile or differ, then one row for the others of each folder."""
    others = {}
    for row in rows:
        if row.compiled or row.differences:
            yield row
            continue
        rest = others.setdefault(row.name.rpartition(".")[0], Row(""))
        rest.modules += 1
        rest.tests += row.tests
        rest.theirs = [a + b for a, b in zip(rest.theirs, row.theirs)]
        rest.ours = [a + b for a, b in zip(rest.ours, row.ours)]
    for folder, rest in sorted(others.items()):
        rest.name = f"{folder}: {rest.modules} that compile nothing"
        yield rest


def build_driver(folder):
    """A folder with libcuda.so.1."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "no_device.c")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-o", f"{folder}/libcuda.so.1", source], check=True)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", default=os.environ.get("NUMBA_PYTHON", ""))
    parser.add_argument("--build", default="build")
    parser.add_argument("--original", default="", help="NVIDIA's libnvvm.so.4; by default that of the environment")
    parser.add_argument("--driver", action="store_true", help="with a driver that has no device")
    parser.add_argument("--modules", nargs="*")
    parser.add_argument("--all", action="store_true", help="one row for each module")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.module:
        return run_module(options.module, options.driver)
    library = os.path.abspath(f"{options.build}/compat/libnvvm.so.4")
    modules = options.python and (options.modules or modules_of(options.python))
    if not modules:
        print("skipped: no environment with numba-cuda; --python says where it is")
        return 0
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        driver = build_driver(folder) if options.driver else ""
        for module in modules:
            rows.append(compare(module, outcomes_of(options.python, module, options.original, driver),
                                outcomes_of(options.python, module, library, driver), wrong))
            print(rows[-1].text(), file=sys.stderr)
    print("| module | tests | compile | passed with NVIDIA's | failed | skipped | passed with ours | failed | skipped | differences |")
    print("|---" * 10 + "|", *[row.text() for row in (rows if options.all else summarized(rows))], sep="\n")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"numba: {sum(row.ours[0] for row in rows)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
