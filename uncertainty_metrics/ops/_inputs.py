"""The arguments of users as tensors: labels [N], predictions [N, K], and validity.

A wrong shape or type raises ValueError or TypeError at once, in a graph too. Whether
the values are wrong is a boolean tensor, which has one name at each level: an example
is `right`; the arguments as a whole are `usable`; a batch is `valid` if its arguments
are usable and every example that counts is right. Then eager callers raise, and
compiled ones return NaN (`_validity`).
"""

from __future__ import annotations

import array
import dataclasses
import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy import _examples as np_examples
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy import _missing as np_missing
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _conversion,
    _execution,
    _ranges,
    _sizes,
    _validity,
    is_floating,
    numpy_dtype,
    to_numpy,
    xp,
)
from uncertainty_metrics.ops._shared_values import once

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf

# Whether eager calls may leave arithmetic to NumPy, which is faster. Tests that compare
# tensors with NumPy switch it off.
SHORTCUT = True


@dataclasses.dataclass(frozen=True)
class Examples:
    """Examples in which wrong labels and weights are replaced by harmless ones.

    Attributes:
      labels: int32 [N], in [0, K).
      predictions: floating [N, K]: logits, or probabilities in the precision that was
        passed; their range is unchecked.
      weights: float32 or float64 [N], finite and >= 0, or None for ones. Examples that
        are ignored have weight 0.
      predicted: int32 [N], the decision labels that were passed, or None.
      right: boolean [N], whether the labels of each example were right, the decision
        label and the group among them.
      usable: boolean scalar, False if a weight was wrong, or the layout of the labels.
      mistaken: boolean scalar, True if logits are surely probabilities.
      from_logits: whether the predictions are logits.
      shape: int32 vector, the shape of the labels that were passed.
      groups: the group of each example, int32, or None.
      places: int32, where a user's example has several labels, each 0 or 1, and so is
        several examples here: which of these labels each example is; or None.
      one_column: whether one column was passed: P(class 1), or its logit, of two
        classes. The static shapes tell; of an unknown last size, the rank does.
      shares: the distribution of the label of each example, float32 or float64 [N, K],
        where outcomes are floats in [0, 1], which may all be 0 or 1; else None.
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
    groups: np_examples.Partition | None = None
    places: np_examples.Partition | None = None
    one_column: bool = False
    shares: xp.Tensor | None = None

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
        right = _validity.counted_are_right(self.right, self.weights)
        return self.usable & ~self.mistaken & right

    @lazy_property
    def probabilities(self) -> xp.Tensor:
        """The probabilities [N, K]; NaN in a row of logits that holds NaN or +inf, or
        -inf alone.
        """
        if self.from_logits:
            return _softmax(self.predictions)
        return self.predictions


@once
def _softmax(logits: xp.Tensor) -> xp.Tensor:
    return xp.nn.softmax(logits, axis=-1)


def sum_dtype(tensor: xp.Tensor) -> xp.DType:
    """Returns float64 for float64, and float32 for every narrower type."""
    return xp.float64 if tensor.dtype == xp.float64 else xp.float32


def through_numpy(*tensors: xp.Tensor) -> bool:
    """Returns whether the arithmetic of an eager call with these tensors may be left to
    NumPy.
    """
    return SHORTCUT and all(map(_execution.is_for_numpy, tensors))


def left_to_numpy(*arguments: Any) -> bool:
    """Returns whether NumPy, which has no gradients, may compute a function of these
    arguments: the tensors among them hold real numbers, and nobody takes a gradient.
    """
    tensors = [argument for argument in arguments if xp.is_tensor(argument)]
    return through_numpy(*tensors) and all(
        _execution.needs_no_gradient(tensor) and numpy_dtype(tensor).kind not in "Oc"
        for tensor in tensors
    )


def is_distribution(value: Any) -> bool:
    """Returns whether the value is a distribution of TensorFlow Probability."""
    # Without an import of TFP, which takes seconds: if nobody imported it, it is none.
    module = sys.modules.get("tensorflow_probability.python.distributions.distribution")
    return module is not None and isinstance(value, module.Distribution)


def _is_numeric(dtype: xp.DType) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.is_bool


def as_tensor(name: str, value: Any) -> xp.Tensor:
    """Returns a tensor of numbers; raises what `as_array` of the NumPy twin raises."""
    if is_distribution(value):  # TensorFlow would make a random sample of it.
        raise TypeError(f"`{name}` must hold numbers. Received: {value}")
    if IS_TENSORFLOW:
        return _as_tensorflow_tensor(name, value)
    return _as_keras_tensor(name, value)


def _as_keras_tensor(name: str, value: Any) -> xp.Tensor:
    """Returns `as_tensor` for JAX and PyTorch."""
    value = _conversion.tensor_of(value)
    if xp.is_tensor(value):
        if "complex" in _conversion.dtype_name(value.dtype):
            raise TypeError(f"`{name}` must hold numbers. Received: {value.dtype}")
        return value
    array = np_inputs.as_array(name, value)
    if np_inputs.is_floating(array):
        array = np_inputs.native_floating(array)
        if not _execution.has_float64() and array.dtype.itemsize == 8:
            with np.errstate(over="ignore"):  # Numbers that are too large become inf.
                array = array.astype(np.float32)
    elif array.dtype == np.uint64:  # PyTorch has few operations on them.
        array = np.minimum(array, np.uint64(2**63 - 1)).astype(np.int64)
    return xp.constant(array.astype(array.dtype.newbyteorder("=")))


def _as_tensorflow_tensor(name: str, value: Any) -> xp.Tensor:
    """Returns `as_tensor` for TensorFlow."""
    if isinstance(value, tf.RaggedTensor | tf.SparseTensor):
        raise _checks.error(name, "a dense tensor", type(value).__name__)
    # TensorFlow would take these for sequences of Python numbers, and make float32.
    if isinstance(value, memoryview | array.array):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.isnative:
        # In a graph TensorFlow would read the bytes in the order of this machine.
        value = value.astype(value.dtype.newbyteorder("="))
    try:
        masked = np_missing.is_masked(value)
        tensor = None if masked else tf.convert_to_tensor(value)
    except (
        *(TypeError, ValueError, NotImplementedError, OverflowError),
        RuntimeError,  # Other frameworks' tensors raise it.
    ):
        tensor = None
    if tensor is None or not (_is_numeric(tensor.dtype) or tf.is_tensor(value)):
        value = np_inputs.as_array(name, value)  # Its messages name the argument.
        if np_inputs.is_floating(value):  # Another byte order, or 128 bits.
            value = np_inputs.native_floating(value)
        tensor = tf.convert_to_tensor(value.astype(value.dtype.newbyteorder("=")))
    if tensor.dtype == tf.string:
        np_inputs.refuse_text(name)
    if not _is_numeric(tensor.dtype):
        raise TypeError(f"`{name}` must hold numbers. Received: {tensor.dtype.name}")
    if tensor.shape.rank is None:
        raise _checks.error(
            name, "a static rank", "a tensor of unknown rank", verb="have"
        )
    return tensor


def integer_labels(labels: xp.Tensor, num_classes: int) -> tuple[xp.Tensor, xp.Tensor]:
    """Returns int32 labels in [0, num_classes), 0 for a wrong one, and whether each was
    right.
    """
    whole = xp.cast(labels, xp.int64)
    right = (whole >= 0) & (whole < num_classes)
    if is_floating(labels):
        right = right & (xp.cast(whole, labels.dtype) == labels)  # NaN is unequal.
    return xp.cast(xp.where(right, whole, xp.zeros_like(whole)), xp.int32), right


def _looks_one_hot(
    labels: xp.Tensor, predictions: xp.Tensor, from_logits: bool
) -> xp.Tensor:
    """Returns whether labels [..., K] are one-hot, and predictions those of K classes,
    rather than labels and probabilities of K questions.
    """
    labels = xp.cast(labels, xp.float32)
    one_hot = xp.reduce_all((labels == 0) | (labels == 1)) & xp.reduce_all(
        xp.reduce_sum(labels, axis=-1) == 1
    )
    # The static shape may not say whether K is 1.
    one_hot = one_hot & (xp.shape(labels)[-1] > 1)
    if from_logits:
        return one_hot
    total = xp.reduce_sum(xp.cast(predictions, xp.float32), axis=-1)
    return one_hot & xp.reduce_all(xp.abs(total - 1) < np_inputs.ROW_SUM_TOLERANCE)


def aligned(name: str, value: Any, labels: xp.Tensor) -> xp.Tensor:
    """Returns a tensor of the rank of the labels, which broadcasts to their shape."""
    tensor = as_tensor(name, value)
    aligned = _checks.aligned_shape(name, tensor.shape, labels.shape)
    extra = len(aligned) - len(tensor.shape)
    if extra > 0:
        tensor = xp.reshape(tensor, xp.concat([xp.shape(tensor), [1] * extra], 0))
    elif extra < 0:
        tensor = xp.squeeze(tensor, axis=list(range(extra, 0)))
    return tensor


def like_each(name: str, value: Any, labels: xp.Tensor) -> xp.Tensor:
    """Returns the value as a tensor [N], one number for each of N labels; all are NaN
    or -1 where a graph finds that the value does not broadcast to the labels.
    """
    tensor = aligned(name, value, labels)
    if None in [*tensor.shape, *labels.shape]:
        tensor = _sizes.fitted(tensor, labels)
    return xp.reshape(xp.broadcast_to(tensor, xp.shape(labels)), [-1])


def flat_weights(sample_weight: Any, labels: xp.Tensor, dtype: xp.DType) -> xp.Tensor:
    """Returns weights [N], one for each of N labels, their values unchecked."""
    return xp.cast(like_each("sample_weight", sample_weight, labels), dtype)


def checked_weights(weights: xp.Tensor) -> xp.Tensor:
    """Returns weights as floats; in a graph those that are not finite and >= 0 are NaN.

    Raises:
      ValueError: a weight is not finite and >= 0, in eager execution.
    """
    if not is_floating(weights):
        weights = xp.cast(weights, xp.float32)
    return _validity.nan_unless(
        (weights >= 0) & (weights < np.inf),
        weights,
        lambda: np_inputs.sample_weights(weights, weights.shape),
    )


def weights_and_ignored(
    sample_weight: Any, labels: xp.Tensor, ignore_index: int | None, dtype: xp.DType
) -> tuple[xp.Tensor | None, xp.Tensor]:
    """Returns weights [N], 0 for ignored labels, or None where all weights are 1; and
    whether they are usable, a boolean scalar: all that were passed are finite and >= 0.
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
        # Compared in a type that holds the index: as uint8 the index -1 would be 255,
        # and as float16 a large one infinite.
        wide_dtype = sum_dtype(labels) if is_floating(labels) else xp.int64
        wide = xp.cast(labels, wide_dtype)
        counts = wide != xp.cast(ignore_index, wide.dtype)
        if labels.dtype == xp.uint64:  # Labels beyond int64 became negative.
            counts = counts | (wide < 0)
        counts = xp.cast(xp.reshape(counts, [-1]), dtype)
        weights = counts if weights is None else weights * counts
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
    per_image: Any = False,
) -> Examples:
    """Returns the arguments that all classifier metrics have, checked, as examples."""
    name, predictions = _checks.predictions(probabilities, logits, probs)
    predictions = as_tensor(name, predictions)
    labels = as_tensor("labels", labels)
    num_classes = _checks.layout(labels.shape, predictions.shape, name)
    shape, dynamic_shape = labels.shape, xp.shape(labels)
    usable = xp.constant(True)
    same_shape = len(shape) == len(predictions.shape) > 1
    num_images = _checks.number_of_images(per_image, shape, groups)
    if num_images is None:
        num_groups = _checks.number_of_groups(groups, num_groups)
    else:
        groups, num_groups = np.arange(num_images), num_images
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
    rows = xp.reshape(labels, [-1])
    if labels_predicted is not None:
        labels_predicted = as_tensor("labels_predicted", labels_predicted)
        sizes = {_size(labels_predicted.shape), _size(shape)}
        if len(sizes - {None}) == 2:
            raise _checks.error(
                "labels_predicted",
                f"of the shape of the labels, {list(shape)}",
                f"shape {list(labels_predicted.shape)}",
            )
        labels_predicted = xp.reshape(labels_predicted, [-1])
    if num_groups is not None:
        groups = like_each("groups", groups, labels)
    weights, weights_usable = weights_and_ignored(
        sample_weight, labels, ignore_index, dtype
    )
    usable = usable & weights_usable
    (rows, predictions, labels_predicted, weights, groups, places), same = (
        _sizes.of_equal_number(
            [rows, predictions, labels_predicted, weights, groups, places]
        )
    )
    usable = usable & same
    classes = num_classes or 2
    labels, right = integer_labels(rows, classes)
    if labels_predicted is not None:
        labels_predicted, right_decision = integer_labels(labels_predicted, classes)
        right = right & right_decision
    if num_groups is not None:
        groups, right_group = integer_labels(groups, num_groups)
        right = right & right_group

    labels, predictions, weights, labels_predicted, right, groups, places = (
        _sizes.of_one_length(
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
        # Rounding to 16 bits puts some probabilities well above 1, and that of float32
        # puts some above 1 by many units of float64.
        if num_classes is None or numpy_dtype(predictions).itemsize != 4:
            rounded = (predictions > 1) & (
                predictions <= _ranges.upper_limit(predictions)
            )
            predictions = xp.where(rounded, xp.ones_like(predictions), predictions)
        if num_classes is None:
            if numpy_dtype(predictions).name == "bfloat16":  # 1 - p has two digits.
                predictions = xp.cast(predictions, dtype)
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
        None
        if num_groups is None
        else np_examples.Partition(
            groups, num_groups, are_images=num_images is not None
        ),
        None if places is None else np_examples.Partition(places, num_labels),
        num_classes is None and not multilabel,
    )


def examples_of(data: ClassifierData, grades: bool = False) -> Examples:
    """Returns the checked examples of the arguments of a public function; `grades` says
    whether outcomes may be any numbers in [0, 1].
    """
    if data.has_confidences:
        correct = as_tensor("correct", data.correct)
        confidences = as_tensor("confidences", data.confidences)
        _checks.paired("confidences", confidences.shape, "correct", correct.shape)
        if grades and is_floating(correct):
            return _graded(correct, confidences, data)
        return examples(
            correct,
            confidences,
            sample_weight=data.sample_weight,
            groups=data.groups,
            num_groups=data.num_groups,
            per_image=data.per_image,
        )
    data.check_labels()
    if data.label_distributions is not None:
        return _of_distributions(data)
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
        per_image=data.per_image,
    )


