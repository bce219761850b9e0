"""Information criteria: the log-likelihood of new data, estimated on training data.

Each instance i has its log-likelihood under each of m draws theta_j of the parameters
from their posterior distribution, or under each member of an ensemble of equal weights:

  logp[i, j] = log p(y_i | x_i, theta_j)

and every criterion estimates how well the average of the draws would predict y_i if
the model had not been trained on y_i. Higher is better.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics._results import InformationCriterion, PsisLoo
from uncertainty_metrics.numpy import _inputs, _threads
from uncertainty_metrics.numpy.information import _psis

__all__ = [
    "compare_information_criteria",
    "importance_sampling_cross_validation",
    "negative_waic",
    "psis_loo",
]

WaicType = Literal["waic1", "waic2"]
Criterion = Literal["psis_loo", "waic1", "waic2", "iscv"]

# Three axes of which the first is as short as the number of chains, and the second as
# long as a chain, are those of a sampler.
_MOST_CHAINS, _LEAST_DRAWS = 16, 100
# Above this variance criteria without smoothing are unreliable (Vehtari et al., 2017).
MAX_VARIANCE = 0.4


def check_logp(name: str, shape: _checks.Shape) -> None:
    """Raises ValueError unless the static shape is [n, m, ...] with m >= 2."""
    shape = list(shape)
    if len(shape) < 2:
        raise _checks.error(
            name, "of shape [n, m, ...], instances by members", f"shape {shape}"
        )
    if 0 in shape:
        raise _checks.error(
            name, "at least one instance", f"shape {shape}", verb="hold"
        )
    if shape[1] == 1:
        raise _checks.error(
            name, "at least 2 members on axis 1", f"shape {shape}", verb="have"
        )
    if _looks_like_chains(shape):
        instances, members, others = shape
        _user_warnings.warn(
            f"`{name}` of shape {shape} is read as {instances} instances with "
            f"{members} members each, {others} times. If it is [chain, draw, "
            f"observation], as in ArviZ, pass `np.moveaxis({name}, -1, 0).reshape("
            f"{others}, -1)`."
        )


def _looks_like_chains(shape: Sequence[int | None]) -> bool:
    """Says if a shape is more likely [chain, draw, observation] than [n, m, ...]."""
    if len(shape) != 3 or None in shape:
        return False
    chains, draws, observations = (int(size or 0) for size in shape)
    return chains <= _MOST_CHAINS < observations and draws >= _LEAST_DRAWS


def finite_logp(name: str, value: ArrayLike) -> np.ndarray:
    array = _inputs.as_array(name, value)
    check_logp(name, array.shape)
    return _inputs.finite(name, array)


def warn_of(name: str, values: np.ndarray, limit: float) -> None:
    """Warns if the value of an instance exceeds the limit."""
    count = int(np.sum(values > limit))
    if count > 0:
        _user_warnings.warn(
            f"{name} exceeds {limit:.2g} for {count} of {values.size} instances, for "
            "which the estimate is unreliable."
        )


def _variances(logp: np.ndarray) -> np.ndarray:
    """Returns the variance over the draws, shape [n, ...]; of equal numbers exactly 0,
    whatever the rounding of their mean.
    """
    return (logp - logp[:, :1]).var(axis=1, ddof=1)


def _waic(logp: np.ndarray, waic_type: str) -> np.ndarray:
    """Returns the WAIC of each instance, shape [n, ...]."""
    if waic_type == "waic1":
        return _psis.log_mean_exp(logp) - _variances(logp)
    return 2 * logp.mean(axis=1) - _psis.log_mean_exp(logp)


@np.errstate(over="ignore", invalid="ignore")
def _mean_and_sem(values: np.ndarray) -> tuple[Any, Any]:
    """Returns the mean of values [n, ...] over n, and its standard error."""
    n = len(values)
    mean = values.mean(axis=0)
    variance = ((values - mean) ** 2).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0/0 for one instance.
        sem = np.sqrt(variance / (n - 1) / n)
    return (float(mean), float(sem)) if values.ndim == 1 else (mean, sem)


@np.errstate(over="ignore", invalid="ignore")
def _pointwise(logp: np.ndarray, criterion: str) -> Sequence[np.ndarray]:
    """Returns the criterion of each instance, and a number that is large if it is
    unreliable: Pareto k or the variance of logp; [n, ...] both.
    """
    if criterion == "psis_loo":
        return _psis.leave_one_out(logp)

    def of_block(block: slice) -> tuple[np.ndarray, np.ndarray]:
        rows = logp[block]
        if criterion == "iscv":
            values = -_psis.log_mean_exp(-rows)
        else:
            values = _waic(rows, criterion)
        return values, _variances(rows)

    blocks = _threads.map_blocks(of_block, len(logp), logp[0].size)
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _by_variance(logp: ArrayLike, criterion: str) -> InformationCriterion:
    """Returns a criterion, and warns of instances with a large variance."""
    values, variance = _pointwise(finite_logp("logp", logp), criterion)
    warn_of("The variance of logp", variance, MAX_VARIANCE)
    return InformationCriterion(*_mean_and_sem(values))


def negative_waic(
    logp: ArrayLike, waic_type: WaicType = "waic1"
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
      instance. Each has the shape [...] of the axes after the second, a float for
      [n, m]. Higher is better. Warns if the variance of logp over the draws of an
      instance exceeds 0.4.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> neg_waic, neg_waic_sem = um.negative_waic(logp)
      >>> print(f"{neg_waic:.4f} +- {neg_waic_sem:.4f}")
      -1.1793 +- 0.4309

    References:
      Watanabe (2010), Asymptotic Equivalence of Bayes Cross Validation and Widely
      Applicable Information Criterion in Singular Learning Theory. Gelman, Hwang and
      Vehtari (2014), Understanding Predictive Information Criteria for Bayesian Models.
    """
    _checks.one_of("waic_type", waic_type, get_args(WaicType))
    return _by_variance(logp, waic_type)


