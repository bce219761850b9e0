"""`ignore_index` and --ignore-index leave out the examples with a label."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import fails, write_csv
from uncertainty_metrics import _report as report
from uncertainty_metrics._report.reading._arrays import model_of
from uncertainty_metrics._report.reading._column_names import Choice

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.mark.parametrize("ending", ["csv", "npz"])
@pytest.mark.parametrize("labels", [(1, -100, 0), ("b", "-100", "a")])
def test_rows_with_the_label_to_ignore(labels, ending):
    columns = {
        "label": labels,
        "prob_a": (0.1, 0.5, 0.8),
        "prob_b": (0.9, 0.5, 0.2),
        "site": ("x", "y", "z"),
        "sample_weight": (1.0, 2.0, 3.0),
    }
    options = {"ignore_index": -100, "groups": ("site",), "classes": ("a", "b")}
    if ending == "csv":
        options |= {"probabilities": "prob_a,prob_b"}
        write_csv("a.csv", list(columns), zip(*columns.values(), strict=True))
    else:
        p = np.transpose([columns["prob_a"], columns["prob_b"]])
        rest = {name: columns[name] for name in ("label", "site", "sample_weight")}
        np.savez("a.npz", probabilities=p, **rest)
    found = report.read_predictions(f"a.{ending}", Choice(**options))
    assert found.labels.tolist() == [1, 0]
    assert found.values.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    assert list(found.groups["site"]) == ["x", "z"]
    assert found.sample_weight.tolist() == [1, 3]
    assert "1 example has the label -100, and no number counts them." in found.notes


def test_ignored_labels_that_do_not_fit(capsys):
    write_csv("a.csv", ["y", "p"], [(-100, 0.9), (-100, 0.2)])
    wrong = fails(capsys, "a.csv", "--ignore-index", "-100")
    assert "some labels must not be the label to ignore. Received: -100" in wrong
    write_csv("b.csv", ["y", "mean", "std"], [(-100, 0.9, 1), (1, 0.2, 1)])
    assert "needs a classifier" in fails(capsys, "b.csv", "--ignore-index", "-100")
    wrong = fails(capsys, "a.csv", "b.csv", "--ignore-index", "-100")
    assert "needs all rows of a model in one file" in wrong
    np.savez("a.npz", label=np.ones((2, 3), int), probabilities=np.ones((3, 2, 2)))
    assert "shape" in fails(capsys, "a.npz", "--ignore-index", "1")


def of_pixels():
    """Returns labels of 4 images of 3 x 3 pixels and their predictions, NaN where the
    label is 255, as for a whole image.
    """
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, [4, 3, 3])
    labels[:, 0], labels[2] = 255, 255
    probabilities = rng.dirichlet([1, 1, 1], labels.shape)
    probabilities[labels == 255] = np.nan
    return labels, probabilities


def test_a_report_is_that_of_the_pixels_that_count():
    labels, probabilities = of_pixels()
    counts = labels != 255
    images = np.broadcast_to(np.arange(4)[:, None, None], labels.shape)
    found = um.report(labels, probabilities, ignore_index=255, clusters=np.arange(4))
    expected = um.report(labels[counts], probabilities[counts], clusters=images[counts])
    assert found.scalars() == expected.scalars()
    assert "18 examples have the label 255" in found.summary()
    of_pixels_alone = um.report(labels, probabilities, ignore_index=255).summary()
    assert "Pixels of one image" in " ".join(of_pixels_alone.split())


def test_the_fields_of_the_examples_that_count():
    labels, probabilities = of_pixels()
    counts = labels != 255
    columns = np.char.add("c", np.arange(36).astype(str)).reshape(labels.shape)
    found = model_of(
        *("masks", labels, {"logits": np.log(probabilities)}),
        sample_weight=np.arange(1, 5),
        classes=("a", "b", "c"),
        groups={"column": columns},
        clusters=columns,
        audit={"row": np.arange(36).reshape(labels.shape)},
        ignore_index=255,
    )
    at = np.flatnonzero(counts)
    assert found.labels.tolist() == labels[counts].tolist()
    np.testing.assert_array_equal(found.values, np.log(probabilities)[counts])
    assert found.sample_weight.tolist() == (at // 9 + 1).tolist()
    assert found.groups["column"].tolist() == [f"c{i}" for i in at]
    assert found.clusters.values.tolist() == [f"c{i}" for i in at]
    assert found.features["row"].tolist() == at.tolist()


def test_the_members_of_an_ensemble():
    """Members are on the second axis, before the height and the width."""
    labels, probabilities = of_pixels()
    members = np.stack([probabilities, np.roll(probabilities, 1, axis=-1)], axis=1)
    found = model_of(
        "masks", labels, {"probabilities": members}, None, None, ignore_index=255
    )
    assert found.members == 2
    for i in range(2):
        expected = members[:, i][labels != 255]
        np.testing.assert_array_equal(found.values[:, i], expected)


def test_text_labels_with_columns_in_sorted_order():
    labels, values = np.array(["b", "-100", "a"]), [[0.4, 0.6], [0, 0], [0.9, 0.1]]
    found = model_of(
        "a", labels, {"probabilities": values}, None, None, ignore_index=-100
    )
    assert found.labels.tolist() == [1, 0]
    assert found.classes == ("a", "b")


def test_another_model_of_the_same_examples():
    labels, probabilities = of_pixels()
    other = np.where(np.isnan(probabilities), np.nan, 1 / 3)
    found = um.report(labels, probabilities, ignore_index=255, compare={"even": other})
    assert "even" in found.summary()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"correct": [1, 0], "confidences": [0.5, 0.5]}, "needs a classifier"),
        ({"labels": [1.0], "means": [1.0], "stddevs": [1.0]}, "needs a classifier"),
        (
            {"labels": [[1, 0]], "probabilities": [[0.5, 0.5]], "multilabel": True},
            "needs a classifier with one label",
        ),
        ({"batches": []}, "`batches` must be given without other data"),
        ({"labels": [0, 0], "probabilities": [0.5, 0.5]}, "must not be the label to"),
        ({"labels": [0, 1], "probabilities": [0.5] * 3}, "3 rows for 2 labels"),
        (
            {"labels": [0, 1], "probabilities": [0.5, 0.5], "clusters": [1, 2, 3]},
            "`clusters` must be broadcastable",
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        um.report(**arguments, ignore_index=0)


def test_the_label_is_an_integer():
    with pytest.raises(ValueError, match="`ignore_index` must be None or an int"):
        um.report([0, 1], [0.5, 0.5], ignore_index=0.5)
