#!/usr/bin/env python3
"""Runs whole CUDA programs in the simulator, with the PTX that several compilers make of them.

    run_programs.py SOURCES [--only TEXT] [--levels O0,O1] [--cpus sm_75,sm_90] [--counts FILE] [--no-nvcc]
    run_programs.py SOURCES --find TABLE [--only TEXT]

SOURCES holds checkouts of public suites; nothing of them is kept here. Programs are the rows below and those of
programs.tsv: folder or file, arguments that the simulator finishes in seconds, changes of the source, or the
reason why a program is left out. The host half of a program is compiled by clang and linked with cuda_runtime.c
instead of the vendor's runtime; its device half is compiled by clang -O3, by nvcc and by nvmini (from clang's raw
IR, libdevice linked in) at every level. What the program copies from the device must be the same for all, up to
the tolerance that contraction and reassociation by the others explain (nvmini at -O0 against its other levels:
the same up to it too), and where the program checks itself against a host reference, its words must say that it
passed. --counts writes a table: program, compiler, kernel, executed instructions.

--find looks for programs that programs.tsv does not have yet: folders with a Makefile that says how to run
them, and single sources with a main. It tries arguments from the Makefile's made smaller, runs what works in all
ways, and appends a row to TABLE. Where results differ, clang's own PTX is asked whether the program races or
depends on the order of threads. What is left is a defect, and becomes no row.

Closes with `N passed, N failed, N skipped`.
"""
import argparse
import collections
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

import array
import math

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLKIT = os.environ.get("CUDA_PATH", "/usr/local/cuda")

Program = collections.namedtuple("Program", "suite path flags arguments verdict element edits nofma", defaults=("", False))


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

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.tsv")


def read_table(path):
    """Rows `state path arguments edits note`: state run, nofma (compared without contraction) or out."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [(line.rstrip("\n").split("\t") + [""] * 5)[:5] for line in f if line.strip() and not line.startswith("#")]


def program_of(path, arguments, edits, nofma):
    suite, _, rest = path.partition("/")
    return Program(suite, rest, [], shlex.split(arguments), "", "*", edits, nofma)


# Before each source. The headers are compiled once, into a file of clang's.
HEADERS = ["cmath", "ctime", "cstdio", "cstdlib", "cstring", "string", "vector", "algorithm", "iostream", "chrono", "random", "cuda.h",
           "cuda_runtime.h", "cuda_fp16.h"]
RENAMED = ["cudaThreadSynchronize cudaDeviceSynchronize", "cudaThreadExit cudaDeviceReset"]
HOST = ["--cuda-host-only", "-c", "-O1", "-ffp-contract=off", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", os.devnull]
DEVICE = ["--cuda-device-only", "-S", "-emit-llvm", "-O3", "-Xclang", "-disable-llvm-passes"]


def clang_command(cpu):
    return ["clang-19", "-x", "cuda", f"--cuda-path={TOOLKIT}", "-isystem", f"{TOOLKIT}/include/cccl", "-w", f"--cuda-gpu-arch={cpu}"]


def compile_headers(folder, cpus):
    """FOLDER/host.pch and FOLDER/CPU.pch."""
    open(os.path.join(folder, "texture_fetch_functions.h"), "w").close()
    header = os.path.join(folder, "headers.h")
    with open(header, "w") as out:
        out.writelines(f"#include <{h}>\n" for h in HEADERS)
    for name, cpu, how in [("host", "sm_90", HOST)] + [(cpu, cpu, DEVICE) for cpu in cpus]:
        run([*clang_command(cpu), f"-I{folder}", *how, "-Xclang", "-emit-pch", header, "-o", os.path.join(folder, f"{name}.pch")])


# What programs say of themselves when a check fails, and when it does not.
BAD_WORDS = re.compile(r"\bFAIL|\b[Ff]ail(ed|ure)?\b|[Mm]ismatch|MISMATCH|\bERROR\b|do not match|doesn't match|does NOT match|incorrect|INCORRECT|"
                       r"NOT correct|[Ww]rong|[Uu]nmatched|\bnot equal\b|Arrays do not|inconsistent")
GOOD_WORDS = re.compile(r"PASS|[Pp]assed|[Ss]uccess|SUCCESS|[Cc]orrect|CORRECT|\bmatch|Results? OK|: OK")
NOT_BAD = re.compile(r"\b(0|[Nn]o|[Zz]ero) (errors?|mismatch(es)?|failures?|failed)|(errors?|mismatch(es)?|fail(ed|ures?)?) *[:=] *0(\.0+)?\b", re.I)


class Failure(Exception):
    pass


class TooSlow(Failure):
    pass


def limit(seconds):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    return set_limits


def run(command, seconds=600, **options):
    """Its output; the limit is processor time, for other work may go on."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20 * seconds + 60,
                              preexec_fn=limit(seconds), check=False, **options)
    except subprocess.TimeoutExpired:
        raise TooSlow("timeout: " + " ".join(command)[:120])
    text = done.stdout.decode(errors="replace")
    if done.returncode in (-24, -9):
        raise TooSlow(f"more than {seconds} s: " + " ".join(command)[:120])
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if "error:" in line or "undefined reference" in line][:3] or text.splitlines()[-6:]
        raise Failure(f"status {done.returncode}: {' '.join(command)[:100]} …\n    " + "\n    ".join(lines))
    return text


