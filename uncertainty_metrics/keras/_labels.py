"""Labels and weights as Keras users pass them: integers, [..., 1], one-hot, masks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _family
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import _inputs, is_floating, to_numpy, xp
from uncertainty_metrics.ops._shared_values import once

# Hints in the messages of NumPy functions, and the same hints for Keras.
_KERAS_HINTS = {
    "for logits use `logits`": "for logits use `from_logits=True`",
    "for probabilities use `probabilities`": (
        "for probabilities use `from_logits=False`"
    ),
}
# The label of a wrong one-hot row: never a class, and never an `ignore_index`.
WRONG_LABEL = np.iinfo(np.int32).min


@once
def integer_labels(
    y_true: xp.Tensor, y_pred: xp.Tensor, sparse_labels: bool | None
) -> tuple[xp.Tensor, bool]:
    """Returns integer labels, and whether they were one-hot.

    A one-hot row that is no distribution over the classes becomes `WRONG_LABEL`.

    Args:
      y_true: integers [...] or [..., 1], or one-hot [..., K].
      y_pred: predictions [..., K], or [...] or [..., 1] for class 1 of two.
      sparse_labels: whether `y_true` holds integers; None if the shapes tell.

    Raises:
      ValueError: the shapes do not tell, or do not fit one-hot labels.
    """
    if sparse_labels is None:
        sparse_labels = not _is_one_hot(y_true.shape, y_pred.shape)
    if sparse_labels:
        return y_true, False
    predictions = y_pred.shape
    classes = 2
    if len(predictions) == len(y_true.shape) and predictions[-1] != 1:
        classes = predictions[-1]
    if len(y_true.shape) < 1 or y_true.shape[-1] not in (None, classes):
        raise _checks.error(
            "y_true",
            f"one-hot of shape [..., {classes}] for y_pred of shape {predictions}",
            f"shape {y_true.shape}",
        )
    shares = xp.cast(y_true, xp.float32)
    distance = xp.abs(xp.reduce_sum(shares, axis=-1) - 1)
    right = xp.reduce_all(shares >= 0, axis=-1) & (
        distance < np_inputs.ROW_SUM_TOLERANCE
    )
    labels = xp.argmax(shares, axis=-1, output_type=xp.int32)
    return xp.where(right, labels, xp.fill(xp.shape(labels), WRONG_LABEL)), True


@once
def shared_labels(
    y_true: xp.Tensor, y_pred: xp.Tensor, sparse_labels: bool | None
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the labels with the largest shares, the shares of the classes [N, K], and
    `y_true` with a last axis.

    A label becomes `WRONG_LABEL`, and its shares 0, where `y_true` holds no grade in
    [0, 1], or no distribution over the classes.

    Args:
      y_true: shares [..., K] of the classes; or grades, the shares of class 1 of two,
        [...] or [..., 1].
      y_pred: predictions [..., K], or [...] or [..., 1] for class 1 of two.
      sparse_labels: whether `y_true` holds grades; None if the shapes tell.

    Raises:
      ValueError: the shapes do not tell, or do not fit.
    """
    if not is_floating(y_true):
        y_true = xp.cast(y_true, xp.float32)
    if sparse_labels is None:
        sparse_labels = not _is_one_hot(y_true.shape, y_pred.shape)
    if not sparse_labels:
        labels, _ = integer_labels(y_true, y_pred, False)
        rows = xp.reshape(y_true, [-1, y_true.shape[-1]])
        right = xp.reshape(labels, [-1])[:, None] != WRONG_LABEL
        return labels, xp.where(right, rows, xp.zeros_like(rows)), y_true
    classes = _checks.layout(y_true.shape, y_pred.shape, "y_pred", "y_true")
    if classes not in (None, 2):
        raise _checks.error(
            "y_true",
            f"shares of shape [..., {classes}] for y_pred of shape {y_pred.shape}",
            f"shape {y_true.shape}",
        )
    right = (y_true >= 0) & (y_true <= 1)
    labels = xp.where(right, xp.cast(y_true >= 0.5, xp.int32), WRONG_LABEL)
    grades = xp.reshape(xp.where(right, y_true, xp.zeros_like(y_true)), [-1])
    return labels, xp.stack([1 - grades, grades], axis=1), y_true[..., None]


