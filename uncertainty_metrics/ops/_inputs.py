"""From what a user passes to tensors: labels [N], probabilities [N, K], and validity.

What a shape or a type tells raises ValueError at once, in a graph too. What only the
values tell becomes booleans, with one word at each level: an example is `right`; the
arguments as a whole are `usable`; a batch is `valid` if they are, and every example
that counts is right. Eager callers raise, compiled ones return NaN.
"""

from __future__ import annotations

import array
import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    is_floating,
    numpy_dtype,
    to_numpy,
    xp,
)
from uncertainty_metrics.ops._shared_values import once

T = TypeVar("T")

# Whether eager calls may take a shortcut through NumPy, which is faster. Tests that
# compare the halves switch it off.
SHORTCUT = True

# Of values that NumPy, which computes in float64, can use.
OUT_OF_RANGE = (
    "The values are too large or too small to compute with in the type of the "
    "predictions: pass float64, or scale them. Received: numbers that become 0 or "
    "infinite"
)
# The signed and unsigned integers of each size in bytes.
_INTEGERS = {
    2: (xp.int16, xp.uint16),
    4: (xp.int32, xp.uint32),
    8: (xp.int64, xp.uint64),
}


@dataclasses.dataclass(frozen=True)
class Examples:
    """Examples in which everything invalid is made harmless and told by `valid`.

    Attributes:
      labels: int32 [N], in [0, K).
      predictions: floating [N, K]: logits, or probabilities in the precision that was
        passed.
      weights: float32 or float64 [N], finite and >= 0, or None for ones. Examples that
        are ignored have weight 0.
      predicted: int32 [N], the decision labels that were passed, or None.
      right: boolean [N], whether the labels of each example were. The range of the
        predictions is not in it; it is found where they are read.
      usable: boolean scalar, False if the weights were wrong, or all the labels.
      mistaken: boolean scalar, True if logits are surely probabilities.
      from_logits: whether the predictions are logits.
      shape: int32 vector, the shape of the labels that were passed.
      groups: the group of each example, int32, or None.
      places: of examples that are labels of several, each 0 or 1, which of these each
        is, int32; or None.
    """

    labels: xp.Tensor
    predictions: xp.Tensor
    weights: xp.Tensor | None
    predicted: xp.Tensor | None
    right: xp.Tensor
    usable: xp.Tensor
    mistaken: xp.Tensor
    from_logits: bool
    shape: xp.Tensor
    groups: np_inputs.Partition | None = None
    places: np_inputs.Partition | None = None

    @property
    def num_classes(self) -> int:
        """The number of classes, or of labels where each is 0 or 1."""
        return self.predictions.shape[1] if self.places is None else self.places.number

    @property
    def dtype(self) -> xp.DType:
        """The precision of the arithmetic."""
        return sum_dtype(self.predictions)

    @property
    def valid(self) -> xp.Tensor:
        """Boolean scalar, False if an example of positive weight was wrong."""
        return self.usable & ~self.mistaken & live_rows(self.weights, self.right)

    @functools.cached_property
    def probabilities(self) -> xp.Tensor:
        """The probabilities [N, K]; NaN for logits of NaN, +inf or nothing but -inf."""
        if self.from_logits:
            return _softmax(self.predictions)
        return self.predictions


@once
def _softmax(logits: xp.Tensor) -> xp.Tensor:
    return xp.nn.softmax(logits, axis=-1)


def sum_dtype(tensor: xp.Tensor) -> xp.DType:
    """Returns float64 for float64, and float32 for every narrower type."""
    return xp.float64 if tensor.dtype == xp.float64 else xp.float32


def through_numpy() -> bool:
    """Says if an eager call may leave its arithmetic to the NumPy twin's."""
    return IS_TENSORFLOW and SHORTCUT and xp.executing_eagerly()


def is_distribution(value: Any) -> bool:
    """Says if the value is a distribution of TensorFlow Probability."""
    # No object is one unless TFP was imported, which takes seconds.
    module = sys.modules.get("tensorflow_probability.python.distributions.distribution")
    return module is not None and isinstance(value, module.Distribution)


