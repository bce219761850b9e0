# As written by scripts/write_stubs.py.
from typing import overload
from collections.abc import Mapping
from typing import Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _arguments, bayesian_calibration
from uncertainty_metrics.visualization import _series
__all__ = ["posterior_diagram"]
_OVERLAP = {"facecolor": "none", "edgecolor": "0.3", "hatch": "////", "linewidth": 0}
_MIN_BINS, _MAX_BINS = 10, 400
_LINE, _MOST_ROOM, _MARGIN = 0.17, 0.5, 0.05
def posterior_diagram(
    samples: ArrayLike | Mapping[str, ArrayLike],
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Posterior densities of the calibration errors of one or some models.

    Each model is a filled histogram, all on the same bins, with its mean (line) and its
    central 95% interval (bar below the axis). For two models the overlap is hatched and
    told in the title of the legend:

      P(a < b)  as `probability_of_lower_calibration_error` defines it
      overlap = integral of min(density of a, density of b)

    The overlap is the hatched area, so it is that of the histograms; few draws make it
    smaller than it is.

    Args:
      samples: draws, finite, shape [S], such as `bayesian_expected_calibration_error`
        returns them; or a mapping from the names of some models to theirs, whose
        numbers may differ.
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
      >>> samples = {"small": [0.01, 0.02, 0.03], "large": [0.03, 0.04, 0.05]}
      >>> ax = um.posterior_diagram(samples, ax=Figure().subplots())
      >>> ax.get_legend().get_title().get_text().splitlines()[0]
      'P(small < large) = 0.944'
    """
    ...
