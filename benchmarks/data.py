"""The data of the benchmarks, from a seed, so they are the same in every environment.

Each kind is a named tuple of arrays with the names of arguments of the package.
"""

from __future__ import annotations

import statistics
import zlib
from typing import NamedTuple

import numpy as np

# Labels are drawn at this temperature: above 1 the probabilities are overconfident.
OVERCONFIDENT = 1.5
CALIBRATED = 1.0
_ROWS = 1000


class Predictions(NamedTuple):
    """labels int64 [N] and probabilities float32 [N, K]."""

    labels: np.ndarray
    probabilities: np.ndarray


class Logits(NamedTuple):
    """labels int64 [N] and logits float32 [N, K]."""

    labels: np.ndarray
    logits: np.ndarray


class Normals(NamedTuple):
    """Labels, means and stddevs of Normal forecasts, float32 [N]."""

    labels: np.ndarray
    means: np.ndarray
    stddevs: np.ndarray


class QuantileForecasts(NamedTuple):
    """labels float32 [N], and their predicted quantiles [N], or [N, Q] of Q levels."""

    labels: np.ndarray
    quantile_predictions: np.ndarray


class IntervalForecasts(NamedTuple):
    """labels float32 [N], and the ends of their predicted 90% intervals."""

    labels: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class MeansAndVariances(NamedTuple):
    """Means and variances of Normal forecasts, and targets, float32 [N]."""

    predictions: np.ndarray
    uncertainties: np.ndarray
    targets: np.ndarray


class NormalsByVariance(NamedTuple):
    """The data of `MeansAndVariances` under other names."""

    mean: np.ndarray
    var: np.ndarray
    targets: np.ndarray


class Samples(NamedTuple):
    """labels float32 [N] or [N, d], and samples of forecasts [N, m] or [N, m, d]."""

    labels: np.ndarray
    predictive_samples: np.ndarray


class Scores(NamedTuple):
    """labels int64, 0 or 1, and scores float32 in [0, 1]; [N]."""

    labels: np.ndarray
    scores: np.ndarray


class Decisions(NamedTuple):
    """correct int64, 0 or 1, and confidences float32 in [0.5, 1]; [N]."""

    correct: np.ndarray
    confidences: np.ndarray


class Members(NamedTuple):
    """Class probabilities of each member of an ensemble, float32 [M, N, K]."""

    probs: np.ndarray


class Ensemble(NamedTuple):
    """Class probabilities of the members for each example, float32 [N, M, K]."""

    probabilities: np.ndarray


class EnsembleLogits(NamedTuple):
    """Logits of the members for each example, float32 [N, M, K]."""

    logits: np.ndarray


class LogLikelihoods(NamedTuple):
    """Log-likelihoods of instances under posterior draws, float32 [n, m]."""

    logp: np.ndarray


class Forecasts(NamedTuple):
    """Probabilities of class 1 of two, float64, and labels, 0.0 or 1.0; [N]."""

    probs: np.ndarray
    labels: np.ndarray


class Survival(NamedTuple):
    """Censored times, float64 [N].

    Attributes:
      probs: probabilities of an event before the time 1.
      times: observed times.
      event: 1.0 if the event came at that time, 0.0 if the observation ended.
    """

    probs: np.ndarray
    times: np.ndarray
    event: np.ndarray


Data = (
    Predictions
    | Logits
    | Normals
    | QuantileForecasts
    | IntervalForecasts
    | MeansAndVariances
    | NormalsByVariance
    | Samples
    | Scores
    | Decisions
    | Members
    | Ensemble
    | EnsembleLogits
    | LogLikelihoods
    | Forecasts
    | Survival
)


def fingerprint(data: tuple[np.ndarray, ...]) -> list[float]:
    """Returns numbers that differ if the data differ."""
    return [
        float(zlib.crc32(np.ascontiguousarray(values)))
        if values.dtype.kind == "i"
        # NumPy versions may round differently, so floats have no checksum. The last
        # rows suffice: their random numbers depend on all earlier ones.
        else float(f"{np.var(values[-_ROWS:], dtype=np.float64):.6g}")
        for values in data
    ]


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def predictions(
    examples: int,
    classes: int,
    seed: int = 0,
    *,
    temperature: float = OVERCONFIDENT,
    sharpness: float = 1.0,
) -> Predictions:
    """Returns probabilities with one boosted class in each row, and labels.

    Logits are N(0, 1). The logit of one class has an additional boost: the boost that
    makes its weight equal to all the others together, plus N(1, 2^2).

    Args:
      examples: number of examples N.
      classes: number of classes K.
      seed: seed of the random numbers.
      temperature: labels are drawn from `softmax(logits / temperature)`.
      sharpness: the probabilities are `softmax(sharpness * logits)`.
    """
    rng = np.random.default_rng([seed, examples, classes])
    labels = np.empty(examples, np.int64)
    probabilities = np.empty((examples, classes), np.float32)
    for start in range(0, examples, _ROWS):  # In blocks, to bound the memory.
        rows = slice(start, min(start + _ROWS, examples))
        size = rows.stop - start
        logits = rng.standard_normal((size, classes))
        boosted = rng.integers(0, classes, size)
        boost = np.log(classes) + 0.5 + rng.normal(1.0, 2.0, size)
        logits[np.arange(size), boosted] += boost
        probabilities[rows] = _softmax(sharpness * logits)
        steps = np.cumsum(_softmax(logits / temperature), axis=1)
        draw = rng.random((size, 1)) * steps[:, -1:]
        labels[rows] = (steps < draw).sum(axis=1)
    return Predictions(labels, probabilities)


