"""Keras losses that are proper scoring rules, two of them with a penalty.

Each loss is the mean of a function of `uncertainty_metrics.tensors.scoring_rules`, and
takes `reduction`, `sample_weight` and masks as any Keras loss does. Wrong values raise
ValueError in eager execution and make the loss NaN in a graph. Only probabilities that
are passed as logits go unnoticed in a graph. The values of an example of weight 0 are
checked, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncertainty_metrics.keras import _family, _loss, _penalties, _scorers
from uncertainty_metrics.keras._scoring_losses import (
    NormalLoss,
    PenalizedLoss,
    ScoringLoss,
)
from uncertainty_metrics.numpy.scoring._sample_estimators import SpreadEstimator

__all__ = [
    "BrierLoss",
    "CRPSNormalLoss",
    "CRPSSampleLoss",
    "GaussianNLLLoss",
    "IntervalLoss",
    "MMCELoss",
    "PinballLoss",
    "RankedProbabilityLoss",
    "SoftCalibrationLoss",
]


@_family.register
class BrierLoss(ScoringLoss):
    """Brier score of class probabilities: `sum_k p_k^2 - 2 p_y`.

    It can replace the sparse or the categorical cross-entropy. An improbable event that
    happens costs less than in these: at most 2 more than a certain event. So wrong
    labels weigh less, and for the same reason very wrong logits have tiny gradients.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.
      zero_based: whether to add 1, so that a certain and right forecast scores 0.
      ignore_index: examples with this label are left out, and do not count in the mean.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].
      multilabel: whether an example has L labels that are each 0 or 1: `y_true` [...,
        L] holds the labels, and `y_pred` of the same shape P(label is 1), or logits.
        The value is the mean over all labels of the score of two classes, not their sum
        over the labels of an example.

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "brier_loss",
        dtype: Any = None,
        zero_based: bool = False,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
        multilabel: bool = False,
    ) -> None:
        scorer = _scorers.Brier(
            from_logits=from_logits,
            zero_based=zero_based,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            multilabel=multilabel,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class RankedProbabilityLoss(ScoringLoss):
    """Ranked probability score of ordered classes: see `ranked_probability_score`.

    It is made for ratings, stages, or counts up to a limit: unlike the cross-entropy,
    it depends on how close the classes are. Labels and predictions are as for
    `BrierLoss`; the classes are in ascending order.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.
      ignore_index: examples with this label are left out, and do not count in the mean.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "ranked_probability_loss",
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = _scorers.RankedProbability(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class CRPSNormalLoss(NormalLoss):
    """Continuous ranked probability score of Normal forecasts.

    The mean of `crps_normal_score`, in the unit of the labels. It is less sensitive to
    outliers than the likelihood, and value and gradient are finite for any scale.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], for instance the output of `Dense(2)`; or it is a TFP Normal
    (from a `DistributionLambda` layer in tf_keras, or passed to the loss directly),
    whose scale is not transformed.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "crps_normal_loss",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.NormalCRPS(
            scale_transform=scale_transform,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class GaussianNLLLoss(NormalLoss):
    """Negative log-likelihood of Normal forecasts, constant included.

      NLL = log(scale) + ((y - mean) / scale)^2 / 2 + log(2 pi) / 2

    It is computed from the logarithm of the scale, so that value and gradient are
    finite for tiny scales, too; scales below 1e-8 count as 1e-8.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, as for `CRPSNormalLoss`.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "gaussian_nll_loss",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.GaussianNLL(
            scale_transform=scale_transform,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class CRPSSampleLoss(ScoringLoss):
    """Continuous ranked probability score of samples: the mean of `crps_score`.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds m samples of
    each forecast, shape [..., m]: the members of an ensemble, or draws that are
    differentiable in the parameters of a model. Equal samples have equal gradients.

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" (to train
        few members) or "roll".
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.
      alpha: the share of "fair" in "almost_fair", in [0, 1]: 1 is "fair", 0 is "nrg".

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        estimator: SpreadEstimator = "fair",
        *,
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "crps_sample_loss",
        dtype: Any = None,
        alpha: float = 0.95,
    ) -> None:
        scorer = _scorers.TrainedSampleCRPS(
            estimator=estimator,
            alpha=alpha,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class PinballLoss(ScoringLoss):
    """Pinball (quantile) loss, the mean over the quantiles: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (for one quantile the last axis may be absent).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "pinball_loss",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.MeanPinball(
            quantiles=quantiles,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class IntervalLoss(ScoringLoss):
    """Interval (Winkler) score of central prediction intervals: see `interval_score`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross, as an untrained model may predict,
    are scored as predictions of the two quantiles.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

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
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "interval_loss",
        dtype: Any = None,
    ) -> None:
        scorer = _scorers.Interval(
            alpha=alpha,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class SoftCalibrationLoss(PenalizedLoss):
    """A proper loss plus the soft-binned calibration error of the batch.

      loss = NLL + weight error
      error = (sum_b m_b abs(conf_b - acc_b)^p)^(1/p)
      share of the example i in bin b = softmax_b(-(conf_i - (b + 1/2) / B)^2 / T)

    conf_i is the largest probability of example i; m_b is the mean share of bin b, and
    conf_b and acc_b are its mean confidence and its accuracy. As T goes to 0, the error
    becomes the calibration error of even bins. A batch has few examples, so that even a
    calibrated model has an error; the smaller the batch, the larger the error.

    `y_true` and `y_pred` are as for `BrierLoss`. Weights and masks count in the error
    as they do in the mean. Each replica takes the error of its own part of a batch.

    Args:
      weight: factor of the penalty, >= 0.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      num_bins: number of bins B.
      temperature: T, at least 1e-6. Shares fall with the distance like a Normal density
        of standard deviation (T / 2)^(1/2).
      norm: "l1" (p = 1) or "l2" (p = 2).
      proper_loss: the loss to which the penalty is added: "nll", the negative log-
        likelihood (probabilities below 1e-7 count as 1e-7); "brier", the Brier score;
        or None, for the penalty alone. It is smallest if all examples have the same
        confidence, the accuracy.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.
      ignore_index: examples with this label are left out, and do not count in the mean.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> y_true, y_pred = [0, 1], [[0.75, 0.25], [0.75, 0.25]]
      >>> loss = um.SoftCalibrationLoss(1.0, proper_loss=None)
      >>> round(float(loss(y_true, y_pred)), 4)
      0.25
      >>> round(float(um.SoftCalibrationLoss(2.0)(y_true, y_pred)), 4)
      1.337

    References:
      Karandikar, Cain, Tran, Lakshminarayanan, Shlens, Mozer and Roelofs (2021), Soft
      Calibration Objectives for Neural Networks.
    """

    def __init__(
        self,
        weight: float,
        from_logits: bool = False,
        *,
        num_bins: int = 15,
        temperature: float = 0.01,
        norm: _penalties.SoftNorm = "l2",
        proper_loss: _penalties.ProperLoss = "nll",
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "soft_calibration_loss",
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = _penalties.SoftCalibration(
            weight=weight,
            from_logits=from_logits,
            num_bins=num_bins,
            temperature=temperature,
            norm=norm,
            proper_loss=proper_loss,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)


@_family.register
class MMCELoss(PenalizedLoss):
    """A proper loss plus the squared maximum mean calibration error of the batch.

      loss = NLL + weight MMCE^2
      MMCE^2 = 1/(n (n - 1)) sum_{i != j} u_i u_j exp(-abs(conf_i - conf_j) / h)

    conf_i is the largest probability of example i, and u_i is conf_i, minus 1 if the
    decision is right. No example is paired with itself. So the error of a batch of any
    size is an unbiased estimate of the error of the population, and may be negative;
    its root, which others use, would be biased. A batch of one example has no pair, and
    the error 0. The cost is O(n log n).

    `y_true` and `y_pred` are as for `BrierLoss`. Weights and masks count in the error
    as they do in the mean; the weight of a pair is a product of two weights. Each
    replica takes the error of its own part of a batch.

    Args:
      weight: factor of the penalty, >= 0.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      bandwidth: h, at least 0.02.
      proper_loss: the loss to which the penalty is added: "nll", the negative log-
        likelihood (probabilities below 1e-7 count as 1e-7); "brier", the Brier score;
        or None, for the penalty alone. It is smallest if all examples have the same
        confidence, the accuracy.
      reduction: "sum_over_batch_size", "sum" or "none".
      name: name of the loss.
      dtype: type of the arithmetic; under Keras 3, "float64" keeps the precision of
        float64 predictions.
      ignore_index: examples with this label are left out, and do not count in the mean.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Raises:
      ValueError: an argument is not as described; for wrong labels and predictions only
        in eager execution.

    Example:
      >>> import uncertainty_metrics as um
      >>> y_true, y_pred = [0, 1, 0], [[0.75, 0.25], [0.75, 0.25], [1.0, 0.0]]
      >>> loss = um.MMCELoss(1.0, proper_loss=None)
      >>> round(float(loss(y_true, y_pred)), 4)
      -0.0625
      >>> round(float(um.MMCELoss(2.0)(y_true, y_pred)), 4)
      0.433

    References:
      Kumar, Sarawagi and Jain (2018), Trainable Calibration Measures for Neural
      Networks from Kernel Mean Embeddings.
    """

    def __init__(
        self,
        weight: float,
        from_logits: bool = False,
        *,
        bandwidth: float = 0.2,
        proper_loss: _penalties.ProperLoss = "nll",
        reduction: _loss.Reduction = "sum_over_batch_size",
        name: str | None = "mmce_loss",
        dtype: Any = None,
        ignore_index: int | None = None,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = _penalties.KernelCalibration(
            weight=weight,
            from_logits=from_logits,
            bandwidth=bandwidth,
            proper_loss=proper_loss,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, reduction=reduction, name=name, dtype=dtype)
