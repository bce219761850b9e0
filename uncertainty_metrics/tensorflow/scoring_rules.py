"""Proper scoring rules on tensors, eager or compiled: losses to train with.

Definitions and arguments are those of `uncertainty_metrics.numpy.scoring_rules`. All
are differentiable in the predictions. float64 predictions are computed in float64, all
others in float32.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised: a
mean is NaN there, and so is the score of an example that is wrong; a wrong shape or
option raises while the graph is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._statistics import BrierParts, ExactBrierParts
from uncertainty_metrics.numpy import scoring_rules as np_rules
from uncertainty_metrics.tensorflow import _inputs, _pairwise, _sums

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def reduced(
    examples: _inputs.Examples,
    scores: tf.Tensor,
    right: tf.Tensor,
    aggregate: bool,
    explain: Callable[[], object],
) -> tf.Tensor:
    """Returns the weighted mean of scores [N], or all of them, weighted."""
    weights = examples.weights
    valid = examples.valid & _inputs.live_rows(weights, right)
    scores = tf.where(right, scores, tf.zeros_like(scores))
    if aggregate:
        valid &= tf.size(scores) > 0
        if weights is not None:
            valid &= tf.reduce_any(weights > 0)
        return _inputs.nan_unless(valid, _sums.mean(scores, weights), explain)
    if weights is not None:
        scores = tf.math.multiply_no_nan(scores, weights)
    return _inputs.nan_unless(valid, tf.reshape(scores, examples.shape), explain)


def _expected(values: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the value [N] of [N, K] at labels [N], or its mean under labels [N, K],
    distributions over the classes.
    """
    if labels.shape.rank == 1:
        return _inputs.take(values, labels)
    return tf.reduce_sum(tf.math.multiply_no_nan(values, labels), axis=-1)


# `_squares` adds up so many parts of a row of at least so many numbers.
_PARTS = 8
_WIDE = 64