def _is_numeric(dtype: xp.DType) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.is_bool


def as_tensor(name: str, value: Any) -> xp.Tensor:
    """Converts to a numeric tensor; raises what `as_array` of the NumPy twin raises."""
    if is_distribution(value):  # TensorFlow may convert it: to a random sample.
        raise TypeError(f"`{name}` must hold numbers. Received: {value}")
    return (_as_tensor if IS_TENSORFLOW else _of_other)(name, value)


def _of_other(name: str, value: Any) -> xp.Tensor:
    """Returns `as_tensor` where the tensors are not TensorFlow's."""
    value = getattr(value, "value", value) if xp.is_variable(value) else value
    if xp.is_tensor(value):
        if "complex" in xp.name(value.dtype):
            raise TypeError(f"`{name}` must hold numbers. Received: {value.dtype}")
        return value
    array = np_inputs.as_array(name, value)
    if np_inputs.is_floating(array):
        array = np_inputs.native_floating(array)
        if not xp.has_float64() and array.dtype.itemsize == 8:
            with np.errstate(over="ignore"):  # What is out of range is infinite.
                array = array.astype(np.float32)
    elif array.dtype == np.uint64:  # PyTorch has little but the type.
        array = np.minimum(array, np.uint64(2**63 - 1)).astype(np.int64)
    return xp.constant(array.astype(array.dtype.newbyteorder("=")))


def _as_tensor(name: str, value: Any) -> xp.Tensor:
    if isinstance(value, xp.RaggedTensor | xp.SparseTensor):
        raise _checks.error(name, "a dense tensor", type(value).__name__)
    if isinstance(value, memoryview | array.array):  # As sequences they were float32.
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.isnative:
        # In a graph TensorFlow takes their bytes for those of other numbers.
        value = value.astype(value.dtype.newbyteorder("="))
    try:
        masked = np.ma.is_masked(value)
        tensor = None if masked else xp.convert_to_tensor(value)
    except (
        *(TypeError, ValueError, NotImplementedError, OverflowError),
        RuntimeError,  # Of tensors of other frameworks.
    ):
        tensor = None
    if tensor is None or not (_is_numeric(tensor.dtype) or xp.is_tensor(value)):
        value = np_inputs.as_array(name, value)  # Its messages name the argument.
        if np_inputs.is_floating(value):  # Bytes in another order, or too many.
            value = np_inputs.native_floating(value)
        tensor = xp.convert_to_tensor(value.astype(value.dtype.newbyteorder("=")))
    if tensor.dtype == xp.string:
        np_inputs.refuse_text(name)
    if not _is_numeric(tensor.dtype):
        raise TypeError(f"`{name}` must hold numbers. Received: {tensor.dtype.name}")
    if tensor.shape.rank is None:
        raise _checks.error(
            name, "a static rank", "a tensor of unknown rank", verb="have"
        )
    return tensor


