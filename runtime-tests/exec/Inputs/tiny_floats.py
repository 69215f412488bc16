"""tiny_floats.py FOLDER: conversions of 8-, 6- and 4-bit floats against their definition.

Every code is converted to f16 (ue8m0: to bf16), and the values of all codes, the middles between neighbours, what lies
just beside these and what is beyond are converted to codes. Values follow from the fields of a code; the code of a
value is searched among all of them."""
import os
import struct
import subprocess
import sys

# exponent bits, fraction bits, bias; codes from `end` on (without sign) are no numbers; what a NaN becomes
FORMATS = {"e4m3": (4, 3, 7, 0x7f, 0x7f), "e5m2": (5, 2, 15, 0x7c, 0x7f), "e2m3": (2, 3, 1, 32, 31), "e3m2": (3, 2, 3, 32, 31),
           "e2m1": (2, 1, 1, 8, 7)}


def value(name, code):
    exponent, fraction, bias, end, _ = FORMATS[name]
    sign, rest = divmod(code, 1 << (exponent + fraction))
    e, m = divmod(rest, 1 << fraction)
    x = (m / 2 ** fraction + (e > 0)) * 2.0 ** (max(e, 1) - bias)
    return (-x if sign else x) if rest < end else None


def nearest(name, x):
    """The code of the nearest value, of two the even one; beyond the largest: the largest."""
    _, _, _, end, nan = FORMATS[name]
    if x != x:
        return nan
    code = min(range(end), key=lambda c: (abs(value(name, c) - min(abs(x), 1e6)), c & 1))
    return code + (1 << (sum(FORMATS[name][:2])) if struct.pack("<d", x)[7] >> 7 else 0)


def exponent_of(x, up):
    """ue8m0."""
    if x != x:
        return 255
    codes = [c for c in range(255) if (2.0 ** (c - 127) >= abs(x) if up else 2.0 ** (c - 127) <= abs(x))]
    return (min(codes) if codes else 254) if up else (max(codes) if codes else 0)


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def samples(name):
    values = [value(name, c) for c in range(FORMATS[name][3])]
    middles = [(a + b) / 2 for a, b in zip(values, values[1:])]
    beside = [single(m * f) for m in middles for f in (1 - 2.0 ** -20, 1 + 2.0 ** -20)]
    found = [*values, *middles, *beside, values[-1] * 1.5, values[-1] * 4, float("inf"), 2.0 ** -60]
    return [single(s * x) for x in found for s in (1, -1)] + [float("nan")]


def module(name, decode, encode):
    types = {"bf16x2": "bfloat", "f16x2": "half"}
    wide = types[decode.split(".to.")[1].split(".")[0]]
    return f"""target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @decode(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = trunc i32 %t to i16
  %v = call <2 x {wide}> @llvm.nvvm.{decode}(i16 %c)
  %x = extractelement <2 x {wide}> %v, i32 0
  %f = fpext {wide} %x to float
  %p = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %f, ptr addrspace(1) %p
  ret void
}}
define ptx_kernel void @encode(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %x = load float, ptr addrspace(1) %p
  %c = call i16 @llvm.nvvm.{encode}(float 0.0, float %x)
  %q = getelementptr i16, ptr addrspace(1) %out, i32 %t
  store i16 %c, ptr addrspace(1) %q
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare <2 x {wide}> @llvm.nvvm.{decode}(i16)
declare i16 @llvm.nvvm.{encode}(float, float)
"""


def run(folder, text, kernel, threads, *arguments):
    path = os.path.join(folder, "tiny.nvir")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    p = subprocess.run(["nvmini", "run", path, "--cpu", "sm_100a", "--kernel", kernel, "--block", str(threads), *arguments],
                       capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit(p.stderr)
    return p.stdout.split()


def encoded(folder, text, xs):
    found = []
    for k in range(0, len(xs), 1000):
        part = xs[k:k + 1000]
        with open(os.path.join(folder, "tiny.raw"), "wb") as f:
            f.write(struct.pack(f"<{len(part)}f", *part))
        found += run(folder, text, "encode", len(part), "--arg", f"buf:f32:@{folder}/tiny.raw", "--arg", f"buf:u16:{len(part)}:zero",
                     "--print", "1")
    return [int(c) for c in found]


def main(folder):
    os.makedirs(folder, exist_ok=True)
    checked = wrong = 0
    cases = [(n, f"{n}x2.to.f16x2.rn", f"ff.to.{n}x2.rn" + (".satfinite" if n == "e2m1" else ""), lambda x, n=n: nearest(n, x),
              [value(n, c) for c in range(2 << sum(FORMATS[n][:2]))], samples(n)) for n in FORMATS]
    powers = [2.0 ** e * f for e in (-149, -130, -128, -127, -126, -1, 0, 1, 126, 127) for f in (1, 1.25, 1.75)] + [0.0, float("nan")]
    for mode, up in (("rz", False), ("rp", True)):
        cases.append(("ue8m0", "ue8m0x2.to.bf16x2", f"ff.to.ue8m0x2.{mode}.satfinite", lambda x, up=up: exponent_of(x, up),
                      [2.0 ** (c - 127) for c in range(255)] + [None], [single(x) for x in powers]))
    for name, decode, encode, wanted, values, xs in cases:
        text = module(name, decode, encode)
        found = run(folder, text, "decode", len(values), "--arg", f"buf:f32:{len(values)}:zero", "--print", "0")
        pairs = [(c, v, single(float(f))) for c, (v, f) in enumerate(zip(values, found)) if v is not None or f != "nan"]
        if name == "e5m2":
            pairs = [p for p in pairs if p[1] is not None]  # infinities
        bad = [p for p in pairs if p[1] != p[2]] + [(x, c, wanted(x)) for x, c in zip(xs, encoded(folder, text, xs)) if c != wanted(x)]
        checked += len(values) + len(xs)
        wrong += len(bad)
        for b in bad[:5]:
            print(name, encode, *b)
    print(f"{checked} conversions, {wrong} wrong")
    return wrong != 0


sys.exit(main(sys.argv[1]))
