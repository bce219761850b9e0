"""The state of a `CalibrationMonitor`, whose size is fixed, and its files."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _saved
from uncertainty_metrics.numpy.calibration.watching import _betting
from uncertainty_metrics.numpy.calibration.watching._betting import Bets, Mode, Wealth
from uncertainty_metrics.numpy.calibration.watching._monitored_batches import (
    Kind,
    Monitored,
)

# The number of examples in a block, so that its arrays stay in the cache.
_BLOCK = 2**14
# The largest number of points of the path of the e-value that are kept.
_MOST_POINTS = 512
# The points of the path in a file are at least this many examples apart: the e-values
# before and after one example would tell its score and its outcome.
_STRIDE_OF_FILES = 64
_MOST_EXAMPLES = 2**53
# The relative rounding error that sums in a file may have.
_ROUNDING = 1e-6

_BETS: dict[Kind, Bets] = {"outcomes": _betting.OUTCOMES, "pit": _betting.PIT}


@dataclasses.dataclass(frozen=True)
class MonitorState:
    """The state after at least one example.

    Attributes:
      kind: "outcomes" or "pit".
      count: number of examples.
      alarm: number of the first example at which the e-value reached the bound, or
        None.
      gap_sum: sum of the gaps, observed - forecast.
      gap_squares: sum of the squares of the gaps.
      wealth: the wealth of the bets.
      histogram: discounted counts of PIT values, float64 [cells]; zeros for outcomes.
      path: log e-value at every `stride`-th example, float64 [points].
      least_stride: 1, or that of files if the state comes from one.
    """

    kind: Kind
    count: int
    alarm: int | None
    gap_sum: float
    gap_squares: float
    wealth: Wealth
    histogram: np.ndarray
    path: np.ndarray
    least_stride: int = 1

    @property
    def stride(self) -> int:
        return stride(self.count, self.least_stride)

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of the examples at which the path has its points, [points]."""
        return self.stride * np.arange(1, len(self.path) + 1)

    def path_at(self, step: int) -> np.ndarray:
        """Returns the path at every `step`-th example, a multiple of its stride."""
        thinning = step // self.stride
        return self.path[thinning - 1 :: thinning]

    def log_e_value(self, mode: Mode) -> float:
        """Returns the logarithm of the e-value."""
        return float(
            _betting.log_mean(_betting.values(self.wealth, _BETS[self.kind], mode))
        )


def empty(kind: Kind) -> MonitorState:
    """Returns the state before the first example."""
    return MonitorState(
        *(kind, 0, None, 0.0, 0.0),
        _betting.no_wealth(_BETS[kind]),
        np.zeros(_betting.NUM_CELLS),
        np.zeros(0),
    )


