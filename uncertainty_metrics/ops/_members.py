"""Predictions of the members of an ensemble, and their uncertainties and scores.

The public functions and the Keras metrics call them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy.ensemble import _predictions, uncertainty
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _polynomials,
    _ranges,
    _sizes,
    _sums,
    is_floating,
    numpy_dtype,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


def floating(name: str, value: Any) -> xp.Tensor:
    """Returns the value as a tensor of floats."""
    tensor = _inputs.as_tensor(name, value)
    return tensor if is_floating(tensor) else xp.cast(tensor, xp.float32)


def tiny(dtype: xp.DType) -> float:
    """Returns the smallest normal number; compilers may take smaller ones for 0."""
    return float(np.finfo(numpy_dtype(dtype)).tiny)


def classes(predictions: xp.Tensor, from_logits: bool) -> xp.Tensor:
    """Returns float32 or float64 predictions of all classes, [..., K], given these or
    the predictions of class 1, [..., 1].
    """
    values = xp.cast(predictions, _inputs.sum_dtype(predictions))
    if values.shape[-1] > 1:
        return values
    if not from_logits:
        values = xp.minimum(values, 1)
    other = xp.zeros_like(values) if from_logits else 1 - values
    return xp.concat([other, values], axis=-1)


def usable(logits: xp.Tensor) -> xp.Tensor:
    """Returns whether each row of logits is finite, or -inf for some of the classes."""
    # Reductions of numbers are several times as fast as a reduction of comparisons.
    total = xp.reduce_sum(logits, axis=-1)  # NaN if one of the logits is.
    return xp.math.is_finite(xp.reduce_max(logits, axis=-1)) & ~xp.math.is_nan(total)


def pair(
    names: tuple[str, str], values: tuple[TensorLike, TensorLike], **least: int
) -> list[xp.Tensor]:
    """Returns the values as two tensors [..., K] of the same shape and type; `least` as
    for `check_pair` of the NumPy twin.
    """
    tensors = [_inputs.as_tensor(*given) for given in zip(names, values, strict=True)]
    shapes = [tensor.shape for tensor in tensors]
    _predictions.check_pair(names, shapes, **least)
    dtype = _inputs.predictions_dtype(*tensors)
    shape = [a if b is None else b for a, b in zip(*shapes, strict=True)]
    first, second = (
        xp.cast(xp.ensure_shape(tensor, shape), dtype) for tensor in tensors
    )
    return [_sizes.nan_unless_alike(first, second), second]


def aggregated(
    values: xp.Tensor, right: xp.Tensor, aggregate: bool = True
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns the mean of the values and whether all are right, a boolean scalar; or
    the values and whether each is right.
    """
    if not aggregate:
        return values, right
    values = xp.where(right, values, xp.zeros_like(values))
    return _sums.mean(xp.reshape(values, [-1]), None), xp.reduce_all(right)


@dataclasses.dataclass(frozen=True)
class Members:
    """Predictions of N examples, their values unchecked.

    Attributes:
      predictions: floating [N, M, K], or [N, M, 1] of class 1, as they were passed.
      from_logits: whether they are logits.
    """

    predictions: xp.Tensor
    from_logits: bool

    @lazy_property
    def classes(self) -> xp.Tensor:
        """Logits or probabilities [N, M, K], in the precision of the arithmetic."""
        return classes(self.predictions, self.from_logits)

    @lazy_property
    def probabilities(self) -> xp.Tensor:
        """The probabilities [N, M, K]; any number where they are not right."""
        if self.from_logits:
            return xp.nn.softmax(self.classes)
        return xp.minimum(self.classes, 1)  # Rounding may put some above 1.

    @property
    def right(self) -> xp.Tensor:
        """Boolean [N], whether all predictions of each example are in their range."""
        if not self.from_logits:
            return xp.reduce_all(_ranges.rows_in_range(self.predictions), axis=-1)
        if "probabilities" in self.__dict__:  # The softmax of wrong logits is NaN.
            return ~xp.math.is_nan(xp.reduce_sum(self.probabilities, axis=[1, 2]))
        return xp.reduce_all(usable(self.classes), axis=-1)

    def mistaken(self, counted: xp.Tensor | None = None) -> xp.Tensor:
        """Returns whether logits are surely probabilities; `counted`, boolean [N], is
        False for examples that do not count.
        """
        if not self.from_logits:
            return xp.constant(False)
        return _inputs.are_probabilities(self.predictions, counted)

    @property
    def count(self) -> xp.Tensor:
        """The number of members, in the precision of the arithmetic."""
        return xp.cast(xp.shape(self.predictions)[1], self.classes.dtype)


