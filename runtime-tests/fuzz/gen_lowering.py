#!/usr/bin/env python3
"""Programs for the lowering cases of lowering.py: a kernel of one thread for each, on numbers that the seed chooses.

    gen_lowering.py SEED [special|recent]

A kernel reads two operands, executes the op of its case and stores the result, NaNs made one, as bytes of its own.
Integers of odd widths are read as the next container and truncated; shift amounts, divisors and floats that become
integers are made small and positive, so that every result is defined. `special` prints kernels of what no case is about:
passes that act on rare forms, hints and attributes of loops, linkage, initializers, inline assembly; `recent` those that
need sm_90."""
import random
import sys

from lowering import ELEMENTS, universe

BITS = {"odd": 33, "wide": 100}
FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
NAN = {"half": "0xH7E00", "bfloat": "0xR7FC0", "float": "0x7FF8000000000000", "double": "0x7FF8000000000000"}
SLOT, IN_BYTES = 32, 256
SPACES = {"generic": "", "global": " addrspace(1)", "shared": " addrspace(3)", "local": " addrspace(5)", "constant": " addrspace(4)"}


def width(t):
    return FLOAT_BITS.get(t) or int(t[1:])


def container(n):
    return next(x for x in (8, 16, 32, 64, 128) if x >= n)


