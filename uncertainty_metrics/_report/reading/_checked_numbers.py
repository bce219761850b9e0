"""Numbers of a table that are missing, or that rounding has moved out of [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncertainty_metrics._report.data._predictions import ExampleError
from uncertainty_metrics._report.reading._csv_tables import Table

# Probabilities below 0, or above 1, by at most this are rounded ones.
_ROUNDING = 1e-6


def refuse_nan(
    table: Table, names: Sequence[str], numbers: np.ndarray, has_weights: bool
) -> None:
    """Raises ExampleError, with the row and the column, for a number that is NaN.

    Args:
      table: the table of the numbers.
      names: of their columns.
      numbers: [N, columns].
      has_weights: whether the last column holds weights; rows of weight 0 may hold
        anything.
    """
    bad = np.isnan(numbers)
    if has_weights:
        bad[:, :-1] &= numbers[:, -1:] != 0
    if np.any(bad):
        row, column = np.argwhere(bad)[0].tolist()
        raise ExampleError(
            f"{table.place(row)}, column `{names[column]}` must be a number. "
            "Received: NaN; leave out examples without a prediction"
        )


def without_rounding(values: np.ndarray, largest: float = 1) -> np.ndarray:
    """Returns probabilities in which -1e-9 is 0 and 1.0000001 is 1.

    Numbers that a program computes in float32 may be so. Arrays of other types than
    floats stay as they are.
    """
    if values.dtype.kind != "f" or not values.size:
        return values
    least, most = (f.reduce(values, axis=None) for f in (np.fmin, np.fmax))
    if not (least < 0 or most > largest):  # Spares a copy of a large array.
        return values
    slack = _ROUNDING * largest
    near = (values >= -slack) & (values <= largest + slack)
    return np.where(near, np.clip(values, 0, largest), values)


def rounded_confidences(
    table: Table, name: str, values: np.ndarray, percent: bool
) -> np.ndarray:
    """Returns the confidences of a table as in `without_rounding`.

    Raises:
      ValueError: the user says that they are percent, and they have the sign %, by
        which the table knows it.
    """
    if percent and name in table.percents:
        raise ValueError(
            f"`{name}` has numbers with the sign %, which are read as percent without "
            "--percent: leave out the option"
        )
    return without_rounding(values, 100 if percent else 1)
