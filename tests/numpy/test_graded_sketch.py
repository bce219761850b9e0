"""Sketches and summaries of grades between right and wrong, and of votes."""

import functools
import io
import operator
import pickle

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

# The methods of a sketch that take grades, and their options.
TAKE_GRADES = {
    "ece": {},
    "mce": {"num_bins": 4},
    "rmsce": {},
    "debiased_calibration_error": {"num_bins": 5, "squared": True},
    "calibration_error_interval": {"num_bins": 5},
    "smece": {},
    "ks_calibration_error": {},
    "kuiper_calibration_error": {},
    "atb": {},
    "corp_decomposition": {},
}


def graded(rng, n=300):
    """Makes grades of five steps, and confidences of which no two are in one cell."""
    confidences = rng.choice(np.arange(1, 40) / 40, n).astype(np.float32)
    grades = rng.binomial(4, confidences) / 4
    return {"correct": grades, "confidences": confidences}


def sketch_of(data, **options):
    sketch = um.ScoreSketch(**options)
    sketch.update(**data)
    return sketch


@pytest.mark.parametrize("name", TAKE_GRADES)
@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
def test_a_sketch_of_grades_has_the_value_of_the_function(name, weights, rng):
    data, options = graded(rng), TAKE_GRADES[name]
    if weights != "none":
        most = rng.integers(0, 4, 300)
        data["sample_weight"] = most if weights == "whole" else most * 0.75
    expected = getattr(um, name)(**data, **options)
    found = getattr(sketch_of(data), name)(**options)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_areas_take_the_losses_of_grades(rng):
    data = graded(rng)
    sketch = sketch_of(data)
    expected = um.aurc(losses=1 - data["correct"], confidences=data["confidences"])
    assert sketch.aurc() == pytest.approx(expected, rel=1e-6)
    assert sketch.accuracy() == pytest.approx(data["correct"].mean())


def test_the_curves_of_grades_are_the_mean_over_the_votes(rng):
    p = (rng.choice(np.arange(1, 40), 200) / 40).astype(np.float32)
    votes = rng.random((3, 200)) < p
    shares = np.stack([1 - votes.mean(axis=0), votes.mean(axis=0)], axis=1)
    sketch = um.ScoreSketch(positive_class=True)
    sketch.update(label_distributions=shares, probabilities=p)
    t = np.array([0.1, 0.33, 0.7])
    each = [
        sketch_of({"labels": vote, "probabilities": p}, positive_class=True)
        for vote in votes
    ]
    for name in ("aurc", "augrc"):
        ask = operator.methodcaller(name)
        assert ask(sketch) == pytest.approx(np.mean([*map(ask, each)]))
    for name in ("net_benefit", "murphy_curve"):
        expected = np.mean([getattr(one, name)(t) for one in each], axis=0)
        np.testing.assert_allclose(getattr(sketch, name)(t), expected)
    fitted = np.interp(p, *sketch.isotonic())
    order = um.IsotonicCalibration().fit(label_distributions=shares, probabilities=p)
    expected = order.transform(probabilities=p)
    np.testing.assert_allclose(fitted, expected, atol=1e-6)


@pytest.mark.parametrize("max_prob", [True, False])
def test_a_sketch_takes_the_votes_for_classes(max_prob, rng):
    p = (rng.integers(1, 6, (80, 3)) / 16).astype(np.float32)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    shares = rng.multinomial(3, [0.2, 0.3, 0.5], 80) / 3
    data = {"label_distributions": shares, "probabilities": p}
    options = {"max_prob": max_prob, "class_conditional": not max_prob}
    sketch = sketch_of(data, **options)
    for scheme in ("even", "adaptive"):
        bins = {"binning_scheme": scheme, "num_bins": 5}
        found = sketch.gce(norm="l1", **bins)
        assert found == pytest.approx(um.gce(norm="l1", **bins, **options, **data))
        squared = {**bins, "squared": True}
        expected = um.debiased_calibration_error(**squared, **options, **data)
        found = sketch.debiased_calibration_error(**squared)
        assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_sketches_of_grades_have_the_same_bits_in_any_order(weighted, rng):
    data = graded(rng)
    data["correct"] = rng.random(300)
    data["correct"][:100] = rng.integers(0, 2, 100)  # A batch of right and wrong.
    if weighted:
        data["sample_weight"] = rng.random(300)
    parts = [
        sketch_of({name: values[start : start + 100] for name, values in data.items()})
        for start in (0, 100, 200)
    ]
    whole = sketch_of(data)
    assert functools.reduce(operator.add, parts) == whole
    assert parts[2] + parts[0] + parts[1] == whole
    batches = um.ScoreSketch()
    for rows in np.array_split(rng.permutation(300), 7):
        batches.update(**{name: values[rows] for name, values in data.items()})
    assert batches == whole
    assert parts[0] != whole


