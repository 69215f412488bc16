#!/usr/bin/env python3
"""Proves the peephole rules of opt/combine.rules with Z3.

For every rule, every predicate its variables may be, every optional flag present or not, and several
widths, Z3 is asked for operands with which the result is not a refinement of the pattern: the pattern
is defined (no undefined behaviour, no poison), but the result is undefined, poison or another value.
No such operands: proven. Beside that:
  - a variable that the result uses more often than once could be undef, a different value at each use:
    the rule must hold then too (asked with quantifiers, at small widths);
  - some operands must match, or the rule is vacuous;
  - the measure must fall, so that the pass ends: see weight().
Float rules and freeze are taken from the language reference: the section of combine.rules says why; they
are counted apart.

Reads the table itself: a second reader of the language is a second opinion about what it means.
usage: prove.py [--only NAME] [--table FILE] [--widths quick|all]
Prints `N passed, N failed`, exit status 1 if any failed
"""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "opt", "combine.rules")
TIMEOUT = 4000  # milliseconds a query

BINARY = "add sub mul udiv sdiv urem srem shl lshr ashr and or xor".split()
CASTS = ["zext", "sext", "trunc"]
INTRINSICS = {"smin": 2, "smax": 2, "umin": 2, "umax": 2, "ctpop": 1, "bswap": 1, "bitreverse": 1,
              "fshl": 3, "fshr": 3, "uadd_sat": 2, "usub_sat": 2, "sadd_sat": 2, "ssub_sat": 2,
              "abs": 2, "ctlz": 2, "cttz": 2}
FUNCTIONS = {"log2": 1, "not": 1, "neg": 1, "lowmask": 1, "lowzeros": 1}
CONDITIONS = ("eq ne ult ule ugt uge slt sle sgt sge pow2 zero nonneg nonzero defined disjoint bool wide "
              "fitsu fitss").split()
PREDICATES = "eq ne ugt uge ult ule sgt sge slt sle".split()
CLASSES = {"": PREDICATES, "eqne": ["eq", "ne"], "rel": PREDICATES[2:],
           "urel": PREDICATES[2:6], "srel": PREDICATES[6:]}
INVERSE = dict(zip(PREDICATES, "ne eq ule ult uge ugt sle slt sge sgt".split()))
SWAPPED = dict(zip(PREDICATES, "eq ne ult ule ugt uge slt sle sgt sge".split()))
FLOAT_OPS = set("fadd fsub fmul fdiv frem fneg fcmp fptrunc fpext fptosi fptoui sitofp uitofp fabs fma "
                "fmuladd sqrt copysign minnum maxnum minimum maximum floor ceil ftrunc rint nearbyint "
                "roundeven round canonicalize cos sin pow exp2 bitcast".split())


class Refused(Exception):
    pass


class Node:
    def __init__(self, kind, name, args=(), flags=(), pred=None, once=False):
        self.kind, self.name, self.args, self.flags = kind, name, list(args), list(flags)
        self.pred, self.once, self.bound, self.type = pred, once, None, None

    def walk(self):
        yield self
        for a in self.args:
            yield from a.walk()


def tokens(text):
    return re.findall(r"@|\(|\)|[A-Za-z_]\w*=(?=\()|[^\s()@]+", text)


class Reader:
    def __init__(self, text):
        self.t, self.at = tokens(text), 0

    def peek(self):
        return self.t[self.at] if self.at < len(self.t) else None

    def next(self):
        self.at += 1
        return self.t[self.at - 1]

    def node(self):
        once = self.peek() == "@" and bool(self.next())
        bound = self.next()[:-1] if self.peek().endswith("=") else None
        if self.peek() == "(":
            self.next()
            head, *flags = self.next().split(".")
            pred = self.next() if head in ("icmp", "fcmp") else None
            args = []
            while self.peek() != ")":
                args.append(self.node())
            self.next()
            n = Node("op", head, args, flags, pred, once)
        else:
            w = self.next()
            if re.fullmatch(r"-?\d+|true|false|MIN|MAX|WIDTH", w):
                kind = "literal"
            elif "." in w or w in ("nan", "inf"):
                kind = "float"
            else:
                kind = "int" if w[0].isupper() else "value"
            n = Node(kind, w)
        n.bound = bound
        return n


