"""The arguments of the commands `report` and `sketch`."""

from __future__ import annotations

import argparse
import math
import re
import textwrap

from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS
from uncertainty_metrics._report.calibration_report import DEFAULT_DIRECTORY
from uncertainty_metrics._report.reading._column_names import Choice
from uncertainty_metrics._report.reading._files import (
    FILE_FORMAT,
)
from uncertainty_metrics._report.sections._list import pictures_of

_MAX_BINS = 10_000
_FILES = (
    "labels and predictions, or answers and confidences: .csv, .tsv, .jsonl, .json, "
    ".parquet, .feather, .arrow, .xlsx or .npz; text may be packed, as in .csv.gz. One "
    "file, or several with the same columns; a pattern such as 'shards/*.parquet'; a "
    "folder"
)
# Options that name a column or array of a survival model or a regression.
_ROLES = (
    ("times", "for a survival model, the column or array of times"),
    ("event", "for a survival model, that of whether the event came"),
    ("survival", "that of the probability of no event by --horizon"),
    ("risk", "that of the probability of the event by --horizon"),
    ("mean", "for a regression, the column or array of means"),
    ("stddev", "for a regression, that of the standard deviations"),
    ("variance", "for a regression, that of the variances"),
)


def _bins(text: str) -> int:
    num_bins = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not 1 <= num_bins <= _MAX_BINS:
        raise argparse.ArgumentTypeError(
            f"must be an integer in [1, {_MAX_BINS}]. Received: {text!r}"
        )
    return num_bins


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _horizon(text: str) -> float:
    try:
        horizon = float(text)
    except ValueError:
        horizon = -1.0
    if not 0 <= horizon < float("inf"):
        raise argparse.ArgumentTypeError(
            f"must be a finite time >= 0. Received: {text!r}"
        )
    return horizon


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(
            f"must be between 0 and 1, such as 0.8. Received: {text!r}"
        )
    return level


def _season(text: str) -> int:
    season = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if season < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1. Received: {text!r}"
        )
    return season


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _listed(task: str) -> str:
    """Returns lines of the help: the pictures of a task with their contents."""
    return "\n".join(
        textwrap.fill(
            picture.shows,
            width=80,
            initial_indent=f"  {picture.file:<25}  ",
            subsequent_indent=29 * " ",
        )
        for picture in pictures_of(task)
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the report to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Reports the calibration of a classifier: calibration errors, the posterior\n"
        "of the expected calibration error (Bayesian ECE), Brier score with its\n"
        "parts, negative log-likelihood, their intervals, how much recalibration\n"
        "would help, and how well confidence tells right decisions from wrong ones;\n"
        "for an ensemble also the effect of averaging. For the answers of a language\n"
        "model, an expert or an alarm that says how sure it is, it reports the same,\n"
        "and above which confidence the model may answer alone. For groups of\n"
        "examples, it says for whom the model is wrong more often than it says. For\n"
        "the risks of an event, it reports what medicine asks for: observed over\n"
        "expected events, calibration intercept and slope, AUROC, decision curve; and\n"
        "the same for a survival model at a horizon. For a regression, it reports\n"
        "coverage of intervals, PIT, CRPS, negative log-likelihood, sharpness, and\n"
        "the temperature that would correct the variances; for forecasts by\n"
        "quantiles, coverage, CRPS and its gain over a constant forecast, by horizon.\n"
        "The command writes\n"
        "\n"
        "  report.html                the whole report on one page, which needs no\n"
        "                             other file\n"
        "  report.json                all numbers; an infinite one is the string "
        '"inf"\n'
        "\n"
        "and the pictures of the page, for a classifier\n"
        "\n"
        f"{_listed('classification')}\n"
        "\n"
        "for several labels of each example\n"
        "\n"
        f"{_listed('multilabel')}\n"
        "\n"
        "for answers\n"
        "\n"
        f"{_listed('confidences')}\n"
        "\n"
        "for a regression\n"
        "\n"
        f"{_listed('regression')}\n"
        "\n"
        "for forecasts by quantiles\n"
        "\n"
        f"{_listed('quantiles')}\n"
        "\n"
        "or for a survival model\n"
        "\n"
        f"{_listed('survival')}\n"
        "\n"
        "With --compare the pictures show both models."
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{_FILES}; or - for standard input; or a summary that the command "
        "`sketch` wrote. Several files are read part by part: numbers are of all rows, "
        "but sections that need rows use a sample of 200,000 (default: predictions of "
        "handwritten digits that come with the package)",
    )
    parser.add_argument(
        "--coco",
        nargs=2,
        metavar=("RESULTS.json", "TRUTH.json"),
        help="instead of FILE, the detections and the true objects of images, both in "
        "COCO's format: reports whether detections are right as often as their scores "
        "say, for each class and size; right is an overlap (IoU) of at least 0.5",
    )
    _add_choices(parser)
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="a column or array that is an attribute of the examples, such as their "
        "language: reports the calibration of each of its values; for several "
        "attributes, say it several times",
    )
    parser.add_argument(
        "--audit",
        action="store_true",
        help="search for groups whose probabilities are wrong, by rules on the columns "
        "of --group and --feature, such as age > 61 and ward = B: found on one half of "
        "the examples, and tested on the other",
    )
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME",
        help="a column of numbers or names by which --audit searches; for several, say "
        "it several times",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the column or array of clusters, such as questions or patients: rows of "
        "one cluster may depend on each other. Intervals and tests then take whole "
        "clusters, and cross-validation keeps a cluster in one fold",
    )
    parser.add_argument(
        "--multilabel",
        action="store_true",
        help="each example has several labels, each 0 or 1: the columns are label_NAME "
        "and prob_NAME for each label",
    )
    parser.add_argument(
        "--horizon",
        type=_horizon,
        metavar="TIME",
        help="for a survival model, the time by which the event is predicted: the file "
        "has the columns time, event, and survival or risk",
    )
    parser.add_argument(
        "--ignore-index",
        type=int,
        metavar="N",
        help="for a classifier, the label of rows that do not count, such as -100: "
        "they are left out, and a note says how many",
    )
    for option, text in _ROLES:
        parser.add_argument(f"--{option}", metavar="NAME", help=text)
    parser.add_argument(
        "--level",
        type=_level,
        metavar="LEVEL",
        help="for forecasts of Prophet, the level of the interval from yhat_lower to "
        "yhat_upper: 0.8 unless Prophet was told another interval_width",
    )
    parser.add_argument(
        "--season",
        type=_season,
        metavar="TIMES",
        help="for forecasts by quantiles or samples of series in time, the number of "
        "times of a season, such as 7 of days or 12 of months: reports the skill "
        "against the seasonal naive forecast, and scaled scores",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER_FILE",
        action="append",
        default=[],
        help="predictions of another model, best for the same examples in the same "
        "order: the report shows both models side by side and in the pictures, and the "
        "intervals of their differences. Said several times, it shows all models of "
        "the same examples in one table, each metric with the models that may be the "
        "best. If the examples are others, such as examples "
        "of another week, the report says whether the calibration has changed. "
        "Regressions are compared in the same way. For many files, give a folder or a "
        "pattern. Without FILE, OTHER_FILE is compared with the handwritten digits, "
        "which makes sense as an example, or for predictions of these digits",
    )
    parser.add_argument(
        "--unlabelled",
        metavar="FILE2",
        help="new predictions of the same classifier, in the same columns without "
        "labels: reports the shares of the classes there, and the accuracy to expect",
    )
    parser.add_argument(
        "--out",
        type=_path,
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="directory for the files, made if it does not exist (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--num-bins",
        type=_bins,
        default=DEFAULT_NUM_BINS,
        metavar="N",
        help="number of bins (default: %(default)s)",
    )


