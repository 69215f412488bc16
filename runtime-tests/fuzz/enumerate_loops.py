#!/usr/bin/env python3
"""Loops with narrow counters, enumerated and executed: IR at -O0 beside the levels and the vectorizers' knobs.

    enumerate_loops.py [--modules N] [--seed S] [--first K] [--widths 8,8,16,32,64] [--kernels 24] [--nvmini build/nvmini]
                       [--keep FOLDER] [--only NUMBER] [--kinds nest,search] [--straight]

A module has one control (loop_controls.py): width, predicate, step, start, bound, flags, the value tested, the form of the
loop. Its kernels have that control and various bodies, element types, index forms and hints: sums, stores, updates in place,
copies that may overlap, strides, conditions, early exits, nests, and straight code with narrow indices. Controls come in an
order that the seed shuffles, each once before any comes again; module K is the same in every run.

A kernel is executed by 256 threads that start elsewhere, so that every start of an i8 counter is covered. Each thread's part
of a buffer is as long as its loop accesses and lies next to other threads' parts, which those write: what is accessed
too much is a race, out of bounds or a wrong sum. Results must be those of -O0, which has no findings, and there must be no
findings. Exit status 1 if any differ; with --keep their modules are kept, ARGS telling how they were run."""
import argparse
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from loop_controls import FLAGS, FORMS, LANES, PREDICATES, STEPS, Control, Layout, Once, signed, wrap

TABLES = 16  # of offsets; behind them as many of parts
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4}
BUFFERS = ["in", "io", "inf", "iof", "starts", "bounds", "valid", "offs", "res"]


def literal(t, v):
    return f"{float(v)}" if t == "float" else str(v)


