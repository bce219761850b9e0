"""Scorers of the predictions of all members of an ensemble."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _batches, _labels, _scorers
from uncertainty_metrics.keras.metrics._scores import MeanScore
from uncertainty_metrics.numpy.ensemble import _predictions, uncertainty
from uncertainty_metrics.ops import _inputs, _members, to_numpy, xp
from uncertainty_metrics.ops._members import Members

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike


@dataclasses.dataclass(frozen=True)
class UncertaintyScorer:
    """A scorer of predictions without labels; `_scorers` says what a scorer is."""

    compiled: ClassVar[bool] = True
    from_logits: bool = False

    def __post_init__(self) -> None:
        _checks.boolean("from_logits", self.from_logits)

    def flatten(
        self, y_true: xp.Tensor, y_pred: xp.Tensor
    ) -> tuple[_scorers.Batch, xp.Tensor]:
        """Returns the batch, and zeros as labels, in the shape of its scores."""
        rows, shape = self._rows(y_pred)
        labels = xp.zeros(shape, xp.int32)
        given, expected = tuple(y_true.shape[:1]), tuple(labels.shape[:1])
        if len(given) == 1 and given != expected and None not in given + expected:
            raise _checks.error(
                "y_true",
                f"as many examples as `y_pred`, {[*expected, 1][0]}",
                f"shape {list(y_true.shape)}",
                verb="hold",
            )
        if len(given) == 1 and None in given + expected:
            # As many as in `y_true`, so that a graph compares the numbers.
            shape = xp.concat([xp.shape(y_true)[:1], shape[1:]], axis=0)
            labels = xp.zeros(shape, xp.int32)
        return _scorers.Batch(xp.reshape(labels, [-1]), rows), labels

    def mistaken(self, batch: _scorers.Batch, counted: xp.Tensor) -> xp.Tensor:
        del batch, counted
        return xp.constant(False)

    def explain(self, y_true: xp.Tensor, y_pred: xp.Tensor, counted: xp.Tensor) -> None:
        rows, _ = self._rows(y_pred)
        with _labels.keras_names(self._name):
            self._explain(to_numpy(rows)[to_numpy(counted)])

    @property
    def _name(self) -> str:
        return "logits" if self.from_logits else "probabilities"

    def _rows(self, y_pred: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        """Returns predictions [N, ...] and the shape of the scores."""
        raise NotImplementedError

    def _explain(self, rows: np.ndarray) -> None:
        """Raises the ValueError that says what is wrong with predictions [N, ...]."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class MembersScorer(UncertaintyScorer):
    """A scorer whose scores are a function of `Members`.

    Attributes:
      value: this function.
      numpy_function: has the same checks, and raises the error.
    """

    ensemble_axis: int | None = 1
    value: Callable[..., xp.Tensor] = dataclasses.field(kw_only=True)
    numpy_function: Callable[..., object] = dataclasses.field(kw_only=True)

    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        members = Members(batch.predictions, self.from_logits)
        return _scorers.ExampleScores(self.value(members), members.right)

    def mistaken(self, batch: _scorers.Batch, counted: xp.Tensor) -> xp.Tensor:
        return Members(batch.predictions, self.from_logits).mistaken(counted)

    def _rows(self, y_pred: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        if self.ensemble_axis is None:
            _predictions.check_shape("y_pred", y_pred.shape)
            predictions = y_pred[..., None, :]
        else:
            predictions = _members.members_before_classes(
                "y_pred", y_pred, self.ensemble_axis
            )
        return _members.flat_members(predictions), xp.shape(predictions)[:-2]

    def _explain(self, rows: np.ndarray) -> None:
        self.numpy_function(**{self._name: rows})


@dataclasses.dataclass(frozen=True)
class Knowledge(UncertaintyScorer):
    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        values = xp.cast(batch.predictions, _inputs.sum_dtype(batch.predictions))
        parts, right = _members.dirichlet_parts(values, self.from_logits)
        return _scorers.ExampleScores(parts[0], right)

    @property
    def _name(self) -> str:
        return "logits" if self.from_logits else "alphas"

    def _rows(self, y_pred: xp.Tensor) -> tuple[xp.Tensor, xp.Tensor]:
        _predictions.check_shape("y_pred", y_pred.shape, size=2)
        return xp.reshape(y_pred, [-1, y_pred.shape[-1]]), xp.shape(y_pred)[:-1]

    def _explain(self, rows: np.ndarray) -> None:
        uncertainty.knowledge_uncertainty(**{self._name: rows})


@dataclasses.dataclass(frozen=True)
class CrossEntropyScorer(_scorers.ClassScorer):
    """A score of the label, under the predictions of all members.

    Attributes:
      value: a function of `Members` and labels, the scores.
      numpy_function: has the same checks, and raises the error.
    """

    ensemble_axis: int = 1
    value: Callable[..., xp.Tensor] = dataclasses.field(kw_only=True)
    numpy_function: Callable[..., object] = dataclasses.field(kw_only=True)

    def flatten(
        self, y_true: xp.Tensor, y_pred: xp.Tensor
    ) -> tuple[_scorers.Batch, xp.Tensor]:
        """Returns the batch, and the labels in the shape of its scores."""
        predictions = _members.members_before_classes(
            "y_pred", y_pred, self.ensemble_axis
        )
        batch, labels = super().flatten(y_true, predictions[..., 0, :])
        return _scorers.Batch(batch.labels, _members.flat_members(predictions)), labels

    def scores(self, batch: _scorers.Batch) -> _scorers.ExampleScores:
        members = Members(batch.predictions, self.from_logits)
        # Labels are checked against one member, as all members have the same classes.
        examples = _inputs.examples(
            batch.labels,
            **{self._predictions: batch.predictions[:, 0]},
            ignore_index=self.ignore_index,
        )
        not_ignored = None if examples.weights is None else examples.weights > 0
        return _scorers.ExampleScores(
            self.value(members, examples.labels),
            members.right & examples.right & examples.usable,
            not_ignored,
        )

    def mistaken(self, batch: _scorers.Batch, counted: xp.Tensor) -> xp.Tensor:
        return super().mistaken(
            batch._replace(predictions=batch.predictions[:, 0]), counted
        )

    def explain(self, y_true: xp.Tensor, y_pred: xp.Tensor, counted: xp.Tensor) -> None:
        batch, labels = self.flatten(y_true, y_pred)
        _labels.check_one_hot(y_true, labels)
        with _labels.keras_names(self._predictions):
            self.numpy_function(
                to_numpy(batch.labels),
                **{self._predictions: to_numpy(batch.predictions)},
                sample_weight=to_numpy(counted).reshape(-1),
                ignore_index=self.ignore_index,
            )


class UncertaintyMetric(MeanScore):
    """A metric of the predictions alone."""

    @_batches.adds_batch
    def update_state(
        self,
        y_true: TensorLike | None,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: not used: None, or anything with as many examples as `y_pred`.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the examples.
        """
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        y_true = 0 if y_true is None else y_true
        return super()._read(y_true, y_pred, sample_weight)
