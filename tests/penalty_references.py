"""Losses with a penalty on the batch, by loops over the examples, bins and pairs."""

import math

import numpy as np


def soft_binned_error(
    confidences, hits, weights, num_bins=15, temperature=0.01, norm="l2"
):
    power = {"l1": 1, "l2": 2}[norm]
    total = 0.0
    for b in range(num_bins):
        mass = confidence = accuracy = 0.0
        for c, hit, weight in zip(confidences, hits, weights, strict=True):
            near = [
                math.exp(-((c - (k + 0.5) / num_bins) ** 2) / temperature)
                for k in range(num_bins)
            ]
            share = weight * near[b] / sum(near)
            mass += share
            confidence += share * c
            accuracy += share * hit
        if mass > 0:
            total += mass * abs(confidence / mass - accuracy / mass) ** power
    return (total / np.sum(weights)) ** (1 / power)


def kernel_error(confidences, hits, weights, bandwidth=0.2):
    examples = list(zip(confidences, hits, weights, strict=True))
    total = mass = 0.0
    for i, (c, hit, weight) in enumerate(examples):
        for j, (d, other_hit, other_weight) in enumerate(examples):
            if i != j:
                kernel = math.exp(-abs(c - d) / bandwidth)
                both = weight * other_weight
                mass += both
                total += both * (c - hit) * (d - other_hit) * kernel
    return total / mass if mass else 0.0


def _proper(y, p, proper_loss):
    if proper_loss == "nll":
        return -math.log(max(p[y], 1e-7))
    if proper_loss == "brier":
        return sum((p[k] - (k == y)) ** 2 for k in range(len(p))) - 1
    return 0.0


def _penalized(error):
    def scores(labels, probabilities, weights, weight, proper_loss="nll", **given):
        labels, shape = labels.ravel(), labels.shape
        p = probabilities.reshape(len(labels), -1)
        weights = np.ones(()) if weights is None else np.asarray(weights)
        # Keras aligns weights with labels from the left, and drops a last axis of 1.
        ones = (1,) * len(shape)
        weights = weights.reshape((*weights.shape, *ones)[: len(shape)])
        weights = np.broadcast_to(weights, shape).ravel()
        hits = p.argmax(axis=1) == labels
        penalty = error(p.max(axis=1), hits, weights, **given)
        each = [_proper(y, row, proper_loss) for y, row in zip(labels, p, strict=True)]
        return np.reshape(each, shape) + weight * penalty

    return scores


soft_calibration = _penalized(soft_binned_error)
mmce = _penalized(kernel_error)
