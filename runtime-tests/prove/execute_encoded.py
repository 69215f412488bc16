#!/usr/bin/env python3
"""Tests the encoder of prove_passes.py by executing it: random functions (gen_small.py) with numbers for arguments and
memory, once as encoded terms, which then fold to numbers, once as code that clang makes for this machine at -O0.

usage: execute_encoded.py [--count N] [--seed S]

What the encoder calls undefined, poison or undef is no case. Prints `N passed, N failed`; skipped in a word without clang.
"""
import argparse
import ctypes
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import encode
import gen_small
import irtext
import memory
import refine
import terms as T
from encode import Val
from memory import EXT, c64

SIZE, INPUTS, PER_MODULE = 64, 6, 25
PLACES = [0x100000, 0x200000]


def clang():
    return next((c for c in ("clang-19", "clang", "clang-14") if shutil.which(c)), None)


def number(rng, w):
    return rng.choice([0, 1, 2, 3, 7, -1, -2, 1 << (w - 1), (1 << (w - 1)) - 1, rng.getrandbits(w), rng.getrandbits(min(w, 4))]) & ((1 << w) - 1)


def encoded(module, f, numbers, data):
    """(result or None, {address: byte}) of the encoder, or why there is none."""
    T.reset()
    world = memory.World()
    world.places, args = {}, []
    pointers = 0
    for (t, _, facts), n in zip(f.args, numbers):
        if t[0] == "p":
            place, tags = PLACES[pointers], EXT
            block = memory.Block("ext", c64(place), c64(SIZE))
            if "noalias" in facts:
                block.tag = "n:" + str(pointers)
                world.blocks[block.tag], tags = block, frozenset((block.tag,))
            else:
                world.ext.append(block)
            world.initial_bytes.update({place + k: b for k, b in enumerate(data[pointers])})
            args.append(Val(c64(place), T.FALSE, (), tags))
            pointers += 1
        else:
            v = encode.Run(world, "s", module, {}).attribute_facts(facts, Val(T.const(n, t[1])))
            args.append(v)
    run = encode.Run(world, "s", module, {}, 200)
    finals = run.function(f, args, encode.State(T.TRUE, {}, memory.start(), T.const(0, 32), {}))
    if any(c is not T.FALSE for c in run.undefined) or run.bounded:
        return None
    if len(finals) != 1 or finals[0].condition is not T.TRUE:
        raise irtext.Unsupported("more than one end")
    end = finals[0]
    if end.value != [] and (end.value.poison is not T.FALSE or not T.is_const(end.value.bits)):
        return None
    bytes_after = []
    for p in range(pointers):
        tags = frozenset(tag for tag in [*world.blocks, "ext"] if tag[:2] != "a:")
        for k in range(SIZE):
            b, q = run.view.byte(end.mem, c64(PLACES[p] + k), tags, None)
            bytes_after.append(None if q is not T.FALSE or not T.is_const(b) else b.val)
    return end.value.bits.val if end.value != [] else None, bytes_after


def host(library, f, numbers, data):
    function = getattr(library, f.name[1:])
    buffers = [(ctypes.c_uint8 * SIZE)(*d) for d in data]
    rest, values, kinds = iter(buffers), [], []
    for (t, _, _), n in zip(f.args, numbers):
        if t[0] == "p":
            values.append(ctypes.addressof(next(rest)))
            kinds.append(ctypes.c_uint64)
        else:
            values.append(n)
            kinds.append(ctypes.c_uint64)
    function.argtypes, function.restype = kinds, ctypes.c_uint64 if f.type != ("void",) else None
    r = function(*values)
    return (r & ((1 << f.type[1]) - 1) if f.type != ("void",) else None), [b for x in buffers for b in x]


def compare(seed, compiler, folder):
    text = gen_small.generate(seed, PER_MODULE)
    parts = [p for p in irtext.split(text) if p.startswith("define")]
    module, texts = irtext.module(text)
    known = {n: t for n, t in texts.items() if not re.search(r"@(some|pure|reading)", t)}
    # llvm 19 knows no samesign; what it means is the same without it, where the result is no poison.
    code = "\n".join(p.replace("icmp samesign", "icmp") for p in parts if not re.search(r"@(some|pure|reading)", p))
    path = f"{folder}/{seed}"
    declared = re.sub(r"@llvm\.assume\(i1 [^)]*\)", "@llvm.donothing()", code)
    with open(path + ".ll", "w", encoding="utf-8") as f:
        f.write(declared)
    built = subprocess.run([compiler, "-x", "ir", "-O0", "-shared", "-fPIC", "-w", path + ".ll", "-o", path + ".so"], capture_output=True, text=True,
                           check=False)
    if built.returncode:
        return 0, [f"seed {seed}: {built.stderr[:500]}"], {}
    library, rng, good, bad, left = ctypes.CDLL(path + ".so"), random.Random(seed), 0, [], {}
    for name, body in known.items():
        f = irtext.function(body, module)
        for _ in range(INPUTS):
            numbers = [number(rng, t[1]) if t[0] == "i" else 0 for t, _, _ in f.args]
            data = [[number(rng, 8) for _ in range(SIZE)] for t, _, _ in f.args if t[0] == "p"]
            try:
                mine = encoded(module, f, numbers, data)
            except irtext.Unsupported as e:
                left[str(e)] = left.get(str(e), 0) + 1
                continue
            if mine is None:
                left["undefined"] = left.get("undefined", 0) + 1
                continue
            theirs = host(library, f, numbers, data)
            same = mine[0] == theirs[0] and all(a is None or a == b for a, b in zip(mine[1], theirs[1]))
            good += same
            if not same:
                bad.append(f"seed {seed} {name} {numbers}: encoded {mine[0]}, host {theirs[0]}; "
                           f"bytes {[(k, a, b) for k, (a, b) in enumerate(zip(mine[1], theirs[1])) if a is not None and a != b]}\n{body}")
    return good, bad, left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="functions")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not clang():
        print("clang is not installed: skipped\n0 passed, 0 failed")
        return 0
    good, failed, left = 0, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for k in range((options.count + PER_MODULE - 1) // PER_MODULE):
            g, bad, more = compare(options.seed + k, clang(), folder)
            good, failed = good + g, failed + len(bad)
            for why, n in more.items():
                left[why] = left.get(why, 0) + n
            for line in bad[:3]:
                print(line)
    print("left out: " + ", ".join(f"{why} {n}" for why, n in sorted(left.items())))
    print(f"{good} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(T.run_deep(main))
