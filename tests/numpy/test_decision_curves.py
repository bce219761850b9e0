"""Net benefit and Murphy curves, against sums over examples and known areas."""

import itertools

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sklearn import isotonic

import uncertainty_metrics.numpy as um
from tests import references
from uncertainty_metrics.numpy.calibration.without_bins import _pooled_errors
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells


def draw(rng, dtype, weighted):
    labels = rng.integers(0, 2, 60)
    p = (rng.integers(0, 21, 60) / 20).astype(dtype)
    return labels, p, rng.random(60) if weighted else None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_equal_sums_over_examples(dtype, weighted, rng):
    labels, p, weights = draw(rng, dtype, weighted)
    w = np.ones(60) if weights is None else weights
    w = w / w.sum()
    # Most thresholds are scores.
    thresholds = [0.0, 0.1, 0.3, 0.35, 0.51, 0.95, 0.999]
    found = um.net_benefit(labels, p, thresholds, sample_weight=weights)
    for i, t in enumerate(thresholds):
        acts = p >= dtype(t)  # A user would compare them so.
        odds = t / (1 - t)
        benefit = w[acts & (labels == 1)].sum() - w[acts & (labels == 0)].sum() * odds
        assert found.net_benefit[i] == pytest.approx(benefit, abs=1e-12)
        everybody = w[labels == 1].sum() - w[labels == 0].sum() * odds
        assert found.treat_all[i] == pytest.approx(everybody)
    assert found.treat_none.tolist() == [0.0] * 7

    thresholds.append(1.0)
    found = um.murphy_curve(labels, p, thresholds, sample_weight=weights)
    for score, t in zip(found, thresholds, strict=True):
        above = p > dtype(t)
        regret = t * w[above & (labels == 0)].sum()
        regret += (1 - t) * w[~above & (labels == 1)].sum()
        assert score == pytest.approx(regret, abs=1e-12)


def test_all_forms_of_the_forecast_give_the_same_curves(rng):
    labels = rng.integers(0, 2, 30)
    logits = rng.normal(size=(30, 2))
    p = references.softmax(logits)
    for function in (um.net_benefit, um.murphy_curve):
        expected = function(labels, p[:, 1], [0.2, 0.6])
        for given in ({"logits": logits}, {"probs": p}):
            found = function(labels, thresholds=[0.2, 0.6], **given)
            np.testing.assert_allclose(found, expected, atol=1e-12)
        labels_255 = np.append(labels, 255)
        more = np.append(p[:, 1], 0.5)
        found = function(labels_255, more, [0.2, 0.6], ignore_index=255)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        with pytest.raises(ValueError, match=r"`probabilities`.*one event.*3 classes"):
            function([0, 1, 2], np.full((3, 3), 1 / 3), [0.5])


def level_of_clusters(labels, ids, upper):
    """Returns the level at which the share of class 1 has this upper end."""

    def above(level):
        members = np.ones(len(labels))
        share = um.sensitivity(members, labels, 0.5, level=level, clusters=ids)
        return share.upper - upper

    return optimize.brentq(above, 0.9, 0.99999)


@pytest.mark.parametrize("kind", ["independent", "weighted", "clusters"])
def test_the_band_is_an_interval_of_the_shares_at_each_threshold(kind, rng):
    """All at one level, which is higher than that of the band."""
    n, thresholds = 400, [0.6, 0.15, 0.35, 0.8]
    p = rng.random(n).astype(np.float32)
    labels = rng.random(n) < p
    weights = rng.random(n) if kind == "weighted" else np.ones(n)
    ids = rng.integers(0, 60, n) if kind == "clusters" else None
    given = {} if kind != "weighted" else {"sample_weight": weights}
    found = um.net_benefit(
        labels, p, thresholds, level=0.9, seed=0, clusters=ids, **given
    )
    plain = um.net_benefit(labels, p, thresholds, **given)
    np.testing.assert_array_equal(found.net_benefit, plain.net_benefit)
    np.testing.assert_array_equal(found.treat_all, plain.treat_all)
    levels = []
    for i, t in enumerate(thresholds):
        acts = p >= np.float32(t)
        over_all = (found.over_all_lower[i], found.over_all_upper[i])
        over_none = (found.over_none_lower[i], found.over_none_upper[i])
        gains = plain.net_benefit[i] - plain.treat_all[i], plain.net_benefit[i]
        assert over_all[0] <= gains[0] <= over_all[1]
        assert over_none[0] <= gains[1] <= over_none[1]
        for some, ends in ((~acts, over_all), (acts, over_none)):
            part = weights[some].sum() / weights.sum() / (1 - t)
            shares = np.array(ends) / part
            shares = t - shares[::-1] if ends is over_all else t + shares
            w = weights[some]
            size = w.sum() ** 2 / (w @ w)
            hits = size * (w @ labels[some]) / w.sum()
            if kind == "clusters":
                level = level_of_clusters(labels[some], ids[some], shares[1])
            else:
                level = 1 - 2 * stats.beta.sf(shares[1], hits + 1, size - hits)
                lower = stats.beta.cdf(shares[0], hits, size - hits + 1)
                assert level == pytest.approx(1 - 2 * lower, abs=1e-4)
            levels.append(level)
    np.testing.assert_allclose(levels, levels[0], rtol=1e-4)
    assert 0.95 < levels[0] < 0.99


