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

    See the function `area_under_risk_coverage_curve` for the definition. The state has
    a fixed size: counts in cells that are 2^-11 wide, and narrower near 0 and 1: 64 for
    each halving of the confidence, or of its distance to 1. Confidences in a cell count
    as equal. If s is the largest share of the examples in one cell, this changes the
    value by at most

      s / 4 (1 + log(4 / s))

    and by less than 1e-4 on usual data (tens of thousands of examples), even for
    saturated softmax outputs in [0.995, 1]. The value is exact if each cell holds one
    distinct confidence. If all confidences differ by less than the width of a cell, s
    may be 1. For logits the confidence is the margin of the decision, which does not
    saturate.

    Args:
      sketch_bits: log2 of the cells for each halving of the confidence, or of its
        distance to 1, of a grid that is equally fine everywhere, instead of the default
        grid. Memory is 32 bytes for each of its 479 + 52 * 2^sketch_bits cells, about
        twice as many for logits. The default grid takes 0.2 MB, and 0.6 MB for logits.

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

    See the function `excess_aurc` for the definition, and for the difference from the
    formula of Geifman et al.; see `AURC` for state and precision.

    Example:
      >>> metric = um.ExcessAURC()
      >>> metric.update_state([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
      >>> float(metric.result())  # The wrong decision is the least confident.
      0.0
    """

    _direction = "down"
    _function = "excess_aurc"
    _value = staticmethod(_ranking.excess_risk_coverage_area)


@with_options(_COMMON)
class AUGRC(SelectiveMetric):
    """Area under the generalized risk-coverage curve of all batches.

    See the function `augrc` for the definition, and `AURC` for the state. The value is
    exact within s / 8, for the largest share s of the examples in one cell.

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

    See the function `coverage_at_risk` for the definition, and `AURC` for the state.
    The threshold is the end of a cell, so that the coverage is never too large. If s is
    the largest share of the examples in one cell, the result is at least c - s for any
    coverage c whose risk is at most `risk` (c - s) / c. On usual data it is too small
    by a few 1e-3 at most, but by more if only thresholds inside of a cell have so low a
    risk. It is 0.0 if no coverage has so low a risk.

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

    See the function `risk_at_coverage` for the definition, and `AURC` for the state.
    The threshold is the end of a cell, so the risk is exact within s / `coverage`, for
    the largest share s of the examples in one cell: a few 1e-3 on usual data.

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

    See the function `oracle_collaborative_accuracy` for the definition, and `AURC` for
    the state. The value is exact within s / 4, for the largest share s of the examples
    in one cell, and within 1e-3 on usual data. There is no `num_bins`: the order of the
    confidences says which examples the oracle decides.

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

    See the function `accuracy` for the definition: ties go to the lowest class. Labels
    and predictions are as for `BrierScore`; a label that is a distribution counts as
    its largest class.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities. If they are
        of class 1 alone, the threshold is 0 for logits and 1/2 for probabilities.

    Example:
      >>> metric = um.Accuracy()
      >>> metric.update_state([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6])
      >>> float(metric.result())
      0.75
    """

    _direction = "up"
    _scorer_type = _scorers.Hits
