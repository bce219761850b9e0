"""Plots of ensembles: calibration before and after averaging, and uncertainties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.ensemble import member_calibration
from uncertainty_metrics.numpy.selective import detection
from uncertainty_metrics.visualization import _series

__all__ = ["ensemble_calibration_diagram", "uncertainty_histogram"]

DEFAULT_HISTOGRAM_BINS = 30

_MEMBER = {"color": "0.65", "linewidth": 0.8, "marker": ".", "markersize": 3}
_MEAN = {"color": "#4477aa", "linewidth": 1.5, "linestyle": "--"}
_ENSEMBLE = {"color": "#cc3311", "linewidth": 2.5}
# The area of a dot that stands for all examples, in squares of a typographic point.
_POINT = 150
# The smallest height of each half of the diagram, so that small gaps look small.
_MIN_GAP = 0.05


@takes_frames
def ensemble_calibration_diagram(
    labels: ArrayLike,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    num_bins: int = DEFAULT_NUM_BINS,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the calibration of an ensemble and of its members, bin by bin.

    The diagram shows accuracy minus mean confidence against mean confidence, for each
    non-empty bin of the confidence. Thin lines are the members, a dashed line is the
    mean of the members, and a thick line is the ensemble; the area of its dots shows
    the share of the examples in the bin. Values above 0 are underconfident, values
    below 0 overconfident. Averaging made calibration worse where the members are above
    0, and the ensemble is above the members.

    Args:
      labels: integer class labels in [0, K), shape [...].
      logits: logits of the members, shape [..., M, K] with the M members on
        `ensemble_axis`; [..., M, 1] for the logit of class 1 against class 0.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members, any but the last.
      num_bins: number of bins.
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
      >>> members = [[[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.3, 0.4, 0.3]]]
      >>> ax = um.ensemble_calibration_diagram(
      ...     [0], probabilities=members, ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[-1].get_text()
      'Ensemble: ECE = 0.500'

    References:
      Wen et al. (2021), Combining Ensembles and Data Augmentation Can Harm Your
      Calibration. Rahaman and Thiery (2021), Uncertainty Quantification and Deep
      Ensembles.
    """
    calibration = member_calibration.ensemble_calibration(
        labels,
        logits=logits,
        probabilities=probabilities,
        ensemble_axis=ensemble_axis,
        num_bins=num_bins,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    ax, own = _series.axes(ax, 6, 4.8)
    _draw_calibration(ax, calibration)
    _series.finish(ax, own, title)
    return ax


def _draw_calibration(
    ax: Any, calibration: member_calibration.EnsembleCalibration
) -> None:
    """Draws the lines, and names the two halves of the diagram."""
    counts, eces = calibration.member_counts, calibration.member_eces
    label: str | None = f"Members: ECE = {eces.min():.3f} to {eces.max():.3f}"
    if len(eces) == 1:
        label = f"Member: ECE = {eces[0]:.3f}"
    members = zip(
        calibration.member_confidences, calibration.member_gaps, eces, strict=True
    )
    for m, (confidences, gaps, ece) in enumerate(members):
        bins = ~np.isnan(gaps)
        drawn = ax.plot(confidences[bins], gaps[bins], label=label, **_MEMBER)
        _series.set_tips(*drawn, f"Member {m}: ECE = {ece:.3f}")
        label = None  # All members share one legend entry.

    bins = counts.sum(axis=0) > 0
    totals = counts[:, bins].sum(axis=0)
    ax.plot(
        np.nansum(counts * calibration.member_confidences, axis=0)[bins] / totals,
        np.nansum(counts * calibration.member_gaps, axis=0)[bins] / totals,
        label=f"Members together: mean ECE = {eces.mean():.3f}",
        **_MEAN,
    )

    counts = calibration.ensemble_counts
    bins = counts > 0
    line = calibration.ensemble_confidences[bins], calibration.ensemble_gaps[bins]
    label = f"Ensemble: ECE = {calibration.ensemble_ece:.3f}"
    ax.plot(*line, label=label, **_ENSEMBLE)
    areas = _POINT * counts[bins] / counts.sum()
    style = {"color": _ENSEMBLE["color"], "zorder": 3, "clip_on": False}
    tips = (
        f"Ensemble: mean confidence {x:.3f}, accuracy {x + y:.3f}, n = {n:.6g}"
        for x, y, n in zip(*line, counts[bins], strict=True)
    )
    _series.set_tips(ax.scatter(*line, s=areas, **style), *tips)

    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="Confidence", ylabel="Accuracy - confidence", xlim=(0, 1))
    gaps = np.append(calibration.member_gaps, calibration.ensemble_gaps)
    height = max(1.1 * np.nanmax(np.abs(gaps)), _MIN_GAP)
    ax.set_ylim(-height, height)
    # To the right of the Axes, because lines fill the halves themselves.
    for middle, name in ((0.25, "Overconfident"), (0.75, "Underconfident")):
        ax.text(
            1.03,
            middle,
            name,
            transform=ax.transAxes,
            rotation=270,
            verticalalignment="center",
            fontsize="small",
        )


