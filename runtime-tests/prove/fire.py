#!/usr/bin/env python3
"""Do the peephole rules act where they should, and nowhere else? For every integer rule, as rules.py decodes it
from the generated matcher, instances of its pattern are made, each a function:
  - with types that the matcher admits: `--passes combine` must change it;
  - with types that the pattern's ops allow but the rule's other checks do not (i1 true beside i32 1, casts to
    other widths, scalars beside vectors), and constants that are equal as numbers: nothing is asked but that
    the function still computes the same.
All are executed, without passes, after combine, and as PTX of -O3, on operands for which the pattern is defined;
what they must give is computed here, by the language reference. Constants and operands are searched for among
interesting ones. What a rule wants to know of an operand (zero, nonneg, nonzero, onebit, defined) is made true by a mask
or a freeze.
usage: fire.py [--quick] [NAME]     a few instances of each rule; rules whose names have NAME in them
Ends with `N passed, N failed`; exit status 1 if any failed"""
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

from rules import BINARY, CASTS, PREDICATES, WITH_BOOL, decode, show

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NVMINI = os.environ.get("NVMINI") or os.path.join(ROOT, os.environ.get("NVMINI_BUILD", "build"), "nvmini")
HEAD = ('target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\n'
        'target triple = "nvptx64-nvidia-cuda"\n')
TYPES = [(lanes, "i", width) for lanes in (0, 2) for width in (8, 1, 32, 64, 16)]
ROWS = 3  # pairs of operands for each instance
ODD = "a5c3", "3c5a"  # digits of operands that are like no constant


# --- what ops compute, by the language reference: None is poison ------------------------------------------

class Undefined(Exception):
    pass


def signed(v, w):
    return v - (1 << w) if v >> (w - 1) else v


