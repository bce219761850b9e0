"""Contenders in the peers' environment: other packages, and PyTorch by hand.

A package that only few cases need is imported inside the functions that need it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from data import (
    Data,
    Decisions,
    Ensemble,
    EnsembleLogits,
    Forecasts,
    IntervalForecasts,
    Logits,
    LogLikelihoods,
    MeansAndVariances,
    Normals,
    NormalsByVariance,
    Predictions,
    QuantileForecasts,
    Samples,
    Scores,
    Survival,
)
from harness import Timed
from torchmetrics import Metric
from torchmetrics.classification import (
    BinaryAUROC,
    BinaryAveragePrecision,
    MulticlassCalibrationError,
)

_BINS = 15


def _tensors(data: Data) -> tuple[torch.Tensor, ...]:
    return tuple(map(torch.from_numpy, data))


def _one_shot(compute: Callable, *arguments: Any, shift: float = 0.0) -> Timed:
    return Timed(
        call=lambda: compute(*arguments),
        value=lambda: float(compute(*arguments).mean()) + shift,
    )


def _streaming(
    metric: Metric,
    update: Callable[[], None],
    compute: bool = True,
    shift: float = 0.0,
) -> Timed:
    """Update of a metric of torchmetrics, or reset, update and compute."""

    def score():
        metric.reset()
        update()
        return metric.compute()

    return Timed(
        call=score if compute else update,
        value=lambda: float(score()) + shift,
        reset=metric.reset,  # Some metrics keep every prediction.
    )


def torchmetrics_ece(
    data: Predictions,
    validate_args: bool,
    compute: bool = False,
    norm: str = "l1",
    bins: int = _BINS,
) -> Timed:
    """`MulticlassCalibrationError`: update, or reset, update and compute."""
    labels, probabilities = _tensors(data)
    metric = MulticlassCalibrationError(
        data.probabilities.shape[1],
        n_bins=bins,
        norm=norm,
        validate_args=validate_args,
    )
    return _streaming(metric, lambda: metric.update(probabilities, labels), compute)


def netcal(data: Predictions, name: str, **options: Any) -> Timed:
    """A calibration error of netcal."""
    from netcal import metrics

    metric = getattr(metrics, name)(bins=_BINS, **options)
    labels, probabilities = data
    return _one_shot(lambda: np.asarray(metric.measure(probabilities, labels)))


def _even_index(scores: torch.Tensor) -> torch.Tensor:
    return (torch.ceil(scores * _BINS).long() - 1).clamp_(0, _BINS - 1)


def _sce(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    examples, classes = probabilities.shape
    cell = _even_index(probabilities) + torch.arange(classes) * _BINS
    size = classes * _BINS
    scores = torch.bincount(cell.reshape(-1), probabilities.reshape(-1), size)
    hits = torch.bincount(cell[torch.arange(examples), labels], minlength=size)
    return (scores - hits).abs().sum() / (examples * classes)


def sce(data: Predictions) -> Timed:
    """Static calibration error with `torch.bincount`."""
    return _one_shot(_sce, *_tensors(data))


def _bins_of_ranks(count: int) -> torch.Tensor:
    """Returns the ends of the bins of equal mass among `count` sorted scores."""
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


def ace(data: Predictions) -> Timed:
    """Exact adaptive calibration error with `torch.sort`, with ties in any order."""
    return _one_shot(_ace, *_tensors(data))


def _ece_adaptive(labels: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    scores, decisions = probabilities.max(dim=1)
    order = scores.argsort()
    gaps = scores[order] - (decisions == labels)[order].float()
    parts = gaps.tensor_split(_bins_of_ranks(len(labels))[:-1])
    return torch.stack([part.sum() for part in parts]).abs().sum() / len(labels)


def ece_adaptive(data: Predictions) -> Timed:
    """Expected calibration error with bins of equal mass, with ties in any order."""
    return _one_shot(_ece_adaptive, *_tensors(data))


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
    cell = group * _BINS + (2 * rank + 1) * _BINS // (2 * counts[group])
    gaps = torch.bincount(cell, scores - hits, classes * _BINS)
    per_class = gaps.reshape(classes, _BINS).abs().sum(dim=1) / counts.clamp(min=1)
    return per_class.mean()


def tace(data: Predictions, threshold: float) -> Timed:
    """Exact thresholded adaptive calibration error; sorts only the scores above it."""
    return _one_shot(_tace, *_tensors(data), threshold)


def _brier(labels: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    # This makes no array of squares, and takes half the time of `(p * p).sum(1)`.
    squares = torch.linalg.vector_norm(p, dim=1).square()
    return (squares - 2 * p.gather(1, labels[:, None])[:, 0]).mean()


def brier(data: Predictions | Logits, from_logits: bool = False) -> Timed:
    """Brier score with PyTorch, for logits after `torch.softmax`."""
    labels, predictions = _tensors(data)

    def compute():
        p = torch.softmax(predictions, dim=1) if from_logits else predictions
        return _brier(labels, p)

    return _one_shot(compute)


def _torch_uncertainty(path: str) -> ModuleType:
    """Imports one file of torch-uncertainty.

    The whole package would need PyTorch Lightning, torchvision and timm.
    """
    return _file_of("torch-uncertainty", f"torch_uncertainty/{path}")


def _file_of(distribution: str, path: str) -> ModuleType:
    file = Path(importlib.metadata.distribution(distribution).locate_file(path))
    name = f"{distribution} {path}".replace(".", " ")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Relative imports of an `__init__.py` need it.
    spec.loader.exec_module(module)
    return module


def torch_uncertainty_sce(data: Predictions) -> Timed:
    """`ClasswiseCalibrationError`: reset, update and compute."""
    module = _torch_uncertainty("metrics/classification/calibration/__init__.py")
    labels, probabilities = _tensors(data)
    metric = module.ClasswiseCalibrationError(probabilities.shape[1], num_bins=_BINS)
    return _streaming(metric, lambda: metric.update(probabilities, labels))


def torch_uncertainty_brier(
    data: Predictions | Logits, from_logits: bool = False, compute: bool = True
) -> Timed:
    """`BrierScore` of torch-uncertainty: update, or reset, update and compute."""
    module = _torch_uncertainty("metrics/classification/brier_score.py")
    labels, predictions = _tensors(data)
    metric = module.BrierScore(predictions.shape[1])

    def update():
        p = torch.softmax(predictions, dim=1) if from_logits else predictions
        metric.update(p, labels)

    # It gives a certain and right forecast 0, and not -1.
    return _streaming(metric, update, compute, shift=-1.0)


def sklearn_brier(data: Predictions) -> Timed:
    """`sklearn.metrics.brier_score_loss`."""
    from sklearn.metrics import brier_score_loss

    labels, p = data
    classes = np.arange(p.shape[1])

    def compute():
        return brier_score_loss(labels, p, labels=classes, scale_by_half=False)

    return _one_shot(lambda: np.asarray(compute()), shift=-1.0)


def cross_entropy(data: Logits) -> Timed:
    """`torch.nn.functional.cross_entropy`."""
    labels, logits = _tensors(data)
    return _one_shot(torch.nn.functional.cross_entropy, logits, labels)


def scoringrules(data: Data, name: str, **options: Any) -> Timed:
    """A function of scoringrules, by default compiled by Numba."""
    import scoringrules as package

    function = getattr(package, name)
    return _one_shot(lambda: function(*data, **options))


def scoringrules_of_sorted(data: Samples, estimator: str) -> Timed:
    """`crps_ensemble` after `np.sort`; by itself it would call `np.argsort`."""
    import scoringrules as package

    labels, samples = data

    def compute():
        ordered = np.sort(samples, axis=1)
        return package.crps_ensemble(
            labels, ordered, estimator=estimator, sorted_ensemble=True
        )

    return _one_shot(compute)


def properscoring(data: Samples | Normals, name: str) -> Timed:
    """A function of properscoring, which also uses Numba."""
    import properscoring as package

    return _one_shot(getattr(package, name), *data)


def _crps(labels: torch.Tensor, samples: torch.Tensor, fair: bool) -> torch.Tensor:
    m = samples.shape[1]
    weights = torch.arange(1.0 - m, m, 2.0) / (m * (m - 1 if fair else m))
    error = (samples - labels[:, None]).abs().mean(dim=1)
    return error - torch.sort(samples, dim=1).values @ weights


def crps(data: Samples, fair: bool) -> Timed:
    """CRPS of samples with `torch.sort`."""
    return _one_shot(_crps, *_tensors(data), fair)


def _gradient(score: Callable, data: Samples) -> Timed:
    labels, samples = _tensors(data)
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

    return _one_shot(compute, *_tensors(data))


def energy(data: Samples) -> Timed:
    """Energy score with `torch.cdist`."""

    def compute(labels, samples):
        error = torch.linalg.vector_norm(samples - labels[:, None], dim=-1)
        spread = torch.cdist(samples, samples).mean(dim=(1, 2))
        return error.mean(dim=1) - spread / 2

    return _one_shot(compute, *_tensors(data))


def sklearn_auroc(data: Scores) -> Timed:
    """`sklearn.metrics.roc_auc_score`."""
    from sklearn.metrics import roc_auc_score

    return _one_shot(lambda: np.asarray(roc_auc_score(*data)))


def torchmetrics_auroc(data: Scores, thresholds: int | None) -> Timed:
    """`BinaryAUROC`: reset, update and compute."""
    labels, scores = _tensors(data)
    metric = BinaryAUROC(thresholds=thresholds, validate_args=False)
    return _streaming(metric, lambda: metric.update(scores, labels))


def sklearn_aupr(data: Scores) -> Timed:
    """`sklearn.metrics.average_precision_score`."""
    from sklearn.metrics import average_precision_score

    return _one_shot(lambda: np.asarray(average_precision_score(*data)))


def torchmetrics_aupr(data: Scores) -> Timed:
    """`BinaryAveragePrecision`, exact: reset, update and compute."""
    labels, scores = _tensors(data)
    metric = BinaryAveragePrecision(validate_args=False)
    return _streaming(metric, lambda: metric.update(scores, labels))


def torch_uncertainty_fpr(data: Scores) -> Timed:
    """`FPR95`: reset, update and compute."""
    metric = _torch_uncertainty("metrics/classification/fpr.py").FPR95(pos_label=1)
    labels, scores = _tensors(data)
    return _streaming(metric, lambda: metric.update(scores, labels))


def sklearn_fpr(data: Scores) -> Timed:
    """The false positive rate where `sklearn.metrics.roc_curve` reaches 0.95."""
    from sklearn.metrics import roc_curve

    def compute():
        false, true, _ = roc_curve(*data)
        return false[np.searchsorted(true, 0.95)]

    return _one_shot(compute)


def torch_uncertainty_selective(data: Decisions, name: str) -> Timed:
    """A metric of selective prediction: reset, update and compute."""
    module = _torch_uncertainty("metrics/classification/risk_coverage.py")
    metric = getattr(module, name)()
    correct, confidences = _tensors(data)
    # With a single class, class 0 is always the decision; label 1 makes it wrong.
    confidences, labels = confidences[:, None], 1 - correct
    return _streaming(metric, lambda: metric.update(confidences, labels))


def torch_uncertainty_mutual_information(
    data: Ensemble | EnsembleLogits, from_logits: bool
) -> Timed:
    """`MutualInformation` of torch-uncertainty: reset, update and compute."""
    module = _torch_uncertainty("metrics/classification/mutual_information.py")
    metric = module.MutualInformation()
    (predictions,) = _tensors(data)

    def update():
        p = torch.softmax(predictions, dim=-1) if from_logits else predictions
        metric.update(p)

    return _streaming(metric, update)


def torch_uncertainty_of_members(data: Ensemble, name: str) -> Timed:
    """`Disagreement` or `Entropy`: reset, update and compute."""
    module = _torch_uncertainty(f"metrics/classification/{name.lower()}.py")
    metric = getattr(module, name)()
    (predictions,) = _tensors(data)
    return _streaming(metric, lambda: metric.update(predictions))


def ensemble_disagreement(data: Ensemble) -> Timed:
    """Share of the pairs of members that decide differently, with PyTorch."""
    (predictions,) = _tensors(data)

    def compute():
        decisions = predictions.argmax(dim=-1)
        members = decisions.shape[1]
        same = (decisions[:, :, None] == decisions[:, None]).sum(dim=(1, 2)) - members
        return 1 - same / (members * (members - 1))

    return _one_shot(compute)


def expected_entropy(data: Ensemble) -> Timed:
    """Mean entropy of the members with PyTorch, in blocks that fit into the cache."""
    (predictions,) = _tensors(data)

    def of_block(block):
        return -_logarithm(block).mul_(block).sum(dim=(1, 2)) / block.shape[1]

    return _one_shot(lambda: torch.cat(list(map(of_block, predictions.split(1000)))))


def _logarithm(p: torch.Tensor) -> torch.Tensor:
    return p.clamp(min=torch.finfo(p.dtype).tiny).log_()  # So that 0 log 0 = 0.


def mutual_information(data: Ensemble | EnsembleLogits, from_logits: bool) -> Timed:
    """Mutual information with PyTorch, in blocks that fit into the cache."""
    (predictions,) = _tensors(data)

    def of_block(block):
        log_p = torch.log_softmax(block, dim=-1) if from_logits else _logarithm(block)
        p = log_p.exp() if from_logits else block
        mean = p.mean(dim=1)
        # Products in place, because `torch.special.entr` takes twice the time.
        expected = log_p.mul_(p).sum(dim=(1, 2)) / p.shape[1]
        return expected - _logarithm(mean).mul_(mean).sum(dim=1)

    return _one_shot(lambda: torch.cat(list(map(of_block, predictions.split(1000)))))


def psis_loo(data: LogLikelihoods) -> Timed:
    """`psislw` of ArviZ, and the estimates that `loo` computes from it."""
    from arviz import psislw
    from scipy.special import logsumexp

    logp = data.logp.astype(np.float64)  # ArviZ computes in the type of its input.

    def compute():
        log_weights, pareto_k = psislw(-logp)
        values = logsumexp(log_weights + logp, axis=1)
        return values.mean(), values.std(ddof=1) / math.sqrt(len(values)), pareto_k

    return _one_shot(lambda: np.asarray([np.mean(part) for part in compute()]))


def waic(data: LogLikelihoods) -> Timed:
    """`waic` of ArviZ, from ArviZ's own container."""
    import arviz

    # Of shape [chains, draws, instances].
    draws = data.logp.astype(np.float64).T[None]
    inference = arviz.from_dict(
        posterior={"x": draws[..., 0]}, log_likelihood={"y": draws}
    )
    n = len(data.logp)

    def compute():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return arviz.waic(inference)

    def value():
        found = compute()
        return float(np.mean([found.elpd_waic, found.se]) / n)

    return Timed(call=compute, value=value)


