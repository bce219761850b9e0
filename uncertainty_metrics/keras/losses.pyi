# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.axes
import tensorflow as tf

from uncertainty_metrics.keras._scoring_losses import NormalLoss
from uncertainty_metrics.keras._scoring_losses import ScoringLoss

class BrierLoss(ScoringLoss):
    """Brier score of class probabilities: `sum_k p_k^2 - 2 p_y`.

    It can stand where the sparse or the categorical cross-entropy stood. Improbable
    events that happen cost it less, at most 3 more than certain ones, so that wrong
    labels weigh less; for the same reason very wrong logits have tiny gradients.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.
      zero_based: whether to add 1, so that a certain and right forecast scores 0.
      ignore_index: examples with this label are left out, of the mean as well.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.BrierLoss(from_logits=True)
      >>> float(loss([0, 1], [[0.0, 0.0], [0.0, 0.0]]))
      -0.5

      In a training loop of your own:

      >>> import tensorflow as tf
      >>> tf.keras.utils.set_random_seed(0)
      >>> model = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(3)])
      >>> optimizer = tf.keras.optimizers.SGD(0.5)
      >>> features = tf.constant([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
      >>> labels = tf.constant([0, 1, 2])
      >>> def step():
      ...     with tf.GradientTape() as tape:
      ...         value = loss(labels, model(features, training=True))
      ...     variables = model.trainable_variables
      ...     optimizer.apply_gradients(zip(tape.gradient(value, variables), variables))
      ...     return float(value)
      >>> losses = [step() for _ in range(50)]
      >>> losses[-1] < -0.8 < losses[0]
      True

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "brier_loss",
        dtype: Any = None,
        zero_based: bool = False,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...

class RankedProbabilityLoss(ScoringLoss):
    """Ranked probability score of ordered classes: see `ranked_probability_score`.

    For ratings, stages, counts up to a limit: unlike the cross-entropy it knows which
    classes are close. Labels and predictions are those of `BrierLoss`; the classes are
    in ascending order.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.
      ignore_index: examples with this label are left out, of the mean as well.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.RankedProbabilityLoss()
      >>> round(float(loss([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])), 6)
      0.67

    References:
      Epstein (1969), A Scoring System for Probability Forecasts of Ranked Categories.
      Murphy (1971), A Note on the Ranked Probability Score.
    """

    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "ranked_probability_loss",
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None: ...

class CRPSNormalLoss(NormalLoss):
    """Continuous ranked probability score of Normal forecasts.

    The mean of `crps_normal_score`, in the unit of the labels. It is less sensitive to
    outliers than the likelihood, and value and gradient are finite for any scale.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2]: for instance the output of `Dense(2)`; or it is a TFP Normal (of
    a `DistributionLambda` layer in tf_keras, or passed to the loss directly), whose
    scale is taken as it is.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.CRPSNormalLoss(scale_transform="identity")
      >>> round(float(loss([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])), 4)
      1.1168

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """

    def __init__(
        self,
        scale_transform: Literal["softplus", "exp", "identity", "variance", "log_variance"] = "softplus",
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "crps_normal_loss",
        dtype: Any = None,
    ) -> None: ...

class GaussianNLLLoss(NormalLoss):
    """Negative log-likelihood of Normal forecasts, constant included.

      NLL = log(scale) + ((y - mean) / scale)^2 / 2 + log(2 pi) / 2

    It is computed from the logarithm of the scale, so that value and gradient are
    finite for tiny scales too; those below 1e-8 count as 1e-8.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, as for `CRPSNormalLoss`.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.GaussianNLLLoss(scale_transform="exp")
      >>> round(float(loss([1.0], [[0.0, 0.0]])), 6)
      1.418939

    References:
      Nix and Weigend (1994), Estimating the Mean and Variance of the Target Probability
      Distribution.
    """

    def __init__(
        self,
        scale_transform: Literal["softplus", "exp", "identity", "variance", "log_variance"] = "softplus",
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "gaussian_nll_loss",
        dtype: Any = None,
    ) -> None: ...

class CRPSSampleLoss(ScoringLoss):
    """Continuous ranked probability score of samples: the mean of `crps_score`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m]: the members of an ensemble, or draws that are
    differentiable in its parameters. Equal samples have equal gradients.

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" (to train
        a few members with) or "roll".
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.
      alpha: the share of "fair" in "almost_fair", in (0, 1).

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.CRPSSampleLoss(estimator="nrg")
      >>> float(loss([0.0], [[-1.0, 1.0]]))
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
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "crps_sample_loss",
        dtype: Any = None,
        alpha: float = 0.95,
    ) -> None: ...

class PinballLoss(ScoringLoss):
    """Pinball (quantile) loss, the mean over the quantiles: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (the last axis may be absent for one).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.PinballLoss([0.5, 0.75])
      >>> float(loss([1.0], [[0.0, 3.0]]))
      0.5

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """

    def __init__(
        self,
        quantiles: float | Sequence[float],
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "pinball_loss",
        dtype: Any = None,
    ) -> None: ...

class IntervalLoss(ScoringLoss):
    """Interval (Winkler) score of central prediction intervals: see `interval_score`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross, as an untrained model gives, are scored
    as the quantiles they stand for.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.

    Raises:
      ValueError: an argument is not as described; for labels and predictions in eager
        execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> loss = um.IntervalLoss(alpha=0.1)
      >>> float(loss([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]]))
      21.0

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """

    def __init__(
        self,
        alpha: float,
        *,
        reduction: Literal["sum_over_batch_size", "sum", "none"] = "sum_over_batch_size",
        name: str | None = "interval_loss",
        dtype: Any = None,
    ) -> None: ...
