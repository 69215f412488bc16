#!/usr/bin/env python3
"""wgmma against a reference: wgmma.py FOLDER

Matrices are put into shared memory by the canonical layouts of the PTX manual, each written as it stands there (shapes and
strides in elements, then Swizzle<B, 4, 3> of the bytes' addresses), fragments by its formulas, as mma.py has them. The
product is computed here; the numbers are small, so that every sum is exact."""
import random
import struct
import subprocess
import sys

import mma

folder = sys.argv[1]
random.seed(2)
FRAGMENTS = {16: "m16n8k16 f32 f16 f16 f32", 8: "m16n8k8 f32 tf32 tf32 f32", 32: "m16n8k32 s32 u8 s8 s32"}  # by k
mma.ENCODE["e4m3"] = lambda x: (128 if x < 0 else 0) | [0, 0x38, 0x40, 0x44][abs(x)]
mma.ENCODE["b1"] = lambda x: x
mma.BITS.update(e4m3=8, b1=1)
LEADING, STRIDE = "LBO", "SBO"
MODES = {0: 0, 32: 3, 64: 2, 128: 1}  # bytes of a swizzled row: the descriptor's number


def offset(layout, coordinate):
    """Where a coordinate of a layout (shapes, strides) is; the last of the nested modes has no bound."""
    at = 0
    for (shape, stride), c in zip(layout, coordinate):
        for k, (n, s) in enumerate(zip(shape, stride)):
            at += (c % n if k + 1 < len(shape) else c) * s
            c //= n
    return at


def canonical(major, swizzle, bits, leading, stride):
    """The manual's table: rows (of the matrix normalized to m or n, k), strides in elements."""
    t, w = 128 // bits, max(swizzle // 16, 1)
    if major == "k":
        return [((8, 0), (w * t, stride)), ((t, 0), (1, t if swizzle else leading))]
    if swizzle:
        return [((t, w, 0), (1, t, leading)), ((8, 0), (w * t, stride))]
    return [((t, 1, 0), (1, t, stride)), ((8, 0), (t, leading))]


def bounded(layout):
    return [([n or 1 << 30 for n in shape], strides) for shape, strides in layout]


