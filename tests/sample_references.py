"""Naive references for the scores of samples: loops over forecasts and pairs."""

import itertools

import numpy as np
from scipy import stats


def _score(y, x, distance, estimator="fair", alpha=0.95, member_weights=None):
    """Returns the score of one forecast, whose samples x may have weights."""
    m = len(x)
    w = np.ones(m) if member_weights is None else np.asarray(member_weights, float)
    w = w / sum(w)
    error = sum(w[a] * distance(x[a], y) for a in range(m))
    pairs = [(a, b) for a in range(m) for b in range(m)]
    nrg = sum(w[a] * w[b] * distance(x[a], x[b]) for a, b in pairs)
    if estimator == "nrg":
        spread = nrg
    elif estimator == "roll":
        spread = sum(distance(x[a], x[a - 1]) for a in range(m)) / m
    else:
        fair = nrg / sum(w[a] * w[b] for a, b in pairs if a != b)
        share = alpha if estimator == "almost_fair" else 1
        spread = share * fair + (1 - share) * nrg
    return error - spread / 2


def crps(labels, predictive_samples, **options):
    scores = np.empty(np.shape(labels))
    for i in np.ndindex(scores.shape):
        scores[i] = _score(
            labels[i], predictive_samples[i], lambda a, b: abs(a - b), **options
        )
    return scores


def energy(labels, predictive_samples, **options):
    scores = np.empty(labels.shape[:-1])
    for i in np.ndindex(scores.shape):
        scores[i] = _score(labels[i], predictive_samples[i], _distance, **options)
    return scores


def _distance(a, b):
    return np.sqrt(np.sum((a - b) ** 2))


def threshold_weighted_crps(
    labels, predictive_samples, lower=-np.inf, upper=np.inf, estimator="fair"
):
    """Returns scores: integrals of steps of the empirical CDF between thresholds."""
    scores = np.zeros(np.shape(labels))
    m = predictive_samples.shape[-1]
    for i in np.ndindex(scores.shape):
        y, x = labels[i], predictive_samples[i]
        ends = sorted(min(max(v, lower), upper) for v in (y, *x))
        for start, end in itertools.pairwise(ends):
            middle = (start + end) / 2
            below = np.mean(x <= middle)
            square = (below - (y <= middle)) ** 2
            # Pairs of a sample with itself make the spread smaller by this.
            lacking = below * (1 - below) / (m - 1) if estimator == "fair" else 0
            scores[i] += (end - start) * (square - lacking)
    return scores


def weighted_interval(labels, median, lower, upper, alphas):
    """Returns twice the mean pinball loss of all quantiles."""
    scores = np.zeros(np.shape(labels))
    for i in np.ndindex(scores.shape):
        quantiles = [(0.5, median[i])]
        for k, alpha in enumerate(alphas):
            quantiles += [(alpha / 2, lower[i][k]), (1 - alpha / 2, upper[i][k])]
        losses = [
            max(t * (labels[i] - q), (t - 1) * (labels[i] - q)) for t, q in quantiles
        ]
        scores[i] = 2 * np.mean(losses)
    return scores


def weighted_interval_parts(labels, median, lower, upper, alphas):
    """Returns dispersion, overprediction and underprediction, as scoringutils does."""
    parts = np.zeros((3, *np.shape(labels)))
    for i in np.ndindex(np.shape(labels)):
        y, number = labels[i], 2 * len(alphas) + 1
        parts[1][i] += max(median[i] - y, 0) / number
        parts[2][i] += max(y - median[i], 0) / number
        for k, alpha in enumerate(alphas):
            low, high = lower[i][k], upper[i][k]
            parts[0][i] += alpha * (high - low) / number
            parts[1][i] += 2 * (low - y if y < low else 0) / number
            parts[2][i] += 2 * (y - high if y > high else 0) / number
    return parts


def variogram(labels, predictive_samples, p=0.5, weights=None):
    scores = np.zeros(labels.shape[:-1])
    d = labels.shape[-1]
    w = np.ones((d, d)) if weights is None else np.asarray(weights)
    for i in np.ndindex(scores.shape):
        y, x = labels[i], predictive_samples[i]
        for a in range(d):
            for b in range(d):
                drawn = sum(abs(row[a] - row[b]) ** p for row in x) / len(x)
                scores[i] += w[a, b] * (abs(y[a] - y[b]) ** p - drawn) ** 2
    return scores


def dawid_sebastiani(labels, predictive_samples):
    """Returns twice the negative log-density of a Normal, without its constant."""
    scores = np.zeros(labels.shape[:-1])
    for i in np.ndindex(scores.shape):
        x = predictive_samples[i]
        normal = stats.multivariate_normal(np.mean(x, axis=0), np.cov(x.T))
        constant = labels.shape[-1] * np.log(2 * np.pi)
        scores[i] = -2 * normal.logpdf(labels[i]) - constant
    return scores
