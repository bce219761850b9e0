# As written by scripts/write_stubs.py.
from typing import overload
import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    CalibrationSpec,
    YAxis,
)
from uncertainty_metrics._statistics import BinStatistics
from uncertainty_metrics.numpy import _arguments, _bin_draws, _binning, _inputs, _wilson
from uncertainty_metrics.visualization import _series
__all__ = [
    "BinIntervals",
    "ReliabilityCurve",
    "curve_from_statistics",
    "reliability_curve",
]
_MAX_RESAMPLES, _MIN_RESAMPLES, _MAX_RESAMPLED = 1000, 200, 100_000_000
class BinIntervals(NamedTuple):
    """An interval of the accuracy of each bin, NaN where it is empty.

    Attributes:
      level: probability that the intervals are made for, in (0, 1), bin by bin.
      lower: lower ends, in [0, 1], shape [groups, bins].
      upper: upper ends, in [0, 1], shape [groups, bins].
    """

    level: float
    lower: np.ndarray
    upper: np.ndarray
@dataclasses.dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """The numbers of a reliability diagram: one row per group of scores.

    There is one group, or one per class. What is not defined in an empty bin is NaN
    there, so that whoever draws it draws nothing.

    Attributes:
      y_axis: "accuracy" or "frequency", what `accuracies` are.
      edges: the bins, `(edges[g, b], edges[g, b + 1]]`, shape [groups, bins + 1].
      counts: total weight in each bin, shape [groups, bins].
      confidences: mean score of each bin, NaN where it is empty, shape [groups, bins].
      accuracies: mean outcome of each bin, NaN where it is empty, shape [groups, bins].
      gaps: `accuracies - confidences`, in [-1, 1]; negative is overconfident.
      proportions: share of the group's weight in each bin, shape [groups, bins].
      errors: l1 calibration error of each group, `sum_b proportions |gaps|`, shape
        [groups]; 0 for a group without scores.
      error: their mean, which is the calibration error of the whole.
      sizes: number of examples in each bin, shape [groups, bins]: with weights the
        effective one, `(sum w)^2 / sum w^2`.
      error_bars: `BinIntervals` of the accuracies; None if not asked.
      consistency_band: `BinIntervals` of the accuracies that a calibrated model would
        show with the same scores; None if not asked.
    """

    y_axis: YAxis
    edges: np.ndarray
    counts: np.ndarray
    confidences: np.ndarray
    accuracies: np.ndarray
    gaps: np.ndarray
    proportions: np.ndarray
    errors: np.ndarray
    error: float
    sizes: np.ndarray
    error_bars: BinIntervals | None = None
    consistency_band: BinIntervals | None = None

    @property
    def num_groups(self) -> int:
        """Number of groups."""
        ...
def curve_from_statistics(
    statistics: BinStatistics, *, y_axis: YAxis = "accuracy"
) -> ReliabilityCurve:
    """The data of a reliability diagram, from bin statistics.

    Args:
      statistics: sums in each bin, of any kind of array that NumPy can read.
      y_axis: "accuracy" if an outcome is "the decision is right", "frequency" if it is
        "the label is this class". It only names the axes.

    Returns:
      A `ReliabilityCurve`, float64, whose `sizes` are the counts.

    Raises:
      ValueError: `y_axis` is not one of the two.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from uncertainty_metrics.visualization import reliability
      >>> stats = um.bin_statistics([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.7], num_bins=2)
      >>> curve = reliability.curve_from_statistics(stats)
      >>> curve.accuracies.tolist(), curve.proportions.tolist()
      ([[nan, 0.75]], [[0.0, 1.0]])
    """
    ...
def reliability_curve(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "even",
    class_conditional: bool = False,
    y_axis: YAxis = "accuracy",
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    error_bars: float | None = None,
    consistency_band: float | None = None,
    seed: Any = 0,
    positive_class: bool = False,
) -> ReliabilityCurve:
    """The data of a reliability diagram.

    The scores and outcomes that are binned, and the metric that `error` equals (for
    even bins; with adaptive ones, `gce` of the same options):

      y_axis       class_conditional  score, outcome                        error
      "accuracy"   False              p of the decision, decision is right  ece
      "accuracy"   True               the same, by decided class            gce
      "frequency"  False, K = 2 (**)  p_1, label == 1                       ece (*)
      "frequency"  False, K > 2       p_k, label == k, all pairs pooled     gce
      "frequency"  True               p_k, label == k, by class k           sce

    (*) with `positive_class=True`. (**) which is what `positive_class` chooses, too.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      num_bins: number of bins.
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      class_conditional: whether every class is a group of its own.
      y_axis: "accuracy", or "frequency" for the forecaster's diagram.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      error_bars: level in (0, 1) of Wilson's intervals of the accuracies, such as 0.95,
        which have a length where all outcomes of a bin are the same, too; None for
        none. They are those of `sizes` independent outcomes.
      consistency_band: level in (0, 1) of the intervals where a calibrated model would
        have its accuracies: the labels are redrawn from the forecasts. None for none.
      seed: of the labels that are redrawn, all that `np.random.default_rng` takes.
      positive_class: for two classes, score P(class 1) against `label == 1`.

    Returns:
      A `ReliabilityCurve` with one group, or one per class.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.reliability_curve(
      ...     [0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5
      ... )
      >>> curve.counts.tolist(), round(curve.error, 6)
      ([[0.0, 0.0, 0.0, 2.0, 1.0]], 0.2)

    References:
      DeGroot and Fienberg (1983), The Comparison and Evaluation of Forecasters.
      Niculescu-Mizil and Caruana (2005), Predicting Good Probabilities with Supervised
      Learning. Broecker and Smith (2007), Increasing the Reliability of Reliability
      Diagrams.
    """
    ...
def read(
    arguments: Mapping[str, Any],
) -> tuple[_inputs.Examples, CalibrationSpec, YAxis]:
    """Returns examples and options of what a reliability diagram was passed."""
    ...
def num_resamples(num_examples: int) -> int:
    """Returns how often labels are redrawn."""
    ...
