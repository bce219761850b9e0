"""The difference between the calibration errors of two models."""

import itertools

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _clusters
from uncertainty_metrics.numpy.calibration.bins import _paired_errors

N = 300


def models(rng, n=N):
    q = rng.uniform(size=n)
    labels = (rng.uniform(size=n) < q).astype(int)
    return q**1.5, np.round(q, 1), labels


def naive(scores, outcomes, bins, clusters):
    """Returns the squared error from all pairs of different clusters."""
    total = 0.0
    for b in set(bins):
        pairs = products = 0.0
        rows = np.flatnonzero(bins == b)
        for i, j in itertools.permutations(rows, 2):
            if clusters[i] != clusters[j]:
                pairs += 1
                products += (outcomes[i] - scores[i]) * (outcomes[j] - scores[j])
        total += len(rows) * (products / pairs if pairs else 0.0)
    return total / len(scores)


def bins_of(scores, num_bins):
    """Returns the adaptive bin of each score, by its definition."""
    index = np.empty(len(scores), int)
    for i, score in enumerate(scores):
        below, at = np.sum(scores < score), np.sum(scores == score)
        index[i] = min(int(num_bins * (below + at / 2) / len(scores)), num_bins - 1)
    return index


@pytest.mark.parametrize("size", [1, 3])
def test_it_equals_all_pairs_and_a_jackknife_by_loops(rng, size):
    first, second, labels = models(rng, 60)
    clusters = rng.permutation(np.repeat(np.arange(60 // size), size))
    given = {} if size == 1 else {"clusters": [f"id {c}" for c in clusters]}
    found = um.calibration_error_difference(
        first, second, labels=labels, num_bins=4, **given
    )
    bins = [bins_of(scores, 4) for scores in (first, second)]

    def difference(rows):
        one, two = (
            naive(scores[rows], labels[rows], b[rows], clusters[rows])
            for scores, b in zip((first, second), bins, strict=True)
        )
        return one - two

    everything = np.arange(60)
    assert found.estimate == pytest.approx(difference(everything), abs=1e-12)
    number = 60 // size
    without = np.array(
        [difference(np.flatnonzero(clusters != c)) for c in range(number)]
    )
    variance = (number - 1) / number * np.sum((without - without.mean()) ** 2)
    # The standard error is enlarged for few outcomes, and never smaller than this.
    assert found.standard_error >= np.sqrt(variance) * (1 - 1e-9)
    assert found.standard_error <= 4 * np.sqrt(variance)
    read = _clusters.Clusters(clusters, number) if size > 1 else None
    units = _paired_errors.units(None, 60, read)
    binned = [
        _paired_errors.Binned(b, 4, labels - scores, labels > 0, scores)
        for scores, b in zip((first, second), bins, strict=True)
    ]
    values = [_paired_errors.jackknife(model, units)[1] for model in binned]
    order = np.arange(60) if size > 1 else clusters
    seen = values[0] - values[1]
    np.testing.assert_allclose(
        seen if size > 1 else seen[np.argsort(order)], without, 1e-9, 1e-12
    )
    assert _paired_errors.variance(seen, units) == pytest.approx(variance)
    # How the difference varies with the gap of each bin, and its variance with both.
    deviations = without.mean() - without
    expected = np.sum(deviations**3)
    for sign, model in zip((1, -1), binned, strict=True):
        for b in range(4):
            rows = np.flatnonzero(model.bins == b)
            gap = model.residuals[rows].mean()
            with_gap = sum(
                deviations[clusters[i]] * (model.residuals[i] - gap) for i in rows
            )
            expected += sign * 1.5 * 4 * len(rows) / 60 * (with_gap / len(rows)) ** 2
    expected /= np.sum(deviations**2) ** 1.5
    assert _paired_errors.skewness(*binned, seen, units) == pytest.approx(
        np.clip(expected, -1, 1)
    )


@pytest.mark.parametrize("same", [True, False])
def test_the_least_variances_equal_loops_over_pairs(rng, same):
    n, num_bins = 40, 3
    outcomes = np.stack([rng.integers(0, 2, n)] * 2)
    if not same:  # Two models may be right about different examples.
        outcomes[1, ::3] = 1 - outcomes[1, ::3]
    bins = rng.integers(0, num_bins, (2, n))
    scores = rng.uniform(size=(2, n))
    residuals, spread = outcomes - scores, scores * (1 - scores)
    models_ = [
        _paired_errors.Binned(b, num_bins, r, y > 0, v)
        for b, r, y, v in zip(bins, residuals, outcomes, spread, strict=True)
    ]
    found = _paired_errors.least_variances(
        *models_, _paired_errors.units(None, n, None)
    )
    sizes, gaps, seen, possible = np.zeros((4, 2, n))
    for i, j in itertools.product(range(2), range(n)):
        inside = bins[i] == bins[i, j]
        sizes[i, j] = size = inside.sum()
        gaps[i, j] = residuals[i, inside].mean()
        seen[i, j] = np.var(residuals[i, inside], ddof=1)
        added = spread[i, inside].mean() + size / n / 2
        added = (size - 1) * seen[i, j] + _paired_errors.ADDED * added
        possible[i, j] = max(added / (size - 1 + _paired_errors.ADDED), seen[i, j])
    agree = outcomes[0] == outcomes[1]

    def of_pairs(variances):
        total = 0.0
        for i, j in itertools.permutations(range(n), 2):
            one, two = variances[:, i] / (sizes[:, i] - 1) * (bins[:, i] == bins[:, j])
            total += one**2 + two**2 - 2 * one * two * agree[i] * agree[j]
        return 2 * max(total, 0.0) / n**2

    more = possible - seen
    of_gaps = np.where(
        agree,
        (gaps[0] - gaps[1]) ** 2 * more.max(axis=0),
        np.sum(gaps**2 * more, axis=0),
    )
    of_noise = max(of_pairs(possible) - of_pairs(seen), 0.0)
    assert found[0] == pytest.approx(of_pairs(seen))
    assert found[1] == pytest.approx(4 * of_gaps.mean() / n + of_noise)


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_the_errors_are_those_of_the_interval(rng, scheme):
    first, second, labels = models(rng)
    options = {"binning_scheme": scheme, "num_bins": 10}
    found = um.calibration_error_difference(first, second, labels=labels, **options)
    for error, scores in zip(found.errors, (first, second), strict=True):
        interval = um.calibration_error_interval(
            labels, scores, positive_class=True, **options
        )
        assert error == pytest.approx(interval.estimate)
    lower, estimate, upper, p_value = found
    assert -1 <= lower <= estimate <= upper <= 1
    assert 0 <= p_value <= 1


def test_the_other_order_turns_the_sign(rng):
    first, second, labels = models(rng)
    found = um.calibration_error_difference(first, second, labels=labels)
    turned = um.calibration_error_difference(second, first, labels=labels)
    assert turned.estimate == -found.estimate
    assert (turned.lower, turned.upper) == pytest.approx((-found.upper, -found.lower))
    assert turned.p_value == pytest.approx(found.p_value)
    assert turned.errors == found.errors[::-1]


def test_the_interval_of_the_level_1_less_p_ends_at_0(rng):
    for _ in range(20):
        first, second, labels = models(rng, 200)
        found = um.calibration_error_difference(first, second, labels=labels)
        if not 1e-9 < found.p_value < 0.98:
            continue
        ends = um.calibration_error_difference(
            first, second, labels=labels, level=1 - found.p_value
        )
        end = ends.lower if found.estimate > 0 else ends.upper
        assert end == pytest.approx(0, abs=1e-6 * found.standard_error)


def test_weights_are_repeated_examples(rng):
    first, second, labels = models(rng)
    weights = rng.integers(0, 4, N)
    weighted = um.calibration_error_difference(
        first, second, labels=labels, sample_weight=weights
    )
    repeated = um.calibration_error_difference(
        *(np.repeat(scores, weights) for scores in (first, second)),
        labels=np.repeat(labels, weights),
    )
    np.testing.assert_allclose(weighted, repeated, 1e-9)
    # Weights below 1 on average are scaled, so that their size does not matter.
    tiny = um.calibration_error_difference(
        first, second, labels=labels, sample_weight=np.full(N, 1e-9)
    )
    plain = um.calibration_error_difference(first, second, labels=labels)
    np.testing.assert_allclose(tiny, plain, 1e-9)
    masked = np.where(weights == 0, 9, labels)
    ignored = um.calibration_error_difference(
        first, second, labels=masked, ignore_index=9
    )
    rows = weights > 0
    left = um.calibration_error_difference(
        first[rows], second[rows], labels=labels[rows]
    )
    np.testing.assert_allclose(ignored, left, 1e-9)


def test_clusters_of_one_and_copies_within_clusters_change_nothing(rng):
    first, second, labels = models(rng)
    plain = um.calibration_error_difference(first, second, labels=labels)
    ids = rng.permutation(N)
    alone = um.calibration_error_difference(first, second, labels=labels, clusters=ids)
    np.testing.assert_allclose(alone, plain, 1e-9, 1e-12)
    assert (alone.num_clusters, alone.design_effect) == (N, pytest.approx(1))
    assert plain.num_clusters is None
    rows = rng.permutation(np.tile(np.arange(N), 3))
    copied = um.calibration_error_difference(
        first[rows], second[rows], labels=labels[rows], clusters=ids[rows]
    )
    np.testing.assert_allclose(copied, plain, 1e-9, 1e-12)
    assert copied.design_effect == pytest.approx(3, rel=0.05)


def test_two_equal_models_have_no_difference(rng):
    first, _, labels = models(rng)
    found = um.calibration_error_difference(first, first, labels=labels)
    assert found == (0, 0, 0, 1)
    nothing = um.calibration_error_difference([0.3, 0.7], [0.9, 0.1], labels=[0, 1])
    assert nothing == (-1, 0, 1, 1)


def test_all_forms_of_the_models_give_the_same_values(rng):
    first, second, labels = models(rng)
    expected = um.calibration_error_difference(first, second, labels=labels)
    both = [np.stack([1 - scores, scores], axis=1) for scores in (first, second)]
    for found in (
        um.calibration_error_difference(first, second, correct=labels),
        um.calibration_error_difference(
            {"correct": labels, "confidences": first},
            {"correct": labels, "confidences": second},
        ),
        um.calibration_error_difference(*both, labels=labels, positive_class=True),
    ):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-12)
    by_logits = um.calibration_error_difference(
        *({"logits": np.log(np.maximum(p, 1e-300))} for p in both), labels=labels
    )
    by_decision = um.calibration_error_difference(*both, labels=labels)
    np.testing.assert_allclose(by_logits, by_decision, 1e-6, 1e-9)
    assert by_decision != expected


def test_models_may_give_different_answers(rng):
    """The noise is then not shared: the variance is that of a sum."""
    n = 4000
    answers = [(rng.uniform(size=n) < 0.7, rng.choice([0.8, 0.9], n)) for _ in range(2)]
    first, second = ({"correct": c, "confidences": p} for c, p in answers)
    found = um.calibration_error_difference(first, second)
    # The variance of (mean U)^2 is 4 mean(U)^2 / n times that of U.
    squares = 2 * 4 * 0.15**2 * 0.7 * 0.3 / n
    assert found.standard_error == pytest.approx(np.sqrt(squares), rel=0.2)


def test_where_no_error_was_seen_no_model_is_called_better():
    """200 answers, all right: both confidences may be right or too low."""
    for confidences in ((0.999, 0.99), (0.995, np.linspace(0.99, 1.0, 200))):
        first, second = (np.broadcast_to(c, 200) for c in confidences)
        found = um.calibration_error_difference(first, second, correct=np.ones(200))
        assert found.lower < 0 < found.upper
        assert found.p_value > 0.05


def test_a_constant_is_not_preferred_to_the_truth(rng):
    """Both are calibrated: at most 5% of the data sets may show a difference."""
    found = 0
    for _ in range(200):
        p = rng.uniform(size=300)
        labels = rng.uniform(size=300) < p
        difference = um.calibration_error_difference(
            np.full(300, 0.5), p, labels=labels
        )
        found += difference.p_value < 0.05
    assert found <= stats.binom.ppf(1 - 1e-6, 200, 0.05)


def test_the_interval_covers_the_difference_and_shrinks_with_clusters_unlike_rows(rng):
    covered = {"rows": 0, "clusters": 0}
    for _ in range(100):
        q = np.repeat(rng.uniform(0.1, 0.9, 100), 10)
        ids = np.repeat(np.arange(100), 10)
        # One outcome for each cluster: nine of ten rows say nothing.
        labels = np.repeat(rng.uniform(size=100) < q[::10], 10)
        scores = np.clip(q + 0.1, 0, 1), np.full(1000, 0.5)
        for name, given in (("rows", {}), ("clusters", {"clusters": ids})):
            lower, _, upper, _ = um.calibration_error_difference(
                *scores, labels=labels, **given
            )
            covered[name] += lower <= 0.01 <= upper
    assert covered["clusters"] >= stats.binom.ppf(1e-6, 100, 0.94)
    assert covered["rows"] < covered["clusters"]


GOOD = {"first": [0.2, 0.8], "second": [0.4, 0.7], "labels": [0, 1]}
BAD = {
    "first": ({"first": [0.2, 1.8]}, r"`first` must be .*\[0, 1\]"),
    "second": ({"second": [0.2, 0.1, 0.1]}, "`second`|`labels`"),
    "mapping": ({"second": {"scores": [1]}}, "`second` must be one of 'probabilities'"),
    "labels": ({"labels": [0, 2]}, "`labels`"),
    "neither": ({"labels": None}, "`labels`"),
    "both": ({"correct": [0, 1]}, "`labels`"),
    "form": ({"second": [[0.2, 0.8]] * 2}, "`second` must be of the form of `first`"),
    "level": ({"level": 95}, "`level`"),
    "bins": ({"num_bins": 0}, "`num_bins`"),
    "scheme": ({"binning_scheme": "both"}, "`binning_scheme`"),
    "clusters": ({"clusters": [1, 1]}, "`clusters` must hold at least two ids"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_say_what_is_wrong(name):
    changed, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        um.calibration_error_difference(**{**GOOD, **changed})
