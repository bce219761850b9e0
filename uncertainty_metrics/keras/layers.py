"""Layers that recalibrate the predictions of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks, _scaling
from uncertainty_metrics.keras._family import KEEP_DTYPE, keras, register, register_in
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.conformal import classifier, quantile
from uncertainty_metrics.numpy.conformal.classifier import ClassifierScore
from uncertainty_metrics.ops import _conformal, _inputs, to_numpy, xp
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


@register_in("conformal")
class ConformalSetLayer(keras.layers.Layer):
    """Conformal prediction sets as the last layer of a model, of its probabilities.

    The sets are those of `ConformalClassifier` without draws, in the precision of the
    layer. Their quantile is a weight that is not trained, saved with the others; before
    `fit` it is infinite, and sets hold all classes. A compiled model takes a new one.

    The output has the shape of the input, [..., K]: 1.0 where the set of an example
    holds a class, else 0.0; NaN for probabilities that are not in [0, 1].

    Args:
      score: "lac", "aps" or "raps".
      alpha: share of labels that sets may miss, in (0, 1).
      penalty: of "raps", >= 0, for each class from the `k_reg`-th on.
      k_reg: of "raps", an integer >= 0.
      name: name of the layer.
      dtype: of its computations, as of any layer.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics as um
      >>> layer = um.conformal.ConformalSetLayer(alpha=0.4)
      >>> probabilities = [[0.75, 0.125, 0.125], [0.25, 0.5, 0.25], [0.25, 0.5, 0.25]]
      >>> layer.fit([0, 1, 2], probabilities).quantile
      0.75
      >>> np.asarray(layer(np.float32([[0.5, 0.375, 0.125]]))).tolist()
      [[1.0, 1.0, 0.0]]

    References:
      Sadinle, Lei and Wasserman (2019), Least Ambiguous Set-Valued Classifiers with
      Bounded Error Levels. Romano, Sesia and Candes (2020), Classification with Valid
      and Adaptive Coverage. Angelopoulos, Bates, Malik and Jordan (2021), Uncertainty
      Sets for Image Classifiers using Conformal Prediction.
    """

    def __init__(
        self,
        score: ClassifierScore = "lac",
        alpha: float = 0.1,
        *,
        penalty: float = 0.01,
        k_reg: int = 5,
        name: str | None = None,
        dtype: Any = None,
    ):
        super().__init__(name=name, dtype=dtype)
        self.score, self.penalty, self.k_reg = classifier.checked_options(
            score, penalty, k_reg
        )
        self.alpha = _checks.open_unit("alpha", alpha)
        self._quantile = self.add_weight(
            name="quantile",
            shape=(),
            initializer=keras.initializers.Constant(np.inf),
            dtype="float32",
            trainable=False,
            **KEEP_DTYPE,
        )
        self.supports_masking = True

    @property
    def quantile(self) -> float:
        """The largest score of what a set holds, a float."""
        return float(xp.convert_to_tensor(self._quantile))

    def fit(self, labels: TensorLike, probabilities: TensorLike) -> Self:
        """Sets the quantile to that of held-out examples.

        Args:
          labels: integers in [0, K), shape [...].
          probabilities: the inputs of this layer, in [0, 1], shape [..., K].

        Returns:
          The layer itself.

        Raises:
          ValueError: an argument is not as described; the quantile stays what it was.
        """
        y, p = (
            to_numpy(_inputs.as_tensor(name, value))
            for name, value in (("labels", labels), ("probabilities", probabilities))
        )
        if p.ndim <= y.ndim or p.shape[-1] < 2:
            expected = "of shape [..., K], that of the labels and the classes"
            raise _checks.error("probabilities", expected, f"shape {list(p.shape)}")
        examples = np_inputs.examples(y, p)
        p = np_inputs.check_probabilities(examples.probabilities, examples.name)
        scores, _ = self._scores(xp.convert_to_tensor(p.astype(np.float32)))
        of_labels = to_numpy(scores)[np.arange(len(p)), examples.labels]
        self._quantile.assign(quantile.of_scores(of_labels, self.alpha))
        return self

    def _scores(self, p: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        return _conformal.class_scores(p, self.score, self.penalty, self.k_reg)

    def call(self, inputs: xp.Tensor) -> xp.Tensor:
        """Returns the sets, as the class describes them."""
        classes = inputs.shape[-1]
        # In the precision of the quantile, as in `fit`.
        rows = xp.reshape(xp.cast(inputs, xp.float32), [-1, classes])
        scores, right = self._scores(rows)
        held = xp.cast(scores <= xp.convert_to_tensor(self._quantile), xp.float32)
        held = xp.where(right[:, None], held, xp.constant(float("nan"), xp.float32))
        return xp.cast(xp.reshape(held, xp.shape(inputs)), self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = super().get_config()
        names = ("score", "alpha", "penalty", "k_reg")
        own = {name: getattr(self, name) for name in names}
        return {**own, "name": config["name"], "dtype": config["dtype"]}
