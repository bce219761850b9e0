"""Plots of rejection: the accuracy of the rest, if the least confident are rejected.

The examples may be in and out of distribution. In the diagram each argument of data may
be a mapping from the names of models to their arrays, as in `selective`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.selective import _ranked_decisions, _sorted_outcomes
from uncertainty_metrics.visualization import _selective_axes, _series

__all__ = ["RejectionCurve", "rejection_curve", "rejection_diagram"]


@dataclasses.dataclass(frozen=True)
class _RejectionData(RankedData):
    """Examples, and predictions or confidences of examples out of distribution."""

    ood_probabilities: Any = None
    ood_logits: Any = None
    ood_confidences: Any = None


class RejectionCurve(NamedTuple):
    """Accuracy of the kept examples, if the least confident of n are rejected.

    Attributes:
      rejected: share of the examples that are rejected, k / n for k = 0, ..., n - 1.
      accuracies: expected share of right decisions among the kept examples, [n].
      maximum: the largest possible accuracy, if wrong decisions are rejected first,
        [n].
    """

    rejected: np.ndarray
    accuracies: np.ndarray
    maximum: np.ndarray

    @property
    def rejection_ratio(self) -> float:
        """Prediction rejection ratio (PRR): 1 is the best order, 0 is random order.

        It is the area between the curve of the kept errors and the curve of random
        rejection, divided by this area for the best order. It equals `2 AUROC - 1` of
        the confidences, with right decisions as the positive examples. NaN if all
        examples are right, or all wrong.
        """
        gain, best = (
            np.sum((1 - self.rejected) * (curve - self.accuracies[0]))
            for curve in (self.accuracies, self.maximum)
        )
        return float(gain / best) if best > 0 else np.nan


def _unlabelled(
    labels: ArrayLike | None, name: str, known: ArrayLike | None, unknown: ArrayLike
) -> np.ndarray:
    """Returns the scores [n] of out-of-distribution examples, which have no labels.

    Args:
      labels: labels of the examples in distribution.
      name: name of the argument `known`.
      known: predictions or confidences of the examples in distribution.
      unknown: predictions or confidences of the examples out of distribution.
    """
    if known is None:
        raise _checks.error(f"ood_{name}", f"None without `{name}`", "an array")
    known = _inputs.as_array(name, known)
    unknown = _inputs.as_array(f"ood_{name}", unknown)
    shape = unknown.shape
    if name == "confidences":
        data = RankedData(confidences=unknown, correct=np.zeros(shape))
    else:
        # Without a class axis, predictions are P(class 1) and have the shape of labels.
        labels = _inputs.as_array("labels", labels)
        binary = _checks.layout(labels.shape, known.shape, name) is None
        if not binary or (known.ndim > 1 and known.shape[-1] == 1):
            classes, shape = known.shape[-1:], shape[:-1]
        else:
            classes = ()
        if unknown.ndim != known.ndim or unknown.shape[len(shape) :] != classes:
            raise _checks.error(
                f"ood_{name}",
                f"of the shape of `{name}`, {list(known.shape)}, except for the number "
                "of examples",
                f"shape {list(unknown.shape)}",
            )
        data = RankedData(labels=np.zeros(shape), **{name: unknown})
    try:
        return _ranked_decisions.examples_of(data)[0]
    except (TypeError, ValueError) as wrong:
        raise type(wrong)(f"`ood_{name}`: {wrong}") from wrong


@takes_frames
def rejection_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    ood_probabilities: ArrayLike | None = None,
    ood_logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    ood_confidences: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> RejectionCurve:
    """Accuracy of the kept examples, if more and more unsure examples are rejected.

    Examples in and out of distribution are ranked together. Every kept example out of
    distribution counts as an error. So a model does well if it is unsure both about
    these examples and about its errors. R of n examples are decided right, and R_k is
    the expected number of right decisions among the k most confident examples (equal
    confidences are in random order):

      accuracy(k) = R_k / k
      maximum(k) = min(1, R / k)

    Without examples out of distribution, accuracy(k) is 1 minus the risk at coverage
    k / n.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      ood_probabilities: Only for `probabilities`: those of the examples out of
        distribution; any number of examples, otherwise the same shape.
      ood_logits: Only for `logits`: those of the examples out of distribution.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      ood_confidences: Only for `confidences`: those of the examples out of
        distribution, of any shape.
      ignore_index: a label whose examples are left out.

    Returns:
      A `RejectionCurve(rejected, accuracies, maximum)`, float64 of shape [n], with the
      property `rejection_ratio`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.rejection_curve(
      ...     confidences=[0.9, 0.8], correct=[1, 1], ood_confidences=[0.85, 0.3]
      ... )
      >>> curve.accuracies.round(3).tolist(), curve.maximum.round(3).tolist()
      ([0.5, 0.667, 0.5, 1.0], [0.5, 0.667, 1.0, 1.0])

    References:
      Nadeem, Zucker and Hanczar (2009), Accuracy-Rejection Curves (ARCs) for Comparing
      Classification Methods with a Reject Option. Malinin, Mlodozeniec and Gales
      (2020), Ensemble Distribution Distillation.
    """
    return _rejection_curve(
        _RejectionData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            confidences=confidences,
            correct=correct,
            ignore_index=ignore_index,
            ood_probabilities=ood_probabilities,
            ood_logits=ood_logits,
            ood_confidences=ood_confidences,
        )
    )


def _rejection_curve(data: _RejectionData) -> RejectionCurve:
    scores, right, _ = _ranked_decisions.examples_of(data)
    for name, known, unknown in (
        ("probabilities", data.probabilities, data.ood_probabilities),
        ("logits", data.logits, data.ood_logits),
        ("confidences", data.confidences, data.ood_confidences),
    ):
        if unknown is not None:  # This holds for at most one of the three.
            unlabelled = _unlabelled(data.labels, name, known, unknown)
            scores = np.append(scores, unlabelled)
            right = np.append(right, np.zeros(len(unlabelled), bool))
    groups = _sorted_outcomes.groups(scores, right)
    rejected = np.arange(len(scores))
    num_kept = len(scores) - rejected
    expected = np.interp(num_kept, groups.masses, groups.hits)
    return RejectionCurve(
        rejected / len(scores),
        expected / num_kept,
        np.minimum(1.0, groups.hits[-1] / num_kept),
    )


@takes_frames
def rejection_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ood_confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the accuracy of the kept examples against the rejected share.

    The lines show `rejection_curve`; the legend has the prediction rejection ratio
    (PRR) of each model: 1 for the best order, 0 for random order. The dotted lines are
    the accuracy after random rejection, and the dashed lines the largest accuracy that
    the decisions allow. Heights that are means over less than 5% of the examples are
    noise, and may be beyond the limits of the axis.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      logits: logits of the same shape, instead of `probabilities`.
      ood_probabilities: Only for `probabilities`: those of the examples out of
        distribution; any number of examples, otherwise the same shape.
      ood_logits: Only for `logits`: those of the examples out of distribution.
      confidences: instead of `labels`, a finite score of each decision; larger is
        surer.
      correct: with `confidences`, whether each decision is right: 0 or 1.
      ood_confidences: Only for `confidences`: those of the examples out of
        distribution, of any shape.
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
      >>> data = {"probabilities": [0.1, 0.8, 0.4], "ood_probabilities": [0.5]}
      >>> ax = um.rejection_diagram([0, 1, 1], **data, ax=Figure().subplots())
      >>> ax.get_legend().get_texts()[0].get_text()
      'PRR = 1.000'

    References:
      Nadeem, Zucker and Hanczar (2009), Accuracy-Rejection Curves (ARCs) for Comparing
      Classification Methods with a Reject Option. Malinin, Mlodozeniec and Gales
      (2020), Ensemble Distribution Distillation.
    """
    data = _RejectionData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        confidences=confidences,
        correct=correct,
        ignore_index=ignore_index,
        ood_probabilities=ood_probabilities,
        ood_logits=ood_logits,
        ood_confidences=ood_confidences,
    )
    curves = _series.each_model(_rejection_curve, data)
    ax, own = _series.axes(ax, 6, 4.5)
    for i, (name, curve) in enumerate(curves.items()):
        label = _series.label(name, f"PRR = {curve.rejection_ratio:.3f}")
        style = _series.line(i) | {"marker": _selective_axes.marker(curve.rejected)}
        ax.plot(curve.rejected, curve.accuracies, label=label, **style)
    _selective_axes.draw_random(ax, [curve.accuracies[0] for curve in curves.values()])
    for i, curve in enumerate(curves.values()):
        best = (
            _selective_axes.BEST
            if len(curves) == 1
            else {**_selective_axes.BEST, "color": _series.color(i)}
        )
        label = "_" if i > 0 else "Maximum"
        ax.plot(curve.rejected, curve.maximum, label=label, **best)
    ax.set(xlabel="Share rejected", ylabel="Accuracy of the rest", xlim=(0, 1))
    _selective_axes.fit(
        ax,
        [(1 - curve.rejected, curve.accuracies) for curve in curves.values()],
        largest=1.0,
        below=_selective_axes.MARGIN if own else _selective_axes.LEGEND_ROOM,
    )
    _series.finish(ax, own, title)
    return ax
