"""The CDF of any distribution of TFP, which is right outside of the support, too.

For mixtures, also wrapped, reshaped or transformed by a monotone bijector, the CDF has
marks, which tell quadrature where the components are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks, _optional

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import Distribution

# A CDF is refused if it leaves [0, 1] or falls by more than this.
CDF_TOLERANCE = 1e-2


@dataclasses.dataclass(frozen=True)
class Cdf:
    """A CDF whose values are right, and derivatives finite, outside the support, too.

    Attributes:
      lower: lower end of the support, or -inf.
      upper: upper end of the support, or inf.
      below: the function P(X <= z).
      above: the function P(X > z).
      marks: a function of the labels and of a function such as `_quadrature._marks`,
        which is called for each component. It returns the points [L, ...] at which to
        split the integrals, and the distances [L, ...] from these points at which the
        CDF begins to change. None if there is no need to split.
    """

    lower: tf.Tensor
    upper: tf.Tensor
    below: Callable[[tf.Tensor], tf.Tensor]
    above: Callable[[tf.Tensor], tf.Tensor]
    marks: _Marks | None = None


_Leaf = Callable[[Cdf, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]
_Marks = Callable[[tf.Tensor, _Leaf], list[tf.Tensor]]


def is_a(distribution: Distribution, name: str) -> bool:
    """Says if the distribution is of this class of TFP, and has the CDF of TFP."""
    kind = type(distribution)
    # If parameters are not static, TFP makes an object of a base class, whose name
    # begins with an underscore.
    return any(base.__name__.lstrip("_") == name for base in kind.__mro__) and (
        getattr(kind, "_cdf", kind).__module__.startswith("tensorflow_probability")
    )


def bare(distribution: Distribution) -> Distribution:
    """Returns the distribution inside of wrappers that only broadcast the batch."""
    while is_a(distribution, "Independent") or is_a(distribution, "BatchBroadcast"):
        distribution = distribution.distribution
    return distribution


def _event_bijector(distribution: Distribution) -> Any:
    try:
        return distribution.experimental_default_event_space_bijector()
    except (NotImplementedError, AttributeError, TypeError):
        return NotImplemented


def mixture_parts(
    distribution: Distribution,
) -> tuple[tf.Tensor, list[Distribution] | Distribution] | None:
    """Returns weights [..., K] and components of a mixture; None if it is none."""
    if hasattr(distribution, "components_distribution"):
        weights = distribution.mixture_distribution.probs_parameter()
        return weights, distribution.components_distribution
    if hasattr(distribution, "components") and hasattr(distribution, "cat"):
        return distribution.cat.probs_parameter(), list(distribution.components)
    return None


def is_discrete(distribution: Distribution) -> bool:
    """Says if the distribution is a distribution of integers."""
    distribution = bare(distribution)
    if not distribution.dtype.is_floating:
        return True
    parts = mixture_parts(distribution)
    if parts is not None:
        components = parts[1] if isinstance(parts[1], list) else [parts[1]]
        # Beside a distribution of integers there may be atoms, as for zero inflation.
        components = [c for c in components if not _is_atom(c)] or components
        return all(is_discrete(component) for component in components)
    if _event_bijector(distribution) is not None:
        return False
    # Wrappers of a mixture have no bijector either.
    inner = getattr(distribution, "distribution", None)
    return (
        inner is None
        or is_a(distribution, "QuantizedDistribution")
        or not hasattr(inner, "cdf")
        or is_discrete(inner)
    )


def _is_atom(distribution: Distribution) -> bool:
    tfp = _optional.require("tensorflow_probability")

    return isinstance(distribution, tfp.distributions.Deterministic)


def integer_atoms(distribution: Distribution) -> tf.Tensor:
    """Says if the atoms among the components of a mixture are at integers."""
    parts = mixture_parts(distribution)
    if parts is None or not isinstance(parts[1], list):
        return tf.constant(True)
    atoms = [tf.convert_to_tensor(c.loc) for c in parts[1] if _is_atom(c)]
    return tf.reduce_all([tf.reduce_all(atom == tf.round(atom)) for atom in atoms])


def _support(
    distribution: Distribution, dtype: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the lower and the upper end of the support; infinite if unknown."""
    infinity = tf.constant(np.inf, dtype)
    if _is_atom(distribution):
        loc = tf.stop_gradient(tf.cast(distribution.loc, dtype))
        return loc, loc
    bijector = _event_bijector(distribution)
    if bijector is None or bijector is NotImplemented:
        return -infinity, infinity
    try:
        ends = [bijector.forward(x) for x in (-infinity, infinity)]
    except (TypeError, ValueError):  # It may be of float32 alone.
        ends = [bijector.forward(x) for x in (-np.float32(np.inf), np.float32(np.inf))]
    ends = [tf.stop_gradient(tf.cast(end, dtype)) for end in ends]
    lower, upper = tf.minimum(*ends), tf.maximum(*ends)
    unknown = tf.math.is_nan(lower) | tf.math.is_nan(upper)
    return tf.where(unknown, -infinity, lower), tf.where(unknown, infinity, upper)


