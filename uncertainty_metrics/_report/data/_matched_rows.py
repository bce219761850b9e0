"""The rows of models of the same examples, and the arguments of `um.compare`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Regression,
    ReportError,
)


def matched(
    models: Sequence[Model],
    names: Sequence[str],
    ids: Sequence[np.ndarray] | None = None,
    hint: str = "",
    *,
    answers_in_order: bool = False,
) -> dict[str, dict[str, Any]]:
    """Returns the arguments of each model by its name, all rows in the order of the
    first model.

    Args:
      models: the models.
      names: a name for each, all different.
      ids: the column that tells the rows of each model apart; by default questions, or
        else equal labels match the rows.
      hint: what to do if labels differ, a sentence.
      answers_in_order: whether answers without questions, which may differ in what is
        right, are taken for answers to the same questions in the same order.

    Raises:
      ReportError: the models have other rows, weights or members.
    """
    first = models[0]
    found = {}
    for index, (name, each) in enumerate(zip(names, models, strict=True)):
        model, order = _in_the_classes_of(first, each), None
        if index:
            of_both = None if ids is None else (ids[0], ids[index])
            if not (answers_in_order and _are_in_order(first, model)):
                order = _order(first, model, of_both, hint)
        found[name] = _arguments(model, order)
    return found


def _in_the_classes_of(first: Model, model: Model) -> Model:
    """Returns a classifier with its classes in the order of the first one's, if both
    have the same names of classes; and so the labels of several.

    Raises:
      ReportError: the labels of several have other names.
    """
    if isinstance(first, MultiLabel) and isinstance(model, MultiLabel):
        if {*first.names} != {*model.names}:
            raise ReportError(
                f"{model.source} has other labels than {first.source}: "
                + ", ".join(sorted({*first.names} ^ {*model.names}))
            )
        order = [model.names.index(name) for name in first.names]
        return dataclasses.replace(
            model,
            labels=model.labels[:, order],
            probabilities=model.probabilities[:, order],
            names=first.names,
        )
    if not (isinstance(first, Predictions) and isinstance(model, Predictions)):
        return model
    names = first.classes, model.classes
    if names[0] == names[1] or {*names[0]} != {*names[1]}:
        return model
    order = [names[1].index(name) for name in names[0]]
    if np.shape(model.values)[-1:] != (len(order),):
        return model
    return dataclasses.replace(
        model,
        labels=np.argsort(order)[model.labels],
        values=model.values[..., order],
        classes=names[0],
    )


def _are_in_order(first: Model, other: Model) -> bool:
    """Says if both are as many answers without questions."""
    return (
        isinstance(first, Confidences)
        and isinstance(other, Confidences)
        and first.questions is None
        and other.questions is None
        and len(first.correct) == len(other.correct)
    )


def _arguments(model: Model, order: np.ndarray | None) -> dict[str, Any]:
    """Returns the arguments of a model by name, its rows in this order."""
    file = model.source
    known = Predictions | Confidences | Regression | QuantileForecasts | MultiLabel
    if not isinstance(model, known) or getattr(model, "sums", None) is not None:
        raise ReportError(f"{file}: compare needs rows of predictions in one file")
    if model.sample_weight is not None:
        raise ReportError(f"{file}: compare takes no weights")
    if isinstance(model, Predictions):
        if model.is_ensemble:
            raise ReportError(f"{file}: compare takes no members of an ensemble")
        given = {"labels": model.labels, model.kind: model.values}
    elif isinstance(model, MultiLabel):
        given = {"labels": model.labels, "probabilities": model.probabilities}
    elif isinstance(model, Confidences):
        given = {"correct": model.correct, "confidences": model.confidences}
    elif isinstance(model, QuantileForecasts):
        given = {"labels": model.target}
        if model.samples is None:
            given["quantile_predictions"] = model.quantiles
        else:
            given["predictive_samples"] = model.samples
    else:
        spread = model.values if model.kind == "stddev" else np.sqrt(model.values)
        given = {"labels": model.target, "means": model.mean, "stddevs": spread}
    if order is not None:
        given = {name: np.asarray(values)[order] for name, values in given.items()}
    if isinstance(model, QuantileForecasts) and model.samples is None:
        given["quantiles"] = np.array(model.levels)
    return given


def _order(
    first: Model,
    other: Model,
    ids: tuple[np.ndarray, np.ndarray] | None,
    hint: str,
) -> np.ndarray | None:
    """Returns the rows of the other model in the order of the first; None if they are
    in this order.

    Raises:
      ReportError: the models hold other rows.
    """
    first_file, file = first.source, other.source
    if type(first) is not type(other):
        raise ReportError(f"{file} holds another kind of predictions than {first_file}")
    of_forecasts = None
    if isinstance(first, QuantileForecasts) and isinstance(other, QuantileForecasts):
        _check_levels(first, other)
        of_forecasts = _ids_of_forecasts(first, other)
    if ids is not None:
        one, two = (column.tolist() for column in ids)
    elif of_forecasts is not None:
        one, two = of_forecasts
    elif (
        isinstance(first, Confidences)
        and isinstance(other, Confidences)
        and first.questions is not None
        and other.questions is not None
    ):
        one, two = first.questions.values, other.questions.values
    else:
        if not np.array_equal(_outcomes(first), _outcomes(other)):
            raise ReportError(
                f"{file} holds other rows than {first_file}, or in another order: "
                f"their labels differ. {hint}"
            )
        return None
    place = {value: row for row, value in enumerate(two)}
    if len(place) < len(two) or len({*one}) < len(one):
        if one == two:
            return None
        raise ReportError(f"{file}: the ids of the rows repeat, so rows do not match")
    if place.keys() != {*one}:
        raise ReportError(
            f"{file} holds other rows than {first_file}: "
            f"{len(place.keys() ^ {*one})} ids are in one file only"
        )
    order = np.array([place[value] for value in one])
    if not isinstance(first, Confidences) and not np.array_equal(
        _outcomes(first), _outcomes(other)[order]
    ):
        raise ReportError(f"{file} has other labels than {first_file} for the same ids")
    return order


def _check_levels(first: QuantileForecasts, other: QuantileForecasts) -> None:
    """Raises ReportError unless both are of samples, or of the same quantiles."""
    kinds = [
        "samples"
        if model.samples is not None
        else f"quantiles of levels {', '.join(f'{level:g}' for level in model.levels)}"
        for model in (first, other)
    ]
    if kinds[0] != kinds[1]:
        raise ReportError(
            "forecasts are compared by samples, or by quantiles of the same levels. "
            f"Received: {kinds[0]} in {first.source}, and {kinds[1]} in {other.source}"
        )


def _ids_of_forecasts(
    first: QuantileForecasts, other: QuantileForecasts
) -> tuple[list[Any], list[Any]] | None:
    """Returns series, time and horizon of each row of both, as far as both have them;
    None if they do not tell the rows apart.
    """
    columns = [
        [np.asarray(getattr(model, name)).tolist() for model in (first, other)]
        for name in ("series", "times", "horizons")
        if getattr(first, name) is not None and getattr(other, name) is not None
    ]
    if not columns:
        return None
    one, two = (list(zip(*each, strict=True)) for each in zip(*columns, strict=True))
    return (one, two) if len({*one}) == len(one) else None


def _outcomes(model: Model) -> np.ndarray:
    """Returns the labels or targets of a model, or whether its answers are right."""
    if isinstance(model, Predictions | MultiLabel):
        return np.asarray(model.labels)
    if isinstance(model, Confidences):
        return np.asarray(model.correct)
    return np.asarray(getattr(model, "target", None))
