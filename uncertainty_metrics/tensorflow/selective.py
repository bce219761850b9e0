"""Selective prediction on tensors, eager or compiled.

Definitions and arguments are those of `uncertainty_metrics.numpy.selective`. float64
predictions are computed in float64, all others in float32.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised:
the result is NaN there; a wrong shape or option raises while the graph is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import RiskCoverageCurve
from uncertainty_metrics.numpy import selective as np_selective
from uncertainty_metrics.tensorflow import _inputs, _ranking, _sums

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def _margins(logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the argmax of logits [N, K], the logit of its probability, and whether
    the row was right; [N] each.

    The probability itself is 1.0 from a margin of 17 on, in float32.
    """
    rows = tf.shape(logits)[0]
    if logits.dtype == tf.float64:
        # The last few of a tensor take another path through TensorFlow's float64 log
        # and exp, and equal rows must stay equal.
        logits = tf.pad(logits, [[0, -rows % 16], [0, 0]])
    index = tf.argmax(logits, axis=-1, output_type=tf.int32)
    top = _inputs.take(logits, index)
    is_top = tf.one_hot(index, logits.shape[1], True, False, dtype=tf.bool)
    others = tf.where(is_top, tf.constant(-np.inf, logits.dtype), logits)
    second = tf.reduce_max(others, axis=-1)
    reference = tf.where(second > -np.inf, second, tf.zeros_like(second))
    total = tf.reduce_sum(tf.exp(others - reference[:, None]), axis=-1)
    margin = (top - reference) - tf.math.log(total)
    right = tf.math.is_finite(top) & ~tf.math.is_nan(margin)
    margin = tf.clip_by_value(margin, logits.dtype.min, logits.dtype.max)
    margin = tf.where(right, margin, tf.zeros_like(margin))
    return index[:rows], margin[:rows], right[:rows]


def ranked(examples: _inputs.Examples) -> _ranking.Ranked:
    """Returns the examples of a classifier by confidence; hits are right decisions."""
    if examples.from_logits:
        decisions, scores, right = _margins(examples.predictions)
    else:
        decisions, scores, right = _inputs.decisions(examples.predictions)
        scores = tf.where(right, scores, tf.zeros_like(scores))
        scores = tf.cast(scores, examples.dtype)
    valid = examples.valid & _inputs.live_rows(examples.weights, right)
    return _ranking.Ranked(
        scores, decisions == examples.labels, examples.weights, valid
    )


