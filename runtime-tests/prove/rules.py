"""The peephole rules as the compiler runs them: a decoder of the words that gen_combine wrote into combine.inc
(opt/scalar/combine_program.h says what they mean), as dump_rules.c prints them. Nothing here reads combine.rules but
the lines' numbers, for messages: what is proven and tested is what the matcher does.

Rule: one program with one pattern that leads to it. Commutative operands that were exchanged make no other rule.
Its types are enumerated, not inferred: every assignment of types to the registers that well-typed instructions,
the classes of the operands and the program's own checks admit."""
import json
import os
import re
import shlex
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "opt", "scalar", "combine.rules")
GENERATED = os.path.join(ROOT, "build", "gen")

PREDICATES = "eq ne ugt uge ult ule sgt sge slt sle".split()
FLOAT_PREDICATES = "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true".split()
INVERSE = dict(zip(PREDICATES, "ne eq ule ult uge ugt sle slt sge sgt".split()))
SWAPPED = dict(zip(PREDICATES, "eq ne ult ule ugt uge slt sle sgt sge".split()))

BINARY = set("add sub mul udiv sdiv urem srem shl lshr ashr and or xor".split())
CASTS = {"zext", "sext", "trunc"}
COMMUTES = set("add mul and or xor fadd fmul smin smax umin umax uadd_sat sadd_sat minnum maxnum minimum maximum "
               "fma fmuladd".split())  # of fma the first two operands
INTRINSICS = {"smin": 2, "smax": 2, "umin": 2, "umax": 2, "ctpop": 1, "bswap": 1, "bitreverse": 1,
              "fshl": 3, "fshr": 3, "uadd_sat": 2, "usub_sat": 2, "sadd_sat": 2, "ssub_sat": 2,
              "abs": 2, "ctlz": 2, "cttz": 2}
WITH_BOOL = {"abs", "ctlz", "cttz"}  # whose second operand is an i1
FLOAT_INTRINSICS = {"fma": 3, "fmuladd": 3, "copysign": 2, "minnum": 2, "maxnum": 2, "minimum": 2, "maximum": 2,
                    "pow": 2}  # others: 1
FLOAT_BINARY = set("fadd fsub fmul fdiv frem".split())


class Wrong(Exception):
    """What is wrong with a rule, whatever the numbers."""


# --- types: (lanes, 0: a scalar; kind, i f p; bits of the scalar) ---------------------------------------

BOOL = (0, "i", 1)


def well_typed(name, result, args):
    """Whether the language reference allows the op these types."""
    first = args[0]
    if name in BINARY or name in INTRINSICS and name not in WITH_BOOL:
        return first[1] == "i" and all(t == result for t in args) and (name != "bswap" or first[2] % 16 == 0)
    if name in WITH_BOOL:
        return first[1] == "i" and first == result and args[1] == BOOL
    if name in ("icmp", "fcmp"):
        return first[1] in ("ip" if name == "icmp" else "f") and first == args[1] and result == (first[0], "i", 1)
    if name == "select":
        return args[1] == args[2] == result and first in (BOOL, (result[0], "i", 1))
    if name in CASTS:
        narrow, wide = (result, first) if name == "trunc" else (first, result)
        return narrow[:2] == wide[:2] and narrow[1] == "i" and narrow[2] < wide[2]
    if name in ("fptrunc", "fpext"):
        narrow, wide = (result, first) if name == "fptrunc" else (first, result)
        return narrow[:2] == wide[:2] and narrow[1] == "f" and narrow[2] < wide[2]
    if name == "freeze":
        return first == result
    if name == "bitcast":
        if "p" in (first[1], result[1]):
            return first == result
        return max(first[0], 1) * first[2] == max(result[0], 1) * result[2]
    return first[1] == "f" and all(t == result for t in args)


# --- nodes ------------------------------------------------------------------------------------------------

class Node:
    """Of a pattern: `reg` is its register; kind `op`, `int` (a constant of at most 64 bits), `float` or `value`.
    Of a result: `op` with a `type`, `ref` to a register, `number` (an expression, see Program) or `float`."""

    def __init__(self, kind, name="", args=(), reg=None):
        self.kind, self.name, self.args, self.reg = kind, name, list(args), reg
        self.flags, self.once, self.type, self.predicate, self.number = 0, False, None, None, None
        self.literal = None  # of an int: the number or name that the program demands

    def walk(self):
        yield self
        for a in self.args:
            yield from a.walk()


