#!/usr/bin/env python3
"""Compares what our PTX computes, in the simulator, with what clang-19 makes of the same IR on the host.

    check_exec.py [FIRST_SEED] [--count N] [--keep DIR] [--cpu CPU] [--only KINDS] [--size N] [--llc 0..3]

Each seed is a module of random single-thread functions (fuzz/gen_functions.py). A difference is
printed with the functions that differ; the module, its PTX and the inputs are kept in DIR."""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "fuzz"))
from gen_functions import IN_BYTES, OUT_BYTES, KINDS, Module  # noqa: E402

LAYOUT = ('target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-'
          'f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"\n'
          'target triple = "nvptx64-nvidia-cuda"\n')
ANNOTATION = '!nvvm.annotations = !{!0}\n!0 = !{ptr @run_all, !"kernel", i32 1}\n'
MAIN_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Which the host's libraries lack. */
static __bf16 bf16_of(unsigned short bits) { __bf16 r; memcpy(&r, &bits, 2); return r; }
__bf16 __truncsfbf2(float x) {
  unsigned b;
  memcpy(&b, &x, 4);
  if ((b & 0x7fffffff) > 0x7f800000) return bf16_of(b >> 16 | 0x40);
  return bf16_of((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
/* To odd first, so that the second rounding is the only one. */
__bf16 __truncdfbf2(double x) {
  float f = (float)x;
  unsigned b;
  memcpy(&b, &f, 4);
  if (x == x && f - f == 0 && (double)f != x) {
    if (((double)f > x) == (x > 0)) b--;
    b |= 1;
    memcpy(&f, &b, 4);
  }
  return __truncsfbf2(f);
}
void run_all(unsigned char *in, unsigned char *out);
int main(int argc, char **argv) {
  size_t in_bytes = strtoul(argv[3], 0, 10), out_bytes = strtoul(argv[4], 0, 10);
  unsigned char *in = aligned_alloc(64, in_bytes + 64), *out = aligned_alloc(64, out_bytes + 64);
  memset(out, 0, out_bytes);
  FILE *f = fopen(argv[1], "rb");
  if (fread(in, 1, in_bytes, f) != in_bytes) return 1;
  fclose(f);
  run_all(in, out);
  f = fopen(argv[2], "wb");
  fwrite(out, 1, out_bytes, f);
  return fclose(f);
}
"""
INPUTS = 40  # of each function: one a thread on our side, one call after the other on the host


def harness(count, on_gpu):
    """A function that calls all of them: for its thread's input, or for all inputs."""
    lines = ["define void @run_all(ptr %in, ptr %out) {", "entry:"]
    if on_gpu: lines += ["  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", "  %n = zext i32 %t to i64"]
    else: lines += ["  br label %loop", "loop:", "  %n = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    lines += [f"  %ai = mul i64 %n, {IN_BYTES}", "  %i = getelementptr i8, ptr %in, i64 %ai"]
    for k in range(count):
        lines += [f"  %n{k} = add i64 %n, {k * INPUTS}", f"  %a{k} = mul i64 %n{k}, {OUT_BYTES}",
                  f"  %o{k} = getelementptr i8, ptr %out, i64 %a{k}", f"  call void @f{k}(ptr %i, ptr %o{k})"]
    if on_gpu: return "\n".join(lines + ["  ret void", "}", "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()", ""])
    lines += ["  %next = add i64 %n, 1", f"  %done = icmp eq i64 %next, {INPUTS}", "  br i1 %done, label %end, label %loop", "end:"]
    return "\n".join(lines + ["  ret void", "}", ""])


def input_bytes(rng):
    data = bytearray()
    edges = [0, 1, 0x7f, 0x80, 0xff, 0xfe]
    for _ in range(INPUTS):
        block = bytearray(rng.getrandbits(8) for _ in range(IN_BYTES))
        for at in range(0, IN_BYTES, 8):
            kind = rng.random()
            if kind < 0.3: block[at:at + 8] = bytes([rng.choice(edges)] * 8)
            elif kind < 0.4: block[at:at + 8] = rng.getrandbits(6).to_bytes(8, "little")
        data += block
    return bytes(data)


def call(command, limit=60):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit)


def host_main(folder):
    path = os.path.join(folder, "main.o")
    if not os.path.exists(path):
        source = os.path.join(folder, "main.c")
        open(source, "w").write(MAIN_C)
        subprocess.run(["clang-19", "-c", "-o", path, source], check=True)
    return path


def check(seed, folder, options):
    """None, or what is wrong."""
    m = Module(seed, options.functions, options.size, options.only.split(","))
    path = lambda name: os.path.join(folder, name)
    body = m.text()
    open(path("host.ll"), "w").write(body + harness(m.count, False))
    open(path("kernel.nvir"), "w").write(LAYOUT + body + harness(m.count, True) + ANNOTATION)
    open(path("in.bin"), "wb").write(input_bytes(random.Random(seed)))
    out_bytes = m.count * INPUTS * OUT_BYTES
    wrong = run_on_host(path, "-O0", out_bytes)
    if wrong: return wrong
    compile_it = [options.nvmini, "compile", "-" + options.level, path("kernel.nvir"), "--cpu", options.cpu, "-o", path("kernel.ptx")]
    if options.llc: # another compiler's PTX: checks the simulator
        os.link(path("kernel.nvir"), path("kernel.ll")) if not os.path.exists(path("kernel.ll")) else None
        compile_it = ["llc-19", f"-mcpu={options.cpu}", f"-O{options.llc}", "-o", path("kernel.ptx"), path("kernel.ll")]
    compiled = call(compile_it)
    if compiled.returncode: return f"not compiled: {compiled.stderr[:600]}"
    ours = call([options.nvmini, "run", path("kernel.ptx"), "--kernel", "run_all", "--block", str(INPUTS), "--arg", f"buf:u8:@{path('in.bin')}",
                 "--arg", f"buf:u8:{out_bytes}:zero", "--save", f"1:{path('ours.out')}"])
    if ours.returncode: return f"not executed: {ours.stderr[:600]}"
    different = differences(path, out_bytes)
    if different: # at -O0 clang-19 is not always right about bfloat and half
        wrong = run_on_host(path, "-O1", out_bytes)
        if wrong: return wrong
        different = differences(path, out_bytes)
    return "\n  ".join(["results differ:"] + different[:6]) if different else None


def run_on_host(path, level, out_bytes):
    host = call(["clang-19", level, "-w", "-march=x86-64", "-o", path("host"), path("host.ll"), host_main(path("")), "-lm"], 300)
    if host.returncode: return f"clang-19 refuses it: {host.stderr[:300]}"
    run = call([path("host"), path("in.bin"), path("host.out"), str(IN_BYTES * INPUTS), str(out_bytes)])
    return f"the host's program ends with {run.returncode}" if run.returncode else None


def differences(path, out_bytes):
    a, b = open(path("host.out"), "rb").read(), open(path("ours.out"), "rb").read()
    different = []
    for at in range(0, out_bytes, OUT_BYTES):
        if a[at:at + OUT_BYTES] != b[at:at + OUT_BYTES]:
            k = next(i for i in range(OUT_BYTES) if a[at + i] != b[at + i])
            n = at // OUT_BYTES
            different.append(f"f{n // INPUTS} input {n % INPUTS} at byte {k}: host {a[at + k & -4:][:8].hex()} ours {b[at + k & -4:][:8].hex()}")
    return different


def main():
    p = argparse.ArgumentParser()
    p.add_argument("first", type=int, nargs="?", default=1)
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--functions", type=int, default=20)
    p.add_argument("--size", type=int, default=30)
    p.add_argument("--only", default=",".join(KINDS))
    p.add_argument("--cpu", default="sm_90a")
    p.add_argument("--level", default="O0", help="of optimization")
    p.add_argument("--llc", default="", help="let llc-19 compile, at this level")
    p.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    p.add_argument("--keep", default="")
    options = p.parse_args()
    if not shutil.which("clang-19"):
        print("clang-19 is not installed: skipped\n0 passed, 0 failed")
        return
    failed = 0
    for seed in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(options.keep, str(seed)) if options.keep else scratch
            os.makedirs(folder, exist_ok=True)
            try: wrong = check(seed, folder, options)
            except subprocess.TimeoutExpired as e: wrong = f"takes too long: {e.cmd[:2]}"
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
            elif options.keep: subprocess.run(["rm", "-rf", folder])
    print(f"{options.count - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
