#!/usr/bin/env python3
"""Validates the passes with Z3: each function before and after each pass that changed it (refine.py, encode.py).

usage: prove_passes.py [--count N] [--seed S] [--levels LIST] [--limit MS] [--shape] [--stress N] [--undef-arguments] [--show] [FILE...]
       prove_passes.py --wrong      must refute the transformations of wrong_passes.txt, and prove its right ones
       prove_passes.py --quick      --wrong and 50 generated functions

Without files, functions are generated (gen_small.py), N of them; with --shape, opt 19 gives each module another shape
first (reg2mem, scalarizer, ...); --stress N takes N functions of llvm-stress 19. Per pass that changed a function the answer is one of
  proved        for all inputs that stay within the bound of iterations (counted apart where a loop may exceed it)
  refuted       for an input, which is printed; a failure
  unsupported   by name: a construct that is not encoded
  abstract      refuted, but only as to what is not known of floats, assembly or special registers
  timed out     Z3 gave no answer in the limit
Prints the counts; the last line is `N passed, N failed, N unsupported, N abstract, N timed out`. Exit status 1 if any failed.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import time

import gen_small
import irtext
import instructions
import refine
import terms

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DUMP = re.compile(r"^\*\*\* IR Dump After ([-\w<>;]+) on (.*) \*\*\*$")
INTERPROCEDURAL = {"ipsccp", "globaldce"}
OF_THREADS = {"barriers"}  # what it removes is visible to other threads only
PER_MODULE = 25


class Totals:
    def __init__(self):
        self.kinds, self.unsupported, self.abstract = collections.Counter(), collections.Counter(), collections.Counter()
        self.timeouts, self.passes, self.bounded = collections.Counter(), collections.Counter(), 0
        self.functions, self.refuted, self.undef_arguments = set(), [], False
        self.until, self.stopped, self.look_vacuous, self.vacuous = float("inf"), False, False, 0

    def add(self, v):
        self.kinds[v.kind] += 1
        self.bounded += v.bounded and v.kind == "proved"
        self.vacuous += v.vacuous
        {"unsupported": self.unsupported, "abstract": self.abstract, "timeout": self.timeouts}.get(v.kind, collections.Counter())[v.why] += 1


def stripped(text):
    """Without facts about aliases, which are not encoded."""
    return re.sub(r", !(?:tbaa|tbaa\.struct|alias\.scope|noalias) !\d+", "", text)


def compile_ir(nvmini, path, options):
    command = [nvmini, "compile", path, "--cpu", "sm_90", "--emit", "ir", "--device-c", "-Wno-loop-not-unrolled", "-Wno-loop-not-vectorized",
               *options]
    p = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if p.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: exit status {p.returncode}\n{p.stderr[-1000:]}")
    return p


def dumps(nvmini, path, options):
    """[(pass, function, text, number of the pass)] of the changes, in the order of the passes."""
    p = compile_ir(nvmini, path, ["--print-changed", "-o", os.devnull, *options])
    out, current = [], None
    for line in (p.stdout + p.stderr).split("\n"):
        m = DUMP.match(line)
        if m:
            current = []
            out.append((m[1], m[2], current))
        elif current is not None:
            current.append(line)
            if line == "}" and not out[-1][1] == "[module]":
                current = None
    p = compile_ir(nvmini, path, ["--print-changed=quiet", "-o", os.devnull, *options])
    numbers = re.findall(r"^(\S+) on (.*) \(pass (\d+)\): ", p.stdout + p.stderr, re.M)
    numbers = [(name, function, int(k)) for name, function, k in numbers if function != "[module]" and name not in INTERPROCEDURAL]
    if [n[:2] for n in numbers] != [d[:2] for d in out if d[1] != "[module]"]:
        a, b = [n[:2] for n in numbers], [d[:2] for d in out if d[1] != "[module]"]
        k = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        raise RuntimeError(f"{path}: the dumps are not those that are numbered: {a[k:k + 2]}, {b[k:k + 2]}")
    numbers = iter(numbers)
    return [(name, function, "\n".join(lines).strip(), 0 if function == "[module]" else next(numbers)[2])
            for name, function, lines in out]


def parsed(text, module):
    f = irtext.function(text, module)
    f.text = text
    return f


def shown_error(text):
    return (text.strip().split("\n") or [""])[0]


def validate_file(nvmini, path, levels, solver, totals, seen, show):
    run = subprocess.run([nvmini, "print", path], capture_output=True, text=True, check=False)
    if run.returncode:
        print(f"{shown_error(run.stderr)}: {path} is left out")
        totals.kinds["unsupported"] += 1
        totals.unsupported["refused by nvmini"] += 1
        return
    text = stripped(run.stdout)
    with tempfile.NamedTemporaryFile("w", suffix=".nvir", delete=False) as f:
        f.write(text)
    try:
        module, texts = irtext.module(text)
        for level in levels:
            validate_level(nvmini, f.name, path, level, module, dict(texts), solver, totals, seen, show)
    finally:
        os.unlink(f.name)


CALLED = re.compile(r"\bcall [^@\n]*(@[-\w$.]+)\(")
NUMBERED = re.compile(r" #\d|!\w+ !\d")


def at_pass(nvmini, path, options, number):
    """The whole module after so many passes: a dump of a function does not say what #3 and !5 are."""
    return irtext.module(compile_ir(nvmini, path, [*options, "--opt-bisect-limit", str(number), "-o", "-"]).stdout)


