"""Recalibration of predicted variances by one factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _temperature
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.regression import _forecasts

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TemperatureScaling"]


class TemperatureScaling(_temperature.Scaling):
    """Recalibration of predicted variances by one factor, the temperature.

      calibrated variance = T variance,  T = mean of (y - mean)^2 / variance

    T minimises the negative log-likelihood of the data it is fitted to. The model must
    not have been trained on these data. T > 1 means that the model was overconfident.

    Attributes:
      temperature: the fitted T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> scaler = um.regression.TemperatureScaling()
      >>> scaler = scaler.fit([0.0, 0.0], [1.0, 1.0], [1.0, 3.0])
      >>> scaler.temperature
      5.0
      >>> scaler.transform([1.0, 2.0]).tolist()
      [5.0, 10.0]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Laves, Ihler, Fast, Kahrs and Ortmaier (2020), Well-Calibrated Regression
      Uncertainty in Medical Imaging with Deep Learning.
    """

    _kind = "regression.TemperatureScaling"

    @takes_frames
    def fit(
        self,
        predictions: ArrayLike,
        uncertainties: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        max_iter: int = 100,
        lr: float = 0.1,
        *,
        sample_weight: ArrayLike | None = None,
        stddevs: ArrayLike | None = None,
    ) -> Self:
        """Sets the temperature to the best one, in closed form.

        Args:
          predictions: predicted means of held-out data, shape [n] or [n, 1].
          uncertainties: predicted variances, > 0.
          targets: observed values.
          mask: True for the examples to include.
          max_iter: ignored; accepted for code that was written for an iterative fit.
          lr: ignored, likewise.
          sample_weight: weight of each example, >= 0, broadcastable to the targets.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          The scaling itself.

        Raises:
          ValueError: an argument is not as described, or every prediction equals its
            target. The temperature is then unchanged.
        """
        z, weights = _forecasts.checked_z(
            predictions, uncertainties, targets, mask, sample_weight, stddevs
        )
        temperature = _forecasts.mean(np.square(z, out=z), weights)
        if temperature == 0:
            raise _checks.error(
                "targets",
                "from the predictions, or the best temperature is 0",
                "predictions without an error",
                verb="differ",
            )
        return self._set(temperature)

    def transform(
        self,
        uncertainties: ArrayLike | None = None,
        *,
        stddevs: ArrayLike | None = None,
    ) -> np.ndarray:
        """Returns variances times the temperature, standard deviations times its root.

        Args:
          uncertainties: predicted variances, > 0, of any shape.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          Variances or standard deviations, float64, of the shape of the argument.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        temperature = self._require_fitted()
        name, passed = _forecasts.spread(uncertainties, stddevs)
        values = _inputs.as_array(name, passed)
        _checks.paired(name, values.shape, name, values.shape)
        scaled = temperature * _forecasts.variances(name, values)
        return np.sqrt(scaled) if name == "stddevs" else scaled
