"""Predictions of the members of an ensemble, and what is read off them.

The functions and the Keras metrics are made of it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics.numpy.ensemble import _predictions, uncertainty
from uncertainty_metrics.tensorflow import _inputs, _special, _sums

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def floating(name: str, value: Any) -> tf.Tensor:
    tensor = _inputs.as_tensor(name, value)
    return tensor if tensor.dtype.is_floating else tf.cast(tensor, tf.float32)


def tiny(dtype: tf.DType) -> float:
    """Returns the smallest normal number; what is below may count as 0."""
    return float(np.finfo(dtype.as_numpy_dtype).tiny)


def classes(predictions: tf.Tensor, from_logits: bool) -> tf.Tensor:
    """Returns float32 or float64 predictions of all classes, of those [..., K] or of
    class 1.
    """
    values = tf.cast(predictions, _inputs.sum_dtype(predictions))
    if values.shape[-1] > 1:
        return values
    if not from_logits:
        values = tf.minimum(values, 1)
    other = tf.zeros_like(values) if from_logits else 1 - values
    return tf.concat([other, values], axis=-1)


def usable(logits: tf.Tensor) -> tf.Tensor:
    """Returns whether each row is finite, or -inf for some classes."""
    # Plain reductions are several times as fast as one of comparisons.
    total = tf.reduce_sum(logits, axis=-1)  # NaN if one of them is.
    return tf.math.is_finite(tf.reduce_max(logits, axis=-1)) & ~tf.math.is_nan(total)


def pair(
    names: tuple[str, str], values: tuple[TensorLike, TensorLike], **least: int
) -> list[tf.Tensor]:
    """Returns two tensors [..., K] of the same shape and type."""
    tensors = [_inputs.as_tensor(*given) for given in zip(names, values, strict=True)]
    shapes = [tensor.shape for tensor in tensors]
    _predictions.check_pair(names, shapes, **least)
    dtype = _inputs.predictions_dtype(*tensors)
    shape = shapes[0].merge_with(shapes[1])
    return [tf.cast(tf.ensure_shape(tensor, shape), dtype) for tensor in tensors]


def aggregated(
    values: tf.Tensor, right: tf.Tensor, aggregate: bool = True
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the mean of the values, or all of them, and whether they are right."""
    if not aggregate:
        return values, right
    values = tf.where(right, values, tf.zeros_like(values))
    return _sums.mean(tf.reshape(values, [-1]), None), tf.reduce_all(right)


@dataclasses.dataclass(frozen=True)
class Members:
    """Predictions of N examples, their values unchecked.

    Attributes:
      predictions: floating [N, M, K], or [N, M, 1] of class 1, as they were passed.
      from_logits: whether they are logits.
    """

    predictions: tf.Tensor
    from_logits: bool

    @functools.cached_property
    def classes(self) -> tf.Tensor:
        """Logits or probabilities [N, M, K], in the precision of the arithmetic."""
        return classes(self.predictions, self.from_logits)

    @functools.cached_property
    def probabilities(self) -> tf.Tensor:
        """The probabilities [N, M, K]; any number where they are not right."""
        if self.from_logits:
            return tf.nn.softmax(self.classes)
        return tf.minimum(self.classes, 1)  # Rounding may make more of 1.

    @property
    def right(self) -> tf.Tensor:
        """Boolean [N], whether all predictions of an example are in their range."""
        if not self.from_logits:
            return tf.reduce_all(_inputs.rows_in_range(self.predictions), axis=-1)
        if "probabilities" in self.__dict__:  # The softmax of wrong logits is NaN.
            return ~tf.math.is_nan(tf.reduce_sum(self.probabilities, axis=[1, 2]))
        return tf.reduce_all(usable(self.classes), axis=-1)

    def mistaken(self, live: tf.Tensor | None = None) -> tf.Tensor:
        """Says if logits are surely probabilities; `live` [N] says which count."""
        if not self.from_logits:
            return tf.constant(False)
        return _inputs.are_probabilities(self.predictions, live)

    @property
    def count(self) -> tf.Tensor:
        """The number of members, in the precision of the arithmetic."""
        return tf.cast(tf.shape(self.predictions)[1], self.classes.dtype)


