#!/usr/bin/env python3
"""Random integer expressions of mixed widths (1 to 64 bits, a few of 128, scalars and vectors of two lanes):
each is computed for 64 rows of operands as IR without passes, and again after -O1 and -O3, as IR and as
PTX; some modules also by LLVM (lli), whose answer is nobody's here. Nothing may differ.

The generator likes what peephole rules look at: constants of one value in several types, bools that are
computed with, an operand used twice, selects of comparisons, casts there and back; and it writes the patterns of
the rules themselves (rules.py), with any types that their ops allow and any constants.
usage: expressions.py [--count N] [--seed S] [--lli EVERY]     N expressions, 100 a module
Ends with `N passed, N failed`, exit status 1 if any failed."""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

from rules import CASTS, WITH_BOOL, decode

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NVMINI = os.environ.get("NVMINI") or os.path.join(ROOT, "build", "nvmini")
ROWS, MODULE = 64, 100
WAYS = (["--from", "ir", "-O1"], ["--from", "ir", "-O3"], ["-O0"], ["-O3"])
WIDTHS = (1, 1, 8, 8, 16, 32, 32, 32, 64, 64, 128)
PREDICATES = "eq ne ugt uge ult ule sgt sge slt sle".split()
HEAD = """target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
"""


def interesting(r, w):
    """A number of w bits, near where things change."""
    near = r.choice((0, 0, 1, 1 << (w - 1), 1 << r.randrange(w), (1 << r.randrange(w + 1)) - 1, w, r.getrandbits(w)))
    return (near + r.choice((-1, 0, 0, 0, 0, 1))) % (1 << w)


def patterns():
    """The rules' patterns with the types that their ops allow: [(rule, [{register: type}])]."""
    found = [(rule, rule.assignments([(0, "i", w) for w in sorted(set(WIDTHS))], False)) for rule in decode() if not rule.is_float()]
    return [(rule, types) for rule, types in found if types]


