"""If class 0 is the event, its probability is judged."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import values, weighted_or_not
from tests.report.test_events import too_low
from uncertainty_metrics import _report as report


@weighted_or_not
def test_the_numbers_of_class_0_if_that_is_the_event(weighted):
    labels, p = too_low(400, by=0.1, seed=5)
    w = 1 + np.arange(400) % 3 if weighted else np.ones(400)
    model = report.Predictions(
        "",
        labels,
        "probabilities",
        np.stack([1 - p, p], 1),
        event_class=0,
        sample_weight=w if weighted else None,
        groups={"half": np.arange(400) // 200},
    )
    found = report.build(model, 15).to_dict()
    came, q = 1 - labels, 1 - p
    rows = {row["name"]: row for row in found["groups"]["rows"]}
    for name, half in (("half=0", slice(200)), ("half=1", slice(200, 400))):
        row = rows[name]
        mean = np.average(q[half], weights=w[half])
        share = np.average(came[half], weights=w[half])
        assert row["gap"] == pytest.approx(share - mean)
        assert row["mean_score"] == pytest.approx(mean)
    bins = np.clip(np.ceil(q * 15), 1, 15)
    gaps = [(w * (came - q))[bins == b].sum() for b in range(1, 16)]
    ece = np.abs(gaps).sum() / w.sum()
    assert values(found["calibration"]["metrics"])["ece"] == pytest.approx(ece)
    assert found["recalibration"]["scores"]["as it is"]["ece"] == pytest.approx(ece)
    counts = [w[bins == b].sum() for b in range(1, 16)]
    assert found["calibration"]["diagram"]["counts"] == pytest.approx(counts)


def test_members_of_an_ensemble_are_judged_by_class_0():
    labels, p = too_low(2000, by=0.1, seed=4)
    noise = np.random.default_rng(0).uniform(-0.03, 0.03, (2000, 3))
    members = np.clip(p[:, None] + noise, 0, 1)
    two = np.stack([1 - members, members], -1)
    model = report.Predictions("", labels, "probabilities", two, event_class=0)
    found = report.build(model, 15).to_dict()["ensemble"]["metrics"]["ece"]
    came = 1 - labels
    expected = [um.ece(correct=came, confidences=1 - members[:, i]) for i in range(3)]
    assert found["members"] == pytest.approx(expected, rel=1e-9)
    ece = um.ece(correct=came, confidences=1 - members.mean(1))
    assert found["ensemble"] == pytest.approx(ece, abs=1e-9)


def test_drift_is_that_of_class_0():
    models = []
    for seed in (1, 2):
        labels, p = too_low(1000, by=0.1 * seed, seed=seed)
        two = np.stack([1 - p, p], 1)
        models.append(
            report.Predictions("", labels, "probabilities", two, event_class=0)
        )
    found = report.build(models[0], 5, models[1]).to_dict()["comparison"]["drift"]
    for row in found["bins"]:
        for name, model in zip(("first", "second"), models, strict=True):
            q, came = model.arguments["probabilities"][:, 0], 1 - model.labels
            inside = (q > row["from"]) & (q <= row["to"])
            assert row[name] == pytest.approx(np.mean((came - q)[inside]))
