"""Temperature scaling of a classifier, on tensors.

The twin of `uncertainty_metrics.numpy.recalibration`, in the precision of the logits:
float64, or float32 for all narrower types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import recalibration as declared
from uncertainty_metrics.ops import _inputs, _temperature, is_floating, plain, wide, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["TemperatureScaling"]


class TemperatureScaling(declared.TemperatureScaling):
    """Temperature scaling: divides the logits of a classifier by one number.

    The temperature T is that of the least negative log-likelihood of held-out examples,

      T = argmin mean of logsumexp(z / T) - z_y / T

    which is convex in 1 / T: the optimum, unique, is found to the precision of the
    logits. Decisions stay what they are; T > 1 lowers the confidence of an
    overconfident model. As a layer of a model: `TemperatureScalingLayer`.

    Attributes:
      temperature: T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> scaling = um.TemperatureScaling().fit([0, 1, 0, 1], logits)
      >>> round(scaling.temperature, 4)  # 3 of 4 are right: odds of 3 to 1.
      3.641
      >>> scaling.transform([[4.0, 0.0]]).numpy().round(4).tolist()
      [[1.0986000299453735, 0.0]]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    def _optimum(self, labels: TensorLike, logits: TensorLike, **options: Any) -> float:
        if not xp.executing_eagerly():
            raise RuntimeError("`fit` needs eager execution. Received: a graph")
        with wide():
            examples = _inputs.examples(labels, logits=logits, **options)
            temperature = _temperature.optimal_temperature(examples)
        temperature = _inputs.nan_unless(
            ~xp.math.is_nan(temperature),
            temperature,
            lambda: declared.TemperatureScaling._optimum(
                self,
                plain(labels),
                plain(logits),
                **{name: plain(value) for name, value in options.items()},
            ),
        )
        return float(temperature)

    def transform(  # type: ignore[override]  # Tensors.
        self, logits: TensorLike
    ) -> xp.Tensor:
        """Returns the logits divided by the temperature, in a graph too.

        Args:
          logits: of any shape; -inf stays -inf.

        Returns:
          The quotients, in the shape and floating type of the logits; float32 for
          integers. NaN inside a graph where eager execution raises ValueError for
          values.

        Raises:
          ValueError: there was no fit, or the logits hold NaN, +inf or nothing.
        """
        temperature = self._require_fitted()
        values = _inputs.as_tensor("logits", logits)
        if 0 in values.shape:
            raise _checks.error("logits", "at least one", f"shape {list(values.shape)}")
        dtype = values.dtype if is_floating(values) else xp.float32
        wide = xp.cast(values, _inputs.sum_dtype(values))
        quotients = _inputs.nan_unless(
            wide < np.inf,
            wide / xp.constant(temperature, wide.dtype),
            lambda: declared.TemperatureScaling.transform(self, plain(logits)),
        )
        return xp.cast(quotients, dtype)
