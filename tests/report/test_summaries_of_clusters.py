"""Reports of summaries whose examples come in clusters."""

import numpy as np
import pytest
from scipy import stats

import uncertainty_metrics.numpy as um
from tests.report.reports import words

pytestmark = pytest.mark.usefixtures("own_directory")

NOT_TOLD = "a summary does not tell which of its examples are of one cluster"


def drawn(rng, kind, number=80, each=5, shift=0.0):
    """Returns arguments of a model, and the clusters of its examples."""
    ids = np.repeat(np.arange(number), each)
    p = rng.uniform(0.05, 0.95, len(ids))
    z = rng.normal(size=number)[ids] + rng.normal(size=len(ids))
    right = stats.norm.cdf(z / 2**0.5) < p - shift
    if kind == "answers":
        return {"correct": right, "confidences": p}, ids
    if kind == "binary":
        return {"labels": right.astype(int), "probabilities": p}, ids
    probabilities = np.stack([p, 0.6 * (1 - p), 0.4 * (1 - p)], axis=1)
    return {"labels": np.where(right, 0, 1), "probabilities": probabilities}, ids


def summary_of(given, ids, parts=2):
    summary = um.Summary()
    for part in np.array_split(np.unique(ids), parts):
        rows = np.isin(ids, part)
        batch = {name: values[rows] for name, values in given.items()}
        summary.update(**batch, clusters=ids[rows])
    return summary


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["answers", "binary", "classes"])
def test_a_report_has_the_numbers_of_the_sums(rng, kind, weighted):
    given, ids = drawn(rng, kind)
    if weighted:
        given["sample_weight"] = rng.uniform(0.5, 2, len(ids))
    summary = summary_of(given, ids)
    report = um.report(summary, num_bins=10)
    found, told = report.to_dict(), words(report.summary())
    sketch = summary.events if kind == "binary" else summary.decisions
    error = sketch.calibration_error_interval(num_bins=10)
    ends = found["intervals"]["metrics"]
    assert ends.keys() == {"calibration_error", "mean_gap"}
    assert [*ends["calibration_error"].values()] == pytest.approx([*error])
    assert (
        ends["calibration_error"]
        == (found["calibration_of_clusters"]["calibration_error"])
    )
    gap, half = ends["mean_gap"], stats.t.ppf(0.975, 79)
    assert gap["high"] - gap["estimate"] == pytest.approx(gap["estimate"] - gap["low"])
    if kind != "binary":
        moments = summary.means()["gap"]
        expected = moments.mean, half * moments.standard_error
        spread = gap["high"] - gap["estimate"]
        assert [gap["estimate"], spread] == pytest.approx(expected)
    assert found["calibration"]["metrics"]["ece"]["value"] == pytest.approx(
        sketch.ece(num_bins=10)
    )
    assert found["data"]["clusters"] == 80
    assert "80 clusters, 400 examples" in told
    assert f"Left out, because {NOT_TOLD}" in told
    for absent in ("bayesian_ece", "recalibration"):
        assert absent not in found
    assert found["scoring_rules"]["constant"]["p_value"] is None
    assert found["selective_prediction"]["auroc_by_chance"] is None
    assert "map" not in found["calibration_loss"]
    if kind == "answers":
        assert found["calibration"]["means"]["accuracy"]["low"] is None
    # An example in each cluster is independent of the others.
    alone = um.report(summary_of(given, np.arange(len(ids)))).to_dict()
    assert "bayesian_ece" in alone
    assert "calibration_of_clusters" not in alone


@pytest.mark.parametrize("kind", ["answers", "binary"])
def test_the_mean_gap_is_judged_as_that_of_rows(rng, kind):
    given, ids = drawn(rng, kind, shift=0.05)
    of_rows = um.report(**given, clusters=ids).to_dict()["calibration"]["verdict"]
    of_sums = um.report(summary_of(given, ids)).to_dict()["calibration"]["verdict"]
    assert of_sums == of_rows


def test_the_tile_says_what_is_more_than_chance(rng, tmp_path):
    given, ids = drawn(rng, "answers", shift=0.3)
    report = um.report(summary_of(given, ids))
    tiles = {tile["title"]: tile for tile in report.to_dict()["tiles"]}
    assert tiles["Calibration"]["value"] == "Overconfident"
    assert "more than chance" in tiles["Calibration"]["detail"]
    pages = report.save(tmp_path)
    assert not [path for path in pages if path.name == "posteriors.png"]
    calibrated, ids = drawn(rng, "answers")
    tiles = um.report(summary_of(calibrated, ids)).to_dict()["tiles"]
    assert [tile["value"] for tile in tiles if tile["title"] == "Calibration"] == [
        "May be calibrated"
    ]


def test_two_summaries_of_clusters_are_compared_by_their_drift(rng, tmp_path):
    (before, ids), (now, _) = drawn(rng, "binary"), drawn(rng, "binary", shift=0.2)
    first, second = summary_of(before, ids), summary_of(now, ids)
    report = um.report(first, compare={"now": second})
    found = report.to_dict()["comparison"]
    expected = um.calibration_drift(first, second, num_bins=15)
    assert found["drift"]["p_value"] == expected.p_value
    assert "The first model: By the sums over 80 clusters" in found["verdict"]
    report.save(tmp_path)
    alone = um.Summary()
    alone.update(**now)
    for pair in ((first, alone), (alone, first)):
        with pytest.raises(ValueError, match="to both summaries or to none"):
            um.report(pair[0], compare={"now": pair[1]})


def test_a_few_clusters_are_noted_and_one_is_refused(rng):
    given, ids = drawn(rng, "answers", number=12)
    found = um.report(summary_of(given, ids)).to_dict()
    assert any("There are 12 clusters." in note for note in found["notes"])
    with pytest.raises(ValueError, match="at least two ids"):
        um.report(summary_of(given, ids * 0, parts=1))


def test_a_file_has_no_sums_over_clusters(rng):
    given, ids = drawn(rng, "answers")
    summary_of(given, ids).save("a.npz")
    with pytest.raises(ValueError, match="has no sums over clusters"):
        um.report(um.Summary.load("a.npz"))
