"""Keras metrics settle the convention of two classes at their first batch."""

import inspect
import warnings

import numpy as np
import pytest

import uncertainty_metrics as um
from tests import conventions
from tests.conventions import CLASSES, DECISIONS, OPTIONS, columns, low, ours
from uncertainty_metrics.keras._base import keras

pytestmark = pytest.mark.keras

METRICS = [n for n in conventions.names(um) if inspect.isclass(getattr(um, n))]
METRICS = [n for n in METRICS if hasattr(getattr(um, n), "update_state")]
BY_FORM = [name for name in METRICS if name not in (*DECISIONS, *CLASSES)]


def made(name, **options):
    return getattr(um, name)(**OPTIONS.get(name, {}), **options)


def test_these_metrics_go_by_the_form():
    assert sorted(BY_FORM) == [
        "AveragedTwoBinCalibrationError",
        "DebiasedCalibrationError",
        "KolmogorovSmirnovCalibrationError",
        "KuiperCalibrationError",
        "SmoothCalibrationError",
    ]


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("name", BY_FORM)
@pytest.mark.parametrize("first", [True, False])
def test_the_first_batch_settles_the_form(name, first, rng):
    labels, p = low(rng)
    given = (p, columns(p)) if first else (columns(p), p)
    metric, empty = made(name), made(name)
    assert metric.get_config()["positive_class"] is None
    with pytest.raises(ValueError, match="`y_pred`"):
        metric.update_state(labels, 2 + given[1])
    assert metric.get_config()["positive_class"] is None
    metric.update_state(labels, given[0])
    assert metric.get_config()["positive_class"] is first
    with pytest.raises(
        ValueError, match=r"`y_pred` must hold .* as in the first batch"
    ):
        metric.update_state(labels, given[1])
    state = metric.get_state()
    assert state.config["positive_class"] is first
    assert state.to_metric().result() == metric.result()
    assert (empty.get_state() + state).config["positive_class"] is first
    assert (state + empty.get_state()).config["positive_class"] is first
    other = made(name)
    other.update_state(labels, given[1])
    with pytest.raises(ValueError, match=r"positive_class (True|False) and"):
        other.merge_state([metric])
    with pytest.raises(ValueError, match=r"positive_class (True|False) and"):
        other.set_state(state)
    empty.set_state(state)
    assert empty.get_config()["positive_class"] is first
    assert empty.result() == metric.result()
    assert metric.sketch.positive_class is first
    metric.reset_state()
    metric.update_state(labels, given[0])
    assert metric.result() == empty.result()
    explicit = made(name, positive_class=first)
    for each in given:
        explicit.update_state(labels, each)


@pytest.mark.parametrize("options", [{}, {"num_classes": 2}, {"max_prob": False}])
def test_class_wise_errors_of_one_column_have_one_group(options, rng):
    labels, p = low(rng)
    metric = um.DebiasedCalibrationError(class_conditional=True, **options)
    metric.update_state(labels, p)
    event = um.DebiasedCalibrationError(positive_class=True)
    event.update_state(labels, p)
    assert metric.result() == event.result()
    again = um.DebiasedCalibrationError(class_conditional=True, **options)
    again.merge_state([metric, metric.get_state()])
    assert again.counts.shape == metric.counts.shape == (15,)
    of_classes = um.DebiasedCalibrationError(class_conditional=True, **options)
    of_classes.update_state(labels, columns(p))
    assert of_classes.counts.shape == (2, 15)


@pytest.mark.parametrize("name", [n for n in METRICS if n not in BY_FORM])
def test_the_family_of_the_ece_keeps_the_decision(name, rng):
    labels, p = low(rng)
    metric, other = made(name), made(name, positive_class=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric.update_state(labels, columns(p))
        metric.update_state(labels, p)  # Only the first batch is looked at.
    assert ours(caught) == []
    other.update_state(labels, p)
    other.merge_state([metric])
    with pytest.raises(ValueError, match="positive_class"):
        made(name, positive_class=True).merge_state([metric])


def test_members_of_a_collection_settle_together(rng):
    labels, p = low(rng)
    names = [*BY_FORM, "ExpectedCalibrationError", "MaximumCalibrationError"]
    for form in (lambda p: p, columns):
        collection = um.MetricCollection([made(name) for name in names])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            collection.update_state(labels, form(p))
            collection.update_state(labels, form(p))
        assert len(ours(caught)) == (p is form(p))
        results = collection.result()
        for name in names:
            alone = made(name, positive_class=p is form(p) and name in BY_FORM)
            alone.update_state(labels, form(p))
            alone.update_state(labels, form(p))
            assert results[alone.name] == alone.result()
        with pytest.raises(ValueError, match="as in the first batch"):
            collection.update_state(labels, p if form is columns else columns(p))
        states = collection.get_state()
        again = um.MetricCollection([made(name) for name in names])
        again.set_state(states)
        assert again.result() == results
        configs = [metric.get_config() for metric in again.metrics.values()]
        settled = [config["positive_class"] for config in configs[: len(BY_FORM)]]
        assert settled == [form is not columns] * len(BY_FORM)


@pytest.mark.thorough
@pytest.mark.parametrize("eagerly", [False, True])
def test_fit_warns_once_at_the_line_of_the_user(eagerly, rng):
    labels, p = low(rng, 64)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    metrics = [um.ExpectedCalibrationError(), um.SmoothCalibrationError()]
    model.compile("sgd", "binary_crossentropy", metrics=metrics, run_eagerly=eagerly)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(p[:, None], labels, batch_size=16, epochs=3, verbose=0)
        model.evaluate(p[:, None], labels, batch_size=16, verbose=0)
    assert [warning.filename for warning in ours(caught)] == [__file__]
    predictions = model.predict(p[:, None], verbose=0)
    expected = um.numpy.smece(labels, predictions, positive_class=True)
    found = float(metrics[1].result())
    np.testing.assert_allclose(found, expected, atol=1e-4)
