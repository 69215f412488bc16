#!/usr/bin/env python3
"""features.py [N]: what the random kernels of N seeds (200) have: each feature with the number of modules that have it.

Says what no module or hardly any has; exit status 1 then."""
import re
import sys

import gen_kernels

FEATURES = {
    "odd widths": r"\bi(3|7|13|24|31|33|48|63|65|100)\b", "i128": r"\bi128\b",
    **{t: rf"= f\w+ {t}\b" for t in ("half", "bfloat", "float", "double")}, "vectors": r"<\d+ x \w+>", "aggregates": r"insertvalue",
    "global memory": r"(load|store) .*addrspace\(1\)", "shared memory": r"(load|store) .*addrspace\(3\)",
    "constant memory": r"load .*addrspace\(4\)", "local memory": r"alloca", "generic memory": r"load \S+( \w+)?, ptr %",
    "local memory by its own addresses": r"addrspace\(5\)",
    "nested loops": None, "strides": r"= add.* %i\d+, [234]$", "reductions": r"%r\d+\.\d+ = phi", "float reductions": r"%r\d+\.\d+ = phi (half|float|double|bfloat|<\d+ x f)",
    "early exits": r"br i1 .*, label %exit\d+, label %go\d+", "switches": r"switch ", "calls": r"call .* @f\d\(", "recursion": r"@down",
    "barriers": r"@llvm\.nvvm\.barrier0", "barriers with counts or reductions": r"@llvm\.nvvm\.barrier(\.cta|0\.)", "shuffles": r"shfl", "votes": r"vote\.",
    "match": r"match\.", "warp barriers": r"bar\.warp\.sync", "atomics": r"atomicrmw", "compare-exchange": r"cmpxchg",
    "block copies": r"llvm\.mem(cpy|move|set)", "indirect calls": r"call i32 %", "loops by memory": None, "saturation": r"\.sat\.",
    "division": r"[us](div|rem) ", "select": r"select ", "freeze": r"freeze ", "overflow": r"with\.overflow", "flags": r"(nuw|nsw) ",
    "loads of vectors": r"load <", "volatile": r"volatile",
    "inline assembly": r" asm \"", "assembly with effects": r" asm sideeffect \"", "assembly that clobbers memory": r"~\{memory\}",
    "assembly that writes memory": r"asm .*\bst\.u32", "tied inputs": r"\"=&?[a-z],0[,\"]", "early clobbers": r"\"=&", "several outputs": r"asm .*\",? \"=&?\w,=",
    "scopes in scopes": r"asm .*\{.*\{(?:\\0A|\\09| )*\.reg", "predicated assembly": r"asm .*@!?[a-z_%$]\w+ [a-z]+\.", "branches in assembly": r"asm .* bra ", "carries": r"asm .*addc\.",
    "hexadecimal numbers": r"asm .*, 0x", "octal numbers": r"asm .*, 0[1-7]", "packed conversions": r"asm .*cvt\.rn\.b?f16x2\.f32",
    "loops that carry tied operands": r"^tied\d+:", "assembly between conversions": r"%low\d+ = fptrunc", "blocks that are not executed": r"^dead\d+\.a:", "loops with dead predecessors": r"^head\d+:\n(?:  %\S+ = phi .*\n)*?  %\S+ = phi .*%dead\d+\.[abc] \]",
    "stores through a choice": r"store .*%either\d+", "undef through a choice": r"store .* (undef|poison), .*%either\d+",
    "choices by phis": r"%either\d+ = phi ptr", "copies through a choice": r"memcpy.*%either\d+",
    "undefined wholes": r"store [\[{].* (undef|poison), ptr", "insertions into undef": r"insertvalue .* (undef|poison), ",
    "loads that are not initialized": r"load .*%unset\d+", "addresses that change places": r"^swap\d+\.head:", "copies far apart": r"alloca \[600 x i32\]",
    "kernels' parameters by value": r"ptx_kernel .*byval", "functions' parameters by value": r"call .*byval", "divisors with one bit": r"= shl( nuw)? i\d+ 1, ",
    "values that change places": r"^turn\d+\.head:", "floats rounded": r"= fptrunc double", "contract": r" contract ",
    "products that are not fused": r"^; the same with and without fused", "comparisons of extended floats": r"fcmp \w+ double .*0x",
    "barriers before loads through a choice": r"load i32, ptr(?: addrspace\(3\))? %which",
}
RARE = 0.04


def has(name, pattern, text):
    if name == "nested loops":
        return nesting(text) > 1
    if name == "loops by memory":
        return bool(re.search(r"%i\d+ = phi(?:(?!label)[\s\S])*?(load|store) ", text))
    return bool(re.search(pattern, text, re.M))


def nesting(text):
    """How many loops are open at most: head … exit of a number."""
    most = 0
    for body in text.split("\ndefine ")[1:]:
        open_loops = set()
        for kind, k in re.findall(r"^(head|exit)(\d+):", body, re.M):
            if kind == "head":
                open_loops.add(k)
            else:
                open_loops.discard(k)
            most = max(most, len(open_loops))
    return most


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    counts = dict.fromkeys(FEATURES, 0)
    for seed in range(seeds):
        text = gen_kernels.generate(seed, 10, 25)
        for name, pattern in FEATURES.items():
            counts[name] += has(name, pattern, text)
    rare = [name for name, n in counts.items() if n < RARE * seeds]
    for name, n in counts.items():
        print(f"{n:5} {name}{' (too few)' if name in rare else ''}")
    print(f"{len(counts)} features, {len(rare)} too rare")
    return bool(rare)


if __name__ == "__main__":
    sys.exit(main())
