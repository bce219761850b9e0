"""Layers that recalibrate the predictions of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncertainty_metrics import _scaling
from uncertainty_metrics.keras._family import KEEP_DTYPE, keras, register
from uncertainty_metrics.ops import _inputs, xp
from uncertainty_metrics.tensorflow import recalibration

if TYPE_CHECKING:
    from typing_extensions import Self

    from uncertainty_metrics.ops._typing import TensorLike


@register
class TemperatureScalingLayer(keras.layers.Layer):
    """Temperature scaling as the last layer of a model: logits / T.

    T is a weight that is not trained, saved with the others; `fit` sets it, and models
    that are compiled already take the new one.

    Args:
      temperature: T, finite and > 0.
      name: name of the layer.
      dtype: of its computations, as of any layer; T itself is float32.

    Raises:
      ValueError: the temperature is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics as um
      >>> layer = um.TemperatureScalingLayer()
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> round(layer.fit([0, 1, 0, 1], logits).temperature, 4)
      3.641
      >>> np.asarray(layer(np.float32([[4.0, 0.0]]))).round(4).tolist()
      [[1.0986000299453735, 0.0]]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    def __init__(
        self, temperature: float = 1.0, *, name: str | None = None, dtype: Any = None
    ):
        super().__init__(name=name, dtype=dtype)
        temperature = _scaling.checked_temperature(temperature)
        self._temperature = self.add_weight(
            name="temperature",
            shape=(),
            initializer=keras.initializers.Constant(temperature),
            dtype="float32",
            trainable=False,
            **KEEP_DTYPE,
        )
        self.supports_masking = True

    @property
    def temperature(self) -> float:
        """T, a float > 0."""
        return float(xp.convert_to_tensor(self._temperature))

    def fit(
        self,
        labels: TensorLike,
        logits: TensorLike,
        *,
        sample_weight: TensorLike | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Sets T to the best for held-out examples: see `TemperatureScaling.fit`.

        Args:
          labels: integers in [0, K), shape [...].
          logits: the inputs of this layer, shape [..., K], [..., 1] or [...].
          sample_weight: finite and >= 0, broadcastable to the labels.
          ignore_index: examples with this label are left out.

        Returns:
          The layer itself.

        Raises:
          ValueError: an argument is not as described, or no temperature is best; T
            stays what it was.
        """
        scaling = recalibration.TemperatureScaling().fit(
            labels, logits, sample_weight=sample_weight, ignore_index=ignore_index
        )
        self._temperature.assign(scaling.temperature)
        return self

    def call(self, inputs: xp.Tensor) -> xp.Tensor:
        """Returns the logits divided by T."""
        dtype = _inputs.sum_dtype(inputs)
        temperature = xp.cast(xp.convert_to_tensor(self._temperature), dtype)
        return xp.cast(xp.cast(inputs, dtype) / temperature, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, and the temperature of now."""
        config = super().get_config()
        return {
            "temperature": self.temperature,
            "name": config["name"],
            "dtype": config["dtype"],
        }
