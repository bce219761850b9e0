"""Sketches made of the states of Keras metrics that hold one."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics.numpy._exact_sums import ExactSums, Total
from uncertainty_metrics.numpy._metric_state import MetricState
from uncertainty_metrics.numpy.sketch import _cell_sums, _grid, _older_grids
from uncertainty_metrics.numpy.sketch._cell_sums import SketchSums

# The rows of `units` and of `hi`.
_CALIBRATION, _RANKS = (4, 3), (2, 2)
# A metric that counts more is not exact.
_MAX_COUNT = 2**53


def _error(state: MetricState, received: str) -> ValueError:
    return _checks.error(
        "metric_state",
        "that of a metric that holds a sketch of probabilities, such as "
        "`AdaptiveCalibrationError` or `AURC`",
        f"{state.metric}, {received}",
    )


def _spec(state: MetricState) -> CalibrationSpec:
    """Returns the groups of a metric, and its bins where these are even."""
    function = re.sub(r"(?<!^)(?=[A-Z])", "_", state.metric).lower()
    preset = PRESETS.get(function, PRESETS["root_mean_squared_calibration_error"])
    config = state.config
    names = ("binning_scheme", "max_prob", "class_conditional", "positive_class")
    given = {name: config[name] for name in names if name in config}
    if config.get("adaptive") is False:
        given["binning_scheme"] = "even"
    return dataclasses.replace(preset, **given)


def read(state: MetricState) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    """Returns the arguments of a sketch, its number of classes and its sums.

    Raises:
      ValueError: the metric holds no sketch, or not one of probabilities, or it refused
        a batch.
    """
    spec = _spec(state)
    config = state.config
    if spec.binning_scheme == "even":
        raise _error(state, "of even bins")
    for name in ("num_groups", "multilabel"):
        if config.get(name):
            raise _error(state, f"of {name}={config[name]}")
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
            raise _error(state, "which has none")
        return options, state.classes or options["num_classes"], None
    rows = tuple(len(state.arrays[name]) for name in ("units", "hi"))
    if rows == _RANKS:
        return _of_ranks(state, options)
    if rows == _CALIBRATION and state.arrays["units"].ndim == 2:
        return _of_calibration(state, options, spec)
    raise _error(state, f"of {rows[0]} rows")


def _of_calibration(
    state: MetricState, options: dict[str, Any], spec: CalibrationSpec
) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    classes = state.classes or options["num_classes"]
    groups = spec.num_groups(classes or 2)
    own, arrays = _checks.sketch_bits(options["sketch_bits"]), state.arrays
    bits = _grid.default_bits(groups) if own is None else (own,)
    if own is None:
        arrays = _older_grids.calibration_arrays(dict(arrays), groups)
    cells = groups * _grid.num_cells(*bits)
    counted = arrays["units"].shape[1] - cells
    if counted not in (0, 1):
        raise _error(state, f"of {cells + counted} cells instead of {cells}")
    units, hi, lo = (arrays[name] for name in ("units", "hi", "lo"))
    _check_counts(state, units[[0, 3]])
    rest = hi.astype(np.float64) + lo
    parts = (
        (units[0], rest[0]),
        (units[1] * _older_grids.WHOLE, units[2] * _older_grids.REST, rest[1]),
        (units[3], rest[2]),
    )
    rows = [_summed(cells, *part) for part in parts]
    count: int | None = None
    if counted:
        # The last cell has the number of examples, and their weight.
        examples, _, weight = (sum(float(x[-1]) for x in part) for part in parts)
        if weight > 0:
            count = round(examples * rows[0].values.sum() / weight)
    elif not np.any(rest):
        count = int(units[0].sum())
    return options, classes, _some(state, rows, count)


def _of_ranks(
    state: MetricState, options: dict[str, Any]
) -> tuple[dict[str, Any], int | None, SketchSums | None]:
    own, arrays = _checks.sketch_bits(options["sketch_bits"]), state.arrays
    held = arrays["units"].shape[-1] - 1
    bits, of_reals = (
        ((own,), [(own,)])
        if own is not None
        else (
            _grid.RANKING_BITS[False],
            [_grid.RANKING_BITS[True], *_older_grids.RANKING_BITS[True]],
        )
    )
    if held in [_grid.num_real_cells(*each) for each in of_reals]:
        raise _error(state, "a sketch of the real line, as logits and scores have")
    if own is None:
        arrays = _older_grids.unit_ranking_arrays(dict(arrays))
    cells = _grid.num_cells(*bits)
    if arrays["units"].shape[1:] != (cells + 1,):
        raise _error(state, f"of {held} cells instead of {cells}")
    units, hi, lo = (arrays[name] for name in ("units", "hi", "lo"))
    _check_counts(state, units)
    rest = hi.astype(np.float64) + lo
    # The scores of a cell are taken as its middle, and put where a sketch of the same
    # options has that.
    middles = np.mean(_grid.limits(*bits), axis=0)
    now = bits if own is not None else _grid.default_bits(1)
    places = _grid.index(middles.astype(np.float32), *now)
    weights, hits, scores = (
        _summed(_grid.num_cells(*now), *parts, places=places)
        for parts in (
            (units[0], rest[0]),
            (units[1], rest[1]),
            (units[0, :cells] * middles, rest[0, :cells] * middles),
        )
    )
    count = round(float(units[0, -1] + rest[0, -1]))
    return options, state.classes, _some(state, [weights, scores, hits], count)


def _check_counts(state: MetricState, counts: np.ndarray) -> None:
    if np.any(counts > _MAX_COUNT) or not np.all(
        np.isfinite(state.arrays["hi"]) & np.isfinite(state.arrays["lo"])
    ):
        raise _error(state, "whose sums are too large")


def _summed(
    cells: int, *parts: np.ndarray, places: np.ndarray | None = None
) -> ExactSums:
    """Returns the sum of arrays, of the first numbers of each; those of a place in
    `places`, where it is given, together.
    """
    places = np.arange(cells) if places is None else places
    total = Total(ExactSums.zeros(cells))
    for part in parts:
        total.add(part[: len(places)].astype(np.float64), places)
    return total.sums()


def _some(
    state: MetricState, rows: list[ExactSums], count: int | None
) -> SketchSums | None:
    if len(rows[0].digits) == 0:
        return None
    if count is not None and count < 1:
        raise _error(state, f"which counts {count} examples")
    return _cell_sums.of_rows(rows, count)