def uncertainty_histogram(
    uncertainties: Mapping[str, ArrayLike] | ArrayLike,
    *,
    num_bins: int = DEFAULT_HISTOGRAM_BINS,
    density: bool = True,
    title: str | None = None,
    ax: Any = None,
    xlabel: str = "Uncertainty",
) -> Any:
    """Histograms of the uncertainties of one or some data sets, on the same bins.

    For two sets, the title of the legend says how well uncertainty separates them:

      AUROC = P(uncertainty in the second > in the first) + 1/2 P(they are equal)

    Args:
      uncertainties: a mapping from the name of each set, such as "in distribution" and
        "out of distribution", to its uncertainties, finite, of any shape; or the
        uncertainties of one set.
      num_bins: number of bins, of equal width between the smallest and the largest
        uncertainty of all sets.
      density: whether each histogram has area 1; else it counts examples.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.
      xlabel: name of the uncertainty.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> entropies = {"known": [0.1, 0.2, 0.4], "unknown": [0.3, 0.7]}
      >>> ax = um.uncertainty_histogram(entropies, ax=Figure().subplots())
      >>> ax.get_legend().get_title().get_text()
      'AUROC = 0.833'

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    checked = _checked(uncertainties)
    num_bins = _checks.bins("num_bins", num_bins)
    _checks.boolean("density", density)
    ax, own = _series.axes(ax, 6, 4)

    edges = _common_edges(np.concatenate(list(checked.values())), num_bins)
    for i, (name, values) in enumerate(checked.items()):
        heights, _ = np.histogram(values, edges, density=density)
        style = {"color": _series.color(i)}
        ax.stairs(heights, edges, fill=True, alpha=0.35, **style)
        ax.stairs(heights, edges, label=_series.label(name, ""), **style)
    ax.set(xlabel=xlabel, ylabel="Density" if density else "Examples")
    _series.finish(ax, own, title, legend_title=_separation(checked), columns=2)
    return ax


def _checked(
    uncertainties: Mapping[str, ArrayLike] | ArrayLike,
) -> dict[str, np.ndarray]:
    """Returns the uncertainties of each set, float64 [n]."""
    if not isinstance(uncertainties, Mapping):
        uncertainties = {"": uncertainties}
    if not uncertainties:
        raise _checks.error(
            "uncertainties", "at least one set of data", "{}", verb="hold"
        )
    checked = {}
    for name, values in uncertainties.items():
        argument = f"uncertainties[{name!r}]" if name else "uncertainties"
        array = _inputs.finite(argument, values)
        if array.size == 0:
            raise _checks.error(
                argument,
                "at least one number",
                f"shape {list(array.shape)}",
                verb="hold",
            )
        checked[str(name)] = array.reshape(-1)
    return checked


def _common_edges(values: np.ndarray, num_bins: int) -> np.ndarray:
    low, high = np.min(values), np.max(values)
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size:  # All values are equal up to rounding.
        margin = 0.05 * size or 0.05
        low, high = low - margin, high + margin
    return np.linspace(low, high, num_bins + 1)


def _separation(sets: dict[str, np.ndarray]) -> str | None:
    """Returns the AUROC of the second of two sets as text; None for other numbers."""
    if len(sets) != 2:
        return None
    first, second = sets.values()
    labels = np.repeat([0, 1], [len(first), len(second)])
    return f"AUROC = {detection.auroc(labels, np.concatenate([first, second])):.3f}"
