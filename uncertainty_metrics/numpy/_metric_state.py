"""States of streaming metrics, which can be added, saved and sent without Keras.

The module needs NumPy only: states of other processes merge without TensorFlow.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import importlib
import io
import json
import math
import os
import reprlib
import textwrap
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _saved, _text_tables

if TYPE_CHECKING:
    import keras

FORMAT = _saved.Format("MetricState", 1, ("metric", "config", "classes"))

# The arrays that a state may hold, in the order of the file.
DTYPES: dict[str, np.dtype] = {
    "invalid": np.dtype(np.int64),
    "units": np.dtype(np.int64),
    "hi": np.dtype(np.float32),
    "lo": np.dtype(np.float32),
}
# The sum of two counts below this fits into 64 bits.
_MAX_COUNT = 2**62
# The number of cells that any metric may have, whatever its state: 16 MB.
_FEW_CELLS = 2**20


def _checked_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy with the types of JSON, in which tuples are lists."""
    if not isinstance(config, Mapping):
        raise _checks.error("config", "a dict", repr(config))
    try:
        return json.loads(json.dumps(dict(config)))
    except (TypeError, ValueError, RecursionError):
        raise _checks.error(
            "config", "only values that JSON has", config, verb="hold"
        ) from None


def _checked_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Returns read-only copies in the order of the file."""
    if not isinstance(arrays, Mapping):
        raise _checks.error("arrays", "a dict", repr(arrays))
    _check_names(arrays)
    checked = {}
    for name, dtype in DTYPES.items():
        if name in arrays:
            array = np.asarray(arrays[name])
            if array.dtype.newbyteorder("=") != dtype:
                raise _checks.error(name, f"of type {dtype}", f"type {array.dtype}")
            checked[name] = np.array(array, dtype, order="C")
            checked[name].flags.writeable = False
    _check_shapes(**{name: array.shape for name, array in checked.items()})
    _check_counts(**checked)
    return checked


def _check_names(names: Collection[str]) -> None:
    if set(names) not in ({"invalid"}, set(DTYPES)):
        raise _checks.error(
            "arrays",
            "`invalid` alone, or `invalid`, `units`, `hi` and `lo`",
            reprlib.repr(list(names)),
            verb="hold",
        )


def _check_shapes(
    invalid: tuple[int, ...],
    units: tuple[int, ...] = (0,),
    hi: tuple[int, ...] = (0,),
    lo: tuple[int, ...] = (0,),
) -> None:
    if invalid != ():
        raise _checks.error("invalid", "a scalar", f"shape {list(invalid)}")
    if len(hi) not in (1, 2):
        raise _checks.error("hi", "one or two axes", f"shape {list(hi)}", verb="have")
    if lo != hi:
        raise _checks.error(
            "lo", f"of the shape of `hi`, {list(hi)}", f"shape {list(lo)}"
        )
    if len(units) != len(hi) or units[1:] != hi[1:]:
        expected = f"as many axes and cells as `hi` of shape {list(hi)}"
        raise _checks.error("units", expected, f"shape {list(units)}", verb="have")


def _check_counts(
    invalid: np.ndarray,
    units: np.ndarray | None = None,
    hi: np.ndarray | None = None,
    lo: np.ndarray | None = None,
) -> None:
    """Raises ValueError for counts that are negative or so large that sums overflow."""
    if not 0 <= invalid < _MAX_COUNT:
        raise _checks.error("invalid", "in [0, 2^62)", invalid)
    if units is None or hi is None or lo is None or not units.size:
        return
    unit_rows, hi_rows = _count_rows(units.shape, len(hi))
    counts = units[unit_rows]
    if np.any(counts < 0):
        raise _checks.error("units", ">= 0 where they count", counts.min())
    total = counts.astype(np.float64).reshape(len(counts), -1).sum(axis=1).max()
    if total >= _MAX_COUNT:
        raise _checks.error("units", "sums below 2^62", f"{total:.4g}", verb="have")
    # The sums of scores of up to 2^53 examples, in multiples of 2^-9, stay below 2^62.
    # For more examples the result is NaN, so these sums do not matter.
    largest = np.abs(units.astype(np.float64)).max()
    if counts.max() <= 2**53 and largest > _MAX_COUNT:
        raise _checks.error("units", "within 2^62", f"{largest:.4g}")
    # `hi + lo` may be negative: a weight of 0.6 is 1 unit and -0.4.
    with np.errstate(invalid="ignore"):  # inf - inf.
        weights = hi[hi_rows].astype(np.float64) + lo[hi_rows] + counts
    if np.any(weights < -1e-6 * counts):  # Rounding may make them slightly negative.
        raise _checks.error(
            "hi", ">= 0 with `units` and `lo` where they are weights", weights.min()
        )


def _count_rows(shape: tuple[int, ...], rows: int) -> tuple[Any, Any]:
    """Returns which rows of `units` and which rows of `hi` are counts or weights.

    Other rows may be negative.

    Args:
      shape: shape of `units`.
      rows: number of rows of `hi`.
    """
    if len(shape) == 1:  # A mean: the weight and the sum.
        return slice(1), slice(1)
    if shape[0] > rows:  # Weight, scores and outcomes; scores have two rows of units.
        return [0, -1], [0, -1]
    if shape[0] == 2 * shape[1] + 2:  # Parts of the Brier score for K classes.
        return slice(shape[1]), slice(shape[1])
    return slice(None), slice(None)


def _add_pairs(
    a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Returns the sum of two pairs of float32; the error is 2^-48 of the terms."""
    with np.errstate(over="ignore", invalid="ignore"):
        total, other = (pair["hi"].astype(np.float64) + pair["lo"] for pair in (a, b))
        total += other
        hi = total.astype(np.float32)
        # An infinite sum has no rounding error to store in `lo`.
        lo = np.where(np.isfinite(hi), total - hi, 0.0).astype(np.float32)
    return {"hi": hi, "lo": lo}


