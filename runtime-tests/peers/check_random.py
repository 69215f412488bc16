#!/usr/bin/env python3
"""Executes random programs of generators that were not written here, and compares what they compute.

    check_random.py [--csmith N] [--yarpgen N] [--stress N] [--seed S] [--jobs J] [--keep FOLDER] [--ptxas EVERY]

Csmith and YARPGen write C programs that print a checksum. Each is compiled for the host with clang -O0 and traps for
undefined behaviour (a program that traps, or does not end in a fifth of a second, is no case), and to NVVM IR in three shapes: -O0, raw
-O1 or -O2, and after a random pipeline of opt-19. `nvmini run` executes each shape as IR and as the PTX of five levels, once
more with the vectorizer's knobs set: the checksum must be the host's. llvm-stress writes functions without a meaning:
what -O0 leaves in their buffers, without a finding, the other ways must leave too. ptxas reads the PTX of every EVERYth shape.

A program that differs is kept in FOLDER/SET-SEED with a script for each way. Refusals are listed by reason.
Closes with `N passed, N failed, N skipped`; exit status 1 if a program failed. A generator that is absent is skipped.
"""
import argparse
import collections
import concurrent.futures
import glob
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import random_stress

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
C_FLAGS = ["-w", "-ffreestanding", "-std=gnu11", f"-I{HERE}/random_c"]
HOST_FLAGS = ["-O0", "-fsanitize=undefined,float-cast-overflow", "-fsanitize-trap=all", "-nostdlib", "-static", "-fuse-ld=lld"]
GPU_FLAGS = ["--target=nvptx64-nvidia-cuda", "-march=sm_90", "-S", "-emit-llvm"]
STEPS = 5_000_000  # of the simulator; programs that need more are skipped
YARPGEN_TRIES, MOST_ELEMENTS = 12, 20_000
STRESS_FUNCTIONS = 8  # of a module: a start of the command is shared
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Ofc=max"]

# Passes of opt-19 whose output front ends do not write, and those that users run. Left out: those that LLVM itself calls unfinished.
FUNCTION_PASSES = """sroa mem2reg reg2mem scalarizer simplifycfg instcombine gvn jump-threading correlated-propagation
    reassociate mldst-motion dse memcpyopt sccp bdce adce sink slp-vectorizer loop-vectorize loop-unroll loop-distribute
    loop-load-elim lcssa loop-simplify mergereturn flattencfg separate-const-offset-from-gep slsr nary-reassociate
    speculative-execution div-rem-pairs consthoist tailcallelim break-crit-edges instsimplify aggressive-instcombine
    load-store-vectorizer vector-combine float2int early-cse early-cse<memssa> callsite-splitting lower-switch
    lower-switch,fix-irreducible,unify-loop-exits,structurizecfg lower-switch,fix-irreducible lower-switch,unify-loop-exits constraint-elimination
    infer-address-spaces infer-alignment partially-inline-libcalls sroa<modify-cfg>""".split()
LOOP_PASSES = """loop-rotate indvars licm loop-idiom loop-deletion simple-loop-unswitch<nontrivial> loop-unroll-full loop-reduce
    loop-instsimplify loop-simplifycfg loop-bound-split canon-freeze""".split()
MODULE_PASSES = """inline globalopt ipsccp deadargelim argpromotion function-attrs globaldce mergefunc constmerge partial-inliner
    called-value-propagation""".split()
LEVEL_PASSES = ["default<O1>", "default<O2>", "default<O3>", "default<Os>", "default<O0>"]
OPT_FLAGS = [[], [], ["-force-vector-width=4"], ["-force-vector-width=2", "-force-vector-interleave=2"],
             ["-force-vector-width=4", "-prefer-predicate-over-epilogue=predicate-else-scalar-epilogue"], ["-unroll-count=3"],
             ["-unroll-runtime", "-unroll-count=2"], ["-structurizecfg-skip-uniform-regions"]]

Shape = collections.namedtuple("Shape", "name file level")
Outcome = collections.namedtuple("Outcome", "status detail executions shapes refusals assembled")


class Refused(Exception):
    """The program is no case; the text says why."""


def call(command, limit=60, binary=False, folder=None):
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=not binary, errors=None if binary else "replace", timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"" if binary else "", "does not end in time")


