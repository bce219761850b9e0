"""Detection: how well a score separates positive examples from negative ones.

All metrics are exact, by sorting, without a choice of thresholds. Any real scores will
do, for example the uncertainty of a classifier, with label 0 for examples in
distribution and label 1, the positive class, for examples out of distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import _sorted_outcomes

__all__ = ["aupr", "auroc", "fpr_at_tpr"]

Positive = Literal["out", "in"]
Average = Literal["macro"]


def is_turned(positive: str) -> bool:
    """Says if label 0 is positive; raises ValueError for an unknown option."""
    _checks.one_of("positive", positive, get_args(Positive))
    return positive == "in"


def _groups(
    labels: ArrayLike,
    scores: ArrayLike,
    positive: Positive,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    negatives: bool = True,
) -> _sorted_outcomes.Groups:
    """Returns groups of equal scores; raises ValueError if a needed class is absent."""
    turned = is_turned(positive)
    x, hits, weights = _sorted_outcomes.examples(
        "labels", labels, "scores", scores, sample_weight, ignore_index
    )
    groups = _sorted_outcomes.groups(*((-x, ~hits) if turned else (x, hits)), weights)
    needed = (int(not turned), groups.hits), (int(turned), groups.misses)
    for label, masses in needed if negatives else needed[:1]:
        if masses[-1] == 0:
            raise _checks.error("labels", f"{label} for at least one example", "none")
    return groups


def number_of_columns(
    labels: tuple[int, ...], scores: tuple[int, ...], multilabel: object, average: Any
) -> int | None:
    """Returns the number of classes or labels of arrays of these shapes, each of which
    has an AUROC; None for positive and negative examples.
    """
    _checks.one_of("average", average, (*get_args(Average), None))
    _checks.boolean("multilabel", multilabel)
    if multilabel:
        return _checks.number_of_labels(labels, scores, "scores")
    return _checks.number_of_scored_classes(labels, scores)


def _area(groups: _sorted_outcomes.Groups) -> float:
    hits, misses = groups.hits, groups.misses
    return _sorted_outcomes.trapezoids(misses, hits) / float(hits[-1] * misses[-1])


@overload
def auroc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    average: Average = "macro",
) -> float: ...


@overload
def auroc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    average: None,
) -> float | np.ndarray: ...


@takes_frames
def auroc(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    average: Average | None = "macro",
) -> float | np.ndarray:
    """Area under the receiver operating characteristic curve.

    The probability that a positive example has a larger score than a negative one:

      AUROC = P(score of a positive > score of a negative)
              + 1/2 P(score of a positive = score of a negative)

    K >= 3 classes have an AUROC each, one against the rest: the examples of the class
    are positive, and all others negative. With `multilabel` each of L labels has one.
    "macro" is their mean; every class must then occur.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...]. With scores of K
        classes integers in [0, K).
      scores: finite, shape of the labels; larger for label 1. Or of K >= 3 classes,
        shape [..., K].
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`. The AUROC is equal for both.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        Without it, labels and scores of the same shape are pooled.
      average: Only for K classes or `multilabel`: "macro" for the mean of the AUROCs,
        None for all of them, shape [K] or [L].

    Returns:
      A number in [0, 1]; 1/2 for uninformative scores. Larger is better. An array with
      `average=None`.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent, or
        all examples are of one class.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
      0.875
      >>> scores = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.7, 0.2], [0.2, 0.7, 0.1]]
      >>> [round(float(x), 6) for x in um.auroc([0, 1, 2, 2], scores, average=None)]
      [1.0, 0.333333, 0.75]

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """
    labels = _inputs.as_array("labels", labels)
    scores = _inputs.as_array("scores", scores)
    columns = number_of_columns(labels.shape, scores.shape, multilabel, average)
    if columns is None:
        return _area(_groups(labels, scores, positive, sample_weight, ignore_index))
    is_turned(positive)
    read = _labels_each if multilabel else _one_against_rest
    areas = np.empty(columns)
    pairs = read(labels, scores, columns, sample_weight, ignore_index)
    for column, groups in enumerate(pairs):
        for masses, kind in ((groups.hits, "positive"), (groups.misses, "negative")):
            if masses[-1] == 0:
                what = f"label {column}" if multilabel else f"class {column}"
                expected = f"positive and negative examples of {what}"
                raise _checks.error("labels", expected, f"no {kind} one", verb="hold")
        areas[column] = _area(groups)
    return areas if average is None else float(areas.mean())


def _labels_each(
    labels: np.ndarray,
    scores: np.ndarray,
    columns: int,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
) -> Iterator[_sorted_outcomes.Groups]:
    """Yields the groups of each of the labels [..., L]."""
    x, hits, weights, place = _sorted_outcomes.placed_examples(
        "labels", labels, "scores", scores, sample_weight, ignore_index
    )
    column = np.broadcast_to(np.arange(columns), place.shape).reshape(-1)
    if place.counted is not None:
        column = column[place.counted.reshape(-1)]
    for i in range(columns):
        rows = column == i
        if not np.any(rows):
            raise _checks.error(
                "labels", f"an example of label {i} that counts", "none", verb="hold"
            )
        of_label = None if weights is None else weights[rows]
        yield _sorted_outcomes.groups(x[rows], hits[rows], of_label)


def _one_against_rest(
    labels: np.ndarray,
    scores: np.ndarray,
    columns: int,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
) -> Iterator[_sorted_outcomes.Groups]:
    """Yields the groups of each of K classes, with the others as negative examples."""
    shape, counted, weights = labels.shape, np.ones(labels.size, bool), None
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape)
        counted &= weights > 0
    y = labels.reshape(-1)
    if ignore_index is not None:
        counted &= ~_inputs.is_ignored(y, ignore_index)
    if not np.any(counted):
        raise _checks.error(
            "labels",
            "at least one example of positive weight that is not ignored",
            "none",
            verb="hold",
        )
    y = _inputs.integer_labels(
        "labels", y[counted], columns, _inputs.Place(shape, counted)
    )
    place = _inputs.Place(scores.shape, counted)
    x = scores.reshape(-1, columns)[counted]
    x = _inputs.finite("scores", _sorted_outcomes.floating(x), single=True, place=place)
    weights = None if weights is None else weights[counted]
    for k in range(columns):  # Each class sorts all examples by scores of its own.
        yield _sorted_outcomes.groups(np.ascontiguousarray(x[:, k]), y == k, weights)


@takes_frames
def aupr(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Area under the precision-recall curve, as the average precision.

    Over the distinct scores t_1 > t_2 > ..., with recall R_i and precision P_i of the
    examples of score >= t_i:

      AUPR = sum_i (R_i - R_{i-1}) P_i

    The value depends on which class is positive: OpenOOD and many papers report both,
    as AUPR-Out and AUPR-In.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A number in (0, 1]; the share of positive examples for uninformative scores.
      Larger is better.

    Raises:
      ValueError: an argument is not as described, or no example is positive.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
      >>> round(float(um.aupr(labels, scores)), 6)
      0.833333
      >>> round(float(um.aupr(labels, scores, positive="in")), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship between Precision-Recall and ROC
      Curves.
    """
    weighting = sample_weight, ignore_index
    groups = _groups(labels, scores, positive, *weighting, negatives=False)
    precisions = groups.hits[1:] / groups.masses[1:]
    return float(np.sum(np.diff(groups.hits) * precisions) / groups.hits[-1])


@takes_frames
def fpr_at_tpr(
    labels: ArrayLike,
    scores: ArrayLike,
    tpr: float = 0.95,
    *,
    positive: Positive = "out",
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """False positive rate at a true positive rate.

    The smallest share of the negative examples with score >= t, over the thresholds t
    that a share of at least `tpr` of the positive examples reaches.

    The value depends on which class is positive. By default, as in torch-uncertainty
    and OpenOOD 1.5, it is the class out of distribution: FPR95 is then the share of
    examples in distribution that are taken for examples out of it. In Liang et al.
    (2018) and OpenOOD 1.0 it is the class in distribution: `positive="in"`.

    Args:
      labels: 0 or 1; integers, booleans or floating, shape [...].
      scores: finite, shape of the labels; larger for label 1.
      tpr: true positive rate, in (0, 1].
      positive: the positive class: "out" of distribution (label 1, larger scores), or
        "in" distribution (label 0, smaller scores), the same as `1 - labels` and
        `-scores`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      A share in [0, 1]. Smaller is better.

    Raises:
      ValueError: an argument is not as described, or one of the classes is absent.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(um.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95))
      0.5

    References:
      Liang, Li and Srikant (2018), Enhancing the Reliability of Out-of-Distribution
      Image Detection in Neural Networks.
    """
    tpr = _checks.share("tpr", tpr, zero=False)
    groups = _groups(labels, scores, positive, sample_weight, ignore_index)
    enough = groups.hits / groups.hits[-1] * _sorted_outcomes.ROUND_UP >= tpr
    return float(groups.misses[np.argmax(enough)] / groups.misses[-1])
