"""Reports of answers with grades: numbers in [0, 1] instead of right and wrong."""

import json

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, numbers, run, tiles, words, write_csv
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Stream,
)
from uncertainty_metrics._report.sections._calibration import _curve_of
from uncertainty_metrics._report.sections._selective_prediction import slope_by_rank

pytestmark = pytest.mark.usefixtures("own_directory")


def graded(n=300, gap=0.1, seed=0, annotators=5):
    """Returns the votes [n, annotators] on answers, and their confidences."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(0.15, 1, n)
    votes = rng.random((n, annotators)) < (confidences - gap)[:, None]
    return votes, confidences


def arguments(**options):
    votes, confidences = graded(**options)
    return {"correct": votes.mean(axis=1), "confidences": confidences}


def rows(correct, confidences):
    return list(zip(correct, confidences.tolist(), strict=True))


def notes(found):
    return " ".join(found["notes"])


@pytest.mark.usefixtures("undrawn")
def test_the_numbers_are_those_of_the_functions():
    given = arguments()
    found = um.report(**given).to_dict()
    metrics = found["calibration"]["metrics"]
    assert metrics["ece"]["value"] == um.ece(**given)
    assert found["calibration"]["mean_grade"] == pytest.approx(given["correct"].mean())
    assert "accuracy" not in found["calibration"]
    selective = found["selective_prediction"]["metrics"]
    losses = 1 - given["correct"]
    assert selective["aurc"]["value"] == pytest.approx(
        um.aurc(losses=losses, confidences=given["confidences"])
    )
    interval = found["intervals"]["metrics"]["calibration_error"]
    lower, _, upper = um.calibration_error_interval(**given, num_bins=15)
    assert (interval["low"], interval["high"]) == pytest.approx((lower, upper))
    p = found["calibration_of_grades"]["p_value"]
    test = um.calibration_test(
        **given,
        **{"binning_scheme": "even", "norm": "l1", "num_bins": 15, "seed": 0},
    )
    assert p == test.p_value


@pytest.mark.usefixtures("undrawn")
def test_scores_are_the_means_over_annotators():
    votes, confidences = graded()
    grades = votes.mean(axis=1)
    found = um.report(correct=grades, confidences=confidences).to_dict()
    scores = found["scoring_rules"]["metrics"]
    each = [
        um.report(correct=vote, confidences=confidences).to_dict() for vote in votes.T
    ]
    for name in ("brier_score", "negative_log_likelihood"):
        of_each = [one["scoring_rules"]["metrics"][name]["value"] for one in each]
        assert scores[name]["value"] == pytest.approx(np.mean(of_each))
    squares = np.mean((confidences - grades) ** 2)
    assert scores["squared_error"]["value"] == pytest.approx(squares)
    parts = found["scoring_rules"]["sum_of_brier_parts"]
    assert parts == pytest.approx(scores["brier_score"]["value"])


@pytest.mark.usefixtures("undrawn")
def test_the_mean_grade_has_its_own_interval():
    given = arguments(n=2000)
    mean = um.report(**given).to_dict()["calibration"]["means"]
    grades, gaps = given["correct"], given["correct"] - given["confidences"]
    for name, values in {"mean grade": grades, "mean grade - confidence": gaps}.items():
        half = 1.96 * values.std() / 2000**0.5
        assert mean[name]["low"] == pytest.approx(values.mean() - half, abs=1e-3)
        assert mean[name]["high"] == pytest.approx(values.mean() + half, abs=1e-3)


@pytest.mark.usefixtures("undrawn")
def test_what_counts_right_and_wrong_is_left_out():
    report = um.report(**arguments())
    found = report.to_dict()
    assert "bayesian_ece" not in found
    assert "auroc" not in found["selective_prediction"]["metrics"]
    assert "venn_abers" not in found["recalibration"]["scores"]
    assert "Left out, because they count right and wrong" in report.summary()
    assert "accuracy" not in report.summary()
    assert tiles(found)["Mean grade"]["level"] == "bad"
    assert tiles(found)["Calibration"]["value"] == "Overconfident"


@pytest.mark.usefixtures("undrawn")
def test_grades_of_a_calibrated_model_show_nothing():
    verdicts = [
        tiles(um.report(**arguments(gap=0.0, seed=seed)).to_dict())["Calibration"]
        for seed in range(5)
    ]
    assert sum(tile["value"] == "May be calibrated" for tile in verdicts) >= 3


@pytest.mark.usefixtures("undrawn")
def test_clusters_widen_and_a_weight_of_2_is_a_copy():
    given = arguments()
    twice = {name: np.repeat(values, 2) for name, values in given.items()}
    clustered = um.report(**twice, clusters=np.repeat(np.arange(300), 2)).to_dict()
    alone, copies = um.report(**given).to_dict(), um.report(**twice).to_dict()

    def width(found):
        ends = found["calibration"]["means"]["mean grade - confidence"]
        return ends["high"] - ends["low"]

    assert width(clustered) == pytest.approx(width(alone), rel=0.02)
    assert width(copies) < 0.8 * width(alone)
    weighted = um.report(**given, sample_weight=[2] * 300).to_dict()
    brier = "scoring_rules", "metrics", "brier_score", "value"
    for key in brier:
        weighted, copies = weighted[key], copies[key]
    assert weighted == pytest.approx(copies)


def test_the_pictures_say_grade():
    report = um.report(**arguments(), groups={"half": np.arange(300) % 2})
    page = report._repr_html_()
    assert "Mean grade" in page
    assert "ccuracy" not in page
    assert "posteriors.png" not in report._figures


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["grade", "votes", "score", "correct", "Grades"])
def test_columns_of_grades_in_files(name):
    given = arguments()
    fifths = [f"{round(5 * grade)}/5" for grade in given["correct"]]
    for outcomes in (given["correct"].tolist(), fifths):
        write_csv("a.csv", [name, "confidence"], rows(outcomes, given["confidences"]))
        run("a.csv")
        found = numbers()
        expected = um.report(**given, name="a.csv").to_dict()
        assert found["scoring_rules"] == json.loads(
            json.dumps(expected["scoring_rules"])
        )
        assert f"`{name}` is read as the grade of each answer" in notes(found)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["grade", "votes", "score"])
def test_a_column_of_0_and_1_says_right_and_wrong(name):
    votes, confidences = graded()
    write_csv("a.csv", [name, "confidence"], rows(votes[:, 0].astype(int), confidences))
    run("a.csv")
    found = numbers()
    assert "bayesian_ece" in found
    assert f"`{name}` is read as whether each answer is right" in notes(found)


REFUSED = {
    "grade and score": (
        ["grade", "score", "confidence"],
        "each of grade, score may say whether each answer is right: choose the column "
        "with --correct, as in `python -m uncertainty_metrics report a.csv --correct "
        "grade` or `python -m uncertainty_metrics report a.csv --correct score`",
    ),
    "grade and correct": (
        ["grade", "correct", "confidence"],
        "as in `python -m uncertainty_metrics report a.csv --correct correct` or",
    ),
    "score alone": (
        ["grade", "score"],
        "if `score` is it, type `python -m uncertainty_metrics report a.csv "
        "--correct grade --confidence score`",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_two_columns_that_may_be_it_are_refused(case, capsys):
    header, message = REFUSED[case]
    given = arguments(n=60)
    columns = [given["correct"], given["correct"], given["confidences"]]
    write_csv("a.csv", header, zip(*columns[: len(header)], strict=True))
    wrong = fails(capsys, "a.csv", *(["--correct", "grade"] if len(header) < 3 else []))
    assert message in wrong


def test_points_are_no_grades(capsys):
    write_csv("a.csv", ["grade", "confidence"], [(7, 0.5), (10, 0.9)])
    assert "by the highest possible grade" in fails(capsys, "a.csv")
    wrong = fails(capsys, "a.csv", "--correct", "grade")
    assert "line 2: `grade` must be true or false, a number in [0, 1]" in wrong
    write_csv("b.csv", ["votes", "confidence"], [("3/5", 0.5), ("6/5", 0.9)])
    wrong = fails(capsys, "b.csv", "--correct", "votes")
    assert "line 3: `votes` must be" in wrong


def test_scores_of_grades_are_as_their_meanings_say():
    given = arguments(n=400)
    g, p = given["correct"], given["confidences"]
    report = um.report(**given)
    found = report.to_dict()["scoring_rules"]["metrics"]
    formula = "g (1 - p)^2 + (1 - g) p^2"
    brier = np.mean(g * (1 - p) ** 2 + (1 - g) * p**2)
    assert found["brier_score"]["value"] == pytest.approx(brier)
    assert f"ean of {formula}" in found["brier_score"]["meaning"]
    assert (
        f"The score is the mean of {formula}" in report.to_dict()["tiles"][0]["detail"]
    )
    nll = -np.mean(g * np.log(p) + (1 - g) * np.log(1 - p))
    assert found["negative_log_likelihood"]["value"] == pytest.approx(nll)
    meaning = "In nats; the mean of -g log(p) - (1 - g) log(1 - p)."
    assert found["negative_log_likelihood"]["meaning"] == meaning
    certain = np.where(np.arange(400) < 30, 1.0, p)
    wrong = int(np.sum(g[:30] < 1))
    report = um.report(correct=g, confidences=certain)
    found = report.to_dict()["scoring_rules"]["metrics"]["negative_log_likelihood"]
    assert found["meaning"].startswith(f"{wrong} of 400 confidences are 0 or 1, and")
    assert "a confidence is 0 or 1 where the grade is another" in words(
        report.summary()
    )


@pytest.mark.usefixtures("undrawn")
def test_a_score_may_be_the_confidence():
    given = arguments()
    write_csv("a.csv", ["grade", "score"], rows(given["correct"], given["confidences"]))
    run("a.csv", "--confidence", "score")
    assert numbers()["calibration"]["metrics"]["ece"]["value"] == um.ece(**given)


@pytest.mark.usefixtures("undrawn")
def test_a_column_of_other_votes_stays_out():
    votes, confidences = graded()
    columns = zip(votes[:, 0], confidences, np.arange(300) + 2, strict=True)
    write_csv("a.csv", ["correct", "confidence", "votes"], columns)
    run("a.csv")
    assert "bayesian_ece" in numbers()


def test_swapped_arguments_are_refused():
    votes, confidences = graded()
    with pytest.raises(ValueError, match="are they swapped"):
        um.report(correct=confidences, confidences=votes[:, 0].astype(float))


@pytest.mark.usefixtures("undrawn")
def test_two_models_are_compared_by_their_grades():
    given, other = arguments(), arguments(seed=1)
    rounded = np.round(other["correct"])  # It has no grade between 0 and 1.
    report = um.report(
        **given, compare={"b": {**other, "correct": rounded}}, name="first"
    )
    found = report.to_dict()["comparison"]
    assert found["numbers"]["mean_grade"] == {
        "first": pytest.approx(given["correct"].mean()),
        "second": pytest.approx(rounded.mean()),
    }
    difference = found["differences"]["mean_grade"]["estimate"]
    assert difference == pytest.approx(given["correct"].mean() - rounded.mean())
    assert "probability_of_lower_calibration_error" not in found
    assert "AURC" in report.summary()
    calibrated = um.calibration_error_difference(
        given, {**other, "correct": rounded}, num_bins=15
    )
    estimate = found["calibration"]["difference"]["estimate"]
    assert estimate == pytest.approx(calibrated[1])


@pytest.mark.usefixtures("undrawn")
def test_several_models_with_grades_are_compared():
    given = arguments(n=60)
    grades, confidences = given.values()
    others = {"b": (grades, confidences**2), "c": (np.round(grades), confidences)}
    report = um.report(**given, compare=others, name="first")
    found = report.to_dict()["comparison"]
    pairs = {"first": (grades, confidences), **others}
    expected = um.compare(
        predictions={
            name: {"correct": each[0] * 1.0, "confidences": each[1]}
            for name, each in pairs.items()
        }
    )
    assert found["models"] == ["first", "b", "c"]
    assert [row["value"] for row in found["rows"]] == pytest.approx(
        [row.value for row in expected]
    )
    assert "Comparison of all models" in report.summary()


@pytest.mark.usefixtures("undrawn")
def test_files_of_grades_are_read_part_by_part(monkeypatch):
    given = arguments(n=100)
    for i, part in enumerate((slice(0, 2), slice(2, 100))):
        grades = np.round(given["correct"]) if i == 0 else given["correct"]
        columns = rows(grades[part], given["confidences"][part])
        write_csv(f"{i}.csv", ["grade", "confidence"], columns)
    run("0.csv", "1.csv")
    found = numbers()
    assert found["data"]["examples"] == 100
    whole = found["calibration"]["mean_grade"]
    assert "read as the grade" in notes(found)
    monkeypatch.setattr(
        "uncertainty_metrics._report.reading._large_files._MOST_ROWS", 60
    )
    run("0.csv", "1.csv")
    streamed = numbers()
    assert streamed["basis"] == {"rows": 100, "sample": 60}
    assert streamed["calibration"]["mean_grade"] == pytest.approx(whole)
    assert main(["sketch", "0.csv", "1.csv", "--out", "s.npz"]) == 0
    run("s.npz")
    assert numbers()["calibration"]["mean_grade"] == pytest.approx(whole, abs=1e-3)


def test_error_bars_of_a_stream_have_the_variance_of_grades():
    given = arguments(n=2000)
    summary = um.Summary()
    summary.update(**given)
    streamed = _curve_of(Stream("a", summary), 15)
    exact = um.reliability_curve(**given, error_bars=0.95)
    for end in ("lower", "upper"):
        np.testing.assert_allclose(
            getattr(streamed.error_bars, end),
            getattr(exact.error_bars, end),
            atol=0.004,
        )


@pytest.mark.usefixtures("undrawn")
def test_sampled_answers_with_grades():
    given = arguments(n=60)
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 3, (60, 4)).tolist()
    found = um.report(**given, answers=answers).to_dict()["sampled_answers"]
    assert found["signals"]["confidence"]["auroc"] is None
    assert found["signals"]["confidence"]["ece"] == um.ece(**given)


@pytest.mark.usefixtures("undrawn")
def test_the_printed_code_runs():
    given = arguments()
    code = um.report(**given).to_dict()["recalibration"]["code"]
    names = {
        "grades": given["correct"],
        "confidences": given["confidences"],
        "new_confidences": np.array([0.3, 0.9]),
    }
    exec("\n".join(code), names)
    assert names["recalibrated"].shape == (2,)
    assert np.all(np.diff(names["recalibrated"]) > 0)


def test_few_or_equal_grades_make_a_report():
    for grades in ([0.5] * 60, [0.5], [0.2, 0.7]):
        size = len(grades)
        report = um.report(
            correct=grades, confidences=np.linspace(0.1, 1, size), name="few"
        )
        assert "Mean grade" in report.summary()


def test_shares_of_votes_are_not_several_labels():
    shares = np.array([[0.4, 0.6, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="as label_distributions="):
        um.report(shares, [[0.3, 0.7, 0.0], [0.8, 0.1, 0.1]])


def unrelated(rng, kind):
    """Returns answers whose grades do not depend on their confidences."""
    if kind == "few unsure answers, rare grades":
        grades = np.where(rng.random(300) < 0.97, 1.0, rng.random(300))
        confidences = rng.choice([0.5, 0.9], 300, p=[0.1, 0.9])
        return Confidences("a", grades, confidences, are_graded=True)
    if kind == "tied, high grades":
        grades = np.where(rng.random(100) < 0.85, 1.0, rng.random(100))
        confidences = rng.choice([0.5, 0.8, 0.9, 1.0], 100, p=[0.1, 0.2, 0.3, 0.4])
        return Confidences("a", grades, confidences, are_graded=True)
    if kind == "one rare grade":
        confidences = rng.choice([0.5, 0.9], 20, p=[0.1, 0.9])
        grades = np.where(np.arange(20) == 7, 0.2, 1.0)
        return Confidences("a", grades, confidences, are_graded=True)
    if kind == "clusters":
        confidences = np.repeat(np.round(rng.random(40), 1), 5)
        grades = rng.binomial(5, np.repeat(rng.beta(2, 1, 40), 5)) / 5
        clusters = Clusters("", np.repeat(np.arange(40), 5))
        return Confidences("a", grades, confidences, clusters=clusters, are_graded=True)
    # The grades vary more where confidences are far from 1/2.
    confidences = rng.random(100)
    grades = 0.5 + 0.9 * (confidences - 0.5) * rng.choice([-1, 1], 100)
    return Confidences("a", grades, confidences, are_graded=True)


@pytest.mark.parametrize(
    ("n", "unsure", "rare"), [(20, 10, 4), (20, 9, 10), (40, 20, 4)]
)
def test_few_rare_grades_are_found_by_chance_in_5_percent(n, unsure, rare):
    """The number of rare grades among unsure answers is hypergeometric by chance. The
    interval without permutations leaves out 0 in 8.7%, 7.0% and 10.6%.
    """
    confidences, level = np.where(np.arange(n) < unsure, 0.5, 0.9), 0.0
    for among in range(max(0, unsure + rare - n), min(unsure, rare) + 1):
        grades = np.ones(n)
        grades[:among] = grades[unsure : unsure + rare - among] = 0.2
        found = Confidences("a", grades, confidences, are_graded=True)
        low, high = slope_by_rank(found)
        if low > 0 or high < 0:
            level += stats.hypergeom(n, rare, unsure).pmf(among)
    assert level <= 0.05


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind",
    [
        "few unsure answers, rare grades",
        "tied, high grades",
        "one rare grade",
        "clusters",
        "unequal variances",
    ],
)
def test_surer_answers_have_better_grades_by_chance_in_5_percent(kind, rng):
    found = 0
    for _ in range(1500):
        low, high = slope_by_rank(unrelated(rng, kind))
        found += low > 0 or high < 0
    assert found / 1500 < 0.05 + 4 * (0.05 * 0.95 / 1500) ** 0.5
