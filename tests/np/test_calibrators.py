"""Calibrators, against independent solvers, and what all of them do alike."""

import io
import itertools
import json

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _newton

CLASSES = {
    "temperature": um.TemperatureScaling,
    "vector": um.VectorScaling,
    "matrix": um.MatrixScaling,
    "odir": lambda: um.MatrixScaling(regularization="odir"),
    "platt": um.PlattScaling,
    "beta": um.BetaCalibration,
    "isotonic": um.IsotonicCalibration,
    "histogram": um.HistogramBinning,
}
ONE_AGAINST_REST = ("platt", "beta", "isotonic", "histogram")
LINEAR = ("vector", "matrix", "odir")
LEAST = 2.0**-24
every = pytest.mark.parametrize("name", CLASSES)
each_of_rest = pytest.mark.parametrize("name", ONE_AGAINST_REST)
each_linear = pytest.mark.parametrize("name", LINEAR)


def network(rng, n=600, classes=4):
    """Labels, and logits of a model that is too sure of them, some classes more."""
    logits = rng.normal(size=[n, classes])
    sure = logits * (1 + 0.2 * rng.normal(size=classes)) + rng.normal(size=classes) / 2
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    return labels, 2 * sure + rng.normal(size=[n, 1])


def weighted(rng, **options):
    labels, logits = network(rng, **options)
    return labels, logits, rng.integers(0, 4, len(labels))


def likelihood(logits, labels, weights):
    """Sum of the negative log-likelihoods."""
    logs = special.log_softmax(logits, axis=1)
    return -weights @ logs[np.arange(len(labels)), labels]


def deviation(z, weights):
    within = z - z.mean(axis=1, keepdims=True)
    return np.sqrt(np.average(np.mean(within**2, axis=1), weights=weights))


def descended(function, size):
    """The minimum by BFGS, and where it is."""
    found = optimize.minimize(
        function, np.zeros(size), method="BFGS", options={"gtol": 1e-7}
    )
    return found.fun, found.x


# Each against an independent solver.


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", ["logits", "probabilities"])
def test_vector_scaling_is_the_minimum(classes, form, rng):
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
def test_matrix_scaling_is_the_minimum(classes, regularization, rng):
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


def test_many_examples_are_the_same_problem(rng):
    labels, logits = network(rng, n=9000, classes=3)  # Some of them are fitted first.
    for scaling in (um.VectorScaling(), um.MatrixScaling()):
        scaling.fit(labels, logits)
        mapped = scaling.transform(logits)
        slopes = special.softmax(mapped, axis=1) - np.eye(3)[labels]
        # At the minimum the slope of the likelihood is that of the penalty.
        np.testing.assert_allclose(slopes.sum(axis=0), -10 * scaling.biases, atol=1e-5)


def test_a_large_ridge_is_temperature_scaling(rng):
    labels, logits = network(rng)
    temperature = um.TemperatureScaling().fit(labels, logits).temperature
    scaling = um.VectorScaling(ridge=1e9).fit(labels, logits)
    np.testing.assert_allclose(scaling.scales, 1 / temperature, rtol=1e-5)
    small = np.full(600, 1e-12)
    scaling.fit(labels, logits, sample_weight=small)
    np.testing.assert_allclose(scaling.scales, 1 / temperature, rtol=1e-5)
    scaling = um.MatrixScaling(ridge=1e9).fit(labels, logits)
    np.testing.assert_allclose(scaling.matrix, np.eye(4) / temperature, atol=1e-5)


def test_maps_without_ridge_are_those_of_scikit_learn(rng):
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
    """The maps of all classes, and their probabilities, divided by their sum."""
    columns = [1] if p.shape[1] == 2 else range(p.shape[1])
    maps = [solve(p[:, k], labels == k, weights) for k in columns]
    q = np.stack([one(p[:, k]) for k, one in zip(columns, maps, strict=True)], axis=1)
    if len(columns) == 1:
        return np.concatenate([1 - q, q], axis=1)
    nothing = q.sum(axis=1) == 0
    q[nothing] = p[nothing]
    return q / q.sum(axis=1, keepdims=True)


