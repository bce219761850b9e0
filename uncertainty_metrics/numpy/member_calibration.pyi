# As written by scripts/write_stubs.py.
from typing import overload
import dataclasses
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, PRESETS
from uncertainty_metrics.numpy import _arguments, _binning, _inputs
from uncertainty_metrics.numpy._binning import BinStatistics
from uncertainty_metrics.numpy.ensemble import _predictions
__all__ = ["ensemble_calibration"]
@dataclasses.dataclass(frozen=True, eq=False)
class EnsembleCalibration:
    """Calibration of M members and of their mean, in even bins of the confidence.

    Means of an empty bin are NaN.

    Attributes:
      edges: the bins, `(edges[b], edges[b + 1]]`, shape [bins + 1].
      member_counts: total weight in each bin, shape [M, bins].
      member_confidences: mean confidence of each bin, shape [M, bins].
      member_accuracies: share of right decisions in each bin, shape [M, bins].
      ensemble_counts: as `member_counts`, of the mean probabilities, shape [bins].
      ensemble_confidences: as `member_confidences`, shape [bins].
      ensemble_accuracies: as `member_accuracies`, shape [bins].
      member_eces: expected calibration error of each member, shape [M].
      ensemble_ece: that of the ensemble.
      member_overall_confidences: mean confidence over all examples, shape [M].
      member_overall_accuracies: share of right decisions among them, shape [M].
      ensemble_confidence: mean confidence of the ensemble over all examples.
      ensemble_accuracy: share of its right decisions among them.
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
        ...

    @property
    def ensemble_gaps(self) -> np.ndarray:
        """Accuracy less confidence, [bins]; positive is underconfident."""
        ...

    @property
    def verdict(self) -> str:
        """What averaging did to calibration, and where it left it, in a sentence.

        Errors that are equal to three decimals are called equal. The ensemble is called
        over- or underconfident where at least three quarters of its ECE have that sign.
        """
        ...

    def _direction(self) -> str:
        ...
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

    for the ensemble and for each member. Averaging lowers confidence, so it improves
    the calibration of members that are overconfident (gaps below 0) and worsens that of
    members that are underconfident, as those trained with strong Mixup are.

    Args:
      labels: integers in [0, K), shape [...].
      logits: of the members, shape [..., M, K] with the M members on `ensemble_axis`;
        [..., M, 1] for the logit of class 1 against class 0.
      probabilities: instead of `logits`, in [0, 1], of the same shape.
      ensemble_axis: the axis of the members, any but the last.
      num_bins: number of bins.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      An `EnsembleCalibration`, float64; its `verdict` says in words what averaging did.
      Bins are decided in the precision that is passed.

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
    ...