def pipeline(rng):
    """Text for opt's -passes."""
    passes = []
    for _ in range(rng.randint(2, 9)):
        kind = rng.random()
        if kind < 0.55: passes.append(f"function({rng.choice(FUNCTION_PASSES)})")
        elif kind < 0.8: passes.append(f"function(loop-mssa({rng.choice(LOOP_PASSES)}))")
        elif kind < 0.93: passes.append(rng.choice(MODULE_PASSES))
        else: passes.append(rng.choice(LEVEL_PASSES))
    return ",".join("cgscc(argpromotion)" if p == "argpromotion" else "cgscc(inline)" if p == "inline" else p for p in passes)


def knobs(rng):
    return ["--knob", f"force-vector-width={rng.choice([2, 4, 8, 16])}", "--knob", f"force-vector-interleave={rng.choice([1, 2, 4])}",
            "--knob", f"prefer-predicate-over-epilogue={rng.choice([-1, 0, 1])}", "--knob", "enable-early-exit-vectorization=1",
            "--knob", f"force-vector-width-outer={rng.choice([0, 1])}", "--knob", f"vectorizer-min-trip-count={rng.choice([2, 16])}"]


def ways(rng):
    return [["--from", "ir"], *[[level] for level in LEVELS], [rng.choice(["-O2", "-O3"]), *knobs(rng)]]


# ---- The generators of C ------------------------------------------------------------------------


def csmith_source(seed, folder, options):
    rng = random.Random(seed)
    words = ["--no-argc", "--concise", "--no-hash-value-printf", "--max-funcs", str(rng.randint(2, 8)), "--max-block-depth", str(rng.randint(2, 5)),
             "--max-array-len-per-dim", str(rng.choice([5, 10, 40])), "--max-expr-complexity", str(rng.randint(3, 10))]
    if rng.random() < 0.3: words.append("--float")
    if rng.random() < 0.5: words.append("--no-volatiles")
    if rng.random() < 0.3: words.append("--no-packed-struct")
    if rng.random() < 0.2: words.append("--random-random")
    path = f"{folder}/program.c"
    made = call(["prlimit", "--cpu=1", "csmith", "--seed", str(seed), "-o", path, *words], 20, folder=folder)  # writes platform.info where it runs
    if made.returncode: raise Refused("csmith gives up")
    return [path, f"-I{options.csmith_include}"]


