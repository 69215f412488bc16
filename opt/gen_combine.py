"""gen_combine: turns combine.rules, the peephole rules, into words: one decision tree per op, one program per rule.
Run at build: gen_combine.py TABLE OUTDIR; it reads ir/ops.def too.

Problem:  some hundreds of patterns must be tried at every instruction, cheaply.
Solution: every pattern is a list of tests in the order of a walk over it: "operand 0 is an add", "operand 1
          of that is a constant". Patterns that begin with the same tests share them: the lists form a trie,
          whose leaves name the program that makes the rest of the checks and builds the result. More
          specific patterns are tried first, equally specific ones in the order of the file.
          Types are inferred by unification, as in any typed expression language: what the result demands and
          the pattern does not promise becomes a check of the program.
The language is described at the head of combine.rules, what is written in combine_program.h. The first fault
ends the run."""
import copy
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(__file__), "..")
sys.path.append(os.path.join(ROOT, "target"))
import gen_table
from gen_table import fail

# --- what may stand in a rule ---------------------------------------------------------------------------


class Shape:
    """class_: the number of what has this shape; op: its name in C; how: of a function, see FUNCTIONS. The kinds:
      int       T, T, ... -> T, integers          compare   predicate, T, T -> bool
      int-imm   T, i1 constant -> T               select    bool, T, T -> T
      float     T, T, ... -> T, floats            cast      A -> B
      any       T -> T                            function  of constants alone: T, T, ... -> T"""

    def __init__(self, name, class_, kind, arity, commutes=False, op=None, how=""):
        self.name, self.class_, self.kind, self.arity, self.commutes = name, class_, kind, arity, commutes
        self.op, self.how = op, how
        self.fast = kind == "float" or op in ("FCMP", "FPTRUNC", "FPEXT")


def read_ops():
    """The ops of ir/ops.def by keyword; None: it can't stand in a rule."""
    with open(os.path.join(ROOT, "ir", "ops.def"), encoding="utf-8") as file:
        found = re.findall(r'^OP\((\w+), "([^"]+)", FORM_(\w+), ([^,"]+),', file.read(), re.MULTILINE)
    ops = {}
    for number, (op, keyword, form, flags) in enumerate(found):
        binary = ("int" if "OPF_INT" in flags else "float", 2)
        unary = ("any" if op == "FREEZE" else "float", 1)
        shape = {"BINARY": binary, "UNARY": unary, "CAST": ("cast", 1), "CMP": ("compare", 2),
                 "SELECT": ("select", 3)}.get(form)
        ops.setdefault(keyword, shape and Shape(keyword, number, *shape, "OPF_COMMUTES" in flags, op))
    return ops, len(found)


# Intrinsics by the name after "llvm.": how many operands; a + behind it: it commutes.
INTRINSICS = {
    "int": "smin:2+ smax:2+ umin:2+ umax:2+ ctpop:1 bswap:1 bitreverse:1 fshl:3 fshr:3 uadd_sat:2+ usub_sat:2 "
           "sadd_sat:2+ ssub_sat:2",
    "int-imm": "abs:2 ctlz:2 cttz:2",
    "float": "fabs:1 fma:3+ fmuladd:3+ sqrt:1 copysign:2 minnum:2+ maxnum:2+ minimum:2+ maximum:2+ floor:1 ceil:1 "
             "trunc:1 rint:1 nearbyint:1 roundeven:1 round:1 canonicalize:1 cos:1 sin:1 pow:2 exp2:1"}
ICMP = "eq ne ugt uge ult ule sgt sge slt sle".split()
FCMP = "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true".split()
# Functions by what they are good for: a part of numbers, in conditions and results; the rest are conditions, of
# numbers, of a number and another type, of values, of a value's type.
FUNCTIONS = {
    "": "log2:1 not:1 neg:1 lowmask:1 lowzeros:1", "numbers": "pow2:1 " + " ".join(p + ":2" for p in ICMP),
    "fits": "fitsu:2 fitss:2", "value": "zero:2 nonneg:1 nonzero:1 defined:1 disjoint:2", "type": "bool:1 wide:1"}
