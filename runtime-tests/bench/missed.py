#!/usr/bin/env python3
"""What LLVM's passes still simplify in our optimized IR: optimizations that we miss, in code that nobody chose.

    missed.py MODULES... [--nvmini build/nvmini] [--passes instcombine] [--cpu sm_90] [--llvm 19] [--worst 20] [--keep FOLDER]

MODULES are .ll files that another compiler wrote, or folders of them. Each is optimized at -O3 and printed as IR. That IR
is compiled to PTX at -O3 once more, as it is and after LLVM's passes (names for opt's -passes); the difference in the
instructions of a kernel is what the passes add to ours, wherever they help code generation. Printed: both sums and the
kernels with the largest share. --keep writes the IR before and after the passes, MODULE.ll and MODULE.opt.ll, with equal
names for equal values, so that `diff` shows what was simplified. Ends with `N kernels, N refused`, in modules."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import executed

INSTRUCTION = re.compile(r"\t(?!\.)")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def count_instructions(ptx):
    """{entry or function: instructions in the text}"""
    counts, current = {}, None
    for line in ptx.split("\n"):
        begin = re.match(r"(?:\.\w+ )*\.(?:entry|func)\b.*?(\w+)\($", line)
        if begin:
            current = begin[1]
            counts[current] = 0
        elif current and INSTRUCTION.match(line):
            counts[current] += 1
    return counts


def compile_ir(path, options):
    done = run([options.nvmini, "compile", path, "-O3", "--cpu", options.cpu, "--knob", "nvptx-relaxed-atomics=1"])
    return count_instructions(done.stdout) if done.returncode == 0 else None


def compare(module, folder, options):
    """{kernel: (instructions, with LLVM's passes)}, or None where one of the tools refuses."""
    name = os.path.join(folder, os.path.basename(module).removesuffix(".ll"))
    ours, named, simplified = name + ".ours.ll", name + ".ll", name + ".opt.ll"
    opt = [f"opt-{options.llvm}", "-S"]
    steps = [[options.nvmini, "compile", module, "-O3", "--cpu", options.cpu, "--emit", "ir", "-o", ours],
             [*opt, "-passes=instnamer", ours, "-o", named],
             [*opt, f"-passes={options.passes}", named, "-o", simplified]]
    if any(run(step).returncode for step in steps):
        return None
    os.remove(ours)
    before, after = compile_ir(named, options), compile_ir(simplified, options)
    return None if before is None or after is None else {k: (before[k], after[k]) for k in before if k in after}


def print_report(rows, refused, options):
    before, after = (sum(counts[side] for _, _, counts in rows) for side in (0, 1))
    print(f"instructions of PTX: {before}; after {options.passes}: {after} ({after / max(before, 1):.4f})")
    share = sorted(rows, key=lambda row: (row[2][1] - row[2][0]) / (row[2][0] + 1))
    for module, kernel, (ours, simplified) in share[:options.worst]:
        print(f"  {ours} -> {simplified}  {kernel}  {module}")
    print(f"{len(rows)} kernels, {refused} refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    add = parser.add_argument
    add("modules", nargs="+")
    add("--nvmini", default="build/nvmini")
    add("--passes", default="instcombine<no-verify-fixpoint>")
    add("--cpu", default="sm_90")
    add("--llvm", default="19")
    add("--worst", type=int, default=20)
    add("--keep", metavar="FOLDER")
    options = parser.parse_args()
    rows, refused = [], 0
    with tempfile.TemporaryDirectory() as work:
        folder = options.keep or work
        os.makedirs(folder, exist_ok=True)
        for module in executed.check_kernels.modules_of(options.modules):
            counts = compare(module, folder, options)
            refused += counts is None
            rows += [(os.path.basename(module), kernel, c) for kernel, c in (counts or {}).items()]
    if not rows:
        sys.exit("no module that all tools take")
    print_report(rows, refused, options)


if __name__ == "__main__":
    main()
