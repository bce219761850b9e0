"""The sections of the report on recalibration and on a promised risk."""

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import PredefinedSplit

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    approximately,
    built,
    calibrated,
    examples,
    read,
    shown,
    sure,
    weighted_or_not,
    words,
)
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.sections import _recalibrated_forecasts
from uncertainty_metrics._report.sections._model_report import ModelReport
from uncertainty_metrics._report.sections._recalibration import (
    RECALIBRATED,
    Recalibration,
)

pytestmark = pytest.mark.usefixtures("own_directory")

MAPS = ("temperature", "vector", "isotonic")
OF_LOG_ODDS = {
    "beta": um.BetaCalibration,
    "quadratic": um.QuadraticCalibration,
    "spline": um.SplineCalibration,
}
MAPS_OF_TWO_CLASSES = ("temperature", "vector", *OF_LOG_ODDS, "isotonic", "venn_abers")


def forecasts(n=400, classes=3, factor=1.0, seed=0):
    """Returns labels, and logits that are `factor` times as large as is right."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return {"labels": labels, "logits": factor * logits}


def temperature_of(labels, logits, weights):
    def loss(log_beta):
        z = np.exp(log_beta) * logits
        own = z[np.arange(len(z)), labels]
        return np.average(special.logsumexp(z, axis=1) - own, weights=weights)

    found = optimize.minimize_scalar(loss, bounds=(-4, 4), options={"xatol": 1e-10})
    return np.exp(-found.x)


def with_one_more(p, labels, weights, rest, i, label):
    """Returns the value at example i of the fit to the rest and i with this label."""
    fit = IsotonicRegression()
    fit.fit(
        np.append(p[rest], p[i]),
        np.append(labels[rest], label),
        sample_weight=np.append(weights[rest], 1.0),
    )
    return fit.predict(p[[i]])[0]


def naive(labels, p, weights, num_bins):
    """The section by a loop over folds, with other people's fits, of two classes."""
    folds = _recalibrated_forecasts.folds_of(len(labels))
    assert np.ptp(np.bincount(folds)) <= 1
    two = np.stack([1 - p, p], axis=1)
    found = {"as it is": p, **{name: np.empty(len(p)) for name in MAPS_OF_TWO_CLASSES}}
    held = np.empty(two.shape, bool)
    for rest, fold in PredefinedSplit(folds).split():
        given = labels[rest], np.log(two[rest]), weights[rest]
        scaled = np.log(two[fold]) / temperature_of(*given)
        found["temperature"][fold] = special.softmax(scaled, axis=1)[:, 1]
        vector = um.VectorScaling().fit(*given[:2], sample_weight=7 * given[2])
        found["vector"][fold] = special.softmax(
            vector.scales * np.log(two[fold]) + vector.biases, axis=1
        )[:, 1]
        for name, calibrator in OF_LOG_ODDS.items():
            map = calibrator().fit(
                labels[rest], probabilities=p[rest], sample_weight=7 * weights[rest]
            )
            found[name][fold] = map.transform(probabilities=p[fold])
        isotonic = IsotonicRegression(out_of_bounds="clip")
        isotonic.fit(p[rest], labels[rest], sample_weight=weights[rest])
        found["isotonic"][fold] = isotonic.predict(p[fold])
        for i in fold:
            ends = [with_one_more(p, labels, 7 * weights, rest, i, y) for y in (0, 1)]
            found["venn_abers"][i] = ends[1] / (1 - ends[0] + ends[1])
        scores = np.sort(1 - two[rest, labels[rest]])
        limit = scores[int(np.ceil((len(rest) + 1) * 0.9 - 1e-9)) - 1]
        held[fold] = 1 - two[fold] <= limit
    scores, each = {}, {}
    for name, q in found.items():
        at_label = np.where(labels == 1, q, 1 - q)
        with np.errstate(divide="ignore"):
            each[name] = -np.log(at_label), (1 - at_label) ** 2
        nll, brier = (np.average(values, weights=weights) for values in each[name])
        scores[name] = {
            "negative_log_likelihood": "inf" if nll == np.inf else nll,
            "brier_score": brier,
            "ece": um.ece(
                correct=labels,
                confidences=q,
                num_bins=num_bins,
                sample_weight=weights,
            ),
        }
    which = "inf" in (row["negative_log_likelihood"] for row in scores.values())
    gains = {}
    for name in MAPS_OF_TWO_CLASSES:
        gain = each["as it is"][which] - each[name][which]
        mean = np.average(gain, weights=weights)
        error = np.sqrt(np.sum(weights**2 * (gain - mean) ** 2)) / np.sum(weights)
        low, high = mean - 2 * error, mean + 2 * error
        gains[name] = {"low": low, "estimate": mean, "high": high}
    coverage = np.mean(held[np.arange(len(p)), labels])
    return scores, gains, coverage, np.mean(held.sum(axis=1))


