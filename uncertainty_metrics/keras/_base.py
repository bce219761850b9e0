"""What Keras 3 and tf_keras do differently, and the state that all metrics share.

The only file that knows which Keras is loaded.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics._state import MetricState
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

_IS_KERAS_3 = hasattr(keras, "ops")
_FAMILIES = ("keras", "tf_keras") if _IS_KERAS_3 else ("tf_keras", "keras")


def _refuse_other_keras(kind: str, called: Any) -> None:
    """Raises TypeError if the other Keras, which takes it for a function, is calling.

    It would average the values of batches, and drop the weights.
    """
    ours, other = _FAMILIES
    frame = sys._getframe(2)
    for _ in range(12):  # Autograph puts some frames between.
        if frame is None:
            return
        module = frame.f_globals.get("__name__", "")
        if module.startswith((f"{other}.src.metrics.", f"{other}.src.losses.")):
            value = {"keras": 0, "tf_keras": 1}[other]
            raise TypeError(
                f"A model of `{other}` needs a {kind} made for `{other}`: set "
                f"TF_USE_LEGACY_KERAS={value} before TensorFlow is imported, or build "
                f"the model with `{ours}`. Received: {type(called).__name__} of "
                f"`{ours}`"
            )
        frame = frame.f_back


register = keras.utils.register_keras_serializable(package="uncertainty_metrics")


AUC = keras.metrics.AUC

# Lets a weight keep its type under mixed precision: an argument of `add_weight`.
KEEP_DTYPE = {"autocast" if _IS_KERAS_3 else "experimental_autocast": False}


def _raw(variable: Any) -> Any:
    """Returns the TensorFlow variable; a tensor inside a Keras 3 StatelessScope."""
    return variable if isinstance(variable, tf.Variable) else variable.value


def add(variable: Any, value: tf.Tensor) -> None:
    """Adds to a variable, without losing what other workers add meanwhile."""
    raw = _raw(variable)
    if not isinstance(raw, tf.Variable):
        variable.assign(tf.convert_to_tensor(variable) + value)
    elif not tf.distribute.in_cross_replica_context():
        raw.assign_add(value)  # Keras 3's own assign_add reads, adds and writes.
    else:

        def add_once():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            raw.assign_add(tf.where(replica == 0, value, tf.zeros_like(value)))

        tf.distribute.get_strategy().run(add_once)


def _is_plain(variable: Any) -> bool:
    """Whether a variable is one of TensorFlow's own, on this machine alone."""
    distributed = isinstance(variable, tf.distribute.DistributedValues)
    return isinstance(variable, tf.Variable) and not distributed


def read(variable: Any) -> tf.Tensor:
    """Returns the value summed over replicas, inside a replica too."""
    if not tf.distribute.has_strategy() or tf.distribute.in_cross_replica_context():
        return tf.convert_to_tensor(variable)
    return tf.distribute.get_replica_context().merge_call(
        lambda strategy: tf.identity(tf.convert_to_tensor(variable))
    )


_NONE = np.zeros([], np.int64)


class _State(NamedTuple):
    """The variables of a metric."""

    invalid: Any
    units: Any
    hi: Any
    lo: Any


def _add_batch(
    state: _State, sums: _sums.Sums, valid: tf.Tensor, invalid: tf.Tensor
) -> None:
    """Adds the sums, or where they are not valid one batch, to `invalid` others."""

    def guard(values):
        return tf.where(valid, values, tf.zeros_like(values))

    sums = _sums.settled(sums)
    invalid += tf.cast(~valid, tf.int64)
    steps = [(state.invalid, invalid), (state.units, guard(sums.units))]
    if sums.hi is not None:
        pair = (tf.convert_to_tensor(_raw(part)) for part in (state.hi, state.lo))
        hi, lo = _sums.pair_steps(*pair, guard(sums.hi), guard(sums.lo))
        steps += [(state.hi, hi), (state.lo, lo)]
    for variable, value in steps:
        add(variable, value)


@functools.lru_cache(maxsize=256)
def _add_in_one_call(shape: tuple[int, ...], weighted: bool) -> Callable[..., None]:
    """Returns `_add_batch` as a graph, which no interrupt leaves half done."""
    del shape, weighted  # One for each, as they would be traced again and again.
    return tf.function(functools.partial(_add_batch), autograph=False)


