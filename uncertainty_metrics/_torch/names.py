"""The public names of `uncertainty_metrics.torch` and of its rooms, from the tables of
`uncertainty_metrics`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

from uncertainty_metrics import _public_names

_ROOT = pathlib.Path(__file__).parents[1]
# The rooms that have metrics of their own.
ROOMS = ("conformal", "regression")


def homes(room: str = "") -> dict[str, str]:
    """Returns the names of the package, or of a room, that are public for PyTorch, each
    with the module to import it from: all but what is made for models of Keras.
    """
    package = f"uncertainty_metrics.{room}".rstrip(".")
    found = _public_names.homes(package, _ROOT / room / "__init__.pyi")
    return {
        name: home
        for name, home in found.items()
        # torchmetrics has collections of its own.
        if ".keras." not in home
        or (is_made_of_keras(home) and name != "MetricCollection")
    }


def is_made_of_keras(home: str) -> bool:
    """Returns whether the names of a module are Keras metrics or losses."""
    return ".keras.metrics." in home or home.endswith(".keras.losses")


def attach(
    module: str, room: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__` and `__all__` of a module for PyTorch."""
    home_of = homes(room)
    names = sorted(home_of)
    package = f"uncertainty_metrics.{room}".rstrip(".")

    @functools.cache
    def __getattr__(name: str) -> Any:
        if name in ROOMS and not room:
            return importlib.import_module(f"uncertainty_metrics._torch.{name}")
        if name not in home_of:
            raise _public_names.no_such_name(module, name)
        value = getattr(importlib.import_module(package), name)
        is_class = is_made_of_keras(home_of[name])
        return _for_torch(value, module) if is_class else value

    return __getattr__, lambda: names, names


def _for_torch(of: type[Any], module: str) -> type[Any]:
    """Returns the class for PyTorch of a Keras metric or loss."""
    from uncertainty_metrics._torch.loss import Loss
    from uncertainty_metrics._torch.metric import Metric

    direction = getattr(of, "_direction", None)
    is_metric = hasattr(of, "update_state")
    attributes = {
        "__doc__": _docstring(of, is_metric),
        "__module__": module,
        "__signature__": inspect.signature(of),
        "_of": of,
    }
    if not is_metric:
        return type(of.__name__, (Loss,), attributes)
    attributes["higher_is_better"] = {"up": True, "down": False}.get(str(direction))
    return type(of.__name__, (Metric,), attributes)


def _docstring(of: type[Any], is_metric: bool) -> str:
    """Returns the summary and the arguments of a Keras class."""
    text = inspect.cleandoc(of.__doc__ or "")
    summary, _, rest = text.partition("\n\n")
    arguments = rest.partition("Args:\n")[2].partition("\n\n")[0]
    called = "update(preds, target)" if is_metric else "loss(preds, target)"
    return (
        f"{summary}\n\nFor PyTorch, as `{called}`: `preds` is `y_pred` and `target` is "
        f"`y_true` of\nthe Keras class.\n\nArgs:\n{arguments}\n"
    )
