"""`ScoreSketch`: sums that are exact in any order, and answers within their bounds."""

import copy
import io
from functools import partial

import numpy as np
import pytest
from scipy import special
from sklearn import isotonic, metrics

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibration.without_bins import (
    _pooled_errors,
    _pooled_scores,
)
from uncertainty_metrics.numpy.sketch import _grid

DECISIONS = {}
POSITIVE = {"positive_class": True}
CLASSES = {"max_prob": False, "class_conditional": True}
POOLED = {"max_prob": False}
BY_DECISION = {"class_conditional": True}
GROUPS = [DECISIONS, POSITIVE, CLASSES, POOLED, BY_DECISION]
ANY_BINS = [("even", 15), ("even", 7), ("adaptive", 15), ("adaptive", 4)]


def sketch_of(labels, probabilities, options=DECISIONS, **data):
    sketch = um.ScoreSketch(**options)
    sketch.update(labels, probabilities, **data)
    return sketch


def calibrated(rng, n, classes, sharpness=2.0, temperature=1.0):
    logits = sharpness * rng.normal(size=(n, classes))
    labels = np.argmax(logits + rng.gumbel(size=(n, classes)), axis=1)
    return labels, special.softmax(logits / temperature, axis=1).astype(np.float32)


def few_scores(rng, n, classes=2):
    """Makes multiples of 2^-6, which are in different cells."""
    cuts = np.sort(rng.integers(0, 65, (n, classes - 1)), axis=1)
    parts = np.diff(cuts, prepend=0, append=64) / 64
    return rng.integers(0, classes, n), parts


def two_valued(rng, n):
    p = rng.choice([0.3, 0.30000001], n)
    return (rng.random(n) < 0.5).astype(int), p


def in_one_cell(rng, n):
    """Makes the worst case: all scores in one cell, with outcomes in order."""
    p = np.sort(rng.uniform(0.4961, 0.5, n)).astype(np.float32)
    return np.arange(n) < n // 2, p


def saturated(rng, n):
    distance = 10.0 ** rng.uniform(-12, 0, n)
    p = np.where(rng.random(n) < 0.5, distance, 1 - distance)
    return (rng.random(n) < p**0.8).astype(int), p


def near(rng, n):
    p = rng.beta(2, 2, n)
    return (rng.random(n) < p).astype(int), p.astype(np.float32)


BINARY = {
    "near": near,
    "saturated": saturated,
    "two-valued": two_valued,
    "in one cell": in_one_cell,
    "constant": lambda rng, n: (rng.random(n) < 0.4, np.full(n, 0.7)),
    "sure": lambda rng, n: (rng.random(n) < 0.9, np.ones(n)),
    "uniform": lambda rng, n: (rng.random(n) < 0.5, rng.random(n)),
    "steps": lambda rng, n: (rng.random(n) < 0.5, rng.integers(0, 9, n) / 8),
}


class Exact:
    """The sorted scores of the positive class, their cells, and bounds of errors."""

    def __init__(self, labels, p, weights=None, bits=None):
        bits = bits or _grid.default_bits(1)
        order = np.argsort(p, kind="stable")
        self.y, self.p = np.asarray(labels)[order].astype(float), p[order]
        w = np.ones(len(p)) if weights is None else weights[order]
        self.cell = _grid.index(self.p.astype(np.float32), *bits)
        self.bits = bits
        self.p = self.p.astype(np.float64)
        self.w = w / w.sum()
        self.residuals = self.w * (self.y - self.p)
        self.ends = np.append(np.diff(self.p) > 0, True)
        self.s = self.share().max()
        least, largest = _grid.rounded_limits(*bits)
        self.c = np.max(largest - least)
        self.u = self.w @ (np.abs(self.y - self.p) * (largest - least)[self.cell])

    def share(self, where=slice(None)):
        return np.bincount(self.cell[where], self.w[where])

    def running(self):
        """Returns the sums of residuals up to each distinct score, and these scores."""
        sums = np.cumsum(self.residuals)[self.ends]
        return np.append(0, sums), np.concatenate([[0], self.p[self.ends], [1]])

    def of_edges(self, edges):
        """Returns the share of examples in cells that an edge of bins divides."""
        bins = np.searchsorted(edges, self.p)
        first = np.full(self.cell.max() + 1, len(edges) + 1)
        last = np.zeros_like(first)
        np.minimum.at(first, self.cell, bins)
        np.maximum.at(last, self.cell, bins)
        held = first < last
        at = _grid.index(edges.astype(np.float32), *self.bits)
        held[at[at < len(held)]] = True
        return self.share()[held].sum()


