"""Properties of single scoring rules, in both halves."""

import math

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from scipy import special, stats
from scipy.spatial import distance

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.ops import _classifier_scores, _execution, _inputs

ROOMS = pytest.mark.parametrize("room", [um_np, um], ids=["numpy", "tensors"])


def floats(result):
    return np.array([float(part) for part in result])


@ROOMS
def test_decomposition_of_a_contingency_table_by_hand(room):
    # 100 examples, of which 80, 15 and 5 have the labels 0, 1 and 2. By decision:
    #   class 0: 90 examples, of which 78, 10 and 2 have the labels 0, 1 and 2
    #   class 1:  5 examples, of which  1,  4 and 0 have the labels 0, 1 and 2
    #   class 2:  5 examples, of which  1,  1 and 3 have the labels 0, 1 and 2
    table = np.array([[78, 10, 2], [1, 4, 0], [1, 1, 3]])
    forecasts = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
    labels = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
    decisions = np.repeat([0, 1, 2], table.sum(axis=1))
    parts = room.brier_decomposition(labels, probabilities=forecasts[decisions])

    uncertainty = -(0.80**2 + 0.15**2 + 0.05**2)
    resolution = (
        0.90 * ((78 / 90 - 0.80) ** 2 + (10 / 90 - 0.15) ** 2 + (2 / 90 - 0.05) ** 2)
        + 0.05 * ((1 / 5 - 0.80) ** 2 + (4 / 5 - 0.15) ** 2 + (0 / 5 - 0.05) ** 2)
        + 0.05 * ((1 / 5 - 0.80) ** 2 + (1 / 5 - 0.15) ** 2 + (3 / 5 - 0.05) ** 2)
    )
    reliability = (
        0.90 * ((78 / 90 - 0.80) ** 2 + (10 / 90 - 0.15) ** 2 + (2 / 90 - 0.05) ** 2)
        + 0.05 * ((1 / 5 - 0.2) ** 2 + (4 / 5 - 0.7) ** 2 + (0 / 5 - 0.1) ** 2)
        + 0.05 * ((1 / 5 - 0.1) ** 2 + (1 / 5 - 0.2) ** 2 + (3 / 5 - 0.7) ** 2)
    )
    assert resolution < 0.08
    expected = [uncertainty, resolution, reliability]
    np.testing.assert_allclose(floats(parts), expected, atol=1e-7)
    brier = room.brier_score(labels, probabilities=forecasts[decisions])
    # With one forecast for each decision, the three parts add up to the score.
    total = parts.uncertainty - parts.resolution + parts.reliability
    np.testing.assert_allclose(total, brier, atol=1e-7)


@ROOMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3, 17])
def test_exact_decomposition_sums_to_the_brier_score(room, classes, dtype, rng):
    forecasts = rng.dirichlet(np.full(classes, 0.2), 300)
    labels = rng.integers(0, classes, 300)
    data = [
        {"probabilities": forecasts.astype(dtype)},
        {"logits": (5 * rng.normal(size=[300, classes])).astype(dtype)},
        # These rows do not sum to 1.
        {"probabilities": rng.uniform(size=[300, classes]).astype(dtype)},
    ]
    for predictions in data:
        for weights in (None, rng.uniform(size=300)):
            given = {**predictions, "sample_weight": weights}
            parts = room.brier_decomposition_exact(labels, **given)
            u, resolution, reliability, variance, covariance = floats(parts)
            total = u - resolution + reliability + variance - covariance
            brier = float(room.brier_score(labels, **given))
            atol = 1e-13 if room is um_np or dtype == np.float64 else 3e-6
            np.testing.assert_allclose(total, brier, atol=atol * classes)
            three = room.brier_decomposition(labels, **given)
            np.testing.assert_allclose(
                float(three.reliability), reliability + variance, atol=atol
            )


