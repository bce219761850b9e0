"""The command `python -m uncertainty_metrics report`."""

import csv
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics as package
import uncertainty_metrics.numpy as um
from uncertainty_metrics import report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics.numpy import resampling
from uncertainty_metrics.report import (
    _sections_classifier,
    _sections_intervals,
    _sections_selective,
)

PARTS = (
    "uncertainty",
    "resolution",
    "reliability",
    "within_bin_variance",
    "within_bin_covariance",
)
PICTURES = ("reliability_diagram.png", "risk_coverage_diagram.png", "posteriors.png")
WRITTEN = ("report.html", *PICTURES, "report.json")
METRICS = ("ece", "mce", "rmsce", "sce", "ace", "tace")


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def examples(n=60, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(classes, size=n), rng.dirichlet(np.ones(classes), n)


def write_csv(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return name


def strict(constant):
    raise AssertionError(f"{constant} is no JSON")


def numbers(directory=report.DEFAULT_DIRECTORY):
    text = (pathlib.Path(directory) / "report.json").read_text("utf-8")
    return json.loads(text, parse_constant=strict)


def built(name, other=None):
    """The numbers of a file, without the pictures."""
    other = None if other is None else report.read_predictions(other)
    return report.build(report.read_predictions(name), other=other)


def shown(name, other=None):
    """The numbers as JSON has them and the text, without the pictures."""
    found = built(name, other)
    text = json.dumps(found, allow_nan=False)
    return json.loads(text), report.render(found)


def values(section):
    """The numbers of a table of the report."""
    return {name: row["value"] for name, row in section.items()}


def above_the_intervals(out):
    """The lines of the text that tell the metrics and their meanings."""
    return out.partition("95% intervals")[0].splitlines()


def calibrated(n, low, high, seed=0, gap=0.0):
    """Labels and P(class 1) of decisions that are right with probability p - gap."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(low, high, n)
    return {"labels": (rng.random(n) < p - gap).astype(int), "probabilities": p}


def fails(capsys, *arguments):
    """Runs a command that must fail as promised; returns its one line."""
    before = sorted(os.listdir())
    assert main(["report", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before  # Nothing is half written.
    return err


# What it does.


def test_shipped_predictions(capsys):
    assert main(["report"]) == 0
    out, err = capsys.readouterr()
    tables = above_the_intervals(out)
    assert err == ""
    path = pathlib.Path(package.__file__).parent / "data" / "digits_predictions.npz"
    with np.load(path, allow_pickle=False) as file:
        labels, logits = file["labels"], file["logits"]
    assert path.stat().st_size < 100_000
    assert len(labels) >= 900

    found = numbers()
    assert found["version"] == package.__version__
    assert found["data"]["examples"] == len(labels)
    assert found["data"]["classes"] == 10
    section = found["calibration"]
    accuracy = np.mean(logits.argmax(axis=-1) == labels)
    assert section["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    for name in METRICS:
        value = getattr(um, name)(labels, logits=logits)
        assert section["metrics"][name]["value"] == value
        (line,) = (row for row in tables if row.split()[:1] == [name])
        assert line.split()[1] == f"{value:.4f}"
        assert section["metrics"][name]["meaning"] in line
    table = [row for row in tables if row.strip().startswith(METRICS)]
    assert len({row.index(".") for row in table}) == 1  # It is aligned.
    # A modest, overconfident model, and the report says so.
    assert 0.8 < accuracy < 0.95
    assert section["metrics"]["ece"]["value"] > 0.03
    assert section["verdict"].startswith("Overconfident on average")
    assert "Overconfident on average" in out
    written = [row.split()[1] for row in out.splitlines() if row.startswith("Wrote")]
    assert tuple(pathlib.Path(name).name for name in written) == WRITTEN
    assert all(pathlib.Path(name).is_file() for name in written)


def test_json_holds_every_metric_and_the_diagram():
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probabilities=probabilities)
    assert main(["report", "p.npz", "--out", "there/below", "--num-bins", "7"]) == 0
    found = numbers("there/below")
    assert found["options"] == {
        "num_bins": 7,
        "num_ece_samples": 5000,
        "seed": 0,
        "risk": 0.05,
        "coverage": 0.8,
        "oracle_fraction": 0.1,
    }
    assert found["source"] == "p.npz"
    grid = um.compute_all_metrics(labels, probabilities, num_bins=7)
    assert list(found["calibration"]["all_metrics"].values()) == list(grid.values())
    assert (
        found["calibration"]["all_metrics"]["adaptive, all classes, by class, l1"]
        == grid["adaptive", False, True, "l1"]
    )
    assert len(found["calibration"]["all_metrics"]) == 24
    stats = um.bin_statistics(labels, probabilities, num_bins=7)
    diagram = found["calibration"]["diagram"]
    assert diagram["counts"] == stats.counts[0].tolist()
    assert [value or 0.0 for value in diagram["accuracies"]] == (
        stats.accuracies[0].tolist()
    )
    assert diagram["accuracies"][0] is None  # Below 1/3 is no decision.


def test_png_is_a_picture_of_the_data():
    assert main(["report", "--out", "a"]) == 0
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probs=probabilities)
    assert main(["report", "p.npz", "--out", "b"]) == 0
    pictures = []
    for directory in "ab":
        path = pathlib.Path(directory) / "reliability_diagram.png"
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        pictures.append(matplotlib.image.imread(path)[..., :3])
    assert min(pictures[0].shape[:2]) > 400
    assert len(np.unique(pictures[0])) > 50
    blue = np.abs(pictures[0] - [0x44 / 255, 0x77 / 255, 0xAA / 255]).max(-1) < 0.02
    assert 0.05 < blue.mean() < 0.6  # The bars.
    assert np.mean(pictures[0] != pictures[1]) > 0.01


@pytest.mark.parametrize("key", ["probabilities", "probs", "logits"])
def test_keys_of_npz(key):
    labels, probabilities = examples()
    values = np.log(probabilities) if key == "logits" else probabilities
    weight = np.arange(1.0, 61.0)
    np.savez_compressed(
        "p.npz", **{"labels": labels, key: values, "sample_weight": weight}
    )
    found = built("p.npz")["calibration"]["metrics"]["ece"]["value"]
    expected = um.ece(labels, probabilities, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("probabilities", ["p0", "p1", "p2"]),
        ("probabilities", ["probability_0", "probability_1", "probability_2"]),
        ("logits", ["logit_0", "logit_1", "logit_2"]),
    ],
)
@pytest.mark.parametrize("label", ["label", "labels"])
def test_csv_equals_npz(kind, columns, label):
    labels, values = examples()
    if kind == "logits":
        values = np.log(values)
    weight = np.arange(60.0)
    np.savez("p.npz", **{"labels": labels, kind: values, "sample_weight": weight})
    # The columns say which class they are of, whatever their order.
    header = ["sample_weight", columns[2], label, columns[0], columns[1]]
    rows = np.column_stack([weight, values[:, 2], labels, values[:, 0], values[:, 1]])
    write_csv("p.csv", header, rows.tolist())
    of_npz, of_csv = built("p.npz"), built("p.csv")
    assert of_npz.pop("source") == "p.npz"
    assert of_csv.pop("source") == "p.csv"
    assert of_csv == of_npz
    assert of_csv["data"]["total_weight"] == weight.sum()


@pytest.mark.parametrize("column", ["probability", "logit"])
def test_csv_of_two_classes_by_one_column(column):
    labels, probabilities = examples(classes=2)
    p = probabilities[:, 1]
    values = p if column == "probability" else np.log(p / (1 - p))
    rows = zip(labels.tolist(), values.tolist(), strict=True)
    write_csv("p.csv", ["label", column], rows)
    found = built("p.csv")
    assert found["data"]["classes"] == 2
    value = found["calibration"]["metrics"]["ece"]["value"]
    assert value == pytest.approx(um.ece(labels, p), rel=1e-9)


def test_what_is_left_out_is_said(capsys):
    labels, probabilities = examples(n=2)
    write_csv(
        "p.csv",
        ["label", "p0", "p1", "p2", "weights", "image"],
        [[y, *p, 3, "a.png"] for y, p in zip(labels, probabilities, strict=True)],
    )
    assert main(["report", "p.csv"]) == 0
    assert "Note: Left out" in capsys.readouterr().out
    assert numbers()["notes"] == [
        "Left out, as their names mean nothing here: weights, image."
    ]


def test_rows_that_do_not_sum_to_one_are_said():
    np.savez("p.npz", labels=[0, 1], probabilities=[[0.5, 0.25], [0.75, 0.5]])
    assert built("p.npz")["notes"] == [
        "The probabilities of an example sum to 0.75 to 1.25, not to 1."
    ]
    np.savez("q.npz", labels=[[0, 1], [1, 1]], probabilities=np.full([2, 2], 0.3))
    assert built("q.npz")["notes"] == []  # Four examples of P(class 1).
    assert built("q.npz")["data"]["examples"] == 4


@pytest.mark.parametrize(
    ("correct", "confidence", "start"),
    [
        # Of 100; 2 standard errors are about 0.1.
        (50, 0.9, "Overconfident on average, by 40.0 percentage points"),
        (90, 0.6, "Underconfident on average, by 30.0 percentage points"),
        (80, 0.85, "Neither clearly overconfident nor underconfident"),
    ],
)
def test_verdict(correct, confidence, start):
    labels = np.repeat([1, 0], [correct, 100 - correct])
    np.savez("p.npz", labels=labels, probabilities=np.full(100, confidence))
    assert built("p.npz")["calibration"]["verdict"].startswith(start)


def test_verdict_of_few_examples_claims_nothing():
    np.savez("p.npz", labels=[1, 1, 1], probabilities=[0.7, 0.7, 0.7])
    assert built("p.npz")["calibration"]["verdict"].startswith("Neither clearly")
    # Nor does the scale of weights make examples of nothing.
    np.savez(
        "p.npz",
        labels=[1, 1, 1],
        probabilities=[0.7, 0.7, 0.7],
        sample_weight=[1e6, 1e6, 1e6],
    )
    assert built("p.npz")["calibration"]["verdict"].startswith("Neither clearly")


# Scoring rules.


def dense(labels, probabilities, weight):
    """Brier score, its five parts and the NLL, by loops, of probabilities [N, K]."""
    n, k = probabilities.shape
    w = np.ones(n) if weight is None else np.asarray(weight, float)
    w = w / w.sum()
    d = np.eye(k)[labels]
    decisions = probabilities.argmax(axis=1)
    pbar = w @ d
    parts = dict.fromkeys(PARTS, 0.0)
    parts["uncertainty"] = -np.sum(pbar**2)
    for decision in set(decisions):
        chosen = decisions == decision
        share = w[chosen].sum()
        dbar = w[chosen] @ d[chosen] / share
        fbar = w[chosen] @ probabilities[chosen] / share
        parts["resolution"] += share * np.sum((dbar - pbar) ** 2)
        parts["reliability"] += share * np.sum((fbar - dbar) ** 2)
        for i in np.flatnonzero(chosen):
            off = probabilities[i] - fbar
            parts["within_bin_variance"] += w[i] * np.sum(off**2)
            parts["within_bin_covariance"] += 2 * w[i] * np.sum(off * (d[i] - dbar))
    zero_based = sum(w[i] * np.sum((probabilities[i] - d[i]) ** 2) for i in range(n))
    nll = -sum(w[i] * np.log(probabilities[i, labels[i]]) for i in range(n))
    return zero_based, parts, nll


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_scoring_rules(classes, weighted, capsys):
    labels, probabilities = examples(classes=classes)
    weight = np.arange(60) % 4 if weighted else None
    arrays = {"labels": labels, "probabilities": probabilities}
    if classes == 2:  # P(class 1) alone.
        arrays["probabilities"] = probabilities[:, 1]
    if weighted:
        arrays["sample_weight"] = weight
    np.savez("p.npz", **arrays)
    assert main(["report", "p.npz"]) == 0
    out = capsys.readouterr().out
    section = numbers()["scoring_rules"]
    brier, parts, nll = dense(labels, probabilities, weight)
    assert values(section["metrics"]) == pytest.approx(
        {
            "brier_score": brier - 1,
            "brier_score_zero_based": brier,
            "negative_log_likelihood": nll,
        },
        rel=1e-12,
    )
    assert values(section["brier_parts"]) == pytest.approx(parts, rel=1e-10)
    signs = [row["sign"] for row in section["brier_parts"].values()]
    assert "".join(signs) == "+-++-"
    assert section["sum_of_brier_parts"] == pytest.approx(brier - 1, rel=1e-12)
    assert section["impossible_labels"] == 0
    for name, value in values(section["metrics"]).items():
        (line,) = (row for row in above_the_intervals(out) if row.split()[:1] == [name])
        assert line.split()[1] == f"{value:.4f}"
    for name, row in section["brier_parts"].items():
        (line,) = (line for line in out.splitlines() if line.split()[1:2] == [name])
        assert line.split()[::2][:2] == [row["sign"], f"{row['value']:.4f}"]
        assert row["meaning"] in line
    assert f"= brier_score            {brier - 1:.4f}" in out


def test_scoring_rules_of_logits_equal_those_of_probabilities():
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probabilities=probabilities)
    np.savez("z.npz", labels=labels, logits=np.log(probabilities) + 7)
    of_p, of_z = built("p.npz"), built("z.npz")
    for table in ("metrics", "brier_parts"):
        expected = values(of_p["scoring_rules"][table])
        assert values(of_z["scoring_rules"][table]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_infinite_nll_is_said_and_valid_json(kind, capsys):
    labels = np.array([0, 1, 1, 0, 1])
    p = np.array([[1, 0], [1, 0], [0.5, 0.5], [0, 1], [1, 0]])
    with np.errstate(divide="ignore"):
        arrays = {"labels": labels, kind: np.log(p) if kind == "logits" else p}
    # The last is wrong, but left out.
    np.savez("p.npz", **arrays, sample_weight=[1, 1, 1, 1, 0])
    assert main(["report", "p.npz", "--compare", "p.npz"]) == 0
    out = capsys.readouterr().out
    found = numbers()  # Strict.
    section = found["scoring_rules"]
    row = section["metrics"]["negative_log_likelihood"]
    assert row["value"] == "inf"
    assert float(row["value"]) == np.inf
    assert row["meaning"] == "2 of 5 labels had probability 0."
    assert section["impossible_labels"] == 2
    (line,) = (row for row in out.splitlines() if row.endswith("had probability 0."))
    assert line.split()[:5] == ["negative_log_likelihood", "inf", "2", "of", "5"]
    side_by_side = found["comparison"]["numbers"]["negative_log_likelihood"]
    assert side_by_side == {"first": "inf", "second": "inf"}


# The posterior of the ECE.


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_bayesian_ece(classes, weighted, capsys):
    labels, probabilities = examples(classes=classes, n=200)
    predictions = probabilities[:, 1] if classes == 2 else probabilities
    arrays = {"labels": labels, "probabilities": predictions}
    if weighted:
        arrays["sample_weight"] = np.arange(200) % 3
    np.savez("p.npz", **arrays)
    assert main(["report", "p.npz", "--num-bins", "9"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    found = numbers()
    section = found["bayesian_ece"]
    labels = arrays.pop("labels")
    options = found["options"]
    draws = um.bayesian_expected_calibration_error(
        options["num_bins"],
        labels_true=labels,
        **arrays,
        num_ece_samples=options["num_ece_samples"],
        seed=options["seed"],
    )
    low, median, high = np.quantile(draws, [0.025, 0.5, 0.975])
    assert section["mean"] == pytest.approx(np.mean(draws), rel=1e-12)
    assert section["median"] == pytest.approx(median, rel=1e-12)
    assert section["interval"] == pytest.approx(
        {"level": 0.95, "low": low, "high": high}, rel=1e-9
    )
    between = f"lies between {low:.4f} and {high:.4f} with 95% probability"
    assert between in section["verdict"]
    assert section["verdict"] in out
    weight = "takes a weight as that many examples, here 199 in all"
    assert (weight in out) == (weight in "".join(found["notes"])) == weighted


def test_the_same_weight_for_all_is_as_many_examples():
    data = calibrated(50, 0.6, 1, gap=0.2)
    tripled = {name: np.repeat(array, 3) for name, array in data.items()}
    np.savez("a.npz", **tripled)
    np.savez("b.npz", **data, sample_weight=np.full(50, 3.0))
    a, b = (built(name)["bayesian_ece"] for name in ("a.npz", "b.npz"))
    assert a["interval"] == pytest.approx(b["interval"], rel=1e-9)
    # But that is no more evidence of miscalibration.
    assert b["ece_by_chance"] > 1.5 * a["ece_by_chance"]


@pytest.mark.parametrize("weighted", [False, True])
def test_ece_by_chance(weighted):
    # Of what calibrated models show, the mean and two standard deviations.
    rng = np.random.default_rng(1)
    p = rng.uniform(0.5, 1, 400)
    weight = rng.exponential(size=400) if weighted else None
    eces = [
        um.ece(rng.random(400) < p, p, num_bins=15, sample_weight=weight)
        for _ in range(1000)
    ]
    here = report.Predictions("", np.ones(400), "probabilities", p, weight)
    level = report.build(here)["bayesian_ece"]["ece_by_chance"]
    assert level == pytest.approx(np.mean(eces) + 2 * np.std(eces), rel=0.05)


def test_what_chance_explains_is_not_held_against_a_model():
    np.savez("fine.npz", **calibrated(1000, 0.5, 1))
    np.savez("off.npz", **calibrated(1000, 0.5, 1, gap=0.2))
    fine, off = (built(f"{name}.npz")["bayesian_ece"] for name in ("fine", "off"))
    assert fine["interval"]["low"] > 0
    assert "this one may be calibrated" in fine["verdict"]
    assert "this one shows more than chance" in off["verdict"]
    # Rounding of a perfect score is not more than chance.
    np.savez("sure.npz", labels=[1] * 7, probabilities=[1.0] * 7)
    sure = built("sure.npz")["bayesian_ece"]
    assert sure["ece_by_chance"] == 0.0
    assert "this one may be calibrated" in sure["verdict"]


CHANCE = re.compile(
    r"the ECE of the data is ([\d.]+)\. .* up to about ([\d.]+) .*, and as much as "
    r"this one with p (= [\d.]+|< 0.001): this one (may be|is borderline|shows more)"
)


def test_verdicts_on_chance_agree_with_what_they_show():
    # In one bin, of 160,000 decisions of confidence 0.75, the fifth decimal decides.
    n = 160_000
    p = np.full(n, 0.75)
    found = []
    for right in range(120_000, 120_600, 20):
        here = report.Predictions("", np.arange(n) < right, "probabilities", p)
        section = _sections_classifier._bayesian_ece(here, right / n - 0.75, 10)
        ece, chance, shown, verdict = CHANCE.search(section["verdict"]).groups()
        level = section["p_value"]
        # Of |N(0, v)|, within the error of 10,000 draws.
        z = (right / n - 0.75) / (0.75 * 0.25 / n) ** 0.5
        assert level == pytest.approx(2 * stats.norm.sf(z), abs=0.015)
        assert shown == ("< 0.001" if level < 0.0005 else f"= {level:.3f}")
        expected = "is borderline" if round(level, 3) <= 0.05 else "may be"
        assert verdict == ("shows more" if round(level, 3) <= 0.01 else expected)
        assert not (verdict == "shows more" and float(ece) <= float(chance))
        assert not (verdict == "may be" and float(ece) > float(chance))
        found.append(verdict)
    assert len(set(found)) == 3


@pytest.mark.parametrize("auroc", [0.5325, 0.4675])
def test_what_looks_the_same_as_chance_is_chance(auroc, monkeypatch):
    monkeypatch.setattr(_sections_selective, "_auroc", lambda curve: auroc)
    monkeypatch.setattr(_sections_selective, "_auroc_by_chance", lambda *_: 0.5324)
    data = {**calibrated(100, 0.5, 1), "sample_weight": None}
    verdict = _sections_selective.selective_prediction(data, 100.0)["verdict"]
    assert verdict.startswith("Confidence does not clearly tell")
    # Nor is a gap of 0.0304 above one of 0.0303.
    accuracy = 0.75
    gap = 2 * (0.75 * 0.25 / 804) ** 0.5 + 0.0001
    rate = (accuracy * 800 + 2) / 804
    assert gap > 2 * (rate * (1 - rate) / 804) ** 0.5
    verdict = _sections_classifier._verdict(accuracy, accuracy + gap, 800.0)
    assert verdict.startswith("Neither clearly")


def test_many_bins_take_fewer_draws():
    np.savez("p.npz", **calibrated(50, 0.5, 1))
    predictions = report.read_predictions("p.npz")
    for bins, draws in ((200, 5000), (1000, 1000), (10_000, 100)):
        assert report.build(predictions, bins)["options"]["num_ece_samples"] == draws


# Bootstrap intervals.

BOOTSTRAPPED = {
    "accuracy": (um.accuracy, {}),
    "ece": (um.ece, {"num_bins": 15}),
    "brier_score_zero_based": (um.brier_score, {"zero_based": True}),
    "negative_log_likelihood": (um.negative_log_likelihood, {}),
}


def in_the_text(out, name, row):
    """Says if the text has the row of an interval."""
    words = [f"{row[key]:.4f}" for key in ("estimate", "low", "high")]
    return any(line.split() == [name, *words] for line in out.splitlines())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["binary", "probabilities", "logits"])
def test_intervals(kind, weighted):
    classes = 2 if kind == "binary" else 3
    labels, probabilities = examples(classes=classes, n=80)
    arrays = {"labels": labels, "probabilities": probabilities}
    if kind == "binary":
        arrays["probabilities"] = probabilities[:, 1]
    if kind == "logits":
        arrays["logits"] = np.log(arrays.pop("probabilities"))
    weights = {"sample_weight": np.arange(80) % 3 + 1.0} if weighted else {}
    np.savez("p.npz", **arrays, **weights)
    found, out = shown("p.npz")
    section = found["intervals"]
    assert (section["level"], section["num_resamples"]) == (0.95, 1000)
    assert section["verdict"] in " ".join(out.split())
    assert list(section["metrics"]) == list(BOOTSTRAPPED)
    for name, (metric, options) in BOOTSTRAPPED.items():
        row = section["metrics"][name]
        interval = resampling.bootstrap(
            metric, **arrays, **weights, **options, alpha=0.05, seed=0
        )
        low, estimate, high = interval
        assert row == approximately({"low": low, "estimate": estimate, "high": high})
        assert in_the_text(out, name, row)
    metrics = found["scoring_rules"]["metrics"]
    for name in ("brier_score_zero_based", "negative_log_likelihood"):
        assert section["metrics"][name]["estimate"] == approximately(
            metrics[name]["value"]
        )


def test_intervals_agree_with_closed_forms():
    data = calibrated(1000, 0.6, 1, gap=0.2)
    np.savez("p.npz", **data)
    metrics = built("p.npz")["intervals"]["metrics"]
    labels, p = data.values()
    wilson = stats.binomtest(int(labels.sum()), 1000).proportion_ci(method="wilson")
    row = metrics["accuracy"]
    assert [row["low"], row["high"]] == pytest.approx(list(wilson), abs=0.004)
    for name, scores in (
        ("brier_score_zero_based", 2 * (labels - p) ** 2),
        ("negative_log_likelihood", -np.log(np.where(labels == 1, p, 1 - p))),
    ):
        row, error = metrics[name], stats.sem(scores)
        mean = np.mean(scores)
        assert row["estimate"] == pytest.approx(mean, rel=1e-12)
        assert row["low"] == pytest.approx(mean - 1.96 * error, abs=0.4 * error)
        assert row["high"] == pytest.approx(mean + 1.96 * error, abs=0.4 * error)


def test_the_interval_of_an_ece_by_chance_is_said_to_be_too_high():
    np.savez("fine.npz", **calibrated(1000, 0.5, 1))
    np.savez("off.npz", **calibrated(1000, 0.5, 1, gap=0.2))
    fine, off = (built(f"{name}.npz")["intervals"] for name in ("fine", "off"))
    assert "is too high if the model is calibrated" in fine["verdict"]
    assert "too high" not in off["verdict"]


def test_an_example_alone_has_no_intervals():
    np.savez("p.npz", labels=[1], probabilities=[0.7])
    found, out = shown("p.npz", "p.npz")
    assert found["intervals"]["metrics"] == {}
    assert found["comparison"]["differences"] == {}
    assert "One example alone has no intervals." in out
    assert "from" not in out.split()
    # Nor has one that is left beside others of weight 0.
    np.savez("q.npz", labels=[1, 0], probabilities=[0.7, 0.2], sample_weight=[2, 0])
    assert built("q.npz")["intervals"] == found["intervals"]


def test_many_examples_take_fewer_resamples():
    number = _sections_intervals.options
    assert [number(n)["num_resamples"] for n in (2, 20_000, 40_000, 10**6)] == [
        1000,
        1000,
        500,
        200,
    ]


@pytest.mark.parametrize("shape", [[60, 1], [12, 5]])
def test_intervals_are_of_examples_whatever_their_shape(shape):
    labels, p = examples(classes=2)
    np.savez("p.npz", labels=labels, probabilities=p[:, 1])
    expected = built("p.npz")["intervals"]
    weight = np.full(shape[0], 1e6)  # Nor does the scale of weights matter.
    shaped = labels.reshape(shape), p[:, 1].reshape(shape)
    np.savez("p.npz", labels=shaped[0], probabilities=shaped[1], sample_weight=weight)
    assert built("p.npz")["intervals"] == approximately(expected)


def test_examples_of_weight_0_are_not_drawn():
    arrays = sure(50)
    arrays["probabilities"][3] = np.nan
    weight = np.ones(50)
    weight[3] = 0
    np.savez("all.npz", **arrays, sample_weight=weight)
    kept = {name: np.delete(array, 3) for name, array in arrays.items()}
    np.savez("kept.npz", **kept, sample_weight=np.ones(49))
    assert built("all.npz")["intervals"] == built("kept.npz")["intervals"]


def test_intervals_of_infinite_scores_are_undefined(recwarn):
    # Of the first, all resamples without the second example are finite.
    np.savez("a.npz", labels=[1, 0, 1], probabilities=[0.8, 1.0, 0.6])
    np.savez("b.npz", labels=[1, 0, 1], probabilities=[0.8, 0.1, 0.6])
    undefined = {"low": None, "estimate": "inf", "high": None}
    found, out = shown("a.npz", "a.npz")
    assert found["intervals"]["metrics"]["negative_log_likelihood"] == undefined
    shown_row = ["negative_log_likelihood", "inf", "-", "-"]
    assert shown_row in [line.split() for line in out.splitlines()]
    row = found["comparison"]["differences"]["negative_log_likelihood"]
    assert row == {"low": None, "estimate": None, "high": None}
    row = built("a.npz", "b.npz")["comparison"]["differences"]
    assert row["negative_log_likelihood"] == undefined
    row = shown("b.npz", "a.npz")[0]["comparison"]["differences"]
    assert row["negative_log_likelihood"] == {**undefined, "estimate": "-inf"}
    assert [str(warning.message) for warning in recwarn] == []


# Selective prediction.


def sure(n, skill=0.0, seed=0):
    """Labels and P(class 1), the more right the surer where the skill is positive."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 1, n)
    return {
        "labels": (rng.random(n) < 0.75 + skill * (p - 0.75)).astype(int),
        "probabilities": p,
    }


def selective(arrays):
    np.savez("p.npz", **arrays)
    return built("p.npz")["selective_prediction"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["binary", "probabilities", "logits"])
def test_selective_prediction(kind, weighted):
    classes = 2 if kind == "binary" else 4
    labels, probabilities = examples(classes=classes, n=250, seed=1)
    confidence = probabilities.max(axis=-1)
    correct = probabilities.argmax(axis=-1) == labels
    arrays = {"labels": labels, "probabilities": probabilities}
    if kind == "binary":
        arrays["probabilities"] = probabilities[:, 1]
    if kind == "logits":
        arrays["logits"] = np.log(arrays.pop("probabilities"))
    weights = {"sample_weight": np.arange(250) % 4} if weighted else {}
    np.savez("p.npz", **arrays, **weights)
    found, out = shown("p.npz")
    section = found["selective_prediction"]
    assert section["verdict"] in " ".join(out.split())
    expected = {
        "aurc": um.aurc(**arrays, **weights),
        "excess_aurc": um.excess_aurc(**arrays, **weights),
        "augrc": um.augrc(**arrays, **weights),
        "coverage_at_risk": um.coverage_at_risk(**arrays, **weights, risk=0.05),
        "risk_at_coverage": um.risk_at_coverage(**arrays, **weights, coverage=0.8),
        "oracle_collaborative_accuracy": um.oracle_collaborative_accuracy(
            **arrays, **weights, fraction=0.1
        ),
        "auroc": um.auroc(correct, confidence, **weights),
    }
    assert values(section["metrics"]) == pytest.approx(expected, rel=1e-12)
    for name, row in section["metrics"].items():
        (line,) = (line for line in out.splitlines() if row["meaning"] in line)
        assert line.split()[:2] == [name, f"{row['value']:.4f}"]
        assert len(line) <= 88

    curve = um.risk_coverage_curve(**arrays, **weights)
    points = section["curve"]
    chosen = np.searchsorted(curve.coverages, points["coverages"])
    assert 50 <= len(chosen) <= 100
    for name, column in points.items():
        assert column == getattr(curve, name)[chosen].tolist()
    assert points["coverages"][-1] == 1.0
    # So that a reader finds the risk at any coverage in percent.
    at = um.risk_at_coverage(**arrays, **weights, coverage=0.3)
    first = next(i for i, c in enumerate(points["coverages"]) if c > 0.3 - 1e-9)
    assert points["risks"][first] == at


def test_short_curves_are_whole():
    section = selective({"labels": [0, 1, 1, 0], "probabilities": [0.9, 0.8, 0.7, 0.2]})
    assert section["curve"] == {
        "coverages": [0.25, 0.75, 1.0],
        "risks": [1.0, pytest.approx(1 / 3), 0.25],
        "thresholds": [0.9, 0.8, 0.7],
    }


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        (
            sure(2000, skill=1),
            [
                "Confidence tells right decisions from wrong ones: AUROC 0.",
                "80% lowers",
            ],
        ),
        (
            sure(2000),
            ["does not clearly tell", "gives about 0.47", ", as chance alone may."],
        ),
        (
            sure(2000, skill=-1),
            ["Confidence misleads", "or more. Deciding only the most", "80% raises"],
        ),
        # 1 of 1 is not more than chance.
        (
            {"labels": [1, 1, 0], "probabilities": [0.9, 0.8, 0.7]},
            [
                "does not clearly tell",
                "about 0.000 to 1.000",
                "20%: the least",
                "33.3%",
            ],
        ),
        (
            {"labels": [1] * 8 + [0] * 2, "probabilities": [0.75] * 10},
            ["does not clearly tell", "AUROC 0.500", "100% are equally confident"],
        ),
        (
            {"labels": [1, 0] * 50, "probabilities": np.repeat([0.9, 0.8], [80, 20])},
            ["the most confident 80% leaves the error at 0.5000."],
        ),
    ],
)
def test_verdict_on_confidence(arrays, parts):
    verdict = selective(arrays)["verdict"]
    for part in parts:
        assert part in verdict


