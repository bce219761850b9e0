"""Mean score and mean outcome of a model, and the verdict on the gap between them."""

from __future__ import annotations

import dataclasses

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._decided import (
    Decisions,
    decisions_of,
    judged_of,
    name_of_event,
)
from uncertainty_metrics._report.data._predictions import (
    Decided,
    Stream,
    has_cluster_sums,
    has_grades,
    is_of_answers,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of, size_for
from uncertainty_metrics._report.data._summary_clusters import (
    gap_of,
    size_for_gap,
    sketch_of,
)
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL, Z
from uncertainty_metrics._report.sections._calibration_words import (
    Terms,
    capitalized,
    terms_for,
    terms_of,
)
from uncertainty_metrics._report.sections._metrics_and_intervals import (
    Interval,
    interval,
)
from uncertainty_metrics._report.sections._p_values import decimals
from uncertainty_metrics.numpy import _wilson


@dataclasses.dataclass(frozen=True)
class MeanGap:
    """Means of the scores and outcomes of a model.

    Attributes:
      event: the name of the event whose probabilities are judged; None for decisions.
      direction: in which direction the scores are clearly wrong, a word of the terms;
        "" if the data show none.
      verdict: a sentence or two.
      share: the mean outcome of an event, or None.
      mean_probability: the mean probability of an event, or None.
      accuracy: the share of the decisions or answers that are right, or the mean grade.
      mean_confidence: the mean confidence of the decisions or answers.
    """

    event: str | None
    direction: str
    verdict: str
    share: float | None
    mean_probability: float | None
    accuracy: float
    mean_confidence: float


def mean_gap_of(model: Decided) -> MeanGap:
    """Returns means of the scores and outcomes of a model, and the verdict on their
    gap: on the level of the probabilities of an event, or else on their spread.
    """
    event = name_of_event(model)
    decisions = decisions_of(model)
    accuracy, confidence = _means(decisions)
    size = _size_for_gap(model, decisions, accuracy)
    if event is None:
        direction, verdict = verdict_on_gap(
            accuracy, confidence, size, terms_for(model)
        )
        return MeanGap(event, direction, verdict, None, None, accuracy, confidence)
    judged = judged_of(model)
    share, probability = _means(judged)
    direction, verdict = verdict_on_gap(
        share,
        probability,
        _size_for_gap(model, judged, share),
        terms_of(event),
    )
    if not direction:
        direction, sentence = _spread(accuracy, confidence, size)
        verdict = " ".join(filter(None, (verdict, sentence)))
    return MeanGap(event, direction, verdict, share, probability, accuracy, confidence)


def without_finding(gap: MeanGap) -> MeanGap:
    """Returns the means of an event with a sentence that finds nothing."""
    terms = terms_of(gap.event)
    verdict = (
        f"Mean {terms.score} {gap.mean_probability:.3f}, {terms.outcome} "
        f"{gap.share:.3f}."
    )
    return dataclasses.replace(gap, direction="", verdict=verdict)


def intervals_of_means(model: Decided) -> dict[str, Interval] | None:
    """Returns accuracy or mean grade, mean confidence and the gap between them, with
    intervals; None for a classifier.
    """
    if not is_of_answers(model):
        return None
    if isinstance(model, Stream):
        means, name = model.summary.means(), terms_for(model).outcome
        if has_cluster_sums(model):
            return {
                name: interval(np.nan, means["accuracy"].mean, np.nan),
                "mean confidence": interval(
                    np.nan, means["mean_confidence"].mean, np.nan
                ),
                f"{name} - confidence": interval(
                    *gap_of(model.summary.decisions, INTERVAL_LEVEL)
                ),
            }
        return {
            name: interval(*means["accuracy"].interval(Z)),
            "mean confidence": interval(np.nan, means["mean_confidence"].mean, np.nan),
            f"{name} - confidence": interval(*means["gap"].interval(Z)),
        }
    decisions = decisions_of(model)
    everything = np.zeros(len(decisions.correct), np.int64)
    (whole,) = um.calibration_by_group(
        **decisions.arguments,
        groups=everything,
        level=INTERVAL_LEVEL,
        clusters=clusters_of(model),
    )
    score, outcome = whole.mean_score, whole.mean_outcome
    name = terms_for(model).outcome
    return {
        name: interval_of_outcome(model, outcome),
        "mean confidence": interval(np.nan, score, np.nan),
        f"{name} - confidence": interval(whole.lower, whole.gap, whole.upper),
    }


def interval_of_outcome(model: Decided, outcome: float) -> Interval:
    """Returns an accuracy or a mean grade with its interval, which is Wilson's."""
    size = _size_for_mean(model, decisions_of(model).correct, outcome)
    lower, upper = _wilson.interval(
        np.float64(outcome), np.float64(size), INTERVAL_LEVEL
    )
    return interval(float(lower), outcome, float(upper))


def _size_for_gap(model: Decided, decided: Decisions, mean: float) -> float:
    """Returns what `_size_for_mean` does, for outcomes less scores."""
    if isinstance(model, Stream) and has_cluster_sums(model):
        is_of_event = decided is not decisions_of(model)
        sketch = sketch_of(model) if is_of_event else model.summary.decisions
        size = size_for_gap(sketch, decided)
    else:
        size = size_for(model, decided.correct - decided.confidences)
    return _as_grades(model, size, decided.correct - decided.confidences, mean)


def _size_for_mean(model: Decided, values: np.ndarray, mean: float) -> float:
    """Returns how many independent outcomes 0 and 1 tell their mean as well as the
    values tell theirs: outcomes, or outcomes less scores, [n].
    """
    return _as_grades(model, size_for(model, values), values, mean)


def _as_grades(model: Decided, size: float, values: np.ndarray, mean: float) -> float:
    """Returns the number of outcomes 0 and 1, given that of the values [n]."""
    if not has_grades(model):
        return size
    # Grades vary less than right and wrong.
    variance = float(np.cov(values, aweights=decisions_of(model).weights, ddof=0))
    known = np.array([mean]), np.array([variance]), np.array([size])
    return float(_wilson.size_of_grades(*known)[0])


def _means(decisions: Decisions) -> tuple[float, float]:
    """Returns the mean outcome and the mean score."""
    whole = um.bin_statistics(**decisions.arguments, num_bins=1)
    return float(whole.accuracies[0, 0]), float(whole.confidences[0, 0])


def _spread(accuracy: float, confidence: float, size: float) -> tuple[str, str]:
    """Returns in which direction the spread of the probabilities of two classes is
    clearly wrong, and a sentence; empty texts if the data do not show it.
    """
    direction, _ = verdict_on_gap(accuracy, confidence, size)
    if not direction:
        return "", ""
    direction = "too extreme" if direction == "overconfident" else "too close to 1/2"
    return direction, (
        f"{capitalized(direction)}: the more probable class has a mean probability of "
        f"{confidence:.3f}, and is right in {accuracy:.3f} of the examples."
    )


def verdict_on_gap(
    outcome: float, score: float, sample_size: float, terms: Terms | None = None
) -> tuple[str, str]:
    """Returns in which direction the mean score is clearly wrong, and a sentence.

    The direction is a word of the terms, such as "overconfident"; "" if the data show
    none.
    """
    terms = terms or terms_of(None)
    gap = score - outcome
    # Agresti and Coull add two hits and two misses. Without them, 3 hits of 3 would
    # have a standard error of 0.
    size = sample_size + 4
    rate = (outcome * sample_size + 2) / size
    error = (rate * (1 - rate) / size) ** 0.5
    shown = decimals(error)
    numbers = (
        f"mean {terms.score} {score:.{shown}f}, {terms.outcome} {outcome:.{shown}f}"
    )
    # Rounded as in the report.
    if round(abs(gap), shown) <= round(2 * error, shown):
        return "", (
            f"Neither clearly {terms.over} nor {terms.under} on average: {numbers}, "
            f"a difference of {abs(gap):.{shown}f}; chance alone gives up to about "
            f"{2 * error:.{shown}f}."
        )
    direction = terms.over if gap > 0 else terms.under
    return direction, (
        f"{capitalized(direction)} on average, by "
        f"{100 * abs(gap):.{shown - 2}f} percentage points: {numbers} (standard error "
        f"{error:.{shown}f})."
    )
