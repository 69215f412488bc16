#!/usr/bin/env python3
"""The worst errors of mathematical intrinsics of half and bfloat, over all 65,536 values, in ulp.

    narrow.py

Each is compiled, executed as PTX in the simulator, and compared with Python's math in double. Ends with `N passed, N
failed`: a function fails if its error is above 0.51 ulp, or if it gives a NaN, an infinity or a number instead of
another of these."""
import math
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NVMINI = os.path.join(ROOT, "build", "nvmini")
KERNEL = """target triple = "nvptx64-nvidia-cuda"
declare {type} @llvm.{name}.{suffix}({type})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 256
  %i = add i32 %thread, %first
  %from = getelementptr {type}, ptr addrspace(1) %a, i32 %i
  %x = load {type}, ptr addrspace(1) %from
  %y = call {type} @llvm.{name}.{suffix}({type} %x)
  %to = getelementptr {type}, ptr addrspace(1) %b, i32 %i
  store {type} %y, ptr addrspace(1) %to
  ret void
}}
"""


def logarithm(function):
    return lambda x: function(x) if x > 0 else -math.inf if x == 0 else math.nan


FUNCTIONS = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "exp2": lambda x: 2.0 ** x, "log": logarithm(math.log),
             "log2": logarithm(math.log2), "log10": logarithm(math.log10), "sqrt": math.sqrt}
# type: suffix, bits of precision, the smallest normal exponent, the first number that rounds to infinity
TYPES = {"half": ("f16", 11, -14, 65520.0), "bfloat": ("bf16", 8, -126, 2.0 ** 128 - 2.0 ** 119)}


def number(kind, bits):
    if kind == "half":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def exact(function, x):
    try:
        return function(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def error(kind, got, wanted):
    """In ulp; infinite if one is a NaN, an infinity or a number and the other is not."""
    _, precision, smallest, overflow = TYPES[kind]
    if math.isnan(got) or math.isnan(wanted):
        return 0 if math.isnan(got) and math.isnan(wanted) else math.inf
    if math.isinf(got):
        return 0 if abs(wanted) >= overflow and (got > 0) == (wanted > 0) else math.inf
    exponent = max(math.frexp(wanted)[1] - 1, smallest) if wanted else smallest
    return abs(got - wanted) / 2.0 ** (exponent - precision + 1)


def measure(kind, name, folder):
    """(the worst error, where), or None if the kernel does not run"""
    with open(f"{folder}/k.nvir", "w", encoding="utf-8") as file:
        file.write(KERNEL.format(type=kind, name=name, suffix=TYPES[kind][0]))
    done = subprocess.run([NVMINI, "run", f"{folder}/k.nvir", "--cpu", "sm_90", "--from", "ptx", "--grid", "256", "--block", "256", "--arg",
                           "buf:u16:65536:iota", "--arg", "buf:u16:65536", "--save", f"1:{folder}/out"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr)
        return None
    with open(f"{folder}/out", "rb") as file:
        results = struct.unpack("<65536H", file.read())
    return max((error(kind, number(kind, bits), exact(FUNCTIONS[name], number(kind, k))), number(kind, k)) for k, bits in enumerate(results))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in TYPES:
            for name in FUNCTIONS:
                worst = measure(kind, name, folder)
                failed += worst is None or worst[0] > 0.51
                if worst:
                    print(f"{kind:7} {name:6} {worst[0]:.4f} ulp at {worst[1]!r}")
    print(f"{len(TYPES) * len(FUNCTIONS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
