"""Bayesian calibration error on tensors: a posterior over the ECE.

The definitions are those of `uncertainty_metrics.numpy.bayesian_calibration`. The draws
come from TensorFlow Probability, which is imported when they are drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.numpy import _binning as np_binning
from uncertainty_metrics.numpy import bayesian_calibration as np_bayesian
from uncertainty_metrics.numpy.bayesian_calibration import DEFAULT_NUM_SAMPLES
from uncertainty_metrics.tensorflow import _inputs, _search, calibration
from uncertainty_metrics.tensorflow._binning import BinStatistics

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


def stateless_seed(seed: Any) -> tf.Tensor:
    """Returns int32 [2] for an integer or a pair of them, anew each time for None."""
    if seed is None:  # A stateful operation: in a graph it differs from run to run.
        return tf.random.uniform(
            [2], minval=tf.int32.min, maxval=tf.int32.max, dtype=tf.int32
        )
    if not tf.is_tensor(seed):
        words = np.asarray(seed, object)
        if words.shape in ((), (2,)) and all(
            isinstance(word, int | np.integer) and not isinstance(word, bool)
            for word in words.flat
        ):
            bits = 64 // words.size  # Any integer will do: its lowest bits count.
            wrapped = [int(word) % 2**bits for word in words.flat]
            return tf.constant(np.array(wrapped, f"u{bits // 8}").view(np.int32))
    elif seed.dtype.is_integer and seed.shape in ([], [2]):
        if seed.shape.rank == 1:
            return tf.cast(seed, tf.int32)
        return tf.bitcast(tf.cast(seed, tf.int64), tf.int32)
    raise _checks.error("seed", "None, an integer or a pair of them", repr(seed))


def _log_gammas(
    concentrations: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws logarithms of Gamma(a) variates, [num_samples, cells], finite for all a."""
    tfp = _optional.require("tensorflow_probability")

    dtype = concentrations.dtype
    smallest = np_bayesian.smallest_concentration(dtype.as_numpy_dtype)
    gammas = tfp.distributions.ExpGamma(
        tf.maximum(concentrations, tf.constant(smallest, dtype)),
        log_rate=tf.zeros([], dtype),
    )
    return gammas.sample(num_samples, seed=seed)