def members_before_classes(name: str, predictions: xp.Tensor, axis: Any) -> xp.Tensor:
    """Returns the predictions as [..., M, K]."""
    axis = _predictions.check_members(name, predictions.shape, axis)
    rank = len(predictions.shape)
    if axis == rank - 2:
        return predictions
    others = [i for i in range(rank - 1) if i != axis]
    return xp.transpose(predictions, [*others, axis, rank - 1])


def flat_members(predictions: xp.Tensor) -> xp.Tensor:
    """Returns predictions [..., M, K] as [N, M, K], floating."""
    if not is_floating(predictions):
        predictions = xp.cast(predictions, xp.float32)
    members, classes = predictions.shape[-2:]
    if members is None:
        members = xp.shape(predictions)[-2]
    return xp.reshape(predictions, [-1, members, classes])


def _entropy(p: xp.Tensor) -> xp.Tensor:
    """Returns the entropy over the last axis; p may be above 1 by rounding."""
    return _execution.with_xla_if_large(p, _plain_entropy)(p)


def _plain_entropy(p: xp.Tensor) -> xp.Tensor:
    if _execution.needs_no_gradient(p):  # Only a gradient needs a special case for 0.
        terms = p * xp.math.log(xp.clip_by_value(p, tiny(p.dtype), 1))
    else:
        terms = xp.math.xlogy(p, xp.minimum(p, 1))
    # The subtraction from 0 makes no -0.0, as a minus would.
    return 0 - xp.reduce_sum(terms, axis=-1)


def _rounded(members: Members) -> xp.Tensor:
    """Returns the probabilities, which may be above 1 by the rounding of float32."""
    if members.from_logits or numpy_dtype(members.predictions).itemsize < 4:
        return members.probabilities
    return members.classes  # XLA on CPU makes slow code of a shared minimum with 1.


def total_entropies(members: Members) -> xp.Tensor:
    """Returns the entropy of the mean of the members, [N]."""
    return _entropy(xp.reduce_mean(_rounded(members), axis=1))


def expected_entropies(members: Members) -> xp.Tensor:
    """Returns the mean of the members' entropies, [N]."""
    return xp.reduce_mean(_entropy(_rounded(members)), axis=1)


def information(members: Members) -> xp.Tensor:
    """Returns mutual information, total and expected entropy, [3, N]."""
    total, expected = total_entropies(members), expected_entropies(members)
    difference = xp.where(members.count > 1, total - expected, xp.zeros_like(total))
    return xp.stack([xp.maximum(difference, 0), total, expected])


def mutual_information(members: Members) -> xp.Tensor:
    """Returns the total entropy less the expected entropy, [N]: the part of the total
    that comes from the members' disagreement.
    """
    return information(members)[0]


def votes(decisions: xp.Tensor, num_classes: int, dtype: xp.DType) -> xp.Tensor:
    """Returns how many members decide as each member does, [N, M], of the decisions
    [N, M].
    """
    n = xp.shape(decisions)[0]
    cells = decisions + num_classes * xp.range(n)[:, None]
    flat = xp.reshape(cells, [-1])
    votes = xp.math.unsorted_segment_sum(xp.ones_like(flat), flat, n * num_classes)
    return xp.cast(xp.gather(votes, cells), dtype)


def _member_votes(members: Members) -> xp.Tensor:
    classes = members.classes
    decisions = xp.argmax(classes, axis=-1, output_type=xp.int32)
    return votes(decisions, classes.shape[-1], classes.dtype)


def disagreements(members: Members) -> xp.Tensor:
    """Returns the share of pairs of members that decide differently, [N]."""
    m = members.count
    different = m * m - xp.reduce_sum(_member_votes(members), axis=-1)
    return xp.math.divide_no_nan(different, m * (m - 1))


def variation_ratios(members: Members) -> xp.Tensor:
    """Returns the share of the members that do not decide for the modal class, [N]."""
    return 1 - xp.reduce_max(_member_votes(members), axis=-1) / members.count


def member_uncertainties(members: Members) -> xp.Tensor:
    """Returns 1 less the mean confidence of the members, [N]."""
    confidences = xp.reduce_max(members.probabilities, axis=-1)
    return 1 - xp.reduce_mean(confidences, axis=1)


