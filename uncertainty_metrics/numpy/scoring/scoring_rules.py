"""Proper scoring rules of classifiers, exact and in float64.

The mean of a proper scoring rule is smallest if the forecast is the true distribution.
All are losses: smaller is better. Rules for real-valued forecasts: `forecast_scores`.

Without `aggregate`, the score of each example is multiplied by its weight, and is 0 for
examples of the ignored label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import GroupValues, ImageMean
from uncertainty_metrics.numpy import (
    _compiled_loops,
    _examples,
    _image_blocks,
    _row_math,
    _threads,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.scoring._cross_entropies import cross_entropies
from uncertainty_metrics.numpy.scoring._group_values import image_mean, of_groups

__all__ = [
    "brier_score",
    "negative_log_likelihood",
    "ranked_probability_score",
]


def at_label(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Returns the value [N] at the label in each row of values [N, K]."""
    if values.flags.c_contiguous:
        return values.reshape(-1)[_places(labels, values.shape[1])]
    return values[np.arange(len(labels)), labels]


def _places(labels: np.ndarray, classes: int) -> np.ndarray:
    """Returns the index of the label in each row of a contiguous array [N, K], whose
    rows follow each other. This takes half the time of two indices.
    """
    return np.arange(0, len(labels) * classes, classes) + labels


def of_one_outcome(scores: Any, has_two_classes: bool) -> Any:
    """Returns zero-based Brier scores as scorers, comparisons, the calibration loss and
    reports show them: of two classes the squared error (y - p)^2 of the one outcome,
    and not the sum over both classes, which is twice as large.
    """
    return scores / 2 if has_two_classes else scores


def _mean_score(
    data: ClassifierData,
    scores_of: Callable[[_examples.Examples], np.ndarray],
    aggregate: bool,
) -> Any:
    """Returns `reduced` of the scores [N] of the examples of the data."""
    _checks.boolean("aggregate", aggregate)
    _checks.boolean("multilabel", data.multilabel)

    def of_all(data: ClassifierData, allow_none: bool = not aggregate) -> Any:
        examples = _examples.examples_of(data, allow_none)
        return reduced(examples, scores_of(examples), aggregate)

    blocks = _image_blocks.image_blocks(data, by_image=True) if aggregate else []
    found = blocks and _image_blocks.of_images(blocks, lambda x: of_all(x, True))
    if not found:
        return of_all(data)
    values, weights = found
    if data.per_image:
        return image_mean(values)
    held = weights > 0
    return float(np.average(values[held], weights=weights[held]))


def reduced(
    examples: _examples.Examples,
    scores: np.ndarray,
    aggregate: bool,
    worst: Callable[[np.ndarray], Any] = np.max,
) -> Any:
    """Returns the weighted mean of scores [N], in total or for each group; or, without
    `aggregate`, all scores times their weights.
    """
    if examples.groups is not None:
        _checks.check_aggregate(aggregate)
        weights = examples.groups.sums(examples.weights)
        weighted = scores if examples.weights is None else scores * examples.weights
        sums = examples.groups.sums(weighted)
        means = sums / np.where(weights > 0, weights, np.nan)
        return of_groups(means, weights, examples.groups, worst)
    if aggregate:
        with np.errstate(over="ignore"):  # The mean may overflow to inf.
            return float(np.average(scores, weights=examples.weights))
    weighted = np.zeros(examples.counted.shape)
    weighted[examples.counted] = (
        scores if examples.weights is None else scores * examples.weights
    )
    return weighted


@overload
def brier_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
) -> float | np.ndarray: ...


@overload
def brier_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@overload
def brier_score(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...


@takes_frames
def brier_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    zero_based: bool = False,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
    per_image: bool = False,
) -> float | np.ndarray | GroupValues | ImageMean:
    """Brier score: the squared distance of the forecast from the outcome.

      Brier = sum_k p_k^2 - 2 p_y

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      zero_based: whether to add 1, which makes it `sum_k (p_k - (k == y))^2`. For two
        classes that is twice the mean squared error of P(class 1).
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The mean, or scores of the shape of the labels; in [-1, 1], or in [0, 2]
      for `zero_based`. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.brier_score([0, 1], probabilities=[[0.9, 0.1], [0.4, 0.6]])
      >>> round(float(score), 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """
    _checks.boolean("zero_based", zero_based)

    def scores_of(examples: _examples.Examples) -> np.ndarray:
        def score(p: np.ndarray, block: slice) -> np.ndarray:
            if examples.shares is not None:
                shares = examples.shares[block]
                if zero_based:
                    p -= shares
                    return _row_math.dot(p, p) + (1 - _row_math.dot(shares, shares))
                return _row_math.dot(p, p) - 2 * _row_math.dot(p, shares)
            labels = examples.labels[block]
            if zero_based:  # Adding 1 at the end would lose digits.
                p.reshape(-1)[_places(labels, p.shape[1])] -= 1
                return _row_math.dot(p, p)
            return _row_math.dot(p, p) - 2 * at_label(p, labels)

        return examples.checked().in_blocks(score)

    return _mean_score(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            multilabel=multilabel,
            label_distributions=label_distributions,
            groups=groups,
            num_groups=num_groups,
            per_image=per_image,
        ),
        scores_of,
        aggregate,
    )


