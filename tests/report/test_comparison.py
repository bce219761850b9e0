"""The calibration report of ensembles, and of two models side by side."""

import pathlib

import matplotlib.image
import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    approximately,
    built,
    calibrated,
    cells_of,
    each_kind,
    examples,
    lines_of,
    members,
    numbers,
    of_kind,
    read,
    run,
    shown,
    values,
    weighted_or_not,
    words,
    write_csv,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.sections._posterior import POSTERIORS
from uncertainty_metrics._report.sections._selective_prediction import RISK_COVERAGE

pytestmark = pytest.mark.usefixtures("own_directory")


# Ensembles.


@weighted_or_not
@each_kind
def test_ensemble(kind, weighted):
    whole = members(classes=2 if kind == "binary" else 3)
    labels, p = whole.values()
    arrays = of_kind(whole, kind)
    weight = np.arange(120) % 3 if weighted else np.ones(120)
    weights = {"sample_weight": weight} if weighted else {}
    found, out = shown({**arrays, **weights})
    text = words(out)
    section = found.pop("ensemble")
    assert found["data"].pop("members") == section["members"] == 4
    assert "predictions a.npz, the mean of 4 members examples 120" in text
    assert section["verdict"] in text

    def compared(metric):
        of_members = [
            metric(labels, probabilities=p[:, i], **weights) for i in range(4)
        ]
        return {
            "mean": np.mean(of_members),
            "lowest": min(of_members),
            "highest": max(of_members),
            "ensemble": metric(labels, probabilities=p.mean(axis=1), **weights),
            "members": of_members,
        }

    def ece(labels, probabilities, **weights):
        if kind != "binary":
            return um.ece(labels, probabilities, **weights)
        of_event = {"correct": labels, "confidences": probabilities[:, 1]}
        return um.ece(**of_event, **weights)

    nll = compared(um.negative_log_likelihood)
    for name, expected in {
        "accuracy": compared(um.accuracy),
        "ece": compared(ece),
        "negative_log_likelihood": {key: nll[key] for key in ("mean", "ensemble")},
    }.items():
        row = section["metrics"][name]
        assert row == approximately(expected)
        cells = [f"{value:.4f}" for key, value in row.items() if key != "members"]
        assert f"{name} {' '.join(cells)}" in text
    entropies = -np.sum(p * np.log(p), axis=-1).mean(axis=1)
    mean = p.mean(axis=1)
    totals = -np.sum(mean * np.log(mean), axis=-1)
    votes = p.argmax(axis=-1)
    pairs = [votes[:, i] != votes[:, j] for i in range(4) for j in range(i)]
    of_examples = {
        "predictive_entropy": totals,
        "expected_entropy": entropies,
        "mutual_information": totals - entropies,
        "ensemble_disagreement": np.mean(pairs, axis=0),
    }
    assert values(section["uncertainty"]) == pytest.approx(
        {k: np.average(v, weights=weight) for k, v in of_examples.items()}, rel=1e-9
    )
    for row in section["uncertainty"].values():
        assert f"{row['value']:.4f} {row['meaning']}" in text
    assert all(len(line) <= 88 for line in out.splitlines())

    # The rest of the report is about the mean of the members.
    of_mean = mean[:, 1] if kind == "binary" else mean
    expected = built({"labels": labels, "probabilities": of_mean, **weights})
    assert ("risk" in expected) == (kind == "binary")
    assert expected["data"].pop("members") == 1
    assert "ensemble" not in expected
    assert found["data"].pop("predictions") == [*arrays][1]
    del expected["data"]["predictions"]
    assert "probabilities=mean" in " ".join(found["recalibration"].pop("code"))
    assert "probabilities=prob" in " ".join(expected["recalibration"].pop("code"))
    assert found == approximately(expected)


