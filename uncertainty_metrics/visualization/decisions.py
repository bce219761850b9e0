"""Plots of the value of probabilities for decisions by a threshold.

They are for two classes, and the threshold is on P(class 1). `probabilities`, `logits`
and the other arrays may each be a mapping from the names of models to their arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.visualization import _series

__all__ = [
    "decision_curve_diagram",
    "miscalibration_cost_diagram",
    "murphy_diagram",
]

_PERCENT = np.arange(100) / 100
_THETAS = np.linspace(0, 1, 501)
_NO_MODEL = {"color": "0.3", "linestyle": ":", "linewidth": 1.5}
_NOBODY = {"color": "0.3", "linewidth": 0.8, "label": "Treat none"}
# Room above the highest curve and below 0, as shares of the height.
_MARGIN, _BELOW = 0.05, 0.15


@takes_frames
def decision_curve_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    level: float | None = None,
    clusters: ArrayLike | None = None,
    seed: Any = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Decision curves: the net benefit of treating if P(class 1) is large enough.

    The lines show `net_benefit`, TP / n - FP / n * t / (1 - t) at threshold t. The
    dotted line is the net benefit of treating everyone, and the thin line that of
    treating no one. The value of a model at a threshold is its height above the higher
    of these two lines. With `level` an area has the band of the net benefit, and the
    line is thick where acting on the model is better than both beyond chance, at all
    thresholds together, if examples, or `clusters` of them, are independent.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      thresholds: as in `net_benefit`; by default 0, 0.01, ..., 0.99.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      level: as in `net_benefit`: level in (0, 1) of the band; None for no band.
      clusters: Only for `level`: cluster of each example (conventions.md#clusters).
      seed: Only for `level`: seed of the draws, all that `np.random.default_rng` takes.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.decision_curve_diagram(
      ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Threshold probability', 'Net benefit')

    References:
      Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for Evaluating
      Prediction Models.
    """
    from uncertainty_metrics.numpy.scoring import decision_curves

    points = _PERCENT if thresholds is None else thresholds
    points = decision_curves.checked_thresholds(points, one=False)
    models = _series.each_model(
        lambda one: decision_curves.net_benefit_of(one, points, level, seed=seed),
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            clusters=clusters,
        ),
    )
    return draw_decision_curves(models, points, title, ax)


def draw_decision_curves(
    curves: Mapping[str, Any], points: np.ndarray, title: str | None, ax: Any
) -> Any:
    """Draws what `net_benefit` returns of each model, by name, at thresholds `points`,
    as `decision_curve_diagram` does, and returns the Axes.
    """
    from uncertainty_metrics.numpy.scoring import decision_curves

    ax, own = _series.axes(ax, 6, 4.5)
    highest = 0.0
    # By the share of class 1, which is usually the same for all models.
    everyone: dict[float, np.ndarray] = {}
    for i, (name, curve) in enumerate(curves.items()):
        benefit, all_treated = curve.net_benefit, curve.treat_all
        label = _series.label(name, "" if name else "Treat by the model")
        marker = "o" if len(points) == 1 else ""  # A single point is no line.
        drawn = ax.plot(points, benefit, label=label, marker=marker, **_series.line(i))
        gains = benefit - np.maximum(all_treated, 0)
        best = np.argmax(gains)
        _series.set_tips(
            *drawn,
            f"{label}: {gains[best]:.4f} more than treating all or none at "
            f"{points[best]:.2f}, where the gain is largest",
        )
        if isinstance(curve, decision_curves.NetBenefitBand):
            ends = curve.over_none_lower, curve.over_none_upper
            color = drawn[0].get_color()
            ax.fill_between(points, *ends, color=color, alpha=0.12, linewidth=0)
            useful = np.where(curve.is_useful, benefit, np.nan)
            ax.plot(points, useful, color=color, linewidth=4, alpha=0.5, label="_")
        share = float(all_treated[0] * (1 - points[0]) + points[0])
        everyone.setdefault(round(share, 9), all_treated)
        highest = max(highest, share, np.max(benefit))
    _draw_common(ax, points, everyone.values(), "Treat all")
    ax.axhline(0, **_NOBODY)
    ax.set(xlabel="Threshold probability", ylabel="Net benefit", xlim=(0, 1))
    # Treating everyone has a very negative benefit at high thresholds: not shown.
    ax.set_ylim(-_BELOW * (highest or 1.0), (1 + _MARGIN) * (highest or 1.0))
    _series.finish(ax, own, title)
    return ax


