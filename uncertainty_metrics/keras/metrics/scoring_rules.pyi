# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras.metrics._scores import DecompositionMetric
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.keras.metrics._scores import NormalScore
from uncertainty_metrics.keras.metrics._scores import RefinedMetric
from uncertainty_metrics.ops._typing import TensorLike

class BrierScore(MeanScore):
    """Brier score of all batches: the mean of `sum_k p_k^2 - 2 p_y`.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      zero_based: whether to add 1, so that 0 is perfect and the range [0, 2].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels; and the
        result one of the value of each group, NaN where it is empty, and the worst:
        `<name>_0` and so on, and `<name>_worst`.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierScore()
      >>> metric.update_state([0], [[0.9, 0.1]])
      >>> metric.update_state([1], [[0.4, 0.6]])
      >>> round(float(metric.result()), 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_score",
        dtype: Any = None,
        *,
        zero_based: bool = False,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class NegativeLogLikelihood(MeanScore):
    """Negative log-likelihood of all batches: the mean of `-log p_y`, in nats.

    Labels and predictions are those of `BrierScore`. Unlike Keras's cross-entropy it
    clips nothing: a label of probability 0 makes the result infinite.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels; and the
        result one of the value of each group, NaN where it is empty, and the worst:
        `<name>_0` and so on, and `<name>_worst`.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.NegativeLogLikelihood(from_logits=True)
      >>> metric.update_state([0, 1], [[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "negative_log_likelihood",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class RankedProbabilityScore(MeanScore):
    """Ranked probability score of ordered classes, mean of all batches.

    Labels and predictions are those of `BrierScore`; the classes are in ascending
    order.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels; and the
        result one of the value of each group, NaN where it is empty, and the worst:
        `<name>_0` and so on, and `<name>_worst`.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RankedProbabilityScore()
      >>> metric.update_state([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
      >>> round(float(metric.result()), 6)
      0.67

    References:
      Epstein (1969), A Scoring System for Probability Forecasts of Ranked Categories.
      Murphy (1971), A Note on the Ranked Probability Score.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "ranked_probability_score",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class CRPSNormal(NormalScore):
    """Continuous ranked probability score of Normal forecasts, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, whose scale is taken as it is.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      TypeError: `y_pred` is a distribution, but not a Normal one.
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSNormal(scale_transform="identity")
      >>> metric.update_state([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])
      >>> round(float(metric.result()), 4)
      1.1168

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """

    def __init__(
        self,
        scale_transform: Literal["softplus", "exp", "identity", "variance", "log_variance"] = "softplus",
        name: str | None = "crps_normal",
        dtype: Any = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: TensorLike,
        y_pred: Any,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: real labels, shape [...] or [..., 1].
          y_pred: mean and scale parameter, shape [..., 2], or a TFP Normal.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class CRPSSamples(MeanScore):
    """Continuous ranked probability score of samples, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m].

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" or
        "roll": see `crps_score`.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      alpha: the share of "fair" in "almost_fair", in [0, 1]: 1 is "fair", 0 is "nrg".

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSSamples(estimator="nrg")
      >>> metric.update_state([0.0], [[-1.0, 1.0]])
      >>> float(metric.result())
      0.5

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """

    def __init__(
        self,
        estimator: Literal["fair", "nrg", "almost_fair", "roll"] = "fair",
        name: str | None = "crps_samples",
        dtype: Any = None,
        *,
        alpha: float = 0.95,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class Pinball(MeanScore):
    """Pinball (quantile) loss, mean over quantiles and batches: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (the last axis may be absent for one).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Pinball([0.5, 0.75])
      >>> metric.update_state([1.0], [[0.0, 3.0]])
      >>> float(metric.result())
      0.5

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """

    def __init__(
        self,
        quantiles: float | Sequence[float],
        name: str | None = "pinball",
        dtype: Any = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class IntervalScore(MeanScore):
    """Interval (Winkler) score of central intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross are scored as the quantiles they stand
    for: see `interval_score`.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.IntervalScore(alpha=0.1)
      >>> metric.update_state([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      21.0

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """

    def __init__(
        self,
        alpha: float,
        name: str | None = "interval_score",
        dtype: Any = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class WeightedIntervalScore(MeanScore):
    """Weighted interval score of a median and K intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred`, shape [..., 2K + 1],
    the median, then lower and upper bound of each interval, in the order of `alphas`:
    see `weighted_interval_score`.

    Args:
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.WeightedIntervalScore(alphas=[0.5, 0.1])
      >>> metric.update_state([3.0], [[0.5, 0.0, 1.0, -1.0, 2.0]])
      >>> round(float(metric.result()), 6)
      1.86

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """

    def __init__(
        self,
        alphas: Sequence[float],
        name: str | None = "weighted_interval_score",
        dtype: Any = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

class BrierDecomposition(DecompositionMetric):
    """The parts of the Brier score of all batches, a dict.

    `brier_decomposition`, or `brier_decomposition_exact`, of all examples since the
    last reset, read off sums of 2K(K + 1) cells: not an approximation, and not for more
    than thousands of classes. Labels and predictions are those of `BrierScore`; of
    labels that are distributions the largest counts.

    A callback that monitors a part needs `mode="max"` (resolution) or `mode="min"`
    (reliability): the metric has no one direction that Keras could read.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      exact: whether the five parts of `brier_decomposition_exact` are the result,
        instead of the three of `brier_decomposition`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierDecomposition()
      >>> metric.update_state([0, 1], [[0.8, 0.2], [0.8, 0.2]])
      >>> metric.update_state([1, 1], [[0.3, 0.7], [0.3, 0.7]])
      >>> {name: round(float(part), 5) for name, part in metric.result().items()}
      {'uncertainty': -0.625, 'resolution': 0.125, 'reliability': 0.18}

    References:
      Murphy (1973), A New Vector Partition of the Probability Score. Stephenson, Coelho
      and Jolliffe (2008), Two Extra Components in the Brier Score Decomposition.
    """

    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_decomposition",
        dtype: Any = None,
        *,
        exact: bool = False,
        sparse_labels: bool | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K]. With
            `num_groups` a dict of these, `labels`, and of `groups`.
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

    def result(
        self,
    ) -> dict[str, tf.Tensor]:
        """Returns the parts by name; all 0.0 before the first batch."""
        ...

class RefinedNegativeLogLikelihood(RefinedMetric):
    """Negative log-likelihood of all batches after the best temperature, in nats.

      min over T of the mean of -log softmax(z / T)_y

    for logits z (of probabilities their logarithms) and labels y: what is left of
    `NegativeLogLikelihood` once one temperature has mended what it can. Training makes
    models overconfident long before they stop to learn: the likelihood rises, and this
    goes on falling. So stop by it, and recalibrate what was trained:

      keras.callbacks.EarlyStopping("val_refined_nll")

    Labels and predictions are those of `BrierScore`; logits may be -inf. The state adds
    the likelihood and its first two derivatives in log(1/T) at 17 temperatures from
    1/16 to 16; the result is the minimum of the interpolant of degree five between two
    of them: within 1e-5 of the exact one for logits spread as normal draws are,
    and T within 1e-4 of its size unless the likelihood hardly depends on it. The errors
    are largest where all examples have the same two logits, one of them K - 1 times: up
    to 1e-5, 2e-4 and 1e-3 for K of 10, 100 and 1000, and 0.1%, 0.5% and 2% of T. T is
    that of the examples that are scored, so these should not be few.

    Where the best T is out of this range, the result is the likelihood at its end, and
    the temperature inf or 0.0; the first result that is not compiled says so in a
    RuntimeWarning. A label of probability 0 makes the result infinite, and the
    attributes NaN.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.

    Attributes:
      temperature: the best T, 1.0 before the first batch and where all are as good.
      calibration_part: the likelihood at T = 1 less the result, >= 0: what temperature
        scaling gains.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RefinedNegativeLogLikelihood(from_logits=True)
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> metric.update_state([0, 1, 0, 1], logits)  # 3 of 4: log 3, and not 4.
      >>> round(float(metric.result()), 4), round(float(metric.temperature), 3)
      (0.5623, 3.641)
      >>> round(float(metric.calibration_part), 4)
      0.4558

    References:
      Berta, Holzmüller, Jordan and Bach (2025), Rethinking Early Stopping: Refine, Then
      Calibrate.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "refined_nll",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
    ) -> None: ...

    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        ...

    def result(
        self,
    ) -> tf.Tensor:
        """Returns the least negative log-likelihood; 0.0 before the first batch."""
        ...

    @property
    def temperature(
        self,
    ) -> tf.Tensor:
        """The best temperature, in [1/16, 16]; inf above and 0.0 below."""
        ...

    @property
    def calibration_part(
        self,
    ) -> tf.Tensor:
        """The negative log-likelihood at temperature 1 less the refined one, >= 0."""
        ...
