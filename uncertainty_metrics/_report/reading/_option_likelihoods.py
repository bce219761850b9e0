"""Confidences of multiple-choice answers, from the log-likelihoods of their options.

lm-evaluation-harness writes them with `--log_samples`: a field `filtered_resps` with a
pair [log-likelihood, whether greedy decoding would write the option] for each option,
and a field `acc` that says whether the option with the largest one is right.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from uncertainty_metrics._report.data._predictions import ExampleError

LIKELIHOODS = "filtered_resps"
CORRECT = "acc"


def confidences_of(values: Sequence[Any], place: Callable[[int], str]) -> np.ndarray:
    """Returns the softmax of the log-likelihoods, for the option with the largest.

    Args:
      values: the field `filtered_resps` of each answer.
      place: returns the place of an answer in the file, for a message.

    Raises:
      ExampleError: an answer has no log-likelihoods of several options.
    """
    options = []
    for index, value in enumerate(values):  # The lists may differ in length.
        of_one = _log_likelihoods(value)
        if of_one is None:
            raise ExampleError(
                f"{place(index)}: `{LIKELIHOODS}` must hold a pair [log-likelihood, "
                "...] for each of at least two options. Received: "
                f"{reprlib.repr(value)}; generated answers have none, so name a column "
                "of confidences with --confidence"
            )
        options.append(of_one)
    logits = np.full([len(options), max(map(len, options))], -np.inf)
    for row, of_one in zip(logits, options, strict=True):
        row[: len(of_one)] = of_one
    # The probability of the option with the largest logit: its numerator is exp(0).
    return 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)


def _log_likelihoods(value: Any) -> list[float] | None:
    """Returns the log-likelihoods of the options, which may be text; None if `value`
    holds something else.
    """
    with contextlib.suppress(LookupError, OverflowError, TypeError, ValueError):
        # A text such as "12" has a first item, too, but is no pair.
        found = [float(pair[0]) for pair in value if not isinstance(pair, str)]
        if len(found) == len(value) > 1 and -np.inf < max(found) < np.inf:
            return found if not np.isnan(found).any() else None
    return None
