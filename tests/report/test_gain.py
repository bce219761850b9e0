"""The section on the score and how much of it could be gained."""

import re

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um
from tests.report.reports import approximately, tiles
from uncertainty_metrics._report.sections import _recalibrated_forecasts

SCORES = {"brier": "brier", "likelihood": "log"}


def events(n=300, seed=0, slope=0.5):
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=n)
    return (rng.random(n) < special.expit(slope * z)).astype(int), special.expit(z)


def classes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = 3 * rng.normal(size=(n, 3))
    return np.argmax(z / 2 + rng.gumbel(size=z.shape), axis=1), special.softmax(z, 1)


def cases():
    labels, p = events()
    rows = np.stack([1 - p, p], axis=1)
    ids, weights = np.arange(300) // 3, np.arange(300) % 5 + 1.0
    yield "risks", {"labels": labels, "probabilities": p}
    yield "two columns", {"labels": labels, "probabilities": rows}
    yield "answers", {"correct": labels, "confidences": p}
    labels, p = classes()
    yield "classes", {"labels": labels, "probabilities": p}
    yield "clusters", {"labels": labels, "probabilities": p, "clusters": ids}
    yield "weights", {"labels": labels, "probabilities": p, "sample_weight": weights}


@pytest.mark.parametrize(("name", "data"), list(cases()), ids=lambda x: str(x)[:11])
def test_it_is_the_function(name, data):
    section = um.report(**data).to_dict()["calibration_loss"]
    for key, score in SCORES.items():
        expected, found = um.calibration_loss(**data, score=score), section[key]
        gain = {
            "low": expected.lower,
            "estimate": expected.difference,
            "high": expected.upper,
        }
        assert found["loss"] == pytest.approx(expected.loss)
        assert found["gain"] == approximately(gain)
        for part in ("share", "overconfident", "underconfident"):
            assert found[part] == pytest.approx(getattr(expected, part), abs=1e-9)
    assert section["map"] == ("beta" if len(section["map"]) == 4 else "temperature")


def test_the_first_tile_has_the_score_and_the_gain():
    labels, p = events(2000)
    found = um.report(labels, p).to_dict()
    section, tile = found["calibration_loss"]["brier"], found["tiles"][0]
    gain = section["gain"]
    assert tile["title"] == "Brier score"
    assert tile["value"] == (
        f"{section['loss']:.4f}, of which {gain['estimate']:.4f} could be gained by "
        "beta calibration"
    )
    assert f"interval {gain['low']:.4f} to {gain['high']:.4f}" in tile["detail"]
    assert tile["detail"].endswith("The score is the mean of (y - p)^2, 0 (best) to 1.")
    assert tile["level"] == "bad"
    honest = um.report(*events(20_000, slope=1.0)).to_dict()["tiles"][0]
    assert honest["value"].endswith(", no clear gain by beta calibration")
    assert honest["level"] == "good"


def test_it_says_what_the_best_of_the_maps_gains():
    rng = np.random.default_rng(0)
    labels, p = classes(600)
    labels = np.where(rng.random(600) < 0.3, 0, labels)  # A temperature cannot mend it.
    found = um.report(labels, p).to_dict()
    scores = found["recalibration"]["scores"]
    gain = scores["as it is"]["brier_score"] - scores["isotonic"]["brier_score"]
    assert found["recalibration"]["best"] == "isotonic"
    assert (
        "That map was chosen beforehand; of the 3 maps tried, isotonic calibration is "
        f"best and gains {gain:.4f}."
    ) in found["tiles"][0]["detail"]
    detail = tiles(found)["Recalibration"]["detail"]
    assert detail.startswith("The best of 3 maps, isotonic calibration, takes the ")


def test_an_infinite_score_has_no_gain_beside_it():
    labels, p = events()
    p[labels.argmin()] = 1.0
    summary = um.report(labels, p).summary()
    assert re.search(r"Negative log-likelihood +inf( +-){4}\n", summary)
    assert "The negative log-likelihood is infinite, because" in summary


def test_few_examples_have_a_score_and_no_gain():
    labels, p = events(40)
    found = um.report(labels, p).to_dict()
    section = found["calibration_loss"]
    assert "gain" not in section["brier"]
    assert section["brier"]["loss"] == pytest.approx(np.mean((labels - p) ** 2))
    assert section["verdict"].startswith("Too few to say how much could be gained: 40")


def test_a_gain_from_some_examples_stands_beside_the_score_of_all(monkeypatch):
    labels, p = events(300)
    monkeypatch.setattr(_recalibrated_forecasts, "_MAX_EXAMPLES", 100)
    report = um.report(labels, p)
    section = report.to_dict()["calibration_loss"]
    assert section["brier"]["loss"] == pytest.approx(np.mean((labels - p) ** 2))
    assert section["examples"] == 100
    assert "The gain of 100 examples drawn at random is" in " ".join(
        report.summary().split()
    )


def test_a_summary_has_it_of_answers_and_of_two_classes():
    labels, p = events(3000)
    p = np.round(p, 2)
    answers, two = um.Summary(), um.Summary()
    answers.update(correct=labels, confidences=p)
    two.update(labels, np.stack([1 - p, p], axis=1))
    expected = um.calibration_loss(correct=labels, confidences=p, score="brier")
    for summary in (answers, two):
        section = um.report(summary).to_dict()["calibration_loss"]["brier"]
        assert section["loss"] == pytest.approx(expected.loss)
        # Other examples are in the folds, so the maps differ a little.
        gains = expected.difference, expected.upper
        assert section["gain"]["estimate"] == pytest.approx(gains[0], rel=0.1)
        assert section["gain"]["high"] == pytest.approx(gains[1], rel=0.1)
        assert section["share"] == pytest.approx(expected.share, rel=0.1)


def test_summaries_that_do_not_tell_say_why():
    labels, p = events(300)
    weighted, many = um.Summary(), um.Summary()
    weighted.update(correct=labels, confidences=p, sample_weight=p)
    many.update(*classes())
    for summary, why in ((weighted, "of weights"), (many, "whole forecasts")):
        found = um.report(summary).to_dict()
        assert "gain" not in found["calibration_loss"]["brier"]
        assert why in found["calibration_loss"]["verdict"]
        assert tiles(found)["Brier score"]["level"] == "unclear"


def test_a_few_mistakes_do_not_decide():
    p = np.linspace(0.9, 0.99, 400)
    right = np.arange(400) % 50 > 0
    found = um.report(correct=right, confidences=p).to_dict()["calibration_loss"]
    assert "gain" not in found["brier"]
    assert "fewer than 10 examples have one of the two outcomes" in found["verdict"]
    assert (
        "gain"
        in um.report(correct=np.arange(400) % 30 > 0, confidences=p).to_dict()[
            "calibration_loss"
        ]["brier"]
    )
