"""Detection metrics against references, with ties, weights and extreme scores."""

import numpy as np
import pytest
import sklearn.metrics

from tests.catalogue import DETECTION_ROWS, cases_of
from uncertainty_metrics.numpy.selective import detection

every_case = cases_of(DETECTION_ROWS)


def call(name, *arguments, **options):
    value = getattr(detection, name)(*arguments, **options)
    assert isinstance(value, float)
    return value


def labelled(rng, n=80):
    """Makes labels of both classes, tied scores that predict them, and weights."""
    scores = np.round(2 * rng.normal(size=n)) / 2
    labels = (rng.normal(size=n) < scores).astype(int)
    labels[:2] = 0, 1
    return labels, scores, np.exp(rng.normal(size=n))


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_reference(row, case, dtype, weighted, rng):
    labels, scores, weights = labelled(rng)
    given = {"sample_weight": weights} if weighted else {}
    extremes = np.finfo(np.float16)
    untied = rng.normal(size=80)
    outlying = np.append(scores[:78], [float(extremes.max), float(extremes.min)])
    for values in (scores, untied, np.abs(scores), outlying):
        values = values.astype(dtype)
        np.testing.assert_allclose(
            call(row.name, labels, values, **given, **case),
            row.reference(labels, values, **given, **case),
            rtol=1e-12,
            atol=1e-15,
        )


@every_case
def test_scores_between_0_and_1_equal_the_reference(row, case, rng):
    labels = np.append([0, 1], rng.integers(0, 2, 300))
    for dtype in (np.float32, np.float64):
        scores = (0.995 + 0.005 * rng.uniform(size=302)).astype(dtype)
        scores[2:10] = [0.0, -0.0, 1.0, 1.0, 0.0, -0.0, np.finfo(dtype).tiny, 1e-300]
        np.testing.assert_allclose(
            call(row.name, labels, scores, **case),
            row.reference(labels, scores, **case),
            rtol=1e-12,
        )


