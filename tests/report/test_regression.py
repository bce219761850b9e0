"""The calibration report of regressions."""

import json
import pathlib

import numpy as np
import properscoring
import pytest
from scipy import stats

from tests.report.reports import fails, forecasts, lines_of, numbers, run, values, words
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.sections import _bootstrap_intervals
from uncertainty_metrics._report.sections._list import pictures_of
from uncertainty_metrics._report.sections._several_models import MODELS

METRICS = ("rmse", "crps", "negative_log_likelihood", "ece", "temperature")
PICTURES = [
    picture.file for picture in pictures_of("regression") if picture is not MODELS
]

pytestmark = pytest.mark.usefixtures("own_directory")


def model(arrays, source="here", kind="stddev"):
    return report.Regression(
        source,
        arrays["mean"],
        kind,
        arrays[kind],
        arrays["target"],
        arrays.get("sample_weight"),
    )


def built(arrays, other=None, num_bins=15):
    """Returns the numbers of a report as strict JSON gives them."""
    other = None if other is None else model(other, "there")
    found = report.build(model(arrays), num_bins, other)
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def rendered(arrays, other=None):
    """Returns the text of a report."""
    other = None if other is None else model(other, "there")
    return report.render(report.build(model(arrays), 15, other))


# Numbers against SciPy and properscoring.


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_equal_scipy_and_properscoring(weighted, rng):
    arrays = forecasts(rng, factor=1.3)
    w = np.ones(200)
    if weighted:
        arrays["sample_weight"] = w = rng.integers(0, 3, 200) + 0.0
    found = built(arrays, num_bins=7)
    mean, stddev, y = (arrays[name] for name in ("mean", "stddev", "target"))
    normal, z = stats.norm(mean, stddev), (y - mean) / stddev

    def average(scores):
        return np.sum(w * scores) / np.sum(w)

    temperature = average(z**2)
    expected = {
        "rmse": average((y - mean) ** 2) ** 0.5,
        "crps": average(properscoring.crps_gaussian(y, mean, stddev)),
        "negative_log_likelihood": average(-normal.logpdf(y)),
    }
    assert values(found["scoring_rules"]["metrics"]) == pytest.approx(
        expected, rel=1e-9
    )

    calibration = found["calibration"]
    levels = np.linspace(0.1, 0.99, 7)
    coverages = [average(np.abs(z) <= stats.norm.interval(p)[1]) for p in levels]
    assert calibration["curve"]["levels"] == pytest.approx(levels)
    assert calibration["curve"]["coverages"] == pytest.approx(coverages)
    gaps = np.abs(np.array(coverages) - levels)
    assert values(calibration["metrics"])["ece"] == pytest.approx(gaps.mean())
    for row in calibration["levels"]:
        low, high = normal.interval(row["level"])
        assert row["coverage"] == pytest.approx(average((low <= y) & (y <= high)))
        assert row["width"] == pytest.approx(average(high - low))

    pit, kept = normal.cdf(y), stddev[w > 0]
    mean_pit = average(pit)
    recalibrated = stats.norm(mean, stddev * temperature**0.5)
    repeated = np.repeat(pit, w.astype(int))
    for section, parts in {
        "pit": {
            "mean": mean_pit,
            "variance": average((pit - mean_pit) ** 2),
            "distance": stats.kstest(repeated, "uniform").statistic,
        },
        "sharpness": {
            "sharpness": average(stddev),
            "lowest_stddev": kept.min(),
            "highest_stddev": kept.max(),
            "mean_absolute_error": average(np.abs(y - mean)),
        },
        "recalibration": {
            "temperature": temperature,
            "stddev_factor": temperature**0.5,
            "recalibrated_nll": average(-recalibrated.logpdf(y)),
        },
    }.items():
        assert values(found[section]["metrics"]) == pytest.approx(parts), section
    counts = found["pit"]["histogram"]["counts"]
    bins = np.histogram(pit, np.linspace(0, 1, 8), weights=w / w.max())[0]
    assert counts == pytest.approx(bins)

    intervals = found["intervals"]["metrics"]
    assert tuple(intervals) == METRICS
    expected |= {"ece": gaps.mean(), "temperature": temperature}
    for name, value in expected.items():
        row = intervals[name]
        assert row["estimate"] == pytest.approx(value)
        assert row["low"] < value < row["high"]
    assert found["data"] == {
        "examples": 200,
        "predictions": "stddev",
        "weighted": weighted,
        "total_weight": w.sum(),
        "effective_examples": pytest.approx(w.sum() ** 2 / (w @ w)),
    }


