"""From what a user passes to checked arrays: labels [N], probabilities [N, K]."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData

ROW_SUM_TOLERANCE = 1e-3
# Of all examples together: their sums of sums stay finite.
MAX_WEIGHT = 1e300
# So many rows show if logits are probabilities; more would take longer.
FIRST_ROWS = 64
# Numbers of a block, of which a few stay in the cache.
_BLOCK = 2**14


class Partition(NamedTuple):
    """What each of N examples belongs to.

    Attributes:
      index: integers [N], in [0, number).
      number: of what there are, whether any example belongs to it or not.
    """

    index: Any
    number: int

    def rows(self) -> list[np.ndarray]:
        """Returns which of the examples belong to each, in order."""
        index = self.index
        if self.number <= 2**16:  # Of which a stable sort takes a tenth of the time.
            index = index.astype(np.uint16)
        order = np.argsort(index, kind="stable")
        ends = np.cumsum(np.bincount(index, minlength=self.number))[:-1]
        return np.split(order, ends)

    def sums(self, values: np.ndarray | None) -> np.ndarray:
        """Returns the sums of values [N], or of ones, float64 [number]."""
        return np.bincount(self.index, values, self.number).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Examples:
    """Checked examples; those of weight 0 and of the ignored label are left out.

    Attributes:
      labels: int64 [N], in [0, K).
      predictions: floating [N, K] in the precision that was passed: logits where `name`
        is "logits", else probabilities. The range of the latter is checked where they
        are read (`decisions`, `check_probabilities`), in one pass.
      weights: float64 [N], positive, or None where every weight is 1.
      predicted: int64 [N], the decision labels that were passed, or None.
      name: what the user called the predictions.
      kept: boolean, shape of the labels that were passed: which of them are here.
      groups: the group of each example, or None.
      places: of examples that are labels of several, each 0 or 1, which of these each
        is; or None.
    """

    labels: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    predicted: np.ndarray | None
    name: str
    kept: np.ndarray
    groups: Partition | None = None
    places: Partition | None = None

    @property
    def num_classes(self) -> int:
        """The number of classes, or of labels where each is 0 or 1."""
        return self.predictions.shape[1] if self.places is None else self.places.number

    @functools.cached_property
    def probabilities(self) -> np.ndarray:
        """The probabilities [N, K], in float64 where logits were passed."""
        if self.name == "logits":
            return softmax(self.predictions)
        return self.predictions

    @functools.cached_property
    def decided(self) -> tuple[np.ndarray, np.ndarray]:
        """The decision of each example, by its probabilities, and its probability."""
        return decisions(self.probabilities, self.name)

    def at(self, rows: np.ndarray) -> Examples:
        """Returns some of the examples, without groups."""

        def of(array: Any) -> Any:
            return None if array is None else array[rows]

        places = self.places
        return dataclasses.replace(
            self,
            labels=self.labels[rows],
            predictions=self.predictions[rows],
            weights=of(self.weights),
            predicted=of(self.predicted),
            groups=None,
            places=places and places._replace(index=places.index[rows]),
        )

    def weighted(self, weights: np.ndarray | None) -> Examples:
        """Returns the same with other weights, and as if none had been left out."""
        kept = np.ones(len(self.labels), bool)
        made = dataclasses.replace(self, weights=weights, kept=kept)
        found = {"probabilities", "decided"} & vars(self).keys()
        vars(made).update({name: vars(self)[name] for name in found})
        return made


def refuse_text(name: str) -> None:
    """Raises the error for text: of labels one that says how to encode them."""
    classes = ("labels", "labels_predicted", "labels_true", "y_true", "groups")
    if name not in classes:
        raise TypeError(f"`{name}` must hold numbers. Received: text")
    encoded = f"np.unique({name}, return_inverse=True)[1]"
    raise _checks.error(name, f"numbers; encode classes as `{encoded}` does", "text")


def as_array(name: str, value: Any) -> np.ndarray:
    """Converts to a numeric array.

    Raises:
      ValueError: a list is ragged, or labels are text.
      TypeError: the type is another, or does not convert.
    """
    if np.ma.is_masked(value):  # NumPy would drop the mask.
        raise _checks.error(name, "an array without masked entries", "masked entries")
    try:
        array = np.asarray(value)
    except ValueError as ragged:
        raise _checks.error(name, "a rectangular array", str(ragged)) from None
    except (RuntimeError, TypeError) as wrong:  # As tensors of other frameworks say.
        raise TypeError(
            f"`{name}` must convert to a NumPy array. Received: "
            f"{type(value).__name__}, which says: {wrong}"
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
    """Says if the dtype is floating; bfloat16 (ml_dtypes) counts as well."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def first(bad: np.ndarray, array: np.ndarray) -> str:
    """Describes the first bad entry."""
    index = np.unravel_index(np.argmax(bad), bad.shape)
    place = ", ".join(str(int(i)) for i in index)
    return f"{array[index]} at [{place}]"


