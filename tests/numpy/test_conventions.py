"""Two classes have two conventions: the decision's, and that of P(class 1)."""

import inspect
import io
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests import conventions
from tests.conventions import CLASSES, DECISIONS, OPTIONS, WARNING, columns, flat, low

NAMES = conventions.names(um)
OBJECTS = [name for name in NAMES if inspect.isclass(getattr(um, name))]
FUNCTIONS = [name for name in NAMES if name not in OBJECTS]


def of_function(name, labels, predictions, **options):
    function = getattr(um, name)
    options = OPTIONS.get(name, {}) | options
    if name == "calibration_error_difference":
        return flat(function(predictions, predictions, labels=labels, **options).errors)
    if name in ("examples_needed", "smallest_detectable_error"):
        return flat(function(predictions, **options))
    if name.startswith("bayesian"):
        options |= {"labels_true": labels, "probabilities": predictions}
    else:
        options |= {"labels": labels, "probabilities": predictions}
    if "ax" in inspect.signature(function).parameters:
        options["ax"] = pytest.importorskip("matplotlib.figure").Figure().subplots()
    return flat(function(**options))


def of_object(name, labels, predictions, **options):
    made = getattr(um, name)(**OPTIONS.get(name, {}), **options)
    for half in np.split(np.arange(len(labels)), 2):
        if hasattr(made, "update_state"):
            made.update_state(labels[half], predictions[half])
        else:
            made.update(labels[half], predictions[half])
    if isinstance(made, um.ScoreSketch):
        return flat([made.ece(), made.smece()])
    return flat(made.result() if hasattr(made, "result") else made.gap_interval())


def value_of(name, *data, **options):
    return (of_object if name in OBJECTS else of_function)(name, *data, **options)


def test_the_names_are_those_of_the_specification():
    others = {*NAMES} - {*DECISIONS, *CLASSES}
    assert others == {
        *("averaged_two_bin_calibration_error", "atb", "smooth_calibration_error"),
        *("smece", "kolmogorov_smirnov_calibration_error", "ks_calibration_error"),
        *("kuiper_calibration_error", "spiegelhalter_test", "corp_decomposition"),
        *("debiased_calibration_error", "calibration_error_interval"),
        *("calibration_test", "calibration_by_group", "CalibrationMonitor"),
        "find_miscalibrated_groups",
        *("calibration_error_difference", "ScoreSketch"),
        *("examples_needed", "smallest_detectable_error"),
    }
    for name in NAMES:
        parameter = inspect.signature(getattr(um, name)).parameters["positive_class"]
        assert parameter.default is None, name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["vector", "column", "columns"])
def test_none_means_what_the_form_says(name, form, rng):
    labels, p = low(rng)
    given = {"vector": p, "column": p[:, None], "columns": columns(p)}[form]
    one_column = form != "columns"
    is_event = one_column and name not in (*DECISIONS, *CLASSES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = value_of(name, labels, given)
    assert len(caught) == (one_column and name in DECISIONS)
    for warning in caught:
        assert str(warning.message).startswith(
            WARNING.replace(".class 1.", "(class 1)")
        )
        assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = value_of(name, labels, given, positive_class=is_event)
        other = value_of(name, labels, given, positive_class=not is_event)
    np.testing.assert_array_equal(found, expected)
    if name in (*CLASSES, "spiegelhalter_test"):  # Class 0 mirrors class 1.
        return
    assert found.shape != other.shape or not np.allclose(found, other)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in FUNCTIONS
        if "labels_predicted" in inspect.signature(getattr(um, name)).parameters
    ],
)
def test_decided_labels_are_scored_by_the_decision(name, rng):
    labels, p = low(rng)
    decided = {"labels_predicted": rng.integers(0, 2, len(p))}
    expected = value_of(name, labels, p, positive_class=False, **decided)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Decisions are what was asked for.
        found = value_of(name, labels, p, **decided)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [1, "True", np.True_])
def test_other_values_are_refused(name, bad, rng):
    with pytest.raises(ValueError, match="`positive_class` must be True, False or"):
        value_of(name, *low(rng), positive_class=bad)


def test_a_shift_of_all_probabilities_is_seen(rng):
    labels, p = low(rng, 20_000)
    assert um.smece(labels, p) == pytest.approx(0.08, abs=0.02)
    assert um.debiased_calibration_error(labels, p) == pytest.approx(0.08, abs=0.02)
    interval = um.calibration_error_interval(labels, p)
    assert 0.05 < interval.lower < interval.upper < 0.11
    assert um.calibration_test(labels, p, num_resamples=200, seed=0).p_value < 0.01
    monitor = um.CalibrationMonitor()
    monitor.update(labels, p)
    assert monitor.alarm < 1500
    sketch = um.ScoreSketch()
    sketch.update(labels, p)
    assert sketch.ece() == pytest.approx(0.08, abs=0.02)
    confidences = np.maximum(p, 1 - p)
    right = (p > 0.5) == labels
    with pytest.warns(UserWarning, match=WARNING):
        error = um.ece(labels, p)
    assert error < 0.03
    assert error == pytest.approx(um.ece(correct=right, confidences=confidences))


