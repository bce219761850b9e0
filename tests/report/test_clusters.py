"""Reports of examples that depend on each other: several answers to one question."""

import json
import pathlib

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run, words, write_csv
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Predictions,
)
from uncertainty_metrics._report.sections._ece_test import ece_p_value
from uncertainty_metrics._report.sections._ensemble import _accuracy_noise
from uncertainty_metrics._report.sections._mean_gap import mean_gap_of
from uncertainty_metrics._report.sections._recalibrated_forecasts import folds_of

pytestmark = pytest.mark.usefixtures("own_directory")

OPTIONS = {"level": 0.95, "num_bins": 15}


def answers(rng, questions=60, each=4, correlation=0.5):
    """Returns clusters, what is right and confidences of a calibrated model."""
    ids = np.repeat(np.arange(questions), each)
    p = rng.uniform(0.3, 0.95, questions)[ids]
    z = correlation**0.5 * rng.normal(size=questions)[ids]
    z += (1 - correlation) ** 0.5 * rng.normal(size=len(ids))
    return ids, stats.norm.cdf(z) < p, p


def metric(found, name):
    row = found["intervals"]["metrics"][name]
    return [row["low"], row["estimate"], row["high"]]


def test_intervals_and_tests_are_those_of_clusters(rng):
    ids, right, p = answers(rng)
    given = {"correct": right, "confidences": p}
    groups = rng.integers(0, 2, 60)[ids]
    found = um.report(**given, clusters=ids, groups={"g": groups}).to_dict()
    expected = um.calibration_error_interval(**given, **OPTIONS, clusters=ids)
    assert metric(found, "calibration_error") == pytest.approx([*expected])
    expected = um.bootstrap(np.mean, (right - p) ** 2, clusters=ids, seed=0)
    assert metric(found, "brier_score") == pytest.approx([*expected])
    ends = found["calibration"]["means"]["accuracy"].values()  # As in the tile.
    assert metric(found, "accuracy") == [*ends]
    test = {"binning_scheme": "even", "norm": "l1", "num_bins": 15, "seed": 0}
    test |= {"statistic": "gce", "num_resamples": 1000}
    expected = um.calibration_test(**given, **test, clusters=ids).p_value
    assert found["bayesian_ece"]["p_value"] == expected
    table = um.calibration_by_group(**given, groups={"g": groups}, clusters=ids)
    rows = {row["name"]: row for row in found["groups"]["rows"]}
    for group in table:
        assert rows[group.name]["p_value"] == pytest.approx(group.p_value)
    assert found["data"]["clusters"] == 60
    # Without clusters everything is surer.
    alone = um.report(**given).to_dict()
    ends = metric(alone, "accuracy"), metric(found, "accuracy")
    assert ends[0][2] - ends[0][0] < ends[1][2] - ends[1][0]
    assert (
        alone["bayesian_ece"]["ece_by_chance"] < found["bayesian_ece"]["ece_by_chance"]
    )


def test_risks_are_those_of_clusters(rng):
    ids, came, p = answers(rng)
    labels = came.astype(int)
    found = um.report(labels, p, clusters=ids).to_dict()["risk"]
    for name in ("observed_expected_ratio", "calibration_slope"):
        expected = getattr(um, name)(labels, p, clusters=ids)[:3]
        row = found["intervals"][name]
        assert [row["low"], row["estimate"], row["high"]] == pytest.approx([*expected])
    row = found["intervals"]["auroc"]
    expected = um.auroc_interval(labels, p, clusters=ids)
    assert [row["low"], row["high"]] == pytest.approx([expected[0], expected[2]])


