"""Scores of classes and of real numbers in other packages, and with PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from data import (
    Data,
    IntervalForecasts,
    Logits,
    MeansAndVariances,
    Normals,
    NormalsByVariance,
    Predictions,
    QuantileForecasts,
    Samples,
)
from harness import Timed

from peers._timed import one_shot, streaming, tensors, torch_uncertainty


def _brier(labels: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    # This makes no array of squares, and takes half the time of `(p * p).sum(1)`.
    squares = torch.linalg.vector_norm(p, dim=1).square()
    return (squares - 2 * p.gather(1, labels[:, None])[:, 0]).mean()


def brier(data: Predictions | Logits, from_logits: bool = False) -> Timed:
    """Brier score with PyTorch, for logits after `torch.softmax`."""
    labels, predictions = tensors(data)

    def compute():
        p = torch.softmax(predictions, dim=1) if from_logits else predictions
        return _brier(labels, p)

    return one_shot(compute)


def torch_uncertainty_brier(
    data: Predictions | Logits, from_logits: bool = False, compute: bool = True
) -> Timed:
    """`BrierScore` of torch-uncertainty: update, or reset, update and compute."""
    module = torch_uncertainty("metrics/classification/brier_score.py")
    labels, predictions = tensors(data)
    metric = module.BrierScore(predictions.shape[1])

    def update():
        p = torch.softmax(predictions, dim=1) if from_logits else predictions
        metric.update(p, labels)

    # It gives a certain and right forecast 0, and not -1.
    return streaming(metric, update, compute, shift=-1.0)


def sklearn_brier(data: Predictions) -> Timed:
    """`sklearn.metrics.brier_score_loss`."""
    from sklearn.metrics import brier_score_loss

    labels, p = data
    classes = np.arange(p.shape[1])

    def compute():
        return brier_score_loss(labels, p, labels=classes, scale_by_half=False)

    return one_shot(lambda: np.asarray(compute()), shift=-1.0)


def cross_entropy(data: Logits) -> Timed:
    """`torch.nn.functional.cross_entropy`."""
    labels, logits = tensors(data)
    return one_shot(torch.nn.functional.cross_entropy, logits, labels)


def scoringrules(data: Data, name: str, **options: Any) -> Timed:
    """A function of scoringrules, by default compiled by Numba."""
    import scoringrules as package

    function = getattr(package, name)
    return one_shot(lambda: function(*data, **options))


def scoringrules_of_levels(data: QuantileForecasts, levels: tuple[float, ...]) -> Timed:
    """`quantile_score` of several levels."""
    import scoringrules as package

    labels, predictions = data
    level = np.asarray(levels)
    return one_shot(lambda: package.quantile_score(labels[:, None], predictions, level))


def scoringrules_of_sorted(data: Samples, estimator: str) -> Timed:
    """`crps_ensemble` after `np.sort`; by itself it would call `np.argsort`."""
    import scoringrules as package

    labels, samples = data

    def compute():
        ordered = np.sort(samples, axis=1)
        return package.crps_ensemble(
            labels, ordered, estimator=estimator, sorted_ensemble=True
        )

    return one_shot(compute)


def properscoring(data: Samples | Normals, name: str) -> Timed:
    """A function of properscoring, which also uses Numba."""
    import properscoring as package

    return one_shot(getattr(package, name), *data)


def _crps(labels: torch.Tensor, samples: torch.Tensor, fair: bool) -> torch.Tensor:
    m = samples.shape[1]
    weights = torch.arange(1.0 - m, m, 2.0) / (m * (m - 1 if fair else m))
    error = (samples - labels[:, None]).abs().mean(dim=1)
    return error - torch.sort(samples, dim=1).values @ weights


def crps(data: Samples, fair: bool) -> Timed:
    """CRPS of samples with `torch.sort`."""
    return one_shot(_crps, *tensors(data), fair)


def _gradient(score: Callable, data: Samples) -> Timed:
    labels, samples = tensors(data)
    samples.requires_grad_()

    def value_and_gradient():
        samples.grad = None
        value = score(labels, samples).mean()
        value.backward()
        return value.detach(), samples.grad

    def value():
        score, gradient = value_and_gradient()
        return float(score) + float((gradient * samples.detach()).sum())

    return Timed(call=value_and_gradient, value=value)


def crps_gradient(data: Samples, fair: bool) -> Timed:
    """CRPS of samples with `torch.sort`, and its gradient."""
    return _gradient(lambda *tensors: _crps(*tensors, fair), data)


def scoringrules_gradient(data: Samples, estimator: str) -> Timed:
    """`crps_ensemble` of scoringrules on PyTorch tensors, and its gradient."""
    import scoringrules as package

    return _gradient(
        lambda labels, samples: package.crps_ensemble(
            labels, samples, estimator=estimator, backend="torch"
        ),
        data,
    )


def crps_normal(data: Normals) -> Timed:
    """CRPS of Normal forecasts with PyTorch."""

    def compute(labels, means, stddevs):
        z = (labels - means) / stddevs
        density = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        part = z * torch.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
        return stddevs * part

    return one_shot(compute, *tensors(data))


def energy(data: Samples) -> Timed:
    """Energy score with `torch.cdist`."""

    def compute(labels, samples):
        error = torch.linalg.vector_norm(samples - labels[:, None], dim=-1)
        spread = torch.cdist(samples, samples).mean(dim=(1, 2))
        return error.mean(dim=1) - spread / 2

    return one_shot(compute, *tensors(data))


def sklearn_pinball(data: QuantileForecasts, alpha: float) -> Timed:
    """`sklearn.metrics.mean_pinball_loss`."""
    from sklearn.metrics import mean_pinball_loss

    return one_shot(lambda: np.asarray(mean_pinball_loss(*data, alpha=alpha)))


def pinball(data: QuantileForecasts, level: float) -> Timed:
    """Pinball loss with PyTorch."""

    def compute(labels, predictions):
        gaps = labels - predictions
        return torch.maximum(level * gaps, (level - 1) * gaps)

    return one_shot(compute, *tensors(data))


def pinball_of_levels(data: QuantileForecasts, levels: tuple[float, ...]) -> Timed:
    """Pinball losses of several levels with PyTorch."""
    labels, predictions = tensors(data)
    level = torch.tensor(levels)

    def compute():
        gaps = labels[:, None] - predictions
        return torch.maximum(level * gaps, (level - 1) * gaps)

    return one_shot(compute)


def interval(data: IntervalForecasts, alpha: float) -> Timed:
    """Interval score with PyTorch."""

    def compute(labels, lower, upper):
        outside = (lower - labels).clamp_(min=0) + (labels - upper).clamp_(min=0)
        return upper - lower + outside.mul_(2 / alpha)

    return one_shot(compute, *tensors(data))


def gaussian_nll(data: NormalsByVariance) -> Timed:
    """`torch.nn.functional.gaussian_nll_loss`."""
    means, variances, targets = tensors(data)
    loss = torch.nn.functional.gaussian_nll_loss
    return one_shot(lambda: loss(means, targets, variances, full=True))


def regression_ece(data: MeansAndVariances, levels: int) -> Timed:
    """Calibration error of central intervals with `torch.bucketize`."""
    level = torch.linspace(0.1, 0.99, levels)
    limits = torch.special.ndtri((1 + level) / 2)

    def compute(means, variances, targets):
        z = (targets - means).abs_().div_(variances.sqrt())
        counts = torch.bincount(torch.bucketize(z, limits), minlength=levels + 1)
        coverage = counts.cumsum(0)[:-1] / len(z)
        return (coverage - level).abs().mean()

    return one_shot(compute, *tensors(data))


def toolbox(
    data: MeansAndVariances | NormalsByVariance, name: str, **options: Any
) -> Timed:
    """A metric of uncertainty-toolbox."""
    import uncertainty_toolbox

    function = getattr(uncertainty_toolbox.metrics, name)
    means, variances, targets = data
    stddevs = np.sqrt(variances)
    return one_shot(lambda: np.asarray(function(means, stddevs, targets, **options)))
