"""gen_combine: turns combine.rules, the peephole rules, into C: one decision tree per op.
Run at build: gen_combine.py TABLE OUTDIR; it reads ir/ops.def too.

Problem:  some hundreds of patterns must be tried at every instruction, cheaply.
Solution: every pattern is a list of tests in the order of a walk over it: "operand 0 is an add", "operand 1
          of that is a constant". Patterns that begin with the same tests share them: the lists form a trie,
          each inner node of which becomes a `switch` over the class of one operand, each leaf the rest of
          the conditions and the code that builds the result. More specific patterns are tried first, equally
          specific ones in the order of the file.
          Types are inferred by unification, as in any typed expression language: what the result demands and
          the pattern does not promise becomes a check at the leaf.
The language is described at the head of combine.rules. The first fault ends the run."""
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
    """label: the case of the switch; op: its name in C; how: of a function, see FUNCTIONS. The kinds:
      int       T, T, ... -> T, integers          compare   predicate, T, T -> bool
      int-imm   T, i1 constant -> T               select    bool, T, T -> T
      float     T, T, ... -> T, floats            cast      A -> B
      any       T -> T                            function  of constants alone: T, T, ... -> T"""

    def __init__(self, name, label, kind, arity, commutes=False, op=None, fast=False, how=""):
        self.name, self.label, self.kind, self.arity, self.commutes = name, label, kind, arity, commutes
        self.op, self.fast, self.how = op, fast, how
        self.intrinsic = op is None and kind != "function"
        self.c = f"call_{name}" if self.intrinsic else op


def read_ops():
    """The ops of ir/ops.def by keyword; None: it can't stand in a rule."""
    with open(os.path.join(ROOT, "ir", "ops.def"), encoding="utf-8") as file:
        found = re.findall(r'^OP\((\w+), "([^"]+)", FORM_(\w+), ([^,"]+),', file.read(), re.MULTILINE)
    ops = {}
    for op, keyword, form, flags in found:
        binary = ("int" if "OPF_INT" in flags else "float", 2)
        unary = ("any" if op == "FREEZE" else "float", 1)
        shape = {"BINARY": binary, "UNARY": unary, "CAST": ("cast", 1), "CMP": ("compare", 2),
                 "SELECT": ("select", 3)}.get(form)
        ops.setdefault(keyword, shape and Shape(keyword, f"OP_{op}", *shape, "OPF_COMMUTES" in flags, op,
                                                "OPF_FAST" in flags))
    return ops


# Intrinsics by the name after "llvm.": how many operands; a + behind it: it commutes.
INTRINSICS = {
    "int": "smin:2+ smax:2+ umin:2+ umax:2+ ctpop:1 bswap:1 bitreverse:1 fshl:3 fshr:3 uadd_sat:2+ usub_sat:2 "
           "sadd_sat:2+ ssub_sat:2",
    "int-imm": "abs:2 ctlz:2 cttz:2",
    "float": "fabs:1 fma:3+ fmuladd:3+ sqrt:1 copysign:2 minnum:2+ maxnum:2+ minimum:2+ maximum:2+ floor:1 ceil:1 "
             "trunc:1 rint:1 nearbyint:1 roundeven:1 round:1 canonicalize:1 cos:1 sin:1 pow:2 exp2:1"}
# Functions: of constants, in conditions and results, computed by fn_NAME of combine.c. Others are
# conditions. w: on constants, fn_NAME(width, ...); v: on a value and constants, known_NAME(k, value, ...);
# V: on two values; t: on a value's type; f: on a constant and a value's type.
FUNCTIONS = {
    "": "log2:1 not:1 neg:1 lowmask:1 lowzeros:1",
    "w": "eq:2 ne:2 ult:2 ule:2 ugt:2 uge:2 slt:2 sle:2 sgt:2 sge:2 pow2:1",
    "v": "zero:2 nonneg:1 nonzero:1 defined:1", "V": "disjoint:2", "t": "bool:1 wide:1", "f": "fitsu:2 fitss:2"}
FLAGS = "nuw nsw exact disjoint nneg nnan ninf nsz arcp contract afn reassoc".split()


