# As written by scripts/write_stubs.py.
from typing import overload
import functools
from collections.abc import Mapping
from typing import Any, Literal, get_args
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _optional
from uncertainty_metrics._statistics import PITInterval
from uncertainty_metrics.numpy import _arguments, regression
from uncertainty_metrics.numpy.regression import _forecasts
from uncertainty_metrics.numpy.regression.ecdf import NUM_STEPS
from uncertainty_metrics.visualization import _axes, _series, ensemble
__all__ = [
    "create_calibration_report",
    "plot_calibration_comparison",
    "plot_pit_histogram",
    "plot_reliability_diagram",
    "plot_uncertainty_vs_error",
]
PitPlot = Literal["histogram", "ecdf"]
_TICKS = np.linspace(0, 1, 6)
_REFERENCE = {"color": "0.3", "linestyle": "--"}
_OVER, _UNDER = "#cc3311", "#4477aa"
_FULL = 400
_LEGEND_ROOM = 1.35
_MAX_Z = 6.0
_NUM_Z_BINS = 40
def plot_reliability_diagram(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str = "Reliability Diagram",
    color: str = "steelblue",
    show_ece: bool = True,
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Reliability diagram: how often targets lie in the predicted intervals.

    The observed coverage of the central intervals of `compute_calibration_curve`
    against the one expected: on the diagonal if the variances are calibrated, above it
    if they are too large (underconfident), below it if they are too small
    (overconfident).

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: what came, of the same shape.
      n_bins: number of levels of coverage, from 0.1 to 0.99.
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.
      title: title of the diagram.
      color: color of the curve.
      show_ece: whether the legend has the expected calibration error.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.plot_reliability_diagram(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Expected coverage', 'Observed coverage')

    References:
      Kuleshov, Fenner and Ermon (2018), Accurate Uncertainties for Deep Learning Using
      Calibrated Regression.
    """
    ...
def draw_curve(ax: Any, curve: dict[str, np.ndarray], **style: Any) -> None:
    """Draws what `compute_calibration_curve` returns."""
    ...
def label_coverages(ax: Any) -> None:
    """Draws the curve of a calibrated model, and says what is on the axes."""
    ...
def plot_calibration_comparison(
    results: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    n_bins: int = 10,
    figsize: tuple[float, float] = (12, 5),
    colors: Mapping[str, str] | None = None,
) -> Any:
    """Compares the calibration of some models: their curves, and bars of their ECE.

    Args:
      results: from the name of each model to its (predictions, uncertainties, targets),
        as `plot_reliability_diagram` takes them.
      n_bins: number of levels of coverage, from 0.1 to 0.99.
      figsize: width and height of the figure in inches.
      colors: from the name of each model to its color; by default colors that are told
        apart with any color vision.

    Returns:
      The matplotlib Figure, one of pyplot, which is not shown.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import matplotlib.pyplot as plt
      >>> import uncertainty_metrics.numpy as um
      >>> targets = [0.5, 1.2, 5.0]
      >>> results = {
      ...     "small": ([0.0, 1.0, 2.0], [1.0, 1.0, 4.0], targets),
      ...     "large": ([0.4, 1.0, 4.0], [0.1, 0.1, 0.3], targets),
      ... }
      >>> figure = um.regression.plot_calibration_comparison(results)
      >>> [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
      ['small', 'large']
      >>> plt.close(figure)
    """
    ...
def plot_uncertainty_vs_error(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str = "Uncertainty vs Error",
    color: str = "steelblue",
    show_correlation: bool = True,
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Scatter plot of absolute errors against predicted standard deviations.

    Calibrated errors grow with the standard deviation: two in three are below the
    diagonal where they are normal.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: what came, of the same shape.
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.
      title: title of the diagram.
      color: color of the points.
      show_correlation: whether the legend has Pearson's correlation of the two, which
        is not defined where one of them is constant.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.plot_uncertainty_vs_error(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[0].get_text()
      'Correlation = 0.995'
    """
    ...
def create_calibration_report(
    predictions: ArrayLike,
    uncertainties: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    model_name: str = "Model",
    figsize: tuple[float, float] = (14, 10),
    *,
    stddevs: ArrayLike | None = None,
) -> Any:
    """Four plots of the calibration of a model, and its numbers.

    The reliability diagram, uncertainty against error, and histograms of the predicted
    standard deviations and of the z-scores `(target - mean) / deviation`, which are
    standard normal if the predictions are calibrated normal distributions. The numbers
    are those of `evaluate_calibration`.

    Args:
      predictions: predicted means, shape [n] or [n, 1].
      uncertainties: predicted variances, > 0, of the same shape.
      targets: what came, of the same shape.
      mask: True for the examples to include; all by default.
      model_name: name of the model, for the title.
      figsize: width and height of the figure in inches.
      stddevs: predicted standard deviations, > 0, instead of `uncertainties`.

    Returns:
      The matplotlib Figure, one of pyplot, which is not shown.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import matplotlib.pyplot as plt
      >>> import uncertainty_metrics.numpy as um
      >>> figure = um.regression.create_calibration_report(
      ...     [0.0, 1.0, 2.0], [1.0, 1.0, 4.0], [0.5, 1.2, 5.0], model_name="Small"
      ... )
      >>> len(figure.axes), figure.get_suptitle().split()[0]
      (4, 'Small')
      >>> plt.close(figure)
    """
    ...
def plot_pit_histogram(
    pit: ArrayLike | PITInterval,
    n_bins: int = 10,
    mask: ArrayLike | None = None,
    ax: Any = None,
    title: str | None = None,
    color: str = "steelblue",
    *,
    kind: PitPlot = "histogram",
    consistency_band: float | None = 0.95,
) -> Any:
    """Histogram of the probability integral transform: flat if calibrated.

    A U says that the predicted distributions are too narrow (overconfident), a hump
    that they are too wide, a slope that they are biased. The band is where chance
    alone leaves the bars of calibrated predictions, bin by bin:

      quantiles of Binomial(n, 1 / n_bins), by n / n_bins

    Intervals, as those of samples, spread their mass over the bars, which chance then
    moves less: within the band at least as often as it says.

    Without bins, `kind="ecdf"` draws the share of the values up to each point, less
    that of a uniform distribution, and the band of `ecdf_band`, within which chance
    alone leaves the whole curve. It is below 0, then above, where the predicted
    distributions are too wide, and the other way round where too narrow.

    Args:
      pit: values in [0, 1] of any shape, such as those of
        `probability_integral_transform` or `quantile_pit`; or intervals, as those of
        `sample_pit`: a `PITInterval` or a tuple `(lower, upper)` of two arrays.
      n_bins: number of bins of equal width, for "histogram".
      mask: True for the examples to include; all by default.
      ax: matplotlib Axes to draw in. By default those of a new pyplot figure, which is
        not shown.
      title: title of the diagram; by default "PIT Histogram" or "PIT ECDF".
      color: color of the bars, or of the curve.
      kind: "histogram" or "ecdf".
      consistency_band: level in (0, 1) of the band; None draws none.

    Returns:
      The matplotlib Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> ax = um.regression.plot_pit_histogram(
      ...     [0.1, 0.3, 0.4, 0.9], n_bins=2, ax=Figure().subplots()
      ... )
      >>> [float(bar.get_height()) for bar in ax.containers[0]]
      [1.5, 0.5]

    References:
      Gneiting, Balabdaoui and Raftery (2007), Probabilistic Forecasts, Calibration and
      Sharpness. Säilynoja, Bürkner and Vehtari (2022), Graphical Test for Discrete
      Uniformity and Its Applications in Goodness-of-Fit Evaluation and Multiple Sample
      Comparison.
    """
    ...
_BAND_STYLE = {"facecolor": _series.BAND_FILL, "edgecolor": _series.BAND_EDGE}
