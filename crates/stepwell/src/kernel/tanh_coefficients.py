"""Coefficients of the f32 hyperbolic tangent in tanh.rs; standard library only.

(exp(2r) - 1) / 2 = r + r²·C(r) for |r| <= ln(2)/4, C of degree 4. Least squares of the
relative error at Chebyshev points, which is close to the smallest possible
maximum. Coefficients are rounded to f32 one at a time, the constant term
first, and the others fitted again, so that they make up for it. Prints them
from the highest down, with the largest relative error.
"""
import math
import struct
from decimal import Decimal, getcontext

getcontext().prec = 50
TOP = Decimal(2).ln() / 4
DEGREE = 4
POINTS = 100


def f32(x):
    return Decimal(struct.unpack("f", struct.pack("f", float(x)))[0])


def solve(rows, right):
    """Gaussian elimination with row exchanges."""
    n = len(rows)
    table = [row + [value] for row, value in zip(rows, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(table[r][i]))
        table[i], table[pivot] = table[pivot], table[i]
        for r in range(i + 1, n):
            factor = table[r][i] / table[i][i]
            table[r] = [a - factor * b for a, b in zip(table[r], table[i])]
    answer = [Decimal(0)] * n
    for i in reversed(range(n)):
        rest = sum(table[i][c] * answer[c] for c in range(i + 1, n))
        answer[i] = (table[i][n] - rest) / table[i][i]
    return answer


def refit(fixed):
    """The coefficients behind those in `fixed`, by least squares."""
    powers = range(len(fixed), DEGREE + 1)
    rows, right = [], []
    for i in range(POINTS):
        r = TOP * Decimal(math.cos(math.pi * (2 * i + 1) / (2 * POINTS)))
        exact = ((2 * r).exp() - 1) / 2
        known = r + sum(c * r ** (2 + power) for power, c in enumerate(fixed))
        rows.append([r ** (2 + power) / exact for power in powers])
        right.append((exact - known) / exact)
    n = len(powers)
    square = [[sum(row[a] * row[b] for row in rows) for b in range(n)] for a in range(n)]
    return solve(square, [sum(row[a] * value for row, value in zip(rows, right)) for a in range(n)])


def fit():
    fixed = []
    while len(fixed) <= DEGREE:
        fixed.append(f32(refit(fixed)[0]))
    return fixed


def worst(coefficients, points=2000):
    def error(r):
        found = r + sum(c * r ** (2 + power) for power, c in enumerate(coefficients))
        return abs(2 * found / ((2 * r).exp() - 1) - 1)

    return max(error(TOP * i / points) for i in range(-points, points + 1) if i)


if __name__ == "__main__":
    coefficients = fit()
    print(", ".join(f"{c:.9e}" for c in reversed(coefficients)))
    print(f"largest relative error {worst(coefficients):.2e}")
