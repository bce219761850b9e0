"""What a sample can show: the smallest error it would find, and how many examples a
given error, or an interval of a given width, needs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    BINNING_SCHEMES,
    DEFAULT_NUM_BINS,
    BinningScheme,
)
from uncertainty_metrics.numpy import _clusters, _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _clustered_error,
    _detectable_error,
    _error_interval,
    _scores,
    debiased_calibration,
)
from uncertainty_metrics.numpy.calibration.bins._detectable_error import (
    Bins,
    ClusteredBins,
    ClusterTable,
)
from uncertainty_metrics.numpy.selective.detection import auroc

__all__ = ["examples_needed", "smallest_detectable_error"]

# No search goes beyond this number of examples.
_MOST = 2**53
# Log-odds are those of probabilities that are this far from 0 and 1.
_CLIP = 2.0**-24


class _Design(NamedTuple):
    """Which examples depend on each other, and how much.

    Attributes:
      clusters: cluster of each example; None for independent examples.
      intraclass_correlation: that of y - p, or None for that of the outcomes.
      labels: outcomes of classifiers, or None.
      correct: outcomes of answers, or None.
    """

    clusters: ArrayLike | None
    intraclass_correlation: float | None
    labels: ArrayLike | None
    correct: ArrayLike | None

    def check(self) -> None:
        """Raises ValueError unless the arguments go together."""
        sources = {
            "intraclass_correlation": self.intraclass_correlation,
            "labels": self.labels,
            "correct": self.correct,
        }
        given = [name for name, value in sources.items() if value is not None]
        if self.clusters is None and given:
            raise _checks.combination_error(
                f"`{given[0]}` is for `clusters`, which must be given as well.", given
            )
        if self.clusters is not None and len(given) != 1:
            raise _checks.combination_error(
                "With `clusters`, exactly one of `intraclass_correlation`, `labels` "
                "and `correct` must be given.",
                given,
            )
        if self.intraclass_correlation is not None:
            name = "intraclass_correlation"
            _checks.share(name, self.intraclass_correlation)


class _Forecasts(NamedTuple):
    """Forecasts without labels.

    Attributes:
      bins: their bins.
      scores: the scores, float64 [n].
      table: their clusters; None for independent examples.
      correlation: the intraclass correlation of the clusters.
    """

    bins: Bins | ClusteredBins
    scores: np.ndarray
    table: ClusterTable | None
    correlation: float

    def design_effect(self, influences: np.ndarray, means: np.ndarray | float) -> float:
        """Returns the variance of sum(means + influences * (y - p)) over examples in
        clusters, divided by that over independent examples.

        Args:
          influences: [n].
          means: what remains of each example without y - p, [n].
        """
        if self.table is None:
            return 1.0
        codes, number = self.table.clusters
        own = self.scores * (1 - self.scores)
        apart = float(np.sum(own * influences**2))
        roots, rests = (
            _clusters.cluster_sums(np.broadcast_to(each, own.shape), codes, number)
            for each in (np.sqrt(own) * influences, means)
        )
        together = self.correlation * float(np.sum(roots**2))
        together += (1 - self.correlation) * apart
        alone = apart + float(np.sum(np.broadcast_to(means, own.shape) ** 2))
        return (together + float(np.sum(rests**2))) / alone if alone > 0 else 1.0


def _forecasts(
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    confidences: ArrayLike | None,
    num_bins: int,
    binning_scheme: BinningScheme,
    positive_class: bool | None,
    design: _Design,
) -> _Forecasts:
    """Returns the forecasts, read with labels that do not matter."""
    given = {
        "probabilities": probabilities,
        "logits": logits,
        "confidences": confidences,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        raise _checks.combination_error(
            "Exactly one of `probabilities`, `logits` and `confidences` must be given.",
            given,
        )
    [(name, values)] = given.items()
    shape = np.shape(_inputs.as_array(name, values))
    if 0 in shape:
        raise _checks.error(
            name, "at least one example", f"shape {list(shape)}", verb="hold"
        )
    if len(shape) > 1 and name != "confidences":
        shape = shape[:-1]
    outcomes = "correct" if name == "confidences" else "labels"
    spec = dataclasses.replace(
        debiased_calibration.PRESET,
        num_bins=num_bins,
        binning_scheme=binning_scheme,
        positive_class=positive_class,
    )
    unknown = {outcomes: np.zeros(shape, np.int64)}
    data = ClassifierData(**given, **unknown, clusters=design.clusters)
    examples, spec = _binning.read(data, spec)
    [(scores, _, _)] = _scores.scores_of_groups(examples, spec)
    (counts, residuals, _, variances), largest = _error_interval.of_scores(
        scores, np.zeros(len(scores), bool), None, spec
    )
    exact = scores.astype(np.float64)
    if examples.clusters is None or examples.clusters.number == len(scores):
        # Without an event the residuals are -p.
        bins = Bins(counts / counts.sum(), variances / counts, -residuals / counts)
        return _Forecasts(bins, exact, None, 0.0)
    _clustered_error.check_bins(num_bins)
    if scores.dtype.itemsize < 4:
        scores = scores.astype(np.float32)
    table = ClusterTable(
        examples.clusters, _binning.index_between(largest[:-1], scores), len(largest)
    )
    correlation = design.intraclass_correlation
    if correlation is None:
        labelled = ClassifierData(**given, labels=design.labels, correct=design.correct)
        known, spec = _binning.read(labelled, spec)
        [(_, came, _)] = _scores.scores_of_groups(known, spec)
        correlation = _detectable_error.intraclass_correlation(
            table, exact, came.astype(np.float64)
        )
    clustered = _detectable_error.clustered_bins(table, exact, correlation)
    return _Forecasts(clustered, exact, table, correlation)


@takes_frames
def smallest_detectable_error(
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    power: float = 0.8,
    level: float = 0.95,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "adaptive",
    positive_class: bool | None = None,
    clusters: ArrayLike | None = None,
    intraclass_correlation: float | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
) -> float:
    """The l2 calibration error that a sample of these forecasts would show.

    The error shows if the lower end of `calibration_error_interval` is above 0. With n
    examples, n_b of them in bin b, and outcomes of the variance v_b in it, the estimate
    of the squared error theta has about the variance

      V(theta, v) = (2 sum_b v_b^2 n_b / (n_b - 1) + 4 theta sum_b n_b v_b) / n^2

    if all bins have the same gap. With u_b the mean of p (1 - p) in bin b, and w_b that
    of q (1 - q) for the probabilities q that are nearer to 1/2 by sqrt(theta), theta
    solves

      theta = z_level sqrt(V(0, u)) + z_power sqrt(V(theta, w))

    where both quantiles are those of a distribution with the third cumulant of the
    estimate, as in the interval. Only the forecasts are needed, no labels: ask it
    before labels are collected, or beside an interval that holds 0.

    So theta is for forecasts that are too sure, such as risks of rare events that are
    all too low. Outcomes of forecasts that are not sure enough vary less, and show the
    same error more often. In simulations (`studies/detectable_error_power.py`, 500
    samples each, of 300 or 2000 examples) of forecasts that are too sure, 78.8% to
    80.6% of samples showed the error with a power of 80%, and 93.8% to 96.6% with 95%.
    If the forecasts were not sure enough, these were 80.8% to 88.6%, and for risks from
    2.9% to 7.6% that are all too high 95.8%; around 1/2, 79.2% to 82.8% either way.

    Both need independent examples, or `clusters=` with an intraclass correlation rho:
    the residuals U = y - p of two examples of a cluster have the covariance rho s_i s_j
    with s^2 = p (1 - p). With labels, rho is what their products of U show, less those
    of pairs of different clusters. Then W, the covariance matrix of the means of U in
    the bins, takes the place of u_b / n_b, as in the interval with clusters:

      V(theta) = 2 sum_bc a_b a_c W_bc^2 + 4 theta sum_bc a_b a_c W_bc,  a_b = n_b / n

    where W^2 counts pairs of different clusters only. In simulations (the same study
    with `--clusters`, 150 samples each) of 50 and 100 clusters whose confidences are
    too high, 75% to 83% of samples showed the error with a power of 80%, 79% on
    average, at a latent correlation of 0.5; and 78% to 93% where it was 0 and clusters
    not needed.
    Clusters of one example change nothing.

    Args:
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [n].
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `probabilities`, the confidence of each answer, [...].
      power: probability with which the error shows, in (0, 1).
      level: level of the interval, in (0, 1).
      num_bins: number of bins.
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
      positive_class: for two classes, True for errors of P(class 1), False for those of
        the confidence of the decision. None means True for one column, else False.
      clusters: cluster of each forecast, integers or strings (conventions.md#clusters);
        the errors that are shown are then those of `calibration_error_interval` with
        clusters.
      intraclass_correlation: with `clusters`, the correlation of (outcome - score)
        between two examples of a cluster, in [0, 1]: 0 if they are independent, 1 if
        all outcomes of a cluster come together.
      labels: instead of it, the labels of these forecasts, from which it is estimated,
        shape [...].
      correct: the same for `confidences`: right (1) or wrong (0), [...].

    Returns:
      The error in [0, 1]: a smaller one would often go unnoticed in these examples.
      Infinite if no error would show.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> confidences = np.linspace(0.5, 1.0, 500)
      >>> round(um.smallest_detectable_error(confidences=confidences), 3)
      0.093
      >>> design = {"clusters": np.arange(500) // 5, "intraclass_correlation": 0.3}
      >>> round(um.smallest_detectable_error(confidences=confidences, **design), 3)
      0.148

    References:
      Cohen (1988), Statistical Power Analysis for the Behavioral Sciences. Wilson and
      Hilferty (1931), The Distribution of Chi-Square.
    """
    power = _checks.open_unit("power", power)
    level = _checks.open_unit("level", level)
    design = _Design(clusters, intraclass_correlation, labels, correct)
    design.check()
    found = _forecasts(
        *(probabilities, logits, confidences),
        *(num_bins, binning_scheme, positive_class),
        design,
    )
    return math.sqrt(found.bins.detectable(len(found.scores), power, level))


@takes_frames
def examples_needed(
    probabilities: ArrayLike | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    error: float | None = None,
    ratio_width: float | None = None,
    slope_width: float | None = None,
    auroc_width: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "adaptive",
    positive_class: bool | None = None,
    clusters: ArrayLike | None = None,
    intraclass_correlation: float | None = None,
    labels: ArrayLike | None = None,
    correct: ArrayLike | None = None,
) -> int:
    """How many examples must be labelled, to show an error or to know a number well.

    Give one aim:

      - `error`: the l2 calibration error that shall show with the probability `power`,
        as in `smallest_detectable_error`, whose inverse this is;
      - `ratio_width`: the width of the interval of `observed_expected_ratio`, for a
        ratio of 1: n = (1 - q) / (q s^2), with the prevalence q and the standard error
        s = asinh(width / 2) / z of the logarithm of the ratio;
      - `slope_width`: the width of the interval of `calibration_slope`, for a slope of
        1: n = A / (s^2 (A B - C^2)), s = width / (2 z), with A, C and B the means of
        p (1 - p), x p (1 - p) and x^2 p (1 - p), and x the log-odds of p;
      - `auroc_width`: the width of the interval of `auroc`, with the variance of
        Newcombe, for the AUROC that the forecasts have if they are right.

    The forecasts are a sample of what the model says, of any size, such as those of
    unlabelled examples. The number is for other examples like these.

    With `clusters` an aim of `error` is that of `smallest_detectable_error` with
    clusters. The number for a width is multiplied by the design effect, the variance of
    the sum of x (y - p) in clusters over that of independent examples: x is 1 for the
    ratio, the log-odds less their mean (weighted by p (1 - p)) for the slope, and for
    the AUROC what an event adds to it less what no event adds.

    Args:
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [n]. Without forecasts, `error` is for the variance 1/4,
        which is that of probabilities of 0.5: no forecasts need more examples.
      logits: logits of the same shape, instead of `probabilities`.
      confidences: instead of `probabilities`, the confidence of each answer, [...].
      error: in (0, 1).
      ratio_width: > 0.
      slope_width: > 0.
      auroc_width: in (0, 1).
      power: probability with which the error shows, in (0, 1).
      level: level of the interval, in (0, 1).
      num_bins: number of bins, for `error`.
      binning_scheme: "even" or "adaptive", for `error`.
      positive_class: for `error`, as in `smallest_detectable_error`; the other aims are
        those of P(class 1), or of confidences.
      clusters: cluster of each forecast, integers or strings (conventions.md#clusters).
        The number is then for examples in clusters of such sizes.
      intraclass_correlation: with `clusters`, the correlation of (outcome - score)
        between two examples of a cluster, in [0, 1]: 0 if they are independent, 1 if
        all outcomes of a cluster come together.
      labels: instead of it, the labels of these forecasts, from which it is estimated,
        shape [...].
      correct: the same for `confidences`: right (1) or wrong (0), [...].

    Returns:
      The number of examples, independent ones without `clusters`. To know how many
      clusters that is, divide it by the mean size of a cluster.

    Raises:
      ValueError: an argument is not as described, there is not exactly one aim, or
        even 2^53 examples are too few.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> um.examples_needed(error=0.05)
      2181
      >>> risks = np.linspace(0.01, 0.3, 50)
      >>> um.examples_needed(risks, ratio_width=0.4)
      531

    References:
      Riley et al. (2021), Minimum Sample Size for External Validation of a Clinical
      Prediction Model with a Binary Outcome. Riley et al. (2024), Evaluation of
      Clinical Prediction Models (Part 3): Calculating the Sample Size Required for an
      External Validation Study. Newcombe (2006), Confidence Intervals for an Effect
      Size Measure Based on the Mann-Whitney Statistic, Part 2.
    """
    power = _checks.open_unit("power", power)
    level = _checks.open_unit("level", level)
    num_bins = _checks.bins("num_bins", num_bins)
    _checks.one_of("binning_scheme", binning_scheme, BINNING_SCHEMES)
    _checks.boolean_or_none("positive_class", positive_class)
    aims = {
        "error": error,
        "ratio_width": ratio_width,
        "slope_width": slope_width,
        "auroc_width": auroc_width,
    }
    chosen = {name: value for name, value in aims.items() if value is not None}
    if len(chosen) != 1:
        raise _checks.combination_error(
            "Exactly one of `error`, `ratio_width`, `slope_width` and `auroc_width` "
            "must be given.",
            chosen,
        )
    [(aim, value)] = chosen.items()
    if aim in ("error", "auroc_width"):
        value = _checks.open_unit(aim, value)
    else:
        width = _checks.number(value)
        if not 0 < width < math.inf:
            raise _checks.error(aim, "finite and above 0", repr(value))
        value = width
    forecasts = probabilities, logits, confidences
    design = _Design(clusters, intraclass_correlation, labels, correct)
    design.check()
    if aim == "error":
        bins: Bins | ClusteredBins
        if all(given is None for given in (*forecasts, clusters)):
            each = np.ones(num_bins)
            bins = Bins(each / num_bins, 0.25 * each, 0.5 * each)
        else:
            options = num_bins, binning_scheme, positive_class
            bins = _forecasts(*forecasts, *options, design).bins
        return _smallest(lambda n: bins.detectable(n, power, level) <= value**2, aim)
    as_event = True if confidences is None else None
    found = _forecasts(*forecasts, DEFAULT_NUM_BINS, "adaptive", as_event, design)
    z = _error_interval.quantile(level)
    return _for_width(aim, value, found, z)


def _for_width(aim: str, width: float, forecasts: _Forecasts, z: float) -> int:
    """Returns the number of examples whose interval has this width."""
    p = forecasts.scores
    prevalence = float(np.mean(p))
    if not 0 < prevalence < 1:
        raise _checks.error(
            "probabilities", "neither all 0 nor all 1 for such an aim", prevalence
        )
    if aim == "ratio_width":
        error = math.asinh(width / 2) / z
        effect = forecasts.design_effect(np.ones_like(p), 0.0)
        return _whole(effect * (1 - prevalence) / (prevalence * error**2), aim)
    if aim == "slope_width":
        x = special.logit(np.clip(p, _CLIP, 1 - _CLIP))
        variances = p * (1 - p)
        a, c, b = (float(np.mean(x**power * variances)) for power in (0, 1, 2))
        information = b - c**2 / a if a > 0 else 0.0
        if information <= 1e-12 * b or information <= 0:
            raise _checks.error(
                "probabilities", "of different sizes, for a slope", "equal ones"
            )
        effect = forecasts.design_effect(x - c / a, 0.0)
        return _whole(effect * (2 * z / width) ** 2 / information, aim)
    outcomes = np.repeat([1, 0], len(p))
    area = auroc(
        outcomes, np.concatenate([p, p]), sample_weight=np.concatenate([p, 1 - p])
    )
    spread = (1 - area) / (2 - area) + area / (1 + area)
    effect = forecasts.design_effect(*_auroc_influences(p, area))

    def is_narrow(n: float) -> bool:
        n = n / effect
        both = n**2 * prevalence * (1 - prevalence)
        variance = area * (1 - area) * (1 + (n / 2 - 1) * spread) / both
        return 2 * z * math.sqrt(variance) <= width

    return _smallest(is_narrow, aim)


def _auroc_influences(p: np.ndarray, area: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns how much an example adds to the AUROC of forecasts that are right, for
    each unit of y - p and on average, each [n].
    """
    _, place, numbers = np.unique(p, return_inverse=True, return_counts=True)
    sums = np.bincount(place, p)
    of_ones, of_zeros = (
        (np.cumsum(mass) - mass / 2)[place] / mass.sum()
        for mass in (sums, numbers - sums)
    )
    prevalence = float(np.mean(p))
    # An event is above this share of the others, and no event below this share.
    event, none = (
        (of_zeros - area) / prevalence,
        (1 - of_ones - area) / (1 - prevalence),
    )
    return event - none, p * event + (1 - p) * none


def _whole(number: float, aim: str) -> int:
    """Returns the number of examples, rounded up, at least 2."""
    if not number <= _MOST:
        raise _too_small(aim)
    return max(math.ceil(number), 2)


def _smallest(is_enough: Callable[[int], bool], aim: str) -> int:
    """Returns the smallest number of examples that are enough."""
    high = 2
    while not is_enough(high):
        if high >= _MOST:
            raise _too_small(aim)
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _too_small(aim: str) -> ValueError:
    return _checks.error(aim, "larger", "one that needs more than 2^53 examples")