@pytest.mark.parametrize(
    ("labels", "start", "expected"),
    [
        ([1, 1, 1], "No decision is wrong", [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        ([0, 0, 0], "Every decision is wrong", [1.0, 0.0, 0.5, 0.0, 1.0, 0.1]),
        ([1], "No decision is wrong", [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        ([0], "Every decision is wrong", [1.0, 0.0, 0.5, 0.0, 1.0, 0.1]),
    ],
)
def test_without_right_and_wrong_there_is_no_auroc(labels, start, expected):
    np.savez("p.npz", labels=labels, probabilities=[0.9, 0.8, 0.7][: len(labels)])
    found, out = shown("p.npz")
    section = found["selective_prediction"]
    assert list(values(section["metrics"]).values()) == pytest.approx(expected)
    assert "auroc" not in section["metrics"]
    assert section["auroc_by_chance"] is None
    assert section["verdict"].startswith(start)
    assert section["verdict"].endswith("and no AUROC.")
    assert start in out
    assert "  auroc " not in out


@pytest.mark.parametrize("weighted", [False, True])
def test_auroc_by_chance(weighted):
    # Of confidences that tell nothing, the mean and two standard deviations.
    rng = np.random.default_rng(2)
    p = rng.uniform(0.5, 1, 300)
    labels = np.arange(300) % 5 > 0
    weight = rng.exponential(size=300) if weighted else None
    aurocs = [
        um.auroc(labels, rng.permutation(p), sample_weight=weight) for _ in range(1000)
    ]
    here = report.Predictions("", labels, "probabilities", p, weight)
    level = report.build(here)["selective_prediction"]["auroc_by_chance"]
    assert level - 0.5 == pytest.approx(2 * np.std(aurocs), rel=0.12)


def test_what_weight_0_hides_is_not_read():
    arrays = sure(50)
    arrays["probabilities"][3] = np.nan
    weight = np.ones(50)
    weight[3] = 0
    found = selective({**arrays, "sample_weight": weight})
    kept = weight > 0
    assert found == selective({name: a[kept] for name, a in arrays.items()})


# Ensembles.


def members(n=120, m=4, classes=3, seed=0):
    """Labels [n] and probabilities [n, m, classes]."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=[n, 1, classes])
    labels = (logits[:, 0] + rng.gumbel(size=[n, classes])).argmax(axis=-1)
    odds = np.exp(2 * logits + rng.normal(size=[n, m, classes]))
    return labels, odds / odds.sum(axis=-1, keepdims=True)


def approximately(expected):
    """As `pytest.approx`, for dicts and lists in each other."""
    if isinstance(expected, dict):
        return {name: approximately(value) for name, value in expected.items()}
    if isinstance(expected, list):
        return [approximately(value) for value in expected]
    if isinstance(expected, str | type(None)):
        return expected
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["binary", "probabilities", "logits"])
def test_ensemble(kind, weighted):
    labels, p = members(classes=2 if kind == "binary" else 3)
    arrays = {"labels": labels, "probabilities": p}
    if kind == "binary":
        arrays["probabilities"] = p[..., 1:]
    if kind == "logits":
        arrays["logits"] = np.log(arrays.pop("probabilities"))
    weight = np.arange(120) % 3 if weighted else np.ones(120)
    weights = {"sample_weight": weight} if weighted else {}
    np.savez("e.npz", **arrays, **weights)
    found, out = shown("e.npz")
    words = " ".join(out.split())
    section = found.pop("ensemble")
    assert found["data"].pop("members") == section["members"] == 4
    assert "predictions e.npz, the mean of 4 members examples 120" in words
    assert section["verdict"] in words

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

    nll = compared(um.negative_log_likelihood)
    for name, expected in {
        "accuracy": compared(um.accuracy),
        "ece": compared(um.ece),
        "negative_log_likelihood": {key: nll[key] for key in ("mean", "ensemble")},
    }.items():
        row = section["metrics"][name]
        assert row == approximately(expected)
        cells = [f"{value:.4f}" for key, value in row.items() if key != "members"]
        assert f"{name} {' '.join(cells)}" in words
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
        assert f"{row['value']:.4f} {row['meaning']}" in words
    assert all(len(line) <= 88 for line in out.splitlines())

    # All else is as if the file held the mean.
    np.savez("mean.npz", labels=labels, probabilities=mean, **weights)
    expected = built("mean.npz")
    assert expected["data"].pop("members") == 1
    assert "ensemble" not in expected
    assert found["data"].pop("predictions") == [*arrays][1]
    del expected["data"]["predictions"], expected["source"], found["source"]
    assert found == approximately(expected)


def ensemble_section(**arrays):
    np.savez("e.npz", **arrays)
    return built("e.npz")["ensemble"]


def test_ensemble_of_the_same_member():
    labels, p = members(m=1)
    section = ensemble_section(labels=labels, probabilities=np.repeat(p, 3, axis=1))
    assert (
        section["metrics"]["accuracy"]["members"]
        == [section["metrics"]["accuracy"]["ensemble"]] * 3
    )
    found = values(section["uncertainty"])
    assert found["mutual_information"] == pytest.approx(0, abs=1e-12)
    assert found["ensemble_disagreement"] == 0
    assert "does not clearly change the accuracy" in section["verdict"]
    # Of one member there is nothing to compare.
    np.savez("e.npz", labels=labels, probabilities=p)
    np.savez("one.npz", labels=labels, probabilities=p[:, 0])
    of_one, expected = built("e.npz"), built("one.npz")
    del of_one["source"], expected["source"]
    assert of_one == expected


# One of three members errs on 60 of 100 examples; unsure of it, or the surest.
UNSURE = [[0.3, 0.9, 0.9], [0.9, 0.3, 0.9], [0.9, 0.9, 0.3], [0.9] * 3, [0.9] * 3]
SURE = [[0.0, 0.6, 0.6], [0.6, 0.0, 0.6], [0.6, 0.6, 0.0], [0.9] * 3, [0.9] * 3]
RIGHT = [[0.6, 0.9], [0.9, 0.6], [0.75, 0.75]]


@pytest.mark.parametrize(
    ("probabilities", "verdict"),
    [
        (UNSURE, "raises the accuracy to 1.000, from 0.800 of a member on average"),
        (SURE, "lowers the accuracy to 0.400, from 0.800 of a member on average"),
        (RIGHT, "does not clearly change the accuracy: 1.000, against 1.000 of"),
    ],
)
def test_verdict_on_accuracy(probabilities, verdict):
    p = np.repeat(np.array(probabilities), 20, axis=0)[..., None]
    section = ensemble_section(labels=np.ones(len(p)), probabilities=p)
    assert verdict in section["verdict"]
    logits = np.log(np.maximum(p, 1e-9)) - np.log(1 - p)
    section = ensemble_section(labels=np.ones(len(p)), logits=logits)
    assert verdict in section["verdict"]


def test_gains_of_few_examples_are_not_clear():
    p = np.array(UNSURE[:3])[..., None]
    verdict = ensemble_section(labels=np.ones(3), probabilities=p)["verdict"]
    assert "does not clearly change the accuracy: 1.000, against 0.667" in verdict
    assert "makes a difference of up to about 0.385. The data cannot tell" in verdict


@pytest.mark.parametrize(("scale", "change"), [(3, "better"), (0.7, "worse")])
def test_verdict_on_calibration_of_an_ensemble(scale, change):
    labels, p = members(n=2000)
    logits = np.log(p) * scale / 2
    section = ensemble_section(labels=labels, logits=logits)
    expected = um.ensemble_calibration(labels, logits=logits).verdict
    assert f"Averaging made calibration {change}" in expected
    assert section["verdict"].endswith(expected)


def test_ensembles_of_small_probabilities():
    # Of probabilities 0 is 0, of logits nothing is too small.
    p = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75]]])
    np.savez("e.npz", labels=[1, 1], probabilities=p)
    nll = shown("e.npz")[0]["ensemble"]["metrics"]["negative_log_likelihood"]
    mean = np.mean(-np.log([0.25, 0.625]))
    assert nll == {"mean": "inf", "ensemble": pytest.approx(mean)}
    z = np.array([[[1000.0, 0.0], [3000.0, 0.0]]])
    np.savez("e.npz", labels=[1], logits=z)
    found = built("e.npz")
    nll = found["ensemble"]["metrics"]["negative_log_likelihood"]
    assert nll == {"mean": 2000.0, "ensemble": pytest.approx(1000 + np.log(2))}
    score = found["scoring_rules"]["metrics"]["negative_log_likelihood"]["value"]
    assert score == pytest.approx(nll["ensemble"], rel=1e-12)
    with np.errstate(divide="ignore"):
        np.savez("e.npz", labels=[1, 0], logits=np.log(np.stack([p[0], p[0]])))
    impossible = built("e.npz")["ensemble"]["metrics"]["negative_log_likelihood"]
    assert impossible["mean"] == "inf"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ensembles_keep_the_precision_of_their_bins(dtype):
    p = np.full([2, 2, 1], 0.6, dtype)  # An edge, which float64 tells from it.
    np.savez("e.npz", labels=[1, 0], probabilities=p)
    found = report.build(report.read_predictions("e.npz"), num_bins=10)
    np.savez("mean.npz", labels=[1, 0], probabilities=p.mean(axis=1))
    expected = report.build(report.read_predictions("mean.npz"), num_bins=10)
    assert found["calibration"] == expected["calibration"]
    assert found["calibration"]["diagram"]["counts"][5] == 2


def test_what_weight_0_hides_of_an_ensemble_is_not_read(recwarn):
    labels, p = members()
    weight = np.ones(120)
    weight[[0, 3]] = 0
    kept = weight > 0
    for kind, values_of_kind in (("probabilities", p), ("logits", np.log(p))):
        np.savez("kept.npz", **{"labels": labels[kept], kind: values_of_kind[kept]})
        values_of_kind[3, 1] = np.nan
        values_of_kind[0, :] = np.inf
        arrays = {"labels": labels, kind: values_of_kind, "sample_weight": weight}
        np.savez("all.npz", **arrays)
        found, expected = built("all.npz"), built("kept.npz")
        for section in ("calibration", "selective_prediction", "ensemble"):
            assert found[section] == approximately(expected[section])
    assert [str(warning.message) for warning in recwarn] == []


def test_shapes_of_ensembles():
    labels, p = members()
    np.savez("e.npz", labels=labels, probabilities=p)
    expected = built("e.npz")
    for shape in ([120, 1], [12, 10]):
        values_of_shape = p
        if shape == [12, 10]:  # Labels [N, T], predictions [N, M, T, K].
            values_of_shape = np.moveaxis(p.reshape(12, 10, 4, 3), 2, 1)
        np.savez("e.npz", labels=labels.reshape(shape), probabilities=values_of_shape)
        assert built("e.npz") == expected


def test_compare_an_ensemble_with_a_single_model(capsys):
    labels, p = members(n=400)
    np.savez("e.npz", labels=labels, logits=np.log(p))
    np.savez("one.npz", labels=labels, probabilities=p[:, 0])
    assert main(["report", "e.npz", "--compare", "one.npz"]) == 0
    out = capsys.readouterr().out
    assert "  first   e.npz, the mean of 4 members\n  second  one.npz\n" in out
    found = numbers()
    section = found["comparison"]
    assert section["same_examples"] is True
    mean = p.mean(axis=1)
    for name in ("accuracy", "ece", "aurc"):
        metric = getattr(um, name)
        expected = {"first": metric(labels, mean), "second": metric(labels, p[:, 0])}
        assert section["numbers"][name] == pytest.approx(expected, rel=1e-9)
    assert "ensemble" not in section["other"]
    swapped, out = shown("one.npz", "e.npz")
    assert "  second  e.npz, the mean of 4 members\n" in out
    assert swapped["comparison"]["other"]["ensemble"] == found["ensemble"]


# Two models.


def test_compare_models_of_the_same_examples(capsys):
    # The second is the first, with confidence 1.
    data = calibrated(2000, 0.6, 0.9)
    np.savez("a.npz", **data)
    sure = {"labels": data["labels"], "probabilities": np.full(2000, 0.999)}
    np.savez("b.npz", **sure)
    assert main(["report", "a.npz", "--compare", "b.npz", "--num-bins", "8"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = numbers()
    section = found["comparison"]
    assert found["source"] == "a.npz"
    assert section["other"]["source"] == "b.npz"
    assert section["same_examples"] is True
    assert section["examples"].startswith("The same examples")
    lower = section["probability_of_lower_calibration_error"]
    assert lower == {"first": 1.0, "second": 0.0}
    assert section["verdict"] == (
        "The first model has the lower calibration error, with probability over 0.999."
    )
    assert section["quality"].endswith("log-likelihood are lower for the first.")
    assert section["verdict"] in " ".join(out.split())
    assert section["quality"] in " ".join(out.split())

    rows = section["numbers"]
    for side, arrays in (("first", data), ("second", sure)):
        labels, p = arrays.values()
        expected = {
            "examples": 2000,
            "classes": 2,
            "accuracy": np.mean(labels),
            "mean_confidence": np.mean(p),
            "ece": um.ece(labels, p, num_bins=8),
            "brier_score_zero_based": 2 * np.mean((labels - p) ** 2),
            "negative_log_likelihood": -np.mean(
                np.log(np.where(labels == 1, p, 1 - p))
            ),
            "aurc": um.aurc(labels, p),
            "coverage_at_risk": um.coverage_at_risk(labels, p, risk=0.05),
        }
        assert {name: rows[name][side] for name in expected} == pytest.approx(expected)
    for name, row in rows.items():
        (line,) = (
            line
            for line in out.splitlines()
            if line.split()[:1] == [name] and len(line.split()) == 3
        )
        shown = [float(word) for word in line.split()[1:]]
        assert shown == pytest.approx(list(row.values()), abs=5e-5)

    # It is the report of the second file, and that of the first is what it was alone.
    assert main(["report", "b.npz", "--out", "b", "--num-bins", "8"]) == 0
    assert main(["report", "a.npz", "--out", "a", "--num-bins", "8"]) == 0
    other = section["other"]
    assert {name: numbers("b")[name] for name in other} == other
    assert {**numbers("a"), "comparison": section} == found
    diagrams = [
        (pathlib.Path(directory) / "reliability_diagram.png").read_bytes()
        for directory in ("a", report.DEFAULT_DIRECTORY)
    ]
    assert diagrams[0] == diagrams[1]


def test_compare_agrees_with_the_library():
    labels, first = examples(n=300)
    second = 0.7 * first + 0.1
    np.savez("a.npz", labels=labels, probabilities=first)
    np.savez("b.npz", labels=labels, logits=np.log(second))
    section = built("a.npz", "b.npz")["comparison"]
    draws = [
        um.bayesian_expected_calibration_error(
            15, probabilities=p, labels_true=labels, num_ece_samples=5000, seed=0
        )
        for p in (first, second)
    ]
    probability = np.mean(draws[0][:, None] < draws[1])
    lower = section["probability_of_lower_calibration_error"]
    assert lower["first"] == pytest.approx(probability, abs=1e-3)
    assert lower["first"] + lower["second"] == pytest.approx(1.0, abs=1e-12)
    swapped = built("b.npz", "a.npz")["comparison"]
    lower_swapped = swapped["probability_of_lower_calibration_error"]
    assert lower_swapped["second"] == pytest.approx(lower["first"], abs=1e-12)


def test_compare_a_file_with_itself(capsys):
    labels, probabilities = examples()
    np.savez("p.npz", labels=labels, probabilities=probabilities)
    assert main(["report", "p.npz", "--compare", "p.npz"]) == 0
    assert "the data cannot tell" in capsys.readouterr().out.lower()
    section = numbers()["comparison"]
    lower = section["probability_of_lower_calibration_error"]
    assert lower == {"first": 0.5, "second": 0.5}
    assert section["quality"].endswith("are the same for both.")


@pytest.mark.parametrize("weighted", [False, True])
def test_paired_differences(weighted):
    data = calibrated(800, 0.6, 1, gap=0.1)
    labels, p = data.values()
    other = np.clip(p - 0.1 + 0.02 * np.sin(np.arange(800)), 0.01, 0.99)
    weights = {"sample_weight": np.arange(800) % 3} if weighted else {}
    np.savez("a.npz", **data, **weights)
    np.savez("b.npz", labels=labels, logits=np.log(other / (1 - other)), **weights)
    found, out = shown("a.npz", "b.npz")
    rows = found["comparison"]["differences"]
    assert list(rows) == list(BOOTSTRAPPED)
    assert "Where one holds 0, either may be better." in " ".join(out.split())
    for name, row in rows.items():
        sides = found["comparison"]["numbers"][name]
        assert row["estimate"] == pytest.approx(sides["first"] - sides["second"])
        assert row["low"] <= row["estimate"] <= row["high"]
        assert in_the_text(out, name, row)
    # The models err alike: the difference is known better than either score.
    gaps = 2 * ((labels - p) ** 2 - (labels - other) ** 2)
    weight = weights.get("sample_weight", np.ones(800))
    mean = np.average(gaps, weights=weight)
    error = np.linalg.norm(weight * (gaps - mean)) / weight.sum()
    row = rows["brier_score_zero_based"]
    assert row["low"] == pytest.approx(mean - 1.96 * error, abs=0.4 * error)
    assert row["high"] == pytest.approx(mean + 1.96 * error, abs=0.4 * error)
    alone = found["intervals"]["metrics"]["brier_score_zero_based"]
    assert row["high"] - row["low"] < 0.8 * (alone["high"] - alone["low"])


def test_there_are_no_differences_of_other_examples():
    np.savez("a.npz", **calibrated(50, 0.5, 1))
    np.savez("b.npz", **calibrated(60, 0.5, 1))
    found, out = shown("a.npz", "b.npz")
    assert found["comparison"]["differences"] == {}
    assert "first - second" not in out


def test_calibrated_models_are_not_ranked_by_noise():
    # The posteriors are far apart, as the noise is less where the accuracy is high.
    np.savez("a.npz", **calibrated(5000, 0.95, 1.0, seed=0))
    np.savez("b.npz", **calibrated(500, 0.5, 0.8, seed=1))
    section = built("a.npz", "b.npz")["comparison"]
    assert section["probability_of_lower_calibration_error"]["first"] > 0.99
    assert section["verdict"].startswith("The data cannot tell")
    assert "the posterior of the first is lower" in section["verdict"]
    assert "error as that of the second" in section["verdict"]


def test_few_examples_are_said_where_they_lose():
    np.savez("a.npz", **calibrated(5000, 0.6, 1.0))
    np.savez("b.npz", **calibrated(500, 0.6, 1.0, gap=0.3))
    verdict = built("b.npz", "a.npz")["comparison"]["verdict"]
    assert verdict.startswith("The second model has the lower calibration error")
    assert verdict.endswith("few examples make an ECE larger.")


def test_better_calibrated_is_not_better():
    # The frequency of the classes against a sharp, overconfident model.
    labels = np.repeat([0, 1], 500)
    right = np.arange(1000) % 10 > 0
    sharp = np.where(labels == right, 0.999, 0.001)
    np.savez("a.npz", labels=labels, probabilities=np.full(1000, 0.5))
    np.savez("b.npz", labels=labels, probabilities=sharp)
    section = built("a.npz", "b.npz")["comparison"]
    assert section["verdict"].startswith("The first model has the lower")
    assert section["quality"] == (
        "A lower calibration error does not make a better model: on these examples "
        "Brier score and negative log-likelihood are lower for the second."
    )
    # Nor need the two scores agree: one sure mistake makes the latter infinite.
    sharp[0] = 1.0
    np.savez("b.npz", labels=labels, probabilities=sharp)
    section = built("a.npz", "b.npz")["comparison"]
    assert section["quality"].endswith(
        "the Brier score is lower for the second, the negative log-likelihood lower "
        "for the first."
    )


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({}, "The same examples"),
        ({"sample_weight": np.ones(60)}, "The same examples"),
        ({"sample_weight": np.arange(60.0)}, "The same labels in the same order, but"),
        ({"labels": 2 - examples()[0]}, "As many examples, but"),
        (dict(zip(("labels", "probabilities"), examples(40, 5), strict=True)), "Other"),
    ],
)
def test_compare_says_which_examples(change, start, capsys):
    arrays = dict(zip(("labels", "probabilities"), examples(), strict=True))
    np.savez("a.npz", **arrays)
    np.savez("b.npz", **{**arrays, **change})
    assert main(["report", "a.npz", "--compare", "b.npz"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    section = numbers()["comparison"]
    assert section["examples"].startswith(start)
    assert section["examples"] in out
    assert section["same_examples"] == (start == "The same examples")
    swapped = built("b.npz", "a.npz")["comparison"]
    assert swapped["same_examples"] == section["same_examples"]
    if not section["same_examples"]:
        assert "on the same examples" in section["quality"]
    weighted = "sample_weight" in change
    assert ("Note on the second: The posterior" in out) == weighted
    assert section["numbers"]["classes"]["second"] == (5 if start == "Other" else 3)


def test_other_labels_are_counted():
    labels, probabilities = examples()
    np.savez("a.npz", labels=labels, probabilities=probabilities)
    labels = labels.astype(float)
    labels[[3, 5]] = (labels[[3, 5]] + 1) % 3
    np.savez("b.npz", labels=labels, probabilities=probabilities)
    said = built("a.npz", "b.npz")["comparison"]["examples"]
    assert said.startswith("As many examples, but 2 of the 60 labels differ")


def test_compare_with_the_shipped_predictions(capsys):
    write_csv("p.csv", ["label", "probability"], [[0, 0.25], [1, 0.75]])
    assert main(["report", "--compare", "p.csv"]) == 0
    out = capsys.readouterr().out
    assert "  first   digits_predictions.npz (shipped with the package)\n" in out
    assert "  second  p.csv\n" in out
    assert numbers()["comparison"]["examples"] == "Other examples: 1677 and 2 of them."


def test_posteriors_are_a_picture_of_the_data():
    np.savez("a.npz", **calibrated(500, 0.5, 1, gap=0.1))
    np.savez("b.npz", **calibrated(500, 0.5, 1, gap=0.3))
    assert main(["report", "a.npz", "--out", "one"]) == 0
    assert main(["report", "a.npz", "--compare", "b.npz", "--out", "two"]) == 0
    blue, red = [0x44, 0x77, 0xAA], [0xCC, 0x33, 0x11]
    for directory, colors in (("one", [blue]), ("two", [blue, red])):
        path = pathlib.Path(directory) / "posteriors.png"
        picture = matplotlib.image.imread(path)[..., :3]
        assert min(picture.shape[:2]) > 400
        for color in (blue, red):
            there = np.abs(picture - np.array(color) / 255).max(-1) < 0.02
            assert (there.sum() > 500) == (color in colors)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a.npz", "b.npz", ["a.npz", "b.npz"]),
        ("x/a.npz", "y/a.npz", ["first", "second"]),
        ("x/a.npz", "x/a.npz", ["first", "second"]),
        (f"{50 * 'a'}.npz", "b.npz", [f"{12 * 'a'}...{11 * 'a'}.npz", "b.npz"]),
    ],
)
def test_names_of_the_posteriors(first, second, expected):
    data = calibrated(50, 0.5, 1)
    models = [
        report.Predictions(name, data["labels"], "probabilities", data["probabilities"])
        for name in (first, second)
    ]
    figures = report.draw(models[0], 15, models[1])
    for picture in ("posteriors.png", "risk_coverage_diagram.png"):
        texts = figures[picture].axes[0].get_legend().get_texts()
        assert [text.get_text().partition(":")[0] for text in texts[:2]] == expected


@pytest.mark.parametrize("name", ["$x_1$.npz", "日本.npz", "a b.npz", "%s{0}.npz"])
def test_names_of_files(name, capsys, recwarn):
    np.savez(name, **calibrated(50, 0.5, 1))
    assert main(["report", name, "--compare", name]) == 0
    assert f"  second  {name}\n" in capsys.readouterr().out
    assert numbers()["source"] == name
    assert main(["report", name, "--out", "alone"]) == 0
    assert [str(warning.message) for warning in recwarn] == []


def test_two_runs_are_equal(capsys):
    np.savez("p.npz", **calibrated(100, 0.5, 1))
    texts, files = [], []
    for _ in range(2):
        assert main(["report", "--compare", "p.npz"]) == 0
        texts.append(capsys.readouterr().out)
        directory = pathlib.Path(report.DEFAULT_DIRECTORY)
        files.append({path.name: path.read_bytes() for path in directory.iterdir()})
    assert texts[0] == texts[1]
    assert files[0] == files[1]
    assert set(files[0]) == set(WRITTEN)


def test_pyplot_and_the_global_seed_are_left_alone():
    from matplotlib import pyplot

    pyplot.close("all")
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert main(["report", "--compare", good_file()]) == 0
    assert pyplot.get_fignums() == []
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def good_file():
    np.savez("good.npz", **good())
    return "good.npz"


def test_process_of_its_own_is_quiet_and_imports_no_tensorflow(tmp_path):
    code = (
        "import sys\n"
        "from uncertainty_metrics.__main__ import main\n"
        "code = main(['report'])\n"
        "loaded = {'tensorflow', 'keras', 'matplotlib.pyplot'} & set(sys.modules)\n"
        "sys.exit(code or sorted(loaded) or 0)\n"
    )
    root = pathlib.Path(package.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for arguments in (["-c", code], ["-m", "uncertainty_metrics", "report"]):
        run = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        # The first use of matplotlib on a machine may speak of its fonts.
        said = [row for row in run.stderr.splitlines() if "atplotlib" not in row]
        assert (run.returncode, said) == (0, [])
        assert "  ece " in run.stdout
    missing = subprocess.run(
        [sys.executable, "-m", "uncertainty_metrics", "report", "missing.npz"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert missing.returncode == 2
    assert missing.stderr == "error: missing.npz: No such file or directory\n"


def test_help_documents_the_formats(capsys):
    assert main(["report", "--help"]) == 0
    text = capsys.readouterr().out
    for word in (
        "labels",
        "probabilities",
        "logits",
        "sample_weight",
        "p0, p1",
        "--out",
        "--compare OTHER_FILE",
        "[N, M, K]",
        ".parquet",
        "variance or stddev",
        *WRITTEN,
    ):
        assert word in text
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{package.__version__}\n"


# What it refuses.


def good():
    labels, probabilities = examples()
    return {"labels": labels, "probabilities": probabilities}


def changed(name, index, value):
    arrays = {key: array.astype(float) for key, array in good().items()}
    arrays[name][index] = value
    return arrays


BAD_NPZ = {
    "no labels": ({"probabilities": np.ones([2, 2])}, "array `labels` is missing"),
    "no predictions": ({"labels": np.zeros(2)}, "Received: none of them"),
    "two predictions": ({**good(), "logits": np.ones(60)}, "probabilities, logits"),
    "lengths": ({**good(), "labels": np.zeros(59)}, "of shape"),
    "rank": ({"labels": np.zeros(4), "logits": np.zeros([4, 3, 2, 2])}, "[4, M, K]"),
    "NaN": (changed("probabilities", (3, 1), np.nan), "Received: nan at [3, 1]"),
    "NaN label": (changed("labels", 3, np.nan), "Received: nan at [3]"),
    "above 1": (changed("probabilities", (3, 1), 1.5), "in [0, 1]"),
    "label too large": (changed("labels", 5, 3), "integers in [0, 3)"),
    "label too small": (changed("labels", 5, -1), "integers in [0, 3)"),
    "label a fraction": (changed("labels", 5, 0.5), "integers in [0, 3)"),
    "text": ({**good(), "labels": np.array(["a"] * 60)}, "must be numbers"),
    "no examples": ({"labels": np.ones(0), "logits": np.ones([0, 2])}, "at least one"),
    "weights": ({**good(), "sample_weight": -np.ones(60)}, "finite and >= 0"),
    "no weight": ({**good(), "sample_weight": np.zeros(60)}, "positive weight"),
    "sum of weights": (
        {**good(), "sample_weight": np.full(60, 1e308)},
        "must be of a sum up to 1e+300",
    ),
    "weights' shape": ({**good(), "sample_weight": np.ones(3)}, "broadcastable"),
    "swapped": (
        dict(zip(["probs", "labels"], good().values(), strict=True)),
        "swapped",
    ),
    "objects": ({**good(), "labels": np.array([0, None] * 30)}, "pickled objects"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz(case, capsys):
    arrays, message = BAD_NPZ[case]
    np.savez("p.npz", **arrays)
    line = fails(capsys, "p.npz")
    assert line.startswith("error: p.npz: ")
    assert message in line


def ensemble_changed(index, value, kind="probabilities"):
    labels, p = members()
    values_of_kind = p if kind == "probabilities" else np.log(p)
    values_of_kind[index] = value
    return {"labels": labels, kind: values_of_kind}


BAD_ENSEMBLES = {
    "other N": (
        {"labels": np.zeros(119), "probs": members()[1]},
        "`probabilities` must be of shape [119, M, K] for M members, with `labels` of "
        "shape [119]. Received: shape [120, 4, 3]\n",
    ),
    "members first": (
        {"labels": members()[0], "logits": np.moveaxis(np.log(members()[1]), 1, 0)},
        "Received: shape [4, 120, 3]; np.moveaxis(logits, 0, 1) puts the members "
        "second\n",
    ),
    "members last": (
        {"labels": members()[0], "probs": np.moveaxis(members()[1], 1, 2)},
        "must be [N, M, K], with the classes on the last axis. Received: shape "
        "[120, 3, 4], which sums to 1 over axis 1",
    ),
    "swapped": (
        {"labels": members()[1], "probs": members()[0].astype(float)},
        "seem to be swapped: `labels` come first",
    ),
    "rank": (
        {"labels": np.zeros([5, 2]), "probs": np.full([5, 3, 3, 2], 0.5)},
        "must be of shape [5, M, 2, K] for M members",
    ),
    "scalar": ({"labels": 2, "probs": members()[1][0]}, "of shape [..., K]"),
    "no members": ({"labels": np.zeros(4), "probs": np.zeros([4, 0, 3])}, "[4, 0, 3]"),
    "no examples": ({"labels": np.zeros(0), "probs": np.zeros([0, 2, 3])}, "at least"),
    "a member above 1": (
        ensemble_changed((3, 1, 2), 1.5),
        "Received: 1.5 at [3, 1, 2]",
    ),
    "NaN": (ensemble_changed((3, 1, 2), np.nan), "Received: nan at [3, 1, 2]"),
    "NaN logit": (ensemble_changed((3, 1, 2), np.nan, "logits"), "nan at [3, 1]"),
    "label": (
        {"labels": np.full(120, 3), "probs": members()[1]},
        "`labels` must be integers in [0, 3)",
    ),
    "text": (
        {"labels": members()[0], "probs": members()[1].astype(str)},
        "must hold numbers",
    ),
    "weights": (
        {"labels": members()[0], "probs": members()[1], "sample_weight": -np.ones(120)},
        "finite and >= 0",
    ),
    "sum of weights": (
        {
            "labels": members()[0],
            "probs": members()[1],
            "sample_weight": np.full(120, 1e308),
        },
        "must be of a sum up to 1e+300",
    ),
}


@pytest.mark.parametrize("case", BAD_ENSEMBLES)
def test_bad_ensembles(case, capsys, recwarn):
    arrays, message = BAD_ENSEMBLES[case]
    np.savez("p.npz", **arrays)
    line = fails(capsys, "p.npz")
    assert line.startswith("error: p.npz: ")
    assert message in line
    assert [str(warning.message) for warning in recwarn] == []


BAD_CSV = {
    "empty": ("", "a header line and an example"),
    "no examples": ("label,p0,p1\n", "a header line and an example"),
    "no label": ("p0,p1\n1,0\n", "`label` or `labels` must be there. Received: p0, p1"),
    "two labels": ("label,labels,p0,p1\n1,1,0,1\n", "Received: label, labels"),
    "no predictions": ("label,q\n1,0\n", "Received: label, q"),
    "both kinds": ("label,probability,logit\n1,0,0\n", "probabilities and logits"),
    "a class missing": ("label,p0,p2\n0,1,0\n", "one per class from 0"),
    "one class": ("label,p0\n0,1\n", "one per class from 0"),
    "class 1 twice": ("label,p0,p1,probability_1\n0,1,0,0\n", "are the same column"),
    "alone and by class": ("label,p0,p1,probability\n0,1,0,0\n", "one per class"),
    "a column twice": ("label,p0,p1,p1\n0,1,0,0\n", "`p1` is there twice"),
    "ragged": ("label,p0,p1\n0,1,0\n1,1\n", "line 3 must have 3 fields, as the header"),
    "text": ("label,p0,p1\n0,1,0\n1,x,0\n", "line 3, column `p0` must be a number"),
    "empty field": ("label,p0,p1\n0,,0\n", "line 2, column `p0` must be a number"),
    "NaN": ("label,p0,p1\n0,nan,0\n", "Received: nan at [0, 0]"),
    "label too large": ("label,p0,p1\n2,1,0\n", "integers in [0, 2)"),
    "label a fraction": ("label,p0,p1\n0.5,0.3,0.7\n", "integers in [0, 2)"),
    "weights": ("label,probability,sample_weight\n1,0.5,-1\n", "finite and >= 0"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv(case, capsys):
    text, message = BAD_CSV[case]
    pathlib.Path("p.csv").write_text(text)
    line = fails(capsys, "p.csv")
    assert line.startswith("error: p.csv: ")
    assert message in line


# Parquet.


def write_parquet(name, columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), name)
    return name


@pytest.mark.parametrize("kind", ["classes", "one column", "regression"])
def test_parquet_equals_csv(kind):
    labels, probabilities = examples(classes=2, n=30)
    columns = {"labels": labels, "sample_weight": np.arange(30, dtype=np.float32)}
    if kind == "classes":
        logits = np.log(probabilities)
        columns |= {"logit_1": logits[:, 1], "logit_0": logits[:, 0]}
    elif kind == "one column":
        columns |= {"probability": probabilities[:, 1], "name": ["a"] * 30}
    else:
        del columns["labels"]
        columns |= {"target": labels, "mean": probabilities[:, 1]}
        columns["variance"] = probabilities[:, 0]
    write_parquet("p.parquet", columns)
    write_csv("p.csv", columns, zip(*columns.values(), strict=True))
    of_parquet, of_csv = built("p.parquet"), built("p.csv")
    assert of_parquet.pop("source") == "p.parquet"
    assert of_csv.pop("source") == "p.csv"
    assert of_parquet == of_csv


def test_parquet_has_numbers_of_any_type():
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "label": pyarrow.array([1, 0, 1], pyarrow.uint8()).dictionary_encode(),
        "probability": pyarrow.array([0.9, 0.2, 0.6], pyarrow.float32()),
    }
    found = report.read_predictions(write_parquet("p.parquet", columns))
    assert found.labels.tolist() == [1.0, 0.0, 1.0]
    assert found.values.dtype == np.float64
    assert found.values.tolist() == [float(np.float32(p)) for p in (0.9, 0.2, 0.6)]


BAD_PARQUET = {
    "no label": ({"p0": [0.5], "p1": [0.5]}, "`label` or `labels` must be there"),
    "text": ({"label": ["x"], "probability": [0.5]}, "`label` must hold numbers"),
    "lists": ({"label": [1], "p0": [[1.0]], "p1": [[0.0]]}, "`p0` must hold numbers"),
    "missing": ({"label": [1, 0], "probability": [None, 0.5]}, "Received: nan at [0"),
    "empty": (
        {"label": np.zeros(0), "probability": np.zeros(0)},
        "at least one example must be there",
    ),
    "no spread": ({"mean": [1.0], "target": [1.0]}, "one of `variance` and `stddev`"),
}


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_bad_parquet(case, capsys):
    columns, message = BAD_PARQUET[case]
    line = fails(capsys, write_parquet("p.parquet", columns))
    assert line.startswith("error: p.parquet: ")
    assert message in line


def test_corrupt_parquet(capsys):
    labels, probabilities = examples(classes=2)
    columns = {"label": labels, "probability": probabilities[:, 1]}
    file = pathlib.Path(write_parquet("p.parquet", columns))
    data = file.read_bytes()
    middle = data[:4] + b"\xff" * (len(data) // 2) + data[4 + len(data) // 2 :]
    for content in (b"", b"text", data[: len(data) // 2], data[:-9], middle):
        file.write_bytes(content)
        assert fails(capsys, "p.parquet").startswith("error: p.parquet: ")
    pathlib.Path("folder.parquet").mkdir()
    assert "Is a directory" in fails(capsys, "folder.parquet")
    assert "No such file" in fails(capsys, "no.parquet")


def test_without_pyarrow(capsys, monkeypatch):
    pathlib.Path("p.parquet").write_bytes(b"PAR1")
    for module in [m for m in sys.modules if m.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = fails(capsys, "p.parquet")
    assert line.startswith("error: p.parquet: This needs pyarrow")
    assert "`parquet`" in line


class _Trap:
    """Leaves a trace if it is unpickled."""

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("unpickled"),)


def test_pickles_are_never_loaded(capsys):
    pathlib.Path("p.npz").write_bytes(pickle.dumps(_Trap()))
    assert "pickles are never loaded" in fails(capsys, "p.npz")
    labels = np.empty(2, dtype=object)
    labels[:] = [_Trap(), _Trap()]
    np.savez("p.npz", labels=labels, probabilities=[0.2, 0.7])
    assert "pickled objects" in fails(capsys, "p.npz")
    assert not pathlib.Path("unpickled").exists()


def test_corrupt_files(capsys):
    np.savez("good.npz", **good())
    data = pathlib.Path("good.npz").read_bytes()
    file = pathlib.Path("p.npz")
    for content in (b"", b"PK\x03\x04", b"text", data[: len(data) // 2]):
        file.write_bytes(content)
        assert "p.npz: not an .npz archive" in fails(capsys, "p.npz")
    start = data.index(b"NUMPY") + 200
    file.write_bytes(data[:start] + b"\xff" * 64 + data[start + 64 :])
    assert "it is damaged" in fails(capsys, "p.npz")
    np.save("array.npy", np.ones(3))
    pathlib.Path("array.npy").rename(file)
    assert "p.npz: not an .npz archive" in fails(capsys, "p.npz")
    pathlib.Path("p.csv").write_bytes(b"label,p0,p1\n0,\xff\xfe,1\n")
    assert "not a CSV file in UTF-8" in fails(capsys, "p.csv")


def test_bad_paths(capsys):
    assert fails(capsys, "no.npz") == "error: no.npz: No such file or directory\n"
    assert "must end in .npz, .csv or .parquet. Received: '.pkl'" in fails(
        capsys, "no.pkl"
    )
    pathlib.Path("folder.csv").mkdir()
    assert "folder.csv: Is a directory" in fails(capsys, "folder.csv")
    pathlib.Path("taken").write_text("")
    assert "error: taken: cannot write there" in fails(capsys, "--out", "taken")
    assert "taken/below: cannot write" in fails(capsys, "--out", "taken/below")


@pytest.mark.parametrize(
    "arguments",
    [["--num-bins", "0"], ["--num-bins", "x"], ["--num-bins", "999999999"], ["--what"]],
)
def test_bad_arguments(arguments, capsys):
    assert "--help" in fails(capsys, *arguments)


def test_errors_name_the_second_file(capsys):
    good_file()
    assert fails(capsys, "--compare", "no.npz") == (
        "error: no.npz: No such file or directory\n"
    )
    assert "must end in .npz, .csv or" in fails(capsys, "good.npz", "--compare", "b.x")
    for case in ("lengths", "NaN", "no labels", "label too large", "weights"):
        arrays, message = BAD_NPZ[case]
        np.savez("bad.npz", **arrays)
        line = fails(capsys, "good.npz", "--compare", "bad.npz")
        assert line.startswith("error: bad.npz: ")
        assert message in line
        assert fails(capsys, "bad.npz", "--compare", "good.npz") == line
    assert "expected one argument" in fails(capsys, "good.npz", "--compare")
    assert "cannot write there" in fails(
        capsys, "--compare", "good.npz", "--out", "good.npz"
    )


def test_nothing_is_written_if_a_picture_fails(capsys, monkeypatch):
    def no_memory(*args, **kwargs):
        raise MemoryError("no memory")

    figure = pytest.importorskip("matplotlib.figure").Figure
    monkeypatch.setattr(figure, "savefig", no_memory)
    assert "no memory" in fails(capsys)


def test_no_command(capsys):
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_without_matplotlib(capsys, monkeypatch):
    for module in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    line = fails(capsys)
    assert "This needs matplotlib" in line
    assert "pip install" in line
