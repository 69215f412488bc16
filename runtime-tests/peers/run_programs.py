#!/usr/bin/env python3
"""Runs whole CUDA programs in the simulator, with the PTX that several compilers make of them.

    run_programs.py SOURCES [--only TEXT] [--levels O0,O1] [--cpus sm_75,sm_90] [--counts FILE]

SOURCES holds checkouts of the public suites that the rows below name: PolyBench-ACC, gpu-rodinia and
cuda-samples; nothing of them is kept here. The host half of a program is compiled by clang and linked
with cuda_runtime.c instead of the vendor's runtime; its device half is compiled by clang -O3, by nvcc
and by nvmini (from clang's raw IR, libdevice linked in) at every level. What the program copies from the
device must be the same for all, up to the tolerance that contraction and reassociation by the others
explain (nvmini at -O0 against its other levels: the same up to it too), and where the program checks
itself against a host reference, its words must say that it passed. --counts writes a table: program,
compiler, kernel, executed instructions.

Closes with `N passed, N failed, N skipped`.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import array
import math

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLKIT = os.environ.get("CUDA_PATH", "/usr/local/cuda")

Program = collections.namedtuple("Program", "suite path flags arguments verdict element")


def polybench(path, sizes):
    return Program("PolyBench-ACC", f"CUDA/{path}", [f"-D{s}" for s in sizes.split()], [],
                   r"(Threshold of [0-9.]+ Percent|Number of misses): 0\b", "f")


# Input that a program reads from its folder: a graph of 600 nodes with three edges each, a field of numbers.
INPUT = {
    "graph.txt": "600\n" + "".join(f"{3 * i} 3\n" for i in range(600)) + "\n0\n\n1800\n" +
                 "".join(f"{(7 * (i // 3) + 11 * (i % 3) + 1) % 600} 1\n" for i in range(1800)),
    "grid.txt": "".join(f"{320 + i * 37 % 101 / 8}\n" for i in range(64 * 64)),
}


def rodinia(path, arguments, flags="", verdict="", element="f"):
    return Program("gpu-rodinia", f"cuda/{path}", flags.split(), arguments.split(), verdict, element)


def sample(path, arguments="", verdict="", element="f"):
    return Program("cuda-samples", path, [], arguments.split(), verdict, element)


PROGRAMS = [
    polybench("linear-algebra/kernels/2mm/2mm.cu", "NI=40 NJ=40 NK=40 NL=40"),
    polybench("linear-algebra/kernels/3mm/3mm.cu", "NI=40 NJ=40 NK=40 NL=40 NM=40"),
    polybench("linear-algebra/kernels/atax/atax.cu", "NX=96 NY=96"),
    polybench("linear-algebra/kernels/bicg/bicg.cu", "NX=96 NY=80"),
    polybench("linear-algebra/kernels/doitgen/doitgen.cu", "NQ=20 NR=20 NP=20"),
    polybench("linear-algebra/kernels/gemm/gemm.cu", "NI=40 NJ=44 NK=36"),
    polybench("linear-algebra/kernels/gemver/gemver.cu", "N=256"),
    polybench("linear-algebra/kernels/gesummv/gesummv.cu", "N=100"),
    polybench("linear-algebra/kernels/syr2k/syr2k.cu", "NI=40 NJ=40"),
    polybench("linear-algebra/kernels/syrk/syrk.cu", "NI=40 NJ=40"),
    polybench("linear-algebra/solvers/gramschmidt/gramschmidt.cu", "NI=24 NJ=24"),
    polybench("linear-algebra/solvers/lu/lu.cu", "N=32"),
    polybench("datamining/correlation/correlation.cu", "M=256 N=256"),
    polybench("datamining/covariance/covariance.cu", "M=256 N=256"),
    polybench("stencils/convolution-2d/2DConvolution.cu", "NI=70 NJ=66"),
    polybench("stencils/convolution-3d/3DConvolution.cu", "NI=20 NJ=24 NK=28"),
    polybench("stencils/adi/adi.cu", "TSTEPS=2 N=40"),
    polybench("stencils/fdtd-2d/fdtd2d.cu", "TMAX=4 NX=40 NY=44"),
    polybench("stencils/jacobi-1d-imper/jacobi1D.cu", "TSTEPS=6 N=300"),
    polybench("stencils/jacobi-2d-imper/jacobi2D.cu", "TSTEPS=4 N=40"),
    rodinia("pathfinder/pathfinder.cu", "600 20 4", element="i"),
    rodinia("gaussian/gaussian.cu", "-s 24 -q", "-DdeviceOverlap=major -DclockRate=major"),
    rodinia("nw/needle.cu", "64 10", element="i"),
    rodinia("bfs/bfs.cu", "graph.txt", element="i"),
    rodinia("hotspot/hotspot.cu", "64 2 4 grid.txt grid.txt out.txt"),
    rodinia("particlefilter/ex_particle_CUDA_naive_seq.cu", "-x 32 -y 32 -z 3 -np 200", element="d"),
    sample("Samples/0_Introduction/vectorAdd/vectorAdd.cu", verdict="PASSED"),
    sample("Samples/0_Introduction/matrixMul/matrixMul.cu", "-wA=64 -hA=64 -wB=64 -hB=64", "PASS"),
]

RENAMED = ["-DcudaThreadSynchronize=cudaDeviceSynchronize", "-DcudaThreadExit=cudaDeviceReset"]


class Failure(Exception):
    pass


def run(command, **options):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **options)
    except subprocess.TimeoutExpired:
        raise Failure("timeout: " + " ".join(command)[:120])
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(f"status {done.returncode}: {' '.join(command)[:100]} …\n    " + "\n    ".join(text.splitlines()[-6:]))
    return text


class Bench:
    """One program in a folder of its own."""

    def __init__(self, program, options, folder):
        self.program, self.options, self.folder = program, options, folder
        self.source = os.path.join(options.sources, program.suite, program.path)
        here = os.path.dirname(self.source)
        suite = os.path.join(options.sources, program.suite)
        folders = [here, os.path.dirname(here), f"{suite}/CUDA/utilities", f"{suite}/common", f"{suite}/Common", folder]
        self.flags = [*RENAMED, "-include", self.path("sizes.h"), *[f"-I{f}" for f in folders]]
        open(self.path("texture_fetch_functions.h"), "w").close()
        for name, text in INPUT.items():
            with open(self.path(name), "w") as out:
                out.write(text)
        with open(self.path("sizes.h"), "w") as out: # after the headers that have an N of their own
            out.write("#include <cmath>\n#include <ctime>\n#include <cuda.h>\n#include <cuda_runtime.h>\n")
            out.writelines(f"#define {d[2:].replace('=', ' ')}\n" for d in program.flags)

    def path(self, name):
        return os.path.join(self.folder, name)

    def clang(self, cpu, out, *more):
        run(["clang-19", "-x", "cuda", f"--cuda-path={TOOLKIT}", "-w", f"--cuda-gpu-arch={cpu}", *self.flags, *more,
             self.source, "-o", self.path(out)])

    def host(self, runtime):
        open(self.path("none.ptx"), "w").close()
        self.clang("sm_90", "host.o", "--cuda-host-only", "-c", "-O1", "-ffp-contract=off", "-Xclang",
                   "-fcuda-include-gpubinary", "-Xclang", self.path("none.ptx"))
        run(["clang++-19" if shutil.which("clang++-19") else "g++", self.path("host.o"), *runtime, "-lm", "-lpthread", "-o",
             self.path("program")])

    def variants(self, cpu):
        """(name, function that makes the PTX file)"""
        raw = f"{cpu}.ll"
        self.clang(cpu, raw, "--cuda-device-only", "-S", "-emit-llvm", "-O3", "-Xclang", "-disable-llvm-passes")
        yield "clang-O3", lambda out: self.clang(cpu, out, "--cuda-device-only", "-S", "-O3")
        if shutil.which("nvcc") and not self.options.no_nvcc:
            yield "nvcc", lambda out: run(["nvcc", "-ptx", "-w", "-arch", cpu.replace("sm", "compute"), *self.flags,
                                           self.source, "-o", self.path(out)])
        for level in self.options.levels:
            yield f"nvmini-{level}", lambda out, level=level: run(
                [self.options.nvmini, "compile", f"-{level}", "--cpu", cpu, self.path(raw), "-o", self.path(out)])

    def execute(self, ptx, copies, counts):
        for path in (copies, counts):
            if os.path.exists(self.path(path)):
                os.unlink(self.path(path))
        environment = {**os.environ, "NVMINI_PTX": self.path(ptx), "NVMINI_COPIES": self.path(copies),
                       "NVMINI_COUNTS": self.path(counts)}
        text = run([self.path("program"), *self.program.arguments], env=environment, cwd=self.folder)
        if self.program.verdict and not re.search(self.program.verdict, text):
            raise Failure("the program's own check: " + " | ".join(text.splitlines()[-3:]))

    def read_copies(self, name):
        with open(self.path(name), "rb") as f:
            data = f.read()
        values = array.array(self.program.element)
        values.frombytes(data[:len(data) // values.itemsize * values.itemsize])
        return values

    def compare(self, name, first):
        """Whether what was copied is near enough to what the first compiler's code gave."""
        ours, theirs = self.read_copies(name), self.read_copies(first)
        if len(ours) != len(theirs):
            raise Failure(f"{len(ours)} elements copied, not {len(theirs)}")
        if not theirs:
            raise Failure("nothing was copied from the device")
        if ours == theirs:
            return
        scale = max((abs(v) for v in theirs if math.isfinite(v)), default=1)
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if a != b and not (a != a and b != b) and not abs(a - b) <= 1e-4 * abs(b) + 1e-6 * scale:
                raise Failure(f"element {i} is {a!r}, not {b!r}")


