"""What functions say of the arguments that they share: see `_docstrings.completed`.

Of those of classifiers everywhere:

  labels: a floating array of whole numbers will do.
  probabilities: [...] and [..., 1] are of class 1 of two, read as `[1 - p, p]`. Leading
    axes are flattened. Rows need not sum to 1: scores are the entries as they are.
  logits: the logarithms of probabilities up to a constant; of class 1 against class 0
    without a class axis. -inf is probability 0.
  labels_predicted: the lowest of equals by default.
  confidences: real numbers, larger where the decision is more likely right.
  correct: booleans, or 0 and 1.
  sample_weight: weight 2 is the example twice, weight 0 the example left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from uncertainty_metrics import _docstrings
from uncertainty_metrics._docstrings import F

# Of examples with labels, as probabilities, logits or confidences.
CLASSIFIER = {
    "labels": "integers in [0, K), shape [...].",
    "probabilities": "in [0, 1], shape [..., K], [..., 1] or [...].",
    "logits": "instead of `probabilities`, floating of the same shape.",
    "probs": "another name for `probabilities`.",
    "labels_predicted": (
        "decision labels, shape of the labels; by default the argmax."
    ),
    "confidences": "instead of `labels`, finite; larger is more confident.",
    "correct": "with `confidences`, 0 or 1, of the same shape.",
    "sample_weight": "finite and >= 0, broadcastable to the labels.",
    "ignore_index": "examples with this label are left out.",
    "binning_scheme": '"even" (equal width) or "adaptive" (equal mass).',
    "max_prob": (
        "whether a score is the probability of the decision label (True) or of every "
        "class (False)."
    ),
    "class_conditional": "whether every class is a group of its own.",
    "num_bins": "number of bins.",
    "threshold": "scores at or below it are dropped; 0.0 drops none.",
    "datapoints_per_bin": (
        "for adaptive bins, the mass of a bin instead of `num_bins`."
    ),
    "positive_class": "for two classes, score P(class 1) against `label == 1`.",
    "multilabel": (
        "for labels [..., L], each 0 or 1, and P(label is 1) of the same shape, which "
        "is scored against `label == 1`: all together, or where every class is a group "
        "label by label."
    ),
    "groups": (
        "integers in [0, `num_groups`), broadcastable to the labels. With them the "
        "result is `GroupValues(values, worst, weights)`: the value of each group, NaN "
        "where it is empty; the worst of the others; and what they weigh."
    ),
    "num_groups": "number of groups, with `groups`.",
    "aggregate": "whether to return the mean instead of a score for each example.",
    "progress": "whether to show a progress bar on stderr (needs tqdm).",
}
# Of the members of an ensemble.
MEMBERS = {
    "labels": (
        "integers in [0, K), of the shape of the predictions without members and "
        "classes."
    ),
    "logits": "shape [..., M, K] or [..., M, 1], rank >= 3.",
    "probabilities": "instead of `logits`, in [0, 1].",
    "ensemble_axis": "the axis of the members.",
    "x": "finite, shape [..., K].",
    "y": "finite, of the shape of `x`.",
    "aggregate": "whether to return the mean over the examples.",
}
# Of predicted means and variances.
FORECASTS = {
    "predictions": "predicted means, shape [n] or [n, 1].",
    "uncertainties": "predicted variances, > 0.",
    "targets": "observed values.",
    "n_bins": "number of levels, spaced evenly from 0.1 to 0.99.",
    "mask": "True for the examples to include.",
    "stddevs": "predicted standard deviations, > 0, instead of `uncertainties`.",
    "sample_weight": "finite and >= 0, broadcastable to the targets.",
}
# Of plots.
PLOT = {
    "title": "title of the diagram.",
    "ax": (
        "matplotlib Axes to draw in. By default those of a new pyplot figure, which is "
        "not shown."
    ),
    "figsize": "width and height of the figure in inches.",
}

of_classifier = _docstrings.completed(CLASSIFIER)
of_members = _docstrings.completed(MEMBERS, CLASSIFIER)
of_forecasts = _docstrings.completed(FORECASTS)


def as_in(function: Callable[..., Any]) -> Callable[[F], F]:
    """Completes a docstring by that of another function."""
    return _docstrings.completed(function, CLASSIFIER)


_plotted = functools.partial(
    _docstrings.completed,
    PLOT,
    Returns="The matplotlib Axes.",
    Raises="ImportError: matplotlib is not installed.\n"
    "  ValueError: an argument is not as described.",
)
_MODELS = {
    "probabilities": (
        f"{CLASSIFIER['probabilities'][:-1]}; or a mapping from the names of some "
        "models to theirs, as any of the arrays may be."
    ),
}
plot = _plotted(_MODELS, CLASSIFIER)
plot_of_forecasts = _plotted(
    {
        "uncertainties": "predicted variances, > 0, of the same shape.",
        "targets": "what came, of the same shape.",
        "n_bins": "number of levels of coverage, from 0.1 to 0.99.",
        "mask": "True for the examples to include; all by default.",
    },
    FORECASTS,
)


def plot_as_in(function: Callable[..., Any]) -> Callable[[F], F]:
    """Completes the docstring of a plot by that of what it plots."""
    return _plotted(_MODELS, function, CLASSIFIER)
