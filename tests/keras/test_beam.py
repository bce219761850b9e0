"""Metrics of data that Apache Beam divides into shards, in memory and in pipelines."""

import itertools
import pickle
import subprocess
import sys

import apache_beam as beam
import numpy as np
import pytest
import tensorflow as tf
from apache_beam.testing.util import assert_that, equal_to

import uncertainty_metrics as um
from tests.keras.streams import STREAMS, every_stream, parts, plain
from uncertainty_metrics.beam import MetricsCombineFn, ScoreSketchCombineFn

keras = tf.keras
RUNNER = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
pytestmark = [pytest.mark.keras, pytest.mark.tensors, pytest.mark.thorough]
keras_3_only = pytest.mark.skipif(
    not hasattr(keras, "ops"), reason="the same code runs under Keras 3"
)


def rows(data, weighted=True):
    columns = [data.labels, data.predictions, data.weights][: 2 + weighted]
    return list(zip(*columns, strict=True))


def combine(combine_fn, *shards):
    """Combines shards as Beam does, with a pickle where Beam may send an object."""
    accumulators = []
    for shard in shards:
        worker = pickle.loads(pickle.dumps(combine_fn))
        accumulator = worker.create_accumulator()
        for element in shard:
            accumulator = worker.add_input(accumulator, element)
        if len(accumulators) % 2:
            accumulator = worker.compact(accumulator)
        accumulators.append(pickle.loads(pickle.dumps(accumulator)))
    return combine_fn.extract_output(combine_fn.merge_accumulators(iter(accumulators)))


def assert_equal(found, expected):
    found, expected = (tf.nest.flatten(value) for value in (found, expected))
    assert all(type(value) is float for value in found)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@keras_3_only
@pytest.mark.first(5)
@every_stream
def test_shards_give_the_value_of_the_whole(stream, rng):
    data = stream.data(rng)
    metric = stream.make()
    for batch in parts(data, 4):
        metric.update_state(*batch)
    examples = rows(data)
    combine_fn = MetricsCombineFn({"it": metric}, 10)
    found = combine(combine_fn, examples[:20], examples[20:])
    assert_equal(found, {"it": plain(metric.result())})
    metric.reset_state()
    nothing = combine_fn.extract_output(combine_fn.create_accumulator())
    assert_equal(nothing, {"it": plain(metric.result())})


@pytest.mark.parametrize("options", [{}, {"positive_class": True}, {"num_classes": 2}])
def test_sketches_of_shards_have_the_bits_of_one_sketch(options, rng):
    labels, logits = rng.integers(0, 2, 60), rng.normal(size=(60, 2))
    weights = rng.random(60)
    whole = um.ScoreSketch(**options)
    whole.update(labels, logits=logits, sample_weight=weights)
    examples = list(zip(labels, logits, weights, strict=True))
    combine_fn = ScoreSketchCombineFn(um.ScoreSketch(**options), 8, from_logits=True)
    assert combine(combine_fn, examples[40:], examples[:7], examples[7:40]) == whole
    batched = ScoreSketchCombineFn(whole, batched=True, from_logits=True)
    halves = [(labels[i::2], logits[i::2], weights[i::2]) for i in range(2)]
    assert combine(batched, halves) == whole
    nothing = combine_fn.extract_output(combine_fn.create_accumulator())
    assert nothing == um.ScoreSketch(**options)


def test_bad_arguments_of_sketches_raise():
    with pytest.raises(TypeError, match="`sketch` must be a `ScoreSketch`"):
        ScoreSketchCombineFn(um.BrierScore())
    with pytest.raises(ValueError, match="`from_logits` must be True or False"):
        ScoreSketchCombineFn(from_logits=1)
    with pytest.raises(ValueError, match="`batch_size`"):
        ScoreSketchCombineFn(batch_size=0)
    with pytest.raises(ValueError, match="for logits use `logits`"):
        combine(ScoreSketchCombineFn(), [(0, [2.0, -1.0])])


