"""Outcomes between 0 and 1: grades of answers, and shares of votes."""

import fractions
import itertools
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

# Errors that are functions of sums that are linear in the outcomes.
LINEAR = {
    "ece": {},
    "mce": {},
    "rmsce": {"num_bins": 5},
    "gce": {
        "binning_scheme": "adaptive",
        "max_prob": True,
        "class_conditional": False,
        "norm": "l1",
    },
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "smece": {},
    "atb": {},
    "corp_decomposition": {},
}


def graded(rng, n=300, num_votes=5):
    """Makes shares of votes, and confidences of which some are equal."""
    confidences = rng.integers(0, 17, n) / 16
    votes = rng.random((n, num_votes)) < (0.2 + 0.6 * confidences)[:, None]
    return votes.mean(axis=1), confidences, votes


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_are_the_mean_over_single_annotators(scheme, weighted, rng):
    """Each example asks one of its annotators: the mean over all ways to choose."""
    grades, confidences, votes = graded(rng, n=5, num_votes=3)
    options = {"confidences": confidences, "num_bins": 3, "binning_scheme": scheme}
    if weighted:
        options["sample_weight"] = rng.integers(1, 4, 5)
    found = um.bin_statistics(correct=grades, **options)
    each = [
        um.bin_statistics(correct=votes[np.arange(5), list(choice)], **options)
        for choice in itertools.product(range(3), repeat=5)
    ]
    for name in ("edges", "counts", "score_sums"):
        np.testing.assert_array_equal(getattr(found, name), getattr(each[0], name))
    mean = np.mean([one.outcome_sums for one in each], axis=0)
    np.testing.assert_allclose(found.outcome_sums, mean, rtol=1e-12)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_grade_is_that_share_of_a_right_and_of_a_wrong_answer(name, weighted, rng):
    grades, confidences, _ = graded(rng)
    weights = rng.integers(0, 4, len(grades)) if weighted else np.ones(len(grades))
    options = LINEAR[name]
    function = getattr(um, name)
    found = function(
        correct=grades,
        confidences=confidences,
        **options,
        **({"sample_weight": weights} if weighted else {}),
    )
    both = function(
        correct=np.repeat([1, 0], len(grades)),
        confidences=np.tile(confidences, 2),
        sample_weight=np.concatenate([grades * weights, (1 - grades) * weights]),
        **options,
    )
    np.testing.assert_allclose(found, both, rtol=1e-6, atol=1e-9)


def test_groups_have_the_errors_of_their_examples(rng):
    grades, confidences, _ = graded(rng)
    groups = rng.integers(0, 3, len(grades))
    found = um.ece(correct=grades, confidences=confidences, groups=groups)
    for group in range(3):
        rows = groups == group
        alone = um.ece(correct=grades[rows], confidences=confidences[rows])
        assert found.values[group] == pytest.approx(alone)


