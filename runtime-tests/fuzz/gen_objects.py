"""For gen_kernels.py: variables that are accessed through choices of their addresses, undefined as
a whole and defined in parts, copied to each other; parameters of kernels and functions by value.

A scene has two or three objects of one shape and executes random steps on them. For each object it
knows which bytes are defined, at least: outputs depend on these alone. Undefined bytes are loaded
too, where the value cannot matter: it is the arm of a select that is not chosen, or is frozen and
cancels itself."""
from gen_idioms import SIZES as PART_SIZES

MAX_PARAMETER = 24  # bytes of a kernel's parameter
PARAMETER = ["i32", "i32", "i64", "float", "i16", "i8", "i8"]
SHAPES = {  # lists are structs, tuples arrays
    "pair": ["i32", "i32"], "parameter": PARAMETER, "mixed": ["i64", "i32", "float"],
    "halves": ["i16", "i16", "i32"], "padded": ["i8", "i32", "i16"],
    "nested": [["i32", "i16"], (2, "float")], "array": (4, "i32"), "three": (3, "i32"),
    "bytes": "<4 x i8>", "lanes": "<2 x i32>", "word": "i32", "long": "i64", "wide": "i128",
    "large": (600, "i32"),
}
SIZES = {**PART_SIZES, "<2 x i32>": 8, "i128": 16}
PARTS = ["i8", "i16", "i32", "i64"]


def align_of(t):
    """In bytes, of accesses in objects: these have 8 at least."""
    return min(SIZES[t], 8)