class Rule:
    def __init__(self, line, number):
        self.number = number
        self.name, rest = line.split(": ", 1)
        left, result = rest.split("->")
        pattern, _, conditions = left.partition(" if ")
        self.pattern = Reader(pattern).node()
        self.result = Reader(result).node()
        r = Reader(conditions)
        self.conditions = []
        while r.peek():
            self.conditions.append(r.node())
        self.all = list(self.pattern.walk()) + list(self.result.walk())

    def is_float(self):
        return any(n.kind == "float" or n.name in FLOAT_OPS and n.kind == "op" for n in self.all)

    def has_freeze(self):
        return any(n.kind == "op" and n.name == "freeze" for n in self.all)


def read_table(path):
    joined, first, rules = "", 0, []
    lines = open(path).read().split("\n") + ["."]
    for number, line in enumerate(lines, 1):
        line = line.split("#")[0].rstrip()
        if line == "" or line[0] == " ":
            joined += line
            continue
        if joined:
            rules.append(Rule(joined, first))
        joined, first = line, number
    return rules


# --- types ------------------------------------------------------------------------------------------

class Types:
    def __init__(self, rule):
        self.parent, self.bools, self.order, self.names = [], set(), [], {}
        self.infer(rule.pattern)
        self.infer(rule.result)
        self.unify(rule.pattern.type, rule.result.type)
        for c in rule.conditions:
            if c.name in ("fitsu", "fitss"):
                for a in c.args:
                    self.infer(a)
                c.type = self.new()
            else:
                self.infer(c)
        self.wide = []
        for c in rule.conditions:
            if c.name == "bool":
                self.bools.add(c.args[0].type)
            if c.name == "wide":
                self.wide.append(c.args[0].type)
        self.bools = {self.find(b) for b in self.bools}
        self.roots = sorted({self.find(i) for i in range(len(self.parent))})
        used = set()
        for n in rule.all:
            used.add(self.find(n.type))
        for c in rule.conditions:
            for n in c.walk():
                if n is not c:
                    used.add(self.find(n.type))
        self.roots = [r for r in self.roots if r in used]

    def new(self):
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, a):
        while self.parent[a] != a:
            a = self.parent[a]
        return a

    def unify(self, a, b):
        a, b = self.find(a), self.find(b)
        self.parent[max(a, b)] = min(a, b)

    def infer(self, n):
        n.type = self.new()
        for a in n.args:
            self.infer(a)
        if n.kind == "op":
            self.infer_op(n)
        if n.kind == "literal" and n.name in ("true", "false"):
            self.bools.add(n.type)
        key = n.bound if n.bound else n.name if n.kind in ("value", "int") else None
        if key:
            if key in self.names:
                self.unify(self.names[key], n.type)
            else:
                self.names[key] = n.type

    def infer_op(self, n):
        t = [a.type for a in n.args]
        if n.name == "icmp":
            self.unify(t[0], t[1])
            self.bools.add(n.type)
        elif n.name == "select":
            self.bools.add(t[0])
            self.unify(n.type, t[1])
            self.unify(n.type, t[2])
        elif n.name in CASTS:
            self.order.append((n.name, t[0], n.type))
        elif n.name in ("abs", "ctlz", "cttz"):
            self.unify(n.type, t[0])
            self.bools.add(t[1])
        elif n.name in BINARY or n.name in INTRINSICS or n.name in FUNCTIONS or n.name in CONDITIONS:
            for a in t:
                self.unify(n.type, a)
        else:
            raise Refused("unknown op " + n.name)

    def allows(self, widths):
        for name, a, b in self.order:
            wa, wb = widths[self.find(a)], widths[self.find(b)]
            if wa >= wb if name != "trunc" else wa <= wb:
                return False
        return all(widths[self.find(w)] > 1 for w in self.wide)

    def assignments(self, single, several, limit):
        free = [r for r in self.roots if r not in self.bools]
        fixed = {r: 1 for r in self.roots if r in self.bools}
        choices = single if len(free) <= 1 else several
        found = []
        for combo in itertools.product(choices, repeat=len(free)):
            widths = {**fixed, **dict(zip(free, combo))}
            if self.allows(widths):
                found.append(widths)
        found.sort(key=lambda w: (sum(w.values()), sorted(w.items())))
        if len(found) > limit:  # the smallest, and some of each size
            step = len(found) / limit
            found = [found[int(k * step)] for k in range(limit)]
        return found


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


