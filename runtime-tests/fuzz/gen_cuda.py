#!/usr/bin/env python3
"""Random CUDA kernels of many threads, as C++ source for clang; for diff_cuda.py.

    gen_cuda.py SEED [--count N] [--swarm]

Their results are one number whatever the compiler and the schedule do. How each promise is kept:
  defined      signed arithmetic on numbers whose ranges are known to fit, else unsigned; shifts masked, divisors
               odd; floats become integers within guards; each NaN is made one NaN before its bits are read
  terminating  a loop's header is random in type, start, step, bound and predicate, and kept if executing it
               here, for every start and bound that there can be, ends within a few dozen iterations
  race-free    an array of shared memory is, from one barrier to the next, in one of three modes: each thread
               its own elements, all read, or all do one commutative atomic operation whose result is unused
  convergent   each statement has a level: b, all threads of the block come to it; w, all of a warp; h, all of
               half a warp; t, any. Barriers are of level b, warp operations of b, w and h; a variable has a
               level too, and only such of the level decide a branch in whose arms the level stays
Known departures from the letter of C++, which CUDA code makes and clang takes: reading another member of a
union, arrays of bytes through pointers to words.
"""
import argparse
import random
import struct

from swarm import Swarm

INTS = {"u8": (8, 0), "s8": (8, 1), "u16": (16, 0), "s16": (16, 1), "u32": (32, 0), "s32": (32, 1), "u64": (64, 0), "s64": (64, 1)}
NARROW = ["u8", "s8", "u16", "s16"]
FLOATS = ["float", "double", "half"]
IN_WORDS, OUT_WORDS, SCRATCH, ATOMS = 256, 24, 128, 32  # words read, words and bytes of a thread, atomic words of a kernel
ATOMIC_OPS = ["Add", "Sub", "And", "Or", "Xor", "Min", "Max"]
CONTINUES = ("break", "break", "continue")
LEVELS = "bwht"  # from the most uniform


def value_range(t):
    bits, signed = INTS[t]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def wrap(t, x):
    bits, signed = INTS[t]
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> bits - 1 else x


def common_type(a, b):
    """The usual arithmetic conversions."""
    a, b = (t if INTS[t][0] >= 32 else "s32" for t in (a, b))
    if INTS[a][0] != INTS[b][0]:
        return a if INTS[a][0] > INTS[b][0] else b
    return a if not INTS[a][1] else b


COMPARE = {"<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
           "!=": lambda x, y: x != y}


class Var:
    def __init__(self, name, type, level="t", range=None, fixed=False):
        self.name, self.type, self.level, self.fixed = name, type, level, fixed
        self.range = range if range else value_range(type) if type in INTS else None


class Array:
    """kind: local, table (read only), in, shared (of the block), warp (shared of each warp)."""
    def __init__(self, name, type, size, kind, own=0, stride=1):
        self.name, self.type, self.size, self.kind, self.own, self.stride = name, type, size, kind, own, stride
        self.mode = "unset" if kind in ("shared", "warp") else "free"