def test_whole_grades_stay_right_and_wrong(rng):
    _, confidences, votes = graded(rng)
    right = votes[:, 0]
    data = {"confidences": confidences}
    for name in (*LINEAR, "debiased_calibration_error", "calibration_error_interval"):
        function, options = getattr(um, name), LINEAR.get(name, {})
        np.testing.assert_array_equal(
            function(correct=right, **data, **options),
            function(correct=right.astype(np.float64), **data, **options),
        )


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_the_debiased_error_subtracts_the_variance_of_grades(scheme, rng):
    grades, confidences, _ = graded(rng)
    options = {"binning_scheme": scheme, "num_bins": 4}
    found = um.debiased_calibration_error(
        correct=grades, confidences=confidences, squared=True, **options
    )
    edges = um.bin_statistics(correct=grades, confidences=confidences, **options).edges
    bins = np.searchsorted(edges[0, 1:-1], confidences, "left")
    expected = 0.0
    for b in np.unique(bins):
        y, p = grades[bins == b], confidences[bins == b]
        if len(y) > 1:
            square = (y.mean() - p.mean()) ** 2 - (y - p).var(ddof=1) / len(y)
            expected += len(y) / len(grades) * square
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_debiased_error_has_no_bias(rng):
    draws, n = 2000, 50
    confidences = np.repeat([0.3, 0.7], n // 2)
    squares = [
        um.debiased_calibration_error(
            correct=rng.beta(4 * confidences, 4 * (1 - confidences)),
            confidences=confidences,
            num_bins=2,
            squared=True,
        )
        for _ in range(draws)
    ]
    z = np.mean(squares) / (np.std(squares, ddof=1) / np.sqrt(draws))
    assert abs(z) < 5


@pytest.mark.parametrize("shift", [0.0, 0.08])
def test_the_interval_holds_the_error(shift, rng):
    draws, n, held = 300, 400, 0
    confidences = np.repeat([0.2, 0.4, 0.6, 0.8], n // 4)
    mean = confidences + shift
    for _ in range(draws):
        grades = rng.beta(5 * mean, 5 * (1 - mean))
        lower, _, upper = um.calibration_error_interval(
            correct=grades, confidences=confidences, num_bins=4
        )
        held += lower <= shift <= upper
    assert held / draws > 0.93 - 5 * np.sqrt(0.93 * 0.07 / draws)


def test_grades_that_vary_little_make_a_shorter_interval(rng):
    n = 2000
    confidences = rng.random(n)
    grades = np.clip(confidences + 0.1 * rng.standard_normal(n), 0, 1)
    right = rng.random(n) < confidences
    widths = [
        np.ptp(um.calibration_error_interval(correct=y, confidences=confidences))
        for y in (grades, right)
    ]
    assert widths[0] < widths[1] / 2


@pytest.mark.thorough
@pytest.mark.parametrize("statistic", ["gce", "ks", "kuiper", "smece", "atb"])
def test_the_test_keeps_its_level_and_finds_errors(statistic, rng):
    draws, n = (60, 80)
    options = {"statistic": statistic, "num_resamples": 59, "num_bins": 5}
    rejected = found = 0
    for _ in range(draws):
        p = 0.1 + 0.8 * rng.random(n)
        grades = rng.beta(6 * p, 6 * (1 - p))
        same = um.calibration_test(correct=grades, confidences=p, seed=rng, **options)
        rejected += same.p_value <= 0.1
        q = np.clip(p - 0.1, 0, 1)
        test = um.calibration_test(correct=grades, confidences=q, seed=rng, **options)
        found += test.p_value <= 0.1
    assert rejected / draws < 0.1 + 5 * np.sqrt(0.1 * 0.9 / draws)
    assert found / draws > 0.8


def test_copies_of_graded_answers_in_clusters_change_nothing(rng):
    grades, confidences, _ = graded(rng, n=100)
    data = {"correct": grades, "confidences": confidences}
    twice = {name: np.tile(values, 2) for name, values in data.items()}
    clusters = np.tile(np.arange(100), 2)
    one = um.calibration_test(**data, seed=3)
    two = um.calibration_test(**twice, clusters=clusters, seed=3)
    np.testing.assert_allclose(one, two)
    one = um.debiased_calibration_error(**data)
    two = um.debiased_calibration_error(**twice, clusters=clusters)
    assert one == pytest.approx(two)


def test_groups_of_calibrated_grades_are_seldom_found(rng):
    draws, rejected, covered = 200, 0, 0
    group = np.arange(60)
    for _ in range(draws):
        p = 0.1 + 0.8 * rng.random(60)
        row = um.calibration_by_group(
            correct=rng.beta(6 * p, 6 * (1 - p)),
            confidences=p,
            groups=np.zeros_like(group),
        )[0]
        rejected += row.p_value < 0.05
        covered += row.lower <= 0 <= row.upper
    bound = 5 * np.sqrt(0.06 * 0.94 / draws)
    assert rejected / draws < 0.06 + bound
    assert covered / draws > 0.94 - bound


@pytest.mark.parametrize(
    "options",
    [{"statistic": "kuiper"}, {"statistic": "gap", "adjust": "max"}],
    ids=lambda options: options["statistic"],
)
def test_walks_and_redrawn_groups_have_the_variance_of_grades(options, rng):
    draws, found = 60, 0
    for _ in range(draws):
        p = 0.1 + 0.8 * rng.random(150)
        grades = np.clip(p + 0.03 * rng.standard_normal(150), 0, 1)
        data = {"confidences": p, "groups": rng.integers(0, 2, 150), "seed": rng}
        table = um.calibration_by_group(correct=grades, **data, **options)
        found += len(table.miscalibrated) > 0
    assert found / draws < 0.07 + 5 * np.sqrt(0.07 * 0.93 / draws)
    # An error of a third of a standard deviation of right and wrong is clear here.
    grades = np.clip(grades - 0.03, 0, 1)
    table = um.calibration_by_group(correct=grades, **data, **options)
    assert len(table.miscalibrated) == 2
    assert table.worst.detectable < 0.03


def test_a_group_of_equal_grades_has_an_interval(rng):
    row = um.calibration_by_group(
        correct=np.full(100, 0.75), confidences=np.full(100, 0.5), groups=[1] * 100
    )[0]
    assert row.lower < row.gap == 0.25 < row.upper
    assert row.p_value < 1e-6


def test_the_difference_of_two_models_takes_grades(rng):
    grades, confidences, _ = graded(rng)
    other = np.clip(confidences * 1.2, 0, 1)
    result = um.calibration_error_difference(other, confidences, correct=grades)
    assert result.lower <= result.estimate <= result.upper
    squares = [
        um.debiased_calibration_error(correct=grades, confidences=p, squared=True)
        for p in (other, confidences)
    ]
    assert result.estimate == pytest.approx(squares[0] - squares[1], abs=2e-3)


def test_the_difference_of_two_models_takes_votes(rng):
    votes, shares, p = voted(rng, n=200, classes=3)
    other = rng.dirichlet(np.ones(3), 200)
    found = um.calibration_error_difference(other, p, label_distributions=shares)
    squares = [
        um.debiased_calibration_error(
            label_distributions=shares, probabilities=q, squared=True
        )
        for q in (other, p)
    ]
    assert found.estimate == pytest.approx(squares[0] - squares[1], abs=2e-3)
    one_hot = np.eye(3)[votes[:, 0]]
    found = um.calibration_error_difference(other, p, label_distributions=one_hot)
    expected = um.calibration_error_difference(other, p, labels=votes[:, 0])
    assert tuple(found) == tuple(expected)


def test_rules_of_calibrated_grades_are_seldom_found(rng):
    draws, found = 50, 0
    for _ in range(draws):
        p = 0.1 + 0.8 * rng.random(400)
        grades = np.clip(p + 0.03 * rng.standard_normal(400), 0, 1)
        features = {"x": rng.random(400), "kind": rng.choice(list("ab"), 400)}
        rules = um.find_miscalibrated_groups(
            features, correct=grades, confidences=p, min_examples=20, seed=rng
        )
        found += len(rules.miscalibrated) > 0
    assert found / draws < 0.05 + 5 * np.sqrt(0.05 * 0.95 / draws)
    # A rule whose grades are too low is found, though p (1 - p) would hide it.
    grades = np.clip(grades - 0.03 * (features["kind"] == "a"), 0, 1)
    rules = um.find_miscalibrated_groups(
        features, correct=grades, confidences=p, min_examples=20, seed=rng
    )
    name = rules.worst.name
    assert "kind = a" in name or "kind != b" in name  # There are two kinds.
    assert rules.worst.adjusted_p_value < 0.01


def test_a_curve_of_grades_has_narrower_bars_and_bands(rng):
    n = 2000
    confidences = rng.random(n)
    grades = np.clip(confidences + 0.1 * rng.standard_normal(n), 0, 1)
    right = rng.random(n) < confidences
    options = {"error_bars": 0.95, "consistency_band": 0.95, "seed": 0}
    graded, whole = (
        um.reliability_curve(correct=y, confidences=confidences, **options)
        for y in (grades, right)
    )
    np.testing.assert_array_equal(graded.counts, whole.counts)
    for name in ("error_bars", "consistency_band"):
        widths = [
            np.mean(getattr(curve, name).upper - getattr(curve, name).lower)
            for curve in (graded, whole)
        ]
        assert widths[0] < widths[1] / 2
    bars = graded.error_bars
    assert np.all(bars.lower <= graded.accuracies)
    assert np.all(graded.accuracies <= bars.upper)


REFUSED = {
    "spiegelhalter_test": {},
    "bayesian_expected_calibration_error": {"num_bins": 5},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_right_or_wrong_names_the_alternative(name, rng):
    grades, confidences, _ = graded(rng)
    with pytest.raises(ValueError, match=r"must be 0 and 1 here: .* takes numbers in"):
        getattr(um, name)(correct=grades, confidences=confidences, **REFUSED[name])


def test_states_and_limits_that_need_right_or_wrong_say_so(rng):
    grades, confidences, _ = graded(rng)
    data = {"correct": grades, "confidences": confidences}
    with pytest.raises(ValueError, match=r"0 and 1 here: .* takes numbers in"):
        um.CalibrationMonitor().update(**data)
    with pytest.raises(ValueError, match="`statistic` must be 'kuiper' or another"):
        um.calibration_test(**data, statistic="spiegelhalter")
    with pytest.raises(ValueError, match="`method` must be 'resampling' for outcomes"):
        um.calibration_test(**data, statistic="ks", method="asymptotic")


def test_swapped_grades_and_confidences_warn(rng):
    said = np.round(rng.random(30), 1)
    came = rng.random(30) < said
    with pytest.warns(UserWarning, match="are the two arguments swapped"):
        um.ece(correct=said, confidences=came * 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        um.ece(correct=said, confidences=np.ones(30))
        um.ece(correct=np.round(2 * said) / 2, confidences=came * 1.0)
        um.ece(correct=came, confidences=said)


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        ([1, 3, 5], r"numbers in \[0, 1\]; divide grades by the highest possible"),
        ([0.5, np.nan, 1], "leave out examples without a label"),
        ([0.5, -0.25, 1], r"numbers in \[0, 1\]\. Received: -0.25 at \[1\]"),
        ([-1, 1, 1], r"for -1 and 1 pass \(labels \+ 1\) // 2"),
    ],
)
def test_grades_beyond_0_and_1_raise(correct, message):
    with pytest.raises(ValueError, match=message):
        um.ece(correct=correct, confidences=[0.5, 0.25, 0.75])
    assert um.ece(
        correct=[0.5, *correct], confidences=[0.5, 0, 0, 0], sample_weight=[1, 0, 0, 0]
    ) == pytest.approx(0)


# Functions of classes, and their options.
OF_CLASSES = {
    "brier_score": {},
    "negative_log_likelihood": {},
    "ranked_probability_score": {},
}


def voted(rng, n=40, classes=4, num_votes=3, dtype=np.float64):
    """Makes votes for classes, their shares, and forecasts."""
    p = rng.dirichlet(np.ones(classes), n).astype(dtype)
    upper = np.cumsum(p[:, :-1], axis=1)[:, None]
    votes = np.sum(rng.random((n, num_votes, 1)) > upper, axis=-1)
    shares = np.stack([(votes == k).mean(axis=1) for k in range(classes)], axis=1)
    return votes, shares, p


@pytest.mark.parametrize("name", OF_CLASSES)
@pytest.mark.parametrize("form", ["probabilities", "logits", "zero_based", "weights"])
def test_scores_are_the_mean_over_the_votes(name, form, rng):
    votes, shares, p = voted(rng)
    options = {"probabilities": p}
    if form == "logits":
        options = {"logits": np.log(p) + 3}
    elif form == "zero_based" and name == "brier_score":
        options["zero_based"] = True
    elif form == "weights":
        options["sample_weight"] = rng.integers(0, 3, len(p))
    function = getattr(um, name)
    found = function(label_distributions=shares, aggregate=False, **options)
    each = [function(vote, aggregate=False, **options) for vote in votes.T]
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-10, atol=1e-12)
    mean = function(label_distributions=shares, **options)
    each = [function(vote, **options) for vote in votes.T]
    assert mean == pytest.approx(np.mean(each))


BINS = [
    {"max_prob": max_prob, "class_conditional": by_class, "binning_scheme": scheme}
    for max_prob in (True, False)
    for by_class in (False, True)
    for scheme in ("even", "adaptive")
]


@pytest.mark.parametrize("options", BINS, ids=lambda options: str([*options.values()]))
@pytest.mark.parametrize("more", ["plain", "weights", "threshold", "groups", "many"])
def test_bins_of_classes_are_the_mean_over_the_votes(options, more, rng):
    n = 1500 if more == "many" else 60  # Many examples take other paths.
    votes, shares, p = voted(rng, n, dtype=np.float32)
    options = {**options, "probabilities": p, "num_bins": 4}
    if more == "weights":
        options["sample_weight"] = rng.integers(0, 3, n)
    if more == "threshold":
        options["threshold"] = 0.2
    if more == "groups":
        options = {**options, "groups": rng.integers(0, 2, n), "num_groups": 2}
        options["norm"] = "l1"
        found = um.gce(label_distributions=shares, **options)
        rows = [options["groups"] == group for group in range(2)]
        options.pop("groups"), options.pop("num_groups"), options.pop("probabilities")
        expected = [
            um.gce(label_distributions=shares[r], probabilities=p[r], **options)
            for r in rows
        ]
        np.testing.assert_allclose(found.values, expected, rtol=1e-6)
        return
    found = um.bin_statistics(label_distributions=shares, **options)
    each = [um.bin_statistics(vote, **options) for vote in votes.T]
    for name in ("edges", "counts", "score_sums"):
        expected = getattr(each[0], name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6)
    mean = np.mean([one.outcome_sums for one in each], axis=0)
    np.testing.assert_allclose(found.outcome_sums, mean, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("options", BINS, ids=lambda options: str([*options.values()]))
def test_bins_are_exactly_the_mean_over_all_ways_to_ask_one_annotator(options, rng):
    n, classes, num_votes = 4, 3, 4
    p = rng.dirichlet(np.ones(classes), n)
    votes = rng.integers(0, classes, (n, num_votes))
    shares = np.eye(classes)[votes].mean(axis=1)  # Quarters, without rounding.
    data = {"probabilities": p, "num_bins": 2, **options}
    found = um.bin_statistics(label_distributions=shares, **data).outcome_sums
    total = [[fractions.Fraction(0)] * found.shape[1] for _ in found]
    for choice in itertools.product(range(num_votes), repeat=n):
        asked = votes[np.arange(n), list(choice)]
        sums = um.bin_statistics(asked, **data).outcome_sums
        total = [
            [a + fractions.Fraction(b) for a, b in zip(row, more, strict=True)]
            for row, more in zip(total, sums.tolist(), strict=True)
        ]
    mean = [[value / num_votes**n for value in row] for row in total]
    assert [[fractions.Fraction(value) for value in row] for row in found] == mean


# Functions that are those of every vote as an example, and their options.
OF_EVERY_VOTE = {
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "smece": {},
    "atb": {},
    "corp_decomposition": {"score": "log"},
    "brier_decomposition": {},
    "brier_decomposition_exact": {},
}


@pytest.mark.parametrize("name", OF_EVERY_VOTE)
@pytest.mark.parametrize("form", ["classes", "one column", "weights", "logits"])
def test_shares_count_like_every_vote_as_an_example(name, form, rng):
    votes, shares, p = voted(rng, classes=2 if form == "one column" else 3)
    if form == "one column":
        p = p[:, 1]
    given = {"logits": np.log(p)} if form == "logits" else {"probabilities": p}
    options = dict(OF_EVERY_VOTE[name])
    weights = rng.integers(0, 3, len(p)) if form == "weights" else np.ones(len(p))
    function = getattr(um, name)
    found = function(
        label_distributions=shares, sample_weight=weights, **given, **options
    )
    repeated = {name: np.concatenate([value] * 3) for name, value in given.items()}
    each = function(
        votes.T.reshape(-1), sample_weight=np.tile(weights, 3), **repeated, **options
    )
    np.testing.assert_allclose(found, each, rtol=1e-6, atol=1e-9)


ABOUT_DECISIONS = {
    "debiased_calibration_error": {"num_bins": 5, "squared": True},
    "calibration_error_interval": {"num_bins": 5},
    "calibration_test": {"seed": 1, "num_resamples": 99},
    "calibration_by_group": {"min_examples": 5, "seed": 1},
}


@pytest.mark.parametrize("name", ABOUT_DECISIONS)
def test_shares_of_the_decision_are_the_grades_of_an_answer(name, rng):
    _, shares, p = voted(rng, n=90)
    decided = np.argmax(p, axis=1)
    grades, confidences = (x[np.arange(90), decided] for x in (shares, p))
    options = dict(ABOUT_DECISIONS[name])
    if name == "calibration_by_group":
        options["groups"] = rng.integers(0, 3, 90)
    function = getattr(um, name)
    found = function(label_distributions=shares, probabilities=p, **options)
    expected = function(correct=grades, confidences=confidences, **options)
    assert str(found) == str(expected)
    one_hot = np.eye(4)[np.argmax(shares, axis=1)]
    found = function(label_distributions=one_hot, probabilities=p, **options)
    assert str(found) == str(function(np.argmax(shares, axis=1), p, **options))


@pytest.mark.parametrize("by_class", [False, True])
def test_the_test_of_all_classes_keeps_its_level_for_votes(by_class, rng):
    draws, rejected = 150, 0
    options = {"max_prob": False, "class_conditional": by_class, "norm": "l2"}
    for _ in range(draws):
        _, shares, p = voted(rng, n=60, classes=3)
        test = um.calibration_test(
            label_distributions=shares,
            probabilities=p,
            num_bins=3,
            num_resamples=39,
            seed=rng,
            **options,
        )
        rejected += test.p_value <= 0.1
    assert rejected / draws < 0.1 + 5 * np.sqrt(0.1 * 0.9 / draws)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_scaled_brier_score_is_that_of_every_vote(weighted, rng):
    votes, shares, p = voted(rng)
    weights = rng.integers(1, 4, len(p)) if weighted else np.ones(len(p))
    found = um.scaled_brier_score(
        label_distributions=shares, probabilities=p, sample_weight=weights
    )
    base = np.average(shares, axis=0, weights=weights)
    brier = constant = 0.0
    for row, forecast, weight in zip(votes, p, weights, strict=True):
        for vote in row:
            brier += weight * np.sum((forecast - np.eye(4)[vote]) ** 2)
            constant += weight * np.sum((base - np.eye(4)[vote]) ** 2)
    assert found == pytest.approx(1 - brier / constant)
    with pytest.raises(ValueError, match="`label_distributions` must hold at least tw"):
        um.scaled_brier_score(label_distributions=[[1, 0]], probabilities=[[0.9, 0.1]])


def test_all_metrics_of_shares_are_those_of_the_single_functions(rng):
    _, shares, p = voted(rng)
    data = {"label_distributions": shares, "probabilities": p}
    for key, value in um.compute_all_metrics(**data, num_bins=4).items():
        assert value == um.gce(**data, **key._asdict(), num_bins=4)


@pytest.mark.parametrize("name", ["ece", "mce", "rmsce", "sce", "ace", "tace"])
def test_one_hot_rows_are_labels(name, rng):
    votes, shares, p = voted(rng)
    one_hot = np.eye(4)[votes[:, 0]]
    function = getattr(um, name)
    found = function(label_distributions=one_hot, probabilities=p)
    assert found == function(votes[:, 0], p)
    assert function(label_distributions=shares, probabilities=p) != found


def test_two_classes_may_have_one_column(rng):
    _, shares, p = voted(rng, classes=2)
    for name in OF_CLASSES:
        function = getattr(um, name)
        both = function(label_distributions=shares, probabilities=p)
        one = function(label_distributions=shares, probabilities=p[:, 1])
        assert one == pytest.approx(both)


def test_a_class_without_a_vote_may_have_probability_0():
    data = {"label_distributions": [[0.5, 0.5, 0.0]]}
    log_2 = np.log(2)
    row = [[0.5, 0.5, 0.0]]
    assert um.negative_log_likelihood(**data, probabilities=row) == pytest.approx(log_2)
    row = [[0.0, 0.0, -np.inf]]
    assert um.negative_log_likelihood(**data, logits=row) == pytest.approx(log_2)
    row = [[1.0, 0.0, 0.0]]
    assert um.negative_log_likelihood(**data, probabilities=row) == np.inf


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"label_distributions": [[3, 2, 0]]}, r"in \[0, 1\]; divide votes by their"),
        ({"label_distributions": [[0.5, 0.25, 0.0]]}, "must hold rows that sum to 1"),
        ({"label_distributions": [[0.5, np.nan, 0.5]]}, r"in \[0, 1\]\. .* nan at \["),
        ({"label_distributions": [[0.5, 0.5]]}, r"of shape \[\.\.\., 3\], the classes"),
        ({"label_distributions": [[1.0]]}, "with K >= 2 classes"),
        ({"labels": [0]}, "Either `labels` or `label_distributions` must be given"),
        ({"label_distributions": None}, "Either `labels`"),
        ({"ignore_index": 1}, "`ignore_index` must be None with `label_dist"),
    ],
)
def test_wrong_distributions_raise(wrong, message):
    good = {
        "label_distributions": [[0.5, 0.5, 0.0]],
        "probabilities": [[0.2, 0.3, 0.5]],
    }
    for function in (um.brier_score, um.ece):
        with pytest.raises(ValueError, match=message):
            function(**{**good, **wrong})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("brier_score", {}),
        ("net_benefit", {"thresholds": [0.5]}),
        ("miscalibration_cost", {"thresholds": [0.5]}),
        ("aurc", {}),
        ("risk_coverage_curve", {}),
        ("threshold_at_risk", {"risk": 0.1}),
    ],
)
def test_shares_as_labels_are_told_where_they_go(name, options):
    shares = [[0.5, 0.5], [0.2, 0.8]]
    message = r"pass `label_distributions` or `losses` .* else every vote as an example"
    for labels in (shares, shares[0]):
        with pytest.raises(ValueError, match=message):
            getattr(um, name)(labels, np.full(np.shape(labels), 0.5), **options)


