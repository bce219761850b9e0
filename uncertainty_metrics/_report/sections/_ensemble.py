"""The section on ensembles: the scores of the members, and of their average."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._averaged_members import averaged
from uncertainty_metrics._report.data._decided import event_of
from uncertainty_metrics._report.data._predictions import Predictions
from uncertainty_metrics._report.data._row_clusters import clusters_of
from uncertainty_metrics._report.sections._blocks import (
    Block,
    Table,
    Text,
    metrics_table,
    number,
)
from uncertainty_metrics._report.sections._calibration_errors import ece_of
from uncertainty_metrics._report.sections._diagrams import panels
from uncertainty_metrics._report.sections._ece_test import ece_by_chance
from uncertainty_metrics._report.sections._metrics_and_intervals import Metric, metrics
from uncertainty_metrics._report.sections._model_report import (
    ModelReport,
    ReportPicture,
    Section,
)
from uncertainty_metrics.numpy import _examples, _inputs
from uncertainty_metrics.numpy.ensemble.member_calibration import EnsembleCalibration


def _draw(models: dict[str, Predictions], num_bins: int) -> Any:
    """Draws a diagram for each model that is an ensemble."""
    return panels(
        4.8,
        lambda model, **options: um.ensemble_calibration_diagram(
            **model.arguments, num_bins=num_bins, **options
        ),
        {
            name: model
            for name, model in models.items()
            if isinstance(model, Predictions) and model.members > 1
        },
        "Calibration of the ensemble",
    )


def _is_ensemble(models: Any, num_bins: int) -> bool:
    del num_bins
    return isinstance(models[0], Predictions) and models[0].members > 1


ENSEMBLE = ReportPicture(
    "ensemble_calibration_diagram.png",
    "accuracy less confidence of an ensemble and of its members",
    _draw,
    _is_ensemble,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MembersAndEnsemble:
    """A metric: its mean over members, perhaps their range, and of the ensemble."""

    mean: float
    lowest: float | None = None
    highest: float | None = None
    ensemble: float
    members: list[float] | None = None


@dataclasses.dataclass(frozen=True)
class Ensemble(Section):
    """The effect of averaging the members.

    Attributes:
      members: number of members.
      verdict: a sentence on the accuracy, and one on calibration.
      metrics: of the members and of their average.
      uncertainty: mean uncertainties, and the disagreement of the members.
    """

    name = "ensemble"
    heading = "Ensemble"
    tasks = ("classification",)
    pictures = (ENSEMBLE,)

    members: int
    verdict: str
    metrics: dict[str, MembersAndEnsemble]
    uncertainty: dict[str, Metric]

    @classmethod
    def of(cls, report: ModelReport) -> Ensemble | None:
        model, num_bins = report.model, report.num_bins
        if not isinstance(model, Predictions) or model.members <= 1:
            return None
        data = model.arguments
        calibration = um.ensemble_calibration(**data, num_bins=num_bins)
        eces, verdict = calibration.member_eces, calibration.verdict
        ece, event = ece_of(model, num_bins), event_of(model)
        if event is not None:
            eces = _eces_of_event(model, event, num_bins)
            verdict = (
                "The ECE of the probabilities of the event is "
                f"{np.mean(eces):.3f} for a member on average, and {ece:.3f} for the "
                "ensemble."
            )
        chance = ece_by_chance(model, num_bins)
        of_ece = _calibration_verdict(float(np.mean(eces)), ece, chance, verdict)
        return cls(
            model.members,
            f"{_accuracy_verdict(calibration, _accuracy_noise(model))} {of_ece}",
            {
                "accuracy": _members_and_ensemble(
                    calibration.member_overall_accuracies, calibration.ensemble_accuracy
                ),
                "ece": _members_and_ensemble(eces, ece),
                "negative_log_likelihood": MembersAndEnsemble(
                    mean=float(um.gibbs_cross_entropy(**data)),
                    ensemble=float(um.ensemble_cross_entropy(**data)),
                ),
            },
            _uncertainty(model),
        )

    def blocks(self, report: ModelReport) -> Iterator[Block]:
        yield Text(self.verdict)
        yield ENSEMBLE.block(
            "Accuracy less confidence in each bin, of the ensemble and of its members. "
            f"{self.verdict}",
            "Confidence and accuracy of the decisions, and the ECE of these: points "
            "above 0 are underconfident, points below 0 overconfident. Averaging "
            "lowers confidence: this helps members below 0 and harms members above 0.",
        )
        rows = []
        for name, each in self.metrics.items():
            ends = (each.lowest, each.highest)
            shown = ("" if end is None else number(end) for end in ends)
            rows.append((name, number(each.mean), *shown, number(each.ensemble)))
        columns = ("mean", "lowest", "highest", "ensemble")
        title = f"of {self.members} members"
        yield Table("The ensemble and its members", title, columns, rows)
        yield metrics_table("Mean uncertainty", "uncertainty", self.uncertainty)


def _eces_of_event(predictions: Predictions, event: int, num_bins: int) -> np.ndarray:
    """Returns the calibration error of each member's probability of the event."""
    found = []
    for member in np.moveaxis(predictions.values, 1, 0):
        examples = _examples.examples(
            predictions.labels,
            **{predictions.kind: member},
            sample_weight=predictions.sample_weight,
        )
        found.append(
            um.ece(
                correct=examples.labels == event,
                confidences=examples.probabilities[:, event],
                sample_weight=examples.weights,
                num_bins=num_bins,
            )
        )
    return np.array(found)


