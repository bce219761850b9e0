"""The precision of streaming: sketches against exact values, counts, no drift."""

import fractions
import math

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.numpy.sketch import _grid
from uncertainty_metrics.ops import _sketch, _sums

pytestmark = [pytest.mark.keras, pytest.mark.tensors, pytest.mark.thorough]


def network(rng, n, classes, sharpness, temperature):
    """Returns labels that follow logits / temperature, and sharpened predictions."""
    logits = rng.normal(size=[n, classes])
    logits[np.arange(n), rng.integers(0, classes, n)] += np.log(classes) + 2
    noise = rng.gumbel(size=[n, classes])
    labels = np.argmax(logits / temperature + noise, axis=1)
    return labels, special.softmax(logits * sharpness, axis=1).astype(np.float32)


def nearly_certain(rng, n, classes):
    """Returns labels, and probabilities within a millionth of 0 or 1."""
    p = rng.uniform(0, 1e-6, [n, classes]) / classes
    top = rng.integers(0, classes, n)
    p[np.arange(n), top] = 0
    p[np.arange(n), top] = 1 - p.sum(axis=1)
    labels = np.where(rng.uniform(size=n) < 0.9, top, rng.integers(0, classes, n))
    return labels, p.astype(np.float32)


def streamed(name, labels, probabilities, **options):
    metric = getattr(um, name)(**options)
    for part in np.array_split(np.arange(len(labels)), 3):
        metric.update_state(labels[part], probabilities[part])
    return float(metric.result())


@pytest.mark.parametrize(
    ("classes", "sharpness"),
    [
        pytest.param(
            *(classes, sharpness),
            marks=() if abs(i - j) == 1 and i < 3 else pytest.mark.exhaustive,
        )
        for i, classes in enumerate((2, 10, 100, 1000))
        for j, sharpness in enumerate((1.0, 8.0, 20.0, None))
    ],
)
def test_adaptive_metrics_are_within_one_percent(classes, sharpness, rng):
    if sharpness is None:
        data = nearly_certain(rng, 5000, classes)
    else:
        data = network(rng, 4000 if classes == 1000 else 6000, classes, sharpness, 1.5)
    metrics = {
        "AdaptiveCalibrationError": um_np.ace,
        "ThresholdedAdaptiveCalibrationError": um_np.tace,
        "RootMeanSquaredCalibrationError": um_np.rmsce,
    }
    # Where predictions are nearly certain, the other metrics see equal scores; with
    # 1000 classes, they have the same state as the first.
    alone = sharpness is None or classes == 1000
    for name in list(metrics)[: 1 if alone else None]:
        np.testing.assert_allclose(
            streamed(name, *data), metrics[name](*data), rtol=0.01
        )


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_calibrated_networks_are_within_a_fraction_of_the_noise(classes, rng):
    errors, noise = [], []
    for _ in range(8):
        labels, probabilities = network(rng, 4000, classes, 1.0, 1.0)
        exact = um_np.rmsce(labels, probabilities)
        value = streamed("RootMeanSquaredCalibrationError", labels, probabilities)
        errors.append(abs(value - exact) / exact)
        half = um_np.rmsce(labels[::2], probabilities[::2])
        noise.append(abs(half - exact) / exact)
    # The mean error is about 1.5% (standard error 0.5%), the noise 20 to 50%.
    assert np.mean(errors) < 0.05
    assert np.mean(errors) < np.mean(noise) / 2


def test_more_bits_give_smaller_errors(rng):
    errors = []
    for _ in range(6):
        data = network(rng, 3000, 10, 1.0, 1.5)
        exact = um_np.ace(*data)
        values = [
            streamed("AdaptiveCalibrationError", *data, sketch_bits=bits)
            for bits in (0, 10)
        ]
        errors.append(np.abs(np.array(values) - exact) / exact)
    # In 60 draws the relative errors were .019 and 6e-5 in the median, and at most .044
    # and .0018.
    few, many = np.mean(errors, axis=0)
    assert many < few / 2
    assert many < 4e-3


def test_middles_of_cells_of_the_real_line_lie_in_them(rng):
    scores = rng.normal(size=9000) * 10.0 ** rng.integers(-44, 38, 9000)
    for bits in (_grid.RANKING_BITS[True], (7,), (8,)):
        cells = _sketch.real_index(tf.constant(scores, tf.float32), *bits)
        middles = tf.gather(_sketch.real_middles(*bits), cells)
        np.testing.assert_array_equal(_sketch.real_index(middles, *bits), cells)