def yarpgen_source(seed, folder, options):
    """The first of some seeds whose arrays the simulator fills and sums up in time; most have none, or millions of elements."""
    for attempt in range(YARPGEN_TRIES):
        made = call([options.yarpgen_path, f"--seed={seed * YARPGEN_TRIES + attempt}", "--std=c", f"--out-dir={folder}"], 20)
        if made.returncode: continue
        with open(f"{folder}/driver.c", encoding="utf-8") as f: driver = f.read()
        arrays = re.findall(r"^\S.* arr_\d+ ((?:\[\d+\] ?)+)", driver, re.MULTILINE)
        elements = sum(math.prod(int(n) for n in re.findall(r"\d+", dimensions)) for dimensions in arrays)
        if elements <= MOST_ELEMENTS and (elements or attempt > YARPGEN_TRIES // 2): break
    else: raise Refused("arrays of more than 20000 elements")
    with open(f"{folder}/program.c", "w", encoding="utf-8") as f:
        f.write('#include "stdio.h"\n#include "driver.c"\n#include "func.c"\nPROGRAM_ENTRY\n')
    return [f"{folder}/program.c"]


def host_checksum(source, folder):
    built = call(["clang-19", *C_FLAGS, *HOST_FLAGS, *source, "-o", f"{folder}/host"])
    if built.returncode: raise Refused("clang refuses it for the host: " + first_error(built.stderr))
    ran = call([f"{folder}/host"], 20, binary=True)
    if ran.returncode in (124, -signal.SIGVTALRM): raise Refused("does not end on the host")
    if ran.returncode or len(ran.stdout) != 8: raise Refused("undefined behaviour on the host")
    return str(struct.unpack("<Q", ran.stdout)[0])


def c_shapes(source, folder, rng):
    """The program's IR: unoptimized, for an optimizer, and after a random pipeline."""
    raw = rng.choice(["-O1", "-O2"])
    for name, flags in (("O0", ["-O0", "-Xclang", "-disable-O0-optnone"]), ("raw", [raw, "-Xclang", "-disable-llvm-passes"])):
        built = call(["clang-19", *C_FLAGS, *GPU_FLAGS, *flags, *source, "-o", f"{folder}/{name}.ll"])
        if built.returncode: raise Refused("clang refuses it for the GPU: " + first_error(built.stderr))
        yield Shape(name, f"{folder}/{name}.ll", raw if name == "raw" else "-O0")
    for _ in range(3):
        shape = optimized(rng, folder)
        if shape:
            yield shape
            break


def optimized(rng, folder):
    """A shape after a random pipeline; None where opt does not come to its end."""
    passes, flags = pipeline(rng), rng.choice(OPT_FLAGS)
    base = "O0" if rng.random() < 0.25 and os.path.exists(f"{folder}/O0.ll") else "raw"
    opt = ["prlimit", "--cpu=2", "opt-19", "-S", f"-passes={passes}", *flags]  # structurized code grows with each pass
    built = call([*opt, f"{folder}/{base}.ll", "-o", f"{folder}/opt.ll"])
    return None if built.returncode else Shape(f"{base} {passes} {' '.join(flags)}", f"{folder}/opt.ll", "opt")


# ---- Executing ------------------------------------------------------------------------------------


def first_error(text):
    lines = [line for line in text.splitlines() if "error" in line or "finding" in line] or text.splitlines() or ["nothing said"]
    return lines[0].split("error: ", 1)[-1]


def reason(text):
    """Numbers and names out, so that equal reasons are counted together."""
    text = re.sub(r"^[^ ]*:\d+:\d+: ", "", text)
    text = re.sub(r"kernel k\d+, block.*thread \([\d,]*\) (exceeds the step limit: )?|, in f\d+, line \d+", "", text)
    text = re.sub(r"'[@%][^']*'|[@%][\w.$]+", "NAME", text)
    return re.sub(r"\b0x[0-9a-f]+\b|\b\d+\b", "N", text)[:160]


def execute(options, shape, way):
    """What a way prints; findings and refusals as text that begins with `!`."""
    ran = call([options.nvmini, "run", shape.file, "--fma-level", "0", "--step-limit", str(STEPS), *way, *options.arguments], 120)
    if ran.returncode == 0: return ran.stdout.strip()
    if ran.returncode == 1: return "!" + (ran.stderr.strip() or "exit status 1")
    return f"!exit status {ran.returncode}: {ran.stderr.strip()[-300:]}"


def assemble(options, shape, level, folder):
    """None, or what ptxas has against our PTX."""
    ptx = f"{folder}/assembled.ptx"
    built = call([options.nvmini, "compile", "--cpu", "sm_90", level, "--fma-level", "0", shape.file, "-o", ptx])
    if built.returncode: return None  # counted where it is executed
    read = call([options.ptxas_path, "-arch=sm_90", "-O0", ptx, "-o", f"{folder}/assembled.cubin"], 300)
    if read.returncode == 124 or "insufficient memory" in read.stderr: return None
    return None if read.returncode == 0 else "ptxas: " + (read.stdout + read.stderr).strip()[:300]


def llc_result(options, shape, folder):
    """What llc's PTX of the shape computes: is it the pipeline that changed the program?"""
    ptx = f"{folder}/llc.ptx"
    call(["llc-19", "-mcpu=sm_90", shape.file, "-o", ptx])
    return execute(options, shape._replace(file=ptx), [])


def is_refusal(text):
    return text.startswith("!") and "error:" in text and "kernel" not in text.split("error:")[0] and not text.startswith("!exit status")


def check_shapes(options, shapes, expected, rng, folder, sample):
    """Compares every shape in every way. Returns an Outcome."""
    executions, refusals, assembled, count = 0, collections.Counter(), 0, 0
    for shape in shapes:
        count += 1
        for way in ways(rng):
            found = execute(options, shape, way)
            executions += 1
            if is_refusal(found):
                refusals[reason(first_error(found))] += 1
                break
            if shape.name == "O0" and way[0] == "--from" and "misaligned:" in found:  # on the host it was aligned by luck
                raise Refused("uses the address of a member of a packed structure")
            if "step-limit" in found:
                if shape.name == "O0" and way[0] == "--from": raise Refused("more than 5 million steps")
                continue
            if "uninitialized:" in found:  # PTX cannot say that bytes are only copied, padding with them
                refusals["bytes that were never written are copied: compared without that check"] += 1
                found = execute(options, shape, [*way, "--no-checks"])
            if found != expected and shape.level == "opt" and way[0] == "--from" and llc_result(options, shape, folder) == found:
                refusals["opt-19 changes the result, llc-19 agrees"] += 1
                break
            if found != expected:
                return Outcome("failed", f"{shape.name} [{os.path.basename(shape.file)}] {' '.join(way)}: expected {expected}, found {found[:300]}",
                               executions, count, refusals, assembled)
        else:
            if sample and count == 1 + sample % 3:
                wrong = assemble(options, shape, rng.choice(LEVELS), folder)
                assembled += 1
                if wrong: return Outcome("failed", f"{shape.name}: {wrong}", executions, count, refusals, assembled)
    return Outcome("passed", "", executions, count, refusals, assembled)


def check_c(options, name, seed, folder):
    rng = random.Random(seed)
    try:
        source = SOURCES[name](seed, folder, options)
        expected = host_checksum(source, folder)
        sample = seed if options.ptxas_path and seed % options.ptxas == 0 else 0
        return check_shapes(options, c_shapes(source, folder, rng), expected, rng, folder, sample)
    except Refused as why:
        return Outcome("skipped", str(why), 0, 0, collections.Counter(), 0)


SOURCES = {"csmith": csmith_source, "yarpgen": yarpgen_source}

# ---- llvm-stress --------------------------------------------------------------------------------

STRESS_ARGUMENTS = [*[f"--arg=buf:u8:512:random:{n}" for n in (1, 2, 3)], "--arg=i32:1", "--arg=i64:3", "--arg=i8:5",
                    "--print=0", "--print=1", "--print=2", "--kernel=*"]


def execute_kernels(options, shape, way):
    """{kernel: what it leaves, or its finding}; {"": text} where nothing was executed."""
    ran = call([options.nvmini, "run", shape.file, "--fma-level", "0", "--step-limit", str(STEPS), *way, *STRESS_ARGUMENTS], 120)
    if ran.returncode not in (0, 1): return {"": f"!exit status {ran.returncode}: {ran.stderr.strip()[-300:]}"}
    results, name = {}, ""
    for line in ran.stdout.splitlines():
        if line.endswith(":"): name = line[:-1]
        else: results[name] = results.get(name, "") + line + "\n"
    for line in ran.stderr.splitlines():
        kernel = re.search(r"kernel (k\d+)", line)
        if kernel: results[kernel[1]] = "!" + line.removeprefix("nvmini: ")
        elif "" not in results: results[""] = "!" + line  # the first says what is refused
    return results


def compile_as_written(options, functions, folder):
    """None, or what is wrong: nvmini refuses with a reason or compiles with the verifier on, and ptxas reads it."""
    path, wrong, refused, assembled = f"{folder}/written.ll", None, collections.Counter(), 0
    for number, function in enumerate(functions):
        with open(path, "w", encoding="utf-8") as f: f.write(random_stress.module([function]))
        for level in ("-O0", "-O3"):
            built = call([options.nvmini, "compile", "--cpu", "sm_90", level, "--verify-each", path, "-o", f"{folder}/written.ptx"])
            if built.returncode == 1: refused[reason(first_error(built.stderr))] += 1
            elif built.returncode: wrong = f"function {number} as written, {level}: exit status {built.returncode}: {built.stderr[-300:]}"
        if options.ptxas_path and number == 0:
            assembled += 1
            wrong = wrong or assemble(options, Shape("as written", path, ""), "-O3", folder)
        if wrong: break
    return wrong, refused, assembled


def execute_functions(options, functions, folder):
    with open(f"{folder}/raw.ll", "w", encoding="utf-8") as f: f.write(random_stress.module(functions))
    return execute_kernels(options, Shape("defined", f"{folder}/raw.ll", "raw"), ["--from", "ir"])


def check_stress(options, name, seed, folder):
    """Eight functions."""
    rng = random.Random(seed)
    made = [call(["llvm-stress-19", f"--size={rng.choice([20, 50, 100, 200, 400])}", f"--seed={seed * STRESS_FUNCTIONS + n}", "-o", "-"]).stdout
            for n in range(STRESS_FUNCTIONS)]
    wrong, refusals, assembled = compile_as_written(options, made, folder)
    if wrong: return Outcome("failed", wrong, 0, 0, refusals, assembled)
    functions = [random_stress.defined(text) for text in made]
    right = execute_functions(options, functions, folder)
    if "" in right: return Outcome("failed", "as IR: " + right[""], 1, 1, refusals, assembled)
    refusals.update("no case: " + reason(text) for text in right.values() if text.startswith("!"))
    functions = [text for n, text in enumerate(functions) if not right[f"k{n}"].startswith("!")]
    if not functions: return Outcome("skipped", "no function is a case", 0, 0, refusals, assembled)
    cases = execute_functions(options, functions, folder)
    shapes = [Shape("defined", f"{folder}/raw.ll", "raw")]
    shapes += filter(None, [optimized(rng, folder)])
    executions = len(cases)
    for shape in shapes:
        for way in ways(rng):
            found = execute_kernels(options, shape, way)
            if is_refusal(found.get("", "")):
                refusals[reason(first_error(found[""]))] += 1
                break
            executions += len(cases)
            different = [kernel for kernel in cases if found.get(kernel) != cases[kernel]]
            if different: return Outcome("failed", difference(shape, way, different, cases, found), executions, len(shapes), refusals, assembled)
    return Outcome("passed", "", executions, len(shapes), refusals, assembled)


def difference(shape, way, different, cases, found):
    first = found.get(different[0]) or found.get("", "nothing")
    a, b = cases[different[0]].split(), first.split()
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), 0)
    said = first[:300] if first.startswith("!") else f"expected {' '.join(a[at:at + 8])}, found {' '.join(b[at:at + 8])} at byte {at}"
    return f"{shape.name} [{os.path.basename(shape.file)}] {' '.join(way)}: {' '.join(different)}: {said}"