def _members_and_ensemble(members: np.ndarray, ensemble: float) -> MembersAndEnsemble:
    return MembersAndEnsemble(
        mean=float(np.mean(members)),
        lowest=float(np.min(members)),
        highest=float(np.max(members)),
        ensemble=ensemble,
        members=members.tolist(),
    )


def _weights(predictions: Predictions) -> np.ndarray:
    """Returns the weights [n] of the examples, scaled to at most 1."""
    if predictions.sample_weight is None:
        return np.ones(predictions.labels.size)
    weights = _inputs.sample_weights(
        predictions.sample_weight, predictions.labels.shape
    )
    return weights / weights.max()


def _uncertainty(predictions: Predictions) -> dict[str, Metric]:
    """Returns the mean uncertainties of the examples, and the members' disagreement."""
    weights = _weights(predictions)
    counted = weights > 0
    values = np.moveaxis(predictions.values, 1, -2)
    members: dict[str, Any] = {
        predictions.kind: values.reshape(-1, *values.shape[-2:])[counted]
    }
    model, total, expected = (
        np.average(of_examples, weights=weights[counted])
        for of_examples in um.model_uncertainty(**members)
    )
    disagreement = np.average(
        um.ensemble_disagreement(**members), weights=weights[counted]
    )
    classes = max(values.shape[-1], 2)
    return metrics(
        {
            "predictive_entropy": (
                total,
                f"Entropy of the mean, in nats; at most {np.log(classes):.3f} = log "
                f"{classes}.",
            ),
            "expected_entropy": (
                expected,
                "Mean entropy of a member: the uncertainty in the data.",
            ),
            "mutual_information": (
                model,
                "The difference: how much the members disagree.",
            ),
            "ensemble_disagreement": (
                disagreement,
                "P(two members decide differently).",
            ),
        }
    )


def _accuracy_noise(predictions: Predictions) -> float:
    """Returns a change of accuracy by averaging that chance alone rarely exceeds.

    It is two standard errors of the weighted mean of the change at each example: 1 if
    the ensemble is right, else 0, less the share of the members that are right. If
    averaging did not matter, the signs of these changes would be random; with clusters,
    those of whole clusters.
    """
    kind, labels = predictions.kind, predictions.labels
    decided = _decisions(kind, averaged(predictions)) == labels
    members = _decisions(kind, predictions.values) == np.expand_dims(labels, 1)
    added = (decided - members.mean(axis=1)).reshape(-1)
    weights, clusters = _weights(predictions), clusters_of(predictions)
    changes = (weights * added)[weights > 0]
    if clusters is not None:
        changes = np.bincount(clusters, changes)
    return 2 * float(np.linalg.norm(changes) / weights.sum())


def _decisions(kind: str, values: np.ndarray) -> np.ndarray:
    if values.shape[-1] > 1:
        return np.argmax(values, axis=-1)
    return values[..., 0] > (0 if kind == "logits" else 0.5)


def _accuracy_verdict(calibration: EnsembleCalibration, noise: float) -> str:
    """Says in a sentence whether the data show that averaging changes the accuracy."""
    members = calibration.member_overall_accuracies
    before, after = np.mean(members), calibration.ensemble_accuracy
    start = f"Averaging {len(members)} members "
    of_members = (
        f"a mean of {before:.3f} for single members ({np.min(members):.3f} to "
        f"{np.max(members):.3f})"
    )
    if abs(after - before) > noise + 1e-12:  # Rounding.
        verb = "raises" if after > before else "lowers"
        return f"{start}{verb} the accuracy to {after:.3f}, from {of_members}."
    return (
        f"{start}does not clearly change the accuracy: {after:.3f}, against "
        f"{of_members}; chance alone makes a difference of up to about {noise:.3f}."
    )


def _calibration_verdict(
    before: float, after: float, ece_by_chance: float, verdict: str
) -> str:
    """Returns the verdict on the mean ECE of a member and the ECE of the ensemble, if
    the data can tell them from those of calibrated models.
    """
    if max(before, after) > ece_by_chance:
        return verdict
    return (
        "The data cannot tell whether averaging helps calibration: the ECEs are "
        f"{before:.3f} for a member on average and {after:.3f} for the ensemble, and "
        "chance alone gives calibrated models ECEs as large as these."
    )