@ROOMS
def test_scores_of_examples_are_weighted_and_ignored_ones_are_zero(room, rng):
    labels = rng.integers(0, 3, [4, 5])
    labels[1, 2] = -1
    logits = rng.normal(size=[4, 5, 3])
    weights = rng.uniform(size=[4, 5])
    weights[2, 3] = 0
    options = {"sample_weight": weights, "ignore_index": -1}
    for name in ("brier_score", "negative_log_likelihood"):
        function = getattr(room, name)
        scores = np.asarray(function(labels, logits=logits, aggregate=False, **options))
        assert scores.shape == (4, 5)
        assert scores[1, 2] == scores[2, 3] == 0
        kept = weights * (labels != -1)
        mean = function(labels, logits=logits, **options)
        np.testing.assert_allclose(scores.sum() / kept.sum(), mean, rtol=1e-6)
        alone = function(labels[:1, 0], logits=logits[:1, 0], aggregate=False)
        np.testing.assert_allclose(scores[0, 0], alone[0] * weights[0, 0], rtol=1e-6)


@ROOMS
def test_scores_are_0_and_the_mean_raises_if_all_labels_are_ignored(room):
    data = {"labels": [7, 7], "logits": [[0.0, 1.0], [1.0, 0.0]], "ignore_index": 7}
    assert np.asarray(room.brier_score(**data, aggregate=False)).tolist() == [0, 0]
    with pytest.raises(ValueError, match="labels"):
        room.brier_score(**data)


@ROOMS
def test_likelihood_is_precise_where_probabilities_underflow(room):
    score = room.negative_log_likelihood([1, 0], logits=[[1000.0, 0.0], [1000.0, 0.0]])
    np.testing.assert_allclose(score, 500.0)
    certain = {"labels": [0, 1], "probabilities": [[1.0, 0.0], [1.0, 0.0]]}
    scores = np.asarray(room.negative_log_likelihood(**certain, aggregate=False))
    assert scores.tolist() == [0.0, np.inf]
    assert float(room.negative_log_likelihood(**certain)) == np.inf
    weights = {"sample_weight": [1.0, 0.0]}
    assert float(room.negative_log_likelihood(**certain, **weights)) == 0.0
    impossible = room.negative_log_likelihood([1], logits=[[0.0, -np.inf]])
    assert float(impossible) == np.inf


@pytest.mark.thorough
@pytest.mark.parametrize("run", [tf.function, lambda function: function])
def test_compiled_likelihood_of_large_logits_equals_numpy(run, rng, monkeypatch):
    monkeypatch.setattr(_execution, "_LARGE", 0)
    logits, labels = rng.normal(0, 30, (6, 5)), [0, 1, 2, 3, 4, 0]
    logits[0, 2] = -np.inf
    p = special.softmax(logits, axis=1)
    likelihood = run(um.negative_log_likelihood)
    with tf.GradientTape() as tape:
        variable = tf.constant(logits)
        tape.watch(variable)
        score = likelihood(tf.constant(labels), logits=variable)
    np.testing.assert_allclose(score, -np.log(p[range(6), labels]).mean(), rtol=1e-9)
    slopes = (p - np.eye(5)[labels]) / 6
    np.testing.assert_allclose(tape.gradient(score, variable), slopes, atol=1e-12)
    logits[1, 1] = -np.inf
    assert likelihood(tf.constant(labels), logits=tf.constant(logits)) == np.inf


