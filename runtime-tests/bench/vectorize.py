#!/usr/bin/env python3
"""Serial loops of one thread, as nvmini, clang, libNVVM and nvcc compile them, executed in our simulator from their PTX.

    vectorize.py [--cpus sm_80,sm_90,sm_100] [--trips 1000,...] [--loops scale,sum,...] [--nvmini build/release/nvmini] [--shift N]

For each loop and compiler: the widest access to global memory in bits, memory instructions and executed
instructions per element; below the tables, where we are behind: with 64 iterations and more behind whom, with fewer
than 16 more than 10 % behind our own loop without vectors. The sources are compiled by nvcc (-O3) and clang (-O3, and unoptimized as the input of
nvmini -O3, with and without its vectorizer, and of libNVVM -opt=3: typed pointers, which clang 14 writes, up to
compute_90, the newer dialect from compute_100 on); clang does not know sm_100 and gets sm_90 there. Buffers are aligned to 256 bytes and do not overlap, which only the
loops marked `restrict` say; alignment is said by none but the last rows. With --shift the first buffer begins that many
elements later, a number that the kernel gets as an argument (and nothing says that it is aligned)."""
import argparse
import os
import re
import shutil
import subprocess
import tempfile

import libnvvm

HEAD = """
#ifdef __CUDACC_VER_MAJOR__
#include <cuda_fp16.h>
#include <cuda_bf16.h>
typedef __half half_t; typedef __nv_bfloat16 bf16_t;
#define TWICE(x) __hadd(x, x)
#else
#define __global__ __attribute__((global))
typedef _Float16 half_t;
#if __clang_major__ >= 15
typedef __bf16 bf16_t;
#endif
#define TWICE(x) ((x) + (x))
#endif
typedef signed char i8_t; typedef short i16_t; typedef long long i64_t;
struct f3 { float x, y, z; };
extern "C" __global__ void k(%s) { %s }
"""
TYPES = {"i8": "i8_t", "i16": "i16_t", "half": "half_t", "bfloat": "bf16_t", "i32": "int", "float": "float",
         "i64": "i64_t", "double": "double"}
SIZES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}


def scale(kind, restrict, body=""):
    r = "__restrict__ " if restrict else ""
    value = "TWICE(a[i])" if kind in ("half", "bfloat") else "2 * a[i]"
    return f"const {TYPES[kind]} *{r}a, {TYPES[kind]} *{r}b, int n", f"{body} for (int i = 0; i < n; i++) b[i] = {value};"


