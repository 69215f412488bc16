#!/usr/bin/env python3
"""What each pass of -O3 costs and gains: writes docs/passes.md.

    passes.py MODULES [--nvmini build/nvmini] [--every N] [--code-every N] [--max-size KiB]
              [--cpu sm_90] [--only PASS,...] [-o docs/passes.md]

MODULES is a folder of .ll files (unoptimized IR with libdevice linked in; runtime-tests/peers/README.md says
how to make them). A pass is left out by running the pipeline that `nvmini passes -O3` lists without it and
without the `+` passes that depend on it. The PTX instructions are counted in every Nth module of at most --max-size KiB, the code bytes
by ptxas in every Nth of --code-every, the executed instructions in the samples and the kernels of
runtime-tests/exec/algorithms, and the vectorizer's tests."""
import argparse
import datetime
import glob
import hashlib
import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MADE_BY_MANAGER = {"loop-simplify", "lcssa"}  # inserted before the passes that require them
PARTS = {  # further files of a pass, beside those whose names begin as its own file's
    "simplifycfg": ["opt/cfg/if_conversion*"],
    "loop-vectorize": [f"opt/vectorize/{name}*" for name in
                       ("accesses", "build", "execute", "legality", "outer", "print", "reductions", "show", "skeleton",
                        "vcost", "vplan", "vreport", "vectorize", "diagnostics")],
    "early-cse": ["opt/memory/load_elimination*"],  # with gvn
}
FOLDERS = ["scalar", "memory", "cfg", "loop", "interprocedural", "gpu", "vectorize"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def pipeline(nvmini, level):
    """[(name with parameters, conditional)] without the passes that the manager inserts."""
    lines = run(nvmini, "passes", level).stdout.splitlines()
    found = [re.match(r" ?(\+?) *([\w-]+(?:<[^>]*>)?)", line).groups() for line in lines if line != "for each function"]
    return [(name, plus == "+") for plus, name in found if name not in MADE_BY_MANAGER]


def without(steps, left_out):
    """The steps without a pass, and without the conditional ones that follow it."""
    kept, skip = [], False
    for name, conditional in steps:
        is_left_out = name.split("<")[0] == left_out
        if not conditional:
            skip = is_left_out
        if not is_left_out and not skip:
            kept.append(("+" if conditional else "") + name)
    return ",".join(kept)


class Measurement:
    """Compiles, executes and assembles; texts that were assembled once are not assembled again."""

    def __init__(self, options, work):
        self.options, self.work, self.code = options, work, {}
        modules = [path for path in sorted(glob.glob(os.path.join(options.modules, "*.ll")))
                   if os.path.getsize(path) <= options.max_size * 1024]
        self.modules, self.assembled = modules[::options.every], set(modules[::options.code_every])
        self.modules = sorted({*self.modules, *self.assembled})
        kernels = [path for pattern in ("samples/*", "runtime-tests/exec/algorithms/*", "runtime-tests/exec/vectorize*")
                   for path in sorted(glob.glob(f"{ROOT}/{pattern}.nvir"))]
        self.kernels = [path for path in kernels if "nvmini-run:" in open(path, encoding="utf-8").read()]

    def compile(self, path, passes):
        more = ["--passes", passes] if passes else []
        # A level assumes the whole program where there are kernels, a list of passes does not.
        return run(self.options.nvmini, "compile", path, "-O3", "--whole-program", "--cpu", self.options.cpu, *more, "-o", "-").stdout

    def code_bytes(self, ptx):
        key = hashlib.sha1(ptx.encode()).hexdigest()
        if key not in self.code:
            source, cubin = os.path.join(self.work, key + ".ptx"), os.path.join(self.work, key + ".cubin")
            with open(source, "w", encoding="utf-8") as file:
                file.write(ptx)
            made = run("ptxas", f"-arch={self.options.cpu}", source, "-o", cubin)
            sections = run("readelf", "-SW", cubin).stdout if made.returncode == 0 else ""
            self.code[key] = sum(int(size, 16) for size in
                                 re.findall(r"\.text\.\S+\s+PROGBITS\s+\S+\s+\S+\s+(\S+)", sections)) or None
            os.remove(source)
        return self.code[key]

    def module(self, path, passes):
        """(PTX instructions, hash of the text, code bytes or None)."""
        ptx = self.compile(path, passes)
        count = len(re.findall(r"^\t(?:@|\{ *)?[!%a-z].*;$", ptx, re.M))
        return count, hash(ptx), self.code_bytes(ptx) if path in self.assembled else None

    def executed(self, path, passes):
        more = ["--passes", passes] if passes else []
        done = run(self.options.nvmini, "run", path, "-O3", "--cpu", self.options.cpu, *more, "--stats")
        found = re.search(r"^instructions (\d+)$", done.stdout + done.stderr, re.M)
        return int(found[1]) if found and done.returncode == 0 else None

    def all(self, passes, pool):
        modules = list(pool.map(lambda path: self.module(path, passes), self.modules))
        return modules, list(pool.map(lambda path: self.executed(path, passes), self.kernels))

    def times(self):
        """Nanoseconds by pass, and of the whole compilation."""
        total, by_pass = 0, {}
        for path in self.modules:
            text = run(self.options.nvmini, "compile", path, "-O3", "--cpu", self.options.cpu, "--time-passes",
                       "-o", "/dev/null")
            for us in re.findall(r"^(\d+) us ", text.stdout + text.stderr, re.M):
                total += int(us)
            for us, name in re.findall(r"^ *(\d+) +\d+ +\d+ +\d+  ([\w-]+)$", text.stdout + text.stderr, re.M):
                by_pass[name] = by_pass.get(name, 0) + int(us)
        return by_pass, total


def percent(new, old):
    """The geometric mean of new / old where both are known, as a difference in percent."""
    both = [(a, b) for a, b in zip(new, old) if a and b]
    return 100 * (math.exp(sum(math.log(a / b) for a, b in both) / max(1, len(both))) - 1)


def cost_of(with_all, left_out):
    """Differences in percent of PTX instructions, executed instructions and code; modules that change."""
    (modules, executed), (base, base_executed) = left_out, with_all
    return (percent([m[0] for m in modules], [m[0] for m in base]), percent(executed, base_executed),
            percent([m[2] for m in modules], [m[2] for m in base]),
            sum(m[1] != b[1] for m, b in zip(modules, base)))


def files_of(name, function):
    """The pass's own file, found by its function, and those that belong to it."""
    for path in sorted(glob.glob(f"{ROOT}/opt/*/*.c")):
        if re.search(rf"^enum nvm_status {function}\(", open(path, encoding="utf-8").read(), re.M):
            stem = os.path.splitext(path)[0]
            found = {path, *glob.glob(stem + "_*.[ch]"), *glob.glob(stem + ".h")}
            for pattern in PARTS.get(name, []):
                found.update(glob.glob(f"{ROOT}/{pattern}"))
            return os.path.relpath(path, ROOT), found
    sys.exit(f"no file defines {function}")


def passes():
    """[(name, file, lines or None if another pass's)] in the order of passes.def."""
    text = open(f"{ROOT}/opt/passes.def", encoding="utf-8").read().split("#ifdef")[0]
    rows, counted = [], set()
    for name, function in re.findall(r'^(?:FUNCTION|MODULE)_PASS\(\w+,\s*"([^"]+)",\s*(\w+)', text, re.M):
        path, found = files_of(name, function)
        lines = sum(open(p, encoding="utf-8").read().count("\n") for p in found - counted)
        rows.append((name, path, lines or None))
        counted |= found
    return rows


LEVELS = {"O0": "-O0", "MAX": "-Ofc=max", "MID": "-Ofc=mid", "O1": "-O1", "O2": "-O2", "O3": "-O3"}
GROUPS = {"ALL_LEVELS": LEVELS, "ABOVE_O0": list(LEVELS)[1:], "FROM_O1": ["O1", "O2", "O3"], "FROM_O2": ["O2", "O3"]}


def pipelines():
    """The stages of pipelines.def as a table, a column per level."""
    text = re.sub(r'"\s*\n\s*"', "", open(f"{ROOT}/opt/pipelines.def", encoding="utf-8").read())
    yield "| stage | passes | " + " | ".join(LEVELS.values()) + " |"
    yield "|---|---|" + ":---:|" * len(LEVELS)
    for levels, purpose, names in re.findall(r'^STAGE\(([^,]+),\s*"([^"]*)",\s*"([^"]*)"\)', text, re.M):
        chosen = {level for word in levels.split(" | ") for level in GROUPS.get(word, [word])}
        cells = ["x" if level in chosen else "" for level in LEVELS]
        yield f"| {purpose} | {names.replace(',', ', ')} | " + " | ".join(cells) + " |"


def signed(value):
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0"


def page(options, measured, rows, by_pass, total):
    out = [open(f"{ROOT}/runtime-tests/bench/passes.head.md", encoding="utf-8").read().format(
        date=datetime.date.today(), cpu=options.cpu, size=options.max_size, modules=len(measured.modules), every=options.every,
        code_modules=len(measured.assembled), code_every=options.code_every, kernels=len(measured.kernels))]
    for folder in FOLDERS:
        out.append(f"\n## opt/{folder}/\n")
        out.append("| pass | lines | share of -O3 | PTX | executed | code | modules changed |")
        out.append("|---|---:|---:|---:|---:|---:|---:|")
        for name, path, lines, costs in rows:
            if not path.startswith(f"opt/{folder}/"):
                continue
            link = f"[{name}](../{path})"
            share = f"{100 * by_pass.get(name, 0) / total:.1f} %"
            cells = ["required", "", "", ""] if name in MADE_BY_MANAGER else ["not in -O3", "", "", ""]
            if costs:
                cells = [*map(signed, costs[:3]), str(costs[3])]
            out.append(f"| {link} | {lines or 'as above'} | {share} | " + " | ".join(cells) + " |")
    none = [f"`{row[0]}`" for row in rows if row[3] and row[3][3] == 0]
    out += ["\n## Passes without effect on these modules\n",
            f"{', '.join(none) or 'None'}. The header comments of their files say what they are for.",
            "\n## Pipelines\n", "As in `opt/pipelines.def`; `+` runs only on functions that the last pass without `+` has changed.",
            "`-Ofc=min` is `-O1`, `-Os` and `-Oz` run the passes of `-O2`. `loop-simplify` and `lcssa` are inserted before passes that require them.\n", *pipelines()]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("modules")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--code-every", type=int, default=16)
    parser.add_argument("--max-size", type=int, default=200, help="of a module, in KiB")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--only", default="")
    parser.add_argument("-o", dest="output", default=f"{ROOT}/docs/passes.md")
    options = parser.parse_args()
    steps = pipeline(options.nvmini, "-O3")
    used = {name.split("<")[0] for name, _ in steps}
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = Measurement(options, work)
        by_pass, total = measured.times()
        base = measured.all(None, pool)
        rows = []
        for name, path, lines in passes():
            if options.only and name not in options.only.split(","):
                continue
            costs = cost_of(base, measured.all(without(steps, name), pool)) if name in used else None
            print(f"{name}: {costs and ' '.join(map(signed, costs))}", file=sys.stderr, flush=True)
            rows.append((name, path, lines, costs))
    text = page(options, measured, rows, by_pass, total)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
