"""Uncertainty and diversity of ensembles on tensors, eager or compiled.

Definitions and arguments are those of `uncertainty_metrics.numpy.ensemble`. float64
predictions are computed in float64, all others in float32. The cross-entropies are
losses, differentiable in the predictions.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised: a
mean is NaN there, and so is the result of an example that is wrong; a wrong shape or
option raises while the graph is built.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import KnowledgeUncertainty, ModelUncertainty
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy import ensemble as np_ensemble
from uncertainty_metrics.tensorflow import (
    _classifier_scores,
    _inputs,
    _special,
    _sums,
)

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = np_ensemble.__all__

# Bytes of an eager block: memory allocators ask the system for each larger piece anew,
# which takes as long as the arithmetic.
_BLOCK = 28 * 2**20
# From so many numbers on compiling takes less time than it saves.
_LARGE = 2**24
# Terms of the series of x - log(1 + x) that are not lost in rounding.
_TERMS = {tf.float32: 12, tf.float64: 29}


def _floating(name: str, value: Any) -> tf.Tensor:
    tensor = _inputs.as_tensor(name, value)
    return tensor if tensor.dtype.is_floating else tf.cast(tensor, tf.float32)


def _tiny(dtype: tf.DType) -> float:
    """Returns the smallest normal number; what is below may count as 0."""
    return float(np.finfo(dtype.as_numpy_dtype).tiny)


def _classes(predictions: tf.Tensor, from_logits: bool) -> tf.Tensor:
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


def _usable(logits: tf.Tensor) -> tf.Tensor:
    """Returns whether each row is finite, or -inf for some classes."""
    # Plain reductions are several times as fast as one of comparisons.
    total = tf.reduce_sum(logits, axis=-1)  # NaN if one of them is.
    return tf.math.is_finite(tf.reduce_max(logits, axis=-1)) & ~tf.math.is_nan(total)


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
        return _classes(self.predictions, self.from_logits)

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
        return tf.reduce_all(_usable(self.classes), axis=-1)

    def mistaken(self, live: tf.Tensor | None = None) -> tf.Tensor:
        """Says if logits are surely probabilities; `live` [N] says which count."""
        if not self.from_logits:
            return tf.constant(False)
        return _inputs.are_probabilities(self.predictions, live)

    @property
    def count(self) -> tf.Tensor:
        """The number of members, in the precision of the arithmetic."""
        return tf.cast(tf.shape(self.predictions)[1], self.classes.dtype)


_Score = Callable[[Members], tf.Tensor]


def members_before_classes(name: str, predictions: tf.Tensor, axis: Any) -> tf.Tensor:
    """Returns the predictions as [..., M, K]."""
    axis = np_ensemble.check_members(name, predictions.shape, axis)
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


def _in_blocks(score: _Score, members: Members) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the scores [..., N] of all examples and which of them are right."""
    if not tf.executing_eagerly():
        return score(members), members.right
    rows = members.predictions
    step = max(1, _BLOCK // (rows.shape[1] * rows.shape[2] * rows.dtype.size))
    parts = []
    for i in range(0, rows.shape[0], step):  # One block at a time is in memory.
        block = Members(rows[i : i + step], members.from_logits)
        parts.append((score(block), block.right))
    scores, right = zip(*parts, strict=True)
    return tf.concat(scores, axis=-1), tf.concat(right, axis=-1)


def _scores(
    score: _Score,
    logits: TensorLike | None,
    probabilities: TensorLike | None,
    ensemble_axis: int | None,
    explain: Callable[..., object],
    single: bool = False,
) -> tf.Tensor:
    """Returns the scores [..., N] of all examples, N in the shape of the examples.

    `single` tells that there is no axis of members.
    """
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _floating(name, predictions)
    if single:
        np_ensemble.check_shape(name, predictions.shape)
        predictions = predictions[..., None, :]
    else:
        predictions = members_before_classes(name, predictions, ensemble_axis)
    members = Members(flat_members(predictions), name == "logits")
    scores, right = _in_blocks(score, members)
    right &= ~members.mistaken()
    shape = tf.shape(predictions)[:-2]
    if predictions.shape[:-2].is_fully_defined():
        shape = predictions.shape[:-2]
    return _inputs.nan_unless(
        tf.reshape(right, shape),
        tf.reshape(scores, tf.concat([scores.shape[:-1], shape], axis=0)),
        lambda: explain(logits, probabilities, ensemble_axis=ensemble_axis),
    )


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


def _votes(decisions: tf.Tensor, num_classes: int, dtype: tf.DType) -> tf.Tensor:
    """Returns how many of the decisions [N, M] of an example are as each is, [N, M]."""
    n = tf.shape(decisions)[0]
    cells = decisions + num_classes * tf.range(n)[:, None]
    flat = tf.reshape(cells, [-1])
    votes = tf.math.unsorted_segment_sum(tf.ones_like(flat), flat, n * num_classes)
    return tf.cast(tf.gather(votes, cells), dtype)


def _member_votes(members: Members) -> tf.Tensor:
    classes = members.classes
    decisions = tf.argmax(classes, axis=-1, output_type=tf.int32)
    return _votes(decisions, classes.shape[-1], classes.dtype)


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


def model_uncertainty(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> ModelUncertainty:
    """Uncertainty of an ensemble, and how much of it is the members' disagreement.

      total = H(mean_m p_m)
      expected data = mean_m H(p_m)
      model = total - expected data

    The model uncertainty is the mutual information of the label and the member. It is
    0 where all members agree, however uncertain they are; large values point at inputs
    far from the training data.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      A named tuple `(model_uncertainty, total_uncertainty, expected_data_uncertainty)`
      of tensors of the shape of the examples, in nats, >= 0. The model uncertainty of
      one member is 0. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]]
      >>> model, total, expected = um.model_uncertainty(probabilities=probabilities)
      >>> [round(float(value), 6) for value in model]
      [0.368064, 0.0]

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """
    return ModelUncertainty(
        *tf.unstack(
            _scores(
                information,
                logits,
                probabilities,
                ensemble_axis,
                np_ensemble.model_uncertainty,
            )
        )
    )


def predictive_entropy(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int | None = 1,
) -> tf.Tensor:
    """Entropy of the mean of the members: `H(mean_m p_m)`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members; None for a single model, shape [..., K] or
        [..., 1].

    Returns:
      Tensor of the shape of the examples, in nats, in [0, log K] for distributions.
      Larger is more uncertain. NaN inside a graph where eager execution raises
      ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> entropies = um.predictive_entropy([[[5.0, 5.0], [2.0, 2.0]]])
      >>> round(float(entropies[0]), 6)
      0.693147
      >>> entropy = um.predictive_entropy([5.0, 5.0], ensemble_axis=None)
      >>> round(float(entropy), 6)
      0.693147

    References:
      Shannon (1948), A Mathematical Theory of Communication.
    """
    return _scores(
        total_entropies,
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.predictive_entropy,
        single=ensemble_axis is None,
    )


def expected_entropy(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> tf.Tensor:
    """Mean of the entropies of the members: `mean_m H(p_m)`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Tensor of the shape of the examples, in nats, in [0, log K] for distributions.
      Larger is more uncertain; the part that more members would not remove. NaN inside
      a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> entropies = um.expected_entropy(probabilities=[[[1, 0], [0.5, 0.5]]])
      >>> round(float(entropies[0]), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """
    return _scores(
        expected_entropies,
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.expected_entropy,
    )


def mutual_information(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> tf.Tensor:
    """Mutual information of label and member: `H(mean_m p_m) - mean_m H(p_m)`.

    The first part of `model_uncertainty`: the epistemic uncertainty of an ensemble.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Tensor of the shape of the examples, in nats, in [0, log min(M, K)] for
      distributions; 0 where the members agree, or there is one. Larger is more
      uncertain. NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> information = um.mutual_information(probabilities=[[[1, 0], [0, 1]]])
      >>> round(float(information[0]), 6)
      0.693147

    References:
      Houlsby, Huszar, Ghahramani and Lengyel (2011), Bayesian Active Learning for
      Classification and Preference Learning.
    """
    return _scores(
        lambda members: information(members)[0],
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.mutual_information,
    )


def ensemble_disagreement(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> tf.Tensor:
    """Share of the M (M - 1) / 2 pairs of members that decide differently.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Tensor of the shape of the examples, in [0, 1]; 0 for one member. Larger is more
      uncertain. Ties go to the lowest class. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> um.ensemble_disagreement(probabilities=probabilities).numpy().tolist()
      [0.5]

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """
    return _scores(
        disagreements,
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.ensemble_disagreement,
    )


def mean_member_uncertainty(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> tf.Tensor:
    """One less the mean confidence of the members: `1 - mean_m max_k p_mk`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Tensor of the shape of the examples, in [0, 1 - 1/K] for distributions. Larger is
      more uncertain; that the members disagree does not count. NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.5, 0.5], [0, 1]]]
      >>> um.mean_member_uncertainty(probabilities=probabilities).numpy().tolist()
      [0.25]

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """
    return _scores(
        member_uncertainties,
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.mean_member_uncertainty,
    )


def variation_ratio(
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    ensemble_axis: int = 1,
) -> tf.Tensor:
    """Share of the members that do not vote for the class with most votes.

    The `VariationRatio` of torch-uncertainty counts against the class of the mean of
    the members, which may have fewer votes, and by default probabilities, not votes:
    `1 - max_k mean_m p_mk`.

    Args:
      logits: shape [..., M, K] or [..., M, 1], rank >= 3.
      probabilities: instead of `logits`, in [0, 1].
      ensemble_axis: the axis of the members.

    Returns:
      Tensor of the shape of the examples, in [0, 1 - 1/min(M, K)]. Larger is more
      uncertain. A member with ties votes for the lowest of the classes. NaN inside a
      graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.2], [0.7], [0.8], [0.9]]]
      >>> um.variation_ratio(probabilities=probabilities).numpy().tolist()
      [0.25]

    References:
      Freeman (1965), Elementary Applied Statistics.
      Gal (2016), Uncertainty in Deep Learning.
    """
    return _scores(
        variation_ratios,
        logits,
        probabilities,
        ensemble_axis,
        np_ensemble.variation_ratio,
    )


def _digamma_series(a: tf.Tensor) -> tf.Tensor:
    """Returns `digamma(a + 1) - log(a)` for a >= SERIES_FROM."""
    inverse = 1 / a
    square = inverse * inverse
    series = _special.horner(square, np_ensemble.DIGAMMA_SERIES)
    return inverse / 2 - square * series


def _digamma_of_next(a: tf.Tensor) -> tf.Tensor:
    """Returns `digamma(a + 1)` for 0 <= a <= SERIES_FROM."""
    # TensorFlow's digamma has but five digits near its zero.
    steps = range(1, np_ensemble.SERIES_FROM + 1)
    shifted = a + np_ensemble.SERIES_FROM
    return (
        tf.math.log(shifted)
        + _digamma_series(shifted)
        - tf.add_n([1 / (a + step) for step in steps])
    )


def dirichlet_parts(values: tf.Tensor, from_logits: bool) -> tf.Tensor:
    """Returns knowledge, total and expected data uncertainty, [3, ...], of alphas or of
    their logarithms [..., K].

    The twin of `numpy.ensemble._dirichlet_parts`; says how there.
    """
    start = tf.constant(np_ensemble.SERIES_FROM, values.dtype)
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
    return tf.stack([knowledge, total, total - knowledge])


def knowledge_uncertainty(
    alphas: TensorLike | None = None, logits: TensorLike | None = None
) -> KnowledgeUncertainty:
    """Uncertainty of a Dirichlet distribution, and how much of it is lack of knowledge.

    With pi_k = alpha_k / alpha_0 and alpha_0 = sum_k alpha_k, p ~ Dirichlet(alpha):

      total = H(pi)
      expected data = E[H(p)] = sum_k pi_k (digamma(alpha_0 + 1) - digamma(alpha_k + 1))
      knowledge = total - expected data

    The knowledge uncertainty is the mutual information of the label and p: large for
    small alphas, and 0 in the limit of large ones.

    Args:
      alphas: concentrations > 0, shape [..., K], K >= 2.
      logits: instead of `alphas`, their logarithms, finite.

    Returns:
      A named tuple `(knowledge_uncertainty, total_uncertainty,
      expected_data_uncertainty)` of tensors, shape [...], in nats, in [0, log K]. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> parts = um.knowledge_uncertainty([1.0, 1.0])
      >>> [round(float(part), 4) for part in parts]
      [0.1931, 0.6931, 0.5]

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
      Malinin, Mlodozeniec and Gales (2020), Ensemble Distribution Distillation.
    """
    name = _checks.exactly_one(alphas=alphas, logits=logits)
    values = _floating(name, alphas if logits is None else logits)
    np_ensemble.check_shape(name, values.shape, size=2)
    values = tf.cast(values, _inputs.sum_dtype(values))
    right = tf.math.is_finite(values)
    if name == "alphas":
        right &= values > 0
    parts = _inputs.nan_unless(
        tf.reduce_all(right, axis=-1),
        dirichlet_parts(values, name == "logits"),
        lambda: np_ensemble.knowledge_uncertainty(alphas, logits),
    )
    return KnowledgeUncertainty(*tf.unstack(parts))


def _at_labels(members: Members, labels: tf.Tensor) -> tf.Tensor:
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
    at_labels = _at_labels(members, labels)
    if members.from_logits:
        scores = tf.math.log(members.count) - tf.reduce_logsumexp(at_labels, axis=1)
    else:
        # Not by way of the logarithms: that of 0 has no useful derivative.
        scores = -tf.math.log(tf.reduce_mean(at_labels, axis=1))
    return tf.maximum(scores, 0)


def gibbs_likelihoods(members: Members, labels: tf.Tensor) -> tf.Tensor:
    """Returns the mean of -log p_m of the labels [N], [N]."""
    at_labels = _at_labels(members, labels)
    if not members.from_logits:
        at_labels = tf.math.log(at_labels)
    return tf.maximum(-tf.reduce_mean(at_labels, axis=1), 0)


def _cross_entropy(
    likelihoods: Callable[[Members, tf.Tensor], tf.Tensor],
    labels: TensorLike,
    logits: TensorLike | None,
    probabilities: TensorLike | None,
    aggregate: bool,
    ensemble_axis: int,
    explain: Callable[..., object],
    **options: Any,
) -> tf.Tensor:
    _checks.boolean("aggregate", aggregate)
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _floating(name, predictions)
    y = _inputs.as_tensor("labels", labels)
    np_ensemble.check_not_swapped(y.shape, name, predictions.shape)
    predictions = members_before_classes(name, predictions, ensemble_axis)
    np_ensemble.check_labels(y.shape, name, predictions.shape, predictions.shape[:-2])
    # What the labels must be does not depend on the member.
    examples = _inputs.examples(y, **{name: predictions[..., 0, :]}, **options)
    members = Members(flat_members(predictions), name == "logits")
    scores = likelihoods(members, examples.labels)
    mean, ok = _classifier_scores.reduced(examples, scores, members.right, aggregate)
    return _inputs.nan_unless(
        ok,
        mean,
        lambda: explain(
            labels,
            logits,
            probabilities,
            aggregate,
            ensemble_axis=ensemble_axis,
            **options,
        ),
    )


def ensemble_cross_entropy(
    labels: TensorLike,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Negative log-likelihood of an ensemble: `-log mean_m p_m(y)` in nats.

    At most `gibbs_cross_entropy`; what it is less is the gain of averaging.

    **Members are on axis 1: [N, M, K].** The function of this name in later versions of
    the package of 2020 took them first, [M, N, K]. Pass `ensemble_axis=0` for these.
    Where N = M the shape cannot tell, and without it the value is WRONG: members would
    be taken for examples.

    Args:
      labels: integers in [0, K), of the shape of the predictions without members and
        classes.
      logits: shape [..., M, K] or [..., M, 1], rank >= 3; the value keeps its precision
        where the probability of the label underflows.
      probabilities: instead of `logits`, in [0, 1].
      aggregate: whether to return the mean instead of a score for each example.
      ensemble_axis: the axis of the members.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label had
      probability 0 in all members. Smaller is better. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> loss = um.ensemble_cross_entropy([0], probabilities=probabilities)
      >>> round(float(loss), 6)
      0.693147
      >>> p = [[[0.9, 0.1], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]]  # [M, N, K].
      >>> loss = um.ensemble_cross_entropy([0, 1], probabilities=p, ensemble_axis=0)
      >>> wrong = um.ensemble_cross_entropy([0, 1], probabilities=p)
      >>> round(float(loss), 6), round(float(wrong), 6)
      (0.543095, 0.380178)

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation Using Deep Ensembles.
    """
    return _cross_entropy(
        ensemble_likelihoods,
        labels,
        logits,
        probabilities,
        aggregate,
        ensemble_axis,
        np_ensemble.ensemble_cross_entropy,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def gibbs_cross_entropy(
    labels: TensorLike,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    aggregate: bool = True,
    *,
    ensemble_axis: int = 1,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Mean of the members' negative log-likelihoods: `mean_m -log p_m(y)` in nats.

    What a member drawn at random (a Gibbs predictor) scores on average.

    **Members are on axis 1: [N, M, K].** Pass `ensemble_axis=0` for [M, N, K], the
    layout in later versions of the package of 2020: where N = M the shape cannot tell,
    and without it the value is WRONG.

    Args:
      labels: integers in [0, K), of the shape of the predictions without members and
        classes.
      logits: shape [..., M, K] or [..., M, 1], rank >= 3; the value keeps its precision
        where the probability of the label underflows.
      probabilities: instead of `logits`, in [0, 1].
      aggregate: whether to return the mean instead of a score for each example.
      ensemble_axis: the axis of the members.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label had
      probability 0 in one member. Smaller is better. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[[0.9, 0.1], [0.1, 0.9]]]
      >>> loss = um.gibbs_cross_entropy([0], probabilities=probabilities)
      >>> round(float(loss), 6)
      1.203973

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    return _cross_entropy(
        gibbs_likelihoods,
        labels,
        logits,
        probabilities,
        aggregate,
        ensemble_axis,
        np_ensemble.gibbs_cross_entropy,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def _two_of_a_kind(
    names: tuple[str, str], values: tuple[TensorLike, TensorLike], **least: int
) -> list[tf.Tensor]:
    """Returns two tensors [..., K] of the same shape and type."""
    tensors = [
        _inputs.as_tensor(name, value)
        for name, value in zip(names, values, strict=True)
    ]
    np_ensemble.check_shape(names[0], tensors[0].shape, **least)
    np_ensemble.check_same(names[0], tensors[0].shape, names[1], tensors[1].shape)
    dtype = _inputs.predictions_dtype(*tensors)
    shape = tensors[0].shape.merge_with(tensors[1].shape)
    return [tf.cast(tf.ensure_shape(tensor, shape), dtype) for tensor in tensors]


_LOGITS = ("logits_1", "logits_2")


def _aggregated(
    right: tf.Tensor,
    values: tf.Tensor,
    aggregate: bool,
    explain: Callable[[], object],
) -> tf.Tensor:
    """Returns the mean of the values, or all of them; NaN where they are not right."""
    if aggregate:
        values = tf.where(right, values, tf.zeros_like(values))
        values = _sums.mean(tf.reshape(values, [-1]), None)
        right = tf.reduce_all(right)
    return _inputs.nan_unless(right, values, explain)


def _decisions(
    logits_1: TensorLike, logits_2: TensorLike
) -> tuple[list[tf.Tensor], tf.Tensor, int, tf.DType]:
    """Returns the decisions of two models [N, ...], whether their scores are right, the
    number of classes, and the type of the result.
    """
    scores = _two_of_a_kind(_LOGITS, (logits_1, logits_2), rank=2, size=2)
    decisions = [tf.argmax(array, axis=-1, output_type=tf.int32) for array in scores]
    right = _usable(scores[0]) & _usable(scores[1])
    return decisions, right, scores[0].shape[-1], scores[0].dtype


def disagreement(logits_1: TensorLike, logits_2: TensorLike) -> tf.Tensor:
    """Share of the examples that two models decide differently.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.

    Returns:
      The share of examples with different argmax, in [0, 1]. Ties go to the lowest
      class. NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.disagreement(logits_1, logits_2))
      0.5

    References:
      Skalak (1996), The Sources of Increased Accuracy for Two Proposed Boosting
      Algorithms.
    """
    decisions, right, _, dtype = _decisions(logits_1, logits_2)
    return _aggregated(
        right,
        tf.cast(decisions[0] != decisions[1], dtype),
        True,
        lambda: np_ensemble.disagreement(logits_1, logits_2),
    )


def double_fault(
    logits_1: TensorLike, logits_2: TensorLike, labels: TensorLike
) -> tf.Tensor:
    """Share of the examples that two models both decide wrong.

    Args:
      logits_1: scores of one model, logits or probabilities, shape [N, ..., K], K >= 2.
      logits_2: those of the other, of the same shape.
      labels: integers in [0, K), shape [N, ...].

    Returns:
      The share, in [0, 1]. Smaller is better: the errors of the two coincide less. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits_1, logits_2 = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> float(um.double_fault(logits_1, logits_2, [0, 0]))
      0.5

    References:
      Giacinto and Roli (2001), Design of Effective Neural Network Ensembles for Image
      Classification Purposes.
    """
    decisions, right, num_classes, dtype = _decisions(logits_1, logits_2)
    shape = decisions[0].shape
    y = _inputs.as_tensor("labels", labels)
    np_ensemble.check_labels(y.shape, "logits_1", [*shape, num_classes], shape)
    y, sane = _inputs.integers(tf.reshape(y, tf.shape(decisions[0])), num_classes)
    return _aggregated(
        right & sane,
        tf.cast((decisions[0] != y) & (decisions[1] != y), dtype),
        True,
        lambda: np_ensemble.double_fault(logits_1, logits_2, labels),
    )


@functools.cache
def _excess_series(num_terms: int) -> list[float]:
    """Returns the coefficients c of `x - log(1 + x) = x^2 sum_k c_k x^k`, |x| < NEAR.

    Of the Taylor series, economised: with the terms of the Chebyshev series instead of
    its own, two thirds as many give the same accuracy.
    """
    taylor = np.polynomial.Polynomial([(-1) ** k / (k + 2) for k in range(60)])
    interval = [-np_ensemble.NEAR, np_ensemble.NEAR]
    series = taylor.convert(domain=interval, kind=np.polynomial.Chebyshev)
    return (
        series.truncate(num_terms).convert(kind=np.polynomial.Polynomial).coef.tolist()
    )


def _log_excess(x: tf.Tensor, log: tf.Tensor) -> tf.Tensor:
    """Returns `x - log(1 + x)`, to full precision near x = 0, given log(1 + x)."""
    near = tf.abs(x) < np_ensemble.NEAR
    inner = tf.where(near, x, tf.zeros_like(x))
    # Powers of x: those of a quotient XLA would write to memory and read again.
    series = _special.horner(inner, _excess_series(_TERMS[x.dtype]))
    return tf.where(near, inner * inner * series, x - log)


def _divergence(p: tf.Tensor, q: tf.Tensor, x: tf.Tensor, log: tf.Tensor) -> tf.Tensor:
    """Returns sum_k p log(p / q) - p + q, given x = q / p - 1 and log(q / p); of both
    where p is not normal, and counts as 0, anything.
    """
    terms = tf.where(p >= _tiny(p.dtype), p * _log_excess(x, log), q)
    return tf.reduce_sum(terms, axis=-1)


def kl_divergence(
    p: TensorLike, q: TensorLike, *, aggregate: bool = False
) -> tf.Tensor:
    """Generalised Kullback-Leibler divergence of q from p over the last axis.

      KL(p || q) = sum_k p_k log(p_k / q_k) - p_k + q_k

    The last two terms cancel for distributions; with them it is >= 0, and 0 only for
    p = q, for any measures.

    Args:
      p: finite and >= 0, shape [..., K], K >= 2. For P(class 1) pass `[1 - p, p]`.
      q: of the shape of `p`, finite and >= 0.
      aggregate: whether to return the mean over the examples.

    Returns:
      Divergences in nats, shape [...], or their mean; inf where q_k = 0 < p_k, while
      p_k = 0 contributes q_k. No digits cancel where p and q nearly agree. NaN inside a
      graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> p, q = [[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.25, 0.75]]
      >>> [round(float(value), 6) for value in um.kl_divergence(p, q)]
      [0.143841, 1.386294]

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    first, second = _two_of_a_kind(("p", "q"), (p, q), size=2)
    finite = tf.math.is_finite(first) & tf.math.is_finite(second)
    right = finite & (first >= 0) & (second >= 0)
    # Also 0 is what is so small that q / p would overflow.
    positive = first >= _tiny(first.dtype) * tf.maximum(second, 1)
    first = tf.where(positive, first, tf.zeros_like(first))
    some = tf.where(positive, first, tf.ones_like(first))
    log = tf.math.log(second / some)
    return _aggregated(
        tf.reduce_all(right, axis=-1),
        _divergence(first, second, (second - some) / some, log),
        aggregate,
        lambda: np_ensemble.kl_divergence(p, q),
    )


def _logit_divergence(logits_1: tf.Tensor, logits_2: tf.Tensor) -> tf.Tensor:
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
    positive = p >= _tiny(p.dtype)
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
    return tf.maximum(_divergence(p, q, x, log) - excess, 0)


def logit_kl_divergence(
    logits_1: TensorLike, logits_2: TensorLike, *, aggregate: bool = True
) -> tf.Tensor:
    """Kullback-Leibler divergence of the softmax of two logits: KL(p_1 || p_2).

    Args:
      logits_1: of p_1, finite or -inf, shape [..., K]; or [..., 1], those of class 1.
      logits_2: of p_2, of the same shape.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or divergences in nats, shape [...]; >= 0, inf where p_2 is 0 and p_1 is
      not. NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> divergence = um.logit_kl_divergence([[0.0, 0.0]], [[0.0, 1.0]])
      >>> round(float(divergence), 5)
      0.12011

    References:
      Kullback and Leibler (1951), On Information and Sufficiency.
    """
    _checks.boolean("aggregate", aggregate)
    tensors = _two_of_a_kind(_LOGITS, (logits_1, logits_2))
    tensors = [_classes(tensor, from_logits=True) for tensor in tensors]
    return _aggregated(
        _usable(tensors[0]) & _usable(tensors[1]),
        _logit_divergence(*tensors),
        aggregate,
        lambda: np_ensemble.logit_kl_divergence(logits_1, logits_2),
    )


def _largest(vectors: tf.Tensor) -> tf.Tensor:
    """Returns the size of the largest entry of vectors [..., K], shape [..., 1]."""
    return tf.stop_gradient(tf.reduce_max(tf.abs(vectors), axis=-1, keepdims=True))


def _lp_norm(vectors: tf.Tensor, order: float) -> tf.Tensor:
    """Returns the norms of vectors [..., K], whose gradient at 0 is 0."""
    if order == math.inf:
        return tf.reduce_max(tf.abs(vectors), axis=-1)
    top = _largest(vectors)
    # Powers of large numbers would overflow. The largest is now 1, and so the sum more.
    sizes = tf.abs(vectors / tf.where(top > 0, top, tf.ones_like(top)))
    total = tf.maximum(tf.reduce_sum(tf.pow(sizes, order), axis=-1), 1)
    return top[..., 0] * tf.pow(total, 1 / order)


def _finite_rows(*tensors: tf.Tensor) -> tf.Tensor:
    """Returns whether all of each row [..., K] of the tensors is finite."""
    finite = [tf.reduce_all(tf.math.is_finite(x), axis=-1) for x in tensors]
    return functools.reduce(tf.logical_and, finite)


def lp_distance(
    x: TensorLike, y: TensorLike, p: float = 1, *, aggregate: bool = True
) -> tf.Tensor:
    """Distance in the norm of order p over the last axis.

      distance = (sum_k |x_k - y_k|^p)^(1/p), max_k |x_k - y_k| for p = inf

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      p: a number >= 1, or inf.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or distances, shape [...], >= 0. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.lp_distance([[0.0, 0.0]], [[3.0, 4.0]], p=2))
      5.0
    """
    order = np_ensemble.check_order(p)
    _checks.boolean("aggregate", aggregate)
    first, second = _two_of_a_kind(("x", "y"), (x, y))
    return _aggregated(
        _finite_rows(first, second),
        _lp_norm(first - second, order),
        aggregate,
        lambda: np_ensemble.lp_distance(x, y, order),
    )


def _direction(vectors: tf.Tensor) -> tf.Tensor:
    """Returns unit vectors [..., K], and zero for zero."""
    top = _largest(vectors)
    vectors = vectors / tf.where(top > 0, top, tf.ones_like(top))
    square = tf.reduce_sum(vectors * vectors, axis=-1, keepdims=True)
    return vectors * tf.math.rsqrt(tf.maximum(square, 1))


def _cosines(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    cosines = tf.reduce_sum(_direction(x) * _direction(y), axis=-1)
    return tf.clip_by_value(cosines, -1, 1)


def cosine_similarity(
    x: TensorLike, y: TensorLike, *, aggregate: bool = True
) -> tf.Tensor:
    """Cosine of the angle between vectors, over the last axis: x.y / (|x| |y|).

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or similarities, shape [...], in [-1, 1]; 0 where a vector is zero. Of
      predictions: larger is less diverse. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> round(float(um.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])), 6)
      0.96
    """
    _checks.boolean("aggregate", aggregate)
    first, second = _two_of_a_kind(("x", "y"), (x, y))
    return _aggregated(
        _finite_rows(first, second),
        _cosines(first, second),
        aggregate,
        lambda: np_ensemble.cosine_similarity(x, y),
    )


def cosine_distance(
    x: TensorLike, y: TensorLike, *, aggregate: bool = True
) -> tf.Tensor:
    """One less the cosine similarity.

    Args:
      x: finite, shape [..., K].
      y: finite, of the shape of `x`.
      aggregate: whether to return the mean over the examples.

    Returns:
      The mean, or distances, shape [...], in [0, 2]; 1 where a vector is zero. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.cosine_distance([[1.0, 0.0]], [[0.0, 2.0]]))
      1.0
    """
    return 1 - cosine_similarity(x, y, aggregate=aggregate)


def variance_bound(
    probs: TensorLike, labels: TensorLike, num_models: int | None = None
) -> tf.Tensor:
    """Variance term of a bound on the ensemble's cross-entropy (Masegosa, 2020).

      mean over examples of var_m(p_m(y)) / (2 max_m p_m(y)^2)

    with the population variance (divisor M). `gibbs_cross_entropy` less this bounds
    `ensemble_cross_entropy` from above: the second-order Jensen bound of Theorem 4.

    Args:
      probs: probabilities of M members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      labels: integers in [0, K), shape [N].
      num_models: M, to check it.

    Returns:
      The mean, in [0, 1/8]; 0 for equal members. Examples whose labels have probability
      0 in all members count as 0. Larger is more diverse. NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.variance_bound([[[0.5, 0.5]], [[1.0, 0.0]]], [0]))
      0.03125

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """
    tensor = _floating("probs", probs)
    np_ensemble.check_members_first(tensor.shape, num_models)
    y = _inputs.as_tensor("labels", labels)
    np_ensemble.check_labels(y.shape, "probs", tensor.shape, tensor.shape[1:-1])
    members = Members(flat_members(members_before_classes("probs", tensor, 0)), False)
    y, right = _inputs.integers(tf.reshape(y, [-1]), members.classes.shape[-1])
    right &= members.right
    if num_models is not None:  # The graph may not have known.
        right &= members.count == num_models
    at_labels = _at_labels(members, y)
    shares = tf.math.divide_no_nan(
        at_labels, tf.reduce_max(at_labels, axis=1, keepdims=True)
    )
    return _aggregated(
        right,
        tf.math.reduce_variance(shares, axis=1) / 2,
        True,
        lambda: np_ensemble.variance_bound(probs, labels, num_models),
    )


def _pair_terms(
    p: tf.Tensor, scales: tf.Tensor, tops: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns what of the pairs of members is elementwise, as XLA compiles it best.

    The twin of `numpy.ensemble._diversity`; says how there.

    Args:
      p: probabilities [M, N, K].
      scales: [M, N].
      tops: the largest probabilities, [M, N].

    Returns:
      The terms of the sum of the divergences, the sum of p times scales, and how many
      members have their largest probability there; [N, K].
    """
    m, tiny = p.shape[0], _tiny(p.dtype)
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
    pair_terms = _pair_terms
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
        return tf.reduce_sum(_votes(decisions, num_classes, p.dtype), axis=-1)

    # The argmax takes longer, and is needed for ties only.
    same = tf.cond(
        tf.reduce_all(tf.reduce_sum(hits, axis=-1) == m),
        lambda: tf.reduce_sum(hits * hits, axis=-1),
        votes_for_the_lowest,
    )
    return tf.stack([(m * m - same) / (2 * pairs), divergences, cosines])


def _row_means(values: tf.Tensor) -> tf.Tensor:
    """Returns the means of values [rows, N] over N, whose float32 sum would drift."""
    if values.dtype == tf.float64:
        return tf.reduce_mean(values, axis=1)
    hi, lo = _sums.total_pair(tf.transpose(values))
    return (hi + lo) / tf.cast(tf.shape(values)[1], tf.float32)


def average_pairwise_diversity(
    probs: TensorLike,
    num_models: int | None = None,
    error: float | tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Diversity of an ensemble: means over its M (M - 1) / 2 pairs of members.

      disagreement: share of the examples that the two decide differently
      average_kl: mean over the examples of KL(p_i || p_j), i < j, as `kl_divergence`
      cosine_similarity: mean over the examples of p_i.p_j / (|p_i| |p_j|)

    O(M N K): no pair is formed.

    Args:
      probs: probabilities of M >= 2 members in [0, 1], shape [M, N, K], or [M, N, 1] of
        class 1. There may be more axes of examples.
      num_models: M, to check it.
      error: a number > 0, which the disagreement is divided by; with the error rate of
        the members, ensembles of different accuracy compare.

    Returns:
      A dict `disagreement`, `average_kl`, `cosine_similarity`: in [0, 1] before the
      division; >= 0, inf where an earlier member gives a class a chance that a later
      one does not; in [0, 1]. Larger, larger and smaller is more diverse. NaN inside a
      graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> diversity = um.average_pairwise_diversity([[[0.5, 0.5]], [[0.25, 0.75]]])
      >>> {name: round(float(value), 4) for name, value in diversity.items()}
      {'disagreement': 1.0, 'average_kl': 0.1438, 'cosine_similarity': 0.8944}

    References:
      Fort, Hu and Lakshminarayanan (2019), Deep Ensembles: A Loss Landscape
      Perspective.
    """
    tensor = _floating("probs", probs)
    m = np_ensemble.check_members_first(tensor.shape, num_models, least=2)
    if m is None:
        raise _checks.error(
            "probs", "of a static number of members", f"shape {list(tensor.shape)}"
        )
    rows = tf.reshape(tensor, [m, -1, tensor.shape[-1]])
    right = tf.reduce_all(_inputs.rows_in_range(rows))
    values = diversities(_classes(rows, from_logits=False))
    values = tf.where(right, values, tf.zeros_like(values))
    means = _row_means(values)
    if error is not None:
        # A number of Python keeps its digits in an array.
        number = error if tf.is_tensor(error) else np_inputs.as_array("error", error)
        divisor = _inputs.as_tensor("error", number)
        np_ensemble.check_number("error", divisor.shape)
        divisor = tf.cast(divisor, means.dtype)
        right &= (divisor > 0) & tf.math.is_finite(divisor)
        means /= tf.stack([divisor, 1, 1])
    means = _inputs.nan_unless(
        right,
        means,
        lambda: np_ensemble.average_pairwise_diversity(probs, num_models, error),
    )
    return dict(zip(np_ensemble.DIVERSITIES, tf.unstack(means), strict=True))
