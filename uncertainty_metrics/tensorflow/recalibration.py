"""Temperature scaling of a classifier, and its likelihood after it, on tensors.

The twin of `uncertainty_metrics.numpy.recalibration`, in the precision of the logits:
float64, or float32 for all narrower types.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _scaling
from uncertainty_metrics.numpy import recalibration as np_recalibration
from uncertainty_metrics.tensorflow import _inputs, _sums

if TYPE_CHECKING:
    from typing_extensions import Self

    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = ["TemperatureScaling", "calibrated_negative_log_likelihood"]

# Newton doubles the digits: the step after one as small as this is the last.
_LAST_STEP = {tf.float32: 1e-4, tf.float64: 1e-9}


class _Rows(NamedTuple):
    """Logits less the largest of their row, in units of the largest such distance.

    Attributes:
      z: [N, K], in [-1, 0]; 0 in rows of weight 0 and where the class is impossible.
      possible: boolean [N, K], False where a logit was -inf.
      at_label: z at the label, [N]; -inf where that is impossible.
    """

    z: tf.Tensor
    possible: tf.Tensor
    at_label: tf.Tensor


def _rows(
    examples: _inputs.Examples, logits: tf.Tensor
) -> tuple[_Rows, tf.Tensor, tf.Tensor]:
    """Returns the rows of logits [N, K], the unit of `z`, and if all was right."""
    top = tf.reduce_max(logits, axis=-1)
    right = tf.math.is_finite(top) & ~tf.reduce_any(tf.math.is_nan(logits), axis=-1)
    live = right
    valid = examples.valid & _inputs.live_rows(examples.weights, right)
    if examples.weights is not None:
        live &= examples.weights > 0
    valid &= tf.reduce_any(live)
    z = tf.where(live[:, None], logits - top[:, None], tf.zeros_like(logits))
    at_label = _inputs.take(z, examples.labels)
    possible = z > -np.inf
    z = tf.where(possible, z, tf.zeros_like(z))
    unit = -tf.reduce_min(z)
    unit = tf.where(unit > 0, unit, tf.ones_like(unit))
    return _Rows(z / unit, possible, at_label / unit), unit, valid


def _moments(rows: _Rows, beta: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns log(sum_k e^(beta z_k)), and mean and variance of z under the softmax of
    beta z, [N] each.
    """
    mass = tf.where(rows.possible, tf.exp(beta * rows.z), tf.zeros_like(rows.z))
    total = tf.reduce_sum(mass, axis=-1)
    mean = tf.reduce_sum(mass * rows.z, axis=-1) / total
    square = tf.reduce_sum(mass * rows.z * rows.z, axis=-1) / total
    return tf.math.log(total), mean, square - mean * mean


# As a graph, an eager call is one call and not hundreds.
@functools.partial(tf.function, autograph=False, reduce_retracing=True)
def _inverse_temperature(
    rows: _Rows, weights: tf.Tensor | None, start: tf.Tensor | None = None
) -> tf.Tensor:
    """Returns the beta of the least mean of `logsumexp(beta z) - beta z_label`.

    The limits are 0, where the logits of the labels are no larger than the others, and
    inf, where every label has the largest. NaN if it does not converge.
    """
    dtype = rows.z.dtype

    def derivatives(beta):
        _, means, variances = _moments(rows, beta)
        slope = _sums.mean(means - rows.at_label, weights)
        return slope, _sums.mean(variances, weights)

    def step(beta, low, high, last, done):
        slope, curvature = derivatives(beta)
        low, high = tf.where(slope < 0, beta, low), tf.where(slope < 0, high, beta)
        newton = slope / curvature
        done = tf.abs(newton) <= _LAST_STEP[dtype] * beta
        target = beta - newton
        fast = (low < target) & (target < high) & (tf.abs(slope) < last / 2)
        safe = tf.where(fast, target, tf.sqrt(low) * tf.sqrt(high))
        safe = tf.clip_by_value(safe, beta / 16, beta * 16)
        return tf.where(done, target, safe), low, high, tf.abs(slope), done

    zero, infinity = tf.constant(0, dtype), tf.constant(np.inf, dtype)
    slope, curvature = derivatives(zero)
    wrong = rows.at_label < 0
    separable = ~tf.reduce_any(wrong if weights is None else wrong & (weights > 0))
    limit = tf.where(slope >= 0, zero, infinity)
    at_limit = (slope >= 0) | separable
    beta = -slope / curvature
    if start is not None:
        beta = tf.where((start > 0) & (start < infinity), start, beta)
    # The slope increases with beta from below 0 to above: Newton's steps, inside the
    # bracket that they leave, or a bisection where they are not fast.
    beta, _, _, _, done = tf.while_loop(
        lambda *state: ~state[-1],
        step,
        (beta, zero, infinity, infinity, at_limit),
        maximum_iterations=np_recalibration.MAX_STEPS,
    )
    beta = tf.where(done, beta, tf.constant(np.nan, dtype))
    return tf.where(at_limit, limit, beta)


