"""Checks of options and shapes, and the format of all error messages.

The checks take Python values and static shapes, so NumPy, the tensors and Keras call
the same checks. No check looks at the values inside an array.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

# A static shape: None is a size that is known only when the graph runs.
Shape = Sequence["int | None"]

# More bins than this are a mistake, and may not fit in memory.
MAX_BINS = 10**6
# Wider arrays of labels than this are masks rather than votes.
_MOST_ANNOTATORS = 100

SWAPPED = (
    "The arguments seem to be swapped: `labels` come first, then the predictions, "
    "as in `ece(labels, probabilities)`."
)


# The argument that the caller probably meant, if the values do not fit this one.
_HINTS = {
    "probabilities": "; for logits use `logits`",
    "logits": "; for probabilities use `probabilities`, or take their logarithm",
}


def hint(name: str) -> str:
    """Returns the end of an error message, which names the argument to use instead."""
    return _HINTS.get(name, "")


def distributions_fit(classes: int | None, expected: int) -> None:
    """Raises ValueError unless distributions of labels are over as many classes as the
    predictions.
    """
    if classes not in (None, expected):
        raise error(
            "label_distributions",
            f"of shape [..., {expected}], the classes of the predictions",
            f"{classes} classes",
        )


def error(name: str, expected: str, received: object, verb: str = "be") -> ValueError:
    """Returns the ValueError for argument `name`, in the format of the package.

    `verb` is "hold" for a message such as "`labels` must hold at least one example".
    """
    return ValueError(f"`{name}` must {verb} {expected}. Received: {received}")


def plain_error(message: str, received: object) -> ValueError:
    """Returns a ValueError that is not about the value of a single argument.

    Args:
      message: sentences that say what is wrong and what to do.
      received: what the caller passed, or the state of the object.
    """
    return ValueError(f"{message} Received: {received}")


def combination_error(message: str, given: Iterable[str]) -> ValueError:
    """Returns the ValueError for arguments that do not go together.

    Args:
      message: a sentence that says which arguments must be given.
      given: the names of the arguments that were given.
    """
    received = " and ".join(f"`{name}`" for name in given) or "none of them"
    return plain_error(message, received)


def type_error(
    name: str, expected: str, received: object, verb: str = "be"
) -> TypeError:
    """Returns the TypeError for argument `name`, in the format of the package."""
    return TypeError(
        f"`{name}` must {verb} {expected}. Received: {reprlib.repr(received)}"
    )


def listed(name: str, expected: str, values: Any) -> list[Any]:
    """Returns the items of an iterable; raises TypeError for other objects and for a
    dict, which would give only its keys.

    Args:
      name: name of the argument.
      expected: what the items must be, for the message.
      values: what the caller passed.
    """
    try:
        items = None if isinstance(values, Mapping) else iter(values)
    except TypeError:
        items = None
    if items is None:
        raise type_error(name, f"a list of {expected}", values)
    return list(items)


def _not_empty(name: str, shape: Shape) -> None:
    """Raises ValueError if an array of this shape is empty."""
    if 0 in shape:
        raise error(name, "at least one example", f"shape {list(shape)}", verb="hold")


def one_of(name: str, value: object, options: Sequence[object]) -> None:
    """Raises ValueError, listing the options, unless `value` is one of them."""
    is_scalar = getattr(value, "shape", ()) == ()  # `==` of arrays is elementwise.
    if not any(
        value is option or (is_scalar and value == option) for option in options
    ):
        expected = ", ".join(repr(option) for option in options)
        raise error(name, f"one of {expected}", repr(value))


def boolean(name: str, value: object) -> None:
    """Raises ValueError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise error(name, "True or False", repr(value))


def boolean_or_none(name: str, value: object) -> None:
    """Raises ValueError unless `value` is True, False or None."""
    if not (value is None or isinstance(value, bool)):
        raise error(name, "True, False or None", repr(value))