CALIBRATORS = [
    um.TemperatureScaling,
    um.VectorScaling,
    um.MatrixScaling,
    um.PlattScaling,
    um.BetaCalibration,
    um.QuadraticCalibration,
    um.SplineCalibration,
    um.IsotonicCalibration,
    um.HistogramBinning,
]


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("form", ["classes", "one column"])
def test_calibrators_fit_every_vote(calibrator, form, rng):
    """A share counts like so many votes, each an example with a label of its own."""
    votes, shares, p = voted(rng, n=150, classes=3, num_votes=5)
    if form == "one column":
        if calibrator in (um.VectorScaling, um.MatrixScaling):
            pytest.skip("These fits take the same path for two columns and for one.")
        votes, p = (votes == 1).astype(int), p[:, 1]
        shares = np.stack([1 - shares[:, 1], shares[:, 1]], axis=1)
    weights = rng.integers(1, 3, 150)
    fitted = calibrator().fit(
        label_distributions=shares, probabilities=p, sample_weight=weights
    )
    each = calibrator().fit(
        votes.T.reshape(-1),
        probabilities=np.concatenate(5 * [p]),
        sample_weight=np.tile(weights, 5) / 5,
    )
    np.testing.assert_allclose(
        fitted.transform(probabilities=p), each.transform(probabilities=p), atol=1e-6
    )


