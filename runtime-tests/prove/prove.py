#!/usr/bin/env python3
"""Proves the peephole rules with Z3, as the compiler runs them: rules.py decodes the trees and programs that
gen_combine made of opt/scalar/combine.rules; nothing is taken from the text but the lines' numbers.

For every rule, every assignment of types that well-typed IR, the tree and the program's checks admit (integers
of several widths, floats, pointers; scalars and vectors):
  - what the program makes is well-typed and has the type of what it replaces;
and where all are integers, every predicate and every flag that the program asks for, present or not: Z3 is asked
for operands with which the result is no refinement of the pattern: the pattern is defined (no undefined
behaviour, no poison), but the result is undefined, poison or another value. No such operands: proven. Lanes of
vectors are computed apart from each other, so that scalars stand for them. Beside that:
  - a variable that the result uses more often than once could be undef, a different value at each use:
    the rule must hold then too (asked with quantifiers, at small widths);
  - an instruction that the result uses again may have flags that the rule does not name: its value may be
    poison where the pattern's words alone do not make it so;
  - some operands must match, or the rule is vacuous;
  - the measure must fall, so that the pass ends: see weight().
Rules of floats are proven at small formats (floats.py). What the rest of them, freeze and bitcast compute is taken
from the language reference: the section of combine.rules says why; their types are checked, and they are counted apart.

usage: prove.py [--only NAME] [--generated FOLDER] [--widths quick|all]
       prove.py --wrong    must refuse the rules of wrong.rules, and rules whose check of equal types is left out
Prints `N passed, N failed`, exit status 1 if any failed
"""
import concurrent.futures
import itertools
import os
import subprocess
import sys
import tempfile

import floats
from rules import CASTS, GENERATED, PREDICATES, ROOT, Wrong, decode, show

TIMEOUTS = 30000, 2500  # milliseconds a question: at small widths, which are to be decided, and at others
CHECKED = [(lanes, kind, width) for lanes in (0, 2) for kind, width in
           (("i", 1), ("i", 8), ("i", 16), ("i", 32), ("i", 64), ("i", 128), ("f", 16), ("f", 32), ("f", 64), ("p", 64))]


class Unfit(Exception):
    """No such widths: not a fault."""


# --- what ops compute, in SMT-LIB ---------------------------------------------------------------------

def bv(value, width):
    return f"(_ bv{value % (1 << width)} {width})"


def ext(term, by, signed):
    return f"((_ {'sign' if signed else 'zero'}_extend {by}) {term})" if by else term


def no_overflow(op, a, b, w, signed):
    extra = w if op == "mul" else 1
    wide = {"add": "bvadd", "sub": "bvsub", "mul": "bvmul"}[op]
    big = f"({wide} {ext(a, extra, signed)} {ext(b, extra, signed)})"
    small = ext(f"({wide} {a} {b})", extra, signed)
    return f"(= {big} {small})"


def compare(pred, a, b):
    if pred in ("eq", "ne"):
        return f"(= {a} {b})" if pred == "eq" else f"(not (= {a} {b}))"
    return f"(bv{pred} {a} {b})"


def bit(term, k):
    return f"((_ extract {k} {k}) {term})"


def popcount(a, w):
    if w == 1:
        return a
    return "(bvadd " + " ".join(ext(bit(a, k), w - 1, False) for k in range(w)) + ")"


def leading(a, w, order):
    term = bv(w, w)
    for k in reversed(order):
        term = f"(ite (= {bit(a, k)} #b1) {bv(w - 1 - k if order[0] else k, w)} {term})"
    return term


