"""gen_ptx: turns ptx/ops.def into ptx_ops.h (enums) and ptx_ops.inc (tables).
Run at build: gen_ptx.py TABLE NAMES OUTDIR.

Problem: PTX has some hundred instruction names but ten thousands of legal modifier sequences, and each
sequence has its own operands and its own lowest target.
Approach: a row of the table is a pattern over modifier words with its operands and requirement (syntax:
head of ops.def). All patterns of an op become one nondeterministic automaton, which is made deterministic
here. Patterns have no loops, so the automaton has none, and states are made depth first and interned by
their content: the result is the minimal automaton, and equal tails are shared between ops.

  add:  (0) -.s32-> (1: form 3)         checking an instruction is walking its modifiers, one
         |  -.rn--> (2) -.f32-> (1')    binary search a word; the state reached names the forms
         |  -.f32-> (1')                whose operands may follow"""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "target"))
import gen_table
from gen_table import c_name, fault, find_need


class Word:
    """A modifier, op or special register. bits: of a modifier that is a type; need: what it always
    requires, op_need: inside the op that is being read; state: of an op, its automaton's first."""

    def __init__(self, text, name=None):
        self.text, self.id, self.line = text, name or c_name(text), gen_table.line
        self.bits, self.kind, self.need, self.op_need, self.type, self.issue, self.state = 0, 0, 0, 0, 0, 0, -1


class Form:
    def __init__(self, issue):
        self.line, self.issue, self.need = gen_table.line, issue, 0
        self.first_shape = self.shape_count = self.dest_count = self.min_count = 0


mods, ops, specials = [Word("")], [Word("")], [Word("")]  # by number from 1
mod_numbers = {}
sets, classes = {}, {}  # modifiers by set; texts by class
forms, shapes = [], []
group = []  # the ops that are being read
patterns = []  # of them, with the form that each accepts


def mod_number(text):
    """The modifier `.text`, entered if new; None if it is no word."""
    if not re.fullmatch("[0-9A-Za-z_:]{1,60}", text):
        fault(f"'.{text}' is no modifier word")
        return None
    if text not in mod_numbers:
        word = Word("." + text)
        for other in mods:
            if other.id == word.id:
                fault(f"modifiers '{other.text}' and '{word.text}' have the same name in C")
        add_mod(word)
    return mod_numbers[text]


def add_mod(word):
    mod_numbers[word.text[1:]] = len(mods)
    mods.append(word)


def issue_number(name):
    if name not in classes:
        fault(f"unknown class '{name}'")
        return 0
    return list(classes).index(name)


# --- operands -----------------------------------------------------------------------------------------

SHAPES = ("VALUE VECTOR PAIR PAIR_OPTIONAL PACK ADDRESS TENSOR IMMEDIATE LABEL SYMBOL CALLEE LIST ANY").split()
PLAIN = {"addr": "ADDRESS", "tensor": "TENSOR", "imm": "IMMEDIATE", "label": "LABEL", "sym": "SYMBOL",
         "callee": "CALLEE", "list": "LIST", "any": "ANY", "pack": "PACK"}
TYPE_REFERENCES = ["t", "t1", "t2", "t3", "t4", "w"]  # -1 to -6: the n-th type modifier of the instruction


def type_number(text):
    """A modifier that is a type, or below 0 a reference to one; None if it is none."""
    if text in TYPE_REFERENCES:
        return -1 - TYPE_REFERENCES.index(text)
    number = mod_numbers.get(text)
    return number if number and mods[number].bits else None


