"""Metrics for `mlflow.models.evaluate`.

    from uncertainty_metrics.mlflow import make_metrics

No other module of the package needs or imports MLflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy.scorers import Scorer, make_scorers

if not TYPE_CHECKING:
    _optional.require("mlflow")

from mlflow.models import EvaluationMetric, make_metric

__all__ = ["make_metrics"]


def make_metrics(
    *metrics: str | Sequence[str],
    **options: Any,  # Of any of the metrics, and checked against their signatures.
) -> list[EvaluationMetric]:
    """Metrics for `extra_metrics` of `mlflow.models.evaluate`.

    The column of predictions holds P(class 1) of two classes, one number in each row;
    or the probabilities of K classes, a list in each row. The targets are the numbers
    of the classes, from 0.

    Args:
      *metrics: names of functions of labels and probabilities that return one number,
        such as "ece" or "aurc", or a list of them; by default those of
        `um.make_scorers`, which says how each reads two classes.
      **options: options of the functions, such as `num_bins=20`; `positive_class=True`
        for errors of P(class 1) instead of the decisions. Each metric gets those that
        its function has.

    Returns:
      A list of MLflow's `EvaluationMetric`, with the names of the functions. Values
      have their own sign, and MLflow is told which are better if they are larger.

    Raises:
      ValueError: a name is not that of such a function, or an option is none of theirs.

    Example:
      >>> from uncertainty_metrics.mlflow import make_metrics
      >>> made = make_metrics("accuracy", "ece")
      >>> [(each.name, each.greater_is_better) for each in made]
      [('accuracy', True), ('ece', False)]
    """
    return [
        make_metric(
            eval_fn=_function(scorer),
            greater_is_better=scorer.larger_is_better,
            name=scorer.metric,
        )
        for scorer in make_scorers(*metrics, **options).values()
    ]


def _function(scorer: Scorer) -> Any:
    def eval_fn(predictions: Any, targets: Any) -> float:
        p = _inputs.as_array("predictions", predictions)
        if p.ndim == 1 or p.shape[1] == 1:
            p = p.reshape(-1)
            p = np.stack([1 - p, p], axis=1)
        return scorer.value(_inputs.as_array("targets", targets), p)

    return eval_fn
