"""A test of calibration: is the gap more than the noise of the labels explains?"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _progress
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS, BinningScheme, Norm
from uncertainty_metrics.numpy import _arguments, _bin_draws, _binning, _inputs

__all__ = ["calibration_test"]

# Sums that are equal but for rounding are equal.
_ROUNDING = 1e-12


class CalibrationTest(NamedTuple):
    """The outcome of a test of calibration.

    Attributes:
      statistic: the calibration error of the data, in [0, 1].
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
            examples.name, "rows that sum to 1", f"sum {_inputs.first(bad, sums)}"
        )


@_arguments.of_classifier
def calibration_test(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
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
    """Test of the hypothesis that a model is calibrated, by consistency resampling.

    A calibrated model has a calibration error above 0 too, by the noise of the labels.
    With T the `gce` of the data, and T*_1, ..., T*_B those of labels that are drawn
    anew from the forecasts, while the scores and the bins stay as they are,

      p = (1 + #{b: T*_b >= T}) / (1 + B)

    What is drawn is what a bin averages: whether the decision is right, with the
    probability of its score; for `max_prob=False` the label, from the probabilities of
    all classes. The test is exact: if the labels have these distributions and are
    independent, P(p <= a) <= a for each a and any number of examples. A large p-value
    does not say that the model is calibrated, only that these data do not tell. The
    test finds what shifts the mean of a bin; errors of both signs within one cancel.

    The cost is O(n log(n)^2 + B bins) for scores of decisions or of class 1, and
    O(B n + n K) for those of all classes.

    Args:
      norm: "l1", "l2" or "max".
      num_bins: number of bins. Fewer find small errors of one sign better, more find
        those that change their sign.
      num_resamples: number B of data sets that are drawn; p is at least 1 / (1 + B).
      seed: of the draws, all that `np.random.default_rng` takes. None draws anew in
        every call.
      progress: whether to show a progress bar on stderr, which needs tqdm.

    Returns:
      `CalibrationTest(statistic, p_value)`, floats: the calibration error in [0, 1],
      and the p-value, in (0, 1]; small ones speak against calibration.

    Raises:
      ValueError: an argument is not as described; or, with `max_prob=False`, the
        probabilities of an example do not sum to 1.

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

    References:
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
      Widmann, Lindsten and Zachariah (2019), Calibration Tests in Multi-Class
      Classification: A Unifying Framework. Vaicenavicius et al. (2019), Evaluating
      Model Calibration in Classification.
    """
    num_resamples = _checks.positive_integer("num_resamples", num_resamples)
    rng = _inputs.generator(seed)
    examples, spec = _binning.read(PRESETS["expected_calibration_error"], locals())
    statistics = _binning.bin_statistics(examples, spec)
    if not (max_prob or positive_class):
        _check_rows(examples)
    error = _binning.calibration_error(statistics, norm)
    drawn = _bin_draws.calibrated_sums(examples, spec, statistics, num_resamples, rng)
    as_large = 1
    for sums in _progress.track(drawn, num_resamples, progress, "calibration test"):
        resample = dataclasses.replace(statistics, outcome_sums=sums)
        as_large += _binning.calibration_error(resample, norm) >= error - _ROUNDING
    return CalibrationTest(error, as_large / (1 + num_resamples))
