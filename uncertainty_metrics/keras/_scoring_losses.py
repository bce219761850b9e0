"""The base classes of losses that are the mean of the scores of a scorer."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from uncertainty_metrics.keras import _family, _labels, _loss, _scorers
from uncertainty_metrics.ops import _execution, _inputs, xp

if TYPE_CHECKING:
    from typing_extensions import Self

    from uncertainty_metrics.ops._typing import TensorLike


class ScoringLoss(_loss.Loss):
    """The mean of the scores of a scorer, which is a dataclass of the options."""

    def __init__(
        self,
        scorer: Any,
        *,
        reduction: _loss.Reduction,
        name: str | None,
        dtype: Any,
    ) -> None:
        self._scorer = scorer
        super().__init__(reduction, name, dtype)

    @_execution.not_converted
    def call(self, y_true: TensorLike, y_pred: TensorLike) -> xp.Tensor:
        """Returns the score of each example."""
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = self._cast(_inputs.as_tensor("y_pred", y_pred))
        batch, labels = self._scorer.flatten(y_true, y_pred)
        scores, right, not_ignored = self._scored(batch, labels)
        counted = xp.ones_like(right) if not_ignored is None else not_ignored
        right = right | ~counted
        # Only eager code looks for probabilities that are passed as logits: in a graph,
        # the answer NaN would end a training.
        if _execution.is_eager() and (
            not xp.reduce_all(right) or self._scorer.mistaken(batch, counted)
        ):
            self._scorer.explain(y_true, y_pred, counted)
        scores = xp.where(right, scores, xp.constant(float("nan"), scores.dtype))
        if not_ignored is None:
            return xp.reshape(scores, xp.shape(labels))
        scores = xp.where(not_ignored, scores, xp.zeros_like(scores))
        scores = xp.reshape(scores, xp.shape(labels))
        # Keras leaves masked scores out of the mean.
        _family.set_mask(scores, xp.reshape(not_ignored, xp.shape(labels)))
        return scores

    def _align_weights(self, batch: dict[str, Any]) -> None:
        # Keras would multiply scores [n, t] by weights [t], and scores [1] by [n].
        y_pred = _inputs.as_tensor("y_pred", batch["y_pred"])
        labels = self._scorer.flatten(batch["y_true"], y_pred)[1]
        weights = batch["sample_weight"]
        aligned = _inputs.aligned("sample_weight", weights, labels)
        if len(weights.shape) != len(labels.shape) + 1:  # Keras takes [..., 1].
            batch["sample_weight"] = aligned

    def _with(self, **changed: Any) -> Self:
        """Returns a copy of this loss in which some attributes are changed.

        The copy has all other attributes, even those that `fit` of tf_keras has set.
        """
        loss = object.__new__(type(self))
        loss.__dict__.update(vars(self), **changed)
        return loss

    def _scored(
        self, batch: _scorers.Batch, labels: xp.Tensor
    ) -> _scorers.ExampleScores:
        """Returns the scores of a batch; `labels` have the shape of the loss."""
        del labels
        return self._scorer.scores(batch)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), **dataclasses.asdict(self._scorer)}


class NormalLoss(ScoringLoss):
    """A loss of Normal forecasts: parameters [..., 2], or a TFP distribution."""

    def __call__(
        self,
        y_true: TensorLike,
        y_pred: Any,
        sample_weight: TensorLike | None = None,
    ) -> xp.Tensor:
        """Returns the loss, reduced."""
        normal = _scorers.as_normal(y_pred)
        if normal is None:
            return super().__call__(y_true, y_pred, sample_weight)
        # Keras would turn the distribution into a tensor, a random sample.
        parameters = xp.stack(normal, axis=-1)
        _family.set_mask(parameters, _family.mask_of(y_pred))
        scorer = dataclasses.replace(self._scorer, scale_transform="identity")
        return self._with(_scorer=scorer)(y_true, parameters, sample_weight)


class PenalizedLoss(ScoringLoss):
    """A loss with a penalty of the batch, in which examples count by their weights."""

    # The weights and the mask of the call.
    _weights_and_mask: tuple[Any, Any] = None, None

    def __call__(
        self, y_true: TensorLike, y_pred: Any, sample_weight: TensorLike | None = None
    ) -> xp.Tensor:
        """Returns the loss, reduced."""
        loss = self._with(_weights_and_mask=(sample_weight, _family.mask_of(y_pred)))
        return super(PenalizedLoss, loss).__call__(y_true, y_pred, sample_weight)

    def _scored(
        self, batch: _scorers.Batch, labels: xp.Tensor
    ) -> _scorers.ExampleScores:
        weights = _labels.flat_weights(*self._weights_and_mask, labels)
        if weights is not None:
            weights = _inputs.checked_weights(weights)
        return self._scorer.scores(batch, weights)