ROUNDING = 1e-12
REST = pytest.mark.exhaustive


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(
    ("bits", "size"),
    [
        (None, 3000),
        *(pytest.param(bits, 3000, marks=REST) for bits in (0, 3, 5, 10)),
        *(pytest.param(None, size, marks=REST) for size in (1, 10, 200_000)),
    ],
)
def test_answers_are_within_their_bounds(kind, weighted, bits, size, rng):
    labels, p = BINARY[kind](rng, size)
    weights = rng.exponential(size=size) if weighted else None
    options = POSITIVE | {"sketch_bits": bits}
    sketch = sketch_of(labels, p, options, sample_weight=weights)
    bits = _grid.default_bits(1) if bits is None else (bits,)
    exact = Exact(labels, p, weights, bits)
    c = exact.c
    data = {"sample_weight": weights, "positive_class": True}

    def close(found, expected, bound):
        assert abs(found - expected) <= bound + ROUNDING * (1 + abs(expected))

    assert sketch.gce("even", "l1", 1) == pytest.approx(
        abs(exact.residuals.sum()), abs=1e-12
    )
    for num_bins in (2, 15, 100):
        expected = um.ece(labels, p, num_bins=num_bins, **data)
        inner = np.linspace(0, 1, num_bins + 1)[1:-1].astype(p.dtype)
        close(sketch.ece(num_bins=num_bins), expected, 2 * exact.of_edges(inner))
        statistics = um.bin_statistics(
            labels, p, binning_scheme="adaptive", num_bins=num_bins, **data
        )
        adaptive = um.gce(labels, p, "adaptive", True, False, "l1", num_bins, **data)
        share = exact.of_edges(statistics.edges[0, 1:-1])
        close(sketch.gce("adaptive", "l1", num_bins), adaptive, 2 * share)
        l2 = um.gce(labels, p, "adaptive", True, False, "l2", num_bins, **data)
        close(sketch.gce("adaptive", "l2", num_bins) ** 2, l2**2, 4 * share)
        debiased = [
            call(num_bins=num_bins, squared=True)
            for call in (
                sketch.debiased_calibration_error,
                partial(um.debiased_calibration_error, labels, p, **data),
            )
        ]
        close(*debiased, 4 * share + 2 * num_bins / size)

    sums, points = exact.running()
    ks, kuiper = np.abs(sums).max(), sums.max() - sums.min()
    limit = (1 + 2 * c) * exact.s / 4
    assert -ROUNDING <= ks - sketch.ks_calibration_error() <= limit + ROUNDING
    found = sketch.kuiper_calibration_error()
    assert -ROUNDING <= kuiper - found <= 2 * limit + ROUNDING
    atb = np.diff(points) @ (sums**2 + (sums[-1] - sums) ** 2)
    close(sketch.atb(), atb, 6 * c * ks)

    cells = _pooled_scores.pooled(p, np.asarray(labels, bool), weights)
    close(
        sketch.smece(bandwidth=0.1),
        _pooled_errors.smooth_error(cells, 0.1),
        8 * exact.u + 1e-6,
    )
    smece = _pooled_errors.smooth_error(cells)
    found = sketch.smece()
    close(found, smece, 0.8 * exact.u / max(found, smece, 1e-9) + 1e-6)

    first = np.flatnonzero(np.diff(exact.p, prepend=-1))
    held = np.add.reduceat(exact.w, first)
    rates = np.add.reduceat(exact.w * exact.y, first) / held
    fitted = isotonic.isotonic_regression(rates, sample_weight=held)
    fitted = np.repeat(fitted, np.diff(first, append=size))
    scores = [
        exact.w @ (exact.y - f) ** 2 for f in (exact.p, fitted, exact.w @ exact.y)
    ]
    parts = sketch.corp_decomposition()
    close(parts.uncertainty, scores[2], 0)
    assert -ROUNDING <= scores[2] - scores[1] - parts.discrimination <= exact.s
    close(parts.miscalibration, scores[0] - scores[1], exact.s + 2 * c / 3)

    for t in (0.0, 0.1, 0.3, 0.5, 0.9, 0.999):
        treated = exact.p >= np.float64(p.dtype.type(t))
        odds = t / (1 - t)
        benefit = exact.w @ (treated * (exact.y - (1 - exact.y) * odds))
        at = exact.cell == _grid.index(np.array([t], np.float32), *bits)
        share = exact.w[at].sum()
        ((found,), (everyone,), nobody) = sketch.net_benefit([t])
        close(found, benefit, share * max(1, odds))
        close(everyone, exact.w @ (exact.y - (1 - exact.y) * odds), 0)
        assert nobody == [0]
        acted = exact.p > np.float64(p.dtype.type(t))
        regret = np.where(acted, t * (1 - exact.y), (1 - t) * exact.y)
        (found,) = sketch.murphy_curve([t])
        close(found, exact.w @ regret, share * max(t, 1 - t))

    slopes = 1 - 2 * exact.p
    n = size if weights is None else weights.sum()
    above, variance = (
        exact.residuals @ slopes * n,
        n * (exact.w @ (slopes**2 * exact.p * (1 - exact.p))),
    )
    if variance > 0 and kind != "steps":
        z, p_value = sketch.spiegelhalter_test()
        off = c * n
        ends = [np.sqrt(max(variance + sign * off, 1e-300)) for sign in (-1, 1)]
        wide = 2 * exact.u * n
        reach = [(above + sign * wide) / end for sign in (-1, 1) for end in ends]
        assert min(reach) - 1e-9 <= z <= max(reach) + 1e-9
        assert p_value >= special.erfc(abs(z) / np.sqrt(2)) * (1 - 1e-9)

    hits, misses = exact.share(exact.y == 1), exact.share(exact.y == 0)
    held = min(len(hits), len(misses))
    if hits.any() and misses.any():
        area = metrics.roc_auc_score(exact.y, exact.p, sample_weight=exact.w)
        tied = hits[:held] @ misses[:held] / (2 * hits.sum() * misses.sum())
        close(sketch.auroc(), area, tied)


