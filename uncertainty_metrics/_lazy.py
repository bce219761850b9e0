"""Public names that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader

from uncertainty_metrics import _optional


def attach_stub(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__` and `__all__` of a package, read off its stub.

    What is missing to import a name is told by the ImportError.
    """
    load, listed, public = lazy_loader.attach_stub(package, file)

    def __getattr__(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as missing:
            raise _optional.not_installed(missing, f"{package}.{name}") from missing

    return __getattr__, listed, public
