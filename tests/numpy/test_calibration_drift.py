"""`calibration_drift`: its values by a naive loop, its level, its table and picture."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um


def z_square(periods):
    """Returns z^2 and q of a bin of two periods (n, conf, acc)."""
    (n1, conf1, acc1), (n2, conf2, acc2) = periods
    n = n1 + n2
    common = (n1 * (acc1 - conf1) + n2 * (acc2 - conf2)) / n
    q = [min(max(c + common, 1 / (2 * n)), 1 - 1 / (2 * n)) for c in (conf1, conf2)]
    variance = q[0] * (1 - q[0]) / n1 + q[1] * (1 - q[1]) / n2
    return (acc1 - conf1 - acc2 + conf2) ** 2 / variance, q


def law_of_bin(periods):
    """Returns the values of z^2 and their probabilities; None of a Normal z."""
    (n1, conf1, acc1), (n2, conf2, acc2) = periods
    _, (q1, q2) = z_square(periods)
    if min(n1 * q1, n1 * (1 - q1), n2 * q2, n2 * (1 - q2)) >= 10:
        return None
    total = round(n1 * acc1 + n2 * acc2)
    odds = q2 / (1 - q2) / (q1 / (1 - q1))
    law = stats.nchypergeom_fisher(n1 + n2, total, n2, odds)
    counts = range(max(0, total - n1), min(total, n2) + 1)
    values = [
        z_square(((n1, conf1, (total - k) / n1), (n2, conf2, k / n2)))[0]
        if 0 < total < n1 + n2
        else 0.0
        for k in counts
    ]
    return np.array(values), law.pmf(counts)


def naive(first, second):
    """Returns D, degrees of freedom and the laws of z^2 in the bins, of periods (bins,
    scores, outcomes).
    """
    groups, group = [], []
    joined = [0, 0]
    for b in range(100):
        members = [[i for i, at in enumerate(x[0]) if at == b] for x in (first, second)]
        group.append(members)
        joined = [joined[k] + len(members[k]) for k in (0, 1)]
        if min(joined) >= 5:
            groups.append(group)
            group, joined = [], [0, 0]
    groups[-1] += group
    total, laws = 0.0, []
    for group in groups:
        sums = []
        for k, (_, scores, outcomes) in enumerate((first, second)):
            places = [i for members in group for i in members[k]]
            n = len(places)
            conf = sum(scores[i] for i in places) / n
            acc = sum(outcomes[i] for i in places) / n
            sums.append((n, conf, acc))
        if sum(n * acc for n, _, acc in sums) in (0, sum(n for n, _, _ in sums)):
            continue
        total += z_square(sums)[0]
        laws.append(law_of_bin(sums))
    return total, len(laws), laws


def simulated_p(statistic, laws, rng, draws=20_000):
    """Returns the mid-p of D and its standard error, by draws from the laws."""
    sums = np.zeros(draws)
    for law in laws:
        if law is None:
            sums += rng.normal(size=draws) ** 2
        else:
            values, probabilities = law
            sums += rng.choice(values, draws, p=probabilities / probabilities.sum())
    equal = np.isclose(sums, statistic, rtol=1e-9)
    p = np.mean((sums > statistic) & ~equal) + np.mean(equal) / 2
    return p, np.sqrt((p * (1 - p) + 1 / draws) / draws)


def drawn(rng, n, power=1.0, most=1.0):
    p = most * rng.random(n) ** 2
    return (rng.random(n) < p**power).astype(int), p


@pytest.mark.parametrize("num_bins", [1, 4, 15, 100])
def test_values_equal_the_naive_loop(num_bins, rng):
    data = drawn(rng, 150), drawn(rng, 90, 2.0, 0.9)
    # A search among the edges finds the bins.
    edges = np.linspace(0, 1, num_bins + 1)
    placed = [
        (np.maximum(np.searchsorted(edges, p, "left") - 1, 0), p, y) for y, p in data
    ]
    first, second = (
        um.bin_statistics(*period, num_bins=num_bins, positive_class=True)
        for period in data
    )
    drift = um.calibration_drift(first, second)
    statistic, freedom, laws = naive(*placed)
    assert drift.statistic == pytest.approx(statistic, rel=1e-9)
    assert drift.degrees_of_freedom == freedom
    p, error = simulated_p(statistic, laws, rng)
    assert abs(drift.p_value - p) < 5 * error
    np.testing.assert_allclose(drift.statistic, np.nansum(drift.z**2))
    # The p-values of single bins.
    tested = np.flatnonzero(~np.isnan(drift.z))
    for b, law in zip(tested, laws, strict=True):
        p = stats.chi2.sf(drift.z[b] ** 2, 1)
        if law is not None:
            values, probabilities = law
            equal = np.isclose(values, drift.z[b] ** 2, rtol=1e-9)
            above = (values > drift.z[b] ** 2) & ~equal
            p = probabilities[above].sum() + probabilities[equal].sum() / 2
        assert drift.p_values[b] == pytest.approx(p, rel=1e-6)
    options = {"num_bins": num_bins, "positive_class": True}
    eces = [um.ece(*period, **options) for period in data]
    assert drift.ece_difference == pytest.approx(eces[1] - eces[0], abs=1e-12)
    # If the periods are swapped, only signs change.
    back = um.calibration_drift(second, first)
    np.testing.assert_allclose(back.z, -drift.z)
    assert back.p_value == pytest.approx(drift.p_value, rel=1e-9)


def one_bin(*sums):
    """Returns statistics of one bin from its count, score sum and outcome sum."""
    return um.BinStatistics(np.array([[0.0, 1.0]]), *(np.float64([[x]]) for x in sums))


@pytest.mark.parametrize(
    ("first", "second"),
    [((20_000, 20), (33, 1)), ((60, 1), (50, 7)), ((9, 0), (12, 3))],
)
def test_one_bin_of_few_events_equals_fishers_exact_test(first, second):
    """With equal mean scores the p-value is Fisher's, less half of the point."""
    (n1, k1), (n2, k2) = first, second
    drift = um.calibration_drift(one_bin(n1, n1 * 0.01, k1), one_bin(n2, n2 * 0.01, k2))
    _, exact = stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]])
    point = stats.hypergeom.pmf(k2, n1 + n2, k1 + k2, n2)
    assert drift.p_value == pytest.approx(exact - point / 2, rel=1e-9)
    assert drift.p_values.tolist() == [drift.p_value]


