# As written by scripts/write_stubs.py.
from typing import overload
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _optional, _spec
from uncertainty_metrics._spec import DEFAULT_NUM_BINS, BinningScheme, YAxis
from uncertainty_metrics.numpy import _arguments
from uncertainty_metrics.visualization import _axes, _series
from uncertainty_metrics.visualization.reliability_curves import (
    BinIntervals,
    ReliabilityCurve,
    curve_from_statistics,
    reliability_curve,
)
__all__ = [
    "MAX_PANELS",
    "BinIntervals",
    "ReliabilityCurve",
    "curve_from_statistics",
    "draw_reliability",
    "reliability_curve",
    "reliability_diagram",
]
MAX_PANELS = 20
_MAX_COLUMNS = 5
_AXIS_LABELS = {
    "accuracy": ("Confidence", "Accuracy"),
    "frequency": ("Predicted probability", "Observed relative frequency"),
}
_GAP_LABELS = {
    "accuracy": ("Overconfident", "Underconfident"),
    "frequency": ("Overestimated", "Underestimated"),
}
_BAR = {"color": "#4477aa", "edgecolor": "#2a4d73"}
_OVER = {"color": "#fbe3df", "edgecolor": "#cc3311", "hatch": "////"}
_UNDER = {"color": "#c3d8ec", "edgecolor": "#2a4d73", "hatch": r"\\\\"}
_STRIP = {"color": "0.7", "edgecolor": "0.4"}
_BAND = {"edgecolor": _series.BAND_EDGE, "linewidth": 1.5}
_DIAGONAL = {"color": "0.3", "linestyle": "--", "label": "Perfect calibration"}
def reliability_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "even",
    class_conditional: bool = False,
    y_axis: YAxis = "accuracy",
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    labels_predicted: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    error_bars: float | None = None,
    consistency_band: float | None = None,
    seed: Any = 0,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Reliability diagram: how often predictions of each confidence are right.

    Each non-empty bin is a bar of its accuracy; the hatched bar is the gap between that
    and its mean confidence, and the dot is where the two meet: on the diagonal if the
    bin is calibrated, below it if it is overconfident. The strip on top is the share of
    the scores in each bin. The ECE is the mean of the gaps, weighted by those shares.
    Of several models the means of the bins are drawn, a line for each.

    Few examples in a bin make a gap by chance. The error bars say how well the data
    determine each accuracy; a dot outside the consistency band is a gap that chance
    alone would rarely give a calibrated model. Both hold bin by bin: a band of level
    0.95 leaves out about one of 20 bins of a calibrated model.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      num_bins: number of bins.
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      class_conditional: whether to draw one panel per class: for "accuracy" of the
        examples decided as that class, for "frequency" of that class's probability.
      y_axis: "accuracy" of the decision against its confidence, or "frequency" for the
        forecaster's diagram: how often the label is class k against p_k, for class 1 of
        two classes and for all the pairs (example, class) of more.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.
      error_bars: level in (0, 1) of bootstrap intervals of the accuracies, such as
        0.95; None for none.
      consistency_band: level in (0, 1) of the intervals where a calibrated model would
        have its accuracies: the labels are redrawn from the forecasts. None for none.
      seed: of the resamples of both, all that `np.random.default_rng` takes.
      classes: with `class_conditional`, the classes to draw; all of them by default,
        where there are at most 20.
      class_names: with `class_conditional`, the names of all K classes, for the titles.
      title: title of the diagram, or of the figure made for the grid of panels.
      ax: matplotlib Axes to draw in; with `class_conditional`, an array of as many as
        there are panels. By default a new pyplot figure, which is not shown and has
        a legend; in Axes of your own, `ax.legend()` adds one.

    Returns:
      The matplotlib Axes; with `class_conditional`, an array of them in the order of
      the classes, shape [panels] or that of `ax`.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> ax = um.reliability_diagram(
      ...     [0, 1, 1], probabilities, num_bins=5, ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Confidence', 'Accuracy')

    References:
      DeGroot and Fienberg (1983), The Comparison and Evaluation of Forecasters.
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
      Guo et al. (2017), On Calibration of Modern Neural Networks.
    """
    ...
def draw_reliability(
    curve: ReliabilityCurve,
    *,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    annotation: str | None = None,
    ax: Any = None,
) -> Any:
    """Draws a `ReliabilityCurve`; a grid of panels if it has more than one group.

    Args:
      curve: what to draw.
      classes: for a curve of several groups, those to draw.
      class_names: for a curve of several groups, their names.
      title: title of the diagram, or of the figure made for the grid of panels.
      annotation: text in the corner of the diagram, for a curve of one group; by
        default its ECE.
      ax: matplotlib Axes to draw in, or an array of as many as there are panels. By
        default a new pyplot figure, which is not shown and has a legend.

    Returns:
      The matplotlib Axes, or an array of them.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> from uncertainty_metrics.visualization import reliability
      >>> curve = um.reliability_curve([1, 1, 1, 1], [0.9, 0.4, 0.8, 0.7])
      >>> ax = reliability.draw_reliability(curve, ax=Figure().subplots())
      >>> [float(bar.get_height()) for bar in ax.containers[0]]
      [0.0, 1.0, 1.0, 1.0]
    """
    ...
