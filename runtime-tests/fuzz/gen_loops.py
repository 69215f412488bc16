#!/usr/bin/env python3
"""Random serial loops of one thread over memory, for the loop vectorizer: kernels as gen_kernels.py makes them (valid,
terminating, race-free), each one loop.

    gen_loops.py SEED [--count N] [--swarm]

Every thread of a kernel runs the loop in a constellation of its own: trip count 0 to 70, two buffers that lie -17 to
17 elements apart in the same memory (or are the same, or parts of one), 0 to 15 elements behind an aligned place.
What loops are made of: all element types, mixed; strides, struct members, reversed walks, neighbours, worked on alike
and stored side by side; reductions, partly of floats under `reassoc` on numbers that any order sums exactly;
recurrences, serial chains, conditional accesses, early exits, values used after the loop, hints. At the end a thread
folds its memory, NaNs made one, into its results. Every sixth kernel calls a function that searches memory known to be
there for what one of its iterations finds, and every sixth is a nest of two loops over matrices, whose rows may overlap."""
import argparse
import random

from gen_kernels import FLOATS, NAN, Function, bits, is_float, is_int, mangle, memory_bytes
from swarm import Swarm

THREADS = 71
ELEMENTS = 128        # of a thread's part of a buffer
MEMORY = ["i8", "i16", "i32", "i64", "half", "bfloat", "float", "double"]
SUMS = ["add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"]


class Array:
    """A view of one of the memories: elements of type t; only memories 0 and 1 are written, by a search none."""

    def __init__(self, pointer, t, memory, align, writable):
        self.pointer, self.t, self.memory, self.align = pointer, t, memory, align
        self.writable = writable and memory < 2


