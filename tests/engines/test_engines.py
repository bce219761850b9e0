"""Spark, Ray and Beam give the numbers of one process, however they divide the rows."""

import decimal
import importlib

import numpy as np
import pyarrow as pa
import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.engines.conftest import INSTALLED

SITES = ["north", "south", None]
# Numbers of rows of the parts below are sums of few powers of two, because a worker
# compiles each metric for each power.


def table_of(rng, rows, classes=3):
    """Returns random predictions, which come as lists and as columns."""
    labels = rng.integers(0, classes, rows)
    predictions = rng.dirichlet(np.ones(classes), rows)
    return pa.table(
        {
            "label": labels,
            "probabilities": pa.FixedSizeListArray.from_arrays(
                pa.array(predictions.ravel()), classes
            ),
            **{f"p{k}": predictions[:, k] for k in range(classes)},
            "weight": rng.integers(0, 4, rows) / 2,
            "site": [SITES[i] for i in rng.integers(0, 3, rows)],
            "day": rng.integers(1, 3, rows),
            "logits": pa.array(list(np.log(predictions)), pa.list_(pa.float64())),
            "nothing": pa.nulls(rows, pa.float64()),
        }
    )


def arrays(table):
    predictions = np.stack([table[f"p{k}"].to_numpy() for k in range(3)], axis=1)
    return table["label"].to_numpy(), predictions, table["weight"].to_numpy()


def divided(table, sizes):
    stops = np.cumsum(sizes)
    assert stops[-1] == len(table)
    return [table[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)]


def metrics(*more):
    metrics = [um.ExpectedCalibrationError(), um.BrierScore(), *more]
    return {metric.name: metric for metric in metrics}


def values_of(table, metrics):
    """Returns the values of metrics that one process updates with all rows at once."""
    for metric in metrics.values():
        metric.reset_state()
        metric.update_state(*arrays(table))
    return {name: float(metric.result()) for name, metric in metrics.items()}


def assert_equal(found, expected):
    """Asserts that values are equal, apart from the rounding of float32."""
    assert set(found) == set(expected)
    for name, value in found.items():
        assert type(value) is float
        assert value == pytest.approx(expected[name], rel=2e-7), name


def sketch_of(table, weighted=True):
    labels, predictions, weights = arrays(table)
    sketch = um_np.ScoreSketch()
    sketch.update(labels, predictions, sample_weight=weights if weighted else None)
    return sketch


def only(*names):
    """Runs a test with the engines of these packages, as far as they are installed."""
    installed = [name for name in names if name in INSTALLED]
    return pytest.mark.parametrize("engine", installed, indirect=True)


def test_metrics_have_the_same_values_for_any_partitioning(engine, rng):
    table = table_of(rng, 193)
    all_metrics = metrics(um.AURC())
    expected = values_of(table, all_metrics)
    found = engine.run("evaluate", [table], all_metrics, sample_weight="weight")
    assert_equal(found, expected)
    parts = divided(table, [0, 1, 64, 0, 128])
    options = {"sample_weight": "weight", "return_states": True}
    states = engine.run("evaluate", parts, all_metrics, **options)
    found = {name: float(x.to_metric().result()) for name, x in states.items()}
    assert_equal(found, expected)


def test_groups_have_the_values_of_their_rows(engine, rng):
    table = table_of(rng, 100)
    found = engine.run(
        "evaluate",
        divided(table, [60, 0, 40]),
        metrics(),
        sample_weight="weight",
        groups=["site", "day"],
    )
    keys = list(zip(table["site"].to_pylist(), table["day"].to_pylist(), strict=True))
    assert set(found) == {(site, day) for site in SITES for day in (1, 2)}
    for group, values in found.items():
        rows = table.filter(pa.array([key == group for key in keys]))
        assert_equal(values, values_of(rows, metrics()))


def test_sketches_have_the_same_bits_for_any_partitioning(engine, rng):
    table = table_of(rng, 300)
    parts = divided(table, [1, 0, 99, 200])
    columns = ["p0", "p1", "p2"]
    assert engine.run("summarize", parts, probabilities=columns) == sketch_of(
        table, weighted=False
    )
    by_site = engine.run("summarize", parts, sample_weight="weight", groups="site")
    assert set(by_site) == set(SITES)
    for site, found in by_site.items():
        rows = table.filter(pa.array([s == site for s in table["site"].to_pylist()]))
        assert found == sketch_of(rows)


def test_options_of_a_sketch_are_used(engine, rng):
    table = table_of(rng, 50)
    found = engine.run(
        "summarize",
        [table],
        um_np.ScoreSketch(max_prob=False, class_conditional=True),
        probabilities="logits",
        from_logits=True,
    )
    logits = np.stack(table["logits"].to_pylist())
    whole = um_np.ScoreSketch(max_prob=False, class_conditional=True)
    whole.update(table["label"].to_numpy(), logits=logits)
    assert found == whole


def test_summaries_have_the_sketches_and_means_of_one_process(engine, rng):
    table = table_of(rng, 300)
    labels, predictions, weights = arrays(table)
    whole = um_np.Summary(class_names=["a", "b", "c"])
    whole.update(labels, predictions, sample_weight=weights)
    found = engine.run(
        "summarize",
        divided(table, [1, 0, 99, 200]),
        um_np.Summary(class_names=["a", "b", "c"]),
        sample_weight="weight",
    )
    assert found.decisions == whole.decisions
    assert found.classes == whole.classes
    assert found.num_examples == whole.num_examples
    assert found.class_names == whole.class_names
    for name, moments in whole.means().items():
        np.testing.assert_allclose(found.means()[name], moments, rtol=1e-12)
    assert str(um_np.report(found)) == str(um_np.report(whole))


