"""gen_intrinsics: turns ir/intrinsics.def into intrinsics.h (enum intrinsic_id) and intrinsics.inc (table
rows; forms for codegen). Run at build: gen_intrinsics.py TABLE NAMES OUTDIR.

Problem: some thousand intrinsics differ in a word or two, and each must be known by name, have its type
checked, and become its PTX instruction.
Approach: a row of the table is a pattern; its alternatives are expanded here, the signature is checked,
and the PTX form is cut into an instruction name, modifiers and operands. These are written as C identifiers
(PTX_SHFL, PTX_MOD_BFLY, ...), so that a word that ptx/ops.def lacks stops the build. The language of the
table is described at its top.

intrinsics.inc has five parts, each chosen by a macro that the reader defines:
  INTRINSIC_ROWS     initializers of struct intrinsic_info, in the order of enum intrinsic_id, which is the
                     order of strcmp
  INTRINSIC_WORDS    the forms, one after the other, as 16-bit words (ptx/form.h)
  INTRINSIC_FORMS    per intrinsic: its handler or that of lanes with their number of arguments, if it has
                     one, the handler's argument, its requirement
  INTRINSIC_OFFSETS  per intrinsic: where its form starts, 0: it has none
  INTRINSIC_NEEDS    the distinct requirements, as initializers of struct tgt_requirement"""
import itertools
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "target"))
import gen_table
from gen_table import c_name, fault

MAX_GROUPS, MAX_VALUES = 12, 5
EFFECTS = {"pure": "INTRIN_SPECULATABLE", "const": "0", "reads": "INTRIN_READS", "writes": "INTRIN_WRITES",
           "argmem": "INTRIN_ARGMEM", "convergent": "INTRIN_CONVERGENT", "noreturn": "INTRIN_NORETURN",
           "commutes": "INTRIN_COMMUTES"}

rows = []


class Row:
    """One intrinsic. handler: as C, or None; code: the words of its form."""

    def __init__(self, name, signature, effects, ptx, needs):
        self.name, self.ptx, self.line = name, ptx, gen_table.line
        self.handler = self.code = None
        if not re.fullmatch(r"llvm[.][\w.]*", name, re.ASCII):
            fault(f"'{name}' is no name of an intrinsic")
        self.flags = read_effects(effects)
        self.need = gen_table.find_need(needs)
        self.needs = list(gen_table.needs)[self.need]
        shape = read_signature(signature)
        if not shape:
            return
        self.signature, self.overloads = plain_signature(signature), len(shape.variables)
        if re.match("@[*A-Za-z]", ptx):
            self.read_handler(shape)
        elif not ptx:
            fault(f"'{name}' has neither PTX form nor handler nor refusal")
        elif ptx[0] != "!":
            self.code = Form(ptx, shape).code

    def read_handler(self, shape):
        """`@handler(argument)` or, for each lane of all arguments but constants, `@*handler(argument)`."""
        name, open_, argument = self.ptx[1:].partition("(")
        if open_ and argument[-1:] != ")":
            fault(f"')' is missing in '{self.ptx}'")
        lanes = f"0, lane_{name[1:]}, {shape.arguments - shape.constants}"
        self.handler = (lanes if name[0] == "*" else f"lower_i_{name}, 0, 0") + f", {argument[:-1] if open_ else 0}"


# --- patterns: {a,b=x/y,c} in the name, <1> <1b> elsewhere -----------------------------------------------

def read_alternative(text):
    """What it puts into the name, and its values for <k> <kb> ..."""
    piece, equals, values = text.strip().partition("=")
    values = [v.rstrip() for v in values.split("/")] if equals else [piece]
    if len(values) > MAX_VALUES:
        fault(f"more than {MAX_VALUES} values in an alternative")
    return piece.rstrip(), values


def substituted(text, chosen):
    def value(m):
        k, which = int(m[1]) - 1, m[2]
        values = chosen[k][1] if 0 <= k < len(chosen) else []
        v = "abcdef".index(which or "a") if which != "n" else 0
        if not m[3] or v >= len(values):
            fault(f"'<{k + 1}…' names no alternative of the name")
            return ""
        return chosen[k][0] if which == "n" else values[v]
    return re.sub("<([0-9]+)([b-fn]?)(>?)", value, text).strip()