def read_shape(word):
    """An operand, see the head of ops.def: kind, count, relaxed, type; whether it may be missing."""
    optional = len(word) > 1 and word.endswith("?")
    text = word[:-1] if optional else word
    kind, count, relaxed = PLAIN.get(text), 0, False
    if kind:
        return (kind, 0, False, 0), optional
    relaxed = len(text) > 1 and text.endswith("~")
    m = re.fullmatch("(?:v([*]|[1-9][0-9]*)?:)?([^:|]+)([|]{1,2}pred)?", text[:-1] if relaxed else text)
    if not m or type_number(m[2]) is None:
        fault(f"'{word}' is no operand")
        return ("VALUE", 0, False, 0), optional
    kind = "VECTOR" if ":" in text else {None: "VALUE", "|pred": "PAIR_OPTIONAL", "||pred": "PAIR"}[m[3]]
    count = 255 if m[1] == "*" else int(m[1] or 0)  # 0: as .v2, .v4, .v8 says; none: a value
    return (kind, count, relaxed, type_number(m[2])), optional


def read_operands(text, form):
    found, seen_optional = [], False
    for word in text.split():
        if word == "-":
            continue
        if word[0] == "@":
            form.issue = issue_number(word[1:])
        elif word == "<-":
            form.dest_count = len(found)
        else:
            shape, optional = read_shape(word)
            if seen_optional and not optional:
                fault("an operand that must stand follows an optional one")
            seen_optional |= optional
            form.min_count += not optional
            found.append((shape, optional))
    found = [(*shape, optional, i < form.dest_count) for i, (shape, optional) in enumerate(found)]
    form.shape_count = n = len(found)
    starts = range(len(shapes) - n + 1)  # equal operand lists are stored once
    form.first_shape = next((i for i in starts if shapes[i:i + n] == found), len(shapes))
    if form.first_shape == len(shapes):
        shapes.extend(found)


# --- patterns: as trees, then as nondeterministic states -----------------------------------------------

class PatternFault(Exception):
    pass


def read_alternatives(tokens):
    """Alternatives of sequences of items, each ("mod", number), ("set", name), ("any", alternatives) or
    ("optional", item). Takes what it reads off `tokens`."""
    alternatives = [[]]
    while tokens and tokens[0] != ")":
        token = tokens.pop(0)
        if token == "|":
            alternatives.append([])
            continue
        if token == "(":
            item = ("any", read_alternatives(tokens))
            if not tokens:
                raise PatternFault("missing ')'")
            tokens.pop(0)
        elif token[0] == ".":
            number = mod_number(token[1:])
            if number is None:
                raise PatternFault(None)
            item = ("mod", number)
        elif token[0] == "$" and token[1:] in sets:
            item = ("set", token[1:])
        else:
            raise PatternFault(f"unknown set '{token}'" if token[0] == "$" else
                               f"can't read the pattern at '{token + ''.join(tokens)}'")
        if tokens and tokens[0] == "?":
            tokens.pop(0)
            item = ("optional", item)
        alternatives[-1].append(item)
    return alternatives


states_read = []  # nondeterministic states: a modifier and what follows it, or None and the form accepted


def state(mod, what):
    states_read.append((mod, what))
    return frozenset([len(states_read) - 1])


def starts_of(item, after):
    """The states in which an item can begin that `after` follows; sets of them stand for choices."""
    kind, value = item
    if kind == "mod":
        return state(value, after)
    if kind == "set":
        return frozenset().union(*(state(mod, after) for mod in sets[value]))
    if kind == "optional":
        return starts_of(value, after) | after
    starts = frozenset()
    for sequence in value:
        begin = after
        for part in reversed(sequence):
            begin = starts_of(part, begin)
        starts |= begin
    return starts


# --- deterministic states ------------------------------------------------------------------------------

states, state_numbers = [], {}  # each its steps (modifier, next state, need) and forms; numbers by content
made = {}  # numbers by set of nondeterministic states


def check_distinct(accepted):
    """Two forms that no operand tells apart are a mistake in the table."""
    for i, a in enumerate(accepted):
        for b in accepted[i + 1:]:
            x, y = forms[a], forms[b]
            if (x.shape_count, x.dest_count, x.first_shape) == (y.shape_count, y.dest_count, y.first_shape):
                fault(f"some instruction of this form is one of line {x.line} too", y.line)


