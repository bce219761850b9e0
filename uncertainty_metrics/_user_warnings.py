"""Warnings at the line of the user, whatever lies between it and the warning."""

from __future__ import annotations

import sys
import warnings

# Packages that call this one for the user, and modules that wrap functions.
_BETWEEN = {
    *("uncertainty_metrics", "keras", "tf_keras", "tensorflow", "jax", "torch"),
    *("sklearn", "joblib", "contextlib", "functools", "numpy"),
}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Gives a warning at the innermost line outside of this package and of the
    frameworks, so that Python's default filter shows it once for each line of the user.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_between(module: object) -> bool:
    return str(module).partition(".")[0] in _BETWEEN
