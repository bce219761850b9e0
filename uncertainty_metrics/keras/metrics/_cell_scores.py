"""The base class of streaming calibration errors that need no bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uncertainty_metrics.keras.metrics._calibration import CalibrationMetric
from uncertainty_metrics.ops import _pooled_errors, _sums, xp


class CellMetric(CalibrationMetric):
    """A calibration error of the residuals, in the order of the scores of one group.

    Subclasses define `_value`, which takes the residuals and the options of the class
    alone.
    """

    _by_form = True
    _value: Callable[..., xp.Tensor]

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        # The state has the same sums as for adaptive bins.
        super()._set_up(name, dtype, binning_scheme="adaptive", **options)

    def _error(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        residuals = _pooled_errors.of_sums(sums, dtype)
        return self._value(residuals, *(getattr(self, name) for name in self._own))