def determined(begin):
    """The number of the deterministic state for a set of nondeterministic ones."""
    if begin not in made:
        after = {}
        for mod, what in (states_read[s] for s in begin):
            after.setdefault(mod, []).append(what)
        accepted = tuple(sorted(after.pop(None, ())))
        targets = [(mod, determined(frozenset().union(*after[mod]))) for mod in sorted(after)]
        check_distinct(accepted)
        content = tuple((mod, to, mods[mod].op_need or mods[mod].need) for mod, to in targets), accepted
        if content not in state_numbers:
            state_numbers[content] = len(states)
            states.append(content)
        made[begin] = state_numbers[content]
    return made[begin]


def finish_group():
    """Closes the group of ops that is being read."""
    if group and not patterns:
        fault(f"op '{group[0].text}' has no form", group[0].line)
    elif group and not gen_table.faults:
        number = determined(frozenset().union(*(starts_of(("any", p), state(None, form)) for p, form in patterns)))
        for op in group:
            op.state = number
    for mod in mods:
        mod.op_need = 0
    group.clear()
    patterns.clear()


# --- rows ------------------------------------------------------------------------------------------------

def read_form(row):
    parts = [p.strip() for p in f" {row} ".split(" : ", 2)]
    if not group:
        fault("a form outside an op")
    elif len(parts) < 2:
        fault("a form is `pattern : operands [: requirement]`")
    else:
        form = Form(group[0].issue)
        read_operands(parts[1], form)
        form.need = find_need(parts[2]) if len(parts) > 2 else 0
        forms.append(form)
        tokens = re.findall(r"[.$][\w:]*|\S", "" if parts[0] == "-" else parts[0])
        try:
            pattern = read_alternatives(tokens)
            if tokens:
                raise PatternFault(f"can't read the pattern at '{''.join(tokens)}'")
            patterns.append((pattern, len(forms) - 1))
        except PatternFault as what:
            if what.args[0]:
                fault(what)


def expand_braces(word):
    """The words that `a{x,y}b`, `a{0-31}` or `a{8-64/8}` stands for."""
    m = re.fullmatch("([^{]*)[{]([^}]*)[}](.*)", word)
    if not m:
        return [word]
    count = re.fullmatch("([0-9]+)-([0-9]+)(?:/([0-9]+))?", m[2])
    inner = range(int(count[1]), int(count[2]) + 1, int(count[3] or 1)) if count else m[2].split(",")
    return [f"{m[1]}{x}{m[3]}" for x in inner]


def read_words(text):
    """`.a $set ...` as a list of modifiers."""
    found = []
    for word in text.split():
        if word[0] == ".":
            found += [mod_number(w) for w in expand_braces(word[1:])]
        elif word[0] == "$" and word[1:] in sets:
            found += sets[word[1:]]
        else:
            fault(f"unknown set '{word}'" if word[0] == "$" else f"'{word}' is neither a modifier nor a set")
    if not found:
        fault("no modifiers")
    return [mod for mod in found if mod is not None]


def read_need(row, inside_op):
    words, colon, text = row.partition(" : ")
    if not colon:
        fault("a need is `need .word ... : requirement`")
        return
    need = find_need(text.strip())
    for mod in read_words(words):
        setattr(mods[mod], "op_need" if inside_op else "need", need)


def read_set(row):
    name, equals, words = row.partition("=")
    name = name.strip()
    if not equals:
        fault("a set is `set NAME = .word ...`")
    elif name in sets:
        fault(f"set '{name}' is there already")
    elif not re.fullmatch(r"[\w:]{1,31}", name):
        fault(f"'{name}' is no name of a set")
    else:
        sets[name] = read_words(words)


def read_name(row):
    """`name .WORD ID`: the C name of a word, where two would share one."""
    m = re.fullmatch(r"[.](\S+)\s+(\S+)", row)
    if not m:
        fault("a name is `name .word ID`")
    elif m[1] in mod_numbers:
        fault(f"'.{m[1]}' has a name already; move this row up")
    else:
        add_mod(Word("." + m[1], m[2]))


