"""Streaming rank metrics are close to exact, also on data that are hard to sketch."""

import warnings

import numpy as np
import pytest
import sklearn.metrics
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from uncertainty_metrics.ops import _sketch

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]

SELECTIVE = {
    "AURC": ("aurc", {}),
    "ExcessAURC": ("e_aurc", {}),
    "AUGRC": ("augrc", {}),
    "CoverageAtRisk": ("coverage_at_risk", {"risk": 0.2}),
    "RiskAtCoverage": ("risk_at_coverage", {"coverage": 0.5}),
    "OracleCollaborativeAccuracy": ("oracle_collaborative_accuracy", {"fraction": 0.2}),
}
DETECTION = {
    "AUROC": ("auroc", {}),
    "AUPR": ("aupr", {}),
    "FPRAtTPR": ("fpr_at_tpr", {}),
}


def stream(metric, *arrays, batch=5000):
    for start in range(0, len(arrays[0]), batch):
        metric.update_state(*(array[start : start + batch] for array in arrays))
    return float(metric.result())


@pytest.mark.parametrize("name", SELECTIVE)
@pytest.mark.parametrize("sharpness", [1.0, 20.0])
def test_selective_metrics_are_close_to_exact(name, sharpness, rng):
    function, options = SELECTIVE[name]
    labels = rng.integers(0, 10, 20000)
    logits = rng.normal(size=[20000, 10]).astype(np.float32)
    logits[np.arange(20000), labels] += 2
    logits *= sharpness  # With 20 most tops are within 1e-5 of 1.
    weights = rng.uniform(0, 3, 20000).astype(np.float32)
    atol = 1e-4 if "AU" in name else 1e-3 if "Oracle" in name else 5e-3
    probabilities = tf.nn.softmax(logits).numpy()
    for from_logits, predictions in ((False, probabilities), (True, logits)):
        given = {"logits" if from_logits else "probabilities": predictions}
        exact = getattr(um_np, function)
        metric = getattr(um, name)(from_logits=from_logits, **options)
        expected = exact(labels, **given, **options)
        assert abs(stream(metric, labels, predictions) - expected) < atol
        metric.reset_state()
        expected = exact(labels, **given, **options, sample_weight=weights)
        assert abs(stream(metric, labels, predictions, weights) - expected) < atol


def detection_data(kind, rng, n=20000):
    labels = rng.integers(0, 2, n)
    noise = rng.normal(size=n)
    scores = {
        "normal": noise + 1.5 * labels,
        "saturated": 0.995 + 0.005 * rng.beta(1 + 3 * labels, 2),
        "near one": 1 / (1 + np.exp(-(noise + 2 * labels + 10))),
        "near zero": 1 / (1 + np.exp(-(noise + 2 * labels - 16))),
        "log-likelihood": -3000 + 200 * noise + 300 * labels,
        "huge": 1e30 * (noise + labels),
        "ties": np.round(noise + labels, 1),
    }[kind]
    return labels, scores.astype(np.float32)


@pytest.mark.parametrize("name", DETECTION)
@pytest.mark.parametrize(
    "kind",
    [
        *("normal", "saturated", "near one", "near zero", "log-likelihood"),
        *("huge", "ties"),
    ],
)
def test_detection_metrics_are_close_to_exact(name, kind, rng):
    function, options = DETECTION[name]
    labels, scores = detection_data(kind, rng)
    expected = getattr(um_np, function)(labels, scores, **options)
    metric = getattr(um, name)(**options)
    atol = {"AUROC": 1e-4, "AUPR": 1e-3, "FPRAtTPR": 1e-2}[name]
    if kind in ("log-likelihood", "huge"):  # Few cells hold much of the data.
        atol *= 20
    assert abs(stream(metric, labels, scores) - expected) < atol
    if name == "AUROC":
        assert abs(float(metric.result()) - expected) <= float(metric.error_bound)


BOUNDED = (  # The default run has the first four.
    *("3", "100", "constant", "saturated", "uniform"),
    *("2", "10", "1000", "near 0", "two-valued"),
)


def confidences_of(kind, rng, n):
    """Returns confidences that hardly differ, and the number of classes."""
    ranks = rng.permutation(n) / n
    if kind.isdigit():  # Of nearly uniform predictions.
        classes = int(kind)
        return (1 + 10.0 ** rng.uniform(-5, -1) * ranks) / classes, classes
    return {
        "near 0": 1e-3 + 1e-5 * ranks,
        "constant": np.full(n, 0.7),
        "two-valued": rng.choice([0.7, 0.701], n),
        "saturated": 1 - 10.0 ** -rng.uniform(1, 4) * ranks,
        "uniform": 0.5 + 0.5 * ranks,
    }[kind], 2000 if kind == "near 0" else 2


