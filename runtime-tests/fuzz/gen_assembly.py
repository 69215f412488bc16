"""Inline assembly for gen_kernels.py: texts of PTX on registers of known types.

A text is a sequence of statements on operands, which are outputs, inputs and inputs tied to outputs, and on registers that it
declares, in scopes that may hide a name of an outer one. Half of the texts have only instructions that expand-asm knows. The
others have carry chains, predicated instructions, branches and arithmetic that it leaves in the text. Everything is defined: a
register is read after it was written, an output that is written before an input is read is an early clobber, and the bits of a
half, bfloat or float that may be a NaN become a value of that type only."""

IR_TYPES = {"i16": "i16", "i32": "i32", "i64": "i64", "half": "half", "bfloat": "bfloat", "halves": "<2 x half>", "bfloats": "<2 x bfloat>",
            "float": "float", "double": "double"}
LETTERS = {"i16": "h", "half": "h", "bfloat": "h", "i32": "r", "halves": "r", "bfloats": "r", "i64": "l", "float": "f", "double": "d"}
PASSED_AS = {"h": "i16", "r": "i32", "l": "i64", "f": "float", "d": "double"}
DECLARED = {"pred": ["pred"], "i16": ["b16"], "half": ["b16", "f16"], "bfloat": ["b16"], "i32": ["b32"], "halves": ["b32", "f16x2"],
            "bfloats": ["b32"], "i64": ["b64", "u64", "s64"], "float": ["f32"], "double": ["f64"]}
MOVES = {"i16": "mov.b16", "half": "mov.b16", "bfloat": "mov.b16", "i32": "mov.b32", "halves": "mov.b32", "bfloats": "mov.b32",
         "i64": "mov.b64", "float": "mov.f32", "double": "mov.f64"}
READ_AS = {"position": ["i32"], "half": ["half", "i16"], "bfloat": ["bfloat", "i16"], "halves": ["halves", "i32"], "bfloats": ["bfloats", "i32"]}
PAIRS = {"i32": "i16", "halves": "half", "bfloats": "bfloat", "i64": "i32"}


def rows(texts, result, *operands):
    return [(text, result, operands) for text in texts.split()]


def arithmetic(suffix, t):
    """`mul` without a rounding mode may be contracted, but no such addition follows."""
    return (rows(" ".join(f"{op}.{suffix}" for op in ("add.rn", "sub.rn", "mul.rn", "mul")), t, t, t) +
            rows(f"fma.rn.{suffix}", t, t, t, t) + rows(f"neg.{suffix} abs.{suffix}", t, t))


def comparisons(suffix, t):
    names = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()
    return rows(" ".join(f"setp.{name}.{suffix}" for name in names), "pred", t, t)


KNOWN = (rows("and.b32 or.b32 xor.b32", "i32", "i32", "i32") * 4 + rows("mov.b32 mov.u32", "i32", "i32") + rows("mov.b16 mov.u16", "i16", "i16") +
         rows("mov.b64 mov.u64", "i64", "i64") + rows("mov.f32", "float", "float") + rows("mul.wide.u32 mul.wide.s32", "i64", "i32", "i32") * 2 +
         rows("selp.b32 selp.u32 selp.s32", "i32", "i32", "i32", "pred") * 2 + rows("selp.b16 selp.u16 selp.s16", "i16", "i16", "i16", "pred") * 2 +
         rows("selp.b16", "half", "half", "half", "pred") + rows("selp.b32", "halves", "halves", "halves", "pred") +
         arithmetic("f16", "half") + arithmetic("f16x2", "halves") + comparisons("f16", "half") +
         rows("cvt.f32.f16", "float", "half") * 2 + rows("cvt.f64.f16", "double", "half") + rows("cvt.rn.f16.f32", "half", "float") * 2 +
         rows("cvt.rn.f16.f64", "half", "double") + rows("cvt.rn.f16.s16 cvt.rn.f16.u16", "half", "i16") + rows("cvt.rn.f16.s32 cvt.rn.f16.u32", "half", "i32"))
NEWER = (rows("cvt.rn.f16x2.f32", "halves", "float", "float") * 3 + rows("cvt.rn.bf16x2.f32", "bfloats", "float", "float") * 3 +
         rows("cvt.rn.bf16.f32", "bfloat", "float") * 3 + rows("cvt.f32.bf16", "float", "bfloat") * 3 +
         arithmetic("bf16", "bfloat") + arithmetic("bf16x2", "bfloats") + comparisons("bf16", "bfloat"))
