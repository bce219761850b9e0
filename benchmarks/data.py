"""The data of the benchmarks: the same in every environment, from a seed."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

# Labels are drawn at this temperature: above 1 the probabilities are overconfident.
OVERCONFIDENT = 1.5
CALIBRATED = 1.0
_ROWS = 1000


class Data(NamedTuple):
    """labels int64 [N] and probabilities float32 [N, K]."""

    labels: np.ndarray
    probabilities: np.ndarray

    def fingerprint(self) -> list[float]:
        """Returns numbers that differ if the data do."""
        return [
            float(zlib.crc32(np.ascontiguousarray(self.labels))),
            round(float(self.probabilities.max(axis=1).sum(dtype=np.float64)), 2),
        ]


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def predictions(
    examples: int,
    classes: int,
    seed: int = 0,
    *,
    temperature: float = OVERCONFIDENT,
    sharpness: float = 1.0,
) -> Data:
    """Returns probabilities of one boosted class a row, and labels drawn from them.

    Logits are N(0, 1) and, for one class, N(1, 2^2) above the level at which it weighs
    as much as all the others together.

    Args:
      examples: number of examples N.
      classes: number of classes K.
      seed: of the random numbers.
      temperature: labels are drawn from `softmax(logits / temperature)`.
      sharpness: the probabilities are `softmax(sharpness * logits)`.
    """
    rng = np.random.default_rng([seed, examples, classes])
    labels = np.empty(examples, np.int64)
    probabilities = np.empty((examples, classes), np.float32)
    for start in range(0, examples, _ROWS):  # In blocks, to bound the memory.
        rows = slice(start, min(start + _ROWS, examples))
        size = rows.stop - start
        logits = rng.standard_normal((size, classes))
        boosted = rng.integers(0, classes, size)
        boost = np.log(classes) + 0.5 + rng.normal(1.0, 2.0, size)
        logits[np.arange(size), boosted] += boost
        probabilities[rows] = _softmax(sharpness * logits)
        steps = np.cumsum(_softmax(logits / temperature), axis=1)
        draw = rng.random((size, 1)) * steps[:, -1:]
        labels[rows] = (steps < draw).sum(axis=1)
    return Data(labels, probabilities)