def loops():
    """Name, (parameters, body), buffers."""
    for kind in TYPES:
        yield f"scale {kind}", scale(kind, False), 2
    for kind in ("i8", "half", "float", "double"):
        yield f"scale {kind} restrict", scale(kind, True), 2
    yield "scale float aligned", scale("float", True, "a = (const float *)__builtin_assume_aligned(a, 32); b = (float *)__builtin_assume_aligned(b, 32);"), 2
    r = "__restrict__"
    one = f"const float *{r} a, float *{r} b, int n"
    yield "sum float", (one, "float s = 0; for (int i = 0; i < n; i++) s += a[i]; *b = s;"), 2
    yield "sum i32", (f"const int *{r} a, int *{r} b, int n", "int s = 0; for (int i = 0; i < n; i++) s += a[i]; *b = s;"), 2
    yield "dot float", (f"const float *{r} a, const float *{r} c, float *{r} b, int n",
                        "float s = 0; for (int i = 0; i < n; i++) s += a[i] * c[i]; *b = s;"), 3
    yield "max i32", (f"const int *{r} a, int *{r} b, int n",
                      "int s = a[0]; for (int i = 0; i < n; i++) s = a[i] > s ? a[i] : s; *b = s;"), 2
    yield "axpy float", ("const float *a, float *b, int n", "for (int i = 0; i < n; i++) b[i] += 3.0f * a[i];"), 2
    yield "stencil float", ("const float *a, float *b, int n",
                            "for (int i = 2; i < n + 2; i++) b[i] = a[i-2] + a[i-1] + a[i] + a[i+1] + a[i+2];"), 2
    yield "float3 to arrays", ("const f3 *a, float *b, float *c, float *d, int n",
                               "for (int i = 0; i < n; i++) { b[i] = a[i].x; c[i] = a[i].y; d[i] = a[i].z; }"), 4
    yield "reverse float", ("const float *a, float *b, int n", "for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];"), 2
    yield "conditional i32", ("const int *a, int *b, int n", "for (int i = 0; i < n; i++) if (a[i] >= 0) b[i] = a[i];"), 2
    yield "histogram i32", (f"const int *{r} a, int *{r} b, int n", "for (int i = 0; i < n; i++) b[a[i] & 15]++;"), 2


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Compilers:
    """Each method: source file and CPU to PTX file, or None."""

    def __init__(self, options, work):
        self.options, self.work = options, work

    def clang_flags(self, cpu):
        return ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
                f"--cuda-gpu-arch={'sm_90' if cpu == 'sm_100' else cpu}", "-Xclang", "-target-feature", "-Xclang", "+ptx83"]

    def clang(self, source, cpu):
        out = f"{self.work}/clang.ptx"
        return None if run(self.options.clang, *self.clang_flags(cpu), "-O3", "-S", source, "-o", out).returncode else out

    def nvcc(self, source, cpu):
        out = f"{self.work}/nvcc.ptx"
        return None if run(self.options.nvcc, "-O3", "-ptx", f"-arch={cpu}", source, "-o", out).returncode else out

    def unoptimized(self, clang, flags, source):
        """The IR that clang's front end makes."""
        ir = f"{self.work}/{os.path.basename(clang)}.ll"
        made = run(clang, *flags, "-O3", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names", "-S", "-emit-llvm", source,
                   "-o", ir)
        return None if made.returncode else ir

    def nvmini(self, source, cpu, *more):
        ir, out = self.unoptimized(self.options.clang, self.clang_flags(cpu), source), f"{self.work}/ours{len(more)}.ptx"
        if ir is None or run(self.options.nvmini, "compile", ir, "-O3", "--cpu", cpu, "-o", out, *more).returncode:
            return None
        return out

    def scalar(self, source, cpu):
        return self.nvmini(source, cpu, "--knob", "vectorize-loops=0")

    def libnvvm(self, source, cpu):
        newer = int(cpu[3:]) >= 100
        flags = self.clang_flags(cpu) if newer else [*self.clang_flags("sm_80")[:6], "-Xclang", "-target-feature", "-Xclang", "+ptx72"]
        ir = self.unoptimized(self.options.clang if newer else self.options.clang14, flags, source)
        if ir is None:
            return None
        with open(ir, encoding="utf-8") as file:
            text = file.read()
        # Words that the dialect does not have.
        text = re.sub(r"^(attributes|!llvm.module.flags|!llvm.ident) .*$", "", text, flags=re.M)
        text = re.sub(r" #\d+|\b(noundef|mustprogress|dso_local) | immarg|, !llvm.loop !\d+", "", text)
        text += libnvvm.VERSION
        ptx, _ = libnvvm.compile_module(self.options.libnvvm, text.encode(), f"compute_{cpu[3:]}")
        out = f"{self.work}/libnvvm.ptx"
        if ptx is None:
            return None
        with open(out, "wb") as file:
            file.write(ptx)
        return out


def widest(ptx):
    with open(ptx, encoding="utf-8") as file:
        text = file.read()
    bits = [0]
    for vector, size in re.findall(r"\b(?:ld|st)\.global(?:\.\w+)*?(?:\.v(\d))?\.[busf](\d+)\s", text):
        bits.append(int(vector or 1) * int(size))
    return max(bits)


