"""Builds the calibration report of predictions: plain numbers and words, no files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from uncertainty_metrics._spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report import (
    _sections_classifier,
    _sections_comparison,
    _sections_regression,
)
from uncertainty_metrics._report._blocks import SIDES
from uncertainty_metrics._report._predictions import Model, Regression, ReportError
from uncertainty_metrics.version import __version__


def build(
    predictions: Model, num_bins: int = DEFAULT_NUM_BINS, other: Model | None = None
) -> dict[str, Any]:
    """Computes the report.

    Args:
      predictions: predictions and what came.
      num_bins: number of bins of every metric.
      other: those of another model of the same task, to compare.

    Returns:
      The report, ready for strict JSON: `package`, `version`, `task`, `options`,
      `source`, `data`, `notes` and the sections of the task, which the module `report`
      lists; with `other`, `comparison`, which holds all that of the other model, too.

    Raises:
      ReportError: a label, a prediction or a weight is not valid; it names the source.
        Or the models are of different tasks.

    Example:
      >>> from uncertainty_metrics import _report as report
      >>> labels, probabilities = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])
      >>> here = report.Predictions("here", labels, "probabilities", probabilities)
      >>> report.build(here, num_bins=5)["data"]["examples"]
      3
    """
    task = _task(predictions)
    if other is not None and _task(other) != task:
        raise ReportError(
            f"{other.source}: a {_task(other)} cannot be compared with a {task}, "
            f"{predictions.source}"
        )
    options: dict[str, Any] = {"num_bins": num_bins, "seed": _sections_classifier.SEED}
    if task == "classification":
        options |= _sections_classifier.options(num_bins)
    report = {
        "package": "uncertainty_metrics",
        "version": __version__,
        "task": task,
        "options": options,
        **_of_model(predictions, num_bins),
    }
    if other is not None:
        of_both = (report, _of_model(other, num_bins))
        models = dict(zip(SIDES, of_both, strict=True))
        report["comparison"] = _sections_comparison.comparison(
            predictions, other, models, num_bins
        )
    return report


def _task(predictions: Model) -> str:
    return "regression" if isinstance(predictions, Regression) else "classification"


@contextlib.contextmanager
def errors_naming(source: str) -> Iterator[None]:
    """Makes errors name the file whose numbers are wrong."""
    try:
        # What overflows is infinite or not defined in the report, or refused with it.
        with np.errstate(all="ignore"):
            yield
    except (TypeError, ValueError, MemoryError) as wrong:
        raise ReportError(f"{source}: {wrong}") from wrong
    except ImportError as missing:
        raise ReportError(missing) from missing


def _of_model(predictions: Model, num_bins: int) -> dict[str, Any]:
    """Returns what the report says of one model."""
    names = ", ".join(predictions.left_out)
    notes = [f"Left out, as their names mean nothing here: {names}."] if names else []
    with errors_naming(predictions.source):
        if isinstance(predictions, Regression):
            of_task = _sections_regression.sections(predictions, num_bins)
            return {"source": predictions.source, "notes": notes, **of_task}
        of_task = _sections_classifier.sections(predictions, num_bins)
    of_task["notes"] = notes + of_task["notes"]
    return {"source": predictions.source, **of_task}