def members_before_classes(name: str, predictions: tf.Tensor, axis: Any) -> tf.Tensor:
    """Returns the predictions as [..., M, K]."""
    axis = _predictions.check_members(name, predictions.shape, axis)
    rank = predictions.shape.rank
    if axis == rank - 2:
        return predictions
    others = [i for i in range(rank - 1) if i != axis]
    return tf.transpose(predictions, [*others, axis, rank - 1])


def flat_members(predictions: tf.Tensor) -> tf.Tensor:
    """Returns predictions [..., M, K] as [N, M, K], floating."""
    if not predictions.dtype.is_floating:
        predictions = tf.cast(predictions, tf.float32)
    members, classes = predictions.shape[-2:]
    if members is None:
        members = tf.shape(predictions)[-2]
    return tf.reshape(predictions, [-1, members, classes])


def _entropy(p: tf.Tensor) -> tf.Tensor:
    """Returns the entropy over the last axis, of p that rounding may put above 1."""
    return 0 - tf.reduce_sum(tf.math.xlogy(p, tf.minimum(p, 1)), axis=-1)  # No -0.0.


def _rounded(members: Members) -> tf.Tensor:
    """Returns the probabilities, which may be above 1 by what float32 rounds off."""
    if members.from_logits or members.predictions.dtype.size < 4:
        return members.probabilities
    return members.classes  # XLA on CPU makes slow code of a minimum that is shared.


def total_entropies(members: Members) -> tf.Tensor:
    """Returns the entropy of the mean of the members, [N]."""
    return _entropy(tf.reduce_mean(_rounded(members), axis=1))


def expected_entropies(members: Members) -> tf.Tensor:
    """Returns the mean of the members' entropies, [N]."""
    return tf.reduce_mean(_entropy(_rounded(members)), axis=1)


def information(members: Members) -> tf.Tensor:
    """Returns mutual information, total and expected entropy, [3, N]."""
    total, expected = total_entropies(members), expected_entropies(members)
    difference = tf.where(members.count > 1, total - expected, tf.zeros_like(total))
    return tf.stack([tf.maximum(difference, 0), total, expected])


def mutual_information(members: Members) -> tf.Tensor:
    """Returns what the members' disagreement adds to the entropy, [N]."""
    return information(members)[0]


def votes(decisions: tf.Tensor, num_classes: int, dtype: tf.DType) -> tf.Tensor:
    """Returns how many of the decisions [N, M] of an example are as each is, [N, M]."""
    n = tf.shape(decisions)[0]
    cells = decisions + num_classes * tf.range(n)[:, None]
    flat = tf.reshape(cells, [-1])
    votes = tf.math.unsorted_segment_sum(tf.ones_like(flat), flat, n * num_classes)
    return tf.cast(tf.gather(votes, cells), dtype)


def _member_votes(members: Members) -> tf.Tensor:
    classes = members.classes
    decisions = tf.argmax(classes, axis=-1, output_type=tf.int32)
    return votes(decisions, classes.shape[-1], classes.dtype)


def disagreements(members: Members) -> tf.Tensor:
    """Returns the share of pairs of members that decide differently, [N]."""
    m = members.count
    different = m * m - tf.reduce_sum(_member_votes(members), axis=-1)
    return tf.math.divide_no_nan(different, m * (m - 1))


def variation_ratios(members: Members) -> tf.Tensor:
    """Returns the share of the members that are not for the modal class, [N]."""
    return 1 - tf.reduce_max(_member_votes(members), axis=-1) / members.count


def member_uncertainties(members: Members) -> tf.Tensor:
    """Returns one less the mean confidence of the members, [N]."""
    confidences = tf.reduce_max(members.probabilities, axis=-1)
    return 1 - tf.reduce_mean(confidences, axis=1)