COMPUTED = "smin smax umin umax ctpop bswap bitreverse".split()  # intrinsics of numbers, beside all integer ops
FLAGS = "nuw nsw exact disjoint nneg nnan ninf nsz arcp contract afn reassoc".split()
INT_CASTS = ("TRUNC", "ZEXT", "SEXT")
OPS, OP_COUNT = read_ops()
CLASS_INT, CLASS_FLOAT, CLASS_CALL, CLASS_UNKNOWN = OP_COUNT, OP_COUNT + 1, OP_COUNT + 3, 255
MOST_SLOTS, MOST_REGISTERS = 32, 16  # RULE_MOST_
intrinsics = []  # their names, in the order of their classes


def all_shapes():
    shapes = {}
    for how, names in FUNCTIONS.items():
        for name, arity in (w.split(":") for w in names.split()):
            shapes[name] = Shape(name, None, "function", int(arity), how=how)
    for kind, names in INTRINSICS.items():
        for name, arity in (w.split(":") for w in names.split()):
            intrinsics.append(name)
            shapes["ftrunc" if name == "trunc" else name] = Shape(
                name, CLASS_CALL + len(intrinsics), kind, int(arity[0]), arity.endswith("+"))
    return shapes | OPS


SHAPES = all_shapes()

# --- reading ----------------------------------------------------------------------------------------------


class Node:
    """kind: op, value, int, literal or float. name: of the variable; of an op: bound name or ""; literals:
    their text. register: in patterns, its number. predicate: of a comparison, its name or
    variable, the modifier ("", "inv", "swap", "u", "s") and class ("", "eqne", ...) of a variable."""

    def __init__(self, kind, name=""):
        self.kind, self.name, self.register, self.shape, self.args, self.predicate = kind, name, 0, None, [], None
        self.flags, self.optional_flags, self.one_use, self.type = set(), set(), False, None

    def ops(self):
        """The ops in it, each before its operands."""
        return (n for n in self.nodes() if n.kind == "op")

    def nodes(self):
        yield self
        for a in self.args:
            yield from a.nodes()


class Reader:
    def __init__(self, text):
        self.rest = text

    def take(self, word):
        self.rest = self.rest.lstrip(" ")
        found = self.rest.startswith(word)
        self.rest = self.rest[len(word):] if found else self.rest
        return found

    def word(self):
        self.rest = self.rest.lstrip(" ")
        found = re.match("[^ ()=]*", self.rest)[0]
        if not found:
            fail(f"a name or number expected at `{self.rest}`")
        self.rest = self.rest[len(found):]
        return found

    def op(self):
        name, *flags = self.word().split(".")
        n = Node("op")
        for flag in flags:
            if flag.rstrip("?") not in FLAGS:
                fail(f"unknown flag `{flag.rstrip('?')}`")
            (n.optional_flags if flag.endswith("?") else n.flags).add(flag.rstrip("?"))
        if name not in SHAPES:
            fail(f"unknown op `{name}`")
        if not SHAPES[name]:
            fail(f"`{name}` cannot stand in a rule")
        n.shape = SHAPES[name]
        if n.shape.kind == "compare":
            modifier, _, rest = self.word().rpartition(".")
            name, _, class_ = rest.partition(":")
            n.predicate = name, modifier, class_
        n.args = [self.node() for _ in range(n.shape.arity)]
        if not self.take(")"):
            fail(f"`)` expected after the operands of `{n.shape.name}`, at `{self.rest}`")
        return n

    def leaf(self):
        w = self.word()
        if "." in w or w in ("nan", "inf"):
            return Node("float", w)
        if w[0] in "-0123456789" or w in ("true", "false", "MIN", "MAX", "WIDTH"):
            return Node("literal", w)
        return Node("int" if w[0].isupper() else "value", w)

    def node(self):
        one_use = self.take("@")
        self.take("")
        name = re.match("([^ ()=]+)=", self.rest)
        self.rest = self.rest[name.end():] if name else self.rest
        n = self.op() if self.take("(") else self.leaf()
        if one_use and n.kind != "op":
            fail("`@` before what is no instruction")
        n.one_use = one_use
        n.name = name[1] if name else n.name
        return n


