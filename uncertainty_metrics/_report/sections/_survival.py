"""The section on a survival model: its risks of an event by the horizon.

An example that was censored by the horizon has weight 0, and the others have weights
that stand for it. The intervals come from a bootstrap that draws examples and finds the
weights again: functions of weighted data would take a weight as a number of examples.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Survival
from uncertainty_metrics._report.data._risks import is_too_few, risks_of
from uncertainty_metrics._report.data._sample_sizes import effective_examples
from uncertainty_metrics._report.sections import _risk_numbers
from uncertainty_metrics._report.sections._blocks import Text, Tile, number
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._findings import TOO_FEW_TO_SAY
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics._report.sections._model_report import SEED, ModelReport
from uncertainty_metrics._report.sections._risk import RiskSection, common_fields
from uncertainty_metrics._report.sections._risk_numbers import (
    decision_curve_of,
    finding,
    metrics_of,
    shown_intervals,
    verdict_of,
)
from uncertainty_metrics._results import ConfidenceInterval

_NUM_RESAMPLES = 200
_OF_RISKS: dict[str, Callable[..., Any]] = {
    "observed_expected_ratio": um.observed_expected_ratio,
    "calibration_intercept": um.calibration_intercept,
    "calibration_slope": um.calibration_slope,
}
# Above this size C's interval would take minutes; it is left out.
_MOST_WITH_C = 5000
# What a comparison shows.
_COMPARED = ("auroc", "harrell_c", "uno_c", "brier_score")
_MEANINGS: dict[str, str] = {
    **_risk_numbers.MEANINGS,
    "brier_score": "Of (event - risk)^2; 0 is best.",
    "auroc": "P(an event by then ranks higher).",
    "harrell_c": "Harrell's; depends on censoring.",
    "uno_c": "Uno's, of events before then.",
}
_ON_WEIGHTS = (
    "An example that was censored by the horizon has weight 0, and the others have "
    "weights that stand for it. The intervals come from a bootstrap of the examples "
    "that finds the weights again in each resample."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SurvivalRisk(RiskSection):
    """The risks of an event by the horizon."""

    tasks = ("survival",)
    meanings = _MEANINGS

    @classmethod
    def of(cls, report: ModelReport) -> SurvivalRisk:
        model = report.model
        data, arguments = risks_of(model), _arguments(model)
        values = _values(**{**arguments, "with_c": True})
        # Where all or none had the event, each resample would say the same.
        has_both = data.labels.min() < data.labels.max()
        ends = _bootstrapped(um.bootstrap, arguments) if has_both else {}
        intervals = {
            name: _with_ends(value, ends.get(name)) for name, value in values.items()
        }
        metrics = metrics_of(data)
        del metrics["brier_score"]
        curve = decision_curve_of(model)
        came = f"By time {model.at:g}, with weights for censoring, the event came"
        return cls(
            **common_fields(data, intervals, curve),
            verdict=verdict_of(data, came, intervals, curve=curve),
            metrics=metrics,
        )

    def before(self, report: ModelReport) -> list[Text]:
        return [Text(_ON_WEIGHTS)]

    def tiles(self, report: ModelReport) -> Iterator[Tile]:
        yield self._tile_of_risks(report.model.at)
        if self.intervals["harrell_c"].estimate is not None:
            yield self._tile_of_concordance()
        if self.metrics["scaled_brier_score"].value is not None:
            yield self._tile_of_score(effective_examples(report.model))

    def _tile_of_risks(self, horizon: float) -> Tile:
        sides = {
            name: self.intervals[name].side_of(value)
            for name, value in (("calibration_slope", 1), ("calibration_intercept", 0))
        }
        off = [name for name, side in sides.items() if side]
        value, level = "May be calibrated", "good"
        if off:
            estimate = self.intervals[off[0]].estimate
            value, level = finding(off[0], estimate).capitalize(), "bad"
        elif self.intervals["calibration_slope"].low is None:
            value, level = TOO_FEW_TO_SAY, "unclear"
        if is_too_few(self.smaller_class):
            value, level = TOO_FEW_TO_SAY, "unclear"
        return Tile(
            f"Risks by time {horizon:g}",
            value,
            f"{shown_intervals(self.intervals)} {INTERVAL_LEVEL:.0%} intervals by the "
            "bootstrap.",
            level,
        )

    def _tile_of_concordance(self) -> Tile:
        ends, uno = self.intervals["harrell_c"], self.intervals["uno_c"]
        also = "" if uno.estimate is None else f"; Uno's {uno.shown()}"
        return Tile(
            "Concordance",
            f"C = {ends.estimate:.3f}",
            f"Harrell's {ends.shown()}{also}. 0.5 is what a risk gives that tells "
            "nothing.",
            {1: "good", 0: "unclear", -1: "bad"}[ends.side_of(0.5)],
        )

    def _tile_of_score(self, size: float) -> Tile:
        brier, share = (
            self.intervals["brier_score"],
            self.metrics["scaled_brier_score"].value,
        )
        constant = brier.estimate / (1 - share)
        value, level = "Not clearly better", "unclear"
        # The best constant of these data fits their noise: its square error is less
        # than that of the true rate by up to about this share.
        fitted = 1 + 4 / size
        if brier.side_of(constant) < 0:
            value, level = f"{share:.0%} better", "good"
        elif brier.side_of(fitted * constant) > 0:
            value, level = f"{-share:.0%} worse", "bad"
        return Tile(
            "Against a constant forecast",
            value,
            f"Brier score {brier.shown()}, weighted for censoring; the same risk for "
            f"all gives {number(constant)}. Smaller is better.",
            level,
        )


def _with_ends(value: float, ends: Interval | None) -> Interval:
    """Returns an interval of the bootstrap around a value.

    It has no ends if these are equal: the bootstrap sees no chance where the risks
    separate the examples, or are all the same.
    """
    if ends is None or ends.low == ends.high:
        return interval(np.nan, value, np.nan)
    estimate = None if np.isnan(value) else float(value)
    return dataclasses.replace(ends, estimate=estimate)


def _arguments(model: Survival) -> dict[str, Any]:
    """Returns the arguments of `_values`."""
    return {
        "times": np.ravel(model.times),
        "event": np.ravel(model.event),
        "risks": np.ravel(model.risks),
        "at": float(model.at),
        "sample_weight": model.sample_weight,
        "with_c": np.size(model.times) <= _MOST_WITH_C,
    }


def _values(
    times: np.ndarray,
    event: np.ndarray,
    risks: np.ndarray,
    at: float,
    sample_weight: np.ndarray | None,
    with_c: bool,
) -> dict[str, float]:
    """Returns the metrics at the horizon; NaN is what is not defined."""
    found = dict.fromkeys((*_OF_RISKS, *_COMPARED), np.nan)
    given = {"sample_weight": sample_weight}
    try:
        labels, weights = um.survival_at(times, event, at, sample_weight=sample_weight)
    except ValueError:  # A resample without an example that was followed so long.
        return found
    at_horizon = (labels, risks), {"sample_weight": weights}
    for name, function in _OF_RISKS.items():
        found[name] = _or_nan(function, *at_horizon)
    found["auroc"] = _or_nan(um.auroc, *at_horizon)
    if with_c:
        found["harrell_c"] = _or_nan(um.concordance_index, (times, event, risks), given)
        found["uno_c"] = _or_nan(
            um.concordance_index,
            (times, event, risks),
            {"ipcw": True, "at": at, **given},
        )
    found["brier_score"] = _or_nan(
        um.ipcw_brier_score, (times, event, 1 - risks, at), given
    )
    return found


def _or_nan(
    metric: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> float:
    """Returns what a metric, or its interval, gives as the estimate; NaN if it is not
    defined for these data.
    """
    try:
        found = metric(*arguments, **options)
    except ValueError:
        return np.nan
    return float(getattr(found, "estimate", found))


def _bootstrapped(
    bootstrap: Callable[..., ConfidenceInterval], arguments: dict[str, Any]
) -> dict[str, Interval]:
    """Returns the interval of each metric, as far as the data allow it."""
    with warnings.catch_warnings():
        # Resamples in which a metric is not defined are left out.
        warnings.simplefilter("ignore", UserWarning)
        try:
            ends = bootstrap(
                _values,
                **arguments,
                num_resamples=_NUM_RESAMPLES,
                level=INTERVAL_LEVEL,
                method="percentile",
                seed=SEED,
            )
        except ValueError:  # A single example, or most resamples say nothing.
            return {}
    return {name: interval(*(end[name] for end in ends)) for name in ends.estimate}


def differences_of_survival(first: Survival, second: Survival) -> dict[str, Interval]:
    """Returns the metrics of a model less those of another, of the same examples."""
    one, other = _arguments(first), _arguments(second)
    models = {"risks": one.pop("risks")}, {"risks": other["risks"]}

    def difference(metric: Any, **options: Any) -> Any:
        return um.bootstrap_difference(metric, *models, **options)

    found = _bootstrapped(difference, one)
    return {name: found[name] for name in _COMPARED if name in found}
