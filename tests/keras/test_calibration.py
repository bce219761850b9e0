"""The calibration metrics in use: published calls, shapes, plots, models."""

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

keras = tf.keras
pytestmark = pytest.mark.keras


@pytest.mark.tensors
def test_published_calls_work(rng):
    labels = rng.integers(0, 3, 50)
    members = rng.dirichlet(np.ones(3), [4, 50]).astype(np.float32)
    ensemble = members.mean(axis=0)
    for module in (um, um_np):
        assert float(module.ece(labels, ensemble, num_bins=30)) >= 0
        value = module.ece(probs=ensemble, labels=labels, num_bins=10)
        assert float(value) == pytest.approx(
            um_np.ece(labels, ensemble, num_bins=10), abs=1e-6
        )
        metric = module.GeneralCalibrationError(
            binning_scheme="even",
            max_prob=True,
            class_conditional=False,
            norm="l1",
            num_bins=15,
        )
        for member in members:
            metric.update_state(labels, member)
        gap = np.asarray(metric.accuracies - metric.confidences)
        assert gap.shape == (15,)
        share = np.asarray(metric.counts) / 200
        assert float(metric.result()) == pytest.approx(np.sum(share * np.abs(gap)))
        # A published loop passes the probabilities first.
        for call in (metric.update_state, module.ece):
            with pytest.raises(ValueError, match="swapped"):
                call(ensemble, labels)


@pytest.mark.tensors
@pytest.mark.parametrize("name", ["ExpectedCalibrationError", "StaticCalibrationError"])
def test_sums_of_bins_equal_a_loop(name, rng):
    classes, bins = 3, 4
    metric = getattr(um, name)(num_bins=bins)
    p = rng.dirichlet(np.ones(classes), 60).astype(np.float32)
    labels, weights = rng.integers(0, classes, 60), rng.integers(0, 4, 60)
    for part in range(3):
        metric.update_state(labels[part::3], p[part::3], weights[part::3])
    if name == "ExpectedCalibrationError":
        scores, outcomes = [p.max(axis=1)], [p.argmax(axis=1) == labels]
    else:
        scores, outcomes = p.T, np.arange(classes)[:, None] == labels
    correct, prob = np.zeros([2, len(scores), bins])
    for group, row in enumerate(zip(scores, outcomes, strict=True)):
        for score, outcome, weight in zip(*row, weights, strict=True):
            index = max(int(np.ceil(score * bins)) - 1, 0)
            correct[group, index] += weight * outcome
            prob[group, index] += weight * float(score)
    shape = metric.counts.shape
    np.testing.assert_array_equal(metric.correct_sums, correct.reshape(shape))
    np.testing.assert_allclose(metric.prob_sums, prob.reshape(shape), atol=1e-7)
    assert um.StaticCalibrationError().prob_sums is None


@pytest.mark.tensors
def test_calibration_error_checks_its_task():
    with pytest.raises(TypeError, match="num_classes"):
        um.CalibrationError("multiclass")
    with pytest.raises(TypeError, match="num_classes"):
        um.CalibrationError("multiclass", num_classes=3.0)
    with pytest.raises(ValueError, match="'binary', 'multiclass'"):
        um.CalibrationError("multilabel")
    with pytest.raises(ValueError, match="'l1', 'l2', 'max'"):
        um.CalibrationError("binary", norm="l0")
    with pytest.raises(ValueError, match="num_classes"):
        um.CalibrationError("binary", num_classes=3)
    metric = um.CalibrationError("multiclass", num_classes=4)
    with pytest.raises(ValueError, match="4 classes"):
        metric.update_state([0, 1], np.full([2, 3], 1 / 3))


@pytest.mark.tensors
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_calibration_error_equals_the_general_error(norm, adaptive, rng):
    p = rng.permutation(np.arange(1, 65, 2)).astype(np.float32) / 64
    labels = rng.integers(0, 2, 32)
    scheme = "adaptive" if adaptive else "even"
    for positive in (False, True):
        metric = um.CalibrationError(
            "binary", adaptive=adaptive, norm=norm, positive_class=positive
        )
        metric.update_state(labels, p)
        expected = um_np.gce(
            labels, p, scheme, True, False, norm, 10, positive_class=positive
        )
        assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.tensors