def call_method(distribution: Distribution, method: str, z: tf.Tensor) -> tf.Tensor:
    """Returns the value of a method at z; raises ValueError if there is no method."""
    try:
        return getattr(distribution, method)(tf.cast(z, distribution.dtype))
    except NotImplementedError as missing:
        raise _checks.error(
            "distribution",
            "one with a closed form, or with a `cdf`",
            f"{type(distribution).__name__}: {missing}",
        ) from missing


def cdf_and_survival(distribution: Distribution, dtype: tf.DType) -> Cdf:
    """Returns the CDF of a distribution, with values of a dtype."""
    distribution = bare(distribution)
    parts = mixture_parts(distribution)
    if parts is not None:
        return _mixture_cdf(*parts, dtype)
    if is_a(distribution, "BatchReshape"):
        return _reshaped_cdf(distribution, dtype)
    if is_a(distribution, "TransformedDistribution"):
        inner = cdf_and_survival(distribution.distribution, dtype)
        if inner.marks is not None:
            return _transformed_cdf(distribution, inner, inner.marks, dtype)
    lower, upper = _support(distribution, dtype)
    return _within(
        lower,
        upper,
        lambda z: call_method(distribution, "cdf", z),
        lambda z: call_method(distribution, "survival_function", z),
    )


def _within(
    lower: tf.Tensor,
    upper: tf.Tensor,
    below: Callable[[tf.Tensor], tf.Tensor],
    above: Callable[[tf.Tensor], tf.Tensor],
    marks: Any = None,
) -> Cdf:
    """Returns a CDF that calls `below` and `above` only inside of the support."""
    dtype = lower.dtype
    # A point in the support, for calls whose result is not used.
    one = tf.ones([], dtype)
    middle = lower + 0.5 * (upper - lower)
    right_of, left_of = lower + tf.abs(lower) + one, upper - tf.abs(upper) - one
    some = tf.where(tf.math.is_finite(upper), left_of, tf.zeros_like(upper))
    some = tf.where(tf.math.is_finite(lower), right_of, some)
    some = tf.where(tf.math.is_finite(lower + upper), middle, some)

    # Outside of the support TFP returns NaN, or worse, a positive number (Weibull).
    def masked(z, function, left, right):
        inside = (z > lower) & (z < upper)
        value = tf.cast(function(tf.where(inside, z, some)), dtype)
        ends = tf.where(z >= upper, tf.constant(right, dtype), tf.constant(left, dtype))
        return tf.where(inside, value, ends)

    return Cdf(
        lower,
        upper,
        lambda z: masked(z, below, 0.0, 1.0),
        lambda z: masked(z, above, 1.0, 0.0),
        marks,
    )


def _transformed_cdf(
    distribution: Distribution, inner: Cdf, inner_marks: _Marks, dtype: tf.DType
) -> Cdf:
    """Returns the CDF of a monotone function of a variable whose CDF has marks."""
    bijector = distribution.bijector
    if not bijector._is_injective:  # The call raises the error of TFP.
        call_method(distribution, "cdf", tf.zeros([], dtype))
    rises = bijector._internal_is_increasing()

    def forward(x):
        return tf.stop_gradient(tf.cast(bijector.forward(x), dtype))

    def side(z, one, other):
        x = bijector.inverse(z)
        some = tf.zeros_like(x) + tf.clip_by_value(
            tf.zeros([], dtype), inner.lower, inner.upper
        )
        first = one(tf.where(rises, x, some))
        return tf.where(rises, first, other(tf.where(rises, some, x)))

    def marks(like, leaf):
        points, scales = inner_marks(like, leaf)
        moved = forward(points)
        # The smaller of the two steps, because the bijector may be curved.
        steps = [tf.abs(forward(points + s) - moved) for s in (-scales, scales)]
        far = 2.0**120 * tf.ones_like(moved)
        steps = [tf.where(tf.math.is_finite(s) & (s > 0), s, far) for s in steps]
        return [moved, tf.minimum(*steps)]

    ends = [forward(end) for end in (inner.lower, inner.upper)]
    lower, upper = tf.minimum(*ends), tf.maximum(*ends)
    infinity = tf.constant(np.inf, dtype)
    return _within(
        tf.where(tf.math.is_nan(lower), -infinity, lower),
        tf.where(tf.math.is_nan(upper), infinity, upper),
        lambda z: side(z, inner.below, inner.above),
        lambda z: side(z, inner.above, inner.below),
        marks,
    )