def _is_one_hot(labels: Sequence[Any], predictions: Sequence[Any]) -> bool:
    """Returns whether the shapes are those of one-hot labels and their predictions."""
    if not len(labels) == len(predictions) > 1 or labels[-1] == 1:
        return False
    if labels[-1] is None and predictions[-1] != 1:
        raise _checks.plain_error(
            "The static shapes do not tell one-hot labels from integers: pass "
            "`sparse_labels`.",
            f"y_true of shape {labels}, y_pred of shape {predictions}",
        )
    return True


class ClassRows(NamedTuple):
    """A batch for a classification metric, its leading axes flattened.

    Attributes:
      labels: [N].
      predictions: [N, columns], with 1 column for P(class 1).
      weights: float32 [N], or None for ones.
      classes: number of classes.
      one_hot: `y_true`, with a last axis, if it is one-hot or holds shares; else None.
      groups: [N], or None.
      shapes: the shapes of the integer labels and of the predictions before that.
      one_column: whether `y_pred` is one column: P(class 1), or its logit, of two
        classes. The static shapes tell; of an unknown last size, the rank does.
      shares: the distribution of each label over the classes, [N, K]; None if each
        example has one label.

    For L labels that are each 0 or 1, all arrays are [N, L], and the number of classes
    is L.
    """

    labels: xp.Tensor
    predictions: xp.Tensor
    weights: xp.Tensor | None
    classes: int
    one_hot: xp.Tensor | None
    groups: xp.Tensor | None
    shapes: tuple[Sequence[int | None], Sequence[int | None]]
    one_column: bool
    shares: xp.Tensor | None = None

    @property
    def data(self) -> tuple[xp.Tensor | None, ...]:
        """The data arguments of `examples`, of which the shares are the last."""
        data = self.labels, self.predictions, self.weights
        more = self.groups, self.shares
        return *data, *(each for each in more if each is not None)

    def explain(
        self,
        numpy_function: Callable[..., object],
        predictions: str,
        ignore_index: int | None,
    ) -> None:
        """Raises the ValueError that says what is wrong.

        Args:
          numpy_function: has the same checks, and raises the error.
          predictions: the name of its argument for the predictions.
          ignore_index: a label whose examples are left out, or None.
        """
        if self.one_hot is not None:
            labels = xp.reshape(self.labels, xp.shape(self.one_hot)[:-1])
            check_one_hot(self.one_hot, labels)
        data = self.data if self.shares is None else self.data[:-1]
        # In the shapes that were passed, so that the error names the right place.
        shape, shape_of_predictions = self.shapes
        labels, rows, *others = as_arrays(*data)
        weights, *groups = (x if x is None else x.reshape(shape) for x in others)
        with keras_names(predictions):
            numpy_function(
                labels.reshape(shape),
                **{predictions: rows.reshape(shape_of_predictions)},
                sample_weight=weights,
                ignore_index=ignore_index,
                **dict(zip(["groups"], groups, strict=False)),
            )


class Rows(NamedTuple):
    """Labels and predictions, with their leading axes flattened.

    Attributes:
      shaped_labels: the labels before that: `y_true`, or integers [...] if it is
        one-hot.
      labels: [N], or [N, L] for L labels that are each 0 or 1.
      predictions: [N, columns], with 1 column for P(class 1).
      classes: number of classes, None for P(class 1).
      one_hot: whether `y_true` is one-hot.
    """

    shaped_labels: xp.Tensor
    labels: xp.Tensor
    predictions: xp.Tensor
    classes: int | None
    one_hot: bool


@once
def flat_rows(
    y_true: xp.Tensor,
    y_pred: xp.Tensor,
    sparse_labels: bool | None,
    multilabel: bool = False,
) -> Rows:
    """Returns `y_true` and `y_pred` as rows; raises ValueError for wrong shapes."""
    labels, one_hot = integer_labels(y_true, y_pred, multilabel or sparse_labels)
    shapes = labels.shape, y_pred.shape
    classes = None
    if multilabel:
        classes = _checks.number_of_labels(*shapes, "y_pred", "y_true")
        rows = [-1, classes]
    else:
        classes = _checks.layout(*shapes, "y_pred", "y_true")
        rows = [-1]
    flat, predictions = xp.reshape(labels, rows), _inputs.as_rows(y_pred, classes or 1)
    return Rows(labels, flat, predictions, classes, one_hot)


