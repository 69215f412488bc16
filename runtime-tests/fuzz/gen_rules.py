#!/usr/bin/env python3
"""Programs in which the peephole rules must act, one function for each rule, made from the rules themselves.

    gen_rules.py SEED [NAME]     only rules whose names have NAME in them

A function is an instance of a rule's pattern as ../prove/rules.py decodes it from the generated matcher: types,
predicates, flags and constants that the rule admits, chosen by the seed. The kernel calls each function on operands for
which the pattern is defined (../prove/fire.py), and stores the results as 64-bit words. The seed also chooses whether
other instructions use the operands of the pattern, and whether it is matched before its operands are rewritten.
Float operands are small multiples of powers of two, so that reassociation, contraction and reciprocals are exact, and
0.0 is added to a result, whose zero may have any sign under nsz."""
import os
import random
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "runtime-tests", "prove"))
import fire  # noqa: E402
from rules import BINARY, CASTS, FLOAT_BINARY, decode, show  # noqa: E402

FLOAT_NAMES = {16: "half", 32: "float", 64: "double"}
TYPES = [(0, "f", 32), (0, "f", 64), (0, "f", 16), (2, "f", 32), (0, "i", 32), (0, "i", 64), (2, "i", 32), (0, "i", 1)]
OPERANDS = [1.5, -2.0, 0.5, 3.0, -0.25, 4.0, 1.0, -1.0, 8.0, 0.75]
CAST_OPS = CASTS | {"fptrunc", "fpext", "bitcast"}


def name_of(t):
    scalar = FLOAT_NAMES[t[2]] if t[1] == "f" else f"i{t[2]}"
    return f"<{t[0]} x {scalar}>" if t[0] else scalar


def suffix(t):
    return f"{'v%d' % t[0] if t[0] else ''}{t[1]}{t[2]}"


def float_word(width, number):
    if width == 16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def root_first(text):
    """The same function with its last instruction in a block that precedes the operands' block in the text. combine
    visits blocks in that order: the pattern is matched before rules have rewritten its operands."""
    head, *lines, result, end = text.splitlines(True)
    slots = [line for line in lines if " = alloca " in line]
    *operands, root = [line for line in lines if line not in slots]
    return "".join([head, "entry:\n", *slots, "  br label %operands\nroot:\n", root, result, "operands:\n", *operands, "  br label %root\n", end])


def second_use(case, reg, term):
    """Another instruction that uses the value of a register."""
    t = name_of(case.types[reg])
    case.lines += [f"%s{len(case.lines)} = alloca {t}", f"store volatile {t} {term}, ptr %s{len(case.lines)}"]


def is_shared(rule, r):
    """Whether operands of the pattern get a second use: always in rules named -shared."""
    return "-shared" in rule.name or r.random() < 0.5


class FloatInstance:
    """A rule of floats, freeze or bitcast, with types, predicates and constants chosen."""

    def __init__(self, rule, types, predicates, chosen, r):
        self.rule, self.types, self.predicates, self.chosen, self.r = rule, types, predicates, chosen, r
        self.same = {max(c[1:3]): min(c[1:3]) for c in rule.of("SAME")}
        self.fixed = {c[1]: struct.unpack("<d", struct.pack("<Q", rule.tables.floats[c[2]]))[0] for c in rule.of("FLOAT_IS")}
        self.variables = sorted({self.first(n.reg) for n in rule.nodes if n.kind == "value"})
        self.declared = set()

    def first(self, reg):
        return self.first(self.same[reg]) if reg in self.same else reg

    def constant(self, t, number):
        scalar = name_of((0, *t[1:]))
        word = float_word(t[2], number) if t[1] == "f" else "true" if t[2] == 1 else str(int(number))
        return "<" + ", ".join(f"{scalar} {word}" for _ in range(t[0])) + ">" if t[0] else word

    def flags_of(self, n):
        names = self.rule.tables.flag_names
        return sorted(set(names(n.flags)).union(*(names(f[0]) for f, has in self.chosen.items() if has and f[1] >> n.reg & 1)))

    def emit(self, n):
        t = self.types[n.reg]
        if n.kind == "float":
            return self.constant(t, self.fixed.get(n.reg, self.free))
        if n.kind == "int":
            return self.constant(t, n.literal if isinstance(n.literal, int) else 1)
        if n.kind == "value":
            return f"%a{self.first(n.reg)}"
        if n.reg in self.made:
            return self.made[n.reg]
        words = [self.emit(a) for a in n.args]
        kinds = [name_of(self.types[a.reg]) for a in n.args]
        flags = "".join(f" {f}" for f in self.flags_of(n))
        typed = [f"{k} {w}" for k, w in zip(kinds, words)]
        if n.name in ("icmp", "fcmp"):
            text = f"{n.name}{flags} {self.predicates.get(n.reg, 'eq')} {typed[0]}, {words[1]}"
        elif n.name in CAST_OPS:
            text = f"{n.name}{flags} {typed[0]} to {name_of(t)}"
        elif n.name in BINARY | FLOAT_BINARY:
            text = f"{n.name}{flags} {typed[0]}, {words[1]}"
        elif n.name in ("fneg", "freeze", "select"):
            text = f"{n.name}{flags} {', '.join(typed)}"
        else:
            callee = f"@llvm.{n.name.removeprefix('f') if n.name == 'ftrunc' else n.name}.{suffix(self.types[n.args[0].reg])}"
            self.declared.add(f"declare {name_of(t)} {callee}({', '.join(kinds)})\n")
            text = f"call{flags} {name_of(t)} {callee}({', '.join(typed)})"
        self.made[n.reg] = f"%t{len(self.lines)}"
        self.lines.append(f"{self.made[n.reg]} = {text}")
        if self.is_shared and n is not self.rule.pattern and not n.once:
            second_use(self, n.reg, self.made[n.reg])
        return self.made[n.reg]

    def function(self, name):
        self.lines, self.made, self.free, self.is_shared = [], {}, self.r.choice([2.0, 4.0, 0.5]), is_shared(self.rule, self.r)
        root, result = self.emit(self.rule.pattern), name_of(self.types[0])
        parameters = ", ".join(f"{name_of(self.types[r])} noundef %a{r}" for r in self.variables)
        body = "\n  ".join(self.lines)
        text = f"define {result} @{name}({parameters}) noinline {{\n  {body}\n  ret {result} {root}\n}}\n"
        return root_first(text) if self.r.random() < 0.5 else text

    def calls(self, name, slot):
        t, text = self.types[0], ""
        for k in range(fire.ROWS):
            arguments = ", ".join(f"{name_of(self.types[r])} {self.constant(self.types[r], self.r.choice(OPERANDS))}" for r in self.variables)
            text += f"  %{name}.{k} = call {name_of(t)} @{name}({arguments})\n"
            for lane in range(max(t[0], 1)):
                v = f"%{name}.{k}"
                if t[0]:
                    text += f"  {v}.{lane} = extractelement {name_of(t)} {v}, i32 {lane}\n"
                    v += f".{lane}"
                if t[1] == "f":
                    scalar = FLOAT_NAMES[t[2]]
                    text += f"  {v}.z = fadd {scalar} {v}, {self.constant((0, *t[1:]), 0.0)}\n  {v}.b = bitcast {scalar} {v}.z to i{t[2]}\n"
                word = f"{v}.b" if t[1] == "f" else v
                text += f"  {v}.w = zext i{t[2]} {word} to i64\n" if t[2] < 64 else f"  {v}.w = or i64 {word}, 0\n"
                text += f"  {v}.p = getelementptr i64, ptr %out, i64 {slot + 2 * k + lane}\n  store i64 {v}.w, ptr {v}.p\n"
        return text


