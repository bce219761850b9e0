"""Draws the pictures of the calibration report."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._report._blocks import SIDES
from uncertainty_metrics._report._predictions import (
    Model,
    Predictions,
    Regression,
    visible,
)
from uncertainty_metrics._report._sections import errors_naming
from uncertainty_metrics._report._sections_classifier import arguments_of, ece_draws
from uncertainty_metrics._report._sections_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report._sections_mending import Mended, mended
from uncertainty_metrics._report._sections_regression import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._spec import DEFAULT_NUM_BINS

SHIPPED_REMARK = " (shipped with the package)"


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
    with errors_naming(predictions.source):
        if isinstance(predictions, Regression):
            return _draw_regression(models, num_bins)
        figures = {
            "reliability_diagram.png": _draw_reliability(predictions, num_bins),
            "risk_coverage_diagram.png": _draw_risk_coverage(models),
            "posteriors.png": _draw_posteriors(models, num_bins),
        }
        before_and_after = mended(predictions, num_bins)
        if before_and_after.drawn:
            figures["mended_reliability_diagram.png"] = _draw_mended(
                before_and_after, num_bins
            )
        if predictions.members > 1:
            figures["ensemble_calibration_diagram.png"] = _draw_ensemble(
                predictions, num_bins
            )
        return figures


def _named(predictions: Model, other: Model | None) -> dict[str, Any]:
    """Returns the models, of one task, by their names in a legend."""
    models = [predictions] if other is None else [predictions, other]
    names = [_short_name(model.source) for model in models]
    if len(set(names)) < len(names):
        names = list(SIDES)
    return dict(zip(names, models, strict=True))


def _short_name(source: str) -> str:
    name = visible(pathlib.PurePath(source.removesuffix(SHIPPED_REMARK)).name)
    return name if len(name) <= 30 else f"{name[:12]}...{name[-15:]}"


def _drawn(
    width: float, height: float, draw_on: Callable[..., Any], *data: Any, **options: Any
) -> Any:
    """Returns a figure of one diagram, which `draw_on` draws."""
    figure = _figure(width, height)
    draw_on(*data, ax=figure.add_subplot(), **options)
    return figure


def _draw_reliability(predictions: Predictions, num_bins: int) -> Any:
    figure = _drawn(
        5.5,
        6.8,
        um.reliability_diagram,
        **arguments_of(predictions),
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        title="Reliability diagram",
    )
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _draw_risk_coverage(models: dict[str, Predictions]) -> Any:
    given = {name: arguments_of(model) for name, model in models.items()}
    if len(given) == 1:
        (arguments,) = given.values()
    else:  # The models may be of different examples, and of different kinds.
        arguments = {
            key: {name: of_model.get(key) for name, of_model in given.items()}
            for key in ("labels", "probabilities", "logits", "sample_weight")
        }
    return _drawn(
        6.4,
        4.8,
        um.risk_coverage_diagram,
        **arguments,
        confidence_band=INTERVAL_LEVEL,
        title="Risk-coverage diagram",
    )


def _draw_mended(found: Mended, num_bins: int) -> Any:
    return _drawn(
        5.5,
        6.4,
        um.reliability_diagram,
        **found.data,
        **{found.kind: found.drawn},
        num_bins=num_bins,
        consistency_band=INTERVAL_LEVEL,
        title="Before and after mending",
    )


def _draw_posteriors(models: dict[str, Predictions], num_bins: int) -> Any:
    draws = {name: ece_draws(model, num_bins) for name, model in models.items()}
    title = f"Posterior of the ECE, {num_bins} bins"
    return _drawn(6.4, 4.4, um.posterior_diagram, draws, title=title)


def _draw_ensemble(predictions: Predictions, num_bins: int) -> Any:
    return _drawn(
        6.4,
        4.8,
        um.ensemble_calibration_diagram,
        **predictions.arguments,
        num_bins=num_bins,
        title="Calibration of the ensemble and its members",
    )


def _draw_regression(models: dict[str, Regression], num_bins: int) -> dict[str, Any]:
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    triples = {name: tuple(of_model.values())[:3] for name, of_model in data.items()}
    return {
        "reliability_diagram.png": _draw_coverage(data, num_bins),
        "pit_histogram.png": _side_by_side(
            lambda triple, **options: um.regression.plot_pit_histogram(
                um.regression.probability_integral_transform(*triple),
                num_bins,
                consistency_band=INTERVAL_LEVEL,
                **options,
            ),
            triples,
            "PIT histogram",
        ),
        "uncertainty_vs_error.png": _side_by_side(
            lambda triple, **options: um.regression.plot_uncertainty_vs_error(
                *triple, **options
            ),
            triples,
            "Uncertainty and error",
        ),
    }


def _side_by_side(
    draw_one: Callable[..., Any], models: dict[str, Any], title: str
) -> Any:
    """Draws one panel for each model."""
    from uncertainty_metrics.visualization import _series

    figure = _figure(6.4, 4.8 * len(models))
    panels = figure.subplots(len(models), squeeze=False)[:, 0]
    for ax, (name, of_model) in zip(panels, models.items(), strict=True):
        of_name = f": {_series.plain(name)}" if len(models) > 1 else ""
        draw_one(of_model, ax=ax, title=f"{title}{of_name}")
    return figure


def _draw_coverage(data: dict[str, dict[str, Any]], num_bins: int) -> Any:
    """Draws the coverage of intervals, of all models in one diagram."""
    from uncertainty_metrics.visualization import _series, regression

    figure = _figure(5.5, 6)
    ax = figure.add_subplot()
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
    ax.set_title("Coverage of intervals")
    figure.legend(loc="outside lower center", fontsize="small")
    return figure


def _figure(width: float, height: float) -> Any:
    module = _optional.require("matplotlib.figure")
    return module.Figure(figsize=(width, height), layout="constrained")