def compare(name, a, b, w):
    if name[0] == "s":
        a, b = signed(a, w), signed(b, w)
    return int({"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[name[-2:]])


def plain(name, a, b, w):
    """Of two numbers; shifts by too much give 0, divisions by zero all ones, as the program's do."""
    x, y = signed(a, w), signed(b, w)
    if name in ("udiv", "urem", "sdiv", "srem") and b == 0:
        return a if name[1:] == "rem" else -1
    quotient = abs(x) // abs(y or 1) * (1 if (x < 0) == (y < 0) else -1)
    return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "and": lambda: a & b, "or": lambda: a | b,
            "xor": lambda: a ^ b, "udiv": lambda: a // b, "urem": lambda: a % b, "sdiv": lambda: quotient,
            "srem": lambda: x - quotient * y, "shl": lambda: a << b if b < w else 0, "lshr": lambda: a >> min(b, w),
            "ashr": lambda: x >> min(b, w), "umin": lambda: min(a, b), "umax": lambda: max(a, b),
            "smin": lambda: min(x, y), "smax": lambda: max(x, y), "uadd_sat": lambda: min(a + b, (1 << w) - 1),
            "usub_sat": lambda: max(a - b, 0), "sadd_sat": lambda: clamp(x + y, w), "ssub_sat": lambda: clamp(x - y, w),
            }[name]() % (1 << w)


def clamp(v, w):
    return max(-(1 << (w - 1)), min(v, (1 << (w - 1)) - 1))


def bits(v, w):
    return format(v, f"0{w}b")


def single(name, a, w):
    """Of one number."""
    if name in ("abs", "neg"):
        return (-a if name == "neg" or a >> (w - 1) else a) % (1 << w)
    if name == "bswap":
        return int.from_bytes(a.to_bytes(w // 8, "little"), "big")
    return {"not": lambda: ~a % (1 << w), "ctpop": lambda: bits(a, w).count("1"), "bitreverse": lambda: int(bits(a, w)[::-1], 2),
            "ctlz": lambda: w - a.bit_length(), "cttz": lambda: w if a == 0 else (a & -a).bit_length() - 1,
            "lowzeros": lambda: w if a == 0 else (a & -a).bit_length() - 1, "log2": lambda: max(a.bit_length() - 1, 0),
            "lowmask": lambda: (1 << min(a, w)) - 1, "MIN": lambda: 1 << (w - 1), "MAX": lambda: (1 << (w - 1)) - 1,
            "WIDTH": lambda: w}[name]() % (1 << w)


def funnel(name, a, b, by, w):
    both, by = a << w | b, by % w
    return (both << by >> w if name == "fshl" else both >> by) % (1 << w)


def cast(name, a, w, to):
    return (signed(a, w) if name == "sext" else a) % (1 << to)


def breaks(name, flags, a, result, w):
    """Whether a flag makes the result poison."""
    x, y = (signed(v, w) for v in a[:2])
    if name in ("add", "sub", "mul"):
        exact, wide = plain(name, a[0], a[1], 4 * w + 8), {"add": x + y, "sub": x - y, "mul": x * y}[name]
        return "nuw" in flags and exact != result or "nsw" in flags and wide != signed(result, w)
    if name == "shl":
        return "nuw" in flags and result >> a[1] != a[0] or "nsw" in flags and signed(result, w) >> a[1] != x
    if "exact" in flags:
        return plain("shl" if name[1:] == "shr" else "mul", result, a[1], w) != a[0]
    return "disjoint" in flags and a[0] & a[1] != 0


def instruction(name, flags, a, w, wa):
    """w: bits of the result, wa: of the first operand."""
    if name in ("udiv", "urem", "sdiv", "srem") and (a[1] in (None, 0) or name[0] == "s" and a == [1 << (w - 1), (1 << w) - 1]):
        raise Undefined
    if None in a:
        return None
    if name in CASTS:
        r = cast(name, a[0], wa, w)
        lost = {"nuw": cast("zext", r, w, wa) != a[0], "nsw": name == "trunc" and cast("sext", r, w, wa) != a[0], "nneg": a[0] >> (wa - 1)}
        return None if any(lost[f] for f in flags) else r
    if name in WITH_BOOL:
        special = a[1] and a[0] == (1 << (w - 1) if name == "abs" else 0)
        return None if special else single(name, a[0], w)
    if len(a) == 1:
        return single(name, a[0], w)
    if len(a) == 3:
        return funnel(name, *a, w)
    if name in ("shl", "lshr", "ashr") and a[1] >= w:
        return None
    r = plain(name, a[0], a[1], w)
    return None if breaks(name, flags, a, r, w) else r


# --- numbers of the program -------------------------------------------------------------------------------

def number(rule, e, constants, types):
    """An expression of the program, as combine_rules.c computes it."""
    if e[0] == "number":
        return constants[e[1]]
    w = rule.type_of(e[2] if e[0] == "literal" else e[1], types)[2]
    if e[0] == "literal":
        return e[1] % (1 << w)
    a = [number(rule, x, constants, types) for x in e[3:]]
    if e[0] == "eq":
        return int(a[0] == a[1])
    a, to = [x % (1 << w) for x in a], rule.type_of(e[2], types)[2]
    if e[0] in CASTS or e[0] in ("fitsu", "fitss"):
        there = a[0] % (1 << to) if to < w or e[0][0] != "s" else cast("sext", a[0], w, to)
        return there if e[0] in CASTS else int(cast("sext" if e[0] == "fitss" else "zext", there, to, w) == a[0] or to >= w)
    if e[0] == "pow2":
        return int(bits(a[0], w).count("1") == 1)
    return compare(e[0], *a, w) if e[0] in PREDICATES else plain(e[0], *a, w) if len(a) == 2 else single(e[0], a[0], w)


def candidates(w):
    """Numbers of w bits to try as constants."""
    numbers = [1, 2, 0, 3, 4, 7, 8, 5, 16, 15, -1, -2, -4, w - 1, w - 3, 1 << (w - 1), (1 << (w - 1)) - 1, (1 << (w - 1)) + 1,
               (1 << (w - 1)) - 2]
    return list(dict.fromkeys(n % (1 << w) for n in numbers))


def constants_of(rule, types, skip, candidates=candidates):
    """Constants that pass the program's checks of numbers, whatever the types; None if none are found. `skip`: so many
    solutions are passed over, if there are as many."""
    fixed, free, found = {}, [], None
    for n in rule.nodes:
        w = types[n.reg][2]
        if n.kind == "int" and isinstance(n.literal, int):
            fixed[n.reg] = n.literal % (1 << w)
            if n.literal >= 0 and fixed[n.reg] != n.literal:
                return None
        elif n.kind == "int":
            free.append((n.reg, [single(n.literal, 0, w)] if n.literal else candidates(w)))
    for chosen in itertools.product(*(c for _, c in free)):
        constants = {**fixed, **dict(zip((reg for reg, _ in free), chosen))}
        if all(number(rule, c[1], constants, types) for c in rule.of("REQUIRE")):
            found, skip = constants, skip - 1
            if skip < 0:
                break
    return found


# --- instances ---------------------------------------------------------------------------------------------

class Instance:
    """A rule with types, predicates and flags chosen; `admitted`: the matcher takes these types."""

    def __init__(self, rule, types, preds, flags, admitted):
        self.rule, self.types, self.preds, self.chosen, self.admitted = rule, types, preds, flags, admitted
        self.random = random.Random(f"{rule.name} {sorted(types.items())}")
        self.same = {max(c[1:3]): min(c[1:3]) for c in rule.of("SAME")}
        self.immediate = {a.reg for n in rule.nodes if n.name in WITH_BOOL for a in n.args[1:] if a.kind == "value"}
        self.variables = sorted({self.first(n.reg) for n in rule.nodes if n.kind == "value"} - self.immediate)
        self.constants = self.find_constants()
        self.rows = self.find_rows() if self.constants is not None else []

    def find_constants(self):
        return constants_of(self.rule, self.types, self.random.randrange(3))

    def first(self, reg):
        return self.first(self.same[reg]) if reg in self.same else reg

    def flags_of(self, n):
        names = self.rule.tables.flag_names
        return set(names(n.flags)).union(*(names(f[0]) for f, has in self.chosen.items() if has and f[1] >> n.reg & 1))

    def facts(self, reg):
        return [c for c in self.rule.checks if c[0] in ("ZERO", "NONNEG", "NONZERO", "ONE_BIT", "DEFINED", "FOLLOWS") and
                self.rule.nodes[c[1]].kind == "value" and self.first(c[1]) == reg]

    def masks(self, reg):
        """[(op, number)] that make true what the rule wants to know of a variable."""
        w, found = self.types[reg][2], []
        for c in self.facts(reg):
            if c[0] == "ZERO":
                mask = number(self.rule, c[2], self.constants, self.types)
                found.append(("and", ~mask % (1 << w)))
            elif c[0] == "NONNEG":
                found.append(("and", (1 << (w - 1)) - 1))
            elif c[0] == "ONE_BIT":
                found.append(("and", 1 << min(2, w - 1)))
            elif c[0] == "NONZERO":
                found.append(("or", 1))
        return found

    # what it computes

    def value(self, n, row):
        w = self.types[n.reg][2]
        if n.kind == "int":
            return self.constants[n.reg]
        if n.kind == "value":
            if n.reg in self.immediate:
                return 0
            v = row[self.first(n.reg)]
            for op, mask in self.masks(self.first(n.reg)):
                v = plain(op, v, mask, w)
            return v
        a = [self.value(x, row) for x in n.args]
        if n.name == "select":
            return None if a[0] is None else a[1] if a[0] else a[2]
        if n.name == "icmp":
            return None if None in a else compare(self.preds[n.reg], *a, self.types[n.args[0].reg][2])
        return instruction(n.name, self.flags_of(n), a, w, self.types[n.args[0].reg][2])

    def defined(self, row):
        try:
            return self.value(self.rule.pattern, row) is not None
        except Undefined:
            return False

    def row(self, shared):
        """Operands, some of them those of the other lane."""
        found = {}
        for reg in self.variables:
            w = self.types[reg][2]
            near = list(self.constants.values()) + candidates(w) + [int(d * 16, 16) for d in ODD] + [self.random.getrandbits(64)]
            v = self.random.choice(near) + self.random.choice((0, 0, 0, 1, -1))
            found[reg] = shared.get(reg, v % (1 << w))
        return found

    def find_rows(self):
        """Up to ROWS pairs of operands, one for each lane, for which the pattern is defined."""
        rows = []
        for _ in range(150 if self.variables else 1):
            first = self.row({})
            second = self.row({reg: v for reg, v in first.items() if self.types[reg][0] == 0})
            if self.defined(first) and self.defined(second) and (first, second) not in rows:
                rows.append((first, second))
            if len(rows) == ROWS:
                break
        return rows

    def expected(self):
        root = self.rule.pattern
        lanes = self.types[root.reg][0]
        return [v % (1 << 64) for pair in self.rows
                for v in (self.value(root, pair[0]), self.value(root, pair[1]) if lanes else 0)]

    # its text

    def function(self, name):
        self.lines, self.names, self.declared = [], {}, set()
        for reg in self.variables:
            self.names[reg] = self.known(reg)
        root = self.emit(self.rule.pattern)
        parameters = ", ".join(f"{show(self.types[reg])} %a{reg}" for reg in self.variables)
        result, body = show(self.types[0]), "\n  ".join(self.lines)
        return f"define {result} @{name}({parameters}) noinline {{\n  {body}\n  ret {result} {root}\n}}\n"

    def add(self, text):
        self.lines.append(f"%t{len(self.lines)} = {text}")
        return f"%t{len(self.lines) - 1}"

    def known(self, reg):
        term, t = f"%a{reg}", self.types[reg]
        if any(c[0] in ("DEFINED", "FOLLOWS") for c in self.facts(reg)):
            term = self.add(f"freeze {show(t)} {term}")
        for op, mask in self.masks(reg):
            term = self.add(f"{op} {show(t)} {term}, {literal(t, mask, mask)}")
        return term

    def emit(self, n):
        t = self.types[n.reg]
        if n.kind == "int":
            return literal(t, self.constants[n.reg], self.constants[n.reg])
        if n.kind == "value":
            return "false" if n.reg in self.immediate else self.names[self.first(n.reg)]
        a = [f"{show(self.types[x.reg])} {self.emit(x)}" for x in n.args]
        bare = [x.split("> ")[-1] if x[0] == "<" and not x.endswith(">") else x[x.index(" ") + 1:] if x[0] != "<" else
                x[x.index("> ") + 2:] for x in a]
        flags = "".join(" " + f for f in sorted(self.flags_of(n)))
        if n.name == "icmp":
            return self.add(f"icmp {self.preds[n.reg]} {a[0]}, {bare[1]}")
        if n.name == "select":
            return self.add(f"select {', '.join(a)}")
        if n.name in CASTS:
            return self.add(f"{n.name}{flags} {a[0]} to {show(t)}")
        if n.name in BINARY:
            return self.add(f"{n.name}{flags} {a[0]}, {bare[1]}")
        callee = f"@llvm.{n.name.replace('_', '.')}.{'v2' if t[0] else ''}i{t[2]}"
        self.declared.add(f"declare {show(t)} {callee}({', '.join(show(self.types[x.reg]) for x in n.args)})\n")
        return self.add(f"call {show(t)} {callee}({', '.join(a)})")

    def calls(self, name, slot):
        """What stores the results of each row from out[slot] on."""
        t, text = self.types[0], ""
        for k, (first, second) in enumerate(self.rows):
            arguments = ", ".join(f"{show(self.types[r])} {literal(self.types[r], first[r], second[r])}" for r in self.variables)
            text += f"  %{name}.{k} = call {show(t)} @{name}({arguments})\n"
            for lane in range(2 if t[0] else 1):
                v = f"%{name}.{k}"
                if t[0]:
                    text += f"  {v}.{lane} = extractelement {show(t)} {v}, i32 {lane}\n"
                    v += f".{lane}"
                text += f"  {v}.w = zext i{t[2]} {v} to i64\n" if t[2] < 64 else f"  {v}.w = or i64 {v}, 0\n"
                text += f"  {v}.p = getelementptr i64, ptr %out, i64 {slot + 2 * k + lane}\n  store i64 {v}.w, ptr {v}.p\n"
        return text


def literal(t, first, second):
    words = ["true" if v else "false" if t[2] == 1 else str(v) for v in (first, second)] if t[2] == 1 else [first, second]
    return f"<i{t[2]} {words[0]}, i{t[2]} {words[1]}>" if t[0] else str(words[0])


def instances_of(rule, quick):
    """Some for every choice of predicates and flags, and those that must not fire."""
    wanted, most_others = (1, 8) if quick else (3, 40)
    key = lambda types: tuple(sorted(types.items()))  # noqa: E731
    admitted = rule.assignments(TYPES)
    known = set(map(key, admitted))
    others = [t for t in rule.assignments(TYPES, False) if key(t) not in known]
    r = random.Random(rule.name)
    choices = list(itertools.product(rule.predicate_choices(), rule.flag_choices()))
    for preds, flags in r.sample(choices, 2) if quick and len(choices) > 2 else choices:
        found = 0
        for types in admitted[:1] + r.sample(admitted, min(len(admitted), 8)):
            if found == wanted:
                break
            case = Instance(rule, types, preds, flags, True)
            if case.rows:
                found += 1
                yield case
    for types in r.sample(others, min(len(others), most_others)):
        case = Instance(rule, types, *r.choice(choices), False)
        if case.rows:
            yield case


# --- running ------------------------------------------------------------------------------------------------

def functions_of(text):
    return {m.group(1): m.group(0) for m in re.finditer(r"define [^@]*@(r\d+)\(.*?\n}\n", text, re.S)}


def compiled(path, passes):
    run = subprocess.run([NVMINI, "compile", path, "--cpu", "sm_90", "--passes", passes, "--verify-each", "--emit",
                          "ir"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"nvmini: {run.stderr[:2000]}")
    return run.stdout


def executed(path, slots, *way):
    run = subprocess.run([NVMINI, "run", path, *way, "--arg", f"buf:u64:{slots}:zero", "--print", "0"], capture_output=True,
                         text=True)
    if run.returncode:
        sys.exit(f"nvmini run {' '.join(way)}: {run.stderr[:2000]}")
    return [int(word) for word in run.stdout.split()]


def module(cases):
    """The text, and how many slots of the buffer it fills."""
    functions = [c.function(f"r{k}") for k, c in enumerate(cases)]
    kernel, slot = "", 0
    for k, c in enumerate(cases):
        c.slot = slot
        kernel += c.calls(f"r{k}", slot)
        slot += 2 * len(c.rows)
    declared = "".join(sorted(set().union(*(c.declared for c in cases))))
    return f"{HEAD}{''.join(functions)}{declared}define ptx_kernel void @k(ptr %out) {{\n{kernel}  ret void\n}}\n", slot, functions


def main():
    quick, names = "--quick" in sys.argv, [a for a in sys.argv[1:] if a != "--quick"]
    rules = [r for r in decode() if not r.is_float() and all(n in r.name for n in names)]
    cases, silent = [], []
    for rule in rules:
        found = list(instances_of(rule, quick))
        cases += found
        if not any(c.admitted for c in found):
            silent.append(rule.name)
    text, slots, functions = module(cases)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules.nvir")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        before, after = (functions_of(compiled(path, passes)) for passes in ("dce", "combine"))
        ways = {"without passes": ["--from", "ir"], "after combine": ["--from", "ir", "--passes", "combine"], "as PTX of -O3": ["-O3"]}
        results = {name: executed(path, slots, *way) for name, way in ways.items()}
    failed = len(silent)
    for name in silent:
        print(f"{name}: no operands found for it")
    for k, c in enumerate(cases):
        expected = c.expected()
        wrong = [name for name, found in results.items() if found[c.slot:c.slot + len(expected)] != expected]
        unchanged = c.admitted and before[f"r{k}"] == after[f"r{k}"]
        failed += bool(wrong or unchanged)
        if wrong or unchanged:
            found = [f"{name}: {results[name][c.slot:c.slot + len(expected)]}" for name in wrong]
            print(f"opt/scalar/combine.rules:{c.rule.line}: {c.rule.name}: " +
                  (f"computes not {expected} but {'; '.join(found)}" if wrong else "does not act"))
            print(functions[k] + after[f"r{k}"])
    admitted = sum(c.admitted for c in cases)
    print(f"{len(rules)} rules: {admitted} instances that must act, {len(cases) - admitted} of types that the rule does not admit")
    print(f"{len(cases) + len(silent) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
