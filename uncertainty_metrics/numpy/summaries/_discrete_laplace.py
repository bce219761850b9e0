"""Exact discrete Laplace noise: no rounding of floats weakens the privacy.

The methods are those of Canonne, Kamath and Steinke (2020), The Discrete Gaussian for
Differential Privacy, section 5, in integers throughout.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np


def noise(
    scale: Fraction, shape: tuple[int, ...], generator: random.Random | None = None
) -> np.ndarray:
    """Returns integers with P(x) proportional to exp(-abs(x) / scale), float64.

    Args:
      scale: > 0.
      shape: shape of the result.
      generator: source of random bits; by default that of the operating system, which
        cannot be repeated. Noise that can be repeated can be subtracted.
    """
    generator = random.SystemRandom() if generator is None else generator
    # A loop, since each draw takes a random number of exact steps.
    draws = [_draw(scale, generator) for _ in range(int(np.prod(shape)))]
    return np.array(draws, np.float64).reshape(shape)


def _draw(scale: Fraction, generator: random.Random) -> int:
    t, s = scale.numerator, scale.denominator
    while True:
        # A geometric number of parts 1 / t of exp(-1), then in steps of s.
        rest = generator.randrange(t)
        if not _bernoulli_of_exp(rest, t, generator):
            continue
        whole = 0
        while _bernoulli_of_exp(1, 1, generator):
            whole += 1
        size = (rest + t * whole) // s
        is_negative = generator.randrange(2) == 1
        if size or not is_negative:  # 0 would come twice as often.
            return -size if is_negative else size


def _bernoulli_of_exp(a: int, b: int, generator: random.Random) -> bool:
    """Returns True with the probability exp(-a / b), for 0 <= a <= b."""
    k = 1
    while generator.randrange(b * k) < a:
        k += 1
    return k % 2 == 1