def number(name, a, w):
    """What an op computes, total as in SMT-LIB."""
    plain = {"add": "bvadd", "sub": "bvsub", "mul": "bvmul", "and": "bvand", "or": "bvor", "xor": "bvxor",
             "shl": "bvshl", "lshr": "bvlshr", "ashr": "bvashr", "udiv": "bvudiv", "urem": "bvurem",
             "sdiv": "bvsdiv", "srem": "bvsrem", "not": "bvnot", "neg": "bvneg"}
    if name in plain:
        return f"({plain[name]} {' '.join(a)})"
    if name in ("umin", "umax", "smin", "smax"):
        pred = {"umin": "ult", "umax": "ugt", "smin": "slt", "smax": "sgt"}[name]
        return f"(ite (bv{pred} {a[0]} {a[1]}) {a[0]} {a[1]})"
    if name == "log2":
        term = bv(0, w)
        for k in range(1, w):
            term = f"(ite (bvuge {a[0]} {bv(1 << k, w)}) {bv(k, w)} {term})"
        return term
    if name == "lowmask":
        return f"(bvsub (bvshl {bv(1, w)} {a[0]}) {bv(1, w)})"
    if name == "lowzeros":
        return leading(a[0], w, list(range(w)))
    if name == "ctpop":
        return popcount(a[0], w)
    if name == "ctlz":
        return leading(a[0], w, list(range(w - 1, -1, -1))) if w > 1 else f"(bvnot {a[0]})"
    if name == "cttz":
        return leading(a[0], w, list(range(w))) if w > 1 else f"(bvnot {a[0]})"
    if name == "bitreverse":
        return a[0] if w == 1 else "(concat " + " ".join(bit(a[0], k) for k in range(w)) + ")"
    if name == "bswap":
        if w % 16:
            raise Unfit
        return "(concat " + " ".join(f"((_ extract {k + 7} {k}) {a[0]})" for k in range(0, w, 8)) + ")"
    if name in ("fshl", "fshr"):
        amount = ext(f"(bvurem {a[2]} {bv(w, w)})" if w > 1 else bv(0, 1), w, False)
        both = f"(concat {a[0]} {a[1]})"
        if name == "fshl":
            return f"((_ extract {2 * w - 1} {w}) (bvshl {both} {amount}))"
        return f"((_ extract {w - 1} 0) (bvlshr {both} {amount}))"
    if name in ("uadd_sat", "usub_sat", "sadd_sat", "ssub_sat"):
        op, signed = name[1:4], name[0] == "s"
        fine = no_overflow(op, a[0], a[1], w, signed)
        if signed:
            limit = f"(ite (bvslt {a[0]} {bv(0, w)}) {bv(1 << (w - 1), w)} {bv((1 << (w - 1)) - 1, w)})"
        else:
            limit = bv(-1, w) if op == "add" else bv(0, w)
        return f"(ite {fine} (bv{op} {a[0]} {a[1]}) {limit})"
    if name == "abs":
        return f"(ite (bvslt {a[0]} {bv(0, w)}) (bvneg {a[0]}) {a[0]})"
    raise Wrong("no meaning for " + name)

def cast(name, a, w, to):
    return f"((_ extract {to - 1} 0) {a})" if name == "trunc" else ext(a, to - w, name == "sext")


