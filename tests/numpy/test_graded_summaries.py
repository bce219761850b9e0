"""Files and reports of summaries of answers with grades."""

import io

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_summary_privacy import cut, saved, smallest_atom
from tests.report.reports import words
from uncertainty_metrics._report.data._predictions import Confidences, Stream
from uncertainty_metrics._report.sections._selective_prediction import slope_by_rank


def graded(rng, n=300, weighted=False, gap=0.0):
    """Returns grades of five votes, and confidences of which no two are equal."""
    confidences = rng.permutation(np.linspace(0.05, 0.95, n))
    data = {
        "correct": rng.binomial(5, np.clip(confidences - gap, 0, 1)) / 5,
        "confidences": confidences,
    }
    if weighted:
        data["sample_weight"] = rng.uniform(0.5, 2, n)
    return data


def summary_of(data, **options):
    summary = um.Summary()
    summary.update(**data, **options)
    return summary


def same_moments(first, second):
    for name, moments in first.means().items():
        np.testing.assert_allclose(second.means()[name], moments, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_file_keeps_means_and_their_errors(weighted, rng):
    summary = summary_of(graded(rng, weighted=weighted))
    loaded, arrays = saved(summary)
    assert len(arrays["spreads"]) == 1 + weighted
    same_moments(summary, loaded)
    np.testing.assert_allclose(loaded.brier_gain()[0], summary.brier_gain()[0])
    assert loaded.num_examples == 300
    ends = (
        each.decisions.calibration_error_interval(num_bins=5)
        for each in (summary, loaded)
    )
    np.testing.assert_allclose(*ends, atol=0.02)
    with pytest.raises(ValueError, match="needs outcomes that are 0 or 1"):
        loaded.decision_cells()
    # A file of a file, and of two files.
    again, more = saved(loaded)
    np.testing.assert_allclose(more["spreads"], arrays["spreads"], rtol=1e-12)
    same_moments(again + loaded, summary + summary)
    same_moments(saved(again + summary)[0], summary + summary)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [50, 61, 300])
def test_spreads_are_over_the_blocks_of_five_examples_or_more(n, weighted, rng):
    data = graded(rng, n, weighted)
    _, arrays = saved(summary_of(data))
    y, p = data["correct"], data["confidences"]
    w = data.get("sample_weight", np.ones(n))
    order = np.argsort(arrays["decided"][3] / arrays["decided"][2])
    members = cut(np.argsort(p), arrays["decided"][2:5], w * np.stack([p**0, p, y]))
    assert smallest_atom(members, n) >= 5
    for power, row in enumerate(arrays["spreads"][:, order], 1):
        expected = [np.sum((w**power * y * (1 - y))[each]) for each in members]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)


def test_a_private_file_of_grades_is_refused(rng):
    with pytest.raises(ValueError, match="needs outcomes that are 0 or 1"):
        summary_of(graded(rng)).save(io.BytesIO(), private=1.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows + 10,
        lambda rows: -rows,
        lambda rows: 0 * rows,
        lambda rows: rows[:, 1:],
        lambda rows: np.vstack([rows, rows, rows]),
        lambda rows: rows * np.nan,
        lambda rows: rows.astype(np.float32),
    ],
)
def test_spreads_that_no_grades_have_are_refused(change, weighted, rng):
    _, arrays = saved(summary_of(graded(rng, weighted=weighted)))
    arrays["spreads"] = change(arrays["spreads"])
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with pytest.raises(ValueError, match=r"^[^\n]*Received: [^\n]*$"):
        um.Summary.load(file)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("source", ["memory", "file"])
def test_a_report_of_a_summary_is_that_of_the_rows(source, weighted, rng, tmp_path):
    data = graded(rng, 1000, weighted, gap=0.04)
    summary = summary_of(data)
    if source == "file":
        summary, _ = saved(summary)
    report, of_rows = um.report(summary), um.report(**data).to_dict()
    found, told = report.to_dict(), words(report.summary())
    section, expected = (each["calibration"] for each in (found, of_rows))
    assert section["mean_grade"] == pytest.approx(expected["mean_grade"])
    assert section["verdict"] == expected["verdict"]
    for name, row in section["means"].items():
        if row["low"] is not None:
            np.testing.assert_allclose(
                [*row.values()], [*expected["means"][name].values()], atol=3e-4
            )
    for name in ("ece", "ece_by_chance", "verdict"):
        pair = [each["calibration_of_grades"][name] for each in (found, of_rows)]
        if name != "verdict":
            np.testing.assert_allclose(*pair, rtol=0.02)
    for name in ("brier_score", "negative_log_likelihood", "squared_error"):
        pair = [each["scoring_rules"]["metrics"][name] for each in (found, of_rows)]
        assert pair[0]["value"] == pytest.approx(pair[1]["value"])
    one, two = (each["scoring_rules"]["constant"] for each in (found, of_rows))
    assert one["gain"] == pytest.approx(two["gain"])
    assert np.log(one["p_value"]) == pytest.approx(np.log(two["p_value"]), rel=1e-3)
    ends = [each["intervals"]["metrics"]["mean_grade"] for each in (found, of_rows)]
    np.testing.assert_allclose(*([*row.values()] for row in ends), atol=2e-3)
    assert "Surer answers have better grades." in told
    assert "Left out, because they count right and wrong answers" in told
    assert "a summary does not tell single grades" in told
    assert "bayesian_ece" not in found
    report.save(tmp_path)


@pytest.mark.parametrize("weighted", [False, True])
def test_whether_surer_answers_have_better_grades_is_told_as_of_rows(weighted, rng):
    data = graded(rng, 400, weighted)
    data["correct"] = rng.permutation(data["correct"])
    summary = summary_of(data)
    of_rows = slope_by_rank(Confidences("", **data, are_graded=True))
    of_cells = slope_by_rank(Stream("", summary))
    of_blocks = slope_by_rank(Stream("", saved(summary)[0]))
    # The ranks of cells are by weight, those of rows by number.
    np.testing.assert_allclose(of_cells, of_rows, atol=2e-3 if weighted else 1e-12)
    np.testing.assert_allclose(of_blocks, of_cells, atol=1e-3)


def test_a_report_of_grades_in_clusters_says_both(rng):
    data = graded(rng)
    report = um.report(summary_of(data, clusters=np.repeat(np.arange(60), 5)))
    told = words(report.summary())
    assert "Left out, because a summary does not tell which of its examples" in told
    assert "Left out, because they count right and wrong answers" in told
    assert "calibration_of_grades" not in report.to_dict()
    assert "Whether surer answers have better grades" in told


def test_grades_are_not_compared_with_right_and_wrong(rng):
    data = graded(rng)
    binary = summary_of({**data, "correct": np.round(data["correct"])})
    for pair in ((binary, summary_of(data)), (summary_of(data), binary)):
        with pytest.raises(ValueError, match="cannot be compared with right and wrong"):
            um.report(pair[0], compare={"b": pair[1]})
    both = um.report(summary_of(data), compare={"b": summary_of(data)}).to_dict()
    assert both["comparison"]["numbers"]["mean_grade"]["first"] == pytest.approx(
        data["correct"].mean()
    )
