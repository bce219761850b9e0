"""What Keras 3 and tf_keras do differently, and the state that all metrics share.

The only file that knows which Keras is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics.tensorflow import _sums

if TYPE_CHECKING:
    import keras
else:
    keras = tf.keras  # Keras 3, or tf_keras where TF_USE_LEGACY_KERAS=1.


def _check_backend() -> None:
    config = getattr(keras, "config", None)  # tf_keras has none.
    backend = config.backend() if config is not None else "tensorflow"
    if backend != "tensorflow":
        raise ImportError(
            "The metrics of uncertainty_metrics run on the TensorFlow backend of "
            f"Keras. Received: KERAS_BACKEND={backend}. For the predictions of other "
            "backends use `uncertainty_metrics.numpy`."
        )


_check_backend()

register = keras.utils.register_keras_serializable(package="uncertainty_metrics")


AUC = keras.metrics.AUC

_IS_KERAS_3 = hasattr(keras, "ops")

# Lets a weight keep its type under mixed precision: an argument of `add_weight`.
KEEP_DTYPE = {"autocast" if _IS_KERAS_3 else "experimental_autocast": False}


def _raw(variable: Any) -> Any:
    """Returns the TensorFlow variable; a tensor inside a Keras 3 StatelessScope."""
    return variable if isinstance(variable, tf.Variable) else variable.value


def add(variable: Any, value: tf.Tensor) -> None:
    """Adds to a variable, without losing what other workers add meanwhile."""
    raw = _raw(variable)
    if isinstance(raw, tf.Variable) and not tf.distribute.in_cross_replica_context():
        raw.assign_add(value)  # Keras 3's own assign_add reads, adds and writes.
    else:
        variable.assign(tf.convert_to_tensor(variable) + value)


def read(variable: Any) -> tf.Tensor:
    """Returns the value summed over replicas, inside a replica too."""
    if not tf.distribute.has_strategy() or tf.distribute.in_cross_replica_context():
        return tf.convert_to_tensor(variable)
    return tf.distribute.get_replica_context().merge_call(
        lambda strategy: tf.identity(tf.convert_to_tensor(variable))
    )


class SumsMetric(keras.metrics.Metric):
    """A metric whose state is `Sums`, and a count of invalid batches."""

    _max_count = _sums.MAX_COUNT

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # A compiled update cannot raise; a batch it could not use makes the result NaN.
        self._invalid = self.add_weight(
            name="invalid", shape=(), initializer="zeros", dtype="int64"
        )
        self._units = self._hi = self._lo = None

    def _build_sums(self, shape: tuple[int, ...], units: bool) -> None:
        """Makes the state: a pair of float32, and exact units where asked for."""

        def state(name, dtype):
            return self.add_weight(
                name=name, shape=shape, initializer="zeros", dtype=dtype
            )

        if units:
            self._units = state("units", "int64")
        self._hi = state("hi", "float32")
        self._lo = state("lo", "float32")

    def _add_sums(self, sums: _sums.Sums, valid: tf.Tensor) -> None:
        """Adds a batch; where it is not valid only that is noted."""

        def guard(values):
            return tf.where(valid, values, tf.zeros_like(values))

        add(self._invalid, tf.cast(~valid, tf.int64))
        if sums.units is not None:
            add(self._units, guard(sums.units))
        if sums.hi is not None:
            total, lost = _sums.two_sum(tf.convert_to_tensor(_raw(self._hi)), sums.hi)
            # A sum that is infinite has lost nothing.
            lost = tf.where(tf.math.is_finite(total), lost, tf.zeros_like(lost))
            add(self._hi, guard(sums.hi))
            add(self._lo, guard(sums.lo + lost))

    def _read_sums(self) -> tuple[_sums.Sums, tf.Tensor]:
        """Returns the sums of all replicas and whether they can be trusted."""
        valid = read(self._invalid) == 0
        units = None
        if self._units is not None:
            units = read(self._units)
            valid &= tf.reduce_all(units[0] < self._max_count)
        return _sums.Sums(units, read(self._hi), read(self._lo)), valid

    @property
    def _result_dtype(self) -> tf.DType:
        return tf.float64 if self.dtype == "float64" else tf.float32

    def reset_state(self) -> None:
        """Sets the state back to no examples."""
        for variable in self.variables:
            variable.assign(tf.zeros(variable.shape, variable.dtype))

    def merge_state(self, metrics: Sequence[keras.metrics.Metric]) -> None:
        """Adds the states of metrics of the same configuration to this one.

        Raises:
          ValueError: a metric differs in its configuration, or in its classes.
        """
        metrics = list(metrics)
        for metric in metrics:
            if type(metric) is not type(self) or metric._identity() != self._identity():
                raise ValueError(
                    "Only states of the same metric and options merge. Received: "
                    f"{metric!r}"
                )
        for metric in metrics:
            if metric._hi is None:
                continue
            self._match(metric)
            parts = (metric._units, metric._hi, metric._lo)
            sums = (None if v is None else tf.convert_to_tensor(v) for v in parts)
            self._add_sums(_sums.Sums(*sums), tf.constant(True))
            add(self._invalid, tf.convert_to_tensor(metric._invalid))

    def _identity(self) -> dict[str, Any]:
        """Returns what must be equal for two states to add."""
        config = self.get_config()
        return {key: config[key] for key in config if key not in ("name", "dtype")}

    def _match(self, metric: SumsMetric) -> None:
        """Makes a state of the shape of another's."""
        raise NotImplementedError


class MeanMetric(SumsMetric):
    """A metric that is the weighted mean of a score of each example."""

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        self._build_sums((2,), units=False)

    def result(self) -> tf.Tensor:
        """Returns the mean over all batches; 0.0 before the first."""
        sums, valid = self._read_sums()
        weight, total = tf.unstack(_sums.totals(sums, self._result_dtype))
        mean = tf.math.divide_no_nan(total, weight)
        return tf.where(valid, mean, tf.constant(float("nan"), mean.dtype))

    def _match(self, metric: SumsMetric) -> None:
        del metric  # All states have the same shape.


class Loss(keras.losses.Loss):
    """A loss; Keras 3 and tf_keras differ in the constructor and in the types passed.

    Args:
      reduction: "sum_over_batch_size", "sum" or "none", or another that Keras knows.
      name: name of the loss.
      dtype: of the arithmetic; by default float32, or float64 where the predictions
        reach the loss so.
    """

    def __init__(self, reduction: str, name: str | None, dtype: Any = None):
        dtype = getattr(dtype, "compute_dtype", dtype)  # Of a policy.
        self._dtype_argument = getattr(dtype, "name", dtype)
        if _IS_KERAS_3:
            super().__init__(name=name, reduction=reduction, dtype=dtype)
        else:
            super().__init__(name=name, reduction=reduction)

    def _cast(self, y_pred: tf.Tensor) -> tf.Tensor:
        """Returns the predictions in the precision of the arithmetic."""
        if self._dtype_argument is not None:
            return tf.cast(y_pred, self._dtype_argument)
        return y_pred

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "reduction": self.reduction,
            "name": self.name,
            "dtype": self._dtype_argument,
        }
