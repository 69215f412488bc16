#!/usr/bin/env python3
"""Measures the errors of the mathematical library in ulp against MPFR.

    measure.py                      every function of functions.tsv that mathlib/ defines, sampled
    measure.py sinf pow             these functions
    measure.py --points 67108864    this many points per function (default 2^20)
    measure.py --all sinf           every float, 2^32 of them (functions of one float argument)
    measure.py --record             also write the results to measured.tsv
    measure.py --check              quick: fails if an error exceeds its bound, a special value is wrong,
                                    or docs/math.md is not what measured.tsv says
    measure.py --document           rewrite the table of docs/math.md from measured.tsv

The files of mathlib/ are compiled for this machine by clang (`-x ir`), which keeps every operation as written:
IEEE arithmetic without contraction, fused operations only where the IR calls them. PTX may fuse a product into
a sum, so mathlib/ writes llvm.fma wherever that would change a result. Special values come first in each run.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = f"{ROOT}/build/math"
MEASURED = f"{HERE}/measured.tsv"
PAGE = f"{ROOT}/docs/math.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


class Function:
    """A row of functions.tsv for one type."""

    def __init__(self, row, of_float):
        cells = [cell.split("/")[0 if of_float else -1] for cell in row.split("\t")]
        stem, self.signature, self.bound, self.where, self.low, self.high, self.first, self.last, self.absolute = cells
        self.name = stem + ("f" if of_float else "")
        if not of_float:
            self.signature = self.signature.translate(str.maketrans("fF", "dD"))
        self.of_float, self.of_one = of_float, self.signature in ("f(f)", "i(f)", "v(fFF)", "f(fF)", "f(fI)")


def functions():
    with open(f"{HERE}/functions.tsv", encoding="utf-8") as f:
        rows = [line.rstrip("\n") for line in f if not line.startswith("#")]
    return [Function(row, of_float) for of_float in (True, False) for row in rows]


def find_clang():
    names = ["clang", *(f"clang-{version}" for version in range(24, 14, -1))]
    for name in sorted(names, key=lambda n: -int(n[6:] or 0)):
        if shutil.which(name):
            version = re.search(r"version (\d+)", subprocess.run([name, "--version"], text=True, capture_output=True).stdout)
            if version and int(version[1]) >= 15:
                return name
    return None


def missing():
    """What a measurement lacks here, or None."""
    if not find_clang():
        return "clang 15 or later, to compile mathlib/ for this machine"
    with_mpfr = subprocess.run(["cc", "-fsyntax-only", "-xc", "-"], input="#include <mpfr.h>\n", text=True, capture_output=True)
    return "MPFR (libmpfr-dev)" if with_mpfr.returncode else None


def is_older(made, *sources):
    return not os.path.exists(made) or any(os.path.getmtime(s) > os.path.getmtime(made) for s in sources)


def build_program():
    program, sources = f"{BUILD}/measure", [f"{HERE}/measure.c", f"{HERE}/references.c"]
    if is_older(program, *sources, f"{HERE}/references.h", f"{HERE}/fast_references.h"):
        os.makedirs(BUILD, exist_ok=True)
        subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-rdynamic", *sources, "-o", program,
                        "-lmpfr", "-lgmp", "-lm", "-ldl"], check=True)
    return program


def compile_here(source):
    """The object of one file of IR for this machine, or None with the reason printed."""
    made = f"{BUILD}/{os.path.basename(source)}.o"
    if is_older(made, source):
        done = subprocess.run([find_clang(), "-x", "ir", "-O2", "-mfma", "-msse4.1", "-fPIC", "-Wno-override-module", "-c", source,
                               "-o", made], text=True, capture_output=True)
        if done.returncode != 0:
            wrong = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            found = re.search(r"llvm[.]nvvm[.][\w.]+", wrong[0])
            print(f"{os.path.relpath(source, ROOT)}: not measured: {f'calls {found[0]}' if found else wrong[0]}")
            return None
    return made


def build_library():
    os.makedirs(BUILD, exist_ok=True)
    library, sources = f"{BUILD}/libmath.so", sorted(glob.glob(f"{ROOT}/mathlib/*.nvir"))
    objects = [made for made in map(compile_here, sources) if made]
    subprocess.run(["cc", "-shared", *objects, "-o", library, "-lm"], check=True)
    return library


# ---- The table ----------------------------------------------------------------------------------

def read_measured():
    """{(function, result): row}"""
    if not os.path.exists(MEASURED):
        return {}
    with open(MEASURED, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {tuple(row[:2]): row for row in rows}


def record(function, results):
    """Keeps the measurement with more points."""
    measured = read_measured()
    for r in results:
        row = [function.name, r["result"], r["points"], r["worst"], r["at"], r["absolute"], r["at_absolute"], r["wrong"]]
        known = measured.get(tuple(row[:2]))
        if known is None or int(known[2]) <= int(row[2]):
            measured[tuple(row[:2])] = row
    with open(MEASURED, "w", encoding="utf-8") as f:
        f.write("# Written by measure.py --record: function, result, points, worst error in ulp, where, worst absolute\n"
                "# error outside the range that counts in ulp, where, wrong results.\n")
        f.writelines("\t".join(row) + "\n" for _, row in sorted(measured.items()))


def file_of(function):
    for path in sorted(glob.glob(f"{ROOT}/mathlib/*.nvir")):
        with open(path, encoding="utf-8") as f:
            if f"@__nv_{function}(" in "".join(line for line in f if line.startswith("define ")):
                return os.path.basename(path)
    return ""


def number_of_points(text):
    count = int(text)
    return "all 2^32" if count == 1 << 32 else f"{count:,}"


def error_cell(row):
    absolute = f"; elsewhere absolute {row[5]}" if float(row[5]) > 0 else ""
    wrong = f"; {row[7]} wrong" if row[7] != "0" else ""
    return f"{float(row[3]):.3f}" + absolute + wrong


def table():
    measured = read_measured()
    yield "| function | file | bound | worst error | where | points |"
    yield "|---|---|---|---|---|---|"
    for function in functions():
        for result in "01":
            row = measured.get((function.name, result))
            if row is None or (result == "1" and function.name.startswith("modf")):
                continue
            part = {"0": ", sine", "1": ", cosine"}[result] if "sincos" in function.name else ""
            bound = function.bound + (f"; elsewhere absolute {function.absolute}" if function.absolute != "-" else "")
            where = row[4] if float(row[3]) > 0 else "-"
            yield (f"| `{function.name}`{part} | {file_of(function.name)} | {bound} | {error_cell(row)} | {where} |"
                   f" {number_of_points(row[2])} |")


def document(text):
    """The page with the table of today's measured.tsv."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(table()) + "\n" + END + rest.split(END)[1]


