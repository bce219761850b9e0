"""The section on ensembles: what the members predict, and what averaging them gives."""

from __future__ import annotations

from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _checks
from uncertainty_metrics._report._predictions import Predictions, remembered
from uncertainty_metrics._report._sections_rows import rows
from uncertainty_metrics.numpy import _inputs, _rows
from uncertainty_metrics.numpy.ensemble.member_calibration import EnsembleCalibration


@remembered
def averaged(predictions: Predictions) -> np.ndarray:
    """Returns the predictions of one model: of an ensemble, those of its mean.

    The mean of probabilities is in their precision. Of logits, it is the logarithm of
    the mean of the members' probabilities, which may be too small for a float.

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
        # A mean may hide a member that is not valid. This says which one it is.
        um.ensemble_cross_entropy(**predictions.arguments, aggregate=False)
        if kind == "logits":
            return _log_mean(values)
        mean = values.mean(axis=1, dtype=np.float64)
        return mean.astype(values.dtype) if _inputs.is_floating(values) else mean


def _sums_to_one(probabilities: np.ndarray, axis: int) -> bool:
    sums = probabilities.sum(axis=axis, dtype=np.float64)
    return bool(np.all(np.abs(sums - 1) < _inputs.ROW_SUM_TOLERANCE))


def _log_mean(logits: np.ndarray) -> np.ndarray:
    """Returns the log of the mean probability over axis 1, of all classes."""
    if logits.shape[-1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    z = _rows.below_maximum(logits)
    z -= np.log(np.exp(z).sum(axis=-1, keepdims=True))
    top = np.maximum(z.max(axis=1), np.finfo(z.dtype).min)
    return top + np.log(np.exp(z - top[:, None]).mean(axis=1))


def ensemble(
    predictions: Predictions, ece_by_chance: float, num_bins: int
) -> dict[str, Any]:
    """Returns the section.

    Args:
      predictions: of several members.
      ece_by_chance: what the ECE of a calibrated model hardly exceeds on such data.
      num_bins: number of bins of every ECE.
    """
    data = predictions.arguments
    calibration = um.ensemble_calibration(**data, num_bins=num_bins)
    return {
        "members": predictions.members,
        "verdict": " ".join(
            [
                _accuracy_verdict(calibration, _accuracy_noise(predictions)),
                _calibration_verdict(calibration, ece_by_chance),
            ]
        ),
        "metrics": {
            "accuracy": _of_members(
                calibration.member_overall_accuracies, calibration.ensemble_accuracy
            ),
            "ece": _of_members(calibration.member_eces, calibration.ensemble_ece),
            "negative_log_likelihood": {
                "mean": float(um.gibbs_cross_entropy(**data)),
                "ensemble": float(um.ensemble_cross_entropy(**data)),
            },
        },
        "uncertainty": _uncertainty(predictions),
    }


def _of_members(members: np.ndarray, ensemble: float) -> dict[str, Any]:
    return {
        "mean": float(np.mean(members)),
        "lowest": float(np.min(members)),
        "highest": float(np.max(members)),
        "ensemble": ensemble,
        "members": members.tolist(),
    }


def _weights(predictions: Predictions) -> np.ndarray:
    """Returns the weights [n] of the examples, at most 1."""
    if predictions.sample_weight is None:
        return np.ones(predictions.labels.size)
    weights = _inputs.sample_weights(
        predictions.sample_weight, predictions.labels.shape
    )
    return weights / weights.max()


def _uncertainty(predictions: Predictions) -> dict[str, dict[str, Any]]:
    """Returns the mean uncertainties of the examples, and the members' disagreement."""
    weights = _weights(predictions)
    counted = weights > 0
    values = np.moveaxis(predictions.values, 1, -2)
    members: dict[str, Any] = {
        predictions.kind: values.reshape(-1, *values.shape[-2:])[counted]
    }
    model, total, expected = (
        np.average(of_examples, weights=weights[counted])
        for of_examples in um.model_uncertainty(**members)
    )
    disagreement = np.average(
        um.ensemble_disagreement(**members), weights=weights[counted]
    )
    classes = max(values.shape[-1], 2)
    return rows(
        {
            "predictive_entropy": (
                total,
                f"Of the mean, in nats; at most log {classes} = {np.log(classes):.3f}.",
            ),
            "expected_entropy": (
                expected,
                "Of a member: what the data leave open.",
            ),
            "mutual_information": (
                model,
                "The difference: what the members differ about.",
            ),
            "ensemble_disagreement": (
                disagreement,
                "P(two members decide differently).",
            ),
        }
    )


def _accuracy_noise(predictions: Predictions) -> float:
    """Returns what chance alone hardly adds to the accuracy by averaging.

    That are two standard errors of the weighted mean of what each example adds: the
    share of the members that average to a right decision less that of the right ones.
    If averaging did not matter, their signs would be random.
    """
    kind, labels = predictions.kind, predictions.labels
    decided = _decisions(kind, averaged(predictions)) == labels
    members = _decisions(kind, predictions.values) == np.expand_dims(labels, 1)
    added = (decided - members.mean(axis=1)).reshape(-1)
    weights = _weights(predictions)
    return 2 * float(np.linalg.norm(weights * added) / weights.sum())


def _decisions(kind: str, values: np.ndarray) -> np.ndarray:
    if values.shape[-1] > 1:
        return np.argmax(values, axis=-1)
    return values[..., 0] > (0 if kind == "logits" else 0.5)


def _accuracy_verdict(calibration: EnsembleCalibration, noise: float) -> str:
    """Says in a sentence if averaging helps accuracy, if the data show it."""
    members = calibration.member_overall_accuracies
    before, after = np.mean(members), calibration.ensemble_accuracy
    start = f"Averaging {len(members)} members "
    of_members = (
        f"{before:.3f} of a member on average ({np.min(members):.3f} to "
        f"{np.max(members):.3f})"
    )
    if abs(after - before) > noise + 1e-12:  # Rounding.
        verb = "raises" if after > before else "lowers"
        return f"{start}{verb} the accuracy to {after:.3f}, from {of_members}."
    return (
        f"{start}does not clearly change the accuracy: {after:.3f}, against "
        f"{of_members}, where chance alone makes a difference of up to about "
        f"{noise:.3f}."
    )


def _calibration_verdict(calibration: EnsembleCalibration, ece_by_chance: float) -> str:
    """Says in a sentence if averaging helps calibration, if the data show it."""
    before, after = np.mean(calibration.member_eces), calibration.ensemble_ece
    if max(before, after) > ece_by_chance:
        return calibration.verdict
    return (
        "The data cannot tell if it helps calibration: chance alone gives calibrated "
        f"models such ECEs as {before:.3f} of a member on average and {after:.3f} of "
        "the ensemble."
    )
