"""What rules of floats compute, for prove.py: Z3's theory of floats at small formats, of 8, 9 and 11 bits, which stand
for half, float and double.

A value is (number, sign of a NaN, whether that sign may be any): fneg, fabs and copysign say the sign of a NaN,
other ops do not. Flags: nnan and ninf make poison, nsz at the root lets the sign of a zero go. The language reference
alone answers for rules that need reassoc, arcp, contract or afn, for fma, which is too hard for Z3, and for functions
that are not arithmetic (floor, cos, pow, ...)."""
import itertools
import struct

from rules import FLOAT_PREDICATES, Wrong

FORMATS = {16: (4, 4), 32: (4, 5), 64: (5, 6)}  # bits of exponent and significand
ARITHMETIC = {"fadd": "fp.add RNE", "fsub": "fp.sub RNE", "fmul": "fp.mul RNE", "fdiv": "fp.div RNE",
              "sqrt": "fp.sqrt RNE", "minnum": "fp.min", "maxnum": "fp.max", "minimum": "fp.min", "maximum": "fp.max"}
SIGNS = {"fneg", "fabs", "copysign"}
KNOWN = set(ARITHMETIC) | SIGNS | {"fcmp", "fptrunc", "fpext", "xor"}
LICENCES = "arcp", "contract", "afn", "reassoc"


def is_proven(rule):
    """Whether its meaning is here."""
    ops = [n for n in rule.all if n.kind == "op"]
    return any(n.name in KNOWN - {"xor"} for n in ops) and all(n.name in KNOWN for n in ops) and \
        not any(n.type is None and n.flags & rule.tables.flags[f] for n in ops for f in LICENCES)


def test(predicate, a, b):
    """Of fcmp: bit 0 equal, 1 greater, 2 less, 3 unordered."""
    mask = FLOAT_PREDICATES.index(predicate)
    parts = [f"(fp.eq {a} {b})", f"(fp.gt {a} {b})", f"(fp.lt {a} {b})", f"(or (fp.isNaN {a}) (fp.isNaN {b}))"]
    return f"(or false {' '.join(p for k, p in enumerate(parts) if mask >> k & 1)})"


