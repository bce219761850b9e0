"""Risks and coverages of ranked decisions: the arithmetic of selective prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics._results import RiskCoverageCurve
from uncertainty_metrics.numpy.selective import _sorted_outcomes

# Groups at a time: few enough for their temporaries to stay in the cache.
_BLOCK = 2**16


def _tied_risks(mass: Any, misses: Any, size: Any, errors: Any) -> np.ndarray:
    """Returns the sum of the expected risks over the examples of a group.

    Args:
      mass: mass before the group.
      misses: misses before the group.
      size: mass of the group.
      errors: misses of the group.
    """
    # Rounding may leave a group of mass 0.
    rate = np.minimum(errors / np.maximum(size, np.finfo(np.float64).tiny), 1)
    return errors + (misses - rate * mass) * _sorted_outcomes.digamma_step(mass, size)


def mean_risk(groups: _sorted_outcomes.Groups) -> float:
    """Returns the mean over k of the expected risk of the k most confident examples."""
    total = 0.0
    for start in range(0, len(groups.misses) - 1, _BLOCK):
        block = slice(start, start + _BLOCK + 1)
        misses = groups.unit * groups.misses[block]
        masses = groups.unit * groups.masses[block]
        sizes = masses[1:] - masses[:-1]
        risks = misses[1:] / masses[1:]  # Right for groups of one example.
        tied = np.flatnonzero(sizes != 1)
        errors = misses[tied + 1] - misses[tied]
        risks[tied] = _tied_risks(masses[tied], misses[tied], sizes[tied], errors)
        total += risks.sum()
    return float(np.ldexp(total / masses[-1], groups.exponent))


def least_mean_risk(groups: _sorted_outcomes.Groups) -> float:
    """Returns the mean risk if all right decisions had the higher confidences."""
    right, wrong = groups.unit * groups.hits[-1], groups.unit * groups.misses[-1]
    return float(_tied_risks(right, 0.0, wrong, wrong)[0] / (right + wrong))


def excess_risk(groups: _sorted_outcomes.Groups) -> float:
    """Returns the mean risk less the mean risk of the best order."""
    return max(0.0, mean_risk(groups) - least_mean_risk(groups))


def generalized_risk(groups: _sorted_outcomes.Groups) -> float:
    """Returns the area under the share of all examples that are decided and wrong."""
    area = _sorted_outcomes.trapezoids(groups.masses, groups.misses)
    return area / float(groups.masses[-1]) ** 2


def largest_coverage(groups: _sorted_outcomes.Groups, risk: float) -> float:
    """Returns the largest coverage at which the risk is at most `risk`."""
    fits = groups.risks <= risk * _sorted_outcomes.ROUND_UP
    return float(np.max(groups.coverages, where=fits, initial=0.0))


def risk_from(groups: _sorted_outcomes.Groups, coverage: float) -> float:
    """Returns the risk at the smallest coverage that is at least `coverage`."""
    reached = groups.coverages * _sorted_outcomes.ROUND_UP >= coverage
    return float(groups.risks[np.argmax(reached)])


def oracle_accuracy(groups: _sorted_outcomes.Groups, fraction: float) -> float:
    """Returns the accuracy if an oracle decides the least confident `fraction`."""
    total = groups.masses[-1]
    misses = np.interp((1 - fraction) * total, groups.masses, groups.misses)
    return float(1 - misses / total)


def curve_of(
    scores: np.ndarray, groups: _sorted_outcomes.Groups, of_logits: bool
) -> RiskCoverageCurve:
    """Returns the curve of scores: confidences, or their log-odds if `of_logits`."""
    thresholds = np.unique(scores)[::-1].astype(np.float64)
    if of_logits:
        thresholds = 1 / (1 + np.exp(-thresholds))
    return RiskCoverageCurve(groups.coverages, groups.risks, thresholds)
