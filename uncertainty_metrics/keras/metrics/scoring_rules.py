"""Streaming proper scoring rules: the Keras metrics.

All but the decomposition are weighted means of the score of each example; the state is
a sum and a weight, whose rounding errors are kept, so that neither drifts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _labels, _scorers
from uncertainty_metrics.numpy import scoring_rules as np_rules
from uncertainty_metrics.numpy.forecast_scores import SpreadEstimator
from uncertainty_metrics.tensorflow import _classifier_scores, _inputs, _sums

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike

__all__ = [
    "BrierDecomposition",
    "BrierScore",
    "CRPSNormal",
    "CRPSSamples",
    "IntervalScore",
    "NegativeLogLikelihood",
    "Pinball",
]

_Reduce = Callable[[Any, tf.Tensor, tf.Tensor], _sums.Sums]


def _mean_sums(scorer: Any, scores: tf.Tensor, weights: tf.Tensor) -> _sums.Sums:
    """Returns the weight and the weighted sum of the scores."""
    del scorer
    hi, lo = _sums.total_pair(tf.stack([weights, scores * weights], axis=1))
    return _sums.Sums(None, hi, lo)


def _batch_sums(
    reduce: _Reduce, scorer: Any, batch: _scorers.Batch, weights: tf.Tensor | None
) -> tuple[_sums.Sums, tf.Tensor]:
    """Returns the sums of the scores and their weights, and if all was right."""
    scores, right, kept = scorer.scores(batch)
    usable = tf.constant(True)
    if weights is None:
        weights = tf.ones_like(right, scores.dtype)
    else:
        usable = tf.reduce_all((weights >= 0) & (weights < float("inf")))
        weights = tf.cast(weights, scores.dtype)
    if kept is not None:
        weights = tf.where(kept, weights, tf.zeros_like(weights))
    live = weights > 0
    valid = usable & ~scorer.mistaken(batch, live) & tf.reduce_all(right | ~live)
    scores = tf.where(right & live, scores, tf.zeros_like(scores))
    return reduce(scorer, scores, weights), valid


def _decomposition_sums(
    predictions: str,
    ignore_index: int | None,
    *data: tf.Tensor,
) -> tuple[_sums.Sums, tf.Tensor]:
    """Returns the sums of `decomposition_sums`, and if all was right."""
    examples = _labels.examples(predictions, ignore_index, *data)
    hi, lo, valid, _ = _classifier_scores.decomposition_sums(examples)
    return _sums.Sums(None, hi, lo), valid


class ScoreMetric(_base.SumsMetric):
    """A metric made of a scorer, whose options are arguments of the constructor.

    Subclasses say in `_reduce` what is summed of the scores, and make the state.
    """

    _reduce: _Reduce

    def __init__(self, scorer: Any, name: str | None, dtype: Any):
        super().__init__(name=name, dtype=dtype)
        self._scorer = scorer

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        self._update_by(self._scorer, y_true, y_pred, sample_weight)

    def _update_by(
        self,
        scorer: Any,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None,
    ) -> None:
        mask = getattr(y_pred, "_keras_mask", None)
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = _inputs.as_tensor("y_pred", y_pred)
        batch, labels = scorer.flatten(y_true, y_pred)
        weights = _labels.flat_weights(sample_weight, mask, labels)

        def explain() -> None:
            _labels.check_weights(weights)
            live = np.ones(batch.labels.shape, bool) if weights is None else weights > 0
            scorer.explain(y_true, y_pred, live)

        self._update(
            _batch_sums,
            (self._reduce, scorer),
            (batch, weights),
            explain,
            shape=batch.predictions.shape[1:],
            compiled=scorer.compiled,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **dataclasses.asdict(self._scorer)}


class MeanScore(ScoreMetric, _base.MeanMetric):
    """The mean of the scores."""

    _reduce = staticmethod(_mean_sums)


@_base.register
class BrierScore(MeanScore):
    """Brier score of all batches: the mean of `sum_k p_k^2 - 2 p_y`.

    `y_true` holds integers in [0, K), shape [...] or [..., 1]; or distributions over
    the classes [..., K] (one-hot, smoothed or mixed labels), under which the score is
    averaged. `y_pred` holds probabilities or logits [..., K]; or [...] or [..., 1] for
    class 1 of two.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      zero_based: whether to add 1, so that 0 is perfect and the range [0, 2].
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        the shape says: `y_true` of the shape of `y_pred` [..., K] is one-hot.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierScore()
      >>> metric.update_state([0], [[0.9, 0.1]])
      >>> metric.update_state([1], [[0.4, 0.6]])
      >>> round(float(metric.result()), 6)
      -0.83

    References:
      Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
    """

    _direction = "down"

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_score",
        dtype: Any = None,
        *,
        zero_based: bool = False,
        sparse_labels: bool | None = None,
    ):
        scorer = _scorers.Brier(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
            zero_based=zero_based,
        )
        super().__init__(scorer, name, dtype)


@_base.register
class NegativeLogLikelihood(MeanScore):
    """Negative log-likelihood of all batches: the mean of `-log p_y`, in nats.

    Labels and predictions are those of `BrierScore`. Unlike Keras's cross-entropy it
    clips nothing: a label of probability 0 makes the result infinite.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.NegativeLogLikelihood(from_logits=True)
      >>> metric.update_state([0, 1], [[1000.0, 0.0], [0.0, 0.0]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Good (1952), Rational Decisions.
    """

    _direction = "down"

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "negative_log_likelihood",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
    ):
        scorer = _scorers.Likelihood(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name, dtype)


@_base.register
class CRPSNormal(MeanScore):
    """Continuous ranked probability score of Normal forecasts, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]. `y_pred` holds mean and scale
    parameter [..., 2], or is a TFP Normal, whose scale is taken as it is.

    Args:
      scale_transform: how the scale parameter x becomes the standard deviation:
        "softplus", log(1 + e^x); "exp", e^x; "identity", x >= 0; "variance", the root
        of x >= 0; or "log_variance", e^(x / 2).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      TypeError: `y_pred` is a distribution, but not a Normal one.
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSNormal(scale_transform="identity")
      >>> metric.update_state([0.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])
      >>> round(float(metric.result()), 4)
      1.1168

    References:
      Gneiting, Raftery, Westveld and Goldman (2005), Calibrated Probabilistic
      Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation.
    """

    _direction = "down"

    def __init__(
        self,
        scale_transform: _scorers.ScaleTransform = "softplus",
        name: str | None = "crps_normal",
        dtype: Any = None,
    ):
        super().__init__(_scorers.NormalCRPS(scale_transform), name, dtype)

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: Any,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: real labels, shape [...] or [..., 1].
          y_pred: mean and scale parameter, shape [..., 2], or a TFP Normal.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        normal = _scorers.as_normal(y_pred)
        scorer = self._scorer
        if normal is not None:
            scorer = _scorers.NormalCRPS("identity")
            y_pred = tf.stack(normal, axis=-1)
        self._update_by(scorer, y_true, y_pred, sample_weight)


@_base.register
class CRPSSamples(MeanScore):
    """Continuous ranked probability score of samples, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` m samples of each
    forecast, shape [..., m].

    Args:
      estimator: "fair" (unbiased, at least two samples), "nrg" or "roll": see
        `crps_score`.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.CRPSSamples(estimator="nrg")
      >>> metric.update_state([0.0], [[-1.0, 1.0]])
      >>> float(metric.result())
      0.5

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation. Ferro (2014), Fair Scores for Ensemble Forecasts.
    """

    _direction = "down"

    def __init__(
        self,
        estimator: SpreadEstimator = "fair",
        name: str | None = "crps_samples",
        dtype: Any = None,
    ):
        super().__init__(_scorers.SampleCRPS(estimator), name, dtype)


@_base.register
class Pinball(MeanScore):
    """Pinball (quantile) loss, mean over quantiles and batches: see `pinball_loss`.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` a prediction for each
    quantile, shape [..., Q] (the last axis may be absent for one).

    Args:
      quantiles: levels in (0, 1), a sequence of Q, or a number.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.Pinball([0.5, 0.75])
      >>> metric.update_state([1.0], [[0.0, 3.0]])
      >>> float(metric.result())
      0.5

    References:
      Koenker and Bassett (1978), Regression Quantiles.
    """

    _direction = "down"

    def __init__(
        self,
        quantiles: float | Sequence[float],
        name: str | None = "pinball",
        dtype: Any = None,
    ):
        super().__init__(_scorers.MeanPinball(quantiles), name, dtype)


@_base.register
class IntervalScore(MeanScore):
    """Interval (Winkler) score of central intervals, mean of all batches.

    `y_true` holds real labels, shape [...] or [..., 1]; `y_pred` lower and upper
    bounds, shape [..., 2]. Bounds that cross are scored as the quantiles they stand
    for: see `interval_score`.

    Args:
      alpha: in (0, 1); 0.1 for 90% intervals.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.IntervalScore(alpha=0.1)
      >>> metric.update_state([0.5, 3.0], [[0.0, 1.0], [0.0, 1.0]])
      >>> float(metric.result())
      21.0

    References:
      Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and
      Estimation.
    """

    _direction = "down"

    def __init__(
        self,
        alpha: float,
        name: str | None = "interval_score",
        dtype: Any = None,
    ):
        super().__init__(_scorers.Interval(alpha), name, dtype)


@_base.register
class BrierDecomposition(_base.SumsMetric):
    """The parts of the Brier score of all batches, a dict.

    `brier_decomposition`, or `brier_decomposition_exact`, of all examples since the
    last reset, read off sums of 2K(K + 1) cells: not an approximation, and not for more
    than thousands of classes. Labels and predictions are those of `BrierScore`; of
    labels that are distributions the largest counts.

    Args:
      num_classes: number of classes K; by default that of the first batch.
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      exact: whether the five parts of `brier_decomposition_exact` are the result,
        instead of the three of `brier_decomposition`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described; as for `BrierScore`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.BrierDecomposition()
      >>> metric.update_state([0, 1], [[0.8, 0.2], [0.8, 0.2]])
      >>> metric.update_state([1, 1], [[0.3, 0.7], [0.3, 0.7]])
      >>> {name: round(float(part), 5) for name, part in metric.result().items()}
      {'uncertainty': -0.625, 'resolution': 0.125, 'reliability': 0.18}

    References:
      Murphy (1973), A New Vector Partition of the Probability Score. Stephenson, Coelho
      and Jolliffe (2008), Two Extra Components in the Brier Score Decomposition.
    """

    # What lowers the score is better; the uncertainty is that of the labels alone.
    _directions: ClassVar[dict[str, str]] = {
        "resolution": "up",
        "reliability": "down",
        "within_bin_variance": "down",
        "within_bin_covariance": "up",
    }

    def __init__(
        self,
        num_classes: int | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "brier_decomposition",
        dtype: Any = None,
        *,
        exact: bool = False,
        sparse_labels: bool | None = None,
    ):
        _checks.boolean("from_logits", from_logits)
        _checks.boolean("exact", exact)
        _checks.one_of("sparse_labels", sparse_labels, (None, True, False))
        if num_classes is not None:
            num_classes = _checks.positive_integer("num_classes", num_classes)
        super().__init__(name=name, dtype=dtype)
        _base.name_parts(self, self._directions)
        self.num_classes = num_classes
        self.from_logits = from_logits
        self.ignore_index = _checks.ignored_label("ignore_index", ignore_index)
        self.exact = exact
        self.sparse_labels = sparse_labels
        if num_classes is not None:
            self._build(num_classes)

    @property
    def _direction(self) -> str:
        return _base.part_direction(self)

    def _build(self, num_classes: int) -> None:
        self._build_sums((2 * num_classes + 2, num_classes))
        self._classes = num_classes

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: integers in [0, K), shape [...] or [..., 1]; or one-hot [..., K].
          y_pred: probabilities, or logits, of shape [..., K]; or [...] or [..., 1] for
            class 1 of two.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        rows = _labels.class_rows(y_true, y_pred, sample_weight, self.sparse_labels)
        _labels.check_classes("y_pred", rows.classes, self._classes)
        predictions = "logits" if self.from_logits else "probabilities"
        options = (predictions, self.ignore_index)
        self._update(
            _decomposition_sums,
            options,
            rows.data,
            lambda: rows.explain(np_rules.brier_decomposition, *options),
            shape=rows.predictions.shape[1:],
            classes=rows.classes,
        )

    def result(self) -> dict[str, tf.Tensor]:
        """Returns the parts by name; all 0.0 before the first batch."""
        dtype = self._result_dtype
        if not self._has_sums:
            totals, valid = tf.zeros([4, 1], dtype), self._read_valid()
        else:
            sums, valid = self._read_sums()
            totals = _sums.totals(sums, dtype)
        vertices = tf.eye(totals.shape[1], dtype=tf.bool)
        parts = _classifier_scores.decomposition_parts(totals, vertices)[self.exact]
        nan = tf.constant(float("nan"), dtype)
        return {
            name: tf.where(valid, part, nan) for name, part in parts._asdict().items()
        }

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "name": str(self.name),
            "num_classes": self.num_classes,
            "from_logits": self.from_logits,
            "ignore_index": self.ignore_index,
            "exact": self.exact,
            "sparse_labels": self.sparse_labels,
        }