def _logistic(features, bounds):
    def solve(p, outcomes, weights):
        rows = features(p)

        def objective(x):
            z = x[:-1] @ rows + x[-1]
            value = weights @ (np.logaddexp(0, z) - outcomes * z)
            slopes = weights * (special.expit(z) - outcomes)
            return value, np.append(rows @ slopes, slopes.sum())

        x = optimize.minimize(
            objective,
            np.zeros(len(rows) + 1),
            jac=True,
            bounds=[*[bounds] * len(rows), (None, None)],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
        ).x
        return lambda p: special.expit(x[:-1] @ features(p) + x[-1])

    return solve


def _odds(p):
    return special.logit(np.clip(p, LEAST, 1 - LEAST))[None]


def _logs(p):
    p = np.clip(p, LEAST, 1 - LEAST)
    return np.stack([np.log(p), -np.log(1 - p)])


def _isotonic(p, outcomes, weights):
    peer = pytest.importorskip("sklearn.isotonic").IsotonicRegression(
        out_of_bounds="clip"
    )
    return peer.fit(p, outcomes, weights).predict


def _binned(p, outcomes, weights):
    edges = np.linspace(0, 1, 16)

    def found(score):
        for low, high in itertools.pairwise(edges):
            if (low < score <= high) or score == low == 0:
                held = ((p > low) & (p <= high)) | ((low == 0) & (p == 0))
                mass = weights[held].sum()
                return (weights * outcomes)[held].sum() / mass if mass else score
        raise AssertionError(score)

    return lambda p: np.array([found(score) for score in p])


SOLVERS = {
    "platt": _logistic(_odds, (None, None)),
    "beta": _logistic(_logs, (0, None)),
    "isotonic": _isotonic,
    "histogram": _binned,
}


@each_of_rest
@pytest.mark.parametrize("classes", [2, 4])
def test_equals_another_solver(name, classes, rng):
    labels, logits, weights = weighted(rng, n=400, classes=classes)
    p = special.softmax(logits, axis=1).round(2)  # Some are equal, some 0.
    p[:, -1] = (1 - p[:, :-1].sum(axis=1)).clip(0, 1).round(2)
    expected = one_against_rest(labels, p, weights, SOLVERS[name])
    scaling = CLASSES[name]().fit(labels, probabilities=p, sample_weight=weights)
    found = scaling.transform(probabilities=p)
    smooth = name in ("platt", "beta")
    np.testing.assert_allclose(found, expected, atol=1e-4 if smooth else 1e-12)
    assert 0 <= scaling.optimality_gap < 1e-10
    if smooth:  # No worse than the other in its own objective.
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
def test_bounds_of_beta_calibration(bend, rng):
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
    # Karush, Kuhn and Tucker: no slope of what is free, none upwards at a bound.
    q = map.transform(probabilities=p)
    rows = np.stack([np.log(p), -np.log(1 - p), np.ones(3000)])
    slopes = rows @ (q - labels) / 3000
    assert np.all(slopes[zero] >= -1e-9)
    np.testing.assert_allclose(np.delete(slopes, zero), 0, atol=1e-9)


def mixed(x, logits):
    """The logarithms of an ensemble's forecasts: x has log(1 / T) and the weights."""
    logs = special.log_softmax(np.exp(x[0]) * logits, axis=-1)
    return special.logsumexp(logs, axis=1, b=x[1:, None])


@pytest.mark.parametrize("classes", [2, 4])
def test_ensemble_temperature_scaling_is_the_minimum(classes, rng):
    n, members = 500, 3
    common = rng.normal(size=[n, 1, classes])
    logits = 2 * common + 2 * rng.normal(size=[n, members, classes])
    labels = np.argmax(common[:, 0] + rng.gumbel(size=[n, classes]), axis=1)
    logits[:, 2] = rng.normal(size=[n, classes])  # Knows nothing.
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


def test_ensembles_of_other_forms(rng):
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
    # Members that are the same share a weight.
    twice = um.EnsembleTemperatureScaling().fit(labels, np.repeat(pairs, 2, axis=1))
    np.testing.assert_allclose(twice.temperature, expected.temperature, rtol=1e-8)
    np.testing.assert_allclose(twice.weights[::2], twice.weights[1::2], atol=1e-6)
    with pytest.raises(ValueError, match="of 3 members"):
        expected.transform(np.repeat(pairs, 2, axis=1))
    with pytest.raises(ValueError, match="of rank 3 or more"):
        expected.fit(labels, pairs[:, 0])


