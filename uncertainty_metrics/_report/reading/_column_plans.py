"""From the columns of a table to predictions, answers, or a regression.

A plan says which columns are used and how. It is made of a table as a whole, or of the
first part of one that is read part by part, and then each part is read by it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Model,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Questions,
    Regression,
)
from uncertainty_metrics._report.data._row_subsets import joined, num_rows, taken
from uncertainty_metrics._report.data._sampled_forecasts import of_samples
from uncertainty_metrics._report.data._suspicious_rows import note_on_repeats
from uncertainty_metrics._report.data._time_blocks import numbers_of_times
from uncertainty_metrics._report.reading import _column_names, _csv_tables
from uncertainty_metrics._report.reading._answer_columns import (
    IDS,
    AnswerNames,
    names_of,
)
from uncertainty_metrics._report.reading._answers_from_columns import (
    answers_of,
    are_outcomes,
)
from uncertainty_metrics._report.reading._checked_numbers import (
    refuse_nan,
    rounded_confidences,
    without_rounding,
)
from uncertainty_metrics._report.reading._classifier_from_columns import classified
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    Columns,
    among,
    existing,
    listed,
    weights_in,
)
from uncertainty_metrics._report.reading._csv_tables import Table
from uncertainty_metrics._report.reading._json_and_excel_tables import RecordTable
from uncertainty_metrics._report.reading._label_columns import (
    LabelColumns,
    check_choice,
    label_columns_of,
    multilabel_in,
    no_columns,
)
from uncertainty_metrics._report.reading._long_tables import PivotedTable
from uncertainty_metrics._report.reading._quantile_columns import (
    QuantileNames,
    hint,
    horizons_of,
    quantile_names_of,
)
from uncertainty_metrics._report.reading._survival_from_columns import (
    SurvivalNames,
    survival_of,
)
from uncertainty_metrics._report.reading._survival_from_columns import (
    names_of as survival_names_of,
)
from uncertainty_metrics._report.reading._typed_commands import typed
from uncertainty_metrics._report.reading._vote_columns import (
    VoteColumns,
    decisions_in,
    vote_columns_of,
)
from uncertainty_metrics.numpy import class_names

# The column of lm-evaluation-harness that says how an answer was read from the text.
_FILTER = "filter"
# Ids of more rows are not read, which would take long in a file of text.
_MOST_IDS = 200_000
# If probabilities sum to less than 1 by more than this, there are other classes.
_OFF = 0.01


@dataclasses.dataclass(frozen=True)
class Plan:
    """The columns of a table that are used: of a classifier, a regression, answers or a
    survival model.

    Attributes:
      choice: what the user says.
      label: name of the labels, or of whether each answer is right.
      weights: name of the weights, in a list, or no name.
      columns: predictions of a classifier.
      regression: names of mean and spread.
      answers: names of the columns of answers.
      survival: names of the columns of a survival model, whose labels are the events.
      labels: names of the columns of several labels of each example.
      quantiles: names of the columns of forecasts by quantiles or samples.
      votes: names of the columns of votes for the classes.
      filters: name of the column that tells several readings of one answer apart, or
        None.
      notes: on what a first part decides for all parts, for the reader of the report.
    """

    choice: Choice
    label: str
    weights: list[str]
    columns: Columns | None = None
    regression: tuple[str, str] | None = None
    answers: AnswerNames | None = None
    survival: SurvivalNames | None = None
    labels: LabelColumns | None = None
    quantiles: QuantileNames | None = None
    votes: VoteColumns | None = None
    filters: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that hold numbers, the weights last."""
        if self.columns:
            votes = self.votes.names if self.votes else []
            return [*self.columns.names, *votes, *self.weights]
        if self.regression:
            return [*self.regression, *self.weights]
        if self.labels:
            return [*self.labels.labels[1:], *self.labels.forecasts, *self.weights]
        if self.quantiles:
            models = self.quantiles.models.values() or [self.quantiles.columns]
            return [*itertools.chain(*models), *self.weights]
        if self.survival:
            return [self.survival.times, self.survival.forecast, *self.weights]
        assert self.answers is not None
        confidence = self.answers.confidence
        return [*([confidence] if confidence else []), *self.weights]

    @property
    def used(self) -> list[str]:
        """Names of all columns that are used, each once."""
        others: Sequence[str | None] = ()
        if answers := self.answers:
            others = (answers.samples, answers.likelihoods, answers.questions)
            others = (*others, self.filters)
        named = [name for name in others if name]
        names = [self.label, *self.numbers, *named, *self.choice.groups]
        names += self.choice.features
        if self.cluster is not None:
            names.append(self.cluster)
        if self.quantiles:
            quantiles = self.quantiles
            columns = (quantiles.series, quantiles.horizon, quantiles.model)
            names += [*(name for name in columns if name), *quantiles.times]
        return list(dict.fromkeys(names))

    @property
    def cluster(self) -> str | None:
        """Name of the column of clusters; of forecasts, that of the series."""
        if self.choice.cluster is None and self.quantiles:
            return self.quantiles.series
        return self.choice.cluster

    def check_header(self, table: Table) -> None:
        """Raises ValueError unless a further part has these columns and weights.

        In JSON the records of a part may lack a field that others have.
        """
        header = table.header
        is_json = isinstance(table, RecordTable)
        needed = [self.label, *self.numbers] if is_json else self.used
        if self.votes:
            needed = self.votes.checked(needed, header, is_json)
        if not {*needed} <= {*header}:
            for name in needed:
                existing(name, header, "column")
        weights = weights_in(header)
        if weights and not self.weights:
            raise ValueError(
                f"there are weights, `{weights[0]}`, which the first file does not "
                "have: give all files weights, or none"
            )

    def with_classes_of(self, model: Model) -> Plan:
        """Returns the plan for parts, all of which have the classes of a model."""
        classes = getattr(model, "classes", ())
        if not classes:
            return self
        event = getattr(model, "event_class", None)
        positive = None if event is None else classes[event]
        choice = self.choice._replace(classes=classes, positive_class=positive)
        notes = getattr(model, "notes", ())
        return dataclasses.replace(self, choice=choice, notes=notes)


