# As written by scripts/write_stubs.py.
from typing import overload
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._spec import (
    DEFAULT_NUM_BINS,
    BinningScheme,
    CalibrationSpec,
    YAxis,
)
from uncertainty_metrics._statistics import BinStatistics
from uncertainty_metrics.numpy import _arguments
from uncertainty_metrics.numpy._score_cells import Cells
from uncertainty_metrics.visualization import (
    _axes,
    _series,
    score_curves,
)
from uncertainty_metrics.visualization import (
    _reliability_panel as _panel,
)
from uncertainty_metrics.visualization._reliability_panel import Curve
from uncertainty_metrics.visualization.reliability_curves import (
    BinIntervals,
    ReliabilityCurve,
    curve_from_statistics,
    reliability_curve,
)
from uncertainty_metrics.visualization.score_curves import ScoreCurve
__all__ = [
    "MAX_PANELS",
    "BinIntervals",
    "ReliabilityCurve",
    "ReliabilityMethod",
    "curve_from_statistics",
    "draw_reliability",
    "reliability_curve",
    "reliability_diagram",
]
MAX_PANELS = 20
_MAX_COLUMNS = 5
ReliabilityMethod = Literal["bins", "isotonic", "smooth"]
METHODS: tuple[ReliabilityMethod, ...] = get_args(ReliabilityMethod)
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
    consistency_band: float | Literal[False] | None = None,
    seed: Any = 0,
    positive_class: bool = False,
    method: ReliabilityMethod = "bins",
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Reliability diagram: how often predictions of each confidence are right.

    Each non-empty bin is a bar of its accuracy. The hatched part is the gap between it
    and the mean confidence: on top of the bar what it lacks, within the bar what it has
    too much. The dot is where the two meet: on the diagonal if the bin is calibrated,
    below it if it is overconfident. The strip on top is the share of the scores in each
    bin. The ECE is the mean of the gaps, weighted by those shares. Bins of fewer than 5
    examples are faded.

    Of several models the means of the bins are drawn, a line for each. A call with
    Axes that show a reliability diagram already adds its models to that.

    Two methods need no bins. "isotonic" draws the non-decreasing function of the score
    that fits the outcomes best; its number is the miscalibration (MCB), what the Brier
    score of the outcomes would gain by it. "smooth" draws the mean outcome around each
    score, by the Gaussian kernel of the smooth calibration error (smECE), which is its
    number and its bandwidth (at least 1/128), and on top the density of the scores by
    that kernel. What is a mean of fewer than about 5 examples is faded, or left out of
    smooth curves of several models.

    Few examples make a gap by chance. The error bars say how well the data determine
    each accuracy; a dot, or a line, outside the consistency band is a gap that chance
    alone would rarely give a calibrated model. Both hold bin by bin, or score by score:
    a band of level 0.95 leaves out about one of 20 bins of a calibrated model. Of
    several models one band is drawn: at each score the widest, of those with 5 or more
    examples there.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      num_bins: number of bins; for "isotonic", of the histogram on top.
      binning_scheme: "even" (equal width) or "adaptive" (equal mass), of method "bins".
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
      error_bars: level in (0, 1) of Wilson's intervals of the accuracies in bins, such
        as 0.95; None for none.
      consistency_band: level in (0, 1) of the intervals where a calibrated model would
        have its accuracies: labels are redrawn from the forecasts 200 to 1000 times.
        None is 0.95 for "isotonic" and no band for the others; False is no band.
      seed: of the labels that are redrawn, all that `np.random.default_rng` takes.
      positive_class: for two classes, score P(class 1) against `label == 1`, as in
        `ece`; y_axis is "frequency" then.
      method: "bins", "isotonic" or "smooth".
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
      Dimitriadis, Gneiting and Jordan (2021), Stable Reliability Diagrams for
      Probabilistic Classifiers. Blasiok and Nakkiran (2023), Smooth ECE: Principled
      Reliability Diagrams via Kernel Smoothing.
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
_DIAGRAMS: dict[str, tuple[ReliabilityMethod, str]] = {
    "debiased_calibration_error": ("bins", "Debiased error"),
    "smooth_calibration_error": ("smooth", "smECE"),
    "kolmogorov_smirnov_calibration_error": ("isotonic", "KS"),
    "kuiper_calibration_error": ("isotonic", "Kuiper"),
    "averaged_two_bin_calibration_error": ("isotonic", "ATB"),
}
def method_of(function: str | None) -> ReliabilityMethod:
    """Returns the method of the diagram of a streaming metric, by its function."""
    ...
def plot_metric(
    sums: BinStatistics | Cells | None,
    spec: CalibrationSpec,
    value: float,
    function: str | None = None,
    classes: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draws what a streaming calibration error has seen.

    Args:
      sums: statistics of NumPy arrays, or cells if `method_of` needs no bins; None
        where there is no state yet.
      spec: the options of the metric.
      value: its result.
      function: the name of its function.
      classes: for several groups, those to draw.
      ax: where to draw.
    """
    ...
