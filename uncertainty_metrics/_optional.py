"""Packages that only some features need."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Imports `module`, or raises ImportError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        package = module.partition(".")[0]
        raise ImportError(
            f"This needs {package}. Install it with the extra `{extra}`: "
            f"pip install '.[{extra}]' in a checkout, or pip install {package}."
        ) from missing


def dependency(module: str, needed_by: str = "This") -> ModuleType:
    """Imports `module`, or raises ImportError that names the dependency to install.

    Without TensorFlow and what belongs to it, the NumPy half still works.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = (missing.name or module).partition(".")[0]
        raise ImportError(
            f"{needed_by} needs {package}, which is not installed: pip install "
            f"{package.replace('_', '-')}. The functions of "
            "`uncertainty_metrics.numpy` need no TensorFlow."
        ) from missing
