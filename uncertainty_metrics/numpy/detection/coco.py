"""Reads detections and true objects from files in COCO's format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics import _checks

__all__ = ["read_coco"]


def read_coco(
    results: str | os.PathLike[str] | Sequence[Mapping[str, Any]],
    truth: str | os.PathLike[str] | Mapping[str, Any],
) -> dict[str, Any]:
    """Detections and true objects in COCO's format, as arguments of `match_detections`.

    Args:
      results: the path of a JSON file of detections, or its content: a list of dicts
        with `image_id`, `category_id`, `bbox` as [x, y, width, height], and `score`.
      truth: the path of a JSON file of true objects, or its content: a dict of lists of
        dicts, `images` with `id`; `categories` with `id` and perhaps `name`; and
        `annotations` with `image_id`, `category_id`, `bbox` and perhaps `iscrowd`.
        Annotations of images that are not in the list are left out.

    Returns:
      A dict of the arguments `boxes`, `scores`, `classes`, `images`, `truth_boxes`,
      `truth_classes`, `truth_images` and `truth_crowds`. Classes are the names of the
      categories if all have a name of their own, else their ids.

    Raises:
      ValueError: a file or a dict is not as described.
      OSError: a file cannot be opened.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> truth = {
      ...     "images": [{"id": 7}],
      ...     "categories": [{"id": 1, "name": "cat"}],
      ...     "annotations": [
      ...         {"image_id": 7, "category_id": 1, "bbox": [0, 0, 10, 8]},
      ...     ],
      ... }
      >>> results = [
      ...     {"image_id": 7, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9},
      ... ]
      >>> given = um.detection.read_coco(results, truth)
      >>> given["classes"].tolist(), given["images"].tolist()
      (['cat'], [7])
      >>> um.detection.match_detections(**given).iou.tolist()
      [0.8]

    References:
      Lin et al. (2014), Microsoft COCO: Common Objects in Context.
    """
    detections, objects = _content("results", results), _content("truth", truth)
    if not isinstance(objects, Mapping):
        expected = "a dict with `images`, `categories` and `annotations`"
        if isinstance(detections, Mapping):
            expected += " (`results` is a dict: swap the two)"
        raise _checks.error("truth", expected, type(objects).__name__)
    lists = {
        key: _rows(f"truth[{key!r}]", objects.get(key))
        for key in ("images", "categories", "annotations")
    }
    known = set(_column("truth['images']", lists["images"], "id"))
    names = _names(lists["categories"])
    of_images = _column("truth['annotations']", lists["annotations"], "image_id")
    annotations = [
        row
        for row, image in zip(lists["annotations"], of_images, strict=True)
        if image in known
    ]
    found = _objects("results", _rows("results", detections), names)
    true = _objects("truth['annotations']", annotations, names)
    for index, image in enumerate(found["images"].tolist()):
        if image not in known:
            received = f"{image!r} at [{index}]"
            expected = "only images that are in `truth['images']`"
            raise _checks.error("results", expected, received, verb="hold")
    crowds = np.array([bool(row.get("iscrowd", 0)) for row in annotations], bool)
    return {
        "boxes": found["boxes"],
        "scores": _numbers("results", detections, "score"),
        "classes": found["classes"],
        "truth_boxes": true["boxes"],
        "truth_classes": true["classes"],
        "images": found["images"],
        "truth_images": true["images"],
        "truth_crowds": crowds,
    }


def _content(name: str, given: Any) -> Any:
    """Returns the content of a JSON file, or what was given instead of its path."""
    if not isinstance(given, str | os.PathLike):
        return given
    with open(given, encoding="utf-8-sig") as file:
        try:
            return json.load(file)
        except ValueError as wrong:  # Not JSON, or not in UTF-8.
            received = f"{os.fspath(given)}: {wrong}"
            raise _checks.error(name, "a JSON file", received) from None


def _rows(name: str, rows: Any) -> Sequence[Mapping[str, Any]]:
    """Returns a checked list of dicts."""
    is_list = isinstance(rows, Sequence) and not isinstance(rows, str)
    if not is_list or not all(isinstance(row, Mapping) for row in rows):
        received = "another list" if is_list else type(rows).__name__
        raise _checks.error(name, "a list of dicts", received)
    return rows


def _column(name: str, rows: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """Returns the values of a key that every dict of a list must have."""
    try:
        return [row[key] for row in rows]
    except KeyError:
        index = next(i for i, row in enumerate(rows) if key not in row)
        received = f"a dict without it at [{index}]"
        raise _checks.error(
            name, f"`{key}` in every dict", received, verb="hold"
        ) from None


def _numbers(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    key: str,
    shape: tuple[int, ...] = (),
) -> np.ndarray:
    """Returns the numbers that every dict has, float64 [rows, *shape].

    Raises:
      ValueError: a dict has something else.
    """
    values = _column(name, rows, key)
    if not values:
        return np.zeros((0, *shape))
    if _shape_of(values) != (len(values), *shape):
        index = next(i for i, value in enumerate(values) if _shape_of(value) != shape)
        numbers = f"{shape[0]} numbers" if shape else "a number"
        received = f"{values[index]!r} at [{index}]"
        raise _checks.error(name, f"`{key}` of {numbers}", received, verb="hold")
    return np.array(values, np.float64)


def _shape_of(values: Any) -> tuple[int, ...] | None:
    """Returns the shape of numbers in lists; None for anything else."""
    try:
        return np.array(values, np.float64).shape
    except (TypeError, ValueError):
        return None


def _names(categories: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    """Returns what each category is called, by its id."""
    ids = _column("truth['categories']", categories, "id")
    names = [row.get("name") for row in categories]
    have_names = all(isinstance(name, str) for name in names)
    if not have_names or len(set(names)) < len(names):
        names = ids
    return dict(zip(ids, names, strict=True))


def _objects(
    name: str, rows: Sequence[Mapping[str, Any]], names: Mapping[Any, Any]
) -> dict[str, np.ndarray]:
    """Returns the boxes, classes and images of detections or of true objects."""
    boxes = _numbers(name, rows, "bbox", (4,))
    categories = _column(name, rows, "category_id")
    for index, category in enumerate(categories):
        if category not in names:
            expected = "only categories that are in `truth['categories']`"
            received = f"{category!r} at [{index}]"
            raise _checks.error(name, expected, received, verb="hold")
    return {
        "boxes": boxes,
        "classes": np.array([names[category] for category in categories]),
        "images": np.array(_column(name, rows, "image_id")),
    }
