#!/usr/bin/env python3
"""Find effects that vanish: compare each kernel's PTX with what clang -O3 makes of the same module.

A kernel is reported where clang's PTX, device functions that it calls included, has an instruction of a kind and
ours has none, or where ours has fewer than a third of clang's instructions:

  global store    st.global, st (generic), wmma.store, sust, bulk copies to global memory
  shared store    st.shared, st (generic), cp.async, stmatrix, wmma.store, mbarrier
  barrier         bar.sync, bar.red, barrier.…; not those of a warp
  atomic          atom, red, multimem.red, cp.reduce
  call            of functions that the module only declares (vprintf, __assertfail, malloc)

A wrong analysis that deletes code shows here at once, without running anything. What is reported is a defect or has a
reason. One reason is recognized, and counted apart: clang has many instructions because it unrolls loops, and without
that fewer than three times ours. --explained FILE lists other kernels that somebody has looked at: MODULE KERNEL KIND
REASON, tabs between.

Not seen: an effect that is lost where the kernel has others of its kind; a wrong value or address.

Modules that clang takes and nvmini does not are listed by reason, and so is PTX that ptxas does not read.
Exit status: 0 nothing unexplained, 1 something is, 2 wrong usage.
"""
import argparse
import collections
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KINDS = ("global store", "shared store", "barrier", "atomic", "call")
FEW = "few instructions"
LOST = "kernel missing"


# ---- reading PTX ----------------------------------------------------------------------------------------------

HEADER = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern|common)[ \t]+)*\.(entry|func)\b", re.MULTILINE)
NAME = re.compile(r"[A-Za-z_$%][\w$]*")


class Function:
    """What one .entry or .func of a PTX module has."""

    def __init__(self, is_kernel):
        self.is_kernel = is_kernel
        self.kinds = collections.Counter()
        self.opcodes = collections.Counter()
        self.mentions = set()
        self.calls_indirectly = False


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def end_of_body(text, start):
    depth = 0
    for match in re.compile(r'[{}]|"(?:[^"\\]|\\.)*"').finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return len(text)


def header_name(text, at):
    """The name of a function whose .entry or .func ends at `at`: after the result's list, if it has one."""
    rest = re.compile(r"\s*(\([^)]*\)\s*)?([\w$]+)").match(text, at)
    return rest[2], rest.end()


def copied_to(words):
    """Where a bulk or asynchronous copy writes: the first space of its name, but for L2."""
    for word in words:
        if word.startswith("shared") or word == "global":
            return "global store" if word == "global" else "shared store"
    return None


def kinds_of(opcode):
    """The kinds of effect of an instruction. A generic store may have either of two: they get a question mark."""
    op, *words = opcode.split(".")
    shared = any(word.startswith("shared") for word in words)
    if op == "st" or (op == "wmma" and "store" in words):
        if shared:
            return ("shared store",)
        if "param" in words or "local" in words:
            return ()
        return ("global store",) if "global" in words else ("global store?", "shared store?")
    if op == "cp":
        kind = "atomic" if "reduce" in words else copied_to(words)
        return (kind,) if kind and "prefetch" not in words else ()
    if op in ("stmatrix", "mbarrier"):
        return ("shared store",)
    if op in ("sust", "sured"):
        return ("global store",)
    if op in ("bar", "barrier"):
        return () if "warp" in words else ("barrier",)
    if op in ("atom", "red") or (op == "multimem" and "red" in words):
        return ("atomic",)
    return ()


def read_body(body, function):
    for statement in re.split(r"[;{}]", body):
        statement = re.sub(r"^(?:\s*[\w$]+:(?!:))*\s*(?:@!?%?[\w$]+\s+)?", "", statement).strip()
        if not statement or statement[0] in ".<(,%\"" or not statement[0].isalpha():
            continue
        opcode = statement.split(None, 1)[0]
        function.opcodes[opcode.split(".")[0]] += 1
        operands = statement[len(opcode):]
        for kind in () if operands.lstrip().startswith("[%SP") else kinds_of(opcode):
            function.kinds[kind] += 1 # not of a generic store to the frame
        if opcode.startswith("call"):
            callee = re.match(r"\s*(?:\([^)]*\)\s*,\s*)?([%\w$]+)", operands)
            function.calls_indirectly |= callee is not None and callee[1].startswith("%")
        function.mentions.update(NAME.findall(operands))


