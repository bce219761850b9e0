"""Metrics by group and multilabel metrics on tensors."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from uncertainty_metrics.ops import _inputs

ROWS = [row for row in catalogue.FUNCTIONS if row.takes("groups")]
LABELLED = [row for row in ROWS if row.takes("multilabel")]


def data_of(row, rng):
    """Returns arguments with groups from 0 to 3, of which group 2 is empty."""
    arguments = row.data(rng, dtype=np.float32).arguments(True)
    arguments["sample_weight"] = arguments["sample_weight"].astype(np.float32)
    return {**arguments, "groups": rng.choice([0, 1, 3], 40)}


def labelled(rng):
    """Returns labels [30, 3], some of them unknown, probabilities and weights."""
    labels = rng.integers(-1, 2, [30, 3])
    p = np.round(rng.random([30, 3]), 2).astype(np.float32)
    weights = rng.choice([0.0, 1.0, 2.0], 30).astype(np.float32)
    return {
        **{"labels": labels, "probabilities": p, "sample_weight": weights},
        "groups": rng.choice([0, 1, 3], 30),
    }


def assert_equal(found, expected):
    assert type(found) is type(expected)
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(part, other, atol=3e-7, rtol=3e-7)


@catalogue.cases_of(ROWS)
def test_groups_equal_numpy(row, case, rng):
    arguments = data_of(row, rng)
    expected = row.find(um_np)(**arguments, **case, num_groups=4)
    assert_equal(row.find(um)(**arguments, **case, num_groups=4), expected)


@catalogue.each(LABELLED)
def test_multilabel_equals_numpy(row, rng, monkeypatch):
    arguments = {**labelled(rng), **row.cases[0]}
    options = {"multilabel": True, "ignore_index": -1, "num_groups": 4}
    expected = row.find(um_np)(**arguments, **options)
    assert_equal(row.find(um)(**arguments, **options), expected)
    monkeypatch.setattr(_inputs, "SHORTCUT", True)
    assert_equal(row.find(um)(**arguments, **options), expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_grid_of_errors_takes_labels(compiled, rng):
    data = labelled(rng)
    del data["groups"]
    options = {"multilabel": True, "ignore_index": -1, "num_bins": 4}
    expected = um_np.compute_all_metrics(**data, **options)
    compute = functools.partial(um.compute_all_metrics, **options)
    if compiled:
        compute = tf.function(compute, autograph=False)
    tensors = {name: tf.constant(value) for name, value in data.items()}
    found = compute(**tensors)
    for key, value in expected.items():
        assert float(found[key]) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_errors_of_one_score_pool_the_labels(compiled, rng):
    data = labelled(rng)
    del data["groups"]
    options = {"multilabel": True, "ignore_index": -1}
    tensors = {name: tf.constant(value) for name, value in data.items()}
    for name in ("ks_calibration_error", "kuiper_calibration_error", "atb", "smece"):
        expected = getattr(um_np, name)(**data, **options)
        compute = functools.partial(getattr(um, name), **options)
        if compiled:
            compute = tf.function(compute, autograph=False)
        assert float(compute(**tensors)) == pytest.approx(expected, abs=1e-5)
    options |= {"class_conditional": True, "num_bins": 4}
    found = um.bin_statistics(**tensors, **options)
    expected = um_np.bin_statistics(**data, **options)
    for name in ("counts", "accuracies", "confidences"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_estimates_with_labels_that_depend_on_each_other_are_for_numpy():
    data = {"labels": [[0, 1], [1, 0]], "probabilities": [[0.2, 0.6], [0.5, 0.1]]}
    for name in ("debiased_calibration_error", "calibration_error_interval"):
        message = (
            rf"`multilabel` must be False on tensors: `uncertainty_.*numpy\.{name}`"
        )
        with pytest.raises(ValueError, match=message):
            getattr(um, name)(**data, multilabel=True)
    by_label = {"multilabel": True, "class_conditional": True, "num_bins": 1}
    found = um.debiased_calibration_error(**data, **by_label)
    expected = um_np.debiased_calibration_error(**data, **by_label)
    assert float(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.thorough
@catalogue.first_of_kernel(ROWS)
def test_groups_equal_numpy_in_a_graph_of_any_number_of_examples(row, rng):
    arguments = data_of(row, rng)
    types = {
        name: tf.TensorSpec([None, *np.shape(value)[1:]], tf.constant(value).dtype)
        for name, value in arguments.items()
    }
    case = dict(row.cases[-1])

    @tf.function(input_signature=[types], autograph=False)
    def run(tensors):
        return row.find(um)(**tensors, **case, num_groups=4)

    tensors = {name: tf.constant(value) for name, value in arguments.items()}
    expected = row.find(um_np)(**arguments, **case, num_groups=4)
    assert_equal(run(tensors), expected)
    groups = np.where(np.arange(40) == np.argmax(arguments["sample_weight"]), 4, 0)
    wrong = run({**tensors, "groups": tf.constant(groups)})
    assert np.isnan(np.concatenate([np.ravel(part) for part in wrong])).all()


EXHAUSTIVE = [
    pytest.param(n, marks=pytest.mark.exhaustive) for n in ("ace", "accuracy")
]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ece", *EXHAUSTIVE])
def test_groups_compiled_by_xla_equal_numpy(name, rng):
    arguments = data_of(ROWS[0], rng)

    @tf.function(jit_compile=True, autograph=False)
    def run(tensors):
        return getattr(um, name)(**tensors, num_groups=4)

    tensors = {name: tf.constant(value) for name, value in arguments.items()}
    assert_equal(run(tensors), getattr(um_np, name)(**arguments, num_groups=4))


@pytest.mark.parametrize(
    "change",
    [
        *({"groups": [0, 1, 4]}, {"groups": [0, 1, 1.5]}, {"groups": [0, 1]}),
        *({"groups": ["a", "b", "a"]}, {"groups": None}, {"num_groups": 2.5}),
    ],
)
def test_wrong_groups_raise_the_message_of_numpy(change):
    data = {"labels": [0, 1, 1], "probabilities": [0.2, 0.6, 0.7]}
    given = {**data, "groups": [0, 3, 1], "num_groups": 4, **change}
    for name in ("ece", "brier_score", "accuracy"):
        messages = []
        for room in (um, um_np):
            with pytest.raises(ValueError, match="groups") as raised:
                getattr(room, name)(**given)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
    with pytest.raises(ValueError, match=r"`aggregate` must be True with `groups`"):
        um.brier_score(**data, aggregate=False, groups=[0, 0, 0], num_groups=1)


def test_tensors_need_the_number_of_groups():
    for name in ("ece", "brier_score", "accuracy"):
        with pytest.raises(ValueError, match=r"`groups` and `num_groups` .* together"):
            getattr(um, name)([0, 1], [0.2, 0.6], groups=[0, 1])


def test_too_many_cells_of_groups_and_bins_raise():
    with pytest.raises(ValueError, match="`num_groups` must be so small that"):
        um.ece([0, 1], [0.2, 0.7], groups=[0, 1], num_groups=10**6, num_bins=10**4)


def test_number_of_labels_must_be_static():
    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2, autograph=False)
    def run(labels, p):
        return um.ece(labels, p, multilabel=True)

    with pytest.raises(ValueError, match="with a static L, for `multilabel`"):
        run(tf.zeros([2, 3]), tf.zeros([2, 3]))


def test_gradient_is_that_of_each_group_alone(rng):
    labels, groups = rng.integers(0, 3, 12), np.arange(12) % 3
    weights, logits = rng.uniform(0.5, 2, 12), tf.constant(rng.normal(size=[12, 3]))
    given = {"labels": labels, "sample_weight": weights}
    with tf.GradientTape() as tape:
        tape.watch(logits)
        found = um.negative_log_likelihood(
            **given, logits=logits, groups=groups, num_groups=4
        )
        total = found.values[0] + 3 * found.values[1] + found.worst
    gradient = tape.gradient(total, logits).numpy()
    factors = np.array([1.0, 3.0, 0.0])
    factors[np.nanargmax(found.values)] += 1
    for g in range(3):
        rows = tf.constant(logits.numpy()[groups == g])
        with tf.GradientTape() as tape:
            tape.watch(rows)
            of_group = {name: array[groups == g] for name, array in given.items()}
            value = um.negative_log_likelihood(**of_group, logits=rows)
        expected = factors[g] * tape.gradient(value, rows)
        np.testing.assert_allclose(gradient[groups == g], expected, atol=1e-12)