@pytest.mark.thorough
def test_a_million_rows_have_the_numbers_of_one_process(engine, rng):
    table = table_of(rng, 2**20 + 1)
    parts = divided(table, [2**19, 1, 2**19])
    assert engine.run("summarize", parts, sample_weight="weight") == sketch_of(table)
    metric = um.ExpectedCalibrationError()
    labels, predictions, _ = arrays(table)
    metric.update_state(labels, predictions)
    found = engine.run("evaluate", parts, metric)
    assert_equal(found, {metric.name: float(metric.result())})


@only("pyspark", "ray")  # The local runner of Beam has no tasks that could die alone.
def test_a_task_that_dies_once_is_counted_once(engine, rng, tmp_path):
    table = table_of(rng, 200_000)
    flag = tmp_path / "died"
    parts = divided(table, [120_000, 80_000])
    found = engine.run("summarize", parts, sample_weight="weight", flag=flag)
    assert flag.exists()
    assert found == sketch_of(table)


def test_no_rows_give_the_results_of_new_metrics(engine, rng):
    nothing = [table_of(rng, 1)[:0]] * 2
    found = engine.run("evaluate", nothing, metrics())
    assert found == {name: float(m.result()) for name, m in metrics().items()}
    assert engine.run("summarize", nothing) == um_np.ScoreSketch()
    assert engine.run("summarize", nothing, um_np.Summary()).num_examples == 0


def test_labels_may_be_absent_and_predictions_one_number(engine, rng):
    table = table_of(rng, 64)
    expected = um.PredictiveEntropy(ensemble_axis=None)
    predictions = arrays(table)[1]
    expected.update_state(None, predictions)
    found = engine.run(
        "evaluate", [table], um.PredictiveEntropy(ensemble_axis=None), labels=None
    )
    assert found == {expected.name: float(expected.result())}
    yes = [decimal.Decimal(int(x * 100)) / 100 for x in predictions[:, 1]]
    table = pa.table({"label": arrays(table)[0] == 1, "p": pa.array(yes)})
    sketch = um_np.ScoreSketch()
    sketch.update(table["label"].to_numpy(), table["p"].cast("float64").to_numpy())
    assert engine.run("summarize", [table], probabilities="p") == sketch


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": "nothing"}, "`nothing` must be given in every row"),
        ({"labels": "p1"}, "`labels`"),
    ],
)
def test_bad_columns_are_named(engine, options, message, rng):
    with pytest.raises(Exception, match=message):
        engine.run("summarize", [table_of(rng, 5)], **options)


def test_bad_arguments_raise_before_any_work(engine, rng):
    name = type(engine).__name__.lower()
    module = importlib.import_module(f"uncertainty_metrics.{name}")
    with pytest.raises(TypeError, match=r"`dataset` must be (.|\n)*Received: 3"):
        module.summarize(3)
    parts = [table_of(rng, 5)]
    for options, word in (
        ({"labels": 3}, "labels"),
        ({"probabilities": None}, "probabilities"),
        ({"sample_weight": ["weight"]}, "sample_weight"),
        ({"groups": []}, "groups"),
    ):
        with pytest.raises(TypeError, match=rf"`{word}` must(.|\n)*Received"):
            engine.run("summarize", parts, **options)
    with pytest.raises(ValueError, match="different names"):
        engine.run("evaluate", parts, [um.BrierScore(), um.BrierScore()])
    with pytest.raises(ValueError, match="ensemble_axis"):
        engine.run("evaluate", parts, um.PredictiveEntropy(ensemble_axis=0))
    with pytest.raises(
        TypeError, match="`sketch` must be a `ScoreSketch` or a `Summary`"
    ):
        engine.run("summarize", parts, um.BrierScore())


@only("pyspark")
def test_spark_takes_vectors_and_empty_partitions(engine, rng):
    from pyspark.ml.functions import array_to_vector

    from uncertainty_metrics import spark

    table = table_of(rng, 3)
    frame = engine.dataset([table]).repartition(7)
    frame = frame.withColumn("probabilities", array_to_vector(frame["probabilities"]))
    assert spark.summarize(frame, sample_weight="weight") == sketch_of(table)


@only("ray")
def test_ray_takes_arrays_and_empty_blocks(engine, rng):
    from ray import data

    from uncertainty_metrics import ray

    table = table_of(rng, 3)
    columns = zip(*arrays(table), strict=True)
    keys = ("label", "probabilities", "weight")
    rows = [dict(zip(keys, row, strict=True)) for row in columns]
    dataset = data.from_items(rows).repartition(7)
    assert ray.summarize(dataset, sample_weight="weight") == sketch_of(table)
    assert ray.summarize(dataset.limit(0)) == um_np.ScoreSketch()


def test_whole_clusters_are_summed_and_divided_ones_refused(engine, rng):
    table = table_of(rng, 300)
    ids = np.repeat(np.arange(30), 10)
    table = table.append_column("question", pa.array([f"q{i}" for i in ids]))
    found = engine.run("summarize", divided(table, [100, 0, 200]), clusters="question")
    labels, predictions, _ = arrays(table)
    whole = um_np.ScoreSketch()
    whole.update(labels, predictions, clusters=ids)
    error = found.debiased_calibration_error(squared=True)
    assert error == pytest.approx(whole.debiased_calibration_error(squared=True))
    # Wherever an engine divides the middle of the rows, it divides this cluster.
    ids[90:210] = 9
    names = pa.array([f"q{i}" for i in ids])
    table = table.set_column(table.column_names.index("question"), "question", names)
    with pytest.raises(Exception, match="clusters in two parts: 1"):
        engine.run("summarize", divided(table, [105, 195]), clusters="question")
