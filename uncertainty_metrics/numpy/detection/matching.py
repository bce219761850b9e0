"""Which detected boxes match true ones, as COCO's evaluation decides it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _group_columns, _inputs
from uncertainty_metrics.numpy._frames import takes_frames

__all__ = ["match_detections"]

BoxFormat: TypeAlias = Literal["xywh", "xyxy"]

# The size of the largest temporary arrays.
_BLOCK = 2**22
# The largest coordinate, so that areas and their sums stay finite.
_LARGEST = 1e150
# COCO lowers a threshold of 1 by this, for the rounding of an overlap of equal boxes.
_ROUNDING = 1e-10


class DetectionMatches(NamedTuple):
    """The match of each of n detections, in their order.

    Attributes:
      matched: whether the detection has a true object of its own, boolean [n].
      iou: overlap with the true object in (0, 1], 0 for a detection without one,
        float64 [n].
      counted: whether the detection is right or wrong, boolean [n]; False for one that
        matches only a crowd or an ignored object, which should be left out.
      truth: which true object it matches, an index; -1 for none; int64 [n].
      num_missed: how many true objects, other than crowds and ignored ones, no
        detection matches.
    """

    matched: np.ndarray
    iou: np.ndarray
    counted: np.ndarray
    truth: np.ndarray
    num_missed: int


class _Boxes(NamedTuple):
    """Boxes by their corners.

    Attributes:
      low: the corner of the smallest coordinates, float64 [n, 2].
      high: the corner of the largest coordinates, float64 [n, 2].
      areas: float64 [n].
    """

    low: np.ndarray
    high: np.ndarray
    areas: np.ndarray

    def at(self, rows: np.ndarray) -> _Boxes:
        return _Boxes(self.low[rows], self.high[rows], self.areas[rows])


class _Pairs(NamedTuple):
    """Pairs of a detection and a true object that overlap enough to match.

    Attributes:
      detection: index of the detection, int64 [P].
      truth: index of the true object, int64 [P].
      overlap: float64 [P].
    """

    detection: np.ndarray
    truth: np.ndarray
    overlap: np.ndarray

    def at(self, rows: np.ndarray) -> _Pairs:
        return _Pairs(self.detection[rows], self.truth[rows], self.overlap[rows])


@takes_frames
def match_detections(
    boxes: ArrayLike,
    scores: ArrayLike,
    classes: ArrayLike,
    truth_boxes: ArrayLike,
    truth_classes: ArrayLike,
    images: ArrayLike,
    truth_images: ArrayLike,
    *,
    iou: float = 0.5,
    truth_crowds: ArrayLike | None = None,
    truth_ignored: ArrayLike | None = None,
    box_format: BoxFormat = "xywh",
) -> DetectionMatches:
    """Which detections are right: the matches of COCO's evaluation.

    The overlap of two boxes is their intersection over their union (IoU). In each image
    and class, the detections choose in the order of their scores, the highest first,
    and equal scores in the order of the arguments. A detection matches the true object
    with the largest overlap among those that no earlier detection has taken, if this
    overlap is at least `iou`; of equal overlaps the last. A second detection of one
    object is therefore wrong.

    A detection that can only match a crowd or an ignored object is neither right nor
    wrong. Many detections may match one crowd, and their overlap is the share of the
    detection inside the crowd, intersection over area of the detection.

    Detections are then answers with confidences. With `kept = result.counted`:

      D-ECE: ece(correct=matched[kept], confidences=scores[kept])

    Detections in one image depend on each other, so that intervals need
    `clusters=images`, as `calibration_error_interval` takes them. These metrics say
    nothing about missed objects. No detection is left out for a low score or because an
    image has many of them (COCO's own evaluation reads 100 in each image and class). To
    leave out low scores, take a subset of the detections before the match or after it:
    the others keep their matches, but more objects are missed.

    Args:
      boxes: boxes of n detections, finite, shape [n, 4].
      scores: how sure the detector is of each detection, finite, shape [n].
      classes: class of each detection, integers or strings, shape [n].
      truth_boxes: boxes of the m true objects, finite, shape [m, 4].
      truth_classes: class of each true object, as in `classes`, shape [m].
      images: image of each detection, integers or strings, shape [n].
      truth_images: image of each true object, as in `images`, shape [m].
      iou: the smallest overlap of a match, in [0, 1]; with 0, any overlap above 0.
      truth_crowds: whether each true box holds a crowd of objects (COCO's `iscrowd`),
        booleans, or 0 and 1, shape [m]; None for no crowds.
      truth_ignored: whether each true object is one that need not be found, such as a
        small or difficult one, as in `truth_crowds`; None for no such objects.
      box_format: "xywh" for the smallest x and y, the width and the height, as in COCO;
        "xyxy" for the smallest x and y and the largest x and y, as in torchvision.

    Returns:
      `DetectionMatches(matched, iou, counted, truth, num_missed)`: for each detection
      whether it is right, its overlap in [0, 1], whether it counts, the index of its
      true object or -1, arrays of shape [n]; and the number of missed objects.

    Raises:
      ValueError, TypeError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> found = um.detection.match_detections(
      ...     boxes=[[0, 0, 10, 10], [1, 0, 10, 10], [50, 50, 8, 8]],
      ...     scores=[0.9, 0.6, 0.7],
      ...     classes=["cat", "cat", "dog"],
      ...     truth_boxes=[[0, 0, 10, 8], [70, 70, 9, 9]],
      ...     truth_classes=["cat", "dog"],
      ...     images=[1, 1, 1],
      ...     truth_images=[1, 1],
      ... )
      >>> found.matched.tolist(), found.iou.tolist(), found.num_missed
      ([True, False, False], [0.8, 0.0, 0.0], 1)
      >>> error = um.ece(correct=found.matched, confidences=[0.9, 0.6, 0.7])
      >>> round(error, 6)
      0.466667

    References:
      Lin et al. (2014), Microsoft COCO: Common Objects in Context. Küppers,
      Kronenberger, Shantia and Haselhoff (2020), Multivariate Confidence Calibration
      for Object Detection.
    """
    threshold = _checks.share("iou", iou)
    _checks.one_of("box_format", box_format, get_args(BoxFormat))
    found = _boxes("boxes", boxes, box_format)
    truths = _boxes("truth_boxes", truth_boxes, box_format)
    n, m = len(found.areas), len(truths.areas)
    confidences = _inputs.finite("scores", scores)
    _check_rows("scores", confidences, "boxes", n)
    crowds = _marks("truth_crowds", truth_crowds, m)
    ignored = crowds | _marks("truth_ignored", truth_ignored, m)
    image_codes, num_images = _codes("images", images, n, truth_images, m)
    class_codes, _ = _codes("classes", classes, n, truth_classes, m)
    groups = class_codes * num_images + image_codes
    pairs = _overlapping(found, truths, groups[:n], groups[n:], crowds, threshold)
    order = np.lexsort((-confidences, groups[:n]))
    return _matches(_greedy(pairs, order, groups[:n], crowds, ignored), n, ignored)


def _matches(pairs: _Pairs, n: int, ignored: np.ndarray) -> DetectionMatches:
    """Returns the result for the pairs that match."""
    truth, overlaps = np.full(n, -1), np.zeros(n)
    truth[pairs.detection] = pairs.truth
    overlaps[pairs.detection] = pairs.overlap
    counted = np.ones(n, bool)
    counted[pairs.detection] = ~ignored[pairs.truth]
    missed = ~ignored
    missed[pairs.truth] = False
    return DetectionMatches(
        (truth >= 0) & counted, overlaps, counted, truth, int(np.sum(missed))
    )


def _greedy(
    pairs: _Pairs,
    order: np.ndarray,
    groups: np.ndarray,
    crowds: np.ndarray,
    ignored: np.ndarray,
) -> _Pairs:
    """Returns the pairs that match if detections choose one after the other.

    Args:
      pairs: all that overlap enough.
      order: the detections, those of each group by descending score, [n].
      groups: the image and class of each detection, [n].
      crowds: which true objects many detections may match, [m].
      ignored: which true objects are chosen only if there is no other, [m].
    """
    rank = _ranks(order, groups, np.unique(pairs.detection))[pairs.detection]
    # The pairs of each detection in ascending order of preference.
    pairs = pairs.at(
        np.lexsort(
            (pairs.truth, pairs.overlap, ~ignored[pairs.truth], pairs.detection, rank)
        )
    )
    ends = np.cumsum(np.bincount(rank))
    is_first = np.diff(pairs.detection, prepend=-1) != 0
    taken = np.zeros(len(crowds), bool)
    chosen: list[np.ndarray] = []
    # What is free depends on earlier choices. A step lets one detection of every image
    # and class choose, so that there are as many steps as detections in the fullest.
    for start, end in itertools.pairwise([0, *ends.tolist()]):
        free = ~taken[pairs.truth[start:end]]
        places = np.where(free, np.arange(start, end), -1)
        best = np.maximum.reduceat(places, np.flatnonzero(is_first[start:end]))
        best = best[best >= 0]
        truth = pairs.truth[best]
        taken[truth] = ~crowds[truth]
        chosen.append(best)
    return pairs.at(np.concatenate([np.zeros(0, np.int64), *chosen]))


def _ranks(order: np.ndarray, groups: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns the place of each of the wanted detections among those of its group, from
    0; other detections have 0.
    """
    is_wanted = np.zeros(len(order), bool)
    is_wanted[wanted] = True
    order = order[is_wanted[order]]
    places = np.arange(len(order))
    is_first = np.diff(groups[order], prepend=-1) != 0
    ranks = np.zeros(len(groups), np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return ranks


def _overlapping(
    found: _Boxes,
    truths: _Boxes,
    groups: np.ndarray,
    truth_groups: np.ndarray,
    crowds: np.ndarray,
    threshold: float,
) -> _Pairs:
    """Returns all pairs of one group whose overlap reaches the threshold."""
    truth_order = np.argsort(truth_groups)
    sorted_groups = truth_groups[truth_order]
    starts = np.searchsorted(sorted_groups, groups, "left")
    counts = np.searchsorted(sorted_groups, groups, "right") - starts
    parts = [_Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for block in _blocks(counts):
        detection = np.repeat(np.arange(block.start, block.stop), counts[block])
        begins = np.cumsum(counts[block]) - counts[block]
        place = np.arange(len(detection)) + np.repeat(
            starts[block] - begins, counts[block]
        )
        truth = truth_order[place]
        overlap = _overlaps(found.at(detection), truths.at(truth), crowds[truth])
        # Without an overlap two boxes never match; COCO's code lets them, at 0.
        enough = (overlap >= min(threshold, 1 - _ROUNDING)) & (overlap > 0)
        parts.append(_Pairs(detection, truth, overlap).at(enough))
    return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))


def _blocks(counts: np.ndarray) -> Iterator[slice]:
    """Yields ranges of detections with at most `_BLOCK` pairs, or of one detection."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        fits = int(np.searchsorted(ends, done + _BLOCK, "right"))
        stop = max(start + 1, fits)
        yield slice(start, stop)
        start = stop


def _overlaps(found: _Boxes, truths: _Boxes, crowds: np.ndarray) -> np.ndarray:
    """Returns the overlap of each pair of boxes, in [0, 1], float64 [P]."""
    sides = np.minimum(found.high, truths.high) - np.maximum(found.low, truths.low)
    intersection = np.prod(np.maximum(sides, 0.0), axis=1)
    union = np.where(crowds, found.areas, found.areas + truths.areas - intersection)
    return np.divide(
        intersection, union, out=np.zeros(len(union)), where=intersection > 0
    )


def _boxes(name: str, values: Any, box_format: str) -> _Boxes:
    """Returns checked boxes."""
    numbers = _inputs.finite(name, values)
    if numbers.size == 0:
        numbers = numbers.reshape(0, 4)
    if numbers.ndim != 2 or numbers.shape[1] != 4:
        shape = list(numbers.shape)
        raise _checks.error(name, "of shape [boxes, 4]", f"shape {shape}")
    bad = np.any(np.abs(numbers) > _LARGEST, axis=1)
    if np.any(bad):
        expected = f"numbers up to {_LARGEST:g}"
        raise _checks.error(name, expected, _first_box(bad, numbers), verb="hold")
    low, last = numbers[:, :2], numbers[:, 2:]
    sides = last if box_format == "xywh" else last - low
    bad = np.any(sides < 0, axis=1)
    if np.any(bad):
        expected = (
            "boxes [x, y, width, height] with sides >= 0; for corners pass "
            '`box_format="xyxy"`'
            if box_format == "xywh"
            else "boxes [x, y, largest x, largest y] whose second corner is not "
            'smaller; for widths and heights pass `box_format="xywh"`'
        )
        raise _checks.error(name, expected, _first_box(bad, numbers), verb="hold")
    high = low + last if box_format == "xywh" else last
    return _Boxes(low, high, np.prod(sides, axis=1))


def _first_box(bad: np.ndarray, boxes: np.ndarray) -> str:
    index = int(np.argmax(bad))
    return f"{boxes[index].tolist()} at [{index}]"


def _check_rows(name: str, values: np.ndarray, boxes_name: str, rows: int) -> None:
    """Raises ValueError unless there is one value for each box."""
    if values.shape != (rows,):
        expected = f"of shape [{rows}], one for each of `{boxes_name}`"
        raise _checks.error(name, expected, f"shape {list(values.shape)}")


def _marks(name: str, values: Any, rows: int) -> np.ndarray:
    """Returns marks of the true objects, boolean [rows]; all False for None."""
    if values is None:
        return np.zeros(rows, bool)
    marks = _inputs.as_array(name, values)
    _check_rows(name, marks, "truth_boxes", rows)
    bad = (marks != 0) & (marks != 1)
    if np.any(bad):
        raise _checks.error(name, "booleans, or 0 and 1", _inputs.first(bad, marks))
    return marks == 1


def _codes(
    name: str, ids: Any, rows: int, truth_ids: Any, truth_rows: int
) -> tuple[np.ndarray, int]:
    """Returns the codes of the ids of detections and then of true objects, int64
    [rows + truth_rows], equal where ids are equal; and the number of codes.
    """
    columns = []
    for argument, values, size in (
        (name, ids, rows),
        (f"truth_{name}", truth_ids, truth_rows),
    ):
        present, missing = _group_columns.present_groups(argument, values)
        boxes_name = "boxes" if argument == name else "truth_boxes"
        _check_rows(argument, missing, boxes_name, size)
        if np.any(missing):
            received = f"none at [{int(np.argmax(missing))}]"
            raise _checks.error(argument, "one for each box", received, verb="hold")
        columns.append(present)
    first, second = columns
    are_text = [column.dtype.kind in "OU" for column in columns]
    if len(first) and len(second) and are_text[0] != are_text[1]:
        raise TypeError(
            f"`{name}` and `truth_{name}` must both hold strings, or both integers. "
            f"Received: {first[0]!r} and {second[0]!r}"
        )
    values = [*first.tolist(), *second.tolist()]
    code_of = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(code_of.__getitem__, values), np.int64, len(values))
    return codes, max(1, len(code_of))