# The source made smaller: sizes that are powers of two, and long ones in macros.
EDITS = {
    "small": [(r"\b1(?:u|U|UL|ull|l|L)? *<< *(?:1[2-9]|2\d)\b", "1 << 10"), (r"(?m)^(#define +\w+ +\(?)(?:[1-9]\d{5,}|1e[5-9])(\)?) *$", r"\g<1>4096\2"),
              (r"\b(1024|512|2048|4096|8192) *\* *(1024|512|2048|4096|8192)( *\* *\d+)*", "64 * 64")],
}


def makefile_of(folder):
    path = os.path.join(folder, "Makefile")
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as f:
        return f.read().replace("\\\n", " ")


def sources_of(folder):
    """Sources that a HeCBench folder's Makefile lists; else all there are."""
    text = makefile_of(folder)
    found = re.search(r"(?m)^ *(?:source|SOURCE|SRC|SRCS)S? *:?= *(.*)$", text)
    listed = [w for w in (found.group(1).split() if found else []) if not w.startswith("$")]
    everything = sorted(f for f in os.listdir(folder) if f.endswith((".cu", ".cpp", ".cc")))
    flags = re.findall(r"(?<!\S)(-D\w[\w=]*|-I *[\w./+-]+)", text)
    return listed or everything, [f.replace("-I ", "-I") for f in flags]