class FloatEncoder:
    def __init__(self, rule, types, preds, flags):
        self.rule, self.types, self.preds, self.flags = rule, types, preds, flags
        self.values, self.lines, self.poison, self.count = {}, [], [], 0
        self.same = {max(c[1:3]): min(c[1:3]) for c in rule.of("SAME")}

    def first(self, reg):
        return self.first(self.same[reg]) if reg in self.same else reg

    def type(self, n):
        return self.types[n.reg] if n.kind == "ref" or n.type is None else self.rule.type_of(n.type, self.types)

    def format(self, n):
        return "{} {}".format(*FORMATS[self.type(n)[2]])

    def declare(self, name, sort):
        self.lines.append(f"(declare-const {name} {sort})")
        return name

    def constant(self, n, index):
        number = struct.unpack("<d", struct.pack("<Q", self.rule.tables.floats[index]))[0]
        if number != number or number in (float("inf"), float("-inf")):
            raise Wrong("a constant that is no number")
        if number == 0:
            return f"(_ {'-' if struct.pack('<d', number)[7] else '+'}zero {self.format(n)})"
        top, bottom = abs(number).as_integer_ratio()
        value = f"((_ to_fp {self.format(n)}) RNE (/ {top}.0 {bottom}.0))"
        return f"(fp.neg {value})" if number < 0 else value

    def has(self, n, flag):
        """The pattern's ops have the flags that the program demands of them, and those of `flags`; so does what is made."""
        if n.type is None:
            return bool(n.flags & self.rule.tables.flags[flag]) or flag in self.flags
        own = [f for f in n.flags if f[0] & self.rule.tables.flags[flag]]
        return any(all(self.has(self.rule.nodes[r], flag) for r in range(16) if f[1] >> r & 1) for f in own)

    def encode(self, n):
        """(number, sign of NaN, whether the sign is any) or, of an i1, (term, None, None)."""
        if n.kind == "ref":
            n = self.rule.nodes[n.reg]
        if n.type is None and self.first(n.reg) in self.values:
            return self.values[self.first(n.reg)]
        if n.kind == "op":
            found = self.op(n, [self.encode(a) for a in n.args])
        elif n.kind == "value":
            reg = self.first(n.reg)
            found = self.declare(f"v_{reg}", f"(_ FloatingPoint {self.format(n)})"), self.declare(f"s_{reg}", "Bool"), False
        elif n.kind == "float":
            index = n.number if n.type is not None else next(c[2] for c in self.rule.of("FLOAT_IS") if c[1] == n.reg)
            found = self.constant(n, index), "false", False
        else:
            number = n.literal if n.kind == "int" else n.number[1]
            found = "true" if number else "false", None, None
        if n.type is None:
            self.values[self.first(n.reg)] = found
        return found

    def op(self, n, args):
        a, sign, free = args[0]
        if n.name == "fcmp":
            p = self.preds[n.reg] if n.predicate is None else self.rule.float_predicate(*n.predicate, self.preds)
            self.check(n, [x[0] for x in args])
            return test(p, a, args[1][0]), None, None
        if n.name == "xor":
            return f"(xor {a} {args[1][0]})", None, None
        if n.name == "fneg":
            found = f"(fp.neg {a})", f"(not {sign})", free
        elif n.name == "fabs":
            found = f"(fp.abs {a})", "false", False
        elif n.name == "copysign":
            b, other, any_sign = args[1]
            if any_sign:
                other = self.fresh()
            negative = f"(ite (fp.isNaN {b}) {other} (fp.isNegative {b}))"
            found = f"(ite {negative} (fp.neg (fp.abs {a})) (fp.abs {a}))", negative, False
        else:
            found = self.arithmetic(n, [x[0] for x in args]), self.fresh(), True
        self.check(n, [x[0] for x in args] + [found[0]])
        return found

    def fresh(self):
        self.count += 1
        return self.declare(f"any_{len(self.lines)}_{self.count}", "Bool")

    def arithmetic(self, n, a):
        if n.name in ("fptrunc", "fpext"):
            return f"((_ to_fp {self.format(n)}) RNE {a[0]})"
        return f"({ARITHMETIC[n.name]} {' '.join(a)})"

    def check(self, n, terms):
        for flag, test_of in (("nnan", "fp.isNaN"), ("ninf", "fp.isInfinite")):
            if self.has(n, flag):
                self.poison += [f"({test_of} {t})" for t in terms]


def questions(rule):
    """[(context, assertion, types, predicates, flags)]: unsat means proven."""
    found = []
    casts = any(n.name in ("fptrunc", "fpext") for n in rule.all)
    all_types = rule.assignments([(0, "f", w) for w in list(FORMATS)[:3 if casts else 2]] + [(0, "i", 1)])
    for types, preds, flags in itertools.product(all_types, rule.float_predicate_choices(), ((), ("nnan",), ("ninf",), ("nsz",))):
        e = FloatEncoder(rule, types, preds, flags)
        source, sign, free = e.encode(rule.pattern)
        defined, e.poison = e.poison, []
        target, other, _ = e.encode(rule.result)
        same = f"(= {source} {target})"
        if sign is not None:
            same = f"(and {same} (=> (fp.isNaN {source}) {'true' if free else f'(= {sign} {other})'}))"
            if e.has(rule.pattern, "nsz"):
                same = f"(or {same} (and (fp.isZero {source}) (fp.isZero {target})))"
        context = "\n".join(e.lines + [f"(assert (not {p}))" for p in defined])
        found.append((context, f"(assert (or {' '.join(e.poison)} (not {same})))", types, preds, flags))
    return found