class Encoder:
    """Terms of one side; `occurrence` may give each occurrence of a variable a name of its own."""

    def __init__(self, types, widths, preds, flags, split=None, side="s"):
        self.types, self.widths, self.preds, self.optional = types, widths, preds, flags
        self.split, self.side, self.copies = split, side, []
        self.undefined, self.bound = [], {}

    def width(self, n):
        return self.widths[self.types.find(n.type)]

    def predicate(self, text):
        text = text.split(":")[0]
        modifier, _, name = text.rpartition(".")
        p = self.preds.get(name, name)
        if modifier == "inv":
            return INVERSE[p]
        if modifier == "swap":
            return SWAPPED[p]
        if modifier == "u":
            return p.replace("s", "u", 1) if p[0] == "s" else p
        if modifier == "s":
            return "s" + p[1:] if p[0] == "u" else p
        return p

    def flag(self, n, name):
        return name in n.flags or (name + "?" in n.flags and self.optional[name])

    def constant(self, n):
        """The number a constant expression is, total as in SMT-LIB."""
        w = self.width(n)
        if n.kind == "int":
            return "c_" + n.name
        if n.kind == "literal":
            named = {"true": 1, "false": 0, "MIN": 1 << (w - 1), "MAX": (1 << (w - 1)) - 1, "WIDTH": w}
            return bv(named[n.name] if n.name in named else int(n.name), w)
        if n.kind != "op":
            raise Refused(f"{n.name} is no constant")
        a = [self.constant(x) for x in n.args]
        if n.name in CASTS:
            return self.cast(n, a[0])
        return self.number(n.name, a, w)

    def number(self, name, a, w):
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
                raise Refused("width")
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
        raise Refused("no meaning for " + name)

    def cast(self, n, a):
        wa, w = self.width(n.args[0]), self.width(n)
        if n.name == "trunc":
            return f"((_ extract {w - 1} 0) {a})"
        return ext(a, w - wa, n.name == "sext")

    def is_constant(self, n):
        if n.kind == "op":
            return n.name != "icmp" and n.name != "select" and all(self.is_constant(a) for a in n.args)
        return n.kind in ("int", "literal")

    def variable(self, n):
        if n.name in self.bound:
            return self.bound[n.name]
        if self.split == n.name:
            copy = f"u{self.side}{len(self.copies)}"
            self.copies.append((copy, self.width(n)))
            return copy, "false"
        return "v_" + n.name, "p_" + n.name

    def encode(self, n, in_pattern):
        """(value, poison) of an instruction or operand."""
        if n.kind in ("int", "literal"):
            return self.constant(n), "false"
        if n.kind == "value":
            return self.variable(n)
        if not in_pattern and self.is_constant(n):
            return self.constant(n), "false"
        both = self.op(n, [self.encode(a, in_pattern) for a in n.args])
        if n.bound:
            self.bound[n.bound] = both
        return both

    def op(self, n, args):
        a, poison = [x[0] for x in args], [x[1] for x in args]
        w = self.width(n)
        if n.name == "select":
            chosen = f"(ite (= {a[0]} #b1) {poison[1]} {poison[2]})"
            return f"(ite (= {a[0]} #b1) {a[1]} {a[2]})", f"(or {poison[0]} {chosen})"
        bad = [p for p in poison if p != "false"]
        if n.name == "icmp":
            value = f"(ite {compare(self.predicate(n.pred), a[0], a[1])} #b1 #b0)"
        elif n.name in CASTS:
            value = self.cast(n, a[0])
            bad += self.cast_poison(n, a[0], value)
        else:
            value = self.number(n.name, a[:1] if n.name in ("abs", "ctlz", "cttz") else a, w)
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


def fact(e, c, x, value, poison):
    """What a condition on a variable promises of one of its values."""
    w = e.width(x)
    if c.name == "zero":
        claim = f"(= (bvand {value} {e.constant(c.args[1])}) {bv(0, w)})"
    elif c.name == "nonneg":
        claim = f"(bvsge {value} {bv(0, w)})"
    elif c.name == "nonzero":
        claim = f"(not (= {value} {bv(0, w)}))"
    else:
        return None
    return f"(or {poison} {claim})"


