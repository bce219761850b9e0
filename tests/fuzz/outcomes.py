"""The outcome of a call, and whether it is allowed."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tests import catalogue
from tests.fuzz.compiling import KEEPS_FLOAT64
from tests.makers import NUMBERS
from uncertainty_metrics.ops import IS_TENSORFLOW

Arguments = dict[str, Any]

# Functions that both halves have, and functions that only NumPy has.
TARGETS = {row.name: row for row in catalogue.TWINS if IS_TENSORFLOW or not row.random}
NUMPY_TARGETS = {row.name: row for row in catalogue.CALLABLES if row.half == "numpy"}

# Beyond it powers of data overflow float64, to inf or NaN and with a warning.
_LARGE = 1e100


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a call: `values`, a flat array, or an `error`."""

    values: np.ndarray | None = None
    error: Exception | None = None


FIELDS = ("edges", "counts", "confidences", "accuracies")


def flat(result: Any) -> np.ndarray:
    if isinstance(result, Mapping):
        parts = [result[key] for key in sorted(result, key=str)]
    elif dataclasses.is_dataclass(result):
        names = FIELDS[1:] if hasattr(result, "accuracies") else None
        names = names or [f.name for f in dataclasses.fields(result)]
        parts = [getattr(result, name) for name in names]
    elif isinstance(result, tuple | list):
        parts = result
    elif isinstance(result, str):  # The name of a model.
        parts = ()
    else:
        return np.asarray(result, np.float64).reshape(-1)
    return np.concatenate([np.zeros(0), *(flat(part) for part in parts)])


