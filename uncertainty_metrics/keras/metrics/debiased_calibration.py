"""Streaming calibration error without the bias of few examples: the Keras metric."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, BinningScheme
from uncertainty_metrics.keras import _base
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError
from uncertainty_metrics.tensorflow import _binning, _sums


@_base.register
class DebiasedCalibrationError(GeneralCalibrationError):
    """Calibration error, in the l2 norm, less its bias, of all batches.

    State and precision are those of `GeneralCalibrationError`, the definition that of
    the function `debiased_calibration_error`. Weights are numbers of examples; where
    the positive ones are less than 1 on average over all batches, they are scaled to an
    average of 1.

    Args:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      num_bins: number of bins.
      threshold: scores at or below it are dropped; 0.0 drops none.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      squared: whether the result is the squared error, which may be negative.
      positive_class: for two classes, score P(class 1) against `label == 1`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.
      sketch_bits: log2 of the cells per octave for adaptive bins.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.DebiasedCalibrationError()
      >>> metric.update_state([1] * 4 + [0], [0.9] * 5)
      >>> metric.update_state([1] * 3 + [0] * 2, [0.9] * 5)
      >>> round(float(metric.result()), 6)
      0.129099

    References:
      Kumar, Liang and Ma (2019), Verified Uncertainty Calibration.
    """

    _totals = True
    _fixed = ("norm",)

    def __init__(
        self,
        binning_scheme: BinningScheme = "adaptive",
        max_prob: bool = True,
        class_conditional: bool = False,
        num_bins: int = DEFAULT_NUM_BINS,
        threshold: float = 0.0,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        squared: bool = False,
        positive_class: bool = False,
        sparse_labels: bool | None = None,
        sketch_bits: int | None = None,
    ):
        _checks.boolean("squared", squared)
        super().__init__(
            binning_scheme,
            max_prob,
            class_conditional,
            "l2",
            num_bins,
            threshold,
            num_classes,
            from_logits,
            ignore_index,
            name=name or "debiased_calibration_error",
            dtype=dtype,
            positive_class=positive_class,
            sparse_labels=sparse_labels,
            sketch_bits=sketch_bits,
        )
        self.squared = squared

    def _error(self, sums: _sums.Sums, dtype: tf.DType) -> tf.Tensor:
        last = _sums.totals(_sums.of_cells(sums, slice(-1, None)), dtype)
        examples, _, weight = tf.unstack(last[:, 0])
        unit = tf.maximum(tf.math.divide_no_nan(examples, weight), 1)
        return _binning.debiased_error(
            self._statistics(sums, dtype), self.squared, unit
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "squared": self.squared}
