#!/usr/bin/env python3
"""Does the compiler do what was proven? For every integer rule of opt/combine.rules, Z3 is asked for
operands and constants with which the pattern applies; the pattern becomes a function, `nvmini compile
--passes combine` must change it, and lli must compute with it what Z3 says the pattern means.

What a rule wants to know of an operand (zero, nonneg, nonzero, defined) is made true by a mask or a freeze.
usage: fire.py [NAME]     ends with `N passed, N failed`; exit status 1 if any failed; needs z3 and lli."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import prove

NVMINI = os.path.join(prove.ROOT, "build", "nvmini")
HEAD = ('target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\n'
        'target triple = "nvptx64-nvidia-cuda"\n')
ASSIGNMENTS, INSTANCES = 2, 6  # widths for each choice of predicates and flags; instances of a rule


def number(text):
    return int(text[2:], 16) if text.startswith("#x") else int(text[2:], 2)


def values(answer):
    """The numbers of ((term value) (term value) ...), in order."""
    words, at = re.findall(r"\(|\)|[^\s()]+", answer), 0

    def parse():
        nonlocal at
        at += 1
        if words[at - 1] != "(":
            return words[at - 1]
        items = []
        while words[at] != ")":
            items.append(parse())
        at += 1
        return items

    return [number(pair[-1]) for pair in parse()]


class Case:
    """A rule with widths, predicates and flags chosen."""

    def __init__(self, rule, types, widths, preds, flags):
        self.rule, self.encoder = rule, prove.Encoder(types, widths, preds, flags)
        question = prove.refinement(rule, types, widths, preds, flags)
        self.fits = question is not None
        if not self.fits:
            return
        self.meaning, _ = prove.Encoder(types, widths, preds, flags).encode(rule.pattern, True)
        bound = {n.bound for n in rule.all if n.bound}
        self.variables = {n.name: n for n in rule.pattern.walk() if n.kind == "value" and n.name not in bound}
        self.constants = {n.name: n for n in rule.pattern.walk() if n.kind == "int"}
        self.masks = {c.args[0].name: self.encoder.constant(c.args[1])
                      for c in rule.conditions if c.name == "zero"}
        self.terms = ["v_" + v for v in self.variables] + ["c_" + c for c in self.constants] + \
            list(self.masks.values()) + [self.meaning]
        self.context = question[0] + "".join(f"(assert (not p_{v}))" for v in self.variables)

    def take(self, numbers):
        names = list(self.variables) + list(self.constants)
        self.model = dict(zip(names, numbers))
        self.mask_values = dict(zip(self.masks, numbers[len(names):]))
        self.expected = numbers[-1]

    def function(self, name):
        """The pattern as a function; the intrinsics it needs."""
        self.lines, self.count, self.names, self.declared = [], 0, {}, set()
        for v, n in self.variables.items():
            self.names[v] = self.known(v, self.encoder.width(n))
        root, w = self.emit(self.rule.pattern), self.encoder.width(self.rule.pattern)
        parameters = ", ".join(f"i{self.encoder.width(n)} %a_{v}" for v, n in self.variables.items())
        body = "\n  ".join(self.lines)
        return f"define i{w} @{name}({parameters}) noinline {{\n  {body}\n  ret i{w} {root}\n}}\n"

    def add(self, text):
        self.count += 1
        self.lines.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def known(self, v, w):
        term, value = "%a_" + v, self.model[v]
        for c in self.rule.conditions:
            if c.args[0].kind != "value" or c.args[0].name != v:
                continue
            if c.name == "zero":
                term = self.add(f"and i{w} {term}, {~self.mask_values[v] & ((1 << w) - 1)}")
            elif c.name == "nonneg":
                term = self.add(f"and i{w} {term}, {(1 << (w - 1)) - 1}")
            elif c.name == "nonzero":
                term = self.add(f"or i{w} {term}, {value & -value}")
            elif c.name == "defined":
                term = self.add(f"freeze i{w} {term}")
        return term

    def literal(self, n, w):
        special = {"true": 1, "false": 0, "MIN": 1 << (w - 1), "MAX": (1 << (w - 1)) - 1, "WIDTH": w}
        value = self.model[n.name] if n.kind == "int" else special.get(n.name)
        value = int(n.name) if value is None else value
        return str(value % (1 << w)) if w > 1 else "true" if value % 2 else "false"

    def emit(self, n):
        e = self.encoder
        w = e.width(n)
        if n.kind in ("int", "literal"):
            return self.literal(n, w)
        if n.kind == "value":
            return self.names[n.name]
        a = [self.emit(x) for x in n.args]
        wa = e.width(n.args[0])
        flags = "".join(" " + f.rstrip("?") for f in n.flags if e.flag(n, f.rstrip("?")))
        if n.name == "icmp":
            term = self.add(f"icmp {e.predicate(n.pred)} i{wa} {a[0]}, {a[1]}")
        elif n.name == "select":
            term = self.add(f"select i1 {a[0]}, i{w} {a[1]}, i{w} {a[2]}")
        elif n.name in prove.CASTS:
            term = self.add(f"{n.name}{flags} i{wa} {a[0]} to i{w}")
        elif n.name in prove.BINARY:
            term = self.add(f"{n.name}{flags} i{w} {a[0]}, {a[1]}")
        else:
            callee = f"@llvm.{n.name.replace('_', '.')}.i{w}"
            types = [f"i{e.width(x)}" for x in n.args]
            self.declared.add(f"declare i{w} {callee}({', '.join(types)})\n")
            term = self.add(f"call i{w} {callee}({', '.join(f'{t} {x}' for t, x in zip(types, a))})")
        if n.bound:
            self.names[n.bound] = term
        return term


def cases_of(rule):
    """Instances of a rule, with Z3's numbers."""
    if any(c.name == "disjoint" for c in rule.conditions):
        return []
    types, cases = prove.Types(rule), []
    for preds in prove.predicate_choices(rule):
        for flags in prove.flag_choices(rule):
            for widths in types.assignments([8, 16, 32], [1, 8, 16, 32], ASSIGNMENTS):
                try:
                    cases.append(Case(rule, types, widths, preds, flags))
                except prove.Refused:
                    pass
    cases = [c for c in cases if c.fits][:INSTANCES]
    text = [f"(set-option :timeout {prove.TIMEOUT})"]
    for c in cases:
        text += ["(push)", c.context, "(check-sat)", f"(get-value ({' '.join(c.terms)}))", "(pop)",
                 '(echo "====")']
    run = subprocess.run(["z3", "-in"], input="\n".join(text), capture_output=True, text=True)
    answers = run.stdout.split("====")
    found = [(c, a.strip()[3:]) for c, a in zip(cases, answers) if a.strip().startswith("sat")]
    for c, a in found:
        c.take(values(a))
    return [c for c, _ in found]


