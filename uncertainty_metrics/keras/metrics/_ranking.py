"""The base classes of streaming selective prediction and detection.

Ranks of several batches cannot be added, but counts can. The state has a fixed size: it
counts hits and misses in the cells of a sketch (`numpy/sketch/_grid.py`). `result`
takes the scores in a cell as equal, so it is the exact metric of rounded scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _batches, _computed, _family, _labels
from uncertainty_metrics.keras.metrics._classes import ClassMetric
from uncertainty_metrics.keras.metrics._sketched import Sketched
from uncertainty_metrics.numpy.selective import detection as np_detection
from uncertainty_metrics.numpy.selective import risk_coverage as np_risk_coverage
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _execution,
    _inputs,
    _ranked,
    _ranking,
    _sketch,
    _sums,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


def _num_cells(bits: tuple[int, ...], real: bool) -> int:
    count = _grid.num_real_cells if real else _grid.num_cells
    return count(*bits)


def cell_sums(
    batch: _ranked.Ranked, bits: tuple[int, ...], real: bool
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns weight and hits of a batch in each cell, and whether the batch is valid.

    The last cell holds the number of examples of positive weight.

    Args:
      batch: the examples.
      bits: the resolution of the sketch.
      real: whether scores may leave [0, 1].
    """
    cells = (_sketch.real_index if real else _sketch.index)(batch.scores, *bits)
    num_cells = _num_cells(bits, real)
    if batch.weights is None:
        sparse = num_cells + 1 if IS_TENSORFLOW else 0
        sums = _sums.outcome_sums(cells, batch.hits, None, num_cells, sparse)
        n = xp.size(cells, xp.int64)
        units = _sums.append_cell(sums.units, num_cells, n, xp.zeros_like(n))
        return _sums.Sums(units, None, None), batch.valid
    weights = xp.cast(batch.weights, xp.float32)
    sums = _sums.outcome_sums(cells, batch.hits, weights, num_cells)
    num_counted = xp.cast(xp.math.count_nonzero(weights), xp.float32)
    nothing = xp.zeros_like(num_counted)
    hi = _sums.append_cell(sums.hi, num_cells, num_counted, nothing)
    lo = _sums.append_cell(sums.lo, num_cells, nothing, nothing)
    return _sums.Sums(None, hi, lo), batch.valid