class Tables:
    def __init__(self, generated=GENERATED):
        path = os.path.join(generated, "combine.inc")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.__dict__.update(json.loads(dump(generated)))
        listed = re.search(r"rule_intrinsics\[\] = \{(.*?)\}", text, re.S)[1].replace("\n", " ").split(",")
        self.intrinsics = [i.strip().removeprefix("INTRINSIC_") for i in listed]
        self.intrinsics = ["ftrunc" if i == "trunc" else i for i in self.intrinsics]
        words = text[text.index("rule_words[] = {") + 16:].split(",")
        assert len(words) == len(self.words)
        found = ((k, re.search(r"/\* (\S+) \*/", w)) for k, w in enumerate(words))
        self.names = {k: m[1] for k, m in found if m}

    def shape(self, cls):
        """Name and arity of a class that is an instruction's; None of others."""
        if cls < len(self.ops):
            return self.ops[cls]
        if cls <= self.CLASS_CALL:
            return None
        name = self.intrinsics[cls - self.CLASS_CALL]
        return name, INTRINSICS.get(name) or FLOAT_INTRINSICS.get(name, 1)

    def function(self, what):
        """What RULE_UNARY and RULE_BINARY compute."""
        if what >= self.COMPARE:
            return PREDICATES[what - self.COMPARE]
        return self.functions[what - self.FUNCTION_FIRST - 1] if what > self.FUNCTION_FIRST else self.ops[what][0]

    def flag_names(self, bits):
        return [f for f, b in self.flags.items() if bits & b]


