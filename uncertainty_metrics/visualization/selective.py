"""Plots of selective prediction: the gain from not deciding if confidence is low.

The functions take the arguments of `risk_coverage_curve`. In the diagrams each argument
of data may be a mapping from the names of models to their arrays. An array without
names, as the labels often are, is the same for all models.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData
from uncertainty_metrics._results import RiskCoverageCurve
from uncertainty_metrics.numpy import _inputs, _wilson
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    _selective_risks,
    _sorted_outcomes,
)
from uncertainty_metrics.visualization import _axes, _selective_axes, _series

__all__ = [
    "AccuracyConfidenceCurve",
    "accuracy_confidence_curve",
    "accuracy_confidence_diagram",
    "risk_coverage_diagram",
]

# The default thresholds on a probability.
_PERCENT = np.arange(101) / 100


@dataclasses.dataclass(frozen=True)
class _ThresholdData(RankedData):
    """Examples, and the thresholds on their confidence; None for the default."""

    thresholds: Any = None


class AccuracyConfidenceCurve(NamedTuple):
    """Accuracy of the examples that are at least as confident as each threshold.

    Attributes:
      thresholds: the thresholds, shape [T].
      accuracies: share of right decisions among the examples whose confidence reaches
        the threshold, NaN if there are none, shape [T].
      shares: share of all examples whose confidence reaches it, in [0, 1], shape [T].
    """

    thresholds: np.ndarray
    accuracies: np.ndarray
    shares: np.ndarray


@takes_frames
def accuracy_confidence_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> AccuracyConfidenceCurve:
    """Accuracy of the examples that are at least as confident as each threshold.

    To count examples of unknown classes as errors, pass `confidences` and `correct`,
    with 0 for these examples.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      thresholds: finite, shape [T]; by default 0, 0.01, ..., 1 for probabilities and
        the distinct `confidences`, ascending. They are compared in the precision of the
        probabilities or confidences.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      An `AccuracyConfidenceCurve(thresholds, accuracies, shares)`, float64.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> data = {"confidences": [0.9, 0.8, 0.6, 0.6], "correct": [1, 1, 0, 1]}
      >>> curve = um.accuracy_confidence_curve(**data, thresholds=[0.5, 0.7])
      >>> curve.accuracies.tolist(), curve.shares.tolist()
      ([0.75, 1.0], [1.0, 0.5])

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    return _accuracy_curve(
        _ThresholdData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            confidences=confidences,
            correct=correct,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            thresholds=thresholds,
        )
    )


def _accuracy_curve(data: _ThresholdData) -> AccuracyConfidenceCurve:
    scores, outcomes, weights = _ranked_decisions.examples_of(data)
    groups = _sorted_outcomes.groups(scores, outcomes, weights)
    of_logits = data.logits is not None
    coverages, risks, distinct = _selective_risks.curve_of(scores, groups, of_logits)
    thresholds = data.thresholds
    if thresholds is None:
        thresholds = _PERCENT if data.confidences is None else distinct[::-1]
    thresholds, num_kept = _reached(thresholds, distinct, data)
    return AccuracyConfidenceCurve(
        thresholds,
        np.append(np.nan, 1 - risks)[num_kept],
        np.append(0.0, coverages)[num_kept],
    )


def _reached(
    thresholds: ArrayLike, distinct: np.ndarray, data: RankedData
) -> tuple[np.ndarray, np.ndarray]:
    """Returns checked thresholds [T], and how many confidences reach each of them.

    Args:
      thresholds: the thresholds, not checked yet.
      distinct: the distinct confidences, descending.
      data: the arguments from which the confidences were computed.
    """
    thresholds = _inputs.finite("thresholds", thresholds)
    if thresholds.ndim != 1 or thresholds.size == 0:
        raise _checks.error(
            "thresholds", "of shape [T], T >= 1", f"shape {list(thresholds.shape)}"
        )
    compared = thresholds
    name = "confidences" if data.probabilities is None else "probabilities"
    # Examples that were read before are in neither.
    if data.logits is None and getattr(data, name) is not None:
        scores = _inputs.as_array(name, getattr(data, name))
        if _inputs.is_floating(scores):  # In its type 0.9 in float32 reaches 0.9.
            compared = thresholds.astype(scores.dtype).astype(np.float64)
    return thresholds, np.searchsorted(-distinct, -compared, side="right")


