"""The container of bin statistics, the same for NumPy arrays and for tensors."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class BinStatistics:
    """Sums over the scores in each bin of each group; every calibration error is read
    off them.

    Statistics of even bins add: `a + b` is the statistics of the examples of both.

    Attributes:
      edges: the bins, `(edges[g, b], edges[g, b + 1]]`, shape [groups, bins + 1].
      counts: total weight in each bin, shape [groups, bins].
      score_sums: weighted sum of the scores, shape [groups, bins].
      outcome_sums: weighted sum of the outcomes, shape [groups, bins].
      additive: whether the bins are the same for all data, so that sums add.
    """

    edges: Any
    counts: Any
    score_sums: Any
    outcome_sums: Any
    additive: bool = True

    @property
    def confidences(self) -> Any:
        """Mean score of each bin, 0 where it is empty, shape [groups, bins]."""
        return self._mean(self.score_sums)

    @property
    def accuracies(self) -> Any:
        """Mean outcome of each bin, 0 where it is empty, shape [groups, bins]."""
        return self._mean(self.outcome_sums)

    def _mean(self, sums: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: BinStatistics) -> BinStatistics:
        if not isinstance(other, BinStatistics):
            return NotImplemented
        if not (self.additive and other.additive):
            raise ValueError(
                "Statistics of adaptive bins do not add: their edges depend on the "
                "data. Compute them on all the data, or use even bins."
            )
        if tuple(self.counts.shape) != tuple(other.counts.shape):
            raise ValueError(
                "Statistics add only for the same groups and bins. Received: "
                f"[groups, bins] = {list(self.counts.shape)} and "
                f"{list(other.counts.shape)}"
            )
        return dataclasses.replace(
            self,
            counts=self.counts + other.counts,
            score_sums=self.score_sums + other.score_sums,
            outcome_sums=self.outcome_sums + other.outcome_sums,
        )