def test_few_events_in_two_bins_equal_an_enumeration():
    edges = np.linspace(0, 1, 4)[None]
    counts, scores = np.float64([[40, 300, 30]]), np.float64([[4, 150, 28]])
    first = um.BinStatistics(edges, counts, scores, np.float64([[2, 140, 30]]))
    second = um.BinStatistics(edges, counts, scores, np.float64([[8, 165, 27]]))
    drift = um.calibration_drift(first, second)
    laws, rest = [], 0.0
    for b in range(3):
        sums = [
            (int(counts[0, b]), scores[0, b] / counts[0, b], acc / counts[0, b])
            for acc in (first.outcome_sums[0, b], second.outcome_sums[0, b])
        ]
        law = law_of_bin(sums)
        if law is not None:
            laws.append(list(zip(*law, strict=True)))
    for (x, p), (y, q) in itertools.product(*laws):
        rest += p * q * stats.chi2.sf(max(drift.statistic - x - y, 0), 1)
    assert drift.p_value == pytest.approx(rest, rel=1e-4)


def test_small_p_values_keep_their_digits():
    # 30 of 30 events against 0 of 30: two tables of 2 / C(60, 30) / 2 together.
    drift = um.calibration_drift(one_bin(30, 15, 30), one_bin(30, 15, 0))
    assert drift.p_value == pytest.approx(2 * stats.norm.sf(np.sqrt(60)), rel=1e-9)
    drift = um.calibration_drift(one_bin(10, 5, 10), one_bin(40, 20, 0))
    point = stats.hypergeom.pmf(10, 50, 10, 10)
    assert drift.p_value == pytest.approx(point / 2, rel=1e-9)