def waic_by_hand(data: LogLikelihoods) -> Timed:
    """WAIC with PyTorch."""

    def compute(logp):
        n, draws = logp.shape
        values = logp.logsumexp(dim=1) - math.log(draws) - logp.var(dim=1)
        return torch.stack([values.mean(), values.std() / math.sqrt(n)])

    return _one_shot(compute, *_tensors(data))


def sklearn_pinball(data: QuantileForecasts, alpha: float) -> Timed:
    """`sklearn.metrics.mean_pinball_loss`."""
    from sklearn.metrics import mean_pinball_loss

    return _one_shot(lambda: np.asarray(mean_pinball_loss(*data, alpha=alpha)))


def pinball(data: QuantileForecasts, level: float) -> Timed:
    """Pinball loss with PyTorch."""

    def compute(labels, predictions):
        gaps = labels - predictions
        return torch.maximum(level * gaps, (level - 1) * gaps)

    return _one_shot(compute, *_tensors(data))


def interval(data: IntervalForecasts, alpha: float) -> Timed:
    """Interval score with PyTorch."""

    def compute(labels, lower, upper):
        outside = (lower - labels).clamp_(min=0) + (labels - upper).clamp_(min=0)
        return upper - lower + outside.mul_(2 / alpha)

    return _one_shot(compute, *_tensors(data))


