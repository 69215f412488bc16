"""coverage.py: every op, predicate, kind of atomic operation, ordering, type, state space and case of the calling
convention is in a kernel that the tests of this folder execute (intrinsics: every_intrinsic.py).

Ops come from `nvmini ops`; what else there is stands in the lists below, each with the text that shows it. Prints what
no kernel has and closes with a line that counts."""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INTEGERS = [f"i{n}" for n in (1, 2, 4, 7, 8, 13, 16, 24, 32, 33, 48, 64, 65, 128)]  # all: every_width.py
FLOATS = ["half", "bfloat", "float", "double"]
PREDICATES = {"icmp": "eq ne ugt uge ult ule sgt sge slt sle".split(),
              "fcmp": "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()}
ATOMICS = ("xchg add sub and nand or xor max min umax umin fadd fsub fmax fmin fmaximum fminimum uinc_wrap udec_wrap usub_cond "
           "usub_sat").split()
SPACES = {"generic": r"(load|store) .*, ptr %", "global": r"(load|store) .*addrspace\(1\)", "shared": r"(load|store) .*addrspace\(3\)",
          "constant": r"load .*addrspace\(4\)", "local": r"(load|store) .*addrspace\(5\)", "parameters": r"load .*addrspace\(101\)",
          "cluster's shared": r"(load|store|call) .*addrspace\(7\)"}
ARGUMENT = r"call [^\n]*@(?!llvm\.)[\w.]+\((?:[^\n]*, )?(?:\w+ )*"
CALLS = {
    "kernel by convention": r"define [^\n]*ptx_kernel void",
    "kernel by annotation": r"!\{ptr @\w+, !\"kernel\", i32 1\}",
    "no result": r"call void @(?!llvm\.)", "result of i1": r"call i1 @(?!llvm)", "result of 8 bits": r"call (\w+ )*i8 @(?!llvm)",
    "result of 16 bits": r"call (\w+ )*i16 @(?!llvm)", "result of 32 bits": r"call i32 @(?!llvm)", "result of 64 bits": r"call i64 @(?!llvm)",
    "result of 128 bits": r"call i128 @(?!llvm)", "result of an odd width": r"call i(33|24|13|48|65|7) @(?!llvm)",
    **{f"result {t}": rf"call {t} @(?!llvm)" for t in [*FLOATS, "ptr"]},
    "result vector": r"call <\d+ x [^>]*> @(?!llvm)", "result structure": r"call (\{[^}]*\}|%\w+) @(?!llvm)", "result array": r"call \[[^\]]*\] @(?!llvm)",
    **{f"argument {t}": rf"{ARGUMENT}{t} " for t in ["i1", "i8", "i16", "i32", "i64", "i128", *FLOATS, "ptr"]},
    "argument of an odd width": rf"{ARGUMENT}i(33|24|13|48|65|7) ", "argument vector": rf"{ARGUMENT}<\d+ x ",
    "argument structure": rf"{ARGUMENT}(\{{|%\w+ %)", "argument array": rf"{ARGUMENT}\[\d+ x ",
    "signext": r"define [^\n]*signext", "zeroext": r"define [^\n]*zeroext", "byval of a kernel": r"ptx_kernel [^\n]*byval",
    "byval of a function": r"define (?![^\n]*ptx_kernel)[^\n]*byval", "sret": r"sret\(", "grid constant": r"nvvm\.grid_constant",
    "variadic": r"define [^\n]*, \.\.\.\)", "indirect": r"call [^@\n]*%\w+\(", "recursion": r"define (\S+ )*@(\w+)\((?s:(?!\n\}).)*call [^\n]*@\2\(",
    "tail": r"(tail|musttail) call", "noinline": r"define [^\n]*noinline", "alwaysinline": r"define [^\n]*alwaysinline",
    "no result comes back": r"define [^\n]*noreturn", "weak": r"define weak", "linkonce_odr": r"define linkonce_odr", "internal": r"define internal",
    "kernel's aggregate": r"ptx_kernel void @\w+\([^\n]*(\[\d+ x|\{|<\d+ x)", "dynamic shared memory": r"external addrspace\(3\) global \[0 x",
}
TYPES = {
    **{t: rf"= (add|xor|trunc|zext|sext|load|and|or|icmp \w+) [^\n]*\b{t}\b" for t in INTEGERS},
    **{t: rf"= f?(add|mul|sub|cmp \w+) (\w+ )*{t} " for t in FLOATS},
    "pointers": r"= getelementptr", "vector of i1": r"<\d+ x i1>", "vector of i8": r"<\d+ x i8>", "vector of i16": r"<\d+ x i16>",
    "vector of i32": r"<\d+ x i32>", "vector of i64": r"<\d+ x i64>", "vector of half": r"<\d+ x half>", "vector of bfloat": r"<\d+ x bfloat>",
    "vector of float": r"<\d+ x float>", "vector of double": r"<\d+ x double>", "vector of pointers": r"<\d+ x ptr",
    "vector of an odd width": r"<\d+ x i(7|13|24|33|48|65|128)>", "three elements": r"<3 x ", "array": r"alloca \[|insertvalue \[|global \[",
    "array of arrays": r"\[\d+ x \[", "structure": r"type \{", "packed structure": r"<\{", "structure in a structure": r"\{[^\n}]*(\{|%\w)[^\n]*\}",
}
ORDERS = {"load": "unordered monotonic acquire seq_cst".split(), "store": "unordered monotonic release seq_cst".split(),
          "atomicrmw": "monotonic acquire release acq_rel seq_cst".split(), "cmpxchg": "monotonic acquire release acq_rel seq_cst".split(),
          "fence": "acquire release acq_rel seq_cst".split()}
SCOPES = ["", "block", "device", "cluster"]


def wanted():
    """(kind, name, pattern) of everything."""
    ops = subprocess.run(["nvmini", "ops"], capture_output=True, text=True, check=True).stdout
    for line in ops.splitlines():
        op = line.split()[0]
        if line[0] not in " #":
            yield "op", op, rf"^\s+(%[\w.]+ = )?(tail |musttail )?{op}\b"
    for op, predicates in PREDICATES.items():
        for p in predicates:
            yield op, p, rf"= {op} (\w+ )*{p} "
    for a in ATOMICS:
        yield "atomicrmw", a, rf"= atomicrmw (volatile )?{a} "
    for op, orders in ORDERS.items():
        for order in orders:
            yield "order", f"{op} {order}", rf"\b{op} [^\n]*\b{order}\b"
    for s in SCOPES:
        yield "scope", s or "system", rf"syncscope\(\"{s}\"\)" if s else r"atomicrmw (?![^\n]*syncscope)[^\n]* monotonic"
    for kind, patterns in (("type", TYPES), ("state space", SPACES), ("call", CALLS)):
        for name, pattern in patterns.items():
            yield kind, name, pattern


def main():
    kernels = glob.glob(os.path.join(HERE, "**", "*.nvir"), recursive=True)
    text = "\n".join(open(path, encoding="utf-8").read() for path in sorted(kernels))
    text = re.sub(r"^\s*;.*", "", text, flags=re.M)
    found = missing = 0
    for kind, name, pattern in wanted():
        if re.search(pattern, text, re.M):
            found += 1
        else:
            missing += 1
            print(f"no executed kernel has {kind} {name}")
    print(f"{len(kernels)} files: {found} found, {missing} missing")
    return missing != 0


sys.exit(main())
