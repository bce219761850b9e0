"""The calibration report: predictions in a file become text, pictures and JSON.

Three steps, apart: `read_predictions` makes arrays of a file, `build` makes a report of
the arrays, a dict of plain numbers and strings with a key per section, and `render`,
`draw` and `write` show that dict. Another section is another key and its rendering.

The sections:

  calibration           the calibration errors and the reliability diagram
  bayesian_ece          the posterior of the ECE: its mean, median and 95% interval
  scoring_rules         Brier score, its parts, and negative log-likelihood
  intervals             95% bootstrap intervals of accuracy, ECE and scoring rules
  selective_prediction  AURC and more: does confidence tell right from wrong decisions?
  ensemble              only where a file holds the predictions of several members, the
                        mean of which is what all other sections are of
  comparison            only where a second file is given: both models side by side,
                        and the intervals of the difference, of the same examples

The files, written on every run: `reliability_diagram.png`; `risk_coverage_diagram.png`
and `posteriors.png`, the posterior of the ECE, of both models where there are two; and
`report.json`, the dict.
The JSON is strict: an infinite number is the string "inf" or "-inf", and null is what
is not defined, such as the mean of nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.resources
import io
import json
import pathlib
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._predictions import (
    FILE_FORMAT,
    Predictions,
    ReportError,
    read_predictions,
)
from uncertainty_metrics._sections import (
    SIDES,
    arguments_of,
    build,
    ece_draws,
    errors_naming,
)
from uncertainty_metrics._sections_intervals import INTERVAL_LEVEL
from uncertainty_metrics._spec import DEFAULT_NUM_BINS

SHIPPED = "digits_predictions.npz"
DEFAULT_DIRECTORY = "uncertainty_report"

_SHIPPED_REMARK = " (shipped with the package)"
_WIDTH = 88

_MAX_BINS = 10_000


def render(report: dict[str, Any]) -> str:
    """Returns the report as text."""
    blocks = [
        ["Calibration report"],
        _render_facts(report),
        _filled(report["calibration"]["verdict"]),
        _render_calibration(report["calibration"], report["options"]["num_bins"]),
        _filled(report["bayesian_ece"]["verdict"]),
        *_render_scoring_rules(report["scoring_rules"]),
        _filled(report["intervals"]["verdict"]),
        *_render_intervals("", report["intervals"]["metrics"]),
        _filled(report["selective_prediction"]["verdict"]),
        _table("selective prediction", report["selective_prediction"]["metrics"]),
    ]
    if "ensemble" in report:
        blocks += _render_ensemble(report["ensemble"])
    notes = [f"Note: {note}" for note in report["notes"]]
    if "comparison" in report:
        blocks += _render_comparison(report)
        notes += [
            f"Note on the second: {note}"
            for note in report["comparison"]["other"]["notes"]
        ]
    if notes:
        blocks.append([line for note in notes for line in _filled(note)])
    return "\n\n".join("\n".join(block) for block in blocks)


def _filled(text: str) -> list[str]:
    # A name, such as that of a file, is never broken.
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _render_facts(report: dict[str, Any]) -> list[str]:
    data, section = report["data"], report["calibration"]
    facts = {
        "predictions": _model(report),
        "examples": data["examples"],
        "classes": data["classes"],
        "accuracy": f"{section['accuracy']:.4f}",
        "mean confidence": f"{section['mean_confidence']:.4f}",
    }
    return [f"  {name:<16} {value}" for name, value in facts.items()]


def _model(report: dict[str, Any]) -> str:
    """Returns what the report is of."""
    members = report["data"]["members"]
    mean = f", the mean of {members} members" if members > 1 else ""
    return f"{report['source']}{mean}"


def _table(title: str, rows: dict[str, dict[str, Any]]) -> list[str]:
    values = ["value", *(_number(row["value"]) for row in rows.values())]
    meanings = ["meaning", *(row["meaning"] for row in rows.values())]
    names = [title, *rows]
    name_width, width = (max(map(len, column)) for column in (names, values))
    return [
        f"  {name:<{name_width}}  {value:>{width}}  {meaning}"
        for name, value, meaning in zip(names, values, meanings, strict=True)
    ]


def _render_calibration(section: dict[str, Any], num_bins: int) -> list[str]:
    return [
        *_table("metric", section["metrics"]),
        "",
        f"All are in [0, 1], 0 is best; {num_bins} bins. "
        "Bins of few examples tend to make them too large.",
    ]


def _render_scoring_rules(section: dict[str, Any]) -> Iterator[list[str]]:
    yield _table("score", section["metrics"])
    yield [
        "The Brier score is made up of:",
        "",
        *(
            f"  {row['sign']} {name:<21}  {row['value']:>7.4f}  {row['meaning']}"
            for name, row in section["brier_parts"].items()
        ),
        f"  = {'brier_score':<21}  {section['sum_of_brier_parts']:>7.4f}",
    ]


def _render_intervals(
    title: str, rows: dict[str, dict[str, Any]]
) -> Iterator[list[str]]:
    if rows:
        yield [
            _cells(title, ("value", "from", "to")),
            *(
                _cells(name, (_number(row[k]) for k in ("estimate", "low", "high")))
                for name, row in rows.items()
            ),
        ]


def _render_ensemble(section: dict[str, Any]) -> Iterator[list[str]]:
    yield _filled(section["verdict"])
    columns = ("mean", "lowest", "highest", "ensemble")
    yield [
        _cells(f"of {section['members']} members", columns),
        *(
            _cells(name, (_number(row.get(column, "")) for column in columns))
            for name, row in section["metrics"].items()
        ),
    ]
    yield _table("uncertainty", section["uncertainty"])


def _render_comparison(report: dict[str, Any]) -> Iterator[list[str]]:
    section = report["comparison"]
    yield ["Comparison of two models"]
    models = (_model(report), _model(section["other"]))
    yield [
        *(f"  {side:<6}  {name}" for side, name in zip(SIDES, models, strict=True)),
        "",
        *_filled(section["examples"]),
    ]
    rows = {
        **section["numbers"],
        "P(lower ece)": section["probability_of_lower_calibration_error"],
    }
    yield [
        _cells("", SIDES),
        *(
            _cells(name, (_number(row[side]) for side in SIDES))
            for name, row in rows.items()
        ),
    ]
    yield _filled(f"{section['verdict']} {section['quality']}")
    if section["differences"]:
        yield _filled(
            "The first less the second, with intervals by the bootstrap of the same "
            "examples for both. Where one holds 0, either may be better."
        )
        yield from _render_intervals("first - second", section["differences"])


def _cells(name: str, cells: Iterable[str]) -> str:
    return "  ".join([f"  {name:<23}", *(f"{cell:>8}" for cell in cells)]).rstrip()


def _number(value: float | str | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int | str) else f"{value:.4f}"


def draw(
    predictions: Predictions,
    num_bins: int = DEFAULT_NUM_BINS,
    other: Predictions | None = None,
) -> dict[str, Any]:
    """Draws the pictures of the report.

    Args:
      predictions: labels and predictions.
      num_bins: number of bins.
      other: those of another model, to compare.

    Returns:
      From the name of each file to its matplotlib Figure, unknown to pyplot.

    Raises:
      ReportError: matplotlib is not installed.
    """
    models = _named(predictions, other)
    with errors_naming(predictions.source):
        return {
            "reliability_diagram.png": _draw_reliability(predictions, num_bins),
            "risk_coverage_diagram.png": _draw_risk_coverage(models),
            "posteriors.png": _draw_posteriors(models, num_bins),
        }


def _named(
    predictions: Predictions, other: Predictions | None
) -> dict[str, Predictions]:
    """Returns the models by their names in a legend."""
    models = [predictions] if other is None else [predictions, other]
    names = [_short_name(model.source) for model in models]
    if len(set(names)) < len(names):
        names = SIDES
    return dict(zip(names, models, strict=True))


def _short_name(source: str) -> str:
    name = pathlib.PurePath(source.removesuffix(_SHIPPED_REMARK)).name
    return name if len(name) <= 30 else f"{name[:12]}...{name[-15:]}"


def _draw_reliability(predictions: Predictions, num_bins: int) -> Any:
    figure = _figure(5.5, 6.8)
    ax = um.reliability_diagram(
        **arguments_of(predictions),
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        title="Reliability diagram",
        ax=figure.add_subplot(),
    )
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2,
        fontsize="small",
    )
    return figure


def _draw_risk_coverage(models: dict[str, Predictions]) -> Any:
    arguments = {name: arguments_of(model) for name, model in models.items()}
    if len(arguments) == 1:
        (arguments,) = arguments.values()
    else:  # The models may be of different examples, and of different kinds.
        arguments = {
            key: {name: of_model.get(key) for name, of_model in arguments.items()}
            for key in ("labels", "probabilities", "logits", "sample_weight")
        }
    figure = _figure(6.4, 4.8)
    um.risk_coverage_diagram(
        **arguments, title="Risk-coverage diagram", ax=figure.add_subplot()
    )
    return figure


def _draw_posteriors(models: dict[str, Predictions], num_bins: int) -> Any:
    from uncertainty_metrics.visualization import posterior

    figure = _figure(6.4, 4.4)
    posterior.draw_posteriors(
        {name: ece_draws(model, num_bins) for name, model in models.items()},
        title=f"Posterior of the ECE, {num_bins} bins",
        ax=figure.add_subplot(),
    )
    return figure


def _figure(width: float, height: float) -> Any:
    module = _optional.require("matplotlib.figure", extra="plot")
    return module.Figure(figsize=(width, height), layout="constrained")


def write(
    report: dict[str, Any], figures: Mapping[str, Any], directory: str | pathlib.Path
) -> list[pathlib.Path]:
    """Writes the pictures and the numbers.

    Args:
      report: of `build`.
      figures: of `draw`.
      directory: where to; made if it is not there.

    Returns:
      The files written.

    Raises:
      ReportError: they cannot be written.
    """
    directory = pathlib.Path(directory)
    # All of them before the first is written, so that none is written if one fails.
    with errors_naming(report["source"]):
        contents = {directory / name: _png(figure) for name, figure in figures.items()}
    text = json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False)
    contents[directory / "report.json"] = f"{text}\n".encode()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            path.write_bytes(content)
    except OSError as failed:
        raise ReportError(
            f"{directory}: cannot write there: {failed.strerror or failed}"
        ) from None
    return list(contents)


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        # The name of a file may have letters that the font has not.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(file, dpi=150, format="png")
    return file.getvalue()


def run(
    file: str | None = None,
    out: str = DEFAULT_DIRECTORY,
    num_bins: int = DEFAULT_NUM_BINS,
    compare: str | None = None,
) -> str:
    """Makes the report of a file, or of the shipped predictions, and writes it.

    Args:
      file: predictions, .npz or .csv; None for those shipped with the package.
      out: directory for the pictures and the numbers.
      num_bins: number of bins.
      compare: predictions of another model, to compare.

    Returns:
      The text to show.

    Raises:
      ReportError: something the user can put right.
    """
    predictions = _read_shipped() if file is None else read_predictions(file)
    other = None if compare is None else read_predictions(compare)
    report = build(predictions, num_bins, other)
    written = write(report, draw(predictions, num_bins, other), out)
    return "\n".join([render(report), "", *(f"Wrote {path}" for path in written)])


def _read_shipped() -> Predictions:
    shipped = importlib.resources.files("uncertainty_metrics.data") / SHIPPED
    with importlib.resources.as_file(shipped) as path:
        predictions = read_predictions(path)
    return dataclasses.replace(predictions, source=f"{SHIPPED}{_SHIPPED_REMARK}")


def _bins(text: str) -> int:
    try:
        num_bins = int(text)
    except ValueError:
        num_bins = 0
    if not 1 <= num_bins <= _MAX_BINS:
        raise argparse.ArgumentTypeError(
            f"must be an integer in [1, {_MAX_BINS}]. Received: {text!r}"
        )
    return num_bins


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the report to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Reports the calibration of a classifier: calibration errors, the posterior\n"
        "of the expected calibration error (Bayesian ECE), Brier score with its\n"
        "parts, negative log-likelihood, bootstrap intervals, and how well\n"
        "confidence tells right decisions from wrong ones; of an ensemble, what\n"
        "averaging gives. Writes\n"
        "\n"
        "  reliability_diagram.png    accuracy against confidence, with error bars,\n"
        "                             and where chance leaves a calibrated model\n"
        "  risk_coverage_diagram.png  the error of the most confident, against their\n"
        "                             share; of both models of --compare\n"
        "  posteriors.png             the posterior of the ECE; of both models of\n"
        "                             --compare, with their overlap\n"
        '  report.json                all numbers; an infinite one is the string "inf"'
    )
    parser.epilog = FILE_FORMAT
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="labels and predictions, .npz or .csv (default: predictions of "
        "handwritten digits that come with the package)",
    )
    parser.add_argument(
        "--compare",
        metavar="OTHER_FILE",
        help="predictions of another model, at best of the same examples in the same "
        "order: shows both models side by side, the probability that each has the "
        "lower calibration error, and both in the pictures; only the reliability "
        "diagram stays that of FILE. Without FILE they are compared with "
        "the handwritten digits, which makes sense as an example, or for predictions "
        "of these digits",
    )
    parser.add_argument(
        "--out",
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="where to write, made if it is not there (default: %(default)s)",
    )
    parser.add_argument(
        "--num-bins",
        type=_bins,
        default=DEFAULT_NUM_BINS,
        metavar="N",
        help="number of bins (default: %(default)s)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit code: 0, or 2 for what the user can fix."""
    try:
        text = run(arguments.file, arguments.out, arguments.num_bins, arguments.compare)
    except ReportError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    print(text)
    return 0
