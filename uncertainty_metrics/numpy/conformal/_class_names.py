"""Labels that are names of classes, text or integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy._group_columns import present_groups

_NAME = "class_names"


def checked_names(class_names: Any) -> np.ndarray:
    """Returns the names of the classes, integers or text [K].

    Raises:
      ValueError: they are not distinct, or not of one axis.
      TypeError: they are neither text nor integers.
    """
    if np.ndim(class_names) != 1 or len(class_names) < 2:
        expected = "the names of two or more classes, of shape [K]"
        raise _checks.error(_NAME, expected, f"shape {list(np.shape(class_names))}")
    names, missing = present_groups(_NAME, class_names)
    names = names.astype(str) if names.dtype == object else names
    if np.any(missing) or len(np.unique(names)) < len(missing):
        expected = "distinct names, none of them missing"
        raise _checks.error(_NAME, expected, list(class_names), verb="hold")
    return names


def check_number_of_names(names: np.ndarray, num_classes: int) -> None:
    """Raises ValueError unless each class has a name."""
    if len(names) != num_classes:
        expected = f"a name for each of the {num_classes} classes"
        raise _checks.error(_NAME, expected, f"{len(names)} names", verb="hold")


def codes_of_names(labels: Any, names: np.ndarray) -> np.ndarray:
    """Returns the place of each label among the names, of the shape of the labels.

    Raises:
      ValueError: a label is missing, or is none of the names.
      TypeError: the labels are neither text nor integers.
    """
    found, missing = present_groups("labels", labels)
    if np.any(missing):
        raise _checks.error(
            "labels", "a name for each example", "missing ones", verb="hold"
        )
    found = found.astype(str) if found.dtype == object else found
    if (found.dtype.kind == "U") != (names.dtype.kind == "U"):
        received = f"labels of type {found.dtype} and names of type {names.dtype}"
        raise _checks.error("labels", f"names in `{_NAME}`", received, verb="be")
    order = np.argsort(names)
    place = np.searchsorted(names, found, sorter=order)
    codes = order[np.minimum(place, len(names) - 1)]
    unknown = names[codes] != found
    if np.any(unknown):
        received = repr(found[unknown][0].item())
        raise _checks.error("labels", f"names in `{_NAME}`", received)
    return codes.reshape(np.shape(labels))
