"""What the kernels of this folder compute, by other means where there are some: Python's integers, its
doubles, its sorting. A function has its kernel's name; it gets the lists that the kernel's file prints
but the last, and returns the last. See ../../bin/everyway."""
import base64 as base64_module
import hashlib
import struct
import zlib


def f32(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def f16(x):
    return struct.unpack("e", struct.pack("e", x))[0]


def i32(x):
    return (x + 2**31) % 2**32 - 2**31


def i64(x):
    return (x + 2**63) % 2**64 - 2**63


def quotient(a, b):
    """C's division."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(a, b):
    return a - quotient(a, b) * b


def reduce_tree(a):
    return [sum(x * x - 7 * x for x in a[k:k + 64]) for k in range(0, 256, 64)]


def scan_blelloch(a):
    return [sum(x % 13 for x in a[:k]) for k in range(128)]


def matmul_tiled(x, y):
    out = []
    for r in range(16):
        for c in range(16):
            total = 0.0
            for k in range(16):
                total = f32(total + f32(x[16 * r + k] * y[16 * k + c]))
            out.append(total)
    return out


def bitonic_sort(a):
    return sorted(x * 2654435761 % 2**32 >> 8 for x in a)


def histogram_shared(a):
    out = [0] * 16
    for x in a:
        out[x * 2654435761 % 2**32 >> 28] += 1
    return out


def stencil_jacobi(a):
    now = [1.0, *a, -1.0]
    for _ in range(10):
        now = [1.0, *((now[i - 1] + now[i] + now[i + 1]) / 3 for i in range(1, 65)), -1.0]
    return now[1:65]


def convolution(a):
    weights = [0.5, -1.25, 2, 0.125, 3, -0.75, 1, 0.0625, -2]
    out = []
    for i in range(100):
        total = 0.0
        for k in range(9):
            total = f32(total + f32(weights[k] * a[i + k]))
        out.append(total)
    return out


def bfs_levels(source):
    level, frontier, depth = {source[0]: 0}, [source[0]], 0
    while frontier:
        depth += 1
        found = []
        for v in frontier:
            for w in ((5 * v + 1) % 64, (v + 60) % 64, v // 2):
                if w not in level:
                    level[w] = depth
                    found.append(w)
        frontier = found
    return [level.get(v, -1) for v in range(64)]


def sha256_block(words):
    """SHA-256 of a message of 55 bytes pads to one block; the kernel's blocks have no padding, so the
    compression is written out."""
    out = []
    constants, primes = [], [p for p in range(2, 312) if all(p % q for q in range(2, p))]
    for p in primes[:64]:
        x = int(p * 2**96)
        r = round(p ** (1 / 3) * 2**32)
        while r**3 > x:
            r -= 1
        while (r + 1)**3 <= x:
            r += 1
        constants.append(r % 2**32)
    assert hashlib.sha256(b"").hexdigest()[:8] == "e3b0c442"
    def turn(x, n):
        return (x >> n | x << (32 - n)) & 0xffffffff
    for thread in range(32):
        w = [(x + thread) % 2**32 for x in words]
        for i in range(16, 64):
            a, b = w[i - 15], w[i - 2]
            w.append((w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10)) % 2**32)
        h = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]
        a, b, c, d, e, f, g, k = h
        for i in range(64):
            t1 = k + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + constants[i] + w[i]
            t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, k = (t1 + t2) % 2**32, a, b, c, (d + t1) % 2**32, e, f, g
        out += [(x + y) % 2**32 for x, y in zip(h, (a, b, c, d, e, f, g, k))]
    return out


def lu_decompose(x):
    a = [[x[8 * i + j] * (5 if i == j else 1) / (1 + j) + (11 if i == j else 0) for j in range(8)] for i in range(8)]
    for k in range(7):
        for i in range(k + 1, 8):
            a[i][k] /= a[k][k]
            for j in range(k + 1, 8):
                a[i][j] -= a[i][k] * a[k][j]
    return sum(a, [])


def ntt(a):
    p, n = 998244353, 64
    root = pow(3, (p - 1) // n, p)
    return [sum(x * 31 * pow(root, i * k, p) for i, x in enumerate(a)) % p for k in range(n)]


def fft_double(a):
    cosine = [-1, 0, 0.70710678118654752440, 0.92387953251128675613, 0.98078528040323044913]
    sine = [0, -1, -0.70710678118654752440, -0.38268343236508977173, -0.19509032201612826785]
    v = [complex(x, x * x / 8) for x in a]

    def go(v, stage):
        if len(v) == 1:
            return v
        even, odd = go(v[::2], stage - 1), go(v[1::2], stage - 1)
        out, (wr, wi) = [0] * len(v), (1.0, 0.0)
        for j, (x, y) in enumerate(zip(even, odd)):
            t = complex(y.real * wr - y.imag * wi, y.real * wi + y.imag * wr)
            out[j], out[j + len(even)] = x + t, x - t
            wr, wi = wr * cosine[stage] - wi * sine[stage], wr * sine[stage] + wi * cosine[stage]
        return out
    return [part for z in go(v, 4) for part in (z.real, z.imag)]


def mandelbrot():
    out = []
    for i in range(256):
        x, y, a, b, n = (i % 16) * 0.1875 - 2, (i // 16) * 0.15625 - 1.25, 0.0, 0.0, 0
        while n < 100 and a * a + b * b < 4:
            a, b, n = a * a - b * b + x, 2 * a * b + y, n + 1
        out.append(n)
    return out


def nbody(a):
    p = [float(int(x) * 37 % 101) for x in a]
    out = []
    for i in range(16):
        v = [0.0, 0.0, 0.0]
        for j in range(16):
            d, r2 = [0.0] * 3, 0.5
            for k in range(3):
                d[k] = p[3 * j + k] - p[3 * i + k]
                r2 += d[k] * d[k]
            f = 1 / (r2 * r2**0.5)
            for k in range(3):
                v[k] += d[k] * f
        out += [p[3 * i + k] + v[k] * 0.01 for k in range(3)]
    return out


def string_search(a):
    text = "".join("abc"[x % 3] for x in a)
    return [sum(bit for word, bit in (("abc", 1), ("cabcab", 2), ("bca", 4)) if text.startswith(word, i)) for i in range(128)]


def crc32(a):
    return [zlib.crc32(bytes(a[:4 * (k + 1)])) for k in range(20)]


def transpose_padded(a):
    return [a[16 * c + r] for r in range(16) for c in range(16)]


def compact(a):
    kept = [v for v in (x * 7 % 31 for x in a) if v % 3 == 0]
    return kept + [0] * (99 - len(kept)) + [len(kept)]


def radix_sort(a):
    return sorted(x * 40503 & 0xffff for x in a)


def game_of_life(steps):
    alive = {(i // 8, i % 8) for i in range(64) if 0x0000381810040e00 >> i & 1}
    for _ in range(steps[0]):
        def neighbours(r, c):
            return sum(((r + y) % 8, (c + x) % 8) in alive for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y)
        alive = {(r, c) for r in range(8) for c in range(8)
                 if neighbours(r, c) == 3 or (neighbours(r, c) == 2 and (r, c) in alive)}
    return [int((i // 8, i % 8) in alive) for i in range(64)]


def levenshtein(a):
    x, out = [v * 5 % 7 for v in a], []
    for n in range(1, 25):
        y = [v % 4 for v in a[:n]]
        table = {(i, j): i + j for i in range(13) for j in range(n + 1) if i == 0 or j == 0}
        for i in range(1, 13):
            for j in range(1, n + 1):
                table[i, j] = min(table[i - 1, j - 1] + (x[i] != y[j - 1]), table[i - 1, j] + 1, table[i, j - 1] + 1)
        out.append(table[12, n])
    return out


def sieve(n):
    composite = [int(i < 2 or any(i % q == 0 for q in range(2, i))) for i in range(n[0])]
    return [composite.count(0)], composite


sieve.outputs = 2


def powmod(a):
    m = 0xffffffffffffffc5
    return [pow(x * 0x9e3779b97f4a7c15 % 2**64 % m, (x * 12345 + 3) % 2**64, m) for x in a]


def heap_sort(a):
    return sum((sorted(i32(x * 1103515245) >> 16 for x in a[k:k + 16]) for k in range(0, 64, 16)), [])


def quick_sort(a):
    return sum((sorted(x * 69069 % 1000 for x in a[k:k + 16]) for k in range(0, 64, 16)), [])


def knapsack(a):
    best = [0] * 32
    for x in a:
        weight, worth = x % 7 + 1, x * x % 19 + 1
        best = [max(best[c], best[c - weight] + worth if c >= weight else 0) for c in range(32)]
    return best


def components(a):
    parent = list(range(48))

    def find(v):
        while parent[v] != v:
            v = parent[v]
        return v
    for x in a:
        u, v = sorted((find(x), find((x * 6 + 9) % 48)))
        parent[v] = u
    return [min(w for w in range(48) if find(w) == find(v)) for v in range(48)]


def floyd_warshall(a):
    d = [[0 if r == c else a[8 * r + c] * 29 % 97 + 1 for c in range(8)] for r in range(8)]
    for _ in range(3):  # paths of two, four, eight edges
        d = [[min(d[r][k] + d[k][c] for k in range(8)) for c in range(8)] for r in range(8)]
    return sum(d, [])


def base64(a):
    return list(base64_module.b64encode(bytes(x * (77, 101, 211)[i % 3] % 256 for i, x in enumerate(a))))


def bigint_multiply(a):
    out = []
    for t in range(8):
        x = sum(((a[i] + 1) * 0xdeadbeefcafebabe + t) % 2**64 << 64 * i for i in range(4))
        y = sum((~(a[i + 4] * 0x0123456789abcdef) - t) % 2**64 << 64 * i for i in range(4))
        out += [x * y >> 64 * i & 2**64 - 1 for i in range(8)]
    return out


def isqrt(a):
    out = []
    for x in a:
        n = x * x * 0x2545f4914f6cdd1d % 2**64
        low, high = 0, 2**32
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle * middle <= n else (low, middle)
        out.append(low)
    return out


def spmv(x):
    out = []
    for t in range(32):
        total = 0.0
        for k in range(t % 5 + 1):
            total += (1.0 / (t + k + 1)) * x[(t * 7 + k * k * 3) % 32]
        out.append(total)
    return out


def warp_scan(a):
    out = []
    for first in range(0, 128, 32):
        v = [x * x % 17 for x in a[first:first + 32]]
        out += [sum(v[:k + 1]) + sum(v) * 1000 for k in range(32)]
    return out


def warp_butterfly(a):
    out = []
    for first in (0, 32):
        v = [x * 0.75 + 1 for x in a[first:first + 32]]
        for by in (16, 8, 4, 2, 1):
            v = [f32(v[k ^ by] - v[k]) if k & by else f32(v[k] + v[k ^ by]) for k in range(32)]
        out += v
    return out


def monte_carlo():
    inside = 0
    for thread in range(128):
        x = (12345 + thread * 747796405) % 2**32

        def step(x):
            x ^= x << 13 & 0xffffffff
            x ^= x >> 17
            return x ^ (x << 5 & 0xffffffff)
        for _ in range(50):
            x = step(x)
            a = x >> 8
            x = step(x)
            inside += a * a + (x >> 8)**2 < 2**48
    return [inside]


def run_length(a):
    out = []
    for t in range(8):
        text, code, i = [x // 3 % 4 for x in a[16 * t:16 * t + 16]], 0, 0
        while i < 16:
            v, n = text[i], 1
            while i + n < 16 and text[i + n] == v:
                n += 1
            code = code * 5 + n if v == 0 else code ^ n << 7 if v == 1 else code + 1000 * n if v == 2 else n - code
            i += n
        out.append(code)
    return out


def state_machine(a):
    out = []
    for t in range(32):
        state = value = i = 0
        while i < 3 * (t % 4) + 40 and i < 96 and state != 99:
            c = a[(i * 7 + t) % 96] % 5
            if state == 0:
                state, value = (1, value) if c < 2 else (0, value + c)
            elif state == 1:
                value, state = value * 3 + c, {4: 7, 0: 2}.get(c, 1)
            elif state == 2:
                value, state = value - c, 0 if c & 1 else 2
            else:
                value, state = value % 2**32 ^ 85, 99 if c == 3 else 0
            i += 1
        limit = min(3 * (t % 4) + 40, 96)
        out.append(i32(value if state == 99 and i < limit else value * 8 + state % 8))
    return out


def struct_passing(a):
    out = []
    for t, x in enumerate(a):
        low, high, tag = [x, 1.0, 2.0], [x + 1, 3.0, 5.0], t
        for by in (0.5, 0.25):
            low, high, tag = [v - by for v in low], [v + by * (k + 1) for k, v in enumerate(high)], tag + 3
        v = float(tag)
        for k in range(3):
            v = f32(v * f32(high[k] - low[k]))
        out.append(v)
    return out


def function_table(a):
    table = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: i32(a << 3) ^ b]
    out = []
    for t, x in enumerate(a):
        v = x + 5
        for k in range(4):
            v = i32(table[(t + k) % 3](v, k + 2))
        out.append(v)
    return out


def grid_strides(a):
    return [quotient(x * x, 3) - remainder(x, 7) for x in a]


def dot_half(a):
    out = []
    for t in range(8):
        total = 0.0
        for k in range(8):
            total = f16(total + f16(f16(a[8 * t + k] * 0.125) * f16(a[k] + 1)))
        out.append(total)
    return out


def polynomial(a):
    out = []
    for v in a:
        x, y = f32(f32(v * 0.03125) - 1), 0.0
        for c in (1, -0.5, 0.25, 3, -2, 0.125):
            y = f32(y * x + c)  # exact in a double, so rounded once
        out.append(f32(f32(abs(y) + (x * 4) // 1) + f32(f32(f32(x * x) + 1) ** 0.5)))
    return out
