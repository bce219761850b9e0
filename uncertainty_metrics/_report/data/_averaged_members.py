"""The predictions of an ensemble, averaged over its members."""

from __future__ import annotations

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import Predictions, remembered
from uncertainty_metrics.numpy import _inputs, _row_math


@remembered
def averaged(predictions: Predictions) -> np.ndarray:
    """Returns predictions with no axis of members: an ensemble is averaged.

    Probabilities are averaged, and the mean keeps their dtype. Logits become the
    logarithm of the mean of the members' probabilities, because these probabilities
    themselves may be too small for a float.

    Raises:
      TypeError, ValueError: labels, predictions or weights are not valid.
    """
    kind, values = predictions.kind, predictions.values
    if not predictions.is_ensemble:
        return values
    values = _inputs.as_array(kind, values)
    if kind == "probabilities" and _sums_to_one(values, 1) > _sums_to_one(values, -1):
        raise _checks.error(
            kind,
            "of shape [N, M, K], with the classes on the last axis",
            f"shape {list(values.shape)}, which sums to 1 over axis 1",
        )
    with np.errstate(all="ignore"):  # Examples of weight 0 may hold anything.
        # A mean may hide a member that is not valid. This check names that member.
        um.ensemble_cross_entropy(**predictions.arguments, aggregate=False)
        if kind == "logits":
            return _log_mean(values)
        mean = values.mean(axis=1, dtype=np.float64)
        return mean.astype(values.dtype) if _inputs.is_floating(values) else mean


def _sums_to_one(probabilities: np.ndarray, axis: int) -> bool:
    sums = probabilities.sum(axis=axis, dtype=np.float64)
    return bool(np.all(np.abs(sums - 1) < _inputs.ROW_SUM_TOLERANCE))


def _log_mean(logits: np.ndarray) -> np.ndarray:
    """Returns the log of each class's probability, averaged over axis 1."""
    if logits.shape[-1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    z = _row_math.below_maximum(logits)
    z -= np.log(np.exp(z).sum(axis=-1, keepdims=True))
    top = np.maximum(z.max(axis=1), np.finfo(z.dtype).min)
    return top + np.log(np.exp(z - top[:, None]).mean(axis=1))
