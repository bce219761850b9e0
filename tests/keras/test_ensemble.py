"""Streaming uncertainty of ensembles: what is special beside the sweeps."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

UNCERTAINTIES = {
    "PredictiveEntropy": um_np.predictive_entropy,
    "ExpectedEntropy": um_np.expected_entropy,
    "MutualInformation": um_np.mutual_information,
    "EnsembleDisagreement": um_np.ensemble_disagreement,
    "MeanMemberUncertainty": um_np.mean_member_uncertainty,
    "VariationRatio": um_np.variation_ratio,
}
CROSS_ENTROPIES = {
    "EnsembleCrossEntropy": um_np.ensemble_cross_entropy,
    "GibbsCrossEntropy": um_np.gibbs_cross_entropy,
}
OF_MEMBERS = (*UNCERTAINTIES, *CROSS_ENTROPIES)
# By default one whose labels count, and one that has none.
ALONE = ("MutualInformation", "GibbsCrossEntropy")
every_metric_of_members = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ALONE else pytest.mark.exhaustive)
        for name in OF_MEMBERS
    ],
)
every_metric = pytest.mark.parametrize("name", [*OF_MEMBERS, "KnowledgeUncertainty"])


def make(name, rng, n=40):
    """Makes labels, predictions and weights; logits as well."""
    alone = name == "KnowledgeUncertainty"
    logits = rng.normal(size=[n, 3] if alone else [n, 4, 3]).astype(np.float32)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[0] = 1.0
    predictions = np.exp(logits) if alone else tf.nn.softmax(logits).numpy()
    return rng.integers(0, 3, n), predictions, weights, logits


def expected(name, labels, predictions, weights=None):
    """Returns the mean of the values of the NumPy function."""
    if name in CROSS_ENTROPIES:
        function = CROSS_ENTROPIES[name]
        return function(labels, probabilities=predictions, sample_weight=weights)
    if name == "KnowledgeUncertainty":
        values = um_np.knowledge_uncertainty(predictions).knowledge_uncertainty
    else:
        values = UNCERTAINTIES[name](probabilities=predictions)
    return np.average(values, weights=weights)


def assert_value(metric, value, rtol=1e-6):
    np.testing.assert_allclose(float(metric.result()), value, rtol=rtol)


@every_metric
def test_logits_and_labels_that_are_not_used(name, rng):
    labels, predictions, weights, logits = make(name, rng)
    metric = getattr(um, name)(from_logits=True)
    metric.update_state(labels, logits, weights)
    assert_value(metric, expected(name, labels, predictions, weights), rtol=1e-5)
    metric = getattr(um, name)()
    if name not in CROSS_ENTROPIES:
        metric.update_state(None, predictions)
        assert_value(metric, expected(name, labels, predictions))
    with pytest.raises(ValueError, match=r"y_true.*Received"):
        metric.update_state(labels[:3], predictions)


@every_metric_of_members
def test_members_on_other_axes(name, rng):
    labels, predictions, weights, _ = make(name, rng)
    value = expected(name, labels, predictions, weights)
    images = predictions.reshape(2, 4, 5, 4, 3)
    for moved, axis in (
        (predictions.swapaxes(0, 1), 0),
        (images, -2),
        (np.moveaxis(images, 3, 1), 1),
    ):
        metric = getattr(um, name)(ensemble_axis=axis)
        shape = [40] if moved.ndim == 3 else [2, 4, 5]
        metric.update_state(
            labels.reshape(shape), moved, sample_weight=weights.reshape(shape)
        )
        assert_value(metric, value)
    with pytest.raises(ValueError, match=r"y_pred.*Received"):
        getattr(um, name)().update_state(labels, predictions[:, 0])
    with pytest.raises(ValueError, match="ensemble_axis"):
        getattr(um, name)(ensemble_axis=2).update_state(labels, predictions)


def test_entropy_of_a_single_model(rng):
    labels, predictions, weights, _ = make("PredictiveEntropy", rng)
    metric = um.PredictiveEntropy(ensemble_axis=None)
    metric.update_state(labels, predictions[:, 0], weights)
    assert_value(
        metric, expected("PredictiveEntropy", labels, predictions[:, :1], weights)
    )


@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_labels_as_keras_users_pass_them(name, rng):
    labels, predictions, weights, _ = make(name, rng)
    value = expected(name, labels, predictions)
    for y_true in (labels[:, None], labels.astype(np.float32), np.eye(3)[labels]):
        metric = getattr(um, name)()
        metric.update_state(y_true, predictions)
        assert_value(metric, value)
    with pytest.raises(ValueError, match="y_true"):
        metric.update_state(labels + 1.5, predictions)
    known = rng.uniform(size=40) < 0.7
    metric = getattr(um, name)(ignore_index=255)
    metric.update_state(np.where(known, labels, 255), predictions, weights)
    assert_value(
        metric, expected(name, labels[known], predictions[known], weights[known])
    )
    metric = getattr(um, name)()
    metric.update_state([0], [[[0.0, 1.0], [0.0, 1.0]]])
    assert_value(metric, np.inf)


def test_whole_concentrations():
    results = []
    for dtype in (np.float32, np.int64, bool):
        metric = um.KnowledgeUncertainty()
        metric.update_state(None, np.ones([4, 3], dtype))
        results.append(float(metric.result()))
    assert results == results[:1] * 3


@every_metric_of_members
def test_probabilities_are_no_logits(name, rng):
    labels, predictions, _, logits = make(name, rng)
    with pytest.raises(ValueError, match="for logits use `from_logits=True`"):
        getattr(um, name)().update_state(labels, logits)
    metric = getattr(um, name)(from_logits=True)
    with pytest.raises(ValueError, match="for probabilities use `from_logits=False`"):
        metric.update_state(labels, predictions)
    tf.function(metric.update_state)(labels, predictions)
    with pytest.warns(RuntimeWarning, match="1 batch"):
        assert_value(metric, np.nan)