def validate_level(nvmini, path, shown, level, module, texts, solver, totals, seen, show):
    options = level.split()
    for name, function, after, number in dumps(nvmini, path, options):
        if time.monotonic() > totals.until:
            totals.stopped = True
            return
        key = "@" + function
        if function == "[module]":
            texts = irtext.module(after)[1]
            totals.kinds["unsupported"] += 1
            totals.passes[name] += 1
            totals.unsupported["pass " + name] += 1
            continue
        before, texts[key] = texts.get(key), after
        if before is None or (name, before, after) in seen or before == after:
            continue
        seen.add((name, before, after))
        totals.passes[name] += 1
        if name in OF_THREADS:
            totals.add(refine.Verdict("unsupported", "pass " + name))
            continue
        exact = NUMBERED.search(before) or NUMBERED.search(after) or any(c in texts for c in CALLED.findall(before))
        totals.look_vacuous = (shown, key) not in totals.functions
        totals.functions.add((shown, key))
        v = None if exact else one(solver, module, module, before, after, texts if name == "inline" else {}, totals)
        if v is None or v.kind == "refuted":  # other facts of the module may have changed
            (old, old_texts), (new, new_texts) = (at_pass(nvmini, path, options, k) for k in (number - 1, number))
            before, after = old_texts.get(key, before), new_texts.get(key, after)
            v = one(solver, old, new, before, after, texts if name == "inline" else {}, totals)
        totals.add(v)
        if v.kind == "refuted":
            totals.refuted.append((shown, key, name, before, after, v.why))
            if show:
                print(f"--- {shown} {key} {level}: {name} refuted: {' '.join(v.why.split())[:600]}\n{before}\n{after}\n", flush=True)


def one(solver, module, new, before, after, texts, totals):
    bodies, begin = {}, time.monotonic()
    try:
        b, a = parsed(before, module), parsed(after, new)
        for name, text in texts.items():
            if name != b.name:
                try:
                    bodies[name] = parsed(text, module)
                except irtext.Unsupported:
                    pass
        v = refine.check(solver, module, b, a, bodies, new, look_vacuous=totals.look_vacuous,
                         undef_arguments=totals.undef_arguments)
    except irtext.Unsupported as e:
        v = refine.Verdict("unsupported", str(e))
    except RecursionError:
        v = refine.Verdict("unsupported", "too deep")
    elapsed = time.monotonic() - begin
    if elapsed > 5 and os.environ.get("SLOW"):
        print(f"SLOW {elapsed:.1f} {v.kind} {v.why[:40]}\n{before}", flush=True)
    return v


def judge_wrong():
    """How many of the listed transformations are judged right and how many are not; says which. On a busy machine the
    answers take longer than the limits for random functions: here none is left out."""
    solver, limit = terms.Solver(120000), refine.SECONDS
    refine.SECONDS = 600
    with open(f"{HERE}/wrong_passes.txt", encoding="utf-8") as f:
        cases = f.read().split("\n;; ")[1:]
    good = bad = 0
    for case in cases:
        title, text = case.split("\n", 1)
        module, texts = irtext.module(text)
        s, t = (parsed(texts[name], module) for name in ("@s", "@t"))
        s.name = t.name = "@f"
        v = refine.check(solver, module, s, t, {}, look_vacuous=True)
        fine = v.kind == ("refuted" if title.startswith("wrong") else "proved") and not v.vacuous
        good, bad = good + fine, bad + (not fine)
        if not fine:
            print(f"wrong_passes.txt: {title}: {v.kind} {' '.join(v.why.split())[:300]}")
    solver.close()
    refine.SECONDS = limit
    print(f"wrong_passes.txt: {good} of {good + bad} transformations judged as they must be")
    return good, bad


