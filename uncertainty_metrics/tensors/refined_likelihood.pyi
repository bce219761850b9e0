# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def refined_negative_log_likelihood(
    labels: TensorLike,
    probabilities: TensorLike | None = None,
    logits: TensorLike | None = None,
    *,
    folds: int = 2,
    repeats: int = 5,
    seed: int | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
    """Negative log-likelihood after temperature scaling, cross-validated.

    The examples are split into folds; each fold is scored at the temperature that
    `TemperatureScaling` finds on the other folds. The result is the mean over all
    examples, and over repeated splits. Unlike the likelihood itself it does not depend
    on the scale of the logits, so that it ranks models by errors that a recalibration
    cannot correct. The Keras metric `RefinedNegativeLogLikelihood` needs one pass: it
    takes the best temperature of the examples that it scores, so it is a little lower.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. They are read as the logits `log p`.
      logits: logits of the same shape, instead of `probabilities`.
      folds: number of folds, from 2 to the number of examples.
      repeats: number of splits.
      seed: seed of the splits, an integer in [0, 2^32), which gives the same splits in
        NumPy and of tensors. None makes new splits in each call; a compiled function
        keeps those with which it was traced.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. An example is in one fold, whatever its weight.
      ignore_index: a label whose examples are left out.

    Returns:
      The mean in nats, >= 0; inf if a label is impossible. Smaller is better. If the
      temperature of a fold is infinite, its forecasts are uniform. float32, or float64
      for float64 predictions. Compiled code returns NaN for wrong values, for which
      eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described, or outside a fold every label has the
        largest logit of its row, so that the temperature would be 0.

    Example:
      >>> import uncertainty_metrics as um
      >>> labels, logits = [0, 0, 0, 1] * 8, np.tile([4.0, 0.0], [32, 1])
      >>> score = um.refined_negative_log_likelihood(labels, logits=logits, seed=0)
      >>> doubled = um.refined_negative_log_likelihood(
      ...     labels, logits=2 * logits, seed=0
      ... )
      >>> bool(abs(score - doubled) < 1e-12), bool(0.56 < score < 0.62)
      (True, True)

    References:
      Ashukha, Lyzhov, Molchanov and Vetrov (2020), Pitfalls of In-Domain Uncertainty
      Estimation and Ensembling in Deep Learning.
    """
