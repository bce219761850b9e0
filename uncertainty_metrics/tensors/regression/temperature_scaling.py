"""Recalibration of predicted variances by one factor, on tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.regression import _forecasts as np_forecasts
from uncertainty_metrics.numpy.regression import (
    temperature_scaling as np_temperature_scaling,
)
from uncertainty_metrics.ops import _forecasts, _inputs, _validity, for_numpy, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["TemperatureScaling"]


class TemperatureScaling(np_temperature_scaling.TemperatureScaling):
    """Recalibration of predicted variances by one factor, the temperature.

      calibrated variance = T variance,  T = mean of (y - mean)^2 / variance

    The twin of `um.numpy.regression.TemperatureScaling`: `fit` is eager and computes in
    float64; `transform` takes and returns tensors, also in graphs.

    Attributes:
      temperature: the fitted T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics as um
      >>> scaler = um.regression.TemperatureScaling()
      >>> scaler = scaler.fit([0.0, 0.0], [1.0, 1.0], [1.0, 3.0])
      >>> scaler.temperature
      5.0
      >>> scaler.transform([1.0, 2.0]).numpy().tolist()
      [5.0, 10.0]
    """

    def transform(  # type: ignore[override]  # It takes tensors.
        self,
        uncertainties: TensorLike | None = None,
        *,
        stddevs: TensorLike | None = None,
    ) -> xp.Tensor:
        """Multiplies variances by the temperature, standard deviations by its root.

        Args:
          uncertainties: predicted variances, > 0, of any shape.
          stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

        Returns:
          Variances, or standard deviations, of that shape; float64 for float64, else
          float32. A graph returns NaN for wrong values, for which eager code raises
          ValueError.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        temperature = self._require_fitted()
        name, given = np_forecasts.spread(uncertainties, stddevs)
        tensor = _inputs.as_tensor(name, given)
        _checks.paired(name, tensor.shape, name, tensor.shape)
        values = xp.cast(tensor, _inputs.predictions_dtype(tensor))
        factor = math.sqrt(temperature) if name == "stddevs" else temperature
        return _validity.nan_unless(
            _forecasts.is_variance(_forecasts.variances(name, values)),
            factor * values,
            lambda: np_temperature_scaling.TemperatureScaling.transform(
                self, **{name: for_numpy(given)}
            ),
        )
