"""Accuracy on tensors, eager or compiled.

Declared in `uncertainty_metrics.numpy.selective.accuracy`.
"""

from __future__ import annotations

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy.selective import accuracy as np_accuracy
from uncertainty_metrics.ops import _classifier_scores, _decisions, _inputs, xp
from uncertainty_metrics.tensors._twin import twin

__all__ = ["accuracy"]


@twin(np_accuracy.accuracy, data=ClassifierData)
def accuracy(data):
    examples = _inputs.examples_of(data)
    decisions, _, right = _decisions.decisions(examples.probabilities)
    if examples.predicted is not None:
        decisions = examples.predicted
    hits = xp.cast(decisions == examples.labels, examples.dtype)
    return _classifier_scores.reduced(
        examples, hits, right, aggregate=True, largest=False
    )
