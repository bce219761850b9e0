"""Decomposition of a score into parts for calibration and discrimination."""

from __future__ import annotations

import dataclasses

from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import OF_ONE_SCORE
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_scores,
)
from uncertainty_metrics.numpy.calibration.without_bins._pooled_errors import (
    CORPDecomposition,
    Score,
)

__all__ = ["corp_decomposition"]


@takes_frames
def corp_decomposition(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    score: Score = "brier",
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> CORPDecomposition:
    """Decomposition of a mean score by isotonic regression (CORP).

    For forecasts p_i in [0, 1] with outcomes y_i in [0, 1], with S(q) the mean score of
    forecasts q_i, phat the isotonic regression of y on p and ybar the mean outcome,

      miscalibration = S(p) - S(phat)
      discrimination = S(ybar) - S(phat)
      uncertainty = S(ybar)
      S(p) = miscalibration - discrimination + uncertainty

    Of all forecasts that never fall where p rises, phat has the best mean of every
    proper score. The pool-adjacent-violators algorithm finds phat; its constant pieces
    are bins that nobody had to choose. All parts are >= 0. In finite data the
    miscalibration of a calibrated model is above 0, because phat also fits the noise.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      score: "brier", (y - p)^2, half of the two-class `brier_score` with
        `zero_based=True`; or "log", -log P(y), in nats.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      `CORPDecomposition(miscalibration, discrimination, uncertainty)`, floats >= 0.
      Less miscalibration and more discrimination are better. The "log" score of a
      forecast that gave an outcome the probability 0 is infinite, and so is its
      miscalibration.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, probabilities = [0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9]
      >>> parts = um.corp_decomposition(labels, probabilities, positive_class=True)
      >>> [round(part, 6) for part in parts]  # phat is 0, 0.5, 0.5, 1.
      [0.1, 0.125, 0.25]

    References:
      Dimitriadis, Gneiting and Jordan (2021), Stable Reliability Diagrams for
      Probabilistic Classifiers.
    """
    _checks.one_of("score", score, _pooled_errors.SCORES)
    spec = dataclasses.replace(OF_ONE_SCORE, positive_class=positive_class)
    examples, spec = _binning.read(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            correct=correct,
            confidences=confidences,
            label_distributions=label_distributions,
            multilabel=multilabel,
        ),
        spec,
    )
    (cells,) = _pooled_scores.of_examples(examples, spec)
    return _pooled_errors.corp(cells, score)
