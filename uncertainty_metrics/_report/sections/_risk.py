"""The section on risks: what a person who validates a risk model asks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._decided import name_of_event
from uncertainty_metrics._report.data._predictions import (
    Model,
    Predictions,
    Stream,
    Survival,
    remembered,
)
from uncertainty_metrics._report.data._risks import (
    Risks,
    has_risks,
    is_too_few,
    risks_of,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import (
    ON_PICTURES,
    capitalized,
)
from uncertainty_metrics._report.sections._diagrams import by_argument_of, drawn
from uncertainty_metrics._report.sections._ece_test import ece_p_value
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY, graded
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    Metric,
    TestedInterval,
    interval,
)
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import is_clear, shown_p_value
from uncertainty_metrics._report.sections._risk_numbers import (
    MEANINGS,
    THRESHOLDS,
    DecisionCurve,
    amount,
    decision_curve_of,
    ends_of,
    finding,
    if_defined,
    metrics_of,
    net_benefit_of,
    shown_intervals,
    verdict_of,
)
from uncertainty_metrics._report.sections._sampled_rows import sentence_on_sample
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy.calibration.risk import risk_calibration

# Of the histogram of risks; rare events have most risks near 0.
_BINS_OF_RISKS = 50
# Groups of equal size that are drawn on the calibration curve of risks.
_GROUPS_OF_RISKS = 10
_OF_EVENTS: dict[str, Callable[..., Any]] = {
    "observed_expected_ratio": um.observed_expected_ratio,
    "calibration_intercept": um.calibration_intercept,
    "calibration_slope": um.calibration_slope,
}


def _draw_curve(models: dict[str, Any], num_bins: int) -> Any:
    """Draws the calibration curve of risks, of all models that give risks in one."""
    return drawn(
        6.2,
        _draw_curve_on,
        models=models,
        num_bins=max(num_bins, _BINS_OF_RISKS),
    )


def _draw_curve_on(ax: Any, models: dict[str, Any], num_bins: int) -> None:
    from uncertainty_metrics.visualization import _series

    um.reliability_diagram(
        **_arguments(models),
        num_bins=num_bins,
        method="spline",
        error_bars=INTERVAL_LEVEL,
        positive_class=True,
        title="Calibration curve of the risks",
        ax=ax,
    )
    having = [model for model in models.values() if has_risks(model)]
    for i, model in enumerate(having):
        _draw_grouped(ax, model, _series.color(i), _series.marker(i))
    if len(models) == 1:
        offsetbox = _optional.require("matplotlib.offsetbox")
        for number in list(ax.texts):
            number.remove()
        risks = risks_of(having[0])
        # The curve of risks that are too low fills the upper left.
        too_low = np.average(risks.labels - risks.scores, weights=risks.weights) > 0
        box = offsetbox.AnchoredText(
            _numbers_of_risks(risks),
            loc="lower right" if too_low else "upper left",
            prop={"fontsize": "small"},
        )
        box.patch.set(edgecolor="0.8", alpha=0.9)
        ax.add_artist(box)


def _draw_grouped(ax: Any, model: Any, color: str, marker: str) -> None:
    """Draws how often the event came in groups of equal size, with intervals."""
    from uncertainty_metrics.visualization import _series

    risks = risks_of(model)
    curve = um.reliability_curve(
        **risks.arguments,
        binning_scheme="adaptive",
        num_bins=_GROUPS_OF_RISKS,
        positive_class=True,
        error_bars=INTERVAL_LEVEL,
        clusters=clusters_of(model),
    )
    some = curve.counts[0] > 0
    sizes = curve.sizes[0, some]
    means, shares = curve.confidences[0, some], curve.accuracies[0, some]
    if clusters_of(model) is None:
        # Weights of all examples together: those of a survival model vary with time.
        sizes = curve.counts[0, some] * (risks.sample_size / risks.total)
        low, high = _wilson.interval(shares, sizes, INTERVAL_LEVEL)
    else:
        bars = curve.error_bars
        assert bars is not None
        low, high = bars.lower[0, some], bars.upper[0, some]
    ax.vlines(means, low, high, color=color, linewidth=1, zorder=3)
    style = {"facecolor": "white", "edgecolor": color, "marker": marker, "zorder": 4}
    drawn = ax.scatter(means, shares, s=24, clip_on=False, **style)
    _series.set_tips(
        drawn,
        *(
            f"mean risk {x:.3f}, came in {y:.3f} ({a:.3f} to {b:.3f}), n = {n:.6g}"
            for x, y, a, b, n in zip(means, shares, low, high, sizes, strict=True)
        ),
    )


def _numbers_of_risks(risks: Risks) -> str:
    """Returns lines with the numbers of a calibration curve."""
    index = um.integrated_calibration_index(**risks.arguments)
    values = {
        "O/E": if_defined(um.observed_expected_ratio, **risks.arguments),
        "Intercept": if_defined(um.calibration_intercept, **risks.arguments),
        "Slope": if_defined(um.calibration_slope, **risks.arguments),
        "AUROC": if_defined(
            um.auroc, risks.labels, risks.scores, sample_weight=risks.weights
        ),
        "ICI": index.ici,
    }
    lines = [
        f"{len(risks.labels):,} examples",
        f"{amount(risks.events)} with the event",
    ]
    for name, value in values.items():
        if value is not None:
            lines.append(f"{name} = {getattr(value, 'estimate', value):.3f}")
    return "\n".join(lines)


def _draw_decisions(models: dict[str, Any], num_bins: int) -> Any:
    """Draws decision curves, of all models that give risks in one diagram; that of a
    single model has a band.
    """
    del num_bins
    from uncertainty_metrics.visualization import decisions

    having = {name: model for name, model in models.items() if has_risks(model)}
    if len(models) == 1:
        curves = {name: net_benefit_of(model) for name, model in having.items()}
    else:
        curves = {
            name: um.net_benefit(**risks_of(model).arguments, thresholds=THRESHOLDS)
            for name, model in having.items()
        }
    return drawn(
        4.6,
        decisions.draw_decision_curves,
        curves=curves,
        points=THRESHOLDS,
        title="Decision curve",
    )


def _arguments(models: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments by which diagrams take the risks of one model, or some.

    The weights of a survival model are not numbers of examples. They are divided so
    that their sum is the effective number, which the confidence band needs.
    """
    given: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        if has_risks(model):
            data = risks_of(model)
            weights = data.weights
            if isinstance(model, Survival) and weights is not None:
                weights = weights * (data.sample_size / data.total)
            given[name] = data._replace(weights=weights).arguments
            given[name]["clusters"] = clusters_of(model)
    return by_argument_of(given)


