#!/usr/bin/env python3
"""Executes random CUDA kernels of many threads (gen_cuda.py), which clang compiles, in many ways and compares the results.

    diff_cuda.py [--count N] [--seed S] [--nvmini PATH] [--clang NAME] [--keep FOLDER] [--ptxas PATH] [--reduce SECONDS]

A module is C++ source with twenty kernels; those of odd seeds are made of a random subset of statements (swarm.py).
Clang makes IR of it in four modes: -O0, -O1 without its passes, -O1 and -O3. Of each mode's IR six things are executed: the IR itself, our PTX at -O0 to -O3, and the PTX that clang
back end makes of it; one more is taken in turn from knobs, fast levels and random schedules. The buffers of all are
held against those of the IR of -O0, and no way may have a finding. ptxas reads our PTX of every fourth module, each
time of another mode or level.
A kernel that differs is kept as FOLDER/seed-N-kM.cu, and made smaller statement by statement as
FOLDER/seed-N-kM.small.cu, with FOLDER/seed-N-kM.ll, the IR of the way that differs. Ends with a line
`N kernels, N executions, N differ`; exit status 1 if some do.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import gen_cuda

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PER_MODULE = 20
# mode: clang's options for the IR, llc's for PTX of that IR
MODES = {"O0": (["-O0", "-Xclang", "-disable-O0-optnone"], "-O0"), "raw": (["-O1", "-Xclang", "-disable-llvm-passes"], "-O2"),
         "O1": (["-O1"], "-O1"), "O3": (["-O3"], "-O3")}
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
EXTRA = [["-Ofc=max"], ["-Ofc=mid"], ["-Ofc=min"], ["-O3", "--knob", "force-vector-width=4"], ["-O2", "--knob", "force-vector-width=2", "--knob",
         "force-vector-interleave=4"], ["-O3", "--knob", "enable-early-exit-vectorization=1", "--knob", "force-vector-width-outer=1"], ["--from", "ir", "-O3"],
         ["-O3", "--schedule", "random:1"], ["-O3", "--knob", "force-vector-width=8", "--knob", "prefer-predicate-over-epilogue=1"], ["-O2", "--schedule", "random:2"]]
STEPS = "100000000"


class Tools:
    def __init__(self, nvmini, clang, ptxas):
        self.nvmini, self.clang, self.ptxas = os.path.abspath(nvmini), clang, ptxas
        self.cuda = [clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib", "-ffp-contract=off",
                     "-std=c++17", "-w", "-I", HERE, "-S"]
        self.llc = ["llc" + clang.removeprefix("clang"), "-mcpu=sm_90", "-fp-contract=off"]

    def compile(self, source, mode, path):
        """The path of the IR, or None."""
        p = subprocess.run([*self.cuda, "-emit-llvm", *MODES[mode][0], source, "-o", path], capture_output=True, text=True, check=False)
        self.error = p.stderr
        return path if p.returncode == 0 else None

    def their_ptx(self, ll, mode, path):
        """Clang's, from the IR that it wrote, by its back end: half the time of another start from the source."""
        p = subprocess.run([*self.llc, MODES[mode][1], ll, "-o", path], capture_output=True, text=True, check=False)
        self.error = p.stderr
        return path if p.returncode == 0 else None

    def execute(self, path, arguments, way, kernel="*"):
        """{kernel: its output}, the whole text under '' where the command fails as such."""
        command = [self.nvmini, "run", path, "--kernel", kernel, "--fma-level", "0", "--step-limit", STEPS, *way, *arguments]
        try:
            p = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return {"": "does not end"}
        results, name = {}, "" if kernel == "*" else kernel
        for line in p.stdout.splitlines():
            if line.endswith(":"): name = line[:-1]
            else: results[name] = results.get(name, "") + line + "\n"
        for line in p.stderr.splitlines():
            if not line.startswith("nvmini:") and "error" not in line: continue  # notes
            found = re.search(r" kernel (\w+)", line)
            where = found.group(1) if found else ""
            results[where] = results.get(where, "") + line + "\n"
        if p.returncode not in (0, 1): results[""] = results.get("", "") + f"exit status {p.returncode}\n"
        return results


