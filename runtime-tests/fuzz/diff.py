#!/usr/bin/env python3
"""Executes random kernels (gen_kernels.py) in many ways and compares the results.

    diff.py [--count N] [--seed S] [--nvmini PATH] [--keep FOLDER] [--favour WHAT]... [--size S] [--rotate] [--levels N] [--serial]
            [--host N] [--no-reduce] [--no-swarm]

The IR as written is what the others are held against: the IR after each level's passes, and the PTX of
each level for sm_75 (sm_90 for modules whose inline assembly needs it), sm_90a and sm_100a, some under a random schedule; the IR
after six random passes, which get what the first passes of each level remove; every 20th module is also executed after each pass. The levels are those that `nvmini passes` knows. A module holds ten kernels,
so that a start of the command is shared by ten; the seed of a module is S, S+1, …. Modules of odd seeds are made of
a random subset of the generator's features (swarm.py).
A pass may load and mask bytes that are undefined, as long as they do not matter. The simulator, which
tracks definedness per value, not per bit, then has a finding, or a `freeze` that returns 0.
Therefore an execution that differs is repeated with --no-checks, and its values decide; not where it
ends with a finding of another kind, such as races.
Products and sums are not fused (--fma-level 0), except in the modules whose results do not depend on it (gen_precision.py).
With --rotate each level is executed once, as IR or for one of the CPUs in turn with the seed: for large counts.
--levels N executes N consecutive levels of the list; the seed chooses the first.
With --serial: loops for the vectorizer (gen_loops.py), forty a module, each in three ways: at -O2 or -O3, and
by the vectorizer alone, told widths and interleave counts.
With --host N also N modules of twenty single-thread functions (gen_functions.py) at -O0 and -O3, against the host
code that clang makes of them, where it is installed (../peers/check_exec.py).
A kernel that differs is kept as FOLDER/seed-N-kM.nvir with a test script, and reduced by `nvmini
reduce`. Ends, also when it is interrupted, with a line `N kernels, N executions, N differ`; exit status 1 if some do.
"""
import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import tempfile

import gen_kernels
import gen_loops

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PER_MODULE, LOOPS_PER_MODULE = 10, 40
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Ofc=max", "-Ofc=mid", "-Ofc=min"]
CPUS = ["sm_75", "sm_90a", "sm_100a"]


def levels(nvmini):
    def known(level):
        return subprocess.run([nvmini, "passes", level], capture_output=True, check=False).returncode == 0
    return [level for level in LEVELS if known(level)]


def pass_names(nvmini):
    text = subprocess.run([nvmini, "passes"], capture_output=True, text=True, check=False).stdout
    return [line.split()[0] for line in text.splitlines() if line[:1].isalpha()]


def fusing(text):
    """The options that fuse products and sums only in modules whose results do not depend on it."""
    return ["--fma-level", "2" if gen_kernels.FUSED in text else "0"]


def execute(nvmini, path, ways):
    """{kernel: its output}, the whole text under '' where the command fails as such."""
    command = [nvmini, "run", path, "--step-limit", "50000000", "-Wno-loop-not-unrolled", "-Wno-loop-not-vectorized",
               *ways]
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return {"": "does not end"}
    results, name = {}, ""
    for line in p.stdout.splitlines():
        if line.endswith(":"):
            name = line[:-1]
        else:
            results[name] = results.get(name, "") + line + "\n"
    for line in p.stderr.splitlines():
        kernel = line.split(" kernel ", 1)[1].split(",", 1)[0].split(" ")[0] if " kernel " in line else ""
        results[kernel] = results.get(kernel, "") + line.split(" kernel ")[0] + "\n"
    if p.returncode not in (0, 1):
        results[""] = results.get("", "") + f"exit status {p.returncode}\n"
    return results


def cpus(text):
    """CPUS, but for the first one if it does not have the instructions of the inline assembly."""
    return (["sm_90"] if gen_kernels.NEWER in text else CPUS[:1]) + CPUS[1:]


