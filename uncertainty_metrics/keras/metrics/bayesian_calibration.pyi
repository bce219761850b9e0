# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from numpy.typing import ArrayLike
from uncertainty_metrics.keras.metrics._bayesian_calibration import PosteriorMetric
from uncertainty_metrics.keras.metrics.calibration import GeneralCalibrationError

class BayesianExpectedCalibrationError(PosteriorMetric, GeneralCalibrationError):
    """Posterior of the expected calibration error (ECE) of all batches.

    See the function `bayesian_expected_calibration_error` for the posterior, and
    `ExpectedCalibrationError` for the state and its precision. `result` is the mean of
    the posterior, by quadrature to 1e-6; `sample` draws from the posterior, and
    `quantiles` returns its quantiles.

    Args:
      num_bins: number of bins.
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      prior_alpha: concentration of each of the 2 `num_bins` cells of the prior,
        positive; by default 1 / (2 `num_bins`).
      num_ece_samples: number of draws behind `quantiles`.
      seed: seed of these draws, an integer.
      positive_class: for two classes, True scores P(class 1) against `label == 1`, and
        False the decision. None means False; a metric of decisions then warns if
        `y_pred` of the first batch is one column, P(class 1). With True the metric
        takes answers without classes, too: `y_true` is whether each answer is right, 1
        or 0, and `y_pred` the confidence in [0, 1], of the same shape; a confidence of
        0.3 is read as 0.3, not as 0.7 of another class.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BayesianExpectedCalibrationError(num_bins=10)
      >>> for _ in range(4):
      ...     metric.update_state([0, 1] * 250, [[0.9, 0.1]] * 500)
      >>> bool(0.35 < metric.result() < 0.45)  # The ECE is 0.4.
      True
      >>> low, high = metric.quantiles([0.01, 0.99])
      >>> bool(0.3 < low < 0.4 < high < 0.5)
      True

    References:
      Perks (1947), Some Observations on Inverse Probability Including a New
      Indifference Rule, for the prior.
    """

    def __init__(
        self,
        num_bins: int = 15,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        prior_alpha: float | None = None,
        num_ece_samples: int = 500,
        seed: int = 0,
        positive_class: bool | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...

    def result(
        self,
    ) -> tf.Tensor:
        """Returns the posterior mean, in [0, 1]; 0.0 before the first example that
        counts.
        """

    def plot(
        self,
        ax: Any = None,
        *,
        classes: Sequence[int] | None = None,
    ) -> Any:
        """Draws the posterior density, from the same samples as `quantiles`.

        Args:
          ax: matplotlib Axes to draw in; by default a new pyplot figure, which is not
            shown.
          classes: None, as there is one group.

        Returns:
          The Axes.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: a batch was wrong, or `ax` is not as described.
        """

    def sample(
        self,
        n: int = 500,
        seed: Any = None,
    ) -> tf.Tensor:
        """Draws from the posterior; before the first batch, from the prior.

        Args:
          n: number of draws.
          seed: an integer or a pair of integers; None for other draws in each call.

        Returns:
          Draws [n] in [0, 1], NaN after a wrong batch.
        """

    def quantiles(
        self,
        q: ArrayLike,
        n: int | None = None,
        seed: Any = None,
    ) -> tf.Tensor:
        """Returns quantiles of the posterior; before the first batch, of the prior.

        Args:
          q: levels in [0, 1], any shape.
          n: number of draws; by default `num_ece_samples`.
          seed: seed of the draws; by default the seed of the metric.

        Returns:
          Quantiles in [0, 1] of the shape of `q`, NaN after a wrong batch.
        """
