"""What XLA gets: static shapes, no calls back to Python, no float64 for float32.

An accelerator needs all three, and no test on a CPU would notice. Lowering a function
tells without compiling it: what must be known at compile time raises, and dimensions
that data decide are printed as `<=n`.
"""

import dataclasses
import functools
import inspect
import re

import numpy as np
import pytest
import tensorflow as tf

import uncertainty_metrics as um
from scripts import stubs
from tests import catalogue

keras = tf.keras
pytestmark = [pytest.mark.keras, pytest.mark.tensors]

DYNAMIC = r"<=\d|dynamic-reshape|custom-call|(?:outfeed|infeed|send|recv)\("
BANNED = rf"{DYNAMIC}|(?:f64|c128)\["


def lowered(function, *specs, **named):
    """Returns a function as XLA gets it, of arguments of which only specs are known."""
    graph = tf.function(function, jit_compile=True, autograph=False)
    return graph.experimental_get_compiler_ir(*specs, **named)(stage="hlo")


def check(function, *specs, banned=BANNED, **named):
    __tracebackhide__ = True
    lines = lowered(function, *specs, **named).splitlines()
    found = [line.strip() for line in lines if re.search(banned, line)]
    assert not found, found[0]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def specs_of(arrays):
    """Returns the specs of arrays, those of float64 as float32."""
    return {
        name: spec(
            *array.shape,
            dtype=tf.float32 if array.dtype == np.float64 else array.dtype,
        )
        for name, array in arrays.items()
    }


# Numbers of examples, members and classes, and the arguments that are made of them.
N, M, K = 7, 5, 3
LABELS = spec(N, dtype=tf.int64)
REALS = spec(N)
ROWS = spec(N, K)
MEMBERS = spec(N, M, K)


# The arguments of the public functions that have no row in the catalogue; where a
# function takes options, they come with it.


def _each(names, **specs):
    return {name: (specs, {}) for name in names.split()}


OTHERS = {
    **_each(
        "debiased_calibration_error risk_coverage_curve",
        labels=LABELS,
        probabilities=ROWS,
        sample_weight=REALS,
    ),
    "bayesian_expected_calibration_error": (
        {"probabilities": ROWS, "labels_true": LABELS},
        {"num_bins": 10, "num_ece_samples": 20, "seed": 1},
    ),
    **_each("probability_of_lower_calibration_error", samples_a=REALS, samples_b=REALS),
    "calibrated_negative_log_likelihood": (
        {"labels": LABELS, "logits": ROWS},
        {"repeats": 1},
    ),
    **_each("average_pairwise_diversity", probs=spec(M, N, K)),
    **_each("cosine_distance cosine_similarity lp_distance", x=ROWS, y=ROWS),
    **_each("disagreement logit_kl_divergence", logits_1=ROWS, logits_2=ROWS),
    **_each("double_fault", logits_1=ROWS, logits_2=ROWS, labels=LABELS),
    **_each("kl_divergence", p=ROWS, q=ROWS),
    **_each(
        "ensemble_cross_entropy gibbs_cross_entropy",
        labels=LABELS,
        logits=MEMBERS,
        sample_weight=REALS,
    ),
    **_each(
        "ensemble_disagreement expected_entropy mean_member_uncertainty "
        "model_uncertainty mutual_information predictive_entropy variation_ratio",
        probabilities=MEMBERS,
    ),
    **_each("knowledge_uncertainty", logits=ROWS),
    **_each("variance_bound", probs=spec(M, N, K), labels=LABELS),
    **_each(
        "importance_sampling_cross_validation negative_waic psis_loo", logp=spec(50, N)
    ),
    **_each("crps_distribution", labels=REALS, means=REALS),
    **_each(
        "regression.calibration_error regression.compute_calibration_curve "
        "regression.evaluate_calibration regression.expected_calibration_error "
        "regression.expected_normalized_calibration_error regression.interval_coverage",
        predictions=REALS,
        uncertainties=REALS,
        targets=REALS,
        sample_weight=REALS,
    ),
    **_each(
        "regression.interval_width regression.sharpness",
        uncertainties=REALS,
        sample_weight=REALS,
    ),
    **_each(
        "regression.negative_log_likelihood",
        mean=REALS,
        var=REALS,
        targets=REALS,
        sample_weight=REALS,
    ),
    **_each(
        "regression.root_mean_squared_error",
        predictions=REALS,
        targets=REALS,
        sample_weight=REALS,
    ),
    **_each(
        "regression.probability_integral_transform",
        predictions=REALS,
        uncertainties=REALS,
        targets=REALS,
    ),
    **_each(
        "regression.pit_calibration_curve regression.pit_calibration_error "
        "regression.pit_histogram",
        pit=REALS,
        sample_weight=REALS,
    ),
    **_each("regression.sample_pit", samples=spec(N, M), targets=REALS),
    "regression.quantile_pit": (
        {"quantile_predictions": ROWS, "targets": REALS},
        {"quantiles": [0.1, 0.5, 0.9]},
    ),
    **_each("regression.distribution_pit", targets=REALS, means=REALS),
}

