"""Tensors of PyTorch in a form that NumPy reads."""

from __future__ import annotations

import sys
from typing import Any


def as_it_is_read(value: Any) -> Any:
    """Returns a tensor of PyTorch in a form that NumPy reads, and any other value as it
    is: NumPy has no bfloat16, and reads no tensor that is on a GPU or has a gradient.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    return value.float() if value.dtype == torch.bfloat16 else value
