#!/usr/bin/env python3
"""Measures the errors of the mathematical library in ulp against MPFR.

    measure.py                      every function of functions.tsv that mathlib/ defines, sampled
    measure.py sinf pow             these functions
    measure.py --points 67108864    this many points per function (default 2^20)
    measure.py --all sinf           every float, 2^32 of them (functions of one float argument)
    measure.py --record             also write the results to measured.tsv
    measure.py --check              quick: fails if an error exceeds its bound, a special value is wrong, docs/math.md
                                    is not what the .tsv files say, or they have functions worse than libdevice's in
                                    error and instructions
    measure.py --document           rewrite the table of docs/math.md from the .tsv files
    measure.py --libdevice ...      the same of NVIDIA's libdevice (libdevice.tsv) instead of mathlib/; skipped if absent

The files of mathlib/ are compiled for this machine by clang (`-x ir`), which keeps every operation as written:
IEEE arithmetic without contraction, fused operations only where the IR calls them. PTX may fuse a product into
a sum, so mathlib/ writes llvm.fma wherever that would change a result. PTX instructions become the functions of
stand_ins.c; approximations are correctly rounded there. Special values come first in each run.
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
NVMINI = f"{ROOT}/build/nvmini"
OURS, LIBDEVICE = "measured.tsv", "libdevice.tsv"
PAGE = f"{ROOT}/docs/math.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
# Worst errors of all floats that are above CUDA's bound from the exact value, but not from the correctly rounded result.
BEYOND_BOUND = {"log2f": 1.0234, "erfcf": 4.0173}


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
        subprocess.run(["cc", "-std=gnu11", "-O3", "-Wall", "-Wextra", "-Werror", *sources, "-o", program,
                        "-lmpfr", "-lgmp", "-lm", "-ldl"], check=True)
    return program


# Inline assembly of libdevice: what its text contains, and the function of stand_ins.c.
ASSEMBLY = {"mad.lo.cc.u32   $0": "asm_multiply_add_32", "madc.lo.cc.u32  r2, ahi, bhi": "asm_multiply_add",
            "mul.lo.u32": "asm_multiply", "add.cc.u32": "asm_add", "sub.cc.u32": "asm_subtract", "setp.equ.f64": "asm_select"}
MULTIPLY_ADD_32 = """
define internal { i32, i32 } @asm_multiply_add_32(i32 %a, i32 %b, i32 %c) {
  %x = zext i32 %a to i64
  %y = zext i32 %b to i64
  %z = zext i32 %c to i64
  %product = mul i64 %x, %y
  %sum = add i64 %product, %z
  %low = trunc i64 %sum to i32
  %shifted = lshr i64 %sum, 32
  %high = trunc i64 %shifted to i32
  %first = insertvalue { i32, i32 } undef, i32 %low, 0
  %both = insertvalue { i32, i32 } %first, i32 %high, 1
  ret { i32, i32 } %both
}
"""


def name_of_assembly(text):
    for part, name in ASSEMBLY.items():
        if part in text:
            return name
    instruction = re.match(r"[\w.]+", text)
    return "ptx_" + instruction[0].replace(".f32", ".f").replace(".f64", ".d").replace(".", "_") if instruction else "asm_unknown"


def for_this_machine(text):
    """IR that calls the functions of stand_ins.c for PTX's instructions."""
    declarations = {}

    def call(found):
        result, assembly, arguments = found.groups()
        name = name_of_assembly(assembly)
        types = ", ".join(argument.split()[0] for argument in arguments.split(","))
        declarations[name] = f"declare {result} @{name}({types})"
        return f"call {result} @{name}({arguments})"

    text = re.sub(r"^target .*\n", "", text, flags=re.M)
    text = re.sub(r"@llvm[.]nvvm[.]([\w.]+)", lambda found: "@ptx_" + found[1].replace(".", "_"), text)
    text = re.sub(r'call ({[^}]*}|\w+) asm (?:sideeffect )?"([^"]*)", "[^"]*"\(([^)]*)\)', call, text)
    declared = set(re.findall(r"^declare .*@(\w+)\(", text, re.M))
    if declarations.pop("asm_multiply_add_32", None):
        text += MULTIPLY_ADD_32
    return text + "\n".join(line for name, line in declarations.items() if name not in declared) + "\n"


