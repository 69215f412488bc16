#!/usr/bin/env python3
"""How fast IR becomes PTX, beside clang -x ir -O3 -S on the same input in the same run.

    bench_compile.py [--modules FOLDER] [--count N] [--cpu sm_90] [--llvm 19] [--growth] [--runs 3]

Modules: N of FOLDER's .ll modules, evenly chosen by size, each in a process of its own, at -O0, -O1
and -O3; and FOLDER's largest alone. Processor time (user + system), the sum of each module's median,
and peak memory; then both as ratios to clang's.
Growth (--growth): modules made here, each four times as large as the one before: one function of
many instructions, of many variables, of many blocks; many functions; a chain of them; a switch of many cases; nested
loops; random control flow. How often the time grows: 4 is linear. Only ratios mean something on another machine.
"""
import argparse
import glob
import os
import shutil
import sys
import tempfile

from bench import measure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = 'target triple = "nvptx64-nvidia-cuda"\n'


def instructions(n):
    """One block of n instructions that all depend on loads."""
    yield HEAD + "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  %v0 = load i32, ptr addrspace(1) %p\n"
    ops = ["add", "xor", "mul", "sub", "or", "and"]
    for i in range(1, n):
        yield f"  %v{i} = {ops[i % 6]} i32 %v{i - 1}, %v{i * 7919 % i}\n"
    yield f"  store i32 %v{n - 1}, ptr addrspace(1) %p\n  ret void\n}}\n"


def variables(n):
    """n variables in memory, each written and read in blocks of their own."""
    yield HEAD + "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %x) {\n"
    for i in range(n):
        yield f"  %a{i} = alloca i32\n"
    yield "  br label %b0\n"
    for i in range(n):
        yield (f"b{i}:\n  store i32 %x, ptr %a{i}\n  %c{i} = icmp ugt i32 %x, {i}\n"
               f"  br i1 %c{i}, label %t{i}, label %b{i + 1}\nt{i}:\n  %o{i} = load i32, ptr %a{i * 31 % (i + 1)}\n"
               f"  store i32 %o{i}, ptr %a{i}\n  store volatile i32 %o{i}, ptr addrspace(1) %p\n  br label %b{i + 1}\n")
    yield f"b{n}:\n  ret void\n}}\n"


def functions(n):
    """n functions, each calling the next two."""
    yield HEAD
    for i in range(n):
        calls = "".join(f"  %c{k} = call i32 @f{i + k}(i32 %x)\n" for k in (1, 2) if i + k < n)
        last = "%c2" if i + 2 < n else "%x"
        yield (f"define i32 @f{i}(i32 %x) noinline {{\n{calls}  %r = add i32 {last}, {i}\n"
               "  %s = mul i32 %r, %x\n  ret i32 %s\n}\n")


def chain(n):
    """n functions, each called once, by the next."""
    yield HEAD + "define internal i32 @f0(i32 %x) {\n  ret i32 %x\n}\n"
    for i in range(1, n):
        yield (f"define internal i32 @f{i}(i32 %x) {{\n  %c = call i32 @f{i - 1}(i32 %x)\n  %r = xor i32 %c, {i}\n"
               "  %s = mul i32 %r, %c\n  ret i32 %s\n}\n")
    yield (f"define ptx_kernel void @k(ptr %p) {{\n  %x = load i32, ptr %p\n  %r = call i32 @f{n - 1}(i32 %x)\n"
           "  store i32 %r, ptr %p\n  ret void\n}\n")