class Rule:
    def __init__(self, text):
        self.name, colon, rest = text.partition(": ")
        self.line, self.registers, self.program, r = gen_table.line, 0, 0, Reader(rest)
        if not colon:
            fail("`name: pattern -> result` expected")
        self.pattern, self.conditions = r.node(), []
        if self.pattern.kind != "op":
            fail("the pattern is no instruction")
        if r.take("if "):
            while r.take("("):
                self.conditions.append(r.op())
        if not r.take("->"):
            fail(f"`->` expected at `{r.rest}`")
        self.result = r.node()
        if not r.take("") or r.rest:
            fail(f"`{r.rest}` after the end of the rule")


# --- types: unification -------------------------------------------------------------------------------------

class Types:
    """Facts are by root. same_lanes: the type that this is the comparison of; witness: a register of the type."""

    def __init__(self):
        self.parent, self.is_int, self.is_float, self.is_bool, self.same_lanes, self.witness = ([] for _ in range(6))

    def new(self):
        self.parent.append(len(self.parent))
        for facts in (self.is_int, self.is_float, self.is_bool, self.same_lanes, self.witness):
            facts.append(None)
        return len(self.parent) - 1

    def find(self, a):
        while self.parent[a] != a:
            a = self.parent[a]
        return a

    def unify(self, a, b):
        a, b = sorted((self.find(a), self.find(b)))
        if a == b:
            return
        self.parent[b] = a
        for facts in (self.is_int, self.is_float, self.is_bool, self.same_lanes, self.witness):
            facts[a] = facts[b] if facts[a] is None else facts[a]

    def mark(self, facts, *types):
        for a in types:
            facts[self.find(a)] = True

    def infer_op(self, n):
        kind, first = n.shape.kind, n.args[0].type
        if kind in ("int", "function", "float", "any"):
            for a in n.args:
                self.unify(n.type, a.type)
            if kind != "any":
                self.mark(self.is_float if kind == "float" else self.is_int, n.type)
        elif kind == "int-imm":
            self.unify(n.type, first)
            self.mark(self.is_int, n.type)
            self.mark(self.is_bool, n.args[1].type)
        elif kind == "compare":
            self.unify(first, n.args[1].type)
            if n.shape.op == "FCMP":
                self.mark(self.is_float, first)
            self.mark(self.is_bool, n.type)
            self.mark(self.is_int, n.type)
            if self.same_lanes[self.find(n.type)] is None:
                self.same_lanes[self.find(n.type)] = first
        elif kind == "select":
            self.mark(self.is_bool, first)
            self.mark(self.is_int, first)
            self.unify(n.type, n.args[1].type)
            self.unify(n.type, n.args[2].type)
        elif n.shape.op in INT_CASTS:
            self.mark(self.is_int, n.type, first)

    def infer(self, scope, n, defines):
        """Gives n and what is in it their types; `scope` has the variables by name."""
        n.type = self.new()
        if n.kind == "op":
            for a in n.args:
                self.infer(scope, a, defines)
            self.infer_op(n)
        if n.kind in ("literal", "int"):
            self.mark(self.is_int, n.type)
        if n.kind == "literal" and n.name[0] in "tf":
            self.mark(self.is_bool, n.type)
        if n.kind == "float":
            self.mark(self.is_float, n.type)
        if n.kind not in ("value", "int", "op") or not n.name:
            return
        if n.name in scope:
            self.unify(scope[n.name].type, n.type)
        elif defines:
            scope[n.name] = n
        else:
            fail(f"`{n.name}` does not occur in the pattern")


# --- programs -----------------------------------------------------------------------------------------------

words, floats = ["0"], []  # C that says each; no tree begins at 0


def put(*what):
    words.extend(map(str, what))


def is_constant(n):
    return n.kind in ("int", "literal", "float")


def all_constant(n):
    return all(map(all_constant, n.args)) and not n.predicate if n.kind == "op" else n.kind in ("int", "literal")


def float_index(text):
    floats.append(text)
    return len(floats) - 1


def literal_value(name):
    value = {"true": 1, "false": 0}.get(name) if name[0] in "tf" else int(name)
    if not -2**15 <= value < 2**15:
        fail(f"`{name}` has more than 16 bits")
    return value & 0xffff


def bits(registers):
    return sum(1 << n.register for n in registers)


def flags_text(flags):
    return " | ".join("INST_" + f.upper() for f in FLAGS if f in flags)


def predicate_mask(n):
    """The predicates that the comparison allows, whatever the others say; C of their bits, None: all."""
    name, _, class_ = n.predicate or ("P", "", "")
    if name[0].isupper():
        return f"RULE_{class_.upper()}" if class_ else None
    return f"1 << {n.shape.op}_{name.upper()}"