class Expression:
    """Instructions %eK_0, %eK_1, ... of function number K; `values` are (width, name)."""

    def __init__(self, r, k, lanes, patterns):
        self.patterns = patterns
        self.r, self.k, self.lanes, self.lines, self.values, self.declared = r, k, lanes, [], [], set()
        self.pool = [r.choice((0, 1, -1, 2, 4, r.randrange(16), 1 << r.randrange(8), interesting(r, 64))) for _ in range(3)]
        self.variables = {}

    def type(self, w):
        return f"<2 x i{w}>" if self.lanes else f"i{w}"

    def add(self, w, text):
        name = f"%e{self.k}_{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((w, name))
        return name

    def number(self, w):
        c = self.r.choice(self.pool) if self.r.random() < 0.7 else interesting(self.r, w)
        c %= 1 << w
        return self.literal(w, c - (1 << w) if c >> (w - 1) else c)

    def literal(self, w, c):
        c = ("true" if c else "false") if w == 1 else str(c)
        return f"<i{w} {c}, i{w} {c}>" if self.lanes else c

    def variable(self, w):
        """One of two of the width; a vector of both."""
        n = self.r.randrange(2)
        if not self.lanes:
            return f"%v{w}_{n}"
        if (w, n) not in self.variables:
            a = self.add(w, f"insertelement <2 x i{w}> poison, i{w} %v{w}_{n}, i32 0")
            self.variables[w, n] = self.add(w, f"insertelement <2 x i{w}> {a}, i{w} %v{w}_{1 - n}, i32 1")
            del self.values[-2]
        return self.variables[w, n]

    def operand(self, w, constant=0.35):
        known = [v for x, v in self.values[-4:] if x == w]
        x = self.r.random()
        if x < constant:
            return self.number(w)
        if known and x < 0.85:
            return self.r.choice(known)
        return self.variable(w)

    def call(self, name, w, *operands):
        t = self.type(w)
        short = f"v2i{w}" if self.lanes else f"i{w}"
        types = [o.split(" ")[0] if o in ("i1 true", "i1 false") else t for o in operands]
        self.declared.add(f"declare {t} @llvm.{name}.{short}({', '.join(types)})\n")
        arguments = ", ".join(o if o.startswith("i1 ") else f"{t} {o}" for o in operands)
        return self.add(w, f"call {t} @llvm.{name}.{short}({arguments})")

    def step(self):
        r = self.r
        w, a = self.values[-1 if r.random() < 0.75 else r.randrange(len(self.values))]
        if r.random() < 0.08:
            w = r.choice(WIDTHS)
            a = self.operand(w, 0.1)
        kind = r.choices(("binary", "compare", "select", "cast", "shift", "divide", "call", "bounded", "not", "rule"),
                         (30, 18, 16, 18, 8, 4, 9, 5, 5, 70))[0]
        getattr(self, "step_" + kind)(w, a)

    def step_binary(self, w, a):
        op, b = self.r.choice("add sub mul and or xor and or xor add".split()), self.operand(w)
        if self.r.random() < 0.2:
            a, b = b, a
        self.add(w, f"{op} {self.type(w)} {a}, {b}")

    def step_not(self, w, a):
        if self.r.random() < 0.5:
            self.add(w, f"sub {self.type(w)} {self.literal(w, 0)}, {a}")
        else:
            self.add(w, f"xor {self.type(w)} {a}, {self.literal(w, -1)}")

    def step_compare(self, w, a):
        self.add(1, f"icmp {self.r.choice(PREDICATES)} {self.type(w)} {a}, {self.operand(w, 0.6)}")

    def step_select(self, w, a):
        conditions = [v for x, v in self.values if x == 1]
        c = self.r.choice(conditions) if conditions else self.variable(1)
        b = self.operand(w, 0.5)
        if self.r.random() < 0.3:
            a = self.number(w)
        if self.r.random() < 0.5:
            a, b = b, a
        ct = self.type(1)
        if self.lanes and self.r.random() < 0.2:
            ct, c = "i1", f"%v1_{self.r.randrange(2)}"
        self.add(w, f"select {ct} {c}, {self.type(w)} {a}, {self.type(w)} {b}")

    def step_cast(self, w, a):
        to = self.r.choice([x for x in (1, 8, 16, 32, 64, 128) if x != w and (x != 128 or self.r.random() < 0.1)] or [8])
        op = "trunc" if to < w else self.r.choice(("zext", "sext"))
        self.add(to, f"{op} {self.type(w)} {a} to {self.type(to)}")

    def step_shift(self, w, a):
        if self.r.random() < 0.6 or w == 1:
            amount = self.literal(w, self.r.choice((0, w - 1, self.r.randrange(w))) if w > 1 else 0)
        else:
            amount = self.add(w, f"and {self.type(w)} {self.operand(w, 0)}, {self.literal(w, w - 1)}")
        self.add(w, f"{self.r.choice(('shl', 'lshr', 'ashr'))} {self.type(w)} {a}, {amount}")

    def step_divide(self, w, a):
        op = self.r.choice("udiv sdiv urem srem".split())
        if w == 1:
            return self.add(w, f"{op[0].replace('s', 'u') + op[1:]} {self.type(w)} {a}, {self.literal(w, 1)}")
        if self.r.random() < 0.6:
            c = self.r.choice((2, 3, 4, 8, 7, 10, 1 << self.r.randrange(w), interesting(self.r, w) or 1)) % (1 << w) or 1
            c = c - (1 << w) if c >> (w - 1) else c
            b = self.literal(w, 3 if c == -1 else c)
        else:
            b = self.add(w, f"and {self.type(w)} {self.operand(w, 0)}, {self.literal(w, (1 << (w - 1)) - 1)}")
            b = self.add(w, f"or {self.type(w)} {b}, {self.literal(w, 1)}")
        return self.add(w, f"{op} {self.type(w)} {a}, {b}")

    def step_call(self, w, a):
        name = self.r.choice("smin smax umin umax abs ctpop ctlz cttz bswap bitreverse fshl fshr uadd.sat usub.sat "
                             "sadd.sat ssub.sat".split())
        if w == 1 or w == 128 or (name == "bswap" and w % 16):
            name = self.r.choice(("smin", "smax", "umin", "umax"))
        if name in ("abs", "ctlz", "cttz"):
            return self.call(name, w, a, "i1 false")
        if name in ("ctpop", "bswap", "bitreverse"):
            return self.call(name, w, a)
        if name in ("fshl", "fshr"):
            return self.call(name, w, a, self.r.choice((a, self.operand(w))), self.operand(w, 0.6))
        return self.call(name, w, a, self.operand(w))

    def step_bounded(self, w, a):
        """Sums and products that cannot wrap, with the flags that say so."""
        if w not in (8, 16):
            return self.step_binary(w, a)
        to = 4 * w
        b = self.operand(w)
        cast = self.r.choice(("zext", "sext"))
        x = self.add(to, f"{cast} {self.type(w)} {a} to {self.type(to)}")
        y = self.add(to, f"{cast} {self.type(w)} {b} to {self.type(to)}")
        flags = " nsw" if cast == "sext" else self.r.choice((" nuw nsw", " nuw", " nsw"))
        op = self.r.choice(("add", "mul"))
        if self.r.random() < 0.3:
            op, flags = "sub", " nsw"
        return self.add(to, f"{op}{flags} {self.type(to)} {x}, {y}")

    def step_rule(self, w, a):
        """A rule's pattern, without flags; variables are operands, one of them `a`."""
        rule, all_types = self.r.choice(self.patterns)
        types, same = self.r.choice(all_types), {max(c[1:3]): min(c[1:3]) for c in rule.of("SAME")}
        chosen = self.r.choice(rule.predicate_choices())
        constants = self.r.sample(self.pool, len(self.pool))
        values = {}

        def second_of(*names):
            return {same.get(n.args[1].reg, n.args[1].reg) for n in rule.nodes if n.name in names}

        divisors, amounts = second_of("udiv", "sdiv", "urem", "srem"), second_of("shl", "lshr", "ashr")

        def leaf(n):
            w = types[n.reg][2]
            divides, shifts = n.reg in divisors, n.reg in amounts
            if n.kind == "value" and not divides and not shifts:
                fits = [v for x, v in self.values[-2:] if x == w]
                return self.r.choice(fits) if fits and self.r.random() < 0.7 else self.variable(w)
            c = n.literal if isinstance(n.literal, int) else self.r.choice(constants[:2] * 4 + [w - 1, 1 << (w - 1), interesting(self.r, w)])
            c %= 1 << w
            if shifts:
                c %= w
            if divides and c in (0, (1 << w) - 1):
                c = 1  # of i1 also -1: node() divides those unsigned
            return self.literal(w, c - (1 << w) if c >> (w - 1) else c)

        def emit(n):
            n = rule.nodes[same.get(n.reg, n.reg)]
            if n.reg not in values:
                values[n.reg] = self.node(rule, n, types, chosen, [emit(x) for x in n.args]) if n.kind == "op" else leaf(n)
            return values[n.reg]

        emit(rule.pattern)

    def node(self, rule, n, types, chosen, a):
        w, t = types[n.reg][2], self.type(types[n.args[0].reg][2])
        if n.name == "icmp":
            return self.add(w, f"icmp {chosen[n.reg]} {t} {a[0]}, {a[1]}")
        if n.name == "select":
            return self.add(w, f"select {t} {a[0]}, {self.type(w)} {a[1]}, {self.type(w)} {a[2]}")
        if n.name in CASTS:
            return self.add(w, f"{n.name} {t} {a[0]} to {self.type(w)}")
        if n.name in WITH_BOOL:
            return self.call(n.name, w, a[0], "i1 false")
        if n.name in rule.tables.intrinsics:
            return self.call(n.name.replace("_", "."), w, *a)
        if n.args[1].kind == "op" and n.name in ("udiv", "sdiv", "urem", "srem"):
            a[1] = self.add(w, f"and {t} {a[1]}, {self.literal(w, (1 << (w - 1)) - 1)}")
            a[1] = self.add(w, f"or {t} {a[1]}, {self.literal(w, 1)}")
        if n.args[1].kind == "op" and n.name in ("shl", "lshr", "ashr"):
            a[1] = self.add(w, f"and {t} {a[1]}, {self.literal(w, w - 1)}")
        name = n.name.replace("sdiv", "udiv").replace("srem", "urem") if w == 1 else n.name
        return self.add(w, f"{name} {t} {a[0]}, {a[1]}")

    def body(self):
        first = self.r.choice(WIDTHS)
        self.values.append((first, self.variable(first)))
        for _ in range(self.r.randrange(3, 8)):
            self.step()
        w, last = self.values[-1]
        if self.lanes:
            a = self.add(w, f"extractelement <2 x i{w}> {last}, i32 0")
            b = self.add(w, f"extractelement <2 x i{w}> {last}, i32 1")
            self.lanes = False
            wide = [self.widened(w, x) for x in (a, b)]
            rolled = self.call("fshl", 64, wide[0], wide[0], "7")
            result = self.add(64, f"xor i64 {rolled}, {wide[1]}")
        else:
            result = self.widened(w, last)
        return "\n".join(f"  {line}" for line in self.lines), result

    def widened(self, w, v):
        if w == 64:
            return v
        return self.add(64, f"{'zext' if w < 64 else 'trunc'} i{w} {v} to i64")