def run_program(program, options, runtime, tally, table):
    kernels = set()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, options, folder)
        bench.host(runtime)
        for cpu in options.cpus:
            first = None
            for name, make in bench.variants(cpu):
                label = f"{program.path} {cpu} {name}"
                try:
                    make(f"{name}.ptx")
                    bench.execute(f"{name}.ptx", f"{name}.copies", f"{name}.counts")
                    if first:
                        bench.compare(f"{name}.copies", first)
                    first = first or f"{name}.copies"
                    tally["passed"] += 1
                    totals = collections.Counter()
                    for line in open(bench.path(f"{name}.counts")):
                        kernel, instructions, _ = line.split()
                        totals[kernel] += int(instructions)
                    kernels.update(totals)
                    table.extend((program.path, cpu, name, k, n) for k, n in totals.items())
                except Failure as why:
                    tally["failed"] += 1
                    print(f"FAILED {label}: {why}")
    return {(program.path, k) for k in kernels}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources")
    parser.add_argument("--only", default="")
    parser.add_argument("--levels", default="O0,O1", type=lambda s: s.split(","))
    parser.add_argument("--cpus", default="sm_90", type=lambda s: s.split(","))
    parser.add_argument("--counts")
    parser.add_argument("--no-nvcc", action="store_true")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    options = parser.parse_args()
    tally, table, kernels = collections.Counter(), [], set()
    if not shutil.which("clang-19"):
        print("skipped: clang-19 is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "cuda_runtime.o")
        build = os.path.dirname(options.nvmini)
        run(["cc", "-std=c11", "-O1", f"-I{ROOT}", f"-I{build}/gen", "-c", f"{ROOT}/runtime-tests/peers/cuda_runtime.c", "-o", shim])
        for program in PROGRAMS:
            if options.only not in program.path:
                continue
            if not os.path.exists(os.path.join(options.sources, program.suite, program.path)):
                print(f"skipped: {program.suite}/{program.path} is not there")
                tally["skipped"] += 1
                continue
            try:
                kernels |= run_program(program, options, [shim, f"{build}/libinternal.a"], tally, table)
            except Failure as why:
                tally["failed"] += 1
                print(f"FAILED {program.path}: {why}")
    if options.counts:
        with open(options.counts, "w") as out:
            out.writelines("\t".join(map(str, row)) + "\n" for row in table)
    print(f"{len(kernels)} kernels executed")
    print(f"{tally['passed']} passed, {tally['failed']} failed, {tally['skipped']} skipped")
    return 1 if tally["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