def _digamma_series(a: tf.Tensor) -> tf.Tensor:
    """Returns `digamma(a + 1) - log(a)` for a >= SERIES_FROM."""
    inverse = 1 / a
    square = inverse * inverse
    series = _special.horner(square, uncertainty.DIGAMMA_SERIES)
    return inverse / 2 - square * series


def _digamma_of_next(a: tf.Tensor) -> tf.Tensor:
    """Returns `digamma(a + 1)` for 0 <= a <= SERIES_FROM."""
    # TensorFlow's digamma has but five digits near its zero.
    steps = range(1, uncertainty.SERIES_FROM + 1)
    shifted = a + uncertainty.SERIES_FROM
    return (
        tf.math.log(shifted)
        + _digamma_series(shifted)
        - tf.add_n([1 / (a + step) for step in steps])
    )


def dirichlet_parts(
    values: tf.Tensor, from_logits: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns knowledge, total and expected data uncertainty, [3, ...], of alphas or of
    their logarithms [..., K], and which of them are right, [...].

    The twin of `numpy.ensemble.uncertainty._dirichlet_parts`; says how there.
    """
    start = tf.constant(uncertainty.SERIES_FROM, values.dtype)
    top = tf.reduce_max(values, axis=-1, keepdims=True)
    if from_logits:
        alphas, log_alphas, log_top = tf.exp(values), values, top
        shares = tf.exp(values - top)
    else:
        alphas, log_alphas, log_top = values, tf.math.log(values), tf.math.log(top)
        shares = values / top
    norm = tf.reduce_sum(shares, axis=-1, keepdims=True)
    shares /= norm
    total_alphas = (tf.exp(top) if from_logits else top) * norm

    def small(a):
        return _digamma_of_next(tf.minimum(a, start))

    def excess(a, log_a):
        series = _digamma_series(tf.maximum(a, start))
        return tf.where(a < start, small(a) - log_a, series)

    total = _entropy(shares)
    gaps = excess(alphas, log_alphas)
    gaps -= excess(total_alphas, log_top + tf.math.log(norm))
    large = tf.reduce_sum(shares * gaps, axis=-1)
    differences = small(alphas) - small(total_alphas)
    tiny = total + tf.reduce_sum(shares * differences, axis=-1)
    knowledge = tf.where(total_alphas[..., 0] < start, tiny, large)
    knowledge = tf.clip_by_value(knowledge, 0, total)
    right = tf.math.is_finite(values)
    if not from_logits:
        right &= values > 0
    parts = tf.stack([knowledge, total, total - knowledge])
    return parts, tf.reduce_all(right, axis=-1)


def label_probabilities(members: Members, labels: tf.Tensor) -> tf.Tensor:
    """Returns p_m of labels [N] of each member, its logarithm from logits, [N, M]."""
    shape = tf.shape(members.predictions)[:2]
    classes = members.classes if members.from_logits else members.probabilities
    rows = tf.reshape(classes, [-1, classes.shape[-1]])
    labels = tf.reshape(tf.broadcast_to(labels[:, None], shape), [-1])
    if not members.from_logits:
        return tf.reshape(_inputs.take(rows, labels), shape)
    return -tf.reshape(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, rows), shape
    )


def ensemble_likelihoods(members: Members, labels: tf.Tensor) -> tf.Tensor:
    """Returns -log of the mean of p_m of the labels [N], [N]."""
    at_labels = label_probabilities(members, labels)
    if members.from_logits:
        scores = tf.math.log(members.count) - tf.reduce_logsumexp(at_labels, axis=1)
    else:
        # Not by way of the logarithms: that of 0 has no useful derivative.
        scores = -tf.math.log(tf.reduce_mean(at_labels, axis=1))
    return tf.maximum(scores, 0)


def gibbs_likelihoods(members: Members, labels: tf.Tensor) -> tf.Tensor:
    """Returns the mean of -log p_m of the labels [N], [N]."""
    at_labels = label_probabilities(members, labels)
    if not members.from_logits:
        at_labels = tf.math.log(at_labels)
    return tf.maximum(-tf.reduce_mean(at_labels, axis=1), 0)
