#!/usr/bin/env python3
"""Times kernels on a GPU, each in the PTX of nvmini, clang, libNVVM and nvcc, and compares what they compute.

    gpu.py prepare FOLDER [--sources SOURCES] [--cpu sm_90] [--size N] [--loops TEXT,...] [--no-cubins]
    FOLDER/gpu_bench FOLDER/plan FOLDER/results [--runs 30] [--seconds 200]
    gpu.py report FOLDER

`prepare` needs the compilers and no GPU. It writes a plan, the code of each kernel by each compiler that is installed
(cubins where ptxas is, else PTX) and the program that runs them, gpu_bench.c: FOLDER can be copied to a machine that has
the GPU's driver and nothing else. The kernels: each loop of vectorize.py, 33,792 threads each on its own part of the
buffers; and the rows of gpu_kernels.tsv from the public sources below SOURCES. The second command adds to the results
what is not in them, so that it can be repeated in parts. `report` writes FOLDER/report.json and prints the table:
medians in microseconds, as ratios to nvmini's; for kernels that only stream, the share of the memory's limit.

--size: N of gpu_kernels.tsv, a multiple of 256 (1024); with 0 each case is made tiny, for the simulator behind the driver's
interface (exec/Inputs/fake_driver.c), and no cubins are made."""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import libnvvm
import vectorize

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLKIT = os.environ.get("CUDA_PATH", "/usr/local/cuda")
COMPILERS = ["nvmini", "clang", "libnvvm", "nvcc"]
THREAD = """
#ifdef __CUDACC_VER_MAJOR__
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#else
#define THREAD (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#endif
"""
ELEMENTS = {"i8_t": "i8", "i16_t": "i16", "half_t": "half", "bf16_t": "bfloat", "int": "i32", "float": "float", "f3": "float",
            "i64_t": "i64", "double": "double"}


def run(*command, cwd=None):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, errors="replace")


class Plan:
    """The plan and the files that it names."""

    def __init__(self, options):
        self.options, self.lines, self.cases = options, [], 0

    def add(self, name, kernel, grid, block, arguments, moved, codes):
        """codes: {compiler: path of PTX}."""
        three = [" ".join(str(v) for v in (list(d) + [1, 1])[:3]) for d in (grid, block)]
        self.lines += [f"case {name} {kernel} {three[0]} {three[1]} 0 {moved}", *arguments]
        for compiler, path in codes.items():
            file = f"{self.cases}-{compiler}"
            cubin = os.path.join(self.options.folder, file + ".cubin")
            if self.options.cubins and run("ptxas", "-arch", self.options.cpu, path, "-o", cubin).returncode == 0:
                self.lines.append(f"variant {compiler} {file}.cubin")
            else:
                shutil.copy(path, os.path.join(self.options.folder, file + ".ptx"))
                self.lines.append(f"variant {compiler} {file}.ptx")
        self.cases += 1
        print(f"{name}: {', '.join(codes) or 'no compiler takes it'}", flush=True)

    def write(self):
        with open(os.path.join(self.options.folder, "plan"), "w", encoding="utf-8") as out:
            out.write("\n".join(self.lines) + "\n")


# ---- the loops of vectorize.py: one part of each buffer for each thread
def parts(parameters, body):
    """The body behind statements that move each pointer to its thread's part, and the arguments' element types."""
    moves, types = [], []
    for parameter in parameters.split(","):
        pointer = re.match(r"\s*(?:const )?(\w+) \*\s*(?:__restrict__ )?\s*(\w)$", parameter)
        if pointer:
            moves.append(f"{pointer[2]} += (i64_t)THREAD * n;")
            types.append((ELEMENTS[pointer[1]], 3 if pointer[1] == "f3" else 1))
    return " ".join(moves) + " " + body, types