class Encoder:
    """Terms of a rule with types, predicates and flags chosen. `split`: a variable of which each occurrence has a
    value of its own; `side` makes the names of these."""

    def __init__(self, rule, types, preds, flags, split=None, side="s"):
        self.rule, self.types, self.preds, self.chosen = rule, types, preds, flags
        self.split, self.side, self.copies = split, side, []
        self.undefined, self.values, self.same = [], {}, {}
        for c in rule.of("SAME"):
            self.same[max(c[1:3])] = min(c[1:3])
        self.reused = {n.reg for n in rule.result.walk() if n.kind == "ref" and rule.nodes[n.reg].kind == "op"}

    def width(self, n):
        """Of a node of the pattern, or of one that was made; in bits of the scalar."""
        if n.kind == "ref" or n.type is None:
            return self.types[n.reg][2]
        return self.rule.type_of(n.type, self.types)[2]

    def type_width(self, t):
        return self.rule.type_of(t, self.types)[2]

    def predicate(self, n):
        if n.predicate is None:
            return self.preds[n.reg]
        return self.rule.predicate(*n.predicate, self.preds)

    def flag(self, n, name):
        bit = self.rule.tables.flags[name]
        if n.type is None:
            return bool(n.flags & bit) or any(has and f[0] & bit and f[1] >> n.reg & 1 for f, has in self.chosen.items())
        return any(f[0] & bit and (f[1] == 0 or self.chosen[f]) for f in n.flags)

    def representative(self, reg):
        while reg in self.same:
            reg = self.same[reg]
        return reg

    # numbers

    def expression(self, e):
        """(term, width) of a number of the program; the width of a truth value is None."""
        if e[0] == "number":
            return f"c_{e[1]}", self.types[e[1]][2]
        if e[0] == "literal":
            w = self.type_width(e[2])
            return bv(e[1], w), w
        function, w, to = e[0], self.type_width(e[1]), self.type_width(e[2])
        terms, widths = zip(*map(self.expression, e[3:]))
        if function == "eq" and None not in widths:  # of the numbers, whatever their types
            most = max(widths)
            return compare("eq", *(ext(t, most - x, False) for t, x in zip(terms, widths))), None
        if any(x != w for x in widths):
            raise Wrong(f"computes '{function}' of {w} bits with numbers of {' and '.join(map(str, widths))}")
        if w > 64 or to > 64:
            raise Wrong(f"computes '{function}' of {max(w, to)} bits with numbers of 64")
        return self.function(function, terms, w, to)

    def function(self, name, a, w, to):
        if name in ("MIN", "MAX", "WIDTH"):
            return bv({"MIN": 1 << (w - 1), "MAX": (1 << (w - 1)) - 1, "WIDTH": w}[name], w), w
        if name in CASTS:
            if (to >= w) if name == "trunc" else (to <= w):
                raise Wrong(f"computes '{name}' of {w} bits to {to}")
            return cast(name, a[0], w, to), to
        if name in PREDICATES:
            return compare(name, *a), None
        if name == "pow2":
            return f"(and (not (= {a[0]} {bv(0, w)})) (= (bvand {a[0]} (bvsub {a[0]} {bv(1, w)})) {bv(0, w)}))", None
        if name in ("fitsu", "fitss"):
            if to >= w:
                return "true", None
            return f"(= {ext(f'((_ extract {to - 1} 0) {a[0]})', w - to, name == 'fitss')} {a[0]})", None
        return number(name, list(a), w), w

    # instructions

    def variable(self, n):
        reg = self.representative(n.reg)
        if self.split == reg:
            copy = f"u{self.side}{len(self.copies)}"
            self.copies.append((copy, self.types[reg][2]))
            return copy, "false"
        return f"v_{reg}", f"p_{reg}"

    def encode(self, n):
        """(value, poison) of an operand or instruction of the pattern, or of what is made."""
        if n.kind == "ref":
            return self.encode(self.rule.nodes[n.reg]) if self.rule.nodes[n.reg].kind != "op" else self.values[n.reg]
        if n.kind == "int":
            return f"c_{n.reg}", "false"
        if n.kind == "number":
            return self.made_number(n), "false"
        if n.kind == "value":
            return self.variable(n)
        value, poison = self.op(n, [self.encode(a) for a in n.args])
        if n.type is None:
            if n.reg in self.reused:
                poison = f"(or q_{n.reg} {poison})"
            self.values[n.reg] = value, poison
        return value, poison

    def made_number(self, n):
        term, w = self.expression(n.number)
        if w != self.width(n):
            raise Wrong(f"makes i{self.width(n)} of a number of {w} bits")
        return term

    def op(self, n, args):
        a, poison = [x[0] for x in args], [x[1] for x in args]
        w = self.width(n)
        if n.name == "select":
            chosen = f"(ite (= {a[0]} #b1) {poison[1]} {poison[2]})"
            return f"(ite (= {a[0]} #b1) {a[1]} {a[2]})", f"(or {poison[0]} {chosen})"
        bad = [p for p in poison if p != "false"]
        if n.name == "icmp":
            value = f"(ite {compare(self.predicate(n), a[0], a[1])} #b1 #b0)"
        elif n.name in CASTS:
            value = cast(n.name, a[0], self.width(n.args[0]), w)
            bad += self.cast_poison(n, a[0], value)
        else:
            value = number(n.name, a[:1] if n.name in ("abs", "ctlz", "cttz") else a, w)
            bad += self.poison(n, a, value, w)
        if n.name in ("udiv", "sdiv", "urem", "srem"):
            self.undefined += [poison[1], f"(= {a[1]} {bv(0, w)})"]
            if n.name[0] == "s":
                self.undefined.append(f"(and (not {poison[0]}) (= {a[0]} {bv(1 << (w - 1), w)}) "
                                      f"(= {a[1]} {bv(-1, w)}))")
        return value, f"(or {' '.join(bad)})" if bad else "false"

    def cast_poison(self, n, a, value):
        wa, w, bad = self.width(n.args[0]), self.width(n), []
        if n.name == "trunc":
            if self.flag(n, "nuw"):
                bad.append(f"(not (= {ext(value, wa - w, False)} {a}))")
            if self.flag(n, "nsw"):
                bad.append(f"(not (= {ext(value, wa - w, True)} {a}))")
        if n.name == "zext" and self.flag(n, "nneg"):
            bad.append(f"(bvslt {a} {bv(0, wa)})")
        return bad

    def poison(self, n, a, value, w):
        bad = []
        if n.name in ("add", "sub", "mul"):
            for flag, signed in (("nuw", False), ("nsw", True)):
                if self.flag(n, flag):
                    bad.append(f"(not {no_overflow(n.name, a[0], a[1], w, signed)})")
        if n.name in ("shl", "lshr", "ashr"):
            bad.append(f"(bvuge {a[1]} {bv(w, w)})" if w > 1 else f"(= {a[1]} #b1)")
        if n.name == "shl" and self.flag(n, "nuw"):
            bad.append(f"(not (= (bvlshr {value} {a[1]}) {a[0]}))")
        if n.name == "shl" and self.flag(n, "nsw"):
            bad.append(f"(not (= (bvashr {value} {a[1]}) {a[0]}))")
        if n.name in ("lshr", "ashr") and self.flag(n, "exact"):
            bad.append(f"(not (= (bvshl {value} {a[1]}) {a[0]}))")
        if n.name in ("udiv", "sdiv") and self.flag(n, "exact"):
            bad.append(f"(not (= (bvmul {value} {a[1]}) {a[0]}))")
        if n.name == "or" and self.flag(n, "disjoint"):
            bad.append(f"(not (= (bvand {a[0]} {a[1]}) {bv(0, w)}))")
        if n.name in ("abs", "ctlz", "cttz"):
            special = 1 << (w - 1) if n.name == "abs" else 0
            bad.append(f"(and (= {a[1]} #b1) (= {a[0]} {bv(special, w)}))")
        return bad