def optimal_temperature(examples: _inputs.Examples) -> tf.Tensor:
    """Returns the temperature, a scalar, NaN where none is best."""
    rows, unit, valid = _rows(examples, examples.predictions)
    beta = _inverse_temperature(rows, examples.weights)
    valid &= (beta > 0) & (beta < np.inf) & tf.reduce_all(rows.at_label > -np.inf)
    return tf.where(valid, unit / beta, tf.constant(np.nan, beta.dtype))


class TemperatureScaling(_scaling.Scaling):
    """Temperature scaling: divides the logits of a classifier by one number.

    The temperature T is that of the least negative log-likelihood of held-out examples,

      T = argmin mean of logsumexp(z / T) - z_y / T

    which is convex in 1 / T: the optimum, unique, is found to the precision of the
    logits. Decisions stay what they are; T > 1 lowers the confidence of an
    overconfident model. As a layer of a model: `TemperatureScalingLayer`.

    Attributes:
      temperature: T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics as um
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> scaling = um.TemperatureScaling().fit([0, 1, 0, 1], logits)
      >>> round(scaling.temperature, 4)  # 3 of 4 are right: odds of 3 to 1.
      3.641
      >>> scaling.transform([[4.0, 0.0]]).numpy().round(4).tolist()
      [[1.0986000299453735, 0.0]]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    _kind = "recalibration.TemperatureScaling"

    def fit(
        self,
        labels: TensorLike,
        logits: TensorLike,
        *,
        sample_weight: TensorLike | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Finds the temperature; where that fails the one before stays.

        Args:
          labels: integers in [0, K), shape [...].
          logits: shape [..., K], [..., 1] or [...]; -inf is an impossible class.
          sample_weight: finite and >= 0, broadcastable to the labels.
          ignore_index: examples with this label are left out.

        Returns:
          The object itself.

        Raises:
          RuntimeError: inside a graph, where there is no number to keep.
          ValueError: an argument is not as described, or no temperature is best: the
            logits of the labels are on average no larger than the others (it would be
            infinite), every label has the largest logit (it would be 0), or one has
            -inf.
        """
        if not tf.executing_eagerly():
            raise RuntimeError("`fit` needs eager execution. Received: a graph")
        options: dict[str, Any] = {
            "sample_weight": sample_weight,
            "ignore_index": ignore_index,
        }
        examples = _inputs.examples(labels, logits=logits, **options)
        temperature = optimal_temperature(examples)
        temperature = _inputs.nan_unless(
            ~tf.math.is_nan(temperature),
            temperature,
            lambda: np_recalibration.TemperatureScaling().fit(
                labels, logits, **options
            ),
        )
        return self._set(float(temperature))

    def transform(self, logits: TensorLike) -> tf.Tensor:
        """Returns the logits divided by the temperature, in a graph too.

        Args:
          logits: of any shape; -inf stays -inf.

        Returns:
          The quotients, in the shape and floating type of the logits; float32 for
          integers. NaN inside a graph where eager execution raises ValueError for
          values.

        Raises:
          ValueError: there was no fit, or the logits hold NaN, +inf or nothing.
        """
        temperature = self._require_fitted()
        values = _inputs.as_tensor("logits", logits)
        if 0 in values.shape:
            raise _checks.error("logits", "at least one", f"shape {list(values.shape)}")
        dtype = values.dtype if values.dtype.is_floating else tf.float32
        wide = tf.cast(values, _inputs.sum_dtype(values))
        quotients = _inputs.nan_unless(
            wide < np.inf,
            wide / tf.constant(temperature, wide.dtype),
            lambda: np_recalibration.TemperatureScaling.from_config(
                self.get_config()
            ).transform(logits),
        )
        return tf.cast(quotients, dtype)


def _mix(words: tf.Tensor) -> tf.Tensor:
    """Returns the hashes of uint32 words, those of the NumPy twin."""

    def shifted(words, bits):
        bits = tf.constant(bits, tf.uint32)
        return tf.bitwise.bitwise_xor(words, tf.bitwise.right_shift(words, bits))

    words = shifted(words, 16) * tf.constant(0x7FEB352D, tf.uint32)
    words = shifted(words, 15) * tf.constant(0x846CA68B, tf.uint32)
    return shifted(words, 16)


