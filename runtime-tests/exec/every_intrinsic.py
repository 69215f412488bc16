"""every_intrinsic.py [REGEX]: what becomes of each of the intrinsics that nvmini knows.

Each gets a kernel of 32 threads that calls it with edge values, random bits and addresses of memory filled with
them, executed as IR and as PTX of -O0 and -O3. Every one must be
  executed     what it returns, and the memory behind its pointers, is the same in all three; but for OPEN
  by hand      the kernels of this folder call it and check what it does: BY_HAND
  not simulated  for the reason in UNSIMULATED: all three say so, as a finding
  refused      the compiler says in a sentence why it can't be lowered
The table of intrinsics says which CPU each needs. Ends with a line that counts them; `gap`: none of the above. Before it:
how many of FAMILIES are executed, all members but those for which UNSIMULATED has a reason."""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))
import check_intrinsics  # noqa: E402  its reader of signatures

UNSIMULATED = [
    (r"\.rs(\.|$)", "stochastic rounding: which random bits go where is only drawn in the manual"),
    (r"mma\.sp\.", "sparse products: whose metadata is where is only drawn"),
    (r"(ld|st)matrix.*(m16|n16)", "the same"),
    (r"bytemask", "bulk copies that leave out bytes"),
    (r"\.(tex|tld4|txq|suq|suld|sust)\.|istypep|texsurf", "textures and surfaces: their formats and filters are the driver's"),
    (r"\.tcgen05\.", "tensor memory"),
    (r"bulk\.tensor\.(?!prefetch)|tensormap\.replace", "tensor maps are opaque"),
    (r"\.clusterlaunchcontrol\.", "grids are launched one at a time"),
    (r"mma\..*block\.scale", "block-scaled products: whose scale is used is only drawn"),
]
UNSIMULATED_HANDLES = ["llvm.nvvm.texsurf.handle"]  # its operand is metadata
# What clang's CUDA headers and libdevice call.
FAMILIES = {
    "special registers": r"nvvm\.read\.ptx\.sreg", "barriers": r"nvvm\.(barrier|bar\.)", "fences": r"nvvm\.(membar|fence)",
    "shfl": r"nvvm\.shfl", "vote": r"nvvm\.vote", "match": r"nvvm\.match", "activemask": r"nvvm\.activemask",
    "rounded arithmetic": r"nvvm\.(add|sub|mul|div|fma|sqrt|rcp)\.r[nzmp]", "conversions": r"nvvm\.\w+2\w+\.", "approximations": r"\.approx",
    "prmt": r"nvvm\.prmt", "dp4a": r"nvvm\.idp[24]a", "mulhi": r"nvvm\.mulhi", "sad": r"nvvm\.sad", "ldg, ldu": r"nvvm\.ld[gu]",
    "atomics with scope": r"nvvm\.atomic", "wmma": r"nvvm\.wmma", "mma": r"nvvm\.mma", "ldmatrix": r"nvvm\.ldmatrix",
    "cp.async": r"nvvm\.cp\.async\.(?!bulk)", "mbarrier": r"nvvm\.mbarrier", "redux": r"nvvm\.redux", "wgmma": r"nvvm\.wgmma"}
# Executed, but what is left is not compared, and why.
OPEN = [
    (r"clock|timer|counter|sreg\.pm\d", "time"),
    (r"fpto.i$|fmuladd", "poison, or open, for some of the values; in range by hand"),
]
# Called by the kernels of this folder, as they need more than operands.
BY_HAND = r"\.bulk\.|va_|param|trap|exit|reflect|mem(cpy|move|set)|ptrmask|stack(save|restore)|l(l)?r(int|ound)$|shl\.sat|exp10|m\.(log|log10|tan)$"
APPROXIMATE = r"llvm\.(sin|cos|tan|tanh|exp\d*|log\d*|pow|sincos)$"
MEMBERS = {"shfl": [0], "vote": [0], "match": [0], "elect": [0], "redux": [1]}
BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
POINTERS = {"ptr": "%generic", "ptr addrspace(1)": "%global", "ptr addrspace(3)": "%shared", "ptr addrspace(4)": "@fixed",
            "ptr addrspace(5)": "%local", "ptr addrspace(6)": "null", "ptr addrspace(7)": "%cluster", "ptr addrspace(101)": "%given"}