def _ranked(
    labels: TensorLike | None,
    probabilities: TensorLike | None,
    logits: TensorLike | None,
    confidences: TensorLike | None,
    correct: TensorLike | None,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
) -> _ranking.Ranked:
    given = (labels, probabilities, logits, confidences, correct)
    if not np_selective.is_classifier(*given, ignore_index):
        return _ranking.ranked(
            correct, confidences, sample_weight, None, ("correct", "confidences")
        )
    return ranked(
        _inputs.examples(
            labels,
            probabilities,
            logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )


def _value(
    read: Callable[[_ranking.Ranking], tf.Tensor],
    twin: Callable[..., object],
    **data: Any,
) -> tf.Tensor:
    """Returns what is read off the ranking; `twin` explains why it cannot be."""
    batch = _ranked(**data)
    ranking = batch.ranking()
    valid = batch.valid & (ranking.total > 0)
    return _inputs.nan_unless(valid, read(ranking), lambda: twin(**data))


def area_under_risk_coverage_curve(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Area under the risk-coverage curve (AURC).

      AURC = mean over k = 1, ..., n of the risk of the k most confident

    Equal confidences share their expected risk. Weights are numbers of examples; where
    they are less than 1 on average they are scaled to that.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the predictions; smaller is better. By
      sorting: time O(n log n), memory O(n). NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> value = um.aurc(confidences=[0.9, 0.8, 0.7], correct=[1, 1, 0])
      >>> round(float(value), 6)
      0.111111

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """
    return _value(
        _ranking.risk_coverage_area,
        np_selective.area_under_risk_coverage_curve,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def excess_aurc(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Excess AURC: the AURC less that of the perfect order of the same decisions.

    In the perfect order all right decisions come before all wrong ones. With e errors
    among n examples:

      E-AURC = AURC - 1/n [e - (n - e) (digamma(n + 1) - digamma(n - e + 1))]

    Geifman et al. subtract r + (1 - r) log(1 - r) instead, for the error rate r: the
    limit of the best AURC for many examples. It is about r / (2 n) less than that of n
    examples, and their value so much larger, also in the best order.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1), float32 or float64 as the predictions; smaller is better, 0
      is a perfect order. NaN inside a graph where eager execution raises ValueError for
      values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.e_aurc(confidences=[0.9, 0.8, 0.7], correct=[1, 1, 0]))
      0.0

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """
    return _value(
        _ranking.excess_risk_coverage_area,
        np_selective.excess_aurc,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def area_under_generalized_risk_coverage_curve(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Area under the generalized risk-coverage curve (AUGRC).

    The generalized risk is the share of errors that are not caught: errors above the
    threshold by all examples. Between thresholds it is linear in the coverage:

      AUGRC = (1 - AUROC) accuracy (1 - accuracy) + (1 - accuracy)^2 / 2

    with the AUROC of telling right decisions from wrong ones.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1/2], float32 or float64 as the predictions; smaller is better.
      NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.augrc(confidences=[0.9, 0.8, 0.7, 0.6], correct=[1, 1, 0, 1]))
      0.09375

    References:
      Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
      Classification Systems.
    """
    return _value(
        _ranking.generalized_risk_coverage_area,
        np_selective.area_under_generalized_risk_coverage_curve,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def coverage_at_risk(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    risk: float = 0.05,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Largest coverage whose risk is at most `risk`.

    Over all thresholds on the confidence; equal confidences are kept together.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      risk: in [0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the predictions; larger is better, 0.0
      where no threshold has so low a risk. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> confidences, correct = [0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1]
      >>> value = um.coverage_at_risk(
      ...     confidences=confidences, correct=correct, risk=0.25
      ... )
      >>> float(value)
      1.0

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """
    risk = _checks.share("risk", risk)
    return _value(
        lambda ranking: _ranking.coverage_at_risk(ranking, risk),
        np_selective.coverage_at_risk,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def risk_at_coverage(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    coverage: float = 0.8,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Risk at the smallest coverage that is at least `coverage`.

    Over all thresholds on the confidence; equal confidences are kept together.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      coverage: in (0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the predictions; smaller is better.
      NaN inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> confidences, correct = [0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1]
      >>> float(um.risk_at_coverage(confidences=confidences, correct=correct))
      0.25

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """
    coverage = _checks.share("coverage", coverage, zero=False)
    return _value(
        lambda ranking: _ranking.risk_at_coverage(ranking, coverage),
        np_selective.risk_at_coverage,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def oracle_collaborative_accuracy(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    fraction: float = 0.01,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Accuracy if an oracle, always right, decides the least confident `fraction`.

    Of equal confidences the oracle gets its share at random: the expected accuracy.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      fraction: share of the examples that the oracle decides, in [0, 1].
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the predictions; larger is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> confidences, correct = [0.9, 0.8, 0.7, 0.6], [1, 1, 0, 0]
      >>> value = um.oracle_collaborative_accuracy(
      ...     confidences=confidences, correct=correct, fraction=0.25
      ... )
      >>> float(value)
      0.75

    References:
      Kivlichan et al. (2021), Measuring and Improving Model-Moderator Collaboration
      using Uncertainty Estimation.
    """
    fraction = _checks.share("fraction", fraction)
    return _value(
        lambda ranking: _ranking.collaborative_accuracy(ranking, fraction),
        np_selective.oracle_collaborative_accuracy,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )


def risk_coverage_curve(
    labels: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    confidences: TensorLike | None = None,
    correct: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> RiskCoverageCurve:
    """Risk and coverage of every threshold on the confidence.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      confidences: instead of `labels` and predictions: real, finite.
      correct: with `confidences`: 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple `(coverages, risks, thresholds)`, a point for each distinct
      confidence, the most confident first: the share of the examples with this
      confidence or more, the share of errors among them, the confidence. float32 or
      float64 as the predictions. Inside a graph, where sizes are static, there is a
      point for each example: the last point is repeated, and NaN where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> curve = um.risk_coverage_curve(
      ...     confidences=[0.5, 0.75, 0.75, 0.25], correct=[1, 1, 0, 1]
      ... )
      >>> curve.coverages.numpy().tolist(), curve.thresholds.numpy().tolist()
      ([0.5, 0.75, 1.0], [0.75, 0.5, 0.25])

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """
    data: dict[str, Any] = {
        "labels": labels,
        "probabilities": probabilities,
        "logits": logits,
        "confidences": confidences,
        "correct": correct,
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    batch = _ranked(**data)
    if tf.executing_eagerly():
        curve = np_selective.risk_coverage_curve(**data)
        dtype = _inputs.sum_dtype(batch.scores)
        return RiskCoverageCurve(*(tf.constant(part, dtype) for part in curve))
    batch = _ranking.settled(batch)
    ranking = batch.ranking()
    thresholds = _ranking.group_scores(batch.scores)
    if logits is not None:
        thresholds = tf.math.sigmoid(thresholds)
    # Groups without weight have the coverage and the risk of those before them.
    points = tf.stack([ranking.coverages, ranking.risks, thresholds])
    valid = batch.valid & (ranking.total > 0)
    points = tf.where(valid, points, tf.constant(float("nan"), points.dtype))
    return RiskCoverageCurve(*tf.unstack(points))


def accuracy(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    *,
    logits: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Share of the examples whose decision, the most probable class, is their label.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; ties go to the lowest
        class.
      logits: instead of `probabilities`.
      labels_predicted: decisions, instead of the most probable class.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A scalar in [0, 1], float32 or float64 as the predictions; larger is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.accuracy([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6]))
      0.75
    """
    options: dict[str, Any] = {
        "labels_predicted": labels_predicted,
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(labels, probabilities, logits, **options)
    decisions, _, right = _inputs.decisions(examples.probabilities)
    if examples.predicted is not None:
        decisions = examples.predicted
    weights = examples.weights
    valid = examples.valid & _inputs.live_rows(weights, right)
    valid &= tf.size(decisions) > 0 if weights is None else tf.reduce_any(weights > 0)
    hits = tf.cast(decisions == examples.labels, examples.dtype)
    return _inputs.nan_unless(
        valid,
        _sums.mean(hits, weights),
        lambda: np_selective.accuracy(labels, probabilities, logits=logits, **options),
    )


# The names of the literature.
aurc = area_under_risk_coverage_curve
e_aurc = excess_aurc
augrc = area_under_generalized_risk_coverage_curve
