"""The base classes of streaming scoring rules.

They are weighted means of the score of each example. The state is a sum of scores and a
sum of weights, with the rounding errors of both, so that neither sum drifts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics.keras import (
    _base,
    _batches,
    _computed,
    _family,
    _groups,
    _images,
    _labels,
    _scorers,
)
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy._examples import Partition
from uncertainty_metrics.ops import (
    _classifier_scores,
    _inputs,
    _sums,
    to_numpy,
    xp,
)

if TYPE_CHECKING:
    from uncertainty_metrics.ops._typing import TensorLike

_Reduce = Callable[[Any, xp.Tensor, xp.Tensor], _sums.Sums]


def _counted(
    scorer: Any,
    known: xp.Tensor | None,
    batch: _scorers.Batch,
    weights: xp.Tensor | None,
) -> tuple[xp.Tensor, xp.Tensor, xp.Tensor]:
    """Returns the scores of a batch, 0 for examples that do not count, the weights, and
    whether the batch is valid.

    Args:
      scorer: computes the scores.
      known: boolean [N], whether the group of each example is right; None without
        groups.
      batch: the batch.
      weights: [N], or None for ones.
    """
    scores, right, not_ignored = scorer.scores(batch)
    if known is not None:
        right = right & known
    usable = xp.constant(True)
    if weights is None:
        weights = xp.ones_like(right, scores.dtype)
    else:
        usable = xp.reduce_all((weights >= 0) & (weights < float("inf")))
        weights = xp.cast(weights, scores.dtype)
    if not_ignored is not None:
        weights = xp.where(not_ignored, weights, xp.zeros_like(weights))
    counted = weights > 0
    valid = usable & ~scorer.mistaken(batch, counted) & xp.reduce_all(right | ~counted)
    used = xp.reshape(right & counted, [-1] + [1] * (len(scores.shape) - 1))
    return xp.where(used, scores, xp.zeros_like(scores)), weights, valid


def _image_sums(
    scorer: Any,
    known: int | None,
    batch: _scorers.Batch,
    weights: xp.Tensor | None,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of the mean scores of the images of a batch, and whether the
    batch is valid; `known` is the number of images, or None.
    """
    scores, weights, valid = _counted(scorer, None, batch, weights)
    number = _images.number_of(batch.groups, known)
    columns = xp.stack([weights, weights * scores], axis=1)
    hi, lo = _sums.segment_pair(columns, batch.groups, number)
    totals = xp.unstack(hi + lo)
    means = xp.math.divide_no_nan(totals[1], totals[0])
    return _images.mean_sums(means, totals[0] > 0), valid


