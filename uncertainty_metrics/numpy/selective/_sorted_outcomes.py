"""Scores with true or false outcomes, in groups of equal scores, the best group first.

Every metric of selective prediction and of detection is a few lines of arithmetic on
the masses of these groups.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy import _inputs

# Sums of weights are rounded: a share that is below a limit by this factor reaches it.
ROUND_UP = 1 + 2.0**-50
# From this number on, four terms of the series of digamma are exact in float64.
_LARGE = 24


@dataclasses.dataclass(frozen=True)
class Groups:
    """Running masses over groups of equal score, the best score first.

    The running masses start with the 0 before the first group. No bit of them depends
    on the order of the examples. They are integers without weights and losses, and
    float64 otherwise.

    Attributes:
      hits: mass of the true outcomes up to and including each group, [1 + G].
      misses: mass of the false outcomes, [1 + G]. A loss is a fraction of a miss.
      unit: number of examples in a mass of 1. Weights are numbers of examples, unless
        they are less than 1 on average: then their average is one example.
      exponent: a miss is a loss of 2^exponent, which may exceed the range of float64.
    """

    hits: np.ndarray
    misses: np.ndarray
    unit: float = 1.0
    exponent: int = 0

    @lazy_property
    def masses(self) -> np.ndarray:
        return self.hits + self.misses

    @property
    def coverages(self) -> np.ndarray:
        """Share of all mass up to and including each group, [G]."""
        return self.masses[1:] / self.masses[-1]

    @property
    def risks(self) -> np.ndarray:
        """Mean loss of the mass up to and including each group, [G]."""
        return np.ldexp(self.misses[1:] / self.masses[1:], self.exponent)


def trapezoids(x: np.ndarray, y: np.ndarray) -> float:
    """Returns the area under y as a function of x, two running sums that start at 0."""
    return float(np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]))) / 2


def digamma_step(start: Any, step: Any) -> np.ndarray:
    """Returns `digamma(start + step + 1) - digamma(start + 1)`, without cancellation.

    For integers it is the sum of 1 / k over start < k <= start + step. Both are >= 0;
    the relative error is about 1e-15.
    """
    x, step = np.atleast_1d(np.asarray(start, np.float64) + 1, step)
    small = np.flatnonzero(x < _LARGE)
    small_x, small_step, total = x[small], step[small], 0.0
    for k in range(_LARGE if len(small) else 0):  # digamma(x + 1) = digamma(x) + 1 / x
        total += small_step / (small_x + k) / (small_x + small_step + k)
    x[small] += _LARGE
    # digamma(u + 1/2) = log u + 1/24 u^-2 - 7/960 u^-4 + 31/8064 u^-6 - ...
    a, b = 1 / (x - 0.5), 1 / (x - 0.5 + step)
    p, q = a * a, b * b
    series = (
        1 / 24
        - 7 / 960 * (p + q)
        + 31 / 8064 * (p * p + p * q + q * q)
        - 127 / 30720 * (p + q) * (p * p + q * q)
    )
    result = np.log1p(step * a) - step * a * b * (a + b) * series
    result[small] += total
    return result


def _sums(values: np.ndarray, ends: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """Returns the sum of the integers before each end."""
    running = np.zeros(len(values) + 1, dtype)
    np.cumsum(values, out=running[1:])
    return running.take(ends)


def _weight_sums(weights: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Returns the sum of the weights before each end, the same for any order of them.

    Each weight is split into two integers, because integers add without rounding.
    """
    exponent = np.frexp(np.max(weights))[1]
    bits = 62 - len(weights).bit_length()
    low, high = np.modf(np.ldexp(weights, bits - exponent))
    low = np.ceil(np.ldexp(low, bits))
    high, low = (_sums(part.astype(np.int64), ends, np.int64) for part in (high, low))
    return np.ldexp(high + np.ldexp(low.astype(np.float64), -bits), exponent - bits)


def _keys(scores: np.ndarray) -> np.ndarray | None:
    """Returns unsigned integers that ascend from the best score to the worst and leave
    the top bit free; None for float64 scores of both signs, which need every bit.
    """
    bits = (scores + 0.0).view(f"i{scores.itemsize}")  # No -0.0.
    largest = np.iinfo(bits.dtype).max
    if np.min(bits) < 0:
        if scores.itemsize > 4:
            return None
        # Negative floats sort backwards by their bits.
        bits = (bits ^ (bits >> 31 & largest)).astype(np.int64)
    np.subtract(largest, bits, out=bits)
    return bits.view(f"u{bits.itemsize}")


def floating(scores: np.ndarray) -> np.ndarray:
    """Returns the scores in float32 if that holds them exactly, else in float64."""
    single = np.can_cast(scores.dtype, np.float32)
    return scores.astype(np.float32 if single else np.float64, copy=False)


def groups(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None = None
) -> Groups:
    """Groups examples by score.

    Args:
      scores: finite float32 or float64 [N], N >= 1; larger is better.
      outcomes: boolean [N].
      weights: float64 [N], positive; None for ones.
    """
    keys = _keys(scores) if weights is None else None
    missed = ~outcomes
    if keys is not None:
        # One integer holds score and outcome: sorting these is far faster than argsort
        # and needs no gather.
        keys <<= 1
        keys |= missed
        keys.sort()
        missed = (keys & 1).view(f"i{keys.itemsize}")
        keys >>= 1
    else:
        order = np.argsort(-scores)
        keys, missed = scores[order], missed[order]
    ends = _ends(keys)
    if weights is None:
        # The smallest integers that hold a sum of two masses save memory.
        dtype = np.promote_types(missed.dtype, np.min_scalar_type(-2 * len(keys)))
        misses = _sums(missed, ends, dtype)
        ends -= misses
        return Groups(ends, misses)
    weights, scale = _scaled(weights[order])
    hits = _weight_sums(np.where(missed, 0.0, weights), ends)
    misses = _weight_sums(np.where(missed, weights, 0.0), ends)
    return Groups(hits, misses, max(scale, len(order) / (hits + misses)[-1]))


