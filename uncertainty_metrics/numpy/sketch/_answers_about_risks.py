"""Answers of a sketch of the risks of an event."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration import _pooled_errors
from uncertainty_metrics.numpy.calibration._pooled_scores import Cells
from uncertainty_metrics.numpy.scoring import decision_curves
from uncertainty_metrics.numpy.sketch import _bins_and_ranks, _stored_sketch


class AnswersAboutRisks(_stored_sketch.SketchState):
    """How good the risks of a sketch with `positive_class=True` are."""

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