def read_row(text):
    *columns, form = text.split("|", 3)
    ptx, _, needs = form.partition(" | ")  # a form may hold a|b
    columns = [c.strip() for c in columns + [ptx, needs]]
    if len(columns) < 5 or not all(columns[:4]):
        fault("a row is NAME | SIGNATURE | EFFECTS | PTX | NEEDS")
        return
    parts = re.split("[{]([^}]*)[}]", columns[0])
    if "{" in "".join(parts[::2]) or len(parts) // 2 > MAX_GROUPS:
        fault(f"a '{{' without '}}', or more than {MAX_GROUPS} groups")
        return
    groups = [[read_alternative(a) for a in part.split(",")] for part in parts[1::2]]
    for chosen in itertools.product(*groups):
        name = parts[0] + "".join(piece + rest for (piece, _), rest in zip(chosen, parts[2::2]))
        texts = [substituted(c, chosen) for c in [name] + columns[1:]]
        if not gen_table.faults:
            rows.append(Row(*texts))


# --- signatures ------------------------------------------------------------------------------------------

class Unreadable(Exception):
    pass


class Scanner:
    def __init__(self, text):
        self.rest = text

    def take(self, pattern):
        """The match of a pattern, off the text, or None."""
        m = re.match(pattern, self.rest)
        if m:
            self.rest = self.rest[m.end():]
        return m

    def skip(self):
        self.rest = self.rest.lstrip(" ")

    def need(self, pattern):
        m = self.take(pattern)
        if not m:
            raise Unreadable
        return m


class Shape:
    """What a form may refer to: labels are first argument and count by name."""

    def __init__(self):
        self.arguments, self.constants, self.has_result, self.variadic = 0, 0, False, False
        self.labels, self.variables = {}, set()


SCALAR = "(?:b?f16|f32|f64|h16|h32)(?![0-9A-Za-z])"


def read_type(s, shape):
    """A type; returns how often it stands there."""
    if s.rest[:1] in ("{", "["):
        separator, close = ",", {"{": "}", "[": "]"}[s.need(".")[0]]
        while separator == ",":
            s.skip()
            read_type(s, shape)
            s.skip()
            separator = s.need(".")[0]
        if separator != close:
            raise Unreadable
        return 1
    if s.take("(?:token|void)(?![0-9A-Za-z])"):
        return 1
    if not s.take("metadata(?![0-9A-Za-z])"):
        vector = s.take("v[0-9]+")
        scalar = s.take(SCALAR) or (s.take("[ip]") and s.need("[0-9]+"))
        if vector and not scalar:
            raise Unreadable
        if s.take("@") or not scalar:
            shape.variables.add(s.need("[IFPTS][0-9]?")[0])
    return int(s.need("[0-9]+")[0]) if s.take("[*]") else 1


def read_argument(s, shape):
    if s.take(r"[.]{3}"):
        shape.variadic = True
        return
    label = s.take("([a-z]{1,15})=")
    constant = s.take("imm(?![0-9A-Za-z])")
    s.skip()
    repeat = read_type(s, shape)
    shape.constants += repeat if constant else 0
    if label:
        shape.labels[label[1]] = shape.arguments, repeat
    shape.arguments += repeat


def read_signature(signature):
    """`RESULT (ARGUMENTS)`, and alternatives after `;`, of which the first counts. None after a fault."""
    shape, s = Shape(), Scanner(signature)
    if signature == "*":
        shape.variadic = True
        return shape
    shape.has_result = not signature.startswith("void")
    try:
        if read_type(s, shape) != 1:
            raise Unreadable
        s.skip()
        s.need("[(]")
        while not s.take("[)]"):
            s.skip()
            read_argument(s, shape)
            s.skip()
            if not s.take(",") and s.rest[:1] != ")":
                raise Unreadable
        if s.take(";"):
            s.skip()
            return shape if read_signature(s.rest) else None
        if s.rest:
            raise Unreadable
        return shape
    except Unreadable:
        fault(f"the signature '{signature}' can't be read at '{s.rest}'")
        return None


def plain_signature(text):
    """Without labels, arguments of which there are none, and `*1`."""
    text = re.sub("([,(] ?)[a-z]+=", r"\1", text)
    return re.sub("[*]1(?=[,)])", "", re.sub("(?:, ?|(?<=[(]))[^,(]*[*]0(?=[,)])", "", text))


# --- PTX forms ---------------------------------------------------------------------------------------------

