"""Streaming uncertainty of ensembles: the Keras metrics.

All are weighted means of a value of each example; `y_pred` holds the predictions of all
members.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import tensorflow as tf

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _base, _labels, _scorers
from uncertainty_metrics.keras.metrics.scoring_rules import MeanScore
from uncertainty_metrics.numpy.ensemble import (
    _predictions,
    cross_entropy,
    uncertainty,
)
from uncertainty_metrics.tensorflow import _inputs
from uncertainty_metrics.tensorflow.ensemble import _members
from uncertainty_metrics.tensorflow.ensemble._members import Members

if TYPE_CHECKING:
    from uncertainty_metrics.tensorflow._typing import TensorLike


@dataclasses.dataclass(frozen=True)
class _UncertaintyScorer:
    """A value that asks for no label; `_scorers` says what a scorer is."""

    compiled: ClassVar[bool] = True
    from_logits: bool = False

    def __post_init__(self) -> None:
        _checks.boolean("from_logits", self.from_logits)

    def flatten(
        self, y_true: tf.Tensor, y_pred: tf.Tensor
    ) -> tuple[_scorers.Batch, tf.Tensor]:
        """Returns the batch, and meaningless labels in the shape of its scores."""
        rows, shape = self._rows(y_pred)
        labels = tf.zeros(shape, tf.int32)
        given, expected = y_true.shape[:1], labels.shape[:1]
        if given.rank == 1 and not given.is_compatible_with(expected):
            raise _checks.error(
                "y_true",
                f"of as many examples as y_pred, {[*expected, 1][0]}",
                f"shape {list(y_true.shape)}",
            )
        return _scorers.Batch(tf.reshape(labels, [-1]), rows), labels

    def mistaken(self, batch: _scorers.Batch, live: tf.Tensor) -> tf.Tensor:
        del batch, live
        return tf.constant(False)

    def explain(self, y_true: tf.Tensor, y_pred: tf.Tensor, live: tf.Tensor) -> None:
        rows, _ = self._rows(y_pred)
        with _labels.keras_names(self._name):
            self._explain(np.asarray(rows)[np.asarray(live)])

    @property
    def _name(self) -> str:
        return "logits" if self.from_logits else "probabilities"

    def _rows(self, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns predictions [N, ...] and the shape of the scores."""
        raise NotImplementedError

    def _explain(self, rows: np.ndarray) -> None:
        """Raises for what is wrong with predictions [N, ...]."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class _MembersScorer(_UncertaintyScorer):
    """A value that is read off `Members`."""

    function: ClassVar[str]
    value: ClassVar[Callable[..., tf.Tensor]]
    ensemble_axis: int | None = 1

    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        members = Members(batch.predictions, self.from_logits)
        return _scorers.ExampleScores(type(self).value(members), members.right)

    def mistaken(self, batch: _scorers.Batch, live: tf.Tensor) -> tf.Tensor:
        return Members(batch.predictions, self.from_logits).mistaken(live)

    def _rows(self, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if self.ensemble_axis is None:
            _predictions.check_shape("y_pred", y_pred.shape)
            predictions = y_pred[..., None, :]
        else:
            predictions = _members.members_before_classes(
                "y_pred", y_pred, self.ensemble_axis
            )
        return _members.flat_members(predictions), tf.shape(predictions)[:-2]

    def _explain(self, rows: np.ndarray) -> None:
        getattr(uncertainty, self.function)(**{self._name: rows})


class _TotalEntropy(_MembersScorer):
    function = "predictive_entropy"
    value = staticmethod(_members.total_entropies)


class _ExpectedEntropy(_MembersScorer):
    function = "expected_entropy"
    value = staticmethod(_members.expected_entropies)


class _Information(_MembersScorer):
    function = "mutual_information"
    value = staticmethod(_members.mutual_information)


class _Disagreement(_MembersScorer):
    function = "ensemble_disagreement"
    value = staticmethod(_members.disagreements)


class _MemberUncertainty(_MembersScorer):
    function = "mean_member_uncertainty"
    value = staticmethod(_members.member_uncertainties)


class _VariationRatio(_MembersScorer):
    function = "variation_ratio"
    value = staticmethod(_members.variation_ratios)


@dataclasses.dataclass(frozen=True)
class _Knowledge(_UncertaintyScorer):
    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        values = tf.cast(batch.predictions, _inputs.sum_dtype(batch.predictions))
        parts, right = _members.dirichlet_parts(values, self.from_logits)
        return _scorers.ExampleScores(parts[0], right)

    @property
    def _name(self) -> str:
        return "logits" if self.from_logits else "alphas"

    def _rows(self, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _predictions.check_shape("y_pred", y_pred.shape, size=2)
        return tf.reshape(y_pred, [-1, y_pred.shape[-1]]), tf.shape(y_pred)[:-1]

    def _explain(self, rows: np.ndarray) -> None:
        uncertainty.knowledge_uncertainty(**{self._name: rows})


@dataclasses.dataclass(frozen=True)
class _CrossEntropyScorer(_scorers.ClassScorer):
    """A score of the label, under the predictions of all members."""

    function: ClassVar[str]
    value: ClassVar[Callable[..., tf.Tensor]]
    ensemble_axis: int = 1

    def flatten(
        self, y_true: tf.Tensor, y_pred: tf.Tensor
    ) -> tuple[_scorers.Batch, tf.Tensor]:
        """Returns the batch, and the labels in the shape of its scores."""
        predictions = _members.members_before_classes(
            "y_pred", y_pred, self.ensemble_axis
        )
        batch, labels = super().flatten(y_true, predictions[..., 0, :])
        return _scorers.Batch(batch.labels, _members.flat_members(predictions)), labels

    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        members = Members(batch.predictions, self.from_logits)
        # What the labels must be does not depend on the member.
        examples = _inputs.examples(
            batch.labels,
            **{self._predictions: batch.predictions[:, 0]},
            ignore_index=self.ignore_index,
        )
        kept = None if examples.weights is None else examples.weights > 0
        return _scorers.ExampleScores(
            type(self).value(members, examples.labels),
            members.right & examples.right & examples.usable,
            kept,
        )

    def mistaken(self, batch: _scorers.Batch, live: tf.Tensor) -> tf.Tensor:
        return super().mistaken(
            batch._replace(predictions=batch.predictions[:, 0]), live
        )

    def explain(self, y_true: tf.Tensor, y_pred: tf.Tensor, live: tf.Tensor) -> None:
        batch, labels = self.flatten(y_true, y_pred)
        _labels.check_one_hot(y_true, labels)
        with _labels.keras_names(self._predictions):
            getattr(cross_entropy, self.function)(
                batch.labels,
                **{self._predictions: batch.predictions},
                sample_weight=np.reshape(live, [-1]),
                ignore_index=self.ignore_index,
            )


class _EnsembleCrossEntropy(_CrossEntropyScorer):
    function = "ensemble_cross_entropy"
    value = staticmethod(_members.ensemble_likelihoods)


class _GibbsCrossEntropy(_CrossEntropyScorer):
    function = "gibbs_cross_entropy"
    value = staticmethod(_members.gibbs_likelihoods)


class _Uncertainty(MeanScore):
    """A metric of the predictions alone."""

    @_base.adds_batch
    def update_state(
        self,
        y_true: TensorLike | None,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: anything of as many examples as `y_pred`, or None: it is not used.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the examples.
        """
        y_true = 0 if y_true is None else y_true
        self._update_by(self._scorer, y_true, y_pred, sample_weight)


