"""Keras losses as modules of PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from uncertainty_metrics.keras._loss import Loss as KerasLoss
from uncertainty_metrics.ops import _execution


class Loss(torch.nn.Module):
    """A loss for PyTorch, computed by the Keras loss of the same name, which has the
    same options and describes them.

    Args:
      *options: arguments of the Keras loss, by position.
      **named: arguments of the Keras loss, by name.

    Raises:
      ValueError: an argument is not as described.
    """

    # The Keras loss.
    _of: type[KerasLoss]

    def __init__(self, *options: Any, **named: Any) -> None:
        super().__init__()
        self._keras = self._of(*options, **named)

    @_execution.not_converted
    def forward(self, preds: Any, target: Any, sample_weight: Any = None) -> Any:
        """Returns the loss, on the device of the predictions.

        Args:
          preds: predictions, `y_pred` of the Keras loss.
          target: labels, `y_true` of the Keras loss.
          sample_weight: finite and >= 0, broadcastable to the labels; None for ones.
        """
        with _execution.on_device_of(preds):
            return self._keras(target, preds, sample_weight)
