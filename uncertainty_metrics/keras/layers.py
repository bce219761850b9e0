"""Layers that recalibrate the predictions of a model."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncertainty_metrics import _checks, _temperature
from uncertainty_metrics.keras import _held_out
from uncertainty_metrics.keras._family import KEEP_DTYPE, keras, register, register_in
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.calibrators import linear_scaling, temperature_scaling
from uncertainty_metrics.numpy.conformal import classifier, quantile
from uncertainty_metrics.numpy.conformal.classifier import ClassifierScore
from uncertainty_metrics.ops import _conformal, _inputs, to_numpy, xp

if TYPE_CHECKING:
    from typing_extensions import Self

    from uncertainty_metrics.ops._typing import TensorLike

__all__ = [
    "ConformalSetLayer",
    "MatrixScalingLayer",
    "TemperatureScalingLayer",
    "VectorScalingLayer",
]


class _FittedLayer(keras.layers.Layer):
    """A layer that keeps the shape, and whose weights `fit` sets instead of training.

    The weights are float32, whatever the dtype of the layer.
    """

    # The arguments of the constructor, which are attributes too.
    _options: ClassVar[tuple[str, ...]]

    def __init__(self, name: str | None, dtype: Any):
        super().__init__(name=name, dtype=dtype)
        self.supports_masking = True

    def _new_weight(self, name: str, shape: tuple[int, ...], initializer: Any) -> Any:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype="float32",
            trainable=False,
            **KEEP_DTYPE,
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = super().get_config()
        own = {name: getattr(self, name) for name in self._options}
        return {**own, "name": config["name"], "dtype": config["dtype"]}


class _ScalingLayer(_FittedLayer):
    """A calibrator of logits as a layer."""

    def fit(
        self,
        labels: Any,
        logits: TensorLike | None = None,
        *,
        model: Any = None,
        sample_weight: TensorLike | None = None,
        class_weight: Mapping[int, float] | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Fits the weights to held-out examples.

        Takes labels and logits, or a dataset and the model that makes the logits:

          layer.fit(labels, logits)
          layer.fit(dataset, model=classifier)

        Args:
          labels: integers in [0, K), shape [...], of examples that the model was not
            trained on. With `model`, a `tf.data.Dataset` or another finite iterable of
            batches (x, labels) or (x, labels, sample_weight).
          logits: the inputs of this layer, shape [..., K], or [..., 1] for two classes.
            Examples that their Keras mask leaves out do not count.
          model: a Keras model or layer without this layer; `model(x)` are the logits.
          sample_weight: finite and >= 0, broadcastable to the labels.
          class_weight: {class: weight}, as in `fit` of Keras: the weight of an example
            is multiplied by the weight of its label, 1 if the dict lacks the label.
          ignore_index: examples with this label are left out.

        Returns:
          The layer itself.

        Raises:
          ValueError: an argument is not as described, or there is no optimum; the
            weights then stay as they were.
        """
        held = _held_out.examples(self, "logits", labels, logits, model, sample_weight)
        fitted = self._calibrator().fit(
            held.labels,
            held.predictions,
            sample_weight=_held_out.times_class_weight(held, class_weight),
            ignore_index=ignore_index,
        )
        self._assign(fitted, held.classes or 1)
        return self

    @abc.abstractmethod
    def _calibrator(self) -> Any:
        """Returns the calibrator, not fitted."""

    @abc.abstractmethod
    def _assign(self, fitted: Any, units: int) -> None:
        """Sets the weights to the map of a fitted calibrator.

        Args:
          fitted: the calibrator.
          units: size of the last axis of the logits; 1 for logits of class 1.

        Raises:
          ValueError: the layer was built for another size.
        """

    @abc.abstractmethod
    def _scaled(self, z: xp.Tensor, *weights: xp.Tensor) -> xp.Tensor:
        """Returns the scaled logits; logits and weights have the same type."""

    def call(self, inputs: xp.Tensor) -> xp.Tensor:
        """Returns the scaled logits, computed in float32 or float64."""
        dtype = _inputs.sum_dtype(inputs)
        weights = (xp.cast(xp.convert_to_tensor(w), dtype) for w in self.weights)
        return xp.cast(
            self._scaled(xp.cast(inputs, dtype), *weights), self.compute_dtype
        )


