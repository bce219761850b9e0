"""Means over images: each image of a batch is a group, and has a value of its own."""

from __future__ import annotations

import dataclasses
from typing import Any

from uncertainty_metrics import _checks
from uncertainty_metrics._calibration_spec import CalibrationSpec
from uncertainty_metrics.keras import _labels
from uncertainty_metrics.numpy._examples import Partition
from uncertainty_metrics.ops import _binning, _inputs, _sums, xp
from uncertainty_metrics.ops._binning import BinStatistics


def check(per_image: Any, num_groups: int | None) -> bool:
    """Returns `per_image`; raises ValueError unless it fits the other options."""
    _checks.boolean("per_image", per_image)
    if per_image and num_groups is not None:
        raise _checks.error("num_groups", "None with `per_image`", num_groups)
    return per_image


def images_of(y_true: Any) -> tuple[xp.Tensor, int | None]:
    """Returns the numbers of the images of `y_true` [images, ...], and how many there
    are, None if a graph does not know it.
    """
    labels = _inputs.as_tensor("y_true", y_true)
    shape = tuple(labels.shape)
    if len(shape) < 2:
        expected = "the shape [images, ...] for `per_image`"
        raise _checks.error("y_true", expected, f"shape {list(shape)}", verb="have")
    return xp.range(xp.shape(labels)[0]), shape[0]


def number_of(images: xp.Tensor, known: int | None) -> Any:
    """Returns the number of images."""
    return xp.reduce_max(images) + 1 if known is None else known


def mean_sums(values: xp.Tensor, counts: xp.Tensor) -> _sums.Sums:
    """Returns the number of images that count, and the sum of their values.

    Args:
      values: float [images].
      counts: boolean [images], whether an image counts.
    """
    ones = xp.cast(counts, values.dtype)
    values = xp.where(counts, values, xp.zeros_like(values))
    return _sums.Sums(None, *_sums.total_pair(xp.stack([ones, values], axis=1)))


def bin_sums(
    spec: CalibrationSpec,
    known: int | None,
    predictions: str,
    ignore_index: int | None,
    *data: xp.Tensor,
) -> tuple[_sums.Sums, xp.Tensor]:
    """Returns the sums of the calibration errors of the images of a batch, and whether
    the batch is valid.

    Args:
      spec: the options; of even bins.
      known: the number of images, or None.
      predictions: as for `_labels.examples`.
      ignore_index: a label whose examples are left out, or None.
      *data: the data arguments of `_labels.examples`; the groups are the images.
    """
    *data_of_examples, images = data
    number = number_of(images, known)
    examples = _labels.examples(
        predictions, ignore_index, *data_of_examples, multilabel=spec.multilabel
    )
    index = xp.cast(xp.reshape(images, [-1]), xp.int32)
    examples = dataclasses.replace(
        examples, groups=Partition(index, number, are_images=True)
    )
    spec = spec.settled(examples.one_column)
    scored = _binning.score(examples, spec)
    groups = _binning.num_groups(examples, spec)
    index = _binning.even_index(scored.scores, spec.num_bins)
    sums = _binning.cell_sums(scored, index, spec.num_bins, groups, spec, xp.float32)
    totals = xp.reshape(_sums.totals(sums, xp.float32), [3, -1, spec.num_bins])
    statistics = BinStatistics(None, *xp.unstack(totals))
    values = _binning.calibration_error(statistics, spec.norm, number)
    return mean_sums(values, ~xp.math.is_nan(values)), scored.valid