@pytest.mark.parametrize("groups", [1, 3, 10])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_bins_by_blocks_are_the_bins_by_cells(groups, jit_compile, rng):
    bins, bits = 7, 3
    cells = _grid.num_cells(bits)
    counts = rng.poisson(0.02, [groups, cells]) * rng.integers(1, 50, [groups, cells])
    counts[0, :] = 0
    # Group 0 has one example, or none if it is the only group.
    counts[0, rng.integers(cells)] = groups > 1
    rest = rng.integers(0, 2**22, counts.shape) * counts
    rows = [counts, 300 * counts, rest, rng.binomial(counts, 0.5)]
    units = np.stack(rows).reshape(4, -1)
    function = tf.function(_sketch._bins_by_blocks, jit_compile=jit_compile)
    starts, sums = function(tf.constant(units), groups, bins, cells)
    for group in range(groups):
        total = max(int(counts[group].sum()), 1)
        below = np.cumsum(counts[group]) - counts[group]
        of = np.minimum(bins * (2 * below + counts[group]) // (2 * total), bins - 1)
        first = [np.count_nonzero(of < number) for number in range(bins)]
        np.testing.assert_array_equal(starts[group], first)
        here = np.asarray(sums).reshape(4, groups, bins)[:, group]
        for number in range(bins):
            held = units.reshape(4, groups, cells)[:, group, of == number].sum(axis=1)
            whole, rest = divmod(int(held[2]), 2**22)
            expected = [held[0], held[1] + whole, rest, held[3]]
            np.testing.assert_array_equal(here[:, number], expected)


@pytest.mark.parametrize("bits", [0, 4, 8, 10])
def test_cells_are_in_order_and_hold_their_scores(bits, rng):
    small = 10 ** rng.uniform(-46, 0, 4000)
    scores = np.concatenate([[0, 0.5, 1], small, 1 - small, rng.uniform(size=2000)])
    scores = np.sort(scores.astype(np.float32))
    cells = _sketch.index(tf.constant(scores), bits).numpy()
    assert cells[0] == 0
    assert cells[-1] == _grid.num_cells(bits) - 1
    assert np.all(np.diff(cells) >= 0)
    upper = _grid.upper_edges(bits)
    assert upper.shape == (_grid.num_cells(bits),)
    assert np.all(scores <= upper[cells])
    # Cells have the relative width 2^-bits: of p below 1/2, of 1 - p above it.
    for cell in np.unique(cells):
        inside = scores[cells == cell].astype(np.float64)
        inside = inside[(inside >= 2.0**-126) & (inside <= 1 - 2.0**-24)]
        distance = np.minimum(inside, 1 - inside)
        if len(distance):
            wide = min(bits, 2) if inside[0] < 2.0**-30 else bits
            assert distance.max() <= distance.min() * (1 + 2.0**-wide)


@pytest.mark.parametrize("bits", [0, 4, 8])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_cells_of_the_real_line_are_in_order(bits, jit_compile, rng):
    scores = rng.normal(size=5000) * 10.0 ** rng.integers(-44, 38, 5000)
    scores = np.concatenate(
        [scores, np.linspace(-2, 2, 4001), [-3.4e38, 3.4e38, 1e-45]]
    )
    scores = np.sort(scores.astype(np.float32))
    index = tf.function(_sketch.real_index, jit_compile=jit_compile)
    cells = index(tf.constant(scores), bits).numpy()
    assert np.all(np.diff(cells) >= 0)
    assert cells[0] == 0
    assert cells[-1] == _grid.num_real_cells(bits) - 1
    # Scores in [0, 1] have the cells of probabilities, which hold no other scores.
    inside = (scores >= 0) & (scores <= 1)
    zero = index(tf.constant([-0.0]), bits).numpy()[0]
    unit = _sketch.index(tf.constant(scores[inside]), bits).numpy()
    np.testing.assert_array_equal(cells[inside] - zero, unit)
    assert not np.any(np.isin(cells[~inside], cells[inside]))
    # Cells are narrow: 2^-bits of the score, from 2^-30 to 2^20.
    wide = np.array([-1e6, -3.0, -0.01, 5.0, 1e6])
    for value in wide:
        near = np.array([value, value * (1 + 2.0**-bits)], np.float32)
        assert np.diff(index(tf.constant(near), bits))[0] != 0
    both = index(tf.constant([-np.inf, np.inf], tf.float64), bits).numpy()
    assert both.tolist() == [0, _grid.num_real_cells(bits) - 1]


def test_counts_are_exact_past_two_to_the_24(rng):
    metric = um.ExpectedCalibrationError(num_bins=1)
    metric._units.assign([[2**24 + 1], [2**24 << _sums.WHOLE_BITS], [0], [2**24]])
    metric.update_state([0, 1], [[0.75, 0.25], [0.75, 0.25]])
    assert metric.counts.numpy().tolist() == [2**24 + 3]
    weighted = um.ExpectedCalibrationError(num_bins=1)
    weighted.update_state([0], [[1.0, 0.0]], [2.0**24])
    for _ in range(5):
        weighted.update_state([0], [[1.0, 0.0]], [1.0])
    assert weighted.counts.numpy().tolist() == [2**24 + 5]
    assert float(weighted.result()) == 0
    # At this count the result becomes NaN.
    metric._units.assign([[_sums.MAX_COUNT], [0], [0], [0]])
    assert np.isnan(metric.result())


@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.exhaustive), True]
)
def test_sums_do_not_drift_beyond_the_counts_of_float32(weighted, rng):
    n, updates = 50_000, 400  # 2e7 examples in one bin; float32 counts to 1.7e7.
    p = rng.uniform(0.5, 1, n).astype(np.float32)
    probabilities = tf.constant(np.stack([1 - p, p], axis=1))
    labels = tf.constant(rng.integers(0, 2, n))
    weights = rng.uniform(0.5, 1.5, n).astype(np.float32) if weighted else None
    metric = um.ExpectedCalibrationError(num_bins=2)

    @tf.function
    def update():
        for _ in tf.range(updates):
            metric.update_state(labels, probabilities, weights)

    update()
    once = np.ones(n) if weights is None else weights.astype(np.float64)
    counts = np.array([0, once.sum() * updates])
    np.testing.assert_allclose(metric.counts, counts, rtol=0 if not weighted else 1e-9)
    mean = np.average(p.astype(np.float64), weights=once)
    np.testing.assert_allclose(metric.confidences[1], mean, rtol=1e-9)