# --- what the program checks -------------------------------------------------------------------------------

def fact(e, c, value, poison):
    """What a check of known bits says of one value of its register."""
    w = e.types[c[1]][2]
    if c[0] == "ZERO":
        mask, width = e.expression(c[2])
        if width != w:
            raise Wrong(f"looks at {width} of {w} bits")
        claim = f"(= (bvand {value} {mask}) {bv(0, w)})"
    elif c[0] == "NONNEG":
        claim = f"(bvsge {value} {bv(0, w)})"
    elif c[0] == "ONE_BIT":
        claim = f"(= (bvand {value} (bvsub {value} {bv(1, w)})) {bv(0, w)})"
    else:
        claim = f"(not (= {value} {bv(0, w)}))"
    return f"(or {poison} {claim})"


def promises(e, rule, left_out=()):
    """The checks as terms, once the pattern is encoded."""
    def value(reg):
        return e.values[reg] if rule.nodes[reg].kind == "op" else e.encode(rule.nodes[reg])

    out = []
    for c in rule.checks:
        if c in left_out:
            continue
        if c[0] == "REQUIRE":
            term, w = e.expression(c[1])
            out.append(f"(not (= {term} {bv(0, w)}))" if w else term)
        elif c[0] == "NUMBER_IS":
            w = e.types[c[1]][2]
            out.append(f"(= c_{c[1]} {bv(c[2], w)})" if c[2] < 0 or c[2] >> w == 0 else "false")
        elif c[0] in ("ZERO", "NONNEG", "NONZERO", "ONE_BIT"):
            out.append(fact(e, c, *value(c[1])))
        elif c[0] == "DEFINED":
            out.append(f"(not {value(c[1])[1]})")
        elif c[0] == "FOLLOWS":
            out.append(f"(=> {value(c[1])[1]} {value(c[2])[1]})")
        elif c[0] == "DISJOINT":
            (a, p), (b, q) = value(c[1]), value(c[2])
            out.append(f"(or {p} {q} (= (bvand {a} {b}) {bv(0, e.types[c[1]][2])}))")
    return out


