"""Calibration errors of classifiers and of answers, of rows and of streams."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _calibration_spec
from uncertainty_metrics._calibration_spec import (
    PRESETS,
    BinningScheme,
    CalibrationKey,
    CalibrationSpec,
)
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_cells,
    event_of,
    examples_of,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Stream,
    remembered,
)
from uncertainty_metrics._report.sections._calibration_words import Terms
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics.numpy.calibration.bins import _binning, _bins_of_all_errors
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.sketch import _bins_and_ranks

# With more classes, nobody would read the table of errors of single classes.
_MAX_CLASSES = 20
# The meaning of each calibration error, with a place for its value in percent.
_MEANINGS = {
    "ece": "On average, confidence and {terms.outcome} differ by {points:.1f} "
    "percentage points.",
    "mce": "In the worst bin they differ by {points:.1f} points; this bin may be "
    "small.",
    "rmsce": "Like ece, in bins of equal mass; the root mean square, not the mean.",
    "sce": "Like ece, for the probability of each class; the mean over classes.",
    "ace": "Like sce, in bins of equal mass.",
    "tace": "Like ace, without probabilities up to 0.01.",
}
_MEANINGS_OF_EVENT = {
    **_MEANINGS,
    "ece": "On average, probability and frequency differ by {points:.1f} points.",
}
_OF_ANSWERS: dict[str, Callable[..., float]] = {
    "ece": um.ece,
    "mce": um.mce,
    "rmsce": um.rmsce,
}


@dataclasses.dataclass(frozen=True)
class ClassErrors:
    """The share of a class, and the errors of its probability."""

    share: float
    sce: float
    ace: float


@dataclasses.dataclass(frozen=True)
class Diagram:
    """The numbers of a reliability diagram; None in an empty bin."""

    edges: list[float]
    counts: list[float]
    confidences: list[float | None]
    accuracies: list[float | None]


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationErrors:
    """Calibration errors.

    Attributes:
      values: the errors, by name.
      classes: the errors of each class, by its name, if there are few.
      bins: the bins of the scores by which calibration is judged.
      grid: the errors of a classifier for every option, by a readable name; None for
        others.
    """

    values: dict[str, float]
    classes: dict[str, ClassErrors]
    bins: BinStatistics
    grid: dict[str, float] | None = None

    def metrics(self, terms: Terms) -> dict[str, Metric]:
        """Returns the errors with their meanings."""
        meanings = _MEANINGS_OF_EVENT if terms.of_event else _MEANINGS
        return metrics(
            {
                name: (value, meanings[name].format(points=100 * value, terms=terms))
                for name, value in self.values.items()
            }
        )

    @property
    def diagram(self) -> Diagram:
        some = self.bins.counts[0] > 0
        return Diagram(
            self.bins.edges[0].tolist(),
            self.bins.counts[0].tolist(),
            _where(some, self.bins.confidences[0]),
            _where(some, self.bins.accuracies[0]),
        )


@remembered
def calibration_errors_of(model: Decided, num_bins: int) -> CalibrationErrors:
    """Returns the calibration errors of a model."""
    if isinstance(model, Stream):
        return _of_stream(model, num_bins)
    if isinstance(model, Confidences):
        return _of_answers(model, num_bins)
    return _of_classifier(model, num_bins)


def ece_of(model: Decided, num_bins: int) -> float:
    """Returns the calibration error by which a model is judged."""
    return float(calibration_errors_of(model, num_bins).values["ece"])


def _of_answers(model: Confidences, num_bins: int) -> CalibrationErrors:
    data: dict[str, Any] = {**decisions_of(model).arguments, "num_bins": num_bins}
    values = {name: metric(**data) for name, metric in _OF_ANSWERS.items()}
    return CalibrationErrors(values, {}, um.bin_statistics(**data))


def _of_classifier(model: Predictions, num_bins: int) -> CalibrationErrors:
    *presets, tace = PRESETS.values()
    keys = _calibration_spec.grid()
    # The bins do not depend on the norm.
    specs = [
        CalibrationSpec(*key, num_bins=num_bins)
        for key in keys[:: len(_calibration_spec.NORMS)]
    ]
    above = dataclasses.replace(tace, num_bins=num_bins)
    *bins, of_tace = _bins_of_all_errors.each_statistics(
        examples_of(model), [*specs, above]
    )
    statistics = {
        key[:3]: bins[i] for i, key in enumerate(keys[:: len(_calibration_spec.NORMS)])
    }
    grid = {
        key: _binning.calibration_error(statistics[key[:3]], key.norm) for key in keys
    }
    names = ("ece", "mce", "rmsce", "sce", "ace")
    values = {name: grid[_key(spec)] for name, spec in zip(names, presets, strict=True)}
    values["tace"] = _binning.calibration_error(of_tace, tace.norm)
    diagram = statistics["even", True, False]
    event = event_of(model)
    if event is not None:  # The probability of each class is in bins of its own.
        even, adaptive = (
            _of_class(statistics[scheme, False, True], event)
            for scheme in ("even", "adaptive")
        )
        values |= {
            "ece": float(even.errors("l1")[0]),
            "mce": float(even.errors("max")[0]),
            "rmsce": float(adaptive.errors("l2")[0]),
        }
        diagram = even
    by_class = [statistics[scheme, False, True] for scheme in ("even", "adaptive")]
    return CalibrationErrors(
        values,
        _errors_by_name(model.classes, *by_class),
        diagram,
        {_readable(key): float(value) for key, value in grid.items()},
    )


def _of_stream(model: Stream, num_bins: int) -> CalibrationErrors:
    summary = model.summary
    even, adaptive = (
        _statistics(model, scheme, num_bins) for scheme in ("even", "adaptive")
    )
    values = {
        "ece": float(even.errors("l1")[0]),
        "mce": float(even.errors("max")[0]),
        "rmsce": float(adaptive.errors("l2")[0]),
    }
    of_classes = summary.classes
    if of_classes is None:
        return CalibrationErrors(values, {}, even)
    values |= {
        "sce": of_classes.sce(num_bins=num_bins),
        "ace": of_classes.ace(num_bins=num_bins),
        "tace": of_classes.tace(num_bins=num_bins),
    }
    if (summary.num_classes or 0) > _MAX_CLASSES:
        return CalibrationErrors(values, {}, even)
    of_each = (
        of_classes.bin_statistics(binning_scheme=scheme, num_bins=num_bins)
        for scheme in ("even", "adaptive")
    )
    return CalibrationErrors(
        values, _errors_by_name(summary.class_names, *of_each), even
    )


def _statistics(model: Stream, scheme: BinningScheme, num_bins: int) -> BinStatistics:
    """Returns the bins of the scores by which calibration is judged."""
    event = event_of(model)
    if event is None:
        decisions = model.summary.decisions
        return decisions.bin_statistics(binning_scheme=scheme, num_bins=num_bins)
    spec = CalibrationSpec(
        scheme, True, False, "l1", num_bins=num_bins, positive_class=True
    )
    return _bins_and_ranks.bin_statistics([event_cells(model, event)], spec)


def _of_class(statistics: BinStatistics, k: int) -> BinStatistics:
    """Returns the bins of one class."""
    sums = (statistics.counts, statistics.score_sums, statistics.outcome_sums)
    return BinStatistics(statistics.edges[[k]], *(each[[k]] for each in sums))


def _key(spec: CalibrationSpec) -> CalibrationKey:
    return CalibrationKey(
        spec.binning_scheme, spec.max_prob, spec.class_conditional, spec.norm
    )


def _errors_by_name(
    names: Iterable[str] | None, even: BinStatistics, adaptive: BinStatistics
) -> dict[str, ClassErrors]:
    """Returns the errors of each class by its name; nothing for many classes."""
    if len(even.counts) > _MAX_CLASSES:
        return {}
    columns = (
        even.outcome_sums.sum(axis=1) / even.counts.sum(axis=1),
        even.errors("l1"),
        adaptive.errors("l1"),
    )
    found = (ClassErrors(*map(float, row)) for row in zip(*columns, strict=True))
    return dict(zip(names or map(str, itertools.count()), found, strict=False))


def _readable(key: CalibrationKey) -> str:
    score = "top label" if key.max_prob else "all classes"
    groups = "by class" if key.class_conditional else "pooled"
    return f"{key.binning_scheme}, {score}, {groups}, {key.norm}"


def _where(some: np.ndarray, values: np.ndarray) -> list[float | None]:
    """Returns values as floats, with None where `some` is false: not defined there."""
    return [
        float(value) if defined else None
        for value, defined in zip(values, some, strict=True)
    ]
