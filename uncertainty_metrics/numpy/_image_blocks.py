"""Large masks in blocks of images, so that no array of the size of all is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import GroupValues
from uncertainty_metrics.numpy import _inputs

# Predictions of this many bytes are read in blocks of this size.
BLOCK_BYTES = 2**28


def image_blocks(data: ClassifierData, by_image: bool) -> list[ClassifierData]:
    """Returns the data of a few images at a time, whose temporary arrays are small; or
    an empty list if the predictions are not large, or not of images: labels [images,
    ...] and predictions [images, ..., K].

    Args:
      data: the data of a function, not yet checked.
      by_image: whether each image is a group of its block.
    """
    names = "probabilities", "logits", "probs"
    given = [name for name in names if getattr(data, name) is not None]
    others = data.groups, data.num_groups, data.clusters, data.labels_predicted
    if len(given) != 1 or data.labels is None or data.multilabel is not False:
        return []
    if data.has_confidences or any(other is not None for other in others):
        return []
    name = given[0]
    predictions = getattr(data, name)
    # What is no array becomes one, of the size of all images, in any case.
    if not isinstance(predictions, np.ndarray) or predictions.nbytes <= BLOCK_BYTES:
        return []
    labels = _inputs.as_array("labels", data.labels)
    shape = predictions.shape
    if len(shape) < 3 or labels.shape != shape[:-1] or shape[-1] < 2:
        return []
    weights = data.sample_weight
    if weights is not None:
        weights = _inputs.as_array("sample_weight", weights)
    return list(_blocks(data, by_image, name, labels, predictions, weights))


def _blocks(
    data: ClassifierData,
    by_image: bool,
    name: str,
    labels: np.ndarray,
    predictions: np.ndarray,
    weights: np.ndarray | None,
) -> Iterator[ClassifierData]:
    number = len(labels)
    step = max(1, number * BLOCK_BYTES // predictions.nbytes)
    for start in range(0, number, step):
        block = slice(start, min(start + step, number))
        size = block.stop - start
        yield dataclasses.replace(
            data,
            labels=labels[block],
            sample_weight=_of_images(weights, block, number),
            groups=np.arange(size) if by_image else None,
            num_groups=size if by_image else None,
            per_image=False,
            **{name: predictions[block]},
        )


def _of_images(
    weights: np.ndarray | None, block: slice, number: int
) -> np.ndarray | None:
    """Returns the weights of some images; a single one on the first axis is of all."""
    if weights is None or weights.shape[:1] != (number,):
        return weights
    return weights[block]


def of_images(
    blocks: list[ClassifierData], metric: Callable[[ClassifierData], GroupValues]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the value and the weight of each image, [images]; None if an argument is
    wrong, or nothing counts: the metric of all data then raises the error that names
    the place among them.
    """
    try:
        parts = [metric(block) for block in blocks]
    except ValueError:
        return None
    values = np.concatenate([part.values for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    return None if np.all(np.isnan(values)) else (values, weights)
