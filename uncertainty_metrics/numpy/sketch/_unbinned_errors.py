"""Answers of a sketch of scores: calibration errors without bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._results import SpiegelhalterTest
from uncertainty_metrics.numpy.calibration.smoothed import smooth_calibration
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.sketch import _bins_and_ranks, _stored_sketch

if TYPE_CHECKING:
    from uncertainty_metrics.numpy.calibrators.calibration_loss import (
        CalibrationLoss,
        Score,
    )


class AnswersWithoutBins(_stored_sketch.SketchState):
    """The calibration errors of the scores of a sketch that need no bins."""

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
        """Spiegelhalter's test, of one group of independent examples.

        Returns:
          `SpiegelhalterTest(z, p_value)`, floats. z > 0 is a sign of overconfidence.
          The two-sided p-value is in [0, 1]; a small one is evidence against
          calibration.

        Raises:
          ValueError: all scores are 0, 1/2 or 1, or every class is a group of its own,
            or there are clusters or grades.

        References:
          Spiegelhalter (1986), Probabilistic Prediction in Patient Management and
          Clinical Trials.
        """
        self._check_independent("spiegelhalter_test")
        self._check_binary("spiegelhalter_test")
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

    def calibration_loss(
        self,
        *,
        score: Score = "log",
        calibrator: Any = None,
        folds: int = 5,
        level: float = 0.95,
        seed: Any = 0,
    ) -> CalibrationLoss:
        """How much recalibration would lower a proper score, cross-fitted.

        The scores are those of the sketch: P(class 1), or the confidence of each
        decision, whose outcome is that the decision is right. Of more than two classes
        that is not the score of all probabilities: `calibration_loss` of the rows has
        it. The examples of a cell that have the same outcome cannot be told apart, so
        random numbers of them are drawn for each fold. The result has the distribution
        of `calibration_loss` of the rows, with the scores of a cell taken as equal.

        Args:
          score: "log", in nats, or "brier", (y - p)^2.
          calibrator: as in `calibration_loss`: a class of calibrators, a calibrator, or
            a function that returns a new one. None takes `BetaCalibration`.
          folds: number of folds.
          level: share of data sets for which the interval holds the gain, in (0, 1).
          seed: seed of the folds, all that `np.random.default_rng` takes.

        Returns:
          `CalibrationLoss(loss, refined, difference, lower, upper, share,
          overconfident, underconfident)`, floats. A smaller loss and a smaller
          difference are better.

        Raises:
          ValueError: an argument is not as described; an example has several scores, a
            weight is not whole, or there are clusters; or the examples outside a fold
            do not determine the map.

        References:
          Ferrer and Ramos (2024), Evaluating Posterior Probabilities: Decision Theory,
          Proper Scoring Rules, and Calibration.
        """
        # The maps need SciPy, which other answers do not.
        from uncertainty_metrics.numpy.calibrators import calibration_loss

        self._check_independent("calibration_loss")
        cells = self._one_group("calibration_loss")
        if not self._spec.has_one_score:
            raise _checks.error(
                "ScoreSketch", "of one score of each example", "all classes"
            )
        return calibration_loss.of_cells(
            cells,
            score,
            calibrator,
            folds,
            level,
            seed,
            of_answers=not self._spec.positive_class,
        )

    def isotonic(self) -> _bins_and_ranks.IsotonicMap:
        """Recalibration map by isotonic regression, of one group.

        Returns:
          Knots `scores` and their recalibrated `values`, both ascending. To recalibrate
          probabilities p, call `np.interp(p, *sketch.isotonic())`.

        Raises:
          ValueError: an argument is not as described.
        """
        return _bins_and_ranks.isotonic(self._one_group("isotonic"))

    smece = smooth_calibration_error
    ks_calibration_error = kolmogorov_smirnov_calibration_error
    atb = averaged_two_bin_calibration_error