OTHER = (rows("add.u32 sub.s32 mul.lo.u32 mul.hi.u32 mul.hi.s32 min.s32 max.u32 shl.b32 shr.u32 shr.s32", "i32", "i32", "i32") +
         rows("mad.lo.s32 sad.u32 prmt.b32 shf.l.wrap.b32 shf.r.clamp.b32 dp4a.u32.s32", "i32", "i32", "i32", "i32") +
         rows("bfe.u32 bfe.s32", "i32", "i32", "position", "position") + rows("bfi.b32", "i32", "i32", "i32", "position", "position") + rows("not.b32 cnot.b32 neg.s32 abs.s32 brev.b32 popc.b32 clz.b32 bfind.u32", "i32", "i32") +
         rows("popc.b64 clz.b64", "i32", "i64") + rows("add.s64 sub.u64 mul.lo.s64 xor.b64 min.u64", "i64", "i64", "i64") +
         rows("mad.wide.u32 mad.wide.s32", "i64", "i32", "i32", "i64") + rows("cvt.u64.u32 cvt.s64.s32", "i64", "i32") + rows("cvt.u32.u64", "i32", "i64") +
         rows("cvt.u32.u16 cvt.s32.s16", "i32", "i16") + rows("add.u16 sub.s16 mul.lo.u16 and.b16 xor.b16", "i16", "i16", "i16") +
         rows("mul.wide.u16 mul.wide.s16", "i32", "i16", "i16") + rows("selp.b64", "i64", "i64", "i64", "pred") +
         rows("setp.lt.u32 setp.ge.s32 setp.eq.b32 setp.ls.u32", "pred", "i32", "i32") * 2 + rows("setp.lt.s64 setp.ne.b64", "pred", "i64", "i64") +
         rows("setp.lt.f32 setp.neu.f32", "pred", "float", "float") + rows("and.pred xor.pred", "pred", "pred", "pred") + rows("not.pred", "pred", "pred") +
         rows("add.rn.f32 mul.rn.f32 min.f32 max.f32", "float", "float", "float") + rows("fma.rn.f32", "float", "float", "float", "float") +
         rows("add.rn.f64 mul.rn.f64", "double", "double", "double") + rows("cvt.rn.f32.s32 cvt.rn.f32.u32", "float", "i32"))


