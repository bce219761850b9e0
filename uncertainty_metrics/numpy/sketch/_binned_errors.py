"""Answers of a sketch of scores: calibration errors in bins."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    Norm,
    YAxis,
)
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy.calibration.bins import _binning, _error_interval
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.sketch import (
    _bins_and_ranks,
    _cluster_sums,
    _stored_sketch,
)

if TYPE_CHECKING:
    from uncertainty_metrics.visualization.reliability_curves import ReliabilityCurve


class AnswersInBins(_stored_sketch.SketchState):
    """The calibration errors in bins of the scores of a sketch."""

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

        Returns:
          The error in [0, 1]; lower is better, 0 is calibrated. The noise of the
          labels makes it larger, the more so with more bins; gaps of opposite sign in
          one bin cancel, and make it smaller.

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
        """Expected calibration error (ECE). Alias `ece`.

        Of P(class 1) where the batches were one column (`positive_class`), while the
        function `ece` scores decisions; else of decisions.

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
        """Maximum calibration error (MCE). Alias `mce`.

        Of P(class 1) where the batches were one column (`positive_class`), while the
        function `mce` scores decisions; else of decisions.

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
        """Root mean squared calibration error. Alias `rmsce`.

        Of P(class 1) where the batches were one column (`positive_class`), while the
        function `rmsce` scores decisions; else of decisions.

        Args:
          num_bins: number of bins.
          threshold: scores at or below this value are left out; 0.0 keeps all scores.
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.
          squared: whether to return the squared error, which may be negative.

        With `clusters` it is estimated from pairs of different clusters, in bins that
        are made of whole fixed ones: 30 even ones, of which the first and the last are
        halved 4 times. So `num_bins` of even bins must be a divisor of 30.

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
        spec = dataclasses.replace(
            self._spec,
            binning_scheme=binning_scheme,
            num_bins=num_bins,
            threshold=threshold,
            datapoints_per_bin=datapoints_per_bin,
        )
        statistics = _bins_and_ranks.bin_statistics(self._groups(), spec)
        clusters = self._sums_of_clusters("debiased_calibration_error")
        if clusters is None:
            squares = None
            if self._has_grades:
                # The same bins, with squared residuals in place of the outcomes.
                of_squares = [
                    dataclasses.replace(
                        cells, outcome_sums=_error_interval.of_cells(cells)[2]
                    )
                    for cells in self._groups()
                ]
                squares = _bins_and_ranks.bin_statistics(of_squares, spec).outcome_sums
            square = _binning.debiased_square(statistics, self._unit(), squares)
        else:
            if threshold > 0 or datapoints_per_bin is not None:
                names = "`threshold` and `datapoints_per_bin`"
                raise _checks.plain_error(
                    f"With `clusters`, {names} must have their defaults.",
                    f"{threshold} and {datapoints_per_bin}",
                )
            in_bins = (
                clusters.even if binning_scheme == "even" else clusters.adaptive
            )(num_bins)
            square = in_bins.debiased_square()
        return square if squared else float(np.sqrt(max(square, 0.0)))

    def calibration_error_interval(
        self, *, level: float = 0.95, num_bins: int = DEFAULT_NUM_BINS
    ) -> ConfidenceInterval:
        """Interval of the l2 calibration error of one group, in adaptive bins.

        There is no interval for scores of all classes, which depend on one another.
        With `clusters` the sums over clusters give their covariances, in bins of about
        equal mass that are made of 30 even ones, as in `debiased_calibration_error`. It
        is then a little longer than that of the function, because the sums do not tell
        the noise of the correlations.

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
        sums = _error_interval.of_cells(cells)
        clusters = self._sums_of_clusters("calibration_error_interval")
        if clusters is None:
            sums = _error_interval.grouped(sums, num_bins)
            return _error_interval.interval(sums, self._unit(), level)
        index = clusters.adaptive_index(num_bins)
        joined = clusters.adaptive(num_bins)
        bins = index[_cluster_sums.fixed_bins(cells.scores)]
        all_sums = np.stack(
            [np.bincount(bins, row, len(joined.masses)) for row in sums]
        )
        all_sums[:2] = joined.masses, joined.gaps
        z = _error_interval.quantile(level)
        moments = joined.moments(all_sums, z, level)
        independent = _error_interval.moments_of_sums(all_sums, self._unit(), z)
        result = _error_interval.interval_of_moments(moments, z)
        result.num_clusters = clusters.number
        if moments is not None and independent is not None:
            result.design_effect = moments.design_effect(independent)
        return result

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
          datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead
            of `num_bins`.

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

    gce = general_calibration_error
    ece = expected_calibration_error
    mce = maximum_calibration_error
    rmsce = root_mean_squared_calibration_error
    sce = static_calibration_error
    ace = adaptive_calibration_error
    tace = thresholded_adaptive_calibration_error