class Form:
    """`code` is the words of a form (ptx/form.h) as C."""

    def __init__(self, ptx, shape):
        self.ptx, self.shape, self.code = ptx, shape, []
        for instruction in filter(None, ptx.split(";")):
            self.read_instruction(instruction.strip())
        self.code.append("PTX_NONE")

    def add_argument(self, k, part=None):
        if k >= self.shape.arguments and not self.shape.variadic:
            fault(f"there is no argument {k}")
        self.code.append(f"FORM_ARG | {k} << 6 | {'FORM_ALL' if part is None else part}")

    def label(self, s):
        """First argument and count of the label that comes next, or None."""
        for name, range_ in self.shape.labels.items():
            if s.take(name + "(?![0-9A-Za-z])"):
                return range_
        return None

    def argument_name(self, s):
        """The argument that `$3` or `$label` means, behind the dollar sign."""
        number = s.take("[0-9]+")
        label = None if number else self.label(s)
        if number or label:
            return int(number[0]) if number else label[0]
        fault(f"'${s.rest}' names no argument")
        s.rest = ""
        return 0

    def part(self, s):
        number = s.take("[.]") and s.take("[0-9]+")
        if number is not None and not number:
            fault("a part's number is missing")
        return int(number[0]) if number else None

    def read_reference(self, s):
        """d d.1 3 3.0 label 2:5 p1, behind the dollar sign. Returns how many operands it is."""
        number = s.take("[0-9]+")
        if number:
            k = int(number[0])
            part = self.part(s)
            if not s.take(":"):
                self.add_argument(k, part)
                return 1
            last = s.take("[0-9]+")
            if not last or int(last[0]) < k:
                fault(f"'${k}:' needs a last argument")
                return 0
            for i in range(k, int(last[0]) + 1):
                self.add_argument(i)
            return int(last[0]) - k + 1
        if s.take("d(?![0-9A-Za-z])"):
            part = self.part(s)
            if not self.shape.has_result:
                fault("'$d' in a form without result")
            self.code.append(f"FORM_RESULT | {'FORM_ALL' if part is None else part}")
            return 1
        temporary = s.take("([phrlfebq])([0-9]+)")  # p, 16, 32, 64 bits, f32, f64, 8, 128 bits
        if temporary:
            self.code.append(f"FORM_TEMP | {'phrlfebq'.index(temporary[1])} << 4 | {temporary[2]}")
            return 1
        label = self.label(s)
        if label:
            for k in range(label[1]):
                self.add_argument(label[0] + k)
            return label[1]
        fault(f"'${s.rest}' names nothing")
        s.rest = ""
        return 0

    def read_operands(self, s, close):
        """The operands up to `close`; returns their number."""
        count = 0
        while s.rest and s.rest[:1] != close:
            count += self.read_operand(s)
            s.skip()
            if not s.take(",") and s.rest[:1] != close:
                break
            s.skip()
        if s.rest[:1] != close:
            fault(f"'{close}' is missing in '{self.ptx}'")
        s.rest = s.rest[1:]
        return count

    def read_group(self, s, close, kind):
        """A group's head says how many operands follow; one of a label of no arguments is nothing."""
        at = len(self.code)
        count = self.read_operands(s, close)
        if count:
            self.code.insert(at, f"{kind} | {count}")
        return int(count > 0)

    def read_address(self, s):
        """[$0] [$label] [$0, {...}]; nothing for a label of no arguments."""
        simple = re.match(r"\[[$]([0-9]+|[a-z]+)\]", s.rest)
        label = self.shape.labels.get(simple[1]) if simple else None
        if not simple or not (label or simple[1].isdigit()):
            s.rest = s.rest[1:]
            return self.read_group(s, "]", "FORM_TENSOR")
        s.rest = s.rest[simple.end():]
        k = label[0] if label else int(simple[1])
        if label and label[1] == 0:
            return 0
        if k >= self.shape.arguments:
            fault(f"there is no argument {k}")
        self.code.append(f"FORM_ADDRESS | {k}")
        return 1

    def read_plain_operand(self, s):
        if s.rest[:1] == "[":
            return self.read_address(s)
        if s.take("[$]"):
            return self.read_reference(s)
        if s.take("[{]"):
            return self.read_group(s, "}", "FORM_VECTOR")
        if s.take("!"):
            self.code.append("FORM_NOT")
            return self.read_operand(s)
        special, number = s.take(r"%([\w.]*)"), s.take("-?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
        if s.take("_"):
            self.code.append("FORM_SINK")
        elif special:
            self.code += ["FORM_SPECIAL", "PTX_SPECIAL_" + c_name(special[1])]
        elif number and -32768 <= int(number[0], 0) <= 32767:
            self.code += ["FORM_INT", f"(uint16_t){int(number[0], 0)}"]
        else:
            fault(f"the operand '{number[0] if number else ''}{s.rest}' can't be read")
            s.rest = ""
            return 0
        return 1

    def read_operand(self, s):
        """An operand, a pair `a|b`, or `?$6 a` that stands only where constant argument 6 is not 0."""
        at, flag = len(self.code), None
        if s.take("[?][$]"):
            flag = self.argument_name(s)
            s.skip()
        count = self.read_plain_operand(s)
        words = len(self.code) - at
        if s.take("[|]"):
            self.code.insert(at, "FORM_PAIR | 2")
            self.read_plain_operand(s)
        if flag is not None:
            self.code.insert(at, f"FORM_IF | {words} << 6 | {flag}")
        return count

    def word_modifier(self, word):
        self.code.append("PTX_MOD_" + ("NAN_RESULT" if word == "NaN" else c_name(word) or "NONE"))

    def read_choice(self, text):
        """`3(a|b|)`, `3:4(...)`: the word that one or two constant arguments choose."""
        s = Scanner(text)
        first, second = self.argument_name(s), 63
        if s.take(":[$]?"):
            second = self.argument_name(s)
        words = s.rest[1:-1].split("|")
        if not re.fullmatch("[(].*[)]", s.rest) or len(words) > 63:
            fault("a choice is `$argument(word|word…)`")
        self.code += [f"FORM_MOD_CHOICE | {len(words)} << 6 | {first}", str(second)]
        for word in words:
            self.word_modifier(word)

    def read_modifier(self, word):
        """A word of PTX; `$0` is the state space of argument 0, `ftz?` is .ftz where denormals are flushed,
        `u?` the result's unsigned type, `s?0` that of argument 0."""
        if "(" in word:
            self.read_choice(word[1:])
        elif word[:1] == "$":
            self.code.append(f"FORM_MOD_SPACE | {word[1:]}")
        elif word == "ftz?":
            self.code.append("FORM_MOD_FTZ")
        elif word[1:2] == "?":
            if word[0] not in "busf" or len(word) > 3:
                fault(f"'.{word}' is no modifier")
            self.code.append(f"FORM_MOD_TYPE | {'busf'.find(word[0])} << 8 | {word[2:] or 'FORM_TYPE_RESULT'}")
        else:
            self.word_modifier(word)

    def read_instruction(self, text):
        guard = None
        if text[0] == "@":
            guard, _, text = text[1:].partition(" ")
        opcode, _, text = text.strip().partition(" ")
        op, *modifiers = opcode.split(".")
        self.code += ["PTX_" + c_name(op), str(len(modifiers))]
        for word in modifiers:
            self.read_modifier(word)
        at, count, s = len(self.code), 0, Scanner(text.strip())
        if guard:
            self.read_operand(Scanner(guard))
        if s.rest and s.rest != "-":
            count = self.read_operands(s, "")
        elif not s.rest:
            if self.shape.has_result:
                self.code.append("FORM_RESULT | FORM_ALL")
            for i in range(self.shape.arguments):
                self.add_argument(i)
            count = self.shape.has_result + self.shape.arguments
        self.code.insert(at, f"{count}{' | FORM_GUARDED' if guard else ''}")


# --- rows -----------------------------------------------------------------------------------------------

def read_effects(text):
    for word in text.split():
        if word not in EFFECTS:
            fault(f"unknown effect '{word}'")
    return " | ".join(EFFECTS.get(word, "") for word in text.split())


def sort_rows():
    """Sorts and refuses names that are there twice."""
    rows.sort(key=lambda row: row.name)
    for before, row in zip(rows, rows[1:]):
        if row.name == before.name:
            fault(f"'{row.name}' is there already, line {before.line}", row.line)


# --- output -----------------------------------------------------------------------------------------------

def header():
    ids = [re.sub("[^0-9A-Za-z]", "_", row.name[len("llvm."):]) for row in rows]  # nvvm.shfl.sync: nvvm_shfl_sync
    return ("/* Made by gen_intrinsics from ir/intrinsics.def. */\n#ifndef NVM_INTRINSICS_H\n"
            "#define NVM_INTRINSICS_H\n\nenum intrinsic_id {\n  INTRINSIC_NONE,\n"
            + "".join(f"  INTRINSIC_{i},\n" for i in ids) + "  INTRINSIC_COUNT\n};\n\n#endif\n")


def tables():
    offsets, at = [], 1
    for row in rows:
        offsets.append(f"{at if row.code else 0},\n")
        at += len(row.code or ())
    ptx = [re.sub(r'(["\\])', r"\\\1", row.ptx) for row in rows]
    parts = {
        "ROWS": "".join(f'{{"{row.name}", "{row.signature}", "{p}", {row.flags}, {row.overloads}, "{row.needs}"}},\n'
                        for row, p in zip(rows, ptx)),
        "WORDS": "PTX_NONE,\n" + "".join(f"/* {row.name} */ {', '.join(row.code)},\n" for row in rows if row.code),
        "FORMS": "".join(f"{{{row.handler or '0, 0, 0, 0'}, {row.need}}},\n" for row in rows),
        "OFFSETS": "".join(offsets),
        "NEEDS": "".join(f"{c},\n" for _, c in gen_table.needs.values())}
    return ("/* Made by gen_intrinsics from ir/intrinsics.def. */\n"
            + "".join(f"#ifdef INTRINSIC_{name}\n{text}#endif\n" for name, text in parts.items()))


gen_table.main(read_row, sort_rows, {"intrinsics.h": header, "intrinsics.inc": tables})