def in_memory(matrix, kind, major, swizzle, start):
    """The bytes of shared memory from 0 on with the matrix (rows of m or n, each over k) at `start`, and its descriptor."""
    bits, rows, ks = mma.BITS[kind], len(matrix), len(matrix[0])
    unit = 128 // bits  # elements of 16 bytes
    if major == "k":
        leading, stride = (unit * 8 * (rows // 8) + 2 * unit, unit * 8) if not swizzle else (unit, swizzle // 16 * unit * 8)
    elif swizzle:
        atom = swizzle // 16 * unit * 8  # elements
        leading, stride = atom, atom * -(-rows // (swizzle // 16 * unit))
    else:
        leading, stride = unit * 8 * (rows // unit) + unit * 8, unit * 8
    layout = bounded(canonical(major, swizzle, bits, leading, stride))
    image = bytearray(start + 40000)
    for r in range(rows):
        for k in range(ks):
            bit = offset(layout, (r, k)) * bits + start * 8
            at = bit // 8
            b = {32: 1, 64: 2, 128: 3}.get(swizzle, 0)
            at ^= ((at >> 7) - (start >> 7) & (1 << b) - 1) << 4
            number = mma.ENCODE[kind](matrix[r][k]) << (bit % 8)
            for i in range((bits + 7) // 8):
                image[at + i] |= number >> (8 * i) & 0xff
    encode = lambda x: (x & 0x3ffff) >> 4
    bytes_of = lambda elements: elements * bits // 8
    return image, (encode(start) | (start >> 7 & 7) << 49 | encode(bytes_of(leading)) << 16 | encode(bytes_of(stride)) << 32 | MODES[swizzle] << 62)


def ptx(n, k, kinds, d_count, from_registers, immediates, ands, image_words, descriptors):
    d, a, b = kinds
    r = lambda name, count: "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"
    operand_a = r("a", 4) if from_registers else "%rd5"
    extra = "".join(f", {i}" for i in immediates)
    lines = [".version 8.4", ".target sm_90a", ".address_size 64", ".shared .align 1024 .b32 tile[%d];" % image_words,
             ".visible .entry k(.param .u64 in, .param .u64 image, .param .u64 out, .param .u32 keeps) {",
             ".reg .b32 %d<128>, %a<4>, %r<9>;", ".reg .b64 %rd<9>;", ".reg .pred %p<3>;", "ld.param.u64 %rd1, [in];",
             "ld.param.u64 %rd2, [image];", "ld.param.u64 %rd3, [out];", "ld.param.u32 %r4, [keeps];", "setp.ne.u32 %p1, %r4, 0;",
             "mov.u32 %r1, %tid.x;", f"mad.wide.u32 %rd1, %r1, {4 * (4 + d_count)}, %rd1;", f"mad.wide.u32 %rd3, %r1, {4 * d_count}, %rd3;",
             "mov.u32 %r2, %r1;", "fill:", "mul.wide.u32 %rd4, %r2, 4;", "add.u64 %rd4, %rd4, %rd2;", "ld.global.b32 %r3, [%rd4];",
             "mov.u32 %r5, tile;", "mad.lo.u32 %r5, %r2, 4, %r5;", "st.shared.b32 [%r5], %r3;", "add.u32 %r2, %r2, 128;",
             f"setp.lt.u32 %p2, %r2, {image_words};", "@%p2 bra fill;", "fence.proxy.async.shared::cta;", "bar.sync 0;"]
    lines += [f"ld.global.b32 %a{i}, [%rd1+{4 * i}];" for i in range(4)]
    lines += [f"ld.global.b32 %d{i}, [%rd1+{4 * (4 + i)}];" for i in range(d_count)]
    lines += [f"mov.b64 %rd5, {descriptors[0]};", f"mov.b64 %rd6, {descriptors[1]};", "wgmma.fence.sync.aligned;",
              f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{ands} {r('d', d_count)}, {operand_a}, %rd6, %p1{extra};",
              "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    lines += [f"st.global.b32 [%rd3+{4 * i}], %d{i};" for i in range(d_count)]
    return "\n".join(lines + ["ret;", "}", ""])


def run(n, kinds, from_registers, swizzles, majors="kk", signs=(1, 1), keeps=1, part=0, start=1024):
    """part: which k of those that a row has; start: of a."""
    d, a, b = kinds
    k = 256 // mma.BITS[a]
    fill = lambda kind, rows, columns: [[random.randint(0, 1) if kind == "b1" else random.randint(0 if kind[0] == "u" else -2, 3)
                                         for _ in range(columns)] for _ in range(rows)]
    matrix_a, matrix_b, matrix_c = fill(a, 64, k * (part + 1)), fill(b, n, k), fill(d, 64, n)
    image_a, at_a = in_memory(matrix_a, a, majors[0], swizzles[0], start)
    matrix_a, at_a = [row[part * k:] for row in matrix_a], at_a + part * 2
    image_b, at_b = in_memory(matrix_b, b, majors[1], swizzles[1], 20480)
    image = bytes(x | y for x, y in zip(image_a.ljust(len(image_b), b"\0"), image_b))
    words, bits = [], mma.BITS[d]
    count = n * bits // 64 # registers of the accumulators
    row_of = lambda thread, i: thread // 32 * 16 + thread % 32 // 4 + 8 * (i % 4 // 2)
    column_of = lambda thread, i: i // 4 * 8 + thread % 4 * 2 + i % 2
    for thread in range(128):
        first = thread // 32 * 16
        place = (lambda g, t, i: (g + 8 * (i // 32 % 2), t * 32 + i % 32 + 128 * (i // 64))) if a == "b1" else mma.CASES[FRAGMENTS[k]][0]
        words += mma.pack(matrix_a[first:first + 16], place, 128 // mma.BITS[a], a, thread % 32)
        value = 0
        for i in range(n // 2):
            value |= mma.ENCODE[d](matrix_c[row_of(thread, i)][column_of(thread, i)]) << (i * bits)
        words += [value >> (32 * i) & 0xffffffff for i in range(count)]
    immediates = [] if d == "s32" else list(signs)
    if mma.BITS[a] == 16:
        immediates += ([] if from_registers else [majors[0] != "k"]) + [majors[1] != "k"]
    text = ptx(n, k, kinds, count, from_registers, [int(i) for i in immediates], ".and.popc" if a == "b1" else "", len(image) // 4, (at_a, at_b))
    open(f"{folder}.ptx", "w").write(text)
    open(f"{folder}.in", "wb").write(struct.pack(f"<{len(words)}I", *words))
    open(f"{folder}.image", "wb").write(image)
    subprocess.run(["nvmini", "run", f"{folder}.ptx", "--block", "128", "--arg", f"buf:u32:@{folder}.in", "--arg", f"buf:u32:@{folder}.image",
                    "--arg", f"buf:u32:{128 * count}", "--arg", f"u32:{keeps}", "--save", f"2:{folder}.out"], check=True)
    raw, wrong = open(f"{folder}.out", "rb").read(), 0
    for thread in range(128):
        for i in range(n // 2):
            at = (thread * (n // 2) + i) * bits // 8
            row, column = row_of(thread, i), column_of(thread, i)
            product = sum(x * y for x, y in zip(matrix_a[row], matrix_b[column]))
            wanted = (product if d == "s32" else signs[0] * signs[1] * product) + keeps * matrix_c[row][column]
            wrong += mma.DECODE[d](int.from_bytes(raw[at:at + bits // 8], "little")) != wanted
    print(f"n{n}", *kinds, "registers" if from_registers else f"{majors[0]}{swizzles[0]}", f"{majors[1]}{swizzles[1]}", *signs, keeps,
          "wrong" if wrong else "right", wrong)


TYPES = ["f32 f16 f16", "f16 f16 f16", "f32 bf16 bf16", "f32 tf32 tf32", "f32 e4m3 e5m2", "f16 e5m2 e4m3", "s32 s8 u8", "s32 u8 u8",
         "s32 b1 b1"]
for number, types in enumerate(TYPES):  # each type, A from both places, each swizzle of A and of B
    for i, swizzle in enumerate(MODES):
        run([8, 24, 32, 16][i], types.split(), False, (swizzle, [128, 0, 32, 64][(i + number) % 4]))
    run(64, types.split(), True, (0, 128))
for swizzle in MODES:  # transposed, of 16 bits only: each of A, B, both
    other = {0: 32, 32: 64, 64: 128, 128: 0}[swizzle]
    run(136, ["f32", "f16", "f16"], False, (swizzle, other), "mn")
    run(64, ["f32", "bf16", "bf16"], False, (other, swizzle), "kn")
run(40, ["f16", "f16", "f16"], False, (128, 64), "mk")
run(16, ["f32", "f16", "f16"], True, (0, 128), "kn")
run(256, ["f32", "f16", "f16"], False, (128, 128))
for signs in ((-1, 1), (1, -1), (-1, -1)):
    run(8, ["f32", "tf32", "tf32"], False, (128, 128), signs=signs)
run(8, ["f16", "f16", "f16"], True, (0, 32), signs=(-1, 1), keeps=0)
run(8, ["s32", "s8", "s8"], False, (64, 0), keeps=0)
for part, swizzle in ((1, 64), (1, 128), (3, 128)):  # within a swizzled row
    run(8, ["f32", "f16", "f16"], False, (swizzle, 0), part=part)
run(8, ["f32", "f16", "f16"], False, (128, 0), start=1280)  # the pattern begins elsewhere: base offset
run(8, ["f32", "f16", "f16"], False, (64, 0), start=1408)
