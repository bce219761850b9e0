"""From labels of any kind, and the names of classes, to the predictions of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report import _names
from uncertainty_metrics._report._names import Choice, listed
from uncertainty_metrics._report._predictions import Kind, Predictions

# Rows that show what numbers are.
_SHOWN = 1000
# More than that above 1 no rounding leaves the sum of a row.
_OFF = 0.01


def classified(
    source: str,
    labels: np.ndarray,
    kind: Kind,
    values: np.ndarray,
    classes: tuple[str, ...],
    choice: Choice,
    **others: Any,
) -> Predictions:
    """Returns the predictions of a classifier, whose labels may be text.

    Args:
      source: name of the file.
      labels: numbers, text or booleans, shape [...].
      kind: what the values are.
      values: as `Predictions` has them.
      classes: names of the classes, in the order of the predictions; none where they
        are the numbers from 0.
      choice: what the user says.
      **others: of `Predictions`.

    Raises:
      ValueError: labels and classes do not fit, or the values look like others.
    """
    labels = _names.text_array(labels)
    if not _names.is_text(values):  # Which is refused where they are checked.
        _check_scale(kind, values)
    labels = _labels_of(labels, kind, values)
    alone = values.shape == labels.shape or values.shape[-1:] == (1,)
    names = choice.classes or classes
    if alone:
        two = _names.of_two(labels, choice._replace(classes=names or None))
        return Predictions(
            source,
            two.labels,
            kind,
            values,
            classes=two.classes,
            event_class=1,
            **others,
        )
    size = values.shape[-1] if values.ndim else 0
    if values.ndim > labels.ndim:
        _check_sums(kind, values)
    positive = choice.positive_class
    if positive is not None and size != 2:
        raise ValueError(
            "--positive-class needs predictions of two classes: leave it out. "
            f"Received: {size} columns"
        )
    if positive is not None and not names:
        two = _names.of_two(labels, choice)
        return Predictions(
            source,
            two.labels,
            kind,
            values,
            classes=two.classes,
            event_class=1,
            **others,
        )
    if names and len(names) != size:
        raise ValueError(
            f"the names of the classes must be {size}, one for each column of "
            f"predictions. Received: {listed(names)}"
        )
    if not names and _names.is_text(labels):
        found = [str(label) for label in np.unique(labels).tolist()]
        raise ValueError(
            "labels are text: name the class of each column of predictions, in the "
            f"order of the columns, with --classes A,B,... Received: {listed(found)}"
        )
    event = None if positive is None else _names.position(positive, names, labels)
    if names:
        labels = _names.encoded(labels, names)
    return Predictions(
        source, labels, kind, values, classes=names, event_class=event, **others
    )


def _check_scale(kind: Kind, values: np.ndarray) -> None:
    """Raises ValueError for what seem to be percent, or logits."""
    if kind != "probabilities" or values.dtype.kind not in "fiu" or not values.size:
        return
    rows = values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1)[:_SHOWN]
    rows = rows[np.all(np.isfinite(rows), axis=1)].astype(np.float64)
    outside = np.any((rows < 0) | (rows > 1), axis=1)
    if not len(rows) or np.mean(outside) <= 0.5:
        return
    sums = rows.sum(axis=1)
    within = np.all((rows >= 0) & (rows <= 100))
    hundred = np.abs(sums - 100) < 2 if rows.shape[1] > 1 else sums > 1
    if within and np.mean(hundred) > 0.5:
        raise ValueError(
            "probabilities must be in [0, 1]: these seem to be percent, which divided "
            f"by 100 are probabilities. Received: {_shown(rows)}"
        )
    raise ValueError(
        "probabilities must be in [0, 1]: these seem to be logits, whose columns are "
        f"called logit_0, logit_1, ... and whose array `logits`. Received: "
        f"{_shown(rows)}"
    )


def _check_sums(kind: Kind, values: np.ndarray) -> None:
    """Raises ValueError for rows that are no probabilities of classes.

    A sum below 1 leaves room for classes that are not there, and is told by a note.
    """
    if kind != "probabilities" or values.dtype.kind not in "fiu" or not values.size:
        return
    middle = np.median(values.sum(axis=-1, dtype=np.float64))
    if middle > 1 + _OFF:
        raise ValueError(
            "the probabilities of the classes of an example must sum to 1; columns of "
            "members are not classes, nor are several labels of one example. Received: "
            f"{_shown(values.reshape(-1, values.shape[-1]))}; a median sum of "
            f"{middle:.4g}"
        )


def _shown(rows: np.ndarray) -> str:
    return f"a row {', '.join(f'{x:.4g}' for x in rows[0, :5])}"


def _labels_of(labels: np.ndarray, kind: str, values: np.ndarray) -> np.ndarray:
    """Returns the labels; of an ensemble [N, ...] for predictions [N, M, ..., K].

    Raises:
      ValueError: predictions of this rank are not those of an ensemble.
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