# What all do alike.


@every
def test_weights_are_repetition(name, rng):
    labels, logits, weights = weighted(rng)
    times = np.repeat(np.arange(len(labels)), weights)
    repeated = CLASSES[name]().fit(labels[times], logits[times])
    expected = repeated.transform(logits)
    logits[weights == 0] = np.nan
    found = CLASSES[name]().fit(labels, logits, sample_weight=weights)
    shown = np.nan_to_num(logits)
    kept = weights > 0
    np.testing.assert_allclose(
        special.softmax(found.transform(shown)[kept], axis=1),
        special.softmax(expected[kept], axis=1),
        atol=1e-8,
    )
    ignored = CLASSES[name]().fit(
        np.where(kept, labels, -1), shown, sample_weight=weights, ignore_index=-1
    )
    np.testing.assert_array_equal(ignored.transform(shown), found.transform(shown))


@every
def test_order_of_examples_and_classes_does_not_matter(name, rng):
    labels, logits = network(rng)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    order, classes = rng.permutation(len(labels)), np.array([2, 0, 3, 1])
    found = CLASSES[name]().fit(labels[order], logits[order]).transform(logits)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    turned = CLASSES[name]().fit(np.argsort(classes)[labels], logits[:, classes])
    found = turned.transform(logits[:, classes])
    np.testing.assert_allclose(found, expected[:, classes], atol=1e-7)


@each_linear
@pytest.mark.parametrize("exponent", [-300, -8, 8, 300])
def test_any_scale_of_the_logits(name, exponent, rng):
    labels, logits = network(rng, n=300)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    scaled = logits * 2.0**exponent
    found = CLASSES[name]().fit(labels, scaled).transform(scaled)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("name", ["temperature", *ONE_AGAINST_REST])
def test_constants_added_to_logits_do_not_matter(name, rng):
    labels, logits = network(rng)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    shifted = logits + rng.normal(size=[len(labels), 1])
    found = CLASSES[name]().fit(labels, shifted).transform(shifted)
    np.testing.assert_allclose(
        special.softmax(found, axis=1), special.softmax(expected, axis=1), atol=1e-8
    )


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_was_given_comes_back(name, dtype, rng):
    labels, logits = network(rng)
    logits = logits.astype(dtype)
    p = special.softmax(logits.astype(np.float64), axis=1).astype(dtype)
    tolerance = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}[dtype]
    for form, given in (("logits", logits), ("probabilities", p)):
        given.flags.writeable = False
        scaling = CLASSES[name]().fit(labels, **{form: given})
        assert scaling.is_fitted
        found = scaling.transform(**{form: given})
        assert found.dtype == dtype
        assert found.shape == given.shape
        wide = CLASSES[name]().fit(labels, **{form: given.astype(np.float64)})
        expected = wide.transform(**{form: given.astype(np.float64)})
        if name != "histogram":  # Edges are of the type of the scores.
            np.testing.assert_allclose(
                found.astype(float), expected, rtol=tolerance, atol=tolerance
            )
        if form == "probabilities":
            np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
        images = given.reshape(2, 30, 10, 4)
        again = CLASSES[name]().fit(labels.reshape(2, 30, 10), **{form: images})
        np.testing.assert_array_equal(
            again.transform(**{form: images}).reshape(found.shape), found
        )


@every
def test_binary_forecasts_of_class_1(name, rng):
    labels, logits = network(rng, classes=2)
    margins = logits[:, 1] - logits[:, 0]
    p = special.expit(margins)
    pairs = np.stack([np.zeros_like(margins), margins], axis=1)
    both = CLASSES[name]().fit(labels, pairs).transform(pairs)
    for form, given, expected in (
        ("logits", margins, both[:, 1] - both[:, 0]),
        ("probabilities", p, None),
    ):
        if expected is None:
            rows = np.stack([1 - p, p], axis=1)
            scaling = CLASSES[name]().fit(labels, probabilities=rows)
            expected = scaling.transform(probabilities=rows)[:, 1]
        one = CLASSES[name]().fit(labels, **{form: given})
        np.testing.assert_allclose(
            one.transform(**{form: given}), expected, rtol=1e-6, atol=1e-12
        )
        column = CLASSES[name]().fit(labels, **{form: given[:, None]})
        found = column.transform(**{form: given[:, None]})
        np.testing.assert_array_equal(found[:, 0], one.transform(**{form: given}))
        if name != "temperature" or form == "probabilities":
            with pytest.raises(ValueError, match=f"`{form}` must be those of class 1"):
                one.transform(**{form: given.reshape(-1, 2)})
        else:
            continue
        assert one.transform(**{form: given[3]}).shape == ()