@pytest.mark.exhaustive
def test_level_holds_where_few_events_are_expected(rng):
    """Chi-squared rejects twice as often: 20,000 examples against 500."""
    pairs, rejected = 400, 0
    distinct = np.clip(1 / (1 + np.exp(-np.abs(rng.normal(0, 4, 2000)))), 0, 1)
    index = np.minimum((distinct * 100).astype(int), 99)
    for _ in range(pairs):
        periods = []
        for n in (20_000, 500):
            counts = rng.multinomial(n, np.full(2000, 1 / 2000))
            outcomes = rng.binomial(counts, distinct)
            rows = counts, counts * distinct, outcomes
            sums = [np.bincount(index, row, 100)[None] for row in rows]
            periods.append(um.BinStatistics(np.linspace(0, 1, 101)[None], *sums))
        rejected += um.calibration_drift(*periods).p_value <= 0.05
    assert rejected / pairs < 0.05 + 4 * np.sqrt(0.05 * 0.95 / pairs)


def weighted_summaries(rng, n, p):
    pair = []
    for _ in range(2):
        summary = um.Summary()
        summary.update(
            correct=rng.random(n) < p,
            confidences=np.full(n, p),
            sample_weight=rng.exponential(size=n),
        )
        pair.append(summary)
    return pair


def test_weighted_summaries_count_by_effective_size(rng):
    """If weights counted as examples, 55% would be below 5% (Exp(1) weights)."""
    pairs, p_values = 40, []
    for _ in range(pairs):
        first, second = weighted_summaries(rng, 400, 0.7)
        p_values.append(um.calibration_drift(first, second).p_value)
    assert np.mean(np.array(p_values) <= 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / pairs)


def test_effective_sizes_are_those_of_each_bin(rng):
    n = 500
    p = rng.choice([0.3, 0.8], n)
    weights = np.where(p < 0.5, 1.0, rng.exponential(3, n))
    first, second = um.Summary(), um.Summary()
    first.update(correct=rng.random(n) < p, confidences=p, sample_weight=weights)
    second.update(correct=rng.random(n) < p, confidences=p)
    drift = um.calibration_drift(first, second, num_bins=2)
    for b, inside in enumerate((p < 0.5, p > 0.5)):
        w = weights[inside]
        size = w.sum() ** 2 / (w**2).sum()
        assert drift.counts[0, b] == pytest.approx(size, rel=1e-6)
        assert drift.counts[1, b] == inside.sum()
    # The sketches of their decisions are the same periods, also after a sum.
    for other in (
        um.calibration_drift(first.decisions, second.decisions, num_bins=2),
        um.calibration_drift(
            (first + first).decisions, (second + second).decisions, num_bins=2
        ),
        um.calibration_drift(
            first.decisions + first.decisions,
            second.decisions + second.decisions,
            num_bins=2,
        ),
    ):
        np.testing.assert_allclose(other.confidences, drift.confidences, rtol=1e-9)
    np.testing.assert_allclose(other.counts, 2 * drift.counts, rtol=1e-6)
    # The scale of the weights does not matter.
    scaled = um.Summary()
    scaled.update(
        correct=rng.random(n) < p, confidences=p, sample_weight=weights * 1000
    )
    again = um.calibration_drift(scaled, second, num_bins=2)
    np.testing.assert_allclose(again.counts, drift.counts, rtol=1e-6)


def test_bins_with_fewer_than_5_examples_are_pooled_with_a_neighbour():
    edges = np.linspace(0, 1, 8)[None]

    def period(counts):
        counts = np.float64([counts])
        return um.BinStatistics(edges, counts, 0.5 * counts, 0.25 * counts)

    drift = um.calibration_drift(
        period([0, 9, 8, 0, 4, 1, 0]), period([0, 7, 4, 1, 8, 9, 0])
    )
    # The third bin has 4 examples in the second period, so it joins the next ones. The
    # last filled bin has 1 example in the first period, so it joins the one before.
    np.testing.assert_allclose(drift.edges * 7, [1, 2, 4, 6])
    np.testing.assert_array_equal(drift.counts, [[9, 8, 5], [7, 5, 17]])
    drift = um.calibration_drift(period([9, 0, 0, 0, 0, 0, 4]), period([5] * 7))
    np.testing.assert_array_equal(drift.counts, [[13], [35]])


