#!/usr/bin/env python3
"""Random kernels whose results are one number whatever the compiler does: valid, terminating, free of
undefined behaviour and of races by construction.

    gen_kernels.py SEED [--count N] [--size S] [--swarm]
                        [--favour loops|memory|ints|floats|vectors|warp|objects|precision]...

Writes a module with kernels k0, k1 … of one signature, for `nvmini run --kernel '*'`; the launch is in
its header. How each promise is kept:
  defined     divisors are odd and positive, shift amounts masked, indices masked to the power of two
              of what they index, nsw and nuw stand only on numbers that were made small, floats become
              integers by saturation, and every NaN is made the canonical one before its bits are seen
  terminating loops count to a small masked number; calls only go to functions generated before, but
              for one recursive pattern of bounded depth
  race-free   a thread writes its own slice of the output and its own slot of shared memory, which
              others read between two barriers; atomics are commutative, one operation a place, and
              their results unused
  uniform     barriers and warp operations stand only where all threads of the block come together
Inline assembly is written by gen_assembly.py; blocks that are not executed, and loads before barriers, by gen_hazards.py; choices of
variables, and variables that are defined in parts, by gen_objects.py; floats that are extended and rounded by gen_precision.py.
"""
import argparse
import random

from gen_assembly import Assembly
from gen_hazards import Hazards
from gen_idioms import Idioms
from gen_objects import PARAMETER, Layout, Objects
from gen_precision import Precision
from swarm import Swarm

INTS = ["i1", "i3", "i7", "i8", "i13", "i16", "i24", "i31", "i32", "i33", "i48", "i63", "i64", "i65", "i100", "i128"]
COMMON_INTS = ["i32", "i32", "i32", "i64", "i16", "i8"]
FLOATS = ["float", "float", "double", "half", "bfloat"]
NEWER = "; inline assembly: sm_90 and later"  # a line of such modules
FUSED = "; the same with and without fused multiply-adds"
BOX = Layout(PARAMETER)
WORDS = 64     # i32 words of a thread's slice of the output
ATOMS = 8      # words behind all slices
IN_WORDS = 256
LANES = {"i8": (4, 2, 8), "i16": (2, 4), "i32": (2, 4, 3), "i64": (2,), "float": (2, 4, 3), "half": (2, 4), "double": (2,),
         "i1": (2, 4)}
FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
NAN = {"half": "0xH7E00", "bfloat": "0xR7FC0", "float": "0x7FF8000000000000", "double": "0x7FF8000000000000"}


def bits(t):
    return FLOAT_BITS.get(t) or int(t[1:])


def is_int(t):
    return t[0] == "i"


def is_float(t):
    return t in FLOAT_BITS


def vector_of(t):
    """(lanes, element) of a vector type, else None."""
    if t[0] != "<":
        return None
    n, _, e = t[1:-1].split(" ")
    return int(n), e


def memory_bytes(t):
    """Bytes from one element to the next in an array."""
    n = 1
    while n * 8 < bits(t):
        n *= 2
    return n


