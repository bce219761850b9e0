# As written by scripts/write_stubs.py.
from typing import overload
import math
import numpy as np
import scipy.special
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _arguments, _inputs, _ranking, selective
__all__ = ["threshold_at_risk"]
_STARTS = (1 / 8, 1 / 4, 1 / 2, 3 / 4)
def threshold_at_risk(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    risk: float = 0.05,
    delta: float | None = None,
    *,
    logits: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    correct: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Confidence from which on a classifier may decide at a given risk.

    The threshold of the largest coverage at which the risk, the share of errors among
    the examples of at least that confidence, is at most `risk`: on these examples, as
    `coverage_at_risk` has it. On new ones it will be above `risk` about every other
    time. With `delta` it is not, with a probability of 1 - delta at least over the
    draw of the examples, which must be independent and not be trained on: a threshold
    with k errors among the s examples above it holds if

      P(Binomial(s, risk) <= k) <= delta / 4

    and those of larger and larger coverages are tried, from coverages of 1/8, 1/4, 1/2
    and 3/4 on, each as long as all before it hold.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
      risk: the share of errors that is allowed, in [0, 1].
      delta: how likely the risk of new examples may be larger, in (0, 1); None
        promises nothing.
      logits: instead of `probabilities`, floating of the same shape.
      confidences: instead of `labels`, finite; larger is more confident.
      correct: with `confidences`, 0 or 1, of the same shape.
      sample_weight: finite and >= 0, broadcastable to the labels.
      ignore_index: examples with this label are left out.

    Returns:
      The threshold: decide where the confidence is >= it. +inf where no coverage will
      do; with `delta` 0.0 (-inf of `confidences`) where every example may be decided.

    Raises:
      ValueError: an argument is not as described, or there are weights with `delta`.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> correct, confidences = [1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
      >>> um.threshold_at_risk(risk=0.25, correct=correct, confidences=confidences)
      0.6
      >>> um.threshold_at_risk([1] * 90, [0.9] * 90, risk=0.1, delta=0.05)
      0.0

    References:
      Geifman and El-Yaniv (2017), Selective Classification for Deep Neural Networks.
      Angelopoulos, Bates, Candes, Jordan and Lei (2021), Learn then Test: Calibrating
      Predictive Algorithms to Achieve Risk Control.
    """
    ...
