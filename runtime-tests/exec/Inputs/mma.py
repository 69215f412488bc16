#!/usr/bin/env python3
"""mma against a reference: mma.py FOLDER

Fragments are laid out by the formulas of the PTX manual's figures, each written out as it stands there
(groupID, threadID_in_group), the product is computed here. Values are small, so that every sum is exact;
`rounding` checks the model of inexact sums (double, one rounding at the end)."""
import random
import struct
import subprocess
import sys

folder = sys.argv[1]
random.seed(1)


def half(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def single(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def double(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


ENCODE = {"f16": half, "bf16": lambda x: single(x) >> 16, "tf32": single, "f32": single, "f64": double,
          "s8": lambda x: x & 0xff, "u8": lambda x: x & 0xff, "s32": lambda x: x & 0xffffffff,
          "s4": lambda x: x & 0xf, "u4": lambda x: x & 0xf,
          # e5m2 is the upper half of an f16; small integers have few bits
          "e5m2": lambda x: half(x) >> 8,
          # small integers by hand: a byte each, e2m1 in its middle
          "e3m2": lambda x: (32 if x < 0 else 0) | [0, 12, 16, 18][abs(x)],
          "e2m1": lambda x: ((8 if x < 0 else 0) | [0, 2, 4, 5][abs(x)]) << 2}
DECODE = {"f16": lambda v: struct.unpack("<e", struct.pack("<H", v))[0],
          "f32": lambda v: struct.unpack("<f", struct.pack("<I", v))[0],
          "f64": lambda v: struct.unpack("<d", struct.pack("<Q", v))[0],
          "s32": lambda v: v - (v >> 31 << 32)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32, "s4": 4, "u4": 4, "e5m2": 8,
        "e3m2": 8, "e2m1": 8}

# shape, types of d a b c; element i of a fragment of (groupID g, threadID_in_group t): its row, its column
CASES = {
    "m16n8k8 f32 f16 f16 f32": (lambda g, t, i: (g + 8 * (i >= 2), t * 2 + (i & 1)), lambda g, t, i: (t * 2 + i, g), 4, 2),
    "m16n8k16 f32 f16 f16 f32": (lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
                                 lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g), 8, 4),
    "m16n8k16 f16 f16 f16 f16": (lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
                                 lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g), 8, 4),
    "m16n8k16 f32 bf16 bf16 f32": (lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
                                   lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g), 8, 4),
    "m16n8k4 f32 tf32 tf32 f32": (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g), 2, 1),
    "m16n8k8 f32 tf32 tf32 f32": (lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
                                  lambda g, t, i: (t + 4 * i, g), 4, 2),
    "m8n8k4 f64 f64 f64 f64": (lambda g, t, i: (g, t), lambda g, t, i: (t, g), 1, 1),
    "m16n8k8 f64 f64 f64 f64": (lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
                                lambda g, t, i: (t + 4 * i, g), 4, 2),
    "m8n8k16 s32 s8 u8 s32": (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g), 4, 4),
    "m16n8k32 s32 u8 s8 s32": (lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
                               lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g), 16, 8),
    "m16n8k32 s32 s4 u4 s32": (lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)), lambda g, t, i: (t * 8 + i, g), 16, 8),
    "m16n8k32 f32 e2m1 e3m2 f32": (lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
                                   lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g), 16, 8),
    "m16n8k32 f32 e5m2 e5m2 f32": (lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
                                   lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g), 16, 8),
}


def accumulator(m):
    return (lambda g, t, i: (g + 8 * (i >= 2), t * 2 + (i & 1))), m // 4


