#!/usr/bin/env python3
"""Counts the instructions that functions of the mathematical library execute, and those of libdevice.

    executed.py                 every function of functions.tsv
    executed.py exp powf        these functions
    executed.py --record        also write the counts to executed.tsv

A kernel calls the function in the simulator, compiled at -O3: one warp, whose 32 arguments are spread evenly over the
range of functions.tsv (a second argument over the same range in another order). The count is that of the warp's PTX
instructions, without those of a kernel that only loads the arguments and stores numbers. Lanes that take different
branches execute both. A division or a square root is one instruction of PTX, but more of the GPU.
"""
import argparse
import array
import os
import re
import subprocess
import sys
import tempfile

import measure

RECORD = f"{measure.HERE}/executed.tsv"
LANES, COMPONENTS = 32, 4  # components: the numbers that norm reads


def kernel(function, is_called):
    """A kernel that calls the function, or that only loads and stores."""
    real, width = ("float", 4) if function.of_float else ("double", 8)
    returned, taken = re.match(r"(\w)\((\w+)\)", function.signature).groups()
    types = [{"i": "i32", "f": real, "d": real}.get(letter, "ptr") for letter in taken]
    result = {"i": "i32", "v": "void"}.get(returned, real)
    lines, arguments, stores, inputs = [], [], [], 0
    for letter, kind in zip(taken, types):
        place = f"%p{len(arguments)}"
        if letter in "FDI":
            place = f"%local{len(arguments)}"
            stored = "i32" if letter == "I" else real
            lines += [f"{place} = alloca {stored}", f"store {stored} {'0' if stored == 'i32' else '0.0'}, ptr {place}"]
            stores.append((stored, place))
            arguments.append(f"ptr {place}")
            continue
        stride = width * COMPONENTS if letter == "P" else 4 if letter == "i" else width
        lines += [f"{place}.n = mul i32 %t, {stride}", f"{place} = getelementptr i8, ptr %a{inputs}, i32 {place}.n"]
        if letter != "P":
            lines.append(f"%x{len(arguments)} = load volatile {kind}, ptr {place}")
        arguments.append(f"ptr {place}" if letter == "P" else f"{kind} %x{len(arguments)}")
        inputs += 1
    if is_called:
        lines.append(f"{'' if result == 'void' else '%r = '}call {result} @__nv_{function.name}({', '.join(arguments)})")
    if result != "void":
        value = "%r" if is_called else next((a.split()[1] for a in arguments if a.startswith(result + " %x")), "0" if result == "i32" else "0.0")
        stores.insert(0, (result, value))
    for k, (kind, value) in enumerate(stores):
        if value.startswith("%local"):
            lines.append(f"%v{k} = load {kind}, ptr {value}")
            value = f"%v{k}"
        lines += [f"%o{k} = getelementptr [{LANES} x i64], ptr %to, i32 {k}, i32 %t", f"store {kind} {value}, ptr %o{k}"]
    parameters = "".join(f", ptr %a{k}" for k in range(inputs))
    return (f"declare {result} @__nv_{function.name}({', '.join(types)})\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
            f"define ptx_kernel void @k(ptr %to{parameters}) {{\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  "
            + "\n  ".join(lines) + "\n  ret void\n}\n")


def spread(low, high, count, step):
    """Numbers within (low, high), evenly spread; the order by steps through them."""
    return [low + (high - low) * ((k * step % count) + 0.5) / count for k in range(count)]


def write_inputs(function, folder):
    """The words of --arg for the arguments."""
    form, bits = ("f", 32) if function.of_float else ("d", 64)
    low, high = float(function.low), float(function.high)
    words = ["--arg", f"buf:i64:{2 * LANES}:zero"]
    for k, letter in enumerate(re.findall("[fdiP]", function.signature.partition("(")[2])):
        count = LANES * COMPONENTS if letter == "P" else LANES
        if letter == "i" and "P" in function.signature:
            values = array.array("i", [COMPONENTS] * LANES)
        elif letter == "i":
            first, last = int(function.first), min(int(function.last), 20)
            values = array.array("i", [first + (last - first) * n // LANES for n in range(LANES)])
        else:
            values = array.array(form, spread(low, high, count, (1, 11, 7, 19)[k % 4]))
        with open(f"{folder}/{k}", "wb") as f:
            values.tofile(f)
        words += ["--arg", f"buf:i{32 if letter == 'i' else bits}:@{folder}/{k}"]
    return words


def executed(function, folder, is_called, options):
    """The warp's instructions, or a string that says why not."""
    with open(f"{folder}/module.ll", "w", encoding="utf-8") as f:
        f.write('target triple = "nvptx64-nvidia-cuda"\n' + kernel(function, is_called))
    done = subprocess.run([measure.NVMINI, "run", f"{folder}/module.ll", "-O3", "--no-checks", "--block", str(LANES), "--stats",
                           *write_inputs(function, folder), *options], text=True, capture_output=True)
    found = re.search(r"^warp_instructions (\d+)", done.stdout, re.M)
    return int(found[1]) if found else done.stderr.strip().split("\n")[0]


def count(function, folder, libdevice):
    """(ours, libdevice's or None)"""
    empty = executed(function, folder, False, [])
    counts = [executed(function, folder, True, options) for options in ([], ["--link", libdevice] if libdevice else None) if options is not None]
    for wrong in [c for c in [empty, *counts] if isinstance(c, str)]:
        raise RuntimeError(f"{function.name}: {wrong}")
    return [c - empty for c in counts] + ([] if libdevice else [None])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    libdevice = measure.find_libdevice()
    if not libdevice:
        print("libdevice.10.bc is not installed: only our functions are counted")
    counts = measure.read_executed()
    with tempfile.TemporaryDirectory() as folder:
        for function in measure.functions():
            if options.names and function.name not in options.names:
                continue
            ours, theirs = count(function, folder, libdevice)
            counts[function.name] = (ours, theirs)
            print(f"{function.name:15} {ours:6} {theirs if theirs is not None else '-':>6}", flush=True)
    if options.record and libdevice:
        with open(RECORD, "w", encoding="utf-8") as f:
            f.write("# Written by executed.py --record: function, instructions that a warp executes, of mathlib/ and of libdevice.\n")
            f.writelines(f"{name}\t{ours}\t{theirs}\n" for name, (ours, theirs) in sorted(counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