def value_loads(k, t):
    """IR that loads operand k of type t into %a<k>."""
    lanes = re.match(r"<(\d+) x (.*)>", t)
    size = BYTES.get(lanes[2] if lanes else t)
    size = size or (int((lanes[2] if lanes else t)[1:]) + 7) // 8
    table = 0 if re.search(r"float|i32|i1\b|i\d\b", t) else 1024 if re.search("double|i64", t) else 2048
    total = size * (int(lanes[1]) if lanes else 1)
    step = 1
    while step < total:
        step *= 2
    mask = 1024 // step - 1
    where = [f"  %i{k} = mul i32 %t, {5 + 2 * k}", f"  %j{k} = add i32 %i{k}, {3 * k}", f"  %m{k} = and i32 %j{k}, {mask}",
             f"  %o{k} = mul i32 %m{k}, {step}", f"  %q{k} = add i32 %o{k}, {table}",
             f"  %p{k} = getelementptr i8, ptr %in, i32 %q{k}"]
    return where + [f"  %a{k} = load {t}, ptr %p{k}, align {min(step, 8)}"]


def memory(name, pointers):
    """IR that fills the memory that the pointers of these types show; that copies it to the output."""
    apart = "wmma" not in name  # all lanes of wmma have the same address
    before = ["  %far = mul i32 %t, 128", "  %data = getelementptr i8, ptr %in, i32 %far", f"  %mine = mul i32 %t, {16 if apart else 0}",
              "  %part = getelementptr i8, ptr addrspace(3) @memory, i32 %far",
              "  call void @llvm.memcpy.p3.p0.i32(ptr addrspace(3) align 16 %part, ptr align 16 %data, i32 128, i1 false)",
              "  %to_global = add i32 %far, 2048", "  %kept = getelementptr i8, ptr %out, i32 %to_global",
              "  %out1 = addrspacecast ptr %out to ptr addrspace(1)", "  %results = add i32 %mine, 2048",
              "  %global = getelementptr i8, ptr addrspace(1) %out1, i32 %results", "  %generic = addrspacecast ptr addrspace(1) %global to ptr",
              "  %shared = getelementptr i8, ptr addrspace(3) @memory, i32 %mine", "  call void @llvm.nvvm.barrier0()"]
    after = ["  call void @llvm.nvvm.barrier0()"]
    if "local" in name or any("addrspace(5)" in p for p in pointers):
        before += ["  %in_local = addrspacecast ptr addrspace(5) %local to ptr"]
        before[-1:-1] += ["  %local = alloca [128 x i8], align 16, addrspace(5)",
                   "  call void @llvm.memcpy.p5.p0.i32(ptr addrspace(5) align 16 %local, ptr align 16 %data, i32 128, i1 false)"]
    if any("addrspace(7)" in p for p in pointers):
        before += ["  %cluster = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %shared, i32 0)"]
    if any("addrspace(3)" in p or "addrspace(7)" in p for p in pointers):
        after += ["  call void @llvm.memcpy.p0.p3.i32(ptr align 16 %kept, ptr addrspace(3) align 16 %part, i32 128, i1 false)"]
    before += ["  %in_shared = addrspacecast ptr addrspace(3) %shared to ptr"]
    if "gen.to.constant" in name:
        before += ["  %in_constant = addrspacecast ptr addrspace(4) @fixed to ptr"]
    if "mbarrier" in name:
        before += ["  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %shared, i32 4)"]
    if ".wait" in name:
        before += ["  %state = call i64 @llvm.nvvm.mbarrier.arrive.noComplete.shared(ptr addrspace(3) %shared, i32 3)",
                   "  %last = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %shared)"]
    if "cp.async." in name:
        after = ["  call void @llvm.nvvm.cp.async.wait.all()"] + after
    return before, after


