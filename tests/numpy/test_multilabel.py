"""Labels that are each 0 or 1, in the functions without bins, tests and groups."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um


def tagged(rng, n=60, labels=3):
    """Makes labels 0 and 1, of which -1 is unknown, and probabilities with ties."""
    p = rng.integers(1, 16, (n, labels)) / 16
    y = (rng.random(p.shape) < p**1.5).astype(int)
    y[rng.random(p.shape) < 0.1] = -1
    return y, p


# Functions that take the labels as so many examples.
POOLED = {
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "smece": {},
    "atb": {},
    "corp_decomposition": {"score": "brier"},
}
# Functions for which the labels of an example are a cluster.
CLUSTERED = {
    "debiased_calibration_error": {"num_bins": 4, "squared": True},
    "calibration_error_interval": {"num_bins": 4},
    "calibration_test": {"num_bins": 4, "num_resamples": 49, "seed": 0},
    "calibration_by_group": {"min_examples": 5},
    "find_miscalibrated_groups": {"min_examples": 5, "depth": 2, "seed": 0},
}
ATTRIBUTES = {"calibration_by_group": "groups", "find_miscalibrated_groups": "features"}


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("form", ["probabilities", "logits"])
def test_labels_are_pooled(name, form, rng):
    y, p = tagged(rng)
    known, weights = y >= 0, rng.integers(1, 4, len(y))
    given = p if form == "probabilities" else np.log(p / (1 - p))
    function = getattr(um, name)
    found = function(
        y,
        **{form: given},
        multilabel=True,
        ignore_index=-1,
        sample_weight=weights,
        **POOLED[name],
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        sample_weight=np.repeat(weights, 3).reshape(y.shape)[known],
        **POOLED[name],
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_ks_and_bins_are_those_of_a_loop(rng):
    y, p = tagged(rng)
    known = y >= 0
    pairs = sorted(zip(p[known], y[known], strict=True))
    sums, highest = 0.0, 0.0
    for i, (score, outcome) in enumerate(pairs):
        sums += outcome - score
        if i + 1 == len(pairs) or pairs[i + 1][0] > score:
            highest = max(highest, abs(sums))
    options = {"multilabel": True, "ignore_index": -1}
    found = um.ks_calibration_error(y, p, **options)
    assert found == pytest.approx(highest / len(pairs))
    bins = um.bin_statistics(y, p, num_bins=2, class_conditional=True, **options)
    for label in range(3):
        own = known[:, label]
        upper = p[own, label] > 0.5
        assert bins.counts[label, 1] == upper.sum()
        mean = y[own, label][upper].mean()
        assert bins.accuracies[label, 1] == pytest.approx(mean)


@pytest.mark.parametrize("name", CLUSTERED)
def test_labels_of_an_example_are_a_cluster(name, rng):
    y, p = tagged(rng)
    known = y >= 0
    rows = np.repeat(np.arange(len(y)), 3).reshape(y.shape)
    attributes, as_answers = {}, {}
    if name in ATTRIBUTES:
        values = {"a": rng.choice(["x", "y"], len(y)), "b": rng.integers(0, 4, len(y))}
        each = {key: column[rows] for key, column in values.items()}
        each["label"] = np.broadcast_to(["cat", "dog", "fox"], y.shape)
        attributes[ATTRIBUTES[name]] = {**values, "label": each["label"]}
        chosen = {key: column[known] for key, column in each.items()}
        as_answers[ATTRIBUTES[name]] = chosen
    function = getattr(um, name)
    options = CLUSTERED[name]
    found = function(
        labels=y,
        probabilities=p,
        multilabel=True,
        ignore_index=-1,
        **attributes,
        **options,
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        clusters=rows[known],
        **as_answers,
        **options,
    )
    assert repr(found) == repr(expected)
    artist = np.arange(len(y)) // 2
    of_artists = function(
        labels=y,
        probabilities=p,
        multilabel=True,
        ignore_index=-1,
        clusters=artist,
        **attributes,
        **options,
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        clusters=artist[rows[known]],
        **as_answers,
        **options,
    )
    assert repr(of_artists) == repr(expected) != repr(found)


def test_the_test_keeps_its_level_for_labels_that_come_together(rng):
    draws, rejected, pooled = 150, 0, 0
    for _ in range(draws):
        p = np.repeat(rng.uniform(0.2, 0.8, (60, 1)), 5, axis=1)
        together = rng.random((60, 1)) < p[:, :1]
        y = np.where(rng.random(p.shape) < 0.8, together, rng.random(p.shape) < p)
        options = {"num_bins": 3, "num_resamples": 39, "seed": rng}
        test = um.calibration_test(y.astype(int), p, multilabel=True, **options)
        rejected += test.p_value <= 0.1
        pooled += um.calibration_test(y.astype(int), p, **options).p_value <= 0.1
    assert rejected / draws < 0.1 + 5 * np.sqrt(0.1 * 0.9 / draws)
    assert pooled / draws > 0.5


@pytest.mark.parametrize("name", [*POOLED, *CLUSTERED, "bin_statistics"])
def test_wrong_shapes_and_flags_raise(name):
    attributes = {ATTRIBUTES[name]: {"a": ["x"]}} if name in ATTRIBUTES else {}
    function = getattr(um, name)
    with pytest.raises(ValueError, match=r"\[\.\.\., L\] with a static L"):
        function(labels=[1], probabilities=[[0.5, 0.5]], multilabel=True, **attributes)
    with pytest.raises(ValueError, match="`multilabel` must be True or False"):
        function(labels=[[1]], probabilities=[[0.5]], multilabel=1, **attributes)
    shares = {"label_distributions": [[0.5, 0.5]], "probabilities": [[0.5, 0.5]]}
    with pytest.raises(ValueError, match="`multilabel` must be False with"):
        function(**shares, multilabel=True, **attributes)
    answers = {"correct": [1], "confidences": [0.5]}
    with pytest.raises(ValueError, match="`multilabel` must be False where there are"):
        function(**answers, multilabel=True, **attributes)