@overload
def negative_log_likelihood(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
) -> float | np.ndarray: ...


@overload
def negative_log_likelihood(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@overload
def negative_log_likelihood(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    per_image: Literal[True],
) -> ImageMean: ...


@takes_frames
def negative_log_likelihood(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
    per_image: bool = False,
) -> float | np.ndarray | GroupValues | ImageMean:
    """Negative log-likelihood, the logarithmic score: `-log p_y` in nats.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`; the value keeps its
        precision where the probability of the label underflows.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.
      per_image: whether to average the values of the images, which are on the first
        axis of the labels, instead of pooling their pixels. The result is then
        `ImageMean`, with an interval over the images (guide/segmentation.md).

    Returns:
      The mean, or scores of the shape of the labels; >= 0, inf where the label
      had probability 0. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> score = um.negative_log_likelihood([0, 1], logits=[[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(score), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """
    return _mean_score(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            multilabel=multilabel,
            label_distributions=label_distributions,
            groups=groups,
            num_groups=num_groups,
            per_image=per_image,
        ),
        _likelihood_scores,
        aggregate,
    )


def _likelihood_scores(examples: _examples.Examples) -> np.ndarray:
    """Returns -log p_y of each example, [N], or its mean over the labels' shares."""
    if examples.shares is not None:
        return cross_entropies(examples.checked(), examples.shares)
    if examples.name != "logits":
        p = at_label(examples.checked().predictions, examples.labels)
        with np.errstate(divide="ignore"):
            return 0.0 - np.log(p.astype(np.float64))  # No -0.0.

    def score(rows: slice) -> np.ndarray:
        logits, labels = examples.predictions[rows], examples.labels[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            if logits.shape[1] <= _row_math.FEW_COLUMNS:
                z = _row_math.as_columns(logits)
                z -= at_label(logits, labels)
                total = _row_math.sum_of_columns(np.exp(z, out=z))
            else:
                z = logits.astype(np.float64)
                z -= at_label(z, labels)[:, None]
                total = _row_math.sums(np.exp(z, out=z))
        if np.all(total < np.inf):
            return np.log(total)
        # A logit is far above that of the label.
        z = _row_math.below_maximum(logits)
        label_logit = at_label(z, labels)
        return np.log(_row_math.sums(np.exp(z, out=z))) - label_logit

    out = np.empty(len(examples.labels))
    compiled = _compiled_loops.loops(examples.predictions)
    if compiled is not None:
        arrays = examples.labels, examples.predictions
        if _compiled_loops.fill(out, compiled.likelihood_of_classes, *arrays):
            return out
    return _threads.fill_rows(out, score, examples.num_classes)


@overload
def ranked_probability_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
) -> float | np.ndarray: ...


@overload
def ranked_probability_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike,
    num_groups: int | None = None,
) -> GroupValues: ...


@takes_frames
def ranked_probability_score(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    aggregate: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    label_distributions: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    num_groups: int | None = None,
) -> float | np.ndarray | GroupValues:
    """Ranked probability score (RPS) of ordered classes: the CRPS of integers.

    With F_k = p_0 + ... + p_k:

      RPS = sum_k (F_k - (y <= k))^2

    Probability that is two classes away from the label costs more than probability that
    is one class away. For two classes the RPS is half of the zero-based Brier score.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`; small scores keep
        their precision.
      aggregate: whether to return the mean over the examples instead of a score for
        each.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      groups: group of each example, broadcastable to the labels: strings, integers or
        booleans. The result is then `GroupValues` (conventions.md#groups).
      num_groups: makes `groups` integers in [0, `num_groups`); required for tensors.

    Returns:
      The mean, or scores of the shape of the labels; in [0, K - 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> rows = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]
      >>> scores = um.ranked_probability_score([0, 2], rows, aggregate=False)
      >>> [round(float(score), 6) for score in scores]
      [0.17, 1.17]

    References:
      Epstein (1969), A Scoring System for Probability Forecasts of Ranked Categories.
      Murphy (1971), A Note on the Ranked Probability Score.
    """
    _checks.boolean("aggregate", aggregate)
    examples = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            label_distributions=label_distributions,
            groups=groups,
            num_groups=num_groups,
        ),
        allow_none=not aggregate,
    )

    def score(p: np.ndarray, block: slice) -> np.ndarray:
        labels = examples.labels[block]
        below = np.cumsum(p, axis=1)
        if examples.name == "logits":  # `1 - below` would lose digits.
            above = np.zeros_like(p)
            above[:, :-1] = np.cumsum(p[:, :0:-1], axis=1)[:, ::-1]
        else:
            above = 1 - below
        if examples.shares is not None:
            shares = np.cumsum(examples.shares[block], axis=1)
            squares = shares * above**2 + (1 - shares) * below**2
            return squares.sum(axis=1)
        reached = labels[:, None] <= np.arange(p.shape[1])
        errors = np.where(reached, above, below)
        return _row_math.dot(errors, errors)

    return reduced(examples, examples.checked().in_blocks(score), aggregate)
