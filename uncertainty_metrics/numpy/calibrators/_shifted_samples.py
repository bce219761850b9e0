"""What held-out examples and new forecasts say about the shares of the classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from uncertainty_metrics.numpy import _clusters
from uncertainty_metrics.numpy.calibrators import _calibrator
from uncertainty_metrics.numpy.calibrators import _class_priors as priors

Map = Callable[[np.ndarray], np.ndarray]


class Source(NamedTuple):
    """The held-out examples.

    Attributes:
      layout: of the predictions.
      rows: their probabilities, float64 [N, K].
      labels: [N].
      weights: > 0, [N].
      clusters: of the examples, or None.
    """

    layout: _calibrator.Layout
    rows: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    clusters: _clusters.Clusters | None


class Target(NamedTuple):
    """New forecasts: as `Source`, without labels."""

    rows: np.ndarray
    weights: np.ndarray
    clusters: _clusters.Clusters | None


class Found(NamedTuple):
    """What pairs of samples say, each a row of B.

    Attributes:
      prior: shares of the classes in the target, [B, K].
      source_prior: in the source, [B, K].
      differences: in each cell the share of the target, less the one that the prior
        implies, [B, C].
      implied: the mean of both, [B, C].
      accuracy: mean confidence of the adapted forecasts of the target, [B].
    """

    prior: np.ndarray
    source_prior: np.ndarray
    differences: np.ndarray
    implied: np.ndarray
    accuracy: np.ndarray


def adapted(mapped: np.ndarray, prior: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Returns probabilities [..., K] of the map for other shares of the classes."""
    products = mapped * (prior / source)
    total = products.sum(axis=-1, keepdims=True)
    # A forecast that is sure of classes that do not occur says nothing about others.
    return np.where(total > 0, products / np.where(total > 0, total, 1.0), prior)


def of_samples(
    source: Source, target: Target, of: Map, cells: Sequence[np.ndarray]
) -> Found:
    """Returns what the samples say, given their map, as the only row."""
    mapped, new = of(source.rows), of(target.rows)
    source_prior = np.average(mapped, axis=0, weights=source.weights)
    prior = priors.most_likely_shares(new / source_prior, target.weights, source_prior)
    weights = source.weights[None], target.weights[None]
    return found_of_pairs(
        mapped[None], new[None], *weights, cells, prior, is_prior=True
    )


def found_of_pairs(
    mapped: np.ndarray,
    new: np.ndarray,
    source_weights: np.ndarray,
    weights: np.ndarray,
    cells: Sequence[np.ndarray],
    prior: np.ndarray,
    is_prior: bool = False,
) -> Found:
    """Returns what B pairs of samples say.

    Args:
      mapped: recalibrated forecasts of the source, [B, N, K].
      new: of the target, [B, M, K].
      source_weights: [B, N].
      weights: of the target, [B, M].
      cells: whether each example is in each cell, 1 or 0, [N, C] and [M, C].
      prior: where the search for the shares starts, [K].
      is_prior: whether these are the shares already.
    """
    source_masses = source_weights / source_weights.sum(axis=1, keepdims=True)
    masses = weights / weights.sum(axis=1, keepdims=True)
    source_prior = np.einsum("bn,bnk->bk", source_masses, mapped)
    shares = prior[None]
    if not is_prior:
        ratios = new / source_prior[:, None]
        shares = priors.shares_of_resamples(ratios, weights, prior)
    moved = np.einsum("bnk,bk->bn", mapped, shares / source_prior)
    implied, seen = (source_masses * moved) @ cells[0], masses @ cells[1]
    confidences = adapted(new, shares[:, None], source_prior[:, None]).max(axis=2)
    accuracy = np.einsum("bm,bm->b", masses, confidences)
    middle = (seen + implied) / 2
    return Found(shares, source_prior, seen - implied, middle, accuracy)


def random_weights(
    sample: Source | Target, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Returns random weights of the examples, or clusters, of a sample, [number, N]."""
    clusters = sample.clusters
    if clusters is None:
        factors = rng.standard_exponential((number, len(sample.rows)))
    else:
        factors = rng.standard_exponential((number, clusters.number))
        factors = factors[:, clusters.codes]
    return sample.weights * factors


def ends_of(
    draws: np.ndarray, level: float, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of the intervals of draws [B, ...], the percentiles that
    correspond to Student's quantiles for so many examples (Hesterberg 2015).
    """
    t = special.stdtrit(size - 1, (1 + level) / 2)
    tail = float(special.ndtr(-math.sqrt(size / (size - 1)) * t))
    skipped = max(math.floor((len(draws) + 1) * tail), 1)
    ordered = np.sort(draws, axis=0)
    return ordered[skipped - 1], ordered[-skipped]


def p_value_of(found: Found, draws: Found, size: float) -> float:
    """Returns the share of resamples whose differences are as far from those of the
    samples as these are from 0, by a chi-square sum over the cells.

    If a class has few held-out examples, resamples vary too little. So the share is
    read as that of a Normal variable, and replaced by that of Student's, as in
    `ends_of`.

    Args:
      found: what the samples say.
      draws: what the resamples say.
      size: number of held-out examples of the rarest class.
    """
    scale = np.where(found.implied > 0, found.implied, 1.0)
    observed = np.sum(found.differences**2 / scale)
    changes = draws.differences - found.differences
    count = np.sum(np.sum(changes**2 / scale, axis=1) >= observed)
    share = float(1 + count) / (1 + len(changes))
    t = special.ndtri(share / 2) * math.sqrt((size - 1) / size)
    return float(2 * special.stdtr(size - 1, t))
