"""One Row for each public name, with all that the sweeps need to test it.

A new metric gets all the sweeps from a Row: agreement with its reference, NumPy
against TensorFlow, eager against compiled, batches, weights, replicas, bad input.
`tests/repo/test_public_names.py` fails for a public name without a Row. A new metric
needs no entry anywhere else.

All Rows are in `CATALOGUE`. Each kind of Row says in its docstring in `kinds.py` which
files test its Rows, and what its fields are for; `left_out` of a Row names the tests
that do not run for it. Lists of Rows of several kinds are `CALLABLES`, all functions,
`TWINS`, those of which each half has its own, and `METRICS`, those with a Keras class.
"""

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from tests.catalogue.classifiers import FEW_CELLS, ROWS
from tests.catalogue.forecasts import DETECTION_ROWS, REAL_ROWS
from tests.catalogue.keras_objects import KERAS_OBJECTS
from tests.catalogue.kinds import (
    Function,
    LossRow,
    MembersRow,
    ObjectRow,
    Public,
    not_there,
)
from tests.catalogue.objects import OBJECTS
from tests.catalogue.others import FUNCTION_ROWS, LOSSES, PLOTS
from tests.makers import SHAPES, VALUES, Data, bad_data, data, lattice
from uncertainty_metrics.numpy.calibrators._calibrator import Calibrator

__all__ = (
    "FEW_CELLS",
    "LossRow",
    "MembersRow",
    "SHAPES",
    "VALUES",
    "Data",
    "bad_data",
    "data",
    "lattice",
)

# Each half has subpackages of these names.
ROOMS = ("conformal", "detection", "regression")

CATALOGUE: tuple[Public, ...] = (
    *(*ROWS, *REAL_ROWS, *DETECTION_ROWS, *FUNCTION_ROWS),
    *(*LOSSES, *PLOTS, *OBJECTS, *KERAS_OBJECTS),
)
FUNCTIONS = tuple(row for row in ROWS if row.cases)
CALLABLES = (*FUNCTIONS, *REAL_ROWS, *DETECTION_ROWS, *FUNCTION_ROWS)
MEANS = tuple(row for row in LOSSES if row.is_mean)
METRICS = tuple(row for row in CATALOGUE if getattr(row, "metric_cases", ()))
CLASS_METRICS = tuple(row for row in ROWS if row.metric)
TWINS = tuple(row for row in CALLABLES if row.half is None)


def modules(*halves: ModuleType) -> list[ModuleType]:
    """Returns the halves of the package and their subpackages."""
    return [*halves, *(getattr(half, room) for half in halves for room in ROOMS)]


def public_names(half: str) -> set[str]:
    """Returns the public names of a half; names in a subpackage have a dot."""
    names = set()
    for row in CATALOGUE:
        halves = ("tensors",)
        if isinstance(row, ObjectRow):
            halves = row.halves
        elif isinstance(row, Function) and row.half != "tensors":
            halves = ("numpy", "tensors")  # Functions of NumPy are in both.
        if half in halves:
            names |= set(row.names)
        if half == "tensors":
            names |= {getattr(row, "metric", "")} - {""}
    return names


def complaints(half: str, public: Mapping[str, Any]) -> list[str]:
    """Returns what is missing, and where to write it.

    Each public name of a half needs a Row, and each Row a public name.
    """
    named = public_names(half)
    table = {"numpy": "uncertainty_metrics.numpy", "tensors": "uncertainty_metrics"}
    return [
        *(_row_of(name, public[name]) for name in sorted(public.keys() - named)),
        *(not_there(name, table[half]) for name in sorted(named - public.keys())),
    ]


def _row_of(name: str, value: Any) -> str:
    """Returns the Row to write for a public name, and its place."""
    home = value.__module__
    in_keras = f'_row("{name}", make=...),` into KERAS_OBJECTS'
    if ".keras.metrics." in home:
        return (
            f'tests/catalogue: write `metric="{name}",` into the Row of the function '
            f"that {name} streams, or without such a function `{in_keras} of "
            "keras_objects.py"
        )
    if home.endswith(".keras.losses"):
        row, file = f'LossRow("{name}", metric=...),` into LOSSES', "others"
    elif ".keras." in home:
        row, file = in_keras, "keras_objects"
    elif inspect.isclass(value) and issubclass(value, Calibrator):
        return (
            f'tests/calibrators.py: write `"...": um.{name},` into CLASSES, and into '
            "SOLVERS another solver, if it maps each class against the rest"
        )
    elif inspect.isclass(value):
        row, file = f'ObjectRow("{name}", make=...),` into OBJECTS', "objects"
    elif ".visualization." in home:
        row, file = f'_plot("{name}", ...),` into PLOTS', "others"
    elif {"labels", "probabilities"} <= set(inspect.signature(value).parameters):
        row, file = f'Row("{name}", reference=...),` into ROWS', "classifiers"
    else:
        return (
            f'tests/catalogue: write `RealRow("{name}", reference=..., make=...),` '
            "into REAL_ROWS of forecasts.py for a score of real-valued forecasts, or "
            f'`FunctionRow("{name}", ...),` into FUNCTION_ROWS of others.py'
        )
    return f"tests/catalogue/{file}.py: write `{row}"


def each(rows):
    """Parametrizes over rows."""
    return pytest.mark.parametrize("row", list(rows), ids=lambda row: row.name)


def each_with(name, values, rows=FUNCTIONS):
    """Parametrizes over rows and the values of each; a string is its own id."""
    return pytest.mark.parametrize(
        ("row", name),
        [
            pytest.param(
                *(row, value),
                id=f"{row.name}-{value if isinstance(value, str) else i}",
            )
            for row in rows
            for i, value in enumerate(values(row))
        ],
    )


def cases_of(rows):
    return each_with("case", lambda row: row.cases, rows)


def cases_that_take(option):
    """Parametrizes over the cases of the functions with an option."""
    return cases_of(row for row in FUNCTIONS if row.takes(option))


def first_of_kernel(rows, left=()):
    """Parametrizes over rows, of which one of each kernel runs by default.

    The other rows, and those whose names are in `left`, are exhaustive.
    """
    seen, marked = set(), []
    for row in rows:
        again = row.kernel is not None and row.kernel in seen
        seen.add(row.kernel)
        marks = [pytest.mark.exhaustive] if again or row.name in left else []
        marked.append(pytest.param(row, id=row.name, marks=marks))
    return pytest.mark.parametrize("row", marked)


every_row, every_case = each(FUNCTIONS), cases_of(FUNCTIONS)
every_bad = each_with("bad", lambda row: row.bad_data())
every_real_row, every_real_case = each(REAL_ROWS), cases_of(REAL_ROWS)
every_twin = each(TWINS)
