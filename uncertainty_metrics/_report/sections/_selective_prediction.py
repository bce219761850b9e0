"""The section on selective prediction: does confidence tell right from wrong?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    Words,
    decisions_of,
    examples_of,
    words_of,
)
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Predictions,
    Stream,
    has_cluster_sums,
    has_grades,
    rows_of,
    votes_of,
)
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics._report.data._row_clusters import (
    clusters_of,
    error_of_mean,
    quantile_of,
    quantile_of_clusters,
)
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Text,
    Tile,
    metrics_table,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_words import terms_for
from uncertainty_metrics._report.sections._diagrams import arguments_of, drawn
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._sampled_rows import of_sample
from uncertainty_metrics._results import RiskCoverageCurve
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    _selective_risks,
    _sorted_outcomes,
)

# The parameters of the metrics; the report lists them among its options.
_OPTIONS = {
    "risk": 0.05,
    "coverage": 0.8,
    "oracle_fraction": 0.1,
    "delta": 0.05,
}
# Of at most so many answers the grades are permuted so many times, always alike.
_MOST_PERMUTED, _NUM_PERMUTATIONS, _SEED = 200, 9999, 1_618_033_988
# Points of the curve in the report; the curve itself may have one for each example.
_MAX_POINTS = 100


def _draw(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws one diagram with the risk-coverage curves of all models."""
    del num_bins
    has_stream = any(isinstance(model, Stream) for model in models.values())
    return drawn(
        4.6,
        um.risk_coverage_diagram,
        **arguments_of(models),
        # The cells of a stream do not say how many examples have equal confidence.
        confidence_band=None if has_stream else INTERVAL_LEVEL,
        title="Risk-coverage diagram",
    )


RISK_COVERAGE = ReportPicture(
    "risk_coverage_diagram.png",
    "the error of the most confident examples, against their share",
    _draw,
    lambda models, num_bins: not has_grades(models[0]),
)


@dataclasses.dataclass(frozen=True)
class Promise:
    """A threshold that promises a risk for new examples.

    Attributes:
      verdict: a few sentences; "" without rows.
      above: the confidence above which to decide; None if there is none.
      metrics: the threshold, and the share of examples above it; empty if there is no
        promise.
    """

    verdict: str
    above: float | None
    metrics: dict[str, Metric]


@dataclasses.dataclass(frozen=True)
class Curve:
    """Points of the risk-coverage curve."""

    coverages: list[float]
    risks: list[float]
    thresholds: list[float]


