"""Curves of the value that forecasts of an event have for decisions."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import REQUIRED
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_scores,
)
from uncertainty_metrics.numpy.scoring import _net_benefit_band

__all__ = ["murphy_curve", "net_benefit"]


class NetBenefit(NamedTuple):
    """Net benefits at thresholds, float64 [T], in true positives for each example.

    Attributes:
      net_benefit: net benefit of acting where P(class 1) reaches the threshold.
      treat_all: net benefit of acting on every example.
      treat_none: net benefit of never acting, 0.
    """

    net_benefit: np.ndarray
    treat_all: np.ndarray
    treat_none: np.ndarray


class _NetBenefitBand(NamedTuple):
    net_benefit: np.ndarray
    treat_all: np.ndarray
    treat_none: np.ndarray
    over_all_lower: np.ndarray
    over_all_upper: np.ndarray
    over_none_lower: np.ndarray
    over_none_upper: np.ndarray


class NetBenefitBand(_NetBenefitBand):
    """Net benefits with a band that holds at all thresholds together, float64 [T].

    Attributes:
      net_benefit: net benefit of acting where P(class 1) reaches the threshold.
      treat_all: net benefit of acting on every example.
      treat_none: net benefit of never acting, 0.
      over_all_lower: lower end of the band of `net_benefit` less `treat_all`.
      over_all_upper: upper end of it.
      over_none_lower: lower end of the band of `net_benefit` itself, its gain over
        never acting.
      over_none_upper: upper end of it.
    """

    @property
    def is_useful(self) -> np.ndarray:
        """Whether acting on the forecast is better than both acting on every example
        and never acting, beyond chance at all thresholds together; boolean [T].
        """
        return (self.over_all_lower > 0) & (self.over_none_lower > 0)


def checked_thresholds(thresholds: Any, one: bool) -> np.ndarray:
    """Returns checked thresholds, float64 [T]; `one` tells whether 1 is allowed.

    Raises:
      ValueError: there is no threshold, or a threshold is out of range.
    """
    array = _inputs.as_array("thresholds", () if thresholds is None else thresholds)
    expected = (
        "numbers in " + ("[0, 1]" if one else "[0, 1)") + ", at least one, of shape [T]"
    )
    if array.ndim != 1 or array.size == 0:
        raise _checks.error("thresholds", expected, repr(thresholds))
    array = array.astype(np.float64)
    bad = ~((array >= 0) & ((array <= 1) if one else (array < 1)))
    if np.any(bad):
        raise _checks.error("thresholds", expected, _inputs.first(bad, array))
    return array


@overload
def net_benefit(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    thresholds: ArrayLike = REQUIRED,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    level: None = None,
) -> NetBenefit: ...


@overload
def net_benefit(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    thresholds: ArrayLike = REQUIRED,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    level: float,
    clusters: ArrayLike | None = None,
    num_draws: int = 2000,
    seed: Any = None,
) -> NetBenefitBand: ...


@takes_frames
def net_benefit(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    thresholds: ArrayLike = REQUIRED,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    level: float | None = None,
    clusters: ArrayLike | None = None,
    num_draws: int = 2000,
    seed: Any = None,
) -> NetBenefit | NetBenefitBand:
    """Net benefit of acting on a forecast of class 1: the decision curve.

    A user acts where P(class 1) >= t, and a false positive costs this user t / (1 - t)
    times what a true positive gains:

      net_benefit = TP / n - FP / n * t / (1 - t)

    where, of the n examples, TP are of class 1 with P(class 1) >= t, and FP of class 0
    with P(class 1) >= t. The model helps the users whose t is where the curve is above
    both `treat_all`, acting on every example, and `treat_none`, 0. By chance the curve
    of forecasts that know nothing is often above both somewhere: with `level` the
    result has a band, and says where it is above both beyond chance.

    With r the share of class 1 among the k examples of P(class 1) >= t, and s that
    among the m others, the gains over never acting and over acting on all are

      net_benefit = k / n (r - t) / (1 - t)
      net_benefit - treat_all = m / n (t - s) / (1 - t)

    so a gain is above 0 where r > t, and where s < t. The band has the intervals of r
    and s of Clopper and Pearson (with `clusters` those of `sensitivity`) at so high a
    level that all hold together with the probability `level`, for these forecasts: that
    of the quantile, of the largest |standardised sum of residuals| over all thresholds
    and both sides, for Normal residuals that do not depend on the forecast. Without
    `clusters` the examples must be independent.
    `studies/decision_curve_claims.py` has simulations.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      thresholds: t, in [0, 1), shape [T]; compared in the dtype of the probabilities.
        Required.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels. The band
        takes the weights as numbers of examples of Kish's effective size.
      ignore_index: a label whose examples are left out.
      level: level in (0, 1) of the band, such as 0.95; None for no band.
      clusters: Only for `level`: cluster of each example, integers or strings
        (conventions.md#clusters).
      num_draws: Only for `level`: number of draws of residuals.
      seed: Only for `level`: seed of the draws, all that `np.random.default_rng` takes.

    Returns:
      `NetBenefit(net_benefit, treat_all, treat_none)`, float64 [T], in true positives
      for each example; at most the share of class 1. Higher is better. With `level` a
      `NetBenefitBand`, which also has `over_all_lower`, `over_all_upper`,
      `over_none_lower`, `over_none_upper` and `is_useful`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.net_benefit([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], [0.2, 0.5])
      >>> curve.net_benefit.round(6).tolist(), curve.treat_all.round(6).tolist()
      ([0.375, 0.0], [0.375, 0.0])
      >>> rng = np.random.default_rng(0)
      >>> p = rng.uniform(size=500)
      >>> labels = rng.uniform(size=500) < p
      >>> um.net_benefit(labels, p, [0.01, 0.5], level=0.95, seed=0).is_useful.tolist()
      [False, True]

    References:
      Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for Evaluating
      Prediction Models. Clopper and Pearson (1934), The Use of Confidence or Fiducial
      Limits Illustrated in the Case of the Binomial.
    """
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        clusters=clusters,
    )
    points = checked_thresholds(thresholds, one=False)
    return net_benefit_of(data, points, level, num_draws, seed)


def net_benefit_of(
    data: ClassifierData,
    points: np.ndarray,
    level: float | None,
    num_draws: int = 2000,
    seed: Any = None,
) -> NetBenefit | NetBenefitBand:
    """Returns what `net_benefit` does, of checked thresholds [T]."""
    num_draws = _checks.positive_integer("num_draws", num_draws)
    rng = _inputs.generator(seed)
    if level is None:
        if data.clusters is not None:
            raise _checks.error("level", "given with `clusters`", level)
        cells, dtype = _pooled_scores.of_class_1(data)
        return NetBenefit(*_pooled_errors.net_benefit(cells, points, dtype))
    level = _checks.open_unit("level", level)
    examples = _pooled_scores.examples_of_class_1(data)
    curve = _pooled_errors.net_benefit(
        _pooled_scores.cells_of_class_1(examples), points, examples.probabilities.dtype
    )
    band = _net_benefit_band.ends(
        examples.probabilities[:, 1],
        examples.labels == 1,
        examples.weights,
        examples.clusters,
        points,
        level,
        num_draws,
        rng,
    )
    return NetBenefitBand(*curve, *band)


@overload
def murphy_curve(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    thresholds: ArrayLike,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> np.ndarray: ...


@overload
def murphy_curve(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    thresholds: ArrayLike,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> np.ndarray: ...


@takes_frames
def murphy_curve(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    thresholds: ArrayLike = REQUIRED,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> np.ndarray:
    """Mean elementary scores of a forecast of class 1: the Murphy diagram.

    Each proper score of p = P(class 1) is a mixture over thresholds t of

      S_t = t 1[p > t, y = 0] + (1 - t) 1[p <= t, y = 1]

    the regret of a user who acts where p > t. A model whose mean S_t is lower at every
    t is better under every proper score. The area under the curve is the mean of
    (y - p)^2 / 2.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      thresholds: t, in [0, 1], shape [T]; compared in the dtype of the probabilities.
        Required.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      Mean S_t, float64 [T], in [0, 1]; lower is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.murphy_curve([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], [0.1, 0.4, 0.8])
      >>> curve.round(6).tolist()
      [0.05, 0.25, 0.05]

    References:
      Ehm, Gneiting, Jordan and Krueger (2016), Of Quantiles and Expectiles: Consistent
      Scoring Functions, Choquet Representations and Forecast Rankings.
    """
    points = checked_thresholds(thresholds, one=True)
    cells, dtype = _pooled_scores.of_class_1(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )
    return _pooled_errors.murphy(cells, points, dtype)
