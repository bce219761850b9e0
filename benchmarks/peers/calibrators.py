"""Fits of calibrators of other packages, and with PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from data import Logits, Predictions, Scores
from harness import Timed

from peers._timed import one_shot, tensors


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

    return one_shot(compute)


def temperature(data: Logits) -> Timed:
    """Temperature scaling with PyTorch's LBFGS, in the logarithm of the temperature."""
    labels, logits = tensors(data)

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

    return one_shot(compute)


def vector(data: Logits, ridge: float) -> Timed:
    """Vector scaling as `VectorScaling` defines it, with PyTorch's LBFGS."""
    labels, logits = tensors(data)
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

    return one_shot(compute)


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

    return one_shot(compute)


def sklearn_isotonic(data: Scores) -> Timed:
    """`sklearn.isotonic.IsotonicRegression`; the mean of its squares must agree."""
    from sklearn.isotonic import IsotonicRegression

    labels, p = data.labels.astype(np.float64), data.scores.astype(np.float64)

    def compute():
        return IsotonicRegression(y_min=0, y_max=1).fit(p, labels)

    return Timed(call=compute, value=lambda: float(np.mean(compute().predict(p) ** 2)))