class Program:
    """Writes the program of a rule. scope: the pattern's variables by name."""

    def __init__(self, rule):
        self.rule, self.pattern, self.types, self.scope = rule, rule.pattern, Types(), {}
        gen_table.line = rule.line
        put(rule.registers)
        self.types.infer(self.scope, self.pattern, True)
        for n in reversed(list(self.pattern.nodes())):
            self.types.witness[self.types.find(n.type)] = n.register
        self.check_node(self.pattern)
        before = copy.deepcopy(self.types)
        self.types.infer(self.scope, rule.result, False)
        self.types.unify(self.pattern.type, rule.result.type)
        self.check_types(before)
        for c in rule.conditions:
            for n in c.args if c.shape.how == "fits" else [c]:
                self.types.infer(self.scope, n, False)
            self.check_condition(c)
        self.check_result(rule.result)
        self.build(rule.result, True)
        put("RULE_DONE")

    def type(self, type_):
        a = self.types.find(type_)
        if self.types.witness[a] is not None:
            return self.types.witness[a]
        if self.types.same_lanes[a] is not None:
            return f"{self.type(self.types.same_lanes[a])} | RULE_BOOL_LIKE"
        if not self.types.is_bool[a]:
            fail("the type of a part of the result is not determined")
        return "RULE_TYPE_BOOL"  # the immediate of abs, ctlz, cttz

    # --- numbers ---

    def number(self, n):
        """A constant expression, onto the stack of numbers."""
        if n.kind == "int":
            put("RULE_NUMBER", self.scope[n.name].register)
        elif n.kind == "op":
            self.function(n)
        elif n.kind != "literal":
            fail(f"`{n.name}` is no integer constant")
        elif n.name[0].isupper():
            put("RULE_LITERAL", 0, self.type(n.type), "RULE_UNARY", "FUNCTION_" + n.name,
                self.type(n.type), self.type(n.type))
        else:
            put("RULE_LITERAL", literal_value(n.name), self.type(n.type))

    def function(self, n):
        s, from_ = n.shape, self.type(n.args[0].type)
        what = (f"OP_{s.op}" if s.kind == "int" and s.op or s.op in INT_CASTS else
                f"RULE_COMPARE + ICMP_{s.name.upper()}" if s.name in ICMP else
                f"FUNCTION_{s.name}" if s.kind == "function" or s.name in COMPUTED else None)
        if s.arity > 2 or not what:
            fail(f"`{s.name}` of constants")
        operands = n.args[:1] if s.how == "fits" else n.args
        for a in operands:
            self.number(a)
        to = self.type(n.args[1].type) if s.how == "fits" else self.type(n.type) if s.kind == "cast" else from_
        put("RULE_BINARY" if len(operands) == 2 else "RULE_UNARY", what, from_, to)

    # --- checks ---

    def binding(self, name):
        """The comparison that binds a predicate variable: the first that names it without a modifier."""
        found = (n for n in self.pattern.ops() if n.predicate and n.predicate[:2] == (name, ""))
        return next(found, None)

    def predicate(self, n):
        name, modifier, _ = n.predicate or ("", "", "")
        if not n.predicate:
            put("PREDICATE_LITERAL", 0)
        elif not name[0].isupper():
            put("PREDICATE_LITERAL", f"{n.shape.op}_{name.upper()}")
        elif not self.binding(name):
            fail(f"predicate `{name}` does not occur in the pattern")
        else:
            put("PREDICATE_" + (modifier or "plain").upper(), self.binding(name).register)

    def check_predicate(self, n):
        if n.register and predicate_mask(n):
            put("RULE_PREDICATE_IN", n.register, predicate_mask(n))
        if n.predicate[0][0].isupper() and self.binding(n.predicate[0]) is not n:
            put("RULE_PREDICATE_IS", n.register)
            self.predicate(n)

    def check_number(self, n):
        if n.name[0] in "tf":
            put("RULE_TYPE_IS", n.register, "TYPE_IS_BOOL")
        if n.kind == "literal" and not n.name[0].isupper():
            put("RULE_NUMBER_IS", n.register, literal_value(n.name))
            return
        put("RULE_NUMBER", n.register)
        self.number(n)
        put("RULE_BINARY", "RULE_COMPARE + ICMP_EQ", n.register, n.register, "RULE_REQUIRE")

    def check_node(self, n):
        """Whatever the classes of the operands did not say."""
        first = self.scope.get(n.name)
        if n.kind == "value" and first is not n:
            put("RULE_SAME", n.register, first.register)
        elif n.kind in ("int", "literal") and first is not n:
            self.check_number(n)
        elif n.kind == "float":
            put("RULE_FLOAT_IS", n.register, float_index(n.name))
        elif n.kind == "op":
            if n.predicate:
                self.check_predicate(n)
            if n.flags:
                put("RULE_HAS_FLAGS", n.register, flags_text(n.flags))
            if n.one_use:
                put("RULE_ONE_USE", n.register)
            for a in n.args:
                self.check_node(a)

    def check_condition(self, n):
        if n.shape.kind != "function" or not n.shape.how:
            fail(f"`{n.shape.name}` is no condition")
        name, how, a = n.shape.name, n.shape.how, n.args[0]
        if how == "type":
            put("RULE_TYPE_IS", self.type(a.type), "TYPE_IS_" + name.upper())
        elif how != "value":
            self.function(n)
            put("RULE_REQUIRE")
        elif is_constant(a) or a.name not in self.scope:
            fail(f"`{name}` of what is no variable")
        else:
            if name == "zero":
                self.number(n.args[1])
            put("RULE_" + name.upper(), self.scope[a.name].register)
            if name == "disjoint":
                put(self.scope[n.args[1].name].register)

    def check_types(self, before):
        """Types that the result wants to be one although the pattern does not say so."""
        roots = [a for a in range(len(before.parent)) if before.find(a) == a and before.witness[a] is not None]
        for a in roots:
            now, witness = self.types.find(a), before.witness[a]
            same = [b for b in roots if b < a and self.types.find(b) == now]
            if same:
                put("RULE_SAME_TYPE", witness, before.witness[same[0]])
            for facts, then, name in ((self.types.is_int, before.is_int, "INT"),
                                      (self.types.is_float, before.is_float, "FLOAT"),
                                      (self.types.is_bool, before.is_bool, "BOOL")):
                if facts[now] and not then[a]:
                    put("RULE_TYPE_IS", witness, "TYPE_IS_" + name)

    def check_result(self, n):
        """Casts of the result must be casts: to a wider or narrower type with as many lanes. Numbers have 64
        bits here: only 0 and 1 can be made for wider types."""
        if all_constant(n):
            if not self.types.is_bool[self.types.find(n.type)] and n.name not in ("0", "1"):
                put("RULE_TYPE_IS", self.type(n.type), "TYPE_FITS_64_BITS")
        elif n.kind == "op" and not n.name:
            for a in n.args:
                self.check_result(a)
            if n.shape.op in INT_CASTS:
                types = [self.type(n.args[0].type), self.type(n.type)]
                put("RULE_WIDENS", *(reversed(types) if n.shape.op == "TRUNC" else types))

    # --- building the result ---

    def result_flags(self, n, is_root):
        if n.flags:
            put("RULE_FLAGS", flags_text(n.flags), 0)
        if n.shape.fast:
            put("RULE_FLAGS", "INST_FAST" if is_root else "INST_FAST & ~(INST_NNAN | INST_NINF)",
                bits(p for p in self.pattern.ops() if p.shape.fast))
        for flag in (f for f in FLAGS if f in n.optional_flags):
            having = bits(p for p in self.pattern.ops() if flag in p.optional_flags)
            if not having:
                fail(f"flag `{flag}?` does not occur in the pattern")
            put("RULE_FLAGS", flags_text([flag]), having)

    def build(self, n, is_root=False):
        if all_constant(n):
            self.number(n)
            put("RULE_MAKE_INT", self.type(n.type))
        elif n.kind == "float":
            put("RULE_MAKE_FLOAT", self.type(n.type), float_index(n.name))
        elif n.name in self.scope:
            put("RULE_VALUE", self.scope[n.name].register)
        else:
            for a in n.args:
                self.build(a)
            self.result_flags(n, is_root)
            if n.shape.op:
                put("RULE_OP", "OP_" + n.shape.op, self.type(n.type))
                self.predicate(n)
            else:
                put("RULE_CALL", n.shape.class_ - CLASS_CALL, self.type(n.type))
            put(n.shape.arity)