class SumsMetric(keras.metrics.Metric):
    """A metric whose state is `Sums`, and a count of invalid batches."""

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # A compiled update cannot raise; a batch it could not use makes the result NaN.
        self._invalid = self.add_weight(
            name="invalid", shape=(), initializer="zeros", dtype="int64"
        )
        self._units = self._hi = self._lo = None
        self._classes: int | None = None  # None while any number will do.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch and returns the result, as `keras.metrics.Metric` does."""
        _refuse_other_keras("metric", self)
        return super().__call__(*args, **kwargs)

    def _build_sums(self, shape: tuple[int, ...], scores: bool = False) -> None:
        """Makes the state: exact units, and a pair of float32 for what is not whole.

        `shape` is that of the sums; with `scores` the second of its three rows has two
        rows of units.
        """

        def state(name, shape, dtype):
            return self.add_weight(
                name=name, shape=shape, initializer="zeros", dtype=dtype
            )

        self._units = state("units", (shape[0] + scores, *shape[1:]), "int64")
        self._hi = state("hi", shape, "float32")
        self._lo = state("lo", shape, "float32")

    @property
    def _state(self) -> _State:
        return _State(self._invalid, self._units, self._hi, self._lo)

    def _add_sums(
        self, sums: _sums.Sums, valid: tf.Tensor, invalid: Any = _NONE
    ) -> None:
        """Adds a batch; where it is not valid only that is noted."""
        state = _State(*map(_raw, self._state))
        if tf.executing_eagerly() and all(map(_is_plain, state)):
            add_batch = _add_in_one_call(tuple(state.units.shape), sums.hi is not None)
        else:
            state, add_batch = self._state, _add_batch
        add_batch(state, sums, valid, invalid)

    def _read_sums(self) -> tuple[_sums.Sums, tf.Tensor]:
        """Returns the sums of all replicas and whether they can be trusted."""
        invalid, *sums = map(read, self._state)
        sums = _sums.Sums(*sums)
        few = tf.reduce_all(sums.units[0] < _sums.MAX_COUNT)
        return sums, (invalid == 0) & few

    @property
    def _result_dtype(self) -> tf.DType:
        return tf.float64 if self.dtype == "float64" else tf.float32

    def reset_state(self) -> None:
        """Sets the state back to no examples."""
        for variable in self.variables:
            variable.assign(tf.zeros(variable.shape, variable.dtype))

    def get_state(self) -> MetricState:
        """Returns a copy of the state, to save, to send, or to add to others."""
        arrays = {
            name: np.array(tf.convert_to_tensor(variable))
            for name, variable in self._state._asdict().items()
            if variable is not None
        }
        return dataclasses.replace(
            self._empty_state(), arrays=arrays, classes=self._classes
        )

    def set_state(self, state: MetricState) -> None:
        """Replaces the state by one of the same metric and options.

        Raises:
          ValueError: the metric, its options or its classes differ.
        """
        self._check_state(state)
        self.reset_state()
        self.merge_state([state])

    def merge_state(
        self, metrics: Iterable[keras.metrics.Metric | MetricState]
    ) -> None:
        """Adds the states of metrics of the same class and options to this one.

        Args:
          metrics: metrics, or the states that their `get_state` returned.

        Raises:
          ValueError: a metric differs in its class, options or number of classes.
        """
        total = self._empty_state()
        for metric in metrics:
            if not isinstance(metric, SumsMetric | MetricState):
                raise ValueError(
                    "Only states of the same metric and options add. Received: "
                    f"{metric!r}"
                )
            total += metric.get_state() if isinstance(metric, SumsMetric) else metric
        self._check_state(total)
        invalid, units, hi, lo = map(total.arrays.get, _State._fields)
        if hi is None:
            add(self._invalid, tf.constant(invalid))
            return
        if self._units is None:
            self._build(total.classes)
        sums = _sums.Sums(*map(tf.constant, (units, hi, lo)))
        self._add_sums(sums, tf.constant(True), tf.constant(invalid))

    def _empty_state(self) -> MetricState:
        config = self.get_config()
        del config["name"], config["dtype"]
        name = keras.utils.get_registered_name(type(self)).rpartition(">")[2]
        return MetricState(name, config, {"invalid": np.zeros([], np.int64)})

    def _check_state(self, state: MetricState) -> None:
        """Raises ValueError unless a state can be added to this one."""
        self.get_state() + state

    def _build(self, num_classes: int | None) -> None:
        """Makes a state that depends on the number of classes."""
        raise NotImplementedError


class MeanMetric(SumsMetric):
    """A metric that is the weighted mean of a score of each example."""

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        self._build_sums((2,))

    def result(self) -> tf.Tensor:
        """Returns the mean over all batches; 0.0 before the first."""
        sums, valid = self._read_sums()
        weight, total = tf.unstack(_sums.totals(sums, self._result_dtype))
        mean = tf.math.divide_no_nan(total, weight)
        return tf.where(valid, mean, tf.constant(float("nan"), mean.dtype))


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

    def __call__(self, *args: Any, **kwargs: Any) -> tf.Tensor:
        """Returns the loss, reduced, as `keras.losses.Loss` does."""
        _refuse_other_keras("loss", self)
        return super().__call__(*args, **kwargs)

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
