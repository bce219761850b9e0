"""States of metrics that add up over batches and processes, as in torchmetrics.

`Base` is `torchmetrics.Metric` where torchmetrics is installed. Elsewhere it is the
part of its interface that the metrics here need.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import distributed

Reduction = Callable[[torch.Tensor], torch.Tensor]


def total(states: torch.Tensor) -> torch.Tensor:
    """Returns the sum of integers [n, ...] of n parts of the data."""
    return states.sum(dim=0)


def largest(states: torch.Tensor) -> torch.Tensor:
    """Returns the largest of the numbers [n, ...] of n parts of the data."""
    return states.amax(dim=0)


def total_of_pairs(states: torch.Tensor) -> torch.Tensor:
    """Returns the sum of pairs of float32 [n, 2, ...], rounded sums and their errors,
    as a pair [2, ...].
    """
    exact = states.double().sum(dim=(0, 1))
    high = exact.float()
    # An infinite sum has no rounding error.
    low = torch.where(high.isfinite(), exact - high, 0.0)
    return torch.stack([high, low.float()])


def gathered(state: torch.Tensor, group: Any = None) -> list[torch.Tensor]:
    """Returns the state of each process; it is zeros for a process that has no batch
    yet, and so does not know the shape.
    """
    found: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(found, state.cpu(), group=group)
    shaped = max(found, key=torch.numel)
    found = [x if x.shape == shaped.shape else torch.zeros_like(shaped) for x in found]
    return [x.to(state.device) for x in found]


class Alone(torch.nn.Module):
    """A module with states that add up; subclasses define `update` and `_result`.

    Args:
      process_group: the processes whose states `compute` adds; None for all.
      sync_on_compute: whether `compute` adds the states of other processes.
    """

    def __init__(self, process_group: Any = None, sync_on_compute: bool = True) -> None:
        super().__init__()
        self.process_group = process_group
        self.sync_on_compute = sync_on_compute
        self._defaults: dict[str, torch.Tensor] = {}
        self._reductions: dict[str, Reduction] = {}
        self._persistent: dict[str, bool] = {}

    @property
    def device(self) -> torch.device:
        """The device of the states."""
        return next(self.buffers()).device

    def add_state(
        self,
        name: str,
        default: torch.Tensor,
        dist_reduce_fx: Reduction,
        persistent: bool = False,
    ) -> None:
        """Adds a state, which `reset` sets to its default."""
        self.register_buffer(name, default.clone(), persistent=persistent)
        self._defaults[name] = default
        self._reductions[name] = dist_reduce_fx
        self._persistent[name] = persistent

    def persistent(self, mode: bool = False) -> None:
        """Sets whether `state_dict` holds the states."""
        for name, state in self._states().items():
            self.register_buffer(name, state, persistent=mode)
            self._persistent[name] = mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch, as `update` does, and returns the value of this batch alone."""
        before = self._states()
        self.reset()
        try:
            self.update(*args, **kwargs)
        except BaseException:
            self._set(before)
            raise
        value = self._result()
        for name, state in self._states().items():
            # Before the first batch a state may have no shape yet.
            if before[name].shape == state.shape:
                both = torch.stack([before[name], state])
                setattr(self, name, self._reductions[name](both))
        return value

    def compute(self) -> Any:
        """Returns the value of all batches, of all processes."""
        with self._synced():
            return self._result()

    def reset(self) -> None:
        """Sets the states back to no examples."""
        for name, default in self._defaults.items():
            setattr(self, name, default.to(self.device, copy=True))

    def _states(self) -> dict[str, torch.Tensor]:
        return {name: getattr(self, name) for name in self._defaults}

    def _set(self, states: dict[str, torch.Tensor]) -> None:
        for name, state in states.items():
            setattr(self, name, state)

    @contextlib.contextmanager
    def _synced(self) -> Iterator[None]:
        """A context in which the states are the sums over all processes."""
        own = self._states()
        if (
            self.sync_on_compute
            and distributed.is_available()
            and distributed.is_initialized()
        ):
            for name, state in own.items():
                parts = torch.stack(gathered(state, self.process_group))
                setattr(self, name, self._reductions[name](parts))
        try:
            yield
        finally:
            self._set(own)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        for name in self._defaults:  # Before the first batch they have other shapes.
            if prefix + name in state_dict:
                state = state_dict[prefix + name]
                setattr(self, name, state.to(self.device, copy=True))
        super()._load_from_state_dict(state_dict, prefix, *args)


if importlib.util.find_spec("torchmetrics"):
    import torchmetrics

    class Base(torchmetrics.Metric):
        """A metric of torchmetrics; subclasses define `update` and `_result`."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**{"dist_sync_fn": gathered, **options})

        def compute(self) -> Any:
            """Returns the value of all batches, of all processes."""
            return self._result()

        def _result(self) -> Any:
            raise NotImplementedError

else:
    Base = Alone  # type: ignore[assignment, misc]