def _bin_means(
    counts: tf.Tensor, score_sums: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Draws the mean score of each bin, [num_samples, bins]."""
    tfp = _optional.require("tensorflow_probability")

    dtype = counts.dtype
    num_bins = counts.shape[0]
    edges = np_binning.even_edges(num_bins)
    low, high = tf.constant(edges[:-1], dtype), tf.constant(edges[1:], dtype)
    centre = tf.constant((edges[:-1] + edges[1:]) / 2, dtype)
    location = (centre + score_sums) / (1 + counts)
    location = tf.clip_by_value(location, low, high)  # Rounding may leave the bin.
    deviation = tf.constant(1 / (num_bins * np.sqrt(12)), dtype)
    means = tfp.distributions.TruncatedNormal(
        location, deviation / tf.sqrt(1 + counts), low, high
    ).quantile(tf.random.stateless_uniform([num_samples, num_bins], seed, dtype=dtype))
    return tf.clip_by_value(means, low, high)


def _draw(
    num_samples: int,
    counts: tf.Tensor,
    score_sums: tf.Tensor,
    right: tf.Tensor,
    valid: tf.Tensor,
    prior_alpha: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Draws from the posterior of the ECE given sums [1, bins], [num_samples]."""
    tfp = _optional.require("tensorflow_probability")

    counts, score_sums, right = counts[0], score_sums[0], right[0]
    gamma_seed, mean_seed = tf.unstack(tfp.random.split_seed(seed, n=2))
    wrong = tf.maximum(counts - right, 0)  # Rounding of weights may go below 0.
    concentrations = prior_alpha + tf.concat([wrong, right], axis=0)
    logs = _log_gammas(concentrations, num_samples, gamma_seed)
    log_wrong, log_right = tf.split(logs, 2, axis=1)
    log_both = tf.reduce_logsumexp(tf.stack([log_wrong, log_right]), axis=0)
    shares = tf.nn.softmax(log_both, axis=1)
    accuracies = tf.sigmoid(log_right - log_wrong)
    means = _bin_means(counts, score_sums, num_samples, mean_seed)
    samples = tf.reduce_sum(shares * tf.abs(accuracies - means), axis=1)
    return tf.where(valid, samples, tf.constant(float("nan"), samples.dtype))


@functools.lru_cache(maxsize=64)
def _compiled(num_samples: int) -> Callable[..., tf.Tensor]:
    """Returns `_draw` as a graph: in eager execution it is one call, not hundreds."""
    return tf.function(functools.partial(_draw, num_samples), autograph=False)


@tf.autograph.experimental.do_not_convert
def draw(
    statistics: BinStatistics,
    valid: tf.Tensor,
    prior_alpha: float,
    num_samples: int,
    seed: Any,
) -> tf.Tensor:
    """Draws from the posterior given the statistics of one group, [num_samples].

    The draws are NaN where the statistics are not valid.
    """
    function = (
        _compiled(num_samples)
        if tf.executing_eagerly()
        else functools.partial(_draw, num_samples)
    )
    return function(
        statistics.counts,
        statistics.score_sums,
        statistics.outcome_sums,
        valid,
        tf.constant(prior_alpha, statistics.counts.dtype),
        stateless_seed(seed),
    )


def bayesian_expected_calibration_error(
    num_bins: int,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    labels_true: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    num_ece_samples: int = DEFAULT_NUM_SAMPLES,
    *,
    prior_alpha: float | None = None,
    seed: int | TensorLike | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    probs: TensorLike | None = None,
) -> tf.Tensor:
    """Bayesian expected calibration error: draws from the posterior of the ECE.

    One number hides how far the ECE of a finite data set may be off; its posterior
    shows it. Bins and scores are those of `ece`. With M bins, n_0b wrong and n_1b right
    decisions in bin b and mean score conf_b, the posterior is

      q ~ Dirichlet(prior_alpha + n)                     over the 2M cells (z, b)
      m_b ~ Normal((c_b + n_b conf_b) / (1 + n_b), v / (1 + n_b)), inside bin b

    where n_b = n_0b + n_1b, c_b is the centre of the bin and v = (1/M)^2 / 12 the
    variance of a uniform on it: prior and observations of the mean have that variance.
    Each draw is

      ECE = sum_b P(b) |P(right | b) - m_b|
      P(b) = q_0b + q_1b,  P(right | b) = q_1b / P(b)

    As the examples become many, the draws converge to the ECE. Where the decisions are
    calibrated to within the sampling noise they lie above the true error, as the ECE
    itself does.

    Args:
      num_bins: number M of even bins.
      logits: instead of `probabilities`, their logarithms up to a constant, floating of
        the same shape.
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      labels_true: integers in [0, K), shape [...]. Required.
      labels_predicted: decision labels, shape of the labels; by default the argmax.
      num_ece_samples: number of draws.
      prior_alpha: concentration of each of the 2M cells of the prior, positive; by
        default 1 / (2M), together the weight of one example.
      seed: of the draws, an integer or a pair of them, also as a tensor. The same seed
        gives the same draws in eager execution and in `tf.function`. Where TFP samples
        by another algorithm (XLA, accelerators, tf.data) it gives others, which are the
        same from run to run. None draws anew in every call, and in every run of a
        graph.
      sample_weight: finite and >= 0, broadcastable to the labels. Weight 2 is the
        example twice, so larger weights make the posterior narrower.
      ignore_index: examples with this label are left out.
      probs: another name for `probabilities`.

    Returns:
      float32 or, for float64 predictions, float64 [num_ece_samples], independent draws
      of the error in [0, 1]; lower is better, 0 is calibrated. NaN inside a graph where
      eager execution raises ValueError for values.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import tensorflow as tf
      >>> import uncertainty_metrics as um
      >>> probabilities = tf.tile([[0.9, 0.1]], [1000, 1])
      >>> labels = tf.cast(tf.range(1000) % 10 < 3, tf.int32)
      >>> samples = um.bayesian_expected_calibration_error(
      ...     10, probabilities=probabilities, labels_true=labels, seed=0
      ... )
      >>> samples.shape.as_list(), round(float(um.ece(labels, probabilities)), 3)
      ([500], 0.2)
      >>> low, high = tf.sort(samples)[5], tf.sort(samples)[-5]
      >>> bool(0.14 < low < 0.2 < high < 0.26)
      True

    References:
      Perks (1947), Some Observations on Inverse Probability Including a New
      Indifference Rule, for the prior.
    """
    spec = np_bayesian.spec_of(num_bins)
    num_samples = _checks.positive_integer("num_ece_samples", num_ece_samples)
    prior = np_bayesian.checked_prior(prior_alpha, spec.num_bins)
    seed = stateless_seed(seed)
    with np_bayesian.argument_names():
        if labels_true is None:
            raise _checks.error("labels", "given", None)
        (statistics,), valid = calibration.checked_statistics(
            [spec],
            labels_true,
            probabilities,
            logits,
            probs,
            labels_predicted=labels_predicted,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    return draw(statistics, valid, prior, num_samples, seed)


def _checked_samples(name: str, samples: TensorLike) -> tf.Tensor:
    tensor = _inputs.as_tensor(name, samples)
    np_bayesian.check_samples_shape(name, tensor.shape)
    return tensor if tensor.dtype.is_floating else tf.cast(tensor, tf.float32)


def _lower_share(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the share of pairs with a < b, and half that of those with a = b."""
    dtype = a.dtype
    b = tf.sort(b)
    # Twice the number of draws of b below each of a, those equal to it counted half.
    below = sum(_search.search_sorted(b, a, side) for side in ("left", "right"))
    pairs = 2 * tf.size(a, tf.int64) * tf.size(b, tf.int64)
    above = pairs - tf.reduce_sum(tf.cast(below, tf.int64))
    return tf.cast(above, dtype) / tf.cast(pairs, dtype)


def probability_of_lower_calibration_error(
    samples_a: TensorLike, samples_b: TensorLike
) -> tf.Tensor:
    """Probability that model a has a lower calibration error than model b.

    Over all pairs of a draw of each posterior, which are independent:

      P(a < b) = 1 / (S_a S_b) sum_ij (1[a_i < b_j] + 1[a_i = b_j] / 2)

    It does not depend on how many draws there are, but for their sampling noise. A test
    on the draws, such as the signed-rank test, does: its p-value goes to 0 as they grow
    in number. For two models on the same examples it is an approximation, since their
    errors are not independent then.

    Args:
      samples_a: finite, shape [S_a], such as `bayesian_expected_calibration_error`
        returns them.
      samples_b: finite, shape [S_b].

    Returns:
      Scalar probability in [0, 1], float64 if the samples of one are, else float32; 1
      if a is better for sure, 0.5 if neither is. NaN inside a graph where eager
      execution raises ValueError for values. The cost is O((S_a + S_b) log S_b).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(
      ...     um.probability_of_lower_calibration_error(
      ...         [0.1, 0.2], [0.2, 0.3, 0.4, 0.05]
      ...     )
      ... )
      0.6875
    """
    a = _checked_samples("samples_a", samples_a)
    b = _checked_samples("samples_b", samples_b)
    double = tf.float64 in (a.dtype, b.dtype)
    a, b = (tf.cast(x, tf.float64 if double else tf.float32) for x in (a, b))
    finite = tf.reduce_all(tf.math.is_finite(a)) & tf.reduce_all(tf.math.is_finite(b))
    if tf.executing_eagerly() and not finite:
        np_bayesian.probability_of_lower_calibration_error(a, b)  # Says which.
    share = _lower_share(a, b)
    return tf.where(finite, share, tf.constant(float("nan"), share.dtype))
