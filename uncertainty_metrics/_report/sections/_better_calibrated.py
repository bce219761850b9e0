"""Which of two models of the same examples is better calibrated."""

from __future__ import annotations

import dataclasses

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import judged_of
from uncertainty_metrics._report.data._predictions import Decided
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    TestedInterval,
    interval,
)
from uncertainty_metrics._report.sections._p_values import shown_p_value


@dataclasses.dataclass(frozen=True)
class BetterCalibrated:
    """Which of two models is better calibrated.

    Attributes:
      difference: the squared calibration error (l2, without bias) of the first less
        that of the second.
      errors: the l2 error of each model, by "first" and "second".
      better: "first" or "second"; None if the data do not tell.
      verdict: a sentence.
    """

    difference: TestedInterval
    errors: dict[str, float]
    better: str | None
    verdict: str


def better_calibrated(
    first: Decided, second: Decided, num_bins: int
) -> BetterCalibrated | None:
    """Returns which of two models of the same examples is better calibrated; None for
    a single example, or if their examples of positive weight differ in number.
    """
    one, other = (judged_of(model).with_small_weights() for model in (first, second))
    if len(one.correct) != len(other.correct) or len(one.correct) < 2:
        return None
    found = um.calibration_error_difference(
        *(
            {"correct": each.correct, "confidences": each.confidences}
            for each in (one, other)
        ),
        sample_weight=one.weights,
        level=INTERVAL_LEVEL,
        num_bins=num_bins,
        clusters=clusters_of(first),
    )
    lower, estimate, upper, p = map(float, found)
    errors = dict(zip(("first", "second"), map(float, found.errors), strict=True))
    better = None
    if lower > 0 or upper < 0:
        better = "first" if estimate < 0 else "second"
    said = "The data do not tell which of the two is better calibrated"
    if better is not None:
        said = f"The {better} model is better calibrated"
    return BetterCalibrated(
        TestedInterval(**vars(interval(lower, estimate, upper)), p_value=p),
        errors,
        better,
        f"{said}: the calibration error (l2, without bias) is {errors['first']:.4f} "
        f"for the first and {errors['second']:.4f} for the second; the difference of "
        f"the squares is {estimate:.2g} ({lower:.2g} to {upper:.2g}), p "
        f"{shown_p_value(p)}. The ECE of the table is larger for a model that fills "
        "more bins.",
    )
