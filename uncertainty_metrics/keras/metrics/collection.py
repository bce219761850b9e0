"""Several metrics as one: the Keras metric."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _batches, _computed, _family, _variables
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.ops import (
    _execution,
    _inputs,
    _shared_values,
    _sizes,
    _sums,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

_keras = _base.keras

__all__ = ["MetricCollection"]


class _Reading(NamedTuple):
    """A batch as the first of the metrics that share a state reads it."""

    metric: _base.SumsMetric
    batch: _batches.Reading


def _has_own_update(metric: _base.SumsMetric) -> bool:
    """Returns whether a class changes `update_state` and not what a collection calls,
    `_read`.
    """
    for owner in type(metric).__mro__:
        if "_read" in vars(owner):
            return False
        if "update_state" in vars(owner):
            return True
    return False


def _members_by_name(metrics: Any) -> dict[str, _base.SumsMetric]:
    """Returns the metrics by name; raises ValueError unless they can be members."""
    expected = "a list of metrics of this package, or a dict of them by name"
    if not isinstance(metrics, Mapping | Sequence) or isinstance(metrics, str):
        raise _checks.error("metrics", expected, repr(metrics))
    given = list(metrics.values() if isinstance(metrics, Mapping) else metrics)
    for metric in given:
        needed = None
        if not isinstance(metric, _base.SumsMetric):
            needed = expected
        elif isinstance(metric, MetricCollection) or metric._is_member:
            needed = "metrics that are not collections and in no other collection"
        elif _has_own_update(metric):
            needed = (
                "metrics whose class does not replace `update_state`, which a "
                "collection does not call: it calls `_read`, and adds what that returns"
            )
        elif _execution.is_eager() and any(
            map(np.any, metric.get_state().arrays.values())
        ):
            needed = "metrics without examples: call `reset_state` on them first"
        if needed:
            raise _checks.error("metrics", needed, repr(metric))
    names = list(metrics) if isinstance(metrics, Mapping) else [m.name for m in given]
    if not all(isinstance(name, str) for name in names):
        raise _checks.error("metrics", "names that are strings", names, verb="have")
    if not 0 < len(set(names)) == len(names) == len(set(map(id, given))):
        raise _checks.error(
            "metrics",
            "at least one metric, and each only once and with a name of its own",
            names,
            verb="hold",
        )
    return dict(zip(map(str, names), given, strict=True))


def _mapped(function: Any, data: Any) -> Any:
    """Returns nested tuples with the function applied to each tensor in them."""
    if not isinstance(data, tuple):
        return None if data is None else function(data)
    parts = [_mapped(function, part) for part in data]
    return type(data)(*parts) if hasattr(data, "_fields") else tuple(parts)


# One call of a `batch_sums` for one or more metrics: the function, its options, and the
# places of its data in a list of tensors.
_Call = tuple[_variables.BatchSums, tuple[Any, ...], Any]


def _sum_or_add(
    calls: tuple[_Call, ...], states: Any, tensors: list[Any]
) -> tuple[list[_sums.Sums] | None, list[xp.Tensor]]:
    """Returns the sums of a batch, or adds them to the states if all are valid; and
    whether each is valid.

    If there are states, None is returned instead of the sums.

    Args:
      calls: the calls to make.
      states: the state for each call, or None.
      tensors: the data of all calls, each tensor once.
    """
    with _shared_values.sharing():
        results = [
            batch_sums(*options, *_mapped(tensors.__getitem__, places))
            for batch_sums, options, places in calls
        ]
    sums, valid = map(list, zip(*results, strict=True))
    if states is None:
        return sums, valid
    _add_all(states, sums, _all_true(valid))
    return None, valid


def _joined_options(readings: list[_Reading]) -> tuple[Any, ...]:
    """Returns the options of one call for all readings, which are `joinable`."""
    options = readings[0].batch.options
    if len(readings) == 1:
        return options
    firsts = (reading.batch.options[0] for reading in readings)
    return tuple(itertools.chain(*firsts)), *options[1:]


def _all_true(valid: list[xp.Tensor]) -> xp.Tensor:
    return xp.reduce_all(xp.concat([xp.reshape(each, [-1]) for each in valid], axis=0))


def _add_all(states: Any, sums: list[_sums.Sums], valid: xp.Tensor) -> None:
    for state, each in zip(states, sums, strict=True):
        _variables.add_batch(_variables.State(*state), _sums.Sums(*each), valid, None)


@functools.lru_cache(maxsize=64)
def _compiled_update(calls: tuple[_Call, ...], shapes: tuple[Any, ...]) -> Any:
    """Returns `_sum_or_add` as one call, which an interrupt cannot leave half done."""
    del shapes  # Each has a graph of its own, so only the size of the batch varies.
    update = functools.partial(_sum_or_add, calls)
    return _execution.compiled(update, any_size=True)


@functools.lru_cache(maxsize=64)
def _compiled_add_all(shapes: tuple[Any, ...]) -> Any:
    """Returns `_add_all` as one call, which an interrupt cannot leave half done."""
    del shapes
    return _execution.compiled(_add_all)


def _calls_of(
    readings: list[_Reading],
) -> tuple[tuple[_Call, ...], list[list[_Reading]], list[Any]]:
    """Returns the calls that add up a batch for all metrics.

    Returns:
      the calls; for each call, the readings that it serves; the data of all calls, each
      tensor once.
    """
    places: dict[int, int] = {}
    tensors: list[Any] = []

    def place(tensor: Any) -> int:
        if id(tensor) not in places:
            places[id(tensor)] = len(tensors)
            tensors.append(tensor)
        return places[id(tensor)]

    sets: dict[Any, list[_Reading]] = {}
    for i, reading in enumerate(readings):
        batch = reading.batch
        data = _mapped(place, batch.data)
        key = (batch.batch_sums, batch.options[1:]) if batch.joinable else i
        sets.setdefault((key, data), []).append(reading)
    calls = tuple(
        (own[0].batch.batch_sums, _joined_options(own), data)
        for (_, data), own in sets.items()
    )
    return calls, list(sets.values()), tensors


def _explain(sets: list[list[_Reading]], each_valid: list[xp.Tensor]) -> None:
    """Raises the ValueError that says what is wrong with the batch."""
    for own, valid in zip(sets, each_valid, strict=True):
        for reading, is_valid in zip(own, np.atleast_1d(valid), strict=True):
            if not is_valid:
                reading.batch.explain()


@_base.register(None)
class MetricCollection(_base.SumsMetric):
    """Several metrics of the same labels and predictions as one.

    The result is a dict of the results of the metrics, the same as without a
    collection, but for less work: arguments are read and checked once for all metrics,
    and metrics that need the same sums share one state. `ExpectedCalibrationError` and
    `MaximumCalibrationError` share one, for example, and so do `AURC`, `AUGRC` and
    `CoverageAtRisk`, if the options that they have in common are equal.

    In a collection a metric can be read, by `result` or `get_state`, but only the
    collection changes its state. A batch that is wrong for one of the metrics is added
    to none.

    A callback that monitors one of the results needs `mode="min"` or `mode="max"`,
    because a collection has no single direction that Keras could read.

    Args:
      metrics: streaming metrics of this package that have no examples yet: a list, or a
        dict of them by name. The results have these names, or in the case of a list
        the names of the metrics.
      name: name of the collection.
      result_every: a compiled training or evaluation step computes the results only
        once in so many batches, and shows the last ones until then, in float32. Eager
        reads are always of all batches: so are the values of an epoch, unless a
        `train_step` or `test_step` of your own returns other keys. 1 computes them in
        each step, as do PyTorch, strategies and eager steps.

    Raises:
      ValueError: an argument is not as described, two metrics have the same name, or a
        metric is a collection or in another collection. For a wrong batch,
        `update_state` raises it in eager execution and changes no state; a compiled
        update makes all results NaN until `reset_state`.

    Attributes:
      metrics: a dict of the metrics by name.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MetricCollection([um.BrierScore(), um.ExpectedCalibrationError()])
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> {name: round(float(value), 6) for name, value in metric.result().items()}
      {'brier_score': -0.95, 'expected_calibration_error': 0.15}
    """

    def __init__(
        self,
        metrics: Sequence[_base.SumsMetric] | Mapping[str, _base.SumsMetric],
        name: str | None = None,
        *,
        result_every: int = 1,
    ) -> None:
        members = _members_by_name(metrics)
        super().__init__(name=name)
        self.result_every = _checks.positive_integer("result_every", result_every)
        self._is_dict = isinstance(metrics, Mapping)
        self._names = tuple(members)
        self._members = tuple(members.values())
        sharers: dict[Any, list[str]] = {}
        for key, metric in members.items():
            metric._is_member = True
            metric._lock = self._lock
            same = getattr(metric, "_same_sums", id(metric))
            sharers.setdefault(same, []).append(key)
        # The names of the metrics that share a state; the first of them owns it.
        self._sharers = tuple(map(tuple, sharers.values()))
        self._share_states()
        # One more than the number of batches since the results that are shown; 0 if
        # the next results must be computed.
        self._age: Any = None
        self._shown: Any = None
        if self.result_every > 1 and _execution.COMPILES:
            self._age = self._add_counts("age", ())
            self._shown = self.add_weight(
                name="shown",
                shape=(sum(metric._num_results for metric in self._members),),
                initializer="zeros",
                dtype="float32",
            )

    @property
    def metrics(self) -> dict[str, _base.SumsMetric]:
        """The metrics by name."""
        return dict(zip(self._names, self._members, strict=True))

    @property
    def variables(self) -> list[Any]:
        """The variables of all states, each once, in the order in which Keras saves
        them.
        """
        variables = list(super().variables)
        for metric in getattr(self, "_members", ()):
            variables += metric.variables
        return list({id(variable): variable for variable in variables}.values())

    def _share_states(self) -> None:
        """Gives each metric the state of the metric with which it shares one, as far as
        this state has been made.
        """
        metrics = self.metrics
        for names in self._sharers:
            owner, *others = (metrics[name] for name in names)
            _family.share_variables(owner, _invalid=self._invalid)
            invalid, units, hi, lo = owner._state
            for metric in others:
                metric._settle_like(owner)
                had_sums = metric._has_sums
                _family.share_variables(metric, _invalid=invalid)
                if owner._has_sums:
                    _family.share_variables(metric, _units=units, _hi=hi, _lo=lo)
                    if not had_sums and owner._classes is not None:
                        metric._build(owner._classes)

    @_batches.adds_batch
    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch to all metrics, or to none.

        Args:
          y_true: labels, as the metrics take them; or a dict of `labels` and `groups`.
            Metrics without `num_groups` take the labels alone.
          y_pred: predictions, as the metrics take them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        self._add_to_all(self._read_by_all(y_true, y_pred, sample_weight))

    def _read_by_all(
        self, y_true: Any, y_pred: Any, sample_weight: Any
    ) -> list[_Reading]:
        """Reads a batch by one of the metrics of each state."""
        batch = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight}
        for name, value in batch.items():
            if isinstance(value, Mapping):
                parts = {k: _inputs.as_tensor(k, part) for k, part in value.items()}
                batch[name] = parts
            elif value is not None and not _inputs.is_distribution(value):
                batch[name] = _inputs.as_tensor(name, value)
        metrics = self.metrics
        with _shared_values.sharing():  # Arguments are read once for all of them.
            return [
                _Reading(metrics[name], metrics[name]._read(**batch))
                for name, *_ in self._sharers
            ]

    def _add_to_all(self, readings: list[_Reading]) -> None:
        """Adds a batch to all states, or to none."""
        calls, sets, tensors = _calls_of(readings)
        with self._locked(), _execution.in_64_bits():
            eager = _execution.is_eager()
            if eager:
                self._forget_shown()
            elif self._can_show():
                age = _variables.read(self._age)
                age += xp.cast(age > 0, age.dtype)
                _variables.assign([self._age], [age])
            states = self._plain_states(sets)
            if eager and all(reading.batch.compiled for reading in readings):
                shapes = tuple(reading.batch.shape for reading in readings)
                sums, each_valid = _compiled_update(calls, shapes)(states, tensors)
            else:
                tensors, same = _sizes.of_equal_number(tensors)
                sums, each_valid = _sum_or_add(calls, None, tensors)
                each_valid.append(xp.convert_to_tensor(same))
            valid = _all_true(each_valid)
            if eager and not valid:
                _explain(sets, each_valid)
            for reading in readings:
                reading.metric._settle_by(reading.batch)
            self._share_states()
            if sums is not None:
                self._add_sums_to_all(sets, sums, valid)
            if not eager or not valid:
                _variables.add(self._invalid, xp.cast(~valid, xp.int64))

    def _add_sums_to_all(
        self, sets: list[list[_Reading]], sums: list[_sums.Sums], valid: Any
    ) -> None:
        """Adds the sums of each set to the states of its metrics, if all are valid."""
        states = self._plain_states(sets)
        if states is None:
            states = [_variables.joined(r.metric._state for r in own) for own in sets]
            _add_all(states, sums, valid)
        else:
            shapes = tuple(tuple(r.metric._hi.shape) for own in sets for r in own)
            _compiled_add_all(shapes)(states, sums, valid)

    def _plain_states(self, sets: list[list[_Reading]]) -> list[Any] | None:
        """Returns the variables of TensorFlow to which an eager call can add a batch;
        None if a metric has none.
        """
        states: Any = [[r.metric._plain_state() for r in own] for own in sets]
        if any(None in own for own in states):
            return None
        return list(map(_variables.joined, states))

    @_computed.in_one_call
    def result(self) -> dict[str, xp.Tensor]:
        """Returns the results of all metrics, by name.

        If the result of a metric is a dict, the name of the metric and the key name
        each part, as in `brier_decomposition_reliability`. A compiled step may return
        earlier results: see `result_every`.
        """
        if _execution.is_eager() or not self._can_show():
            return self._computed_results()
        names = list[str]()

        def compute() -> xp.Tensor:
            results = self._computed_results()
            names[:] = results
            values = (xp.cast(value, xp.float32) for value in results.values())
            return xp.stack(list(values))

        age = _variables.read(self._age)
        is_due = (age == 0) | (age > self.result_every)
        values = xp.cond(is_due, compute, lambda: _variables.read(self._shown))
        age = xp.where(is_due, xp.ones_like(age), age)
        _variables.assign([self._age, self._shown], [age, values])
        return dict(zip(names, xp.unstack(values), strict=True))

    def _can_show(self) -> bool:
        """Returns whether a compiled step may show earlier results."""
        # A replica cannot read the sums of all replicas in a branch.
        return self._shown is not None and not _execution.has_strategy()

    def _forget_shown(self) -> None:
        if self._can_show():
            _variables.assign([self._age], [None])

    def _has_same_result_in_steps(self) -> bool:
        return self._shown is None and all(
            metric._has_same_result_in_steps() for metric in self._members
        )

    def _forget_warnings(self) -> None:
        super()._forget_warnings()
        for metric in self._members:
            metric._forget_warnings()

    def _computed_results(self) -> dict[str, xp.Tensor]:
        results: dict[str, Any] = {}
        # A state is read once for all of the metrics that share it.
        with self._locked(), _shared_values.sharing(), _computed.as_parts():
            self._read_valid()
            for name, metric in self.metrics.items():
                # The collection has warned already.
                metric._warned_of = self._warned_of
                value = type(metric).result(metric)
                if isinstance(value, Mapping):
                    # The keys of groups begin with the name of the metric already.
                    own = f"{metric.name}_"
                    results |= {
                        f"{name}_{key.removeprefix(own)}": part
                        for key, part in value.items()
                    }
                else:
                    results[name] = value
        return results

    def get_state(self) -> dict[str, MetricState]:  # type: ignore[override]
        """Returns copies of the states by the names of the metrics: each can be saved,
        sent, or added to other states of its metric.
        """
        with self._locked():
            return {name: metric.get_state() for name, metric in self.metrics.items()}

    def set_state(self, state: Mapping[str, MetricState]) -> None:  # type: ignore[override]
        """Replaces the states by the states of a collection of the same metrics.

        Raises:
          TypeError: `state` is not a dict of states.
          ValueError: the names, the metrics, their options or their classes differ, or
            the states are of different batches.
        """
        with self._locked(), _execution.in_64_bits():
            self._check_states(state)
            values = {}
            for name, *_ in self._sharers:
                metric = self.metrics[name]
                metric._build_for(state[name])
                for key, variable in metric._state._asdict().items():
                    if key in state[name].arrays:
                        array = state[name].arrays[key]
                        values[id(variable)] = metric._to_store(array, variable)
            self._share_states()
            variables = self.variables
            self._set_all(variables, [values.get(id(each)) for each in variables])

    def _check_states(self, states: Any) -> None:
        """Raises TypeError or ValueError unless the states fit this collection."""
        expected = f"a dict of the states of {', '.join(self._names)}"
        if not isinstance(states, Mapping):
            raise _checks.type_error("state", expected, states)
        if set(states) != set(self._names):
            raise _checks.error("state", expected, reprlib.repr(states))
        for name, metric in self.metrics.items():
            if not isinstance(states[name], MetricState):
                raise _checks.type_error(name, "a `MetricState`", states[name])
            metric._check_state(states[name])
        for owner, *others in self._sharers:
            for name in others:
                first, state = states[owner], states[name]
                if first != dataclasses.replace(
                    state, metric=first.metric, config=first.config
                ):
                    raise _checks.error(
                        "state",
                        f"the same sums for {owner!r} and {name!r}, which share them",
                        "different sums",
                        verb="hold",
                    )
        if len({int(state.arrays["invalid"]) for state in states.values()}) > 1:
            raise _checks.error(
                "state",
                "the same `invalid` for all metrics",
                "different ones",
                verb="hold",
            )

    def merge_state(  # type: ignore[override]
        self, metrics: Iterable[MetricCollection | Mapping[str, MetricState]]
    ) -> None:
        """Adds the states of collections of the same metrics to this one.

        Args:
          metrics: collections, or the states that their `get_state` returned.

        Raises:
          TypeError: an item is neither a collection nor the states of one.
          ValueError: the names, the metrics, their options or their classes differ.
        """
        expected = "collections, or the states that their `get_state` returned"
        with self._locked():
            total = self.get_state()
            for other in _checks.listed("metrics", expected, metrics):
                states: Any = other
                if isinstance(other, MetricCollection):
                    states = other.get_state()
                self._check_states(states)
                total = {name: total[name] + states[name] for name in total}
            self.set_state(total)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        configs: Any = [_keras.metrics.serialize(metric) for metric in self._members]
        if self._is_dict:
            configs = dict(zip(self._names, configs, strict=True))
        return {
            "metrics": configs,
            "name": self.name,
            "result_every": self.result_every,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> MetricCollection:
        """Returns the collection of a configuration."""
        configs, deserialize = config["metrics"], _keras.metrics.deserialize
        if isinstance(configs, Mapping):
            metrics: Any = {name: deserialize(each) for name, each in configs.items()}
        else:
            metrics = [deserialize(each) for each in configs]
        return cls(metrics, **{k: v for k, v in config.items() if k != "metrics"})

    def _usual_causes(self) -> list[str]:
        causes = (cause for metric in self._members for cause in metric._usual_causes())
        return list(dict.fromkeys(causes))
