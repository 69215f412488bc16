"""What front ends write and the other generators' statements do not have: constants of one value in two types, bool
arithmetic, tables of large bytes, counters narrower than their bounds, loops that test first, or the old value, and leave in the
middle, divisors with one bit, loops whose values change places, memory written as one type and read as another, parts of copies,
bit-fields, switches in loops.

A mixin of the classes that write functions; they have `r`, `new`, `emit`, `label`, `block`, `value`, `add`, `add_local`, `add_global`,
`add_node`, `m.declare`, `one_nan` and `spaces`. Everything is defined: counters do not wrap, indices are within bounds, floats are
stored with one NaN. Memory is punned at constant offsets of one local variable only: there addresses say what overlaps,
and tags do not count."""

INT_TAGS = {"i8": "omnipotent char", "i16": "short", "i32": "int", "i64": "long", "float": "float", "double": "double"}
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8, "<2 x i16>": 4, "<4 x i8>": 4, "<2 x float>": 8}
STORAGE = [8, 16, 24, 32, 40, 48, 64, 128, 136, 168]
MOST_TRIPS = 40


def width(t):
    return int(t[1:])


def literal(t, v):
    v &= (1 << width(t)) - 1
    if t == "i1":
        return "true" if v else "false"
    return str(v - (1 << width(t)) if v >> (width(t) - 1) else v)