class Loop(Function):
    def __init__(self, module, name, search):
        super().__init__(module, name, True)
        self.search = search    # only looks at memory, which is a function's argument of known size, and leaves early
        self.types = []
        self.phis = []          # (type, name, start, next)
        self.exits = []         # (block, [value of each phi there])
        self.results = []       # (type, name) after the loop
        self.space = module.space
        self.branches = 0
        self.written = set()    # memories

    def any_type(self):
        return self.r.choice(self.types)

    # ---- the constellation
    def mixed(self, below):
        """A number below `below` that differs from thread to thread."""
        r = self.r
        a, b, c = self.new("h"), self.new("h"), self.new("h")
        self.emit(f"{a} = mul i32 %tid, {r.randrange(1, 2000, 2)}")
        self.emit(f"{b} = add i32 {a}, {r.randrange(1000)}")
        self.emit(f"{c} = urem i32 {b}, {below}")
        return c

    def hidden(self, t, v):
        """The same value, of which the compiler knows nothing."""
        slot, name = self.new("slot"), self.new("h")
        self.allocas.append(f"  {slot} = alloca {t}")
        self.emit(f"store volatile {t} {v}, ptr {slot}")
        self.emit(f"{name} = load volatile {t}, ptr {slot}")
        return name

    def make_arrays(self):
        r, m = self.r, self.m
        self.arrays = []
        near = self.mixed(16)
        self.bases = []
        for k, memory in enumerate(m.memory):
            base = self.new("base")
            self.emit(f"{base} = getelementptr [{m.bytes} x i8], ptr{self.space} %m{k}, i64 %tid64")
            self.bases.append(base)
        offset = r.choice(["0", str(r.randrange(16)), near, near, near])
        for k in [0, 0] + [x for x in (1, 2) if r.random() < 0.6]:
            t = r.choice(MEMORY[:4]) if m.memory[k] == "int" else m.memory[k]
            at = self.new("at")
            if k == 0 and self.arrays:
                kind = r.random()
                if m.memory[0] == "int" and r.random() < 0.7:
                    t = self.arrays[0].t
                distance = self.new("d")
                apart = self.mixed(35) if kind < 0.75 else str(r.choice([17, 17, r.randrange(35)]))
                self.emit(f"{distance} = sub i32 {apart}, 17")
                self.emit(f"{at} = add i32 {offset}, {distance}")
            else:
                self.emit(f"{at} = add i32 {offset if r.random() < 0.8 else 0}, 0")
            place = self.new("at")
            self.emit(f"{place} = add i32 {at}, 24")
            wide = self.new("at")
            self.emit(f"{wide} = sext i32 {place} to i64")
            p = self.new("p")
            if r.random() < 0.25:
                wide = self.hidden("i64", wide)
            odd = m.memory[k] == "int" and r.random() < 0.04
            base = self.bases[k]
            if odd:
                q = self.new("p")
                self.emit(f"{q} = getelementptr i8, ptr{self.space} {base}, i64 1")
                base = q
            self.emit(f"{p} = getelementptr {t}, ptr{self.space} {base}, i64 {wide}")
            self.arrays.append(Array(p, t, k, 1 if odd else memory_bytes(t), True))
        self.types = sorted({a.t for a in self.arrays})

    def make_searched(self):
        """Arrays at constant places behind the function's arguments."""
        r, m = self.r, self.m
        for k in [0] + [x for x in (0, 1, 2) if r.random() < 0.4]:
            p = self.new("p")
            t = r.choice(MEMORY[:4]) if m.memory[k] == "int" else m.memory[k]
            self.emit(f"{p} = getelementptr {t}, ptr{self.space} %m{k}, i64 {r.randrange(2, 12)}")
            self.arrays.append(Array(p, t, k, memory_bytes(t), False))
        self.types = sorted({a.t for a in self.arrays})
        self.sought = []        # (type, name): what some iteration finds
        for a in self.arrays:
            at, wide, p = self.new("at"), self.new("at"), self.new("p")
            self.emit(f"{at} = mul i32 {self.mixed(70 // self.stride)}, {self.stride}")
            self.emit(f"{wide} = zext i32 {at} to i64")
            self.emit(f"{p} = getelementptr {a.t}, ptr{self.space} {a.pointer}, i64 {wide}")
            self.sought.append((a.t, self.new("sought")))
            self.emit(f"{self.sought[-1][1]} = load {a.t}, ptr{self.space} {p}, align {a.align}")

    # ---- the body
    def place(self, array, constant=None):
        """The address of an element that this iteration accesses."""
        r = self.r
        c = r.choice([0, 0, 0, 1, -1, 2, -2]) if constant is None else constant
        if self.stride > 1:
            c = r.randrange(self.stride) if constant is None else constant
        p, q = self.new("p"), self.new("p")
        index = self.index_name
        if c and r.random() < 0.5:
            moved = self.new("x")
            self.emit(f"{moved} = add nsw i64 {index}, {c}")
            index, c = moved, 0
        self.emit(f"{p} = getelementptr{r.choice([' inbounds', ''])} {array.t}, ptr{self.space} {array.pointer}, i64 {index}")
        if not c:
            return p
        self.emit(f"{q} = getelementptr {array.t}, ptr{self.space} {p}, i64 {c}")
        return q

    def load(self, array=None, constant=None):
        a = array or self.r.choice(self.arrays)
        return self.set(a.t, f"load {a.t}, ptr{self.space} {self.place(a, constant)}, align {a.align}", "x")

    def store(self, array=None, constant=None, value=None):
        a = array or self.r.choice([a for a in self.arrays if a.writable])
        v = value or self.value(a.t, 0.03)
        self.written.add(a.memory)
        self.emit(f"store {a.t} {v}, ptr{self.space} {self.place(a, constant)}, align {a.align}")

    def members(self):
        """All members of a struct, or some neighbours."""
        a, stores = self.r.choice(self.arrays), self.r.random() < 0.5
        for c in range(self.stride) if self.stride > 1 else (-1, 0, 1):
            if a.writable and stores and a.t in self.pool:
                self.store(a, c)
            else:
                self.load(a, c)

    def lanes(self):
        """The same operations on neighbours, stored side by side, for the vectorizer of straight-line code."""
        r = self.r
        a = r.choice([a for a in self.arrays if a.writable])
        n, t = r.choice([2, 4]), a.t
        row = [self.load(a, k - 2) for k in range(n)]
        for _ in range(r.randint(1, 3)):
            op = r.choice(["fadd", "fsub", "fmul"] if is_float(t) else ["add", "and", "or", "xor", "sub"])
            other = r.choice([[self.value(t) for _ in row], [self.value(t)] * n, row])
            pairs = [(x, y) if r.random() < 0.8 else (y, x) for x, y in zip(row, other)]
            row = [self.set(t, f"{op} {t} {x}, {y}") for x, y in pairs]
        self.written.add(a.memory)
        for k, v in enumerate(row):
            self.emit(f"store {t} {v}, ptr{self.space} {self.place(a, k - 2)}, align {a.align}")

    def histogram(self):
        """An update at an address that was loaded."""
        r = self.r
        a = r.choice([a for a in self.arrays if a.writable])
        t = r.choice(["i32", "i64"])
        masked = self.masked(t, self.value(t, 0), 15)
        self.written.add(a.memory)
        p = self.new("p")
        self.emit(f"{p} = getelementptr {a.t}, ptr{self.space} {a.pointer}, {t} {masked}")
        old = self.set(a.t, f"load {a.t}, ptr{self.space} {p}, align {a.align}")
        new = self.new("u")
        self.emit(f"{new} = {'fadd' if is_float(a.t) else 'add'} {a.t} {old}, {self.value(a.t)}")
        self.emit(f"store {a.t} {new}, ptr{self.space} {p}, align {a.align}")

    def accumulate(self):
        """An update of the same element in every iteration."""
        r = self.r
        a = r.choice([a for a in self.arrays if a.writable])
        self.written.add(a.memory)
        p = self.new("p")
        self.emit(f"{p} = getelementptr {a.t}, ptr{self.space} {a.pointer}, i64 {r.randrange(-2, 8)}")
        old = self.set(a.t, f"load {a.t}, ptr{self.space} {p}, align {a.align}")
        new = self.set(a.t, f"{'fadd' if is_float(a.t) else 'add'} {a.t} {old}, {self.value(a.t)}")
        self.emit(f"store {a.t} {new}, ptr{self.space} {p}, align {a.align}")

    def condition_on(self):
        """A condition on what was loaded."""
        t = self.any_type()
        a = self.pick(self.pool, t)
        if is_float(t):
            return self.set("i1", f"fcmp {self.r.choice(['olt', 'ogt', 'une', 'uge'])} {t} {a}, {self.r.choice(['0.5', '0.25', '0.0', self.value(t)])}")
        return self.set("i1", f"icmp {self.r.choice(['slt', 'sgt', 'ult', 'uge', 'ne'])} {t} {a}, {self.value(t, 0.6)}")

    def branch(self):
        r = self.r
        if self.branches > 2:
            return
        self.branches += 1
        k = self.count = self.count + 1
        c = self.condition_on()
        two = r.random() < 0.4
        t = self.any_type()
        top, other = self.block, self.pick(self.pool, t)
        self.emit(f"br i1 {c}, label %then{k}, label %{'else' if two else 'join'}{k}")
        arms = []
        for arm in ["then", "else"][:1 + two]:
            self.label(f"{arm}{k}")
            outer, self.pool = self.pool, self.scope()
            for _ in range(r.randint(1, 3)):
                self.simple()
            arms.append((self.block, self.pick(self.pool, t)))
            self.pool = outer
            self.emit(f"br label %join{k}")
        if not two:
            arms.append((top, other))
        self.label(f"join{k}")
        self.set(t, f"phi {t} " + ", ".join(f"[ {v}, %{b} ]" for b, v in arms), "phi")

    def leave(self):
        """A way out of the loop before its end."""
        r = self.r
        c = self.condition_on()
        if self.search and r.random() < 0.8:
            t, v = r.choice([s for s in self.sought if s[0] in self.pool])
            c = self.set("i1", f"{'fcmp oeq' if is_float(t) else 'icmp eq'} {t} {self.pick(self.pool, t)}, {v}")
        on = self.new("on")
        self.exits.append((self.block, None))
        ways = [f"label {on}", "label %exit"]
        if r.random() < 0.5:
            c = self.set("i1", f"xor i1 {c}, true")
        else:
            ways.reverse()
        self.emit(f"br i1 {c}, {', '.join(ways)}")
        self.label(on[1:])

    def idiom_here(self):
        """One of gen_idioms, whose result the loop uses."""
        known = {t: len(v) for t, v in self.pool.items()}
        self.idiom(("one_value", "bools", "punning", "partial_copy", "bit_fields"))
        made = [(t, n) for t, names in self.pool.items() if is_int(t) for n in names[known.get(t, 0):]]
        of = [t for t in self.types if is_int(t)]
        if made and of:
            t, (s, v) = self.r.choice(of), self.r.choice(made)
            self.set(t, f"trunc {s} {v} to {t}" if bits(s) > bits(t) else f"zext {s} {v} to {t}" if s != t else f"xor {t} {v}, 1")

    def simple(self):
        r = self.r
        kind = r.random() if not self.search else r.choice([0, 0.5, 0.7, 0.9])
        steps = [(0.03, self.idiom_here), (0.3, self.load), (0.45, self.store), (0.46, self.histogram), (0.49, self.accumulate),
                 (0.56, self.members), (0.6, self.lanes), (1, self.arithmetic)]
        step = next(f for limit, f in steps if kind < limit)
        chosen = self.m.swarm.of("steps", [f.__name__ for _, f in steps], always=["arithmetic", "load", "store"])
        (step if step.__name__ in chosen else self.arithmetic)()

    # ---- what goes around
    def add_phi(self, t, start, name=None):
        name = name or self.new("phi")
        self.phis.append([t, name, start, None])
        return self.phis[-1]

    def reduction(self):
        """(phi, what makes its next value)"""
        r = self.r
        t = self.any_type()
        if is_float(t) and r.random() < 0.4:
            phi = self.add_phi(t, r.choice(["0.0", "1.0", "2.0"]))

            def exact(phi=phi):
                small = self.value("i32", 0)
                whole = self.masked("i32", small, 1)
                x = self.set(t, f"uitofp i32 {whole} to {t}")
                phi[3] = self.set(t, f"fadd {r.choice(['reassoc', 'reassoc nnan', 'reassoc nnan ninf'])} {t} {phi[1]}, {x}", "s")
            return exact
        phi = self.add_phi(t, self.constant(t))
        kind = r.random()

        def sum_up():
            v = self.pick(self.pool, t)
            if is_float(t):
                op = r.choice(self.m.swarm.of("float sums", ["fadd", "fmul", "fsub", "minnum", "maxnum"]))
            else:
                op = r.choice(self.m.swarm.of("sums", SUMS))
            if op[-3:] in ("min", "max") or op[:3] in ("min", "max"):
                self.m.declare(f"declare {t} @llvm.{op}.{mangle(t)}({t}, {t})")
                if is_int(t) and r.random() < 0.5:
                    c = self.new("c")
                    predicate = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}[op]
                    self.emit(f"{c} = icmp {predicate} {t} {v}, {phi[1]}")
                    phi[3] = self.set(t, f"select i1 {c}, {t} {v}, {t} {phi[1]}", "s")
                else:
                    phi[3] = self.set(t, f"call {t} @llvm.{op}.{mangle(t)}({t} {phi[1]}, {t} {v})", "s")
                return
            new = self.set(t, f"{op} {t} {phi[1]}, {v}", "s")
            if r.random() < 0.2:
                new = self.set(t, f"select i1 {self.condition_on()}, {t} {new}, {t} {phi[1]}", "s")
            phi[3] = new

        def recurrence():
            phi[3] = self.pick(self.pool, t)

        if kind < 0.65:
            return sum_up
        self.add(t, phi[1])
        return recurrence

    # ---- the whole
    def count_trips(self):
        r = self.r
        self.stride = r.choice([1, 1, 1, 1, 1, 2, 3, 4])
        most = 70 // self.stride
        if r.random() < 0.15:
            trips = str(r.choice([1, 2, 3, 4, 7, 8, 12, 15, 16, 17, 31, 32, 33, 64, 69, 70]) % (most + 1) or most)
        else:
            trips = self.mixed(most + 1)
            if not self.search and r.random() < 0.6:
                trips = self.hidden("i32", trips)
        self.trips32 = trips
        self.emit(f"%trips64 = zext i32 {trips} to i64")

    def hints(self):
        r = self.r
        if r.random() > 0.2:
            return ""
        hint = r.choice([("vectorize.width", f"i32 {r.choice([1, 2, 4, 8, 16])}"), ("interleave.count", f"i32 {r.choice([1, 2, 4])}"),
                         ("vectorize.enable", f"i1 {r.choice(['true', 'false'])}"), ("vectorize.predicate.enable", "i1 true"),
                         ("unroll.count", f"i32 {r.choice([2, 3, 4])}"), ("unroll.disable", None)])
        return ", !llvm.loop " + self.m.loop_metadata(f'!{{!"llvm.loop.{hint[0]}"{", " + hint[1] if hint[1] else ""}}}')

    def write(self):
        """What the thread has found, `i32 %x`."""
        r = self.r
        self.emit("%tid64 = zext i32 %tid to i64")
        self.add("i32", "%tid")
        self.count_trips()
        if self.search:
            self.make_searched()
        else:
            self.make_arrays()
        wide = r.random() < 0.4
        it, limit = ("i64", "%trips64") if wide else ("i32", self.trips32)
        if not wide and r.random() < 0.3:
            it = r.choice(["i8", "i16"])
            limit = self.quietly(f"trunc i32 {self.trips32} to {it}")
        # the counter's step is a power of two, its number of iterations as before
        shift = 0 if it == "i8" or self.search or r.random() < 0.8 else r.choice([1, 2, 3, 4, 5, 6, 7])
        if shift:
            limit = self.quietly(f"shl nuw nsw {it} {limit}, {shift}")
        reverse = r.random() < (0.03 if self.search else 0.15)
        rotated = r.random() < (0.93 if self.search else 0.75)
        flags = r.choice([" nuw nsw", " nsw", " nuw nsw", ""])
        if rotated:
            self.emit(f"%some = icmp sgt i32 {self.trips32}, 0")
            self.emit("br i1 %some, label %ph, label %after")
            guard = self.block
            self.label("ph")
        else:
            self.emit("br label %ph")
            self.label("ph")
        self.emit("br label %loop")
        self.label("loop")
        head = len(self.lines)
        # ---- the body
        around = [self.reduction() for _ in range(r.choice([0] * 9 + [1] if self.search else [0, 0, 1, 1, 2, 3]))]
        if not rotated:
            self.emit(f"%go = icmp {r.choice(['ult', 'slt', 'ne'])} {it} %i, {limit}")
            self.exits.append((self.block, None))
            self.emit("br i1 %go, label %body, label %exit")
            self.label("body")
        index = "%i"
        if shift:
            index = self.quietly(f"lshr {r.choice(['', 'exact '])}{it} %i, {shift}")
        if not wide:
            self.emit(f"%i64 = {r.choice(['zext nneg', 'zext', 'sext'])} {it} {index} to i64")
            index = "%i64"
        if reverse:
            self.emit(f"%back = xor i64 {index}, -1")
            self.emit("%from_end = add i64 %back, %trips64")
            index = "%from_end"
        if self.stride > 1:
            self.emit(f"%scaled = mul nuw nsw i64 {index}, {self.stride}")
            index = "%scaled"
        self.index_name = index
        if r.random() < 0.15:
            self.add(it, "%i")
        self.load()
        for _ in range(r.choice([1, 1, 2, 2, 3, 4, 6])):
            if r.random() < (0.03 if self.search else 0.13):
                self.branch()
            else:
                self.simple()
        last = [(a[0], a[1]) for a in [(t, v[-1]) for t, v in self.pool.items() if v] if a[0] in self.types]
        for step in around:
            step()
        if not self.search and r.random() < 0.85:
            self.store()
        if self.search or r.random() < 0.06:
            self.leave()
        # ---- the latch
        self.emit(f"%j = add{flags} {it} %i, {1 << shift}")
        latch = self.block
        if rotated:
            self.emit(f"%more = icmp {r.choice(['ult', 'slt'] * (1 + 3 * self.search) + ['ne'])} {it} %j, {limit}")
            self.exits.append((latch, "next"))
            self.emit(f"br i1 %more, label %loop, label %exit{self.hints()}")
        else:
            self.emit(f"br label %loop{self.hints()}")
        heads = [f"  %i = phi {it} [ 0, %ph ], [ %j, %{latch} ]"]
        heads += [f"  {p} = phi {t} [ {s}, %ph ], [ {n}, %{latch} ]" for t, p, s, n in self.phis]
        self.lines[head:head] = heads
        # ---- behind it
        self.label("exit")
        results = []
        for t, p, s, n in [[it, "%i", "0", "%j"]] + self.phis:
            name = self.new("r")
            self.emit(f"{name} = phi {t} " + ", ".join(f"[ {n if how == 'next' else p}, %{b} ]" for b, how in self.exits))
            results.append((t, name, s))
        if (len(self.exits) == 1 or self.search) and rotated and r.random() < 0.2 and last:
            t, v = r.choice(last)
            name = self.new("r")
            self.emit(f"{name} = phi {t} " + ", ".join(f"[ {v}, %{b} ]" for b, _ in self.exits))
            results.append((t, name, self.constant(t)))
        self.emit("br label %after")
        end = self.block
        self.label("after")
        if rotated:
            merged = []
            for t, v, s in results:
                name = self.new("r")
                self.emit(f"{name} = phi {t} [ {v}, %{end} ], [ {s}, %{guard} ]")
                merged.append((t, name, s))
            results = merged
        return self.fold(results)

    def fold(self, results):
        """What the loop left, in one number."""
        whole = "i32 1"
        for k, memory in enumerate(self.m.memory[:2]):
            if k not in self.written:
                continue
            h = self.new("hash")
            self.emit(f"{h} = call i32 @hash.{memory}(ptr{self.space} {self.bases[k]}, {whole})")
            whole = f"i32 {h}"
        for t, v, _ in results:
            word = self.as_i32(t, v)
            m, x = self.new("m"), self.new("m")
            self.emit(f"{m} = mul {whole}, 1000003")
            self.emit(f"{x} = xor i32 {m}, {word}")
            whole = f"i32 {x}"
        return whole


