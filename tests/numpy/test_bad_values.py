"""Errors about values say what to do, and where the value is in the argument."""

import re

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

LABELS = np.array([0, 1, 1, 0])
P = np.array([0.2, 0.7, 0.9, 0.4])
ROWS = np.stack([1 - P, P], axis=1)
LOGITS = "for logits use `logits`"


def message(function, *arguments, **options):
    with pytest.raises(ValueError, match="must") as raised:
        function(*arguments, **options)
    return str(raised.value)


def with_one(value):
    rows = ROWS.copy()
    rows[2, 1] = value
    return rows


@pytest.mark.parametrize(
    ("predictions", "action", "received"),
    [
        (with_one(np.nan), "not NaN: leave out examples", "nan at [2, 1]"),
        (100 * ROWS, "; divide percent by 100.", "80.0 at [0, 0]"),
        (100 * P, "; divide percent by 100.", "20.0 at [0]"),
        (5 * P, f"; divide percent by 100; {LOGITS}.", "3.5 at [1]"),
        (with_one(1.000001), "; clip rounding errors with np.clip.", "1.000001 at"),
        (with_one(-1e-9), "; clip rounding errors with np.clip.", "-1e-09 at [2, 1]"),
        (np.log(ROWS), f"; {LOGITS}.", "-0.22314355"),
        (with_one(700.0), f"; {LOGITS}.", "700.0 at [2, 1]"),
        (with_one(np.inf), f"; {LOGITS}.", "inf at [2, 1]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("function", [um.ece, um.sce, um.brier_score, um.aurc])
def test_each_mistake_of_probabilities_has_its_own_message(
    function, predictions, action, received
):
    said = message(function, LABELS, predictions)
    assert said.startswith("`probabilities` must be in [0, 1]")
    assert action in said
    assert received in said


def test_confidences_are_told_of_percent_and_logarithms():
    for confidences, action in (
        (100 * P, "; divide percent by 100."),
        (np.log(P), "; take the exponential of log-probabilities."),
        (np.where(P > 0.8, np.nan, P), "not NaN"),
    ):
        said = message(um.ece, correct=LABELS, confidences=confidences)
        assert said.startswith("`confidences` must be in [0, 1]")
        assert action in said


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [um.ece, um.brier_score, um.aurc, um.sce])
def test_rounding_of_float32_is_rounding_in_float64_too(function, dtype):
    rounded = with_one(1 + 4 * np.finfo(np.float32).eps).astype(dtype)
    assert rounded[2, 1] > 1
    expected = function(LABELS, with_one(1).astype(dtype))
    assert function(LABELS, rounded) == expected
    column = function(LABELS, with_one(1).astype(dtype)[:, 1])
    assert function(LABELS, rounded[:, 1]) == column
    correct = {"correct": LABELS, "confidences": rounded[:, 1]}
    right = {**correct, "confidences": with_one(1).astype(dtype)[:, 1]}
    assert um.ece(**correct) == um.ece(**right)


@pytest.mark.parametrize(
    ("labels", "action"),
    [
        (2 * LABELS - 1, "; for -1 and 1 pass (labels + 1) // 2."),
        (LABELS + 1, "; subtract 1 if they count from 1."),
        (np.where(LABELS, np.nan, 0), "; leave out examples without a label."),
        (LABELS + 2, "[0, 2). Received: 2 at [0]"),
    ],
)
def test_labels_say_how_to_make_classes_of_them(labels, action):
    assert action in message(um.ece, labels, ROWS)
    assert action.replace("[0, 2)", "0 or 1") in message(um.auroc, labels, P)


def test_lengths_and_axes_that_do_not_fit_are_named():
    said = message(um.ece, [0, 1, 1, 0, 1], ROWS)
    assert "4 rows for 5 labels" in said
    assert "4 rows for 5 labels" in message(um.brier_score, [0, 1, 1, 0, 1], P)
    rows = np.full([4, 3], 1 / 3)
    said = message(um.ece, LABELS, rows.T)
    assert "classes on the last axis: pass np.moveaxis(probabilities, 0, -1)" in said
    np.testing.assert_array_equal(np.moveaxis(rows.T, 0, -1), rows)
    assert "4 rows for 3 labels" in message(um.ece, LABELS[:3], rows)
    pixels = np.zeros([2, 5, 6], int)
    said = message(um.ece, pixels, np.full([2, 3, 5, 6], 1 / 3))
    assert "np.moveaxis(probabilities, 1, -1)" in said


PLACE = (1, 2, 3)
COUNTED = np.ones([2, 3, 4])
COUNTED[0, 1] = 0


@pytest.mark.parametrize("weights", [None, COUNTED], ids=["all", "some"])
@pytest.mark.parametrize("function", [um.ece, um.brier_score, um.ace, um.aurc])
def test_the_place_is_in_the_shape_that_was_passed(function, weights):
    labels, rows = np.zeros([2, 3, 4], int), np.full([2, 3, 4, 3], 1 / 3)

    def place(word, **changed):
        given = {"labels": labels, "probabilities": rows, "sample_weight": weights}
        given = {k: v for k, v in {**given, **changed}.items() if v is not None}
        found = re.search(r"at (\[.*\])$", message(function, **given))
        return found.group(1) if found else word

    bad = rows.copy()
    bad[(*PLACE, 1)] = np.nan
    assert place("p", probabilities=bad) == "[1, 2, 3, 1]"
    logits = np.log(rows)
    logits[(*PLACE, 2)] = np.inf
    assert place("logits", probabilities=None, logits=logits) == "[1, 2, 3, 2]"
    logits[PLACE] = -np.inf
    assert place("row", probabilities=None, logits=logits) == "[1, 2, 3, 0]"
    wrong = labels.copy()
    wrong[PLACE] = 3
    assert place("labels", labels=wrong) == "[1, 2, 3]"
    for shape in ((2, 3, 4), (2, 3, 4, 1)):
        column = np.full(shape, 0.5)
        column[PLACE] = 3
        end = ", 0]" if len(shape) > 3 else "]"
        assert place("column", probabilities=column) == f"[1, 2, 3{end}"
    heavy = np.ones([2, 3])
    heavy[1, 2] = -1
    assert place("weights", sample_weight=heavy) == "[1, 2]"


def test_the_place_of_scores_and_of_calibrators():
    labels = np.array([[0, 1, 0], [1, 1, 0]])
    scores = np.array([[0.5, 0.2, 0.4], [0.1, np.nan, 3.0]])
    weights = np.array([[0, 1, 1], [1, 1, 1]])
    said = message(um.auroc, labels, scores, sample_weight=weights)
    assert said.endswith("nan at [1, 1]")
    said = message(um.auroc, 3 * labels, labels, sample_weight=weights)
    assert said.endswith("3 at [0, 1]")
    said = message(um.PlattScaling().fit, labels, probabilities=scores)
    assert said.endswith("nan at [1, 1]")