def importance_sampling_cross_validation(logp: ArrayLike) -> InformationCriterion:
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
      instance. Each has the shape [...] of the axes after the second, a float for
      [n, m]. Higher is better. Warns if the variance of logp over the draws of an
      instance exceeds 0.4.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logp = [[-1.0, -1.2, -0.9], [-2.0, -1.8, -2.1], [-0.5, -0.4, -0.6]]
      >>> iscv, iscv_sem = um.importance_sampling_cross_validation(logp)
      >>> print(f"{iscv:.4f} +- {iscv_sem:.4f}")
      -1.1730 +- 0.4297

    References:
      Gelfand, Dey and Chang (1992), Model Determination Using Predictive Distributions
      with Implementation via Sampling-Based Methods.
    """
    return _by_variance(logp, "iscv")


def psis_loo(logp: ArrayLike, reff: float = 1.0) -> PsisLoo:
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
      one instance; both of the shape [...] of the axes after the second, floats for
      [n, m]; and the shape k of each instance [n, ...], inf if fewer than 5 ratios are
      above the others, for example if all are equal. Higher estimates are better, and
      so is a smaller k. Warns if k exceeds `min(1 - 1 / log10(m), 0.7)`. Time O(n m),
      and bounded memory beside a copy of logp.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
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
    logp = finite_logp("logp", logp)
    values, k = _psis.leave_one_out(logp, _psis.check_reff(reff))
    warn_of("Pareto k", k, _psis.max_pareto_k(logp.shape[1]))
    return PsisLoo(*_mean_and_sem(values), k)


class ModelScore(NamedTuple):
    """A row of `InformationCriteria`.

    Attributes:
      name: name of the model.
      rank: 1 for the best model.
      estimate: estimated log-likelihood of a new instance, in nats; higher is better.
      sem: standard error of the estimate.
      difference: the estimate of the best model minus this estimate.
      difference_sem: standard error of the difference, paired over the instances.
      num_unreliable: number of instances whose estimate is unreliable: their Pareto k
        is large for "psis_loo", the variance of their logp for the other criteria.
    """

    name: str
    rank: int
    estimate: float
    sem: float
    difference: float
    difference_sem: float
    num_unreliable: int


@dataclasses.dataclass(frozen=True)
class InformationCriteria:
    """Models compared by an information criterion; `str()` is a table.

    Attributes:
      criterion: name of the criterion.
      models: a `ModelScore` for each model, best first.
    """

    criterion: str
    models: tuple[ModelScore, ...]

    def __str__(self) -> str:
        table = [[self.criterion, *ModelScore._fields[1:]]]
        for model in self.models:
            table.append(
                [f"{x:.4f}" if isinstance(x, float) else str(x) for x in model]
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for name, *cells in table:
            aligned = map(str.rjust, cells, widths[1:])
            lines.append("  ".join([name.ljust(widths[0]), *aligned]))
        return "\n".join(lines)


def _models(logps: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Returns the checked logp [n, m] of each model by its name."""
    if not isinstance(logps, Mapping):
        raise TypeError(
            "`logps` must be a mapping from names to logp. Received: "
            f"{type(logps).__name__}"
        )
    if not logps:
        raise _checks.error("logps", "at least one model", "none", verb="hold")
    models = {
        name: finite_logp(f"logps[{name!r}]", logp) for name, logp in logps.items()
    }
    shapes = {name: list(logp.shape) for name, logp in models.items()}
    if any(len(shape) != 2 for shape in shapes.values()):
        raise _checks.error("logps", "of shape [n, m] each", f"shapes {shapes}")
    if len({shape[0] for shape in shapes.values()}) > 1:
        raise _checks.error(
            "logps", "the same n instances on axis 0", f"shapes {shapes}", verb="have"
        )
    return models


