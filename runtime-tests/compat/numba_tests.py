#!/usr/bin/env python3
"""numba-cuda's own tests that need no GPU, with NVIDIA's libNVVM and with ours: a table of both.

    numba_tests.py --python ENVIRONMENT/bin/python [--build build] [--modules cudapy.test_inspect...]

ENVIRONMENT is a virtual environment, outside the checkout, with `pip install 'numba-cuda[cu13]' filecheck psutil cffi`.
Every test is run in it twice, in one process for each test module. Those that pass with NVIDIA's library must pass with
ours, but for EXCEPTIONS; without a GPU, most others fail with both for want of a driver. Without an environment the
script says so. Closes with a line `numba: N passed, N failed`."""
import argparse
import json
import os
import subprocess
import sys
import unittest

EXCEPTIONS = {
    "cudadrv.test_nvvm_driver.TestNvvmDriver.test_nvvm_compile_nullary_option": "asks for LTO-IR (-gen-lto)",
    "cudadrv.test_nvvm_driver.TestNvvmDriver.test_nvvm_support": "asks for compute_107, new in CUDA 13.5",
}
PACKAGE = "numba.cuda.tests"


# ---- In the environment -------------------------------------------------------------------------

class Record(unittest.TestResult):
    """Each test's outcome, and whether it compiled with libNVVM."""

    def __init__(self):
        super().__init__()
        self.outcomes, self.compiled = {}, 0

    def startTest(self, test):
        super().startTest(test)
        self.compiled = 0
        self.outcomes[test.id()] = "passed"

    def stopTest(self, test):
        super().stopTest(test)
        self.outcomes[test.id()] = [self.outcomes[test.id()], self.compiled]

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


def run_module(name):
    """Runs one test module here and prints what came out, as JSON."""
    from cuda.bindings import nvvm
    record, compile_program = Record(), nvvm.compile_program

    def counted(*arguments):
        result = compile_program(*arguments)
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


def outcomes_of(python, module, library):
    """{test: [outcome, compilations]} of one module; nothing if it cannot be loaded or takes too long."""
    environment = {**os.environ, "LD_PRELOAD": library or "", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run([python, os.path.abspath(__file__), "--module", module], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, errors="replace", cwd="/", env=environment, timeout=300)
    except subprocess.TimeoutExpired:
        return {}
    line = [line for line in done.stdout.splitlines() if line.startswith("OUTCOMES ")]
    if not line:
        return {}
    outcomes, libraries = json.loads(line[-1].split(" ", 1)[1])
    assert not library or libraries in ([], [library]), f"{libraries} are loaded"
    return {test.removeprefix(PACKAGE + "."): outcome for test, outcome in outcomes.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", default=os.environ.get("NUMBA_PYTHON", ""))
    parser.add_argument("--build", default="build")
    parser.add_argument("--modules", nargs="*")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.module:
        return run_module(options.module)
    library = os.path.abspath(f"{options.build}/compat/libnvvm.so.4")
    modules = options.python and (options.modules or modules_of(options.python))
    if not modules:
        print("skipped: no environment with numba-cuda; --python says where it is")
        return 0
    rows, passed, wrong = [], 0, []
    for module in modules:
        theirs = outcomes_of(options.python, module, None)
        good = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
        touched = good or any(compiled for _, compiled in theirs.values())
        ours = outcomes_of(options.python, module, library) if touched else {}
        lost = [test for test in good if ours.get(test, ["not run"])[0] != "passed"]
        won = [test for test, (outcome, _) in ours.items() if outcome == "passed" and test not in good]
        compiled = sum(1 for test in good if theirs[test][1])
        passed += len(good) - len(lost)
        wrong += [f"{test}: {ours.get(test, ['not run'])[0]}" for test in lost if test not in EXCEPTIONS]
        if good or won:
            rows.append(f"| {module} | {len(theirs)} | {len(good)} | {compiled} | {len(good) - len(lost) + len(won)} | "
                        + "; ".join([f"{test.rsplit('.', 1)[1]}: {EXCEPTIONS.get(test, 'FAILS')}" for test in lost]
                                    + [f"{test.rsplit('.', 1)[1]} passes" for test in won]) + " |")
            print(rows[-1], file=sys.stderr)
    print("| module | tests | pass with NVIDIA's | of these compile | pass with ours | differences |", "|---|---|---|---|---|---|", *rows, sep="\n")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"numba: {passed} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
