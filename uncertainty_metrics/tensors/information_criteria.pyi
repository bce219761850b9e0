# As written by scripts/write_stubs.py.
from typing import Any, Literal, overload

import numpy as np

from uncertainty_metrics.ops._typing import Tensor, TensorLike
from uncertainty_metrics._results import InformationCriterion, PsisLoo

def importance_sampling_cross_validation(
    logp: TensorLike,
) -> InformationCriterion:
    """Importance sampling cross-validation criterion (ISCV).

      ISCV = -mean_i log mean_j exp(-logp_ij)

    It is the log-likelihood of each instance as if the instance had been left out:
    each draw is weighted by the ratio 1 / p(y_i | x_i, theta_j). A few large ratios may
    decide the value; `psis_loo` smooths them, and shows where that does not help.

    The standard error is that of independent instances. There are no `clusters`: if
    instances depend on each other, sum their log-likelihoods over each cluster first.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1. No criterion is finite where a probability is 0.

    Returns:
      A named tuple (estimate, sem): the estimated log-likelihood of a new instance, in
      nats, and its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for one
      instance. Each has the shape [...] of the axes after the second, a float for [n,
      m]. Higher is better. Warns if the variance of logp over the draws of an instance
      exceeds 0.4. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> iscv, iscv_sem = um.importance_sampling_cross_validation(logp)
      >>> print(f"{iscv:.4f} +- {iscv_sem:.4f}")
      -1.1730 +- 0.4297

    References:
      Gelfand, Dey and Chang (1992), Model Determination Using Predictive Distributions
      with Implementation via Sampling-Based Methods.
    """

def negative_waic(
    logp: TensorLike,
    waic_type: Literal["waic1", "waic2"] = 'waic1',
) -> InformationCriterion:
    """Widely applicable information criterion (WAIC), as an estimate to maximise.

    For each instance i, with mean and variance (divisor m - 1) over the draws j:

      waic1 = log mean_j exp(logp_ij) - var_j(logp_ij)
      waic2 = 2 mean_j logp_ij - log mean_j exp(logp_ij)

    The estimate is the mean over the instances. Watanabe recommends waic1. Gelman et
    al. number the other way: from the log-mean-exp, waic1 subtracts their p_WAIC2, the
    variance, and waic2 their p_WAIC1, twice the log-mean-exp less the mean. ArviZ's
    `waic` is the sum of waic1 over the instances, with a variance of divisor m.

    The standard error is that of independent instances. There are no `clusters`: if
    instances depend on each other, sum their log-likelihoods over each cluster first.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1. No criterion is finite where a probability is 0.
      waic_type: "waic1" or "waic2".

    Returns:
      A named tuple (estimate, sem): the estimated log-likelihood of a new instance, in
      nats, and its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for one
      instance. Each has the shape [...] of the axes after the second, a float for [n,
      m]. Higher is better. Warns if the variance of logp over the draws of an instance
      exceeds 0.4. float32, or float64 for float64 predictions. Compiled code returns
      NaN for wrong values, for which eager code raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> neg_waic, neg_waic_sem = um.negative_waic(logp)
      >>> print(f"{neg_waic:.4f} +- {neg_waic_sem:.4f}")
      -1.1793 +- 0.4309

    References:
      Watanabe (2010), Asymptotic Equivalence of Bayes Cross Validation and Widely
      Applicable Information Criterion in Singular Learning Theory. Gelman, Hwang and
      Vehtari (2014), Understanding Predictive Information Criteria for Bayesian Models.
    """

def psis_loo(
    logp: TensorLike,
    reff: float = 1.0,
) -> PsisLoo:
    """Leave-one-out cross-validation by Pareto smoothed importance sampling (PSIS-LOO).

    The importance ratios of instance i are r_ij = exp(-logp_ij). The largest
    min(m / 5, 3 sqrt(m / reff)) of them are replaced by order statistics of a
    generalized Pareto distribution fitted to them, capped at the largest ratio:

      psis_loo = mean_i log(sum_j r_ij exp(logp_ij) / sum_j r_ij)

    The shape k of the distribution shows how far to trust the value. With fewer than 21
    draws nothing is smoothed: the estimate is the one of
    `importance_sampling_cross_validation`, and k is inf.

    `arviz.loo(..., reff=reff)` is the same, but as the sum over the instances, n times
    the estimate. Without `reff` ArviZ computes it from its chains.

    The standard error is that of independent instances. There are no `clusters`: if
    instances depend on each other, sum their log-likelihoods over each cluster first.

    Args:
      logp: real and finite, shape [n, m, ...]: n instances on axis 0, m >= 2 draws or
        members on axis 1. No criterion is finite where a probability is 0. ArviZ has
        [chain, draw, observation]: pass `np.moveaxis(logp, -1, 0).reshape(n, -1)`.
        Three axes that look like these bring a warning.
      reff: relative efficiency of the draws, > 0: the share of m independent draws that
        would estimate as well; 1 for independent draws.

    Returns:
      A named tuple (estimate, sem, pareto_k): the estimated log-likelihood of a new
      instance, in nats; its standard error `sd_i / sqrt(n)` with divisor n - 1, NaN for
      one instance; both of the shape [...] of the axes after the second, floats for [n,
      m]; and the shape k of each instance [n, ...], inf if fewer than 5 ratios are
      above the others, for example if all are equal. Higher estimates are better, and
      so is a smaller k. Warns if k exceeds `min(1 - 1 / log10(m), 0.7)`. Time O(n m),
      and bounded memory beside a copy of logp. float32, or float64 for float64
      predictions. Compiled code returns NaN for wrong values, for which eager code
      raises ValueError.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics as um
      >>> draws = np.linspace(-0.1, 0.1, 100)
      >>> logp = -0.5 * (np.array([[-1.0], [0.0], [1.0]]) - draws) ** 2
      >>> estimate, sem, pareto_k = um.psis_loo(logp)
      >>> print(f"{estimate:.4f} +- {sem:.4f}")
      -0.3362 +- 0.1672
      >>> bool(np.max(pareto_k) < 0.5)
      True

    References:
      Vehtari, Gelman and Gabry (2017), Practical Bayesian Model Evaluation Using
      Leave-One-Out Cross-Validation and WAIC. Vehtari, Simpson, Gelman, Yao and Gabry
      (2024), Pareto Smoothed Importance Sampling. Zhang and Stephens (2009), A New and
      Efficient Estimation Method for the Generalized Pareto Distribution.
    """
