"""The section on the CRPS of a regression and how much of it could be gained."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import approximately


def forecasts(n=300, spread=2.0, unit=1.0):
    rng = np.random.default_rng(0)
    means, stddevs = unit * rng.normal(size=n), unit * rng.uniform(0.5, 2, size=n)
    return means + spread * stddevs * rng.normal(size=n), means, stddevs


@pytest.mark.parametrize("name", ["plain", "clusters", "weights"])
def test_it_is_the_function(name):
    y, means, stddevs = forecasts()
    more = {
        "plain": {},
        "clusters": {"clusters": np.arange(300) // 3},
        "weights": {"sample_weight": np.arange(300) % 5},
    }[name]
    found = um.report(y, means=means, stddevs=stddevs, **more).to_dict()
    section = found["calibration_loss"]
    expected = um.regression.calibration_loss(y, means, stddevs, **more)
    gain = {
        "low": expected.lower,
        "estimate": expected.difference,
        "high": expected.upper,
    }
    assert section["crps"]["loss"] == pytest.approx(expected.loss)
    assert section["crps"]["gain"] == approximately(gain)
    for part in ("share", "overconfident", "underconfident"):
        assert section["crps"][part] == pytest.approx(getattr(expected, part))
    assert section["map"] == "pit"


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
def test_the_first_tile_has_the_score_and_the_gain(unit):
    y, means, stddevs = forecasts(unit=unit)
    report = um.report(y, means=means, stddevs=stddevs)
    tile = report.to_dict()["tiles"][0]
    crps = um.regression.calibration_loss(y, means, stddevs)
    shown = "{:.4f}" if unit == 1 else "{:.4g}"
    assert tile["title"] == "CRPS"
    assert tile["value"] == (
        f"{shown.format(crps.loss)}, of which {shown.format(crps.difference)} could be "
        "gained"
    )
    assert tile["level"] == "bad"
    assert tile["detail"].endswith(
        "The score is the mean CRPS, in the unit of the targets."
    )
    assert "The map of each fold widens the forecasts." in report.summary()


def test_calibrated_forecasts_have_no_clear_gain():
    y, means, stddevs = forecasts(3000, 1.0)
    tile = um.report(y, means=means, stddevs=stddevs).to_dict()["tiles"][0]
    assert tile["value"].endswith(", no clear gain")
    assert tile["level"] == "good"
    narrow = forecasts(300, 0.5)
    summary = um.report(narrow[0], means=narrow[1], stddevs=narrow[2]).summary()
    assert "The map of each fold narrows the forecasts." in summary


def test_few_examples_have_a_score_and_no_gain():
    y, means, stddevs = forecasts(40)
    report = um.report(y, means=means, stddevs=stddevs).to_dict()
    section = report["calibration_loss"]
    assert "gain" not in section["crps"]
    assert section["crps"]["loss"] == pytest.approx(
        um.crps_normal_score(y, means, stddevs).mean()
    )
    assert section["verdict"].startswith("Too few to say how much could be gained: 40")
    tiny = um.report(
        *forecasts(60)[:1],
        means=forecasts(60)[1],
        stddevs=forecasts(60)[2],
        sample_weight=np.full(60, 0.01),
    ).to_dict()["calibration_loss"]
    assert "weights of sum 2" in tiny["verdict"]