def module(seed, known, only=None):
    """The text of 100 expressions; of one of them alone."""
    r = random.Random(seed)
    table = [interesting(r, 64) if r.random() < 0.7 else r.getrandbits(8) for _ in range(ROWS * 2)]
    text, declared = "", set()
    for w in (1, 8, 16, 32, 64):
        for n in range(2):
            if w == 64:
                text += f"  %v64_{n} = load i64, ptr addrspace(1) %p{n}\n"
            else:
                text += f"  %v{w}_{n} = trunc i64 %v64_{n} to i{w}\n"
    text = "".join(sorted(text.splitlines(True), key=lambda line: "load" not in line))
    for n in range(2):
        text += f"  %v128_{n} = sext i64 %v64_{n} to i128\n"
    for k in range(MODULE):
        e = Expression(random.Random(f"{seed}.{k}"), k, r.random() < 0.15, known)
        if only not in (None, k):
            continue
        body, result = e.body()
        declared |= e.declared
        text += f"{body}\n  %q{k} = getelementptr i64, ptr addrspace(1) %out, i64 {k * ROWS}\n"
        text += f"  %s{k} = getelementptr i64, ptr addrspace(1) %q{k}, i64 %row\n"
        text += f"  store i64 {result}, ptr addrspace(1) %s{k}\n"
    rows = ", ".join(f"i64 {c - (1 << 64) if c >> 63 else c}" for c in table)
    return (HEAD + f"@table = addrspace(1) global [{ROWS * 2} x i64] [{rows}]\n" + "".join(sorted(declared)) +
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
            "define void @f(i32 %t, ptr addrspace(1) %out) alwaysinline {\n  %row = zext i32 %t to i64\n"
            f"  %p0 = getelementptr i64, ptr addrspace(1) @table, i64 %row\n"
            f"  %p1 = getelementptr i64, ptr addrspace(1) %p0, i64 {ROWS}\n" + text + "  ret void\n}\n"
            "define ptx_kernel void @k(ptr addrspace(1) %out) {\n"
            "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
            "  call void @f(i32 %t, ptr addrspace(1) %out)\n  ret void\n}\n")