def promises(e, rule, bound):
    """The conditions as assertions."""
    out = []
    for c in rule.conditions:
        if c.name in ("bool", "wide"):
            continue
        x = c.args[0]
        if c.name in ("fitsu", "fitss"):
            wa, wb = e.width(x), e.width(c.args[1])
            if wb < wa:
                cut = ext(f"((_ extract {wb - 1} 0) {e.constant(x)})", wa - wb, c.name == "fitss")
                out.append(f"(= {cut} {e.constant(x)})")
        elif c.name == "defined":
            out.append(f"(not p_{x.name})")
        elif c.name == "disjoint":
            y = c.args[1]
            out.append(f"(or p_{x.name} p_{y.name} (= (bvand v_{x.name} v_{y.name}) {bv(0, e.width(x))}))")
        elif c.name == "pow2":
            w, t = e.width(x), e.constant(x)
            out.append(f"(and (not (= {t} {bv(0, w)})) (= (bvand {t} (bvsub {t} {bv(1, w)})) {bv(0, w)}))")
        elif c.name in PREDICATES:
            out.append(compare(c.name, e.constant(x), e.constant(c.args[1])))
        elif x.name in bound:
            out.append(fact(e, c, x, *bound[x.name]))
        else:
            out.append(fact(e, c, x, f"v_{x.name}", f"p_{x.name}"))
    return out


# --- questions -------------------------------------------------------------------------------------------

def declarations(rule, e):
    out, seen = [], set()
    bound = {n.bound for n in rule.all if n.bound}
    for n in rule.all:
        if n.kind not in ("value", "int") or n.name in seen or n.name in bound:
            continue
        seen.add(n.name)
        if n.kind == "value":
            out.append(f"(declare-const v_{n.name} (_ BitVec {e.width(n)}))")
            out.append(f"(declare-const p_{n.name} Bool)")
        else:
            out.append(f"(declare-const c_{n.name} (_ BitVec {e.width(n)}))")
    return out


def literals_fit(rule, e):
    for n in rule.pattern.walk():
        if n.kind == "literal" and re.fullmatch(r"\d+", n.name) and int(n.name) >> e.width(n):
            return False
    return True


def refinement(rule, types, widths, preds, flags):
    """SMT-LIB text of one question: unsat means proven; and of the vacuity question."""
    e = Encoder(types, widths, preds, flags)
    if not literals_fit(rule, e):
        return None
    lines = declarations(rule, e)
    source, poison = e.encode(rule.pattern, True)
    source_ub = e.undefined
    e.undefined = []
    target, target_poison = e.encode(rule.result, False)
    wrong = e.undefined + [target_poison, f"(not (= {source} {target}))"]
    lines += [f"(assert {p})" for p in promises(e, rule, e.bound)]
    lines += [f"(assert (not {u}))" for u in source_ub + [poison]]
    return "\n".join(lines), f"(assert (or {' '.join(wrong)}))"


def undef_question(rule, types, widths, preds, flags, name):
    """The variable `name` may be another value at each use: for all choices of the result's there must
    be some of the pattern's."""
    s = Encoder(types, widths, preds, flags, name, "s")
    if not literals_fit(rule, s):
        return None
    lines = [d for d in declarations(rule, s) if f"_{name} " not in d]
    source, poison = s.encode(rule.pattern, True)
    t = Encoder(types, widths, preds, flags, name, "t")
    t.bound = s.bound
    target, target_poison = t.encode(rule.result, False)
    facts = {"s": [], "t": []}
    others = []
    for c in rule.conditions:
        if c.args[0].kind == "value" and c.args[0].name == name and c.name != "bool" and c.name != "wide":
            for e in (s, t):
                facts[e.side] += [fact(e, c, c.args[0], copy, "false") or "false" for copy, _ in e.copies]
        elif c.name == "disjoint":
            return None
        else:
            others.append(c)
    kept, rule.conditions = rule.conditions, others
    lines += [f"(assert {p})" for p in promises(s, rule, s.bound)]
    rule.conditions = kept
    lines += [f"(declare-const {c} (_ BitVec {w}))" for c, w in t.copies]
    lines += [f"(assert {f})" for f in facts["t"]]
    better = f"(or {' '.join(s.undefined + [poison])} (and (not (or {' '.join(t.undefined + ['false'])})) " \
             f"(not {target_poison}) (= {source} {target})))"
    allowed = f"(and {' '.join(facts['s'] + ['true'])} {better})"
    if s.copies:
        names = " ".join(f"({c} (_ BitVec {w}))" for c, w in s.copies)
        return "\n".join(lines), f"(assert (not (exists ({names}) {allowed})))"
    return "\n".join(lines), f"(assert (not {allowed}))"