def _first_has_risks(models: Any, num_bins: int) -> bool:
    del num_bins
    return has_risks(models[0])


RISK_CURVE = ReportPicture(
    "risk_calibration_curve.png",
    "of risks, how often the event came against its risk, with a band, and the risks "
    "by outcome",
    _draw_curve,
    _first_has_risks,
)
DECISIONS = ReportPicture(
    "decision_curve.png",
    "of risks, the net benefit of acting on them, against the threshold",
    _draw_decisions,
    _first_has_risks,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RiskSection(Section):
    """What the sections of a classifier and of a survival model have alike.

    Attributes:
      examples: number of examples.
      total_weight: their total weight.
      events: total weight of the examples that had the event.
      expected_events: number of events that the risks expect.
      smaller_class: effective number of the rarer outcome.
      level: of the intervals.
      verdict: a few sentences.
      intervals: calibration and ranking, with intervals.
      metrics: distances and scores.
      decision_curve: net benefit by threshold.
    """

    name = "risk"
    heading = "As a risk"
    pictures = (RISK_CURVE, DECISIONS)
    meanings: ClassVar[Mapping[str, str]] = MEANINGS

    examples: int
    total_weight: float
    events: float
    expected_events: float
    smaller_class: float
    level: float = INTERVAL_LEVEL
    verdict: str
    intervals: dict[str, Interval]
    metrics: dict[str, Metric]
    decision_curve: DecisionCurve

    def before(self, report: ModelReport) -> list[Text]:
        """Returns what the reader must know first."""
        return sentence_on_sample(report.model)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield from self.before(report)
        yield Text(self.verdict)
        yield RISK_CURVE.block(
            f"Calibration curve of the risks. {self.verdict}", _caption_of_curve(report)
        )
        yield Table(
            f"Calibration and ranking, with {self.level:.0%} intervals",
            "metric",
            ("value", "from", "to", "meaning"),
            [
                (
                    name,
                    *map(number, (each.estimate, each.low, each.high)),
                    self.meanings[name],
                )
                for name, each in self.intervals.items()
                if each.estimate is not None
            ],
        )
        known = {
            name: each for name, each in self.metrics.items() if each.value is not None
        }
        yield metrics_table("Distances and scores", "metric", known)
        yield DECISIONS.block(
            "Decision curve: the net benefit of acting on the risks, of treating all "
            "and of treating none, against the threshold.",
            "Net benefit, in true positives for each example, of treating where the "
            f"risk is at least the threshold. {_on_band(report)} Choose the threshold "
            "by the harm of a needless and of a missed treatment, before you look at "
            f"the curve.{report.both_drawn}",
        )


def _on_band(report: ModelReport) -> str:
    """Returns sentences on what tells a larger net benefit from chance."""
    if report.other is None:
        return (
            f"The area is its {INTERVAL_LEVEL:.0%} band, and the line is thick where "
            "acting on the risks is better than treating all and than treating none, "
            "beyond chance at all thresholds together."
        )
    return (
        "On these examples, acting on the risks had the larger net benefit where its "
        "curve is above both others; a picture of several models has no band that "
        "tells this from chance."
    )


def _caption_of_curve(report: ModelReport) -> str:
    caption = (
        "How often the event came, against its risk: a logistic regression on a "
        "spline of the risk, with its 95% band. Above the diagonal risks are too low, "
        "below it too high. The hollow points are ten groups of equal size, by risk, "
        "with 95% intervals of how often the event came."
    )
    if clusters_of(report.model) is not None:
        caption += ON_PICTURES
    if report.other is not None:
        return f"{caption}{report.both_drawn}"
    caption += (
        " At the top, upwards, the risks of the examples with the event, and downwards "
        "those of the others."
    )
    if isinstance(report.model, Survival):
        caption += " The band is that of the effective number of examples."
    return caption


@dataclasses.dataclass(frozen=True, kw_only=True)
class Risk(RiskSection):
    """The risks that a classifier of two classes gives.

    Attributes:
      event: the name of the event.
      p_values: of intercept and slope, each by itself.
      p_value: of both together.
      finding: what the clearer of the two finds, in words; None if there are too few
        examples.
    """

    tasks = ("classification",)

    event: str | None
    p_values: dict[str, float]
    p_value: float
    finding: str | None

    @classmethod
    def of(cls, report: ModelReport) -> Risk | None:
        return risk_of(report.model) if has_risks(report.model) else None

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        """Yields the tile on the calibration of risks.

        Intercept and slope do not see every error, so the test of the ECE counts as
        well.
        """
        p, title = self.p_value, f"As a risk of {self.event}"
        if self.finding is None:
            yield Tile(title, TOO_FEW_TO_SAY, self.verdict, "unclear")
            return
        value, level = graded(p, capitalized(self.finding), "May be calibrated")
        curved = ""
        if level == "good" and is_clear(ece_p_value(report.model, report.num_bins)):
            value, level = "Miscalibrated", "bad"
            curved = (
                " They do not show it, but the calibration error does: see the curve."
            )
        yield Tile(
            title,
            value,
            f"{shown_intervals(self.intervals)} The intercept and slope of a "
            f"calibrated model differ this much from 0 and 1 with p {shown_p_value(p)}."
            f"{curved}",
            level,
        )


@remembered
def risk_of(model: Predictions | Stream) -> Risk:
    """Returns the section of a model that gives risks."""
    data, clusters = risks_of(model), clusters_of(model)
    found = {
        name: if_defined(
            function, **data.arguments, level=INTERVAL_LEVEL, clusters=clusters
        )
        for name, function in _OF_EVENTS.items()
    }
    found["auroc"] = if_defined(
        um.auroc_interval,
        data.labels,
        data.scores,
        sample_weight=data.weights,
        level=INTERVAL_LEVEL,
        clusters=clusters,
    )
    intervals = {
        name: interval(*(ends[:3] if ends is not None else 3 * (np.nan,)))
        for name, ends in found.items()
    }
    p_values = {
        name: float(found[name].p_value)
        for name in ("calibration_intercept", "calibration_slope")
        if found[name] is not None
    }
    # Risks that are all the same have no slope; then the intercept alone is tested.
    clearer = min(p_values, key=lambda key: p_values[key])
    p = if_defined(risk_calibration.joint_p_value, **data.arguments, clusters=clusters)
    if p is None:  # The smaller of two, by Bonferroni.
        p = min(len(p_values) * p_values[clearer], 1.0)
    event, words = name_of_event(model), None
    if not is_too_few(data.smaller_class):
        words = finding(clearer, float(intervals[clearer].estimate))
    curve = decision_curve_of(model)
    return Risk(
        **common_fields(data, intervals, curve),
        verdict=verdict_of(data, f"The event ({event}) came", intervals, p, curve),
        event=event,
        metrics=metrics_of(data),
        p_values=p_values,
        p_value=p,
        finding=words,
    )


def common_fields(
    data: Risks, intervals: dict[str, Interval], curve: DecisionCurve
) -> dict[str, Any]:
    """Returns fields that the section has of any risks."""
    return {
        "examples": len(data.labels),
        "total_weight": data.total,
        "events": data.events,
        "expected_events": data.expected,
        "smaller_class": data.smaller_class,
        "intervals": intervals,
        "decision_curve": curve,
    }


@dataclasses.dataclass(frozen=True)
class RankingOfTwo:
    """Which of two models ranks the risks better.

    Attributes:
      auroc_difference: the AUROC of the first less that of the second.
      verdict: a sentence.
    """

    auroc_difference: TestedInterval
    verdict: str


def ranking_of_two(first: Model, second: Model) -> RankingOfTwo | None:
    """Returns which of two models of the same examples ranks the risks of the same
    event better; None if they do not give them.
    """
    if not (has_risks(first) and has_risks(second)):
        return None
    one, other = risks_of(first), risks_of(second)
    if not np.array_equal(one.labels, other.labels):
        return None
    found = if_defined(
        um.auroc_difference,
        one.labels,
        one.scores,
        other.scores,
        sample_weight=one.weights,
        level=INTERVAL_LEVEL,
        clusters=clusters_of(first),
    )
    if found is None:
        return None
    *ends, p = found
    difference = interval(*ends)
    words = {
        1: "The first ranks the risks better",
        -1: "The second ranks the risks better",
        0: "Neither clearly ranks the risks better",
    }
    return RankingOfTwo(
        TestedInterval(**vars(difference), p_value=float(p)),
        f"{words[difference.side_of(0)]}: the AUROC of the first less that of the "
        f"second is {ends_of(difference)} (DeLong, p {shown_p_value(float(p))}).",
    )
