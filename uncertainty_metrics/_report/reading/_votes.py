"""Makes decisions with grades of a classifier whose examples have votes for classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._report.data._predictions import (
    Clusters,
    Confidences,
    Kind,
    Votes,
)
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    among,
    existing,
    listed,
    weights_in,
)
from uncertainty_metrics.numpy import _archive, _examples, _inputs, class_names

SHARES = "label_distributions"
_KINDS: dict[str, Kind] = {"probabilities": "probabilities", "logits": "logits"}
_ON_GRADES = (
    "The labels are shares of votes. The grade of a decision is the share of the votes "
    "for its class."
)
_ON_TWO_CLASSES = (
    "The calibration of two classes is judged by the decisions here. For that of "
    "P(class 1) pass correct=label_distributions[:, 1], "
    "confidences=probabilities[:, 1]."
)
_ON_LABELS = (
    "All votes on an example are for one class. With labels= instead of "
    "label_distributions= the report also has what needs one label for each example."
)


def decisions_on_votes(
    name: str,
    labels: Any,
    given: Mapping[str, Any],
    weight: np.ndarray | None,
    classes: Sequence[Any] | None,
    *,
    groups: Mapping[str, Any],
    clusters: Clusters | None,
    features: Mapping[str, Any],
) -> Confidences:
    """Returns the decisions of a classifier, whose grades are their shares of votes.

    Args:
      name: the name of the model.
      labels: None.
      given: `label_distributions`, and `probabilities` or `logits`.
      weight: weights of the examples, or None.
      classes: names of the classes, or None.
      groups: as in `Confidences`.
      clusters: as in `Confidences`.
      features: as in `Confidences`.

    Raises:
      ValueError: an argument is not as described.
    """
    names = sorted({*given} - {"label_distributions"})
    if labels is not None or len(names) != 1 or names[0] not in _KINDS:
        received = [*(["labels"] if labels is not None else []), *given]
        raise ValueError(
            "Pass `label_distributions` with `probabilities` or `logits`, and no "
            f"labels. Received: {listed(received)}"
        )
    kind = _KINDS[names[0]]
    voted, values, found = _aligned(given["label_distributions"], given[kind], kind)
    if classes is not None:
        found = tuple(class_names.words(np.asarray(classes).reshape(-1)))
    votes: dict[str, Any] = {"label_distributions": voted, kind: values}
    examples = _examples.examples_of(ClassifierData(**votes, sample_weight=weight))
    number = examples.num_classes
    if found and len(found) != number:
        raise ValueError(
            f"`classes` must name the {number} classes. Received: {listed(found)}"
        )
    decided, confidences = examples.decided
    if weight is not None:
        weight = _inputs.sample_weights(weight, examples.counted.shape)
    counted = examples.counted.reshape(-1)

    def of_all(array: np.ndarray) -> np.ndarray:
        """Returns an array with zeros for the examples that do not count."""
        whole = np.zeros((len(counted), *array.shape[1:]), array.dtype)
        whole[counted] = array
        return whole

    notes, shares = [_ON_GRADES], examples.shares
    if number == 2:
        notes.append(_ON_TWO_CLASSES)
    if shares is None:
        notes.append(_ON_LABELS)
        shares = np.eye(number)[examples.labels]
    return Confidences(
        name,
        of_all(examples.came(decided).astype(np.float64)),
        of_all(confidences),
        weight,
        notes=tuple(notes),
        groups=groups,
        clusters=clusters,
        are_graded=True,
        features=features,
        votes=Votes(of_all(shares), kind, of_all(examples.predictions), found),
    )


def votes_of_npz(
    source: str, archive: _archive.Archive, names: Sequence[str], choice: Choice
) -> Confidences:
    """Returns the decisions of a classifier in an archive with `label_distributions`.

    Raises:
      ValueError: an option or an array does not fit to shares of votes.
    """
    if choice.positive_class is not None:
        raise ValueError("--positive-class needs one label for each row, and no votes")
    predictions = [choice.probabilities] if choice.probabilities else []
    predictions = predictions or among(names, _KINDS)
    clusters = [] if choice.cluster is None else [choice.cluster]
    found = among(names, ("classes", "class_names"))[:1]
    others = (*weights_in(names), *found, *choice.groups, *clusters, *choice.searched)
    wanted = dict.fromkeys([SHARES, *predictions, *others])
    arrays = archive.read([existing(name, names, "array") for name in wanted])
    weights = weights_in(names)
    model = decisions_on_votes(
        source,
        None,
        {
            SHARES: arrays[SHARES],
            **{
                "logits" if "logit" in name.lower() else "probabilities": arrays[name]
                for name in predictions
            },
        },
        arrays[weights[0]] if weights else None,
        choice.classes or (list(arrays[found[0]]) if found else None),
        groups={name: arrays[name] for name in choice.groups},
        clusters=Clusters(clusters[0], arrays[clusters[0]]) if clusters else None,
        features={name: arrays[name] for name in choice.searched},
    )
    return dataclasses.replace(model, left_out=tuple(sorted({*names} - {*wanted})))


def _aligned(
    shares: Any, values: Any, kind: str
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Returns the shares and the predictions as arrays, and the names of their columns
    if data frames name them; the columns of the predictions in the order of the shares.
    """
    (first, second) = (
        [str(column) for column in each.columns] if hasattr(each, "columns") else []
        for each in (shares, values)
    )
    arrays = [
        _inputs.as_array(name, each.to_numpy() if hasattr(each, "to_numpy") else each)
        for name, each in (("label_distributions", shares), (kind, values))
    ]
    if first and second and first != second:
        if sorted(first) != sorted(second):
            raise ValueError(
                f"label_distributions and {kind} must have the same columns. Received: "
                f"{listed(first)}; and {listed(second)}"
            )
        arrays[1] = arrays[1][:, [second.index(column) for column in first]]
    return arrays[0], arrays[1], tuple(first or second)
