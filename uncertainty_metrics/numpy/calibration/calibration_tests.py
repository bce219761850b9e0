"""A test of calibration: is the gap more than the noise of the labels explains?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _progress
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    CalibrationSpec,
    Norm,
)
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.calibration import (
    _binning,
    _pooled_scores,
    _pooled_tests,
    _simulated_bins,
)
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells

__all__ = ["calibration_test"]

Statistic = Literal["gce", "ks", "kuiper", "smece", "atb", "spiegelhalter"]
Method = Literal["resampling", "asymptotic"]

# Sums that are equal but for rounding are equal.
_ROUNDING = 1e-12


class CalibrationTest(NamedTuple):
    """The outcome of a test of calibration.

    Attributes:
      statistic: the calibration error of the data, in [0, 1]; of "spiegelhalter"
        abs(z), >= 0.
      p_value: how likely a calibrated model has an error as large, in (0, 1].
    """

    statistic: float
    p_value: float


def _check_rows(examples: _inputs.Examples) -> None:
    """Raises ValueError unless a label can be drawn from each row."""
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


def _one_group(examples: _inputs.Examples, spec: CalibrationSpec) -> Cells:
    """Returns the cells of the decision or of class 1.

    Raises:
      ValueError: there are more groups.
    """
    if not spec.positive_class:
        for name, only in (("max_prob", True), ("class_conditional", False)):
            if getattr(spec, name) is not only:
                raise _checks.error(
                    name, f"{only} unless `statistic` is 'gce'", f"{not only}"
                )
    (cells,) = _pooled_scores.of_examples(examples, spec)
    return cells


def calibration_test(
    labels: ArrayLike,
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
    positive_class: bool = False,
    progress: bool = False,
) -> CalibrationTest:
    """Test of the hypothesis that a model is calibrated.

    A calibrated model has a calibration error above 0 too, by the noise of the labels.
    By consistency resampling, with T the statistic of the data, and T*_1, ..., T*_B
    those of labels that are drawn anew from the forecasts, while the scores and the
    bins stay as they are,

      p = (1 + #{b: T*_b >= T}) / (1 + B)

    What is drawn is whether the decision is right, with the probability of its score;
    for `max_prob=False` the label, from the probabilities of all classes. The test is
    exact: if the labels have these distributions and are independent, P(p <= a) <= a
    for each a and any number of examples. A large p-value does not say that the model
    is calibrated, only that these data do not tell. The error in bins, the `gce`, finds
    what shifts the mean of a bin; errors of both signs within one cancel. The other
    statistics need no bins.

    Without draws, many examples give the p-values of a limit. The sums of (y - p) up to
    a score are then Brownian motion B on [0, 1] with sum p (1 - p) as its clock:

      "ks": P(max abs(B) >= n T / sqrt(sum p (1 - p)))
      "kuiper": P(max B - min B >= n T / sqrt(sum p (1 - p)))
      "spiegelhalter": P(abs(z) >= T), z standard normal

    valid, by a rule of thumb, where sum p (1 - p) is at least 25; for "spiegelhalter",
    where sum (1 - 2 p)^2 p (1 - p) is at least 10. The first two then reject less often
    than their level says, by up to a quarter at that size, and by more where few scores
    are distinct (`studies/calibration_test_level.py`).

    The cost is O(n log(n)^2 + B bins) for bins of decisions or of class 1, and
    O(B n + n K) for those of all classes and for the statistics without bins.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      statistic: "gce", the error in bins that `binning_scheme`, `max_prob`,
        `class_conditional`, `norm` and `num_bins` describe; or one that has no use for
        them: "ks", "kuiper", "smece", "atb" (the calibration errors of these names), or
        "spiegelhalter" (abs(z) of `spiegelhalter_test`), of the decision or of class 1.
      method: "resampling"; or "asymptotic", of "ks", "kuiper" and "spiegelhalter".
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class.
      class_conditional: whether every class is a group with bins of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins. Fewer find small errors of one sign better, more find
        those that change their sign.
      num_resamples: number B of data sets that are drawn; p is at least 1 / (1 + B).
      seed: of the draws, all that `np.random.default_rng` takes. None draws anew in
        every call.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example, shape of the labels; by default
        the argmax.
      ignore_index: a label whose examples are left out.
      positive_class: for two classes, whether to compare P(class 1) with `label == 1`,
        instead of the confidence of the decision with whether it is right.
      progress: whether to show a progress bar on stderr, which needs tqdm.

    Returns:
      `CalibrationTest(statistic, p_value)`, floats: the calibration error in [0, 1], or
      abs(z), >= 0; and the p-value, in [0, 1], small ones speaking against calibration.

    Raises:
      ValueError: an argument is not as described; with `max_prob=False`, the
        probabilities of an example do not sum to 1; or there are too few examples for
        "asymptotic".

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
    examples, spec = _binning.read(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            labels_predicted=labels_predicted,
            ignore_index=ignore_index,
        ),
        dataclasses.replace(
            PRESETS["expected_calibration_error"],
            binning_scheme=binning_scheme,
            max_prob=max_prob,
            class_conditional=class_conditional,
            norm=norm,
            num_bins=num_bins,
            positive_class=positive_class,
        ),
    )
    drawn: Iterator[float]
    if statistic == "gce":
        if method == "asymptotic":
            raise _pooled_tests.no_limit(statistic)
        if not (max_prob or positive_class):
            _check_rows(examples)
        statistics = _binning.bin_statistics(examples, spec)
        value = _binning.calibration_error(statistics, norm)
        drawn = (
            _binning.calibration_error(
                dataclasses.replace(statistics, outcome_sums=sums), norm
            )
            for sums in _simulated_bins.calibrated_sums(
                examples, spec, statistics, num_resamples, rng
            )
        )
    else:
        cells = _one_group(examples, spec)
        value = _pooled_tests.STATISTICS[statistic](cells)
        if math.isnan(value):
            expected = "a score other than 0, 1/2 and 1 for this statistic"
            raise _checks.error(examples.name, expected, "none", verb="hold")
        if method == "asymptotic":
            return CalibrationTest(
                value, _pooled_tests.asymptotic(cells, statistic, value)
            )
        drawn = _pooled_tests.drawn(
            cells, _pooled_tests.STATISTICS[statistic], num_resamples, rng
        )
    as_large = 1
    for other in _progress.track(drawn, num_resamples, progress, "calibration test"):
        as_large += other >= value - _ROUNDING
    return CalibrationTest(value, as_large / (1 + num_resamples))
