"""What the predictions of two members, or of all pairs of them, differ by."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy.ensemble.distances import NEAR
from uncertainty_metrics.tensorflow import _special, _sums
from uncertainty_metrics.tensorflow.ensemble import _members

# From so many numbers on compiling takes less time than it saves.
_LARGE = 2**24
# Terms of the series of x - log(1 + x) that are not lost in rounding.
_TERMS = {tf.float32: 12, tf.float64: 29}


@functools.cache
def _excess_series(num_terms: int) -> list[float]:
    """Returns the coefficients c of `x - log(1 + x) = x^2 sum_k c_k x^k`, |x| < NEAR.

    Of the Taylor series, economised: with the terms of the Chebyshev series instead of
    its own, two thirds as many give the same accuracy.
    """
    taylor = np.polynomial.Polynomial([(-1) ** k / (k + 2) for k in range(60)])
    interval = [-NEAR, NEAR]
    series = taylor.convert(domain=interval, kind=np.polynomial.Chebyshev)
    return (
        series.truncate(num_terms).convert(kind=np.polynomial.Polynomial).coef.tolist()
    )


def _log_excess(x: tf.Tensor, log: tf.Tensor) -> tf.Tensor:
    """Returns `x - log(1 + x)`, to full precision near x = 0, given log(1 + x)."""
    near = tf.abs(x) < NEAR
    inner = tf.where(near, x, tf.zeros_like(x))
    # Powers of x: those of a quotient XLA would write to memory and read again.
    series = _special.horner(inner, _excess_series(_TERMS[x.dtype]))
    return tf.where(near, inner * inner * series, x - log)


def divergence(p: tf.Tensor, q: tf.Tensor, x: tf.Tensor, log: tf.Tensor) -> tf.Tensor:
    """Returns sum_k p log(p / q) - p + q, given x = q / p - 1 and log(q / p); of both
    where p is not normal, and counts as 0, anything.
    """
    terms = tf.where(p >= _members.tiny(p.dtype), p * _log_excess(x, log), q)
    return tf.reduce_sum(terms, axis=-1)


def logit_divergence(logits_1: tf.Tensor, logits_2: tf.Tensor) -> tf.Tensor:
    """Returns the divergences of logits [..., K]."""
    arrays, norms, shifted, lost = [], [], [], []
    for logits in (logits_1, logits_2):
        # First of all, for what two rows differ by may be nothing beside their tops.
        top = tf.reduce_max(logits, axis=-1, keepdims=True)
        below, rounding = _sums.two_sum(logits, -top)
        shifted.append(below)
        lost.append(rounding)
        exponentials = tf.exp(below)
        norms.append(tf.reduce_sum(exponentials, axis=-1, keepdims=True))
        arrays.append(exponentials / norms[-1])
    p, q = arrays
    positive = p >= _members.tiny(p.dtype)
    first, second = [tf.where(positive, x, tf.zeros_like(x)) for x in shifted]
    # Differences of near logits are exact, those of their logarithmic softmax are not.
    log, rounding = _sums.two_sum(second, -first)
    rounding += lost[1] - lost[0]
    rounding = tf.where(tf.math.is_finite(rounding), rounding, tf.zeros_like(rounding))
    log += tf.stop_gradient(rounding) - tf.math.log(norms[1] / norms[0])
    x = tf.math.expm1(log)
    # The rounding of the norms, which all classes share: the sum of q - p, and not 0.
    shift = tf.reduce_sum(tf.where(positive, p * x, q), axis=-1)
    excess = _log_excess(shift, tf.math.log1p(shift))
    return tf.maximum(divergence(p, q, x, log) - excess, 0)


def _pair_terms(
    p: tf.Tensor, scales: tf.Tensor, tops: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns what of the pairs of members is elementwise, as XLA compiles it best.

    The twin of `numpy.ensemble.diversity._diversity`; says how there.

    Args:
      p: probabilities [M, N, K].
      scales: [M, N].
      tops: the largest probabilities, [M, N].

    Returns:
      The terms of the sum of the divergences, the sum of p times scales, and how many
      members have their largest probability there; [N, K].
    """
    m, tiny = p.shape[0], _members.tiny(p.dtype)
    rows = [p[i] for i in range(m)]
    center = tf.add_n(rows) / m
    one, zero = tf.ones_like(center), tf.zeros_like(center)
    inverse = 1 / tf.where(center >= tiny, center, one)
    terms = earlier = seen = lost = zero
    for i, row in enumerate(rows):  # Not over pairs.
        positive = row >= tiny
        t = (row - center) * inverse
        log = tf.math.log(tf.where(positive, row * inverse, one))
        e = tf.where(positive, _log_excess(t, log), t)
        terms += (t - e) * ((m - 1 - i) * t - earlier) - (m - 1 - 2 * i) * e
        earlier += t
        # An impossible class that was possible for an earlier member.
        lost = tf.maximum(lost, tf.where(positive, zero, seen))
        seen = tf.where(positive, one, seen)
    terms = tf.where(lost > 0, tf.constant(math.inf, p.dtype), center * terms)
    directions = tf.add_n([rows[i] * scales[i, :, None] for i in range(m)])
    hits = [tf.cast(rows[i] >= tops[i, :, None], p.dtype) for i in range(m)]
    return terms, directions, tf.add_n(hits)


@functools.cache
def _compiled_pair_terms() -> Callable[..., tuple[tf.Tensor, ...]]:
    return tf.function(_pair_terms, jit_compile=True, autograph=False)


def _norms(p: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norms of [M, N, K] over the last axis."""
    if tf.executing_eagerly():  # Without the squares in memory; XLA does not know it.
        return tf.math.reduce_euclidean_norm(p, axis=-1)
    # The squares of a member at a time take less memory.
    squares = [tf.reduce_sum(row * row, axis=-1) for row in tf.unstack(p)]
    return tf.sqrt(tf.stack(squares))


def diversities(p: tf.Tensor) -> tf.Tensor:
    """Returns disagreement, KL divergence and cosine similarity of probabilities
    [M, N, K], means over the pairs i < j, [3, N].
    """
    m, n, num_classes = p.shape
    pair_terms: Callable[..., tuple[tf.Tensor, ...]] = _pair_terms
    if (
        n is not None
        and m * n * num_classes >= _LARGE
        and not tf.distribute.has_strategy()  # Where compiled functions fail on CPU.
    ):
        pair_terms = _compiled_pair_terms()
    pairs = m * (m - 1) / 2
    norms = _norms(p)
    inverse = tf.math.divide_no_nan(tf.ones_like(norms), norms)
    terms, directions, hits = pair_terms(p, inverse, tf.reduce_max(p, axis=-1))
    divergences = tf.maximum(tf.reduce_sum(terms, axis=-1), 0) / pairs
    nonzero = tf.reduce_sum(tf.cast(norms > 0, p.dtype), axis=0)
    cosines = (tf.reduce_sum(directions * directions, axis=-1) - nonzero) / (2 * pairs)

    def votes_for_the_lowest():
        decisions = tf.transpose(tf.argmax(p, axis=-1, output_type=tf.int32))
        return tf.reduce_sum(_members.votes(decisions, num_classes, p.dtype), axis=-1)

    # The argmax takes longer, and is needed for ties only.
    same = tf.cond(
        tf.reduce_all(tf.reduce_sum(hits, axis=-1) == m),
        lambda: tf.reduce_sum(hits * hits, axis=-1),
        votes_for_the_lowest,
    )
    return tf.stack([(m * m - same) / (2 * pairs), divergences, cosines])