def _digamma_series(a: xp.Tensor) -> xp.Tensor:
    """Returns `digamma(a + 1) - log(a)` for a >= SERIES_FROM."""
    inverse = 1 / a
    square = inverse * inverse
    series = _polynomials.horner(square, uncertainty.DIGAMMA_SERIES)
    return inverse / 2 - square * series


def _digamma_of_next(a: xp.Tensor) -> xp.Tensor:
    """Returns `digamma(a + 1)` for 0 <= a <= SERIES_FROM."""
    # TensorFlow's digamma has only five digits near its zero.
    steps = range(1, uncertainty.SERIES_FROM + 1)
    shifted = a + uncertainty.SERIES_FROM
    return (
        xp.math.log(shifted)
        + _digamma_series(shifted)
        - xp.add_n([1 / (a + step) for step in steps])
    )


def dirichlet_parts(
    values: xp.Tensor, from_logits: bool
) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns knowledge, total and expected data uncertainty, [3, ...], given the
    concentrations [..., K] or their logarithms, and which of them are right, [...].

    `numpy.ensemble.uncertainty._dirichlet_parts`, the twin, explains the arithmetic.
    """
    start = xp.constant(uncertainty.SERIES_FROM, values.dtype)
    top = xp.reduce_max(values, axis=-1, keepdims=True)
    if from_logits:
        alphas, log_alphas, log_top = xp.exp(values), values, top
        shares = xp.exp(values - top)
    else:
        alphas, log_alphas, log_top = values, xp.math.log(values), xp.math.log(top)
        shares = values / top
    norm = xp.reduce_sum(shares, axis=-1, keepdims=True)
    shares = shares / norm
    total_alphas = (xp.exp(top) if from_logits else top) * norm

    def small(a):
        return _digamma_of_next(xp.minimum(a, start))

    def excess(a, log_a):
        series = _digamma_series(xp.maximum(a, start))
        return xp.where(a < start, small(a) - log_a, series)

    total = _entropy(shares)
    gaps = excess(alphas, log_alphas)
    gaps = gaps - excess(total_alphas, log_top + xp.math.log(norm))
    large = xp.reduce_sum(shares * gaps, axis=-1)
    differences = small(alphas) - small(total_alphas)
    tiny = total + xp.reduce_sum(shares * differences, axis=-1)
    knowledge = xp.where(total_alphas[..., 0] < start, tiny, large)
    knowledge = xp.clip_by_value(knowledge, 0, total)
    right = xp.math.is_finite(values)
    if not from_logits:
        right = right & (values > 0)
    parts = xp.stack([knowledge, total, total - knowledge])
    return parts, xp.reduce_all(right, axis=-1)


def label_probabilities(members: Members, labels: xp.Tensor) -> xp.Tensor:
    """Returns the probability that each member gives the label, [N, M]; its logarithm
    where the predictions are logits.
    """
    shape = xp.shape(members.predictions)[:2]
    classes = members.classes if members.from_logits else members.probabilities
    rows = xp.reshape(classes, [-1, classes.shape[-1]])
    labels = xp.reshape(xp.broadcast_to(labels[:, None], shape), [-1])
    if not members.from_logits:
        return xp.reshape(_inputs.take(rows, labels), shape)
    return -xp.reshape(
        xp.nn.sparse_softmax_cross_entropy_with_logits(labels, rows), shape
    )


def ensemble_likelihoods(members: Members, labels: xp.Tensor) -> xp.Tensor:
    """Returns -log of the mean of the members' probabilities of the label, [N]."""
    at_labels = label_probabilities(members, labels)
    if members.from_logits:
        scores = xp.math.log(members.count) - xp.reduce_logsumexp(at_labels, axis=1)
    else:
        # Not by way of logarithms: the derivative is not finite at a probability of 0.
        scores = -xp.math.log(xp.reduce_mean(at_labels, axis=1))
    return xp.maximum(scores, 0)


def gibbs_likelihoods(members: Members, labels: xp.Tensor) -> xp.Tensor:
    """Returns the mean of -log of the members' probabilities of the label, [N]."""
    at_labels = label_probabilities(members, labels)
    if not members.from_logits:
        at_labels = xp.math.log(at_labels)
    return xp.maximum(-xp.reduce_mean(at_labels, axis=1), 0)
