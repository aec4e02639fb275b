"""The model's equations with dense matrices, as a reference for tests."""

import numpy as np


def normalized(A):
    """``D_out^-1/2 A D_in^-1/2``; vertices without edges have a zero row."""
    inverse = lambda d: np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return inverse(A.sum(1))[:, None] * A * inverse(A.sum(0))[None, :]


def fixed_point(operator, drive, W):
    """The states ``H`` that satisfy ``H = tanh(operator H W + drive)``."""
    H = np.zeros_like(drive)
    for _ in range(10_000):
        before, H = H, np.tanh(operator @ H @ W + drive)
        if np.linalg.norm(H - before) <= 1e-15 * np.linalg.norm(H):
            break
    return H