# --- the trees ------------------------------------------------------------------------------------------------

def commutes(n):
    equality = n.shape.op == "ICMP" and (n.predicate[0] in ("eq", "ne") or n.predicate[2] == "eqne")
    return (n.shape.arity > 1 and (n.shape.commutes or equality)
            and not is_constant(n.args[1]) and not is_constant(n.args[0]))


class Variant:
    """A pattern with the first two operands of some ops exchanged. tests: slot, class; slots: of the registers."""

    def __init__(self, rule, exchanged):
        self.rule, self.exchanged, self.tests, self.slots, self.top = rule, exchanged, [], [0] * rule.registers, 1
        self.place(rule.pattern, 0)

    def place(self, n, slot):
        self.slots[n.register] = slot
        if slot and n.kind != "value":
            class_ = n.shape.class_ if n.kind == "op" else CLASS_FLOAT if n.kind == "float" else CLASS_INT
            self.tests.append((slot, class_))
        args = n.args[1::-1] + n.args[2:] if n in self.exchanged else n.args
        first, self.top = self.top, self.top + len(args)
        if self.top > MOST_SLOTS:
            fail("pattern too large")
        for k, a in enumerate(args):
            self.place(a, first + k)


def grouped(items, key):
    """Items by key, in the order in which the keys first occur."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def put_tree(variants, depth):
    """Trees come behind those that they name. Returns where this one begins."""
    groups = []
    deeper = [v for v in variants if len(v.tests) > depth]
    for slot, same in grouped(deeper, lambda v: v.tests[depth][0]).items():
        cases = grouped(same, lambda v: v.tests[depth][1])
        lowest, count = min(cases), max(cases) - min(cases) + 1
        trees = [put_tree(cases[c], depth + 1) if c in cases else 0 for c in range(lowest, lowest + count)]
        groups.append([slot, lowest, count] + trees)
    begin = len(words)
    put(len(groups), *(word for g in groups for word in g), len(variants) - len(deeper))
    for v in variants:
        if len(v.tests) == depth:
            put(v.rule.program, predicate_mask(v.rule.pattern) or "RULE_ANY_PREDICATE", *v.slots)
    return begin


rules, variants, roots = {}, [], [0] * CLASS_UNKNOWN


def read_row(text):
    rule = Rule(text)
    if rule.name in rules:
        fail(f"rule `{rule.name}` exists")
    rules[rule.name] = rule
    for n in rule.pattern.nodes():
        n.register, rule.registers = rule.registers, rule.registers + 1
    commuting = [n for n in rule.pattern.ops() if commutes(n)]
    if rule.registers > MOST_REGISTERS or len(commuting) > 4:
        fail("pattern too large")
    variants.extend(Variant(rule, [n for k, n in enumerate(commuting) if way >> k & 1])
                    for way in range(1 << len(commuting)))


def put_all():
    """Writing finds faults too, so it is done before anything is written to files."""
    for rule in rules.values():
        rule.program = len(words)
        Program(rule)
    for class_, same in grouped(variants, lambda v: v.rule.pattern.shape.class_).items():
        roots[class_] = put_tree(same, 0)
    if len(words) > 65536:
        fail("too many rules")


def table(type_, name, size, entries):
    return f"static const {type_} {name}[{size}] = {{\n{', '.join(map(str, entries))}}};\n"


def tables():
    for rule in rules.values():
        words[rule.program] = f"\n/* {rule.name} */ {words[rule.program]}"
    return ("/* Made by gen_combine from opt/combine.rules; see opt/combine_program.h. */\n"
            + table("uint16_t", "rule_intrinsics", "", ["INTRINSIC_NONE"] + ["INTRINSIC_" + i for i in intrinsics])
            + table("uint8_t", "rule_of_intrinsic", "INTRINSIC_COUNT",
                    (f"[INTRINSIC_{name}] = {k + 1}" for k, name in enumerate(intrinsics)))
            + table("double", "rule_floats", "", floats) + table("uint16_t", "rule_roots", "", roots)
            + table("uint16_t", "rule_words", "", words))


gen_table.main(read_row, put_all, {"combine.inc": tables})