def _whole(value: Any) -> int | None:
    """Returns a whole number as an int, and None for any other value."""
    try:
        integer = int(value)
    except (TypeError, ValueError, OverflowError):  # The last is for infinity.
        return None
    return None if isinstance(value, bool) or integer != value else integer


def number(value: Any) -> float:
    """Returns a real number as a float, and NaN for any other value."""
    if isinstance(value, bool | str | bytes):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def positive_integer(name: str, value: Any) -> int:
    """Returns `value` as an int; raises ValueError unless it is an integer >= 1."""
    integer = _whole(value)
    if integer is None or integer < 1:
        raise error(name, "an integer of at least 1", repr(value))
    return integer


def bins(name: str, value: Any) -> int:
    """Returns `value` as an int; raises ValueError unless it is from 1 to 10^6."""
    integer = _whole(value)
    if integer is None or not 1 <= integer <= MAX_BINS:
        raise error(
            name, f"an integer of at least 1, and at most {MAX_BINS}", repr(value)
        )
    return integer


def number_of_groups(groups: object, num_groups: Any) -> int | None:
    """Returns `num_groups` as an int, or None if neither argument was passed; raises
    ValueError unless both were passed and `num_groups` is from 1 to 10^6.
    """
    if groups is None and num_groups is None:
        return None
    if groups is None or num_groups is None:
        received = "num_groups" if groups is None else "groups"
        raise plain_error(
            "`groups` and `num_groups` must be given together.", f"`{received}`"
        )
    return bins("num_groups", num_groups)


def number_of_images(per_image: Any, labels: Shape, groups: object) -> int | None:
    """Returns the length of the first axis of the labels for `per_image`, or None.

    Raises:
      ValueError: the labels have a single axis, the number of images is not static, or
        there are `groups` as well.
    """
    boolean("per_image", per_image)
    if not per_image:
        return None
    if groups is not None:
        raise error("groups", "None with `per_image`", "`groups`")
    if len(labels) < 2 or labels[0] is None:
        raise error(
            "labels",
            "the shape [images, ...], with a static number of images, for `per_image`",
            f"shape {list(labels)}",
            verb="have",
        )
    return labels[0]


def check_aggregate(aggregate: bool) -> None:
    """Raises ValueError if `aggregate` is False, which `groups` and `per_image` do not
    allow.
    """
    if not aggregate:
        raise error("aggregate", "True with `groups` or `per_image`", aggregate)


@overload
def ignored_label(name: str, value: None) -> None: ...
@overload
def ignored_label(name: str, value: int) -> int: ...
def ignored_label(name: str, value: Any) -> int | None:
    """Returns `value` as an int; raises ValueError unless it is an integer of 64 bits
    or None.
    """
    integer = _whole(value)
    if value is not None and (integer is None or not -(2**63) <= integer < 2**63):
        raise error(name, "None or an integer", repr(value))
    return integer


def sketch_bits(value: Any) -> int | None:
    """Returns `value` as an int; raises ValueError unless it is in [0, 20] or None."""
    integer = _whole(value)
    if value is not None and (integer is None or not 0 <= integer <= 20):
        raise error("sketch_bits", "None or an integer from 0 to 20", repr(value))
    return integer


def exactly_one(**arguments: Any) -> str:
    """Returns the name of the argument that is not None; raises ValueError unless there
    is exactly one.
    """
    passed = [name for name, value in arguments.items() if value is not None]
    if len(passed) != 1:
        names = " and ".join(f"`{name}`" for name in arguments)
        raise combination_error(f"Exactly one of {names} must be given.", passed)
    return passed[0]


def predictions(probabilities: Any, logits: Any, probs: Any) -> tuple[str, Any]:
    """Returns the name and the value of the predictions argument that was passed."""
    arguments = {"probabilities": probabilities, "logits": logits}
    if probs is not None:  # Another name for `probabilities`.
        arguments["probs"] = probs
        if probabilities is None:
            del arguments["probabilities"]
    name = exactly_one(**arguments)
    return name, arguments[name]


