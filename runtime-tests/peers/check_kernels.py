#!/usr/bin/env python3
"""Executes every kernel of real modules on made-up arguments, and compares the levels bit by bit.

    check_kernels.py MODULES... [--levels O1,O2,O3,Ofc=max] [--cpu sm_90] [--only TEXT] [--rows FILE]
                     [--ptxas full|parse|none] [--sums] [--seconds 120]

MODULES are .ll or .nvir files that another compiler wrote, or folders of them. kernel_cases.c, built here
against build/libinternal.a, makes the arguments (random numbers, 0 1 2 ..., small constants; two blocks of 64
threads, or of another shape where that has a finding) and runs each kernel as unoptimized IR, as the PTX of
-O0, and as that of each level, all with --fma-level 0. What every buffer and every variable holds at the end
must have the same bits as after -O0. No case, counted by reason: what the simulator has a finding about as IR
or at -O0 (made-up arguments lead out of bounds), and what depends on the order of the threads. ptxas then
reads every PTX text.

--sums prints no name of a module and no message. --rows writes module, kernel, filling, shape, level, result.
Closes with `N passed, N failed, N skipped`, in comparisons; a module that crashes and a text that ptxas refuses
count as one failure each, a module that we refuse as skipped: check_modules.py asks whether llc takes it.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def modules_of(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, _, files in os.walk(path):
            yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith((".ll", ".nvir")))


class Report:
    def __init__(self, options):
        self.options = options
        self.counts, self.reasons, self.levels, self.refused = (collections.Counter() for _ in range(4))
        self.kinds = collections.Counter()
        self.kernels, self.cases, self.failures = set(), set(), []
        self.rows = open(options.rows, "w") if options.rows else None

    def fail(self, kind, module, what):
        self.counts[kind] += 1
        if not self.options.sums:
            print(f"{kind}: {os.path.basename(module)}: {what}", flush=True)

    def take(self, module, line):
        kind, *fields = line.rstrip("\n").split("\t")
        if self.rows:
            self.rows.write("\t".join([os.path.basename(module), kind, *fields]) + "\n")
        if kind == "refused":
            self.refused[f"{fields[1]}"] += fields[0] == "O0"
            self.counts["refused"] += fields[0] == "O0"
        elif kind == "bug":
            self.fail("crash", module, " ".join(fields))
        elif kind == "none":
            self.kernels.add((module, fields[0]))
            self.reasons[re.sub(r": .*", "", fields[2].replace("PTX of -O0: ", "PTX of -O0, "))] += 1
        elif kind in ("same", "differs"):
            self.kernels.add((module, fields[0]))
            self.cases.add((module, fields[0], fields[1]))
            self.levels[fields[3], kind] += 1
            if kind == "differs":
                self.kinds[re.match(r"ends with [\w-]+|\w+", fields[4]).group(0), fields[3]] += 1
                self.fail("differs", module, " ".join(fields))
        return kind

    def print(self):
        print(f"{self.counts['modules']} modules, {len(self.kernels)} kernels, {len(self.cases)} cases (kernel and filling)")
        print("no case, by reason:", *[f"  {n:6}  {reason}" for reason, n in self.reasons.most_common()], sep="\n")
        if not self.options.sums:
            print("refused:", *[f"  {n:6}  {reason}" for reason, n in self.refused.most_common() if n], sep="\n")
        print("level          same  differs")
        for level in sorted({l for l, _ in self.levels}):
            print(f"{level:10} {self.levels[level, 'same']:8} {self.levels[level, 'differs']:8}")
        for (kind, level), n in sorted(self.kinds.items()):
            print(f"  {n:6}  differences at {level}: {kind}")
        print(f"ptxas read {self.counts['assembled']} texts; refused: {self.counts['ptxas']}; not asked: {self.counts['not assembled']}")
        failed = sum(self.counts[k] for k in ("differs", "crash", "ptxas"))
        same = sum(n for (_, kind), n in self.levels.items() if kind == "same")
        print(f"{same} passed, {failed} failed, {sum(self.reasons.values()) + self.counts['refused']} skipped")
        return failed


def assemble(report, module, folder):
    """ptxas on every text, parsed alone (`-arch compute_X` stops there) or down to machine code."""
    options = report.options
    for name in sorted(os.listdir(folder)):
        if options.ptxas == "none" or not shutil.which("ptxas"):
            report.counts["not assembled"] += 1
            continue
        cpu = options.cpu.replace("sm", "compute") if options.ptxas == "parse" else options.cpu
        try:
            done = subprocess.run(["ptxas", f"-arch={cpu}", os.path.join(folder, name), "-o", "/dev/null"], capture_output=True,
                                  text=True, timeout=options.seconds, errors="replace")
        except subprocess.TimeoutExpired:
            report.counts["not assembled"] += 1
            continue
        report.counts["assembled"] += 1
        if done.returncode != 0:
            report.fail("ptxas", module, f"{name}: {done.stderr.strip().splitlines()[:1]}")


def run_module(report, program, module):
    options = report.options
    report.counts["modules"] += 1
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as out:
        command = [program, module, "--cpu", options.cpu, "--levels", options.levels, "--ptx", folder]
        try:
            status = subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, timeout=options.seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        out.seek(0)
        kinds = [report.take(module, line) for line in out if line.endswith("\n")]
        if status is None:
            report.counts["unfinished"] += 1
            report.reasons["time: the module's other kernels"] += 1
        elif status != 0 or "done" not in kinds:
            report.fail("crash", module, f"status {status}")
        assemble(report, module, folder)


def build_program(folder):
    program = os.path.join(folder, "kernel_cases")
    build = f"{ROOT}/build"
    subprocess.run(["cc", "-std=c11", "-O1", "-D_POSIX_C_SOURCE=200809L", f"-I{ROOT}", f"-I{ROOT}/include", f"-I{build}/gen",
                    f"{ROOT}/runtime-tests/peers/kernel_cases.c", f"{ROOT}/runtime-tests/peers/kernel_arguments.c", f"{build}/libinternal.a", "-lm", "-lpthread", "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("modules", nargs="+")
    add("--levels", default="O1,O2,O3", help="compared with -O0 (default: %(default)s)")
    add("--cpu", default="sm_90")
    add("--only", default="", help="modules whose path holds this text")
    add("--every", type=int, default=1, metavar="N", help="take every N-th module")
    add("--rows", metavar="FILE")
    add("--ptxas", choices=("full", "parse", "none"), default="parse")
    add("--sums", action="store_true", help="print sums alone")
    add("--seconds", type=float, default=120, help="for each module (default: %(default)s)")
    options = parser.parse_args()
    report = Report(options)
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(folder)
        modules = [m for m in modules_of(options.modules) if options.only in m][::options.every]
        for i, module in enumerate(modules):
            if sys.stderr.isatty():
                print(f"\r{i}/{len(modules)}", end="", file=sys.stderr)
            run_module(report, program, module)
    return 1 if report.print() else 0


if __name__ == "__main__":
    sys.exit(main())