class Bench:
    """One program in a folder of its own: a copy of the folder where it is a whole one."""

    def __init__(self, program, options, folder):
        self.program, self.options, self.folder = program, options, folder
        self.source = os.path.join(options.sources, program.suite, program.path)
        self.others, self.place = [], folder
        suite = os.path.join(options.sources, program.suite)
        own = self.take_folder() if os.path.isdir(self.source) else self.take_file()
        here = os.path.dirname(self.source)
        folders = [here, os.path.dirname(here), f"{suite}/CUDA/utilities", f"{suite}/common", f"{suite}/Common", folder]
        macros = [f[2:].replace("=", " ") if "=" in f else f[2:] + " 1" for f in own + program.flags if f.startswith("-D")]
        self.flags = [*[f for f in own if f.startswith("-I")], *[f"-I{f}" for f in folders], f"-I{options.headers}", "-include", self.path("sizes.h")]
        for name, text in INPUT.items():
            with open(self.path(name), "w") as out:
                out.write(text)
        with open(self.path("sizes.h"), "w") as out: # after the headers that have an N of their own
            out.writelines(f"#include <{h}>\n" for h in HEADERS)
            out.writelines(f"#define {m}\n" for m in RENAMED + macros)

    def path(self, name):
        return os.path.join(self.folder, name)

    def edit(self, path):
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            text = f.read()
        for pattern, new in EDITS[self.program.edits]:
            text = re.sub(pattern, new, text)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)

    def take_file(self):
        here = os.path.dirname(self.source)
        if self.program.edits:
            copy = self.path("edited.cu")
            shutil.copy(self.source, copy)
            self.edit(copy)
            self.source = copy
        return [f"-I{here}", f"-I{os.path.dirname(here)}"]

    def take_folder(self):
        name = os.path.basename(self.source)
        self.place = os.path.join(self.folder, "work", name)
        if sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(self.source) for f in fs) > 1 << 26:
            raise Failure("a folder of more than 64 MiB")
        shutil.copytree(self.source, self.place)
        text = makefile_of(self.place)
        for other in set(re.findall(r"\.\./([\w.+-]+)", text + " ".join(self.program.arguments))) - {name, ".."}:
            there = os.path.join(os.path.dirname(self.source), other)
            if os.path.exists(there):
                os.symlink(there, os.path.join(self.folder, "work", other))
        listed, flags = sources_of(self.place)
        if self.program.edits:
            for directory, _, files in os.walk(self.place):
                for f in files:
                    if f.endswith((".cu", ".h", ".cuh", ".hpp", ".cpp")):
                        self.edit(os.path.join(directory, f))
        device = [f for f in listed if f.endswith(".cu")] or listed
        self.others = [os.path.join(self.place, f) for f in listed if f not in device]
        self.source = os.path.join(self.place, device[0])
        if len(device) > 1: # one module a program
            self.source = os.path.join(self.place, "all_sources.cu")
            with open(self.source, "w") as out:
                out.writelines(f'#include "{f}"\n' for f in device)
        return [f"-I{os.path.join(self.place, f[2:])}" if f.startswith("-I") else f for f in flags]

    def clang(self, cpu, headers, out, how):
        run([*clang_command(cpu), *how, "-Xclang", "-include-pch", "-Xclang", os.path.join(self.options.headers, f"{headers}.pch"), *self.flags,
             self.source, "-o", self.path(out)], cwd=self.place)

    def host(self, runtime):
        self.clang("sm_90", "host", "host.o", HOST)
        objects = []
        for i, other in enumerate(self.others):
            objects.append(self.path(f"other{i}.o"))
            run(["clang-19", "-w", "-O1", *self.flags, f"-I{TOOLKIT}/include", "-c", other, "-o", objects[-1]])
        run(["clang++-19" if shutil.which("clang++-19") else "g++", self.path("host.o"), *objects, *runtime, "-lm", "-lpthread", "-o",
             self.path("program")])

    def raw(self, cpu):
        """Clang's IR, which nvmini and clang's own optimizer take."""
        path = self.path(f"{cpu}.ll")
        if not os.path.exists(path):
            self.clang(cpu, cpu, path, [*DEVICE, *(["-ffp-contract=off"] if self.program.nofma else [])]) # else each product is marked
        return path

    def variants(self, cpu):
        """(name, function that makes the PTX file)"""
        raw, exact = self.raw(cpu), self.program.nofma
        if self.options.keep:
            shutil.copy(raw, os.path.join(self.options.keep, f"{self.program.suite}__{self.program.path.removesuffix('.cu')}".replace("/", "__") + ".ll"))
        contract = ["-ffp-contract=off"] if exact else ["-ffp-contract=fast"]
        yield "clang-O3", lambda out: run(["clang-19", "-x", "ir", "-w", "--target=nvptx64-nvidia-cuda", "-O3", "-S", *contract, raw, "-o", self.path(out)])
        if shutil.which("nvcc") and not self.options.no_nvcc:
            exactly = ["-fmad=false"] if exact else []
            yield "nvcc", lambda out: run(["nvcc", "-ptx", "-w", "-extended-lambda", "-expt-relaxed-constexpr", *exactly, "-arch",
                                           cpu.replace("sm", "compute"), *self.flags, self.source, "-o", self.path(out)], cwd=self.place)
        for level in self.options.levels:
            yield f"nvmini-{level}", lambda out, level=level: run(
                [self.options.nvmini, "compile", f"-{level}", *(["--fma-level", "0"] if exact else []), "--cpu", cpu, raw, "-o", self.path(out)])

    def execute(self, ptx, copies, counts, seconds=60, **more):
        for path in (copies, counts):
            if os.path.exists(self.path(path)):
                os.unlink(self.path(path))
        environment = {**os.environ, "NVMINI_PTX": self.path(ptx), "NVMINI_COPIES": self.path(copies),
                       "NVMINI_COUNTS": self.path(counts), **more}
        text = run([self.path("program"), *self.program.arguments], seconds, env=environment, cwd=self.place)
        verdict = self.program.verdict
        good = re.search(verdict, text) if verdict else self.program.element != "*" or not BAD_WORDS.search(NOT_BAD.sub("", text))
        if not good:
            raise Failure("the program's own check: " + " | ".join(text.splitlines()[-3:])[:300])
        return bool(verdict or GOOD_WORDS.search(text))

    def reads_clock(self, name):
        with open(self.path(name), errors="replace") as f:
            return re.search(r"%clock|%globaltimer", f.read()) is not None

    def read_copies(self, name):
        with open(self.path(name), "rb") if os.path.exists(self.path(name)) else open(os.devnull, "rb") as f:
            data, at, copies = f.read(), 0, []
        while at < len(data):
            length = int.from_bytes(data[at:at + 8], "little")
            copies.append(data[at + 8:at + 8 + length])
            at += 8 + length
        return copies

    def compare(self, name, first):
        """Whether what was copied is near enough to what the first compiler's code gave."""
        ours, theirs = self.read_copies(name), self.read_copies(first)
        if [len(c) for c in ours] != [len(c) for c in theirs]:
            raise Failure(f"{len(ours)} copies, not {len(theirs)}, or of other lengths")
        for i, (a, b) in enumerate(zip(ours, theirs)):
            where = a != b and difference(a, b, self.program.element)
            if where:
                raise Failure(f"copy {i}, {where}")


