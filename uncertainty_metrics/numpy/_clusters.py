"""Clusters: examples that depend on each other, such as several answers to a question.

Here is the one place that reads a column of ids, the one that sums over clusters, and
the one that flips the signs of whole clusters.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics.numpy import _missing

# Most formulas are those of many clusters; with fewer than this a warning is given.
FEW_CLUSTERS = 20
_IF_FEW = "intervals may be too short and p-values too small"
# Copies are looked for in this number of rows before they are looked for in all.
_FIRST_ROWS = 2**12
# The size of the largest temporary arrays.
_BLOCK = 2**22


class Clusters(NamedTuple):
    """The cluster of each example.

    Attributes:
      codes: int64 [N], in [0, number); each of these numbers occurs.
      number: the number of clusters; of a batch of a stream it may be 1 or 0.
    """

    codes: np.ndarray
    number: int


def cluster_codes(
    clusters: Any,
    shape: int | tuple[int, ...],
    counted: np.ndarray | None = None,
    if_few: str = _IF_FEW,
) -> Clusters:
    """Returns the cluster of each example. Fewer than 20 clusters give a warning.

    Args:
      clusters: ids, which have no meaning but equality: integers, strings, booleans or
        dates, as an array, a list or a column of a data frame.
      shape: the number of examples, or the shape of the labels, to which the ids are
        then broadcast.
      counted: boolean, of the shape; examples without it are left out. None for all.
      if_few: what the warning says about fewer than 20 clusters.

    Raises:
      ValueError: there are fewer or more ids than examples, an id is missing, there are
        fractions, or fewer than two clusters.
      TypeError: the ids are of another type, or strings and numbers.
    """
    found = codes_of_batch(clusters, shape, counted)
    if found.number < 2:
        raise _checks.error("clusters", "at least two ids", found.number, verb="hold")
    warn_of_few(found.number, if_few)
    return found


def codes_of_batch(
    clusters: Any, shape: int | tuple[int, ...], counted: np.ndarray | None = None
) -> Clusters:
    """Returns what `cluster_codes` does, for a part of the examples, which may have any
    number of clusters.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if _missing.is_masked(clusters):
        _, masked = _missing.read_words("clusters", clusters)
        raise _missing_id("a masked entry", int(np.argmax(masked)))
    ids = np.asarray(clusters, object if _is_list_of_text(clusters) else None)
    aligned = _checks.aligned_shape("clusters", ids.shape, shape)
    ids = np.broadcast_to(ids.reshape(aligned), shape)
    if counted is None or np.all(counted):
        ids = ids.reshape(-1)
    else:
        ids = ids[counted.reshape(shape)]
    return Clusters(*_codes(ids, counted))


def warn_of_few(number: int, if_few: str = _IF_FEW) -> None:
    """Warns if there are fewer than 20 clusters; `if_few` is what is then so."""
    if number < FEW_CLUSTERS:
        _user_warnings.warn(
            f"There are {number} clusters. With fewer than {FEW_CLUSTERS}, {if_few}."
        )


def cluster_sums(
    values: np.ndarray, codes: np.ndarray, num_clusters: int
) -> np.ndarray:
    """Returns the sums of values [N] or [N, K] over clusters, float64 [C] or [C, K]."""
    if values.ndim == 1:
        return np.bincount(codes, values, num_clusters).astype(np.float64)
    columns = [np.bincount(codes, column, num_clusters) for column in values.T]
    return np.stack(columns, axis=1).astype(np.float64)