def test_batches_of_any_size_give_the_same_bits(rng):
    labels, probabilities = network(rng, 1000, 5, 2.0, 1.0)
    results = set()
    for size in (1000, 250, 37):
        metric = um.AdaptiveCalibrationError(num_classes=5)
        for start in range(0, 1000, size):
            part = slice(start, start + size)
            metric.update_state(labels[part], probabilities[part])
        results.add(float(metric.result()))
    assert len(results) == 1


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("num_cells", [1, 15, 2**14, 2**14 + 1])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_sums_of_scores_without_weights_are_exact(
    n, complete, num_cells, jit_compile, rng
):
    scores = np.maximum(rng.uniform(size=n), 2.0**-8).astype(np.float32)
    cells = rng.integers(0 if complete else -1, num_cells, n)
    outcomes = rng.uniform(size=n) < 0.3

    @tf.function(jit_compile=jit_compile)
    def run(scores, cells, outcomes):
        return [
            _sums.cell_sums(cells, scores, None, *hits, num_cells, complete=complete)
            for hits in ((cells, outcomes), (cells[:3], None))
        ]

    both = run(tf.constant(scores), tf.constant(cells, tf.int32), tf.constant(outcomes))
    right = outcomes, np.arange(n) < 3
    for sums, came in zip(both, right, strict=True):
        expected = np.zeros([4, num_cells], object)
        for cell, score, one in zip(cells, scores.tolist(), came, strict=True):
            if cell >= 0:
                expected[:, cell] += [1, int(score * 2**31), 0, int(one)]
        count, whole, rest, hits = sums.units.numpy().astype(object)
        units = whole * 2**22 + rest
        assert (np.stack([count, units, 0 * rest, hits]) == expected).all()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_weighted_segment_sums_are_nearly_exact(jit_compile, rng):
    values = rng.uniform(size=[20_000, 2]).astype(np.float32)
    values *= 10.0 ** rng.integers(-12, 3, [20_000, 1])
    cells = rng.integers(0, 7, 20_000)
    cells[:3] = -1  # These values are dropped.
    run = tf.function(_sums.segment_pair, jit_compile=jit_compile)
    hi, lo = run(tf.constant(values), tf.constant(cells, tf.int32), 7)
    for cell in range(7):
        for column in range(2):
            inside = values[cells == cell, column]
            exact = sum(map(fractions.Fraction, inside.tolist()))
            parts = (float(part[column, cell]) for part in (hi, lo))
            assert abs(sum(map(fractions.Fraction, parts)) - exact) <= exact * 2**-36