def pack(matrix, place, count, kind, lane):
    """The registers of a lane, as 32-bit words."""
    g, t, bits, words = lane >> 2, lane & 3, BITS[kind], []
    value = 0
    for i in range(count):
        row, column = place(g, t, i)
        value |= ENCODE[kind](matrix[row][column]) << (i * bits)
    for i in range(count * bits // 32):
        words.append(value >> (32 * i) & 0xffffffff)
    return words


def ptx(shape, d, a, b, c, words):
    wide = a == "f64"
    count = [n // 2 if wide else n for n in words]
    load, size = ("b64", 8) if wide else ("b32", 4)
    r = lambda first, n: "{" + ", ".join(f"%x{first + i}" for i in range(n)) + "}"
    na, nb, nc = count
    modifiers = f"{shape}.row.col{'.kind::f8f6f4' if a == 'e2m1' else ''}.{d}.{a}.{b}.{c}"
    stride = sum(count) * size
    lines = [".version 8.7", f".target sm_{'120a' if a == 'e2m1' else '90'}", ".address_size 64", ".visible .entry k(.param .u64 in, .param .u64 out) {",
             f".reg .{load} %x<64>;", ".reg .b64 %rd<9>;", ".reg .b32 %r<3>;", "ld.param.u64 %rd1, [in];",
             "ld.param.u64 %rd2, [out];", "mov.u32 %r1, %tid.x;", f"mad.wide.u32 %rd3, %r1, {stride}, %rd1;",
             f"mad.wide.u32 %rd4, %r1, {nc * size}, %rd2;"]
    lines += [f"ld.global.{load} %x{i}, [%rd3+{i * size}];" for i in range(sum(count))]
    lines.append(f"mma.sync.aligned.{modifiers} {r(40, nc)}, {r(0, na)}, {r(na, nb)}, {r(na + nb, nc)};")
    lines += [f"st.global.{load} [%rd4+{i * size}], %x{40 + i};" for i in range(nc)]
    return "\n".join(lines + ["ret;", "}", ""])


def run(name, values):
    shape, d, a, b, c = name.split()
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    place_a, place_b, count_a, count_b = CASES[name]
    place_c, count_c = accumulator(m)
    pick = lambda kind: values() if kind[0] != "u" else abs(values())
    matrix_a = [[pick(a) for _ in range(k)] for _ in range(m)]
    matrix_b = [[pick(b) for _ in range(n)] for _ in range(k)]
    matrix_c = [[pick(c) for _ in range(n)] for _ in range(m)]
    words = []
    for lane in range(32):
        parts = [pack(matrix_a, place_a, count_a, a, lane), pack(matrix_b, place_b, count_b, b, lane),
                 pack(matrix_c, place_c, count_c, c, lane)]
        words += sum(parts, [])
    counts = [len(p) for p in parts]
    open(f"{folder}.ptx", "w").write(ptx("." .join(["", shape])[1:], d, a, b, c, counts))
    open(f"{folder}.in", "wb").write(struct.pack(f"<{len(words)}I", *words))
    subprocess.run(["nvmini", "run", f"{folder}.ptx", "--block", "32", "--arg", f"buf:u32:@{folder}.in", "--arg",
                    f"buf:u32:{32 * counts[2]}", "--save", f"1:{folder}.out"], check=True)
    raw = open(f"{folder}.out", "rb").read()
    bits, wrong = BITS[d], 0
    for lane in range(32):
        for i in range(count_c):
            at = (lane * count_c + i) * bits // 8
            got = DECODE[d](int.from_bytes(raw[at:at + bits // 8], "little"))
            row, column = place_c(lane >> 2, lane & 3, i)
            wanted = float(matrix_c[row][column]) if d != "s32" else matrix_c[row][column]
            for j in range(k):
                wanted += matrix_a[row][j] * matrix_b[j][column]
            wrong += got != (DECODE[d](ENCODE[d](wanted)) if d != "f64" else wanted)
    print(name, "wrong" if wrong else "right", wrong)


def run_quads(a_layout, b_layout, d, c):
    """mma.m8n8k4 of f16: each of the four groups of lanes 4q … 4q + 3 and 4q + 16 … multiplies matrices of its own. The
    element numbers are those of the manual's formulas."""
    fill = lambda rows, columns: [[random.randint(-2, 3) for _ in range(columns)] for _ in range(rows)]
    quads = [(fill(8, 4), fill(4, 8), fill(8, 8)) for _ in range(4)]

    def row_and_column(which, lane, i, kind=""):
        low = lane % 4
        more = 4 if lane >= 16 else 0
        if which == "a":
            return (low + more, i) if a_layout == "row" else (i + more, low)
        if which == "b":
            return (i, low + more) if b_layout == "col" else (low, i + more)
        return (low + more, i) if kind == "f16" else ((lane & 1) + (i & 2) + more, (i & 4) + (lane & 2) + (i & 1))

    words, counts = [], [2, 2, 4 if c == "f16" else 8]
    for lane in range(32):
        matrices = quads[lane % 16 // 4]
        for which, matrix, count, kind in (("a", matrices[0], 4, "f16"), ("b", matrices[1], 4, "f16"), ("c", matrices[2], 8, c)):
            value = 0
            for i in range(count):
                row, column = row_and_column(which, lane, i, kind)
                value |= ENCODE[kind](matrix[row][column]) << (i * BITS[kind])
            words += [value >> (32 * i) & 0xffffffff for i in range(count * BITS[kind] // 32)]
    text = ptx("m8n8k4", d, "f16", "f16", c, counts).replace("row.col", f"{a_layout}.{b_layout}").replace("sm_90", "sm_70").replace("8.7", "6.4")
    if d != c:  # as many registers as d has
        text = text.replace("{%x40, %x41, %x42, %x43}", "{" + ", ".join(f"%x{40 + i}" for i in range(8)) + "}")
        text = text.replace(f"%r1, {counts[2] * 4}, %rd2", "%r1, 32, %rd2")
        text = text.replace("ret;", "\n".join(f"st.global.b32 [%rd4+{i * 4}], %x{40 + i};" for i in range(4, 8)) + "\nret;")
    results = 4 if d == "f16" else 8
    open(f"{folder}.ptx", "w").write(text)
    open(f"{folder}.in", "wb").write(struct.pack(f"<{len(words)}I", *words))
    subprocess.run(["nvmini", "run", f"{folder}.ptx", "--block", "32", "--arg", f"buf:u32:@{folder}.in", "--arg",
                    f"buf:u32:{32 * results}", "--save", f"1:{folder}.out"], check=True)
    raw, wrong = open(f"{folder}.out", "rb").read(), 0
    for lane in range(32):
        a, b, added = quads[lane % 16 // 4]
        for i in range(8):
            at = (lane * 8 + i) * BITS[d] // 8
            row, column = row_and_column("d", lane, i, d)
            wanted = added[row][column] + sum(a[row][k] * b[k][column] for k in range(4))
            wrong += DECODE[d](int.from_bytes(raw[at:at + BITS[d] // 8], "little")) != wanted
    print("m8n8k4", a_layout, b_layout, d, c, "wrong" if wrong else "right", wrong)


if __name__ == "__main__":
    for layouts in (("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")):
        for kinds in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
            run_quads(*layouts, *kinds)
    for case in CASES:
        run(case, lambda: random.randint(-2, 3))
    # Eleven-bit numbers: products of 22 bits, sums that a float must round.
    run("m16n8k16 f32 f16 f16 f32", lambda: random.randint(-1023, 1023) / 1024.0 * 2.0 ** random.randint(-6, 6))