# --- questions -------------------------------------------------------------------------------------------

def declarations(rule, e):
    out = [f"(declare-const q_{reg} Bool)" for reg in sorted(e.reused)]
    for n in rule.nodes:
        w = e.types[n.reg][2]
        if n.kind == "int":
            out.append(f"(declare-const c_{n.reg} (_ BitVec {w}))")
        elif n.kind == "value" and e.representative(n.reg) == n.reg:
            out.append(f"(declare-const v_{n.reg} (_ BitVec {w}))")
            out.append(f"(declare-const p_{n.reg} Bool)")
    return out


def refinement(rule, types, preds, flags):
    """SMT-LIB text of one question: unsat means proven; and of the vacuity question."""
    e = Encoder(rule, types, preds, flags)
    lines = declarations(rule, e)
    source, poison = e.encode(rule.pattern)
    source_ub, e.undefined = e.undefined, []
    target, target_poison = e.encode(rule.result)
    wrong = e.undefined + [target_poison, f"(not (= {source} {target}))"]
    lines += [f"(assert {p})" for p in promises(e, rule)]
    lines += [f"(assert (not {u}))" for u in source_ub + [poison]]
    return "\n".join(lines), f"(assert (or {' '.join(wrong)}))"


def undef_question(rule, types, preds, flags, reg):
    """The variable may be another value at each use: for all choices of the result's there must be some of the
    pattern's."""
    s = Encoder(rule, types, preds, flags, reg, "s")
    lines = [d for d in declarations(rule, s) if f"_{reg} " not in d]
    source, poison = s.encode(rule.pattern)
    t = Encoder(rule, types, preds, flags, reg, "t")
    t.values = s.values
    target, target_poison = t.encode(rule.result)
    own = [c for c in rule.checks if c[0] in ("ZERO", "NONNEG", "NONZERO", "ONE_BIT") and s.representative(c[1]) == reg]
    if rule.of("DISJOINT"):
        return None
    facts = {e.side: [fact(e, c, copy, "false") for c in own for copy, _ in e.copies] for e in (s, t)}
    lines += [f"(assert {p})" for p in promises(s, rule, own)]
    lines += [f"(declare-const {c} (_ BitVec {w}))" for c, w in t.copies]
    lines += [f"(assert {f})" for f in facts["t"]]
    better = f"(or {' '.join(s.undefined + [poison])} (and (not (or {' '.join(t.undefined + ['false'])})) " \
             f"(not {target_poison}) (= {source} {target})))"
    allowed = f"(and {' '.join(facts['s'] + ['true'])} {better})"
    if s.copies:
        names = " ".join(f"({c} (_ BitVec {w}))" for c, w in s.copies)
        return "\n".join(lines), f"(assert (not (exists ({names}) {allowed})))"
    return "\n".join(lines), f"(assert (not {allowed}))"


def ask(questions, check="(check-sat)"):
    """Z3's answers to a list of (context, assertion, whether small); one process."""
    text = []
    for context, assertion, small in questions:
        text += [f"(set-option :timeout {TIMEOUTS[not small]})", "(push)", context, assertion, check, "(pop)"]
    run = subprocess.run(["z3", "-in", "-smt2"], input="\n".join(text), capture_output=True, text=True)
    answers = [line for line in run.stdout.split("\n") if line in ("sat", "unsat", "unknown", "timeout")]
    if len(answers) != len(questions):
        raise Wrong("z3: " + run.stdout[:400] + "\n" + "\n".join(text)[:3000])
    return answers