def add_sketch_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `sketch` to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Writes a summary of predictions, from which `report` makes a report: a file\n"
        "of some hundred kilobytes with sums over five examples or more. From several\n"
        "summaries `report` makes one report on all their examples, and with\n"
        "--compare it says whether calibration has changed; `sketch` adds several\n"
        "summaries to one. The docstring of `um.Summary` lists the contents of a\n"
        "summary."
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument("files", nargs="+", metavar="FILE", help=_FILES)
    _add_choices(parser)
    parser.add_argument(
        "--out",
        required=True,
        type=_path,
        metavar="SUMMARY.npz",
        help="the file to write; an existing file is replaced",
    )
    parser.add_argument(
        "--private",
        type=_epsilon,
        metavar="EPSILON",
        help="make the file differentially private, by noise: the smaller the number, "
        "such as 1, the more noise",
    )


def _epsilon(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a finite number > 0, not {text}")
    return value


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that explain the names in a file."""
    for option, metavar, text in (
        (
            "--label",
            "NAME",
            "the column or array of labels; `votes` for the votes of each class",
        ),
        (
            "--probabilities",
            "NAMES",
            "the columns of predictions in the order of the classes, separated by "
            "commas, or a pattern such as 'p_*'; or the array",
        ),
        (
            "--positive-class",
            "LABEL",
            "for two classes, the label of the event: the report opens with its "
            "probabilities as risks. It never swaps the classes of two columns; a "
            "single column of predictions holds the probability of this label",
        ),
        (
            "--correct",
            "NAME",
            "for answers, the column or array that says whether each answer is right",
        ),
        (
            "--confidence",
            "NAME",
            "for answers, the column or array that says how sure each answer is",
        ),
        (
            "--filter",
            "VALUE",
            "if the column `filter` holds several readings of the same answers, as in "
            "the samples of lm-evaluation-harness, which of them to take",
        ),
    ):
        parser.add_argument(option, metavar=metavar, help=text)
    parser.add_argument(
        "--percent",
        action="store_true",
        help="the confidences of answers are percent: they are divided by 100",
    )
    parser.add_argument(
        "--classes",
        type=_names,
        metavar="NAMES",
        help="the labels in the order of the columns of predictions, separated by "
        "commas",
    )


def choice_of(arguments: argparse.Namespace) -> Choice:
    """Returns what the user has chosen: columns, rows, groups and the like."""
    groups = getattr(arguments, "group", ())  # `sketch` has none.
    return Choice(
        arguments.label,
        arguments.probabilities,
        arguments.classes,
        arguments.positive_class,
        arguments.correct,
        arguments.confidence,
        arguments.percent,
        tuple(dict.fromkeys(groups)),
        getattr(arguments, "horizon", None),
        getattr(arguments, "cluster", None),
        arguments.filter,
        getattr(arguments, "multilabel", False),
        tuple(dict.fromkeys(getattr(arguments, "feature", ()))),
        getattr(arguments, "audit", False),
        getattr(arguments, "level", None),
        ignore_index=getattr(arguments, "ignore_index", None),
        **{option: getattr(arguments, option, None) for option, _ in _ROLES},
    )
