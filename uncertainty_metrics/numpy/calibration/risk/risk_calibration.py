"""Calibration of risks, in the numbers that are usual for prognostic models."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import (
    ConfidenceInterval,
    OfClusters,
    TestedInterval,
)
from uncertainty_metrics.numpy import _clusters
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.risk import (
    _clustered_risks,
    _likelihood_intervals,
    _spline_curve,
)
from uncertainty_metrics.numpy.calibration.risk._spline_curve import (
    IntegratedCalibrationIndex,
)
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_scores
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    Rows,
)

__all__ = [
    "calibration_intercept",
    "calibration_slope",
    "integrated_calibration_index",
    "observed_expected_ratio",
]

_Result = TypeVar("_Result", bound=OfClusters)


class _Risks(NamedTuple):
    """The risks and outcomes of examples.

    Attributes:
      cells: the examples, pooled by P(class 1).
      rows: the examples one by one; None unless they depend on each other in clusters.
      num_clusters: the number of clusters; None without clusters.
      examples_each: the mean number of examples of a cluster; None without clusters.
    """

    cells: Cells
    rows: Rows | None
    num_clusters: int | None
    examples_each: float | None


def _read(
    labels: ArrayLike,
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    probs: ArrayLike | None,
    sample_weight: ArrayLike | None,
    ignore_index: int | None,
    clusters: ArrayLike | None = None,
) -> _Risks:
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        clusters=clusters,
    )
    if clusters is None:
        return _Risks(_pooled_scores.of_class_1(data)[0], None, None, None)
    examples = _pooled_scores.examples_of_class_1(data)
    of_examples = examples.clusters
    assert of_examples is not None
    cells, rows = _pooled_scores.in_clusters(examples, of_examples)
    each = _clusters.examples_each(of_examples, examples.weights)
    return _Risks(cells, rows, of_examples.number, each)


def _with_clusters(result: _Result, risks: _Risks) -> _Result:
    """Returns the result with the number of clusters, and with the design effect if
    every cluster holds one example, or copies of one.
    """
    result.num_clusters = risks.num_clusters
    if risks.rows is None:
        result.design_effect = risks.examples_each
    return result


@takes_frames
def calibration_intercept(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> TestedInterval:
    """Calibration in the large: by how much the log-odds of all risks are too low.

    A risk is the probability of an event, and the event is class 1. With p = P(class 1)
    clipped to [2^-24, 1 - 2^-24], this is the a that maximizes the likelihood of the
    labels under the model

      log(q / (1 - q)) = a + log(p / (1 - p))

    The sum of these q equals the number of events. If a is above 0, the risks are too
    low on average; if a is below 0, they are too high.

    The interval contains every a for which twice the logarithm of the likelihood ratio
    is at most the `level` quantile of the chi-squared distribution with one degree of
    freedom. The p-value comes from the likelihood ratio test of a = 0. In simulations
    (`studies/risk_interval_coverage.py`) 95% intervals of calibrated models held the
    truth in 94.7% to 95.5% of data sets with 20 expected events or more, and in up to
    97.7% of smaller data sets. The interval assumes a slope of 1. For models with a
    slope of 0.7 it held the truth in 92.5% to 94.7% of data sets with four expected
    events or more.

    A fit of an intercept and a slope together, as in `PlattScaling`, has another
    intercept. A model with an intercept of 0 may still be miscalibrated: see
    `calibration_slope`.

    This is for independent examples. With `clusters` the interval contains every a at
    which the sum of the scores s_c of the C clusters, s_c = sum of (y - q) over the
    examples of cluster c, is not further from 0 than chance explains:

      abs(sum_c s_c) <= t sqrt(V),  V = max(S, R sum of q (1 - q))
      S = (C - 1) / C sum_c (s_c / (1 - h_c))^2
      R = sum_c s_c^2 / sum of (y - q)^2

    Here t is the quantile of Student's distribution with C - 1 degrees of freedom, and
    h_c is the share of cluster c in the sum of q (1 - q). S is the sandwich of the
    clusters' scores, without each cluster's own influence as in a jackknife. With few
    events the s_c may be alike by chance; the second term of V is for them. The p-value
    is that of the same test of a = 0. With fewer than eight clusters no interval of 95%
    is bounded. If each cluster holds one example, the result is that without clusters.
    In simulations (`studies/cluster_coverage_risk.py`) with 50 or 100 clusters of 1 to
    50 examples and correlations of 0 to 0.9, 95% intervals held the truth in 94.2% to
    98.2% of data sets.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: share of data sets for which the interval holds the truth, in (0, 1).
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <= estimate
      <= upper, in log-odds; 0 is calibrated. If no example has label 1, the estimate
      and the lower end are -inf. If all examples have label 1, the estimate and the
      upper end are inf. The other end is finite in both cases, unless there are few
      clusters. With clusters the result has `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> interval = um.calibration_intercept([1] * 30 + [0] * 70, [0.2] * 100)
      >>> [round(x, 3) for x in interval]  # log(0.3 / 0.7) - log(0.2 / 0.8) = 0.539
      [0.097, 0.539, 0.956, 0.018]

    References:
      Cox (1958), Two Further Applications of a Model for Binary Regression. Miller,
      Hui and Tierney (1991), Validation Techniques for Logistic Regression Models. Van
      Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
      Liang and Zeger (1986), Longitudinal Data Analysis Using Generalized Linear
      Models.
      Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    level = _checks.open_unit("level", level)
    risks = _read(
        *(labels, probabilities, logits, probs, sample_weight, ignore_index, clusters)
    )
    if risks.rows is None:
        interval = _likelihood_intervals.intercept(risks.cells, level)
    else:
        interval = _clustered_risks.intercept(risks.cells, risks.rows, level)
    return _with_clusters(interval, risks)


@takes_frames
def calibration_slope(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> TestedInterval:
    """Calibration slope: whether risks are too extreme, or not extreme enough.

    A risk is the probability of an event, and the event is class 1. With p = P(class 1)
    clipped to [2^-24, 1 - 2^-24], this is the b in the pair (a, b) that maximizes the
    likelihood of the labels under the model

      log(q / (1 - q)) = a + b log(p / (1 - p))

    A slope below 1 means that the risks are too extreme: low risks are too low, and
    high risks are too high. This happens to a model that fits its training data too
    closely. A slope above 1 means that the risks are too close to each other. If the
    slope is 0 or less, higher risks do not mean more events.

    The interval contains every b for which twice the logarithm of the likelihood ratio,
    with the best a for this b, is at most the `level` quantile of the chi-squared
    distribution with one degree of freedom. The p-value comes from the likelihood ratio
    test of b = 1. In simulations (`studies/risk_interval_coverage.py`) 95% intervals
    held the truth in 93.8% to 96.0% of data sets with 20 expected events or more, in
    92.4% to 94.6% of data sets with four or five, and in 87.5% to 90.2% of data sets
    with one.

    A logistic regression has slope 1 on its own training data, whatever its slope on
    new data is. A model with a slope of 1 may still be miscalibrated: all its risks may
    be too low, which `calibration_intercept` shows.

    This is for independent examples. With `clusters` interval and p-value are those of
    `calibration_intercept` with clusters, for the scores (y - q) (z - m) in place of y
    - q: z are the log-odds of p, m is their mean with weights q (1 - q), and q has the
    best a for each b. The variances are sums of q (1 - q) (z - m)^2, and h_c is the
    share of cluster c in this sum. In simulations (`studies/cluster_coverage_risk.py`)
    with 50 or 100 clusters of 1 to 50 examples and correlations of 0 to 0.9, 95%
    intervals held the truth in 93.5% to 99.0% of data sets.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: share of data sets for which the interval holds the truth, in (0, 1).
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <= estimate
      <= upper; 1 is calibrated. If a threshold on the risks separates the labels, the
      likelihood has no maximum (both labels may occur at the threshold itself). The
      estimate and the upper end are then inf; or, if the events have the lower risks,
      the estimate and the lower end are -inf. With clusters the result has
      `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described; all risks are the same; one of the
        labels is absent; or the ratio of two weights is so large, in the millions, that
        rounding hides the maximum of the likelihood.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
      >>> interval = um.calibration_slope(labels, [0.2] * 100 + [0.8] * 100)
      >>> [round(x, 3) for x in interval]  # The odds are 3/7 and 3/2, not 1/4 and 4.
      [0.243, 0.452, 0.667, 0.0]

    References:
      Cox (1958), Two Further Applications of a Model for Binary Regression. Miller,
      Hui and Tierney (1991), Validation Techniques for Logistic Regression Models. Van
      Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
      Liang and Zeger (1986), Longitudinal Data Analysis Using Generalized Linear
      Models.
      Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    level = _checks.open_unit("level", level)
    risks = _read(
        *(labels, probabilities, logits, probs, sample_weight, ignore_index, clusters)
    )
    if risks.rows is None:
        interval = slope_of_cells(risks.cells, level)
    else:
        _check_slope(risks.cells)
        interval = _clustered_risks.slope(risks.cells, risks.rows, level)
    return _with_clusters(interval, risks)