def ask(questions):
    """Z3's answers to a list of (context, assertion); one process."""
    text = [f"(set-option :timeout {TIMEOUT})"]
    for context, assertion in questions:
        text += ["(push)", context, assertion, "(check-sat)", "(pop)"]
    run = subprocess.run(["z3", "-in", "-smt2"], input="\n".join(text), capture_output=True, text=True)
    answers = [line for line in run.stdout.split("\n") if line in ("sat", "unsat", "unknown", "timeout")]
    if len(answers) != len(questions):
        raise Refused("z3: " + run.stdout[:400] + "\n" + "\n".join(text)[:3000])
    return answers


# --- the measure ---------------------------------------------------------------------------------------

WEIGHTS = {"add": 5, "sub": 5.5, "mul": 12, "udiv": 40, "sdiv": 60, "urem": 50, "srem": 70, "shl": 3, "lshr": 3,
           "ashr": 4, "and": 4, "or": 4, "xor": 4, "zext": 2, "sext": 3, "trunc": 3, "select": 7, "fneg": 3,
           "smin": 7, "smax": 7, "umin": 6, "umax": 6, "abs": 6, "fshl": 7, "fshr": 8, "ctpop": 5, "bswap": 5,
           "bitreverse": 5, "ctlz": 6, "cttz": 6, "freeze": 1, "fdiv": 40, "frem": 60, "fadd": 4, "fsub": 5,
           "fmul": 4, "fma": 7, "fmuladd": 8, "fabs": 2, "copysign": 5, "sqrt": 30, "pow": 90, "fcmp": 5}


def icmp_weight(pred):
    return 6 + (pred not in ("eq", "ne")) + (pred[-1] == "e" and pred != "ne") + (pred[0] == "s")


def own_weight(n, e):
    """Wider is heavier, above all in divisions."""
    own = icmp_weight(e.predicate(n.pred)) if n.name == "icmp" else WEIGHTS.get(n.name, 6)
    own += 2 * ("disjoint" in n.flags)
    if n.name == "icmp":  # a sign test costs as little as a test for zero; other constants a little
        other = n.args[1]
        if (e.predicate(n.pred), other.name) in (("slt", "0"), ("sgt", "-1")):
            own = 6
        own += (other.kind == "int") / 64
    return own * (128 + (e.width(n.args[0]) if n.name == "icmp" else e.width(n)))


def lever(n, e, pattern, level=0):
    """Heavy ops far below the root are to come up."""
    if n.kind != "op" or (not pattern and e.is_constant(n)):
        return 0
    return own_weight(n, e) * level + sum(lever(a, e, pattern, level + 1) for a in n.args)


def weight(n, e, pattern):
    """The pattern: what goes (the root and what only it uses); the result: what is made."""
    if n.kind != "op" or (not pattern and e.is_constant(n)):
        return 0
    own = own_weight(n, e)
    for a in n.args:
        if a.kind == "op" and (not pattern or a.once):
            own += weight(a, e, pattern)
    return own


def depth(n, level=0):
    """Places of variables below the root, counted with their depth."""
    if n.kind == "value":
        return 1 + level
    return sum(depth(a, level + 1) for a in n.args)


def falls(rule, e):
    before, after = weight(rule.pattern, e, True), weight(rule.result, e, False)
    if after != before:
        return after < before
    before, after = depth(rule.pattern), depth(rule.result)
    if after != before:
        return after < before
    return lever(rule.result, e, False) < lever(rule.pattern, e, True)


# --- all of it --------------------------------------------------------------------------------------------

def hard(rule):
    return any(n.name in ("mul", "udiv", "sdiv", "urem", "srem", "ctpop") for n in rule.all)


