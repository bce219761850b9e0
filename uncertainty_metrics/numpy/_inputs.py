"""Makes checked arrays of what users pass: labels, probabilities, logits, weights."""

from __future__ import annotations

import decimal
import math
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _missing, _pytorch, _row_math, _threads

ROW_SUM_TOLERANCE = 1e-3
# The largest sum of all weights, so that the sums of a metric stay finite.
MAX_WEIGHT = 1e300
# The number of rows of logits that are searched for probabilities, to save time.
FIRST_ROWS = 64
# Labels that mean "not labelled", by custom.
_UNLABELLED = (-100, -1, 255)
_NUMBERS = (bool, int, float, np.bool_, np.number)


class Place(NamedTuple):
    """Where the rows of N examples, or of some of them, stand in an argument.

    Attributes:
      shape: the shape of the argument: [..., K], or [...] of one number an example.
      counted: boolean [N], the examples that have a row; None for all.
    """

    shape: tuple[int, ...]
    counted: np.ndarray | None = None

    def of(self, row: int, rows: int, column: int | None) -> tuple[Any, ...]:
        """Returns the index of a number in the argument.

        Args:
          row: the row of the number.
          rows: how many rows there are.
          column: its column; None for the whole row.
        """
        if self.counted is not None:
            row, rows = int(np.flatnonzero(self.counted)[row]), self.counted.size
        columns = math.prod(self.shape) // rows
        if columns < 2:
            return np.unravel_index(row, self.shape)
        if column is None:
            return np.unravel_index(row, self.shape[:-1])
        return np.unravel_index(row * columns + column, self.shape)


def refuse_text(name: str) -> None:
    """Raises the error for text; for labels it says how to encode them as integers."""
    if name == "groups":
        encoded = "np.unique(groups, return_inverse=True)[1]"
        raise _checks.error(name, f"numbers; encode groups as `{encoded}` does", "text")
    if name not in ("labels", "labels_predicted", "labels_true", "y_true"):
        raise TypeError(f"`{name}` must hold numbers. Received: text")
    encoded = f"`um.class_indices({name}, classes)`"
    raise _checks.error(
        name,
        f"numbers; pass {encoded}, with the classes in the order of the columns",
        "text",
    )


def as_array(name: str, value: Any) -> np.ndarray:
    """Returns a value as a numeric array.

    Raises:
      ValueError: a list is ragged, entries are masked, or labels are text.
      TypeError: the value does not convert to an array of numbers.
    """
    value = _pytorch.as_it_is(value)
    _missing.refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except ValueError as ragged:
        raise _checks.error(name, "a rectangular array", str(ragged)) from None
    except (RuntimeError, TypeError) as failure:  # Raised by tensors of frameworks.
        raise TypeError(
            f"`{name}` must convert to a NumPy array. Received: "
            f"{type(value).__name__}, which says: {failure}"
        ) from None
    if array.dtype == object:
        array = _of_objects(name, array)
    if array.dtype.kind in "SUT":
        refuse_text(name)
    if not holds_numbers(array):
        raise TypeError(f"`{name}` must hold numbers. Received: dtype {array.dtype}")
    return array


def _of_objects(name: str, array: np.ndarray) -> np.ndarray:
    """Returns objects, such as a column of a data frame, as numbers or as text.

    Raises:
      ValueError: a number is missing, or there are other objects.
    """
    values = array.reshape(-1).tolist()
    missing = np.array([_missing.is_missing(value) for value in values], bool)
    if np.any(missing):
        raise _checks.error(
            name,
            "a number everywhere: leave out the examples without one",
            first(missing.reshape(array.shape), array),
            verb="hold",
        )
    if any(isinstance(value, str) for value in values):
        refuse_text(name)
    if all(isinstance(value, _NUMBERS) for value in values):
        array = np.array(values).reshape(array.shape)
    elif all(isinstance(value, decimal.Decimal) for value in values):
        array = array.astype(np.float64)
    elif values and all(map(_is_list, values)) and array.size == len(array):
        return as_array(name, _stacked(name, values))
    if array.dtype == object:  # Integers may be too large for NumPy.
        raise _checks.error(name, "a rectangular array of numbers", "objects")
    return array


def _is_list(value: Any) -> bool:
    """Says if an entry of a column is itself a list, an array or a column."""
    return isinstance(value, list | tuple | np.ndarray) or hasattr(value, "to_numpy")


def _stacked(name: str, rows: list[Any]) -> np.ndarray:
    """Returns a column of lists [N] as an array [N, K].

    Raises:
      ValueError: the lists have different shapes.
    """
    arrays = [np.asarray(row) for row in rows]
    for i, row in enumerate(arrays):
        if row.shape != arrays[0].shape:
            raise _checks.error(
                name,
                f"a list of shape {list(arrays[0].shape)} in each row",
                f"shape {list(row.shape)} at [{i}]",
                verb="hold",
            )
    return np.stack(arrays)


