# As written by scripts/write_stubs.py.
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import WeightedIntervalScoreParts

def crps_normal_score(
    labels: TensorLike,
    means: TensorLike,
    stddevs: TensorLike,
) -> Tensor:
    """Continuous ranked probability score (CRPS) of Normal forecasts.

    With z = (y - mean) / stddev, and Phi and phi the Normal CDF and density:

      CRPS = stddev (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))

    Args:
      labels: real, shape [...].
      means: real, shape of the labels, or a scalar.
      stddevs: >= 0, shape of the labels, or a scalar. For 0 the score is the limit, the
        absolute error.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels. Smaller is
      better. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> scores = um.crps_normal_score([0.0, 3.0], [0.0, 1.0], [1.0, 0.0])
      >>> [round(float(score), 6) for score in scores]
      [0.233695, 2.0]

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """

def crps_quantile_score(
    labels: TensorLike,
    quantile_predictions: TensorLike,
    quantiles: Sequence[float] | np.ndarray,
) -> Tensor:
    """Approximate CRPS of predicted quantiles: twice their mean pinball loss.

      score = 2/Q sum_j loss_j

    with the `pinball_loss` of each of the Q quantiles. The CRPS is twice the integral
    of the pinball loss over all levels, to which this tends for many evenly spaced
    levels. Of other levels it is a proper score, in which each level counts the same;
    the CRPS of few levels is larger, since the tails beyond them are not scored. With a
    median and the ends of central intervals it is the `weighted_interval_score`.

    Args:
      labels: real, shape [...].
      quantile_predictions: predicted quantiles, real, shape [..., Q].
      quantiles: levels of the predicted quantiles in (0, 1), a sequence of Q.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels. Smaller is
      better. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> score = um.crps_quantile_score([1.0], [[0.0, 3.0]], [0.5, 0.75])
      >>> float(score[0])
      1.0

    References:
      Gneiting and Ranjan (2011), Comparing Density Forecasts Using Threshold- and
      Quantile-Weighted Scoring Rules. Bracher, Ray, Gneiting and Reich (2021),
      Evaluating Epidemic Forecasts in an Interval Format.
    """

def crps_score(
    labels: TensorLike,
    predictive_samples: TensorLike,
    *,
    estimator: Literal["fair", "nrg", "almost_fair", "roll"] = 'fair',
    alpha: float = 0.95,
    member_weights: TensorLike | None = None,
) -> Tensor:
    """Continuous ranked probability score (CRPS) of samples of a forecast.

      CRPS = mean_i |x_i - y| - spread / 2

    The spread estimates E|X - X'| for independent draws X and X' of the forecast:

      fair: mean of |x_i - x_j| over all pairs i != j, m(m-1); unbiased.
      nrg: mean over all m^2 pairs: the exact score of the empirical distribution, whose
        spread is too small by the factor (m-1)/m.
      almost_fair: alpha fair + (1 - alpha) nrg. It is for training: if all samples but
        one equal the label, the score with "fair" is 0 wherever that one sample is.
      roll: mean of |x_i - x_(i-1)| over neighbours in the given order; unbiased for
        independent samples, but noisier, and it depends on their order.

    Weights w_i of the samples, normalised to sum to 1, replace 1/m:

      CRPS = sum_i w_i |x_i - y| - spread / 2
      nrg: spread = sum_ij w_i w_j |x_i - x_j|
      fair: spread of nrg, divided by 1 - sum_i w_i^2

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".
      member_weights: Not for "roll": weights of the samples, >= 0, of shape [m] or of
        the shape of the samples; equal by default. Gradients treat them as constants.
        A sample of weight 0 may be anything, even NaN.

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg" is >= 0;
      an unbiased score of few samples may be negative. O(m log m). float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.crps_score(0.0, [-1.0, 1.0]))
      0.0
      >>> float(um.crps_score(0.0, [-1.0, 1.0], estimator="nrg"))
      0.5

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """

