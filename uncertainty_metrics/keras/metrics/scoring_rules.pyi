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
      zero_based: whether to add 1, so that 0 is perfect and the range is [0, 2].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class NegativeLogLikelihood(MeanScore):
    """Negative log-likelihood of all batches: the mean of `-log p_y`, in nats.

    Labels and predictions are as for `BrierScore`. Unlike the cross-entropy of Keras,
    it does not clip probabilities: a label of probability 0 makes the result infinite.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class RankedProbabilityScore(MeanScore):
    """Ranked probability score of ordered classes, mean of all batches.

    Labels and predictions are as for `BrierScore`; the classes are in ascending order.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      num_groups: number of groups of examples. `y_true` is then a dict of `labels` and
        `groups`, integers in [0, `num_groups`) broadcastable to the labels. The result
        is a dict, too: `<name>_0` and so on are the values of the groups, NaN for an
        empty group, and `<name>_worst` is the worst of them.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class CRPSNormal(NormalScore):
    """Continuous ranked probability score of Normal forecasts, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, whose scale is not transformed.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      TypeError: `y_pred` is a distribution, but not a Normal one.
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class Pinball(MeanScore):
    """Pinball (quantile) loss, mean over quantiles and batches: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (for one quantile the last axis may be absent).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class IntervalScore(MeanScore):
    """Interval (Winkler) score of central intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross are scored as predictions of the two
    quantiles: see `interval_score`.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

class BrierDecomposition(DecompositionMetric):
    """The parts of the Brier score of all batches, a dict.

    See the functions `brier_decomposition` and `brier_decomposition_exact`. The parts
    are exact. The state has 2K(K + 1) cells, which limits K to some thousand classes.
    Labels and predictions are as for `BrierScore`; a label that is a distribution
    counts as its largest class.

    A callback that monitors a part needs `mode="max"` (resolution) or `mode="min"`
    (reliability), because the metric has no single direction that Keras could read.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      exact: whether the result has the five parts of `brier_decomposition_exact`
        instead of the three parts of `brier_decomposition`.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    def result(
        self,
    ) -> dict[str, tf.Tensor]:
        """Returns the parts by name; all 0.0 before the first example that counts."""

class RefinedNegativeLogLikelihood(RefinedMetric):
    """Negative log-likelihood of all batches after the best temperature, in nats.

      min over T of the mean of -log softmax(z / T)_y

    for logits z (for probabilities, their logarithms) and labels y: the part of
    `NegativeLogLikelihood` that temperature scaling cannot remove. In training, models
    become overconfident long before they stop learning: the negative log-likelihood
    rises, while this metric still falls. So stop early by this metric, and recalibrate
    the trained model:

      keras.callbacks.EarlyStopping("val_refined_nll")

    Labels and predictions are as for `BrierScore`; logits may be -inf. The state has
    the sums of the negative log-likelihood and of its first two derivatives in
    log(1/T), at 17 temperatures from 1/16 to 16. The result is the minimum of the
    interpolant of degree five between two of these temperatures. For normally
    distributed logits it is within 1e-5 of the exact minimum, and T is within 1e-4 of
    its size unless the likelihood hardly depends on T. The errors are largest if all
    examples have the same two logits, one of them K - 1 times: for K of 10, 100 and
    1000, up to 1e-5, 2e-4 and 1e-3, and 0.1%, 0.5% and 2% of T. T is fitted to the
    examples that are scored, so there should not be few.

    If the best T is out of this range, the result is the value at the end of the range,
    the temperature is inf or 0.0, and the first result outside of compiled code warns
    with a RuntimeWarning. A label of probability 0 makes the result infinite, and the
    attributes NaN.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Attributes:
      temperature: the best T; 1.0 before the first batch, or if all T are equally good.
      calibration_part: the negative log-likelihood at T = 1 minus the result, >= 0: the
        gain from temperature scaling.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

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

    def result(
        self,
    ) -> tf.Tensor:
        """Returns the least negative log-likelihood; 0.0 before the first example that
        counts.
        """

    @property
    def temperature(
        self,
    ) -> tf.Tensor:
        """The best temperature, in [1/16, 16]; inf if it is above, 0.0 if below."""

    @property
    def calibration_part(
        self,
    ) -> tf.Tensor:
        """The negative log-likelihood at temperature 1 minus the refined one, >= 0."""