def constant(name, k, t, values):
    """The operand that must be a constant, or does not matter."""
    if values:
        return values.pop(0)
    if "st.bulk" in name:
        return "16" if k == 1 else "0"
    if "barrier" in name:
        return "1" if k == 0 or "mbarrier" in name else "32"
    if re.search(r"nvvm\.mma\.sp|replace\.(fill|interleave)", name):
        return "0"
    if "cp.async.bulk" in name and "tensor" not in name and t == "i32":
        return "16"
    if re.search(r"tcgen05\.mma|bulk\.tensor", name) and t == "i32":
        return "1" if "mma" in name else "0"
    return "false" if t == "i1" else "1.0" if t == "double" else "4" if re.search(r"\.ld[gu]\.|cp_size", name) else "3"


def result_stores(name, t):
    lines = ["  %at = mul i32 %t, 64", "  %to = getelementptr i8, ptr %out, i32 %at"]
    if re.search(r"ld[gu]\.|address$", name) and t == "ptr":
        return lines + ["  %number = ptrtoint ptr %r to i64", "  store i64 %number, ptr %to, align 16"]
    if t.startswith("ptr"):
        return lines + [f"  %found = load i32, {t} %r", "  store i32 %found, ptr %to, align 16"]
    return lines + [f"  store {t} %r, ptr %to, align 16"]


def kernel(number, name, signature):
    """The text of a kernel; None: the operands are of kinds that need more."""
    s = check_intrinsics.Signature(name, signature)
    members = next((v for word, v in MEMBERS.items() if word in name and "sync" in name), [])
    lines, arguments = [], []
    if s.result in ("token", "metadata") or any(t in ("metadata", "token") or "{" in t for t, _ in s.arguments):
        return None
    values = next((list(v) for k, v in check_intrinsics.CONSTANTS.items() if k in name), [])
    pointers = [t for t, _ in s.arguments if t.startswith("ptr")]
    before, after = memory(name, pointers) if pointers else ([], [])
    if "cluster.wait" in name:
        before = ["  call void @llvm.nvvm.barrier.cluster.arrive()"]
    for k, (t, immediate) in enumerate(s.arguments):
        fixed = immediate or name in ("llvm.ctlz", "llvm.cttz", "llvm.abs") and t == "i1"
        if t.startswith("ptr"):
            space = re.search(r"gen\.to\.(local|shared|constant)|mbarrier|mapa$", name) if t == "ptr" else None
            arguments.append(f"{t} " + ({"local": "%in_local", "constant": "%in_constant"}.get(space[1], "%in_shared") if space else POINTERS[t]))
        elif ".wait" in name and t == "i64" and not immediate:
            arguments.append("i64 %state")
        elif "stride" in name and k == len(s.arguments) - 1 and t == "i32":
            arguments.append("i32 32")
        elif k in members:
            arguments.append(f"{t} -1")
        elif fixed or "barrier" in name and t == "i32" or re.search(r"nanosleep|warp\.sync|mapa|griddep|st\.bulk|bulk\.", name):
            arguments.append(f"{t} " + ("-1" if "warp.sync" in name else "0" if "mapa" in name else constant(name, k, t, values)))
        else:
            lines += value_loads(k, t)
            arguments.append(f"{t} %a{k}")
    full = ".".join([name] + check_intrinsics.overload_order(s))
    declared = "i1" if name == "llvm.assume" else ", ".join(t for t, _ in s.arguments)
    flags = "afn " if re.match(APPROXIMATE, name) else ""
    call = f"call {flags}{s.result} @{full}({', '.join(arguments)})"
    lines += before + [f"  {call}" if s.result == "void" else f"  %r = {call}"]
    lines += after + ([] if s.result == "void" else result_stores(name, s.result))
    known = "" if f"@{full}(" in DECLARED else f"declare {s.result} @{full}({declared})\n"
    return (known + f"define ptx_kernel void @k{number}(ptr %in, ptr %out) convergent {{\n"
            "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" + "\n".join(lines) + "\n  ret void\n}\n")


