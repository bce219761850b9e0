"""The state that all metrics share, and what their losses do.

`_family` is the only file that knows which Keras is loaded.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _family, _members, _tf_variables, _variables
from uncertainty_metrics.keras._family import keras as keras
from uncertainty_metrics.numpy._metric_state import (
    MetricState,
    bounded_by,
    check_cells,
    renewed_config,
)
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _inputs,
    _sums,
    to_numpy,
    xp,
)

if TYPE_CHECKING:
    from typing_extensions import Self

register = _family.register


def _restored(
    metric: type[SumsMetric], config: dict[str, Any], state: MetricState
) -> SumsMetric:
    """Returns a metric that was pickled or copied."""
    restored = metric.from_config(config)
    restored.set_state(state)
    return restored


_Method = TypeVar("_Method", bound=Callable[..., Any])


def widened(method: _Method) -> _Method:
    """Returns a method of a metric whose arithmetic has 64 bits, and no gradients."""

    @functools.wraps(method)
    def computed(*args: Any, **kwargs: Any) -> Any:
        with _execution.without_gradients(), _execution.in_64_bits():
            return method(*args, **kwargs)

    return computed  # type: ignore[return-value]


def _at_once(result: _Method) -> _Method:
    """Returns a `result` that is one call where it is eager: JAX would compile each of
    its hundred steps.
    """

    @functools.wraps(result)
    def computed(self: Any) -> Any:
        if not _execution.is_eager():
            return result(self)
        if self._compiled_result is None:
            names: list[str] = []

            def traced(state: list[Any]) -> Any:
                with keras.StatelessScope(
                    list(zip(self.variables, state, strict=True))
                ):
                    value, invalid = result(self), _variables.read(self._invalid)
                    few = (
                        self._has_few(_variables.read(self._units))
                        if self._has_sums
                        else True
                    )
                if isinstance(value, dict):  # Of which JAX would sort the keys.
                    names[:] = value
                    value = list(value.values())
                return value, invalid, few

            self._compiled_result = _execution.compiled(traced), names
        compiled, names = self._compiled_result
        with self._alone():
            state = [variable.value for variable in self.variables]
        value, invalid, few = compiled(state)
        self._warn(int(invalid), bool(few))
        return dict(zip(names, value, strict=True)) if names else value

    return computed  # type: ignore[return-value]


class SumsMetric(keras.metrics.Metric):
    """A metric whose state is `Sums`, and a count of invalid batches."""

    # Whether larger values ("up") or smaller ones ("down") are better: callbacks of
    # Keras 3 ask. If neither is, or the result is always a dict, they need a mode.
    _direction: Literal["up", "down"]
    _has_direction: bool = True

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # Held while an eager call makes, changes or reads the state.
        self._lock = threading.RLock()
        self._warned_of = 0  # The number of invalid batches in the last warning.
        self._compiled_result: Any = None
        # A compiled update cannot raise; a batch it could not use makes the result NaN.
        self._invalid = self._add_counts("invalid", ())
        self._units: Any = None
        self._hi: Any = None
        self._lo: Any = None
        self._classes: int | None = None  # None while any number will do.

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if IS_TENSORFLOW:
            return
        for name in {"result", "_all_statistics"} & vars(cls).keys():
            method = vars(cls)[name]
            if name == "result" and _execution.COMPILES:
                method = _at_once(method)
            setattr(cls, name, widened(method))

    def _add_counts(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            name=name,
            shape=_sums.state_shape(shape),
            initializer="zeros",
            dtype=_sums.STATE_TYPE,
        )

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns the metric of a `get_config`, one of an earlier version too."""
        return cls(**renewed_config(config))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.get_config(), self.get_state())

    def __repr__(self) -> str:
        title = f"{type(self).__name__} name={self.name}"
        if not _execution.is_eager() or _execution.has_strategy():
            return f"<{title}>"
        if not any(np.any(to_numpy(xp.convert_to_tensor(v))) for v in self.variables):
            return f"<{title}, no examples>"
        warned_of = self._warned_of  # Whoever reads the result is warned.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self.result()
        self._warned_of = warned_of
        parts = result if isinstance(result, dict) else {"result": result}
        values = [
            f"{name}={np.array2string(to_numpy(part), precision=6, threshold=12)}"
            for name, part in parts.items()
        ]
        return f"<{', '.join([title, *values])}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        function, arguments = self.__reduce__()
        return memo.setdefault(id(self), function(*arguments))

    def _alone(self) -> contextlib.AbstractContextManager[object]:
        """Returns a context in which no other thread makes or changes the state."""
        # Replicas take turns; waiting for each other inside of one would not end.
        return contextlib.nullcontext() if _execution.has_strategy() else self._lock

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch and returns the result, as `keras.metrics.Metric` does."""
        _family.refuse_other("metric", self)
        return super().__call__(*args, **kwargs)

    @property
    def variables(self) -> list[Any]:
        """The state, as Keras saves it; `compile` of tf_keras asks for it first."""
        _family.refuse_other("metric", self)
        return super().variables

    def _build_sums(
        self, shape: tuple[int, ...], scores: bool = False, scattered: bool = False
    ) -> None:
        """Makes the state: exact units, and a pair of float32 for what is not whole.

        Args:
          shape: that of the sums.
          scores: whether the second of three rows has two rows of units.
          scattered: whether batches may add `Scattered` units. They are of one axis
            then, to which TensorFlow adds fastest.
        """
        check_cells(shape)
        if self._units is None:  # An interrupt may have come between.
            rows: tuple[int, ...] = (shape[0] + scores, *shape[1:])
            if scattered and IS_TENSORFLOW:
                rows = (math.prod(rows),)
            self._units = self._add_counts("units", rows)
        for name in ("hi", "lo"):
            if getattr(self, f"_{name}") is None:
                weight = self.add_weight(
                    name=name, shape=shape, initializer="zeros", dtype="float32"
                )
                setattr(self, f"_{name}", weight)

    @property
    def _has_sums(self) -> bool:
        return self._lo is not None

    @property
    def _state(self) -> _variables.State:
        return _variables.State(self._invalid, self._units, self._hi, self._lo)

    def _plain_state(self) -> _variables.State | None:
        """Returns the variables where an eager call may add to them by itself."""
        if not (IS_TENSORFLOW and self._has_sums and _execution.is_eager()):
            return None
        state = _variables.State(*map(_variables.raw, self._state))
        return state if all(map(_tf_variables.is_plain, state)) else None

    @_members.adds
    def _update(
        self,
        batch_sums: _variables.BatchSums,
        options: tuple[Any, ...],
        data: tuple[Any, ...],
        explain: Callable[[], object],
        *,
        shape: tuple[int, ...],
        classes: int | None = None,
        compiled: bool = True,
        joins: bool = False,
    ) -> None:
        """Adds a batch.

        Args:
          batch_sums: adds up the batch.
          options: first arguments of `batch_sums`, which can be hashed.
          data: its other arguments.
          explain: raises the ValueError that says what is wrong with the data.
          shape: of what belongs to an example.
          classes: what `_build` needs where there is no state yet.
          compiled: whether eager calls may be traced.
          joins: whether `batch_sums` of the first options of several metrics, tuples,
            one after the other, returns their vectors of sums likewise, where the other
            options and the data are the same.
        """
        del joins  # A collection reads it.
        with self._alone(), _execution.in_64_bits():
            state = self._plain_state()
            eager = _execution.is_eager()
            # Elsewhere than in TensorFlow nothing is faster through NumPy.
            if eager and (compiled or not IS_TENSORFLOW):
                sums, valid = _variables.graph(batch_sums, options, shape)(
                    state, _variables.NOTHING, *data
                )
            else:
                sums, valid = batch_sums(*options, *data)
            if eager and not valid:
                explain()
            if not self._has_sums and classes is not None:
                self._build(classes)
            invalid = xp.cast(~valid, xp.int64)
            if sums is not None:
                self._add_sums(sums, valid, invalid)
            elif not valid:
                _variables.add(self._invalid, invalid)

    def _add_sums(self, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor) -> None:
        state = self._plain_state()
        if state is None:
            _variables.add_batch(self._state, sums, valid, invalid)
        else:
            shape = tuple(self._hi.shape)
            _variables.graph(_variables.given, (), shape)(state, invalid, valid, *sums)

    def _read_sums(self) -> tuple[_sums.Sums, xp.Tensor]:
        """Returns the sums of all replicas and whether they can be trusted; warns where
        they cannot.
        """
        with self._alone():
            invalid, units, hi, lo = map(_variables.read, self._state)
        if len(units.shape) != len(hi.shape):
            units = xp.reshape(units, [-1, hi.shape[1]])
        few = self._has_few(units)
        if _execution.is_eager():
            self._warn(int(invalid), bool(few))
        return _sums.Sums(units, hi, lo), (invalid == 0) & few

    def _has_few(self, units: xp.Tensor) -> xp.Tensor:
        return xp.reduce_max(units[0]) < _sums.MAX_COUNT

    def _read_valid(self) -> xp.Tensor:
        """Returns `_read_sums`'s second where there are no sums yet."""
        invalid = _variables.read(self._invalid)
        if _execution.is_eager():
            self._warn(int(invalid), True)
        return invalid == 0

    def _warn(self, invalid: int, few: bool) -> None:
        """Warns, once for each number of invalid batches, why the result is NaN."""
        warned_of, self._warned_of = self._warned_of, invalid if few else -1
        if self._warned_of in (0, warned_of):
            return
        if few:
            batches = "1 batch" if invalid == 1 else f"{invalid} batches"
            reason = (
                f"a compiled update refused {batches}. The usual causes are "
                f"{'; '.join(self._usual_causes())}. An eager update "
                "(`compile(run_eagerly=True)`) says which value it was"
            )
        else:
            reason = "more than 2^53 examples were added, which cannot be told apart"
        warnings.warn(
            f"The result of {type(self).__name__} {self.name!r} is NaN until "
            f"`reset_state`: {reason}.",
            RuntimeWarning,
            stacklevel=4,
        )

    def _usual_causes(self) -> list[str]:
        """Returns why values may be wrong, as far as the options tell."""
        config = self.get_config()
        causes = []
        if config.get("from_logits") is False:
            causes.append("logits where probabilities belong (`from_logits=True`)")
        if "ignore_index" in config:
            causes.append("labels out of range (`ignore_index`)")
        if "scale_transform" in config:
            causes.append("scales that are not positive (`scale_transform`)")
        return [*causes, "values that are NaN or infinite", "negative weights"]

    @property
    def _result_dtype(self) -> xp.DType:
        return xp.float64 if self.dtype == "float64" else xp.float32

    def reset_state(self) -> None:
        """Sets the state back to no examples."""
        with self._alone():
            self._set_all(self.variables, [None] * len(self.variables))

    def _set_all(self, variables: list[Any], values: list[Any]) -> None:
        """Assigns the values, and zeros where there is none: all or nothing where an
        interrupt may come.
        """
        raw = [_variables.raw(variable) for variable in variables]
        if (
            IS_TENSORFLOW
            and _execution.is_eager()
            and all(map(_tf_variables.is_plain, raw))
        ):
            shapes = tuple(tuple(variable.shape) for variable in raw)
            _variables.assign_graph(shapes)(raw, values)
        elif not IS_TENSORFLOW:
            _variables.assign(variables, values)
        else:
            _variables.assign(variables, [None] * len(variables))
            for variable, value in zip(variables, values, strict=True):
                if value is not None:
                    _variables.add(variable, value)  # On one of the replicas.
        self._warned_of = 0

    def get_state(self) -> MetricState:
        """Returns a copy of the state, to save, to send, or to add to others."""
        with self._alone(), _execution.in_64_bits():
            arrays = {
                name: np.array(to_numpy(_sums.loaded(xp.convert_to_tensor(variable))))
                for name, variable in self._state._asdict().items()
                if self._has_sums or name == "invalid"
            }
            classes = self._classes
        if "hi" in arrays:
            arrays["units"] = arrays["units"].reshape(-1, *arrays["hi"].shape[1:])
        arrays = {name: self._turned(array) for name, array in arrays.items()}
        return dataclasses.replace(self._empty_state(), arrays=arrays, classes=classes)

    @_members.not_of_members
    def set_state(self, state: MetricState) -> None:
        """Replaces the state by one of the same metric and options.

        Raises:
          TypeError: it is no `MetricState`.
          ValueError: the metric, its options or its classes differ.
        """
        if not isinstance(state, MetricState):
            raise _checks.type_error("state", "a `MetricState`", state)
        with self._alone(), _execution.in_64_bits():
            state = self._renewed(state)
            self._build_for(state)
            variables = {
                name: variable
                for name, variable in self._state._asdict().items()
                if variable is not None
            }
            # A state of no examples may have no sums.
            values = [
                self._as_variable(state.arrays[name], variable)
                if name in state.arrays
                else None
                for name, variable in variables.items()
            ]
            self._set_all(list(variables.values()), values)

    @_members.not_of_members
    def merge_state(
        self, metrics: Iterable[keras.metrics.Metric | MetricState]
    ) -> None:
        """Adds the states of metrics of the same class and options to this one.

        Args:
          metrics: metrics, or the states that their `get_state` returned.

        Raises:
          TypeError: there is something else among them.
          ValueError: a metric differs in its class, options or number of classes.
        """
        total, taken = self._empty_state(), "metrics of this package, or their states"
        for metric in _checks.listed("metrics", taken, metrics):
            state = metric.get_state() if isinstance(metric, SumsMetric) else metric
            if not isinstance(state, MetricState):  # A collection has several.
                raise _checks.type_error("metrics", taken, metric, verb="hold")
            total = total + self._renewed(state)
        with self._alone(), _execution.in_64_bits():
            self._build_for(total)
            arrays = map(self._turned, total.arrays.values())
            invalid, *sums = map(xp.constant, arrays)
            if sums:
                self._add_sums(_sums.Sums(*sums), xp.constant(True), invalid)
            else:
                _variables.add(self._invalid, invalid)

    def _turned(self, array: np.ndarray) -> np.ndarray:
        """Returns the sums of a `MetricState` in the order of the variables, or the
        other way round.
        """
        return array

    def _as_variable(self, array: np.ndarray, variable: Any) -> xp.Tensor:
        """Returns an array of a `MetricState` as its variable has it."""
        array = self._turned(array)
        return xp.constant(array.reshape(variable.shape) if IS_TENSORFLOW else array)

    def _renewed(self, state: MetricState) -> MetricState:
        """Returns a state of an earlier version as this one keeps it."""
        return state

    def _build_for(self, state: MetricState) -> None:
        """Makes the sums that the state has; raises ValueError unless it fits."""
        self._check_state(state)
        if self._has_sums:
            return
        if state.classes is not None:
            with bounded_by(state):
                self._build(state.classes)
            self._check_state(state)
        elif "hi" in state.arrays:
            raise _checks.error(
                "classes", "the number of classes in a state that holds sums", None
            )

    def _empty_state(self) -> MetricState:
        config = self.get_config()
        del config["name"], config["dtype"]
        name = keras.utils.get_registered_name(type(self)).rpartition(">")[2]
        return MetricState(name, config, {"invalid": np.zeros([], np.int64)})

    def _check_state(self, state: MetricState) -> None:
        """Raises ValueError unless a state can be added to this one."""
        self.get_state() + state

    def _build(self, num_classes: int) -> None:
        """Makes a state that depends on the number of classes."""
        raise NotImplementedError


