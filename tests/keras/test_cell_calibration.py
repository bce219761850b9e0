"""Calibration errors without bins in Keras, and the mesh of the smooth error."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import references
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.ops import _inputs
from uncertainty_metrics.ops import _pooled_errors as on_tensors

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]

LEAST = 2.0**-11
CLASSES = {
    "smooth_calibration_error": um.SmoothCalibrationError,
    "kolmogorov_smirnov_calibration_error": um.KolmogorovSmirnovCalibrationError,
    "kuiper_calibration_error": um.KuiperCalibrationError,
    "averaged_two_bin_calibration_error": um.AveragedTwoBinCalibrationError,
}


def forecasts(rng, kind, n):
    """Returns P(class 1) and labels."""
    p = rng.random(n)
    if kind == "pair":  # Two scores in one or two cells of the mesh.
        p = np.repeat([0.5, 0.5 + rng.choice([2.0**-13, 2.0**-12, 0.001])], n // 2)
        return p.astype(np.float32), np.repeat([1, 0], n // 2)
    if kind == "overconfident":
        p = 1 / (1 + np.exp(-3 * rng.normal(size=n)))
    elif kind == "saturated":
        p = 1 - 10 ** -rng.uniform(1, 7, n)
    elif kind == "certain":
        p = rng.choice([0.0, 1.0], n)
    rates = {
        "overconfident": 0.5 + 0.6 * (p - 0.5),
        "alternating": np.clip(p + 0.3 * np.sign(np.sin(80 * p)), 0, 1),
        "certain": 0.01 + 0.98 * p,
    }
    p = p.astype(np.float32)
    return p, (rng.random(n) < rates.get(kind, p)).astype(int)


KINDS = ("overconfident", "alternating", "pair", "calibrated", "saturated", "certain")


@pytest.mark.thorough
@pytest.mark.first(3)
@pytest.mark.parametrize("kind", KINDS)
def test_smooth_errors_are_as_close_as_documented(kind, rng, monkeypatch):
    monkeypatch.setattr(_inputs, "SHORTCUT", False)
    for n in (2, 60, 10_000):
        p, labels = forecasts(rng, kind, n)
        for bandwidth in (None, 0.3, 0.01, 0.001):
            options = {"positive_class": True, "bandwidth": bandwidth}
            expected = um_np.smece(labels, p, **options)
            for dtype in (np.float32, np.float64):
                found = float(um.smece(labels, p.astype(dtype), **options))
                if bandwidth is None and expected < LEAST:
                    assert 0 <= found < LEAST + 1e-6
                else:
                    assert found == pytest.approx(expected, abs=1e-5)


def test_errors_below_the_step_of_the_mesh(rng):
    # Residuals of one sign: any bandwidth keeps their sum.
    for size in (0.0, 1e-7, 1e-4, 0.9 * LEAST, 1.1 * LEAST):
        p = rng.random(50)
        residuals = on_tensors.Residuals(
            *(tf.constant(x) for x in (p, np.full(50, size / 50), p))
        )
        found = float(on_tensors.smooth_error(residuals, None))
        assert found == pytest.approx(size, abs=5e-6)
    # Residuals of both signs, which cancel in part.
    masses = rng.choice([-1.0, 1.0], 2000) * 1e-3
    cells = Cells(np.ones(2000), p := rng.random(2000), p + masses)
    residuals = on_tensors.Residuals(*(tf.constant(x) for x in (p, cells.residuals, p)))
    expected, found = (
        _pooled_errors.smooth_error(cells),
        float(on_tensors.smooth_error(residuals, None)),
    )
    assert max(expected, found) < LEAST
    assert found <= expected + 1e-6


@pytest.mark.parametrize("name", CLASSES)
def test_streaming_errors_are_those_of_their_cells(name, rng):
    """A cell counts as one score; of so few forecasts hardly any share a cell."""
    p, labels = forecasts(rng, "overconfident", 40)
    weights = rng.choice([0.0, 0.5, 3.0], 40)
    metric = CLASSES[name](positive_class=True)
    for part in np.split(np.arange(40), 4):
        metric.update_state(labels[part], p[part], weights[part])
    p = p.astype(np.float64)
    options = {"sample_weight": weights, "positive_class": True}
    expected = getattr(references, name)(labels, p, **options)
    cells = metric.get_state().arrays["hi"][0]
    joined = len(np.unique(p[weights > 0])) - np.count_nonzero(cells)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-5 + 0.02 * joined)


def test_scores_in_one_cell_hide_at_most_their_share(rng):
    for kind in KINDS[:2]:
        p, labels = forecasts(rng, kind, 3000)
        for bits in (2, None):
            found = {}
            for name in ("kolmogorov_smirnov", "kuiper"):
                name += "_calibration_error"
                metric = CLASSES[name](positive_class=True, sketch_bits=bits)
                metric.update_state(labels, p)
                found[name] = float(metric.result())
            counts = metric.get_state().arrays["units"][0]
            most = counts.max() / counts.sum()
            for times, (name, value) in enumerate(found.items(), 1):
                exact = getattr(um_np, name)(labels, p, positive_class=True)
                assert exact - times * most <= value <= exact + 1e-6


def test_a_collection_keeps_one_state_for_all_these_errors(rng):
    p, labels = forecasts(rng, "overconfident", 500)
    makers = [*CLASSES.values(), um.RootMeanSquaredCalibrationError]
    together = um.MetricCollection([make(positive_class=True) for make in makers])
    alone = [make(positive_class=True) for make in makers]
    for metric in (together, *alone):
        metric.update_state(labels, p)
    assert len(together.variables) == len(alone[0].variables)
    results = [float(metric.result()) for metric in alone]
    assert [float(value) for value in together.result().values()] == results


def test_before_the_first_batch_and_one_example():
    for make in CLASSES.values():
        metric = make()
        assert float(metric.result()) == 0
        metric.update_state([1], [[0.25, 0.75]])
        expected = 0.0625 if make is um.AveragedTwoBinCalibrationError else 0.25
        assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
        assert make(dtype="float64").result().dtype == tf.float64


def test_bandwidth_is_checked_and_used():
    with pytest.raises(ValueError, match=r"`bandwidth`.*Received: -1"):
        um.SmoothCalibrationError(bandwidth=-1)
    metric = um.SmoothCalibrationError(bandwidth=np.float32(0.25), positive_class=True)
    assert metric.get_config()["bandwidth"] == 0.25
    metric.update_state([1, 0], [0.25, 0.75])
    shares = np.array([0.375, -0.375])
    expected = references.smooth_norm(np.array([0.25, 0.75]), shares, 0.25)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-5)
