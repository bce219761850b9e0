"""Builds the calibration report of predictions: plain numbers and words, no files."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report.data._predictions import (
    Model,
    ReportError,
    Stream,
    has_cluster_sums,
    has_grades,
    silent,
    task_of,
)
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections._comparison import Comparison
from uncertainty_metrics._report.sections._findings import unless_few
from uncertainty_metrics._report.sections._list import in_order, sections_of
from uncertainty_metrics._report.sections._model_report import ModelReport
from uncertainty_metrics._report.sections._notes import notes_of
from uncertainty_metrics._report.sections._several_forecasts import SeveralForecasts
from uncertainty_metrics._report.sections._several_models import SeveralModels

# The noun of each task in an error.
_SPELLED = {
    "classification": "classification",
    "confidences": "file of confidences",
    "regression": "regression",
    "quantiles": "file of quantile forecasts",
    "survival": "survival model",
    "multilabel": "model with several labels of each example",
}


def build(
    predictions: Model,
    num_bins: int = DEFAULT_NUM_BINS,
    other: Model | None = None,
    tell: Callable[[str], None] = silent,
    several: Sequence[Model] = (),
) -> ModelReport:
    """Computes the report.

    Args:
      predictions: predictions and true outcomes.
      num_bins: number of bins of every metric.
      other: predictions of another model for the same task, to compare.
      tell: called with the progress of the work.
      several: instead of one other model, predictions of the same examples by several.

    Returns:
      The report, whose last section is the comparison if there are other models.

    Raises:
      ReportError: a label, a prediction or a weight is not valid, and the message names
        the source; or the models have different tasks.

    Example:
      >>> from uncertainty_metrics import _report as report
      >>> labels, probabilities = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])
      >>> here = report.Predictions("here", labels, "probabilities", probabilities)
      >>> report.build(here, num_bins=5).to_dict()["data"]["examples"]
      3
    """
    task = task_of(predictions)
    for each in several or ([] if other is None else [other]):
        if task_of(each) != task:
            raise ReportError(
                f"{each.source}: a {_SPELLED[task_of(each)]} cannot be compared with a "
                f"{_SPELLED[task]}, {predictions.source}"
            )
    if other is not None and has_cluster_sums(other) != has_cluster_sums(predictions):
        raise ReportError(
            "a summary of clusters is compared with another one alone: give `clusters` "
            "to both summaries or to none"
        )
    if isinstance(other, Stream) and has_grades(other) != has_grades(predictions):
        raise ReportError(
            f"{other.source}: grades cannot be compared with right and wrong answers"
        )
    with warnings.catch_warnings():  # A note of the report says it once.
        warnings.filterwarnings("ignore", "There are [0-9]+ clusters", UserWarning)
        # The check of the report's own arguments has said it.
        warnings.filterwarnings("ignore", "`(uncertainties|stddevs)` must", UserWarning)
        return _built(predictions, num_bins, other, tell, several)


def _built(
    predictions: Model,
    num_bins: int,
    other: Model | None,
    tell: Callable[[str], None],
    several: Sequence[Model],
) -> ModelReport:
    """Returns the report on models of one task."""
    compared = None
    if several:  # First, as files of other rows are refused.
        of_forecasts = task_of(predictions) == "quantiles"
        kind = SeveralForecasts if of_forecasts else SeveralModels
        compared = kind.of_models([predictions, *several])
    report = _of_model(predictions, num_bins, tell)
    if compared is not None:
        return dataclasses.replace(
            report,
            sections=(*report.sections, compared),
            tiles=(*report.tiles, *compared.tiles(report)),
        )
    if other is None:
        return report
    of_other = _of_model(other, num_bins, tell)
    tell("compares the models")
    report = dataclasses.replace(report, other=of_other)
    comparison = Comparison.of(report)
    assert comparison is not None
    return dataclasses.replace(
        report,
        sections=(*report.sections, comparison),
        tiles=(*report.tiles, *comparison.tiles(report)),
    )


def _of_model(model: Model, num_bins: int, tell: Callable[[str], None]) -> ModelReport:
    """Returns the report on one model."""
    with errors_naming(model.source):
        report = ModelReport(model, num_bins)
        for kind in sections_of(report.task):
            tell(f"computes the section {kind.name}")
            section = kind.of(report)
            if section is not None:
                report = dataclasses.replace(
                    report, sections=(*report.sections, section)
                )
        report = dataclasses.replace(report, sections=in_order(report.sections))
        size = effective_examples(model)
        tiles = (
            unless_few(tile, size)
            for section in report.sections
            for tile in section.tiles(report)
        )
        # The notes describe data that the sections have checked.
        return dataclasses.replace(
            report, notes=tuple(notes_of(model)), tiles=tuple(tiles)
        )


@contextlib.contextmanager
def errors_naming(source: str) -> Iterator[None]:
    """Turns errors into ReportError with the name of the file with wrong numbers."""
    try:
        # A number that overflows becomes infinite or not defined. The report shows it
        # so, or an error refuses the whole report.
        with np.errstate(all="ignore"):
            yield
    except ReportError:
        raise
    except (TypeError, ValueError, MemoryError) as wrong:
        raise ReportError(f"{source}: {wrong}") from wrong
    except ImportError as missing:
        raise ReportError(missing) from missing
