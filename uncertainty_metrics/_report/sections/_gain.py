"""The section on the score, and on how much of it recalibration would gain."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import (
    is_of_one_outcome,
    share_of_summary,
)
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_cells,
    event_of,
)
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Stream,
    has_cluster_sums,
    has_grades,
    rows_of,
)
from uncertainty_metrics._report.data._risks import TOO_FEW
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    number,
    significant,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    scores_of,
)
from uncertainty_metrics._report.sections._calibration_words import brier_of_grades
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    Number,
    interval,
)
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    Section,
)
from uncertainty_metrics._report.sections._recalibrated_forecasts import (
    AS_IT_IS,
    FOLDS,
    MAPS,
    Gains,
    recalibrated,
)
from uncertainty_metrics.numpy.calibrators.calibration_loss import (
    SCORES,
    CalibrationLoss,
    of_cells,
)

BRIER, LIKELIHOOD = "Brier score", "Negative log-likelihood"
# A gain of at least this share of the score is a reason to recalibrate.
_MUCH = 0.01
# An interval that ends below this share of the score rules out much of a gain.
_LITTLE = 0.05


_Loss = TypeVar("_Loss", bound="Loss")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loss:
    """A mean score, and how much of it could be gained.

    Attributes:
      loss: the mean score of all examples.
      gain: what the map gains, with its interval; None if no map can be fitted.
      share: the gain as a share of the score of the examples that it is computed from.
      overconfident: the part of the gain where the map lowers the confidence.
      underconfident: the part of the gain where the map raises the confidence.
    """

    loss: float
    gain: Interval | None = None
    share: Number = None
    overconfident: Number = None
    underconfident: Number = None

    @staticmethod
    def show(value: float | str | None) -> str:
        """Returns the text of a score."""
        return number(value)

    @property
    def is_clear(self) -> bool:
        """Whether the gain is more than chance, rounded as in the report."""
        return self.gain is not None and float(self.show(self.gain.low)) > 0


class LossInUnits(Loss):
    """The same of a score in the unit of the targets, which may be small or large."""

    @staticmethod
    def show(value: float | str | None) -> str:
        """Returns the text of a score."""
        return significant(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gain(Section):
    """The scores, and how much of them a map would gain.

    Attributes:
      brier: the Brier score.
      likelihood: the negative log-likelihood.
      map: the name of the map; None if none can be fitted.
      folds: of the cross-fitting.
      examples: the number of examples that the gain is computed from.
      definition: how the Brier score is defined.
      verdict: a sentence or two.
    """

    name = "calibration_loss"
    heading = "The score, and what could be gained"
    tasks = ("classification", "confidences")

    brier: Loss
    likelihood: Loss
    map: str | None = None
    folds: int = FOLDS
    examples: int = 0
    definition: str
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> Gain:
        brier, likelihood = _scores(report.model)
        found, examples, why = _found(report.model, report.num_bins)
        if found is None:
            return cls(
                brier=Loss(loss=brier),
                likelihood=Loss(loss=likelihood),
                definition=_definition(report.model),
                verdict=why,
            )
        of_brier = loss_and_gain(brier, found.of_brier, Loss)
        title = MAPS[found.map][1]
        return cls(
            brier=of_brier,
            likelihood=loss_and_gain(likelihood, found.of_likelihood, Loss),
            map=found.map,
            examples=examples,
            definition=_definition(report.model),
            verdict=f"{verdict_on(of_brier, title)}{_of_better(report, of_brier)}",
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        detail = f"{self.verdict} {self.definition}"
        by = "" if self.map is None else f" by {MAPS[self.map][1]}"
        yield tile_of_loss(BRIER, self.brier, detail, by)

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(f"{BRIER} {number(self.brier.loss)}. {self.verdict}")
        if self.map is None:
            return
        of_sample = ""
        if self.examples < _size(report.model):
            of_sample = f" of {self.examples:,} examples drawn at random"
        yield gain_table({BRIER: self.brier, LIKELIHOOD: self.likelihood})
        if np.isinf(self.likelihood.loss):
            why = "a forecast gave an outcome that came the probability 0"
            if has_grades(report.model):
                why = "a confidence is 0 or 1 where the grade is another number"
            yield Text(
                f"The negative log-likelihood is infinite, because {why}, so no gain "
                "in it is a number."
            )
        yield Text(
            f"The gain{of_sample} is what {MAPS[self.map][1]} takes off the score: the "
            "map that recalibrates an example was fitted to the other "
            f"{self.folds - 1} of {self.folds} folds. On average it is at most what "
            "the best of all maps would gain, and at most 0 for a calibrated model; "
            "calibration errors are made larger by noise."
        )
        over, under = self.brier.overconfident, self.brier.underconfident
        yield Text(
            f"Of the gain in the {BRIER}, {number(over)} comes from examples whose "
            f"confidence the map lowers, and {number(under)} from examples whose "
            "confidence it raises."
        )


def _found(model: Decided, num_bins: int) -> tuple[Gains | None, int, str]:
    """Returns what could be gained, from how many examples, and why it is not known."""
    rows = rows_of(model)
    if rows is None:
        assert isinstance(model, Stream)
        try:
            return _gains_of_summary(model), model.summary.num_examples, ""
        except ValueError as wrong:
            return None, 0, f"How much could be gained is not known: {wrong}"
    found = recalibrated(rows, num_bins)
    if found.gains is not None:
        return found.gains, len(next(iter(found.forecasts.values()))), ""
    why = found.too_few or (
        f"no map can be fitted, or fewer than {TOO_FEW} examples have one of the two "
        "outcomes"
    )
    return None, 0, f"{TOO_FEW_TO_SAY} how much could be gained: {why}."


def _of_better(report: ModelReport, loss: Loss) -> str:
    """Returns a sentence on the best of the maps that were tried; "" if it gains no
    more Brier score than the one that was chosen beforehand.
    """
    rows = rows_of(report.model)
    best = None if rows is None else recalibrated(rows, report.num_bins).best
    if rows is None or best is None or loss.gain is None:
        return ""
    scores = recalibrated(rows, report.num_bins).scores
    before, after = (scores[name]["brier_score"] for name in (AS_IT_IS, best.name))
    gain = number(before - after)
    if float(gain) <= float(number(loss.gain.estimate)):
        return ""
    return (
        f" That map was chosen beforehand; of the {len(best.gains)} maps tried, "
        f"{MAPS[best.name][1]} is best and gains {gain}."
    )


def _gains_of_summary(model: Stream) -> Gains:
    """Returns what could be gained, from the cells of a summary.

    Raises:
      ValueError: they do not tell.
    """
    summary, event = model.summary, event_of(model)
    if event is None and not summary.of_answers:
        raise ValueError("a summary does not have whole forecasts of classes.")
    if has_cluster_sums(model):
        raise ValueError(
            "a summary does not tell which of its examples are of one cluster."
        )
    if has_grades(model):
        raise ValueError("a summary does not tell single grades.")
    if summary.private is not None:
        raise ValueError("a private summary has noise in its counts.")
    if summary.is_weighted:
        raise ValueError("a summary of weights does not tell single examples.")
    cells = (
        summary.decisions._one_group("report")
        if event is None
        else event_cells(model, event)
    )
    hits, total = cells.outcome_sums.sum(), cells.weights.sum()
    if min(hits, total - hits) < TOO_FEW:
        raise ValueError(f"fewer than {TOO_FEW} examples have one of the two outcomes.")
    of_brier, of_likelihood = (
        of_cells(
            cells,
            score,
            um.BetaCalibration,
            FOLDS,
            INTERVAL_LEVEL,
            SEED,
            of_answers=event is None,
        )
        for score in SCORES[::-1]
    )
    return Gains("beta", of_brier, of_likelihood)


def _scores(model: Decided) -> tuple[float, float]:
    """Returns the Brier score and the negative log-likelihood of all examples."""
    names = "brier_score", "negative_log_likelihood"
    if isinstance(model, Stream):
        means = model.summary.means()
        brier, likelihood = (means[name].mean for name in names)
        return share_of_summary(model) * brier, likelihood
    weights = decisions_of(model).with_small_weights().weights
    brier, likelihood = (
        float(np.average(scores_of(model)[name], weights=weights)) for name in names
    )
    return brier, likelihood


def _size(model: Decided) -> int:
    if isinstance(model, Stream):
        return model.summary.num_examples
    return len(decisions_of(model).correct)


def _definition(model: Decided) -> str:
    if has_grades(model):
        return f"The score is {brier_of_grades(model)}: 0 (best) to 1."
    if is_of_one_outcome(model):
        return "The score is the mean of (y - p)^2, 0 (best) to 1."
    return "The score is the mean of sum_k (p_k - y_k)^2, 0 (best) to 2."


def loss_and_gain(loss: float, found: CalibrationLoss, kind: type[_Loss]) -> _Loss:
    """Returns the score of all examples, and how much of it could be gained."""
    return kind(
        loss=loss,
        gain=interval(found.lower, found.difference, found.upper),
        share=found.share,
        overconfident=found.overconfident,
        underconfident=found.underconfident,
    )


def tile_of_loss(title: str, loss: Loss, detail: str, by: str = "") -> Tile:
    """Returns the tile of a score; `by` names the map, where a report has several."""
    value, level, show = loss.show(loss.loss), "unclear", loss.show
    if loss.gain is not None:
        gain, share = loss.gain, loss.share
        if loss.is_clear:
            value += f", of which {show(gain.estimate)} could be gained{by}"
            level = "bad" if share >= _MUCH else "unclear"
        else:
            value += f", no clear gain{by}"
            is_small = (gain.high or 0.0) < _LITTLE * loss.loss
            level = "good" if is_small else "unclear"
    return Tile(title, value, detail, level)


def gain_table(losses: Mapping[str, Loss]) -> Table:
    """Returns the table of scores, and of how much of them could be gained."""
    return Table(
        "Scores, and how much of them could be gained",
        "score",
        ("value", "gain", "from", "to", "share"),
        [
            (
                name,
                *map(loss.show, (loss.loss, *_ends(loss))),
                number(None if np.isinf(loss.loss) else loss.share),
            )
            for name, loss in losses.items()
        ],
    )


def _ends(loss: Loss) -> tuple[Number, Number, Number]:
    gain = loss.gain
    assert gain is not None
    if np.isinf(loss.loss):  # Any finite score gains all of it.
        return None, None, None
    return gain.estimate, gain.low, gain.high


def verdict_on(loss: Loss, title: str) -> str:
    """Returns a sentence on the gain by a map."""
    show, (gain, low, high) = loss.show, _ends(loss)
    ends = f"{INTERVAL_LEVEL:.0%} interval {show(low)} to {show(high)}"
    if loss.is_clear:
        return (
            f"Recalibration by {title} would gain {show(gain)} on examples "
            f"that it was not fitted to ({ends}), {loss.share:.1%} of the score."
        )
    return (
        f"What recalibration by {title} gains on examples that it was not fitted to "
        f"may be chance: {show(gain)} ({ends})."
    )
