"""video.py: each video instruction without selectors on corner cases, against the definitions of the PTX ISA in Python."""
import itertools
import random
import subprocess
import sys
import tempfile

VALUES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x00FF0100, 0x7F80FFFE]
LANES = {"": 32, "2": 16, "4": 8}
COMPARE = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y,
           "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
COMPUTE = {"vadd": lambda x, y: x + y, "vsub": lambda x, y: x - y, "vabsdiff": lambda x, y: abs(x - y),
           "vmin": min, "vmax": max, "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1}
SECOND = {"add": lambda x, y: x + y, "min": min, "max": max}


def extend(value, bits, sign):
    value &= (1 << bits) - 1
    return value - (1 << bits) if sign == "s" and value >> (bits - 1) else value


def clamp(value, bits, sign):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def instructions():
    for op, lanes, d, a, b in itertools.product(COMPUTE, LANES, "us", "us", "us"):
        if op == "vavrg" and not lanes:
            continue
        for sat, second in itertools.product(["", ".sat"], ["", ".add"] if lanes else ["", ".add", ".min", ".max"]):
            if not (lanes and sat and second):
                yield f"{op}{lanes}.{d}32.{a}32.{b}32{sat}{second}", LANES[lanes], COMPUTE[op], d, a, b, sat, second
    for lanes, a, b, name in itertools.product(LANES, "us", "us", COMPARE):
        for second in ["", ".add"]:
            yield f"vset{lanes}.{a}32.{b}32.{name}{second}", LANES[lanes], COMPARE[name], "u", a, b, "", second
    for op, d, a, mode, sat in itertools.product(["vshl", "vshr"], "us", "us", ["clamp", "wrap"], ["", ".sat"]):
        def shift(x, y, op=op, mode=mode):
            by = min(y, 32) if mode == "clamp" else y & 31
            return x << by if op == "vshl" else x >> by
        yield f"{op}.{d}32.{a}32.u32{sat}.{mode}", 32, shift, d, a, "u", sat, ""


def expected(bits, compute, d, a, b, sat, second, x, y, c):
    word, total = 0, 0
    for at in range(0, 32, bits):
        r = int(compute(extend(x >> at, bits, a), extend(y >> at, bits, b)))
        r = clamp(r, bits, d) if sat else extend(r, bits, d) if bits == 32 else r  # sums of elements are exact
        word |= (r & ((1 << bits) - 1)) << at
        total += r
    if not second:
        return word
    return SECOND[second[1:]](total, extend(c, 32, d)) & 0xFFFFFFFF


def main():
    lines, results = [], []
    for k, (name, *how) in enumerate(instructions()):
        chooser = random.Random(k)
        x, y, c = (chooser.choice(VALUES) for _ in range(3))
        if name.startswith(("vshl", "vshr")):
            y = chooser.choice([0, 1, 31, 32, 33, 0xFFFFFFFF])
        third = ", $3" if how[-1] or how[0] < 32 else ""  # what is added, or what merges with the lanes of a mask
        lines += [f'%v{k} = call i32 asm sideeffect "{name} $0, $1, $2{third};", "=r,r,r,r"(i32 {x}, i32 {y}, i32 {c})',
                  f"%p{k} = getelementptr i32, ptr %out, i64 {k}", f"store i32 %v{k}, ptr %p{k}"]
        results.append((name, x, y, c, expected(*how, x, y, c)))
    with tempfile.NamedTemporaryFile("w", suffix=".nvir") as f:
        f.write('target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k(ptr %out) {\n' + "\n".join(lines) + "\nret void\n}\n")
        f.flush()
        p = subprocess.run(["nvmini", "run", f.name, "-O0", "--arg", f"buf:u32:{len(results)}:zero", "--print", "0"],
                           capture_output=True, text=True, check=False)
    found = [int(word) for word in p.stdout.split()]
    wrong = [(row, value) for row, value in zip(results, found) if row[-1] != value]
    for (name, x, y, c, value), was in wrong[:10]:
        print(f"{name} {x:#x}, {y:#x}, {c:#x}: {was:#x}, not {value:#x}")
    print(p.stderr, end="")
    print(f"{len(found)} instructions of {len(results)}, {len(wrong)} wrong")


if __name__ == "__main__":
    sys.exit(main())
