#!/usr/bin/env python3
"""What ptxas makes of our PTX and of clang's from the same IR: code bytes, registers, stack and spills per kernel.

    quality.py FOLDER|FILE... [--nvmini build/release/nvmini] [--cpu sm_90] [--level O1] [--llvm 19] [--worst 5] [--beside ARGUMENTS]

The modules are unoptimized IR with libdevice linked in (peers/README.md says how to make them); clang
compiles them with -O3. Atomics are compiled as CUDA means them (knob nvptx-relaxed-atomics), for
clang ignores their orderings. Printed: geometric means of ours / clang's, and the worst kernels. With --beside, say
--beside="--knob vectorize-loops=0", not clang's code but ours with these arguments is what stands beside; below are the
kernels whose registers leave room for fewer of the 64 warps, and which functions (a kernel or what it calls) have a remark OccupancyStep."""
import argparse
import filecmp
import glob
import math
import os
import re
import subprocess
import sys
import tempfile


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def kernels(ptx, cpu, work):
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


def warps(registers):
    """Of 64, by 65,536 registers a multiprocessor, taken in 256 a warp."""
    return min(64, 65536 // (-(-registers * 32 // 256) * 256) // 4 * 4)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--nvmini", default="build/release/nvmini")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--level", default="O1")
    parser.add_argument("--llvm", default="19")
    parser.add_argument("--worst", type=int, default=5)
    parser.add_argument("--beside")
    options = parser.parse_args()
    files = []
    for path in options.inputs:
        files += sorted(glob.glob(os.path.join(path, "*.ll"))) if os.path.isdir(path) else [path]
    rows, totals, left_out, steps, same = [], ([], []), 0, [], 0
    with tempfile.TemporaryDirectory() as work:
        ours, theirs = os.path.join(work, "ours.ptx"), os.path.join(work, "theirs.ptx")
        for path in files:
            compile_ours = [options.nvmini, "compile", path, f"-{options.level}", "--cpu", options.cpu,
                            "--knob", "nvptx-relaxed-atomics=1"]
            a = run([*compile_ours, "-o", ours])
            if options.beside is not None:
                b = run([*compile_ours, *options.beside.split(), "-o", theirs])
            else:
                b = run([f"clang-{options.llvm}", "-x", "ir", "-O3", "-S", "--target=nvptx64-nvidia-cuda",
                         "-Xclang", "-target-feature", "-Xclang", "+ptx83", "-Xclang", "-target-cpu",
                         "-Xclang", options.cpu, path, "-o", theirs])
            if a.returncode == b.returncode == 0 and filecmp.cmp(ours, theirs, shallow=False):
                same += 1
                continue
            x = kernels(ours, options.cpu, work) if a.returncode == 0 else None
            y = kernels(theirs, options.cpu, work) if b.returncode == 0 else None
            if x is None or y is None:
                left_out += 1
                continue
            both = [k for k in x if k in y and y[k][0]]
            rows += [(x[k][0] / y[k][0], x[k][1] / y[k][1], k, path) for k in both]
            if options.beside is not None:
                told = set(re.findall(r"Name: *OccupancyStep\n(?:DebugLoc:.*\n)?Function: *\"?([^\"\n]*)",
                                      run([*compile_ours, "--emit", "remarks", "-o", "-"]).stdout))
                steps += [f"  warps {warps(x[k][1])} instead of {warps(y[k][1])} "
                          f"(said of {', '.join([k] if k in told else sorted(told)) or 'none'})  {k}  {os.path.basename(path)}"
                          for k in both if warps(x[k][1]) < warps(y[k][1])]
            for total, side in zip(totals, (x, y)):
                total += [side[k] for k in both]
    if not rows:
        sys.exit("no kernel that both compile")
    print(f"{len(rows)} kernels of {len(files) - left_out - same} modules ({left_out} left out: one of the "
          f"compilers or ptxas refuses, {same} the same PTX); ours / {'clang -O3' if options.beside is None else options.beside}: code bytes {mean([r[0] for r in rows]):.3f}, "
          f"registers {mean([r[1] for r in rows]):.3f}; in all: code " +
          ", ".join(f"{what} {sum(t[n] for t in totals[0])} / {sum(t[n] for t in totals[1])}"
                    for n, what in ((0, "bytes"), (2, "stack"), (3, "spilled"))))
    if options.beside is not None:
        print("\n".join(steps) or "  no kernel gets fewer warps")
    for ratio, registers, kernel, path in sorted(rows, reverse=True)[:options.worst]:
        print(f"  code {ratio:.2f} registers {registers:.2f}  {kernel}  {os.path.basename(path)}")


if __name__ == "__main__":
    main()
