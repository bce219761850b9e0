"""Temperature scaling and the likelihood after it, against other optimisers."""

import json
import pathlib

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.ensemble import RandomForestClassifier

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibrators import temperature_scaling
from uncertainty_metrics.numpy.calibrators.temperature_scaling import (
    TemperatureScaling,
    refined_negative_log_likelihood,
)


def network(rng, n=500, classes=4, temperature=2.5):
    """Makes labels, and logits that are calibrated after division by a temperature."""
    logits = rng.normal(size=[n, classes])
    noise = rng.gumbel(size=[n, classes])
    return np.argmax(logits + noise, axis=1), temperature * logits


def likelihood(temperature, labels, logits, weights=None):
    """Returns the mean negative log-likelihood of logits [N, K]."""
    logs = special.log_softmax(np.float64(logits) / temperature, axis=1)
    return -np.average(logs[np.arange(len(labels)), labels], weights=weights)


def optimum(labels, logits, weights=None):
    result = optimize.minimize_scalar(
        lambda log: likelihood(np.exp(log), labels, logits, weights),
        bounds=np.log([1e-2, 1e2]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return np.exp(result.x)


def slope(temperature, labels, logits, weights=None):
    """Returns the derivative of the mean likelihood in 1 / T, 0 at the optimum."""
    p = special.softmax(logits / temperature, axis=1)
    gaps = np.sum(p * logits, axis=1) - logits[np.arange(len(labels)), labels]
    return np.average(gaps, weights=weights)


@pytest.mark.parametrize("classes", [2, 3, 20])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_finds_the_optimum(classes, temperature, rng):
    labels, logits = network(rng, 500, classes, temperature)
    scaling = TemperatureScaling()
    assert scaling.fit(labels, logits) is scaling
    assert scaling.is_fitted
    found = scaling.temperature
    assert isinstance(found, float)
    np.testing.assert_allclose(found, optimum(labels, logits), rtol=1e-5)
    # The slope changes its sign here, to 12 digits.
    assert slope(found * (1 - 1e-12), labels, logits) >= 0
    assert slope(found * (1 + 1e-12), labels, logits) <= 0
    least = likelihood(found, labels, logits)
    grid = found * np.concatenate(
        [np.geomspace(0.05, 20, 400), 1 + np.arange(-9, 9) / 1e3]
    )
    values = [likelihood(t, labels, logits) for t in grid]
    assert least <= min(values) + 1e-15
    np.testing.assert_allclose(
        um.negative_log_likelihood(labels, logits=scaling.transform(logits)),
        least,
        rtol=1e-12,
    )


@pytest.mark.parametrize("exponent", [-300, -100, -6, 6, 100, 300])
def test_temperature_is_proportional_to_the_scale_of_the_logits(exponent, rng):
    labels, logits = network(rng)
    expected = TemperatureScaling().fit(labels, logits).temperature
    scale = 2.0**exponent
    scaled = TemperatureScaling().fit(labels, logits * scale).temperature
    np.testing.assert_allclose(scaled / scale, expected, rtol=1e-12)
    single = TemperatureScaling().fit(labels, np.float32(logits * 1e6)).temperature
    np.testing.assert_allclose(single / 1e6, expected, rtol=1e-5)


def test_finds_the_optimum_of_rows_of_very_different_scales(rng):
    labels, logits = network(rng, 400)
    # These rows dominate the slope at the start, and have no slope at the optimum.
    logits[:200] *= 1e9
    labels[:200] = np.argmax(logits[:200], axis=1)
    found = TemperatureScaling().fit(labels, logits).temperature
    np.testing.assert_allclose(found, optimum(labels[200:], logits[200:]), rtol=1e-5)
    # One wrong decision of a large row outweighs all the small rows.
    logits[200:] *= 1e-9
    labels[0] = (labels[0] + 1) % 4
    found = TemperatureScaling().fit(labels, logits).temperature
    assert (
        slope(found * 0.999, labels, logits) > 0 > slope(found * 1.001, labels, logits)
    )


def test_nearly_separable_and_nearly_uninformative_logits_by_hand(rng):
    logits = np.stack([np.ones(10_000), np.zeros(10_000)], axis=1)
    labels = np.zeros(10_000, int)
    labels[0] = 1
    found = TemperatureScaling().fit(labels, logits).temperature
    np.testing.assert_allclose(found, 1 / np.log(9999), rtol=1e-12)
    labels = np.arange(10_001) % 2  # Class 0 has one example more than class 1.
    logits = np.stack([np.ones(10_001), np.zeros(10_001)], axis=1)
    found = TemperatureScaling().fit(labels, logits).temperature
    np.testing.assert_allclose(found, 1 / np.log(5001 / 5000), rtol=1e-9)
    # A step of Newton far below the zero would gain a share of the way of 1 / 460.
    heavy = TemperatureScaling().fit([0, 1], logits[:2], sample_weight=[1e200, 1])
    np.testing.assert_allclose(heavy.temperature, 1 / np.log(1e200), rtol=1e-12)


def test_all_forms_of_the_data_give_the_same_temperature(rng):
    labels, logits = network(rng)
    logits.flags.writeable = False
    found = TemperatureScaling().fit(labels, logits)
    shifted = logits + rng.normal(size=[500, 1])
    images = labels.reshape(5, 10, 10), logits.reshape(5, 10, 10, 4)
    for form in ((labels[:, None], shifted), images):
        again = TemperatureScaling().fit(*form)
        np.testing.assert_allclose(again.temperature, found.temperature, rtol=1e-10)
        assert again.transform(form[1]).shape == form[1].shape
    labels, logits = network(rng, classes=2)
    margin = logits[:, 1] - logits[:, 0]
    expected = TemperatureScaling().fit(labels, logits).temperature
    for form in (margin, margin[:, None]):
        found = TemperatureScaling().fit(labels, form)
        np.testing.assert_allclose(found.temperature, expected, rtol=1e-12)
        assert found.transform(form).shape == form.shape


def test_weights_count_as_repeated_examples_and_ignored_labels_not_at_all(rng):
    labels, logits = network(rng)
    weights = rng.integers(0, 4, 500)
    times = np.repeat(np.arange(500), weights)
    repeated = TemperatureScaling().fit(labels[times], logits[times])
    kept = labels != 2
    left = TemperatureScaling().fit(labels[kept], logits[kept])
    ignored = TemperatureScaling().fit(labels, logits, ignore_index=2)
    assert ignored.temperature == left.temperature
    logits[weights == 0] = np.nan
    found = TemperatureScaling().fit(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(found.temperature, repeated.temperature, rtol=1e-12)


def test_infinite_logits_of_impossible_classes_are_allowed(rng):
    labels, logits = network(rng)
    impossible = rng.uniform(size=logits.shape) < 0.2
    impossible[np.arange(500), labels] = False
    low = np.where(impossible, -1e6, logits)
    logits[impossible] = -np.inf
    scaling = TemperatureScaling().fit(labels, logits)
    np.testing.assert_allclose(scaling.temperature, optimum(labels, low), rtol=1e-5)
    np.testing.assert_array_equal(np.isneginf(scaling.transform(logits)), impossible)


def test_a_forest_that_was_sure_and_wrong_is_fitted_as_other_maps_fit_it(rng):
    x = rng.normal(size=[600, 4])
    labels = np.argmax(x[:, :3] + rng.gumbel(size=[600, 3]), axis=1)
    forest = RandomForestClassifier(5, random_state=0).fit(x[:300], labels[:300])
    p, labels = forest.predict_proba(x[300:]), labels[300:]
    assert np.any(p[np.arange(300), labels] == 0)
    clipped = np.log(np.maximum(p, 2.0**-24))
    scaling = TemperatureScaling().fit(labels, probabilities=p)
    best = optimum(labels, clipped)
    np.testing.assert_allclose(scaling.temperature, best, rtol=1e-5)
    np.testing.assert_allclose(
        scaling.transform(probabilities=p),
        special.softmax(clipped / scaling.temperature, axis=1),
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_transform_keeps_shape_and_type(dtype, rng):
    scaling = TemperatureScaling().fit(*network(rng))
    logits = (4 * rng.normal(size=[2, 3, 4])).astype(dtype)
    before = logits.copy()
    result = scaling.transform(logits)
    assert result.dtype == (np.float64 if dtype == np.int32 else dtype)
    exact = logits.astype(np.float64) / scaling.temperature
    np.testing.assert_array_equal(result, exact.astype(result.dtype))
    np.testing.assert_array_equal(logits, before)


def test_loaded_temperature_equals_the_saved_one(tmp_path, rng):
    path = tmp_path / "temperature.json"
    scaling = TemperatureScaling().fit(*network(rng))
    scaling.save(path)
    assert TemperatureScaling.load(str(path)).temperature == scaling.temperature
    assert json.loads(path.read_text())["temperature"] == scaling.temperature
    assert repr(scaling) == f"TemperatureScaling(temperature={scaling.temperature})"
    fresh = TemperatureScaling()
    fresh.save(path)
    assert not TemperatureScaling.load(path).is_fitted
    for one in (scaling, fresh):
        again = TemperatureScaling.from_config(one.get_config())
        assert again.get_config() == one.get_config()
        assert again.is_fitted == one.is_fitted
    with pytest.raises(ValueError, match="`temperature` must be finite and > 0"):
        TemperatureScaling.from_config({"temperature": -1.0})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"class": "regression.TemperatureScaling", "version": 1, "temperature": 2.0}',
        '{"class": "recalibration.TemperatureScaling", "version": 9, "temperature": 2}',
        '{"class": "recalibration.TemperatureScaling", "version": 1, "temperature": 0}',
        '{"class": "recalibration.TemperatureScaling", "version": 1}',
        "[" * 100_000,
        "\udcff",  # A byte that is not UTF-8.
    ],
    ids=lambda text: text[-40:].encode("utf-8", "replace").decode(),
)
def test_files_that_are_no_temperature_raise(text, tmp_path):
    path = pathlib.Path(tmp_path, "other.json")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote"):
        TemperatureScaling.load(path)


# The refined likelihood.


def numbers(size, folds, seed, repeat):
    """Returns the numbers of the folds, by arithmetic of Python integers."""

    def mix(word):
        word ^= word >> 16
        word = word * 0x7FEB352D % 2**32
        word ^= word >> 15
        word = word * 0x846CA68B % 2**32
        return word ^ word >> 16

    key = mix(mix(seed) ^ repeat)
    return np.array(
        [
            (i % folds + (mix(i // folds ^ key) >> 1) % folds) % folds
            for i in range(size)
        ]
    )


def naive(labels, logits, folds=2, repeats=5, seed=0, weights=None):
    """Returns the mean likelihood of folds at the temperature of the other folds."""
    weights = np.ones(len(labels)) if weights is None else weights
    total = 0
    for repeat in range(repeats):
        fold = numbers(len(labels), folds, seed, repeat)
        for k in range(folds):
            train, test = fold != k, fold == k
            best = optimum(labels[train], logits[train], weights[train])
            score = likelihood(best, labels[test], logits[test], weights[test])
            total += score * weights[test].sum()
    return total / repeats / weights.sum()


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 0},
        {"folds": 3, "repeats": 2, "seed": 5},
        {"folds": 7, "repeats": 1, "seed": 2**32 - 1},
        {"seed": 12},
    ],
)
def test_refined_likelihood_equals_a_loop(options, rng):
    labels, logits = network(rng, 203)
    score = refined_negative_log_likelihood(labels, logits=logits, **options)
    assert isinstance(score, float)
    np.testing.assert_allclose(score, naive(labels, logits, **options), rtol=1e-7)
    weights = rng.uniform(0.1, 2, 203)
    score = refined_negative_log_likelihood(
        labels, logits=logits, sample_weight=weights, **options
    )
    expected = naive(labels, logits, weights=weights, **options)
    np.testing.assert_allclose(score, expected, rtol=1e-7)


def test_without_a_seed_each_call_splits_anew(rng):
    labels, logits = network(rng)
    scores = {
        refined_negative_log_likelihood(labels, logits=logits, repeats=1)
        for _ in range(5)
    }
    # With 500 examples two splits are never the same.
    assert len(scores) == 5
    seeded = [
        refined_negative_log_likelihood(labels, logits=logits, seed=3) for _ in range(2)
    ]
    assert seeded[0] == seeded[1]


def test_folds_are_balanced_and_random():
    _, keys = temperature_scaling.fold_keys(3, 400, 5)
    folds = np.array([temperature_scaling._fold_numbers(11, 3, key) for key in keys])
    np.testing.assert_array_equal(folds[7], numbers(11, 3, 5, 7))
    for fold in folds:
        assert set(np.bincount(fold)) == {3, 4}
    # Two examples share a fold with probability 1/3, except near neighbours, which
    # never do.
    shared = np.mean(folds[:, :, None] == folds[:, None, :], axis=0)
    apart = np.abs(np.arange(11)[:, None] // 3 - np.arange(11) // 3) > 0
    assert np.all(np.abs(shared[apart] - 1 / 3) < 5 * np.sqrt(2 / 9 / 400))


def test_refined_likelihood_does_not_depend_on_scale_or_form(rng):
    labels, logits = network(rng)
    expected = refined_negative_log_likelihood(labels, logits=logits, seed=0)
    for scale in (1e-6, 3.0, 1e6):
        score = refined_negative_log_likelihood(labels, logits=logits * scale, seed=0)
        np.testing.assert_allclose(score, expected, rtol=1e-10)
    p = special.softmax(logits, axis=1)
    score = refined_negative_log_likelihood(labels, probabilities=p, seed=0)
    np.testing.assert_allclose(score, expected, rtol=1e-10)
    binary = labels > 1
    margin = logits[:, 2] - logits[:, 0]
    score = refined_negative_log_likelihood(binary, logits=margin, seed=0)
    other = refined_negative_log_likelihood(
        binary, probabilities=special.expit(margin), seed=0
    )
    np.testing.assert_allclose(other, score, rtol=1e-10)


def test_refined_likelihood_is_near_that_at_the_best_temperature(rng):
    labels, logits = network(rng, 2000)
    scaling = TemperatureScaling().fit(labels, logits)
    least = um.negative_log_likelihood(labels, logits=scaling.transform(logits))
    score = refined_negative_log_likelihood(labels, logits=logits, seed=0)
    assert least < score < least + 0.02
    assert score < um.negative_log_likelihood(labels, logits=logits) - 0.05


def test_examples_that_do_not_count_are_in_no_fold(rng):
    labels, logits = network(rng)
    kept = (labels != 1) & (rng.uniform(size=500) < 0.7)
    expected = refined_negative_log_likelihood(
        labels[kept], logits=logits[kept], seed=0
    )
    logits[~kept] = np.nan
    score = refined_negative_log_likelihood(
        labels,
        logits=logits,
        sample_weight=kept | (labels == 1),
        ignore_index=1,
        seed=0,
    )
    np.testing.assert_allclose(score, expected, rtol=1e-12)


def test_folds_with_an_infinite_temperature_have_uniform_forecasts():
    logits = np.array([[1.0, 0.0]] * 4)
    # All decisions are wrong, so the best temperature is infinite.
    score = refined_negative_log_likelihood([1] * 4, logits=logits)
    np.testing.assert_allclose(score, np.log(2), rtol=1e-14)


def test_labels_of_probability_0_give_an_infinite_score(rng):
    labels, logits = network(rng)
    logits[7, labels[7]] = -np.inf
    assert refined_negative_log_likelihood(labels, logits=logits) == np.inf
    p = [[1.0, 0.0], [0.4, 0.6]] * 3
    assert refined_negative_log_likelihood([1, 0] * 3, probabilities=p) == np.inf