def energy_score(
    labels: TensorLike,
    predictive_samples: TensorLike,
    *,
    estimator: Literal["fair", "nrg", "almost_fair", "roll"] = 'fair',
    alpha: float = 0.95,
) -> Tensor:
    """Energy score of samples of a multivariate forecast; the CRPS for d = 1.

      ES = mean_i ||x_i - y|| - spread / 2

    The spread estimates E||X - X'|| as in `crps_score`: the mean of ||x_i - x_j||

      fair: over all pairs i != j, m(m-1); unbiased.
      nrg: over all m^2 pairs: the exact score of the empirical distribution.
      almost_fair: alpha fair + (1 - alpha) nrg.
      roll: over neighbours j = i - 1 in the given order; unbiased for independent
        samples, but noisier, and it depends on their order. O(m d).

    Args:
      labels: real, shape [..., d].
      predictive_samples: m samples of each forecast, shape [..., m, d].
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg" is >= 0;
      an unbiased score of few samples may be negative. Time O(m^2 d) for each forecast,
      and O(m log m) for d = 1; memory O(m d). float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(um.energy_score([0.0, 0.0], [[3.0, 4.0], [3.0, 4.0]]))
      5.0

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts. Lang et al. (2024),
      AIFS-CRPS: Ensemble Forecasting Using a Model Trained with a Loss Function Based
      on the Continuous Ranked Probability Score.
    """

def interval_score(
    labels: TensorLike,
    lower: TensorLike,
    upper: TensorLike,
    alpha: float,
) -> Tensor:
    """Interval (Winkler) score of central prediction intervals of level 1 - alpha.

      score = (u - l) + 2/alpha (l - y where y < l) + 2/alpha (y - u where y > u)

    This is 2/alpha times the sum of the pinball losses of l at alpha/2 and of u at
    1 - alpha/2, even if l > u.

    Args:
      labels: real, shape [...].
      lower: real, the quantile of level alpha/2, shape of the labels, or a scalar.
      upper: real, the quantile of level 1 - alpha/2, shape of the labels, or a scalar.
      alpha: in (0, 1); 0.1 for 90% intervals.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels. Smaller is
      better. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics as um
      >>> scores = um.interval_score([0.5, 3.0], [0.0, 0.0], [1.0, 1.0], 0.1)
      >>> [float(score) for score in scores]
      [1.0, 41.0]

    References:
      Winkler (1972), A Decision-Theoretic Approach to Interval Estimation. Gneiting and
      Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation.
    """

def pinball_loss(
    labels: TensorLike,
    quantile_predictions: TensorLike,
    quantiles: float | Sequence[float] | np.ndarray,
) -> Tensor:
    """Pinball (quantile) loss of predicted quantiles.

    For the quantile q of level t:

      loss = t (y - q) where y >= q, (1 - t) (q - y) elsewhere

    Twice its mean over many evenly spaced levels approaches the CRPS.

    Args:
      labels: real, shape [...].
      quantile_predictions: predicted quantiles, real, shape [..., Q]; or the shape of
        the labels if `quantiles` is a number.
      quantiles: levels of the predicted quantiles in (0, 1), a sequence of Q, or a
        number.

    Returns:
      Losses of the shape of the predictions, >= 0, in the unit of the labels. Smaller
      is better. float32, or float64 for float64 predictions. Compiled code returns NaN
      for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> losses = um.pinball_loss([1.0], [[0.0, 3.0]], [0.5, 0.75])
      >>> [float(loss) for loss in losses[0]]
      [0.5, 0.5]

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """

def threshold_weighted_crps(
    labels: TensorLike,
    predictive_samples: TensorLike,
    lower: TensorLike = -np.inf,
    upper: TensorLike = np.inf,
    *,
    estimator: Literal["fair", "nrg", "almost_fair", "roll"] = 'fair',
    alpha: float = 0.95,
) -> Tensor:
    """CRPS of samples, restricted to thresholds from `lower` to `upper`.

      twCRPS = integral from lower to upper of (F(z) - (z >= y))^2 dz

    This is the `crps_score` of labels and samples clipped to [`lower`, `upper`], and a
    proper score of tails. A mean over only the labels beyond a threshold is not proper:
    it rewards a forecaster who always predicts an extreme.

    Args:
      labels: real, shape [...].
      predictive_samples: m samples of each forecast, shape [..., m].
      lower: real or -inf, shape of the labels, or a scalar.
      upper: real or inf, at least `lower`, shape of the labels, or a scalar.
      estimator: "fair", "nrg", "almost_fair" or "roll". "fair" and "almost_fair" need
        two samples.
      alpha: Only for "almost_fair": the share of "fair", in [0, 1]; the rest is "nrg".

    Returns:
      Scores, shape [...], in the unit of the labels. Smaller is better. "nrg" is >= 0;
      an unbiased score of few samples may be negative. O(m log m). float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> scores = um.threshold_weighted_crps([5.0, 1.0], [[2.0, 4.0], [2.0, 4.0]], 3.0)
      >>> [float(score) for score in scores]
      [1.0, 0.0]

    References:
      Gneiting and Ranjan (2011), Comparing Density Forecasts Using Threshold- and
      Quantile-Weighted Scoring Rules. Allen, Ginsbourger and Ziegel (2023), Evaluating
      Forecasts for High-Impact Events Using Transformed Kernel Scores.
    """

