"""Risks of an event, and which examples had the event.

A classifier of two classes gives risks if one of the classes is named as the event. A
survival model gives the risks of an event by the horizon.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._decided import examples_of
from uncertainty_metrics._report.data._predictions import (
    Predictions,
    QuantileForecasts,
    Regression,
    Survival,
    remembered,
    rows_of,
)
from uncertainty_metrics.numpy import _inputs, _wilson

# With fewer examples of either outcome there is no verdict.
TOO_FEW = 10


class Risks(NamedTuple):
    """The examples of positive weight.

    Attributes:
      labels: 1 if the event came, else 0; [n].
      risks: predicted probability of the event, [n].
      scores: what ranks the examples as the risks do, [n]: log-odds if there are any,
        as these differ even where risks round to 1.
      weights: positive [n], or None.
    """

    labels: np.ndarray
    risks: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by which functions take them."""
        return {
            "labels": self.labels,
            "probabilities": self.risks,
            "sample_weight": self.weights,
        }

    @property
    def total(self) -> float:
        """Total weight of the examples."""
        weights = self.weights
        return float(len(self.labels) if weights is None else weights.sum())

    @property
    def events(self) -> float:
        """Total weight of the examples that had the event."""
        return self._sum(self.labels)

    @property
    def expected(self) -> float:
        """Number of events that the risks expect."""
        return self._sum(self.risks)

    @property
    def sample_size(self) -> float:
        """Number of examples, or Kish's effective number of weighted ones."""
        if self.weights is None:
            return float(len(self.labels))
        return _wilson.effective_size(self.weights)

    @property
    def smaller_class(self) -> float:
        """Number of examples with the event, or of those without it if they are fewer;
        of weighted examples Kish's effective number.
        """
        return min(self.class_sizes)

    @property
    def class_sizes(self) -> tuple[float, float]:
        """The numbers of examples without the event and with it, as above."""
        return self._size_of(self.labels == 0), self._size_of(self.labels == 1)

    def _size_of(self, some: np.ndarray) -> float:
        if self.weights is None or not np.any(some):
            return float(np.sum(some))
        return _wilson.effective_size(self.weights[some])

    def _sum(self, values: np.ndarray) -> float:
        values = values.astype(np.float64)
        return float(values.sum() if self.weights is None else self.weights @ values)


def is_too_few(smaller_class: float) -> bool:
    """Says if there are too few examples of an outcome for a verdict."""
    return smaller_class < TOO_FEW


def has_risks(model: Any) -> bool:
    """Says if a model gives risks of an event."""
    if isinstance(model, Survival):
        return True
    if isinstance(model, Regression | QuantileForecasts):
        return False
    rows = rows_of(model)
    return isinstance(rows, Predictions) and rows.event_class is not None


@remembered
def risks_of(model: Any) -> Risks:
    """Returns the risks of a model for which `has_risks`, of a stream those of its
    sample.
    """
    if isinstance(model, Survival):
        return _by_horizon(model)
    rows: Any = rows_of(model)
    examples, event = examples_of(rows), rows.event_class
    risks = examples.probabilities[:, event]
    scores = risks
    if examples.name == "logits":
        scores = examples.predictions[:, event] - examples.predictions[:, 1 - event]
    labels = (examples.labels == event).astype(np.int64)
    return Risks(labels, risks, scores, examples.weights)


def _by_horizon(model: Survival) -> Risks:
    """Returns the examples that were not censored by the horizon, whose weights stand
    for the others.
    """
    labels, weights = um.survival_at(
        model.times, model.event, model.at, sample_weight=model.sample_weight
    )
    some = weights > 0
    risks = checked_risks("risks", model.risks, np.shape(model.times))[some]
    return Risks(labels[some], risks, risks, weights[some])


def checked_risks(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns probabilities, float64 [N]; raises ValueError if they are none."""
    array = _inputs.as_array(name, values)
    _checks.paired(name, array.shape, "times", shape)
    array = _inputs.finite(name, array).reshape(-1)
    bad = (array < 0) | (array > 1)
    if np.any(bad):
        expected = _inputs.unit_range(name, array)
        raise _checks.error(name, expected, _inputs.first(bad, array))
    return array
