"""Draws the pictures of the calibration report."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report._blocks import SIDES
from uncertainty_metrics._report._predictions import (
    Model,
    Predictions,
    Regression,
    visible,
)
from uncertainty_metrics._report._sections import errors_naming
from uncertainty_metrics._report._sections_classifier import ece_draws
from uncertainty_metrics._report._sections_ensemble import examples_of
from uncertainty_metrics._report._sections_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report._sections_mending import mended
from uncertainty_metrics._report._sections_regression import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._report._svg import style

SHIPPED_REMARK = " (shipped with the package)"
# In inches: on a phone this is the width of the screen, and so text is read there, too.
_WIDTH = 4.5


def draw(
    predictions: Model, num_bins: int = DEFAULT_NUM_BINS, other: Model | None = None
) -> dict[str, Any]:
    """Draws the pictures of the report.

    Args:
      predictions: labels and predictions.
      num_bins: number of bins.
      other: those of another model, to compare.

    Returns:
      From the name of each file to its matplotlib Figure, unknown to pyplot.

    Raises:
      ReportError: matplotlib is not installed.
    """
    models = _named(predictions, other)
    with errors_naming(predictions.source), style():
        of_task = (
            _draw_regression
            if isinstance(predictions, Regression)
            else _draw_classifier
        )
        figures = of_task(models, num_bins)
        for figure in figures.values():
            for _ in range(2):  # A layout that is the same in every file.
                figure.get_layout_engine().execute(figure)
            figure.set_layout_engine("none")
        return figures


def _draw_classifier(models: dict[str, Predictions], num_bins: int) -> dict[str, Any]:
    first, *_ = models.values()
    figures = {
        "reliability_diagram.png": _draw_reliability(models, num_bins),
        "risk_coverage_diagram.png": _draw_risk_coverage(models),
        "posteriors.png": _draw_posteriors(models, num_bins),
    }
    if mended(first, num_bins).drawn:
        figures["mended_reliability_diagram.png"] = _draw_mended(models, num_bins)
    if first.members > 1:
        figures["ensemble_calibration_diagram.png"] = _draw_ensembles(models, num_bins)
    return figures


def _named(predictions: Model, other: Model | None) -> dict[str, Any]:
    """Returns the models, of one task, by their names in legends: one has none."""
    if other is None:
        return {"": predictions}
    models = [predictions, other]
    names = [_short_name(model.source) for model in models]
    if len(set(names)) < len(names):
        names = list(SIDES)
    return dict(zip(names, models, strict=True))


def _short_name(source: str) -> str:
    name = visible(pathlib.PurePath(source.removesuffix(SHIPPED_REMARK)).name)
    return name if len(name) <= 20 else f"{name[:8]}...{name[-9:]}"


def _examples(models: dict[str, Predictions]) -> Any:
    """Returns what a diagram takes as the labels of one model, or of some."""
    given = {name: examples_of(model) for name, model in models.items()}
    return given.get("", given)


def _draw_reliability(models: dict[str, Predictions], num_bins: int) -> Any:
    return _drawn(
        6.2,
        um.reliability_diagram,
        labels=_examples(models),
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        title="Reliability diagram",
    )


def _draw_risk_coverage(models: dict[str, Predictions]) -> Any:
    return _drawn(
        4.6,
        um.risk_coverage_diagram,
        labels=_examples(models),
        confidence_band=INTERVAL_LEVEL,
        title="Risk-coverage diagram",
    )


def _draw_mended(models: dict[str, Predictions], num_bins: int) -> Any:
    found = {name: mended(model, num_bins) for name, model in models.items()}
    return _panels(
        6.0,
        lambda of_model, **options: um.reliability_diagram(
            **of_model.data,
            **{of_model.kind: of_model.drawn},
            num_bins=num_bins,
            consistency_band=INTERVAL_LEVEL,
            **options,
        ),
        {name: of_model for name, of_model in found.items() if of_model.drawn},
        "Before and after mending",
    )


def _draw_posteriors(models: dict[str, Predictions], num_bins: int) -> Any:
    draws = {name: ece_draws(model, num_bins) for name, model in models.items()}
    title = f"Posterior of the ECE, {num_bins} bins"
    return _drawn(4.4, um.posterior_diagram, samples=draws, title=title)


def _draw_ensembles(models: dict[str, Predictions], num_bins: int) -> Any:
    return _panels(
        4.8,
        lambda model, **options: um.ensemble_calibration_diagram(
            **model.arguments, num_bins=num_bins, **options
        ),
        {name: model for name, model in models.items() if model.members > 1},
        "Calibration of the ensemble",
    )


def _draw_regression(models: dict[str, Regression], num_bins: int) -> dict[str, Any]:
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    triples = {name: tuple(of_model.values())[:3] for name, of_model in data.items()}
    return {
        "reliability_diagram.png": _drawn(
            5.4, _draw_coverage, data=data, num_bins=num_bins
        ),
        "pit_histogram.png": _panels(
            4.0,
            lambda triple, **options: um.regression.plot_pit_histogram(
                um.regression.probability_integral_transform(*triple),
                num_bins,
                consistency_band=INTERVAL_LEVEL,
                **options,
            ),
            triples,
            "PIT histogram",
        ),
        "uncertainty_vs_error.png": _panels(
            4.4,
            lambda triple, **options: um.regression.plot_uncertainty_vs_error(
                *triple, **options
            ),
            triples,
            "Uncertainty and error",
        ),
    }


def _draw_coverage(ax: Any, data: dict[str, dict[str, Any]], num_bins: int) -> None:
    """Draws the coverage of intervals, of all models in one diagram."""
    from uncertainty_metrics.visualization import _series, regression

    for i, (name, arguments) in enumerate(data.items()):
        curve = um.regression.compute_calibration_curve(**arguments, n_bins=num_bins)
        error = um.regression.expected_calibration_error(**arguments, n_bins=num_bins)
        regression.draw_curve(
            ax,
            curve,
            color=_series.color(i),
            marker=_series.marker(i),
            label=_series.label(name, f"ECE = {error:.3f}"),
        )
    regression.label_coverages(ax)
    _series.finish(ax, True, "Coverage of intervals")


def _drawn(height: float, draw_on: Callable[..., Any], **options: Any) -> Any:
    """Returns a figure of one diagram, which `draw_on` draws."""
    figure = _figure(height)
    draw_on(ax=_axes_of(figure), **options)
    _finish(figure)
    return figure


def _panels(
    height: float, draw_one: Callable[..., Any], models: dict[str, Any], title: str
) -> Any:
    """Draws a panel for each model, one below the other, on the same scales."""
    from uncertainty_metrics.visualization import _series

    figure = _figure(height * len(models))
    if "" not in models:
        figure.suptitle(title, fontsize="medium")
    parts = figure.subfigures(len(models), squeeze=False)[:, 0]
    panels = []
    for part, (name, of_model) in zip(parts, models.items(), strict=True):
        panels.append(_axes_of(part))
        draw_one(of_model, ax=panels[-1], title=_series.plain(name) or title)
        _finish(part)
    limits = np.array([[ax.get_xlim(), ax.get_ylim()] for ax in panels])
    lows, highs = limits.min(axis=(0, 2)), limits.max(axis=(0, 2))
    for ax in panels:
        ax.set(xlim=(lows[0], highs[0]), ylim=(lows[1], highs[1]))
    return figure


def _finish(figure: Any) -> None:
    """Leaves room for numbers, which are large, and no frame where nothing is."""
    for ax in figure.axes:
        if ax.get_xlim() != (0, 1):
            ax.locator_params(axis="x", nbins=5)
    for legend in figure.legends:
        legend.set_frame_on(False)


def _axes_of(figure: Any) -> Any:
    from uncertainty_metrics.visualization import _series

    return _series.own(figure.add_subplot())


def _figure(height: float) -> Any:
    module = _optional.require("matplotlib.figure")
    return module.Figure(figsize=(_WIDTH, height), layout="constrained")