def gaussian_nll(data: NormalsByVariance) -> Timed:
    """`torch.nn.functional.gaussian_nll_loss`."""
    means, variances, targets = _tensors(data)
    loss = torch.nn.functional.gaussian_nll_loss
    return _one_shot(lambda: loss(means, targets, variances, full=True))


def regression_ece(data: MeansAndVariances, levels: int) -> Timed:
    """Calibration error of central intervals with `torch.bucketize`."""
    level = torch.linspace(0.1, 0.99, levels)
    limits = torch.special.ndtri((1 + level) / 2)

    def compute(means, variances, targets):
        z = (targets - means).abs_().div_(variances.sqrt())
        counts = torch.bincount(torch.bucketize(z, limits), minlength=levels + 1)
        coverage = counts.cumsum(0)[:-1] / len(z)
        return (coverage - level).abs().mean()

    return _one_shot(compute, *_tensors(data))


def toolbox(
    data: MeansAndVariances | NormalsByVariance, name: str, **options: Any
) -> Timed:
    """A metric of uncertainty-toolbox."""
    import uncertainty_toolbox

    function = getattr(uncertainty_toolbox.metrics, name)
    means, variances, targets = data
    stddevs = np.sqrt(variances)
    return _one_shot(lambda: np.asarray(function(means, stddevs, targets, **options)))