# --- the measure ---------------------------------------------------------------------------------------

WEIGHTS = {"add": 5, "sub": 5.5, "mul": 12, "udiv": 40, "sdiv": 60, "urem": 50, "srem": 70, "shl": 3, "lshr": 3,
           "ashr": 4, "and": 4, "or": 4, "xor": 4, "zext": 2, "sext": 3, "trunc": 3, "select": 7, "fneg": 3,
           "smin": 7, "smax": 7, "umin": 6, "umax": 6, "abs": 6, "fshl": 7, "fshr": 8, "ctpop": 5, "bswap": 5,
           "bitreverse": 5, "ctlz": 6, "cttz": 6, "freeze": 1, "fdiv": 40, "frem": 60, "fadd": 4, "fsub": 5,
           "fmul": 4, "fma": 7, "fmuladd": 8, "fabs": 2, "copysign": 5, "sqrt": 30, "pow": 90, "fcmp": 5}


def icmp_weight(pred):
    return 6 + (pred not in ("eq", "ne")) + (pred[-1] == "e" and pred != "ne") + (pred[0] == "s")


def literal_of(n):
    """The number or name that a constant is known to be; "C" for any other, None of what is no constant."""
    if n.kind == "int":
        return "C" if n.literal is None else str(n.literal)
    if n.kind != "number":
        return None
    return str(n.number[1]) if n.number[0] == "literal" else n.number[0] if n.number[0] in ("MIN", "MAX") else \
        "C" if n.number[0] == "number" else ""


def own_weight(n, e):
    """Wider is heavier, above all in divisions."""
    if n.name == "fcmp":
        own = 5
    else:
        own = icmp_weight(e.predicate(n)) if n.name == "icmp" else WEIGHTS.get(n.name, 6)
    own += 2 * (n.name == "or" and e.flag(n, "disjoint"))
    if n.name == "icmp":  # a sign test costs as little as a test for zero; other constants a little
        other = literal_of(n.args[1])
        if (e.predicate(n), other) in (("slt", "0"), ("sgt", "-1")):
            own = 6
        own += (other == "C") / 64
    return own * (512 + min(128, e.width(n.args[0] if n.name == "icmp" else n)))


def lever(n, e, level=0):
    """Heavy ops far below the root are to come up."""
    if n.kind != "op":
        return 0
    return own_weight(n, e) * level + sum(lever(a, e, level + 1) for a in n.args)


def weight(n, e, made):
    """The pattern: what is removed (the root and what only it uses); the result: what is made, which an op on
    constants is not."""
    if n.kind != "op" or made and all(literal_of(a) is not None for a in n.args):
        return 0
    return own_weight(n, e) + sum(weight(a, e, made) for a in n.args if a.type is not None or a.once)


def depth(n, rule, level=0):
    """Places of variables below the root, counted with their depth."""
    if n.kind == "value" or n.kind == "ref" and rule.nodes[n.reg].kind == "value":
        return 1 + level
    return sum(depth(a, rule, level + 1) for a in n.args)


def falls(rule, e):
    before, after = weight(rule.pattern, e, False), weight(rule.result, e, True)
    if after != before:
        return after < before
    before, after = depth(rule.pattern, rule), depth(rule.result, rule)
    if after != before:
        return after < before
    return lever(rule.result, e) < lever(rule.pattern, e)


# --- all of it --------------------------------------------------------------------------------------------

HARD = {"mul", "udiv", "sdiv", "urem", "srem", "ctpop"}


def ops_of(e):
    """The functions in an expression of numbers."""
    return {e[0]}.union(*(ops_of(x) for x in e[3:])) if e[0] not in ("number", "literal") else set()


