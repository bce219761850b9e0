"""Streaming parts of the Brier score: the Keras metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _computed, _labels
from uncertainty_metrics.keras.metrics._classes import ClassMetric
from uncertainty_metrics.numpy.scoring import (
    brier_decompositions as np_brier_decompositions,
)
from uncertainty_metrics.ops import _classifier_scores, _sums, xp

__all__ = ["BrierDecomposition"]


def _decomposition_sums(
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of `decomposition_sums`, and whether the batch is valid."""
    examples = _labels.examples(predictions, ignore_index, *data)
    return _classifier_scores.decomposition_sums(examples)[:2]


@_base.register("brier_decomposition")
class BrierDecomposition(ClassMetric):
    """The parts of the Brier score of all batches, a dict.

    See the functions `brier_decomposition` and `brier_decomposition_exact`. The parts
    are exact. The state has 2K(K + 1) cells, which limits K to some thousand classes.
    Labels and predictions are as for `BrierScore`; a label that is a distribution
    counts as its largest class.

    A callback that monitors a part needs `mode="max"` (resolution) or `mode="min"`
    (reliability), because the metric has no single direction that Keras could read.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      exact: whether the result has the five parts of `brier_decomposition_exact`
        instead of the three parts of `brier_decomposition`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierDecomposition()
      >>> metric.update_state([0, 1], [[0.8, 0.2], [0.8, 0.2]])
      >>> metric.update_state([1, 1], [[0.3, 0.7], [0.3, 0.7]])
      >>> {name: round(float(part), 5) for name, part in metric.result().items()}
      {'uncertainty': -0.625, 'resolution': 0.125, 'reliability': 0.18}

    References:
      Murphy (1973), A New Vector Partition of the Probability Score. Stephenson, Coelho
      and Jolliffe (2008), Two Extra Components in the Brier Score Decomposition.
    """

    _batch_sums = staticmethod(_decomposition_sums)
    _explain = staticmethod(np_brier_decompositions.brier_decomposition)

    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_decomposition",
        dtype: Any = None,
        *,
        exact: bool = False,
        sparse_labels: bool | None = None,
    ) -> None:
        super().__init__(
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            sparse_labels=sparse_labels,
        )
        _checks.boolean("exact", exact)
        self.exact = exact
        self.num_classes = num_classes
        if num_classes is not None:
            self.num_classes = _checks.positive_integer("num_classes", num_classes)
            self._build(self.num_classes)

    def _build(self, num_classes: int) -> None:
        # A row for each decision: a batch changes only the rows of its decisions.
        self._build_sums((num_classes, 2 * num_classes + 2))
        self._classes = num_classes

    @property
    def _num_results(self) -> int:
        return 5 if self.exact else 3

    def _swap_layout(self, array: np.ndarray) -> np.ndarray:
        return array.T  # Saved states have a column for each decision.

    def _counts_are_exact(self, units: xp.Tensor) -> xp.Tensor:
        return xp.reduce_max(units[:, 0]) < _sums.MAX_COUNT

    @_computed.in_one_call
    def result(self) -> dict[str, xp.Tensor]:
        """Returns the parts by name; all 0.0 before the first example that counts."""
        dtype = self._result_dtype
        if not self._has_sums:
            totals, valid = xp.zeros([1, 4], dtype), self._read_valid()
        else:
            sums, valid = self._read_sums()
            totals = _sums.totals(sums, dtype)
        vertices = xp.eye(totals.shape[0], dtype=xp.bool)
        parts = _classifier_scores.decomposition_parts(totals, vertices)[self.exact]
        nan = xp.constant(float("nan"), dtype)
        return {
            name: xp.where(valid, part, nan) for name, part in parts._asdict().items()
        }
