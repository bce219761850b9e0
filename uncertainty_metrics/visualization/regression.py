"""Plots of the calibration of predicted means and variances.

The functions take the arguments of `um.regression` in the same order: predictions,
uncertainties, which are variances, and targets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import regression
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts
from uncertainty_metrics.visualization import _axes, _series, ensemble

__all__ = [
    "calibration_comparison_diagram",
    "create_calibration_report",
    "plot_calibration_comparison",
    "plot_reliability_diagram",
    "plot_uncertainty_vs_error",
    "reliability_diagram",
    "uncertainty_error_diagram",
]

_TICKS = np.linspace(0, 1, 6)
_OVER, _UNDER = "#cc3311", "#4477aa"
# So many points fill a scatter plot; if there are more, they are drawn fainter.
_FULL = 400
# Larger z-scores are drawn in the outermost bin.
_MAX_Z = 6.0
_NUM_Z_BINS = 40


@takes_frames
def reliability_diagram(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str = "Reliability Diagram",
    color: str = "steelblue",
    show_ece: bool = True,
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Reliability diagram: how often targets lie in the predicted intervals.

    It shows the observed coverage of central intervals against the expected coverage,
    from `compute_calibration_curve`. The curve is on the diagonal if the variances are
    calibrated, above it if they are too large (underconfident), and below it if they
    are too small (overconfident).

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: observed values, of the same shape.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.
      title: title of the diagram.
      color: color of the curve.
      show_ece: whether the legend shows the expected calibration error.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.reliability_diagram(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Expected coverage', 'Observed coverage')

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    triple = predictions, uncertainties, targets
    curve, error = _curve_and_error(triple, n_bins, mask, stddevs)
    _axes.check_color("color", color)
    _checks.boolean("show_ece", show_ece)
    ax, own = _series.axes(ax, 5, 5.4)
    expected, observed = curve["expected_coverage"], curve["observed_coverage"]
    for beyond, side, name in (
        (observed < expected, _OVER, "Overconfident"),
        (observed > expected, _UNDER, "Underconfident"),
    ):
        if np.any(beyond):
            ax.fill_between(
                expected,
                observed,
                expected,
                where=beyond,
                interpolate=True,
                color=side,
                alpha=0.15,
                linewidth=0,
                label=name,
            )
    label = f"ECE = {error:.3f}" if show_ece else "Observed"
    draw_curve(ax, curve, color=color, marker="o", label=label)
    label_coverages(ax)
    _series.finish(ax, own, title, columns=2)
    return ax


def _curve_and_error(
    triple: tuple[Any, Any, Any],
    n_bins: int,
    mask: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
) -> tuple[dict[str, np.ndarray], float]:
    return (
        regression.compute_calibration_curve(*triple, n_bins, mask, stddevs=stddevs),
        regression.expected_calibration_error(*triple, n_bins, mask, stddevs=stddevs),
    )


def draw_curve(ax: Any, curve: dict[str, np.ndarray], **style: Any) -> None:
    """Draws the curve that `compute_calibration_curve` returns."""
    points = curve["expected_coverage"], curve["observed_coverage"]
    drawn = ax.plot(*points, markersize=4, clip_on=False, zorder=3, **style)
    tips = (
        f"{style['label']}; {y:.3f} of the intervals of level {x:.3g} hold the target"
        for x, y in zip(*points, strict=True)
    )
    _series.set_tips(*drawn, *tips)


def label_coverages(ax: Any) -> None:
    """Draws the curve of a calibrated model, and labels the axes."""
    ax.plot([0, 1], [0, 1], label="Perfect calibration", **_series.REFERENCE)
    ax.set(xlabel="Expected coverage", ylabel="Observed coverage")
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=_TICKS, yticks=_TICKS)


def _figure(figsize: Any) -> Any:
    """Returns a new pyplot figure of (width, height) in inches."""
    try:
        width, height = (float(size) for size in figsize)
    except (TypeError, ValueError):
        width = height = 0.0
    if not (0 < width < np.inf and 0 < height < np.inf):
        raise _checks.error(
            "figsize", "(width, height) in inches, both positive", repr(figsize)
        )
    return _axes.new_figure(width, height)


def calibration_comparison_diagram(
    results: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    n_bins: int = 10,
    figsize: tuple[float, float] = (12, 5),
    colors: Mapping[str, str] | None = None,
) -> Any:
    """Compares the calibration of some models: their curves, and bars of their ECE.

    Args:
      results: a dict from the name of each model to (predictions, uncertainties,
        targets), as `reliability_diagram` takes them.
      n_bins: number of coverage levels, evenly spaced from 0.1 to 0.99.
      figsize: width and height of the figure in inches.
      colors: a dict from the name of each model to its color; by default colors that
        readers with any color vision can distinguish.

    Returns:
      The matplotlib Figure, a pyplot figure, which is not shown.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import matplotlib.pyplot as plt
      >>> import uncertainty_metrics.numpy as um
      >>> targets = [0.5, 1.2, 5.0]
      >>> results = {
      ...     "small": ([0.0, 1.0, 2.0], [1.0, 1.0, 4.0], targets),
      ...     "large": ([0.4, 1.0, 4.0], [0.1, 0.1, 0.3], targets),
      ... }
      >>> figure = um.regression.calibration_comparison_diagram(results)
      >>> [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
      ['small', 'large']
      >>> plt.close(figure)
    """
    if not isinstance(results, Mapping):
        raise _checks.error(
            "results",
            "a dict from the name of each model to (predictions, uncertainties, "
            "targets)",
            type(results).__name__,
        )
    models = _series.each_model(
        lambda one: _result(one.results, n_bins), _Results(results)
    )
    chosen = _colors(colors, list(models))
    figure = _figure(figsize)
    left, right = figure.subplots(1, 2)
    for i, (name, (curve, _)) in enumerate(models.items()):
        style = {"color": chosen[i], "marker": _series.marker(i)}
        draw_curve(left, curve, label=_series.plain(name), **style)
    label_coverages(left)
    left.set_title("Reliability Diagram")
    figure.legend(loc="outside lower center", ncols=4, fontsize="small")

    errors = [error for _, error in models.values()]
    names = [_series.plain(name) for name in models]
    bars = right.barh(range(len(models)), errors, color=chosen)
    right.bar_label(bars, fmt="{:.3f}", padding=3)
    right.set_yticks(range(len(models)), names)
    right.invert_yaxis()  # The first model is at the top, as in the legend.
    right.set(xlabel="Expected calibration error", xlim=(0, 1.15 * max(errors) or 1))
    right.spines[["top", "right"]].set_visible(False)
    right.set_title("Calibration Error")
    return figure


@dataclasses.dataclass(frozen=True)
class _Results:
    """(predictions, uncertainties, targets) of each model, by its name."""

    results: Any


def _result(results: Any, n_bins: int) -> tuple[dict[str, np.ndarray], float]:
    """Returns the curve and the error of one model."""
    length = len(results) if isinstance(results, tuple | list | np.ndarray) else None
    if length != 3:
        raise _checks.error(
            "results",
            "a tuple (predictions, uncertainties, targets) for each model",
            type(results).__name__ if length is None else f"{length} elements",
            verb="hold",
        )
    return _curve_and_error(results, n_bins)


def _colors(colors: Mapping[str, str] | None, names: list[str]) -> list[Any]:
    """Returns a color for each model."""
    if colors is None:
        return [_series.color(i) for i in range(len(names))]
    named = colors if isinstance(colors, Mapping) else {}
    given = {str(name): color for name, color in named.items()}
    missing = [name for name in names if name not in given]
    if missing:
        raise _checks.error(
            "colors",
            "None, or a dict with a color for every model",
            f"no color for {missing}",
        )
    for name in names:
        _axes.check_color(f"colors[{name!r}]", given[name])
    return [given[name] for name in names]


@takes_frames
def uncertainty_error_diagram(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str = "Uncertainty vs Error",
    color: str = "steelblue",
    show_correlation: bool = True,
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Scatter plot of absolute errors against predicted standard deviations.

    The errors of a calibrated model grow with the predicted standard deviation. If the
    errors are normal, about two of three points are below the diagonal.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: observed values, of the same shape.
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.
      title: title of the diagram.
      color: color of the points.
      show_correlation: whether the legend shows Pearson's correlation of errors and
        deviations, which is not defined if one of them is constant.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.uncertainty_error_diagram(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[0].get_text()
      'Correlation = 0.995'
    """
    forecasts = _forecasts.checked_forecasts(
        predictions, uncertainties, targets, mask, stddevs=stddevs
    )
    deviations, errors = np.sqrt(forecasts.variances), np.abs(forecasts.errors)
    _axes.check_color("color", color)
    _checks.boolean("show_correlation", show_correlation)
    ax, own = _series.axes(ax, 5.5, 5)
    drawn = ax.scatter(
        deviations,
        errors,
        s=10,
        color=color,
        alpha=float(np.clip(_FULL / len(errors), 0.05, 0.7)),
        linewidths=0,
        rasterized=len(errors) > 10 * _FULL,  # Otherwise a PDF stores every point.
    )
    if len(errors) <= _FULL:  # With more points, the points cover each other.
        tips = (
            f"Predicted standard deviation {x:.4g}, absolute error {y:.4g}"
            for x, y in zip(deviations, errors, strict=True)
        )
        _series.set_tips(drawn, *tips)
    label = _correlation(deviations, errors) if show_correlation else "Examples"
    ax.scatter([], [], s=10, color=color, label=label)
    width = 1.05 * np.max(deviations)
    height = (1.05 if own else _series.LEGEND_ROOM) * np.max(errors) or width
    ax.axline((0, 0), slope=1, label="Error = deviation", **_series.REFERENCE)
    ax.set(
        xlabel="Predicted standard deviation",
        ylabel="Absolute error",
        xlim=(0, width),
        ylim=(0, height),
    )
    _series.finish(ax, own, title, columns=2)
    return ax


def _correlation(x: np.ndarray, y: np.ndarray) -> str:
    """Returns Pearson's correlation as text."""
    # The correlation with values that are equal up to rounding is not defined.
    if any(np.ptp(values) <= 1e-12 * np.max(np.abs(values)) for values in (x, y)):
        return "Correlation undefined"
    return f"Correlation = {np.corrcoef(x, y)[0, 1]:.3f}"


@takes_frames
def create_calibration_report(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    model_name: str = "Model",
    figsize: tuple[float, float] = (14, 10),
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Four plots of the calibration of a model, and its numbers.

    The plots are the reliability diagram, uncertainty against error, and histograms of
    the predicted standard deviations and of the z-scores `(target - mean) / deviation`.
    The z-scores are standard normal if the predictions are calibrated normal
    distributions. The numbers come from `evaluate_calibration`.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: observed values, of the same shape.
      mask: True for the examples to include; all by default.
      model_name: name of the model, for the title.
      figsize: width and height of the figure in inches.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Figure, a pyplot figure, which is not shown.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import matplotlib.pyplot as plt
      >>> import uncertainty_metrics.numpy as um
      >>> figure = um.regression.create_calibration_report(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], model_name="Small"
      ... )
      >>> len(figure.axes), figure.get_suptitle().split()[0]
      (4, 'Small')
      >>> plt.close(figure)
    """
    data = predictions, uncertainties, targets
    options: dict[str, Any] = {"mask": mask, "stddevs": stddevs}
    numbers = regression.evaluate_calibration(*data, **options)
    forecasts = _forecasts.checked_forecasts(*data, **options)
    figure = _figure(figsize)
    panels = figure.subplots(2, 2)
    color = _series.color(0)
    reliability_diagram(*data, **options, ax=panels[0, 0], color=color)
    uncertainty_error_diagram(*data, **options, ax=panels[0, 1], color=color)
    ensemble.uncertainty_histogram(
        np.sqrt(forecasts.variances),
        density=False,
        title="Uncertainties",
        ax=panels[1, 0],
        xlabel="Predicted standard deviation",
    )
    panels[1, 0].axvline(
        numbers["sharpness"],
        label=f"Mean = {numbers['sharpness']:.3g}",
        **_series.REFERENCE,
    )
    panels[1, 0].legend(fontsize="small")
    _draw_z_scores(panels[1, 1], forecasts.z, numbers["mean_z_score"], color)
    listed = (
        f"NLL = {numbers['nll']:.3g}, ECE = {numbers['ece']:.3f}, "
        f"RMSE = {numbers['rmse']:.3g}, sharpness = {numbers['sharpness']:.3g}"
    )
    figure.suptitle(f"{_series.plain(str(model_name))}\n{listed}")
    return figure


def _draw_z_scores(ax: Any, z: np.ndarray, mean: float, color: str) -> None:
    """Draws the density of z-scores and the standard normal density."""
    largest = np.clip(np.max(np.abs(z)), 3.0, _MAX_Z)
    edges = np.linspace(-largest, largest, _NUM_Z_BINS + 1)
    heights, _ = np.histogram(np.clip(z, -largest, largest), edges, density=True)
    label = f"Observed, mean |z| = {mean:.3g}"
    ax.stairs(heights, edges, fill=True, color=color, alpha=0.7, label=label)
    points = np.linspace(-largest, largest, 201)
    normal = np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi)
    label = "Standard normal, mean |z| = 0.798"
    ax.plot(points, normal, label=label, **_series.REFERENCE)
    beyond = np.mean(np.abs(z) > largest)  # These z-scores are in the outermost bins.
    name = f"z-score ({100 * beyond:.2g}% are beyond)" if beyond else "z-score"
    ax.set(xlabel=name, ylabel="Density", xlim=(-largest, largest))
    ax.set_ylim(0, _series.LEGEND_ROOM * max(np.max(heights), np.max(normal)))
    _series.finish(ax, False, "z-scores")


plot_reliability_diagram = reliability_diagram
plot_calibration_comparison = calibration_comparison_diagram
plot_uncertainty_vs_error = uncertainty_error_diagram
