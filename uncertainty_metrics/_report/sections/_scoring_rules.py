"""The section on proper scoring rules of a classifier, or of answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import (
    brier_title,
    is_of_one_outcome,
    share_of_summary,
)
from uncertainty_metrics._report.data._decided import (
    class_shares,
    decisions_of,
    examples_of,
    largest_share,
    words_of,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Stream,
    has_cluster_sums,
    has_grades,
    is_of_answers,
)
from uncertainty_metrics._report.data._risks import has_risks, is_too_few, risks_of
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import scores_of
from uncertainty_metrics._report.sections._calibration_words import (
    brier_of_grades,
    capitalized,
    terms_for,
)
from uncertainty_metrics._report.sections._constant_forecast import (
    GainOverConstant,
    against_constant,
    gain_over_constant,
    tile_of_gain,
)
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY, graded
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._posterior import Posterior

_PARTS_OF_CLASSES = {
    "uncertainty": ("+", "Score of always forecasting the class frequencies."),
    "resolution": ("-", "How well decisions tell labels apart; high is good."),
    "reliability": ("+", "Miscalibration of each decision's mean forecast."),
    "within_bin_variance": ("+", "Spread of the forecasts of a decision."),
    "within_bin_covariance": ("-", "Spread that follows the labels; high is good."),
}
_PARTS_OF_ANSWERS = {
    "uncertainty": ("+", "Score of always saying the {0}."),
    "discrimination": ("-", "How well confidence tells {1}s apart; high is good."),
    "miscalibration": ("+", "How much the best map of the confidences would gain."),
}


@dataclasses.dataclass(frozen=True)
class BrierPart:
    """A part of the Brier score, which is added or subtracted."""

    sign: str
    value: float
    meaning: str


@dataclasses.dataclass(frozen=True)
class ScoringRules(Section):
    """Proper scoring rules.

    Attributes:
      metrics: the scores.
      constant: the Brier score against that of a constant forecast.
      impossible_labels: number of labels of probability 0.
      brier_parts: the parts of the Brier score.
      sum_of_brier_parts: the Brier score.
    """

    name = "scoring_rules"
    heading = "Scoring rules"
    tasks = ("classification", "confidences")

    metrics: dict[str, Metric]
    constant: GainOverConstant
    impossible_labels: int
    brier_parts: dict[str, BrierPart]
    sum_of_brier_parts: float

    @classmethod
    def of(cls, report: ModelReport) -> ScoringRules:
        model = report.model
        if isinstance(model, Stream):
            return _of_stream(model)
        return (
            _of_answers(model)
            if isinstance(model, Confidences)
            else _of_classifier(model)
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        if has_risks(report.model):
            yield from self._tiles_of_risks(report)
            return
        forecast = "the class frequencies"
        if is_of_answers(report.model):
            forecast = f"the {terms_for(report.model).outcome}"
        yield tile_of_gain(self.constant, brier_title(report.model), forecast, number)

    def _tiles_of_risks(self, report: ModelReport) -> Iterator[Tile]:
        """Yields the tiles on the score and on the calibration error of an event."""
        few = is_too_few(risks_of(report.model).smaller_class)
        score = "Brier score, the mean of (event - risk)^2,"
        tile = tile_of_gain(self.constant, score, "the share of events", number)
        yield tile._replace(value=TOO_FEW_TO_SAY, level="unclear") if few else tile
        posterior = report[Posterior]
        _, level = graded(posterior.p_value, "", "")
        ece, detail = posterior.error_and_chance(report)
        yield Tile("Calibration error", ece, detail, "unclear" if few else level)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield metrics_table("Proper scoring rules", "score", self.metrics)
        if self.brier_parts:
            yield Text("The Brier score is made up of:")
            parts = [
                (f"{part.sign} {name}", number(part.value), part.meaning)
                for name, part in self.brier_parts.items()
            ]
            total = ("= brier_score", number(self.sum_of_brier_parts), "")
            columns = ("value", "meaning")
            yield Table("Parts of the Brier score", "part", columns, [*parts, total])


def _of_classifier(model: Predictions) -> ScoringRules:
    examples, scores = examples_of(model), scores_of(model)
    weights = decisions_of(model).with_small_weights().weights
    share = 0.5 if is_of_one_outcome(model) else 1.0  # Of the sum over all classes.
    parts = {
        name: share * value
        for name, value in um.brier_decomposition_exact(examples.weighted(weights))
        ._asdict()
        .items()
    }
    parts["uncertainty"] += share  # The squares and not less 1, as `brier_score`.
    nlls, briers = scores["negative_log_likelihood"], scores["brier_score"]
    impossible = int(np.isinf(nlls).sum())
    nll = np.average(nlls, weights=weights)
    score = np.average(briers, weights=weights)
    shares = class_shares(model)
    constant = share * (1 - 2 * shares + shares @ shares)[examples.labels]
    gain = against_constant(briers, constant, weights, clusters_of(model))
    return ScoringRules(
        _scores(model, score, nll, impossible, examples.counted.size),
        dataclasses.replace(gain, largest_share=largest_share(model)),
        impossible,
        {
            name: BrierPart(sign, parts[name], meaning)
            for name, (sign, meaning) in _PARTS_OF_CLASSES.items()
        },
        sum(
            -parts[name] if sign == "-" else parts[name]
            for name, (sign, _) in _PARTS_OF_CLASSES.items()
        ),
    )


def _of_answers(model: Confidences) -> ScoringRules:
    """Scores confidences as probabilities of being right."""
    decisions, scores = decisions_of(model).with_small_weights(), scores_of(model)
    weights, correct = decisions.weights, decisions.correct
    briers, nlls = scores["brier_score"], scores["negative_log_likelihood"]
    impossible = int(np.isinf(nlls).sum())
    nll = np.average(nlls, weights=weights)
    accuracy = np.average(correct, weights=weights)
    parts = um.corp_decomposition(**decisions.arguments)._asdict()
    brier = np.average(briers, weights=weights)
    constant = (accuracy - correct) ** 2 + correct * (1.0 - correct)
    scores_shown = _scores(model, brier, nll, impossible, len(correct))
    if model.are_graded:
        squares = (decisions.confidences.astype(np.float64) - correct) ** 2
        squared = float(np.average(squares, weights=weights))
        scores_shown |= _squared_error(squared, terms_for(model).grade)
    return ScoringRules(
        scores_shown,
        against_constant(briers, constant, weights, clusters_of(model)),
        impossible,
        _parts_of_answers(parts, model),
        float(brier),
    )


def _of_stream(model: Stream) -> ScoringRules:
    summary = model.summary
    means = summary.means()
    brier, nll = (means[n].mean for n in ("brier_score", "negative_log_likelihood"))
    gain, constant = summary.brier_gain()
    freedom = 1 - 1 / summary.effective_examples
    error = gain.standard_error / freedom**0.5 if freedom > 0 else np.inf
    share = share_of_summary(model)
    brier, constant, gained = share * brier, share * constant, share * gain.mean
    found = gain_over_constant(constant - gained, constant, gained, share * error)
    if has_cluster_sums(model):
        found = dataclasses.replace(found, p_value=None)
    impossible = summary.impossible
    scores = _scores(model, brier, nll, impossible, summary.num_examples)
    if summary.of_answers:
        parts = summary.decisions.corp_decomposition()._asdict()
        if has_grades(model):  # The Brier score less the mean of y (1 - y).
            spread = summary._spreads[0] / summary.total_weight
            scores |= _squared_error(brier - spread, terms_for(model).grade)
        named = _parts_of_answers(parts, model)
        return ScoringRules(scores, found, impossible, named, brier)
    found = dataclasses.replace(found, largest_share=largest_share(model))
    return ScoringRules(scores, found, impossible, {}, brier)


def _parts_of_answers(
    parts: Mapping[str, float], model: Decided
) -> dict[str, BrierPart]:
    """Returns the parts of the Brier score by CORP, with signs and meanings."""
    words = terms_for(model).outcome, words_of(model).one
    return {
        name: BrierPart(sign, float(parts[name]), meaning.format(*words))
        for name, (sign, meaning) in _PARTS_OF_ANSWERS.items()
    }


def _scores(
    model: Decided, brier: float, nll: float, impossible: int, size: int
) -> dict[str, Metric]:
    """Returns the scores with their meanings.

    Args:
      model: the model.
      brier: Brier score.
      nll: negative log-likelihood.
      impossible: number of outcomes of probability 0.
      size: number of outcomes.
    """
    meaning = "Mean of sum_k (p_k - y_k)^2: 0 (best) to 2."
    if is_of_one_outcome(model):
        meaning = "Mean of (y - p)^2: 0 (best) to 1."
    outcome = "outcome" if is_of_answers(model) else "label"
    likelihood = f"In nats; the same as p = {np.exp(-nll):.3f} for every {outcome}."
    if impossible:
        likelihood = f"{impossible:,} of {size:,} {outcome}s had probability 0."
    if has_grades(model):
        meaning = f"{capitalized(brier_of_grades(model))}: 0 (best) to 1."
        likelihood = "In nats; the mean of -g log(p) - (1 - g) log(1 - p)."
        if impossible:
            likelihood = (
                f"{impossible:,} of {size:,} confidences are 0 or 1, and the "
                f"{terms_for(model).grade} is another number."
            )
    return metrics(
        {
            "brier_score": (brier, meaning),
            "negative_log_likelihood": (nll, likelihood),
        }
    )


def _squared_error(value: float, grade: str) -> dict[str, Metric]:
    """Returns the mean of (grade - confidence)^2 with its meaning."""
    meaning = (
        f"Mean of (g - p)^2, g the {grade}: 0 (best) to 1. The brier_score is never "
        "below the mean of g (1 - g)."
    )
    return metrics({"squared_error": (value, meaning)})
