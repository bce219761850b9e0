"""Tensors of PyTorch in a form that NumPy reads."""

from __future__ import annotations

import sys
from typing import Any

from uncertainty_metrics import _optional


def as_it_is(value: Any) -> Any:
    """Returns a tensor of PyTorch in a form that NumPy reads, with the same numbers in
    the same type, and any other value as it is.

    Edges of bins are rounded to the type of the scores, so bfloat16 must be kept.
    """
    read = in_a_type_of_numpy(value)
    if read is value or read.dtype == value.dtype:
        return read
    types = _optional.require("ml_dtypes", "A tensor in bfloat16", extra="torch")
    return read.numpy().astype(types.bfloat16)


def in_a_type_of_numpy(value: Any) -> Any:
    """Returns a tensor of PyTorch in a form that NumPy reads, in float32 for bfloat16,
    and any other value as it is.

    NumPy reads no tensor that is in bfloat16, on a GPU or has a gradient.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    return value.float() if value.dtype == torch.bfloat16 else value
