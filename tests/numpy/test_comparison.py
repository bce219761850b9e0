"""Comparisons of any number of models in any metrics."""

import functools
import io
import math
import re

import numpy as np
import pytest
from scipy import special, stats

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _paired_scores, _resamples

pytestmark = pytest.mark.usefixtures("close_figures")

N = 400


def models(rng, n=N):
    p = rng.uniform(0.02, 0.98, n)
    labels = (rng.uniform(size=n) < p).astype(int)
    noisy = special.expit(special.logit(p) + 0.5 * rng.normal(size=n))
    return labels, {"truth": p, "noisy": noisy, "sure": p**2 / (p**2 + (1 - p) ** 2)}


def rows_of(found, metric):
    return {row.model: row for row in found.of(metric)}


@pytest.mark.parametrize("metric", ["brier_score", "negative_log_likelihood"])
def test_scores_are_compared_by_the_paired_t_test_of_scipy(rng, metric):
    labels, given = models(rng)
    found = um.compare(labels, given, metrics=metric, level=0.9)
    of_p = {
        "brier_score": lambda p: (labels - p) ** 2,
        "negative_log_likelihood": lambda p: -np.log(np.where(labels, p, 1 - p)),
    }
    scores = {name: of_p[metric](p) for name, p in given.items()}
    best = min(scores, key=lambda name: scores[name].mean())
    assert found.best(metric) == best
    for name, row in rows_of(found, metric).items():
        expected = stats.ttest_1samp(scores[name], 0).confidence_interval(0.9)
        assert row[2:5] == pytest.approx((scores[name].mean(), *expected))
        if name == best:
            assert row[5:] == (0, 0, 0, 1, 1, True, True)
            continue
        test = stats.ttest_rel(scores[name], scores[best])
        ends = test.confidence_interval(0.9)
        difference = scores[name].mean() - scores[best].mean()
        assert row[5:8] == pytest.approx((difference, *ends))
        assert row.p_value == pytest.approx(test.pvalue)
        assert row.may_be_best == (row.adjusted_p_value > 0.1)


def test_holm_equals_its_definition(rng):
    for n in (1, 2, 7):
        p_values = rng.uniform(size=n) ** 3
        order = sorted(range(n), key=lambda i: p_values[i])
        expected = [
            min(
                1.0,
                max((n - k) * p_values[order[k]] for k in range(order.index(i) + 1)),
            )
            for i in range(n)
        ]
        np.testing.assert_allclose(_paired_scores.holm(p_values), expected)


