"""Makes sketches of the states of Keras metrics that contain a sketch."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch import _cell_sums, _grid
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums

# The numbers of rows of `units` and of `hi` in the states of metrics.
_CALIBRATION, _RANKS = (4, 3), (2, 2)
# The units of the two rows of scores in `units`: see `ops/_sums.py`.
_WHOLE, _REST = 2.0**-9, 2.0**-31
# The counts of a metric are exact up to here.
_MAX_COUNT = 2**53


def _error(state: MetricState, received: str) -> ValueError:
    return _checks.error(
        "metric_state",
        "the state of a metric with a sketch of probabilities, such as "
        "`AdaptiveCalibrationError` or `AURC`",
        f"{state.metric}, {received}",
    )


def _spec(state: MetricState) -> CalibrationSpec:
    """Returns the options of the scores and groups of a metric, and whether its bins
    are even.
    """
    function = re.sub(r"(?<!^)(?=[A-Z])", "_", state.metric).lower()
    preset = PRESETS.get(function, PRESETS["root_mean_squared_calibration_error"])
    config = state.config
    names = ("binning_scheme", "max_prob", "class_conditional", "positive_class")
    options = {name: config[name] for name in names if name in config}
    if config.get("adaptive") is False:
        options["binning_scheme"] = "even"
    return dataclasses.replace(preset, **options)


def parts_of_sketch(
    state: MetricState,
) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    """Returns the arguments of a sketch, its number of classes and its sums.

    Raises:
      ValueError: the state has no sketch of probabilities, or the metric refused a
        batch.
    """
    spec = _spec(state)
    config = state.config
    if spec.binning_scheme == "even":
        raise _error(state, "with even bins")
    for name in ("num_groups", "multilabel", "label_distributions"):
        if config.get(name):
            raise _error(state, f"with {name}={config[name]}")
    if config.get("threshold", spec.threshold):
        threshold = f"without the scores up to {config.get('threshold')!r}"
        raise _error(state, threshold)
    if state.arrays["invalid"] > 0:
        raise _error(state, f"which refused {state.arrays['invalid']} batches")
    options: dict[str, Any] = {
        "positive_class": spec.positive_class,
        "max_prob": spec.max_prob,
        "class_conditional": spec.class_conditional,
        "num_classes": config.get("num_classes"),
        "ignore_index": config.get("ignore_index"),
        "sketch_bits": config.get("sketch_bits"),
    }
    if options["num_classes"] is not None:
        _checks.positive_integer("num_classes", options["num_classes"])
    if "units" not in state.arrays:
        if "sketch_bits" not in config:
            raise _error(state, "which has no sketch")
        return options, state.classes or options["num_classes"], None
    rows = tuple(len(state.arrays[name]) for name in ("units", "hi"))
    if rows == _RANKS:
        return _parts_of_ranks(state, options)
    if rows == _CALIBRATION and state.arrays["units"].ndim == 2:
        return _parts_of_calibration(state, options, spec)
    raise _error(state, f"with {rows[0]} rows")


def _parts_of_calibration(
    state: MetricState, options: dict[str, Any], spec: CalibrationSpec
) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    classes = state.classes or options["num_classes"]
    groups = spec.num_groups(classes or 2)
    sketch_bits, arrays = _checks.sketch_bits(options["sketch_bits"]), state.arrays
    bits = _grid.default_bits(groups) if sketch_bits is None else (sketch_bits,)
    cells = groups * _grid.num_cells(*bits)
    num_extra = arrays["units"].shape[1] - cells
    if num_extra not in (0, 1):
        raise _error(state, f"with {cells + num_extra} cells instead of {cells}")
    units, hi, lo = (arrays[name] for name in ("units", "hi", "lo"))
    _check_counts(state, units[[0, 3]])
    pairs = hi.astype(np.float64) + lo
    parts = (
        (units[0], pairs[0]),
        (units[1] * _WHOLE, units[2] * _REST, pairs[1]),
        (units[3], pairs[2]),
    )
    rows = [_exact_sum(cells, *part) for part in parts]
    count: int | None = None
    if num_extra:
        # The last cell has the number of examples and their weight.
        examples, _, weight = (sum(float(x[-1]) for x in part) for part in parts)
        if weight > 0:
            count = round(examples * rows[0].values.sum() / weight)
    elif not np.any(pairs):
        count = int(units[0].sum())
    return options, classes, _sums_or_none(state, rows, count)


def _parts_of_ranks(
    state: MetricState, options: dict[str, Any]
) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    sketch_bits, arrays = _checks.sketch_bits(options["sketch_bits"]), state.arrays
    num_cells = arrays["units"].shape[-1] - 1
    bits, bits_of_reals = (
        _grid.RANKING_BITS if sketch_bits is None else 2 * ((sketch_bits,),)
    )
    if num_cells == _grid.num_real_cells(*bits_of_reals):
        raise _error(state, "with a sketch of the real line, for logits or scores")
    cells = _grid.num_cells(*bits)
    if arrays["units"].shape[1:] != (cells + 1,):
        raise _error(state, f"with {num_cells} cells instead of {cells}")
    units, hi, lo = (arrays[name] for name in ("units", "hi", "lo"))
    _check_counts(state, units)
    pairs = hi.astype(np.float64) + lo
    # The scores of a cell are taken as its middle, and put into the cell that holds the
    # middle in a sketch of the same options.
    middles = np.mean(_grid.limits(*bits), axis=0)
    new_bits = bits if sketch_bits is not None else _grid.default_bits(1)
    places = _grid.index(middles.astype(np.float32), *new_bits)
    weights, hits, scores = (
        _exact_sum(_grid.num_cells(*new_bits), *parts, places=places)
        for parts in (
            (units[0], pairs[0]),
            (units[1], pairs[1]),
            (units[0, :cells] * middles, pairs[0, :cells] * middles),
        )
    )
    count = round(float(units[0, -1] + pairs[0, -1]))
    rows = [weights, scores, hits]
    return options, state.classes, _sums_or_none(state, rows, count)


def _check_counts(state: MetricState, counts: np.ndarray) -> None:
    if np.any(counts > _MAX_COUNT) or not np.all(
        np.isfinite(state.arrays["hi"]) & np.isfinite(state.arrays["lo"])
    ):
        raise _error(state, "whose sums are too large")


def _exact_sum(
    cells: int, *parts: np.ndarray, places: np.ndarray | None = None
) -> ExactSums:
    """Returns the sum of arrays, into this many cells.

    Args:
      cells: number of cells of the sum.
      *parts: arrays; only as many first numbers of each count as there are places.
      places: the cell of each number; by default number i goes into cell i.
    """
    places = np.arange(cells) if places is None else places
    total = Total(ExactSums.zeros(cells))
    for part in parts:
        total.add(part[: len(places)].astype(np.float64), places)
    return total.sums()


def _sums_or_none(
    state: MetricState, rows: list[ExactSums], count: int | None
) -> SketchSums | None:
    """Returns the sums of a sketch; None if all weights are 0."""
    if len(rows[0].digits) == 0:
        return None
    if count is not None and count < 1:
        raise _error(state, f"with the number of examples {count}")
    return _cell_sums.of_rows(rows, count)
