"""Scores of a predictive distribution of TensorFlow Probability, eager or compiled.

In eager execution a wrong value raises ValueError. In a graph nothing can be raised, so
that element of the result is NaN; a wrong shape raises while the graph is built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional
from uncertainty_metrics.ops import _inputs, _validity
from uncertainty_metrics.tensors.distributions import (
    _cdfs,
    _closed_form_crps,
    _quadrature,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution, TensorLike

__all__ = ["crps_distribution"]


def unwrapped(distribution: Any) -> Distribution:
    """Returns the distribution, for the output of a probabilistic layer the one in it.

    Raises:
      TypeError: it is not a distribution.
      ValueError: its events are not scalars.
    """
    tfp = _optional.require("tensorflow_probability")

    if not isinstance(distribution, tfp.distributions.Distribution):
        raise TypeError(
            "`distribution` must be a tfp.distributions.Distribution. Received: "
            f"{type(distribution).__name__}"
        )
    distribution = getattr(distribution, "tensor_distribution", distribution)
    if not isinstance(distribution.dtype, tf.DType) or (
        distribution.event_shape.rank != 0
    ):
        raise _checks.error(
            "distribution",
            "of scalar events, event_shape []",
            f"event_shape {distribution.event_shape}",
        )
    return distribution


def in_batch_shape(y: tf.Tensor, distribution: Distribution) -> tf.Tensor:
    """Returns labels in the shape of the batch of a distribution; NaN where a graph
    finds that they are not as many: a single one would broadcast.
    """
    shape = distribution.batch_shape_tensor()
    if None in [*y.shape, *distribution.batch_shape]:
        y = _validity.nan_where_wrong(tf.size(y) == tf.reduce_prod(shape), y)
    return tf.reshape(y, shape)


def _check_shapes(labels: Sequence[int | None], batch: Sequence[int | None]) -> None:
    """Raises unless the scores have the shape of labels of the same or a higher rank.

    Labels [n] and a batch [n, 1] would broadcast to [n, n].
    """
    for name, shape in (("labels", labels), ("distribution", batch)):
        if 0 in shape:
            raise _checks.error(
                name, "at least one example", f"shape {shape}", verb="hold"
            )
    fits = not labels or len(labels) >= len(batch)
    if labels and fits:
        for size, other in zip(reversed(labels), reversed(batch), strict=False):
            same = None in (size, other) or size == other
            stretched = size == 1 and len(labels) == len(batch)
            fits &= same or other == 1 or stretched
    if not fits:
        raise _checks.error(
            "distribution",
            f"of a batch shape that broadcasts to the labels of shape {labels}",
            f"batch shape {batch}",
        )


def _first(wrong: tf.Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(wrong.numpy())[0])


@tf.autograph.experimental.do_not_convert
def crps_distribution(labels: TensorLike, distribution: Distribution) -> tf.Tensor:
    """Continuous ranked probability score (CRPS) of a TFP distribution.

      CRPS(F, y) = integral of (F(z) - 1{z >= y})^2 dz
                 = E|X - y| - E|X - X'| / 2,   X, X' ~ F independent

    In closed form for Bernoulli, Beta, Categorical, Cauchy, Chi2, Deterministic,
    Empirical, Exponential, FiniteDiscrete, Gamma, GeneralizedPareto, Geometric, Gumbel,
    HalfNormal, Laplace, LogNormal, Logistic, Normal, Poisson, StudentT, Uniform, and
    for MixtureSameFamily and Mixture of normals (O(K^2) for K components); by series
    and fixed quadratures for GeneralizedExtremeValue (of a concentration above -20),
    for TruncatedNormal, in any tail and any window, and for Mixture of one
    TruncatedNormal and some Deterministic: the way to write a censored Normal, whose
    masses are at the ends (`Mixture(Categorical(probs=[below, 1 - below - above,
    above]), [Deterministic(low), TruncatedNormal(loc, scale, low, high),
    Deterministic(high)])`). Relative errors are below 2e-8 in float64 and 2e-6 in
    float32, beside the rounding of the inputs themselves. Beta, Gamma, Chi2, Poisson,
    StudentT, Cauchy, TruncatedNormal and the generalized ones are computed in float64
    throughout.

    All others need a `cdf`, which is evaluated some 800 times per label and integrated
    by double exponential quadrature. Measured relative errors in float64: 1e-12 if the
    CDF is smooth inside of its support (Weibull, JohnsonSU, HalfCauchy, ...), 2e-9 if
    the tails fall more slowly than 1 / z, and 1e-6 with a kink inside (Triangular,
    TwoPieceNormal); in float32 2e-6 or these, whichever is larger, if the `cdf` itself
    is as accurate. If the tails fall more slowly than 1 / sqrt(z), the score is
    infinite; a distribution near this limit is refused.

    The integrals of a mixture are split at the quartiles and the ends of its K
    components, which may be as narrow and as far apart as their dtype can tell (error
    1e-8, at the cost of some 1000 K + 2000 evaluations). The same holds for a mixture
    inside of a BatchReshape, a BatchBroadcast, an Independent, a monotone bijector or
    another mixture.

    A distribution of integers is summed exactly, over the 2048 integers around its
    median, or around the median of each component; in eager execution over 65536
    integers if those are too few. It is refused if more than a negligible part is
    outside of these integers.

    The score can be differentiated once, in the labels (the derivative is `2 F(y) - 1`)
    and in all parameters in which the `cdf` can be. All shapes are static. The score
    compiles with XLA if the `cdf` does; the closed forms all do.

    Args:
      labels: real numbers, inside or outside of the support, shape [...]. They are
        cast to the dtype of the result.
      distribution: a `tfp.distributions.Distribution` of scalar events. Its batch
        shape broadcasts to the shape of the labels; if the ranks are equal they
        broadcast to each other; scalar labels take the batch shape.

    Returns:
      One score per label, in [0, inf), in the units of the labels, of the dtype of the
      distribution if that is floating, else float32; lower is better. A graph returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      TypeError: `distribution` is no distribution, or `labels` hold no numbers.
      ValueError: a shape does not fit, the event is not a scalar, a label is not
        finite, a parameter is out of its range, the distribution has neither a closed
        form nor a `cdf`, or its CDF cannot be integrated.

    Example:
      >>> import tensorflow_probability as tfp
      >>> import uncertainty_metrics as um
      >>> forecast = tfp.distributions.Normal(loc=[0.0, 1.0], scale=[1.0, 2.0])
      >>> scores = um.crps_distribution([0.0, 3.0], forecast)
      >>> [round(float(score), 6) for score in scores]
      [0.233695, 1.204883]

    References:
      Matheson and Winkler (1976), Scoring Rules for Continuous Probability
      Distributions.
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
      Jordan, Krueger and Lerch (2019), Evaluating Probabilistic Forecasts with
      scoringRules (the closed forms).
      Takahasi and Mori (1974), Double Exponential Formulas for Numerical Integration.
    """
    distribution = unwrapped(distribution)
    name = type(distribution).__name__
    dtype = distribution.dtype if distribution.dtype.is_floating else tf.float32
    if isinstance(labels, (float, list, tuple)):
        # By itself TensorFlow would round Python's numbers to float32.
        # If it fails, `as_tensor` says what is wrong.
        with contextlib.suppress(TypeError, ValueError):
            labels = tf.convert_to_tensor(labels, dtype_hint=dtype)
    labels = _inputs.as_tensor("labels", labels)
    batch = distribution.batch_shape
    if batch.rank is None:
        raise _checks.error(
            "distribution", "a static rank", "an unknown rank", verb="have"
        )
    _check_shapes(list(labels.shape), list(batch))

    precise = dtype if dtype == tf.float64 else tf.float32
    y = tf.cast(tf.cast(labels, dtype), precise)
    if batch.rank >= labels.shape.rank:
        shape = tf.broadcast_dynamic_shape(
            tf.shape(y), distribution.batch_shape_tensor()
        )
        y = tf.broadcast_to(y, shape)
    finite = tf.math.is_finite(y)
    if tf.executing_eagerly() and not tf.reduce_all(finite):
        index = _first(~finite)
        raise _checks.error("labels", "finite", f"{y[index]} at {list(index)}")
    y = tf.where(finite, y, tf.zeros_like(y))

    score, valid = _score(y, distribution)
    valid &= ~tf.math.is_nan(score)
    if tf.executing_eagerly() and not tf.reduce_all(valid):
        index = _first(~tf.broadcast_to(valid, tf.shape(y)))
        raise _checks.error(
            "distribution",
            "parameters in their range, and a CDF that rises from 0 to 1 and can be "
            "integrated",
            f"{name} with no score for the label at {list(index)}",
            verb="have",
        )
    score = tf.where(valid & finite, score, tf.constant(np.nan, score.dtype))
    return tf.cast(score, dtype)


def _score(y: tf.Tensor, distribution: Distribution) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the scores, and whether to trust each."""
    distribution = _cdfs.bare(distribution)
    closed_form = _closed_form_crps.lookup(distribution)
    if closed_form is not None:
        result = closed_form(y, distribution)
        if result is not None:
            return result
    if distribution.dtype.is_floating and distribution.dtype != y.dtype:
        raise _checks.error(
            "distribution",
            "of dtype float32 or float64, where there is no closed form",
            f"{type(distribution).__name__} of dtype {distribution.dtype.name}",
        )
    check_parameters(distribution)
    if _cdfs.is_discrete(distribution):
        return _quadrature.discrete(y, distribution)
    return _quadrature.continuous(y, distribution)


def check_parameters(distribution: Distribution) -> None:
    """Raises ValueError in eager execution if TFP finds a wrong parameter."""
    if not tf.executing_eagerly():
        return
    try:
        distribution.copy(validate_args=True)
    except (tf.errors.InvalidArgumentError, ValueError) as wrong:
        raise _checks.error(
            "distribution",
            "parameters in their range",
            f"{type(distribution).__name__}: {wrong}",
            verb="have",
        ) from wrong
    except (TypeError, NotImplementedError):  # It cannot be copied.
        return
