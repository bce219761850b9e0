"""Divergences and distances of the predictions of two models, on tensors.

Declared in `uncertainty_metrics.numpy.ensemble.distances`.
"""

from __future__ import annotations

import math

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.ensemble import _predictions
from uncertainty_metrics.numpy.ensemble import distances as np_distances
from uncertainty_metrics.ops import _member_pairs, _members, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = np_distances.__all__


def _finite(first: xp.Tensor, second: xp.Tensor) -> xp.Tensor:
    """Returns whether both rows [..., K] are finite, for each pair of rows."""
    finite = xp.math.is_finite(first) & xp.math.is_finite(second)
    return xp.reduce_all(finite, axis=-1)


@twin(np_distances.kl_divergence)
def kl_divergence(p, q, *, aggregate):
    _checks.boolean("aggregate", aggregate)
    p, q = _members.pair(("p", "q"), (p, q), size=2)
    right = _finite(p, q) & xp.reduce_all((p >= 0) & (q >= 0), axis=-1)
    # Values of p for which q / p would overflow count as 0.
    positive = p >= _members.tiny(p.dtype) * xp.maximum(q, 1)
    p = xp.where(positive, p, xp.zeros_like(p))
    some = xp.where(positive, p, xp.ones_like(p))
    divergences = _member_pairs.divergence(
        p, q, (q - some) / some, xp.math.log(q / some)
    )
    return _members.aggregated(divergences, right, aggregate)


@twin(np_distances.logit_kl_divergence)
def logit_kl_divergence(logits_1, logits_2, *, aggregate):
    _checks.boolean("aggregate", aggregate)
    pair = _members.pair(("logits_1", "logits_2"), (logits_1, logits_2))
    first, second = (_members.classes(logits, from_logits=True) for logits in pair)
    right = _members.usable(first) & _members.usable(second)
    divergences = _member_pairs.logit_divergence(first, second)
    return _members.aggregated(divergences, right, aggregate)


def _scaled(vectors: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns vectors divided by their largest absolute entry, and this entry."""
    scale = xp.reduce_max(xp.abs(vectors), axis=-1, keepdims=True)
    scale = xp.stop_gradient(scale)
    return vectors / xp.where(scale > 0, scale, xp.ones_like(scale)), scale


def _lp_norm(vectors: xp.Tensor, order: float) -> xp.Tensor:
    """Returns the norms of vectors [..., K], whose gradient at 0 is 0."""
    if order == math.inf:
        return xp.reduce_max(xp.abs(vectors), axis=-1)
    # Powers of large numbers would overflow. Now the largest is 1, and the sum >= 1.
    vectors, scale = _scaled(vectors)
    total = xp.reduce_sum(xp.pow(xp.abs(vectors), order), axis=-1)
    return scale[..., 0] * xp.pow(xp.maximum(total, 1), 1 / order)


@twin(np_distances.lp_distance)
def lp_distance(x, y, p, *, aggregate):
    order = _predictions.check_order(p)
    _checks.boolean("aggregate", aggregate)
    x, y = _members.pair(("x", "y"), (x, y))
    return _members.aggregated(_lp_norm(x - y, order), _finite(x, y), aggregate)


def _direction(vectors: xp.Tensor) -> xp.Tensor:
    """Returns unit vectors [..., K], and zero for zero."""
    vectors, _ = _scaled(vectors)
    square = xp.reduce_sum(vectors * vectors, axis=-1, keepdims=True)
    return vectors * xp.math.rsqrt(xp.maximum(square, 1))


def _cosines(x, y, aggregate):
    """Returns the cosines of the angles, and whether they are right."""
    _checks.boolean("aggregate", aggregate)
    x, y = _members.pair(("x", "y"), (x, y))
    cosines = xp.reduce_sum(_direction(x) * _direction(y), axis=-1)
    cosines = xp.clip_by_value(cosines, -1, 1)
    return _members.aggregated(cosines, _finite(x, y), aggregate)


@twin(np_distances.cosine_similarity)
def cosine_similarity(x, y, *, aggregate):
    return _cosines(x, y, aggregate)


@twin(np_distances.cosine_distance)
def cosine_distance(x, y, *, aggregate):
    cosines, right = _cosines(x, y, aggregate)
    return 1 - cosines, right
