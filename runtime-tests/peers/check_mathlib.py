#!/usr/bin/env python3
"""Does the built-in mathematics library compute the bits that libdevice computes?

For each function of simple results (arithmetic, conversions, rounding, integers, bits: those in mathlib/simple_*.nvir)
a kernel calls it on special values (NaN, infinities, zeros, subnormals, halfway cases, the bounds of the integer
types) and on random ones, in the simulator: once with the toolkit's libdevice linked, once with the built-in function
at -O0 and at -O3, both with and without --ftz. The results must have the same bits; any NaN is equal to another.

usage: check_mathlib.py [--nvmini build/nvmini] [--libdevice FILE.bc] [NAME...]
Ends with `N passed, N failed`; skipped, saying so, where libdevice is missing.
"""
import argparse
import array
import glob
import itertools
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BITS = {"float": 32, "double": 64, "i32": 32, "i64": 64, "i16": 16}
CODES = {16: "H", 32: "I", 64: "Q"}

KERNEL = """target triple = "nvptx64-nvidia-cuda"
declare {result} @{name}({types})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @k(ptr %to, {pointers}) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %c = shl i32 %b, 8
  %n = or i32 %c, %t
{loads}
  %r = call {result} @{name}({arguments})
  %place = getelementptr {result}, ptr %to, i32 %n
  store {result} %r, ptr %place
  ret void
}}
"""


def bits(value, form):
    return struct.unpack({"f": "I", "d": "Q"}[form], struct.pack(form, value))[0]


def with_neighbours(values, width):
    return [(v + d) % (1 << width) for v in values for d in (-1, 0, 1)]


def float_values(form):
    """Bits of special values of float (f) or double (d), the most special first."""
    width, inf = (32, 0x7f800000) if form == "f" else (64, 0x7ff << 52)
    sign = 1 << (width - 1)
    first = [0, 1, bits(1.0, form), bits(0.5, form), inf, inf | 1 << (width - 10 if form == "f" else 51), inf - 1,
             bits(1.5, form), bits(2.5, form), bits(3.0, form)]
    powers = [bits(2.0 ** k, form) for k in (-1, 0, 1, 7, 15, 16, 22, 23, 24, 30, 31, 32, 51, 52, 53, 62, 63, 64, 100)]
    lowest = 0x00800000 if form == "f" else 1 << 52
    halves = [bits(x, form) for x in (4.5, 8388607.5, 0.499999, 127.5, 65504.0, 65519.0, 65520.0, 2.0 ** -24, 2.0 ** -25, 6.1e-5)]
    more = with_neighbours(powers + halves + [lowest], width)
    if form == "d":  # borders of float, and half ways between its values
        more += with_neighbours([bits(x, "d") for x in (2.0 ** -126, 2.0 ** -149, 2.0 ** -150, 2.0 ** 128, 1 + 2.0 ** -24, 1 + 2.0 ** -23,
                                                        2.0 ** 128 - 2.0 ** 103, 3 * 2.0 ** -150, 2147483647.5, 4294967295.5, 2147483648.5)], 64)
    more += [(inf | 5) if form == "f" else inf | 5]
    values = [v ^ s for v in first for s in (0, sign)] + [v ^ s for v in more for s in (0, sign)]
    return list(dict.fromkeys(values))


def values_of(kind, count, rng):
    width = BITS[kind]
    if kind in ("float", "double"):
        values = float_values("f" if kind == "float" else "d")
    else:
        ends = [0, 1 << (width - 1)] + [1 << k for k in range(0, width, 7)] + [(1 << 24) % (1 << width), (1 << 23), (1 << 53) % (1 << width)]
        values = list(dict.fromkeys(v % (1 << width) for v in with_neighbours(ends, width)))
    values = values[:count]
    return values + [rng.getrandbits(width) for _ in range(count - len(values))]


def inputs_of(types, rng):
    """Tuples of arguments, a multiple of 256."""
    count = {1: 512, 2: 64, 3: 16}[len(types)]
    lists = [values_of(t, count, rng) for t in types]
    tuples = list(itertools.product(*lists))
    near = [tuple((v[0] + rng.randrange(-3, 4)) % (1 << BITS[t]) for t in types) for v in tuples[:256]]
    tuples += near
    tuples += [tuple(rng.getrandbits(BITS[t]) for t in types) for _ in range(-len(tuples) % 256 + 256)]
    return tuples


