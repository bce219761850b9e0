"""Information criteria against ArviZ, loops, and a model with a known posterior."""

import math
import statistics
import tempfile
import unittest.mock
import warnings

import numpy as np
import pytest
from scipy import stats

from uncertainty_metrics.numpy import regression
from uncertainty_metrics.numpy.information import _psis, leave_one_out
from uncertainty_metrics.numpy.information import information_criteria as criteria

# On its first import of a day, ArviZ warns and writes a file to the user's cache. This
# fails if two processes do it at the same time, so each process has its own folder.
with (
    tempfile.TemporaryDirectory() as folder,
    unittest.mock.patch("platformdirs.user_cache_dir", return_value=folder),
    warnings.catch_warnings(),
):
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FUNCTIONS = {
    "waic1": criteria.negative_waic,
    "waic2": lambda logp: criteria.negative_waic(logp, "waic2"),
    "iscv": criteria.importance_sampling_cross_validation,
    "psis_loo": criteria.psis_loo,
}
every_criterion = pytest.mark.parametrize("name", FUNCTIONS)


def naive(logp, name):
    """Returns the criterion of each instance of logp [n, m], by the formulas."""
    values = []
    for row in np.asarray(logp).tolist():
        m = len(row)
        log_mean = math.log(math.fsum(math.exp(x) for x in row) / m)
        if name == "waic1":
            values.append(log_mean - statistics.variance(row))
        elif name == "waic2":
            values.append(2 * statistics.fmean(row) - log_mean)
        elif name == "iscv":
            values.append(-math.log(math.fsum(math.exp(-x) for x in row) / m))
        else:
            values.append(float(arviz_loo(np.array([row]))[0][0]))
    return np.array(values)


def arviz_loo(logp, reff=1.0):
    """Returns the PSIS-LOO and the Pareto k of each instance of logp [n, m]."""
    weights, k = arviz.psislw(-logp, reff)
    return np.logaddexp.reduce(weights + logp, axis=-1), k


DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "alike": lambda rng, shape: -3 + 0.01 * rng.normal(size=shape),
    "wide": lambda rng, shape: 20 * rng.normal(size=shape),
    "vast": lambda rng, shape: 1e5 * rng.normal(size=shape),
    "light tails": lambda rng, shape: rng.uniform(-1, 0, size=shape),
    "heavy tails": lambda rng, shape: (
        rng.uniform(0.1, 8, [shape[0], 1]) * np.log(rng.uniform(size=shape))
    ),
    "some ties": lambda rng, shape: -0.1 * rng.integers(shape[1], size=shape),
    "many ties": lambda rng, shape: -1.0 * rng.integers(3, size=shape),
}


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("m", [2, 3, 5, 20, 21, 25, 100, 400, 1000])
def test_psis_loo_equals_arviz(draws, m, rng):
    logp = DRAWS[draws](rng, (20, m))
    expected, expected_k = arviz_loo(logp)
    estimate, sem, k = criteria.psis_loo(logp)
    np.testing.assert_allclose(k, expected_k, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(estimate, expected.mean(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sem, stats.sem(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reff", [0.01, 0.3, 2.5, 40.0])
@pytest.mark.parametrize("m", [25, 400])
def test_relative_efficiency_equals_arviz(reff, m, rng):
    logp = DRAWS["heavy tails"](rng, (20, m))
    expected, expected_k = arviz_loo(logp, reff)
    estimate, _, k = criteria.psis_loo(logp, reff)
    np.testing.assert_allclose(k, expected_k, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(estimate, expected.mean(), rtol=1e-9, atol=1e-9)


def naive_loo_pit(labels, samples, logp, reff):
    """Yields the PIT interval of each label, by the weights of ArviZ."""
    log_weights, _ = arviz.psislw(-logp, reff)
    for y, row, logs in zip(labels, samples, log_weights, strict=True):
        m = len(row)
        below = upto = 0.0
        for x, log in zip(row, logs, strict=True):
            below += math.exp(log) * (x < y)
            upto += math.exp(log) * (x <= y)
        yield m * below / (m + 1), (m * upto + 1) / (m + 1)


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("draws", ["normal", "heavy tails", "wide", "vast"])
@pytest.mark.parametrize(("m", "reff"), [(7, 1.0), (60, 1.0), (400, 0.2)])
def test_loo_pit_equals_the_loop(counts, draws, m, reff, rng):
    logp = DRAWS[draws](rng, (20, m))
    labels, samples = rng.normal(size=20), rng.normal(size=(20, m))
    if counts:
        labels, samples = np.round(labels), np.round(samples)
    pit = leave_one_out.loo_pit(labels[:, None], samples, logp, reff)
    expected = np.array([*naive_loo_pit(labels, samples, logp, reff)])
    assert pit.lower.shape == pit.upper.shape == (20, 1)
    np.testing.assert_allclose(np.concatenate(pit, axis=1), expected, atol=1e-9)


def test_loo_pit_with_equal_weights_is_the_pit_of_samples(rng):
    labels, samples = rng.normal(size=9).round(), rng.normal(size=(9, 50)).round()
    found = leave_one_out.loo_pit(labels, samples, np.full([9, 50], -2.0))
    np.testing.assert_allclose(
        found, regression.sample_pit(samples, labels), atol=1e-14
    )


def test_the_order_of_draws_does_not_matter(rng):
    # A draw that the sampler repeats has equal logp, but different samples.
    logp = np.repeat(rng.normal(size=(5, 30)), 4, axis=1)
    labels, samples = rng.normal(size=5), rng.normal(size=(5, 120))
    found = leave_one_out.loo_pit(labels, samples, logp)
    order = rng.permutation(120)
    again = leave_one_out.loo_pit(labels, samples[:, order], logp[:, order])
    np.testing.assert_allclose(again, found, atol=1e-12)


@pytest.mark.parametrize("m", [10, 300])
def test_loo_pit_of_a_calibrated_model_is_uniform(m, rng):
    # All labels share one mean with a flat prior, so each label moves it a little.
    n, repeats = 50, 60
    pits = []
    for _ in range(repeats):
        y = rng.normal(size=n)
        means = rng.normal(y.mean(), 1 / math.sqrt(n), m)
        logp = stats.norm.logpdf(y[:, None], means)
        samples = means + rng.normal(size=(n, m))
        pits.append(leave_one_out.loo_pit(y, samples, logp))
    pit = regression.PITInterval(*np.concatenate(pits, axis=1))
    density = regression.pit_histogram(pit).density
    # The dependence of the labels in a data set makes the histogram even flatter.
    np.testing.assert_allclose(density, 1, atol=5 * math.sqrt(9 / (n * repeats)))


def test_bad_leave_one_out_arguments_raise():
    good = {
        "labels": np.zeros(3),
        "predictive_samples": np.zeros([3, 4]),
        "logp": np.zeros([3, 4]),
    }
    for change, said in (
        ({"reff": 0}, "`reff` must be a finite number > 0. Received: 0"),
        ({"reff": np.inf}, "`reff` must be a finite number > 0"),
        ({"logp": np.zeros([3, 5])}, r"`logp` must be of the shape .*\[3, 4\]"),
        ({"logp": np.full([3, 4], np.nan)}, "`logp` must be finite"),
        ({"labels": np.zeros(4)}, "`predictive_samples` must be of the shape"),
        ({"predictive_samples": np.zeros([3, 4, 2])}, r"of shape \[n, m\]"),
        ({"labels": [0.0, np.nan, 0.0]}, "`labels` must be finite"),
    ):
        with pytest.raises(ValueError, match=said):
            leave_one_out.loo_pit(**{**good, **change})
    with pytest.raises(ValueError, match="`reff` must be a finite number > 0"):
        criteria.psis_loo(good["logp"], -1)
    with pytest.warns(UserWarning, match="Pareto k exceeds") as caught:
        leave_one_out.loo_pit(**good)
    assert caught[0].filename == __file__


def inference_data(logp):
    return arviz.from_dict(
        posterior={"theta": np.zeros([1, logp.shape[1]])},
        log_likelihood={"y": logp.T[None]},
    )


@every_criterion
@pytest.mark.parametrize("m", [2, 7, 60])
def test_equals_the_formulas(name, m, rng):
    logp = rng.normal(-1, 0.8, size=(9, m))
    values = naive(logp, name)
    result = FUNCTIONS[name](logp)
    np.testing.assert_allclose(result.estimate, values.mean(), rtol=1e-12)
    np.testing.assert_allclose(result.sem, stats.sem(values), rtol=1e-12)
    assert type(result.estimate) is type(result.sem) is float


@every_criterion
def test_further_axes_are_computed_one_by_one(name, rng):
    logp = rng.normal(size=(5, 30, 2, 3))
    result = FUNCTIONS[name](logp)
    for i in np.ndindex(2, 3):
        single = FUNCTIONS[name](logp[(..., *i)])
        for whole, part in zip(result, single, strict=True):
            np.testing.assert_allclose(whole[(..., *i)], part, rtol=1e-12)


@every_criterion
@pytest.mark.parametrize("m", [4, 40])
def test_equal_draws_give_their_value(name, m):
    result = FUNCTIONS[name](np.full([3, m], -2.5))
    assert result.estimate == pytest.approx(-2.5, abs=1e-14)
    assert result.sem == pytest.approx(0, abs=1e-14)
    if name == "psis_loo":
        assert np.all(np.isinf(result.pareto_k))


@every_criterion
def test_one_instance_has_no_standard_error(name, rng):
    logp = rng.normal(size=(1, 30))
    result = FUNCTIONS[name](logp)
    assert result.estimate == pytest.approx(naive(logp, name)[0])
    assert math.isnan(result.sem)
    assert np.isnan(FUNCTIONS[name](logp[..., None]).sem).tolist() == [True]


def test_fit_of_equal_ratios_is_the_limit_of_unequal_ones():
    # A tail of 100 equal ratios gives a theta of exactly 0, where formulas divide by 0.
    m = 1111
    logp = np.zeros([2, m])
    logp[:, :100] = -math.log(2)
    logp[1, :100] *= 1 + 1e-9
    _, _, k = criteria.psis_loo(logp)
    assert k[0] == pytest.approx(k[1], rel=1e-4)
    estimates = [criteria.psis_loo(row[None]).estimate for row in logp]
    assert estimates[0] == pytest.approx(estimates[1], abs=1e-6)


def test_blocks_do_not_change_the_results(rng, monkeypatch):
    logp = rng.normal(size=(7, 50, 3))
    whole = criteria.psis_loo(logp)
    monkeypatch.setattr(_psis, "_BLOCK", 4000)
    for part, expected in zip(criteria.psis_loo(logp), whole, strict=True):
        np.testing.assert_array_equal(part, expected)


@every_criterion
@pytest.mark.parametrize("scale", [1e-200, 1e70])
def test_extreme_numbers_give_the_limits(name, scale, rng):
    logp = scale * rng.normal(size=(4, 50))
    result = FUNCTIONS[name](logp)
    if name == "waic1":
        expected = logp.max(axis=1) - logp.var(axis=1, ddof=1)
    elif name == "waic2":
        expected = 2 * logp.mean(axis=1) - logp.max(axis=1)
    else:
        expected = logp.min(axis=1)
    if scale > 1:
        np.testing.assert_allclose(result.estimate, expected.mean(), rtol=1e-12)
    else:
        assert abs(result.estimate) < 1e-190


def conjugate(rng, n, m):
    """Makes data of a Normal of variance 1, whose unknown mean has a known posterior.

    Returns:
      logp [n, m] under evenly spread quantiles of the posterior of the mean, and the
      log-density of each instance given all others.
    """
    y = rng.normal(0.5, 1, size=n)
    precision = 1 / 2.0**2 + n
    standard = stats.norm.ppf((np.arange(m) + 0.5) / m)
    means = y.sum() / precision + standard / np.sqrt(precision)
    others = precision - 1
    exact = stats.norm.logpdf(y, (y.sum() - y) / others, np.sqrt(1 + 1 / others))
    return stats.norm.logpdf(y[:, None], means), exact


@every_criterion
def test_close_to_the_exact_leave_one_out_value(name, rng):
    logp, exact = conjugate(rng, 60, 1000)
    result = FUNCTIONS[name](logp)
    trained = np.logaddexp.reduce(logp, axis=1) - np.log(1000)
    optimism = trained.mean() - exact.mean()
    assert abs(result.estimate - exact.mean()) < 0.15 * optimism
    assert result.sem == pytest.approx(stats.sem(exact), rel=0.02)


@pytest.mark.parametrize("name", ["waic1", "waic2", "iscv"])
def test_warning_counts_variances_of_divisor_m_minus_1(name):
    # The variances are 1/2 and 1/8; with divisor m, none would be above 0.4.
    with pytest.warns(UserWarning, match="for 1 of 2 instances"):
        FUNCTIONS[name](np.array([[0, -1], [0, -0.5]]))


@every_criterion
def test_estimates_shift_with_logp_and_ignore_order(name, rng):
    logp = rng.normal(size=(6, 50))
    result = FUNCTIONS[name](logp)
    # A factor of the likelihoods is a shift of logp.
    shift = rng.normal(scale=100, size=(6, 1))
    moved = FUNCTIONS[name](logp + shift)
    np.testing.assert_allclose(
        moved.estimate, result.estimate + shift.mean(), atol=1e-10
    )
    order = rng.permutation(6)
    moved = FUNCTIONS[name](logp[order][:, rng.permutation(50)])
    np.testing.assert_allclose(moved[:2], result[:2], rtol=1e-12)
    if name == "psis_loo":
        np.testing.assert_allclose(moved.pareto_k, result.pareto_k[order], rtol=1e-9)


@pytest.fixture
def models(rng):
    """Makes the logp of three models on 40 instances."""
    hard = rng.normal(size=(40, 1)) ** 2
    return {
        "best": -hard + 0.1 * rng.normal(size=(40, 300)),
        "bad": -2 * hard - 1 + 0.9 * rng.normal(size=(40, 200)),
        "second": -hard - 0.5 * rng.uniform(size=(40, 1)) + np.zeros([40, 25]),
    }


@pytest.mark.filterwarnings("error")
@every_criterion
def test_comparison_ranks_models_and_has_paired_differences(name, models):
    table = criteria.compare_information_criteria(models, name)
    assert table.criterion == name
    assert [row.name for row in table.models] == ["best", "second", "bad"]
    assert [row.rank for row in table.models] == [1, 2, 3]
    pointwise = {key: naive(logp, name) for key, logp in models.items()}
    for row in table.models:
        values = pointwise[row.name]
        behind = pointwise["best"] - values
        np.testing.assert_allclose(
            [row.estimate, row.sem, row.difference, row.difference_sem],
            [values.mean(), stats.sem(values), behind.mean(), stats.sem(behind)],
            rtol=1e-9,
            atol=1e-12,
        )
        assert all(type(number) is float for number in row[2:6])
        if name == "psis_loo":
            logp = models[row.name]
            limit = min(1 - 1 / np.log10(logp.shape[1]), 0.7)
            unreliable = np.sum(arviz_loo(logp)[1] > limit)
        else:
            unreliable = np.sum(models[row.name].var(axis=1, ddof=1) > 0.4)
        assert row.num_unreliable == unreliable
    assert table.models[1].num_unreliable == (40 if name == "psis_loo" else 0)


def test_comparison_equals_arviz(models):
    del models["second"]  # ArviZ warns of its equal draws, as it should.
    n = 40
    expected = arviz.compare(
        {name: inference_data(logp) for name, logp in models.items()},
        method="pseudo-BMA",
        scale="log",
    )
    one = arviz.loo(inference_data(models["best"]), pointwise=True, reff=1.0)
    assert _psis.max_pareto_k(300) == one.good_k
    np.testing.assert_allclose(
        criteria.psis_loo(models["best"]).pareto_k, one.pareto_k, rtol=1e-9
    )
    table = criteria.compare_information_criteria(models)
    assert list(expected.index) == [row.name for row in table.models]
    of_the_mean = np.sqrt(n / (n - 1)) / n
    for row, theirs in zip(table.models, expected.itertuples(), strict=True):
        np.testing.assert_allclose(row.estimate, theirs.elpd_loo / n, rtol=1e-9)
        np.testing.assert_allclose(row.sem, theirs.se * of_the_mean, rtol=1e-9)
        np.testing.assert_allclose(row.difference, theirs.elpd_diff / n, rtol=1e-9)
        np.testing.assert_allclose(
            row.difference_sem, theirs.dse * of_the_mean, rtol=1e-9
        )
        assert (row.num_unreliable > 0) == theirs.warning


def test_comparison_prints_an_aligned_table():
    logps = {"a": np.full([4, 3], -1000.0), "a long name": np.zeros([4, 30])}
    logps["a"][0] -= [0.0, 1.0, 2.0]
    text = str(criteria.compare_information_criteria(logps, "waic2"))
    assert text.split("\n") == [
        "waic2        rank    estimate     sem  difference  difference_sem  "
        "num_unreliable",
        "a long name     1      0.0000  0.0000      0.0000          0.0000  "
        "             0",
        "a               2  -1000.3272  0.3272   1000.3272          0.3272  "
        "             1",
    ]


def test_comparison_of_equal_models_and_of_one_model():
    logp = np.arange(12.0).reshape(3, 4)
    table = criteria.compare_information_criteria({"b": logp, "a": logp}, "iscv")
    assert [(row.name, row.rank) for row in table.models] == [("b", 1), ("a", 2)]
    assert table.models[1].difference == table.models[1].difference_sem == 0
    (row,) = criteria.compare_information_criteria({"b": logp}, "iscv").models
    assert row == table.models[0]


def test_bad_comparisons_raise():
    compare = criteria.compare_information_criteria
    logp = np.zeros([3, 4])
    with pytest.raises(TypeError, match=r"`logps` must be a mapping.* Received: list"):
        compare([logp])
    with pytest.raises(TypeError, match=r"`logps\['a'\]` must hold numbers"):
        compare({"a": [["a", "b"]]})
    bad = logp.copy()
    bad[2, 1] = np.nan
    of_one = r"`logps\['a'\]` must be "
    for logps, said in (
        ({}, "`logps` must hold at least one model"),
        ({"a": bad}, of_one + r"finite. Received: nan at \[2, 1\]"),
        ({"a": logp[:, :1]}, r"`logps\['a'\]` must have at least 2 members"),
        ({"a": logp[0]}, of_one + r"of shape \[n, m, ...\]"),
        ({"a": [[0.0, 1.0], [2.0]]}, of_one + "a rectangular array"),
        ({"a": logp, "b": logp[..., None]}, r"of shape \[n, m\] each.*\[3, 4, 1\]"),
        ({"a": logp, "b": logp[:2]}, r"the same n instances.*'b': \[2, 4\]"),
    ):
        with pytest.raises(ValueError, match=said):
            compare(logps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chains_taken_for_instances_bring_a_warning(name):
    logp = np.random.default_rng(0).normal(size=(4, 100, 20)) / 10
    words = (
        r"`logp` of shape \[4, 100, 20\] is read as 4 instances with 100 members each, "
        r"20 times.*pass `np.moveaxis\(logp, -1, 0\).reshape\(20, -1\)`"
    )
    with pytest.warns(UserWarning, match=words):
        FUNCTIONS[name](logp)
    fixed = np.moveaxis(logp, -1, 0).reshape(20, -1)
    assert fixed.shape == (20, 400)
    np.testing.assert_array_equal(fixed[3], logp[:, :, 3].reshape(-1))
    many = np.repeat(logp, 4, axis=0)
    with pytest.warns(UserWarning, match=r"`logp` of shape \[16, 100, 20\]"):
        FUNCTIONS[name](many)
    for other in (fixed, logp[:, :99], logp[:, :, :4], np.repeat(logp, 5, axis=0)):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "`logp` of shape", UserWarning)
            FUNCTIONS[name](other)


def test_equal_log_likelihoods_of_any_size_have_no_variance():
    for value in (-0.1, -1e30):  # 23 times the number is rounded.
        estimate, sem = criteria.negative_waic(np.full((2, 23), value))
        assert (estimate, sem) == (pytest.approx(value, rel=1e-15), 0)
