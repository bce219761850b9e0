"""Frequencies of labels, and means of forecasts, of examples with the same decision."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics.numpy import _examples, _threads

# Up to this many decisions, products of matrices are the fastest sums.
_FEW_DECISIONS = 64


def by_decision(
    examples: _examples.Examples,
) -> tuple[_examples.Examples, np.ndarray, np.ndarray]:
    """Returns checked examples, weights of sum 1, and decisions, numbered from 0 to
    D - 1 for the D decisions that occur.
    """
    examples = examples.checked()
    decisions, _ = examples.decided
    occurring = np.bincount(decisions, minlength=1) > 0
    decisions = (np.cumsum(occurring) - 1)[decisions]
    n = len(decisions)
    weights = np.ones(n) if examples.weights is None else examples.weights
    return examples, weights / weights.sum(), decisions


def frequencies(
    examples: _examples.Examples, weights: np.ndarray, decisions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the label frequencies of each decision, [D, K], and its weight, [D]; a
    share of a label is such a weight of it.
    """
    shape = decisions.max() + 1, examples.num_classes
    labels = examples.labels
    if examples.shares is not None:
        rows, labels = np.nonzero(examples.shares)
        weights = weights[rows] * examples.shares[rows, labels]
        decisions = decisions[rows]
    cells = decisions * shape[1] + labels
    sums = np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape)
    shares = sums.sum(axis=1)
    return sums / shares[:, None], shares


def means(
    examples: _examples.Examples,
    weights: np.ndarray,
    decisions: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """Returns the mean of the probabilities of each decision, [D, K]."""
    n, classes = examples.predictions.shape
    sums = np.zeros((len(shares), classes))
    step = _threads.rows_of_block(classes)
    if len(shares) <= _FEW_DECISIONS:  # Products with 0 cost less than indexing.
        numbers = np.arange(len(shares))[:, None]
        for block in _threads.blocks(slice(0, n), step):
            of_decision = (decisions[block] == numbers) * weights[block]
            sums += of_decision @ examples.rows(block)
        return sums / shares[:, None]
    order = np.argsort(decisions, kind="stable")
    ends = np.searchsorted(decisions[order], np.arange(len(shares) + 1))

    def fill(chosen: slice) -> None:
        for k in range(chosen.start, chosen.stop):  # Each has a sum of its own.
            for block in _threads.blocks(slice(ends[k], ends[k + 1]), step):
                p = examples.rows(order[block]).astype(np.float64)
                sums[k] += np.einsum("n,nk->k", weights[order[block]], p)

    _threads.map_rows(fill, len(shares), n * classes // len(shares))
    return sums / shares[:, None]
