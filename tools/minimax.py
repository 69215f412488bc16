#!/usr/bin/env python3
"""Compute the polynomial coefficients of the double functions in mathlib/.

    tools/minimax.py                 list the fits with degree, interval and error
    tools/minimax.py NAME...         print the coefficients, lowest power first
    tools/minimax.py --check NAME... fail if mathlib/ lacks one of these coefficients

A fit is a row of FITS: the polynomial P of the given degree that minimizes the largest
|weight(x) * (f(x) - P(x))| over the interval (Remez exchange on a dense grid of Chebyshev
points, 45 digits), each coefficient then rounded to binary64. Needs mpmath.
"""
import glob
import os
import re
import struct
import sys

import mpmath as mp

mp.mp.dps = 45


def remez(f, degree, lo, hi, weight, rounds=12):
    """Coefficients (lowest power first, mpf) and the largest weighted error."""
    n = degree + 2
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    count = 24 * n
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count)
            for i in range(count)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    chosen = [int((i + 0.5) * count / n) for i in range(n)]
    coefficients, error = None, None
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    scaled = [(x - middle) / half for x in grid]
    for _ in range(rounds):
        matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
        for row, i in enumerate(chosen):
            for power in range(degree + 1):
                matrix[row, power] = scaled[i] ** power
            matrix[row, degree + 1] = (-1) ** row / weights[i]
            right[row] = values[i]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        errors = [w * (v - mp.polyval(coefficients[::-1], t))
                  for t, v, w in zip(scaled, values, weights)]
        peaks = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        error = max(abs(e) for e in errors)
        if len(peaks) < n or peaks == chosen:
            break
        chosen = peaks
    return unscale(coefficients, middle, half), error


def unscale(coefficients, middle, half):
    """The polynomial in (x - middle) / half as one in x."""
    result = [mp.mpf(0)]
    for c in reversed(coefficients):
        shifted = [mp.mpf(0)] + [r / half for r in result]
        for i, r in enumerate(result):
            shifted[i] -= r * middle / half
        shifted[0] += c
        result = shifted
    return result[:len(coefficients)]


def series(f, x, terms=40):
    """f at x by its Taylor series at 0; for quotients such as (exp(x)-1-x)/x^2 near 0."""
    return mp.polyval(mp.taylor(f, 0, terms)[::-1], x)


def near(x, exact, limit):
    """exact(x), or the limit at 0; 60 more digits near 0, where quotients cancel."""
    if x == 0:
        return mp.mpf(limit)
    with mp.workdps(110):
        return exact(mp.mpf(x))


def one(_):
    return mp.mpf(1)


def erfcx(x):
    """exp(x^2) erfc(x); by its asymptotic series where that converges to all digits."""
    if x < 15:
        return mp.exp(x * x) * mp.erfc(x)
    term = total = mp.mpf(1)
    for k in range(1, 200):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
        if abs(term) < mp.mpf(10)**-50:
            break
    return total / (x * mp.sqrt(mp.pi))


def erfcx_x(t):
    return 4 * (1 + t) / (1 - t)


def erfc_inverse(s):
    """x / s for log(erfc(x) (2 - erfc(x))) = -s^2, by Newton's method."""
    square = mp.exp(-s * s)
    p = square / 2 + square**2 / 8 if square < mp.mpf(10)**-20 else 1 - mp.sqrt(1 - square)
    log_p, x = mp.log(p), s
    for _ in range(60):
        value = erfcx(x)
        step = (mp.log(value) - x * x - log_p) * value * mp.sqrt(mp.pi) / 2
        x += step
        if abs(step) < mp.mpf(10)**-30:
            break
    return x / s


def stirling(w):
    """y times the rest of Stirling's formula for log(Gamma(y)), w = 1/y^2."""
    if w < mp.mpf(10)**-12:
        return mp.mpf(1) / 12 - w / 360 + w * w / 1260
    y = 1 / mp.sqrt(w)
    return y * (mp.loggamma(y) - (y - mp.mpf(1) / 2) * mp.log(y) + y - mp.log(2 * mp.pi) / 2)


def hankel(n, w):
    """P and x Q of Hankel's functions of order n, w = 1/x^2, by the asymptotic series or, where
    that does not converge to all digits, from J and Y."""
    if w > mp.mpf(1) / 2500:
        x = 1 / mp.sqrt(w)
        c = x - (2 * n + 1) * mp.pi / 4
        j, y, scale = mp.besselj(n, x), mp.bessely(n, x), mp.sqrt(mp.pi * x / 2)
        return (scale * (j * mp.cos(c) + y * mp.sin(c)),
                x * scale * (y * mp.cos(c) - j * mp.sin(c)))
    p = q = mp.mpf(0)
    term = mp.mpf(1)
    for k in range(80):
        part = term * (-1) ** (k // 2) * w ** (k // 2)
        p, q = (p, q + part) if k % 2 else (p + part, q)
        term *= mp.mpf(4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1))
    return p, q