def test_elements_may_be_batches(rng):
    stream = STREAMS["EnsembleDisagreement"]
    metric = um.EnsembleDisagreement(ensemble_axis=0)
    batches = [
        (labels, predictions.swapaxes(0, 1), weights)
        for labels, predictions, weights in parts(stream.data(rng), 3)
    ]
    for batch in batches:
        metric.update_state(*batch)
    combine_fn = MetricsCombineFn({"it": metric}, batched=True)
    found = combine(combine_fn, batches[:1], batches[1:])
    assert_equal(found, {"it": plain(metric.result())})


def test_a_pipeline_gives_the_value_of_the_whole(rng):
    data = STREAMS["ExpectedCalibrationError"].data(rng)
    metrics = [um.ExpectedCalibrationError(), um.BrierDecomposition(num_classes=3)]
    for metric in metrics:
        metric.update_state(data.labels, data.predictions)
    expected = {metric.name: plain(metric.result()) for metric in metrics}

    def check(found):
        assert_equal(found, expected)
        return True

    with beam.Pipeline(RUNNER) as pipeline:
        found = (
            pipeline
            | beam.Create(rows(data, weighted=False))
            | beam.Reshuffle()
            | beam.CombineGlobally(MetricsCombineFn(metrics, batch_size=7))
            | beam.Map(check)
        )
        assert_that(found, equal_to([True]))


@keras_3_only
def test_pipelines_of_keys_of_states_and_of_no_data(rng):
    data = STREAMS["AURC"].data(rng)
    metric = um.AURC()
    metric.update_state(data.labels, data.predictions, data.weights)
    states = MetricsCombineFn({"aurc": um.AURC()}, return_states=True)
    keyed = [(i % 3, row) for i, row in enumerate(rows(data))]

    def value(state):
        return round(float(state.to_metric().result()), 6)

    expected = round(float(metric.result()), 6)
    with beam.Pipeline(RUNNER) as pipeline:
        by_group = pipeline | beam.Create(keyed) | beam.CombinePerKey(states)
        total = (
            by_group
            | beam.Values()
            | beam.Map(lambda group: group["aurc"])
            | beam.CombineGlobally(sum)
            | beam.Map(value)
        )
        assert_that(total, equal_to([expected]), "total")
        nothing = pipeline | "Nothing" >> beam.Create([])
        nothing |= "Combine" >> beam.CombineGlobally(MetricsCombineFn(um.AURC()))
        empty = {"area_under_risk_coverage_curve": 0.0}
        assert_that(nothing, equal_to([empty]), "nothing")


@keras_3_only
def test_bad_rows_raise_in_a_pipeline():
    rows = [(0, [0.2, 0.8]), (5, [0.2, 0.8])]
    pipeline = beam.Pipeline(RUNNER)
    combine_fn = MetricsCombineFn(um.BrierScore())
    _ = pipeline | beam.Create(rows) | beam.CombineGlobally(combine_fn)
    with pytest.raises(ValueError, match=r"y_true.*Received"):
        pipeline.run()


GOOD = (0, [0.2, 0.8])


def test_elements_may_be_tuples_or_dicts():
    metric = um.BrierScore()
    combine_fn = MetricsCombineFn(metric)
    metric.update_state([0, 1], [[0.2, 0.8], [0.3, 0.7]], [1.0, 3.0])
    expected = {"brier_score": float(metric.result())}
    first = {"labels": 0, "predictions": np.array([0.2, 0.8])}
    for elements in (
        [(0, [0.2, 0.8]), (1, [0.3, 0.7], 3.0)],
        [first, (1, tf.constant([0.3, 0.7]), np.float32(3))],
        [(0, [0.2, 0.8], None), {**first, "labels": 1, "predictions": [0.3, 0.7]}]
        + [(1, [0.3, 0.7])] * 2,
        [([1, 0], [0.2, 0.8], 1), ([0, 1], (0.3, 0.7), 3)],
    ):
        assert_equal(combine(combine_fn, elements), expected)
        assert_equal(combine(combine_fn, elements[:1], elements[1:]), expected)