def of_classes(rng, n=80, classes=4):
    """Makes labels of all classes, tied scores of the classes, and weights."""
    labels = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    scores = np.round(2 * rng.normal(size=(n, classes)) + np.eye(classes)[labels]) / 4
    return labels, scores, np.exp(rng.normal(size=n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["macro", None])
def test_the_auroc_of_classes_equals_scikit_learns(average, weighted, rng):
    labels, scores, weights = of_classes(rng)
    # scikit-learn takes probabilities only, whose rows add up to 1.
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    p = np.round(64 * p) / 64
    p[:, 0] = 1 - p[:, 1:].sum(axis=1)
    given = {"sample_weight": weights if weighted else None}
    found = detection.auroc(labels, p, average=average, **given)
    expected = sklearn.metrics.roc_auc_score(
        labels, p, multi_class="ovr", average=average, **given
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == (() if average else (4,))
    # Any scores, any shape, either class that is positive.
    each = [detection.auroc(labels == k, scores[:, k], **given) for k in range(4)]
    shaped = detection.auroc(
        labels.reshape(8, 10),
        scores.reshape(8, 10, 4),
        sample_weight=weights.reshape(8, 10) if weighted else None,
        positive="in",
        average=None,
    )
    np.testing.assert_allclose(shaped, each, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["macro", None])
def test_the_auroc_of_labels_equals_scikit_learns(average, weighted, rng):
    _, scores, weights = of_classes(rng)
    labels = (rng.normal(size=scores.shape) < scores).astype(int)
    labels[:2] = [[0], [1]]
    given = {"sample_weight": weights if weighted else None}
    found = detection.auroc(labels, scores, multilabel=True, average=average, **given)
    expected = sklearn.metrics.roc_auc_score(labels, scores, average=average, **given)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # A label of an example can be left out.
    unknown = rng.random(labels.shape) < 0.2
    unknown[:2] = False
    found = detection.auroc(
        np.where(unknown, -1, labels),
        scores,
        multilabel=True,
        average=None,
        ignore_index=-1,
    )
    each = [
        detection.auroc(labels[~out, i], scores[~out, i])
        for i, out in enumerate(unknown.T)
    ]
    np.testing.assert_allclose(found, each, rtol=1e-12)


def test_classes_that_are_ignored_or_absent(rng):
    labels, scores, weights = of_classes(rng)
    ignored = np.where(weights < 1, 9, labels)
    ignored[:4] = range(4)
    kept = ignored != 9
    wild = np.where(kept[:, None], scores, np.nan)
    expected = detection.auroc(labels[kept], scores[kept], average=None)
    for options in ({"ignore_index": 9}, {"sample_weight": 2.0 * kept}):
        found = detection.auroc(ignored, wild, average=None, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for wrong, message in (
        (lambda: detection.auroc(labels % 3, scores), "of class 3. Received: no posi"),
        (lambda: detection.auroc(labels * 0, scores), "of class 0. Received: no nega"),
        (lambda: detection.auroc(labels + 1, scores), r"integers in \[0, 4\)"),
        (lambda: detection.auroc(labels, wild), r"`scores` must be finite.*nan at \["),
        (lambda: detection.auroc(labels, scores[:, :2]), "pass the column of class 1"),
        (lambda: detection.auroc(labels, scores, average="micro"), "`average` must"),
        (lambda: detection.auroc(labels, scores, multilabel=True), "for `multilabel`"),
        (
            lambda: detection.auroc(np.ones((3, 2)), np.ones((3, 2)), multilabel=True),
            "of label 0. Received: no negative",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_by_hand():
    labels, scores = [0, 1, 1, 0, 1], [-2.0, 5.0, -2.0, 3.0, 4.0]
    # Four of the six pairs are in the right order, and one is a tie.
    assert detection.auroc(labels, scores) == 4.5 / 6
    # Two positive examples come first; the third is among five at its score.
    assert detection.aupr(labels, scores) == pytest.approx((1 + 1 + 3 / 5) / 3)
    assert detection.fpr_at_tpr(labels, scores) == 1
    assert detection.fpr_at_tpr(labels, scores, 2 / 3) == 0


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0], 1e-200, 0.1, 1e200])
def test_perfect_reversed_and_equal_scores_by_hand(weights):
    labels = [1, 0, 0, 1]
    given = {"sample_weight": weights}
    assert detection.auroc(labels, [4, 2, 1, 3], **given) == 1
    assert detection.aupr(labels, [4, 2, 1, 3], **given) == 1
    assert detection.fpr_at_tpr(labels, [4, 2, 1, 3], 1.0, **given) == 0
    assert detection.auroc(labels, [1, 3, 4, 2], **given) == 0
    assert detection.fpr_at_tpr(labels, [1, 3, 4, 2], 0.01, **given) == 1
    assert detection.auroc(labels, [7, 7, 7, 7], **given) == 0.5
    assert detection.fpr_at_tpr(labels, [7, 7, 7, 7], **given) == 1
    share = np.average(labels, weights=np.broadcast_to(weights or 1, 4))
    assert detection.aupr(labels, [7, 7, 7, 7], **given) == pytest.approx(share)


@pytest.mark.parametrize("scale", [None, 1.0, 0.1, 1e-9])
def test_tpr_is_reached_despite_rounding(scale):
    # The share of 3 in 10 differs from 0.1 + 0.2 by rounding only.
    for n, tpr in ((20, 0.95), (10, 0.3), (10, 0.1 + 0.2), (10, 0.7), (50, 0.98)):
        # The negative example comes after a share `tpr` of the positive examples.
        labels = np.append(np.ones(n), 0)
        scores = np.append(-np.arange(n), -round(n * tpr) + 0.5)
        weights = None if scale is None else np.full(n + 1, scale)
        given = {"sample_weight": weights}
        assert detection.fpr_at_tpr(labels, scores, tpr, **given) == 0
        assert detection.fpr_at_tpr(labels, scores, tpr + 1e-9, **given) == 1


def test_positive_in_swaps_the_classes(rng):
    labels, scores, weights = labelled(rng)
    given = {"sample_weight": weights}
    for name, options in (("auroc", {}), ("aupr", {}), ("fpr_at_tpr", {"tpr": 0.8})):
        turned = call(name, 1 - labels, -scores, **options, **given)
        found = call(name, labels, scores, positive="in", **options, **given)
        assert found == turned
        if name != "auroc":
            assert found != call(name, labels, scores, **options, **given)
    assert call("aupr", [0, 0], [1.0, 2.0], positive="in") == 1
    for label, missing in ((0, 1), (1, 0)):
        match = f"{missing} for at least one"
        with pytest.raises(ValueError, match=match):
            detection.auroc([label] * 2, [0.1, 0.2], positive="in")
    with pytest.raises(ValueError, match="`labels` must be 0 for at least one"):
        detection.aupr([1, 1], [0.1, 0.2], positive="in")
