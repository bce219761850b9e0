"""Scores of classes for conformal prediction sets, on tensors."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.ops import _ranges, numpy_dtype, xp


def class_scores(
    p: xp.Tensor, score: str, penalty: float, k_reg: int
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the scores of the classes of probabilities [N, K], and which rows are
    right.

    The scores are those of `ConformalClassifier` without its random draws. In float32
    their last digits depend on the order in which a compiler adds.
    """
    right = _ranges.rows_in_range(p)
    if score == "lac":
        return 1 - p, right
    classes = p.shape[-1]
    order = xp.argsort(p, axis=-1, direction="DESCENDING", stable=True)
    ordered = xp.gather(p, order, axis=1, batch_dims=1)
    # The last place of equal probabilities is the minimum of `last` from there on: a
    # probability that equals the next one starts with the largest place.
    same = ordered[:, 1:] == ordered[:, :-1]
    place = xp.range(classes)
    last = xp.where(same, classes - 1, place[:-1])
    last = xp.concat([last, xp.fill([xp.shape(p)[0], 1], classes - 1)], axis=1)
    step = 1
    while step < classes:
        beyond = xp.pad(
            last[:, step:], [[0, 0], [0, step]], constant_values=classes - 1
        )
        last, step = xp.minimum(last, beyond), 2 * step
    scores = xp.gather(xp.cumsum(ordered, axis=1), last, axis=1, batch_dims=1)
    if score == "raps":
        scores = scores + penalty * xp.cast(xp.maximum(last + 1 - k_reg, 0), p.dtype)
    back = xp.argsort(order, axis=-1)
    scores = xp.gather(scores, back, axis=1, batch_dims=1)
    limits = numpy_dtype(p)
    # Compilers may flush smaller numbers to 0.
    possible = p >= limits.type(np.finfo(limits).tiny)
    return xp.where(possible, scores, limits.type(np.inf)), right


def sets(scores: xp.Tensor, quantile: xp.Tensor, num_classes: int) -> xp.Tensor:
    """Returns which classes are in the sets, boolean [N, K]: all whose exact score is
    at most the quantile, and those whose score is larger by no more than rounding.

    A sum of K numbers >= 0, in any order, is within a factor of 1 +- K 2^-24 of the
    exact sum. Roundings of the probabilities, of the penalty and of the quantile add
    less than 8 units of 2^-24.
    """
    limits = numpy_dtype(scores)
    rounding = limits.type((num_classes + 8) * 2.0**-24)
    smallest = np.finfo(limits).tiny  # Compilers may flush smaller numbers to 0.
    return scores <= quantile + (rounding * quantile + smallest)
