# As written by scripts/write_stubs.py.
from typing import overload
import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics._spec import PRESETS, REQUIRED
from uncertainty_metrics.numpy import (
    _arguments,
    _binning,
    _cell_scores,
    _inputs,
    _score_cells,
)
__all__ = ["murphy_curve", "net_benefit"]
_PRESET = dataclasses.replace(
    PRESETS["expected_calibration_error"], positive_class=True
)
class NetBenefit(NamedTuple):
    """Net benefits at thresholds, float64 [T], in units of a true positive.

    Attributes:
      net_benefit: of acting where the forecast says so.
      treat_all: of acting always.
      treat_none: of acting never, 0.
    """

    net_benefit: np.ndarray
    treat_all: np.ndarray
    treat_none: np.ndarray
def checked_thresholds(thresholds: Any, one: bool) -> np.ndarray:
    """Returns thresholds, float64 [T].

    Raises:
      ValueError: there is none, or one is not in [0, 1), or in [0, 1] if `one`.
    """
    ...
def cells_of(arguments: Mapping[str, Any]) -> tuple[_score_cells.Cells, np.dtype]:
    """Returns the cells of P(class 1), and the type of the forecasts."""
    ...
@overload
def net_benefit(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    thresholds: ArrayLike,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> NetBenefit:
    """Net benefit of acting on a forecast of class 1: the decision curve.

    Who acts where P(class 1) >= t, and holds an action in vain for t / (1 - t) times as
    bad as an action in place is good, gains

      net_benefit = TP / n - FP / n * t / (1 - t)

    with TP the examples of class 1 with P(class 1) >= t, FP the others, out of n. The
    threshold t says what the user wants, and the curve over t whom the model helps:
    where it is above both `treat_all`, which acts on everybody, and `treat_none`, 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      thresholds: t, in [0, 1), shape [T]; compared as numbers of the type of the
        probabilities. Required.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      `NetBenefit(net_benefit, treat_all, treat_none)`, float64 [T], at most the share
      of class 1, in true positives for each example; higher is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.net_benefit([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], [0.2, 0.5])
      >>> curve.net_benefit.round(6).tolist(), curve.treat_all.round(6).tolist()
      ([0.375, 0.0], [0.375, 0.0])

    References:
      Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for Evaluating
      Prediction Models.
    """
    ...
@overload
def net_benefit(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    thresholds: ArrayLike,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> NetBenefit:
    """Net benefit of acting on a forecast of class 1: the decision curve.

    Who acts where P(class 1) >= t, and holds an action in vain for t / (1 - t) times as
    bad as an action in place is good, gains

      net_benefit = TP / n - FP / n * t / (1 - t)

    with TP the examples of class 1 with P(class 1) >= t, FP the others, out of n. The
    threshold t says what the user wants, and the curve over t whom the model helps:
    where it is above both `treat_all`, which acts on everybody, and `treat_none`, 0.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      thresholds: t, in [0, 1), shape [T]; compared as numbers of the type of the
        probabilities. Required.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      `NetBenefit(net_benefit, treat_all, treat_none)`, float64 [T], at most the share
      of class 1, in true positives for each example; higher is better.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.net_benefit([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], [0.2, 0.5])
      >>> curve.net_benefit.round(6).tolist(), curve.treat_all.round(6).tolist()
      ([0.375, 0.0], [0.375, 0.0])

    References:
      Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for Evaluating
      Prediction Models.
    """
    ...
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
) -> np.ndarray:
    """Mean elementary scores of a forecast of class 1: the Murphy diagram.

    Each proper score of p = P(class 1) is a mixture over thresholds t of

      S_t = t 1[p > t, y = 0] + (1 - t) 1[p <= t, y = 1]

    the regret of a user who acts where p > t. A model whose mean S_t is the lower at
    every t is the better one under all proper scores. The area under the curve is the
    mean of (y - p)^2 / 2.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      thresholds: t, in [0, 1], shape [T]; compared as numbers of the type of the
        probabilities. Required.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

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
    ...
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
) -> np.ndarray:
    """Mean elementary scores of a forecast of class 1: the Murphy diagram.

    Each proper score of p = P(class 1) is a mixture over thresholds t of

      S_t = t 1[p > t, y = 0] + (1 - t) 1[p <= t, y = 1]

    the regret of a user who acts where p > t. A model whose mean S_t is the lower at
    every t is the better one under all proper scores. The area under the curve is the
    mean of (y - p)^2 / 2.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      thresholds: t, in [0, 1], shape [T]; compared as numbers of the type of the
        probabilities. Required.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

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
    ...
