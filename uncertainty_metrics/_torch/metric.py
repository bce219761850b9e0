"""Keras metrics with the interface of torchmetrics."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import keras
import torch

from uncertainty_metrics import _typed_names
from uncertainty_metrics._torch import states
from uncertainty_metrics.keras._base import SumsMetric
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.ops import _execution


class Metric(states.Base):
    """A streaming metric for PyTorch: a `torchmetrics.Metric` where that is installed.

    It computes by the Keras metric of the same name, which has the same options and
    describes them, and whose state it holds: sums of fixed size, that are the same for
    any batches. The states are not in `state_dict` until `persistent(True)`, as in
    torchmetrics, and keep their types in modules of half precision. Move the metric to
    the device of the predictions by `to`; those on other devices are copied to it.

    Args:
      *options: arguments of the Keras metric, by position.
      **named: arguments of the Keras metric, by name, and those of
        `torchmetrics.Metric`, such as `process_group`. Without torchmetrics there are
        two of these: `process_group` and `sync_on_compute`.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update` raises it
        and keeps the state.
    """

    is_differentiable = False
    # The Keras metric.
    _of: type[SumsMetric]

    def __init__(self, *options: Any, **named: Any) -> None:
        arguments = inspect.signature(self._of).parameters
        own = {name: named.pop(name) for name in arguments if name in named}
        _typed_names.refuse_arguments(self._of, named)
        super().__init__(**named)
        with keras.device("cpu"):
            self._keras = self._of(*options, **own)
            if own.get("name") is None:
                # Keras numbers the metrics of a class; the name is in some results.
                config = self._keras.get_config()
                config["name"] = re.sub(r"_\d+$", "", config["name"])
                self._keras = self._of.from_config(config)
        # Whether a batch has told what the options leave open; only then is it known
        # without a look at `form`, for which a GPU would have to wait.
        self._is_settled = False
        self._add_states()

    @property
    def full_state_update(self) -> bool:
        """Whether `forward` of torchmetrics updates twice instead of adding states: the
        first batch may tell the shape of the states.
        """
        return not self._keras._has_sums

    @_execution.not_converted
    def update(self, preds: Any, target: Any, sample_weight: Any = None) -> None:
        """Adds a batch.

        Args:
          preds: predictions, `y_pred` of the Keras metric.
          target: labels, `y_true` of the Keras metric.
          sample_weight: finite and >= 0, broadcastable to the labels; None for ones.
        """
        with self._in_keras():
            self._keras.update_state(target, preds, sample_weight)
            state = [v.value for v in self._keras._state if v is not None]
        self._take(*state)

    @_execution.not_converted
    def _result(self) -> Any:
        with self._in_keras():
            return self._keras.result()

    def get_state(self) -> MetricState:
        """Returns a copy of the state of this process, as `get_state` of the Keras
        metric does: to save, to send, or to read as a Keras metric by `to_metric`.
        """
        with self._in_keras():
            return self._keras.get_state()

    @contextlib.contextmanager
    def _in_keras(self) -> Iterator[None]:
        """A context in which the Keras metric has the state of this one."""
        metric = self._keras
        if not self._is_settled:
            classes, one_column = self.form[:2].tolist()
            metric._settle(bool(one_column - 1) if one_column else None)
            if classes and not metric._has_sums:
                with keras.device("cpu"):
                    metric._build(classes)
        values = [(metric._invalid, self.invalid)]
        if metric._has_sums and self.units.numel():
            hi, lo = self.rest
            values += [(metric._units, self.units), (metric._hi, hi), (metric._lo, lo)]
        with keras.device(str(self.device)), keras.StatelessScope(values):
            yield

    def _take(self, invalid: torch.Tensor, *sums: torch.Tensor) -> None:
        """Takes over the state that the Keras metric has after an update."""
        if not self._is_settled:
            self._is_settled = True
            self._add_states()
        self.invalid = invalid
        if sums:
            self.units = sums[0]
            self.rest = torch.stack(sums[1:])

    def _add_states(self) -> None:
        """Adds the states of no examples, as far as their shapes are known."""
        metric = self._keras
        units = rest = [0]
        if metric._has_sums:
            units, rest = metric._units.shape, metric._hi.shape
        one_column = getattr(metric, "_of_class_1", None)
        form = [metric._classes or 0, 0 if one_column is None else 1 + one_column]
        device = self.device if hasattr(self, "form") else None
        for name, default, reduction in (
            # The number of classes, and whether predictions are one column: 0 until a
            # batch or an option tells, 1 for False, 2 for True.
            ("form", torch.tensor(form + _fingerprint(metric)), states.largest),
            ("invalid", torch.zeros([], dtype=torch.int64), states.total),
            ("units", torch.zeros(*units, dtype=torch.int64), states.total),
            ("rest", torch.zeros(2, *rest), states.total_of_pairs),
        ):
            persistent = self._persistent.get(name, False)
            self.add_state(name, default.to(device), reduction, persistent)

    def _apply(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Moves the states, but does not round them to the type of a module."""

        def moved(state: torch.Tensor) -> torch.Tensor:
            return state.to(fn(state.new_empty(0)).device)

        return super()._apply(moved, *args, **kwargs)


def _fingerprint(metric: SumsMetric) -> list[int]:
    """Returns eight bytes that are equal for metrics that need the same sums.

    `torchmetrics.MetricCollection` lets metrics share states that are equal after the
    first batch, which may differ after later ones: without these bytes, those of a
    metric with an `ignore_index` that the first batch does not hold.
    """
    options = type(metric), sorted(metric.get_config().items())
    text = repr(getattr(metric, "_same_sums", options))
    text = re.sub(r" at 0x\w+", "", text)  # Functions are known by their names.
    return list(hashlib.sha256(text.encode()).digest()[:8])