def is_floating(array: np.ndarray) -> bool:
    """Says if the dtype is floating, bfloat16 of ml_dtypes included."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def holds_numbers(array: np.ndarray) -> bool:
    """Says if the dtype is one of numbers or booleans."""
    return array.dtype.kind in "biu" or is_floating(array)


def result_dtype(array: np.ndarray) -> np.dtype:
    """Returns the type of results as exact as an array: its own floating type, but
    float32 for bfloat16, which PyTorch does not read; float64 for other numbers.
    """
    if array.dtype.kind == "f":
        return array.dtype
    return np.dtype(np.float32 if is_floating(array) else np.float64)


def first(bad: np.ndarray, array: np.ndarray, place: Place | None = None) -> str:
    """Returns the value and the index of the first bad entry, for a message.

    Args:
      bad: which entries are bad.
      array: the entries.
      place: where the rows of `array` stand in the argument; None if `array` has the
        shape of the argument.
    """
    index = np.unravel_index(np.argmax(bad), bad.shape)
    value = array[index]
    if place is not None:
        row, *column = map(int, index)
        index = place.of(row, len(bad), column[0] if column else None)
    return f"{value} at {list(map(int, index))}"


def floats(array: np.ndarray, single: bool) -> np.ndarray:
    """Returns numbers in float64; with `single`, an array in float32 stays as it is."""
    if single and array.dtype == np.float32:
        return array
    with np.errstate(invalid="ignore"):  # A signaling NaN of 16 bits warns.
        return native_floating(array).astype(np.float64)


def finite(
    name: str, value: Any, single: bool = False, place: Place | None = None
) -> np.ndarray:
    """Returns a float64 array; raises ValueError unless all numbers are finite.

    With `single`, an array in float32 stays in float32. `place` is that of `first`.
    """
    array = floats(as_array(name, value), single)
    good = np.isfinite(array)
    if not np.all(good):
        raise _checks.error(name, "finite", first(~good, array, place))
    return array


def like_labels(
    name: str, value: Any, labels: np.ndarray, single: bool = False
) -> np.ndarray:
    """Returns a finite float64 array of the shape of the labels; see `finite`."""
    array = as_array(name, value)
    _checks.same_shape(name, array.shape, labels.shape)
    return in_shape_of(labels, finite(name, array, single))


def in_shape_of(labels: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Returns an array of as many numbers as the labels, or of one, in their shape."""
    if array.ndim == 0:
        return np.broadcast_to(array, labels.shape)
    return array.reshape(labels.shape)


def generator(seed: Any) -> np.random.Generator:
    """Returns a random generator; raises ValueError for an invalid seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise _checks.error(
            "seed", "None, a non-negative integer or a sequence of them", repr(seed)
        ) from None


def integer_labels(
    name: str, array: np.ndarray, num_classes: int, place: Place | None = None
) -> np.ndarray:
    """Returns int64 labels; raises ValueError unless they are in [0, num_classes).

    `place` is that of `first`.
    """
    integers = array.dtype.kind in "iu" and array.size > 0
    if integers and array.min() >= 0 and array.max() < num_classes:
        return array.astype(np.int64, copy=False)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        # The type of the labels may be too narrow for the number of classes.
        bad = (array < 0) | (array >= np.int64(num_classes))
    if is_floating(array):
        bad |= array != np.floor(array)  # True for NaN.
    if np.any(bad):
        hint = label_hint(array, num_classes)
        if name == "labels" and not hint and not np.any((array < 0) | (array > 1)):
            hint = (
                "; if these are shares of votes, pass `label_distributions` or "
                "`losses` to a function that takes it, else every vote as an example"
            )
        expected = f"integers in [0, {num_classes})" + hint
        raise _checks.error(name, expected, first(bad, array, place))
    return array.astype(np.int64)


def label_hint(labels: np.ndarray, num_classes: int) -> str:
    """Returns what to do with labels that are not all in [0, num_classes)."""
    if is_floating(labels) and np.any(np.isnan(labels)):
        return "; leave out examples without a label"
    if num_classes == 2 and np.all((labels == -1) | (labels == 1)):
        return "; for -1 and 1 pass (labels + 1) // 2"
    # The type of the labels may be too narrow for the number of classes.
    if np.min(labels) >= 1 and np.max(labels) == np.int64(num_classes):
        return "; subtract 1 if they count from 1"
    outside = np.unique(labels[(labels < 0) | (labels >= np.int64(num_classes))])
    if outside.size == 1 and outside[0] in _UNLABELLED:
        label = int(outside[0])
        return (
            f"; leave out examples without a label, or pass ignore_index={label} to a "
            f"function that takes it (for a file, --ignore-index {label})"
        )
    return ""


def is_ignored(labels: np.ndarray, ignore_index: int) -> np.ndarray:
    """Says which labels are the ignored one; raises ValueError for a wrong index."""
    index = _checks.ignored_label("ignore_index", ignore_index)
    return labels == np.int64(index)  # The type of the labels may be too narrow for it.


def broadcast_to_labels(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a value as an array [N], broadcast to labels of `shape`."""
    array = as_array(name, value)
    aligned = _checks.aligned_shape(name, array.shape, shape)
    return np.broadcast_to(array.reshape(aligned), shape).reshape(-1)