def read_type(row):
    m = re.fullmatch(r"[.](\S+)\s+([1-9][0-9]*)\s+([usbfxp])", row)
    if not m:
        fault("a type is `type .word BITS u|s|b|f|x|p`")
        return
    number = mod_number(m[1])
    if number and mods[number].bits:
        fault(f"type '.{m[1]}' is there already")
    elif number:
        mods[number].bits, mods[number].kind = int(m[2]), ord(m[3])


def read_special(row):
    """`special NAME TYPE [REQUIREMENT]`; NAME may hold {x,y,z} or {0-31}."""
    name, type_name, need = (row.split(None, 2) + ["", ""])[:3]
    number = type_number(type_name)
    if number is None or number < 0:
        fault("a special register is `special NAME TYPE [requirement]`")
        return
    need = find_need(need.strip())
    for text in expand_braces(name):
        if any(w.text == "%" + text for w in specials):
            fault(f"special '{text}' is there already")
        word = Word("%" + text)
        word.type, word.need = number, need
        specials.append(word)


def read_class(row):
    m = re.match(r'(\S+)\s+"([^"]+)"', row)
    if not m:
        fault('a class is `class NAME "text"`')
    else:
        classes[m[1]] = m[2]


def read_op(row):
    """`op NAME ... : CLASS`: starts a group of ops with the same forms."""
    finish_group()
    names, colon, issue = row.partition(" : ")
    if not colon:
        fault("an op is `op NAME ... : CLASS`")
        return
    issue = issue_number(issue.strip())
    for name in names.split():
        if not re.fullmatch("[0-9A-Za-z_:]{1,60}", name):
            fault(f"'{name}' is no op")
        for other in ops:
            if other.text == name:
                fault(f"op '{name}' is there already, line {other.line}")
        word = Word(name)
        word.issue = issue
        ops.append(word)
        group.append(word)


ROWS = {"set": read_set, "type": read_type, "special": read_special, "class": read_class, "op": read_op,
        "name": read_name, "mod": read_words}


def read_row(row):
    indented = row[0] in " \t"
    word, rest = (row.split(None, 1) + [""])[:2]
    if word == "need":
        read_need(rest, indented)
    elif indented:
        read_form(row)
    elif word in ROWS:
        ROWS[word](rest.strip())
    else:
        fault(f"unknown row '{word}'")


def finish():
    finish_group()
    if not gen_table.faults and not forms:
        fault("no op")


# --- output ----------------------------------------------------------------------------------------------

def header():
    return ("/* Made by gen_ptx from ptx/ops.def; do not edit. */\n"
            "#ifndef NVM_PTX_OPS_GENERATED_H\n#define NVM_PTX_OPS_GENERATED_H\n\n"
            "enum ptx_op {\n  PTX_NONE,\n" + "".join(f"  PTX_{op.id},\n" for op in ops[1:])
            + "  PTX_OP_COUNT,\n};\n\nenum ptx_mod {\n  PTX_MOD_NONE,\n"
            + "".join(f"  PTX_MOD_{mod.id}, /* {mod.text} */\n" for mod in mods[1:])
            + "  PTX_MOD_COUNT,\n};\n\nenum ptx_special {\n  PTX_SPECIAL_NONE,\n"
            + "".join(f"  PTX_SPECIAL_{special.id},\n" for special in specials[1:])
            + "  PTX_SPECIAL_COUNT,\n};\n\n/* Which unit an instruction is issued to. */\nenum ptx_issue {\n"
            + "".join(f"  PTX_ISSUE_{c_name(name)}, /* {text} */\n" for name, text in classes.items())
            + "  PTX_ISSUE_COUNT,\n};\n\n/* What an operand may be; see the head of ops.def. */\n"
            "enum ptx_shape_kind {\n" + "".join(f"  PTX_SHAPE_{kind},\n" for kind in SHAPES)
            + f"}};\n\nenum {{\n  PTX_NEED_COUNT = {len(gen_table.needs)},\n  PTX_FORM_COUNT = {len(forms)},\n}};\n\n"
            "#endif\n")


