"""Keras losses that are proper scoring rules, two of them with a penalty.

Each loss is the mean of a function of `uncertainty_metrics.tensors.scoring_rules`, and
takes `reduction`, `sample_weight` and masks as any Keras loss does. Wrong values raise
ValueError in eager execution and make the loss NaN in a graph. Only probabilities that
are passed as logits go unnoticed in a graph. The values of an example of weight 0 are
checked, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from uncertainty_metrics.keras import _penalties, _scorers
from uncertainty_metrics.keras._options import Option, flag, with_options
from uncertainty_metrics.keras._penalties import ProperLoss, SoftNorm
from uncertainty_metrics.keras._scoring_losses import (
    NormalLoss,
    PenalizedLoss,
    ScoringLoss,
)
from uncertainty_metrics.numpy.scoring.forecast_scores import ALPHA, SpreadEstimator

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


@with_options(
    "from_logits, *, reduction, name, dtype, zero_based, ignore_index, sparse_labels",
    "brier_loss",
    zero_based=flag(),
)
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
      zero_based: whether to add 1, so that a certain and right forecast scores 0.

    Example:
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
    """

    _function = "brier_score"
    _scorer_type = _scorers.Brier


@with_options(
    "from_logits, *, reduction, name, dtype, ignore_index, sparse_labels",
    "ranked_probability_loss",
)
class RankedProbabilityLoss(ScoringLoss):
    """Ranked probability score of ordered classes: see `ranked_probability_score`.

    It is made for ratings, stages, or counts up to a limit: unlike the cross-entropy,
    it depends on how close the classes are. Labels and predictions are as for
    `BrierLoss`; the classes are in ascending order.

    Example:
      >>> loss = um.RankedProbabilityLoss()
      >>> round(float(loss([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])), 6)
      0.67
    """

    _function = "ranked_probability_score"
    _scorer_type = _scorers.RankedProbability


@with_options("scale_transform, *, reduction, name, dtype", "crps_normal_loss")
class CRPSNormalLoss(NormalLoss):
    """Continuous ranked probability score of Normal forecasts.

    The mean of `crps_normal_score`, in the unit of the labels. It is less sensitive to
    outliers than the likelihood, and value and gradient are finite for any scale.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], for instance the output of `Dense(2)`; or it is a TFP Normal
    (from a `DistributionLambda` layer in tf_keras, or passed to the loss directly),
    whose scale is not transformed.

    Example:
      >>> loss = um.CRPSNormalLoss(scale_transform="identity")
      >>> round(float(loss([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])), 4)
      1.1168
    """

    _function = "crps_normal_score"
    _scorer_type = _scorers.NormalCRPS


@with_options("scale_transform, *, reduction, name, dtype", "gaussian_nll_loss")
class GaussianNLLLoss(NormalLoss):
    """Negative log-likelihood of Normal forecasts, constant included.

      NLL = log(scale) + ((y - mean) / scale)^2 / 2 + log(2 pi) / 2

    It is computed from the logarithm of the scale, so that value and gradient are
    finite for tiny scales, too; scales below 1e-8 count as 1e-8.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, as for `CRPSNormalLoss`.

    Example:
      >>> loss = um.GaussianNLLLoss(scale_transform="exp")
      >>> round(float(loss([1.0], [[0.0, 0.0]])), 6)
      1.418939

    References:
      Nix and Weigend (1994), Estimating the Mean and Variance of the Target Probability
      Distribution.
    """

    _scorer_type = _scorers.GaussianNLL


@with_options(
    "estimator, *, reduction, name, dtype, alpha",
    "crps_sample_loss",
    estimator=Option(SpreadEstimator, "fair"),
    alpha=Option(float, ALPHA),
)
class CRPSSampleLoss(ScoringLoss):
    """Continuous ranked probability score of samples: the mean of `crps_score`.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds m samples of
    each forecast, shape [..., m]: the members of an ensemble, or draws that are
    differentiable in the parameters of a model. Equal samples have equal gradients.

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg", "almost_fair" (to
        train few members) or "roll".
      alpha: the share of "fair" in "almost_fair", in [0, 1]: 1 is "fair", 0 is "nrg".

    Example:
      >>> loss = um.CRPSSampleLoss(estimator="nrg")
      >>> float(loss([0.0], [[-1.0, 1.0]]))
      0.5
    """

    _function = "crps_score"
    _scorer_type = _scorers.TrainedSampleCRPS


@with_options(
    "quantiles, *, reduction, name, dtype",
    "pinball_loss",
    quantiles=Option(float | Sequence[float]),
)
class PinballLoss(ScoringLoss):
    """Pinball (quantile) loss, the mean over the quantiles: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (for one quantile the last axis may be absent).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.

    Example:
      >>> loss = um.PinballLoss([0.5, 0.75])
      >>> float(loss([1.0], [[0.0, 3.0]]))
      0.5
    """

    _scorer_type = _scorers.MeanPinball


@with_options("alpha, *, reduction, name, dtype", "interval_loss", alpha=Option(float))
class IntervalLoss(ScoringLoss):
    """Interval (Winkler) score of central prediction intervals: see `interval_score`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross, as an untrained model may predict,
    are scored as predictions of the two quantiles.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.

    Example:
      >>> loss = um.IntervalLoss(alpha=0.1)
      >>> float(loss([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]]))
      21.0
    """

    _function = "interval_score"
    _scorer_type = _scorers.Interval


_PENALIZED = {
    "weight": Option(float, prose="factor of the penalty, >= 0."),
    "proper_loss": Option(
        ProperLoss,
        "nll",
        prose='the loss to which the penalty is added: "nll", the negative '
        "log-likelihood (probabilities below 1e-7 count as 1e-7); "
        '"brier", the Brier score; or None, for the penalty alone. It is smallest if '
        "all examples have the same confidence, the accuracy.",
    ),
}


@with_options(
    "weight, from_logits, *, num_bins, temperature, norm, proper_loss, reduction, "
    "name, dtype, ignore_index, sparse_labels",
    "soft_calibration_loss",
    **_PENALIZED,
    num_bins=Option(int, 15),
    temperature=Option(float, 0.01),
    norm=Option(SoftNorm, "l2"),
)
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
      num_bins: number of bins B.
      temperature: T, at least 1e-6. Shares fall with the distance like a Normal density
        of standard deviation (T / 2)^(1/2).
      norm: "l1" (p = 1) or "l2" (p = 2).

    Example:
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

    _scorer_type = _penalties.SoftCalibration


@with_options(
    "weight, from_logits, *, bandwidth, proper_loss, reduction, name, dtype, "
    "ignore_index, sparse_labels",
    "mmce_loss",
    **_PENALIZED,
    bandwidth=Option(float, 0.2),
)
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
      bandwidth: h, at least 0.02.

    Example:
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

    _scorer_type = _penalties.KernelCalibration