def one_example_each(
    clusters: Clusters, weights: np.ndarray | None, *columns: np.ndarray
) -> np.ndarray | None:
    """Returns the first row of each cluster [C] if every cluster holds one example, or
    equally many copies of one example; else None.

    The examples are independent then, and the first rows are all that there is to know.

    Args:
      clusters: the cluster of each row.
      weights: weight of each row, a number of copies, float64 [N]; None for ones.
      *columns: all that is known of each row, [N].
    """
    codes, number = clusters
    if np.ptp(np.bincount(codes, weights, number)) > 0:
        return None
    first = np.empty(number, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    if len(codes) > number:
        for rows in (slice(_FIRST_ROWS), slice(None)):
            same = first[codes[rows]]
            if any(np.any(column[rows] != column[same]) for column in columns):
                return None
    return first


def examples_each(clusters: Clusters, weights: np.ndarray | None) -> float:
    """Returns the mean number of examples of a cluster: the design effect if they are
    copies of one example. Weights [N] count as numbers of examples if they are larger.
    """
    size = float(len(clusters.codes))
    if weights is not None:
        size = max(size, float(weights.sum()))
    return size / clusters.number


def flipped_signs(
    rng: np.random.Generator, num_clusters: int, num_draws: int
) -> Iterator[np.ndarray]:
    """Yields random signs of whole clusters, float64 [draws, C] of -1 and 1, in blocks
    of draws: `num_draws` in all.
    """
    block = max(1, _BLOCK // num_clusters)
    for start in range(0, num_draws, block):
        size = min(block, num_draws - start)
        bits = np.frombuffer(rng.bytes(-(-size * num_clusters // 8)), np.uint8)
        signs = np.unpackbits(bits, count=size * num_clusters).astype(np.float64)
        yield (2 * signs - 1).reshape(size, num_clusters)


def _is_list_of_text(values: Any) -> bool:
    # NumPy would make words of the numbers and of None among the words.
    return isinstance(values, list | tuple) and any(
        issubclass(kind, str) for kind in set(map(type, values))
    )


def _codes(ids: np.ndarray, counted: np.ndarray | None) -> tuple[np.ndarray, int]:
    """Returns the code of each id [N], and the number of distinct ids. `counted` are
    the examples among all that have these ids, for messages.
    """
    kind = ids.dtype.kind
    if kind == "f":
        if np.any(np.isnan(ids)):
            raise _missing_id("NaN", int(np.argmax(np.isnan(ids))), counted)
        whole = (ids == np.floor(ids)) & (np.abs(ids) < 2**53)
        if not np.all(whole):
            received = ids[np.argmin(whole)]
            raise _checks.error("clusters", "ids, not fractions", received, verb="hold")
        return _codes_of_integers(ids.astype(np.int64))
    if kind in "iu":
        return _codes_of_integers(ids)
    if kind in "mM":
        if np.any(np.isnat(ids)):
            raise _missing_id("NaT", int(np.argmax(np.isnat(ids))), counted)
        return _codes_of_integers(ids.astype(np.int64))
    if kind == "b":
        return _codes_of_integers(ids.astype(np.uint8))
    if kind in "OUT":
        return _codes_of_objects(ids.tolist(), counted)
    raise _wrong_type(str(ids.dtype))


def distinct_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct integers, ascending, and the place of each value [N] among
    them.
    """
    if len(values) == 0:
        return values, np.zeros(0, np.int64)
    lowest, highest = values.min(), values.max()
    length = int(highest) - int(lowest) + 1
    if length <= 4 * len(values):  # A table is faster than sorting.
        # Differences in int64, where those of small types would overflow.
        offset = lowest.astype(np.int64)
        places = values.astype(np.int64, copy=False)
        if offset:
            places = places - offset
        occurs = np.zeros(length, bool)
        occurs[places] = True
        distinct = np.flatnonzero(occurs)
        if len(distinct) < length:
            places = (np.cumsum(occurs) - 1)[places]
        return (distinct + offset).astype(values.dtype), places
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, places.reshape(-1)


def _codes_of_integers(ids: np.ndarray) -> tuple[np.ndarray, int]:
    distinct, codes = distinct_integers(ids)
    return codes, len(distinct)


def _codes_of_objects(
    ids: list[Any], counted: np.ndarray | None
) -> tuple[np.ndarray, int]:
    """Returns the code of each id in the order of their first examples, by a dict: the
    checks look at distinct ids only.
    """
    code_of: dict[Any, int] = collections.defaultdict(itertools.count().__next__)
    try:
        codes = np.fromiter(map(code_of.__getitem__, ids), np.int64, len(ids))
    except TypeError:  # Unhashable, such as a list.
        raise _wrong_type("ids that have no hash") from None
    kinds = set(map(type, code_of))
    for value in code_of if kinds - {str} else ():
        if _missing.is_missing(value):
            first = next(i for i, known in enumerate(ids) if known is value)
            raise _missing_id(repr(value), first, counted)
    kinds = {str if issubclass(kind, str) else kind for kind in kinds}
    integers = (bool, int, np.bool_, np.integer)
    if len(kinds - {str}) > 0 and not all(issubclass(k, integers) for k in kinds):
        raise _wrong_type(", ".join(sorted(kind.__name__ for kind in kinds)))
    return codes, len(code_of)


def _missing_id(
    received: str, index: int, counted: np.ndarray | None = None
) -> ValueError:
    if counted is not None:
        index = int(np.flatnonzero(counted)[index])
    place = f"{received} at [{index}]"
    return _checks.error("clusters", "an id for each example", place, verb="hold")


def _wrong_type(received: str) -> TypeError:
    return TypeError(
        "`clusters` must hold integers, or strings, booleans or dates. Received: "
        + received
    )
