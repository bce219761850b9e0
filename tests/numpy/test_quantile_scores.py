"""Scores of predicted quantiles."""

import numpy as np
import pytest
import scoringrules

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import makers, sample_references

ROOMS = pytest.mark.parametrize("room", [um_np, um], ids=["numpy", "tensors"])


def intervals(rng, n=50):
    return {
        "labels": 2 * rng.normal(size=n),
        "median": rng.normal(size=n),
        "lower": rng.normal(size=(n, 2)) - 1,
        "upper": rng.normal(size=(n, 2)) + 1,
        "alphas": (0.1, 0.5),
    }


@ROOMS
def test_parts_equal_the_loop_and_add_up_to_the_weighted_interval_score(room, rng):
    given = intervals(rng)
    parts = room.weighted_interval_score_decomposition(**given)
    assert parts._fields == ("dispersion", "overprediction", "underprediction")
    expected = sample_references.weighted_interval_parts(**given)
    np.testing.assert_allclose(np.stack(parts), expected, atol=1e-12)
    total = np.sum(np.stack(parts), axis=0)
    np.testing.assert_allclose(total, room.weighted_interval_score(**given), atol=1e-12)


@ROOMS
def test_parts_refuse_swapped_bounds_and_infinite_numbers(room, rng):
    given = intervals(rng)
    swapped = {**given, "lower": given["upper"] + 9, "upper": given["lower"]}
    with pytest.raises(ValueError, match="`lower` and `upper` seem to be swapped"):
        room.weighted_interval_score_decomposition(**swapped)
    with pytest.raises(ValueError, match="`median`"):
        room.weighted_interval_score_decomposition(**{**given, "median": np.inf})


@pytest.mark.tensors
def test_parts_of_a_wrong_example_are_nan_in_a_graph(rng):
    import tensorflow as tf

    given = intervals(rng)
    given["median"][3] = np.nan
    parts = tf.function(um.weighted_interval_score_decomposition)(**given)
    for part in parts:
        assert np.flatnonzero(np.isnan(part)).tolist() == [3]


@ROOMS
def test_quantile_score_equals_scoringrules_and_the_weighted_interval_score(room, rng):
    given = intervals(rng)
    quantiles = np.concatenate(
        [given["lower"], given["median"][:, None], given["upper"][:, ::-1]], axis=1
    )
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    score = room.crps_quantile_score(given["labels"], quantiles, levels)
    theirs = scoringrules.crps_quantile(given["labels"], quantiles, np.array(levels))
    np.testing.assert_allclose(score, theirs, atol=1e-12)
    whole = room.weighted_interval_score(**given)
    np.testing.assert_allclose(score, whole, atol=1e-12)
    with pytest.raises(ValueError, match="`quantiles` must be a sequence"):
        room.crps_quantile_score([0.0], [0.0], 0.5)


def test_quantile_score_of_many_levels_approaches_the_crps(rng):
    from scipy import stats

    levels = (np.arange(1000) + 0.5) / 1000
    y = rng.normal(size=20)
    score = um_np.crps_quantile_score(
        y, np.tile(stats.norm.ppf(levels), (20, 1)), levels
    )
    np.testing.assert_allclose(score, um_np.crps_normal_score(y, 0.0, 1.0), atol=2e-3)


@pytest.mark.parametrize("estimator", ["fair", "nrg", "almost_fair"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@ROOMS
def test_samples_of_weight_0_may_be_missing(room, estimator, dtype, rng):
    made = makers.samples(rng, (30,))
    y, x = made["labels"].astype(dtype), made["predictive_samples"].astype(dtype)
    y, x = y + 1000, x + 1000
    weights = rng.uniform(0.1, 1, x.shape).astype(dtype)
    weights[:, 1] = 0
    weights[::2, 3] = 0
    missing = np.where(weights > 0, x, np.nan)
    score = room.crps_score(y, missing, estimator=estimator, member_weights=weights)
    atol = 1e-9 if dtype == np.float64 else 2e-3
    for i in range(30):
        kept = weights[i] > 0
        expected = um_np.crps_score(
            *(np.float64(y[i]), np.float64(x[i][kept])),
            estimator=estimator,
            member_weights=np.float64(weights[i][kept]),
        )
        np.testing.assert_allclose(score[i], expected, atol=atol)
    missing[4, 0] = np.nan
    with pytest.raises(ValueError, match="`predictive_samples` must be finite"):
        room.crps_score(y, missing, estimator=estimator, member_weights=weights)


@pytest.mark.tensors
def test_gradients_of_missing_samples_are_0(rng):
    import tensorflow as tf

    x = tf.constant([[0.0, 1.0, np.nan, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        score = um.crps_score([0.5], x, member_weights=[1.0, 1.0, 0.0, 1.0])
    found = tape.gradient(score, x).numpy()[0]
    assert found[2] == 0
    assert np.all(np.isfinite(found))
