"""Missing entries: masked, None, NaN, or what a data frame has for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _pytorch


def is_missing(value: Any) -> bool:
    """Says if a value is None, NaN, masked, or what pandas has for a missing value."""
    return (
        value is None
        or value is np.ma.masked
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def is_masked(values: Any) -> bool:
    """Says if an entry of an array is masked, or of an array in a list: NumPy would
    drop the mask.
    """
    return _mask(values) is not None


def refuse_masked(name: str, values: Any) -> None:
    """Raises ValueError if an entry of an array, or of one in a list, is masked."""
    if is_masked(values):
        raise _checks.error(name, "an array without masked entries", "masked entries")


def _mask(values: Any) -> np.ndarray | None:
    """Returns which entries are masked, or None if none is."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
    if not isinstance(values, list | tuple):
        return None
    # Most lists hold numbers alone, and their types are found in no time.
    parts = (list, tuple, np.ma.MaskedArray)
    if not any(issubclass(kind, parts) for kind in set(map(type, values))):
        return None
    masks = [_mask(value) for value in values]
    if all(mask is None for mask in masks):
        return None
    none = (
        np.zeros(np.shape(value), bool) if mask is None else mask
        for value, mask in zip(values, masks, strict=True)
    )
    return np.array(list(none))


def read_words(name: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns an array of words or numbers as users have them, and which of its entries
    are missing, boolean of the same shape.

    Raises:
      ValueError: the rows of a list have different lengths.
    """
    values = _pytorch.in_a_type_of_numpy(values)
    is_list = isinstance(values, list | tuple)
    try:
        mask = _mask(values)
        # In an array of text each value would be as wide as the longest one.
        is_text = is_list and {*map(type, values)} == {str}
        as_it_is = is_text or (is_list and mask is not None)
        array = np.asarray(values, object if as_it_is else None)
    except ValueError as ragged:
        raise _checks.error(name, "a rectangular array", str(ragged)) from None
    if array.dtype.kind == "U" and is_list:
        # NumPy has made words of NaN and of numbers among the words.
        array = np.array(values, object)
    if is_text:
        missing = np.zeros(array.shape, bool)
    elif array.dtype == object:
        flat = [is_missing(value) for value in array.reshape(-1).tolist()]
        missing = np.array(flat, bool).reshape(array.shape)
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    else:
        missing = np.zeros(array.shape, bool)
    return array, missing if mask is None else missing | mask
