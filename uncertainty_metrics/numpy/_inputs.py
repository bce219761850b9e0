"""Makes checked arrays of what users pass: labels [N], probabilities [N, K]."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _rows, _threads
from uncertainty_metrics.numpy._group_columns import group_column

ROW_SUM_TOLERANCE = 1e-3
# The largest sum of all weights, so that the sums of a metric stay finite.
MAX_WEIGHT = 1e300
# The number of rows of logits that are searched for probabilities, to save time.
FIRST_ROWS = 64


class Partition(NamedTuple):
    """A partition of N examples into parts.

    Attributes:
      index: the part of each example, integers [N] in [0, number).
      number: number of parts, empty ones included.
      names: what each part is called; None for its number.
    """

    index: Any
    number: int
    names: tuple[Any, ...] | None = None

    def rows(self) -> list[np.ndarray]:
        """Returns the indices of the examples of each part, ascending."""
        index = self.index
        if self.number <= 2**16:  # Sorting 16-bit integers takes a tenth of the time.
            index = index.astype(np.uint16)
        order = np.argsort(index, kind="stable")
        ends = np.cumsum(np.bincount(index, minlength=self.number))[:-1]
        return np.split(order, ends)

    def sums(self, values: np.ndarray | None) -> np.ndarray:
        """Returns the sums over parts of values [N], or of ones, float64 [number]."""
        return np.bincount(self.index, values, self.number).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Examples:
    """Checked examples. Examples of weight 0 or with the ignored label are left out.

    Attributes:
      labels: int64 [N], in [0, K).
      predictions: floating [N, K] in the precision that was passed: logits if `name` is
        "logits", else probabilities. The range of probabilities is not checked yet:
        `decisions` and `check_probabilities` check it in the pass that reads them.
      weights: float64 [N], positive, or None if every weight is 1.
      predicted: int64 [N], the decided classes that were passed, or None.
      name: the name of the predictions argument that was passed.
      counted: boolean, shape of the labels that were passed: which of them are among
        these examples.
      groups: the group of each example, or None.
      places: for `multilabel`, the place of each label on the last axis of the labels
        that were passed (an example is one label); else None.
    """

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    predicted: np.ndarray | None
    name: str
    counted: np.ndarray
    groups: Partition | None = None
    places: Partition | None = None

    @property
    def num_classes(self) -> int:
        """The number of classes, or of labels where each is 0 or 1."""
        return self.predictions.shape[1] if self.places is None else self.places.number

    @property
    def dtype(self) -> np.dtype:
        """The type of the probabilities."""
        return np.dtype(float) if self.name == "logits" else self.predictions.dtype

    @functools.cached_property
    def probabilities(self) -> np.ndarray:
        """The probabilities [N, K], in float64 where logits were passed."""
        if self.name == "logits":
            logits = self.predictions
            return _rows.in_blocks(_rows.softmax, logits, logits.shape[1])
        return self.predictions

    @functools.cached_property
    def decided(self) -> tuple[np.ndarray, np.ndarray]:
        """The most probable class of each example and its probability."""
        if "probabilities" in vars(self):
            return decisions(self.probabilities, "probabilities")
        return decisions(self.predictions, self.name)

    def rows(self, chosen: slice | np.ndarray) -> np.ndarray:
        """Returns the probabilities of some examples, [n, K]; unlike `probabilities`,
        without an array of the probabilities of all examples for logits.

        Args:
          chosen: a slice, or indices.
        """
        if self.name == "logits" and "probabilities" not in vars(self):
            return _rows.softmax(self.predictions[chosen])
        return self.probabilities[chosen]

    def checked(self) -> Examples:
        """Returns the examples, with probabilities that are in [0, 1].

        Raises:
          ValueError: a probability is not in [0, 1].
        """
        if self.name == "logits":
            return self
        checked = check_probabilities(self.predictions, self.name)
        if checked is self.predictions:
            return self
        return dataclasses.replace(self, predictions=checked)

    def in_blocks(
        self, function: Callable[[np.ndarray, slice], np.ndarray], *shape: int
    ) -> np.ndarray:
        """Returns a score of every example, float64 [N, ...].

        Args:
          function: returns the scores of the examples of a block, [n, ...], for their
            float64 probabilities [n, K], which it may overwrite, and the block.
          *shape: the shape of a score.
        """
        out = np.empty((len(self.labels), *shape))

        def scores(block: slice) -> np.ndarray:
            return function(self.rows(block).astype(np.float64), block)

        return _threads.fill_rows(out, scores, self.predictions.shape[1])

    def at(self, rows: np.ndarray) -> Examples:
        """Returns the examples with indices `rows`, without their groups."""

        def taken(array: Any) -> Any:
            return None if array is None else array[rows]

        places = self.places
        return dataclasses.replace(
            self,
            labels=self.labels[rows],
            predictions=self.predictions[rows],
            weights=taken(self.weights),
            predicted=taken(self.predicted),
            groups=None,
            places=places and places._replace(index=places.index[rows]),
        )

    def weighted(self, weights: np.ndarray | None) -> Examples:
        """Returns the examples with other weights; `counted` is True for all."""
        counted = np.ones(len(self.labels), bool)
        reweighted = dataclasses.replace(self, weights=weights, counted=counted)
        # Properties that were computed already hold for the new weights, too.
        computed = {"probabilities", "decided"} & vars(self).keys()
        vars(reweighted).update({name: vars(self)[name] for name in computed})
        return reweighted


def refuse_text(name: str) -> None:
    """Raises the error for text; for labels it says how to encode them as integers."""
    labels = ("labels", "labels_predicted", "labels_true", "y_true", "groups")
    if name not in labels:
        raise TypeError(f"`{name}` must hold numbers. Received: text")
    encoded = f"np.unique({name}, return_inverse=True)[1]"
    raise _checks.error(name, f"numbers; encode classes as `{encoded}` does", "text")


def as_array(name: str, value: Any) -> np.ndarray:
    """Returns a value as a numeric array.

    Raises:
      ValueError: a list is ragged, entries are masked, or labels are text.
      TypeError: the value does not convert to an array of numbers.
    """
    if np.ma.is_masked(value):  # NumPy would drop the mask.
        raise _checks.error(name, "an array without masked entries", "masked entries")
    try:
        array = np.asarray(value)
    except ValueError as ragged:
        raise _checks.error(name, "a rectangular array", str(ragged)) from None
    except (RuntimeError, TypeError) as failure:  # Raised by tensors of frameworks.
        raise TypeError(
            f"`{name}` must convert to a NumPy array. Received: "
            f"{type(value).__name__}, which says: {failure}"
        ) from None
    if array.dtype.kind in "SUT" or (
        array.dtype == object and isinstance(next(array.flat, None), str)
    ):
        refuse_text(name)
    if array.dtype == object:
        raise _checks.error(name, "a rectangular array of numbers", "objects")
    if array.dtype.kind not in "biu" and not is_floating(array):
        raise TypeError(f"`{name}` must hold numbers. Received: dtype {array.dtype}")
    return array


def is_floating(array: np.ndarray) -> bool:
    """Says if the dtype is floating, bfloat16 of ml_dtypes included."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def first(bad: np.ndarray, array: np.ndarray) -> str:
    """Returns the value and the index of the first bad entry, for a message."""
    index = np.unravel_index(np.argmax(bad), bad.shape)
    place = ", ".join(str(int(i)) for i in index)
    return f"{array[index]} at [{place}]"


