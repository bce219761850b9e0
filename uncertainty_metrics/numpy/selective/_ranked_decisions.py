"""Decisions and their confidences, from the arguments of selective prediction."""

from __future__ import annotations

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import RankedData, RankedOrLosses
from uncertainty_metrics.numpy import _examples, _row_math, _threads
from uncertainty_metrics.numpy.selective import _sorted_outcomes


def is_classifier(data: RankedData) -> bool:
    """Says if labels were passed (True), or `confidences` with `correct` or `losses`.

    Raises:
      ValueError: neither or both were, or there is `ignore_index` without labels.
    """
    arguments = {
        "labels": data.labels,
        "probabilities": data.probabilities,
        "logits": data.logits,
        "confidences": data.confidences,
        "correct": data.correct,
        "losses": data.losses,
    }
    names = [name for name, value in arguments.items() if value is not None]
    if "labels" in names and not {"confidences", "correct", "losses"} & {*names}:
        return True
    if names not in (["confidences", "correct"], ["confidences", "losses"]):
        or_losses = " or `losses`" if isinstance(data, RankedOrLosses) else ""
        raise _checks.combination_error(
            "Either `labels` with one of `probabilities` and `logits`, or "
            f"`confidences` with `correct`{or_losses} must be given.",
            names,
        )
    if data.ignore_index is not None:
        raise _checks.error(
            "ignore_index", "None where there are no `labels`", data.ignore_index
        )
    return False


def _margins(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the argmax of each row of logits [N, K], and the float64 log-odds of its
    probability, which differ even if the probabilities round to 1.
    """
    decided = np.empty(len(logits), np.intp)

    def odds(rows: slice) -> np.ndarray:
        z = _row_math.below_maximum(logits[rows])
        decided[rows] = np.argmax(z, axis=-1)
        z[np.arange(len(z)), decided[rows]] = -np.inf
        second = _row_math.largest(z)
        z -= np.maximum(second, np.finfo(np.float64).min)[:, None]
        with np.errstate(divide="ignore"):  # inf if no other class is possible.
            return -(second + np.log(_row_math.sums(np.exp(z, out=z))))

    scores = np.empty(len(logits))
    return decided, _threads.fill_rows(scores, odds, logits.shape[1])


def decisions(examples: _examples.Examples) -> tuple[np.ndarray, np.ndarray]:
    """Returns the decision of each example, and scores that rank their confidences."""
    if examples.name == "logits":
        return _margins(examples.predictions)
    return examples.decided


def of_examples(
    examples: _examples.Examples,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights [N], as `_sorted_outcomes.groups` takes."""
    decided, scores = decisions(examples)
    return (
        _sorted_outcomes.floating(scores),
        decided == examples.labels,
        examples.weights,
    )


def examples_of(data: RankedData) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns scores, outcomes and weights [N] from the arguments of a public function.

    With `losses`, the outcomes are float64 losses.
    """
    if is_classifier(data):
        examples = _examples.examples(
            data.labels,
            data.probabilities,
            data.logits,
            sample_weight=data.sample_weight,
            ignore_index=data.ignore_index,
        )
        return of_examples(examples)
    if data.losses is not None:
        return _sorted_outcomes.loss_examples(
            data.losses, data.confidences, data.sample_weight
        )
    return _sorted_outcomes.examples(
        "correct", data.correct, "confidences", data.confidences, data.sample_weight
    )


def groups_of(data: RankedData) -> _sorted_outcomes.Groups:
    """Returns groups of equal scores from the arguments of a public function."""
    return grouped(*examples_of(data))


def grouped(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None
) -> _sorted_outcomes.Groups:
    """Returns groups of equal scores; the outcomes are boolean, or losses."""
    boolean = outcomes.dtype == bool
    return (_sorted_outcomes.groups if boolean else _sorted_outcomes.loss_groups)(
        scores, outcomes, weights
    )