DECLARED = """target triple = "nvptx64-nvidia-cuda"
@memory = internal addrspace(3) global [4096 x i8] undef, align 128
@fixed = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare void @llvm.memcpy.p3.p0.i32(ptr addrspace(3), ptr, i32, i1)
declare void @llvm.memcpy.p0.p3.i32(ptr, ptr addrspace(3), i32, i1)
declare void @llvm.memcpy.p5.p0.i32(ptr addrspace(5), ptr, i32, i1)
"""
FROM_SM_80 = """declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.noComplete.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.barrier.cluster.arrive()
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
"""


def table():
    """(name, signature, needs) of each intrinsic."""
    rows = subprocess.run(["nvmini", "intrinsics"], capture_output=True, text=True, check=True).stdout
    for line in rows.splitlines():
        m = re.match(r"(llvm\.\S+)\s+(\*|.*?\))(?:\s+needs (.*?))?\s*(?:  \[.*\])?$", line)
        if m and (len(sys.argv) < 2 or re.search(sys.argv[1], m[1])):
            yield m[1], m[2], m[3] or ""


def inputs(path):
    """1 KiB for 32 bits, for 64, for 16: edge values of floats and integers, then random bits; as much again."""
    import random
    import struct
    rng = random.Random(1)
    edges = {"<I": [0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fffffff,
                    1, 0x807fffff, 0x4f000000, 0x3effffff, 0x40200000, 0xc0200000, 0x7f7fffff],
             "<Q": [0, 1, 63, 1 << 63, (1 << 64) - 1, 0x3ff0000000000000, 0xbff8000000000000, 0x7ff0000000000000, 0xfff0000000000000,
                    0x7ff8000000000000, 1 << 31, 0x41dfffffffc00000, 0x000fffffffffffff, 0x43e0000000000000],
             "<H": [0, 0x8000, 0x3c00, 0xbe00, 0x7c00, 0xfc00, 0x7fff, 1, 0x83ff, 0x7bff, 0x3f80, 0x7f80, 0xff80, 0x4040, 0xffff]}
    with open(path, "wb") as f:
        for pattern, values in [*edges.items(), ("<I", [])]:
            count = 1024 // struct.calcsize(pattern)
            for k in range(count):
                f.write(struct.pack(pattern, values[k] if k < len(values) else rng.getrandbits(8 * struct.calcsize(pattern))))


def outputs(path, cpu, data, *way):
    p = subprocess.run(["nvmini", "run", path, "--cpu", *cpu, "--kernel", "*", "--block", "32", "--arg", f"buf:u32:@{data}", "--arg",
                        "buf:u32:1536:zero", "--print", "1", "--fma-level", "0", *way], capture_output=True, text=True, check=False)
    found, name = {}, ""
    for line in p.stdout.splitlines():
        if line.endswith(":"):
            name = line[:-1]
        else:
            found[name] = line
    for line in p.stderr.splitlines():
        m = re.search(r"kernel (k\d+)", line)
        if m or "error" in line:
            found.setdefault(m[1] if m else "", line)
    return found


def write(path, cpu, kernels):
    with open(path, "w", encoding="utf-8") as f:
        text = "".join(text for _, text in kernels.values())
        f.write(DECLARED + "".join(line for line in FROM_SM_80.splitlines(True) if line not in text and line.split("@")[1].split("(")[0] in text))
        f.write(text)


def refused(path, cpu):
    """Those of the kernels whose intrinsic the compiler says that it can't lower; constants that don't fit are our fault."""
    p = subprocess.run(["nvmini", "compile", path, "--cpu", *cpu, "-O0", "-o", os.devnull], capture_output=True, text=True, check=False)
    bad = {}
    for line in p.stderr.splitlines():
        m = re.search(r"error: cannot lower \S+: (?!.*must be \d)(.*)\[in @(k\d+)\]", line)
        if m:
            bad[m[2]] = m[1]
        elif ": error:" in line:
            sys.exit(f"{cpu}: {line}")
    return bad


