# As written by scripts/write_stubs.py.
from typing import overload
from collections.abc import Mapping
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics._spec import DEFAULT_NUM_BINS
from uncertainty_metrics.numpy import _arguments, _inputs, detection, member_calibration
from uncertainty_metrics.visualization import _series
__all__ = ["ensemble_calibration_diagram", "uncertainty_histogram"]
DEFAULT_HISTOGRAM_BINS = 30
_MEMBER = {"color": "0.65", "linewidth": 0.8, "marker": ".", "markersize": 3}
_MEAN = {"color": "#4477aa", "linewidth": 1.5, "linestyle": "--"}
_ENSEMBLE = {"color": "#cc3311", "linewidth": 2.5}
_POINT = 150
_MIN_GAP = 0.05
def ensemble_calibration_diagram(
    labels: ArrayLike,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    ensemble_axis: int = 1,
    num_bins: int = DEFAULT_NUM_BINS,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Diagram of the calibration of an ensemble and of its members, bin by bin.

    For each non-empty bin of the confidence, accuracy less mean confidence against
    mean confidence: thin lines for the members, a dashed line for all of them together
    and a thick line for the ensemble, whose points have areas as the shares of its
    examples. Above 0 is underconfident, below it overconfident. Where the ensemble is
    above its members, and they above 0, averaging made calibration worse.

    Args:
      labels: integers in [0, K), shape [...].
      logits: of the members, shape [..., M, K] with the M members on `ensemble_axis`;
        [..., M, 1] for the logit of class 1 against class 0.
      probabilities: instead of `logits`, in [0, 1], of the same shape.
      ensemble_axis: the axis of the members, any but the last.
      num_bins: number of bins.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      title: title of the diagram.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> members = [[[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.3, 0.4, 0.3]]]
      >>> ax = um.ensemble_calibration_diagram(
      ...     [0], probabilities=members, ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[-1].get_text()
      'Ensemble: ECE = 0.500'

    References:
      Wen et al. (2021), Combining Ensembles and Data Augmentation Can Harm Your
      Calibration. Rahaman and Thiery (2021), Uncertainty Quantification and Deep
      Ensembles.
    """
    ...
def uncertainty_histogram(
    uncertainties: Mapping[str, ArrayLike] | ArrayLike,
    *,
    num_bins: int = DEFAULT_HISTOGRAM_BINS,
    density: bool = True,
    title: str | None = None,
    ax: Any = None,
    xlabel: str = "Uncertainty",
) -> Any:
    """Histograms of the uncertainties of some sets of data, on the same bins.

    For two sets, the title of the legend says how well uncertainty tells them apart:

      AUROC = P(uncertainty in the second > in the first) + 1/2 P(they are equal)

    Args:
      uncertainties: from the name of each set, such as "in distribution" and "out of
        distribution", to its uncertainties, finite, of any shape; or those of one set.
      num_bins: number of bins, of equal width between the least and the largest
        uncertainty of all sets.
      density: whether each histogram has area 1, or counts examples.
      title: title of the diagram.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.
      xlabel: name of the uncertainty.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> entropies = {"known": [0.1, 0.2, 0.4], "unknown": [0.3, 0.7]}
      >>> ax = um.uncertainty_histogram(entropies, ax=Figure().subplots())
      >>> ax.get_legend().get_title().get_text()
      'AUROC = 0.833'

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """
    ...