@pytest.mark.parametrize(
    ("elements", "error", "word"),
    [
        ([3], TypeError, "element"),
        ([[0, [0.2, 0.8]]], TypeError, "element"),
        ([(0,)], ValueError, "element"),
        ([(*GOOD, 1.0, 2)], ValueError, "element"),
        ([{"labels": 0}], ValueError, "element"),
        ([{"labels": 0, "predictions": [1], "weights": 1}], ValueError, "element"),
        ([GOOD, (0, [0.2, 0.3, 0.5])], ValueError, "predictions"),
        ([GOOD, (0, [0.2, [0.3]])], ValueError, "predictions"),
        ([GOOD, (0, ["a", "b"])], TypeError, "predictions"),
        ([GOOD, (None, [0.2, 0.8])], ValueError, "labels"),
        ([GOOD, ([0, 1], [0.2, 0.8])], ValueError, "labels"),
        ([(*GOOD, [1.0, 2.0]), GOOD], ValueError, "sample_weight"),
        ([GOOD, (7, [0.2, 0.8])], ValueError, "y_true"),
        ([(*GOOD, -1.0)], ValueError, "sample_weight"),
    ],
)
def test_bad_elements_raise(elements, error, word):
    with pytest.raises(error, match=rf"`{word}`(.|\n)*Received"):
        combine(MetricsCombineFn(um.BrierScore()), elements)


def test_examples_may_have_no_labels():
    combine_fn = MetricsCombineFn(um.PredictiveEntropy())
    members = [[1.0, 0.0], [0.0, 1.0]]
    for element in ((None, members), {"predictions": members}):
        found = combine(combine_fn, [element])
        assert_equal(found, {"predictive_entropy": np.log(2)})


def test_the_state_of_the_given_metric_is_not_used():
    metric = um.BrierScore(dtype="float64")
    metric.update_state([0], [[0.5, 0.5]])
    before = metric.get_state()
    combine_fn = MetricsCombineFn({"key": metric})
    assert_equal(combine(combine_fn, [(0, [0.9, 0.1])]), {"key": -0.98})
    assert metric.get_state() == before
    (value,) = combine(combine_fn, [(0, [0.9, 0.1])]).values()
    assert abs(value + 0.98) < 1e-15  # In float64.
    results = combine_fn.extract_output(combine_fn.create_accumulator())
    assert results == {"key": 0.0}  # No state is left over.


def test_groups_may_have_different_numbers_of_classes():
    combine_fn = MetricsCombineFn({"sce": um.StaticCalibrationError()})
    for classes in (2, 3, 2):
        accumulator = combine_fn.create_accumulator()
        combine_fn.add_input(accumulator, (0, np.eye(classes)[1]))
        found = combine_fn.extract_output(accumulator)
        assert_equal(found, {"sce": 2 / classes})


def test_accumulators_are_small(rng):
    combine_fn = MetricsCombineFn(um.AdaptiveCalibrationError(num_classes=3), 32)
    accumulator = combine_fn.create_accumulator()
    predictions = rng.dirichlet(np.ones(3), 200)
    for row in itertools.product(predictions, range(3)):
        accumulator = combine_fn.add_input(accumulator, row[::-1])
    assert len(pickle.dumps(combine_fn.compact(accumulator))) < 50_000
    assert len(pickle.dumps(combine_fn)) < 2_000


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ((keras.metrics.Mean(),), TypeError, "Mean"),
        (({"a": um.brier_score},), TypeError, "function"),
        (([um.BrierScore(), 3],), TypeError, "int"),
        (([um.BrierScore(), um.BrierScore()],), ValueError, "different names"),
        ((um.BrierScore(), 0), ValueError, "batch_size"),
        ((um.BrierScore(), 8.5), ValueError, "batch_size"),
        ((um.PredictiveEntropy(ensemble_axis=0),), ValueError, "ensemble_axis"),
    ],
)
def test_bad_arguments_raise(arguments, error, word):
    with pytest.raises(error, match=f"{word}"):
        MetricsCombineFn(*arguments)
    for option in ("batched", "return_states"):
        with pytest.raises(ValueError, match=f"`{option}` must"):
            MetricsCombineFn(um.BrierScore(), **{option: 1})


@keras_3_only
def test_import_without_beam_names_the_extra():
    code = (
        "import sys; sys.modules['apache_beam'] = None\n"
        "import uncertainty_metrics.numpy\n"
        "import uncertainty_metrics.beam\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError" in run.stderr
    assert "apache_beam" in run.stderr
    assert ".[beam]" in run.stderr
