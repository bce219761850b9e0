"""Labels that are each 0 or 1, in the functions without bins, tests and groups."""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import uncertainty_metrics.numpy as um


def tagged(rng, n=60, labels=3):
    """Makes labels 0 and 1, of which -1 is unknown, and probabilities with ties."""
    p = rng.integers(1, 16, (n, labels)) / 16
    y = (rng.random(p.shape) < p**1.5).astype(int)
    y[rng.random(p.shape) < 0.1] = -1
    return y, p


# Functions that take the labels as so many examples.
POOLED = {
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "smece": {},
    "atb": {},
    "corp_decomposition": {"score": "brier"},
}
# Functions for which the labels of an example are a cluster.
CLUSTERED = {
    "debiased_calibration_error": {"num_bins": 4, "squared": True},
    "calibration_error_interval": {"num_bins": 4},
    "calibration_test": {"num_bins": 4, "num_resamples": 49, "seed": 0},
    "calibration_by_group": {"min_examples": 5},
    "find_miscalibrated_groups": {"min_examples": 5, "depth": 2, "seed": 0},
}
ATTRIBUTES = {"calibration_by_group": "groups", "find_miscalibrated_groups": "features"}


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("form", ["probabilities", "logits"])
def test_labels_are_pooled(name, form, rng):
    y, p = tagged(rng)
    known, weights = y >= 0, rng.integers(1, 4, len(y))
    given = p if form == "probabilities" else np.log(p / (1 - p))
    function = getattr(um, name)
    found = function(
        y,
        **{form: given},
        multilabel=True,
        ignore_index=-1,
        sample_weight=weights,
        **POOLED[name],
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        sample_weight=np.repeat(weights, 3).reshape(y.shape)[known],
        **POOLED[name],
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_ks_and_bins_are_those_of_a_loop(rng):
    y, p = tagged(rng)
    known = y >= 0
    pairs = sorted(zip(p[known], y[known], strict=True))
    sums, highest = 0.0, 0.0
    for i, (score, outcome) in enumerate(pairs):
        sums += outcome - score
        if i + 1 == len(pairs) or pairs[i + 1][0] > score:
            highest = max(highest, abs(sums))
    options = {"multilabel": True, "ignore_index": -1}
    found = um.ks_calibration_error(y, p, **options)
    assert found == pytest.approx(highest / len(pairs))
    bins = um.bin_statistics(y, p, num_bins=2, class_conditional=True, **options)
    for label in range(3):
        own = known[:, label]
        upper = p[own, label] > 0.5
        assert bins.counts[label, 1] == upper.sum()
        mean = y[own, label][upper].mean()
        assert bins.accuracies[label, 1] == pytest.approx(mean)


@pytest.mark.parametrize("name", CLUSTERED)
def test_labels_of_an_example_are_a_cluster(name, rng):
    y, p = tagged(rng)
    known = y >= 0
    rows = np.repeat(np.arange(len(y)), 3).reshape(y.shape)
    attributes, as_answers = {}, {}
    if name in ATTRIBUTES:
        values = {"a": rng.choice(["x", "y"], len(y)), "b": rng.integers(0, 4, len(y))}
        each = {key: column[rows] for key, column in values.items()}
        each["label"] = np.broadcast_to(["cat", "dog", "fox"], y.shape)
        attributes[ATTRIBUTES[name]] = {**values, "label": each["label"]}
        chosen = {key: column[known] for key, column in each.items()}
        as_answers[ATTRIBUTES[name]] = chosen
    function = getattr(um, name)
    options = CLUSTERED[name]
    found = function(
        labels=y,
        probabilities=p,
        multilabel=True,
        ignore_index=-1,
        **attributes,
        **options,
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        clusters=rows[known],
        **as_answers,
        **options,
    )
    assert repr(found) == repr(expected)
    artist = np.arange(len(y)) // 2
    of_artists = function(
        labels=y,
        probabilities=p,
        multilabel=True,
        ignore_index=-1,
        clusters=artist,
        **attributes,
        **options,
    )
    expected = function(
        correct=y[known] == 1,
        confidences=p[known],
        clusters=artist[rows[known]],
        **as_answers,
        **options,
    )
    assert repr(of_artists) == repr(expected) != repr(found)


def test_the_test_keeps_its_level_for_labels_that_come_together(rng):
    draws, rejected, pooled = 150, 0, 0
    for _ in range(draws):
        p = np.repeat(rng.uniform(0.2, 0.8, (60, 1)), 5, axis=1)
        together = rng.random((60, 1)) < p[:, :1]
        y = np.where(rng.random(p.shape) < 0.8, together, rng.random(p.shape) < p)
        options = {"num_bins": 3, "num_resamples": 39, "seed": rng}
        test = um.calibration_test(y.astype(int), p, multilabel=True, **options)
        rejected += test.p_value <= 0.1
        pooled += um.calibration_test(y.astype(int), p, **options).p_value <= 0.1
    assert rejected / draws < 0.1 + 5 * np.sqrt(0.1 * 0.9 / draws)
    assert pooled / draws > 0.5


@pytest.mark.parametrize("name", [*POOLED, *CLUSTERED, "bin_statistics"])
def test_wrong_shapes_and_flags_raise(name):
    attributes = {ATTRIBUTES[name]: {"a": ["x"]}} if name in ATTRIBUTES else {}
    function = getattr(um, name)
    with pytest.raises(ValueError, match=r"\[\.\.\., L\] with a static L"):
        function(labels=[1], probabilities=[[0.5, 0.5]], multilabel=True, **attributes)
    with pytest.raises(ValueError, match="`multilabel` must be True or False"):
        function(labels=[[1]], probabilities=[[0.5]], multilabel=1, **attributes)
    shares = {"label_distributions": [[0.5, 0.5]], "probabilities": [[0.5, 0.5]]}
    with pytest.raises(ValueError, match="`multilabel` must be False with"):
        function(**shares, multilabel=True, **attributes)
    answers = {"correct": [1], "confidences": [0.5]}
    with pytest.raises(ValueError, match="`multilabel` must be False where there are"):
        function(**answers, multilabel=True, **attributes)


def squared_error(scores, outcomes, rows, num_bins):
    """Returns the squared l2 error by all pairs of labels of different examples."""
    bins = np.minimum((scores * num_bins).astype(int), num_bins - 1)
    total = 0.0
    for b in set(bins):
        members = np.flatnonzero(bins == b)
        products = [
            (outcomes[i] - scores[i]) * (outcomes[j] - scores[j])
            for i, j in itertools.permutations(members, 2)
            if rows[i] != rows[j]
        ]
        total += len(members) * np.mean(products) / len(scores)
    return total


def test_the_difference_of_errors_is_that_of_pairs_of_examples(rng):
    y, p = tagged(rng)
    known, rows = y >= 0, np.repeat(np.arange(len(y)), 3).reshape(y.shape)
    q = (p - 0.01) ** 2  # No score is at an edge.
    options = {"binning_scheme": "even", "num_bins": 3}
    shared = {"labels": y, "multilabel": True, "ignore_index": -1}
    found = um.calibration_error_difference(p - 0.01, q, **shared, **options)
    one, two = (
        squared_error(each[known], y[known], rows[known], 3) for each in (p - 0.01, q)
    )
    assert found.estimate == pytest.approx(one - two)
    answers = {"correct": y[known], **options}
    expected = um.calibration_error_difference(
        (p - 0.01)[known], q[known], clusters=rows[known], **answers
    )
    assert (*found, found.num_clusters) == (*expected, len({*rows[known]}))
    expected = um.calibration_error_difference(
        (p - 0.01)[known], q[known], clusters=rows[known] // 2, **answers
    )
    pairs = np.arange(len(y)) // 2
    shared["clusters"] = pairs
    assert um.calibration_error_difference(p - 0.01, q, **shared, **options) == expected


@pytest.mark.parametrize("metric", ["brier_score", "negative_log_likelihood"])
@pytest.mark.parametrize("form", ["probabilities", "logits"])
def test_models_are_compared_by_the_means_of_their_rows(metric, form, rng):
    y, p = np.abs(tagged(rng)[0]), tagged(rng)[1]
    models = {"good": p, "sure": p**2 / (p**2 + (1 - p) ** 2)}
    given = models
    if form == "logits":
        given = {name: {"logits": np.log(q / (1 - q))} for name, q in models.items()}
    found = um.compare(y, given, metrics=metric, multilabel=True)
    of_q = {
        "brier_score": lambda q: (y - q) ** 2,
        "negative_log_likelihood": lambda q: -np.log(np.where(y, q, 1 - q)),
    }
    rows = {name: of_q[metric](q).mean(axis=1) for name, q in models.items()}
    for row in found:
        own = stats.ttest_1samp(rows[row.model], 0).confidence_interval()
        assert row[2:5] == pytest.approx((rows[row.model].mean(), *own))
    best = found.best(metric)
    (other,) = {*models} - {best}
    worse = next(row for row in found if row.model == other)
    test = stats.ttest_rel(rows[other], rows[best])
    assert worse[6:9] == pytest.approx((*test.confidence_interval(), test.pvalue))
    assert (found.num_examples, found.num_clusters) == (len(y), None)


def test_a_comparison_leaves_out_unknown_labels(rng):
    y, p = tagged(rng)
    y[:5] = -1
    score = functools.partial(um.brier_score, ignore_index=-1)
    models = {"a": p, "b": p**2}
    found = um.compare(y, models, metrics={"brier": score}, multilabel=True)
    some = y[5:] >= 0
    some_rows = np.any(some, axis=1)
    some, n = some[some_rows], np.sum(some_rows)
    scores = {k: ((y - q) ** 2)[5:][some_rows] for k, q in models.items()}
    total = some.sum()
    for name in models:
        expected = scores[name][some].mean()
        left = [
            np.sum((scores[name][i] - expected)[some[i]]) / total * n for i in range(n)
        ]
        half = stats.t(n - 1).ppf(0.975) * np.std(left, ddof=1) / np.sqrt(n)
        row = next(row for row in found if row.model == name)
        assert row[2:5] == pytest.approx((expected, expected - half, expected + half))
    # Of one label, a row without it is left out.
    first = y[:, 0]
    of_known = um.compare(
        first[first >= 0],
        {name: q[first >= 0, 0] for name, q in models.items()},
        metrics=["brier_score", "accuracy"],
    )
    of_all = um.compare(
        first,
        {name: q[:, 0] for name, q in models.items()},
        metrics=[score, functools.partial(um.accuracy, ignore_index=-1)],
    )
    for one, two in zip(of_known, of_all, strict=True):
        assert one[2:] == pytest.approx(two[2:])


def test_other_metrics_of_a_comparison_take_several_labels(rng):
    y, p = np.abs(tagged(rng)[0]), tagged(rng)[1]
    models, ids = {"a": p, "b": p**3}, np.arange(len(y)) // 2
    names = ["auroc", "debiased_calibration_error", "ece", "smece"]
    given = {"metrics": names, "multilabel": True, "num_resamples": 99, "seed": 0}
    for clusters in (None, ids):
        found = um.compare(y, models, clusters=clusters, **given)
        values = {(row.model, row.metric): row.value for row in found}
        rows = np.repeat(np.arange(len(y)) if clusters is None else ids, 3)
        for name, q in models.items():
            areas = [metrics.roc_auc_score(y[:, k], q[:, k]) for k in range(3)]
            assert values[name, "auroc"] == pytest.approx(np.mean(areas))
            flat = {"correct": y.ravel(), "confidences": q.ravel()}
            assert values[name, "ece"] == um.ece(**flat)
            assert values[name, "smece"] == um.smece(**flat)
            interval = um.calibration_error_interval(**flat, clusters=rows)
            assert values[name, "debiased_calibration_error"] == interval.estimate
        difference = um.calibration_error_difference(
            p.ravel() ** 3, p.ravel(), correct=y.ravel(), clusters=rows
        )
        for name in names[1:]:
            worse = next(row for row in found.of(name) if row.model == "b")
            assert worse.p_value == difference.p_value
    assert um.compare(y, models, multilabel=True).metrics == (
        *("negative_log_likelihood", "brier_score", "debiased_calibration_error"),
    )


def test_a_comparison_refuses_what_has_no_several_labels():
    y, p = np.array([[0, 1], [1, 1], [0, 0]]), np.full([3, 2], 0.5)
    models = {"a": p, "b": p}
    bound = functools.partial(um.brier_score, multilabel=True)
    for labels, given, more, message in (
        (y, models, {"metrics": "accuracy"}, "metrics that take `multilabel`"),
        (y, models, {"metrics": bound}, "pass it to `compare`"),
        (y, models, {"multilabel": 1}, "must be True or False"),
        (y, {"a": p, "b": {"logits": p, "multilabel": True}}, {}, "pass it to"),
        (y, {"a": p, "b": {"means": p, "stddevs": p}}, {}, "nothing else, also 'b'"),
        (y, {"a": p, "b": p[:, :1]}, {}, "of the shape of `labels`"),
        (y[:, 0], models, {}, "of the shape of `labels`"),
        (y[:1], {"a": p[:1], "b": p[:1]}, {}, "at least two examples"),
        (None, models, {"correct": y}, "nothing else, also 'a'"),
        (y, {"a": p, "b": {"logits": p, "sample_weight": 1}}, {}, "without weights"),
    ):
        with pytest.raises(ValueError, match=message):
            um.compare(labels, given, **{"multilabel": True, **more})
    ignored = functools.partial(um.brier_score, ignore_index=0)
    with pytest.raises(ValueError, match="at least two examples that are not ignored"):
        um.compare([0, 1, 0], {"a": p[:, 0], "b": p[:, 0]}, metrics=ignored)


def test_a_sketch_has_the_errors_of_all_labels(rng):
    y, p = tagged(rng, 90)
    known, rows = y >= 0, np.repeat(np.arange(90), 3).reshape(y.shape)
    sketch = um.ScoreSketch(ignore_index=-1)
    of_labels = um.ScoreSketch(ignore_index=-1, class_conditional=True, max_prob=False)
    for batch in (slice(40), slice(40, None)):
        sketch.update(y[batch], p[batch] - 0.01, multilabel=True)
        of_labels.update(y[batch], p[batch] - 0.01, multilabel=True)
    scores, outcomes = p[known] - 0.01, y[known]
    square = squared_error(scores, outcomes, rows[known], 3)
    options = {"binning_scheme": "even", "num_bins": 3, "squared": True}
    assert sketch.debiased_calibration_error(**options) == pytest.approx(square)

    def error(scores, outcomes):
        bins = np.minimum((scores * 3).astype(int), 2)
        gaps = [np.sum((outcomes - scores)[bins == b]) for b in range(3)]
        return np.sum(np.abs(gaps)) / len(scores)

    assert sketch.ece(num_bins=3) == pytest.approx(error(scores, outcomes))
    own = [error(p[known[:, k], k] - 0.01, y[known[:, k], k]) for k in range(3)]
    assert of_labels.sce(num_bins=3) == pytest.approx(np.mean(own))
    expected = metrics.roc_auc_score(outcomes, scores)
    assert sketch.auroc() == pytest.approx(expected)
    pairs = um.ScoreSketch(ignore_index=-1)
    pairs.update(y, p - 0.01, multilabel=True, clusters=np.arange(90) // 2)
    square = squared_error(scores, outcomes, rows[known] // 2, 3)
    assert pairs.debiased_calibration_error(**options) == pytest.approx(square)


def test_a_summary_has_the_labels_of_an_example_as_a_cluster(rng):
    y, p = np.abs(tagged(rng)[0]), tagged(rng)[1]
    summary = um.Summary()
    for batch in (slice(25), slice(25, None)):
        summary.update(y[batch], p[batch], multilabel=True)
    found, gaps = summary.means(), (y - p).mean(axis=1)
    assert found["brier_score"].mean == pytest.approx(np.mean((y - p) ** 2))
    assert found["gap"].mean == pytest.approx(gaps.mean())
    assert found["gap"].standard_error == pytest.approx(stats.sem(gaps))
    assert (summary.num_examples, summary.num_clusters) == (y.size, len(y))
    answers = um.Summary()
    rows = np.repeat(np.arange(len(y)), 3).reshape(y.shape)
    answers.update(correct=y, confidences=p, clusters=rows)
    assert repr(um.report(summary)) == repr(um.report(answers))
    assert um.calibration_drift(summary, answers).p_value == pytest.approx(1)


def test_streams_refuse_what_has_no_several_labels():
    labels, p = [[0, 1]], [[0.5, 0.5]]
    with pytest.raises(ValueError, match="`max_prob` must be True with `multilabel`"):
        um.ScoreSketch(max_prob=False).update(labels, p, multilabel=True)
    with pytest.raises(ValueError, match="`positive_class` must be False with"):
        um.ScoreSketch(positive_class=True).update(labels, p, multilabel=True)
    for kind in (um.ScoreSketch, um.Summary):
        with pytest.raises(ValueError, match="`multilabel` must be True or False"):
            kind().update(labels, p, multilabel=1)
        with pytest.raises(ValueError, match="of the shape of `labels`"):
            kind().update([1], p, multilabel=True)
    summary = um.Summary()
    summary.update(labels, p, multilabel=True)
    with pytest.raises(ValueError, match="either of `labels`, or of `correct`"):
        summary.update([0, 1], [0.5, 0.5])


def test_the_scaled_brier_score_has_a_base_rate_for_each_label(rng):
    y, p = tagged(rng)
    y[:, 2] = np.where(y[:, 2] < 0, -1, 0)  # It never comes.
    weights = rng.integers(0, 4, len(y))
    score = base = 0.0
    for k in range(3):
        w = np.where(y[:, k] >= 0, weights, 0)
        share = np.average(y[:, k], weights=w)
        score += np.sum(w * (y[:, k] - p[:, k]) ** 2)
        base += np.sum(w * (y[:, k] - share) ** 2)
    options = {"multilabel": True, "ignore_index": -1, "sample_weight": weights}
    found = um.scaled_brier_score(y, p, **options)
    assert found == pytest.approx(1 - score / base)
    logits = um.scaled_brier_score(y, logits=np.log(p / (1 - p)), **options)
    assert logits == pytest.approx(found)
    y[:, 1] = -1  # No label of this kind is known.
    assert um.scaled_brier_score(y, p, **options) == pytest.approx(
        um.scaled_brier_score(y[:, ::2], p[:, ::2], **options)
    )
    with pytest.raises(ValueError, match="hold 0 and 1 for at least one label"):
        um.scaled_brier_score([[1, 0], [1, 0]], p[:2, :2], multilabel=True)
    with pytest.raises(ValueError, match="`multilabel` must be True or False"):
        um.scaled_brier_score([[1, 0], [1, 0]], p[:2, :2], multilabel=1)


def test_the_grid_of_errors_is_that_of_loops_over_labels(rng):
    y, p = tagged(rng)
    p -= 0.01  # No score is at an edge.
    options = {"num_bins": 4, "multilabel": True, "ignore_index": -1}
    errors = um.compute_all_metrics(y, p, **options)

    def gaps(y, p):
        """Returns the number of scores and the gap of each even bin."""
        bins, residuals = np.minimum((p * 4).astype(int), 3)[y >= 0], (y - p)[y >= 0]
        members = [residuals[bins == b] for b in set(bins)]
        return np.array([(len(rows), np.mean(rows)) for rows in members]).T

    own = [gaps(y[:, k], p[:, k]) for k in range(3)]
    for by_label, groups in ((False, [gaps(y.ravel(), p.ravel())]), (True, own)):
        expected = {
            "l1": np.mean([np.average(abs(gap), weights=n) for n, gap in groups]),
            "l2": np.sqrt(np.mean([np.average(g**2, weights=n) for n, g in groups])),
            "max": max(np.max(abs(gap)) for _, gap in groups),
        }
        for max_prob in (True, False):
            for norm, value in expected.items():
                found = errors["even", max_prob, by_label, norm]
                assert found == pytest.approx(value)
    with pytest.raises(ValueError, match="`multilabel` must be True or False"):
        um.compute_all_metrics(y, p, multilabel=1)


def test_without_pooling_each_label_has_its_own_debiased_error(rng):
    y, p = tagged(rng)
    p -= 0.01  # No score is at an edge.
    squares = []
    for k in range(3):
        known = y[:, k] >= 0
        bins = np.minimum((p[known, k] * 3).astype(int), 2)
        total = 0.0
        for b in set(bins):
            scores, outcomes = p[known, k][bins == b], y[known, k][bins == b]
            noise = np.var(outcomes) / (len(scores) - 1)
            total += len(scores) * ((outcomes.mean() - scores.mean()) ** 2 - noise)
        squares.append(total / np.sum(known))
    options = {"multilabel": True, "class_conditional": True, "squared": True}
    options |= {"ignore_index": -1, "binning_scheme": "even", "num_bins": 3}
    found = um.debiased_calibration_error(y, p, **options)
    assert found == pytest.approx(np.mean(squares))