class Module:
    """The functions of a PTX module, and which names are only declared."""

    def __init__(self, text):
        text = without_comments(text)
        self.functions, self.declared = {}, set()
        outside, at = [], 0
        for match in HEADER.finditer(text):
            if match.start() < at:
                continue
            name, after = header_name(text, match.end())
            opening, semicolon = text.find("{", after), text.find(";", after)
            if opening < 0 or 0 <= semicolon < opening:
                self.declared.add(name)
                continue
            outside.append(text[at:match.start()])
            at = end_of_body(text, opening)
            function = self.functions[name] = Function(match[1] == "entry")
            read_body(text[opening:at], function)
        outside.append(text[at:])
        self.declared -= set(self.functions)
        self.in_tables = set(NAME.findall(" ".join(outside))) & set(self.functions)

    def kernels(self):
        return [name for name, function in self.functions.items() if function.is_kernel]

    def whole(self, kernel):
        """The kernel and all that it may call: kinds and number of instructions."""
        seen, work = {kernel}, [kernel]
        kinds, opcodes = collections.Counter(), collections.Counter()
        while work:
            function = self.functions[work.pop()]
            kinds.update(function.kinds)
            opcodes.update(function.opcodes)
            kinds["call"] += len(function.mentions & self.declared)
            called = function.mentions & set(self.functions)
            if function.calls_indirectly:
                called |= self.in_tables
            work += called - seen
            seen |= called
        return kinds, opcodes


# ---- comparing ------------------------------------------------------------------------------------------------

class Hit:
    def __init__(self, kernel, kind, ours, theirs):
        self.kernel, self.kind, self.ours, self.theirs = kernel, kind, ours, theirs
        self.reason = None


def has(kinds, kind):
    return kinds[kind] + kinds[kind + "?"] > 0


def is_few(ours, theirs):
    return 3 * sum(ours[1].values()) < sum(theirs[1].values())


def compare_kernel(kernel, ours, theirs):
    our_kinds, their_kinds = ours[0], theirs[0]
    hits = [Hit(kernel, kind, ours, theirs) for kind in KINDS if their_kinds[kind] and not has(our_kinds, kind)]
    if their_kinds["global store?"] and not any(has(our_kinds, kind) for kind in KINDS[:2]) and \
            not any(hit.kind in KINDS[:2] for hit in hits):
        hits.append(Hit(kernel, "global store", ours, theirs))
    if is_few(ours, theirs):
        hits.append(Hit(kernel, FEW, ours, theirs))
    return hits


def compare_modules(ours, theirs):
    hits = []
    for kernel in theirs.kernels():
        if kernel not in ours.functions:
            hits.append(Hit(kernel, LOST, None, theirs.whole(kernel)))
        else:
            hits += compare_kernel(kernel, ours.whole(kernel), theirs.whole(kernel))
    return hits


# ---- running --------------------------------------------------------------------------------------------------

class Refused(Exception):
    pass


def run(command, seconds, name):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        raise Refused("%s: no end after %d s" % (name, seconds)) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "fatal" in line] or done.stderr.splitlines()
        status = "signal %d" % -done.returncode if done.returncode < 0 else "status %d" % done.returncode
        raise Refused("%s: %s: %s" % (name, status, lines[0] if lines else "no message"))
    return done.stdout


# clang without unrolled and peeled loops, those with a pragma too.
ROLLED = [word for option in ("-unroll-threshold=0", "-unroll-runtime=false", "-pragma-unroll-threshold=0",
                              "-unroll-full-max-count=0", "-unroll-peel-max-count=0",
                              "-unroll-partial-threshold=0") for word in ("-mllvm", option)]


