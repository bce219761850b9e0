"""The notes of a report: what the reader should know of the data."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics._report.data._decided import (
    decisions_of,
    examples_of,
    noun_of_rows,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Model,
    MultiLabel,
    Predictions,
    QuantileForecasts,
    Regression,
    Stream,
    Survival,
    has_cluster_sums,
    has_grades,
    rows_of,
)
from uncertainty_metrics._report.data._risks import Risks, has_risks, risks_of
from uncertainty_metrics._report.data._row_clusters import num_clusters
from uncertainty_metrics._report.data._suspicious_rows import notes_on_rows
from uncertainty_metrics._report.sections._risk_numbers import amount
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy._clusters import FEW_CLUSTERS

_SHOWN = 50  # Most names of columns in a note on columns that are left out.
# Least number of labels for a suspicion: with fewer, chance may be the reason.
_MANY = 10
# With fewer examples of either outcome a note says that estimates are rough (Vergouwe
# et al., 2005; Collins et al., 2016).
_FEW_EVENTS = 100


def notes_of(model: Model) -> list[str]:
    """Returns the notes on a model."""
    notes = []
    if model.left_out:
        names = ", ".join(name or "(no name)" for name in model.left_out[:_SHOWN])
        more = len(model.left_out) - _SHOWN
        names += f" and {more} more" if more > 0 else ""
        notes.append(f"Left out, because the names are not known: {names}.")
    if isinstance(model, QuantileForecasts):
        return [*notes, *model.notes, *_on_few_clusters(model)]
    if isinstance(model, Regression | MultiLabel):
        return [*notes, *model.notes]
    if isinstance(model, Survival):
        return [*notes, *model.notes, *_on_few_events(risks_of(model))]
    rows = rows_of(model)
    if rows is not None:
        notes += rows.notes
    if isinstance(model, Predictions):
        notes += [*_note_on_sums(model), *_suspicions(model, examples_of(model))]
    if isinstance(model, Confidences):
        notes += _on_equal_confidences(model)
    if rows is not None:
        notes += notes_on_rows(rows)
    notes += _on_few_clusters(model)
    notes += _on_weights(model)
    if has_risks(model):
        notes += _on_few_events(risks_of(model))
    return notes


def _on_equal_confidences(model: Confidences) -> list[str]:
    confidences = decisions_of(model).confidences
    if len(np.unique(confidences)) == 1 < len(confidences):
        rows = noun_of_rows(model)
        return [f"All confidences are equal, so they cannot tell {rows} apart."]
    return []


def _on_few_clusters(model: Decided | QuantileForecasts) -> list[str]:
    number = num_clusters(model)
    if number is None or number >= FEW_CLUSTERS:
        return []
    return [
        f"There are {number} clusters. With fewer than {FEW_CLUSTERS}, intervals may "
        "be too short and p-values too small."
    ]


def _on_weights(model: Decided) -> list[str]:
    weights = decisions_of(model).weights
    is_weighted = weights is not None
    if isinstance(model, Stream):
        is_weighted = model.summary.is_weighted
    has_posterior = not has_grades(model) and not has_cluster_sums(model)
    if not is_weighted or weights is None or not has_posterior:
        return []
    return [
        "The posterior of the ECE takes a weight w as w examples, here "
        f"{float(weights.sum()):.6g} in all; weights of another scale change its width."
    ]


def _note_on_sums(predictions: Predictions) -> list[str]:
    """Returns a note if the probabilities of an example do not sum to 1."""
    labels, values = predictions.labels, predictions.values
    # Otherwise the predictions are for class 1 alone.
    has_classes = values.shape != labels.shape and values.shape[-1] > 1
    if has_classes and predictions.kind == "probabilities":
        sums = values.sum(axis=-1, dtype=np.float64)
        if np.max(np.abs(sums - 1)) > _inputs.ROW_SUM_TOLERANCE:
            least, most = f"{sums.min():.4g}", f"{sums.max():.4g}"
            most = "" if least == most else f" to {most}"
            return [f"The probabilities of an example sum to {least}{most}, not to 1."]
    return []


def _suspicions(predictions: Predictions, examples: _examples.Examples) -> list[str]:
    """Returns a note if the labels or the probabilities look like something else."""
    zeros, values = np.sum(examples.labels == 0), examples.predictions
    are_logits = examples.name == "logits"
    shape = predictions.values.shape
    alone = shape == predictions.labels.shape or shape[-1] == 1
    if not alone and not zeros and not predictions.classes:
        expected = float(examples.probabilities[:, 0].sum(dtype=np.float64))
        if expected >= _MANY:
            return [
                "No label is 0, though the probabilities of class 0 sum to "
                f"{expected:.4g}: do the labels start at 1?"
            ]
    if alone and not are_logits and zeros >= _MANY and np.all(values[:, -1] >= 0.5):
        return [
            "Every probability is at least 0.5. Each must be the probability of class "
            "1, not the confidence of a decision for either class."
        ]
    return []


def _on_few_events(data: Risks) -> list[str]:
    """Returns a note if there are few examples with the event, or without it."""
    if data.smaller_class >= _FEW_EVENTS:
        return []
    others, events = data.class_sizes
    some = events <= others
    number = data.events if some else data.total - data.events
    effective = ""
    if data.weights is not None:
        effective = f", in effect {data.smaller_class:.1f} because of the weights"
    return [
        f"Only {amount(number)} of {amount(data.total)} examples "
        f"{'had' if some else 'did not have'} the event{effective}. With fewer than "
        f"{_FEW_EVENTS} examples with the event, or without it, the calibration curve "
        "and the numbers of the risks are rough."
    ]