class Kernel:
    """What all kernels share: code by name, the thread's values, addresses."""

    def __init__(self, module, name):
        self.m, self.c, self.r, self.name, self.lines, self.names = module, module.control, module.r, name, [], 0

    def put(self, code):
        self.lines.append("  " + code)

    def label(self, name):
        self.lines.append(f"{name}:")

    def let(self, code):
        self.names += 1
        self.put(f"%x{self.names} = {code}")
        return f"%x{self.names}"

    def arithmetic(self, t, a, b, op="add"):
        return self.let(f"fadd reassoc float {a}, {b}" if t == "float" else f"{op} {t} {a}, {b}")

    def resize(self, v, a, b, is_signed=False):
        if a == b:
            return v
        if b == "float":
            return self.let(f"uitofp {a} {self.let(f'and {a} {v}, 31')} to float")
        if a == "float":
            return self.resize(self.let(f"fptoui float {v} to i32"), "i32", b)
        narrower = int(a[1:]) > int(b[1:])
        return self.let(f"{'trunc' if narrower else 'sext' if is_signed else 'zext'} {a} {v} to {b}")

    def table(self, buffer, number=0):
        at = self.let(f"add i32 %tid, {number * LANES}") if number else "%tid"
        return self.let(f"load i64, ptr addrspace(1) {self.let(f'getelementptr i64, ptr addrspace(1) %{buffer}, i32 {at}')}")

    def begin(self):
        """To where start, bound and lane are known."""
        c, r = self.c, self.r
        align, alone = r.choice(["", " align 16", " align 32"]), r.choice(["", " noalias"])
        self.lines.append(f"define ptx_kernel void @{self.name}(" + ", ".join(
            f"ptr addrspace(1){align + alone if k < 4 else ''} %{b}" for k, b in enumerate(BUFFERS)) + ") {")
        self.label("entry")
        self.put("%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        if any(way is None for way in c.ways):
            valid = self.let("load i8, ptr addrspace(1) " + self.let("getelementptr i8, ptr addrspace(1) %valid, i32 %tid"))
            self.put(f"br i1 {self.let(f'icmp ne i8 {valid}, 0')}, label %runs, label %never")
            self.label("never")
            self.put("ret void")
        else:
            self.put("br label %runs")
        self.label("runs")
        self.put(f"%lane = {'trunc' if c.width < 32 else 'zext'} i32 %tid to {c.type}" if c.width != 32 else "%lane = add i32 %tid, 0")
        for what, kind, codes in (("start", c.start_kind, c.start_code), ("bound", c.bound_kind, c.bound_code)):
            if kind in ("table", "narrow"):
                v = self.table(what + "s")
                self.put(f"%{'bt' if kind == 'narrow' else what} = " + (f"trunc i64 {v} to {c.type}" if c.width < 64 else f"add i64 {v}, 0"))
            for code in codes:
                self.put(code)

    def part(self, buffer, t, number):
        """The thread's part of a buffer: where the element of index 0 is, or would be."""
        offset = self.table("offs", number)
        if self.m.layouts[number].aligned:
            offset = self.let(f"shl i64 {offset}, 5")
        return self.let(f"getelementptr {t}, ptr addrspace(1) %{buffer}{'f' * (t == 'float')}, i64 {offset}")

    def index(self, form, i="%i", n="%n"):
        kind, k = form
        t = self.c.type
        extended = {"narrow": f"add {t} {i}, {k}", "narrow_sext": f"add {t} {i}, {k}", "reverse": f"sub {t} {k}, {i}",
                    "double": f"shl {t} {i}, 1"}
        if kind == "count":
            return n
        v = self.resize(self.let(extended[kind]) if kind in extended else i, t, "i64", kind.endswith("sext"))
        return self.let(f"add i64 {v}, {k}") if kind == "wide" else self.let(f"shl i64 {v}, 1") if kind == "stride" else v

    def element(self, part, t, index, more=0):
        p = self.let(f"getelementptr {t}, ptr addrspace(1) {part}, i64 {index}")
        return self.let(f"getelementptr {t}, ptr addrspace(1) {p}, i64 {more}") if more else p

    def load(self, p, t):
        return self.let(f"load {t}, ptr addrspace(1) {p}, align {SIZES[t]}")

    def store(self, v, p, t):
        self.put(f"store {t} {v}, ptr addrspace(1) {p}, align {SIZES[t]}")

    def end(self, total, out, t):
        """The result, of which the part that was written becomes a share."""
        if out is not None:
            packed = self.table("offs", TABLES + out)
            first, length = self.let(f"lshr i64 {packed}, 32"), self.let(f"and i64 {packed}, {(1 << 32) - 1}")
            p = self.let(f"getelementptr {t}, ptr addrspace(1) %io{'f' * (t == 'float')}, i64 {first}")
            total = self.let(f"call i64 @fold.{t}(ptr addrspace(1) {p}, i64 {length}, i64 {total})")
            self.m.folds.add(t)
        self.put(f"store i64 {total}, ptr addrspace(1) {self.let('getelementptr i64, ptr addrspace(1) %res, i32 %tid')}")
        self.put("ret void")


class LoopKernel(Kernel):
    KINDS = (["values"] + ["reduce"] * 3 + ["serial", "choice"] + ["fill", "update", "copy"] * 2 + ["shift", "some", "search"] + ["nest"] * 3)
    WRITES = ("fill", "update", "copy", "shift", "some", "nest")

    def emit(self):
        """The kernel's text, or None if no layout serves it."""
        r, m = self.r, self.m
        self.kind = r.choice(m.kinds or self.KINDS + ["search"] * 4 * (self.c.start_kind == "const"))
        self.t = r.choice(["i8", "i8", "i16", "i32", "i32", "i64"] + ["float"] * (self.kind not in ("choice", "search")))
        self.acc = "float" if self.t == "float" else r.choice(["i8", "i32", "i32", "i64"])
        self.op = r.choice(["add", "add", "xor", "smin", "umax"])
        self.block, self.leaves, self.asks = "loop", self.kind == "search", ""
        self.tables = [] if self.kind == "values" else [m.layout(self.kind)]
        if self.kind in ("copy", "nest"):
            self.tables.append(m.layout({"copy": "alone", "nest": "nest alone"}[self.kind]))
        if any(table is None for table in self.tables) or (self.kind == "search" and not m.can_be_known(self.tables[0])):
            return None
        self.out = self.tables[-1] if self.kind in self.WRITES else None
        self.begin()
        first = {"copy": "in", "nest": "in"}.get(self.kind, "io" if self.kind in self.WRITES else "in")
        self.parts = [self.part(b, self.t, table) for b, table in zip((first, "io"), self.tables)]
        if self.kind == "nest":
            self.put(f"%times = add nuw nsw i32 {self.let('and i32 %tid, 3')}, 1")
        self.loop()
        return "\n".join(self.lines).replace("%LATCH", "%" + self.block).replace("%SUM", self.sum) + "\n}\n"

    # ---- the loop around the body
    def test(self, v):
        c = self.c
        if c.wide_test:
            return self.let(f"icmp {c.predicate} i32 {self.let(f'zext {c.type} {v} to i32')}, %wb")
        return self.let(f"icmp {c.predicate} {c.type} {v}, {c.bound_name()}")

    def enter(self):
        c = self.c
        self.zero = self.let("fadd float 0.0, 0.0" if self.acc == "float" else f"add {self.acc} 0, 0")
        if c.wide_test:
            self.put(f"%wb = zext {c.type} {c.bound_name()} to i32")
        if c.form == "guarded":
            self.put(f"br i1 {self.test(c.start_name())}, label %ph, label %done")
        else:
            self.put("br label %ph")
        self.label("ph")
        self.put("br label %loop")
        self.label("loop")
        self.put(f"%i = phi {c.type} [ {c.start_name()}, %ph ], [ %i2, %LATCH ]")
        self.put("%n = phi i64 [ 0, %ph ], [ %n2, %LATCH ]")
        self.put(f"%s = phi {self.acc} [ {self.zero}, %ph ], [ %SUM, %LATCH ]")
        if c.form == "while":
            self.put(f"br i1 {self.test('%i')}, label %body, label %left")
            self.label("body")
            self.block = "body"

    def step(self):
        c = self.c
        self.put("%n2 = add nuw nsw i64 %n, 1")
        if c.increment == "sub":
            self.put(f"%i2 = sub {c.flags} {c.type} %i, {signed(c.width, -c.step)}")
        elif c.increment == "ext":
            self.put(f"%iw = zext {c.type} %i to i32")
            self.put(f"%iw2 = add nsw i32 %iw, {c.step}")
            self.put(f"%i2 = trunc i32 %iw2 to {c.type}")
        else:
            self.put(f"%i2 = add {c.flags} {c.type} %i, {c.step}")

    def loop(self):
        c, r = self.c, self.r
        entry = "runs"
        self.enter()
        self.sum = self.body()
        self.step()
        hint = self.m.hint(self.kind)
        last = "%i"
        if c.form == "while":
            self.put(f"br label %loop{hint}")
            leaving, values = "loop", ("%s", "%i", "%n")
        else:
            tested = self.test("%i2" if c.tested == "new" else "%i")
            if r.random() < 0.3:
                self.put(f"br i1 {self.let(f'xor i1 {tested}, true')}, label %left, label %loop{hint}")
            else:
                self.put(f"br i1 {tested}, label %loop, label %left{hint}")
            if c.tested == "new" and r.random() < 0.5:  # what may be poison must not be looked at
                last = "%i2"
            leaving, values = self.block, ("%SUM", last, "%n2")
        self.label("left")
        for name, t, v, early in (("sum", self.acc, values[0], "%s"), ("last", c.type, values[1], "%i"), ("count", "i64", values[2], "%n")):
            self.put(f"%{name}.l = phi {t} [ {v}, %{leaving} ]" + f", [ {early}, %{self.asks} ]" * self.leaves)
        self.put("br label %done")
        self.label("done")
        for name, t, none in (("sum", self.acc, self.zero), ("last", c.type, c.start_name()), ("count", "i64", "0")):
            self.put(f"%{name} = phi {t} [ %{name}.l, %left ]" + f", [ {none}, %{entry} ]" * (c.form == "guarded"))
        total = self.resize("%sum", self.acc, "i64")
        alive = 0 if self.leaves else r.random()
        if alive < 0.3:
            total = self.let(f"add i64 {total}, {self.resize('%last', c.type, 'i64')}")
        elif alive < 0.5:
            total = self.let(f"add i64 {total}, %count")
        self.end(total, self.out, self.t)

    # ---- bodies: each returns the sum's new value
    def body(self):
        if self.kind == "values":
            v = self.resize("%i", self.c.type, self.acc, self.r.random() < 0.5)
            return self.arithmetic(self.acc, "%s", v if self.acc == "float" else self.let(f"mul {self.acc} {v}, 3"))
        layout = self.m.layouts[self.tables[0]]
        self.more, self.at = layout.more, self.index(layout.forms[0])
        self.place = self.element(self.parts[0], self.t, self.at)
        return getattr(self, "body_" + self.kind)()

    def loaded(self):
        """The elements that belong to the iteration, as one."""
        v = self.load(self.place, self.t)
        for k in range(1, self.more + 1):
            v = self.arithmetic(self.t, v, self.load(self.element(self.parts[0], self.t, self.at, k), self.t), self.r.choice(["add", "xor"]))
        return v

    def body_reduce(self):
        v = self.resize(self.loaded(), self.t, self.acc, self.r.random() < 0.5)
        if self.op in ("smin", "umax") and self.acc != "float":
            return self.let(f"call {self.acc} @llvm.{self.op}.{self.acc}({self.acc} %s, {self.acc} {v})")
        return self.arithmetic(self.acc, "%s", v, self.op)

    def body_serial(self):
        v = self.resize(self.load(self.place, self.t), self.t, self.acc)
        if self.acc == "float":
            return self.let(f"fadd float %s, {v}")
        return self.let(f"xor {self.acc} {self.let(f'mul {self.acc} %s, 3')}, {v}")

    def body_choice(self):
        v = self.resize(self.load(self.place, self.t), self.t, self.acc)
        even = self.let(f"icmp eq {self.acc} {self.let(f'and {self.acc} {v}, 1')}, 0")
        return self.let(f"select i1 {even}, {self.acc} {self.arithmetic(self.acc, '%s', v)}, {self.acc} %s")

    def body_fill(self):
        v = self.resize("%i", self.c.type, self.t, self.r.random() < 0.5)
        for k in range(self.more + 1):
            self.store(self.arithmetic(self.t, v, literal(self.t, k + 1)), self.element(self.parts[0], self.t, self.at, k), self.t)
        return "%s"

    def body_update(self):
        for k in range(self.more + 1):
            p = self.element(self.parts[0], self.t, self.at, k)
            self.store(self.arithmetic(self.t, self.load(p, self.t), self.resize("%i", self.c.type, self.t)), p, self.t)
        return "%s"

    def body_copy(self):
        v = self.loaded()
        to = self.element(self.parts[1], self.t, self.index(self.m.layouts[self.tables[1]].forms[0]))
        self.store(v, to, self.t)
        return self.arithmetic(self.acc, "%s", self.resize(v, self.t, self.acc)) if self.r.random() < 0.3 else "%s"

    def body_shift(self):
        """In place, up or down by up to `more` elements."""
        d = self.r.randrange(self.more + 1)
        v = self.load(self.element(self.parts[0], self.t, self.at, d), self.t)
        self.store(self.arithmetic(self.t, v, literal(self.t, 1)), self.element(self.parts[0], self.t, self.at, self.more - d), self.t)
        return "%s"

    def body_some(self):
        v = self.load(self.place, self.t)
        often = self.let(f"icmp ne {self.c.type} {self.let(f'and {self.c.type} %i, 3')}, 0")
        self.put(f"br i1 {often}, label %then, label %joined")
        self.label("then")
        self.store(self.arithmetic(self.t, v, literal(self.t, 1)), self.place, self.t)
        self.put("br label %joined")
        self.label("joined")
        self.block = "joined"
        return "%s"

    def body_search(self):
        """Leaves where memory of known size has a certain value."""
        name = self.m.search_memory(self.tables[0], self.t)
        at = self.index(self.m.layouts[self.tables[0]].forms[0])
        v = self.load(self.let(f"getelementptr {self.t}, ptr addrspace(1) @{name}, i64 {at}"), self.t)
        found = self.let(f"icmp eq {self.t} {v}, {self.r.choice([0, 77, 90])}")
        self.asks = self.block
        self.put(f"br i1 {found}, label %left, label %on")
        self.label("on")
        self.block = "on"
        return self.let(f"add {self.acc} %s, 1") if self.r.random() < 0.2 else "%s"

    def body_nest(self):
        t, times = self.r.choice(["i8", "i16", "i32", "i64"]), self.r.choice([1, 2, 3, 7, 200, 0, 0, 0])
        moves = self.more == 3 if times == 0 else self.more and times == self.more + 1
        bound = self.resize("%times", "i32", t) if times == 0 else signed(8, times) if t == "i8" else times
        self.put("br label %inner")
        self.label("inner")
        self.put(f"%j = phi {t} [ 0, %{self.block} ], [ %j2, %inner ]")
        self.put(f"%u = phi {self.t} [ {literal(self.t, 1)}, %{self.block} ], [ %u2, %inner ]")
        p = self.element(self.place, self.t, self.resize("%j", t, "i64")) if moves else self.place
        v = self.load(p, self.t)
        self.put(f"%u2 = {'fadd reassoc float' if self.t == 'float' else f'add {self.t}'} %u, {v}")
        self.put(f"%j2 = add {self.r.choice(['', 'nuw '])}{t} %j, 1")
        self.put(f"%jc = icmp ult {t} %j2, {bound}")
        self.put("br i1 %jc, label %inner, label %behind")
        self.label("behind")
        self.block = "behind"
        to = self.element(self.parts[1], self.t, self.index(self.m.layouts[self.tables[1]].forms[0]))
        self.store("%u2", to, self.t)
        return "%s"


class StraightKernel(Kernel):
    """Neighbours by indices of a narrow type, which may wrap between them: parts of buffers, or memory of the kernel's own,
    which the compiler may align as it likes."""

    def neighbours(self, forms):
        """Their indices. Of fours, the first is as aligned as the base."""
        t, kind, x = self.c.type, forms[0][0], self.c.start_name()
        extend = "sext" if kind.endswith("sext") else "zext"
        if kind.startswith("quad"):
            x = self.let(f"shl {t} {x}, 2")
        flags = "" if kind.startswith("quad") else self.flags(forms)
        return [self.let(f"{extend} {t} {self.let(f'add {flags} {t} {x}, {k}')} to i64") for _, k in forms]

    def flags(self, forms):
        w, keeps = self.c.width, []
        if all(s + wrap(w, k) < 1 << w for s in self.c.starts for _, k in forms):
            keeps.append("nuw")
        if all(-1 << (w - 1) <= signed(w, s) + k < 1 << (w - 1) for s in self.c.starts for _, k in forms):
            keeps.append("nsw")
        return " ".join(f for f in keeps if self.r.random() < 0.7)

    def align(self, forms, k, aligned):
        """Bytes that access k is aligned to, as may be written."""
        kind, at = forms[k]
        known = 4 if kind.startswith("quad") and aligned and at % 4 == 0 else 2 if kind.startswith("quad") and aligned and at % 2 == 0 else 1
        return min(known * SIZES[self.t], 16) if self.r.random() < 0.8 else SIZES[self.t]

    def access(self, space, part, forms, aligned, values=None):
        """Loads all, or stores values to all."""
        made = []
        for k, at in enumerate(self.neighbours(forms)):
            p = self.let(f"getelementptr {self.t}, ptr{space} {part}, i64 {at}")
            if values:
                self.put(f"store {self.t} {values[k]}, ptr{space} {p}, align {self.align(forms, k, aligned)}")
            else:
                made.append(self.let(f"load {self.t}, ptr{space} {p}, align {self.align(forms, k, aligned)}"))
        return made

    def source(self, forms, number):
        """Loads from a part, from a variable of the module, or from a local array that was written before."""
        where = self.r.choice(["part", "part", "variable", "local"])
        if where == "part" or self.c.width != 8 or forms[0][0].endswith("sext"):
            return self.access(" addrspace(1)", self.part(self.buffer, self.t, number), forms, self.m.layouts[number].aligned)
        if where == "variable":
            name = f"own.{self.t}"
            self.m.memories[name] = (256, self.t)
            return self.access(" addrspace(1)", f"@{name}", forms, False)
        self.put(f"%local = alloca [256 x {self.t}]")
        first = [self.resize(self.let(f"add i32 %tid, {k * k}"), "i32", self.t) for k in range(len(forms))]
        self.access("", "%local", forms, False, first)
        return self.access("", "%local", self.r.sample(forms, len(forms)), False)

    def emit(self):
        r, m, n = self.r, self.m, self.r.choice([2, 2, 3, 4, 4, 8])
        self.t = r.choice(["i8", "i8", "i16", "i32", "float", "i64"])
        order = list(range(n))
        if r.random() < 0.3:
            r.shuffle(order)
        kind, first = r.choice(["narrow", "narrow", "narrow_sext", "quad", "quad", "quad_sext"]), r.choice([0, 0, 0, 1, -1, -2, 2, 4, 5])
        forms = [(kind, first + k) for k in order]
        numbers = [m.add_layout(forms, 0), m.add_layout([(kind, first + k) for k in range(n)], 0) if r.random() < 0.4 else None]
        if numbers[0] is None:
            return None
        self.begin()
        out = r.choice(numbers)
        self.buffer = "io" if out == numbers[0] and r.random() < 0.5 else "in"
        values = self.source(forms, numbers[0])
        total = "1"
        if out is None:
            for v in values:
                total = self.let(f"add i64 {self.let(f'mul i64 {total}, 31')}, {self.resize(v, self.t, 'i64')}")
        else:
            changed = [self.arithmetic(self.t, v, literal(self.t, 3)) for v in values]
            self.access(" addrspace(1)", self.part("io", self.t, out), m.layouts[out].forms, m.layouts[out].aligned, changed)
        self.end(total, out, self.t)
        return "\n".join(self.lines) + "\n}\n"


FOLD = """define internal i64 @fold.{t}(ptr addrspace(1) %p, i64 %n, i64 %seed) noinline {{
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k2, %loop ]
  %h = phi i64 [ %seed, %entry ], [ %h2, %loop ]
  %q = getelementptr {t}, ptr addrspace(1) %p, i64 %k
  %x = load {t}, ptr addrspace(1) %q, align {size}
  %w = {widen}
  %m = mul i64 %h, 31
  %h2 = add i64 %m, %w
  %k2 = add i64 %k, 1
  %c = icmp eq i64 %k2, %n
  br i1 %c, label %end, label %loop, !llvm.loop !0
end:
  %r = phi i64 [ %seed, %entry ], [ %h2, %loop ]
  ret i64 %r
}}
"""
HINTS = """!0 = distinct !{!0, !3, !23}
!1 = !{!"llvm.loop.vectorize.enable", i1 true}
!2 = !{!"llvm.loop.mustprogress"}
!3 = !{!"llvm.loop.vectorize.enable", i1 false}
!10 = !{!"llvm.loop.vectorize.width", i32 2}
!11 = !{!"llvm.loop.vectorize.width", i32 4}
!12 = !{!"llvm.loop.vectorize.width", i32 8}
!13 = !{!"llvm.loop.vectorize.width", i32 16}
!14 = !{!"llvm.loop.interleave.count", i32 2}
!15 = !{!"llvm.loop.interleave.count", i32 4}
!20 = !{!"llvm.loop.unroll.enable"}
!21 = !{!"llvm.loop.unroll.full"}
!22 = !{!"llvm.loop.unroll.count", i32 4}
!23 = !{!"llvm.loop.unroll.disable"}
"""


class Module:
    def __init__(self, control, r, kernels, straight, kinds):
        self.kinds = kinds  # of bodies; none: all
        self.control, self.r, self.layouts, self.folds, self.notes, self.memories = control, r, [], set(), [], {}
        kind = StraightKernel if straight else LoopKernel
        made = [kind(self, f"k{k}").emit() for k in range(kernels)]
        self.texts = [text for text in made if text]

    def add_layout(self, forms, more):
        """The number of a new layout; None if it becomes too long, or there are too many."""
        if len(self.layouts) == TABLES:
            same = [k for k, l in enumerate(self.layouts) if l.forms == forms and l.more >= more]
            return same[0] if same else None
        layout = Layout(self.control, forms, more, self.r.random() < 0.3)
        if layout.ok:
            self.layouts.append(layout)
        return len(self.layouts) - 1 if layout.ok else None

    def layout(self, kind):
        """One for a body of that kind, perhaps one that was made before."""
        r = self.r
        least, most = {"shift": (1, 5), "search": (0, 0), "fill": (0, 1), "alone": (0, 0), "nest alone": (0, 0)}.get(kind, (0, 3))
        counts = kind.startswith("nest") and r.random() < 0.7  # or the outer loop's accesses are seldom affine
        fit = [k for k, l in enumerate(self.layouts) if least <= l.more <= most and (not counts or l.forms[0][0] == "count")]
        if fit and (len(self.layouts) == TABLES or r.random() < 0.4):
            return r.choice(fit)
        form = r.choice([("zext", 0), ("zext", 0), ("sext", 0), ("count", 0), ("narrow", r.choice([1, -1, 2, 7])), ("narrow_sext", 1),
                         ("wide", r.choice([1, -1])), ("reverse", r.choice([-1, 0, 100])), ("double", 0), ("stride", 0)])
        if counts:
            form = ("count", 0)
        elif kind == "search":
            form = r.choice([("zext", 0), ("count", 0), ("stride", 0), ("narrow", 1)])
        return self.add_layout([form], r.randint(least, most) if r.random() < 0.5 else least)

    def known_length(self, number):
        """Up to where this layout's indices go in any thread."""
        layout = self.layouts[number]
        return max(first + length - offset for (first, length), offset in zip(layout.parts, layout.offsets) if length)

    def can_be_known(self, number):
        layout = self.layouts[number]
        return layout.forms[0][0] in ("zext", "count", "stride", "narrow") and self.known_length(number) < 5000

    def search_memory(self, number, t):
        """A variable of which no thread's index is beyond the end, and one's is the last."""
        name = f"known.{number}.{t}"
        self.memories[name] = (self.known_length(number), t)
        return name

    def hint(self, kind):
        r, hints = self.r, []
        choice = r.choice(["none", "none", "width", "width", "width", "interleave", "enable", "unroll"])
        if choice in ("width", "interleave", "enable"):
            hints.append("!1")
        if choice == "width":
            hints.append(r.choice(["!10", "!11", "!12", "!13"]))
        if choice == "interleave" or (choice == "width" and r.random() < 0.4):
            hints.append(r.choice(["!14", "!15"]))
        if choice == "unroll":
            hints.append(r.choice(["!20", "!21", "!22", "!23"]))
        if self.control.finite and kind != "search":
            hints.append("!2")
        self.notes.append(hints or ["!2"])
        return f", !llvm.loop !{99 + len(self.notes)}" if hints else ""

    def text(self):
        r = random.Random(len(self.texts))
        widen = {"float": "fptoui float %x to i64", "i64": "add i64 %x, 0"}
        out = [f"; {self.control.describe()}", 'target triple = "nvptx64-nvidia-cuda"', "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()"]
        out += [f"declare {t} @llvm.{op}.{t}({t}, {t})" for op in ("smin", "umax") for t in ("i8", "i32", "i64")]
        for name, (count, t) in self.memories.items():
            values = ", ".join(f"{t} {literal(t, r.choice([1, 2, 3, 5, 77, 100]))}" for _ in range(count))
            out.append(f"@{name} = internal addrspace(1) global [{count} x {t}] [{values}]")
        out += self.texts
        out += [FOLD.format(t=t, size=SIZES[t], widen=widen.get(t, f"zext {t} %x to i64")) for t in sorted(self.folds)]
        out.append(HINTS)
        out += [f"!{100 + k} = distinct !{{!{100 + k}, {', '.join(hints)}}}" for k, hints in enumerate(self.notes)]
        return "\n".join(out) + "\n"

    def write(self, folder):
        """The module and the contents of its buffers; the arguments that nvmini is run with."""
        c, r = self.control, random.Random(7)
        elements = max([layout.total for layout in self.layouts] + [1])

        def words(values):
            return b"".join(wrap(64, v).to_bytes(8, "little") for v in values)
        unused = [0] * LANES * (TABLES - len(self.layouts))
        offsets = [o >> 5 * l.aligned for l in self.layouts for o in l.offsets] + unused
        offsets += [(first << 32) + length for l in self.layouts for first, length in l.parts] + unused
        contents = {"m.nvir": self.text().encode(), "bytes": r.randbytes(8 * elements),
                    "floats": b"".join(struct.pack("<f", r.randrange(32)) for _ in range(elements)),
                    "starts": words(getattr(c, "start_table", c.starts)), "bounds": words(getattr(c, "bound_table", c.bounds)),
                    "valid": bytes(way is not None for way in c.ways), "offs": words(offsets)}
        for name, data in contents.items():
            with open(f"{folder}/{name}", "wb") as f:
                f.write(data)
        types = [("bytes", "u8"), ("bytes", "u8"), ("floats", "f32"), ("floats", "f32"), ("starts", "i64"), ("bounds", "i64"),
                 ("valid", "u8"), ("offs", "i64")]
        given = [x for name, t in types for x in ("--arg", f"buf:{t}:@{folder}/{name}")]
        return ["--block", str(LANES), *given, "--arg", f"buf:i64:{LANES}:zero", "--print", "8"]


KNOBS = [["force-vector-width=4"], ["force-vector-width=2", "force-vector-interleave=4"], ["force-vector-width=16"],
         ["vectorizer-min-trip-count=0"], ["vectorizer-min-trip-count=0", "aggressive-interleave=1"],
         ["prefer-predicate-over-epilogue=1", "force-vector-width=8"], ["epilogue-vectorization-force-VF=2", "force-vector-width=8"],
         ["force-scalar-epilogue=1", "force-vector-width=4"], ["force-vector-interleave=4"], ["enable-epilogue-vectorization=0"],
         ["force-can-reorder-fp=0", "force-vector-width=4"], ["enable-early-exit-vectorization=1", "force-vector-width=4"],
         ["enable-early-exit-vectorization=1", "vectorizer-min-trip-count=0"], ["force-vector-width-outer=1", "force-vector-width=4"],
         ["force-vector-width-outer=1"]]
ASKED = ["--knob", "enable-early-exit-vectorization=1", "--knob", "force-vector-width-outer=1"]
LOOP_PASSES = "simplifycfg,combine,loop-simplify,loop-rotate,loop-simplify,lcssa,loop-vectorize,simplifycfg,combine,dce"
STRAIGHT_PASSES = ["load-store-vectorizer,dce", "slp-vectorizer,dce", "load-store-vectorizer,slp-vectorizer,combine,dce", "early-cse,share-addresses,load-store-vectorizer"]


def ways(r, number, straight):
    """In which ways a module is executed; all but every fourth as IR."""
    levels = [["-O1"]] if straight or number % 4 == 1 else [["-O2", *ASKED]]
    levels += [["-O2"], ["-O3", "--cpu", r.choice(["sm_75", "sm_90", "sm_100"])]]
    if straight:
        levels += [["--passes", r.choice(STRAIGHT_PASSES), "--verify-each"] for _ in range(2)]
    for knobs in [] if straight else r.sample(KNOBS, 3):
        given = [x for knob in knobs for x in ("--knob", knob)]
        levels.append(given + (["-O2"] if r.random() < 0.6 else ["--passes", LOOP_PASSES, "--verify-each"]))
    yield from (["--from", "ir", *level] for level in levels)
    if number % 4 == 0:
        yield ["-O3", "--fma-level", "0"]


# Hints that cannot be followed are no findings.
QUIET = ["-Wno-loop-not-unrolled", "-Wno-loop-not-vectorized"]


def execute(nvmini, folder, arguments, how):
    """Results by kernel, and findings."""
    try:
        done = subprocess.run([nvmini, "run", f"{folder}/m.nvir", "--kernel", "*", *QUIET, *arguments, *how], text=True,
                              capture_output=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return {}, "time limit"
    parts = re.split(r"^(k\d+):\n", done.stdout, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2])) or {"all": done.stdout}, done.stderr