@pytest.mark.parametrize("name", ["temperature", *ONE_AGAINST_REST])
def test_probabilities_are_their_logits(name, rng):
    labels, logits = network(rng)
    p = special.softmax(logits, axis=1)
    of_logits = CLASSES[name]().fit(labels, logits)
    of_p = CLASSES[name]().fit(labels, probabilities=p)
    for scaling in (of_logits, of_p):
        np.testing.assert_allclose(
            special.softmax(scaling.transform(logits), axis=1),
            of_p.transform(probabilities=p),
            atol=1e-8,
        )


@each_linear
def test_probabilities_are_not_their_logits(name, rng):
    labels, logits = network(rng)
    p = special.softmax(logits, axis=1)
    with pytest.raises(ValueError, match="the fit had `logits`, whose map is another"):
        CLASSES[name]().fit(labels, logits).transform(probabilities=p)
    with pytest.raises(ValueError, match="the fit had `probabilities`, whose"):
        CLASSES[name]().fit(labels, probabilities=p).transform(logits)


def test_a_row_of_zeros_keeps_its_forecast():
    labels = [0, 1, 2, 0, 1, 2]
    p = np.eye(3)[labels] * 0.7 + 0.1
    map = um.HistogramBinning(num_bins=5).fit(labels, probabilities=p)
    row = [[0.15, 0.15, 0.7], [0.2, 0.2, 0.2]]  # Bins of 0, and one of 1.
    found = map.transform(probabilities=row)
    np.testing.assert_allclose(found, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)
    given = [[0.1, 0.2, 0.15]]
    found = map.transform(probabilities=given)
    np.testing.assert_allclose(found, np.array(given) / 0.45, rtol=1e-14)
    with np.errstate(divide="ignore"):
        logits = map.transform(np.log([[0.2, 0.2, 0.6], [1e-3, 1e-3, 0.998]]))
    # 0.6 was in no bin of the fit, and stays; 0.2 became 0.
    np.testing.assert_allclose(special.softmax(logits, axis=1), [[0, 0, 1]] * 2)


@each_of_rest
def test_maps_do_not_decrease_and_beta_keeps_calibrated_forecasts(name, rng):
    p = rng.uniform(size=4000)
    labels = rng.uniform(size=4000) < p
    map = CLASSES[name]().fit(labels, probabilities=p)
    grid = np.linspace(0, 1, 301)
    found = map.transform(probabilities=grid)
    if name != "histogram":
        assert np.all(np.diff(found) >= 0)
    if name in ("platt", "beta"):
        inside = (grid > 0.05) & (grid < 0.95)
        np.testing.assert_allclose(found[inside], grid[inside], atol=0.08)


# None harms a calibrated model by more than chance does.


@every
def test_calibrated_models_stay_as_good(name, rng):
    n = 1200
    logits = 1.5 * rng.normal(size=[n, 4])
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    fold = np.arange(n) % 4
    mended = np.empty_like(logits)
    for k in range(4):
        scaling = CLASSES[name]().fit(labels[fold != k], logits[fold != k])
        mended[fold == k] = scaling.transform(logits[fold == k])
    # Steps that say 0 have no likelihood to compare.
    score = um.negative_log_likelihood
    if name in ("isotonic", "histogram"):
        score = um.brier_score
    before, after = (score(labels, logits=z, aggregate=False) for z in (logits, mended))
    noise = np.std(after - before) / np.sqrt(n)
    # The variance of as many parameters as there are, beside that of the difference.
    size = {"matrix": 20, "odir": 20, "isotonic": 60, "histogram": 60}.get(name, 12)
    assert np.mean(after - before) < 4 * noise + 1.5 * size / n