def names_of(rule):
    found = {n.name for n in rule.all if n.kind == "op"}
    for e in [c[-1] for c in rule.of("REQUIRE") + rule.of("ZERO")] + [n.number for n in rule.all if n.kind == "number"]:
        found |= ops_of(e)
    return found


def widths_of(rule, widths):
    """The widths to prove a rule at: fewer where there are several types, small ones where Z3 would not end."""
    names = names_of(rule)
    classes = len({tuple(t) for t in zip(*(a.values() for a in rule.assignments([(0, "i", w) for w in (1, 8, 16)])))})
    single, several, hard = {"quick": ([1, 2, 8, 32], [1, 4, 8], [1, 2, 4]),
                             "": ([1, 2, 3, 4, 7, 8, 16, 32, 64], [1, 4, 5, 8, 32, 64], [1, 2, 3, 4, 8]),
                             "all": (list(range(1, 17)) + [24, 31, 32, 33, 63, 64], [1, 2, 3, 4, 8, 16, 31, 32, 64],
                                     [1, 2, 3, 4, 5, 6, 8])}[widths]
    chosen = single if classes <= 1 else several
    if names & HARD:
        chosen = hard if classes <= 1 else hard[:4]
    return [16, 32] if "bswap" in names else chosen


def integers(rule, widths):
    """The assignments to prove: those of integers alone."""
    return rule.assignments([(0, "i", w) for w in widths_of(rule, widths)])


def repeated(rule, e):
    """The variables, by register, that the result uses more than once and that may be undef."""
    sure = {e.representative(c[1]) for c in rule.of("DEFINED")}
    uses = [e.representative(n.reg) for n in rule.result.walk() if n.kind == "ref" and rule.nodes[n.reg].kind == "value"]
    return sorted({r for r in uses if uses.count(r) > 1 and r not in sure})


def describe(rule, types, preds, flags):
    words = [f"{rule.nodes[r].name or rule.nodes[r].kind} {r}: i{types[r][2]}" for r in sorted(types)]
    return f"{', '.join(words)} {list(preds.values()) or ''} {[f for f in flags if flags[f]] or ''}".strip()


class Questions:
    """What Z3 is asked of a rule, with words for each."""

    def __init__(self, rule):
        self.asked, self.told, self.vacuous = [], [], []
        self.small_width = 4 if names_of(rule) & HARD else 8

    def add(self, question, *words):
        self.asked.append((*question, self.is_small(words[1])))
        self.told.append(words)

    def is_small(self, types):
        return max(t[2] for t in types.values()) <= self.small_width

    def gather(self, rule, widths):
        few, all_types = rule.assignments([(0, "i", w) for w in (1, 2, 3)]), integers(rule, widths)
        measured = rule.assignments([t for t in CHECKED if t[:2] == (0, "i")])
        for preds in rule.predicate_choices():
            for flags in rule.flag_choices():
                for types in measured + all_types:
                    if not falls(rule, Encoder(rule, types, preds, flags)):
                        raise Wrong(f"the measure does not fall {describe(rule, types, preds, flags)}")
                for types in all_types:
                    self.of_types(rule, types, preds, flags)
                again = repeated(rule, Encoder(rule, {}, preds, flags))
                for reg, types in itertools.product(again, few):
                    question = undef_question(rule, types, preds, flags, reg)
                    if question:
                        self.add(question, f"wrong if register {reg} is undef,", types, preds, flags)

    def of_types(self, rule, types, preds, flags):
        try:
            question = refinement(rule, types, preds, flags)
        except Unfit:
            return
        self.add(question, "wrong with", types, preds, flags)
        if len(self.vacuous) < 24:
            self.vacuous.append((question[0], "(assert true)", True))


def check_types(rule):
    """How many assignments of types the matcher admits; Wrong if the result of any is ill-typed."""
    all_types = rule.assignments(CHECKED)
    for types in all_types:
        try:
            rule.check_types(types)
        except Wrong as w:
            raise Wrong(f"{w}, where " + ", ".join(f"register {r} is {show(types[r])}" for r in sorted(types)))
        numbers = Encoder(rule, types, {}, {})
        for e in [c[-1] for c in rule.of("REQUIRE") + rule.of("ZERO")]:
            numbers.expression(e)
    if not all_types:
        raise Wrong("no types fit")
    return len(all_types)


