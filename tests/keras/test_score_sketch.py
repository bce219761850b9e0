"""Score sketches from Keras metrics, and from the states that they saved."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import uncertainty_metrics as um

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

CALIBRATION = {
    "RootMeanSquaredCalibrationError": ({}, {}),
    "AdaptiveCalibrationError": ({}, {"max_prob": False, "class_conditional": True}),
    "CalibrationError": ({"task": "binary", "adaptive": True}, {}),
    "DebiasedCalibrationError": (
        {"positive_class": True, "ignore_index": -1},
        {"positive_class": True, "ignore_index": -1},
    ),
    "GeneralCalibrationError": (
        {
            "binning_scheme": "adaptive",
            "max_prob": False,
            "class_conditional": False,
            "norm": "max",
            "sketch_bits": 5,
        },
        {"max_prob": False, "sketch_bits": 5},
    ),
}


def batches(rng, weighted):
    for n in (400, 300):
        p = rng.dirichlet([0.3, 0.3], n).astype(np.float32)
        labels = np.argmax(np.log(p + 1e-30) + rng.gumbel(size=p.shape), axis=1)
        weights = rng.random(n).astype(np.float32) if weighted else None
        yield labels, p, weights


@pytest.mark.first(3, "thorough")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CALIBRATION)
def test_metrics_of_adaptive_bins_give_their_sketch(name, weighted, rng):
    options, expected_options = CALIBRATION[name]
    metric = getattr(um, name)(**options)
    expected = um.numpy.ScoreSketch(**expected_options)
    for labels, p, weights in batches(rng, weighted):
        metric.update_state(labels, p, weights)
        expected.update(labels, p, sample_weight=weights)
    sketch = metric.sketch
    assert {**sketch.config, "num_classes": None} == expected.config
    # Keras rounds scores to multiples of 2^-31, and its sums of weights to 48 bits.
    for ours, theirs in zip(sketch._groups(), expected._groups(), strict=True):
        held = theirs.weights > 1e-9
        assert len(ours.weights) == len(theirs.weights)
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            ours.outcome_sums, theirs.outcome_sums, rtol=1e-6, atol=1e-9
        )
        np.testing.assert_allclose(ours.scores[held], theirs.scores[held], atol=1e-6)
    if name == "DebiasedCalibrationError":
        error = sketch.debiased_calibration_error()
    else:
        norm = metric.spec.norm
        error = sketch.gce("adaptive", norm, metric.spec.num_bins)
    assert error == pytest.approx(float(metric.result()), abs=2e-5)
    if not weighted:
        assert sketch._content.sums.count == expected._content.sums.count
        totals = [of.gce("even", "l1", 1) for of in (sketch, expected)]
        assert totals[0] == pytest.approx(totals[1], abs=1e-8)
    elif name == "DebiasedCalibrationError":
        assert sketch._content.sums.count == 700
    else:
        with pytest.raises(ValueError, match="must hold unit weights"):
            sketch.debiased_calibration_error()
    assert metric.sketch + metric.sketch == sketch + sketch


def test_each_class_of_an_example_counts_as_a_score(rng):
    metric = um.DebiasedCalibrationError(max_prob=False, class_conditional=False)
    for labels, p, weights in batches(rng, weighted=True):
        metric.update_state(labels, p, weights)
    assert metric.sketch._content.sums.count == 2 * 700
    error = metric.sketch.debiased_calibration_error()
    assert error == pytest.approx(float(metric.result()), abs=2e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["AURC", "RiskAtCoverage"])
def test_rank_metrics_give_their_sketch(name, weighted, rng):
    metric = getattr(um, name)()
    expected = um.numpy.ScoreSketch(positive_class=False)
    assert metric.sketch == expected
    for labels, p, weights in batches(rng, weighted):
        metric.update_state(labels, p, weights)
        expected.update(labels, p, sample_weight=weights)
    sketch = metric.sketch
    for question in ("accuracy", "aurc", "e_aurc", "augrc", "auroc"):
        found, exact = (getattr(of, question)() for of in (sketch, expected))
        assert found == pytest.approx(exact, rel=1e-3, abs=1e-5)
    if name == "AURC":
        assert sketch.aurc() == pytest.approx(float(metric.result()), rel=1e-5)
    # The sketch of a rank metric has the middles of cells as scores.
    ours, theirs = (of._groups()[0] for of in (sketch, expected))
    means = [cells.score_sums.sum() / cells.weights.sum() for cells in (ours, theirs)]
    assert means[0] == pytest.approx(means[1], abs=2.0**-12)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda: um.ExpectedCalibrationError(), "with even bins"),
        (lambda: um.CalibrationError(task="binary"), "with even bins"),
        (lambda: um.ThresholdedAdaptiveCalibrationError(), "up to 0.01"),
        (lambda: um.AURC(from_logits=True), "of the real line"),
        (lambda: um.AURC(from_logits=True, sketch_bits=3), "of the real line"),
        (lambda: um.AUROC(), "of the real line"),
        (lambda: um.BrierScore(), "BrierScore, "),
        (lambda: um.BrierDecomposition(num_classes=2), "BrierDecomposition, "),
        (lambda: um.BayesianExpectedCalibrationError(), "BayesianExpected"),
    ],
)
def test_other_metrics_have_no_sketch(metric, message, rng):
    metric = metric()
    labels, p, _ = next(batches(rng, False))
    scores = p[:, 1] if isinstance(metric, um.AUROC) else p
    logits = getattr(metric, "from_logits", False)
    metric.update_state(labels, 3 * scores if logits else scores)
    with pytest.raises(ValueError, match=rf"`metric_state` must be.*{message}"):
        um.numpy.ScoreSketch.from_state(metric.get_state())


def test_states_without_a_sketch_raise():
    with pytest.raises(ValueError, match="`metric_state` must be a `MetricState`"):
        um.numpy.ScoreSketch.from_state({})
    metric = um.AdaptiveCalibrationError()
    assert metric.sketch.num_groups is None
    metric.update_state([0, 1], [[0.5, 0.2, 0.3]] * 2)
    state = metric.get_state()
    assert metric.sketch.num_groups == 3
    refused = {**state.arrays, "invalid": np.array(2)}
    with pytest.raises(ValueError, match="which refused 2 batches"):
        um.numpy.ScoreSketch.from_state(dataclasses.replace(state, arrays=refused))
    cut = {
        name: a if name == "invalid" else a[:, :-1] for name, a in state.arrays.items()
    }
    with pytest.raises(ValueError, match="cells instead of"):
        um.numpy.ScoreSketch.from_state(dataclasses.replace(state, arrays=cut))
    with pytest.raises(ValueError, match="cells instead of"):
        um.numpy.ScoreSketch.from_state(dataclasses.replace(state, classes=10**9))


def test_scores_that_keras_rounds_stay_in_their_cells():
    # Rounded to multiples of 2^-31, both scores would be 4 * 2^-31, which is 12% too
    # large for the first.
    p = np.float32([1.66e-9, 1.70e-9])
    metric = um.DebiasedCalibrationError(positive_class=True)
    metric.update_state([0, 1], p)
    knots, values = metric.sketch.isotonic()
    np.testing.assert_allclose(knots, p, rtol=2.0**-7)
    assert values.tolist() == [0, 1]
    metric.reset_state()
    metric.update_state(np.ones(9), np.full(9, p[0]))
    assert metric.sketch.conformal_quantile(0.5) >= 1 - float(p[0])


def test_saved_states_are_read_without_a_framework(rng, tmp_path):
    labels, p, _ = next(batches(rng, False))
    metric = um.DebiasedCalibrationError()
    metric.update_state(labels, p)
    metric.get_state().save(tmp_path / "state")
    code = (
        "import sys, uncertainty_metrics.numpy as um\n"
        f"state = um.MetricState.load({str(tmp_path / 'state')!r})\n"
        "print(um.ScoreSketch.from_state(state).ece())\n"
        "assert not {'tensorflow', 'keras', 'jax', 'torch'} & set(sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert float(found.stdout) == pytest.approx(um.numpy.ece(labels, p), abs=0.02)
