"""For gen_kernels.py: floats that are extended, computed with and rounded again, and comparisons of
extended floats with constants near a narrow number.

Modules with `fusible` false have no product that a sum may be fused with: their products are of
extended floats, and are rounded before the sum. Their results are the same with and without fused
multiply-adds, and diff.py lets the compiler fuse. Other modules flag some operations `contract` and
are compiled with --fma-level 0."""
import math
import struct

# digits, exponents of normal numbers
FORMATS = {"half": (11, -14, 15), "bfloat": (8, -126, 127), "float": (24, -126, 127)}
PAIRS = ([("float", "double")] * 4 + [("half", "float")] * 2 +
         [("bfloat", "float"), ("half", "double"), ("bfloat", "double")])
SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def rounded(x, t):
    """A number of the format t near x, toward zero; within its range."""
    if t == "double" or x == 0 or math.isinf(x) or math.isnan(x):
        return x
    digits, least, most = FORMATS[t]
    unit = 2.0 ** (max(math.frexp(x)[1] - 1, least) - digits + 1)
    largest = 2.0 ** most * (2 - 2.0 ** (1 - digits))
    return max(-largest, min(largest, math.trunc(x / unit) * unit))


def literal(x, t):
    """The text of a number that t holds: floats of all formats but two are written as doubles."""
    if t in ("half", "bfloat"):
        if t == "half":
            return f"0xH{struct.unpack('<H', struct.pack('<e', x))[0]:04X}"
        return f"0xR{struct.unpack('<I', struct.pack('<f', x))[0] >> 16:04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class Precision:
    """A mixin of Function."""

    WIDE_OPS = ("product", "product", "sum", "sum", "quotient", "unary", "extremum", "choice")

    def narrowed(self):
        kinds = ["rounded_result", "rounded_result", "extended_compare", "extended_integer"]
        kind = self.r.choice(self.m.swarm.of("precision", kinds))
        getattr(self, kind)(*self.r.choice(self.m.swarm.of("format pairs", PAIRS)))

    def contract_flag(self):
        return self.r.choice(["", " contract"]) if self.m.fusible else ""

    # ---- operands
    def near_number(self, t):
        """A narrow number: known, or an integer and a fraction, so that comparisons with such are
        decided by the last digit."""
        r = self.r
        if r.random() < 0.5:
            return self.value(t, 0)
        small = self.quietly(f"and i32 {self.value('i32', 0)}, {r.choice([3, 15, 127])}")
        v = self.quietly(f"{r.choice(['sitofp', 'uitofp'])} i32 {small} to {t}")
        op, by = r.choice(["fadd", "fsub"]), rounded(r.choice([0, 0.25, 1, -3.5, 0.1, 0.7]), t)
        return self.quietly(f"{op} {t} {v}, {literal(by, t)}")

    def constant_near(self, narrow, wide):
        """A wide constant: a narrow number, or between two of them, or out of their range."""
        r = self.r
        x = rounded(r.choice([float(r.randint(-8, 16)), r.randint(-40, 40) / 4, 0.1, 0.7, -3.4,
                              r.uniform(-2, 2), 2.0 ** r.randint(-30, 15)]), narrow)
        digits = FORMATS[narrow][0]
        unit = 2.0 ** (math.frexp(x)[1] - digits) if x else 2.0 ** FORMATS[narrow][1]
        kind = r.random()
        if kind < 0.6:
            x += r.choice([0, 0, 0.5, -0.5, 0.25, 2.0 ** -9, -2.0 ** -9, 2.0 ** -12]) * unit
        elif kind < 0.7:
            x = r.choice([1e30, -1e30, 1e-30, 65504.0, 65520.0, 65536.0, 3.0e38, 2.0 ** -24,
                          2.0 ** -149, 0.0, -0.0, math.inf, -math.inf, math.nan])
        elif kind < 0.75 and wide == "double":
            x = r.choice([1e300, -1e300, 1e-300, 2.0 ** 128, 2.0 ** 128 - 2.0 ** 102,
                          -2.0 ** 127.99])
        return literal(rounded(x, wide), wide)

    def extended(self, narrow, wide):
        return self.quietly(f"fpext {narrow} {self.near_number(narrow)} to {wide}")

    # ---- rounded results
    def wide_value(self, narrow, wide, depth):
        """(name, whether a product may be fused with a sum of it)."""
        r = self.r
        if depth == 0:
            leaf = self.constant_near if r.random() < 0.2 else self.extended
            return leaf(narrow, wide), False
        op = r.choice(self.m.swarm.of("wide ops", list(self.WIDE_OPS)))
        a, fused = self.wide_value(narrow, wide, depth - 1 if r.random() < 0.7 else 0)
        if op == "unary":
            return self.wide_unary(wide, a), fused
        b, other = self.wide_value(narrow, wide, depth - 1 if r.random() < 0.4 else 0)
        if op == "extremum":
            name = r.choice(["minnum", "maxnum"])
            name = f"{wide} @llvm.{name}.{SUFFIX[wide]}"
            self.m.declare(f"declare {name}({wide}, {wide})")
            return self.quietly(f"call {name}({wide} {a}, {wide} {b})"), fused or other
        if op == "choice":
            v = self.quietly(f"select i1 {self.condition()}, {wide} {a}, {wide} {b}")
            return v, fused or other
        if op == "quotient" and self.m.fusible:
            return self.quietly(f"fdiv{self.contract_flag()} {wide} {a}, {b}"), True
        if op == "sum":
            if not self.m.fusible:
                a = self.rounded_again(narrow, wide, a, fused)
                b = self.rounded_again(narrow, wide, b, other)
            op = r.choice(["fadd", "fsub"])
            return self.quietly(f"{op}{self.contract_flag()} {wide} {a}, {b}"), False
        return self.quietly(f"fmul{self.contract_flag()} {wide} {a}, {b}"), True

    def rounded_again(self, narrow, wide, v, fused):
        """v, rounded to the narrow format and extended if it has a product."""
        if not fused:
            return v
        v = self.quietly(f"fptrunc {wide} {v} to {narrow}")
        return self.quietly(f"fpext {narrow} {v} to {wide}")

    def wide_unary(self, t, a):
        name = self.r.choice(["fneg", "fabs", "fabs", "sqrt", "floor", "ceil", "trunc", "rint"])
        if name == "fneg":
            return self.quietly(f"fneg {t} {a}")
        self.m.declare(f"declare {t} @llvm.{name}.{SUFFIX[t]}({t})")
        return self.quietly(f"call {t} @llvm.{name}.{SUFFIX[t]}({t} {a})")

    def rounded_result(self, narrow, wide):
        """`fptrunc` of some wide operations, then sums of the narrow format."""
        r = self.r
        v, _ = self.wide_value(narrow, wide, r.choice([1, 1, 1, 2, 3]))
        v = self.set(narrow, f"fptrunc {wide} {v} to {narrow}")
        for _ in range(r.choice([0, 1, 1, 2])):
            a, b = r.choice([(v, self.near_number(narrow)), (self.near_number(narrow), v)])
            op = r.choice(["fadd", "fsub"])
            v = self.set(narrow, f"{op}{self.contract_flag()} {narrow} {a}, {b}")

    # ---- other uses of extended values
    def extended_compare(self, narrow, wide):
        r = self.r
        a = self.extended(narrow, wide)
        if r.random() < 0.7:
            b = self.constant_near(narrow, wide)
        else:
            b = self.extended(*r.choice([(narrow, wide), ("half", wide)]))
        if r.random() < 0.2:
            a = self.wide_unary(wide, a)
        a, b = r.choice([(a, b), (b, a)])
        predicate = r.choice("oeq one olt ole ogt oge ord uno ueq une ult ule ugt uge".split())
        return self.set("i1", f"fcmp {predicate} {wide} {a}, {b}")

    def extended_integer(self, narrow, wide):
        r = self.r
        t, kind = r.choice(["i8", "i16", "i32", "i64"]), r.choice(["fptosi", "fptoui"])
        v = self.extended(narrow, wide)
        if r.random() < 0.5:
            v = self.wide_unary(wide, v)
        self.m.declare(f"declare {t} @llvm.{kind}.sat.{t}.{SUFFIX[wide]}({wide})")
        return self.set(t, f"call {t} @llvm.{kind}.sat.{t}.{SUFFIX[wide]}({wide} {v})")
