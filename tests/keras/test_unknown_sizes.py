"""Batches whose arguments differ in size, where the graph knows no size beforehand.

An eager update raises an error. A graph cannot: its result is NaN, with a warning, and
never a number of the examples that all arguments happen to have.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import every_kind, first_alike, make_for_graph, read, reader

pytestmark = [pytest.mark.keras, pytest.mark.tensors, pytest.mark.thorough]

N = 5
SIZES = [(N, 0), (N, 1), (N, 3), (N, 8), (1, N), (0, N)]
WEIGHTED = [(N, N, 0), (N, N, 3), (N, N, 8), (N, 3, 3), (N, 3, N), (N, 1, 1), (1, N, N)]


def of_sizes(row, rng):
    """Returns labels, predictions and weights > 0 of eight examples."""
    data = row.lattice(rng)
    some = np.flatnonzero(data.weights > 0)[:8]
    return (
        data.labels[some],
        data.predictions[some].astype(np.float32),
        data.weights[some].astype(np.float32),
    )


def compiled(metric, arrays, **options):
    signature = [tf.TensorSpec([None, *a.shape[1:]], a.dtype) for a in arrays]
    return tf.function(metric.update_state, input_signature=signature, **options)


def check(metric, arrays, sizes, **options):
    update = compiled(metric, arrays, **options)
    for given in sizes:
        metric.reset_state()
        update(*(a[:size] for a, size in zip(arrays, given, strict=True)))
        with pytest.warns(RuntimeWarning, match="refused 1 batch"):
            assert np.all(np.isnan(read(metric))), given
    metric.reset_state()
    update(*(a[:N] for a in arrays))
    assert not np.any(np.isnan(read(metric)))


@every_kind
def test_a_graph_refuses_arguments_of_different_sizes(row, options, rng):
    arrays = of_sizes(row, rng)
    check(make_for_graph(row, options), arrays[:2], SIZES)
    check(make_for_graph(row, options), arrays, WEIGHTED)


XLA = [
    pytest.param(
        row,
        id=row.metric,
        marks=[] if row.metric == "SmoothCalibrationError" else pytest.mark.exhaustive,
    )
    for row, _ in first_alike(catalogue.METRICS, reader)
]


@pytest.mark.parametrize("row", XLA)
def test_xla_refuses_arguments_of_different_sizes(row, rng):
    metric = make_for_graph(row, row.metric_cases[0][0])
    arrays = of_sizes(row, rng)
    check(metric, arrays[:2], [(N, 0), (N, 3), (N, 8), (1, N)], jit_compile=True)


def test_a_collection_refuses_arguments_of_different_sizes(rng):
    labels = rng.integers(0, 3, 8)
    p = rng.dirichlet(np.ones(3), 8).astype(np.float32)
    metrics = [um.ExpectedCalibrationError(), um.BrierScore(), um.AURC()]
    check(um.MetricCollection(metrics), (labels, p), SIZES)
    check(um.MetricCollection(metrics[:0] or [um.BrierScore()]), (labels, p), SIZES)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_groups_of_another_size_are_refused(jit_compile, rng):
    metric = um.BrierScore(num_groups=2)
    p = rng.dirichlet(np.ones(3), 8).astype(np.float32)
    labels = rng.integers(0, 3, 8)
    none = tf.TensorSpec([None], tf.int64)

    @tf.function(
        input_signature=[none, none, tf.TensorSpec([None, 3])], jit_compile=jit_compile
    )
    def update(labels, groups, p):
        metric.update_state({"labels": labels, "groups": groups}, p)

    for size in (0, 3, 8):
        metric.reset_state()
        update(labels[:N], np.zeros(size, np.int64), p[:N])
        assert np.all(np.isnan(read(metric))), size
    metric.reset_state()
    update(labels[:N], np.arange(N) % 2, p[:N])
    assert not np.any(np.isnan(read(metric)))


def test_images_of_other_sizes_are_refused(rng):
    metric = um.ExpectedCalibrationError(num_classes=3)
    p = rng.dirichlet(np.ones(3), [2, 3, 4]).astype(np.float32)
    labels, weights = rng.integers(0, 3, [2, 3, 4]), np.ones([2, 3, 4], np.float32)
    unknown = [None, None, None]
    update = tf.function(
        metric.update_state,
        input_signature=[
            tf.TensorSpec(unknown, labels.dtype),
            tf.TensorSpec([*unknown, 3]),
            tf.TensorSpec(unknown),
        ],
    )
    for wrong in (p[:, :2], p[:1], p[:, :, :0]):
        metric.reset_state()
        update(labels, wrong, weights)
        assert np.isnan(read(metric))
    for wrong in (weights[:, :2], weights[:, :0], np.ones([2, 5, 4], np.float32)):
        metric.reset_state()
        update(labels, p, wrong)
        assert np.isnan(read(metric))
    for right in (weights, weights[:1], weights[:, :1, :1]):
        metric.reset_state()
        update(labels, p, right)
        expected = um.ece(labels, p)
        np.testing.assert_allclose(read(metric), expected, atol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_functions_refuse_arguments_of_different_sizes(jit_compile, rng):
    labels = rng.integers(0, 2, 8)
    p = rng.random(8).astype(np.float32)
    none = [tf.TensorSpec([None], labels.dtype), tf.TensorSpec([None])]
    functions = (um.ece, um.smece, um.brier_score, um.aurc, um.auroc, um.rmsce)
    for function in functions[: 2 if jit_compile else None]:
        compiled = tf.function(function, input_signature=none, jit_compile=jit_compile)
        for sizes in SIZES:
            value = compiled(labels[: sizes[0]], p[: sizes[1]])
            assert np.isnan(value), (re.sub(r"\W.*", "", str(function)), sizes)
