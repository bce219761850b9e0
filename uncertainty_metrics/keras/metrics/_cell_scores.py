"""The base class of streaming calibration errors that need no bins."""

from __future__ import annotations

from typing import Any

from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.ops import _pooled_errors, _sums, xp


class CellMetric(GeneralCalibrationError):
    """A calibration error of the residuals, in the order of the scores of one group."""

    _by_form = True

    def __init__(
        self,
        *,
        num_classes: int | None,
        from_logits: bool,
        ignore_index: int | None,
        name: str | None,
        dtype: Any,
        positive_class: bool | None,
        sparse_labels: bool | None,
        sketch_bits: int | None,
        multilabel: bool,
        label_distributions: bool,
    ) -> None:
        super().__init__(
            binning_scheme="adaptive",  # The state has the same sums.
            max_prob=True,
            class_conditional=False,
            norm="l1",
            num_classes=num_classes,
            from_logits=from_logits,
            ignore_index=ignore_index,
            name=name,
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
            multilabel=multilabel,
            label_distributions=label_distributions,
        )

    def _error(self, sums: _sums.Sums, dtype: xp.DType) -> xp.Tensor:
        return self._value(_pooled_errors.of_sums(sums, dtype))

    def _value(self, residuals: _pooled_errors.Residuals) -> xp.Tensor:
        """Returns the error of the residuals."""
        raise NotImplementedError
