"""The base classes of all metrics: the state, and how batches are added to it."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from uncertainty_metrics import _checks, _directions, _typed_names, _user_warnings
from uncertainty_metrics.keras import (
    _batches,
    _computed,
    _family,
    _tf_variables,
    _variables,
)
from uncertainty_metrics.keras._family import keras as keras
from uncertainty_metrics.numpy._metric_state import (
    MetricState,
    bounded_by,
    check_cells,
)
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _sizes,
    _structures,
    _sums,
    to_numpy,
    xp,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_Metric = TypeVar("_Metric", bound="type[SumsMetric]")


def register(function: str | None, room: str = "") -> Callable[[_Metric], _Metric]:
    """Returns a decorator that registers a public metric, so that Keras can save it and
    load it, and says which of its values are better.

    Args:
      function: name of the function whose value the metric streams: `_directions.py`
        has its direction. None if neither value is better.
      room: the subpackage that has the metric, "" for none.

    Raises:
      TypeError: the decorator was written without a function.
    """
    if isinstance(function, type):
        raise TypeError(
            f"{function.__module__.replace('.', '/')}.py: write "
            f'`@_base.register("...")` above the class {function.__name__}, with the '
            "function whose value it streams"
        )
    better = "neither" if function is None else _directions.direction(function)

    def decorator(metric: _Metric) -> _Metric:
        if better != "neither":
            metric._direction = "up" if better == "larger" else "down"
        metric._arguments = tuple(inspect.signature(metric.__init__).parameters)[1:]
        registered = _family.register_in(room) if room else _family.register
        return registered(metric)

    return decorator


def _restored(
    metric: type[SumsMetric], config: dict[str, Any], state: MetricState
) -> SumsMetric:
    """Returns the metric of a configuration and a state, for pickles and copies."""
    restored = metric.from_config(config)
    restored.set_state(state)
    return restored


class SumsMetric(_typed_names.Constructor, keras.metrics.Metric):
    """A metric whose state is `Sums`, and a count of invalid batches."""

    # Whether larger values ("up") or smaller values ("down") are better, for callbacks
    # of Keras 3. A metric has no direction if neither are better, or if its result is
    # always a dict; a callback that monitors it needs `mode=`.
    _direction: Literal["up", "down"]
    # The examples without which the result is NaN, for a warning; None if it is always
    # defined.
    _needs: str | None = None
    # The arguments of the constructor of the public class, for `get_config`.
    _arguments: tuple[str, ...]
    # Whether a collection holds the metric.
    _is_member = False

    def __init__(self, name: str | None = None, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # An eager call holds it while it makes, changes or reads the state.
        self._lock = threading.RLock()
        # The number of invalid batches in the last warning; -1 for too many examples.
        self._warned_of = 0
        self._warned_undefined = False
        self._compiled_results = _computed.CompiledResults()
        # A compiled update cannot raise an error. It counts each batch that is not
        # valid, and the count makes the result NaN.
        self._invalid = self._add_counts("invalid", ())
        self._units: Any = None
        self._hi: Any = None
        self._lo: Any = None
        # The number of classes of the state; None while it fits any number.
        self._classes: int | None = None

    def _add_counts(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.add_weight(
            name=name,
            shape=_sums.state_shape(shape),
            initializer="zeros",
            dtype=_sums.STATE_TYPE,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        own = (name for name in self._arguments if name not in ("name", "dtype"))
        return {**super().get_config(), **{name: self._option(name) for name in own}}

    def _option(self, name: str) -> Any:
        """Returns the value of an argument of the constructor."""
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.get_config(), self.get_state())

    def __repr__(self) -> str:
        title = f"{type(self).__name__} name={self.name}"
        if not _execution.is_eager() or _execution.has_strategy():
            return f"<{title}>"
        if not any(np.any(to_numpy(xp.convert_to_tensor(v))) for v in self.variables):
            return f"<{title}, no examples>"
        # The warning is left to the next `result`.
        warned = self._warned_of, self._warned_undefined
        with warnings.catch_warnings(), _execution.uncompiled():
            warnings.simplefilter("ignore")
            result = self.result()
        self._warned_of, self._warned_undefined = warned
        parts = result if isinstance(result, dict) else {"result": result}
        values = [
            f"{name}={np.array2string(to_numpy(part), precision=6, threshold=12)}"
            for name, part in parts.items()
        ]
        return f"<{', '.join([title, *values])}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        function, arguments = self.__reduce__()
        return memo.setdefault(id(self), function(*arguments))

    def _locked(self) -> contextlib.AbstractContextManager[object]:
        """Returns a context in which no other thread makes or changes the state."""
        # The replicas of a strategy are threads that wait for each other: if one held
        # the lock, the others would wait for the lock, and none would go on.
        return contextlib.nullcontext() if _execution.has_strategy() else self._lock

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch and returns the result, as `keras.metrics.Metric` does."""
        _family.refuse_other("metric", self)
        return super().__call__(*args, **kwargs)

    @property
    def variables(self) -> list[Any]:
        """The variables of the state, in the order in which Keras saves them."""
        # `compile` of tf_keras reads them before it calls the metric.
        _family.refuse_other("metric", self)
        return super().variables

    def _build_sums(
        self, shape: tuple[int, ...], scores: bool = False, scattered: bool = False
    ) -> None:
        """Makes the variables of `Sums`.

        Args:
          shape: the shape of the sums.
          scores: whether the second of three rows holds scores, which have two rows of
            units.
          scattered: whether batches may add `Scattered` units. The units of TensorFlow
            then have one axis, because it adds to one axis fastest.
        """
        check_cells(shape)
        # An interrupt may have left some variables made and others not.
        if self._units is None:
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
    def _num_results(self) -> int:
        """The number of values in the result."""
        num_groups = getattr(self, "num_groups", None)
        return 1 if num_groups is None else num_groups + 1

    def _refuse_member(self) -> None:
        """Raises ValueError for a member of a collection, which may share its state."""
        if self._is_member:
            raise _checks.plain_error(
                "A metric in a `MetricCollection` cannot be changed alone, because the "
                "members may share a state: call the method of the collection.",
                repr(self),
            )

    def _forget_shown(self) -> None:
        """Makes the next result one of all batches; collections may show others."""

    def _has_same_result_in_steps(self) -> bool:
        """Returns whether the result is computed alike in eager code and in steps."""
        # Replicas add up their states, which eager code does not.
        return not (_execution.has_strategy() or _execution.is_uncompiled())

    def _forget_warnings(self) -> None:
        """Makes the next warning a new one, as the result is right again."""
        self._warned_of = 0
        self._warned_undefined = False

    @property
    def _has_sums(self) -> bool:
        return self._lo is not None

    @property
    def _state(self) -> _variables.State:
        return _variables.State(self._invalid, self._units, self._hi, self._lo)

    def _plain_state(self) -> _variables.State | None:
        """Returns the variables of TensorFlow to which an eager call can add a batch;
        None if there are none, or if a strategy has copies of them.
        """
        if not (IS_TENSORFLOW and self._has_sums and _execution.is_eager()):
            return None
        state = _variables.State(*map(_variables.raw, self._state))
        return state if all(map(_tf_variables.is_plain, state)) else None

    def _read(self, y_true: Any, y_pred: Any, sample_weight: Any) -> _batches.Reading:
        """Reads the arguments of `update_state`; raises ValueError for wrong shapes.

        A collection calls it instead of `update_state`, and adds the batch itself.
        """
        raise NotImplementedError

    def _add(self, batch: _batches.Reading) -> None:
        """Adds a batch; raises ValueError for wrong values."""
        self._refuse_member()
        with self._locked(), _execution.in_64_bits():
            state = self._plain_state()
            eager = _execution.is_eager()
            if eager and (batch.compiled or not IS_TENSORFLOW):
                update = _variables.compiled_update(
                    batch.batch_sums, batch.options, batch.shape
                )
                sums, valid = update(state, _variables.NO_INVALID_BATCHES, *batch.data)
            else:
                tensors, same = _sizes.of_equal_number(_structures.flatten(batch.data))
                data = _structures.packed_like(batch.data, tensors)
                sums, valid = batch.batch_sums(*batch.options, *data)
                valid = valid & same
            if eager and not valid:
                batch.explain()
            self._settle_by(batch)
            invalid = xp.cast(~valid, xp.int64)
            if sums is not None:
                self._add_sums(sums, valid, invalid)
            elif not valid:
                _variables.add(self._invalid, invalid)

    def _settle_by(self, batch: _batches.Reading) -> None:
        """Settles what the first batch tells, and makes a state that waits for it."""
        self._settle(batch.one_column)
        if not self._has_sums and batch.classes is not None:
            self._build(batch.classes)

    def _settle(self, one_column: bool | None) -> None:
        """Settles the option that the form of the first batch tells, if it did."""

    def _settle_like(self, other: SumsMetric) -> None:
        """Settles it as in a metric with which this one shares a state."""

    def _add_sums(self, sums: _sums.Sums, valid: xp.Tensor, invalid: xp.Tensor) -> None:
        state = self._plain_state()
        if state is None:
            _variables.add_batch(self._state, sums, valid, invalid)
        else:
            shape = tuple(self._hi.shape)
            add = _variables.compiled_update(_variables.computed_sums, (), shape)
            add(state, invalid, valid, *sums)

    def _read_sums(self) -> tuple[_sums.Sums, xp.Tensor]:
        """Returns the sums of all replicas, and whether to trust them; warns if not."""
        with self._locked():
            invalid, units, hi, lo = map(_variables.read, self._state)
        if len(units.shape) != len(hi.shape):
            units = xp.reshape(units, [-1, hi.shape[1]])
        exact = self._counts_are_exact(units)
        if _execution.is_eager():
            self._warn_if_nan(int(invalid), bool(exact))
        return _sums.Sums(units, hi, lo), (invalid == 0) & exact

    def _counts_are_exact(self, units: xp.Tensor) -> xp.Tensor:
        """Returns whether each cell has so few examples that its sums are exact."""
        return xp.reduce_max(units[0]) < _sums.MAX_COUNT

    def _read_valid(self) -> xp.Tensor:
        """Returns whether to trust a state that has no sums yet; warns if not."""
        invalid = _variables.read(self._invalid)
        if _execution.is_eager():
            self._warn_if_nan(int(invalid), True)
        return invalid == 0

    def _warn_if_nan(self, invalid: int, exact: bool) -> None:
        """Warns, once for each number of invalid batches, why the result is NaN."""
        before, self._warned_of = self._warned_of, invalid if exact else -1
        if self._warned_of in (0, before):
            return
        if exact:
            batches = "1 batch" if invalid == 1 else f"{invalid} batches"
            reason = (
                f"a compiled update refused {batches}. The usual causes are "
                f"{'; '.join(self._usual_causes())}. An eager update "
                "(`compile(run_eagerly=True)`) says which value is wrong"
            )
        else:
            reason = "more than 2^53 examples were added, too many to count exactly"
        _user_warnings.warn(
            f"The result of {type(self).__name__} {self.name!r} is NaN until "
            f"`reset_state`: {reason}.",
            RuntimeWarning,
        )

    def _warn_if_undefined(self, value: Any) -> None:
        """Warns, once until it is defined, if the value of a good state is NaN."""
        if self._needs is None:
            return
        before, self._warned_undefined = self._warned_undefined, bool(value != value)
        if self._warned_undefined and not before:
            _user_warnings.warn(
                f"The result of {type(self).__name__} {self.name!r} is NaN: it needs "
                f"{self._needs}.",
                RuntimeWarning,
            )

    def _usual_causes(self) -> list[str]:
        """Returns the usual reasons why values are wrong, for the options given."""
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
        with self._locked():
            self._set_all(self.variables, [None] * len(self.variables))

    def _set_all(self, variables: list[Any], values: list[Any]) -> None:
        """Assigns a value to each variable; None stands for zeros.

        An interrupt leaves all or none of them assigned, except under a strategy.
        """
        raw = [_variables.raw(variable) for variable in variables]
        if (
            IS_TENSORFLOW
            and _execution.is_eager()
            and all(map(_tf_variables.is_plain, raw))
        ):
            shapes = tuple(tuple(variable.shape) for variable in raw)
            _variables.compiled_assign(shapes)(raw, values)
        elif not IS_TENSORFLOW:
            _variables.assign(variables, values)
        else:
            _variables.assign(variables, [None] * len(variables))
            for variable, value in zip(variables, values, strict=True):
                if value is not None:
                    _variables.add(variable, value)  # Adds on one replica alone.
        self._forget_warnings()

    def get_state(self) -> MetricState:
        """Returns a copy of the state, to save, to send, or to add to other states."""
        with self._locked(), _execution.in_64_bits():
            arrays = {
                name: np.array(to_numpy(_sums.loaded(xp.convert_to_tensor(variable))))
                for name, variable in self._state._asdict().items()
                if self._has_sums or name == "invalid"
            }
            classes = self._classes
        if "hi" in arrays:
            arrays["units"] = arrays["units"].reshape(-1, *arrays["hi"].shape[1:])
        arrays = {name: self._swap_layout(array) for name, array in arrays.items()}
        return dataclasses.replace(self._empty_state(), arrays=arrays, classes=classes)

    def set_state(self, state: MetricState) -> None:
        """Replaces the state by a state of the same metric and options.

        Raises:
          TypeError: `state` is not a `MetricState`.
          ValueError: the state is of another metric, or of other options or classes.
        """
        self._refuse_member()
        if not isinstance(state, MetricState):
            raise _checks.type_error("state", "a `MetricState`", state)
        with self._locked(), _execution.in_64_bits():
            self._build_for(state)
            variables = {
                name: variable
                for name, variable in self._state._asdict().items()
                if variable is not None
            }
            # A state of no examples may have no sums.
            values = [
                self._to_store(state.arrays[name], variable)
                if name in state.arrays
                else None
                for name, variable in variables.items()
            ]
            self._set_all(list(variables.values()), values)

    def merge_state(
        self, metrics: Iterable[keras.metrics.Metric | MetricState]
    ) -> None:
        """Adds the states of metrics of the same class and options to this one.

        Args:
          metrics: metrics, or the states that their `get_state` returned.

        Raises:
          TypeError: an item is neither a metric nor a state.
          ValueError: a metric differs in its class, options or number of classes.
        """
        self._refuse_member()
        expected = "metrics of this package, or their states"
        total = self._empty_state()
        for metric in _checks.listed("metrics", expected, metrics):
            state = metric.get_state() if isinstance(metric, SumsMetric) else metric
            if not isinstance(state, MetricState):  # A collection has several.
                raise _checks.type_error("metrics", expected, metric, verb="hold")
            total = total + state
        with self._locked(), _execution.in_64_bits():
            self._build_for(total)
            arrays = map(self._swap_layout, total.arrays.values())
            invalid, *sums = map(xp.constant, arrays)
            if sums:
                self._add_sums(_sums.Sums(*sums), xp.constant(True), invalid)
            else:
                _variables.add(self._invalid, invalid)

    def _swap_layout(self, array: np.ndarray) -> np.ndarray:
        """Returns an array of a `MetricState` in the layout of its variable, or the
        other way round. For most metrics the two layouts are the same.
        """
        return array

    def _to_store(self, array: np.ndarray, variable: Any) -> xp.Tensor:
        """Returns an array of a `MetricState` as the value of its variable."""
        array = self._swap_layout(array)
        return xp.constant(array.reshape(variable.shape) if IS_TENSORFLOW else array)

    def _build_for(self, state: MetricState) -> None:
        """Makes variables for the sums of a state; raises ValueError if it does not
        fit this metric.
        """
        self._check_state(state)
        with bounded_by(state):
            self._settle(state.config.get("positive_class"))
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
        """Returns the state of no examples."""
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
        """The number of means: one for each group of examples."""
        return 1

    def _counts_are_exact(self, units: xp.Tensor) -> xp.Tensor:
        return xp.reduce_max(units[: self._num_means]) < _sums.MAX_COUNT

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the mean of all batches; 0.0 before the first example that counts."""
        return self._means()[0][0]

    def _means(self) -> tuple[xp.Tensor, xp.Tensor]:
        """Returns the means, and whether each is of some weight."""
        sums, valid = self._read_sums()
        totals = _sums.totals(sums, self._result_dtype)
        weights, totals = xp.unstack(xp.reshape(totals, [2, -1]))
        means = xp.math.divide_no_nan(totals, weights)
        nan = xp.constant(float("nan"), means.dtype)
        return xp.where(valid, means, nan), weights > 0