SHAPES = ["reg2mem", "reg2mem,lower-switch", "structurizecfg", "fix-irreducible,loop-simplify,lcssa", "instcombine", "simplifycfg", "gvn", "sroa,gvn",
          "loop-rotate", "jump-threading", "instcombine,simplifycfg,reg2mem", "default<O1>", "default<O2>", "break-crit-edges,mergereturn",
          "loop(loop-rotate),indvars", "early-cse,reassociate", "lower-switch,loweratomic", "unify-loop-exits", "flattencfg", "correlated-propagation"]
FOR_LLVM_19 = re.compile(r"icmp samesign")


def generated(options, folder):
    """Paths of modules, one after another."""
    for k in range((options.count + PER_MODULE - 1) // PER_MODULE):
        seed, path = options.seed + k, f"{folder}/seed-{options.seed + k}.nvir"
        text = gen_small.generate(seed, PER_MODULE, options.size)
        if options.shape:
            run = subprocess.run(["opt-19", "-S", "-passes", SHAPES[seed % len(SHAPES)]], input=FOR_LLVM_19.sub("icmp", text), text=True,
                                 capture_output=True, check=False)
            if run.returncode:
                print(f"opt-19 -passes={SHAPES[seed % len(SHAPES)]}, seed {seed}: {run.stderr[:200]}")
                continue
            text = run.stdout
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        yield path
    for k in range(options.stress):
        path = f"{folder}/stress-{options.seed + k}.nvir"
        run = subprocess.run(["llvm-stress-19", f"-seed={options.seed + k}", "-size=25"], text=True, capture_output=True, check=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(run.stdout)
        yield path


def report(totals, solver):
    k = totals.kinds
    print(("stopped early: " if totals.stopped else "") + f"{len(totals.functions)} functions, {sum(totals.passes.values())} changes by passes: {k['proved']} proved "
          f"({totals.bounded} up to the bound of loops; {totals.vacuous} functions have no defined input), {k['refuted']} refuted, {k['unsupported']} unsupported, {k['abstract']} abstract, "
          f"{k['timeout']} timed out; {solver.questions} questions to Z3, {solver.seconds:.0f} s")
    for title, counter in (("unsupported", totals.unsupported), ("abstract", totals.abstract), ("timed out", totals.timeouts)):
        if counter:
            print(f"  {title}: " + "; ".join(f"{name} {n}" for name, n in counter.most_common()))
    print("  passes: " + ", ".join(f"{name} {n}" for name, n in totals.passes.most_common()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--levels", default="-O1,-O2,-O3")
    parser.add_argument("--limit", type=int, default=2000, help="milliseconds a question")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--size", type=int, default=8, help="steps of a generated function")
    parser.add_argument("--seconds", type=int, default=0, help="stop after so many")
    parser.add_argument("--shape", action="store_true", help="give the functions other shapes by opt 19")
    parser.add_argument("--stress", type=int, default=0, help="functions of llvm-stress 19 too")
    parser.add_argument("--wrong", action="store_true", help="judge the listed transformations only")
    parser.add_argument("--quick", action="store_true", help="these and 50 functions")
    parser.add_argument("--undef-arguments", action="store_true", help="arguments may be undef, too")
    parser.add_argument("--show", action="store_true", help="print the functions of what is refuted")
    options = parser.parse_args()
    solver, totals, seen = terms.Solver(options.limit), Totals(), set()
    for line in subprocess.run([options.nvmini, "intrinsics"], capture_output=True, text=True, check=True).stdout.split("\n"):
        m = re.match(r"(llvm\.\S+)[^\[]*(?:\[(.*)\])?$", line)
        if m:
            instructions.INTRINSICS[m[1]] = set((m[2] or "").split(", "))
    totals.undef_arguments = options.undef_arguments
    totals.until = time.monotonic() + (options.seconds or float("inf"))
    levels = options.levels.split(";" if ";" in options.levels else ",")
    good = bad = 0
    if options.wrong or options.quick:
        good, bad = judge_wrong()
        if options.wrong:
            options.count = 0
        elif not options.files:
            options.count = 50
    for path in options.files:
        validate_file(options.nvmini, path, levels, solver, totals, seen, options.show)
    if not options.files:
        with tempfile.TemporaryDirectory() as folder:
            for path in generated(options, folder):
                validate_file(options.nvmini, path, levels, solver, totals, seen, options.show)
                os.unlink(path)
    if not options.wrong:
        report(totals, solver)
    solver.close()
    bad += totals.kinds["refuted"]
    rest = "" if options.wrong else f", {totals.kinds['unsupported']} unsupported, {totals.kinds['abstract']} abstract, {totals.kinds['timeout']} timed out"
    print(f"{good + totals.kinds['proved']} passed, {bad} failed{rest}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(terms.run_deep(main))
