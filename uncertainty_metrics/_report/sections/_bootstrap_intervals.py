"""Intervals of metrics: how much they vary from one sample to another."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._brier_scores import (
    brier_scores,
    is_of_one_outcome,
    score_arguments,
    share_of_summary,
)
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_cells,
    event_of,
    examples_of,
    judged_of,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Stream,
    has_cluster_sums,
    has_grades,
    remembered,
)
from uncertainty_metrics._report.data._row_clusters import (
    clusters_of,
    error_of_mean,
    quantile_of,
)
from uncertainty_metrics._report.data._summary_clusters import gap_of, sketch_of
from uncertainty_metrics._report.sections._calibration_words import terms_for
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy._resampled_metrics import column_means
from uncertainty_metrics.numpy.calibration.bins import _error_interval
from uncertainty_metrics.numpy.resampling import bootstrap, bootstrap_difference

INTERVAL_LEVEL = 0.95
Z = statistics.NormalDist().inv_cdf((1 + INTERVAL_LEVEL) / 2)
MEANS = ("accuracy", "brier_score", "negative_log_likelihood")
# With more examples each resample takes longer, so there are fewer of them.
_MAX_RESAMPLES, _MIN_RESAMPLES, _MAX_RESAMPLED = 1000, 200, 20_000_000
# Means of more examples than this are so close to Normal that resamples show no
# difference.
_MOST_DRAWN = 50_000
_SEED = 0  # The same in every report, so that reports can be repeated.


@remembered
def scores_of(model: Decided) -> dict[str, np.ndarray]:
    """Returns for each metric that is a mean the scores [n] of the single examples."""
    if isinstance(model, Confidences):
        decisions = decisions_of(model)
        scores = scores_of_answers(decisions.correct, decisions.confidences)
        if model.are_graded:
            return {terms_for(model).key: scores.pop("accuracy"), **scores}
        return scores
    examples = examples_of(model)
    nll = um.negative_log_likelihood(examples.weighted(None), aggregate=False)
    return {
        "accuracy": decisions_of(model).correct.astype(np.float64),
        "brier_score": brier_scores(
            examples.labels,
            examples.name,
            examples.predictions,
            is_of_one_outcome(model),
        ),
        "negative_log_likelihood": np.asarray(nll),
    }


def scores_of_answers(
    correct: np.ndarray, confidences: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns the scores [n] of confidences, taken as probabilities of being right.

    That of a grade is the mean over votes, of which the grade is the share for right.
    """
    given = score_arguments(correct, "probabilities", confidences)
    return {
        "accuracy": correct.astype(np.float64),
        "brier_score": brier_scores(correct, "probabilities", confidences, True),
        "negative_log_likelihood": np.asarray(
            um.negative_log_likelihood(**given, aggregate=False)
        ),
    }


def is_drawn(model: Decided) -> bool:
    """Says if the intervals are from the bootstrap, not from standard errors."""
    if isinstance(model, Stream):
        return False
    return len(decisions_of(model).correct) <= _MOST_DRAWN


def intervals_of(model: Decided, num_bins: int) -> dict[str, Interval]:
    """Returns the interval of each metric; the calibration error has `num_bins` bins.

    A single example gives none.
    """
    if isinstance(model, Stream):
        return _intervals_of_stream(model, num_bins)
    decisions = decisions_of(model).with_small_weights()
    size, clusters = len(decisions.correct), clusters_of(model)
    if not is_drawn(model):
        # With so many examples the bootstrap gives the same interval, but slowly.
        found = {
            name: interval(*interval_of_mean(each, decisions.weights, clusters))
            for name, each in scores_of(model).items()
        }
    else:
        found = {}
        if size > 1:
            given = _means_of(model)
            ends = bootstrap(column_means, **given, **options(size), clusters=clusters)
            found = _by_name(scores_of(model), ends)
    if size > 1:
        judged = judged_of(model).with_small_weights()
        ends = um.calibration_error_interval(
            **judged.arguments,
            level=INTERVAL_LEVEL,
            num_bins=num_bins,
            clusters=clusters,
        )
        found = {"calibration_error": interval(*ends), **found}
    return found