class Text:
    """A text while it is written. `tied`: {output: input}, by number of the operand."""

    def __init__(self, r, known, newer, outputs, inputs, tied):
        self.r, self.known, self.outputs = r, known, outputs
        self.rows = KNOWN + (NEWER if newer else []) + ([] if known else OTHER * 3)
        self.parts, self.scopes, self.names = [], [], 0
        self.readable = {}   # type → names of registers that hold one
        self.written = {}    # output that was written → its type
        self.changing = set()  # outputs that a statement has written
        self.early = set()     # of them, those that were written before an input was read
        self.inputs = {f"${outputs + k}" for k in range(len(inputs))}
        for k, t in enumerate(inputs):
            name = f"${outputs + k}"
            if k in tied.values():
                output = next(o for o, i in tied.items() if i == k)
                self.inputs.discard(name)
                self.readable.setdefault(t, []).append(f"${output}")
                self.written[output] = t
                if r.random() < 0.5:
                    continue
            self.readable.setdefault(t, []).append(name)

    def say(self, text):
        self.parts.append(text + self.r.choice([" ", " ", "\n", "\n\t", "  "]))

    def read(self, name):
        if name in self.inputs:
            self.early |= self.changing
        return name

    def number(self, t):
        r, limit = self.r, 16 if t == "i16" else 32
        v = r.choice([r.randrange(10), r.randrange(100), r.getrandbits(limit), 1 << r.randrange(limit), r.randrange(65536)])
        forms = [f"{v}", f"{v}", f"0x{v:X}", f"0x{v:x}", f"0{v:o}", f"0{v & 511:o}", f"0b{v:b}"]
        if t != "i16":
            forms += [f"0x{v:X}U", f"-{v & 0x7fffffff}"]
        return r.choice(forms)

    def known_names(self, t):
        """Registers that can be read as type t; `position`: an i32 that is not a number, which would have to be below 256."""
        return [name for u in READ_AS.get(t, [t]) for name in self.readable.get(u, [])]

    def operand(self, t):
        """None: there is no register of this type."""
        names = self.known_names(t)
        if t in ("i16", "i32") and self.r.random() < 0.25:
            return self.number(t)
        if t == "float" and not self.known and self.r.random() < 0.1:
            return self.r.choice(["0f3F800000", "0fBF000000", "0f41200000"])
        return self.read(self.r.choice(names[-3:] if self.r.random() < 0.6 else names)) if names else None

    def possible(self, row):
        return all(self.known_names(t) for t in row[2])

    def declare(self, t):
        """A fresh name; at times one that hides another of the outer scopes."""
        r = self.r
        hidden = [n for scope in self.scopes[:-1] for n in scope]
        own = self.scopes[-1] if self.scopes else []
        if hidden and r.random() < 0.3:
            name = r.choice(hidden)
            if name not in own:
                for names in self.readable.values():
                    while name in names:
                        names.remove(name)
                self.say(f".reg .{r.choice(DECLARED[t])} {name};")
                own.append(name)
                return name
        self.names += 1
        name = r.choice(["t{}", "t{}", "r{}", "__$$temp{}", *(["%x{}"] if not self.known else [])]).format(self.names)
        self.say(f".reg .{r.choice(DECLARED[t])} {name};")
        own.append(name)
        return name

    def target(self, t, again=False):
        """A register to write: one that is declared here, or one that holds a value of this type; `again`: there is one."""
        known = self.changeable(t)
        tied = [n for n in known if n.startswith("$")]
        if tied and self.r.random() < 0.4:
            return self.r.choice(tied)
        if known and (again or self.r.random() < 0.2):
            return self.r.choice(known)
        return self.declare(t)

    def changeable(self, t):
        return [n for n in self.readable.get(t, []) if n not in self.inputs and (not n.startswith("$") or int(n[1:]) < self.outputs)]

    def assign(self, word, name, operands, guard=""):
        self.say(f"{guard} {word} {', '.join([name, *operands])};".strip())
        if name.startswith("$"):
            self.changing.add(int(name[1:]))

    def hold(self, t, name):
        if name not in self.readable.setdefault(t, []):
            self.readable[t].append(name)

    def statement(self):
        r = self.r
        kind = r.random()
        if kind < 0.1:
            return self.pack()
        if kind < 0.2:
            return self.unpack()
        if kind < 0.27 and len(self.scopes) < 3:
            return self.nested()
        if not self.known and kind < 0.37:
            return self.carry()
        if not self.known and kind < 0.6:
            return self.predicated()
        return self.compute(lambda t: True)

    def compute(self, is_wanted):
        """An instruction whose result has a wanted type."""
        possible = [row for row in self.rows if is_wanted(row[1]) and self.possible(row)]
        if not possible:
            return
        row = self.r.choice(possible)
        name = self.target(row[1])  # which may hide another
        operands = [self.operand(t) for t in row[2]]
        if None not in operands:
            self.assign(row[0], name, operands)
            self.hold(row[1], name)

    def pack(self):
        t = self.r.choice([t for t, part in PAIRS.items() if self.known_names(part)] or [None])
        if t:
            name = self.target(t)
            names = self.known_names(PAIRS[t])
            if names:
                a, b = (self.read(self.r.choice(names)) for _ in range(2))
                self.assign(MOVES[t], name, [f"{{{a}, {b}}}"])
                self.hold(t, name)

    def unpack(self):
        t = self.r.choice([t for t in PAIRS if self.readable.get(t)] or [None])
        if t:
            source = self.read(self.r.choice(self.readable[t]))
            a, b = self.declare(PAIRS[t]), self.declare(PAIRS[t])
            if source in (a, b):
                return  # the name was hidden
            self.say(f"{MOVES[t]} {{{a}, {b}}}, {source};")
            self.hold(PAIRS[t], a)
            self.hold(PAIRS[t], b)

    def nested(self):
        """A scope; what it declares is gone after it, and what it has hidden is seen again."""
        outer = {t: list(names) for t, names in self.readable.items()}
        self.say("{")
        self.scopes.append([])
        for _ in range(self.r.randint(1, 3)):
            self.statement()
        self.scopes.pop()
        self.say("}")
        self.readable = outer

    def carry(self):
        """Sums of several words, each with the carry of the one before."""
        r = self.r
        if not self.known_names("i32"):
            return
        op = r.choice(["add", "sub", "mad"])
        words = r.randint(2, 4)
        names = [self.declare("i32") for _ in range(words)]
        if not self.known_names("i32"):
            return
        for k, name in enumerate(names):
            out = ".cc" if k < words - 1 else ""
            word = f"{op if k == 0 else op + 'c'}{'.' + r.choice(['lo', 'hi']) if op == 'mad' else ''}{out}.{r.choice(['u32', 's32'])}"
            self.say(f"{word} {', '.join([name] + [self.operand('i32') for _ in range(3 if op == 'mad' else 2)])};")
        for name in names:
            self.hold("i32", name)

    def predicated(self):
        """An instruction, or a few that are jumped over."""
        r = self.r
        if not self.readable.get("pred"):
            self.compute(lambda t: t == "pred")
        conditions = self.readable.get("pred")
        rows_here = [row for row in self.rows if row[1] != "pred" and self.possible(row) and self.changeable(row[1])]
        if not conditions or not rows_here:
            return
        guard = f"@{r.choice(['', '!'])}{r.choice(conditions)}"
        jumps = r.random() < 0.3
        self.names += 1
        label = f"$$skip{self.names}_${{:uid}}"
        if jumps:
            self.say(f"{guard} bra {label};")
            guard = ""
        for row in r.sample(rows_here, min(len(rows_here), r.randint(1, 3) if jumps else 1)):
            operands = [self.operand(t) for t in row[2]]
            self.assign(row[0], self.target(row[1], True), operands, guard)
        if jumps:
            self.say(f"{label}:")

    def finish(self):
        """Writes the outputs that are not written yet."""
        for output in range(self.outputs):
            if output in self.written:
                continue
            rows_here = [row for row in self.rows if row[1] != "pred" and self.possible(row)]
            types = [t for t, names in self.readable.items() if names and t != "pred"]
            if rows_here and (self.r.random() < 0.5 or not types):
                word, t, from_ = self.r.choice(rows_here)
                operands = [self.operand(u) for u in from_]
            else:
                t = self.r.choice([t for t in types if not self.known or t != "double"] or types)
                word, operands = MOVES[t], [self.read(self.r.choice(self.readable[t]))]
            self.written[output] = t
            self.assign(word, f"${output}", operands)

    def write(self, count):
        r = self.r
        scoped = r.random() < 0.8 or count > 1
        if scoped:
            self.say("{")
            self.scopes.append([])
        for _ in range(count if scoped else 0):
            self.statement()
        self.finish()
        if r.random() < 0.05:
            self.say("// done\n")
        return "".join(self.parts) + ("}" if scoped else "")


