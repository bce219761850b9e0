"""Streaming selective prediction: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _scorers
from uncertainty_metrics.keras.metrics._ranking import SelectiveMetric
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.ops import _ranking, xp

__all__ = [
    "AUGRC",
    "AURC",
    "Accuracy",
    "CoverageAtRisk",
    "ExcessAURC",
    "OracleCollaborativeAccuracy",
    "RiskAtCoverage",
]


@_base.register("area_under_risk_coverage_curve")
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
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each halving of the confidence, or of its
        distance to 1, of a grid that is equally fine everywhere, instead of the default
        grid. Memory is 32 bytes for each of its 479 + 52 * 2^sketch_bits cells, about
        twice as many for logits. The default grid takes 0.2 MB, and 0.6 MB for logits.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AURC()
      >>> metric.update_state([0, 1], [[0.9, 0.1], [0.2, 0.8]])
      >>> metric.update_state([0], [[0.3, 0.7]])
      >>> round(float(metric.result()), 6)
      0.111111

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "area_under_risk_coverage_curve",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.risk_coverage_area(ranking)


@_base.register("excess_aurc")
class ExcessAURC(SelectiveMetric):
    """Excess area under the risk-coverage curve of all batches.

    See the function `excess_aurc` for the definition, and for the difference from the
    formula of Geifman et al.; see `AURC` for state and precision.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ExcessAURC()
      >>> metric.update_state([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
      >>> float(metric.result())  # The wrong decision is the least confident.
      0.0

    References:
      Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep
      Neural Classifiers.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "excess_aurc",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.excess_risk_coverage_area(ranking)


@_base.register("area_under_generalized_risk_coverage_curve")
class AUGRC(SelectiveMetric):
    """Area under the generalized risk-coverage curve of all batches.

    See the function `augrc` for the definition, and `AURC` for the state. The value is
    exact within s / 8, for the largest share s of the examples in one cell.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUGRC()
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.09375

    References:
      Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
      Classification Systems.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "augrc",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.generalized_risk_coverage_area(ranking)


@_base.register("coverage_at_risk")
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
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CoverageAtRisk(risk=0.05)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())
      0.5

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    def __init__(
        self,
        risk: float = 0.05,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "coverage_at_risk",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.risk = _checks.share("risk", risk)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.coverage_at_risk(ranking, self.risk)


@_base.register("risk_at_coverage")
class RiskAtCoverage(SelectiveMetric):
    """Risk at the smallest coverage that is at least `coverage`, of all batches.

    See the function `risk_at_coverage` for the definition, and `AURC` for the state.
    The threshold is the end of a cell, so the risk is exact within s / `coverage`, for
    the largest share s of the examples in one cell: a few 1e-3 on usual data.

    Args:
      coverage: in (0, 1].
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RiskAtCoverage(coverage=0.75)
      >>> metric.update_state([0, 1, 0, 1], [0.1, 0.8, 0.7, 0.6])
      >>> round(float(metric.result()), 6)
      0.333333

    References:
      El-Yaniv and Wiener (2010), On the Foundations of Noise-free Selective
      Classification.
    """

    def __init__(
        self,
        coverage: float = 0.8,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "risk_at_coverage",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.coverage = _checks.share("coverage", coverage, zero=False)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.risk_at_coverage(ranking, self.coverage)


@_base.register("oracle_collaborative_accuracy")
class OracleCollaborativeAccuracy(SelectiveMetric):
    """Accuracy of all batches if an oracle decides the least confident `fraction`.

    See the function `oracle_collaborative_accuracy` for the definition, and `AURC` for
    the state. The value is exact within s / 4, for the largest share s of the examples
    in one cell, and within 1e-3 on usual data. There is no `num_bins`: the order of the
    confidences says which examples the oracle decides.

    Args:
      fraction: share of the examples that the oracle decides, in [0, 1].
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.OracleCollaborativeAccuracy(fraction=0.25)
      >>> metric.update_state([0, 1, 0, 0], [0.1, 0.8, 0.7, 0.6])
      >>> float(metric.result())  # The oracle decides the last; the third is wrong.
      0.75

    References:
      Kivlichan et al. (2021), Measuring and Improving Model-Moderator Collaboration
      using Uncertainty Estimation.
    """

    def __init__(
        self,
        fraction: float = 0.01,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ) -> None:
        super().__init__(
            name=name or "oracle_collaborative_accuracy",
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.fraction = _checks.share("fraction", fraction)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.collaborative_accuracy(ranking, self.fraction)


@_base.register("accuracy")
class Accuracy(MeanScore):
    """Share of the examples whose label has the largest probability, of all batches.

    See the function `accuracy` for the definition: ties go to the lowest class. Labels
    and predictions are as for `BrierScore`; a label that is a distribution counts as
    its largest class.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities. If they are
        of class 1 alone, the threshold is 0 for logits and 1/2 for probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Accuracy()
      >>> metric.update_state([0, 1, 1, 1], [0.2, 0.9, 0.5, 0.6])
      >>> float(metric.result())
      0.75
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "accuracy",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None:
        scorer = _scorers.Hits(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name=name, dtype=dtype, num_groups=num_groups)