def all_ways(seed, known_levels, rotate, count=0, cpu_names=CPUS):
    ways = []
    chosen = [(seed + k) % len(known_levels) for k in range(count)] if count else range(len(known_levels))
    for k in chosen:
        level = known_levels[k]
        here = [["--from", "ir", level]] if level != "-O0" else []
        for j, cpu in enumerate(cpu_names):
            schedule = ["--schedule", f"random:{seed}"] if (seed + k + j) % 4 == 0 else []
            here.append([level, "--cpu", cpu, *schedule])
        ways += [here[(seed // len(known_levels) + k) % len(here)]] if rotate else here
    if seed % 20 == 0:
        ways.append(["--from", "ir", known_levels[-1], "--verify-each=run"])
    return ways


def loop_ways(seed):
    asked = ["--knob", "enable-early-exit-vectorization=1", "--knob", "force-vector-width-outer=1"]
    width, interleave = 2 << seed % 4, 1 << seed // 4 % 3
    forced = ["--knob", f"force-vector-width={width}", "--knob", f"force-vector-interleave={interleave}",
              "--knob", f"prefer-predicate-over-epilogue={seed % 3 - 1}", *asked]
    alone = ["--passes", "loop-vectorize,simplifycfg,combine,dce"]
    ways = [["-O3", "--cpu", "sm_80", *asked], ["-O3", "--cpu", "sm_100a", *asked], ["-O2", "--cpu", "sm_90"], ["--from", "ir", "-O3", *forced],
            [*alone, *forced, "--cpu", "sm_100"], ["--from", "ir", *alone, "--knob", "vectorizer-min-trip-count=2", *asked]]
    return ways[seed % 2::2]


def some_passes(seed, names):
    return ["--from", "ir", "--passes", ",".join(random.Random(f"passes {seed}").sample(names, 6))]


def may_be_undefined(output, way):
    """Whether what differs may come from undefined bits of a value: it has values, or a finding of
    these. Passes of levels do not leave undef in defined values, other lists of passes may."""
    kinds = ("uninitialized", "poison") if "--passes" in way else ("uninitialized",)
    return (output[:1].isdigit() or output[:1] == "-" or "--verify-each=run" in way or
            any(kind in output for kind in kinds))


def compare(nvmini, seed, options, known_levels, names, folder):
    """[(kernel, way, what was expected, what came)], and how many executions there were."""
    swarm = seed % 2 == 1 and not options.no_swarm
    text = (gen_loops.generate(seed, LOOPS_PER_MODULE, swarm) if options.serial
            else gen_kernels.generate(seed, PER_MODULE, options.size, options.favour, swarm))
    path = f"{folder}/{seed}.nvir"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    fma = fusing(text)
    right = execute(nvmini, path, [*fma, "--from", "ir"])
    found, executions = [], len(right)
    for kernel, output in right.items():
        if "step-limit" in output:
            continue
        if kernel == "" or not output[:1].isdigit() and output[:1] != "-":
            found.append((kernel, ["--from", "ir"], "a kernel without findings", output))
    ways = loop_ways(seed) if options.serial else all_ways(seed, known_levels, options.rotate, options.levels, cpus(text))
    for way in ways + [some_passes(seed, names)] * (not options.serial):
        here = execute(nvmini, path, fma + way)
        differing = [k for k in {*right, *here} if right.get(k) != here.get(k)]
        doubtful = [k for k in differing if may_be_undefined(here.get(k, ""), way)]
        if doubtful:
            unchecked = execute(nvmini, path, fma + way + ["--no-checks"])
            here.update({k: unchecked[k] for k in doubtful if k in unchecked})
        executions += len(here)
        for kernel in sorted(set(right) | set(here)):
            a, b = right.get(kernel, ""), here.get(kernel, "")
            if a != b and "step-limit" not in a and "step-limit" not in b:
                found.append((kernel, way + ["--no-checks"] * (kernel in doubtful), a, b))
    os.unlink(path)
    return text, found, executions


def keep(nvmini, seed, text, kernel, way, found, folder, reduce):
    """Saves the module with a script that fails as it did, and reduces it."""
    os.makedirs(folder, exist_ok=True)
    base = f"{folder}/seed-{seed}-{kernel or 'all'}"
    with open(f"{base}.nvir", "w", encoding="utf-8") as f:
        f.write(text.replace("--kernel *", f"--kernel {kernel}") if kernel else text)
    fma, words = " ".join(fusing(text)), " ".join(way)
    values = "|| exit 1" if found[:1].isdigit() or found[:1] == "-" else ""  # both run to their ends
    with open(f"{base}.sh", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n# Succeeds where the results still differ.\n"
                f"nvmini={nvmini}\n"
                f'a=$(timeout 20 $nvmini run "$1" {fma} --from ir --step-limit 10000000 2>/dev/null) || exit 1\n'
                f'b=$(timeout 20 $nvmini run "$1" {fma} {words} --step-limit 10000000 2>&1) {values}\n'
                '[ -n "$a" ] && [ "$a" != "$b" ]\n')
    os.chmod(f"{base}.sh", 0o755)
    if reduce and kernel and way != ["--from", "ir"]:
        subprocess.run([nvmini, "reduce", f"{base}.nvir", "--test", f"{base}.sh", "-o", f"{base}.reduced.nvir"],
                       check=False, timeout=1800)
    return f"{base}.nvir"


def against_host(nvmini, seed, count, keep):
    """How many modules of functions differ from what clang makes of them."""
    failed = 0
    for level in ("O0", "O3"):
        p = subprocess.run([sys.executable, f"{HERE}/../peers/check_exec.py", str(seed), "--count", str(count), "--level", level,
                            "--nvmini", nvmini, "--keep", f"{keep}/host-{level}"], capture_output=True, text=True, check=False)
        last = (p.stdout.splitlines() or [p.stderr or "nothing"])[-1]
        print(f"host, -{level}: {p.stdout.strip() or p.stderr.strip()}", flush=True)
        failed += p.returncode != 0 or not last.endswith(" 0 failed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="kernels")
    parser.add_argument("--seed", type=int, default=0, help="of the first module")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--keep", default=f"{ROOT}/build/fuzz-kernels")
    parser.add_argument("--favour", action="append", default=[])
    parser.add_argument("--size", type=int, default=25)
    parser.add_argument("--rotate", action="store_true", help="each level once")
    parser.add_argument("--levels", type=int, default=0, help="so many of the levels; 0: all")
    parser.add_argument("--serial", action="store_true", help="loops for the vectorizer")
    parser.add_argument("--host", type=int, default=0, help="modules of functions against clang's host code")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--no-swarm", action="store_true", help="all features in every module")
    options = parser.parse_args()
    nvmini = os.path.abspath(options.nvmini)
    known, names = levels(nvmini), pass_names(nvmini)
    per_module = LOOPS_PER_MODULE if options.serial else PER_MODULE
    modules = (options.count + per_module - 1) // per_module
    executions = differ = done = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed, options.seed + modules)
        try:
            for seed, (text, found, n) in zip(seeds, pool.map(lambda s: compare(nvmini, s, options, known, names, folder), seeds)):
                executions += n
                kept = set()
                for kernel, way, a, b in found:
                    if kernel in kept:
                        continue
                    kept.add(kernel)
                    path = keep(nvmini, seed, text, kernel, way, b, options.keep, not options.no_reduce)
                    print(f"seed {seed} {kernel}: {' '.join(way)}: {path}\n  expected {a[:200].strip()}\n  found    {b[:200].strip()}",
                          flush=True)
                differ += len(kept)
                done += 1
                if sys.stderr.isatty():
                    print(f"\r{seed - options.seed + 1}/{modules} modules", end="", file=sys.stderr)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print(f"stopped after {done} of {modules} modules")
    if options.host and done == modules:
        differ += against_host(nvmini, options.seed + 1, options.host, options.keep)
    print(f"{done * per_module} kernels, {executions} executions, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