def compatible(shape: Shape, other: Shape) -> bool:
    """Says if two static shapes may be equal."""
    return len(shape) == len(other) and all(
        a is None or b is None or a == b for a, b in zip(shape, other, strict=True)
    )


def _is_binary(labels: Shape, predictions: Shape) -> bool | None:
    """Says if predictions are P(class 1) (True) or [..., K] (False); None for neither.

    If both fit the static shapes, the answer is None, too.
    """
    if compatible(labels, predictions):
        # If only one last size is known, [..., None] may be [..., 1] beside [..., K].
        if len(labels) < 2 or labels[-1] == predictions[-1]:
            return True
        return None
    if len(predictions) > 0 and compatible(labels, predictions[:-1]):
        return predictions[-1] == 1
    if len(labels) > 0 and labels[-1] == 1:  # Keras passes labels as [..., 1].
        return _is_binary(labels[:-1], predictions)
    return None


def layout(
    labels: Shape, predictions: Shape, name: str, labels_name: str = "labels"
) -> int | None:
    """Returns the number of classes on the last axis, or None for P(class 1).

    Args:
      labels: static shape of the labels, `[...]` or `[..., 1]`.
      predictions: static shape of the predictions: `[..., K]`, or `[...]` or
        `[..., 1]` for the probability (or logit) of class 1.
      name: name of the predictions argument, for the message.
      labels_name: name of the labels argument, for the message.

    Raises:
      ValueError: the shapes do not fit each other, or there is no example.
    """
    labels, predictions = tuple(labels), tuple(predictions)
    binary = _is_binary(labels, predictions)
    if binary is None:
        known = None not in labels + predictions
        received = f"shape {list(predictions)}"
        if known and _is_binary(predictions, labels) is not None:
            raise plain_error(
                SWAPPED,
                f"{labels_name} of shape {list(labels)}, {name} of shape "
                f"{list(predictions)}",
            )
        axes = range(len(predictions) - 1)
        others = [predictions[:i] + predictions[i + 1 :] for i in axes]
        axis = others.index(labels) if labels in others else 0
        # Of 40 rows for 3 labels and 3 classes, 37 labels are lacking.
        examples = math.prod(size or 0 for size in labels)
        if known and labels in others and (predictions[axis] or 0) < examples:
            raise error(
                name,
                "of shape [..., K], with the classes on the last axis: pass "
                f"np.moveaxis({name}, {axis}, -1)",
                f"{received} for `{labels_name}` of shape {list(labels)}",
            )
        if known and len(labels) > 1 and labels[:-1] == predictions[:-1]:
            raise error(
                labels_name,
                f"one number for each example, of shape {list(labels[:-1])}"
                f"{_hint_of_votes(labels_name, predictions[-1])}",
                f"shape {list(labels)} for `{name}` of shape {list(predictions)}",
            )
        similar = len(predictions) - len(labels) in (0, 1) and len(labels) > 0
        if known and similar and labels[0] != predictions[0]:
            received += f", {predictions[0]} rows for {labels[0]} labels"
        raise error(
            name,
            "of shape [..., K], or [...] or [..., 1] for two classes, where [...] is "
            f"the shape of `{labels_name}`, {list(labels)}",
            received,
        )
    _not_empty(labels_name, labels)
    if binary:
        return None
    if predictions[-1] is None or predictions[-1] < 1:
        raise error(
            name,
            "a static number of classes, at least 1, on the last axis",
            f"shape {list(predictions)}",
            verb="have",
        )
    return predictions[-1]


def not_votes(labels: Shape, largest: float, name: str) -> None:
    """Raises ValueError if labels that must be 0 or 1 seem to be votes for classes, of
    as many annotators as there are classes.

    Args:
      labels: shape of the labels and of the predictions.
      largest: the largest label.
      name: name of the predictions argument, for the message.
    """
    size = labels[-1] if len(labels) > 1 else None
    if size is not None and 1 < largest < size <= _MOST_ANNOTATORS:
        raise error(
            "labels",
            f"0 or 1 where `{name}` has their shape, {list(labels)}"
            f"{_hint_of_votes('labels', size)}",
            f"{largest:g}",
        )