def finite(name: str, value: Any, single: bool = False) -> np.ndarray:
    """Returns a float64 array; raises ValueError unless all numbers are finite.

    With `single`, an array in float32 stays in float32.
    """
    array = as_array(name, value)
    if not (single and array.dtype == np.float32):
        with np.errstate(invalid="ignore"):  # A signaling NaN of 16 bits warns.
            array = native_floating(array).astype(np.float64)
    good = np.isfinite(array)
    if not np.all(good):
        raise _checks.error(name, "finite", first(~good, array))
    return array


def like_labels(
    name: str, value: Any, labels: np.ndarray, single: bool = False
) -> np.ndarray:
    """Returns a finite float64 array of the shape of the labels; see `finite`."""
    array = as_array(name, value)
    _checks.same_shape(name, array.shape, labels.shape)
    array = finite(name, array, single)
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


def integer_labels(name: str, array: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns int64 labels; raises ValueError unless they are in [0, num_classes)."""
    integers = array.dtype.kind in "iu" and array.size > 0
    if integers and array.min() >= 0 and array.max() < num_classes:
        return array.astype(np.int64, copy=False)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = (array < 0) | (array >= num_classes)
    if is_floating(array):
        bad |= array != np.floor(array)  # True for NaN.
    if np.any(bad):
        raise _checks.error(name, f"integers in [0, {num_classes})", first(bad, array))
    return array.astype(np.int64)


def is_ignored(labels: np.ndarray, ignore_index: int) -> np.ndarray:
    """Says which labels are the ignored one; raises ValueError for a wrong index."""
    index = _checks.ignored_label("ignore_index", ignore_index)
    return labels == np.int64(index)  # The type of the labels may be too narrow for it.


def _check_not_swapped(labels: np.ndarray, predictions: np.ndarray, name: str) -> None:
    """Raises ValueError if the two arguments make sense only in the other order."""
    if not is_floating(labels) or predictions.size == 0:
        return
    with np.errstate(invalid="ignore"):
        fractional = np.any((labels > 0) & (labels < 1))
        whole = np.all(predictions == np.floor(predictions))
    if fractional and whole:
        raise _checks.plain_error(
            _checks.SWAPPED, f"fractions as `labels`, whole numbers as `{name}`"
        )


def _check_not_one_hot(labels: np.ndarray, predictions: np.ndarray, name: str) -> None:
    """Raises ValueError if labels [N, K] are one-hot rows, not N*K binary labels."""
    if labels.ndim < 2 or labels.shape != predictions.shape or labels.shape[-1] < 2:
        return
    one_hot = np.all((labels == 0) | (labels == 1)) and np.all(labels.sum(-1) == 1)
    if one_hot and (
        name == "logits"
        or np.all(
            np.abs(predictions.astype(np.float64).sum(-1) - 1) < ROW_SUM_TOLERANCE
        )
    ):
        raise _checks.error(
            "labels",
            "integers, not one-hot rows: pass np.argmax(labels, axis=-1)",
            f"one-hot labels of shape {list(labels.shape)} for `{name}` of the same "
            "shape",
        )


def _broadcast_to_labels(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a value as an array [N], broadcast to labels of `shape`."""
    array = as_array(name, value)
    aligned = _checks.aligned_shape(name, array.shape, shape)
    return np.broadcast_to(array.reshape(aligned), shape).reshape(-1)


def sample_weights(
    sample_weight: Any, shape: tuple[int, ...], name: str = "sample_weight"
) -> np.ndarray:
    """Returns finite, non-negative float64 weights [N] for labels of `shape`."""
    weights = _broadcast_to_labels(name, sample_weight, shape).astype(np.float64)
    bad = ~(weights >= 0) | np.isinf(weights)
    if np.any(bad):
        raise _checks.error(name, "finite and >= 0", first(bad, weights))
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


def check_logits(logits: np.ndarray, name: str = "logits") -> None:
    """Raises ValueError unless logits [..., K], or logits of class 1 [..., 1], are
    finite, or -inf for some classes of a row.
    """
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        top = _largest(logits)
        if logits.shape[-1] == 1:
            top = np.maximum(top, 0)  # The logit of class 0 is 0.
        bad = ~np.isfinite(top)  # NaN, +inf, or a row of nothing but -inf.
    if np.any(bad):
        raise _checks.error(
            name, "finite, or -inf for some classes of a row", first(bad, top)
        )


def _largest(logits: np.ndarray) -> np.ndarray:
    """Returns the largest number of each row [..., K], [...]."""
    if logits.ndim < 2:
        return np.asarray(_rows.largest(logits))
    out = np.empty(logits.shape[:-1], logits.dtype)

    def fill(rows: slice) -> None:
        out[rows] = _rows.largest(logits[rows])

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


def check_probabilities(probabilities: np.ndarray, name: str) -> np.ndarray:
    """Returns the probabilities, with 1 for those that only rounding puts above 1.

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
        expected = "in [0, 1]" + _checks.hint(name)
        raise _checks.error(name, expected, first(bad, probabilities))
    zero, one = np.zeros((), probabilities.dtype), np.ones((), probabilities.dtype)
    return np.where(probabilities > 0, np.minimum(probabilities, one), zero)  # No -0.0.


def decisions(predictions: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the argmax of each row, ties to the lowest, and its probability.

    Args:
      predictions: probabilities [N, K], or logits if `name` is "logits".
      name: name of the predictions.

    Raises:
      ValueError: a probability is not in [0, 1].
    """
    # Non-negative floats sort like their bits, and NaN, negative numbers and numbers
    # above 1 all have larger bits than 1.0: one pass finds the maximum and bad values.
    n, classes = predictions.shape
    from_logits = name == "logits"
    step = _threads.rows_of_block(classes) if from_logits else n
    index = np.empty(n, np.intp)
    top = np.empty(n, np.float64 if from_logits else predictions.dtype)

    def decide(rows: slice) -> bool:
        for block in _threads.blocks(rows, step):
            p = predictions[block]
            if from_logits:
                p = _rows.softmax(p)
            index[block] = np.argmax(ordered_bits(p), axis=-1)
            top[block] = p[np.arange(len(p)), index[block]]
        return bool(np.max(ordered_bits(top[rows]), initial=0) <= _one_bits(top))

    if not all(_threads.map_rows(decide, n, classes)):
        return decisions(check_probabilities(predictions, name), name)
    return index, top


def upper_limit(dtype: Any) -> np.ndarray:
    """Returns the largest number that may be a rounded 1, as in the mean of an
    ensemble: 4 units in the last place above 1.
    """
    return (ordered_bits(np.ones(1, dtype)) + 4).view(dtype)[0]


def ordered_bits(probabilities: np.ndarray) -> np.ndarray:
    """Returns the bits as integers, which sort like the floats if these are >= 0."""
    return probabilities.view(f"u{probabilities.dtype.itemsize}")


def _one_bits(probabilities: np.ndarray) -> int:
    return int(ordered_bits(np.ones(1, probabilities.dtype))[0])


def examples(
    labels: Any,
    probabilities: Any = None,
    logits: Any = None,
    probs: Any = None,
    *,
    labels_predicted: Any = None,
    sample_weight: Any = None,
    ignore_index: int | None = None,
    groups: Any = None,
    num_groups: Any = None,
    multilabel: Any = False,
    allow_none: bool = False,
) -> Examples:
    """Returns the checked examples of the arguments that classifier metrics share.

    `allow_none` accepts a batch in which every example is ignored or has weight 0. To
    call many functions on the same examples, pass `Examples` as `labels`, and no other
    data.
    """
    if isinstance(labels, Examples):
        return labels
    name, predictions = _checks.predictions(probabilities, logits, probs)
    predictions = as_array(name, predictions)
    labels = as_array("labels", labels)
    num_classes = _checks.layout(labels.shape, predictions.shape, name)
    shape = labels.shape
    names: tuple[Any, ...] | None = None
    if groups is not None and num_groups is None:
        column = group_column("groups", groups)
        groups, names = column.codes.reshape(np.shape(groups)), tuple(column.values)
        num_groups = len(names)
    num_groups = _checks.number_of_groups(groups, num_groups)
    places, num_labels = None, 0
    if multilabel:
        num_labels = _checks.number_of_labels(shape, predictions.shape, name)
        places = np.broadcast_to(np.arange(num_labels), shape).reshape(-1)
    elif num_classes is None:
        _check_not_one_hot(labels, predictions, name)
    if num_groups is not None:
        groups = _broadcast_to_labels("groups", groups, shape)

    # `ordered_bits` needs the bytes in the order of the machine.
    predictions = np.ascontiguousarray(native_floating(predictions))
    predictions = predictions.reshape(-1, num_classes or 1)
    labels = labels.reshape(-1)
    ignored = None
    if ignore_index is not None:
        ignored = is_ignored(labels, ignore_index)
    if labels_predicted is not None:
        labels_predicted = as_array("labels_predicted", labels_predicted)
        if labels_predicted.size != labels.size:
            raise _checks.error(
                "labels_predicted",
                f"of the shape of the labels, {list(shape)}",
                f"shape {list(labels_predicted.shape)}",
            )
        labels_predicted = labels_predicted.reshape(-1)

    weights = None
    if sample_weight is not None:
        weights = sample_weights(sample_weight, shape)
        dropped = weights == 0
        ignored = dropped if ignored is None else ignored | dropped
    counted = np.ones(shape, bool) if ignored is None else ~ignored.reshape(shape)
    all_predictions = predictions
    if ignored is not None and np.any(ignored):
        if not (allow_none or np.any(counted)):
            raise _checks.error(
                "labels",
                "at least one example of positive weight that is not ignored",
                "none",
                verb="hold",
            )
        rows = counted.reshape(-1)
        labels, predictions = labels[rows], predictions[rows]
        weights = None if weights is None else weights[rows]
        labels_predicted, groups, places = (
            None if array is None else array[rows]
            for array in (labels_predicted, groups, places)
        )

    _check_not_swapped(labels, all_predictions, name)
    classes = num_classes or 2
    labels = integer_labels("labels", labels, classes)
    if labels_predicted is not None:
        labels_predicted = integer_labels("labels_predicted", labels_predicted, classes)
    if num_groups is not None:
        groups = integer_labels("groups", groups, num_groups)
    if name == "logits":
        if num_classes is None:
            predictions = np.concatenate([np.zeros_like(predictions), predictions], -1)
        check_logits(predictions)
        are_probabilities(all_predictions, counted.reshape(-1), name)
    elif num_classes is None:
        predictions = check_probabilities(predictions, name)
        one = np.ones((), predictions.dtype)
        predictions = np.concatenate([one - predictions, predictions], axis=-1)
    return Examples(
        *(labels, predictions, weights, labels_predicted, name, counted),
        None if num_groups is None else Partition(groups, num_groups, names),
        None if places is None else Partition(places, num_labels),
    )


def examples_of(data: ClassifierData, allow_none: bool = False) -> Examples:
    """Returns the checked examples of the data of a public function."""
    if data.has_confidences:
        _check_confidences(data)
        return examples(
            data.correct,
            data.confidences,
            sample_weight=data.sample_weight,
            groups=data.groups,
            num_groups=data.num_groups,
            allow_none=allow_none,
        )
    return examples(
        data.labels,
        data.probabilities,
        data.logits,
        data.probs,
        labels_predicted=data.labels_predicted,
        sample_weight=data.sample_weight,
        ignore_index=data.ignore_index,
        groups=data.groups,
        num_groups=data.num_groups,
        multilabel=data.multilabel,
        allow_none=allow_none,
    )


def _check_confidences(data: ClassifierData) -> None:
    """Raises ValueError for wrong values among the examples that count."""
    correct = as_array("correct", data.correct)
    confidences = as_array("confidences", data.confidences)
    _checks.paired("confidences", confidences.shape, "correct", correct.shape)
    if data.sample_weight is not None:
        weights = sample_weights(data.sample_weight, correct.shape)
        correct, confidences = correct.reshape(-1), confidences.reshape(-1)
        correct, confidences = correct[weights > 0], confidences[weights > 0]
    bad = (correct != 0) & (correct != 1)
    if np.any(bad):
        raise _checks.error("correct", "booleans, or 0 and 1", first(bad, correct))
    confidences = confidences.reshape(correct.shape)
    limit = upper_limit(native_floating(confidences).dtype)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = ~((confidences >= 0) & (confidences <= limit))
        percent = np.all((confidences >= 0) & (confidences <= 100))
    if np.any(bad):
        expected = "in [0, 1]" + ("; divide percent by 100" if percent else "")
        raise _checks.error("confidences", expected, first(bad, confidences))


def concatenate(batches: list[Examples]) -> Examples:
    """Returns the examples of all batches, which have the same number of classes."""
    if len(batches) == 1:
        return batches[0]

    def join(field: str, default: Any) -> Any:
        values = [getattr(batch, field) for batch in batches]
        if all(value is None for value in values):
            return None
        pairs = zip(batches, values, strict=True)
        return np.concatenate([default(b) if v is None else v for b, v in pairs])

    return Examples(
        join("labels", None),
        join("probabilities", None),
        join("weights", lambda batch: np.ones(len(batch.labels))),
        join("predicted", lambda batch: np.argmax(batch.probabilities, axis=-1)),
        "probabilities",
        np.concatenate([batch.counted.reshape(-1) for batch in batches]),
    )
