"""Label shift, against the EM algorithm, SciPy's optimum and closed forms."""

import functools

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.calibrators import _class_priors


def _draw(rng, n, shares, distance=1.5, slope=1.0, bias=0.0):
    """Returns labels and logits, right for even shares if the slope is 1."""
    classes = len(shares)
    labels = rng.choice(classes, n, p=shares)
    x = rng.normal(size=(n, classes))
    x[np.arange(n), labels] += distance
    return labels, slope * distance * x + bias * np.arange(classes)


def _even(classes):
    return np.full(classes, 1 / classes)


def _em(q, source, weights, steps=20_000):
    """The algorithm of Saerens et al., as they write it."""
    prior = source.copy()
    for _ in range(steps):
        adapted = q * prior / source
        adapted /= adapted.sum(axis=1, keepdims=True)
        prior = np.average(adapted, axis=0, weights=weights)
    return prior


class _Same:
    """A map that leaves the forecasts as they are."""

    def fit(self, labels, probabilities, sample_weight):
        return self

    def transform(self, probabilities):
        return probabilities


@pytest.mark.parametrize("shares", [(0.9, 0.1), (1.0, 0.0), (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_prior_is_the_limit_of_em(rng, shares, is_weighted):
    labels, z = _draw(rng, 500, _even(len(shares)))
    new = special.softmax(_draw(rng, 400, shares)[1], axis=1)
    weights = rng.exponential(size=400) if is_weighted else None
    p = special.softmax(z, axis=1)
    shift = um.LabelShift(calibrator=_Same, num_resamples=100).fit(labels, p)
    found = shift.adapt(new, sample_weight=weights)
    expected = _em(new, p.mean(axis=0), weights)
    np.testing.assert_allclose(found.prior, expected, atol=2e-4)
    np.testing.assert_allclose(found.source_prior, p.mean(axis=0))
    np.testing.assert_allclose(found.weights, found.prior / p.mean(axis=0))


def test_the_prior_has_the_largest_likelihood(rng):
    labels, z = _draw(rng, 500, _even(3))
    new = special.softmax(_draw(rng, 400, (0.6, 0.3, 0.1))[1], axis=1)
    p = special.softmax(z, axis=1)
    shift = um.LabelShift(calibrator=_Same, num_resamples=100).fit(labels, p)
    ratios = new / p.mean(axis=0)
    best = optimize.minimize(
        lambda x: -np.mean(np.log(ratios @ x)),
        _even(3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    ).x
    np.testing.assert_allclose(shift.adapt(new).prior, best, atol=1e-5)


def test_decisions_of_two_classes_have_a_closed_form(rng):
    """With two scores the likelihood has its maximum where the shares of the scores are
    those of the mixture: the inverse of the confusion matrix.
    """
    labels = np.repeat([0, 1], 300)
    says = np.where(rng.random(600) < 0.8, labels, 1 - labels)
    new = rng.random(500) < 0.35
    shift = um.LabelShift(num_resamples=100).fit(labels, np.where(says, 0.7, 0.3))
    found = shift.adapt(np.where(new, 0.7, 0.3))
    hits, alarms = says[labels == 1].mean(), says[labels == 0].mean()
    expected = (new.mean() - alarms) / (hits - alarms)
    assert found.prior[1] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_map_has_the_largest_likelihood(rng, classes):
    labels, z = _draw(rng, 400, _even(classes), slope=2.0, bias=1.0)
    z = special.log_softmax(z, axis=1)
    weights = rng.exponential(size=400)

    def loss(x):
        mapped = special.log_softmax(x[0] * z + np.append(0, x[1:]), axis=1)
        return -weights @ mapped[np.arange(400), labels] / weights.sum()

    best = optimize.minimize(loss, np.zeros(classes), method="BFGS", tol=1e-9)
    found = _class_priors.fit_slope_and_biases(z, labels, weights)
    np.testing.assert_allclose([found.slope, *found.biases[1:]], best.x, rtol=1e-3)
    means = np.average(found(z), axis=0, weights=weights)
    shares = np.bincount(labels, weights) / weights.sum()
    np.testing.assert_allclose(means, shares, atol=1e-9)


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.6, 0.4, 0.0), (0.3, 0.3, 0.4)])
def test_resamples_are_fits_with_other_weights(rng, shares):
    """Newton steps from the optimum end where fits from the start end."""
    labels, z = _draw(rng, 300, _even(len(shares)))
    z = special.log_softmax(z, axis=1)
    new = _draw(rng, 200, shares)[1]
    of_all = _class_priors.fit_slope_and_biases(z, labels, np.ones(300))
    weights, masses = rng.exponential(size=(20, 300)), rng.exponential(size=(20, 200))
    maps = _class_priors.refitted(of_all, z, labels, weights)
    ratios = of_all(new) / of_all(z).mean(axis=0)
    start = _class_priors.most_likely_shares(ratios, np.ones(200), _even(len(shares)))
    found = _class_priors.shares_of_resamples(
        np.tile(ratios, (20, 1, 1)), masses, start
    )
    for row in range(20):
        each = _class_priors.fit_slope_and_biases(z, labels, weights[row])
        expected = [each.slope, *each.biases]
        np.testing.assert_allclose(maps[row], expected, atol=1e-3)  # Other units.
        best = _class_priors.most_likely_shares(ratios, masses[row], _even(len(shares)))
        np.testing.assert_allclose(found[row], best, atol=1e-4)


def test_adapted_probabilities_are_those_of_bayes(rng):
    labels, z = _draw(rng, 500, _even(3))
    p, prior = special.softmax(z, axis=1), np.array([0.7, 0.2, 0.1])
    shift = um.LabelShift(calibrator=_Same).fit(labels, p)
    weighted = p * prior / p.mean(axis=0)
    expected = weighted / weighted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shift.transform(p, prior=prior), expected)
    np.testing.assert_allclose(shift.transform(logits=z, prior=prior), expected)