def test_booleans_and_the_same_numbers_give_the_same_sketch(rng):
    data = graded(rng)
    right = data["correct"] > 0.5
    sketches = [sketch_of({**data, "correct": y}) for y in (right, right * 1.0)]
    assert sketches[0] == sketches[1]
    assert sketches[0].auroc() == sketches[1].auroc()


def test_a_sketch_of_grades_is_saved_and_pickled(rng, tmp_path):
    sketch = sketch_of(graded(rng))
    sketch.save(tmp_path / "sketch.npz")
    for copy in (
        um.ScoreSketch.load(tmp_path / "sketch.npz"),
        pickle.loads(pickle.dumps(sketch)),
    ):
        assert copy == sketch
        interval = copy.calibration_error_interval()
        assert interval == sketch.calibration_error_interval()


def test_a_file_with_impossible_spreads_is_refused(rng, tmp_path):
    file = io.BytesIO()
    sketch_of(graded(rng)).save(file)
    file.seek(0)
    arrays = dict(np.load(file))
    arrays["spread_sums"] = arrays["spread_sums"][:, ::-1].copy()
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(ValueError, match=r"`spread_sums` must hold sums of y \(1 - y"):
        um.ScoreSketch.load(tmp_path / "changed.npz")


@pytest.mark.parametrize(
    "ask",
    [
        lambda sketch: sketch.auroc(),
        lambda sketch: sketch.excess_aurc(),
        lambda sketch: sketch.spiegelhalter_test(),
        lambda sketch: sketch.conformal_quantile(0.1),
        lambda sketch: sketch.calibration_intercept(),
        lambda sketch: sketch.calibration_slope(),
        lambda sketch: sketch.observed_expected_ratio(),
        lambda sketch: um.calibration_drift(sketch, sketch),
    ],
)
def test_what_needs_0_and_1_says_so(ask, rng):
    sketch = sketch_of(graded(rng), positive_class=True)
    with pytest.raises(ValueError, match="needs outcomes that are 0 or 1: give a"):
        ask(sketch)


def test_copies_of_grades_in_clusters_change_nothing(rng):
    data = graded(rng)
    twice = {name: np.tile(values, 2) for name, values in data.items()}
    one, two = um.ScoreSketch(), um.ScoreSketch()
    one.update(**data, clusters=np.arange(300))
    two.update(**twice, clusters=np.tile(np.arange(300), 2))
    options = {"binning_scheme": "even", "num_bins": 6}
    assert two.debiased_calibration_error(**options) == pytest.approx(
        one.debiased_calibration_error(**options), abs=1e-6
    )


def summary_of(*batches):
    summary = um.Summary()
    for batch in batches:
        summary.update(**batch)
    return summary


def part(data, rows):
    return {name: values[rows] for name, values in data.items()}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_means_of_a_summary_of_grades_are_those_of_all_rows(weighted, rng):
    data = graded(rng)
    data["correct"][:60] = rng.integers(0, 2, 60)  # A batch of right and wrong.
    w = rng.uniform(0.5, 2, 300) if weighted else np.ones(300)
    if weighted:
        data["sample_weight"] = w
    summary = summary_of(part(data, slice(60)), part(data, slice(60, None)))
    y, p = data["correct"], data["confidences"].astype(float)
    brier = y * (1 - p) ** 2 + (1 - y) * p**2
    scores = {
        "gap": y - p,
        "brier_score": brier,
        "negative_log_likelihood": -y * np.log(p) - (1 - y) * np.log1p(-p),
    }

    def moments(values):
        mean = np.average(values, weights=w)
        return mean, np.sqrt(np.sum(w**2 * (values - mean) ** 2)) / w.sum()

    found = summary.means()
    for name, values in scores.items():
        np.testing.assert_allclose(found[name], moments(values), rtol=1e-6)
    mean = np.average(y, weights=w)
    variance = np.average((y - mean) ** 2, weights=w)
    error = np.sqrt(variance * np.sum(w**2)) / w.sum()
    np.testing.assert_allclose(found["accuracy"], (mean, error), rtol=1e-6)
    gain, constant = summary.brier_gain()
    of_shares = y * (1 - mean) ** 2 + (1 - y) * mean**2
    np.testing.assert_allclose(gain, moments(of_shares - brier), rtol=1e-6)
    assert constant == pytest.approx(np.average(of_shares, weights=w))
    assert summary.num_examples == 300
    np.testing.assert_allclose(summary.shares, [1 - mean, mean])


