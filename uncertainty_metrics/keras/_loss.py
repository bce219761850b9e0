"""The base class of all losses, for Keras 3 and for tf_keras."""

from __future__ import annotations

from typing import Any, Literal

from uncertainty_metrics import _typed_names
from uncertainty_metrics.keras import _batches, _family
from uncertainty_metrics.ops import _inputs, xp

Reduction = Literal["sum_over_batch_size", "sum", "none"]


class Loss(_typed_names.Constructor, _family.keras.losses.Loss):
    """A loss.

    Keras 3 and tf_keras differ in the arguments of the constructor, and in the types in
    which predictions reach `call`.

    Args:
      reduction: "sum_over_batch_size", "sum" or "none", or another reduction of Keras.
      name: name of the loss.
      dtype: type of the arithmetic; by default float64 for predictions that reach
        `call` in float64, else float32.
    """

    def __init__(self, reduction: Reduction, name: str | None, dtype: Any = None):
        dtype = getattr(dtype, "compute_dtype", dtype)  # A policy has several types.
        self._dtype_argument = getattr(dtype, "name", dtype)
        options = _family.loss_options(dtype)
        super().__init__(name=name, reduction=reduction, **options)

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> xp.Tensor:
        """Returns the loss, reduced, as `keras.losses.Loss` does."""
        _family.refuse_other("loss", self)
        batch = {"y_true": y_true, "y_pred": y_pred}
        if sample_weight is not None:
            batch["sample_weight"] = sample_weight
        for name, value in batch.items():
            # Keras would cast text, objects and complex numbers to real ones.
            if not _inputs.is_distribution(value):
                batch[name] = _inputs.as_tensor(name, value)
        if sample_weight is not None:
            batch["sample_weight"] = _inputs.checked_weights(batch["sample_weight"])
        if _batches.is_empty_share(batch["y_pred"]):
            return self._of_no_examples(batch["y_pred"])
        if sample_weight is not None:
            self._align_weights(batch)
        return super().__call__(**batch)

    def _align_weights(self, batch: dict[str, Any]) -> None:
        """Gives the weights the rank of the scores; raises ValueError if they do not
        fit.
        """
        raise NotImplementedError

    def _of_no_examples(self, y_pred: xp.Tensor) -> xp.Tensor:
        """Returns the loss of no examples, in terms of `y_pred`, to have gradients."""
        dtype = getattr(self, "dtype", self._dtype_argument)
        dtype = dtype or _inputs.predictions_dtype(y_pred)
        scores = xp.cast(xp.reshape(y_pred, [0]), dtype)
        return scores if self.reduction == "none" else xp.reduce_sum(scores)

    def _cast(self, y_pred: xp.Tensor) -> xp.Tensor:
        """Returns the predictions in the precision of the arithmetic."""
        if self._dtype_argument is not None:
            return xp.cast(y_pred, self._dtype_argument)
        return y_pred

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "reduction": self.reduction,
            "name": self.name,
            "dtype": self._dtype_argument,
        }