def by_hand(names):
    """Those of the names that kernels of this folder call."""
    found = set()
    for path in glob.glob(os.path.join(HERE, "**", "*.nvir"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for word in set(re.findall(r"call[^@\n]* @(llvm\.[\w.]+)", f.read())):
                while word and word not in names:
                    word = word.rpartition(".")[0]
                found.add(word)
    return found


def cpu_of(needs):
    if "before_sm_70" in needs:
        return ("sm_60",)
    return ("sm_75", "--ptx", "6.4") if "before_ptx65" in needs else (check_intrinsics.cpu_of(needs),)


def judge(name, seen, reason):
    """What became of an intrinsic whose kernel ended so, by way."""
    findings = {way: re.search(r"nvmini: (\S+):", text) for way, text in seen.items()}
    if all(m and m[1] == "unsupported" for m in findings.values()):
        return "not simulated" if reason else "wrong"
    if reason or any(findings.values()):
        return "wrong"
    same = len(set(seen.values())) == 1 or any(re.search(pattern, name) for pattern, _ in OPEN)
    return "executed" if same else "wrong"


def is_executed(family, pattern, results):
    members = {what for name, what in results.items() if re.search(pattern, name)}
    print(f"{family}: {', '.join(f'{sum(w == what for n, w in results.items() if re.search(pattern, n))} {what}' for what in sorted(members))}")
    return members >= {"executed"} and members <= {"executed", "by hand", "not simulated", "refused"}


def main():
    rows = list(table())
    results = {}
    hand, groups, starred = by_hand({row[0] for row in rows}), {}, set()
    for number, (name, signature, needs) in enumerate(rows):
        text = kernel(number, name, "i32 ()" if signature == "*" else signature)
        if text is None or name in hand and (signature == "*" or re.search(BY_HAND, name)):
            what = "by hand" if name in hand else "not simulated" if name in UNSIMULATED_HANDLES else "gap"
            results[name] = what
            if what == "gap":
                print(f"{name}: no kernel calls it")
        else:
            groups.setdefault(cpu_of(needs), {})[f"k{number}"] = (name, text)
            starred |= {f"k{number}"} if signature == "*" else set()
    with tempfile.TemporaryDirectory() as folder:
        data, path = os.path.join(folder, "in"), os.path.join(folder, "k.nvir")
        inputs(data)
        for cpu, kernels in sorted(groups.items()):
            while kernels:
                write(path, cpu, kernels)
                bad = refused(path, cpu)
                if not bad:
                    break
                results.update((kernels[k][0], "refused") for k in bad)
                kernels = {k: v for k, v in kernels.items() if k not in bad}
            ways = {way: outputs(path, cpu, data, *options)
                    for way, options in (("IR", ["--from", "ir"]), ("-O0", ["-O0"]), ("-O3", ["-O3"]))}
            for k, (name, _) in kernels.items():
                seen = {way: found.get(k, found.get("", "nothing")) for way, found in ways.items()}
                reason = next((why for pattern, why in UNSIMULATED if re.search(pattern, name)), None)
                what = "gap" if k in starred else judge(name, seen, reason)
                results[name] = what
                if what in ("wrong", "gap"):
                    print(f"{name} for {' '.join(cpu)}: " + "; ".join(f"{way}: {text[:150]}" for way, text in seen.items()))
    counts = {what: sum(w == what for w in results.values()) for what in ("executed", "by hand", "not simulated", "refused", "wrong", "gap")}
    print(f"{sum(is_executed(*family, results) for family in FAMILIES.items())} families of {len(FAMILIES)}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["wrong"] + counts["gap"] != 0


if __name__ == "__main__":
    sys.exit(main())
