"""The arguments `correct=` and `confidences=`: was the answer right, and how sure."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.fuzz.outcomes import flat

ROOMS = pytest.mark.parametrize("room", [um_np, um], ids=["numpy", "tensors"])
# The functions that take these arguments, and the options that they need.
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
    "bin_statistics": {},
    "debiased_calibration_error": {},
    "calibration_error_interval": {},
    "smece": {},
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "atb": {},
    "spiegelhalter_test": {},
    "corp_decomposition": {},
    "calibration_test": {"num_resamples": 50, "seed": 0},
    "reliability_curve": {},
    "bayesian_expected_calibration_error": {"num_bins": 5, "seed": 3},
}
ONLY_NUMPY = ("corp_decomposition", "calibration_test", "reliability_curve")
MISSING = (
    "Either `labels(_true)?` with one of .*, or `correct` with `confidences` must be"
)


def answers(rng, n=60):
    """Makes whether answers are right, and confidences, which are multiples of 1/8."""
    confidences = rng.integers(0, 9, n) / 8
    return (rng.random(n) < confidences**2).astype(np.int32), confidences


def of_labels(name, correct, confidences):
    """Returns the arguments of classes that are documented to give the same value."""
    labels = "labels_true" if name.startswith("bayesian") else "labels"
    given = {labels: correct, "probabilities": confidences}
    if labels == "labels":
        return given | {"positive_class": True}
    # This function has no `positive_class`. It takes the larger score of two classes,
    # which is the confidence if that is at least 1/2.
    return given


@ROOMS
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_equal_those_of_class_1(room, name, weighted, rng):
    correct, confidences = answers(rng)
    if name.startswith("bayesian"):
        confidences = np.maximum(confidences, 0.5)
    more = dict(FUNCTIONS[name])
    if weighted and name != "calibration_test":
        more["sample_weight"] = rng.integers(0, 3, 60)
    function = getattr(room, name)
    value = flat(function(correct=correct == 1, confidences=confidences, **more))
    if name.startswith("bayesian"):
        # All decisions are class 1, so that right and wrong are the labels 1 and 0.
        more["labels_predicted"] = np.ones(60, np.int32)
    expected = flat(function(**of_labels(name, correct, confidences), **more))
    np.testing.assert_array_equal(value, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ONLY_NUMPY])
def test_graphs_have_the_eager_values(name, rng):
    correct, confidences = answers(rng)
    function = tf.function(
        lambda y, p: getattr(um, name)(correct=y, confidences=p, **FUNCTIONS[name])
    )
    value = flat(function(correct, confidences))
    eager = getattr(um, name)(
        correct=correct, confidences=confidences, **FUNCTIONS[name]
    )
    np.testing.assert_allclose(value, flat(eager), rtol=1e-6)
    if not name.startswith("bayesian"):
        twin = getattr(um_np, name)(
            correct=correct, confidences=confidences, **FUNCTIONS[name]
        )
        np.testing.assert_allclose(value, flat(twin), rtol=1e-5, atol=1e-6)
    if name not in ("bin_statistics", "spiegelhalter_test"):
        assert np.all(np.isnan(flat(function(correct, 100 * confidences))))


def test_a_confidence_below_one_half_is_not_flipped():
    correct, confidences = [0, 0, 1, 0], [0.3, 0.3, 0.3, 0.3]
    for room in (um, um_np):
        error = room.ece(correct=correct, confidences=confidences)
        assert float(error) == pytest.approx(0.05)
        assert float(room.ece(correct, confidences)) == pytest.approx(0.05)
        curve = room.bin_statistics(correct=correct, confidences=confidences)
        assert float(np.sum(curve.counts[0][:5])) == 4


def test_sketches_and_the_bootstrap_take_confidences(rng):
    correct, confidences = answers(rng, 500)
    data = {"correct": correct, "confidences": confidences}
    sketch = um_np.ScoreSketch()
    sketch.update(correct=correct[:200], confidences=confidences[:200])
    sketch.update(correct=correct[200:], confidences=confidences[200:])
    assert sketch.ece() == pytest.approx(um_np.ece(**data))
    assert sketch.aurc() == pytest.approx(um_np.aurc(**data))
    interval = um_np.bootstrap(um_np.ece, **data, num_resamples=100, seed=0)
    assert interval.estimate == um_np.ece(**data)
    of_labels = um_np.bootstrap(
        um_np.ece,
        labels=correct,
        probabilities=confidences,
        positive_class=True,
        num_resamples=100,
        seed=0,
    )
    np.testing.assert_allclose(interval, of_labels)
    ignoring = um_np.ScoreSketch(ignore_index=1)
    ignoring.update(**data)
    assert ignoring.ece() == sketch.ece()


@ROOMS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_missing_and_conflicting_arguments_raise(room, name, rng):
    correct, confidences = answers(rng)
    function, more = getattr(room, name), FUNCTIONS[name]
    labels = "labels_true" if name.startswith("bayesian") else "labels"
    for given in (
        {},
        {"correct": correct},
        {"confidences": confidences},
        {"correct": correct, "confidences": confidences, labels: correct},
        {"correct": correct, "confidences": confidences, "probabilities": confidences},
        {labels: correct, "confidences": confidences},
    ):
        with pytest.raises(ValueError, match=MISSING):
            function(**given, **more)


BAD = {
    "percent": ({"confidences": [63.0, 7.5, 100.0]}, r"in \[0, 1\]; divide percent"),
    "above 1": (
        {"confidences": [0.5, -0.1, 0.2]},
        r"`confidences` must be in \[0, 1\]\.",
    ),
    "nan": (
        {"confidences": [0.5, np.nan, 0.2]},
        r"`confidences` must be in \[0, 1\], and not NaN",
    ),
    "above the highest grade": (
        {"correct": [5, 2.5, 10.0]},
        r"`correct` must be booleans, or numbers in \[0, 1\]",
    ),
    "length": ({"correct": [1, 0]}, r"`confidences` must be of the shape of `correct`"),
}


@ROOMS
@pytest.mark.parametrize("case", BAD)
def test_wrong_values_raise(room, case):
    good = {"correct": [1, 0, 1], "confidences": [0.5, 0.25, 0.75]}
    wrong, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        room.ece(**{**good, **wrong})


@ROOMS
def test_examples_of_weight_0_may_have_any_values(room):
    error = room.ece(
        correct=[1, 7, 0], confidences=[0.75, 0.5, 40.0], sample_weight=[1, 0, 0]
    )
    assert float(error) == 0.25


@ROOMS
def test_options_of_classes_are_refused(room):
    data = {"correct": [1, 0], "confidences": [0.5, 0.25]}
    with pytest.raises(ValueError, match="`max_prob` must be True with `confidences`"):
        room.bin_statistics(**data, max_prob=False)
    with pytest.raises(ValueError, match="`class_conditional` must be False with"):
        room.bin_statistics(**data, class_conditional=True)
    with pytest.raises(ValueError, match="`ignore_index` must be None where there are"):
        room.ece(**data, ignore_index=1)
