"""`Summary`: sums of predictions equal direct computations, and add up."""

import io
import math

import numpy as np
import pytest
from scipy import special

import uncertainty_metrics.numpy as um

KINDS = ["two classes", "four classes", "answers"]
each_kind = pytest.mark.parametrize("kind", KINDS)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])


def predictions(rng, kind, n, weighted=False):
    """Returns the arguments of `update`."""
    data = {"sample_weight": rng.uniform(0.5, 2, n)} if weighted else {}
    if kind == "answers":
        p = rng.random(n)
        return {"correct": rng.random(n) < p**1.2, "confidences": p, **data}
    classes = 2 if kind == "two classes" else 4
    logits = 2 * rng.normal(size=(n, classes))
    labels = np.argmax(logits + rng.gumbel(size=(n, classes)), axis=1)
    return {"labels": labels, "probabilities": special.softmax(logits, axis=1), **data}


def part(data, rows):
    return {name: values[rows] for name, values in data.items()}


def summary_of(*batches):
    summary = um.Summary()
    for batch in batches:
        summary.update(**batch)
    return summary


def scores_of(data):
    """Returns decisions, confidences, Brier scores and likelihoods of all rows."""
    if "correct" in data:
        y, p = data["correct"].astype(float), data["confidences"]
        return y, p, (p - y) ** 2, -np.log(np.where(y == 1, p, 1 - p))
    y, p = data["labels"], data["probabilities"]
    rows = np.arange(len(y))
    right = p.argmax(axis=1) == y
    brier = np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)
    return right.astype(float), p.max(axis=1), brier, -np.log(p[rows, y])


@each_kind
@weighted_or_not
def test_means_and_errors_are_those_of_all_rows(kind, weighted, rng):
    data = predictions(rng, kind, 500, weighted)
    summary = summary_of(part(data, slice(0, 120)), part(data, slice(120, None)))
    weights = data.get("sample_weight", np.ones(500))
    right, sure, brier, nll = scores_of(data)
    means = summary.means()
    expected = {
        "accuracy": right,
        "gap": right - sure,
        "brier_score": brier,
        "negative_log_likelihood": nll,
    }
    for name, scores in expected.items():
        mean = np.average(scores, weights=weights)
        error = np.sqrt(np.sum(weights**2 * (scores - mean) ** 2)) / weights.sum()
        if name == "accuracy":
            shares = weights / weights.sum()
            error = np.sqrt(mean * (1 - mean) * np.sum(shares**2))
        np.testing.assert_allclose(means[name], (mean, error), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        means["mean_confidence"].mean, np.average(sure, weights=weights)
    )
    assert summary.num_examples == 500
    np.testing.assert_allclose(
        summary.effective_examples, weights.sum() ** 2 / np.sum(weights**2)
    )


@each_kind
@weighted_or_not
def test_gain_over_the_shares_of_the_labels_is_that_of_all_rows(kind, weighted, rng):
    data = predictions(rng, kind, 400, weighted)
    weights = data.get("sample_weight", np.ones(400))
    labels = data.get("labels", data.get("correct")).astype(int)
    _, _, brier, _ = scores_of(data)
    truth = np.eye(labels.max() + 1)[labels]
    shares = np.average(truth, axis=0, weights=weights)
    constant = np.sum((truth - shares) ** 2, axis=1)
    if kind == "answers":
        constant = constant / 2
    gains = constant - brier
    gain = np.average(gains, weights=weights)
    error = np.sqrt(np.sum(weights**2 * (gains - gain) ** 2)) / weights.sum()
    found, of_shares = summary_of(data).brier_gain()
    np.testing.assert_allclose(found, (gain, error), rtol=1e-9)
    np.testing.assert_allclose(of_shares, np.average(constant, weights=weights))


@each_kind
def test_sketches_have_the_same_bits_for_any_batches(kind, rng):
    data = predictions(rng, kind, 300)
    whole = summary_of(data)
    halves = [summary_of(part(data, slice(i, None, 2))) for i in range(2)]
    total = sum([*halves, um.Summary()])
    assert total.decisions == whole.decisions
    assert total.classes == whole.classes
    np.testing.assert_allclose(
        total.means()["brier_score"], whole.means()["brier_score"]
    )
    np.testing.assert_allclose(whole.decisions.ece(), um.ece(**data), rtol=0, atol=2e-3)


