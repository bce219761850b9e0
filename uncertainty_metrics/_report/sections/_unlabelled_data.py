"""The section on new predictions without labels: shares of the classes there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import examples_of
from uncertainty_metrics._report.data._predictions import Predictions, Unlabelled
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    Tile,
    number,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._metrics_and_intervals import Interval
from uncertainty_metrics._report.sections._model_report import (
    SEED,
    ModelReport,
    Section,
)

_SHOWN = 20
_OTHER_CHANGE = "More changed than the classes"
_OTHER_SHARES = "Other shares of the classes"
_NO_CHANGE = "No clear change"
_LEVELS = {_OTHER_CHANGE: "bad", _OTHER_SHARES: "bad", _NO_CHANGE: "good"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnlabelledData(Section):
    """What new predictions say about the shares of the classes.

    Attributes:
      source: name of the file; "" for arrays.
      examples: number of new predictions.
      accuracy: to expect there of adapted decisions; None if shares are unknown.
      priors: share of each class there, by the name of the class.
      held_out: share of each class in the examples with labels.
      p_value: of the test of a shift of classes only.
      finding: what to do, in a few words, for the tile; "" if shares are unknown.
      verdict: a few sentences.
    """

    name = "unlabelled_data"
    heading = "Unlabelled data"
    tasks = ("classification",)

    source: str
    examples: int
    accuracy: Interval | None = None
    priors: dict[str, Interval] = dataclasses.field(default_factory=dict)
    held_out: dict[str, float] = dataclasses.field(default_factory=dict)
    p_value: float | None = None
    finding: str = ""
    verdict: str

    @classmethod
    def of(cls, report: ModelReport) -> UnlabelledData | None:
        model = report.model
        if not isinstance(model, Predictions) or model.unlabelled is None:
            return None
        new = model.unlabelled
        p = _probabilities(model, new)
        where = f" in {new.source}" if new.source else ""
        start = f"There are {len(p):,} predictions without labels{where}."
        examples, clusters = examples_of(model), clusters_of(model)
        shift = um.LabelShift(level=INTERVAL_LEVEL, seed=SEED)
        try:
            shift.fit(
                examples.labels,
                examples.probabilities,
                sample_weight=examples.weights,
                clusters=clusters,
            )
        except (ValueError, RuntimeError) as why:
            verdict = f"{start} The shares of the classes there stay unknown: {why}"
            return cls(source=new.source, examples=len(p), verdict=verdict)
        found = shift.adapt(p, sample_weight=new.sample_weight)
        names = model.classes or tuple(map(str, range(p.shape[1])))
        ends = zip(found.lower, found.prior, found.upper, strict=True)
        accuracy = found.accuracy_lower, found.accuracy, found.accuracy_upper
        return cls(
            source=new.source,
            examples=len(p),
            accuracy=_interval(*accuracy),
            priors={n: _interval(*e) for n, e in zip(names, ends, strict=True)},
            held_out=dict(zip(names, map(float, found.source_prior), strict=True)),
            p_value=found.p_value,
            finding=_finding(found),
            verdict=f"{start} {_advice(found, names)}",
        )

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        del report
        value = self.finding or "Shares unknown"
        yield Tile(self.heading, value, self.verdict, _LEVELS.get(value, "unclear"))

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        del report
        yield Text(self.verdict)
        if self.accuracy is None:
            return
        low, high = number(self.accuracy.low), number(self.accuracy.high)
        yield Text(
            f"The accuracy to expect there is {number(self.accuracy.estimate)} ({low} "
            f"to {high}) if decisions take the adapted probabilities: their mean "
            "confidence. It holds only for a shift of classes."
        )
        rows = [
            (
                name,
                *(number(x) for x in (self.held_out[name], share.estimate)),
                *(number(x) for x in (share.low, share.high)),
            )
            for name, share in [*self.priors.items()][:_SHOWN]
        ]
        caption = "Shares of the classes without labels"
        yield Table(caption, "class", ("held out", "new", "from", "to"), rows)
        yield Text(
            "The shares have the largest likelihood of the new predictions, after a "
            "temperature and a bias for each class were fitted to the examples with "
            f"labels. Intervals are bootstrapped, at {INTERVAL_LEVEL:.0%}."
        )


def _moved(found: Any) -> np.ndarray:
    """Returns whether the share of each class clearly changed, [K]."""
    return (found.lower > found.source_prior) | (found.upper < found.source_prior)


def _finding(found: Any) -> str:
    if not found.consistent:
        return _OTHER_CHANGE
    return _OTHER_SHARES if np.any(_moved(found)) else _NO_CHANGE


def _advice(found: Any, names: tuple[str, ...]) -> str:
    p = f"p = {found.p_value:.3f}"
    if not found.consistent:
        return (
            "They do not look like a mixture of the same classes in other shares "
            f"({p}): the inputs changed too, or the map does not calibrate. Do not "
            "adapt the probabilities; label some of these examples."
        )
    moved = _moved(found)
    if not np.any(moved):
        return (
            "They show no clear change of the shares of the classes, and no other "
            f"change ({p}): use the probabilities as they are."
        )
    factors = np.abs(np.log(np.maximum(found.weights, 1e-9)))
    k = int(np.argmax(np.where(moved, factors, -1.0)))
    return (
        f"Class {names[k]} has a share of {found.prior[k]:.3f} there, and "
        f"{found.source_prior[k]:.3f} in the examples with labels. The shift may be "
        f"one of classes only ({p}): adapt the probabilities with LabelShift."
    )


def _interval(low: float, estimate: float, high: float) -> Interval:
    return Interval(low=float(low), estimate=float(estimate), high=float(high))


def _probabilities(model: Predictions, new: Unlabelled) -> np.ndarray:
    """Returns the new probabilities, [M, K]."""
    values = np.asarray(new.values, np.float64)
    if np.ndim(model.values) == np.ndim(model.labels) or values.shape[-1] == 1:
        values = values.reshape(-1, 1)
        p = special.expit(values) if model.kind == "logits" else values
        return np.concatenate([1 - p, p], axis=1)
    values = values.reshape(-1, values.shape[-1])
    return special.softmax(values, axis=1) if model.kind == "logits" else values
