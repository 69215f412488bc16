"""every_intrinsic.py [REGEX]: executes every intrinsic that works on numbers as IR and as PTX of -O0 and -O3, on edge
values and random bits, and compares.

Each gets a kernel: 32 threads load its operands, call it and store what it gives. What is not compared, and why:
SKIPPED. The table of intrinsics says which CPU each needs. Ends with a line `N intrinsics, N differ; N that the compiler refuses`."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
import check_intrinsics  # noqa: E402  its reader of signatures

SKIPPED = [
    (r"llvm\.(acos|asin|atan|atan2|sinh|cosh|sincospi|sin|cos|tan|tanh|exp\d*|log\d*|pow)$", "no f64; f32 by afn below"),
    (r"clock|timer|warpid|smid|nsmid|gridid|envreg|pm\d|cycle|steady|smem|cluster|sreg|activemask", "no function of numbers"),
    (r"barrier|bar\.|fence|membar|exit|nanosleep|setmaxnreg|griddep|pm\.event|trap|assume|unreachable", "control"),
    (r"is\.constant|objectsize|returnaddress|frameaddress|annotation|widenable|allow|expect|get\.|flt\.", "not of the value"),
    (r"coro|gc\.|vp\.|experimental\.(?!convergence)|matrix|masked|sp\.|block\.scale|kind\.|tcgen05|wgmma|tex|sur|sust|suld|tld4|suq|txq",
     "not simulated"),
    (r"\.rs(\.|$)|e2m|e3m|ue8m0|is_explicit|fns|istypep|m8n8k4\.(row|col).*f(16|32)", "not simulated"),
    (r"l(l)?r(int|ound)$|fpto.i$|shl\.sat|fmuladd", "poison, or open, for some of the values"),
    (r"wmma\.(m8n8k32|m8n8k128)|uniform|nvvm\.reflect|ptr|isspacep|mapa|getctarank", "needs more than numbers"),
]
MEMBERS = {"shfl": [0], "vote": [0], "match": [0], "elect": [0], "redux": [1]}


def value_loads(k, t):
    """IR that loads operand k of type t into %a<k>."""
    lanes = re.match(r"<(\d+) x (.*)>", t)
    size = {"half": 2, "bfloat": 2, "float": 4, "double": 8}.get(lanes[2] if lanes else t)
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


def kernel(number, name, signature):
    s = check_intrinsics.Signature(name, signature)
    members = next((v for word, v in MEMBERS.items() if word in name and "sync" in name), [])
    lines, arguments = [], []
    if s.result in ("void", "token", "metadata") or not s.arguments:
        return None
    for k, (t, immediate) in enumerate(s.arguments):
        if "ptr" in t or t in ("metadata", "token") or "{" in t:
            return None
        constant = immediate or name in ("llvm.ctlz", "llvm.cttz", "llvm.abs") and t == "i1"
        if constant or k in members:
            arguments.append(f"{t} " + ("-1" if k in members else "false" if t == "i1" else "3"))
        else:
            lines += value_loads(k, t)
            arguments.append(f"{t} %a{k}")
    if "ptr" in s.result:
        return None
    full = ".".join([name] + check_intrinsics.overload_order(s))
    declared = ", ".join(t for t, _ in s.arguments)
    lines += [f"  %r = call {s.result} @{full}({', '.join(arguments)})", "  %at = mul i32 %t, 64",
              "  %to = getelementptr i8, ptr %out, i32 %at", f"  store {s.result} %r, ptr %to, align 16"]
    return (f"declare {s.result} @{full}({declared})\n"
            f"define ptx_kernel void @k{number}(ptr %in, ptr %out) convergent {{\n"
            "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" + "\n".join(lines) + "\n  ret void\n}\n")


def table():
    rows = subprocess.run(["nvmini", "intrinsics"], capture_output=True, text=True, check=True).stdout
    for line in rows.splitlines():
        m = re.match(r"(llvm\.\S+)\s+(.*?\))(?:\s+needs (.*?))?\s*(?:  \[.*\])?$", line)
        if m and not any(re.search(pattern, m[1]) for pattern, _ in SKIPPED) and (len(sys.argv) < 2 or re.search(sys.argv[1], m[1])):
            yield m[1], m[2], m[3] or ""


def inputs(path):
    """1 KiB for 32 bits, for 64, for 16: edge values of floats and integers, then random bits."""
    import random
    import struct
    rng = random.Random(1)
    edges = {"<I": [0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fffffff,
                    1, 0x807fffff, 0x4f000000, 0x3effffff, 0x40200000, 0xc0200000, 0x7f7fffff],
             "<Q": [0, 1, 63, 1 << 63, (1 << 64) - 1, 0x3ff0000000000000, 0xbff8000000000000, 0x7ff0000000000000, 0xfff0000000000000,
                    0x7ff8000000000000, 1 << 31, 0x41dfffffffc00000, 0x000fffffffffffff, 0x43e0000000000000],
             "<H": [0, 0x8000, 0x3c00, 0xbe00, 0x7c00, 0xfc00, 0x7fff, 1, 0x83ff, 0x7bff, 0x3f80, 0x7f80, 0xff80, 0x4040, 0xffff]}
    with open(path, "wb") as f:
        for pattern, values in edges.items():
            count = 1024 // struct.calcsize(pattern)
            for k in range(count):
                f.write(struct.pack(pattern, values[k] if k < len(values) else rng.getrandbits(8 * struct.calcsize(pattern))))


def outputs(path, cpu, data, *way):
    p = subprocess.run(["nvmini", "run", path, "--cpu", cpu, "--kernel", "*", "--block", "32", "--arg", f"buf:u32:@{data}", "--arg",
                        "buf:u32:512:zero", "--print", "1", "--fma-level", "0", *way], capture_output=True, text=True, check=False)
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


def write(path, kernels):
    with open(path, "w", encoding="utf-8") as f:
        f.write('target triple = "nvptx64-nvidia-cuda"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n')
        f.writelines(text for _, text in kernels.values())
    return True


def main():
    groups, count, wrong, refused = {}, 0, 0, 0
    for name, signature, needs in table():
        groups.setdefault(check_intrinsics.cpu_of(needs), []).append((name, signature))
    with tempfile.TemporaryDirectory() as folder:
        data, path = os.path.join(folder, "in"), os.path.join(folder, "k.nvir")
        inputs(data)
        for cpu, rows in sorted(groups.items()):
            kernels = {f"k{number}": (row[0], kernel(number, *row)) for number, row in enumerate(rows)}
            kernels = {k: v for k, v in kernels.items() if v[1]}
            while write(path, kernels):
                p = subprocess.run(["nvmini", "compile", path, "--cpu", cpu, "-O0", "-o", os.devnull], capture_output=True, text=True,
                                   check=False)
                bad = set(re.findall(r"cannot lower .*\[in @(k\d+)\]", p.stderr))
                refused += len(bad)
                if not bad:
                    break
                kernels = {k: v for k, v in kernels.items() if k not in bad}
            names = {k: v[0] for k, v in kernels.items()}
            ways = {"IR": outputs(path, cpu, data, "--from", "ir"), "-O0": outputs(path, cpu, data, "-O0"),
                    "-O3": outputs(path, cpu, data, "-O3")}
            count += len(names)
            for k, name in names.items():
                seen = {way: found.get(k, found.get("", "nothing")) for way, found in ways.items()}
                if len(set(seen.values())) == 1 and "nvmini:" not in seen["IR"]:
                    continue
                wrong += 1
                print(f"{name} for {cpu}: " + "; ".join(f"{way}: {text[:150]}" for way, text in seen.items()))
    print(f"{count} intrinsics, {wrong} differ; {refused} that the compiler refuses")
    return wrong != 0


sys.exit(main())
