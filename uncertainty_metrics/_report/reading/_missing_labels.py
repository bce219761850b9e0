"""Says what a file without labels may hold, and what to type then."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from uncertainty_metrics._report.reading._typed_commands import typed, typed_each
from uncertainty_metrics.numpy.class_names import NAMED, NUMBERED, listed

_RESULTS = {"image_id", "category_id", "bbox", "score"}
_TRUTH = {"images", "annotations", "categories"}
_RIGHT = re.compile(r"correct|grade|score|rating|right(?![a-z])", re.I)
_SURE = re.compile(r"confiden|certain|(?<![a-z])(conf|sure)(?![a-z])", re.I)
_VOTES = re.compile(r"votes?|votes?[_ ].+", re.I)
_SEPARATOR = re.compile("[_ ]")
_LONGEST_NAME = 1000
LABEL = re.compile(r"(?:label|true|target|y_true|y)[_ ](?P<key>.+)", re.I | re.S)
# What holds no labels: ids, predictions and weights.
_OTHERS = re.compile(
    r"(.*[_ .])?(id|ids|index|file|filename|path|url|uuid)|sample_weight|classes|"
    r"class_names|probabilit(y|ies)|probs?|proba|logits?|samples",
    re.I,
)


def may_be_sure(header: Sequence[str]) -> list[str]:
    """Returns the names that may be those of confidences."""
    return [name for name in header if _SURE.search(name)]


def may_be_right(header: Sequence[str]) -> list[str]:
    """Returns the names that may say how good answers are."""
    sure = {*may_be_sure(header)}
    return [name for name in header if _RIGHT.search(name) and name not in sure]


def prefix_of_forecasts(header: Sequence[str]) -> str:
    """Returns what stands before the names of several labels in the names of their
    forecasts, as `prob_` in `label_a`, `label_b`, `prob_a`, `prob_b`; or "".
    """
    names_of_keys: dict[str, set[str]] = {}
    for name in header:
        match = LABEL.fullmatch(name)
        names_of_keys.setdefault(match["key"] if match else name, set()).add(name)
    found: Counter[str] = Counter()
    # The ends of a name are as many as its separators: those of a text that is long
    # enough to be no name would take for ever.
    for name in filter(lambda name: len(name) <= _LONGEST_NAME, header):
        for separator in _SEPARATOR.finditer(name):
            labels = names_of_keys.get(name[separator.end() :], set()) - {name}
            found[name[: separator.end()]] += len(labels)
    return next((prefix for prefix, count in found.items() if count > 1), "")


def renamed(prefix: str) -> str:
    """Says how to call the columns of forecasts, "" if their names are known."""
    match = NAMED.fullmatch(f"{prefix}x")
    if not prefix or (match and match["prefix"]):
        return ""
    return f"rename `{prefix}NAME` to `prob_NAME`"


def no_labels(
    header: Sequence[str], choice: Any, kind: str, known: Sequence[str]
) -> ValueError:
    """Returns the error for a file in which no name is that of the labels.

    Args:
      header: all names of columns or arrays.
      choice: the `Choice` of the user.
      kind: "column" or "array".
      known: the names of labels.
    """
    if {*header} >= _RESULTS or {*header} >= _TRUTH:
        return ValueError(
            "detections and true objects in COCO's format are two files: type "
            "`python -m uncertainty_metrics report --coco RESULTS.json TRUTH.json`. "
            f"Received: {listed(header)}"
        )
    hints: list[str] = []
    right, sure = may_be_right(header), may_be_sure(header)
    if right and sure:
        command = typed(choice, correct=right[0], confidence=sure[0])
        hints.append(f"for answers with confidences type {command}")
    if prefix := prefix_of_forecasts(header):
        command = f"type {typed(choice._replace(multilabel=True))}"
        steps = filter(None, (renamed(prefix), command))
        hints.append(f"for several labels of each example {' and '.join(steps)}")
    if any(map(_VOTES.fullmatch, header)) and not right:
        hints.append(
            "votes for classes are read from columns `votes_NAME`, and their shares "
            "from the array `label_distributions` [N, K]"
        )
    if hints:
        said = f"; {'; '.join(hints)}"
    else:
        names = [
            name
            for name in header
            if not _OTHERS.fullmatch(name)
            and not NUMBERED.fullmatch(name)
            and not ((match := NAMED.fullmatch(name)) and match["prefix"])
        ]
        said = f", as in {typed_each(choice, 'label', names)}" if names else ""
        said += "; answers have `correct` and `confidence` instead"
    nameless = header and all(map(is_number, header))
    return ValueError(
        f"one {kind} must hold the labels: call it one of {', '.join(known)}, or name "
        f"it with --label{said}. Received: {listed(header)}"
        + ("; the first line must hold the names of the columns" if nameless else "")
    )


def is_number(name: str) -> bool:
    return re.fullmatch(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?\s*", name, re.I) is not None
