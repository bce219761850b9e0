"""Tables with a row for each quantile, or for each sample, of a forecast: a row for
each forecast is made of them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._report.data._predictions import ExampleError
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import Choice, among, listed
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._quantile_columns import (
    TARGETS,
    may_be_classes,
)

# Columns of levels. A column of the other names may be something else, too.
_SURELY_LEVELS = ("quantile_level", "output_type_id")
_LEVELS = ("quantile", "tau", "alpha")
_SAMPLES = ("sample_id", "sample")
_VALUES = ("value", "prediction", "forecast", "predicted", "yhat")
_MODEL = "model"
# What pandas writes for an index without a name: the number of the row.
_INDEX = ("", "unnamed: 0", "__index_level_0__")


class LongNames(NamedTuple):
    """The columns of a table with a row for each quantile or sample.

    Attributes:
      key: the level of the quantile, or the number of the sample.
      value: the quantile, or the sample.
      target: what was observed.
      model: whose forecast it is, or None.
      units: all other columns, which tell the forecasts apart.
      are_samples: whether the rows are samples.
    """

    key: str
    value: str
    target: str
    model: str | None
    units: list[str]
    are_samples: bool

    @property
    def word(self) -> str:
        return "samples" if self.are_samples else "quantiles"


def long_names_of(header: Sequence[str], choice: Choice) -> LongNames | None:
    """Returns the columns of a table with a row for each quantile or sample; None if it
    is another table.

    Raises:
      ValueError: the names leave open what is meant, or a column is missing.
    """
    is_other = choice.of_answers or choice.multilabel or choice.of_regression
    is_other = is_other or choice.horizon is not None
    if is_other or choice.classes or choice.positive_class is not None:
        return None
    keys, values = among(header, _SURELY_LEVELS), among(header, _VALUES)
    targets = [choice.label] if choice.label else among(header, TARGETS)
    is_sure = bool(keys)
    if not keys:
        keys = among(header, _LEVELS) or among(header, _SAMPLES)
        if not (keys and values and targets) or may_be_classes(header):
            return None
    for found, what in ((keys, "the levels"), (values, "the forecasts")):
        if len(found) > 1:
            raise ValueError(
                f"each of {listed(found)} may hold {what}: rename or remove all but "
                "one of them"
            )
    if is_sure and not values:
        raise ValueError(
            f"`{keys[0]}` holds the levels of quantiles, and a column must hold the "
            f"quantiles: call it {' or '.join(_VALUES[:3])}. Received: {listed(header)}"
        )
    if len(targets) != 1:
        raise ValueError(
            f"`{keys[0]}` and `{values[0]}` are forecasts, and one column must hold "
            "what was observed: call it target, y, actual or observed, or name it with "
            f"--label. Received: {listed(targets or header)}"
        )
    target = _column_names.existing(targets[0], header, "column")
    model = next(iter(among(header, (_MODEL,))), None)
    used = {keys[0], values[0], target, model}
    units = [n for n in header if n not in used and n.lower() not in _INDEX]
    are_samples = keys[0].lower() in _SAMPLES
    return LongNames(keys[0], values[0], target, model, units, are_samples)


def in_rows_of_forecasts(table: Table, choice: Choice) -> Table:
    """Returns a table with a row for each forecast.

    Raises:
      ValueError: forecasts have different quantiles, or samples, or some twice.
    """
    names = long_names_of(table.header, choice)
    return table if names is None else PivotedTable(table, names, choice)


class PivotedTable:
    """A table with a row for each forecast, made of one with several.

    Args:
      table: has a row for each quantile or sample.
      names: of its columns.
      choice: the options of the user; `probabilities` may choose a model.

    Attributes:
      note: what was read as what.
    """

    def __init__(self, table: Table, names: LongNames, choice: Choice):
        self._table, self.others = table, table.others
        self.notes, self.cluster = table.notes, table.cluster
        self.percents = table.percents
        keys, values = _keys_and_values(table, names)
        models = ["" for _ in keys]
        if names.model is not None:
            models = [str(model) for model in table.columns([names.model])[0]]
        titles, columns, rows = _columns(models, keys, names, choice.probabilities)
        _, targets = table.read(names.target, []), [names.target]
        units = _codes(table.columns([*names.units, *targets]))[rows]
        _, first, units = np.unique(units, return_index=True, return_inverse=True)
        # The forecasts come in the order of their first rows.
        order = np.argsort(first)
        places = np.empty(len(order), int)
        places[order] = np.arange(len(order))
        units = places[units.reshape(-1)]
        self._first = rows[first[order]]
        self._check(titles, columns, units, names)
        self._titles = {title: j for j, title in enumerate(titles)}
        self._numbers = np.empty((len(order), len(titles)))
        self._numbers[units, columns] = values[rows]
        self.header = [*names.units, names.target, *titles]
        told = ", ".join(f"`{name}`" for name in names.units) or "what was observed"
        of_models = ""
        if names.model is not None and len({*models}) > 1:
            of_models = f" of each model in `{names.model}`"
        self.note = (
            f"Read the {len(rows):,} rows as {len(order):,} forecasts{of_models} by "
            f"{names.word}: `{names.value}` holds the {names.word}, `{names.key}` says "
            f"which, and {told} tell the forecasts apart."
        )

    def _check(
        self,
        titles: Sequence[str],
        columns: np.ndarray,
        units: np.ndarray,
        names: LongNames,
    ) -> None:
        """Raises ValueError unless each forecast has each column once."""
        size = len(titles)
        counts = np.bincount(units * size + columns, minlength=len(self._first) * size)
        counts = counts.reshape(-1, size)
        told = listed(names.units) if names.units else "what was observed"
        if np.any(counts > 1):
            row, column = np.argwhere(counts > 1)[0]
            raise ValueError(
                f"{np.sum(np.any(counts > 1, axis=1)):,} of {len(counts):,} forecasts "
                f"have `{titles[column]}` several times, first that of "
                f"{self.place(int(row))}; forecasts are told apart by {told}: is a "
                "column missing that does?"
            )
        if np.any(counts == 0):
            row, column = np.argwhere(counts == 0)[0]
            raise ValueError(
                f"{np.sum(np.any(counts == 0, axis=1)):,} of {len(counts):,} forecasts "
                f"do not have all {size} {names.word}, first that of "
                f"{self.place(int(row))}, without `{titles[column]}`; forecasts are "
                f"told apart by {told}: complete them, or remove columns that differ "
                f"between the {names.word} of a forecast"
            )

    def read(self, label: str, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        others = [name for name in names if name not in self._titles]
        labels, given = self._table.read(label, others)
        numbers = np.empty((len(self._first), len(names)))
        for j, name in enumerate(names):
            if name in self._titles:
                numbers[:, j] = self._numbers[:, self._titles[name]]
            else:
                numbers[:, j] = given[self._first, others.index(name)]
        return labels[self._first], numbers

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        found = self._table.columns(list(names))
        return [[column[row] for row in self._first.tolist()] for column in found]

    def place(self, index: int) -> str:
        return self._table.place(int(self._first[index]))


def _keys_and_values(
    table: Table, names: LongNames
) -> tuple[list[Hashable], np.ndarray]:
    """Returns the level, or sample, of each row, and its value, float64 [n]."""
    if names.are_samples:
        _, values = table.read(names.target, [names.value])
        return table.columns([names.key])[0], values[:, 0]
    _, numbers = table.read(names.target, [names.key, names.value])
    levels, values = numbers.T
    if np.any(np.isnan(levels)):
        row = int(np.argmax(np.isnan(levels)))
        raise ExampleError(
            f"{table.place(row)}: `{names.key}` is missing; leave out rows of point "
            "forecasts"
        )
    wrong = ~((levels > 0) & (levels < 1))
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise ExampleError(
            f"{table.place(row)}: the level `{names.key}` must be in (0, 1). Received: "
            f"{levels[row]:g}"
        )
    return np.round(levels, 12).tolist(), values


def _columns(
    models: list[str],
    keys: list[Hashable],
    names: LongNames,
    chosen: str | None,
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Returns the titles of the columns, the column of each row, and the rows that are
    used: those of the models whose columns are chosen.
    """
    several = len({*models}) > 1
    # Numbers of samples may be text in a file of text.
    different = sorted({*keys}, key=_number_or_text)
    words = {key: _title(key, i, names) for i, key in enumerate(different)}
    titles = {
        (model, key): f"{model}_{word}" if several else word
        for model in dict.fromkeys(models)
        for key, word in words.items()
    }
    if several and chosen is not None:
        patterns = [pattern.strip() for pattern in chosen.split(",")]
        kept = {
            model
            for (model, _), title in titles.items()
            if any(fnmatch.fnmatchcase(title, pattern) for pattern in patterns)
        }
        titles = {pair: title for pair, title in titles.items() if pair[0] in kept}
    pairs = list(zip(models, keys, strict=True))
    used = {pair: title for pair, title in titles.items() if pair in {*pairs}}
    places = {pair: j for j, pair in enumerate(used)}
    columns = np.array([places.get(pair, -1) for pair in pairs])
    rows = np.flatnonzero(columns >= 0)
    return list(used.values()), columns[rows], rows


def _title(key: Hashable, index: int, names: LongNames) -> str:
    return f"sample_{index}" if names.are_samples else f"q{key:.12g}"


def _number_or_text(key: Any) -> tuple[bool, float, str]:
    try:
        return False, float(key), ""
    except (TypeError, ValueError):
        return True, 0.0, str(key)


def _codes(columns: Iterable[Sequence[Any]]) -> np.ndarray:
    """Returns a number for each row, equal for rows with equal values, int64 [n]."""
    codes: np.ndarray | None = None
    for column in columns:
        places: dict[Any, int] = {}
        found = np.array(
            [
                places.setdefault(None if value != value else value, len(places))
                for value in column
            ]
        )
        if codes is not None:
            found = np.unique(codes * len(places) + found, return_inverse=True)[1]
        codes = found.reshape(-1)
    assert codes is not None
    return codes
