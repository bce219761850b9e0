"""Each engine as the tests use it: tables in, results out.

There are no tests of an engine that is not installed. Spark without Java fails.
"""

import functools
import importlib.util
import os
import pathlib
import pickle
import shutil
import sys
import uuid

import pytest
from pyarrow import parquet

ROOT = pathlib.Path(__file__).parents[2]


def dying_once(flag):
    """Returns a function that yields a part of its batches, and dies at first."""

    def die_once(batches):
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and not flag.exists():
                flag.touch()
                os._exit(1)

    return die_once


class Beam:
    """Apache Beam in this process; no task of it can die alone."""

    def __init__(self, folder):
        self._folder = folder

    def run(self, name, parts, *args, **options):
        import apache_beam as beam

        from uncertainty_metrics import beam as engine

        folder = self._folder / uuid.uuid4().hex
        folder.mkdir()
        for i, part in enumerate(parts):
            parquet.write_table(part, folder / f"{i}.parquet")

        def keep(found):
            (folder / "found").write_bytes(pickle.dumps(found))

        with beam.Pipeline(
            "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
        ) as pipeline:
            files = str(folder / "*.parquet")
            tables = pipeline | beam.io.ReadFromParquetBatched(files)
            found = getattr(engine, name)(tables, *args, **options)
            if options.get("groups"):
                found = found | beam.combiners.ToDict()
            _ = found | "Keep" >> beam.Map(keep)
        return pickle.loads((folder / "found").read_bytes())

    def close(self):
        pass


class Spark:
    """Apache Spark with two workers; a task may fail once, and starts again."""

    def __init__(self, _):
        if not (shutil.which("java") or "JAVA_HOME" in os.environ):
            pytest.fail("Spark 4 needs Java 17 or later, and there is no Java.")
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        # Small batches, of which a partition has several.
        self.session = (
            SparkSession.builder.master("local[2,2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", 2**16)
            .config("spark.sql.shuffle.partitions", 2)
            # Else the union of single partitions is a single partition.
            .config("spark.sql.unionOutputPartitioning", "false")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        self.session.sparkContext.setLogLevel("OFF")

    def dataset(self, parts):
        frames = (self.session.createDataFrame(part).coalesce(1) for part in parts)
        return functools.reduce(lambda first, second: first.union(second), frames)

    def run(self, name, parts, *args, flag=None, **options):
        from uncertainty_metrics import spark as engine

        frame = self.dataset(parts)
        if flag is not None:
            frame = frame.mapInArrow(dying_once(flag), frame.schema)
        return getattr(engine, name)(frame, *args, **options)

    def close(self):
        self.session.stop()


class Ray:
    """Ray with two workers."""

    def __init__(self, _):
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def dataset(self, parts):
        import ray

        return ray.data.from_arrow(parts)

    def run(self, name, parts, *args, flag=None, **options):
        from uncertainty_metrics import ray as engine

        dataset = self.dataset(parts)
        if flag is not None:
            die_once = dying_once(flag)

            def halves(table):
                middle = len(table) // 2
                yield from die_once([table[:middle], table[middle:]])

            dataset = dataset.map_batches(
                halves, batch_size=None, batch_format="pyarrow"
            )
        return getattr(engine, name)(dataset, *args, **options)

    def close(self):
        import ray

        ray.shutdown()


ENGINES = {"apache_beam": Beam, "pyspark": Spark, "ray": Ray}
INSTALLED = tuple(filter(importlib.util.find_spec, ENGINES))


@pytest.fixture(scope="package", params=INSTALLED)
def engine(request, tmp_path_factory):
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # Of the workers.
    started = ENGINES[request.param](tmp_path_factory.mktemp(request.param))
    yield started
    started.close()
