"""Large batches of class-wise metrics are added up in blocks, with the same sums."""

import numpy as np
import pytest

import uncertainty_metrics as um
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import (
    IS_TENSORFLOW,
    _class_cells,
    _execution,
    to_numpy,
    xp,
)

CLASSES = 5
FINE = 2, 0, 3, 3  # The grid of very many classes.


def spec_of(scheme, threshold=0.0):
    return CalibrationSpec(scheme, False, True, "l1", num_bins=15, threshold=threshold)


def units_one_by_one(spec, bits, probabilities, labels):
    """Returns the units, one score at a time."""
    if bits is None:
        edges = np.linspace(0, 1, spec.num_bins + 1)[1:].astype(probabilities.dtype)
    else:
        # Above 1/2 float32 does not have all edges.
        rounded, (_, exact) = _grid.upper_edges(*bits), _grid.limits(*bits)
        edges = np.where(exact > 0.5, exact, rounded)
    units = np.zeros([4, probabilities.shape[1], len(edges)], np.int64)
    threshold = probabilities.dtype.type(spec.threshold)
    for row, label in zip(probabilities, labels, strict=True):
        for k, score in enumerate(row):
            if spec.threshold > 0 and score <= threshold:
                continue
            score = max(np.float32(score), 0)
            cell = np.searchsorted(edges, score)  # An edge is in its cell.
            score_units = round(float(score) * 2**31)
            parts = 1, score_units >> 22, score_units % 2**22, k == label
            units[:, k, cell] += np.array(parts, np.int64)
    # The rest is carried once for the batch, not for each score.
    units[1] += units[2] >> 22
    units[2] %= 2**22
    return units.reshape(4, -1)


def batch(rng, rows, dtype=np.float32):
    """Returns probabilities on edges, in all octaves, 0 and 1; and labels."""
    special = [0.0, -0.0, 1.0, 0.5, 1e-45, 2.0**-126, 2.0**-30, 1 - 2.0**-24, 0.01]
    octaves = 2.0 ** -rng.uniform(0, 40, [rows, CLASSES])
    edges = rng.choice(_grid.upper_edges(*FINE), [rows, CLASSES])
    kind = rng.integers(0, 3, [rows, CLASSES])
    given = rng.choice(special, [rows, CLASSES])
    probabilities = np.select([kind == 0, kind == 1], [octaves, edges], given)
    return probabilities.astype(dtype), rng.integers(0, CLASSES, rows)


def units_in_blocks(*options, compiled):
    def units(probabilities, labels):
        with _execution.in_64_bits():
            compute = lambda *data: _class_cells.units(*options, *data)  # noqa: E731
            if compiled:
                compute = _execution.compiled(compute, with_xla=True)
            labels = xp.cast(xp.constant(labels), xp.int32)
            return map(to_numpy, compute(xp.constant(probabilities), labels))

    return units


@pytest.mark.keras
@pytest.mark.parametrize("bits", [None, FINE, (3, 0, 8, 6)])
@pytest.mark.parametrize(
    ("rows", "threshold", "compiled"),
    [
        *[(1, 0.0, False), (2, 0.01, False), (8, 0.0, False), (37, 0.01, False)],
        *[(1, 0.0, True), (37, 0.01, True), (37, 0.0, True)],
    ],
)
def test_units_are_those_of_each_score(
    rows, threshold, bits, compiled, rng, monkeypatch
):
    # Blocks of 3 rows, of which 4 fit in a part; for 37 rows the last block overlaps.
    monkeypatch.setattr(_class_cells, "_BLOCK", 3 * CLASSES)
    monkeypatch.setattr(_class_cells, "_MOST_ROWS", 12)
    spec = spec_of("even" if bits is None else "adaptive", threshold)
    cells = spec.num_bins if bits is None else _grid.num_cells(*bits)
    probabilities, labels = batch(rng, rows)
    data = probabilities, labels
    rounded = np.where(probabilities == 1, np.float32(1 + 2.0**-23), probabilities)
    found, right = units_in_blocks(spec, bits, cells, compiled=compiled)(
        rounded, labels
    )
    np.testing.assert_array_equal(found, units_one_by_one(spec, bits, *data))
    assert right


@pytest.mark.keras
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("threshold", [0.0, 0.01])
def test_units_of_other_types(dtype, threshold, rng):
    spec, cells = spec_of("adaptive", threshold), _grid.num_cells(*FINE)
    probabilities, labels = batch(rng, 20, dtype)
    found, _ = units_in_blocks(spec, FINE, cells, compiled=False)(probabilities, labels)
    expected = units_one_by_one(spec, FINE, probabilities, labels)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.keras
def test_a_cell_has_room_for_more_rows_than_an_integer_of_count_and_sum():
    rows = 2**16 + 10
    probabilities = np.tile(np.float32([1, 0]), [rows, 1])
    labels = np.zeros(rows, np.int64)
    spec, cells = spec_of("adaptive"), _grid.num_cells(*FINE)
    found, _ = units_in_blocks(spec, FINE, cells, compiled=True)(probabilities, labels)
    expected = np.zeros([4, 2 * cells], np.int64)
    expected[:, cells - 1] = rows, rows * 2**9, 0, rows
    expected[0, cells] = rows
    np.testing.assert_array_equal(found, expected)


@pytest.mark.keras
@pytest.mark.parametrize("wrong", [np.nan, -0.1, 1.5, np.inf])
@pytest.mark.parametrize("compiled", [False, True])
def test_wrong_numbers_are_found(wrong, compiled, rng):
    probabilities, labels = batch(rng, 10)
    probabilities[7, 2] = wrong
    for bits in None, FINE:
        spec = spec_of("even" if bits is None else "adaptive")
        cells = spec.num_bins if bits is None else _grid.num_cells(*bits)
        units = units_in_blocks(spec, bits, cells, compiled=compiled)
        _, right = units(probabilities, labels)
        assert not right


@pytest.mark.keras
@pytest.mark.skipif(not IS_TENSORFLOW, reason="others have no size for blocks")
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        *[("eager", {}), ("graph", {}), ("XLA", {})],
        ("eager", {"from_logits": True, "threshold": 0.01}),
        ("graph", {"binning_scheme": "even"}),
    ],
)
def test_metrics_have_the_same_state_in_blocks(mode, options, rng, monkeypatch):
    import tensorflow as tf

    logits = tf.constant(rng.normal(scale=3, size=[400, 101]), tf.float32)
    labels = tf.constant(rng.integers(0, 101, 400))
    predictions = logits if "from_logits" in options else tf.nn.softmax(logits)
    calls = []
    units = _class_cells.units

    def counted(*arguments):
        calls.append(0)
        return units(*arguments)

    monkeypatch.setattr(_class_cells, "units", counted)
    states = []
    for large in 0, 2**24:
        monkeypatch.setattr(_execution, "_LARGE", large)
        metric = um.GeneralCalibrationError(
            **{"binning_scheme": "adaptive", **options},
            max_prob=False,
            class_conditional=True,
            norm="l1",
            num_classes=101,
        )

        def update(*data, metric=metric):
            metric.update_state(*data)

        if mode != "eager":
            update = tf.function(update, jit_compile=mode == "XLA")
        update(labels, predictions)
        if mode == "eager":
            with pytest.raises(ValueError, match="in \\[0, 101\\)"):
                metric.update_state(labels + 101, predictions)
        states.append(metric.get_state().arrays)
        assert len(calls) == 1  # Only a large batch is added up in blocks.
    for name, values in states[0].items():
        np.testing.assert_array_equal(values, states[1][name])
    assert np.sum(states[0]["units"][3]) > 0