@register
class TemperatureScalingLayer(_ScalingLayer):
    """Temperature scaling as the last layer of a model: logits / T.

    T is a weight that is saved with the other weights, but not trained. `fit` sets it,
    and models that are compiled already use the new T.

    Args:
      temperature: T, finite and > 0.
      name: name of the layer.
      dtype: type of the computations, as for any layer; T itself is float32.

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

    _options = ("temperature",)

    def __init__(
        self, temperature: float = 1.0, *, name: str | None = None, dtype: Any = None
    ):
        super().__init__(name, dtype)
        temperature = _temperature.checked_temperature(temperature)
        constant = keras.initializers.Constant(temperature)
        self._temperature = self._new_weight("temperature", (), constant)

    @property
    def temperature(self) -> float:
        """T, a float > 0."""
        return float(xp.convert_to_tensor(self._temperature))

    def _calibrator(self) -> temperature_scaling.TemperatureScaling:
        return temperature_scaling.TemperatureScaling()

    def _assign(
        self, fitted: temperature_scaling.TemperatureScaling, units: int
    ) -> None:
        self._temperature.assign(fitted.temperature)

    def _scaled(self, z: xp.Tensor, *weights: xp.Tensor) -> xp.Tensor:
        (temperature,) = weights
        return z / temperature


class _LinearScalingLayer(_ScalingLayer):
    """Maps logits to linear functions of them."""

    # The name of the factors, also in the calibrator, and the Keras initializer of
    # factors that change nothing.
    _factors_name: ClassVar[str]
    _identity: ClassVar[str]

    def __init__(self, name: str | None, dtype: Any):
        super().__init__(name, dtype)
        self._factors: Any = None
        self._biases: Any = None

    @abc.abstractmethod
    def _shape(self, units: int) -> tuple[int, ...]:
        """Returns the shape of the factors."""

    def build(self, input_shape: Any) -> None:
        """Makes the weights, with which the layer is the identity."""
        units = input_shape[-1] if len(input_shape) > 1 else None
        if units is None:
            expected = "of shape [..., K] with a static number of classes K"
            raise _checks.error("inputs", expected, f"shape {list(input_shape)}")
        self._factors = self._new_weight(
            self._factors_name, self._shape(units), self._identity
        )
        self._biases = self._new_weight("biases", (units,), "zeros")
        super().build(input_shape)

    @property
    def biases(self) -> np.ndarray:
        """The biases b, float32 [K]."""
        return self._value(self._biases)

    def _value(self, weight: Any) -> np.ndarray:
        if weight is None:
            raise ValueError(
                "There are no weights yet: call `fit` first, or build the layer. "
                f"Received: {self.name!r}, not built"
            )
        return to_numpy(xp.convert_to_tensor(weight)).copy()

    def _assign(self, fitted: Any, units: int) -> None:
        built = self._biases.shape[0] if self.built else units
        if units != built:
            expected = f"a last axis of {built}, with which the layer was built"
            raise _checks.error("logits", expected, units, verb="have")
        factors, biases = getattr(fitted, self._factors_name), fitted.biases
        # For a logit z of class 1 the calibrator has mapped [0, z]; the logit of class
        # 1 is the difference of the two results.
        if units == 1:
            if factors.ndim == 2:
                factors = (factors - factors[0])[:, 1:]
            factors, biases = factors[1:], biases[1:] - biases[0]
        if not self.built:
            self.build((None, units))
        self._factors.assign(factors.astype(np.float32))
        self._biases.assign(biases.astype(np.float32))


@register
class VectorScalingLayer(_LinearScalingLayer):
    """Vector scaling as the last layer of a model: a_k z_k + b_k of logits z.

    The map is as in `VectorScaling`. Its weights are saved with the other weights,
    but not trained. `fit` sets them, and models that are compiled already use the new
    ones. Before `fit` the layer is the identity. So is a copy made from its
    configuration, which does not hold the weights.

    Two classes may have the logits of class 1 alone, [..., 1]; for a and b K is 1 then.

    Args:
      ridge: penalty on the difference from a temperature, >= 0, as in
        `VectorScaling`.
      name: name of the layer.
      dtype: type of the computations, as for any layer; weights are float32, and
        narrower inputs are scaled in float32.

    Attributes:
      scales: a, float32 [K].
      biases: b, float32 [K].

    Raises:
      ValueError: `ridge` is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics as um
      >>> rng = np.random.default_rng(0)
      >>> logits = rng.normal(size=[2000, 3])
      >>> true = 0.5 * logits + [1.0, 0.0, -1.0]  # Class 0 is more frequent.
      >>> labels = np.argmax(true + rng.gumbel(size=true.shape), axis=1)
      >>> layer = um.VectorScalingLayer().fit(labels, logits)
      >>> layer.biases.round(1).tolist()
      [1.0, 0.0, -1.0]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    _options = ("ridge",)
    _factors_name = "scales"
    _identity = "ones"

    def __init__(
        self,
        *,
        ridge: float = linear_scaling.DEFAULT_RIDGE,
        name: str | None = None,
        dtype: Any = None,
    ):
        super().__init__(name, dtype)
        checked = linear_scaling.VectorScaling(ridge=ridge).get_config()
        self.ridge: float = checked["ridge"]

    @property
    def scales(self) -> np.ndarray:
        """The slopes a, float32 [K]."""
        return self._value(self._factors)

    def _calibrator(self) -> linear_scaling.VectorScaling:
        return linear_scaling.VectorScaling(ridge=self.ridge)

    def _shape(self, units: int) -> tuple[int, ...]:
        return (units,)

    def _scaled(self, z: xp.Tensor, *weights: xp.Tensor) -> xp.Tensor:
        scales, biases = weights
        return z * scales + biases