@pytest.mark.parametrize(
    "classes", [2, 10, pytest.param(1000, marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("sharpness", [1.0, 15.0])
def test_answers_of_many_classes_are_within_their_bounds(classes, sharpness, rng):
    n = 4000
    labels, p = calibrated(rng, n, classes, sharpness, 0.8)
    top = sketch_of(labels, p)
    confidence = p.max(axis=1)
    exact = Exact(p.argmax(axis=1) == labels, confidence)
    assert top.accuracy() == um.accuracy(labels, p)
    edges = np.linspace(0, 1, 16)[1:-1].astype(np.float32)
    expected = um.ece(labels, p)
    assert abs(top.ece() - expected) <= 2 * exact.of_edges(edges) + 1e-12
    s = exact.s
    assert abs(top.aurc() - um.aurc(labels, p)) <= s / 4 * (1 + np.log(4 / s))
    assert abs(top.augrc() - um.augrc(labels, p)) <= s / 8
    assert abs(top.e_aurc() - um.e_aurc(labels, p)) <= s / 4 * (1 + np.log(4 / s))
    each = sketch_of(labels, p, CLASSES)
    bits = _grid.default_bits(classes)
    assert each.bin_statistics().counts.shape == (classes, 15)
    divided = []
    for k in range(classes):
        one = Exact(labels == k, p[:, k], None, bits)
        divided.append(one.of_edges(edges))
    assert abs(each.sce() - um.sce(labels, p)) <= 2 * np.mean(divided) + 1e-9
    np.testing.assert_allclose(
        each.gce("even", "l1", 1), um.sce(labels, p, num_bins=1), rtol=1e-9
    )


def pooled_scores(p, bits):
    """Returns scores [N], each replaced by the mean score of its cell."""
    cells = _grid.index(p.astype(np.float32), *bits)
    counts = np.maximum(np.bincount(cells), 1)
    return (np.bincount(cells, p.astype(np.float64)) / counts)[cells]


@pytest.mark.parametrize("sharpness", [1.0, 15.0])
def test_scores_in_one_cell_count_as_equal(sharpness, rng):
    labels, p = calibrated(rng, 3000, 5, sharpness, 0.8)
    top, each = sketch_of(labels, p), sketch_of(labels, p, CLASSES)
    right = p.argmax(axis=1) == labels
    tied = pooled_scores(p.max(axis=1), _grid.default_bits(1))
    data = {"positive_class": True}
    for scheme, norm in (("adaptive", "l2"), ("even", "l2"), ("even", "max")):
        expected = um.gce(right, tied, scheme, True, False, norm, **data)
        assert top.gce(scheme, norm) == pytest.approx(expected, rel=1e-9)
    for squared in (True, False):
        data["squared"] = squared
        expected = um.debiased_calibration_error(right, tied, **data)
        found = top.debiased_calibration_error(squared=squared)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for name in ("aurc", "e_aurc", "augrc"):
        expected = getattr(um, name)(confidences=tied, correct=right)
        assert getattr(top, name)() == pytest.approx(expected, rel=1e-9)
    bits = _grid.default_bits(5)
    columns = np.stack([pooled_scores(column, bits) for column in p.T], axis=1)
    for name in ("sce", "ace", "tace"):
        expected = getattr(um, name)(labels, columns)
        assert getattr(each, name)() == pytest.approx(expected, rel=1e-9)


def bins_of(labels, p, options, scheme, norm, bins, **data):
    max_prob, conditional = (
        options.get(name, default)
        for name, default in (("max_prob", True), ("class_conditional", False))
    )
    positive = options.get("positive_class", False)
    return um.gce(
        labels, p, scheme, max_prob, conditional, norm, bins,
        positive_class=positive, **data,
    )  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", GROUPS, ids=str)
def test_bins_of_scores_in_cells_of_their_own_are_exact(options, weighted, rng):
    labels, p = few_scores(rng, 500, 2 if options is POSITIVE else 3)
    data = {"sample_weight": rng.exponential(size=500)} if weighted else {}
    sketch = sketch_of(labels, p, {**options, "sketch_bits": 7}, **data)
    for scheme, bins in ANY_BINS:
        for norm in ("l1", "l2", "max"):
            expected = bins_of(labels, p, options, scheme, norm, bins, **data)
            assert sketch.gce(scheme, norm, bins) == pytest.approx(expected, rel=1e-9)
        choices = {name: options.get(name, name == "max_prob") for name in CLASSES}
        positive = options.get("positive_class", False)
        bias = {"binning_scheme": scheme, "num_bins": bins, "squared": True}
        expected = um.debiased_calibration_error(
            labels, p, positive_class=positive, **choices, **bias, **data
        )
        found = sketch.debiased_calibration_error(**bias)
        assert found == pytest.approx(expected, abs=1e-12)
    statistics = sketch.bin_statistics(num_bins=7, threshold=0.125)
    expected = um.bin_statistics(
        labels, p, num_bins=7, threshold=0.125, positive_class=positive, **choices,
        **data,
    )  # fmt: skip
    for name in ("edges", "counts", "confidences", "accuracies"):
        np.testing.assert_allclose(
            getattr(statistics, name), getattr(expected, name), atol=1e-12
        )


def test_named_errors_equal_the_functions_and_need_their_scores(rng):
    labels, p = few_scores(rng, 300, 3)
    top, each = sketch_of(labels, p), sketch_of(labels, p, CLASSES | {"sketch_bits": 7})
    for sketch, names in (
        (top, ("ece", "mce", "rmsce")),
        (each, ("sce", "ace", "tace")),
    ):
        for name in names:
            expected = getattr(um, name)(labels, p, num_bins=6)
            assert getattr(sketch, name)(num_bins=6) == pytest.approx(expected)
    points = {"num_bins": 1, "datapoints_per_bin": 40}
    assert top.rmsce(**points) == pytest.approx(um.rmsce(labels, p, **points))
    with pytest.raises(ValueError, match=r"max_prob=False.*Received: max_prob=True"):
        top.ace()
    with pytest.raises(ValueError, match=r"`expected_calibration_error`"):
        each.ece()
    with pytest.raises(ValueError, match="`norm` must be one of"):
        top.gce("even", "l3")
    for question in ("auroc", "isotonic", "spiegelhalter_test"):
        with pytest.raises(ValueError, match=r"`class_conditional`.*3 groups"):
            getattr(each, question)()
    for question in ("aurc", "e_aurc", "augrc", "accuracy"):
        with pytest.raises(ValueError, match="max_prob=True"):
            getattr(each, question)()
    for question in ("net_benefit", "murphy_curve"):
        with pytest.raises(ValueError, match="positive_class=True"):
            getattr(top, question)([0.5])
    curve = top.reliability_curve(num_bins=5)
    expected = um.reliability_curve(labels, p, num_bins=5)
    np.testing.assert_allclose(curve.accuracies, expected.accuracies)
    assert (curve.y_axis, curve.error) == ("accuracy", pytest.approx(expected.error))
    assert each.reliability_curve().y_axis == "frequency"


@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_and_maps_of_scores_in_cells_of_their_own_are_exact(weighted, rng):
    labels, p = few_scores(rng, 400)
    p = p[:, 1]
    weights = 0.1 * rng.exponential(size=400) if weighted else None
    data = {"sample_weight": weights}
    sketch = sketch_of(labels, p, POSITIVE, **data)
    expected = metrics.roc_auc_score(labels, p, sample_weight=weights)
    assert sketch.auroc() == pytest.approx(expected)
    regression = isotonic.IsotonicRegression(out_of_bounds="clip")
    regression.fit(p, labels, weights)
    grid = np.linspace(0, 1, 301)
    np.testing.assert_allclose(
        np.interp(grid, *sketch.isotonic()), regression.predict(grid), atol=1e-12
    )
    top = sketch_of(labels, p, **data)
    for name in ("aurc", "e_aurc", "augrc", "accuracy"):
        expected = getattr(um, name)(labels, p, **data)
        assert getattr(top, name)() == pytest.approx(expected, abs=1e-12)
    options = {"positive_class": True, "num_bins": 65, **data}
    expected = um.calibration_error_interval(labels, p, **options)
    found = sketch.calibration_error_interval(num_bins=65)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    log = sketch.corp_decomposition(score="log")
    assert log.miscalibration == np.inf  # Some forecasts of 0 or 1 were wrong.
    inside = (p > 0) & (p < 1)
    weights = None if weights is None else weights[inside]
    sketch = sketch_of(labels[inside], p[inside], POSITIVE, sample_weight=weights)
    log = sketch.corp_decomposition(score="log")
    score = log.miscalibration - log.discrimination + log.uncertainty
    expected = metrics.log_loss(labels[inside], p[inside], sample_weight=weights)
    assert score == pytest.approx(expected)


@pytest.mark.parametrize("options", [POSITIVE, POOLED, CLASSES])
@pytest.mark.parametrize("draw", [calibrated, few_scores])
def test_conformal_quantile_is_too_large_by_at_most_a_cell(options, draw, rng):
    labels, p = draw(rng, 999, 2 if options is POSITIVE else 5)
    scores = 1 - p[np.arange(999), labels].astype(np.float64)
    sketch = sketch_of(labels, p, options)
    width = 2.0 ** -(7 if options is not CLASSES else 4)
    for alpha in (0.01, 0.1, 0.45, 0.5):
        exact = np.sort(scores)[round(1000 * (1 - alpha)) - 1]
        found = sketch.conformal_quantile(alpha)
        assert exact <= found <= exact + width * min(found, 1 - exact) + 1e-7
    assert sketch.conformal_quantile(0.0009) == np.inf
    weighted = sketch_of(labels, p, options, sample_weight=np.full(999, 2))
    repeated = sketch_of(np.tile(labels, 2), np.tile(p, (2, 1)), options)
    assert weighted.conformal_quantile(0.1) == repeated.conformal_quantile(0.1)
    with pytest.raises(ValueError, match="max_prob=False or positive_class=True"):
        sketch_of(labels, p).conformal_quantile(0.1)


def test_conformal_quantile_is_at_least_every_score_of_its_cell():
    # In float32 the larger score, and so nearly the mean score, is the end of the cell.
    p, weights = 0.25 * (1 - np.array([2.0**-9, 0.6 * 2.0**-24])), [1, 10**6]
    sketch = sketch_of([1, 1], p, POSITIVE, sample_weight=weights)
    assert sketch.conformal_quantile(1.5 / (10**6 + 2)) >= 1 - p[0]


def shards(rng, n=600, classes=4):
    labels, p = calibrated(rng, n, classes)
    weights = rng.exponential(size=n) * 10.0 ** rng.integers(-20, 20, n)
    return [
        (labels[rows], p[rows], weights[rows]) for rows in np.array_split(range(n), 6)
    ]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", GROUPS, ids=str)
def test_shards_in_any_order_give_the_same_bits(options, weighted, rng):
    parts = shards(rng, classes=2 if options is POSITIVE else 4)
    made = [
        sketch_of(y, p, options, sample_weight=w if weighted else None)
        for y, p, w in parts
    ]
    whole = um.ScoreSketch(**options)
    for y, p, w in reversed(parts):
        whole.update(y, p, sample_weight=w if weighted else None)
    nothing = um.ScoreSketch(**options)
    for total in (
        sum(made),
        made[3] + (made[5] + made[0]) + (made[4] + made[2]) + (made[1] + nothing),
        nothing + sum(reversed(made)),
    ):
        assert total == whole
        assert total.gce("adaptive", "l2") == whole.gce("adaptive", "l2")
        files = [io.BytesIO(), io.BytesIO()]
        total.save(files[0])
        whole.save(files[1])
        assert files[0].getvalue() == files[1].getvalue()
    assert sum(made[1:]) != whole
    assert whole != nothing
    assert nothing == um.ScoreSketch(**options)
    assert whole != "a sketch"


def test_weights_count_as_repeated_examples(rng):
    labels, p = calibrated(rng, 200, 3)
    weights = rng.integers(0, 4, 200)
    repeated = np.repeat(np.arange(200), weights)
    weighted = sketch_of(labels, p, sample_weight=weights)
    copies = sketch_of(labels[repeated], p[repeated])
    for name in ("ece", "smece", "aurc", "auroc", "atb"):
        found, expected = (getattr(s, name)() for s in (weighted, copies))
        assert found == pytest.approx(expected, rel=1e-12)
    ones = sketch_of(labels, p, sample_weight=np.ones(200))
    assert ones == sketch_of(labels, p)


def test_sketch_takes_logits_decisions_and_ignored_labels(rng):
    logits = rng.normal(size=(50, 3))
    labels = rng.integers(0, 3, 50)
    p = special.softmax(logits, axis=1)
    from_logits = um.ScoreSketch()
    from_logits.update(labels, logits=logits)
    assert from_logits.ece() == pytest.approx(um.ece(labels, p), rel=1e-9)
    decided = rng.integers(0, 3, 50)
    sketch = sketch_of(labels, p, labels_predicted=decided)
    expected = um.ece(labels, p, labels_predicted=decided)
    assert sketch.ece() == pytest.approx(expected, rel=1e-9)
    assert sketch.accuracy() == np.mean(decided == labels)
    ignoring = um.ScoreSketch(ignore_index=1)
    ignoring.update(labels, p)
    ignoring.update([1, 1], p[:2])
    assert ignoring == _with_option(sketch_of(labels[labels != 1], p[labels != 1]))


def _with_option(sketch):
    other = um.ScoreSketch(ignore_index=1, positive_class=False)
    other._content = sketch._content
    return other


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (([0, 3], [[0.5, 0.2, 0.3]] * 2), "`labels` must be integers in"),
        (([0], [[0.5, 0.2, np.nan]]), "`probabilities` must be in"),
        (([0], [[0.5, 0.5]]), "`probabilities` must have 3 classes"),
        (([0], [[2.0, 0.5, 0.5]]), "for logits use `logits`"),
        (([0, 1], [[0.5, 0.2, 0.3]]), "`probabilities` must be of shape"),
    ],
)
def test_a_refused_batch_leaves_the_sketch_as_it_was(batch, message):
    sketch = sketch_of([0, 2], [[0.5, 0.2, 0.3]] * 2)
    before = copy.copy(sketch)
    with pytest.raises(ValueError, match=message):
        sketch.update(*batch)
    assert sketch == before


def test_weights_must_have_a_finite_sum():
    heavy = sketch_of([0], [[0.5, 0.2, 0.3]], sample_weight=[0.9e300])
    assert heavy.aurc() == 0.0
    with pytest.raises(ValueError, match="have a sum up to"):
        heavy.update([1], [[0.5, 0.2, 0.3]], sample_weight=[0.9e300])
    with pytest.raises(ValueError, match="have a sum up to"):
        heavy + heavy
    assert heavy.accuracy() == 1.0


def test_wrong_options_and_empty_sketches_raise():
    for options, message in (
        ({"positive_class": True, "num_classes": 3}, "`positive_class`.*3 classes"),
        ({"sketch_bits": 21}, "`sketch_bits` must be None or an integer"),
        ({"max_prob": 1}, "`max_prob` must be True or False"),
        ({"num_classes": 0}, "`num_classes`"),
        ({"ignore_index": 0.5}, "`ignore_index`"),
    ):
        with pytest.raises(ValueError, match=message):
            um.ScoreSketch(**options)
    sketch = um.ScoreSketch()
    for question in ("ece", "auroc", "smece", "isotonic", "accuracy"):
        with pytest.raises(ValueError, match="There are no examples"):
            getattr(sketch, question)()
    with pytest.raises(ValueError, match="`positive_class` must be False"):
        sketch_of([0], [[0.1, 0.2, 0.7]], POSITIVE)
    two, three = sketch_of([0], [[0.5, 0.5]]), sketch_of([0], [[0.5, 0.2, 0.3]])
    with pytest.raises(ValueError, match="num_classes 2 and 3"):
        two + three
    with pytest.raises(ValueError, match="sketch_bits None and 5"):
        two + um.ScoreSketch(sketch_bits=5)
    with pytest.raises(TypeError):
        two + 1
    with pytest.raises(ValueError, match="false outcomes for `auroc`"):
        two.auroc()
    with pytest.raises(ValueError, match="a score other than 0, 1/2 and 1"):
        two.spiegelhalter_test()
    positive = sketch_of([0, 1], [0.2, 0.7], POSITIVE)
    with pytest.raises(ValueError, match=r"`thresholds` must be numbers in \[0, 1\)"):
        positive.net_benefit([0.5, 1.0])
    with pytest.raises(ValueError, match="`bandwidth`"):
        positive.smece(bandwidth=0)
    with pytest.raises(ValueError, match="`score` must be one of"):
        positive.corp_decomposition(score="crps")
    positive.reset()
    assert positive == um.ScoreSketch(positive_class=True)
    assert repr(um.ScoreSketch(num_classes=3)).startswith("ScoreSketch(positive_class=")