def test_ensemble_of_equal_members():
    labels, p = members(m=1).values()
    section = built({"labels": labels, "probs": np.repeat(p, 3, axis=1)})["ensemble"]
    accuracy = section["metrics"]["accuracy"]
    assert accuracy["members"] == [accuracy["ensemble"]] * 3
    found = values(section["uncertainty"])
    assert found["mutual_information"] == pytest.approx(0, abs=1e-12)
    assert found["ensemble_disagreement"] == 0
    assert "does not clearly change the accuracy" in section["verdict"]
    # One member is not an ensemble.
    of_one = built({"labels": labels, "probabilities": p})
    assert of_one == built({"labels": labels, "probabilities": p[:, 0]})


# On 60 of 100 examples one of three members is wrong: unsure, or the surest of all.
UNSURE = [[0.3, 0.9, 0.9], [0.9, 0.3, 0.9], [0.9, 0.9, 0.3], [0.9] * 3, [0.9] * 3]
SURE = [[0.0, 0.6, 0.6], [0.6, 0.0, 0.6], [0.6, 0.6, 0.0], [0.9] * 3, [0.9] * 3]
RIGHT = [[0.6, 0.9], [0.9, 0.6], [0.75, 0.75]]


@pytest.mark.parametrize(
    ("probabilities", "times", "verdict"),
    [
        (UNSURE, 20, "raises the accuracy to 1.000, from a mean of 0.800 for single"),
        (SURE, 20, "lowers the accuracy to 0.400, from a mean of 0.800 for single"),
        (RIGHT, 20, "not clearly change the accuracy: 1.000, against a mean of 1.000"),
        # Gains of few examples are not clear.
        (UNSURE[:3], 1, "not clearly change the accuracy: 1.000, against a mean of 0."),
        (UNSURE[:3], 1, "a difference of up to about 0.385. The data cannot tell"),
    ],
)
def test_verdict_on_accuracy(probabilities, times, verdict):
    p = np.repeat(np.array(probabilities), times, axis=0)[..., None]
    logits = np.log(np.maximum(p, 1e-9)) - np.log(1 - p)
    for predictions in ({"probabilities": p}, {"logits": logits}):
        found = built({"labels": np.ones(len(p)), **predictions})
        assert verdict in found["ensemble"]["verdict"]


@pytest.mark.parametrize(("scale", "change"), [(3, "better"), (0.7, "worse")])
def test_verdict_on_calibration_of_an_ensemble(scale, change):
    labels, p = members(n=2000).values()
    arrays = {"labels": labels, "logits": np.log(p) * scale / 2}
    expected = um.ensemble_calibration(**arrays).verdict
    assert f"Averaging made calibration {change}" in expected
    assert built(arrays)["ensemble"]["verdict"].endswith(expected)


