"""Outcomes of calibrated examples in clusters, for tests by resampling; also of
independent examples whose outcomes are between 0 and 1, each a cluster of its own.

U = y - p of an example has the mean 0 if the model is calibrated, and the sums of U of
different clusters are independent. So the signs of whole clusters may be flipped: the
sums of U then have the variances and covariances of the data, whatever the dependence
within clusters.

If few of the rarer outcomes are expected, their number is skewed, and flipped signs are
not. Then outcomes are also drawn from the forecasts: a share of the clusters draws one
uniform number for all its examples, and the others one for each. The share gives the
sums of clusters the variance that the data show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy import _clusters, _examples
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _scores,
    _simulated_bins,
)
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells

# Outcomes whose number has a smaller variance are drawn as well.
_FEW_BELOW = 100.0
# The size of the largest temporary arrays.
_BLOCK = 2**22
# The sums of clusters in cells are a dense matrix up to this size.
_DENSE = 2**24


@dataclasses.dataclass(frozen=True)
class ClusteredOutcomes:
    """The scores of examples in clusters, and the cells whose outcomes are summed.

    Attributes:
      scores: float64 [N, K].
      outcomes: boolean [N, K], or shares, float64 [N, K].
      clusters: the cluster of each example.
      cells: integers [N, K]; `num_cells` for a score that is in no cell.
      score_sums: sums of the scores in each cell, float64 of the shape of the cells.
    """

    scores: np.ndarray
    outcomes: np.ndarray
    clusters: Clusters
    cells: np.ndarray
    score_sums: np.ndarray

    def ways(
        self, num_draws: int, rng: np.random.Generator
    ) -> list[Iterator[np.ndarray]]:
        """Returns iterators over outcome sums of calibrated examples, of the shape of
        the cells: a test takes the largest p-value of them.
        """
        if self.outcomes.dtype != bool:  # Draws of 0 and 1 would vary too much.
            return [self._flipped(num_draws, rng)]
        # Few of the rarer outcomes are skewed.
        variance = np.sum(self.scores * (1 - self.scores)) / self.scores.shape[1]
        if variance < _FEW_BELOW * max(self.design_effect, 1.0):
            return [self._flipped(num_draws, rng), self._drawn(num_draws, rng)]
        return [self._flipped(num_draws, rng)]

    @lazy_property
    def _residuals(self) -> np.ndarray:
        """U of each score, float64 [N, K]."""
        return self.outcomes - self.scores

    @lazy_property
    def design_effect(self) -> float:
        """That of the mean of U; 1 where all U are 0."""
        residuals = self._residuals
        apart = float(np.sum(residuals**2))
        codes, number = self.clusters
        sums = _clusters.cluster_sums(residuals, codes, number)
        return float(np.sum(sums**2)) / apart if apart > 0 else 1.0

    def _flipped(
        self, num_draws: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Yields the outcome sums with random signs of the sums of U of clusters."""
        from scipy import sparse

        codes, number = self.clusters
        num_cells = self.score_sums.size
        places = self.cells.reshape(-1), np.repeat(codes, self.cells.shape[1])
        of_clusters = sparse.csr_array(
            (self._residuals.reshape(-1), places), (num_cells + 1, number)
        )
        if number * num_cells <= _DENSE:  # Faster than many sparse products.
            of_clusters = of_clusters.toarray()
        step = max(1, _BLOCK // num_cells)
        for signs in _clusters.flipped_signs(rng, number, num_draws):
            for start in range(0, len(signs), step):  # A block bounds the memory.
                for sums in (of_clusters @ signs[start : start + step].T).T:
                    yield self.score_sums + sums[:-1].reshape(self.score_sums.shape)

    def _drawn(self, num_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yields the outcome sums of outcomes that are drawn from the forecasts."""
        once, copies = self._without_copies()
        (codes, number), share = once.clusters, once._share_together()
        # One label of a row comes: the one in whose part of [0, 1] the number falls.
        upper, cells = np.cumsum(once.scores, axis=1), once.cells
        step = max(1, _BLOCK // upper.size)
        for start in range(0, num_draws, step):
            size = min(step, num_draws - start)
            uniform = rng.random((size, len(codes)))
            common = rng.random((size, number))
            is_together = rng.random((size, number)) < share
            uniform = np.where(is_together[:, codes], common[:, codes], uniform)
            came = uniform[:, :, None] < upper
            came[:, :, 1:] ^= came[:, :, :-1].copy()
            for outcomes in came:
                sums = np.bincount(cells[outcomes], minlength=self.score_sums.size + 1)
                yield copies * sums[:-1].reshape(self.score_sums.shape).astype(float)

    def _without_copies(self) -> tuple[ClusteredOutcomes, int]:
        """Returns outcomes, and the largest number such that these are so many copies
        of those in their clusters. Copies are drawn together.
        """
        codes, number = self.clusters
        keys = np.stack([codes, *self.scores.T, *self.outcomes.T.astype(float)])
        order = np.lexsort(keys)
        is_new = np.any(np.diff(keys[:, order], prepend=-1.0), axis=0)
        starts = np.flatnonzero(is_new)
        sizes = np.diff(starts, append=len(order))
        copies = int(np.gcd.reduce(sizes))
        place = np.arange(len(order)) - np.repeat(starts, sizes)
        rows = np.sort(order[place % copies == 0])
        once = ClusteredOutcomes(
            self.scores[rows],
            self.outcomes[rows],
            Clusters(codes[rows], number),
            self.cells[rows],
            self.score_sums,
        )
        return once, copies

    def _share_together(self) -> float:
        """Returns the share of clusters that must draw a common uniform number."""
        apart = np.sum(self.scores * (1 - self.scores))
        codes, number = self.clusters
        together = 0.0
        sizes = np.bincount(codes, minlength=number)
        starts = np.cumsum(sizes) - sizes
        for column in self.scores.T:  # Each has an order of its own.
            order = np.lexsort((column, codes))
            # The sum of min(p_i, p_j) over pairs, i = j included.
            above = np.repeat(starts + sizes, sizes) - np.arange(len(order))
            minima = column[order] @ (2 * above - 1)
            products = _clusters.cluster_sums(column, codes, number) ** 2
            together += minima - products.sum()
        if together <= apart:
            return 1.0
        return float(
            np.clip((self.design_effect - 1) * apart / (together - apart), 0.0, 1.0)
        )


def of_examples(
    examples: _examples.Examples,
    spec: CalibrationSpec,
    pooled: _binning.BinStatistics | Cells,
) -> ClusteredOutcomes:
    """Returns the outcomes of examples in clusters, in the cells of their bins or of
    their scores.
    """
    assert examples.clusters is not None
    if isinstance(pooled, Cells):
        scores, outcomes, _ = _scores.scored_rows(examples, spec)
        scores = scores.astype(np.float64)
        cells = np.searchsorted(pooled.scores, scores)
    else:
        scored = _simulated_bins.entries(examples, spec, pooled)
        scores, outcomes, cells = scored.scores, scored.outcomes, scored.cells
    return ClusteredOutcomes(
        scores, outcomes, examples.clusters, cells, pooled.score_sums
    )
