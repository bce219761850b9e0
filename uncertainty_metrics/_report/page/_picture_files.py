"""Draws the pictures of the calibration report."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report.data._predictions import Model, task_of
from uncertainty_metrics._report.page._svg import style
from uncertainty_metrics._report.sections._blocks import SIDES
from uncertainty_metrics._report.sections._build import errors_naming
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics._report.sections._several_models import MODELS

SHIPPED_REMARK = " (shipped with the package)"


def draw(
    predictions: Model,
    num_bins: int = DEFAULT_NUM_BINS,
    other: Model | None = None,
    several: Sequence[Model] = (),
) -> dict[str, Any]:
    """Draws the pictures of the report.

    Args:
      predictions: labels and predictions.
      num_bins: number of bins.
      other: labels and predictions of another model, to compare.
      several: instead of another one, those of several models, which only the picture
        of all models shows.

    Returns:
      A dict from the name of each file to its matplotlib Figure; pyplot does not know
      the figures, so it never shows them.

    Raises:
      ReportError: matplotlib is not installed.
    """
    models = _named(predictions, other)
    if several:
        several = (predictions, *several)
    every = {str(i): model for i, model in enumerate(several)}
    with errors_naming(predictions.source), style():
        figures = {
            picture.file: picture.draw(models, num_bins)
            for picture in pictures_of(task_of(predictions))
            if picture is not MODELS and picture.is_drawn([*models.values()], num_bins)
        }
        if every:
            figures[MODELS.file] = MODELS.draw(every, num_bins)
        for figure in figures.values():
            for _ in range(2):  # Twice, until the layout is the same in every file.
                figure.get_layout_engine().execute(figure)
            # With the engine "none", Matplotlib would draw twice for each file.
            figure.set_layout_engine(None)
        return figures


def _named(predictions: Model, other: Model | None) -> dict[str, Any]:
    """Returns the models by their names in legends; a single model has the name ""."""
    if other is None:
        return {"": predictions}
    models = [predictions, other]
    names = [_short_name(model.source) for model in models]
    if len(set(names)) < len(names):
        names = list(SIDES)
    return dict(zip(names, models, strict=True))


def _short_name(source: str) -> str:
    name = pathlib.PurePath(source.removesuffix(SHIPPED_REMARK)).name
    return name if len(name) <= 20 else f"{name[:8]}...{name[-9:]}"