@every
def test_mends_a_model_that_is_not(name, rng):
    labels, logits = network(rng, n=1500)
    half = np.arange(1500) < 1000
    scaling = CLASSES[name]().fit(labels[half], logits[half])
    mended = scaling.transform(logits[~half])
    before = um.brier_score(labels[~half], logits=logits[~half], aggregate=False)
    after = um.brier_score(labels[~half], logits=mended, aggregate=False)
    noise = np.std(after - before) / np.sqrt(500)
    assert np.mean(after - before) < 3 * noise


# What is refused.


@every
def test_data_that_leave_the_map_open(name, rng):
    labels, logits = network(rng)
    scaling = CLASSES[name]()
    with pytest.raises(ValueError, match="call `fit` first"):
        scaling.transform(logits)
    scaling.fit(labels, logits)
    before = scaling.transform(logits)
    flat = np.zeros_like(logits)
    with pytest.raises(ValueError, match="`logits` must be"):
        scaling.fit(labels, flat)
    if name != "temperature":  # Which one class may tell.
        with pytest.raises(ValueError, match="`labels` must be of two classes"):
            scaling.fit(np.zeros_like(labels), logits)
        with pytest.raises(ValueError, match="`logits` must be"):
            scaling.fit(labels, flat + np.arange(4.0))
    if name in ONE_AGAINST_REST:
        with pytest.raises(ValueError, match=r"once.* none of class 3"):
            scaling.fit(np.minimum(labels, 2), logits)
    if name in ("platt", "beta"):
        p = special.softmax(logits, axis=1)
        p[:, 2] = p[:, 1] / 4 + np.where(labels == 2, 0.6, 0.3)
        with pytest.raises(ValueError, match=r"tells the labels.*, of class 2"):
            scaling.fit(labels, probabilities=p)
    if name in ("temperature", *LINEAR):
        with pytest.raises(ValueError, match=r"`logits` must be (wrong|of labels)"):
            scaling.fit(np.argmax(logits, axis=1), logits)
    np.testing.assert_array_equal(scaling.transform(logits), before)


@each_linear
def test_separable_data_without_ridge(name, rng):
    regularization = {"odir": {"regularization": "odir"}}.get(name, {})
    cls = um.VectorScaling if name == "vector" else um.MatrixScaling
    _, logits = network(rng, n=60)
    worst = np.argmax(logits * [1.0, 2.0, 3.0, 0.5] + [1, 0, 0, -1], axis=1)
    with pytest.raises(ValueError, match="no best one without a larger `ridge`"):
        cls(ridge=0.0, **regularization).fit(worst, logits)
    mended = cls(ridge=1.0).fit(worst, logits).transform(logits)
    assert np.mean(np.argmax(mended, axis=1) == worst) > 0.75


def has_direction(z, labels, diagonal):
    """Says by linear programming if some map lowers the likelihood for ever."""
    classes = z.shape[1]
    each = np.eye(classes)
    rows = []
    for features, label in zip(z, labels, strict=True):
        for other in range(classes):
            difference = each[label] - each[other]
            slopes = features * difference
            if not diagonal:
                slopes = np.outer(difference, features).reshape(-1)
            rows.append(np.append(slopes, difference))
    rows = np.array(rows)
    found = optimize.linprog(-rows.sum(0), -rows, np.zeros(len(rows)), bounds=(-1, 1))
    return -found.fun > 1e-7


@pytest.mark.parametrize("cls", [um.VectorScaling, um.MatrixScaling])
def test_what_is_separable_is_what_linear_programming_says(cls, rng):
    told = set()
    for noise in (0.0, 0.1, 0.3, 3.0) * 2:
        z = rng.normal(size=[25, 3])
        true = 3 * z * [1.0, 2.0, 3.0]
        labels = np.argmax(true + 3 * noise * rng.gumbel(size=z.shape), axis=1)
        if noise == 0.3:  # Two classes overlap, the third is apart.
            labels = np.where(labels == 2, 2, rng.integers(0, 2, 25))
        open_ended = has_direction(z, labels, cls is um.VectorScaling)
        told.add(open_ended)
        try:
            cls(ridge=0.0).fit(labels, z)
        except ValueError:
            assert open_ended
        else:
            assert not open_ended
    assert told == {True, False}


