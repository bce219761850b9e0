"""Builds the calibration report of predictions: plain numbers and words, no files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report.data._predictions import (
    Model,
    Regression,
    ReportError,
    Survival,
    is_of_answers,
    rows_of,
    silent,
)
from uncertainty_metrics._report.sections import (
    _classifier_or_answers,
    _comparison,
    _posterior,
    _regression,
    _survival,
    _verdict,
)
from uncertainty_metrics._report.sections._blocks import SIDES
from uncertainty_metrics.version import __version__

_SHOWN = 50  # Most names of columns in a note on columns that are left out.
# The noun of each task in an error.
_SPELLED = {
    "classification": "classification",
    "confidences": "file of confidences",
    "regression": "regression",
    "survival": "survival model",
}


def build(
    predictions: Model,
    num_bins: int = DEFAULT_NUM_BINS,
    other: Model | None = None,
    tell: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Computes the report.

    Args:
      predictions: predictions and true outcomes.
      num_bins: number of bins of every metric.
      other: predictions of another model for the same task, to compare.
      tell: called with the progress of the work.

    Returns:
      The report: `package`, `version`, `task`, `options`, `source`, `data`, `notes`,
      `tiles`, which are the verdict, and the sections of the task, which the docstring
      of the package lists; with `other`, also `comparison`, which includes the report
      on the other model.

    Raises:
      ReportError: a label, a prediction or a weight is not valid, and the message names
        the source; or the models have different tasks.

    Example:
      >>> from uncertainty_metrics import _report as report
      >>> labels, probabilities = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])
      >>> here = report.Predictions("here", labels, "probabilities", probabilities)
      >>> report.build(here, num_bins=5)["data"]["examples"]
      3
    """
    task = task_of(predictions)
    if other is not None and task_of(other) != task:
        raise ReportError(
            f"{other.source}: a {_SPELLED[task_of(other)]} cannot be compared with a "
            f"{_SPELLED[task]}, {predictions.source}"
        )
    options: dict[str, Any] = {"num_bins": num_bins, "seed": _posterior.SEED}
    if task in ("classification", "confidences"):
        options |= _classifier_or_answers.options(num_bins)
    report = {
        "package": "uncertainty_metrics",
        "version": __version__,
        "task": task,
        "options": options,
        **_of_model(predictions, num_bins, tell),
    }
    if other is not None:
        of_both = (report, _of_model(other, num_bins, tell))
        tell("compares the models")
        models = dict(zip(SIDES, of_both, strict=True))
        report["comparison"] = _comparison.comparison(
            predictions, other, models, num_bins
        )
        tile = _verdict.of_two(report["comparison"], other.source, task)
        report["tiles"].append(tile)
    return report


def task_of(predictions: Model) -> str:
    """Returns the task of predictions, as the report names it."""
    if isinstance(predictions, Regression):
        return "regression"
    if isinstance(predictions, Survival):
        return "survival"
    return "confidences" if is_of_answers(predictions) else "classification"


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


def _of_model(
    predictions: Model, num_bins: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Returns the report on one model."""
    notes = []
    if predictions.left_out:
        names = ", ".join(name or "(no name)" for name in predictions.left_out[:_SHOWN])
        more = len(predictions.left_out) - _SHOWN
        names += f" and {more} more" if more > 0 else ""
        notes.append(f"Left out, because the names are not known: {names}.")
    with errors_naming(predictions.source):
        if isinstance(predictions, Regression):
            of_task = _regression.sections(predictions, num_bins)
            notes += predictions.notes
        elif isinstance(predictions, Survival):
            tell("computes the metrics at the horizon, and their intervals")
            of_task = _survival.sections(predictions)
            notes += [*predictions.notes, *of_task["notes"]]
        else:
            of_task = _classifier_or_answers.sections(predictions, num_bins, tell)
            rows = rows_of(predictions)
            notes += [*(rows.notes if rows is not None else ()), *of_task["notes"]]
        of_task["tiles"] = _verdict.tiles(of_task, task_of(predictions))
    return {"source": predictions.source, **of_task, "notes": notes}
