"""The command `python -m uncertainty_metrics report`: the sections of a classifier."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics as package
import uncertainty_metrics.numpy as um
from tests.report.reports import (
    approximately,
    built,
    calibrated,
    cells_of,
    each_kind,
    examples,
    forecasts,
    lines_of,
    members,
    numbers,
    of_kind,
    read,
    run,
    shown,
    sure,
    values,
    weighted_or_not,
    without,
    without_progress,
    words,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics.__main__ import main
from uncertainty_metrics._calibration_spec import CalibrationSpec, grid
from uncertainty_metrics._report.sections import (
    _bootstrap_intervals,
    _mean_gap,
    _posterior,
    _selective_prediction,
)
from uncertainty_metrics._report.sections._comparison import DRIFT
from uncertainty_metrics._report.sections._ensemble import ENSEMBLE
from uncertainty_metrics._report.sections._groups import GROUPS
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics._report.sections._model_report import ModelReport
from uncertainty_metrics._report.sections._risk import DECISIONS, RISK_CURVE
from uncertainty_metrics._report.sections._several_models import MODELS
from uncertainty_metrics.numpy import _examples, resampling
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _bins_of_all_errors,
    _scores,
)

pytestmark = pytest.mark.usefixtures("own_directory")

# The files of the shipped predictions: they have no groups, are of no ensemble and no
# risks, and are not compared with other examples.
PICTURES = tuple(
    picture.file
    for picture in pictures_of("classification")
    if picture
    not in (
        *(ENSEMBLE, GROUPS, DRIFT, MODELS),
        *(RISK_CURVE, DECISIONS),
    )
)
WRITTEN = ("report.html", *PICTURES, "report.json")
METRICS = ("ece", "mce", "rmsce", "sce", "ace", "tace")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Returns the text and the directory of the report of the shipped predictions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("shipped"))
        return run(), pathlib.Path(report.DEFAULT_DIRECTORY).resolve()


def files_of(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


# The files that it writes.


def test_shipped_predictions(shipped):
    out, directory = shipped
    tables = out.partition("95% intervals")[0]
    path = pathlib.Path(package.__file__).parent / "data" / "digits_predictions.npz"
    with np.load(path, allow_pickle=False) as file:
        labels, logits = file["labels"], file["logits"]
    assert path.stat().st_size < 100_000
    assert len(labels) >= 900

    found = numbers(directory)
    assert found["version"] == package.__version__
    assert found["data"]["examples"] == len(labels)
    assert found["data"]["classes"] == 10
    section = found["calibration"]
    accuracy = np.mean(logits.argmax(axis=-1) == labels)
    assert section["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    points = set()
    for name in METRICS:
        value = getattr(um, name)(labels, logits=logits)
        assert section["metrics"][name]["value"] == value
        (line,) = lines_of(tables, name, f"{value:.4f}")
        assert section["metrics"][name]["meaning"] in line
        points.add(line.index("."))
    assert len(points) == 1  # The table is aligned.
    # A modest, overconfident model, and the report says so.
    assert 0.8 < accuracy < 0.95
    assert section["metrics"]["ece"]["value"] > 0.03
    assert section["verdict"].startswith("Overconfident on average")
    assert "Overconfident on average" in out
    written = [pathlib.Path(line.split()[1]).name for line in lines_of(out, "Wrote")]
    assert tuple(written) == WRITTEN
    assert set(files_of(directory)) == set(WRITTEN)


def test_json_and_pictures_hold_the_data(shipped, drawn_alone):
    drawn_alone("reliability_diagram.png")
    arrays = examples()
    np.savez("p.npz", **arrays)
    run("p.npz", "--out", "there/below", "--num-bins", "7")
    found = numbers("there/below")
    assert found["options"] == {
        "num_bins": 7,
        "num_ece_samples": 5000,
        "seed": 0,
        "risk": 0.05,
        "coverage": 0.8,
        "oracle_fraction": 0.1,
        "delta": 0.05,
    }
    assert found["source"] == "p.npz"
    grid = um.compute_all_metrics(**arrays, num_bins=7)
    of_all = found["calibration"]["all_metrics"]
    assert list(of_all.values()) == list(grid.values())
    assert len(of_all) == 24
    key = "adaptive, all classes, by class, l1"
    assert of_all[key] == grid["adaptive", False, True, "l1"]
    statistics = um.bin_statistics(**arrays, num_bins=7)
    diagram = found["calibration"]["diagram"]
    assert diagram["counts"] == statistics.counts[0].tolist()
    shown_accuracies = [value or 0.0 for value in diagram["accuracies"]]
    assert shown_accuracies == statistics.accuracies[0].tolist()
    assert diagram["accuracies"][0] is None  # None is below 1/3.

    pictures = []
    for directory in (shipped[1], pathlib.Path("there/below")):
        path = directory / "reliability_diagram.png"
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        pictures.append(matplotlib.image.imread(path)[..., :3])
    assert min(pictures[0].shape[:2]) > 400
    assert len(np.unique(pictures[0])) > 50
    grey = np.abs(pictures[0] - 0.9).max(-1) < 0.02
    assert 0.01 < grey.mean() < 0.6  # The band.
    assert np.mean(pictures[0] != pictures[1]) > 0.01


@pytest.mark.parametrize(
    ("correct", "n", "confidence", "start"),
    [
        # With 100 examples 2 standard errors are about 0.1.
        (50, 100, 0.9, "Too high on average, by 40.0 percentage points"),
        (90, 100, 0.6, "Too low on average, by 30.0 percentage points"),
        (80, 100, 0.85, "Neither clearly too high nor too low"),
        (3, 3, 0.7, "Neither clearly"),
    ],
)
def test_verdict(correct, n, confidence, start):
    labels = np.repeat([1, 0], [correct, n - correct])
    arrays = {"labels": labels, "probabilities": np.full(n, confidence)}
    assert built(arrays)["calibration"]["verdict"].startswith(start)
    # Large weights are not more examples.
    arrays["sample_weight"] = np.full(n, 1e6)
    assert built(arrays)["calibration"]["verdict"].startswith(start)


# The sections of the metrics.

BOOTSTRAPPED = {
    "accuracy": (um.accuracy, {}),
    "brier_score": (um.brier_score, {"zero_based": True}),
    "negative_log_likelihood": (um.negative_log_likelihood, {}),
}


def by_wilson(share, size, z=1.959963984540054):
    """Returns the roots of (share - p)^2 = z^2 p (1 - p) / size, and the share."""
    middle = share + z**2 / (2 * size)
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    low, high = ((middle + sign * half) / (1 + z**2 / size) for sign in (-1, 1))
    return low, share, high


SELECTIVE = {
    "aurc": {},
    "excess_aurc": {},
    "augrc": {},
    "coverage_at_risk": {"risk": 0.05},
    "risk_at_coverage": {"coverage": 0.8},
    "oracle_collaborative_accuracy": {"fraction": 0.1},
}


@weighted_or_not
@each_kind
def test_sections_have_the_numbers_of_the_library(kind, weighted):
    whole = examples(classes=2 if kind == "binary" else 4, n=250, seed=1)
    weights = {"sample_weight": np.arange(250) % 4} if weighted else {}
    arrays = {**of_kind(whole, kind), **weights}
    found, out = shown(arrays, num_bins=9)
    text = words(out)

    scores, parts = found["scoring_rules"], um.brier_decomposition_exact(**arrays)
    share = 0.5 if kind == "binary" else 1.0  # (y - p)^2 of two classes.
    brier = share * (um.brier_score(**arrays) + 1)
    expected = {
        "brier_score": brier,
        "negative_log_likelihood": um.negative_log_likelihood(**arrays),
    }
    assert values(scores["metrics"]) == pytest.approx(expected, rel=1e-12)
    parts = {name: share * part for name, part in parts._asdict().items()}
    parts["uncertainty"] += share
    assert values(scores["brier_parts"]) == pytest.approx(parts, rel=1e-12)
    signs = [row["sign"] for row in scores["brier_parts"].values()]
    assert "".join(signs) == "+-++-"
    assert scores["sum_of_brier_parts"] == pytest.approx(brier, rel=1e-12)
    assert scores["impossible_labels"] == 0
    for name, row in scores["brier_parts"].items():
        (line,) = lines_of(out, row["sign"], name, f"{row['value']:.4f}")
        assert row["meaning"] in line
    assert lines_of(out, "=", "brier_score", f"{brier:.4f}")

    section = found["selective_prediction"]
    expected = {
        name: getattr(um, name)(**arrays, **options)
        for name, options in SELECTIVE.items()
    }
    labels, p = whole.values()
    expected["auroc"] = um.auroc(p.argmax(-1) == labels, p.max(-1), **weights)
    assert values(section["metrics"]) == pytest.approx(expected, rel=1e-12)
    for metrics in (scores["metrics"], section["metrics"]):
        for name, row in metrics.items():
            (line,) = (line for line in out.splitlines() if row["meaning"] in line)
            assert line.split()[:2] == [name, f"{row['value']:.4f}"]
            assert len(line) <= 88
    curve, points = um.risk_coverage_curve(**arrays), section["curve"]
    chosen = np.searchsorted(curve.coverages, points["coverages"])
    assert 50 <= len(chosen) <= 100
    for name, column in points.items():
        assert column == getattr(curve, name)[chosen].tolist()
    assert points["coverages"][-1] == 1.0
    # The curve tells the risk at every percent of coverage.
    first = next(i for i, c in enumerate(points["coverages"]) if c > 0.3 - 1e-9)
    assert points["risks"][first] == um.risk_at_coverage(**arrays, coverage=0.3)

    section = found["intervals"]
    assert (section["level"], section["num_resamples"]) == (0.95, 1000)
    assert sorted(section["metrics"]) == sorted(["calibration_error", *BOOTSTRAPPED])
    # Of weights only their ratios count.
    light = {name: weight / 3 for name, weight in weights.items()}
    of_event = {"positive_class": kind == "binary"}
    ends = um.calibration_error_interval(**{**arrays, **light}, **of_event, num_bins=9)
    found_ends = section["metrics"]["calibration_error"]
    assert found_ends == approximately(
        dict(zip(("low", "estimate", "high"), ends, strict=True))
    )
    kept = weights.get("sample_weight", np.ones(250)) > 0  # Only these are drawn.
    drawn = {name: array[kept] for name, array in arrays.items()}
    for name, (metric, options) in BOOTSTRAPPED.items():
        interval = resampling.bootstrap(metric, **drawn, **options, level=0.95, seed=0)
        if name == "accuracy":
            given = drawn.get("sample_weight", np.ones(len(drawn["labels"])))
            size = given.sum() ** 2 / (given**2).sum()
            interval = by_wilson(interval[1], size)
        row = section["metrics"][name]
        low, estimate, high = (
            (share if name == "brier_score" else 1.0) * end for end in interval
        )
        assert row == approximately({"low": low, "estimate": estimate, "high": high})
        assert lines_of(out, name, *cells_of(row))

    options, data = found["options"], dict(arrays)
    data["labels_true"] = data.pop("labels")
    if kind == "binary":  # P(class 1) and label 1, not the decisions.
        data["correct"] = data.pop("labels_true")
        data["confidences"] = data.pop("probabilities")
    draws = um.bayesian_expected_calibration_error(
        9,
        **data,
        num_ece_samples=options["num_ece_samples"],
        seed=options["seed"],
    )
    low, median, high = np.quantile(draws, [0.025, 0.5, 0.975])
    section = found["bayesian_ece"]
    assert section["mean"] == pytest.approx(np.mean(draws), rel=1e-12)
    assert section["median"] == pytest.approx(median, rel=1e-12)
    expected = {"level": 0.95, "low": low, "high": high}
    assert section["interval"] == pytest.approx(expected, rel=1e-9)
    between = f"lies between {low:.4f} and {high:.4f} with 95% probability"
    assert between in section["verdict"]
    weight = "takes a weight w as w examples, here 373 in all"
    assert (weight in text) == (weight in "".join(found["notes"])) == weighted
    for name in ("intervals", "selective_prediction", "bayesian_ece"):
        assert found[name]["verdict"] in text


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_infinite_nll_is_noted_and_valid_in_json(kind):
    p = np.array([[1, 0], [1, 0], [0.5, 0.5], [0, 1], [1, 0]])
    with np.errstate(divide="ignore"):
        arrays = of_kind({"labels": [0, 1, 1, 0, 1], "probabilities": p}, kind)
    # The last label is impossible too, but has weight 0.
    arrays["sample_weight"] = [1, 1, 1, 1, 0]
    found, out = shown(arrays, arrays)
    section = found["scoring_rules"]
    row = section["metrics"]["negative_log_likelihood"]
    assert (row["value"], float(row["value"])) == ("inf", np.inf)
    assert row["meaning"] == "2 of 5 labels had probability 0."
    assert section["impossible_labels"] == 2
    (line,) = (row for row in out.splitlines() if row.endswith("had probability 0."))
    assert line.split()[:5] == ["negative_log_likelihood", "inf", "2", "of", "5"]
    side_by_side = found["comparison"]["numbers"]["negative_log_likelihood"]
    assert side_by_side == {"first": "inf", "second": "inf"}


# The posterior of the ECE.


def test_equal_weights_count_as_so_many_examples():
    data = calibrated(50, 0.6, 1, gap=0.2)
    a = built({name: np.repeat(array, 3) for name, array in data.items()})
    b = built({**data, "sample_weight": np.full(50, 3.0)})
    a, b = a["bayesian_ece"], b["bayesian_ece"]
    assert a["interval"] == pytest.approx(b["interval"], rel=1e-9)
    # But equal weights are no more evidence of miscalibration.
    assert b["ece_by_chance"] > 1.5 * a["ece_by_chance"]


@weighted_or_not
def test_ece_by_chance(weighted):
    # The level is two standard deviations above the mean ECE of calibrated models.
    rng = np.random.default_rng(1)
    p = rng.uniform(0.5, 1, 400)
    weight = rng.exponential(size=400) if weighted else None
    eces = [
        um.ece(rng.random(400) < p, p, num_bins=15, sample_weight=weight)
        for _ in range(1000)
    ]
    here = report.Predictions("", np.ones(400), "probabilities", p, weight)
    level = report.build(here).to_dict()["bayesian_ece"]["ece_by_chance"]
    assert level == pytest.approx(np.mean(eces) + 2 * np.std(eces), rel=0.05)


def test_deviations_by_chance_are_no_miscalibration():
    fine = built(calibrated(1000, 0.5, 1))
    off = built(calibrated(1000, 0.5, 1, gap=0.2))
    assert fine["bayesian_ece"]["interval"]["low"] > 0
    assert "this model may be calibrated" in fine["bayesian_ece"]["verdict"]
    assert "this model shows more than chance" in off["bayesian_ece"]["verdict"]
    ends = [of["intervals"]["metrics"]["calibration_error"] for of in (fine, off)]
    assert ends[0]["low"] == 0 < ends[0]["high"]
    assert 0.1 < ends[1]["low"] < 0.2 < ends[1]["high"] < 0.3
    # Rounding of a perfect score is not more than chance.
    perfect = built({"labels": [1] * 7, "probabilities": [1.0] * 7})["bayesian_ece"]
    assert perfect["ece_by_chance"] == 0.0
    assert "this model may be calibrated" in perfect["verdict"]


CHANCE = re.compile(
    r"the ECE of the data is ([\d.]+)\. .* up to about ([\d.]+) .*; "
    r"p ([=<≤] [\d.]+) for this value: this model (may be|is borderline|shows more)"
)


def test_verdicts_on_chance_agree_with_their_numbers():
    # Of 160,000 decisions in one bin, with confidence 0.75, the fifth decimal decides.
    n = 160_000
    p = np.full(n, 0.75)
    found = []
    for right in range(120_000, 120_600, 20):
        here = report.Predictions("", np.arange(n) < right, "probabilities", p)
        section = _posterior.Posterior.of_ece(here, right / n - 0.75, 10)
        ece, chance, shown, verdict = CHANCE.search(section.verdict).groups()
        level = section.p_value
        # By chance the ECE is |N(0, v)|; 10,000 draws give p up to an error.
        z = (right / n - 0.75) / (0.75 * 0.25 / n) ** 0.5
        assert level == pytest.approx(2 * stats.norm.sf(z), abs=0.015)
        least = "< 0.001" if level < 0.0005 else "≤ 0.001"
        assert shown == (least if level <= 0.001 else f"= {level:.3f}")
        expected = "is borderline" if round(level, 3) <= 0.05 else "may be"
        assert verdict == ("shows more" if round(level, 3) <= 0.01 else expected)
        assert not (verdict == "shows more" and float(ece) <= float(chance))
        assert not (verdict == "may be" and float(ece) > float(chance))
        found.append(verdict)
    assert len(set(found)) == 3


@pytest.mark.parametrize("auroc", [0.5325, 0.4675])
def test_values_that_look_like_chance_count_as_chance(auroc, monkeypatch):
    monkeypatch.setattr(_selective_prediction, "_auroc", lambda curve: auroc)
    monkeypatch.setattr(_selective_prediction, "_auroc_by_chance", lambda *_: 0.5324)
    model = read(calibrated(100, 0.5, 1))
    here = ModelReport(model, 15)
    verdict = _selective_prediction.SelectivePrediction.of(here).verdict
    assert verdict.startswith("Confidence does not clearly tell")
    # Neither is a gap of 0.0304 clearly above a limit of 0.0303.
    accuracy = 0.75
    gap = 2 * (0.75 * 0.25 / 804) ** 0.5 + 0.0001
    rate = (accuracy * 800 + 2) / 804
    assert gap > 2 * (rate * (1 - rate) / 804) ** 0.5
    side, verdict = _mean_gap.verdict_on_gap(accuracy, accuracy + gap, 800.0)
    assert side == ""
    assert verdict.startswith("Neither clearly")


def test_large_data_take_fewer_draws():
    predictions = read(calibrated(50, 0.5, 1))
    for bins, draws in ((200, 5000), (1000, 1000), (10_000, 100)):
        found = report.build(predictions, bins)
        assert found.options["num_ece_samples"] == draws
    for n, resamples in ((2, 1000), (20_000, 1000), (40_000, 500), (10**6, 200)):
        assert _bootstrap_intervals.options(n)["num_resamples"] == resamples


# Single classes.


def test_errors_of_single_classes():
    arrays = examples(classes=4, n=250, seed=1)
    found, out = shown(arrays, num_bins=9)
    classes = found["calibration"]["classes"]
    labels, p = arrays.values()
    assert list(classes) == ["0", "1", "2", "3"]
    for k, row in enumerate(classes.values()):
        one = {"labels": labels == k, "probabilities": p[:, k], "positive_class": True}
        even = um.ece(**one, num_bins=9)
        adaptive = um.gce(
            **one, binning_scheme="adaptive", max_prob=True, class_conditional=False,
            norm="l1", num_bins=9,
        )  # fmt: skip
        expected = {"share": np.mean(labels == k), "sce": even, "ace": adaptive}
        assert row == pytest.approx(expected, rel=1e-9)
        assert lines_of(out, str(k), *(f"{value:.4f}" for value in expected.values()))
    for name in ("sce", "ace"):
        mean = np.mean([row[name] for row in classes.values()])
        value = found["calibration"]["metrics"][name]["value"]
        assert mean == pytest.approx(value, rel=1e-9)
    many = built(examples(classes=21, n=50))["calibration"]["classes"]
    assert many == {}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("n", "classes"), [(1500, 5), (90, 3), (1200, 2)])
def test_bins_from_a_shared_sort_equal_separate_bins(n, classes, dtype):
    labels, p = examples(n, classes).values()
    p = np.round(p, 2) if n == 1200 else p  # With ties.
    data = _examples.examples(labels, p.astype(dtype))
    specs = [CalibrationSpec(*key, num_bins=11) for key in grid()[::3]]
    specs.append(dataclasses.replace(specs[-1], threshold=0.01))
    for spec, found in zip(
        specs, _bins_of_all_errors.each_statistics(data, specs), strict=True
    ):
        alone = _binning.adaptive_statistics(_scores.scores_of_groups(data, spec), spec)
        if spec.binning_scheme == "even":
            alone = _binning.bin_statistics(data, spec)
        for name in ("edges", "counts", "score_sums", "outcome_sums"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))


# Intervals.


@weighted_or_not
def test_intervals_of_many_examples_are_close_to_the_bootstrap(weighted, monkeypatch):
    weights = np.arange(2000) % 5 / 4 if weighted else None
    labels, p = examples(2000).values()
    model = report.Predictions("", labels, "probabilities", p, weights)
    drawn = _bootstrap_intervals.intervals_of(model, 15)
    monkeypatch.setattr(_bootstrap_intervals, "_MOST_DRAWN", 100)
    normal = _bootstrap_intervals.intervals_of(model, 15)
    assert list(normal) == list(drawn)
    for name, row in normal.items():
        assert row.estimate == pytest.approx(drawn[name].estimate, rel=1e-9)
        width = row.high - row.low
        # The ends of 1000 resamples are off by a few percent.
        assert row.low == pytest.approx(drawn[name].low, abs=0.12 * width)
        assert row.high == pytest.approx(drawn[name].high, abs=0.12 * width)


def test_a_single_example_has_no_intervals():
    forecast = {"mean": np.zeros(1), "stddev": np.ones(1), "target": np.ones(1)}
    for one in (forecast, {"labels": [1], "probabilities": [[0.3, 0.7]]}):
        found, out = shown(one, one)
        assert found["intervals"]["metrics"] == {}
        assert found["comparison"]["differences"] == {}
        assert "A single example gives no intervals." in out
    assert "value from to" not in words(out)
    # One example beside others of weight 0 has none either.
    one = {"labels": [1, 0], "probabilities": [0.7, 0.2], "sample_weight": [2, 0]}
    assert built(one)["intervals"] == found["intervals"]


def test_intervals_do_not_depend_on_the_shape_of_examples():
    arrays = of_kind(examples(classes=2), "binary")
    shaped = {name: array.reshape([60, 1]) for name, array in arrays.items()}
    shaped["sample_weight"] = np.full(60, 1e6)  # Their scale does not matter.
    assert built(shaped)["intervals"] == approximately(built(arrays)["intervals"])


HIDDEN = {
    "classifier": (sure(50), [3], []),
    "ensemble": (members(), [3], [0]),
    "ensemble of logits": (of_kind(members(), "logits"), [3], [0]),
    "forecasts": (forecasts(np.random.default_rng(0), 50), [3], []),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_examples_of_weight_0_are_not_read(case, recwarn):
    arrays, damaged, infinite = HIDDEN[case]
    given = [name for name in arrays if name not in ("labels", "target")]
    kept = ~np.isin(np.arange(len(arrays[given[0]])), damaged + infinite)
    some, hidden = without(arrays, kept, damaged)
    hidden[given[0]][infinite] = np.inf
    some["sample_weight"] = np.ones(kept.sum())
    found, expected = built(hidden), built(some)
    for data in (found, expected):
        del data["data"]
    assert found == approximately(expected)
    assert [str(warning.message) for warning in recwarn] == []


def test_intervals_of_infinite_scores_are_undefined(recwarn):
    # The second example of `a` is impossible: resamples without it are finite.
    a = {"labels": [1, 0, 1], "probabilities": [0.8, 1.0, 0.6]}
    b = {"labels": [1, 0, 1], "probabilities": [0.8, 0.1, 0.6]}
    undefined = {"low": None, "estimate": "inf", "high": None}
    found, out = shown(a, a)
    assert found["intervals"]["metrics"]["negative_log_likelihood"] == undefined
    assert lines_of(out, "negative_log_likelihood", "inf", "-", "-")
    for first, second, estimate in ((a, a, None), (a, b, "inf"), (b, a, "-inf")):
        rows = shown(first, second)[0]["comparison"]["differences"]
        row = {**undefined, "estimate": estimate}
        assert rows["negative_log_likelihood"] == row
    assert [str(warning.message) for warning in recwarn] == []


# The command.


def test_pyplot_and_the_global_seed_do_not_change():
    from matplotlib import pyplot

    pyplot.close("all")
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    one = read(examples())
    assert report.build(one, 15, one)
    assert report.draw(one, 15, one)
    assert pyplot.get_fignums() == []
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def own_process(*arguments):
    """Runs Python; returns exit code, output, and errors except of matplotlib."""
    root = pathlib.Path(package.__file__).parent.parent
    ran = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    # On its first use on a machine matplotlib may print a message about fonts.
    rows = without_progress(ran.stderr).splitlines()
    said = [row for row in rows if "atplotlib" not in row]
    return ran.returncode, ran.stdout, said


@pytest.mark.thorough
def test_a_new_process_is_quiet_and_needs_no_tensorflow(shipped):
    np.savez("p.npz", **calibrated(100, 0.5, 1))
    compare = ("--compare", "p.npz", "--out", "compared")
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('tensorflow', 'keras', 'tf_keras'))\n"
        "from uncertainty_metrics.__main__ import main\n"
        f"code = main(['report']) or main(['report', *{compare}])\n"
        "sys.exit(code or ('matplotlib.pyplot' in sys.modules and 'pyplot') or 0)\n"
    )
    # Another run prints and writes the same.
    assert own_process("-c", code) == (0, shipped[0] + run(*compare), [])
    out = pathlib.Path(report.DEFAULT_DIRECTORY)
    assert files_of(out) == files_of(shipped[1])
    command = ("-m", "uncertainty_metrics", "report", "missing.npz")
    line = "error: missing.npz: No such file or directory"
    assert own_process(*command) == (2, "", [line])


def test_help_documents_the_formats(capsys):
    assert main(["report", "--help"]) == 0
    text = capsys.readouterr().out
    for word in (
        *("labels", "probabilities", "logits", "sample_weight", "p0, p1", "--out"),
        *(
            "--compare OTHER_FILE",
            "[N, M, K]",
            ".parquet",
            "variance, or std",
            "--positive-class",
            "standard input",
        ),
        *WRITTEN,
    ):
        assert word in text
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{package.__version__}\n"