def test_sketches_equal_their_statistics_and_weights_equal_repeated_examples(rng):
    p = rng.integers(0, 65, (2, 300)) / 64
    y = (rng.random(p.shape) < p).astype(int)
    weights = rng.integers(1, 4, p.shape)
    repeated = [um.ScoreSketch(positive_class=True) for _ in p]
    weighted = [um.ScoreSketch(positive_class=True) for _ in p]
    for i in range(2):
        repeated[i].update(np.repeat(y[i], weights[i]), np.repeat(p[i], weights[i]))
        weighted[i].update(y[i], p[i], sample_weight=weights[i])
    drift = um.calibration_drift(*repeated, num_bins=8)
    statistics = [sketch.bin_statistics(num_bins=8) for sketch in repeated]
    for other in (
        um.calibration_drift(*weighted, num_bins=8),
        um.calibration_drift(*statistics),
    ):
        assert other.num_clusters is other.design_effect is None
        for name, value in drift.to_dict().items():
            if value is not None:
                np.testing.assert_allclose(other.to_dict()[name], value, 1e-9, 1e-12)
    # Weights below 1 on average are scaled to the number of examples.
    small = [um.ScoreSketch(positive_class=True) for _ in p]
    for i in range(2):
        small[i].update(y[i], p[i], sample_weight=np.full(300, 1 / 300))
    assert um.calibration_drift(*small).counts.sum() == pytest.approx(600)
    assert um.calibration_drift(*repeated).counts.sum() == weights.sum()


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("temperature", [1.0, 1.7, 0.6])
def test_level_holds_whether_the_model_is_calibrated_or_not(temperature, rng):
    pairs, rejected = 400, 0
    for _ in range(pairs):
        z = 2.5 * rng.normal(size=(2, 1000))
        p = 1 / (1 + np.exp(-z))
        y = rng.random(z.shape) < 1 / (1 + np.exp(-z / temperature))
        periods = (um.bin_statistics(*pair) for pair in zip(y, p, strict=True))
        rejected += um.calibration_drift(*periods).p_value <= 0.1
    # Four standard errors, and 0.015 since D has only about a chi-squared distribution.
    assert rejected / pairs < 0.115 + 4 * np.sqrt(0.1 * 0.9 / pairs)


def test_finds_a_change_that_hardly_changes_the_ece(rng):
    z = 2.5 * rng.normal(size=(2, 5000))
    p = 1 / (1 + np.exp(-z))
    slope = np.array([[1 / 1.3], [1.3]])
    y = rng.random(z.shape) < 1 / (1 + np.exp(-z * slope))
    drift = um.calibration_drift(
        *(um.bin_statistics(*pair) for pair in zip(y, p, strict=True))
    )
    assert drift.p_value < 1e-4
    assert abs(drift.ece_difference) < 0.02
    assert np.nanmean(drift.z) > 0  # The model has become less overconfident.


def test_bins_with_equal_outcomes_are_left_out():
    sure = um.bin_statistics([1] * 6, [0.9] * 6, num_bins=2)
    less = um.bin_statistics([1] * 6, [0.7] * 6, num_bins=2)
    drift = um.calibration_drift(sure, less)
    assert (drift.statistic, drift.degrees_of_freedom, drift.p_value) == (0, 0, 1)
    assert np.isnan(drift.z).all()
    assert drift.to_dict()["z"] == drift.to_dict()["p_values"] == [None]
    assert drift.ece_difference == pytest.approx(0.2)
    # Sums of weights may have rounding errors, so that the share is not exactly 1 or 0.
    for label, share in ((1, 1 - 1e-12), (0, 1e-12)):
        equal = um.bin_statistics([label] * 6, [0.7] * 6, positive_class=True)
        nearly = dataclasses.replace(equal, outcome_sums=share * equal.counts)
        assert um.calibration_drift(equal, nearly).degrees_of_freedom == 0
    # If certain forecasts become wrong, D is finite.
    options = {"positive_class": True, "num_bins": 1}
    ones = um.bin_statistics([1] * 50, [1.0] * 50, **options)
    wrong = um.bin_statistics([1] * 50, [0.0] * 50, **options)
    mixed = um.bin_statistics([0] * 50, [1.0] * 50, **options)
    assert um.calibration_drift(ones, wrong).degrees_of_freedom == 0
    drift = um.calibration_drift(ones, mixed)
    assert np.isfinite(drift.statistic)
    assert drift.p_value < 1e-9