@takes_frames
def risk_coverage_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    confidence_band: float | None = None,
    thresholds: ArrayLike | Mapping[str, ArrayLike] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Risk-coverage diagram: the share of errors among decisions, against coverage.

    The height of a curve at coverage c is `risk_at_coverage(..., coverage=c)`; the
    legend has the AURC of each model. The dotted lines are the risk of deciding
    everything, which random confidences would have at any coverage. For a single model,
    a dashed line is the risk of the perfect order of the same decisions. Heights that
    are means over less than 5% of the examples are noise, and may be beyond the limits
    of the axis.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      confidence_band: level in (0, 1) of Wilson's interval of the risk at each
        threshold, such as 0.95; with weights w for the effective number of examples,
        (sum w)^2 / sum w^2. It holds for each coverage, not for the whole curve. None
        draws none.
      thresholds: confidences to mark on the curves, finite, shape [T]: the examples
        that are at least as confident are decided.
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
      >>> data = {"confidences": [0.9, 0.8, 0.7, 0.6], "correct": [1, 0, 1, 1]}
      >>> ax = um.risk_coverage_diagram(**data, ax=Figure().subplots())
      >>> ax.get_legend().get_texts()[0].get_text()
      'AURC = 0.271'

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification. Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty
      Estimation for Deep Neural Classifiers.
    """
    level = _series.level("confidence_band", confidence_band)
    data = _ThresholdData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        thresholds=thresholds,
    )
    curves = _series.each_model(lambda one: _risks(one, level), data)
    ax, own = _series.axes(ax, 6, 4.5)
    for i, (name, risks) in enumerate(curves.items()):
        color = _series.color(i)
        coverages, heights = risks.curve.coverages, risks.curve.risks
        shown = _series.thinned(coverages, heights, *(risks.band or ()))
        x, y = np.append(0, coverages[shown]), heights[np.append(0, shown)]
        label = _series.label(name, f"AURC = {risks.area:.3g}")
        drawn = ax.plot(x, y, drawstyle="steps-pre", label=label, **_series.line(i))
        _series.set_tips(*drawn, label)
        if risks.band is not None:
            ends = (end[np.append(0, shown)] for end in risks.band)
            style = {"color": color, "alpha": 0.15, "linewidth": 0}
            ax.fill_between(x, *ends, step="pre", **style)
        _mark(ax, risks, color, _series.marker(i))
    if level is not None:
        label = f"{100 * level:.4g}% confidence band"
        ax.fill_between([], [], color="0.3", alpha=0.15, linewidth=0, label=label)
    everything = [risks.curve.risks[-1] for risks in curves.values()]
    _selective_axes.draw_random(ax, everything)
    if len(curves) == 1:
        right = 1 - everything[0]  # Beyond this coverage the best order has errors.
        coverages = np.union1d(np.linspace(0.005, 1, 200), right or 1.0)
        best = np.maximum(1 - right / coverages, 0)
        ax.plot(coverages, best, label="Perfect order", **_selective_axes.BEST)
    ax.set(xlabel="Coverage", ylabel="Risk", xlim=(0, 1))
    heights = [
        (risks.curve.coverages, end)
        for risks in curves.values()
        for end in (risks.curve.risks, *(risks.band or ()))
    ]
    _selective_axes.fit(
        ax,
        heights,
        least=0.0,
        above=_selective_axes.MARGIN if own else _selective_axes.LEGEND_ROOM,
    )
    _series.finish(ax, own, title)
    return ax


class _Risks(NamedTuple):
    """The drawing of a model; `marks` are thresholds, coverages and risks."""

    curve: RiskCoverageCurve
    area: float
    band: tuple[np.ndarray, np.ndarray] | None
    marks: tuple[np.ndarray, np.ndarray, np.ndarray] | None


def _risks(data: _ThresholdData, level: float | None) -> _Risks:
    scores, outcomes, weights = _ranked_decisions.examples_of(data)
    groups = _sorted_outcomes.groups(scores, outcomes, weights)
    curve = _selective_risks.curve_of(scores, groups, data.logits is not None)
    band = marks = None
    if level is not None:
        sizes = groups.masses[1:] if weights is None else _decided(scores, weights)
        band = _wilson.interval(curve.risks, sizes, level)
    if data.thresholds is not None:
        thresholds, num_kept = _reached(data.thresholds, curve.thresholds, data)
        is_reached = num_kept > 0
        last = num_kept[is_reached] - 1
        marks = thresholds[is_reached], curve.coverages[last], curve.risks[last]
    return _Risks(curve, _selective_risks.mean_risk(groups), band, marks)


def _decided(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the effective number of examples that reach each distinct score."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    weights = weights[order] / weights.max()
    return np.cumsum(weights)[last] ** 2 / np.cumsum(weights**2)[last]


def _mark(ax: Any, risks: _Risks, color: str, marker: str) -> None:
    """Marks thresholds on a curve, and writes their values beside the marks."""
    if risks.marks is None:
        return
    thresholds, *points = risks.marks
    style = {"color": color, "linestyle": "none", "markersize": 5}
    ax.plot(*points, marker=marker, zorder=3, clip_on=len(thresholds) == 0, **style)
    for threshold, *point in zip(thresholds, *points, strict=True):
        # The text is on the left if there is room, because the curve is lower there.
        left = point[0] > 0.1
        place: dict[str, Any] = {"ha": "right" if left else "left"}
        place |= {"textcoords": "offset points", "xytext": (-4 if left else 4, 4)}
        text = f"{threshold:.4g}"
        ax.annotate(text, point, fontsize="small", color=color, **place)


@takes_frames
def accuracy_confidence_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the accuracy above each confidence.

    The lines show `accuracy_confidence_curve`. The strip at the top shows the share of
    the examples that reach each confidence. Heights that are means over less than 5% of
    the examples are noise, and may be beyond the limits of the axis.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      thresholds: finite, shape [T]; by default 0, 0.01, ..., 1 for probabilities and
        the distinct `confidences`, ascending. They are compared in the precision of the
        probabilities or confidences.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      title: title of the diagram.
      ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure, which
        is not shown.

    Returns:
      The matplotlib Axes of the accuracies.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> models = {"small": [0.6, 0.7, 0.9], "large": [0.2, 0.9, 0.9]}
      >>> ax = um.accuracy_confidence_diagram([0, 1, 1], models, ax=Figure().subplots())
      >>> [text.get_text() for text in ax.get_legend().get_texts()]
      ['small', 'large']

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    data = _ThresholdData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        thresholds=thresholds,
    )
    curves = _series.each_model(_accuracy_curve, data)
    ax, own = _series.axes(ax, 6, 4.5)
    strip = _axes.strip(ax, 1.0)
    strip.set_ylabel("Share", fontsize="small")
    for i, (name, curve) in enumerate(curves.items()):
        style = _series.line(i) | {"marker": _selective_axes.marker(curve.thresholds)}
        label = _series.label(name, "")
        drawn = ax.plot(curve.thresholds, curve.accuracies, label=label, **style)
        first = f"accuracy {curve.accuracies[0]:.3f} at {curve.thresholds[0]:.3g}"
        _series.set_tips(*drawn, _series.label(name, first))
        strip.plot(curve.thresholds, curve.shares, clip_on=False, **style)
    ax.set(xlabel="Confidence threshold", ylabel="Accuracy")
    _selective_axes.fit(
        ax, [(curve.shares, curve.accuracies) for curve in curves.values()]
    )
    _series.finish(ax, own, title, columns=3)
    return ax