def test_overlap_of_one_pair_is_enough():
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    for cls in (um.PlattScaling, um.BetaCalibration):
        with pytest.raises(ValueError, match="no threshold tells the labels"):
            cls().fit(labels, probabilities=p)
        swapped = labels.copy()
        swapped[3:5] = 1, 0
        map = cls().fit(swapped, probabilities=p)
        assert map.optimality_gap < 1e-9
    with pytest.raises(ValueError, match="no threshold tells the labels"):
        um.PlattScaling().fit(1 - labels, probabilities=p)
    # What never decreases says the frequency.
    map = um.BetaCalibration().fit(1 - labels, probabilities=p)
    np.testing.assert_allclose(map.transform(probabilities=p), 0.5, atol=1e-12)


@pytest.mark.parametrize("name", [*CLASSES, "ensemble"])
def test_bad_calls(name, rng):
    labels, logits = network(rng)
    cls = CLASSES.get(name, um.EnsembleTemperatureScaling)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    scaling = cls().fit(labels, logits)
    p = special.softmax(logits, axis=-1)
    before = scaling.transform(logits)
    for call in (scaling.transform, lambda x: scaling.fit(labels, x)):
        with pytest.raises(ValueError, match=r"logits; for probabilities use `prob"):
            call(p)
        with pytest.raises(ValueError, match="`logits` must be finite"):
            call(np.full_like(logits, np.nan))
        with pytest.raises(TypeError, match="`logits` must hold numbers"):
            call("abc")
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.fit(labels)
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.transform()
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.transform(logits, p)
    with pytest.raises(ValueError, match=r"`probabilities` must be in \[0, 1\]"):
        scaling.fit(labels, probabilities=logits)
    with pytest.raises(ValueError, match=r"integers in \[0, 4\)"):
        scaling.fit(labels + 3, logits)
    with pytest.raises(ValueError, match="`sample_weight` must be finite and >= 0"):
        scaling.fit(labels, logits, sample_weight=-np.ones(600))
    with pytest.raises(ValueError, match="`probabilities` must be"):
        scaling.transform(probabilities=np.zeros_like(p))
    with pytest.raises(ValueError, match="`probabilities` must be"):
        scaling.transform(probabilities=p[..., :3])
    with pytest.raises(ValueError, match="`logits` must be at least one"):
        scaling.transform(logits[:0])
    np.testing.assert_array_equal(scaling.transform(logits), before)