def word_hash(text):
    """As ptx/ops.c has it."""
    h = 2166136261
    for byte in text.encode():
        h = (h ^ byte) * 16777619 & 0xffffffff
    return h ^ h >> 15


def numbers(values):
    return "".join(("" if i % 20 else "\n  ") + f"{value}," for i, value in enumerate(values))


def slots(name, words):
    size = 1
    while size < len(words) * 3:
        size *= 2
    table = [0] * size
    for i, word in enumerate(words[1:], 1):
        slot = word_hash(word.text) % size
        while table[slot]:
            slot = (slot + 1) % size
        table[slot] = i
    return f"static const uint16_t {name}[{size}] = {{{numbers(table)}\n}};\n\n"


def rows(head, items):
    return f"static const {head} = {{\n" + "".join(f"  {{{item}}},\n" for item in items) + "};\n\n"


def packed(head, items):
    """Eight a line."""
    return (f"\n}};\n\nstatic const {head}[{len(items) + 1}] = {{\n"
            + "".join(f"{{{','.join(map(str, item))}}}," + "\n" * (i % 8 == 7) for i, item in enumerate(items)))


def shape_text(shape):
    kind, count, relaxed, number, _, dest = shape
    text = number if number <= 0 else "PTX_MOD_" + mods[number].id
    return f"PTX_SHAPE_{kind}, {count}, {int(dest)}, {int(relaxed)}, {text}"


def tables():
    steps, accepts, ranges = [], [], []
    for state_steps, accepted in states:
        ranges.append((len(steps), len(accepts), len(state_steps), len(accepted)))
        steps += state_steps
        accepts += accepted
    quoted = lambda words, rest: ['"", 0, 0, 0'] + [f'"{w.text}", {len(w.text)}, {rest(w)}' for w in words[1:]]
    needs = ["  {0},\n"] + [f"  {c}, /* {text} */\n" for text, (i, c) in gen_table.needs.items() if i]
    return ("/* Made by gen_ptx from ptx/ops.def; do not edit. Included by ptx/ops.c only. */\n\n"
            + rows("struct ptx_op_row op_rows[PTX_OP_COUNT]", quoted(ops, lambda w: f"{w.issue}, {w.state}"))
            + rows("struct ptx_mod_row mod_rows[PTX_MOD_COUNT]", quoted(mods, lambda w: f"{w.bits}, {w.kind}"))
            + rows("struct ptx_special_row special_rows[PTX_SPECIAL_COUNT]",
                   quoted(specials, lambda w: f"PTX_MOD_{mods[w.type].id}, {w.need}"))
            + "static const char *const issue_names[PTX_ISSUE_COUNT] = {"
            + "".join(f'"{name}", ' for name in classes) + "};\n\n"
            + slots("op_slots", ops) + slots("mod_slots", mods) + slots("special_slots", specials)
            + "static const struct tgt_requirement need_rows[PTX_NEED_COUNT] = {\n" + "".join(needs) + "};\n\n"
            + rows(f"struct ptx_shape shape_rows[{len(shapes) + 1}]", map(shape_text, shapes))
            + "/* first shape, shapes, of them destinations, of them needed, issue, need, line */\n"
            + rows("struct ptx_form form_rows[PTX_FORM_COUNT]",
                   (f"{f.first_shape}, {f.shape_count}, {f.dest_count}, {f.min_count}, {f.issue}, {f.need}, {f.line}"
                    for f in forms))
            + f"static const uint16_t accept_rows[{len(accepts) + 1}] = {{{numbers(accepts)}"
            + packed("struct ptx_step step_rows", steps) + packed("struct ptx_state state_rows", ranges) + "\n};\n")


gen_table.main(read_row, finish, {"ptx_ops.h": header, "ptx_ops.inc": tables}, indented=False)
