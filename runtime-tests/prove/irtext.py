"""Reads the IR text that nvmini prints into plain objects, for the encoder: types are tuples, an instruction has
words for its parts. What is not understood raises Unsupported with its name."""
import re
import struct


class Unsupported(Exception):
    """A construct that is not encoded; its name is counted."""


TOKEN = re.compile(r'''\s*(?:;[^\n]*\n\s*)*(c?"[^"]*"|[%@$!\#](?:"[^"]*"|[-\w$.]+)?|[-\w$.+]+|\.\.\.|[()\[\]{}<>,=*:|])''')
FLOATS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
LITERAL = re.compile(r"-?\d+$")


class Instruction:
    def __init__(self, op, name):
        self.op, self.name, self.flags, self.facts = op, name, set(), {}
        self.type, self.args, self.align = ("void",), [], 0

    def __repr__(self):
        return f"{self.name} = {self.op} {self.args}"


class Function:
    def __init__(self, name, type):
        self.name, self.type, self.args, self.blocks, self.attributes = name, type, [], {}, {}
        self.result_attributes, self.variadic = {}, False


class Module:
    def __init__(self):
        self.types, self.globals, self.functions, self.groups, self.nodes = {}, {}, {}, {}, {}


def tokens(text):
    out, at, n = [], 0, len(text)
    while True:
        m = TOKEN.match(text, at)
        if not m:
            rest = text[at:].strip()
            if rest and not rest.startswith(";"):
                raise Unsupported("text: " + rest[:20])
            return out
        out.append(m[1])
        at = m.end()


class Reader:
    def __init__(self, text, module):
        self.t, self.at, self.m = tokens(text), 0, module

    def peek(self, k=0):
        return self.t[self.at + k] if self.at + k < len(self.t) else ""

    def next(self):
        self.at += 1
        return self.t[self.at - 1]

    def take(self, word):
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def need(self, word):
        if not self.take(word):
            raise Unsupported(f"text: {word} expected, {' '.join(self.t[self.at:self.at + 4])} found")

    # --- types
    def is_type(self):
        w = self.peek()
        return w in FLOATS or w in ("void", "ptr", "[", "<", "{", "label", "metadata", "token") or re.match(r"i\d+$", w) \
            or w[:1] == "%" and w in self.m.types

    def type(self):
        w = self.next()
        if re.match(r"i\d+$", w):
            return "i", int(w[1:])
        if w in FLOATS:
            return "f", FLOATS[w], w
        if w == "ptr":
            space = 0
            if self.take("addrspace"):
                self.need("(")
                space = int(self.next())
                self.need(")")
            return "p", space
        if w in ("[", "<") and self.peek() != "{":
            n = int(self.next())
            self.need("x")
            t = self.type()
            self.need("]" if w == "[" else ">")
            return "a" if w == "[" else "v", n, t
        if w in ("{", "<"):
            if w == "<":
                self.need("{")
            members = []
            while not self.take("}"):
                members.append(self.type())
                self.take(",")
            if w == "<":
                self.need(">")
            return "s", tuple(members), w == "<"
        if w in self.m.types:
            return self.m.types[w]
        if w in ("void", "label", "metadata"):
            return (w,)
        raise Unsupported("type " + w)

    # --- values
    def value(self, t):
        w = self.peek()
        if w[:1] == "%":
            return "local", self.next()
        if w[:1] == "@":
            return "global", self.next()
        if w in ("undef", "poison", "zeroinitializer", "null", "true", "false", "none"):
            self.at += 1
            return (w,)
        if w[:2] == 'c"':
            return "bytes", self.next()
        if w in ("[", "<", "{"):
            return self.aggregate()
        if w == "splat":
            self.at += 1
            self.need("(")
            u = self.type()
            v = self.value(u)
            self.need(")")
            return "list", [(u, v)] * t[1]
        if LITERAL.match(w) and t[0] == "i":
            return "int", int(self.next())
        if t[0] == "f":
            return "int", float_bits(self.next(), t)
        if w in ("getelementptr", "inttoptr", "ptrtoint", "bitcast", "addrspacecast"):
            return self.expression()
        if w == "asm":
            words = [self.next()]
            while self.peek() in ("sideeffect", "alignstack", "inteldialect"):
                words.append(self.next())
            words += [self.next(), self.next(), self.next()]
            return "asm", " ".join(words)
        raise Unsupported("constant " + w)

    def aggregate(self):
        packed = self.take("<")
        if not packed or self.peek() in ("{", "["):
            w = self.next()
            close = {"[": "]", "{": "}", "<": ">"}[w]
        else:
            close = ">"
        if packed and close == "]":
            raise Unsupported("constant <[")
        items = []
        while not self.take(close):
            t = self.type()
            items.append((t, self.value(t)))
            self.take(",")
        if packed and close == "}":
            self.need(">")
        return "list", items

    def expression(self):
        i = Instruction(self.next(), "")
        while self.peek() in ("inbounds", "nuw", "nusw", "nsw"):
            i.flags.add(self.next())
        self.need("(")
        if i.op == "getelementptr":
            i.source = self.type()
            self.need(",")
            while not self.take(")"):
                t = self.type()
                i.args.append((t, self.value(t)))
                self.take(",")
            i.type = i.args[0][0]
        else:
            t = self.type()
            i.args.append((t, self.value(t)))
            self.need("to")
            i.type = self.type()
            self.need(")")
        return "expression", i

    def typed(self):
        t = self.type()
        return t, self.value(t)

    # --- attributes
    def skip_brackets(self):
        depth, words = 0, []
        while True:
            w = self.next()
            words.append(w)
            depth += (w in "([{") - (w in ")]}")
            if depth == 0:
                return words

    def attributes(self, stop):
        """{word: argument words} until one of the stops."""
        out = {}
        while self.peek() and self.peek() not in stop:
            w = self.peek()
            if w[:1] in "%@" or self.is_type() and w != "[" or re.match(r"-?\d|f0x", w):
                break
            self.at += 1
            if w[:1] == "#":
                out.update(self.m.groups.get(w, {}))
                continue
            if w[:1] == "!":  # !dbg !3
                self.at += 1
                continue
            if w[:1] == '"' and self.take("="):
                self.at += 1
                continue
            if w == "align" and LITERAL.match(self.peek()):
                out[w] = [self.next()]
                continue
            if self.peek() == "=":
                self.at += 1
                out[w] = [self.next()]
                continue
            out[w] = self.skip_brackets()[1:-1] if self.peek() == "(" else []
        return out

    # --- instructions
    def arguments(self):
        out = []
        self.need("(")
        while not self.take(")"):
            t = self.type()
            if t == ("metadata",):
                raise Unsupported("metadata argument")
            attributes = self.attributes((",", ")", "[", "<", "{", "null", "undef", "poison", "zeroinitializer", "true", "false",
                                          "getelementptr", "inttoptr", "ptrtoint", "addrspacecast", "bitcast", "splat"))  \
                if not LITERAL.match(self.peek()) and t[0] != "f" else {}
            out.append((t, self.value(t), attributes))
            self.take(",")
        return out