class IntegerInstance(fire.Instance):
    """As ../prove/fire.py makes them, but with constants that the seed chooses. Operands have a second use in every
    other instance where the rule allows it."""

    def __init__(self, rule, types, preds, flags, r):
        self.r = r
        super().__init__(rule, types, preds, flags, True)

    def find_constants(self):
        def shuffled(width):
            numbers = fire.candidates(width) + [self.r.getrandbits(width) for _ in range(4)] + [1 << self.r.randrange(width)]
            numbers += [(1 << self.r.randrange(width)) - 1, (1 << width) - (1 << self.r.randrange(width)), self.r.randrange(1, 12) % (1 << width)]
            return self.r.sample(numbers, min(len(numbers), 14))
        return fire.constants_of(self.rule, self.types, self.r.randrange(20), shuffled)

    def function(self, name):
        self.is_shared = is_shared(self.rule, self.r)
        text = super().function(name)
        return root_first(text) if self.r.random() < 0.5 else text

    def known(self, reg):
        term = super().known(reg)
        if self.is_shared and self.facts(reg):
            second_use(self, reg, term)
        return term

    def emit(self, n):
        term = super().emit(n)
        if self.is_shared and n.kind == "op" and n is not self.rule.pattern and not n.once:
            second_use(self, n.reg, term)
        return term

    def add(self, text):
        self.made = getattr(self, "made", 0) + 1
        self.lines.append(f"%t{self.made} = {text}")
        return f"%t{self.made}"


def float_instance(rule, r):
    found = [t for t in rule.assignments(TYPES) if all(x[1] == "i" or x[2] in FLOAT_NAMES for x in t.values())]
    if not found:
        return None
    preds = r.choice([{**a, **b} for a in rule.predicate_choices() for b in rule.float_predicate_choices()])
    case = FloatInstance(rule, r.choice(found), preds, r.choice(rule.flag_choices()), r)
    case.rows = [None] * fire.ROWS
    return case


def integer_instance(rule, r):
    """One of the instances that must act; the first few of a random order of types."""
    choices = [(p, f) for p in rule.predicate_choices() for f in rule.flag_choices()]
    admitted = rule.assignments(fire.TYPES)
    for types in r.sample(admitted, min(len(admitted), 12)):
        case = IntegerInstance(rule, types, *r.choice(choices), r)
        if case.rows:
            return case
    return None


def cases_of(seed, part=""):
    """An instance of each rule for which one is found."""
    for rule in decode():
        r = random.Random(f"rules {seed} {rule.name}")
        if part in rule.name:
            case = float_instance(rule, r) if rule.is_float() else integer_instance(rule, r)
            if case:
                yield case


def generate(seed, part="", per_kernel=20):
    """The text of a module."""
    cases = list(cases_of(seed, part))
    texts, kernels, slot = [], [], 0
    for k, case in enumerate(cases):
        texts.append(case.function(f"r{k}"))
        if k % per_kernel == 0:
            kernels.append(f"define ptx_kernel void @k{k // per_kernel}(ptr %out) {{\n")
        kernels[-1] += case.calls(f"r{k}", slot)
        slot += 2 * len(case.rows)
    declared = "".join(sorted(set().union(*(c.declared for c in cases))))
    head = f"; nvmini-run: --kernel * --arg buf:u64:{slot}:zero --print 0\n; rules: {' '.join(c.rule.name for c in cases)}\n"
    return head + fire.HEAD + "".join(texts) + declared + "".join(k + "  ret void\n}\n" for k in kernels)


if __name__ == "__main__":
    print(generate(int(sys.argv[1]), *sys.argv[2:3]), end="")