@weighted_or_not
def test_numbers_are_those_of_a_naive_loop(weighted):
    arrays = calibrated(300, 0.1, 0.9, gap=0.1)
    weights = 1.0 + np.arange(300) % 3 if weighted else np.full(300, 1 / 7)
    more = {"sample_weight": 7 * weights} if weighted else {}
    section = built({**arrays, **more}, num_bins=9)["recalibration"]
    scores, gains, coverage, size = naive(*arrays.values(), weights, 9)
    for name, row in section["scores"].items():
        expected = {
            key: value if value == "inf" else pytest.approx(value, rel=1e-7)
            for key, value in scores[name].items()
        }
        # Rounding may move a pool to the next bin.
        if name in ("isotonic", "venn_abers"):
            expected["ece"] = pytest.approx(scores[name]["ece"], abs=0.02)
        assert row == expected
    assert list(section["scores"]) == ["as it is", *MAPS_OF_TWO_CLASSES]
    assert section["examples"] == 300
    for name, row in section["gains"].items():
        assert row == pytest.approx(gains[name], rel=1e-6)
    sets = section["sets"]["metrics"]
    assert sets["coverage"]["value"] == pytest.approx(coverage, abs=1e-12)
    assert sets["mean_set_size"]["value"] == pytest.approx(size, abs=1e-12)


def test_venn_abers_calibration_is_tried_for_two_classes_only():
    assert list(built(forecasts())["recalibration"]["gains"]) == list(MAPS)
    section = built(forecasts(classes=2))["recalibration"]
    assert list(section["gains"]) == list(MAPS_OF_TWO_CLASSES)
    likelihood = section["scores"]["venn_abers"]["negative_log_likelihood"]
    assert likelihood < 1  # It is finite, because no probability is 0.


def test_code_in_the_report_recalibrates_a_miscalibrated_model():
    arrays = forecasts(factor=3)
    found, out = shown(arrays)
    section = found["recalibration"]
    text = words(out)
    assert section["needs_recalibration"]
    assert section["verdict"].startswith("Recalibration would help: ")
    assert section["verdict"] in text
    assert section["best"] == max(MAPS, key=lambda x: section["gains"][x]["estimate"])
    new = forecasts(4000, factor=3, seed=1)
    names = {**arrays, "new_logits": new["logits"]}
    assert len(section["code"]) == 3
    assert all(f"\n  {line}\n" in out for line in section["code"])
    exec("\n".join(section["code"]), names)
    before = um.negative_log_likelihood(new["labels"], logits=new["logits"])
    after = um.negative_log_likelihood(new["labels"], logits=names["recalibrated"])
    assert after < before - 0.2
    weighted = {**calibrated(300, 0.5, 1, gap=0.3), "sample_weight": np.ones(300)}
    names = {**weighted, "new_probabilities": [0.9]}
    exec("\n".join(built(weighted)["recalibration"]["code"]), names)
    assert names["recalibrated"][0] < 0.8


def test_a_calibrated_model_needs_no_recalibration():
    # By chance the best of three maps gains two standard errors in a few of 100.
    found = [
        Recalibration.of(ModelReport(read(forecasts(200, seed=seed)), 15))
        for seed in range(20)
    ]
    assert sum(section.needs_recalibration for section in found) <= 3
    verdict = next(each.verdict for each in found if not each.needs_recalibration)
    assert verdict.startswith("No map clearly helps: the best one, ")
    assert "and chance alone may do the same" in verdict


def test_a_clear_gain_comes_before_a_larger_one_by_chance():
    sign = np.tile([1.0, -1.0], 50)  # Its mean has a standard error of 1/10.
    found = {
        "as it is": np.full(100, 4.0),
        "vector": np.full(100, 3.9),
        "isotonic": 3.8 + 2 * sign,
    }
    each = {name: {"negative_log_likelihood": nll} for name, nll in found.items()}
    best = _recalibrated_forecasts.best_map(each, None, "labels")
    gain = {"low": -0.2, "estimate": 0.2, "high": 0.6}
    assert vars(best.gains["isotonic"]) == pytest.approx(gain)
    assert (best.name, best.is_clear) == ("vector", True)
    # Among clear gains the largest comes first, even if it is the least precise.
    each["isotonic"]["negative_log_likelihood"] = 3.8 + 0.8 * sign
    best = _recalibrated_forecasts.best_map(each, None, "labels")
    assert best.gains["isotonic"].low == pytest.approx(0.04)
    assert (best.name, best.is_clear) == ("isotonic", True)


