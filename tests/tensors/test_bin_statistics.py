"""Bin statistics: shapes, addition, edges."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

ROOMS = pytest.mark.parametrize("room", [um, um_np], ids=["tensors", "numpy"])
BY_CLASS = {"max_prob": False, "class_conditional": True}


@ROOMS
@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, 1),
        ({"max_prob": False}, 1),
        ({"class_conditional": True}, 3),
        (BY_CLASS, 3),
    ],
)
@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_arrays_have_a_row_for_each_group(room, options, groups, scheme, rng):
    arguments = catalogue.data(rng).arguments()
    stats = room.bin_statistics(
        **arguments, binning_scheme=scheme, num_bins=6, **options
    )
    assert isinstance(stats, room.BinStatistics)
    assert tuple(stats.edges.shape) == (groups, 7)
    for name in ("counts", "confidences", "accuracies"):
        assert tuple(getattr(stats, name).shape) == (groups, 6)
    np.testing.assert_allclose(np.asarray(stats.edges)[:, [0, -1]], [[0, 1]] * groups)


@ROOMS
def test_shards_sum_to_the_whole(room, rng):
    data = catalogue.data(rng)
    first, second = (
        room.bin_statistics(
            *(data.labels[part], data.predictions[part]),
            sample_weight=data.weights[part],
            **BY_CLASS,
        )
        for part in (slice(None, 13), slice(13, None))
    )
    whole = room.bin_statistics(**data.arguments(True), **BY_CLASS)
    added = first + second
    for name in ("edges", "counts", "confidences", "accuracies"):
        np.testing.assert_allclose(
            getattr(added, name), getattr(whole, name), atol=1e-12
        )


@ROOMS
def test_adding_other_statistics_raises(room, rng):
    arguments = catalogue.data(rng).arguments()
    even = room.bin_statistics(**arguments)
    adaptive = room.bin_statistics(**arguments, binning_scheme="adaptive")
    with pytest.raises(ValueError, match="adaptive"):
        adaptive + adaptive
    with pytest.raises(ValueError, match="same groups and bins"):
        even + room.bin_statistics(**arguments, num_bins=4)
    with pytest.raises(TypeError):
        even + 1


@ROOMS
@pytest.mark.parametrize("scheme", ["even", "adaptive"])
def test_edges_enclose_the_scores_of_their_bin(room, scheme, rng):
    data = catalogue.data(rng)
    stats = room.bin_statistics(
        **data.arguments(), binning_scheme=scheme, num_bins=5, **BY_CLASS
    )
    edges, counts = np.asarray(stats.edges), np.asarray(stats.counts)
    for k in range(3):
        scores = data.predictions[:, k]
        index = np.searchsorted(edges[k, 1:-1], scores, side="left")
        np.testing.assert_array_equal(np.bincount(index, minlength=5), counts[k])


@ROOMS
def test_statistics_by_hand(room):
    stats = room.bin_statistics(
        [0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5
    )
    np.testing.assert_allclose(stats.counts, [[0, 0, 0, 2, 1]])
    np.testing.assert_allclose(stats.confidences, [[0, 0, 0, 0.75, 0.9]], rtol=1e-6)
    np.testing.assert_allclose(stats.accuracies, [[0, 0, 0, 0.5, 1.0]])


def test_a_score_at_the_threshold_is_left_out():
    def hits(room):
        statistics = room.bin_statistics(
            np.array([0, 1]),
            np.array([[0.25, 0.75], [0.5, 0.5]]),
            num_bins=2,
            threshold=0.25,
            **BY_CLASS,
        )
        return statistics.outcome_sums

    for compiled in (
        lambda: hits(um_np),
        lambda: hits(um),
        tf.function(lambda: hits(um)),
        tf.function(lambda: hits(um), jit_compile=True),
    ):
        np.testing.assert_array_equal(compiled(), [[0, 0], [1, 0]])


def test_score_sums_of_zeros_are_not_negative(rng):
    probabilities = rng.uniform(1 / 15, 1, [50, 40])
    # The sum of the first bin is computed as a difference, total minus all others.
    probabilities[::2] = 0
    statistics = um_np.bin_statistics(
        np.arange(50) % 40, probabilities, num_bins=15, **BY_CLASS
    )
    assert np.all(statistics.score_sums >= 0)


def test_drift_from_tensors_equals_drift_from_arrays(rng):
    data = [catalogue.lattice(rng, 200).arguments() for _ in range(2)]
    ours, theirs = (
        [room.bin_statistics(**arguments) for arguments in data] for room in (um, um_np)
    )
    expected = um_np.calibration_drift(*theirs).to_dict()
    for periods in (ours, (ours[0], theirs[1])):
        for name, value in um.calibration_drift(*periods).to_dict().items():
            if expected[name] is None:  # What is known of clusters.
                assert value is None
                continue
            np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6)