def functions_of(text):
    return {m.group(1): m.group(0) for m in re.finditer(r"define [^@]*@(r\d+)\(.*?\n}\n", text, re.S)}


def compiled(path, passes):
    run = subprocess.run([NVMINI, "compile", path, "--cpu", "sm_90", "--passes", passes, "--verify-each", "--emit",
                          "ir"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"nvmini: {run.stderr[:2000]}")
    return run.stdout


def program(text, cases):
    """The module with a main() that prints what each function computes, for the host."""
    text = "".join(line + "\n" for line in text.split("\n")
                   if not line.startswith(("target ", "source_filename")))
    text += '@format = constant [5 x i8] c"%lx\\0A\\00"\ndeclare i32 @printf(ptr, ...)\ndefine i32 @main() {\n'
    for k, c in enumerate(cases):
        arguments = ", ".join(f"i{c.encoder.width(n)} {c.model[v]}" if c.encoder.width(n) > 1 else
                              f"i1 {'true' if c.model[v] else 'false'}" for v, n in c.variables.items())
        w = c.encoder.width(c.rule.pattern)
        text += (f"  %c{k} = call i{w} @r{k}({arguments})\n  %z{k} = zext i{w} %c{k} to i64\n"
                 f"  call i32 (ptr, ...) @printf(ptr @format, i64 %z{k})\n")
    return text + "  ret i32 0\n}\n"


def main():
    lli = next((p for p in map(shutil.which, ("lli-19", "lli")) if p), None)
    if not lli or not shutil.which("z3"):
        print("skipped: lli and z3 are needed")
        return 0
    rules = [r for r in prove.read_table(prove.TABLE) if not r.is_float() and not r.has_freeze()]
    rules = [r for r in rules if len(sys.argv) < 2 or sys.argv[1] in r.name]
    cases, silent = [], []
    for rule in rules:
        found = cases_of(rule)
        cases += found
        if not found:
            silent.append(rule.name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules.nvir")
        functions = [c.function(f"r{k}") for k, c in enumerate(cases)]
        with open(path, "w") as out:
            out.write(HEAD + "".join(functions) + "".join(sorted(set().union(*(c.declared for c in cases)))))
        plain, after = compiled(path, "dce"), compiled(path, "combine")
        with open(path, "w") as out:
            out.write(program(after, cases))
        run = subprocess.run([lli, "--jit-kind=mcjit", path], capture_output=True, text=True)
    results = [int(line, 16) for line in run.stdout.split()]
    if len(results) != len(cases):
        sys.exit(f"lli: {run.stderr[:2000]}")
    plain, after, failed = functions_of(plain), functions_of(after), 0
    for k, c in enumerate(cases):
        unchanged = plain[f"r{k}"] == after[f"r{k}"]
        if not unchanged and results[k] == c.expected:
            continue
        failed += 1
        print(f"{prove.TABLE}:{c.rule.number}: {c.rule.name}: " +
              ("does not act" if unchanged else f"computes {results[k]:x}, not {c.expected:x}"))
        print(functions[k] + after[f"r{k}"])
    if silent:
        print("no operands found for " + " ".join(silent))
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