def compare_information_criteria(
    logps: Mapping[str, ArrayLike], criterion: Criterion = "psis_loo"
) -> InformationCriteria:
    """Ranks models by an information criterion on the same instances.

    Instances that are hard for one model tend to be hard for all, so differences are
    known better than estimates. The standard error of a difference is computed from the
    differences by instance. It tends to be too small for models that predict nearly the
    same (a difference below 4 / n) and for fewer than about 100 instances.

    The standard errors are those of independent instances. There are no `clusters`: if
    instances depend on each other, sum their log-likelihoods over each cluster first.

    Args:
      logps: a mapping from the names of the models to their logp, shape [n, m] as in
        `psis_loo`. The instances are the same, in the same order; m may differ.
      criterion: "psis_loo", "waic1", "waic2" or "iscv".

    Returns:
      `InformationCriteria`: `models` holds a named tuple (name, rank, estimate, sem,
      difference, difference_sem, num_unreliable) for each model, best first; its
      `str()` is a table. Estimates are in nats for one instance; higher is better.
      There are no warnings; `num_unreliable` counts unreliable instances instead.

    Raises:
      ValueError: an argument is not as described.
      TypeError: `logps` is not a mapping.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> y, draws = np.array([[-1.0], [0.0], [1.0]]), np.linspace(-0.1, 0.1, 100)
      >>> logps = {
      ...     "wide": -0.5 * (y - draws) ** 2,
      ...     "narrow": -2.0 * (y - draws) ** 2 + np.log(2),
      ... }
      >>> print(um.compare_information_criteria(logps))
      psis_loo  rank  estimate     sem  difference  difference_sem  num_unreliable
      wide         1   -0.3362  0.1672      0.0000          0.0000               0
      narrow       2   -0.6656  0.6760      0.3294          0.5087               0

    References:
      Vehtari, Gelman and Gabry (2017), Practical Bayesian Model Evaluation Using
      Leave-One-Out Cross-Validation and WAIC. Sivula, Magnusson, Matamoros and Vehtari
      (2025), Uncertainty in Bayesian Leave-One-Out Cross-Validation Based Model
      Comparison.
    """
    _checks.one_of("criterion", criterion, get_args(Criterion))
    models = _models(logps)
    results = {name: _pointwise(logp, criterion) for name, logp in models.items()}
    ranked = sorted(results, key=lambda name: results[name][0].mean(), reverse=True)
    best, _ = results[ranked[0]]
    rows = []
    for rank, name in enumerate(ranked, start=1):
        values, unreliability = results[name]
        psis = criterion == "psis_loo"
        limit = _psis.max_pareto_k(models[name].shape[1]) if psis else MAX_VARIANCE
        rows.append(
            ModelScore(
                name,
                rank,
                *_mean_and_sem(values),
                *_mean_and_sem(best - values),
                int(np.sum(unreliability > limit)),
            )
        )
    return InformationCriteria(criterion, tuple(rows))