def test_error_by_chance(rng):
    levels = np.linspace(0.1, 0.99, 15)
    u = rng.uniform(size=(2000, 100, 1))
    errors = np.abs((u <= levels).mean(axis=1) - levels).mean(axis=1)
    chance = built(forecasts(rng, n=100))["calibration"]["ece_by_chance"]
    assert chance == pytest.approx(np.quantile(errors, 0.95), rel=0.15)


def test_temperature_by_chance(rng):
    low, high = built(forecasts(rng, n=30))["recalibration"]["temperature_by_chance"]
    assert [low, high] == pytest.approx(stats.chi2(30).ppf([0.025, 0.975]) / 30)


# Verdicts.


@pytest.mark.parametrize(
    ("factor", "bias", "verdict", "of_pit"),
    [
        (1.5, 0.0, "Overconfident: the errors are 1.", "tend to be too narrow."),
        (0.5, 0.0, "Underconfident: the errors are 0.", "tend to be too wide."),
        (0.8, 0.6, None, "The predictions tend to be too low."),
        (0.8, -0.6, None, "The predictions tend to be too high."),
    ],
)
def test_verdicts(factor, bias, verdict, of_pit, rng):
    found = built(forecasts(rng, n=1000, factor=factor, bias=bias))
    assert found["calibration"]["verdict"].startswith(verdict or "")
    assert of_pit in found["pit"]["verdict"]
    assert found["pit"]["verdict"].startswith("The PIT values are not uniform")
    if verdict:
        assert "this model shows more than chance" in found["calibration"]["verdict"]


def test_calibrated_models_are_rarely_called_miscalibrated(monkeypatch):
    monkeypatch.setattr(_bootstrap_intervals, "_MAX_RESAMPLES", 200)
    clear = chance = uniform = heavy = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = built(forecasts(rng, n=60))
        verdict = found["calibration"]["verdict"]
        clear += verdict.startswith("Neither clearly")
        chance += "this model may be calibrated" in verdict
        uniform += "may be uniform" in found["pit"]["verdict"]
        # Heavy tails are not taken for chi-squared.
        z = stats.t(3).rvs(100, random_state=rng) / 3**0.5  # Of variance 1.
        arrays = {"mean": np.zeros(100), "stddev": np.ones(100), "target": z}
        heavy += built(arrays)["calibration"]["verdict"].startswith("Overconfident")
    assert min(clear, chance, uniform) >= 16
    assert heavy <= 2


@pytest.mark.parametrize("unit", [1e-8, 1e9])
def test_any_unit(unit, rng):
    arrays = {name: unit * array for name, array in forecasts(rng).items()}
    found = built(arrays)
    text = rendered(arrays)
    rmse = found["scoring_rules"]["metrics"]["rmse"]["value"]
    assert f"{rmse:.4g}" in text.split()
    assert "0.0000" not in text


def test_perfect_predictions_have_no_temperature():
    arrays = {"mean": np.arange(9.0), "stddev": np.ones(9), "target": np.arange(9.0)}
    found = built(arrays)
    assert values(found["recalibration"]["metrics"]) == {
        "temperature": 0.0,
        "stddev_factor": 0.0,
    }
    assert found["calibration"]["verdict"].startswith("Underconfident")
    assert "All examples have the same" in found["sharpness"]["verdict"]
    assert report.draw(model(arrays))


# Files.