def test_a_known_prior_mends_balanced_training(rng):
    shares = np.array([0.95, 0.05])
    labels, z = _draw(rng, 4000, _even(2))  # Held out of balanced training.
    new_labels, new = _draw(rng, 4000, shares)
    p, q = special.expit(z[:, 1] - z[:, 0]), special.expit(new[:, 1] - new[:, 0])
    shift = um.LabelShift().fit(labels, p)
    mended = shift.transform(q, prior=0.05)
    np.testing.assert_array_equal(mended, shift.transform(q, prior=shares))
    assert mended.shape == q.shape
    assert um.brier_score(new_labels, mended) < um.brier_score(new_labels, q)
    assert abs(mended.mean() - new_labels.mean()) < 0.02
    column = shift.transform(q[:, None].astype(np.float32), prior=0.05)
    assert column.shape == (4000, 1)
    assert column.dtype == np.float32


def test_logits_and_probabilities_say_the_same(rng):
    labels, z = _draw(rng, 500, _even(3))
    _, new = _draw(rng, 300, (0.6, 0.3, 0.1))
    first = um.LabelShift(num_resamples=100).fit(labels, logits=z).adapt(logits=new)
    p, q = special.softmax(z, axis=1), special.softmax(new, axis=1)
    second = um.LabelShift(num_resamples=100).fit(labels, p).adapt(q)
    for name in ("prior", "lower", "upper"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), 1e-6)
    assert first.p_value == second.p_value
    np.testing.assert_allclose(first.transform(logits=new), second.transform(q), 1e-6)


def test_a_weight_of_2_is_an_example_twice_and_0_none(rng):
    labels, z = _draw(rng, 300, _even(2))
    _, new = _draw(rng, 200, (0.8, 0.2))
    weights, masses = rng.integers(0, 3, 300), rng.integers(0, 3, 200)
    one = um.LabelShift(num_resamples=100).fit(labels, logits=z, sample_weight=weights)
    two = um.LabelShift(num_resamples=100).fit(
        np.repeat(labels, weights), logits=np.repeat(z, weights, axis=0)
    )
    found = one.adapt(logits=new, sample_weight=masses)
    expected = two.adapt(logits=np.repeat(new, masses, axis=0))
    np.testing.assert_allclose(found.prior, expected.prior, atol=1e-6)