def call(function: Callable[..., Any], arguments: Arguments) -> Outcome:
    overflows = may_overflow(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # Documented advice.
            warnings.simplefilter("ignore", DeprecationWarning)  # Of libraries.
            warnings.filterwarnings("ignore", "The best temperature of")  # Documented.
            if overflows:
                warnings.simplefilter("ignore", RuntimeWarning)
            return Outcome(values=flat(function(**arguments)))
    except Exception as error:
        return Outcome(error=error)


# Messages that need not name an argument.
_WITHOUT_NAMES = (
    "The values are too large or too small",
    "The arguments seem to be swapped",
)


def fault(known: Collection[str], error: Exception) -> str | None:
    """Returns what is wrong with an exception, or None; `known` are the arguments."""
    if str(error).startswith(_WITHOUT_NAMES) and "Received" in str(error):
        return None
    named = set(re.findall(r"`(\w+)", str(error)))
    if type(error) not in (ValueError, TypeError):
        return f"raises {type(error).__name__}: {error}"
    if "Received" not in str(error):
        return f"does not say what was received: {error}"
    if not named & set(known):
        return f"names no argument: {error}"
    return None


def _names_groups_alone(arguments: Arguments) -> bool:
    """Says if groups have no number, which NumPy counts and tensors need."""
    return arguments.get("groups") is not None and arguments.get("num_groups") is None


def _tolerance(arguments: Arguments, values: np.ndarray) -> float:
    """Returns how far apart NumPy and TensorFlow may be."""
    wide = not any(_is_narrow(name, value) for name, value in arguments.items())
    largest = max((np.max(np.abs(values), initial=0), 1))
    return largest * (1e-9 if wide else 3e-4)


_NOT_COMPUTED = ("labels", "mask", "correct", "groups")


def _is_narrow(name: str, value: Any) -> bool:
    """Says if predictions make TensorFlow compute in float32."""
    if isinstance(value, np.floating):  # Graphs take it for a number of Python.
        return True
    if name in NUMBERS or name.startswith(_NOT_COMPUTED):
        return False
    wide = isinstance(value, np.ndarray) and value.dtype == np.float64
    return not (wide and KEEPS_FLOAT64)


def is_data(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufV"


def extent(arguments: Arguments) -> tuple[float, float]:
    """Returns the smallest and largest absolute value > 0 that arithmetic meets."""
    sizes = []
    for name, value in arguments.items():
        if isinstance(value, list | tuple | memoryview):
            with contextlib.suppress(ValueError):  # Ragged.
                value = np.asarray(value)
        if is_data(value):
            size = np.abs(np.asarray(value, np.float64)).reshape(-1)
            with np.errstate(over="ignore"):
                sizes.append(size**2 if name == "stddevs" else size)
    sizes = np.concatenate([[1.0], *sizes])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return sizes.min(), sizes.max()


def may_overflow(arguments: Arguments) -> bool:
    smallest, largest = extent(arguments)
    return largest > _LARGE or smallest < 1 / _LARGE


def is_beyond_float32(arguments: Arguments) -> bool:
    """Says if a number is 0 or inf in float32."""
    smallest, largest = extent(arguments)
    return smallest < 1e-37 or largest > 1e38


def compare(
    target: catalogue.Function,
    arguments: Arguments,
    ours: Outcome,
    twin: Outcome,
    changes: int = 2,
):
    """Returns how the outcome in TensorFlow differs from that in NumPy, or None."""
    if is_beyond_float32(arguments) and None in (ours.error, twin.error):
        return None
    if (ours.error is None) != (twin.error is None):
        if rounding_hides_errors(arguments) or _names_groups_alone(arguments):
            return None
        return f"NumPy: {as_text(twin)}; tensors: {as_text(ours)}"
    if ours.error is not None:
        if as_text(ours) != as_text(twin) and changes < 2:
            return f"messages differ: {as_text(twin)} | {as_text(ours)}"
        return None  # Of several problems each half may see another one first.
    if target.random:
        same = ours.values.shape == twin.values.shape
        return None if same else f"shapes differ: {twin.values} | {ours.values}"
    smallest, largest = extent(arguments)
    if smallest < 1e-4 or largest > 1e4 or (target.jumps and _rounds(arguments)):
        return None
    a, b = twin.values, ours.values
    if target.name == "bin_statistics":
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        a, b = a[a != 0], b[b != 0]
    if a.shape != b.shape:
        return f"shapes differ: {a} | {b}"
    finite = np.isfinite(a) & np.isfinite(b)
    atol = np.maximum(_tolerance(arguments, a[finite]), target.precision)
    with np.errstate(all="ignore"):
        differs = np.where(finite, ~(np.abs(a - b) <= atol), ~_alike(a, b))
    if np.any(differs):
        return f"values differ: {a[differs][:3]} | {b[differs][:3]}"
    return None


def rounding_hides_errors(arguments: Arguments) -> bool:
    """Says if a wrong float64 number is a right one in float32."""
    if KEEPS_FLOAT64:
        return False
    return _hides_fractions(arguments) or _rounds_to_1(arguments)


def _rounds_to_1(arguments: Arguments) -> bool:
    """Says if a float64 is above 1, but not above 1 by rounding in float32."""
    return any(
        np.any((value > 1) & (value < 1 + 2.0**-20))
        for value in arguments.values()
        if isinstance(value, np.ndarray) and value.dtype == np.float64
    )


def _alike(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _rounds(arguments: Arguments) -> bool:
    """Says if a decision may depend on the precision of the arithmetic."""
    return any(
        name.startswith("logits") or _is_narrow(name, value) or _exceeds_one(value)
        for name, value in arguments.items()
    )


def _hides_fractions(arguments: Arguments) -> bool:
    """Says if float32 turns a number that is no integer into an integer."""
    for value in arguments.values():
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            with np.errstate(over="ignore"):
                narrow = value.astype(np.float32)
            if np.any((narrow == np.floor(narrow)) & (value != np.floor(value))):
                return True
    return False


def _exceeds_one(value: Any) -> bool:
    """Says if a probability is above 1 by rounding, which may change a decision."""
    return is_data(value) and bool(np.any((value > 1) & (value < 1.001)))


def as_text(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}"
    return str(outcome.values[:5])


def frozen(arguments: Arguments) -> bytes:
    return repr(
        [
            value.tobytes() if isinstance(value, np.ndarray) else repr(value)
            for value in arguments.values()
        ]
    ).encode()
