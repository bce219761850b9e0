"""Labels and weights as Keras users pass them: integers, [..., 1], one-hot, masks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _family
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import _inputs, to_numpy, xp
from uncertainty_metrics.ops._shared_values import once

# The options that say what `y_pred` holds.
_OTHER = {
    "for logits use `logits`": "for logits use `from_logits=True`",
    "for probabilities use `probabilities`": (
        "for probabilities use `from_logits=False`"
    ),
}
# No class, and no index that anyone ignores.
WRONG = np.iinfo(np.int32).min


@once
def sparse(
    y_true: xp.Tensor, y_pred: xp.Tensor, sparse_labels: bool | None
) -> tuple[xp.Tensor, bool]:
    """Returns integer labels, and whether they were one-hot.

    A one-hot row that is not a distribution over the classes becomes the label `WRONG`.

    Args:
      y_true: integers [...] or [..., 1], or one-hot [..., K].
      y_pred: predictions [..., K], or [...] or [..., 1] for class 1 of two.
      sparse_labels: whether `y_true` holds integers; None lets the shapes say.

    Raises:
      ValueError: the shapes do not say, or do not fit one-hot labels.
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
    return xp.where(right, labels, xp.fill(xp.shape(labels), WRONG)), True


def _is_one_hot(labels: Sequence[Any], predictions: Sequence[Any]) -> bool:
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
      predictions: [N, columns], of 1 column for P(class 1).
      weights: float32 [N], or None.
      classes: number of classes.
      one_hot: `y_true` where it was one-hot, else None.
      groups: [N], or None.

    Of several labels of an example, each 0 or 1, all arrays are [N, L] and L is the
    number of classes.
    """

    labels: xp.Tensor
    predictions: xp.Tensor
    weights: xp.Tensor | None
    classes: int
    one_hot: xp.Tensor | None
    groups: xp.Tensor | None

    @property
    def data(self) -> tuple[xp.Tensor | None, ...]:
        """What adds up a batch reads with `examples`."""
        of_all = self.labels, self.predictions, self.weights
        return of_all if self.groups is None else (*of_all, self.groups)

    def explain(
        self, twin: Callable[..., object], predictions: str, ignore_index: int | None
    ) -> None:
        """Raises the ValueError that says what is wrong, by the NumPy twin's rules."""
        if self.one_hot is not None:
            labels = xp.reshape(self.labels, xp.shape(self.one_hot)[:-1])
            check_one_hot(self.one_hot, labels)
        labels, rows, weights, *groups = host(*self.data)
        with keras_names(predictions):
            twin(
                labels,
                **{predictions: rows},
                sample_weight=weights,
                ignore_index=ignore_index,
                **dict(zip(["groups"], groups, strict=False)),
            )


class Rows(NamedTuple):
    """Labels and predictions, as passed and with their leading axes flattened.

    Attributes:
      shaped: the labels as passed, or integers [...] of one-hot ones.
      labels: [N], or [N, L] of several labels of an example.
      predictions: [N, columns], of 1 column for P(class 1).
      classes: number of classes, None for P(class 1).
      one_hot: whether `y_true` was one-hot.
    """

    shaped: xp.Tensor
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
    """Reads labels and predictions; raises ValueError for wrong shapes."""
    labels, one_hot = sparse(y_true, y_pred, multilabel or sparse_labels)
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
) -> ClassRows:
    """Reads the arguments of `update_state`; raises ValueError for wrong shapes."""
    mask = _family.mask_of(y_pred)
    y_true = _inputs.as_tensor("y_true", y_true)
    y_pred = _inputs.as_tensor("y_pred", y_pred)
    rows = flat_rows(y_true, y_pred, sparse_labels, multilabel)
    shape = [-1, rows.classes] if multilabel else [-1]
    weights = flat_weights(sample_weight, mask, rows.shaped)
    if groups is not None:
        groups = _inputs.like_each("groups", groups, rows.shaped)
        groups = xp.reshape(groups, shape)
    return ClassRows(
        rows.labels,
        rows.predictions,
        None if weights is None else xp.reshape(weights, shape),
        rows.classes or 2,
        y_true if rows.one_hot else None,
        groups,
    )


def examples(
    predictions: str,
    ignore_index: int | None,
    labels: xp.Tensor,
    y_pred: xp.Tensor,
    sample_weight: xp.Tensor | None,
    groups: xp.Tensor | None = None,
    **options: Any,
) -> _inputs.Examples:
    """Reads `ClassRows`, whose `predictions` are "logits" or "probabilities"."""
    return _inputs.examples(
        labels,
        **{predictions: y_pred},
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        groups=groups,
        **options,
    )


def host(*tensors: xp.Tensor | None) -> list[Any]:
    """Returns the values, which may be on an accelerator."""
    return [None if tensor is None else to_numpy(tensor) for tensor in tensors]


def check_one_hot(y_true: xp.Tensor, labels: xp.Tensor) -> None:
    """Raises ValueError if a row of one-hot labels became the label `WRONG`."""
    bad = to_numpy(labels) == WRONG
    if np.any(bad):
        row = to_numpy(y_true)[bad][0]
        raise _checks.error(
            "y_true", "one-hot, or a distribution over the classes, in each row", row
        )


@once
def flat_weights(
    sample_weight: Any, mask: xp.Tensor | None, labels: xp.Tensor
) -> xp.Tensor | None:
    """Returns weights [N], 0 where masked, or None where there are neither."""
    given = [value for value in (sample_weight, mask) if value is not None]
    if not given:
        return None
    flat = [_inputs.flat_weights(value, labels, xp.float32) for value in given]
    return flat[0] if len(flat) == 1 else flat[0] * flat[1]


def check_classes(name: str, classes: int | None, expected: int | None) -> None:
    """Raises ValueError where two numbers of classes are known and differ."""
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
    """Puts y_true and y_pred for `labels` and `predictions` in a ValueError."""
    try:
        yield
    except ValueError as wrong:
        message = str(wrong).replace("`labels`", "`y_true`")
        message = message.replace(f"`{predictions}`", "`y_pred`")
        for other in _OTHER.items():
            message = message.replace(*other)
        raise ValueError(message) from None