def keep(options, name, seed, folder, outcome):
    to = f"{options.keep}/{name}-{seed}"
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    with open(f"{to}/why.txt", "w", encoding="utf-8") as f:
        f.write(outcome.detail + "\n")
    return to


def check_one(options, name, seed):
    with tempfile.TemporaryDirectory() as folder:
        outcome = (check_stress if name == "stress" else check_c)(options, name, seed, folder)
        return outcome, keep(options, name, seed, folder, outcome) if outcome.status == "failed" else ""


# ---- The report -----------------------------------------------------------------------------------


def run_set(options, name, count, totals):
    skips, refusals, sums = collections.Counter(), collections.Counter(), collections.Counter()
    seeds = range(options.seed, options.seed + count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, (outcome, kept) in zip(seeds, pool.map(lambda s: check_one(options, name, s), seeds)):
            totals[outcome.status] += 1
            sums.update({outcome.status: 1, "shapes": outcome.shapes, "executions": outcome.executions, "assembled": outcome.assembled})
            refusals.update(outcome.refusals)
            if outcome.status == "skipped": skips[reason(outcome.detail)] += 1
            if outcome.status == "failed": print(f"{name} {seed}: {outcome.detail}\n  kept in {kept}", flush=True)
    print(f"{name}: {sums['passed']} programs passed, {sums['failed']} failed, {sums['skipped']} skipped; {sums['shapes']} shapes, "
          f"{sums['executions']} executions, ptxas read {sums['assembled']}", flush=True)
    for title, counts in (("no case", skips), ("refused", refusals)):
        for text, n in counts.most_common(): print(f"  {title}: {n} {text}", flush=True)


def find_peers(options):
    """The sets that can be made on this machine."""
    tools = [tool for tool in ("clang-19", "opt-19", "ld.lld") if not shutil.which(tool)]
    include = next(iter(glob.glob("/usr/include/csmith*/safe_math.h") + glob.glob("/usr/local/include/csmith*/safe_math.h")), "")
    options.csmith_include = os.path.dirname(include)
    options.ptxas_path = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas") or ""
    if not options.ptxas_path: print("ptxas is not installed: PTX is not read by it")
    options.yarpgen_path = shutil.which(options.yarpgen_command) or ""
    absent = {"csmith": "" if shutil.which("csmith") and include else "csmith", "yarpgen": "" if options.yarpgen_path else "yarpgen",
              "stress": "" if shutil.which("llvm-stress-19") else "llvm-stress-19"}
    return {name: " ".join(tools + [word] if word else tools) for name, word in absent.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csmith", type=int, default=0, metavar="N", help="programs by Csmith")
    parser.add_argument("--yarpgen", type=int, default=0, metavar="N", help="programs by YARPGen")
    parser.add_argument("--yarpgen-command", default="yarpgen", metavar="PATH", help="built from its public source; else as PATH says")
    parser.add_argument("--stress", type=int, default=0, metavar="N", help="functions by llvm-stress, eight a program")
    parser.add_argument("--seed", type=int, default=1, help="of the first program of each set")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", default=f"{ROOT}/build/random-programs", metavar="FOLDER")
    parser.add_argument("--ptxas", type=int, default=10, metavar="EVERY", help="ptxas reads a shape of every EVERYth program")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    options = parser.parse_args()
    options.arguments = ["--arg", "buf:u64:1:zero", "--print", "0"]
    totals = collections.Counter(passed=0, failed=0, skipped=0)
    absent = find_peers(options)
    for name in absent:
        count = getattr(options, name)
        if count and absent[name]:
            print(f"{name}: skipped, not installed: {absent[name]}")
            totals["skipped"] += count
        elif count: run_set(options, name, -(-count // STRESS_FUNCTIONS) if name == "stress" else count, totals)
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
