"""Lowering cases, for coverage.py: pairs of an op and a class of types in IR that code generation gets.

The class of a cast is that of its operand and of its result, of a load, store or atomic operation also the address
space. Types that are lowered alike are one class: integers that are no register's width, up to 64 bits (odd) and
beyond (wide); vectors by their elements. What legal IR cannot have is not in universe()."""
import re

INTS = ["i1", "i8", "i16", "i32", "i64", "odd", "i128", "wide"]
FLOATS = ["half", "bfloat", "float", "double"]
ELEMENTS = ["i8", "i16", "i32", "i64", *FLOATS]
BINARY = "add sub mul udiv sdiv urem srem shl lshr ashr and or xor".split()
FLOAT_BINARY = "fadd fsub fmul fdiv frem".split()
SPACES = {"": "generic", "1": "global", "3": "shared", "4": "constant", "5": "local", "101": "param"}
ORDER = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64, "bfloat": 16}
TYPE = re.compile(r"<\d+ x (?:i\d+|half|bfloat|float|double|ptr)>|\bi\d+\b|\bhalf\b|\bbfloat\b|\bfloat\b|\bdouble\b|\bptr(?: addrspace\(\d+\))?")
CASTS = "trunc zext sext fptoui fptosi uitofp sitofp fptrunc fpext".split()
ATOMIC = "xchg add sub and nand or xor max min umax umin uinc_wrap udec_wrap".split()
NEWLY = re.compile(r"^\s+(?:%[^ ]+ = )?(?:(?:tail|musttail|notail) )?([a-z]+)\b(.*)$")


def class_of(t):
    if t.startswith("<"):
        return "vector of " + class_of(t[1:-1].split(" x ")[1])
    if t.startswith("ptr"):
        return "ptr"
    if t[0] == "i" and t not in INTS:
        return "odd" if int(t[1:]) < 64 else "wide"
    return t


def case_of(op, rest):
    """The case of an instruction's text after its op, or None."""
    if op == "call":
        m = re.search(r"@llvm\.([\w.]+)\(", rest)
        if m:
            return None
        return ("call", "asm" if " asm " in rest else "direct" if re.search(r" @[\w.$\"]+\(", rest) else "indirect")
    types = TYPE.findall(rest)
    if op in CASTS:
        m = re.match(r"(?: \w+)* (\S+|<[^>]*>) [^,]* to (\S+|<[^>]*>)", rest)
        types = [t for t in TYPE.findall(rest)]
        return (op, class_of(types[0]), class_of(types[-1])) if m and types else None
    if op in ("load", "store"):
        pointer = [t for t in types if t.startswith("ptr")][-1]
        space = re.search(r"\((\d+)\)", pointer)
        return (op, class_of(types[0]), SPACES.get(space[1] if space else "", "other"))
    if op == "atomicrmw":
        m = re.match(r"(?: volatile)? (\w+) ptr[^,]*, (\w+)", rest)
        return (op, m[1], class_of(m[2])) if m and TYPE.fullmatch(m[2]) else None
    if op == "cmpxchg":
        return (op, class_of(types[1])) if len(types) > 1 else None
    if op in ("br", "ret", "fence", "unreachable", "alloca", "insertvalue", "extractvalue"):
        return (op,)
    if op in ("select",):
        return (op, class_of(types[1])) if len(types) > 1 else None
    return (op, class_of(types[0])) if types else None


def cases_in(text):
    """Of a dump of modules before code generation."""
    found = set()
    for line in text.splitlines():
        m = NEWLY.match(line)
        if m and line[0] == " ":
            case = case_of(m[1], m[2])
            if case:
                found.add(case)
    return found


def widens(a, b):
    rank = {"i1": 1, "odd": 33, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "wide": 65, "i128": 128}
    return rank[a] < rank[b] or a == b and a in ("odd", "wide")


def universe():
    """All cases that there are, in the order of the ops."""
    cases = [(op, t) for op in BINARY for t in INTS if t != "i1" or op in ("add", "sub", "mul", "and", "or", "xor")]
    cases += [(op, t) for op in FLOAT_BINARY + ["fneg", "fcmp"] for t in FLOATS]
    cases += [("icmp", t) for t in [*INTS, "ptr"]]
    cases += [(op, t) for op in ("select", "phi", "freeze") for t in [*INTS, *FLOATS, "ptr"]]
    cases += [(op, a, b) for op, narrow in (("zext", True), ("sext", True), ("trunc", False)) for a in INTS for b in INTS
              if (widens(a, b) if narrow else widens(b, a))]
    cases += [(op, f, i) for op in ("fptoui", "fptosi") for f in FLOATS for i in INTS] + [(op, i, f) for op in ("uitofp", "sitofp") for f in FLOATS for i in INTS]
    cases += [(op, *pair) for op, pairs in (("fpext", [("half", "float"), ("half", "double"), ("bfloat", "float"), ("bfloat", "double"), ("float", "double")]),
                                            ("fptrunc", [("float", "half"), ("double", "half"), ("float", "bfloat"), ("double", "bfloat"), ("double", "float")]))
              for pair in pairs]
    memory = [*INTS, *FLOATS, "ptr"]
    cases += [(op, t, s) for op in ("load", "store") for t in memory for s in ("generic", "global", "shared", "local")]
    cases += [("load", t, "constant") for t in memory]
    cases += [("atomicrmw", op, t) for op in ATOMIC for t in ("i8", "i16", "i32", "i64")] + [("cmpxchg", t) for t in ("i8", "i16", "i32", "i64")]
    cases += [("atomicrmw", op, t) for op in ("fadd", "fsub", "fmax", "fmin") for t in ("half", "float", "double")]
    cases += [(op, "vector of " + t) for op in ("extractelement", "insertelement", "shufflevector") for t in ELEMENTS]
    cases += [("switch", t) for t in ("i8", "i16", "i32", "i64", "odd")] + [("addrspacecast", "ptr"), ("ptrtoint", "ptr"), ("getelementptr", "i8")]
    cases += [("call", how) for how in ("direct", "indirect", "asm")]
    return cases + [(op,) for op in ("br", "ret", "fence", "unreachable", "alloca")]
