"""The metrics of a comparison of models: values with intervals, and paired differences.

A metric is compared by the scores of the examples where it is their mean, by DeLong's
variance if it is the AUROC, by the difference of the debiased squared errors if it is a
calibration error of one score, and else by a paired bootstrap.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import _checks, _directions, _without_warnings
from uncertainty_metrics._calibration_spec import is_required
from uncertainty_metrics._results import ConfidenceInterval, TestedInterval
from uncertainty_metrics.numpy import (
    _inputs,
    _paired_scores,
    _resampled_metrics,
    _resamples,
    _wilson,
)
from uncertainty_metrics.numpy._resamples import Dependence
from uncertainty_metrics.numpy.scoring import scoring_rules

# Errors of one score and one outcome. Noise makes each of them larger but the debiased
# one, so models are compared by the debiased squared errors of the same scores.
_DEBIASED = um_np.debiased_calibration_error
# These errors are those of decisions also if P(class 1) is one column.
_OF_DECISIONS = (um_np.ece, um_np.rmsce)
_CALIBRATION = (_DEBIASED, *_OF_DECISIONS, um_np.smooth_calibration_error)


class Metric(NamedTuple):
    """A metric that models are compared by.

    Attributes:
      name: what tables call it.
      function: a function of the package, for NumPy.
      options: its options.
    """

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values are better."""
        return _directions.direction(self.function.__name__) == "larger"

    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Returns the parameters of the function."""
        return inspect.signature(self.function).parameters

    def arguments(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of the function, from those of a model.

        Raises:
          ValueError: the model lacks one.
        """
        parameters = self.parameters()
        data = dict(model)
        if has_grades(data):
            data = self._of_grades(data)
        elif "correct" in data and "correct" not in parameters:
            data["labels"] = data.pop("correct")
            data["probabilities"] = data.pop("confidences")
            if "positive_class" in parameters:
                data["positive_class"] = True
        if "labels" in data and "targets" in parameters:
            data["targets"] = data.pop("labels")
        if "scores" in parameters and "scores" not in data:
            data["scores"] = _event_scores(self.name, data)
        if "multilabel" in data and "multilabel" not in parameters:
            raise _checks.error(
                "metrics",
                "metrics that take `multilabel`; compare the labels one by one, as in "
                "compare(labels[:, 0], {name: probabilities[:, 0]})",
                repr(self.name),
                verb="hold",
            )
        known = {name: data[name] for name in data if name in parameters}
        known |= self.options
        needed = [
            name for name, parameter in parameters.items() if is_required(parameter)
        ]
        missing = [name for name in needed if name not in known]
        if missing:
            raise _checks.error(
                "metrics",
                f"metrics of the predictions: {self.name!r} needs "
                + " and ".join(f"`{name}`" for name in missing),
                f"models with {', '.join(data)}",
                verb="hold",
            )
        return known

    def _of_grades(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of answers with grades y between 0 and 1: the losses 1
        - y, or the distribution (1 - y, y) of two labels.

        Raises:
          ValueError: the metric needs right or wrong.
        """
        parameters, data = self.parameters(), dict(model)
        grades = np.asarray(data["correct"], np.float64)
        if "losses" in parameters:
            del data["correct"]
            return {**data, "losses": 1 - grades}
        if "correct" in parameters:
            return data
        data["probabilities"] = data.pop("confidences")
        if self.function is um_np.accuracy:  # It is read off the model.
            return {**data, "labels": data.pop("correct")}
        if "label_distributions" not in parameters:
            raise _checks.error(
                "metrics",
                f"metrics that take grades: {self.name!r} needs outcomes that are 0 or "
                "1; give it correct=grades >= threshold",
                "grades between 0 and 1",
                verb="hold",
            )
        del data["correct"]
        data["label_distributions"] = np.stack([1 - grades, grades], axis=-1)
        if "positive_class" in parameters:
            data["positive_class"] = True
        return data


def has_grades(model: Mapping[str, Any]) -> bool:
    """Says if a model has answers with grades between right and wrong."""
    if "correct" not in model:
        return False
    correct = np.asarray(model["correct"])
    return bool(np.any((correct > 0) & (correct < 1)))


def _event_scores(name: str, data: Mapping[str, Any]) -> np.ndarray:
    """Returns P(class 1), or its log-odds, of two classes."""
    for key in ("logits", "probabilities"):
        if data.get(key) is None:
            continue
        scores = np.asarray(data[key])
        shape = np.shape(data["labels"])
        if scores.shape == shape:
            return scores
        if scores.shape[-1] == 1:
            return scores[..., 0]
        if scores.shape[-1] == 2:
            scores = scores.astype(np.float64)
            both = scores[..., 1] - scores[..., 0]
            return both if key == "logits" else scores[..., 1]
        raise _checks.error(
            "metrics",
            f"metrics of the predictions: {name!r} needs two classes",
            f"predictions of {scores.shape[-1]} classes",
            verb="hold",
        )
    raise _checks.error("predictions", "probabilities or logits", list(data))


def metric_of(name: str | None, given: Any) -> Metric:
    """Returns a metric of the package by its name, or the function itself.

    Args:
      name: what tables call the metric; None for the name of the function.
      given: the name, the function, or a `functools.partial` of it.
    """
    options: Mapping[str, Any] = {}
    function = given
    if isinstance(given, functools.partial) and not given.args:
        function, options = given.func, given.keywords
    # A function on tensors has its NumPy twin as this attribute.
    function = getattr(function, "__declaration__", function)
    found = function if isinstance(function, str) else _public_name(function)
    room: Any = um_np
    for part in (found or "").split("."):
        room = getattr(room, part, None) if part in dir(room) else None
    if not inspect.isfunction(room):
        raise _checks.error(
            "metrics",
            "names of metrics of the package, such as 'brier_score', or the functions, "
            "with options bound by `functools.partial`",
            repr(given),
            verb="hold",
        )
    check_no_weights("metrics", options)
    return Metric(name or str(found), room, options)


def check_no_weights(name: str, given: Mapping[str, Any]) -> None:
    """Raises ValueError if an argument of `compare` holds what it does not read there.

    Args:
      name: the argument.
      given: arguments of metrics by name.
    """
    for key, remedy in (
        ("sample_weight", "examples are compared without weights"),
        ("multilabel", "pass it to `compare`"),
    ):
        if key in given:
            expected = f"arguments of metrics without `{key}`: {remedy}"
            raise _checks.error(name, expected, list(given), verb="hold")


def _public_name(function: Any) -> str | None:
    name = getattr(function, "__name__", None)
    for prefix, room in (("", um_np), ("regression.", um_np.regression)):
        if name in dir(room) and getattr(room, str(name)) is function:
            return f"{prefix}{name}"
    return None


class Compared(Protocol):
    """The models in one metric.

    Attributes:
      values: the value of each model with its interval, whose ends may be NaN.
      order: numbers of which the smallest is that of the best model.
    """

    values: Sequence[ConfidenceInterval]
    order: np.ndarray

    def difference(self, i: int, j: int) -> TestedInterval:
        """Returns the value of model i less that of model j."""


def compared(
    metric: Metric,
    models: Mapping[str, Mapping[str, Any]],
    dependence: Dependence,
    clusters: Any,
    level: float,
    num_resamples: int,
    seed: Any,
) -> Compared:
    """Returns the values and differences of a metric.

    Args:
      metric: the metric.
      models: the arguments of each model by name.
      dependence: how the examples depend on each other.
      clusters: ids of the clusters, or of the blocks, or None.
      level: level of the intervals.
      num_resamples: number of resamples of a bootstrap.
      seed: of the resamples.
    """
    function = metric.function
    arguments = [metric.arguments(model) for model in models.values()]
    if function is um_np.accuracy or _resampled_metrics.is_by_example(function):
        scores = np.stack(
            [
                _scores_of_examples(metric, given, model)
                for given, model in zip(arguments, models.values(), strict=True)
            ]
        )
        return _Scores(metric, scores, _counts(arguments), dependence, level)
    is_multilabel = "multilabel" in arguments[0]
    if function is um_np.auroc and _share_labels(arguments) and not is_multilabel:
        return _Rankings(metric, arguments, clusters, level)
    if function in _CALIBRATION:
        return _Errors(metric, arguments, clusters, level)
    return _Resampled(metric, arguments, dependence, level, num_resamples, seed)


def _share_labels(arguments: list[dict[str, Any]]) -> bool:
    """Says if all models have the same labels; answers may be right in one only."""
    labels = [given["labels"] for given in arguments]
    return all(np.array_equal(labels[0], other) for other in labels)


def _scores_of_examples(
    metric: Metric, arguments: dict[str, Any], model: Mapping[str, Any]
) -> np.ndarray:
    """Returns the score of each example, [n]: of several labels their sum, of the
    ignored label 0.
    """
    if metric.function is um_np.accuracy:
        if "correct" in model:
            correct = np.asarray(model["correct"], np.float64).reshape(-1)
            bad = ~((correct >= 0) & (correct <= 1))
            if np.any(bad):
                received = correct[bad][0]
                raise _checks.error("correct", "in [0, 1]", received)
            return correct
        # Each example is a group of its own.
        shape = np.shape(arguments["labels"])
        own = np.arange(math.prod(shape)).reshape(shape)
        found = um_np.accuracy(**arguments, groups=own, num_groups=own.size)
        return np.where(found.weights > 0, found.values, 0.0)
    if "aggregate" in metric.parameters():
        arguments = {**arguments, "aggregate": False}
    one_brier = (
        metric.function is um_np.brier_score and "zero_based" not in metric.options
    )
    if one_brier:
        arguments = {**arguments, "zero_based": True}
    scores = np.asarray(metric.function(**arguments), np.float64)
    if one_brier:
        scores = scoring_rules.of_one_outcome(scores, _is_of_two_classes(arguments))
    return scores.sum(axis=-1) if "multilabel" in arguments else scores.reshape(-1)


def _counts(arguments: list[dict[str, Any]]) -> np.ndarray | None:
    """Returns how many labels of each example count, [n]; None if each has one.

    Raises:
      ValueError: the models have other labels to ignore.
    """
    if not any({"multilabel", "ignore_index"} & given.keys() for given in arguments):
        return None
    counts = []
    for given in arguments:
        labels, ignored = np.asarray(given["labels"]), given.get("ignore_index")
        counted = np.ones(labels.shape)
        if ignored is not None:
            counted -= _inputs.is_ignored(labels, ignored)
        is_row = "multilabel" in given
        counts.append(counted.sum(axis=-1) if is_row else counted.reshape(-1))
        if not np.array_equal(counts[0], counts[-1]):
            expected = "models that ignore the same labels"
            raise _checks.error("predictions", expected, "others", verb="hold")
    number = np.count_nonzero(counts[0])
    if number < 2:
        expected = "two examples that are not ignored"
        raise _checks.error("labels", f"at least {expected}", number, verb="hold")
    return counts[0]


def _is_of_two_classes(arguments: Mapping[str, Any]) -> bool:
    """Says if a model gives one or two columns of probabilities or logits."""
    name = "logits" if arguments.get("probabilities") is None else "probabilities"
    if arguments.get("label_distributions") is not None:
        shape = np.shape(arguments["label_distributions"])[:-1]
    else:
        shape = np.shape(arguments["labels"])
    given = np.shape(arguments[name])
    return given in (shape, (*shape, 1), (*shape, 2))


class _Scores:
    """Means of the scores of the examples, [models, n], each of so many labels, [n]."""

    def __init__(
        self,
        metric: Metric,
        scores: np.ndarray,
        counts: np.ndarray | None,
        dependence: Dependence,
        level: float,
    ) -> None:
        self._scores, self._counts = scores, counts
        self._dependence, self._level = dependence, level
        self._is_share = metric.function is um_np.accuracy
        self.values: Sequence[ConfidenceInterval]
        self.values = [self._value(row) for row in scores]
        means = np.array([value.estimate for value in self.values])
        self.order = -means if metric.larger_is_better else means

    def _value(self, scores: np.ndarray) -> ConfidenceInterval:
        mean = _paired_scores.mean(scores, self._dependence, self._counts)
        found = mean.interval(self._level)
        if not math.isfinite(mean.mean):
            return ConfidenceInterval(math.nan, mean.mean, math.nan)
        if not self._is_share:
            return ConfidenceInterval(found.lower, mean.mean, found.upper)
        # Wilson's interval, of as many examples as have this standard error.
        clusters = self._dependence.clusters
        size = float(len(scores) if clusters is None else clusters.number)
        if mean.error > 0:
            size = mean.mean * (1 - mean.mean) / mean.error**2
        share = np.array([mean.mean])
        lower, upper = _wilson.interval(share, np.array([size]), self._level)
        return ConfidenceInterval(float(lower[0]), mean.mean, float(upper[0]))

    def difference(self, i: int, j: int) -> TestedInterval:
        one, two = self._scores[i], self._scores[j]
        # A score is infinite where what came had the probability 0. Two are equal.
        with np.errstate(invalid="ignore"):
            differences = np.where(one == two, 0.0, one - two)
        mean = _paired_scores.mean(differences, self._dependence, self._counts)
        return mean.interval(self._level)


class _Rankings:
    """Areas under the ROC curve, by DeLong, or by Obuchowski with clusters."""

    def __init__(
        self,
        metric: Metric,
        arguments: list[dict[str, Any]],
        clusters: Any,
        level: float,
    ) -> None:
        names = {"labels", "scores", "sample_weight", "ignore_index"}
        self._options = {"level": level, "clusters": clusters}
        self._arguments = [
            {name: given[name] for name in given if name in names}
            for given in arguments
        ]
        self.values: Sequence[ConfidenceInterval] = [
            um_np.auroc_interval(**given, **self._options) for given in self._arguments
        ]
        self.order = -np.array([value.estimate for value in self.values])

    def difference(self, i: int, j: int) -> TestedInterval:
        given = dict(self._arguments[i])
        given["scores_1"] = given.pop("scores")
        given["scores_2"] = self._arguments[j]["scores"]
        return um_np.auroc_difference(**given, **self._options)


class _Errors:
    """Calibration errors of one score, compared by the debiased squared errors."""

    def __init__(
        self,
        metric: Metric,
        arguments: list[dict[str, Any]],
        clusters: Any,
        level: float,
    ) -> None:
        self._options: dict[str, Any] = {"level": level, "clusters": clusters}
        self._models = []
        shared = (
            *("labels", "positive_class", "binning_scheme", "num_bins"),
            *("ignore_index", "multilabel"),
        )
        own = ("probabilities", "logits", "correct", "confidences", "labels_predicted")
        for given in arguments:
            self._options |= {k: v for k, v in given.items() if k in shared}
            self._models.append({k: v for k, v in given.items() if k in own})
        if metric.function in _OF_DECISIONS and "correct" not in arguments[0]:
            self._options.setdefault("positive_class", False)
        self.values: Sequence[ConfidenceInterval]
        if metric.function is _DEBIASED:
            self.values = [
                um_np.calibration_error_interval(**model, **self._given())
                for model in self._models
            ]
            estimates = [value.estimate for value in self.values]
        else:
            estimates = [metric.function(**given) for given in arguments]
            self.values = [
                ConfidenceInterval(math.nan, float(value), math.nan)
                for value in estimates
            ]
        # The best model is that of the smallest debiased square, which may be negative.
        squares = [0.0]
        for i in range(1, len(arguments)):
            squares.append(self.difference(i, 0).estimate)
        self.order = np.array(squares)

    def _given(self) -> dict[str, Any]:
        """Returns the options, without clusters where there are none."""
        return {k: v for k, v in self._options.items() if v is not None}

    def difference(self, i: int, j: int) -> TestedInterval:
        return um_np.calibration_error_difference(
            self._models[i], self._models[j], **self._options
        )


class _Resampled:
    """Any other metric, on the same resamples for all models."""

    def __init__(
        self,
        metric: Metric,
        arguments: list[dict[str, Any]],
        dependence: Dependence,
        level: float,
        num_resamples: int,
        seed: Any,
    ) -> None:
        prepared = [
            _resampled_metrics.prepared(metric.function, given) for given in arguments
        ]
        for made in prepared:
            if _resampled_metrics.flat(made.estimate).size != 1:
                raise _checks.error(
                    "metrics",
                    "metrics that return one number",
                    metric.name,
                    verb="hold",
                )
        self._level = level
        self._estimates = np.array([float(made.estimate) for made in prepared])
        n = prepared[0].n
        # All models see the same resamples, which are drawn again for each.
        own_seed = int(np.random.default_rng(seed).integers(2**63))
        replicates, jackknife = [], []
        with _without_warnings.warnings_ignored, np.errstate(all="ignore"):
            for made in prepared:
                rng = np.random.default_rng(own_seed)
                draws = dependence.draws(rng, n, num_resamples)
                replicates.append(_resamples.values_of(made, draws))
                left_out = dependence.jackknife(rng, n)
                jackknife.append(_resamples.values_of(made, left_out))
        self._replicates = np.concatenate(replicates, axis=1)
        self._jackknife = np.concatenate(jackknife, axis=1)
        if np.any(np.mean(np.isnan(self._replicates), axis=0) > 0.5):
            raise _checks.error(
                "metrics",
                "finite for at least half of the resamples",
                f"{metric.name!r}, which is undefined for more",
            )
        values = []
        for i in range(len(prepared)):
            lower, upper, _ = self._interval(
                self._replicates[:, i], self._estimates[i], self._jackknife[:, i]
            )
            estimate = float(self._estimates[i])
            values.append(ConfidenceInterval(lower, estimate, upper))
        self.values: Sequence[ConfidenceInterval] = values
        self.order = self._estimates * (-1 if metric.larger_is_better else 1)

    def _interval(
        self, replicates: np.ndarray, estimate: float, jackknife: np.ndarray
    ) -> tuple[float, float, float]:
        """Returns the ends of the interval "bca", and the p-value of 0: one minus the
        level of the interval that ends at 0.
        """
        from scipy import special

        levels = np.array([(1 - self._level) / 2, (1 + self._level) / 2])
        rows, left_out = replicates[:, None], jackknife[:, None]
        with np.errstate(all="ignore"):
            places = _resamples.bca_levels(rows, np.array([estimate]), left_out, levels)
            lower, upper = _resamples.quantiles(rows, places)[:, 0]
            known = replicates[~np.isnan(replicates)]
            slope = float(_resamples.acceleration(left_out)[0])

        def place(value: float) -> float:
            """Returns the Normal quantile of the share of resamples below a value."""
            ties = np.abs(known - value) <= _resamples.TIE * np.max(
                np.abs(known), initial=0.0
            )
            below = np.mean((known < value) & ~ties) + np.mean(ties) / 2
            least = 0.5 / len(known)
            return float(special.ndtri(np.clip(below, least, 1 - least)))

        bias = place(estimate)
        distance = place(0.0) - bias
        z = distance / (1 + slope * distance) - bias
        if not np.any(known):
            z = 0.0
        return float(lower), float(upper), min(2 * float(special.ndtr(-abs(z))), 1.0)

    def difference(self, i: int, j: int) -> TestedInterval:
        rows = self._replicates, self._jackknife
        replicates, jackknife = (row[:, i] - row[:, j] for row in rows)
        estimate = float(self._estimates[i] - self._estimates[j])
        lower, upper, p_value = self._interval(replicates, estimate, jackknife)
        return TestedInterval(lower, estimate, upper, p_value)