def test_bad_options():
    for ridge in (-1.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(ValueError, match="`ridge` must be finite and >= 0"):
            um.VectorScaling(ridge=ridge)
    with pytest.raises(ValueError, match="`regularization` must be one of 'ridge'"):
        um.MatrixScaling(regularization="lasso")
    with pytest.raises(ValueError, match="`num_bins` must be"):
        um.HistogramBinning(num_bins=0)
    with pytest.raises(ValueError, match="`ensemble_axis` must be an integer"):
        um.EnsembleTemperatureScaling(ensemble_axis="members")


@each_linear
def test_impossible_classes_have_no_linear_map(name, rng):
    labels, logits = network(rng)
    scaling = CLASSES[name]().fit(labels, logits)
    logits[0, (labels[0] + 1) % 4] = -np.inf
    for call in (scaling.transform, lambda x: scaling.fit(labels, x)):
        with pytest.raises(
            ValueError, match=r"`logits` must be finite\. Received: -inf"
        ):
            call(logits)


def test_newton_says_where_there_is_no_minimum():
    def falling(x):  # exp(-x): each step is 1.
        value = float(np.exp(-x[0]))
        return _newton.Local(value, np.array([-value]), hessian=np.array([[value]]))

    with pytest.raises(_newton.NotConverged):
        _newton.minimize(falling, np.zeros(1))

    def bent(x):
        value = float(np.cosh(x[0]))
        slope, curvature = np.sinh(x[:1]), np.cosh(x[:1])[:, None]
        return _newton.Local(value, slope, hessian=curvature)

    found = _newton.minimize(bent, np.array([3.0]))
    np.testing.assert_allclose(found.point, 0, atol=1e-12)
    assert found.gap < 1e-12


# Files.


@pytest.mark.parametrize("name", [*list(CLASSES)[1:], "ensemble"])
def test_saved_and_loaded(name, rng, tmp_path):
    labels, logits = network(rng)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    made = CLASSES.get(name, um.EnsembleTemperatureScaling)()
    path = tmp_path / "map.bin"
    made.save(path)
    assert not type(made).load(path).is_fitted
    made.fit(labels, logits).save(str(path))
    file = io.BytesIO()
    made.save(file)
    assert file.getvalue() == path.read_bytes()
    file.seek(0)
    for source in (path, str(path), file):
        again = type(made).load(source)
        assert type(again) is type(made)
        assert again.get_config() == made.get_config()
        assert again.optimality_gap == made.optimality_gap
        np.testing.assert_array_equal(again.transform(logits), made.transform(logits))
    other = um.PlattScaling if name != "platt" else um.BetaCalibration
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        other.load(path)


def rewritten(path, **changes):
    """Writes a file anew, with other arrays or fields of the header."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").item())
    for key, value in changes.items():
        (header if key in header else arrays)[key] = value
    arrays = {k: v for k, v in arrays.items() if v is not None}
    with open(path, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)


NAN = np.array([np.nan, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "else"},
        {"version": 2},
        {"class": "MatrixScaling"},
        {"config": {"ridge": -1}},
        {"config": {"other": 1}},
        {"config": None},
        {"layout": None},
        {"layout": ["logits", 4]},
        {"layout": ["logits", 5, None]},
        {"layout": ["margins", 4, None]},
        {"layout": ["logits", 4, 1]},
        {"layout": ["logits", 4.0, None]},
        {"layout": ["logits", 10**30, None]},
        {"scales": np.ones(3)},
        {"scales": NAN},
        {"scales": np.ones(4, np.float32)},
        {"scales": np.array([None] * 4)},
        {"scales": None},
        {"more": np.ones(4)},
    ],
    ids=str,
)
def test_hostile_files(changes, rng, tmp_path):
    path = tmp_path / "map.npz"
    um.VectorScaling().fit(*network(rng)).save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        um.VectorScaling.load(path)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("beta", {"a": np.array([-1.0, 1.0, 1.0, 1.0])}),
        ("platt", {"c": np.ones(5)}),
        ("isotonic", {"counts": np.array([1.0, 1.0, 1.0, 1e300])}),
        ("isotonic", {"counts": np.array([1.5, 1.0, 1.0, 1.0])}),
        ("isotonic", {"knots": np.ones([2, 3])}),
        ("histogram", {"frequencies": np.full([4, 15], 1.5)}),
        ("histogram", {"config": {"num_bins": 7}}),
        ("ensemble", {"weights": np.array([0.5, 0.6, -0.1])}),
        ("ensemble", {"temperature": np.array(0.0)}),
        ("ensemble", {"weights": np.ones([0])}),
    ],
    ids=str,
)
def test_files_with_what_is_no_map(name, changes, rng, tmp_path):
    labels, logits = network(rng)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    made = CLASSES.get(name, um.EnsembleTemperatureScaling)()
    path = tmp_path / "map.npz"
    made.fit(labels, logits).save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        type(made).load(path)


def test_damaged_files(rng, tmp_path):
    path = tmp_path / "map.npz"
    um.PlattScaling().fit(*network(rng)).save(path)
    content = path.read_bytes()
    for part in (b"", content[:100], content[:-30], b"{}", content.replace(b"a", b"b")):
        path.write_bytes(part)
        with pytest.raises(ValueError, match="`path` must be a file that `save`"):
            um.PlattScaling.load(path)


def test_layout_of_a_temperature_is_kept(rng, tmp_path):
    labels, logits = network(rng, classes=2)
    p = special.expit(logits[:, 1] - logits[:, 0])
    scaling = um.TemperatureScaling().fit(labels, probabilities=p)
    scaling.save(tmp_path / "temperature.json")
    again = um.TemperatureScaling.load(tmp_path / "temperature.json")
    expected = scaling.transform(probabilities=p)
    np.testing.assert_array_equal(again.transform(probabilities=p), expected)
    # A file without it, of an earlier version, serves logits.
    old = um.TemperatureScaling.from_config({"temperature": 2.0})
    assert old.is_fitted
    np.testing.assert_array_equal(old.transform([[4.0, 0.0]]), [[2.0, 0.0]])
    with pytest.raises(ValueError, match="call `fit` first"):
        old.transform(probabilities=p)
    for layout in (["logits", "2", None], [], "logits", 3):
        with pytest.raises((TypeError, ValueError)):
            um.TemperatureScaling.from_config({"temperature": 2.0, "layout": layout})