@pytest.mark.parametrize("n", [1, 1000, 2**22 + 1])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_scores_add_within_a_millionth(n, jit_compile, rng):
    scores = (10.0 ** rng.uniform(-3, 0, n)).astype(np.float32)
    cell = np.zeros(n, np.int32)

    @tf.function(jit_compile=jit_compile)
    def add(scores, cell):
        return _sums.cell_sums(cell, scores, None, cell[:1], None, 1)

    sums = add(tf.constant(scores), tf.constant(cell))
    count, whole, rest, hits = np.ravel(sums.units).tolist()
    assert (count, hits) == (n, 1)
    total = fractions.Fraction(whole, 2**9) + fractions.Fraction(rest, 2**31)
    exact = math.fsum(scores.tolist())
    assert abs(total - fractions.Fraction(exact)) <= exact / 10**6
    totals = np.ravel(_sums.totals(sums, tf.float64))
    np.testing.assert_allclose(totals, [n, exact, 1], rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_pairs_stay_precise_over_many_additions(jit_compile, rng):
    values = (rng.normal(size=[1000, 5]) * 10.0 ** np.arange(5)).astype(np.float32)
    values[:, 0] = np.abs(values[:, 0])
    values[:, 1] = 0.1  # Rounded the same way each time.
    values[7, 4] = np.inf

    @tf.function(jit_compile=jit_compile)
    def add(values):
        hi, lo = tf.zeros([5]), tf.zeros([5])
        for value in values:
            more_hi, more_lo = _sums.pair_steps(hi, lo, value, tf.zeros_like(value))
            hi, lo = hi + more_hi, lo + more_lo
        return hi, lo

    hi, lo = (part.numpy().astype(np.float64) for part in add(tf.constant(values)))
    assert (hi[4], lo[4]) == (np.inf, 0)
    exact = [math.fsum(column.tolist()) for column in values.T[:4]]
    size = np.abs(values).sum(axis=0, dtype=np.float64)
    assert np.all(np.abs((hi + lo)[:4] - exact) <= 1000 * 2.0**-48 * size[:4])


def test_sums_of_cells_keep_what_rounding_lost(rng):
    hi = rng.uniform(1, 2, [3, 40]).astype(np.float32)
    lo = (hi * rng.uniform(-(2.0**-25), 2.0**-25, hi.shape)).astype(np.float32)
    of = rng.integers(0, 4, 40).astype(np.int32)
    cells = _sums.Sums(tf.zeros([4, 40], tf.int64), tf.constant(hi), tf.constant(lo))
    grouped = _sums.regroup(cells, tf.constant(of), 4)
    exact = [np.bincount(of, row, 4) for row in hi.astype(np.float64) + lo]
    pair = grouped.hi.numpy().astype(np.float64) + grouped.lo.numpy()
    np.testing.assert_allclose(pair, exact, rtol=2.0**-44)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_whole_weights_become_units(jit_compile, rng):
    hi = tf.constant([[3.0, 2.5, 2.0**40], [0.25, 1e-30, 5.0], [2.0**30, 0.0, np.inf]])
    lo = tf.constant([[0.0, 2.0**-30, 1.5], [0.0, 0.0, -(2.0**-25)], [2.0, 0.0, 0.0]])
    settle = tf.function(
        lambda hi, lo: _sums.settled(_sums.Sums(None, hi, lo)), jit_compile=jit_compile
    )
    units, rest, lost, _ = settle(hi, lo)
    assert units.shape == [4, 3]
    assert units[0].numpy().tolist() == [3, 2, 0]
    assert units[3].numpy().tolist() == [2**30 + 2, 0, 0]
    for cells in (0, 1):
        got = np.ravel(
            _sums.totals(_sums.Sums(units, rest, lost), tf.float64)[:, cells]
        )
        both = hi.numpy().astype(np.float64) + lo.numpy()
        np.testing.assert_array_equal(got, both[:, cells])
    assert np.all(np.abs(rest.numpy())[:, :2] <= 0.5)
    assert rest[2, 2] == np.inf


def test_two_sum_survives_compilation():
    for jit_compile in (False, True):
        total, lost = tf.function(_sums.two_sum, jit_compile=jit_compile)(
            tf.constant(2.0**24), tf.constant(1.0)
        )
        assert (float(total), float(lost)) == (2.0**24, 1.0)


@pytest.mark.parametrize(
    ("compiled", "weighted"),
    [(False, True), (True, False), (False, False), (True, True)],
)
@pytest.mark.first(2)
def test_means_do_not_drift(rng, compiled, weighted):
    mean = tf.function(_sums.mean, jit_compile=compiled)
    for n in (1, 31, 32, 33, 41, 2**20 + 5):
        values = rng.normal(1e4, 1, size=n).astype(np.float32)
        weights = rng.integers(1, 4, n).astype(np.float32) if weighted else None
        expected = np.average(values.astype(np.float64), weights=weights)
        np.testing.assert_allclose(mean(values, weights), expected, rtol=2e-7)
        # The mean of ones is exactly 1, also where 1 / n is rounded.
        assert mean(np.ones(n, np.float32), weights) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_means(weighted):
    values = tf.constant([2.0, 4.0, 9.0])
    weights = tf.constant([1.0, 3.0, 0.0]) if weighted else None
    with tf.GradientTape() as tape:
        tape.watch(values)
        mean = _sums.mean(values, weights)
    gradient = tape.gradient(mean, values)
    np.testing.assert_allclose(gradient, [0.25, 0.75, 0] if weighted else [1 / 3] * 3)