def is_nan(kind, value):
    if kind == "float":
        return value & 0x7fffffff > 0x7f800000
    return kind == "double" and value & (2 ** 63 - 1) > 0x7ff << 52


def execute(nvmini, options, folder, module, result, types, tuples):
    command = [nvmini, "run", module, "--kernel", "k", "--block", "256", "--grid", str(len(tuples) // 256), "--no-checks", *options]
    command += ["--arg", f"buf:i{BITS[result]}:{len(tuples)}:zero", "--save", f"0:{folder}/result"]
    for k in range(len(types)):
        command += ["--arg", f"buf:i{BITS[types[k]]}:@{folder}/{k}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or "warning" in done.stderr:
        return done.stderr.strip().split("\n")[0] or f"status {done.returncode}"
    found = array.array(CODES[BITS[result]])
    with open(f"{folder}/result", "rb") as f:
        found.frombytes(f.read())
    return found


def compare(nvmini, libdevice, folder, name, result, types):
    """Lines about the differences."""
    rng = random.Random(name)
    tuples = inputs_of(types, rng)
    module = f"{folder}/module.ll"
    with open(module, "w") as f:
        loads = "\n".join(f"  %p{k} = getelementptr {t}, ptr %a{k}, i32 %n\n  %v{k} = load {t}, ptr %p{k}" for k, t in enumerate(types))
        f.write(KERNEL.format(name=name, result=result, types=", ".join(types), loads=loads,
                              pointers=", ".join(f"ptr %a{k}" for k in range(len(types))),
                              arguments=", ".join(f"{t} %v{k}" for k, t in enumerate(types))))
    for k, t in enumerate(types):
        with open(f"{folder}/{k}", "wb") as f:
            array.array(CODES[BITS[t]], (v[k] for v in tuples)).tofile(f)
    for extra in ([], ["--ftz"]) if "float" in types + [result] else ([],):
        theirs = execute(nvmini, ["-O1", "--link", libdevice, *extra], folder, module, result, types, tuples)
        for level in ("-O0", "-O3"):
            ours = execute(nvmini, [level, *extra], folder, module, result, types, tuples)
            if isinstance(ours, str) or isinstance(theirs, str):
                yield f"{level} {' '.join(extra)}: {ours if isinstance(ours, str) else theirs}"
                continue
            bad = [k for k in range(len(tuples)) if ours[k] != theirs[k] and not (is_nan(result, ours[k]) and is_nan(result, theirs[k]))]
            for k in bad[:3]:
                arguments = ", ".join(f"{v:#x}" for v in tuples[k])
                yield f"{level} {' '.join(extra)}: ({arguments}) = {ours[k]:#x}, libdevice {theirs[k]:#x} ({len(bad)} of {len(tuples)})"


def simple_functions():
    names = set()
    for path in glob.glob(os.path.join(ROOT, "mathlib", "simple_*.nvir")):
        names.update(re.findall(r"^define \w+ @(__nv_\w+)\(", open(path).read(), re.M))
    for line in open(os.path.join(ROOT, "mathlib", "functions.txt")):
        found = re.match(r"(\w+) @(\w+)\((.*)\)", line)
        if found and found.group(2) in names and "ptr" not in found.group(3):
            yield found.group(2), found.group(1), found.group(3).split(", ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    parser.add_argument("--libdevice", default="")
    o = parser.parse_args()
    found = [o.libdevice] if o.libdevice else sorted(glob.glob("/usr/local/cuda*/nvvm/libdevice/libdevice.10.bc"))
    if not found or not os.path.isfile(found[-1]):
        print("check_mathlib: skipped: libdevice.10.bc is not installed")
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, result, types in simple_functions():
            if o.names and name not in o.names and name[5:] not in o.names:
                continue
            faults = list(compare(o.nvmini, found[-1], folder, name, result, types))
            for fault in faults:
                print(f"{name}: {fault}")
            passed += not faults
            failed += bool(faults)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