def _graded(
    correct: xp.Tensor, confidences: xp.Tensor, data: ClassifierData
) -> Examples:
    """Returns the examples of answers with grades in [0, 1]."""
    right = (correct >= 0) & (correct <= 1)
    labels = xp.where(right, xp.cast(correct >= 0.5, xp.int32), -1)
    read = examples(
        labels,
        confidences,
        sample_weight=data.sample_weight,
        groups=data.groups,
        num_groups=data.num_groups,
        per_image=data.per_image,
    )
    grades = xp.reshape(xp.where(right, correct, xp.zeros_like(correct)), [-1])
    grades = xp.cast(grades, read.dtype)
    return with_shares(read, xp.stack([1 - grades, grades], axis=1))


def _of_distributions(data: ClassifierData) -> Examples:
    """Returns the examples whose labels are distributions over the classes."""
    shares = as_tensor("label_distributions", data.label_distributions)
    if len(shares.shape) == 0 or shares.shape[-1] == 1:
        expected = "of shape [..., K] with K >= 2 classes"
        received = f"shape {list(shares.shape)}"
        raise _checks.error("label_distributions", expected, received)
    if not is_floating(shares):
        shares = xp.cast(shares, xp.float32)
    distance = xp.abs(xp.reduce_sum(shares, axis=-1) - 1)
    right = xp.reduce_all((shares >= 0) & (shares <= 1), axis=-1)
    right = right & (distance <= np_inputs.ROW_SUM_TOLERANCE)
    labels = xp.argmax(shares, axis=-1, output_type=xp.int32)
    read = examples(
        xp.where(right, labels, -xp.ones_like(labels)),
        data.probabilities,
        data.logits,
        data.probs,
        labels_predicted=data.labels_predicted,
        sample_weight=data.sample_weight,
        groups=data.groups,
        num_groups=data.num_groups,
        per_image=data.per_image,
    )
    _checks.distributions_fit(shares.shape[-1], read.num_classes)
    shares = xp.where(right[..., None], shares, xp.zeros_like(shares))
    shares = xp.cast(xp.reshape(shares, [-1, read.num_classes]), read.dtype)
    return with_shares(read, shares)


