"""Calibration of an ensemble, compared with the calibration of its members."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import DEFAULT_NUM_BINS, PRESETS
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics
from uncertainty_metrics.numpy.ensemble import _predictions

__all__ = ["ensemble_calibration"]


@dataclasses.dataclass(frozen=True, eq=False)
class EnsembleCalibration:
    """Calibration of M members and of their mean, in even bins of the confidence.

    Confidences and accuracies of empty bins are NaN.

    Attributes:
      edges: the bins, `(edges[b], edges[b + 1]]`, shape [bins + 1].
      member_counts: total weight in each bin, shape [M, bins].
      member_confidences: mean confidence of each bin, shape [M, bins].
      member_accuracies: share of right decisions in each bin, shape [M, bins].
      ensemble_counts: as `member_counts`, of the mean probabilities, shape [bins].
      ensemble_confidences: as `member_confidences`, shape [bins].
      ensemble_accuracies: as `member_accuracies`, shape [bins].
      member_eces: expected calibration error of each member, shape [M].
      ensemble_ece: expected calibration error of the ensemble.
      member_overall_confidences: mean confidence over all examples, shape [M].
      member_overall_accuracies: share of right decisions of each member, shape [M].
      ensemble_confidence: mean confidence of the ensemble over all examples.
      ensemble_accuracy: share of right decisions of the ensemble.
    """

    edges: np.ndarray
    member_counts: np.ndarray
    member_confidences: np.ndarray
    member_accuracies: np.ndarray
    ensemble_counts: np.ndarray
    ensemble_confidences: np.ndarray
    ensemble_accuracies: np.ndarray
    member_eces: np.ndarray
    ensemble_ece: float
    member_overall_confidences: np.ndarray
    member_overall_accuracies: np.ndarray
    ensemble_confidence: float
    ensemble_accuracy: float

    @property
    def member_gaps(self) -> np.ndarray:
        """Accuracy less confidence, [M, bins]; positive is underconfident."""
        return self.member_accuracies - self.member_confidences

    @property
    def ensemble_gaps(self) -> np.ndarray:
        """Accuracy less confidence, [bins]; positive is underconfident."""
        return self.ensemble_accuracies - self.ensemble_confidences

    @property
    def verdict(self) -> str:
        """A sentence that says how averaging changed calibration.

        Errors that are equal to three decimals are called equal. The ensemble is called
        over- or underconfident if at least three quarters of its ECE have that sign.
        """
        before, after = float(np.mean(self.member_eces)), self.ensemble_ece
        if f"{after:.3f}" == f"{before:.3f}":
            change = "left calibration as it was"
        else:
            change = f"made calibration {'better' if after < before else 'worse'}"
        confidences = np.mean(self.member_overall_confidences), self.ensemble_confidence
        accuracies = np.mean(self.member_overall_accuracies), self.ensemble_accuracy
        return (
            f"Averaging {change} (ECE from {before:.3f} to {after:.3f}): confidence "
            "went from {:.3f} to {:.3f} ".format(*confidences)
            + "and accuracy from {:.3f} to {:.3f}, ".format(*accuracies)
            + f"which leaves the ensemble {self._direction()}."
        )

    def _direction(self) -> str:
        if f"{self.ensemble_ece:.3f}" == "0.000":
            return "calibrated"
        # The ECE is the sum of all absolute gaps; here gaps of opposite signs cancel.
        gap = self.ensemble_accuracy - self.ensemble_confidence
        if abs(gap) < self.ensemble_ece / 2:
            return "overconfident in some bins and underconfident in others"
        return "underconfident" if gap > 0 else "overconfident"


def _calibration(statistics: list[BinStatistics]) -> EnsembleCalibration:
    """Returns the result, given the statistics of the members and last the ensemble."""
    counts, scores, outcomes = np.array(
        [[s.counts[0], s.score_sums[0], s.outcome_sums[0]] for s in statistics]
    ).swapaxes(0, 1)
    with np.errstate(invalid="ignore"):  # NaN in empty bins.
        confidences, accuracies = scores / counts, outcomes / counts
    totals = counts.sum(axis=1)
    overall_confidences = scores.sum(axis=1) / totals
    overall_accuracies = outcomes.sum(axis=1) / totals
    eces = np.array([_binning.calibration_error(s, "l1") for s in statistics])
    return EnsembleCalibration(
        edges=statistics[-1].edges[0],
        member_counts=counts[:-1],
        member_confidences=confidences[:-1],
        member_accuracies=accuracies[:-1],
        ensemble_counts=counts[-1],
        ensemble_confidences=confidences[-1],
        ensemble_accuracies=accuracies[-1],
        member_eces=eces[:-1],
        ensemble_ece=float(eces[-1]),
        member_overall_confidences=overall_confidences[:-1],
        member_overall_accuracies=overall_accuracies[:-1],
        ensemble_confidence=float(overall_confidences[-1]),
        ensemble_accuracy=float(overall_accuracies[-1]),
    )


@takes_frames
def ensemble_calibration(
    labels: ArrayLike,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    num_bins: int = DEFAULT_NUM_BINS,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> EnsembleCalibration:
    """Calibration of an ensemble and of its members, in even bins of the confidence.

    The ensemble predicts the mean of the probabilities p_m of its members. With the
    confidence max_k p_k, and in each bin the share of right decisions acc_b and the
    mean confidence conf_b,

      gap_b = acc_b - conf_b
      ECE = sum_b (n_b / n) |gap_b|

    for the ensemble and for each member. Averaging lowers confidence, because
    max_k mean_m p_mk <= mean_m max_k p_mk. So it improves the calibration of members
    that are overconfident (gaps below 0), and worsens the calibration of members that
    are underconfident, as members trained with strong Mixup are.

    Args:
      labels: integer class labels in [0, K), shape of the predictions without the axes
        of members and classes.
      logits: logits of M members, shape [..., M, K], or [..., M, 1] for two classes.
      probabilities: probabilities in [0, 1] of the same shape, instead of `logits`.
      ensemble_axis: axis of the members, any but the last.
      num_bins: number of bins.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.

    Returns:
      An `EnsembleCalibration`, float64; its `verdict` says in words what averaging did.
      Bins are assigned in the precision of the predictions.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> # One example of class 0, three members.
      >>> members = [[[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.3, 0.4, 0.3]]]
      >>> calibration = um.ensemble_calibration([0], probabilities=members)
      >>> print(calibration.verdict)
      Averaging made calibration worse (ECE from 0.400 to 0.500): confidence went from
      0.533 to 0.500 and accuracy from 0.667 to 1.000, which leaves the ensemble
      underconfident.

    References:
      Wen et al. (2021), Combining Ensembles and Data Augmentation Can Harm Your
      Calibration. Rahaman and Thiery (2021), Uncertainty Quantification and Deep
      Ensembles.
    """
    name, predictions = _checks.predictions(probabilities, logits, None)
    predictions = _inputs.as_array(name, predictions)
    labels = _inputs.as_array("labels", labels)
    _predictions.check_not_swapped(labels.shape, name, predictions.shape)
    axis = _predictions.check_members(name, predictions.shape, ensemble_axis)
    members = np.moveaxis(predictions, axis, 0)
    _predictions.check_labels(
        labels.shape, name, predictions.shape, members.shape[1:-1]
    )
    spec = dataclasses.replace(PRESETS["expected_calibration_error"], num_bins=num_bins)
    statistics, total = [], np.zeros(())
    for member in members:  # One at a time bounds the memory of the temporaries.
        examples = _examples.examples(
            labels,
            **{name: member},
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
        statistics.append(_binning.bin_statistics(examples, spec))
        total = total + examples.probabilities.astype(np.float64)
    # 16 bits would round the mean.
    dtype = np.result_type(examples.probabilities.dtype, np.float32)
    mean = (total / len(members)).astype(dtype)
    averaged = dataclasses.replace(examples, predictions=mean, name="probabilities")
    statistics.append(_binning.bin_statistics(averaged, spec))
    return _calibration(statistics)