def outcomes_of(confidences, rng):
    """Returns which examples are right: the best, the worst, in runs, or at random."""
    ranks = np.argsort(np.argsort(confidences, kind="stable"))
    n, share = len(confidences), rng.uniform(0.05, 0.95)
    return {
        "best": ranks >= share * n,
        "worst": ranks < share * n,
        "runs": ranks // (n // 7) % 2 == 1,
        "none": rng.uniform(size=n) < share,
    }


def largest_share(cells, weights):
    return np.max(np.bincount(cells, weights)) / np.sum(weights)


@pytest.mark.thorough
@pytest.mark.first(4)
@pytest.mark.parametrize("kind", BOUNDED)
def test_selective_metrics_are_within_their_bounds(kind, rng):
    n = 400
    confidences, classes = confidences_of(kind, rng, n)
    rest = (1 - confidences) / (classes - 1)
    predictions = np.repeat(rest[:, None], classes, axis=1).astype(np.float32)
    predictions[:, 0] = confidences
    weights = rng.choice([0.0, 1.0, 1.0, 2.0], n).astype(np.float32)
    cells = _sketch.index(predictions.max(axis=1), 6).numpy()
    s = largest_share(cells, weights)
    risk, coverage, fraction = rng.uniform(0.05, 0.6, 3)
    bounds = {
        "AURC": s / 4 * (1 + np.log(4 / s)),
        "ExcessAURC": s / 4 * (1 + np.log(4 / s)),
        "AUGRC": s / 8,
        "RiskAtCoverage": s / coverage,
        "OracleCollaborativeAccuracy": s / 4,
    }
    options = {
        "RiskAtCoverage": {"coverage": coverage},
        "OracleCollaborativeAccuracy": {"fraction": fraction},
    }
    for correct in outcomes_of(predictions.max(axis=1), rng).values():
        decisions = np.argmax(predictions, axis=1)
        labels = np.where(correct, decisions, (decisions + 1) % classes)
        data = labels, predictions, weights
        given = {"labels": labels, "probabilities": predictions}
        given["sample_weight"] = weights
        for name, bound in bounds.items():
            option = options.get(name, {})
            exact = getattr(um_np, SELECTIVE[name][0])(**given, **option)
            found = stream(getattr(um, name)(**option), *data)
            assert abs(found - exact) <= bound + 1e-6, name
        found = stream(um.CoverageAtRisk(risk), *data)
        assert found <= um_np.coverage_at_risk(**given, risk=risk) + 1e-6
        for less in risk * np.linspace(0.1, 1, 19):
            c = um_np.coverage_at_risk(**given, risk=less)
            if less <= risk * (c - s) / max(c, 1e-9):
                assert found >= c - s - 1e-6


def test_the_order_within_a_cell_is_lost():
    # All scores share a cell, and the right decisions have the higher scores: the
    # sketch gives the risk r instead of r + (1 - r) log(1 - r).
    n = 400
    confidences = (0.001 * (1 + 1e-3 * np.arange(n) / n)).astype(np.float32)
    predictions = np.repeat((1 - confidences)[:, None] / 999, 1000, axis=1)
    predictions[:, 0] = confidences
    labels = np.where(np.arange(n) >= n / 2, 0, 1)
    exact = um_np.aurc(labels, predictions)
    assert exact == pytest.approx(0.5 + 0.5 * np.log(0.5), abs=2e-3)
    assert stream(um.AURC(), labels, predictions) == pytest.approx(0.5)
    fine = stream(um.AURC(sketch_bits=14), labels, predictions)
    assert fine == pytest.approx(exact, abs=0.01)


@pytest.mark.thorough
@pytest.mark.first(4)
@pytest.mark.parametrize("kind", BOUNDED)
def test_detection_metrics_are_within_their_bounds(kind, rng):
    n = 400
    scores = confidences_of(kind, rng, n)[0].astype(np.float32)
    weights = rng.choice([0.0, 1.0, 1.0, 2.0], n).astype(np.float32)
    cells = _sketch.real_index(scores, 7).numpy()
    tpr = rng.uniform(0.05, 1)
    for positive in outcomes_of(scores, rng).values():
        labels = positive.astype(int)
        data = labels, scores, weights
        given = {"labels": labels, "scores": scores, "sample_weight": weights}
        hits = np.bincount(cells, weights * positive)[::-1]
        misses = np.bincount(cells, weights * ~positive)[::-1]
        hit_shares, miss_shares = hits / hits.sum(), misses / misses.sum()
        exact = um_np.auroc(**given)
        bound = min(hit_shares.max(), miss_shares.max()) / 2
        metric = um.AUROC()
        assert abs(stream(metric, *data) - exact) <= bound + 1e-6
        assert float(metric.error_bound) <= bound + 1e-6
        mass = hits + misses
        shares = mass / np.maximum(np.cumsum(mass), 1)
        found = stream(um.AUPR(), *data)
        assert abs(found - um_np.aupr(**given)) <= hit_shares @ shares + 1e-6
        excess = stream(um.FPRAtTPR(tpr), *data) - um_np.fpr_at_tpr(**given, tpr=tpr)
        assert -1e-6 <= excess <= miss_shares.max() + 1e-6


