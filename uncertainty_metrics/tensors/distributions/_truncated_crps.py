"""The CRPS of truncated and censored normals: see `_closed_form_crps`.

Their closed forms are differences of terms as large as the inverse of the squared width
of a window, or of the distance to a tail, and lose all digits there: of a Normal of
scale 1e6 between 0 and 1 the formula gives 340 for 0.29. So the integral of
(F - 1[x >= y])^2 is computed: between the ends, the mode and the label, panel by panel,
F is the integral of the polynomial through the density at Gauss-Legendre nodes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from uncertainty_metrics.ops import _polynomials
from uncertainty_metrics.tensors.distributions import _crps_parameters as _parameters

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution
    from uncertainty_metrics.tensors.distributions._crps_parameters import Score

# The density is cut where it is e^-28 of the density at the mode, and 24 nodes resolve
# the rest: both cause relative errors of 2e-12.
_DROP = 28.0
_NUM_NODES = 24


@functools.cache
def _integration() -> np.ndarray:
    """Returns a matrix M to integrate with.

    If v are values at the Gauss-Legendre nodes on [0, 1], v M are the integrals of
    their polynomial from 0 to each node.
    """
    n = _NUM_NODES
    nodes, weights = np.polynomial.legendre.leggauss(n)
    legendre = np.polynomial.legendre.legvander(nodes, n)
    degree = np.arange(n)
    coefficients = (degree + 0.5)[:, None] * legendre[:, :n].T * weights
    # The integral of P_k from -1 is (P_{k + 1} - P_{k - 1}) / (2 k + 1).
    before = np.concatenate([-np.ones([n, 1]), legendre[:, : n - 1]], axis=1)
    integrals = (legendre[:, 1:] - before) / (2 * degree + 1)
    return (integrals @ coefficients).T / 2


def _reach(slope: tf.Tensor) -> tf.Tensor:
    """Returns how far from the mode, in scales, the density drops by `_DROP`."""
    return 2 * _DROP / (slope + tf.sqrt(tf.square(slope) + 2 * _DROP))


def _score(
    y: tf.Tensor,
    truncated: Distribution,
    weight: tf.Tensor,
    points: list[tuple[tf.Tensor, tf.Tensor]],
) -> Score:
    """Returns the score of a weighted TruncatedNormal and points with weights."""
    loc, right_loc = _parameters.finite(truncated.loc, y)
    scale, right_scale = _parameters.positive(truncated.scale, y)
    low, high = (
        _parameters.parameter(end, y) for end in (truncated.low, truncated.high)
    )
    valid = right_loc & right_scale & (low < high)
    low = tf.where(valid, low, loc - scale)
    high = tf.where(valid, high, loc + scale)
    mode = tf.minimum(tf.maximum(loc, low), high)
    slope = (mode - loc) / scale

    def from_mode(place: tf.Tensor) -> tf.Tensor:
        return (place - mode) / scale

    def reached(end: tf.Tensor, sign: float) -> tf.Tensor:
        limit = sign * _reach(tf.nn.relu(sign * slope))
        finite = tf.math.is_finite(end)
        offset = from_mode(tf.where(finite, end, mode))
        nearer = tf.where(sign * offset < sign * limit, offset, limit)
        return tf.where(finite, nearer, limit)

    low, high = reached(low, -1.0), reached(high, 1.0)

    def beside(place: tf.Tensor) -> tf.Tensor:
        # A place at an end is moved by a rounding error, so that the end bounds the
        # density.
        place = from_mode(place)
        nudge = np.finfo(np.float64).eps * (tf.abs(place) + 1e-3 * (high - low))
        nudge = tf.stop_gradient(nudge)
        above, below = (tf.cast(place == end, y.dtype) for end in (high, low))
        return place + nudge * (above - below)

    y_offset = beside(y)
    points = [(beside(place), mass) for place, mass in points]
    # The label comes after marks that equal it: F is continuous from the right.
    places = [place for place, _ in points]
    marks = tf.stack([low, tf.zeros_like(y), high, *places, y_offset], axis=-1)
    marks = tf.sort(marks, axis=-1)
    start, end = marks[..., :-1], marks[..., 1:]

    def column(value: tf.Tensor) -> tf.Tensor:
        return value[..., tf.newaxis]

    inside = (start >= column(low)) & (end <= column(high))
    zero = tf.zeros_like(start)
    length, first = tf.where(inside, end - start, zero), tf.where(inside, start, zero)
    nodes, weights = _polynomials.gauss_legendre(_NUM_NODES)
    offset = column(first) + column(length) * nodes
    density = tf.exp(-offset * (column(column(slope)) + offset / 2))
    parts = length * tf.tensordot(density, weights, 1)
    within = column(length) * tf.tensordot(density, _integration(), 1)
    before = tf.cumsum(parts, axis=-1, exclusive=True)
    total = tf.reduce_sum(parts, axis=-1, keepdims=True)
    share = (column(before) + within) / column(total)

    below = column(column(weight)) * share
    above = column(column(weight)) * (1 - share)
    for place, mass in points:
        passed = tf.where(column(place) <= start, column(mass), zero)
        below += column(passed)
        above += column(column(mass) - passed)
    off = tf.where(column(end <= column(y_offset)), below, above)
    score = tf.tensordot(tf.square(off), weights, 1) * (end - start)
    return scale * tf.reduce_sum(score, axis=-1), valid


@_parameters.in_double
def truncated_normal(y: tf.Tensor, distribution: Distribution) -> Score:
    return _score(y, distribution, tf.ones_like(y), [])


@_parameters.in_double
def censored_normal(y: tf.Tensor, distribution: Distribution) -> Score:
    """Returns the score of a Mixture of one TruncatedNormal and some Deterministic."""
    masses, valid = _parameters.probabilities(distribution.cat.probs_parameter(), y)
    weights = [_parameters.parameter(mass, y) for mass in tf.unstack(masses, axis=-1)]
    points = []
    for mass, component in zip(weights, distribution.components, strict=True):
        if hasattr(component, "low"):
            weight, truncated = mass, component
        else:
            place, right = _parameters.finite(component.loc, y)
            points.append((place, mass))
            valid &= right
    score, right = _score(y, truncated, weight, points)
    return score, valid & right
