"""Reports of models with several labels of each example."""

import json
import re

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import (
    fails,
    numbers,
    run,
    tiles,
    write_csv,
    write_parquet,
)
from uncertainty_metrics._report.page._picture_files import draw

pytestmark = pytest.mark.usefixtures("own_directory", "undrawn")

NAMES = ["rock", "jazz", "folk", "pop"]


def tagged(n=600, seed=0, too_low=0.15):
    """Returns labels and probabilities [n, 4]; those of "folk" are too low."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(size=(n, 4)) + np.arange(4)))
    labels = (rng.random((n, 4)) < p).astype(int)
    p[:, 2] = np.clip(p[:, 2] - too_low, 0.01, 1)
    return labels, p


def reported(labels, p, **options):
    found = um.report(labels, p, multilabel=True, classes=NAMES, **options)
    return found.to_dict()


def rows_of(found):
    return {row["name"]: row for row in found["labels"]["rows"]}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_each_label_has_the_numbers_of_the_functions(weighted, clustered):
    labels, p = tagged()
    weights = np.random.default_rng(1).uniform(0, 1, 600) if weighted else None
    if weighted:
        weights[:10] = 0
    clusters = np.arange(600) // 3 if clustered else None
    found = reported(labels, p, sample_weight=weights, clusters=clusters)
    if clustered:  # Three have the weight 0.
        assert found["data"]["clusters"] == (197 if weighted else 200)
    for place, name in enumerate(NAMES):
        row, y, q = rows_of(found)[name], labels[:, place], p[:, place]
        assert row["share"] == pytest.approx(np.average(y, weights=weights))
        assert row["brier_score"] == pytest.approx(
            np.average((y - q) ** 2, weights=weights)
        )
        given = {"labels": y, "sample_weight": weights}
        assert row["ece"] == pytest.approx(
            um.ece(probabilities=q, **given, positive_class=True)
        )
        auroc = um.auroc_interval(y, q, sample_weight=weights, clusters=clusters)
        error = um.calibration_error_interval(
            probabilities=q, **given, clusters=clusters, num_bins=15
        )
        for key, ends in {"auroc": auroc, "calibration_error": error}.items():
            shown = [row[key][end] for end in ("low", "estimate", "high")]
            assert shown == pytest.approx([*ends[:3]])


def test_a_p_value_that_draws_cannot_lower_is_a_bound():
    labels, p = tagged()
    report = um.report(labels, p, multilabel=True, clusters=np.arange(600) // 3)
    (first, *_) = report.tables()["Single labels"].rows
    assert first[0] == "2"
    assert first[2] == "≤0.004"  # 1 / 1000, times four labels.


def test_the_test_is_that_of_each_label_and_adjusted_for_all():
    labels, p = tagged()
    found = reported(labels, p)
    for place, name in enumerate(NAMES):
        (alone,) = um.calibration_by_group(
            correct=labels[:, place],
            confidences=p[:, place],
            groups=np.zeros(600, int),
            statistic="kuiper",
        )
        assert rows_of(found)[name]["p_value"] == pytest.approx(alone.p_value, abs=0.05)
    p_values = [row["p_value"] for row in found["labels"]["rows"]]
    adjusted = [row["adjusted_p_value"] for row in found["labels"]["rows"]]
    holm = np.maximum.accumulate(np.minimum(1, np.array(p_values) * [4, 3, 2, 1]))
    assert adjusted == pytest.approx(holm)
    assert found["labels"]["miscalibrated"] == ["folk"]
    assert tiles(found)["Calibration"]["value"] == "1 of 4 labels miscalibrated"


def test_the_means_over_labels():
    labels, p = tagged()
    found = reported(labels, p)
    means, rows = found["labels"]["means"], rows_of(found).values()
    for name in ("share", "brier_score", "ece"):
        of_rows = np.mean([row[name] for row in rows])
        assert means[name]["estimate"] == pytest.approx(of_rows)
    auroc = um.auroc(labels, p, multilabel=True)
    assert means["auroc"]["estimate"] == pytest.approx(auroc)
    brier = um.brier_score(labels, p, multilabel=True, zero_based=True) / 2
    assert means["brier_score"]["estimate"] == pytest.approx(brier)
    each = ((labels - p) ** 2).mean(axis=1)
    width = means["brier_score"]["high"] - means["brier_score"]["low"]
    assert width == pytest.approx(2 * 1.96 * each.std() / 600**0.5, rel=1e-3)
    shares = labels.mean(axis=0)
    constant = found["labels"]["constant"]["constant"]
    assert constant == pytest.approx(np.mean(shares * (1 - shares)))


def test_copies_of_examples_are_one_cluster():
    labels, p = tagged(200, too_low=0.0)
    alone = reported(labels, p)
    twice = np.repeat(labels, 2, axis=0), np.repeat(p, 2, axis=0)
    found = reported(*twice, clusters=np.repeat(np.arange(200), 2))
    for name, row in rows_of(found).items():
        for key in ("low", "high"):
            expected = rows_of(alone)[name]["calibration_error"][key]
            assert row["calibration_error"][key] == pytest.approx(expected, abs=1e-9)


def test_a_calibrated_tagger_has_few_findings():
    found = [
        reported(*tagged(400, seed=seed, too_low=0.0))["labels"]["miscalibrated"]
        for seed in range(20)
    ]
    assert sum(map(bool, found)) <= 4  # At most 5% of data sets; P(more) < 0.3%.


def write_tags(header=("label_{}", "prob_{}"), labels=None):
    given, p = tagged()
    columns = [form.format(name) for form in header for name in NAMES]
    labels = given if labels is None else labels
    rows = np.concatenate([labels.astype(object), p.astype(object)], axis=1)
    write_csv("tags.csv", columns, rows.tolist())
    return columns


@pytest.mark.parametrize(
    "header",
    [("label_{}", "prob_{}"), ("{}", "p_{}"), ("y_true_{}", "y_prob_{}")],
)
def test_columns_of_files(header):
    write_tags(header)
    run("tags.csv", "--multilabel")
    labels, p = tagged()
    expected = reported(labels, p, name="tags.csv")
    assert numbers()["labels"] == json.loads(json.dumps(expected["labels"]))
    assert numbers()["task"] == "multilabel"


def test_other_formats():
    labels, p = tagged()
    expected = json.loads(json.dumps(reported(labels, p)["labels"]))
    np.savez("a.npz", labels=labels, probabilities=p, classes=NAMES)
    run("a.npz", "--multilabel")
    assert numbers()["labels"] == expected
    columns = {f"label_{name}": labels[:, i] == 1 for i, name in enumerate(NAMES)}
    columns |= {f"prob_{name}": p[:, i] for i, name in enumerate(NAMES)}
    records = [
        {name: values[i].item() for name, values in columns.items()} for i in range(600)
    ]
    with open("a.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    run("a.jsonl", "--multilabel")
    assert numbers()["labels"] == expected
    write_tags(labels=np.where(labels == 1, "true", "false"))
    run("tags.csv", "--multilabel")
    assert numbers()["labels"] == expected
    write_parquet("a.parquet", columns)
    run("a.parquet", "--multilabel")
    assert numbers()["labels"] == expected


def test_logits_are_probabilities():
    labels, p = tagged()
    given = um.report(labels, logits=np.log(p / (1 - p)), multilabel=True).to_dict()
    (first, second) = (each["labels"]["rows"] for each in (given, reported(labels, p)))
    for row, other in zip(first, second, strict=True):
        assert row["brier_score"] == pytest.approx(other["brier_score"])


def test_data_frames_name_the_labels():
    pandas = pytest.importorskip("pandas")
    labels, p = tagged()
    frames = pandas.DataFrame(labels, columns=NAMES), pandas.DataFrame(p, columns=NAMES)
    found = um.report(frames[0], frames[1][NAMES[::-1]], multilabel=True).to_dict()
    assert found["labels"] == reported(labels, p)["labels"]
    other = frames[1].rename(columns={"rock": "metal"})
    with pytest.raises(ValueError, match="must have the same columns"):
        um.report(frames[0], other, multilabel=True)


LABELS, P = tagged(60)
BAD = {
    "one axis": ((LABELS[:, 0], P[:, 0]), {}, "need labels [N, L]"),
    "other shapes": ((LABELS, P[:, :3]), {}, "of the same shape"),
    "2": ((LABELS + 1, P), {}, "each of several labels must be 0 or 1"),
    "percent": ((LABELS, 100 * P), {}, "`probabilities` must be in [0, 1]"),
    "groups": ((LABELS, P), {"groups": [1] * 60}, "no groups"),
    "names": ((LABELS, P), {"classes": ["a"]}, "must be 4 different names"),
    "same names": ((LABELS, P), {"classes": ["a"] * 4}, "must be 4 different names"),
    "other labels": (
        (LABELS, P),
        {"compare": {"b": P[:, :3]}},
        "of the same shape",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    data, options, message = BAD[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        um.report(*data, multilabel=True, **options)


def test_models_are_compared():
    labels, p = tagged(300)
    better = np.clip(p + np.array([0, 0, 0.15, 0]), 0, 1)
    clusters = np.arange(300) // 3
    expected = um.compare(
        labels, {"a": p, "b": better}, clusters=clusters, multilabel=True
    )
    for others in ({"b": better}, {"b": better, "c": 1 - p}):
        found = um.report(
            *(labels, p),
            multilabel=True,
            clusters=clusters,
            name="a",
            compare=others,
        )
        comparison = found.to_dict()["comparison"]
        assert comparison["models"] == ["a", *others]
        assert comparison["clusters"] == 100
        values = {(row.model, row.metric): row.value for row in expected}
        assert values == {
            (row["model"], row["metric"]): row["value"]
            for row in comparison["rows"]
            if row["model"] != "c"
        }
        assert {*draw(*found._models)} == {
            *("calibration_by_label_diagram.png", "comparison.png"),
            "reliability_diagram.png",
        }
    assert "Comparison of all models" in found.summary()
    first = um.report(labels, p, multilabel=True, compare={"b": better}).to_dict()
    differences = um.compare(labels, {"a": p, "b": better}, multilabel=True)
    assert [row.p_value for row in differences if not row.is_best] == [
        row["p_value"] for row in first["comparison"]["rows"] if not row["is_best"]
    ]


def test_files_are_compared_with_labels_in_any_order():
    labels, p = tagged(60)
    columns = [f"{kind}_{name}" for name in NAMES for kind in ("label", "prob")]
    both = np.stack([labels, p], axis=-1)
    write_csv("a.csv", columns, both.reshape(60, 8).tolist())
    both[:, :, 1] = p**2
    turned = both[:, ::-1].reshape(60, 8).tolist()
    names = [f"{kind}_{name}" for name in NAMES[::-1] for kind in ("label", "prob")]
    write_csv("b.csv", names, turned)
    run("a.csv", "--multilabel", "--compare", "b.csv")
    expected = um.compare(labels, {"a": p, "b": p**2}, multilabel=True)
    rows = {(r["model"], r["metric"]): r for r in numbers()["comparison"]["rows"]}
    for row in expected:
        found = rows[row.model, row.metric]
        assert found["value"] == pytest.approx(row.value, abs=1e-12)
        assert found["is_best"] == row.is_best


def test_without_saying_so_it_is_refused(capsys):
    with pytest.raises(ValueError, match="pass multilabel=True"):
        um.report(LABELS, P)
    write_tags()
    typed = "`python -m uncertainty_metrics report tags.csv --multilabel`"
    assert f"for several labels of each example type {typed}. Rec" in fails(
        capsys, "tags.csv"
    )


def test_unknown_names_of_forecasts(capsys):
    write_csv("a.csv", ["a", "b", "pred_a", "pred_b"], [[1, 0, 0.5, 0.5]])
    hint = "rename `pred_NAME` to `prob_NAME`"
    assert hint + " and type `python -m" in fails(capsys, "a.csv")
    assert f"for each label: {hint}." in fails(capsys, "a.csv", "--multilabel")


def test_bad_files(capsys):
    write_csv("a.csv", ["label_a", "label_b", "prob_a"], [[1, 0, 0.5]])
    wrong = fails(capsys, "a.csv", "--multilabel")
    assert "Without a partner: label_b" in wrong
    write_csv("b.csv", ["label_a", "prob_a"], [[1, 0.5], [3, 0.5]])
    wrong = fails(capsys, "b.csv", "--multilabel")
    assert "line 3: `label_a` must be 0 or 1, or true or false. Received: 3" in wrong
    write_csv("c.csv", ["label", "p0", "p1"], [[1, 0.5, 0.5]])
    assert "`label_NAME` (or `NAME`) with `prob_NAME`" in fails(
        capsys, "c.csv", "--multilabel"
    )
    write_csv("d.csv", ["label_a", "prob_a", "p_a"], [[1, 0.5, 0.5]])
    assert "may both be the probability of" in fails(capsys, "d.csv", "--multilabel")
    write_csv("e.csv", ["label_a", "prob_a"], [[1, 0.5], [0, 1.5]])
    assert "must be in [0, 1]" in fails(capsys, "e.csv", "--multilabel")
    wrong = fails(capsys, "b.csv", "--multilabel", "--group", "label_a")
    assert "--multilabel takes no" in wrong


def test_several_files_and_few_examples(capsys):
    labels, p = tagged(40)
    for i, part in enumerate((slice(0, 30), slice(30, 40))):
        np.savez(f"{i}.npz", labels=labels[part], probabilities=p[part])
    run("0.npz", "1.npz", "--multilabel")
    found = numbers()
    assert found["data"]["examples"] == 40
    assert tiles(found)["Calibration"]["value"] == "Too few to say"
    assert found["labels"]["rows"][0]["p_value"] is None
    one = um.report([[1, 0]], [[0.7, 0.1]], multilabel=True)
    assert "Labels" in one.summary()


def test_an_absent_label_has_no_auroc():
    labels, p = tagged(100)
    labels[:, 3] = 0
    found = reported(labels, p)
    assert rows_of(found)["pop"]["auroc"] is None
    aurocs = [rows_of(found)[name]["auroc"]["estimate"] for name in NAMES[:3]]
    assert found["labels"]["means"]["auroc"]["estimate"] == pytest.approx(
        np.mean(aurocs)
    )