class MeanMetric(SumsMetric):
    """A metric that is the weighted mean of a score of each example."""

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        self._build_sums((2 * self._num_means,))

    @property
    def _num_means(self) -> int:
        """The number of groups of examples, each of which has a mean."""
        return 1

    def _has_few(self, units: xp.Tensor) -> xp.Tensor:
        return xp.reduce_max(units[: self._num_means]) < _sums.MAX_COUNT

    def result(self) -> xp.Tensor:
        """Returns the mean over all batches; 0.0 before the first."""
        return self._means()[0][0]

    def _means(self) -> tuple[xp.Tensor, xp.Tensor]:
        """Returns the means, and which of them have a weight."""
        sums, valid = self._read_sums()
        totals = _sums.totals(sums, self._result_dtype)
        weights, totals = xp.unstack(xp.reshape(totals, [2, -1]))
        means = xp.math.divide_no_nan(totals, weights)
        nan = xp.constant(float("nan"), means.dtype)
        return xp.where(valid, means, nan), weights > 0


def _has_no_share(y_pred: Any) -> bool:
    """Says if a graph is traced for a replica that the last batch leaves without data.

    Shapes of no examples are an error elsewhere.
    """
    return (
        xp.is_tensor(y_pred) and y_pred.shape[:1] == [0] and not _execution.is_eager()
    )