def test_calibrators_of_single_labels_say_so(rng):
    _, shares, p = voted(rng, classes=2)
    for calibrator in (um.VennAbersCalibration(), um.EnsembleTemperatureScaling()):
        with pytest.raises(ValueError, match="`label_distributions` must be None for"):
            calibrator.fit(label_distributions=shares, probabilities=p)


@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.parametrize("function", [um.ece, um.brier_score, um.report])
def test_votes_in_columns_are_told_how_to_become_shares(function, classes):
    rng = np.random.default_rng(0)
    votes = rng.integers(0, classes, (40, 5))
    p = rng.dirichlet(np.ones(classes), 40)
    with pytest.raises(ValueError, match="holds the votes of annotators") as wrong:
        function(votes, p)
    _, hint = str(wrong.value).split("pass label_distributions=")
    call, _ = hint.split(" instead of")
    shares = eval(call, {"labels": votes, "np": np})
    each = [um.brier_score(vote, p) for vote in votes.T]
    assert um.brier_score(label_distributions=shares, probabilities=p) == pytest.approx(
        np.mean(each)
    )


def test_a_wrong_value_in_a_mask_is_no_vote():
    labels, p = np.zeros((2, 300), int), np.full((2, 300), 0.5)
    labels[0, 0] = 255
    with pytest.raises(ValueError, match=r"in \[0, 2\)"):
        um.brier_score(labels, p)
    assert um.brier_score(labels, p, ignore_index=255) == pytest.approx(-0.5)
