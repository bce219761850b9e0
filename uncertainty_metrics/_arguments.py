"""Which arguments of public functions are data, and objects that hold them by name.

A public function puts its data, not yet checked, into one of these objects. The
functions that it calls then take one argument, and no argument is forgotten on the way.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from uncertainty_metrics import _checks

# The arguments whose floating type is that of the result.
PREDICTIONS = (
    *("probabilities", "logits", "probs", "confidences", "scores", "losses"),
    *("predictions", "uncertainties", "mean", "var", "stddevs", "predictive_samples"),
)
# Arguments that may be arrays, but no data of examples; the others only if they have
# one axis.
_OPTIONS = frozenset(
    {
        *("at", "default_hyperparam_range", "hyperparam_range", "level"),
        *("quantiles", "thresholds", "weights"),
        # True objects, of which there are not as many as detections.
        *("truth_boxes", "truth_classes", "truth_images", "truth_crowds"),
        "truth_ignored",
    }
)
_OPTIONS_OF_ONE_AXIS = frozenset({"alphas", "member_weights"})


def is_data(name: str, num_axes: int) -> bool:
    """Says if an argument of a public function has values of examples.

    Args:
      name: its name.
      num_axes: the number of its axes; a number has none, and is an option.
    """
    if num_axes == 0 or name in _OPTIONS:
        return False
    return num_axes > 1 or name not in _OPTIONS_OF_ONE_AXIS


@dataclasses.dataclass(frozen=True)
class ClassifierData:
    """Labels and predictions of a classifier, and which examples count how much.

    Attributes:
      labels: integer class labels [...].
      probabilities: [..., K], or P(class 1) of two classes.
      logits: instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: the decided classes, or None for the argmax.
      sample_weight: weight of each example, or None for ones.
      ignore_index: a label whose examples are left out, or None.
      groups: group of each example, or None.
      num_groups: number of groups, with `groups`.
      multilabel: whether an example has L labels [..., L] that are each 0 or 1.
      correct: instead of labels and predictions, whether each answer is right.
      confidences: with `correct`, the probability that each answer is right.
      clusters: id of the cluster of each example, or None; for NumPy alone.
      per_image: whether each image, on the first axis of the labels, is a group.
      label_distributions: instead of labels, the share of each class [..., K].
    """

    labels: Any = None
    probabilities: Any = None
    logits: Any = None
    probs: Any = None
    labels_predicted: Any = None
    sample_weight: Any = None
    ignore_index: Any = None
    groups: Any = None
    num_groups: Any = None
    multilabel: Any = False
    correct: Any = None
    confidences: Any = None
    clusters: Any = None
    per_image: Any = False
    label_distributions: Any = None

    @property
    def has_confidences(self) -> bool:
        """Whether `correct` and `confidences` stand in for labels and predictions."""
        return self.correct is not None or self.confidences is not None

    @property
    def names_given(self) -> list[str]:
        """The names of the given arguments among labels, answers and predictions."""
        names = (
            *("correct", "confidences", "labels", "label_distributions"),
            *("probabilities", "logits", "probs", "labels_predicted"),
        )
        return [name for name in names if getattr(self, name) is not None]

    def check_confidences(self) -> None:
        """Raises ValueError unless either labels with predictions are given, or
        `correct` with `confidences`.
        """
        given = self.names_given
        if given != ["correct", "confidences"] and (
            self.has_confidences
            or (self.labels is None and self.label_distributions is None)
        ):
            raise _checks.combination_error(
                "Either `labels` with one of `probabilities` and `logits`, or "
                "`correct` with `confidences` must be given.",
                given,
            )
        _checks.boolean("multilabel", self.multilabel)
        if self.has_confidences:
            self._check_no_options_of_labels("where there are no `labels`")

    def check_labels(self) -> None:
        """Raises ValueError unless there are labels, or distributions of them without
        the options of labels.
        """
        if (self.labels is None) == (self.label_distributions is None):
            raise _checks.combination_error(
                "Either `labels` or `label_distributions` must be given.",
                self.names_given,
            )
        if self.label_distributions is not None:
            _checks.boolean("multilabel", self.multilabel)
            self._check_no_options_of_labels("with `label_distributions`")

    def _check_no_options_of_labels(self, where: str) -> None:
        for name, expected in (("ignore_index", None), ("multilabel", False)):
            value = getattr(self, name)
            if value is not expected:
                raise _checks.error(name, f"{expected} {where}", value)


@dataclasses.dataclass(frozen=True)
class RankedData:
    """Examples of selective prediction: labels and predictions, or confidences.

    Attributes:
      labels: integer class labels [...], with `probabilities` or `logits`.
      probabilities: [..., K], or P(class 1) of two classes.
      logits: instead of `probabilities`.
      confidences: instead of `labels`, with `correct`.
      correct: whether each decision is right.
      losses: None here; `RankedOrLosses` may have losses instead of `correct`.
      sample_weight: weight of each example, or None for ones.
      ignore_index: a label whose examples are left out, or None.
    """

    labels: Any = None
    probabilities: Any = None
    logits: Any = None
    confidences: Any = None
    correct: Any = None
    losses: Any = None
    sample_weight: Any = None
    ignore_index: Any = None


@dataclasses.dataclass(frozen=True)
class RankedOrLosses(RankedData):
    """`RankedData` of functions that also take `losses` instead of `correct`."""


@dataclasses.dataclass(frozen=True)
class MemberData:
    """Predictions of the members of an ensemble.

    Attributes:
      labels: integer class labels, or None.
      logits: [..., M, K].
      probabilities: instead of `logits`.
      ensemble_axis: axis of the members; None if there is no such axis.
      sample_weight: weight of each example, or None for ones.
      ignore_index: a label whose examples are left out, or None.
    """

    labels: Any = None
    logits: Any = None
    probabilities: Any = None
    ensemble_axis: Any = 1
    sample_weight: Any = None
    ignore_index: Any = None


@dataclasses.dataclass(frozen=True)
class DetectionData:
    """Scores of examples of two kinds: in or out of the distribution.

    Attributes:
      labels: 0 or 1.
      scores: real numbers.
      positive: "out" or "in", the kind of the examples with label 1.
      sample_weight: weight of each example, or None for ones.
      ignore_index: a label whose examples are left out, or None.
    """

    labels: Any
    scores: Any
    positive: Any = "out"
    sample_weight: Any = None
    ignore_index: Any = None