@takes_frames
def murphy_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Murphy diagram: the loss of deciding by P(class 1), for every price of an error.

    The lines show `murphy_curve`. The height at theta is the mean loss of treating if
    p > theta, where a needless treatment costs theta and a missed case costs 1 - theta.
    If the curve of a model is nowhere above the curve of another model, the first model
    is at least as good by every proper score. The area below a curve is half the mean
    of (y - p)^2. The dotted line belongs to the constant forecast of the share of class
    1.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.murphy_diagram(
      ...     [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[0].get_text()
      'Area = 0.0875'

    References:
      Ehm, Gneiting, Jordan and Krueger (2016), Of Quantiles and Expectiles: Consistent
      Scoring Functions, Choquet Representations and Forecast Rankings.
    """
    from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors

    models = _models(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )
    ax, own = _series.axes(ax, 6, 4.5)
    constant: dict[float, np.ndarray] = {}
    for i, (name, (cells, dtype)) in enumerate(models.items()):
        parts = _pooled_errors.corp(cells, "brier")
        score = parts.miscalibration - parts.discrimination + parts.uncertainty
        label = _series.label(name, f"Area = {score / 2:.4f}")
        losses = _pooled_errors.murphy(cells, _THETAS, dtype)
        ax.plot(_THETAS, losses, label=label, **_series.line(i))
        share = _share(cells)
        same = np.minimum(_THETAS * (1 - share), (1 - _THETAS) * share)
        constant.setdefault(round(share, 9), same)
    _draw_common(ax, _THETAS, constant.values(), "Share of class 1")
    ax.set(xlabel="Cost of a needless treatment", ylabel="Mean loss", xlim=(0, 1))
    ax.set_ylim(0, ax.get_ylim()[1])
    _series.finish(ax, own, title)
    return ax


@takes_frames
def miscalibration_cost_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    cross_fitted: bool = True,
    folds: int = 5,
    clusters: ArrayLike | None = None,
    seed: Any = 0,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Cost of miscalibration for whoever acts where P(class 1) exceeds a threshold.

    The lines show `miscalibration_cost` at threshold t: the mean loss that acting by
    recalibrated probabilities would save, where a needless action costs t and a missed
    case 1 - t. At 0, the thin line, recalibration changes nothing. The legend has the
    largest cost(t) / max(t, 1 - t), which the dot marks. There is no band: noise moves
    the line, also that of independent examples of a calibrated model.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      thresholds: as in `miscalibration_cost`; by default 0.01, 0.02, ..., 0.99.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      cross_fitted: as in `miscalibration_cost`; without it no cost is below 0.
      folds: Only for `cross_fitted`: number of folds.
      clusters: Only for `cross_fitted`: cluster of each example, integers or strings
        (conventions.md#clusters): all examples of a cluster are in one fold.
      seed: seed of the folds, all that `np.random.default_rng` takes. None gives other
        folds each time.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.miscalibration_cost_diagram(
      ...     [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.8], folds=2, ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Threshold probability', 'Cost of miscalibration')

    References:
      Hu and Wu (2024), Predict to Minimize Swap Regret for All Payoff-Bounded Tasks.
    """
    from uncertainty_metrics.numpy.scoring import miscalibration_costs

    models = _series.each_model(
        lambda one: miscalibration_costs.cost_of(
            one, thresholds, cross_fitted, folds, "loss", seed
        ),
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            clusters=clusters,
        ),
    )
    ax, own = _series.axes(ax, 6, 4.5)
    for i, (name, found) in enumerate(models.items()):
        label = _series.label(name, f"Largest = {found.largest:.3f}")
        marker = "o" if len(found.thresholds) == 1 else ""
        (line,) = ax.plot(
            found.thresholds,
            found.cost,
            label=label,
            marker=marker,
            **_series.line(i),
        )
        height = found.largest * max(found.at, 1 - found.at)
        ax.plot(found.at, height, "o", color=line.get_color(), label="_")
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="Threshold probability", ylabel="Cost of miscalibration", xlim=(0, 1))
    _series.finish(ax, own, title)
    return ax


def _models(data: ClassifierData) -> dict[str, tuple[Cells, np.dtype]]:
    """Returns the pooled scores of each model for the arguments of a diagram."""
    return _series.each_model(_pooled_scores.of_class_1, data)


def _share(cells: Cells) -> float:
    return float(cells.outcome_sums.sum() / cells.weights.sum())


def _draw_common(
    ax: Any, points: np.ndarray, curves: Iterable[np.ndarray], label: str
) -> None:
    """Draws the curves that need no model, with one legend entry."""
    for i, curve in enumerate(curves):
        ax.plot(points, curve, label="_" if i else label, **_NO_MODEL)