def scaled_i(n, u):
    """I_n(x) exp(-x) sqrt(x), u = 1/x."""
    if u < mp.mpf(1) / 60:
        total = term = mp.mpf(1)
        for k in range(1, 100):
            term *= -(4 * n * n - (2 * k - 1) ** 2) * u / (8 * k)
            total += term
        return total / mp.sqrt(2 * mp.pi)
    x = 1 / u
    return mp.besseli(n, x) * mp.exp(-x) * mp.sqrt(x)


LN2, SQRT2 = mp.log(2), mp.sqrt(2)
QUARTER_PI = mp.pi / 4
S_MAX = (SQRT2 - 1) / (SQRT2 + 1)  # the largest s = (m-1)/(m+1) for m in [sqrt(1/2), sqrt(2)]

# name: (function, degree, low, high, weight of the error)
FITS = {
    # exp(x) = 1 + x + x^2 P(x)
    'exp': (lambda x: near(x, lambda t: (mp.expm1(t) - t) / t**2, 0.5), 10,
            -LN2 / 2, LN2 / 2, lambda x: x * x + mp.mpf(10)**-6),
    # exp(x) = 1 + x + x^2/2 + x^3 P(x), for expm1
    'expm1': (lambda x: near(x, lambda t: (mp.expm1(t) - t - t * t / 2) / t**3, mp.mpf(1) / 6),
              9, -LN2 / 2, LN2 / 2, lambda x: x * x + mp.mpf(10)**-6),
    # log((1+s)/(1-s)) = 2s + s z P(z), z = s^2
    'log': (lambda z: near(z, lambda t: 2 * (mp.atanh(mp.sqrt(t)) / mp.sqrt(t) - 1) / t,
                           mp.mpf(2) / 3), 6, 0, S_MAX**2, lambda z: z + mp.mpf(10)**-6),
    # the same from the z^2 term on: 2s (1 + z/3 + z^2 P(z)); for pow
    'log_pow': (lambda z: near(z, lambda t: (mp.atanh(mp.sqrt(t)) / mp.sqrt(t) - 1 - t / 3)
                               / t**2, mp.mpf(1) / 5), 8, 0, S_MAX**2,
                lambda z: z * z + mp.mpf(10)**-6),
    # sin(r) = r + r^3 P(r^2); cos(r) = 1 - r^2/2 + r^4 P(r^2)
    'sin': (lambda z: near(z, lambda t: (mp.sin(mp.sqrt(t)) / mp.sqrt(t) - 1) / t,
                           -mp.mpf(1) / 6), 5, 0, QUARTER_PI**2 * 1.0001,
            lambda z: z + mp.mpf(10)**-6),
    'cos': (lambda z: near(z, lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2,
                           mp.mpf(1) / 24), 5, 0, QUARTER_PI**2 * 1.0001,
            lambda z: z * z + mp.mpf(10)**-6),
    # sinh(x) = x + x^3 P(x^2), |x| <= 1
    'sinh': (lambda z: near(z, lambda t: (mp.sinh(mp.sqrt(t)) / mp.sqrt(t) - 1) / t,
                            mp.mpf(1) / 6), 6, 0, 1, lambda z: z + mp.mpf(10)**-6),
    # atan(r) = r + r^3 P(r^2), |r| <= tan(pi/8)
    'atan': (lambda z: near(z, lambda t: (mp.atan(mp.sqrt(t)) / mp.sqrt(t) - 1) / t,
                            -mp.mpf(1) / 3), 10, 0, (SQRT2 - 1)**2 * 1.0001,
             lambda z: z + mp.mpf(10)**-6),
    # asin(x) = x + x^3 P(x^2), |x| <= 1/2
    'asin': (lambda z: near(z, lambda t: (mp.asin(mp.sqrt(t)) / mp.sqrt(t) - 1) / t,
                            mp.mpf(1) / 6), 11, 0, mp.mpf(1) / 4, lambda z: z + mp.mpf(10)**-6),
    # erf(x) = x + x P(x^2), |x| <= 1
    'erf': (lambda z: near(z, lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1,
                           2 / mp.sqrt(mp.pi) - 1), 12, 0, 1, one),
    # (1 + 2x) exp(x^2) erfc(x) = P(t), t = (x - 4) / (x + 4), x >= 0
    'erfcx': (lambda t: (1 + 2 * erfcx_x(t)) * erfcx(erfcx_x(t)), 25, -1, 1, one),
    # erfinv(y) = y (sqrt(pi)/2 + z P(z)), z = y^2, |y| <= 1/2
    'erfinv': (lambda z: near(z, lambda t: (mp.erfinv(mp.sqrt(t)) / mp.sqrt(t)
                                            - mp.sqrt(mp.pi) / 2) / t, mp.pi**1.5 / 24), 12,
               0, mp.mpf(1) / 4, lambda z: z + mp.mpf(10)**-6),
    # s P(t) is a start for the x with erfc(x) = p; s^2 = -log(p (2 - p)), t = (s - 2) / (s + 2)
    'erfcinv': (lambda t: erfc_inverse(2 * (1 + t) / (1 - t)), 17,
                -mp.mpf(147) / 253, mp.mpf(254) / 294, one),
    # log(Gamma(2 + t)) = t P(t), Gamma(2 + t) = 1 + t P(t), |t| <= 1/2
    'lgamma': (lambda t: near(t, lambda u: mp.loggamma(2 + u) / u, 1 - mp.euler), 18,
               -mp.mpf(1) / 2, mp.mpf(1) / 2, one),
    'tgamma': (lambda t: near(t, lambda u: (mp.gamma(2 + u) - 1) / u, 1 - mp.euler), 19,
               -mp.mpf(1) / 2, mp.mpf(1) / 2, one),
    # log(Gamma(y)) = (y - 1/2) log(y) - y + log(2 pi)/2 + P(w)/y, w = 1/y^2, y >= 8
    'stirling': (lambda w: stirling(w), 6, 0, mp.mpf(1) / 64, one),
    # J0(x) = 1 + z P(z), J1(x) = x/2 + x z P(z), z = x^2, |x| <= 1/2
    'j0_small': (lambda z: near(z, lambda t: (mp.besselj(0, mp.sqrt(t)) - 1) / t,
                                -mp.mpf(1) / 4), 5, 0, mp.mpf(1) / 4, one),
    'j1_small': (lambda z: near(z, lambda t: (mp.besselj(1, mp.sqrt(t)) / mp.sqrt(t)
                                              - mp.mpf(1) / 2) / t, -mp.mpf(1) / 16), 5, 0,
                 mp.mpf(1) / 4, one),
    # Y0 = 2/pi log(x) J0 + P(z), Y1 = 2/pi (log(x) J1 - 1/x) + x P(z), 0 < x <= 1/2
    'y0_small': (lambda z: near(z, lambda t: mp.bessely(0, mp.sqrt(t)) - mp.log(t) / mp.pi
                                * mp.besselj(0, mp.sqrt(t)), 2 / mp.pi * (mp.euler - LN2)), 6, 0,
                 mp.mpf(1) / 4, one),
    'y1_small': (lambda z: near(z, lambda t: (mp.bessely(1, mp.sqrt(t)) - mp.log(t) / mp.pi
                                * mp.besselj(1, mp.sqrt(t)) + 2 / (mp.pi * mp.sqrt(t)))
                                / mp.sqrt(t), (mp.euler - LN2 - mp.mpf(1) / 2) / mp.pi), 6, 0,
                 mp.mpf(1) / 4, one),
    # Hankel's functions: J = sqrt(2 / (pi x)) (P cos c - Q sin c), Y = sqrt(2 / (pi x)) (P sin c +
    # Q cos c), c = x - (2n + 1) pi/4; P(w), Q(w) x, w = 1/x^2, x >= 8
    'hankel_p0': (lambda w: hankel(0, w)[0], 12, 0, mp.mpf(1) / 64, one),
    'hankel_q0': (lambda w: hankel(0, w)[1], 12, 0, mp.mpf(1) / 64, one),
    'hankel_p1': (lambda w: hankel(1, w)[0], 12, 0, mp.mpf(1) / 64, one),
    'hankel_q1': (lambda w: hankel(1, w)[1], 12, 0, mp.mpf(1) / 64, one),
    # I0(x) = 1 + y + y^2 P(y), I1(x) = x/2 (1 + y/2 + y^2 P(y)), y = x^2/4, |x| <= 12
    'i0': (lambda y: near(y, lambda t: (mp.besseli(0, 2 * mp.sqrt(t)) - 1 - t) / t**2,
                          mp.mpf(1) / 4), 17, 0, 36,
           lambda y: y * y / mp.besseli(0, 2 * mp.sqrt(y))),
    'i1': (lambda y: near(y, lambda t: (mp.besseli(1, 2 * mp.sqrt(t)) / mp.sqrt(t) - 1 - t / 2)
                          / t**2, mp.mpf(1) / 12), 17, 0, 36,
           lambda y: y * y * mp.sqrt(y) / mp.besseli(1, 2 * mp.sqrt(y))),
    # I(x) = exp(x) / sqrt(x) P(1/x), x >= 12
    'i0_large': (lambda u: scaled_i(0, u), 17, 0, mp.mpf(1) / 12, one),
    'i1_large': (lambda u: scaled_i(1, u), 17, 0, mp.mpf(1) / 12, one),
    # x^(-1/3) on [1, 8], a start for Newton's iteration
    'rcbrt': (lambda x: x ** (-mp.mpf(1) / 3), 5, 1, 8, lambda x: mp.cbrt(x)),
}