@register
class MatrixScalingLayer(_LinearScalingLayer):
    """Matrix scaling as the last layer of a model: A z + b of logits z.

    The map is as in `MatrixScaling`. Its weights are saved with the other weights,
    but not trained. `fit` sets them, and models that are compiled already use the new
    ones. Before `fit` the layer is the identity. So is a copy made from its
    configuration, which does not hold the weights.

    Two classes may have the logits of class 1 alone, [..., 1]; for A and b K is 1 then.

    Args:
      ridge: penalty on the difference from a temperature, >= 0, or None for K / 2, as
        in `MatrixScaling`.
      regularization: "ridge" or "odir", as in `MatrixScaling`.
      name: name of the layer.
      dtype: type of the computations, as for any layer; weights are float32, and
        narrower inputs are scaled in float32.

    Attributes:
      matrix: A, float32 [K, K].
      biases: b, float32 [K].

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics as um
      >>> rng = np.random.default_rng(0)
      >>> logits = rng.normal(size=[3000, 3])
      >>> true = logits[:, [1, 0, 2]]  # The model confuses two classes.
      >>> labels = np.argmax(true + rng.gumbel(size=true.shape), axis=1)
      >>> layer = um.MatrixScalingLayer().fit(labels, logits)
      >>> (layer.matrix - layer.matrix.mean(axis=0)).argmax(axis=1).tolist()
      [1, 0, 2]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
      Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond
      Temperature Scaling: Obtaining Well-Calibrated Multiclass Probabilities with
      Dirichlet Calibration.
    """

    _options = ("ridge", "regularization")
    _factors_name = "matrix"
    _identity = "identity"

    def __init__(
        self,
        *,
        ridge: float | None = None,
        regularization: linear_scaling.Regularization = "ridge",
        name: str | None = None,
        dtype: Any = None,
    ):
        super().__init__(name, dtype)
        checked = linear_scaling.MatrixScaling(
            ridge=ridge, regularization=regularization
        ).get_config()
        self.ridge: float | None = checked["ridge"]
        self.regularization = regularization

    @property
    def matrix(self) -> np.ndarray:
        """The matrix A, float32 [K, K]."""
        return self._value(self._factors)

    def _calibrator(self) -> linear_scaling.MatrixScaling:
        return linear_scaling.MatrixScaling(
            ridge=self.ridge, regularization=self.regularization
        )

    def _shape(self, units: int) -> tuple[int, ...]:
        return units, units

    def _scaled(self, z: xp.Tensor, *weights: xp.Tensor) -> xp.Tensor:
        matrix, biases = weights
        return xp.matmul(z, xp.transpose(matrix)) + biases


