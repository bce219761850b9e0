"""Loops compiled by Numba have the values of NumPy and of SciPy; small arrays and
processes without Numba do not use them.
"""

import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _compiled_loops, _threads

N = _compiled_loops._MANY + 3


def test_arrays_that_are_not_large_do_not_start_numba():
    code = (
        "import contextlib, sys, numpy as np, uncertainty_metrics.numpy as um\n"
        "with contextlib.suppress(ImportError):\n"
        "    import numba\n"
        "um.pinball_loss(np.zeros(10**6), np.ones(10**6), 0.9)\n"
        f"print({_compiled_loops._STARTED!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr


def test_without_numba_numpy_does_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setitem(sys.modules, _compiled_loops._STARTED, None)
    monkeypatch.delitem(
        sys.modules, "uncertainty_metrics.numpy._numba_loops", raising=False
    )
    # An imported module is also an attribute of its package.
    monkeypatch.delattr("uncertainty_metrics.numpy._numba_loops", raising=False)
    _compiled_loops._module.cache_clear()
    try:
        assert _compiled_loops.loops(np.zeros(N)) is None
        assert np.all(um.pinball_loss(np.zeros(N), np.ones(N), 0.75) == 0.25)
    finally:
        _compiled_loops._module.cache_clear()


@pytest.fixture(params=["float32", "float64"])
def numbers(request):
    """Returns a function that draws numbers of a type, in a process that uses Numba."""
    numba = pytest.importorskip("numba", reason="needs the extra `fast`")
    numba.njit(lambda: 0)()
    rng = np.random.default_rng(0)
    return lambda *shape: rng.normal(size=shape).astype(request.param)


@pytest.fixture
def used(numbers, monkeypatch):
    """Returns the list of compiled loops that were called."""
    names, fill = [], _compiled_loops.fill

    def recorded(out, loop, *arrays, **options):
        names.append(loop.__name__)
        return fill(out, loop, *arrays, **options)

    monkeypatch.setattr(_compiled_loops, "fill", recorded)
    return names


def test_few_numbers_other_types_and_gaps_are_left_to_numpy(numbers):
    many = numbers(N)
    assert _compiled_loops.loops(many, many) is not None
    assert _compiled_loops.loops(many[:100]) is None
    assert _compiled_loops.loops(many.astype(np.float16)) is None
    assert _compiled_loops.loops(many, many.astype(np.longdouble)) is None
    assert _compiled_loops.loops(numbers(2 * N)[::2]) is None


def pinball(labels, quantiles, level):
    y, q = labels.astype(np.float64), quantiles.astype(np.float64)
    return np.where(y >= q, level, level - 1) * (y - q)


def test_pinball_loss(numbers, used):
    labels, quantiles = numbers(N), numbers(N)
    losses = um.pinball_loss(labels, quantiles, 0.9)
    np.testing.assert_array_equal(losses, pinball(labels, quantiles, 0.9))
    assert used == ["pinball"]


def test_pinball_loss_of_several_levels(numbers, used):
    labels, quantiles, levels = numbers(N), numbers(N, 3), np.array([0.1, 0.5, 0.9])
    losses = um.pinball_loss(labels, quantiles, levels)
    np.testing.assert_array_equal(losses, pinball(labels[:, None], quantiles, levels))
    assert used == ["pinball_of_levels"]


def test_interval_score(numbers, used):
    labels, lower, width = numbers(N), numbers(N), np.abs(numbers(N))
    upper = lower + width
    scores = um.interval_score(labels, lower, upper, alpha=0.1)
    y, low, high = (x.astype(np.float64) for x in (labels, lower, upper))
    outside = np.where(y < low, low - y, np.where(y > high, y - high, 0.0))
    np.testing.assert_array_equal(scores, outside * 20.0 + (high - low))
    assert used == ["interval"]


@pytest.mark.parametrize("classes", [2, 3, 100])
def test_negative_log_likelihood_of_classes(numbers, used, classes):
    logits = 5 * numbers(-(-N // classes), classes)
    labels = np.arange(len(logits)) % classes
    logits[::7, 0] = -np.inf  # A class of probability 0.
    labels[::7] = 1
    scores = um.negative_log_likelihood(labels, logits=logits, aggregate=False)
    wide = logits.astype(np.float64)
    expected = special.logsumexp(wide, axis=1) - wide[np.arange(len(wide)), labels]
    np.testing.assert_allclose(scores, expected, rtol=1e-14, atol=1e-14)
    # A sum of exponentials up to 1 is exactly that, so no score is negative.
    assert scores.min() >= 0
    assert used == ["likelihood_of_classes"]


def test_logits_far_above_that_of_the_label_are_left_to_numpy(numbers):
    logits = numbers(N, 2)
    logits[5] = 0, 2000
    labels = np.zeros(N, int)
    scores = um.negative_log_likelihood(labels, logits=logits, aggregate=False)
    assert scores[5] == 2000
    logits[5] = -np.inf, 0
    scores = um.negative_log_likelihood(labels, logits=logits, aggregate=False)
    assert scores[5] == np.inf


@pytest.mark.parametrize("rest", range(4))
def test_negative_log_likelihood_of_normals(numbers, rest):
    means, targets = numbers(N + rest), numbers(N + rest)
    variances = np.exp(numbers(N + rest))
    value = um.regression.negative_log_likelihood(means, variances, targets)
    scales = np.sqrt(variances.astype(np.float64))
    densities = stats.norm.logpdf(targets.astype(np.float64), means, scales)
    np.testing.assert_allclose(value, -densities.mean(), rtol=1e-12)


@pytest.mark.parametrize("estimator", ["fair", "nrg", "almost_fair"])
def test_crps_of_samples(numbers, estimator):
    m = 9
    labels, samples = numbers(-(-N // m)), numbers(-(-N // m), m)
    scores = um.crps_score(labels, samples, estimator=estimator)
    y, x = labels.astype(np.float64), samples.astype(np.float64)
    pairs = np.abs(x[:, :, None] - x[:, None]).sum(axis=(1, 2))
    fair, nrg = pairs / (m * (m - 1)), pairs / m**2
    share = {"fair": 1.0, "nrg": 0.0, "almost_fair": 0.95}[estimator]
    spread = share * fair + (1 - share) * nrg
    expected = np.abs(x - y[:, None]).mean(axis=1) - spread / 2
    np.testing.assert_allclose(scores, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("classes", [2, 3, 100])
def test_uncertainty_of_logits_of_members(numbers, classes):
    members = 4
    logits = 5 * numbers(-(-N // (members * classes)), members, classes)
    logits[::7, :, 0] = -np.inf  # A class of probability 0.
    p = special.softmax(logits.astype(np.float64), axis=-1)
    parts = um.model_uncertainty(logits=logits)
    expected = stats.entropy(p, axis=-1).mean(axis=1)
    total = stats.entropy(p.mean(axis=1), axis=-1)
    np.testing.assert_allclose(parts[2], expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(parts[1], total, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(parts[0], total - expected, atol=1e-13)
    if classes == 2:
        assert np.all(parts[2][::7] == 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_vector_scaling(numbers, weighted):
    n, classes, ridge = 30_000, 5, 2.0
    logits = numbers(n, classes).astype(np.float64)
    labels = np.argmax(2 * logits + np.arange(5) / 3 + 2 * numbers(n, classes), axis=1)
    weights = np.exp(numbers(n).astype(np.float64)) if weighted else np.ones(n)
    fitted = um.VectorScaling(ridge=ridge).fit(
        labels, logits=logits, sample_weight=weights
    )
    # The slopes of the penalised likelihood, of scales of logits of deviation 1.
    deviation = np.sqrt(np.average(np.var(logits, axis=1), weights=weights))
    scales = fitted.scales * deviation
    errors = special.softmax(logits * fitted.scales + fitted.biases, axis=1)
    errors[np.arange(n), labels] -= 1
    of_scales = weights @ (errors * logits) / deviation
    of_biases = weights @ errors + ridge * fitted.biases
    np.testing.assert_allclose(
        of_scales + ridge * (scales - scales.mean()), 0, atol=1e-8 * n
    )
    np.testing.assert_allclose(of_biases, 0, atol=1e-8 * n)
    assert fitted.optimality_gap < 1e-12


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_wrong_numbers_are_errors(numbers, wrong):
    labels, other = numbers(N), numbers(N)
    other[N - 1] = wrong
    place = rf"Received: {wrong} at \[{N - 1}\]"
    with pytest.raises(ValueError, match=f"`quantile_predictions`.*{place}"):
        um.pinball_loss(labels, other, 0.5)
    with pytest.raises(ValueError, match=f"`labels`.*{place}"):
        um.pinball_loss(other, labels, 0.5)
    samples = other[:-1].reshape(-1, 2).copy()
    samples[-1, -1] = wrong
    with pytest.raises(ValueError, match=f"`predictive_samples`.*Received: {wrong}"):
        um.crps_score(labels[: len(samples)], samples)
    for name in ("lower", "upper"):
        ends = {"lower": labels, "upper": labels} | {name: other}
        with pytest.raises(ValueError, match=f"`{name}`.*{place}"):
            um.interval_score(labels, **ends, alpha=0.1)


def test_values_do_not_depend_on_the_number_of_threads(numbers, monkeypatch):
    n = _threads.LARGE
    labels, quantiles, variances = numbers(n), numbers(n), np.exp(numbers(n))
    logits = numbers(n // 8, 8)
    classes = np.argmax(logits + numbers(n // 8, 8), axis=1)
    results = []
    for threads in (1, 2, 16):
        monkeypatch.setattr(_threads, "number_of_threads", lambda n=threads: n)
        results.append(
            (
                um.pinball_loss(labels, quantiles, 0.3),
                um.negative_log_likelihood(np.zeros(n // 8, int), logits=logits),
                um.regression.negative_log_likelihood(labels, variances, quantiles),
                um.crps_score(labels[: n // 8], logits),
                um.mutual_information(logits=logits.reshape(-1, 2, 8)),
                um.VectorScaling().fit(classes, logits=logits).biases,
            )
        )
    for result in results[1:]:
        for value, expected in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(value, expected)