def test_bad_arguments_without_validation_give_nan():
    metric = um.CalibrationError("binary", validate_args=False)
    metric.update_state([0, 7], [0.2, 0.3])
    assert np.isnan(metric.result())


def drawn_dots(ax):
    """Returns the drawn points of all bins, also of bins with few examples."""
    shown = [line for line in ax.lines if line.get_marker() == "o"]
    points = np.concatenate([line.get_xydata() for line in shown])
    return points[np.argsort(points[:, 0])]


@pytest.mark.tensors
@pytest.mark.parametrize("adaptive", [False, True])
def test_plot_draws_the_state(adaptive, rng):
    from matplotlib import figure

    data = catalogue.lattice(rng)
    metric = um.CalibrationError(
        "multiclass", adaptive=adaptive, num_classes=3, norm="max"
    )
    metric.update_state(data.labels, data.predictions)
    ax = figure.Figure().subplots()
    assert metric.plot(ax) is ax
    held = metric.counts.numpy() > 0
    for values, column in ((metric.confidences, 0), (metric.accuracies, 1)):
        np.testing.assert_allclose(drawn_dots(ax)[:, column], values.numpy()[held])
    texts = [text.get_text() for text in ax.findobj(lambda a: hasattr(a, "get_text"))]
    assert f"MCE = {float(metric.result()):.3f}" in texts


@pytest.mark.tensors
@pytest.mark.parametrize(
    ("metric", "word"),
    [
        (lambda: um.ExpectedCalibrationError(num_bins=5), "ECE"),
        (lambda: um.MaximumCalibrationError(num_bins=5), "MCE"),
        (lambda: um.RootMeanSquaredCalibrationError(num_bins=5), "RMSCE"),
        (lambda: um.DebiasedCalibrationError(num_bins=5), "Debiased error"),
        (lambda: um.GeneralCalibrationError("even", False, False, "l1", 5), "ECE"),
        (
            lambda: um_np.GeneralCalibrationError("even", True, False, "max", 5),
            "MCE",
        ),
    ],
)
def test_every_calibration_metric_is_drawn(metric, word, rng):
    from matplotlib import figure

    data = catalogue.lattice(rng)
    metric = metric()
    for part in (slice(20), slice(20, None)):
        metric.update_state(data.labels[part], data.predictions[part])
    ax = figure.Figure().subplots()
    assert metric.plot(ax) is ax
    held = np.asarray(metric.counts) > 0
    for values, column in ((metric.confidences, 0), (metric.accuracies, 1)):
        np.testing.assert_allclose(drawn_dots(ax)[:, column], np.asarray(values)[held])
    texts = [text.get_text() for text in ax.findobj(lambda a: hasattr(a, "get_text"))]
    assert f"{word} = {float(metric.result()):.3f}" in texts
    by_decision = getattr(metric, "spec", metric).max_prob
    assert ax.get_xlabel() == "Confidence" if by_decision else "Predicted probability"


@pytest.mark.tensors
@pytest.mark.parametrize("module", [um, um_np])
def test_plot_draws_a_panel_for_each_class(module, rng):
    import matplotlib.pyplot as plt

    data = catalogue.lattice(rng)
    metric = module.GeneralCalibrationError("even", False, True, "l1", num_bins=5)
    with pytest.raises(ValueError, match="nothing to plot yet"):
        metric.plot()
    metric.update_state(data.labels, data.predictions)
    panels = metric.plot(classes=[2, 0])
    title = panels[0].get_figure().get_suptitle()
    assert title == f"SCE = {float(metric.result()):.3f}"
    for k, panel in zip((2, 0), panels, strict=True):
        held = np.asarray(metric.counts)[k] > 0
        expected = np.asarray(metric.accuracies)[k][held]
        np.testing.assert_allclose(drawn_dots(panel)[:, 1], expected)
    plt.close("all")


@pytest.mark.tensors
def test_plot_shows_the_interval_of_a_posterior(rng):
    from matplotlib import figure

    data = catalogue.lattice(rng)
    metric = um.BayesianExpectedCalibrationError(num_bins=5, num_ece_samples=200)
    metric.update_state(data.labels, data.predictions)
    ax = metric.plot(figure.Figure().subplots())
    low, high = np.asarray(metric.quantiles([0.025, 0.975]))
    (text,) = ax.get_legend().get_texts()
    assert text.get_text().endswith(f"95% in [{low:.3g}, {high:.3g}]")