def _intervals_of_stream(model: Stream, num_bins: int) -> dict[str, Interval]:
    """Returns Normal intervals of the means of all rows of a stream; of a summary of
    clusters what its sums over clusters tell.
    """
    if has_cluster_sums(model):
        sketch = sketch_of(model)
        error = sketch.calibration_error_interval(
            level=INTERVAL_LEVEL, num_bins=num_bins
        )
        gap = gap_of(sketch, INTERVAL_LEVEL)
        return {"calibration_error": interval(*error), "mean_gap": interval(*gap)}
    means = model.summary.means()
    if model.summary.num_examples == 1:
        return {}
    found = {name: np.array(means[name].interval(Z)) for name in MEANS}
    found["brier_score"] *= share_of_summary(model)
    if has_grades(model):
        found = {terms_for(model).key: found.pop("accuracy"), **found}
    return {
        "calibration_error": interval(*_error_of_stream(model, num_bins)),
        **{name: interval(*ends.tolist()) for name, ends in found.items()},
    }


def _error_of_stream(model: Stream, num_bins: int) -> ConfidenceInterval:
    """Returns the interval of the calibration error of all rows of a stream."""
    event = event_of(model)
    if event is None:
        return model.summary.decisions.calibration_error_interval(
            level=INTERVAL_LEVEL, num_bins=num_bins
        )
    sums = _error_interval.grouped(
        _error_interval.of_cells(event_cells(model, event)), num_bins
    )
    size, total = model.summary.num_examples, model.summary.total_weight
    return _error_interval.interval(sums, max(1.0, size / total), INTERVAL_LEVEL)


def interval_of_mean(
    scores: np.ndarray, weights: np.ndarray | None, clusters: np.ndarray | None
) -> tuple[float, float, float]:
    """Returns low end, mean and high end of the Normal interval of a mean.

    Args:
      scores: [N].
      weights: [N], or None.
      clusters: number of the cluster of each score, [N], or None.
    """
    shares = np.full(len(scores), 1 / len(scores))
    if weights is not None:
        shares = weights / weights.sum()
    with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
        mean = float(shares @ scores)
        error = error_of_mean(scores, shares, clusters)
        error *= quantile_of(INTERVAL_LEVEL, clusters)
    return mean - error, mean, mean + error


def differences(first: Decided, second: Decided) -> dict[str, Interval]:
    """Returns the intervals of the differences between two models on the same examples.

    Each difference is a metric of the first model less this metric of the second.
    """
    size = len(decisions_of(first).correct)
    if size == 1:
        return {}
    drawn = {**options(size), "clusters": clusters_of(first)}
    with np.errstate(invalid="ignore"):  # Infinite less infinite is not defined.
        means = bootstrap_difference(
            column_means, _means_of(first), _means_of(second), **drawn
        )
        found = _by_name(scores_of(first), means)
        if isinstance(first, Confidences):
            ranked = (_ranked_arguments(model) for model in (first, second))
            found["aurc"] = interval(*bootstrap_difference(um.aurc, *ranked, **drawn))
    return found


def _ranked_arguments(model: Decided) -> dict[str, Any]:
    """Returns the arguments of the AURC of given confidences."""
    given = decisions_of(model).with_small_weights().arguments
    if has_grades(model):
        given["losses"] = 1 - given.pop("correct")
    return given


def _means_of(model: Decided) -> dict[str, Any]:
    """Returns the arguments of `column_means` for the metrics that are means.

    Examples of weight 0 are left out, so the bootstrap does not draw them.
    """
    return {
        "scores": np.stack(list(scores_of(model).values()), axis=1),
        "sample_weight": decisions_of(model).with_small_weights().weights,
    }


def _by_name(names: Iterable[str], ends: Any) -> dict[str, Interval]:
    """Returns the interval of each metric, from the ends of the columns of scores."""
    return {
        name: interval(*(end[column] for end in ends))
        for column, name in enumerate(names)
    }


def options(size: int) -> dict[str, Any]:
    """Returns the options of the bootstrap for this number of examples."""
    resamples = max(_MIN_RESAMPLES, min(_MAX_RESAMPLES, _MAX_RESAMPLED // size))
    return {
        "num_resamples": resamples,
        "level": INTERVAL_LEVEL,
        "seed": _SEED,
    }
