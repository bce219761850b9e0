"""Several metrics as one: the Keras metric."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _family, _members, _variables
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.ops import _execution, _inputs, _shared_values, _sums, xp

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

_keras = _base.keras

__all__ = ["MetricCollection"]


def _named(metrics: Any) -> dict[str, _base.SumsMetric]:
    """Returns the metrics by their names; raises ValueError unless they can be members
    of a collection.
    """
    expected = "a list of metrics of this package, or a dict from names to them"
    if not isinstance(metrics, Mapping | Sequence) or isinstance(metrics, str):
        raise _checks.error("metrics", expected, repr(metrics))
    given = list(metrics.values() if isinstance(metrics, Mapping) else metrics)
    for metric in given:
        wrong = None
        if not isinstance(metric, _base.SumsMetric):
            wrong = expected
        elif isinstance(metric, MetricCollection) or _members.is_member(metric):
            wrong = "metrics that are not collections and in no other collection"
        elif _execution.is_eager() and any(
            map(np.any, metric.get_state().arrays.values())
        ):
            wrong = "metrics without examples: call `reset_state` on them first"
        if wrong:
            raise _checks.error("metrics", wrong, repr(metric))
    names = list(metrics) if isinstance(metrics, Mapping) else [m.name for m in given]
    if not all(isinstance(name, str) for name in names):
        raise _checks.error("metrics", "names that are strings", names, verb="have")
    if not 0 < len(set(names)) == len(names) == len(set(map(id, given))):
        raise _checks.error(
            "metrics",
            "at least one metric, each once and under a name of its own",
            names,
            verb="hold",
        )
    return dict(zip(map(str, names), given, strict=True))


def _mapped(function: Any, data: Any) -> Any:
    """Returns the tuples of a reading, the function applied to each tensor."""
    if not isinstance(data, tuple):
        return None if data is None else function(data)
    parts = [_mapped(function, part) for part in data]
    return type(data)(*parts) if hasattr(data, "_fields") else tuple(parts)


# What readings add up: `batch_sums`, its options, and where its data are in a list.
_Part = tuple[_variables.BatchSums, tuple[Any, ...], Any]


def _batch(
    parts: tuple[_Part, ...], states: Any, tensors: list[Any]
) -> tuple[list[_sums.Sums] | None, list[xp.Tensor]]:
    """Returns the sums of all parts and whether each is valid, or adds to the states
    if all are.
    """
    with _shared_values.sharing():
        parts_of_batch = [
            batch_sums(*options, *_mapped(tensors.__getitem__, places))
            for batch_sums, options, places in parts
        ]
    sums, valid = map(list, zip(*parts_of_batch, strict=True))
    if states is None:
        return sums, valid
    _add_all(states, sums, _all(valid))
    return None, valid


def _options(joined: list[_members.Reading]) -> tuple[Any, ...]:
    """Returns the options of all at once."""
    if len(joined) == 1:
        return joined[0].options
    firsts = (reading.options[0] for reading in joined)
    return tuple(itertools.chain(*firsts)), *joined[0].options[1:]


def _all(valid: list[xp.Tensor]) -> xp.Tensor:
    return xp.reduce_all(xp.concat([xp.reshape(each, [-1]) for each in valid], axis=0))


def _add_all(states: Any, sums: list[_sums.Sums], valid: xp.Tensor) -> None:
    for state, each in zip(states, sums, strict=True):
        _variables.add_batch(_variables.State(*state), _sums.Sums(*each), valid, None)


@functools.lru_cache(maxsize=64)
def _graph(parts: tuple[_Part, ...], shapes: tuple[Any, ...]) -> Any:
    """Returns `_batch` as one call, which no interrupt leaves half done."""
    del shapes  # One graph for each: only the size of the batch varies.
    compute = functools.partial(_batch, parts)
    return _execution.compiled(compute, any_size=True)


@functools.lru_cache(maxsize=64)
def _add_graph(shapes: tuple[Any, ...]) -> Any:
    """Returns `_add_all` as one call."""
    del shapes
    return _execution.compiled(_add_all)


@_base.register
class MetricCollection(_base.SumsMetric):
    """Several metrics of the same labels and predictions as one.

    The result is a dict of the results of the metrics, equal to theirs one by one. What
    they have in common is done once: the arguments are read and checked, and metrics
    that need the same sums share one state: `ExpectedCalibrationError` and
    `MaximumCalibrationError`, say, or `AURC`, `AUGRC` and `CoverageAtRisk`, where the
    options that both have are the same.

    The metrics are members from then on, and changed by the collection alone: theirs
    are `result`, `get_state` and what else reads a state. A batch that is wrong for one
    of them is added to none.

    A callback that monitors one of the results needs `mode="min"` or `mode="max"`: the
    collection has no one direction that Keras could read.

    Args:
      metrics: streaming metrics of this package without examples, a list; or a dict of
        them by the names that the result has, by default their own.
      name: name of the metric.

    Raises:
      ValueError: an argument is not as described, two names are the same, or one of the
        metrics is a collection, or in one. `update_state` raises it for a batch in
        eager execution, and keeps all states; after such a batch in a compiled update
        all results are NaN until the reset.

    Attributes:
      metrics: the members by their names, a dict.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MetricCollection([um.BrierScore(), um.ExpectedCalibrationError()])
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> {name: round(float(value), 6) for name, value in metric.result().items()}
      {'brier_score': -0.95, 'expected_calibration_error': 0.15}
    """

    _has_direction = False

    def __init__(
        self,
        metrics: Sequence[_base.SumsMetric] | Mapping[str, _base.SumsMetric],
        name: str | None = None,
    ) -> None:
        named = _named(metrics)
        super().__init__(name=name)
        self._is_dict = isinstance(metrics, Mapping)
        self._names = tuple(named)
        self._members = tuple(named.values())
        groups: dict[Any, list[str]] = {}
        for key, metric in named.items():
            metric._is_member = True
            metric._lock = self._lock
            groups.setdefault(getattr(metric, "_same_sums", id(metric)), []).append(key)
        # The names of those that share a state, which is that of the first.
        self._groups = tuple(map(tuple, groups.values()))
        self._share()

    @property
    def metrics(self) -> dict[str, _base.SumsMetric]:
        """The members by their names."""
        return dict(zip(self._names, self._members, strict=True))

    @property
    def variables(self) -> list[Any]:
        """The states, each of them once, as Keras saves them."""
        variables = list(super().variables)
        for metric in getattr(self, "_members", ()):
            variables += metric.variables
        return list({id(variable): variable for variable in variables}.values())

    def _share(self) -> None:
        """Gives the metrics of each group the state of its first, once it is there."""
        metrics = self.metrics
        for names in self._groups:
            owner, *others = (metrics[name] for name in names)
            _family.share_variables(owner, _invalid=self._invalid)
            invalid, units, hi, lo = owner._state
            for metric in others:
                late = not metric._has_sums
                _family.share_variables(metric, _invalid=invalid)
                if owner._has_sums:
                    _family.share_variables(metric, _units=units, _hi=hi, _lo=lo)
                    if late and owner._classes is not None:
                        metric._build(owner._classes)

    @_base.adds_batch
    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch to all metrics, or to none.

        Args:
          y_true: labels, as the metrics take them; or a dict of `labels` and `groups`,
            of which metrics without `num_groups` take the labels.
          y_pred: predictions, as the metrics take them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        batch = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight}
        for name, value in batch.items():
            if isinstance(value, Mapping):
                parts = {k: _inputs.as_tensor(k, part) for k, part in value.items()}
                batch[name] = parts
            elif value is not None and not _inputs.is_distribution(value):
                batch[name] = _inputs.as_tensor(name, value)
        with _shared_values.sharing(), _members.reading() as readings:
            for name, *_ in self._groups:
                metric = self.metrics[name]  # tf_keras wraps methods of objects.
                type(metric).update_state(metric, **batch)
        self._add(readings)

    def _add(self, readings: list[_members.Reading]) -> None:
        places: dict[int, int] = {}
        tensors: list[Any] = []

        def place(tensor: Any) -> int:
            if id(tensor) not in places:
                places[id(tensor)] = len(tensors)
                tensors.append(tensor)
            return places[id(tensor)]

        joined: dict[Any, list[_members.Reading]] = {}
        for i, reading in enumerate(readings):
            data = _mapped(place, reading.data)
            key = (reading.batch_sums, reading.options[1:]) if reading.joins else i
            joined.setdefault((key, data), []).append(reading)
        sets = list(joined.values())
        parts = tuple(
            (of[0].batch_sums, _options(of), data) for (_, data), of in joined.items()
        )
        with self._alone(), _execution.in_64_bits():
            eager = _execution.is_eager()
            states = self._plain_states(sets)
            if eager and all(reading.compiled for reading in readings):
                shapes = tuple(reading.shape for reading in readings)
                sums, each = _graph(parts, shapes)(states, tensors)
            else:
                sums, each = _batch(parts, None, tensors)
            valid = _all(each)
            if eager and not valid:
                for of, right in zip(sets, each, strict=True):
                    for reading, is_right in zip(of, np.atleast_1d(right), strict=True):
                        if not is_right:
                            reading.explain()
            for metric, *_, classes, _, _ in readings:
                if not metric._has_sums and classes is not None:
                    metric._build(classes)
            self._share()
            if sums is not None:
                states = self._plain_states(sets)
                if states is None:
                    _add_all(
                        [_variables.joined(r.metric._state for r in of) for of in sets],
                        sums,
                        valid,
                    )
                else:
                    shapes = tuple(tuple(r.metric._hi.shape) for r in readings)
                    _add_graph(shapes)(states, sums, valid)
            if not eager or not valid:
                _variables.add(self._invalid, xp.cast(~valid, xp.int64))

    def _plain_states(self, sets: list[list[_members.Reading]]) -> list[Any] | None:
        """Returns the variables where an eager call may add to them by itself."""
        states: Any = [[r.metric._plain_state() for r in of] for of in sets]
        if any(None in of for of in states):
            return None
        return list(map(_variables.joined, states))

    def result(self) -> dict[str, xp.Tensor]:
        """Returns the results by the names of the metrics; of a metric whose result is
        a dict, each part, by both names: `brier_decomposition_reliability`.
        """
        results: dict[str, Any] = {}
        with self._alone():
            self._read_valid()
            for name, metric in self.metrics.items():
                metric._warned_of = self._warned_of  # The collection has warned.
                value = type(metric).result(metric)
                if isinstance(value, Mapping):
                    own = f"{metric.name}_"  # Which results of groups begin with.
                    results |= {
                        f"{name}_{key.removeprefix(own)}": part
                        for key, part in value.items()
                    }
                else:
                    results[name] = value
        return results

    def get_state(self) -> dict[str, MetricState]:  # type: ignore[override]
        """Returns the states of the metrics by their names, each to save, to send, or
        to add to others of its metric.
        """
        with self._alone():
            return {name: metric.get_state() for name, metric in self.metrics.items()}

    def set_state(self, state: Mapping[str, MetricState]) -> None:  # type: ignore[override]
        """Replaces the states by those of a collection of the same metrics.

        Raises:
          TypeError: it is no dict of states.
          ValueError: the names, the metrics, their options or their classes differ, or
            the states are of different batches.
        """
        with self._alone(), _execution.in_64_bits():
            self._check_states(state)
            values = {}
            for name, *_ in self._groups:
                metric = self.metrics[name]
                metric._build_for(state[name])
                for key, variable in metric._state._asdict().items():
                    if key in state[name].arrays:
                        array = state[name].arrays[key]
                        values[id(variable)] = metric._as_variable(array, variable)
            self._share()
            variables = self.variables
            self._set_all(
                variables, [values.get(id(variable)) for variable in variables]
            )

    def _check_states(self, states: Any) -> None:
        """Raises an error unless they can be those of this collection."""
        expected = f"a dict of the states of {', '.join(self._names)}"
        if not isinstance(states, Mapping):
            raise _checks.type_error("state", expected, states)
        if set(states) != set(self._names):
            raise _checks.error("state", expected, reprlib.repr(states))
        for name, metric in self.metrics.items():
            if not isinstance(states[name], MetricState):
                raise _checks.type_error(name, "a `MetricState`", states[name])
            metric._check_state(states[name])
        for owner, *others in self._groups:
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
          TypeError: there is something else among them.
          ValueError: the names, the metrics, their options or their classes differ.
        """
        taken = "collections, or the states that their `get_state` returned"
        with self._alone():
            total = self.get_state()
            for other in _checks.listed("metrics", taken, metrics):
                states: Any = other
                if isinstance(other, MetricCollection):
                    states = other.get_state()
                self._check_states(states)
                total = {name: total[name] + states[name] for name in total}
            self.set_state(total)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        made = [_keras.metrics.serialize(metric) for metric in self._members]
        config = dict(zip(self._names, made, strict=True)) if self._is_dict else made
        return {"metrics": config, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> MetricCollection:
        """Returns the collection of a `get_config`."""
        made, restored = config["metrics"], _keras.metrics.deserialize
        if isinstance(made, Mapping):
            metrics: Any = {name: restored(each) for name, each in made.items()}
        else:
            metrics = [restored(each) for each in made]
        return cls(metrics, name=config["name"])

    def _usual_causes(self) -> list[str]:
        causes = (cause for metric in self._members for cause in metric._usual_causes())
        return list(dict.fromkeys(causes))
