"""The report of answers with confidences, and of two models that give them."""

import json
import pathlib

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    answers,
    approximately,
    calibrated,
    numbers,
    run,
    strict,
    tiles,
    unfair,
    values,
    weighted_or_not,
    words,
)
from tests.report.test_arrays import Frame, Series
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.sections import _recalibrated_forecasts
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics.numpy.resampling import bootstrap, bootstrap_difference

pytestmark = pytest.mark.usefixtures("own_directory")


def built(**arguments):
    """Returns the numbers of a report as strict JSON gives them."""
    found = um.report(**arguments)
    return json.loads(report.as_json(found._report), parse_constant=strict)


# The numbers are those of the functions.


@weighted_or_not
def test_sections_have_the_numbers_of_the_library(weighted):
    data = answers(gap=0.05, seed=1)
    correct, confidences = data.values()
    if weighted:
        data["sample_weight"] = np.arange(400) % 4
    weights = data.get("sample_weight", np.ones(400))
    found = built(**data, num_bins=9)
    text = words(um.report(**data, num_bins=9).summary())
    assert found["task"] == "confidences"
    assert found["data"]["examples"] == 400

    section = found["calibration"]
    expected = {
        name: getattr(um, name)(**data, num_bins=9) for name in ("ece", "mce", "rmsce")
    }
    assert values(section["metrics"]) == pytest.approx(expected, rel=1e-12)
    accuracy = np.average(correct, weights=weights)
    assert section["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    mean = np.average(confidences, weights=weights)
    assert section["mean_confidence"] == pytest.approx(mean, rel=1e-12)
    bins = um.bin_statistics(**data, num_bins=9)
    assert section["diagram"]["counts"] == bins.counts[0].tolist()
    # Confidences below 1/2 are not turned into confidences of another class.
    assert section["diagram"]["counts"][2] > 0
    (group,) = um.calibration_by_group(**data, groups=["all"] * 400)
    assert section["means"]["accuracy - confidence"] == approximately(
        {"low": group.lower, "estimate": group.gap, "high": group.upper}
    )
    size = found["data"]["effective_examples"]
    z = stats.norm.ppf(0.975)
    middle = (accuracy + z**2 / 2 / size) / (1 + z**2 / size)
    ends = section["means"]["accuracy"]
    assert (ends["low"] + ends["high"]) / 2 == pytest.approx(middle, rel=1e-9)

    options = found["options"]
    draws = um.bayesian_expected_calibration_error(
        9, **data, num_ece_samples=options["num_ece_samples"], seed=options["seed"]
    )
    assert found["bayesian_ece"]["mean"] == pytest.approx(np.mean(draws), rel=1e-12)
    if not weighted:
        p = um.calibration_test(
            **data, binning_scheme="even", norm="l1", num_bins=9, seed=0
        ).p_value
        assert found["bayesian_ece"]["p_value"] == p

    squares = (confidences - correct) ** 2
    logarithms = -np.log(np.where(correct, confidences, 1 - confidences))
    brier, nll = (np.average(each, weights=weights) for each in (squares, logarithms))
    scores = found["scoring_rules"]
    assert values(scores["metrics"]) == pytest.approx(
        {"brier_score": brier, "negative_log_likelihood": nll}, rel=1e-12
    )
    parts = um.corp_decomposition(**data)._asdict()
    assert values(scores["brier_parts"]) == pytest.approx(parts, rel=1e-12)
    total = parts["uncertainty"] - parts["discrimination"] + parts["miscalibration"]
    assert scores["sum_of_brier_parts"] == pytest.approx(total, rel=1e-12)
    constant = np.average((accuracy - correct) ** 2, weights=weights)
    assert scores["constant"]["constant"] == pytest.approx(constant, rel=1e-12)

    section = found["intervals"]["metrics"]
    light = {"sample_weight": weights / weights.max()} if weighted else {}
    ends = um.calibration_error_interval(**{**data, **light}, num_bins=9)
    names = ("low", "estimate", "high")
    assert section["calibration_error"] == approximately(
        dict(zip(names, ends, strict=True))
    )
    kept = weights > 0
    drawn = {name: array[kept] for name, array in data.items()}
    drawn["labels"] = drawn.pop("correct")
    drawn["probabilities"] = drawn.pop("confidences")
    ends = bootstrap(um.negative_log_likelihood, **drawn, level=0.95, seed=0)
    assert section["negative_log_likelihood"] == approximately(
        dict(zip(names, ends, strict=True))
    )
    ends = bootstrap(um.brier_score, **drawn, zero_based=True, level=0.95, seed=0)
    halves = [end / 2 for end in ends]
    assert section["brier_score"] == approximately(
        dict(zip(names, halves, strict=True))
    )

    section = found["selective_prediction"]
    expected = {
        "aurc": um.aurc(**data),
        "excess_aurc": um.excess_aurc(**data),
        "augrc": um.augrc(**data),
        "coverage_at_risk": um.coverage_at_risk(**data, risk=0.05),
        "risk_at_coverage": um.risk_at_coverage(**data, coverage=0.8),
        "oracle_collaborative_accuracy": um.oracle_collaborative_accuracy(
            **data, fraction=0.1
        ),
        "auroc": roc_auc_score(correct, confidences, sample_weight=weights),
    }
    assert values(section["metrics"]) == pytest.approx(expected, rel=1e-9)
    for name in ("calibration", "bayesian_ece", "intervals", "selective_prediction"):
        assert found[name]["verdict"] in text


def test_maps_equal_the_maps_for_two_classes():
    data = answers(300, gap=0.25, low=0.3)
    correct, confidences = data.values()
    found = built(**data)
    section = found["recalibration"]
    folds = _recalibrated_forecasts.folds_of(300)
    maps = {
        "platt": um.PlattScaling,
        "beta": um.BetaCalibration,
        "quadratic": um.QuadraticCalibration,
        "spline": um.SplineCalibration,
        "isotonic": um.IsotonicCalibration,
        "venn_abers": um.VennAbersCalibration,
        "histogram": um.HistogramBinning,
    }
    assert list(section["scores"]) == ["as it is", *maps]
    for name, calibrator in maps.items():
        after = np.empty(300)
        for fold in range(5):
            rest, here = folds != fold, folds == fold
            fitted = calibrator().fit(correct[rest], probabilities=confidences[rest])
            after[here] = fitted.transform(probabilities=confidences[here])
        row = section["scores"][name]
        assert row["brier_score"] == pytest.approx(np.mean((after - correct) ** 2))
        assert row["ece"] == um.ece(correct=correct, confidences=after)
    assert section["needs_recalibration"]
    assert section["sets"]["metrics"] == {}
    names = {**data, "new_confidences": np.array([0.9])}
    exec("\n".join(section["code"]), names)
    assert 0.5 < names["recalibrated"][0] < 0.8
    weighted = built(**data, sample_weight=np.ones(300))["recalibration"]["code"]
    assert "correct, probabilities=confidences, sample_weight" in " ".join(weighted)
    assert tiles(found)["Recalibration"]["value"] == "Would help"


def test_a_calibrated_model_may_answer_above_a_confidence():
    rng = np.random.default_rng(3)
    confidences = np.repeat([0.6, 0.8, 0.99], 700)
    data = {"confidences": confidences, "correct": rng.random(2100) < confidences}
    found = built(**data)
    threshold = um.threshold_at_risk(**data, risk=0.05, delta=0.05)
    promise = found["selective_prediction"]["promise"]
    # The threshold is the next number above 0.8, which looks like 0.8.
    assert promise["metrics"]["threshold_at_risk"]["value"] == threshold
    assert (promise["above"], threshold > 0.8) == (0.8, True)
    assert promise["metrics"]["coverage_at_threshold"]["value"] == 1 / 3
    assert (
        "Answering where the confidence is above 0.8, at most 5% of new answers"
        in (promise["verdict"])
    )
    tile = tiles(found)["Answering alone at 5% risk"]
    assert (tile["value"], tile["level"]) == ("Above 0.8", "unclear")
    assert tiles(found)["Calibration"]["value"] == "May be calibrated"
    assert tiles(found)["How often right"]["level"] == "good"


ALONE = {
    "everything": ({"correct": [1] * 200, "confidences": [0.9] * 200}, "Everything"),
    "nothing": (answers(300, gap=0.2), "At no confidence"),
    "weights": (
        {**answers(300), "sample_weight": 1.0 + np.arange(300) % 2},
        "Nothing promised",
    ),
    "few": (answers(40), "Too few to say"),
}


@pytest.mark.parametrize("case", ALONE)
def test_tile_on_answering_alone(case):
    data, value = ALONE[case]
    assert tiles(built(**data))["Answering alone at 5% risk"]["value"] == value


DEGENERATE = {
    "one answer": ([1], [0.7]),
    "always right": ([1] * 60, np.linspace(0, 1, 60)),
    "always wrong": ([0] * 60, np.linspace(0, 1, 60)),
    "sure of all": ([1, 0] * 40, [1.0] * 80),
    "sure of nothing": ([1, 0] * 40, [0.0] * 80),
    "alike": ([1, 0] * 40, [0.5] * 80),
    "32 bits": ([1, 0, 1] * 20, np.linspace(0, 1, 60, dtype=np.float32)),
}


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_answers_have_a_report(case, recwarn):
    correct, confidences = DEGENERATE[case]
    data = {"correct": correct, "confidences": confidences}
    found = um.report(**data, groups=["a"] * len(correct), compare={"b": confidences})
    assert "\n" in found.summary()
    assert found.save("there")
    shown = numbers("there")
    assert shown["calibration"]["metrics"]["ece"]["value"] == um.ece(**data)
    alike = len(set(np.asarray(confidences).tolist())) == 1 < len(correct)
    note = "All confidences are equal, so they cannot tell answers apart."
    assert (note in shown["notes"]) == alike
    assert [str(warning.message) for warning in recwarn] == []


# Arguments.


def test_correct_may_be_of_any_type():
    correct, confidences = answers(60).values()
    expected = built(correct=correct, confidences=confidences)
    for given in (
        correct.tolist(),
        correct.astype(int),
        correct.astype(float)[:, None],
        np.where(correct, "true", "False"),
        Series(correct.tolist()),
        Frame(correct[:, None], ["right"]),
    ):
        assert built(correct=given, confidences=confidences.tolist()) == expected


def test_pandas_objects_in_other_orders_are_refused():
    pandas = pytest.importorskip("pandas")
    correct, confidences = answers(60).values()
    first = pandas.Series(correct)
    frame = pandas.DataFrame({"language": ["a", "b"] * 30})
    found = built(correct=first, confidences=confidences, groups=frame)
    names = {row["name"] for row in found["groups"]["rows"]}
    assert names == {"language=a", "language=b"}
    second = pandas.Series(confidences)[::-1]
    with pytest.raises(
        ValueError, match="`correct` and `confidences` must be in the same"
    ):
        um.report(correct=first, confidences=second)
    with pytest.raises(ValueError, match="`correct` and `groups` must be in the same"):
        um.report(correct=first, confidences=confidences, groups=frame[::-1])


GIVEN = answers(60)
BAD = {
    "alone": ({"correct": GIVEN["correct"]}, "`correct` must be given with"),
    "no truth": ({"confidences": [0.5]}, "`correct` must be given with"),
    "labels": ({**GIVEN, "labels": [1]}, "without `labels`. Received: labels, correct"),
    "nothing": ({}, "Either `labels` with predictions, or `correct` with"),
    "lengths": (
        {**GIVEN, "confidences": GIVEN["confidences"][1:]},
        "`confidences` must be of the shape of `correct`, [60]. Received: shape [59]",
    ),
    "percent": (
        {**GIVEN, "confidences": 100 * GIVEN["confidences"]},
        "example 0: `confidences` must be in [0, 1] (divide percent by 100;",
    ),
    "above 1": (
        {**GIVEN, "confidences": np.where(np.arange(60) == 7, 101, 0.5)},
        "example 7: `confidences` must be in [0, 1]. Received: 101.0",
    ),
    "text": (
        {**GIVEN, "confidences": ["0.5"] * 60},
        "`confidences` must hold numbers. Received: text",
    ),
    "2": (
        {**GIVEN, "correct": [2] * 60},
        "(divide grades by the highest possible grade). Received: 2",
    ),
    "missing": (
        {**GIVEN, "correct": Series([None, *GIVEN["correct"][1:].tolist()])},
        "correct must be all numbers, all text or all booleans. Received: missing",
    ),
    "groups": (
        {**GIVEN, "groups": {"g": ["a"] * 59}},
        "`groups['g']` must hold a value for each of the 60 examples. Received: 59",
    ),
    "names as groups": (
        {**answers(1100), "groups": {"id": np.arange(1100).astype(str)}},
        "`groups['id']` must hold at most 1000 distinct values. Received: 1100",
    ),
    "groups of a regression": (
        {"labels": [1.0, 2], "means": [1, 2], "stddevs": [1, 1], "groups": [1, 2]},
        "`groups` must be None for a regression",
    ),
    "answers": (
        {"correct": [1, 0], "answers": [["a", "b"], ["a"]]},
        "example 1: `answers` must hold a list of equally many answers to each quest",
    ),
    "weights": ({**GIVEN, "sample_weight": [-1] * 60}, "must be finite and >= 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    arguments, message = BAD[case]
    with pytest.raises((TypeError, ValueError)) as raised:
        um.report(**arguments)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_answers_of_weight_0_are_not_read():
    data, kept = answers(90), np.arange(90) != 3
    hidden = {**data, "confidences": np.where(kept, data["confidences"], np.nan)}
    some = {name: array[kept] for name, array in data.items()}
    groups = np.array(["a", "b"])[np.arange(90) % 2]
    found = built(**hidden, sample_weight=kept, groups=groups)
    expected = built(**some, sample_weight=np.ones(89), groups=groups[kept])
    for each in (found, expected):
        del each["data"]
    assert found == approximately(expected)


# Several answers to each question.

SAMPLES = [["a", "a", "a"], ["a", "b", "b"], ["a", "b", "c"]]


def test_agreement_replaces_missing_confidences():
    rows = np.arange(60) % 3
    correct = rows < 1 + (np.arange(60) % 2)
    samples = [SAMPLES[row] for row in rows]
    found = built(correct=correct, answers=samples)
    agreement = um.sampled_agreement(samples)
    same = built(correct=correct, confidences=agreement.agreement)
    assert found["calibration"] == same["calibration"]
    assert "takes the share of the most frequent sampled answer" in found["notes"][0]
    section = found["sampled_answers"]
    assert list(section["signals"]) == ["agreement", "entropy"]
    ranked = um.auroc(correct, agreement.agreement)
    assert section["signals"]["agreement"]["auroc"] == pytest.approx(ranked)
    assert section["signals"]["entropy"] == {
        "auroc": pytest.approx(um.auroc(correct, -agreement.entropy)),
        "aurc": pytest.approx(um.aurc(correct=correct, confidences=-agreement.entropy)),
        "ece": None,
    }
    assert "On average 66.7% of the answers to a question agree" in section["verdict"]


def test_agreement_is_shown_beside_confidences():
    data = answers(60)
    samples = [SAMPLES[row] for row in np.arange(60) % 3]
    found = um.report(**data, answers=samples)
    section = found.to_dict()["sampled_answers"]
    assert list(section["signals"]) == ["confidence", "agreement", "entropy"]
    assert section["signals"]["confidence"]["ece"] == um.ece(**data)
    assert found.to_dict()["notes"] == []
    assert "Sampled answers\n---" in found.summary()
    # A file gives the same report.
    records = [
        {"correct": bool(right), "confidence": sure, "answers": of_one}
        for right, sure, of_one in zip(*data.values(), samples, strict=True)
    ]
    pathlib.Path("a.jsonl").write_text("\n".join(map(json.dumps, records)))
    of_file = report.build(report.read_predictions("a.jsonl")).to_dict()
    assert of_file["sampled_answers"] == section


# Two models.


@pytest.mark.thorough
def test_comparison_of_answers_to_the_same_questions():
    data, groups = unfair()
    other = answers(2000, low=0.4, seed=9)
    found = um.report(
        **data,
        groups=groups,
        name="a",
        compare={"b": (other["correct"], other["confidences"])},
    )
    section = found.to_dict()["comparison"]
    assert section["more_often_right"] == "second"
    draws = [
        um.bayesian_expected_calibration_error(15, **each, num_ece_samples=5000, seed=0)
        for each in (data, other)
    ]
    assert section["probability_of_lower_calibration_error"]["first"] == (
        um.probability_of_lower_calibration_error(*draws)
    )
    for name in ("ece", "aurc"):
        metric = getattr(um, name)
        values = {"first": metric(**data), "second": metric(**other)}
        assert section["numbers"][name] == approximately(values)
    ends = bootstrap_difference(um.aurc, data, other, level=0.95, seed=0)
    expected = dict(zip(("low", "estimate", "high"), ends, strict=True))
    assert section["differences"]["aurc"] == approximately(expected)
    assert "ece" not in section["differences"]  # The debiased errors are compared.
    gap = data["correct"].mean() - other["correct"].mean()
    assert section["differences"]["accuracy"]["estimate"] == pytest.approx(gap)
    assert "the second model is right more often (accuracy 0.6" in section["quality"]
    tile = found.to_dict()["tiles"][-1]
    assert tile["title"] == "Compared with b"
    assert tile["value"] == "The second is right more often"
    assert tile["level"] == "bad"
    text = words(found.summary())
    assert "the files have no common column that names the questions" in text
    assert "group first p second p language=Thai -0.2" in text
    as_dict = um.report(**data, groups=groups, name="a", compare={"b": other})
    assert as_dict.to_dict() == found.to_dict()
    # Other confidences of the same answers are an array.
    alike = um.report(**data, compare={"b": data["confidences"]}).to_dict()
    assert alike["comparison"]["more_often_right"] is None
    assert alike["tiles"][-1]["value"] == "No clear difference in accuracy"
    said = "neither model clearly is right more often"
    assert said in alike["comparison"]["quality"]


def written(name, questions, correct, confidences):
    rows = zip(questions, correct, confidences, strict=True)
    text = "\n".join(
        json.dumps({"id": q, "correct": bool(right), "confidence": sure})
        for q, right, sure in rows
    )
    pathlib.Path(name).write_text(text)


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
def test_questions_of_two_files_are_compared():
    data = answers(60).values()
    written("a.jsonl", range(60), *data)
    for name, questions, said in (
        ("b.jsonl", range(60), "The same questions: both files hold the same `id` in"),
        ("c.jsonl", range(1, 61), "Equally many questions, but 60 of the 60 values of"),
    ):
        written(name, questions, *data)
        run("a.jsonl", "--compare", name, "--out", "there")
        section = numbers("there")["comparison"]
        assert section["examples"].startswith(said)
        assert bool(section["differences"]) == section["same_examples"]
    assert "because both also depend on the questions" in section["quality"]
    renamed = pathlib.Path("b.jsonl").read_text().replace('"id"', '"prompt"')
    pathlib.Path("e.jsonl").write_text(renamed)
    run("a.jsonl", "--compare", "e.jsonl", "--out", "there")
    said = "Equally many answers, which are taken for answers to the same questions"
    assert numbers("there")["comparison"]["examples"].startswith(said)
    written("d.jsonl", range(59), *(each[1:] for each in data))
    run("a.jsonl", "--compare", "d.jsonl", "--out", "there")
    section = numbers("there")["comparison"]
    said = "Different questions: 60 in the first file and 59 in the second."
    assert section["examples"] == said


def test_answers_are_not_compared_with_a_classifier():
    written("a.jsonl", range(60), *answers(60).values())
    np.savez("b.npz", **calibrated(60, 0.5, 1))
    first, second = map(report.read_predictions, ("a.jsonl", "b.npz"))
    message = "b.npz: a classification cannot be compared with a file of confidences"
    with pytest.raises(report.ReportError, match=message):
        report.build(first, 15, second)


# Files.


@pytest.mark.thorough
def test_files_equal_arrays():
    data, groups = unfair(300)
    rows = zip(*data.values(), *groups.values(), strict=True)
    text = "\n".join(
        json.dumps(
            {"acc": int(right), "conf": sure, "language": language, "topic": topic}
        )
        for right, sure, language, topic in rows
    )
    pathlib.Path("p.jsonl").write_text(text)
    out = run("p.jsonl", "--group", "language", "--group", "topic", "--out", "of_file")
    found = um.report(**data, groups=groups, name="p.jsonl")
    written = found.save("of_arrays")
    for path in written:
        same = pathlib.Path("of_file") / path.name
        assert path.read_bytes() == same.read_bytes(), path.name
    assert out.startswith(f"{found.summary()}\n\nWrote of_file")
    files = [path.name for path in written]
    pictures = [picture.file for picture in pictures_of("confidences")]
    pictures.remove("drift_diagram.png")  # It needs two sets of examples.
    pictures.remove("comparison.png")  # It needs three models.
    assert files == ["report.html", *pictures, "report.json"]