def test_table_and_dict_have_the_bins():
    first = um.bin_statistics([1, 0] * 5 + [1] * 5, [0.6] * 10 + [0.9] * 5, num_bins=4)
    second = um.bin_statistics([0] * 8 + [1] * 7, [0.6] * 10 + [0.9] * 5, num_bins=4)
    drift = um.calibration_drift(first, second)
    title, *rows = (line.split() for line in repr(drift).splitlines())
    assert " ".join(title[:3]) == "CalibrationDrift: D ="
    assert rows[0][-5:] == ["gap", "1", "gap", "2", "z"]
    assert rows[1][:4] == ["0.5", "0.75", "10", "10"]
    assert rows[2][-1] == "-"
    plain = json.loads(json.dumps(drift.to_dict()))
    assert plain["p_value"] == drift.p_value
    np.testing.assert_allclose(
        np.subtract(plain["accuracies"], plain["confidences"]), drift.gaps
    )


def bad_periods():
    good = um.bin_statistics([0, 1] * 5, [0.4, 0.7] * 5)
    sketch = um.ScoreSketch()
    sketch.update([0, 1] * 5, [0.4, 0.7] * 5)
    pairs, classes = um.ScoreSketch(max_prob=False), um.ScoreSketch()
    pairs.update([0, 1] * 5, [[0.4, 0.6]] * 10)
    classes.update([0, 1] * 5, [[0.4, 0.6, 0.0]] * 10)
    labels = [0, 1] * 5, [[0.4, 0.6]] * 10
    adaptive = um.bin_statistics(*labels, binning_scheme="adaptive")
    by_class = um.bin_statistics(*labels, class_conditional=True)
    other_bins = um.bin_statistics(*labels, num_bins=7)
    few = um.bin_statistics([1], [0.7])
    odd = um.BinStatistics(*map(np.float64, ([[0, 1]], [[6]], [[3]], [[np.nan]])))
    both = "`first` must be a `BinStatistics`, or two"
    yield TypeError, both, (1.0, good), {}
    yield TypeError, both, (sketch, good), {}
    yield TypeError, both, (um.Summary(), sketch), {}
    yield TypeError, "`second` must be a `Bin", (good, [1]), {}
    yield ValueError, "`first` must have even bins", (adaptive, adaptive), {}
    yield ValueError, "`first` must have one group.*2 groups", (by_class, by_class), {}
    yield ValueError, "`second` must have the same 15 bins", (good, other_bins), {}
    yield ValueError, "`second` must hold at least 5", (good, few), {}
    yield ValueError, "`first` must be finite", (odd, odd), {}
    yield ValueError, "`num_bins` must be None", (good, good), {"num_bins": 15}
    yield ValueError, "`first` must be a sketch of decisions", (pairs, pairs), {}
    yield ValueError, "`second` must be a sketch with the same", (sketch, pairs), {}
    yield ValueError, "`second` must be a sketch with the same", (sketch, classes), {}
    yield ValueError, "There are no examples", (um.ScoreSketch(), sketch), {}


BAD_PERIODS = list(bad_periods())


@pytest.mark.parametrize("case", BAD_PERIODS, ids=[case[1] for case in BAD_PERIODS])
def test_periods_that_cannot_be_compared_are_refused(case):
    kind, message, periods, options = case
    with pytest.raises(kind, match=message) as raised:
        um.calibration_drift(*periods, **options)
    assert "Received" in str(raised.value)


# The picture.