@pytest.mark.tensors
@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_plot_of_a_sketch_needs_no_bins(method, rng):
    from matplotlib import figure

    from uncertainty_metrics.visualization import reliability, score_curves

    # Each of these scores has a cell of its own.
    p = rng.integers(1, 32, 400) / 32
    labels = (rng.random(400) < p).astype(int)
    metric = um.GeneralCalibrationError(
        "adaptive", True, False, "l1", positive_class=True
    )
    metric.update_state(labels, p)
    cells = metric._on_host(False)
    np.testing.assert_allclose(cells.scores, np.unique(p))
    np.testing.assert_array_equal(cells.weights, np.unique(p, return_counts=True)[1])
    hits = [np.sum(labels[p == score]) for score in np.unique(p)]
    np.testing.assert_array_equal(cells.outcome_sums, hits)
    function = {
        "isotonic": "kolmogorov_smirnov_calibration_error",
        "smooth": "smooth_calibration_error",
    }[method]
    assert reliability.method_of(function) == method
    ax = figure.Figure().subplots()
    reliability.plot_metric(cells, metric.spec, 0.125, function, ax=ax)
    expected = score_curves.curve_from_cells(cells, method)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), expected.scores)
    (number,) = ax.texts
    name = {"isotonic": "KS", "smooth": "smECE"}[method]
    assert number.get_text() == f"{name} = 0.125"


@pytest.mark.tensors
def test_plot_raises_after_an_invalid_batch():
    metric = um.CalibrationError("binary", validate_args=False)
    metric.update_state([0, 7], [0.2, 0.3])
    with pytest.raises(ValueError, match="a batch was not valid"):
        metric.plot()


@pytest.mark.tensors
def test_binary_predictions_of_any_shape(rng):
    p = rng.uniform(size=[6, 5]).astype(np.float32)
    labels = rng.integers(0, 2, [6, 5])
    expected = um_np.ece(labels, p)
    for y_true, y_pred, options in (
        (labels.ravel(), p.ravel(), {}),
        (labels.reshape(-1, 1), p.reshape(-1, 1), {}),
        (labels.ravel(), p.reshape(-1, 1), {}),
        (labels[..., None], p[..., None], {}),
        (labels, p[..., None], {}),
        (labels, p, {"sparse_labels": True}),
        (np.eye(2)[labels.ravel()], p.reshape(-1, 1), {}),
        (np.eye(2)[labels.ravel()], p.ravel(), {"sparse_labels": False}),
    ):
        metric = um.ExpectedCalibrationError(**options)
        metric.update_state(y_true, y_pred)
        assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.tensors
def test_unknown_shapes_need_sparse_labels():
    @tf.function(
        input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, 3])]
    )
    def update(labels, predictions):
        um.ExpectedCalibrationError().update_state(labels, predictions)

    with pytest.raises(ValueError, match="sparse_labels"):
        update.get_concrete_function()


def test_predictions_of_another_number_of_classes_raise(rng):
    metric = um.StaticCalibrationError()
    assert metric.counts is None
    metric.update_state([0, 1], np.full([2, 3], 1 / 3))
    assert metric.counts.shape == (3, 15)
    with pytest.raises(ValueError, match="3 classes"):
        metric.update_state([0, 1], np.full([2, 4], 1 / 4))


# Metrics that take whether each answer is right, and the confidence in it.
OF_CONFIDENCES = {
    "AveragedTwoBinCalibrationError": "atb",
    "DebiasedCalibrationError": "debiased_calibration_error",
    "ExpectedCalibrationError": "ece",
    "KolmogorovSmirnovCalibrationError": "ks_calibration_error",
    "KuiperCalibrationError": "kuiper_calibration_error",
    "MaximumCalibrationError": "mce",
    "RootMeanSquaredCalibrationError": "rmsce",
    "SmoothCalibrationError": "smece",
}


@pytest.mark.tensors
@pytest.mark.parametrize("name", OF_CONFIDENCES)
def test_metrics_take_confidences_without_classes(name, rng):
    confidences = rng.integers(0, 17, 90) / 16  # Each has a cell of its own.
    correct = rng.random(90) < confidences**2
    metric = getattr(um, name)(positive_class=True)
    for part in range(3):
        metric.update_state(correct[part::3], confidences[part::3])
    function = getattr(um_np, OF_CONFIDENCES[name])
    expected = function(correct=correct, confidences=confidences)
    assert float(metric.result()) == pytest.approx(expected, abs=2e-5)