def predicate_choices(rule):
    names = {}
    for n in rule.pattern.walk():
        if n.pred and n.pred.split(":")[0][0].isupper():
            name, _, kind = n.pred.partition(":")
            names.setdefault(name, CLASSES[kind])
    keys = sorted(names)
    return [dict(zip(keys, c)) for c in itertools.product(*(names[k] for k in keys))]


def flag_choices(rule):
    names = sorted({f[:-1] for n in rule.pattern.walk() for f in n.flags if f.endswith("?")})
    return [dict(zip(names, c)) for c in itertools.product((False, True), repeat=len(names))]


def repeated(rule):
    sure = {c.args[0].name for c in rule.conditions if c.name == "defined"}
    count = {}
    for n in rule.result.walk():
        if n.kind == "value" and n.name not in sure:
            count[n.name] = count.get(n.name, 0) + 1
    bound = {n.bound for n in rule.all if n.bound}
    return [n for n, c in count.items() if c > 1 and n not in bound]


def describe(types, widths, preds, flags):
    return f"widths {sorted(widths.values())} {preds or ''} {[f for f in flags if flags[f]] or ''}"


def prove(rule, single, several):
    """None if proven, else what went wrong; and how many questions stayed open beyond 8 bits."""
    types = Types(rule)
    if hard(rule):
        swaps = any(n.name == "bswap" for n in rule.all)
        single, several = [1, 2, 3, 4, 16 if swaps else 8], [1, 2, 3, 4]
    questions, told, vacuous = [], [], []
    for preds in predicate_choices(rule):
        for flags in flag_choices(rule):
            for widths in types.assignments(single, several, 10):
                e = Encoder(types, widths, preds, flags)
                if not falls(rule, e):
                    return f"the measure does not fall {preds or ''}", 0
                try:
                    q = refinement(rule, types, widths, preds, flags)
                except Refused as r:
                    if str(r) == "width":
                        continue
                    raise
                if not q:
                    continue
                questions.append(q)
                told.append(("wrong with", widths, preds, flags))
                if len(vacuous) < 12:
                    vacuous.append((q[0], "(assert true)"))
            for name in repeated(rule):
                for widths in types.assignments([1, 2, 3], [1, 2, 3], 3):
                    q = undef_question(rule, types, widths, preds, flags, name)
                    if q:
                        questions.append(q)
                        told.append((f"wrong if {name} is undef,", widths, preds, flags))
    if not questions:
        return "no widths fit", 0
    open_questions = 0
    for answer, (what, widths, preds, flags) in zip(ask(questions), told):
        if answer == "unsat":
            continue
        if answer != "sat" and max(widths.values()) > (4 if hard(rule) else 8):
            open_questions += 1
            continue
        return f"{what if answer == 'sat' else 'not decided:'} {describe(types, widths, preds, flags)}", 0
    if "sat" not in ask(vacuous):
        return "never applies", 0
    return None, open_questions


def main():
    args = sys.argv[1:]
    only = args[args.index("--only") + 1] if "--only" in args else None
    table = args[args.index("--table") + 1] if "--table" in args else TABLE
    single, several = [1, 2, 3, 4, 7, 8, 16, 32], [1, 3, 4, 8, 16, 32]
    if "all" in args:
        single, several = single + [64], several + [7, 64]
    if "quick" in args:
        single, several = [1, 2, 4, 8, 32], [1, 4, 8]
    passed = failed = by_reference = open_questions = 0
    rules = [r for r in read_table(table) if not only or only in r.name]
    by_reference = sum(r.is_float() or r.has_freeze() for r in rules)
    rules = [r for r in rules if not (r.is_float() or r.has_freeze())]

    def one(rule):
        try:
            return prove(rule, single, several)
        except Refused as r:
            return str(r), 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(one, rules)
    for rule, (wrong, left) in zip(rules, answers):
        open_questions += left
        if wrong:
            print(f"{table}:{rule.number}: {rule.name}: {wrong}", flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    if open_questions:
        print(f"{open_questions} questions not decided in {TIMEOUT} ms, all at more than 8 bits (4 where there is "
              "a product, quotient or count of bits); those at smaller widths are proven")
    print(f"{by_reference} by the language reference (floats, freeze)")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
