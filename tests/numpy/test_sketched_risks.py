"""`ScoreSketch`: the calibration of risks, within the bounds of its docstring."""

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um
from tests.numpy.test_score_sketch import (
    BINARY,
    POSITIVE,
    REST,
    few_scores,
    sketch_of,
)
from uncertainty_metrics.numpy.sketch import _grid

LEAST = 2.0**-24
NAMES = ("calibration_intercept", "calibration_slope", "observed_expected_ratio")


def log_odds(p):
    return special.logit(np.clip(np.asarray(p, np.float64), LEAST, 1 - LEAST))


def width(p, bits):
    """Returns the width in log-odds of the widest cell that holds a score."""
    bits = _grid.default_bits(1) if bits is None else (bits,)
    least, largest = (log_odds(x) for x in _grid.rounded_limits(*bits))
    return np.max((largest - least)[_grid.index(p.astype(np.float32), *bits)])


def bound_of_slope(labels, p, weights):
    """Returns the largest change of the slope over the change of all log-odds."""
    fitted = um.PlattScaling().fit(labels, probabilities=p, sample_weight=weights)
    q, z = fitted.transform(probabilities=p), log_odds(p)
    v = q * (1 - q)
    m = np.average(z, weights=v * weights)
    slope = um.calibration_slope(labels, p, sample_weight=weights).estimate
    change = np.abs(labels - q) + abs(slope) * v * np.abs(z - m)
    spread = np.average(v * (z - m) ** 2, weights=weights)
    return np.average(change, weights=weights) / spread


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(
    ("bits", "size"),
    [
        (None, 3000),
        *(pytest.param(bits, 3000, marks=REST) for bits in (3, 5, 10)),
        *(pytest.param(None, size, marks=REST) for size in (1, 10, 200_000)),
    ],
)
def test_calibration_of_risks_is_within_its_bounds(kind, weighted, bits, size, rng):
    labels, p = BINARY[kind](rng, size)
    labels = np.asarray(labels, int)
    weights = rng.exponential(size=size) if weighted else np.ones(size)
    sketch = sketch_of(
        labels, p, POSITIVE | {"sketch_bits": bits}, sample_weight=weights
    )
    data, d = {"level": 0.9, "sample_weight": weights}, width(p, bits)

    found = sketch.observed_expected_ratio(level=0.9)
    expected = um.observed_expected_ratio(labels, p, **data)
    np.testing.assert_allclose(found, expected, rtol=1e-9)

    found = sketch.calibration_intercept(level=0.9)
    expected = um.calibration_intercept(labels, p, **data)
    for ours, exact in zip(found[:3], expected[:3], strict=True):
        assert ours == exact or abs(ours - exact) <= d + 1e-9

    if np.ptp(log_odds(p)) <= 10 * d or np.ptp(labels) == 0:
        return  # There is no slope, or terms in d^2 are not small.
    found = sketch.calibration_slope(level=0.9)
    expected = um.calibration_slope(labels, p, **data)
    if np.isfinite(expected.estimate):
        bound = d * bound_of_slope(labels, p, weights)
        assert abs(found.estimate - expected.estimate) <= bound * (1 + 2 * d) + 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_risks_in_cells_of_their_own_have_exact_answers(weighted, rng):
    labels, p = few_scores(rng, 400)
    weights = rng.exponential(size=400) if weighted else None
    sketch = sketch_of(labels, p, POSITIVE, sample_weight=weights)
    for name in NAMES:
        for level in (0.5, 0.95):
            found = getattr(sketch, name)(level=level)
            expected = getattr(um, name)(labels, p, level=level, sample_weight=weights)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


def test_sketches_of_parts_answer_for_the_whole(rng):
    labels, p = BINARY["near"](rng, 1000)
    parts = np.array_split(np.arange(1000), 3)
    total = sum(sketch_of(labels[rows], p[rows], POSITIVE) for rows in parts)
    whole = sketch_of(labels, p, POSITIVE)
    for name in NAMES:
        assert getattr(total, name)() == getattr(whole, name)()


def test_risks_without_an_answer_are_refused():
    of_decisions = sketch_of([0, 1], [[0.8, 0.2], [0.3, 0.7]])
    constant, no_event = (
        sketch_of([0, 1], [0.2, 0.2], POSITIVE),
        sketch_of([0, 0], [0.2, 0.7], POSITIVE),
    )
    for name in NAMES:
        with pytest.raises(ValueError, match="made with positive_class=True"):
            getattr(of_decisions, name)()
        with pytest.raises(ValueError, match=r"`level` must be in \(0, 1\)"):
            getattr(constant, name)(level=95)
    assert no_event.calibration_intercept().estimate == -np.inf
    with pytest.raises(ValueError, match="`labels` must be 1 for at least one"):
        no_event.calibration_slope()
    with pytest.raises(ValueError, match="`probabilities` must hold two values"):
        constant.calibration_slope()
    with pytest.raises(ValueError, match="`probabilities` must be above 0 so that"):
        sketch_of([0, 1], [0.0, 0.0], POSITIVE).observed_expected_ratio()
