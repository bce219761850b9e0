"""Finds the labels and the predictions of a file by the names of columns and arrays."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from uncertainty_metrics._report.data._predictions import Kind, Spread
from uncertainty_metrics._report.reading._missing_labels import no_labels
from uncertainty_metrics._report.reading._typed_commands import (
    typed,
    typed_classes,
    typed_each,
)
from uncertainty_metrics.numpy.class_names import (
    NAMED,
    NUMBERED,
    encoded,
    is_text,
    keys_of,
    listed,
    spelled,
    texts,
)

LABELS = ("label", "labels", "y", "y_true", "target", "targets", "class")
# Names that count only where a file has none of the others: they may be features.
EVERYDAY_LABELS = (
    *("y_test", "outcome", "outcomes", "actual", "truth", "ground_truth"),
    *("default", "status"),
)
MEANS = ("mean", "means")
_EVERYDAY_MEANS = ("mu", "y_pred")
SPREADS: dict[str, Spread] = {
    **dict.fromkeys(("variance", "variances"), "variance"),
    **dict.fromkeys(("std", "stddev", "stddevs", "sigma", "y_std"), "stddev"),
}
_EVERYDAY_SPREADS = ("sigma", "y_std")
WEIGHTS = "sample_weight"
_EVERYDAY = ("y_prob", "y_proba", "y_pred_proba", "prediction_proba", "proba")
# Names of a single column with the predictions of class 1, where there are two classes.
_ALONE: dict[str, Kind] = {
    **dict.fromkeys(("p", "prob", "proba", "probability"), "probabilities"),
    "probabilities": "probabilities",
    **dict.fromkeys(("y_prob", "y_proba", "y_score"), "probabilities"),
    **dict.fromkeys(("logit", "y_logit"), "logits"),
    **dict.fromkeys(("y_pred_proba", "prediction_proba"), "probabilities"),
    **dict.fromkeys(("risk", "pd"), "probabilities"),
}
_EVERYDAY_ALONE = ("y_pred_proba", "prediction_proba", "risk", "pd")
# The votes for a class are in the column `votes_NAME`, or in an object of this name.
VOTES = "votes"
# Lists and objects of these names hold a number for each class, or for each sample.
BY_CLASS = (
    VOTES,
    *("logits", "probabilities", "probs", "samples", "probability"),
    *_EVERYDAY,
)


class Choice(NamedTuple):
    """Options by which a user says what a file holds, if its names do not.

    Attributes:
      label: name of the column or array of labels; "votes" for votes for the classes.
      probabilities: names of the columns of predictions, in the order of the classes,
        separated by commas, where `*` and `?` stand for any characters; or the name of
        one array.
      classes: names of the classes, in the order of the predictions.
      positive_class: if there are two classes, the label of class 1.
      correct: name of the column or array that says whether answers are right.
      confidence: name of the column or array that says how sure each answer is.
      percent: whether confidences are percent.
      groups: names of attributes of the examples.
      horizon: the time by which the risks are those of an event; None if the file is
        not of a survival model.
      cluster: name of the column of clusters: rows of one may depend on each other.
      filter: of several readings of the same answers, which one to take.
      multilabel: whether each example has several labels.
      features: names of features by which the report searches for groups.
      audit: whether it also searches by the attributes.
      level: of the interval whose name does not say it, as Prophet's.
      times: name of the column or array of times of a survival model.
      event: name of that of its events.
      survival: name of that of the probabilities of no event by the horizon.
      risk: name of that of the probabilities of the event.
      mean: name of the column or array of means of a regression.
      stddev: name of that of its standard deviations.
      variance: name of that of its variances.
      ignore_index: the label of the rows that do not count.
    """

    label: str | None = None
    probabilities: str | None = None
    classes: tuple[str, ...] | None = None
    positive_class: str | None = None
    correct: str | None = None
    confidence: str | None = None
    percent: bool = False
    groups: tuple[str, ...] = ()
    horizon: float | None = None
    cluster: str | None = None
    filter: str | None = None
    multilabel: bool = False
    features: tuple[str, ...] = ()
    audit: bool = False
    level: float | None = None
    times: str | None = None
    event: str | None = None
    survival: str | None = None
    risk: str | None = None
    mean: str | None = None
    stddev: str | None = None
    variance: str | None = None
    ignore_index: int | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        """The names of the columns by which the report searches for groups."""
        found = (*(self.groups if self.audit else ()), *self.features)
        return tuple(dict.fromkeys(found))

    @property
    def of_answers(self) -> bool:
        """Whether the user says that a file holds answers with confidences."""
        return self.correct is not None or self.confidence is not None or self.percent

    @property
    def of_classes(self) -> bool:
        """Whether the user says that a file holds the predictions of a classifier."""
        given = (self.label, self.probabilities, self.classes, self.positive_class)
        return any(value is not None for value in given)

    @property
    def of_survival(self) -> bool:
        """Whether the user names columns of a survival model."""
        given = (self.times, self.event, self.survival, self.risk)
        return any(value is not None for value in given)

    @property
    def of_regression(self) -> bool:
        """Whether the user names columns of a regression."""
        given = (self.mean, self.stddev, self.variance)
        return any(value is not None for value in given)


class Columns(NamedTuple):
    """The predictions of a classifier in a table.

    Attributes:
      kind: "probabilities" or "logits".
      names: names of the columns, in the order of the classes.
      classes: names of the classes; empty if they are the numbers from 0.
      alone: whether there is one column, for class 1 of two classes.
      guessed: whether the classes were taken from the labels, so that a class without
        labels may be missing.
    """

    kind: Kind
    names: list[str]
    classes: tuple[str, ...] = ()
    alone: bool = False
    guessed: bool = False


def among(header: Iterable[str], known: Iterable[str]) -> list[str]:
    """Returns the names of a header that are known, in upper or lower case."""
    known = frozenset(known)
    return [name for name in header if name.lower() in known]


def weights_in(header: Iterable[str]) -> list[str]:
    """Returns the name of the weights, if there are any."""
    return among(header, (WEIGHTS,))[:1]


def label_of(header: Sequence[str], choice: Choice, kind: str = "column") -> str:
    """Returns the name of the column or array of labels.

    Raises:
      ValueError: no name, or more than one, may be the name of the labels.
    """
    if choice.label is not None:
        return existing(choice.label, header, kind)
    found = among(header, LABELS) or among(header, EVERYDAY_LABELS)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"each of {listed(found)} may hold the labels: choose the {kind} with "
            f"--label, as in {typed_each(choice, 'label', found)}"
        )
    raise no_labels(header, choice, kind, LABELS)


def existing(name: str, header: Iterable[str], kind: str) -> str:
    header = list(header)
    if name not in header:
        raise ValueError(f"there is no {kind} `{name}`. Received: {listed(header)}")
    return name


def regression_of(
    header: Sequence[str], choice: Choice | None = None, kind: str = "column"
) -> tuple[str, str] | None:
    """Returns the names of mean and spread; None if either is missing.

    Raises:
      ValueError: there are two names for the mean, or two for the spread; or the user
        names one of them, and the other is missing.
    """
    choice = choice or Choice()
    spreads = among(header, SPREADS)
    known = [name for name in spreads if name.lower() not in _EVERYDAY_SPREADS]
    means = among(header, MEANS) or among(header, _EVERYDAY_MEANS)
    chosen = [name for name in (choice.stddev, choice.variance) if name is not None]
    if choice.mean is not None:
        means = [existing(choice.mean, header, kind)]
    if chosen:
        known = [existing(name, header, kind) for name in chosen]
    found = means, known or spreads
    if not all(found) and not choice.of_regression:
        return None
    if len(found[0]) == len(found[1]) == 1:
        return found[0][0], found[1][0]
    taken = {choice.label, *found[0][:1], *found[1][:1]}
    if choice.label is None:
        taken |= {*among(header, LABELS)}
    rest = iter([*(name for name in header if name not in taken), "NAME", "NAME"])
    mean, spread = (names[0] if names else next(rest) for names in found)
    is_variance = SPREADS.get(spread.lower()) == "variance"
    named = {"mean": mean, "variance" if is_variance else "stddev": spread}
    command = typed(choice._replace(stddev=None, variance=None), **named)
    raise ValueError(
        "a regression needs one mean and one of `variance`, `std` and `stddev`: choose "
        f"the {kind}s with --mean, and --stddev or --variance, as in {command}. "
        f"Received: {listed([*found[0], *found[1]])}"
    )


def spread_of(name: str, choice: Choice) -> Spread:
    """Returns what the spread of a regression is, by its name or by the option."""
    if choice.variance is not None:
        return "variance"
    return "stddev" if choice.stddev is not None else SPREADS[name.lower()]


def columns_of(
    header: Sequence[str],
    label: str,
    choice: Choice,
    values: Callable[[], list[str]] | None = None,
) -> Columns | None:
    """Returns the columns of the predictions of a classifier; None if there are none.

    Args:
      header: names of all columns.
      label: name of the column of labels.
      choice: the options of the user.
      values: returns the labels that occur, as text; None if the columns cannot have
        the names of labels.

    Raises:
      ValueError: several sets of columns may be the predictions, or the columns do not
        fit each other or the classes.
    """
    others = [name for name in header if name != label]
    if choice.probabilities is not None:
        return _chosen(others, choice, values or list)
    styles: dict[str, list[str]] = {}
    for name in others:
        if match := NUMBERED.fullmatch(name):
            styles.setdefault((match["prefix"] or "").lower(), []).append(name)
    alone = among(others, _ALONE)
    known = [name for name in alone if name.lower() not in _EVERYDAY_ALONE]
    alone = known or ([] if styles else alone)
    # Columns 0, 1, ... are predictions, too, as in a table whose columns have no names.
    found = [*styles.values(), *([name] for name in alone)]
    if len(found) > 1:
        raise _several(found, header, choice)
    if alone:
        return Columns(_ALONE[alone[0].lower()], alone, alone=True)
    if found:
        return _numbered(found[0], choice, values)
    return None if values is None else _by_class(others, choice, values)


def _several(
    sets: Sequence[Sequence[str]], header: Sequence[str], choice: Choice
) -> ValueError:
    """Returns the error for several sets of columns that may be the predictions."""
    commands = []
    for names in sets[:4]:
        pattern = names[0].removesuffix(keys_of(names)[0]) + "*"
        is_short = len(names) > 4 and fnmatch.filter(header, pattern) == [*names]
        listing = pattern if is_short else ",".join(names)
        commands.append(typed(choice, probabilities=listing))
    return ValueError(
        f"which columns hold the predictions: {' or '.join(map(listed, sets))}? Choose "
        f"with --probabilities, as in {' or '.join(commands)}"
    )


def _kind(names: Iterable[str]) -> Kind:
    return (
        "logits"
        if all(n.lower().startswith("logit") for n in names)
        else "probabilities"
    )


def _numbered(
    names: list[str], choice: Choice, values: Callable[[], list[str]] | None
) -> Columns:
    """Returns columns whose names end with numbers, sorted by these numbers."""
    by_number: dict[int, str] = {}
    for name, key in zip(names, keys_of(names), strict=True):
        if by_number.get(int(key)) == name:
            raise ValueError(
                f"the column `{name}` is there twice: rename or remove one of them"
            )
        if int(key) in by_number:
            raise ValueError(
                f"`{by_number[int(key)]}` and `{name}` are both the column of class "
                f"{int(key)}: rename one of them"
            )
        by_number[int(key)] = name
    numbers = sorted(by_number)
    keys = tuple(map(str, numbers))
    has_gaps = numbers[-1] - numbers[0] != len(numbers) - 1
    if len(numbers) < 2 or (has_gaps and not (values and set(values()) == set(keys))):
        raise ValueError(
            f"the columns of {_kind(names)} must be one per class, numbered without "
            "gaps, or one for class 1 alone (`probability` or `logit`). Received: "
            f"{listed(names)}"
        )
    ordered = [by_number[k] for k in numbers]
    from_zero = numbers[0] == 0
    classes = choice.classes or (() if from_zero and not has_gaps else keys)
    return Columns(_kind(names), ordered, classes)


def matching(header: Sequence[str], names: str) -> list[str]:
    """Returns the columns that a user names, separated by commas, or by patterns."""
    found: list[str] = []
    for part in names.split(","):
        part = part.strip()
        if part in header:
            found.append(part)
        elif by_pattern := fnmatch.filter(header, part):
            found += by_pattern
        else:
            existing(part, header, "column")
    return found


def _chosen(
    others: list[str], choice: Choice, values: Callable[[], list[str]]
) -> Columns:
    """Returns the columns that the user names."""
    found = matching(others, str(choice.probabilities))
    if len(found) == 1:
        if keys_of(found) == ["0"] and not (choice.positive_class or choice.classes):
            raise ValueError(
                f"`{found[0]}` seems to predict class 0, but a single column must "
                "predict class 1: choose that column, or say with --positive-class "
                f"which label `{found[0]}` predicts"
            )
        (key,) = keys_of(found)
        positive = choice.positive_class
        if positive is not None and key != positive and key in values():
            raise ValueError(
                f"`{found[0]}` seems to predict {key}, but a single column must "
                f"predict the positive class, {positive}: choose the other column, or "
                "leave out --positive-class"
            )
        return Columns(_kind(found), found, alone=True)
    if choice.classes:
        return Columns(_kind(found), found, choice.classes)
    keys = keys_of(found)
    if all(key.isdecimal() for key in keys) and "," not in str(choice.probabilities):
        return _numbered(found, choice, values)
    occurring = set(values())
    for names in (keys, found):
        if set(spelled(occurring, names)) <= set(names):
            return Columns(_kind(found), found, tuple(names))
    return Columns(_kind(found), found)


def _by_class(
    others: list[str], choice: Choice, values: Callable[[], list[str]]
) -> Columns | None:
    """Returns columns that have the names of the classes, perhaps after a prefix."""
    styles: dict[str, dict[str, str]] = {}
    for name in others:
        if name == ".pred_class":  # Of tidymodels, the decision.
            continue
        match = NAMED.fullmatch(name)
        prefix = (match["prefix"] or "").lower() if match else ""
        if match and prefix:
            styles.setdefault(prefix, {})[match["key"]] = name
        styles.setdefault("", {})[name] = name
    if not styles:
        return None
    wanted = list(choice.classes or values())
    found = {
        prefix: by_key
        for prefix, by_key in styles.items()
        if all(key in by_key for key in spelled(wanted, by_key))
    }
    if len(wanted) < 2 or not found:
        return None
    if len(found) > 1:
        sets = [
            [by_key[key] for key in spelled(wanted, by_key)]
            for by_key in found.values()
        ]
        raise _several(sets, others, choice)
    prefix, by_key = found.popitem()
    # Every column with the prefix is a class, even if no label names this class.
    is_open = prefix and not choice.classes
    keys = list(by_key) if is_open else spelled(wanted, by_key)
    names = [by_key[key] for key in keys]
    if not prefix:
        guessed = not choice.classes
        return Columns("probabilities", names, tuple(keys), guessed=guessed)
    return Columns(_kind(names), names, tuple(keys))


# Labels.


def position(positive: str, classes: Sequence[str], labels: np.ndarray) -> int:
    """Returns which of the classes is the positive one.

    Raises:
      ValueError: none is.
    """
    names = list(classes)
    if labels.dtype.kind == "b":
        (positive,) = spelled([positive.title()], names)
    if positive not in names:
        raise ValueError(
            f"the positive class `{positive}` must be one of the classes. Received: "
            f"{listed(names)}"
        )
    return names.index(positive)


def sorted_classes(labels: np.ndarray, choice: Choice) -> tuple[str, ...]:
    """Returns the names of two classes without names: of text the labels in sorted
    order, as in scikit-learn; of booleans False and True.

    Raises:
      ValueError: there are not two different labels of text.
    """
    if labels.dtype.kind == "b":
        return ("False", "True")
    names = tuple(np.unique(labels).tolist())
    if len(names) != 2:
        raise ValueError(
            "predictions have two columns, but labels are text and not of two kinds: "
            "name the class of each column with --classes, as in "
            f"{typed_classes(choice, names, 2)}. Received: {listed(names)}"
        )
    return names


def note_on_order(names: Sequence[str]) -> str:
    """Returns a note for predictions whose columns do not name the classes."""
    return (
        "The columns are taken for the classes in sorted order, as in scikit-learn: "
        f"{listed(names)}."
    )


class Two(NamedTuple):
    """Labels 0 and 1 of two classes, and the names of the classes, if they have any."""

    labels: np.ndarray
    classes: tuple[str, ...] = ()


def of_two(labels: np.ndarray, choice: Choice) -> Two:
    """Returns labels 0 and 1 for predictions of class 1 alone.

    Raises:
      ValueError: neither names nor options say which label is class 1.
    """
    positive = choice.positive_class
    if positive is not None and labels.dtype.kind == "b":
        positive = positive.title()
    # The names where several labels are not the positive class.
    of_many = (f"not {positive}", str(positive))
    if choice.classes and choice.classes != of_many:
        if len(choice.classes) != 2:
            raise ValueError(
                "predictions of class 1 alone need the names of two classes. Received: "
                f"{listed(choice.classes)}"
            )
        return Two(encoded(labels, choice.classes), choice.classes)
    if positive is None and not is_text(labels):
        return Two(labels)
    found, inverse = np.unique(labels, return_inverse=True)
    values = texts(found)
    if positive is None:
        raise ValueError(
            "labels are text: say which label the predictions are probabilities of, "
            "in Python with `classes`, class 1 second; for a file with "
            f"--positive-class, as in {typed_each(choice, 'positive_class', values)}. "
            f"Received: {listed(values)}"
        )
    if positive not in values and not choice.classes:
        raise ValueError(
            f"the positive class `{positive}` must be one of the labels. Received: "
            f"{listed(values)}"
        )
    others = [value for value in values if value != positive]
    one_other = len(others) == 1 and not choice.classes
    names = (others[0], positive) if one_other else of_many
    right = np.array([value == positive for value in values])
    return Two(right[inverse].reshape(labels.shape).astype(np.int64), names)