def all_shapes():
    shapes = {}
    for how, names in FUNCTIONS.items():
        for name, arity in (w.split(":") for w in names.split()):
            shapes[name] = Shape(name, None, "function", int(arity), how=how)
    for kind, names in INTRINSICS.items():
        for name, arity in (w.split(":") for w in names.split()):
            shapes["ftrunc" if name == "trunc" else name] = Shape(
                name, "CLASS_CALL + INTRINSIC_" + name, kind, int(arity[0]), arity.endswith("+"))
    shapes.update(read_ops())
    return shapes


SHAPES = all_shapes()

# --- reading ----------------------------------------------------------------------------------------------


class Node:
    """kind: op, value, int, literal or float. name: of the variable; of an op: bound name or ""; literals:
    their text. path: "0", "01": the way from the root, in patterns. predicate: of a comparison, its name or
    variable, the modifier ("", "inv", "swap", "u", "s") and class ("", "eqne", ...) of a variable."""

    def __init__(self, kind, name=""):
        self.kind, self.name, self.path, self.shape, self.args, self.predicate = kind, name, "", None, [], None
        self.flags, self.optional_flags, self.one_use, self.type = set(), set(), False, None

    def ops(self):
        """The ops in it, each before its operands."""
        if self.kind == "op":
            yield self
            for a in self.args:
                yield from a.ops()


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
        self.line, r = gen_table.line, Reader(rest)
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
    """Facts are by root. same_lanes: the type that this is the comparison of; witness: C that has the type."""

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
        for facts in (self.is_int, self.is_float, self.is_bool, self.witness):
            facts[a] = facts[a] or facts[b]
        if self.same_lanes[a] is None:
            self.same_lanes[a] = self.same_lanes[b]

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


INT_CASTS = ("TRUNC", "ZEXT", "SEXT")

# --- paths and commuted variants ------------------------------------------------------------------------------


def set_paths(n, path):
    n.path = path
    for k, a in enumerate(n.args):
        set_paths(a, f"{path}{k}")


def is_constant(n):
    return n.kind in ("int", "literal", "float")


def all_constant(n):
    return all(map(all_constant, n.args)) if n.kind == "op" else n.kind in ("int", "literal")


def commutes(n):
    equality = n.shape.op == "ICMP" and (n.predicate[0] in ("eq", "ne") or n.predicate[2] == "eqne")
    return (n.shape.arity > 1 and (n.shape.commutes or equality)
            and not is_constant(n.args[1]) and not is_constant(n.args[0]))


def commuted(pattern, bits):
    """A copy in which the k-th commuting op has its first two operands exchanged if bit k is set."""
    pattern = copy.deepcopy(pattern, {id(s): s for s in SHAPES.values()})
    for k, n in enumerate([n for n in pattern.ops() if commutes(n)]):
        if bits >> k & 1:
            n.args[:2] = n.args[1], n.args[0]
    return pattern


# --- C text of expressions ----------------------------------------------------------------------------------

out = []  # the C that is being written
temporaries = 0


def emit(text):
    out.append(text + "\n")


def check(condition):
    emit(f"if (!({condition})) break;")


def flags_text(flags):
    return " | ".join("INST_" + f.upper() for f in FLAGS if f in flags) or "0"


