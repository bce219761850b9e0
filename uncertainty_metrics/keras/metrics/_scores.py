"""The base classes of streaming scoring rules.

All but the decomposition are weighted means of the score of each example. The state is
a sum of scores and a sum of weights, with the rounding errors of both, so that neither
sum drifts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics.keras import (
    _base,
    _batches,
    _computed,
    _family,
    _groups,
    _labels,
    _scorers,
    _variables,
)
from uncertainty_metrics.keras.metrics._classes import ClassMetric
from uncertainty_metrics.numpy import _inputs as np_inputs
from uncertainty_metrics.numpy._examples import Partition
from uncertainty_metrics.numpy.scoring import (
    brier_decompositions as np_brier_decompositions,
)
from uncertainty_metrics.ops import (
    _classifier_scores,
    _inputs,
    _refined_likelihood,
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


def _decomposition_sums(
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of `decomposition_sums`, and whether the batch is valid."""
    examples = _labels.examples(predictions, ignore_index, *data)
    return _classifier_scores.decomposition_sums(examples)[:2]


class ScoreMetric(_base.SumsMetric):
    """A metric with a scorer, whose options are the arguments of the constructor.

    Subclasses set `_scorer_type` and make the state. A metric that is not a mean also
    sets `_reduce`, which adds up the scores.
    """

    _options: dict[str, Any]
    _reduce: _Reduce | None = None
    _scorer_type: Callable[..., Any]
    num_groups: int | None = None

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        self.num_groups = options.pop("num_groups", None)
        self._scorer = scorer = self._scorer_type(**options)
        super().__init__(name=name or getattr(scorer, "function", None), dtype=dtype)

    @property
    def _same_sums(self) -> tuple[Any, ...]:
        return type(self)._read, self._reduce, self._scorer, self.num_groups

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

        return _batches.Reading(
            _batch_sums,
            ((scorer,), self._reduce, self.num_groups),
            (batch, weights),
            explain,
            shape=batch.predictions.shape[1:],
            compiled=scorer.compiled,
            joinable=self._reduce is None,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        options = self._options.keys() - {"name", "dtype", "num_groups"}
        own = {name: getattr(self._scorer, name) for name in sorted(options)}
        if "num_groups" in self._options:
            own["num_groups"] = self.num_groups
        return {**super().get_config(), **own}


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
            scorer = self._scorer_type("identity")
            y_pred = xp.stack(normal, axis=-1)
        return self._read_by(scorer, y_true, y_pred, sample_weight)


def _node_sums(scorer: Any, margins: xp.Tensor, weights: xp.Tensor) -> _sums.Sums:
    del scorer
    return _sums.Sums(None, *_refined_likelihood.node_sums(margins, weights))


class RefinedMetric(ScoreMetric):
    """The likelihood at the best temperature, from sums at some temperatures."""

    _reduce = staticmethod(_node_sums)
    _scorer_type = _scorers.Margins
    _warned_of_end = ""

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        super()._set_up(name, dtype, **options)
        self._build_sums((_refined_likelihood.SIZE,))

    def _minimum(self) -> _refined_likelihood.Minimum:
        sums, valid = self._read_sums()
        minimum = _refined_likelihood.minimum(sums, self._result_dtype)
        nan = xp.constant(float("nan"), self._result_dtype)
        return _refined_likelihood.Minimum(
            *(xp.where(valid, part, nan) for part in minimum)
        )

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the least negative log-likelihood; 0.0 before the first example that
        counts.
        """
        return self._minimum().value

    @property
    @_computed.in_64_bits
    def temperature(self) -> xp.Tensor:
        """The best temperature, in [1/16, 16]; inf if it is above, 0.0 if below."""
        return self._minimum().temperature

    @property
    @_computed.in_64_bits
    def calibration_part(self) -> xp.Tensor:
        """The negative log-likelihood at temperature 1 minus the refined one, >= 0."""
        return self._minimum().calibration_part

    def _warn_if_nan(self, invalid: int, exact: bool) -> None:
        super()._warn_if_nan(invalid, exact)
        if invalid or not exact:
            return
        _, units, hi, lo = map(to_numpy, map(_variables.read, self._state))
        beyond = _refined_likelihood.beyond(units.astype(np.float64) + hi + lo)
        if beyond not in ("", self._warned_of_end):
            self._warned_of_end = beyond
            warnings.warn(
                f"The best temperature of {type(self).__name__} {self.name!r} is "
                f"{beyond}.",
                RuntimeWarning,
                stacklevel=5,
            )

    def _set_all(self, variables: list[Any], values: list[Any]) -> None:
        super()._set_all(variables, values)
        self._warned_of_end = ""


class DecompositionMetric(ClassMetric):
    """The parts of the Brier score, from exact sums."""

    _has_direction = False
    _batch_sums = staticmethod(_decomposition_sums)
    _explain = staticmethod(np_brier_decompositions.brier_decomposition)
    num_classes: int | None
    exact: bool

    def _set_up(self, name: str | None, dtype: Any, **options: Any) -> None:
        super()._set_up(name, dtype, **options)
        if self.num_classes is not None:
            self._build(self.num_classes)

    def _build(self, num_classes: int) -> None:
        # A row for each decision: a batch changes only the rows of its decisions.
        self._build_sums((num_classes, 2 * num_classes + 2))
        self._classes = num_classes

    @property
    def _num_results(self) -> int:
        return 5 if self.exact else 3

    def _swap_layout(self, array: np.ndarray) -> np.ndarray:
        return array.T  # Saved states have a column for each decision.

    def _counts_are_exact(self, units: xp.Tensor) -> xp.Tensor:
        return xp.reduce_max(units[:, 0]) < _sums.MAX_COUNT

    @_computed.in_one_call
    def result(self) -> dict[str, xp.Tensor]:
        """Returns the parts by name; all 0.0 before the first example that counts."""
        dtype = self._result_dtype
        if not self._has_sums:
            totals, valid = xp.zeros([1, 4], dtype), self._read_valid()
        else:
            sums, valid = self._read_sums()
            totals = _sums.totals(sums, dtype)
        vertices = xp.eye(totals.shape[0], dtype=xp.bool)
        parts = _classifier_scores.decomposition_parts(totals, vertices)[self.exact]
        nan = xp.constant(float("nan"), dtype)
        return {
            name: xp.where(valid, part, nan) for name, part in parts._asdict().items()
        }
