"""Metrics by group, and multilabel metrics, whose labels are each 0 or 1."""

import functools

import numpy as np
import pytest
from sklearn import metrics

import uncertainty_metrics.numpy as um
from tests import catalogue, references
from uncertainty_metrics.numpy.calibration.bins import _binning

ROWS = [row for row in catalogue.FUNCTIONS if row.takes("groups")]
CASES = catalogue.cases_of(ROWS)
# How the values of the labels are averaged; None: all labels share one set of bins.
BY_LABEL = {
    "sce": np.mean,
    "ace": np.mean,
    "tace": np.mean,
    "ece": None,
    "mce": None,
    "rmsce": None,
}


def draw_groups(rng, n):
    """Returns groups from 0 to 3, of which group 2 is empty."""
    return rng.choice([0, 1, 3], n)


def by_group(groups, function, **arguments):
    """Calls a function for each of four groups; a group without weight has NaN."""
    values, weights = np.full(4, np.nan), np.zeros(4)
    for g in range(4):
        given = {name: array[groups == g] for name, array in arguments.items()}
        weights[g] = given.get("sample_weight", np.ones(np.sum(groups == g))).sum()
        if weights[g] > 0:
            values[g] = function(**given)
    return values, weights


@CASES
@pytest.mark.parametrize("weighted", [False, True])
def test_values_equal_those_of_each_group_alone(row, case, weighted, rng):
    arguments = row.data(rng).arguments(weighted)
    groups = draw_groups(rng, 40)
    if weighted:  # All weights of group 1 are 0.
        arguments["sample_weight"][groups == 1] = 0
    expected, weights = by_group(
        groups, lambda **given: row.reference(**given, **case), **arguments
    )
    found = row.find(um)(**arguments, **case, groups=groups, num_groups=4)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.weights, weights)
    assert found.worst == row.worst(found.values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_binning_all_groups_at_once_equals_one_by_one(
    dtype, threshold, rng, monkeypatch
):
    data = catalogue.data(rng, 400, dtype=np.dtype(dtype))
    groups = {"groups": draw_groups(rng, 400), "num_groups": 4}
    choices = ("adaptive", True, True, "l2", 5, threshold)
    at_once = um.gce(data.labels, data.predictions, *choices, **groups)
    monkeypatch.setattr(_binning, "FEW_EXAMPLES", 0)
    one_by_one = um.gce(data.labels, data.predictions, *choices, **groups)
    np.testing.assert_array_equal(at_once.values, one_by_one.values)


def test_accuracy_and_likelihood_equal_scikit_learn(rng):
    data = catalogue.lattice(rng)
    groups = draw_groups(rng, 40)
    p = (data.predictions + 0.01) / 1.03
    given = {"labels": data.labels, "sample_weight": data.weights}
    for function, reference in (
        (
            um.accuracy,
            lambda labels, p, sample_weight: metrics.accuracy_score(
                labels, p.argmax(1), sample_weight=sample_weight
            ),
        ),
        (
            um.negative_log_likelihood,
            lambda labels, p, sample_weight: metrics.log_loss(
                labels, p, sample_weight=sample_weight, labels=[0, 1, 2]
            ),
        ),
    ):
        expected, _ = by_group(groups, reference, **given, p=p)
        found = function(**given, probabilities=p, groups=groups, num_groups=4)
        np.testing.assert_allclose(found.values, expected, rtol=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_examples_that_do_not_count_may_have_any_group(row, rng):
    arguments, case = row.data(rng).arguments(True), row.cases[0]
    groups = draw_groups(rng, 40)
    kept = (arguments["sample_weight"] > 0) & (arguments["labels"] != 1)
    wrong = np.where(kept, groups, 99)
    function = row.find(um)
    found = function(**arguments, **case, groups=wrong, num_groups=4, ignore_index=1)
    some = {name: array[kept] for name, array in arguments.items()}
    expected = function(**some, **case, groups=groups[kept], num_groups=4)
    np.testing.assert_equal(tuple(found), tuple(expected))


def test_group_of_an_image_applies_to_its_pixels(rng):
    labels, p = rng.integers(0, 3, [4, 5, 6]), rng.dirichlet(np.ones(3), [4, 5, 6])
    images = np.array([0, 1, 1, 0])
    found = um.sce(labels, p, groups=images, num_groups=2)
    pixels = np.repeat(images, 30)
    expected = um.sce(labels.reshape(-1), p.reshape(-1, 3), groups=pixels, num_groups=2)
    np.testing.assert_equal(tuple(found), tuple(expected))
    assert list(found.weights) == [60, 60]


def test_infinite_score_only_affects_its_group():
    found = um.negative_log_likelihood(
        [0, 1, 1], [[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], groups=[0, 1, 2], num_groups=3
    )
    np.testing.assert_allclose(found.values, [0, np.log(2), np.inf])
    assert found.worst == np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": [0, 1, 4]}, r"`groups`.*integers in \[0, 4\).*4 at \[2\]"),
        ({"groups": [0, -1, 1]}, r"`groups`.*-1 at \[1\]"),
        ({"groups": [0, 1, 1.5]}, r"`groups`.*integers.*1.5 at \[2\]"),
        ({"groups": [0, 1, np.nan]}, r"`groups`.*integers.*nan at \[2\]"),
        ({"groups": [0, 1]}, r"`groups`.*broadcastable.*\[2\]"),
        ({"groups": ["a", "b", "a"]}, r"`groups`.*np\.unique\(groups"),
        ({"groups": None}, "`groups` and `num_groups` .* together.*`num_groups`"),
        ({"num_groups": 0}, "`num_groups` must be an integer of at least 1"),
        ({"num_groups": 2.5}, "`num_groups` must be an integer of at least 1"),
    ],
)
def test_wrong_groups_raise(change, message):
    data = {"labels": [0, 1, 1], "probabilities": [0.2, 0.6, 0.7]}
    given = {**data, "groups": [0, 3, 1], "num_groups": 4, **change}
    for function in (um.ece, um.brier_score, um.accuracy):
        with pytest.raises(ValueError, match=message):
            function(**given)
    with pytest.raises(ValueError, match=r"`aggregate` must be True with `groups`"):
        um.brier_score(**data, aggregate=False, groups=[0, 0, 0], num_groups=1)


def test_error_names_the_index_among_all_examples():
    with pytest.raises(ValueError, match=r"1\.5 at \[2, 0\]"):
        um.ece([0, 1, 1], [[0.5, 0.5]] * 2 + [[1.5, 0]], groups=[1, 1, 0], num_groups=2)


def test_bootstrap_has_an_interval_for_each_group(rng):
    labels, p = rng.integers(0, 2, 200), rng.random(200)
    groups = np.arange(200) % 2
    for metric in (um.ece, um.brier_score, um.accuracy):
        data = {"labels": labels, "probabilities": p, "groups": groups}
        interval = um.bootstrap(metric, num_resamples=20, **data, num_groups=2, seed=0)
        expected = metric(**data, num_groups=2)
        np.testing.assert_equal(tuple(interval.estimate), tuple(expected))
        assert np.all(interval.lower.values < interval.upper.values)


def labelled(rng):
    """Returns labels [30, 3], some of them unknown (-1), and probabilities."""
    labels = rng.integers(0, 2, [30, 3])
    labels[rng.random([30, 3]) < 0.2] = -1
    return labels, np.round(rng.random([30, 3]), 1)


@pytest.mark.parametrize("name", BY_LABEL)
def test_multilabel_equals_binary_problems(name, rng):
    labels, p = labelled(rng)
    weights = rng.choice([0.0, 1.0, 2.0], 30)
    row = next(row for row in ROWS if name in row.names)

    def reference(labels, p, weights):
        return row.reference(
            labels,
            p,
            sample_weight=weights,
            ignore_index=-1,
            positive_class=True,
        )

    found = getattr(um, name)(
        labels, p, sample_weight=weights, ignore_index=-1, multilabel=True
    )
    if BY_LABEL[name] is None:
        every = np.repeat(weights, 3)
        expected = reference(labels.reshape(-1), p.reshape(-1), every)
    else:
        columns = zip(labels.T, p.T, strict=True)
        expected = BY_LABEL[name]([reference(*column, weights) for column in columns])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_multilabel_does_not_depend_on_max_prob(scheme, rng):
    labels, p = np.abs(labelled(rng)[0]), rng.random([30, 3])
    options = {"binning_scheme": scheme, "norm": "l2", "num_bins": 4}
    values = [
        um.gce(labels, p, multilabel=True, **options, max_prob=m, class_conditional=c)
        for c in (False, True)
        for m in (False, True)
    ]
    assert values[0] == values[1] != values[2] == values[3]
    each = [
        references.calibration_error(
            labels[:, k], p[:, k], scheme, True, False, "l2", 4, positive_class=True
        )
        for k in range(3)
    ]
    assert values[2] == pytest.approx(np.sqrt(np.mean(np.square(each))), abs=1e-12)


def test_multilabel_takes_groups_and_logits(rng):
    labels, p = labelled(rng)
    logits = 3 * rng.normal(size=labels.shape)
    groups = draw_groups(rng, 30)
    for given in ({"probabilities": p}, {"logits": logits}):
        options = {"multilabel": True, "ignore_index": -1}
        for function in (um.ece, um.ace):
            found = function(labels, **given, **options, groups=groups, num_groups=4)
            expected, _ = by_group(
                groups,
                functools.partial(function, **options),
                labels=labels,
                **given,
            )
            np.testing.assert_allclose(found.values, expected, atol=1e-12)
        pairs = [np.sum(labels[groups == g] >= 0) for g in range(4)]
        np.testing.assert_array_equal(found.weights, pairs)


SCORES = {
    "brier_score": (um.brier_score, lambda y, p: np.mean(2 * (y - p) ** 2) - 1),
    "negative_log_likelihood": (
        um.negative_log_likelihood,
        lambda y, p: metrics.log_loss(y, p, labels=[0, 1]),
    ),
}


@pytest.mark.parametrize(("function", "reference"), SCORES.values(), ids=SCORES)
def test_multilabel_score_is_the_mean_over_all_labels(function, reference, rng):
    labels, p = labelled(rng)
    p = (p + 0.01) / 1.02
    options = {"ignore_index": -1, "multilabel": True}
    known = labels >= 0
    found = function(labels, p, **options)
    assert found == pytest.approx(reference(labels[known], p[known]), rel=1e-9)
    scores = function(labels, p, aggregate=False, **options)
    assert scores.shape == labels.shape
    assert scores[known].mean() == pytest.approx(found)
    assert not np.any(scores[~known])
    places = np.broadcast_to(np.arange(3), labels.shape)
    by_label = function(labels, p, groups=places, **options).values
    for k in range(3):
        own = known[:, k]
        expected = reference(labels[own, k], p[own, k])
        assert by_label[k] == pytest.approx(expected, rel=1e-9)
    # One-hot labels, which raise without `multilabel`.
    labels, p = np.eye(3, dtype=int), rng.dirichlet(np.ones(3), 3)
    with pytest.raises(ValueError, match="one-hot"):
        function(labels, p)
    found = function(labels, p, multilabel=True)
    expected = reference(labels.reshape(-1), p.reshape(-1))
    assert found == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="`multilabel` must be True or"):
        function(labels, p, multilabel=1)


