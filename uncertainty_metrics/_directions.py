"""Which values of a metric are better: the smaller ones, except for the names here.

Docstrings say it in words, and a test compares them with this table.
"""

from __future__ import annotations

from typing import Literal

Direction = Literal["smaller", "larger", "neither"]

# The names of functions, without the name of their module.
LARGER = frozenset(
    {
        *("accuracy", "coverage_at_risk", "oracle_collaborative_accuracy"),
        *("area_under_accuracy_rejection_curve", "prediction_rejection_ratio"),
        *("auroc", "auroc_interval", "aupr", "concordance_index"),
        *("sensitivity", "specificity"),
        *("positive_predictive_value", "negative_predictive_value"),
        *("scaled_brier_score", "net_benefit", "size_stratified_coverage"),
        *("negative_waic", "importance_sampling_cross_validation", "psis_loo"),
        "compare_information_criteria",
    }
)
NEITHER = frozenset(
    {
        # The closer to a level, the better.
        *("coverage", "interval_coverage"),
        # Each part has a direction of its own.
        *("brier_decomposition", "brier_decomposition_exact"),
        # They describe the predictions of an ensemble.
        *("predictive_entropy", "expected_entropy", "mutual_information"),
        *("ensemble_disagreement", "mean_member_uncertainty", "variation_ratio"),
        "knowledge_uncertainty",
    }
)


def direction(name: str) -> Direction:
    """Returns which values of a metric are better.

    Args:
      name: `__name__` of the function, which is its long name.
    """
    if name in NEITHER:
        return "neither"
    return "larger" if name in LARGER else "smaller"