class Variant:
    """A rule with the operands of its commutative ops in some order. tests: path, label, arity."""

    def __init__(self, rule, bits):
        self.rule, self.pattern, self.result = rule, commuted(rule.pattern, bits), commuted(rule.result, 0)
        self.types, self.scope, self.tests = Types(), {}, []
        set_paths(self.pattern, "")
        self.types.infer(self.scope, self.pattern, True)
        self.note_witness(self.pattern)
        self.add_tests(self.pattern)

    def note_witness(self, n):
        a = self.types.find(n.type)
        if not self.types.witness[a] or n.kind == "op":
            self.types.witness[a] = f"i{n.path}->type" if n.kind == "op" else f"value_type(k->f, v{n.path})"
        for arg in n.args:
            self.note_witness(arg)

    def add_tests(self, n):
        label = n.shape.label if n.kind == "op" else "CLASS_FLOAT" if n.kind == "float" else "CLASS_INT"
        if n.path and n.kind != "value":
            self.tests.append((n.path, label, len(n.args)))
        for a in n.args:
            self.add_tests(a)

    def type_text(self, type_):
        a = self.types.find(type_)
        if self.types.witness[a]:
            return f"t{a}"
        if self.types.same_lanes[a] is not None:
            return f"bool_like(k, {self.type_text(self.types.same_lanes[a])})"
        if not self.types.is_bool[a]:
            fail("the type of a part of the result is not determined")
        return "TYPE_I1"  # the immediate of abs, ctlz, cttz

    def width_text(self, type_):
        return "1" if self.types.is_bool[self.types.find(type_)] else f"scalar_width(k, {self.type_text(type_)})"

    def function_text(self, n):
        width, a = self.width_text(n.type if n.shape.kind == "cast" else n.args[0].type), self.number_text(n.args[0])
        if n.shape.op == "SEXT":
            return f"fn_sext({self.width_text(n.args[0].type)}, {width}, {a})"
        if n.shape.op in INT_CASTS:
            return f"fn_cut({width}, {a})"
        if len(n.args) > 2:
            fail(f"`{n.shape.name}` of constants")
        return f"fn_{n.shape.name}({', '.join([width, a] + [self.number_text(b) for b in n.args[1:]])})"

    def number_text(self, n):
        """A constant expression as uint64_t."""
        if n.kind == "int":
            return "n" + self.scope[n.name].path
        if n.kind == "literal":
            return literal_text(n.name, self.width_text(n.type))
        if n.kind != "op":
            fail(f"`{n.name}` is no integer constant")
        return self.function_text(n)

    # --- a leaf: the rest of the checks ---

    def binding(self, name):
        """The comparison that binds a predicate variable: the first that names it without a modifier."""
        found = (n for n in self.pattern.ops() if n.predicate and n.predicate[:2] == (name, ""))
        return next(found, None)

    def check_predicate(self, n):
        name, modifier, class_ = n.predicate
        aux = f"i{n.path}->aux"
        if not name[0].isupper():
            check(f"{aux} == {n.shape.op}_{name.upper()}")
            return
        binding = self.binding(name)
        if not binding:
            fail(f"predicate `{name}` only with a modifier")
        if n is binding:
            if class_:
                check(f"predicate_is_{class_}({aux})")
        elif modifier:
            check(f"{aux} == {n.shape.op.lower()}_{modifier}(i{binding.path}->aux)")
        else:
            check(f"{aux} == i{binding.path}->aux")

    def check_node(self, n):
        """Whatever the classes of the operands did not say."""
        first, number, width = self.scope.get(n.name), f"n{n.path}", f"int_width(k, v{n.path})"
        if n.kind == "value" and first is not n:
            check(f"value_equal(v{n.path}, v{first.path})")
        elif n.kind == "int" and first is not n:
            check(f"{number} == n{first.path}")
        elif n.kind == "literal" and n.name[0] in "tf":
            check(f"{number} == {int(n.name[0] == 't')} && {width} == 1")
        elif n.kind == "literal":
            check(f"{number} == {n.name if n.name[0].isdigit() else literal_text(n.name, width)}")
        elif n.kind == "float":
            check(f"float_is(k, v{n.path}, {n.name})")
        elif n.kind == "op":
            if n.shape.kind == "compare":
                self.check_predicate(n)
            if n.flags:
                check(f"has_flags(i{n.path}, {flags_text(n.flags)})")
            if n.one_use:
                check(f"one_use(k, v{n.path})")
            for a in n.args:
                self.check_node(a)

    def condition_text(self, n):
        if n.shape.kind != "function":
            fail(f"`{n.shape.name}` is no condition")
        name, how, a = n.shape.name, n.shape.how, n.args[0]
        if how == "w":
            return self.function_text(n)
        if how == "t":
            return f"type_is_{name}(k, {self.type_text(a.type)})"
        if how == "f":
            return (f"fn_{name}({self.width_text(a.type)}, {self.width_text(n.args[1].type)}, "
                    f"{self.number_text(a)})")
        if a.kind != "value" and not (a.kind == "op" and a.name):
            fail(f"`{name}` of what is no variable")
        others = [f", v{self.scope[b.name].path}" if how == "V" else f", {self.number_text(b)}" for b in n.args[1:]]
        return f"known_{name}(k, v{self.scope[a.name].path}{''.join(others)})"

    # --- a leaf: building the result ---

    def predicate_text(self, n):
        name, modifier, _ = n.predicate
        if not name[0].isupper():
            return f"{n.shape.op}_{name.upper()}"
        first = self.binding(name)
        if not first:
            fail(f"predicate `{name}` does not occur in the pattern")
        return f"{n.shape.op.lower()}_{modifier}(p{first.path})" if modifier else f"p{first.path}"

    def result_flags(self, n, is_root):
        flags = flags_text(n.flags)
        if n.shape.kind == "float" or n.shape.op in ("FCMP", "FPTRUNC", "FPEXT"):
            fast = "".join(f" & f{p.path}" for p in self.pattern.ops()
                           if p.shape.kind == "float" or (p.shape.fast and p.shape.kind != "select"))
            flags += f" | (INST_FAST{fast}{'' if is_root else ' & ~(INST_NNAN | INST_NINF)'})"
        for flag in (f for f in FLAGS if f in n.optional_flags):
            having = " & ".join(f"f{p.path}" for p in self.pattern.ops() if flag in p.optional_flags)
            if not having:
                fail(f"flag `{flag}?` does not occur in the pattern")
            flags += f" | ({having} & INST_{flag.upper()})"
        return flags

    def build(self, n, is_root=False):
        """Writes the code that makes n; returns the C expression of its value."""
        global temporaries
        if n.kind == "value" or (n.kind == "op" and n.name in self.scope):
            return "v" + self.scope[n.name].path
        if n.kind == "float":
            return f"make_float(k, {self.type_text(n.type)}, {n.name})"
        if all_constant(n) and not (n.kind == "op" and n.shape.kind == "compare"):
            return f"make_int(k, {self.type_text(n.type)}, {self.number_text(n)})"
        args = ", ".join([self.build(a) for a in n.args])
        flags, type_ = self.result_flags(n, is_root), self.type_text(n.type)
        made, temporaries = f"r{temporaries}", temporaries + 1
        if n.shape.intrinsic:
            how = f"build_call(k, root, INTRINSIC_{n.shape.name}, {flags}, {type_}"
        else:
            aux = self.predicate_text(n) if n.predicate else "0"
            how = f"build_op(k, root, OP_{n.shape.op}, {flags}, {type_}, {aux}"
        emit(f"struct nvm_value {made} = {how}, {len(n.args)}, (const struct nvm_value[]){{{args}}});")
        return made

    def check_casts(self, n):
        """Casts of the result must be casts: to a wider or narrower type with as many lanes."""
        if n.kind != "op" or n.name:
            return
        for a in n.args:
            self.check_casts(a)
        if n.shape.op in INT_CASTS and not all_constant(n):
            check(f"can_{'narrow' if n.shape.op == 'TRUNC' else 'widen'}(k, {self.type_text(n.args[0].type)}, "
                  f"{self.type_text(n.type)})")

    def check_numbers(self, n):
        """Numbers have 64 bits here: only 0 and 1 can be made for wider types."""
        if n.kind == "op" and not all_constant(n):
            for a in n.args if not n.name else []:
                self.check_numbers(a)
        elif all_constant(n) and not self.types.is_bool[self.types.find(n.type)] and n.name not in ("0", "1"):
            check(f"scalar_width(k, {self.type_text(n.type)}) <= 64")

    def check_types(self, before):
        """Types that the result wants to be one although the pattern does not say so."""
        roots = [a for a in range(len(before.parent)) if before.find(a) == a and before.witness[a]]
        for a in roots:
            now = self.types.find(a)
            for b in roots:
                if b < a and self.types.find(b) == now:
                    check(f"type_equal(t{a}, t{b})")
                    break
            for facts, then, test in ((self.types.is_int, before.is_int, "type_is_int_or_vector(&k->m->types, t%d)"),
                                      (self.types.is_float, before.is_float,
                                       "type_is_float_or_vector(&k->m->types, t%d)"),
                                      (self.types.is_bool, before.is_bool, "type_is_bool(k, t%d)")):
                if facts[now] and not then[a]:
                    check(test % a)

    def emit_leaf(self):
        gen_table.line = self.rule.line
        emit(f"do {{ /* {self.rule.name} */")
        self.check_node(self.pattern)
        before = copy.deepcopy(self.types)
        self.types.infer(self.scope, self.result, False)
        self.types.unify(self.pattern.type, self.result.type)
        for a, witness in enumerate(before.witness):
            if before.find(a) == a and witness:
                emit(f"struct nvm_type t{a} = {witness}; (void)t{a};")
        self.check_types(before)
        for c in copy.deepcopy(self.rule.conditions, {id(s): s for s in SHAPES.values()}):
            for n in c.args if c.shape.how == "f" else [c]:
                self.types.infer(self.scope, n, False)
            check(self.condition_text(c))
        self.check_casts(self.result)
        self.check_numbers(self.result)
        for n in self.pattern.ops():  # what they say, before building moves them
            emit(f"uint16_t f{n.path} = i{n.path}->flags; (void)f{n.path};")
            if n.predicate:
                emit(f"uint32_t p{n.path} = i{n.path}->aux; (void)p{n.path};")
        value = self.build(self.result, True)
        emit(f'k->rule = "{self.rule.name}";\nreturn {value};\n}} while (0);')