class Layout:
    """The text of a shape, its size and alignment in bytes, and its leaves [(type, offset, path)];
    a path has the indices of an extractvalue."""

    def __init__(self, t):
        self.leaves = []
        if isinstance(t, str):
            self.text, self.size, self.leaves = t, SIZES[t], [(t, 0, ())]
            self.align = self.size
            return
        members = [Layout(m) for m in (t if isinstance(t, list) else [t[1]] * t[0])]
        self.align, at = max(m.align for m in members), 0
        for k, m in enumerate(members):
            at = -(-at // m.align) * m.align
            self.leaves += [(leaf, at + offset, (k, *path)) for leaf, offset, path in m.leaves]
            at += m.size
        self.size = -(-at // self.align) * self.align
        inner = ", ".join(m.text for m in members)
        self.text = f"{{ {inner} }}" if isinstance(t, list) else f"[{t[0]} x {members[0].text}]"


LAYOUTS = {name: Layout(t) for name, t in SHAPES.items()}


class Thing:
    """An object: its address and the bytes that are certainly defined."""

    def __init__(self, pointer, writable=True):
        self.pointer, self.writable, self.defined = pointer, writable, set()


class Scene:
    """The objects of one statement of the function f."""

    STEPS = ("member", "undef", "whole", "copy", "part", "chosen_store", "chosen_undef",
             "chosen_undef", "chosen_copy", "swap_loop", "by_value", "not_chosen", "frozen",
             "read", "read_whole")
    COPIES = ("parameter", "parameter", "constant")
    FILLS = ("nothing", "members", "whole", "parameter", "constant", "input", "memset")

    def __init__(self, f):
        self.f, self.r, of = f, f.r, f.m.swarm.of
        self.layout = LAYOUTS[f.r.choice(of("shapes", list(SHAPES)))]
        self.size, self.type = self.layout.size, self.layout.text
        self.space = " addrspace(5)" if f.r.random() < 0.1 else ""
        self.pointer = f"ptr{self.space}"
        # (condition, type, thing, offset, thing, offset): undefined in the first thing if the
        # condition is true, else in the second
        self.pending = []
        self.things = self.make_things()
        names = of("object steps", list(self.STEPS))
        names = [self.r.choice(names) for _ in range(self.r.choice([1, 2, 2, 3, 8]))]
        fill = self.r.choice(of("fills", list(self.FILLS)))
        self.only_read = self.r.random() < 0.25  # after a copy, but for undefined values
        if self.only_read:
            names = self.r.choice([["read"], ["chosen_undef"], ["chosen_undef", "read"], ["undef"]])
            fill = self.r.choice(self.COPIES)
        for t in self.things:
            self.fill(t, fill if self.r.random() < 0.7 else self.r.choice(self.FILLS))
        for _ in range(self.r.randint(1, 6)):
            getattr(self, f"step_{self.r.choice(names)}")()
        self.step_pending()
        for t in self.things:
            self.read(t)
            if self.r.random() < 0.3:
                self.read_whole(t)
        self.restore_parameters()
        self.read_parameter()

    # ---- objects
    def make_things(self):
        """Variables, neighbours in an array, or parameters of the kernel; first a variable."""
        f, r = self.f, self.r
        count = r.choice([2, 2, 2, 3])
        if r.random() < 0.2 and self.size <= 64:
            stride = -(-self.size // 16) * 16
            base = self.add_local(f"[{count * stride} x i8]")
            return [Thing(self.at(base, k * stride)) for k in range(count)]
        things = [Thing(self.add_local(self.type)) for _ in range(count)]
        is_parameter = self.type == LAYOUTS["parameter"].text and not self.space
        if is_parameter and f.kernel and f.m.boxes and r.random() < 0.4:
            for k in range(r.choice([1, 2])):
                things[-1 - k] = Thing(f"%box{k}", f.writes_boxes)
                things[-1 - k].defined = set(range(self.size))
        if not things[0].writable:
            things.append(Thing(self.add_local(self.type)))
        return things

    def add_local(self, text):
        name = self.f.new("thing")
        align = max(self.layout.align, self.r.choice([8, 8, 16, 32]))
        space = ", addrspace(5)" if self.space else ""
        self.f.allocas.append(f"  {name} = alloca {text}, align {align}{space}")
        return name

    def restore_parameters(self):
        """Parameters are defined as a whole between statements."""
        for t in self.things:
            if t.pointer.startswith("%box") and len(t.defined) < self.size:
                self.memset(t)

    def read_parameter(self):
        """The kernel's parameter itself, which copies of it do not change."""
        f, r = self.f, self.r
        for _ in range(r.choice([0, 1, 2]) if f.kernel and f.m.boxes else 0):
            t, at, _ = r.choice(LAYOUTS["parameter"].leaves)
            p = f.quietly(f"getelementptr i8, ptr %box{r.randrange(2)}, i64 {at}")
            f.keep_as(t, f"load {t}, ptr {p}, align {SIZES[t]}")

    def target(self):
        return self.r.choice([t for t in self.things if t.writable])

    def two(self):
        """Two objects; the second may be one that is only read."""
        a = self.r.choice(self.things)
        return a, self.r.choice([t for t in self.things if t is not a])

    def two_targets(self):
        known = [t for t in self.things if t.writable]
        return self.r.sample(known, 2) if len(known) > 1 else known * 2

    def touch(self, *things):
        """Another write: what is pending for these objects does not hold any more."""
        self.pending = [p for p in self.pending if p[2] not in things and p[4] not in things]

    def access(self, only=None):
        """(type, offset) of a member, or of an integer that is a part of a member or covers
        several; `only` limits the types."""
        r, leaves = self.r, self.layout.leaves
        if len(leaves) > 16:
            leaves = leaves[:3] + leaves[-3:]
        if r.random() < 0.65:
            known = [(t, at) for t, at, _ in leaves if not only or t in only]
            if known:
                return r.choice(known)
        t = r.choice([t for t in PARTS if SIZES[t] <= self.size and (not only or t in only)])
        at = r.choice(leaves)[1] if len(leaves) > 3 else r.randrange(self.size)
        return t, min(at, self.size - SIZES[t]) // SIZES[t] * SIZES[t]

    def at(self, pointer, offset, flag=""):
        if offset == 0 and not flag:
            return pointer
        return self.f.quietly(f"getelementptr{flag} i8, {self.pointer} {pointer}, i64 {offset}")

    def place(self, thing, offset):
        if offset == 0 and self.r.random() < 0.7:
            return thing.pointer
        return self.at(thing.pointer, offset, self.r.choice(["", " inbounds"]))

    def value(self, t):
        v = self.f.value(t)
        return self.f.one_nan(t, v) if t in ("float", "double") else v

    def undefined(self, t):
        """Undef, poison, or the contents of a variable that is not initialized."""
        kind = self.r.choice(["undef", "poison", "variable"])
        if kind != "variable" or len(self.layout.leaves) > 16:
            return self.r.choice(["undef", "poison"])
        name = self.f.new("unset")
        self.f.allocas.append(f"  {name} = alloca {t}, align 16")
        return self.f.quietly(f"load {t}, ptr {name}, align {SIZES.get(t, self.layout.align)}")

    # ---- accesses
    def store(self, t, v, p):
        align = self.layout.align
        if t in SIZES:
            align = self.r.choice([1, align_of(t), align_of(t)])
        self.f.emit(f"store {t} {v}, {self.pointer} {p}, align {align}")

    def load(self, t, p, keep=True):
        text = f"load {t}, {self.pointer} {p}, align {align_of(t)}"
        return self.f.keep_as(t, text) if keep else self.f.quietly(text)

    def load_whole(self, thing):
        return self.f.quietly(f"load {self.type}, {self.pointer} {thing.pointer}, "
                              f"align {self.layout.align}")

    def copy_bytes(self, to, to_space, from_, from_space, size):
        """memcpy or memmove of known addresses; spaces are texts."""
        kind = self.r.choice(["memcpy", "memcpy", "memmove"])
        a, b = (space[-2] if space else "0" for space in (to_space, from_space))
        name = f"void @llvm.{kind}.p{a}.p{b}.i64"
        self.f.m.declare(f"declare {name}(ptr{to_space}, ptr{from_space}, i64, i1)")
        self.f.emit(f"call {name}(ptr{to_space} {to}, ptr{from_space} {from_}, i64 {size}, "
                    "i1 false)")

    def memset(self, thing):
        name = f"void @llvm.memset.p{5 if self.space else 0}.i64"
        self.f.m.declare(f"declare {name}({self.pointer}, i8, i64, i1)")
        v = self.r.choice(["0", "-1", self.f.value("i8")])
        self.f.emit(f"call {name}({self.pointer} align 8 {thing.pointer}, i8 {v}, "
                    f"i64 {self.size}, i1 false)")
        thing.defined = set(range(self.size))

    def keep_leaves(self, defined):
        """What a load or store of the whole type keeps: leaves of which all bytes are defined."""
        every = [range(at, at + SIZES[t]) for t, at, _ in self.layout.leaves]
        return {b for leaf in every if defined.issuperset(leaf) for b in leaf}

    # ---- the first contents
    def fill(self, thing, kind):
        f, r = self.f, self.r
        if not thing.writable:
            return
        thing.defined = set()
        if kind == "parameter" and f.kernel and f.m.boxes:
            size = min(self.size, MAX_PARAMETER)
            size = size if r.random() < 0.6 else r.randint(1, size)
            self.copy_bytes(thing.pointer, self.space, r.choice(["%box0", "%box1"]), "", size)
            thing.defined = set(range(size))
        elif kind == "constant" and self.size <= 64:
            space = r.choice(["", " addrspace(1)", " addrspace(4)"])
            name = f"@image{f.new('c')[1:]}.{f.name}"
            text = "".join(f"\\{r.randrange(256):02X}" for _ in range(self.size))
            align = r.choice([16, 16, 4])
            f.add_global(f'{name} = internal{space} constant [{self.size} x i8] c"{text}", '
                         f"align {align}")
            self.copy_bytes(thing.pointer, self.space, name, space, self.size)
            thing.defined = set(range(self.size))
        elif kind == "input" and f.kernel:
            self.fill_from_input(thing)
        elif kind == "memset":
            self.memset(thing)
        elif kind in ("members", "whole") and len(self.layout.leaves) <= 16:
            self.store_members(thing) if kind == "members" else self.store_whole(thing, 0)

    def fill_from_input(self, thing):
        """One copy, or two that are far apart if the object is large."""
        at = self.f.quietly(f"getelementptr i8, ptr %in, i64 {self.r.randrange(0, 800, 8)}")
        pieces = [(0, self.size)] if self.size <= 64 else [(0, 16), (self.size - 16, 16)]
        for begin, size in pieces:
            self.copy_bytes(self.at(thing.pointer, begin), self.space, at, "", size)
            thing.defined |= set(range(begin, begin + size))

    def store_members(self, thing):
        for t, at, _ in self.layout.leaves:
            self.store(t, self.value(t), self.place(thing, at))
            thing.defined |= set(range(at, at + SIZES[t]))

    def store_whole(self, thing, omitted=0.3):
        """A chain of insertions, of all leaves or of some, into an undefined or another value."""
        f, r, leaves = self.f, self.r, self.layout.leaves
        if len(leaves) > 16:
            return self.undefine(thing)
        lanes = self.type[0] == "<"
        other = r.choice(self.things)
        if r.random() < 0.3 and not lanes:
            v, defined = self.load_whole(other), self.keep_leaves(other.defined)
        else:
            v, defined = r.choice([(self.undefined(self.type), set()), ("undef", set()),
                                   ("zeroinitializer", set(range(self.size)))])
        if lanes:
            e = self.type.split(" ")[2][:-1]
            insert = f"insertelement {self.type} {v}, {e}"
            v = f.quietly(f"{insert} {f.value(e)}, i32 0") if v[0] == "z" else f.value(self.type)
            defined = set(range(self.size))
        elif not leaves[0][2]:
            v, defined = f.value(self.type), set(range(self.size))
        for t, at, path in leaves if leaves[0][2] else []:
            if r.random() >= omitted:
                index = ", ".join(map(str, path))
                v = f.quietly(f"insertvalue {self.type} {v}, {t} {self.value(t)}, {index}")
                defined = defined | set(range(at, at + SIZES[t]))
        self.store(self.type, v, thing.pointer)
        thing.defined = self.keep_leaves(defined)
        self.touch(thing)

    def undefine(self, thing):
        t = self.r.choice([self.type, self.type, f"[{self.size} x i8]"])
        self.f.emit(f"store {t} {self.undefined(t)}, {self.pointer} {thing.pointer}, "
                    f"align {self.layout.align}")
        thing.defined = set()
        self.touch(thing)

    # ---- steps on one object
    def step_member(self):
        thing, (t, at) = self.target(), self.access()
        self.store(t, self.value(t), self.place(thing, at))
        thing.defined |= set(range(at, at + SIZES[t]))
        self.touch(thing)

    def step_undef(self):
        """Undefined as a whole, or in one access; some is then defined again."""
        r, thing = self.r, self.target()
        if r.random() < 0.7:
            self.undefine(thing)
        else:
            t, at = self.access()
            self.store(t, self.undefined(t), self.place(thing, at))
            thing.defined -= set(range(at, at + SIZES[t]))
            self.touch(thing)
        for _ in range(0 if self.only_read else r.randint(0, 3)):
            t, at = self.access()
            self.store(t, self.value(t), self.place(thing, at))
            thing.defined |= set(range(at, at + SIZES[t]))

    def step_whole(self):
        self.store_whole(self.target())

    def defined_access(self, *things):
        """(type, offset) of bytes that are defined in all the objects, or None."""
        for _ in range(6):
            t, at = self.access()
            if all(thing.defined.issuperset(range(at, at + SIZES[t])) for thing in things):
                return t, at
        return None

    def read(self, thing):
        found = self.defined_access(thing)
        if found:
            self.load(found[0], self.place(thing, found[1]))

    def step_read(self):
        self.read(self.r.choice(self.things))

    def read_whole(self, thing):
        """A load of the whole type, and the members that are defined."""
        f = self.f
        if len(self.layout.leaves) > 16:
            return
        v = self.load_whole(thing)
        for t, at, path in self.layout.leaves:
            if thing.defined.issuperset(range(at, at + SIZES[t])):
                if path:
                    f.keep_as(t, f"extractvalue {self.type} {v}, {', '.join(map(str, path))}")
                else:
                    f.add(t, v)

    def step_read_whole(self):
        self.read_whole(self.r.choice(self.things))

    def step_not_chosen(self):
        """A load of bytes that may be undefined, whose value is not chosen: %n is below 32."""
        f, r, thing = self.f, self.r, self.r.choice(self.things)
        if not f.kernel:
            return
        t, at = self.access(PARTS)
        w = self.load(t, self.place(thing, at), keep=False)
        c = f.quietly(f"icmp ugt i32 %n, {r.randint(31, 90)}")
        f.keep_as(t, f"select i1 {c}, {t} {w}, {t} {f.value(t)}")

    def step_frozen(self):
        """A frozen load of bytes that may be undefined, less itself."""
        f, thing = self.f, self.r.choice(self.things)
        t, at = self.access(PARTS)
        v = f.quietly(f"freeze {t} {self.load(t, self.place(thing, at), keep=False)}")
        f.keep_as(t, f"{self.r.choice(['sub', 'xor'])} {t} {v}, {v}")

    # ---- copies
    def source_and_target(self):
        """What is copied, and a writable object; now and then the same."""
        from_, to = self.two()
        return (from_, to) if to.writable else (to, self.things[0])

    def step_copy(self):
        """All of one object: by memcpy, as a value of its type, or as one integer."""
        r = self.r
        from_, to = self.source_and_target()
        if from_ is to:
            return
        kind = r.random()
        if kind < 0.5 or len(self.layout.leaves) > 16:
            self.copy_bytes(to.pointer, self.space, from_.pointer, self.space, self.size)
            to.defined = set(from_.defined)
        elif kind < 0.7 and self.size in (4, 8, 16):
            t = f"i{8 * self.size}"
            self.store(t, self.load(t, from_.pointer, keep=False), to.pointer)
            to.defined = set(from_.defined) if len(from_.defined) == self.size else set()
        else:
            v = self.load_whole(from_)
            self.store(self.type, v, to.pointer)
            to.defined = self.keep_leaves(from_.defined)
        self.touch(to)

    def step_part(self):
        """Some bytes of one object into another, also to another offset; one copy, or two that may
        be far apart."""
        r = self.r
        from_, to = self.source_and_target()
        if from_ is to:
            return
        for _ in range(r.choice([1, 1, 2])):
            count = min(self.size, r.choice([1, 2, 4, 8, 16, r.randint(1, 24)]))
            begin = r.choice([0, self.size - count, r.randint(0, self.size - count)])
            at = begin if r.random() < 0.6 else r.randint(0, self.size - count)
            self.copy_bytes(self.place(to, at), self.space, self.place(from_, begin), self.space,
                            count)
            to.defined -= set(range(at, at + count))
            to.defined |= {b - begin + at for b in from_.defined if begin <= b < begin + count}
        self.touch(to)

    # ---- choices
    def condition(self):
        """Of different values in the threads, or the same."""
        if self.f.kernel and self.r.random() < 0.3:
            predicate = self.r.choice(["ugt", "eq", "slt"])
            return self.f.quietly(f"icmp {predicate} i32 %n, {self.r.randint(0, 24)}")
        return self.f.condition()

    def choose(self, c, t, yes, no):
        """`c ? yes : no`, by a select or a phi."""
        f, r, name = self.f, self.r, self.f.new("either")
        if r.random() < 0.6:
            f.emit(f"{name} = select i1 {c}, {t} {yes}, {t} {no}")
            return name
        k, top, both = f.new("pick")[1:], f.block, r.random() < 0.5
        f.emit(f"br i1 {c}, label %{k}.yes, label %{k}.{'no' if both else 'join'}")
        f.label(f"{k}.yes")
        f.emit(f"br label %{k}.join")
        if both:
            f.label(f"{k}.no")
            f.emit(f"br label %{k}.join")
        f.label(f"{k}.join")
        f.emit(f"{name} = phi {t} [ {yes}, %{k}.yes ], [ {no}, %{f'{k}.no' if both else top} ]")
        return name

    def step_chosen_store(self):
        """A value into one of the objects, which stays in memory; sometimes of three."""
        r, (t, at) = self.r, self.access()
        a, b = self.two_targets()
        p = self.choose(self.condition(), self.pointer, self.place(a, at), self.place(b, at))
        touched = [a, b]
        if r.random() < 0.2:
            touched.append(self.target())
            p = self.choose(self.condition(), self.pointer, p, self.place(touched[-1], at))
        v = self.value(t)
        if r.random() < 0.3 and t in PARTS and self.defined_in(touched, at, t):
            op = r.choice(["add", "xor", "or"])
            v = self.f.quietly(f"{op} {t} {self.load(t, p, keep=False)}, {v}")
        self.store(t, v, p)
        self.touch(*touched)

    def defined_in(self, things, at, t):
        return all(thing.defined.issuperset(range(at, at + SIZES[t])) for thing in things)

    def step_chosen_undef(self):
        """Something undefined into one of two objects, or of two places in one; then a read of the
        other, or a store of a value."""
        r = self.r
        a, b = self.two_targets()
        if r.random() < 0.3 and a is not b:
            t, at = self.type, 0
        else:
            t, at = self.defined_access(a, b) or self.access()
        size = self.size if t == self.type else SIZES[t]
        at_b = at
        if a is b or r.random() < 0.2 and t != self.type:
            at_b = self.another_offset(at, size)
            if a is b and at_b == at:
                return
        c = self.condition()
        p = self.choose(c, self.pointer, self.place(a, at), self.place(b, at_b))
        align = 1 if t == self.type else min(size, 8)
        self.f.emit(f"store {t} {self.undefined(t)}, {self.pointer} {p}, align {align}")
        mine, theirs = set(range(at, at + size)), set(range(at_b, at_b + size))
        was = [(a, mine & a.defined), (b, theirs & b.defined)]
        self.touch(a, b)
        a.defined -= mine
        b.defined -= theirs
        both = all(len(bytes_) == size for _, bytes_ in was)
        if both:
            self.pending.append((c, t, a, at, b, at_b))
        if r.random() < 0.4:
            self.step_pending()
        if r.random() < 0.4 and t in SIZES and not self.only_read:
            self.store(t, self.value(t), p)
            self.touch(a, b)
            for thing, bytes_ in was:
                thing.defined |= bytes_

    def another_offset(self, at, size):
        return self.r.choice([x for x in range(0, min(self.size, 64) - size + 1, size)] or [at])

    def step_pending(self):
        """Reads from the object that was not chosen."""
        for c, t, a, at, b, at_b in self.pending:
            if t == self.type and t not in SIZES:
                t, more = self.r.choice(self.layout.leaves)[:2]
                at, at_b = at + more, at_b + more
            if self.r.random() < 0.5:
                x = self.load(t, self.place(a, at), keep=False)
                y = self.load(t, self.place(b, at_b), keep=False)
                self.f.add(t, self.choose(c, t, y, x))
            else:
                self.load(t, self.choose(c, self.pointer, self.place(b, at_b), self.place(a, at)))

    def step_chosen_copy(self):
        """A copy of, or into, one of two objects."""
        r = self.r
        count = self.size if r.random() < 0.6 else min(self.size, r.choice([1, 4, 8, 12]))
        bytes_ = set(range(count))
        if r.random() < 0.6:
            a, b = self.two()
            known = [t for t in self.things if t.writable and t is not a and t is not b]
            to = known[0] if known else Thing(self.add_local(self.type))
            from_ = self.choose(self.condition(), self.pointer, a.pointer, b.pointer)
            self.copy_bytes(to.pointer, self.space, from_, self.space, count)
            to.defined = to.defined - bytes_ | a.defined & b.defined & bytes_
            self.touch(to)
            return self.read(to)
        a, b = self.two_targets()
        source = Thing(self.add_local(self.type))
        self.fill(source, r.choice(["members", "memset", "constant", "parameter"]))
        to = self.choose(self.condition(), self.pointer, a.pointer, b.pointer)
        self.copy_bytes(to, self.space, source.pointer, self.space, count)
        for thing in (a, b):
            thing.defined -= bytes_ - source.defined
        self.touch(a, b)
        return None

    def step_swap_loop(self):
        """A loop in which two addresses change places; both are used after it."""
        f, r = self.f, self.r
        a, b = self.two_targets()
        t, at = self.access(["i8", "i16", "i32", "i64"])
        if a is b:
            return
        for thing in (a, b):
            if not thing.defined.issuperset(range(at, at + SIZES[t])):
                self.store(t, self.value(t), self.place(thing, at))
                thing.defined |= set(range(at, at + SIZES[t]))
        self.touch(a, b)
        first, second = self.place(a, at), self.place(b, at)
        limit = f.masked("i32", f.value("i32"), 7) if r.random() < 0.6 else r.randint(1, 6)
        k, top, x = f.new("swap")[1:], f.block, f.value(t)
        p, q, i, j = (f"%{k}.{n}" for n in "pqij")
        f.emit(f"br label %{k}.head")
        f.label(f"{k}.head")
        f.emit(f"{p} = phi {self.pointer} [ {first}, %{top} ], [ {q}, %{k}.head ]")
        f.emit(f"{q} = phi {self.pointer} [ {second}, %{top} ], [ {p}, %{k}.head ]")
        f.emit(f"{i} = phi i32 [ 0, %{top} ], [ {j}, %{k}.head ]")
        v = f.quietly(f"{r.choice(['add', 'xor', 'mul'])} {t} {self.load(t, p, keep=False)}, {x}")
        if r.random() < 0.3:
            self.store(t, self.undefined(t), q)
        self.store(t, v, q)
        f.emit(f"{j} = add nuw nsw i32 {i}, 1")
        c = f.quietly(f"icmp ult i32 {j}, {limit}")
        f.emit(f"br i1 {c}, label %{k}.head, label %{k}.exit")
        f.label(f"{k}.exit")
        f.add(t, v)
        self.load(t, r.choice([p, q]))

    # ---- calls
    def step_by_value(self):
        """A call with an object by value, which the function may change for itself."""
        f, r, thing = self.f, self.r, self.r.choice(self.things)
        if self.space or len(self.layout.leaves) > 16 or not f.kernel:
            return
        if len(self.keep_leaves(thing.defined)) < sum(SIZES[t] for t, _, _ in self.layout.leaves):
            if not thing.writable:
                return
            self.store_members(thing)
            self.touch(thing)
        name = f.m.takers.get(self.type)
        if not name or r.random() < 0.2:
            name = f.m.takers[self.type] = self.make_taker()
        f.keep_as("i32", f"call i32 {name}(ptr byval({self.type}) align {self.layout.align} "
                         f"{thing.pointer}, i32 {f.value('i32')})")

    def make_taker(self):
        """A function that folds members of its parameter, or of a copy of it, between stores."""
        m, r, leaves = self.f.m, self.r, self.layout.leaves
        m.taker_count += 1
        g = type(self.f)(m, f"take{m.taker_count}", False)
        g.add("i32", "%x")
        total, bases = "%x", ["%p"]
        if r.random() < 0.5:
            bases = r.choice([["%p", "%copy"], ["%copy"]])
            g.allocas.append(f"  %copy = alloca {self.type}, align 16")
            m.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
            g.emit("call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %p, "
                   f"i64 {self.size}, i1 false)")
        stores = r.choice([0, 0, 0.3, 0.5])
        for _ in range(r.randint(2, 6)):
            t, at, _ = r.choice(leaves)
            q = g.quietly(f"getelementptr i8, ptr {r.choice(bases)}, i64 {at}")
            if r.random() < stores:
                v = g.value(t)
                v = g.one_nan(t, v) if t in ("float", "double") else v
                g.emit(f"store {t} {v}, ptr {q}, align {SIZES[t]}")
            else:
                word = g.as_i32(t, g.quietly(f"load {t}, ptr {q}, align {SIZES[t]}"))
                total = g.quietly(f"{r.choice(['add', 'xor', 'sub'])} i32 {total}, {word}")
        head = (f"define internal i32 @{g.name}(ptr byval({self.type}) "
                f"align {self.layout.align} %p, i32 %x){r.choice(['', '', ' noinline'])} {{")
        body = [head, "entry:", *g.allocas, *g.lines, f"  ret i32 {total}", "}"]
        m.bodies.append("\n".join(body))
        return f"@{g.name}"


class Objects:
    """A mixin of Function."""

    def objects(self):
        Scene(self)
