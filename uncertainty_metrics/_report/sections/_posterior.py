"""The section on the posterior of the ECE."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import judged_of, noun_of_rows
from uncertainty_metrics._report.data._predictions import (
    Decided,
    has_cluster_sums,
    has_grades,
    remembered,
)
from uncertainty_metrics._report.data._risks import has_risks
from uncertainty_metrics._report.data._row_clusters import clusters_of, num_clusters
from uncertainty_metrics._report.data._sample_sizes import num_examples
from uncertainty_metrics._report.sections._blocks import Block, Text, Tile, number
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_errors import ece_of
from uncertainty_metrics._report.sections._calibration_words import terms_of
from uncertainty_metrics._report.sections._diagrams import drawn
from uncertainty_metrics._report.sections._ece_test import ece_by_chance, p_value_of
from uncertainty_metrics._report.sections._findings import calibrated
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics._report.sections._p_values import (
    decimals,
    is_clear,
    shown_p_value,
    verdict_on_chance,
)

# Draws of the ECE. With more bins each draw takes longer, so there are fewer draws.
_MAX_DRAWS, _MIN_DRAWS, _MAX_DRAWN_BINS = 5000, 100, 1_000_000


def _num_draws(num_bins: int) -> int:
    return max(_MIN_DRAWS, min(_MAX_DRAWS, _MAX_DRAWN_BINS // num_bins))


@remembered
def ece_draws(model: Decided, num_bins: int) -> np.ndarray:
    """Draws from the posterior of the ECE, the same on every call.

    Both models of a comparison share the seed: their draws are compared in all pairs,
    so the draws need not be independent.
    """
    return um.bayesian_expected_calibration_error(
        num_bins,
        **judged_of(model).arguments,
        num_ece_samples=_num_draws(num_bins),
        seed=SEED,
    )


def _draw(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws one diagram with the posteriors of the ECE of all models."""
    draws = {name: ece_draws(model, num_bins) for name, model in models.items()}
    title = f"Posterior of the ECE, {num_bins} bins"
    return drawn(4.4, um.posterior_diagram, samples=draws, title=title)


POSTERIORS = ReportPicture(
    "posteriors.png",
    "the posterior of the ECE",
    _draw,
    lambda models, num_bins: (
        not has_grades(models[0]) and not has_cluster_sums(models[0])
    ),
)


@dataclasses.dataclass(frozen=True)
class CredibleInterval:
    """Where the ECE lies with the probability `level`."""

    level: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Posterior(Section):
    """The posterior of the ECE.

    Attributes:
      mean: of the posterior.
      median: of the posterior.
      interval: of the posterior.
      ece_by_chance: an ECE that a calibrated model rarely exceeds.
      p_value: the probability that a calibrated model has an ECE as large.
      verdict: a sentence or two.
    """

    name = "bayesian_ece"
    heading = "Posterior of the ECE"
    tasks = ("classification", "confidences")
    pictures = (POSTERIORS,)

    mean: float
    median: float
    interval: CredibleInterval
    ece_by_chance: float
    p_value: float
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> Posterior | None:
        model, num_bins = report.model, report.num_bins
        # The posterior is one of counts, and the sums over clusters have no p-value.
        if has_grades(model) or has_cluster_sums(model):
            return None
        return cls.of_ece(model, ece_of(model, num_bins), num_bins)

    @classmethod
    def of_ece(cls, model: Decided, ece: float, num_bins: int) -> Posterior:
        """Returns the section of a model with a known calibration error of the data."""
        draws = ece_draws(model, num_bins)
        tail = (1 - INTERVAL_LEVEL) / 2
        low, median, high = map(float, np.quantile(draws, [tail, 0.5, 1 - tail]))
        mean = float(draws.mean())
        chance = ece_by_chance(model, num_bins)
        p = p_value_of(model, ece, num_bins)
        verdict = (
            f"The ECE of the model lies between {low:.4f} and {high:.4f} with "
            f"{100 * INTERVAL_LEVEL:.0f}% probability (mean {mean:.4f}); the ECE of "
            f"the data is {ece:.4f}. By chance alone a calibrated model would show up "
            f"to about {chance:.4f} on such data; {verdict_on_chance(p)}"
        )
        if not is_clear(p):
            verdict += (
                ". If the model is calibrated, this interval is too high: it never "
                "holds 0"
            )
        if clusters_of(model) is not None:
            verdict += (
                ". The posterior has no clusters: it takes all examples as "
                "independent, so that this interval is too narrow; p and the ECE of a "
                "calibrated model are those of clusters"
            )
        return cls(
            mean,
            median,
            CredibleInterval(INTERVAL_LEVEL, low, high),
            chance,
            p,
            f"{verdict}.",
        )

    @classmethod
    def options(cls, num_bins: int) -> dict[str, float]:
        return {"num_ece_samples": _num_draws(num_bins)}

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        if has_risks(report.model):
            return  # The tile follows the score of the risks.
        value, level = calibrated(self.p_value, report[Calibration].direction)
        yield Tile("Calibration", value, self.error_and_chance(report)[1], level)

    def error_and_chance(self, report: ModelReport) -> tuple[str, str]:
        """Returns the calibration error, and a sentence with what chance alone gives.

        Args:
          report: the report that holds this section.
        """
        calibration = report[Calibration]
        digits = decimals(self.interval.high - self.interval.low)
        ece = calibration.metrics["ece"].value
        shown, low, high, chance = (
            f"{each:.{digits}f}"
            for each in (ece, self.interval.low, self.interval.high, self.ece_by_chance)
        )
        event = calibration.event
        of_event = "" if event is None else f" of {terms_of(event).score}"
        ends = f"; with {self.interval.level:.0%} probability {low} to {high}"
        if clusters_of(report.model) is not None:  # The posterior knows no clusters.
            ends = ""
        return shown, (
            f"Calibration error (ECE){of_event} {shown}{ends}. A calibrated model "
            f"would show up to {chance} here; p {shown_p_value(self.p_value)} for this "
            f"value.{self._unnoticed(report)}"
        )

    def _unnoticed(self, report: ModelReport) -> str:
        """Returns a sentence on the errors that these data would not show, unless they
        show one.
        """
        smallest = report[Calibration].smallest_detectable_error
        if smallest is None or is_clear(self.p_value):
            return ""
        clusters = num_clusters(report.model)
        size = f"{num_examples(report.model):,} {noun_of_rows(report.model)}"
        if clusters is not None:
            size += f" of {clusters:,} clusters"
        if smallest > 1:
            return f" No error would be noticed in these {size}."
        digits = decimals(smallest / 100) - 1
        return (
            f" An error (l2) below {smallest:.{digits}f} would often go unnoticed in "
            f"these {size}."
        )

    def blocks(self, report: ModelReport) -> list[Block]:
        interval = self.interval
        alt = (
            f"Posterior of the ECE: mean {number(self.mean)}, median "
            f"{number(self.median)}, {interval.level:.0%} from {number(interval.low)} "
            f"to {number(interval.high)}."
        )
        caption = "Where the ECE of the model may lie, given the data."
        if report.other is not None:
            caption += (
                " The curves do not tell which model is better calibrated: noise "
                "raises the curve of a model that fills more bins, or has fewer "
                "examples."
            )
        return [Text(self.verdict), POSTERIORS.block(alt, caption)]