def host(text):
    """The module with a main() that prints what @f computes."""
    text = text[:text.index("define ptx_kernel")].replace(" addrspace(1)", "")
    text = "".join(line for line in text.splitlines(True) if "sreg.tid" not in line and not line.startswith("target "))
    return text + (
        '@format = constant [6 x i8] c"%lld \\00"\ndeclare i32 @printf(ptr, ...)\n'
        f"@out = global [{MODULE * ROWS} x i64] zeroinitializer\n"
        "define i32 @main() {\nentry:\n  br label %run\nrun:\n  %t = phi i32 [ 0, %entry ], [ %t2, %run ]\n"
        "  call void @f(i32 %t, ptr @out)\n  %t2 = add i32 %t, 1\n"
        f"  %c = icmp ult i32 %t2, {ROWS}\n  br i1 %c, label %run, label %show\nshow:\n"
        "  %i = phi i64 [ 0, %run ], [ %i2, %show ]\n  %p = getelementptr i64, ptr @out, i64 %i\n"
        "  %v = load i64, ptr %p\n  call i32 (ptr, ...) @printf(ptr @format, i64 %v)\n  %i2 = add i64 %i, 1\n"
        f"  %d = icmp ult i64 %i2, {MODULE * ROWS}\n  br i1 %d, label %show, label %end\nend:\n  ret i32 0\n}}\n")


def results(path, way):
    run = subprocess.run([NVMINI, "run", path, *way, "--block", str(ROWS), "--arg", f"buf:i64:{MODULE * ROWS}:zero",
                          "--print", "0"], capture_output=True, text=True)
    numbers = run.stdout.split()
    return (numbers, "") if run.returncode == 0 and len(numbers) == MODULE * ROWS else (None, run.stderr[:600])


def different(expected, found):
    return {n // ROWS for n, (a, b) in enumerate(zip(expected, found)) if a != b}


def check(folder, seed, known, lli):
    """The expressions that are wrong: {number: way}."""
    path = os.path.join(folder, "module.nvir")
    text = module(seed, known)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    expected, error = results(path, ["--from", "ir"])
    if expected is None:
        return {-1: f"as IR: {error}"}
    wrong = {}
    for way in WAYS:
        found, error = results(path, way)
        if found is None:
            wrong[-1] = f"{' '.join(way)}: {error}"
            continue
        for k in different(expected, found):
            wrong.setdefault(k, " ".join(way))
    if lli:
        with open(path, "w", encoding="utf-8") as f:
            f.write(host(text))
        run = subprocess.run([lli, "--jit-kind=mcjit", path], capture_output=True, text=True)
        if run.returncode != 0:
            wrong[-1] = f"lli: {run.stderr[:600]}"
        for k in different(expected, run.stdout.split()):
            wrong.setdefault(k, "lli")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lli", type=int, default=10, metavar="EVERY")
    options = parser.parse_args()
    lli = next((p for p in map(shutil.which, ("lli-19", "lli")) if p), None)
    if not lli:
        print("lli is not installed: its answers are skipped")
    passed, failed, known = 0, 0, patterns()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + max(1, options.count // MODULE)):
            wrong = check(folder, seed, known, lli if options.lli and seed % options.lli == 0 else None)
            for k, way in sorted(wrong.items()):
                print(f"seed {seed}, expression {k}: {way}", flush=True)
                if k >= 0:
                    text = module(seed, known, k)
                    print("".join(line for line in text.splitlines(True) if f"%e{k}_" in line), flush=True)
            passed, failed = passed + MODULE - len(wrong), failed + len(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