def test_ensembles_of_small_probabilities():
    # A probability of 0 is impossible; logits can express any small probability.
    p = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75]]])
    z = np.array([[[1000.0, 0.0], [3000.0, 0.0]]])
    with np.errstate(divide="ignore"):
        impossible = np.log(np.stack([p[0], p[0]]))
    name = "negative_log_likelihood"
    for arrays, mean, ensemble in (
        ({"labels": [1, 1], "probs": p}, "inf", np.mean(-np.log([0.25, 0.625]))),
        ({"labels": [1], "logits": z}, 2000.0, 1000 + np.log(2)),
        ({"labels": [1, 0], "logits": impossible}, "inf", -np.log([0.25, 0.75]).mean()),
    ):
        found = shown(arrays)[0]
        nll = found["ensemble"]["metrics"][name]
        assert nll == {"mean": mean, "ensemble": pytest.approx(ensemble)}
        score = found["scoring_rules"]["metrics"][name]["value"]
        assert score == pytest.approx(nll["ensemble"], rel=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ensembles_keep_the_precision_of_their_bins(dtype):
    p = np.full([2, 2, 1], 0.6, dtype)  # On an edge of this type only.
    found, expected = (
        built({"labels": [1, 0], "probabilities": predictions}, num_bins=10)
        for predictions in (p, p.mean(axis=1))
    )
    assert found["calibration"] == expected["calibration"]
    assert found["calibration"]["diagram"]["counts"][5] == 2


def test_shapes_of_ensembles():
    labels, p = members().values()
    expected = built({"labels": labels, "probs": p})
    assert built({"labels": labels[:, None], "probs": p}) == expected
    # Labels [N, T], predictions [N, M, T, K].
    of_rows = np.moveaxis(p.reshape(12, 10, 4, 3), 2, 1)
    found = built({"labels": labels.reshape(12, 10), "probs": of_rows})
    assert "Pass clusters=np.arange(12)" in found["notes"][0]
    assert {**found, "notes": []} == expected


def test_compare_an_ensemble_with_a_single_model():
    labels, p = members(n=400).values()
    np.savez("e.npz", labels=labels, logits=np.log(p))
    np.savez("one.npz", labels=labels, probabilities=p[:, 0])
    found, out = shown("e.npz", "one.npz")
    assert "  first   e.npz, the mean of 4 members\n  second  one.npz\n" in out
    section = found["comparison"]
    assert section["same_examples"] is True
    for name in ("accuracy", "ece", "aurc"):
        metric = getattr(um, name)
        sides = {"first": p.mean(axis=1), "second": p[:, 0]}
        expected = {side: metric(labels, q) for side, q in sides.items()}
        assert section["numbers"][name] == pytest.approx(expected, rel=1e-9)
    assert "ensemble" not in section["other"]
    swapped, out = shown("one.npz", "e.npz")
    assert "  second  e.npz, the mean of 4 members\n" in out
    assert swapped["comparison"]["other"]["ensemble"] == found["ensemble"]
    assert len(report.draw(read("e.npz"), 15, read("one.npz"))) == 5


# Two models.


def test_compare_models_of_the_same_examples(drawn_alone):
    drawn_alone(POSTERIORS.file)
    # The second model decides like the first, with a confidence near 1.
    data = calibrated(2000, 0.6, 0.9)
    sure = {"labels": data["labels"], "probabilities": np.full(2000, 0.999)}
    np.savez("a.npz", **data)
    np.savez("b.npz", **sure)
    out = run("a.npz", "--compare", "b.npz", "--num-bins", "8")
    found = numbers()
    section = found["comparison"]
    assert found["source"] == "a.npz"
    assert section["other"]["source"] == "b.npz"
    assert section["same_examples"] is True
    assert section["examples"].startswith("The same examples")
    lower = section["probability_of_lower_calibration_error"]
    assert lower == {"first": 1.0, "second": 0.0}
    assert section["verdict"].startswith("By the test of its calibration error, the")
    assert "the second model is miscalibrated (p ≤ 0.001)" in section["verdict"]
    assert section["quality"].endswith("log-likelihood are lower for the first.")
    assert section["verdict"] in words(out)
    assert section["quality"] in words(out)

    rows = section["numbers"]
    for side, (labels, p) in (("first", data.values()), ("second", sure.values())):
        scores = -np.log(np.where(labels == 1, p, 1 - p))
        expected = {
            "examples": 2000,
            "classes": 2,
            "accuracy": np.mean(labels),
            "mean_confidence": np.mean(p),
            "ece": um.ece(correct=labels, confidences=p, num_bins=8),
            "brier_score": np.mean((labels - p) ** 2),
            "negative_log_likelihood": np.mean(scores),
            "aurc": um.aurc(labels, p),
            "coverage_at_risk": um.coverage_at_risk(labels, p, risk=0.05),
        }
        assert {name: rows[name][side] for name in expected} == pytest.approx(expected)
    for name, row in rows.items():
        in_words = (line.split() for line in lines_of(out, name))
        line = next(line for line in in_words if len(line) == 3 and line[0] == name)
        cells = [float(word) for word in line[1:]]
        assert cells == pytest.approx(list(row.values()), abs=5e-5)

    # The part `other` is the report of the second file, and the rest is the report of
    # the first file.
    other = section["other"]
    of_second = built("b.npz", num_bins=8)
    assert {name: of_second[name] for name in other} == other
    run("a.npz", "--out", "a", "--num-bins", "8")
    alone = numbers("a")
    tiles = [*alone["tiles"], found["tiles"][-1]]
    assert {**alone, "tiles": tiles, "comparison": section} == found
    alone, both = pathlib.Path("a"), pathlib.Path(report.DEFAULT_DIRECTORY)
    # Pictures show one model, or both.
    blue, red = [0x00, 0x44, 0x88], [0xCC, 0x55, 0x66]
    for directory, colors in ((alone, [blue]), (both, [blue, red])):
        picture = matplotlib.image.imread(directory / POSTERIORS.file)[..., :3]
        assert min(picture.shape[:2]) > 400
        for color in (blue, red):
            there = np.abs(picture - np.array(color) / 255).max(-1) < 0.02
            assert (there.sum() > 500) == (color in colors)


def test_compare_agrees_with_the_library():
    labels, first = examples(n=300).values()
    second = 0.7 * first + 0.1
    a = {"labels": labels, "probabilities": first}
    b = {"labels": labels, "logits": np.log(second)}
    name = "probability_of_lower_calibration_error"
    lower = built(a, b)["comparison"][name]
    draws = [
        um.bayesian_expected_calibration_error(
            15, probabilities=p, labels_true=labels, num_ece_samples=5000, seed=0
        )
        for p in (first, second)
    ]
    probability = np.mean(draws[0][:, None] < draws[1])
    assert lower["first"] == pytest.approx(probability, abs=1e-3)
    assert lower["first"] + lower["second"] == pytest.approx(1.0, abs=1e-12)
    swapped = built(b, a)["comparison"][name]
    assert swapped["second"] == pytest.approx(lower["first"], abs=1e-12)
    # A file and itself.
    same, out = shown(a, a)
    assert "do not tell which of the two is better calibrated" in words(out)
    assert same["comparison"][name] == {"first": 0.5, "second": 0.5}
    assert same["comparison"]["quality"].endswith("are the same for both.")


@weighted_or_not
def test_paired_differences(weighted):
    data = calibrated(800, 0.6, 1, gap=0.1)
    labels, p = data.values()
    other = np.clip(p - 0.1 + 0.02 * np.sin(np.arange(800)), 0.01, 0.99)
    weights = {"sample_weight": np.arange(800) % 3} if weighted else {}
    logits = np.log(other / (1 - other))
    found, out = shown(
        {**data, **weights}, {"labels": labels, "logits": logits, **weights}
    )
    rows = found["comparison"]["differences"]
    expected = {*found["intervals"]["metrics"]} - {"calibration_error"}
    assert {*rows} == expected
    assert "If an interval holds 0, either model may be better." in words(out)
    for name, row in rows.items():
        sides = found["comparison"]["numbers"][name]
        assert row["estimate"] == pytest.approx(sides["first"] - sides["second"])
        assert row["low"] <= row["estimate"] <= row["high"]
        assert lines_of(out, name, *cells_of(row))
    # The models make similar errors: the difference is more certain than each score.
    gaps = (labels - p) ** 2 - (labels - other) ** 2
    weight = weights.get("sample_weight", np.ones(800))
    mean = np.average(gaps, weights=weight)
    error = np.linalg.norm(weight * (gaps - mean)) / weight.sum()
    row = rows["brier_score"]
    assert row["low"] == pytest.approx(mean - 1.96 * error, abs=0.4 * error)
    assert row["high"] == pytest.approx(mean + 1.96 * error, abs=0.4 * error)
    alone = found["intervals"]["metrics"]["brier_score"]
    assert row["high"] - row["low"] < 0.8 * (alone["high"] - alone["low"])


def test_calibrated_models_are_not_ranked_by_noise():
    # The posteriors are far apart, as the noise is less where the accuracy is high.
    found, out = shown(calibrated(5000, 0.95, 1.0), calibrated(500, 0.5, 0.8, seed=1))
    section = found["comparison"]
    assert section["probability_of_lower_calibration_error"]["first"] > 0.99
    assert "the first model may be calibrated" in section["verdict"]
    assert "the second model may be calibrated" in section["verdict"]
    assert "lower calibration error" not in section["verdict"]
    assert "calibration" not in section
    # Differences need the same examples.
    assert section["differences"] == {}
    assert "first - second" not in out


def test_lower_calibration_error_is_not_called_better():
    # The frequency of the classes against a sharp, overconfident model.
    labels = np.repeat([0, 1], 500)
    right = np.arange(1000) % 10 > 0
    p = np.where(labels == right, 0.999, 0.001)
    frequency = {"labels": labels, "probabilities": np.full(1000, 0.5)}
    section = built(frequency, {"labels": labels, "probabilities": p})["comparison"]
    assert "the second model is miscalibrated" in section["verdict"]
    assert section["quality"] == (
        "A lower calibration error does not make a better model: on these examples "
        "Brier score and negative log-likelihood are lower for the second."
    )
    # The two scores may disagree: one sure mistake makes the likelihood infinite.
    p[0] = 1.0
    section = built(frequency, {"labels": labels, "probabilities": p})["comparison"]
    assert section["quality"].endswith(
        "the Brier score is lower for the second, the negative log-likelihood lower "
        "for the first."
    )


OTHER_LABELS = np.where(np.isin(np.arange(60), [3, 5]), 1, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "The same examples"),
        ({"sample_weight": np.ones(60)}, "The same examples"),
        ({"sample_weight": np.arange(60.0)}, "The same labels in the same order, but"),
        (
            {"labels": (examples()["labels"] + OTHER_LABELS) % 3},
            "Equally many examples, but 2 of the 60 labels differ",
        ),
        (examples(40, 5), "Different"),
    ],
)
@pytest.mark.first(1)
def test_comparison_says_whether_examples_are_the_same(change, said):
    first, second = examples(), {**examples(), **change}
    found, out = shown(first, second)
    section = found["comparison"]
    assert section["examples"].startswith(said)
    assert section["examples"] in words(out)
    assert section["same_examples"] == (said == "The same examples")
    swapped = built(second, first)["comparison"]
    assert swapped["same_examples"] == section["same_examples"]
    if not section["same_examples"]:
        assert "on the same examples" in section["quality"]
    weighted = "sample_weight" in change
    assert ("Note on the second: The posterior" in words(out)) == weighted
    assert section["numbers"]["classes"]["second"] == (5 if said == "Other" else 3)


