"""Forecasts that maps recalibrate, cross-validated, and which map is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import (
    brier_scores,
    is_of_one_outcome,
    score_arguments,
)
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_of,
    examples_of,
    words_of,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Rows,
    has_grades,
    remembered,
)
from uncertainty_metrics._report.data._risks import (
    TOO_FEW,
    has_risks,
    is_too_few,
    risks_of,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of, error_of_mean
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics.numpy import _row_math, _wilson
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy.calibrators import _cross_fitting
from uncertainty_metrics.numpy.calibrators.calibration_loss import (
    CalibrationLoss,
    Refined,
    lowered,
    summarized,
)

AS_IT_IS = "as it is"
FOLDS = 5
_SEED = 0  # The same in every report, so that all of them split alike.
# With fewer examples, or clusters, a fold would hold almost none.
_LEAST, _LEAST_CLUSTERS = 50, 10
# More examples, or more numbers, hardly change the result and take longer.
_MAX_EXAMPLES, _MAX_NUMBERS = 20_000, 2_000_000
# The time of a map that has parameters for each class grows with the classes.
_MAX_CLASSES = 2000
SET_ALPHA = 0.1
_STANDARD_ERRORS = 2.0
# From the name of each map to its Python class and its name in a sentence.
MAPS: dict[str, tuple[Callable[[], Any], str]] = {
    "temperature": (um.TemperatureScaling, "temperature scaling"),
    "vector": (um.VectorScaling, "vector scaling"),
    "platt": (um.PlattScaling, "Platt scaling"),
    "beta": (um.BetaCalibration, "beta calibration"),
    "quadratic": (um.QuadraticCalibration, "quadratic calibration"),
    "spline": (um.SplineCalibration, "spline calibration"),
    "isotonic": (um.IsotonicCalibration, "isotonic calibration"),
    "venn_abers": (um.VennAbersCalibration, "Venn-Abers calibration"),
    "histogram": (um.HistogramBinning, "histogram binning"),
}
_OF_CLASSES = ("temperature", "vector", "isotonic")
_OF_ONE = ("beta", "quadratic", "spline", "isotonic")
_OF_TWO_CLASSES = ("temperature", "vector", *_OF_ONE, "venn_abers")
_OF_ANSWERS = ("platt", *_OF_ONE, "venn_abers", "histogram")
_OF_GRADES = ("platt", *_OF_ONE, "histogram")
# The first of these that can be fitted says how much of the scores could be gained. A
# map chosen for its gain would claim too much.
_GAIN_OF_CLASSES = ("temperature", "vector", "isotonic")
_GAIN_OF_ONE = ("beta", "platt", "venn_abers", "isotonic")
LIKELIHOOD, BRIER = "negative_log_likelihood", "brier_score"


class BestMap(NamedTuple):
    """Which map is best, and how much each gains.

    Attributes:
      name: of the best map.
      is_clear: whether its gain is more than chance.
      criterion: the name of the score that compares the maps.
      gains: how much each map lowers this score.
      why: a sentence that says why it is not the likelihood; or "".
    """

    name: str
    is_clear: bool
    criterion: str
    gains: dict[str, Interval]
    why: str


class Gains(NamedTuple):
    """What one map, chosen beforehand, gains.

    Attributes:
      map: its name.
      of_brier: of the Brier score.
      of_likelihood: of the negative log-likelihood.
    """

    map: str
    of_brier: CalibrationLoss
    of_likelihood: CalibrationLoss


class Recalibrated(NamedTuple):
    """Cross-validated forecasts.

    Attributes:
      data: arguments of the metrics: the labels [N], or whether each answer is right,
        and the weights.
      kind: the argument of the metrics that takes the forecasts: "logits",
        "probabilities" or "confidences".
      forecasts: the forecasts of the model as it is and of each map, by name: [N, K]
        for more than two classes, else the confidences or the probabilities of the
        event, [N]; empty if there are too few examples.
      scores: likelihood, Brier score and ECE of the forecasts, by name.
      is_of_event: whether the forecasts are probabilities of the event, class 1 of the
        labels.
      best: the best map, or None.
      sets: coverage, mean size and share of empty sets of conformal sets; None for
        answers.
      notes: sentences for the reader.
      too_few: why there are too few examples, or "".
      gains: how much of the scores could be gained; None if no map can be fitted.
      clusters: the number of the cluster of each example, [N]; None if they are
        independent.
    """

    data: dict[str, Any]
    kind: str
    forecasts: dict[str, np.ndarray]
    scores: dict[str, dict[str, float]]
    is_of_event: bool = False
    best: BestMap | None = None
    sets: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()
    too_few: str = ""
    gains: Gains | None = None
    clusters: np.ndarray | None = None

    @property
    def drawn(self) -> dict[str, np.ndarray]:
        """The forecasts before and after the best map; empty if there is no map."""
        if self.best is None:
            return {}
        after = MAPS[self.best.name][1]
        return {
            AS_IT_IS: self.forecasts[AS_IT_IS],
            after: self.forecasts[self.best.name],
        }


def folds_of(size: int, clusters: np.ndarray | None = None) -> np.ndarray:
    """Returns the fold of each example, the same in every report."""
    rng = np.random.default_rng(_SEED)
    return _cross_fitting.random_folds(size, FOLDS, rng, clusters)


@remembered
def recalibrated(model: Rows, num_bins: int) -> Recalibrated:
    """Returns the forecasts and their scores.

    Args:
      model: a classifier, or answers with confidences.
      num_bins: number of bins of the ECE.
    """
    examples = examples_of(model)
    labels, kind, weights = examples.labels, examples.name, examples.weights
    of_answers = isinstance(model, Confidences)
    if has_grades(model):
        labels = decisions_of(model).correct
    reason = _too_few(labels, weights, of_answers)
    if not reason and has_risks(model) and is_too_few(risks_of(model).smaller_class):
        reason = "fewer than 10 examples have the event, or do not have it"
    clusters = clusters_of(model)
    number = len(labels) if clusters is None else int(clusters.max()) + 1
    if not reason and number < _LEAST_CLUSTERS:
        reason = f"{number} clusters, but at least {_LEAST_CLUSTERS} are needed"
    if reason:
        return Recalibrated({}, kind, {}, {}, too_few=reason)

    given = decisions_of(model).confidences if of_answers else examples.predictions
    notes = []
    chosen = _chosen(labels, examples.num_classes)
    if len(chosen) < len(labels):
        notes.append(
            f"This section uses {len(chosen):,} of the {len(labels):,} examples, drawn "
            "at random."
        )
        labels, given = labels[chosen], given[chosen]
        weights = None if weights is None else weights[chosen]
        if clusters is not None:
            _, clusters = np.unique(clusters[chosen], return_inverse=True)
    # A fit takes a weight w as w examples; everything else depends only on ratios of
    # weights.
    data: dict[str, Any] = {"labels": labels, "sample_weight": weights}
    if has_grades(model):
        data["labels"] = np.stack([1 - labels, labels], axis=1)
    folds = folds_of(len(labels), clusters)
    mapped, reasons = _mapped(model, data, {kind: given}, folds)
    forecasts = {AS_IT_IS: given, **mapped}
    if weights is not None:
        weights = weights / weights.max()
    each = {
        name: _scores(labels, kind, of_map, is_of_one_outcome(model))
        for name, of_map in forecasts.items()
    }
    gains = _gains(model, each, kind, forecasts, weights, clusters)
    sets = None if of_answers else _sets(labels, _probabilities(kind, given), folds)
    scored: dict[str, Any] = {"labels": labels, "sample_weight": weights}
    event, is_of_event = event_of(model), False
    if of_answers:
        correct = labels if has_grades(model) else labels == 1
        scored, kind = {"correct": correct, "sample_weight": weights}, "confidences"
    elif event is not None:
        scored["labels"] = (labels == event).astype(np.int64)
        forecasts = {
            name: _probabilities(kind, of_map)[:, event]
            for name, of_map in forecasts.items()
        }
        kind, is_of_event = "probabilities", True
    scores = {
        name: {
            score: float(np.average(values, weights=weights))
            for score, values in each[name].items()
        }
        for name in forecasts
    }
    for name, of_map in forecasts.items():
        scores[name]["ece"] = um.ece(
            **{**scored, kind: of_map}, num_bins=num_bins, positive_class=is_of_event
        )
    best = best_map(each, weights, words_of(model).outcomes, clusters)
    return Recalibrated(
        scored,
        kind,
        forecasts,
        scores,
        is_of_event,
        best,
        sets,
        (*notes, *reasons),
        gains=gains,
        clusters=clusters,
    )


def _gains(
    model: Rows,
    each: Mapping[str, dict[str, np.ndarray]],
    kind: str,
    forecasts: Mapping[str, np.ndarray],
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> Gains | None:
    """Returns how much of the scores could be gained; None if no map can be fitted, or
    if one of two outcomes is so rare that its few examples decide.

    Args:
      model: the model.
      each: the scores of each map, and of the model as it is.
      kind: "logits", or probabilities or confidences.
      forecasts: the forecasts of each, [N, K], or [N] of answers.
      weights: [N], or None.
      clusters: number of the cluster of each example, [N], or None.
    """
    is_of_one = examples_of(model).num_classes == 2
    if (
        is_of_one
        and np.bincount(examples_of(model).labels, minlength=2).min() < TOO_FEW
    ):
        return None
    names = _GAIN_OF_ONE if is_of_one else _GAIN_OF_CLASSES
    found = next((name for name in names if name in forecasts), None)
    if found is None:
        return None
    of_answers = isinstance(model, Confidences)
    p, q = (_probabilities(kind, forecasts[name]) for name in (AS_IT_IS, found))
    if of_answers:
        p, q = (np.stack([1 - each, each], axis=1) for each in (p, q))
    lowers = lowered(p, q, of_answers)
    dependent = None
    if clusters is not None:
        dependent = Clusters(clusters, int(clusters.max()) + 1)
    losses = [
        summarized(
            Refined(each[AS_IT_IS][score], each[found][score], lowers),
            *(weights, None, dependent, INTERVAL_LEVEL),
        )
        for score in (BRIER, LIKELIHOOD)
    ]
    return Gains(found, *losses)


def _probabilities(kind: str, values: np.ndarray) -> np.ndarray:
    return _row_math.softmax(values) if kind == "logits" else values


def _mapped(
    model: Rows,
    data: dict[str, Any],
    given: dict[str, np.ndarray],
    folds: np.ndarray,
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Returns the cross-validated forecasts of each map that can be fitted; and for
    every other map a note that says why it cannot be fitted.
    """
    found, reasons = {}, []
    for name in _maps_of(model):
        calibrator, title = MAPS[name]
        if name != "temperature" and examples_of(model).num_classes > _MAX_CLASSES:
            reasons.append(
                f"There is no {title}: with more than {_MAX_CLASSES} classes the fit "
                "would take too long."
            )
            continue
        try:
            found[name] = _cross_validated(calibrator, data, given, folds)
        except (ValueError, RuntimeError) as wrong:
            reasons.append(f"There is no {title}: {wrong.__cause__ or wrong}")
    return found, reasons