def column_sums(
    bits: tuple[int, ...],
    columns: int,
    multilabel: bool,
    ignore_index: int | None,
    labels: xp.Tensor,
    y_pred: xp.Tensor,
    sample_weight: xp.Tensor | None,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns weight and hits of a batch in the cells of each column of real scores,
    and whether the batch is valid.

    Behind the cells of all columns are the numbers of examples of positive weight.
    """
    batch = _ranked.ranked_columns(
        labels,
        y_pred,
        sample_weight,
        ignore_index,
        columns=columns,
        multilabel=multilabel,
    )
    of_one = _num_cells(bits, real=True)
    num_cells = columns * of_one
    cells = _sketch.real_index(batch.scores, *bits) + of_one * xp.range(columns)
    cells, hits = (xp.reshape(x, [-1]) for x in (cells, batch.hits))
    if batch.weights is None:
        sparse = num_cells + columns if IS_TENSORFLOW else 0
        sums = _sums.outcome_sums(cells, hits, None, num_cells, sparse)
        n = xp.cast(xp.shape(batch.scores)[0], xp.int64)
        counts = n + xp.zeros([columns], xp.int64)
        nothing = xp.zeros_like(counts)
        units = _sums.append_cells(sums.units, num_cells, columns, counts, nothing)
        return _sums.Sums(units, None, None), batch.valid
    weights = xp.cast(batch.weights, xp.float32)
    sums = _sums.outcome_sums(cells, hits, xp.reshape(weights, [-1]), num_cells)
    counts = xp.reduce_sum(xp.cast(weights > 0, xp.float32), axis=0)
    nothing = xp.zeros_like(counts)
    hi = _sums.append_cells(sums.hi, num_cells, columns, counts, nothing)
    lo = _sums.append_cells(sums.lo, num_cells, columns, nothing, nothing)
    return _sums.Sums(None, hi, lo), batch.valid


class RankingMetric(_base.SumsMetric):
    """A metric that is a function of a ranking, `_value`."""

    def _make_cells(self, sketch_bits: int | None) -> None:
        """Makes the state; `sketch_bits` is an argument of the constructor."""
        self.sketch_bits = bits = _checks.sketch_bits(sketch_bits)
        default = _grid.RANKING_BITS[self._is_real]
        self._bits = default if bits is None else (bits,)
        cells = _num_cells(self._bits, self._is_real) + 1
        self._build_sums((2, cells), scattered=True)

    @property
    def _is_real(self) -> bool:
        """Whether scores may leave [0, 1]."""
        raise NotImplementedError

    def _read_ranking(self) -> tuple[_ranking.Ranking, xp.Tensor]:
        """Returns the ranking of the cells, and whether to trust it."""
        sums, valid = self._read_sums()
        dtype = self._result_dtype
        last = _sums.of_cells(sums, slice(-1, None))
        examples = _sums.totals(last, dtype)[0, 0]
        turned = self._is_turned
        return _ranking.from_sums(sums, slice(-1), examples, dtype, turned), valid

    @property
    def _is_turned(self) -> bool:
        """Whether label 0 is positive, and lower scores are better."""
        return False

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the value of all batches; 0.0 before the first example that counts,
        and NaN for examples for which it is not defined.
        """
        ranking, valid = self._read_ranking()
        value = self._value(ranking)
        nan = xp.constant(float("nan"), value.dtype)
        value = xp.where(self._is_defined(ranking), value, nan)
        if _execution.is_eager() and valid:
            self._warn_if_undefined(value)
        return xp.where(valid, value, nan)

    def _value(self, ranking: _ranking.Ranking) -> xp.Tensor:
        """Returns the value of a ranking."""
        raise NotImplementedError

    def _is_defined(self, ranking: _ranking.Ranking) -> xp.Tensor:
        """Returns whether the value is defined for these examples, or none."""
        del ranking
        return xp.constant(True)


def _selective_sums(
    bits: tuple[int, ...],
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    examples = _labels.examples(predictions, ignore_index, *data)
    batch = _ranked.ranked_decisions(examples)
    return cell_sums(batch, bits, examples.from_logits)


class SelectiveMetric(Sketched, RankingMetric, ClassMetric):
    """A metric of a classifier that abstains if its confidence is low."""

    _batch_sums = staticmethod(_selective_sums)
    _explain = staticmethod(np_risk_coverage.risk_coverage_curve)

    def __init__(
        self,
        *,
        name: str | None,
        dtype: Any,
        from_logits: bool,
        ignore_index: int | None,
        sparse_labels: bool | None,
        sketch_bits: int | None,
    ) -> None:
        super().__init__(
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        self._make_cells(sketch_bits)

    @property
    def _is_real(self) -> bool:
        return self.from_logits

    def _first_options(self, classes: int, one_column: bool = False) -> tuple[Any, ...]:
        return (self._bits,)


def _detection_sums(
    bits: tuple[int, ...],
    ignore_index: int | None,
    labels: xp.Tensor,
    y_pred: xp.Tensor,
    sample_weight: xp.Tensor | None,
) -> tuple[_sums.Sums, xp.Tensor]:
    batch = _ranked.ranked(labels, y_pred, sample_weight, ignore_index)
    return cell_sums(batch, bits, real=True)


class DetectionMetric(RankingMetric):
    """A metric of scores that should be larger for label 1 than for label 0.

    Subclasses say which labels the metric needs: `_needs`, for the warning, and
    `_has_needed`, a function of a ranking.
    """

    _needs = "examples of both labels"
    _has_needed: Callable[[_ranking.Ranking], xp.Tensor] = staticmethod(
        _ranking.has_both
    )

    def __init__(
        self,
        *,
        name: str | None,
        dtype: Any,
        ignore_index: int | None,
        sketch_bits: int | None,
        positive: np_detection.Positive,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        _checks.one_of("positive", positive, get_args(np_detection.Positive))
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.positive = positive
        self._make_cells(sketch_bits)

    def _is_defined(self, ranking: _ranking.Ranking) -> xp.Tensor:
        return self._has_needed(ranking) | (ranking.total == 0)

    @property
    def _is_real(self) -> bool:
        return True

    @property
    def _is_turned(self) -> bool:
        return np_detection.is_turned(self.positive)

    @property
    def _same_sums(self) -> tuple[Any, ...]:
        return type(self)._read, self._bits, self.ignore_index

    @_batches.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: 0 or 1, shape [...] or [..., 1].
          y_pred: finite scores, shape [...] or [..., 1], such as P(label 1), or an
            increasing function of it.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        mask = _family.mask_of(y_pred)
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = _inputs.as_tensor("y_pred", y_pred)
        with _labels.keras_names("scores"):
            _checks.paired("scores", y_pred.shape, "labels", y_true.shape)
        weights = _labels.flat_weights(sample_weight, mask, y_true)
        labels, scores = xp.reshape(y_true, [-1]), xp.reshape(y_pred, [-1, 1])

        def explain() -> None:
            y, x, w = _labels.as_arrays(y_true, y_pred, weights)
            with _labels.keras_names("scores"):
                np_detection.auroc(
                    y,
                    x,
                    sample_weight=w if w is None else w.reshape(y.shape),
                    ignore_index=self.ignore_index,
                )

        options = (self._bits, self.ignore_index)
        data = (labels, scores, weights)
        return _batches.Reading(_detection_sums, options, data, explain, shape=())
