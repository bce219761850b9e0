"""The section on sampled answers: does their agreement tell right from wrong?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    Decisions,
    decisions_of,
    examples_of,
)
from uncertainty_metrics._report.data._predictions import Confidences
from uncertainty_metrics._report.sections._blocks import Block, Table, Text, number
from uncertainty_metrics._report.sections._model_report import ModelReport, Section


@dataclasses.dataclass(frozen=True)
class Signal:
    """How well a signal tells right answers from wrong ones; None: not defined."""

    auroc: float | None
    aurc: float
    ece: float | None


@dataclasses.dataclass(frozen=True)
class SampledAnswers(Section):
    """Signals of several sampled answers to each question, by name."""

    name = "sampled_answers"
    heading = "Sampled answers"
    tasks = ("confidences",)

    verdict: str
    signals: dict[str, Signal]

    @classmethod
    def of(cls, report: ModelReport) -> SampledAnswers | None:
        model = report.model
        if not isinstance(model, Confidences) or model.samples is None:
            return None
        samples, decisions = model.samples, decisions_of(model)
        counted = examples_of(model).counted.reshape(-1)
        agreement, entropy = samples.agreement[counted], samples.entropy[counted]
        signals = {"agreement": agreement, "entropy": -entropy}
        if not np.array_equal(agreement, decisions.confidences):
            signals = {"confidence": decisions.confidences, **signals}
        mean = float(np.average(agreement, weights=decisions.weights))
        return cls(
            f"On average {mean:.1%} of the answers to a question agree. This agreement "
            "is a confidence; the entropy of the answers is large where the model is "
            "less sure. "
            + (
                "AURC is the mean of 1 - grade over coverages."
                if model.are_graded
                else "For each of these signals, AUROC is the probability that the "
                "signal ranks a right answer above a wrong one."
            ),
            {
                name: _signal(decisions._replace(confidences=signal), name != "entropy")
                for name, signal in signals.items()
            },
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield Table(
            "Signs of a right answer",
            "sign",
            ("auroc", "aurc", "ece"),
            [
                (name, *map(number, (each.auroc, each.aurc, each.ece)))
                for name, each in self.signals.items()
            ],
        )


def _signal(decisions: Decisions, is_probability: bool) -> Signal:
    correct, signal, weights, _ = decisions
    if correct.dtype.kind == "f":
        return Signal(
            None,
            um.aurc(losses=1 - correct, confidences=signal, sample_weight=weights),
            um.ece(**decisions.arguments) if is_probability else None,
        )
    has_both = 0 < correct.sum() < len(correct)
    return Signal(
        um.auroc(correct, signal, sample_weight=weights) if has_both else None,
        um.aurc(**decisions.arguments),
        um.ece(**decisions.arguments) if is_probability else None,
    )