@register_in("conformal")
class ConformalSetLayer(_FittedLayer):
    """Conformal prediction sets of probabilities, as the last layer of a model.

    The sets are as in `ConformalClassifier` without random draws, for probabilities
    rounded to float32. Their quantile is a weight that is saved with the other weights,
    but not trained. `fit` sets it, and models that are compiled already use the new
    one; before `fit` it is infinite, and sets hold all classes.

    A set holds all classes whose score is at most the quantile. Because float32 sums
    depend on the order in which a compiler adds, it also holds classes whose score is
    larger by at most (K + 8) 2^-23 of it: 1.3e-6 for 3 classes, 1.2e-4 for 1000.

    The output has the shape of the input, [..., K]: 1.0 where the set of an example
    holds a class, else 0.0; NaN for probabilities that are not in [0, 1].

    Args:
      score: "lac", "aps" or "raps".
      alpha: share of labels that sets may miss, in (0, 1).
      penalty: penalty of "raps" for each class after the first `k_reg`, >= 0.
      k_reg: number of classes without a penalty in "raps", an integer >= 0.
      name: name of the layer.
      dtype: type of the computations, as for any layer.

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

    _options = ("score", "alpha", "penalty", "k_reg")

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
        super().__init__(name, dtype)
        self.score, self.penalty, self.k_reg = classifier.checked_options(
            score, penalty, k_reg
        )
        self.alpha = _checks.open_unit("alpha", alpha)
        infinite = keras.initializers.Constant(np.inf)
        self._quantile = self._new_weight("quantile", (), infinite)

    @property
    def quantile(self) -> float:
        """The largest score of a class in a set, a float."""
        return float(xp.convert_to_tensor(self._quantile))

    def fit(
        self,
        labels: Any,
        probabilities: TensorLike | None = None,
        *,
        model: Any = None,
    ) -> Self:
        """Fits the quantile to held-out examples.

        Args:
          labels: integers in [0, K), shape [...]. With `model`, a `tf.data.Dataset` or
            another finite iterable of batches (x, labels).
          probabilities: the inputs of this layer, in [0, 1], shape [..., K]. Examples
            that their Keras mask leaves out do not count.
          model: a Keras model or layer without this layer; `model(x)` are the
            probabilities.

        Returns:
          The layer itself.

        Raises:
          ValueError: an argument is not as described; the quantile stays as it was.
        """
        name = "probabilities"
        held = _held_out.examples(
            self, name, labels, probabilities, model, weighted=False
        )
        if (held.classes or 1) < 2:
            expected = "of shape [..., K], with a probability for each class"
            raise _checks.error(name, expected, "probabilities of class 1 alone")
        examples = np_examples.examples(
            held.labels, held.predictions, sample_weight=held.weights
        )
        p = np_inputs.check_probabilities(
            examples.probabilities, examples.name, examples.place
        )
        options = self.score, self.penalty, self.k_reg
        # In float32, as in `call`; the NumPy classifier then has the same quantile for
        # the same float32 probabilities.
        rounded_p = p.astype(np.float32)
        # Compilers may flush smaller numbers to 0, whose score is another one.
        rounded_p[rounded_p < np.finfo(np.float32).tiny] = 0
        scores = classifier.class_scores(rounded_p, *options)
        of_labels = scores[np.arange(len(p)), examples.labels]
        quantile.warn_if_few([len(p)], self.alpha)
        exact = quantile.of_scores(of_labels, self.alpha)
        rounded = np.float32(exact)
        if float(rounded) < exact:  # Up: no score that equals it may be above.
            rounded = np.nextafter(rounded, np.float32(np.inf))
        self._quantile.assign(rounded)
        return self

    def call(self, inputs: xp.Tensor) -> xp.Tensor:
        """Returns the sets, as the class describes them."""
        classes = inputs.shape[-1]
        # In the precision of the quantile, as in `fit`.
        rows = xp.reshape(xp.cast(inputs, xp.float32), [-1, classes])
        options = self.score, self.penalty, self.k_reg
        scores, right = _conformal.class_scores(rows, *options)
        limit = xp.convert_to_tensor(self._quantile)
        held = xp.cast(_conformal.sets(scores, limit, classes), xp.float32)
        held = xp.where(right[:, None], held, xp.constant(float("nan"), xp.float32))
        return xp.cast(xp.reshape(held, xp.shape(inputs)), self.compute_dtype)
