"""The state of streaming selective prediction and detection.

Ranks are not additive, but counts are. The state counts hits and misses in the cells of
a sketch (`tensorflow/_sketch.py`), of fixed size, and `result` takes the scores of a
cell as equal: the exact metric of slightly rounded scores.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base
from uncertainty_metrics.tensorflow import _ranking, _sketch, _sums

_DEFAULT_BITS = 8


def _num_cells(bits: int, real: bool) -> int:
    return _sketch.num_real_cells(bits) if real else _sketch.num_cells(bits)


def cell_sums(
    batch: _ranking.Ranked, bits: int, real: bool
) -> tuple[_sums.Sums, tf.Tensor]:
    """Returns weight and hits of a batch in each cell, and if all was right.

    A last cell holds the number of examples of positive weight. `real` tells that
    scores may leave [0, 1].
    """
    cells = (_sketch.real_index if real else _sketch.index)(batch.scores, bits)
    num_cells = _num_cells(bits, real)
    if batch.weights is None:
        units = _sums.outcome_sums(cells, batch.hits, None, num_cells).units
        n = tf.size(cells, tf.int64)
        units = _sums.append_cell(units, n, tf.zeros_like(n))
        return _sums.Sums(units, None, None), batch.valid
    weights = tf.cast(batch.weights, tf.float32)
    sums = _sums.outcome_sums(cells, batch.hits, weights, num_cells)
    live = tf.cast(tf.math.count_nonzero(weights), tf.float32)
    nothing = tf.zeros_like(live)
    hi = _sums.append_cell(sums.hi, live, nothing)
    lo = _sums.append_cell(sums.lo, nothing, nothing)
    return _sums.Sums(None, hi, lo), batch.valid


class RankingMetric(_base.SumsMetric):
    """A metric that is read off a ranking."""

    def __init__(
        self,
        real: bool,
        ignore_index: int | None,
        sketch_bits: int | None,
        name: str | None,
        dtype: Any,
    ):
        sketch_bits = _checks.sketch_bits(sketch_bits)
        super().__init__(name=name, dtype=dtype)
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.sketch_bits = sketch_bits
        self._bits = _DEFAULT_BITS if sketch_bits is None else sketch_bits
        self._build_sums((2, _num_cells(self._bits, real) + 1))

    def _read_ranking(self) -> tuple[_ranking.Ranking, tf.Tensor]:
        """Returns the ranking of the cells, and whether it can be trusted."""
        sums, valid = self._read_sums()
        dtype = self._result_dtype
        examples = _sums.totals(sums, dtype)[0, -1]
        cells = _sums.of_cells(sums, slice(-1))
        return _ranking.from_sums(cells, examples, dtype), valid

    def result(self) -> tf.Tensor:
        """Returns the value of all batches; 0.0 where there is none yet."""
        ranking, valid = self._read_ranking()
        value = self._value(ranking)
        return tf.where(valid, value, tf.constant(float("nan"), value.dtype))

    def _value(self, ranking: _ranking.Ranking) -> tf.Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "ignore_index": self.ignore_index,
            "sketch_bits": self.sketch_bits,
        }