@once
def class_rows(
    y_true: Any,
    y_pred: Any,
    sample_weight: Any,
    sparse_labels: bool | None,
    groups: Any = None,
    multilabel: bool = False,
    label_distributions: bool = False,
) -> ClassRows:
    """Returns a batch of `update_state` as rows; raises ValueError for wrong shapes."""
    mask = _family.mask_of(y_pred)
    y_true = _inputs.as_tensor("y_true", y_true)
    y_pred = _inputs.as_tensor("y_pred", y_pred)
    shares = None
    if label_distributions:
        labels, shares, y_true = shared_labels(y_true, y_pred, sparse_labels)
        rows = flat_rows(labels, y_pred, True)._replace(one_hot=True)
    else:
        rows = flat_rows(y_true, y_pred, sparse_labels, multilabel)
    shape = [-1, rows.classes] if multilabel else [-1]
    weights = flat_weights(sample_weight, mask, rows.shaped_labels)
    if groups is not None:
        groups = _inputs.like_each("groups", groups, rows.shaped_labels)
        groups = xp.reshape(groups, shape)
    return ClassRows(
        rows.labels,
        rows.predictions,
        None if weights is None else xp.reshape(weights, shape),
        rows.classes or 2,
        y_true if rows.one_hot else None,
        groups,
        (tuple(rows.shaped_labels.shape), tuple(y_pred.shape)),
        rows.classes is None,
        shares,
    )


def examples(
    predictions: str,
    ignore_index: int | None,
    labels: xp.Tensor,
    y_pred: xp.Tensor,
    sample_weight: xp.Tensor | None,
    *others: xp.Tensor,
    has_shares: bool = False,
    **options: Any,
) -> _inputs.Examples:
    """Returns the examples of `ClassRows`.

    Args:
      predictions: "logits" or "probabilities", what `y_pred` holds.
      ignore_index: a label whose examples are left out, or None.
      labels: as in `ClassRows`.
      y_pred: the predictions of `ClassRows`.
      sample_weight: the weights of `ClassRows`.
      *others: the groups and the shares of `ClassRows`, if it has them.
      has_shares: whether the last of these are shares.
      **options: other arguments of `examples` in `ops`.
    """
    found = _inputs.examples(
        labels,
        **{predictions: y_pred},
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        groups=others[0] if len(others) > has_shares else None,
        **options,
    )
    if not has_shares:
        return found
    return _inputs.with_shares(found, xp.cast(others[-1], found.dtype))


def as_arrays(*tensors: xp.Tensor | None) -> list[Any]:
    """Returns tensors, which may be on an accelerator, as NumPy arrays."""
    return [None if tensor is None else to_numpy(tensor) for tensor in tensors]


def check_one_hot(y_true: xp.Tensor, labels: xp.Tensor) -> None:
    """Raises ValueError if a row of one-hot labels became `WRONG_LABEL`."""
    bad = to_numpy(labels).astype(np.float64) == WRONG_LABEL
    if np.any(bad):
        row = to_numpy(y_true)[bad][0]
        if len(row) == 1:
            raise _checks.error("y_true", "grades in [0, 1]", row[0], verb="hold")
        raise _checks.error(
            "y_true", "one-hot, or a distribution over the classes, in each row", row
        )


@once
def flat_weights(
    sample_weight: Any, mask: xp.Tensor | None, labels: xp.Tensor
) -> xp.Tensor | None:
    """Returns weights [N], 0 where masked; None if there are no weights and no mask."""
    given = [value for value in (sample_weight, mask) if value is not None]
    if not given:
        return None
    flat = [_inputs.flat_weights(value, labels, xp.float32) for value in given]
    return flat[0] if len(flat) == 1 else flat[0] * flat[1]


def check_classes(name: str, classes: int | None, expected: int | None) -> None:
    """Raises ValueError if two numbers of classes are known and differ."""
    if None not in (classes, expected) and classes != expected:
        raise _checks.error(
            name, f"{expected} classes", f"{classes} classes", verb="have"
        )


def check_weights(weights: xp.Tensor | None) -> None:
    """Raises ValueError unless weights are finite and >= 0."""
    if weights is not None:
        np_inputs.sample_weights(to_numpy(weights), tuple(weights.shape))


@contextlib.contextmanager
def keras_names(predictions: str) -> Iterator[None]:
    """Makes a ValueError of a NumPy function name the arguments of Keras.

    The argument `labels` is `y_true`, and the argument called `predictions` is
    `y_pred`.
    """
    try:
        yield
    except ValueError as wrong:
        message = str(wrong).replace("`labels`", "`y_true`")
        message = message.replace("(labels + 1)", "(y_true + 1)")
        message = message.replace(f"`{predictions}`", "`y_pred`")
        for hints in _KERAS_HINTS.items():
            message = message.replace(*hints)
        raise ValueError(message) from None