class Compilers:
    def __init__(self, options):
        self.options = options

    def ours(self, path):
        return run(self.options.nvmini.split() + ["compile", path, "--cpu", self.options.cpu, "-O3", "-o", "-"], 300, "nvmini")

    def theirs(self, path, more=()):
        """clang's PTX; kept in --cache, by the module's text and the options."""
        command = self.options.clang.split() + ["-x", "ir", "-O3", "-S", "--target=nvptx64-nvidia-cuda", "-march=" + self.options.cpu,
                                                "-Wno-everything", *more, "-o", "-", path]
        if not self.options.cache:
            return run(command, 600, "clang")
        with open(path, "rb") as file:
            text = file.read() + " ".join(more).encode()
        kept = os.path.join(self.options.cache, hashlib.sha256(text).hexdigest() + ".ptx")
        if not os.path.exists(kept):
            text = run(command, 600, "clang")
            with open(kept + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(kept + ".new", kept)
        with open(kept, encoding="utf-8", errors="replace") as file:
            return file.read()

    def assemble(self, ptx, fully):
        """Parses only for compute_90, down to machine code for sm_90."""
        with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as file:
            file.write(ptx)
            file.flush()
            arch = self.options.cpu if fully else "compute_" + self.options.cpu[3:]
            run(["ptxas", "-arch=" + arch, file.name, "-o", "/dev/null"], 900, "ptxas")


def generalize(message):
    """Messages of one cause are one group: names, numbers and paths are struck out."""
    message = re.sub(r"\S*/\S+?(?=[:\s,]|$)", "FILE", message)
    message = re.sub(r"'[^']*'", "'…'", message)
    return re.sub(r"\d+", "N", message)


class Report:
    def __init__(self):
        self.counts = collections.Counter()
        self.hits = []
        self.refusals = collections.defaultdict(list)

    def refuse(self, refused, module):
        self.counts[str(refused).split(":", 1)[0]] += 1
        self.refusals[generalize(str(refused))].append(module)

    def add(self, compilers, path, options, listed):
        module = os.path.basename(path)
        self.counts["modules"] += 1
        try:
            theirs = Module(compilers.theirs(path))
        except Refused:
            self.counts["clang"] += 1
            return
        try:
            text = compilers.ours(path)
        except Refused as refused:
            self.refuse(refused, module)
            return
        try:
            if shutil.which("ptxas"):
                compilers.assemble(text, options.assemble and self.counts["modules"] % options.assemble == 0)
        except Refused as refused:
            self.refuse(refused, module)
        self.counts["kernels"] += len(theirs.kernels())
        hits = compare_modules(Module(text), theirs)
        rolled = Module(compilers.theirs(path, ROLLED)) if any(hit.kind == FEW for hit in hits) else None
        for hit in hits:
            hit.module = module
            hit.reason = listed.get((module, hit.kernel, hit.kind))
            if hit.kind == FEW and hit.kernel in rolled.functions and not is_few(hit.ours, rolled.whole(hit.kernel)):
                hit.reason = "clang unrolls loops: without that it has fewer than three times as many instructions"
            self.hits.append(hit)

    def unexplained(self):
        return [hit for hit in self.hits if not hit.reason]

    def print_sums(self):
        kinds = collections.Counter(hit.kind for hit in self.hits)
        print("%d modules, %d kernels: %d hits, %d explained" %
              (self.counts["modules"], self.counts["kernels"], len(self.hits), len(self.hits) - len(self.unexplained())))
        print("; ".join("%s %d" % item for item in sorted(kinds.items())) or "no hits")
        print("not taken: %d by clang, %d by nvmini, %d by ptxas" % (self.counts["clang"], self.counts["nvmini"], self.counts["ptxas"]))

    def print_all(self):
        for reason, count in collections.Counter(hit.reason for hit in self.hits if hit.reason).most_common():
            print("%5d explained: %s" % (count, reason))
        for hit in self.unexplained():
            print("%s: %s: %s" % (hit.module, hit.kernel, hit.kind))
            for name, side in (("nvmini", hit.ours), ("clang", hit.theirs)):
                if side:
                    effects = ", ".join("%s %d" % item for item in sorted(side[0].items()) if item[1])
                    print("    %-7s %5d instructions; %s" % (name, sum(side[1].values()), effects or "no effects"))
        for message, modules in sorted(self.refusals.items(), key=lambda item: -len(item[1])):
            print("%5d %s\n      e.g. %s" % (len(modules), message, modules[0]))


def read_listed(path):
    listed = {}
    if path:
        with open(path, encoding="utf-8") as file:
            for line in file:
                module, kernel, kind, reason = line.rstrip("\n").split("\t")
                listed[module, kernel, kind] = reason
    return listed


def modules_of(names):
    for name in names:
        if os.path.isdir(name):
            yield from sorted(glob.glob(os.path.join(glob.escape(name), "**", "*.ll"), recursive=True))
        else:
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("modules", nargs="+", help="LLVM modules (.ll), or folders of them")
    add("--nvmini", default=os.path.join(ROOT, "build", "nvmini"), metavar="COMMAND")
    add("--clang", default="clang-19", metavar="COMMAND", help="what makes PTX to compare with (default: %(default)s)")
    add("--cpu", default="sm_90")
    add("--sample", type=int, default=1, metavar="N", help="every Nth module")
    add("--assemble", type=int, default=0, metavar="N", help="let ptxas assemble every Nth module; it parses the others")
    add("--cache", metavar="FOLDER", help="keep clang's PTX there")
    add("--explained", metavar="FILE", help="kernels that somebody has looked at")
    add("--sums", action="store_true", help="print the sums alone, no name of a module or kernel")
    options = parser.parse_args()
    paths = list(modules_of(options.modules))[::options.sample]
    if not paths:
        parser.error("no .ll file there")
    if not shutil.which(options.clang.split()[0]):
        print("no %s: skipped" % options.clang)
        return 0
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
    report, compilers, listed = Report(), Compilers(options), read_listed(options.explained)
    for path in paths:
        report.add(compilers, path, options, listed)
    if not options.sums:
        report.print_all()
    report.print_sums()
    return 1 if report.unexplained() or report.counts["nvmini"] or report.counts["ptxas"] else 0


if __name__ == "__main__":
    sys.exit(main())