def test_the_level_of_the_band_is_that_of_the_largest_of_all(rng):
    """By labels that are drawn again, for many examples."""
    n, thresholds = 20_000, np.arange(5, 100, 5) / 100
    p = rng.random(n)
    labels = rng.random(n) < 0.5
    found = um.net_benefit(labels, p, thresholds, level=0.8, num_draws=4000, seed=0)
    k = np.sum(p >= 0.5)
    share = 0.5 + found.over_none_upper[9] * n * 0.5 / k
    hits = np.sum(labels[p >= 0.5])
    level = 1 - 2 * stats.beta.sf(share, hits + 1, k - hits)
    largest = []
    for _ in range(400):
        y = rng.random(n) < 0.5
        above = np.array([np.sum(y[p >= t] - 0.5) for t in thresholds])
        below = np.sum(y - 0.5) - above
        sizes = np.array([np.sum(p >= t) for t in thresholds])
        z = np.abs(np.stack([above / sizes**0.5, below / (n - sizes) ** 0.5]))
        largest.append(2 * z.max())
    inside = np.mean(np.array(largest) <= stats.norm.ppf((1 + level) / 2))
    assert inside == pytest.approx(0.8, abs=4.5 * (0.16 / 400) ** 0.5)


def test_ends_of_the_band_where_nobody_is(rng):
    labels = rng.integers(0, 2, 30)
    found = um.net_benefit(labels, np.full(30, 0.5), [0.2, 0.8], level=0.95, seed=0)
    assert found.over_all_lower[0] == found.over_all_upper[0] == 0
    assert found.over_none_lower[1] == found.over_none_upper[1] == 0
    assert not np.any(found.is_useful)
    with pytest.raises(ValueError, match="`level` must be given with `clusters`"):
        um.net_benefit(labels, np.full(30, 0.5), [0.2], clusters=labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cost_of_miscalibration_equals_its_definition(weighted, rng):
    labels, p, weights = draw(rng, np.float32, weighted)
    w = np.ones(60) if weights is None else weights
    q = isotonic.IsotonicRegression().fit_transform(p, labels, sample_weight=w)
    thresholds = np.array([0.0, 0.1, 0.35, 0.5, 0.8, 1.0])
    found = um.miscalibration_cost(
        labels, p, thresholds, cross_fitted=False, sample_weight=weights
    )
    expected = [
        np.average((labels - t) * (1.0 * (q > t) - (p > np.float32(t))), weights=w)
        for t in thresholds
    ]
    np.testing.assert_allclose(found.cost, expected, atol=1e-9)
    relative = np.array(expected) / np.maximum(thresholds, 1 - thresholds)
    assert found.largest == pytest.approx(relative.max())
    assert found.at == thresholds[relative.argmax()]
    assert found.cost.min() >= -1e-12
    as_benefit = um.miscalibration_cost(
        labels, p, thresholds[:-1], cross_fitted=False, sample_weight=weights,
        unit="net_benefit",
    )  # fmt: skip
    np.testing.assert_allclose(as_benefit.cost, expected[:-1] / (1 - thresholds[:-1]))
    # Twice the integral is the miscalibration of CORP.
    ends = np.unique([0.0, *p.astype(np.float64), *q, 1.0])
    middles = (ends[1:] + ends[:-1]) / 2
    # Between two of these the cost is linear.
    cost = um.miscalibration_cost(
        labels, p.astype(np.float64), middles, cross_fitted=False, sample_weight=weights
    ).cost
    parts = um.corp_decomposition(labels, p, sample_weight=weights)
    assert 2 * cost @ np.diff(ends) == pytest.approx(parts.miscalibration, abs=1e-7)


def test_the_map_of_the_cost_has_not_seen_the_example(rng):
    n = 90
    labels, p, weights = rng.integers(0, 2, n), rng.random(n), rng.random(n)
    ids = np.arange(n) // 3
    for clusters in (None, ids):
        found = um.miscalibration_cost(
            labels, p, folds=3, seed=4, clusters=clusters, sample_weight=weights
        )
        number = n if clusters is None else 30
        fold = np.random.default_rng(4).permutation(number) % 3
        fold = fold if clusters is None else fold[ids]
        q = np.empty(n)
        for k in range(3):
            rest = fold != k
            fitted = isotonic.IsotonicRegression(out_of_bounds="clip").fit(
                p[rest], labels[rest], sample_weight=weights[rest]
            )
            q[~rest] = fitted.predict(p[~rest])
        expected = [
            np.average((labels - t) * (1.0 * (q > t) - (p > t)), weights=weights)
            for t in found.thresholds
        ]
        np.testing.assert_allclose(found.cost, expected, atol=1e-9)


def test_a_calibrated_model_has_no_cost_on_average(rng):
    costs = []
    for _ in range(200):
        p = rng.beta(1, 4, 100)
        costs.append(um.miscalibration_cost(rng.random(100) < p, p, seed=rng).cost)
    errors = np.std(costs, axis=0) / 200**0.5
    assert np.all(np.mean(costs, axis=0) <= 4.5 * errors)


def test_wrong_arguments_of_the_cost_are_named():
    labels, p = [0, 1, 1], [0.2, 0.6, 0.7]
    for options, message in (
        ({"folds": 4}, "`folds` must be at most 3, the number of examples"),
        ({"folds": 1}, "`folds` must be an integer of at least 2"),
        ({"cross_fitted": False, "clusters": [0, 1, 2]}, "`cross_fitted` must be"),
        ({"unit": "euro"}, "`unit` must be one of"),
        ({"thresholds": [1.0], "unit": "net_benefit"}, "`thresholds` must be"),
    ):
        with pytest.raises(ValueError, match=message):
            um.miscalibration_cost(labels, p, **options)


def test_diagrams_show_the_band_and_the_cost(rng):
    p = rng.random(500)
    labels = rng.random(500) < p
    ax = um.decision_curve_diagram(labels, p, level=0.95, seed=0)
    band = um.net_benefit(labels, p, np.arange(100) / 100, level=0.95, seed=0)
    (area,) = ax.collections
    corners = area.get_paths()[0].vertices
    for ends in (band.over_none_lower, band.over_none_upper):
        assert np.all(np.isin(ends.round(12), corners[:, 1].round(12)))
    thick = max(ax.lines, key=lambda line: line.get_linewidth())
    np.testing.assert_array_equal(~np.isnan(thick.get_ydata()), band.is_useful)
    ax = um.miscalibration_cost_diagram(labels, {"a": p, "b": p**2})
    costs = {name: um.miscalibration_cost(labels, q) for name, q in
             {"a": p, "b": p**2}.items()}  # fmt: skip
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    for name, found in costs.items():
        (drawn,) = (y for label, y in lines.items() if label.startswith(f"{name}:"))
        np.testing.assert_array_equal(drawn, found.cost)


def test_area_under_the_murphy_curve_is_half_the_brier_score(rng):
    labels, p, weights = draw(rng, np.float64, True)
    ends = np.unique([0.0, *p, 1.0])
    area = sum(
        integrate.quad(
            lambda t: um.murphy_curve(labels, p, [t], sample_weight=weights)[0], a, b
        )[0]
        for a, b in itertools.pairwise(ends)
    )
    brier = np.average((labels - p) ** 2, weights=weights)
    assert area == pytest.approx(brier / 2)


def test_forecasts_of_0_or_1_equal_treating_none_or_all(rng):
    labels = rng.integers(0, 2, 40)
    thresholds = np.linspace(0, 0.9, 10)
    everybody = um.net_benefit(labels, np.ones(40), thresholds)
    np.testing.assert_array_equal(everybody.net_benefit, everybody.treat_all)
    nobody = um.net_benefit(labels, np.zeros(40), thresholds[1:])
    np.testing.assert_array_equal(nobody.net_benefit, nobody.treat_none)


def test_bad_thresholds_raise():
    given = [0, 1], [0.2, 0.7]
    for function, refused in (
        (um.net_benefit, (1.0, 1.5, -0.1, np.nan)),
        (um.murphy_curve, (1.01, -0.1, np.nan, np.inf)),
    ):
        for value in refused:
            with pytest.raises(ValueError, match=r"`thresholds` must be numbers in"):
                function(*given, [0.5, value])
        with pytest.raises(ValueError, match=r"`thresholds` must be numbers in"):
            function(*given)


def test_curves_of_no_scores_are_0():
    nothing = Cells(*np.zeros((3, 0)))
    points = np.array([0.1, 0.5])
    assert np.all(np.array(_pooled_errors.net_benefit(nothing, points)) == 0)
    assert np.all(_pooled_errors.murphy(nothing, points) == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_next_to_a_score_differ_from_it(dtype, rng):
    scores = rng.random(50).astype(dtype)
    weights = rng.random(50)
    for p in scores:
        below, above = (np.nextafter(p, dtype(end)) for end in (0, 1))
        near = np.array([below, p, above], np.float64)
        data = [1, 1], [p, p]
        benefit = um.net_benefit(*data, near, sample_weight=weights[:2]).net_benefit
        np.testing.assert_allclose(benefit, [1, 1, 0])
        loss = um.murphy_curve(*data, near, sample_weight=weights[:2])
        np.testing.assert_allclose(loss, [0, 1 - near[1], 1 - near[2]])