def _maps_of(model: Rows) -> tuple[str, ...]:
    """Returns the names of the maps that may recalibrate a model."""
    if isinstance(model, Confidences):
        return _OF_GRADES if model.are_graded else _OF_ANSWERS
    return _OF_TWO_CLASSES if examples_of(model).num_classes == 2 else _OF_CLASSES


def _scores(
    labels: np.ndarray, kind: str, forecasts: np.ndarray, one_outcome: bool
) -> dict[str, np.ndarray]:
    """Returns the likelihood and the Brier score of each example."""
    given = score_arguments(labels, kind, forecasts)
    nll = um.negative_log_likelihood(**given, aggregate=False)
    return {
        LIKELIHOOD: np.asarray(nll),
        BRIER: brier_scores(labels, kind, forecasts, one_outcome),
    }


def _too_few(labels: np.ndarray, weights: np.ndarray | None, of_answers: bool) -> str:
    """Returns why there are too few examples to cross-validate; "" if there are enough.

    The size that counts is Kish's effective number of examples.
    """
    size = len(labels) if weights is None else _wilson.effective_size(weights)
    if size < _LEAST:
        of_weights = " once they are weighted" if size < len(labels) else ""
        shown = np.floor(10 * size) / 10
        examples = "example" if shown == 1 else "examples"
        return f"{shown:g} {examples}{of_weights}, but at least {_LEAST} are needed"
    if labels.dtype.kind == "f":
        return "all outcomes are equal" if np.ptp(labels) == 0 else ""
    if np.sum(np.bincount(labels) > 1) < 2:
        if of_answers:
            return "fewer than two answers are right, or fewer than two are wrong"
        return "fewer than two classes have two labels"
    return ""