def sample_weights(
    sample_weight: Any, shape: tuple[int, ...], name: str = "sample_weight"
) -> np.ndarray:
    """Returns finite, non-negative float64 weights [N] for labels of `shape`."""
    array = as_array(name, sample_weight)
    weights = broadcast_to_labels(name, array, shape).astype(np.float64)
    bad = ~(weights >= 0) | np.isinf(weights)
    if np.any(bad):
        given = array.astype(np.float64)  # The place is in the array that was passed.
        bad = ~(given >= 0) | np.isinf(given)
        raise _checks.error(name, "finite and >= 0", first(bad, given))
    with np.errstate(over="ignore"):
        total = np.sum(weights)
    if total > MAX_WEIGHT:
        raise _checks.error(name, f"a sum up to {MAX_WEIGHT:g}", total, verb="have")
    return weights


def native_floating(predictions: np.ndarray) -> np.ndarray:
    """Returns predictions in their floating type if it has at most 64 bits, else in
    float64, with the bytes in the order of the machine.
    """
    predictions = predictions.astype(predictions.dtype.newbyteorder("="), copy=False)
    if not is_floating(predictions) or predictions.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # Numbers of a wider type may become infinite.
            return predictions.astype(np.float64)
    return predictions


def check_logits(
    logits: np.ndarray, name: str = "logits", place: Place | None = None
) -> None:
    """Raises ValueError unless logits [..., K], or logits of class 1 [..., 1], are
    finite, or -inf for some classes of a row. `place` is that of `first`.
    """
    if _have_finite_sums(logits):
        return
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        top = _largest(logits)
        if logits.shape[-1] == 1:
            top = np.maximum(top, 0)  # The logit of class 0 is 0.
        bad = ~np.isfinite(top)  # NaN, +inf, or a row of nothing but -inf.
    if np.any(bad):
        row = np.isfinite(logits) | np.isneginf(logits)
        wrong = ~row if not np.all(row) else np.broadcast_to(bad[..., None], row.shape)
        raise _checks.error(
            name,
            "finite, or -inf for some classes of a row",
            first(wrong, logits, place),
        )