def check(module, folder, nvmini, r, number, straight):
    """What differs: (way, kernels, findings)."""
    arguments = module.write(folder)
    right, findings = execute(nvmini, folder, arguments, ["--from", "ir", "-O0"])
    if findings:
        return [(["the generator's own fault"], [], findings)]
    found = []
    for how in ways(r, number, straight):
        got, findings = execute(nvmini, folder, arguments, how)
        wrong = [k for k in right if got.get(k) != right[k]]
        if wrong or findings:
            found.append((how, wrong, findings))
    return found


def all_controls(widths, seed, straight=False):
    """Shapes of controls without end; None: straight code."""
    if straight:
        yield from itertools.repeat(None)
    every = [e for e in itertools.product(sorted(set(widths)), PREDICATES, STEPS, FLAGS, ["new", "old"], FORMS) if e[4:] != ("old", "while")]
    every += [e for w in set(widths) for _ in range(widths.count(w) - 1) for e in every if e[0] == w]
    every += [None] * (len(every) // 10)
    for turn in itertools.count():
        order = list(every)
        random.Random(f"{seed} {turn}").shuffle(order)
        yield from order


def make_module(shape, seed, number, kernels, kinds=()):
    r = random.Random(f"{seed} {number}")
    control = Control(*shape, r) if shape else Once(r.choice([8, 8, 16]), r)
    if sum(bool(way) for way in control.ways) < 8:
        return None, r
    module = Module(control, r, kernels, not shape, list(kinds))
    return (module if module.texts else None), r


def report(o, number, module, folder, found):
    print(f"module {number}: {module.control.describe()}")
    for how, kernels, findings in found:
        print(f"  {' '.join(how)}: {' '.join(kernels)}\n    " + "\n    ".join(findings.splitlines()[:3]), flush=True)
    if o.keep:
        shutil.copytree(folder, f"{o.keep}/{number}", dirs_exist_ok=True)
        with open(f"{o.keep}/{number}/ARGS", "w", encoding="utf-8") as f:
            f.write(" ".join(module.write(f"{o.keep}/{number}")) + "\n")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--modules", type=int, default=100)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--widths", default="8,8,16,32,64")
    a.add_argument("--kernels", type=int, default=24)
    a.add_argument("--nvmini", default="build/nvmini")
    a.add_argument("--keep", default="")
    a.add_argument("--only", type=int)
    a.add_argument("--kinds", default="", help="bodies of these kinds alone, such as nest,search")
    a.add_argument("--straight", action="store_true", help="straight code alone")
    o = a.parse_args()
    loops = modules = differ = 0
    for number, shape in enumerate(all_controls([int(w) for w in o.widths.split(",")], o.seed, o.straight)):
        if modules == o.modules or (o.only is not None and number > o.only):
            break
        if number < (o.first if o.only is None else o.only):
            continue
        module, r = make_module(shape, o.seed, number, o.kernels, [k for k in o.kinds.split(",") if k])
        if not module:
            continue
        modules, loops = modules + 1, loops + len(module.texts)
        with tempfile.TemporaryDirectory() as folder:
            found = check(module, folder, o.nvmini, r, number, not shape)
            if found:
                differ += 1
                report(o, number, module, folder, found)
    print(f"{loops} loops in {modules} modules, {differ} modules differ", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
