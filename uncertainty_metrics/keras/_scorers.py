"""Scorers: they score each example, for losses and for metrics that are means.

A scorer is a frozen set of options with three methods. `flatten` reads `y_true` and
`y_pred` as users of Keras pass them, and checks their shapes. `scores` returns the
score of each example. `explain` raises the ValueError for values that are known to be
wrong.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _labels
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy.scoring import _interval_bounds, _sample_estimators
from uncertainty_metrics.numpy.scoring import scoring_rules as np_scoring_rules
from uncertainty_metrics.numpy.selective import accuracy as np_accuracy
from uncertainty_metrics.ops import (
    _classifier_scores,
    _decisions,
    _execution,
    _forecast_scores,
    _inputs,
    _refined_likelihood,
    _sizes,
    numpy_dtype,
    to_numpy,
    xp,
)

ScaleTransform = Literal["softplus", "exp", "identity", "variance", "log_variance"]
SCALE_TRANSFORMS = get_args(ScaleTransform)
# The smallest scale of a log-density: optimizers square its gradients, which grow with
# the inverse square of the scale.
_MIN_SCALE = 1e-8


class Batch(NamedTuple):
    """Labels and predictions of N examples.

    Attributes:
      labels: [N].
      predictions: [N, columns].
      targets: distributions over the classes [N, K] instead of the labels, or None.
      groups: the group of each example, [N], or None.
    """

    labels: xp.Tensor
    predictions: xp.Tensor
    targets: xp.Tensor | None = None
    groups: Any = None


class ExampleScores(NamedTuple):
    """Scores of N examples.

    Attributes:
      scores: float32 or float64 [N], or [N, columns].
      right: boolean [N], False where labels or predictions are wrong; the score is any
        number there.
      not_ignored: boolean [N], False for ignored examples; None if no label is ignored.
    """

    scores: xp.Tensor
    right: xp.Tensor
    not_ignored: xp.Tensor | None = None


@dataclasses.dataclass(frozen=True)
class ClassScorer:
    """A score of class probabilities; `y_pred` [..., K], or [...] or [..., 1]."""

    # Whether a graph of TensorFlow is faster than eager operations.
    compiled: ClassVar[bool] = True
    # Raises the error that names a wrong value, by the same rules.
    _numpy_function: ClassVar[Callable[..., object]]
    # Whether an example has several labels; a field of scores that take them.
    multilabel: ClassVar[bool] = False
    from_logits: bool = False
    ignore_index: int | None = None
    sparse_labels: bool | None = None

    def __post_init__(self):
        _checks.boolean("from_logits", self.from_logits)
        _checks.one_of("sparse_labels", self.sparse_labels, (None, True, False))
        ignored = _checks.ignored_label("ignore_index", self.ignore_index)
        object.__setattr__(self, "ignore_index", ignored)

    @property
    def _predictions(self) -> str:
        """The name of the NumPy argument for `y_pred`."""
        return "logits" if self.from_logits else "probabilities"

    def flatten(self, y_true: xp.Tensor, y_pred: xp.Tensor) -> tuple[Batch, xp.Tensor]:
        """Returns the batch, and the labels in the shape of its scores."""
        if self.multilabel:
            _checks.number_of_labels(y_true.shape, y_pred.shape, "y_pred", "y_true")
            predictions = xp.reshape(y_pred, [-1, 1])
            return Batch(xp.reshape(y_true, [-1]), predictions), y_true
        rows = _labels.flat_rows(y_true, y_pred, self.sparse_labels)
        labels, targets = rows.shaped_labels, None
        # Scores do not have the last axis of 1.
        if len(labels.shape) >= max(len(y_pred.shape), 2) and labels.shape[-1] == 1:
            labels = xp.squeeze(labels, axis=-1)
        if rows.one_hot:
            targets = xp.reshape(y_true, [-1, rows.classes or 2])
        return Batch(rows.labels, rows.predictions, targets), labels

    def read(self, batch: Batch) -> tuple[_inputs.Examples, xp.Tensor | None]:
        """Returns the examples, and the distributions over the classes instead of
        labels, or None.
        """
        examples = _inputs.examples(
            batch.labels,
            **{self._predictions: batch.predictions},
            ignore_index=self.ignore_index,
        )
        targets = batch.targets
        if targets is not None:
            targets = xp.cast(targets, examples.dtype)
        return examples, targets

    def scores(self, batch: Batch) -> ExampleScores:
        """Returns the score of each example."""
        examples, targets = self.read(batch)
        scores, right = self._scores(examples, targets)
        not_ignored = None if examples.weights is None else examples.weights > 0
        return ExampleScores(
            scores, right & examples.right & examples.usable, not_ignored
        )

    def mistaken(self, batch: Batch, counted: xp.Tensor) -> xp.Tensor:
        """Returns whether logits are surely probabilities; `counted` [N] marks the
        examples that count.
        """
        if not self.from_logits:
            return xp.constant(False)
        return _inputs.are_probabilities(batch.predictions, counted)

    def explain(self, y_true: xp.Tensor, y_pred: xp.Tensor, counted: xp.Tensor) -> None:
        """Raises the ValueError that says what is wrong; `counted` as in `mistaken`."""
        labels, one_hot = _labels.integer_labels(
            y_true, y_pred, self.multilabel or self.sparse_labels
        )
        if one_hot:
            _labels.check_one_hot(y_true, labels)
        form = {"multilabel": True} if self.multilabel else {}
        with _labels.keras_names(self._predictions):
            self._numpy_function(
                to_numpy(labels),
                **{self._predictions: to_numpy(y_pred)},
                sample_weight=to_numpy(counted).reshape(tuple(labels.shape)),
                ignore_index=self.ignore_index,
                **form,
            )

    def _scores(
        self, examples: _inputs.Examples, targets: xp.Tensor | None
    ) -> tuple[xp.Tensor, xp.Tensor]:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class LabelScorer(ClassScorer):
    """A score that examples with several labels have as well."""

    multilabel: bool = False  # type: ignore[misc]

    def __post_init__(self):
        super().__post_init__()
        _checks.boolean("multilabel", self.multilabel)


@dataclasses.dataclass(frozen=True)
class Brier(LabelScorer):
    _numpy_function = staticmethod(np_scoring_rules.brier_score)
    zero_based: bool = False

    def __post_init__(self):
        super().__post_init__()
        _checks.boolean("zero_based", self.zero_based)

    def _scores(self, examples, targets):
        return _classifier_scores.brier_scores(examples, self.zero_based, targets)


@dataclasses.dataclass(frozen=True)
class Likelihood(LabelScorer):
    _numpy_function = staticmethod(np_scoring_rules.negative_log_likelihood)

    def _scores(self, examples, targets):
        return _classifier_scores.likelihood_scores(examples, targets)


@dataclasses.dataclass(frozen=True)
class Margins(Likelihood):
    def _scores(self, examples, targets):
        return _refined_likelihood.margins(examples, targets)


@dataclasses.dataclass(frozen=True)
class RankedProbability(ClassScorer):
    _numpy_function = staticmethod(np_scoring_rules.ranked_probability_score)

    def _scores(self, examples, targets):
        return _classifier_scores.ranked_scores(examples, targets)


@dataclasses.dataclass(frozen=True)
class Hits(ClassScorer):
    _numpy_function = staticmethod(np_accuracy.accuracy)

    def _scores(self, examples, targets):
        decisions, _, right = _decisions.decisions(examples.probabilities)
        return xp.cast(decisions == examples.labels, examples.dtype), right


@dataclasses.dataclass(frozen=True)
class RealScorer:
    """A score of real-valued labels; `y_pred` has one axis more."""

    compiled: ClassVar[bool] = True
    # What the last axis of `y_pred` holds, for messages.
    _columns: ClassVar[str]

    @property
    def _size(self) -> int | None:
        """The size of the last axis of `y_pred`, or None for any size."""
        return 2

    def flatten(self, y_true: xp.Tensor, y_pred: xp.Tensor) -> tuple[Batch, xp.Tensor]:
        """Returns the batch, and the labels in the shape of its scores."""
        y_pred = self._with_axis(y_pred)
        columns = self._columns
        if self._size is not None:
            columns = f"{self._size} ({columns})"
        _checks.last_axis("y_pred", y_pred.shape, y_true.shape, columns, "y_true")
        size = y_pred.shape[-1]
        self._check_size(size)
        if size is None and self._size is not None:  # The graph does not know the size.
            size = self._size
            y_pred = xp.ensure_shape(y_pred, [*y_pred.shape[:-1], size])
        y_pred = xp.cast(y_pred, _inputs.predictions_dtype(y_pred))
        labels = xp.cast(y_true, y_pred.dtype)
        if len(labels.shape) == len(y_pred.shape):  # Labels [..., 1].
            labels = xp.squeeze(labels, axis=-1)
        labels = _sizes.nan_unless_alike(labels, y_pred, len(y_pred.shape) - 1)
        size = xp.shape(y_pred)[-1] if size is None else size
        predictions = xp.reshape(y_pred, [-1, size])
        return Batch(xp.reshape(labels, [-1]), predictions), labels

    def scores(self, batch: Batch) -> ExampleScores:
        return ExampleScores(*self._scores(batch.labels, batch.predictions))

    def mistaken(self, batch: Batch, counted: xp.Tensor) -> xp.Tensor:
        del batch, counted
        return xp.constant(False)

    def explain(self, y_true: xp.Tensor, y_pred: xp.Tensor, counted: xp.Tensor) -> None:
        y_pred = self._with_axis(y_pred)
        dtype = _inputs.predictions_dtype(y_pred)  # Labels may be infinite in it.
        rows = to_numpy(counted).reshape(-1)
        labels = to_numpy(xp.cast(y_true, dtype)).reshape(-1)[rows]
        predictions = to_numpy(xp.cast(y_pred, dtype))
        predictions = predictions.reshape(len(rows), -1)[rows]
        of_labels = np_inputs.Place(tuple(y_true.shape), rows)
        np_inputs.finite("y_true", labels, place=of_labels)
        of_predictions = np_inputs.Place(tuple(y_pred.shape), rows)
        np_inputs.finite("y_pred", predictions, place=of_predictions)
        self._explain(predictions)
        raise _checks.error(
            "y_pred",
            f"numbers whose scores are in the range of {numpy_dtype(dtype).name}",
            f"numbers up to {np.max(np.abs(predictions))}",
            verb="hold",
        )

    def _explain(self, predictions: np.ndarray) -> None:
        """Raises ValueError if finite predictions [N, size] are out of their range."""

    def _check_size(self, size: int | None) -> None:
        """Raises ValueError if the last axis has a known size that is wrong."""
        if self._size is not None and size not in (None, self._size):
            raise _checks.error(
                "y_pred",
                f"a last axis of {self._size} ({self._columns})",
                f"a last axis of {size}",
                verb="have",
            )

    def _with_axis(self, y_pred: xp.Tensor) -> xp.Tensor:
        """Returns `y_pred` with its last axis, which users may leave out if it is 1."""
        return y_pred

    def _scores(
        self, labels: xp.Tensor, y_pred: xp.Tensor
    ) -> tuple[xp.Tensor, xp.Tensor]:
        raise NotImplementedError


def distribution_in(y_pred: Any) -> Any:
    """Returns the distribution in the output of a TFP layer, or in an `Independent`."""
    from tensorflow_probability import distributions as tfd

    distribution = getattr(y_pred, "tensor_distribution", y_pred)
    while isinstance(distribution, tfd.Independent):
        distribution = distribution.distribution
    return distribution


def as_normal(y_pred: Any) -> tuple[xp.Tensor, xp.Tensor] | None:
    """Returns mean and scale of a TFP Normal; None if `y_pred` is no distribution.

    Raises:
      TypeError: `y_pred` is another distribution.
    """
    if not _inputs.is_distribution(y_pred):
        return None
    from tensorflow_probability import distributions as tfd

    distribution = distribution_in(y_pred)
    if not isinstance(distribution, tfd.Normal):
        raise TypeError(
            "`y_pred` must be a Normal distribution, or a tensor of its parameters; "
            f"`crps_distribution` scores other distributions. Received: {y_pred}"
        )
    shape = distribution.batch_shape_tensor()
    return (
        xp.broadcast_to(distribution.loc, shape),
        xp.broadcast_to(distribution.scale, shape),
    )


def _root(values: xp.Tensor) -> xp.Tensor:
    """Returns square roots, whose gradient at 0 is finite; negative values stay."""
    positive = values > 0
    return xp.where(
        positive, xp.sqrt(xp.where(positive, values, xp.ones_like(values))), values
    )


@dataclasses.dataclass(frozen=True)
class NormalScorer(RealScorer):
    """A score of mean and scale parameter; `y_pred` [..., 2]."""

    _columns = "mean and scale parameter"
    allows_zero_scale: ClassVar[bool] = True
    scale_transform: str = "softplus"

    def __post_init__(self):
        _checks.one_of("scale_transform", self.scale_transform, SCALE_TRANSFORMS)

    @property
    def _parameter_name(self) -> str | None:
        """The scale parameters in messages: "scales" or "variances", which must be >=
        0; None for parameters that may be any number.
        """
        names = {"identity": "scales", "variance": "variances"}
        return names.get(self.scale_transform)

    def _explain(self, predictions):
        parameter = predictions[:, 1]
        bad = parameter < 0 if self.allows_zero_scale else parameter <= 0
        if self._parameter_name is not None and np.any(bad):
            sign = ">=" if self.allows_zero_scale else ">"
            expected = f"{self._parameter_name} {sign} 0"
            received = np_inputs.first(bad, parameter)
            raise _checks.error("y_pred", expected, received, verb="hold")

    def _scale(self, parameter: xp.Tensor) -> xp.Tensor:
        """Returns the standard deviation."""
        if self.scale_transform == "softplus":
            return xp.nn.softplus(parameter)
        if self.scale_transform == "exp":
            return xp.exp(parameter)
        if self.scale_transform == "variance":
            return _root(parameter)
        if self.scale_transform == "log_variance":
            return xp.exp(parameter / 2)
        return parameter


@dataclasses.dataclass(frozen=True)
class NormalCRPS(NormalScorer):
    def _scores(self, labels, y_pred):
        mean, parameter = xp.unstack(y_pred, axis=-1)
        return _forecast_scores.normal_scores(labels, mean, self._scale(parameter))


@_execution.custom_gradient
def _floored(
    log_scale: xp.Tensor,
) -> tuple[xp.Tensor, Callable[[xp.Tensor], xp.Tensor]]:
    """Returns log(scale), but at least log(_MIN_SCALE), with a gradient of 1.

    `minimum + (x - stop_gradient(x))` would have this gradient, too, but graphs may add
    its terms in another order.
    """
    return xp.maximum(log_scale, math.log(_MIN_SCALE)), lambda upstream: upstream


@dataclasses.dataclass(frozen=True)
class GaussianNLL(NormalScorer):
    def _log_scale(self, parameter: xp.Tensor) -> xp.Tensor:
        """Returns log(scale), but at least log(_MIN_SCALE), with finite gradients."""
        if self.scale_transform == "identity":
            return xp.math.log(xp.maximum(parameter, _MIN_SCALE))
        if self.scale_transform == "variance":
            return xp.math.log(xp.maximum(parameter, _MIN_SCALE**2)) / 2
        log_scale = parameter
        if self.scale_transform == "softplus":
            # log(log(1 + e^x)) is x where 1 + e^x rounds to 1.
            eps = np.finfo(numpy_dtype(parameter)).eps
            small = parameter < math.log(eps)
            safe = xp.where(small, xp.zeros_like(parameter), parameter)
            log_scale = xp.where(small, parameter, xp.math.log(xp.nn.softplus(safe)))
        if self.scale_transform == "log_variance":
            log_scale = log_scale / 2
        return _floored(log_scale)

    def _scores(self, labels, y_pred):
        mean, parameter = xp.unstack(y_pred, axis=-1)
        log_scale = self._log_scale(parameter)
        z = (labels - mean) * xp.exp(-log_scale)
        scores = log_scale + 0.5 * z * z + 0.5 * math.log(2 * math.pi)
        right = xp.math.is_finite(labels) & xp.reduce_all(
            xp.math.is_finite(y_pred), axis=-1
        )
        if self._parameter_name is not None:
            right = right & (parameter >= 0)
        return scores, right


@dataclasses.dataclass(frozen=True)
class SampleCRPS(RealScorer):
    _columns = "samples"
    estimator: _sample_estimators.SpreadEstimator = "fair"
    alpha: float = _sample_estimators.ALPHA
    compiled: ClassVar[bool] = False  # NumPy sorts faster than a graph.
    with_gradient: ClassVar[bool] = False

    def __post_init__(self):
        _, alpha = _sample_estimators.settled(self.estimator, self.alpha)
        object.__setattr__(self, "alpha", alpha)

    @property
    def _size(self):
        return None

    def _check_size(self, size):
        estimator, _ = _sample_estimators.settled(self.estimator, self.alpha)
        _sample_estimators.check_num_samples(estimator, size, "y_pred")

    def _scores(self, labels, y_pred):
        estimator, alpha = _sample_estimators.settled(self.estimator, self.alpha)
        return _forecast_scores.sample_scores(
            labels, y_pred, estimator, alpha, self.with_gradient
        )


class TrainedSampleCRPS(SampleCRPS):
    """The same scores with gradients in the samples, for a loss."""

    with_gradient = True


@dataclasses.dataclass(frozen=True)
class MeanPinball(RealScorer):
    _columns = "quantiles"
    quantiles: Any  # A number or a sequence; a tuple after the check.

    def __post_init__(self):
        levels = _checks.levels("quantiles", self.quantiles)
        levels = levels if isinstance(levels, tuple) else (levels,)
        object.__setattr__(self, "quantiles", levels)

    @property
    def _size(self):
        return len(self.quantiles)

    def _with_axis(self, y_pred):
        if len(self.quantiles) == 1 and tuple(y_pred.shape[-1:]) != (1,):
            return y_pred[..., None]
        return y_pred

    def _scores(self, labels, y_pred):
        losses, right = _forecast_scores.pinball_losses(
            labels[..., None], y_pred, self.quantiles
        )
        return xp.reduce_mean(losses, axis=-1), xp.reduce_all(right, axis=-1)


@dataclasses.dataclass(frozen=True)
class Interval(RealScorer):
    _columns = "lower and upper"
    alpha: float

    def __post_init__(self):
        object.__setattr__(self, "alpha", _checks.open_unit("alpha", self.alpha))

    def _scores(self, labels, y_pred):
        lower, upper = xp.unstack(y_pred, axis=-1)
        return _forecast_scores.interval_scores(labels, lower, upper, self.alpha)


@dataclasses.dataclass(frozen=True)
class WeightedInterval(RealScorer):
    _columns = "median, then lower and upper of each of `alphas`"
    alphas: Any  # A sequence; a tuple after the check.

    def __post_init__(self):
        levels = _interval_bounds.interval_levels(self.alphas)
        object.__setattr__(self, "alphas", levels)

    @property
    def _size(self):
        return 2 * len(self.alphas) + 1

    def _scores(self, labels, y_pred):
        bounds = xp.reshape(y_pred[:, 1:], [-1, len(self.alphas), 2])
        return _forecast_scores.weighted_interval_scores(
            labels, y_pred[:, 0], bounds[..., 0], bounds[..., 1], self.alphas
        )