def _have_finite_sums(array: np.ndarray) -> bool:
    """Says if the sums of blocks of an array are finite, and with them all numbers.

    Sums take a fraction of the time of the largest number of each short row.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _threads.map_blocks(
            lambda rows: np.sum(array[rows]), len(array), _row_size(array)
        )
        return bool(np.all(np.isfinite(sums)))


def _largest(logits: np.ndarray) -> np.ndarray:
    """Returns the largest number of each row [..., K], [...]."""
    if logits.ndim < 2:
        return np.asarray(_row_math.largest(logits))
    out = np.empty(logits.shape[:-1], logits.dtype)

    def fill(rows: slice) -> None:
        out[rows] = _row_math.largest(logits[rows])

    _threads.map_rows(fill, len(logits), _row_size(logits))
    return out


def _row_size(array: np.ndarray) -> int:
    """Returns how many numbers there are for each index of the first axis."""
    return array.size // max(len(array), 1)


def are_probabilities(
    logits: np.ndarray, counted: np.ndarray | None = None, name: str | None = None
) -> bool:
    """Says if the first rows of logits [N, ..., K] are surely probabilities.

    Rows of real logits are non-negative and sum to 1 only by chance, so a few rows are
    enough to be sure.

    Args:
      logits: floating, as they were passed.
      counted: boolean [N], which of the rows count; None for all.
      name: name of the logits; if given, ValueError is raised instead of returning
        True.
    """
    rows = logits[:FIRST_ROWS]
    if counted is not None:
        rows = rows[counted[:FIRST_ROWS]]
    rows = rows.reshape(-1, rows.shape[-1])
    least, tolerance = probability_rows(rows.dtype.itemsize, rows.shape[-1])
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        if rows.shape[-1] < 2 or len(rows) < least or not np.min(rows) >= 0:
            return False
    rows = rows.astype(np.float64)
    with np.errstate(over="ignore"):
        close = np.all(np.abs(rows.sum(axis=-1) - 1) <= tolerance)
    are = bool(close and np.any((rows > 0) & (rows < 1)))  # Logits may be one-hot.
    if are and name is not None:
        raise _checks.error(
            name,
            "logits" + _checks.hint(name),
            "rows of numbers in [0, 1] that sum to 1",
        )
    return are


def probability_rows(itemsize: int, classes: int) -> tuple[int, float]:
    """Returns the number of rows that must sum to 1 to rule out chance, and the
    tolerance of each sum.

    In 16 bits a row of logits sums to exactly 1 now and then.
    """
    return (8, min(classes, 16) * 2.0**-9) if itemsize < 4 else (2, 1e-5)


def check_probabilities(
    probabilities: np.ndarray, name: str, place: Place | None = None
) -> np.ndarray:
    """Returns the probabilities, with 1 for those that only rounding puts above 1.

    `place` is that of `first`.

    Raises:
      ValueError: a probability is not in [0, 1].
    """
    bits = np.atleast_1d(ordered_bits(probabilities))

    def are_good(rows: slice) -> bool:
        return bool(np.max(bits[rows], initial=0) <= _one_bits(probabilities))

    if all(_threads.map_rows(are_good, len(bits), _row_size(bits))):
        return probabilities
    limit = upper_limit(probabilities.dtype)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = ~((probabilities >= 0) & (probabilities <= limit))
    if np.any(bad):
        expected = unit_range(name, probabilities)
        raise _checks.error(name, expected, first(bad, probabilities, place))
    zero, one = np.zeros((), probabilities.dtype), np.ones((), probabilities.dtype)
    return np.where(probabilities > 0, np.minimum(probabilities, one), zero)  # No -0.0.


def unit_range(name: str, values: np.ndarray) -> str:
    """Returns what numbers must be that are not all in [0, 1], and what to do."""
    values = values.astype(np.float64)
    least, largest = np.min(values), np.max(values)  # NaN if there is one.
    expected = "in [0, 1]"
    if np.isnan(least):
        return expected + ", and not NaN: leave out examples without a prediction"
    if least >= -0.01 and largest <= 1.01:
        return expected + "; clip rounding errors with np.clip"
    if least >= 0 and largest <= 100:
        # So large a logit would hardly come without a negative one.
        other = "" if largest > 20 else _checks.hint(name)
        return f"{expected}; divide percent by 100{other}"
    if largest <= 0 and not _checks.hint(name):
        return expected + "; take the exponential of log-probabilities"
    return expected + _checks.hint(name)


def decisions(
    predictions: np.ndarray, name: str, place: Place | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the argmax of each row, ties to the lowest, and its probability.

    Args:
      predictions: probabilities [N, K], or logits if `name` is "logits".
      name: name of the predictions.
      place: as for `first`.

    Raises:
      ValueError: a probability is not in [0, 1].
    """
    # Non-negative floats sort like their bits, and NaN, negative numbers and numbers
    # above 1 all have larger bits than 1.0: one pass finds the maximum and bad values.
    n, classes = predictions.shape
    from_logits = name == "logits"
    # NumPy's argmax copies what may not be written, such as the array of a tensor.
    step = _threads.rows_of_block(classes)
    index = np.empty(n, np.intp)
    top = np.empty(n, np.float64 if from_logits else predictions.dtype)

    def decide(rows: slice) -> bool:
        for block in _threads.blocks(rows, step):
            p = predictions[block]
            if from_logits:
                p = _row_math.softmax(p)
            bits = ordered_bits(p)
            if classes == 2:  # `argmax` is slow on short rows.
                index[block] = bits[:, 1] > bits[:, 0]
                ordered_bits(top)[block] = np.maximum(bits[:, 0], bits[:, 1])
            else:
                index[block] = bits.argmax(axis=-1)
                top[block] = p[np.arange(len(p)), index[block]]
        return bool(np.max(ordered_bits(top[rows]), initial=0) <= _one_bits(top))

    if not all(_threads.map_rows(decide, n, classes)):
        return decisions(check_probabilities(predictions, name, place), name)
    return index, top


def upper_limit(dtype: Any) -> np.ndarray:
    """Returns the largest number that may be a rounded 1, as in the mean of an
    ensemble: 4 units in the last place above 1. float64 may hold float32 results.
    """
    computed = np.float32 if np.dtype(dtype) == np.float64 else dtype
    return (ordered_bits(np.ones(1, computed)) + 4).view(computed)[0].astype(dtype)


def ordered_bits(probabilities: np.ndarray) -> np.ndarray:
    """Returns the bits as integers, which sort like the floats if these are >= 0."""
    return probabilities.view(f"u{probabilities.dtype.itemsize}")


def _one_bits(probabilities: np.ndarray) -> int:
    return int(ordered_bits(np.ones(1, probabilities.dtype))[0])