def both(
    regression: tuple[str, str], predictions: list[str], choice: Choice
) -> ValueError:
    return ValueError(
        f"{listed(regression)} may be a regression, and {listed(predictions)} a "
        "classifier: leave out one of them, or choose with --probabilities or --mean, "
        f"as in {typed(choice, probabilities=','.join(predictions))} or "
        f"{typed(choice, mean=regression[0])}"
    )


def labels_in(table: Table, name: str) -> np.ndarray:
    """Returns the different labels in a column."""
    return np.unique(class_names.text_array(table.read(name, [])[0]))


def all_labels(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Returns the different labels in the parts of a column: text if some are text."""
    found = list(parts)
    kinds = {labels.dtype.kind for labels in found}
    if "U" in kinds or {"b"} < kinds:
        found = [np.array(_column_names.texts(labels)) for labels in found]
    return np.unique(np.concatenate(found))


def plan_of(
    table: Table,
    choice: Choice,
    labels_of: Callable[[str], np.ndarray] | None = None,
) -> Plan:
    """Returns how to read a table.

    Args:
      table: the table, or the first part of it.
      choice: what the user says.
      labels_of: returns the different labels in a column of all parts; by default those
        in the table.

    Raises:
      ValueError: names leave open what is meant, or a column is missing.
    """
    header = table.header
    labels_of = labels_of or functools.partial(labels_in, table)

    def may_be_outcomes(name: str) -> bool:
        try:
            return are_outcomes(labels_of(name))
        except ValueError:  # One is missing.
            return False

    groups = [existing(name, header, "column") for name in choice.groups]
    check_searched(choice, header)
    if choice.cluster is not None:
        existing(choice.cluster, header, "column")
    if choice.filter is not None:
        existing(_FILTER, header, "column")
    weights = weights_in(header)
    if choice.multilabel:
        check_choice(choice)
        if (labels := label_columns_of(header)) is None:
            raise no_columns(header)
        plan = Plan(choice, labels.labels[0], weights, labels=labels)
        _csv_tables.check_once(header, plan.used)
        return plan
    if survival := survival_names_of(header, choice):
        refuse_clusters(choice.cluster)
        plan = Plan(choice, survival.event, weights, survival=survival)
        _csv_tables.check_once(header, plan.used)
        return plan
    if votes := vote_columns_of(header, choice, isinstance(table, RecordTable)):
        # There are no labels: votes for the first class are read in their place.
        label = votes.names[0]
        plan = Plan(choice, label, weights, votes.predictions, votes=votes)
        _csv_tables.check_once(header, plan.used)
        return plan
    if answers := names_of(header, choice, "column", may_be_outcomes):
        is_asked = answers.questions is not None or choice.filter is not None
        filters = _FILTER if is_asked and _FILTER in header else None
        plan = Plan(choice, answers.correct, weights, answers=answers, filters=filters)
        _csv_tables.check_once(header, plan.used)
        return plan
    if choice.filter is not None:
        raise ValueError("--filter needs answers with confidences")
    if quantiles := quantile_names_of(header, choice, labels_of):
        refuse_groups([*groups, *choice.searched])
        plan = Plan(choice, quantiles.target, weights, quantiles=quantiles)
        _csv_tables.check_once(header, plan.used)
        return plan
    label = _column_names.label_of(header, choice)
    regression = None
    if not choice.probabilities:
        regression = _column_names.regression_of(header, choice)

    def values() -> list[str]:
        return _column_names.texts(labels_of(label))

    # The labels of a regression are numbers, not the names of classes.
    columns = None
    if not choice.of_regression:
        columns = _column_names.columns_of(
            header, label, choice, None if regression else values
        )
    if regression and columns:
        raise both(regression, columns.names, choice)
    if not (regression or columns):
        raise ValueError(
            "the file must have columns of probabilities (p0, p1, ..., or the names of "
            "the classes), of logits (logit_0, ...), `mean` with one of `variance`, "
            "`std` and `stddev`, or `correct` with `confidence`; or choose columns "
            "with --probabilities, as in "
            f"{typed(choice, label=label, probabilities=_example(header, label))}; or "
            "of a regression with "
            f"--mean and --stddev. Received: {listed(header)}"
            f"{hint(header)}"
        )
    plan = Plan(choice, label, weights, columns, regression)
    _csv_tables.check_once(header, [label, *plan.numbers, *groups])
    if regression:
        refuse_groups([*groups, *choice.searched])
    return plan


def _example(header: Sequence[str], label: str) -> str:
    """Returns a column that a user may name, the last beside the labels."""
    return next((name for name in reversed(header) if name != label), "NAME")


def model_of_table(source: str, table: Table, plan: Plan) -> Model:
    """Returns what a table holds, or a part of it, by a plan.

    Raises:
      ValueError: a value is not as it must be.
    """
    if plan.answers:
        return _answers(source, table, plan, plan.answers)
    if plan.labels:
        return multilabel_in(
            source,
            table,
            plan.labels,
            plan.weights,
            left_out=_left_out(table, plan),
            clusters=_clusters(table, plan.choice.cluster),
        )
    labels, numbers = table.read(plan.label, plan.numbers)
    weight = numbers[:, -1] if plan.weights else None
    if plan.columns or plan.regression or plan.survival:
        refuse_nan(table, plan.numbers, numbers, bool(plan.weights))
    left_out = _left_out(table, plan)
    if plan.quantiles:
        return _forecasts(table, plan, plan.quantiles, source, labels, numbers)
    if plan.survival:
        arrays = dict(zip(plan.numbers, numbers.T, strict=True))
        arrays[plan.survival.event] = labels
        forecast = plan.survival.forecast
        arrays[forecast] = without_rounding(arrays[forecast])
        at = plan.choice.horizon
        return survival_of(source, plan.survival, arrays, at, weight, left_out)
    if plan.columns:
        names = plan.columns.names
        found = numbers[:, : len(names)]
        if plan.columns.kind == "probabilities":
            found = without_rounding(found)
        if plan.columns.guessed and np.median(found.sum(axis=1)) < 1 - _OFF:
            raise ValueError(
                f"the columns {listed(names)} have names of labels, but their rows do "
                "not sum to 1: name the columns of all classes with --classes. "
                f"Received: {listed(table.header)}"
            )
        found = found[:, 0] if plan.columns.alone else found
        others: dict[str, Any] = {
            "sample_weight": weight,
            **_attributes(table, plan.choice),
            "clusters": _clusters(table, plan.choice.cluster),
        }
        if plan.votes:
            model = decisions_in(source, table, plan.votes, found, numbers, **others)
            return dataclasses.replace(model, left_out=left_out)
        return classified(
            source,
            labels,
            plan.columns.kind,
            found,
            plan.columns.classes,
            plan.choice,
            left_out=left_out,
            notes=plan.notes,
            **others,
        )
    assert plan.regression is not None
    kind = _column_names.spread_of(plan.regression[1], plan.choice)
    target = reals(plan.label, labels)
    return Regression(
        source,
        numbers[:, 0],
        kind,
        numbers[:, 1],
        target,
        weight,
        left_out,
        clusters=_clusters(table, plan.choice.cluster),
    )


def _forecasts(
    table: Table,
    plan: Plan,
    names: QuantileNames,
    source: str,
    labels: np.ndarray,
    numbers: np.ndarray,
) -> QuantileForecasts:
    """Returns forecasts by quantiles or samples, with the weights after them."""
    target, size = reals(plan.label, labels), len(names.columns)
    others: dict[str, Any] = {
        "sample_weight": numbers[:, -1] if plan.weights else None,
        "left_out": _left_out(table, plan),
        "notes": (*_notes(table), names.note(plan.choice.cluster)),
        "clusters": _clusters(table, plan.cluster),
        **_row_keys(table, names),
    }

    def of_model(index: int) -> QuantileForecasts:
        forecasts = numbers[:, index * size : (index + 1) * size]
        if not names.levels:
            return of_samples(source, forecasts, target, **others)
        return QuantileForecasts(source, forecasts, names.levels, target, **others)

    if not names.models:
        return of_model(0)
    return joined(
        [
            dataclasses.replace(of_model(i), models=np.full(len(target), name))
            for i, name in enumerate(names.models)
        ]
    )


def _notes(table: Table) -> tuple[str, ...]:
    """Returns how a table was made of one with several rows for each forecast."""
    return (table.note,) if isinstance(table, PivotedTable) else ()


def _row_keys(table: Table, names: QuantileNames) -> dict[str, Any]:
    """Returns how far ahead each row forecasts, for which time and series, and which
    model.
    """
    time = names.times[0] if names.times else None
    known = (names.series, names.model, names.horizon, time)
    columns = _columns(table, dict.fromkeys(name for name in known if name))
    return {
        "series": columns[names.series] if names.series else None,
        "models": columns[names.model] if names.model else None,
        "horizons": horizons_of(columns[names.horizon]) if names.horizon else None,
        "times": numbers_of_times(columns[time]) if time else None,
    }


def _answers(source: str, table: Table, plan: Plan, names: AnswerNames) -> Confidences:
    choice = plan.choice
    correct, numbers = table.read(names.correct, plan.numbers)
    refuse_nan(table, plan.numbers, numbers, bool(plan.weights))
    if names.confidence:
        found = table, names.confidence, numbers[:, 0]
        numbers[:, 0] = rounded_confidences(*found, choice.percent)
    samples, likelihoods, questions = names.samples, names.likelihoods, names.questions
    others = [name for name in (samples, likelihoods, questions, plan.filters) if name]
    attributes = [*choice.groups, *choice.searched]
    columns = _columns(table, dict.fromkeys([*others, *attributes]))
    is_chosen = choice.filter is not None or plan.filters in choice.groups
    if questions and plan.filters and not is_chosen:
        _check_filters(columns[questions].tolist(), columns[plan.filters].tolist())
    confidence = names.confidence
    model = answers_of(
        source,
        (names.correct, correct),
        (confidence, numbers[:, 0]) if confidence else None,
        (samples, columns[samples]) if samples else None,
        table.place,
        likelihoods=columns[likelihoods] if likelihoods else None,
        percent=choice.percent,
        sample_weight=numbers[:, -1] if plan.weights else None,
        left_out=_left_out(table, plan),
        groups={name: columns[name] for name in choice.groups},
        features={name: columns[name] for name in choice.searched},
        questions=(
            Questions(questions, columns[questions].tolist()) if questions else None
        ),
        clusters=_clusters(table, choice.cluster),
    )
    if choice.filter is None or plan.filters is None:
        return model
    readings = [str(value) for value in columns[plan.filters].tolist()]
    return taken(model, np.flatnonzero(np.array(readings) == choice.filter))


def _attributes(table: Table, choice: Choice) -> dict[str, Any]:
    """Returns the groups and the features of the examples."""
    columns = _columns(table, dict.fromkeys([*choice.groups, *choice.searched]))
    return {
        "groups": {name: columns[name] for name in choice.groups},
        "features": {name: columns[name] for name in choice.searched},
    }


def check_searched(choice: Choice, header: Sequence[str], kind: str = "column") -> None:
    """Raises ValueError if a feature is missing, or the search has none."""
    for name in choice.features:
        existing(name, header, kind)
    if choice.audit and not choice.searched:
        raise ValueError(
            f"--audit needs the {kind}s by which to search: name each with --feature, "
            f"or with --group. Received: {listed(header)}"
        )


def _clusters(table: Table, name: str | None) -> Clusters | None:
    """Returns the column of clusters."""
    return None if name is None else Clusters(name, _columns(table, [name])[name])


def _check_filters(questions: list[Any], filters: list[Any]) -> None:
    """Raises ValueError if a file holds several readings of the same answers."""
    names = dict.fromkeys(map(str, filters))
    if len(names) > 1 and len(set(map(str, questions))) < len(questions):
        raise ValueError(
            f"the column `{_FILTER}` holds several readings of the same answers, so "
            "each answer would count several times: choose one with --filter. "
            f"Received: {listed(names)}"
        )


def _columns(table: Table, names: Iterable[str]) -> dict[str, Any]:
    """Returns columns of any values, objects [N], by their names."""
    names = list(names)
    if not names:
        return {}
    found = {}
    for name, values in zip(names, table.columns(names), strict=True):
        texts: dict[str, str] = {}  # Rows with equal text share it, which saves memory.
        found[name] = np.empty(len(values), object)
        found[name][:] = [
            texts.setdefault(value, value) if isinstance(value, str) else value
            for value in values
        ]
    return found


def _left_out(table: Table, plan: Plan) -> tuple[str, ...]:
    if isinstance(table, PivotedTable):  # All columns tell the forecasts apart.
        return table.others
    used = set(plan.used)
    return (*(name for name in table.header if name not in used), *table.others)


def with_note_on_ids(model: Model, table: Table, plan: Plan) -> Model:
    """Returns a classifier with a note if a column of ids has some ids twice."""
    names = [name for known in IDS for name in among(table.header, (known,))]
    names = [name for name in names if name not in plan.used]
    if not isinstance(model, Predictions | Regression | MultiLabel) or not names:
        return model
    if model.clusters is not None or num_rows(model) > _MOST_IDS:
        return model
    note = note_on_repeats(names[0], table.columns(names[:1])[0])
    if note is None:
        return model
    return dataclasses.replace(model, notes=(*model.notes, note))


def refuse_groups(groups: Sequence[str]) -> None:
    """Raises ValueError if a regression shall have groups."""
    if groups:
        raise ValueError(
            "--group and --feature need a classifier, or answers with confidences. "
            "Received: a regression"
        )


def refuse_clusters(name: str | None) -> None:
    """Raises ValueError if a regression or a survival model shall have clusters."""
    if name is not None:
        raise ValueError(
            "--cluster needs a classifier, answers with confidences or a regression. "
            "Received: a survival model"
        )


def reals(name: str, labels: np.ndarray) -> np.ndarray:
    if _column_names.is_text(labels):
        raise ValueError(f"`{name}` of a regression must hold numbers. Received: text")
    return labels