def _reshaped_cdf(distribution: Distribution, dtype: tf.DType) -> Cdf:
    """Returns the CDF of a reshaped batch, which broadcasts as other batches do."""
    cdf = cdf_and_survival(distribution.distribution, dtype)
    inside = distribution.distribution.batch_shape_tensor()
    batch = distribution.batch_shape_tensor()
    sizes = distribution.batch_shape

    def there(z):
        z = tf.broadcast_to(z, tf.broadcast_dynamic_shape(tf.shape(z), batch))
        axes = range(z.shape.rank)
        lead = z.shape.rank - sizes.rank
        # An axis along which the batch is stretched belongs to the labels.
        unstretched = [axis for axis in axes[lead:] if sizes[axis - lead] != 1]
        order = [*[axis for axis in axes if axis not in unstretched], *unstretched]
        z = tf.transpose(z, order)
        shape = tf.shape(z)
        outer = shape[: len(order) - len(unstretched)]
        z = tf.reshape(z, tf.concat([outer, inside], axis=0))

        def back(x):
            extra = x.shape.rank - z.shape.rank
            x = tf.reshape(x, tf.concat([tf.shape(x)[:extra], shape], axis=0))
            inverse = [extra + int(axis) for axis in np.argsort(order)]
            return tf.transpose(x, [*range(extra), *inverse])

        return z, back

    def below(z):
        z, back = there(z)
        return back(cdf.below(z))

    def above(z):
        z, back = there(z)
        return back(cdf.above(z))

    def marks(like, leaf):
        like, back = there(like)
        return [back(x) for x in marks_of(cdf, like, leaf)]

    lower, upper = [
        tf.reshape(tf.broadcast_to(end, inside), batch)
        for end in (cdf.lower, cdf.upper)
    ]
    return Cdf(lower, upper, below, above, marks if cdf.marks else None)


def _mixture_cdf(
    weights: tf.Tensor, components: list[Distribution] | Distribution, dtype: tf.DType
) -> Cdf:
    # Not the mixture's own CDF: each component needs its own support.
    weights = tf.cast(weights, dtype)
    weights /= tf.reduce_sum(weights, axis=-1, keepdims=True)
    if isinstance(components, list):
        cdfs = [cdf_and_survival(component, dtype) for component in components]
        lowers, uppers = [cdf.lower for cdf in cdfs], [cdf.upper for cdf in cdfs]
        lower, upper = lowers[0], uppers[0]
        for other_lower, other_upper in zip(lowers, uppers, strict=True):
            lower = tf.minimum(lower, other_lower)
            upper = tf.maximum(upper, other_upper)

        def mixed(z, side):
            return sum(
                weights[..., k] * getattr(cdf, side)(z) for k, cdf in enumerate(cdfs)
            )

        def marks(like, leaf):
            all_marks = [marks_of(cdf, like, leaf) for cdf in cdfs]
            return [tf.concat(x, axis=0) for x in zip(*all_marks, strict=True)]

    else:
        cdf = cdf_and_survival(components, dtype)
        lower, upper = cdf.lower, cdf.upper
        if lower.shape.rank:  # Else it is the same for all components.
            lower = tf.reduce_min(lower, axis=-1)
            upper = tf.reduce_max(upper, axis=-1)

        def mixed(z, side):
            return tf.reduce_sum(
                weights * getattr(cdf, side)(z[..., tf.newaxis]), axis=-1
            )

        def marks(like, leaf):
            full = like[..., tf.newaxis] + tf.zeros_like(weights)
            return [_last_axis_first(x) for x in marks_of(cdf, full, leaf)]

    return Cdf(
        lower, upper, lambda z: mixed(z, "below"), lambda z: mixed(z, "above"), marks
    )


def _last_axis_first(marks: tf.Tensor) -> tf.Tensor:
    """Returns marks [L, ..., K] as [K * L, ...]."""
    rank = marks.shape.rank
    marks = tf.transpose(marks, [rank - 1, *range(rank - 1)])
    return tf.reshape(marks, tf.concat([[-1], tf.shape(marks)[2:]], axis=0))


def marks_of(cdf: Cdf, like: tf.Tensor, leaf: _Leaf) -> list[tf.Tensor]:
    """Returns the marks of a CDF, or, if it has no components, of `leaf`."""
    return list(leaf(cdf, like) if cdf.marks is None else cdf.marks(like, leaf))
