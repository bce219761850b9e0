"""The section of what recalibration would give: cross-validated, on the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report._predictions import Predictions, remembered
from uncertainty_metrics._report._sections_ensemble import examples_of
from uncertainty_metrics._report._sections_intervals import row
from uncertainty_metrics._report._sections_rows import rows
from uncertainty_metrics.numpy import _rows

AS_IT_IS = "as it is"
FOLDS = 5
_SEED = 0  # Every report splits alike.
# Fewer examples leave a fold next to nothing.
_LEAST = 50
# More examples, or more numbers, tell little more and take longer.
_MAX_EXAMPLES, _MAX_NUMBERS = 20_000, 2_000_000
# Maps with parameters for each class take as much longer.
_MAX_CLASSES = 2000
_ALPHA = 0.1
_STANDARD_ERRORS = 2.0
# From the names of maps to their classes and what a sentence calls them.
_MAPS: dict[str, tuple[Callable[[], Any], str]] = {
    "temperature": (um.TemperatureScaling, "temperature scaling"),
    "vector": (um.VectorScaling, "vector scaling"),
    "isotonic": (um.IsotonicCalibration, "isotonic calibration"),
    "venn_abers": (um.VennAbersCalibration, "Venn-Abers calibration"),
}
_ONLY_TWO_CLASSES = ("venn_abers",)
_SCORES: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "negative_log_likelihood": (
        um.negative_log_likelihood,
        {},
        "negative log-likelihood",
    ),
    "brier_score_zero_based": (um.brier_score, {"zero_based": True}, "Brier score"),
}
_LIKELIHOOD, _BRIER = _SCORES


class Mended(NamedTuple):
    """Cross-validated forecasts.

    Attributes:
      section: what the report says, for strict JSON.
      data: labels [N] and weights, by the names of the arguments.
      kind: "logits" or "probabilities".
      forecasts: of the model as it is and of each map, [N, K], by their names.
    """

    section: dict[str, Any]
    data: dict[str, Any]
    kind: str
    forecasts: dict[str, np.ndarray]

    @property
    def drawn(self) -> dict[str, np.ndarray]:
        """The forecasts before and after the best map; none where there is no map."""
        best = self.section["best"]
        if best is None:
            return {}
        after = _MAPS[best][1]
        return {AS_IT_IS: self.forecasts[AS_IT_IS], after: self.forecasts[best]}


def folds_of(size: int) -> np.ndarray:
    """Returns the fold of each example, drawn whatever the labels.

    Folds of equal shares of each class would tell a map how frequent the classes are in
    the fold that it is judged by.
    """
    return np.random.default_rng(_SEED).permutation(size) % FOLDS


@remembered
def mended(predictions: Predictions, num_bins: int) -> Mended:
    """Returns the section and the forecasts that its picture shows.

    Args:
      predictions: labels and predictions.
      num_bins: number of bins of the ECE.
    """
    examples = examples_of(predictions)
    labels, kind, weights = examples.labels, predictions.kind, examples.weights
    section: dict[str, Any] = {
        "folds": FOLDS,
        "examples": 0,
        "best": None,
        "scores": {},
        "gains": {},
        "code": [],
        "sets": {"verdict": "", "metrics": {}},
        "notes": [],
    }
    reason = _too_few(labels, weights)
    if reason:
        section["verdict"] = f"Too few to say: {reason}."
        return Mended(section, {}, kind, {})

    chosen, given = _chosen(labels, examples.num_classes), examples.predictions
    if len(chosen) < len(labels):
        section["notes"].append(
            f"Of {len(labels)} examples this section takes {len(chosen)}, drawn at "
            "random."
        )
        labels, given = labels[chosen], given[chosen]
        weights = None if weights is None else weights[chosen]
    section["examples"] = len(labels)
    # The fits take a weight as that many examples; for the rest only ratios count.
    data: dict[str, Any] = {"labels": labels, "sample_weight": weights}
    folds = folds_of(len(labels))
    forecasts: dict[str, Any] = {AS_IT_IS: given}
    for name, (calibrator, title) in _MAPS.items():
        if name in _ONLY_TWO_CLASSES and examples.num_classes != 2:
            continue
        if name != "temperature" and examples.num_classes > _MAX_CLASSES:
            section["notes"].append(
                f"There is no {title}: it would take long of more than {_MAX_CLASSES} "
                "classes."
            )
            continue
        try:
            forecasts[name] = _cross_validated(calibrator, data, {kind: given}, folds)
        except (ValueError, RuntimeError) as wrong:
            section["notes"].append(f"There is no {title}: {wrong}")
    if weights is not None:
        weights = weights / weights.max()
        data["sample_weight"] = weights
    each = {
        name: {
            score: metric(labels, **{kind: of_map}, **options, aggregate=False)
            for score, (metric, options, _) in _SCORES.items()
        }
        for name, of_map in forecasts.items()
    }
    for name, of_map in forecasts.items():
        section["scores"][name] = {
            score: float(np.average(values, weights=weights))
            for score, values in each[name].items()
        } | {"ece": um.ece(**data, **{kind: of_map}, num_bins=num_bins)}
    _judge(section, each, weights)
    if section["best"] is not None:
        of_many = predictions.members > 1
        name = "mean" if of_many else kind
        given_as = "probabilities" if of_many else kind
        section["code"] = _code(section["best"], given_as, name, weights is not None)
    p = _rows.softmax(given) if kind == "logits" else given
    section["sets"] = _sets(labels, p, folds)
    return Mended(section, data, kind, forecasts)


def _too_few(labels: np.ndarray, weights: np.ndarray | None) -> str:
    """Returns why cross-validation tells nothing, or nothing."""
    weights = np.ones(len(labels)) if weights is None else weights / weights.max()
    size = float(weights.sum() ** 2 / (weights**2).sum())  # Kish's.
    if size < _LEAST:
        of_weights = " once they are weighted" if size < len(labels) else ""
        shown = np.floor(10 * size) / 10
        examples = "example" if shown == 1 else "examples"
        return f"{shown:g} {examples}{of_weights}, where {_LEAST} are the least"
    if np.sum(np.bincount(labels) > 1) < 2:
        return "fewer than two classes have two labels"
    return ""


def _chosen(labels: np.ndarray, classes: int) -> np.ndarray:
    """Returns the examples that bound the cost, in their order."""
    limit = max(_LEAST, min(_MAX_EXAMPLES, _MAX_NUMBERS // classes))
    if len(labels) <= limit:
        return np.arange(len(labels))
    order = np.random.default_rng(_SEED).permutation(len(labels))
    return np.sort(order[:limit])


def _splits(folds: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for fold in range(FOLDS):
        yield folds != fold, folds == fold


def _cross_validated(
    calibrator: Callable[[], Any],
    data: dict[str, Any],
    given: dict[str, np.ndarray],
    folds: np.ndarray,
) -> np.ndarray:
    """Returns the forecasts of each fold by the map of all others."""
    (kind, values), weights = *given.items(), data["sample_weight"]
    mended_values = np.empty_like(values)
    for rest, fold in _splits(folds):
        fitted = calibrator().fit(
            data["labels"][rest],
            **{kind: values[rest]},
            sample_weight=None if weights is None else weights[rest],
        )
        mended_values[fold] = fitted.transform(**{kind: values[fold]})
    return mended_values


def _judge(
    section: dict[str, Any],
    each: dict[str, dict[str, np.ndarray]],
    weights: np.ndarray | None,
) -> None:
    """Adds the best map, what each one gains and whether that is clear."""
    maps = [name for name in each if name != AS_IT_IS]
    if not maps:
        section["verdict"] = "No map can be fitted to these examples."
        return
    finite = all(np.all(np.isfinite(each[name][_LIKELIHOOD])) for name in each)
    criterion = _LIKELIHOOD if finite else _BRIER
    ends = {}
    for name in maps:
        gain = each[AS_IT_IS][criterion] - each[name][criterion]
        shares = np.ones(len(gain)) if weights is None else weights
        shares = shares / shares.sum()
        mean = float(gain @ shares)
        error = float(shares**2 @ (gain - mean) ** 2) ** 0.5
        ends[name] = tuple(mean + _STANDARD_ERRORS * error * x for x in (-1, 0, 1))
    section["criterion"] = criterion
    section["gains"] = {name: row(*of_map) for name, of_map in ends.items()}
    # What clearly gains comes before what may gain more, by chance.
    best = max(maps, key=lambda name: (_is_clear(ends[name]), ends[name][1]))
    section["best"] = best
    section["needs_mending"] = _is_clear(ends[best])
    title, score = _MAPS[best][1], _SCORES[criterion][2]
    before, after = (section["scores"][name][criterion] for name in (AS_IT_IS, best))
    if section["needs_mending"]:
        verdict = (
            f"Mending would help: {title} lowers the {score} from {before:.4f} to "
            f"{after:.4f} on examples that it was not fitted to"
        )
    else:
        verdict = (
            f"Nothing clearly needs mending: the best map, {title}, takes the {score} "
            f"from {before:.4f} to {after:.4f} on examples that it was not fitted to, "
            "which chance alone may do"
        )
    why = "" if finite else _why_brier(each)
    section["verdict"] = f"{verdict}.{why}"


def _is_clear(ends: tuple[float, float, float]) -> bool:
    return round(ends[0], 4) > 0  # As it is shown.


def _why_brier(each: dict[str, dict[str, np.ndarray]]) -> str:
    infinite = [
        "the model as it is" if name == AS_IT_IS else _MAPS[name][1]
        for name in each
        if not np.all(np.isfinite(each[name][_LIKELIHOOD]))
    ]
    verb = "gives" if len(infinite) == 1 else "give"
    return (
        f" Maps are compared by the Brier score, as {' and '.join(infinite)} {verb} "
        "some labels probability 0, and so an infinite likelihood."
    )


def _code(best: str, kind: str, name: str, weighted: bool) -> list[str]:
    """Returns the lines that mend forecasts, with the names of a file's arrays.

    Those of an ensemble, the mean of the probabilities, are no array of it.
    """
    calibrator = _MAPS[best][0]
    fit = f"scaling = um.{getattr(calibrator, '__name__', '')}().fit("
    data = f"labels, {kind}={name}"
    weights = ", sample_weight=sample_weight"
    return [
        "import uncertainty_metrics.numpy as um",
        *([fit, f"    {data}{weights}", ")"] if weighted else [f"{fit}{data})"]),
        f"mended = scaling.transform({kind}=new_{name})",
    ]


def _sets(labels: np.ndarray, p: np.ndarray, folds: np.ndarray) -> dict[str, Any]:
    """Returns coverage and size of the conformal sets of each fold by all others."""
    held = np.empty(p.shape, bool)
    for rest, fold in _splits(folds):
        model = um.conformal.ConformalClassifier("lac", _ALPHA)
        held[fold] = model.fit(labels[rest], p[rest]).predict(p[fold])
    coverage = um.conformal.coverage(labels, held)
    size = um.conformal.mean_set_size(held)
    empty = float(np.mean(~held.any(axis=1)))
    some = f" {empty:.1%} of the sets are empty." if empty else ""
    return {
        "verdict": "Where a decision may be several classes: sets of classes that hold "
        f"the label with probability {1 - _ALPHA:.0%}, whatever the model, by "
        "um.conformal.ConformalClassifier.",
        "metrics": rows(
            {
                "coverage": (coverage, "Share of the sets that hold the label."),
                "mean_set_size": (size, f"Mean number of classes in a set.{some}"),
            }
        ),
    }
