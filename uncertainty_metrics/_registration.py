"""Lets Keras load a saved model that names a class of this package.

Keras finds the classes that were imported. Importing this package imports no Keras, so
the classes are imported when both are: after Keras, if that is imported later.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def family() -> str:
    """Returns the module that `tf.keras` is."""
    # As TensorFlow reads it.
    legacy = os.environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")
    return "tf_keras" if legacy else "keras"


def _register() -> None:
    if "tensorflow" not in sys.modules:
        return  # Keras runs on another backend.
    with contextlib.suppress(ImportError):  # Who uses a class is told.
        importlib.import_module("uncertainty_metrics.keras")


class _AfterKeras:
    """A finder of modules that only waits for the import of Keras."""

    # By which a module that is imported again knows the finder of the first.
    registers_uncertainty_metrics = True

    def find_spec(self, name: str, *where: Any) -> ModuleSpec | None:
        if name != family():
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, *where) for finder in others)
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _register()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def with_keras() -> None:
    """Registers the classes of this package with Keras, now or once it is imported."""
    if family() in sys.modules:
        _register()
    elif not any(map(_waits, sys.meta_path)):  # Two would ask each other for ever.
        sys.meta_path.insert(0, _AfterKeras())


def _waits(finder: object) -> bool:
    return hasattr(finder, "registers_uncertainty_metrics")
