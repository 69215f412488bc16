#!/usr/bin/env python3
"""Writes a module of random functions for one thread, free of undefined behaviour by construction:

    gen_functions.py SEED [--functions N] [--size N] [--only KIND,KIND] [--swarm]

Each function @f<k>(ptr %in, ptr %out) reads its inputs from %in (IN_BYTES), computes, and writes
what it computed to %out (OUT_BYTES). NaNs are stored as one and the same NaN, since their bits are
nobody's promise. KINDS are families of steps: int float convert compare vector memory aggregate
branch loop switch call intrinsic rounding table
aggregates_around atomic frem idiom; `plain` as one of them means common types only. The text has neither triple nor kernel: who uses it adds them."""
import argparse
import random

from gen_idioms import Idioms
from swarm import Swarm

IN_BYTES = 256
OUT_BYTES = 512
NODES = 10  # the first number of metadata; who uses the text has some of its own

INTS = [1, 3, 8, 16, 24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128]
COMMON = [8, 16, 32, 64, 32, 64]
FLOATS = ["half", "bfloat", "float", "double"]
FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
# largest power of two below which every integer conversion is rounded once by any sane host
MANTISSA = {"half": 11, "bfloat": 8, "float": 24, "double": 53}
TOP_EXPONENT = {"half": 15, "bfloat": 127, "float": 127, "double": 1023}


VECTOR_ELEMENTS = ["i1", "i8", "i16", "i32", "i64", "i3", "i24", "i33", "i128"]
VECTOR_COUNTS = [2, 2, 3, 4, 4, 5, 8]
MEMORY_TYPES = ["i8", "i16", "i24", "i32", "i48", "i64", "i128", "float", "double", "half", "<2 x i32>", "<4 x i8>",
                "<3 x i16>", "<2 x half>", "<4 x float>", "i33", "i65", "i100"]
SWAP_TYPES = [("i16", 16), ("i32", 32), ("i64", 64), ("i48", 48), ("i128", 128)]
PAIRS = [("i32", "float"), ("i64", "double"), ("i16", "half"), ("i16", "bfloat"), ("i64", "<2 x i32>"),
         ("i64", "<4 x i16>"), ("i32", "<4 x i8>"), ("i128", "<2 x i64>"), ("i32", "<2 x half>"),
         ("<2 x i32>", "double"), ("<4 x i16>", "<2 x i32>"), ("i8", "<8 x i1>"), ("i32", "<2 x i16>"),
         ("<8 x i8>", "<4 x i16>"), ("<2 x half>", "<2 x i16>"), ("i128", "<4 x i32>")]
SMALLER = [("half", "float"), ("half", "double"), ("float", "double"), ("bfloat", "float"), ("bfloat", "double")]


def use_plain_types():
    """Only those that every compiler for GPUs takes."""
    INTS[:] = [1, 8, 16, 32, 64]
    FLOATS[:] = ["float", "double", "half"]
    VECTOR_ELEMENTS[:] = ["i8", "i16", "i32", "i64"]
    VECTOR_COUNTS[:] = [2, 4]
    odd = ("i24", "i48", "i128", "i33", "i65", "i100", "<3 x i16>", "i3", "bfloat")
    MEMORY_TYPES[:] = [t for t in MEMORY_TYPES if t not in odd]
    SWAP_TYPES[:] = SWAP_TYPES[:3]
    PAIRS[:] = [p for p in PAIRS if not any(t in ("bfloat", "i128", "<8 x i1>") for t in p)]
    SMALLER[:] = SMALLER[:3]


def is_int(t): return t[0] == "i" and t[1:].isdigit()
def is_float(t): return t in FLOAT_BITS
def is_vec(t): return t[0] == "<"
def width(t): return int(t[1:]) if is_int(t) else FLOAT_BITS[t]


def vec(n, t): return f"<{n} x {t}>"


def vec_parts(t):
    n, e = t[1:-1].split(" x ")
    return int(n), e


def bits_of(t):
    if is_vec(t):
        n, e = vec_parts(t)
        return n * width(e)
    return width(t)


def alloc_bytes(t):
    """Bytes of a scalar in memory, padded to its alignment."""
    b = (width(t) + 7) // 8
    p = 1
    while p < b:
        p *= 2
    return min(p, 16) if p <= 16 else p


def split_members(t):
    """The member types of a literal struct of scalars and vectors."""
    return t[1:-1].split(", ")


