"""Answers with grades beside answers that are right or wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    has_grades,
)


def alike(models: Sequence[Model]) -> list[Model]:
    """Returns the models, all with grades if some have grades: right is the grade 1.

    Of two models that are compared, one may happen to have no grade between 0 and 1.
    """
    if not any(map(has_grades, models)):
        return [*models]
    return [
        dataclasses.replace(
            model, correct=np.asarray(model.correct, np.float64), are_graded=True
        )
        if isinstance(model, Confidences) and not model.are_graded
        else model
        for model in models
    ]