def test_clusters_give_the_variance_of_their_sums(rng):
    labels, given = models(rng)
    ids = rng.choice(["a", "b", "c", *map(str, range(40))], N)
    found = um.compare(labels, given, metrics="brier_score", clusters=ids)
    scores = {name: (labels - p) ** 2 for name, p in given.items()}
    number = len({*ids})
    assert found.num_clusters == number
    best = found.best("brier_score")
    for name, row in rows_of(found, "brier_score").items():
        if name == best:
            continue
        d = scores[name] - scores[best]
        sums = [sum(d[i] - d.mean() for i in np.flatnonzero(ids == c)) for c in {*ids}]
        error = math.sqrt(sum(s**2 for s in sums) * number / (number - 1)) / N
        t = stats.t(number - 1)
        assert row.p_value == pytest.approx(2 * t.sf(abs(d.mean()) / error))
        half = t.ppf(0.975) * error
        assert row.difference_upper - row.difference == pytest.approx(half)
    # Each row twice in its cluster says no more.
    twice = np.repeat(np.arange(N), 2)
    copied = um.compare(
        labels[twice],
        {name: p[twice] for name, p in given.items()},
        metrics=("brier_score", "accuracy", "auroc"),
        clusters=ids[twice],
    )
    once = um.compare(
        labels, given, metrics=("brier_score", "accuracy", "auroc"), clusters=ids
    )
    for one, two in zip(once, copied, strict=True):
        assert one[2:10] == pytest.approx(two[2:10], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("block", [1, 3])
def test_in_time_it_is_the_test_of_diebold_and_mariano(rng, block):
    labels = rng.normal(size=200).cumsum()
    given = {
        "a": {"means": labels + rng.normal(size=200), "stddevs": np.ones(200)},
        "b": {"means": labels + 1.2 * rng.normal(size=200), "stddevs": np.ones(200)},
    }
    found = um.compare(labels, given, block=block)
    assert found.metrics == ("crps_normal_score",)
    best = found.best("crps_normal_score")
    (worse,) = {*given} - {best}
    a, b = (um.crps_normal_score(labels, **given[name]) for name in (worse, best))
    d, n = a - b, 200
    e = d - d.mean()
    lags = [sum(e[t] * e[t - k] for t in range(k, n)) / n for k in range(block)]
    statistic = d.mean() / math.sqrt((lags[0] + 2 * sum(lags[1:])) / n)
    h = block
    statistic *= math.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    row = rows_of(found, "crps_normal_score")[worse]
    assert row.p_value == pytest.approx(2 * stats.t(n - 1).sf(abs(statistic)))


def test_a_variance_in_time_is_never_negative():
    values = np.tile([1.0, -1.0], 10) + 0.1
    mean = _paired_scores.mean(values, _resamples.Dependence(block=2))
    assert mean.error > 0


def test_aurocs_are_those_of_delong(rng):
    labels, given = models(rng)
    for clusters in (None, np.arange(N) // 4):
        found = um.compare(labels, given, metrics="auroc", clusters=clusters)
        best = found.best("auroc")
        for name, row in rows_of(found, "auroc").items():
            interval = um.auroc_interval(labels, given[name], clusters=clusters)
            assert (row.lower, row.value, row.upper) == interval
            if name != best:
                expected = um.auroc_difference(
                    labels, given[name], given[best], clusters=clusters
                )
                assert row.difference == expected.estimate <= 0
                assert row.p_value == expected.p_value


@pytest.mark.parametrize("metric", ["debiased_calibration_error", "smece"])
def test_calibration_errors_are_compared_without_their_bias(rng, metric):
    labels, given = models(rng, 2000)
    given["constant"] = np.full(2000, labels.mean())
    found = um.compare(labels, given, metrics=metric)
    best = found.best(metric)
    assert {"truth", "constant"} - {*found.may_be_best(metric)} == set()
    assert "sure" not in found.may_be_best(metric)
    for name, row in rows_of(found, metric).items():
        expected = um.calibration_error_difference(
            given[name], given[best], labels=labels
        )
        assert row.difference == pytest.approx(expected.estimate, abs=1e-12)
        assert row.p_value == pytest.approx(expected.p_value)
        if metric == "smece":
            assert row.value == um.smece(labels, given[name])
            assert math.isnan(row.lower)
        else:
            interval = um.calibration_error_interval(labels, given[name])
            assert (row.lower, row.value, row.upper) == interval


def test_the_ece_of_one_column_is_that_of_decisions(rng):
    labels, given = models(rng)
    metrics = {"ECE": functools.partial(um.ece, positive_class=False)}
    found = um.compare(labels, given, metrics=metrics)
    best = found.best("ECE")
    for row in found:
        assert row.value == um.ece(labels, given[row.model], positive_class=False)
        expected = um.calibration_error_difference(
            given[row.model], given[best], labels=labels, positive_class=False
        )
        assert row.difference == pytest.approx(expected.estimate, abs=1e-12)


def test_an_accuracy_has_the_interval_of_wilson(rng):
    labels = rng.integers(3, size=N)
    given = {name: rng.dirichlet(np.ones(3), N) for name in "ab"}
    given["right"] = np.eye(3)[labels]
    found = um.compare(labels, given, metrics="accuracy")
    assert found.best("accuracy") == "right"
    for row in found:
        right = int(np.sum(np.argmax(given[row.model], axis=1) == labels))
        expected = stats.binomtest(right, N).proportion_ci(0.95, "wilson")
        assert row.value == right / N
        # The sample variance has the divisor n - 1.
        assert (row.lower, row.upper) == pytest.approx(tuple(expected), abs=1e-3)


@pytest.mark.thorough
def test_other_metrics_are_resampled_alike(rng):
    labels, given = models(rng)
    found = um.compare(labels, given, metrics="aurc", num_resamples=4000)
    best = found.best("aurc")
    for row in found:
        interval = um.bootstrap(
            um.aurc, labels, given[row.model], num_resamples=4000, seed=1
        )
        width = interval.upper - interval.lower
        assert row.value == interval.estimate
        assert row.lower == pytest.approx(interval.lower, abs=0.15 * width)
        assert row.upper == pytest.approx(interval.upper, abs=0.15 * width)
        if row.model == best:
            continue
        difference = um.bootstrap_difference(
            um.aurc,
            {"probabilities": given[row.model]},
            {"probabilities": given[best]},
            labels=labels,
            num_resamples=4000,
            seed=1,
        )
        width = difference.upper - difference.lower
        ends = row.difference_lower, row.difference_upper
        expected = difference.lower, difference.upper
        assert ends == pytest.approx(expected, abs=0.2 * width + 1e-12)
        if 0.01 < row.p_value < 0.9:
            again = um.compare(
                labels, given, metrics="aurc", num_resamples=4000, level=1 - row.p_value
            )
            other = rows_of(again, "aurc")[row.model]
            nearest = min(abs(other.difference_lower), abs(other.difference_upper))
            assert nearest < 0.1 * width  # Of other resamples.


def test_a_label_of_probability_0_makes_a_model_worse_for_sure():
    labels = [0, 1] * 10
    given = {"a": [0.3, 0.7] * 10, "b": [0.0, 0.0] + [0.3, 0.7] * 9, "c": [0.5] * 20}
    found = um.compare(labels, given, metrics="negative_log_likelihood")
    row = rows_of(found, "negative_log_likelihood")["b"]
    assert (row.value, row.p_value, row.difference) == (math.inf, 0.0, math.inf)
    assert math.isnan(row.lower)
    assert "inf" in repr(found)
    both = um.compare(
        labels, {"b": given["b"], "d": given["b"]}, metrics="negative_log_likelihood"
    )
    assert all(row.may_be_best for row in both)
    found.plot()


def test_answers_are_read_as_classes(rng):
    correct = rng.integers(0, 2, N)
    given = {name: rng.uniform(size=N) for name in "ab"}
    found = um.compare(correct=correct, predictions=given)
    assert found.metrics == (
        *("negative_log_likelihood", "brier_score"),
        *("auroc", "debiased_calibration_error"),
    )
    for name, p in given.items():
        assert rows_of(found, "brier_score")[name].value == pytest.approx(
            np.mean((correct - p) ** 2)
        )
        interval = um.calibration_error_interval(correct=correct, confidences=p)
        value = rows_of(found, "debiased_calibration_error")[name].value
        assert value == interval.estimate
    own = {
        "a": {"correct": correct, "confidences": given["a"]},
        "b": {"correct": 1 - correct, "confidences": given["b"]},
    }
    metrics = "accuracy", "aurc", "auroc", "debiased_calibration_error"
    found = um.compare(predictions=own, metrics=metrics)
    for name, model in own.items():
        assert rows_of(found, "accuracy")[name].value == model["correct"].mean()
        assert rows_of(found, "aurc")[name].value == um.aurc(**model)
    # Each model has its own outcomes: the AUROC is then compared by a bootstrap.
    for name, model in own.items():
        assert rows_of(found, "auroc")[name].value == pytest.approx(
            um.auroc(model["correct"], model["confidences"])
        )


def graded(rng):
    """Makes grades of answers, and two models, of which the first knows more."""
    p = rng.uniform(0.1, 0.9, N)
    grades = rng.binomial(5, p) / 5
    return grades, {"a": p, "b": np.full(N, grades.mean())}


def test_grades_are_compared_by_what_takes_them(rng):
    grades, given = graded(rng)
    found = um.compare(correct=grades, predictions=given, num_resamples=20, seed=0)
    scores = "negative_log_likelihood", "brier_score"
    assert found.metrics == (*scores, "aurc", "debiased_calibration_error")
    shares = np.stack([1 - grades, grades], axis=1)
    for name, p in given.items():
        for metric in scores:
            expected = getattr(um, metric)(label_distributions=shares, probabilities=p)
            if metric == "brier_score":
                expected = (1 + expected) / 2  # The mean of (y - p)^2 over the votes.
            assert rows_of(found, metric)[name].value == pytest.approx(expected)
        interval = um.calibration_error_interval(correct=grades, confidences=p)
        row = rows_of(found, "debiased_calibration_error")[name]
        assert (row.lower, row.value, row.upper) == tuple(interval)
        expected = um.aurc(losses=1 - grades, confidences=p)
        assert rows_of(found, "aurc")[name].value == pytest.approx(expected)
    assert found.best("brier_score") == "a"
    metrics = "accuracy", "ece", "smece", "kuiper_calibration_error"
    found = um.compare(
        correct=grades, predictions=given, metrics=metrics, num_resamples=20, seed=0
    )
    for name, p in given.items():
        for metric in metrics[1:]:
            expected = getattr(um, metric)(correct=grades, confidences=p)
            assert rows_of(found, metric)[name].value == pytest.approx(expected)
        assert rows_of(found, "accuracy")[name].value == pytest.approx(grades.mean())


def test_paired_differences_of_grades_have_their_level(rng):
    draws, wrong = 60, 0
    for _ in range(draws):
        p = rng.uniform(0.1, 0.9, 100)
        noise = rng.normal(0, 0.05, (2, 100))  # Two models that are equally good.
        first, second = np.clip(p + noise, 0.01, 0.99)
        found = um.compare(
            correct=rng.binomial(5, p) / 5,
            predictions={"a": first, "b": second},
            metrics="brier_score",
        )
        wrong += len(found.may_be_best("brier_score")) == 1
    assert wrong / draws < 0.05 + 5 * np.sqrt(0.05 * 0.95 / draws)


def test_the_scaled_brier_score_takes_grades(rng):
    grades, given = graded(rng)
    options = {"num_resamples": 20, "seed": 0, "metrics": "scaled_brier_score"}
    found = um.compare(correct=grades, predictions=given, **options)
    for name, p in given.items():
        brier = np.mean(grades * (1 - p) ** 2 + (1 - grades) * p**2)
        expected = 1 - brier / (grades.mean() * (1 - grades.mean()))
        value = rows_of(found, "scaled_brier_score")[name].value
        assert value == pytest.approx(expected)


def test_metrics_of_right_and_wrong_name_what_to_do_with_grades(rng):
    grades, given = graded(rng)
    with pytest.raises(ValueError, match="0 or 1; give it correct=grades >= threshold"):
        um.compare(correct=grades, predictions=given, metrics="auroc")


def test_metrics_that_read_answers_say_what_takes_grades(rng):
    grades, given = graded(rng)
    with pytest.raises(ValueError, match="of grades functions with `losses` take"):
        um.compare(correct=grades, predictions=given, metrics="augrc")
    with pytest.raises(ValueError, match=r"`correct` must be in \[0, 1\]"):
        um.compare(correct=3 * grades, predictions=given, metrics="accuracy")


def test_logits_and_functions_and_names_are_understood(rng):
    labels = rng.integers(2, size=N)
    logits = {name: rng.normal(size=(N, 2)) for name in "ab"}
    by_logits = um.compare(labels, {k: {"logits": z} for k, z in logits.items()})
    by_name = um.compare(
        labels,
        {k: special.softmax(z, axis=1) for k, z in logits.items()},
        metrics=[
            *(um.negative_log_likelihood, "brier_score", "accuracy"),
            um.debiased_calibration_error,
        ],
    )
    for one, two in zip(by_logits, by_name, strict=True):
        assert one[:2] == two[:2]
        assert one[2:10] == pytest.approx(two[2:10], rel=1e-6, abs=1e-8)
    binary = um.compare(
        labels, {k: {"logits": z} for k, z in logits.items()}, metrics="auroc"
    )
    for row in binary:
        z = logits[row.model]
        expected = um.auroc(labels, z[:, 1] - z[:, 0])
        assert row.value == pytest.approx(expected)
    zero_based = functools.partial(um.brier_score, zero_based=True)
    named = um.compare(
        labels,
        {k: {"logits": z} for k, z in logits.items()},
        metrics={"Brier": zero_based, "right": "accuracy"},
    )
    assert named.metrics == ("Brier", "right")
    assert named.larger_is_better == (False, True)
    both = special.softmax(logits["a"], axis=1)
    expected = np.mean(np.sum((both - np.eye(2)[labels]) ** 2, axis=1))
    assert named[0].value == pytest.approx(expected)
    of_columns = um.compare(
        labels, {k: {"logits": z} for k, z in logits.items()}, metrics="brier_score"
    )
    assert of_columns[0].value == pytest.approx(expected / 2)
    pinned = functools.partial(um.brier_score, zero_based=False)
    least = um.compare(
        labels,
        {k: {"logits": z} for k, z in logits.items()},
        metrics={"Brier": pinned},
    )
    assert least[0].value == pytest.approx(expected - 1)


def test_means_and_variances_take_metrics_of_regression(rng):
    labels = rng.normal(size=60)
    given = {
        name: {"predictions": rng.normal(size=60), "uncertainties": np.ones(60)}
        for name in "ab"
    }
    found = um.compare(
        labels, given, metrics="regression.expected_calibration_error", num_resamples=50
    )
    for row in found:
        assert row.value == um.regression.expected_calibration_error(
            **given[row.model], targets=labels
        )


def test_the_best_model_is_seldom_excluded(rng):
    """Of five models of which two are best, a best one is excluded in at most 5%."""
    excluded = 0
    for _ in range(200):
        labels = rng.normal(size=60)
        shared = labels + rng.normal(size=60)
        given = {
            f"m{i}": {
                "means": shared + 0.5 * rng.normal(size=60),
                "stddevs": np.ones(60),
            }
            for i in range(2)
        }
        given |= {
            f"w{i}": {
                "means": shared + 2 * rng.normal(size=60),
                "stddevs": np.ones(60),
            }
            for i in range(3)
        }
        found = um.compare(labels, given)
        excluded += "m0" not in found.may_be_best("crps_normal_score")
    assert excluded <= stats.binom.ppf(1 - 1e-6, 200, 0.05)


def test_tables_mark_the_best_models_and_those_that_may_be(rng):
    labels, given = models(rng)
    given["copy_&_50%"] = given["truth"]
    found = um.compare(labels, given)
    tied = sum(row.may_be_best for row in found) - len(found.metrics)
    assert repr(found).count("*") == len(found.metrics) + 1  # One explains it.
    assert repr(found).count("=") == tied + 1
    assert found.to_markdown().count("**") == 2 * len(found.metrics)
    assert found.to_markdown().count("\N{DAGGER}") == tied
    latex = found.to_latex()
    assert latex.count(r"\textbf{") == len(found.metrics)
    assert latex.count(r"$^{\dagger}$") == tied
    assert r"copy\_\&\_50\%" in latex
    for rule in ("toprule", "midrule", "bottomrule"):
        assert latex.count(rule) == 1
    columns = found.to_dict()
    assert len(columns["value"]) == len(given) * len(found.metrics) == len(found)
    frame = pytest.importorskip("pandas").DataFrame(columns)
    wide = frame.pivot_table(index="model", columns="metric", values="value")
    assert wide.loc["truth", "brier_score"] == pytest.approx(
        np.mean((labels - given["truth"]) ** 2)
    )
    numbers = re.findall(r"\[(-?[\d.]+), (-?[\d.]+)\]", repr(found))
    assert len(numbers) == len(found)


def test_the_picture_has_a_row_a_model_and_a_column_a_metric(rng):
    from matplotlib.figure import Figure

    labels, given = models(rng)
    given["$x$"] = given["truth"]
    found = um.compare(labels, given)
    figure = Figure(figsize=(85 / 25.4, 2))
    assert found.plot(figure) is figure
    figure.savefig(io.BytesIO(), format="png")
    assert len(figure.axes) == len(found.metrics)
    for ax, metric in zip(figure.axes, found.metrics, strict=True):
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        for dot, row in zip(dots, found.of(metric), strict=True):
            assert dot.get_xdata()[0] == row.value
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [name.replace("$", r"\$") for name in given]
    assert found.plot() is not None
    with pytest.raises(ValueError, match="`figure` must be a matplotlib figure"):
        found.plot(3)


GOOD = {
    "labels": [0, 1, 1, 0],
    "predictions": {"a": [0.2, 0.7, 0.6, 0.1], "b": [0.5, 0.5, 0.6, 0.3]},
}
BAD = {
    "array": ({"predictions": [0.2, 0.7, 0.6, 0.1]}, TypeError, "`predictions` must"),
    "one": ({"predictions": {"a": [0.1] * 4}}, ValueError, "at least two models"),
    "neither": ({"labels": None}, ValueError, "`labels` or `correct` must be given"),
    "both": ({"correct": [0, 1, 1, 0]}, ValueError, "`labels` or `correct`"),
    "lengths": (
        {"predictions": {"a": [0.1] * 4, "b": [0.1] * 3}},
        ValueError,
        "`probabilities`|`labels`",
    ),
    "metric": ({"metrics": "briar"}, ValueError, "`metrics` must hold names"),
    "no metric": ({"metrics": []}, ValueError, "`metrics`"),
    "twice": ({"metrics": ["ece", "ece"]}, ValueError, "`metrics`.*different names"),
    "own": ({"metrics": [lambda y, p: 0.0]}, ValueError, "`metrics` must hold names"),
    "lacking": (
        {"metrics": "crps_normal_score"},
        ValueError,
        "'crps_normal_score' needs `means` and `stddevs`",
    ),
    "level": ({"level": 95}, ValueError, "`level`"),
    "block": ({"block": 3}, ValueError, "`block` must be at most half"),
    "clusters": ({"clusters": [1, 2]}, ValueError, "`clusters`"),
    "time": ({"clusters": [1, 2, 3, 4], "block": 2}, ValueError, "`clusters` and `blo"),
    "many": (
        {"metrics": "reliability_curve"},
        (ValueError, TypeError),
        "`metric|`metrics",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_say_what_is_wrong(name):
    changed, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        um.compare(**{**GOOD, **changed})


def test_a_metric_of_two_classes_refuses_three(rng):
    labels = rng.integers(3, size=20)
    given = {name: rng.dirichlet(np.ones(3), 20) for name in "ab"}
    with pytest.raises(ValueError, match="'auroc' needs two classes"):
        um.compare(labels, given, metrics="auroc")
    with pytest.raises(ValueError, match="`metric` must be one of"):
        um.compare(labels, given, metrics="accuracy").best("ece")


def test_quantiles_are_compared_by_their_pinball_loss(rng):
    y, levels = rng.normal(size=200), [0.1, 0.5, 0.9]
    right = np.zeros((200, 1)) + stats.norm.ppf(levels)
    models = {
        name: {"quantile_predictions": factor * right, "quantiles": levels}
        for name, factor in (("right", 1.0), ("wide", 3.0))
    }
    found = um.compare(y, models)
    assert found.metrics == ("crps_quantile_score",)
    losses = [um.pinball_loss(y, f * right, levels).mean(axis=1) * 2 for f in (1, 3)]
    assert found[1].difference == pytest.approx(np.mean(losses[1] - losses[0]))
    assert found.may_be_best("crps_quantile_score") == ("right",)
