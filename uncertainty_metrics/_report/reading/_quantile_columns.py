"""Finds the quantiles or samples of forecasts among the columns of a table, by their
names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import Choice, among, listed
from uncertainty_metrics._report.reading._missing_labels import is_number

TARGETS = ("target", "targets", "y", "y_true", "actual", "actuals", "observed")
SERIES = ("series", "unique_id", "series_id", "item_id")
HORIZONS = ("horizon", "horizons", "step", "lead_time")
# The time that is forecast comes first, then the time when the forecast was made.
MODELS = ("model", "model_name", "model_id")
TIMES = ("time", "ds", "timestamp", "date", "target_end_date", "cutoff")
# The note on what was read names each of so many quantiles.
_MOST_WORDS = 5
_NUMBER = r"(?P<level>[0-9]*[.]?[0-9]+)"
_QUANTILE = re.compile(rf"(?:(?P<model>.+)[_-])?(?:q|quantile)[_ -]?{_NUMBER}", re.I)
_INTERVAL = re.compile(rf"(?P<model>.+)-(?P<side>lo|hi)-{_NUMBER}", re.I)
_MEDIAN = re.compile(r"(?P<model>.+)-median", re.I)
_PERCENT = re.compile(rf"p{_NUMBER}", re.I)
_BARE = re.compile(r"(?P<level>[0-9]*[.][0-9]+)")
_SAMPLE = re.compile(
    r"(?:(?P<model>.+)[_-])?samples?[_ -]?(?P<number>[0-9]{1,7})", re.I
)
_PROPHET = ("yhat_lower", "yhat_upper")


class QuantileNames(NamedTuple):
    """The columns of forecasts by quantiles or samples.

    Attributes:
      target: what was observed.
      columns: of the quantiles, ascending in level, or of the samples; of several
        models in columns, those of the first.
      levels: of the quantiles; empty for samples.
      series: the series of each row, whose rows may depend on each other, or None.
      horizon: how far ahead each row forecasts, or None.
      times: columns of times; the first says how rows follow each other.
      model: the model of each row, or None.
      models: the columns of each model, by its name, if several have columns.
    """

    target: str
    columns: list[str]
    levels: tuple[float, ...]
    series: str | None
    horizon: str | None
    times: list[str]
    model: str | None = None
    models: Mapping[str, list[str]] = MappingProxyType({})

    def note(self, cluster: str | None) -> str:
        """Returns what was read as what, for the reader of the report."""
        pairs = zip(self.columns, self.levels, strict=False)
        words = [
            f"`{name}` as the quantile of level {level:g}" for name, level in pairs
        ]
        first, last = self.columns[0], self.columns[-1]
        if not words:
            words = [f"`{first}` to `{last}` as {len(self.columns)} samples"]
        elif len(words) > _MOST_WORDS:
            levels = ", ".join(f"{level:g}" for level in self.levels)
            words = [f"`{first}` to `{last}` as the quantiles of levels {levels}"]
        if self.models:
            words.append(f"the same columns of {listed([*self.models][1:])}")
        words.append(f"`{self.target}` as what was observed")
        if self.series is not None and cluster is None:
            words.append(
                f"`{self.series}` as the series, whose rows may depend on each other"
            )
        if self.model is not None:
            words.append(f"`{self.model}` as the model")
        if self.horizon is not None:
            words.append(f"`{self.horizon}` as the horizon")
        if self.times:
            words.append(f"`{self.times[0]}` as the time")
        if self.times[1:]:
            names = ", ".join(f"`{name}`" for name in self.times[1:])
            words.append(f"{names} as another time, of which the report makes no use")
        return f"Read {'; '.join(words)}."


class _Found(NamedTuple):
    """Columns of one form, by their levels.

    Attributes:
      levels: of the columns, by their names; of samples, their numbers.
      models: the name of the model of each column; "" where there is none.
      are_samples: whether the columns are samples.
    """

    levels: dict[str, float]
    models: dict[str, str]
    are_samples: bool = False

    @property
    def word(self) -> str:
        return "samples" if self.are_samples else "quantiles"

    def each_model(self) -> dict[str, list[str]]:
        """Returns the columns of each model, ascending in level."""
        found: dict[str, list[str]] = {name: [] for name in self.models.values()}
        for name in sorted(self.levels, key=lambda name: self.levels[name]):
            found[self.models[name]].append(name)
        return found

    def are_alike(self) -> bool:
        """Says whether all models have names, and columns of the same levels."""
        each = self.each_model()
        levels = {tuple(self.levels[n] for n in names) for names in each.values()}
        return len(levels) == 1 and "" not in each


def quantile_names_of(
    header: Sequence[str],
    choice: Choice,
    labels_of: Callable[[str], np.ndarray],
) -> QuantileNames | None:
    """Returns the columns of forecasts by quantiles or samples; None if a table is not
    of them.

    Args:
      header: names of all columns.
      choice: the options of the user.
      labels_of: returns the different values in a column.

    Raises:
      ValueError: a level is not in (0, 1) or there twice, the target is missing, or the
        names leave open what is meant.
    """
    is_other = choice.of_answers or choice.of_regression
    if is_other or choice.classes or choice.positive_class is not None:
        return None
    if all(map(is_number, header)):  # The file has no names.
        return None
    if choice.probabilities is not None:
        try:
            chosen = _column_names.matching(header, choice.probabilities)
        except ValueError:  # The columns of a classifier raise this error again.
            return None
        found = _forms(chosen, choice)
        if sum(len(form.levels) for form in found) < len(chosen):
            return None
    else:
        if may_be_classes(header):
            return None
        found = _forms(header, choice)
    if not found:
        return None
    if len(found) > 1:
        sets = " or ".join(listed(form.levels) for form in found)
        raise ValueError(
            f"which columns hold the forecasts: {sets}? Choose with --probabilities"
        )
    (form,) = found
    has_target = choice.label is not None or among(header, TARGETS)
    if not has_target and among(header, _column_names.LABELS):
        return None
    models = form.each_model()
    by_rows = _one(among(header, MODELS), "the model")
    if len(models) > 1 and (by_rows is not None or not form.are_alike()):
        raise ValueError(
            f"the forecasts are of several models, {listed(sorted(models))}, without "
            "the same levels: choose the columns of one with --probabilities, such as "
            f"--probabilities '{min(models)}*'"
        )
    target = _target_of(header, choice, form)
    if _are_names_of_classes(form, labels_of, target):
        return None
    spread = _column_names.regression_of(header)
    if spread and choice.probabilities is None:
        raise ValueError(
            f"{listed(spread)} may be a regression, and {listed(form.levels)} "
            f"{form.word}: leave out one of them, or choose with --probabilities"
        )
    for ordered in models.values():
        if form.are_samples:
            _check_numbers(ordered, form.levels)
        else:
            _check_levels(ordered, form.levels)
    ordered = next(iter(models.values()))
    series, horizons = among(header, SERIES), among(header, HORIZONS)
    return QuantileNames(
        target,
        ordered,
        () if form.are_samples else tuple(form.levels[name] for name in ordered),
        _one(series, "the series"),
        _one(horizons, "the horizon"),
        [name for known in TIMES for name in among(header, (known,))],
        by_rows,
        models if len(models) > 1 else {},
    )


def _one(names: list[str], what: str) -> str | None:
    if len(names) > 1:
        raise ValueError(
            f"each of {listed(names)} may hold {what}: rename all but one of them"
        )
    return names[0] if names else None


def _forms(header: Sequence[str], choice: Choice) -> list[_Found]:
    """Returns the columns of each form that occurs."""
    found = [_by_pattern(header, _QUANTILE, 1), _intervals(header)]
    found += [_prophet(header, choice), _by_pattern(header, _PERCENT, 100)]
    found += [_by_pattern(header, _BARE, 1), _samples(header)]
    return [form for form in found if form is not None]


def _by_pattern(
    header: Sequence[str], pattern: re.Pattern[str], scale: int
) -> _Found | None:
    """Returns columns that name their level, over `scale`.

    A name such as `q1` may be of a question, and `p1` of a class. So there must be a
    level with a point, or percent with gaps between them.
    """
    matches = {name: match for name in header if (match := pattern.fullmatch(name))}
    texts = {name: match["level"] for name, match in matches.items()}
    if scale == 1 and not any("." in text for text in texts.values()):
        return None
    if scale == 100:
        numbers = sorted(map(float, texts.values()))
        if len(numbers) < 2 or numbers[-1] - numbers[0] == len(numbers) - 1:
            return None
        if numbers[-1] < 1:
            raise ValueError(
                f"{listed(texts)} may be levels or percent: call the column of level "
                "0.1 q0.1 or p10"
            )
    levels = {name: round(float(text) / scale, 12) for name, text in texts.items()}
    models = {n: m.groupdict().get("model") or "" for n, m in matches.items()}
    if any(models.values()) and len(levels) < 2:  # One column may be a feature.
        return None
    return _Found(levels, models)


def _intervals(header: Sequence[str]) -> _Found | None:
    """Returns the ends of central intervals, as in the tables of Nixtla."""
    levels, models = {}, {}
    for name in header:
        if match := _INTERVAL.fullmatch(name):
            side = -1 if match["side"].lower() == "lo" else 1
            percent = float(match["level"])
            if not 0 < percent < 100:
                raise ValueError(
                    f"`{name}`: the level of an interval must be in (0, 100) percent"
                )
            levels[name] = round((100 + side * percent) / 200, 12)
            models[name] = match["model"]
    for name in header:
        match = _MEDIAN.fullmatch(name)
        if match and match["model"] in models.values():
            levels[name], models[name] = 0.5, match["model"]
    return _Found(levels, models) if levels else None


def _prophet(header: Sequence[str], choice: Choice) -> _Found | None:
    """Returns the ends of the interval of Prophet, whose level the user says."""
    names = [name for known in _PROPHET for name in among(header, (known,))]
    if len(names) != 2:
        return None
    if choice.level is None:
        raise ValueError(
            f"{listed(names)} need --level, the level of the interval: 0.8 unless "
            "Prophet was told another `interval_width`"
        )
    half = choice.level / 2
    levels = (round(0.5 - half, 12), round(0.5 + half, 12))
    return _Found(dict(zip(names, levels, strict=True)), dict.fromkeys(names, ""))


def _samples(header: Sequence[str]) -> _Found | None:
    """Returns columns of numbered samples; a single one may be something else."""
    matches = {name: match for name in header if (match := _SAMPLE.fullmatch(name))}
    if len(matches) < 2:
        return None
    numbers = {name: float(match["number"]) for name, match in matches.items()}
    models = {name: match["model"] or "" for name, match in matches.items()}
    return _Found(numbers, models, are_samples=True)


def may_be_classes(header: Sequence[str]) -> bool:
    """Says whether a table has predictions of a classifier, beside which columns such
    as `income_q0.5` are features.
    """
    first = {"p0", "p_0", "prob_0", "proba_0", "probability_0", "class_0", "logit_0"}
    alone = {"prob", "proba", "probability", "y_prob", "y_score", "logit"}
    return bool(among(header, (*first, *alone)))


def _target_of(header: Sequence[str], choice: Choice, form: _Found) -> str:
    if choice.label is not None:
        return _column_names.existing(choice.label, header, "column")
    found = among(header, TARGETS)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"each of {listed(found)} may hold what was observed: choose the column "
            "with --label"
        )
    raise ValueError(
        f"{listed(form.levels)} are {form.word}, and one column must hold what was "
        "observed: call it target, y, actual or observed, or name it with --label. "
        f"Received: {listed(header)}"
    )


def _are_names_of_classes(
    form: _Found, labels_of: Callable[[str], np.ndarray], target: str
) -> bool:
    """Says whether columns such as p10 and p50 are of the classes 10 and 50."""
    if not all(_PERCENT.fullmatch(n) or _BARE.fullmatch(n) for n in form.levels):
        return False
    names = {name.lower().removeprefix("p") for name in form.levels}
    return set(_column_names.texts(labels_of(target))) <= names


def _check_levels(ordered: Sequence[str], levels: dict[str, float]) -> None:
    for name in ordered:
        if not 0 < levels[name] < 1:
            raise ValueError(
                f"`{name}` names the level {levels[name]:g}, which must be in (0, 1): "
                "call the column of level 0.1 q0.1 or p10"
            )
    for first, second in itertools.pairwise(ordered):
        if levels[first] == levels[second]:
            raise ValueError(
                f"`{first}` and `{second}` are both the quantile of level "
                f"{levels[first]:g}: leave out one of them"
            )


def _check_numbers(ordered: Sequence[str], numbers: dict[str, float]) -> None:
    """Raises ValueError unless samples are numbered one by one."""
    for first, second in itertools.pairwise(ordered):
        if numbers[second] != numbers[first] + 1:
            raise ValueError(
                f"samples must be numbered one by one. Received: `{second}` after "
                f"`{first}`"
            )


def horizons_of(values: Sequence[Any]) -> np.ndarray:
    """Returns the horizons in a column: numbers if all are, or else text, [N].

    Raises:
      ValueError: one is missing.
    """
    words = {
        value: "" if value is None or value != value else str(value).strip()
        for value in dict.fromkeys(values)
    }
    if not all(words.values()):
        empty = [not words[value] for value in values]
        raise ValueError(f"the horizon of row {empty.index(True)} is missing")
    try:
        numbers = {value: float(word) for value, word in words.items()}
    except ValueError:
        return np.array([words[value] for value in values])
    return np.array([numbers[value] for value in values])


def hint(header: Sequence[str]) -> str:
    """Returns what to do with columns such as q10, which do not say a level."""
    names = [name for name in header if _QUANTILE.fullmatch(name)]
    if not names:
        return ""
    return f"; {listed(names)} may be quantiles: call that of level 0.1 q0.1 or p10"
