"""The probability integral transform (PIT) of a TFP distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.ops import _inputs, _validity
from uncertainty_metrics.tensors.distributions import _cdfs, distribution_scores

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution, TensorLike

__all__ = ["distribution_pit"]


@tf.autograph.experimental.do_not_convert
def distribution_pit(
    distribution: Distribution, targets: TensorLike
) -> tf.Tensor | PITInterval:
    """Probability integral transform (PIT) of the targets, by a TFP distribution.

      PIT = F(y), or the interval from P(X < y) to F(y) of a discrete distribution

    The PIT values of calibrated forecasts are uniform on [0, 1], and so are uniform
    draws from the intervals; `pit_histogram` and the like take both.

    Args:
      distribution: a `tfp.distributions.Distribution` of scalar events that has a
        `cdf`, of the batch shape of the targets, or of batch shape [].
      targets: observed values, inside or outside of the support, shape [n] or [n, 1].

    Returns:
      Values in [0, 1], of the shape of the targets, or a `PITInterval` of such values;
      float64 for a distribution of float64, else float32. A graph returns NaN for wrong
      values, for which eager code raises ValueError.

    Raises:
      TypeError: `distribution` is no distribution, or `targets` hold no numbers.
      ValueError: an argument is not as described, or a parameter of the distribution is
        out of its range.

    Example:
      >>> import tensorflow_probability as tfp
      >>> import uncertainty_metrics as um
      >>> forecast = tfp.distributions.Normal(loc=[0.0, 1.0], scale=[1.0, 2.0])
      >>> pit = um.regression.distribution_pit(forecast, [0.0, 3.0])
      >>> [round(float(value), 6) for value in pit]
      [0.5, 0.841345]
      >>> coin = tfp.distributions.Bernoulli(probs=0.25)
      >>> pit = um.regression.distribution_pit(coin, [0, 1])
      >>> pit.lower.numpy().tolist(), pit.upper.numpy().tolist()
      ([0.0, 0.75], [0.75, 1.0])

    References:
      Dawid (1984), Statistical Theory: The Prequential Approach. Czado, Gneiting and
      Held (2009), Predictive Model Assessment for Count Data.
    """
    distribution = distribution_scores.unwrapped(distribution)
    targets = _inputs.as_tensor("targets", targets)
    batch = distribution.batch_shape
    if batch.rank is None:
        raise _checks.error(
            "distribution", "a static rank", "an unknown rank", verb="have"
        )
    shape = batch if batch.rank else targets.shape
    _checks.paired("distribution", shape, "targets", targets.shape)
    y = tf.cast(targets, tf.float64 if distribution.dtype == tf.float64 else tf.float32)
    if batch.rank:
        y = distribution_scores.in_batch_shape(y, distribution)
    finite = tf.math.is_finite(y)
    y = _validity.nan_unless(finite, y, lambda: np_inputs.finite("targets", targets))
    distribution_scores.check_parameters(distribution)
    ends, right = cdf_ends(distribution, tf.where(finite, y, tf.zeros_like(y)))

    def explain() -> NoReturn:
        raise _checks.error(
            "distribution",
            "parameters in their range, and a CDF that rises from 0 to 1",
            type(distribution).__name__,
            verb="have",
        )

    ends = [
        tf.reshape(
            _validity.nan_unless(finite & right, end, explain), tf.shape(targets)
        )
        for end in ends
    ]
    return ends[0] if len(ends) == 1 else PITInterval(*ends)


def cdf_ends(
    distribution: Distribution, y: tf.Tensor
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Returns a list, and whether it has values of a CDF.

    The list has the CDF at y; or, for a discrete distribution, the CDF below and above
    its jump at y.
    """
    tfp = _optional.require("tensorflow_probability")

    tfd = tfp.distributions

    def call(method: str, z: tf.Tensor) -> tf.Tensor:
        return tf.cast(_cdfs.call_method(distribution, method, z), y.dtype)

    rises: tf.Tensor | bool = True
    if isinstance(distribution, tfd.Deterministic | tfd.Empirical | tfd.FiniteDiscrete):
        upper = call("cdf", y)
        ends = [upper - call("prob", y), upper]
    elif _cdfs.is_discrete(distribution):
        # Not by `prob`, because outside of the support TFP's is not always right.
        ends = [call("cdf", tf.math.ceil(y) - 1), call("cdf", tf.floor(y))]
    else:
        cdf = _cdfs.cdf_and_survival(distribution, y.dtype).below
        ends = [cdf(y)]
        # With a negative scale the CDF falls.
        far = 1e4 * (1 + tf.abs(y))
        rises = ~(cdf(y + far) < cdf(y - far))
    right = rises
    for end in ends:
        right &= tf.abs(end - 0.5) <= 0.5 + _cdfs.CDF_TOLERANCE
    right &= ends[0] <= ends[-1] + _cdfs.CDF_TOLERANCE
    ends = [tf.clip_by_value(end, 0, 1) for end in ends]
    ends[0] = tf.minimum(ends[0], ends[-1])
    return ends, right