def dump(generated):
    """What dump_rules.c prints."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "dump")
        source = os.path.join(ROOT, "runtime-tests", "prove", "dump_rules.c")
        subprocess.run([*compiler, "-std=c11", f"-I{generated}", f"-I{ROOT}", f"-I{GENERATED}", source, "-o", program],
                       check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


# --- programs ----------------------------------------------------------------------------------------------

class Program:
    """The words of a program, executed on symbols. Numbers are ("number", register), ("literal", n, type),
    (function, operand type, result type, number...); types are as in the words."""

    def __init__(self, tables, begin):
        self.tables, self.begin, self.registers = tables, begin, tables.words[begin]
        self.name = tables.names[begin]
        self.checks, self.numbers, self.made, self.flags = [], [], [], []
        at, kind = begin + 1, None
        while kind != "DONE":
            kind, count = tables.kinds[tables.words[at]]
            self.step(kind, tables.words[at + 1:at + 1 + count])
            at += 1 + count
        if len(self.made) != 1 or self.numbers:
            raise Wrong("the program leaves its stacks uneven")
        self.result = self.made[0]

    def pop(self, stack, count):
        if len(stack) < count:
            raise Wrong("the program takes from an empty stack")
        taken = stack[len(stack) - count:]
        del stack[len(stack) - count:]
        return taken

    def step(self, kind, a):
        def signed(n):
            return n - 65536 if n >= 32768 else n
        if kind == "NUMBER":
            self.numbers.append(("number", a[0]))
        elif kind == "LITERAL":
            self.numbers.append(("literal", signed(a[0]), a[1]))
        elif kind in ("UNARY", "BINARY"):
            operands = self.pop(self.numbers, 1 + (kind == "BINARY"))
            self.numbers.append((self.tables.function(a[0]), a[1], a[2], *operands))
        elif kind == "ZERO":
            self.checks.append((kind, a[0], self.pop(self.numbers, 1)[0]))
        elif kind == "REQUIRE":
            self.checks.append((kind, self.pop(self.numbers, 1)[0]))
        elif kind == "NUMBER_IS":
            self.checks.append((kind, a[0], signed(a[1])))
        elif kind == "FLAGS":
            self.flags.append(tuple(a))
        elif kind in ("VALUE", "MAKE_INT", "MAKE_FLOAT", "OP", "CALL"):
            self.made.append(self.make(kind, a))
        elif kind != "DONE":
            self.checks.append((kind, *a))

    def make(self, kind, a):
        if kind == "VALUE":
            return Node("ref", reg=a[0])
        if kind in ("MAKE_INT", "MAKE_FLOAT"):
            n = Node("number" if kind == "MAKE_INT" else "float")
            n.type, n.number = a[0], self.pop(self.numbers, 1)[0] if kind == "MAKE_INT" else a[1]
            return n
        name = self.tables.ops[a[0]][0] if kind == "OP" else self.tables.intrinsics[a[0]]
        n = Node("op", name, self.pop(self.made, a[-1]))
        n.type, n.flags, self.flags = a[1], self.flags, []
        n.predicate = tuple(a[2:4]) if kind == "OP" else None
        return n


# --- rules --------------------------------------------------------------------------------------------------

class Rule:
    def __init__(self, tables, program, nodes, roots, flags, same):
        self.tables, self.program, self.nodes, self.name = tables, program, nodes, program.name
        self.pattern, self.result, self.checks = nodes[0], program.result, list(program.checks)
        self.roots, self.line = roots, 0
        self.pattern.flags |= flags
        if same:
            self.checks.append(("SAME", *same))
        for c in self.checks:
            self.note(c)
        self.commute(self.pattern)
        self.all = list(self.pattern.walk()) + list(self.result.walk())

    def note(self, c):
        """What a check says of a node of the pattern."""
        if c[0] == "HAS_FLAGS":
            self.nodes[c[1]].flags |= c[2]
        elif c[0] == "ONE_USE":
            self.nodes[c[1]].once = True
        elif c[0] == "NUMBER_IS":
            self.nodes[c[1]].literal = c[2]
        elif c[0] == "REQUIRE" and c[1][0] == "eq" and c[1][3][0] == "number" and c[1][4][0] in ("MIN", "MAX", "WIDTH"):
            self.nodes[c[1][3][1]].literal = c[1][4][0]

    def commute(self, n):
        """Operands of commutative ops in the order of their registers."""
        equality = n.name == "icmp" and not self.predicates_of(n.reg) - {"eq", "ne"}
        if n.kind == "op" and (n.name in COMMUTES or equality):
            n.args[:2] = sorted(n.args[:2], key=lambda a: a.reg)
        for a in n.args:
            self.commute(a)

    def key(self):
        def shape(n):
            return (n.kind, n.name, n.reg, n.flags, tuple(shape(a) for a in n.args))
        return self.program.begin, self.roots, shape(self.pattern), tuple(map(str, self.checks))

    def is_float(self):
        """Whether its meaning is the language reference's: floats, freeze, bitcast."""
        return any(n.kind == "float" or n.kind == "op" and
                   n.name not in BINARY | CASTS | set(INTRINSICS) | {"icmp", "select"} for n in self.all)

    def of(self, kind):
        return [c for c in self.checks if c[0] == kind]

    # predicates

    def predicates_of(self, reg):
        """Those that the comparison of a register may have, by itself."""
        names = PREDICATES if self.nodes[reg].name == "icmp" else FLOAT_PREDICATES
        mask = self.roots if reg == 0 else 0xffff
        for c in self.of("PREDICATE_IN"):
            mask &= c[2] if c[1] == reg else 0xffff
        return {p for k, p in enumerate(names) if mask >> k & 1}

    def predicate(self, how, of, chosen, names=PREDICATES):
        if how == 0:
            return names[of]
        p = chosen[of]
        if how == 2:
            return INVERSE[p]
        if how == 3:
            return SWAPPED[p]
        if how == 4:
            return p.replace("s", "u", 1) if p[0] == "s" else p
        return "s" + p[1:] if how == 5 and p[0] == "u" else p

    def float_predicate(self, how, of, chosen):
        """The same of fcmp: bit 3 says unordered, 2 less, 1 greater, 0 equal."""
        if how == 0:
            return FLOAT_PREDICATES[of]
        p = FLOAT_PREDICATES.index(chosen[of])
        p = {2: p ^ 15, 3: p & 9 | (p & 2) << 1 | (p & 4) >> 1}.get(how, p)
        return FLOAT_PREDICATES[p]

    def float_predicate_choices(self):
        chosen = [{}]
        for n in self.pattern.walk():
            if n.name == "fcmp":
                chosen = [{**c, n.reg: p} for c in chosen for p in FLOAT_PREDICATES if p in self.predicates_of(n.reg)]
        return chosen

    def predicate_choices(self):
        """[{register: predicate}] that the program admits."""
        chosen = [{}]
        for n in self.pattern.walk():
            if n.name == "icmp" and n.kind == "op":
                names = sorted(self.predicates_of(n.reg), key=PREDICATES.index)
                chosen = [{**c, n.reg: p} for c in chosen for p in names]
        return [c for c in chosen
                if all(c[reg] == self.predicate(how, of, c) for _, reg, how, of in self.of("PREDICATE_IS"))]

    # flags

    def flag_choices(self):
        """[{(flags, registers): whether those registers' instructions all have them}]"""
        names = sorted({f for n in self.result.walk() if n.kind == "op" for f in n.flags if f[1]})
        choices = [{}]
        for f in names:
            choices = [{**c, f: has} for c in choices for has in (False, True)]
        return choices

    # types

    def type_of(self, t, types):
        if t == self.tables.TYPE_BOOL:
            return BOOL
        found = types[t & ~self.tables.BOOL_LIKE]
        return (found[0], "i", 1) if t & self.tables.BOOL_LIKE else found

    def passes(self, c, types):
        """Whether a check allows these types."""
        if c[0] == "SAME_TYPE":
            return self.type_of(c[1], types) == self.type_of(c[2], types)
        if c[0] == "TYPE_IS":
            t = self.type_of(c[1], types)
            return (t[1] == "i", t[1] == "f", t[1:] == ("i", 1), t[2] > 1, t[2] <= 64)[c[2]]
        if c[0] == "WIDENS":
            a, b = self.type_of(c[1], types), self.type_of(c[2], types)
            return a[0] == b[0] and a[2] < b[2]
        if c[0] in ("ZERO", "NONNEG", "NONZERO", "ONE_BIT", "DISJOINT"):  # nothing is known of others
            return types[c[1]][1] == "i" and types[c[1]][2] <= 64
        return True

    def type_checks(self):
        """(registers, test) of what the program checks."""
        found = []
        for c in self.checks:
            if c[0] in ("SAME_TYPE", "WIDENS", "TYPE_IS", "ZERO", "NONNEG", "NONZERO", "ONE_BIT", "DISJOINT"):
                named = c[1:3] if c[0] in ("SAME_TYPE", "WIDENS") else c[1:2]
                regs = {t & ~self.tables.BOOL_LIKE for t in named if t != self.tables.TYPE_BOOL}
                found.append((regs, lambda types, c=c: self.passes(c, types)))
        if self.pattern.name not in ("icmp", "fcmp") and self.roots & 3 != 3:
            found.append(({0}, lambda types: self.roots >> (types[0][1:] != ("i", 1)) & 1))
        return found

    def class_checks(self):
        """The same of what holds of any IR that the tree's classes let through."""
        found = []
        for n in self.nodes:
            if n.kind == "op":
                regs = [n.reg] + [a.reg for a in n.args]
                found.append((set(regs), lambda t, n=n, r=regs: well_typed(n.name, t[r[0]], [t[k] for k in r[1:]])))
            elif n.kind == "int":
                found.append(({n.reg}, lambda t, r=n.reg: t[r][1] == "i" and t[r][2] <= 64))
            elif n.kind == "float":
                found.append(({n.reg}, lambda t, r=n.reg: t[r][1] == "f"))
        for c in self.of("SAME"):
            found.append((set(c[1:3]), lambda t, c=c: t[c[1]] == t[c[2]]))
        return found

    def equal_types(self):
        """For each register the others that well-typed instructions give its type; only to enumerate fast."""
        groups = [{n.reg} for n in self.nodes]
        for n in self.nodes:
            same = [a.reg for a in n.args[n.name == "select":2 if n.name in WITH_BOOL else None]]
            if n.name in CASTS | {"fptrunc", "fpext", "bitcast"} or n.kind != "op":
                continue
            for reg in (same[:1] if n.name in WITH_BOOL else same) + ([] if n.name in ("icmp", "fcmp") else [n.reg]):
                both = groups[reg] | groups[same[0]]
                for k in both:
                    groups[k] = both
        return groups

    def assignments(self, domain, checked=True):
        """Every {register: type} of types of the domain that well-typed IR may have where the tree and the
        program (unless not `checked`) match."""
        tests = self.class_checks() + (self.type_checks() if checked else [])
        order = sorted(range(len(self.nodes)), reverse=True)  # leaves come first
        ready = [[test for regs, test in tests if regs <= set(order[:k + 1]) and order[k] in regs]
                 for k in range(len(order))]
        found, types, equal = [], {}, self.equal_types()

        def candidates(k):
            n = self.nodes[order[k]]
            if n.kind == "op" and n.name in ("icmp", "fcmp"):
                return [(types[n.args[0].reg][0], "i", 1)]
            known = [types[r] for r in equal[n.reg] if r in types]
            return known[:1] or domain

        def go(k):
            if k == len(order):
                found.append(dict(types))
                return
            for t in candidates(k):
                types[order[k]] = t
                if all(test(types) for test in ready[k]):
                    go(k + 1)
                del types[order[k]]

        go(0)
        return found

    def result_type(self, n, types):
        """The type of what the program makes; Wrong if an op would be ill-typed."""
        if n.kind == "ref":
            return types[n.reg]
        t = self.type_of(n.type, types)
        if n.kind == "number" and (t[1] != "i" or t[2] > 64 and n.number[:2] not in (("literal", 0), ("literal", 1))):
            raise Wrong(f"makes a number as {show(t)}")
        if n.kind == "float" and t[1] != "f":
            raise Wrong(f"makes a float as {show(t)}")
        if n.kind == "op":
            args = [self.result_type(a, types) for a in n.args]
            if not well_typed(n.name, t, args):
                raise Wrong(f"makes '{n.name}' of {' '.join(map(show, args))} as {show(t)}")
        return t

    def check_types(self, types):
        made = self.result_type(self.result, types)
        if made != types[0]:
            raise Wrong(f"replaces {show(types[0])} by {show(made)}")