_UpdateState = TypeVar("_UpdateState", bound=Callable[..., None])


def adds_batch(update_state: _UpdateState) -> _UpdateState:
    """Makes `update_state` take empty shares; there is nothing in it to convert."""

    @functools.wraps(update_state)
    def update(self: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if not _has_no_share(y_pred):
            with _execution.without_gradients():
                update_state(self, y_true, y_pred, sample_weight)

    return _execution.not_converted(update)  # type: ignore[return-value]


Reduction = Literal["sum_over_batch_size", "sum", "none"]


class Loss(keras.losses.Loss):
    """A loss; Keras 3 and tf_keras differ in the constructor and in the types passed.

    Args:
      reduction: "sum_over_batch_size", "sum" or "none", or another that Keras knows.
      name: name of the loss.
      dtype: of the arithmetic; by default float32, or float64 where the predictions
        reach the loss so.
    """

    def __init__(self, reduction: Reduction, name: str | None, dtype: Any = None):
        dtype = getattr(dtype, "compute_dtype", dtype)  # Of a policy.
        self._dtype_argument = getattr(dtype, "name", dtype)
        options = _family.loss_options(dtype)
        super().__init__(name=name, reduction=reduction, **options)

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> xp.Tensor:
        """Returns the loss, reduced, as `keras.losses.Loss` does."""
        _family.refuse_other("loss", self)
        batch = {"y_true": y_true, "y_pred": y_pred}
        if sample_weight is not None:
            batch["sample_weight"] = sample_weight
        for name, value in batch.items():
            # Keras would cast text, objects and complex numbers to real ones.
            if not _inputs.is_distribution(value):
                batch[name] = _inputs.as_tensor(name, value)
        if sample_weight is not None:
            batch["sample_weight"] = _inputs.checked_weights(batch["sample_weight"])
        if _has_no_share(batch["y_pred"]):
            return self._nothing(batch["y_pred"])
        if sample_weight is not None:
            self._align_weights(batch)
        return super().__call__(**batch)

    def _align_weights(self, batch: dict[str, Any]) -> None:
        """Gives the weights the rank of the scores; raises ValueError for misfits."""
        raise NotImplementedError

    def _nothing(self, y_pred: xp.Tensor) -> xp.Tensor:
        """Returns the loss of no examples, of which there are gradients."""
        dtype = getattr(self, "dtype", self._dtype_argument)
        dtype = dtype or _inputs.predictions_dtype(y_pred)
        scores = xp.cast(xp.reshape(y_pred, [0]), dtype)
        return scores if self.reduction == "none" else xp.reduce_sum(scores)

    def _cast(self, y_pred: xp.Tensor) -> xp.Tensor:
        """Returns the predictions in the precision of the arithmetic."""
        if self._dtype_argument is not None:
            return xp.cast(y_pred, self._dtype_argument)
        return y_pred

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "reduction": self.reduction,
            "name": self.name,
            "dtype": self._dtype_argument,
        }