def test_rows_doubled_in_their_clusters_change_nothing(rng):
    ids, right, p = answers(rng, questions=80)
    two = np.repeat(np.arange(len(ids)), 2)
    first, second = (
        um.report(correct=right[rows], confidences=p[rows], clusters=ids[rows])
        for rows in (np.arange(len(ids)), two)
    )
    one, other = first.to_dict(), second.to_dict()
    expected = metric(one, "calibration_error")
    assert metric(other, "calibration_error") == pytest.approx(expected, abs=1e-9)
    assert one["calibration"]["means"]["accuracy - confidence"] == pytest.approx(
        other["calibration"]["means"]["accuracy - confidence"], abs=1e-9
    )
    assert one["bayesian_ece"]["p_value"] == pytest.approx(
        other["bayesian_ece"]["p_value"], abs=0.03
    )


def test_weighted_clusters_have_a_test(rng):
    ids, right, p = answers(rng, questions=100)
    weights = rng.uniform(0.5, 2, len(ids))
    given = {"correct": right, "confidences": np.clip(p - 0.25, 0, 1)}
    found = um.report(**given, clusters=ids, sample_weight=weights).to_dict()
    assert found["bayesian_ece"]["p_value"] <= 0.01
    expected = um.calibration_error_interval(
        **given, **OPTIONS, clusters=ids, sample_weight=weights / weights.max()
    )
    assert metric(found, "calibration_error") == pytest.approx([*expected])


@pytest.mark.thorough
def test_a_calibrated_model_is_rarely_called_miscalibrated(rng):
    found, gaps, draws = 0, 0, 200
    for _ in range(draws):
        ids, right, p = answers(rng, 100, 10)
        model = Confidences("", right, p, clusters=Clusters("", ids))
        found += ece_p_value(model, 15) <= 0.05
        gaps += mean_gap_of(model).direction != ""
    limit = draws * 0.07 + 4 * (draws * 0.07 * 0.93) ** 0.5
    assert found <= limit
    assert gaps <= limit


def test_a_cluster_is_in_one_fold(rng):
    clusters = rng.integers(0, 40, 300)
    folds = folds_of(300, np.unique(clusters, return_inverse=True)[1])
    assert all(np.ptp(folds[clusters == c]) == 0 for c in np.unique(clusters))
    assert np.bincount(folds).min() > 0


@pytest.mark.usefixtures("undrawn")
def test_the_command_takes_a_column_of_clusters(rng, capsys):
    ids, right, p = answers(rng, questions=50, each=4)
    rows = zip(ids, right * 1, p, strict=True)
    write_csv("a.csv", ["question_id", "correct", "confidence"], rows)
    assert "50 questions, 200 rows: name the column with --cluster q" in words(
        run("a.csv")
    )
    out = words(run("a.csv", "--cluster", "question_id"))
    assert "a.csv, 50 questions, 200 answers" in out
    assert "name the column with --cluster" not in out
    assert "All examples of a cluster are in one fold." in out
    assert "clusters 50 of question_id" in out
    given = {"confidences": p, "clusters": ids, "correct": right}
    expected = um.smallest_detectable_error(**given)
    found = numbers()["calibration"]["smallest_detectable_error"]
    assert found == pytest.approx(expected)
    assert expected > um.smallest_detectable_error(confidences=p)
    if "go unnoticed" in out:
        assert "go unnoticed in these 200 answers of 50 clusters" in out
    assert "column `patient`" in fails(capsys, "a.csv", "--cluster", "patient")
    write_csv("b.csv", ["patient", "label", "p"], zip(ids, right * 1, p, strict=True))
    out = words(run("b.csv", "--cluster", "patient"))
    assert "b.csv, 50 clusters of `patient`, 200 examples" in out
    given = "a.csv", "b.csv", "--cluster", "question_id"
    assert "--cluster needs all rows of a model in one file" in fails(capsys, *given)
    np.savez("c.npz", labels=right * 1, probs=p, patient=ids)
    assert "50 clusters of `patient`" in words(run("c.npz", "--cluster", "patient"))
    np.savez("d.npz", correct=right, confidence=p, patient=ids)
    assert "50 clusters of `patient`" in words(run("d.npz", "--cluster", "patient"))


