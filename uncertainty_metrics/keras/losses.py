"""Keras losses that are proper scoring rules.

Each is the mean of a function of `uncertainty_metrics.tensorflow.scoring_rules` and
takes `reduction`, `sample_weight` and masks as any Keras loss does. Wrong values raise
ValueError in eager execution and make the loss NaN in a graph, but for probabilities
that are passed as logits, which a graph takes for logits. An example that is
weighted 0 must still be one that can be scored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from uncertainty_metrics.keras import _base, _scorers
from uncertainty_metrics.numpy.forecast_scores import SpreadEstimator
from uncertainty_metrics.tensorflow import _inputs

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


class _ScoringLoss(_base.Loss):
    """A loss made of a scorer, whose options are arguments of the constructor."""

    def __init__(
        self,
        scorer: Any,
        reduction: _base.Reduction,
        name: str | None,
        dtype: Any,
    ):
        super().__init__(reduction, name, dtype)
        self._scorer = scorer

    @tf.autograph.experimental.do_not_convert
    def call(self, y_true: TensorLike, y_pred: TensorLike) -> tf.Tensor:
        """Returns the score of each example."""
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = self._cast(_inputs.as_tensor("y_pred", y_pred))
        batch, labels = self._scorer.flatten(y_true, y_pred)
        scores, right, kept = self._scorer.scores(batch)
        live = tf.ones_like(right) if kept is None else kept
        right |= ~live
        # Of probabilities for logits a graph says nothing: NaN would end a training.
        if tf.executing_eagerly() and (
            not tf.reduce_all(right) or self._scorer.mistaken(batch, live)
        ):
            self._scorer.explain(y_true, y_pred, live)
        scores = tf.where(right, scores, tf.constant(float("nan"), scores.dtype))
        if kept is None:
            return tf.reshape(scores, tf.shape(labels))
        scores = tf.where(kept, scores, tf.zeros_like(scores))
        scores = tf.reshape(scores, tf.shape(labels))
        # Keras leaves them out of the mean.
        scores._keras_mask = tf.reshape(kept, tf.shape(labels))
        return scores

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **dataclasses.asdict(self._scorer)}


@_base.register
class BrierLoss(_ScoringLoss):
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
    """

    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "brier_loss",
        dtype: Any = None,
        zero_based: bool = False,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ):
        scorer = _scorers.Brier(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            zero_based=zero_based,
        )
        super().__init__(scorer, reduction, name, dtype)


class _NormalLoss(_ScoringLoss):
    """A loss of Normal forecasts: parameters [..., 2], or a TFP distribution."""

    def __call__(
        self,
        y_true: TensorLike,
        y_pred: Any,
        sample_weight: TensorLike | None = None,
    ) -> tf.Tensor:
        """Returns the loss, reduced."""
        normal = _scorers.as_normal(y_pred)
        if normal is None:
            return super().__call__(y_true, y_pred, sample_weight)
        # Keras would make a tensor of the distribution: a sample.
        parameters = tf.stack(normal, axis=-1)
        parameters._keras_mask = getattr(y_pred, "_keras_mask", None)
        # This loss, with what Keras may have set on it: `fit` of tf_keras does.
        of_scales = object.__new__(type(self))
        scorer = dataclasses.replace(self._scorer, scale_transform="identity")
        of_scales.__dict__.update(vars(self), _scorer=scorer)
        return of_scales(y_true, parameters, sample_weight)


@_base.register
class CRPSNormalLoss(_NormalLoss):
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
        scale_transform: _scorers.ScaleTransform = "softplus",
        *,
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "crps_normal_loss",
        dtype: Any = None,
    ):
        scorer = _scorers.NormalCRPS(scale_transform)
        super().__init__(scorer, reduction, name, dtype)


@_base.register
class GaussianNLLLoss(_NormalLoss):
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
        scale_transform: _scorers.ScaleTransform = "softplus",
        *,
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "gaussian_nll_loss",
        dtype: Any = None,
    ):
        scorer = _scorers.GaussianNLL(scale_transform)
        super().__init__(scorer, reduction, name, dtype)


@_base.register
class CRPSSampleLoss(_ScoringLoss):
    """Continuous ranked probability score of samples: the mean of `crps_score`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m]: the members of an ensemble, or draws that are
    differentiable in its parameters. Equal samples have equal gradients.

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg" or "roll".
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: of the arithmetic; "float64" keeps float64 predictions under Keras 3.

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
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts.
    """

    def __init__(
        self,
        estimator: SpreadEstimator = "fair",
        *,
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "crps_sample_loss",
        dtype: Any = None,
    ):
        scorer = _scorers.TrainedSampleCRPS(estimator)
        super().__init__(scorer, reduction, name, dtype)


@_base.register
class PinballLoss(_ScoringLoss):
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
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "pinball_loss",
        dtype: Any = None,
    ):
        super().__init__(_scorers.MeanPinball(quantiles), reduction, name, dtype)


@_base.register
class IntervalLoss(_ScoringLoss):
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
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

    def __init__(
        self,
        alpha: float,
        *,
        reduction: _base.Reduction = "sum_over_batch_size",
        name: str | None = "interval_loss",
        dtype: Any = None,
    ):
        super().__init__(_scorers.Interval(alpha), reduction, name, dtype)