def _chosen(labels: np.ndarray, classes: int) -> np.ndarray:
    """Returns the indices of the examples to use, in order: few enough to be fast."""
    limit = max(_LEAST, min(_MAX_EXAMPLES, _MAX_NUMBERS // classes))
    if len(labels) <= limit:
        return np.arange(len(labels))
    order = np.random.default_rng(_SEED).permutation(len(labels))
    return np.sort(order[:limit])


def _cross_validated(
    calibrator: Callable[[], Any],
    data: dict[str, Any],
    given: dict[str, np.ndarray],
    folds: np.ndarray,
) -> np.ndarray:
    """Returns the forecasts of each fold by the map fitted to the other folds."""
    ((kind, values),) = given.items()
    name = "labels" if data["labels"].ndim == 1 else "label_distributions"
    outcomes = {name: data["labels"], "sample_weight": data["sample_weight"]}
    return _cross_fitting.cross_fitted(
        lambda values: calibrator(), outcomes, kind, values, folds, FOLDS
    )


def best_map(
    each: Mapping[str, dict[str, np.ndarray]],
    weights: np.ndarray | None,
    outcomes: str,
    clusters: np.ndarray | None = None,
) -> BestMap | None:
    """Returns the best map, and the gain of each; None if there is none.

    Args:
      each: the scores of each map, and of the model as it is.
      weights: [N], at most 1, or None.
      outcomes: the noun for what the forecasts are about: "labels" or "outcomes".
      clusters: number of the cluster of each example, [N], or None.
    """
    maps = [name for name in each if name != AS_IT_IS]
    if not maps:
        return None
    finite = all(np.all(np.isfinite(each[name][LIKELIHOOD])) for name in each)
    criterion = LIKELIHOOD if finite else BRIER
    ends = {}
    for name in maps:
        gain = each[AS_IT_IS][criterion] - each[name][criterion]
        shares = np.ones(len(gain)) if weights is None else weights
        shares = shares / shares.sum()
        mean = float(gain @ shares)
        error = error_of_mean(gain, shares, clusters)
        low, high = (mean + sign * _STANDARD_ERRORS * error for sign in (-1, 1))
        ends[name] = low, mean, high
    # A map with a clear gain comes before a map whose larger gain may be chance.
    best = max(maps, key=lambda name: (_is_clear(ends[name]), ends[name][1]))
    return BestMap(
        best,
        _is_clear(ends[best]),
        criterion,
        {name: interval(*of_map) for name, of_map in ends.items()},
        "" if finite else _why_brier(each, outcomes),
    )


def _is_clear(ends: tuple[float, float, float]) -> bool:
    return round(ends[0], 4) > 0  # Rounded as in the report.


def _why_brier(each: Mapping[str, dict[str, np.ndarray]], outcomes: str) -> str:
    """Returns the sentence that says why the Brier score compares the maps."""
    infinite = [
        "the model as it is" if name == AS_IT_IS else MAPS[name][1]
        for name in each
        if not np.all(np.isfinite(each[name][LIKELIHOOD]))
    ]
    verb = "gives" if len(infinite) == 1 else "give"
    return (
        f" Maps are compared by the Brier score, because {' and '.join(infinite)} "
        f"{verb} some {outcomes} probability 0, so that the negative log-likelihood is "
        "infinite."
    )


def _sets(
    labels: np.ndarray, p: np.ndarray, folds: np.ndarray
) -> tuple[float, float, float]:
    """Returns coverage, mean size and share of empty sets of conformal sets, fitted to
    the other folds.
    """
    held = np.empty(p.shape, bool)
    for rest, fold in _cross_fitting.splits(folds, FOLDS):
        model = um.conformal.ConformalClassifier("lac", SET_ALPHA)
        held[fold] = model.fit(labels[rest], p[rest]).predict(p[fold])
    coverage = float(um.conformal.coverage(labels, held))
    size = float(um.conformal.mean_set_size(held))
    return coverage, size, float(np.mean(~held.any(axis=1)))
