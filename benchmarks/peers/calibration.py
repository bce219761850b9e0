"""Calibration errors of other packages, and with PyTorch."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch
from data import Forecasts, Predictions, Scores, Survival
from harness import Timed
from torchmetrics.classification import MulticlassCalibrationError

from peers._timed import BINS, file_of, one_shot, streaming, tensors, torch_uncertainty


def torchmetrics_ece(
    data: Predictions,
    validate_args: bool,
    compute: bool = False,
    norm: str = "l1",
    bins: int = BINS,
) -> Timed:
    """`MulticlassCalibrationError`: update, or reset, update and compute."""
    labels, probabilities = tensors(data)
    metric = MulticlassCalibrationError(
        data.probabilities.shape[1],
        n_bins=bins,
        norm=norm,
        validate_args=validate_args,
    )
    return streaming(metric, lambda: metric.update(probabilities, labels), compute)


def netcal(data: Predictions, name: str, **options: Any) -> Timed:
    """A calibration error of netcal."""
    from netcal import metrics

    metric = getattr(metrics, name)(bins=BINS, **options)
    labels, probabilities = data
    return one_shot(lambda: np.asarray(metric.measure(probabilities, labels)))


def _even_index(scores: torch.Tensor) -> torch.Tensor:
    return (torch.ceil(scores * BINS).long() - 1).clamp_(0, BINS - 1)


def _sce(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    examples, classes = probabilities.shape
    cell = _even_index(probabilities) + torch.arange(classes) * BINS
    size = classes * BINS
    scores = torch.bincount(cell.reshape(-1), probabilities.reshape(-1), size)
    hits = torch.bincount(cell[torch.arange(examples), labels], minlength=size)
    return (scores - hits).abs().sum() / (examples * classes)


def sce(data: Predictions) -> Timed:
    """Static calibration error with `torch.bincount`."""
    return one_shot(_sce, *tensors(data))


def _bins_of_ranks(count: int) -> torch.Tensor:
    """Returns the ends of the bins of equal mass among `count` sorted scores."""
    ranks = torch.arange(count)
    bins = (2 * ranks + 1) * BINS // (2 * max(count, 1))
    return torch.bincount(bins, minlength=BINS).cumsum(0)


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


def ace(data: Predictions) -> Timed:
    """Exact adaptive calibration error with `torch.sort`, with ties in any order."""
    return one_shot(_ace, *tensors(data))


def _ece_adaptive(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    scores, decisions = probabilities.max(dim=1)
    order = scores.argsort()
    gaps = scores[order] - (decisions == labels)[order].float()
    parts = gaps.tensor_split(_bins_of_ranks(len(labels))[:-1])
    return torch.stack([part.sum() for part in parts]).abs().sum() / len(labels)


def ece_adaptive(data: Predictions) -> Timed:
    """Expected calibration error with bins of equal mass, with ties in any order."""
    return one_shot(_ece_adaptive, *tensors(data))


def _tace(
    labels: torch.Tensor, probabilities: torch.Tensor, threshold: float
) -> torch.Tensor:
    classes = probabilities.shape[1]
    row, group = torch.nonzero(probabilities > threshold, as_tuple=True)
    scores = probabilities[row, group]
    order = torch.argsort(scores)
    # The order by class, and within a class by score.
    order = order[torch.argsort(group[order], stable=True)]
    scores, group = scores[order], group[order]
    hits = (labels[row[order]] == group).float()
    counts = torch.bincount(group, minlength=classes)
    rank = torch.arange(len(group)) - (counts.cumsum(0) - counts)[group]
    cell = group * BINS + (2 * rank + 1) * BINS // (2 * counts[group])
    gaps = torch.bincount(cell, scores - hits, classes * BINS)
    per_class = gaps.reshape(classes, BINS).abs().sum(dim=1) / counts.clamp(min=1)
    return per_class.mean()


def tace(data: Predictions, threshold: float) -> Timed:
    """Exact thresholded adaptive calibration error; sorts only the scores above it."""
    return one_shot(_tace, *tensors(data), threshold)


def torch_uncertainty_sce(data: Predictions) -> Timed:
    """`ClasswiseCalibrationError`: reset, update and compute."""
    module = torch_uncertainty("metrics/classification/calibration/__init__.py")
    labels, probabilities = tensors(data)
    metric = module.ClasswiseCalibrationError(probabilities.shape[1], num_bins=BINS)
    return streaming(metric, lambda: metric.update(probabilities, labels))


def relplot_smece(data: Scores) -> Timed:
    """`relplot.smECE`."""
    import relplot

    f, y = data.scores.astype(np.float64), data.labels.astype(np.float64)
    return one_shot(lambda: np.asarray(relplot.smECE(f=f, y=y)))


def former_binned(data: Predictions, name: str, **options: Any) -> Timed:
    """A binned calibration error of the package of 2020."""
    path = "uncertainty_metrics/numpy/general_calibration_error.py"
    function = getattr(file_of("uncertainty-metrics", path), name)
    return one_shot(lambda: np.asarray(function(*data, num_bins=BINS, **options)))


def former_package(data: Forecasts | Survival, name: str, **options: Any) -> Timed:
    """A function of the package of 2020, from which only one file is imported."""
    vars(np)["float"] = float  # The package needs this name of NumPy before 1.24.
    module = file_of("uncertainty-metrics", f"uncertainty_metrics/numpy/{name}.py")

    def compute():
        with contextlib.redirect_stdout(None):  # The function prints its folds.
            squared = getattr(module, name)(*data, **options)
        return np.sqrt(max(squared, 0))  # The intervals of the package are of the root.

    return one_shot(lambda: np.asarray(compute()))