class Function(Idioms):
    def __init__(self, rng, module, name, kinds, args=None, ret=None):
        self.rng, self.module, self.name, self.kinds = rng, module, name, kinds
        self.r, self.m = rng, module  # as gen_idioms calls them
        self.lines, self.allocas = [], []
        self.next_value = 0
        self.pool = {}      # type -> values that dominate this place
        self.block = "entry"
        self.depth = 0
        self.args, self.ret = args, ret
        self.out_at = 0

    def new(self, hint="v"):
        self.next_value += 1
        return f"%{hint}{self.next_value}"

    def emit(self, text): self.lines.append("  " + text)

    def label(self, name):
        self.lines.append(f"{name}:")
        self.block = name

    def keep(self, t, v):
        self.pool.setdefault(t, []).append(v)
        return v

    def op(self, t, text):
        v = self.new()
        self.emit(f"{v} = {text}")
        return self.keep(t, v)

    def quiet(self, text):
        v = self.new("t")
        self.emit(f"{v} = {text}")
        return v

    # --- constants and choices ---------------------------------------------------------------
    # --- what gen_idioms asks for
    def add(self, t, v): self.keep(t, v)
    def add_global(self, text): self.module.texts.append(text)
    def add_node(self, *texts, loop=False): return self.module.add_loop_node(texts) if loop else self.module.add_node(*texts)
    def add_local(self, t, align): return self.local(f"alloca {t}, align {align}", None)
    def one_nan(self, t, v): return self.clean(t, v)
    def spaces(self): return [""]

    def step_idiom(self):
        if self.depth < 2: self.idiom()

    def int_constant(self, w):
        r = self.rng
        edge = [0, 1, 2, 3, (1 << w) - 1, 1 << (w - 1), (1 << (w - 1)) - 1, (1 << (w // 2)), r.getrandbits(w), r.getrandbits(min(w, 5))]
        v = r.choice(edge) & ((1 << w) - 1)
        if w == 1: return "true" if v else "false"
        return str(v - (1 << w) if v >> (w - 1) else v)

    def float_constant(self, t):
        r = self.rng
        if t == "half": return "0xH%04X" % r.choice([0, 0x8000, 0x3C00, 0xBC00, 0x7BFF, 0x0001, 0x7C00, 0xFC00, 0x7E00, r.getrandbits(15) % 0x7C00])
        if t == "bfloat": return "0xR%04X" % r.choice([0, 0x8000, 0x3F80, 0xBF80, 0x7F7F, 0x0001, 0x7F80, 0xFF80, 0x7FC0, r.getrandbits(15) % 0x7F80])
        if t == "float": return r.choice(["0.0", "-0.0", "1.0", "-1.5", "0x36A0000000000000", "0x47EFFFFFE0000000", "0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "3.0", "0x3FB99999A0000000"])
        return r.choice(["0.0", "-0.0", "1.0", "-1.5", "0x0000000000000001", "0x7FEFFFFFFFFFFFFF", "0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "0.1", "1.0e10", "3.0"])

    def constant(self, t):
        if is_int(t): return self.int_constant(width(t))
        if is_float(t): return self.float_constant(t)
        n, e = vec_parts(t)
        return "<" + ", ".join(f"{e} {self.constant(e)}" for _ in range(n)) + ">"

    def value(self, t):
        have = self.pool.get(t, [])
        if have and self.rng.random() < 0.85:
            return self.rng.choice(have[-12:] if self.rng.random() < 0.7 else have)
        if self.rng.random() < 0.5: return self.constant(t)
        return self.make(t)

    def make(self, t):
        """A value of the type out of the input, or of constants."""
        r = self.rng
        if self.args is not None or r.random() < 0.1:
            if is_vec(t) or is_float(t): return self.constant(t)
            return self.constant(t)
        if is_vec(t):
            n, e = vec_parts(t)
            if width(e) % 8 == 0 and r.random() < 0.5 and not (n & (n - 1)) and n * width(e) // 8 <= 64:
                size = n * width(e) // 8
                a = r.choice([1, 1, width(e) // 8 if not (width(e) // 8 & (width(e) // 8 - 1)) else 1])
                at = r.randrange(0, (IN_BYTES - size) // a) * a
                p = self.quiet(f"getelementptr i8, ptr %in, i64 {at}")
                if width(e) & (width(e) - 1) == 0:
                    return self.op(t, f"load {t}, ptr {p}, align {a}")
            v = "poison"
            for i in range(n):
                v = self.quiet(f"insertelement {t} {v}, {e} {self.value(e)}, i32 {i}")
            return self.keep(t, v)
        if is_int(t):
            w = width(t)
            c = next(x for x in (8, 16, 32, 64, 128) if x >= w)
            a = r.choice([1, 2, c // 8])
            at = r.randrange(0, (IN_BYTES - c // 8) // a) * a
            p = self.quiet(f"getelementptr i8, ptr %in, i64 {at}")
            if c == w: return self.op(t, f"load {t}, ptr {p}, align {a}")
            v = self.quiet(f"load i{c}, ptr {p}, align {a}")
            return self.op(t, f"trunc i{c} {v} to {t}")
        c = FLOAT_BITS[t]
        at = r.randrange(0, (IN_BYTES - c // 8) // (c // 8)) * (c // 8)
        p = self.quiet(f"getelementptr i8, ptr %in, i64 {at}")
        if r.random() < 0.5: return self.op(t, f"load {t}, ptr {p}, align {c // 8}")
        # a moderate number
        i = self.quiet(f"load i8, ptr {p}, align 1")
        f = self.quiet(f"sitofp i8 {i} to {t}")
        return self.op(t, f"fmul {t} {f}, {self.moderate(t)}")

    def moderate(self, t):
        if t == "half": return "0xH3800"
        if t == "bfloat": return "0xR3F00"
        return "0.5"

    def int_type(self):
        return f"i{self.rng.choice(INTS if self.rng.random() < 0.5 else COMMON)}"

    def vector_type(self, floats=True):
        r = self.rng
        e = r.choice(VECTOR_ELEMENTS + (FLOATS * 2 if floats else []))
        return vec(r.choice(VECTOR_COUNTS), e)

    def any_type(self):
        r = self.rng.random()
        if r < 0.5: return self.int_type()
        if r < 0.8: return self.rng.choice(FLOATS)
        return self.vector_type()

    def splat(self, t, c):
        if not is_vec(t): return c
        n, e = vec_parts(t)
        return "<" + ", ".join(f"{e} {c}" for _ in range(n)) + ">"

    # --- families of steps --------------------------------------------------------------------
    def step_int(self, t=None):
        t = t or (self.vector_type(False) if self.rng.random() < 0.15 and "vector" in self.kinds else self.int_type())
        e = vec_parts(t)[1] if is_vec(t) else t
        w = width(e)
        op = self.rng.choice(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem"])
        a, b = self.value(t), self.value(t)
        if op in ("shl", "lshr", "ashr"):
            if w & (w - 1) == 0: b = self.quiet(f"and {t} {b}, {self.splat(t, str(w - 1) if w > 1 else 'false')}")
            elif w == 3: b = self.quiet(f"and {t} {b}, {self.splat(t, '1')}")
            else: b = self.quiet(f"urem {t} {b}, {self.splat(t, str(w))}") if w > 6 else b
        elif op in ("udiv", "urem"):
            b = self.quiet(f"or {t} {b}, {self.splat(t, 'true' if w == 1 else '1')}")
        elif op in ("sdiv", "srem"):
            if w == 1: return
            b = self.quiet(f"or {t} {b}, {self.splat(t, '1')}")
            if self.rng.random() < 0.5:
                a = self.quiet(f"lshr {t} {a}, {self.splat(t, '1')}")
            else:
                b = self.quiet(f"and {t} {b}, {self.splat(t, str((1 << (w - 1)) - 1))}")
        self.op(t, f"{op} {t} {a}, {b}")

    def step_float(self):
        t = self.rng.choice(FLOATS)
        if self.rng.random() < 0.25 and "vector" in self.kinds: t = vec(self.rng.choice(VECTOR_COUNTS), t)
        op = self.rng.choice(["fadd", "fsub", "fmul", "fdiv", "fneg"] + ["frem"] * ("frem" in self.module.extras))
        if op == "fneg": self.op(t, f"fneg {t} {self.value(t)}")
        else: self.op(t, f"{op} {t} {self.value(t)}, {self.value(t)}")

    def in_range(self, t, v, w, signed):
        """v where it fits into an integer of w bits, else 1."""
        one = {"half": "0xH3C00", "bfloat": "0xR3F80"}.get(t, "1.0")
        e = w - 1 if signed else w
        low = -(2.0 ** min(e, TOP_EXPONENT[t])) / 2 if signed else 0.0
        high = 2.0 ** min(e - 1, TOP_EXPONENT[t]) if e >= 1 else 1.0
        if w <= 2: low, high = 0.0, 1.0
        a = self.quiet(f"fcmp oge {t} {v}, {self.power(t, low)}")
        b = self.quiet(f"fcmp olt {t} {v}, {self.power(t, high)}")
        c = self.quiet(f"and i1 {a}, {b}")
        if w == 1: one = {"half": "0xH0000", "bfloat": "0xR0000"}.get(t, "0.0")
        return self.quiet(f"select i1 {c}, {t} {v}, {t} {one}")

    def power(self, t, v):
        import struct
        bits = struct.unpack("<Q", struct.pack("<d", v))[0]
        if t in ("float", "double"): return "0x%016X" % bits
        if t == "bfloat": return "0xR%04X" % (struct.unpack("<I", struct.pack("<f", v))[0] >> 16)
        return "0xH%04X" % struct.unpack("<H", struct.pack("<e", v))[0]

    def step_convert(self):
        r = self.rng
        kind = r.choice(["trunc", "zext", "sext", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "bitcast"])
        if kind in ("trunc", "zext", "sext"):
            a, b = sorted(r.sample(INTS, 2))
            big, small = f"i{b}", f"i{a}"
            if r.random() < 0.2 and "vector" in self.kinds:
                n = r.choice(VECTOR_COUNTS[:4])
                big, small = vec(n, big), vec(n, small)
            if kind == "trunc": self.op(small, f"trunc {big} {self.value(big)} to {small}")
            else: self.op(big, f"{kind} {small} {self.value(small)} to {big}")
        elif kind in ("fptrunc", "fpext"):
            small, big = r.choice(SMALLER)
            if kind == "fpext": self.op(big, f"fpext {small} {self.value(small)} to {big}")
            else: self.op(small, f"fptrunc {big} {self.value(big)} to {small}")
        elif kind in ("fptosi", "fptoui"):
            t, i = r.choice(FLOATS), self.int_type()
            if i == "i1" and len(INTS) == 5: return # llc-19 takes 0.5 for true
            v = self.in_range(t, self.value(t), width(i), kind == "fptosi")
            self.op(i, f"{kind} {t} {v} to {i}")
        elif kind in ("sitofp", "uitofp"):
            t, i = r.choice(FLOATS), self.int_type()
            if i == "i1" and len(INTS) == 5: return # and 1.0 for a signed true
            v = self.value(i)
            if t in ("half", "bfloat") and width(i) > 11:
                v = self.quiet(f"{'ashr' if kind == 'sitofp' else 'lshr'} {i} {v}, {width(i) - 11}")
            self.op(t, f"{kind} {i} {v} to {t}")
        else:
            a, b = r.choice(PAIRS)
            if r.random() < 0.5: a, b = b, a
            v = self.value(a)
            if "half" in a or "float" in a or "double" in a: v = self.clean(a, v)
            self.op(b, f"bitcast {a} {v} to {b}")

    def clean(self, t, v):
        """One NaN for all NaNs."""
        e = vec_parts(t)[1] if is_vec(t) else t
        c = self.quiet(f"fcmp uno {t} {v}, {v}")
        nan = {"half": "0xH7E00", "bfloat": "0xR7FC0"}.get(e, "0x7FF8000000000000")
        i = f"<{vec_parts(t)[0]} x i1>" if is_vec(t) else "i1"
        return self.quiet(f"select {i} {c}, {t} {self.splat(t, nan)}, {t} {v}")

    def step_compare(self):
        r = self.rng
        t = self.any_type()
        e = vec_parts(t)[1] if is_vec(t) else t
        i = vec(vec_parts(t)[0], "i1") if is_vec(t) else "i1"
        if is_float(e):
            p = r.choice("oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split())
            c = self.op(i, f"fcmp {p} {t} {self.value(t)}, {self.value(t)}")
        else:
            p = r.choice("eq ne ugt uge ult ule sgt sge slt sle".split())
            c = self.op(i, f"icmp {p} {t} {self.value(t)}, {self.value(t)}")
        if r.random() < 0.6:
            s = t if r.random() < 0.5 or is_vec(t) else self.any_type()
            if r.random() < 0.3: c, i = self.value("i1"), "i1"
            if i != "i1" and not is_vec(s): return
            self.op(s, f"select {i} {c}, {s} {self.value(s)}, {s} {self.value(s)}")

    def step_vector(self):
        r = self.rng
        t = self.vector_type()
        n, e = vec_parts(t)
        kind = r.choice(["extract", "insert", "shuffle", "extract_var", "insert_var"])
        v = self.value(t)
        if kind == "extract": self.op(e, f"extractelement {t} {v}, i32 {r.randrange(n)}")
        elif kind == "insert": self.op(t, f"insertelement {t} {v}, {e} {self.value(e)}, i64 {r.randrange(n)}")
        elif kind == "shuffle":
            m = r.choice(VECTOR_COUNTS)
            mask = ", ".join(f"i32 {r.randrange(2 * n)}" for _ in range(m))
            self.op(vec(m, e), f"shufflevector {t} {v}, {t} {self.value(t)}, <{m} x i32> <{mask}>")
        else:
            i = self.quiet(f"urem i32 {self.value('i32')}, {n}")
            if kind == "extract_var": self.op(e, f"extractelement {t} {v}, i32 {i}")
            else: self.op(t, f"insertelement {t} {v}, {e} {self.value(e)}, i32 {i}")

    def step_intrinsic(self):
        r = self.rng
        kind = r.choice("ctpop ctlz cttz bswap bitreverse fshl fshr abs smin smax umin umax uadd.sat usub.sat sadd.sat ssub.sat overflow fabs copysign sqrt fma minimum maximum floor ceil trunc reduce".split())
        m = self.module
        if kind == "overflow":
            t = self.int_type()
            if width(t) == 1: return
            name = f"llvm.{r.choice(['uadd', 'usub', 'umul', 'sadd', 'ssub', 'smul'])}.with.overflow.{t}"
            m.declare(f"declare {{{t}, i1}} @{name}({t}, {t})")
            s = self.quiet(f"call {{{t}, i1}} @{name}({t} {self.value(t)}, {t} {self.value(t)})")
            self.op("i1", f"extractvalue {{{t}, i1}} {s}, 1")
            self.op(t, f"extractvalue {{{t}, i1}} {s}, 0")
            return
        if kind in ("fabs", "copysign", "sqrt", "fma", "minimum", "maximum", "floor", "ceil", "trunc"):
            t = r.choice(["float", "double"])
            count = {"copysign": 2, "fma": 3, "minimum": 2, "maximum": 2}.get(kind, 1)
            if kind in ("minimum", "maximum"): kind = {"minimum": "minnum", "maximum": "maxnum"}[kind]
            name = f"llvm.{kind}.{'f32' if t == 'float' else 'f64'}"
            m.declare(f"declare {t} @{name}({', '.join([t] * count)})")
            args = []
            for k in range(count):
                v = self.value(t)
                if kind in ("copysign", "minnum", "maxnum"): v = self.clean(t, v)
                if kind in ("minnum", "maxnum"): # the sign of a zero result is nobody's promise
                    zero = self.quiet(f"fcmp oeq {t} {v}, 0.0")
                    v = self.quiet(f"select i1 {zero}, {t} 0.0, {t} {v}")
                args.append(f"{t} {v}")
            self.op(t, f"call {t} @{name}({', '.join(args)})")
            return
        if kind == "reduce":
            t = self.vector_type(False)
            n, e = vec_parts(t)
            o = r.choice("add mul and or xor smax umin".split())
            name = f"llvm.vector.reduce.{o}.v{n}{e}"
            m.declare(f"declare {e} @{name}({t})")
            self.op(e, f"call {e} @{name}({t} {self.value(t)})")
            return
        t = self.int_type()
        w = width(t)
        if kind == "bswap": t, w = r.choice(SWAP_TYPES)
        if r.random() < 0.15 and "vector" in self.kinds:
            t = vec(r.choice(VECTOR_COUNTS[:4]), t)
        suffix = t if not is_vec(t) else f"v{vec_parts(t)[0]}{vec_parts(t)[1]}"
        name = f"llvm.{kind}.{suffix}"
        count = {"fshl": 3, "fshr": 3, "ctpop": 1, "ctlz": 1, "cttz": 1, "bswap": 1, "bitreverse": 1, "abs": 1}.get(kind, 2)
        if w == 1 and "sat" in kind: return
        flag = kind in ("ctlz", "cttz", "abs")
        m.declare(f"declare {t} @{name}({', '.join([t] * count)}{', i1' if flag else ''})")
        args = ", ".join(f"{t} {self.value(t)}" for _ in range(count)) + (", i1 false" if flag else "")
        self.op(t, f"call {t} @{name}({args})")

    def step_rounding(self):
        r, m = self.rng, self.module
        t = r.choice(["float", "double", "half"])
        f = {"float": "f32", "double": "f64", "half": "f16"}[t]
        kind = r.choice("rint nearbyint round roundeven floor ceil trunc fptosi.sat fptoui.sat is.fpclass minimum maximum canonicalize".split())
        v = self.value(t)
        if kind.endswith(".sat"):
            i = self.int_type()
            m.declare(f"declare {i} @llvm.{kind}.{i}.{f}({t})")
            self.op(i, f"call {i} @llvm.{kind}.{i}.{f}({t} {v})")
        elif kind == "is.fpclass":
            m.declare(f"declare i1 @llvm.is.fpclass.{f}({t}, i32)")
            test = r.choice([3, 4, 8, 16, 32, 64, 128, 256, 512, 504, 240, 0x3fc])
            self.op("i1", f"call i1 @llvm.is.fpclass.{f}({t} {self.clean(t, v)}, i32 {test})")
        elif kind in ("minimum", "maximum"):
            m.declare(f"declare {t} @llvm.{kind}.{f}({t}, {t})")
            self.op(t, f"call {t} @llvm.{kind}.{f}({t} {v}, {t} {self.value(t)})")
        else:
            if kind == "canonicalize": return
            m.declare(f"declare {t} @llvm.{kind}.{f}({t})")
            self.op(t, f"call {t} @llvm.{kind}.{f}({t} {v})")

    def step_table(self):
        """Loads from a constant or variable global with an index."""
        r, m = self.rng, self.module
        if len(m.tables) < 12 and r.random() < 0.5:
            n = r.choice([1, 2, 3, 5, 8])
            e = self.any_type()
            if r.random() < 0.4: e = "{" + ", ".join(self.any_type() for _ in range(r.randrange(1, 4))) + "}"
            def element(t):
                if t[0] == "{": return "{" + ", ".join(f"{x} {self.constant(x)}" for x in split_members(t)) + "}"
                return self.constant(t)
            body = "zeroinitializer" if r.random() < 0.1 else "[" + ", ".join(f"{e} {element(e)}" for _ in range(n)) + "]"
            name = f"@table{len(m.tables)}"
            space = r.choice(["constant", "global"])
            m.texts.append(f"{name} = {r.choice(['', 'internal '])}{space} [{n} x {e}] {body}")
            m.tables.append((name, n, e))
        if not m.tables: return
        name, n, e = r.choice(m.tables)
        i = self.quiet(f"urem i64 {self.value('i64')}, {n}")
        if e[0] != "{":
            p = self.quiet(f"getelementptr inbounds [{n} x {e}], ptr {name}, i64 0, i64 {i}")
            self.op(e, f"load {e}, ptr {p}")
            return
        members = split_members(e)
        k = r.randrange(len(members))
        if r.random() < 0.5:
            p = self.quiet(f"getelementptr inbounds [{n} x {e}], ptr {name}, i64 0, i64 {i}, i32 {k}")
            self.op(members[k], f"load {members[k]}, ptr {p}")
        else:
            p = self.quiet(f"getelementptr inbounds {e}, ptr {name}, i64 {i}")
            v = self.quiet(f"load {e}, ptr {p}")
            self.op(members[k], f"extractvalue {e} {v}, {k}")

    def step_aggregates_around(self):
        """Aggregates through phis, selects and arrays in memory."""
        r = self.rng
        if self.depth > 2: return
        members = [self.any_type() for _ in range(r.randrange(1, 4))]
        t = "{" + ", ".join(members) + "}"
        def build():
            v = "undef" if r.random() < 0.1 else "poison"
            for i, m in enumerate(members): v = self.quiet(f"insertvalue {t} {v}, {m} {self.value(m)}, {i}")
            return v
        k = self.new("g")[1:]
        a, b = build(), build()
        v = self.quiet(f"select i1 {self.value('i1')}, {t} {a}, {t} {b}")
        here = self.block
        self.emit(f"br i1 {self.value('i1')}, label %{k}.other, label %{k}.end")
        before = self.snapshot()
        self.label(f"{k}.other")
        other = build()
        self.emit(f"br label %{k}.end")
        last = self.block
        self.pool = before
        self.label(f"{k}.end")
        w = self.quiet(f"phi {t} [ {v}, %{here} ], [ {other}, %{last} ]")
        n = r.choice([2, 3, 5])
        p = self.local(f"alloca [{n} x {t}]", None)
        for j in range(n):
            q = self.quiet(f"getelementptr [{n} x {t}], ptr {p}, i32 0, i32 {j}")
            self.emit(f"store {t} {r.choice([a, v, w])}, ptr {q}")
        x = self.quiet(f"urem i32 {self.value('i32')}, {n}")
        q = self.quiet(f"getelementptr [{n} x {t}], ptr {p}, i32 0, i32 {x}")
        y = self.quiet(f"load {t}, ptr {q}")
        z = self.quiet(f"freeze {t} {y}")
        i = r.randrange(len(members))
        self.op(members[i], f"extractvalue {t} {z}, {i}")

    def step_atomic(self):
        r = self.rng
        t = r.choice(["i8", "i16", "i32", "i64", "i32", "i64", "float", "double"])
        p = self.local(f"alloca [4 x {t}], align 8", None)
        if "space" in self.module.extras and r.random() < 0.7:
            name = f"@cells{len(self.module.texts)}"
            return # shared by threads: not for one at a time
        for j in range(4):
            q = self.quiet(f"getelementptr [4 x {t}], ptr {p}, i32 0, i32 {j}")
            self.emit(f"store {t} {self.value(t)}, ptr {q}")
        q = self.quiet(f"getelementptr [4 x {t}], ptr {p}, i32 0, i32 {r.randrange(4)}")
        if is_float(t): op = r.choice(["fadd", "fsub", "xchg"])
        else: op = r.choice("xchg add sub and nand or xor max min umax umin uinc_wrap udec_wrap cmpxchg".split())
        order = r.choice("monotonic acquire release acq_rel seq_cst".split())
        if op == "cmpxchg":
            v = self.quiet(f"cmpxchg ptr {q}, {t} {self.value(t)}, {t} {self.value(t)} {order} {'acquire' if order in ('acquire', 'acq_rel', 'seq_cst') else 'monotonic'}")
            self.op("i1", f"extractvalue {{{t}, i1}} {v}, 1")
            self.op(t, f"extractvalue {{{t}, i1}} {v}, 0")
        else: self.op(t, f"atomicrmw {op} ptr {q}, {t} {self.value(t)} {order}")
        for j in range(4):
            q = self.quiet(f"getelementptr [4 x {t}], ptr {p}, i32 0, i32 {j}")
            self.op(t, f"load {t}, ptr {q}")

    def local(self, text, size):
        v = self.new("a")
        self.allocas.append((v, text, size))
        return v

    def step_memory(self):
        r = self.rng
        m = self.module
        kind = r.choice(["slot", "bytes", "array", "memcpy", "memset", "memmove", "struct"])
        if kind == "slot":
            t = self.any_type()
            p = self.local(f"alloca {t}", None)
            self.emit(f"store {t} {self.value(t)}, ptr {p}")
            self.op(t, f"load {t}, ptr {p}")
            return
        size = r.choice([16, 24, 32, 40, 64])
        align = r.choice([1, 2, 4, 8, 16])
        p = self.local(f"alloca [{size} x i8], align {align}", size)
        def at(bytes_):
            o = r.randrange(0, size - bytes_ + 1)
            if r.random() < 0.3:
                i = self.quiet(f"urem i64 {self.value('i64')}, {size - bytes_ + 1}")
                return self.quiet(f"getelementptr i8, ptr {p}, i64 {i}"), 1
            a = 1
            while o % (2 * a) == 0 and a < align: a *= 2
            return self.quiet(f"getelementptr inbounds i8, ptr {p}, i64 {o}"), r.choice([1, a])
        if kind == "memset":
            m.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            q, a = at(0)
            self.emit(f"call void @llvm.memset.p0.i64(ptr align {align} {p}, i8 {self.value('i8')}, i64 {size}, i1 false)")
        else:
            m.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
            q = self.quiet(f"getelementptr i8, ptr %in, i64 {r.randrange(0, IN_BYTES - size)}") if self.args is None else None
            if q: self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr align {align} {p}, ptr align 1 {q}, i64 {size}, i1 false)")
            else:
                m.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
                self.emit(f"call void @llvm.memset.p0.i64(ptr align {align} {p}, i8 {self.value('i8')}, i64 {size}, i1 false)")
        for _ in range(r.randrange(1, 4)):
            t = r.choice(MEMORY_TYPES)
            b = (bits_of(t) + 7) // 8
            if b > size: continue
            q, a = at(b)
            v = self.value(t)
            if any(f in t for f in ("half", "float", "double")): v = self.clean(t, v)
            self.emit(f"store {t} {v}, ptr {q}, align {a}")
        if kind == "memmove" and size >= 24:
            m.declare("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
            n = r.randrange(1, size - 8)
            a, b = r.randrange(0, size - n + 1), r.randrange(0, size - n + 1)
            x = self.quiet(f"getelementptr i8, ptr {p}, i64 {a}")
            y = self.quiet(f"getelementptr i8, ptr {p}, i64 {b}")
            length = str(n)
            if r.random() < 0.5: length = self.quiet(f"urem i64 {self.value('i64')}, {n + 1}")
            self.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {x}, ptr {y}, i64 {length}, i1 false)")
        for _ in range(r.randrange(1, 3)):
            t = r.choice([x for x in MEMORY_TYPES if bits_of(x) % 8 == 0 and "f" not in x and "d" not in x])
            b = bits_of(t) // 8
            if b > size: continue
            q, a = at(b)
            if is_int(t) and width(t) & (width(t) - 1): # only whole bytes of memory are its value
                pass
            self.op(t, f"load {t}, ptr {q}, align {a}")

    def step_aggregate(self):
        r = self.rng
        members = [self.any_type() for _ in range(r.randrange(2, 5))]
        t = "{" + ", ".join(members) + "}"
        if r.random() < 0.3: t = "<" + t + ">"
        v = "poison"
        for i, m in enumerate(members):
            v = self.quiet(f"insertvalue {t} {v}, {m} {self.value(m)}, {i}")
        if r.random() < 0.4:
            p = self.local(f"alloca {t}", None)
            self.emit(f"store {t} {v}, ptr {p}")
            i = r.randrange(len(members))
            q = self.quiet(f"getelementptr inbounds {t}, ptr {p}, i32 0, i32 {i}")
            a = ", align 1" if t[0] == "<" else ""
            self.op(members[i], f"load {members[i]}, ptr {q}{a}")
            v = self.quiet(f"load {t}, ptr {p}")
        i = r.randrange(len(members))
        self.op(members[i], f"extractvalue {t} {v}, {i}")

    def snapshot(self): return {t: list(v) for t, v in self.pool.items()}

    def steps(self, n):
        for _ in range(n): self.step()

    def step_branch(self):
        if self.depth > 2: return
        self.depth += 1
        c = self.value("i1")
        k = self.new("b")[1:]
        types = [self.any_type() for _ in range(self.rng.randrange(1, 5))]
        self.emit(f"br i1 {c}, label %{k}.yes, label %{k}.no")
        before = self.snapshot()
        results = []
        for side in ("yes", "no"):
            self.pool = {t: list(v) for t, v in before.items()}
            self.label(f"{k}.{side}")
            self.steps(self.rng.randrange(0, 4))
            values = [self.value(t) for t in types]
            results.append((values, self.block))
            self.emit(f"br label %{k}.end")
        self.pool = before
        self.label(f"{k}.end")
        for i, t in enumerate(types):
            self.op(t, f"phi {t} " + ", ".join(f"[ {v[i]}, %{b} ]" for v, b in results))
        self.depth -= 1

    def step_switch(self):
        if self.depth > 2: return
        self.depth += 1
        r = self.rng
        t = self.int_type()
        k = self.new("s")[1:]
        v = self.value(t)
        w = width(t)
        if r.random() < 0.5 and w > 3: v = self.quiet(f"and {t} {v}, 7")
        cases = sorted({r.choice([r.getrandbits(3) % (1 << w), r.getrandbits(w)]) for _ in range(r.randrange(1, 7))})
        count = r.randrange(1, 4)
        text = " ".join(f"{t} {('true' if c else 'false') if w == 1 else c - (1 << w) if c >> (w - 1) else c}, label %{k}.c{i % count}" for i, c in enumerate(cases))
        types = [self.any_type() for _ in range(r.randrange(1, 3))]
        entry_values = [self.value(x) for x in types]
        self.emit(f"switch {t} {v}, label %{k}.end [ {text} ]")
        incoming = [(entry_values, self.block)]
        before = self.snapshot()
        for i in range(min(count, len(cases))):
            self.pool = {x: list(y) for x, y in before.items()}
            self.label(f"{k}.c{i}")
            self.steps(r.randrange(0, 3))
            values = [self.value(x) for x in types]
            incoming.append((values, self.block))
            self.emit(f"br label %{k}.end")
        self.pool = before
        self.label(f"{k}.end")
        for i, x in enumerate(types):
            self.op(x, f"phi {x} " + ", ".join(f"[ {v[i]}, %{b} ]" for v, b in incoming))
        self.depth -= 1

    def step_loop(self):
        """Values go around, some of them in each other's place."""
        if self.depth > 1: return
        self.depth += 1
        r = self.rng
        k = self.new("l")[1:]
        t = self.any_type()
        types = [t] * r.randrange(2, 4) + [self.any_type() for _ in range(r.randrange(0, 3))]
        starts = [self.value(x) for x in types]
        n = self.quiet(f"and i32 {self.value('i32')}, 7")
        entry = self.block
        self.emit(f"br label %{k}.head")
        before = self.snapshot()
        self.label(f"{k}.head")
        at = len(self.lines)
        phis = [self.new("p") for _ in types]
        i = self.new("i")
        for x, p in zip(types, phis): self.keep(x, p)
        self.steps(r.randrange(1, 4))
        nexts = [r.choice([r.choice([p for x, p in zip(types, phis) if x == y]), self.value(y)]) for y in types]
        if r.random() < 0.6: # rotate those of one type
            same = [p for x, p in zip(types, phis) if x == t]
            rotated = same[1:] + same[:1]
            nexts = rotated + nexts[len(same):] if types[:len(same)] == [t] * len(same) else nexts
        j = self.quiet(f"add i32 {i}, 1")
        c = self.quiet(f"icmp ult i32 {j}, {n}")
        last = self.block
        self.emit(f"br i1 {c}, label %{k}.head, label %{k}.end")
        lines = [f"  {i} = phi i32 [ 0, %{entry} ], [ {j}, %{last} ]"]
        lines += [f"  {p} = phi {x} [ {s}, %{entry} ], [ {e}, %{last} ]" for x, p, s, e in zip(types, phis, starts, nexts)]
        self.lines[at:at] = lines
        self.pool = before
        for x, p in zip(types, phis): self.keep(x, p)
        self.label(f"{k}.end")
        self.depth -= 1

    def step_call(self):
        r = self.rng
        m = self.module
        if not m.helpers or r.random() < 0.4:
            if self.args is not None or len(m.helpers) > 6:
                if not m.helpers: return
            else: m.add_helper(self.kinds)
        h = r.choice(m.helpers)
        if self.args is not None: return # helpers do not call
        args = ", ".join(f"{t} {self.value(t)}" for t in h.args)
        text = f"@{h.name}"
        if r.random() < 0.25: text = self.quiet(f"load ptr, ptr @{h.name}_pointer")
        v = self.quiet(f"call {h.ret} {text}({args})")
        if h.ret[0] == "{":
            members = h.ret[1:-1].split(", ")
            i = r.randrange(len(members))
            self.op(members[i], f"extractvalue {h.ret} {v}, {i}")
        else: self.keep(h.ret, v)

    def step(self):
        kind = self.rng.choice(self.kinds)
        if self.rng.random() < 0.3: kind = self.rng.choice([k for k in self.kinds if k in ("int", "float", "convert", "compare")] or self.kinds)
        getattr(self, "step_" + kind)()

    # --- results ------------------------------------------------------------------------------------
    def store(self, t, v):
        if is_vec(t):
            n, e = vec_parts(t)
            for i in range(n):
                self.store(e, self.quiet(f"extractelement {t} {v}, i32 {i}"))
            return
        if is_float(t):
            v = self.clean(t, v)
            size = FLOAT_BITS[t] // 8
        else:
            w = width(t)
            c = next(x for x in (8, 16, 32, 64, 128) if x >= w)
            if c != w: v = self.quiet(f"{self.rng.choice(['zext', 'sext'])} {t} {v} to i{c}")
            t, size = f"i{c}", c // 8
        self.out_at = (self.out_at + size - 1) // size * size
        if self.out_at + size > OUT_BYTES: return
        p = self.quiet(f"getelementptr i8, ptr %out, i64 {self.out_at}")
        self.emit(f"store {t} {v}, ptr {p}, align {size}")
        self.out_at += size

    def write_outputs(self):
        all_values = [(t, v) for t, vs in self.pool.items() for v in vs[-6:]]
        self.rng.shuffle(all_values)
        for t, v in all_values[:40]: self.store(t, v)

    def text(self, head):
        entry = [f"  {v} = {text}" for v, text, _ in self.allocas]
        return "\n".join([head + " {", "entry:"] + entry + self.lines + ["}"])


class Module:
    def __init__(self, seed, functions, size, kinds, swarm=False):
        self.swarm = Swarm(seed, swarm)
        kinds = self.swarm.of("kinds", kinds, always=["int", "plain"])
        if "plain" in kinds:
            use_plain_types()
            kinds = [k for k in kinds if k != "plain"]
        self.rng = random.Random(seed)
        self.declarations, self.helpers, self.texts, self.tables, self.nodes = [], [], [], [], []
        self.extras = [k for k in kinds if k in ("frem", "space")]
        kinds = [k for k in kinds if k not in self.extras]
        for k in range(functions):
            f = Function(self.rng, self, f"f{k}", kinds)
            f.steps(size)
            f.write_outputs()
            f.emit("ret void")
            self.texts.append(f.text(f"define void @f{k}(ptr %in, ptr %out) noinline"))
        self.count = functions

    def declare(self, line):
        if line not in self.declarations: self.declarations.append(line)

    def add_node(self, text):
        """The number of a metadata node; equal ones are one."""
        if text not in self.nodes: self.nodes.append(text)
        return f"!{NODES + self.nodes.index(text)}"

    def add_loop_node(self, hints):
        hints = ", ".join([self.add_node(h) for h in hints])
        name = f"!{NODES + len(self.nodes)}"
        self.nodes.append(f"distinct !{{{name}, {hints}}}")
        return name

    def add_helper(self, kinds):
        r = self.rng
        kinds = [k for k in kinds if k not in ("call", "loop", "memory", "table", "aggregates_around", "atomic", "idiom")] or ["int"]
        probe = Function(r, self, "", kinds, [])
        args = [probe.any_type() for _ in range(r.randrange(0, 6))]
        ret = probe.any_type() if r.random() < 0.6 else "{" + ", ".join(probe.any_type() for _ in range(2)) + "}"
        h = Function(r, self, f"h{len(self.helpers)}", kinds, args, ret)
        for i, t in enumerate(args): h.keep(t, f"%x{i}")
        h.steps(r.randrange(1, 8))
        if ret[0] == "{":
            v = "poison"
            for i, t in enumerate(ret[1:-1].split(", ")):
                v = h.quiet(f"insertvalue {ret} {v}, {t} {h.value(t)}, {i}")
        else: v = h.value(ret)
        h.emit(f"ret {ret} {v}")
        params = ", ".join(f"{t} %x{i}" for i, t in enumerate(args))
        self.texts.append(h.text(f"define {ret} @{h.name}({params}) noinline"))
        self.texts.append(f"@{h.name}_pointer = global ptr @{h.name}")
        self.helpers.append(h)

    def text(self):
        return "\n".join(self.texts + self.declarations + [f"!{NODES + k} = {text}" for k, text in enumerate(self.nodes)]) + "\n"


KINDS = "int float convert compare vector memory aggregate branch loop switch call intrinsic rounding table aggregates_around atomic frem idiom".split()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("seed", type=int)
    p.add_argument("--functions", type=int, default=20)
    p.add_argument("--size", type=int, default=30)
    p.add_argument("--only", default=",".join(KINDS))
    p.add_argument("--swarm", action="store_true", help="only a random subset of the features")
    a = p.parse_args()
    print(Module(a.seed, a.functions, a.size, a.only.split(","), a.swarm).text(), end="")


if __name__ == "__main__":
    main()
