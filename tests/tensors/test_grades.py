"""Outcomes between 0 and 1 on tensors have the values of the NumPy twins."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.fuzz.outcomes import flat

FUNCTIONS = {
    "ece": {},
    "mce": {},
    "rmsce": {"num_bins": 5},
    "gce": {
        "binning_scheme": "adaptive",
        "max_prob": True,
        "class_conditional": False,
        "norm": "l2",
    },
    "bin_statistics": {"binning_scheme": "adaptive"},
    "debiased_calibration_error": {"num_bins": 5},
    "calibration_error_interval": {},
    "smece": {},
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "atb": {},
}


def answers(rng, dtype, n=200):
    confidences = (rng.integers(0, 17, n) / 16).astype(dtype)
    return (rng.integers(0, 6, n) / 5).astype(dtype), confidences


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("dtype", "case"),
    [
        (np.float32, "weighted"),
        pytest.param(np.float64, "plain", marks=pytest.mark.thorough),
        pytest.param(np.float64, "whole", marks=pytest.mark.thorough),
    ],
)
def test_values_are_those_of_numpy(name, dtype, case, rng, monkeypatch):
    monkeypatch.setattr(um.ops._inputs, "SHORTCUT", False)
    correct, confidences = answers(rng, dtype)
    more = dict(FUNCTIONS[name])
    if case == "weighted":
        more["sample_weight"] = rng.integers(0, 3, len(correct))
    if case == "whole":
        correct = np.round(correct)
    twin = flat(getattr(um_np, name)(correct=correct, confidences=confidences, **more))

    def function(y, p):
        return getattr(um, name)(correct=y, confidences=p, **more)

    tolerance = {"rtol": 2e-5, "atol": 1e-5 if name == "smece" else 2e-6}
    eager = flat(function(tf.constant(correct), tf.constant(confidences)))
    np.testing.assert_allclose(eager, twin, **tolerance)
    graph = flat(tf.function(function)(correct, confidences))
    np.testing.assert_allclose(graph, twin, **tolerance)


def test_all_metrics_of_shares_of_votes_are_those_of_numpy(rng):
    p = rng.dirichlet(np.ones(3), 40)
    data = {"label_distributions": rng.multinomial(5, p) / 5, "probabilities": p}
    found = um.compute_all_metrics(**data, num_bins=4)
    for key, value in um_np.compute_all_metrics(**data, num_bins=4).items():
        assert float(found[key]) == pytest.approx(value, abs=1e-12)


def test_wrong_grades_raise_and_are_nan_in_a_graph():
    confidences = tf.constant([0.5, 0.25])
    for correct in ([0.5, 1.5], [0.5, np.nan]):
        with pytest.raises(ValueError, match=r"`correct` must be booleans, or numbers"):
            um.ece(correct=tf.constant(correct), confidences=confidences)
        value = tf.function(lambda y: um.ece(correct=y, confidences=confidences))
        assert np.isnan(value(tf.constant(correct)))
        weight = tf.constant([1.0, 0.0])
        value = um.ece(
            correct=tf.constant(correct), confidences=confidences, sample_weight=weight
        )
        assert float(value) == 0


def test_unknown_sizes_of_a_graph(rng):
    correct, confidences = answers(rng, np.float32, 50)
    unknown = tf.TensorSpec([None], tf.float32)

    @tf.function(input_signature=[unknown, unknown])
    def error(y, p):
        return um.ece(correct=y, confidences=p)

    expected = um_np.ece(correct=correct, confidences=confidences)
    assert float(error(correct, confidences)) == pytest.approx(expected, rel=1e-5)
    assert np.isnan(error(correct[:20], confidences))


@pytest.mark.parametrize("name", ["spiegelhalter_test"])
def test_what_needs_right_or_wrong_refuses(name, rng):
    correct, confidences = map(tf.constant, answers(rng, np.float32))
    with pytest.raises(ValueError, match="must be 0 and 1 here"):
        getattr(um, name)(correct=correct, confidences=confidences)


OF_CLASSES = ("brier_score", "negative_log_likelihood", "ranked_probability_score")


@pytest.mark.parametrize(
    "name",
    [
        *(*OF_CLASSES, "brier_decomposition", "brier_decomposition_exact"),
        *("ece", "rmsce", "sce", "ace", "tace", "debiased_calibration_error"),
        *("calibration_error_interval", "smece", "ks_calibration_error"),
        *("kuiper_calibration_error", "atb"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [pytest.param("probabilities", marks=pytest.mark.thorough), "logits", "weights"],
)
def test_label_distributions_have_the_values_of_numpy(name, form, rng, monkeypatch):
    monkeypatch.setattr(um.ops._inputs, "SHORTCUT", False)
    p = rng.dirichlet(np.ones(4), 60).astype(np.float32)
    shares = rng.multinomial(3, np.full(4, 0.25), 60).astype(np.float32) / 3
    more = {"sample_weight": rng.integers(0, 3, 60)} if form == "weights" else {}
    key = "logits" if form == "logits" else "probabilities"
    given = np.log(p) if form == "logits" else p

    def function(y, x):
        return getattr(um, name)(label_distributions=y, **{key: x}, **more)

    twin = getattr(um_np, name)(label_distributions=shares, **{key: given}, **more)
    tolerance = {"rtol": 2e-5, "atol": 1e-5 if name == "smece" else 2e-6}
    eager = function(tf.constant(shares), tf.constant(given))
    np.testing.assert_allclose(flat(eager), flat(twin), **tolerance)
    graph = tf.function(function)
    np.testing.assert_allclose(flat(graph(shares, given)), flat(twin), **tolerance)
    assert np.all(np.isnan(flat(graph(2 * shares, given))))
    with pytest.raises(ValueError, match="divide votes by their number"):
        function(tf.constant(2 * shares), tf.constant(given))