class _OfMembers(_Uncertainty):
    """A metric of the predictions of all members."""

    _scorer_type: type[_MembersScorer]

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int | None = 1,
    ):
        scorer = self._scorer_type(from_logits, ensemble_axis)
        super().__init__(scorer, name or scorer.function, dtype)


@_base.register
class PredictiveEntropy(_OfMembers):
    """Entropy of the mean of the members, mean of all batches, in nats.

    The definition is that of the function `predictive_entropy`: the total uncertainty.
    `y_pred` holds probabilities or logits [N, M, K] of M members (or the axes of images
    between); `ensemble_axis=None` is for a single model, [..., K].

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`; None if there is none.

    Raises:
      ValueError: an argument is not as described. `update_state` raises it for a batch
        in eager execution and keeps its state; after such a batch in a compiled update
        the result is NaN until the reset.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.PredictiveEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> round(float(metric.result()), 6)
      0.693147

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    _scorer_type = _TotalEntropy


@_base.register
class ExpectedEntropy(_OfMembers):
    """Mean entropy of the members, mean of all batches, in nats.

    The definition is that of the function `expected_entropy`: the expected data
    uncertainty. `y_pred` holds probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.ExpectedEntropy()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    _scorer_type = _ExpectedEntropy


@_base.register
class MutualInformation(_OfMembers):
    """Mutual information of label and member, mean of all batches, in nats.

    The definition is that of the function `mutual_information`: the entropy of the mean
    less the mean of the entropies, which is what the members disagree on. `y_pred`
    holds probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MutualInformation()
      >>> metric.update_state(None, [[[1.0, 0.0], [0.0, 1.0]]])
      >>> metric.update_state(None, [[[0.5, 0.5], [0.5, 0.5]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Depeweg, Hernandez-Lobato, Doshi-Velez and Udluft (2018), Decomposition of
      Uncertainty in Bayesian Deep Learning.
    """

    _scorer_type = _Information


