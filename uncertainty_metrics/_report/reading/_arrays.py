"""Makes the predictions of a report from the arrays and data frames of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Kind,
    Model,
    MultiLabel,
    QuantileForecasts,
    Regression,
    Spread,
)
from uncertainty_metrics._report.data._quantile_rows import checked_levels
from uncertainty_metrics._report.data._sampled_forecasts import of_samples
from uncertainty_metrics._report.data._time_blocks import (
    in_blocks_of_time,
    numbers_of_times,
)
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._answers_from_columns import answers_of
from uncertainty_metrics._report.reading._classifier_from_columns import classified
from uncertainty_metrics._report.reading._column_names import Choice, listed
from uncertainty_metrics._report.reading._ignored_rows import is_kept, needs_classifier
from uncertainty_metrics._report.reading._label_columns import multilabel_of
from uncertainty_metrics._report.reading._survival_from_columns import (
    ARGUMENTS,
    survival_of_arguments,
)
from uncertainty_metrics._report.reading._votes import decisions_on_votes
from uncertainty_metrics.numpy import _frames, _inputs, _missing, class_names

_SPREADS: dict[str, Spread] = {"stddevs": "stddev", "variances": "variance"}


def model_of(
    name: str,
    labels: Any,
    given: Mapping[str, Any],
    sample_weight: Any,
    classes: Sequence[Any] | None,
    groups: Any = None,
    clusters: Any = None,
    multilabel: bool = False,
    audit: Any = None,
    ignore_index: int | None = None,
) -> Model:
    """Returns the predictions in the arguments of `um.report`.

    Args:
      name: the name of the model.
      labels: the true values.
      given: predictions, by the names of the arguments.
      sample_weight: weights of the examples, or None.
      classes: names of the classes, or None.
      groups: attributes of the examples, or None.
      clusters: ids of the clusters of the examples, or None.
      multilabel: whether each example has several labels.
      audit: True to search for groups by the attributes; or the features to search by.
      ignore_index: the label of the examples that do not count, or None.

    Raises:
      ValueError, TypeError: an argument is not as described.
    """
    ignored = _checks.ignored_label("ignore_index", ignore_index)
    of_classes = {*given} <= {"probabilities", "logits"} and labels is not None
    if ignored is not None and (multilabel or not of_classes):
        raise needs_classifier()
    others = {"sample_weight": sample_weight, "groups": groups, "clusters": clusters}
    _frames.check_order({"labels": labels, **given, **others, "audit": audit})
    weight = None
    if sample_weight is not None:
        weight = _inputs.as_array("sample_weight", _of_frame(sample_weight))
    names = sorted(given)
    features = _features(groups, audit)
    if features and (multilabel or {*names} & {*ARGUMENTS, "means"}):
        raise ValueError(
            "`audit` needs a classifier of one label, or answers with confidences"
        )
    if multilabel:
        return _multilabel(name, labels, given, weight, classes, groups, clusters)
    if "label_distributions" in given:
        return decisions_on_votes(
            *(name, labels, given, weight, classes),
            groups=_groups(groups),
            clusters=_clusters(clusters),
            features=features,
        )
    if {"quantiles", "samples", "levels", "horizons"} & {*names}:
        if groups is not None or classes is not None or features:
            raise ValueError(
                "Forecasts by quantiles or samples take no `classes`, `groups` or "
                f"`audit`. Received: {listed(names)} and others"
            )
        return _quantiles(name, labels, given, weight, clusters)
    if {*ARGUMENTS} & {*names}:
        if clusters is not None:
            raise _checks.error("clusters", "None for a survival model", "clusters")
        if labels is not None or groups is not None or classes is not None:
            raise ValueError(
                "A survival model takes no `labels`, `classes` or `groups`. Received: "
                f"{listed(names)} and others"
            )
        arrays = {key: _flat(value) for key, value in given.items()}
        return survival_of_arguments(name, arrays, weight)
    if {"correct", "confidences", "answers"} & {*names}:
        return _answers(name, labels, given, weight, groups, clusters, features)
    if labels is None:
        raise ValueError(
            "Either `labels` with predictions, or `correct` with `confidences` must be "
            f"given. Received: {listed(names)}"
        )
    if len(names) == 2 and names[0] == "means" and names[1] in _SPREADS:
        kind = _SPREADS[names[1]]
        mean, spread, target = (
            _inputs.as_array(key, _flat(value))
            for key, value in (*sorted(given.items()), ("labels", labels))
        )
        if groups is not None:
            raise _checks.error("groups", "None for a regression", "groups")
        return Regression(
            name, mean, kind, spread, target, weight, clusters=_clusters(clusters)
        )
    if names not in (["probabilities"], ["logits"]):
        raise ValueError(
            "Either `probabilities`, or `logits`, or `means` with `stddevs` or "
            "`variances`, or `correct` with `confidences` must be given. Received: "
            f"{listed(names)}"
        )
    kind_: Kind = "logits" if names == ["logits"] else "probabilities"
    labels = _labels("labels", labels)
    values = _inputs.as_array(kind_, _of_frame(given[kind_]))
    counted = labels if ignored is None else labels[is_kept(labels, ignored)]
    notes: list[str] = []
    found: tuple[str, ...] = ()
    if classes is not None:
        found = tuple(class_names.words(np.asarray(_of_frame(classes)).reshape(-1)))
    elif values.ndim == 2 and values.shape[1] > 1 and hasattr(given[kind_], "columns"):
        columns = [str(column) for column in given[kind_].columns]
        order, found = class_names.by_columns(counted, columns)
        values = values[:, order]
    elif _column_names.is_text(labels) and values.ndim > labels.ndim:
        found = tuple(np.unique(counted).tolist())
        if len(found) != values.shape[-1]:
            raise ValueError(
                f"labels are text, {len(found)} different ones, but predictions have "
                f"{values.shape[-1]} classes: pass `classes`, the names of all classes "
                f"in the order of the columns. Received: {listed(found)}"
            )
        notes.append(_column_names.note_on_order(found))
    return classified(
        name,
        labels,
        kind_,
        values,
        found,
        Choice(),
        ignored,
        sample_weight=weight,
        notes=tuple(notes),
        groups=_groups(groups),
        clusters=_clusters(clusters),
        features=features,
    )


def _features(groups: Any, audit: Any) -> dict[str, Any]:
    """Returns the features of the examples by name: those given, or the attributes."""
    if audit is None or audit is False:
        return {}
    if audit is not True and _frames.columns_by_name(audit) is None:
        raise _checks.error(
            "audit",
            "True, or a mapping (or data frame) from names to values",
            type(audit).__name__,
        )
    columns = groups if audit is True else audit
    if columns is None:
        raise _checks.error(
            "audit",
            "given with `groups`, or be the features by which to search",
            "True without groups",
        )
    named = _frames.columns_by_name(columns)
    if named is None:
        return _groups(columns)
    return {name: _of_frame(column) for name, column in named.items()}


def _multilabel(
    name: str,
    labels: Any,
    given: Mapping[str, Any],
    weight: np.ndarray | None,
    classes: Sequence[Any] | None,
    groups: Any,
    clusters: Any,
) -> MultiLabel:
    """Returns several labels of each example, which data frames may name."""
    kinds: dict[str, Kind] = {"probabilities": "probabilities", "logits": "logits"}
    if labels is None or len(given) != 1 or not {*given} <= {*kinds} or groups:
        received = [*(["labels"] if labels is not None else []), *given]
        received += ["groups"] if groups is not None else []
        raise ValueError(
            "With multilabel=True pass `labels` with `probabilities` or `logits`, and "
            f"no groups. Received: {listed(received)}"
        )
    ((key, values),) = given.items()
    columns = [
        [str(column) for column in frame.columns] if hasattr(frame, "columns") else []
        for frame in (labels, values)
    ]
    labels, values = (
        _inputs.as_array(*each)
        for each in (("labels", _of_frame(labels)), (key, _of_frame(values)))
    )
    if all(columns) and columns[0] != columns[1]:
        if sorted(columns[0]) != sorted(columns[1]):
            raise ValueError(
                f"labels and {key} must have the same columns. Received: "
                f"{listed(columns[0])}; and {listed(columns[1])}"
            )
        values = values[:, [columns[1].index(column) for column in columns[0]]]
    names: Sequence[str] = columns[0] or columns[1]
    if classes is not None:
        names = class_names.words(np.asarray(_of_frame(classes)).reshape(-1))
    return multilabel_of(
        name,
        labels,
        kinds[key],
        values,
        names,
        sample_weight=weight,
        clusters=_clusters(clusters),
    )


def _quantiles(
    name: str,
    labels: Any,
    given: Mapping[str, Any],
    weight: np.ndarray | None,
    clusters: Any,
) -> QuantileForecasts:
    """Returns forecasts by quantiles or samples."""
    if labels is None or not {"quantiles", "samples"} & {*given}:
        received = [*(["labels"] if labels is not None else []), *given]
        raise ValueError(
            "Forecasts by quantiles need `labels`, what was observed, `quantiles` and "
            "`levels`; forecasts by samples need `labels` and `samples`. Received: "
            f"{listed(received)}"
        )
    kind = "samples" if "samples" in given else "quantiles"
    known = {kind, "horizons", "times", *(["levels"] if kind == "quantiles" else [])}
    if others := {*given} - known:
        raise ValueError(
            f"`{kind}` are given without other predictions. Received: "
            f"{listed(sorted(others))}"
        )
    if kind == "quantiles" and "levels" not in given:
        raise _checks.error("levels", "given with `quantiles`", "None")
    forecasts = _inputs.as_array(kind, _of_frame(given[kind]))
    target = _inputs.as_array("labels", _flat(labels))
    horizons, times = given.get("horizons"), given.get("times")
    found: dict[str, Any] = {
        "sample_weight": weight,
        "horizons": None if horizons is None else np.asarray(_of_frame(horizons)),
        "times": None if times is None else _times(times, target),
        "clusters": _clusters(clusters),
        "series": None if clusters is None else np.asarray(_of_frame(clusters)),
    }
    if kind == "samples":
        model = of_samples(name, forecasts, target, **found)
    else:
        levels = checked_levels(given["levels"])
        model = QuantileForecasts(name, forecasts, levels, target, **found)
    return model if times is None else in_blocks_of_time(model)


def _times(times: Any, target: np.ndarray) -> np.ndarray:
    values = np.asarray(_of_frame(times))
    _checks.same_shape("times", values.shape, target.shape)
    found = numbers_of_times(values)
    if found is None:
        raise _checks.error(
            "times", "numbers, dates or text as in ISO 8601, none missing", values.dtype
        )
    return found


def _answers(
    name: str,
    labels: Any,
    given: Mapping[str, Any],
    weight: np.ndarray | None,
    groups: Any,
    clusters: Any,
    features: Mapping[str, Any],
) -> Confidences:
    """Returns answers with confidences.

    They come from the arguments `correct`, `confidences` and `answers`, of which
    `confidences` or `answers` may be missing.
    """
    if labels is not None or "correct" not in given or len(given) == 1:
        names = [*(["labels"] if labels is not None else []), *given]
        raise ValueError(
            "`correct` must be given with `confidences`, or with `answers`, and "
            f"without `labels`. Received: {listed(names)}"
        )
    correct = _labels("correct", given["correct"])
    confidences = samples = None
    if "confidences" in given:
        values = _inputs.as_array("confidences", _of_frame(given["confidences"]))
        confidences = "confidences", values
    if "answers" in given:
        samples = "answers", list(_of_frame(given["answers"]))
    return answers_of(
        name,
        ("correct", correct),
        confidences,
        samples,
        lambda index: f"example {index}",
        sample_weight=weight,
        groups=_groups(groups),
        features=features,
        clusters=_clusters(clusters),
    )


def _clusters(ids: Any) -> Clusters | None:
    """Returns the clusters of the examples, by the name of a column of a data frame."""
    if ids is None:
        return None
    return Clusters(str(getattr(ids, "name", None) or ""), _of_frame(ids))


def _groups(groups: Any) -> dict[str, Any]:
    """Returns the attributes of the examples by name.

    A mapping or a data frame holds several attributes; any other object holds the
    values of one attribute.
    """
    if groups is None:
        return {}
    named = _frames.columns_by_name(groups)
    if named is not None:
        return {name: _group_values(column) for name, column in named.items()}
    return {str(getattr(groups, "name", None) or "group"): _group_values(groups)}


def _group_values(values: Any) -> np.ndarray:
    """Returns the groups of the examples, with None or NaN where there is none."""
    array, missing = _missing.read_words("groups", _of_frame(values))
    if not np.any(missing):
        return array
    if array.dtype.kind != "f":
        array = array.astype(object)
    return np.ma.array(array, mask=missing).filled(np.nan)


def of_other(predictions: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the predictions of another model by the names of the arguments.

    Raises:
      ValueError: the predictions are of another kind than the first model's.
    """
    votes = {}
    if "label_distributions" in given:  # They are labels of both.
        votes = {"label_distributions": given["label_distributions"]}
    if isinstance(predictions, Mapping):
        shared: tuple[str, ...] = ()
        if "quantiles" in predictions or "samples" in predictions:
            levels = ("levels",) if "quantiles" in predictions else ()
            shared = (*levels, "horizons", "times")
        return {**votes, **{k: given[k] for k in shared if k in given}, **predictions}
    if "correct" in given:
        pair = isinstance(predictions, tuple) and len(predictions) == 2
        correct, confidences = predictions if pair else (given["correct"], predictions)
        return {"correct": correct, "confidences": confidences}
    if "survival" in given:
        return {**given, "survival": predictions}
    for kind in ("quantiles", "samples"):
        if kind in given:
            return {**given, kind: predictions}
    if "means" not in given:
        kind = "logits" if "logits" in given else "probabilities"
        return {**votes, kind: predictions}
    if not isinstance(predictions, tuple | list) or len(predictions) != 2:
        raise _checks.error(
            "compare",
            "a pair `(means, stddevs)` for each model",
            type(predictions).__name__,
            verb="hold",
        )
    spread = "stddevs" if "stddevs" in given else "variances"
    return dict(zip(("means", spread), predictions, strict=True))


def _of_frame(value: Any) -> Any:
    """Returns a data frame or series as an array, and any other value as it is."""
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _flat(value: Any) -> Any:
    """Returns a data frame of one column as that column."""
    value = _of_frame(value)
    is_column = getattr(value, "ndim", 0) == 2 and value.shape[1] == 1
    return value[:, 0] if is_column else value


def _labels(name: str, labels: Any) -> np.ndarray:
    """Returns labels, which may be text."""
    if _missing.is_masked(labels):
        return _inputs.as_array(name, labels)  # This raises the error.
    try:
        array, _ = _missing.read_words(name, _of_frame(labels))
    except (RuntimeError, TypeError, ValueError):
        return _inputs.as_array(name, labels)
    array = class_names.text_array(array, name)
    if array.ndim == 2 and array.shape[1] == 1 and _column_names.is_text(array):
        array = array[:, 0]
    return array if _column_names.is_text(array) else _inputs.as_array(name, array)
