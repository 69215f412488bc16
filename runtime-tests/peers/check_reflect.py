#!/usr/bin/env python3
"""Is one code path left of what libdevice asks __nvvm_reflect? With the toolkit's own library.

For each function, CPU, level and choice of --ftz a kernel that calls the function is compiled with
libdevice linked in. Then no question may be left in the PTX, no call, and where the function is
nothing but the choice, no branch; the instruction must be the one that the answer chooses, and of
f32 arithmetic all or none must flush denormals.

usage: check_reflect.py [--nvmini build/nvmini] [--libdevice FILE.bc] [--all-levels]
Ends with `N passed, N failed`; skipped, saying so, where libdevice or llvm-dis-19 is missing.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Function, number of arguments, instruction without and with --ftz, whether it is straight code.
FUNCTIONS = [
    ("__nv_floorf", 1, r"cvt\.rmi\.f32\.f32", r"cvt\.rmi\.ftz\.f32\.f32", True),
    ("__nv_sqrtf", 1, r"sqrt\.rn\.f32", r"sqrt\.rn\.ftz\.f32", True),
    ("__nv_fabsf", 1, r"abs\.f32", r"abs\.ftz\.f32", True),
    ("__nv_fminf", 2, r"min\.f32", r"min\.ftz\.f32", True),
    ("__nv_fmaxf", 2, r"max\.f32", r"max\.ftz\.f32", True),
    ("__nv_exp2f", 1, r"ex2\.approx\.f32|ex2\.approx\.ftz\.f32", r"ex2\.approx\.ftz\.f32", True),
    ("__nv_fast_sinf", 1, r"sin\.approx\.f32", r"sin\.approx\.ftz\.f32", True),
    ("__nv_sinf", 1, r"fma\.rn\.f32", r"fma\.rn\.ftz\.f32", False),
    ("__nv_powf", 2, r"fma\.rn\.f32", r"fma\.rn\.ftz\.f32", False),
]

KERNEL = """target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare float @{name}({types})
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %slot = alloca float
  %x = load float, ptr addrspace(1) %p
  store float %x, ptr %slot
  %y = load float, ptr %slot
  %r = call float @{name}({arguments})
  store float %r, ptr addrspace(1) %p
  ret void
}}
"""


def faults(ptx, ftz, wanted, straight):
    """What is wrong with the PTX."""
    code = ptx[ptx.index(".entry"):]
    if "reflect" in ptx:
        yield "a question is left"
    if re.search(r"\bcall\b", code) or ".func" in ptx:
        yield "a function is left"
    if straight and re.search(r"\bbra\b", code):
        yield "a branch is left"
    if not re.search(wanted, code):
        yield f"no {wanted}"
    if ftz and re.search(r"\b(add|mul|fma\.rn|sub)\.f32", code):
        yield "arithmetic that does not flush"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    parser.add_argument("--libdevice")
    parser.add_argument("--all-levels", action="store_true", help="-O1 … -O3 and -Ofc=…; else -O1, -O3")
    options = parser.parse_args()
    found = sorted(glob.glob("/usr/local/cuda*/nvvm/libdevice/libdevice.10.bc"))
    library = options.libdevice or (found[-1] if found else None)
    if library is None or shutil.which("llvm-dis-19") is None:
        print("skipped: needs libdevice.10.bc and llvm-dis-19\n0 passed, 0 failed, 1 skipped")
        return 0
    levels = ["-O1", "-O3"] + (["-O2", "-Ofc=mid", "-Ofc=min"] if options.all_levels else [])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        text, kernel = os.path.join(folder, "libdevice.ll"), os.path.join(folder, "k.nvir")
        subprocess.run(["llvm-dis-19", library, "-o", text], check=True)
        for name, count, strict, flushing, straight in FUNCTIONS:
            with open(kernel, "w") as out:
                out.write(KERNEL.format(name=name, types=", ".join(["float"] * count),
                                        arguments=", ".join(["float %y", "float %x"][:count])))
            for cpu in ("sm_75", "sm_90"):
                for ftz in (False, True):
                    for level in levels:
                        command = [options.nvmini, "compile", kernel, "--link", text, "--cpu", cpu,
                                   level, "-o", "-"] + (["--ftz"] if ftz else [])
                        run = subprocess.run(command, capture_output=True, text=True)
                        wrong = [run.stderr.strip()] if run.returncode else list(
                            faults(run.stdout, ftz, flushing if ftz else strict, straight))
                        for fault in wrong:
                            print(f"FAIL {name} {cpu} {level} ftz={int(ftz)}: {fault}")
                        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
