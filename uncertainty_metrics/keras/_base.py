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
    """A metric whose state is `Sums` over cells, and a count of invalid batches."""

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # A compiled update cannot raise; a batch it could not use makes the result NaN.
        self._invalid = self.add_weight(
            name="invalid", shape=(), initializer="zeros", dtype="int64"
        )
        self._units = None

    def _build_sums(self, num_cells: int) -> None:
        def state(name, dtype):
            return self.add_weight(
                name=name, shape=(3, num_cells), initializer="zeros", dtype=dtype
            )

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
            _, lost = _sums.two_sum(tf.convert_to_tensor(_raw(self._hi)), sums.hi)
            add(self._hi, guard(sums.hi))
            add(self._lo, guard(sums.lo + lost))

    def _read_sums(self) -> tuple[_sums.Sums, tf.Tensor]:
        """Returns the sums of all replicas and whether they can be trusted."""
        sums = _sums.Sums(read(self._units), read(self._hi), read(self._lo))
        fits = tf.reduce_all(sums.units[0] < _sums.MAX_COUNT)
        return sums, (read(self._invalid) == 0) & fits

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
            if metric._units is None:
                continue
            self._match(metric)
            sums = _sums.Sums(
                *(
                    tf.convert_to_tensor(v)
                    for v in (metric._units, metric._hi, metric._lo)
                )
            )
            self._add_sums(sums, tf.constant(True))
            add(self._invalid, tf.convert_to_tensor(metric._invalid))

    def _identity(self) -> dict[str, Any]:
        """Returns what must be equal for two states to add."""
        config = self.get_config()
        return {key: config[key] for key in config if key not in ("name", "dtype")}

    def _match(self, metric: SumsMetric) -> None:
        """Makes a state of the shape of another's."""
        raise NotImplementedError