def test_summaries_of_grades_add_up_and_have_the_sketch_of_the_answers(rng):
    data = graded(rng)
    parts = [summary_of(part(data, rows)) for rows in np.arange(300).reshape(3, 100)]
    both = parts[2] + parts[0] + parts[1]
    assert both.decisions == sketch_of(data, positive_class=False)
    assert both.means()["gap"] == pytest.approx(summary_of(data).means()["gap"])
    interval = both.decisions.calibration_error_interval()
    expected = um.calibration_error_interval(**data)
    np.testing.assert_allclose(interval, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("form", ["classes", "logits", "one column"])
@pytest.mark.parametrize("more", ["plain", "weights", "clusters"])
def test_a_summary_of_votes_is_that_of_the_shares_of_the_decisions(form, more, rng):
    p = rng.dirichlet(np.ones(2 if form == "one column" else 3), 60)
    shares = rng.multinomial(5, p) / 5
    shares[:3] = np.eye(shares.shape[1])[0]  # All votes are for one class.
    options = {}
    if more == "weights":
        options["sample_weight"] = rng.integers(0, 3, 60)
    elif more == "clusters":
        options["clusters"] = np.repeat(np.arange(30), 2)
    of_votes, of_answers = um.Summary(), um.Summary()
    given = {"probabilities": p[:, 1] if form == "one column" else p}
    if form == "logits":
        given = {"logits": np.log(p)}
    of_votes.update(label_distributions=shares, **given, **options)
    said = np.ones(60, int) if form == "one column" else np.argmax(p, axis=1)
    grades, confidences = (each[np.arange(60), said] for each in (shares, p))
    of_answers.update(correct=grades, confidences=confidences, **options)
    assert of_votes.of_answers
    assert of_votes.num_examples == of_answers.num_examples
    for name, moments in of_answers.means().items():
        np.testing.assert_allclose(of_votes.means()[name], moments, rtol=1e-9)
    assert of_votes.decisions.ece() == pytest.approx(of_answers.decisions.ece())


def test_one_hot_rows_are_right_and_wrong_in_a_summary(rng):
    p = rng.dirichlet(np.ones(3), 60)
    labels = np.argmax(rng.multinomial(1, p), axis=1)
    summary, answers = um.Summary(), um.Summary()
    summary.update(label_distributions=np.eye(3)[labels], probabilities=p)
    answers.update(correct=labels == p.argmax(axis=1), confidences=p.max(axis=1))
    for name, moments in answers.means().items():
        np.testing.assert_allclose(summary.means()[name], moments, rtol=1e-9)
    with pytest.raises(ValueError, match="either of `labels`, or of `correct`"):
        summary.update(labels, p)


def test_a_summary_of_grades_says_what_it_cannot_do(rng):
    summary = summary_of(graded(rng))
    for ask in (summary.decision_cells, lambda: um.calibration_drift(summary, summary)):
        with pytest.raises(ValueError, match="needs outcomes that are 0 or 1"):
            ask()


def test_grades_in_clusters_have_a_standard_error_of_the_gap(rng):
    data = graded(rng)
    clusters = np.repeat(np.arange(100), 3)
    summary = um.Summary()
    summary.update(**data, clusters=clusters)
    sums = np.bincount(clusters, data["correct"] - data["confidences"])
    gap = sums.sum() / 300
    error = np.sqrt(np.sum((sums - 3 * gap) ** 2) * 100 / 99) / 300
    np.testing.assert_allclose(summary.means()["gap"], (gap, error), rtol=1e-5)