def integers(labels: xp.Tensor, num_classes: int) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns int32 labels, 0 where wrong, and whether each one was right."""
    whole = xp.cast(labels, xp.int64)
    right = (whole >= 0) & (whole < num_classes)
    if is_floating(labels):
        right = right & (xp.cast(whole, labels.dtype) == labels)  # False for NaN.
    return xp.cast(xp.where(right, whole, xp.zeros_like(whole)), xp.int32), right


def _looks_one_hot(
    labels: xp.Tensor, predictions: xp.Tensor, from_logits: bool
) -> xp.Tensor:
    """Says if [..., K] labels and predictions are one-hot, not binary pairs."""
    labels = xp.cast(labels, xp.float32)
    one_hot = xp.reduce_all((labels == 0) | (labels == 1)) & xp.reduce_all(
        xp.reduce_sum(labels, axis=-1) == 1
    )
    one_hot = one_hot & (xp.shape(labels)[-1] > 1)  # Of which a graph may know none.
    if from_logits:
        return one_hot
    total = xp.reduce_sum(xp.cast(predictions, xp.float32), axis=-1)
    return one_hot & xp.reduce_all(xp.abs(total - 1) < np_inputs.ROW_SUM_TOLERANCE)


def aligned(name: str, value: Any, labels: xp.Tensor) -> xp.Tensor:
    """Returns a tensor of the rank of the labels, which broadcasts to them."""
    tensor = as_tensor(name, value)
    aligned = _checks.aligned_shape(name, tensor.shape, labels.shape)
    extra = len(aligned) - len(tensor.shape)
    if extra > 0:
        tensor = xp.reshape(tensor, xp.concat([xp.shape(tensor), [1] * extra], 0))
    elif extra < 0:
        tensor = xp.squeeze(tensor, axis=list(range(extra, 0)))
    return tensor


def like_each(name: str, value: Any, labels: xp.Tensor) -> xp.Tensor:
    """Returns a tensor [N], broadcast to labels."""
    tensor = aligned(name, value, labels)
    return xp.reshape(xp.broadcast_to(tensor, xp.shape(labels)), [-1])


def flat_weights(sample_weight: Any, labels: xp.Tensor, dtype: xp.DType) -> xp.Tensor:
    """Returns weights [N], broadcast to labels, their values unchecked."""
    return xp.cast(like_each("sample_weight", sample_weight, labels), dtype)


def checked_weights(weights: xp.Tensor) -> xp.Tensor:
    """Returns floating weights, NaN inside a graph where they are not finite and >= 0.

    Raises:
      ValueError: one is not, in eager execution.
    """
    if not is_floating(weights):
        weights = xp.cast(weights, xp.float32)
    return nan_unless(
        (weights >= 0) & (weights < np.inf),
        weights,
        lambda: np_inputs.sample_weights(weights, weights.shape),
    )


def weights_and_ignored(
    sample_weight: Any, labels: xp.Tensor, ignore_index: int | None, dtype: xp.DType
) -> tuple[xp.Tensor | None, xp.Tensor]:
    """Returns weights [N], 0 for ignored labels, or None for ones; and whether they are
    usable: all that were passed are finite and >= 0.
    """
    ignore_index = _checks.ignored_label("ignore_index", ignore_index)
    weights, usable = None, xp.constant(True)
    if sample_weight is not None:
        weights = flat_weights(sample_weight, labels, dtype)
        right = (weights >= 0) & (weights < np.inf)
        weights = xp.where(right, weights, xp.zeros_like(weights))
        limit = min(np_inputs.MAX_WEIGHT, float(np.finfo(numpy_dtype(dtype)).max))
        usable = xp.reduce_all(right) & (xp.reduce_sum(weights) <= limit)
    if ignore_index is not None:
        # In a type that holds the index: 255 of uint8 is not -1.
        floating = is_floating(labels)  # In float16, too large is infinite.
        wide = xp.cast(labels, sum_dtype(labels) if floating else xp.int64)
        kept = wide != xp.cast(ignore_index, wide.dtype)
        if labels.dtype == xp.uint64:  # Numbers beyond int64 became negative.
            kept = kept | (wide < 0)
        kept = xp.reshape(kept, [-1])
        kept = xp.cast(kept, dtype)
        weights = kept if weights is None else weights * kept
    return weights, usable


@once
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
) -> Examples:
    """Checks, flattens and converts the arguments shared by all classifier metrics."""
    name, predictions = _checks.predictions(probabilities, logits, probs)
    predictions = as_tensor(name, predictions)
    labels = as_tensor("labels", labels)
    num_classes = _checks.layout(labels.shape, predictions.shape, name)
    shape, dynamic_shape = labels.shape, xp.shape(labels)
    usable = xp.constant(True)
    same_shape = len(shape) == len(predictions.shape) > 1
    num_groups = _checks.number_of_groups(groups, num_groups)
    places, num_labels = None, 0
    if multilabel:
        num_labels = _checks.number_of_labels(shape, predictions.shape, name)
        places = like_each(
            "labels", xp.range(num_labels)[(None,) * (len(shape) - 1)], labels
        )
    elif num_classes is None and same_shape and shape[-1] != 1:
        usable = usable & ~_looks_one_hot(labels, predictions, name == "logits")

    if not is_floating(predictions):
        predictions = xp.cast(predictions, xp.float32)
    dtype = sum_dtype(predictions)
    predictions = as_rows(predictions, num_classes or 1)
    if labels_predicted is not None:
        labels_predicted = as_tensor("labels_predicted", labels_predicted)
        sizes = {_size(labels_predicted.shape), _size(shape)}
        if len(sizes - {None}) == 2:
            raise _checks.error(
                "labels_predicted",
                f"of the shape of the labels, {list(shape)}",
                f"shape {list(labels_predicted.shape)}",
            )
        if None in sizes:
            usable = usable & (xp.size(labels_predicted) == xp.size(labels))
    if num_groups is not None:
        groups = like_each("groups", groups, labels)
    weights, weights_usable = weights_and_ignored(
        sample_weight, labels, ignore_index, dtype
    )
    usable = usable & weights_usable
    classes = num_classes or 2
    labels, right = integers(xp.reshape(labels, [-1]), classes)
    if labels_predicted is not None:
        labels_predicted, right_decision = integers(
            xp.reshape(labels_predicted, [-1]), classes
        )
        right = right & right_decision
    if num_groups is not None:
        groups, right_group = integers(groups, num_groups)
        right = right & right_group

    labels, predictions, weights, labels_predicted, right, groups, places = (
        of_one_length(
            *(labels, predictions, weights, labels_predicted, right, groups, places)
        )
    )
    mistaken = xp.constant(False)
    if name == "logits":
        mistaken = are_probabilities(
            predictions, None if weights is None else weights > 0
        )
        predictions = xp.cast(predictions, dtype)
        if num_classes is None:
            predictions = xp.concat([xp.zeros_like(predictions), predictions], axis=-1)
    else:
        # In 16 bits what rounding puts above 1 is far above it.
        if num_classes is None or numpy_dtype(predictions).itemsize < 4:
            rounded = (predictions > 1) & (predictions <= _upper_limit(predictions))
            predictions = xp.where(rounded, xp.ones_like(predictions), predictions)
        if num_classes is None:
            predictions = xp.concat([1 - predictions, predictions], axis=-1)
    return Examples(
        labels,
        predictions,
        weights,
        labels_predicted,
        right,
        usable,
        mistaken,
        name == "logits",
        dynamic_shape,
        None if num_groups is None else np_inputs.Partition(groups, num_groups),
        None if places is None else np_inputs.Partition(places, num_labels),
    )


def examples_of(data: ClassifierData) -> Examples:
    """Returns the checked examples of what a public function was passed."""
    if data.has_confidences:
        correct = as_tensor("correct", data.correct)
        confidences = as_tensor("confidences", data.confidences)
        _checks.paired("confidences", confidences.shape, "correct", correct.shape)
        return examples(
            correct,
            confidences,
            sample_weight=data.sample_weight,
            groups=data.groups,
            num_groups=data.num_groups,
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
    )


@once
def as_rows(predictions: xp.Tensor, columns: int) -> xp.Tensor:
    """Returns predictions [N, columns], the tensor itself where it is so."""
    if len(predictions.shape) == 2 and predictions.shape[1] == columns:
        return predictions
    return xp.reshape(predictions, [-1, columns])


def are_probabilities(logits: xp.Tensor, counted: xp.Tensor | None = None) -> xp.Tensor:
    """Says if logits [N, ..., K] are surely probabilities, by the rule of the NumPy
    twin; `counted` [N] says which rows count.
    """
    if logits.shape[-1] == 1:
        return xp.constant(False)
    rows = logits[: np_inputs.FIRST_ROWS]
    if counted is not None:
        counted = counted[: np_inputs.FIRST_ROWS]
    if through_numpy():  # As one operation, not twenty.
        live = None if counted is None else to_numpy(counted)
        return xp.constant(np_inputs.are_probabilities(to_numpy(rows), live))
    if counted is None:
        counted = xp.ones(xp.shape(rows)[:1], xp.bool)
    least, tolerance = np_inputs.probability_rows(
        numpy_dtype(logits).itemsize, logits.shape[-1]
    )
    rows = xp.cast(rows, sum_dtype(rows))
    members = xp.reduce_prod(xp.shape(rows)[1:-1])
    rows = xp.reshape(rows, [-1, members, logits.shape[-1]])
    each = (xp.reduce_min(rows, axis=-1) >= 0) & (
        xp.abs(xp.reduce_sum(rows, axis=-1) - 1) <= tolerance
    )
    fractions = xp.reduce_any((rows > 0) & (rows < 1), axis=[1, 2])
    return (
        xp.reduce_all(xp.reduce_all(each, axis=1) | ~counted)
        & xp.reduce_any(fractions & counted)
        & (xp.reduce_sum(xp.cast(counted, xp.int32)) * members >= least)
    )


def _size(shape: Iterable[int | None]) -> int | None:
    """Returns the number of elements, None where the static shape does not tell."""
    sizes = list(shape)
    return None if None in sizes else math.prod(size or 0 for size in sizes)


def of_one_length(*tensors: xp.Tensor | None) -> list[Any]:
    """Returns the tensors [n, ...], all with the static n that one of them has.

    TensorFlow takes those of a static and of a dynamic n for tensors of any rank.
    """
    sizes = {t.shape[0] for t in tensors if t is not None} - {None}
    if len(sizes) != 1:  # None is known, or the data themselves are wrong.
        return list(tensors)
    (size,) = sizes
    return [
        t
        if t is None or t.shape[0] is not None
        else xp.ensure_shape(t, [size, *t.shape[1:]])
        for t in tensors
    ]


def live_rows(weights: xp.Tensor | None, right: xp.Tensor) -> xp.Tensor:
    """Returns whether every row of positive weight is right."""
    return xp.reduce_all(right if weights is None else right | (weights == 0))


@xp.autograph.experimental.do_not_convert
def nan_unless(right: Any, values: T, explain: Callable[[], object]) -> T:
    """Returns a structure of tensors, as `nan_where_wrong` does inside a graph.

    Raises:
      ValueError: one is not right, in eager execution; `explain`, the NumPy twin,
        knows the same rules and names the value.
    """
    each = xp.nest.flatten(right)
    if not xp.executing_eagerly() or (
        not IS_TENSORFLOW and any(map(xp.is_traced, each))
    ):
        return nan_where_wrong(right, values)
    if not all(map(xp.reduce_all, each)):
        explain()
        raise ValueError(OUT_OF_RANGE)
    return values


def nan_where_wrong(right: Any, values: T) -> T:
    """Returns a structure of tensors, NaN where they are not right: one tells of all,
    or there is one for each.
    """
    each, flat = xp.nest.flatten(right), xp.nest.flatten(values)
    flat = [
        xp.where(ok, value, xp.constant(float("nan"), value.dtype))
        for ok, value in zip(each * (len(flat) // len(each)), flat, strict=True)
    ]
    return xp.nest.pack_sequence_as(values, flat)


def take(values: xp.Tensor, index: xp.Tensor) -> xp.Tensor:
    """Returns `values[i, index[i]]`, [N], of values [N, K]."""
    # Much faster than a gather with batch_dims.
    rows = xp.range(xp.shape(values)[0]) * values.shape[1]
    return xp.gather(xp.reshape(values, [-1]), rows + index)


def _argmax(values: xp.Tensor) -> xp.Tensor:
    """Returns the argmax of each row of [N, K], ties to the lowest."""
    # Of the maxima of groups and then of a group: XLA on CPU reduces groups whose loop
    # it unrolls several times as fast as a whole row.
    classes = values.shape[1]
    size = max(size for size in range(1, 33) if classes % size == 0)
    if not 8 <= size <= classes // 16:
        return xp.argmax(values, axis=-1, output_type=xp.int32)
    groups = xp.reshape(values, [-1, classes // size, size])
    best = xp.argmax(xp.reduce_max(groups, axis=-1), axis=-1, output_type=xp.int32)
    rows = xp.range(xp.shape(values)[0]) * (classes // size)
    group = xp.gather(xp.reshape(groups, [-1, size]), rows + best)
    return best * size + xp.argmax(group, axis=-1, output_type=xp.int32)


# For fewer classes a pass over all of them costs less than a branch.
_FEW = 32


@once
def decisions(
    probabilities: xp.Tensor,
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the argmax of each row, ties to the lowest, its probability, and whether
    all probabilities of the row are in [0, 1]; [N] each.
    """
    if not IS_TENSORFLOW:
        index = _argmax(probabilities)
        right = rows_in_range(probabilities)
        return index, xp.minimum(take(probabilities, index), 1), right
    # Non-negative floats sort like their bits, and NaN, negative numbers and numbers
    # above 1 all have larger bits than 1.0: one pass finds the maximum and bad values.
    signed, unsigned = _INTEGERS[numpy_dtype(probabilities).itemsize]

    def best(values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        bits = xp.bitcast(values, unsigned)
        if numpy_dtype(bits).itemsize < 4:  # There is no argmax of uint16 everywhere.
            bits = xp.cast(bits, xp.int32)
        index = _argmax(bits)
        return index, take(values, index)

    def without_negative_zeros() -> tuple[xp.Tensor, xp.Tensor]:
        zeros = xp.zeros_like(probabilities)
        return best(xp.where(probabilities == 0, zeros, probabilities))

    # -0.0 is a zero with large bits: as a maximum it may hide the real one.
    if probabilities.shape[1] < _FEW:
        index, scores = without_negative_zeros()
    else:
        index, scores = best(probabilities)
        index, scores = xp.cond(
            xp.reduce_all(xp.bitcast(scores, signed) >= 0),
            lambda: (index, scores),
            without_negative_zeros,
        )
    return index, xp.minimum(scores, 1), _in_range(scores)


def _upper_limit(probabilities: xp.Tensor) -> xp.Tensor:
    dtype = probabilities.dtype
    return xp.constant(np_inputs.upper_limit(numpy_dtype(dtype)), dtype)


def _in_range(probabilities: xp.Tensor) -> xp.Tensor:
    """Returns whether each is in [0, 1], but for rounding; False for NaN."""
    return (probabilities >= 0) & (probabilities <= _upper_limit(probabilities))


def rows_in_range(
    probabilities: xp.Tensor, total: xp.Tensor | None = None
) -> xp.Tensor:
    """Returns whether all probabilities of each row are in [0, 1], but for rounding.

    `total` is NaN for a row with NaN; by default it is the sum of the row.
    """
    # Plain reductions are several times as fast as one of comparisons.
    largest = xp.reduce_max(probabilities, axis=-1)
    smallest = xp.reduce_min(probabilities, axis=-1)
    if total is None:
        total = xp.reduce_sum(probabilities, axis=-1)
    right = (largest <= _upper_limit(probabilities)) & (smallest >= 0)
    return right & ~xp.math.is_nan(total)


def predictions_dtype(*predictions: xp.Tensor) -> xp.DType:
    """Returns float64 if one of them is float64, else float32."""
    wide = any(tensor.dtype == xp.float64 for tensor in predictions)
    return xp.float64 if wide else xp.float32


def like_labels(name: str, tensor: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
    """Returns the tensor in the shape and type of the labels."""
    _checks.same_shape(name, tensor.shape, labels.shape)
    tensor = xp.cast(tensor, labels.dtype)
    if len(tensor.shape) == 0:
        return xp.broadcast_to(tensor, xp.shape(labels))
    if None in (_size(tensor.shape), _size(labels.shape)):
        # The graph optimizer may drop the reshape, and a single value would broadcast.
        alike = xp.size(tensor) == xp.size(labels)
        tensor = xp.where(alike, tensor, xp.constant(np.nan, tensor.dtype))
    return xp.reshape(tensor, xp.shape(labels))
