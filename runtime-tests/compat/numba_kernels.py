#!/usr/bin/env python3
"""Kernels of many kinds through Numba, with NVIDIA's libNVVM and with ours; ptxas assembles what came out.

    numba_kernels.py --python ENVIRONMENT/bin/python [--build build] [--keep FOLDER]

See numba_tests.py for the environment. Each kernel is compiled for four architectures, with fast mathematics, without
optimization and debug information, with line numbers, and in the default way. Closes with a line
`numba-kernels: N passed, N failed`: a compilation passes if it gives PTX without a
warning, and ptxas (where installed) assembles it, and if nvmini run computes the same bytes from it as from NVIDIA's PTX (kernels of
EXECUTED); one that fails with NVIDIA's library too is skipped."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

# How the kernels are executed: the block, and the arguments, an array as "elements, its shape".
EXECUTED = {
    "vector_add": ("32", ["f32:32:random:1", "f32:32:random:2", "f32:32:zero"]),
    "matrix_product": ("16,16", ["f32:256:random:1 16 16", "f32:256:random:2 16 16", "f32:256:zero 16 16"]),
    "atomics": ("32", ["f64:4:zero", "f64:32:random:1", "u64:4:zero"]),
    "mathematics64": ("32", ["f64:32:random:1", "f64:32:zero"]),
    "mathematics32": ("32", ["f32:32:random:1", "f32:32:zero"]),
    "complex": ("32", ["f64:64:random:1 32", "f64:64:zero 32"]),
    "mandel": ("32,32", ["i32:1024:zero 32 32"]),
    "warps": ("32", ["i32:32:iota", "i32:32:zero"]),
    "local_memory": ("1", ["i64:100:iota", "i64:1:zero"]),
    "branches": ("32", ["i32:64:random:3", "i64:64:zero", "i64:64"]),
    "constants": ("16", ["f32:16:zero"]),
}
WAYS = [((7, 5), {"fastmath": True}), ((9, 0), {}), ((9, 0), {"debug": True, "opt": False}), ((12, 0), {"lineinfo": True})]


def kernels():
    """(name, function, signature) of each; only in the environment."""
    import numpy as np
    from numba import cuda, float32, float64, int32, int64, types, uint64

    float16 = types.float16

    def vector_add(x, y, z):
        i = cuda.grid(1)
        if i < z.size:
            z[i] = x[i] + y[i]

    def matrix_product(a, b, c):
        s = cuda.shared.array((16, 16), float32)
        t = cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        total = float32(0)
        for i in range(a.shape[1] // 16):
            s[cuda.threadIdx.x, cuda.threadIdx.y] = a[x, cuda.threadIdx.y + i * 16]
            t[cuda.threadIdx.x, cuda.threadIdx.y] = b[cuda.threadIdx.x + i * 16, y]
            cuda.syncthreads()
            for j in range(16):
                total += s[cuda.threadIdx.x, j] * t[j, cuda.threadIdx.y]
            cuda.syncthreads()
        c[x, y] = total

    def atomics(a, b, c):
        i = cuda.grid(1)
        cuda.atomic.add(a, 0, b[i])
        cuda.atomic.max(a, 1, b[i])
        cuda.atomic.nanmin(a, 2, b[i])
        cuda.atomic.inc(c, 0, 7)
        cuda.atomic.cas(c, 1, 3, i)
        cuda.atomic.exch(c, 2, i)

    def mathematics(x, y):
        i = cuda.grid(1)
        v = x[i]
        y[i] = (math.sin(v) + math.exp(v) * math.log(v) + math.pow(v, 1.5) + math.sqrt(v) + math.atan2(v, 2.0) + math.erf(v)
                + math.lgamma(v) + math.fmod(v, 3.0) + math.floor(v) + v / 3.0)

    def complex_numbers(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * x[i] + abs(x[i])

    def mandel(image):
        x, y = cuda.grid(2)
        c = complex(x * 0.01 - 2.0, y * 0.01 - 1.0)
        z = 0.0j
        for i in range(100):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                image[x, y] = i
                return
        image[x, y] = 100

    def warps(x, y):
        i = cuda.grid(1)
        v = x[i]
        v += cuda.shfl_down_sync(0xffffffff, v, 16)
        v += cuda.shfl_xor_sync(0xffffffff, v, 8)
        y[i] = v + cuda.ballot_sync(0xffffffff, v > 3) + cuda.popc(v) + cuda.clz(v) + cuda.ffs(v) + cuda.laneid

    def halves(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * x[i] + float16(2)

    def printing(x):
        print("item", cuda.threadIdx.x, x[0])

    def local_memory(x, y):
        a = cuda.local.array(100, int64)
        for i in range(100):
            a[i] = x[i] * i
        total = 0
        for i in range(100):
            total += a[99 - i]
        y[0] = total // 7 % 5

    def branches(x, y, n):
        i = cuda.grid(1)
        while i < n:
            if x[i] == 1:
                y[i] = 2
            elif x[i] == 2:
                y[i] = i * 3
            elif x[i] > 100:
                break
            else:
                y[i] = -1
            i += cuda.gridsize(1)

    def device_function(x, y):
        return math.cos(x) * y

    table = np.arange(16, dtype=np.float32)

    def constants(y):
        c = cuda.const.array_like(table)
        y[cuda.threadIdx.x] = c[cuda.threadIdx.x]

    void, many = types.void, int32[::1]
    return [("vector_add", vector_add, void(float32[::1], float32[::1], float32[::1])), ("matrix_product", matrix_product, void(float32[:, ::1], float32[:, ::1], float32[:, ::1])),
            ("atomics", atomics, void(float64[::1], float64[::1], uint64[::1])), ("mathematics64", mathematics, void(float64[::1], float64[::1])),
            ("mathematics32", mathematics, void(float32[::1], float32[::1])), ("complex", complex_numbers, void(types.complex128[::1], types.complex128[::1])),
            ("mandel", mandel, void(many.copy(ndim=2))), ("warps", warps, void(many, many)), ("halves", halves, void(float16[::1], float16[::1])),
            ("printing", printing, void(many)), ("local_memory", local_memory, void(int64[::1], int64[::1])), ("branches", branches, void(many, int64[:], int64)),
            ("device_function", device_function, float64(float64, float64)), ("constants", constants, void(float32[::1]))]


def compile_all():
    """Compiles them here; the last line is JSON: {kernel and way: [PTX or error, warnings]}."""
    import warnings
    from numba import cuda
    found = {}
    for name, function, signature in kernels():
        for capability, options in WAYS:
            way = f"{name}, sm_{capability[0]}{capability[1]}" + "".join(f", {o}" for o in options)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    ptx, _ = cuda.compile(function, signature, cc=capability, device=name == "device_function", abi="numba", **options)
                except Exception as error:  # whatever Numba makes of a refusal
                    ptx = f"refused: {type(error).__name__}: {str(error)[:2000]}"
            found[way] = [ptx, [str(w.message) for w in caught if "Nvvm" in w.category.__name__]]
    print("\nFOUND " + json.dumps(found))


def found_with(python, library):
    environment = {**os.environ, "LD_PRELOAD": library}
    done = subprocess.run([python, os.path.abspath(__file__), "--here"], stdout=subprocess.PIPE, text=True, cwd="/", env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    return json.loads(lines[-1].split(" ", 1)[1]) if lines else {}


def fault(ptx, warnings, ptxas, folder):
    """What is wrong with one compilation, or None."""
    if ptx.startswith("refused: ") or warnings:
        return f"{ptx.splitlines()[0]} {' '.join(warnings)}"
    with open(f"{folder}/k.ptx", "w", encoding="utf-8") as file:
        file.write(ptx.rstrip("\0"))
    target = ptx.split(".target ", 1)[1].split()[0].rstrip(",")
    done = ptxas and subprocess.run([ptxas, "-c", "-arch", target, f"{folder}/k.ptx", "-o", f"{folder}/k.o"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done and done.returncode else None


def arguments(given):
    """Numba's parameters of an array: two owners, count, bytes of an element, data, shape, strides."""
    elements, *shape = given.split()
    kind, count, *_ = elements.split(":")
    if count == elements.split(":")[-1]:
        return [given]
    bytes_of_all = int(kind[1:]) // 8 * int(count)
    shape = [int(n) for n in shape] or [int(count)]
    items, strides = math.prod(shape), []
    for n in shape:
        strides.append((strides[-1] if strides else bytes_of_all) // n)
    numbers = [0, 0, items, bytes_of_all // items]
    return [*(f"i64:{n}" for n in numbers), f"buf:{elements}", *(f"i64:{n}" for n in shape + strides)]


def executed(nvmini, ptx, name, folder):
    """The bytes of all buffers after the kernel ran in the simulator, or what it found."""
    block, given = EXECUTED[name]
    with open(f"{folder}/k.ptx", "w", encoding="utf-8") as file:
        file.write(ptx.rstrip("\0"))
    command, places = [nvmini, "run", f"{folder}/k.ptx", "--block", block, "--no-checks"], []
    for index, argument in enumerate(a for g in given for a in arguments(g)):
        command += ["--arg", argument]
        if argument.startswith("buf:"):
            places.append(f"{folder}/{index}")
            command += ["--save", f"{index}:{places[-1]}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        return done.stdout
    buffers = []
    for place in places:
        with open(place, "rb") as file:
            buffers.append(file.read())
    return buffers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", default=os.environ.get("NUMBA_PYTHON", ""))
    parser.add_argument("--build", default="build")
    parser.add_argument("--keep", help="write our PTX into this folder")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return compile_all()
    if not options.python:
        print("skipped: no environment with numba-cuda; --python says where it is")
        return 0
    theirs = found_with(options.python, "")
    ours = found_with(options.python, os.path.abspath(f"{options.build}/compat/libnvvm.so.4"))
    ptxas, failed, neither = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas"), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for way, (ptx, warnings) in ours.items():
            wrong = fault(ptx, warnings, ptxas, folder)
            if wrong and fault(*theirs[way], ptxas, folder):
                print(f"{way}: fails with both: {wrong}")
                neither += 1
            elif wrong:
                print(f"{way}: {wrong}")
                failed += 1
            elif way.split(",")[0] in EXECUTED:
                mine, other = (executed(f"{options.build}/nvmini", f[way][0], way.split(",")[0], folder) for f in (ours, theirs))
                if mine != other or isinstance(mine, str):
                    print(f"{way}: executed with other results: {mine if isinstance(mine, str) else ''}")
                    failed += 1
            if options.keep:
                with open(os.path.join(options.keep, way.replace(", ", "-") + ".ptx"), "w", encoding="utf-8") as file:
                    file.write(ptx)
    print(f"numba-kernels: {len(ours) - failed - neither} passed, {failed + (not ours)} failed, {neither} skipped")
    return 1 if failed or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