def float_bits(word, t):
    w = t[1]
    if word.startswith("0xH") or word.startswith("0xR"):
        return int(word[3:], 16)
    if word.startswith("f0x"):
        return int(word[3:], 16)
    if word.startswith("0x"):
        bits = int(word[2:], 16)
        if w == 64:
            return bits
        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
        if value != value:
            sign, payload = bits >> 63, bits >> 29 & 0x7FFFFF
            return sign << 31 | 0xFF << 23 | payload
    elif re.match(r"-?\d+(\.\d*)?(e[-+]?\d+)?$", word):
        value = float(word)
    else:
        raise Unsupported("float " + word)
    if t[2] == "bfloat":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    form = {16: "e", 32: "f", 64: "d"}[w]
    return int.from_bytes(struct.pack("<" + form, value), "little")


CASTS = {"trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast",
         "addrspacecast"}
BINARY = {"add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul",
          "fdiv", "frem"}
FLAGS = {"nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw", "fast", "nnan", "ninf", "nsz", "arcp", "contract",
         "afn", "reassoc"}
WORDS_OF_CALLS = {"tail", "musttail", "notail", "fastcc", "ccc", "ptx_device", "ptx_kernel", "spir_func", "coldcc"}


def flags(r, i):
    while r.peek() in FLAGS:
        i.flags.add(r.next())


def read_call(r, i):
    while r.peek() in WORDS_OF_CALLS | {"call"} | FLAGS:
        w = r.next()
        if w in FLAGS:
            i.flags.add(w)
    i.result_attributes = r.attributes(())
    i.type = r.type()
    if r.peek() == "(":
        r.skip_brackets()
    i.callee = r.value(("p", 0))
    i.args = r.arguments()
    i.attributes = r.attributes((",", "["))
    if r.peek() == "[":
        words = r.skip_brackets()
        raise Unsupported("operand bundle " + words[1])


def read_memory(r, i):
    if r.take("atomic"):
        raise Unsupported(f"{i.op} atomic")
    if r.take("volatile"):
        i.flags.add("volatile")
    if i.op == "load":
        i.type = r.type()
        r.need(",")
        i.args = [r.typed()]
    else:
        i.args = [r.typed()]
        r.need(",")
        i.args.append(r.typed())