def stride(count: int, least: int) -> int:
    """Returns the power of two at whose multiples, up to `count`, the path has points,
    at least `least`.

    It depends only on the number of examples, so batches of any size give one path.
    """
    return max(least, 1 << (count // (_MOST_POINTS + 1)).bit_length())


def after(
    state: MonitorState, batch: Monitored, mode: Mode, log_bound: float
) -> MonitorState:
    """Returns the state after a batch, which is processed in blocks."""
    for block in _betting.blocks(len(batch.observed), _BLOCK):
        state = _after_block(state, batch, block, mode, log_bound)
    return state


def _after_block(
    state: MonitorState, batch: Monitored, block: slice, mode: Mode, log_bound: float
) -> MonitorState:
    forecasts, observed = batch.forecasts[block], batch.observed[block]
    histogram, bins = state.histogram, None
    if batch.bins is None:
        factors, histogram = _betting.pit_factors(batch.shares(block), histogram)
    else:
        bins = batch.bins[block]
        factors = _betting.outcome_factors(forecasts, observed)
    wealth, log_values = _betting.bet(
        state.wealth, _BETS[state.kind], factors, bins, state.count, mode
    )
    alarm = state.alarm
    if alarm is None and np.any(reached := log_values >= log_bound):
        alarm = state.count + 1 + int(np.argmax(reached))
    gaps = observed - forecasts
    count = state.count + len(gaps)
    return dataclasses.replace(
        state,
        count=count,
        alarm=alarm,
        gap_sum=state.gap_sum + float(gaps.sum()),
        gap_squares=state.gap_squares + float(np.square(gaps).sum()),
        wealth=wealth,
        histogram=histogram,
        path=_path(state, log_values),
    )


def _path(state: MonitorState, log_values: np.ndarray) -> np.ndarray:
    """Returns the path after a block: earlier points, thinned if the stride has grown,
    and the points of the block.
    """
    step = stride(state.count + len(log_values), state.least_stride)
    to_next = -(state.count + 1) % step
    return np.append(state.path_at(step), log_values[to_next::step])


# Files.

FORMAT = _saved.Format(
    "CalibrationMonitor",
    1,
    ("config", "kind", "count", "alarm", "gap_sum", "gap_squares"),
)
_NAMES = ("log_won", "last", "histogram", "path")


def write(
    path: _saved.Path, config: Mapping[str, Any], state: MonitorState | None
) -> None:
    """Writes the options and the state of a monitor; None if it has no examples."""
    header: dict[str, Any] = dict.fromkeys(FORMAT.entries)
    arrays: dict[str, np.ndarray] = {}
    if state is not None:
        header |= {name: getattr(state, name) for name in FORMAT.entries[1:]}
        arrays = {**state.wealth._asdict(), "histogram": state.histogram}
        arrays["path"] = state.path_at(stride(state.count, _STRIDE_OF_FILES))
    FORMAT.write(path, {**header, "config": dict(config)}, arrays)


def read(path: _saved.Path) -> tuple[Any, MonitorState | None]:
    """Returns the options, unchecked, and the state in a file; None without examples.

    Raises:
      ValueError: no monitor wrote the file, or no examples lead to this state.
    """
    header, arrays = FORMAT.read(path, _check_names)
    if not arrays:
        return header["config"], None
    return header["config"], _checked(header, arrays)


def _check_names(names: Collection[str]) -> None:
    if tuple(names) not in ((), _NAMES):
        raise FORMAT.broken(f"arrays {reprlib.repr(list(names))}")


def _checked(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> MonitorState:
    kind, count, alarm = header["kind"], header["count"], header["alarm"]
    _checks.one_of("kind", kind, list(_BETS))
    if type(count) is not int or not 1 <= count <= _MOST_EXAMPLES:
        raise _checks.error("count", "from 1 to 2^53", reprlib.repr(count))
    if alarm is not None and (type(alarm) is not int or not 1 <= alarm <= count):
        expected = "None, or the number of an example"
        raise _checks.error("alarm", expected, reprlib.repr(alarm))
    total, squares = (_checks.number(header[f"gap_{x}"]) for x in ("sum", "squares"))
    most = min(count, squares) * (1 + _ROUNDING)
    if not (0 <= squares <= most and total**2 <= count * most):
        raise FORMAT.broken(f"sums {total!r} and {squares!r} of {count} gaps")
    bets = _BETS[kind]
    for name, shape in {
        "log_won": (bets.num_sets, len(bets.log_shares)),
        "last": (bets.num_sets,),
        "histogram": (_betting.NUM_CELLS,),
        "path": (count // stride(count, _STRIDE_OF_FILES),),
    }.items():
        dtype = np.int64 if name == "last" else np.float64
        if arrays[name].shape != shape or arrays[name].dtype != dtype:
            received = f"{arrays[name].dtype} {list(arrays[name].shape)}"
            raise _checks.error(name, f"{np.dtype(dtype)} {list(shape)}", received)
        valid = np.isfinite(arrays[name])
        if name == "log_won":  # -inf before the first example of a set.
            valid |= arrays[name] == -np.inf
        if not np.all(valid):
            raise _checks.error(name, "finite", "infinity or NaN")
    state = MonitorState(
        *(kind, count, alarm, total, squares),
        Wealth(arrays["log_won"], arrays["last"]),
        *(arrays["histogram"], arrays["path"], _STRIDE_OF_FILES),
    )
    if not _is_possible(state):
        raise FORMAT.broken("bets that do not fit the number of examples")
    return state


def _is_possible(state: MonitorState) -> bool:
    """Says if the bets and the histogram fit the number of examples."""
    log_won, last = state.wealth
    has_examples = last > 0
    counts = state.histogram
    most = 0.0 if state.kind == "outcomes" else 1 / (1 - _betting.MEMORY)
    return bool(
        last[0] == state.count
        and np.all((last >= 0) & (last <= state.count))
        and np.all(np.isfinite(log_won) == has_examples[:, None])
        and np.all(counts >= 0)
        and counts.sum() <= most * (1 + _ROUNDING)
    )
