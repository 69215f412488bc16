#!/usr/bin/env python3
"""Minimax polynomials for mathlib/: the coefficients in its files come from here.

    minimax.py 'exp(x)' -0.347 0.347 --powers 0,1,2,3,4,5,6
    minimax.py '(sin(x)-x)/x**3' 0 0.79 --powers 0,2,4,6 --weight 'x**3/sin(x)'
    minimax.py 'atan(x)' 0 1 --powers 1,3,5,7 --fixed 1=1 --double

finds the polynomial in the given powers whose error, times the weight (1/f by default: the relative error), is
smallest over the interval (Remez' exchange, 60 digits). Coefficients are then rounded to float (--double: to
double) one by one, from the lowest power, and the rest is fitted again after each, or all at once if that is better;
--fixed gives one outright.
Prints each as decimal number and as LLVM's hexadecimal word, then the error of the real and of the rounded
polynomial as a power of two. Expressions are mpmath's, with x.
"""
import argparse
import struct
import sys

import mpmath
from mpmath import mp, mpf

POINTS = 400


def evaluate(text, x):
    return mpmath.mpf(eval(text, {name: getattr(mpmath, name) for name in dir(mpmath)}, {"x": x}))  # pylint: disable=eval-used


def extrema(errors, count):
    """Indices of alternating extrema: the largest of each run of equal signs, the smallest runs at the ends dropped."""
    runs = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def fit(xs, targets, weights, powers):
    """Coefficients of the weighted minimax polynomial on the points, and its error."""
    count = len(powers) + 1
    chosen = [round(k * (len(xs) - 1) / (count - 1)) for k in range(count)]
    best, least = None, None
    for _ in range(30):
        matrix, right = mpmath.matrix(count, count), mpmath.matrix(count, 1)
        for row, i in enumerate(chosen):
            for column, power in enumerate(powers):
                matrix[row, column] = xs[i] ** power
            matrix[row, count - 1] = (-1) ** row / weights[i]
            right[row] = targets[i]
        solution = mpmath.lu_solve(matrix, right)
        coefficients = [solution[k] for k in range(count - 1)]
        errors = [(t - sum(c * x ** p for c, p in zip(coefficients, powers))) * w for x, t, w in zip(xs, targets, weights)]
        error = max(abs(e) for e in errors)
        if least is None or error < least:
            best, least = coefficients, error
        following = extrema(errors, count)
        if len(following) < count or following == chosen:
            break
        chosen = following
    return best, least


def rounded(value, as_double):
    return mpf(float(value)) if as_double else mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def word(value):
    return "0x%016X" % struct.unpack("Q", struct.pack("d", float(value)))[0]


def solve(function, low, high, powers, weight=None, fixed=None, as_double=False):
    """(coefficients by power, error of the real fit, error of the rounded one)."""
    mp.dps = 60
    low, high, fixed = mpf(low), mpf(high), dict(fixed or {})
    xs = [(low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * k / (POINTS - 1)) for k in range(POINTS)]
    xs = [x if x != 0 else (high - low) * mpf(10) ** -12 for x in xs]
    values = [evaluate(function, x) for x in xs]
    weights = [abs(evaluate(weight, x)) if weight else 1 / abs(v) for x, v in zip(xs, values)]
    first, done = None, {}
    rest, targets = sorted(powers), list(values)
    near_zero = max(abs(low), abs(high)) / 30  # there a fixed coefficient leaves no freedom
    for power in sorted(powers):
        if power in fixed:
            done[power] = mpf(fixed[power])
        else:
            used = [i for i, x in enumerate(xs) if power == 0 or abs(x) > near_zero]
            scaled, factors = [targets[i] / xs[i] ** power for i in used], [weights[i] * abs(xs[i]) ** power for i in used]
            fitted, error = fit([xs[i] for i in used], scaled, factors, [p - power for p in rest])
            if first is None:
                first, plain = error, {**done, **{p: rounded(c, as_double) for p, c in zip(rest, fitted)}}
            done[power] = rounded(fitted[0], as_double)
        rest.remove(power)
        targets = [t - done[power] * x ** power for t, x in zip(targets, xs)]
    candidates = [(max(abs((v - sum(c * x ** p for p, c in each.items())) * w) for x, v, w in zip(xs, values, weights)), each)
                  for each in (done, plain)]
    after, better = min(candidates, key=lambda pair: pair[0])
    return better, first, after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function")
    parser.add_argument("low")
    parser.add_argument("high")
    parser.add_argument("--powers", required=True)
    parser.add_argument("--weight")
    parser.add_argument("--fixed", action="append", default=[])
    parser.add_argument("--double", action="store_true")
    options = parser.parse_args()
    fixed = {int(pair.split("=")[0]): mpf(pair.split("=")[1]) for pair in options.fixed}
    powers = [int(power) for power in options.powers.split(",")]
    mp.dps = 60
    ends = [evaluate(end, mpf(0)) for end in (options.low, options.high)]
    done, real, after = solve(options.function, *ends, powers, options.weight, fixed, options.double)
    for power, value in sorted(done.items()):
        print(f"x^{power:<3} {word(value)}  {float(value)!r}")
    print(f"error 2^{float(mpmath.log(real, 2)) if real else 0:.2f}, rounded 2^{float(mpmath.log(after, 2)):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
