"""Names as page, pictures, text and JSON show them: without invisible characters.

A name may hold characters that control a terminal or reverse the direction of writing,
that XML does not allow, or that no encoding of Unicode can hold. All that a report says
comes from the names in its models, so they are escaped once, before it is made.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Model,
    MultiLabel,
    Predictions,
    Stream,
    visible,
)

AnyModel = TypeVar("AnyModel", bound=Model)


def shown(model: AnyModel) -> AnyModel:
    """Returns a model with its names escaped: of itself, columns, classes and groups.

    Different names stay different.
    """
    left_out = tuple(map(visible, model.left_out))
    changed: dict[str, Any] = {"source": visible(model.source), "left_out": left_out}
    if isinstance(model, Stream):
        changed["summary"] = copy.copy(model.summary)
        changed["summary"].class_names = _each(model.summary.class_names)
        if model.sample is not None:
            changed["sample"] = shown(model.sample)
        return dataclasses.replace(model, **changed)
    changed["notes"] = tuple(map(visible, model.notes))
    if isinstance(model, Predictions):
        changed["classes"] = _each(model.classes)
    if isinstance(model, MultiLabel):
        changed["names"] = _each(model.names)
    if isinstance(model, Predictions | Confidences):
        changed["groups"] = _groups(model.groups)
        changed["features"] = _groups(model.features)
    clusters = getattr(model, "clusters", None)
    if clusters is not None:
        changed["clusters"] = clusters._replace(name=visible(clusters.name))
    return dataclasses.replace(model, **changed)


def _groups(groups: Mapping[str, Any]) -> dict[str, Any]:
    columns = map(_values, groups.values())
    return dict(zip(_each(groups), columns, strict=True))


def _values(values: Any) -> Any:
    """Returns the values of an attribute; an array of objects if some are escaped."""
    is_list = isinstance(values, list | tuple)
    column = np.asarray(values, object if is_list else None)
    if column.dtype.kind not in "OU":
        return values
    found = column.reshape(-1).tolist()
    words = sorted({value for value in found if isinstance(value, str)})
    escaped = dict(zip(words, _each(words), strict=True))
    if all(word == name for word, name in escaped.items()):
        return values
    result = np.empty(len(found), object)
    result[:] = [escaped[v] if isinstance(v, str) else v for v in found]
    return result.reshape(column.shape)


def _each(names: Iterable[str]) -> tuple[str, ...]:
    """Returns different names escaped; they stay different."""
    names = tuple(names)
    taken, result = set(names), []
    for name in names:
        escaped = visible(name)
        while escaped != name and escaped in taken:
            escaped += "'"
        taken.add(escaped)
        result.append(escaped)
    return tuple(result)
