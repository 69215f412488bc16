"""What the operations compute, in Python's integers and fractions. See ../../bin/everyway."""
from fractions import Fraction
import math


def signed(n, x):
    x &= (1 << n) - 1
    return x - (1 << n) if x >> (n - 1) else x


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integers(n, a64, b64):
    mask, most = (1 << n) - 1, (1 << (n - 1)) - 1

    def operand(x):
        x &= 2**64 - 1
        return (x ^ x << (n - 64)) & mask if n > 64 else x & mask

    def clamped(x, low, high):
        return max(low, min(high, x))
    out = []
    for a, b in zip(map(operand, a64), map(operand, b64)):
        s, t, by, d = signed(n, a), signed(n, b), b & ((1 << (n.bit_length() - 1)) - 1), b & most | 1
        f = b % n
        results = [a + b, a - b, a * b, a & b, a | b, a ^ b, a << by, a >> by, s >> by,
                   a // d, quotient(s, d), a % d, s - quotient(s, d) * d,
                   min(s, t), max(s, t), min(a, b), max(a, b),
                   clamped(s + t, -most - 1, most), clamped(a + b, 0, mask), clamped(s - t, -most - 1, most), clamped(a - b, 0, mask),
                   bin(a).count("1"), int(f"{a:0{n}b}"[::-1], 2), n - a.bit_length(), (a & -a).bit_length() - 1 if a else n, abs(s),
                   (a << f | b >> (n - f)) if f else a, ((a << (n - f)) | b >> f) if f else b]
        bits = [a == b, a != b, a > b, a >= b, a < b, a <= b, s > t, s >= t, s < t, s <= t]
        if n <= 64:
            bits += [signed(n, r) != r for r in [s + t]] + [a + b > mask, signed(n, s - t) != s - t, a < b,
                                                             signed(n, s * t) != s * t, a * b > mask]
        for r in results:
            r &= mask
            out.append(signed(n, r) if n <= 64 else signed(64, r ^ r >> (n - 64)))
        out.append(int("".join(str(int(x)) for x in bits), 2))
    return out


for _n in (7, 8, 13, 16, 24, 32, 33, 48, 64, 65, 128):
    globals()[f"int_i{_n}"] = lambda a, b, n=_n: integers(n, a, b)


FORMATS = {"half": (11, -14, 15), "bfloat": (8, -126, 127), "float": (24, -126, 127), "double": (53, -1022, 1023)}


def rounded(fmt, x, negative_zero=False):
    """The fraction x to the nearest number of the format, ties to even."""
    precision, lowest, highest = FORMATS[fmt]
    if x == 0:
        return -0.0 if negative_zero else 0.0
    size = abs(x)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    e -= Fraction(2)**e > size
    unit = Fraction(2)**(max(e, lowest) - precision + 1)
    size = round(size / unit) * unit
    if size >= Fraction(2)**(highest + 1):
        return math.copysign(math.inf, x)
    return math.copysign(float(size), x)


def floats(fmt, a64, b64, c64):
    out, numbers = [], []
    for a, b, c in zip(a64, b64, c64):
        a, b, c = (rounded(fmt, Fraction(v), math.copysign(1, v) < 0) for v in (a, b, c))
        x, y, z = Fraction(a), Fraction(b), Fraction(c)
        row = [rounded(fmt, x + y), rounded(fmt, x - y), rounded(fmt, x * y, (a < 0) != (b < 0)), rounded(fmt, x / y), -a,
               rounded(fmt, x * y + z), abs(a), math.copysign(a, b),
               *(math.copysign(float(v), a) for v in (math.floor(x), math.ceil(x), math.trunc(x), round(x))), min(a, b), max(a, b)]
        if fmt in ("float", "double"):
            root = Fraction(math.isqrt(int(abs(x) * 4**300)), 2**300)
            row.append(rounded(fmt, root))
        whole = math.trunc(x)
        ints = [max(-2**31, min(2**31 - 1, whole)), max(0, min(2**16 - 1, whole)), max(-2**63, min(2**63 - 1, whole))]
        row += [rounded(fmt, Fraction(v)) for v in ints]
        less, equal = a < b, a == b
        bits = [equal, a > b, a >= b, less, a <= b, not equal, True, False, equal, a > b, a >= b, less, a <= b, not equal]
        out += row
        numbers += [*ints, int("".join(str(int(v)) for v in bits), 2)]
    return out, numbers


for _f in FORMATS:
    globals()[f"float_{_f}"] = lambda a, b, c, f=_f: floats(f, a, b, c)
    globals()[f"float_{_f}"].outputs = 2


def wmma_bits(x, y):
    """Products of 8 by 32 numbers of 4 bits, and the differing bits of 8 by 128."""
    def nibbles(words, i):
        return [((words[4 * i + k // 8] >> 4 * (k % 8) & 15) ^ 8) - 8 for k in range(32)]

    def bits(words, i):
        return sum(words[4 * i + k] << 32 * k for k in range(4))

    products = [1 + sum(a * b for a, b in zip(nibbles(x, i), nibbles(y, j))) for i in range(8) for j in range(8)]
    return products + [2 + bin(bits(x, i) ^ bits(y, j)).count("1") for i in range(8) for j in range(8)]


def conventions(x64):
    """What the functions of conventions.nvir return."""
    out = []
    for x in (v & 2**64 - 1 for v in x64):
        row = [1 - (x & 1), signed(8, x + 1), x + 1 & 0xffff, x * 3 & 2**13 - 1, x * 3 & 2**33 - 1, (x * 3 & 2**65 - 1) >> 1, x * x >> 64,
               (x & 1023) + 1, (x & 127) + 1, (x & 65535) + 1, (x & 2**32 - 1) + 1, x, (x ^ 4) & 2**32 - 1, (x & 1023) + 3, (x & 127) + 2,
               x + 2 & 2**13 - 1, x + 1 & 2**32 - 1, x & 0xffff, x + 7 & 2**32 - 1, 2 * (x & 2**32 - 1), x ^ 12345, 35, 77]
        out += [signed(64, v) for v in row]
    return out


def types(x64):
    out = []
    for x in (v & 2**64 - 1 for v in x64):
        lanes = [signed(16, x >> 16 * k) for k in range(4)]
        chosen = [max(a, signed(16, a * f)) & 0xffff for a, f in zip(lanes, (3, -5, 7, -9))]
        row = [sum((v >> k + 1) << 16 * k for k, v in enumerate(chosen)), (x + 1) ** 2 ^ (x - 1) ** 2,
               (lanes[2] & 15) * 4 + (lanes[3] & 15) * 5, signed(33, x + 2**32), x ^ x & 3,
               (lanes[1] & 0xffff) + (x & 2**24 - 1) ^ x, 3, -1]
        out += [signed(64, v) for v in row]
    return out