def test_with_infinite_likelihoods_the_brier_score_decides():
    found, out = shown(forecasts(factor=3))
    section = found["recalibration"]
    assert section["scores"]["isotonic"]["negative_log_likelihood"] == "inf"
    assert section["criterion"] == "brier_score"
    said = "by the Brier score, because isotonic calibration gives some labels"
    assert said in words(out)
    # With two levels of confidence no label has probability 0.
    labels = np.tile([1, 1, 1, 1, 0], 40)
    p = np.repeat([0.9, 0.8], 100)
    section = built({"labels": labels, "probabilities": p})["recalibration"]
    assert section["criterion"] == "negative_log_likelihood"
    assert "Brier" not in section["verdict"]


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        (examples(49), "49 examples, but at least 50 are needed"),
        (
            {**examples(60), "sample_weight": [1000.0] + [1.0] * 59},
            "1.1 examples once they are weighted, but at least 50",
        ),
        (
            {"labels": np.zeros(90, int), "probabilities": np.linspace(0, 1, 90)},
            "fewer than two classes have two labels",
        ),
    ],
)
def test_too_few_to_say(arrays, reason):
    found, out = shown(arrays)
    section = found["recalibration"]
    assert f"Too few to say: {reason}" in words(out)
    assert (section["best"], section["scores"], section["code"]) == (None, {}, [])
    assert section["sets"]["metrics"] == {}
    assert RECALIBRATED.file not in report.draw(read(arrays))


def test_maps_that_cannot_be_fitted_are_noted():
    # The model is always right, and one of the three classes has no labels.
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=80)
    logits = np.eye(3)[labels] * rng.uniform(1, 2, (80, 1))
    found, out = shown({"labels": labels, "logits": logits})
    section = found["recalibration"]
    assert section["best"] is None
    assert len(section["notes"]) == 3
    assert all(words(note) in words(out) for note in section["notes"])
    assert "No map can be fitted to these examples." in out
    assert section["sets"]["metrics"]["coverage"]["value"] > 0.7


def test_many_examples_are_sampled(monkeypatch):
    arrays = forecasts(500)
    monkeypatch.setattr(_recalibrated_forecasts, "_MAX_EXAMPLES", 100)
    section = built(arrays)["recalibration"]
    note = "This section uses 100 of the 500 examples, drawn at random."
    assert section.pop("notes") == [note]
    chosen = np.sort(np.random.default_rng(0).permutation(500)[:100])
    alone = built({name: array[chosen] for name, array in arrays.items()})[
        "recalibration"
    ]
    assert alone.pop("notes") == []
    of_sample = "on 100 examples drawn at random that it was not fitted to"
    assert of_sample in section["verdict"]
    section["verdict"] = section["verdict"].replace(
        "100 examples drawn at random", "examples"
    )
    assert section == approximately(alone)


def test_picture_of_before_and_after():
    figures = report.draw(read(forecasts(factor=3)))
    (legend,) = figures[RECALIBRATED.file].subfigs[0].legends
    texts = [text.get_text().partition(":")[0] for text in legend.get_texts()]
    best = built(forecasts(factor=3))["recalibration"]["best"]
    title = "isotonic calibration" if best == "isotonic" else f"{best} scaling"
    assert {"as it is", title} < set(texts)


# A promised risk.


@pytest.mark.parametrize("kind", ["labels of two", "labels of three"])
def test_promised_threshold(kind):
    rng = np.random.default_rng(0)
    if kind == "labels of two":
        p = 1 - rng.uniform(size=600) ** 3 / 2
        arrays = {"labels": (rng.random(600) < p).astype(int), "probabilities": p}
    else:
        logits = 4 * rng.normal(size=(600, 3))
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        arrays = {"labels": labels, "logits": logits}
    found, out = shown(arrays)
    promise = found["selective_prediction"]["promise"]
    threshold = um.threshold_at_risk(**arrays, risk=0.05, delta=0.05)
    values = {name: row["value"] for name, row in promise["metrics"].items()}
    if "logits" in arrays:
        scores = special.softmax(arrays["logits"], axis=1).max(axis=1)
    else:
        scores = np.maximum(arrays["probabilities"], 1 - arrays["probabilities"])
    share = np.mean(scores >= threshold)
    assert values == {
        "threshold_at_risk": threshold,
        "coverage_at_threshold": pytest.approx(share, abs=2 / 600),
    }
    coverage = um.coverage_at_risk(**arrays, risk=0.05)
    assert 0.1 < values["coverage_at_threshold"] < coverage
    assert promise["verdict"] in words(out)
    # Equal weights change nothing; with other weights nothing is promised.
    equal = built({**arrays, "sample_weight": np.full(600, 3.0)})
    assert equal["selective_prediction"]["promise"] == promise
    weighted = built({**arrays, "sample_weight": 1.0 + np.arange(600) % 2})
    assert weighted["selective_prediction"]["promise"] == {
        "verdict": "The examples have weights, so no threshold can promise a risk.",
        "above": None,
        "metrics": {},
    }


def test_thresholds_that_allow_nothing_or_everything():
    none, out = shown(sure(30))
    promise = none["selective_prediction"]["promise"]
    assert promise["metrics"]["threshold_at_risk"]["value"] == "inf"
    assert promise["metrics"]["coverage_at_threshold"]["value"] == 0
    assert "No threshold promises, with 95% probability, that at most 5%" in words(out)
    right = {"labels": np.ones(200, int), "probabilities": np.linspace(0.6, 1, 200)}
    promise = built(right)["selective_prediction"]["promise"]
    assert promise["verdict"].startswith("Deciding everything, at most 5% of new")
    assert promise["metrics"]["coverage_at_threshold"]["value"] == 1