def test_saturated_scores_where_even_thresholds_fail(rng):
    labels, scores = detection_data("saturated", rng)
    expected = sklearn.metrics.roc_auc_score(labels, scores)
    assert abs(stream(um.AUROC(), labels, scores) - expected) < 5e-5
    with_thresholds = keras.metrics.AUC(num_thresholds=200)
    assert abs(stream(with_thresholds, labels, scores) - expected) > 0.2


def test_either_positive_class_has_the_same_cells(rng):
    labels, scores = detection_data("saturated", rng)
    plain, turned = um.AUPR(), um.AUPR(positive="in")
    for metric, other in ((plain, labels), (turned, 1 - labels)):
        signed = scores if metric is plain else -scores.astype(np.float64)
        expected = sklearn.metrics.average_precision_score(other, signed)
        assert abs(stream(metric, labels, scores) - expected) < 1e-3
    for ours, theirs in zip(plain.variables, turned.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    collection = um.MetricCollection([um.AUPR(name="a"), um.AUPR(positive="in")])
    collection.update_state(labels, scores)
    assert float(collection.result()["aupr"]) == pytest.approx(float(turned.result()))


def test_more_bits_lower_the_error_bound(rng):
    labels = rng.integers(0, 2, 5000)
    scores = 1e5 + 100 * rng.normal(size=5000) + 150 * labels
    exact = sklearn.metrics.roc_auc_score(labels, scores)
    bounds = []
    for bits in (8, 12):
        metric = um.AUROC(sketch_bits=bits)
        assert abs(stream(metric, labels, scores) - exact) <= metric.error_bound
        bounds.append(float(metric.error_bound))
    assert bounds[0] > 0.05 > 0.02 > bounds[1]


def test_margins_of_logits_rank_what_probabilities_cannot(rng):
    n = 4000
    margins = rng.uniform(20, 60, n)  # float32 probabilities are all 1.
    labels = (rng.uniform(size=n) > (margins - 20) / 40).astype(int)  # 0 is right.
    logits = np.stack([margins, np.zeros(n)], axis=1).astype(np.float32)
    metric = um.AURC(from_logits=True)
    result = stream(metric, labels, logits)
    assert abs(result - um_np.aurc(confidences=margins, correct=labels == 0)) < 1e-3
    saturated = stream(um.AURC(), labels, tf.nn.softmax(logits).numpy())
    np.testing.assert_allclose(saturated, np.mean(labels), rtol=1e-6)
    assert result < saturated - 0.1


@pytest.mark.parametrize("scale", [1e-6, 0.25, 1.0])
def test_values_do_not_depend_on_the_scale_of_weights(scale, rng):
    labels = rng.integers(0, 2, 30)
    confidences = rng.permutation(np.linspace(0.5, 1, 30)).astype(np.float32)
    predictions = np.stack([confidences, 1 - confidences], axis=1)
    weights = np.full(30, scale, np.float32)
    expected = um_np.aurc(labels, predictions)
    metric = um.AURC()
    np.testing.assert_allclose(
        stream(metric, labels, predictions, weights), expected, rtol=1e-5
    )
    if scale == 1.0:  # Batches with and without weights add.
        metric.update_state(labels, predictions)
        twice = um_np.aurc(np.tile(labels, 2), np.tile(predictions, [2, 1]))
        np.testing.assert_allclose(float(metric.result()), twice, rtol=1e-5)


def test_values_without_both_outcomes():
    assert float(um.AUROC().error_bound) == 0.0
    for labels, aurc, coverage in (([0, 0], 0.0, 1.0), ([1, 1], 1.0, 0.0)):
        predictions = [[0.9, 0.1], [0.6, 0.4]]
        for name, expected in (
            ("AURC", aurc),
            ("ExcessAURC", 0.0),
            ("AUGRC", aurc / 2),
            ("CoverageAtRisk", coverage),
            ("RiskAtCoverage", aurc),
            ("Accuracy", coverage),
        ):
            metric = getattr(um, name)()
            metric.update_state(labels, predictions)
            assert float(metric.result()) == expected, name


@pytest.mark.first(3, "thorough")
@pytest.mark.parametrize("name", DETECTION)
@pytest.mark.parametrize("positive", ["out", "in"])
@pytest.mark.parametrize("compiled", [False, True])
def test_labels_of_one_class_have_no_value(name, positive, compiled):
    """As the function, which raises; 0.0 would be the best FPR."""
    metric = getattr(um, name)(positive=positive)
    update, result = metric.update_state, metric.result
    if compiled:
        update, result = tf.function(update), tf.function(result)
    function = getattr(um_np, DETECTION[name][0])
    for label in (0, 1):
        labels, scores = [label] * 2, np.float32([0.1, 0.2])
        metric.reset_state()
        update(tf.constant(labels), tf.constant(scores))
        # All are positive, and of none is asked how many negatives it beats.
        if name == "AUPR" and label == (positive == "out"):
            assert float(result()) == function(labels, scores, positive=positive) == 1.0
            continue
        with pytest.raises(ValueError, match="for at least one example"):
            function(labels, scores, positive=positive)
        with pytest.warns(RuntimeWarning, match=rf"{name} .* is NaN: it needs"):
            assert np.isnan(float(metric.result()))
        with warnings.catch_warnings():  # It warns once.
            warnings.simplefilter("error")
            assert np.isnan(float(result()))
            assert np.isnan(float(metric.result()))
        update(tf.constant([1 - label] * 2), tf.constant(scores))
        expected = function([0, 0, 1, 1], np.tile(scores, 2), positive=positive)
        assert float(result()) == pytest.approx(expected)


def test_bound_without_pairs_is_not_a_number():
    metric = um.AUROC()
    metric.update_state([1, 1], [0.1, 0.2])
    assert np.isnan(float(metric.error_bound))


def test_float64_results(rng):
    labels, scores = detection_data("normal", rng, 1000)
    metric = um.AUROC(dtype="float64")
    result = stream(metric, labels, scores)
    assert metric.result().dtype == tf.float64
    assert abs(result - sklearn.metrics.roc_auc_score(labels, scores)) < 1e-4


def test_scores_with_a_class_axis_raise():
    with pytest.raises(ValueError, match="y_pred"):
        um.AUROC().update_state([0, 1], [[0.1, 0.9], [0.2, 0.8]])


def columns_of(kind, rng, n=20000, columns=4):
    """Returns labels of classes, or 0 and 1 [n, columns], and float32 scores."""
    labels = rng.integers(0, columns, n)
    logits = rng.normal(size=[n, columns]) + 2 * np.eye(columns)[labels]
    if kind == "saturated":
        logits *= 8
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return labels, p, (rng.random([n, columns]) < p).astype(int)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize(
    ("kind", "weighted"),
    [
        ("saturated", True),
        pytest.param("saturated", False, marks=pytest.mark.thorough),
        pytest.param("usual", False, marks=pytest.mark.thorough),
        pytest.param("usual", True, marks=pytest.mark.thorough),
    ],
)
def test_the_auroc_of_columns_is_that_of_scikit_learn(kind, weighted, multilabel, rng):
    classes, p, labels = columns_of(kind, rng)
    y_true = labels if multilabel else classes
    weights = rng.uniform(0, 3, len(p)).astype(np.float32) if weighted else None
    given = (y_true, p) if weights is None else (y_true, p, weights)
    options = {"multilabel": multilabel}
    expected = sklearn.metrics.roc_auc_score(
        y_true,
        p,
        sample_weight=weights,
        average=None,
        multi_class="raise" if multilabel else "ovr",
    )
    metric = um.AUROC(num_classes=4, **options)
    mean = stream(metric, *given, batch=7000)
    assert abs(mean - np.mean(expected)) <= min(float(metric.error_bound), 2e-4)
    each = um.AUROC(num_classes=4, average=None, **options)
    each.merge_state([])
    each.update_state(*given)
    found = {name: float(value) for name, value in each.result().items()}
    areas = np.array([found[f"auroc_{k}"] for k in range(4)])
    bounds = np.asarray(each.error_bound)
    assert np.all(np.abs(areas - expected) <= bounds + 1e-6)
    assert np.all(np.abs(areas - expected) < 5e-4)
    assert found["auroc_worst"] == areas.min()
    # One-hot, with more axes, in two graphs.
    if not multilabel:
        y_true = np.eye(4)[classes]
    shaped = um.AUROC(num_classes=4, **options)
    tensors = [tf.constant(x.reshape(100, 200, *x.shape[1:])) for x in (y_true, p)]
    if weighted:
        tensors.append(tf.constant(weights.reshape(100, 200)))
    tf.function(shaped.update_state)(*tensors)
    assert float(tf.function(shaped.result)()) == pytest.approx(mean, abs=1e-6)


def test_the_auroc_of_labels_follows_that_of_keras_in_fit(rng):
    _, p, labels = columns_of("usual", rng, 600)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(4, "sigmoid")])
    ours = um.AUROC(multilabel=True)
    theirs = keras.metrics.AUC(multi_label=True, num_labels=4, num_thresholds=5000)
    model.compile("sgd", "binary_crossentropy", metrics=[ours, theirs])
    history = model.fit(p, labels, batch_size=100, epochs=2, verbose=0).history
    names = [name for name in history if name.startswith("au")]
    np.testing.assert_allclose(*(history[name] for name in names), atol=1e-3)
    expected = um_np.auroc(labels, model.predict(p, verbose=0), multilabel=True)
    values = model.evaluate(p, labels, verbose=0, return_dict=True)
    assert values["auroc"] == pytest.approx(expected, abs=2e-4)


