"""Divergences between the predictions of two members, and between all pairs of them."""

from __future__ import annotations

import functools
import math

import numpy as np

from uncertainty_metrics.numpy.ensemble.distances import NEAR
from uncertainty_metrics.ops import _execution, _members, _polynomials, _sums, xp

# The number of terms of the series of x - log(1 + x); more would be lost in rounding.
_TERMS = {xp.float32: 12, xp.float64: 29}


@functools.cache
def _excess_series(num_terms: int) -> list[float]:
    """Returns the coefficients c of `x - log(1 + x) = x^2 sum_k c_k x^k`, |x| < NEAR.

    They are those of the Chebyshev series, as powers of x: two thirds as many terms as
    of the Taylor series give the same accuracy.
    """
    taylor = np.polynomial.Polynomial([(-1) ** k / (k + 2) for k in range(60)])
    interval = [-NEAR, NEAR]
    series = taylor.convert(domain=interval, kind=np.polynomial.Chebyshev)
    return (
        series.truncate(num_terms).convert(kind=np.polynomial.Polynomial).coef.tolist()
    )


def _log_excess(x: xp.Tensor, log: xp.Tensor) -> xp.Tensor:
    """Returns `x - log(1 + x)`, to full precision near x = 0, given log(1 + x)."""
    near = xp.abs(x) < NEAR
    inner = xp.where(near, x, xp.zeros_like(x))
    # The powers are of x itself: those of a quotient, which converge faster, XLA would
    # write to memory and read again.
    series = _polynomials.horner(inner, _excess_series(_TERMS[x.dtype]))
    return xp.where(near, inner * inner * series, x - log)


def divergence(p: xp.Tensor, q: xp.Tensor, x: xp.Tensor, log: xp.Tensor) -> xp.Tensor:
    """Returns sum_k p log(p / q) - p + q.

    Args:
      p: [..., K]; numbers below the smallest normal number count as 0.
      q: [..., K].
      x: q / p - 1, [..., K]; any number where p counts as 0.
      log: log(q / p), [..., K]; any number where p counts as 0.
    """
    terms = xp.where(p >= _members.tiny(p.dtype), p * _log_excess(x, log), q)
    return xp.reduce_sum(terms, axis=-1)


def logit_divergence(logits_1: xp.Tensor, logits_2: xp.Tensor) -> xp.Tensor:
    """Returns the divergences of logits [..., K]."""
    arrays, norms, shifted, lost = [], [], [], []
    for logits in (logits_1, logits_2):
        # The top is subtracted before anything else: the difference of two rows may be
        # small beside their tops.
        top = xp.reduce_max(logits, axis=-1, keepdims=True)
        below, rounding = _sums.two_sum(logits, -top)
        shifted.append(below)
        lost.append(rounding)
        exponentials = xp.exp(below)
        norms.append(xp.reduce_sum(exponentials, axis=-1, keepdims=True))
        arrays.append(exponentials / norms[-1])
    p, q = arrays
    positive = p >= _members.tiny(p.dtype)
    first, second = [xp.where(positive, x, xp.zeros_like(x)) for x in shifted]
    # Differences of close logits are exact; of their logarithmic softmax they are not.
    log, rounding = _sums.two_sum(second, -first)
    rounding = rounding + (lost[1] - lost[0])
    rounding = xp.where(xp.math.is_finite(rounding), rounding, xp.zeros_like(rounding))
    log = log + (xp.stop_gradient(rounding) - xp.math.log(norms[1] / norms[0]))
    x = xp.math.expm1(log)
    # The norms are rounded, and all classes share that error: so q - p sums to `shift`
    # and not to 0.
    shift = xp.reduce_sum(xp.where(positive, p * x, q), axis=-1)
    excess = _log_excess(shift, xp.math.log1p(shift))
    divergences = xp.maximum(divergence(p, q, x, log) - excess, 0)
    # A probability that is rounded to 0 is not 0.
    only_in_1 = xp.reduce_any((logits_1 > -np.inf) & (logits_2 == -np.inf), axis=-1)
    return xp.where(only_in_1, xp.constant(np.inf, divergences.dtype), divergences)