def logits(examples: int, classes: int) -> Logits:
    """Returns the logarithms of the probabilities of `predictions`."""
    labels, probabilities = predictions(examples, classes)
    return Logits(labels, np.log(probabilities, out=probabilities))


def normals(*shape: int, seed: int = 0) -> Normals:
    """Returns Normal forecasts, and labels drawn from them."""
    rng = np.random.default_rng([seed, *shape])
    means = rng.standard_normal(shape, np.float32)
    stddevs = np.float32(0.5) + rng.random(shape, np.float32)
    labels = means + stddevs * rng.standard_normal(shape, np.float32)
    return Normals(labels, means, stddevs)


def quantile_forecasts(examples: int) -> QuantileForecasts:
    """Returns the 0.9 quantiles of `normals`."""
    labels, means, stddevs = normals(examples)
    return QuantileForecasts(labels, means + np.float32(1.2816) * stddevs)


def quantiles_of_levels(examples: int, levels: int) -> QuantileForecasts:
    """Returns the quantiles of `normals` of evenly spaced levels between 0 and 1."""
    labels, means, stddevs = normals(examples)
    normal = statistics.NormalDist()
    z = [normal.inv_cdf((i + 1) / (levels + 1)) for i in range(levels)]
    predictions = means[:, None] + np.float32(z) * stddevs[:, None]
    return QuantileForecasts(labels, predictions)


def interval_forecasts(examples: int) -> IntervalForecasts:
    """Returns the central 90% intervals of `normals`."""
    labels, means, stddevs = normals(examples)
    width = np.float32(1.6449) * stddevs
    return IntervalForecasts(labels, means - width, means + width)


def means_and_variances(examples: int) -> MeansAndVariances:
    """Returns `normals` with half of the variances, so overconfident."""
    labels, means, stddevs = normals(examples)
    return MeansAndVariances(means, stddevs * stddevs / 2, labels)


def normals_by_variance(examples: int) -> NormalsByVariance:
    """Returns `means_and_variances`."""
    return NormalsByVariance(*means_and_variances(examples))


def samples(examples: int, draws: int, *dimensions: int, seed: int = 0) -> Samples:
    """Returns samples of Normal forecasts, and labels from the same distributions.

    Args:
      examples: number of forecasts N.
      draws: number of samples m of each forecast.
      *dimensions: number of dimensions d of each label, or none.
      seed: seed of the random numbers.
    """
    labels, means, stddevs = normals(examples, *dimensions, seed=seed)
    rng = np.random.default_rng([seed, examples, draws, *dimensions])
    noise = rng.standard_normal((examples, draws, *dimensions), np.float32)
    return Samples(labels, means[:, None] + stddevs[:, None] * noise)


def scores(examples: int) -> Scores:
    """Returns the probabilities of class 1 of two of `predictions`, and the labels."""
    labels, probabilities = predictions(examples, 2)
    return Scores(labels, probabilities[:, 1].copy())


def decisions(examples: int) -> Decisions:
    """Returns whether the more probable class is right, and its probability."""
    labels, probabilities = predictions(examples, 2)
    correct = probabilities.argmax(axis=1) == labels
    return Decisions(correct.astype(np.int64), probabilities.max(axis=1))


def ensemble_logits(
    examples: int, members: int, classes: int, seed: int = 0
) -> EnsembleLogits:
    """Returns the logits of `logits` plus N(0, 1) for each member."""
    rng = np.random.default_rng([seed, examples, members, classes])
    noisy = rng.standard_normal((examples, members, classes), np.float32)
    noisy += logits(examples, classes).logits[:, None]
    return EnsembleLogits(noisy)


def ensemble(examples: int, members: int, classes: int) -> Ensemble:
    """Returns the probabilities of `ensemble_logits`."""
    return Ensemble(_softmax(ensemble_logits(examples, members, classes).logits))


def members(members: int, examples: int, classes: int) -> Members:
    """Returns the probabilities of `ensemble` with the members on the first axis."""
    probabilities = ensemble(examples, members, classes).probabilities
    return Members(probabilities.swapaxes(0, 1).copy())


def log_likelihoods(instances: int, draws: int, seed: int = 0) -> LogLikelihoods:
    """Returns the log-likelihoods of the labels of `normals`, up to a constant.

    The posterior draws of a mean come from N(mean, (0.3 stddev)^2).
    """
    labels, means, stddevs = normals(instances, seed=seed)
    rng = np.random.default_rng([seed, instances, draws])
    noise = np.float32(0.3) * rng.standard_normal((instances, draws), np.float32)
    z = ((labels - means) / stddevs)[:, None] - noise
    return LogLikelihoods(-z * z / 2 - np.log(stddevs)[:, None])


def forecasts(examples: int, seed: int = 0) -> Forecasts:
    """Returns uniform probabilities p, and labels that are 1 with probability p^1.5."""
    rng = np.random.default_rng([seed, examples])
    probs = rng.uniform(size=examples)
    return Forecasts(probs, (rng.uniform(size=examples) < probs**1.5).astype(float))


def survival(examples: int, seed: int = 0) -> Survival:
    """Returns probabilities of events whose true hazard is 1.5 times as large.

    About a third of the times is censored.
    """
    rng = np.random.default_rng([seed, examples])
    probs = rng.uniform(0.05, 0.9, size=examples)
    failures = rng.exponential(size=examples) / (-1.5 * np.log1p(-probs))
    censored = rng.exponential(2.0, size=examples)
    times = np.minimum(failures, censored)
    return Survival(probs, times, (failures <= censored).astype(float))
