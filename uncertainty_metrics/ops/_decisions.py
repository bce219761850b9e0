"""The decisions of a classifier: the most probable class of each example."""

from __future__ import annotations

from uncertainty_metrics.ops import (
    IS_JAX,
    IS_TENSORFLOW,
    _execution,
    _inputs,
    _ranges,
    numpy_dtype,
    xp,
)
from uncertainty_metrics.ops._shared_values import once

# The signed and unsigned integers of each size in bytes.
_INTEGERS = {
    2: (xp.int16, xp.uint16),
    4: (xp.int32, xp.uint32),
    8: (xp.int64, xp.uint64),
}
# For fewer classes, and fewer numbers, another pass costs less than a branch.
_FEW = 32
_MANY = 2**16


@once
def decisions(
    probabilities: xp.Tensor,
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the argmax of each row of probabilities [N, K], the lowest class of equal
    ones; its probability; and whether all of the row are in [0, 1]; [N] each.
    """
    if IS_TENSORFLOW:
        return _decisions_by_bits(probabilities)
    few = probabilities.shape[1] < _FEW
    if few and _execution.needs_no_gradient(probabilities):
        return _decisions_of_few(probabilities)
    index = _argmax(probabilities)
    scores = _inputs.take(probabilities, index)  # NaN where the row has one.
    right = _ranges.in_range(scores) & (xp.reduce_min(probabilities, axis=-1) >= 0)
    return index, xp.minimum(scores, 1), right


@once
def outcomes(
    probabilities: xp.Tensor, labels: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns whether the decision of each row of probabilities [N, K] is its label,
    and the last two of `decisions`; [N] each.
    """
    if not (IS_TENSORFLOW or IS_JAX) and _execution.is_for_numpy(probabilities):
        found = _outcomes_by_labels(probabilities, labels)
        if found is not None:
            return found
    index, scores, right = decisions(probabilities)
    return index == labels, scores, right


def _outcomes_by_labels(
    probabilities: xp.Tensor, labels: xp.Tensor
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor] | None:
    """Returns the outcomes of PyTorch, which finds the maximum of a row in a fifth of
    the time of its place; None if there is a number out of [0, 1], or -0.0.
    """
    signed, _ = _INTEGERS[numpy_dtype(probabilities).itemsize]
    bits = xp.bitcast(probabilities, signed)
    if 0 in bits.shape:
        return None
    lowest, highest = bits.aminmax()
    if lowest < 0 or highest > xp.bitcast(xp.ones([], probabilities.dtype), signed):
        return None
    places = xp.cast(labels, xp.int64)[:, None]
    at_label = bits.gather(1, places)[:, 0]
    others = bits.scatter(1, places, -1).amax(1)
    is_right, ties = at_label > others, (at_label == others).nonzero()[:, 0]
    if len(ties):
        rows = probabilities[ties]
        is_right[ties] = decisions(rows)[0] == labels[ties]
    scores = xp.bitcast(xp.maximum(at_label, others), probabilities.dtype)
    return is_right, scores, xp.ones_like(is_right)


def _decisions_of_few(
    probabilities: xp.Tensor,
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the decisions of PyTorch, whose extremes of short rows of integers take a
    half of the time of those of floats.

    Floats >= 0 sort like their bits, and so do NaN and numbers above 1, which are
    larger. Negative numbers have negative bits.
    """
    signed, _ = _INTEGERS[numpy_dtype(probabilities).itemsize]
    bits = xp.bitcast(probabilities + 0.0, signed)  # -0.0 becomes 0.0.
    largest = bits.max(-1)
    scores = xp.bitcast(largest.values, probabilities.dtype)
    right = _ranges.in_range(scores) & (xp.reduce_min(bits, axis=-1) >= 0)
    return xp.cast(largest.indices, xp.int32), xp.minimum(scores, 1), right


def _decisions_by_bits(
    probabilities: xp.Tensor,
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the decisions by one pass over the rows, as integers.

    Floats >= 0 sort like their bits. NaN, negative numbers and numbers above 1 all have
    larger bits than 1.0: the maximum of a row is out of [0, 1] where any number is.
    """
    signed, unsigned = _INTEGERS[numpy_dtype(probabilities).itemsize]

    def best(values: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        bits = xp.bitcast(values, unsigned)
        if numpy_dtype(bits).itemsize < 4:  # Some devices have no argmax of uint16.
            bits = xp.cast(bits, xp.int32)
        index = _argmax(bits)
        return index, _inputs.take(values, index)

    def without_negative_zeros() -> tuple[xp.Tensor, xp.Tensor]:
        zeros = xp.zeros_like(probabilities)
        return best(xp.where(probabilities == 0, zeros, probabilities))

    # -0.0 has large bits: as the maximum it may hide a larger probability.
    rows, classes = probabilities.shape
    if classes < _FEW and (rows or 0) * classes < _MANY:
        index, scores = without_negative_zeros()
    else:
        index, scores = best(probabilities)
        index, scores = xp.cond(
            xp.reduce_all(xp.bitcast(scores, signed) >= 0),
            lambda: (index, scores),
            without_negative_zeros,
        )
    return index, xp.minimum(scores, 1), _ranges.in_range(scores)


def _argmax(values: xp.Tensor) -> xp.Tensor:
    """Returns the argmax of each row of [N, K], the lowest of equal ones."""
    # The argmax of the maxima of groups, and then within a group: XLA on CPU unrolls
    # the loop over a group, and so is several times as fast as over a whole row.
    classes = values.shape[1]
    size = max(size for size in range(1, 33) if classes % size == 0)
    if not 8 <= size <= classes // 16:
        return xp.argmax(values, axis=-1, output_type=xp.int32)
    groups = xp.reshape(values, [-1, classes // size, size])
    best = xp.argmax(xp.reduce_max(groups, axis=-1), axis=-1, output_type=xp.int32)
    rows = xp.range(xp.shape(values)[0]) * (classes // size)
    group = xp.gather(xp.reshape(groups, [-1, size]), rows + best)
    return best * size + xp.argmax(group, axis=-1, output_type=xp.int32)
