"""The command line of a comparison of models: a file for each model."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from uncertainty_metrics._report import _command
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    Predictions,
    Regression,
    ReportError,
)
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._files import errors_of, read_predictions


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `compare` to a parser."""
    parser.description = (
        "Compares the models whose predictions of the same examples are in the files, "
        "and says in each metric which is best, and which are not worse beyond chance."
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a file of predictions for each model"
    )
    parser.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="a metric of the package, such as brier_score; may be repeated",
    )
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="the column that tells the rows apart, by which the files are matched; "
        "else they are matched if their labels are the same, row by row",
    )
    parser.add_argument(
        "--cluster",
        metavar="COLUMN",
        help="the column of clusters, such as questions or patients: rows of a cluster "
        "may depend on each other",
    )
    parser.add_argument(
        "--block",
        type=int,
        metavar="ROWS",
        help="for rows in the order of time: rows so far apart are independent",
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of labels")
    parser.add_argument(
        "--probabilities", metavar="COLUMNS", help="the columns of predictions"
    )
    parser.add_argument(
        "--positive-class", metavar="LABEL", help="of two classes, the label of class 1"
    )
    parser.add_argument(
        "--correct", metavar="COLUMN", help="the column that says what is right"
    )
    parser.add_argument(
        "--confidence", metavar="COLUMN", help="the column of confidences"
    )
    parser.add_argument(
        "--latex", metavar="FILE", help="write the table as LaTeX to this file"
    )


def compare_command(arguments: argparse.Namespace) -> int:
    """Runs the command and returns the exit code, as `_command.command` does."""
    return _command.told(_run, arguments)


def _run(arguments: argparse.Namespace, tell: Callable[[str], None]) -> str:
    """Returns the table of the comparison, and where it was written."""
    import uncertainty_metrics.numpy as um

    if len(arguments.files) < 2:
        raise ReportError("compare needs at least two files, one for each model")
    columns = {name for name in (arguments.id, arguments.cluster) if name is not None}
    choice = Choice(
        label=arguments.label,
        probabilities=arguments.probabilities,
        positive_class=arguments.positive_class,
        correct=arguments.correct,
        confidence=arguments.confidence,
        groups=tuple(sorted(columns)),
    )
    read = [read_predictions(file, choice, tell) for file in arguments.files]
    first, order = read[0], None
    models = {}
    names = _names(arguments.files)
    for name, file, model in zip(names, arguments.files, read, strict=True):
        if model is not first:
            order = _order(first, model, arguments.id, arguments.files[0], file)
        models[name] = _arguments(model, order, file)
    clusters = None
    if arguments.cluster is not None:
        clusters = _column(first, arguments.cluster)
    with errors_of(", ".join(map(str, arguments.files))):
        found = um.compare(
            predictions=models,
            metrics=arguments.metric,
            clusters=clusters,
            block=arguments.block,
        )
    if arguments.latex is None:
        return f"{found}\n"
    with errors_of(arguments.latex):
        path = pathlib.Path(arguments.latex)
        path.write_text(found.to_latex() + "\n", encoding="utf-8")
    return f"{found}\nThe table is in {arguments.latex}.\n"


def _names(files: list[str]) -> list[str]:
    """Returns a name for each file: the file's without its end, if all differ."""
    stems = [pathlib.Path(file).name.split(".")[0] for file in files]
    return stems if len({*stems}) == len(stems) else list(files)


def _column(model: Model, name: str) -> np.ndarray:
    groups = getattr(model, "groups", {})
    return np.asarray(groups[name]).reshape(-1)


def _outcomes(model: Model) -> np.ndarray:
    """Returns what the predictions are compared with."""
    if isinstance(model, Predictions):
        return np.asarray(model.labels)
    if isinstance(model, Confidences):
        return np.asarray(model.correct)
    return np.asarray(getattr(model, "target", None))


def _arguments(model: Model, order: np.ndarray | None, file: str) -> dict[str, Any]:
    """Returns the arguments of a model by name, its rows in this order."""
    if not isinstance(model, Predictions | Confidences | Regression):
        raise ReportError(f"{file}: compare needs rows of predictions in one file")
    if model.sample_weight is not None:
        raise ReportError(f"{file}: compare takes no weights")
    if isinstance(model, Predictions):
        if model.is_ensemble:
            raise ReportError(f"{file}: compare takes no members of an ensemble")
        given = {"labels": model.labels, model.kind: model.values}
    elif isinstance(model, Confidences):
        given = {"correct": model.correct, "confidences": model.confidences}
    else:
        spread = model.values if model.kind == "stddev" else np.sqrt(model.values)
        given = {"labels": model.target, "means": model.mean, "stddevs": spread}
    if order is None:
        return given
    return {name: np.asarray(values)[order] for name, values in given.items()}


def _order(
    first: Model, other: Model, column: str | None, first_file: str, file: str
) -> np.ndarray | None:
    """Returns the rows of the other file in the order of the first; None if they are in
    this order.

    Raises:
      ReportError: the files hold other rows.
    """
    if type(first) is not type(other):
        raise ReportError(f"{file} holds another kind of predictions than {first_file}")
    if column is not None:
        one, two = (_column(model, column).tolist() for model in (first, other))
    elif (
        isinstance(first, Confidences)
        and isinstance(other, Confidences)
        and first.questions is not None
        and other.questions is not None
    ):
        one, two = first.questions.values, other.questions.values
    else:
        if not np.array_equal(_outcomes(first), _outcomes(other)):
            raise ReportError(
                f"{file} holds other rows than {first_file}, or in another order: "
                "their labels differ. Name the column that tells the rows apart with "
                "--id"
            )
        return None
    place = {value: row for row, value in enumerate(two)}
    if len(place) < len(two) or len({*one}) < len(one):
        if one == two:
            return None
        raise ReportError(f"{file}: the ids of the rows repeat, so rows do not match")
    if place.keys() != {*one}:
        raise ReportError(
            f"{file} holds other rows than {first_file}: "
            f"{len(place.keys() ^ {*one})} ids are in one file only"
        )
    order = np.array([place[value] for value in one])
    if not isinstance(first, Confidences) and not np.array_equal(
        _outcomes(first), _outcomes(other)[order]
    ):
        raise ReportError(f"{file} has other labels than {first_file} for the same ids")
    return order