def values_of(data, element):
    values = array.array(element)
    values.frombytes(data[:len(data) // values.itemsize * values.itemsize])
    return values


def near(a, b, scale):
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * abs(b) + 1e-6 * scale


def is_float_word(bits):
    """Whether 32 bits look like a float: zero, or of a usual size."""
    return bits & 0x7fffffff == 0 or 0x08000000 <= bits & 0x7fffffff <= 0x70000000 or bits & 0x7f800000 == 0x7f800000


def difference(a, b, element):
    """The first element that differs by more than rounding explains; '*': of floats or doubles, as it looks."""
    if element != "*":
        x, y = values_of(a, element), values_of(b, element)
        scale = max((abs(v) for v in y if math.isfinite(v)), default=1) if element != "i" else 0
        for i, (p, q) in enumerate(zip(x, y)):
            if p != q and (element == "i" or not near(p, q, scale)):
                return f"element {i} is {p!r}, not {q!r}"
        return None
    x, y, fx, fy, dx, dy = (values_of(v, e) for e in "Ifd" for v in (a, b))
    float_scale = max((abs(v) for v, w in zip(fy, y) if is_float_word(w) and abs(v) < 1e18), default=1)
    double_scale = max((abs(v) for v in dy if math.isfinite(v) and abs(v) < 1e100), default=1)
    for i, (p, q) in enumerate(zip(x, y)):
        if p == q or (is_float_word(p) and is_float_word(q) and near(fx[i], fy[i], float_scale)):
            continue
        k = i // 2
        if k < len(dx) and 1e-100 < abs(dy[k]) < 1e100 and near(dx[k], dy[k], min(double_scale, 1e10)):
            continue
        return f"word {i} is {p:#x} ({fx[i]:g}), not {q:#x} ({fy[i]:g})"
    return None if a[len(x) * 4:] == b[len(x) * 4:] else "the last bytes"


def take_counts(bench, label, kernels, table):
    totals = collections.Counter()
    if os.path.exists(bench.path(f"{label[2]}.counts")):
        for line in open(bench.path(f"{label[2]}.counts")):
            kernel, instructions, _ = line.split()
            if not 0 < int(instructions) < 1 << 63:
                raise Failure(f"kernel {kernel} executes {instructions} instructions")
            totals[kernel] += int(instructions)
    kernels.update(totals)
    table.extend((*label, k, n) for k, n in totals.items())


def run_program(program, options, runtime, tally, table):
    kernels = set()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, options, folder)
        bench.host(runtime)
        for cpu in options.cpus:
            first, passed = None, True
            for name, make in bench.variants(cpu):
                label = f"{program.path} {cpu} {name}"
                try:
                    make(f"{name}.ptx")
                    checked = bench.execute(f"{name}.ptx", f"{name}.copies", f"{name}.counts")
                    if not bench.read_copies(f"{name}.copies"):
                        raise Failure("nothing was copied from the device")
                    if first:
                        bench.compare(f"{name}.copies", first)
                    first = first or f"{name}.copies"
                    tally["passed"] += 1
                    take_counts(bench, (program.path, cpu, name), kernels, table)
                except Failure as why:
                    tally["failed"] += 1
                    passed = False
                    print(f"FAILED {label}: {why}", flush=True)
            tally["programs"] += passed
            tally["checked"] += passed and checked
    return {(program.path, k) for k in kernels}


# ---- finding programs -------------------------------------------------------------------------------------------

LIBRARIES = re.compile(r"thrust/|\bcub/|cublas|cufft|curand|cusparse|cudnn|cusolver|cutensor|nccl|\bmpi\.h|<nvtx|cudaBindTexture|tex2D|tex1D|tex3D|"
                       r"cudaTextureObject|surf2D|cudaGraph|__managed__|<torch|pybind|omp\.h|GL/gl|cudaIpc|cuModule|nvrtc|<cuda/|cuCtx|grid_group|this_grid")


def find_candidates(sources, only):
    """Folders with a Makefile of HeCBench's kind, then single sources with a main."""
    for suite, below in (("HeCBench", "src"), ("cuda-samples", ""), ("professional-cuda-c-programming", ""),
                         ("how-to-optim-algorithm-in-cuda", ""), ("llm.c", ""), ("gpu-rodinia", "cuda"), ("LeetCUDA", "")):
        for folder, inside, files in os.walk(os.path.join(sources, suite, below)):
            inside.sort()
            path = os.path.relpath(folder, sources)
            if only not in path and not any(only in f for f in files):
                continue
            if suite == "HeCBench":
                if folder.endswith("-cuda") and "Makefile" in files:
                    yield path
                continue
            if suite == "cuda-samples" and any(f.endswith(".cu") for f in files) and sum(f.endswith((".cu", ".cpp")) for f in files) > 1:
                yield path
                continue
            yield from (os.path.join(path, f) for f in sorted(files) if f.endswith(".cu") and only in os.path.join(path, f))


def text_of(path):
    if os.path.isfile(path):
        with open(path, errors="replace") as f:
            return f.read()
    names = [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs if f.endswith((".cu", ".h", ".cuh", ".hpp", ".cpp"))]
    return "\n".join(text_of(n) for n in names)


def makefile_arguments(folder):
    text = makefile_of(folder)
    found = re.search(r"(?m)^run:.*\n\t(?:.*[ /@])?\./(?:\$\(program\)|[\w-]+)([^\n]*)$", text)
    try:
        return [w for w in shlex.split(found.group(1)) if not re.match(r"[>|&;]", w)] if found else None
    except ValueError:
        return None


def smaller(words, most):
    """Numbers divided by powers of two until they are at most so large; the last one, mostly of repetitions, is 1."""
    out = list(words)
    numbers = [i for i, w in enumerate(words) if re.fullmatch(r"\d+", w)]
    for i in numbers:
        value = int(words[i])
        while value > most and value % 2 == 0 and value // 2 >= 1 or value > 4 * most:
            value //= 2
        out[i] = str(value)
    if len(numbers) > 1 or (numbers and int(words[numbers[0]]) in (10, 100, 1000, 10000, 500, 200, 50)):
        out[numbers[-1]] = "1"
    return out


def attempts(place):
    if os.path.exists(os.path.join(place, "Makefile")):
        words = makefile_arguments(place)
        if words is None:
            return
        for most, edits in ((64, ""), (16, "small"), (1 << 40, "small")):
            yield smaller(words, most), edits
    else:
        yield [], "small"
        yield [], ""


def try_program(program, options, runtime):
    """The row's state and note where it can be run: run, nofma, out; None: a difference that is ours to explain."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, options, folder)
        bench.host(runtime)
        cpu = options.cpus[0]
        ours, checked = {}, False
        for name, make in bench.variants(cpu):
            peer = not name.startswith("nvmini")
            try:
                make(f"{name}.ptx")
                checked = bench.execute(f"{name}.ptx", f"{name}.copies", f"{name}.counts", 1 if peer else 6) or checked
                if name == "clang-O3" and bench.reads_clock("clang-O3.ptx"):
                    return "out", "reads a clock"
                if name == "clang-O3" and not bench.read_copies("clang-O3.copies"):
                    return "out", "nothing comes back from the device"
                bench.compare(f"{name}.copies", "clang-O3.copies")
            except TooSlow:
                if peer:
                    raise
                ours[name] = "too slow"
            except Failure as why:
                if name == "clang-O3":
                    raise
                if not (peer and "status 1: nvcc" in str(why)):
                    ours[name] = str(why)
        if not ours:
            return "nofma" if program.nofma else "run", "checks itself" if checked else ""
        return explain(bench, ours)


def explain(bench, found):
    """Why clang's own PTX does not do the same thing twice."""
    for name, more in (("races", {"NVMINI_RACES": "1"}), ("depends on the order of threads", {"NVMINI_ORDER": "1"}),
                       ("depends on the order of threads", {"NVMINI_ORDER": "2"}), ("is not the same twice", {})):
        try:
            bench.execute("clang-O3.ptx", "again.copies", "again.counts", 60, **more)
            bench.compare("again.copies", "clang-O3.copies")
        except TooSlow:
            continue
        except Failure as why:
            if name != "races" or "race" in str(why):
                return "out", name
    return None, "; ".join(f"{k}: {v}" for k, v in found.items())[:600]


def find_one(path, options, runtime):
    place = os.path.join(options.sources, path)
    text = text_of(place)
    wanted = LIBRARIES.search(text)
    if wanted:
        return "out", [], "", f"uses {wanted.group(0).strip('<')}"
    if not re.search(r"\bmain *\(", text) or "__global__" not in text:
        return "", [], "", "no program"
    reason, slow = "no arguments", 0
    for arguments, edits in attempts(place):
        if slow == 2:
            break
        for nofma in (False, True):
            program = program_of(path, shlex.join(arguments), edits, nofma)
            try:
                state, note = try_program(program, options, runtime)
            except TooSlow:
                reason = "takes too long"
                slow += 1
                break
            except (Failure, OSError) as why:
                lines = [l.strip() for l in str(why).splitlines() if re.search("error|runtime:|undefined|check:", l)] or str(why).splitlines()[-1:]
                reason = " ".join(lines[0].split())[-160:]
                break
            if state:
                return state, arguments, edits, note
            reason = f"DIFFERS {note}"
        else:
            return "differs", arguments, edits, reason
        if "clang-19 -x cuda" in reason or "undefined reference" in reason or "program: " in reason:
            break
    return "out", [], "", reason


def find(options, runtime):
    known = {row[1] for row in read_table(options.find)} | {f"{p.suite}/{p.path}" for p in PROGRAMS}
    count = collections.Counter()
    paths = [p for p in find_candidates(options.sources, options.only) if p not in known]
    for path in sorted(paths, key=lambda p: len(text_of(os.path.join(options.sources, p)))):
        state, arguments, edits, note = find_one(path, options, runtime)
        count[state] += 1
        print(state, path, shlex.join(arguments), edits, note[:200], sep="\t", flush=True)
        if state:
            with open(options.find, "a", encoding="utf-8") as out:
                out.write("\t".join([state, path, shlex.join(arguments), edits, note.replace("\t", " ")]) + "\n")
    print(dict(count))


# ---- all of them ------------------------------------------------------------------------------------------------

def run_all(options, runtime):
    tally, table, kernels = collections.Counter(), [], set()
    rows = read_table(TABLE)
    programs = PROGRAMS + [program_of(path, arguments, edits, state == "nofma") for state, path, arguments, edits, _ in rows if state in ("run", "nofma")]
    for program in programs:
        if options.only not in f"{program.suite}/{program.path}":
            continue
        if not os.path.exists(os.path.join(options.sources, program.suite, program.path)):
            print(f"skipped: {program.suite}/{program.path} is not there")
            tally["skipped"] += 1
            continue
        try:
            kernels |= run_program(program, options, runtime, tally, table)
        except Failure as why:
            tally["failed"] += 1
            print(f"FAILED {program.path}: {why}", flush=True)
    if options.counts:
        with open(options.counts, "w") as out:
            out.writelines("\t".join(map(str, row)) + "\n" for row in table)
    print(f"{tally['programs']} programs, {tally['checked']} of which check themselves, {len(kernels)} kernels executed")
    print(f"{tally['passed']} passed, {tally['failed']} failed, {tally['skipped']} skipped")
    return 1 if tally["failed"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources")
    parser.add_argument("--only", default="")
    parser.add_argument("--levels", default="O0,O1,O2,O3", type=lambda s: s.split(","))
    parser.add_argument("--cpus", default="sm_90", type=lambda s: s.split(","))
    parser.add_argument("--counts")
    parser.add_argument("--find", metavar="TABLE", help="look for more programs")
    parser.add_argument("--keep", metavar="FOLDER", help="keep clang's raw IR there, for check_kernels.py")
    parser.add_argument("--no-nvcc", action="store_true")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    options = parser.parse_args()
    if not shutil.which("clang-19"):
        print("skipped: clang-19 is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        options.headers = folder
        compile_headers(folder, options.cpus)
        shim = os.path.join(folder, "cuda_runtime.o")
        build = os.path.dirname(options.nvmini)
        run(["cc", "-std=c11", "-O1", "-D_GNU_SOURCE", f"-I{ROOT}", f"-I{ROOT}/build/gen", "-c", f"{ROOT}/runtime-tests/peers/cuda_runtime.c", "-o", shim])
        runtime = [shim, f"{build}/libinternal.a"]
        if options.find:
            return find(options, runtime)
        return run_all(options, runtime)


if __name__ == "__main__":
    sys.exit(main())
