"""The forecasts of a regression: errors, variances and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import Regression, remembered
from uncertainty_metrics.numpy.regression import _forecasts


@remembered
def forecasts_of(model: Regression) -> _forecasts.Forecasts:
    """Returns the errors, variances and weights of the examples of positive weight.

    Raises:
      TypeError, ValueError: an argument is not valid; the message uses the name of the
        argument in the file.
    """
    return _forecasts.checked_forecasts(
        model.mean,
        model.values,
        model.target,
        sample_weight=model.sample_weight,
        names=("mean", model.kind),
    )


def normal_arguments(forecasts: _forecasts.Forecasts) -> dict[str, Any]:
    """Returns the data as arguments of the metrics.

    The metrics depend only on errors and variances, so the predictions are 0 and the
    targets are the errors. Weights are at most 1, so that their squares do not
    overflow.
    """
    weights = forecasts.weights
    return {
        "predictions": np.zeros_like(forecasts.errors),
        "uncertainties": forecasts.variances,
        "targets": forecasts.errors,
        "sample_weight": None if weights is None else weights / weights.max(),
    }


def triples_of(models: dict[str, Regression]) -> dict[str, tuple[Any, ...]]:
    """Returns predictions, variances and targets by the names of the models."""
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    return {name: tuple(of_model.values())[:3] for name, of_model in data.items()}