class Idioms:
    """`idiom()` writes one of them and adds its results."""

    IDIOMS = ("one_value", "bools", "byte_table", "counted_loop", "counted_loop", "punning", "punning_loop", "partial_copy", "bit_fields",
              "power_remainder", "power_loop", "rotation", "rotation")

    def idiom(self, names=IDIOMS):
        getattr(self, self.r.choice(self.m.swarm.of("idioms", list(names))))()

    def quietly(self, text, hint="q"):
        name = self.new(hint)
        self.emit(f"{name} = {text}")
        return name

    def keep_as(self, t, text):
        name = self.quietly(text)
        self.add(t, name)
        return name

    # ---- constants and bools
    def one_value(self):
        """A bit of one type chooses between constants of the same value in another."""
        r = self.r
        t, u = r.choice(["i8", "i16", "i32", "i64", "i24"]), r.choice(["i1", "i1", "i1", "i8", "i16", "i32", "i64"])
        c = 1 if u == "i1" else r.choice([1, 2, 4, 16, 128, 3, 100])
        bit = self.quietly(f"and {t} {self.value(t)}, {literal(t, c)}")
        p = self.quietly(f"icmp {r.choice(['eq', 'ne'])} {t} {bit}, {literal(t, r.choice([0, 0, c]))}")
        y = self.value(u)
        arms = [literal(u, 0), literal(u, c), literal(u, ~c), y, self.quietly(f"or {u} {y}, {literal(u, c)}"),
                self.quietly(f"and {u} {y}, {literal(u, ~c)}"), self.quietly(f"xor {u} {y}, {literal(u, c)}")]
        s = self.keep_as(u, f"select i1 {p}, {u} {r.choice(arms)}, {u} {r.choice(arms)}")
        if u == "i1":
            self.keep_as(t, f"{r.choice(['zext', 'sext'])} i1 {s} to {t}")

    def bools(self):
        r = self.r
        known = [self.value("i1"), self.value("i1"), "true", self.quietly(f"icmp ult i32 {self.value('i32')}, {r.randint(0, 9)}")]
        for _ in range(r.randint(2, 5)):
            a, b = r.choice(known), r.choice(known)
            op = r.choice(["add", "sub", "mul", "and", "or", "xor", "icmp", "select", "number", "shift"])
            if op == "icmp":
                known.append(self.quietly(f"icmp {r.choice(['eq', 'ne', 'ult', 'sgt', 'uge', 'sle'])} i1 {a}, {b}"))
            elif op == "select":
                known.append(self.quietly(f"select i1 {a}, i1 {b}, i1 {r.choice(known)}"))
            elif op in ("number", "shift"):
                t = r.choice(["i8", "i32", "i64"])
                n = self.quietly(f"{r.choice(['zext', 'sext'])} i1 {a} to {t}")
                m = self.quietly(f"{r.choice(['sub', 'add', 'mul', 'xor'])} {t} {literal(t, r.choice([0, 1, -1, 5]))}, {n}") if op == "number" else \
                    self.quietly(f"shl {t} {n}, {r.randint(0, 7)}")
                self.add(t, m)
                known.append(self.quietly(f"icmp {r.choice(['ne', 'eq', 'ugt', 'slt'])} {t} {m}, {literal(t, r.choice([0, 1, 2, -1]))}"))
            else:
                known.append(self.quietly(f"{op} i1 {a}, {b}"))
        self.add("i1", known[-1])

    # ---- divisors with one bit
    def one_bit(self, t):
        """A value of which one bit is set."""
        r, n = self.r, width(t)
        by = self.quietly(f"and {t} {self.value(t)}, {n - 1}")
        kind = r.random()
        if kind < 0.6:
            return self.quietly(f"shl{r.choice(['', ' nuw'])} {t} 1, {by}")
        if kind < 0.8:
            return self.quietly(f"lshr {t} {literal(t, 1 << (n - 1))}, {by}")
        few = self.quietly(f"and {t} {by}, {n // 2 - 1}")
        c = self.quietly(f"icmp slt {t} {self.value(t)}, {self.value(t)}")
        shifted = self.quietly(f"shl {t} 2, {few}")
        return self.quietly(f"select i1 {c}, {t} {r.choice([1, 2, 4, 64])}, {t} {shifted}")

    def with_power(self, t, x, s):
        """A quotient, remainder or test of x by the power of two s."""
        r = self.r
        kind = r.random()
        if kind < 0.7:
            op = r.choice(["urem", "urem", "srem", "udiv", "sdiv"])
            return self.quietly(f"{op} {t} {x}, {s}")
        m = self.quietly(f"and {t} {x}, {r.choice([s, self.quietly(f'sub {t} {s}, 1')])}")
        if kind < 0.8:
            return m
        c = self.quietly(f"icmp {r.choice(['eq', 'ne', 'ugt'])} {t} {m}, {r.choice([s, '0', '1'])}")
        return self.quietly(f"{r.choice(['zext', 'sext'])} i1 {c} to {t}")

    def power_remainder(self):
        t = self.r.choice(["i8", "i16", "i32", "i32", "i64", "i64"])
        s = self.one_bit(t)
        self.add(t, self.with_power(t, self.value(t), s))
        if self.r.random() < 0.3:
            self.add(t, s)

    def power_loop(self):
        """By each of several powers, from the least or from the largest."""
        r = self.r
        t, k, top = r.choice(["i8", "i16", "i32", "i64"]), self.new("power")[1:], self.block
        up = r.random() < 0.5
        first = literal(t, r.choice([1, 1, 2]) if up else 1 << (width(t) - r.choice([1, 1, 2])))
        x, start, trips = self.value(t), self.value(t), r.randint(1, 6)
        i, s, total, j, twice = (f"%{k}.{n}" for n in "istjd")
        self.emit(f"br label %{k}.head")
        self.label(f"{k}.head")
        at = len(self.lines)
        part = self.with_power(t, x, s)
        after = self.quietly(f"{r.choice(['add', 'xor'])} {t} {total}, {part}")
        self.emit(f"{twice} = {'shl' if up else 'lshr'} {t} {s}, 1")
        self.emit(f"{j} = add nuw nsw i32 {i}, 1")
        c = self.quietly(f"icmp ult i32 {j}, {trips}")
        self.emit(f"br i1 {c}, label %{k}.head, label %{k}.exit{self.loop_node()}")
        self.lines[at:at] = [f"  {i} = phi i32 [ 0, %{top} ], [ {j}, %{k}.head ]",
                             f"  {s} = phi {t} [ {first}, %{top} ], [ {twice}, %{k}.head ]",
                             f"  {total} = phi {t} [ {start}, %{top} ], [ {after}, %{k}.head ]"]
        self.label(f"{k}.exit")
        self.add(t, after)
        self.add(t, s)

    # ---- values that change places
    def turned(self, t, x, y):
        """A value of two of a loop; integers also as floats of the same bits, which are in registers
        of the other kind."""
        r = self.r
        floats = {"i32": "float", "i64": "double", "i16": "half"}
        if t in floats and r.random() < 0.5:
            of = floats[t]
            f = self.quietly(f"bitcast {t} {x} to {of}")
            text = f"fneg {of} {f}"
            if r.random() < 0.5:
                text = f"fadd {of} {f}, {self.quietly(f'bitcast {t} {y} to {of}')}"
            return self.quietly(f"bitcast {of} {self.one_nan(of, self.quietly(text))} to {t}")
        if t in ("float", "double"):
            return self.quietly(f"{r.choice(['fadd', 'fsub'])} {t} {x}, {y}")
        return self.quietly(f"{r.choice(['add', 'xor', 'mul', 'sub'])} {t} {x}, {y}")

    def rotation(self):
        """Values of a loop in each other's place, always or on a condition; the values of the previous
        iteration are used after the loop."""
        r = self.r
        t = r.choice(["i32", "i32", "i16", "i64", "i8", "float", "double"])
        count = r.choice([2, 2, 3, 4])
        k, top = self.new("turn")[1:], self.block
        starts, x = [self.value(t) for _ in range(count)], self.value(t)
        limit = str(r.randint(1, 9))
        if r.random() < 0.6:
            limit = self.quietly(f"and i32 {self.value('i32')}, 7")
        phis = [f"%{k}.{n}" for n in "abcd"[:count]]
        i, j = f"%{k}.i", f"%{k}.j"
        self.emit(f"br label %{k}.head")
        self.label(f"{k}.head")
        at = len(self.lines)
        made = self.turned(t, r.choice(phis), r.choice([x, *phis]))
        nexts = phis[1:] + phis[:1]
        for n in range(count):
            if r.random() < 0.3:
                nexts[n] = r.choice([made, x, phis[n], *phis])
        nexts[r.randrange(count)] = made
        if r.random() < 0.5:
            bit = self.quietly(f"and i32 {i}, {r.choice([1, 2, 3])}")
            c = self.quietly(f"icmp eq i32 {bit}, {r.choice([0, 1])}")
            nexts = self.turned_back(k, t, c, phis, nexts)
        self.emit(f"{j} = add nuw nsw i32 {i}, 1")
        c = self.quietly(f"icmp ult i32 {j}, {limit}")
        last = self.block
        self.emit(f"br i1 {c}, label %{k}.head, label %{k}.exit{self.loop_node()}")
        self.lines[at:at] = [f"  {i} = phi i32 [ 0, %{top} ], [ {j}, %{last} ]"] + \
            [f"  {p} = phi {t} [ {s}, %{top} ], [ {n}, %{last} ]"
             for p, s, n in zip(phis, starts, nexts)]
        self.label(f"{k}.exit")
        for v in r.sample(phis + nexts, 3):
            if v[0] == "%":
                self.add(t, v)

    def turned_back(self, k, t, c, phis, nexts):
        """The next values if c, else the phis in another order; by selects or phis."""
        r = self.r
        other = r.choice([phis, phis[::-1]])
        if r.random() < 0.5:
            return [self.quietly(f"select i1 {c}, {t} {a}, {t} {b}") for a, b in zip(nexts, other)]
        top = self.block
        self.emit(f"br i1 {c}, label %{k}.join, label %{k}.else")
        self.label(f"{k}.else")
        self.emit(f"br label %{k}.join")
        self.label(f"{k}.join")
        return [self.quietly(f"phi {t} [ {a}, %{top} ], [ {b}, %{k}.else ]")
                for a, b in zip(nexts, other)]

    # ---- tables
    def byte_table(self):
        """Bytes whose decimal text has three digits, so many that a printer writes them in several groups."""
        r = self.r
        n = r.choice([r.randint(200, 300), r.randint(255, 259), r.randint(300, 600)])
        name = f"@bytes{self.new('t')[1:]}.{getattr(self, 'name', 'f')}"
        space = r.choice(self.spaces())
        values = [r.randint(200, 255) if r.random() < 0.9 else r.randrange(256) for _ in range(n)]
        text = "".join(f"\\{v:02X}" for v in values)
        self.add_global(f'{name} = internal{space} {r.choice(["constant", "global"])} [{n} x i8] c"{text}"')
        i = self.quietly(f"urem i64 {self.value('i64')}, {n}")
        p = self.quietly(f"getelementptr i8, ptr{space} {name}, i64 {i}")
        self.keep_as("i8", f"load i8, ptr{space} {p}")

    # ---- loops
    def loop_node(self):
        r = self.r
        if r.random() < 0.4:
            return ""
        hints = r.choice([['!"llvm.loop.unroll.enable"'], ['!"llvm.loop.unroll.full"'], [f'!"llvm.loop.unroll.count", i32 {r.choice([2, 3, 4, 8])}'],
                          ['!"llvm.loop.vectorize.enable", i1 true'],
                          ['!"llvm.loop.vectorize.enable", i1 true', f'!"llvm.loop.vectorize.width", i32 {r.choice([2, 4, 8])}']])
        return ", !llvm.loop " + self.add_node(*[f"!{{{h}}}" for h in hints], loop=True)

    def bounds(self, t):
        """(first, end, largest end, step) of a counter of type t that goes up and does not pass its type's largest value; in each
        loop `first <= end`, and `end - first` is a multiple of the step where both are known together. Two more steps fit: a
        loop that tests the old value has counted once more when it ends."""
        r = self.r
        room = (1 << min(width(t), 16)) // 2 - 1  # of the signed numbers
        step = r.choice([s for s in (1, 1, 1, 2, 3, 4, 8, 16, 32, 64, 128) if s * 3 < room])
        trips = r.randint(1, max(1, min(MOST_TRIPS, room // step - 2)))
        spread = r.choice([m for m in (0, 0, 1, 3, 7, 15) if trips * step + m + 2 * step <= room])
        first = "0" if spread == 0 else self.quietly(f"and {t} {self.value(t)}, {spread}")
        kind = r.random()
        if kind < 0.4:   # as far from the start, wherever that is
            end = str(trips * step) if spread == 0 else self.quietly(f"add nuw nsw {t} {first}, {trips * step}")
            return first, end, trips * step + spread, step, True
        if kind < 0.8:   # a bound of its own
            mask = max(m for m in (0, 1, 3, 7, 15, 31) if m <= trips * step)
            less = self.quietly(f"and {t} {self.value(t)}, {mask}")
            return first, self.quietly(f"sub nuw nsw {t} {trips * step + spread}, {less}"), trips * step + spread, step, False
        return first, str(trips * step + spread), trips * step + spread, step, False

    def counted_loop(self):
        """Up or down, tested first or last, by the old or the new value, in the counter's type or a wider one."""
        r = self.r
        t = r.choice(["i8", "i8", "i16", "i32", "i32", "i64"])
        first, end, most, step, together = self.bounds(t)
        down = r.random() < 0.25
        k = self.new("loop")[1:]
        top = self.block
        wide = r.choice([x for x in ("i16", "i32", "i64") if width(x) >= width(t)] + [t, t])
        limit = end
        tests_old = r.random() < 0.5
        if down:
            first, limit = end, None
        elif wide != t and not end.isdigit():
            limit = self.quietly(f"zext {t} {end} to {wide}")
        if not down and tests_old and r.random() < 0.5 and most >= 2 * step:
            # i + step < end as i < end - step, which optimizers write; the end is at least the step here
            floor = self.quietly(f"call {wide} @llvm.umax.{wide}({wide} {limit}, {wide} {step})")
            self.m.declare(f"declare {wide} @llvm.umax.{wide}({wide}, {wide})")
            limit = self.quietly(f"{r.choice(['add nsw', 'add'])} {wide} {floor}, {-step}")
        start = [self.value("i32"), self.value(t)]
        self.emit(f"br label %{k}.head")
        self.label(f"{k}.head")
        i, j, n, s, u = (f"%{k}.{x}" for x in "ijnsu")
        at, exits = len(self.lines), []
        tested = i if tests_old or down else j

        def test(now, later):
            """Leaves the loop with the values, or goes on."""
            exits.append((self.block, *now))
            c = self.exit_test(t, wide, tested, limit, step, down, together and not tests_old)
            self.emit(f"br i1 {c}, label %{later}, label %{k}.exit{self.loop_node() if later == f'{k}.head' else ''}")

        unrotated = tested == i and r.random() < 0.6
        if unrotated:
            test((i, s, u, n), f"{k}.body")
            self.label(f"{k}.body")
        values = self.loop_body(k, t, i, s, u, exits, n)
        flags = r.choice(["", " nsw"] if down else ["", " nuw", " nsw", " nuw nsw"])
        self.emit(f"{j} = add{flags} {t} {i}, {-step if down else step}")
        self.emit(f"{n}.next = add i32 {n}, 1")
        latch = self.block
        if unrotated:
            self.emit(f"br label %{k}.head{self.loop_node()}")
        else:
            test((j, *values, f"{n}.next"), f"{k}.head")
        self.lines[at:at] = [f"  {i} = phi {t} [ {first}, %{top} ], [ {j}, %{latch} ]", f"  {s} = phi i32 [ {start[0]}, %{top} ], [ {values[0]}, %{latch} ]",
                             f"  {u} = phi {t} [ {start[1]}, %{top} ], [ {values[1]}, %{latch} ]",
                             f"  {n} = phi i32 [ 0, %{top} ], [ {n}.next, %{latch} ]"]
        self.label(f"{k}.exit")
        for x, of in enumerate((t, "i32", t, "i32")):
            self.keep_as(of, f"phi {of} " + ", ".join(f"[ {e[x + 1]}, %{e[0]} ]" for e in exits))

    def exit_test(self, t, wide, tested, limit, step, down, exact):
        """The condition to go on."""
        r = self.r
        if down:  # one more step does not pass zero
            word = r.choice([f"uge {t} {tested}, {step}", f"ugt {t} {tested}, {step - 1}", f"sge {t} {tested}, {step}"])
            return self.quietly(f"icmp {word}")
        if wide != t:
            tested = self.quietly(f"{r.choice(['zext', 'zext nneg', 'sext'])} {t} {tested} to {wide}")
        return self.quietly(f"icmp {r.choice(['ult', 'slt', 'ult'] + ['ne'] * exact)} {wide} {tested}, {limit}")

    def loop_body(self, k, t, i, s, u, exits, n):
        """(next sum, next value of the counter's type); may leave in the middle or have a switch."""
        r = self.r
        w = self.quietly(f"{r.choice(['zext', 'sext'])} {t} {i} to i32") if width(t) < 32 else i if t == "i32" else self.quietly(f"trunc {t} {i} to i32")
        x = self.quietly(f"mul i32 {w}, {r.choice([1, 3, 7])}")
        table = self.loop_table(w) if r.random() < 0.4 else None
        if table:
            x = self.quietly(f"add i32 {x}, {table}")
        total = self.quietly(f"{r.choice(['add', 'xor', 'sub'])} i32 {s}, {x}")
        own = self.quietly(f"{r.choice(['add', 'xor', 'mul', 'or'])} {t} {u}, {self.quietly(f'add {t} {i}, {r.randint(0, 5)}')}")
        if r.random() < 0.25:
            bits = self.quietly(f"and i32 {total}, {r.choice([31, 63])}")
            c = self.quietly(f"icmp eq i32 {bits}, {r.randrange(31)}")
            exits.append((self.block, i, total, own, n))
            self.emit(f"br i1 {c}, label %{k}.exit, label %{k}.on")
            self.label(f"{k}.on")
        if r.random() < 0.25:
            total = self.loop_switch(k, total, w)
        return total, own

    def loop_table(self, index):
        """An element of a small table by the counter."""
        r = self.r
        name = f"@small{self.new('t')[1:]}.{getattr(self, 'name', 'f')}"
        space = r.choice(self.spaces())
        values = "".join(f"\\{r.randrange(256):02X}" for _ in range(64))
        self.add_global(f'{name} = internal{space} constant [64 x i8] c"{values}"')
        at = self.quietly(f"and i32 {index}, 63")
        p = self.quietly(f"getelementptr i8, ptr{space} {name}, i32 {at}")
        return self.quietly(f"{r.choice(['zext', 'sext'])} i8 {self.quietly(f'load i8, ptr{space} {p}')} to i32")

    def loop_switch(self, k, total, w):
        r = self.r
        on = self.quietly(f"and i32 {r.choice([total, w])}, {r.choice([3, 7])}")
        numbers = r.sample(range(8), r.randint(2, 5))
        cases = " ".join(f"i32 {v}, label %{k}.case{n % 3}" for n, v in enumerate(numbers))
        targets = sorted({n % 3 for n in range(len(numbers))})
        arms = [(total, self.block)]
        self.emit(f"switch i32 {on}, label %{k}.join [ {cases} ]")
        for n in targets:
            self.label(f"{k}.case{n}")
            arms.append((self.quietly(f"{r.choice(['add', 'xor', 'mul'])} i32 {total}, {r.randint(2, 999)}"), self.block))
            self.emit(f"br label %{k}.join")
        self.label(f"{k}.join")
        return self.quietly("phi i32 " + ", ".join(f"[ {v}, %{b} ]" for v, b in arms))

    # ---- memory of several types
    def tag(self, t):
        """`, !tbaa` of a type, or nothing."""
        if t not in INT_TAGS or self.r.random() < 0.3:
            return ""
        root = self.add_node('!{!"idioms"}')
        char = self.add_node(f'!{{!"omnipotent char", {root}, i64 0}}')
        of = char if t == "i8" else self.add_node(f'!{{!"{INT_TAGS[t]}", {char}, i64 0}}')
        return f", !tbaa {self.add_node(f'!{{{of}, {of}, i64 0}}')}"

    def store_part(self, base, size, types):
        t = self.r.choice([t for t in types if SIZES[t] <= size])
        at = self.r.randrange(0, size - SIZES[t] + 1, SIZES[t])
        v = self.value(t)
        if t in ("float", "double"):
            v = self.one_nan(t, v)
        p = base if at == 0 else self.quietly(f"getelementptr{self.r.choice(['', ' inbounds'])} i8, ptr {base}, i64 {at}")
        self.emit(f"store {t} {v}, ptr {p}, align {SIZES[t]}{self.tag(t)}")
        return p, t

    def load_part(self, base, size, place=None):
        r = self.r
        t = r.choice([t for t in SIZES if SIZES[t] <= size and t != "<2 x float>"])
        if place and SIZES[t] <= SIZES[place[1]]:
            return self.keep_as(t, f"load {t}, ptr {place[0]}, align {SIZES[t]}{self.tag(t)}")
        at = r.randrange(0, size - SIZES[t] + 1, SIZES[t])
        p = self.quietly(f"getelementptr i8, ptr {base}, i64 {at}")
        return self.keep_as(t, f"load {t}, ptr {p}, align {SIZES[t]}{self.tag(t)}")

    def cleared(self, size, of=None):
        name = self.add_local(of or f"[{size} x i8]", 16)
        self.m.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.emit(f"call void @llvm.memset.p0.i64(ptr align 16 {name}, i8 0, i64 {size}, i1 false)")
        return name

    def punning(self):
        """A variable, or a union, written as one type and read as another through one address."""
        r = self.r
        size, of = r.choice([(4, "float"), (4, "i32"), (8, "i64"), (8, "double"), (8, "[2 x float]"), (16, "{ i32, i32, double }"), (16, None)])
        base = self.cleared(size, of)
        types = [t for t in SIZES if t != "<2 x float>"]
        for _ in range(r.randint(1, 4)):
            place = self.store_part(base, size, types)
            if r.random() < 0.7:
                self.load_part(base, size, place if r.random() < 0.7 else None)
        self.load_part(base, size)

    def punning_loop(self):
        """The same in a loop, where stores could be taken out or dropped."""
        r = self.r
        count = r.randint(2, 8)
        base = self.cleared(4 * count)
        k, top = self.new("pun")[1:], self.block
        bits, x = self.value("i32"), self.value("float")
        self.emit(f"br label %{k}.head")
        self.label(f"{k}.head")
        i, s, j, total = (f"%{k}.{n}" for n in "isjt")
        at = len(self.lines)
        p = base if r.random() < 0.5 else self.quietly(f"getelementptr float, ptr {base}, i32 {i}")
        f = self.quietly(f"fadd float {x}, {self.quietly(f'uitofp i32 {i} to float')}")
        self.emit(f"store float {self.one_nan('float', f)}, ptr {p}, align 4{self.tag('float')}")
        v = self.quietly(f"load i32, ptr {p}, align 4{self.tag('i32')}")
        if r.random() < 0.5:
            self.emit(f"store i32 {self.quietly(f'xor i32 {v}, {bits}')}, ptr {p}, align 4{self.tag('i32')}")
            v = self.quietly(f"load i16, ptr {p}, align 4{self.tag('i16')}")
            v = self.quietly(f"zext i16 {v} to i32")
        self.emit(f"{total} = add i32 {s}, {v}")
        self.emit(f"{j} = add nuw nsw i32 {i}, 1")
        c = self.quietly(f"icmp ult i32 {j}, {count}")
        self.emit(f"br i1 {c}, label %{k}.head, label %{k}.exit{self.loop_node()}")
        self.lines[at:at] = [f"  {i} = phi i32 [ 0, %{top} ], [ {j}, %{self.block} ]", f"  {s} = phi i32 [ 0, %{top} ], [ {total}, %{self.block} ]"]
        self.label(f"{k}.exit")
        self.add("i32", total)
        self.load_part(base, 4 * count)

    def partial_copy(self):
        """Some bytes of one variable into another, or further on in the same one."""
        r = self.r
        size = r.choice([8, 12, 16, 24])
        a, b = self.cleared(size), self.cleared(size)
        types = [t for t in SIZES if t != "<2 x float>"]
        for _ in range(r.randint(1, 3)):
            self.store_part(r.choice([a, b]), size, types)
        count = r.randint(1, size - 1)
        to_at, from_at = r.randint(0, size - count), r.randint(0, size - count)
        kind, source = r.choice([("memcpy", a), ("memcpy", a), ("memmove", b)])
        to, from_ = self.quietly(f"getelementptr i8, ptr {b}, i64 {to_at}"), self.quietly(f"getelementptr i8, ptr {source}, i64 {from_at}")
        self.m.declare(f"declare void @llvm.{kind}.p0.p0.i64(ptr, ptr, i64, i1)")
        self.emit(f"call void @llvm.{kind}.p0.p0.i64(ptr {to}, ptr {from_}, i64 {count}, i1 false)")
        for _ in range(r.randint(1, 2)):
            self.load_part(b, size)

    def bit_fields(self):
        """Members of a storage unit, written and read as clang does."""
        r = self.r
        n = r.choice(STORAGE)
        t = f"i{n}"
        base = self.cleared(24)
        for _ in range(r.randint(1, 4)):
            count = r.randint(1, min(n, 31))
            at = r.randint(0, n - count)
            mask = (1 << count) - 1
            if r.random() < 0.6:
                old = self.quietly(f"load {t}, ptr {base}, align {r.choice([1, 1, 4])}")
                v = self.value("i32")
                new = v if n == 32 else self.quietly(f"{'zext' if n > 32 else 'trunc'} i32 {v} to {t}")
                new = self.quietly(f"and {t} {new}, {literal(t, mask)}")
                if at:
                    new = self.quietly(f"shl {t} {new}, {at}")
                clear = self.quietly(f"and {t} {old}, {literal(t, ~(mask << at))}")
                self.emit(f"store {t} {self.quietly(f'or {t} {clear}, {new}')}, ptr {base}, align 1")
            whole = self.quietly(f"load {t}, ptr {base}, align 1")
            if r.random() < 0.5:
                up = self.quietly(f"shl {t} {whole}, {n - count - at}") if n > count + at else whole
                v = self.quietly(f"ashr {t} {up}, {n - count}") if n > count else up
            else:
                down = self.quietly(f"lshr {t} {whole}, {at}") if at else whole
                v = self.quietly(f"and {t} {down}, {literal(t, mask)}")
            if n != 32:
                v = self.quietly(f"{'trunc' if n > 32 else 'sext'} {t} {v} to i32")
            self.add("i32", v)
