"""Classes by their names: text and boolean labels, and the columns of data frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _missing

__all__ = ["class_indices"]

_PREFIX = (
    r"(?P<prefix>p|probs?|proba|probability|probabilities|class|logits?|y_prob|"
    r"y_proba|y_pred_proba|prediction_proba|\.pred)"
)
NUMBERED = re.compile(rf"(?:{_PREFIX}[_ ]?)?(?P<key>[0-9]{{1,9}})", re.IGNORECASE)
NAMED = re.compile(rf"(?:{_PREFIX}[_ .])?(?P<key>.+)", re.IGNORECASE | re.DOTALL)


def class_indices(
    labels: ArrayLike, classes: Sequence[Any] | np.ndarray
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Returns the index of the class of each label, for labels that are names.

    All functions and Keras metrics take labels as indices from 0, in the order of the
    columns of the predictions. For a model of scikit-learn this is the order of
    `model.classes_`. The functions for NumPy take text labels as they are if the
    predictions are a data frame whose columns have the names of the classes.

    Args:
      labels: text, booleans or numbers, any shape, also a column of a data frame.
      classes: the names of all classes, in the order of the predictions, shape [K].

    Returns:
      Indices in [0, K), int64, shape of `labels`.

    Raises:
      ValueError: a label is missing or is none of the classes, or two classes have the
        same name.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels = um.class_indices(["dog", "cat", "dog"], classes=["cat", "dog"])
      >>> labels.tolist()
      [1, 0, 1]
      >>> round(um.brier_score(labels, [[0.2, 0.8], [0.7, 0.3], [0.6, 0.4]]), 3)
      -0.673
    """
    names = np.asarray(classes)
    if names.ndim != 1 or names.size == 0:
        expected = "the names of the classes, [K]"
        raise _checks.error("classes", expected, f"shape {list(names.shape)}")
    return encoded(read_labels("labels", labels), words(names), place=True)


def read_labels(name: str, labels: Any) -> np.ndarray:
    """Returns labels as numbers, text or booleans.

    Raises:
      ValueError: a label is missing, or the labels have several types.
    """
    array, missing = _missing.read_words(name, labels)
    if np.any(missing):
        index = list(map(int, np.argwhere(missing)[0]))
        expected = "a label everywhere: leave out the examples without one"
        received = f"{array[tuple(index)]} at {index}"
        raise _checks.error(name, expected, received, verb="hold")
    return text_array(array, f"`{name}`")


def listed(names: Iterable[str]) -> str:
    """Returns a text with the first ten names and the number of the others."""
    names = [name or "(a column without a name)" for name in names]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{', '.join(names[:10]) or 'none'}{more}"


def keys_of(names: Iterable[str]) -> list[str]:
    """Returns the class that each column names."""
    matches = (NUMBERED.fullmatch(name) or NAMED.fullmatch(name) for name in names)
    return [match["key"] if match else "" for match in matches]


def spelled(labels: Iterable[str], names: Iterable[str]) -> list[str]:
    """Returns labels in the spelling of the names, such as true for True."""
    labels = list(labels)
    if not set(labels) <= {"True", "False"}:
        return labels
    by_lower = {name.lower(): name for name in names}
    return [by_lower.get(label.lower(), label) for label in labels]


def texts(labels: np.ndarray) -> list[str]:
    """Returns labels as text: whole numbers without a point."""
    if labels.dtype.kind == "f":
        return [f"{x:.0f}" if x == np.floor(x) else str(x) for x in labels.tolist()]
    return [str(label) for label in labels.tolist()]


def words(names: np.ndarray) -> list[str]:
    """Returns names of classes, which may be bytes or numbers, as text."""
    return texts(np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names)


def text_array(labels: np.ndarray, name: str = "labels") -> np.ndarray:
    """Returns labels as an array of numbers, text or booleans.

    Objects become the type that they are, bytes become text, and text becomes boolean
    if it is only `true` and `false`.

    Args:
      labels: numbers, text, bytes, booleans or objects of one of these types.
      name: the name of the labels in messages.

    Raises:
      ValueError: the objects have several types.
    """
    if labels.dtype == object and labels.size:
        kinds = {isinstance(label, str) for label in labels.flat}
        plain = np.array(labels.tolist())
        if len(kinds) > 1 or plain.dtype == object:
            raise ValueError(
                f"{name} must be all numbers, all text or all booleans. Received: "
                "missing ones, or several types"
            )
        labels = plain
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8")
    if labels.dtype.kind == "U" and labels.size:
        values, inverse = np.unique(labels, return_inverse=True)
        lower = [value.lower() for value in values.tolist()]
        if set(lower) <= {"true", "false"}:
            return (np.array(lower) == "true")[inverse].reshape(labels.shape)
    return labels


def is_text(labels: np.ndarray) -> bool:
    return labels.dtype.kind == "U"


def encoded(
    labels: np.ndarray, classes: Sequence[str], *, place: bool = False
) -> np.ndarray:
    """Returns the number of the class of each label.

    A label is the name of its class, or the number of its class.

    Args:
      labels: numbers, text or booleans, any shape.
      classes: names of the classes.
      place: whether the error says where the first unknown label is. The labels of a
        part of a file do not know where they are in the file.

    Raises:
      ValueError: a label is none of the classes.
    """
    if len(set(classes)) < len(classes):
        raise ValueError(f"two classes have the same name. Received: {listed(classes)}")
    values, inverse = np.unique(labels, return_inverse=True)
    keys = texts(values)
    if labels.dtype.kind == "b":
        keys = spelled(keys, classes)
    numbers = {name: k for k, name in enumerate(classes)}
    unknown = [key for key in keys if key not in numbers]
    # If all names of classes are numbers, a label is such a name, not a position.
    are_words = not all(name.isdecimal() for name in classes)
    if len(unknown) == len(keys) and not is_text(labels) and are_words:
        whole = (values == np.floor(values)) & (values >= 0) & (values < len(classes))
        if np.all(whole):
            return labels.astype(np.int64)
    if unknown:
        where = ""
        if place:
            is_unknown = np.array([key not in numbers for key in keys])
            found = np.argwhere(is_unknown[inverse].reshape(labels.shape))
            more = "; the first" if len(unknown) > 1 else ""
            where = f"{more} at {list(map(int, found[0]))}"
        raise ValueError(
            f"each label must be one of the classes {listed(classes)}. Received: "
            f"{listed(unknown)}{where}"
        )
    return np.array([numbers[key] for key in keys])[inverse].reshape(labels.shape)


def by_columns(
    labels: np.ndarray, columns: list[str]
) -> tuple[list[int], tuple[str, ...]]:
    """Returns the order of the columns of a data frame, and names of the classes."""
    keys = keys_of(columns)
    occurring = set(texts(np.unique(labels)))
    if not is_text(labels):
        numbers = [str(k) for k in range(len(columns))]
        for found in (columns, keys):
            if sorted(found) == sorted(numbers):
                return [found.index(k) for k in numbers], ()
    for found in (columns, keys):
        if len(set(found)) == len(found) and occurring <= set(found):
            return [*range(len(found))], tuple(found)
    if is_text(labels):
        raise ValueError(
            f"`labels`, {listed(sorted(occurring))}, must be among the columns of the "
            f"predictions. Received: {listed(columns)}"
        )
    return [*range(len(columns))], tuple(columns)