@_base.register
class EnsembleDisagreement(_OfMembers):
    """Share of the pairs of members that decide differently, mean of all batches.

    The definition is that of the function `ensemble_disagreement`. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.EnsembleDisagreement()
      >>> metric.update_state(None, [[[0.9, 0.1], [0.6, 0.4]]])
      >>> metric.update_state(None, [[[0.9, 0.1], [0.4, 0.6]]])
      >>> float(metric.result())
      0.5

    References:
      Kuncheva and Whitaker (2003), Measures of Diversity in Classifier Ensembles.
    """

    _scorer_type = _Disagreement


@_base.register
class MeanMemberUncertainty(_OfMembers):
    """One less the mean confidence of the members, mean of all batches.

    The definition is that of the function `mean_member_uncertainty`. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.MeanMemberUncertainty()
      >>> metric.update_state(None, [[[0.75, 0.25], [0.5, 0.5]]])
      >>> float(metric.result())
      0.375

    References:
      Hendrycks and Gimpel (2017), A Baseline for Detecting Misclassified and
      Out-of-Distribution Examples in Neural Networks, for the confidence.
    """

    _scorer_type = _MemberUncertainty


@_base.register
class VariationRatio(_OfMembers):
    """Share of the members that do not vote with the most, mean of all batches.

    The definition is that of the function `variation_ratio`, which says how that of
    torch-uncertainty differs. `y_pred` holds probabilities or logits [N, M, K] of M
    members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.VariationRatio()
      >>> votes = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
      >>> metric.update_state(None, [votes])
      >>> float(metric.result())
      0.25

    References:
      Freeman (1965), Elementary Applied Statistics.
    """

    _scorer_type = _VariationRatio


@_base.register
class KnowledgeUncertainty(_Uncertainty):
    """Mutual information of label and Dirichlet parameters, mean of all batches.

    The definition is that of the function `knowledge_uncertainty`, whose first value it
    is, in nats. `y_pred` holds the concentrations alpha [..., K], or their logarithms.

    Args:
      from_logits: whether `y_pred` holds logits, alpha = exp(logits).
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.KnowledgeUncertainty()
      >>> metric.update_state(None, [[1.0, 1.0]])
      >>> round(float(metric.result()), 6)
      0.193147

    References:
      Malinin and Gales (2018), Predictive Uncertainty Estimation via Prior Networks.
    """

    def __init__(
        self,
        from_logits: bool = False,
        name: str | None = "knowledge_uncertainty",
        dtype: Any = None,
    ):
        super().__init__(_Knowledge(from_logits), name, dtype)


class _CrossEntropy(MeanScore):
    """A metric of the labels under the predictions of all members."""

    _scorer_type: type[_CrossEntropyScorer]

    _direction = "down"

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        *,
        ensemble_axis: int = 1,
        sparse_labels: bool | None = None,
    ):
        scorer = self._scorer_type(
            from_logits, ignore_index, sparse_labels, ensemble_axis
        )
        super().__init__(scorer, name or scorer.function, dtype)


@_base.register
class EnsembleCrossEntropy(_CrossEntropy):
    """Negative log-likelihood of the mean of the members, mean of all batches, in nats.

    The definition is that of the function `ensemble_cross_entropy`. Members are on axis
    1: pass `ensemble_axis=0` for [M, N, K], or the value is WRONG where N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; of labels that are distributions the largest counts. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.EnsembleCrossEntropy()
      >>> metric.update_state([0], [[[0.9, 0.1], [0.1, 0.9]]])
      >>> round(float(metric.result()), 6)
      0.693147

    References:
      Lakshminarayanan, Pritzel and Blundell (2017), Simple and Scalable Predictive
      Uncertainty Estimation using Deep Ensembles.
    """

    _scorer_type = _EnsembleCrossEntropy


@_base.register
class GibbsCrossEntropy(_CrossEntropy):
    """Mean negative log-likelihood of the members, mean of all batches, in nats.

    The definition is that of the function `gibbs_cross_entropy`. Members are on axis 1:
    pass `ensemble_axis=0` for [M, N, K], or the value is WRONG where N = M.

    `y_true` holds integers in [0, K), shape [N] or [N, 1] (or more axes), or one-hot
    rows; of labels that are distributions the largest counts. `y_pred` holds
    probabilities or logits [N, M, K] of M members.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      ensemble_axis: axis of the members in `y_pred`.
      sparse_labels: whether labels are integers (True) or one-hot (False); by default
        the shape says.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.GibbsCrossEntropy()
      >>> metric.update_state([0], [[[0.5, 0.5], [1.0, 0.0]]])
      >>> round(float(metric.result()), 6)
      0.346574

    References:
      Masegosa (2020), Learning under Model Misspecification: Applications to
      Variational and Ensemble Methods.
    """

    _scorer_type = _GibbsCrossEntropy
