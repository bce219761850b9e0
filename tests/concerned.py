"""Which tests concern a public name: those of `python -m pytest --name brier_score`.

They are the sweeps of its Row, the examples of its modules, every test whose source
names it, and the checks of the lists of public names. Tests that compile much, of
graphs, XLA and replicas, are left out.
"""

import functools
import inspect
import pathlib
import re

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.catalogue import CATALOGUE
from tests.catalogue.kinds import Function

TESTS = pathlib.Path(__file__).parent
FOLDERS = ("numpy", "tensors")
# These files do not name what they test: they sweep over the catalogue, or modules.
SWEEPS = (
    *("numpy/test_catalogue.py", "tensors/test_catalogue.py"),
    *("tensors/test_real_scores.py", "tensors/test_detection.py"),
    *("keras/test_catalogue.py", "keras/test_losses.py", "numpy/test_calibrators.py"),
    *("numpy/test_calibrator_fits.py", "repo/test_examples.py"),
)
LISTS = "repo/test_public_names.py"
SLOW = re.compile("xla|replicas|graph|test_package_catalogue|a_page")


class Concerned:
    """The tests of one public name.

    Args:
      name: a public name of either half.
    """

    def __init__(self, name: str):
        rows = map(_all_names, CATALOGUE)
        # Without a Row, the tests of the lists of names say where to write one.
        names = next((names for names in rows if name in names), (name,))
        self._names = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
        self._modules = {
            getattr(_found(half, name), "__module__", None)
            for half in (um, um_np)
            for name in names
        }

    def reads(self, file: pathlib.Path) -> bool:
        """Returns whether a file has tests of the name."""
        path = file.relative_to(TESTS)
        if path.as_posix() in (*SWEEPS, LISTS):
            return True
        return path.parts[0] in FOLDERS and bool(self._names.search(file.read_text()))

    def holds(self, item) -> bool:
        """Returns whether a test concerns the name."""
        if SLOW.search(item.nodeid):
            return False
        case = item.nodeid.partition("[")[2].removesuffix("]")
        if item.path == TESTS / LISTS and case in ("", "numpy", "tensors"):
            return True  # Lists of all names, or of those of a half.
        if case in self._modules:
            return True
        return bool(
            self._names.search(item.nodeid)
            or self._names.search(_source(item.function))
        )


def _found(half, name):
    """Returns what has a name in a half, or None."""
    for part in name.split("."):
        half = getattr(half, part, None)
    return half


def _all_names(row) -> tuple[str, ...]:
    """Returns the names of a Row, and of its Keras metric."""
    metric = row.metric if isinstance(row, Function) else ""
    return (*row.names, *([metric] if metric else []))


@functools.lru_cache(None)
def _source(function) -> str:
    """Returns the source of a test, and of the functions of its file that it calls."""
    function = inspect.unwrap(function)
    called = [
        function.__globals__.get(name)
        for name in function.__code__.co_names
        if name in function.__globals__
    ]
    helpers = [
        helper
        for helper in called
        if inspect.isfunction(helper) and helper.__module__ == function.__module__
    ]
    return "\n".join(inspect.getsource(part) for part in (function, *helpers))
