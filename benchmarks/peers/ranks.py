"""Detection and selective prediction in other packages."""

from __future__ import annotations

import numpy as np
from data import Decisions, Scores
from harness import Timed
from torchmetrics.classification import BinaryAUROC, BinaryAveragePrecision

from peers._timed import one_shot, streaming, tensors, torch_uncertainty


def sklearn_auroc(data: Scores) -> Timed:
    """`sklearn.metrics.roc_auc_score`."""
    from sklearn.metrics import roc_auc_score

    return one_shot(lambda: np.asarray(roc_auc_score(*data)))


def torchmetrics_auroc(data: Scores, thresholds: int | None) -> Timed:
    """`BinaryAUROC`: reset, update and compute."""
    labels, scores = tensors(data)
    metric = BinaryAUROC(thresholds=thresholds, validate_args=False)
    return streaming(metric, lambda: metric.update(scores, labels))


def sklearn_aupr(data: Scores) -> Timed:
    """`sklearn.metrics.average_precision_score`."""
    from sklearn.metrics import average_precision_score

    return one_shot(lambda: np.asarray(average_precision_score(*data)))


def torchmetrics_aupr(data: Scores) -> Timed:
    """`BinaryAveragePrecision`, exact: reset, update and compute."""
    labels, scores = tensors(data)
    metric = BinaryAveragePrecision(validate_args=False)
    return streaming(metric, lambda: metric.update(scores, labels))


def torch_uncertainty_fpr(data: Scores) -> Timed:
    """`FPR95`: reset, update and compute."""
    metric = torch_uncertainty("metrics/classification/fpr.py").FPR95(pos_label=1)
    labels, scores = tensors(data)
    return streaming(metric, lambda: metric.update(scores, labels))


def sklearn_fpr(data: Scores) -> Timed:
    """The false positive rate where `sklearn.metrics.roc_curve` reaches 0.95."""
    from sklearn.metrics import roc_curve

    def compute():
        false, true, _ = roc_curve(*data)
        return false[np.searchsorted(true, 0.95)]

    return one_shot(compute)


def torch_uncertainty_selective(data: Decisions, name: str) -> Timed:
    """A metric of selective prediction: reset, update and compute."""
    module = torch_uncertainty("metrics/classification/risk_coverage.py")
    metric = getattr(module, name)()
    correct, confidences = tensors(data)
    # With a single class, class 0 is always the decision; label 1 makes it wrong.
    confidences, labels = confidences[:, None], 1 - correct
    return streaming(metric, lambda: metric.update(confidences, labels))
