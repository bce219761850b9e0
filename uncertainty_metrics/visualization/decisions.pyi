# As written by scripts/write_stubs.py.
from typing import overload
from collections.abc import Iterable, Mapping
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _spec
from uncertainty_metrics.numpy import _arguments
from uncertainty_metrics.numpy._score_cells import Cells
from uncertainty_metrics.visualization import _series
__all__ = ["decision_curve_diagram", "murphy_diagram"]
_PERCENT = np.arange(100) / 100
_THETAS = np.linspace(0, 1, 501)
_NO_MODEL = {"color": "0.3", "linestyle": ":", "linewidth": 1.5}
_NOBODY = {"color": "0.3", "linewidth": 0.8, "label": "Treat none"}
_MARGIN, _BELOW = 0.05, 0.15
def decision_curve_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Decision curves: the net benefit of treating where P(class 1) is large enough.

    The lines are those of `net_benefit`, TP / n - FP / n * t / (1 - t) at threshold t.
    The dotted line is that of treating everyone, the thin one that of treating no one.
    What a model is worth at a threshold is its height above the better of these.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
      thresholds: as in `net_benefit`; by default 0, 0.01, ..., 0.99.
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
      >>> ax = um.decision_curve_diagram(
      ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Threshold probability', 'Net benefit')

    References:
      Vickers and Elkin (2006), Decision Curve Analysis: A Novel Method for Evaluating
      Prediction Models.
    """
    ...
def murphy_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike],
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Murphy diagram: the loss of deciding by P(class 1), for every price of an error.

    The lines are those of `murphy_curve`: where a needless treatment costs theta and a
    case that is missed 1 - theta, treating where p > theta loses on average the height
    at theta. A model whose curve is nowhere above another's is as good by every proper
    score. The area below a curve is half the mean of (y - p)^2. The dotted line is a
    forecast of the share of class 1 for all.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...]; or a mapping from the
        names of some models to theirs, as any of the arrays may be.
      logits: instead of `probabilities`, floating of the same shape.
      probs: another name for `probabilities`.
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
      >>> ax = um.murphy_diagram(
      ...     [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], ax=Figure().subplots()
      ... )
      >>> ax.get_legend().get_texts()[0].get_text()
      'Area = 0.0875'

    References:
      Ehm, Gneiting, Jordan and Krueger (2016), Of Quantiles and Expectiles: Consistent
      Scoring Functions, Choquet Representations and Forecast Rankings.
    """
    ...
