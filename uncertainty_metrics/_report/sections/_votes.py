"""The section on votes for all classes, not only for the decided one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Votes, rows_of, votes_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Code,
    Table,
    Text,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import ModelReport, Section
from uncertainty_metrics._report.sections._sampled_rows import sentence_on_sample
from uncertainty_metrics.numpy import _row_math

# With more classes, the table shows those whose share and probability differ most.
_SHOWN = 20


@dataclasses.dataclass(frozen=True)
class ClassVotes:
    """The votes for one class.

    Attributes:
      share_of_votes: mean share.
      mean_probability: mean probability.
    """

    share_of_votes: float
    mean_probability: float


@dataclasses.dataclass(frozen=True)
class VotesForClasses(Section):
    """Scores of the forecasts of all classes, and the classes by themselves.

    Attributes:
      metrics: the scores, each the mean over the votes.
      classes: the classes by name, those with the largest differences first.
      code: lines of code that fit a temperature to the votes.
    """

    name = "votes"
    heading = "Votes for all classes"
    tasks = ("confidences",)

    metrics: dict[str, Metric]
    classes: dict[str, ClassVotes]
    code: list[str]

    @classmethod
    def of(cls, report: ModelReport) -> VotesForClasses | None:
        votes, rows = votes_of(report.model), rows_of(report.model)
        if votes is None or rows is None:
            return None
        weights = rows.sample_weight
        given: dict[str, Any] = {votes.kind: votes.values, "sample_weight": weights}
        given["label_distributions"] = votes.shares
        apart = 1 - np.average((votes.shares**2).sum(axis=1), weights=weights)
        return cls(
            metrics(
                {
                    "brier_score": (
                        um.brier_score(**given, zero_based=True),
                        "Mean of sum_k (p_k - y_k)^2, y_k = 1 for the class of a vote: "
                        f"0 (best) to 2. At least {apart:.4f}, because votes differ.",
                    ),
                    "negative_log_likelihood": (
                        um.negative_log_likelihood(**given),
                        "In nats, the mean over votes.",
                    ),
                    "sce": (
                        um.sce(**given, num_bins=report.num_bins),
                        "Mean calibration error of the probabilities of the classes.",
                    ),
                }
            ),
            _classes(votes, weights),
            _code(votes.kind, weights is not None),
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield from sentence_on_sample(report.model)
        yield Text(
            "The sections above are about the decided class of each example. These are "
            "about the probabilities of all classes:"
        )
        yield metrics_table("Scores of all classes", "score", self.metrics)
        shown = [*self.classes.items()][:_SHOWN]
        yield Table(
            "Votes for each class",
            "class",
            ("share of votes", "mean p"),
            [
                (name, number(each.share_of_votes), number(each.mean_probability))
                for name, each in shown
            ],
        )
        if len(self.classes) > len(shown):
            more = len(self.classes) - len(shown)
            yield Text(f"{more} more classes are in report.json.")
        yield Text(
            "The classes whose share and mean p differ most come first. The code that "
            "recalibrates the probabilities of all classes, with the shares `votes`:"
        )
        yield Code(self.code)


def _code(kind: str, is_weighted: bool) -> list[str]:
    weight = ", sample_weight=sample_weight" if is_weighted else ""
    return [
        "import uncertainty_metrics.numpy as um",
        "scaling = um.TemperatureScaling().fit(",
        f"    label_distributions=votes, {kind}={kind}{weight}",
        ")",
        f"recalibrated = scaling.transform({kind}=new_{kind})",
    ]


def _classes(votes: Votes, weights: np.ndarray | None) -> dict[str, ClassVotes]:
    probabilities = votes.values
    if votes.kind == "logits":
        probabilities = _row_math.softmax(probabilities)
    shares, means = (
        np.average(each, axis=0, weights=weights)
        for each in (votes.shares, probabilities)
    )
    names = votes.classes or [f"class {k}" for k in range(len(shares))]
    order = np.argsort(-np.abs(shares - means), kind="stable")
    return {names[k]: ClassVotes(float(shares[k]), float(means[k])) for k in order}
