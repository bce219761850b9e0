"""Scores of members and of posterior draws in other packages, and with PyTorch."""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch
from data import Ensemble, EnsembleLogits, LogLikelihoods
from harness import Timed

from peers._timed import one_shot, streaming, tensors, torch_uncertainty


def torch_uncertainty_mutual_information(
    data: Ensemble | EnsembleLogits, from_logits: bool
) -> Timed:
    """`MutualInformation` of torch-uncertainty: reset, update and compute."""
    module = torch_uncertainty("metrics/classification/mutual_information.py")
    metric = module.MutualInformation()
    (predictions,) = tensors(data)

    def update():
        p = torch.softmax(predictions, dim=-1) if from_logits else predictions
        metric.update(p)

    return streaming(metric, update)


def torch_uncertainty_of_members(data: Ensemble, name: str) -> Timed:
    """`Disagreement` or `Entropy`: reset, update and compute."""
    module = torch_uncertainty(f"metrics/classification/{name.lower()}.py")
    metric = getattr(module, name)()
    (predictions,) = tensors(data)
    return streaming(metric, lambda: metric.update(predictions))


def ensemble_disagreement(data: Ensemble) -> Timed:
    """Share of the pairs of members that decide differently, with PyTorch."""
    (predictions,) = tensors(data)

    def compute():
        decisions = predictions.argmax(dim=-1)
        members = decisions.shape[1]
        same = (decisions[:, :, None] == decisions[:, None]).sum(dim=(1, 2)) - members
        return 1 - same / (members * (members - 1))

    return one_shot(compute)


def expected_entropy(data: Ensemble) -> Timed:
    """Mean entropy of the members with PyTorch, in blocks that fit into the cache."""
    (predictions,) = tensors(data)

    def of_block(block):
        return -_logarithm(block).mul_(block).sum(dim=(1, 2)) / block.shape[1]

    return one_shot(lambda: torch.cat(list(map(of_block, predictions.split(1000)))))


def _logarithm(p: torch.Tensor) -> torch.Tensor:
    return p.clamp(min=torch.finfo(p.dtype).tiny).log_()  # So that 0 log 0 = 0.


def mutual_information(data: Ensemble | EnsembleLogits, from_logits: bool) -> Timed:
    """Mutual information with PyTorch, in blocks that fit into the cache."""
    (predictions,) = tensors(data)

    def of_block(block):
        log_p = torch.log_softmax(block, dim=-1) if from_logits else _logarithm(block)
        p = log_p.exp() if from_logits else block
        mean = p.mean(dim=1)
        # Products in place, because `torch.special.entr` takes twice the time.
        expected = log_p.mul_(p).sum(dim=(1, 2)) / p.shape[1]
        return expected - _logarithm(mean).mul_(mean).sum(dim=1)

    return one_shot(lambda: torch.cat(list(map(of_block, predictions.split(1000)))))


def psis_loo(data: LogLikelihoods) -> Timed:
    """`psislw` of ArviZ, and the estimates that `loo` computes from it."""
    from arviz import psislw
    from scipy.special import logsumexp

    logp = data.logp.astype(np.float64)  # ArviZ computes in the type of its input.

    def compute():
        log_weights, pareto_k = psislw(-logp)
        values = logsumexp(log_weights + logp, axis=1)
        return values.mean(), values.std(ddof=1) / math.sqrt(len(values)), pareto_k

    return one_shot(lambda: np.asarray([np.mean(part) for part in compute()]))


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

    return one_shot(compute, *tensors(data))