def test_doubled_clusters_leave_the_intervals(rng):
    labels, z = _draw(rng, 400, _even(2))
    _, new = _draw(rng, 300, (0.8, 0.2))
    ids, new_ids = np.arange(400), np.arange(300)
    make = functools.partial(um.LabelShift, num_resamples=100)
    one = make().fit(labels, logits=z, clusters=ids).adapt(logits=new, clusters=new_ids)
    twice = make().fit(
        np.tile(labels, 2), logits=np.tile(z, (2, 1)), clusters=np.tile(ids, 2)
    )
    two = twice.adapt(logits=np.tile(new, (2, 1)), clusters=np.tile(new_ids, 2))
    plain = make().fit(labels, logits=z).adapt(logits=new)
    np.testing.assert_allclose(one.lower, plain.lower)
    np.testing.assert_allclose(one.lower, two.lower, atol=2e-3)
    np.testing.assert_allclose(one.upper, two.upper, atol=2e-3)


def test_classes_that_cannot_be_told_apart_are_named(rng):
    labels, z = _draw(rng, 2000, _even(4))
    z[:, 3] = z[:, 1] + 0.01 * rng.normal(size=2000)  # 1 and 3 have one score.
    labels = np.where(labels == 3, 1, labels)
    labels[(labels == 1) & (rng.random(2000) < 0.5)] = 3
    with pytest.raises(ValueError, match="Classes 1 and 3 cannot be told apart"):
        um.LabelShift().fit(labels, logits=z)
    with pytest.raises(ValueError, match="Classes 0 and 1 cannot be told apart"):
        um.LabelShift().fit(labels == 0, rng.random(2000))


def test_a_shift_of_more_than_classes_is_noticed(rng):
    labels, z = _draw(rng, 4000, _even(2))
    shift = um.LabelShift().fit(labels, logits=z)
    _, new = _draw(rng, 4000, (0.9, 0.1), distance=1.0)
    found = shift.adapt(logits=1.5 * new)
    assert not found.consistent
    assert found.p_value < 0.02


def test_separable_classes_have_a_map(rng):
    labels = np.arange(100) % 2
    p = np.where(labels, 0.9, 0.1)
    found = um.LabelShift().fit(labels, p).adapt(p[:51])
    assert found.prior[1] == pytest.approx(25 / 51, abs=0.01)
    assert found.lower[1] < 25 / 51 < found.upper[1]


def test_the_table(rng):
    labels, z = _draw(rng, 500, _even(2))
    found = um.LabelShift().fit(labels, logits=z).adapt(logits=z)
    assert str(found).splitlines()[0].split()[:2] == ["class", "held"]
    assert set(found.to_dict()) == {
        *("class", "source_prior", "prior", "lower", "upper", "weight")
    }
    assert found.to_markdown().startswith("| class | held out |")


def test_wrong_arguments(rng):
    labels, z = _draw(rng, 300, _even(3))
    shift = um.LabelShift()
    assert not shift.is_fitted
    with pytest.raises(ValueError, match="call `fit` first"):
        shift.adapt(logits=z)
    with pytest.raises(ValueError, match="at least 5 examples of each class"):
        shift.fit(np.minimum(labels, 1), logits=z)
    assert not shift.is_fitted
    shift.fit(labels, logits=z)
    with pytest.raises(ValueError, match=r"`logits` must be of shape \[..., 3\]"):
        shift.adapt(logits=z[:, :2])
    with pytest.raises(ValueError, match=r"Received: .*nan"):
        shift.adapt(np.full((3, 3), np.nan))
    for prior in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.3, 0.1], 0.5, [np.nan] * 3):
        with pytest.raises(ValueError, match="`prior` must be"):
            shift.transform(logits=z, prior=prior)
    for options in ({"num_resamples": 10}, {"level": 1.0}):
        with pytest.raises(ValueError, match="must be"):
            um.LabelShift(**options)
    with pytest.raises(TypeError, match="`calibrator` must be"):
        um.LabelShift(calibrator="platt")
