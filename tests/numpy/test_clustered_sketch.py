"""Sketches and summaries of examples in clusters, beside all examples at once."""

import io
import pickle

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_score_sketch_files import archive
from uncertainty_metrics.numpy.sketch import _cluster_sums

EVENT = {"positive_class": True}


def drawn(rng, number=60, most=12, classes=2):
    """Returns labels, probabilities and clusters of unequal sizes, in random order."""
    sizes = rng.integers(1, most, number)
    ids = np.repeat(rng.permutation(number), sizes)
    shared = np.repeat(rng.normal(size=number), sizes)
    logits = rng.normal(size=(len(ids), classes)) * 2
    logits[:, 1] += shared
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random(len(ids))[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    labels = np.minimum(labels, classes - 1)
    order = rng.permutation(len(ids))
    return labels[order], p[order], ids[order]


def batches(rng, ids, number=4):
    """Yields rows of batches of whole clusters."""
    batch_of = rng.integers(0, number, ids.max() + 1)
    for batch in range(number):
        yield np.flatnonzero(batch_of[ids] == batch)


def streamed(rng, kind, labels, predictions, ids, weights=None):
    """Returns a sketch or a summary after random batches of whole clusters, of which
    each has ids of its own.
    """
    parts = []
    for rows in batches(rng, ids):
        part = kind()
        names = np.char.add("cluster ", ids[rows].astype(str))
        w = None if weights is None else weights[rows]
        part.update(labels[rows], predictions[rows], sample_weight=w, clusters=names)
        parts.append(part)
    return sum(parts)


def naive_square(bins, residuals, masses, ids):
    """Returns the squared error from pairs of different clusters, by loops."""
    total = 0.0
    for b in set(bins):
        rows = [i for i in range(len(ids)) if bins[i] == b]
        of_clusters = {}
        for i in rows:
            gap, mass = of_clusters.get(ids[i], (0.0, 0.0))
            of_clusters[ids[i]] = gap + masses[i] * residuals[i], mass + masses[i]
        pairs = [
            (of_clusters[c][k] * of_clusters[d][k])
            for k in (0, 1)
            for c in of_clusters
            for d in of_clusters
            if c != d
        ]
        half = len(pairs) // 2
        mass = sum(m for _, m in of_clusters.values())
        if mass**2 > 1.5 * sum(m**2 for _, m in of_clusters.values()):
            total += mass * sum(pairs[:half]) / sum(pairs[half:])
    return total / sum(masses)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("num_bins", [3, 10, 15])
def test_even_debiased_error_is_that_of_pairs_of_clusters(rng, num_bins, weighted):
    labels, p, ids = drawn(rng)
    weights = rng.uniform(0.5, 2, len(ids)) if weighted else None
    sketch = streamed(rng, um.ScoreSketch, labels, p[:, 1], ids, weights)
    found = sketch.debiased_calibration_error(
        binning_scheme="even", num_bins=num_bins, squared=True
    )
    masses = np.ones(len(ids)) if weights is None else weights
    bins = np.maximum(np.ceil(p[:, 1] * num_bins) - 1, 0)
    assert found == pytest.approx(naive_square(bins, labels - p[:, 1], masses, ids))
    whole = um.debiased_calibration_error(
        *(labels, p[:, 1]),
        binning_scheme="even",
        num_bins=num_bins,
        squared=True,
        sample_weight=weights,
        clusters=ids,
        **EVENT,
    )
    assert found == pytest.approx(whole, abs=1e-12)


def test_adaptive_bins_are_made_of_whole_fixed_bins(rng):
    labels, p, ids = drawn(rng, 200)
    sketch = streamed(rng, um.ScoreSketch, labels, p[:, 1], ids)
    fixed = np.searchsorted(_cluster_sums.EDGES[1:-1], p[:, 1], "left")
    counts = np.bincount(fixed, minlength=_cluster_sums.NUM_BINS)
    below = np.cumsum(counts) - counts
    bin_of = np.floor(5 * (below + counts / 2) / len(ids))
    expected = naive_square(bin_of[fixed], labels - p[:, 1], np.ones(len(ids)), ids)
    found = sketch.debiased_calibration_error(num_bins=5, squared=True)
    assert found == pytest.approx(expected)


def test_batches_add_up_and_files_and_pickles_hold_them(rng):
    labels, p, ids = drawn(rng)
    parts = streamed(rng, um.ScoreSketch, labels, p, ids)
    whole = um.ScoreSketch()
    whole.update(labels, p, clusters=ids)
    ours, theirs = (s._content.clusters for s in (parts, whole))
    assert ours.number == theirs.number == len(set(ids))
    np.testing.assert_allclose(ours.products, theirs.products, atol=1e-9)
    np.testing.assert_allclose(ours.sums, theirs.sums, atol=1e-9)
    file = io.BytesIO()
    whole.save(file)
    file.seek(0)
    assert um.ScoreSketch.load(file) == whole == pickle.loads(pickle.dumps(whole))
    other = um.ScoreSketch()
    other.update(labels, p, clusters=rng.permutation(ids))
    assert other != whole
    other.reset()
    assert other == um.ScoreSketch()


def test_clusters_of_one_example_change_nothing(rng):
    labels, p, _ = drawn(rng)
    plain, alone = um.ScoreSketch(), um.ScoreSketch()
    plain.update(labels, p[:, 1])
    alone.update(labels, p[:, 1], clusters=rng.permutation(len(labels)))
    assert alone.debiased_calibration_error() == plain.debiased_calibration_error()
    assert alone.calibration_error_interval() == plain.calibration_error_interval()
    assert alone.spiegelhalter_test() == plain.spiegelhalter_test()


def test_examples_with_and_without_clusters_do_not_mix(rng):
    labels, p, ids = drawn(rng)
    for kind in (um.ScoreSketch, um.Summary):
        plain, clustered = kind(), kind()
        plain.update(labels, p)
        clustered.update(labels, p, clusters=ids)
        for first, second in ((plain, clustered), (clustered, plain)):
            with pytest.raises(ValueError, match="with and without `clusters`"):
                first + second
        with pytest.raises(ValueError, match="with and without `clusters`"):
            clustered.update(labels, p)
        with pytest.raises(ValueError, match="with and without `clusters`"):
            plain.update(labels, p, clusters=ids)
        assert (clustered + kind()).update(labels, p, clusters=ids) is None


@pytest.mark.parametrize(
    "question",
    [
        "spiegelhalter_test",
        "calibration_intercept",
        "calibration_slope",
        "observed_expected_ratio",
    ],
)
def test_intervals_of_independent_examples_are_refused(rng, question):
    labels, p, ids = drawn(rng)
    sketch = um.ScoreSketch()
    sketch.update(labels, p[:, 1], clusters=ids)
    with pytest.raises(ValueError, match=f"`{question}` of independent examples"):
        getattr(sketch, question)()
    with pytest.raises(ValueError, match="`conformal_quantile` of independent"):
        sketch.conformal_quantile(0.1)
    assert np.isfinite([sketch.ece(), sketch.auroc(), sketch.smece()]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_of_the_error_is_about_that_of_the_function(rng, weighted):
    labels, p, ids = drawn(rng, 150)
    weights = rng.integers(1, 4, len(ids)).astype(float) if weighted else None
    # Scores in the middles of five even bins are in the same bins everywhere.
    p = (np.minimum((p[:, 1] * 5).astype(int), 4) + 0.5) / 5
    summary = streamed(rng, um.Summary, labels, p, ids, weights)
    found = summary.events.calibration_error_interval(num_bins=15)
    expected = um.calibration_error_interval(
        labels, p, clusters=ids, sample_weight=weights, positive_class=True
    )
    assert found.num_clusters == 150
    assert found.estimate == pytest.approx(expected.estimate, abs=1e-6)
    # Without the fourth moments it is a little longer.
    assert found.lower <= expected.lower + 1e-6
    assert found.upper >= expected.upper - 1e-6
    assert found.upper - found.lower < 1.1 * (expected.upper - expected.lower)
    assert found.design_effect >= expected.design_effect - 1e-6


def test_what_the_fixed_bins_cannot_answer_is_refused(rng):
    labels, p, ids = drawn(rng, classes=3)
    sketch = um.ScoreSketch()
    sketch.update(labels, p, clusters=ids)
    error = sketch.debiased_calibration_error
    with pytest.raises(ValueError, match="a divisor of 30"):
        error(binning_scheme="even", num_bins=7)
    with pytest.raises(ValueError, match="`threshold` and `datapoints_per_bin`"):
        error(threshold=0.1)
    with pytest.raises(ValueError, match="`threshold` and `datapoints_per_bin`"):
        error(datapoints_per_bin=20)
    of_all = um.ScoreSketch(max_prob=False)
    of_all.update(labels, p, clusters=ids)
    with pytest.raises(ValueError, match="one score of each example"):
        of_all.debiased_calibration_error()
    one = um.ScoreSketch()
    one.update(labels, p, clusters=np.zeros_like(ids))
    with pytest.raises(ValueError, match="at least two ids"):
        one.debiased_calibration_error()
    few = um.ScoreSketch()
    few.update(labels, p, clusters=ids % 5)
    with pytest.warns(UserWarning, match="5 clusters"):
        few.debiased_calibration_error()


@pytest.mark.parametrize(
    ("header", "changes"),
    [
        ({"clusters": 0}, {}),
        ({"clusters": 3}, {}),
        ({"clusters": "two"}, {}),
        ({}, {"sums": np.zeros(3), "products": np.zeros((3, 3))}),
        ({"clusters": 2}, {"sums": np.zeros(3), "products": np.zeros((3, 3))}),
        ({"clusters": 2}, {"sums": -1.0}),
        ({"clusters": 2}, {"sums": np.nan}),
        ({"clusters": 2}, {"products": -1.0}),
        ({"clusters": 2}, {"products": 5.0}),
    ],
)
def test_files_with_wrong_sums_over_clusters_are_refused(header, changes):
    size = 2 * _cluster_sums.NUM_BINS
    arrays = {}
    if changes:
        shapes = {"sums": (size,), "products": (size, size)}
        for name, shape in shapes.items():
            change = changes.get(name, 0.0)
            arrays[f"cluster_{name}"] = (
                change if np.ndim(change) else np.full(shape, change)
            )
        rows = ["weights", "score_sums", "outcome_sums"]
        header = {**header, "arrays": [*rows, *arrays]}
    with pytest.raises(ValueError, match="clusters"):
        um.ScoreSketch.load(archive(header, **arrays))


def naive_standard_error(gaps, ids):
    """Returns the standard error of the mean of gaps by a loop over clusters."""
    names, mean = sorted(set(ids)), np.mean(gaps)
    square = sum(np.sum(gaps[ids == name] - mean) ** 2 for name in names)
    return np.sqrt(square * len(names) / (len(names) - 1)) / len(gaps)


def test_summary_has_the_sums_of_decisions_and_of_events(rng):
    labels, p, ids = drawn(rng)
    summary = streamed(rng, um.Summary, labels, p[:, 1], ids)
    assert summary.num_clusters == len(set(ids))
    options = {"binning_scheme": "even", "num_bins": 10, "squared": True}
    for sketch, positive_class in ((summary.decisions, False), (summary.events, True)):
        found = sketch.debiased_calibration_error(**options)
        expected = um.debiased_calibration_error(
            *(labels, p[:, 1]), clusters=ids, positive_class=positive_class, **options
        )
        assert found == pytest.approx(expected, abs=1e-9)
    right = (p[:, 1] > 0.5) == labels
    means = summary.means()
    gaps = right - p.max(axis=1)
    assert means["gap"] == pytest.approx(
        (gaps.mean(), naive_standard_error(gaps, ids)), abs=1e-9
    )
    assert means["accuracy"].mean == pytest.approx(right.mean())
    assert np.isnan(means["accuracy"].standard_error)
    gain, _ = summary.brier_gain()
    assert np.isnan(gain.standard_error)


@pytest.mark.parametrize("classes", [2, 3])
def test_weighted_summaries_in_clusters_add_up(rng, classes):
    labels, p, ids = drawn(rng, classes=classes)
    weights = rng.uniform(0.5, 2, len(ids))
    summary = streamed(rng, um.Summary, labels, p, ids, weights)
    expected = um.debiased_calibration_error(
        *(labels, p),
        sample_weight=weights,
        clusters=ids,
        binning_scheme="even",
        num_bins=15,
    )
    found = summary.decisions.debiased_calibration_error(binning_scheme="even")
    assert found == pytest.approx(expected, abs=1e-7)


def test_answers_have_clusters_and_those_of_one_example_change_nothing(rng):
    labels, p, ids = drawn(rng)
    answers = {"correct": labels, "confidences": p[:, 1]}
    summary, alone, plain = um.Summary(), um.Summary(), um.Summary()
    summary.update(**answers, clusters=ids)
    found = summary.decisions.debiased_calibration_error(binning_scheme="even")
    expected = um.debiased_calibration_error(
        **answers, clusters=ids, binning_scheme="even"
    )
    assert found == pytest.approx(expected, abs=1e-7)
    alone.update(**answers, clusters=np.arange(len(ids)))
    plain.update(**answers)
    np.testing.assert_array_equal(
        list(alone.means().values()), list(plain.means().values())
    )
    assert alone.num_clusters is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["answers", "binary", "classes"])
def test_files_of_summaries_have_no_sums_over_clusters(rng, tmp_path, kind, weighted):
    labels, p, ids = drawn(rng, 100, classes=3 if kind == "classes" else 2)
    weights = rng.uniform(0.5, 2, len(ids)) if weighted else None
    examples = {"sample_weight": weights, "labels": labels, "probabilities": p}
    if kind == "answers":
        examples = {"correct": labels, "confidences": p[:, 1], "sample_weight": weights}
    plain, clustered = um.Summary(), um.Summary()
    plain.update(**examples)
    clustered.update(**examples, clusters=ids)
    plain.save(tmp_path / "plain.npz")
    clustered.save(tmp_path / "clustered.npz")
    arrays = [dict(np.load(tmp_path / f"{n}.npz")) for n in ("plain", "clustered")]
    assert arrays[0].keys() == arrays[1].keys()
    for name in arrays[0].keys() - {"header"}:  # Sums may be added in another order.
        np.testing.assert_allclose(arrays[1][name], arrays[0][name], rtol=1e-14)
    loaded = um.Summary.load(tmp_path / "clustered.npz")
    assert loaded.num_clusters == len(set(ids))
    with pytest.raises(ValueError, match="the file of a `Summary`"):
        loaded.decisions.debiased_calibration_error()
    with pytest.raises(ValueError, match="the file of a `Summary`"):
        loaded.decisions.calibration_error_interval()
    assert np.isnan(loaded.means()["gap"].standard_error)
    both = loaded + clustered
    assert both.num_clusters == 2 * len(set(ids))
    with pytest.raises(ValueError, match="with and without `clusters`"):
        loaded + plain
    with pytest.raises(ValueError, match="without weights and clusters"):
        clustered.save(tmp_path / "private.npz", private=1.0)
    with pytest.raises(ValueError, match="has no sums over clusters"):
        um.report(loaded)