def _hint_of_votes(labels_name: str, num_classes: int | None) -> str:
    return (
        f". If the last axis of `{labels_name}` holds the votes of annotators, pass "
        f"label_distributions=({labels_name}[..., None] == np.arange({num_classes}))"
        f".mean(axis=-2) instead of `{labels_name}`"
    )


def number_of_labels(
    labels: Shape, predictions: Shape, name: str, labels_name: str = "labels"
) -> int:
    """Returns L for `multilabel`, where labels and predictions have the shape [..., L].

    Raises:
      ValueError: the shapes are not of this form, or L is not static.
    """
    size = predictions[-1] if len(predictions) > 1 else None
    same = len(labels) == len(predictions) and labels[-1:] == predictions[-1:]
    if size is None or not same:
        raise error(
            name,
            f"of the shape of `{labels_name}`, [..., L] with a static L, for "
            "`multilabel`",
            f"shape {list(predictions)} for {labels_name} of shape {list(labels)}",
        )
    return size


def aligned_shape(name: str, shape: Shape, labels: Shape) -> list[int | None]:
    """Returns the shape, of the rank of labels, that lets `name` broadcast to labels.

    Leading axes are aligned, as in Keras: one weight per image fits labels of shape
    [images, height, width].

    Raises:
      ValueError: the shape does not broadcast to that of the labels.
    """
    shape, labels = list(shape), list(labels)
    aligned = shape + [1] * (len(labels) - len(shape))
    while len(aligned) > len(labels) and aligned[-1] == 1:
        aligned.pop()
    if len(aligned) != len(labels) or not all(
        size in (None, 1) or target in (None, size)
        for size, target in zip(aligned, labels, strict=True)
    ):
        raise error(
            name,
            f"broadcastable to the labels of shape {labels}",
            f"shape {shape}",
        )
    return aligned


def open_unit(name: str, value: Any) -> float:
    """Returns `value` as a float; raises ValueError unless it is in (0, 1)."""
    level = number(value)
    if not 0.0 < level < 1.0:
        raise error(name, "in (0, 1)", repr(value))
    return level


def share(name: str, value: Any, zero: bool = True) -> float:
    """Returns `value` as a float; raises ValueError unless it is in [0, 1], or in
    (0, 1] without `zero`.
    """
    part = number(value)
    if not (0.0 <= part <= 1.0 and (zero or part > 0)):
        raise error(name, "in [0, 1]" if zero else "in (0, 1]", repr(value))
    return part


def levels(name: str, values: Any) -> float | tuple[float, ...]:
    """Returns a number in (0, 1), or a tuple of them for a sequence or an array.

    Raises:
      ValueError: a number is not in (0, 1), or there is none.
    """
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, list | tuple):
        return open_unit(name, values)
    if not values:
        raise error(name, "at least one number in (0, 1)", repr(values), verb="hold")
    return tuple(open_unit(name, value) for value in values)


def _alike(shape: list[int | None], other: list[int | None]) -> bool:
    """Says if shapes may be equal, except for a last axis of 1 that only one has."""
    longer, shorter = sorted((shape, other), key=len, reverse=True)
    if longer[len(shorter) :] == [1]:
        longer = longer[:-1]
    return compatible(longer, shorter)


def same_shape(name: str, shape: Shape, labels: Shape) -> None:
    """Raises ValueError unless `shape` is that of the labels, or [].

    A last axis of 1 that only one of them has is allowed: the caller reshapes, because
    broadcasting [n, 1] against [n] would give [n, n].
    """
    shape, labels = list(shape), list(labels)
    _not_empty("labels", labels)
    if shape and not _alike(shape, labels):
        raise error(name, f"of the shape of the labels, {labels}", f"shape {shape}")