def test_command(rng):
    np.savez("p.npz", **forecasts(rng), other=np.ones(3))
    out = run("p.npz")
    written = [pathlib.Path(line.split()[1]).name for line in lines_of(out, "Wrote")]
    assert written == ["report.html", *PICTURES, "report.json"]
    found = numbers()
    assert (found["task"], found["source"]) == ("regression", "p.npz")
    assert found["options"] == {"num_bins": 15, "seed": 0}
    assert found["notes"] == ["Left out, because the names are not known: other."]
    assert found["calibration"]["verdict"] in words(out)
    for section in ("scoring_rules", "pit", "sharpness", "recalibration"):
        for name, row in found[section]["metrics"].items():
            assert any(line.endswith(row["meaning"]) for line in lines_of(out, name))


def test_shapes_and_types(rng):
    arrays = forecasts(rng, n=24)
    expected = built(arrays)
    assert built({**arrays, "mean": arrays["mean"][:, None]}) == expected
    assert built({k: v.reshape(4, 6) for k, v in arrays.items()}) == expected
    narrow = built({k: v.astype(np.float32) for k, v in arrays.items()})
    assert values(narrow["scoring_rules"]["metrics"]) == pytest.approx(
        values(expected["scoring_rules"]["metrics"]), rel=1e-5
    )
    squared = {**arrays, "variance": arrays["stddev"] ** 2}
    of_variance = report.build(model(squared, kind="variance"))
    assert of_variance.to_dict()["scoring_rules"] == expected["scoring_rules"]


# Two models.


def test_comparison(rng):
    first, second = forecasts(rng, n=500), {}
    second = {**first, "stddev": 3 * first["stddev"]}
    found = built(first, second)
    section = found["comparison"]
    assert section["same_examples"]
    assert section["other"]["source"] == "there"
    for name, sides in section["numbers"].items():
        if name in METRICS:
            row = section["differences"][name]
            difference = sides["first"] - sides["second"]
            assert row["estimate"] == pytest.approx(difference, abs=1e-12)
    assert section["verdict"] == "The first model has the lower calibration error."
    assert section["quality"].endswith(
        "CRPS and negative log-likelihood are lower for the first."
    )
    swapped = built(second, first)["comparison"]
    assert swapped["verdict"] == "The second model has the lower calibration error."
    assert swapped["quality"].endswith("are lower for the second.")
    text = words(rendered(first, second))
    assert section["verdict"] in text
    assert section["quality"] in text


def test_comparison_without_a_clear_difference(rng):
    first = forecasts(rng, n=300, factor=1.5)
    same = built(first, first)["comparison"]
    assert "the interval of the difference holds 0" in same["verdict"]
    assert same["quality"].endswith("are not clearly different.")
    fine = forecasts(np.random.default_rng(1))
    both = built(fine, fine)["comparison"]
    assert "chance alone gives calibrated models such errors" in both["verdict"]
    other = forecasts(rng, n=300)
    different = built(first, other)["comparison"]
    assert different["differences"] == {}
    assert "the models do not have the same examples" in different["verdict"]
    assert "targets differ" in different["examples"]


def test_pictures_of_two(rng):
    first = forecasts(rng)
    figures = report.draw(model(first), 15, model(first, "there"))
    assert [len(figures[name].axes) for name in PICTURES] == [1, 2, 2]
    (legend,) = figures["reliability_diagram.png"].legends
    texts = [text.get_text().partition(":")[0] for text in legend.get_texts()]
    assert texts == ["here", "there", "Perfect calibration"]


def test_other_task_is_refused(capsys, rng):
    np.savez("r.npz", **forecasts(rng))
    np.savez("c.npz", labels=[0, 1], probabilities=[0.2, 0.7])
    line = fails(capsys, "r.npz", "--compare", "c.npz")
    assert line == (
        "error: c.npz: a classification cannot be compared with a regression, r.npz\n"
    )
    assert "a regression cannot be compared" in fails(
        capsys, "c.npz", "--compare", "r.npz"
    )
    assert "digits_predictions" in fails(capsys, "--compare", "r.npz")
