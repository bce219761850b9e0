"""A test of calibration: is the error more than the noise of the labels explains?"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _progress
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    OF_ONE_SCORE,
    BinningScheme,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics._results import OfClusters
from uncertainty_metrics.numpy import _clusters, _examples, _inputs
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _simulated_bins,
)
from uncertainty_metrics.numpy.calibration.without_bins import (
    _clustered_test,
    _pooled_scores,
    _pooled_tests,
)
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

__all__ = ["calibration_test"]

Statistic = Literal["gce", "ks", "kuiper", "smece", "atb", "spiegelhalter"]
Method = Literal["resampling", "asymptotic"]

# Statistics that differ by less than this are equal.
_ROUNDING = 1e-12


class _CalibrationTest(NamedTuple):
    statistic: float
    p_value: float


class CalibrationTest(_CalibrationTest, OfClusters):
    """The outcome of a test of calibration.

    Attributes:
      statistic: the calibration error of the data, in [0, 1]; for "spiegelhalter"
        abs(z), >= 0.
      p_value: probability that a calibrated model has an error at least as large, in
        [0, 1].
      num_clusters: as in `OfClusters`.
      design_effect: that of the mean of (outcome - score); else as in `OfClusters`.
    """


def _check_rows(examples: _examples.Examples) -> None:
    """Raises ValueError unless the rows sum to 1, so that labels can be drawn."""
    sums = examples.probabilities.sum(axis=1, dtype=np.float64)
    rounding = float(_inputs.upper_limit(examples.probabilities.dtype)) - 1
    bad = np.abs(sums - 1) > max(_inputs.ROW_SUM_TOLERANCE, rounding)
    if np.any(bad):
        raise _checks.error(
            examples.name,
            "rows that sum to 1",
            f"sum {_inputs.first(bad, sums)}",
            verb="hold",
        )


def _check_grades(statistic: Statistic, method: Method) -> None:
    """Raises ValueError for what needs outcomes 0 and 1."""
    if statistic == "spiegelhalter":
        expected = "'kuiper' or another for outcomes between 0 and 1"
        raise _checks.error("statistic", expected, repr(statistic))
    if method == "asymptotic":
        expected = "'resampling' for outcomes between 0 and 1"
        raise _checks.error("method", expected, repr(method))


def _one_group(examples: _examples.Examples, spec: CalibrationSpec) -> Cells:
    """Returns the cells of the scores of decisions or of class 1.

    Raises:
      ValueError: the options ask for scores of all classes or for more groups.
    """
    if not spec.positive_class:
        for name, only in (("max_prob", True), ("class_conditional", False)):
            if getattr(spec, name) is not only:
                raise _checks.error(
                    name, f"{only} unless `statistic` is 'gce'", f"{not only}"
                )
    (cells,) = _pooled_scores.of_examples(examples, spec)
    return cells


@takes_frames
def calibration_test(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    statistic: Statistic = "gce",
    method: Method = "resampling",
    binning_scheme: BinningScheme = "adaptive",
    max_prob: bool = True,
    class_conditional: bool = False,
    norm: Norm = "l2",
    num_bins: int = DEFAULT_NUM_BINS,
    num_resamples: int = 1000,
    seed: Any = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    ignore_index: int | None = None,
    positive_class: bool | None = None,
    progress: bool = False,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> CalibrationTest:
    """Test of the hypothesis that a model is calibrated.

    A calibrated model, too, has a calibration error above 0, by the noise of the
    labels. Consistency resampling draws labels from the forecasts and keeps the scores
    and the bins. With T the statistic of the data and T*_1, ..., T*_B the statistics of
    the drawn labels,

      p = (1 + #{b: T*_b >= T}) / (1 + B)

    The draws are whether each decision is right, with its score as probability; with
    `max_prob=False` they are labels, from the probabilities of all classes. The test is
    exact: if the labels have these distributions and are independent, P(p <= a) <= a
    for each a and any number of examples. A large p-value does not show that the model
    is calibrated, only that these data do not show the contrary. The error in bins,
    "gce", finds errors that shift the mean of a bin; errors of both signs within a bin
    cancel. The other statistics need no bins.

    The test needs independent examples, or `clusters=`: of calibrated answers to 100
    questions, ten times each, it rejects most without. With clusters the draws keep the
    outcomes and flip the signs of (y - p), in whole clusters: the test is then not
    exact, but close for 50 clusters or more (`studies/cluster_coverage.py`). Where the
    rarer outcomes are few, p is the larger of this and of a p for outcomes that are
    drawn from the forecasts, as dependent in clusters as the data are.

    Outcomes between 0 and 1 have no distribution that the forecasts tell, so the signs
    of (y - p) are flipped there, too. That is exact if the distribution of (y - p) is
    symmetric for each p, and close in large samples (`studies/grades_level.py`).

    The method "asymptotic" takes the limit of many examples instead of draws. There the
    sums of (y - p) up to a score are a Brownian motion B on [0, 1], whose time is the
    sum of p (1 - p), scaled to [0, 1]:

      "ks": P(max abs(B) >= n T / sqrt(sum p (1 - p)))
      "kuiper": P(max B - min B >= n T / sqrt(sum p (1 - p)))
      "spiegelhalter": P(abs(z) >= T), z standard normal

    By a rule of thumb the limit is valid if sum p (1 - p) is at least 25, or for
    "spiegelhalter" if sum (1 - 2 p)^2 p (1 - p) is at least 10. Then "ks" and "kuiper"
    reject less often than their level says: by up to a quarter at that size, and by
    more if few scores are distinct (`studies/calibration_test_level.py`).

    The cost is O(n log(n)^2 + B bins) for bins of decisions or of class 1, and
    O(B n + n K) for bins of all classes and for the statistics without bins.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      statistic: "gce", the error in bins that `binning_scheme`, `max_prob`,
        `class_conditional`, `norm` and `num_bins` describe. Or a statistic without
        bins, of decisions or of class 1: the calibration errors "ks", "kuiper", "smece"
        and "atb", or "spiegelhalter" (abs(z) of `spiegelhalter_test`).
      method: "resampling", or for "ks", "kuiper" and "spiegelhalter" of independent
        examples with outcomes 0 and 1 "asymptotic".
      binning_scheme: Only for "gce": "even" (bins of equal width) or "adaptive" (of
        equal mass).
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class.
      class_conditional: whether every class is a group with bins of its own.
      norm: Only for "gce": "l1", "l2" or "max".
      num_bins: Only for "gce": number of bins. Few bins find small errors of one sign
        better, many bins find errors that change their sign.
      num_resamples: Only for "resampling": number B of data sets that are drawn; p is
        at least 1 / (1 + B).
      seed: Only for "resampling": seed of the draws, all that `np.random.default_rng`
        takes. None gives new draws in each call.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      ignore_index: a label whose examples are left out.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True for one column (conventions.md#two-classes).
      progress: whether to show a progress bar on stderr (needs tqdm).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).

    Returns:
      `CalibrationTest(statistic, p_value)`, floats: the calibration error in [0, 1], or
      abs(z), >= 0; and the p-value in [0, 1]. A small p-value is evidence against
      calibration. With `clusters` it has `num_clusters` and `design_effect`, too.

    Raises:
      ValueError: an argument is not as described; with `max_prob=False`, the
        probabilities of an example do not sum to 1; or there are too few examples for
        "asymptotic", or they are in clusters.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> probabilities = np.full(1000, 0.7)
      >>> labels = np.arange(1000) % 10 < 6
      >>> test = um.calibration_test(labels, probabilities, seed=0)
      >>> round(test.statistic, 6), test.p_value < 0.01
      (0.1, True)
      >>> um.calibration_test(labels[:10], probabilities[:10], seed=0).p_value > 0.3
      True
      >>> options = {"statistic": "ks", "method": "asymptotic"}
      >>> test = um.calibration_test(labels, probabilities, **options)
      >>> round(test.statistic, 6), test.p_value < 0.01
      (0.1, True)

    References:
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
      Widmann, Lindsten and Zachariah (2019), Calibration Tests in Multi-Class
      Classification: A Unifying Framework. Vaicenavicius et al. (2019), Evaluating
      Model Calibration in Classification. Arrieta-Ibarra et al. (2022), Metrics of
      Calibration for Probabilistic Predictions.
    """
    _checks.one_of("statistic", statistic, get_args(Statistic))
    _checks.one_of("method", method, get_args(Method))
    num_resamples = _checks.positive_integer("num_resamples", num_resamples)
    rng = _inputs.generator(seed)
    spec = dataclasses.replace(
        OF_ONE_SCORE,
        binning_scheme=binning_scheme,
        max_prob=max_prob,
        class_conditional=class_conditional,
        norm=norm,
        num_bins=num_bins,
        positive_class=positive_class,
    )
    examples, spec = _binning.read(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            ignore_index=ignore_index,
            correct=correct,
            confidences=confidences,
            clusters=clusters,
            label_distributions=label_distributions,
            multilabel=multilabel,
        ),
        spec,
    )
    examples = examples.with_clusters()
    of_examples, design_effect = examples.clusters, 1.0
    if of_examples is not None:
        design_effect = _clusters.examples_each(of_examples, None)
    examples = examples.without_copies()
    if examples.shares is not None:
        _check_grades(statistic, method)
        if examples.clusters is None:  # The draws flip the signs of (y - p), too.
            size = len(examples.labels)
            each = Clusters(np.arange(size), size)
            examples = dataclasses.replace(examples, clusters=each)
    if examples.clusters is not None and method == "asymptotic":
        expected = (
            "'resampling' with `clusters`, and `multilabel`: the limit is of "
            "independent examples"
        )
        raise _checks.error("method", expected, "'asymptotic'")
    pooled: Any  # Statistics of bins, or cells.
    error: Callable[[Any], float]
    if statistic == "gce":
        if method == "asymptotic":
            raise _pooled_tests.no_limit(statistic)
        if not spec.has_one_score:
            _check_rows(examples)
        pooled = _binning.bin_statistics(examples, spec)
        error = functools.partial(_binning.calibration_error, norm=norm)
    else:
        pooled = _one_group(examples, spec)
        error = _pooled_tests.STATISTICS[statistic]
    value = error(pooled)
    if math.isnan(value):
        expected = "a score other than 0, 1/2 and 1 for this statistic"
        raise _checks.error(examples.name, expected, "none", verb="hold")
    if method == "asymptotic":
        p_value = _pooled_tests.asymptotic(pooled, statistic, value)
    else:
        if examples.clusters is not None:
            in_clusters = _clustered_test.of_examples(examples, spec, pooled)
            design_effect = in_clusters.design_effect
            ways = in_clusters.ways(num_resamples, rng)
        elif statistic == "gce":
            ways = [
                _simulated_bins.calibrated_sums(
                    examples, spec, pooled, num_resamples, rng
                )
            ]
        else:
            ways = [_pooled_tests.drawn_sums(pooled, num_resamples, rng)]
        p_value = 0.0
        for sums in ways:
            num_as_large = 1
            if statistic == "gce":
                draws = _simulated_bins.errors_of(pooled, sums, norm)
            else:
                draws = (
                    error(dataclasses.replace(pooled, outcome_sums=drawn))
                    for drawn in sums
                )
            for draw in _progress.track(
                draws, num_resamples, progress, "calibration test"
            ):
                num_as_large += draw >= value - _ROUNDING
            p_value = max(p_value, num_as_large / (1 + num_resamples))
    test = CalibrationTest(value, p_value)
    if of_examples is not None:
        test.num_clusters, test.design_effect = of_examples.number, design_effect
    return test