@pytest.mark.usefixtures("undrawn")
def test_compare_with_the_shipped_predictions():
    out = run("--compare", write_csv("p.csv", ["label", "logit"], [[0, -1], [1, 2]]))
    assert "  first   digits_predictions.npz (shipped with the package)\n" in out
    assert "  second  p.csv\n" in out
    expected = "Different examples: 1677 in the first file and 2 in the second."
    assert numbers()["comparison"]["examples"] == expected


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a.npz", "b.npz", ["a.npz", "b.npz"]),
        ("x/a.npz", "y/a.npz", ["first", "second"]),
        ("x/a.npz", "x/a.npz", ["first", "second"]),
        (f"{50 * 'a'}.npz", "b.npz", [f"{8 * 'a'}...{5 * 'a'}.npz", "b.npz"]),
    ],
)
def test_names_in_legends(first, second, expected):
    labels, p = calibrated(50, 0.5, 1).values()
    figures = report.draw(
        report.Predictions(first, labels, "probabilities", p),
        15,
        report.Predictions(second, labels, "probabilities", p),
    )
    for picture in (POSTERIORS, RISK_COVERAGE):
        texts = figures[picture.file].legends[0].get_texts()
        assert [text.get_text().partition(":")[0] for text in texts[:2]] == expected


@pytest.mark.thorough
@pytest.mark.parametrize("names", [("$x_1$", "日本"), ("a b", "%s{0}")])
@pytest.mark.first(1)
def test_names_of_files(names, recwarn):
    first, second = (f"{name}.npz" for name in names)
    for name in (first, second):
        np.savez(name, **calibrated(50, 0.5, 1))
    assert f"  second  {second}\n" in run(first, "--compare", second)
    assert numbers()["source"] == first
    run(second, "--out", "alone")
    assert [str(warning.message) for warning in recwarn] == []