ORDERINGS = {"unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"}


def read_atomic(r, i):
    """atomicrmw, cmpxchg, fence: `how` is the operation, `order` the words of scope and orderings."""
    i.how, i.order = "", []
    while r.peek() in ("volatile", "weak"):
        if r.next() == "weak":
            raise Unsupported("cmpxchg weak")
        i.flags.add("volatile")
    if i.op == "atomicrmw":
        i.how = r.next()
    if i.op != "fence":
        i.args = [r.typed()]
        while r.take(","):
            i.args.append(r.typed())
    while r.peek() == "syncscope" or r.peek() in ORDERINGS:
        i.order.append(" ".join([r.next(), *r.skip_brackets()]) if r.peek() == "syncscope" else r.next())
    if i.op == "atomicrmw":
        i.type = i.args[1][0]
    elif i.op == "cmpxchg":
        i.type = ("s", (i.args[1][0], ("i", 1)), False)


def read_simple(r, i):
    """Ops that are a list of typed operands."""
    op = i.op
    if op in BINARY:
        t = i.type = r.type()
        a = r.value(t)
        r.need(",")
        i.args = [(t, a), (t, r.value(t))]
    elif op in CASTS:
        i.args = [r.typed()]
        r.need("to")
        i.type = r.type()
    elif op in ("icmp", "fcmp"):
        i.predicate = r.next()
        t = r.type()
        a = r.value(t)
        r.need(",")
        i.args = [(t, a), (t, r.value(t))]
        i.type = ("v", t[1], ("i", 1)) if t[0] == "v" else ("i", 1)
    elif op in ("fneg", "freeze"):
        i.args = [r.typed()]
        i.type = i.args[0][0]
    elif op == "getelementptr":
        i.source = r.type()
        while r.take(","):
            i.args.append(r.typed())
        i.type = i.args[0][0]
        for t, _ in i.args:
            if t[0] == "v":
                raise Unsupported("getelementptr of vectors")
    else:
        i.args = [r.typed()]
        while r.peek() == "," and not r.peek(1).startswith("!"):
            r.need(",")
            if LITERAL.match(r.peek()):
                i.args.append((("i", 32), ("int", int(r.next()))))
            else:
                i.args.append(r.typed())
        i.type = i.args[0][0]
        if op == "select":
            i.type = i.args[1][0]
        elif op == "extractelement":
            i.type = i.type[2]
        elif op == "shufflevector":
            i.type = ("v", i.args[2][0][1], i.type[2])
        elif op == "extractvalue":
            for _, (_, k) in i.args[1:]:
                i.type = i.type[2] if i.type[0] == "a" else i.type[1][k]


SIMPLE = BINARY | CASTS | {"icmp", "fcmp", "fneg", "freeze", "getelementptr", "select", "extractelement", "insertelement", "shufflevector",
                           "extractvalue", "insertvalue"}


def instruction(r):
    name = ""
    if r.peek(1) == "=":
        name = r.next()
        r.need("=")
    i = Instruction(r.next(), name)
    if i.op in WORDS_OF_CALLS:
        r.at -= 1
        i.op = "call"
        read_call(r, i)
    elif i.op == "call":
        read_call(r, i)
    elif i.op in ("load", "store"):
        read_memory(r, i)
    elif i.op in ("atomicrmw", "cmpxchg", "fence"):
        read_atomic(r, i)
    elif i.op in SIMPLE:
        flags(r, i)
        read_simple(r, i)
    elif i.op == "alloca":
        i.allocated = r.type()
        i.type = ("p", 0)
        if r.peek() == "," and r.peek(1) not in ("align", "addrspace") and not r.peek(1).startswith("!"):
            raise Unsupported("alloca of a count")
    elif i.op == "ret":
        i.args = [r.typed()] if r.peek() != "void" else []
        r.take("void")
    elif i.op == "br":
        if r.take("label"):
            i.targets = [r.next()]
        else:
            i.args = [r.typed()]
            i.targets = []
            while r.take(","):
                if not r.take("label"):
                    r.at -= 1
                    break
                i.targets.append(r.next())
    elif i.op == "switch":
        i.args = [r.typed()]
        r.need(",")
        r.need("label")
        i.targets, i.cases = [r.next()], []
        r.need("[")
        while not r.take("]"):
            i.cases.append(r.typed()[1])
            r.need(",")
            r.need("label")
            i.targets.append(r.next())
    elif i.op == "phi":
        flags(r, i)
        i.type, i.incoming = r.type(), []
        while r.take("["):
            v = r.value(i.type)
            r.need(",")
            i.incoming.append((v, r.next()))
            r.need("]")
            r.take(",")
    elif i.op != "unreachable":
        raise Unsupported(i.op)
    tail(r, i)
    return i


