"""Makes answers with confidences of detections and true objects in COCO's format."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Clusters, Confidences
from uncertainty_metrics._report.reading._answers_from_columns import answers_of
from uncertainty_metrics._report.reading._files import errors_of, source_of

_IOU = 0.5
# COCO's limits of the area of small and of large objects, in pixels.
_AREAS = (32**2, 96**2)
_SIZES = np.array(["small", "medium", "large"])


def read_detections(results: str, truth: str) -> Confidences:
    """Reads detections, as answers that are right if they match a true object.

    The groups of the answers are the class and the size of each detection; its image is
    its cluster.

    Args:
      results: the path of a file of COCO results.
      truth: the path of a file of COCO annotations.

    Raises:
      ReportError: a file cannot be read, or holds something else.
    """
    source = source_of(pathlib.Path(results))
    true_source = source_of(pathlib.Path(truth))
    with errors_of(f"{source} and {true_source}"):
        given = um.detection.read_coco(results, truth)
        found = um.detection.match_detections(**given, iou=_IOU)
        counted = np.flatnonzero(found.counted)
        if not counted.size:
            raise ValueError("there are no detections that count")
        images = given["images"][counted]
        areas = given["boxes"][:, 2] * given["boxes"][:, 3]
        groups = {
            "class": given["classes"],
            "size": _SIZES[np.digitize(areas, _AREAS)],
        }
        answers = answers_of(
            source,
            ("matched", found.matched[counted]),
            ("score", given["scores"][counted]),
            None,
            lambda index: f"detection {counted[index]}",
            groups={name: values[counted] for name, values in groups.items()},
            clusters=Clusters("image", images) if len(np.unique(images)) > 1 else None,
        )
    objects = int(np.sum(~given["truth_crowds"]))
    notes = [
        f"A detection is right if its overlap (IoU) is at least {_IOU} with an object "
        "of its image and class that no detection of a higher score has taken.",
        f"{found.num_missed:,} of {objects:,} objects are missed, which no calibration "
        "error shows.",
    ]
    if left_out := len(found.counted) - len(counted):
        notes.append(f"Left out: {left_out:,} detections that match only a crowd.")
    return dataclasses.replace(
        answers, notes=(*answers.notes, *notes), are_detections=True
    )
