"""How well a model predicts each of several labels of an example."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import MultiLabel, remembered
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics.numpy import _examples
from uncertainty_metrics.numpy.calibration.watching._group_table import (
    CalibrationByGroup,
)

_ATTRIBUTE = "label"


@dataclasses.dataclass(frozen=True, eq=False)
class LabelExamples:
    """The examples of positive weight.

    Attributes:
      labels: 0 or 1, float64 [n, L].
      probabilities: float64 [n, L].
      weights: positive [n], or None.
      clusters: number of the cluster of each example, [n], or None.
    """

    labels: np.ndarray
    probabilities: np.ndarray
    weights: np.ndarray | None
    clusters: np.ndarray | None

    def of(self, place: int) -> dict[str, Any]:
        """Returns the examples of one label as arguments of a metric."""
        return {
            "correct": self.labels[:, place],
            "confidences": self.probabilities[:, place],
            "sample_weight": self.weights,
        }


@remembered
def label_examples(model: MultiLabel) -> LabelExamples:
    """Returns the checked examples of a model with several labels."""
    weights = model.sample_weight
    _examples.examples(
        model.labels,
        model.probabilities,
        multilabel=True,
        sample_weight=None if weights is None else weights[:, None],
    ).checked()
    labels, probabilities = (
        np.asarray(each, np.float64) for each in (model.labels, model.probabilities)
    )
    if weights is not None:
        some = weights > 0
        labels, probabilities = labels[some], probabilities[some]
        weights = weights[some]
    return LabelExamples(labels, probabilities, weights, clusters_of(model))


@remembered
def table_of_labels(model: MultiLabel, level: float) -> CalibrationByGroup:
    """Returns the test of each label, at every score, adjusted for their number."""
    given = label_examples(model)
    size, number = given.labels.shape

    def repeated(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.repeat(values, number)

    return um.calibration_by_group(
        correct=given.labels.reshape(-1),
        confidences=given.probabilities.reshape(-1),
        groups={_ATTRIBUTE: np.tile(np.array(model.names), size)},
        sample_weight=repeated(given.weights),
        clusters=repeated(given.clusters),
        statistic="kuiper",
        level=level,
        seed=0,  # The same in every report.
    )


def name_in(attributes: dict[str, Any]) -> str:
    """Returns the name of a label from a row of the table."""
    return str(attributes[_ATTRIBUTE])