def test_picture_shows_both_periods_and_where_they_differ(ax, rng):
    p = rng.uniform(0.5, 1, (2, 4000))
    shift = np.where(p[1] > 0.75, 0.2, 0.0)
    y = rng.random(p.shape) < np.stack([p[0], p[1] - shift])
    first, second = (
        um.bin_statistics(*pair, num_bins=8, positive_class=True)
        for pair in zip(y, p, strict=True)
    )
    drift = um.calibration_drift(first, second)
    um.drift_diagram(first, second, names=("May", "June"), ax=ax)
    lines = {line.get_label(): line for line in ax.lines}
    for i, name in enumerate(("May: n = 4000", "June: n = 4000")):
        np.testing.assert_allclose(lines[name].get_xdata(), drift.confidences[i])
        np.testing.assert_allclose(lines[name].get_ydata(), drift.accuracies[i])
    shaded = [
        patch.get_x()
        for patch in ax.patches
        if patch.get_width() == pytest.approx(1 / 8)
    ]
    np.testing.assert_allclose(shaded, [0.75, 0.875])
    title = ax.get_legend().get_title().get_text()
    assert title == f"p = {drift.p_value:.2g}, ECE {drift.ece_difference:+.3f}"
    bands = [c for c in ax.collections if c.get_paths()]
    assert len(bands) == 2


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "b", "c"]])
def test_other_than_two_names_are_refused(names, ax):
    period = um.bin_statistics([0, 1] * 5, [0.4, 0.7] * 5)
    with pytest.raises(ValueError, match="`names` must hold two names"):
        um.drift_diagram(period, period, names=names, ax=ax)
    with pytest.raises(TypeError, match="`names` must be a list of two names"):
        um.drift_diagram(period, period, names=3, ax=ax)


def test_a_single_bin_is_drawn(ax):
    period = um.bin_statistics([0, 1] * 5, [0.7] * 10, num_bins=1)
    um.drift_diagram(period, period, ax=ax)
    ax.get_figure().draw_without_rendering()


def clustered_period(rng, number, most, correlation, temperature=1.0, shared=False):
    """Returns outcomes, scores and clusters of examples that depend on each other."""
    sizes = rng.integers(1, most + 1, number)
    ids = np.repeat(np.arange(number), sizes)
    normals = rng.normal(size=(2, len(ids)))
    normals[0] = normals[0][ids]
    p = rng.uniform(0.01, 0.99, len(ids))
    p = p[ids] if shared else p
    q = 1 / (1 + np.exp(-np.log(p / (1 - p)) / temperature))
    latent = [correlation, 1 - correlation] ** np.array(0.5) @ normals
    return (stats.norm.cdf(latent) < q).astype(int), p, ids


def clustered_sketch(y, p, ids):
    sketch = um.ScoreSketch(positive_class=True)
    sketch.update(y, p, clusters=ids)
    return sketch


def naive_clustered(periods, num_bins):
    """Returns z of each bin and the p-value, by loops over bins and clusters."""
    names = [sorted(set(ids)) for _, _, ids in periods]
    bins = [np.ceil(p * num_bins).astype(int) - 1 for _, p, _ in periods]
    found, alone, pairs, n = np.zeros((4, 2, num_bins))
    conf, acc, own = np.zeros((3, 2, num_bins))
    crossed = np.zeros((2, num_bins, num_bins))
    total_size = np.zeros(2)
    for k, (y, p, ids) in enumerate(periods):
        parts = np.zeros((2, len(names[k]), num_bins))  # S_cb and N_cb.
        for i in range(len(ids)):
            c = names[k].index(ids[i])
            parts[0, c, bins[k][i]] += y[i] - p[i]
            parts[1, c, bins[k][i]] += 1
        n[k] = parts[1].sum(axis=0)
        gaps = parts[0].sum(axis=0) / n[k]
        centred = parts[0] - gaps * parts[1]
        crossed[k] = centred.T @ centred * len(names[k]) / (len(names[k]) - 1)
        found[k] = np.diag(crossed[k])
        own[k] = (parts[1] ** 2).sum(axis=0)
        total_size[k] = len(ids) ** 2 / np.sum(parts[1].sum(axis=1) ** 2)
        for b in range(num_bins):
            conf[k, b] = p[bins[k] == b].mean()
            acc[k, b] = y[bins[k] == b].mean()
    q = np.clip(acc, 0.5 / n, 1 - 0.5 / n)
    alone, pairs = q * (1 - q) * n, own - n
    rho = max(np.sum(found - alone) / np.sum(q * (1 - q) * pairs), 0)
    sizes = n / np.maximum(found / alone, 1 + rho * pairs / n)
    common = (sizes * (acc - conf)).sum(axis=0) / sizes.sum(axis=0)
    q = conf + common
    assert np.min(sizes * np.minimum(q, 1 - q)) > 10
    variances = q * (1 - q) / sizes
    v = variances.sum(axis=0)
    z = (acc[1] - conf[1] - acc[0] + conf[0]) / np.sqrt(v)
    of_gaps = sum(crossed[k] / np.outer(n[k], n[k]) for k in (0, 1))
    r = of_gaps / np.sqrt(np.outer(v, v))
    np.fill_diagonal(r, 1)
    freedom = num_bins**2 / np.sum(r**2)
    whole = np.array([crossed[k].sum() / n[k].sum() ** 2 for k in (0, 1)])
    others = whole.sum() ** 2 / np.sum(whole**2 / (total_size - 1))
    p_value = stats.f.sf(np.mean(z**2), freedom, others)
    freedom = v**2 / np.sum(variances**2 / (n**2 / own - 1), axis=0)
    return z, p_value, 2 * stats.t.sf(np.abs(z), freedom)


