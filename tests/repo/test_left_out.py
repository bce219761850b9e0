"""An error names what a public name lacks: the file, and the line to write."""

import dataclasses
import importlib
import inspect
import re
import shutil

import pytest

from scripts import stubs
from tests import catalogue, references
from tests.catalogue import kinds
from tests.catalogue.kinds import FunctionRow, RealRow, Row
from tests.repo.test_public_names import HALVES, public, untested
from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics._scores import MeanScore

PACKAGE = "uncertainty_metrics"
NEW = '''"""A new family."""

__all__ = ["new_score"]


def new_score(labels):
    """A new score.

    Example:
      >>> new_score([1])
    """
'''


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package, which the script of the tables reads."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(stubs.ROOT / PACKAGE, tmp_path / PACKAGE, ignore=ignored)
    monkeypatch.setattr(stubs, "ROOT", tmp_path)
    return tmp_path / PACKAGE


def test_nothing_is_missing(copy):
    assert stubs.missing() == []
    assert all(path.read_text() == text for path, text in stubs.filled().items())


def removed(path, pattern):
    text = path.read_text()
    left = re.sub(pattern, "", text, count=1, flags=re.MULTILINE | re.DOTALL)
    assert left != text
    path.write_text(left)


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("file", "left_out", "message"),
    [
        (
            *("keras/metrics/detection.py", r"^__all__ = .*?\]\n"),
            'write `__all__ = ["AUPR", "AUROC", "FPRAtTPR"]` below the imports',
        ),
        (
            *("numpy/scoring/ranks.py", r"^__all__ = .*?\]\n"),
            'write `__all__ = ["rank_histogram"]` below the imports',
        ),
        (
            *("keras/metrics/forecast_scores.py", r'^    "CRPSNormal",\n'),
            'write `"CRPSNormal",` into `__all__`',
        ),
        (
            *("tensors/forecast_scores.py", r'^    "crps_score",\n'),
            'write `"crps_score",` into `__all__`',
        ),
        (
            *("numpy/regression/coverage.py", r'^    "interval_coverage",\n'),
            'write `"interval_coverage",` into `__all__`',
        ),
    ],
)
def test_a_module_that_does_not_list_a_public_name(file, left_out, message, copy):
    removed(copy / file, left_out)
    assert f"{PACKAGE}/{file}: {message}" in stubs.missing()


def import_of(home):
    return rf"^from {re.escape(home)} import (\([^)]*\)|[^(\n]*)\n"


@pytest.mark.first(1, "thorough")
@pytest.mark.parametrize(
    ("table", "home", "name"),
    [
        ("__init__.pyi", ".tensors.scoring_rules", "brier_score"),
        ("__init__.pyi", ".keras.layers", "VectorScalingLayer"),
        ("__init__.pyi", ".keras.metrics.collection", "MetricCollection"),
        ("numpy/__init__.pyi", ".survival.survival_scores", "d_calibration"),
        ("numpy/regression/__init__.pyi", ".ecdf", "ecdf_band"),
        ("__init__.pyi", ".numpy.resampling", "bootstrap"),
        ("regression/__init__.pyi", "..keras.metrics.regression", "Sharpness"),
        ("conformal/__init__.pyi", "..keras.metrics.conformal", "MeanSetSize"),
    ],
)
def test_a_table_that_lacks_a_module(table, home, name, copy):
    removed(copy / table, import_of(home))
    (complaint,) = (line for line in stubs.missing() if f" as {name}`" in line)
    message = f"write `from {home} import {name} as {name}`"
    assert complaint.startswith(f"{PACKAGE}/{table}: {message}")


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("__init__.pyi", "bin_statistics"),  # `np_binned_errors.__all__`.
        ("numpy/__init__.pyi", "crps_score"),
        ("regression/__init__.pyi", "Sharpness"),
        ("numpy/conformal/__init__.pyi", "coverage"),
    ],
)
def test_a_table_that_lacks_one_of_several_names_is_filled(table, name, copy):
    path = copy / table
    before = path.read_text()
    removed(path, rf"^    {name} as {name},\n")
    filled = stubs.filled()[path]
    assert sorted(filled.splitlines()) == sorted(before.splitlines())


def test_a_new_module(copy):
    (copy / "numpy" / "scoring" / "new_scores.py").write_text(NEW)
    home = ".scoring.new_scores import new_score as new_score"
    assert stubs.missing() == [
        f"{PACKAGE}/numpy/__init__.pyi: write `from {home}`",
        f"{PACKAGE}/__init__.pyi: write `from .numpy{home}`, or its twin into "
        "uncertainty_metrics/tensors",
    ]


def test_a_metric_that_does_not_say_what_it_streams():
    new = type("NewScore", (MeanScore,), {"__module__": __name__})
    message = r"tests/repo/test_left_out\.py: write `@_base\.register.* class NewScore"
    with pytest.raises(TypeError, match=message):
        _base.register(new)