def test_a_few_clusters_are_noted(rng, recwarn):
    ids, right, p = answers(rng, questions=12, each=20)
    found = um.report(correct=right, confidences=p, clusters=ids).to_dict()
    assert any("There are 12 clusters." in note for note in found["notes"])
    assert not [w for w in recwarn if "clusters" in str(w.message)]


def test_clusters_are_refused_where_there_are_none(rng):
    ids, right, p = answers(rng)
    of_times = {"times": 1 + p, "event": right, "survival": p, "at": 1.5}
    with pytest.raises(ValueError, match="None for a survival model"):
        um.report(**of_times, clusters=ids)
    with pytest.raises(ValueError, match="clusters"):
        um.report(correct=right, confidences=p, clusters=ids[1:])
    with pytest.raises(ValueError, match="given without other data"):
        um.report(batches=[{"correct": right, "confidences": p}], clusters=ids)


def test_a_regression_takes_clusters(rng):
    ids = np.repeat(np.arange(80), 5)
    weights = rng.integers(0, 3, 400)
    mean, error = rng.normal(size=400), rng.normal(size=80)[ids]
    given = {"means": mean, "stddevs": np.ones(400), "sample_weight": weights}
    report = um.report(mean + error, **given, clusters=ids)
    found = report.to_dict()
    sums = np.bincount(ids, weights)
    size = sums.sum() ** 2 / (sums**2).sum()
    assert found["data"]["effective_examples"] == pytest.approx(size)
    assert found["data"]["clusters"] == np.sum(sums > 0)
    some = weights > 0
    expected = um.bootstrap(
        lambda scores, sample_weight: np.average(scores, weights=sample_weight),
        um.crps_normal_score(mean + error, mean, 1.0)[some],
        sample_weight=weights[some] / 2,
        clusters=ids[some],
        seed=0,
    )
    assert metric(found, "crps") == pytest.approx([*expected])
    assert "as if all examples of a cluster were one" in words(report.summary())
    alone = um.report(mean + error, **given).to_dict()["calibration"]
    assert found["calibration"]["ece_by_chance"] > 1.5 * alone["ece_by_chance"]


@pytest.mark.usefixtures("undrawn")
def test_other_examples_in_clusters_are_not_tested_for_a_change(rng):
    for name in "ab":
        ids, right, p = answers(rng, 100)
        rows = zip([f"{name}{i}" for i in ids], right * 1, p, strict=True)
        write_csv(f"{name}.csv", ["question_id", "correct", "confidence"], rows)
    out = words(run("a.csv", "--compare", "b.csv", "--cluster", "question_id"))
    assert "Whether the calibration has changed is not tested" in out
    assert "drift" not in numbers()["comparison"]
    run("a.csv", "--compare", "b.csv")
    assert "drift" in numbers()["comparison"]


def test_members_of_an_ensemble_in_clusters_are_less_sure(rng):
    ids = np.repeat(np.arange(40), 10)
    labels = rng.integers(0, 3, 40)[ids]
    members = rng.dirichlet(np.ones(3), (40, 4))[ids]
    alone, clustered = (
        _accuracy_noise(Predictions("", labels, "probabilities", members, clusters=c))
        for c in (None, Clusters("", ids))
    )
    assert clustered == pytest.approx(10**0.5 * alone)


def test_which_of_two_is_better_calibrated(rng):
    p = rng.uniform(size=3000)
    labels = (rng.uniform(size=3000) < p).astype(int)
    too_sure = p**3 / (p**3 + (1 - p) ** 3)
    found = um.report(labels, too_sure, compare={"b": p}).to_dict()["comparison"]
    expected = um.calibration_error_difference(too_sure, p, labels=labels)
    difference = found["calibration"]["difference"]
    assert difference["estimate"] == pytest.approx(expected.estimate)
    assert difference["p_value"] == pytest.approx(expected.p_value)
    assert found["calibration"]["better"] == "second"
    # A constant and the truth are both calibrated.
    found = um.report(labels, np.full(3000, 0.5), compare={"b": p})
    assert found.to_dict()["comparison"]["calibration"]["better"] is None
    # With clusters, their number counts.
    ids = np.arange(3000) // 30
    found = um.report(labels, too_sure, compare={"b": p}, clusters=ids).to_dict()
    expected = um.calibration_error_difference(too_sure, p, labels=labels, clusters=ids)
    difference = found["comparison"]["calibration"]["difference"]
    assert difference["low"] == pytest.approx(expected.lower)