def finite(name: str, value: Any, single: bool = False) -> np.ndarray:
    """Returns a float64 array; raises ValueError unless all of it is finite.

    `single` lets float32 be.
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


def in_double(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Returns a function of numbers, in float64, of arrays [...] or [..., Q].

    It is called for blocks of rows [n, 1] or [n, Q] in float64, which it must not
    change: what does not leave the cache takes a fraction of the time.

    Args:
      function: of the elements of blocks, with the shape of the last of them.
      *arrays: floating; the first of them [...], with an axis of 1 or without.
    """
    out = np.empty(arrays[-1].shape)
    n = arrays[0].size
    rows = [array.reshape(n, array.size // max(n, 1)) for array in (*arrays, out)]
    step = max(1, _BLOCK // max(rows[-1].shape[1], 1))
    for start in range(0, n, step):
        block, *given = (array[start : start + step] for array in reversed(rows))
        block[...] = function(
            *(array.astype(np.float64, copy=False) for array in reversed(given))
        )
    return out[()]


def in_rows(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    labels: np.ndarray,
    samples: np.ndarray,
) -> np.ndarray:
    """Returns a function of labels [...] and samples [..., m], in float64 [...].

    It is called for blocks [n] and [n, m], as in `in_double`.
    """
    out = np.empty(labels.size)
    rows = samples.reshape(labels.size, -1) if labels.size else samples
    step = max(1, _BLOCK // samples.shape[-1])
    for start in range(0, labels.size, step):
        block = slice(start, start + step)
        out[block] = function(labels.reshape(-1)[block], rows[block])
    return out.reshape(labels.shape)[()]


def generator(seed: Any) -> np.random.Generator:
    """Returns a generator; raises ValueError for what cannot seed one."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise _checks.error(
            "seed", "None, a non-negative integer or a sequence of them", repr(seed)
        ) from None


def integer_labels(name: str, array: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns int64 labels in [0, num_classes), perhaps the array itself."""
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
    """Returns which labels are the ignored one; raises ValueError if it is no label."""
    index = _checks.ignored_label("ignore_index", ignore_index)
    return labels == np.int64(index)  # Not in the labels' type, which may not hold it.


def _check_not_swapped(labels: np.ndarray, predictions: np.ndarray, name: str) -> None:
    """Raises where only the other order of the two arguments makes sense."""
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
    """Raises where [N, K] labels and predictions are one-hot, not N*K binary pairs."""
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


def _like_each(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns an array [N], broadcast to labels of `shape`."""
    array = as_array(name, value)
    aligned = _checks.aligned_shape(name, array.shape, shape)
    return np.broadcast_to(array.reshape(aligned), shape).reshape(-1)


def sample_weights(
    sample_weight: Any, shape: tuple[int, ...], name: str = "sample_weight"
) -> np.ndarray:
    """Returns finite, non-negative float64 weights [N] for labels of `shape`."""
    weights = _like_each(name, sample_weight, shape).astype(np.float64)
    bad = ~(weights >= 0) | np.isinf(weights)
    if np.any(bad):
        raise _checks.error(name, "finite and >= 0", first(bad, weights))
    with np.errstate(over="ignore"):
        total = np.sum(weights)
    if total > MAX_WEIGHT:
        raise _checks.error(name, f"a sum up to {MAX_WEIGHT:g}", total, verb="have")
    return weights


def native_floating(predictions: np.ndarray) -> np.ndarray:
    """Returns predictions in float64, or in the narrower type that they have, with
    bytes in the order of the machine.
    """
    predictions = predictions.astype(predictions.dtype.newbyteorder("="), copy=False)
    if not is_floating(predictions) or predictions.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # Of a wider type, to infinity.
            return predictions.astype(np.float64)
    return predictions


def check_logits(logits: np.ndarray, name: str = "logits") -> None:
    """Raises ValueError unless logits [..., K], or those of class 1 [..., 1], are
    finite, or -inf for some classes.
    """
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        top = logits.max(axis=-1, initial=-np.inf)
        if logits.shape[-1] == 1:
            top = np.maximum(top, 0)  # Class 0 has 0.
        bad = ~np.isfinite(top)  # NaN, +inf, or a row of nothing but -inf.
    if np.any(bad):
        raise _checks.error(
            name, "finite, or -inf for some classes of a row", first(bad, top)
        )


def are_probabilities(
    logits: np.ndarray, counted: np.ndarray | None = None, name: str | None = None
) -> bool:
    """Says if the rows that begin logits [N, ..., K] are surely probabilities.

    Real logits are not negative and sum to 1 by chance alone, so that a few rows tell.

    Args:
      logits: floating, as they were passed.
      counted: boolean [N], which of the rows count; None for all.
      name: of the logits, to raise ValueError with instead of returning True.
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
    found = bool(close and np.any((rows > 0) & (rows < 1)))  # Not one-hot.
    if found and name is not None:
        raise _checks.error(
            name,
            "logits" + _checks.other(name),
            "rows of numbers in [0, 1] that sum to 1",
        )
    return found


def probability_rows(itemsize: int, classes: int) -> tuple[int, float]:
    """Returns how many rows that sum to 1 are no accident, and what they may be off.

    In 16 bits a row of logits sums to exactly 1 now and then.
    """
    return (8, min(classes, 16) * 2.0**-9) if itemsize < 4 else (2, 1e-5)


def below_maximum(logits: np.ndarray) -> np.ndarray:
    """Returns float64 logits [N, K] less the largest of each row."""
    logits = logits.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):  # To -inf.
        return logits - logits.max(axis=-1, keepdims=True, initial=-np.inf)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities [N, K] of logits [N, K]; -inf is probability 0."""
    exponentials = np.exp(below_maximum(logits))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def check_probabilities(probabilities: np.ndarray, name: str) -> np.ndarray:
    """Returns the probabilities, those above 1 by rounding alone as 1.

    Raises:
      ValueError: one is not in [0, 1].
    """
    if np.max(_ordered_bits(probabilities), initial=0) <= _one_bits(probabilities):
        return probabilities
    limit = upper_limit(probabilities.dtype)
    with np.errstate(invalid="ignore"):  # NaN of bfloat16 warns.
        bad = ~((probabilities >= 0) & (probabilities <= limit))
    if np.any(bad):
        expected = "in [0, 1]" + _checks.other(name)
        raise _checks.error(name, expected, first(bad, probabilities))
    zero, one = np.zeros((), probabilities.dtype), np.ones((), probabilities.dtype)
    return np.where(probabilities > 0, np.minimum(probabilities, one), zero)  # No -0.0.


def decisions(probabilities: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the argmax of each row, ties to the lowest, and its probability.

    Raises:
      ValueError: a probability is not in [0, 1].
    """
    # Non-negative floats sort like their bits, and NaN, negative numbers and numbers
    # above 1 all have larger bits than 1.0: one pass finds the maximum and bad values.
    bits = _ordered_bits(probabilities)
    index = np.argmax(bits, axis=-1)
    rows = np.arange(len(index))
    if np.max(bits[rows, index], initial=0) > _one_bits(probabilities):
        probabilities = check_probabilities(probabilities, name)
        index = np.argmax(probabilities, axis=-1)
    return index, probabilities[rows, index]


def upper_limit(dtype: Any) -> np.ndarray:
    """Returns what rounding may make of 1, as in the mean of an ensemble: 4 units in
    the last place above it.
    """
    return (_ordered_bits(np.ones(1, dtype)) + 4).view(dtype)[0]


def _ordered_bits(probabilities: np.ndarray) -> np.ndarray:
    return probabilities.view(f"u{probabilities.dtype.itemsize}")


def _one_bits(probabilities: np.ndarray) -> int:
    return int(_ordered_bits(np.ones(1, probabilities.dtype))[0])


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
    """Checks, flattens and converts the arguments shared by all classifier metrics.

    `allow_none` accepts a batch of which every example is ignored or of weight 0. Who
    asks many functions about the same examples passes `Examples` as the labels, and no
    more of them.
    """
    if isinstance(labels, Examples):
        return labels
    name, predictions = _checks.predictions(probabilities, logits, probs)
    predictions = as_array(name, predictions)
    labels = as_array("labels", labels)
    num_classes = _checks.layout(labels.shape, predictions.shape, name)
    shape = labels.shape
    num_groups = _checks.number_of_groups(groups, num_groups)
    places, num_labels = None, 0
    if multilabel:
        num_labels = _checks.number_of_labels(shape, predictions.shape, name)
        places = np.broadcast_to(np.arange(num_labels), shape).reshape(-1)
    elif num_classes is None:
        _check_not_one_hot(labels, predictions, name)
    if num_groups is not None:
        groups = _like_each("groups", groups, shape)

    # The order of the bits is read below, so the bytes are put in the machine's order.
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
    kept = np.ones(shape, bool) if ignored is None else ~ignored.reshape(shape)
    passed = predictions
    if ignored is not None and np.any(ignored):
        if not (allow_none or np.any(kept)):
            raise _checks.error(
                "labels",
                "at least one example of positive weight that is not ignored",
                "none",
                verb="hold",
            )
        left = kept.reshape(-1)
        labels, predictions = labels[left], predictions[left]
        weights = None if weights is None else weights[left]
        labels_predicted, groups, places = (
            None if array is None else array[left]
            for array in (labels_predicted, groups, places)
        )

    _check_not_swapped(labels, passed, name)
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
        are_probabilities(passed, kept.reshape(-1), name)
    elif num_classes is None:
        predictions = check_probabilities(predictions, name)
        one = np.ones((), predictions.dtype)
        predictions = np.concatenate([one - predictions, predictions], axis=-1)
    return Examples(
        *(labels, predictions, weights, labels_predicted, name, kept),
        None if num_groups is None else Partition(groups, num_groups),
        None if places is None else Partition(places, num_labels),
    )


def examples_of(data: ClassifierData, allow_none: bool = False) -> Examples:
    """Returns the checked examples of what a public function was passed."""
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


def concatenate(batches: list[Examples]) -> Examples:
    """Joins batches of the same number of classes."""
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
        np.concatenate([batch.kept.reshape(-1) for batch in batches]),
    )
