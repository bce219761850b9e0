"""Temperature scaling of a classifier, on tensors.

The twin of `uncertainty_metrics.numpy.calibrators.temperature_scaling`. float64 logits
are computed in float64, all others in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibrators import (
    temperature_scaling as np_temperature_scaling,
)
from uncertainty_metrics.numpy.calibrators._calibrator import LEAST
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _ranges,
    _temperature,
    _validity,
    for_numpy,
    is_floating,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

__all__ = ["TemperatureScaling"]


class TemperatureScaling(np_temperature_scaling.TemperatureScaling):
    """Temperature scaling: divides the logits of a classifier by one number.

    The temperature T minimises the negative log-likelihood of held-out examples,

      T = argmin mean of logsumexp(z / T) - z_y / T

    which is convex in 1 / T: the unique optimum is found to the precision of the
    logits. Decisions do not change; T > 1 lowers the confidence of an overconfident
    model. For probabilities p, z = log p, with p clipped to at least 2^-24: so a
    forecast of 0, as random forests make them, can become larger.
    `TemperatureScalingLayer` is the same as a layer of a model.

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

    def _optimum(
        self,
        labels: Any,
        logits: TensorLike | None,
        probabilities: TensorLike | None,
        **options: Any,
    ) -> float:
        if not _execution.is_eager():
            raise RuntimeError("`fit` needs eager execution. Received: a graph")
        with _execution.in_64_bits():
            examples = _inputs.examples(labels, probabilities, logits, **options)
            temperature = _temperature.optimal_temperature(examples)
        temperature = _validity.nan_unless(
            ~xp.math.is_nan(temperature),
            temperature,
            lambda: np_temperature_scaling.TemperatureScaling._optimum(
                self,
                for_numpy(labels),
                for_numpy(logits),
                for_numpy(probabilities),
                **{name: for_numpy(value) for name, value in options.items()},
            ),
        )
        return float(temperature)

    def transform(  # type: ignore[override]  # It takes tensors.
        self,
        logits: TensorLike | None = None,
        probabilities: TensorLike | None = None,
    ) -> xp.Tensor:
        """Returns z / T for logits, or softmax(log(p) / T) for probabilities, also in a
        graph.

        Args:
          logits: logits of any shape; -inf stays -inf.
          probabilities: predicted probabilities in [0, 1], instead of `logits`, of the
            classes of `fit`, shape [..., K]; or of class 1, shape [...] or [..., 1], if
            `fit` had probabilities of class 1.

        Returns:
          Logits for logits, and probabilities for probabilities, of the same shape and
          floating type; float32 for integers. Rows of probabilities sum to 1. A graph
          returns NaN for wrong values, for which eager code raises ValueError.

        Raises:
          ValueError: there was no fit, the logits are empty or hold NaN or +inf, or the
            probabilities are not as described.
        """
        temperature = self._require_fitted()
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        given = logits if name == "logits" else probabilities
        values = _inputs.as_tensor(name, given)
        dtype = values.dtype if is_floating(values) else xp.float32
        wide = xp.cast(values, _inputs.sum_dtype(values))
        divisor = xp.constant(temperature, wide.dtype)
        if name == "logits":
            if 0 in values.shape:
                received = f"shape {list(values.shape)}"
                raise _checks.error(
                    "logits", "at least one example", received, verb="hold"
                )
            scaled, right = wide / divisor, wide < np.inf
            if len(values.shape) > 1 and values.shape[-1] > 1:
                right = right & ~_inputs.are_probabilities(values)
        else:
            scaled, right = self._scaled_probabilities(values, wide, divisor)
        scaled = _validity.nan_unless(
            right,
            scaled,
            lambda: np_temperature_scaling.TemperatureScaling.transform(
                self,
                **{name: for_numpy(given)},
            ),
        )
        return xp.cast(scaled, dtype)

    def _scaled_probabilities(
        self, values: xp.Tensor, wide: xp.Tensor, divisor: xp.Tensor
    ) -> tuple[xp.Tensor, xp.Tensor]:
        """Returns the probabilities at the temperature, and which of them are right."""
        layout = self._fitted_layout()
        layout.check("probabilities", tuple(values.shape))
        right = _ranges.rows_in_range(
            values if layout.rank is None else values[..., None]
        )
        if layout.rank is not None:  # P(class 1).
            wide = xp.minimum(wide, xp.ones_like(wide))
            wide = xp.stack([1 - wide, wide], axis=-1)
        top = xp.reduce_max(wide, axis=-1, keepdims=True)
        clipped = xp.maximum(wide, xp.constant(LEAST, wide.dtype))
        mass = xp.exp(xp.math.log(clipped / top) / divisor)
        p = mass / xp.reduce_sum(mass, axis=-1, keepdims=True)
        if layout.rank is not None:
            return p[..., 1], right
        return p, (right & (top[..., 0] > 0))[..., None]