SHIFT = re.compile(r"= (shl|lshr|ashr) (?:\w+ )*?(i32|i64) (\S+), (%\S+)")


def with_shifts_of_ptx(text):
    """libdevice relies on PTX's shifts: an amount beyond the width is as the width."""
    used = sorted({found[:2] for found in SHIFT.findall(text)})
    text = SHIFT.sub(r"= call \2 @ptx_\1_\2(\2 \3, \2 \4)", text)
    return text + "".join(f"declare {width} @ptx_{shift}_{width}({width}, {width})\n" for shift, width in used)


def compile_stand_ins():
    """stand_ins.c as a module to link into others, and as an object for clang before 17, which links no module into IR."""
    source, made = f"{HERE}/stand_ins.c", f"{BUILD}/stand_ins"
    common = ["-std=gnu11", "-O2", "-mfma", "-msse4.1", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", source]
    if is_older(f"{made}.bc", source, __file__):
        subprocess.run([find_clang(), *common, "-o", f"{made}.o"], check=True)
        subprocess.run([find_clang(), *common, "-emit-llvm", "-o", f"{made}.bc"], check=True)
    return made


def compile_here(name, text, stand_ins):
    """The object of a file of IR for this machine."""
    source = f"{BUILD}/{name}.ll"
    text = for_this_machine(text)
    if is_older(source + ".o", f"{stand_ins}.bc") or read(source) != text:
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([find_clang(), "-x", "ir", "-O2", "-mfma", "-msse4.1", "-fPIC", "-Wno-override-module", "-Xclang",
                        "-mlink-builtin-bitcode", "-Xclang", f"{stand_ins}.bc", "-c", source, "-o", source + ".o"], check=True)
    return source + ".o"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def find_libdevice():
    return next(iter(sorted(glob.glob("/usr/local/cuda*/nvvm/libdevice/libdevice.10.bc"), reverse=True)), None)


def build_library(libdevice=None):
    """The shared library of mathlib/'s functions, or of libdevice's."""
    os.makedirs(BUILD, exist_ok=True)
    library = f"{BUILD}/libmath.so" if libdevice is None else f"{BUILD}/libdevice.so"
    if libdevice is None:
        texts = {os.path.basename(source): read(source) for source in sorted(glob.glob(f"{ROOT}/mathlib/*.nvir"))}
    else:
        printed = subprocess.run([NVMINI, "print", libdevice], text=True, capture_output=True, check=True)
        texts = {"libdevice": with_shifts_of_ptx(printed.stdout)}
    stand_ins = compile_stand_ins()
    objects = [compile_here(name, text, stand_ins) for name, text in texts.items()]
    subprocess.run(["cc", "-shared", *objects, f"{stand_ins}.o", "-o", library, "-lm", "-Wl,-z,lazy"], check=True)
    return library


# ---- The table ----------------------------------------------------------------------------------

def read_measured(name=OURS):
    """{(function, result): row}"""
    if not os.path.exists(f"{HERE}/{name}"):
        return {}
    rows = [line.split("\t") for line in read(f"{HERE}/{name}").splitlines() if not line.startswith("#")]
    return {tuple(row[:2]): row for row in rows}


def read_executed():
    """{function: (instructions of mathlib/, of libdevice)}, what executed.py recorded"""
    if not os.path.exists(f"{HERE}/executed.tsv"):
        return {}
    rows = [line.split("\t") for line in read(f"{HERE}/executed.tsv").splitlines() if not line.startswith("#")]
    return {name: (int(ours), int(theirs)) for name, ours, theirs in rows}


def record(name, function, results):
    """Keeps the measurement with more points."""
    measured = read_measured(name)
    for r in results:
        row = [function.name, r["result"], r["points"], r["worst"], r["at"], r["absolute"], r["at_absolute"], r["wrong"]]
        known = measured.get(tuple(row[:2]))
        if known is None or int(known[2]) <= int(row[2]):
            measured[tuple(row[:2])] = row
    with open(f"{HERE}/{name}", "w", encoding="utf-8") as f:
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
    if row is None:
        return "-"
    absolute = f"; elsewhere absolute {row[5]}" if float(row[5]) > 0 else ""
    wrong = f"; {row[7]} wrong" if row[7] != "0" else ""
    return f"{float(row[3]):.3f}" + absolute + wrong


def table():
    measured, theirs, counts = read_measured(), read_measured(LIBDEVICE), read_executed()
    yield "| function | file | bound | worst error | libdevice's | instructions | libdevice's | where ours is worst | points |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for function in functions():
        for result in "01":
            row = measured.get((function.name, result))
            if row is None or (result == "1" and function.name.startswith("modf")):
                continue
            part = {"0": ", sine", "1": ", cosine"}[result] if "sincos" in function.name else ""
            bound = function.bound + (f"; elsewhere absolute {function.absolute}" if function.absolute != "-" else "")
            where = row[4] if float(row[3]) > 0 else "-"
            instructions = counts.get(function.name, ("-", "-"))
            yield (f"| `{function.name}`{part} | {file_of(function.name)} | {bound} | {error_cell(row)} |"
                   f" {error_cell(theirs.get((function.name, result)))} | {instructions[0]} | {instructions[1]} |"
                   f" {where} | {number_of_points(row[2])} |")


def compared():
    """[(function, (our error, theirs), (our instructions, theirs))] of what both libraries were measured for."""
    ours, theirs, counts = read_measured(), read_measured(LIBDEVICE), read_executed()

    def error(rows, name):
        found = [rows[name, result] for result in "01" if (name, result) in rows]
        return max(((float(row[3]), float(row[5])) for row in found), default=None)

    errors = [(f.name, (error(ours, f.name), error(theirs, f.name)), counts.get(f.name)) for f in functions()]
    return [row for row in errors if None not in row[1] and row[2]]


def is_worse_in_both(row):
    """In instructions, and in the error in ulp without a smaller one in the absolute error elsewhere. Errors that differ
    by less than 0.001 ulp count as equal: samples leave that open."""
    _, (ours, theirs), (count, their_count) = row
    return count > their_count and ours[0] > theirs[0] + 0.001 and not ours[1] < theirs[1]


def summary():
    rows = compared()
    better = sum(ours[0] < theirs[0] - 0.001 or count < their_count for _, (ours, theirs), (count, their_count) in rows)
    worse = [f"`{row[0]}`" for row in rows if is_worse_in_both(row)]
    return (f"Of {len(rows)} functions {better} have a smaller error than libdevice's or execute fewer instructions; "
            f"{f'{len(worse)} are worse in both: ' + ', '.join(worse) if worse else 'none is worse in both'}.")


def document(text):
    """The page with the table of today's measured.tsv."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + summary() + "\n\n" + "\n".join(table()) + "\n" + END + rest.split(END)[1]


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
    limit = max(float(bound), 0.5)  # of a correctly rounded function 0 is published
    if int(result["points"]) == 1 << 32:
        limit = BEYOND_BOUND.get(function.name, limit)
    if float(result["worst"]) > limit:
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
    parser.add_argument("--libdevice", action="store_true")
    options = parser.parse_args()
    page = read(PAGE)
    if options.document:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(document(page))
        return 0
    if missing():
        print(f"skipped: {missing()} is not installed")
        return 0
    if options.libdevice and not find_libdevice():
        print("skipped: libdevice.10.bc is not installed")
        return 0
    library = build_library(find_libdevice() if options.libdevice else None)
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
        worse = [row[0] for row in compared() if is_worse_in_both(row)]
        failed += bool(worse)
        passed += not worse
        for name in worse:
            print(f"{name}: larger error and more instructions than libdevice's")
        if document(page) != page:
            print("docs/math.md: the table is not that of measured.tsv: measure.py --document")
    for function, results in run_all(chosen, library, lambda f: "all" if options.all and f.of_one else points, options.seed, options.jobs):
        if isinstance(results, str):
            print(f"{function.name}: {results}")
            failed += 1
            continue
        marks = [list(faults(function, result)) for result in results]
        if options.record:
            record(LIBDEVICE if options.libdevice else OURS, function, results)
        passed, failed = passed + (not any(marks)), failed + any(marks)
        for result, mark in zip(results, marks):
            if mark or not options.check:
                show(function, result, mark)
    print(f"math: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