def test_unknown_labels_of_an_example_are_left_out(rng):
    _, p, labels = columns_of("usual", rng, 500)
    unknown = rng.random(labels.shape) < 0.3
    labels = np.where(unknown, -1, labels)
    options = {"multilabel": True, "ignore_index": -1}
    expected = um_np.auroc(labels, p, average=None, **options)
    metric = um.AUROC(num_classes=4, average=None, **options)
    metric.update_state(labels[:200], p[:200])
    other = um.AUROC(num_classes=4, average=None, **options)
    other.update_state(labels[200:], np.where(unknown, np.nan, p)[200:])
    metric.merge_state([other])
    found = [float(metric.result()[f"auroc_{k}"]) for k in range(4)]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    restored = um.AUROC.from_config(metric.get_config())
    restored.set_state(metric.get_state())
    assert float(restored.result()["auroc_3"]) == found[3]
    assert "auroc_worst" in repr(restored)


def test_columns_without_both_outcomes_have_no_value():
    metric = um.AUROC(multilabel=True)
    assert float(metric.result()) == float(metric.error_bound) == 0.0
    metric.update_state([[0, 1], [1, 1]], [[0.1, 0.2], [0.3, 0.4]])
    with pytest.warns(RuntimeWarning, match="NaN: it needs positive and negative exam"):
        assert np.isnan(float(metric.result()))
    metric.update_state([[0, 0]], [[0.0, 0.4]])
    assert float(metric.result()) == (1 + 0.25) / 2
    metric.reset_state()
    assert float(metric.result()) == 0.0
    each = um.AUROC(num_classes=3, average=None)
    each.update_state([0, 1], [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0]])
    found = [float(value) for value in each.result().values()]
    np.testing.assert_array_equal(found, [1, 1, 1, np.nan])


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"num_classes": 2}, None, "at least 3; for two classes pass scores of class"),
        ({"average": None}, None, "`average=None` needs `num_classes`"),
        ({"average": "micro"}, None, "`average` must be one of"),
        ({"num_classes": 3}, ([0], [[0.1] * 4]), "must have 3 classes"),
        ({"num_classes": 3}, ([0], [0.1]), "must have 3 classes"),
        ({"num_classes": 3}, ([3], [[0.1] * 3]), r"integers in \[0, 3\).* 3 at \[0\]"),
        ({"num_classes": 3}, ([[0, 1, 1]], [[0.1] * 3]), "one-hot"),
        ({"num_classes": 3}, ([0], [[0.1, np.nan, 0]]), "`y_pred` must be finite"),
        ({"multilabel": True}, ([[0, 2]], [[0.1] * 2]), r"`y_true` must be 0 or 1"),
        ({"multilabel": True}, ([0, 1], [0.1, 0.2]), "for `multilabel`"),
        ({}, ([0], [[0.1] * 3]), "of the shape of `y_true`"),
    ],
)
def test_wrong_columns_are_refused(options, data, message):
    with pytest.raises(ValueError, match=message):
        um.AUROC(**options).update_state(*(data or ([0], [0.5])))
    if data and len(np.shape(data[1])) == len(np.shape(data[0])) == 2:
        compiled = um.AUROC(**options)
        tf.function(compiled.update_state)(*map(tf.constant, data))
        with pytest.warns(RuntimeWarning, match="a compiled update refused 1 batch"):
            assert np.isnan(float(compiled.result()))


def test_auc_is_the_metric_of_keras():
    assert um.AUC is keras.metrics.AUC