@pytest.mark.tensors
def test_positive_class_needs_two_classes(rng):
    metric = um.ExpectedCalibrationError(positive_class=True)
    with pytest.raises(ValueError, match="positive_class"):
        metric.update_state([0], [[0.2, 0.3, 0.5]])


def test_a_sigmoid_model_and_one_hot_labels_in_compile(rng):
    features = rng.normal(size=[64, 3]).astype(np.float32)
    labels = (features[:, 0] > 0).astype(np.float32)
    inputs = keras.Input([3])
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(inputs))
    model.compile(
        "sgd", "binary_crossentropy", metrics=[um.ExpectedCalibrationError(name="ece")]
    )
    logs = model.evaluate(features, labels, batch_size=20, return_dict=True, verbose=0)
    p = model.predict(features, verbose=0)
    assert logs["ece"] == pytest.approx(um_np.ece(labels, p), abs=1e-6)

    model = keras.Model(inputs, keras.layers.Dense(4, activation="softmax")(inputs))
    model.compile(
        "sgd",
        "categorical_crossentropy",
        # The first batch tells this metric the number of classes.
        metrics=[um.StaticCalibrationError(name="sce")],
    )
    classes = rng.integers(0, 4, 64)
    one_hot = np.eye(4, dtype=np.float32)[classes]
    model.fit(features, one_hot, verbose=0)
    logs = model.evaluate(features, one_hot, batch_size=20, return_dict=True, verbose=0)
    probabilities = model.predict(features, verbose=0)
    assert logs["sce"] == pytest.approx(um_np.sce(classes, probabilities), abs=1e-6)


@pytest.mark.tensors
def test_wrong_one_hot_rows_are_not_ignored():
    metric = um.ExpectedCalibrationError(ignore_index=-1)
    with pytest.raises(ValueError, match="one-hot"):
        metric.update_state([[1, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.5]])
    metric.update_state([-1, 1], [[0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(metric.result(), 0.25)


@pytest.mark.tensors
def test_options_may_be_numpy_numbers(rng):
    labels, probabilities = rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50)
    for name, options in {
        "AdaptiveCalibrationError": {"num_bins": 5, "sketch_bits": 6},
        "AURC": {"sketch_bits": 6, "ignore_index": 2},
        "BrierScore": {"ignore_index": 2},
        "BrierDecomposition": {"num_classes": 3, "ignore_index": 2},
    }.items():
        first = getattr(um, name)(**options)
        second = getattr(um, name)(**{k: np.int64(v) for k, v in options.items()})
        assert second.get_config() == first.get_config()
        for metric in (first, second):
            metric.update_state(labels, probabilities)
        assert second.get_state() == first.get_state()
    for wrong in (1.5, "6", 21, True):
        with pytest.raises(ValueError, match="sketch_bits"):
            um.AURC(sketch_bits=wrong)
        with pytest.raises(ValueError, match="ignore_index"):
            um.BrierScore(ignore_index=wrong if wrong != 21 else 0.5)


@pytest.mark.parametrize("metric", ["ExpectedCalibrationError", "AURC", "BrierScore"])
def test_errors_name_the_place_in_the_shape_that_was_passed(metric):
    labels, p = np.zeros([2, 3, 4], int), np.full([2, 3, 4, 3], 1 / 3)
    p[1, 2, 3, 1] = np.nan
    weights = np.ones([2, 3])
    weights[0, 1] = 0
    update = getattr(um, metric)().update_state
    with pytest.raises(ValueError, match=r"`y_pred` .* not NaN.*at \[1, 2, 3, 1\]"):
        update(labels, p, weights)
    with pytest.raises(ValueError, match=r"`y_true` .* subtract 1 .*at \[0, 0, 0\]"):
        update(labels + 3, p)
    with pytest.raises(ValueError, match=r"np.moveaxis\(y_pred, 1, -1\)"):
        update(labels, np.moveaxis(p, -1, 1))
    with pytest.raises(ValueError, match=r"pass \(y_true \+ 1\) // 2"):
        update([-1, 1], [0.5, 0.5])