def _pair_terms(
    p: xp.Tensor, scales: xp.Tensor, tops: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the elementwise terms of the diversities of all pairs of members, written
    as XLA compiles them best.

    `numpy.ensemble.diversity._diversity`, the twin, explains the arithmetic.

    Args:
      p: probabilities [M, N, K].
      scales: [M, N].
      tops: the largest probabilities, [M, N].

    Returns:
      The terms of the sum of the divergences, the sum of p times scales, and the number
      of members whose largest probability is that of the class; [N, K].
    """
    m, tiny = p.shape[0], _members.tiny(p.dtype)
    rows = [p[i] for i in range(m)]
    center = xp.add_n(rows) / m
    one, zero = xp.ones_like(center), xp.zeros_like(center)
    inverse = 1 / xp.where(center >= tiny, center, one)
    terms = earlier = seen = lost = zero
    for i, row in enumerate(rows):  # Over few members, not over all their pairs.
        positive = row >= tiny
        t = (row - center) * inverse
        log = xp.math.log(xp.where(positive, row * inverse, one))
        e = xp.where(positive, _log_excess(t, log), t)
        terms = terms + ((t - e) * ((m - 1 - i) * t - earlier) - (m - 1 - 2 * i) * e)
        earlier = earlier + t
        # Is the class impossible, but was possible for an earlier member?
        lost = xp.maximum(lost, xp.where(positive, zero, seen))
        seen = xp.where(positive, one, seen)
    terms = xp.where(lost > 0, xp.constant(math.inf, p.dtype), center * terms)
    directions = xp.add_n([rows[i] * scales[i, :, None] for i in range(m)])
    hits = [xp.cast(rows[i] >= tops[i, :, None], p.dtype) for i in range(m)]
    return terms, directions, xp.add_n(hits)


def _norms(p: xp.Tensor) -> xp.Tensor:
    """Returns the Euclidean norms of [M, N, K] over the last axis."""
    if _execution.is_eager():  # No squares in memory; XLA has no such operation.
        return xp.math.reduce_euclidean_norm(p, axis=-1)
    # The squares of a member at a time take less memory.
    squares = [xp.reduce_sum(row * row, axis=-1) for row in xp.unstack(p)]
    return xp.sqrt(xp.stack(squares))


def diversities(p: xp.Tensor) -> xp.Tensor:
    """Returns disagreement, KL divergence and cosine similarity of probabilities
    [M, N, K], means over the pairs i < j, [3, N].
    """
    m, _, num_classes = p.shape
    pair_terms = _execution.with_xla_if_large(p, _pair_terms)
    pairs = m * (m - 1) / 2
    norms = _norms(p)
    inverse = xp.math.divide_no_nan(xp.ones_like(norms), norms)
    terms, directions, hits = pair_terms(p, inverse, xp.reduce_max(p, axis=-1))
    divergences = xp.maximum(xp.reduce_sum(terms, axis=-1), 0) / pairs
    nonzero = xp.reduce_sum(xp.cast(norms > 0, p.dtype), axis=0)
    cosines = (xp.reduce_sum(directions * directions, axis=-1) - nonzero) / (2 * pairs)

    def votes_of_decisions():
        decisions = xp.transpose(xp.argmax(p, axis=-1, output_type=xp.int32))
        return xp.reduce_sum(_members.votes(decisions, num_classes, p.dtype), axis=-1)

    # The argmax takes longer, and only ties need it: the lowest class wins.
    same = xp.cond(
        xp.reduce_all(xp.reduce_sum(hits, axis=-1) == m),
        lambda: xp.reduce_sum(hits * hits, axis=-1),
        votes_of_decisions,
    )
    return xp.stack([(m * m - same) / (2 * pairs), divergences, cosines])
