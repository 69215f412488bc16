#!/usr/bin/env python3
"""Does every CPU have exactly the instructions that our tables say it has? Asks ptxas.

For each row of ptx/ops.def that needs something of a target, and for each intrinsic of
ir/intrinsics.def that does, small kernels are made: inline assembly that uses the row's words, and
calls of the intrinsic. Some plain IR whose lowering depends on the CPU is added. For each CPU that
ptxas can assemble for, nvmini compiles each kernel. Where it accepts, ptxas must accept what it
wrote, with the .version it chose; where it refuses, ptxas must refuse the PTX that nvmini writes for
a CPU that has it, with .target exchanged and the highest .version.

usage: check_gates.py [--nvmini build/nvmini] [--only REGEX] [--cpus sm_90,sm_90a] [--each N | --all] [--part 1/8]
Prints the matrix of families and CPUs, then the disagreements. Ends with `N passed, N failed`; exit
status 1 if anything disagrees, 0 without ptxas.
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import check_intrinsics
import check_ptx_table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What an instruction belongs to: the first that matches its text. Others are named after their op.
FAMILIES = [
    ("tcgen05 alloc", r"^tcgen05\.(alloc|dealloc|relinq)"), ("tcgen05 ld st", r"^tcgen05\.(ld|st|wait)"),
    ("tcgen05 cp shift", r"^tcgen05\.(cp|shift)"), ("tcgen05 commit fence", r"^tcgen05\.(commit|fence)"),
    ("tcgen05 mma ws", r"^tcgen05\.mma\.ws"), ("tcgen05 mma sparse", r"^tcgen05\.mma\.sp"),
    ("tcgen05 mma scaled", r"^tcgen05\.mma.*block_scale"), ("tcgen05 mma i8", r"^tcgen05\.mma.*kind::i8"),
    ("tcgen05 mma", r"^tcgen05\.mma"),
    ("mma block scale", r"^mma.*block_scale"), ("mma f8f6f4", r"^mma.*kind::f8f6f4"),
    ("mma f8", r"^mma.*\.e[45]m[23]"), ("mma f64", r"^mma.*f64"), ("mma sparse", r"^mma\.sp"),
    ("mma bf16 tf32", r"^mma.*(bf16|tf32)"), ("mma integer", r"^mma.*\.s32\.(u|s|b)[148]"), ("mma f16", r"^mma"),
    ("wgmma sparse", r"^wgmma.*\.sp"), ("wgmma", r"^wgmma"), ("wmma", r"^wmma"),
    ("TMA tensor cta_group", r"^cp\..*tensor.*cta_group"), ("TMA tensor gather im2col::w", r"^cp\..*tensor.*(gather|scatter|::w)"),
    ("TMA tensor reduce", r"^cp\.reduce.*tensor"), ("TMA tensor", r"^cp\..*tensor"),
    ("TMA bulk reduce", r"^cp\.reduce"), ("TMA bulk", r"^cp\.async\.bulk"), ("cp.async", r"^cp\.async"),
    ("tensormap", r"^tensormap"), ("mbarrier tx", r"^mbarrier.*_tx"), ("mbarrier cluster", r"^mbarrier.*(cluster|relaxed)"),
    ("mbarrier try_wait", r"^mbarrier\.try"), ("mbarrier", r"^mbarrier"),
    ("cluster barrier", r"^barrier\.cluster"), ("cluster registers", r"%.*cluster"), ("cluster addresses", r"^(mapa|getctarank)|cvta.*cluster|isspacep.*cluster"),
    ("shared::cluster", r"^(ld|st|atom|red)\..*cluster"),
    ("256-bit access", r"^(ld|st)\..*(\.v8\.|\.v4\.(b|u|s|f)64)"), ("128-bit scalar", r"^(ld|st|mov)\..*b128"),
    ("L2 hints", r"^(ld|st)\..*(L1::|L2::)"), ("ld st memory order", r"^(ld|st)\.(relaxed|acquire|release|mmio)"),
    ("st async bulk", r"^st\.(async|bulk)"), ("red async", r"^red\.async"),
    ("atom b128", r"^atom.*b128"), ("atom f16 bf16", r"^(atom|red).*b?f16"), ("atom vector", r"^(atom|red).*\.v[248]"),
    ("multimem", r"^multimem"), ("redux f32", r"^redux.*f32"), ("redux", r"^redux"),
    ("f32x2", r"f32x2"), ("mixed f32 f16", r"^(add|sub|fma)\..*f32\.b?f16"), ("bf16 arithmetic", r"^(add|sub|mul|fma|neg|abs|min|max|set|setp|ex2|tanh)\..*bf16"),
    ("f16 arithmetic", r"^(add|sub|mul|fma|neg|abs|min|max|set|setp|ex2|tanh)\..*f16"), ("16x2 integers", r"^(add|min|max)\..*16x2"),
    ("min max of three", r"^(min|max)\..*\.f32 \S+ \S+ \S+ \S+"), ("min max NaN xorsign", r"^(min|max)\..*(NaN|xorsign)"),
    ("cvt stochastic", r"^cvt.*\.rs\b"), ("cvt f4 f6 f8", r"^cvt.*e[2345]m[123]|^cvt.*ue8m0"), ("cvt bf16 tf32", r"^cvt.*(bf16|tf32)"),
    ("ldmatrix b8", r"^ldmatrix.*b8"), ("ldmatrix", r"^ldmatrix"), ("stmatrix b8", r"^stmatrix.*b8"), ("stmatrix", r"^stmatrix"),
    ("fence proxy", r"^fence\.proxy"), ("fence", r"^(fence|membar)"), ("vote shfl match", r"^(vote|shfl|match|activemask)"),
    ("dynamic alloca", r"^(alloca|stacksave|stackrestore)"), ("textures", r"^(tex|tld4|txq|suld|sust|sured|suq|istypep)"),
]

# Plain IR that needs something of the CPU, or is lowered by what the CPU has.
PLAIN = {
    "atom b128": ["%%r = cmpxchg ptr addrspace(1) %%a, i128 1, i128 2 monotonic monotonic",
                  "%%r = atomicrmw xchg ptr addrspace(1) %%a, i128 7 monotonic"],
    "plain atomics": ["%%r = atomicrmw fadd ptr addrspace(1) %%a, float 1.0 syncscope(\"device\") monotonic",
                      "%%r = atomicrmw fadd ptr addrspace(1) %%a, double 1.0 seq_cst",
                      "%%r = atomicrmw fadd ptr addrspace(1) %%a, half 1.0 monotonic",
                      "%%r = atomicrmw fadd ptr addrspace(1) %%a, bfloat 1.0 monotonic",
                      "%%r = atomicrmw add ptr addrspace(3) %%s, i64 1 acq_rel",
                      "%%r = cmpxchg ptr addrspace(1) %%a, i16 1, i16 2 acq_rel monotonic",
                      "%%r = cmpxchg ptr addrspace(1) %%a, i8 1, i8 2 monotonic monotonic",
                      "%%r = load atomic i32, ptr addrspace(1) %%a acquire, align 4",
                      "store atomic i64 1, ptr %%g syncscope(\"block\") release, align 8",
                      "fence syncscope(\"device\") seq_cst", "fence acq_rel"],
    "plain float": ["%%x = load %s, ptr addrspace(1) %%a, align 32\n  %%r = %s %s %%x, %%x\n  "
                    "store %s %%r, ptr addrspace(1) %%a, align 32" % (t, op, t, t)
                    for t in ("half", "bfloat", "<2 x half>", "<2 x bfloat>", "<2 x float>", "<8 x float>", "<4 x double>")
                    for op in ("fadd", "fmul", "fdiv")],
    "plain vectors": ["%%x = load %s, ptr addrspace(1) %%a, align 32\n  store %s %%x, ptr addrspace(1) %%a, align 32" % (t, t)
                      for t in ("<8 x i32>", "<4 x i64>", "<16 x half>", "<4 x i16>", "i128")] +
                     ["%%x = load <2 x i16>, ptr addrspace(1) %%a\n  %%r = add <2 x i16> %%x, %%x\n  store <2 x i16> %%r, ptr addrspace(1) %%a"],
    "dynamic alloca": ["%%r = alloca i8, i64 %%n, align 8\n  store volatile i8 1, ptr %%r"],
}

# ---- kernels --------------------------------------------------------------------------------------


class Kernel:
    def __init__(self, family, text, source, ptx, before=""):
        self.family, self.text = family, text  # text: for people
        self.source, self.before = source, before  # @NAME is exchanged
        self.ptx = ptx  # version that the row names; a half below where it ends the instruction


def family_of(text):
    for name, pattern in FAMILIES:
        if re.search(pattern, text):
            return name
    return re.match(r"[\w]+", text)[0]


DECLARED = {"%p": ".pred", "%rb": ".b8", "%rs": ".b16", "%r": ".b32", "%rd": ".b64", "%rq": ".b128",
            "%f": ".f32", "%fd": ".f64"}


def asm_kernel(text, ptx, family=None):
    used = {}
    for name, number in re.findall(r"(%(?:p|rb|rs|rd|rq|r|fd|f))(\d+)\b", text):
        used[name] = max(used.get(name, 0), int(number))
    declared = " ".join(".reg %s %s<%d>;" % (DECLARED[n], n, k + 1) for n, k in sorted(used.items()))
    source = ('define ptx_kernel void @NAME() "nvvm.maxntid"="128" {\n'
              '  call void asm sideeffect "{ %s %s }", ""()\n  ret void\n}\n' % (declared, text.replace("$", "$$")))
    return Kernel(family or family_of(text), text, source, ptx)


def spread(items, most):
    return items if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def asm_kernels(each):
    table = check_ptx_table.read_table(os.path.join(ROOT, "ptx", "ops.def"))
    for row in table.rows:
        gated = []
        for words, text, kind in check_ptx_table.instructions(table, row):
            ptx, choices = check_ptx_table.join(table, row, words)
            text = re.sub(r"\b(tex|surf)0\b", "%rd1", text)
            # Calls, labels and parameters are not of a generation; sm_100's own 32-bit targets are gone.
            if kind != "plain" or re.search(r"callee|LABEL|TARGETS|PROTO|param0|funcparam", text):
                continue
            if choices or ptx > 32:
                gated.append((ptx - 0.5 * any("before_ptx" in c[0] for c in choices), text))
        for ptx, text in spread(gated, each):
            yield asm_kernel(text, ptx)


def intrinsic_kernels(nvmini):
    listing = subprocess.run([nvmini, "intrinsics"], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        m = re.match(r"(\S+)\s+(.*?)  needs ([^\[]*?)(?:  \[.*)?$", line)
        if not m or m[2] == "*":
            continue
        text = check_intrinsics.module(m[1], m[2])
        if text is None:
            continue
        parts = re.match(r"(target[^\n]*\n)(declare[^\n]*\n)(define .*)", text, re.S)
        body = parts[3].replace("define void @test", "define ptx_kernel void @NAME").replace(
            ") {", ') "nvvm.maxntid"="128" {', 1)
        ptx = re.search(r"\bptx(\d+)", m[3])
        name = m[1].replace("llvm.nvvm.", "")
        yield Kernel(intrinsic_family(name), m[1], body, int(ptx[1]) - 0.5 * ("before_ptx" in m[3]) if ptx else 32, parts[2])


def intrinsic_family(name):
    if name.startswith("read.ptx.sreg"):
        return "cluster registers" if "cluster" in name else "special registers"
    text = re.sub(r"(test|try)\.wait|(relinq)\.alloc|(expect|complete)\.tx|(block)\.scale|(kind)\.f8",
                  lambda m: m[0].replace(".", "::" if m[5] else "_"), name)
    text = re.sub(r"^[sz]ext\.", "szext.", re.sub(r"^(?=\w+\.to\.|ff2|f2\w+\.r)", "cvt.", text))
    text = re.sub(r"^f(min|max)\.", r"\1.f.", text)
    return family_of(text)


def plain_kernels():
    for family, bodies in PLAIN.items():
        for body in bodies:
            source = ('define ptx_kernel void @NAME(ptr addrspace(1) %%a, ptr addrspace(3) %%s, ptr %%g, i64 %%n) {\n  %s\n'
                      '  ret void\n}\n' % body).replace("%%", "%")
            yield Kernel(family, body.replace("%%", "%"), source, 32)


# ---- asking ---------------------------------------------------------------------------------------


def compile_kernels(options, cpu, kernels, numbers):
    """({number: PTX function}, version, {number: message} of what was refused)."""
    refused = {}
    while True:
        wanted = [n for n in numbers if n not in refused]
        if not wanted:
            return {}, None, refused
        before = sorted({kernels[n].before for n in wanted})
        text = 'target triple = "nvptx64-nvidia-cuda"\n' + "".join(before) + "".join(
            kernels[n].source.replace("@NAME", "@k%d" % n) for n in wanted)
        run = subprocess.run([options.nvmini, "compile", "-O0", "-", "--cpu", cpu, "--error-limit", "0",
                              "--diagnostics", "json"], input=text, capture_output=True, text=True)
        if run.returncode == 0:
            break
        found = 0
        for line in run.stderr.splitlines():
            message = json.loads(line)
            if message["severity"] == "error" and re.fullmatch(r"k\d+", message.get("function", "")):
                refused.setdefault(int(message["function"][1:]), (message["id"], message["message"]))
                found += 1
        if not found:
            sys.exit("nvmini refused kernels for %s without naming one:\n%s" % (cpu, run.stderr[:2000]))
    functions = {}
    for part in re.split(r"(?=^\.visible \.entry )", run.stdout, flags=re.M)[1:]:
        functions[int(re.match(r"\.visible \.entry k(\d+)", part)[1])] = part.rstrip() + "\n"
    head = run.stdout[:run.stdout.index(".visible .entry")]
    return functions, int("".join(re.search(r"\.version (\d+)\.(\d+)", head).groups())), refused


def assembler_arch(cpu, known):
    return cpu if cpu in known else known[0]


def assemble(arch, cpu, version, functions, folder, tag):
    """{number: message} of what ptxas refused."""
    refused, left = {}, sorted(functions)
    path = os.path.join(folder, "g%s.ptx" % tag)
    while left:
        text, lines = ".version %d.%d\n.target %s\n.address_size 64\n" % (version // 10, version % 10, cpu), {}
        at = 4
        for n in left:
            for k in range(functions[n].count("\n")):
                lines[at + k] = n
            at += functions[n].count("\n")
            text += functions[n]
        with open(path, "w") as out:
            out.write(text)
        run = subprocess.run(["ptxas", "-arch=" + arch, "-O0", "-c", "-w", path, "-o", os.devnull],
                             capture_output=True, text=True)
        if run.returncode == 0:
            return refused
        said, bad = run.stdout + run.stderr, {}
        for m in re.finditer(r"line (\d+); *(\w+) *: *(.*)", said):
            if m[2] != "warning" and int(m[1]) in lines:
                bad.setdefault(lines[int(m[1])], m[3])
        for m in re.finditer(r"(?:function|entry) '?k(\d+)'?", said):
            if "error" in said[said.rfind("\n", 0, m.start()) + 1:m.start()]:
                bad.setdefault(int(m[1]), "in the back end: " + said.strip()[:200])
        bad = {n: why for n, why in bad.items() if n in functions}
        if not bad and len(left) == 1:
            bad = {left[0]: said.strip()[:200]}
        elif not bad:
            for part in (left[:len(left) // 2], left[len(left) // 2:]):
                refused.update(assemble(arch, cpu, version, {n: functions[n] for n in part}, folder, tag))
            return refused
        refused.update(bad)
        left = [n for n in left if n not in bad]
    return refused


def find_cpus(nvmini):
    """CPUs of our table that ptxas takes as .target, and those it assembles for."""
    listed = subprocess.run([nvmini, "targets"], capture_output=True, text=True, check=True).stdout
    ours = re.findall(r"^(sm_\d+[af]?) .*$", listed, re.M)
    placeholders = re.findall(r"^(sm_\d+[af]?) .*without hardware", listed, re.M)
    known = [a for a, _ in check_ptx_table.find_archs()]
    cpus = []
    for cpu in ours:
        if cpu not in placeholders and not assemble(
                assembler_arch(cpu, known), cpu, 90, {0: ".entry k0() { ret; }\n"}, tempfile.gettempdir(), "probe%d" % os.getpid()):
            cpus.append(cpu)
    return cpus, known


# ---- the check -------------------------------------------------------------------------------------

HIGHEST = 90


class Result:
    def __init__(self):
        self.ours = collections.defaultdict(dict)    # [cpu][number]: accepted
        self.peer = collections.defaultdict(dict)
        self.why = collections.defaultdict(dict)
        self.messages = collections.defaultdict(dict)


def check_cpu(options, cpu, known, kernels, groups, forced, folder, result):
    arch = assembler_arch(cpu, known)
    refused_by_us = []
    for ptx, numbers in groups.items():
        functions, version, refused = compile_kernels(options, cpu, kernels, numbers)
        bad = assemble(arch, cpu, version, functions, folder, "%s-%g" % (cpu, ptx)) if functions else {}
        for n in functions:
            result.ours[cpu][n], result.peer[cpu][n] = True, n not in bad
            result.why[cpu][n] = "%s (.version %d.%d)" % (bad.get(n, ""), version // 10, version % 10)
        for n, message in refused.items():
            result.ours[cpu][n], result.messages[cpu][n] = False, message
            refused_by_us.append(n)
    wanted = {n: forced[n] for n in refused_by_us if n in forced}
    bad = assemble(arch, cpu, HIGHEST, wanted, folder, cpu)
    for n in wanted:
        result.peer[cpu][n] = n not in bad
        result.why[cpu][n] = bad.get(n, "")


def force(options, cpus, kernels, numbers):
    """PTX of every kernel, for the first CPU that nvmini compiles it for."""
    forced, left = {}, numbers
    for cpu in sorted(cpus, key=lambda c: (c not in ("sm_90a", "sm_100a", "sm_120a", "sm_103a"), cpus.index(c))):
        functions, _, _ = compile_kernels(options, cpu, kernels, left)
        forced.update(functions)
        left = [n for n in left if n not in functions]
        if not left:
            break
    return forced, left


def cell(result, cpu, numbers):
    ours = [result.ours[cpu][n] for n in numbers]
    wrong = any(n in result.peer[cpu] and result.peer[cpu][n] != result.ours[cpu][n] for n in numbers)
    return "!" if wrong else "+" if all(ours) else "o" if any(ours) else "."


def print_matrix(result, cpus, kernels):
    families = collections.defaultdict(list)
    for n, k in enumerate(kernels):
        families[k.family].append(n)
    width = max(map(len, families)) + 2
    print("+ all of the family's kernels compile   o some   . none   ! ptxas disagrees\n")
    for row in range(max(map(len, cpus)) - 3):
        print(" " * (width + 6) + " ".join((c[3:] + " " * 9)[row] for c in cpus))
    for family in sorted(families, key=str.lower):
        numbers = families[family]
        print("%-*s %4d %s" % (width, family, len(numbers), " ".join(cell(result, c, numbers) for c in cpus)))


def print_disagreements(result, cpus, kernels, show):
    passed, failed = 0, collections.defaultdict(lambda: collections.defaultdict(list))
    for cpu in cpus:
        for n, said in sorted(result.peer[cpu].items()):
            if said == result.ours[cpu][n]:
                passed += 1
            else:
                failed[n][said].append(cpu)
    for n, sides in sorted(failed.items()):
        for said, where in sides.items():
            print("%s: nvmini %s, ptxas %s: %s" % (kernels[n].text.replace("\n", ";")[:150],
                                                    *(("refuses", "accepts") if said else ("accepts", "refuses")), " ".join(where)))
            print("    " + (result.messages[where[0]][n][1] if said else result.why[where[0]][n])[:show])
    return passed, sum(len(w) for sides in failed.values() for w in sides.values())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    p.add_argument("--only", default="", help="kernels whose family or text matches")
    p.add_argument("--cpus", default="", help="only these")
    p.add_argument("--each", type=int, default=6, help="kernels of each row of ptx/ops.def")
    p.add_argument("--all", action="store_true", help="every kernel of each row")
    p.add_argument("--part", default="1/1", help="I/N: the I-th of N parts of the kernels, for long runs")
    p.add_argument("--show", type=int, default=220, help="length of messages")
    p.add_argument("-j", type=int, default=os.cpu_count() or 1)
    options = p.parse_args()
    if not shutil.which("ptxas"):
        print("skipped: no ptxas")
        return 0
    kernels = list(asm_kernels(10 ** 6 if options.all else options.each)) + list(intrinsic_kernels(options.nvmini)) + list(plain_kernels())
    kernels = [k for k in kernels if re.search(options.only, k.family) or re.search(options.only, k.text)]
    part, parts = map(int, options.part.split("/"))
    kernels = kernels[part - 1::parts]
    cpus, known = find_cpus(options.nvmini)
    groups = collections.defaultdict(list)
    for n, k in enumerate(kernels):
        groups[k.ptx].append(n)
    forced, homeless = {}, []
    for numbers in groups.values():
        found, left = force(options, cpus, kernels, numbers)
        forced.update(found)
        homeless += left
    chosen = options.cpus.split(",") if options.cpus else cpus
    result = Result()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.j) as pool:
        list(pool.map(lambda cpu: check_cpu(options, cpu, known, kernels, groups, forced, folder, result), chosen))
    print_matrix(result, chosen, kernels)
    print()
    passed, failed = print_disagreements(result, chosen, kernels, options.show)
    for n in homeless:
        print("%s: nvmini compiles it for no CPU that ptxas knows: %s" % (
            kernels[n].text[:150], result.messages[chosen[-1]].get(n, ("", ""))[1][:options.show]))
    print("%d kernels, %d CPUs; %d passed, %d failed" % (len(kernels), len(chosen), passed, failed + len(homeless)))
    return 1 if failed or homeless else 0


if __name__ == "__main__":
    sys.exit(main())
