"""Metrics of resampled data, as functions of how often each example is drawn.

Means over examples and calibration errors of even bins are computed from a few sums.
All other metrics are called with resampled arrays; metrics of a classifier that need
only its decisions and their scores are called with arrays of these.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _arguments, _checks, _results
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _examples, _frames, _inputs, regression
from uncertainty_metrics.numpy._group_columns import group_column
from uncertainty_metrics.numpy.calibration.bins import (
    _binning,
    _scores,
    binned_errors,
    class_wise_errors,
    confidence_errors,
    debiased_calibration,
)
from uncertainty_metrics.numpy.ensemble import (
    cross_entropy,
    distances,
    diversity,
    uncertainty,
)
from uncertainty_metrics.numpy.scoring import (
    forecast_scores,
    multivariate_scores,
    quantile_scores,
)
from uncertainty_metrics.numpy.selective import (
    _ranked_decisions,
    accuracy,
    risk_coverage,
)

# Metrics that return a value for each example. Metrics with the argument `aggregate` do
# so, too, for `aggregate=False`.
_BY_EXAMPLE = (
    *(
        getattr(family, name)
        for family in (
            *(distances, forecast_scores, multivariate_scores),
            *(quantile_scores, uncertainty),
        )
        for name in family.__all__
    ),
    regression.probability_integral_transform,
    *(regression.quantile_pit, regression.sample_pit, regression.seasonal_error),
)
_NAMED = vars(confidence_errors) | vars(class_wise_errors)
_GENERAL = binned_errors.general_calibration_error
_DEBIASED = debiased_calibration.debiased_calibration_error
# Metrics that compare scores and outcomes in bins, with the options that they have no
# argument for; None for the metric that takes all of them.
_BINNED: dict[Callable[..., Any], CalibrationSpec | None]
_BINNED = {_NAMED[name]: spec for name, spec in PRESETS.items()}
_BINNED |= {_GENERAL: None, _DEBIASED: debiased_calibration.PRESET}
# Metrics of the order of the confidences and of which decisions are right.
_RANKED = (
    risk_coverage.area_under_generalized_risk_coverage_curve,
    risk_coverage.area_under_risk_coverage_curve,
    risk_coverage.coverage_at_risk,
    risk_coverage.excess_aurc,
    risk_coverage.oracle_collaborative_accuracy,
    risk_coverage.risk_at_coverage,
)
# A tuple and no set, because a metric that a user passes need not be hashable.
_OF_CLASSIFIERS = (*_BINNED, *_RANKED, accuracy.accuracy)
_MEMBERS_FIRST = (diversity.average_pairwise_diversity, cross_entropy.variance_bound)
# From how often each example is drawn, int64 [n], to all numbers of the result, [S].
_Replicate = Callable[[np.ndarray], np.ndarray]


class Metric(NamedTuple):
    """A metric of given data.

    Attributes:
      estimate: the result of the metric for the data themselves.
      replicate: function of how often each example is drawn, int64 [n]. It returns all
        numbers of the result, [S]; it raises ValueError if the result is undefined.
      n: number of examples.
      in_threads: whether several threads may call `replicate` at once; not for a
        function of the user.
    """

    estimate: Any
    replicate: _Replicate
    n: int
    in_threads: bool


def _leaves(result: Any) -> Iterator[np.ndarray]:
    """Yields the arrays in the result of a metric."""
    if isinstance(result, Mapping):
        result = tuple(result.values())
    if isinstance(result, tuple):
        for part in result:
            yield from _leaves(part)
        return
    array = np.asarray(result)
    if array.dtype.kind not in "biuf":
        raise _checks.error(
            "metric",
            "a function that returns numbers, arrays, or dicts or tuples of them",
            f"one that returns {type(result).__name__}",
        )
    yield array


def flat(result: Any) -> np.ndarray:
    """Returns all numbers in the result of a metric, float64 [S]."""
    if isinstance(result, float):
        return np.array([result])
    leaves = (array.astype(np.float64) for array in _leaves(result))
    return np.concatenate([np.zeros(0), *map(np.ravel, leaves)])


def _each(function: Callable[[np.ndarray], Any], result: Any) -> Any:
    """Returns `function` of an array, or of each array in a named tuple."""
    if isinstance(result, tuple):
        return type(result)(*map(function, result))
    return function(result)


def by_name(
    metric: Callable[..., Any], arguments: tuple[Any, ...], data: dict[str, Any]
) -> dict[str, Any]:
    """Returns all arguments of a metric by name, positional ones included.

    Raises:
      TypeError: the metric does not take these arguments, or they have no names.
    """
    if not arguments or not callable(metric):
        return data
    try:
        signature = inspect.signature(metric)
        bound = signature.bind_partial(*arguments, **data).arguments
    except (TypeError, ValueError) as error:
        raise TypeError(f"`metric` must take these arguments: {error}") from None
    names = list(bound)[: len(arguments)]
    kinds = {signature.parameters[name].kind for name in names}
    if kinds != {inspect.Parameter.POSITIONAL_OR_KEYWORD}:
        raise TypeError(
            "Pass the data by name, for the positional arguments of `metric` have no "
            f"names. Received: {signature}"
        )
    return {**data, **{name: bound[name] for name in names}}


def _is_ours(metric: Callable[..., Any]) -> bool:
    return str(getattr(metric, "__module__", "")).startswith("uncertainty_metrics.")


def is_by_example(metric: Callable[..., Any]) -> bool:
    """Says if a metric of the package has a value for each example."""
    if not _is_ours(metric):
        return False
    return metric in _BY_EXAMPLE or "aggregate" in inspect.signature(metric).parameters


def _function(
    metric: Callable[..., Any], data: dict[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Returns the function to call (for tensors, the NumPy twin) and its arguments.

    Arguments that `functools.partial` binds to a metric of the package join the data.
    """
    if not callable(metric):
        raise TypeError(f"`metric` must be a function. Received: {metric!r}")
    if isinstance(metric, functools.partial) and _is_ours(metric.func):
        signature = inspect.signature(metric.func)
        bound = signature.bind_partial(*metric.args, **metric.keywords)
        metric, data = metric.func, {**bound.arguments, **data}
    if "pit" in data and len(ends := _results.pit_ends(data["pit"])) > 1:
        others = {name: value for name, value in data.items() if name != "pit"}
        return _with_pit_ends(metric), {**others, **ends}
    # A function on tensors has its NumPy twin as this attribute.
    return getattr(metric, "__declaration__", metric), data