def loss_groups(
    scores: np.ndarray, losses: np.ndarray, weights: np.ndarray | None = None
) -> Groups:
    """Groups examples by score, as `groups` does, with finite losses >= 0, float64 [N],
    instead of outcomes.
    """
    order = np.argsort(-scores)
    ends = _ends(scores[order])
    exponent = int(np.frexp(np.max(losses))[1])
    fractions = np.ldexp(losses[order], -exponent)  # No sum overflows.
    masses, unit = ends, 1.0
    if weights is not None:
        weights, scale = _scaled(weights[order])
        masses, fractions = _weight_sums(weights, ends), weights * fractions
        unit = max(scale, len(order) / masses[-1])
    misses = _weight_sums(fractions, ends)
    result = Groups(masses - misses, misses, unit, exponent)
    result.__dict__["masses"] = masses  # `hits + misses` would be rounded.
    return result


def _ends(ordered: np.ndarray) -> np.ndarray:
    """Returns 0 and the end of each group of equal values."""
    bounds = np.ones(len(ordered) + 1, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=bounds[1:-1])
    return np.flatnonzero(bounds)


def _scaled(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns scaled weights, whose sums multiply without overflow, and the scale."""
    exponent = np.frexp(np.max(weights))[1] - 1
    return np.ldexp(weights, -exponent), 2.0**exponent


def _counted(
    outcomes_name: str,
    outcomes: Any,
    scores_name: str,
    scores: Any,
    sample_weight: Any,
    ignore_index: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, _inputs.Place]:
    """Returns unchecked scores, outcomes and weights [N], without examples of weight 0
    or of the ignored label, which may hold anything; and where they stand.
    """
    outcomes = _inputs.as_array(outcomes_name, outcomes)
    scores = _inputs.as_array(scores_name, scores)
    _checks.paired(scores_name, scores.shape, outcomes_name, outcomes.shape)
    shape, outcomes, scores = outcomes.shape, outcomes.reshape(-1), scores.reshape(-1)
    weights = counted = None
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape)
        counted = weights > 0
    if ignore_index is not None:
        not_ignored = ~_inputs.is_ignored(outcomes, ignore_index)
        counted = not_ignored if counted is None else counted & not_ignored
    if counted is not None:
        if not np.any(counted):
            raise _checks.error(
                outcomes_name,
                "at least one example of positive weight that is not ignored",
                "none",
                verb="hold",
            )
        outcomes, scores = outcomes[counted], scores[counted]
        weights = None if weights is None else weights[counted]
    return scores, outcomes, weights, _inputs.Place(shape, counted)


def _finite(name: str, scores: np.ndarray, place: _inputs.Place) -> np.ndarray:
    return _inputs.finite(name, floating(scores), single=True, place=place)


def loss_examples(
    losses: Any, confidences: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, losses and weights [N], the arguments of `loss_groups`."""
    scores, losses, weights, place = _counted(
        "losses", losses, "confidences", confidences, sample_weight
    )
    losses = _inputs.finite("losses", losses, place=place)
    if np.any(losses < 0):
        received = _inputs.first(losses < 0, losses, place)
        raise _checks.error("losses", ">= 0", received)
    return _finite("confidences", scores, place), losses, weights


def examples(
    outcomes_name: str,
    outcomes: Any,
    scores_name: str,
    scores: Any,
    sample_weight: Any = None,
    ignore_index: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, boolean outcomes and weights [N], the arguments of `groups`.

    Examples of weight 0 or of the ignored label are left out before the others are
    checked.
    """
    return placed_examples(
        outcomes_name, outcomes, scores_name, scores, sample_weight, ignore_index
    )[:3]


def placed_examples(
    outcomes_name: str,
    outcomes: Any,
    scores_name: str,
    scores: Any,
    sample_weight: Any = None,
    ignore_index: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, _inputs.Place]:
    """Returns what `examples` returns, and where these examples stand."""
    scores, outcomes, weights, place = _counted(
        outcomes_name, outcomes, scores_name, scores, sample_weight, ignore_index
    )
    positive = outcomes == 1
    bad = ~(positive | (outcomes == 0))
    if np.any(bad):
        fractional = _inputs.is_floating(outcomes) and np.any(
            outcomes != np.floor(outcomes)
        )
        if fractional and np.all((scores == 0) | (scores == 1)):
            raise _checks.plain_error(
                _checks.SWAPPED,
                f"fractions as `{outcomes_name}`, zeros and ones as `{scores_name}`",
            )
        expected = "0 or 1" + _inputs.label_hint(outcomes, 2)
        if outcomes_name == "correct" and fractional and expected == "0 or 1":
            expected += "; of grades functions with `losses` take 1 - grade as losses"
        received = _inputs.first(bad, outcomes, place)
        raise _checks.error(outcomes_name, expected, received)
    return _finite(scores_name, scores, place), positive, weights, place