def literal_text(name, width):
    if name in ("true", "false"):
        return str(int(name == "true"))
    if name in ("MIN", "MAX"):
        return f"fn_{name.lower()}({width})"
    if name == "WIDTH":
        return f"(uint64_t){width}"
    if name[0] == "-":
        return f"fn_cut({width}, (uint64_t)INT64_C({name}))"
    return name if name in ("0", "1") else f"fn_cut({width}, UINT64_C({name}))"


# --- the tree --------------------------------------------------------------------------------------------------

def grouped(items, key):
    """Items by key, in the order in which the keys first occur."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.items()


def emit_operands(path, arity):
    for k in range(arity):
        emit(f"struct nvm_value v{path}{k} = inst_operand(k->f, i{path}, {k}); (void)v{path}{k};")


def emit_tree(variants, depth):
    """The variants that look at one path next: a switch, with a case for each class; then leaves."""
    deeper = [v for v in variants if len(v.tests) > depth]
    for path, same_path in grouped(deeper, lambda v: v.tests[depth][0]):
        emit(f"switch (class_of(k, v{path})) {{")
        for label, same in grouped(same_path, lambda v: v.tests[depth][1]):
            emit(f"case {label}: {{")
            arity = same[0].tests[depth][2]
            if arity:
                emit(f"const struct nvm_inst *i{path} = inst_of(k, v{path}); (void)i{path};")
            emit_operands(path, arity)
            if label == "CLASS_INT":
                emit(f"uint64_t n{path} = int_bits(k, v{path}); (void)n{path};")
            emit_tree(same, depth + 1)
            emit("break;\n}")
        emit("default: break;\n}")
    for v in variants:
        if len(v.tests) == depth:
            v.emit_leaf()


rules, variants = {}, []


def read_row(text):
    rule = Rule(text)
    if rule.name in rules:
        fail(f"rule `{rule.name}` exists")
    rules[rule.name] = rule
    commuting = sum(map(commutes, rule.pattern.ops()))
    if commuting > 4:
        fail("too many commutative ops")
    variants.extend(Variant(rule, bits) for bits in range(1 << commuting))


def emit_all():
    """Emitting finds faults too, so it is done before anything is written."""
    roots = [(same[0].pattern.shape, same) for _, same in grouped(variants, lambda v: v.pattern.shape.label)]
    for shape, same in roots:
        emit(f"static struct nvm_value try_{shape.c}(struct combiner *k, struct nvm_inst_id root) {{\n"
             "const struct nvm_inst *i = function_inst(k->f, root); (void)i;")
        emit_operands("", shape.arity)
        emit_tree(same, 0)
        emit("return VALUE_NULL;\n}\n")
    emit("static struct nvm_value try_rules(struct combiner *k, struct nvm_inst_id root) {\n"
         "switch (class_of(k, value_of_inst(root))) {")
    for shape, _ in roots:
        emit(f"case {shape.label}: return try_{shape.c}(k, root);")
    emit(f"default: return VALUE_NULL;\n}}\n}}\nenum {{ COMBINE_RULE_COUNT = {len(rules)} }};")


gen_table.main(read_row, emit_all,
               {"combine.inc": lambda: "/* Made by gen_combine from opt/combine.rules. */\n" + "".join(out)})