def defined_in(library):
    names = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True).stdout
    return set(re.findall(r" T __nv_(\w+)", names))


def measure(program, library, function, points, seed):
    """A list of dicts, one for each real result of the function; a string that says why not."""
    plain = {"-": "0"}
    words = [program, library, "__nv_" + function.name, function.signature, points, str(seed), function.where,
             *(plain.get(w, w) for w in (function.low, function.high, function.first, function.last))]
    done = subprocess.run(words, text=True, capture_output=True)
    if done.returncode != 0:
        return done.stderr.strip() or f"exit status {done.returncode}"
    names = "result points worst at got exact absolute at_absolute wrong at_wrong".split()
    return [dict(zip(names, line.split("\t"))) for line in done.stdout.splitlines()]


def faults(function, result):
    """What is beyond the published bounds."""
    bound = function.bound if function.bound != "-" else "inf"
    absolute = function.absolute if function.absolute != "-" else "inf"
    if float(result["worst"]) > max(float(bound), 0.5):  # of a correctly rounded function 0 is published
        yield f"{result['worst']} ulp at {result['at']}, more than {bound}"
    if float(result["absolute"]) > float(absolute):
        yield f"absolute error {result['absolute']} at {result['at_absolute']}, more than {absolute}"
    if result["wrong"] != "0":
        yield f"{result['wrong']} wrong results, the first at {result['at_wrong']}"


def run_all(chosen, library, points, seed, jobs):
    """(function, results) of each, as they are done."""
    program = build_program()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(measure, program, library, f, points(f), seed): f for f in chosen}
        for done in concurrent.futures.as_completed(waiting):
            yield waiting[done], done.result()


def show(function, result, marks):
    part = {"sincosf": ".sin .cos", "sincos": ".sin .cos", "sincospif": ".sin .cos", "sincospi": ".sin .cos"}.get(function.name)
    name = function.name + (part.split()[int(result["result"])] if part else "")
    elsewhere = f" absolute {result['absolute']} at {result['at_absolute']}" if function.where != "all" else ""
    print(f"{name:15} {result['worst']:>10} ulp of {function.bound:>2}  {result['points']:>10} points  at {result['at']}"
          f" got {result['got']} for {result['exact']}{elsewhere}", flush=True)
    for mark in marks:
        print(f"{name:15} WRONG: {mark}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--points", type=int, default=1 << 20)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--document", action="store_true")
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    if options.document:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(document(page))
        return 0
    if missing():
        print(f"skipped: {missing()} is not installed")
        return 0
    library = build_library()
    known = defined_in(library)
    chosen = [f for f in functions() if f.name in (options.names or known)]
    unknown = set(options.names) - {f.name for f in chosen if f.name in known}
    if unknown:
        print(f"not in functions.tsv or not in mathlib/: {' '.join(sorted(unknown))}")
        return 2
    points = "100000" if options.check else str(options.points)
    passed = failed = 0
    if options.check:
        passed, failed = (1, 0) if document(page) == page else (0, 1)
        if failed:
            print("docs/math.md: the table is not that of measured.tsv: measure.py --document")
    for function, results in run_all(chosen, library, lambda f: "all" if options.all and f.of_one else points, options.seed, options.jobs):
        if isinstance(results, str):
            print(f"{function.name}: {results}")
            failed += 1
            continue
        marks = [list(faults(function, result)) for result in results]
        if options.record:
            record(function, results)
        passed, failed = passed + (not any(marks)), failed + any(marks)
        for result, mark in zip(results, marks):
            if mark or not options.check:
                show(function, result, mark)
    print(f"math: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
