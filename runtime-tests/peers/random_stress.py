"""Functions by llvm-stress, and what makes cases of them.

llvm-stress writes functions of vectors and odd casts with random addresses, indices and shifts: nearly none is defined. As
written they are compiled only. `defined` rewrites the text so that most have a meaning: constants in place of poison, indices and
shift counts within their bounds, conversions that saturate, one NaN, divisors that are not zero, local variables as large as the largest access and
cleared, loops that end."""
import re

VARIABLE_BYTES = 256
FUEL = 20
HEAD = 'target triple = "nvptx64-nvidia-cuda"\n'
PARAMETERS = "ptr %a, ptr %b, ptr %c, i32 %d, i64 %e, i8 %f"
MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"


def mangled(type_text):
    """A type as names of intrinsics have it."""
    lanes, scalar = re.match(r"<(\d+) x (\w+)>|", type_text).groups() if "x" in type_text else (None, type_text)
    return (f"v{lanes}" if lanes else "") + {"float": "f32", "double": "f64", "half": "f16"}.get(scalar, scalar)


def saturating(line):
    """Float to int by the intrinsic that has a result for every number."""
    m = re.match(r"  (%\w+) = (fpto[su]i) (<[^>]*>|\w+) (.*) to (<[^>]*>|\w+)$", line)
    return f"  {m[1]} = call {m[5]} @llvm.{m[2]}.sat.{mangled(m[5])}.{mangled(m[3])}({m[3]} {m[4]})"


def splat(type_text, number):
    vector = re.match(r"<(\d+) x (\w+)>", type_text)
    if not vector: return str(number)
    return "<" + ", ".join([f"{vector[2]} {number}"] * int(vector[1])) + ">"


def bits(type_text):
    return int(re.search(r"i(\d+)", type_text)[1])


def defined_index(line):
    """The last operand of insertelement and extractelement, below the number of elements."""
    lanes = int(re.search(r"<(\d+) x", line)[1])
    return re.sub(r", i32 [-%\w]+$", lambda m: f", i32 {int(m[0][6:]) % lanes if m[0][6:].isdigit() else 0}", line)


def defined_binary(line):
    """Shift counts and divisors: `%N = OP TYPE A, B` after an `and` or an `or` of B."""
    m = re.match(r"  (%\w+) = (\w+) (<[^>]*>|i\d+) (.*)$", line)
    name, op, type_text = m[1], m[2], m[3]
    a, b = split_operands(m[4])
    mask, number = ("and", bits(type_text) - 1) if op in ("shl", "lshr", "ashr") else ("or", 1)
    if op in ("sdiv", "srem"):  # also not -1
        return [f"  {name}.p = and {type_text} {b}, {splat(type_text, 62 % (1 << (bits(type_text) - 1)))}",
                f"  {name}.q = or {type_text} {name}.p, {splat(type_text, 1)}", f"  {name} = {op} {type_text} {a}, {name}.q"]
    return [f"  {name}.q = {mask} {type_text} {b}, {splat(type_text, number)}", f"  {name} = {op} {type_text} {a}, {name}.q"]


def split_operands(text):
    depth = 0
    for at, c in enumerate(text):
        depth += c in "<({"
        depth -= c in ">)}"
        if c == "," and depth == 0: return text[:at], text[at + 2:]
    raise ValueError(text)


def ending(line, number):
    """A conditional branch, which goes to an earlier block where its condition is true: at most FUEL times in all."""
    m = re.match(r"  br i1 (\S+), (.*)$", line)
    t = f"%fuel.{number}"
    return [f"  {t} = load i32, ptr %fuel", f"  {t}.less = add i32 {t}, -1", f"  store i32 {t}.less, ptr %fuel", f"  {t}.left = icmp sgt i32 {t}, 0",
            f"  {t}.again = and i1 {m[1]}, {t}.left", f"  br i1 {t}.again, {m[2]}"]


def one_nan(line):
    """An operation on floats, with one NaN for all: which one comes out is nobody's promise."""
    m = re.match(r"  (%\w+) = (fadd|fsub|fmul|fdiv|frem|fptrunc|fpext) (.*)$", line)
    name, text = m[1], m[3]
    kind = text.split(" to ")[-1] if m[2] in ("fptrunc", "fpext") else re.match(r"<[^>]*>|\w+", text)[0]
    lanes = re.match(r"<(\d+) x", kind)
    bools = f"<{lanes[1]} x i1>" if lanes else "i1"
    return [f"  {name}.any = {m[2]} {text}", f"  {name}.nan = fcmp uno {kind} {name}.any, {name}.any",
            f"  {name} = select {bools} {name}.nan, {kind} {splat(kind, '0x7FF8000000000000')}, {kind} {name}.any"]


def defined(text):
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\bi(\d+) (poison|undef)\b", r"i\1 0", line)
        line = re.sub(r"\b(poison|undef)\b", "zeroinitializer" if "x " in line else "0", line)
        op = re.search(r"= (\w+) ", line)
        op = op[1] if op else ""
        if op == "alloca":
            name = line.split()[0]
            lines += [f"  {name} = alloca [{VARIABLE_BYTES} x i8], align 128",
                      f"  call void @llvm.memset.p0.i64(ptr align 128 {name}, i8 0, i64 {VARIABLE_BYTES}, i1 false)"]
        elif line == "BB:": lines += [line, "  %fuel = alloca i32", f"  store i32 {FUEL}, ptr %fuel"]
        elif line.startswith("  br i1"): lines += ending(line, len(lines))
        elif op in ("fptosi", "fptoui"): lines.append(saturating(line))
        elif op in ("fadd", "fsub", "fmul", "fdiv", "frem", "fptrunc", "fpext"): lines += one_nan(line)
        elif op in ("insertelement", "extractelement"): lines.append(defined_index(line))
        elif op in ("shl", "lshr", "ashr", "udiv", "urem", "sdiv", "srem") and "i1>" not in line and " i1 " not in line: lines += defined_binary(line)
        else: lines.append(line)
    return "\n".join(lines) + "\n"


def function(text, number):
    """The function alone, with a name of its own."""
    body = text[text.index("define"):]
    return re.sub(r"@autogen_SD\d+\([^)]*\)", f"@f{number}({', '.join(w for w in ['ptr %0', 'ptr %1', 'ptr %2', 'i32 %3', 'i64 %4', 'i8 %5'])})", body)


def module(functions):
    kernels = [f"define ptx_kernel void @k{n}({PARAMETERS}) {{\n  call void @f{n}({PARAMETERS})\n  ret void\n}}\n" for n in range(len(functions))]
    body = "\n".join(function(text, n) for n, text in enumerate(functions)) + "".join(kernels)
    called = set(re.findall(r"call (<[^>]*>|\w+) (@llvm\.fpto[\w.]*)\((<[^>]*>|\w+) ", body))
    return HEAD + MEMSET + "".join(f"declare {to} {name}({of})\n" for to, name, of in sorted(called)) + body
