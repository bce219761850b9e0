"""The command line of a comparison of models: a file for each model."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable

import numpy as np

from uncertainty_metrics._report import _command
from uncertainty_metrics._report.data._matched_rows import matched
from uncertainty_metrics._report.data._models_in_a_file import each_model
from uncertainty_metrics._report.data._predictions import (
    Model,
    QuantileForecasts,
    ReportError,
)
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._files import errors_of, read_predictions
from uncertainty_metrics._report.sections._quantile_coverage import intervals_of
from uncertainty_metrics._report.sections._several_forecasts import coverage_table
from uncertainty_metrics._report.sections._several_models import in_order_of_time
from uncertainty_metrics.numpy import _text_tables


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `compare` to a parser."""
    parser.description = (
        "Compares the models whose predictions of the same examples are in the files, "
        "and says in each metric which is best, and which are not worse beyond chance."
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file of predictions for each model, or one file with the forecasts of "
        "several models",
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
        help="the column of clusters, such as questions, patients or series: rows of a "
        "cluster may depend on each other",
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
        "--multilabel",
        action="store_true",
        help="each example has several labels, each 0 or 1: the columns are label_NAME "
        "and prob_NAME for each label",
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

    choice = Choice(
        label=arguments.label,
        probabilities=arguments.probabilities,
        positive_class=arguments.positive_class,
        correct=arguments.correct,
        confidence=arguments.confidence,
        groups=() if arguments.id is None else (arguments.id,),
        cluster=arguments.cluster,
        multilabel=arguments.multilabel,
    )
    if arguments.multilabel and arguments.id is not None:
        raise ReportError(
            "--multilabel takes no --id: rows match in order if their labels are equal"
        )
    read = [read_predictions(file, choice, tell) for file in arguments.files]
    names = _names(arguments.files)
    parts = each_model(read)
    if len(parts) != len(read):  # A file of several models names them.
        read, names = parts, [model.source for model in parts]
    if len(read) < 2:
        raise ReportError(
            "compare needs at least two files, one for each model, or a file of "
            "forecasts with a column `model`"
        )
    ids = None
    if arguments.id is not None:
        ids = [_column(model, arguments.id) for model in read]
    hint = "Name the column that tells the rows apart with --id"
    models = matched(read, names, ids, hint)
    clusters, block = None, arguments.block
    if arguments.cluster is not None:
        clusters = _clusters(read[0])
    elif block is None and isinstance(read[0], QuantileForecasts):
        models, clusters, block = in_order_of_time(read[0], models)
    with errors_of(", ".join(map(str, arguments.files))):
        found = um.compare(
            predictions=models,
            metrics=arguments.metric,
            clusters=clusters,
            block=block,
            multilabel=arguments.multilabel,
        )
    text = f"{found}\n{_coverage(dict(zip(names, read, strict=True)))}"
    if arguments.latex is None:
        return text
    with errors_of(arguments.latex):
        path = pathlib.Path(arguments.latex)
        path.write_text(found.to_latex() + "\n", encoding="utf-8")
    return f"{text}The table is in {arguments.latex}.\n"


def _coverage(models: dict[str, Model]) -> str:
    """Returns the coverage of the central intervals of forecasts as a text."""
    coverage = {
        name: intervals_of(model)
        for name, model in models.items()
        if isinstance(model, QuantileForecasts)
    }
    if not any(coverage.values()):
        return ""
    table = coverage_table(coverage)
    return f"\n{table.caption}\n{_text_tables.table(*table._shown())}\n"


def _names(files: list[str]) -> list[str]:
    """Returns a name for each file: the file's without its end, if all differ."""
    stems = [pathlib.Path(file).name.split(".")[0] for file in files]
    return stems if len({*stems}) == len(stems) else list(files)


def _clusters(model: Model) -> np.ndarray:
    clusters = getattr(model, "clusters", None)
    if clusters is None:
        raise ReportError(f"{model.source}: --cluster needs the rows of all examples")
    return np.asarray(clusters.values).reshape(-1)


def _column(model: Model, name: str) -> np.ndarray:
    groups = getattr(model, "groups", {})
    return np.asarray(groups[name]).reshape(-1)