# Upper bound on the number of cells while a metric is loaded, because the options may
# come from a file that claims any number. It is a weak reference to a set of one
# number, which `bounded_by` owns, so that it ends with it even if an interrupt comes
# before `finally`.
_bound: contextvars.ContextVar[Callable[[], set[int] | None]] = contextvars.ContextVar(
    "bound", default=lambda: None
)


def check_cells(shape: tuple[int, ...]) -> None:
    """Raises ValueError if a metric needs far more cells than its state has."""
    bound = _bound.get()()
    if bound is not None and math.prod(shape) > max(*bound, _FEW_CELLS):
        raise _checks.error(
            "arrays",
            f"of the shape that the options and classes ask for, {list(shape)}",
            f"{max(bound)} cells",
        )


@contextlib.contextmanager
def bounded_by(state: MetricState) -> Iterator[None]:
    """A context in which `check_cells` refuses far more cells than the state has."""
    num_cells = {state.arrays["hi"].size if "hi" in state.arrays else 0}
    token = _bound.set(weakref.ref(num_cells))
    try:
        yield
    finally:
        _bound.reset(token)


# Pickles name this function.
def _loads(data: bytes) -> MetricState:
    return MetricState.load(io.BytesIO(data))


@dataclasses.dataclass(frozen=True, eq=False)
class MetricState:
    """The state of a streaming metric as NumPy arrays, from `metric.get_state()`.

    States of the same metric and options can be added: the sum is the state of a metric
    that saw the examples of both, in any order. Counts add exactly; other sums add as
    pairs of float32 that hold 48 bits, with an error of 2^-48 for each addition.
    `sum(states)` adds many. States are immutable, equal by content, and pickle as
    compactly as they are saved. All this needs no TensorFlow; `to_metric` needs it.

    A file of `save` is an .npz archive without pickles. It holds

    * `header`: a JSON text with `format` = "uncertainty_metrics.MetricState", `version`
      = 1, `metric`, `config` and `classes`, and the names of the `arrays`.
    * `invalid`: int64 [], the number of batches that a compiled update refused.
    * `units`: int64 [rows, cells], or [rows] for means: the integer parts of sums.
    * `hi`, `lo`: float32 of the same axes: the remaining parts, as `hi + lo`.

    The value of a cell is `units + hi + lo`. The rows of calibration errors are the
    weight, the sum of the scores and the sum of the outcomes; in `units` the scores
    have two rows, multiples of 2^-9 and of 2^-31, so `units` has four rows. The rows of
    metrics of ranks are the weight and the weight of the hits; a last cell has the
    number of examples. Means have a weight and a sum; with groups, all weights and then
    all sums. Other metrics have rows of their own.

    `units`, `hi` and `lo` are missing until a metric knows the number of classes, if
    their shape depends on it. Equal states make equal files with one version of NumPy.

    Args:
      metric: public name of the class: "ExpectedCalibrationError" for
        `um.ExpectedCalibrationError`, "regression.Sharpness" for
        `um.regression.Sharpness`.
      config: arguments of its constructor except `name` and `dtype`, as JSON types.
      arrays: the arrays above, by name.
      classes: the number of classes, once the metric knows it; else None.

    Raises:
      ValueError: an argument is not as described; a count is negative; or counts add up
        to 2^62 or more, so that later sums could overflow. Addition raises it, too.

    Example:
      >>> import uncertainty_metrics as um
      >>> states = []
      >>> for labels, probabilities in [([0, 1], [0.2, 0.8]), ([0], [0.7])]:
      ...     # In another process.
      ...     metric = um.ExpectedCalibrationError(num_bins=2, positive_class=True)
      ...     metric.update_state(labels, probabilities)
      ...     states.append(metric.get_state())
      >>> total = sum(states)
      >>> round(float(total.to_metric().result()), 6)
      0.233333
    """

    metric: str
    config: dict[str, Any]
    arrays: dict[str, np.ndarray]
    classes: int | None = None

    def __post_init__(self):
        if not isinstance(self.metric, str):
            raise _checks.error("metric", "the name of a class", repr(self.metric))
        object.__setattr__(self, "config", _checked_config(self.config))
        object.__setattr__(self, "arrays", _checked_arrays(self.arrays))
        if self.classes is not None:
            classes = _checks.positive_integer("classes", self.classes)
            object.__setattr__(self, "classes", classes)

    def __repr__(self) -> str:
        of_classes = "" if self.classes is None else f" of {self.classes} classes"
        options = ", ".join(f"{k}={reprlib.repr(v)}" for k, v in self.config.items())
        arrays = [
            [name, array.dtype, list(array.shape), np.count_nonzero(array)]
            for name, array in self.arrays.items()
        ]
        header = ("array", "type", "shape", "not zero")
        table = _text_tables.table(header, len(arrays), arrays.__getitem__)
        options = textwrap.fill(f"{self.metric}({options})", 88, subsequent_indent="  ")
        return f"MetricState{of_classes}\n{options}\n{table}"

    def __add__(self, other: MetricState) -> MetricState:
        if not isinstance(other, MetricState):
            return NotImplemented
        differences = self._differences(other)
        if differences:
            raise _checks.plain_error(
                "States can be added only if they are of the same metric and options.",
                differences,
            )
        pair = (self.arrays, other.arrays)
        filled = [arrays for arrays in pair if "hi" in arrays]
        total = dict(filled[0]) if filled else {}
        if len(filled) == 2:
            total |= _add_pairs(*filled)
            total["units"] = self.arrays["units"] + other.arrays["units"]
        total["invalid"] = self.arrays["invalid"] + other.arrays["invalid"]
        classes = self.classes or other.classes
        config = self.config
        if config.get("positive_class", False) is None:
            config = {**config, "positive_class": other.config.get("positive_class")}
        return dataclasses.replace(self, config=config, arrays=total, classes=classes)

    def __radd__(self, other: object) -> MetricState:
        is_start = isinstance(other, int) and other == 0  # `sum` starts with 0.
        return self if is_start else NotImplemented

    def _differences(self, other: MetricState) -> str:
        """Returns the differences that prevent the sum of two states, for a message."""
        pairs: dict[str, tuple[Any, ...]] = {"metric": (self.metric, other.metric)}
        for key in {**self.config, **other.config}:
            pairs[key] = self.config.get(key), other.config.get(key)
        if None in pairs.get("positive_class", ()):
            del pairs["positive_class"]  # The first batch of one state will tell.
        if self.classes and other.classes:
            pairs["classes"] = (self.classes, other.classes)
        for name in filter(other.arrays.__contains__, self.arrays):
            shapes = (state.arrays[name].shape for state in (self, other))
            pairs[f"shape of {name}"] = tuple(shapes)
        return ", ".join(
            f"{name} {ours!r} and {theirs!r}"
            for name, (ours, theirs) in pairs.items()
            if ours != theirs
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetricState):
            return NotImplemented
        return (
            (self.metric, self.config, self.classes, list(self.arrays))
            == (other.metric, other.config, other.classes, list(other.arrays))
        ) and all(
            np.array_equal(array, other.arrays[name], equal_nan=True)
            for name, array in self.arrays.items()
        )

    def __reduce__(self):
        file = io.BytesIO()
        self.save(file)  # Compressed: a sketch of 3 MB, mostly zeros, has kilobytes.
        return _loads, (file.getvalue(),)

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes the state as the .npz archive that the class describes.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.
        """
        header = {
            "metric": self.metric,
            "config": self.config,
            "classes": self.classes,
        }
        FORMAT.write(path, header, self.arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | IO[bytes]) -> MetricState:
        """Reads a state that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, has a later version, or is
            damaged. Names and sizes are checked before unpacking: a compressed file may
            unpack to 128 MiB or to 128 times its size, whichever is larger.
        """
        header, arrays = FORMAT.read(path, _check_names)
        return cls(header["metric"], header["config"], arrays, header["classes"])

    def to_metric(
        self, name: str | None = None, dtype: Any = None
    ) -> keras.metrics.Metric:
        """Returns a metric with this state, of the Keras that is loaded.

        Args:
          name: name of the metric; by default that of its class.
          dtype: "float64" for float64 results.

        Raises:
          ValueError: there is no such metric, or it has no such options or state.
            Options and classes that need far more memory than the arrays are refused
            before the memory is allocated.
          TypeError: the metric has no option of such a name.
        """
        options = {"dtype": dtype} if name is None else {"name": name, "dtype": dtype}
        with bounded_by(self):
            metric = self._metric_class()(**self.config, **options)
        # Options that the state leaves out have their defaults.
        config = metric.get_state().config
        metric.set_state(dataclasses.replace(self, config=config))
        return metric

    def _metric_class(self) -> type[keras.metrics.Metric]:
        # The name may come from a file: only metrics are looked up.
        room, _, class_name = self.metric.rpartition(".")
        if room in ("", "conformal", "regression"):
            module = importlib.import_module(f"uncertainty_metrics.{room}".rstrip("."))
            metric_class = getattr(module, class_name, None)
            if isinstance(metric_class, type) and hasattr(metric_class, "set_state"):
                return metric_class
        raise _checks.error("metric", "the name of a Keras metric", repr(self.metric))