def _fold_numbers(index: tf.Tensor, folds: int, key: tf.Tensor) -> tf.Tensor:
    """Returns the folds of the examples of int32 indexes, those of the NumPy twin."""
    words = tf.bitwise.bitwise_xor(tf.cast(index // folds, tf.uint32), key)
    turn = tf.bitwise.right_shift(_mix(words), tf.constant(1, tf.uint32))
    return (index % folds + tf.cast(turn, tf.int32) % folds) % folds


@functools.partial(tf.function, autograph=False, reduce_retracing=True)
def _calibrated_likelihood(
    rows: _Rows, weights: tf.Tensor | None, folds: int, keys: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the likelihood and whether every fold had one; a key for each repeat."""
    repeats = tf.size(keys)
    if weights is None:
        weights = tf.ones_like(rows.at_label)
    live = weights > 0
    index = tf.cumsum(tf.cast(live, tf.int32)) - 1
    impossible = tf.reduce_any(live & (rows.at_label == -np.inf))
    rows = rows._replace(at_label=tf.maximum(rows.at_label, -1))
    whole = _inverse_temperature(rows, weights)

    def add_fold(step, scores, valid):
        key = tf.gather(keys, step // folds)
        test = _fold_numbers(index, folds, key) == step % folds
        training = tf.where(test, tf.zeros_like(weights), weights)
        beta = _inverse_temperature(rows, training, whole)
        new = _moments(rows, beta)[0] - beta * rows.at_label
        return step + 1, tf.where(test, scores + new, scores), valid & (beta < np.inf)

    _, scores, valid = tf.while_loop(
        lambda step, *_: step < folds * repeats,
        add_fold,
        (tf.constant(0), tf.zeros_like(weights), tf.reduce_max(index) >= folds - 1),
    )
    score = _sums.mean(scores, weights) / tf.cast(repeats, scores.dtype)
    infinity = tf.constant(np.inf, score.dtype)
    return tf.where(impossible, infinity, score), valid | impossible


def calibrated_negative_log_likelihood(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    folds: int = 2,
    repeats: int = 5,
    seed: int = 0,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> tf.Tensor:
    """Negative log-likelihood after temperature scaling, cross-validated.

    The examples are split into folds; each is scored at the temperature that
    `TemperatureScaling` finds on the others. The result is the mean over all examples,
    and over repeated splits. Unlike the likelihood itself it does not depend on the
    scale of the logits, so that it ranks models by what a recalibration cannot mend.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...], read as the logits
        `log p`.
      logits: instead of `probabilities`.
      folds: number of folds, from 2 to the number of examples.
      repeats: number of splits.
      seed: of the splits, an integer in [0, 2^32); the same in NumPy and TensorFlow.
      sample_weight: finite and >= 0, broadcastable to the labels. An example of any
        weight is in one fold.
      ignore_index: examples with this label are left out.

    Returns:
      The mean in nats, a scalar, float32 or float64 as the predictions, >= 0; inf where
      a label is impossible. Smaller is better. Where the temperature of a fold is
      infinite its forecasts are uniform. NaN inside a graph where eager execution
      raises ValueError for values.

    Raises:
      ValueError: an argument is not as described, or outside a fold every label has the
        largest logit of its row: the temperature would be 0.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, logits = [0, 0, 0, 1] * 8, tf.tile([[4.0, 0.0]], [32, 1])
      >>> score = um.calibrated_negative_log_likelihood(labels, logits=logits)
      >>> doubled = um.calibrated_negative_log_likelihood(labels, logits=2 * logits)
      >>> bool(abs(score - doubled) < 1e-6), bool(0.56 < score < 0.62)
      (True, True)

    References:
      Ashukha, Lyzhov, Molchanov and Vetrov (2020), Pitfalls of In-Domain Uncertainty
      Estimation and Ensembling in Deep Learning.
    """
    count, keys = np_recalibration.fold_keys(folds, repeats, seed)
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "ignore_index": ignore_index,
    }
    examples = _inputs.examples(labels, probabilities, logits, **options)
    values = tf.cast(examples.predictions, examples.dtype)
    in_range = tf.constant(True)
    if not examples.from_logits:
        right = _inputs.rows_in_range(examples.predictions)
        in_range = _inputs.live_rows(examples.weights, right)
        values = tf.math.log(values)
    rows, _, valid = _rows(examples, values)
    score, possible = _calibrated_likelihood(
        rows, examples.weights, count, tf.constant(keys)
    )
    return _inputs.nan_unless(
        valid & possible & in_range,
        score,
        lambda: np_recalibration.calibrated_negative_log_likelihood(
            labels,
            probabilities,
            logits,
            folds=folds,
            repeats=repeats,
            seed=seed,
            **options,
        ),
    )