def prove_floats(rule):
    """The same of a rule of floats."""
    questions = floats.questions(rule)
    first = (questions[0][0], "(assert true)")
    *answers, applies = ask([(*q[:2], False) for q in [*questions, first]], "(check-sat-using qffp)")
    for answer, (_, _, types, preds, flags) in zip(answers, questions):
        if answer == "sat":
            words = [show(types[r]) for r in sorted(types)]
            return f"wrong with {' '.join(words)} {list(preds.values()) or ''} {' '.join(flags)}".strip(), 0
    return None if applies == "sat" else "never applies", sum(a != "unsat" for a in answers)


def prove(rule, widths):
    """None if proven, else what is wrong; how many questions stay open; how many assignments of types there are."""
    count = check_types(rule)
    if floats.is_proven(rule):
        return *prove_floats(rule), count
    if rule.is_float():
        return None, 0, count
    questions = Questions(rule)
    questions.gather(rule, widths)
    if not questions.asked:
        return "no widths fit", 0, count
    left = 0
    for answer, (what, types, preds, flags) in zip(ask(questions.asked), questions.told):
        if answer == "unsat":
            continue
        if answer != "sat" and not questions.is_small(types):
            left += 1
            continue
        return f"{what if answer == 'sat' else 'not decided:'} {describe(rule, types, preds, flags)}", 0, count
    return (None if "sat" in ask(questions.vacuous) else "never applies"), left, count


def wrong_rules():
    """Those of wrong.rules, and those of the table that name a constant in two types, without the check."""
    with tempfile.TemporaryDirectory() as folder:
        generator = os.path.join(GENERATED, "bin", "gen_combine")
        table = os.path.join(ROOT, "runtime-tests", "prove", "wrong.rules")
        subprocess.run([generator, table, folder], check=True)
        found = decode(folder)
    for rule in decode():
        if rule.name in ("select-bit-clear", "select-bit-set"):
            rule.checks = [c for c in rule.checks if c[0] != "SAME_TYPE"]
            found.append(rule)
    return found


def outcome(rule, widths):
    try:
        return prove(rule, widths)
    except Wrong as w:
        return str(w), 0, 0


def refuse():
    """The prover's own test."""
    rules = wrong_rules()
    answers = [(rule, outcome(rule, "quick")[0]) for rule in rules]
    for rule, wrong in answers:
        print(f"{rule.name}: {wrong}" if wrong else f"{rule.name} is wrong, and was taken")
    taken = sum(not wrong for _, wrong in answers)
    print(f"{len(rules) - taken} passed, {taken} failed")
    return taken != 0


def main():
    args = sys.argv[1:]
    if "--help" in args:
        print(__doc__)
        return 0
    if "--wrong" in args:
        return refuse()
    only = args[args.index("--only") + 1] if "--only" in args else ""
    widths = args[args.index("--widths") + 1] if "--widths" in args else ""
    rules = decode(*args[args.index("--generated") + 1:][:1] if "--generated" in args else ())
    rules = [r for r in rules if only in r.name]
    if not rules:
        sys.exit(f"prove.py: no rule's name contains '{only}'")
    passed = failed = left = types = 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda rule: outcome(rule, widths), rules)
    for rule, (wrong, open_questions, count) in zip(rules, answers):
        left, types = left + open_questions, types + count
        if wrong:
            print(f"opt/scalar/combine.rules:{rule.line}: {rule.name}: {wrong}", flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    if left:
        print(f"{left} questions not decided in {TIMEOUTS[1]} ms, all at more than 8 bits (4 where there is "
              "a product, quotient or count of bits) or of floats; those at smaller widths are proven")
    print(f"{types} assignments of types that the matcher admits, all well-typed; what is computed is by the language "
          f"reference in {sum(r.is_float() and not floats.is_proven(r) for r in rules)} rules (floats, freeze, bitcast)")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