def add_loops(plan, options):
    threads, block, trips = (33792, 128, 512) if options.size else (64, 32, 64)
    settings = argparse.Namespace(clang=options.clang, nvcc=options.nvcc, clang14=options.clang14, nvmini=options.nvmini,
                                  libnvvm=options.libnvvm)
    for name, (parameters, body), _ in vectorize.loops():
        if options.loops and not any(w in name for w in options.loops.split(",")):
            continue
        body, types = parts(parameters, body)
        with tempfile.TemporaryDirectory() as work:
            source = os.path.join(work, "k.cu")
            with open(source, "w", encoding="utf-8") as file:
                file.write(THREAD + vectorize.HEAD % (parameters, body))
            make = vectorize.Compilers(settings, work)
            codes = {c: getattr(make, c)(source, options.cpu) for c in compilers(options)}
            arguments = [f"buffer {t} {(threads * trips + 8) * factor} random" for t, factor in types] + [f"scalar i32 {trips}"]
            plan.add(name.replace(" ", "_"), "k", [threads // block], [block], arguments, 0, {c: p for c, p in codes.items() if p})


def compilers(options):
    there = {"nvmini": True, "clang": shutil.which(options.clang), "libnvvm": options.libnvvm and shutil.which(options.clang14),
             "nvcc": shutil.which(options.nvcc)}
    return [c for c in COMPILERS if there[c]]


# ---- kernels of public programs
def number(text, size):
    """An expression of N and numbers: sums of products, whose factors may be divided by numbers."""
    if not re.fullmatch(r"[N\d+*/]+", text):
        raise ValueError(f"no expression: {text}")
    value = 0
    for term in text.split("+"):
        product = 1
        for factor, divided in re.findall(r"([N\d]+)((?:/\d+)*)", term):
            product *= size if factor == "N" else int(factor)
            for by in divided.split("/")[1:]:
                product //= int(by)
        value += product
    return value


def argument(text, size):
    scalar = re.fullmatch(r"(\w+)=(\S+)", text)
    if scalar:
        value = scalar[2] if scalar[1] in ("float", "double") else number(scalar[2], size)
        return f"scalar {scalar[1]} {value}"
    kind, count, zero = re.fullmatch(r"(\w+)\[(\S+)\](zero)?", text).groups()
    return f"buffer {kind} {number(count, size)} {'zero' if zero else 'random'}"


class Program:
    """One source in all compilers, as PTX files of a folder."""

    def __init__(self, options, path, macros, work):
        self.options, self.work, self.source = options, work, os.path.join(options.sources, path)
        suite = os.path.join(options.sources, path.split("/")[0])
        here = os.path.dirname(self.source)
        # What sources and clang's headers expect of older toolkits' headers.
        open(os.path.join(work, "texture_fetch_functions.h"), "w", encoding="utf-8").close()
        with open(os.path.join(work, "sizes.h"), "w", encoding="utf-8") as file: # behind headers that have an N of their own
            file.writelines(f"#include <{h}>\n" for h in ("algorithm", "cmath", "cstdio", "cstdlib", "vector", "cuda_runtime.h"))
            file.writelines(f"#define {m}\n" for m in macros)
        with open(os.path.join(work, "host.h"), "w", encoding="utf-8") as file:
            file.write('#include "sizes.h"\nusing std::max;\nusing std::min;\n')
        self.flags = ["-DcudaThreadSynchronize=cudaDeviceSynchronize", "-DcudaThreadExit=cudaDeviceReset", f"-I{here}", f"-I{suite}/Common", f"-I{suite}/common", f"-I{suite}/CUDA/utilities", f"-I{work}"]

    def raw(self):
        out = os.path.join(self.work, "raw.ll")
        if os.path.exists(out):
            return out
        done = run(self.options.clang, "-x", "cuda", f"--cuda-path={TOOLKIT}", "-isystem", f"{TOOLKIT}/include/cccl", "-w",
                   f"--cuda-gpu-arch={self.options.cpu}", "--cuda-device-only", "-S", "-emit-llvm", "-O3", "-Xclang", "-disable-llvm-passes",
                   *self.flags, "-include", f"{self.work}/host.h", self.source, "-o", out)
        return None if done.returncode else out

    def made(self, name, *command):
        out = os.path.join(self.work, name + ".ptx")
        return out if run(*command, "-o", out).returncode == 0 else None

    def nvmini(self):
        raw = self.raw()
        return raw and self.made("nvmini", self.options.nvmini, "compile", raw, "-O3", "--cpu", self.options.cpu)

    def clang(self):
        raw = self.raw()
        return raw and self.made("clang", self.options.clang, "-x", "ir", "-w", "--target=nvptx64-nvidia-cuda", "-O3", "-S",
                                 "-ffp-contract=fast", raw)

    def libnvvm(self):
        """Its dialect for these CPUs has typed pointers, which no front end installed beside today's headers writes."""
        return None

    def nvcc(self):
        return self.made("nvcc", self.options.nvcc, "-O3", "-ptx", "-w", f"-arch={self.options.cpu}", *self.flags, "-include",
                         f"{self.work}/sizes.h", self.source)


def kernel_named(ptx, name):
    """The mangled name: of a template's instance if `name` says how it goes on."""
    with open(ptx, encoding="utf-8", errors="replace") as file:
        names = re.findall(r"\.entry (\w+)\(?", file.read())
    length = len(name.split("ILi")[0])
    return next((n for n in names if n == name or f"{length}{name}" in n), None)


def add_programs(plan, options):
    with open(os.path.join(HERE, "gpu_kernels.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    size = options.size or 64
    for path, flags, kernel, grid, block, arguments, moved in rows:
        with tempfile.TemporaryDirectory() as work:
            macros = [f"{w.split('=')[0]} {number(w.split('=')[1], size)}" for w in flags.split()]
            program = Program(options, path, macros, work)
            codes = {c: getattr(program, c)() for c in compilers(options)}
            codes = {c: p for c, p in codes.items() if p}
            names = {kernel_named(p, kernel) for p in codes.values()}
            if len(names) != 1 or None in names:
                print(f"{path}: {kernel}: not found in all codes: {names}")
                continue
            name = f"{os.path.basename(path).removesuffix('.cu')}.{kernel}"
            plan.add(name, names.pop(), [max(1, number(g, size)) for g in grid.split(",")], [int(b) for b in block.split(",")],
                     [argument(a, size) for a in arguments.split()], number(moved, size) if moved else 0, codes)


def prepare(options):
    os.makedirs(options.folder, exist_ok=True)
    built = run("cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-I", ROOT, os.path.join(HERE, "gpu_bench.c"), "-o", os.path.join(options.folder, "gpu_bench"),
                "-ldl", "-lm")
    if built.returncode:
        return built.stderr
    plan = Plan(options)
    add_loops(plan, options)
    if options.sources:
        add_programs(plan, options)
    plan.write()
    print(f"{plan.cases} cases")
    return 0


# ---- the table
def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def read_results(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def median(result, compiler):
    return result["microseconds"].get(compiler, {}).get("median")


def cell(result, compiler):
    got = result["microseconds"].get(compiler)
    if not got:
        return ""
    if "problem" in got:
        return got["problem"]
    ours = median(result, "nvmini")
    return f"{got['median'] / ours:.2f}" if ours and compiler != "nvmini" else f"{got['median']:.1f}"


def report(options):
    """The table; status 1 where two compilers' code disagrees."""
    results = read_results(os.path.join(options.folder, "results"))
    print("| kernel | nvmini (µs) | clang / nvmini | libNVVM / nvmini | nvcc / nvmini | of the memory's limit |\n|---|---|---|---|---|---|")
    wrong = 0
    for r in results:
        ours = median(r, "nvmini")
        share = f"{r['bytes'] / ours * 1e6 / r['limit']:.0%}" if ours and r["bytes"] and r["limit"] else ""
        print(f"| {r['case']} | " + " | ".join(cell(r, c) for c in COMPILERS) + f" | {share} |")
        wrong += any("problem" in v for v in r["microseconds"].values())
    ratios = {c: [median(r, c) / median(r, "nvmini") for r in results if median(r, c) and median(r, "nvmini")] for c in COMPILERS[1:]}
    means = {c: mean(v) for c, v in ratios.items() if v}
    print("\n" + ", ".join(f"{c} / nvmini: {m:.3f} (geometric mean of {len(ratios[c])})" for c, m in means.items()))
    with open(os.path.join(options.folder, "report.json"), "w", encoding="utf-8") as out:
        json.dump({"means": means, "cases": results}, out, indent=1)
    print(f"{len(results) - wrong} passed, {wrong} failed")
    return wrong != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "report"])
    parser.add_argument("folder")
    parser.add_argument("--sources")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--loops", default="", help="only those with one of these words in their names")
    parser.add_argument("--no-cubins", dest="cubins", action="store_false")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--clang14", default="clang-14", help="writes typed pointers, for libNVVM")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--libnvvm", default=libnvvm.find_library())
    options = parser.parse_args()
    options.folder, options.nvmini = os.path.abspath(options.folder), os.path.abspath(options.nvmini)
    options.cubins = options.cubins and options.size != 0 and shutil.which("ptxas") is not None
    return report(options) if options.what == "report" else prepare(options)


if __name__ == "__main__":
    sys.exit(main())
