"""Streaming detection: the Keras metrics."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _computed
from uncertainty_metrics.keras.metrics._ranking import DetectionMetric
from uncertainty_metrics.numpy.selective.detection import Positive
from uncertainty_metrics.ops import _ranking, xp

__all__ = ["AUPR", "AUROC", "FPRAtTPR"]


@_base.register("auroc")
class AUROC(DetectionMetric):
    """Area under the ROC curve of all batches.

    See the function `auroc` for the definition: the probability that a positive example
    has a larger score than a negative one, plus half the probability that their scores
    are equal. The state has a fixed size: counts in narrow cells. In [0, 1] a cell is
    2^-11 wide, and near 0 and 1 narrower: 128 cells for each halving of the score, or
    of its distance to 1. Outside [0, 1] there are 128 cells for each doubling of the
    size of the score, from 2^-30 to 2^20.

    Scores in a cell count as equal. On tens of thousands of examples this changes the
    value by about 1e-5, even if softmax outputs are in [0.995, 1], and never by more
    than `error_bound`, which is at most half the largest share of the positive or of
    the negative examples in one cell. Scores that differ by less than 1% of their size
    need more bits, or a smaller offset.

    The result is 0.0 before the first example that counts. It is NaN, with a warning,
    as long as all labels are the same.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each doubling of the size of the score, and in
        [0, 1] for each halving of its distance to 1, instead of the default grid.
        Memory is 32 bytes for each of the 1728 + 122 * 2^sketch_bits cells; 0.6 MB by
        default.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).

    Attributes:
      error_bound: the largest possible difference from the exact value.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUROC()
      >>> metric.update_state([0, 1, 1], [-2.0, 5.0, -2.0])
      >>> metric.update_state([0], [3.0])
      >>> float(metric.result())
      0.625

    References:
      Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
      Operating Characteristic (ROC) Curve.
    """

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
    ) -> None:
        super().__init__(
            name=name or "auroc",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.roc_area(ranking)

    @property
    @_computed.in_64_bits
    def error_bound(self) -> xp.Tensor:
        """Half the share of the pairs that the sketch cannot order; NaN where the
        result is.
        """
        ranking, _ = self._read_ranking()
        bound = _ranking.roc_area_within_groups(ranking)
        nan = xp.constant(float("nan"), bound.dtype)
        return xp.where(self._is_defined(ranking), bound, nan)


@_base.register("aupr")
class AUPR(DetectionMetric):
    """Area under the precision-recall curve (average precision) of all batches.

    See the function `aupr` for the definition, and `AUROC` for the state. For a
    positive example, take the examples in its cell and in cells of larger scores, and
    the share of these in its cell. The result differs from the exact value by at most
    the mean of this share over the positive examples. It is mostly too small, by up to
    1e-3 on usual data. It is 0.0 before the first example that counts, and NaN, with a
    warning, as long as no example is positive.

    The value depends on which class is positive.

    Args:
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.AUPR()
      >>> metric.update_state([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])
      >>> round(float(metric.result()), 6)
      0.833333

    References:
      Davis and Goadrich (2006), The Relationship between Precision-Recall and ROC
      Curves.
    """

    _needs = "a positive example"
    _has_needed = staticmethod(_ranking.has_hits)

    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
    ) -> None:
        super().__init__(
            name=name or "aupr",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.average_precision(ranking)


@_base.register("fpr_at_tpr")
class FPRAtTPR(DetectionMetric):
    """Least false positive rate at a true positive rate of at least `tpr`.

    See the function `fpr_at_tpr` for the definition, and `AUROC` for the state. The
    threshold is the end of a cell, so the rate is never too small, and too large by at
    most the share of the negative examples in that cell, a few 1e-3 on usual data. It
    is 0.0 before the first example that counts, and NaN, with a warning, as long as all
    labels are the same.

    The value depends on which class is positive: `fpr_at_tpr` says which class others
    call positive.

    Args:
      tpr: in (0, 1].
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sketch_bits: log2 of the cells for each factor of 2 in the score, of a grid that
        is equally fine everywhere, instead of the default grid.
      positive: the positive class: "out" (label 1, with the larger scores) or "in"
        (label 0, with the smaller scores).

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.FPRAtTPR(tpr=0.95)
      >>> metric.update_state([0, 1, 1, 0], [-2.0, 5.0, 1.0, 3.0])
      >>> float(metric.result())
      0.5

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks.
    """

    def __init__(
        self,
        tpr: float = 0.95,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        sketch_bits: int | None = None,
        positive: Positive = "out",
    ) -> None:
        super().__init__(
            name=name or "fpr_at_tpr",
            dtype=dtype,
            ignore_index=ignore_index,
            sketch_bits=sketch_bits,
            positive=positive,
        )
        self.tpr = _checks.share("tpr", tpr, zero=False)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return _ranking.miss_rate_at_hit_rate(ranking, self.tpr)