class Module:
    """Launch, tables, types and functions, which its kernels share."""
    def __init__(self, seed, count, swarm):
        self.rng, self.swarm = random.Random(seed), Swarm(seed, swarm)
        self.seed, self.count = seed, count
        self.threads = self.rng.choice([32, 64, 64, 64, 96, 128])
        self.blocks = self.rng.choice([1, 2, 2, 3])
        self.shape = (self.threads, 1) if self.rng.random() < 0.7 else (self.threads // 4, 4)
        self.tables, self.functions, self.records = [], [], []
        self.text = []

    def table(self, k):
        rng = self.rng
        t = rng.choice(["u8", "u8", "u8", "s8", "u16", "s16", "u32", "s32", "u64", "float"])
        size = rng.choice([2, 4, 5, 8, 16, 16, 32, 33, 64, 100, 256, 258])
        if t == "float":
            values = [rng.choice(["0.0f", "-1.5f", "3.25f", "0.1f", "1e10f", "-7.0f"]) for _ in range(size)]
        else:
            low, high = value_range(t)
            some = [low, high, 0, 1, 200, 201, 255, 127]
            values = [str(wrap(t, rng.choice(some) if rng.random() < 0.4 else rng.randint(low, high))) for _ in range(size)]
            values = [v + "ull" if t == "u64" else v for v in values]
            if rng.random() < 0.2: values = values[:size // 2]  # the rest is zero
        where = rng.choice(["__constant__ ", "__device__ const ", "static __device__ const ", "__device__ ", "static __constant__ const "])
        self.text.append(f"{where}{t} tab{k}[{size}] = {{{', '.join(values)}}};")
        self.tables.append(Array(f"tab{k}", t, size, "table"))

    def record(self, k):
        """A struct of numbers and bit-fields, and a union of it with arrays."""
        rng, fields = self.rng, []
        for n in range(rng.randint(2, 7)):
            t = rng.choice(list(INTS) + ["float"])
            if t != "float" and rng.random() < 0.6:
                width = rng.randint(1, INTS[t][0])
                fields.append((f"f{n}", t, width))
            else:
                fields.append((f"f{n}", t, 0))
        lines = "".join(f" {t} {name}{f' : {w}' if w else ''};" for name, t, w in fields)
        packed = "__attribute__((packed)) " if rng.random() < 0.1 and not any(t == "float" for _, t, _ in fields) else ""
        self.text.append(f"struct {packed}R{k} {{{lines} }};")
        self.text.append(f"union U{k} {{ R{k} r; u8 b[16]; u16 h[8]; u32 w[4]; u64 q[2]; float f[4]; }};")
        self.records.append((f"R{k}", fields))

    def generate(self):
        for k in range(self.rng.randint(3, 6)): self.table(k)
        for k in range(self.rng.randint(1, 3)): self.record(k)
        self.text.append("struct Param { u8 a; s16 b; u32 c : 5, d : 11; s32 e : 7; u64 g; float f; u16 h[3]; };")
        for k in range(self.rng.randint(2, 5)): Function(self, k).generate()
        kernels = []
        for k in range(self.count):
            # Each of its own seed, so that it is the same with any number of others.
            self.rng = random.Random(self.seed * 1000 + k)
            kernels.append(Kernel(self, k).generate())
        return "\n".join(['#include "cuda_subset.h"', *self.text, *kernels, ""])

    def arguments(self):
        rng = random.Random(self.seed + 1)
        bits = rng.getrandbits
        param = struct.pack("<BxhIQfHHHxx", bits(8), bits(15), bits(32), bits(64), rng.choice([0.5, -3.0, 1e5]), bits(16), bits(16), bits(16))
        param = param.ljust(32, b"\0")
        count = self.threads * self.blocks
        return ["--block", f"{self.shape[0]},{self.shape[1]}", "--grid", str(self.blocks),
                "--arg", f"buf:i32:{count * OUT_WORDS}:zero", "--arg", f"buf:i32:{IN_WORDS}:random:{self.seed}",
                "--arg", f"buf:i32:{count * SCRATCH // 4}:random:{self.seed + 2}", "--arg", f"buf:i32:{ATOMS}:random:{self.seed + 3}",
                "--arg", f"i32:{rng.choice([0, 1, 3, 7, 16, 29])}", "--arg", f"u32:{bits(32)}", "--arg", f"f32:{rng.choice([0.25, 3.5, -2.0])}",
                "--arg", f"bytes:{param.hex()}", "--print", "0", "--print", "2", "--print", "3"]


class Body:
    """Statements and expressions of one function."""
    def __init__(self, module):
        self.module, self.rng = module, module.rng
        self.vars, self.arrays, self.records = [], list(module.tables), []
        self.lines, self.indent = [], 1
        self.weight, self.budget = 1, 4000  # iterations around here; work left
        self.loops = []        # (level, how it may be left) of the loops around here, None for a switch
        self.may_sync = True   # not in loops that do not begin with a barrier: the modes are those of all iterations
        self.mask = "FULL"
        self.fresh, self.depth = 0, 0
        self.callable = list(module.functions)
        self.synced = False    # whether a barrier changed modes in the statement at hand

    # --- text ---

    def emit(self, line):
        if line.startswith("}"): self.indent -= 1
        self.lines.append("  " * self.indent + line)
        if line.endswith("{") or line.endswith("{  //"): self.indent += 1

    def name(self, prefix):
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def chance(self, p):
        return self.rng.random() < p

    # --- expressions: each of a type, deciding nothing above a level ---

    def readable(self, level, test=lambda v: True):
        return [v for v in self.vars if LEVELS.index(v.level) <= LEVELS.index(level) and test(v)]

    def constant(self, t):
        low, high = value_range(t)
        some = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 63, 100, 127, 128, 200, 255, 256, 1000, 65535, -1, -2, -128, low, high, high >> 1]
        x = wrap(t, self.rng.choice(some) if self.chance(0.7) else self.rng.randint(low, high))
        if t == "s64": return f"((s64){x + (1 << 64) if x < 0 else x}ull)"
        if t == "u64": return f"{x}ull"
        if t == "s32": return f"{x}" if x >= 0 else f"({x})" if x > low else "(-2147483647 - 1)"
        return f"{x}u" if t == "u32" else f"(({t}){x})"

    def small(self, depth, level="t"):
        """(text, low, high) of an int whose plain arithmetic cannot overflow."""
        rng = self.rng
        if depth <= 0 or self.chance(0.2):
            known = self.readable(level, lambda v: v.type in INTS and max(map(abs, v.range)) < 1 << 16)
            pick = rng.random()
            if known and pick < 0.6:
                v = rng.choice(known)
                return (f"(s32){v.name}" if INTS[v.type][0] >= 32 and v.type != "s32" else v.name), *v.range
            if pick < 0.8:
                x = rng.choice([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 33, 64, 100, 127, 128, 255, 300, -1, -3, -128])
                return (str(x) if x >= 0 else f"({x})"), x, x
            m = rng.choice([1, 3, 7, 15, 31, 127, 255, 1023])
            return f"(s32)({self.integer('u32', depth - 1, level)} & {m})", 0, m
        a, alow, ahigh = self.small(depth - 1, level)
        b, blow, bhigh = self.small(depth - 1, level)
        op = rng.choice(["+", "+", "-", "*", "?", "min", "max", "<<", "/", "%", "&", "neg"])
        if op == "+": r = (f"({a} + {b})", alow + blow, ahigh + bhigh)
        elif op == "-": r = (f"({a} - {b})", alow - bhigh, ahigh - blow)
        elif op == "*":
            ends = [x * y for x in (alow, ahigh) for y in (blow, bhigh)]
            r = (f"({a} * {b})", min(ends), max(ends))
        elif op == "?": r = (f"({self.condition(depth - 1, level)} ? {a} : {b})", min(alow, blow), max(ahigh, bhigh))
        elif op == "min": r = (f"min((s32){a}, (s32){b})", min(alow, blow), min(ahigh, bhigh))
        elif op == "max": r = (f"max((s32){a}, (s32){b})", max(alow, blow), max(ahigh, bhigh))
        elif op == "neg": r = (f"(-{a})", -ahigh, -alow)
        elif op == "<<" and alow >= 0:
            s = rng.randint(1, 6)
            r = (f"({a} << {s})", alow << s, ahigh << s)
        elif op == "/":
            d = rng.choice([2, 3, 4, 5, 7, 8, 10, 16, -3])
            q = max(abs(alow), abs(ahigh)) // abs(d)
            r = (f"({a} / {d})", -q if alow < 0 or d < 0 else alow // d, q)
        elif op == "%":
            d = rng.choice([2, 3, 4, 5, 7, 8, 10, 16])
            r = (f"({a} % {d})", 1 - d if alow < 0 else 0, d - 1)
        else:
            m = rng.choice([1, 3, 7, 12, 15, 31, 60, 255])
            r = (f"({a} & {m})", 0, m)
        return r if max(abs(r[1]), abs(r[2])) < 1 << 31 else (a, alow, ahigh)

    def index(self, size, depth=1, level="t"):
        """An index below size."""
        if self.chance(0.5):
            for _ in range(3):
                text, low, high = self.small(depth, level)
                if low >= 0 and high < size: return text
                if low >= 0 and self.chance(0.3): return f"({text}) % {size}"
        if size & size - 1 == 0: return f"{self.integer('u32', depth, level)} & {size - 1}"
        return f"{self.integer('u32', depth, level)} % {size}"

    def element(self, depth, level, test=lambda a: True):
        """(a readable array element, its type), or None."""
        arrays = [a for a in self.arrays if test(a) and (a.kind in ("table", "in") or level == "t") and a.mode not in ("atomic", "unset")
                  and not (a.kind == "local" and level != "t")]
        if not arrays: return None
        a = self.rng.choice(arrays)
        if a.mode == "own": return f"{a.name}[{self.own(a, depth)}]", a.type
        if a.kind == "in" and a.type == "u32" and self.chance(0.15):
            return f"((const {self.rng.choice(['u8', 's8'])} *){a.name})[{self.index(a.size * 4, depth, level)}]", "s8"
        return f"{a.name}[{self.index(a.size, depth, level)}]", a.type

    def own(self, a, depth=1):
        """An index of one of the thread's own elements."""
        j = self.index(a.own, depth) if a.own > 1 and depth >= 0 else str(self.rng.randrange(a.own))
        base = "lane" if a.kind == "warp" else "tid"
        if a.stride == 1: return f"{base} * {a.own} + ({j})" if a.own > 1 else base
        return f"{base} + {a.stride} * ({j})" if a.own > 1 else base

    def leaf(self, t, level):
        pick = self.rng.random()
        known = self.readable(level, lambda v: v.type in INTS)
        if known and pick < 0.65:
            same = [v for v in known if v.type == t]
            v = self.rng.choice(same if same and self.chance(0.5) else known)
            return v.name if v.type == t else f"({t}){v.name}"
        if pick < 0.8:
            e = self.element(0, level)
            if e and e[1] in INTS: return f"({t}){e[0]}"
        if pick < 0.87 and level == "t" and self.records:
            return f"({t}){self.member(0)}"
        return self.constant(t)

    def member(self, depth):
        """Something readable of a record: a field, part of a union."""
        name, record, fields, is_union = self.rng.choice(self.records)
        if is_union and self.chance(0.6):
            part, n = self.rng.choice([("b", 16), ("h", 8), ("w", 4), ("q", 2)])
            return f"{name}.{part}[{self.index(n, depth - 1)}]"
        f, t, _ = self.rng.choice(fields)
        text = f"{name}.r.{f}" if is_union else f"{name}.{f}"
        return f"to_int({text})" if t == "float" else text

    def integer(self, t, depth, level="t"):
        """An expression of type t, or one that converts to it."""
        if depth <= 0: return self.leaf(t, level)
        rng, bits, signed = self.rng, *INTS[t]
        sub = lambda type: self.integer(type, depth - 1, level)
        if signed and self.chance(0.35) and bits >= 32: return f"({t}){self.small(depth, level)[0]}"
        pick = rng.randrange(23)
        if bits < 32 and pick < 8:  # promoted to int
            a, b = self.leaf(rng.choice([t, *NARROW]), level), sub(rng.choice([t, *NARROW]))
            op = rng.choice(["+", "-", "&", "|", "^", "+", "-"])
            return f"({t})({a} {op} {b})" if b.startswith("(") or op != "-" else f"({t})({a} {op} ({b}))"
        if pick < 5:
            a, b = sub(t), sub(t)
            if not signed or bits < 32:
                u = "u64" if bits == 64 else "u32"
                return f"({t})({cast(u, a)} {rng.choice(['+', '-', '*', '+', '-'])} {cast(u, b)})"
            return f"wrap_{rng.choice(['add', 'sub', 'mul'])}({cast(t, a)}, {cast(t, b)})"
        if pick < 8: return f"({cast(t, sub(t))} {rng.choice(['&', '|', '^'])} {cast(t, sub(t))})"
        if pick < 10:
            u = "u64" if bits == 64 else "u32"
            amount = rng.randrange(bits) if self.chance(0.6) else f"({sub('u32')} & {min(bits, 32) - 1})"
            if self.chance(0.5): return f"({t})(({u}){cast(t, sub(t))} << {amount})"
            return f"({t})({cast(t, sub(t))} >> {amount})"
        if pick == 10:
            divisor = rng.choice([3, 5, 7, 10, 12, 16, 100, 255]) if self.chance(0.5) else f"(({sub('u32')} & 15) | 1)"
            return f"({t})(({'u64' if bits == 64 else 'u32'}){sub(t)} {rng.choice('/%')} {divisor})"
        if pick == 11 and signed and bits >= 32:
            return f"({cast(t, sub(t))} {rng.choice('/%')} ({t}){rng.choice(['3', '7', '10', '8', '(-5)', '64'])})"
        if pick < 14: return f"({self.condition(depth - 1, level)} ? {cast(t, sub(t))} : {cast(t, sub(t))})"
        if pick == 14: return f"({t}){self.condition(depth - 1, level)}"
        if pick < 17: return f"({t}){self.builtin(depth, level)}"
        if pick == 17 and self.readable(level, lambda v: v.type in FLOATS): return f"({t}){self.from_float(depth - 1, level)}"
        if pick == 18: return f"({t})(~{cast(t, sub(t))})"
        called = [f for f in self.callable if f[2] * self.weight < self.budget // 3] if pick == 19 and level == "t" else []
        if called:
            name, types, work = rng.choice(called)
            self.budget -= self.weight * work
            return f"({t}){name}({', '.join(self.value(p, depth - 2) for p in types)})"
        if pick == 20 and level == "t" and self.records: return f"({t}){self.member(depth)}"
        e = self.element(depth - 1, level)
        if e and e[1] in INTS: return f"({t}){e[0]}"
        return cast(t, sub(rng.choice(list(INTS))))

    def builtin(self, depth, level):
        u = lambda: self.integer("u32", depth - 1, level)
        q = lambda: f"(u64){self.integer('u64', depth - 1, level)}"
        s = lambda: f"(s32){self.integer('s32', depth - 1, level)}"
        return self.rng.choice([
            lambda: f"__popc({u()})", lambda: f"__popcll({q()})", lambda: f"__clz({u()})", lambda: f"__clzll({q()})",
            lambda: f"__ffs({u()})", lambda: f"__brev({u()})", lambda: f"__brevll({q()})",
            lambda: f"__byte_perm({u()}, {u()}, {u() if self.chance(0.4) else hex(self.rng.getrandbits(16))})",
            lambda: f"__funnelshift_l({u()}, {u()}, {u()})", lambda: f"__funnelshift_r({u()}, {u()}, {self.rng.randrange(32)})",
            lambda: f"rotate({u()}, {self.rng.randrange(1, 32)})", lambda: f"rotate64({q()}, {u()} & 63)",
            lambda: f"__umulhi({u()}, {u()})", lambda: f"__mulhi({s()}, {s()})", lambda: f"__umul64hi({q()}, {q()})",
            lambda: f"__umul24({u()}, {u()})", lambda: f"__usad({u()}, {u()}, {u()})",
            lambda: f"min((u32){u()}, (u32){u()})", lambda: f"max({s()}, {s()})", lambda: f"min({q()}, {q()})",
            lambda: f"max((u8){u()}, (u8){u()})", lambda: f"__builtin_bswap32({u()})", lambda: f"__builtin_bswap64({q()})",
            lambda: f"__builtin_elementwise_add_sat((u8){u()}, (u8){u()})", lambda: f"__builtin_elementwise_sub_sat({s()}, {s()})",
            lambda: f"__builtin_parity({u()})", lambda: f"__builtin_expect({u()} & 1, 1)"])()

    def condition(self, depth, level="t"):
        rng, pick = self.rng, self.rng.random()
        flags = self.readable(level, lambda v: v.type == "bool")
        if flags and pick < 0.15: return self.rng.choice(["", "!"]) + rng.choice(flags).name
        if depth <= 0 or pick < 0.65:
            t, op = rng.choice(list(INTS)), rng.choice(["<", "<=", ">", ">=", "==", "!="])
            a = cast(t, self.integer(t, depth - 1, level))
            if pick > 0.5:
                bit = 1 << rng.choice([0, 0, 0, 1, 2, 3, 7])
                tested = f"({self.integer(rng.choice(['u32', 'u8', 'u64', 'u16']), depth - 1, level)} & {bit})"
                return rng.choice([tested, f"(!{tested})", f"({tested} == 0)", f"({tested} != 0)", f"({tested} == {bit})", f"({tested} != {bit})"])
            return f"({a} {op} {cast(t, self.integer(t, depth - 1, level))})"
        if pick < 0.9: return f"({self.condition(depth - 1, level)} {rng.choice(['&&', '||', '&', '|', '^', '=='])} {self.condition(depth - 1, level)})"
        if self.readable(level, lambda v: v.type in FLOATS):
            f = rng.choice(FLOATS)
            return f"({self.real(f, depth - 1, level)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {self.real(f, depth - 1, level)})"
        return f"(!{self.condition(depth - 1, level)})"

    def real(self, t, depth, level="t"):
        """A floating-point expression of type t."""
        rng = self.rng
        known = self.readable(level, lambda v: v.type in FLOATS)
        if depth <= 0 or self.chance(0.2):
            if known and self.chance(0.7): return f"({t}){rng.choice(known).name}"
            return f"({t}){rng.choice(['0.0f', '1.0f', '-1.0f', '0.5f', '2.0f', '3.0f', '0.1f', '-7.25f', '1e4f', '65504.0f'])}"
        sub = lambda: self.real(t, depth - 1, level)
        pick = rng.randrange(15)
        e = self.element(depth - 1, level) if pick == 14 else None
        if e and e[1] == "float": return f"({t}){e[0]}"
        if pick < 6: return f"({sub()} {rng.choice('+-*')} {sub()})"
        if pick == 6: return f"({sub()} / {sub()})"
        if pick == 7: return f"({t}){'__builtin_sqrt' if t == 'double' else '__builtin_sqrtf'}({sub()})"
        if pick == 8:  # C leaves integers beyond the largest half undefined, and clang -O1 folds them as floats
            small = [i for i in INTS if INTS[i][0] + (not INTS[i][1]) <= 16]
            return f"({t}){self.integer(rng.choice(small if t == 'half' else list(INTS)), depth - 1, level)}"
        if pick == 9: return f"({self.condition(depth - 1, level)} ? {sub()} : {sub()})"
        if pick == 10: return f"({t}){'__builtin_fabs' if t == 'double' else '__builtin_fabsf'}({sub()})"
        if pick == 11: return f"({t})__builtin_{rng.choice(['floor', 'ceil', 'trunc', 'rint'])}{'' if t == 'double' else 'f'}({sub()})"
        if pick == 12:  # of numbers, and without a sign of zero
            minimum = f"__builtin_f{rng.choice(['min', 'max'])}{'' if t == 'double' else 'f'}"
            return f"({t})({minimum}(number({sub()}), number({sub()})) + 0.0f)"
        return f"(-{sub()})"

    def from_float(self, depth, level):
        t = self.rng.choice(FLOATS)
        x = self.real(t, depth, level)
        return self.rng.choice([f"to_int({x})", f"to_unsigned((float){x})", f"bits_of({x})"])

    def value(self, t, depth, level="t"):
        if t == "bool": return self.condition(depth, level)
        if t in FLOATS: return f"({t}){self.real(t, depth, level)}"
        return cast(t, self.integer(t, depth, level))

    # --- statements ---

    def assignable(self, level):
        return [v for v in self.vars if not v.fixed and LEVELS.index(v.level) >= LEVELS.index(level)]

    def assign(self, level):
        v = self.rng.choice(self.assignable(level))
        if v.type in INTS and self.chance(0.3):
            unsigned = not INTS[v.type][1] or INTS[v.type][0] < 32
            pick = self.rng.random()
            if unsigned and pick < 0.2: return self.emit(f"{v.name}{self.rng.choice(['++', '--'])};")
            if unsigned and pick < 0.7:
                return self.emit(f"{v.name} {self.rng.choice(['+', '-', '^', '|', '&'])}= {self.value(v.type, 2, v.level)};")
            return self.emit(f"{v.name} {self.rng.choice(['^', '|', '&'])}= {self.value(v.type, 2, v.level)};")
        if v.type == "bool" and self.chance(0.5):  # as two constants
            how = self.rng.choice(["if ({}) {} = {}; else {} = {};", "{1} = {0} ? {2} : {4};", "{1} = {4}; if ({0}) {1} = {2};"])
            a, b = self.rng.choice([("true", "false"), ("false", "true"), ("1", "0"), ("0", "1")])
            return self.emit(how.format(self.condition(2, v.level), v.name, a, v.name, b))
        if v.type in FLOATS and self.chance(0.3):
            return self.emit(f"{v.name} {self.rng.choice('+-*')}= {self.real(v.type, 1, v.level)};")
        self.emit(f"{v.name} = {self.value(v.type, 3, v.level)};")

    def store(self):
        arrays = [a for a in self.arrays if a.kind == "local" or a.mode == "own" and a.kind != "table"]
        if not arrays: return self.assign("t")
        a = self.rng.choice(arrays)
        at = self.index(a.size, 1) if a.kind == "local" else self.own(a)
        bytes_ = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "float": 4, "u64": 8, "s16": 2, "s8": 1}[a.type]
        if a.kind != "local" and a.stride == 1 and a.own * bytes_ >= 4 and a.own * bytes_ % 4 == 0 and a.type in ("u8", "s8") and self.chance(0.5):
            base = "lane" if a.kind == "warp" else "tid"
            wide = self.rng.choice([t for t, n in (("u16", 2), ("u32", 4), ("uint2", 8)) if a.own % n == 0])
            pointer = f"reinterpret_cast<{wide} *>(&{a.name}[{base} * {a.own}])"
            if wide == "uint2": return self.emit(f"*{pointer} = uint2{{{self.integer('u32', 1)}, {self.integer('u32', 1)}}};")
            return self.emit(f"*{pointer} {self.rng.choice(['=', '^='])} {self.value(wide, 2)};")
        op = self.rng.choice(["=", "=", "^=", "+="]) if a.type in ("u8", "u16", "u32", "u64", "s8", "s16") else "="
        self.emit(f"{a.name}[{at}] {op} {self.value(a.type, 2)};")

    def set_member(self):
        name, _, fields, is_union = self.rng.choice(self.records)
        if is_union and self.chance(0.5):
            part, t, n = self.rng.choice([("b", "u8", 16), ("h", "u16", 8), ("w", "u32", 4), ("q", "u64", 2)])
            return self.emit(f"{name}.{part}[{self.index(n, 1)}] {self.rng.choice(['=', '^=', '+='])} {self.value(t, 2)};")
        f, t, w = self.rng.choice(fields)
        target = f"{name}.r.{f}" if is_union else f"{name}.{f}"
        if t != "float" and not (INTS[t][1] and INTS[t][0] >= 32) and self.chance(0.3):
            return self.emit(f"{target} {self.rng.choice(['+=', '^=', '|=', '-='])} ({t}){self.integer(t, 1)};")
        self.emit(f"{target} = {f'number({self.real(t, 1)})' if t == 'float' else self.value(t, 2)};")

    def copy(self):
        """memcpy and memset of parts, punning of floats."""
        rng = self.rng
        words = [a for a in self.arrays if a.kind == "local" and a.type in INTS]
        pick = rng.random()
        if pick < 0.35 and words:
            a = rng.choice(words)
            n = rng.choice([1, 2, 3, 4, 5, 7, 8, 12])
            size = a.size * INTS[a.type][0] // 8
            if n > size: n = 1
            if self.records and self.chance(0.5):
                union = [r for r in self.records if r[3]]
                if union:
                    u = rng.choice(union)[0]
                    n = min(n, 16)
                    parts = [f"(u8 *){a.name} + {rng.randint(0, size - n)}", f"{u}.b + {rng.randint(0, 16 - n)}"]
                    if self.chance(0.5): parts.reverse()
                    return self.emit(f"__builtin_memcpy({', '.join(parts)}, {n});")
            wide = [v for v in self.assignable("t") if v.type in INTS and INTS[v.type][0] == 32]
            if wide:
                return self.emit(f"__builtin_memcpy(&{rng.choice(wide).name}, (u8 *){a.name} + {rng.randint(0, max(0, size - n))}, {min(n, 4)});")
        if pick < 0.5 and words:
            a = rng.choice(words)
            return self.emit(f"__builtin_memset({a.name}, {rng.randrange(256)}, {rng.randint(1, a.size * INTS[a.type][0] // 8)});")
        floats = [v for v in self.assignable("t") if v.type == "float"]
        wide = [v for v in self.assignable("t") if v.type == "u32"]
        if floats and wide:
            f, u, p = rng.choice(floats).name, rng.choice(wide).name, self.name("at")  # p1 is a parameter
            if pick < 0.75: return self.emit(f"{f} = number({f}); {u} ^= *reinterpret_cast<u32 *>(&{f});")
            return self.emit(f"{{ float *{p} = &{f}; *{p} = number({self.real('float', 1)}); {u} = *reinterpret_cast<u32 *>({p}); }}")
        self.assign("t")

    def atomic(self):
        arrays = [a for a in self.arrays if a.mode == "atomic"]
        pick = self.rng.random()
        if arrays and pick < 0.6:
            a = self.rng.choice(arrays)
            scope = self.rng.choice(["", "_block"])
            return self.emit(f"atomic{a.op}{scope}(&{a.name}[{self.index(a.size, 2)}], {self.value(a.type, 2)});")
        if pick < 0.8:  # an operation a word
            k = self.rng.randrange(ATOMS)
            op = ATOMIC_OPS[(k + self.module.seed) % len(ATOMIC_OPS)]
            if op == "Add" and self.chance(0.5): return self.emit(f"atomicAdd_builtin(&atoms[{k}], {self.integer('u32', 2)});")
            return self.emit(f"atomic{op}(&atoms[{k}], {self.value('u32', 2)});")
        targets = [v for v in self.assignable("t") if v.type == "u32"]
        own = f"&words[{self.index(SCRATCH // 8, 1)}]"
        call = self.rng.choice([f"atomic{self.rng.choice(ATOMIC_OPS)}({own}, {self.value('u32', 1)})", f"atomicExch({own}, {self.integer('u32', 1)})",
                                f"atomicCAS({own}, {self.integer('u32', 1)}, {self.integer('u32', 1)})", f"atomicInc({own}, {self.integer('u32', 0)})",
                                f"atomicDec({own}, {self.integer('u32', 0)})",
                                f"(u32)atomic{self.rng.choice(['Min', 'Max'])}((s32 *){own}, {self.value('s32', 1)})"])
        self.emit(f"{self.rng.choice(targets).name + ' ^= ' if targets else ''}{call};")

    def scratch(self):
        """The thread's slice of global memory, through pointers of several types."""
        rng = self.rng
        pick, targets = rng.random(), [v for v in self.assignable("t") if v.type == "u32"]
        if pick < 0.25 and targets:
            q = self.name("q")
            self.emit(f"{{ uint4 {q} = *reinterpret_cast<const uint4 *>(in + (({self.integer('u32', 1)} & 63) * 4)); "
                      f"{rng.choice(targets).name} += {q}.{rng.choice('xyzw')} ^ {q}.{rng.choice('xyzw')}; }}")
        elif pick < 0.5: self.emit(f"words[{self.index(SCRATCH // 8, 1)}] {rng.choice(['=', '+=', '^='])} {self.integer('u32', 2)};")
        elif pick < 0.75: self.emit(f"bytes[{self.index(SCRATCH // 4, 1)}] {rng.choice(['=', '+=', '^='])} {self.value('u8', 2)};")
        elif targets: self.emit(f"{rng.choice(targets).name} ^= halves[{self.index(SCRATCH // 8, 1)}] + bytes[{self.index(SCRATCH // 4, 1)}];")
        else: self.emit(f"halves[{self.index(SCRATCH // 8, 1)}] = {self.value('u16', 2)};")

    def call_through(self):
        """A function that writes through pointers and references."""
        integers = [v.name for v in self.assignable("t") if v.type == "u32"]
        arrays = [a for a in self.arrays if a.kind == "local" and a.type == "u32"]
        if not integers or not arrays: return self.assign("t")
        a = self.rng.choice(arrays)
        self.emit(f"{self.rng.choice(['mix', 'mix_called'])}({self.rng.choice(integers)}, {a.name}, {self.rng.choice([2, 4, a.size]) if a.size > 4 else a.size}, "
                  f"{self.integer('u32', 1)});")

    def leave(self):
        inner, ways = self.loops[-1]
        self.emit(f"if ({self.condition(2, inner)}) {self.rng.choice(ways)};")

    def may_leave(self):
        """Not where fewer threads are together than in the loop."""
        return self.loops and self.loops[-1] and LEVELS.index(self.level) <= LEVELS.index(self.loops[-1][0])

    def arm(self, level, count):
        before, self.level = self.level, level
        modes = [(a, a.mode) for a in self.arrays]
        for _ in range(count): self.statement()
        self.level = before
        return modes

    def if_(self):
        level = self.rng.choice([x for x in LEVELS if LEVELS.index(x) >= LEVELS.index(self.level) and x != "h"] or ["t"])
        if self.level == "h" and self.chance(0.5): level = "h"
        outer, self.synced = self.synced, False
        before = [(a, a.mode) for a in self.arrays]
        self.emit(f"if ({self.condition(3, {'h': 'w'}.get(level, level))}) {{")
        self.arm(level, self.rng.randint(1, 3))
        if self.chance(0.45):
            for a, mode in before: a.mode = mode
            self.emit("} else {")
            self.arm(level, self.rng.randint(1, 3))
        self.emit("}")
        self.join(outer)

    def join(self, outer):
        """Behind a statement in which arrays changed their modes."""
        if self.synced: self.barrier() if self.level == "b" else self.sync_warp()
        self.synced |= outer

    def switch(self):
        level = self.rng.choice([x for x in "wt" if LEVELS.index(x) >= LEVELS.index(self.level)] or ["t"])
        if self.level in "bw" and level in "bw":
            level = "t"  # its arms may fall through: nothing collective in them
        t = self.rng.choice(["u32", "u8", "s32", "u64", "s8"])
        m = self.rng.choice([3, 7, 15])
        base = self.rng.choice([0, 0, 1, -2, 100]) if INTS[t][1] else self.rng.choice([0, 0, 5])
        self.emit(f"switch (({t})(({t})({self.integer(t, 2)} & {m}) + {base})) {{")
        cases = self.rng.sample(range(m + 1), self.rng.randint(2, min(m + 1, 7)))
        if self.chance(0.7): cases.sort()
        default = self.rng.choice([None, len(cases) - 1, 0])
        self.loops.append(None)  # `break` is the switch's
        for k, c in enumerate(cases):
            self.emit(f"case {c + base}:{' default:' if default == k else ''} {{")
            self.arm(level, self.rng.randint(1, 2))
            self.emit("}")
            pick = self.rng.random()
            if pick < 0.55: self.emit("break;")
            elif pick < 0.63 and len(self.loops) > 1 and self.loops[-2] and self.loops[-2] == ("t", CONTINUES): self.emit("continue;")
        self.loops.pop()
        self.emit("}")

    # --- loops ---

    def runs(self, header, limit):
        """(most iterations, least and largest value of the counter in the body), or None if that is not known to be fine."""
        t, starts, bounds, bt, step, pred, form = header
        compare, ct = COMPARE[pred], common_type(t, bt)
        most, low, high = 0, None, None
        for a in starts:
            for b in bounds(a):
                i, n, y = a, 0, wrap(ct, wrap(bt, b))
                while True:
                    if form != "do" and not compare(wrap(ct, i), y): break
                    low = i if low is None else min(i, low)
                    high = i if high is None else max(i, high)
                    n += 1
                    if n > limit: return None
                    nxt = wrap(t, i + step)
                    if nxt != i + step and t in ("s32", "s64"): return None
                    i = nxt
                    if form == "do" and not compare(wrap(ct, i), y): break
                most = max(most, n)
        return (most, low, high) if most else None

    def header(self, level, limit, plain_walk=False):
        """A random header that ends: counter, its type, declarations, test, step, form, (most, low, high), the bound's variable."""
        rng = self.rng
        for _ in range(40):
            t = rng.choice([*NARROW, "u8", "u32", "s32", "s32", "u32", "u64", "s64"])
            step = rng.choice([1, 1, 1, 1, -1, -1, 2, 3, 4, 5, 7, 8, -2, -3, -4, 16, 32, 64, 127, 128, -128, rng.randint(1, 128)])
            pred = rng.choice(["<", "<", "<", "<=", ">", ">=", "!=", "!="])
            if plain_walk: t, step, pred = rng.choice(["u8", "u8", "u16", "s8", "s16", "u32"]), rng.choice([1, 1, 2, 3, 4, 5, 8, 32, -1, -2]), rng.choice(["<", "<", "<=", "!=", ">"])
            form = rng.choice(["for", "for", "for", "while", "do"])
            source = self.readable(level, lambda v: v.type in INTS)
            pick = rng.choice([0.1, 0.5, 0.7]) if plain_walk else rng.random()
            c = rng.choice([0, 0, 1, 2, 5, 10, 31, 100, 120, 127, 128, 200, 250, 255, 256, 4352])
            plain = [v for v in source if v.range[1] - v.range[0] < 256 and v.range[0] >= value_range(t)[0] and v.range[1] <= value_range(t)[1]]
            if pick < 0.4 or not source: start, starts = self.plain(t, c), [wrap(t, c)]
            elif pick < 0.6 and plain:
                v = rng.choice(plain)
                start, starts = v.name, list(range(v.range[0], v.range[1] + 1))
            else:
                m = rng.choice([1, 3, 7, 15, 31])
                v = rng.choice(source).name
                start, starts = f"({t})(((u32){v} & {m}) + {c}u)", [wrap(t, k + c) for k in range(m + 1)]
                if pick > 0.8: start, starts = f"({t})({c}u - ((u32){v} & {m}))", [wrap(t, c - k & 0xffffffff) for k in range(m + 1)]
            name, end = self.name("i"), self.name("n")
            of, pick, bt = None, rng.random(), rng.choice([t, t, t, "s32", "u32", "u8", "u16", "s64"])
            declared = f"{t} {name} = {start}, first{name} = {name};"
            if pick < 0.4:
                k = rng.choice([0, 1, 2, 4, 8, 10, 16, 31, 32, 33, 63, 64, 100, 128, 200, 250, 255, 256, 300, 4224, -1])
                bt = rng.choice(["s32", bt])
                bound, bounds = (f"{k}" if bt == "s32" else f"({bt}){k}"), lambda a, k=k: [k]
            elif pick < 0.7:  # as far from the start
                k = rng.choice([1, 2, 3, 3, 4, 5, 8, 12, 20, 30]) * (step if self.chance(0.5) else 1 if step > 0 else -1)
                if max(starts) + k > value_range(t)[1] or min(starts) + k < value_range(t)[0]: continue
                bound, bt, bounds = (f"first{name} + {k}" if k >= 0 else f"first{name} - {-k}"), common_type(t, "s32"), lambda a, k=k: [a + k]
            elif pick < 0.8 and plain:
                of = v = rng.choice(plain)
                k = rng.choice([0, 0, 1, 3, 5, 30, 256, 4352])
                down, bt = k > 255 or self.chance(0.3) and k, "s32"
                bound = f"{k} - (s32){v.name}" if down else f"(s32){v.name} + {k}"
                bounds = lambda a, v=v, k=k, down=down: [k - x if down else x + k for x in range(v.range[0], v.range[1] + 1)]
            elif source:
                m, k = rng.choice([1, 3, 7, 15]), rng.choice([0, 1, 4, 16, 100, 240])
                of = rng.choice(source)
                bound, bounds = f"({bt})(((u32){of.name} & {m}) + {k}u)", lambda a, m=m, k=k, bt=bt: [wrap(bt, x + k) for x in range(m + 1)]
            else: continue
            # The outermost first: most are refused there.
            ends = sorted(set([starts[0], starts[-1]]))
            if not self.runs((t, ends, lambda a, b=bounds: [b(a)[0], b(a)[-1]], bt, step, pred, form), limit): continue
            found = self.runs((t, starts, bounds, bt, step, pred, form), limit)
            if not found: continue
            if self.chance(0.4) and pick >= 0.7: declared, bound, of = declared + f" {bt} {end} = {bound};", end, None
            by = f"{name}++" if step == 1 else f"{name}--" if step == -1 else f"{name} {'+' if step > 0 else '-'}= {abs(step)}"
            if self.chance(0.2) and step == 1: by = f"++{name}"
            return (name, t, declared, f"{name} {pred} {bound}", by, form, found, of)
        name = self.name("i")
        return (name, "s32", f"s32 {name} = 0;", f"{name} < 4", f"{name}++", "for", (4, 0, 3), None)

    def plain(self, t, c):
        return f"{c}" if self.chance(0.7) else f"({t}){c}"

    PRAGMAS = ["#pragma unroll", "#pragma unroll 2", "#pragma unroll 4", "#pragma unroll 1", "#pragma clang loop vectorize(enable)",
               "#pragma clang loop vectorize(enable) vectorize_width(4)", "#pragma clang loop vectorize(enable) vectorize_width(4) interleave_count(2)",
               "#pragma clang loop unroll(enable)", "#pragma clang loop unroll(enable)", "#pragma clang loop unroll(full)", "#pragma clang loop interleave_count(4)"]

    def loop(self):
        rng = self.rng
        most = min(100 if self.chance(0.7) else 300, max(3, self.budget // (self.weight * 4)), max(3, 1500 // self.weight))
        level = rng.choice([x for x in LEVELS if LEVELS.index(x) >= LEVELS.index(self.level) and x != "h"])
        walk = self.chance(0.25)
        name, t, declared, test, by, form, (count, low, high), of = self.header({"h": "w"}.get(level, level), most, walk)
        barrier = level in "bw" and self.may_sync and self.chance(0.4) and self.shared_arrays(level)
        simple = not barrier and (walk or self.chance(0.45))
        counter = Var(name, t, "w" if level == "h" else level, (low, high), fixed=True)
        self.emit("{")
        self.emit(declared)
        if self.chance(0.3): self.emit(rng.choice(self.PRAGMAS))
        if form == "for" and self.chance(0.3):  # with its own declaration
            self.lines.pop(-2 if self.lines[-1].lstrip().startswith("#") else -1)
            rest = declared.split(";")[1].strip()
            if rest or "first" in declared: self.lines.insert(-1 if self.lines[-1].lstrip().startswith("#") else len(self.lines), "  " * self.indent + declared)
            start = f"{name} = {name}" if rest or "first" in declared else declared.rstrip(";")
            self.emit(f"for ({start}; {test}; {by}) {{")
        elif form == "for": self.emit(f"for (; {test}; {by}) {{")
        elif form == "while": self.emit(f"while ({test}) {{")
        else: self.emit("do {")
        self.vars.append(counter)
        if of: of.fixed, was_fixed = True, of.fixed
        self.loops.append((level, CONTINUES if form == "for" else ("break",)))
        self.weight *= max(count, 1)
        if barrier: self.barrier() if level == "b" else self.sync_warp()
        outer, self.synced = self.synced, bool(barrier)
        first = form == "while" and self.chance(0.2) and t not in ("s32", "s64")
        if first:
            self.emit(f"{by};")
            counter.range = value_range(t)
        if simple:
            for _ in range(1 if walk else rng.randint(1, 3)): self.accumulate(counter, walk)
            if form == "for" and self.chance(0.25): self.emit(f"if ({self.condition(2)}) break;")
        else:
            before = self.level, self.may_sync
            self.level, self.may_sync = level, bool(barrier)
            for _ in range(rng.randint(1, 4)): self.statement()
            self.level, self.may_sync = before
        if form != "for" and not first: self.emit(f"{by};")
        self.weight //= max(count, 1)
        self.loops.pop()
        self.vars.remove(counter)
        if of: of.fixed = was_fixed
        self.emit(f"}} while ({test});" if form == "do" else "}")
        self.join(outer)
        self.emit("}")

    def accumulate(self, counter, walk=False):
        """A sum over an array by the counter, or a change of an array: what vectorizers look for."""
        rng, i = self.rng, counter
        arrays = [a for a in self.arrays if a.mode in ("free", "read") and a.type in INTS]
        fits = [a for a in arrays if i.range[0] >= 0 and i.range[1] < a.size]
        terms = [f"({i.name} * {rng.choice([3, 5, 7])})" if INTS[i.type][0] < 32 else i.name]
        if arrays:
            a = rng.choice(fits if fits and (walk or self.chance(0.8)) else arrays)
            if walk: terms = []
            wide = {"s32": "(u32)", "s64": "(u64)"}.get(a.type, "")
            terms.append(wide + (f"{a.name}[{self.beside(i, a.size)}]" if a in fits else f"{a.name}[(u32){i.name} % {a.size}]"))
        local = [a for a in self.arrays if a.kind == "local" and a.type in INTS and i.range[0] >= 0 and i.range[1] < a.size]
        term = rng.choice(terms)
        guard = f"if ({self.condition(1)}) " if self.chance(0.2) else ""
        if local and self.chance(0.35):
            a = rng.choice(local)
            return self.emit(f"{guard}{a.name}[{self.beside(i, a.size)}] = ({a.type})((u64){term} {rng.choice('+*^')} {self.constant('u32')});")
        targets = [v for v in self.assignable("t") if v.type in INTS and not (INTS[v.type][1] and INTS[v.type][0] >= 32)]
        if not targets: return self.assign("t")
        v = rng.choice(targets)
        if self.chance(0.15): return self.emit(f"{v.name} = {rng.choice(['min', 'max'])}({v.name}, ({v.type}){term});")
        if self.chance(0.3): term = f"({term} & 255) * {rng.choice([3, 17, 255])}"
        self.emit(f"{guard}{v.name} {rng.choice(['+=', '^=', '+=', '|=', '-='])} {term};")

    def beside(self, i, size):
        """The counter as an index, at times some elements on, or from the end on."""
        if self.chance(0.7): return i.name
        if self.chance(0.3): return f"{size - 1} - {i.name}"
        room = size - 1 - i.range[1]
        return f"{i.name} + {self.rng.randint(1, min(room, 8))}" if room > 0 else i.name

    def walk_pointer(self):
        """A pointer from one element to another; a search."""
        rng = self.rng
        arrays = [a for a in self.arrays if a.mode in ("free", "read") and a.type in INTS and a.kind != "in"]
        targets = [v.name for v in self.assignable("t") if v.type == "u32"]
        if not arrays or not targets: return self.assign("t")
        a, v, p = rng.choice(arrays), rng.choice(targets), self.name("at")
        n = rng.randint(1, min(a.size, 40))
        self.budget -= self.weight * n
        head = f"const {a.type} *{p} = {a.name}"
        first = rng.choice(["0", f"(lane & {min(3, n - 1)})"] if n & n - 1 == 0 and n >= 4 and isinstance(self, Kernel) else ["0"])
        how = rng.randrange(4)
        if how == 0: self.emit(f"{{ {head} + {first}; do {v} = {v} * 3 + (u32)*{p}; while (++{p} != {a.name} + {n}); }}")
        elif how == 1: self.emit(f"for ({head} + {first}, *e{p} = {a.name} + {n}; {p} < e{p}; {p}++) {v} ^= (u32)*{p};")
        elif how == 2: self.emit(f"for ({head} + {n}; {p} != {a.name}; ) {v} += (u32)*--{p};")
        else: self.emit(f"{{ u32 i{p} = 0; while (i{p} < {n} && {a.name}[i{p}] != {self.value(a.type, 1)}) i{p}++; {v} += i{p}; }}")

    # --- shared memory and warps: only kernels have them ---

    def shared_arrays(self, level):
        return [a for a in self.arrays if a.kind == "warp" or a.kind == "shared" and level == "b"]

    def statement(self):
        self.budget -= self.weight
        if self.budget < 0: return self.assign(self.level if self.level != "h" else "t")
        self.depth += 1
        nested = self.depth < 5 and self.budget > 30 * self.weight
        choices = [(self.assign_here, 10), (self.store, 4), (self.copy, 2)]
        if self.records: choices.append((self.set_member, 3))
        if nested: choices += [(self.if_, 4), (self.loop, 6), (self.switch, 2), (self.walk_pointer, 2)]
        if self.may_leave(): choices.append((self.leave, 2))
        choices += self.more_choices(nested)
        kept = self.module.swarm.of("statements", [c.__name__ for c, _ in choices], always=["assign_here"])
        choices = [c for c in choices if c[0].__name__ in kept]
        self.rng.choices([c for c, _ in choices], [w for _, w in choices])[0]()
        self.depth -= 1

    def assign_here(self):
        self.assign({"h": "t"}.get(self.level, self.level))

    def more_choices(self, nested):
        return []


def cast(t, e):
    """Expressions of integer() are one word, a call, an element, or have parentheses."""
    return e if e.startswith(f"({t})") else f"({t}){e}"


class Function(Body):
    """A device function: numbers to a number."""
    def __init__(self, module, k):
        super().__init__(module)
        self.k, self.level, self.budget, self.depth = k, "t", 390, 2

    def predicate(self):
        """A bool from one bit or comparison, returned as constants: what becomes a choice between i1 numbers."""
        name, types = f"fn{self.k}", [self.rng.choice(["u32", "u32", "u64", "u8", "s32"]) for _ in range(self.rng.randint(1, 2))]
        self.vars = [Var(f"p{k}", t) for k, t in enumerate(types)]
        for _ in range(self.rng.randint(1, 2)):
            self.emit(f"if ({self.condition(1)}) return {self.rng.choice(['true', 'false', '1', '0'])};")
        self.emit(f"return {self.rng.choice(['true', 'false', '0', '1', self.condition(1)])};")
        self.module.text += [f"{self.rng.choice(['', '__noinline__ ', '__forceinline__ '])}__device__ bool {name}("
                             f"{', '.join(f'{t} p{k}' for k, t in enumerate(types))}) {{", *self.lines, "}"]
        self.module.functions.append((name, types, 4))

    def generate(self):
        rng = self.rng
        if self.chance(0.3): return self.predicate()
        types = [rng.choice(list(INTS) + ["float", "bool"]) for _ in range(rng.randint(1, 4))]
        result = rng.choice(list(INTS))
        attributes = rng.choice(["__noinline__ ", "", "__forceinline__ ", "static "])
        how = rng.random()
        name = f"fn{self.k}"
        for k, t in enumerate(types): self.vars.append(Var(f"p{k}", t))
        if how < 0.2:
            types = ["u32", "u32"]
            self.vars = [Var("p0", "u32", fixed=True), Var("p1", "u32")]
            self.emit("p0 &= 3;")
            self.emit(f"if (p0 == 0{' || ' + self.condition(1) if self.chance(0.5) else ''}) return {self.value(result, 2)};")
        for k in range(rng.randint(1, 2)):
            t = rng.choice(list(INTS))
            self.emit(f"{t} v{k} = {self.value(t, 2)};")
            self.vars.append(Var(f"v{k}", t))
        if rng.random() < 0.4:
            self.emit(f"u32 la[8] = {{{', '.join(self.integer('u32', 1) for _ in range(rng.randint(1, 8)))}}};")
            self.arrays.append(Array("la", "u32", 8, "local"))
        for _ in range(rng.randint(1, 4)): self.statement()
        if self.chance(0.4): self.emit(f"if ({self.condition(2)}) return {self.value(result, 2)};")
        if how < 0.2:
            self.emit(f"return ({result})((u64){name}(p0 - 1, {self.integer('u32', 2)}) {rng.choice('+^*-')} (u64){self.integer('u64', 1)});")
        else: self.emit(f"return {self.value(result, 2)};")
        self.module.text += [f"{attributes}__device__ {result} {name}({', '.join(f'{t} p{k}' for k, t in enumerate(types))}) {{", *self.lines, "}"]
        self.module.functions.append((name, types, (400 - self.budget) * (4 if how < 0.2 else 1)))


class Kernel(Body):
    def __init__(self, module, k):
        super().__init__(module)
        self.k, self.level = k, "b"

    # --- barriers, and what they change ---

    def change_modes(self, kinds):
        for a in self.arrays:
            if a.kind not in kinds: continue
            a.mode = self.rng.choice(["own", "read", "read"] + (["atomic"] if a.type in ("u32", "s32", "u64") else []))
            if a.mode == "atomic": a.op = self.rng.choice(ATOMIC_OPS[:5] if a.type == "u64" else ATOMIC_OPS)
        self.synced = True

    def barrier(self):
        pick, targets = self.rng.random(), [v for v in self.vars if v.level == "b" and not v.fixed and v.type == "u32"]
        if pick < 0.2 and targets:
            self.emit(f"{self.rng.choice(targets).name} += (u32)__syncthreads_{self.rng.choice(['count', 'and', 'or'])}({self.condition(1)});")
        elif pick < 0.3: self.emit("__nvvm_barrier_sync(0);")
        elif pick < 0.35: self.emit(f"__nvvm_barrier_sync_cnt({self.rng.randint(1, 3)}, {self.module.threads});")
        else: self.emit("__syncthreads();")
        self.change_modes(("shared", "warp"))

    def sync_warp(self):
        self.emit("__syncwarp();" if self.chance(0.8) else "__threadfence_block(); __syncwarp(FULL);".replace("__threadfence_block()", "__nvvm_membar_cta()"))
        self.change_modes(("warp",))

    def sync(self):
        if self.level == "b" and self.chance(0.6): self.barrier()
        else: self.sync_warp()

    def warp_operation(self):
        """A shuffle, vote, match or reduction of all lanes of the mask."""
        rng, half = self.rng, self.mask != "FULL"
        pick = rng.random()
        if pick < 0.55:
            kind = rng.choice(["__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"])
            targets = [v for v in self.assignable("t") if v.type in ("u32", "s32", "u64", "float", "double")]
            if not targets: return self.assign("t")
            v = rng.choice(targets)
            width = rng.choice([2, 4, 8, 16] + ([] if half else [32, 32, 32]))
            by = str(rng.randrange(width)) if self.chance(0.6) or kind != "__shfl_sync" else f"({self.integer('u32', 1)} & 31)"
            if v.type in FLOATS: return self.emit(f"{v.name} = {kind}({self.mask}, number({self.value(v.type, 1)}), {by}, {width});")
            end = "" if width == 32 and self.chance(0.5) else f", {width}"
            return self.emit(f"{v.name} {'^' if INTS[v.type][1] == 0 else ''}= {kind}({self.mask}, {self.value(v.type, 2)}, {by}{end});")
        lanes = "t" if half else rng.choice("wt")
        targets = [v for v in self.vars if not v.fixed and v.level == lanes and v.type == "u32"] or [v for v in self.assignable("t") if v.type == "u32"]
        if not targets: return self.assign("t")
        v = rng.choice(targets).name
        if pick < 0.75: self.emit(f"{v} ^= (u32)__{rng.choice(['ballot', 'all', 'any', 'uni'])}_sync({self.mask}, {self.condition(2)});")
        elif pick < 0.9:
            op = rng.choice(["add", "min", "max", "umin", "umax", "and", "or", "xor"])
            self.emit(f"{v} += (u32)__nvvm_redux_sync_{op}((s32){self.integer('u32', 1)}, (s32){self.mask});")
        else:
            thread = [v for v in self.assignable("t") if v.type == "u32" and v.level == "t"]
            if not thread: return self.assign("t")
            self.emit(f"{rng.choice(thread).name} ^= __match_any_sync({self.mask}, {rng.choice(['(u32)', '(u64)'])}({self.integer('u32', 1)} & {rng.choice([1, 3, 15])}));")

    def half_warp(self):
        """The lanes of one half, and what they do together."""
        self.emit("if (lane < 16) {")
        for mask in ("0xffffu", "0xffff0000u"):
            self.mask = mask
            outer, self.level = self.level, "h"
            for _ in range(self.rng.randint(1, 2)): self.warp_operation()
            if self.chance(0.5): self.statement()
            self.level, self.mask = outer, "FULL"
            if mask == "0xffffu" and self.chance(0.4): self.emit("} else {")
            elif mask == "0xffffu": break
        self.emit("}")

    def idiom(self):
        """What kernels of CUDA are full of."""
        rng, threads = self.rng, self.module.threads
        arrays = [a for a in self.arrays if a.kind == "shared" and a.type in ("u32", "u64", "s32") and a.size >= threads]
        v = rng.choice([v.name for v in self.vars if v.type == "u32" and v.level == "t" and not v.fixed])
        how, i = rng.randrange(5), self.name("k")
        if how == 0 or not arrays:  # over a warp
            op, step = rng.choice(["+=", "^=", "|="]), rng.choice([f"s32 {i} = 16; {i} > 0; {i} >>= 1", f"u32 {i} = 1; {i} < 32; {i} *= 2", f"s32 {i} = 16; {i}; {i} /= 2"])
            if self.chance(0.5): self.emit("#pragma unroll")
            return self.emit(f"for ({step}) {v} {op} __shfl_{rng.choice(['xor', 'down', 'up'])}_sync(FULL, {v}, {i});")
        a = rng.choice(arrays)
        if self.level != "b": return self.warp_operation()
        self.emit("__syncthreads();")
        a.mode = "unset"
        self.emit(f"{a.name}[tid] = {self.value(a.type, 2)};")
        a.mode = "read"
        cast = "(u64)" if a.type == "u64" else "(u32)"
        if how == 1 and threads & threads - 1 == 0:  # a tree
            self.emit(f"for ({rng.choice(['u32', 's32', 'u16'])} {i} = {threads // 2}; {i} > 0; {i} >>= 1) {{")
            self.emit("__syncthreads();")
            self.emit(f"if (tid < {i}) {a.name}[tid] = ({a.type})({cast}{a.name}[tid] + {cast}{a.name}[tid + {i}]);")
            self.emit("}")
            self.emit("__syncthreads();")
        elif how in (1, 2):  # a scan
            self.emit(f"for (u32 {i} = 1; {i} < {threads}; {i} <<= 1) {{")
            self.emit("__syncthreads();")
            self.emit(f"{a.type} x{i} = tid >= {i} ? {a.name}[tid - {i}] : 0;")
            self.emit("__syncthreads();")
            self.emit(f"{a.name}[tid] = ({a.type})({cast}{a.name}[tid] + {cast}x{i});")
            self.emit("}")
            self.emit("__syncthreads();")
        elif how == 3:  # neighbours
            self.emit("__syncthreads();")
            self.emit(f"{v} += (u32){a.name}[tid ? tid - 1 : 0] + (u32){a.name}[tid == {threads - 1} ? {threads - 1} : tid + 1];")
        else:  # one thread sums up
            self.emit("__syncthreads();")
            self.emit("if (tid == 0) {")
            self.emit(f"for (u32 {i} = 1; {i} < {threads}; {i}++) {a.name}[0] = ({a.type})({cast}{a.name}[0] + {cast}{a.name}[{i}]);")
            self.emit("}")
            self.emit("__syncthreads();")
        self.budget -= self.weight * 40
        self.emit(f"{v} ^= (u32){a.name}[{self.index(threads, 1) if how != 3 else 'tid'}];")
        self.emit("__syncthreads();")
        self.change_modes(("shared", "warp"))

    def more_choices(self, nested):
        choices = [(self.atomic, 2), (self.scratch, 3), (self.call_through, 1)]
        if self.level in "bw" and self.may_sync: choices += [(self.sync, 4), (self.idiom, 2)]
        if self.level in "bw" and nested: choices.append((self.half_warp, 1))
        if self.level in "bwh": choices.append((self.warp_operation, 5))
        return choices

    # --- the kernel ---

    def declare_shared(self):
        rng, threads = self.rng, self.module.threads
        for k in range(rng.randint(1, 3)):
            t = rng.choice(["u32", "u32", "u8", "u16", "s32", "u64", "float", "s8"])
            own = rng.choice([1, 1, 2, 4, 4, 8, 3])
            size = own * threads
            stride = 1 if self.chance(0.5) else threads
            self.emit(f"__shared__ {'__attribute__((aligned(8))) ' if t in ('u8', 's8') else ''}{t} sh{k}[{size}];")
            self.arrays.append(Array(f"sh{k}", t, size, "shared", own, stride))
        if self.chance(0.5):
            t, own = rng.choice(["u32", "u16", "u64", "u8"]), rng.choice([1, 2, 4])
            align = "__attribute__((aligned(8))) " if t == "u8" else ""
            self.emit(f"__shared__ {align}{t} warps[{threads // 32}][{32 * own}];")
            self.emit(f"{t} *ws = warps[warp];")
            self.arrays.append(Array("ws", t, 32 * own, "warp", own, rng.choice([1, 32])))

    def fill_shared(self):
        for a in self.arrays:
            if a.kind not in ("shared", "warp"): continue
            base = "lane" if a.kind == "warp" else "tid"
            j = self.name("j")
            at = (f"{base} * {a.own} + {j}" if a.stride == 1 else f"{base} + {a.stride} * {j}")
            self.vars.append(Var(j, "s32", "b", (0, a.own - 1), fixed=True))
            self.emit(f"for (s32 {j} = 0; {j} < {a.own}; {j}++) {a.name}[{at}] = {self.value(a.type, 2)};")
            self.vars.pop()

    def declare(self):
        rng = self.rng
        w, h = self.module.shape
        self.emit("const u32 tid = threadIdx_x;" if h == 1 else f"const u32 tid = threadIdx_x + threadIdx_y * {rng.choice([str(w), 'blockDim_x'])};")
        self.emit("const u32 lane = tid & 31, warp = tid >> 5, block = blockIdx_x;")
        threads = self.module.threads
        self.emit(f"const u32 gid = block * {threads}u + tid;")
        self.vars += [Var("tid", "u32", "t", (0, threads - 1), True), Var("lane", "u32", "t", (0, 31), True), Var("warp", "u32", "w", (0, threads // 32 - 1), True),
                      Var("block", "u32", "b", (0, 2), True), Var("n", "s32", "b", (0, 29), True), Var("s", "u32", "b", None, True), Var("x", "float", "b", fixed=True)]
        self.emit(f"u32 *words = (u32 *)(scratch + gid * {SCRATCH});")
        self.emit(f"u16 *halves = (u16 *)(scratch + gid * {SCRATCH} + {SCRATCH // 2});")
        self.emit(f"u8 *bytes = scratch + gid * {SCRATCH} + {SCRATCH * 3 // 4};")
        self.arrays += [Array("in", "u32", IN_WORDS, "in"), Array("words", "u32", SCRATCH // 8, "local"), Array("halves", "u16", SCRATCH // 8, "local"),
                        Array("bytes", "u8", SCRATCH // 4, "local")]
        self.declare_shared()
        for name, level, n in (("b", "b", 2), ("w", "w", 2), ("v", "t", rng.randint(4, 7))):
            for k in range(n):
                t = "u32" if k == 0 else rng.choice(list(INTS) + (["float", "double", "half", "float", "bool"] if level == "t" else ["bool"]))
                self.emit(f"{t} {name}{k} = {self.value(t, 2, level)};")
                self.vars.append(Var(f"{name}{k}", t, level))
        for k in range(rng.randint(0, 2)):
            t, size = rng.choice(["u32", "u32", "u8", "u16", "s16", "u64", "float"]), rng.choice([4, 8, 8, 16, 32])
            self.emit(f"{t} la{k}[{size}] = {{{', '.join(self.value(t, 1) for _ in range(rng.randint(1, min(size, 8))))}}};")
            self.arrays.append(Array(f"la{k}", t, size, "local"))
        for k in range(rng.randint(0, 2)):
            index = rng.randrange(len(self.module.records))
            record, fields = self.module.records[index]
            is_union = self.chance(0.5)
            if is_union: self.emit(f"U{index} r{k}; __builtin_memset(&r{k}, {rng.choice([0, 0, 1, 85])}, sizeof r{k});")
            else: self.emit(f"{record} r{k} = {{}};")
            # A union is larger than its bytes at times: only those are read back.
            self.records.append((f"r{k}", record, fields, is_union))

    def results(self):
        self.emit(f"u32 *o = out + gid * {OUT_WORDS};")
        k = 0
        for v in self.vars:
            if v.fixed or k + 1 >= OUT_WORDS - 4: continue
            if v.type in FLOATS: text = f"bits_of({v.name})"
            else: text = v.name
            self.emit(f"o[{k}] = (u32){text};")
            k += 1
            if v.type in ("u64", "s64", "double"):
                self.emit(f"o[{k}] = (u32)((u64){text} >> 32);")
                k += 1
        self.emit("u32 h = 0;")
        for a in self.arrays:
            if a.kind != "local": continue
            item = f"bits_of({a.name}[k])" if a.type == "float" else f"(u32)({a.name}[k] ^ {a.name}[k] >> {'31' if a.type == 'u64' else '3'})"
            self.emit(f"for (s32 k = 0; k < {a.size}; k++) h = h * 31 + {item};")
        for name, _, fields, is_union in self.records:
            if is_union: self.emit(f"for (s32 k = 0; k < 16; k++) h = h * 31 + {name}.b[k];")
            else:
                for f, t, _ in fields: self.emit(f"h = h * 31 + {f'bits_of({name}.{f})' if t == 'float' else f'(u32){name}.{f}'};")
        self.emit(f"o[{k}] = h;")
        self.emit("h = 0;")
        self.emit("__syncthreads();")
        for a in self.arrays:
            if a.kind not in ("shared", "warp"): continue
            j, base = self.name("j"), "lane" if a.kind == "warp" else "tid"
            item = f"{a.name}[{base} + {32 if a.kind == 'warp' else self.module.threads} * {j}]"
            item = f"bits_of({item})" if a.type == "float" else f"(u32){item}"
            self.emit(f"for (s32 {j} = 0; {j} < {a.own}; {j}++) h = h * 31 + {item};")
        self.emit(f"o[{k + 1}] = h;")

    def generate(self):
        rng = self.rng
        restrict = rng.choice(["__restrict__ ", "__restrict__ ", ""])
        bounds = f"__launch_bounds__({self.module.threads}) " if self.chance(0.3) else ""
        head = (f'extern "C" __global__ {bounds}void k{self.k}(u32 *{restrict}out, const u32 *{restrict}in, u8 *{restrict}scratch, u32 *{restrict}atoms, '
                "const s32 n, const u32 s, const float x, const Param q) {")
        self.declare()
        self.fill_shared()
        self.vars += [Var("q.a", "u8", "b", None, True), Var("q.b", "s16", "b", None, True), Var("q.c", "u32", "b", (0, 31), True),
                      Var("q.d", "u32", "b", (0, 2047), True), Var("q.e", "s32", "b", (-64, 63), True), Var("q.g", "u64", "b", None, True),
                      Var("q.f", "float", "b", None, True)]
        self.barrier()
        for _ in range(rng.randint(3, 9)): self.statement()
        self.results()
        return "\n".join([head, *self.lines, "}"])


HELPERS = """
DEV void mix(u32 &x, u32 *a, u32 n, u32 s) {
  for (u32 i = 0; i < n; i++) { x += a[i] ^ s; a[(i + s) % n] = x; }
}
static __device__ __noinline__ void mix_called(u32 &x, u32 *a, u32 n, u32 s) {
  for (u32 i = n; i-- > 0;) { x = x * 5 + a[i]; a[i] ^= s; }
}
"""


def generate(seed, count, swarm=False):
    """(source text, the launch's options)."""
    m = Module(seed, count, swarm)
    text = m.generate()
    head, rest = text.split("\n", 1)
    return f"{head}{HELPERS}{rest}", m.arguments()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--swarm", action="store_true", help="only a random subset of the statements")
    options = parser.parse_args()
    text, arguments = generate(options.seed, options.count, options.swarm)
    print(text + "// nvmini-run: " + " ".join(arguments))


if __name__ == "__main__":
    main()