# Public names that are no functions of tensors, and why.
EAGER = {
    "BinStatistics": "a container",
    "TemperatureScaling": "fits in eager execution",
    "regression.PITInterval": "a container",
    "regression.TemperatureScaling": "fits in eager execution",
}


def public(part):
    """Returns the names of which a part of the package is the home."""
    rooms = {"": "uncertainty_metrics", "regression.": "uncertainty_metrics.regression"}
    return {
        prefix + name
        for prefix, package in rooms.items()
        for name, known in stubs.names(package).items()
        if part in known.home
    }


def find(name):
    """Returns what a public name, perhaps of `um.regression`, stands for."""
    return functools.reduce(getattr, name.split("."), um)


def of_normal(function):
    """Returns a function of a distribution as one of means."""
    from tensorflow_probability import distributions

    def call(means, **values):
        return function(distribution=distributions.Normal(means, 1.0), **values)

    return call


def parts(result):
    """Returns the tensors of a result of any class."""
    if dataclasses.is_dataclass(result):
        result = vars(result)
    tensors = [part for part in tf.nest.flatten(result) if tf.is_tensor(part)]
    assert tensors
    return tensors


def lower_function(name, specs, options):
    function = find(name)
    if "means" in specs and "distribution" in inspect.signature(function).parameters:
        function = of_normal(function)
    check(lambda **tensors: parts(function(**tensors, **options)), **specs)


CATALOGUED = catalogue.FUNCTIONS + catalogue.REAL_ROWS + catalogue.DETECTION_ROWS


@pytest.mark.parametrize("row", CATALOGUED, ids=lambda row: row.name)
def test_functions_of_the_catalogue(row, rng):
    if row in catalogue.FUNCTIONS:
        arguments = row.data(rng, N).arguments(weighted=True)
    else:
        arguments = row.arguments(rng, (N,))
    lower_function(row.name, specs_of(arguments), row.cases[-1])


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    lower_function(name, *OTHERS[name])


def test_every_function_is_here():
    rows = {
        name for row in CATALOGUED for name in (row.name, *getattr(row, "aliases", ()))
    }
    aliases = {"regression.ence"}
    assert public("tensorflow") == rows | set(OTHERS) | set(EAGER) | aliases


# Metrics without a row in the catalogue: their predictions and options.
OTHER_METRICS = {
    "BayesianExpectedCalibrationError": (ROWS, {"num_ece_samples": 20}),
    "DebiasedCalibrationError": (ROWS, {"sketch_bits": 6}),
    "KnowledgeUncertainty": (ROWS, {}),
    **dict.fromkeys(
        (
            *("EnsembleCrossEntropy", "EnsembleDisagreement", "ExpectedEntropy"),
            *("GibbsCrossEntropy", "MeanMemberUncertainty", "MutualInformation"),
            *("PredictiveEntropy", "VariationRatio"),
        ),
        (MEMBERS, {}),
    ),
    **dict.fromkeys(
        (
            *("regression.ExpectedCalibrationError", "regression.IntervalCoverage"),
            *("regression.IntervalWidth", "regression.NegativeLogLikelihood"),
            *("regression.RootMeanSquaredError", "regression.Sharpness"),
        ),
        (spec(N, 2), {}),
    ),
}
CATALOGUED_METRICS = {row.metric: row for row in reversed(catalogue.METRICS)}