def weighted_interval_score(
    labels: TensorLike,
    median: TensorLike,
    lower: TensorLike,
    upper: TensorLike,
    alphas: Sequence[float] | np.ndarray,
) -> Tensor:
    """Weighted interval score (WIS) of a median and K central prediction intervals.

      WIS = (abs(y - median) / 2 + sum_k alpha_k / 2 IS_k) / (K + 1/2)

    IS_k is the `interval_score` of the interval of level 1 - alpha_k. The WIS is twice
    the mean of the pinball losses of the 2K + 1 quantiles, and approaches the CRPS for
    many evenly spaced levels.

    Args:
      labels: real, shape [...].
      median: real, shape of the labels, or a scalar.
      lower: real, the quantiles of level alpha/2, shape [..., K].
      upper: real, the quantiles of level 1 - alpha/2, shape [..., K].
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.

    Returns:
      Scores of the shape of the labels, >= 0, in the unit of the labels. Smaller is
      better. float32, or float64 for float64 predictions. Compiled code returns NaN for
      wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics as um
      >>> intervals = {"lower": [[0.0, -1.0]], "upper": [[1.0, 2.0]]}
      >>> alphas = [0.5, 0.1]
      >>> score = um.weighted_interval_score([3.0], [0.5], **intervals, alphas=alphas)
      >>> round(float(score[0]), 6)
      1.86

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """

def weighted_interval_score_decomposition(
    labels: TensorLike,
    median: TensorLike,
    lower: TensorLike,
    upper: TensorLike,
    alphas: Sequence[float] | np.ndarray,
) -> WeightedIntervalScoreParts:
    """Dispersion, overprediction and underprediction: parts of the weighted interval
    score (WIS), which they add up to.

      dispersion = sum_k alpha_k / 2 (u_k - l_k) / (K + 1/2)
      overprediction = (max(median - y, 0) / 2 + sum_k max(l_k - y, 0)) / (K + 1/2)
      underprediction = (max(y - median, 0) / 2 + sum_k max(y - u_k, 0)) / (K + 1/2)

    The first is the cost of wide intervals, the others are those of forecasts that are
    too high or too low.

    Args:
      labels: real, shape [...].
      median: real, shape of the labels, or a scalar.
      lower: real, the quantiles of level alpha/2, shape [..., K].
      upper: real, the quantiles of level 1 - alpha/2, shape [..., K].
      alphas: in (0, 1), a sequence of K; 0.1 for 90% intervals.

    Returns:
      A named tuple `(dispersion, overprediction, underprediction)` of arrays of the
      shape of the labels, in the unit of the labels. All are >= 0, the dispersion
      unless bounds are crossed. Smaller is better. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described, or every `lower` is above its
        `upper`.

    Example:
      >>> import uncertainty_metrics as um
      >>> intervals = {"lower": [[0.0, -1.0]], "upper": [[1.0, 2.0]]}
      >>> parts = um.weighted_interval_score_decomposition(
      ...     [3.0], [0.5], **intervals, alphas=[0.5, 0.1]
      ... )
      >>> [round(float(part[0]), 6) for part in parts]
      [0.16, 0.0, 1.7]

    References:
      Bracher, Ray, Gneiting and Reich (2021), Evaluating Epidemic Forecasts in an
      Interval Format.
    """