class Kernel:
    def __init__(self, number, r):
        self.number, self.r, self.lines, self.globals, self.count, self.entry = number, r, [], [], 0, []

    def set(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def type(self, name):
        """The type of a class; odd and wide integers are of several widths."""
        if name == "odd":
            return f"i{self.r.choice([3, 7, 13, 24, 33, 48, 63])}"
        return f"i{self.r.choice([65, 96, 100, 127])}" if name == "wide" else name

    def operand(self, t):
        if t == "ptr":
            return "%out"
        n = container(width(t))
        at = self.r.randrange(IN_BYTES // (n // 8)) * (n // 8)
        p = self.set(f"getelementptr i8, ptr %in, i64 {at}")
        if t in FLOAT_BITS:
            byte = self.set(f"load i8, ptr {p}")
            return self.set(f"sitofp i8 {byte} to {t}")
        v = self.set(f"load i{n}, ptr {p}")
        return v if f"i{n}" == t else self.set(f"trunc i{n} {v} to {t}")

    def result(self, t, v, slot=0):
        if t == "ptr":
            t, v = "i64", self.set(f"ptrtoint ptr {v} to i64")
            base = self.set("ptrtoint ptr %out to i64")
            v = self.set(f"sub i64 {v}, {base}")
        if t in FLOAT_BITS:
            nan = self.set(f"fcmp uno {t} {v}, {v}")
            v = self.set(f"select i1 {nan}, {t} {NAN[t]}, {t} {v}")
            v, t = self.set(f"bitcast {t} {v} to i{width(t)}"), f"i{width(t)}"
        n = container(width(t))
        if f"i{n}" != t:
            v = self.set(f"zext {t} {v} to i{n}")
        p = self.set(f"getelementptr i8, ptr %out, i64 {self.number * SLOT + slot}")
        self.lines.append(f"store i{n} {v}, ptr {p}")

    def place(self, t, space):
        """A pointer to memory of the space that holds a number of the type."""
        n = container(width(t)) // 8 if t != "ptr" else 8
        name = f"@m{self.number}"
        if space == "constant":
            zero = "null" if t == "ptr" else "0.0" if t in FLOAT_BITS else "false" if t == "i1" else str(self.r.randrange(1 << min(width(t) - 1, 60)))
            self.globals.append(f"{name} = addrspace(4) constant {t} {zero}, align 16")
            return name
        if space == "shared":
            # Atomic operations of less than a word read the word around it.
            self.globals.append(f"{name} = internal addrspace(3) global [16 x i8] undef, align 16")
            self.lines.append(f"store <2 x i64> zeroinitializer, ptr addrspace(3) {name}")
            return name
        if space == "local":
            self.entry.append(f"%slot = alloca {t}, align 16, addrspace(5)")
            return "%slot"
        p = self.set(f"getelementptr i8, ptr %out, i64 {self.number * SLOT + 16}")
        return self.set(f"addrspacecast ptr {p} to ptr addrspace(1)") if space == "global" else p

    # ---- one method for each form of op

    def binary(self, op, t):
        t = self.type(t)
        a, b = self.operand(t), self.operand(t)
        if op in ("shl", "lshr", "ashr"):
            b = self.set(f"and {t} {b}, {(1 << (width(t).bit_length() - 1)) - 1 if width(t) > 3 else 1}")
        elif op in ("udiv", "urem", "sdiv", "srem"):
            b = self.set(f"or {t} {b}, 1")
            a = self.set(f"lshr {t} {a}, 1") if op[0] == "s" else a
        self.result(t, self.set(f"{op} {t} {a}, {b}"))

    def compare(self, op, t):
        t = self.type(t)
        predicate = self.r.choice("eq ne slt ule sgt uge".split() if op == "icmp" and t != "ptr" else ["eq", "ne"] if op == "icmp" else "oeq olt uge une ord".split())
        self.result("i1", self.set(f"{op} {predicate} {t} {self.operand(t)}, {self.operand(t)}"))

    def cast(self, op, a, b):
        if (a, b) in (("odd", "odd"), ("wide", "wide")):
            small, big = ("i13", "i48") if a == "odd" else ("i70", "i120")
            a, b = (big, small) if op == "trunc" else (small, big)
        classes = a, b
        a, b = self.type(a), self.type(b)
        while op in ("trunc", "zext", "sext") and (width(a) <= width(b) if op == "trunc" else width(a) >= width(b)):
            a, b = map(self.type, classes)
        v = self.operand(a)
        if op in ("fptoui", "fptosi"):  # 0 or 1 fits into all but a signed bit
            bit = self.set(f"trunc i32 {self.operand('i32')} to i1")
            v = self.set(f"uitofp i1 {bit} to {a}") if (op, b) != ("fptosi", "i1") else self.set(f"sitofp i1 {bit} to {a}")
        self.result(b, self.set(f"{op} {a} {v} to {b}"))

    def memory(self, op, t, space):
        t = self.type(t)
        p = self.place(t, space)
        if space != "constant":
            self.lines.append(f"store {t} {self.operand(t)}, ptr{SPACES[space]} {p}, align 16")
        v = self.set(f"load {t}, ptr{SPACES[space]} {p}, align 16")
        if t == "ptr" and space == "constant":
            return self.result("i1", self.set(f"icmp eq ptr {v}, null"))
        return self.result(t, v)

    def atomic(self, op, kind, t):
        space = self.r.choice(["generic", "global", "shared"])
        p = self.place(t, space)
        self.lines.append(f"store {t} {self.operand(t)}, ptr{SPACES[space]} {p}, align 16")
        if op == "cmpxchg":
            old = self.set(f"load {t}, ptr{SPACES[space]} {p}, align 16")
            pair = self.set(f"cmpxchg ptr{SPACES[space]} {p}, {t} {self.r.choice([old, '0'])}, {t} {self.operand(t)} acq_rel monotonic")
            self.result("i1", self.set(f"extractvalue {{ {t}, i1 }} {pair}, 1"), 8)
        else:
            order = self.r.choice(["monotonic", "acquire", "release", "acq_rel", "seq_cst"])
            self.result(t, self.set(f"atomicrmw {kind} ptr{SPACES[space]} {p}, {t} {self.operand(t)} {order}"))
        self.result(t, self.set(f"load {t}, ptr{SPACES[space]} {p}, align 16"), 4 if width(t) <= 32 else 8)

    def vector(self, op, e):
        e = e.removeprefix("vector of ")
        n, v = self.r.choice([2, 4]), "poison"
        for k in range(n):
            v = self.set(f"insertelement <{n} x {e}> {v}, {e} {self.operand(e)}, i32 {k}")
        if op == "shufflevector":
            v = self.set(f"shufflevector <{n} x {e}> {v}, <{n} x {e}> poison, <{n} x i32> <{', '.join(f'i32 {self.r.randrange(n)}' for _ in range(n))}>")
        i = self.set(f"and i32 {self.operand('i32')}, {n - 1}")
        if op == "insertelement":
            v = self.set(f"insertelement <{n} x {e}> {v}, {e} {self.operand(e)}, i32 {i}")
        self.result(e, self.set(f"extractelement <{n} x {e}> {v}, i32 {i}"))

    def other(self, op, t="i32"):
        t = self.type(t)
        if op == "fneg" or op == "freeze":
            return self.result(t, self.set(f"{op} {t} {self.operand(t)}"))
        if op == "switch":
            cases = " ".join(f"{t} {k}, label %c{k % 2}" for k in self.r.sample(range(4 if width(t) < 4 else 8), 3))
            self.lines += [f"switch {t} {self.operand(t)}, label %end [ {cases} ]", "c0:", "br label %end", "c1:", "br label %end", "end:"]
            return self.result("i32", self.phi("i32", ["7", "8", "9"], ["entry", "c0", "c1"]))
        c = self.set(f"icmp ult i32 {self.operand('i32')}, {self.r.getrandbits(31)}")
        a, b = self.operand(t), self.operand(t)
        if op == "select":
            return self.result(t, self.set(f"select i1 {c}, {t} {a}, {t} {b}"))
        self.lines += [f"br i1 {c}, label %yes, label %end", "yes:", "br label %end", "end:"]
        return self.result(t, self.phi(t, [a, b], ["entry", "yes"]))

    def phi(self, t, values, blocks):
        return self.set(f"phi {t} " + ", ".join(f"[ {v}, %{b} ]" for v, b in zip(values, blocks)))

    def text(self, attributes=""):
        body = "".join(f"  {line}\n" if not line.endswith(":") else line + "\n" for line in ["entry:", *self.entry, *self.lines, "ret void"])
        return "".join(g + "\n" for g in self.globals) + f"define ptx_kernel void @k{self.number}(ptr %in, ptr %out){attributes} {{\n{body}}}\n"


def of_case(kernel, case):
    """Writes the kernel of a case; false if it is no op with operands."""
    op = case[0]
    if op in ("load", "store"):
        kernel.memory(*case)
    elif op == "atomicrmw":
        kernel.atomic(*case)
    elif op == "cmpxchg":
        kernel.atomic(op, "", case[1])
    elif op in ("extractelement", "insertelement", "shufflevector"):
        kernel.vector(*case)
    elif op in ("icmp", "fcmp"):
        kernel.compare(*case)
    elif len(case) == 3:
        kernel.cast(*case)
    elif op in ("select", "phi", "freeze", "fneg", "switch"):
        kernel.other(*case)
    elif len(case) == 2 and op[0] in "asmuxlof" and op not in ("addrspacecast",):
        kernel.binary(*case)
    else:
        return False
    return True


SPECIAL = """
@ftz_name = private constant [11 x i8] c"__CUDA_FTZ\\00"
declare i32 @__nvvm_reflect(ptr)
@weak_number = weak addrspace(1) global i32 {a}
@once_number = linkonce_odr addrspace(1) global float 2.0
@common_number = common addrspace(1) global i32 0
@some = addrspace(1) global {{ i8, [2 x i8], ptr, float, <2 x half>, i128, i33 }} {{ i8 1, [2 x i8] undef, ptr null, float 1.5, <2 x half> zeroinitializer, i128 {a}, i33 -1 }}
@large = addrspace(1) global i200 {b}267650600228229401496703205376126765060022822940149
@sum = addrspace(1) global i64 add (i64 ptrtoint (ptr addrspace(1) @weak_number to i64), i64 {a})
@chosen = addrspace(1) global float select (i1 icmp ult (ptr addrspace(1) @weak_number, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @weak_number, i64 4)), float 1.5, float 2.5)
@null_sum = addrspace(1) global i64 add (i64 ptrtoint (ptr addrspace(1) @weak_number to i64), i64 ptrtoint (ptr null to i64))
@undef_sum = addrspace(1) global i64 add (i64 ptrtoint (ptr addrspace(1) @weak_number to i64), i64 undef)
@poison_sum = addrspace(1) global i64 add (i64 ptrtoint (ptr addrspace(1) @weak_number to i64), i64 poison)
@old_number = linkonce addrspace(1) global i32 {b}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @llvm.pow.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fmuladd.f32(float, float, float)
declare i32 @llvm.smin.i32(i32, i32)
declare void @llvm.va_start(ptr)
declare void @llvm.va_end(ptr)
declare extern_weak i32 @absent(i32)
define available_externally i32 @external(i32 %x) noinline {{
  ret i32 %x
}}
define linkonce i32 @old(i32 %x) noinline {{
  %y = sub i32 %x, {a}
  ret i32 %y
}}
define i32 @variadic(i32 %n, ...) noinline {{
  %list = alloca ptr
  call void @llvm.va_start(ptr %list)
  %a = va_arg ptr %list, i32
  %b = va_arg ptr %list, i64
  call void @llvm.va_end(ptr %list)
  %t = trunc i64 %b to i32
  %s = add i32 %a, %t
  ret i32 %s
}}
define linkonce_odr i32 @once(i32 %x) noinline {{
  %y = mul i32 %x, {a}
  ret i32 %y
}}
define weak i32 @weak(i32 %x) noinline {{
  %y = xor i32 %x, {b}
  ret i32 %y
}}
define private i32 @elsewhere(i32 %x) {{
  %y = add i32 %x, {b}
  ret i32 %y
}}
define ptx_kernel void @special(ptr %in, ptr %out, ptr byval({{ i32, i32 }}) %p) {{
entry:
  %ftz = call i32 @__nvvm_reflect(ptr @ftz_name)
  %x = load i32, ptr %in
  %o = call i32 @once(i32 %x)
  %w = call i32 @weak(i32 %o)
  %e = call i32 @elsewhere(i32 %w)
  %wn = load i32, ptr addrspace(1) @weak_number
  %cn = load i32, ptr addrspace(1) @common_number
  %wc = add i32 %wn, %cn
  fence acq_rel
  %as = call i32 asm "add.u32 $0, ${{1}}, {a}; // $$ {{$$}} $(a$) $(b$|c$)", "=r,r"(i32 %e)
  %s0 = add i32 %as, %ftz
  %s1 = xor i32 %s0, %wc
  store i32 %s1, ptr %out
  ; two lanes alike, of halves
  %h0p = getelementptr half, ptr %in, i64 8
  %v = load <2 x half>, ptr %h0p, align 4
  %vb = and i32 %x, 1048592
  %vs = bitcast i32 %vb to <2 x half>
  %a0 = extractelement <2 x half> %vs, i32 0
  %a1 = extractelement <2 x half> %vs, i32 1
  %b0 = fadd half %a0, 0xH3C00
  %b1 = fadd half %a1, 0xH4000
  %m0 = fmul half %b0, %b0
  %m1 = fmul half %b1, %b1
  %r0 = insertelement <2 x half> poison, half %m0, i32 0
  %r1 = insertelement <2 x half> %r0, half %m1, i32 1
  %rp = getelementptr i8, ptr %out, i64 8
  store <2 x half> %r1, ptr %rp
  ; a copy of a few words
  %to = getelementptr i8, ptr %out, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %in, i64 16, i1 false)
  ; an integer that is a truth value
  %c = icmp slt i32 %x, {a}
  br i1 %c, label %then, label %done
then:
  %d = icmp sgt i32 %o, {b}
  %n = zext i1 %d to i32
  br label %done
done:
  %truth = phi i32 [ %n, %then ], [ 1, %entry ]
  %t = icmp ne i32 %truth, 0
  %q = select i1 %t, i32 {a}, i32 {b}
  %qp = getelementptr i8, ptr %out, i64 4
  store i32 %q, ptr %qp
  ret void
}}
define ptx_kernel void @special_loop(ptr %in, ptr noalias %out, ptr byval({{ i32, i32 }}) %unused) noimplicitfloat {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr i32, ptr %in, i64 %i
  %x = load i32, ptr %p
  %y = mul i32 %x, {a}
  %q = getelementptr i32, ptr %out, i64 %i
  store i32 %y, ptr %q
  %j = add nuw nsw i64 %i, 1
  %c = icmp ult i64 %j, 64
  br i1 %c, label %loop, label %end, !llvm.loop !0
end:
  ret void
}}
define ptx_kernel void @special_written(ptr %in, ptr %out, ptr byval({{ i32, i32 }}) %p) {{
  %x = load i32, ptr %in
  %f = getelementptr i8, ptr %p, i64 4
  store i32 %x, ptr %p
  %i = and i32 %x, 1
  %e = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %e
  store i32 %v, ptr %out
  ret void
}}
define ptx_kernel void @special_addresses(ptr %in, ptr %out, ptr addrspace(101) byval({{ i32, i32 }}) %p) {{
  %x = load i32, ptr addrspace(101) %p
  store i32 %x, ptr %out
  %base = ptrtoint ptr addrspace(1) @weak_number to i64
  %s = load i64, ptr addrspace(1) @sum
  %n = load i64, ptr addrspace(1) @null_sum
  %both = add i64 %s, %n
  %less = sub i64 %both, %base
  %offset = sub i64 %less, %base
  %q1 = getelementptr i8, ptr %out, i64 8
  store i64 %offset, ptr %q1
  %f = load float, ptr addrspace(1) @chosen
  %q2 = getelementptr i8, ptr %out, i64 16
  store float %f, ptr %q2
  %l = load i200, ptr addrspace(1) @large
  %q3 = getelementptr i8, ptr %out, i64 32
  store i200 %l, ptr %q3
  ret void
}}
define ptx_kernel void @special_calls(ptr %in, ptr %out, ptr byval({{ i32, i32 }}) %unused) {{
  %x = load i32, ptr %in
  %number = load i32, ptr addrspace(1) @old_number
  %o = call i32 @old(i32 %number)
  %v = call i32 (i32, ...) @variadic(i32 2, i32 %o, i64 {a})
  store i32 %v, ptr %out
  %c = icmp eq i32 %x, {a}
  br i1 %c, label %never, label %done
never:
  %e = call i32 @external(i32 %x)
  %a = call i32 @absent(i32 %e)
  store i32 %a, ptr %out
  unreachable
done:
  ret void
}}
define ptx_kernel void @special_registers(ptr %in, ptr %out, ptr byval({{ i32, i32 }}) %unused) {{
entry:
  %x = load i32, ptr %in
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %a = phi float [ 1.0, %entry ], [ %a2, %loop ]
  %b = phi float [ 1.0, %entry ], [ %b2, %loop ]
  %m = phi i32 [ %x, %entry ], [ %m2, %loop ]
  %f = sitofp i32 %i to float
  %a2 = call float @llvm.fma.f32(float %a, float 0.5, float %f)
  %b2 = call float @llvm.fmuladd.f32(float %b, float 0.5, float %f)
  %m2 = call i32 @llvm.smin.i32(i32 %m, i32 %i)
  %j = add nuw nsw i32 %i, 1
  %c = icmp ult i32 %j, 9
  br i1 %c, label %loop, label %end
end:
  store float %a2, ptr %out
  %q1 = getelementptr i8, ptr %out, i64 4
  store float %b2, ptr %q1
  %q2 = getelementptr i8, ptr %out, i64 8
  store i32 %m2, ptr %q2
  ret void
}}
!0 = distinct !{{!0, !1}}
!1 = !{{!"llvm.loop.vectorize.enable", i1 true}}
"""

RECENT = """
@tile = internal addrspace(3) global [4 x i32] undef, align 16
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
define ptx_kernel void @recent(ptr %in, ptr %out) {{
  %x = load i32, ptr %in
  store i32 %x, ptr addrspace(3) @tile
  %own = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) @tile, i32 0)
  %y = load i32, ptr addrspace(7) %own
  store i32 %y, ptr %out
  %e = load i128, ptr %in, align 16
  %p = getelementptr i8, ptr %out, i64 16
  %old = atomicrmw xchg ptr %p, i128 %e monotonic, align 16
  %pair = cmpxchg ptr %p, i128 %e, i128 {a} acq_rel monotonic, align 16
  %got = extractvalue {{ i128, i1 }} %pair, 0
  %q = getelementptr i8, ptr %out, i64 32
  store i128 %got, ptr %q
  ret void
}}
"""


def generate(seed):
    """The texts of three modules: the cases, the special kernels, and those for sm_90."""
    texts, count = [], 0
    for case in universe():
        kernel = Kernel(count, random.Random(f"lowering {seed} {case}"))
        if of_case(kernel, case):
            texts.append(kernel.text())
            count += 1
    r = random.Random(f"special {seed}")
    numbers = {"a": r.randint(3, 999), "b": r.randint(3, 999)}
    head = (f"; nvmini-run: --kernel * --arg buf:u8:{IN_BYTES}:random:{r.randrange(1 << 30)} --arg buf:u8:{max(count * SLOT, 1024)}:zero --print 1\n"
            'target triple = "nvptx64-nvidia-cuda"\n')
    special = head.replace(" --print 1", f" --arg bytes:{r.getrandbits(63):016x} --print 1") + SPECIAL.format(**numbers)
    return head + "".join(texts), special, head + RECENT.format(**numbers)


if __name__ == "__main__":
    print(generate(int(sys.argv[1]))[["special", "recent"].index(sys.argv[2]) + 1 if sys.argv[2:] else 0], end="")