def test_several_models_are_compared_in_one_table(rng, drawn_alone):
    drawn_alone()  # Only the picture of all models.
    n = 600
    p = rng.uniform(size=n)
    labels = (rng.uniform(size=n) < p).astype(int)
    models = {"b": p**2, "c": np.full(n, 0.5)}
    ids = np.arange(n) // 3
    found = um.report(labels, p, compare=models, clusters=ids, name="a")
    expected = um.compare(labels, {"a": p, **models}, clusters=ids)
    section = found.to_dict()["comparison"]
    assert section["models"] == ["a", "b", "c"]
    assert section["clusters"] == 200
    for row, other in zip(section["rows"], expected, strict=True):
        assert row["value"] == pytest.approx(other.value)
        assert row["adjusted_p_value"] == pytest.approx(other.adjusted_p_value)
    assert "a is the best beyond chance" in found.to_dict()["tiles"][-1]["detail"]
    table = found.tables()["Brier score; smaller is better"]
    assert [row[0] for row in table.rows] == ["* a", "b", "c"]
    assert table.to_markdown().count("\n") == 4
    assert r"\toprule" in table.to_latex()
    assert "comparison.png" in [path.name for path in found.save("page")]


@pytest.mark.usefixtures("undrawn")
def test_files_of_several_models_are_matched_or_refused(rng, capsys):
    p = rng.uniform(size=200)
    labels = (rng.uniform(size=200) < p).astype(int)
    order = rng.permutation(200)
    for name, rows in {"a": np.arange(200), "b": order, "c": np.arange(200)}.items():
        with open(f"{name}.jsonl", "w") as file:
            for i in rows:
                row = {"question": f"q{i}", "correct": int(labels[i])}
                sure = p[i] if name != "c" else 0.5
                file.write(json.dumps({**row, "confidence": sure}) + "\n")
    run("a.jsonl", "--compare", "b.jsonl", "--compare", "c.jsonl")
    rows = numbers()["comparison"]["rows"]
    values = {r["model"]: r["value"] for r in rows if r["metric"] == "brier_score"}
    assert values["a"] == pytest.approx(values["b"])
    assert values["c"] != pytest.approx(values["a"])
    text = pathlib.Path("c.jsonl").read_text().replace("q17", "other")
    pathlib.Path("d.jsonl").write_text(text)
    wrong = fails(capsys, "a.jsonl", "--compare", "b.jsonl", "--compare", "d.jsonl")
    assert "d.jsonl holds other rows than a.jsonl" in wrong


def test_the_smallest_error_that_shows_is_said(rng):
    _, right, p = answers(rng, 400, 1)
    found = um.report(correct=right, confidences=p).to_dict()
    expected = um.smallest_detectable_error(confidences=p)
    assert found["calibration"]["smallest_detectable_error"] == expected
    if found["bayesian_ece"]["p_value"] > 0.011:
        said = [tile["detail"] for tile in found["tiles"]]
        sentence = "would often go unnoticed in these 400 answers"
        assert any(sentence in detail for detail in said)


def test_tables_have_other_forms(rng):
    _, right, p = answers(rng)
    table = um.report(correct=right, confidences=p).tables()["Calibration errors"]
    assert [*table.to_dict()] == ["metric", "value", "meaning"]
    assert table.to_frame()["value"].dtype == float
    assert table.to_markdown().startswith("| metric | value | meaning |")
    assert "ece" in repr(table)