def test_clusters_give_what_loops_over_them_give(rng):
    periods = [clustered_period(rng, 150, 12, 0.4), clustered_period(rng, 90, 12, 0.4)]
    drift = um.calibration_drift(*(clustered_sketch(*x) for x in periods), num_bins=3)
    z, p_value, p_values = naive_clustered(periods, 3)
    np.testing.assert_allclose(drift.z, z, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(drift.p_values, p_values, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(drift.p_value, p_value, rtol=1e-3, atol=1e-5)
    assert drift.num_clusters == (150, 90)
    assert 1 < drift.design_effect < 12
    assert drift.to_dict()["num_clusters"] == (150, 90)


@pytest.mark.thorough
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_level_holds_with_clusters(rng, correlation, shared):
    """At most 7% are rejected at 5%, of a model that is not calibrated."""
    draws = 200
    rejected = 0
    for _ in range(draws):
        pairs = [
            clustered_period(rng, 50, 20, correlation, 1.5, shared) for _ in range(2)
        ]
        drift = um.calibration_drift(*(clustered_sketch(*x) for x in pairs))
        rejected += drift.p_value < 0.05
    assert rejected <= 0.07 * draws + 4 * np.sqrt(draws * 0.07 * 0.93)


def test_a_change_is_found_with_clusters(rng):
    first, second = (
        clustered_sketch(*clustered_period(rng, 400, 10, 0.3, temperature))
        for temperature in (0.5, 2.0)
    )
    assert um.calibration_drift(first, second).p_value < 0.001


def test_summaries_in_clusters_compare_their_sums(rng):
    periods = [clustered_period(rng, 100, 9, 0.4) for _ in range(2)]
    sketches = [clustered_sketch(*period) for period in periods]
    summaries, weighted = [], []
    for y, p, ids in periods:
        summaries.append(um.Summary())
        summaries[-1].update(y, p, clusters=ids)
        weighted.append(um.Summary())
        weighted[-1].update(y, p, clusters=ids, sample_weight=np.full(len(y), 3.0))
    drift = um.calibration_drift(*sketches)
    for others in (summaries, weighted):
        other = um.calibration_drift(*others)
        assert other.p_value == pytest.approx(drift.p_value, rel=0.05, abs=1e-3)
        assert other.num_clusters == (100, 100)


def test_clusters_of_one_example_are_independent_examples(rng):
    plain, alone = [], []
    for _ in range(2):
        p = rng.random(400)
        y = (rng.random(400) < p).astype(int)
        plain.append(um.ScoreSketch(positive_class=True))
        plain[-1].update(y, p)
        alone.append(clustered_sketch(y, p, np.arange(400)))
    first, second = um.calibration_drift(*plain), um.calibration_drift(*alone)
    assert first.to_dict() == second.to_dict()


def test_periods_with_and_without_clusters_or_sums_are_refused(rng, tmp_path):
    y, p, ids = clustered_period(rng, 100, 9, 0.4)
    plain, clustered = um.Summary(), um.Summary()
    plain.update(y, p)
    clustered.update(y, p, clusters=ids)
    with pytest.raises(ValueError, match="in both periods or in none"):
        um.calibration_drift(plain, clustered)
    clustered.save(tmp_path / "clustered.npz")
    loaded = um.Summary.load(tmp_path / "clustered.npz")
    with pytest.raises(ValueError, match="no sums over clusters"):
        um.calibration_drift(loaded, clustered)
    with pytest.raises(ValueError, match="a divisor of 30"):
        um.calibration_drift(clustered, clustered, num_bins=7)