def cases(n):
    """A switch of n cases into n / 8 blocks, whose phi merges them again."""
    blocks = max(1, n // 8)
    yield HEAD + "define i32 @k(i32 %x) {\n  switch i32 %x, label %end [\n"
    for i in range(n):
        yield f"    i32 {i * 3}, label %b{i % blocks}\n"
    yield "  ]\n"
    for i in range(blocks):
        yield f"b{i}:\n  %v{i} = mul i32 %x, {i}\n  br label %end\n"
    entries = ", ".join(["[ 0, %0 ]"] + [f"[ %v{i}, %b{i} ]" for i in range(blocks)])
    yield f"end:\n  %r = phi i32 {entries}\n  ret i32 %r\n}}\n"


def loops(n):
    """n loops, each around the next."""
    yield HEAD + "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {\nentry:\n  br label %h0\n"
    for i in range(n):
        before, inner = ("entry" if i == 0 else f"h{i - 1}"), (f"h{i + 1}" if i + 1 < n else f"l{i}")
        yield (f"h{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %j{i}, %l{i} ]\n"
               f"  store volatile i32 %i{i}, ptr addrspace(1) %p\n  br label %{inner}\n")
    for i in reversed(range(n)):
        after = f"l{i - 1}" if i else "end"
        yield (f"l{i}:\n  %j{i} = add i32 %i{i}, 1\n  %c{i} = icmp ult i32 %j{i}, %n\n"
               f"  br i1 %c{i}, label %h{i}, label %{after}\n")
    yield "end:\n  ret void\n}\n"


def blocks(n):
    """n blocks, each of which goes to two near it, before or behind."""
    yield HEAD + "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  br label %b0\n"
    for i in range(n):
        yield f"b{i}:\n  store volatile i32 {i}, ptr addrspace(1) %p\n  %v{i} = load volatile i32, ptr addrspace(1) %p\n"
        ways = [min(n - 1, max(0, i - 10 + (i * i + k) * 7919 % 31)) for k in (0, 11)]
        yield (f"  %c{i} = icmp ugt i32 %v{i}, {i}\n  br i1 %c{i}, label %b{ways[0]}, label %b{ways[1]}\n"
               if i + 1 < n else "  ret void\n}\n")


SHAPES = [(instructions, 62500), (variables, 3000), (functions, 12500), (chain, 4000), (cases, 6250), (loops, 64), (blocks, 5000)]


def growth(options, folder):
    print(f"{'shape':14} {'size':>8} {'seconds':>8} {'MB':>6}  growth of time (4: linear)")
    for shape, least in SHAPES:
        before = None
        for size in (least, least * 4, least * 16):
            path = os.path.join(folder, "grown.ll")
            with open(path, "w", encoding="ascii") as out:
                out.writelines(shape(size))
            found = measure([options.nvmini, "compile", path, "--cpu", options.cpu, "-O3", "-o", os.devnull], 1)
            if found is None:
                print(f"{shape.__name__:14} {size:8} failed")
                break
            grown = f"{found[0] / before:.1f}" if before and before > 0.02 else ""
            print(f"{shape.__name__:14} {size:8} {found[0]:8.2f} {found[1] / 1e6:6.0f}  {grown}")
            before = found[0]


def choose(folder, count):
    """`count` modules, from the smallest to the largest at even distances."""
    paths = sorted(glob.glob(os.path.join(folder, "**", "*.ll"), recursive=True), key=os.path.getsize)
    if len(paths) <= count:
        return paths
    return [paths[i * (len(paths) - 1) // (count - 1)] for i in range(count)]


def beside_clang(options):
    paths = choose(options.modules, options.count)
    commands = {f"nvmini {level}": [options.nvmini, "compile", "--cpu", options.cpu, level, "-o", os.devnull]
                for level in ("-O0", "-O1", "-O3")}
    clang = shutil.which(f"clang-{options.llvm}")
    if clang:
        commands["clang -O3"] = [clang, "-x", "ir", "-O3", "-S", "-o", os.devnull, "--target=nvptx64-nvidia-cuda",
                                 f"-march={options.cpu}", "-Wno-override-module", "-nogpulib"]
    for title, chosen in ((f"{len(paths)} modules", paths), ("the largest", paths[-1:])):
        sums, refused = {name: [0.0, 0] for name in commands}, 0
        for path in chosen:
            found = {name: measure(command + [path], options.runs) for name, command in commands.items()}
            if None in found.values():
                refused += 1
                continue
            for name, (seconds, peak) in found.items():
                sums[name] = [sums[name][0] + seconds, max(sums[name][1], peak)]
        size = sum(os.path.getsize(path) for path in chosen) / 1e6
        print(f"{title}, {size:.1f} MB" + (f", {refused} left out (refused by one of them)" if refused else ""))
        base = sums.get("clang -O3")
        for name, (seconds, peak) in sums.items():
            ratios = f"  clang takes {base[0] / seconds:6.1f} times as long, {base[1] / peak:5.1f} times the memory" if base and seconds else ""
            print(f"  {name:12} {seconds:8.3f} s {peak / 1e6:7.1f} MB{ratios}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "release", "nvmini"))
    parser.add_argument("--modules", default=os.path.join(ROOT, "samples"))
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--llvm", default="19")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    if options.growth:
        with tempfile.TemporaryDirectory() as folder:
            growth(options, folder)
    else:
        beside_clang(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
