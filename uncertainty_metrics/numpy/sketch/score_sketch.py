"""A sketch of scores: one pass over the predictions, and many metrics afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch import _from_metric_state
from uncertainty_metrics.numpy.sketch._binned_errors import AnswersInBins
from uncertainty_metrics.numpy.sketch._ranks import AnswersAboutRanks
from uncertainty_metrics.numpy.sketch._risks import AnswersAboutRisks
from uncertainty_metrics.numpy.sketch._unbinned_errors import AnswersWithoutBins

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ScoreSketch"]


class ScoreSketch(
    AnswersInBins, AnswersWithoutBins, AnswersAboutRanks, AnswersAboutRisks
):
    """Sums over the scores and outcomes of a stream, for many metrics afterwards.

    Stream the predictions once, keep some hundred kilobytes, and ask afterwards for the
    calibration error in any bins, errors without bins, the AUROC or a recalibration
    map. A method has the name of a function and returns its value, within the bounds
    below. The arguments of the constructor choose the scores, which
    `general_calibration_error` defines; bins, norms and thresholds are arguments of the
    methods.

    A sketch has the sums of weight, score and outcome over narrow cells of the scores.
    For one group a cell is 2^-13 wide; near 0 and 1 cells are narrower, 128 for each
    halving of p down to 2^-30 and of 1 - p down to 2^-24. For several groups they are
    wider: for 10 classes 2^-11 below 1/2 and 2^-9 above it, and 8 for each halving. The
    sums are exact integers. So the sum `a + b` of the sketches of two parts of the data
    is the sketch of the whole, with the same bits in any order and grouping, weights
    and grades included; `sum(sketches)` adds many. Sketches are equal by content, and
    pickle as compactly as they are saved.

    A sketch treats the scores in a cell like equal scores. If no cell has two distinct
    scores, all values are exact except for rounding. Else let c be the width of the
    widest cell, u the mean of abs(y - p) times the width of the cell of p, and s the
    largest share of the weight of a group in one cell, and d the width, in log-odds, of
    the widest cell that holds a score: below 0.01 for scores in float32, and for scores
    in float64 up to 1 - 2^-14. The errors are then at most

      accuracy       0
      l1 of bins     2 x the share of the cells that contain an edge; adaptive bins end
                     at most one cell away from the exact bins
      l2 of bins     4 x that share for the squared error; for the debiased squared
                     error also + 2 num_bins / n
      smece          0.8 u / bandwidth for a given bandwidth; else 0.8 u / the larger of
                     the two values
      ks, kuiper     (1 + 2 c) s / 4 and (1 + 2 c) s / 2; the values are too small
      atb            6 c ks, for the exact ks
      corp, "brier"  s for the discrimination, which is too small; s + 2 c / 3 for the
                     miscalibration; 0 for the uncertainty
      spiegelhalter  2 u n for sum (y - p) (1 - 2 p), c n for its variance
      net_benefit    max(1, t / (1 - t)) x the share of the cell of t; murphy_curve,
                     max(t, 1 - t) x that share
      o/e            0 for observed_expected_ratio, with its interval
      intercept      d for calibration_intercept and for both ends of its interval
      slope          d (mean of abs(y - q) + abs(b) mean of v abs(z - m)) / (mean of
                     v (z - m)^2) for the calibration_slope b, up to terms in d^2; q are
                     the risks after its fit, v = q (1 - q), z = log(p / (1 - p)), and m
                     is the mean of z with weights v
      auroc          half the share of the pairs of a true and a false outcome in a cell
      aurc, augrc    s / 4 (1 + log(4 / s)), s / 8

    For several groups the bound is the mean over the groups. On usual data the scores
    in a cell are nearly in random order, and the errors are far smaller. For 50,000
    scores (`studies/sketch_accuracy.py`) they were at most 1e-4 for ks, kuiper, smece
    and corp, 3e-4 for the ECE, 1e-3 for rmsce and the debiased error, and 1e-5 for
    aurc: less than the values change if half of the data are left out.

    Grades between right and wrong, or `label_distributions`, change no formula that is
    linear in the outcome y. For the debiased error and the interval, whose variance is
    that of y - p, a sketch also keeps the sums of y (1 - y). What needs 0 and 1 is
    refused: `auroc`, `excess_aurc`, `spiegelhalter_test`, `conformal_quantile`, the
    intervals of risks, and `calibration_drift`.

    Examples that depend on each other have `clusters` in `update`, which must come
    whole in one batch. A sketch of one score of each example, such as of decisions, has
    sums over clusters then: `debiased_calibration_error`, `calibration_error_interval`
    and `calibration_drift` use them. The other intervals, tests and thresholds are
    those of independent examples, and are refused. Sums over clusters are float64, so
    the order of the batches changes their last bits. They hold no id, but tell of
    single clusters, as the cells do of single examples.

    With `multilabel` in `update` the scores are those of all labels together, and the
    labels of an example are a cluster; `auroc` and the other methods of ranks take all
    labels as one problem. With `class_conditional` each label is a group.

    Args:
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True if the first batch has one column
        (conventions.md#two-classes); batches of the other form are then refused.
      max_prob: True to score the probability of the decided class, False to score the
        probability of every class.
      class_conditional: whether every class is a group with bins of its own. Errors in
        bins are combined over the classes as in `general_calibration_error`; errors
        without bins are averaged, and an empty class counts 0.
      num_classes: number of classes; by default that of the first batch.
      ignore_index: a label whose examples are left out.
      sketch_bits: log2, from 0 to 20, of the cells for each halving of p, or of 1 - p
        above 1/2. None takes the cells above; a number takes a grid that is equally
        fine everywhere relative to p and to 1 - p, with 479 + 52 * 2^sketch_bits cells.
        Memory is 8 bytes for each cell in use and 4 bytes for each of five to eight
        digits of it: by default up to 0.5 MB for one group, 0.6 MB for 10 classes and
        12 MB for 1000 classes. Weights that are not whole take about twice as much.
        There are at most 100,000 groups.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> sketch = um.ScoreSketch()
      >>> sketch.update([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> other = um.ScoreSketch()  # On another machine.
      >>> other.update([0], [[0.3, 0.7]])
      >>> sketch += other
      >>> round(sketch.ece(num_bins=2), 6), round(sketch.ece(num_bins=10), 6)
      (0.133333, 0.333333)
      >>> sketch.auroc()  # How well confidence tells right from wrong decisions.
      1.0
    """

    @classmethod
    def from_state(cls, metric_state: MetricState) -> Self:
        """Returns a sketch from the state of a Keras metric. It needs no framework.

        Metrics with adaptive bins (`AdaptiveCalibrationError`,
        `DebiasedCalibrationError`, ...) have all sums of a sketch. Metrics of selective
        prediction (`AURC`, ...) have no sums of scores: every score p is taken as the
        middle of its cell, which is within 2^-7 min(p, 1 - p), or within 2^-(b + 1)
        min(p, 1 - p) for `sketch_bits` b, if p >= 2^-30 and 1 - p >= 2^-24.

        Args:
          metric_state: the result of `metric.get_state()` or `MetricState.load`.

        Raises:
          ValueError: the state has no sketch of probabilities, because the bins are
            even, the scores are logits or other real numbers, or scores up to a
            threshold are left out; or the metric refused a batch.
        """
        if not isinstance(metric_state, MetricState):
            received = type(metric_state).__name__
            raise _checks.error("metric_state", "a `MetricState`", received)
        return cls._with_content(*_from_metric_state.parts_of_sketch(metric_state))

    @property
    def num_groups(self) -> int | None:
        """Number of groups of scores; None before it is known."""
        is_pooled = self._spec.num_groups(2) == 1
        classes = 2 if is_pooled else self._content.classes
        if classes is None or (self._spec.positive_class is None and not is_pooled):
            return None
        return self._spec.num_groups(classes)