def test_multilabel_takes_one_hot_labels():
    # Without `multilabel`, one-hot labels raise.
    error = um.ece([[1, 0], [0, 1]], [[0.75, 0.25], [0.5, 0.5]], multilabel=True)
    assert error == pytest.approx((0.25 + 0.25 + 0) / 4)


@pytest.mark.parametrize(
    ("labels", "p", "more", "message"),
    [
        (
            [0, 1],
            [[0.5, 0.5]] * 2,
            {},
            r"`probabilities` must be of the shape .* \[\.\.\., L\]",
        ),
        (
            [0, 1],
            [0.5, 0.5],
            {},
            r"`probabilities` must be of the shape .* \[\.\.\., L\]",
        ),
        ([[0, 2]], [[0.5, 0.5]], {}, r"`labels` must be integers in \[0, 2\)"),
        ([[0, 1]], [[0.5, 0.5]], {"positive_class": True}, "`positive_class`.*False"),
        ([[0, 1]], [[0.5, 0.5]], {"multilabel": 1}, "`multilabel` must be True or"),
    ],
)
def test_wrong_multilabel_arguments_raise(labels, p, more, message):
    with pytest.raises(ValueError, match=message):
        um.ece(labels, p, **{"multilabel": True, **more})


def test_groups_have_the_names_that_are_passed(rng):
    pandas = pytest.importorskip("pandas")
    labels, p = rng.integers(0, 2, 60), rng.random(60)
    codes = rng.integers(0, 3, 60)
    words = np.array(["a", "b", "c"])[codes]
    for metric in (um.ece, um.brier_score, um.accuracy):
        expected = metric(labels, p, groups=codes, num_groups=3)
        assert expected.names == (0, 1, 2)
        for groups, names in (
            (codes, (0, 1, 2)),
            (10 * codes, (0, 10, 20)),
            (words, ("a", "b", "c")),
            (words.astype(object), ("a", "b", "c")),
            (pandas.Series(words, index=np.arange(60)[::-1]), ("a", "b", "c")),
            (pandas.Series(words, dtype="category"), ("a", "b", "c")),
        ):
            by_name = metric(labels, p, groups=groups)
            np.testing.assert_equal(tuple(by_name), tuple(expected))
            assert by_name.names == names
        interval = um.bootstrap(
            metric,
            labels=labels,
            probabilities=p,
            groups=words,
            num_resamples=9,
            seed=0,
        )
        assert interval.estimate.names == ("a", "b", "c")
        by_code = um.bootstrap(
            metric,
            labels=labels,
            probabilities=p,
            groups=codes,
            num_groups=3,
            num_resamples=9,
            seed=0,
        )
        np.testing.assert_equal(tuple(interval.upper), tuple(by_code.upper))


def test_missing_groups_are_a_group():
    result = um.accuracy([0, 1, 1], [0.2, 0.6, 0.4], groups=["x", None, "x"])
    assert result.names == ("x", "(missing)")
    assert result.values.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match=r"`groups` must hold strings.* ranges first"):
        um.accuracy([0, 1, 1], [0.2, 0.6, 0.4], groups=[0.5, 1.5, 2.5])
