"""The means of the scores of a summary, with standard errors, from sums by class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from uncertainty_metrics.numpy.sketch._cluster_sums import ClusterSums


class Moments(NamedTuple):
    """The mean of a score of examples, and its standard error.

    Attributes:
      mean: weighted mean; infinite if a score is.
      standard_error: of the mean, with the weights as they are.
    """

    mean: float
    standard_error: float

    def interval(self, z: float) -> tuple[float, float, float]:
        """Returns the mean less z standard errors, the mean, and the mean plus them."""
        half = z * self.standard_error
        return self.mean - half, self.mean, self.mean + half


def means(rows: Mapping[str, np.ndarray]) -> dict[str, Moments]:
    """Returns the means of independent examples by the names of `Summary.means`.

    Args:
      rows: the sums by class, by their names (`_sums_by_class`).
    """
    total = {name: float(row.sum()) for name, row in rows.items()}
    w, ww = total["w"], total["ww"]

    def moments(first: str, second: str, third: str) -> Moments:
        mean = total[first] / w
        spread = total[third] - 2 * mean * total[second] + mean**2 * ww
        return Moments(mean, math.sqrt(max(spread, 0.0)) / w)

    accuracy = total["right"] / w
    likelihood = moments("w_l", "ww_l", "ww_l_l")
    if round(total["impossible"]):
        likelihood = Moments(math.inf, math.nan)
    return {
        "accuracy": Moments(accuracy, math.sqrt(accuracy * (1 - accuracy) * ww) / w),
        "mean_confidence": Moments(total["confidence"] / w, math.nan),
        "gap": moments("w_gap", "ww_gap", "ww_gap_gap"),
        "brier_score": moments("w_b", "ww_b", "ww_b_b"),
        "negative_log_likelihood": likelihood,
    }


def with_clusters(
    means: Mapping[str, Moments], clusters: ClusterSums, total_weight: float
) -> dict[str, Moments]:
    """Returns the means with the standard error of the gap by the sums over clusters;
    those of the other means are not known, nor is that of the gap of a file.
    """
    unknown = {name: Moments(moment.mean, math.nan) for name, moment in means.items()}
    if not clusters.are_known or clusters.number < 2:
        return unknown
    gap = means["gap"].mean
    square = float(clusters.even(1).squares_about(np.array([gap]))[0, 0])
    square *= clusters.number / (clusters.number - 1)
    error = math.sqrt(max(square, 0.0)) / total_weight
    return {**unknown, "gap": Moments(gap, error)}


def brier_gain(
    rows: Mapping[str, np.ndarray], of_answers: bool
) -> tuple[Moments, float]:
    """Returns by how much the Brier score of independent examples is less than that of
    forecasting the shares of the labels for each, and the Brier score of these shares.
    """
    w = float(rows["w"].sum())
    shares = rows["w"] / w
    constant = 1 - 2 * shares + shares @ shares  # If the label is class k.
    if of_answers:
        constant = constant / 2
    mean = float(shares @ constant)
    gain = mean - float(rows["w_b"].sum()) / w
    rest = constant - gain
    spread = rest**2 @ rows["ww"] - 2 * rest @ rows["ww_b"] + rows["ww_b_b"].sum()
    return Moments(gain, math.sqrt(max(float(spread), 0.0)) / w), mean