def check_metric(metric, labels, predictions):
    def update(*batch):
        metric.update_state(*batch)

    check(update, labels, predictions, REALS)
    check(lambda: parts(metric.result()))


@pytest.mark.parametrize("name", CATALOGUED_METRICS)
def test_metrics_of_the_catalogue(name, rng):
    row = CATALOGUED_METRICS[name]
    options = row.metric_cases[0][0]
    if "num_classes" in inspect.signature(find(name)).parameters:
        options = {"num_classes": K, **options}
    made = specs_of(vars(row.lattice(rng, N)))
    check_metric(find(name)(**options), made["labels"], made["predictions"])


@pytest.mark.parametrize("name", OTHER_METRICS)
def test_other_metrics(name):
    predictions, options = OTHER_METRICS[name]
    labels = REALS if "regression" in name else LABELS
    check_metric(find(name)(**options), labels, predictions)


# Losses, and the layer, with their gradients.
LOSSES = {
    "BrierLoss": (LABELS, ROWS, {}),
    "CRPSNormalLoss": (REALS, spec(N, 2), {}),
    "CRPSSampleLoss": (REALS, spec(N, M), {}),
    "GaussianNLLLoss": (REALS, spec(N, 2), {}),
    "IntervalLoss": (REALS, spec(N, 2), {"alpha": 0.2}),
    "PinballLoss": (REALS, spec(N, 3), {"quantiles": [0.1, 0.5, 0.9]}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients(name):
    labels, predictions, options = LOSSES[name]
    loss = find(name)(**options)

    def value_and_gradient(y_true, y_pred, weights):
        with tf.GradientTape() as tape:
            tape.watch(y_pred)
            value = loss(y_true, y_pred, weights)
        return value, tape.gradient(value, y_pred)

    # That of samples sorts them with their indices, which float32 has no room for.
    banned = DYNAMIC if name == "CRPSSampleLoss" else BANNED
    check(value_and_gradient, labels, predictions, REALS, banned=banned)


def test_layer():
    layer = um.TemperatureScalingLayer()
    layer(tf.zeros([N, K]))
    check(layer, ROWS)


def test_every_class_is_here():
    # The first is that of Keras.
    others = {"AUC", "ReliabilityDiagramCallback", "TemperatureScalingLayer"}
    here = {*CATALOGUED_METRICS, *OTHER_METRICS, *LOSSES, *others}
    assert public("keras") == here


def kept(x):
    return tf.boolean_mask(x, x > 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.reduce_sum(kept(x)),
        lambda x: tf.size(tf.unique(x)[0]),
        lambda x: tf.reduce_sum(x[: tf.cast(x[0], tf.int32)]),
        lambda x: tf.cast(tf.cast(x, tf.float64) + 1, tf.float32),
        lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex128))),
    ],
)
def test_the_check_finds_what_it_looks_for(function):
    with pytest.raises(AssertionError, match=BANNED):
        check(function, REALS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.range(tf.cast(x[0], tf.int32)),
        lambda x: tf.repeat(x, tf.cast(x, tf.int32)),
        lambda x: tf.math.bincount(tf.cast(x, tf.int32)),
        lambda x: tf.numpy_function(np.sin, [x], tf.float32),
        lambda x: [tf.print(x), x][1],
    ],
)
def test_what_cannot_be_lowered_raises(function):
    with pytest.raises(ValueError, match="HLO"):
        check(function, REALS)
