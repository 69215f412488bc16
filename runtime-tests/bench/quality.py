#!/usr/bin/env python3
"""What ptxas makes of our PTX and of clang's from the same IR: code bytes, registers, stack and spills per kernel.

    quality.py FOLDER|FILE... [--nvmini build/release/nvmini] [--cpu sm_90] [--level O1] [--llvm 19] [--worst 5] [--beside ARGUMENTS]
               [--every N] [--largest BYTES] [--cache FOLDER] [--table FILE]

The modules are unoptimized IR with libdevice linked in (peers/README.md says how to make them); clang
compiles them with -O3. Atomics are compiled as CUDA means them (knob nvptx-relaxed-atomics), for
clang ignores their orderings. Printed: geometric means of ours / clang's, sums, and the worst kernels; a kernel that
several modules instantiate counts once. With --beside, say
--beside="--knob vectorize-loops=0", not clang's code but ours with these arguments is what stands beside; below are the
kernels whose registers leave room for fewer of the 64 warps, and which functions (a kernel or what it calls) have a remark OccupancyStep.
--every and --largest choose modules, the latter by their size; --cache keeps clang's PTX, as executed.py's does, and
what ptxas said of each text; --table writes module, kernel, then bytes, registers, stack, spilled of ours and of the other."""
import argparse
import filecmp
import glob
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import executed


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assemble(ptx, cpu, work):
    """{kernel: (code bytes, registers, bytes of stack, bytes spilled)}, or None where ptxas refuses."""
    cubin = os.path.join(work, "k.cubin")
    made = run(["ptxas", "-v", f"-arch={cpu}", ptx, "-o", cubin])
    if made.returncode:
        return None
    used = {name: (int(registers), int(stack), int(spilled)) for name, stack, spilled, registers in re.findall(
        r"Compiling entry function '(\S+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?Used (\d+) registers",
        made.stderr, re.S)}
    sections = run(["readelf", "-SW", cubin]).stdout
    sizes = re.findall(r"\.text\.(\S+)\s+PROGBITS\s+\S+\s+\S+\s+(\S+)", sections)
    return {name: (int(size, 16), *used[name]) for name, size in sizes if name in used}


def kernels(ptx, options, work):
    """What assemble() says, which the cache keeps."""
    with open(ptx, "rb") as file:
        key = hashlib.sha1(file.read() + options.cpu.encode()).hexdigest()
    kept = os.path.join(options.cache, key + ".json")
    if not os.path.exists(kept):
        with open(f"{kept}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump(assemble(ptx, options.cpu, work), file)
        os.replace(f"{kept}.{os.getpid()}", kept)
    with open(kept, encoding="utf-8") as file:
        return json.load(file)


def warps(registers):
    """Of 64, by 65,536 registers a multiprocessor, taken in 256 a warp."""
    return min(64, 65536 // (-(-registers * 32 // 256) * 256) // 4 * 4)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compile_both(path, options, work):
    """The paths of our PTX and of the other, each None where its compiler refuses."""
    ours, other = os.path.join(work, "ours.ptx"), os.path.join(work, "other.ptx")
    command = [options.nvmini, "compile", path, f"-{options.level}", "--cpu", options.cpu, "--knob", "nvptx-relaxed-atomics=1"]
    if run([*command, "-o", ours]).returncode:
        ours = None
    if options.beside is None:
        return ours, executed.peer_ptx(path, options)
    return ours, None if run([*command, *options.beside.split(), "-o", other]).returncode else other


def fewer_warps(path, both, options):
    """A line for each kernel whose registers leave room for fewer warps."""
    command = [options.nvmini, "compile", path, f"-{options.level}", "--cpu", options.cpu, "--emit", "remarks", "-o", "-"]
    told = set(re.findall(r"Name: *OccupancyStep\n(?:DebugLoc:.*\n)?Function: *\"?([^\"\n]*)", run(command).stdout))
    return [f"  warps {warps(x[1])} instead of {warps(y[1])} (said of {', '.join([k] if k in told else sorted(told)) or 'none'})  "
            f"{k}  {os.path.basename(path)}" for k, (x, y) in both.items() if warps(x[1]) < warps(y[1])]


def print_report(rows, options):
    total = [[sum(r[side][n] for r in rows) for n in range(4)] for side in (2, 3)]
    print(f"ours / {'clang -O3' if options.beside is None else options.beside}: "
          f"code bytes {mean([x[0] / y[0] for _, _, x, y in rows]):.3f}, registers {mean([x[1] / y[1] for _, _, x, y in rows]):.3f} "
          "(geometric means); in all: " +
          ", ".join(f"{what} {total[0][n]} / {total[1][n]}" for n, what in enumerate(("bytes", "registers", "stack", "spilled"))))
    for n, what in ((0, "code bytes"), (1, "registers")):
        above = [sum(x[n] > y[n] * limit for _, _, x, y in rows) for limit in (1.05, 1.25, 2)]
        print(f"kernels whose {what} are more than 5 % above: {above[0]}, 25 %: {above[1]}, 100 %: {above[2]}")
    for path, kernel, x, y in sorted(rows, key=lambda r: -r[2][0] / r[3][0])[:options.worst]:
        print(f"  code {x[0] / y[0]:.2f} registers {x[1] / y[1]:.2f}  {kernel}  {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    add = parser.add_argument
    add("inputs", nargs="+")
    add("--nvmini", default="build/release/nvmini")
    add("--cpu", default="sm_90")
    add("--level", default="O1")
    add("--llvm", default="19")
    add("--worst", type=int, default=5)
    add("--beside")
    add("--every", type=int, default=1)
    add("--largest", type=int, default=1 << 40, metavar="BYTES")
    add("--cache", metavar="FOLDER")
    add("--table", metavar="FILE")
    options = parser.parse_args()
    files = []
    for path in options.inputs:
        files += sorted(glob.glob(os.path.join(path, "*.ll"))) if os.path.isdir(path) else [path]
    files = [f for f in files if os.path.getsize(f) <= options.largest][::options.every]
    rows, left_out, steps, same = {}, 0, [], 0
    with tempfile.TemporaryDirectory() as work:
        options.cache, options.clang, options.peer = options.cache or work, f"clang-{options.llvm}", "clang"
        os.makedirs(options.cache, exist_ok=True)
        for path in files:
            ours, other = compile_both(path, options, work)
            if ours and other and filecmp.cmp(ours, other, shallow=False):
                same += 1
                continue
            x, y = (ptx and kernels(ptx, options, work) for ptx in (ours, other))
            if x is None or y is None:
                left_out += 1
                continue
            both = {k: (tuple(x[k]), tuple(y[k])) for k in x if k in y and y[k][0]}
            rows.update({(k, *sides): os.path.basename(path) for k, sides in both.items()})
            steps += fewer_warps(path, both, options) if options.beside is not None else []
    rows = [(path, *key) for key, path in rows.items()]
    if not rows:
        sys.exit("no kernel that both compile")
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.writelines("\t".join(map(str, (path, kernel, *x, *y))) + "\n" for path, kernel, x, y in rows)
    print(f"{len(rows)} kernels of {len(files) - left_out - same} modules ({left_out} left out: one of the "
          f"compilers or ptxas refuses, {same} the same PTX)")
    print_report(rows, options)
    if options.beside is not None:
        print("\n".join(steps) or "  no kernel gets fewer warps")


if __name__ == "__main__":
    main()