def test_eager_calls_are_left_to_numpy_only_where_no_gradient_is_taken(monkeypatch):
    monkeypatch.setattr(_inputs, "SHORTCUT", True)
    labels, p = [0, 1, 1], tf.constant([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    assert _inputs.left_to_numpy(labels, p)
    with tf.GradientTape() as tape:
        tape.watch(p)
        parts = um.brier_decomposition(labels, p)
        assert not _inputs.left_to_numpy(labels, p)
    slopes = tape.gradient(parts.reliability, p)
    with tf.autodiff.ForwardAccumulator(p, tf.ones_like(p)) as forward:
        parts = um.brier_decomposition(labels, p)
    along = forward.jvp(parts.reliability)
    np.testing.assert_allclose(along, tf.reduce_sum(slopes), atol=1e-6)
    assert float(tf.reduce_max(tf.abs(slopes))) > 0.1
    assert not tf.function(lambda: _inputs.left_to_numpy(p))()


@pytest.mark.parametrize("shape", [(7, 3), (7000, 15), (7000, 16), (1,), (2, 3, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_likelihood_of_short_eager_logits_is_left_to_numpy(
    shape, dtype, rng, monkeypatch
):
    logits = rng.normal(size=shape).astype(dtype)
    classes = shape[-1] if shape[-1] > 1 else 2
    labels = rng.integers(0, classes, shape if len(shape) == 1 else shape[:-1])
    weights = rng.uniform(size=labels.shape)
    given = {"logits": tf.constant(logits), "sample_weight": tf.constant(weights)}
    rows = logits if shape[-1] > 1 else np.stack([0 * logits, logits], -1)
    rows = rows.reshape(-1, classes).astype(np.float64)
    at_label = rows[np.arange(len(rows)), labels.reshape(-1)].reshape(labels.shape)
    each = np.logaddexp.reduce(rows, axis=-1).reshape(labels.shape) - at_label
    monkeypatch.setattr(_inputs, "SHORTCUT", True)
    calls, likelihood_scores = [], _classifier_scores.likelihood_scores
    monkeypatch.setattr(
        _classifier_scores,
        "likelihood_scores",
        lambda *arguments: calls.append(1) or likelihood_scores(*arguments),
    )
    scores = um.negative_log_likelihood(labels, **given, aggregate=False)
    mean = um.negative_log_likelihood(labels, **given)
    assert scores.dtype == mean.dtype == dtype
    assert bool(calls) == (shape == (7000, 16))  # Long rows are TensorFlow's.
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(scores, each * weights, rtol, rtol)
    np.testing.assert_allclose(mean, np.average(each, weights=weights), rtol)
    with pytest.raises(ValueError, match="labels"):
        um.negative_log_likelihood(labels - 1 + 2 * classes, **given)


@ROOMS
def test_ranked_probability_score_of_two_classes_is_half_the_brier_score(room, rng):
    labels, x = rng.integers(0, 2, 20), rng.normal(size=20)
    for data in ({"logits": x}, {"probabilities": 1 / (1 + np.exp(-x))}):
        brier = room.brier_score(labels, **data, zero_based=True, aggregate=False)
        ranked = room.ranked_probability_score(labels, **data, aggregate=False)
        np.testing.assert_allclose(2 * np.asarray(ranked), brier, rtol=1e-12)


@ROOMS
def test_ranked_probability_score_is_the_crps_of_integers(room, rng):
    labels, samples = rng.integers(0, 5, 9), rng.integers(0, 5, [9, 12])
    frequencies = np.mean(samples[..., None] == np.arange(5), axis=1)
    np.testing.assert_allclose(
        room.ranked_probability_score(labels, frequencies, aggregate=False),
        um_np.crps_score(labels, samples, estimator="nrg"),
        atol=1e-12,
    )


@ROOMS
def test_small_ranked_probability_scores_keep_their_precision(room):
    # The other probabilities are about e^-50; 1 - F would round them away.
    for labels, logits, expected in (
        ([0], [[50.0, 0.0, -10.0]], np.exp(-100)),
        ([2], [[-10.0, 0.0, 50.0]], np.exp(-100)),
        ([1], [[0.0, 50.0, 0.0]], 2 * np.exp(-100)),
        ([0], [[-1e4, 0.0, 1e4]], 2.0),
    ):
        score = room.ranked_probability_score(labels, logits=np.float64(logits))
        np.testing.assert_allclose(score, expected, rtol=1e-3)


@ROOMS
@pytest.mark.parametrize("label", [0, 1, 2])
def test_ranked_probability_scores_of_infinite_logits_raise(room, label):
    for place in range(3):
        row = np.where(np.arange(3) == place, np.inf, 0.0)
        with pytest.raises(ValueError, match="`logits` must be finite"):
            room.ranked_probability_score([label], logits=row[None])
    with pytest.raises(ValueError, match="`logits` must be finite"):
        room.ranked_probability_score([label % 2], logits=np.array([np.inf]))


@ROOMS
def test_a_certain_forecast_is_scored_by_its_absolute_error(room):
    certain = room.crps_normal_score([1.0, 2.0, 2.0], [3.0, 2.0, 1.5], 0.0)
    assert np.asarray(certain).tolist() == [2.0, 0.0, 0.5]
    tiny = room.crps_normal_score(np.float32([1.0]), np.float32([3.0]), 1e-30)
    np.testing.assert_allclose(tiny, [2.0])


def test_estimator_of_neighbours_is_unbiased_but_noisier_than_all_pairs(rng):
    """The mean over many forecasts is the CRPS, within 5 standard errors."""
    y = rng.normal(size=20000)
    samples = rng.normal(size=[20000, 10])
    exact = um_np.crps_normal_score(y, 0.0, 1.0)
    spreads = {}
    for estimator, share in (
        ("fair", 0),
        ("roll", 0),
        ("nrg", 1),
        ("almost_fair", 0.05),
    ):
        difference = um_np.crps_score(y, samples, estimator=estimator) - exact
        spreads[estimator] = difference.std()
        bound = 5 * difference.std() / np.sqrt(len(y))
        # The mean over all m^2 pairs is too small a spread, by E|X - X'| / (2m) = 1 /
        # (m sqrt(pi)).
        bias = share / (10 * np.sqrt(np.pi))
        assert abs(difference.mean() - bias) < bound
    assert spreads["roll"] > 1.05 * spreads["fair"]


@pytest.mark.parametrize(("alpha", "same"), [(1.0, "fair"), (0, "nrg")])
def test_almost_fair_with_extreme_alpha_equals_fair_or_nrg(alpha, same, rng):
    labels, samples = rng.normal(size=[4, 2]), rng.normal(size=[4, 5, 2])
    options = {"estimator": "almost_fair", "alpha": alpha}
    for room in (um_np, um):
        for name, y, x in (
            ("crps_score", labels[:, 0], samples[..., 0]),
            ("threshold_weighted_crps", labels[:, 0], samples[..., 0]),
            ("energy_score", labels, samples),
        ):
            score = getattr(room, name)
            expected = score(y, x, estimator=same)
            np.testing.assert_allclose(score(y, x, **options), expected, rtol=1e-12)
            if same == "nrg":
                score(y, x[:, :1], **options)
            else:
                with pytest.raises(ValueError, match="at least two samples"):
                    score(y, x[:, :1], **options)
    metric = um.CRPSSamples(**options)
    metric.update_state(labels[:, 0], samples[..., 0])
    expected = um_np.crps_score(labels[:, 0], samples[..., 0], estimator=same).mean()
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)
    assert metric.get_config()["estimator"] == "almost_fair"


def test_weighted_members_are_scored_without_bias(rng):
    """The mean over many forecasts is the CRPS, within 5 standard errors."""
    y, samples = rng.normal(size=20000), rng.normal(size=[20000, 5])
    scores = um_np.crps_score(y, samples, member_weights=[1, 2, 4, 8, 0])
    error = scores - um_np.crps_normal_score(y, 0.0, 1.0)
    assert abs(error.mean()) < 5 * error.std() / np.sqrt(len(y))


@ROOMS
def test_member_weights_count_as_repeated_members(room, rng):
    y, samples = rng.normal(size=7), rng.normal(size=[7, 4])
    counts = np.array([3, 1, 0, 2])
    repeated = room.crps_score(y, np.repeat(samples, counts, 1), estimator="nrg")
    for weights in (counts, counts * 1e-200, counts * 1e300, [counts] * 7):
        weighted = room.crps_score(
            y, samples, estimator="nrg", member_weights=np.asarray(weights, float)
        )
        np.testing.assert_allclose(weighted, repeated, atol=1e-12)
    for estimator in ("fair", "nrg", "almost_fair"):
        np.testing.assert_allclose(
            room.crps_score(y, samples, estimator=estimator, member_weights=[2.0] * 4),
            room.crps_score(y, samples, estimator=estimator),
            atol=1e-12,
        )
    # Each forecast may have its own weights.
    each = rng.uniform(size=[7, 4])
    scores = room.crps_score(y, samples, member_weights=each)
    for i in range(7):
        one = room.crps_score(y[i], samples[i], member_weights=each[i])
        np.testing.assert_allclose(scores[i], one, atol=1e-12)


@ROOMS
def test_score_is_precise_for_a_member_of_tiny_weight(room):
    weights = np.array([1.0, 1e-12])
    score = room.crps_score(0.0, np.array([0.0, 1.0]), member_weights=weights)
    np.testing.assert_allclose(score, 1e-12 - 0.5, rtol=1e-12)


def test_wrong_member_weights_raise_in_both_halves():
    y, samples = [0.0, 1.0], [[0.0, 1.0, 2.0]] * 2
    for weights, options, word in (
        ([1.0, 1.0], {}, r"of shape \[m\] = \[3\]"),
        ([[1.0] * 3] * 3, {}, "of the samples"),
        (1.0, {}, r"of shape \[m\]"),
        ([1.0, -1.0, 1.0], {}, r">= 0. Received: -1.0 at \[1\]"),
        ([1.0, np.nan, 1.0], {}, "finite"),
        ([1.0, 0.0, 0.0], {}, '2 or more positive weights for estimator="fair"'),
        ([[1.0] * 3, [0.0] * 3], {"estimator": "nrg"}, r"1 or more .* 0 at \[1\]"),
        ([1.0] * 3, {"estimator": "roll"}, "None for estimator"),
    ):
        messages = []
        for room in (um_np, um):
            with pytest.raises(ValueError, match=word) as raised:
                room.crps_score(y, samples, member_weights=weights, **options)
            messages.append(str(raised.value))
        assert messages[0].startswith("`member_weights` must ")
        assert messages[0] == messages[1]
    weights = tf.constant([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    score = tf.function(lambda w: um.crps_score(y, samples, member_weights=w))(weights)
    assert np.isnan(score).tolist() == [True, False]


@ROOMS
def test_weighted_interval_score_of_many_levels_is_the_crps(room):
    """The quantiles are those of a Normal forecast."""
    alphas = np.arange(1, 500) / 500
    quantiles = stats.norm.ppf(alphas / 2)
    y = np.array([-2.0, 0.3, 4.0])
    bounds = {"lower": [quantiles] * 3, "upper": [-quantiles] * 3}
    score = room.weighted_interval_score(y, 0.0, **bounds, alphas=alphas)
    np.testing.assert_allclose(score, um_np.crps_normal_score(y, 0.0, 1.0), rtol=5e-3)


@ROOMS
def test_weights_of_the_weighted_interval_score_by_hand(room):
    # The error of the median is 3. The intervals have widths 2 and 6, and the label is
    # 1 above the first: 3/2 + (.4/2) 2 + 1 + (.1/2) 6 = 3.2.
    score = room.weighted_interval_score(
        [4.0], [1.0], [[1.0, 0.0]], [[3.0, 6.0]], (0.4, 0.1)
    )
    np.testing.assert_allclose(score, [3.2 / 2.5], rtol=1e-6)
    with pytest.raises(ValueError, match="swapped"):
        room.weighted_interval_score([4.0], 1.0, [[3.0]], [[1.0]], [0.1])
    with pytest.raises(ValueError, match="`alphas` must be a sequence"):
        room.weighted_interval_score([4.0], 1.0, [[3.0]], [[1.0]], 0.1)
    with pytest.raises(ValueError, match="`upper` must have a last axis of 1"):
        room.weighted_interval_score([4.0], 1.0, [[3.0]], [[1.0, 2.0]], [0.1])


@ROOMS
def test_threshold_weighted_crps_of_adjacent_ranges_sums_to_the_crps(room, rng):
    y, samples = 2 * rng.normal(size=9), rng.normal(size=[9, 6])
    lower, upper = np.sort(rng.normal(size=[2, 9]), axis=0)
    for options in (
        {},
        {"estimator": "nrg"},
        {"estimator": "almost_fair", "alpha": 0.3},
    ):
        parts = [
            room.threshold_weighted_crps(y, samples, *ends, **options)
            for ends in ((-np.inf, lower), (lower, upper), (upper,))
        ]
        whole = room.crps_score(y, samples, **options)
        np.testing.assert_allclose(sum(map(np.asarray, parts)), whole, atol=1e-12)


def test_wrong_thresholds_raise_in_both_halves():
    y, samples = [0.0, 1.0], [[0.0, 1.0]] * 2
    for ends, word in (
        ((1.0, 0.0), r"`lower` must be at most `upper`. Received: 1.0 .* above 0.0"),
        ((np.nan,), "`lower` must be numbers or -inf. Received: nan"),
        ((np.inf,), "`lower` must be numbers or -inf"),
        ((0.0, -np.inf), "`upper` must be numbers or inf"),
        (([0.0] * 3,), "`lower` must be of the shape of the labels"),
    ):
        messages = []
        for room in (um_np, um):
            with pytest.raises(ValueError, match=word) as raised:
                room.threshold_weighted_crps(y, samples, *ends)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@ROOMS
def test_energy_score_of_one_dimension_is_the_crps(room, rng):
    y, samples = rng.normal(size=7), rng.normal(size=[7, 12])
    for options in ({}, *({"estimator": e} for e in ("nrg", "almost_fair", "roll"))):
        np.testing.assert_allclose(
            room.energy_score(y[:, None], samples[..., None], **options),
            room.crps_score(y, samples, **options),
            atol=1e-12,
        )


@pytest.mark.parametrize("m", [4999, 5000])
def test_energy_score_of_many_samples_equals_the_loop_over_pairs(m, rng):
    """There are two blocks of samples, and m / 2 is a whole number or not."""
    y, samples = rng.normal(size=[2, 9]), rng.normal(size=[2, m, 9])
    for i, score in enumerate(um_np.energy_score(y, samples)):
        error = np.linalg.norm(samples[i] - y[i], axis=-1).mean()
        spread = distance.pdist(samples[i]).mean()
        np.testing.assert_allclose(score, error - spread / 2, rtol=1e-11)
    rolled = um_np.energy_score(y, samples, estimator="roll")
    steps = np.linalg.norm(samples - np.roll(samples, 1, axis=1), axis=-1)
    errors = np.linalg.norm(samples - y[:, None], axis=-1)
    expected = errors.mean(axis=1) - steps.mean(axis=1) / 2
    np.testing.assert_allclose(rolled, expected, rtol=1e-11)


def test_energy_score_of_one_dimension_takes_many_samples(rng):
    """By pairs it would take minutes, and overflow at 1e200."""
    y, samples = rng.normal(size=[2, 1]), rng.normal(size=[2, 10**5, 1])
    expected = um_np.crps_score(y[:, 0], samples[..., 0])
    compiled = tf.function(um.energy_score)(y, samples)
    for scores in (um_np.energy_score(y * 1e200, samples * 1e200) / 1e200, compiled):
        np.testing.assert_allclose(scores, expected, rtol=1e-9)


@ROOMS
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_energy_score_scales_with_tiny_and_huge_numbers(room, scale, rng):
    labels, samples = rng.normal(size=[5, 2]), rng.normal(size=[5, 7, 2])
    result = room.energy_score(
        (labels * scale).astype(np.float32), (samples * scale).astype(np.float32)
    )
    expected = um_np.energy_score(labels, samples)
    np.testing.assert_allclose(np.asarray(result) / scale, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [67, 64, 100])
@pytest.mark.first(2)
def test_brier_score_of_many_classes_equals_the_formula(classes, dtype, rng):
    p = rng.dirichlet(np.full(classes, 0.1), 9).astype(dtype)
    p[:, -1] += 1 - p.sum(axis=1, dtype=dtype)
    p = np.abs(p)
    labels = rng.integers(0, classes, 9)
    expected = np.sum(p.astype(float) ** 2, axis=1) - 2 * p[range(9), labels]

    def score(p):
        return um.brier_score(labels, probabilities=p, aggregate=False)

    for run in (score, tf.function(score), tf.function(score, jit_compile=True)):
        np.testing.assert_allclose(run(p), expected, rtol=1e-5, atol=1e-6)


@ROOMS
@pytest.mark.parametrize(
    ("classes", "dtype"),
    [(257, ml_dtypes.bfloat16), (2049, "float16"), (10**5, "float16")],
)
def test_the_number_of_classes_may_be_beyond_the_type_of_the_labels(
    room, classes, dtype
):
    """The last class of 257 is exact in bfloat16, but 257 is not."""
    label = min(classes - 1, 2048)
    probabilities = np.full((1, classes), 1 / classes)
    score = room.brier_score(np.array([label], dtype), probabilities, zero_based=True)
    assert float(score) == pytest.approx(1 - 1 / classes, rel=1e-12)
    for wrong in (-1, 1.5):
        with pytest.raises(ValueError, match=rf"integers in \[0, {classes}\)"):
            room.brier_score(np.array([wrong], dtype), probabilities)


@ROOMS
def test_one_column_of_bfloat16_is_not_rounded(room):
    """In bfloat16 1 - p would be 1, and its logarithm 0."""
    p = tf.constant([2.0**-12], tf.bfloat16)
    score = room.negative_log_likelihood([0], p)
    assert float(score) == pytest.approx(-math.log1p(-(2.0**-12)), rel=1e-5)


@ROOMS
def test_within_bin_variance_of_equal_rows_is_0(room, rng):
    for classes in (2, 3, 7):
        for row in rng.dirichlet(np.ones(classes), 20).astype(np.float32):
            rows = np.repeat(row[None], 50, axis=0)
            labels = rng.integers(0, classes, 50)
            parts = room.brier_decomposition_exact(labels, probabilities=rows)
            assert 0 <= parts.within_bin_variance < 1e-6


@ROOMS
def test_one_sample_is_enough_for_some_estimators_only(room):
    assert np.asarray(room.crps_score([1.0], [[3.0]], estimator="nrg")).tolist() == [2]
    assert np.asarray(room.crps_score([1.0], [[3.0]], estimator="roll")).tolist() == [2]
    for estimator in ("nrg", "roll"):
        score = room.energy_score([[1.0]], [[[3.0]]], estimator=estimator)
        assert np.asarray(score).tolist() == [2]
    with pytest.raises(ValueError, match="two samples"):
        room.crps_score([1.0], [[3.0]])
    with pytest.raises(ValueError, match="two samples"):
        room.energy_score([[1.0]], [[[3.0]]])


def test_one_sample_of_a_size_unknown_to_the_graph_gives_nan():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None, None])])
    def fair(labels, samples):
        return um.crps_score(labels, samples)

    assert np.isnan(fair([1.0], [[3.0]])).all()
    np.testing.assert_allclose(fair([1.0], [[3.0, 1.0]]), [0.0])


@ROOMS
def test_crossed_bounds_are_scored_as_quantiles(room):
    y, lower, upper, alpha = [0.0, 2.0, 5.0], [1.0, 1.0, 1.0], [0.5, 3.0, 0.5], 0.2
    expected = (2 / alpha) * (
        np.asarray(room.pinball_loss(y, lower, alpha / 2))
        + np.asarray(room.pinball_loss(y, upper, 1 - alpha / 2))
    )
    np.testing.assert_allclose(
        room.interval_score(y, lower, upper, alpha), expected, rtol=1e-6
    )
    with pytest.raises(ValueError, match="swapped"):
        room.interval_score(y, [9.0, 9.0, 9.0], upper, alpha)


@pytest.mark.thorough
def test_means_of_many_float32_scores_do_not_drift():
    logits = tf.constant([[0.3, 0.1, -0.2]])
    one = um_np.brier_score([0], logits=np.asarray(logits))
    labels, many = tf.zeros([3_000_000], tf.int32), tf.repeat(logits, 3_000_000, axis=0)
    for jit_compile in (None, True):
        function = um.brier_score
        if jit_compile:
            function = tf.function(function, jit_compile=True)
        np.testing.assert_allclose(function(labels, logits=many), one, rtol=3e-7)


@ROOMS
def test_scorers_of_scikit_learn_pass_probabilities_by_position(room):
    from sklearn import datasets, linear_model, metrics

    features, labels = datasets.load_iris(return_X_y=True)
    model = linear_model.LogisticRegression(C=0.05).fit(features, labels)
    p = model.predict_proba(features)
    scorer = metrics.make_scorer(
        room.brier_score,
        response_method="predict_proba",
        greater_is_better=False,
        zero_based=True,
    )
    expected = np.mean(np.sum((p - np.eye(3)[labels]) ** 2, axis=1))
    np.testing.assert_allclose(-scorer(model, features, labels), expected, rtol=1e-6)
    for name, options in (
        ("negative_log_likelihood", {}),
        ("refined_negative_log_likelihood", {"seed": 0}),
    ):
        of_logits = getattr(room, name)(labels, logits=np.log(p), **options)
        of_p = getattr(room, name)(labels, p, **options)
        np.testing.assert_allclose(of_p, of_logits, rtol=1e-6)
    for name in ("brier_decomposition", "brier_decomposition_exact"):
        parts = getattr(room, name)(labels, p)
        assert tuple(parts) == tuple(getattr(room, name)(labels, probabilities=p))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_weighted_means_are_precise_in_float64(jit_compile, rng):
    data = {
        "labels": rng.integers(0, 3, 40),
        "probabilities": rng.dirichlet(np.ones(3), 40),
        "sample_weight": rng.uniform(size=40) ** 4,
    }
    compiled = tf.function(um.brier_score, jit_compile=jit_compile, autograph=False)
    score = compiled(**{name: tf.constant(value) for name, value in data.items()})
    np.testing.assert_allclose(score, um_np.brier_score(**data), rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [1, 3, 8, 19])
def test_cross_entropy_of_large_logits_equals_that_of_tensorflow(rng, classes):
    logits = rng.normal(scale=5, size=(40, classes)).astype(np.float32)
    logits[0], logits[1, 0], logits[2, 0] = -np.inf, np.nan, np.inf
    logits[3, 1:] = -np.inf
    labels = tf.constant(rng.integers(0, classes, 40), tf.int32)
    found = []
    for function in (
        tf.nn.sparse_softmax_cross_entropy_with_logits,
        _execution.with_xla(_classifier_scores._cross_entropy),
    ):
        x = tf.constant(logits)
        with tf.GradientTape() as tape:
            tape.watch(x)
            scores = function(labels, x)
        found.append((scores, tape.gradient(scores, x)[3:]))
    for ours, expected in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)