class Function(Idioms, Assembly, Hazards, Objects, Precision):
    """The body of one function while it is written."""
    words = WORDS

    def __init__(self, module, name, kernel):
        self.m, self.r, self.name, self.kernel = module, module.r, name, kernel
        self.lines, self.allocas = [], []
        self.count = 0
        self.block = "entry"
        self.pool = {}          # type → names
        self.uniform = kernel   # all threads of the block are here
        self.budget = 0
        self.depth = 0
        self.writes_boxes = kernel and module.boxes and self.r.random() < 0.4  # parameters by value
        self.arrays = []        # (pointer, pointer type, element type, log2 of elements): may be read and written

    # ---- text
    def new(self, hint="v"):
        self.count += 1
        return f"%{hint}{self.count}"

    def emit(self, text):
        self.lines.append("  " + text)

    def set(self, t, text, hint="v"):
        """`%v = text`, known as a value of type t."""
        name = self.new(hint)
        self.emit(f"{name} = {text}")
        self.add(t, name)
        return name

    def add(self, t, name):
        self.pool.setdefault(t, []).append(name)

    def label(self, name):
        self.lines.append(f"{name}:")
        self.block = name

    def add_local(self, t, align):
        name = self.new("local")
        self.allocas.append(f"  {name} = alloca {t}, align {align}")
        return name

    def add_global(self, text):
        self.m.globals.append(text)

    def add_node(self, *texts, loop=False):
        return self.m.add_loop_node(texts) if loop else self.m.add_node(*texts)

    def one_nan(self, t, v):
        return self.canonical(t, v)

    def spaces(self):
        return ["", " addrspace(1)", " addrspace(4)"]

    def scope(self):
        return {t: list(names) for t, names in self.pool.items()}

    # ---- values
    def number(self, t):
        n, r = bits(t), self.r
        kind = r.random()
        if kind < 0.4:
            v = r.randint(-9, 9)
        elif kind < 0.7:
            v = r.choice([1, -1]) * ((1 << r.randrange(n)) + r.randint(-1, 1))
        else:
            v = r.getrandbits(n)
        v &= (1 << n) - 1
        if n == 1:
            return "true" if v else "false"
        return str(v - (1 << n) if v >> (n - 1) and r.random() < 0.7 else v)

    def constant(self, t):
        lanes = vector_of(t)
        if lanes:
            return "<" + ", ".join(f"{lanes[1]} {self.constant(lanes[1])}" for _ in range(lanes[0])) + ">"
        if is_float(t):
            return self.r.choice(["0.0", "1.0", "-1.0", "2.0", "0.5", "-0.25", "3.0", "-0.0", "16.0", "1.5"])
        return self.number(t)

    def any_type(self):
        r = self.r
        weights = {"ints": 6, "floats": 2, "vectors": 1}
        for f in self.m.favour:
            if f in weights:
                weights[f] *= 5
        kinds = self.m.swarm.of("type kinds", list(weights))
        kind = r.choices(kinds, [weights[k] for k in kinds])[0]
        if kind == "ints":
            odd = r.random() < (0.6 if "ints" in self.m.favour else 0.3)
            return r.choice(self.m.swarm.of("ints", INTS) if odd else self.m.swarm.of("common ints", COMMON_INTS))
        if kind == "floats":
            return r.choice(self.m.swarm.of("floats", FLOATS))
        e = r.choice(self.m.swarm.of("lanes", list(LANES)))
        return f"<{r.choice(LANES[e])} x {e}>"

    def value(self, t, constant=0.15):
        """A value of type t: known, constant or made from another one."""
        known = self.pool.get(t)
        if self.r.random() < constant or (not known and self.r.random() < 0.1):
            return self.constant(t)
        if known and self.r.random() < 0.85:
            return self.r.choice(known[-12:] if self.r.random() < 0.7 else known)
        return self.convert(t)

    def convert(self, t):
        r, lanes = self.r, vector_of(t)
        if lanes:
            n, e = lanes
            whole = r.choice(["poison", "zeroinitializer"]) if r.random() < 0.8 else "zeroinitializer"
            for i in range(n):
                whole_name = self.new("e")
                self.emit(f"{whole_name} = insertelement {t} {whole}, {e} {self.value(e)}, i32 {i}")
                whole = whole_name
            self.add(t, whole)
            return whole
        have = [x for x in self.pool if not vector_of(x) and x != t and self.pool[x]]
        if not have:
            return self.constant(t)
        s = r.choice(have)
        v = r.choice(self.pool[s])
        if is_int(t) and is_int(s):
            op = "trunc" if bits(s) > bits(t) else r.choice(["zext", "sext"])
            return self.set(t, f"{op} {s} {v} to {t}")
        if is_float(t) and is_int(s):
            return self.set(t, f"{r.choice(['sitofp', 'uitofp'])} {s} {v} to {t}")
        if is_int(t):
            if bits(t) == bits(s) and r.random() < 0.5:
                return self.set(t, f"bitcast {s} {self.canonical(s, v)} to {t}")
            suffix = f"{t}.{mangle(s)}"
            kind = r.choice(["fptosi", "fptoui"])
            if bits(t) > 64:
                return self.constant(t)
            self.m.declare(f"declare {t} @llvm.{kind}.sat.{suffix}({s})")
            return self.set(t, f"call {t} @llvm.{kind}.sat.{suffix}({s} {v})")
        if bits(t) == bits(s):
            if bits(t) == 16:
                wide = self.set("float", f"fpext {s} {v} to float")
                return self.set(t, f"fptrunc float {wide} to {t}")
            return self.constant(t)
        return self.set(t, f"{'fpext' if bits(t) > bits(s) else 'fptrunc'} {s} {v} to {t}")

    def canonical(self, t, v):
        """The float with its NaNs made one."""
        c, name = self.new("nan"), self.new("c")
        self.emit(f"{c} = fcmp uno {t} {v}, {v}")
        self.emit(f"{name} = select i1 {c}, {t} {NAN[t]}, {t} {v}")
        return name

    def masked(self, t, v, mask):
        name = self.new("m")
        self.emit(f"{name} = and {t} {v}, {mask}")
        return name

    def index(self, log2, t="i64"):
        return self.masked(t, self.value(t, 0.05), (1 << log2) - 1)

    def condition(self):
        r = self.r
        t = r.choice(["i32", "i64", "i8", "float", "i16", "i33", "double"])
        a, b = self.value(t, 0.02), self.value(t, 0.3)
        if is_float(t):
            return self.set("i1", f"fcmp {r.choice(['oeq', 'olt', 'ogt', 'une', 'ule', 'uge', 'ord', 'uno', 'one', 'ueq'])} {t} {a}, {b}")
        return self.set("i1", f"icmp {r.choice(['eq', 'ne', 'slt', 'sle', 'sgt', 'sge', 'ult', 'ule', 'ugt', 'uge'])} {t} {a}, {b}")

    # ---- expressions
    def arithmetic(self):
        t = self.any_type()
        lanes = vector_of(t)
        e = lanes[1] if lanes else t
        return self.float_op(t, e) if is_float(e) else self.int_op(t, e)

    def splat(self, t, v):
        lanes = vector_of(t)
        return "<" + ", ".join(f"{lanes[1]} {v}" for _ in range(lanes[0])) + ">" if lanes else str(v)

    def int_op(self, t, e):
        r, n = self.r, bits(e)
        op = r.choice(self.m.swarm.of("int ops", [
            "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem", "small", "intrinsic",
            "icmp", "select", "freeze"]))
        a, b = self.value(t), self.value(t)
        if op in ("shl", "lshr", "ashr"):
            amount = self.set(t, f"and {t} {b}, {self.splat(t, (1 << (n.bit_length() - 1)) - 1)}") if n > 1 else self.splat(t, "false")
            return self.set(t, f"{op} {t} {a}, {amount}")
        if op in ("udiv", "sdiv", "urem", "srem"):
            if n < 3:
                return self.set(t, f"xor {t} {a}, {b}")
            if r.random() < 0.4:
                d = r.choice([3, 5, 7, 10, 2, 4, 1, 6, (1 << (n - 1)) - 1])
                d = self.splat(t, d if d < 1 << (n - 1) else 3)
            else:
                d = self.set(t, f"and {t} {b}, {self.splat(t, (1 << (n - 1)) - 1)}")
                d = self.set(t, f"or {t} {d}, {self.splat(t, 1)}")
            return self.set(t, f"{op} {t} {a}, {d}")
        if op == "small" and n > 6:
            half = (1 << (n // 2 - 1)) - 1
            x = self.set(t, f"and {t} {a}, {self.splat(t, half)}")
            y = self.set(t, f"and {t} {b}, {self.splat(t, half)}")
            return self.set(t, f"{r.choice(['add nuw nsw', 'mul nuw nsw', 'add nsw', 'sub nsw', 'or'])} {t} {x}, {y}")
        if op == "intrinsic":
            return self.int_intrinsic(t, e, a, b)
        if op == "icmp":
            c = self.new("p")
            self.emit(f"{c} = icmp {r.choice(['eq', 'slt', 'ugt', 'sge', 'ne'])} {t} {a}, {b}")
            lanes = vector_of(t)
            ct = f"<{lanes[0]} x i1>" if lanes else "i1"
            self.add(ct, c)
            if e == "i1":
                return c
            return self.set(t, f"{r.choice(['zext', 'sext'])} {ct} {c} to {t}")
        if op == "select":
            return self.set(t, f"select i1 {self.condition()}, {t} {a}, {t} {b}")
        if op == "freeze":
            return self.set(t, f"freeze {t} {a}")
        return self.set(t, f"{op if op != 'small' else 'sub'} {t} {a}, {b}")

    def int_intrinsic(self, t, e, a, b):
        r, n = self.r, bits(e)
        names = ["smin", "smax", "umin", "umax", "abs", "ctpop", "ctlz", "cttz", "bitreverse", "fshl", "fshr", "sadd.sat",
                 "uadd.sat", "ssub.sat", "usub.sat", "overflow"]
        if n % 16 == 0:
            names.append("bswap")
        name = r.choice(self.m.swarm.of("int intrinsics", names))
        if name == "overflow":
            kind = r.choice(["sadd", "uadd", "ssub", "usub", "smul", "umul"])
            if vector_of(t) or n > 64 or n < 2:
                return self.set(t, f"sub {t} {a}, {b}")
            self.m.declare(f"declare {{ {t}, i1 }} @llvm.{kind}.with.overflow.{t}({t}, {t})")
            pair = self.new("o")
            self.emit(f"{pair} = call {{ {t}, i1 }} @llvm.{kind}.with.overflow.{t}({t} {a}, {t} {b})")
            self.set("i1", f"extractvalue {{ {t}, i1 }} {pair}, 1")
            return self.set(t, f"extractvalue {{ {t}, i1 }} {pair}, 0")
        suffix = mangle(t)
        if name in ("abs", "ctlz", "cttz"):
            parameters, arguments = f"{t}, i1", f"{t} {a}, i1 false"
        elif name in ("ctpop", "bitreverse", "bswap"):
            parameters, arguments = t, f"{t} {a}"
        elif name in ("fshl", "fshr"):
            parameters, arguments = f"{t}, {t}, {t}", f"{t} {a}, {t} {b}, {t} {self.value(t)}"
        else:
            parameters, arguments = f"{t}, {t}", f"{t} {a}, {t} {b}"
        self.m.declare(f"declare {t} @llvm.{name}.{suffix}({parameters})")
        return self.set(t, f"call {t} @llvm.{name}.{suffix}({arguments})")

    def float_op(self, t, e):
        r = self.r
        op = r.choice(self.m.swarm.of("float ops", ["fadd", "fsub", "fmul", "fdiv", "fneg", "intrinsic", "select", "fcmp", "fadd", "fmul"]))
        if op in ("fmul", "fdiv") and not self.m.fusible:
            op = "fadd"
        a, b = self.value(t), self.value(t)
        if op == "fneg":
            return self.set(t, f"fneg {t} {a}")
        if op == "fdiv" and e in ("half", "bfloat"):
            op = "fsub"
        if op == "select":
            return self.set(t, f"select i1 {self.condition()}, {t} {a}, {t} {b}")
        if op == "fcmp":
            c = self.new("q")
            self.emit(f"{c} = fcmp {r.choice(['oeq', 'olt', 'uge', 'une', 'ord'])} {t} {a}, {b}")
            lanes = vector_of(t)
            self.add(f"<{lanes[0]} x i1>" if lanes else "i1", c)
            return self.set(t, f"select {'<%d x i1>' % lanes[0] if lanes else 'i1'} {c}, {t} {b}, {t} {a}")
        if op == "intrinsic":
            name = r.choice(self.m.swarm.of("float intrinsics", ["fabs", "floor", "ceil", "trunc", "rint", "fma", "minnum", "maxnum", "copysign", "sqrt"]))
            if e in ("half", "bfloat") and name == "sqrt":
                name = "fabs"
            operands = {"fma": 3, "minnum": 2, "maxnum": 2, "copysign": 2}.get(name, 1)
            values = [a, self.without_nan(t, b) if name == "copysign" else b, self.value(t)][:operands]
            self.m.declare(f"declare {t} @llvm.{name}.{mangle(t)}({', '.join([t] * operands)})")
            return self.set(t, f"call {t} @llvm.{name}.{mangle(t)}({', '.join(f'{t} {v}' for v in values)})")
        return self.set(t, f"{op} {t} {a}, {b}")

    def without_nan(self, t, v):
        """v, or zero where it is a NaN: the sign of a NaN is not determined."""
        lanes = vector_of(t)
        bools = f"<{lanes[0]} x i1>" if lanes else "i1"
        ordered, number = self.new("q"), self.new("q")
        self.emit(f"{ordered} = fcmp ord {t} {v}, {v}")
        self.emit(f"{number} = select {bools} {ordered}, {t} {v}, {t} {'zeroinitializer' if lanes else '0.0'}")
        return number

    def vector_op(self):
        r = self.r
        e = r.choice(list(LANES))
        n = r.choice(LANES[e])
        t = f"<{n} x {e}>"
        v = self.value(t)
        kind = r.random()
        if kind < 0.3:
            return self.set(e, f"extractelement {t} {v}, i32 {r.randrange(n)}")
        if kind < 0.45:
            i = self.index(n.bit_length() - 1, "i32")
            return self.set(e, f"extractelement {t} {v}, i32 {i}")
        if kind < 0.6:
            i = self.index(n.bit_length() - 1, "i32") if r.random() < 0.5 else r.randrange(n)
            return self.set(t, f"insertelement {t} {v}, {e} {self.value(e)}, i32 {i}")
        if kind < 0.85:
            w = r.choice(LANES[e])
            mask = ", ".join(f"i32 {r.randrange(2 * n)}" for _ in range(w))
            return self.set(f"<{w} x {e}>", f"shufflevector {t} {v}, {t} {self.value(t)}, <{w} x i32> <{mask}>")
        if is_int(e) and e != "i1":
            name = r.choice(["add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"])
            self.m.declare(f"declare {e} @llvm.vector.reduce.{name}.{mangle(t)}({t})")
            return self.set(e, f"call {e} @llvm.vector.reduce.{name}.{mangle(t)}({t} {v})")
        return self.set(t, f"select i1 {self.condition()}, {t} {v}, {t} {self.value(t)}")

    def aggregate_op(self):
        r = self.r
        members = [r.choice(["i32", "i64", "float", "i8", "i16", "double", "i1", "i33"]) for _ in range(r.randint(2, 4))]
        t = "{ " + ", ".join(members) + " }"
        whole = "poison" if r.random() < 0.5 else "zeroinitializer"
        for i, m in enumerate(members):
            name = self.new("a")
            self.emit(f"{name} = insertvalue {t} {whole}, {m} {self.value(m)}, {i}")
            whole = name
        if r.random() < 0.4 and self.allocas is not None:
            slot = self.new("slot")
            self.allocas.append(f"  {slot} = alloca {t}")
            self.emit(f"store {t} {whole}, ptr {slot}")
            i = r.randrange(len(members))
            p = self.new("p")
            self.emit(f"{p} = getelementptr {t}, ptr {slot}, i32 0, i32 {i}")
            return self.set(members[i], f"load {members[i]}, ptr {p}")
        i = r.randrange(len(members))
        return self.set(members[i], f"extractvalue {t} {whole}, {i}")

    # ---- memory
    def read_input(self):
        r = self.r
        t = r.choice(["i32", "i32", "i64", "i8", "i16", "float", "double", "half", "<4 x i32>", "<2 x float>", "<4 x i8>", "i24"])
        lanes = vector_of(t)
        size = lanes[0] * bits(lanes[1]) // 8 if lanes else memory_bytes(t)
        log2 = (IN_WORDS * 4 // size).bit_length() - 1
        space = r.choice(["", " addrspace(1)"]) if self.kernel else ""
        pointer = "%in1" if space else "%in"
        p = self.new("p")
        flag = r.choice([" inbounds", ""])
        self.emit(f"{p} = getelementptr{flag} {t if t != 'i24' else 'i32'}, ptr{space} {pointer}, i64 {self.index(log2)}")
        if t == "i24":
            whole = self.set("i32", f"load i32, ptr{space} {p}")
            return self.set("i24", f"trunc i32 {whole} to i24")
        return self.set(t, f"load {t}, ptr{space} {p}, align {size}")

    def make_array(self):
        """A local array, all of it written."""
        r = self.r
        t = r.choice(["i32", "i64", "i8", "float", "i16", "i33", "i128"])
        log2 = r.randint(1, 3)
        space = r.choice(["", "", " addrspace(5)"])
        p = self.new("arr")
        pointer = p
        self.allocas.append(f"  {p} = alloca [{1 << log2} x {t}]{', addrspace(5)' if space else ''}")
        for i in range(1 << log2):
            q = self.new("p")
            self.emit(f"{q} = getelementptr [{1 << log2} x {t}], ptr{space} {pointer}, i64 0, i64 {i}")
            self.emit(f"store {t} {self.value(t)}, ptr{space} {q}")
        self.arrays.append((pointer, f"ptr{space}", t, log2))

    def use_array(self):
        r = self.r
        if not self.arrays or r.random() < 0.25:
            if len(self.arrays) < 6:
                return self.make_array()
        p, pt, t, log2 = r.choice(self.arrays)
        q = self.new("p")
        self.emit(f"{q} = getelementptr {t}, {pt} {p}, i64 {self.index(log2)}")
        if r.random() < 0.5:
            return self.emit(f"store {t} {self.value(t)}, {pt} {q}")
        return self.set(t, f"load {t}, {pt} {q}")

    def own_slice(self):
        """A place in the thread's own words of the output."""
        r = self.r
        t = r.choice(["i32", "i64", "i8", "i16", "<4 x i32>", "<2 x i32>"])
        lanes = vector_of(t)
        size = lanes[0] * bits(lanes[1]) // 8 if lanes else memory_bytes(t)
        log2 = (WORDS * 4 // size).bit_length() - 2  # the upper half is for the end
        p = self.new("p")
        self.emit(f"{p} = getelementptr {t}, ptr %mine, i64 {self.index(log2)}")
        volatile = " volatile" if r.random() < 0.1 else ""
        if t in ("i32", "i64") and r.random() < 0.2:
            return self.own_atomic(t, p)
        if r.random() < 0.6:
            return self.emit(f"store{volatile} {t} {self.value(t)}, ptr {p}, align {size}")
        return self.set(t, f"load{volatile} {t}, ptr {p}, align {size}")

    def own_atomic(self, t, p):
        """Nobody else is at the place, so that what was there is known."""
        r = self.r
        order = r.choice(["monotonic", "acquire", "release", "acq_rel", "seq_cst"])
        if r.random() < 0.5:
            return self.set(t, f"atomicrmw {r.choice(['add', 'sub', 'xchg', 'nand', 'xor', 'umin', 'max'])} ptr {p}, {t} {self.value(t)} {order}")
        pair = self.new("pair")
        self.emit(f"{pair} = cmpxchg ptr {p}, {t} {self.value(t)}, {t} {self.value(t)} {order} monotonic")
        self.set("i1", f"extractvalue {{ {t}, i1 }} {pair}, 1")
        return self.set(t, f"extractvalue {{ {t}, i1 }} {pair}, 0")

    def table(self):
        name, space, t, log2 = self.r.choice(self.m.tables)
        p = self.new("p")
        if space and self.r.random() < 0.5:
            generic = f"addrspacecast (ptr{space} @{name} to ptr)"
            self.emit(f"{p} = getelementptr inbounds {t}, ptr {generic}, i64 {self.index(log2)}")
            return self.set(t, f"load {t}, ptr {p}")
        self.emit(f"{p} = getelementptr inbounds {t}, ptr{space} @{name}, i64 {self.index(log2)}")
        return self.set(t, f"load {t}, ptr{space} {p}")

    def block_copy(self):
        """memset and memcpy of local memory."""
        r = self.r
        size = r.choice([8, 16, 24, 32])
        a, b = self.new("buf"), self.new("buf")
        for p in (a, b):
            self.allocas.append(f"  {p} = alloca [{size} x i8], align 8")
        self.m.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.m.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.emit(f"call void @llvm.memset.p0.i64(ptr align 8 {a}, i8 {self.value('i8')}, i64 {size}, i1 false)")
        p = self.new("p")
        self.emit(f"{p} = getelementptr i64, ptr {a}, i64 {r.randrange(size // 8)}")
        self.emit(f"store i64 {self.value('i64')}, ptr {p}")
        source = a if r.random() < 0.7 else "%in"
        self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr align {r.choice([1, 8])} {b}, ptr align {r.choice([1, 4])} {source}, i64 {size}, i1 false)")
        q = self.new("p")
        self.emit(f"{q} = getelementptr i32, ptr {b}, i64 {r.randrange(size // 4)}")
        return self.set("i32", f"load i32, ptr {q}")

    def atomic(self):
        r = self.r
        k, op = r.choice(list(enumerate(["add", "xor", "or", "umax", "min", "and", "max", "umin"])))
        p = self.new("p")
        self.emit(f"{p} = getelementptr i32, ptr %atoms, i64 {k}")
        order = r.choice(["monotonic", "seq_cst", "acq_rel", 'syncscope("device") monotonic'])
        self.emit(f"{self.new('old')} = atomicrmw {op} ptr {p}, i32 {self.value('i32')} {order}")

    # ---- threads together
    def shared_exchange(self):
        """Every thread writes its slot, all wait, each reads some, all wait."""
        r = self.r
        t = r.choice(["i32", "i64", "float", "i16", "<2 x i32>"])
        name = self.m.shared(t)
        p = self.new("p")
        self.emit(f"{p} = getelementptr {t}, ptr addrspace(3) @{name}, i64 %tid64")
        self.emit(f"store {t} {self.value(t)}, ptr addrspace(3) {p}")
        self.barrier()
        for _ in range(r.randint(1, 3)):
            q = self.new("p")
            self.emit(f"{q} = getelementptr {t}, ptr addrspace(3) @{name}, i64 {self.index(self.m.block_log2)}")
            self.set(t, f"load {t}, ptr addrspace(3) {q}")
        self.barrier()

    def barrier(self):
        r, threads = self.r, 1 << self.m.block_log2
        kind = r.choice(["barrier0", "barrier0", "barrier.cta.sync.aligned.all", "barrier.cta.sync.aligned.count", "red"])
        if kind == "red":
            name = r.choice(["popc", "and", "or"])
            self.m.declare(f"declare i32 @llvm.nvvm.barrier0.{name}(i32)")
            return self.set("i32", f"call i32 @llvm.nvvm.barrier0.{name}(i32 {self.value('i32')})")
        arguments = {"barrier0": [], "barrier.cta.sync.aligned.all": [r.randrange(16)]}.get(kind, [r.randrange(16), threads])
        self.m.declare(f"declare void @llvm.nvvm.{kind}({', '.join('i32' for _ in arguments)})")
        return self.emit(f"call void @llvm.nvvm.{kind}({', '.join(f'i32 {n}' for n in arguments)})")

    def warp_op(self):
        r = self.r
        kind = r.choice(["shfl", "shfl", "shflf", "ballot", "vote", "match", "sync"])
        if kind == "sync":
            self.m.declare("declare void @llvm.nvvm.bar.warp.sync(i32)")
            return self.emit("call void @llvm.nvvm.bar.warp.sync(i32 -1)")
        if kind in ("shfl", "shflf"):
            mode = r.choice(["idx", "bfly", "up", "down"])
            t, letter = ("i32", "i32") if kind == "shfl" else ("float", "f32")
            self.m.declare(f"declare {t} @llvm.nvvm.shfl.sync.{mode}.{letter}(i32, {t}, i32, i32)")
            by = self.index(5, "i32") if mode == "idx" else r.randrange(32)
            clamp = 0 if mode == "up" else 31
            v = self.value(t, 0.02)
            if t == "float":
                v = self.canonical(t, v)
            return self.set(t, f"call {t} @llvm.nvvm.shfl.sync.{mode}.{letter}(i32 -1, {t} {v}, i32 {by}, i32 {clamp})")
        if kind == "ballot":
            self.m.declare("declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)")
            return self.set("i32", f"call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {self.condition()})")
        if kind == "vote":
            name = r.choice(["all", "any", "uni"])
            self.m.declare(f"declare i1 @llvm.nvvm.vote.{name}.sync(i32, i1)")
            return self.set("i1", f"call i1 @llvm.nvvm.vote.{name}.sync(i32 -1, i1 {self.condition()})")
        self.m.declare("declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)")
        small = self.masked("i32", self.value("i32", 0.02), 3)
        return self.set("i32", f"call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 {small})")

    # ---- control flow
    def nested(self, statements):
        """Statements in a scope of their own; what it knew is returned."""
        outer, arrays = self.pool, self.arrays
        self.pool, self.arrays = self.scope(), list(arrays)
        self.depth += 1
        self.statements(statements)
        self.depth -= 1
        inner, self.pool, self.arrays = self.pool, outer, arrays
        return inner

    def pick(self, pool, t):
        known = pool.get(t)
        return self.r.choice(known[-6:]) if known and self.r.random() < 0.9 else self.constant(t)

    def branch(self):
        r = self.r
        uniform = self.uniform
        if uniform and r.random() < 0.3:
            c = self.new("u")
            self.emit(f"{c} = icmp {r.choice(['ugt', 'eq', 'slt'])} i32 %n, {r.randint(0, 20)}")
        else:
            c = self.condition()
            self.uniform = False
        k = self.count = self.count + 1
        has_else = r.random() < 0.6
        top = self.block
        self.emit(f"br i1 {c}, label %then{k}, label %{'else' if has_else else 'join'}{k}")
        types = [self.any_type() for _ in range(r.randint(1, 3))]
        arms = []
        for arm in ["then"] + (["else"] if has_else else []):
            self.label(f"{arm}{k}")
            inner = self.nested(r.randint(1, 4))
            values = [self.pick(inner, t) for t in types]
            self.emit(f"br label %join{k}")
            arms.append((self.block, values))
        if not has_else:
            arms.append((top, [self.pick(self.pool, t) for t in types]))
        self.label(f"join{k}")
        for i, t in enumerate(types):
            self.set(t, f"phi {t} " + ", ".join(f"[ {v[i]}, %{b} ]" for b, v in arms), "phi")
        self.uniform = uniform

    def switch(self):
        r = self.r
        uniform, self.uniform = self.uniform, False
        k = self.count = self.count + 1
        t = r.choice(["i32", "i8", "i64", "i16"])
        on = self.masked(t, self.value(t, 0.02), 7)
        n = r.randint(2, 6)
        top = self.block
        targets = [r.randrange(max(1, n - 1)) for _ in range(n)]
        fall = r.random() < 0.5
        cases = " ".join(f"{t} {i}, label %case{k}.{j}" for i, j in enumerate(targets))
        self.emit(f"switch {t} {on}, label %{'join%d' % k if fall else 'case%d.0' % k} [ {cases} ]")
        phi_type = self.any_type()
        arms = [(top, self.pick(self.pool, phi_type))] if fall else []
        for j in sorted(set(targets) | (set() if fall else {0})):
            self.label(f"case{k}.{j}")
            inner = self.nested(r.randint(1, 2))
            arms.append((None, self.pick(inner, phi_type)))
            arms[-1] = (self.block, arms[-1][1])
            self.emit(f"br label %join{k}")
        self.label(f"join{k}")
        self.set(phi_type, f"phi {phi_type} " + ", ".join(f"[ {v}, %{b} ]" for b, v in arms), "phi")
        self.uniform = uniform

    def loop(self):
        r = self.r
        uniform = self.uniform
        k = self.count = self.count + 1
        it = r.choice(["i32", "i32", "i64", "i16"])
        step = r.choice([1, 1, 1, 2, 3, 4])
        trips = r.randint(1, 9)
        flags = " nuw nsw" if r.random() < 0.5 else ""
        kind = r.random()
        if kind < 0.5:
            limit = str(trips * step)
        elif kind < 0.75 and it == "i32" and self.kernel:
            limit = self.masked("i32", "%n", 15)
        else:
            limit = self.masked(it, self.value(it, 0.02), 15)
            self.uniform = False
        first = r.choice([0, 0, 1, 2])
        reductions = [self.any_type() for _ in range(r.randint(1, 3))]
        starts = [self.value(t) for t in reductions]
        top = self.block
        self.emit(f"br label %head{k}")
        dead = self.dead_blocks(f"head{k}") if r.random() < 0.06 else []
        self.label(f"head{k}")
        at = len(self.lines)
        i = f"%i{k}"
        phis = [f"%r{k}.{x}" for x in range(len(reductions))]
        outer, arrays = self.pool, self.arrays
        self.pool, self.arrays = self.scope(), list(arrays)
        self.add(it, i)
        for t, p in zip(reductions, phis):
            self.add(t, p)
        for _ in range(r.randint(1, 2)):
            self.pool.setdefault(it, []).append(i)
        test_first = r.random() < 0.5
        exits = []
        if test_first:
            c = self.new("t")
            self.emit(f"{c} = icmp ult {it} {i}, {limit}")
            exits.append((self.block, phis))
            self.emit(f"br i1 {c}, label %body{k}, label %exit{k}")
            self.label(f"body{k}")
        self.depth += 1
        self.statements(r.randint(1, 4))
        if r.random() < 0.25:
            was = self.uniform
            c = self.condition()
            self.uniform = was
            if not uniform or not self.uniform:
                exits.append((self.block, [self.pick(self.pool, t) for t in reductions]))
                self.emit(f"br i1 {c}, label %exit{k}, label %go{k}")
                self.label(f"go{k}")
        nexts = []
        for t, p in zip(reductions, phis):
            lanes = vector_of(t)
            e = lanes[1] if lanes else t
            op = r.choice(["fadd", "fmul", "fsub"] if is_float(e) else ["add", "xor", "mul", "sub", "or", "add"])
            if op == "fmul" and not self.m.fusible:
                op = "fadd"
            v = self.new("n")
            self.emit(f"{v} = {op} {t} {p}, {self.pick(self.pool, t)}")
            nexts.append(v)
        self.depth -= 1
        j = self.new("j")
        self.emit(f"{j} = add{flags} {it} {i}, {step}")
        latch = self.block
        if test_first:
            self.emit(f"br label %head{k}")
        else:
            c = self.new("t")
            self.emit(f"{c} = icmp ult {it} {j}, {limit}")
            exits.append((self.block, nexts))
            self.emit(f"br i1 {c}, label %head{k}, label %exit{k}")
        heads = [f"  {i} = phi {it} [ {first}, %{top} ], [ {j}, %{latch} ]" + self.dead_entries(dead, it)]
        for t, p, s, n in zip(reductions, phis, starts, nexts):
            heads.append(f"  {p} = phi {t} [ {s}, %{top} ], [ {n}, %{latch} ]" + self.dead_entries(dead, t))
        self.lines[at:at] = heads
        self.pool, self.arrays = outer, arrays
        self.label(f"exit{k}")
        for x, t in enumerate(reductions):
            self.set(t, f"phi {t} " + ", ".join(f"[ {v[x]}, %{b} ]" for b, v in exits), "phi")
        self.uniform = uniform

    def call(self):
        if not self.m.helpers:
            return self.arithmetic()
        name, result, parameters = self.r.choice(self.m.helpers)
        arguments = ", ".join(f"{t} {self.value(t)}" for t in parameters)
        return self.set(result, f"call {result} @{name}({arguments})")

    def indirect_call(self):
        """Of one of two functions; threads may choose differently."""
        if not self.m.chosen_between:
            return self.call()
        f = self.set("ptr", f"select i1 {self.condition()}, ptr @choice0, ptr @choice1", "f")
        self.pool["ptr"].remove(f)
        return self.set("i32", f"call i32 {f}(i32 {self.value('i32')}, i32 {self.value('i32')})")

    # ---- statements
    def statement(self):
        r, m = self.r, self.m
        weights = {"arithmetic": 14, "vector_op": 2, "aggregate_op": 1, "use_array": 2, "table": 1, "branch": 2, "switch": 0.7,
                   "loop": 1.5, "call": 1.5, "idiom": 3, "block_copy": 0.4, "indirect_call": 0.3, "inline_assembly": 1.5,
                   "unreachable_cycle": 0.4, "objects": 1.5, "narrowed": 1.5}
        if not m.fusible:
            weights.pop("inline_assembly")  # of which some is mul.f16
        if self.kernel:
            weights.update(read_input=3, own_slice=1, atomic=0.5)
            if self.uniform:
                weights.update(shared_exchange=0.7, warp_op=1, choice_across_barrier=0.5)
        for f, names in {"loops": ["loop", "branch"], "memory": ["use_array", "read_input", "own_slice", "table", "block_copy",
                                                                   "shared_exchange", "atomic", "choice_across_barrier"],
                         "vectors": ["vector_op"], "warp": ["warp_op", "shared_exchange"]}.items():
            if f in m.favour:
                for n in names:
                    if n in weights:
                        weights[n] *= 4
        for name, favour in (("objects", "objects"), ("narrowed", "precision")):
            weights[name] *= 20 if favour in m.favour else 1
        if self.depth > 3 or self.budget < 4:
            for n in ("branch", "switch", "loop"):
                weights.pop(n)
        names = m.swarm.of("statements", list(weights), always=["arithmetic"])
        getattr(self, r.choices(names, [weights[n] for n in names])[0])()

    def statements(self, count):
        for _ in range(count):
            if self.budget <= 0:
                return
            self.budget -= 1
            self.statement()

    def as_i32(self, t, v):
        """A value folded into 32 bits."""
        lanes = vector_of(t)
        if lanes:
            n, e = lanes
            part = self.new("x")
            self.emit(f"{part} = extractelement {t} {v}, i32 {self.r.randrange(n)}")
            return self.as_i32(e, part)
        if is_float(t):
            whole = self.new("b")
            self.emit(f"{whole} = bitcast {t} {self.canonical(t, v)} to i{bits(t)}")
            t, v = f"i{bits(t)}", whole
        if bits(t) == 32:
            return v
        if bits(t) > 32:
            high, low = self.new("h"), self.new("l")
            self.emit(f"{high} = lshr {t} {v}, {bits(t) - 32}")
            mixed = self.new("x")
            self.emit(f"{mixed} = xor {t} {v}, {high}")
            self.emit(f"{low} = trunc {t} {mixed} to i32")
            return low
        wide = self.new("w")
        self.emit(f"{wide} = {self.r.choice(['zext', 'sext'])} {t} {v} to i32")
        return wide


def mangle(t):
    lanes = vector_of(t)
    if lanes:
        return f"v{lanes[0]}{mangle(lanes[1])}"
    return {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}.get(t, t)


class Module:
    def __init__(self, seed, count, size, favour, swarm):
        self.r, self.swarm = random.Random(f"kernels {seed}"), Swarm(seed, swarm)
        self.count, self.size, self.favour = count, size, favour
        self.declarations, self.globals, self.bodies, self.nodes = [], [], [], []
        self.helpers, self.tables, self.shared_names, self.chosen_between = [], [], {}, False
        self.newer = self.r.random() < 0.3  # assembly for sm_90 and later
        self.fusible = self.r.random() < (0.5 if "precision" in favour else 0.8)  # see gen_precision.py
        self.boxes = self.r.random() < 0.4  # kernels have two parameters by value
        self.takers, self.taker_count = {}, 0  # by type: the function that takes one by value
        self.block_log2 = self.r.choice([5, 5, 6])
        self.grid = self.r.choice([1, 2])

    def declare(self, text):
        if text not in self.declarations:
            self.declarations.append(text)

    def add_node(self, text):
        """The number of a metadata node; equal ones are one."""
        if text not in self.nodes:
            self.nodes.append(text)
        return f"!{self.nodes.index(text)}"

    def add_loop_node(self, hints):
        hints = ", ".join([self.add_node(h) for h in hints])
        k = len(self.nodes)
        self.nodes.append(f"distinct !{{!{k}, {hints}}}")
        return f"!{k}"

    def shared(self, t):
        if t not in self.shared_names:
            self.shared_names[t] = f"shared{len(self.shared_names)}"
            self.globals.append(f"@{self.shared_names[t]} = internal addrspace(3) global [{1 << self.block_log2} x {t}] undef, align 16")
        return self.shared_names[t]

    def make_tables(self):
        for k, space in enumerate(["", " addrspace(1)", " addrspace(4)"]):
            t = self.r.choice(["i32", "i64", "i16", "float", "i8"])
            log2 = self.r.randint(2, 4)
            f = Function(self, "none", False)
            values = ", ".join(f"{t} {f.constant(t)}" for _ in range(1 << log2))
            self.globals.append(f"@table{k} = internal{space} constant [{1 << log2} x {t}] [{values}]")
            self.tables.append((f"table{k}", space, t, log2))

    def make_helper(self, k):
        r = self.r
        f = Function(self, f"f{k}", False)
        parameters = [f.any_type() for _ in range(r.randint(1, 4))]
        result = f.any_type()
        for i, t in enumerate(parameters):
            f.add(t, f"%arg{i}")
        f.budget = r.randint(2, max(3, self.size // 2))
        names = ", ".join(f"{t} %arg{i}" for i, t in enumerate(parameters))
        f.block_copy = f.arithmetic  # it reads the input
        f.statements(f.budget)
        value = f.value(result)
        linkage = r.choice(["internal ", "", "internal "])
        attributes = r.choice([" noinline", "", ""])
        self.bodies.append(f"define {linkage}{result} @f{k}({names}){attributes} {{\nentry:\n" + "\n".join(f.allocas + f.lines) +
                           f"\n  ret {result} {value}\n}}")
        self.helpers.append((f"f{k}", result, parameters))

    def make_recursive(self):
        self.bodies.append("""define internal i32 @down(i32 %d, i32 %x) {
entry:
  %depth = and i32 %d, 7
  %stop = icmp eq i32 %depth, 0
  br i1 %stop, label %end, label %more
more:
  %e = sub nuw nsw i32 %depth, 1
  %y = mul i32 %x, 1664525
  %z = add i32 %y, %d
  %v = call i32 @down(i32 %e, i32 %z)
  %w = xor i32 %v, %x
  ret i32 %w
end:
  ret i32 %x
}""")
        self.helpers.append(("down", "i32", ["i32", "i32"]))

    def make_choices(self):
        for k, operations in enumerate((["mul", "add"], ["xor", "sub"])):
            f = Function(self, f"choice{k}", False)
            f.add("i32", "%a")
            f.add("i32", "%b")
            f.block_copy = f.arithmetic
            f.budget = self.r.randint(0, 4)
            f.statements(f.budget)
            lines = [f"  %x = {operations[0]} i32 %a, {self.r.randint(3, 99)}", f"  %y = {operations[1]} i32 %x, {f.value('i32')}"]
            self.bodies.append(f"define internal i32 @choice{k}(i32 %a, i32 %b) {{\nentry:\n" + "\n".join(f.allocas + f.lines + lines) +
                               "\n  ret i32 %y\n}")
        self.chosen_between = True

    def make_kernel(self, k):
        f = Function(self, f"k{k}", True)
        for s in ("tid", "ctaid", "ntid"):
            self.declare(f"declare i32 @llvm.nvvm.read.ptx.sreg.{s}.x()")
            f.emit(f"%{s} = call i32 @llvm.nvvm.read.ptx.sreg.{s}.x()")
        f.emit("%tid64 = zext i32 %tid to i64")
        f.emit("%block0 = mul i32 %ctaid, %ntid")
        f.emit("%gid = add i32 %block0, %tid")
        f.emit("%gid64 = zext i32 %gid to i64")
        f.emit("%in1 = addrspacecast ptr %in to ptr addrspace(1)")
        f.emit(f"%mine = getelementptr [{WORDS} x i32], ptr %out, i64 %gid64")
        f.emit(f"%atoms = getelementptr i32, ptr %out, i64 {(WORDS * self.grid) << self.block_log2}")
        for t, names in {"i32": ["%tid", "%gid", "%n", "%ctaid"], "i64": ["%gid64", "%tid64"]}.items():
            for n in names:
                f.add(t, n)
        prologue = f.lines
        f.lines = []
        f.budget = self.size
        for _ in range(2):
            f.read_input()
        f.statements(self.size)
        # Half of the slice gets what is known at the end.
        known = [(t, v) for t, names in f.pool.items() for v in names[-5:]]
        self.r.shuffle(known)
        for i, (t, v) in enumerate(known[:WORDS // 2]):
            word = f.as_i32(t, v)
            p = f.new("p")
            f.emit(f"{p} = getelementptr i32, ptr %mine, i64 {WORDS // 2 + i}")
            f.emit(f"store i32 {word}, ptr {p}")
        boxes = "".join(f", ptr byval({BOX.text}) align {BOX.align} %box{k}" for k in range(2 * self.boxes))
        body = ["entry:"] + f.allocas + prologue + f.lines + ["  ret void"]
        self.bodies.append(f"define ptx_kernel void @k{k}(ptr %in, ptr %out, i32 %n{boxes}) {{\n" + "\n".join(body) + "\n}")

    def text(self):
        self.make_tables()
        for k in range(self.r.randint(1, 4)):
            self.make_helper(k)
        if self.r.random() < 0.3:
            self.make_recursive()
        if self.r.random() < 0.3:
            self.make_choices()
        for k in range(self.count):
            self.make_kernel(k)
        words = (WORDS * self.grid << self.block_log2) + ATOMS
        n = self.r.randint(0, 31)
        seed = self.r.randrange(1 << 30)
        images = [f"{self.r.getrandbits(8 * BOX.size):0{2 * BOX.size}x}" for _ in range(2 * self.boxes)]
        boxes = "".join(f" --arg bytes:{image}" for image in images)
        head = [f"; nvmini-run: --kernel * --grid {self.grid} --block {1 << self.block_log2} --arg buf:i32:{IN_WORDS}:random:{seed} "
                f"--arg buf:i32:{words}:zero --arg i32:{n}{boxes} --print 1",
                *([NEWER] if self.newer else []), *([] if self.fusible else [FUSED]), 'target triple = "nvptx64-nvidia-cuda"', ""]
        return "\n".join(head + self.globals + [""] + self.declarations + [""] + self.bodies +
                         [f"!{k} = {text}" for k, text in enumerate(self.nodes)]) + "\n"


def generate(seed, count=1, size=30, favour=(), swarm=False):
    """The text of a module."""
    return Module(seed, count, size, favour, swarm).text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1, help="kernels in the module")
    parser.add_argument("--size", type=int, default=30, help="statements of a kernel, about")
    parser.add_argument("--favour", action="append", default=[],
                        choices=["loops", "memory", "ints", "floats", "vectors", "warp", "objects", "precision"])
    parser.add_argument("--swarm", action="store_true", help="only a random subset of the features")
    options = parser.parse_args()
    print(generate(options.seed, options.count, options.size, options.favour, options.swarm), end="")


if __name__ == "__main__":
    main()
