"""Calibration of predicted risks, in the numbers that validations of prognostic models
report.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import ConfidenceInterval, TestedInterval
from uncertainty_metrics.numpy.calibration import (
    _likelihood_intervals,
    _pooled_scores,
    _spline_curve,
)
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.calibration._spline_curve import (
    IntegratedCalibrationIndex,
)

__all__ = [
    "calibration_intercept",
    "calibration_slope",
    "integrated_calibration_index",
    "observed_expected_ratio",
]


def _cells(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    probs: ArrayLike | None,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
) -> Cells:
    """Returns the cells of P(class 1)."""
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
    )
    return _pooled_scores.of_class_1(data)[0]


def calibration_intercept(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> TestedInterval:
    """Calibration in the large: by how much the log-odds of all risks are too low.

    With p = P(class 1), clipped to be at least 2^-24 away from 0 and 1, this is the a
    that maximises the likelihood of the labels under

      log(q / (1 - q)) = a + log(p / (1 - p))

    The sum of these q equals the number of events. An a above 0 means that the risks
    are too low on average, an a below 0 that they are too high.

    The interval holds each a for which twice the logarithm of the likelihood ratio is
    at most the `level` quantile of chi-squared with one degree of freedom. The p-value
    is that of the likelihood ratio test of a = 0. In simulations
    (`studies/risk_interval_coverage.py`) 95% intervals of calibrated models held the
    truth in 94.7% to 95.5% of data sets with 20 expected events or more, and in up to
    97.7% of smaller data sets. The interval assumes a slope of 1. For models whose
    slope was 0.7 it held the truth in 92.5% to 94.7% of data sets with four expected
    events or more.

    A fit of a and a slope together, as in `PlattScaling`, has another a. An intercept
    of 0 does not make a model calibrated: see `calibration_slope`.

    Args:
      labels: integer class labels, 1 where the event came, shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., 2]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: in (0, 1), how often the interval holds the truth.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples: with weights of another scale the interval has another width.
      ignore_index: a label whose examples are left out.

    Returns:
      `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <= estimate
      <= upper, in log-odds; 0 is calibrated. If no example has label 1, the estimate
      and the lower end are -inf. If all examples have label 1, the estimate and the
      upper end are inf. The other end and the p-value follow the likelihood as usual.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> found = um.calibration_intercept([1] * 30 + [0] * 70, [0.2] * 100)
      >>> [round(end, 3) for end in found]  # log(.3 / .7) - log(.2 / .8) is .539.
      [0.097, 0.539, 0.956, 0.018]

    References:
      Cox (1958), Two Further Applications of a Model for Binary Regression. Miller,
      Hui and Tierney (1991), Validation Techniques for Logistic Regression Models. Van
      Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
    """
    level = _checks.open_unit("level", level)
    cells = _cells(labels, probabilities, logits, probs, sample_weight, ignore_index)
    return _likelihood_intervals.intercept(cells, level)


def calibration_slope(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> TestedInterval:
    """Calibration slope: whether risks are too extreme, or not extreme enough.

    With p = P(class 1), clipped to be at least 2^-24 away from 0 and 1, this is the b
    of the a and b that maximise the likelihood of the labels under

      log(q / (1 - q)) = a + b log(p / (1 - p))

    A slope below 1 means that the risks are too extreme: low risks are too low and high
    risks too high, as those of a model that fits its training data too closely. A slope
    above 1 means that the risks are too close to each other. With a slope of 0 or less
    the risks do not tell who has the event.

    The interval holds each b for which twice the logarithm of the likelihood ratio, at
    the best a for that b, is at most the `level` quantile of chi-squared with one
    degree of freedom. The p-value is that of the likelihood ratio test of b = 1. In
    simulations (`studies/risk_interval_coverage.py`) 95% intervals held the truth in
    93.8% to 96.0% of data sets with 20 expected events or more, in 92.4% to 94.6% with
    four or five, and in 87.5% to 90.2% with one.

    A logistic regression has slope 1 on its own training data, whatever its slope on
    new data is. A slope of 1 does not make a model calibrated: all risks may be too
    low, which `calibration_intercept` shows.

    Args:
      labels: integer class labels, 1 where the event came, shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., 2]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: in (0, 1), how often the interval holds the truth.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples: with weights of another scale the interval has another width.
      ignore_index: a label whose examples are left out.

    Returns:
      `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <= estimate
      <= upper; 1 is calibrated. The likelihood has no maximum if a threshold separates
      the labels (both labels may occur at the threshold itself). The estimate and the
      upper end are then inf; if the events have the lower risks, the estimate and the
      lower end are -inf.

    Raises:
      ValueError: an argument is not as described, all risks are the same, or one of
        the labels is absent; or weights differ so much, by more than some millions,
        that rounding hides the largest likelihood.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
      >>> found = um.calibration_slope(labels, [0.2] * 100 + [0.8] * 100)
      >>> [round(end, 3) for end in found]  # From odds of 3/7 to 3/2, not of 1/4 to 4.
      [0.243, 0.452, 0.667, 0.0]

    References:
      Cox (1958), Two Further Applications of a Model for Binary Regression. Miller,
      Hui and Tierney (1991), Validation Techniques for Logistic Regression Models. Van
      Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
    """
    level = _checks.open_unit("level", level)
    cells = _cells(labels, probabilities, logits, probs, sample_weight, ignore_index)
    scores, hits = cells.scores, cells.outcome_sums
    if not np.ptp(_likelihood_intervals.log_odds(scores)) > 0:
        expected = "two values that differ, taken as at least 2^-24 away from 0 and 1"
        received = f"nothing but {scores[0]:g}"
        raise _checks.error("probabilities", expected, received, verb="hold")
    for label, masses in enumerate((cells.weights - hits, hits)):
        if not np.any(masses > 0):
            raise _checks.error("labels", f"{label} for at least one example", "none")
    return _likelihood_intervals.slope(cells, level)


def observed_expected_ratio(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> ConfidenceInterval:
    """Ratio of the events that came to those that the risks let expect.

    Of n examples with p = P(class 1), O the number of events and E the sum of p,

      O / E,  exp(log(O / E) -+ z sqrt((1 - O / n) / O))

    with z the Normal quantile of the level; E is taken as known. A ratio above 1 means
    that the risks are too low on average. If O is 0 or n, this interval is not defined:
    the ends are then n / E times those of Clopper and Pearson's interval of the share
    O / n. In simulations (`studies/risk_interval_coverage.py`) 95% intervals
    held the truth in 95.0% to 96.8% of data sets with 2% or 10% events. They held it in
    95.8% to 97.8% of data sets with 50% events: there the intervals are too long,
    because O and E vary together.

    Args:
      labels: integer class labels, 1 where the event came, shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., 2]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: in (0, 1), how often the interval holds the truth.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: finite and >= 0, broadcastable to the labels. Weights are numbers
        of examples: with weights of another scale the interval has another width.
      ignore_index: a label whose examples are left out.

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats >= 0; 1 is calibrated.

    Raises:
      ValueError: an argument is not as described, or all probabilities of class 1 are
        0, so that no event is expected.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> found = um.observed_expected_ratio([1] * 30 + [0] * 70, [0.2] * 100)
      >>> [round(end, 3) for end in found]
      [1.112, 1.5, 2.024]

    References:
      Debray et al. (2017), A Guide to Systematic Review and Meta-Analysis of Prediction
      Model Performance.
    """
    level = _checks.open_unit("level", level)
    cells = _cells(labels, probabilities, logits, probs, sample_weight, ignore_index)
    return _ratio(cells, level)


def _ratio(cells: Cells, level: float) -> ConfidenceInterval:
    """Returns observed over expected events; raises ValueError if none is expected."""
    total, observed = float(cells.weights.sum()), float(cells.outcome_sums.sum())
    expected = float(cells.score_sums.sum())
    if not (expected > 0 and math.isfinite(total / expected)):
        raise _checks.error(
            "probabilities", "above 0 for an event to be expected", f"a sum {expected}"
        )
    estimate = observed / expected
    if 0 < observed < total:
        z = float(special.ndtri((1 + level) / 2))
        with np.errstate(over="ignore"):  # To inf, of far less than an event.
            factor = float(np.exp(z * math.sqrt((1 - observed / total) / observed)))
        return ConfidenceInterval(estimate / factor, estimate, estimate * factor)
    tail = ((1 - level) / 2) ** (1 / total)  # Of a share of 0 or of 1 of the total.
    if observed == 0:
        return ConfidenceInterval(0.0, 0.0, (1 - tail) * total / expected)
    return ConfidenceInterval(tail * estimate, estimate, estimate)


def integrated_calibration_index(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> IntegratedCalibrationIndex:
    """Integrated calibration index (ICI): the mean distance of the risks from a curve
    of observed risks.

    With p = P(class 1), and f(p) the observed risk of those with the predicted risk p,

      ICI = mean of abs(p - f(p)),  E50, E90, E_max its median, 90th percentile, maximum

    f is the logistic regression of the labels on a restricted cubic spline of
    log(p / (1 - p)), with p clipped to be at least 2^-24 away from 0 and 1. The spline
    is cubic between its five knots and straight beyond them. The knots are Harrell's
    percentiles of the examples: 5, 27.5, 50, 72.5 and 95. If two of these coincide, or
    there are fewer distinct risks, there are four knots at the percentiles 5, 35, 65
    and 95; else three at 10, 50 and 90; else none, and f is a straight line in the
    log-odds. `reliability_diagram` draws f with `method="spline"`.

    A percentile that ends between two examples is the mean of both, so that percentiles
    depend on shares of the weight alone; R interpolates by default. Austin and
    Steyerberg also smooth by loess, which gives another f and another ICI.

    f also follows the noise of the labels: in finite data the ICI of a calibrated model
    is above 0. `bootstrap` gives an interval.

    Args:
      labels: integer class labels, 1 where the event came, shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., 2]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels.
      ignore_index: a label whose examples are left out.

    Returns:
      `IntegratedCalibrationIndex(ici, e50, e90, e_max)`, floats in [0, 1]; 0 is
      calibrated. If a spline separates labels, f is the limit of the regression, 0 or 1
      for these examples. If all labels are the same, f is that label.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
      >>> found = um.integrated_calibration_index(labels, [0.2] * 100 + [0.8] * 100)
      >>> [round(part, 3) for part in found]  # f(.2) = .3, f(.8) = .6.
      [0.15, 0.15, 0.2, 0.2]

    References:
      Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and Related
      Metrics for Quantifying the Calibration of Logistic Regression Models. Harrell
      (2015), Regression Modeling Strategies.
    """
    cells = _cells(labels, probabilities, logits, probs, sample_weight, ignore_index)
    return _spline_curve.fitted(cells).index(cells)