def _plain_brier(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    return (np.sum(p * p, axis=1) - 2 * p[np.arange(len(labels)), labels],)


def _hits_and_scores(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    return p.argmax(axis=1) == labels, p.max(axis=1).astype(np.float64)


def _plain_ece(hits: np.ndarray, scores: np.ndarray) -> float:
    index = np.clip(np.ceil(scores * _BINS).astype(np.intp) - 1, 0, _BINS - 1)
    gaps = np.bincount(index, scores - hits, _BINS)
    return np.abs(gaps).sum() / len(hits)


def bootstrap(data: Predictions, metric: str, resamples: int) -> Timed:
    """`scipy.stats.bootstrap` of a metric, from its values for each example."""
    from scipy import stats

    reduce, statistic, options = {
        "brier_score": (_plain_brier, np.mean, {"vectorized": True}),
        "ece": (_hits_and_scores, _plain_ece, {"vectorized": False, "paired": True}),
    }[metric]

    def compute():
        found = stats.bootstrap(
            reduce(*data),
            statistic,
            n_resamples=resamples,
            method="BCa",
            rng=0,
            **options,
        )
        return np.array(found.confidence_interval)

    return _one_shot(compute)


def netcal_temperature(data: Logits) -> Timed:
    """`TemperatureScaling` of netcal, for probabilities in float64."""
    from netcal.scaling import TemperatureScaling

    # In float32 netcal's optimiser does not move.
    probabilities = np.exp(data.logits.astype(np.float64))
    probabilities /= probabilities.sum(axis=1, keepdims=True)

    def compute():
        scaling = TemperatureScaling()
        scaling.fit(probabilities, data.labels, tensorboard=False)
        return 1 / scaling.temperature

    return _one_shot(compute)


def temperature(data: Logits) -> Timed:
    """Temperature scaling with PyTorch's LBFGS, in the logarithm of the temperature."""
    labels, logits = _tensors(data)

    def compute():
        logarithm = torch.zeros((), requires_grad=True)
        optimizer = torch.optim.LBFGS([logarithm], line_search_fn="strong_wolfe")

        def loss():
            optimizer.zero_grad()
            value = torch.nn.functional.cross_entropy(logits / logarithm.exp(), labels)
            value.backward()
            return value

        optimizer.step(loss)
        return logarithm.detach().exp()

    return _one_shot(compute)


def vector(data: Logits, ridge: float) -> Timed:
    """Vector scaling as `VectorScaling` defines it, with PyTorch's LBFGS."""
    labels, logits = _tensors(data)
    within = logits - logits.mean(dim=1, keepdim=True)
    scale = within.square().mean()

    def compute():
        a, b = (torch.ones(logits.shape[1]) / 2), torch.zeros(logits.shape[1])
        for parameters in (a, b):
            parameters.requires_grad_()
        optimizer = torch.optim.LBFGS(
            [a, b], max_iter=200, line_search_fn="strong_wolfe"
        )

        def loss():
            optimizer.zero_grad()
            value = torch.nn.functional.cross_entropy(logits * a + b, labels)
            penalty = scale * (a - a.mean()).square().sum() + b.square().sum()
            value = value + ridge / 2 / len(labels) * penalty
            value.backward()
            return value

        optimizer.step(loss)
        with torch.no_grad():
            return torch.nn.functional.cross_entropy(logits * a + b, labels)

    return _one_shot(compute)


def platt(data: Predictions) -> Timed:
    """Logistic regression of scikit-learn on log-odds, without a penalty."""
    from sklearn.linear_model import LogisticRegression

    labels, p = data.labels, data.probabilities.astype(np.float64)
    p = p.clip(2.0**-24, 1 - 2.0**-24)
    odds = np.log(p / (1 - p))
    classes = odds.shape[1]

    def fitted(k):
        column = odds[:, k, None]
        map = LogisticRegression(C=np.inf).fit(column, labels == k)
        return map.predict_proba(column)[:, 1]

    def compute():
        if classes == 2:
            q = fitted(1)
            return -np.log(np.where(labels == 1, q, 1 - q))
        # One fit for each class against the rest.
        q = np.stack([fitted(k) for k in range(classes)], axis=1)
        return np.log(q.sum(axis=1) / q[np.arange(len(labels)), labels])

    return _one_shot(compute)


def relplot_smece(data: Scores) -> Timed:
    """`relplot.smECE`."""
    import relplot

    f, y = data.scores.astype(np.float64), data.labels.astype(np.float64)
    return _one_shot(lambda: np.asarray(relplot.smECE(f=f, y=y)))


def sklearn_isotonic(data: Scores) -> Timed:
    """`sklearn.isotonic.IsotonicRegression`; the mean of its squares must agree."""
    from sklearn.isotonic import IsotonicRegression

    labels, p = data.labels.astype(np.float64), data.scores.astype(np.float64)

    def compute():
        return IsotonicRegression(y_min=0, y_max=1).fit(p, labels)

    return Timed(call=compute, value=lambda: float(np.mean(compute().predict(p) ** 2)))


def former_binned(data: Predictions, name: str, **options: Any) -> Timed:
    """A binned calibration error of the package of 2020."""
    path = "uncertainty_metrics/numpy/general_calibration_error.py"
    function = getattr(_file_of("uncertainty-metrics", path), name)
    return _one_shot(lambda: np.asarray(function(*data, num_bins=_BINS, **options)))


def former_package(data: Forecasts | Survival, name: str, **options: Any) -> Timed:
    """A function of the package of 2020, from which only one file is imported."""
    vars(np)["float"] = float  # The package needs this name of NumPy before 1.24.
    module = _file_of("uncertainty-metrics", f"uncertainty_metrics/numpy/{name}.py")

    def compute():
        with contextlib.redirect_stdout(None):  # The function prints its folds.
            squared = getattr(module, name)(*data, **options)
        return np.sqrt(max(squared, 0))  # The intervals of the package are of the root.

    return _one_shot(lambda: np.asarray(compute()))
