"""The section on a model of several labels of each example."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._label_scores import (
    LabelExamples,
    label_examples,
    name_in,
    table_of_labels,
)
from uncertainty_metrics._report.data._predictions import MultiLabel
from uncertainty_metrics._report.data._row_clusters import error_of_mean, quantile_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    intervals_table,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    ON_PICTURES,
    terms_of,
)
from uncertainty_metrics._report.sections._constant_forecast import (
    GainOverConstant,
    against_constant,
    tile_of_gain,
)
from uncertainty_metrics._report.sections._diagrams import drawn
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    ReportPicture,
    Section,
)

# With more labels, the table and the picture show those with the smallest p-values.
_SHOWN = 40
_LONGEST = 24
_ON_TESTS = (
    "The test of a label asks whether its probabilities are right at every score "
    "(Kuiper), not only on average. Many labels are many chances to find something: "
    "the p-values are adjusted for all {number} labels (Holm), so that a calibrated "
    "model has a finding in at most 5% of data sets. Each interval is for one label by "
    "itself, not adjusted, so it may leave out 0 beside a large p. `error` is the "
    "calibration error (l2) of P(label) without its bias, `ECE` the usual one, which "
    "noise makes too large."
)


@dataclasses.dataclass(frozen=True)
class LabelRow:
    """The numbers of one label; None where one is not defined.

    Attributes:
      name: of the label.
      share: share of the examples that have it.
      mean_probability: mean predicted probability.
      brier_score: mean of (label - probability)^2.
      ece: calibration error of its probability.
      calibration_error: the l2 error without bias, with its interval.
      auroc: how well its probability ranks the examples, with its interval.
      p_value: of the test of calibration at every score; None if it is not tested.
      adjusted_p_value: the same, adjusted for the number of labels.
    """

    name: str
    share: float
    mean_probability: float
    brier_score: float
    ece: float
    calibration_error: Interval
    auroc: Interval | None
    p_value: float | None
    adjusted_p_value: float | None

    @property
    def gap(self) -> float:
        return self.share - self.mean_probability


def _draw_errors(models: dict[str, MultiLabel], num_bins: int) -> Any:
    """Draws the calibration error of each label with its interval."""
    from uncertainty_metrics.visualization import _series

    (model,) = models.values()
    rows = _rows_of(model, num_bins)
    wrong = {
        name_in(group.attributes)
        for group in table_of_labels(model, INTERVAL_LEVEL).miscalibrated
    }
    rows = sorted(rows[:_SHOWN], key=lambda row: -(row.calibration_error.estimate or 0))

    def draw_on(ax: Any) -> None:
        for place, row in enumerate(rows):
            error, is_wrong = row.calibration_error, row.name in wrong
            color = _series.color(1) if is_wrong else "0.45"
            tip = f"{row.name}: error {error.shown()}, share {row.share:.3f}"
            ends = [0 if x is None else x for x in (error.low, error.high)]
            marks = ax.plot(ends, [place, place], color=color)
            estimate = error.estimate or 0
            marks += ax.plot([estimate], [place], "o", color=color, clip_on=False)
            for mark in marks:
                _series.set_tips(mark, tip)
        names = [_series.plain(_shortened(row.name)) for row in rows]
        ax.set_yticks(range(len(rows)), names)
        ax.set_ylim(len(rows) - 0.5, -0.5)  # The first on top.
        ax.set_xlim(left=-0.02 * ax.get_xlim()[1])  # Room for a point at 0.
        ax.set_xlabel("Calibration error of P(label)", loc="right")
        ax.set_title("Calibration by label", fontsize="medium")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)

    return drawn(1.4 + 0.27 * len(rows), draw_on)


def _rows_of(model: MultiLabel, num_bins: int) -> list[LabelRow]:
    return Labels.of(ModelReport(model, num_bins)).rows


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - len("...")) // 2
    return f"{name[:half]}...{name[-half:]}"


def _draw_worst(models: dict[str, MultiLabel], num_bins: int) -> Any:
    """Draws the reliability diagram of the label with the smallest p-value."""
    (model,) = models.values()
    table, given = table_of_labels(model, INTERVAL_LEVEL), label_examples(model)
    name = name_in(table[0].attributes)
    place = model.names.index(name)
    return drawn(
        6.2,
        um.reliability_diagram,
        labels=given.labels[:, place].astype(np.int64),
        probabilities=given.probabilities[:, place],
        sample_weight=given.weights,
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        seed=SEED,
        positive_class=True,
        title=f"Reliability diagram of {_shortened(name)}",
    )


ERRORS_OF_LABELS = ReportPicture(
    "calibration_by_label_diagram.png",
    "the calibration error of each label, with its interval",
    _draw_errors,
)
WORST_LABEL = ReportPicture(
    "reliability_diagram.png",
    "of the label with the smallest p-value, its share against its probability, with "
    "error bars, and a band for a calibrated model",
    _draw_worst,
)


@dataclasses.dataclass(frozen=True)
class Labels(Section):
    """Each of several labels, and the means over them.

    Attributes:
      verdict: a sentence or two.
      tested: number of labels that are tested.
      miscalibrated: names of the labels that the data show to be miscalibrated.
      means: means over the labels, with intervals over the examples where there are.
      constant: the mean Brier score against that of the share of each label.
      rows: the labels, those with the smallest p-values first.
    """

    name = "labels"
    heading = "Labels"
    tasks = ("multilabel",)
    pictures = (ERRORS_OF_LABELS, WORST_LABEL)

    verdict: str
    tested: int
    miscalibrated: list[str]
    means: dict[str, Interval]
    constant: GainOverConstant
    rows: list[LabelRow]

    @classmethod
    def of(cls, report: ModelReport) -> Labels:
        model, num_bins = report.model, report.num_bins
        given, table = label_examples(model), table_of_labels(model, INTERVAL_LEVEL)
        places = {name: place for place, name in enumerate(model.names)}
        rows = []
        for group in table:
            name = name_in(group.attributes)
            rows.append(
                _row(
                    *(name, given, places[name], num_bins),
                    *(_defined(group.p_value), _defined(group.adjusted_p_value)),
                )
            )
        wrong = [name_in(group.attributes) for group in table.miscalibrated]
        tested = len(table.tested)
        return cls(
            _verdict(rows, wrong, tested),
            tested,
            wrong,
            _means(given, rows),
            _against_shares(given),
            rows,
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        value, level, detail = "None clearly miscalibrated", "good", self.verdict
        if not self.tested:
            value, level = TOO_FEW_TO_SAY, "unclear"
        elif self.miscalibrated:
            value = f"{len(self.miscalibrated)} of {self.tested} labels miscalibrated"
            level = "bad"
            _, _, detail = detail.partition(". ")  # The value says the first sentence.
        if self.tested:
            detail += " A calibrated model has a finding in at most 5% of data sets."
        yield Tile("Calibration", value, detail, level)
        score = "Brier score, the mean over the labels of (label - probability)^2,"
        yield tile_of_gain(
            self.constant, score, "the share of each label", number
        )._replace(title="Against the shares of the labels")
        ranked = [(row.name, row.auroc) for row in self.rows if row.auroc is not None]
        if ranked:
            name, auroc = min(ranked, key=lambda pair: float(pair[1].estimate))
            yield Tile(
                "Ranking",
                f"Mean AUROC {self.means['auroc'].estimate:.3f}",
                f"The lowest is that of {name}, {auroc.estimate:.3f} "
                f"({auroc.low:.3f} to {auroc.high:.3f}). 0.5 is what a probability "
                "gives that tells nothing.",
                "good" if (auroc.low or 0) > 0.5 else "unclear",
            )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield intervals_table("Means over the labels", "mean", self.means)
        shown = self.rows[:_SHOWN]
        yield ERRORS_OF_LABELS.block(
            f"Calibration error of each label, with its interval. {self.verdict}",
            "The calibration error (l2, without bias) of the probability of each "
            "label, the largest on top; 0 is best. Labels in color are miscalibrated "
            "by more than chance, although all labels are tested.",
        )
        yield Table(
            "Single labels",
            "label",
            ("error", "p (Holm)", "from", "to", "share", "mean p", "ECE", "Brier",
             "AUROC"),
            [_cells(row) for row in shown],
        )  # fmt: skip
        if len(self.rows) > len(shown):
            yield Text(f"{len(self.rows) - len(shown)} more labels are in report.json.")
        yield Text(_ON_TESTS.format(number=len(self.rows)))
        first = self.rows[0].name
        caption = (
            f"The label with the smallest p-value, {first}: below the diagonal its "
            "probabilities are too high, above it too low. The band shows where chance "
            "alone puts a calibrated model."
        )
        if report.model.clusters is not None:
            caption += ON_PICTURES
        yield WORST_LABEL.block(f"Reliability diagram of {first}.", caption)


def _defined(value: float) -> float | None:
    """Returns None for NaN."""
    return None if value != value else value


def _row(
    name: str,
    given: LabelExamples,
    place: int,
    num_bins: int,
    p: float | None,
    adjusted: float | None,
) -> LabelRow:
    data = given.of(place)
    labels, scores, weights = data.values()
    error = interval(np.nan, np.nan, np.nan)
    if len(labels) > 1:
        ends = um.calibration_error_interval(
            **data, num_bins=num_bins, level=INTERVAL_LEVEL, clusters=given.clusters
        )
        error = interval(*ends)
    auroc = None
    if 0 < labels.sum() < len(labels):
        lower, estimate, upper, *_ = um.auroc_interval(
            labels,
            scores,
            level=INTERVAL_LEVEL,
            sample_weight=weights,
            clusters=given.clusters,
        )
        auroc = interval(lower, estimate, upper)
    return LabelRow(
        name,
        float(np.average(labels, weights=weights)),
        float(np.average(scores, weights=weights)),
        float(np.average((labels - scores) ** 2, weights=weights)),
        um.ece(**data, num_bins=num_bins),
        error,
        auroc,
        p,
        adjusted,
    )


def _means(given: LabelExamples, rows: list[LabelRow]) -> dict[str, Interval]:
    """Returns means over the labels; that of a mean over examples has an interval."""
    shares = np.ones(len(given.labels))
    if given.weights is not None:
        shares = given.weights
    shares = shares / shares.sum()

    def over_examples(values: np.ndarray) -> Interval:
        of_each = values.mean(axis=1)
        mean = float(shares @ of_each)
        half = error_of_mean(of_each, shares, given.clusters)
        half *= quantile_of(INTERVAL_LEVEL, given.clusters)
        return interval(mean - half, mean, mean + half)

    def alone(values: list[Any]) -> Interval:
        known = [value for value in values if value is not None]
        mean = float(np.mean(known)) if known else np.nan
        return interval(np.nan, mean, np.nan)

    return {
        "share": over_examples(given.labels),
        "probability": over_examples(given.probabilities),
        "brier_score": over_examples((given.labels - given.probabilities) ** 2),
        "calibration_error": alone([row.calibration_error.estimate for row in rows]),
        "ece": alone([row.ece for row in rows]),
        "auroc": alone([row.auroc.estimate for row in rows if row.auroc is not None]),
    }


def _against_shares(given: LabelExamples) -> GainOverConstant:
    """Returns the mean Brier score against that of the share of each label."""
    shares = np.average(given.labels, axis=0, weights=given.weights)
    scores, constant = (
        ((given.labels - forecasts) ** 2).mean(axis=1)
        for forecasts in (given.probabilities, shares)
    )
    weights = given.weights
    if weights is not None:
        weights = weights / weights.max()
    return against_constant(scores, constant, weights, given.clusters)


def _verdict(rows: list[LabelRow], wrong: list[str], tested: int) -> str:
    """Says in a sentence or two which labels the data show to be miscalibrated."""
    if not tested:
        return "There are fewer than 50 examples, so no label is tested."
    if not wrong:
        return f"No label is clearly miscalibrated ({tested} were tested)."
    worst = rows[0]
    terms = terms_of(worst.name)
    said = f"{len(wrong)} of {tested} labels are miscalibrated. The clearest case is "
    numbers = f"mean probability {worst.mean_probability:.3f}, share {worst.share:.3f}"
    direction = terms.over if worst.gap < 0 else terms.under
    if abs(worst.gap) < (worst.calibration_error.estimate or 0) / 2:
        return (
            f"{said}{worst.name}, whose probabilities are right on average, but not at "
            f"every score: {numbers}, calibration error "
            f"{worst.calibration_error.estimate:.3f}."
        )
    return (
        f"{said}{worst.name}, whose probabilities are {direction} by "
        f"{100 * abs(worst.gap):.1f} percentage points on average: {numbers}."
    )


def _cells(row: LabelRow) -> tuple[str, ...]:
    error, p = row.calibration_error, row.adjusted_p_value
    tested = "too few" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
    # A thousand draws give no smaller p-value than 0.001 times the number of labels.
    if p is not None and (row.p_value or 0) <= 0.001 <= p:
        tested = f"≤{tested}"
    auroc = None if row.auroc is None else row.auroc.estimate
    numbers = (error.estimate, error.low, error.high, row.share, row.mean_probability)
    first, *shown = (
        "-" if each is None else f"{each:.3f}"
        for each in (*numbers, row.ece, row.brier_score, auroc)
    )
    return row.name, first, tested, *shown
