"""Answers of a sketch of the risks of an event."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import ConfidenceInterval, TestedInterval
from uncertainty_metrics.numpy.calibration.risk import (
    _likelihood_intervals,
    risk_calibration,
)
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.scoring import decision_curves
from uncertainty_metrics.numpy.sketch import _bins_and_ranks, _stored_sketch


class AnswersAboutRisks(_stored_sketch.SketchState):
    """How good the risks of a sketch with `positive_class=True` are."""

    def _events(self, question: str) -> Cells:
        """Returns the cells of P(class 1); raises ValueError for other scores."""
        if not self._spec.positive_class:
            raise _checks.error(
                "ScoreSketch",
                f"made with positive_class=True for `{question}`",
                repr(self),
            )
        return self._groups()[0]

    def calibration_intercept(self, *, level: float = 0.95) -> TestedInterval:
        """Calibration in the large of P(class 1), with `positive_class=True`.

        Args:
          level: share of data sets for which the interval holds the truth, in (0, 1).

        Returns:
          `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <=
          estimate <= upper, in log-odds; 0 is calibrated. If no example has label 1,
          the estimate and the lower end are -inf. If all examples have label 1, the
          estimate and the upper end are inf.

        Raises:
          ValueError: an argument is not as described, or there are clusters or grades.

        References:
          Cox (1958), Two Further Applications of a Model for Binary Regression. Van
          Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
        """
        self._check_independent("calibration_intercept")
        self._check_binary("calibration_intercept")
        level = _checks.open_unit("level", level)
        cells = self._events("calibration_intercept")
        return _likelihood_intervals.intercept(cells, level)

    def calibration_slope(self, *, level: float = 0.95) -> TestedInterval:
        """Calibration slope of P(class 1), with `positive_class=True`.

        Args:
          level: share of data sets for which the interval holds the truth, in (0, 1).

        Returns:
          `TestedInterval(lower, estimate, upper, p_value)`, floats with lower <=
          estimate <= upper; 1 is calibrated. If a threshold on the cells separates the
          labels, the estimate and the upper end are inf; or, if the events have the
          lower risks, the estimate and the lower end are -inf.

        Raises:
          ValueError: an argument is not as described; there are clusters or grades; all
            risks are in one cell; one of the labels is absent; or the ratio of two
            weights is so large, in the millions, that rounding hides the maximum of the
            likelihood.

        References:
          Cox (1958), Two Further Applications of a Model for Binary Regression. Van
          Calster et al. (2019), Calibration: The Achilles Heel of Predictive Analytics.
        """
        self._check_independent("calibration_slope")
        self._check_binary("calibration_slope")
        level = _checks.open_unit("level", level)
        cells = self._events("calibration_slope")
        return risk_calibration.slope_of_cells(cells, level)

    def observed_expected_ratio(self, *, level: float = 0.95) -> ConfidenceInterval:
        """Number of events over the sum of P(class 1), with `positive_class=True`.

        Args:
          level: share of data sets for which the interval holds the truth, in (0, 1).

        Returns:
          `ConfidenceInterval(lower, estimate, upper)`, floats >= 0; 1 is calibrated.

        Raises:
          ValueError: an argument is not as described, there are clusters or grades, or
            P(class 1) is 0 for all examples, so that no event is expected.

        References:
          Debray et al. (2017), A Guide to Systematic Review and Meta-Analysis of
          Prediction Model Performance.
        """
        self._check_independent("observed_expected_ratio")
        self._check_binary("observed_expected_ratio")
        level = _checks.open_unit("level", level)
        cells = self._events("observed_expected_ratio")
        return risk_calibration.ratio_of_cells(cells, level)

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
        cells = _bins_and_ranks.with_rounded_scores(self._events("net_benefit"))
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
        cells = _bins_and_ranks.with_rounded_scores(self._events("murphy_curve"))
        return _pooled_errors.murphy(cells, points, np.float32)
