"""Contenders of the peers' environment: torchmetrics, and PyTorch by hand."""

from __future__ import annotations

import torch
from data import Data
from harness import Timed
from torchmetrics.classification import MulticlassCalibrationError

_BINS = 15


def _tensors(data: Data) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(data.labels), torch.from_numpy(data.probabilities)


def _one_shot(compute, *arguments) -> Timed:
    return Timed(
        call=lambda: compute(*arguments), value=lambda: float(compute(*arguments))
    )


def torchmetrics_ece(data: Data, validate_args: bool, compute: bool = False) -> Timed:
    """`MulticlassCalibrationError`: update, or reset, update and compute."""
    labels, probabilities = _tensors(data)
    metric = MulticlassCalibrationError(
        data.probabilities.shape[1], n_bins=_BINS, validate_args=validate_args
    )

    def update():
        metric.update(probabilities, labels)

    def score():
        metric.reset()
        update()
        return metric.compute()

    return Timed(
        call=score if compute else update,
        value=lambda: float(score()),
        reset=metric.reset,  # It keeps every prediction.
    )


def _even_index(scores: torch.Tensor) -> torch.Tensor:
    return (torch.ceil(scores * _BINS).long() - 1).clamp_(0, _BINS - 1)


def _sce(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    examples, classes = probabilities.shape
    cell = _even_index(probabilities) + torch.arange(classes) * _BINS
    size = classes * _BINS
    scores = torch.bincount(cell.reshape(-1), probabilities.reshape(-1), size)
    hits = torch.bincount(cell[torch.arange(examples), labels], minlength=size)
    return (scores - hits).abs().sum() / (examples * classes)


def sce(data: Data) -> Timed:
    """Static calibration error with `torch.bincount`."""
    return _one_shot(_sce, *_tensors(data))


def _bins_of_ranks(count: int) -> torch.Tensor:
    """Returns where each of the bins of equal mass ends among `count` sorted scores."""
    ranks = torch.arange(count)
    bins = (2 * ranks + 1) * _BINS // (2 * max(count, 1))
    return torch.bincount(bins, minlength=_BINS).cumsum(0)


def _ace(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    examples, classes = probabilities.shape
    scores, order = torch.sort(probabilities.t().contiguous(), dim=1)
    hits = labels[order] == torch.arange(classes)[:, None]
    ends = _bins_of_ranks(examples)[:-1]
    total = torch.zeros(())
    for s, h in zip(
        scores.tensor_split(ends, dim=1), hits.tensor_split(ends, dim=1), strict=True
    ):
        total += (s.sum(dim=1) - h.sum(dim=1)).abs().sum()
    return total / (examples * classes)


def ace(data: Data) -> Timed:
    """Exact adaptive calibration error with `torch.sort`, ties in any order."""
    return _one_shot(_ace, *_tensors(data))


def _tace(
    labels: torch.Tensor, probabilities: torch.Tensor, threshold: float
) -> torch.Tensor:
    classes = probabilities.shape[1]
    row, group = torch.nonzero(probabilities > threshold, as_tuple=True)
    scores = probabilities[row, group]
    order = torch.argsort(scores)
    order = order[torch.argsort(group[order], stable=True)]  # By class, then score.
    scores, group = scores[order], group[order]
    hits = (labels[row[order]] == group).float()
    counts = torch.bincount(group, minlength=classes)
    rank = torch.arange(len(group)) - (counts.cumsum(0) - counts)[group]
    cell = group * _BINS + (2 * rank + 1) * _BINS // (2 * counts[group])
    gaps = torch.bincount(cell, scores - hits, classes * _BINS)
    per_class = gaps.reshape(classes, _BINS).abs().sum(dim=1) / counts.clamp(min=1)
    return per_class.mean()


def tace(data: Data, threshold: float) -> Timed:
    """Exact thresholded adaptive calibration error, of the scores that are left."""
    return _one_shot(_tace, *_tensors(data), threshold)
