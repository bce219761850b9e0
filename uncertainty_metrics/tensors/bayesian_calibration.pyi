# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike

def bayesian_expected_calibration_error(
    num_bins: int,
    logits: TensorLike | None = None,
    probabilities: TensorLike | None = None,
    labels_true: TensorLike | None = None,
    labels_predicted: TensorLike | None = None,
    num_ece_samples: int = 500,
    *,
    prior_alpha: float | None = None,
    seed: int | TensorLike | np.random.Generator | None = None,
    sample_weight: TensorLike | None = None,
    ignore_index: int | None = None,
    probs: TensorLike | None = None,
    positive_class: bool | None = None,
    correct: TensorLike | None = None,
    confidences: TensorLike | None = None,
) -> Tensor:
    """Bayesian expected calibration error: draws from the posterior of the ECE.

    The ECE of a finite data set does not tell how far it may be from the truth; its
    posterior does. Bins and scores are those of `ece`. With M bins, n_0b wrong and n_1b
    right decisions in bin b and mean score conf_b, the posterior is

      q ~ Dirichlet(prior_alpha + n)                     over the 2M cells (z, b)
      m_b ~ Normal((c_b + n_b conf_b) / (1 + n_b), v / (1 + n_b)), inside bin b

    where n_b = n_0b + n_1b, c_b is the centre of the bin and v = (1/M)^2 / 12 is the
    variance of a uniform distribution on the bin, which the prior and each observation
    of the mean have. Each draw is

      ECE = sum_b P(b) |P(right | b) - m_b|
      P(b) = q_0b + q_1b,  P(right | b) = q_1b / P(b)

    With many examples the draws converge to the ECE. If the decisions are calibrated to
    within the sampling noise, the draws are above the true error, as the ECE is.

    The posterior is that of independent examples. It takes no `clusters`, because it
    has no model of how the examples of a cluster depend on each other: of several
    answers to one question it is too narrow. `calibration_error_interval` takes
    clusters.

    Args:
      num_bins: number M of even bins.
      logits: logits of the same shape, instead of `probabilities`.
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      labels_true: integer class labels in [0, K), shape [...].
      labels_predicted: decided class of each example [...]; by default the argmax.
      num_ece_samples: number of draws.
      prior_alpha: concentration of each of the 2M cells of the prior, positive; by
        default 1 / (2M), so that the prior has the weight of one example.
      seed: seed of the draws. In NumPy all that `np.random.default_rng` takes; None
        gives new draws in each call. With tensors an integer or a pair of them, also as
        a tensor. It gives the same draws in eager execution and in `tf.function`; where
        TFP samples by another algorithm (XLA, accelerators, tf.data) the draws are
        others, but the same in every run. None gives new draws in every run of a graph.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. A weight counts as a number of examples: larger weights make the
        posterior narrower.
      ignore_index: a label whose examples are left out.
      probs: another name for `probabilities`.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).
      correct: whether each answer is right, 0 or 1, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).

    Returns:
      [num_ece_samples] independent draws of the error in [0, 1]; lower is better, 0 is
      calibrated. float32, or float64 for float64 predictions. Compiled code returns NaN
      for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics as um
      >>> probabilities = np.full([1000, 2], [0.9, 0.1])
      >>> labels = np.arange(1000) % 10 < 3
      >>> samples = um.bayesian_expected_calibration_error(
      ...     10, probabilities=probabilities, labels_true=labels, seed=0
      ... )
      >>> len(samples), round(float(um.ece(labels, probabilities, num_bins=10)), 3)
      (500, 0.2)
      >>> low, high = np.percentile(samples, [1, 99])
      >>> bool(0.14 < low < 0.2 < high < 0.26)
      True

    References:
      Perks (1947), Some Observations on Inverse Probability Including a New
      Indifference Rule, for the prior.
    """

def probability_of_lower_calibration_error(
    samples_a: TensorLike,
    samples_b: TensorLike,
) -> Tensor:
    """Probability that model a has a lower calibration error than model b.

    Over all pairs of a draw a_i and a draw b_j of the two posteriors, taken as
    independent,

      P(a < b) = 1 / (S_a S_b) sum_ij (1[a_i < b_j] + 1[a_i = b_j] / 2)

    Except for sampling noise, the number of draws does not change this probability. The
    p-value of a test on the draws, such as the signed-rank test, goes to 0 with more
    draws. For two models on the same examples the result is an approximation, because
    their errors are then not independent.

    The result misleads if the models fill different numbers of bins, because noise
    makes an ECE larger in each bin that is filled. For true probabilities spread evenly
    over [0, 1] and 10 bins, a constant forecast of 0.5 is preferred to the true
    probabilities with a probability of about 0.93, for 500 examples as for 20,000,
    although both are calibrated. So do not choose between models by this number:
    `calibration_error_difference` takes the noise out of both errors, and tests the
    difference on the same examples.

    The draws must be those of independent examples, as those of
    `bayesian_expected_calibration_error` are; so there are no `clusters` here.

    Args:
      samples_a: draws of the error of model a, finite, shape [S_a], such as the result
        of `bayesian_expected_calibration_error`.
      samples_b: draws of the error of model b, finite, shape [S_b].

    Returns:
      The probability in [0, 1]; 1 if a is better for sure, 0.5 if neither is. The cost
      is O((S_a + S_b) log S_b). float32, or float64 for float64 predictions. Compiled
      code returns NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> float(
      ...     um.probability_of_lower_calibration_error(
      ...         [0.1, 0.2], [0.2, 0.3, 0.4, 0.05]
      ...     )
      ... )
      0.6875
    """
