"""How much of a proper score recalibration would gain, by cross-fitted maps."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import OfClusters
from uncertainty_metrics.numpy import _clusters, _examples, _inputs, _row_math, _wilson
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.calibrators import _calibrator, _cross_fitting
from uncertainty_metrics.numpy.scoring import scoring_rules

__all__ = ["calibration_loss"]

Score = Literal["log", "brier"]
SCORES = get_args(Score)


class _CalibrationLoss(NamedTuple):
    loss: float
    refined: float
    difference: float
    lower: float
    upper: float
    share: float
    overconfident: float
    underconfident: float


class CalibrationLoss(_CalibrationLoss, OfClusters):
    """A mean score, and the part of it that recalibration would gain.

    Attributes:
      loss: the mean score; smaller is better.
      refined: the mean score after the map, on examples that it was not fitted to.
      difference: the first less the second: what recalibration would gain.
      lower: lower end of the interval of the difference.
      upper: upper end of the interval of the difference.
      share: the difference as a share of the loss, at most 1; NaN if the loss is 0.
      overconfident: the part of the difference at examples whose confidence the map
        lowers.
      underconfident: the part of the difference at examples whose confidence the map
        raises.
      num_clusters: as in `OfClusters`.
      design_effect: as in `OfClusters`, for the difference.
    """


class Refined(NamedTuple):
    """What a map does to each example.

    Attributes:
      before: score of the forecast, [N].
      after: score of the recalibrated forecast, [N].
      lowers: 1 where the map lowers the confidence, -1 where it raises it, else 0, [N].
    """

    before: np.ndarray
    after: np.ndarray
    lowers: np.ndarray


@takes_frames
def calibration_loss(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    score: Score = "log",
    calibrator: Any = None,
    folds: int = 5,
    level: float = 0.95,
    seed: Any = 0,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    multilabel: bool = False,
    label_distributions: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> CalibrationLoss:
    """Calibration loss: how much recalibration would lower a proper score.

    The examples are split into folds at random. A map fitted to the other folds
    recalibrates each fold. So no example is recalibrated by a map that has seen it, and

      difference = mean score - mean score of the recalibrated forecasts

    is in expectation at most the true calibration part of the score: what the best of
    all maps of these forecasts would gain. It falls short of it by what this map cannot
    correct, and by the noise of its fit. So it is at most 0 on average for a calibrated
    model, unlike the calibration error, which noise makes larger than 0.

    The interval is Student's, of the mean of the paired differences of independent
    examples. With `clusters` all examples of a cluster are in one fold, and the
    interval is that of the sums of clusters. It is an interval of what maps fitted to
    so many examples gain on average; the best map of all may gain more.

    In simulations of 50 to 5,000 independent examples of an event or ten classes
    (`studies/calibration_loss_level.py`) the lower end was above the true part in at
    most 2% of data sets, and the interval held the mean gain in at least 88%. With
    clusters of 5, and of 1 to 9 examples, whose outcomes depend on each other, these
    shares were 2.5% and 91%. Both need about ten examples of the rarer outcome: with
    eight of 500 they were 5% and 82%. Where few have a rare outcome, most data sets
    determine no map and are refused, and the others claim too much.

    The Brier score of two classes, of answers, and of each label of `multilabel` is
    (y - p)^2, in [0, 1]; of more classes it is sum_k (p_k - (k == y))^2, in [0, 2].

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      logits: logits of the same shape, instead of `probabilities`.
      score: "log" (negative log-likelihood, in nats) or "brier".
      calibrator: a class of calibrators, a calibrator, of which copies are fitted, or a
        function without arguments that returns a new one. None fits a temperature to
        more than two classes, and else `BetaCalibration`, or `PlattScaling` where the
        forecasts have only two values.
      folds: number of folds, from 2 to the number of examples or of clusters.
      level: share of data sets for which the interval holds the gain, in (0, 1).
      seed: seed of the folds, all that `np.random.default_rng` takes. None gives other
        folds each time.
      sample_weight: weight of each example, >= 0, broadcastable to the labels. A fit
        takes a weight as a number of examples; for the interval only the ratios of
        weights matter.
      ignore_index: a label whose examples are left out.
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        Each label has its own map; an example is a row of labels, all in one fold.
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
        For NumPy functions; there is no function on tensors.

    Returns:
      `CalibrationLoss(loss, refined, difference, lower, upper, share, overconfident,
      underconfident)`, floats. A smaller loss and a smaller difference are better. The
      confidence of a class forecast is the probability of its decision, that of an
      answer its `confidences`. An infinite loss, of an outcome with probability 0, has
      an infinite difference. With `clusters` the result has `num_clusters` and
      `design_effect`.

    Raises:
      RuntimeError: a fit has not converged.
      ValueError: an argument is not as described, or the examples outside a fold do not
        determine the map, for example if all of them have one label.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, probabilities = [1, 0, 1, 1, 0] * 60, [0.9, 0.2, 0.8, 0.95, 0.9] * 60
      >>> found = um.calibration_loss(labels, probabilities, score="brier")
      >>> round(found.loss, 3), round(found.refined, 3), round(found.share, 2)
      (0.181, 0.157, 0.13)
      >>> round(found.lower, 3), round(found.upper, 3)
      (0.011, 0.036)

    References:
      Ferrer and Ramos (2024), Evaluating Posterior Probabilities: Decision Theory,
      Proper Scoring Rules, and Calibration. Berta, Holzmueller, Jordan and Bach (2025),
      Rethinking Early Stopping: Refine, Then Calibrate.
    """
    _checks.one_of("score", score, SCORES)
    _checks.boolean("multilabel", multilabel)
    level = _checks.open_unit("level", level)
    rng = _inputs.generator(seed)
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        multilabel=multilabel,
        label_distributions=label_distributions,
        correct=correct,
        confidences=confidences,
        clusters=clusters,
    )
    data.check_confidences()
    examples = _examples.examples_of(data).checked()
    rows = examples.rows_of_labels()
    units = examples.clusters or rows
    size = len(examples.labels)
    number = size if units is None else units.number
    what = "examples" if clusters is None else "clusters"
    folds = _cross_fitting.checked_folds(folds, number, what)
    codes = None if units is None else units.codes
    fold = _cross_fitting.random_folds(size, folds, rng, codes)
    after = _recalibrated(examples, map_maker(calibrator), fold, folds)
    refined = _refined(examples, after, score, data.has_confidences)
    return summarized(refined, examples.weights, rows, examples.clusters, level)


def of_cells(
    cells: Cells,
    score: Score,
    calibrator: Any,
    folds: int,
    level: float,
    seed: Any,
    of_answers: bool,
) -> CalibrationLoss:
    """Returns `calibration_loss` of examples that are known by their scores alone.

    Examples with the same score and the same outcome cannot be told apart. So it is
    enough to know how many of them fall into each fold.

    Args:
      cells: the cells of the scores, of examples of weight 1.
      score: "log" or "brier".
      calibrator: as in `calibration_loss`.
      folds: likewise.
      level: likewise.
      seed: likewise.
      of_answers: whether the scores are confidences, rather than P(class 1).

    Raises:
      ValueError: an argument is not as described, or a weight is not whole.
    """
    _checks.one_of("score", score, SCORES)
    level = _checks.open_unit("level", level)
    rng = _inputs.generator(seed)
    make = map_maker(calibrator)
    counts = np.stack([cells.weights - cells.outcome_sums, cells.outcome_sums])
    if np.any(counts != np.floor(counts)):
        expected = "of whole numbers: a sum of others does not tell the examples"
        raise _checks.error("sample_weight", expected, "fractions")
    folds = _cross_fitting.checked_folds(folds, float(counts.sum()))
    drawn = rng.multinomial(counts.astype(np.int64), np.full(folds, 1 / folds))
    labels, cell, fold = np.nonzero(drawn)
    weights = drawn[labels, cell, fold].astype(np.float64)
    examples = _examples.examples(labels, cells.scores[cell], sample_weight=weights)
    after = _recalibrated(examples, make, fold, folds)
    refined = _refined(examples, after, score, of_answers)
    return summarized(refined, weights, None, None, level, are_counts=True)


def map_maker(calibrator: Any) -> _cross_fitting.MakeMap | None:
    """Returns what makes the calibrators, or None for the default.

    Raises:
      TypeError: `calibrator` is none, and does not make one.
    """
    if calibrator is None:
        return None
    if isinstance(calibrator, _calibrator.Calibrator):
        return lambda p: copy.deepcopy(calibrator)
    if callable(calibrator):
        return lambda p: calibrator()
    raise TypeError(
        "`calibrator` must be a calibrator, a class of calibrators such as "
        f"PlattScaling, or None. Received: {calibrator!r}"
    )


def _recalibrated(
    examples: _examples.Examples,
    make: _cross_fitting.MakeMap | None,
    fold: np.ndarray,
    folds: int,
) -> np.ndarray:
    """Returns the recalibrated forecasts, float64 [N, K], logits for logits."""
    name, forecasts = examples.name, examples.predictions.astype(np.float64)
    if examples.one_column or examples.places is not None:
        forecasts = forecasts[:, 1]
        if name == "logits":  # Those of class 0 need not be 0.
            forecasts = forecasts - examples.predictions[:, 0]
    outcomes: dict[str, np.ndarray | None] = {"labels": examples.labels}
    if examples.shares is not None:
        outcomes = {"label_distributions": examples.shares}
    outcomes["sample_weight"] = examples.weights
    if make is None:
        make = _default_for(name)
    after = np.empty(forecasts.shape)
    for number, part in enumerate(_parts(examples)):  # Each label has its own map.
        try:
            after[part] = _cross_fitting.cross_fitted(
                make,
                {k: v if v is None else v[part] for k, v in outcomes.items()},
                name,
                forecasts[part],
                fold[part],
                folds,
            )
        except (ValueError, RuntimeError) as wrong:
            if examples.places is None:
                raise
            raise type(wrong)(f"Label {number}: {wrong}") from wrong
    if after.ndim > 1:
        return after
    if name == "logits":
        return np.stack([np.zeros(len(after)), after], axis=1)
    return np.stack([1 - after, after], axis=1)


def _default_for(name: str) -> _cross_fitting.MakeMap:
    if name == "probabilities":
        return _cross_fitting.default_map

    def of_logits(logits: np.ndarray) -> _calibrator.Calibrator:
        z = logits if logits.ndim > 1 else np.stack([0 * logits, logits], axis=1)
        return _cross_fitting.default_map(_row_math.softmax(z))

    return of_logits


def _parts(examples: _examples.Examples) -> list[Any]:
    return [slice(None)] if examples.places is None else examples.places.rows()


def _refined(
    examples: _examples.Examples, after: np.ndarray, score: Score, of_answers: bool
) -> Refined:
    """Returns what the map does to each example.

    Args:
      examples: the examples, with the forecasts as they are.
      after: the recalibrated forecasts, [N, K].
      score: "log" or "brier".
      of_answers: whether the forecasts are confidences of answers.
    """
    examples = examples.weighted(None)
    recalibrated = dataclasses.replace(examples, predictions=after, place=None)
    before, refined = (_scores(each, score) for each in (examples, recalibrated))
    p, q = examples.probabilities, recalibrated.probabilities
    return Refined(before, refined, lowered(p, q, of_answers))


def _scores(examples: _examples.Examples, score: Score) -> np.ndarray:
    """Returns the score of each example, [N]."""
    given: Any = examples
    if score == "log":
        nll = scoring_rules.negative_log_likelihood(given, aggregate=False)
        return np.asarray(nll).reshape(-1)
    brier = scoring_rules.brier_score(given, zero_based=True, aggregate=False)
    scores = np.asarray(brier).reshape(-1)
    return scoring_rules.of_one_outcome(scores, examples.num_classes == 2)


def lowered(p: np.ndarray, q: np.ndarray, of_answers: bool) -> np.ndarray:
    """Returns 1 where a map lowers the confidence, -1 where it raises it, else 0, [N].

    The confidence of an answer is its probability of being right; else it is that of
    the most probable class, and of several such classes that which the map favours.

    Args:
      p: probabilities before, [N, K].
      q: probabilities after, [N, K].
      of_answers: whether class 1 is that the answer is right.
    """
    if of_answers:
        return np.sign(p[:, 1] - q[:, 1])
    most = p.max(axis=1)
    return np.sign(most - np.where(p == most[:, None], q, -1.0).max(axis=1))


def summarized(
    refined: Refined,
    weights: np.ndarray | None,
    rows: _clusters.Clusters | None,
    clusters: _clusters.Clusters | None,
    level: float,
    are_counts: bool = False,
) -> CalibrationLoss:
    """Returns the means over examples, and Student's interval of their difference.

    Args:
      refined: what the map does to each example, or to each label of an example.
      weights: [N], or None for ones.
      rows: the example of each label, or None if they are the same.
      clusters: the cluster of each example, or None.
      level: level of the interval.
      are_counts: whether a weight is a number of independent examples.
    """
    before, after, lowers = refined
    if weights is None:
        weights = np.ones(len(before))
    shares = weights / weights.sum()
    loss, mean = float(shares @ before), float(shares @ after)
    if math.isinf(loss) or math.isinf(mean):
        return _infinite(refined, shares, loss, mean)
    gains = before - after
    difference = float(shares @ gains)
    terms, size = shares * (gains - difference), _wilson.effective_size(weights)
    if are_counts:  # The same variance, of the single examples.
        terms, size = terms / np.sqrt(weights), float(weights.sum())
    independent, number = _variance(terms, size, rows)
    variance = independent
    if clusters is not None:
        variance, number = _variance(terms, size, clusters)
    half = half_width(variance, number, level)
    result = CalibrationLoss(
        *(loss, mean, difference, difference - half, difference + half),
        difference / loss if loss > 0 else math.nan,
        *(float(shares @ np.where(lowers == side, gains, 0.0)) for side in (1, -1)),
    )
    if clusters is not None:
        result.num_clusters = clusters.number
        result.design_effect = variance / independent if independent > 0 else None
    return result


def _infinite(
    refined: Refined, shares: np.ndarray, loss: float, mean: float
) -> CalibrationLoss:
    """Returns the result if a mean score is infinite; NaN is what inf - inf is."""
    with np.errstate(invalid="ignore"):
        gains = refined.before - refined.after
        difference = loss - mean
        sides = [
            float(np.sum(np.where(refined.lowers == sign, shares * gains, 0.0)))
            for sign in (1, -1)
        ]
    share = 1.0 if math.isfinite(mean) else difference / loss
    ends = difference, difference
    return CalibrationLoss(loss, mean, difference, *ends, share, *sides)


def _variance(
    terms: np.ndarray, size: float, clusters: _clusters.Clusters | None
) -> tuple[float, float]:
    """Returns the variance of a sum of independent terms, and the number of terms.

    Args:
      terms: weighted deviations from the mean, [N].
      size: their effective number.
      clusters: clusters of terms that depend on each other, or None.
    """
    if clusters is not None:
        terms = _clusters.cluster_sums(terms, *clusters)
        size = clusters.number
    if size <= 1:
        return math.inf, size
    return float(terms @ terms) * size / (size - 1), size


def half_width(variance: float, number: float, level: float) -> float:
    """Returns half the width of Student's interval of a mean.

    Args:
      variance: of the mean.
      number: number of independent terms.
      level: level of the interval.
    """
    from scipy import special

    if number <= 1:
        return math.inf
    return float(special.stdtrit(number - 1, (1 + level) / 2)) * math.sqrt(variance)