def _batch_sums(
    scorers: tuple[Any, ...],
    reduce: _Reduce | None,
    num_groups: int | None,
    batch: _scorers.Batch,
    weights: xp.Tensor | None,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of a batch, and whether the batch is valid for each scorer.

    Args:
      scorers: compute the scores. The sums of several scorers follow each other.
      reduce: adds up the scores of a single scorer; None for the sum of the weights and
        the sum of the weighted scores.
      num_groups: number of groups, each of which has these sums; None for one group.
      batch: the batch.
      weights: [N], or None for ones.
    """
    groups = known = None
    if num_groups is not None:
        index, known = _inputs.integer_labels(batch.groups, num_groups)
        groups = Partition(index, num_groups)
    counted = [_counted(scorer, known, batch, weights) for scorer in scorers]
    scores, weights, valid = counted[0]
    if reduce is not None:
        return reduce(scorers[0], scores, weights), valid
    columns = [column for s, w, _ in counted for column in (w, s * w)]
    columns = xp.stack(columns, axis=1)
    if groups is None:
        hi, lo = _sums.total_pair(columns)
    else:
        pair = _classifier_scores.group_pair(groups, columns)
        hi, lo = (xp.reshape(part, [-1]) for part in pair)
    if len(counted) > 1:
        valid = xp.stack([valid for _, _, valid in counted])
    return _sums.Sums(None, hi, lo), valid


class ScoreMetric(_base.SumsMetric):
    """A metric of the scores of examples.

    Subclasses make the state. A metric that is not a mean also sets `_reduce`, which
    adds up the scores.

    Args:
      scorer: computes the scores; it has the options as attributes.
      name: name of the metric.
      dtype: "float64" for a float64 result.
      num_groups: number of groups of examples, or None.
      per_image: whether to average the values of images.
    """

    _reduce: _Reduce | None = None

    def __init__(
        self,
        scorer: Any,
        *,
        name: str | None,
        dtype: Any,
        num_groups: int | None = None,
        per_image: bool = False,
    ) -> None:
        self._scorer = scorer
        self.num_groups = _groups.checked_number(num_groups)
        self.per_image = _images.check(per_image, num_groups)
        super().__init__(name=name, dtype=dtype)

    @property
    def _same_sums(self) -> tuple[Any, ...]:
        groups = self.num_groups, self.per_image
        return type(self)._read, self._reduce, self._scorer, *groups

    @_batches.adds_batch
    def update_state(
        self,
        y_true: Any,
        y_pred: TensorLike,
        sample_weight: TensorLike | None = None,
    ) -> None:
        """Adds a batch.

        Args:
          y_true: labels, as the class describes them.
          y_pred: predictions, as the class describes them.
          sample_weight: finite and >= 0, broadcastable to the labels.
        """
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        return self._read_by(self._scorer, y_true, y_pred, sample_weight)

    def _read_by(
        self, scorer: Any, y_true: Any, y_pred: Any, sample_weight: Any
    ) -> _batches.Reading:
        """Reads a batch whose scores a scorer computes."""
        mask = _family.mask_of(y_pred)
        y_true, groups = _groups.labels_and_groups(y_true, self.num_groups)
        y_true = _inputs.as_tensor("y_true", y_true)
        y_pred = _inputs.as_tensor("y_pred", y_pred)
        batch, labels = scorer.flatten(y_true, y_pred)
        if groups is not None:
            groups = _inputs.like_each("groups", groups, labels)
            batch = batch._replace(groups=groups)
        known = None
        if self.per_image:
            images, known = _images.images_of(labels)
            images = _inputs.like_each("groups", images, labels)
            batch = batch._replace(groups=images)
        weights = _labels.flat_weights(sample_weight, mask, labels)

        def explain() -> None:
            _labels.check_weights(weights)
            counted: Any = np.ones(batch.labels.shape, bool)
            if weights is not None:
                counted = weights > 0
            scorer.explain(y_true, y_pred, counted)
            if self.num_groups is not None:
                given = to_numpy(groups)[to_numpy(counted).reshape(-1)]
                np_inputs.integer_labels("groups", given, self.num_groups)

        if self.per_image:
            return _batches.Reading(
                _image_sums,
                (scorer, known),
                (batch, weights),
                explain,
                shape=batch.predictions.shape[1:],
                compiled=scorer.compiled,
            )
        return _batches.Reading(
            _batch_sums,
            ((scorer,), self._reduce, self.num_groups),
            (batch, weights),
            explain,
            shape=batch.predictions.shape[1:],
            compiled=scorer.compiled,
            joinable=self._reduce is None,
        )

    def _option(self, name: str) -> Any:
        own = name in ("num_groups", "per_image")
        return getattr(self if own else self._scorer, name)


class MeanScore(ScoreMetric, _base.MeanMetric):
    """The mean of the scores, of all examples or of each group."""

    @property
    def _num_means(self) -> int:
        return self.num_groups or 1

    @_computed.in_one_call
    def result(self) -> Any:
        """Returns the mean over all batches, 0.0 before the first example that counts;
        for groups of examples a dict of their means, NaN for an empty group.
        """
        if self.num_groups is None:
            return super().result()
        means, some = self._means()
        nan = xp.constant(float("nan"), means.dtype)
        return _groups.results_by_name(self, xp.where(some, means, nan))


class NormalScore(MeanScore):
    """The mean of a score of Normal forecasts: parameters, or TFP distributions."""

    @_batches.adds_batch
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
        self._add(self._read(y_true, y_pred, sample_weight))

    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
    ) -> _batches.Reading:
        normal = _scorers.as_normal(y_pred)
        scorer = self._scorer
        if normal is not None:
            scorer = dataclasses.replace(scorer, scale_transform="identity")
            y_pred = xp.stack(normal, axis=-1)
        return self._read_by(scorer, y_true, y_pred, sample_weight)
