"""Groups of examples and multilabel targets on tensors of JAX and PyTorch."""

import numpy as np
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.backends.conftest import BACKEND
from uncertainty_metrics.ops import to_numpy


def draw(rng):
    """Returns labels, probabilities and groups, of which group 2 is empty."""
    labels = rng.integers(0, 2, [40, 3]).astype(np.int32)
    p = (rng.integers(1, 32, [40, 3]) / 32).astype(np.float32)
    return labels, p, rng.choice([0, 1, 3], 40).astype(np.int32)


def check(found, expected, atol=1e-6):
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(to_numpy(part), other, atol=atol)


@pytest.mark.parametrize("name", ["ece", "ace", "accuracy", "negative_log_likelihood"])
def test_functions_of_groups(name, rng):
    from keras import ops

    labels, p, groups = draw(rng)
    arguments = {"labels": labels[:, 0], "probabilities": p, "groups": groups}
    options = {"num_groups": 4}
    if name in ("ece", "ace"):
        arguments["labels"], options["multilabel"] = labels, True
    tensors = {k: ops.convert_to_tensor(v) for k, v in arguments.items()}
    expected = getattr(um_np, name)(**arguments, **options)
    check(getattr(um, name)(**tensors, **options), expected)


@pytest.mark.skipif(BACKEND != "jax", reason="compiled by jax.jit")
def test_gradients_of_groups_compile(rng):
    import jax

    labels, p, groups = draw(rng)

    def worst(p):
        given = {"groups": groups, "num_groups": 4}
        return um.brier_score(labels[:, 0], p, **given).worst

    values = um_np.brier_score(labels[:, 0], p, groups=groups, num_groups=4).values
    rows = groups == np.nanargmax(values)
    expected = 2 * (p - np.eye(3)[labels[:, 0]]) * rows[:, None] / rows.sum()
    np.testing.assert_allclose(jax.jit(jax.grad(worst))(p), expected, atol=1e-6)


def test_metrics_of_groups(rng):
    labels, p, groups = draw(rng)
    metrics = (
        (um.StaticCalibrationError(num_groups=4, multilabel=True), um_np.sce, labels),
        (um.Accuracy(num_groups=4), um_np.accuracy, labels[:, 0]),
    )
    for metric, function, of in metrics:
        for rows in (slice(0, 15), slice(15, None)):
            y_true = {"labels": of[rows], "groups": groups[rows]}
            metric.update_state(y_true, p[rows])
        more = {"multilabel": True} if of is labels else {}
        expected = function(of, p, groups=groups, num_groups=4, **more)
        check(metric.result().values(), [expected.worst, *expected.values])


def test_metrics_of_labels(rng):
    labels, p, _ = draw(rng)
    options = {"multilabel": True, "class_conditional": True}
    own = [
        um_np.debiased_calibration_error(labels[:, k], p[:, k], squared=True)
        for k in range(3)
    ]
    for metric, expected in (
        (um.SmoothCalibrationError(multilabel=True), um_np.smece),
        (um.KuiperCalibrationError(multilabel=True), um_np.kuiper_calibration_error),
        (um.DebiasedCalibrationError(**options, squared=True), np.mean(own)),
    ):
        for rows in (slice(0, 15), slice(15, None)):
            metric.update_state(labels[rows], p[rows])
        if callable(expected):
            expected = expected(correct=labels.ravel(), confidences=p.ravel())
        check([metric.result()], [expected], atol=2e-5)  # That of `smece`.


def test_sets_of_groups(rng):
    labels, _, groups = draw(rng)
    labels, sets = labels[:, 0], (rng.random((len(labels), 3)) < 0.6).astype(np.float32)
    right = sets[np.arange(len(labels)), labels]
    for metric, values, worst in (
        (um.conformal.ConformalCoverage(num_groups=4), right, np.nanmin),
        (um.conformal.MeanSetSize(num_groups=4), sets.sum(axis=1), np.nanmax),
    ):
        for rows in (slice(0, 15), slice(15, None)):
            y_true = {"labels": labels[rows], "groups": groups[rows]}
            metric.update_state(y_true, sets[rows])
        in_groups = [values[groups == g] for g in range(4)]
        expected = [part.mean() if len(part) else np.nan for part in in_groups]
        check(metric.result().values(), [worst(expected), *expected])
