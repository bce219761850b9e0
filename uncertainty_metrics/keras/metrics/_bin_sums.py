"""Sums of the examples of a batch in bins, or in the cells of a sketch."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.keras import _labels
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _binning,
    _class_cells,
    _execution,
    _sketch,
    _sums,
    xp,
)


def _with_totals(
    sums: _sums.Sums, num_cells: int, weights: xp.Tensor | None, n: xp.Tensor
) -> _sums.Sums:
    """Appends a cell, whose count is the number n of examples of positive weight, and
    whose outcomes are their weight.
    """
    if weights is None:
        n = xp.cast(n, xp.int64)
        nothing = xp.zeros_like(n)
        return sums._replace(
            units=_sums.append_cell(sums.units, num_cells, n, nothing, nothing, n)
        )
    weights = xp.cast(weights, xp.float32)
    num_counted = xp.cast(xp.math.count_nonzero(weights), xp.float32)
    hi, lo = (part[0] for part in _sums.total_pair(weights[:, None]))
    nothing = xp.zeros_like(hi)
    return sums._replace(
        hi=_sums.append_cell(sums.hi, num_cells, num_counted, nothing, hi),
        lo=_sums.append_cell(sums.lo, num_cells, nothing, nothing, lo),
    )


def bin_sums(
    spec: CalibrationSpec,
    sketch_bits: tuple[int, ...] | None,
    totals: bool,
    groups: int | None,
    has_shares: bool,
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of a batch in all cells, and whether the batch is valid."""
    options: Any = {"num_groups": groups, "multilabel": spec.multilabel}
    options["has_shares"] = has_shares
    examples = _labels.examples(predictions, ignore_index, *data, **options)
    spec = spec.settled(examples.one_column)
    num_groups = _binning.num_groups(examples, spec)
    cells = spec.num_bins if sketch_bits is None else _grid.num_cells(*sketch_bits)
    if not totals and _class_cells.are_worth_it(examples, spec, cells):
        probabilities = examples.probabilities
        units = _execution.with_xla_if_large(
            *(probabilities, _class_cells.units, spec, sketch_bits, cells), often=True
        )
        units, right = units(probabilities, examples.labels)
        return _sums.Sums(units, None, None), examples.valid & right
    scored = _binning.score(examples, spec)
    if sketch_bits is None:
        index = _binning.even_index(scored.scores, cells)
    else:
        index = _sketch.indices(scored.scores, sketch_bits)
    # A few scores go into their cells, and many are first added up for all cells.
    is_sparse = IS_TENSORFLOW and sketch_bits is not None
    is_sparse = is_sparse and (scored.scores.shape[0] or 0) < num_groups * cells
    sparse = num_groups * cells + totals if is_sparse else 0
    sums = _binning.cell_sums(
        scored, index, cells, num_groups, spec, xp.float32, sparse
    )
    if totals:
        n = xp.size(examples.labels)
        sums = _with_totals(sums, num_groups * cells, examples.weights, n)
    return sums, scored.valid
