"""Bayesian calibration error: a posterior of the ECE instead of one number."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import PRESETS, CalibrationSpec
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning
from uncertainty_metrics.numpy.calibration.bins._binning import BinStatistics

__all__ = [
    "bayesian_expected_calibration_error",
    "probability_of_lower_calibration_error",
]

DEFAULT_NUM_SAMPLES = 500


def spec_of(num_bins: Any, positive_class: Any) -> CalibrationSpec:
    """Returns the options of the ECE, whose bins and scores the posterior has."""
    preset = PRESETS["expected_calibration_error"]
    return dataclasses.replace(preset, num_bins=num_bins, positive_class=positive_class)


def checked_prior(prior_alpha: Any, num_bins: int) -> float:
    """Returns the concentration of each cell of the prior; for None, 1 / cells."""
    if prior_alpha is None:
        return 1.0 / (2 * num_bins)
    value = _checks.number(prior_alpha)
    if not 0.0 < value < np.inf:
        raise _checks.error(
            "prior_alpha", "a positive, finite number, or None", repr(prior_alpha)
        )
    return value


@contextlib.contextmanager
def argument_names() -> Iterator[None]:
    """A context in which error messages call the labels `labels_true`."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error).replace(
            _checks.SWAPPED,
            "The arguments seem to be swapped: `labels_true` holds the labels, "
            "`probabilities` or `logits` the predictions.",
        )
        message = re.sub(
            r"(?<=`)labels(?=`)|(?<=Received: )labels(?= of)|(?<=argmax\()labels",
            "labels_true",
            message,
        )
        error_type = ValueError if isinstance(error, ValueError) else TypeError
        raise error_type(message) from None


def smallest_concentration(dtype: Any) -> float:
    """Returns the concentration below which a log-gamma variate may overflow."""
    return float(np.finfo(dtype).tiny) * 2.0**10


def _gammas(
    rng: np.random.Generator, concentrations: np.ndarray, num_samples: int
) -> np.ndarray:
    """Draws Gamma(a) variates, [cells, num_samples]; those of a sample times a positive
    factor, with which they are not all 0, and no sum of them overflows.
    """
    a = np.maximum(concentrations, smallest_concentration(np.float64))[:, None]
    # Gamma(a) is Gamma(a + 1) U^(1/a). For small a it underflows, its logarithm does
    # not.
    small = a[:, 0] < 1
    gammas = rng.standard_gamma(a + small[:, None], (len(a), num_samples))
    gammas /= max(1.0, a.max())
    uniforms = 1.0 - rng.random((np.count_nonzero(small), num_samples))  # In (0, 1].
    logs = np.log(gammas[small]) + np.log(uniforms) / a[small]
    if small.all():  # Else there is a variate that is never so small.
        logs -= logs.max(axis=0)
    gammas[small] = np.exp(logs)
    return gammas


def _bin_means(
    rng: np.random.Generator,
    counts: np.ndarray,
    score_sums: np.ndarray,
    num_samples: int,
) -> np.ndarray:
    """Draws the mean score of each bin, [bins, num_samples]."""
    from scipy import special

    num_bins = len(counts)
    edges = _binning.even_edges(num_bins)[:, None]
    low, high = edges[:-1], edges[1:]
    counts, score_sums = counts[:, None], score_sums[:, None]
    location = ((low + high) / 2 + score_sums) / (1 + counts)
    location = np.clip(location, low, high)  # Rounding may put it outside the bin.
    scale = 1.0 / (num_bins * np.sqrt(12.0) * np.sqrt(1 + counts))
    # Inverse transform sampling, between the distribution function at the two edges.
    below = special.ndtr((low - location) / scale)
    above = special.ndtr((high - location) / scale)
    uniforms = rng.random((num_bins, num_samples))
    standard = special.ndtri(below + uniforms * (above - below))
    return np.clip(location + scale * standard, low, high)


def posterior(
    statistics: BinStatistics,
    prior_alpha: float,
    num_samples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Returns draws from the posterior of the ECE, [num_samples]."""
    counts, score_sums, right = (
        sums[0]
        for sums in (
            statistics.counts,
            statistics.score_sums,
            statistics.outcome_sums,
        )
    )
    wrong = np.maximum(counts - right, 0.0)  # Rounding of weights may give less than 0.
    gammas = _gammas(rng, prior_alpha + np.concatenate([wrong, right]), num_samples)
    wrong, right = np.split(gammas, 2)
    means = _bin_means(rng, counts, score_sums, num_samples)
    # P(b) |P(right | b) - m_b| times the sum of all gammas: no number is divided by
    # P(b), which may be 0.
    gaps = np.abs(right - (wrong + right) * means)
    return gaps.sum(axis=0) / gammas.sum(axis=0)


@takes_frames
def bayesian_expected_calibration_error(
    num_bins: int,
    logits: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    labels_true: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    num_ece_samples: int = DEFAULT_NUM_SAMPLES,
    *,
    prior_alpha: float | None = None,
    seed: int | ArrayLike | np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    probs: ArrayLike | None = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
) -> np.ndarray:
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
      calibrated.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
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
    spec = spec_of(num_bins, positive_class)
    num_samples = _checks.positive_integer("num_ece_samples", num_ece_samples)
    prior = checked_prior(prior_alpha, spec.num_bins)
    rng = _inputs.generator(seed)
    with argument_names():
        examples, spec = _binning.read(
            ClassifierData(
                labels=labels_true,
                probabilities=probabilities,
                logits=logits,
                probs=probs,
                labels_predicted=labels_predicted,
                sample_weight=sample_weight,
                ignore_index=ignore_index,
                correct=correct,
                confidences=confidences,
            ),
            spec,
            grades="the posterior is one of counts; `calibration_error_interval` takes "
            "numbers in [0, 1]",
        )
        statistics = _binning.bin_statistics(examples, spec)
    return posterior(statistics, prior, num_samples, rng)


def checked_samples(name: str, samples: ArrayLike) -> np.ndarray:
    """Returns finite float64 draws [S]; raises ValueError for other values."""
    array = _inputs.as_array(name, samples)
    check_samples_shape(name, array.shape)
    return _inputs.finite(name, array)


def check_samples_shape(name: str, shape: _checks.Shape) -> None:
    """Raises ValueError unless the static shape is [S], S >= 1."""
    if len(shape) != 1 or shape[0] == 0:
        raise _checks.error(
            name, "of shape [S] with at least one draw", f"shape {list(shape)}"
        )


def probability_of_lower_calibration_error(
    samples_a: ArrayLike, samples_b: ArrayLike
) -> float:
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
      is O((S_a + S_b) log S_b).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> float(
      ...     um.probability_of_lower_calibration_error(
      ...         [0.1, 0.2], [0.2, 0.3, 0.4, 0.05]
      ...     )
      ... )
      0.6875
    """
    a = checked_samples("samples_a", samples_a)
    b = np.sort(checked_samples("samples_b", samples_b))
    # Twice the number of draws of b below each draw of a, with equal draws as a half.
    below = np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")
    return float(1.0 - np.mean(below) / (2 * len(b)))
