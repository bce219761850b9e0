"""The fits of calibrators, against independent solvers."""

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from tests.calibrators import (
    CLASSES,
    LEAST,
    SOLVERS,
    each_of_rest,
    network,
    weighted,
)


def likelihood(logits, labels, weights):
    """Returns the sum of the negative log-likelihoods."""
    logs = special.log_softmax(logits, axis=1)
    return -weights @ logs[np.arange(len(labels)), labels]


def deviation(z, weights):
    within = z - z.mean(axis=1, keepdims=True)
    return np.sqrt(np.average(np.mean(within**2, axis=1), weights=weights))


def descended(function, size):
    """Returns the minimum by BFGS, and the point where it is."""
    found = optimize.minimize(
        function, np.zeros(size), method="BFGS", options={"gtol": 1e-7}
    )
    return found.fun, found.x


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", ["logits", "probabilities"])
def test_vector_scaling_minimises_the_objective(classes, form, rng):
    labels, logits, weights = weighted(rng, n=300, classes=classes)
    given = logits
    if form == "probabilities":
        given = special.softmax(logits, axis=1)
        given[:9, 0] = 0.0
        logits = np.log(np.maximum(given, LEAST))
    spread = deviation(logits, weights)

    def objective(x):
        a, b = x.reshape(2, -1)
        penalty = spread**2 * np.sum((a - a.mean()) ** 2) + b @ b
        return likelihood(logits * a + b, labels, weights) + 3.0 / 2 * penalty

    least, x = descended(objective, 2 * classes)
    scaling = um.VectorScaling(ridge=3.0)
    scaling.fit(labels, **{form: given}, sample_weight=weights)
    found = np.concatenate([scaling.scales, scaling.biases])
    np.testing.assert_allclose(found, x, atol=1e-4)
    assert objective(found) <= least + 1e-9 * abs(least)
    assert 0 <= scaling.optimality_gap < 1e-10
    slopes = optimize.approx_fprime(found, objective, 1e-6)
    np.testing.assert_allclose(slopes / weights.sum(), 0, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("regularization", ["ridge", "odir"])
def test_matrix_scaling_minimises_the_objective(classes, regularization, rng):
    labels, logits, weights = weighted(rng, n=200, classes=classes)
    spread = deviation(logits, weights)

    def objective(x):
        a, b = x[:-classes].reshape(classes, classes), x[-classes:]
        free = np.diag(a) if regularization == "odir" else np.mean(np.diag(a))
        penalty = classes * spread**2 * np.sum((a - np.eye(classes) * free) ** 2)
        value = likelihood(logits @ a.T + b, labels, weights)
        return value + 2.0 / 2 * (penalty + b @ b)

    least, x = descended(objective, classes * (classes + 1))
    scaling = um.MatrixScaling(ridge=2.0, regularization=regularization)
    scaling.fit(labels, logits, sample_weight=weights)
    found = np.concatenate([scaling.matrix.reshape(-1), scaling.biases])
    np.testing.assert_allclose(found, x, atol=1e-4)
    assert objective(found) <= least + 1e-9 * abs(least)
    assert 0 <= scaling.optimality_gap < 1e-10


def test_fits_of_many_examples_are_at_the_minimum(rng):
    # With so many examples, a part of them is fitted first.
    labels, logits = network(rng, n=9000, classes=3)
    for scaling, ridge in ((um.VectorScaling(), 10), (um.MatrixScaling(), 3 / 2)):
        scaling.fit(labels, logits)
        mapped = scaling.transform(logits)
        slopes = special.softmax(mapped, axis=1) - np.eye(3)[labels]
        # At the minimum the slopes of the likelihood and of the penalty cancel.
        expected = -ridge * scaling.biases
        np.testing.assert_allclose(slopes.sum(axis=0), expected, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_default_penalty_of_matrices_grows_with_the_classes(classes, rng):
    labels, logits = network(rng, classes=classes)
    by_default = um.MatrixScaling().fit(labels, logits)
    told = um.MatrixScaling(ridge=classes / 2).fit(labels, logits)
    np.testing.assert_array_equal(by_default.matrix, told.matrix)
    assert by_default.get_config()["ridge"] is None
    assert told.get_config()["ridge"] == classes / 2


@pytest.mark.parametrize("name", ["platt", "beta"])
@pytest.mark.parametrize("some", ["like all", "separable", "of one class"])
def test_the_first_fit_of_a_part_does_not_change_the_result(name, some, rng):
    n = 9000
    p = rng.uniform(size=n)
    labels = rng.uniform(size=n) < p**2
    first = np.arange(n) % 8 == 0  # The part that is fitted first.
    if some != "like all":
        labels[first] = (p > 0.7)[first] if some == "separable" else 0
    scaling = CLASSES[name]().fit(labels, probabilities=p)
    assert 0 <= scaling.optimality_gap < 1e-10
    q = scaling.transform(probabilities=p)
    features = [special.logit(p)] if name == "platt" else [np.log(p), -np.log1p(-p)]
    slopes = np.stack([*features, np.ones(n)]) @ (q - labels) / n
    np.testing.assert_allclose(slopes, 0, atol=1e-8)


def test_a_large_ridge_gives_temperature_scaling(rng):
    labels, logits = network(rng)
    temperature = um.TemperatureScaling().fit(labels, logits).temperature
    scaling = um.VectorScaling(ridge=1e9).fit(labels, logits)
    np.testing.assert_allclose(scaling.scales, 1 / temperature, rtol=1e-5)
    small = np.full(600, 1e-12)
    scaling.fit(labels, logits, sample_weight=small)
    np.testing.assert_allclose(scaling.scales, 1 / temperature, rtol=1e-5)
    scaling = um.MatrixScaling(ridge=1e9).fit(labels, logits)
    np.testing.assert_allclose(scaling.matrix, np.eye(4) / temperature, atol=1e-5)


def test_maps_without_ridge_equal_scikit_learn(rng):
    linear = pytest.importorskip("sklearn.linear_model")
    labels, logits, weights = weighted(rng)
    peer = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    peer.fit(logits, labels, weights)
    expected = special.log_softmax(peer.decision_function(logits), axis=1)
    scaling = um.MatrixScaling(ridge=0).fit(labels, logits, sample_weight=weights)
    found = special.log_softmax(scaling.transform(logits), axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-4)

    binary = labels > 1
    margins = logits[:, 3] - logits[:, 0]
    peer.fit(margins[:, None], binary, weights)
    scaling = um.PlattScaling().fit(binary, margins, sample_weight=weights)
    np.testing.assert_allclose(scaling.a, peer.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(scaling.c, peer.intercept_, atol=1e-5)


def one_against_rest(labels, p, weights, solve):
    """Maps the probabilities of each class, and divides them by their sum."""
    columns = [1] if p.shape[1] == 2 else range(p.shape[1])
    maps = [solve(p[:, k], labels == k, weights) for k in columns]
    q = np.stack([one(p[:, k]) for k, one in zip(columns, maps, strict=True)], axis=1)
    if len(columns) == 1:
        return np.concatenate([1 - q, q], axis=1)
    nothing = q.sum(axis=1) == 0
    q[nothing] = p[nothing]
    return q / q.sum(axis=1, keepdims=True)


@each_of_rest
@pytest.mark.parametrize("classes", [2, 4])
def test_equals_another_solver(name, classes, rng):
    labels, logits, weights = weighted(rng, n=400, classes=classes)
    p = special.softmax(logits, axis=1).round(2)  # Some scores are equal, some are 0.
    p[:, -1] = (1 - p[:, :-1].sum(axis=1)).clip(0, 1).round(2)
    solve, tolerance = SOLVERS[name]
    expected = one_against_rest(labels, p, weights, solve)
    scaling = CLASSES[name]().fit(labels, probabilities=p, sample_weight=weights)
    found = scaling.transform(probabilities=p)
    np.testing.assert_allclose(found, expected, atol=tolerance)
    assert 0 <= scaling.optimality_gap < 1e-10
    if tolerance > 1e-12:  # The objectives at both solutions are equal as well.
        kept = weights > 0
        ours, theirs = (
            sum(
                -weights[kept] @ special.xlogy(labels == k, q[:, k])[kept]
                for k in range(classes)
            )
            for q in (found, expected)
        )
        assert abs(ours - theirs) < 1e-4 * theirs


def test_isotonic_interpolates_between_knots(rng):
    isotonic = pytest.importorskip("sklearn.isotonic")
    p = rng.uniform(size=200)
    labels = rng.uniform(size=200) < p
    scaling = um.IsotonicCalibration().fit(labels, probabilities=p)
    new = np.concatenate([[0.0, 1.0], rng.uniform(size=500)])
    peer = isotonic.IsotonicRegression(out_of_bounds="clip").fit(p, labels)
    found = scaling.transform(probabilities=new)
    np.testing.assert_allclose(found, peer.predict(new), atol=1e-12)
    (knots,) = scaling.knots
    assert np.all(np.diff(knots) >= 0)
    np.testing.assert_allclose(np.interp(new, *knots), found, atol=1e-12)


@pytest.mark.parametrize("bend", ["low", "high", "reversed", "none"])
def test_beta_calibration_is_optimal_within_its_bounds(bend, rng):
    p = rng.uniform(0.02, 0.98, size=3000)
    z = {
        "low": 3 * np.log(p) + 0.8 * np.log(1 - p) + 2,
        "high": -0.8 * np.log(p) - 3 * np.log(1 - p) - 2,
        "reversed": -special.logit(p),
        "none": 0.6 * np.log(p) - 1.5 * np.log(1 - p) + 0.3,
    }[bend]
    labels = rng.uniform(size=3000) < special.expit(z)
    map = um.BetaCalibration().fit(labels, probabilities=p)
    factors = np.array([map.a[0], map.b[0]])
    zero = {"low": [1], "high": [0], "reversed": [0, 1], "none": []}[bend]
    assert np.flatnonzero(factors == 0).tolist() == zero
    # The conditions of Karush, Kuhn and Tucker: slopes are 0 for free parameters, and
    # not negative for those at their bound.
    q = map.transform(probabilities=p)
    rows = np.stack([np.log(p), -np.log(1 - p), np.ones(3000)])
    slopes = rows @ (q - labels) / 3000
    assert np.all(slopes[zero] >= -1e-9)
    np.testing.assert_allclose(np.delete(slopes, zero), 0, atol=1e-9)


def mixed(x, logits):
    """Returns the log-probabilities of an ensemble; x holds log(1 / T) and weights."""
    logs = special.log_softmax(np.exp(x[0]) * logits, axis=-1)
    return special.logsumexp(logs, axis=1, b=x[1:, None])


@pytest.mark.parametrize("classes", [2, 4])
def test_ensemble_temperature_scaling_minimises_the_objective(classes, rng):
    n, members = 500, 3
    common = rng.normal(size=[n, 1, classes])
    logits = 2 * common + 2 * rng.normal(size=[n, members, classes])
    labels = np.argmax(common[:, 0] + rng.gumbel(size=[n, classes]), axis=1)
    logits[:, 2] = rng.normal(size=[n, classes])  # This member knows nothing.
    weights = rng.integers(0, 3, n)

    def objective(x):
        return likelihood(mixed(x, logits), labels, weights) / weights.sum()

    least = min(
        optimize.minimize(
            objective,
            [start, *[1 / members] * members],
            method="SLSQP",
            bounds=[(-5, 5), *[(0, 1)] * members],
            constraints={"type": "eq", "fun": lambda x: x[1:].sum() - 1},
            options={"ftol": 1e-12},
        ).fun
        for start in (-2, -1, 0, 1)
    )
    scaling = um.EnsembleTemperatureScaling()
    scaling.fit(labels, logits, sample_weight=weights)
    found = objective(np.array([-np.log(scaling.temperature), *scaling.weights]))
    assert found <= least + 1e-8
    assert scaling.optimality_gap < 1e-10
    assert np.all(scaling.weights >= 0)
    np.testing.assert_allclose(scaling.weights.sum(), 1, rtol=1e-12)
    x = np.array([-np.log(scaling.temperature), *scaling.weights])
    expected = special.log_softmax(mixed(x, logits), axis=1)
    p = scaling.transform(probabilities=special.softmax(logits, axis=-1))
    np.testing.assert_allclose(p, np.exp(expected), rtol=1e-9)
    found = scaling.transform(logits)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_all_forms_of_ensembles_give_the_same_fit(rng):
    n = 300
    common = rng.normal(size=n)
    margins = common[:, None] + rng.normal(size=[n, 3])
    labels = rng.uniform(size=n) < special.expit(common)
    pairs = np.stack([np.zeros_like(margins), margins], axis=-1)
    expected = um.EnsembleTemperatureScaling().fit(labels, pairs)
    last = um.EnsembleTemperatureScaling(ensemble_axis=0)
    last.fit(labels[:, None], probabilities=special.expit(margins.T)[..., None])
    np.testing.assert_allclose(last.temperature, expected.temperature, rtol=1e-8)
    np.testing.assert_allclose(last.weights, expected.weights, atol=1e-8)
    result = last.transform(margins.T[..., None])
    assert result.shape == (n, 1)
    difference = np.diff(expected.transform(pairs), axis=-1)
    np.testing.assert_allclose(result, difference, atol=1e-7)
    images = np.float32(pairs).reshape(3, 100, 3, 2)
    again = um.EnsembleTemperatureScaling(ensemble_axis=2)
    again.fit(labels.reshape(3, 100), images)
    np.testing.assert_allclose(again.temperature, expected.temperature, rtol=1e-4)
    assert again.transform(images).shape == (3, 100, 2)
    assert again.transform(images).dtype == np.float32
    # Equal members share the weight of one.
    twice = um.EnsembleTemperatureScaling().fit(labels, np.repeat(pairs, 2, axis=1))
    np.testing.assert_allclose(twice.temperature, expected.temperature, rtol=1e-8)
    np.testing.assert_allclose(twice.weights[::2], twice.weights[1::2], atol=1e-6)
    with pytest.raises(ValueError, match="must have 3 members"):
        expected.transform(np.repeat(pairs, 2, axis=1))
    with pytest.raises(ValueError, match="of rank 3 or more"):
        expected.fit(labels, pairs[:, 0])