def test_the_default_filter_shows_a_warning_once_for_each_line(rng):
    labels, p = low(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            um.ece(labels, p)
        um.mce(labels, p)
        um.reliability_curve(labels, probabilities=p)
        um.bootstrap(um.ece, labels=labels, probabilities=p, num_resamples=20, seed=0)
    # The bootstrap gives one more: its intervals of errors in bins are too high.
    assert [warning.filename for warning in caught] == [__file__] * 5
    assert len({warning.lineno for warning in caught}) == 4


@pytest.mark.parametrize("options", [{}, {"max_prob": False}, {"num_bins": 4}])
def test_options_of_bins_do_not_change_the_convention(options, rng):
    labels, p = low(rng)
    for scheme in ("even", "adaptive"):
        more = {**options, "binning_scheme": scheme}
        for function in (um.debiased_calibration_error, um.calibration_test):
            if function is um.calibration_test:
                more |= OPTIONS["calibration_test"]
            found = function(labels, p, **more)
            assert found == function(labels, p, **more, positive_class=True)


@pytest.mark.parametrize("name", ["debiased_calibration_error", "smece", "ece"])
def test_the_bootstrap_keeps_the_convention(name, rng):
    labels, p = low(rng)
    options = {"num_resamples": 20, "seed": 0}
    function = getattr(um, name)
    for data in (p, columns(p)):
        is_event = name != "ece" and data.ndim == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = (
                um.bootstrap(function, labels, data, **options, **convention)
                for convention in ({}, {"positive_class": is_event})
            )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [um.ScoreSketch, um.CalibrationMonitor, um.Summary])
@pytest.mark.parametrize("first", [True, False])
def test_the_first_batch_settles_the_form(kind, first, rng):
    labels, p = low(rng)
    given = (p, columns(p)) if first else (columns(p), p)
    made = kind()
    assert made.positive_class is None
    made.update(labels, given[0])
    assert made.positive_class is first
    with pytest.raises(ValueError, match="as in the first batch"):
        made.update(labels, given[1])
    if first:
        with pytest.raises(ValueError, match=r"as in the first|either of `labels`"):
            made.update(correct=labels, confidences=p)
    made.update(labels, given[0])
    file = io.BytesIO()
    made.save(file)
    file.seek(0)
    assert kind.load(file).positive_class is first
    if kind is not um.Summary:
        made.reset()
        assert made.positive_class is None
        made.update(labels, given[1])
        assert made.positive_class is not first


@pytest.mark.parametrize("kind", [um.ScoreSketch, um.Summary])
def test_states_of_different_forms_are_not_added(kind, rng):
    labels, p = low(rng)
    one, two, nothing = kind(), kind(), kind()
    one.update(labels, p)
    two.update(labels, columns(p))
    for pair in ((one, two), (two, one)):
        with pytest.raises(ValueError, match=r"one column|positive_class"):
            sum(pair)
    for made in (one, two):
        for total in (nothing + made, made + nothing, made + made):
            assert total.positive_class is made.positive_class
    with pytest.raises(ValueError, match="as in the first batch"):
        (one + one).update(labels, columns(p))


def test_an_explicit_convention_takes_both_forms(rng):
    labels, p = low(rng)
    for positive_class in (True, False):
        for kind in (um.ScoreSketch, um.CalibrationMonitor):
            made = kind(positive_class=positive_class)
            made.update(labels, p)
            made.update(labels, columns(p))
            made.update(correct=labels, confidences=p)
            assert made.config["positive_class"] is positive_class


def test_a_sketch_of_one_column_knows_the_decisions(rng):
    labels, p = low(rng)
    p[:40] = 1 - p[40:80]  # Equal confidences of different decisions.
    p[80:90] = 0.5
    sketch = um.ScoreSketch()
    weights = rng.integers(1, 4, len(p))
    sketch.update(labels, p, sample_weight=weights)
    for name in ("accuracy", "aurc", "e_aurc", "augrc"):
        expected = getattr(um, name)(labels, p, sample_weight=weights)
        assert getattr(sketch, name)() == pytest.approx(expected, abs=2e-4)


def test_summaries_of_one_column_compare_the_event(rng):
    labels, p = low(rng, 4000)
    fair = (rng.random(4000) < p).astype(int)
    for form, is_event in ((lambda p: p, True), (columns, False)):
        first, second = um.Summary(), um.Summary()
        first.update(fair, form(p))
        second.update(labels, form(p))
        assert second.positive_class is is_event
        events = second.events
        exact = um.ece(labels, p, positive_class=True)
        assert events.ece() == pytest.approx(exact, abs=2e-3)
        assert events.accuracy() == pytest.approx(um.accuracy(labels, p))
        assert second.decisions.accuracy() == um.accuracy(labels, p)
        drift = um.calibration_drift(first, second)
        same = [s.events if is_event else s.decisions for s in (first, second)]
        assert drift.p_value == um.calibration_drift(*same).p_value
    answers = um.Summary()
    answers.update(correct=labels, confidences=p)
    assert answers.positive_class is False
    assert answers.events is None


def test_scorers_of_scikit_learn_follow_the_functions(rng):
    linear_model = pytest.importorskip("sklearn.linear_model")
    x = rng.normal(size=(300, 2))
    y = np.where(x[:, 0] + rng.normal(size=300) > 0, "yes", "no")
    model = linear_model.LogisticRegression().fit(x, y)
    p = model.predict_proba(x)[:, 1]
    names = ("ece", "smece", "debiased_calibration_error", "sce", "accuracy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorers = um.make_scorers(*names)
        found = {scorer.metric: scorer(model, x, y) for scorer in scorers.values()}
    for name, value in found.items():
        options = {"positive_class": False} if name in ("ece", "sce") else {}
        expected = getattr(um, name)(y == "yes", p, **options)
        assert abs(value) == pytest.approx(expected), name