def joint_p_value(
    labels: ArrayLike,
    probabilities: ArrayLike,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> float:
    """Returns the p-value of an intercept of 0 and a slope of 1 together, by the
    likelihood ratio, or with clusters by their scores; raises ValueError where
    `calibration_slope` does, and for fewer than three clusters.
    """
    risks = _read(labels, probabilities, None, None, sample_weight, None, clusters)
    _check_slope(risks.cells)
    if risks.rows is not None:
        return _clustered_risks.joint_p_value(risks.rows)
    return _likelihood_intervals.joint_p_value(risks.cells)


def slope_of_cells(cells: Cells, level: float) -> TestedInterval:
    """Returns the calibration slope; raises ValueError if there is none."""
    _check_slope(cells)
    return _likelihood_intervals.slope(cells, level)


def _check_slope(cells: Cells) -> None:
    """Raises ValueError if the cells have no calibration slope."""
    scores, hits = cells.scores, cells.outcome_sums
    if not np.ptp(_likelihood_intervals.log_odds(scores)) > 0:
        expected = "two values that differ after clipping to [2^-24, 1 - 2^-24]"
        received = f"only {scores[0]:g}"
        raise _checks.error("probabilities", expected, received, verb="hold")
    for label, masses in enumerate((cells.weights - hits, hits)):
        if not np.any(masses > 0):
            raise _checks.error("labels", f"{label} for at least one example", "none")


@takes_frames
def observed_expected_ratio(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    level: float = 0.95,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> ConfidenceInterval:
    """Ratio of the number of events to the number that the risks predict (O/E).

    A risk is the probability of an event, and the event is class 1. For n examples with
    p = P(class 1), let O be the number of events and E the sum of p. Then

      ratio = O / E,  ends = exp(log(O / E) -+ z sqrt((1 - O / n) / O))

    with z the Normal quantile of the level. The interval treats E as known. A ratio
    above 1 means that the risks are too low on average. If O is 0 or n, this interval
    is not defined. Its ends are then n / E times the ends of Clopper and Pearson's
    interval of the share O / n. In simulations (`studies/risk_interval_coverage.py`)
    95% intervals held the truth in 95.0% to 96.8% of data sets with 2% or 10% events,
    and in 95.8% to 97.8% of data sets with 50% events.

    The interval describes the ratio: O has the binomial variance of one rate O / n. It
    is no test of calibration. If the risks are right, the variance of O is the sum of
    p (1 - p), which is smaller where the risks differ. So the further the risks spread,
    the more often the interval holds 1. The test that O and E agree, with the variance
    sum p (1 - p), is the p-value of `calibration_intercept`.

    This is for independent examples. With `clusters` the interval is that of
    `calibration_intercept` with clusters, for the scores y - ratio p in place of y - q:
    h_c is the share of cluster c in E, and ratio E (1 - ratio E / n) stands for the sum
    of q (1 - q). It ends at n / E at most. In simulations
    (`studies/cluster_coverage_risk.py`) with 50 or 100 clusters of 1 to 50 examples and
    correlations of 0 to 0.9, 95% intervals held the truth in 95.2% to 99.5% of data
    sets.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      level: share of data sets for which the interval holds the truth, in (0, 1).
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        interval narrower.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `ConfidenceInterval(lower, estimate, upper)`, floats >= 0; 1 is calibrated. With
      clusters it has `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described, or P(class 1) is 0 for all examples,
        so that no event is expected.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> interval = um.observed_expected_ratio([1] * 30 + [0] * 70, [0.2] * 100)
      >>> [round(x, 3) for x in interval]
      [1.112, 1.5, 2.024]

    References:
      Debray et al. (2017), A Guide to Systematic Review and Meta-Analysis of Prediction
      Model Performance.
      Liang and Zeger (1986), Longitudinal Data Analysis Using Generalized Linear
      Models.
      Cameron and Miller (2015), A Practitioner's Guide to Cluster-Robust Inference.
    """
    level = _checks.open_unit("level", level)
    risks = _read(
        *(labels, probabilities, logits, probs, sample_weight, ignore_index, clusters)
    )
    interval = ratio_of_cells(risks.cells, level)
    if risks.rows is not None:
        interval = _clustered_risks.ratio(risks.rows, level)
    return _with_clusters(interval, risks)


def ratio_of_cells(cells: Cells, level: float) -> ConfidenceInterval:
    """Returns the ratio and its interval; raises ValueError if no event is expected."""
    total, observed = float(cells.weights.sum()), float(cells.outcome_sums.sum())
    expected = float(cells.score_sums.sum())
    if not (expected > 0 and math.isfinite(total / expected)):
        raise _checks.error(
            "probabilities", "above 0 so that an event is expected", f"sum {expected}"
        )
    estimate = observed / expected
    if 0 < observed < total:
        z = float(special.ndtri((1 + level) / 2))
        with np.errstate(over="ignore"):  # It is inf for a tiny weight of events.
            factor = float(np.exp(z * math.sqrt((1 - observed / total) / observed)))
        return ConfidenceInterval(estimate / factor, estimate, estimate * factor)
    # The lower end of Clopper and Pearson's interval of a share of 1. The upper end of
    # the interval of a share of 0 is 1 - tail.
    tail = ((1 - level) / 2) ** (1 / total)
    if observed == 0:
        return ConfidenceInterval(0.0, 0.0, (1 - tail) * total / expected)
    return ConfidenceInterval(tail * estimate, estimate, estimate)


@takes_frames
def integrated_calibration_index(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    clusters: ArrayLike | None = None,
) -> IntegratedCalibrationIndex:
    """Integrated calibration index (ICI): the mean distance between the risks and a
    flexible calibration curve.

    A risk is the probability of an event, and the event is class 1. With p = P(class 1)
    and the curve f, where f(p) estimates the true risk of the examples whose predicted
    risk is p,

      ICI = mean of abs(p - f(p))
      E50, E90, E_max = median, 90th percentile and maximum of abs(p - f(p))

    f is the logistic regression of the labels on a restricted cubic spline of
    log(p / (1 - p)), with p clipped to [2^-24, 1 - 2^-24]. The spline is cubic between
    its knots and straight beyond them. It has five knots at percentiles of the risks
    that Harrell chose: 5, 27.5, 50, 72.5 and 95. If two of these percentiles are equal,
    or there are fewer than five distinct risks, it has four knots at the percentiles 5,
    35, 65 and 95. If these do not fit either, it has three knots at 10, 50 and 90; and
    if not even these fit, f is a straight line in the log-odds.
    `reliability_diagram(method="spline")` draws f.

    If a percentile lies between two examples, it is the mean of both, so percentiles
    depend on the shares of the weight only; R interpolates by default. Austin and
    Steyerberg also smooth by loess, which gives another f and another ICI.

    With few events a spline often separates the labels, or nearly does. The likelihood
    then has no maximum, or one with huge coefficients. So f is at the maximum of the
    mean log-likelihood minus a tiny penalty,

      1e-12 / 2 r (1 - r) (variance of log(f / (1 - f)) over the examples)

    with r the share of events. The penalty treats both labels alike: exchanging them,
    and p for 1 - p, turns f into 1 - f. Where a regression without the penalty
    converges, and predicts no 0 or 1, f differs from it by less than 1e-7. Where a
    spline separates labels, f is near 0 or 1 for these examples, and E_max may be large
    although the risks are right. The guide shows how often this happens
    (`studies/spline_separation.py`).

    The curve f follows the noise of the labels, too. So the ICI of a calibrated model
    is above 0 in finite data. `bootstrap` gives an interval; for a calibrated model it
    does not contain the true value 0, for the same reason.

    The index itself is the same for dependent examples. With `clusters` the result says
    how much they weigh: `design_effect` is the variance of log(f / (1 - f)) by the
    sandwich of the clusters' scores, on average over the examples, divided by the
    variance for independent examples. Give `bootstrap` the clusters, too.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      clusters: cluster of each example, integers or strings (conventions.md#clusters).

    Returns:
      `IntegratedCalibrationIndex(ici, e50, e90, e_max)`, floats in [0, 1]; 0 is
      calibrated. If all labels are the same, f is this label. With clusters the result
      has `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
      >>> interval = um.integrated_calibration_index(labels, [0.2] * 100 + [0.8] * 100)
      >>> [round(x, 3) for x in interval]  # f(0.2) = 0.3 and f(0.8) = 0.6
      [0.15, 0.15, 0.2, 0.2]

    References:
      Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and Related
      Metrics for Quantifying the Calibration of Logistic Regression Models. Harrell
      (2015), Regression Modeling Strategies.
    """
    risks = _read(
        *(labels, probabilities, logits, probs, sample_weight, ignore_index, clusters)
    )
    curve = _spline_curve.fitted(risks.cells)
    index = curve.index(risks.cells)
    if risks.rows is not None:
        effect = _clustered_risks.design_effect_of_curve(curve, risks.rows)
        index.design_effect = effect
    return _with_clusters(index, risks)
