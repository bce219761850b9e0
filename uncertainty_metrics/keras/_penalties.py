"""Scorers of classifiers that add a penalty of the whole batch to proper scores."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, get_args

from uncertainty_metrics import _checks
from uncertainty_metrics.keras import _scorers
from uncertainty_metrics.numpy.scoring import scoring_rules as np_scoring_rules
from uncertainty_metrics.ops import (
    _classifier_scores,
    _decisions,
    _inputs,
    _penalties,
    xp,
)

ProperLoss = Literal["nll", "brier", None]
SoftNorm = Literal["l1", "l2"]
# As in the cross-entropy of Keras; gradients of smaller ones could be infinite.
_LEAST_PROBABILITY = 1e-7


def _number(name: str, value: Any, least: float) -> float:
    number = _checks.number(value)
    if not least <= number < math.inf:
        raise _checks.error(name, f"a finite number >= {least}", repr(value))
    return number


@dataclasses.dataclass(frozen=True)
class Penalized(_scorers.ClassScorer):
    """The proper score of each example, and `weight` times the penalty of the batch."""

    _numpy_function = staticmethod(np_scoring_rules.negative_log_likelihood)
    weight: float = 0.0  # An argument that the losses require.
    proper_loss: ProperLoss = "nll"

    def __post_init__(self):
        super().__post_init__()
        self._check("weight", 0)
        _checks.one_of("proper_loss", self.proper_loss, get_args(ProperLoss))

    def _check(self, option: str, least: float) -> None:
        """Raises ValueError unless the option is a finite number >= `least`."""
        value = _number(option, getattr(self, option), least)
        object.__setattr__(self, option, value)

    def scores(
        self, batch: _scorers.Batch, weights: xp.Tensor | None = None
    ) -> _scorers.ExampleScores:
        """Returns the scores plus the penalty, in which examples have `weights` [N]."""
        examples, targets = self.read(batch)
        dtype, labels = examples.dtype, examples.labels
        decisions, confidences, right = _decisions.decisions(
            xp.cast(examples.probabilities, dtype)
        )
        right = right & examples.right & examples.usable
        if targets is None:
            outcomes = xp.cast(decisions == labels, dtype)
        else:
            outcomes = _inputs.take(targets, decisions)
        if weights is None:
            weights = xp.ones_like(confidences)
        weights = xp.cast(weights, dtype)
        not_ignored = None
        if examples.weights is not None:
            not_ignored = examples.weights > 0
            weights = xp.where(not_ignored, weights, xp.zeros_like(weights))
        counts = right | (weights == 0)
        safe = xp.where(right, confidences, xp.ones_like(confidences))
        penalty = self.weight * self._penalty(safe, outcomes, weights)
        nan = xp.constant(float("nan"), dtype)
        penalty = xp.where(xp.reduce_all(counts), penalty, nan)
        scores, scored = self._scores(examples, targets)
        return _scorers.ExampleScores(scores + penalty, right & scored, not_ignored)

    def _scores(self, examples, targets):
        if self.proper_loss is None:
            zeros = xp.zeros_like(examples.labels, dtype=examples.dtype)
            return zeros, xp.constant(True)
        if self.proper_loss == "brier":
            return _classifier_scores.brier_scores(examples, False, targets)
        if not examples.from_logits:
            p = xp.maximum(examples.predictions, _LEAST_PROBABILITY)
            examples = dataclasses.replace(examples, predictions=p)
        return _classifier_scores.likelihood_scores(examples, targets)

    def _penalty(
        self, confidences: xp.Tensor, outcomes: xp.Tensor, weights: xp.Tensor
    ) -> xp.Tensor:
        """Returns the penalty of a batch, a scalar.

        Args:
          confidences: [N], 1 where an example is wrong.
          outcomes: [N], 1 where the decision is right; or the target of the decision.
          weights: [N].
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class SoftCalibration(Penalized):
    num_bins: int = 15
    temperature: float = 0.01
    norm: SoftNorm = "l2"

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "num_bins", _checks.bins("num_bins", self.num_bins))
        self._check("temperature", 1e-6)
        _checks.one_of("norm", self.norm, get_args(SoftNorm))

    def _penalty(self, confidences, outcomes, weights):
        return _penalties.soft_binned_error(
            *(confidences, outcomes, weights),
            *(self.num_bins, self.temperature, self.norm),
        )


@dataclasses.dataclass(frozen=True)
class KernelCalibration(Penalized):
    bandwidth: float = 0.2

    def __post_init__(self):
        super().__post_init__()
        self._check("bandwidth", _penalties.MIN_BANDWIDTH)

    def _penalty(self, confidences, outcomes, weights):
        return _penalties.kernel_error(confidences, outcomes, weights, self.bandwidth)