def with_shares(examples: Examples, shares: xp.Tensor) -> Examples:
    """Returns the examples with shares [N, K]; a graph may find other sizes, which are
    wrong: `examples` holds that.
    """
    if shares.shape[0] is None:
        shares = shares[: xp.shape(examples.labels)[0]]
    _, shares = _sizes.of_one_length(examples.labels, shares)
    return dataclasses.replace(examples, shares=shares)


@once
def as_rows(predictions: xp.Tensor, columns: int) -> xp.Tensor:
    """Returns predictions [N, columns]: the same tensor, if that is its shape."""
    if len(predictions.shape) == 2 and predictions.shape[1] == columns:
        return predictions
    return xp.reshape(predictions, [-1, columns])


def are_probabilities(logits: xp.Tensor, counted: xp.Tensor | None = None) -> xp.Tensor:
    """Returns whether logits [N, ..., K] are surely probabilities, by the rule of the
    NumPy twin; `counted`, boolean [N], is False for rows that do not count.
    """
    if logits.shape[-1] == 1:
        return xp.constant(False)
    rows = logits[: np_inputs.FIRST_ROWS]
    if counted is not None:
        counted = counted[: np_inputs.FIRST_ROWS]
    if through_numpy(rows):  # In the time of one operation, not of twenty.
        of_numpy = None if counted is None else to_numpy(counted)
        return xp.constant(np_inputs.are_probabilities(to_numpy(rows), of_numpy))
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
    """Returns the number of elements; None if the static shape has an unknown axis."""
    sizes = list(shape)
    return None if None in sizes else math.prod(size or 0 for size in sizes)


def take(values: xp.Tensor, index: xp.Tensor) -> xp.Tensor:
    """Returns `values[i, index[i]]`, [N], of values [N, K]."""
    # This is much faster than a gather with `batch_dims`.
    rows = xp.range(xp.shape(values)[0]) * values.shape[1]
    return xp.gather(xp.reshape(values, [-1]), rows + index)


def predictions_dtype(*predictions: xp.Tensor) -> xp.DType:
    """Returns float64 if one of the tensors is float64, else float32."""
    any_double = any(tensor.dtype == xp.float64 for tensor in predictions)
    return xp.float64 if any_double else xp.float32


def like_labels(name: str, tensor: xp.Tensor, labels: xp.Tensor) -> xp.Tensor:
    """Returns the tensor in the shape and type of the labels."""
    _checks.same_shape(name, tensor.shape, labels.shape)
    tensor = xp.cast(tensor, labels.dtype)
    if len(tensor.shape) == 0:
        return xp.broadcast_to(tensor, xp.shape(labels))
    # The graph optimizer may drop the reshape, and with it the error.
    return xp.reshape(_sizes.nan_unless_alike(tensor, labels), xp.shape(labels))