def all_ways(seed):
    """(mode, what is executed, its options)."""
    ways = [("O0", "ir", ["--from", "ir"])]
    for mode in MODES:
        if mode != "O0": ways.append((mode, "ir", ["--from", "ir"]))
        ways += [(mode, "ours", [level]) for level in LEVELS] + [(mode, "theirs", [])]
    ways.append((list(MODES)[seed % 4], "ours", EXTRA[seed // 4 % len(EXTRA)]))
    return ways


def compare(tools, seed, folder):
    """(text, arguments, [(kernel, (mode, kind, way), expected, found)], executions)"""
    text, arguments = gen_cuda.generate(seed, PER_MODULE, seed % 2 == 1)
    source = f"{folder}/{seed}.cu"
    with open(source, "w", encoding="utf-8") as f: f.write(text)
    found, executions, right, ll, ptx = [], 0, None, {}, {}
    for mode in MODES:
        ll[mode] = tools.compile(source, mode, f"{folder}/{seed}-{mode}.ll")
        ptx[mode] = ll[mode] and tools.their_ptx(ll[mode], mode, f"{folder}/{seed}-{mode}.ptx")
        if not ptx[mode]: found.append(("", (mode, "theirs", []), "a module that clang compiles", tools.error[:1000]))
    for mode, kind, way in all_ways(seed):
        path = ptx[mode] if kind == "theirs" else ll[mode]
        if not path: continue
        here = tools.execute(path, arguments, way)
        executions += len(here)
        if right is None:
            right = here
            for kernel, output in right.items():
                if kernel == "" or not output.lstrip("-")[:1].isdigit() or "nvmini:" in output:
                    found.append((kernel, (mode, kind, way), "a kernel without findings", output))
            continue
        for kernel in sorted(set(right) | set(here)) if "" not in here else [""]:
            a, b = right.get(kernel, ""), here.get(kernel, "")
            if a != b and "nvmini:" not in a: found.append((kernel, (mode, kind, way), a, b))
    if tools.ptxas and seed % 4 == 0: found += assemble(tools, seed, ll, folder)
    for name in os.listdir(folder): os.unlink(f"{folder}/{name}")
    return text, arguments, found, executions


def assemble(tools, seed, ll, folder):
    """ptxas reads our PTX of one mode and level."""
    mode, level = list(MODES)[seed // 4 % 4], LEVELS[seed // 16 % 4]
    ours = f"{folder}/ours.ptx"
    subprocess.run([tools.nvmini, "compile", level, "--cpu", "sm_90", "--fma-level", "0", ll[mode], "-o", ours], capture_output=True, check=False)
    p = subprocess.run([tools.ptxas, "-arch=sm_90", "-O0", ours, "-o", f"{folder}/ours.cubin"], capture_output=True, text=True, check=False)
    return [("", (mode, "ptxas", [level]), "PTX that ptxas takes", p.stderr[:1000])] if p.returncode else []


# --- making a kernel smaller -------------------------------------------------------------------------------

class Reducer:
    """Keeps what compiles, has no finding in the IR of -O0, means the same to clang at -O0 and -O3, and still differs."""
    def __init__(self, tools, arguments, kernel, way, folder, seconds):
        self.tools, self.arguments, self.kernel, self.folder = tools, arguments, kernel, folder
        (self.mode, self.kind, self.way), self.end = way, time.monotonic() + seconds

    def output(self, path, way):
        return self.tools.execute(path, self.arguments, way, self.kernel)

    def differs(self, lines):
        if time.monotonic() > self.end: return False
        source, tools = f"{self.folder}/small.cu", self.tools
        with open(source, "w", encoding="utf-8") as f: f.write("\n".join(lines))
        ll = tools.compile(source, self.mode, f"{self.folder}/small.ll")
        if not ll: return False
        path = tools.their_ptx(ll, self.mode, f"{self.folder}/small.ptx") if self.kind == "theirs" else ll
        if not path: return False
        after = self.output(path, self.way)
        reference = tools.compile(source, "O0", f"{self.folder}/reference.ll")
        before = self.output(reference, ["--from", "ir"])
        if before == after or any("nvmini:" in text for text in before.values()): return False
        if (self.mode, self.kind) == ("O3", "ir"): return True
        other = tools.compile(source, "O3", f"{self.folder}/other.ll")
        return self.output(other, ["--from", "ir"]) == before

    @staticmethod
    def blocks(lines):
        """{line that opens: line that closes}; an arm of `else` opens and closes."""
        ends, open_ = {}, []
        for k, line in enumerate(lines):
            if line.lstrip().startswith("}") and open_: ends[open_.pop()] = k
            if line.rstrip().endswith("{"): open_.append(k)
        return ends

    def without_lines(self, lines):
        """Each statement, or block with its body, left out, from the end on: outer ones first, many at once first."""
        for depth in range(6):
            size = 16
            while size:
                spans = self.statements(lines, depth)
                while spans:
                    items, spans = spans[-size:], spans[:-size]
                    gone = {k for first, end in items for k in range(first, end)}
                    smaller = [line for k, line in enumerate(lines) if k not in gone]
                    if self.differs(smaller): lines = smaller
                size //= 4
        return lines

    def statements(self, lines, depth):
        """[(first line, line after the last)] of the statements in so many blocks."""
        spans, inside, first = [], 0, 0
        for k, line in enumerate(lines):
            text = line.strip()
            if text.startswith("}"): inside -= 1
            if text.endswith("{") and inside == depth and not text.startswith("}"): first = k
            elif inside == depth and text.startswith("}") and not text.endswith("{"): spans.append((first, k + 1))
            elif inside == depth and not text.endswith("{") and text: spans.append((k, k + 1))
            if text.endswith("{"): inside += 1
        return spans

    def without_heads(self, lines):
        """The body in place of a block."""
        k = 0
        while k < len(lines):
            end = self.blocks(lines).get(k)
            if end is not None and not lines[end].lstrip().startswith("} else"):
                smaller = lines[:k] + lines[k + 1:end] + lines[end + 1:]
                if self.differs(smaller):
                    lines = smaller
                    continue
            k += 1
        return lines

    def without_kernels(self, lines):
        spans = [s for s in self.statements(lines, 0) if lines[s[0]].startswith('extern "C"') and f" {self.kernel}(" not in lines[s[0]]]
        return [line for k, line in enumerate(lines) if not any(a <= k < b for a, b in spans)]

    def simpler(self, lines):
        """Expressions in parentheses become 0, 1 or a part of themselves."""
        for k in range(len(lines)):
            at = 0
            while True:
                at = lines[k].find("(", at)
                if at < 0: break
                depth, end = 0, at
                while end < len(lines[k]):
                    depth += {"(": 1, ")": -1}.get(lines[k][end], 0)
                    if depth == 0: break
                    end += 1
                inner = lines[k][at + 1:end]
                parts = re.split(r" (?:[-+*/%&|^<>=!?:]+|<<|>>) ", inner)
                options = ["1", "0"] if len(inner) > 4 else []
                options += [p for p in parts if p != inner and p.count("(") == p.count(")")]
                for option in options:
                    if re.fullmatch(r"[us](8|16|32|64)|double|float|half", inner): break
                    changed = lines[:k] + [lines[k][:at] + f"({option})" + lines[k][end + 1:]] + lines[k + 1:]
                    if len(changed[k]) < len(lines[k]) and self.differs(changed):
                        lines = changed
                        break
                at += 1
        return lines

    def reduce(self, text):
        lines, before = [line for line in text.split("\n") if line], None
        alone = self.without_kernels(lines)
        if self.differs(alone): lines = alone
        elif not self.differs(lines): return None
        while before != lines and time.monotonic() < self.end:
            before = lines
            lines = self.simpler(self.without_heads(self.without_lines(lines)))
        return "\n".join(lines) + "\n"


def keep(tools, seed, text, arguments, kernel, way, options):
    os.makedirs(options.keep, exist_ok=True)
    base = f"{options.keep}/seed-{seed}-{kernel or 'all'}"
    notes = f"// nvmini-run: {' '.join(arguments)}\n// differs: clang {' '.join(MODES[way[0]][0])}, {way[1]} {' '.join(way[2])}\n"
    with open(f"{base}.cu", "w", encoding="utf-8") as f: f.write(text + notes)
    tools.compile(f"{base}.cu", way[0], f"{base}.ll")
    if not options.reduce or not kernel or way[1] == "ptxas": return f"{base}.cu"
    with tempfile.TemporaryDirectory() as folder:
        small = Reducer(tools, arguments, kernel, way, folder, options.reduce).reduce(text)
    if not small: return f"{base}.cu"
    with open(f"{base}.small.cu", "w", encoding="utf-8") as f: f.write(small + notes)
    tools.compile(f"{base}.small.cu", way[0], f"{base}.ll")
    return f"{base}.small.cu"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="kernels")
    parser.add_argument("--seed", type=int, default=0, help="of the first module")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--keep", default=f"{ROOT}/build/fuzz-cuda")
    parser.add_argument("--reduce", type=int, default=120, metavar="SECONDS", help="for making a kernel smaller; 0: as it is")
    options = parser.parse_args()
    if not shutil.which(options.clang):
        print(f"skipped: {options.clang} is not installed")
        return 0
    tools = Tools(options.nvmini, options.clang, options.ptxas)
    modules, executions, differ = (options.count + PER_MODULE - 1) // PER_MODULE, 0, 0
    for seed in range(options.seed, options.seed + modules):
        with tempfile.TemporaryDirectory() as folder:
            text, arguments, found, n = compare(tools, seed, folder)
        executions += n
        kept = {}
        for kernel, way, a, b in found: kept.setdefault(kernel, []).append((way, a, b))
        for kernel, ways in kept.items():
            way, a, b = ways[0]
            path = keep(tools, seed, text, arguments, kernel, way, options)
            where = ", ".join(f"{mode} {kind} {' '.join(w)}".strip() for (mode, kind, w), _, _ in ways)
            a, b = first_difference(a, b)
            print(f"seed {seed} {kernel}: {where}: {path}\n  expected {a}\n  found    {b}", flush=True)
        differ += len(kept)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{modules * PER_MODULE} kernels, {executions} executions, {differ} differ "
          f"({(used.ru_utime + used.ru_stime) / (modules * PER_MODULE):.2f} s of processor time a kernel)")
    return 1 if differ else 0


def first_difference(a, b):
    """Of two long lines of numbers the first that differ, with their place."""
    for k, (x, y) in enumerate(zip(a.split(), b.split())):
        if x != y and "nvmini" not in b: return f"[{k}] {x}", f"[{k}] {y}"
    return a[:300].strip(), b[-300:].strip()


if __name__ == "__main__":
    sys.exit(main())