@dataclasses.dataclass(frozen=True)
class SelectivePrediction(Section):
    """Whether the confidence of decisions tells right from wrong.

    Attributes:
      verdict: a few sentences.
      metrics: AURC and others.
      auroc_by_chance: an AUROC that a confidence without information rarely exceeds;
        None if all decisions are right, or all wrong, or of a summary of clusters.
      risk: the promised risk.
      promise: above which confidence to decide at this risk.
      curve: the risk-coverage curve.
    """

    name = "selective_prediction"
    heading = "Selective prediction"
    tasks = ("classification",)
    pictures = (RISK_COVERAGE,)

    verdict: str
    metrics: dict[str, Metric]
    auroc_by_chance: float | None
    risk: float
    promise: Promise
    curve: Curve

    @classmethod
    def options(cls, num_bins: int) -> dict[str, float]:
        return _OPTIONS

    @classmethod
    def of(cls, report: ModelReport) -> SelectivePrediction:
        model = report.model
        risk, coverage, fraction, delta = _OPTIONS.values()
        words = words_of(model)
        scores, correct, weights, of_logits = _ranked(model)
        groups = _sorted_outcomes.groups(scores, correct, weights)
        curve = _selective_risks.curve_of(scores, groups, of_logits)
        error = float(curve.risks[-1])
        values = {
            "aurc": (
                _selective_risks.mean_risk(groups),
                f"Mean error over coverages; {error:.4f} if random.",
            ),
            "excess_aurc": (
                _selective_risks.excess_risk(groups),
                "How much lower the aurc is in a perfect order.",
            ),
            "augrc": (
                _selective_risks.generalized_risk(groups),
                f"Mean share {words.done} wrong; {error / 2:.4f} if random.",
            ),
            "coverage_at_risk": (
                _selective_risks.largest_coverage(groups, risk),
                f"Share {words.done} if the error may be {risk:.0%}.",
            ),
            "risk_at_coverage": (
                _selective_risks.risk_from(groups, coverage),
                f"Error of the most confident {coverage:.0%}.",
            ),
            "oracle_collaborative_accuracy": (
                _selective_risks.oracle_accuracy(groups, fraction),
                f"With an oracle for the least confident {fraction:.0%}.",
            ),
        }
        by_chance = None
        if error in (0, 1):
            verdict = (
                f"{'Every' if error else 'No'} {words.one} is wrong, so confidence "
                "cannot tell right from wrong, and there is no AUROC."
            )
        else:
            auroc = _auroc(curve)
            values["auroc"] = (
                auroc,
                f"P(a right {words.one} is surer than a wrong one).",
            )
            clear = False
            if has_cluster_sums(model):
                skill = (
                    f"AUROC {auroc:.3f} of right {words.one}s against wrong ones; what "
                    "chance alone gives is not known, because a summary does not tell "
                    "which of its examples are of one cluster."
                )
            else:
                by_chance = _auroc_by_chance(error, _size_for_auroc(model))
                # Rounded as in the report.
                clear = round(max(auroc, 1 - auroc), 3) > round(by_chance, 3)
                skill = _skill(auroc, by_chance, clear, words)
            verdict = f"{skill} {_gain(curve, coverage, clear, words)}"
        return cls(
            verdict,
            metrics(values),
            by_chance,
            risk,
            _promise(model, risk, delta),
            _thinned(curve),
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        if has_risks(report.model):
            yield report[Calibration].accuracy_tile(report)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        if not has_grades(report.model):
            yield RISK_COVERAGE.block(
                f"Risk-coverage diagram. {self.verdict}",
                "The error of the most confident examples, against their share: the "
                f"lower, the better.{report.both_drawn}",
            )
        yield metrics_table("Selective prediction", "metric", self.metrics)
        if self.promise.verdict:
            yield Text(self.promise.verdict)
        if self.promise.metrics:
            yield metrics_table("At a promised risk", "threshold", self.promise.metrics)


@dataclasses.dataclass(frozen=True)
class Abstaining(SelectivePrediction):
    """Whether the confidence of answers tells right from wrong."""

    heading = "Answering and abstaining"
    tasks = ("confidences",)
    at_risk: ClassVar[str] = "Answering alone"

    @classmethod
    def of(cls, report: ModelReport) -> SelectivePrediction:
        if has_grades(report.model):
            return _of_grades(report.model)
        found = super().of(report)
        if words_of(report.model).one == "detection":
            return KeepingDetections(**vars(found))
        return found

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        """Yields the tile that says above which confidence a model may answer alone."""
        title, promise = f"{self.at_risk} at {self.risk:.0%} risk", self.promise
        if not promise.verdict:
            return
        if not promise.metrics:
            yield Tile(title, "Nothing promised", promise.verdict, "unclear")
            return
        threshold, share = (metric.value for metric in promise.metrics.values())
        if not np.isfinite(threshold):
            yield Tile(title, "At no confidence", promise.verdict, "bad")
            return
        value = f"Above {promise.above:.4g}" if threshold else "Everything"
        sentence, _, _ = promise.verdict.partition(" The threshold of")
        yield Tile(title, value, sentence, "good" if share >= 0.5 else "unclear")


class KeepingDetections(Abstaining):
    """Whether the score of detections tells right from wrong."""

    heading = "Which detections to keep"
    at_risk = "Detections to keep"


class DecidingByVotes(Abstaining):
    """Whether the confidence of decisions tells those with many votes from others."""

    heading = SelectivePrediction.heading


def _of_grades(model: Decided) -> Abstaining:
    """Returns the section of answers with grades, whose loss is 1 - grade."""
    risk, coverage, *_ = _OPTIONS.values()
    words, loss = words_of(model), f"1 - {terms_for(model).grade}"
    more, fewer, kind = "better grades", "worse grades", Abstaining
    if votes_of(model) is not None:
        more, fewer, kind = "more votes", "fewer votes", DecidingByVotes
    grades, scores, weights, _ = decisions_of(model)
    scores = _sorted_outcomes.floating(scores)
    groups = _sorted_outcomes.loss_groups(scores, 1 - grades, weights)
    curve = _selective_risks.curve_of(scores, groups, of_logits=False)
    values = {
        "aurc": (
            _selective_risks.mean_risk(groups),
            f"Mean of {loss} over coverages; {curve.risks[-1]:.4f} if random.",
        ),
        "coverage_at_risk": (
            _selective_risks.largest_coverage(groups, risk),
            f"Share {words.done} if the mean of {loss} may be {risk:.0%}.",
        ),
        "risk_at_coverage": (
            _selective_risks.risk_from(groups, coverage),
            f"Mean of {loss} of the most confident {coverage:.0%}.",
        ),
    }
    said = f"Surer {words.one}s do not clearly have {more}."
    low = high = 0.0
    if has_cluster_sums(model):
        said = (
            f"Whether surer {words.one}s have {more} by more than chance is not "
            "known, because a summary does not tell which of its examples are of one "
            "cluster."
        )
    else:
        low, high = slope_by_rank(model)
    if low > 0:
        said = f"Surer {words.one}s have {more}."
    elif high < 0:
        said = f"Confidence misleads: surer {words.one}s have {fewer}."
    clear = low > 0 or high < 0
    gain = _gain(curve, coverage, clear, words, f"mean of {loss}")
    return kind(
        f"{said} {gain}",
        metrics(values),
        None,
        risk,
        Promise("", None, {}),
        _thinned(curve),
    )


def slope_by_rank(model: Decided) -> tuple[float, float]:
    """Returns the ends of the interval of the covariance of grades and the ranks of
    confidences.

    Its standard error is the larger of two. That of the products alone is far too small
    if few answers have a low confidence, and by chance none of them has a rare grade;
    that of independent grades and ranks does not know of clusters, and of grades that
    vary more at some confidences. Of few answers without clusters and weights the
    interval holds 0 as well unless few permutations of the grades are so far from 0:
    the products of one rare grade are not Normal.
    """
    decisions = decisions_of(model).with_small_weights()
    grades, scores, weights, squares = decisions
    shares = np.ones(len(grades)) if weights is None else weights
    total = shares.sum()
    shares, clusters = shares / total, clusters_of(model)
    # The cells of a stream have as many answers as their weights say.
    numbers = None if squares is None else shares
    _, places = np.unique(scores, return_inverse=True)
    counts = np.bincount(places, numbers)
    ranks = (np.cumsum(counts) - counts / 2)[places] / counts.sum()
    ranks, grades = ranks - shares @ ranks, grades - shares @ grades
    products = ranks * grades
    mean = float(shares @ products)
    of_each = decisions.squared_weights / float(total) ** 2
    size = decisions.sample_size
    variance = float(shares @ grades**2) * size / max(size - 1, 1)
    if_independent = math.sqrt(float(of_each @ ranks**2) * variance)
    if clusters is None:
        error = math.sqrt(float(of_each @ (products - mean) ** 2))
        quantile = quantile_of_clusters(INTERVAL_LEVEL, size - 1)
    else:
        error = error_of_mean(products, shares, clusters)
        quantile = quantile_of(INTERVAL_LEVEL, clusters)
    half = quantile * max(error, if_independent)
    is_alike = squares is None and (weights is None or np.all(weights == weights[0]))
    is_few = clusters is None and is_alike and len(grades) <= _MOST_PERMUTED
    if is_few and abs(mean) > half:
        p_value = _share_of_permutations(ranks, grades)
        half = half if p_value <= 1 - INTERVAL_LEVEL else abs(mean)
    return mean - half, mean + half


def _share_of_permutations(ranks: np.ndarray, grades: np.ndarray) -> float:
    """Returns the p-value of independent ranks and grades, both [n] of mean 0."""
    rng = np.random.default_rng(_SEED)
    many = np.broadcast_to(grades, (_NUM_PERMUTATIONS, len(grades)))
    permuted = np.abs(rng.permuted(many, axis=1) @ ranks)
    as_far = np.count_nonzero(permuted >= abs(grades @ ranks) * (1 - 1e-9))
    return (1 + as_far) / (1 + _NUM_PERMUTATIONS)


def _ranked(
    model: Decided,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, bool]:
    """Returns arguments of `_sorted_outcomes.groups`, and whether scores are log-odds.

    The arguments are scores, correctness and weights, [n]. Logits are ranked by
    log-odds, because these differ even where probabilities round to 1.
    """
    if isinstance(model, Predictions):
        examples = examples_of(model)
        return *_ranked_decisions.of_examples(examples), examples.name == "logits"
    correct, scores, weights, _ = decisions_of(model)
    return _sorted_outcomes.floating(scores), correct, weights, False


def _promise(model: Decided, risk: float, delta: float) -> Promise:
    """Returns the lowest confidence above which new examples have at most a risk.

    The promise holds with probability 1 - delta.
    """
    rows = rows_of(model)
    if rows is None:
        return Promise("", None, {})
    words, (correct, scores, weights, _) = words_of(model), decisions_of(rows)
    if weights is not None and np.any(weights != weights[0]):
        verdict = "The examples have weights, so no threshold can promise a risk."
        return Promise(verdict, None, {})
    threshold = um.threshold_at_risk(
        correct=correct,
        confidences=scores,
        risk=risk,
        delta=delta,
        clusters=clusters_of(rows),
    )
    threshold = max(threshold, 0.0)  # It is -inf if every example may be decided.
    coverage = float(np.mean(scores >= threshold))
    promise = f"at most {risk:.0%} of new {words.one}s are wrong"
    sure = f"with {1 - delta:.0%} probability"
    doing, do = words.doing.capitalize(), words.do.capitalize()
    meaning, above = f"{do} nothing.", None
    if threshold == np.inf:
        verdict = f"No threshold promises, {sure}, that {promise}: there are too many "
        verdict += "errors or too few examples."
    else:
        where, meaning = f"{doing} everything", f"{do} everything."
        if threshold:
            # The threshold is the next number above a confidence, and printed it would
            # look the same. So the text names that confidence: decide above it.
            dtype = scores.dtype
            above = float(np.nextafter(dtype.type(threshold), dtype.type(-1)))
            where = f"{doing} where the confidence is above {above:.6g}"
            meaning = f"{do} where the confidence is above {above:.6g}."
        verdict = (
            f"{where}, {promise}, {sure} over the draw of these examples; that is "
            f"{coverage:.1%} of them. The threshold of coverage_at_risk gives no such "
            "promise: it is chosen for these examples, and for new examples it is too "
            "low about every other time."
        )
    if rows is not model:
        verdict = f"{verdict} These numbers are {of_sample(len(correct))}."
    found = {
        "threshold_at_risk": (threshold, meaning),
        "coverage_at_threshold": (coverage, "Share of these examples so confident."),
    }
    return Promise(verdict, above, metrics(found))


def _auroc(curve: RiskCoverageCurve) -> float:
    """Returns the AUROC of right against wrong decisions, by their confidence."""
    coverages = np.append(0.0, curve.coverages)
    wrong = coverages * np.append(0.0, curve.risks)
    right = coverages - wrong
    return _sorted_outcomes.trapezoids(wrong, right) / float(wrong[-1] * right[-1])


def _size_for_auroc(model: Decided) -> float:
    """Returns how many independent examples would tell the AUROC as well."""
    decisions, clusters = decisions_of(model), clusters_of(model)
    if clusters is None:
        return decisions.sample_size
    effect = um.auroc_interval(
        decisions.correct,
        decisions.confidences,
        sample_weight=decisions.weights,
        clusters=clusters,
    ).design_effect
    return decisions.sample_size / max(effect or 1.0, 1.0)


def _auroc_by_chance(error: float, sample_size: float) -> float:
    """Returns an AUROC that a confidence without information rarely exceeds.

    It is 1/2 plus two standard errors by Hanley and McNeil (1982) for an AUROC of 1/2,
    the same as in the Mann-Whitney test. Ties would make them smaller.
    """
    right, wrong = sample_size * (1 - error), sample_size * error
    return min(0.5 + 2 * ((right + wrong + 1) / (12 * right * wrong)) ** 0.5, 1.0)


def _skill(auroc: float, by_chance: float, clear: bool, words: Words) -> str:
    """Says in a sentence whether confidence clearly tells right from wrong."""
    if not clear:
        return (
            f"Confidence does not clearly tell right {words.one}s from wrong ones: "
            f"AUROC {auroc:.3f}; chance alone gives about {1 - by_chance:.3f} to "
            f"{by_chance:.3f}."
        )
    if auroc > 0.5:
        return (
            f"Confidence tells right {words.one}s from wrong ones: AUROC {auroc:.3f}; "
            f"chance alone gives up to about {by_chance:.3f}."
        )
    return (
        f"Confidence misleads, because it tends to be higher for wrong {words.one}s: "
        f"AUROC {auroc:.3f}; chance alone gives about {1 - by_chance:.3f} or more."
    )


def _gain(
    curve: RiskCoverageCurve,
    coverage: float,
    clear: bool,
    words: Words,
    loss: str = "error",
) -> str:
    """Says in a sentence how the error changes without the least confident examples."""
    reached = np.argmax(curve.coverages * _sorted_outcomes.ROUND_UP >= coverage)
    if reached == len(curve.risks) - 1:
        tied = 1 - curve.coverages[-2] if reached else 1
        return (
            f"No threshold leaves out up to {1 - coverage:.0%}: the least confident "
            f"{100 * tied:.3g}% are equally confident."
        )
    after, before = (f"{risk:.4f}" for risk in curve.risks[[reached, -1]])
    if after == before:
        change = f"leaves the {loss} at {before}"
    else:
        verb = "lowers" if after < before else "raises"
        chance = "" if clear else ", and chance alone may do the same"
        change = f"{verb} the {loss} from {before} to {after}{chance}"
    share = 100 * curve.coverages[reached]
    doing = words.doing.capitalize()
    return f"{doing} only the most confident {share:.3g}% {change}."


def _thinned(curve: RiskCoverageCurve) -> Curve:
    """Returns the points of the curve, or of a curve with many points some of them.

    For each of _MAX_POINTS equal steps of coverage, this is the first point at or above
    the step.
    """
    chosen = np.arange(len(curve.coverages))
    if len(chosen) > _MAX_POINTS:
        steps = np.arange(1, _MAX_POINTS + 1) / _MAX_POINTS / _sorted_outcomes.ROUND_UP
        chosen = np.unique(np.searchsorted(curve.coverages, steps))
    points = {name: values[chosen].tolist() for name, values in curve._asdict().items()}
    return Curve(**points)
