"""Streaming uncertainty of ensembles: tests beside the sweeps."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from tests import catalogue
from tests.keras.streams import assert_close, read

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

ROWS = [row for row in catalogue.METRICS if isinstance(row, catalogue.MembersRow)]
# The default run has one metric that ignores labels, and one that reads them.
FEW = ("MutualInformation", "GibbsCrossEntropy")
every_row = pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=row.metric,
            marks=() if row.metric in FEW else pytest.mark.exhaustive,
        )
        for row in ROWS
        if row.outputs == (4, 3)
    ],
)
cross_entropies = pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.takes("sample_weight")],
    ids=lambda row: row.metric,
)


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.metric)
def test_logits_and_unused_labels(row, rng):
    data = row.lattice(rng)
    metric = row.made(row.metric_cases[0][0], from_logits=True)
    metric.update_state(data.labels, np.log(data.predictions), data.weights)
    assert_close(row, read(metric), row.expected({}, data, True), 1e-6)
    metric = row.made(row.metric_cases[0][0])
    if not row.takes("sample_weight"):
        metric.update_state(None, data.predictions)
        assert_close(row, read(metric), row.expected({}, data))
    with pytest.raises(ValueError, match=r"y_true.*Received"):
        metric.update_state(data.labels[:3], data.predictions)


@every_row
def test_members_on_other_axes(row, rng):
    data = row.lattice(rng)
    images = data.predictions.reshape(2, 4, 5, 4, 3)
    for moved, axis in (
        (data.predictions.swapaxes(0, 1), 0),
        (images, -2),
        (np.moveaxis(images, 3, 1), 1),
    ):
        metric = row.made({"ensemble_axis": axis})
        shape = [40] if moved.ndim == 3 else [2, 4, 5]
        metric.update_state(
            data.labels.reshape(shape), moved, data.weights.reshape(shape)
        )
        assert_close(row, read(metric), row.expected({}, data, True))
    with pytest.raises(ValueError, match=r"y_pred.*Received"):
        row.made({}).update_state(data.labels, data.predictions[:, 0])
    with pytest.raises(ValueError, match="ensemble_axis"):
        row.made({"ensemble_axis": 2}).update_state(data.labels, data.predictions)


def test_entropy_of_a_single_model_and_integer_concentrations():
    metric = um.PredictiveEntropy(ensemble_axis=None)
    metric.update_state([0, 0], [[0.5, 0.5], [1.0, 0.0]], [3.0, 1.0])
    np.testing.assert_allclose(metric.result(), 0.75 * np.log(2), rtol=1e-6)
    results = []
    for dtype in (np.float32, np.int64, bool):
        metric = um.KnowledgeUncertainty()
        metric.update_state(None, np.ones([4, 3], dtype))
        results.append(float(metric.result()))
    assert results == results[:1] * 3


@cross_entropies
def test_labels_as_keras_users_pass_them(row, rng):
    data = row.lattice(rng)
    labels = data.labels
    for y_true in (labels[:, None], labels.astype(np.float32), np.eye(3)[labels]):
        metric = row.made({})
        metric.update_state(y_true, data.predictions)
        assert_close(row, read(metric), row.expected({}, data))
    for dtype in (np.float64, np.float16):
        with pytest.raises(ValueError, match="y_true"):
            metric.update_state((labels + 1.5).astype(dtype), data.predictions)
    metric = row.made({"ignore_index": 255})
    ignored = np.where(data.weights > 0, labels, 255)
    metric.update_state(ignored, data.predictions, np.maximum(data.weights, 0.5))
    assert_close(row, read(metric), row.expected({}, data, True))
    metric = row.made({})
    metric.update_state([0], [[[0.0, 1.0], [0.0, 1.0]]])
    assert float(metric.result()) == np.inf


@every_row
def test_probabilities_as_logits_raise(row, rng):
    data = row.lattice(rng)
    with pytest.raises(ValueError, match="for logits use `from_logits=True`"):
        row.made({}).update_state(data.labels, np.log(data.predictions))
    metric = row.made({"from_logits": True})
    with pytest.raises(ValueError, match="for probabilities use `from_logits=False`"):
        metric.update_state(data.labels, data.predictions)
    tf.function(metric.update_state)(data.labels, data.predictions)
    with pytest.warns(RuntimeWarning, match="1 batch"):
        assert np.isnan(metric.result())
