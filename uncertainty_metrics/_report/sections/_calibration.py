"""The section on the calibration errors of a classifier, or of answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    event_of,
    examples_of_event,
    judged_of,
    largest_share,
    words_of,
)
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Stream,
    has_cluster_sums,
    has_grades,
    rows_of,
)
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics._report.data._row_clusters import (
    clusters_of,
    in_clusters,
)
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Picture,
    Table,
    Text,
    Tile,
    intervals_table,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_errors import (
    ClassErrors,
    Diagram,
    calibration_errors_of,
)
from uncertainty_metrics._report.sections._calibration_words import (
    ON_PICTURES,
    capitalized,
    terms_for,
    terms_of,
)
from uncertainty_metrics._report.sections._diagrams import (
    arguments_of,
    by_argument_of,
    drawn,
    of_outcomes,
)
from uncertainty_metrics._report.sections._ece_test import ece_p_value
from uncertainty_metrics._report.sections._mean_gap import (
    interval_of_outcome,
    intervals_of_means,
    mean_gap_of,
    without_finding,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval, Metric
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import decimals, is_clear
from uncertainty_metrics._report.sections._risk import risk_of
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics


def _draw(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws one reliability diagram with all models.

    If not all models have rows, it shows only the first; the picture of drift shows
    both.
    """
    if any(isinstance(model, Stream) for model in models.values()):
        name, model = next(iter(models.items()))
        of_first = f" of {name}" if len(models) > 1 else ""
        figure = drawn(
            6.2,
            _draw_curve,
            curve=_curve_of(model, num_bins),
            title=f"Reliability diagram{of_first}",
        )
        return of_outcomes(figure, terms_for(model))
    arguments, is_of_event = arguments_of(models, with_clusters=True), False
    if all(event_of(model) is not None for model in models.values()):
        # All are rows, as no model is a stream.
        rows = {name: rows_of(model) for name, model in models.items()}
        of_event = {
            name: in_clusters(each, examples_of_event(each))
            for name, each in rows.items()
            if each
        }
        arguments = by_argument_of(
            {name: {"labels": each} for name, each in of_event.items()}
        )
        is_of_event = True
    figure = drawn(
        6.2,
        um.reliability_diagram,
        **arguments,
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        seed=SEED,
        positive_class=is_of_event,
        title="Reliability diagram",
    )
    return of_outcomes(figure, terms_for(next(iter(models.values()))))


def _curve_of(model: Decided, num_bins: int) -> Any:
    """Returns the reliability curve of all rows of a stream, with error bars unless
    there are clusters.
    """
    from uncertainty_metrics.visualization import reliability_curves

    statistics = _statistics(model, num_bins)
    curve = reliability_curves.curve_from_statistics(
        statistics, y_axis="accuracy" if event_of(model) is None else "frequency"
    )
    sizes = np.where(curve.sizes > 0, curve.sizes, np.nan)
    if has_cluster_sums(model):
        return curve
    if has_grades(model):
        judged = judged_of(model)
        given = {**judged.arguments, "correct": judged.correct**2}
        squares = um.bin_statistics(**given, num_bins=num_bins).accuracies
        variances = np.maximum(squares - curve.accuracies**2, 0.0)
        sizes = _wilson.size_of_grades(curve.accuracies, variances, sizes)
    ends = _wilson.interval(curve.accuracies, sizes, INTERVAL_LEVEL)
    bars = reliability_curves.BinIntervals(INTERVAL_LEVEL, *ends)
    return dataclasses.replace(curve, error_bars=bars)


def _statistics(model: Decided, num_bins: int) -> BinStatistics:
    """Returns the bins of the scores by which calibration is judged; of weighted ones
    with effective numbers.
    """
    judged = judged_of(model)
    bins = um.bin_statistics(**judged.arguments, num_bins=num_bins)
    scale = judged.sample_size / bins.counts.sum()
    sums = (bins.counts, bins.score_sums, bins.outcome_sums)
    return BinStatistics(bins.edges, *(scale * each for each in sums))


def _draw_curve(ax: Any, curve: Any, title: str) -> None:
    from uncertainty_metrics.visualization import reliability

    reliability.draw_reliability(curve, title=title, ax=ax)