EDGES = [0.0, 1e-300, 2.0**-149, 2.0**-130, 2.0**-31, 2.0**-13, 0.1, 0.25, 0.5]
EDGES += [np.nextafter(0.5, x) for x in (0, 1)] + [0.7, 1 - 2.0**-24, 1 - 2.0**-53, 1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 2])
def test_cells_of_two_classes_are_those_of_the_sketch_of_each(dtype, columns, rng):
    """Of the decisions, of each class, and of the decisions for each class."""
    p = np.concatenate([EDGES, rng.beta(0.2, 0.3, 200_000)]).astype(dtype)
    labels = rng.random(len(p)) < p
    both = np.stack([1 - p, p], axis=1)
    summary = summary_of(
        {"labels": labels, "probabilities": p if columns == 1 else both}
    )
    decided = both[:, 1] > both[:, 0]
    right, confidences = decided == labels, both.max(axis=1)
    decisions = um.ScoreSketch()
    decisions.update(correct=right, confidences=confidences)
    assert summary.decisions == decisions
    classes = um.ScoreSketch(max_prob=False, class_conditional=True)
    classes.update(labels, both)
    assert summary.classes._content.sums.equals(classes._content.sums)
    of_tops = summary._tops.cells(3, classes._bits(2))
    assert len(of_tops[2].weights) == 0
    for k, cells in enumerate(of_tops[:2]):
        chosen = decided == k
        assert cells.weights.sum() == chosen.sum()
        assert cells.outcome_sums.sum() == (chosen & right).sum()
        expected = math.fsum(confidences[chosen].tolist())
        np.testing.assert_allclose(math.fsum(cells.score_sums), expected, rtol=1e-14)


def test_impossible_labels_are_counted(rng):
    summary = summary_of({"labels": [0, 1, 1], "probabilities": [0.2, 0.0, 0.5]})
    assert summary.impossible == 1
    assert summary.means()["negative_log_likelihood"].mean == np.inf


@each_kind
@weighted_or_not
def test_saved_cells_hold_five_examples_and_answers_stay(kind, weighted, rng):
    summary = summary_of(predictions(rng, kind, 2000, weighted))
    file = io.BytesIO()
    summary.save(file)
    file.seek(0)
    loaded = um.Summary.load(file)
    assert loaded.num_examples == 2000
    for before, after in (
        (summary.decisions, loaded.decisions),
        (summary.classes, loaded.classes),
    ):
        if before is None:
            assert after is None
            continue
        for cells in after._groups():
            # Of weights from 0.5 to 2.
            assert cells.weights.min() >= (2.5 if weighted else 5)
        np.testing.assert_allclose(
            after.general_calibration_error("even", "l1"),
            before.general_calibration_error("even", "l1"),
            rtol=0,
            atol=5e-3,
        )
    for name, moments in summary.means().items():
        np.testing.assert_allclose(loaded.means()[name], moments, rtol=1e-12)
    np.testing.assert_allclose(loaded.effective_examples, summary.effective_examples)
    assert (summary.squared_weights() is None) == (not weighted)


def test_a_bad_batch_leaves_the_summary_as_it_was(rng):
    summary = summary_of(predictions(rng, "two classes", 20))
    before = summary.means()
    for bad, message in (
        ({"labels": [0, 1], "probabilities": [0.3, 1.2]}, r"in \[0, 1\]"),
        ({"labels": [0, 1], "probabilities": np.full((2, 3), 1 / 3)}, "2 classes"),
        ({"correct": [True], "confidences": [0.4]}, "either of `labels`"),
        (
            {"labels": [0], "probabilities": [0.3], "sample_weight": [1e200]},
            "small enough to be squared|a sum up to",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            summary.update(**bad)
        assert summary.means() == before
        assert not summary.is_weighted


def test_summaries_of_other_classes_do_not_add(rng):
    two, four = (summary_of(predictions(rng, kind, 9)) for kind in KINDS[:2])
    with pytest.raises(ValueError, match="of the same classes"):
        two + four
    with pytest.raises(ValueError, match="no examples"):
        um.Summary().means()
    with pytest.raises(TypeError):
        two + 1


def test_weighted_and_unweighted_summaries_add():
    """Without weights, all are 1."""
    data = {"correct": [1, 0, 1], "confidences": [0.9, 0.8, 0.7]}
    plain = summary_of(data)
    weighted = summary_of({**data, "sample_weight": [2, 3, 4]})
    for total in (plain + weighted, weighted + plain):
        assert total.is_weighted
        squares = total.squared_weights()
        np.testing.assert_array_equal(squares, [[0, 10, 0], [17, 0, 5]])
        assert total.effective_examples == 12**2 / (3 + 4 + 9 + 16)
