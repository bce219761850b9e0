"""Makes the predictions of a report of labels, predictions and names of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import Kind, Predictions
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import Choice, listed
from uncertainty_metrics._report.reading._ignored_rows import counted_examples
from uncertainty_metrics._report.reading._typed_commands import typed_classes
from uncertainty_metrics.numpy import _inputs, class_names

# Number of rows that are checked for percent and for logits.
_CHECKED = 1000
# Rounding never makes the sum of a row exceed 1 by more than this.
_ROUNDING = 0.01


def classified(
    source: str,
    labels: np.ndarray,
    kind: Kind,
    values: np.ndarray,
    classes: tuple[str, ...],
    choice: Choice,
    ignored: int | None = None,
    **others: Any,
) -> Predictions:
    """Returns the predictions of a classifier, whose labels may be text.

    Args:
      source: name of the file.
      labels: numbers, text or booleans, shape [...].
      kind: "probabilities" or "logits".
      values: the predictions, shaped as in `Predictions`.
      classes: names of the classes, in the order of the predictions; empty if they are
        the numbers from 0.
      choice: the options of the user.
      ignored: the label of examples to leave out, if there may still be some.
      **others: further fields of `Predictions`.

    Raises:
      ValueError: labels and classes do not fit, or probabilities look like percent or
        like logits.
    """
    labels = _labels_of(class_names.text_array(labels), kind, values)
    if ignored is not None:
        labels, values, others = counted_examples(labels, kind, values, ignored, others)
    if not _column_names.is_text(values):  # A later check refuses text.
        _check_scale(kind, values)
    alone = values.shape == labels.shape or values.shape[-1:] == (1,)
    names, positive = choice.classes or classes, choice.positive_class
    size = values.shape[-1] if values.ndim else 0
    if not alone:
        if values.ndim > labels.ndim:
            _check_sums(kind, values)
        if positive is not None and size != 2:
            raise ValueError(
                "--positive-class needs predictions of two classes: leave it out. "
                f"Received: {size} columns"
            )
    notes = others.pop("notes", ())
    if alone:
        _check_not_multilabel(labels, values)
        two = _column_names.of_two(labels, choice._replace(classes=names or None))
        return Predictions(
            source,
            two.labels,
            kind,
            values,
            classes=two.classes,
            event_class=1,
            notes=(*notes, *_notes_on_column(labels, names, positive)),
            **others,
        )
    if positive is not None and not names and labels.dtype.kind in "bU":
        # Numbers need no names: column k is class k.
        names = _column_names.sorted_classes(labels, choice)
        if _column_names.is_text(labels):
            notes = (*notes, _column_names.note_on_order(names))
    if names and len(names) != size:
        raise ValueError(
            f"there must be {size} names of classes, one for each column of "
            f"predictions. Received: {listed(names)}"
        )
    if not names and _column_names.is_text(labels):
        found = [str(label) for label in np.unique(labels).tolist()]
        raise ValueError(
            "labels are text: name the class of each column of predictions, in the "
            "order of the columns, with --classes, as in "
            f"{typed_classes(choice, found, size)}. Received: "
            f"{listed(found)}"
        )
    event = None
    if positive is not None:
        event = _column_names.position(positive, names or ("0", "1"), labels)
    if names:
        labels = _column_names.encoded(labels, names)
    return Predictions(
        source,
        labels,
        kind,
        values,
        classes=names,
        event_class=event,
        notes=notes,
        **others,
    )


def _notes_on_column(
    labels: np.ndarray, names: tuple[str, ...], positive: str | None
) -> list[str]:
    """Returns a note if the positive class makes one column P(0), not P(1)."""
    if names or positive is None or _column_names.is_text(labels):
        return []
    if positive.title() not in ("0", "False"):
        return []
    return [
        f"The column of predictions is taken for the probability of {positive}, the "
        "positive class."
    ]


def check_values(kind: Kind, values: np.ndarray) -> None:
    """Raises ValueError if predictions [N] or [N, K] seem to be of something else."""
    _check_scale(kind, values)
    if values.ndim > 1:
        _check_sums(kind, values)


def _check_scale(kind: Kind, values: np.ndarray) -> None:
    """Raises ValueError if probabilities seem to be percent, or logits."""
    if kind != "probabilities" or not (values.size and _inputs.holds_numbers(values)):
        return
    rows = values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1)[:_CHECKED]
    rows = rows[np.all(np.isfinite(rows), axis=1)].astype(np.float64)
    outside = np.any((rows < 0) | (rows > 1), axis=1)
    if not len(rows) or np.mean(outside) <= 0.5:
        return
    sums = rows.sum(axis=1)
    within = np.all((rows >= 0) & (rows <= 100))
    hundred = np.abs(sums - 100) < 2 if rows.shape[1] > 1 else sums > 1
    if within and np.mean(hundred) > 0.5:
        raise ValueError(
            "probabilities must be in [0, 1]: these seem to be percent, so divide them "
            f"by 100. Received: {_shown(rows)}"
        )
    raise ValueError(
        "probabilities must be in [0, 1]: these seem to be logits, so call the columns "
        f"logit_0, logit_1, ... or the array `logits`. Received: {_shown(rows)}"
    )


def _check_sums(kind: Kind, values: np.ndarray) -> None:
    """Raises ValueError if the rows cannot be probabilities of classes.

    A sum below 1 is no error, because the file may lack some classes: a note says so.
    """
    if kind != "probabilities" or not (values.size and _inputs.holds_numbers(values)):
        return
    middle = np.median(values.sum(axis=-1, dtype=np.float64))
    if middle > 1 + _ROUNDING:
        raise ValueError(
            "the probabilities of the classes of an example must sum to 1: columns "
            "cannot be members of an ensemble, or several labels of one example. "
            f"Received: {_shown(values.reshape(-1, values.shape[-1]))}; a median sum "
            f"of {middle:.4g}"
        )


def _shown(rows: np.ndarray) -> str:
    return f"a row {', '.join(f'{x:.4g}' for x in rows[0, :5])}"


def _check_not_multilabel(labels: np.ndarray, values: np.ndarray) -> None:
    """Raises ValueError if predictions of one event may be of several labels of each
    example: the report would take each label for an example of its own.
    """
    shape = labels.shape
    if len(shape) != 2 or shape[1] < 2 or values.shape not in (shape, (*shape, 1)):
        return
    rows, columns = shape
    if np.any(labels % 1) and np.allclose(labels.sum(axis=1), 1):
        raise ValueError(
            "labels must be of one class each: pass shares of votes for classes as "
            f"label_distributions=. Received: shape {list(shape)}"
        )
    _checks.not_votes(shape, labels.max(), "predictions")
    raise ValueError(
        "labels with a prediction each must be of one event, shape [N]: for "
        f"{columns} labels of each example (multi-label), pass multilabel=True (for a "
        f"file, --multilabel); for {rows * columns:,} examples of the same event, "
        f"flatten both arrays with reshape(-1). Received: shape {list(shape)}"
    )


def _labels_of(labels: np.ndarray, kind: str, values: np.ndarray) -> np.ndarray:
    """Returns the labels, without a last axis of size 1 that the predictions lack.

    Labels [N, ...] fit the predictions [N, M, ..., K] of an ensemble.

    Raises:
      ValueError: the predictions have the rank of an ensemble, but not its shape.
    """
    shape = values.shape
    if labels.ndim > len(shape) + 1:
        raise ValueError(
            f"{_checks.SWAPPED} Received: labels of shape {list(labels.shape)}, {kind} "
            f"of shape {list(shape)}"
        )
    # Keras passes labels as [N, 1]; but [N, 1, K] are predictions of one model.
    if 1 < labels.ndim == len(shape) - 1 and labels.shape[-1] == 1 != shape[-2]:
        labels = labels[..., 0]
    if labels.ndim == 2 and labels.shape == (*shape, 1):
        labels = labels[..., 0]
    if labels.ndim == 0 or len(shape) < labels.ndim + 2:
        return labels
    size, *others = labels.shape
    if shape[:-1] != (size, shape[1], *others):
        expected = ", ".join(map(str, [size, "M", *others, "K"]))
        hint = ""
        if shape[1:-1] == labels.shape:
            hint = f"; np.moveaxis({kind}, 0, 1) puts the members second"
        raise _checks.error(
            kind,
            f"of shape [{expected}] for M members, with `labels` of shape "
            f"{list(labels.shape)}",
            f"shape {list(shape)}{hint}",
        )
    return labels
