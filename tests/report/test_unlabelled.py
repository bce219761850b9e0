"""The section on new predictions without labels."""

import argparse
import json

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import tiles
from uncertainty_metrics import _report as report


def _draw(rng, n, share, scale=2.0):
    labels = (rng.random(n) < share).astype(int)
    return labels, 1 / (1 + np.exp(-scale * rng.normal(2.0 * labels - 1)))


def test_the_section_has_the_numbers_of_label_shift(rng):
    labels, p = _draw(rng, 800, 0.5)
    _, new = _draw(rng, 700, 0.1)
    made = um.report(labels, p, unlabelled=new)
    found = made.to_dict()["unlabelled_data"]
    expected = um.LabelShift().fit(labels, p).adapt(new)
    assert found["examples"] == 700
    assert found["priors"]["1"]["estimate"] == pytest.approx(expected.prior[1])
    assert found["priors"]["1"]["low"] == pytest.approx(expected.lower[1])
    assert found["accuracy"]["high"] == pytest.approx(expected.accuracy_upper)
    assert found["p_value"] == expected.p_value
    assert "Unlabelled data" in made.summary()
    two = np.stack([1 - p, p], axis=1), np.stack([1 - new, new], axis=1)
    again = um.report(labels, two[0], unlabelled=two[1]).to_dict()["unlabelled_data"]
    assert again["p_value"] == found["p_value"]


def test_advice(rng):
    labels, p = _draw(rng, 2000, 0.5)
    moved = um.report(labels, p, unlabelled=np.sqrt(_draw(rng, 2000, 0.5)[1]))
    assert "Do not adapt" in moved.to_dict()["unlabelled_data"]["verdict"]
    said = tiles(moved.to_dict())["Unlabelled data"]
    assert said["value"] == "More changed than the classes"
    assert said["level"] == "bad"
    rarer = um.report(labels, p, unlabelled=_draw(rng, 2000, 0.1)[1]).to_dict()
    assert tiles(rarer)["Unlabelled data"]["value"] == "Other shares of the classes"
    assert tiles(rarer)["Unlabelled data"]["detail"].endswith("with LabelShift.")
    noise = um.report(labels, rng.random(2000), unlabelled=p)
    verdict = noise.to_dict()["unlabelled_data"]["verdict"]
    assert tiles(noise.to_dict())["Unlabelled data"]["value"] == "Shares unknown"
    assert "stay unknown: Classes 0 and 1 cannot be told apart" in verdict
    assert "unlabelled_data" not in um.report(labels, p).to_dict()


def test_wrong_data(rng):
    labels, p = _draw(rng, 100, 0.5)
    with pytest.raises(ValueError, match="must have the shape of the others"):
        um.report(labels, p, unlabelled=np.ones((3, 3)) / 3)
    with pytest.raises(ValueError, match="need a single classifier"):
        um.report(correct=labels, confidences=p, unlabelled=p)


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_files(rng, tmp_path, ending):
    labels, p = _draw(rng, 400, 0.5)
    _, new = _draw(rng, 300, 0.2)
    weights = np.arange(300) % 3
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    if ending == "npz":
        np.savez(first, labels=labels, probabilities=p)
        np.savez(second, probabilities=new, sample_weight=weights)
    else:
        rows = "".join(f"{y},{q!r}\n" for y, q in zip(labels, p.tolist(), strict=True))
        first.write_text(f"label,p\n{rows}")
        pairs = zip(new.tolist(), weights, strict=True)
        rows = "".join(f"7,{q!r},{w}\n" for q, w in pairs)
        second.write_text(f"id,p,sample_weight\n{rows}")
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    out = tmp_path / "out"
    given = [str(first), "--unlabelled", str(second), "--out", str(out)]
    assert report.command(parser.parse_args(given)) == 0
    found = json.loads((out / "report.json").read_text())["unlabelled_data"]
    assert found["source"].endswith(f"b.{ending}")
    expected = um.LabelShift().fit(labels, p).adapt(new, sample_weight=weights)
    assert found["priors"]["1"]["estimate"] == pytest.approx(expected.prior[1])
    third = tmp_path / "c.csv"
    third.write_text("id\n1\n")
    given[2] = str(third)
    if ending == "csv":
        assert report.command(parser.parse_args(given)) == 2