def paired(name: str, shape: Shape, outcomes_name: str, outcomes: Shape) -> None:
    """Raises ValueError unless scores have the static shape of their outcomes and there
    is an example. A last axis of 1 that only one of them has is allowed.
    """
    shape, outcomes = list(shape), list(outcomes)
    _not_empty(outcomes_name, outcomes)
    if not _alike(shape, outcomes):
        hint = "; of two classes pass the column of class 1"
        raise error(
            name,
            f"of the shape of `{outcomes_name}`, {outcomes}",
            f"shape {shape}{hint if shape == [*outcomes, 2] else ''}",
        )


def number_of_scored_classes(labels: Shape, scores: Shape) -> int | None:
    """Returns K for scores of the shape [..., K] of labels [...], with K >= 3; None for
    other shapes.
    """
    scores, labels = list(scores), list(labels)
    if not scores or scores[-1] in (None, 1, 2) or _alike(scores, labels):
        return None
    return scores[-1] if _extends(scores, labels) else None


def _extends(shape: Shape, labels: Shape) -> bool:
    """Says if `shape` is that of the labels and one more axis at the end."""
    if not shape:
        return False
    squeezed = labels[:-1] if labels[-1:] == [1] else labels
    return compatible(shape[:-1], labels) or compatible(shape[:-1], squeezed)


def last_axis(
    name: str, shape: Shape, labels: Shape, axis: str, labels_name: str = "labels"
) -> None:
    """Raises ValueError unless `shape` is that of the labels and one more axis.

    Args:
      name: name of the predictions argument.
      shape: static shape of the predictions.
      labels: static shape of the labels, which may have an additional last axis of 1.
      axis: what the last axis of the predictions holds, for the message.
      labels_name: name of the labels argument.
    """
    shape, labels = list(shape), list(labels)
    if not _extends(shape, labels):
        if _extends(labels, shape):
            raise plain_error(
                SWAPPED, f"{labels_name} of shape {labels}, {name} of shape {shape}"
            )
        raise error(
            name,
            f"of the shape of `{labels_name}`, {labels}, and one more axis at the end, "
            f"of {axis}",
            f"shape {shape}",
        )
    _not_empty(labels_name, labels)
    if shape[-1] == 0:
        raise error(
            name,
            f"a last axis ({axis}) that is not empty",
            f"shape {shape}",
            verb="have",
        )


def vector_samples(shape: Shape, labels: Shape) -> None:
    """Raises ValueError unless labels are [..., d] and samples [..., m, d]."""
    shape, labels = list(shape), list(labels)
    if not labels or len(shape) < 2 or not compatible(shape[:-2] + shape[-1:], labels):
        swapped = len(labels) == len(shape) + 1
        raise error(
            "predictive_samples",
            f"of shape [..., m, d] for `labels` of shape [..., d] = {labels}",
            f"shape {shape}" + f". {SWAPPED}" * swapped,
        )
    _not_empty("labels", labels)
    if shape[-2] == 0:
        raise error(
            "predictive_samples", "at least one sample", f"shape {shape}", verb="hold"
        )


def quantile_shape(
    shape: Shape, labels: Shape, quantiles: float | tuple[float, ...]
) -> None:
    """Raises ValueError unless predictions have the shape of the labels, and one more
    axis of the number of `quantiles` if these are a tuple.
    """
    name = "quantile_predictions"
    if not isinstance(quantiles, tuple):
        same_shape(name, shape, labels)
        return
    counted_axis(name, shape, labels, "quantiles", len(quantiles))


def counted_axis(name: str, shape: Shape, labels: Shape, axis: str, count: int) -> None:
    """Raises ValueError unless `shape` is that of the labels and one more axis of size
    `count`, the number of entries of the argument `axis`.
    """
    last_axis(name, shape, labels, axis)
    if shape[-1] not in (None, count):
        raise error(
            name,
            f"a last axis of {count}, the number of `{axis}`",
            f"shape {list(shape)}",
            verb="have",
        )