BESSEL = {'j0': (mp.besselj, 0), 'j1': (mp.besselj, 1), 'y0': (mp.bessely, 0), 'y1': (mp.bessely, 1)}


def bessel_center(name, k):
    """Center and limits of interval k of 16 from 1/2 to 8: a quarter of a binade, its middle or a
    zero of the function in or near it."""
    function, order = BESSEL[name]
    low = mp.mpf(2) ** (k // 4 - 1) * (1 + mp.mpf(k % 4) / 4)
    high = low + mp.mpf(2) ** (k // 4 - 3)
    zeros = [(mp.besseljzero if function is mp.besselj else mp.besselyzero)(order, i)
             for i in range(1, 4)]
    margin = (high - low) * mp.mpf('0.75')
    for zero in zeros:
        if low - margin < zero < high + margin:
            return zero, low, high
    return (low + high) / 2, low, high


def bessel_fit(name, k):
    """F(center + t) = F(center) + t P(t)."""
    function, order = BESSEL[name]
    center, low, high = bessel_center(name, k)
    is_zero = center != (low + high) / 2
    base = mp.mpf(0) if is_zero else function(order, center)
    return (lambda t: near(t, lambda u: (function(order, center + u) - base) / u, 0),
            12 if function is mp.besselj else 14, low - center, high - center, lambda t: t / function(order, center + t))


for bessel_name in BESSEL:
    for interval in range(16):
        FITS['%s_%d' % (bessel_name, interval)] = bessel_fit(bessel_name, interval)


def coefficients(name):
    """Binary64 coefficients of a fit, lowest power first, and its weighted error."""
    function, degree, low, high, weight = FITS[name]
    result, error = remez(function, degree, low, high, weight)
    return [float(c) for c in result], error


def hexadecimal(value):
    return '0x%016X' % struct.unpack('<Q', struct.pack('<d', value))[0]


def literal(value):
    """As mathlib/ writes it: short decimal fractions, else the bits."""
    for places in (1, 2):
        text = '%.*f' % (places, value)
        if float(text) == value and abs(value) < 1000:
            return text
    return hexadecimal(value)


def check(names):
    """The number of fits of which a coefficient is missing."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'mathlib')
    text = ''.join(open(path, encoding='ascii').read()
                   for path in sorted(glob.glob(folder + '/double_*.nvir')))
    failed = 0
    for name in names:
        missing = [value for value in coefficients(name)[0]
                   if not re.search(r'(?<![\w.])%s(?!\w)' % re.escape(literal(value)), text)]
        failed += bool(missing)
        for value in missing:
            print('%s: %s (%r) is not in mathlib/' % (name, literal(value), value))
    print('minimax: %d passed, %d failed' % (len(names) - failed, failed))
    return failed


def main(names):
    checked = names[:1] == ['--check']
    names = names[1:] or list(FITS) if checked else names
    unknown = [name for name in names if name not in FITS]
    if unknown:
        sys.exit('minimax.py: no fit named %s' % ' '.join(unknown))
    if checked:
        sys.exit(1 if check(names) else 0)
    if not names:
        for name, (_, degree, low, high, _) in FITS.items():
            print('%-14s degree %2d  [%s, %s]  error %s' % (
                name, degree, mp.nstr(low, 8), mp.nstr(high, 8),
                mp.nstr(coefficients(name)[1], 3)))
    for name in names:
        for value in coefficients(name)[0]:
            print('%s  ; %r' % (hexadecimal(value), value))


if __name__ == '__main__':
    main(sys.argv[1:])
