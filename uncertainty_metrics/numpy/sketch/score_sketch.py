"""A sketch of scores: one pass over the predictions, and many metrics afterwards."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    Norm,
    YAxis,
)
from uncertainty_metrics._results import ConfidenceInterval, SpiegelhalterTest
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.calibration import (
    _binning,
    _error_interval,
    _pooled_errors,
    smooth_calibration,
)
from uncertainty_metrics.numpy.calibration._binning import BinStatistics
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.scoring import decision_curves
from uncertainty_metrics.numpy.selective import _ranking, risk_coverage
from uncertainty_metrics.numpy.sketch import (
    _bins_and_ranks,
    _from_metric_state,
    _grid,
    _stored_sketch,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from uncertainty_metrics.visualization.reliability_curves import ReliabilityCurve

__all__ = ["ScoreSketch"]


class ScoreSketch(_stored_sketch.SketchState):
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
    included; `sum(sketches)` adds many. Sketches are equal by content, and pickle as
    compactly as they are saved.

    A sketch treats the scores in a cell like equal scores. If no cell has two distinct
    scores, all values are exact except for rounding. Else let c be the width of the
    widest cell, u the mean of abs(y - p) times the width of the cell of p, and s the
    largest share of the weight of a group in one cell. The errors are then at most

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
      auroc          half the share of the pairs of a true and a false outcome in a cell
      aurc, augrc    s / 4 (1 + log(4 / s)), s / 8

    For several groups the bound is the mean over the groups. On usual data the scores
    in a cell are nearly in random order, and the errors are far smaller. For 50,000
    scores (`studies/sketch_accuracy.py`) they were at most 1e-4 for ks, kuiper, smece
    and corp, 3e-4 for the ECE, 1e-3 for rmsce and the debiased error, and 1e-5 for
    aurc: less than the values change if half of the data are left out.

    Args:
      positive_class: for two classes, whether to compare P(class 1) with `label == 1`,
        instead of the confidence of the decision with whether it is right.
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
        Memory is 4 bytes for each of five to eight digits of the cells: by default 0.3
        MB for one group, 0.4 MB for 10 classes and 10 MB for 1000 classes. Weights that
        are not whole take about twice as much.

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
        return None if classes is None else self._spec.num_groups(classes)

    def _one_group(self, question: str) -> Cells:
        """Returns the cells of the only group; raises ValueError if there are more."""
        groups = self._groups()
        if len(groups) > 1:
            raise _checks.error(
                "class_conditional", f"False for `{question}`", f"{len(groups)} groups"
            )
        return groups[0]

    def _ranking(self, question: str) -> _ranking.Groups:
        return _bins_and_ranks.ranking(self._one_group(question), self._unit())

    def _statistics(self, **options: Any) -> BinStatistics:
        spec = dataclasses.replace(self._spec, **options)
        return _bins_and_ranks.bin_statistics(self._groups(), spec)

    def _error(self, question: str, **options: Any) -> float:
        """Returns the error with this name, which must fit the scores of the sketch."""
        preset = PRESETS[question]
        ours, theirs = (
            (spec.max_prob, spec.class_conditional) for spec in (self._spec, preset)
        )
        if not self._spec.positive_class and ours != theirs:
            names = "max_prob={}, class_conditional={}"
            raise _checks.error(
                "ScoreSketch",
                f"made with {names.format(*theirs)} for `{question}`; "
                "`general_calibration_error` works with any",
                names.format(*ours),
            )
        scheme, norm = preset.binning_scheme, preset.norm
        return self.general_calibration_error(scheme, norm, **options)

    def bin_statistics(
        self,
        *,
        binning_scheme: BinningScheme = "even",
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
    ) -> BinStatistics:
        """Counts, mean scores and mean outcomes in each bin of each group.

        Args:
          binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          `BinStatistics`, as from the function `bin_statistics`. Statistics of even
          bins add up.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        return self._statistics(
            binning_scheme=binning_scheme,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )

    def general_calibration_error(
        self,
        binning_scheme: BinningScheme,
        norm: Norm,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
    ) -> float:
        """General calibration error of the scores of the sketch. Alias `gce`.

        Args:
          binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
            Required.
          norm: "l1", "l2" or "max". Required.
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated. Estimates from finite
          data are biased upwards, the more so with more bins.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        statistics = self._statistics(
            binning_scheme=binning_scheme,
            norm=norm,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )
        return _binning.calibration_error(statistics, norm)

    def expected_calibration_error(
        self, *, num_bins: int = DEFAULT_NUM_BINS, threshold: float = 0.0
    ) -> float:
        """Expected calibration error (ECE), of decisions. Alias `ece`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
          Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
        """
        name = "expected_calibration_error"
        return self._error(name, num_bins=num_bins, threshold=threshold)

    def maximum_calibration_error(
        self, *, num_bins: int = DEFAULT_NUM_BINS, threshold: float = 0.0
    ) -> float:
        """Maximum calibration error (MCE), of decisions. Alias `mce`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Naeini et al. (2015), Obtaining Well Calibrated Probabilities Using Bayesian
          Binning. Guo et al. (2017), On Calibration of Modern Neural Networks.
        """
        name = "maximum_calibration_error"
        return self._error(name, num_bins=num_bins, threshold=threshold)

    def root_mean_squared_calibration_error(
        self,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
    ) -> float:
        """Root mean squared calibration error, of decisions. Alias `rmsce`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Hendrycks et al. (2019), Deep Anomaly Detection with Outlier Exposure.
        """
        return self._error(
            "root_mean_squared_calibration_error",
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )

    def static_calibration_error(
        self, *, num_bins: int = DEFAULT_NUM_BINS, threshold: float = 0.0
    ) -> float:
        """Static calibration error (SCE), of every class. Alias `sce`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        name = "static_calibration_error"
        return self._error(name, num_bins=num_bins, threshold=threshold)

    def adaptive_calibration_error(
        self,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
    ) -> float:
        """Adaptive calibration error (ACE), of every class. Alias `ace`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        return self._error(
            "adaptive_calibration_error",
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )

    def thresholded_adaptive_calibration_error(
        self,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.01,
        datapoints_per_bin: int | None = None,
    ) -> float:
        """Thresholded adaptive calibration error, of every class. Alias `tace`.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        return self._error(
            "thresholded_adaptive_calibration_error",
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )

    def debiased_calibration_error(
        self,
        *,
        binning_scheme: BinningScheme = "adaptive",
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
        squared: bool = False,
    ) -> float:
        """Calibration error in the l2 norm, minus its bias.

        Args:
          binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.
          squared: whether to return the squared error, which may be negative.

        Returns:
          The error in [0, 1], or the squared error in [-0.5, 1]; lower is better, 0 is
          calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Kumar, Liang and Ma (2019), Verified Uncertainty Calibration. Broecker (2012),
          Estimating Reliability and Resolution of Probability Forecasts through
          Decomposition of the Empirical Score.
        """
        _checks.boolean("squared", squared)
        statistics = self._statistics(
            binning_scheme=binning_scheme,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )
        square = _binning.debiased_square(statistics, self._unit())
        return square if squared else float(np.sqrt(max(square, 0.0)))

    def calibration_error_interval(
        self, *, level: float = 0.95, num_bins: int = DEFAULT_NUM_BINS
    ) -> ConfidenceInterval:
        """Interval of the l2 calibration error of one group, in adaptive bins.

        There is no interval for scores of all classes, which depend on one another.

        Args:
          level: share of data sets for which the interval holds the truth, in (0, 1).
          num_bins: number of bins.

        Returns:
          `ConfidenceInterval(lower, estimate, upper)`, floats with 0 <= lower <=
          estimate <= upper <= 1; lower errors are better. (0, 0, 1) if no bin has two
          examples. The estimate is `debiased_calibration_error` with the variance of U
          = y - p instead of the variance of y.

        Raises:
          ValueError: an argument is not as described.

        References:
          Sun et al. (2024), A Confidence Interval for the l2 Expected Calibration
          Error. Wilson and Hilferty (1931), The Distribution of Chi-Square.
        """
        level = _checks.open_unit("level", level)
        num_bins = _checks.bins("num_bins", num_bins)
        if not (self._spec.max_prob or self._spec.positive_class):
            raise _checks.error("max_prob", "True for a confidence interval", False)
        cells = self._one_group("calibration_error_interval")
        sums = _error_interval.grouped(_error_interval.of_cells(cells), num_bins)
        return _error_interval.interval(sums, self._unit(), level)

    def reliability_curve(
        self,
        *,
        num_bins: int = DEFAULT_NUM_BINS,
        binning_scheme: BinningScheme = "even",
        threshold: float = 0.0,
        datapoints_per_bin: int | None = None,
    ) -> ReliabilityCurve:
        """The data of a reliability diagram of the scores of the sketch.

        Args:
          num_bins: number of bins.
          binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: number of examples in an adaptive bin, instead of
            `num_bins`.

        Returns:
          A `ReliabilityCurve` with one group, or one per class.

        Raises:
          ValueError: an argument is not as described.

        References:
          Nixon et al. (2019), Measuring Calibration in Deep Learning.
        """
        from uncertainty_metrics.visualization import reliability_curves

        statistics = self._statistics(
            binning_scheme=binning_scheme,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )
        y_axis: YAxis = "accuracy" if self._spec.uses_decision else "frequency"
        return reliability_curves.curve_from_statistics(statistics, y_axis=y_axis)

    def _check_decisions(self, question: str) -> None:
        """Raises ValueError unless the scores are those of decided classes."""
        if not self._spec.uses_decision:
            raise _checks.error(
                "ScoreSketch",
                f"made with max_prob=True, without `positive_class`, for `{question}`",
                repr(self),
            )

    def accuracy(self) -> float:
        """Accuracy: the share of right decisions.

        Returns:
          A share in [0, 1]. Larger is better.

        Raises:
          ValueError: an argument is not as described.
        """
        self._check_decisions("accuracy")
        groups = self._groups()
        hits, total = (
            sum(row.sum() for row in rows)
            for rows in zip(*((c.outcome_sums, c.weights) for c in groups), strict=True)
        )
        return float(hits / total)

    def auroc(self) -> float:
        """Area under the ROC curve of the scores, for true against false outcomes.

        With `positive_class` the scores are P(class 1), for labels 1 against 0. With
        `max_prob` they are confidences, for right against wrong decisions: how well
        confidence detects failures. With `max_prob=False` all pairs (p_k, y == k)
        count.

        Returns:
          A number in [0, 1]; 1/2 if scores tell nothing. Larger is better.

        Raises:
          ValueError: all outcomes are the same, or every class is a group of its own.

        References:
          Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
          Operating Characteristic (ROC) Curve.
        """
        groups = self._ranking("auroc")
        hits, misses = groups.hits, groups.misses
        if hits[-1] == 0 or misses[-1] == 0:
            raise _checks.error(
                "ScoreSketch",
                "both true and false outcomes for `auroc`",
                "one kind",
                verb="hold",
            )
        return _ranking.trapezoids(misses, hits) / float(hits[-1] * misses[-1])

    def area_under_risk_coverage_curve(self) -> float:
        """Area under the risk-coverage curve, of decisions. Alias `aurc`.

        Returns:
          A number in [0, 1]. Smaller is better; the error rate if confidence tells
          nothing.

        Raises:
          ValueError: an argument is not as described.

        References:
          Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for
          Deep Neural Classifiers.
        """
        self._check_decisions("area_under_risk_coverage_curve")
        return risk_coverage.mean_risk(self._ranking("area_under_risk_coverage_curve"))

    def excess_aurc(self) -> float:
        """Excess AURC, of decisions. Alias `e_aurc`.

        Returns:
          A number in [0, 1]. Smaller is better; 0 if every right decision is more
          confident than every wrong decision.

        Raises:
          ValueError: an argument is not as described.

        References:
          Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for
          Deep Neural Classifiers.
        """
        self._check_decisions("excess_aurc")
        return risk_coverage.excess_risk(self._ranking("excess_aurc"))

    def area_under_generalized_risk_coverage_curve(self) -> float:
        """Area under the generalized risk-coverage curve. Alias `augrc`.

        Returns:
          A number in [0, 1/2], the probability that a random example is wrong and more
          confident than another one. Smaller is better.

        Raises:
          ValueError: an argument is not as described.

        References:
          Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
          Classification Systems.
        """
        self._check_decisions("area_under_generalized_risk_coverage_curve")
        groups = self._ranking("area_under_generalized_risk_coverage_curve")
        return risk_coverage.generalized_risk(groups)

    def _mean(self, error: Callable[[Cells], float]) -> float:
        """Returns the mean error over the groups; an empty group counts 0."""
        return float(np.mean([error(cells) for cells in self._groups()]))

    def smooth_calibration_error(self, *, bandwidth: float | None = None) -> float:
        """Smooth calibration error. Alias `smece`.

        Args:
          bandwidth: a fixed s, at least 1e-5, to get smECE_s. None solves smECE_s = s.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via
          Kernel Smoothing. Blasiok, Gopalan, Hu and Nakkiran (2023), A Unifying Theory
          of Distance from Calibration.
        """
        width = smooth_calibration.checked_bandwidth(bandwidth)
        return self._mean(lambda cells: _pooled_errors.smooth_error(cells, width))

    def kolmogorov_smirnov_calibration_error(self) -> float:
        """Kolmogorov-Smirnov calibration error. Alias `ks_calibration_error`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated. The noise of the labels
          gives a calibrated model an error of about 1.25 sqrt(mean of p (1 - p) / n).

        Raises:
          ValueError: an argument is not as described.

        References:
          Gupta et al. (2021), Calibration of Neural Networks using Splines.
          Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic
          Predictions.
        """
        return self._mean(_pooled_errors.kolmogorov_smirnov)

    def kuiper_calibration_error(self) -> float:
        """Kuiper calibration error: the largest gap over a stretch of scores.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated. The noise of the labels
          gives a calibrated model an error of about 1.6 sqrt(mean of p (1 - p) / n).

        Raises:
          ValueError: an argument is not as described.

        References:
          Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic
          Predictions. Tygert (2023), Calibration of P-values for Calibration and for
          Deviation of a Subpopulation from the Full Population.
        """
        return self._mean(_pooled_errors.kuiper)

    def averaged_two_bin_calibration_error(self) -> float:
        """Averaged two-bin calibration error. Alias `atb`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated.

        Raises:
          ValueError: an argument is not as described.

        References:
          Hartline, Hu and Wu (2026), the averaged two-bin calibration error. Haghtalab
          et al. (2024), Truthfulness of Calibration Measures.
        """
        return self._mean(_pooled_errors.averaged_two_bin)

    def spiegelhalter_test(self) -> SpiegelhalterTest:
        """Spiegelhalter's test, of one group.

        Returns:
          `SpiegelhalterTest(z, p_value)`, floats. z > 0 is a sign of overconfidence.
          The two-sided p-value is in [0, 1]; a small one is evidence against
          calibration.

        Raises:
          ValueError: all scores are 0, 1/2 or 1, or every class is a group of its own.

        References:
          Spiegelhalter (1986), Probabilistic Prediction in Patient Management and
          Clinical Trials.
        """
        z, p_value = _pooled_errors.spiegelhalter(self._one_group("spiegelhalter_test"))
        if math.isnan(z):
            expected = "a score other than 0, 1/2 and 1 for this test"
            raise _checks.error("ScoreSketch", expected, "none", verb="hold")
        return SpiegelhalterTest(z, p_value)

    def corp_decomposition(
        self, *, score: _pooled_errors.Score = "brier"
    ) -> _pooled_errors.CORPDecomposition:
        """Decomposition of a mean score by isotonic regression (CORP).

        Args:
          score: "brier", (y - p)^2, half of the two-class `brier_score` with
            `zero_based=True`; or "log", -log P(y), in nats.

        Returns:
          `CORPDecomposition(miscalibration, discrimination, uncertainty)`, floats >= 0.
          Less miscalibration and more discrimination are better. The "log" score of a
          forecast that gave an outcome the probability 0 is infinite, and so is its
          miscalibration.

        Raises:
          ValueError: an argument is not as described.

        References:
          Dimitriadis, Gneiting and Jordan (2021), Stable Reliability Diagrams for
          Probabilistic Classifiers.
        """
        _checks.one_of("score", score, _pooled_errors.SCORES)
        parts = [_pooled_errors.corp(cells, score) for cells in self._groups()]
        return _pooled_errors.CORPDecomposition(*np.mean(parts, axis=0).tolist())

    def _events(self, question: str) -> Cells:
        """Returns the cells of P(class 1), with mean scores in float32."""
        if not self._spec.positive_class:
            raise _checks.error(
                "ScoreSketch",
                f"made with positive_class=True for `{question}`",
                repr(self),
            )
        return _bins_and_ranks.with_rounded_scores(self._groups()[0])

    def net_benefit(self, thresholds: ArrayLike) -> decision_curves.NetBenefit:
        """Net benefit of acting on P(class 1), with `positive_class=True`.

        Args:
          thresholds: t, in [0, 1), shape [T]; compared in float32.

        Returns:
          `NetBenefit(net_benefit, treat_all, treat_none)`, float64 [T], at most the
          share of class 1, in true positives per example; higher is better.

        Raises:
          ValueError: an argument is not as described.

        References:
          Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for
          Evaluating Prediction Models.
        """
        points = decision_curves.checked_thresholds(thresholds, one=False)
        cells = self._events("net_benefit")
        benefits = _pooled_errors.net_benefit(cells, points, np.float32)
        return decision_curves.NetBenefit(*benefits)

    def murphy_curve(self, thresholds: ArrayLike) -> np.ndarray:
        """Mean elementary scores of P(class 1), with `positive_class=True`.

        Args:
          thresholds: t, in [0, 1], shape [T]; compared in float32.

        Returns:
          Mean S_t, float64 [T], in [0, 1]; lower is better.

        Raises:
          ValueError: an argument is not as described.

        References:
          Ehm, Gneiting, Jordan and Krueger (2016), Of Quantiles and Expectiles:
          Consistent Scoring Functions, Choquet Representations and Forecast Rankings.
        """
        points = decision_curves.checked_thresholds(thresholds, one=True)
        return _pooled_errors.murphy(self._events("murphy_curve"), points, np.float32)

    def isotonic(self) -> _bins_and_ranks.IsotonicMap:
        """Recalibration map by isotonic regression, of one group.

        Returns:
          Knots `scores` and their recalibrated `values`, both ascending. To recalibrate
          probabilities p, call `np.interp(p, *sketch.isotonic())`.

        Raises:
          ValueError: an argument is not as described.
        """
        return _bins_and_ranks.isotonic(self._one_group("isotonic"))

    def conformal_quantile(self, alpha: float) -> float:
        """Conformal quantile q of the scores 1 - p of the labels, the method "lac".

        The quantile is the upper end of the cell that contains the exact quantile, so
        it is a little larger: the sets {k: 1 - p_k <= q} keep their coverage. Weights
        count as numbers of examples.

        Args:
          alpha: share of labels that sets may miss, in (0, 1).

        Returns:
          The quantile in [0, 1], or +inf: see `conformal.conformal_quantile`.

        Raises:
          ValueError: `alpha` is not as described; or the scores are those of decided
            classes, which do not tell the probability of the label. Make the sketch
            with `max_prob=False` or `positive_class=True`.
        """
        alpha = _checks.open_unit("alpha", alpha)
        if self._spec.uses_decision:
            expected = (
                "made with max_prob=False or positive_class=True for "
                "`conformal_quantile`"
            )
            raise _checks.error("ScoreSketch", expected, repr(self))
        groups = self._groups()
        ends = _grid.rounded_limits(*self._bits(self._content.classes or 2))
        both = self._spec.positive_class
        return _bins_and_ranks.conformal_quantile(groups, ends, both, alpha)

    gce = general_calibration_error
    ece = expected_calibration_error
    mce = maximum_calibration_error
    rmsce = root_mean_squared_calibration_error
    sce = static_calibration_error
    ace = adaptive_calibration_error
    tace = thresholded_adaptive_calibration_error
    smece = smooth_calibration_error
    ks_calibration_error = kolmogorov_smirnov_calibration_error
    atb = averaged_two_bin_calibration_error
    aurc = area_under_risk_coverage_curve
    e_aurc = excess_aurc
    augrc = area_under_generalized_risk_coverage_curve
