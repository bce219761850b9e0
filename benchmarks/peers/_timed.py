"""Shared by the contenders of all topics: calls to time, and imports of one file."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from data import Data
from harness import Timed
from torchmetrics import Metric

BINS = 15


def tensors(data: Data) -> tuple[torch.Tensor, ...]:
    """Returns the arrays of the data as PyTorch tensors."""
    return tuple(map(torch.from_numpy, data))


def one_shot(compute: Callable, *arguments: Any, shift: float = 0.0) -> Timed:
    """A call of a function; its value is the mean of what it returns, plus `shift`."""
    return Timed(
        call=lambda: compute(*arguments),
        value=lambda: float(compute(*arguments).mean()) + shift,
    )


def streaming(
    metric: Metric,
    update: Callable[[], None],
    compute: bool = True,
    shift: float = 0.0,
) -> Timed:
    """Update of a metric of torchmetrics, or reset, update and compute."""

    def score():
        metric.reset()
        update()
        return metric.compute()

    return Timed(
        call=score if compute else update,
        value=lambda: float(score()) + shift,
        reset=metric.reset,  # Some metrics keep every prediction.
    )


def torch_uncertainty(path: str) -> ModuleType:
    """Imports one file of torch-uncertainty.

    The whole package would need PyTorch Lightning, torchvision and timm.
    """
    return file_of("torch-uncertainty", f"torch_uncertainty/{path}")


def file_of(distribution: str, path: str) -> ModuleType:
    """Imports one file of an installed distribution, without the rest of it."""
    file = Path(importlib.metadata.distribution(distribution).locate_file(path))
    name = f"{distribution} {path}".replace(".", " ")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Relative imports of an `__init__.py` need it.
    spec.loader.exec_module(module)
    return module
