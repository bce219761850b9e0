"""The section of the calibration report on selective prediction."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import built, shown, sure, values, weighted_or_not
from uncertainty_metrics import _report as report

pytestmark = pytest.mark.usefixtures("own_directory")


def selective(arrays):
    return built(arrays)["selective_prediction"]


def test_short_curves_keep_all_points():
    section = selective({"labels": [0, 1, 1, 0], "probabilities": [0.9, 0.8, 0.7, 0.2]})
    assert section["curve"] == {
        "coverages": [0.25, 0.75, 1.0],
        "risks": [1.0, pytest.approx(1 / 3), 0.25],
        "thresholds": [0.9, 0.8, 0.7],
    }


TIED = {"labels": [1] * 8 + [0] * 2, "probabilities": [0.75] * 10}
TWO_LEVELS = {"labels": [1, 0] * 50, "probabilities": np.repeat([0.9, 0.8], [80, 20])}
VERDICTS = {
    "skill": (sure(2000, skill=1), "tells right decisions from wrong ones: AUROC 0."),
    "gain": (sure(2000, skill=1), "80% lowers"),
    "none": (sure(2000), "does not clearly tell", "gives about 0.47"),
    "no gain": (sure(2000), ", and chance alone may do the same."),
    "misled": (
        sure(2000, skill=-1),
        "misleads",
        "or more. Deciding only",
        "80% raises",
    ),
    "1 of 1 is not more than chance": (
        {"labels": [1, 1, 0], "probabilities": [0.9, 0.8, 0.7]},
        *("does not clearly tell", "about 0.000 to 1.000", "20%: the least", "33.3%"),
    ),
    "tied": (TIED, "not clearly tell", "AUROC 0.500", "100% are equally confident"),
    "two levels": (TWO_LEVELS, "the most confident 80% leaves the error at 0.5000."),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdict_on_confidence(case):
    arrays, *parts = VERDICTS[case]
    verdict = selective(arrays)["verdict"]
    assert verdict.startswith("Confidence ")
    assert all(part in verdict for part in parts)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    ("label", "start", "expected"),
    [
        (1, "No decision is wrong", [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
        (0, "Every decision is wrong", [1.0, 0.0, 0.5, 0.0, 1.0, 0.1]),
    ],
)
def test_without_right_and_wrong_there_is_no_auroc(label, start, expected, n):
    found, out = shown({"labels": [label] * n, "probabilities": [0.9, 0.8, 0.7][:n]})
    section = found["selective_prediction"]
    assert list(values(section["metrics"]).values()) == pytest.approx(expected)
    assert "auroc" not in section["metrics"]
    assert section["auroc_by_chance"] is None
    assert section["verdict"].startswith(start)
    assert section["verdict"].endswith("and there is no AUROC.")
    assert start in out
    assert "  auroc " not in out


@weighted_or_not
def test_auroc_by_chance(weighted):
    # The level is 0.5 plus two standard deviations of confidences that tell nothing.
    rng = np.random.default_rng(2)
    p = rng.uniform(0.5, 1, 300)
    labels = np.arange(300) % 5 > 0
    weight = rng.exponential(size=300) if weighted else None
    aurocs = [
        um.auroc(labels, rng.permutation(p), sample_weight=weight) for _ in range(1000)
    ]
    here = report.Predictions("", labels, "probabilities", p, weight)
    level = report.build(here).to_dict()["selective_prediction"]["auroc_by_chance"]
    assert level - 0.5 == pytest.approx(2 * np.std(aurocs), rel=0.12)