RELIABILITY = ReportPicture(
    "reliability_diagram.png",
    "accuracy against confidence, of two classes the share of the event against its "
    "probability, with error bars, and a band for a calibrated model",
    _draw,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration(Section):
    """Calibration errors, and the gap between mean score and mean outcome.

    Attributes:
      event: the name of the event whose probabilities are judged; None for decisions.
      direction: in which direction the scores are clearly wrong; "" if the data show
        none.
      verdict: a sentence or two on the gap.
      share: the mean outcome of the event.
      mean_probability: the mean probability of the event.
      accuracy: the share of the decisions or answers that are right.
      mean_confidence: the mean confidence of the decisions or answers.
      means: of answers, accuracy and confidence with their intervals.
      metrics: the calibration errors.
      classes: the errors of each class, if there are few.
      all_metrics: the errors of a classifier for every option.
      diagram: the reliability diagram.
      smallest_detectable_error: the l2 error that would show in such data in 80% of
        samples, or inf; None for weighted examples and streams. With clusters it is for
        the intraclass correlation that the data show.
    """

    name = "calibration"
    heading = "Calibration"
    tasks = ("classification", "confidences")
    pictures = (RELIABILITY,)

    event: str | None
    direction: str
    verdict: str
    share: float | None = None
    mean_probability: float | None = None
    accuracy: float
    mean_confidence: float
    means: dict[str, Interval] | None = None
    metrics: dict[str, Metric]
    classes: dict[str, ClassErrors]
    all_metrics: dict[str, float] | None = None
    diagram: Diagram
    smallest_detectable_error: float | None = None

    @classmethod
    def of(cls, report: ModelReport) -> Calibration:
        model, num_bins = report.model, report.num_bins
        gap, errors = mean_gap_of(model), calibration_errors_of(model, num_bins)
        if gap.direction and has_risks(model) and not _has_finding(model, num_bins):
            gap = without_finding(gap)
        return cls(
            **vars(gap),
            means=intervals_of_means(model),
            metrics=errors.metrics(terms_for(model)),
            classes=errors.classes,
            all_metrics=errors.grid,
            diagram=errors.diagram,
            smallest_detectable_error=_smallest_detectable_error(model, num_bins),
        )

    @property
    def outcome(self) -> str:
        """The name of the mean outcome of decisions or answers."""
        return "accuracy" if self.means is None else next(iter(self.means))

    def as_json(self) -> dict[str, Any]:
        names = {"accuracy": self.outcome.replace(" ", "_")}
        return {names.get(k, k): value for k, value in super().as_json().items()}

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        if self.means is not None:
            yield self._how_often_right(self.means)
        elif not has_risks(report.model):  # The decisions of risks come last.
            yield self.accuracy_tile(report)

    def _how_often_right(self, means: dict[str, Interval]) -> Tile:
        accuracy, mean, gap = means.values()
        confidence = mean.estimate
        ends = ""  # A summary of clusters has none.
        if self.outcome != "accuracy":
            low, high = f"{gap.low:.3f}", f"{gap.high:.3f}"
            if accuracy.low is not None:
                ends = f"{accuracy.low:.3f} to {accuracy.high:.3f}"
                ends = f"{INTERVAL_LEVEL:.0%} interval {ends}. "
            return Tile(
                capitalized(self.outcome),
                f"{accuracy.estimate:.3f}",
                f"{ends}The mean confidence is {confidence:.3f}; the "
                f"gap is {gap.estimate:.3f} ({low} to {high}).",
                "bad" if self.direction else "good",
            )
        low, high = f"{100 * gap.low:.1f}", f"{100 * gap.high:.1f}"
        if accuracy.low is not None:
            ends = f"{accuracy.low:.1%} to {accuracy.high:.1%}"
            ends = f"{INTERVAL_LEVEL:.0%} interval {ends}. "
        return Tile(
            "How often right",
            f"{accuracy.estimate:.1%}",
            f"{ends}The model says {confidence:.1%} on average; the gap is "
            f"{100 * gap.estimate:.1f} percentage points ({low} to {high}).",
            "bad" if self.direction else "good",
        )

    def accuracy_tile(self, report: ModelReport) -> Tile:
        """Returns the tile on the accuracy of a classifier."""
        accuracy, share = self.accuracy, largest_share(report.model)
        if has_cluster_sums(report.model):
            return Tile(
                "Accuracy",
                f"{accuracy:.1%}",
                "Without an interval, because a summary does not have the accuracy of "
                "each cluster. Always deciding for the most frequent class: "
                f"{share:.1%}.",
                "unclear",
            )
        ends = interval_of_outcome(report.model, accuracy)
        low, high = float(ends.low), float(ends.high)
        level = "good" if low > share else "bad" if high < share else "unclear"
        digits = decimals(high - low) - 2  # Of a percentage.
        return Tile(
            "Accuracy",
            f"{accuracy:.{digits}%}",
            f"{INTERVAL_LEVEL:.0%} interval {low:.{digits}%} to {high:.{digits}%}. "
            "Always deciding for the most frequent class: "
            f"{share:.{digits}%}.",
            level,
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        if self.means is not None:
            caption = "How often the model is right, and how sure it is"
            if self.outcome != "accuracy":
                words = words_of(report.model)
                caption = f"The {words.outcomes} of the {words.one}s, and how sure"
                caption += " the model is"
            yield intervals_table(caption, "mean", self.means)
        yield self._picture(report)
        yield metrics_table("Calibration errors", "metric", self.metrics)
        yield Text(
            f"All errors are in [0, 1], 0 is best; {report.num_bins} bins. Bins of few "
            "examples tend to make the errors too large."
        )
        if self.event is not None:
            terms = terms_of(self.event)
            yield Text(
                f"ece, mce and rmsce compare {terms.score} with the {terms.outcome}. "
                "The confidence of decisions would hide a probability that is too low "
                "everywhere."
            )
        if self.classes:
            yield Text("The errors of the probability of each class, and its share:")
            yield Table(
                "Errors of single classes",
                "class",
                ("share", "sce", "ace"),
                [
                    (name, number(each.share), number(each.sce), number(each.ace))
                    for name, each in self.classes.items()
                ],
            )

    def _picture(self, report: ModelReport) -> Picture:
        terms, other = terms_for(report.model), report.other
        models = [report.model, *([] if other is None else [other.model])]
        is_streamed = any(isinstance(model, Stream) for model in models)
        has_no_error_bars = any(map(has_cluster_sums, models))
        marks = "Bars" if has_no_error_bars else "Points"
        sides = (
            f"{marks} below the diagonal are {terms.over}, {marks.lower()} above it "
            f"{terms.under}."
        )
        if terms.of_event:
            sides = "Below the diagonal probabilities are too high, above it too low."
        if has_no_error_bars:
            caption = f"{sides} A summary of clusters gives no error bars."
        elif is_streamed:  # Not all rows are in memory.
            caption = f"{sides} The error bars tell how sure each point is."
        else:
            caption = (
                f"{sides} The band shows where chance alone puts a calibrated model; "
                "the error bars show how uncertain each point is."
                f"{report.both_drawn}"
            )
        if clusters_of(report.model) is not None:
            caption += ON_PICTURES
        alt = (
            f"Reliability diagram: {terms.outcome} against {terms.score} in "
            f"{report.num_bins} bins. {self.verdict}"
        )
        return RELIABILITY.block(alt, caption)


def _smallest_detectable_error(model: Decided, num_bins: int) -> float | None:
    """Returns the l2 error that a sample like this would show; None if unknown."""
    if isinstance(model, Stream):
        return None
    if has_grades(model):  # It takes p (1 - p) as the variances of outcomes.
        return None
    judged, clusters = judged_of(model), clusters_of(model)
    if judged.weights is not None:
        return None
    return um.smallest_detectable_error(
        confidences=judged.confidences,
        num_bins=num_bins,
        level=INTERVAL_LEVEL,
        clusters=clusters,
        correct=None if clusters is None else judged.correct,
    )


def _has_finding(model: Decided, num_bins: int) -> bool:
    """Says if a test of calibration finds something in risks: only then they are called
    too high or too low on average.
    """
    risk = risk_of(model)
    tests = risk.p_value, ece_p_value(model, num_bins)
    return risk.finding is not None and any(map(is_clear, tests))