class Nest(Loop):
    """Up to 19 iterations of up to 5, over places like row × j + i."""

    def __init__(self, module, name):
        super().__init__(module, name, False)
        self.stride = 1
        self.indices = []       # where accesses are, without constants
        self.plain = self.r.random() < 0.6 # stores to one place

    def place(self, array, constant=None):
        self.index_name = self.r.choice(self.indices)
        return super().place(array, constant)

    def make_arrays(self):
        """One is written, in most nests, and rarely read."""
        super().make_arrays()
        self.sources = self.arrays
        if self.r.random() < 0.8:
            for a in self.arrays[1:]:
                a.writable = False
            self.sources = [a for a in self.arrays if a.memory] or self.arrays

    def load(self, array=None, constant=None):
        r = self.r
        return super().load(array or (r.choice(self.sources) if r.random() < 0.9 else None), constant)

    def number_below(self, most):
        """A number that differs from thread to thread, or is known."""
        r = self.r
        if r.random() < 0.1:
            return str(r.randrange(most // 2, most))
        v = self.mixed(most)
        return self.hidden("i32", v) if r.random() < 0.85 else v

    def index_of(self, name, *terms):
        """The sum of `i64 a × b`, a place for accesses."""
        whole = "0"
        for a, b in terms:
            product, whole_name = self.new("x"), self.new("x")
            self.emit(f"{product} = mul nsw i64 {a}, {b}")
            self.emit(f"{whole_name} = add nsw i64 {whole}, {product}")
            whole = whole_name
        self.emit(f"{name} = add nsw i64 {whole}, 0")
        self.indices.append(name)

    def some(self, least, most, branches):
        for _ in range(self.r.randint(least, most)):
            kind = self.r.random()
            if kind < branches:
                self.branch()
            elif kind < 0.3:
                self.load()
            elif kind < 0.35 and not self.plain:
                self.store()
            else:
                self.arithmetic()

    def inner(self, row):
        """The inner loop; afterwards the pool knows what it leaves."""
        r = self.r
        guarded = r.random() < 0.9
        before = self.scope()
        if guarded:
            self.emit("br i1 %inside, label %inner.ph, label %inner.after")
        else:
            self.emit("br label %inner.ph")
        guard = self.block
        self.label("inner.ph")
        self.emit("br label %inner")
        self.label("inner")
        head, outside = len(self.lines), self.indices
        carried = [(t, self.new("a"), self.pick(before, t)) for t in r.choices([self.arrays[0].t] + self.types, k=r.choice([0, 1, 1, 2]))]
        for t, v, _ in carried:
            self.add(t, v)
        self.emit("%j64 = zext i32 %j to i64")
        self.indices = list(outside) if r.random() < 0.2 else []
        self.index_of("%at.ji", ("%j64", row), ("%i64", "1"))
        if r.random() < 0.4:
            self.index_of(*r.choice([("%at.j", ("%j64", "1")), ("%at.ij", ("%i64", str(r.randrange(4))), ("%j64", "1"))]))
        self.load()
        self.some(1, 5, 0.04)
        if self.plain:
            self.indices = ["%at.ji"]
        if not self.plain and r.random() < 0.4 or not any(t == self.arrays[0].t for t, _, _ in carried):
            self.store(self.arrays[0])
        around = [self.set(t, f"{r.choice(['fadd', 'fsub', 'fmul'] if is_float(t) else SUMS[:5])} {t} {v}, {self.value(t, 0)}")
                  for t, v, _ in carried]
        self.emit("%j.next = add nuw nsw i32 %j, 1")
        self.emit(f"%j.more = icmp slt i32 %j.next, {'%m' if r.random() < 0.93 else '%few'}")
        latch = self.block
        self.emit("br i1 %j.more, label %inner, label %inner.exit")
        self.lines[head:head] = [f"  %j = phi i32 [ 0, %inner.ph ], [ %j.next, %{latch} ]"] + [
            f"  {v} = phi {t} [ {start}, %inner.ph ], [ {n}, %{latch} ]" for (t, v, start), n in zip(carried, around)]
        self.label("inner.exit")
        self.indices, self.pool = outside, before
        left = [(t, self.new("l")) for t, _, _ in carried]
        for (t, name), n in zip(left, around):
            self.emit(f"{name} = phi {t} [ {n}, %{latch} ]")
        self.emit("br label %inner.after")
        self.label("inner.after")
        for (t, name), (_, _, start) in zip(left, carried):
            self.set(t, f"phi {t} [ {name}, %inner.exit ]" + (f", [ {start}, %{guard} ]" if guarded else ""), "l")

    def write(self):
        r = self.r
        self.emit("%tid64 = zext i32 %tid to i64")
        self.add("i32", "%tid")
        n, self.trips32 = self.number_below(20), "0"
        self.emit(f"%m = add i32 {self.number_below(6)}, 0")
        self.emit(f"%row = zext i32 {self.number_below(13)} to i64")
        row = r.choice(["%row", "%row", str(r.randrange(13)), "12"])
        self.make_arrays()
        self.emit("%inside = icmp sgt i32 %m, 0")
        self.emit(f"%some = icmp sgt i32 {n}, 0")
        self.emit("br i1 %some, label %ph, label %after")
        guard = self.block
        self.label("ph")
        self.emit("br label %outer")
        self.label("outer")
        head = len(self.lines)
        carried = [(t, self.new("o"), self.constant(t)) for t in r.choices(self.types, k=r.choice([0] * 9 + [1]))]
        for t, v, _ in carried:
            self.add(t, v)
        self.emit("%i64 = zext i32 %i32 to i64")
        self.emit("%few = and i32 %i32, 3")
        self.index_of("%at.i", ("%i64", r.choice(["1", "1", "1", "1", "2", "0"])))
        self.some(0, 3, 0.02)
        self.inner(row)
        left = [v for v in self.pool.get(self.arrays[0].t, []) if v[:2] == "%l"]
        if not self.plain or left:
            self.store(self.arrays[0], value=r.choice(left) if left else None)
        self.some(0, 3, 0.02)
        around = [self.pick(self.pool, t) for t, _, _ in carried]
        self.emit("%i.next = add nuw nsw i32 %i32, 1")
        self.emit(f"%i.more = icmp slt i32 %i.next, {n}")
        latch = self.block
        hint = r.choice([None, None, None, f"vectorize.width\", i32 {r.choice([2, 4, 8])}", "vectorize.enable\", i1 true"])
        node = f", !llvm.loop {self.m.loop_metadata(f'!{{!{chr(34)}llvm.loop.{hint}}}')}" if hint else ""
        self.emit(f"br i1 %i.more, label %outer, label %exit{node}")
        self.lines[head:head] = [f"  %i32 = phi i32 [ 0, %ph ], [ %i.next, %{latch} ]"] + [
            f"  {v} = phi {t} [ {start}, %ph ], [ {b}, %{latch} ]" for (t, v, start), b in zip(carried, around)]
        self.label("exit")
        leaving = [(t, b) for (t, _, _), b in zip(carried, around)] + [(t, v[-1]) for t, v in self.pool.items() if t in self.types and v]
        names = [(t, self.new("r"), v) for t, v in leaving]
        for t, name, v in names:
            self.emit(f"{name} = phi {t} [ {v}, %{latch} ]")
        self.emit("br label %after")
        self.label("after")
        results = [(t, self.new("r"), v) for t, v, _ in names]
        for t, name, v in results:
            self.emit(f"{name} = phi {t} [ {v}, %exit ], [ {self.constant(t)}, %{guard} ]")
        return self.fold(results)


class Module:
    """Kernels over the same three memories: two written, one only read."""

    def __init__(self, seed, count, swarm):
        self.r, self.swarm = random.Random(f"loops {seed}"), Swarm(seed, swarm)
        self.favour, self.count = (), count
        self.fusible, self.boxes = True, False
        self.declarations, self.globals, self.bodies, self.metadata = [], [], [], []
        self.space = self.r.choice(["", " addrspace(1)", " addrspace(1)"])
        self.memory = [self.r.choice(["int", "int", *FLOATS]) for _ in range(3)]
        self.bytes = ELEMENTS * 8 + 32

    def declare(self, text):
        if text not in self.declarations:
            self.declarations.append(text)

    def add_node(self, text):
        """The number of a metadata node; equal ones are one."""
        for k, line in enumerate(self.metadata):
            if line == f"!{k} = {text}":
                return f"!{k}"
        self.metadata.append(f"!{len(self.metadata)} = {text}")
        return f"!{len(self.metadata) - 1}"

    def add_loop_node(self, hints):
        hints = ", ".join([self.add_node(h) for h in hints])
        k = len(self.metadata)
        self.metadata.append(f"!{k} = distinct !{{!{k}, {hints}}}")
        return f"!{k}"

    def loop_metadata(self, hint):
        k = len(self.metadata)
        self.metadata += [f"!{k} = distinct !{{!{k}, !{k + 1}}}", f"!{k + 1} = {hint}"]
        return f"!{k}"

    def hash(self, memory):
        """A function that folds a thread's memory, four words at a time; volatile, so that nobody else widens it."""
        t = "i64" if memory == "int" else memory
        integer, word = f"i{bits(t)}", "i64" if bits(t) == 64 else "i32"
        lines = [f"define internal i32 @hash.{memory}(ptr{self.space} %p, i32 %start) noinline {{", "entry:",
                 f"  %first = {'zext' if word == 'i64' else 'xor'} i32 %start{' to i64' if word == 'i64' else ', 0'}", "  br label %loop", "loop:",
                 "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]", f"  %h0 = phi {word} [ %first, %entry ], [ %h4, %loop ]",
                 f"  %q0 = getelementptr {t}, ptr{self.space} %p, i64 %i"]
        for k in range(4):
            lines += [f"  %q{k} = getelementptr {t}, ptr{self.space} %q0, i64 {k}"] if k else []
            lines.append(f"  %x{k} = load volatile {t}, ptr{self.space} %q{k}")
            y = f"%x{k}"
            if memory != "int":
                lines += [f"  %nan{k} = fcmp uno {t} {y}, {y}", f"  %z{k} = select i1 %nan{k}, {t} {NAN[t]}, {t} {y}",
                          f"  %y{k} = bitcast {t} %z{k} to {integer}"]
                y = f"%y{k}"
            if integer == "i16":
                lines.append(f"  %w{k} = zext i16 {y} to i32")
                y = f"%w{k}"
            lines += [f"  %m{k} = mul {word} %h{k}, 1000003", f"  %h{k + 1} = add {word} %m{k}, {y}"]
        count = self.bytes // 8 if memory == "int" else ELEMENTS + 4
        lines += ["  %j = add i64 %i, 4", f"  %c = icmp ult i64 %j, {count}", "  br i1 %c, label %loop, label %end", "end:"]
        if word == "i64":
            lines += ["  %high = lshr i64 %h4, 32", "  %mixed = xor i64 %h4, %high", "  %last = trunc i64 %mixed to i32"]
        return "\n".join([*lines, f"  ret i32 {'%last' if word == 'i64' else '%h4'}", "}"])

    def make_kernel(self, k):
        kind = self.r.randrange(6)
        f = Nest(self, f"k{k}") if kind == 1 else Loop(self, f"k{k}", False)
        self.declare("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        f.emit("%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        whole = self.call_search(k, f) if kind == 0 else f.write()
        said = [" noalias" if self.r.random() < 0.5 else "" for _ in range(3)]
        parameters = ", ".join(f"ptr{self.space}{said[n]} align {self.r.choice([8, 32])} %m{n}" for n in range(3))
        f.emit("%slot = getelementptr i32, ptr %out, i32 %tid")
        f.emit(f"store {whole}, ptr %slot")
        f.emit("ret void")
        self.bodies.append(f"define ptx_kernel void @k{k}({parameters}, ptr noalias %out) {{\n" +
                           "\n".join(["entry:"] + f.allocas + f.lines) + "\n}")

    def call_search(self, k, f):
        """The result of a function that a thread calls for its part of the memories, 0 to 15 elements on."""
        s = Loop(self, f"s{k}", True)
        s.emit(f"ret {s.write()}")
        parts = []
        for n, memory in enumerate(self.memory):
            size = 8 if memory == "int" else memory_bytes(memory)
            f.emit(f"%all{n} = getelementptr [{self.bytes} x i8], ptr{self.space} %m{n}, i32 %tid")
            f.emit(f"%part{n} = getelementptr [{size} x i8], ptr{self.space} %all{n}, i32 {f.mixed(16)}")
            align = f" align {size}" if self.r.random() < 0.7 else ""
            parts.append(f"ptr{self.space}{align} dereferenceable({self.bytes - 15 * size})")
        parameters = ", ".join(f"{p} %m{n}" for n, p in enumerate(parts))
        arguments = ", ".join(f"{p} %part{n}" for n, p in enumerate(parts))
        self.bodies.append(f"define internal i32 @s{k}({parameters}, i32 %tid) noinline {{\n" +
                           "\n".join(["entry:"] + s.allocas + s.lines) + "\n}")
        f.emit(f"%result = call i32 @s{k}({arguments}, i32 %tid)")
        return "i32 %result"

    def text(self):
        for k in range(self.count):
            self.make_kernel(k)
        hashes = [self.hash(m) for m in sorted(set(self.memory[:2]))]
        arguments = []
        for m in self.memory:
            t, size = ("u8", 1) if m == "int" else ({"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[m], bits(m) // 8)
            arguments.append(f"--arg buf:{t}:{THREADS * self.bytes // size}:random:{self.r.randrange(1 << 30)}")
        head = [f"; nvmini-run: --kernel * --grid 1 --block {THREADS} {' '.join(arguments)} --arg buf:i32:{THREADS}:zero --print 3",
                'target triple = "nvptx64-nvidia-cuda"', ""]
        return "\n".join(head + self.globals + self.declarations + [""] + hashes + self.bodies + self.metadata) + "\n"


def generate(seed, count=1, swarm=False):
    """The text of a module."""
    return Module(seed, count, swarm).text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1, help="kernels in the module")
    parser.add_argument("--swarm", action="store_true", help="only a random subset of the features")
    options = parser.parse_args()
    print(generate(options.seed, options.count, options.swarm), end="")


if __name__ == "__main__":
    main()