def tail(r, i):
    while r.take(","):
        w = r.next()
        if w == "align":
            i.align = int(r.next())
        elif w == "addrspace":
            i.type = ("p", int(r.skip_brackets()[1]))
        elif w.startswith("!"):
            i.facts[w[1:]] = r.next() if r.peek() != "!" else " ".join([r.next()] + r.skip_brackets())
        else:
            raise Unsupported("text: after " + i.op + ": " + w)


HEAD = re.compile(r"\s*(?:define|declare)\b")
LABEL = re.compile(r'^("[^"]*"|[-\w$.]+):', re.M)


def header(text, module):
    r = Reader(text, module)
    r.next()
    before = r.attributes(())
    f = Function("", r.type())
    f.name = r.next()
    f.result_attributes = before
    r.need("(")
    while not r.take(")"):
        if r.take("..."):
            f.variadic = True
            continue
        t = r.type()
        attributes = r.attributes((",", ")"))
        name = r.next() if r.peek()[:1] == "%" else ""
        f.args.append((t, name, attributes))
        r.take(",")
    f.attributes = r.attributes(("{",))
    return f


def function(text, module):
    """A definition; the text ends with its brace."""
    lines = text.strip().split("\n")
    f = header(lines[0].rstrip("{ "), module)
    number = 0
    for k, (t, name, attributes) in enumerate(f.args):
        if not name:
            f.args[k] = (t, f"%{number}", attributes)
            number += 1
    block, pending = f"%{number}", None
    f.blocks[block] = []
    for line in lines[1:]:
        line = line.rstrip()
        if line in ("}", "") or line.lstrip().startswith((";", "#dbg")):
            continue
        m = LABEL.match(line)
        if m:
            if not f.blocks[block] and len(f.blocks) == 1:
                del f.blocks[block]
            block = "%" + m[1]
            f.blocks[block] = []
            continue
        pending = line if pending is None else pending + "\n" + line
        if pending.count("[") > pending.count("]"):
            continue
        f.blocks[block].append(instruction(Reader(pending, module)))
        pending = None
    return f


def split(text):
    """The top-level parts of a printed module: definitions whole, else lines."""
    out, current = [], None
    for line in text.split("\n"):
        if current is not None:
            current.append(line)
            if line == "}":
                out.append("\n".join(current))
                current = None
        elif line.startswith("define"):
            current = [line]
        elif line.strip():
            out.append(line)
    return out


def module(text):
    """Types, variables, declarations; (module, {name: text of a definition})."""
    m, texts, parts = Module(), {}, split(text)
    for p in parts:
        g = re.match(r"attributes (#\d+) = \{(.*)\}", p)
        if g:
            m.groups[g[1]] = Reader(g[2], m).attributes(())
    for _ in range(2):  # types may be used before they are defined
        for p in parts:
            g = re.match(r'(%(?:"[^"]*"|[-\w$.]+)) = type (.*)', p)
            if g and g[2] != "opaque":
                try:
                    m.types[g[1]] = Reader(g[2], m).type()
                except Unsupported:
                    pass
    for p in parts:
        g = re.match(r"!(\d+) = (?:distinct )?!\{(.*)\}", p)
        if g:
            m.nodes["!" + g[1]] = g[2]
        try:
            if p.startswith("define"):
                f = header(p.split("\n")[0].rstrip("{ "), m)
                m.functions[f.name], texts[f.name] = f, p
            elif p.startswith("declare"):
                f = header(p, m)
                m.functions[f.name] = f
            elif p.startswith("@"):
                variable(p, m)
        except Unsupported:
            continue
    return m, texts


def variable(text, m):
    r = Reader(text, m)
    name = r.next()
    r.need("=")
    space = 0
    while r.peek() not in ("global", "constant"):
        if r.next() == "addrspace":
            space = int(r.skip_brackets()[1])
        elif r.t[r.at - 1] in ("alias", "ifunc", ""):
            raise Unsupported("alias")
    constant = r.next() == "constant"
    external = any(w in ("external", "extern_weak", "weak", "linkonce", "common", "externally_initialized") for w in r.t[:r.at])
    t = r.type()
    init = None
    if r.peek() and r.peek() != "," and not external:
        try:
            init = r.value(t)
        except Unsupported:
            init = None
    align = re.search(r", align (\d+)", text)
    m.globals[name] = (t, space, constant, init, int(align[1]) if align else 0)