def _with_pit_ends(metric: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the metric with the ends of the interval `pit` as two arguments."""

    def metric_of_ends(lower, upper, **others):
        return metric(pit=PITInterval(lower, upper), **others)

    return metric_of_ends


def _axis(metric: Callable[..., Any], data: dict[str, Any], name: str) -> int | None:
    """Returns the axis of the examples in an argument; None for an option."""
    rank = np.ndim(data[name])
    if rank == 0 or (_is_ours(metric) and not _arguments.is_data(name, rank)):
        return None
    members_first = False
    if name == "probs":
        members_first = metric in _MEMBERS_FIRST
    elif name in ("logits", "probabilities") and _is_ours(metric):
        members_first = data.get("ensemble_axis") in (0, -rank)
    return int(members_first)


def _checked(
    metric: Callable[..., Any], data: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, int], int]:
    """Returns the arguments, data as arrays; the axis of the examples in each array to
    resample; and the number of examples.
    """
    data = dict(data)
    for name, value in data.items():
        if not (value is None or isinstance(value, bool | int | float | str)):
            array = _inputs.as_array(name, value)
            data[name] = array if array.ndim > 0 else value
    labels = data.get("labels")
    if _is_ours(metric) and labels is not None and np.ndim(labels) == 0:
        # The first axis of the predictions would be that of the classes.
        raise _checks.error("labels", "at least two examples", labels, verb="hold")
    axis_or_none = {name: _axis(metric, data, name) for name in data}
    axes = {name: axis for name, axis in axis_or_none.items() if axis is not None}
    if not axes:
        raise _checks.plain_error(
            "Pass the data of the metric, at least one array, by the names of its "
            "arguments.",
            list(data) or "nothing",
        )
    sizes = {name: data[name].shape[axis] for name, axis in axes.items()}
    first, n = next(iter(sizes.items()))
    for name, size in sizes.items():
        if size != n:
            raise _checks.error(
                name,
                f"as many examples as `{first}`, {n} on axis {axes[first]}",
                f"{size} on axis {axes[name]}",
                verb="hold",
            )
    if n < 2:
        raise _checks.error(first, "at least two examples", n, verb="hold")
    return data, axes, n


def _by_calls(
    metric: Callable[..., Any],
    data: dict[str, Any],
    axes: dict[str, int],
    units: np.ndarray,
) -> _Replicate:
    """Returns the replicates of a metric that is called with resampled arrays.

    Args:
      metric: the metric.
      data: all its arguments.
      axes: the axis to resample of each array, of N entries.
      units: integers [N], the drawn unit that each entry belongs to.
    """
    entries = np.arange(len(units))

    def replicate(times):
        drawn = np.repeat(entries, times[units])
        arrays = {name: data[name].take(drawn, axis) for name, axis in axes.items()}
        return flat(metric(**{**data, **arrays}))

    return replicate


def _by_calls_with_scores(
    metric: Callable[..., Any],
    options: dict[str, Any],
    units: np.ndarray,
    **arrays: np.ndarray | None,
) -> _Replicate:
    """Returns the replicates of calls with arrays [N], instead of [n, K]."""
    data = {name: array for name, array in arrays.items() if array is not None}
    return _by_calls(metric, {**options, **data}, dict.fromkeys(data, 0), units)


def _weighted_means(sums: np.ndarray, weights: np.ndarray) -> _Replicate:
    """Returns the replicates of weighted means, for the weighted sums [n, S] and the
    weights [n] of the examples.
    """

    def replicate(times):
        times = times.astype(np.float64)
        # `@` starts threads of BLAS, which takes longer than the sums.
        total = np.einsum("n,n", times, weights)
        if total == 0:
            raise ValueError
        return np.einsum("n,ns->s", times, sums) / total

    return replicate


def _mean(metric: Callable[..., Any], data: dict[str, Any], n: int) -> Metric:
    """Returns the mean over examples of a metric that has a value for each example."""
    values = estimate = metric(**data)
    if isinstance(estimate, tuple) or np.ndim(estimate) > 0:
        estimate = _each(lambda array: array.mean(axis=0), values)
        columns = [array.reshape(n, -1) for array in _leaves(values)]
        replicate = _weighted_means(np.concatenate(columns, 1), np.ones(n))
        return Metric(estimate, replicate, n, in_threads=True)
    values = metric(**{**data, "aggregate": False})
    weights = np.ones(values.shape)
    if data.get("sample_weight") is not None:
        weights = _inputs.sample_weights(data["sample_weight"], values.shape)
        weights = weights.reshape(values.shape)
    if data.get("ignore_index") is not None:
        weights = np.where(data["labels"] == data["ignore_index"], 0.0, weights)
    values, weights = (array.reshape(n, -1).sum(axis=1) for array in (values, weights))
    replicate = _weighted_means(values[:, None], weights)
    return Metric(estimate, replicate, n, in_threads=True)


def _units(examples: _examples.Examples) -> np.ndarray:
    """Returns the drawn unit of each example: its index on the labels' first axis."""
    return np.nonzero(examples.counted)[0]


def column_means(
    scores: np.ndarray, sample_weight: np.ndarray | None = None
) -> dict[int, float]:
    """Returns the weighted mean of each column of scores [n, S], for a bootstrap of
    several metrics that share their resamples.
    """
    return dict(enumerate(np.average(scores, axis=0, weights=sample_weight)))


def _accuracy(data: ClassifierData, n: int) -> _Replicate:
    """Returns the replicates of the accuracy."""
    examples = _examples.examples_of(data)
    if examples.predicted is None:
        _, correct, _ = _ranked_decisions.of_examples(examples)
    else:
        correct = examples.predicted == examples.labels
    units = _units(examples)
    weights = np.ones(len(units)) if examples.weights is None else examples.weights
    hits, weights = (
        np.bincount(units, values, n) for values in (weights * correct, weights)
    )
    return _weighted_means(hits[:, None], weights)


def _ranked(
    metric: Callable[..., Any], data: ClassifierData, options: dict[str, Any]
) -> _Replicate:
    """Returns the replicates of a metric of selective prediction."""
    examples = _examples.examples_of(data)
    scores, correct, weights = _ranked_decisions.of_examples(examples)
    return _by_calls_with_scores(
        metric,
        options,
        _units(examples),
        # Only the order matters. Margins of logits may be infinite, ranks are not.
        confidences=np.unique(scores, return_inverse=True)[1],
        correct=correct,
        sample_weight=weights,
    )


def _binned(
    metric: Callable[..., Any], data: ClassifierData, options: dict[str, Any]
) -> _Replicate | None:
    """Returns the replicates of a calibration error with one score for each example;
    None for other errors.
    """
    spec_options = {name: options[name] for name in options if name != "squared"}
    preset = _BINNED[metric]
    spec = (
        CalibrationSpec(**spec_options)
        if preset is None
        else dataclasses.replace(preset, **spec_options)
    )
    if not (spec.has_one_score or spec.by_form):
        return None
    examples = _examples.examples_of(data)
    spec = spec.settled(examples.one_column, examples.predicted is not None)
    if not spec.has_one_score:
        return None
    units, weights = _units(examples), examples.weights
    rows = _scores.scored_rows(examples, spec)
    scores, outcomes, groups = (array[:, 0] for array in rows)
    shape = spec.num_groups(examples.num_classes), spec.num_bins
    if spec.binning_scheme == "adaptive" or metric is _DEBIASED:
        if shape[0] > 1:  # The calls below have no groups.
            return None
        return _by_calls_with_scores(
            metric,
            {**options, "positive_class": True},
            units,
            labels=outcomes,
            probabilities=scores,
            sample_weight=weights,
        )
    masses = np.ones(len(scores)) if weights is None else weights
    if spec.threshold > 0:
        masses = np.where(_scores.above(scores, spec.threshold), masses, 0.0)
    gaps = masses * (scores.astype(np.float64) - outcomes)
    cells = groups * spec.num_bins + _binning.even_index(scores, spec.num_bins)

    def replicate(times):
        times_of_scores = times[units]
        if not np.any(times_of_scores):
            raise ValueError
        counts, sums = (
            np.bincount(cells, times_of_scores * values, math.prod(shape))
            for values in (masses, gaps)
        )
        counts, sums = counts.reshape(shape), sums.reshape(shape)
        # Only the difference of the sums of scores and of outcomes matters.
        statistics = _binning.BinStatistics(None, counts, sums, np.zeros(shape))
        return flat(_binning.calibration_error(statistics, spec.norm))

    return replicate


def is_binned(metric: Callable[..., Any]) -> bool:
    """Says if a metric is a calibration error in bins."""
    metric, _ = _function(metric, {})
    return any(metric is binned for binned in _BINNED)


def prepared(metric: Callable[..., Any], data: dict[str, Any]) -> Metric:
    """Returns a metric of checked data, with the fastest function for its replicates.

    Raises:
      ValueError: lengths differ, there is nothing to resample, or the metric raises it.
      TypeError: the metric is not callable, or it raises it.
    """
    metric, data = _function(metric, data)
    if _frames.has_frames((), data):
        data = _frames.read_data(data)
    group_names = None
    if (
        data.get("groups") is not None
        and data.get("num_groups") is None
        and "num_groups" in inspect.signature(metric).parameters
    ):
        # A resample may miss a group, so the groups of all examples are counted.
        column = group_column("groups", data["groups"])
        codes = column.codes.reshape(np.shape(data["groups"]))
        data = {**data, "groups": codes, "num_groups": len(column.values)}
        group_names = tuple(column.values)
    data, axes, n = _checked(metric, data)
    is_plain = data.get("groups") is None
    is_plain = is_plain and not (data.get("multilabel") or data.get("per_image"))
    if is_plain and is_by_example(metric):
        return _mean(metric, data, n)
    estimate = metric(**data)
    if group_names is not None:
        estimate.names = group_names
    for array in _leaves(estimate):
        if array.ndim > 0 and len(array) == n:
            raise _checks.error(
                "metric",
                "a function of all the examples: pass one that returns a mean",
                f"one that returns a value for each of the {n} examples",
            )
    data_names = {field.name for field in dataclasses.fields(ClassifierData)}
    options = {name: data[name] for name in data if name not in data_names}
    replicate = None
    if is_plain and data.get("labels") is not None and metric in _OF_CLASSIFIERS:
        classifier_data = ClassifierData(
            **{name: data[name] for name in data if name in data_names}
        )
        if metric is accuracy.accuracy:
            replicate = _accuracy(classifier_data, n)
        elif metric in _RANKED:
            replicate = _ranked(metric, classifier_data, options)
        else:
            replicate = _binned(metric, classifier_data, options)
    elif metric is column_means:
        weights = data.get("sample_weight")
        weights = np.ones(n) if weights is None else weights
        replicate = _weighted_means(weights[:, None] * data["scores"], weights)
    if replicate is None:
        replicate = _by_calls(metric, data, axes, np.arange(n))
    return Metric(estimate, replicate, n, in_threads=_is_ours(metric))