@pytest.mark.parametrize(
    ("name", "half", "message"),
    [
        ("accuracy", "numpy", 'classifiers.py: write `Row("accuracy", reference=...'),
        ("crps_score", "tensors", 'write `RealRow("crps_score", reference=...'),
        ("lp_distance", "tensors", 'or `FunctionRow("lp_distance", ...'),
        ("AUROC", "tensors", 'write `metric="AUROC",` into the Row'),
        ("BrierLoss", "tensors", 'others.py: write `LossRow("BrierLoss", metric=...'),
        ("PlattScaling", "numpy", 'calibrators.py: write `"...": um.PlattScaling,`'),
        ("Mahalanobis", "numpy", 'objects.py: write `ObjectRow("Mahalanobis", make='),
        ("reliability_diagram", "numpy", 'others.py: write `_plot("reliability_dia'),
        ("MetricCollection", "tensors", 'write `metric="MetricCollection",` into'),
        ("VectorScalingLayer", "tensors", 'keras_objects.py: write `_row("VectorSc'),
        ("regression.sharpness", "numpy", 'write `RealRow("regression.sharpness",'),
    ],
)
def test_a_public_name_without_a_row(name, half, message, monkeypatch):
    rows = [
        dataclasses.replace(row, metric="") if name == metric_of(row) else row
        for row in catalogue.CATALOGUE
        if name not in row.names
    ]
    monkeypatch.setattr(catalogue, "CATALOGUE", rows)
    complaints = catalogue.complaints(half, public(HALVES[half]))
    assert any(message in complaint for complaint in complaints), complaints
    for complaint in complaints:
        assert complaint.startswith("tests/ca")
        # The file defines the table into which the line is written.
        for file, table in re.findall(r"/(\w+)\.py: .* into (\w+)\b", complaint):
            module = "tests" if file == "calibrators" else "tests.catalogue"
            assert hasattr(importlib.import_module(f"{module}.{file}"), table)
        for table, file in re.findall(r"into ([A-Z_]+) of (\w+)\.py", complaint):
            assert hasattr(importlib.import_module(f"tests.catalogue.{file}"), table)


def metric_of(row):
    return getattr(row, "metric", "")


def test_a_row_of_no_public_name(monkeypatch):
    row = FunctionRow("regression.new_score")
    monkeypatch.setattr(catalogue, "CATALOGUE", (*catalogue.CATALOGUE, row))
    message = (
        "a Row of tests/catalogue names `regression.new_score`, which "
        'uncertainty_metrics.numpy does not have: write `"new_score",` into `__all__`'
    )
    (complaint,) = catalogue.complaints("numpy", public(HALVES["numpy"]))
    assert complaint.startswith(message)
    with pytest.raises(AttributeError, match=re.escape(message)):
        _ = row.parameters  # The sweeps ask for them.
    with pytest.raises(AttributeError, match="names `NewScore`, which"):
        FunctionRow("ece", metric="NewScore").made({})


LISTS = re.compile(
    r"catalogue\.((REAL_|DETECTION_|FUNCTION_)?ROWS|FUNCTIONS|CALLABLES|TWINS|"
    r"(CLASS_)?METRICS|MEANS|LOSSES|PLOTS|(KERAS_)?OBJECTS)\b"
    r"|import (\(\s)?[^)]*\b(every_\w+|STREAMS|ROWS)\b"
)


def test_kinds_of_rows_name_the_files_that_test_them():
    text = inspect.getsource(kinds)
    for room in ("backends", "keras", "numpy", "tensors"):
        for path in (stubs.ROOT / "tests" / room).glob("test_*.py"):
            if LISTS.search(path.read_text("utf-8").partition("\ndef ")[0]):
                assert f"{path.name}`" in text, f"tests/catalogue/kinds.py: {path}"
    for name in re.findall(r"`(test_\w+\.py)`", text):
        assert [*(stubs.ROOT / "tests").rglob(name)], name
    for path in re.findall(r"`((?:tests|benchmarks)/\w+/\w+\.py)`", text):
        assert (stubs.ROOT / path).exists(), path


@pytest.mark.parametrize("kind", [Row, RealRow])
def test_a_row_without_a_reference(kind):
    more = {"make": dict} if kind is RealRow else {}
    message = (
        r"the Row of `new_score` in tests/catalogue has no reference: write `refer"
    )
    with pytest.raises(TypeError, match=message):
        kind("new_score", **more)
    kind("new_score", reference=references.accuracy, **more)


def test_a_function_without_a_reference():
    name = "new_" + "score"  # In no test as one word.
    (complaint,) = untested([FunctionRow("variance_bound"), FunctionRow(name)])
    assert complaint.startswith("the Row of `new_score` in tests/catalogue has no")
