"""The smooth calibration error, against quadrature and closed forms."""

import numpy as np
import pytest
from scipy import integrate, optimize

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import (
    Cells,
    pooled,
)

WITHIN = 1e-6  # The documented precision.


def forecasts(rng, kind, n=40):
    """Makes scores and outcomes."""
    p = {
        "spread": rng.random(n),
        "tied": np.round(rng.random(n), 1),
        "saturated": 1 / (1 + np.exp(-20 * rng.normal(size=n))),
        "certain": rng.integers(0, 2, n).astype(float),
        "one": rng.random(1),
        "narrow": 0.4 + 0.02 * rng.random(n),
    }[kind]
    return rng.random(len(p)) < 0.1 + 0.7 * p, p


@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize(
    "kind", ["spread", "tied", "saturated", "certain", "one", "narrow"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_error_equals_kernels_and_quadrature(kind, weighted, rng):
    labels, p = forecasts(rng, kind)
    weights = {"sample_weight": rng.choice([0.5, 1, 3], len(p))} if weighted else {}
    options = {**weights, "positive_class": True}
    for bandwidth in (0.01, 0.1, 2.0):
        found = um.smece(labels, p, bandwidth=bandwidth, **options)
        expected = references.smooth_calibration_error(
            labels, p, bandwidth=bandwidth, **options
        )
        assert found == pytest.approx(expected, abs=WITHIN / 10)
    found = um.smooth_calibration_error(labels, p, **options)
    assert isinstance(found, float)
    if kind == "one":
        assert found == pytest.approx(abs(labels[0] - p[0]), abs=WITHIN)
    else:
        expected = references.smooth_calibration_error(labels, p, **options)
        assert found == pytest.approx(expected, abs=WITHIN)


def test_error_takes_decisions_and_logits(rng):
    data = catalogue.data(rng)
    arguments = data.arguments(True)
    found = um.smece(**arguments, bandwidth=0.05)
    expected = references.smooth_calibration_error(**arguments, bandwidth=0.05)
    assert found == pytest.approx(expected, abs=WITHIN)
    predicted = rng.integers(0, 3, len(data.labels))
    found = um.smece(**arguments, labels_predicted=predicted, bandwidth=0.05)
    expected = references.smooth_calibration_error(
        **arguments, labels_predicted=predicted, bandwidth=0.05
    )
    assert found == pytest.approx(expected, abs=WITHIN)
    logits = rng.normal(size=(30, 3))
    labels = rng.integers(0, 3, 30)
    found = um.smece(labels, logits=logits)
    assert found == pytest.approx(um.smece(labels, references.softmax(logits)))


def test_error_equals_closed_forms():
    # Residuals of one sign: the error is their sum at any bandwidth.
    found = um.smece([0, 0, 0], [0.2, 0.4, 0.9], positive_class=True)
    assert found == pytest.approx(0.5)
    # Residuals of both signs that are far apart: nothing cancels.
    cells = Cells(np.ones(2), np.array([0.25, 0.75]), np.array([0.252, 0.748]))
    assert _pooled_errors.smooth_error(cells) == pytest.approx(0.002, abs=1e-9)
    # Two residuals e and -e at the distance d: the error s solves 2 e erf(d / (2
    # sqrt(2) s)) = s. Mirror images are too far away to matter.
    e, d = 0.01, 0.02
    cells = Cells(np.ones(2), np.array([0.5, 0.5 + d]), np.array([0.52, 0.48 + d]))
    expected = optimize.brentq(
        lambda s: 2 * e * integrate.quad(normal, -d / 2 / s, d / 2 / s)[0] - s, 1e-4, 1
    )
    assert _pooled_errors.smooth_error(cells) == pytest.approx(expected, abs=WITHIN)


def normal(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5, 1e-6])
def test_small_alternating_gaps_far_apart_have_their_mean_size(size, rng):
    # The gaps alternate in sign, but are several bandwidths apart, so that none cancel.
    p = np.linspace(0.1, 0.9, 9)
    cells = Cells(np.ones(9), p, p + size * (-1) ** np.arange(9))
    assert _pooled_errors.smooth_error(cells) == pytest.approx(size, abs=WITHIN)


def test_residuals_that_cancel_have_an_error_of_0():
    assert um.smece([0, 1], [0.5, 0.5], positive_class=True) == 0
    assert um.smece([0, 1, 1], [[1, 0], [0, 1], [0, 1]]) == 0
    # Residuals of equal scores cancel in any order and with any weight, up to rounding.
    p = np.repeat([0.1, 0.3], 3)
    weights = np.tile([0.7, 0.1, 0.1], 2)
    labels = np.tile([0, 1, 0], 2)
    weights[[1, 4]] = np.array([0.1, 0.3]) * 0.8 / np.array([0.9, 0.7])
    found = um.smece(labels, p, sample_weight=weights, positive_class=True)
    assert found == pytest.approx(0, abs=WITHIN)
    nothing = Cells(*np.zeros((3, 0)))
    assert _pooled_errors.smooth_error(nothing) == 0
    assert _pooled_errors.smooth_error(nothing, 0.1) == 0


def test_alternating_gaps_close_together_cancel():
    # 4000 scores have gaps of 1/2 with alternating signs. Smoothing leaves half of one
    # gap at either end.
    p = 0.5 + np.linspace(-1e-3, 1e-3, 4000)
    cells = Cells(np.ones(4000), p, p + np.tile([-0.5, 0.5], 2000))
    found = _pooled_errors.smooth_error(cells)
    assert found == pytest.approx(2 * 0.25 / 4000, abs=WITHIN)


def test_fine_meshes_agree_with_coarse_ones(rng):
    p = rng.random(300)
    cells = pooled(p, rng.random(300) < p, None)
    blocks = _pooled_errors._blocks_of_arrays(cells.scores, cells.residuals)
    for s in (0.02, 0.2):
        norms = [_pooled_errors._Mesh(blocks, m).norm(s) for m in (2**12, 2**14, 2**18)]
        np.testing.assert_allclose(norms, norms[-1], rtol=0, atol=1e-8)


@pytest.mark.parametrize("offsets", [(0, 0), (0.5, 0.5), (0, 0.5)])
def test_mesh_with_two_nodes_keeps_its_tolerance(offsets):
    # The offsets are those at which two nodes widen a mass the least (0) and the most
    # (1/2), and the distance is that at which this matters most.
    intervals = 2**14
    bandwidth = _pooled_errors._span(1.0, nodes=2) / intervals
    first = intervals // 2
    second = first + round(2 * bandwidth * intervals)
    points = (np.array([first, second]) + 0.5 + offsets) / intervals
    blocks = _pooled_errors._blocks_of_arrays(points, np.array([0.5, -0.5]))
    mesh = _pooled_errors._Mesh(blocks, intervals, 2)
    found = mesh.norm(bandwidth)
    expected = _pooled_errors._Mesh(blocks, 4 * intervals).norm(bandwidth)
    assert found == pytest.approx(expected, abs=_pooled_errors._TOLERANCE / 2)
    mesh.split(4)
    assert mesh.norm(bandwidth) == pytest.approx(expected, abs=1e-10)


def test_error_of_many_scores_does_not_depend_on_the_mesh(rng):
    p = rng.random(300_000)
    labels = rng.random(300_000) < p**1.05
    few = np.round(p * 500) / 500  # These 501 scores are on the coarsest mesh.
    assert um.smece(labels, p, positive_class=True) == pytest.approx(
        um.smece(labels, few, positive_class=True), abs=2e-3
    )
    # Repeated examples have the same error, but may use another mesh.
    labels, p = labels[:3000], p[:3000]
    expected = um.smece(labels, p, positive_class=True)
    found = um.smece(
        np.tile(labels, 100), np.tile(p, 100), positive_class=True, sample_weight=2.0
    )
    assert found == pytest.approx(expected, abs=WITHIN)


def test_curves_of_a_diagram_equal_the_reference(rng):
    p = np.concatenate([rng.random(20), [0.0, 1.0]])
    weights = rng.random(22)
    cells = pooled(p, rng.random(22) < p, weights)
    points = np.array([0.0, 1e-3, 0.2, 0.77, 1.0])
    for s in (0.003, 0.05, 0.7):
        for found, shares in (
            (_pooled_errors.smooth_residuals(cells, s, points), cells.residuals),
            (
                _pooled_errors.smooth_density(cells, s, points),
                cells.weights / cells.weights.sum(),
            ),
        ):
            expected = references.smoothed(points, cells.scores, shares, s)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