def escaped(text):
    return text.replace("\n", "\\0A").replace("\t", "\\09")


class Assembly:
    """A mixin of Function: statements with inline assembly."""

    def assembly_call(self, result, text, constraints, arguments, how=""):
        """The text of a call; `how`: `sideeffect`. Assembly without effects has clang's attributes at times."""
        pure = not how and "~" not in constraints and self.r.random() < 0.4
        return (f"call {result} asm {how}{' ' if how else ''}\"{escaped(text)}\", \"{constraints}\"({arguments})"
                f"{' convergent nounwind memory(none)' if pure else ''}")

    def assembly(self):
        r = self.r
        types = ["i32", "i32", "i16", "i64", "half", "halves", "float", "double"] + (["bfloat", "bfloats"] if self.m.newer else [])
        types = r.choices(r.sample(types, 2), k=r.randint(1, 4))
        outputs = r.choice([1, 1, 1, 2])
        tied = {0: r.randrange(len(types))} if r.random() < 0.35 else {}
        text = Text(r, r.random() < 0.5, self.m.newer, outputs, types, tied)
        words = text.write(r.randint(0, 6))
        letters = [f"={'&' if o in text.early else ''}{LETTERS[text.written[o]]}" for o in range(outputs)]
        arguments = []
        for k, t in enumerate(types):
            output = next((o for o, i in tied.items() if i == k), None)
            letters.append(LETTERS[t] if output is None else str(output))
            arguments.append(self.as_operand(t))
        how = r.choice(["", "", "", "sideeffect"])
        clobber = ["~{memory}"] if r.random() < 0.12 else []
        results = [PASSED_AS[LETTERS[text.written[o]]] for o in range(outputs)]
        whole = results[0] if outputs == 1 else "{ " + ", ".join(results) + " }"
        v = self.new("asm")
        self.emit(f"{v} = " + self.assembly_call(whole, words, ",".join(letters + clobber), ", ".join(arguments), how))
        for o, t in enumerate(results):
            part = v
            if outputs > 1:
                part = self.new("part")
                self.emit(f"{part} = extractvalue {whole} {v}, {o}")
            is_type = IR_TYPES[text.written[o]]
            if is_type == t:
                self.add(t, part)
            else:
                self.set(is_type, f"bitcast {t} {part} to {is_type}")

    def as_operand(self, t):
        """`type value` of an argument: halves are i16 or half, pairs of them i32."""
        v, is_type, passed = self.value(IR_TYPES[t]), IR_TYPES[t], PASSED_AS[LETTERS[t]]
        if is_type == passed or (t in ("half", "bfloat") and self.r.random() < 0.3):
            return f"{is_type} {v}"
        name = self.new("bits")
        self.emit(f"{name} = bitcast {is_type} {v} to {passed}")
        return f"{passed} {name}"

    def converted_pair(self):
        """Two roundings, which one instruction can make, with assembly in between that changes what the second one reads."""
        r = self.r
        t = r.choice(["half", "bfloat"])
        f = self.new("f")
        self.emit(f"{f} = fadd float {self.value('float')}, {self.constant('float')}")
        low, high, g = self.new("low"), self.new("high"), self.new("f")
        self.emit(f"{low} = fptrunc float {f} to {t}")
        text = r.choice(["add.rn.f32 $0, $0, 0f3F800000;", "mul.rn.f32 $0, $0, 0f40400000;", "{ .reg .f32 t; mov.f32 t, $0; add.rn.f32 $0, t, t; }"])
        self.emit(f"{g} = " + self.assembly_call("float", text, r.choice(["=f,0", "=f,0,~{memory}"]), f"float {f}", r.choice(["sideeffect", ""])))
        self.emit(f"{high} = fptrunc float {g} to {t}")
        pair = self.new("v")
        self.emit(f"{pair} = insertelement <2 x {t}> poison, {t} {low}, i32 0")
        self.set(f"<2 x {t}>", f"insertelement <2 x {t}> {pair}, {t} {high}, i32 1")

    def memory_assembly(self):
        """Assembly that reads or writes a word of the thread's slice, or of a local variable, or only may, between two loads."""
        r = self.r
        base = "%mine"
        if r.random() < 0.5:
            base = self.add_local("[8 x i32]", 16)
            for k in range(8):
                p = self.new("p")
                self.emit(f"{p} = getelementptr i32, ptr {base}, i64 {k}")
                self.emit(f"store i32 {self.value('i32')}, ptr {p}, align 4")
        at = r.randrange(7)
        first, second = self.new("p"), self.new("p")
        self.emit(f"{first} = getelementptr inbounds i32, ptr {base}, i64 {at & 6}")
        self.emit(f"{second} = getelementptr inbounds i32, ptr {base}, i64 {(at & 6) + 1}")
        if r.random() < 0.5:
            self.emit(f"store i32 {self.value('i32')}, ptr {second}, align 4")
        if r.random() < 0.7:
            self.set("i32", f"load i32, ptr {first}, align 4")
        kind = r.choice(["store", "load", "atomic", "nothing", "store"])
        if kind == "store":
            self.emit(self.assembly_call("void", r.choice(["st.u32 [$0], $1;", "{ .reg .b32 t; ld.b32 t, [$0]; xor.b32 t, t, $1; st.b32 [$0], t; }"]),
                                         "l,r,~{memory}", f"ptr {r.choice([first, second])}, i32 {self.value('i32')}", "sideeffect"))
        elif kind == "load":
            self.set("i32", self.assembly_call("i32", "ld.u32 $0, [$1];", "=r,l,~{memory}", f"ptr {r.choice([first, second])}", r.choice(["sideeffect", ""])))
        elif kind == "atomic":
            self.set("i32", self.assembly_call("i32", "atom.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}",
                                               f"ptr {r.choice([first, second])}, i32 {self.value('i32')}", "sideeffect"))
        else:
            self.emit(self.assembly_call("void", r.choice(["", "// nothing\n"]), "~{memory}", "", "sideeffect"))
        self.set("i32", f"load i32, ptr {second}, align 4")
        if r.random() < 0.5:
            self.set("i32", f"load i32, ptr {first}, align 4")

    def opaque(self):
        """An empty text whose result is its operand, which the optimizer does not know."""
        t, letter = self.r.choice([("i32", "r"), ("i64", "l"), ("i16", "h"), ("float", "f"), ("double", "d")])
        self.set(t, self.assembly_call(t, "", f"={letter},0", f"{t} {self.value(t)}", self.r.choice(["sideeffect", ""])))

    def tied_text(self, t):
        """(text, constraints) of assembly that changes its two outputs, which are tied."""
        add, swap = ("add.u32", "=r,=r,1,0") if t == "i32" else ("add.rn.f32", "=f,=f,1,0")
        letter, one = ("r", "1") if t == "i32" else ("f", "0f3F800000")
        texts = [(f"{add} $0, $0, $2; {add} $1, $1, {one};", f"=&{letter},={letter},{letter},0,1"), ("", swap),
                 (f"{{ .reg .b32 t; mov.b32 t, $0; {add} $0, $0, $1; mov.b32 $1, t; }}", f"={letter},={letter},0,1")]
        if t == "i32":
            texts += [("{ .reg .b32 t; xor.b32 t, $0, $1; and.b32 $0, t, 0x1FF; or.b32 $1, $1, t; }", "=r,=r,0,1"),
                      ("xor.b32 $0, $0, $1; and.b32 $1, $0, $1;", "=r,=r,0,1")]
        return self.r.choice(texts)

    def rounded(self, half, low, g):
        """One of two roundings, which are the halves of a register; the second one is of g."""
        high, v, w, x = (self.new("v") for _ in range(4))
        self.emit(f"{high} = fptrunc float {g} to {half}")
        self.emit(f"{v} = insertelement <2 x {half}> poison, {half} {low}, i32 0")
        self.emit(f"{w} = insertelement <2 x {half}> {v}, {half} {high}, i32 1")
        self.emit(f"{x} = extractelement <2 x {half}> {w}, i32 {self.r.randrange(2)}")
        self.add(f"<2 x {half}>", w)
        return self.set("float", f"fpext {half} {x} to float")

    def tied_loop(self):
        """Assembly that changes two values which a loop carries, in their registers if nothing else reads them."""
        r = self.r
        k, top, t = self.new("tied")[1:], self.block, r.choice(["i32", "i32", "float"])
        text, constraints = self.tied_text(t)
        starts = [self.value(t) for _ in range(3)]
        i, a, b, total = (f"%{k}.{x}" for x in "iabt")
        self.emit(f"br label %{k}")
        self.label(k)
        at = len(self.lines)
        low = f"{k}.low"
        rounds = t == "float" and r.random() < 0.7
        if rounds:
            half = r.choice(["half", "bfloat"])
            self.emit(f"%{low} = fptrunc float {a} to {half}")
        inputs = [a, b] if constraints.count(",") == 3 else [r.choice([a, b, starts[2]]), a, b]
        pair = self.new("pair")
        self.emit(f"{pair} = " + self.assembly_call(f"{{ {t}, {t} }}", text, constraints, ", ".join(f"{t} {v}" for v in inputs), r.choice(["sideeffect", ""])))
        outputs = [self.new("part"), self.new("part")]
        for o, name in enumerate(outputs):
            self.emit(f"{name} = extractvalue {{ {t}, {t} }} {pair}, {o}")
        used = r.choice([a, outputs[0], outputs[1]])
        if rounds:
            used = self.rounded(half, f"%{low}", outputs[0])
        self.emit(f"{total}.next = {'add i32' if t == 'i32' else 'fadd float'} {total}, {used}")
        self.emit(f"{i}.next = add nuw nsw i32 {i}, 1")
        c = self.new("c")
        self.emit(f"{c} = icmp ult i32 {i}.next, {r.randint(1, 7)}")
        self.emit(f"br i1 {c}, label %{k}, label %{k}.end")
        carried = outputs if r.random() < 0.7 else outputs[::-1]
        self.lines[at:at] = [f"  {name} = phi {of} [ {first}, %{top} ], [ {later}, %{k} ]" for name, of, first, later in
                             [(i, "i32", "0", f"{i}.next"), (a, t, starts[0], carried[0]), (b, t, starts[1], carried[1]), (total, t, starts[2], f"{total}.next")]]
        self.label(f"{k}.end")
        for name in r.sample([a, *outputs, f"{total}.next"], 2):
            self.add(t, name)

    def inline_assembly(self):
        kinds = ["assembly"] * 6 + ["converted_pair", "opaque", "tied_loop", "tied_loop"] + (["memory_assembly"] * 2 if self.kernel else [])
        getattr(self, self.r.choice(self.m.swarm.of("assembly", kinds)))()