def show(t):
    scalar = "ptr" if t[1] == "p" else f"{t[1]}{t[2]}"
    return f"<{t[0]} x {scalar}>" if t[0] else scalar


# --- trees ---------------------------------------------------------------------------------------------------

def pattern_of(tables, root, tests, slots):
    """The nodes by register. tests: {slot: (class, slot of the first operand)}; slots: by register."""
    nodes = [None] * len(slots)

    def build(slot):
        if slots.count(slot) != 1:
            raise Wrong(f"slot {slot} has no register of its own")
        reg = slots.index(slot)
        cls, first = (root, 1) if slot == 0 else tests.get(slot, (None, 0))
        shape = tables.shape(cls) if cls is not None else None
        kind = "op" if shape else {None: "value", tables.CLASS_INT: "int", tables.CLASS_FLOAT: "float"}[cls]
        n = Node(kind, shape[0] if shape else "", reg=reg)
        n.args = [build(first + k) for k in range(shape[1])] if shape else []
        nodes[reg] = n
        return n

    build(0)
    return nodes


def leaves_of(tables, root):
    """(program, tests, slots by register, roots, flags, same slots) of the tree of a class."""
    w = tables.words

    def walk(at, tests, top):
        groups, at = w[at], at + 1
        for _ in range(groups):
            slot, lowest, count = w[at:at + 3]
            for k, tree in enumerate(w[at + 3:at + 3 + count]):
                shape = tables.shape(lowest + k)
                if tree:
                    yield from walk(tree, {**tests, slot: (lowest + k, top)}, top + (shape[1] if shape else 0))
            at += 3 + count
        leaves, at = w[at], at + 1
        for _ in range(leaves):
            program, roots, flags, same = w[at:at + 4]
            count = w[program]
            yield program, tests, w[at + 4:at + 4 + count], roots, flags, same
            at += 4 + count

    yield from walk(tables.roots[root], {}, 1 + tables.shape(root)[1])


def decode(generated=GENERATED):
    """All rules, each pattern once, in the order of the table."""
    tables = Tables(generated)
    with open(TABLE, encoding="utf-8") as f:
        lines = {line.split(":")[0]: k for k, line in enumerate(f, 1) if re.match(r"[\w-]+: ", line)}
    found = {}
    for root, tree in enumerate(tables.roots):
        if not tree:
            continue
        for program, tests, slots, roots, flags, same in leaves_of(tables, root):
            pair = (slots.index(same >> 8), slots.index(same & 255)) if same else None
            rule = Rule(tables, Program(tables, program), pattern_of(tables, root, tests, slots), roots, flags, pair)
            rule.line = lines.get(rule.name, 0)
            found.setdefault(rule.key(), rule)
    missing = set(tables.names.values()) - {r.name for r in found.values()}
    if missing:
        raise Wrong("no tree leads to " + " ".join(sorted(missing)))
    return sorted(found.values(), key=lambda r: r.program.begin)