@tf.custom_gradient
def _squares(
    values: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """Returns the sums of the squares of [N, K] over K."""
    classes = values.shape[1]
    if classes < _WIDE:
        total = tf.reduce_sum(values * values, axis=-1)
    elif tf.executing_eagerly():  # Without the squares in memory; XLA knows no norm.
        total = tf.square(tf.math.reduce_euclidean_norm(values, axis=-1))
    else:
        # A part at a time takes less memory, which takes as long as the arithmetic,
        # and XLA on CPU makes vector code of parts, which it makes of no whole row.
        width = classes // _PARTS
        starts = range(0, _PARTS * width, width)
        parts = [values[:, start : start + width] for start in starts]
        rest = values[:, _PARTS * width :]
        total = tf.reduce_sum(tf.add_n([part * part for part in parts]), axis=-1)
        total += tf.reduce_sum(rest * rest, axis=-1)
    return total, lambda upstream: 2 * upstream[:, None] * values


def brier_scores(
    examples: _inputs.Examples, zero_based: bool, targets: tf.Tensor | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the Brier score of each example [N] and whether its forecast was right.

    `targets` [N, K] are distributions over the classes instead of labels.
    """
    p = tf.cast(examples.probabilities, examples.dtype)
    labels = examples.labels if targets is None else targets
    if zero_based:  # Without the rounding of numbers near 1.
        if targets is None:
            targets = tf.one_hot(labels, examples.num_classes, dtype=p.dtype)
        scores = _squares(p - targets)
        scores += 1 - tf.reduce_sum(targets * targets, axis=-1)
    else:
        scores = _squares(p) - 2 * _expected(p, labels)
    if examples.from_logits:
        return scores, ~tf.math.is_nan(scores)
    return scores, _inputs.rows_in_range(examples.predictions, scores)


def likelihood_scores(
    examples: _inputs.Examples, targets: tf.Tensor | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the negative log-likelihood of each example [N] and whether its forecast
    was right; `targets` [N, K] as in `brier_scores`.
    """
    predictions = tf.cast(examples.predictions, examples.dtype)
    labels = examples.labels if targets is None else targets
    if not examples.from_logits:
        if targets is None:  # Other classes may be impossible.
            scores = -tf.math.log(_inputs.take(predictions, labels))
        else:
            scores = -_expected(tf.math.log(predictions), labels)
        # The logarithm of what rounding put above 1 is no score.
        return tf.maximum(scores, 0), _inputs.rows_in_range(examples.predictions)
    if targets is None:
        scores = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, predictions)
    else:
        scores = -_expected(tf.nn.log_softmax(predictions), labels)
    return scores, ~tf.math.is_nan(scores)


def brier_score(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Brier score: the squared distance of the forecast from what happened.

      Brier = sum_k p_k^2 - 2 p_y

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      aggregate: whether to return the mean instead of a score for each example.
      zero_based: whether to add 1, which makes it `sum_k (p_k - (k == y))^2`. For two
        classes that is twice the mean squared error of P(class 1).
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or scores of the shape of the labels, float32 or float64 as the
      predictions; in [-1, 1], or in [0, 2] for `zero_based`. Smaller is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      A training step of your own, with the Brier score where the cross-entropy was:

      >>> import uncertainty_metrics as um
      >>> labels = tf.constant([0, 1])
      >>> logits = tf.Variable([[0.0, 0.0], [0.0, 0.0]])
      >>> with tf.GradientTape() as tape:
      ...     per_example_loss = um.brier_score(labels, logits=logits, aggregate=False)
      ...     loss = tf.reduce_mean(per_example_loss)
      >>> float(loss)
      -0.5
      >>> logits.assign_sub(tape.gradient(loss, logits)).numpy().tolist()
      [[0.25, -0.25], [-0.25, 0.25]]

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """
    _checks.boolean("aggregate", aggregate)
    _checks.boolean("zero_based", zero_based)
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(labels, probabilities, logits, **options)
    return reduced(
        examples,
        *brier_scores(examples, zero_based),
        aggregate,
        lambda: np_rules.brier_score(
            labels, probabilities, logits, aggregate, **options
        ),
    )


def negative_log_likelihood(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Negative log-likelihood, the logarithmic score: `-log p_y` in nats.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`; the value keeps its precision where the
        probability of the label underflows.
      aggregate: whether to return the mean instead of a score for each example.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The mean, or scores of the shape of the labels, float32 or float64 as the
      predictions; >= 0, inf where the label had probability 0. Smaller is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> score = um.negative_log_likelihood([0, 1], logits=[[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(score), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """
    _checks.boolean("aggregate", aggregate)
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(labels, probabilities, logits, **options)
    return reduced(
        examples,
        *likelihood_scores(examples),
        aggregate,
        lambda: np_rules.negative_log_likelihood(
            labels, probabilities, logits, aggregate, **options
        ),
    )


_MOST_CLASSES = 46340  # Their square is an int32.


def _occurring(decisions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns decisions numbered by those that occur, [N], and which these are, [N]."""
    n = decisions.shape[0]
    order = tf.argsort(decisions)
    ordered = tf.gather(decisions, order)
    steps = tf.cast(ordered != tf.roll(ordered, 1, 0), tf.int32)
    ranks = tf.cumsum(tf.where(tf.range(n) == 0, 0, steps))
    return (
        tf.scatter_nd(order[:, None], ranks, [n]),
        tf.math.unsorted_segment_max(ordered, ranks, n),
    )


def decomposition_sums(
    examples: _inputs.Examples, occurring: bool = False
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns what the parts of the Brier score are read off, and if all was right.

    The columns hold sums over the examples of one decision k, of forecasts less the
    vertex e_k, from which they stray little: the outcomes (rows 0 to K-1), p - e_k (K
    rows), |p - e_k|^2, and p - e_k at the label.

    Args:
      examples: what to add up.
      occurring: whether there may be a column for each of N examples, if they are
        fewer than the classes, instead of one for each class.

    Returns:
      hi and lo [2K + 2, K or N], which add over batches if there are K columns; a
      boolean scalar; and where the vertex of each column is, [K, K or N].
    """
    classes, dtype = examples.num_classes, examples.dtype
    labels, weights = examples.labels, examples.weights
    decisions, scores, right = _inputs.decisions(examples.probabilities)
    valid = examples.valid & _inputs.live_rows(weights, right)
    p = tf.cast(examples.probabilities, dtype)
    scores = tf.cast(scores, dtype)
    hits = tf.cast(decisions == labels, dtype)
    columns, n = tf.range(classes), classes
    if occurring and (decisions.shape[0] or classes) < classes:
        decisions, columns = _occurring(decisions)
        n = columns.shape[0]
    elif classes > _MOST_CLASSES:
        expected = f"at most {_MOST_CLASSES}, for sums of all their pairs"
        raise _checks.error("num_classes", expected, classes)
    vertices = columns == tf.range(classes)[:, None]
    rows = tf.stack(
        [
            tf.ones_like(scores),
            scores - 1,
            _squares(p) - 2 * scores + 1,
            _inputs.take(p, labels) - hits,
        ],
        axis=1,
    )
    if weights is not None:
        live = (right & (weights > 0))[:, None]
        rows = tf.where(live, rows * weights[:, None], tf.zeros_like(rows))
        p = tf.where(live, p * weights[:, None], tf.zeros_like(p))
    outcomes = _sums.segment_pair(rows[:, :1], labels * n + decisions, classes * n)
    moments = _sums.segment_pair(rows[:, 1:], decisions, n)
    # In the sum of the parts those off the diagonal cancel: plain sums will do.
    strays = tf.transpose(tf.math.unsorted_segment_sum(p, decisions, n))
    hi, lo = (
        tf.concat(
            [
                tf.reshape(outcome, [classes, n]),
                tf.where(vertices, moment[0], stray),
                moment[1:],
            ],
            axis=0,
        )
        for outcome, stray, moment in zip(
            outcomes, (strays, tf.zeros_like(strays)), moments, strict=True
        )
    )
    return hi, lo, valid, vertices


def decomposition_parts(
    totals: tf.Tensor, vertices: tf.Tensor
) -> tuple[BrierParts, ExactBrierParts]:
    """Returns the parts of the Brier score, of `decomposition_sums`."""
    classes = vertices.shape[0]
    counts, strays = totals[:classes], totals[classes : 2 * classes]
    held = tf.reduce_sum(counts, axis=0)
    total = tf.reduce_sum(held)

    def share(values):
        return tf.math.divide_no_nan(values, total)

    dbar = tf.math.divide_no_nan(counts, held)
    fbar = tf.math.divide_no_nan(strays, held)  # Less the vertex, as all below.
    gaps = fbar - (dbar - tf.cast(vertices, totals.dtype))
    gaps = tf.where(held > 0, gaps, tf.zeros_like(gaps))
    pbar = share(tf.reduce_sum(counts, axis=1, keepdims=True))

    def mean(per_decision):
        return tf.reduce_sum(share(held) * tf.reduce_sum(per_decision, axis=0))

    uncertainty = -tf.reduce_sum(pbar * pbar)
    resolution = mean(tf.math.squared_difference(dbar, pbar))
    reliability = mean(gaps * gaps)
    variance = share(tf.reduce_sum(totals[-2])) - mean(fbar * fbar)
    variance = tf.maximum(variance, 0)
    covariance = 2 * (share(tf.reduce_sum(totals[-1])) - mean(fbar * dbar))
    return (
        BrierParts(uncertainty, resolution, reliability + variance),
        ExactBrierParts(uncertainty, resolution, reliability, variance, covariance),
    )


def _decomposition(
    labels: TensorLike,
    probabilities: TensorLike | None,
    logits: TensorLike | None,
    sample_weight: TensorLike | None,
    ignore_index: int | None,
    exact: bool,
) -> Any:
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(labels, probabilities, logits, **options)
    hi, lo, valid, vertices = decomposition_sums(examples, occurring=True)
    totals = hi + lo
    valid &= tf.reduce_sum(totals[: examples.num_classes]) > 0
    totals = _inputs.nan_unless(
        valid,
        totals,
        lambda: np_rules.brier_decomposition(labels, probabilities, logits, **options),
    )
    return decomposition_parts(totals, vertices)[exact]


def brier_decomposition(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> BrierParts:
    """Uncertainty, resolution and reliability of a classifier.

    Examples are partitioned by their decision k, the argmax. With w_k the share of the
    examples decided as k, dbar_kj the frequency of label j among them and pbar_j that
    among all:

      uncertainty = -sum_j pbar_j^2
      resolution = sum_k w_k sum_j (dbar_kj - pbar_j)^2
      reliability = mean over examples of sum_j (p_j - dbar_kj)^2

    `uncertainty - resolution + reliability` is the Brier score where all forecasts of a
    decision are equal; `brier_decomposition_exact` sums to it for any data.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple `(uncertainty, resolution, reliability)` of scalars: in [-1, -1/K];
      in [0, 1], larger is better; in [0, 2], smaller is better and 0 is calibrated. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> probabilities = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
      >>> parts = um.brier_decomposition([0, 1, 1, 1], probabilities=probabilities)
      >>> [round(float(part), 5) for part in parts]
      [-0.625, 0.125, 0.18]

    References:
      Murphy (1973), A New Vector Partition of the Probability Score.
      Bröcker (2009), Reliability, Sufficiency, and the Decomposition of Proper Scores.
    """
    return _decomposition(
        labels, probabilities, logits, sample_weight, ignore_index, exact=False
    )


def brier_decomposition_exact(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> ExactBrierParts:
    """Five parts that sum to the Brier score, for any data.

    Examples are partitioned as in `brier_decomposition`. With fbar_kj the mean of p_j
    and dbar_kj that of the outcome d_j = (j == y) over the examples decided as k:

      reliability = sum_k w_k sum_j (fbar_kj - dbar_kj)^2
      within_bin_variance = mean of sum_j (p_j - fbar_kj)^2
      within_bin_covariance = 2 * mean of sum_j (p_j - fbar_kj) (d_j - dbar_kj)
      Brier = uncertainty - resolution + reliability
              + within_bin_variance - within_bin_covariance

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      logits: instead of `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      A named tuple of scalars `(uncertainty, resolution, reliability,
      within_bin_variance, within_bin_covariance)`. Its `reliability` is that of the
      mean forecast, at most that of `brier_decomposition`; smaller is better. NaN
      inside a graph where eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> data = {"labels": [0, 1, 1], "probabilities": [0.2, 0.4, 0.9]}
      >>> u, resolution, reliability, variance, covariance = (
      ...     um.brier_decomposition_exact(**data)
      ... )
      >>> total = u - resolution + reliability + variance - covariance
      >>> bool(abs(total - um.brier_score(**data)) < 1e-6)
      True

    References:
      Stephenson, Coelho and Jolliffe (2008), Two Extra Components in the Brier Score
      Decomposition.
    """
    return _decomposition(
        labels, probabilities, logits, sample_weight, ignore_index, exact=True
    )


def _finite(*tensors: tf.Tensor) -> tf.Tensor:
    """Returns where all of the tensors, of one shape, are finite."""
    finite = tf.math.is_finite(tensors[0])
    for tensor in tensors[1:]:
        finite &= tf.math.is_finite(tensor)
    return finite


@tf.custom_gradient
def _crps_normal(
    labels: tf.Tensor, means: tf.Tensor, stddevs: tf.Tensor
) -> tuple[tf.Tensor, Callable[..., tuple[tf.Tensor, ...]]]:
    difference = labels - means
    # Where this divides by the smallest normal number, erf is -1, 0 or 1.
    z = difference / tf.maximum(stddevs, stddevs.dtype.as_numpy_dtype(_TINY))
    sign = tf.math.erf(z / math.sqrt(2))
    density = tf.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    slope = 2 * density - 1 / math.sqrt(math.pi)

    def gradient(upstream):
        # The terms in which z is differentiated cancel; written out, they would
        # overflow for small stddevs.
        return upstream * sign, -upstream * sign, upstream * slope

    return difference * sign + stddevs * slope, gradient


_TINY = np.finfo(np.float32).tiny


def normal_scores(
    labels: tf.Tensor, means: tf.Tensor, stddevs: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the CRPS of Normal forecasts, all of one shape, and which are right."""
    right = _finite(labels, means, stddevs) & (stddevs >= 0)
    return _crps_normal(labels, means, stddevs), right


def crps_normal_score(
    labels: TensorLike, means: TensorLike, stddevs: TensorLike
) -> tf.Tensor:
    """Continuous ranked probability score (CRPS) of Normal forecasts.

    With z = (y - mean) / stddev, and Phi and phi the Normal CDF and density:

      CRPS = stddev (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))

    Args:
      labels: real, shape [...].
      means: real, shape of the labels, or a scalar.
      stddevs: >= 0, shape of the labels, or a scalar. For 0 the score is its limit,
        the absolute error; values and gradients are finite for any.

    Returns:
      Scores of the shape of the labels, float32 or float64 as the forecasts, >= 0, in
      the unit of the labels. Smaller is better. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> scores = um.crps_normal_score([0.0, 3.0], [0.0, 1.0], [1.0, 0.0])
      >>> scores.numpy().round(6).tolist()
      [0.23369500041007996, 2.0]

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """
    y = _inputs.as_tensor("labels", labels)
    parameters = {
        "means": _inputs.as_tensor("means", means),
        "stddevs": _inputs.as_tensor("stddevs", stddevs),
    }
    y = tf.cast(y, _inputs.predictions_dtype(*parameters.values()))
    mean, stddev = (
        _inputs.like_labels(name, value, y) for name, value in parameters.items()
    )
    scores, right = normal_scores(y, mean, stddev)
    return _inputs.nan_unless(
        right, scores, lambda: np_rules.crps_normal_score(labels, means, stddevs)
    )


def _samples(
    labels: TensorLike, predictive_samples: TensorLike
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns labels [...] and samples [..., m] of one type."""
    labels = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "samples")
    samples = tf.cast(samples, _inputs.predictions_dtype(samples))
    shape = samples.shape[:-1]
    if not shape.is_fully_defined():
        shape = tf.shape(samples)[:-1]
    return tf.reshape(tf.cast(labels, samples.dtype), shape), samples


def sample_scores(
    labels: tf.Tensor,
    samples: tf.Tensor,
    estimator: str,
    with_gradient: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the CRPS of samples [..., m] and which are right.

    `with_gradient` tells that a gradient is sure to be taken, which is faster then.
    """
    right = tf.math.is_finite(labels) & tf.reduce_all(
        tf.math.is_finite(samples), axis=-1
    )
    error = tf.reduce_mean(tf.abs(samples - tf.expand_dims(labels, -1)), axis=-1)
    if estimator == "roll":
        neighbours = tf.abs(samples - tf.roll(samples, 1, axis=-1))
        return error - tf.reduce_mean(neighbours, axis=-1) / 2, right
    fair = estimator == "fair"
    return error - _pairwise.pairwise_spread(samples, fair, with_gradient), right


def crps_score(
    labels: TensorLike, predictive_samples: TensorLike, *, estimator: str = "fair"
) -> tf.Tensor:
    """Continuous ranked probability score (CRPS) of samples of a forecast.

      CRPS = mean_i |x_i - y| - spread / 2

    The spread estimates E|X - X'| for independent draws X and X' of the forecast:

      fair: mean of |x_i - x_j| over all pairs i != j, m(m-1); unbiased.
      nrg: mean over all m^2 pairs: the exact score of the empirical distribution, whose
        spread is too small by the factor (m-1)/m.
      roll: mean of |x_i - x_(i-1)| over neighbours in the order given; unbiased for
        independent samples, but noisier, and dependent on their order.

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      estimator: "fair", "nrg" or "roll". "fair" needs two samples.

    Returns:
      Scores, shape [...], float32 or float64 as the samples, in the unit of the labels.
      Smaller is better. "nrg" is >= 0; an unbiased score of few samples may be
      negative. O(m log m). NaN inside a graph where eager execution raises ValueError
      for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> um.crps_score([0.0], [[-1.0, 1.0]]).numpy().tolist()
      [0.0]
      >>> um.crps_score([0.0], [[-1.0, 1.0]], estimator="nrg").numpy().tolist()
      [0.5]

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts.
    """
    y, samples = _samples(labels, predictive_samples)
    np_rules.check_estimator(estimator, np_rules.CRPS_ESTIMATORS, samples.shape[-1])
    scores, right = sample_scores(y, samples, estimator)
    if estimator == "fair":
        right &= tf.shape(samples)[-1] > 1
    return _inputs.nan_unless(
        right,
        scores,
        lambda: np_rules.crps_score(labels, predictive_samples, estimator=estimator),
    )


def pinball_losses(
    labels: tf.Tensor, predictions: tf.Tensor, quantiles: float | tuple[float, ...]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the losses of predictions [..., Q] for labels [...] or [..., 1], and
    which are right.
    """
    error = labels - predictions
    levels = tf.constant(quantiles, predictions.dtype)
    losses = tf.maximum(levels * error, (levels - 1) * error)
    return losses, tf.math.is_finite(error)


def pinball_loss(
    labels: TensorLike,
    quantile_predictions: TensorLike,
    quantiles: float | Sequence[float] | np.ndarray,
) -> tf.Tensor:
    """Pinball (quantile) loss of predicted quantiles.

    For the quantile q of level t:

      loss = t (y - q) where y >= q, (1 - t) (q - y) elsewhere

    Twice its mean over many evenly spaced levels approaches the CRPS.

    Args:
      labels: real, shape [...].
      quantile_predictions: real, shape [..., Q]; the shape of the labels where
        `quantiles` is a number.
      quantiles: their levels in (0, 1), a sequence of Q, or a number; known when a
        graph is built.

    Returns:
      Losses of the shape of the predictions, float32 or float64 as they are, >= 0, in
      the unit of the labels. Smaller is better. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> um.pinball_loss([1.0], [[0.0, 3.0]], [0.5, 0.75]).numpy().tolist()
      [[0.5, 0.5]]

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """
    levels = _checks.levels("quantiles", quantiles)
    y = _inputs.as_tensor("labels", labels)
    predictions = _inputs.as_tensor("quantile_predictions", quantile_predictions)
    _checks.quantile_shape(predictions.shape, y.shape, levels)
    dtype = _inputs.predictions_dtype(predictions)
    y, predictions = tf.cast(y, dtype), tf.cast(predictions, dtype)
    if isinstance(levels, tuple):
        y = tf.reshape(y, tf.concat([tf.shape(predictions)[:-1], [1]], axis=0))
    else:
        predictions = _inputs.like_labels("quantile_predictions", predictions, y)
    losses, right = pinball_losses(y, predictions, levels)
    return _inputs.nan_unless(
        right,
        losses,
        lambda: np_rules.pinball_loss(labels, quantile_predictions, levels),
    )


def interval_scores(
    labels: tf.Tensor, lower: tf.Tensor, upper: tf.Tensor, alpha: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the interval scores, all arguments of one shape, and which are right."""
    outside = tf.nn.relu(lower - labels) + tf.nn.relu(labels - upper)
    return upper - lower + (2 / alpha) * outside, _finite(labels, lower, upper)


def interval_score(
    labels: TensorLike, lower: TensorLike, upper: TensorLike, alpha: float
) -> tf.Tensor:
    """Interval (Winkler) score of central prediction intervals of level 1 - alpha.

      score = (u - l) + 2/alpha (l - y where y < l) + 2/alpha (y - u where y > u)

    It is 2/alpha times the sum of the pinball losses of l at alpha/2 and of u at
    1 - alpha/2, also where the two cross.

    Args:
      labels: real, shape [...].
      lower: real, the quantile of level alpha/2, shape of the labels, or a scalar.
      upper: real, the quantile of level 1 - alpha/2, shape of the labels, or a scalar.
      alpha: in (0, 1); 0.1 for 90% intervals.

    Returns:
      Scores of the shape of the labels, float32 or float64 as the intervals, >= 0, in
      the unit of the labels. Smaller is better. NaN inside a graph where eager
      execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics as um
      >>> um.interval_score([0.5, 3.0], [0.0, 0.0], [1.0, 1.0], 0.1).numpy().tolist()
      [1.0, 41.0]

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """
    alpha = _checks.open_unit("alpha", alpha)
    y = _inputs.as_tensor("labels", labels)
    bounds = {
        "lower": _inputs.as_tensor("lower", lower),
        "upper": _inputs.as_tensor("upper", upper),
    }
    y = tf.cast(y, _inputs.predictions_dtype(*bounds.values()))
    low, high = (_inputs.like_labels(name, value, y) for name, value in bounds.items())
    scores, right = interval_scores(y, low, high, alpha)
    right &= ~tf.reduce_all(low > high)
    return _inputs.nan_unless(
        right, scores, lambda: np_rules.interval_score(labels, lower, upper, alpha)
    )


def _norm(vectors: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norm over the last axis, whose gradient at 0 is 0."""
    squared = tf.reduce_sum(vectors * vectors, axis=-1)
    positive = squared > 0
    root = tf.sqrt(tf.where(positive, squared, tf.ones_like(squared)))
    return tf.where(positive, root, tf.zeros_like(root))


@tf.custom_gradient
def _pair_distances(
    samples: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """Returns the sum of ||x_i - x_j|| over the pairs i < j of samples [..., m, d]."""
    m = tf.shape(samples)[-2]

    def over_shifts(add, start):
        # All pairs at once would take m^2 d numbers.
        def step(shift, total):
            # The pairs that are m/2 apart come twice.
            share = tf.where(2 * shift == m, 0.5, 1.0)
            vectors = samples - tf.roll(samples, shift, axis=-2)
            return shift + 1, total + tf.cast(share, samples.dtype) * add(
                shift, vectors
            )

        return tf.while_loop(
            lambda shift, _: 2 * shift <= m, step, [tf.constant(1), start]
        )[1]

    def gradient(upstream):
        def slopes(shift, vectors):
            units = tf.math.divide_no_nan(vectors, _norm(vectors)[..., None])
            return units - tf.roll(units, -shift, axis=-2)

        return upstream[..., None, None] * over_shifts(slopes, tf.zeros_like(samples))

    distances = over_shifts(
        lambda _, vectors: tf.reduce_sum(_norm(vectors), axis=-1),
        tf.zeros(tf.shape(samples)[:-2], samples.dtype),
    )
    return distances, gradient


def energy_score(
    labels: TensorLike, predictive_samples: TensorLike, *, estimator: str = "fair"
) -> tf.Tensor:
    """Energy score of samples of a multivariate forecast; the CRPS for d = 1.

      ES = mean_i ||x_i - y|| - spread / 2

    The spread estimates E||X - X'|| as in `crps_score`: the mean of ||x_i - x_j||

      fair: over all pairs i != j, m(m-1); unbiased.
      nrg: over all m^2 pairs: the exact score of the empirical distribution.
      roll: over neighbours j = i - 1 in the order given; unbiased for independent
        samples, but noisier, and dependent on their order. O(m d).

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      estimator: "fair", "nrg" or "roll". "fair" needs two samples.

    Returns:
      Scores, shape [...], float32 or float64 as the samples, in the unit of the labels.
      Smaller is better. "nrg" is >= 0; an unbiased score of few samples may be
      negative. Time O(m^2 d), memory O(m d) for each forecast. NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> samples = [[[3.0, 4.0], [3.0, 4.0]]]
      >>> um.energy_score([[0.0, 0.0]], samples).numpy().tolist()
      [5.0]

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """
    y = _inputs.as_tensor("labels", labels)
    samples = _inputs.as_tensor("predictive_samples", predictive_samples)
    _checks.vector_samples("predictive_samples", samples.shape, y.shape)
    np_rules.check_estimator(estimator, np_rules.CRPS_ESTIMATORS, samples.shape[-2])
    samples = tf.cast(samples, _inputs.predictions_dtype(samples))
    strays = samples - tf.cast(y, samples.dtype)[..., None, :]
    right = tf.reduce_all(tf.math.is_finite(strays), axis=[-2, -1])
    # Squares of very small or large numbers would leave the range of the type.
    scale = tf.stop_gradient(tf.reduce_max(tf.abs(strays), axis=[-2, -1]))
    scale = tf.where(scale > 0, scale, tf.ones_like(scale))
    strays /= scale[..., None, None]
    m = tf.cast(tf.shape(samples)[-2], samples.dtype)
    if estimator == "roll":
        steps = _norm(strays - tf.roll(strays, 1, axis=-2))
        spread = tf.reduce_mean(steps, axis=-1) / 2
    else:
        pairs = m * (m if estimator == "nrg" else m - 1)
        spread = _pair_distances(strays) / pairs
    scores = scale * (tf.reduce_mean(_norm(strays), axis=-1) - spread)
    if estimator == "fair":
        right &= m > 1
    return _inputs.nan_unless(
        right,
        scores,
        lambda: np_rules.energy_score(labels, predictive_samples, estimator=estimator),
    )
