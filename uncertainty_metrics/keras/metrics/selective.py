"""Streaming selective prediction: the Keras metrics."""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _scorers
from uncertainty_metrics.keras._options import Option
from uncertainty_metrics.keras.metrics._ranking import (
    SelectiveMetric,
    positive_share,
    with_options,
)
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.ops import _ranking

__all__ = [
    "AUGRC",
    "AURC",
    "Accuracy",
    "CoverageAtRisk",
    "ExcessAURC",
    "OracleCollaborativeAccuracy",
    "RiskAtCoverage",
]

_COMMON = "from_logits, ignore_index, name, dtype, *, sparse_labels, sketch_bits"


@with_options(_COMMON)
class AURC(SelectiveMetric):
    """Area under the risk-coverage curve of all batches.

    The definition is that of `area_under_risk_coverage_curve`. The state has a fixed
    size: counts in cells that are 2^-11 wide, and narrower near 0 and 1: 64 for each
    halving of the confidence, or of its distance to 1. Confidences in a cell count as
    equal. With s the largest share of the examples that a cell holds, that moves the
    value by at most

      s / 4 (1 + log(4 / s))

    and by less than 1e-4 on usual data (of tens of thousands of examples), saturated
    softmax outputs in [0.995, 1] included; not at all where each cell holds one
    confidence. If all confidences are nearly the same, s may be 1, as confidences that
    differ by less than the width of a cell are not told apart. From logits the
    confidence is the margin of the decision, which does not saturate at all.

    Args:
      sketch_bits: log2 of the cells for each halving of the confidence, or of its
        distance to 1, of a grid that is as fine everywhere, instead of the default one.
        Memory is 32 bytes for each of its 479 + 52 * 2^sketch_bits cells, about twice
        as many from logits; 0.2 MB by default, and 0.6 MB from logits.

    Example:
      >>> metric = um.AURC()
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.111111
    """

    _direction = "down"
    _function = "area_under_risk_coverage_curve"
    _value = staticmethod(_ranking.risk_coverage_area)


@with_options(_COMMON)
class ExcessAURC(SelectiveMetric):
    """Excess area under the risk-coverage curve of all batches.

    The definition is that of `excess_aurc`, which says how it differs from the formula
    of Geifman et al.; state and precision are those of `AURC`.

    Example:
      >>> metric = um.ExcessAURC()
      >>> metric.update_state([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
      >>> float(metric.result())  # The one that is wrong is the least confident.
      0.0
    """

    _direction = "down"
    _function = "excess_aurc"
    _value = staticmethod(_ranking.excess_risk_coverage_area)


@with_options(_COMMON)
class AUGRC(SelectiveMetric):
    """Area under the generalized risk-coverage curve of all batches.

    The definition is that of `augrc`; the state is that of `AURC`. The value is exact
    within s / 8, of the largest share s of the examples that a cell holds.

    Example:
      >>> metric = um.AUGRC()
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.09375
    """

    _direction = "down"
    _function = "augrc"
    _value = staticmethod(_ranking.generalized_risk_coverage_area)


@with_options(f"risk, {_COMMON}", risk=Option(float, 0.05, _checks.share))
class CoverageAtRisk(SelectiveMetric):
    """Largest coverage whose risk is at most `risk`, of all batches.

    The definition is that of `coverage_at_risk`; the state is that of `AURC`. The
    threshold is the end of a cell, so that the coverage is never too large. With s the
    largest share of the examples that a cell holds, it is at least c - s for any
    coverage c of a risk of at most `risk` (c - s) / c: on usual data it is too small by
    a few 1e-3 at most, but by more where only the inside of a cell has so low a risk.
    0.0 where no coverage has it.

    Args:
      risk: in [0, 1].

    Example:
      >>> metric = um.CoverageAtRisk(risk=0.05)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.5

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    _direction = "up"
    _function = "coverage_at_risk"
    _value = staticmethod(_ranking.coverage_at_risk)


@with_options(f"coverage, {_COMMON}", coverage=Option(float, 0.8, positive_share))
class RiskAtCoverage(SelectiveMetric):
    """Risk at the smallest coverage that is at least `coverage`, of all batches.

    The definition is that of `risk_at_coverage`; the state is that of `AURC`. The
    threshold is the end of a cell, so that the risk is exact within s / `coverage`, of
    the largest share s of the examples that a cell holds: a few 1e-3 on usual data.

    Args:
      coverage: in (0, 1].

    Example:
      >>> metric = um.RiskAtCoverage(coverage=0.75)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> round(float(metric.result()), 6)
      0.333333

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    _direction = "down"
    _function = "risk_at_coverage"
    _value = staticmethod(_ranking.risk_at_coverage)


@with_options(f"fraction, {_COMMON}", fraction=Option(float, 0.01, _checks.share))
class OracleCollaborativeAccuracy(SelectiveMetric):
    """Accuracy of all batches if an oracle decides the least confident `fraction`.

    The definition is that of `oracle_collaborative_accuracy`; the state is that of
    `AURC`. It is exact within s / 4, of the largest share s of the examples that a cell
    holds, and within 1e-3 on usual data. There are no bins, and no `num_bins`: what the
    oracle decides is told by the order of the confidences.

    Args:
      fraction: share of the examples that the oracle decides, in [0, 1].

    Example:
      >>> metric = um.OracleCollaborativeAccuracy(fraction=0.25)
      >>> metric.update_state([0, 1, 0, 0], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())  # The oracle decides the last; the third is wrong.
      0.75
    """

    _direction = "up"
    _function = "oracle_collaborative_accuracy"
    _value = staticmethod(_ranking.collaborative_accuracy)


@with_options(
    "from_logits, ignore_index, name, dtype, *, sparse_labels, num_groups", "accuracy"
)
class Accuracy(MeanScore):
    """Share of the examples whose label has the largest probability, of all batches.

    The definition is that of the function `accuracy`: ties go to the lowest class.
    Labels and predictions are those of `BrierScore`; of labels that are distributions
    the largest counts.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities; for P(class
        1) the threshold is 0 or 1/2.

    Example:
      >>> metric = um.Accuracy()
      >>> metric.update_state([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6])
      >>> float(metric.result())
      0.75
    """

    _direction = "up"
    _scorer_type = _scorers.Hits
