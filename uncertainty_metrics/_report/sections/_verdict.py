"""The verdict of the calibration report: a few tiles, each a finding in a few words.

A finding is "good", "bad", or "unclear" if it is borderline or the examples are too
few. A p-value or an interval decides whether chance alone may explain a number, never
the sign of the number.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics._report.data._risks import is_too_few
from uncertainty_metrics._report.sections._blocks import (
    SIDES,
    model,
    number,
    significant,
)
from uncertainty_metrics._report.sections._calibration_words import (
    capitalized,
    terms_in,
)
from uncertainty_metrics._report.sections._p_values import (
    decimals,
    is_borderline,
    is_clear,
    shown_p_value,
)
from uncertainty_metrics._report.sections._risk import finding
from uncertainty_metrics.numpy import _wilson

# With fewer examples a verdict means almost nothing. Recalibration needs as many.
LEAST = 50
_TOO_FEW = "Too few to say"
_LEVEL = 0.95
_WIDTH = 88
# There are Brier scores of several ranges; the tables of scores define them.
_BRIER_OF_CLASSES = "Brier score (0 to 2)"


class Tile(NamedTuple):
    """A finding.

    Attributes:
      title: the subject.
      value: the finding, a number or a few words.
      detail: a sentence or two with the numbers behind the finding.
      level: "good", "unclear" or "bad".
    """

    title: str
    value: str
    detail: str
    level: str


def tiles(report: dict[str, Any], task: str) -> list[dict[str, str]]:
    """Returns the tiles of the report on one model, as plain dicts."""
    of_task = {
        "classification": _of_classifier,
        "confidences": _of_confidences,
        "regression": _of_regression,
        "survival": _of_survival,
    }[task]
    size = report["data"]["effective_examples"]
    return [_unless_few(tile, size)._asdict() for tile in of_task(report)]


def of_two(comparison: dict[str, Any], source: str, task: str) -> dict[str, str]:
    """Returns the tile of a comparison with the model of another source."""
    if task == "confidences" and "drift" not in comparison:
        return _of_two_confidences(comparison, source)._asdict()
    score, name, show = {
        "regression": ("crps", "CRPS", significant),
        "survival": ("brier_score", "Brier score", number),
    }.get(task, ("brier_score_zero_based", _BRIER_OF_CLASSES, number))
    title = f"Compared with {source}"
    if "drift" in comparison:
        return _drift(comparison["drift"], title)._asdict()
    ends = comparison["differences"].get(score)
    if not ends or ends["low"] is None:
        detail = f"{comparison['examples']} {comparison['verdict']}"
        return Tile(title, "Not comparable", detail, "unclear")._asdict()
    low, high = float(ends["low"]), float(ends["high"])
    value, level = "No clear difference", "unclear"
    if low > 0 or high < 0:
        better, level = ("second", "bad") if low > 0 else ("first", "good")
        value = f"The {better} predicts better"
    first, second = (comparison["numbers"][score][side] for side in SIDES)
    tile = Tile(
        title,
        value,
        f"{name} {show(first)} for the first model and {show(second)} for the second, "
        f"a difference of {show(low)} to {show(high)} with {_LEVEL:.0%} confidence; "
        f"smaller is better. {comparison['verdict']}",
        level,
    )
    return _unless_few(
        tile, comparison["other"]["data"]["effective_examples"]
    )._asdict()


def _drift(section: dict[str, Any], title: str) -> Tile:
    """Returns the tile that compares two files with different examples."""
    finding, otherwise = "Calibration has changed", "No clear change"
    value, level = _graded(section["p_value"], finding, otherwise)
    return Tile(title, value, section["verdict"], level)


def _of_two_confidences(comparison: dict[str, Any], source: str) -> Tile:
    """Returns the tile of two models that say how sure they are.

    A model that is never right and says so has the best Brier score, so the tile does
    not show it.
    """
    better = comparison["more_often_right"]
    value, level = "No clear difference in accuracy", "unclear"
    if better is not None:
        value = f"The {better} is right more often"
        level = "good" if better == "first" else "bad"
    tile = Tile(
        f"Compared with {source}",
        value,
        f"{comparison['quality']} {comparison['verdict']}",
        level,
    )
    size = comparison["other"]["data"]["effective_examples"]
    return _unless_few(tile, size)


def _unless_few(tile: Tile, size: float) -> Tile:
    """Returns the tile; if there are few examples, the tile says this instead."""
    if size >= LEAST:
        return tile
    examples = f"From {size:.4g} example{'s' if size != 1 else ''}: "
    detail = tile.detail if tile.detail.startswith(_TOO_FEW) else examples + tile.detail
    return tile._replace(value=_TOO_FEW, detail=detail, level="unclear")


def _of_classifier(report: dict[str, Any]) -> Iterator[Tile]:
    if "risk" in report:
        yield from _of_risks(report)
        return
    yield _accuracy(report)
    yield _calibration(report)
    yield _against_constant(
        report["scoring_rules"]["constant"],
        _BRIER_OF_CLASSES,
        "the class frequencies",
        number,
    )
    if "recalibration" in report:
        yield _recalibration(report["recalibration"], report["bayesian_ece"]["p_value"])
    if "groups" in report:
        yield _groups(report["groups"])


def _of_risks(report: dict[str, Any]) -> Iterator[Tile]:
    """Yields the tiles of a classifier whose event is named: its decisions come last.

    All tiles on calibration are about the probability of the event, and only the first
    one says in words what is wrong with it.
    """
    section = report["risk"]
    p = report["bayesian_ece"]["p_value"]
    few = is_too_few(section["smaller_class"])
    yield _risks(section, p)
    constant = report["scoring_rules"]["constant"]
    # Half of the sum over both classes.
    halves = {name: constant[name] / 2 for name in ("model", "constant", "gain")}
    score = "Brier score of the event, the mean of (event - risk)^2,"
    against = _against_constant(
        {**constant, **halves}, score, "the share of events", number
    )
    yield against._replace(value=_TOO_FEW, level="unclear") if few else against
    _, level = _graded(p, "", "")
    ece, detail = _error_and_chance(report)
    yield Tile("Calibration error", ece, detail, "unclear" if few else level)
    if "recalibration" in report:
        yield _recalibration(report["recalibration"], min(p, section["p_value"]))
    if "groups" in report:
        yield _groups(report["groups"])
    yield _accuracy(report)


def _of_confidences(report: dict[str, Any]) -> Iterator[Tile]:
    yield _right(report)
    yield _calibration(report)
    yield _against_constant(
        report["scoring_rules"]["constant"], "Brier score", "the accuracy", number
    )
    if "recalibration" in report:
        yield _recalibration(report["recalibration"], report["bayesian_ece"]["p_value"])
    if report["selective_prediction"]["promise"]["verdict"]:
        yield _alone(report)
    if "groups" in report:
        yield _groups(report["groups"])


def _right(report: dict[str, Any]) -> Tile:
    means, direction = (report["calibration"][name] for name in ("means", "direction"))
    accuracy, gap = means["accuracy"], means["accuracy - confidence"]
    confidence = means["mean confidence"]["estimate"]
    low, high = f"{100 * gap['low']:.1f}", f"{100 * gap['high']:.1f}"
    return Tile(
        "How often right",
        f"{accuracy['estimate']:.1%}",
        f"{_LEVEL:.0%} interval {accuracy['low']:.1%} to {accuracy['high']:.1%}. The "
        f"model says {confidence:.1%} on average; the gap is "
        f"{100 * gap['estimate']:.1f} percentage points ({low} to {high}).",
        "bad" if direction else "good",
    )


def _alone(report: dict[str, Any]) -> Tile:
    """Returns the tile that says above which confidence a model may answer alone."""
    risk = report["selective_prediction"]["risk"]
    promise = report["selective_prediction"]["promise"]
    title, rows = f"Answering alone at {risk:.0%} risk", promise["metrics"]
    if not rows:
        return Tile(title, "Nothing promised", promise["verdict"], "unclear")
    threshold, share = (row["value"] for row in rows.values())
    if not np.isfinite(threshold):
        return Tile(title, "At no confidence", promise["verdict"], "bad")
    value = f"Above {promise['above']:.4g}" if threshold else "Everything"
    sentence, _, _ = promise["verdict"].partition(" The threshold of")
    return Tile(title, value, sentence, "good" if share >= 0.5 else "unclear")


def _groups(section: dict[str, Any]) -> Tile:
    miscalibrated, tested = section["miscalibrated"], section["tested"]
    value, level, detail = "None clearly miscalibrated", "good", section["verdict"]
    if not tested:
        value, level = _TOO_FEW, "unclear"
    elif miscalibrated:
        value, level = f"{len(miscalibrated)} of {tested} miscalibrated", "bad"
        _, _, detail = detail.partition(". ")  # The value says the first sentence.
    chance = ""
    if tested:
        chance = (
            " A calibrated model has a finding in at most "
            f"{1 - section['level']:.0%} of data sets."
        )
    return Tile("Groups", value, f"{detail}{chance}", level)


def _accuracy(report: dict[str, Any]) -> Tile:
    accuracy = report["calibration"]["accuracy"]
    share = report["scoring_rules"]["constant"]["largest_share"]
    size = report["data"]["effective_examples"]
    low, high = _wilson.interval(np.float64(accuracy), np.float64(size), _LEVEL)
    level = "good" if low > share else "bad" if high < share else "unclear"
    digits = decimals(high - low) - 2  # Of a percentage.
    return Tile(
        "Accuracy",
        f"{accuracy:.{digits}%}",
        f"{_LEVEL:.0%} interval {low:.{digits}%} to {high:.{digits}%}. Always deciding "
        f"for the most frequent class: {share:.{digits}%}.",
        level,
    )


def _graded(p: float, finding: str, otherwise: str) -> tuple[str, str]:
    """Returns the finding for a p-value, and the level of the tile."""
    if is_clear(p):
        return finding, "bad"
    if is_borderline(p):
        return "Borderline", "unclear"
    return otherwise, "good"


def _calibrated(p: float, direction: str | None) -> tuple[str, str]:
    """Returns the finding on calibration; the direction is a word such as
    "overconfident", or empty.
    """
    finding = capitalized(direction) if direction else "Miscalibrated"
    return _graded(p, finding, "May be calibrated")


def _error_and_chance(report: dict[str, Any]) -> tuple[str, str]:
    """Returns the calibration error, and a sentence with what chance alone gives."""
    posterior, event = report["bayesian_ece"], report["calibration"]["event"]
    interval, p = posterior["interval"], posterior["p_value"]
    ece = report["calibration"]["metrics"]["ece"]["value"]
    digits = decimals(interval["high"] - interval["low"])
    shown, low, high, chance = (
        f"{each:.{digits}f}"
        for each in (ece, interval["low"], interval["high"], posterior["ece_by_chance"])
    )
    of_event = "" if event is None else f" of {terms_in(report).score}"
    return shown, (
        f"Calibration error (ECE){of_event} {shown}; with {interval['level']:.0%} "
        f"probability {low} to {high}. A calibrated model would show up to {chance} "
        f"here; p {shown_p_value(p)} for this value."
    )


def _calibration(report: dict[str, Any]) -> Tile:
    p, section = report["bayesian_ece"]["p_value"], report["calibration"]
    value, level = _calibrated(p, section["direction"])
    return Tile("Calibration", value, _error_and_chance(report)[1], level)


def _against_constant(
    section: dict[str, Any], score: str, forecast: str, show: Any
) -> Tile:
    constant, p = section["constant"], section["p_value"]
    detail = (
        f"{score} {show(section['model'])}; always forecasting {forecast} gives "
        f"{show(constant)}. Smaller is better."
    )
    share = section["gain"] / constant if constant > 0 else 0.0
    better, worse = f"{share:.0%} better", f"{-share:.0%} worse"
    if constant == 0:
        value, level = "Nothing to compare", "unclear"
        detail = f"All outcomes are the same. {detail}"
    elif is_clear(p):
        value, level = (better, "good") if share > 0 else (worse, "bad")
    elif is_borderline(p):
        value, level = "Borderline", "unclear"
    else:
        value, level = "Not clearly better", "unclear"
    if constant > 0:
        detail += f" A difference this large by chance has p {shown_p_value(p)}."
    return Tile("Against a constant forecast", value, detail, level)


def _recalibration(section: dict[str, Any], p: float) -> Tile:
    """Returns the tile of the best map; p is from the test of calibration."""
    needs = section.get("needs_recalibration")
    if needs is None:
        return Tile("Recalibration", _TOO_FEW, section["verdict"], "unclear")
    value, level = "Would help", "bad"
    if not needs:
        # A model may be miscalibrated, for example for some groups, and yet no map of
        # its confidences makes it calibrated.
        value, level = "Not clearly needed", "good"
        if is_clear(p):
            value, level = "No map clearly helps", "unclear"
    best = section["best"]
    before, after = (
        section["scores"][name][section["criterion"]] for name in ("as it is", best)
    )
    gain = section["gains"][best]
    likelihood = section["criterion"] == "negative_log_likelihood"
    score = "negative log-likelihood" if likelihood else "Brier score"
    if section["criterion"] == "brier_score_zero_based":
        score = _BRIER_OF_CLASSES
    return Tile(
        "Recalibration",
        value,
        f"The best map ({best}) takes the {score} from {number(before)} to "
        f"{number(after)} on examples that it was not fitted to; within two standard "
        f"errors, the gain is {number(gain['low'])} to {number(gain['high'])}.",
        level,
    )


# Of a regression.


def _of_regression(report: dict[str, Any]) -> Iterator[Tile]:
    yield _error(report)
    yield _coverage(report)
    yield _against_constant(
        report["scoring_rules"]["constant"],
        "CRPS",
        "mean and standard deviation of the targets",
        significant,
    )
    yield _temperature(report)


def _error(report: dict[str, Any]) -> Tile:
    rmse = report["scoring_rules"]["metrics"]["rmse"]["value"]
    constant = report["scoring_rules"]["constant"]["stddev"]
    ends = report["intervals"]["metrics"].get("rmse")
    interval, level = "", "unclear"
    if ends:
        low, high = ends["low"], ends["high"]
        level = "good" if high < constant else "bad" if low > constant else "unclear"
        interval = f" {_LEVEL:.0%} interval {significant(low)} to {significant(high)}."
    return Tile(
        "Error",
        significant(rmse),
        f"Root mean squared error.{interval} Always predicting the mean of the "
        f"targets: {significant(constant)}.",
        level,
    )


def _coverage(report: dict[str, Any]) -> Tile:
    section, temperature = report["calibration"], report["recalibration"]
    p, factor = section["p_value"], temperature["metrics"]["stddev_factor"]["value"]
    error = section["metrics"]["ece"]["value"]
    direction = temperature["direction"]
    value, level = _calibrated(p, direction and f"{direction}confident")
    least, most = (bound**0.5 for bound in temperature["temperature_by_chance"])
    return Tile(
        "Calibration",
        value,
        f"Coverage and level of the intervals differ by {error:.3f} on average; a "
        f"calibrated model would show up to {section['ece_by_chance']:.3f} here; p "
        f"{shown_p_value(p)} for this value. Errors are {factor:.3g} times as "
        f"large as predicted; chance alone gives {least:.3g} to {most:.3g} times.",
        level,
    )


def _temperature(report: dict[str, Any]) -> Tile:
    from scipy import special

    section = report["recalibration"]
    metrics = section["metrics"]
    factor = metrics["stddev_factor"]["value"]
    # n T of calibrated Normal forecasts is chi-squared with n degrees of freedom.
    n = report["data"]["effective_examples"]
    tails = (f(n, n * factor**2) for f in (special.chdtr, special.chdtrc))
    p = 2 * min(tails) if section["direction"] else 1.0
    value, level = _graded(p, "Would help", "Not clearly needed")
    after = metrics.get("recalibrated_nll")
    likelihood = ""
    if after:
        before = report["scoring_rules"]["metrics"]["negative_log_likelihood"]["value"]
        likelihood = (
            " This factor takes the negative log-likelihood from "
            f"{significant(before)} to {significant(after['value'])} on the same "
            "data."
        )
    return Tile(
        "Recalibration",
        value,
        f"The best factor of all standard deviations is {significant(factor)}."
        f"{likelihood}",
        level,
    )


# Of risks, and of a survival model.


def _risks(section: dict[str, Any], p_of_ece: float) -> Tile:
    """Returns the tile on the calibration of risks.

    Intercept and slope do not see every error, so the test of the ECE counts as well.
    """
    p, title = section["p_value"], f"As a risk of {section['event']}"
    if is_too_few(section["smaller_class"]):
        return Tile(title, _TOO_FEW, section["verdict"], "unclear")
    value, level = _graded(p, capitalized(section["finding"]), "May be calibrated")
    curved = ""
    if level == "good" and is_clear(p_of_ece):
        value, level = "Miscalibrated", "bad"
        curved = " They do not show it, but the calibration error does: see the curve."
    return Tile(
        title,
        value,
        f"{_shown_intervals(section)} The intercept and slope of a calibrated model "
        f"differ this much from 0 and 1 with p {shown_p_value(p)}.{curved}",
        level,
    )


def _shown_intervals(section: dict[str, Any]) -> str:
    """Returns a sentence with the numbers of calibration."""
    shown = []
    for name, title in (
        ("observed_expected_ratio", "O/E"),
        ("calibration_intercept", "intercept"),
        ("calibration_slope", "slope"),
        ("auroc", "AUROC"),
    ):
        ends = section["intervals"][name]
        if ends["estimate"] is not None:
            shown.append(f"{title} {_with_ends(ends)}")
    return f"{', '.join(shown)}."


def _with_ends(ends: dict[str, Any]) -> str:
    if ends["low"] is None or ends["high"] is None:
        return f"{ends['estimate']:.3g}"
    return f"{ends['estimate']:.3g} ({ends['low']:.3g} to {ends['high']:.3g})"


def _of_survival(report: dict[str, Any]) -> Iterator[Tile]:
    section, horizon = report["risk"], report["data"]["horizon"]
    intervals = section["intervals"]
    sides = {
        name: _side(intervals[name], value)
        for name, value in (("calibration_slope", 1), ("calibration_intercept", 0))
    }
    off = [name for name, side in sides.items() if side]
    value, level = "May be calibrated", "good"
    if off:
        estimate = intervals[off[0]]["estimate"]
        value, level = finding(off[0], estimate).capitalize(), "bad"
    elif intervals["calibration_slope"]["low"] is None:
        value, level = _TOO_FEW, "unclear"
    if is_too_few(section["smaller_class"]):
        value, level = _TOO_FEW, "unclear"
    yield Tile(
        f"Risks by time {horizon:g}",
        value,
        f"{_shown_intervals(section)} {_LEVEL:.0%} intervals by the bootstrap.",
        level,
    )
    ends, uno = intervals["harrell_c"], intervals["uno_c"]
    if ends["estimate"] is not None:
        side = _side(ends, 0.5)
        also = "" if uno["estimate"] is None else f"; Uno's {_with_ends(uno)}"
        yield Tile(
            "Concordance",
            f"C = {ends['estimate']:.3f}",
            f"Harrell's {_with_ends(ends)}{also}. 0.5 is what a risk gives that tells "
            "nothing.",
            {1: "good", 0: "unclear", -1: "bad"}[side],
        )
    brier, scaled = intervals["brier_score"], section["metrics"]["scaled_brier_score"]
    if scaled["value"] is not None:
        share = scaled["value"]
        constant = brier["estimate"] / (1 - share)
        value, level = "Not clearly better", "unclear"
        # The best constant of these data fits their noise: its square error is less
        # than that of the true rate by up to about this share.
        fitted = 1 + 4 / report["data"]["effective_examples"]
        if _side(brier, constant) < 0:
            value, level = f"{share:.0%} better", "good"
        elif _side(brier, fitted * constant) > 0:
            value, level = f"{-share:.0%} worse", "bad"
        yield Tile(
            "Against a constant forecast",
            value,
            f"Brier score {_with_ends(brier)}, weighted for censoring; the same risk "
            f"for all gives {number(constant)}. Smaller is better.",
            level,
        )


def _side(ends: dict[str, Any], value: float) -> int:
    """Returns 1 if an interval lies above a value, -1 if below it, else 0."""
    if ends["low"] is None or ends["high"] is None:
        return 0
    return int(ends["low"] > value) - int(ends["high"] < value)


# Shown.


def as_text(report: dict[str, Any]) -> str:
    """Returns the verdict as text."""
    return "\n".join([f"Calibration report: {source(report)}", "", *lines(report)])


def source(report: dict[str, Any]) -> str:
    """Returns the name of the model, and the number of its examples."""
    return f"{model(report)}, {report['data']['examples']:,} examples"


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of the tiles, and then of the notes."""
    for tile in report["tiles"]:
        yield f"{tile['title']}: {tile['value']}"
        yield from _wrapped(tile["detail"], "  ")
    for note in report["notes"]:
        yield from _wrapped(f"Note: {note}")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_html(report: dict[str, Any]) -> str:
    """Returns the verdict as HTML: tiles, whose classes give the style, and notes."""
    parts = ['<ul class="verdict" aria-label="Verdict">']
    for tile in report["tiles"]:
        title, value, detail = (
            # No line may break within `p = 0.001`.
            re.sub(r"p (=|&lt;) ", r"p&nbsp;\1&nbsp;", html.escape(tile[name]))
            for name in ("title", "value", "detail")
        )
        parts.append(
            f'<li class="tile {tile["level"]}"><p class="title">{title}</p>'
            f'<p class="value">{value}</p><p class="detail">{detail}</p></li>'
        )
    notes = (f"<p>Note: {html.escape(note)}</p>" for note in report["notes"])
    return "\n".join([*parts, "</ul>", *notes])