def measure(options, ptx, buffers, trips):
    """(memory instructions, instructions) per element, None if it does not run."""
    arguments, shift = [], [] if options.shift is None else ["--arg", f"i32:{options.shift}"]
    for _ in range(buffers):
        arguments += ["--arg", f"buf:u8:{trips * 12 + 256}:zero"]
    done = run(options.nvmini, "run", ptx, *arguments, "--arg", f"i32:{trips}", *shift, "--stats")
    counts = dict(re.findall(r"^(\S+) (\d+)$", done.stdout + done.stderr, re.M))
    if done.returncode or "instructions" not in counts:
        return None
    memory = int(counts["global.loads"]) + int(counts["global.stores"])
    return memory / trips, int(counts["instructions"]) / trips


def cell(width, got):
    if width is None:
        return "does not compile"
    return f"{width}, {got[0]:.2f}, {got[1]:.2f}" if got else f"{width}, does not run"


def measure_loop(options, columns, cpu, parameters, body, buffers):
    """By column: (widest access or None, by number of iterations what measure() says)."""
    if options.shift is not None:
        parameters, body = parameters + ", int shift", "a += shift; " + body
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "k.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write(HEAD % (parameters, body))
        make, found = Compilers(options, work), {}
        for column in columns:
            ptx = getattr(make, column)(source, cpu)
            found[column] = (ptx and widest(ptx), {n: ptx and measure(options, ptx, buffers, n) for n in options.trips})
    return found


def behind(found, trips):
    """(column, ours, theirs) where we execute more than we want to."""
    ours = found["nvmini"][1][trips]
    for column, (_, by_trips) in found.items():
        theirs = by_trips[trips]
        if not ours or not theirs or column == "nvmini" or (trips < 64 and (trips >= 16 or column != "scalar")):
            continue
        if ours[1] > theirs[1] * (1 if trips >= 64 else 1.1):
            yield column, ours[1], theirs[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--cpus", default="sm_80,sm_90,sm_100")
    parser.add_argument("--trips", type=lambda s: [int(n) for n in s.split(",")], default=[1000], help="list of numbers")
    parser.add_argument("--loops", default="")
    parser.add_argument("--nvmini", default="build/release/nvmini")
    parser.add_argument("--shift", type=int)
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--clang14", default="clang-14", help="writes typed pointers, for libNVVM")
    parser.add_argument("--libnvvm", default=libnvvm.find_library())
    options = parser.parse_args()
    columns = ["nvmini", "scalar", "clang"]
    for name, there in {"libnvvm": options.libnvvm, "nvcc": shutil.which(options.nvcc)}.items():
        if there:
            columns.append(name)
        else:
            print(f"{name} is not installed: no column")
    titles = {"nvmini": "nvmini -O3", "scalar": "nvmini, vectorize-loops=0", "clang": "clang -O3", "libnvvm": "libNVVM -opt=3",
              "nvcc": "nvcc -O3"}
    wanted = [w for w in options.loops.split(",") if w]
    print("Each cell: widest access in bits, memory instructions and executed instructions per element\n")
    wanted_loops = [row for row in loops() if (not wanted or any(w in row[0] for w in wanted)) and not ("aligned" in row[0] and options.shift)]
    late = []
    for cpu in options.cpus.split(","):
        rows = {name: measure_loop(options, columns, cpu, *code, buffers) for name, code, buffers in wanted_loops}
        for trips in options.trips:
            print(f"| {cpu}, {trips} iterations | " + " | ".join(titles[c] for c in columns) + " |\n|---" + "|---" * len(columns) + "|")
            for name, found in rows.items():
                print(f"| {name} | " + " | ".join(cell(found[c][0], found[c][1][trips]) for c in columns) + " |")
                late += [(name, cpu, trips, *cells) for cells in behind(found, trips)]
            print(flush=True)
    print("\n".join(f"behind: {name}, {cpu}, {trips} iterations: {ours:.2f}, {titles[column]} {theirs:.2f}"
                    for name, cpu, trips, column, ours, theirs in late) or "nowhere behind")


if __name__ == "__main__":
    main()
