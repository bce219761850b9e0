"""Streaming calibration beyond bins: what is read off the cells of a sketch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics.keras.metrics._calibration import CalibrationMetric
from uncertainty_metrics.ops import _pooled_errors, _sums, xp


class CellMetric(CalibrationMetric):
    """A calibration error of the residuals along the scores of one group.

    Subclasses say in `_value` which, for the options of their own.
    """

    _value: Callable[..., xp.Tensor]

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        # The sums are those of every error of adaptive bins.
        super()._set_up(name, dtype, binning_scheme="adaptive", **options)

    def _error(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        residuals = _pooled_errors.of_sums(sums, dtype)
        return self._value(residuals, *(getattr(self, name) for name in self._own))
