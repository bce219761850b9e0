"""Probability integral transform of training labels, as if each had been left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import PITInterval
from uncertainty_metrics.numpy import _inputs
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.information import _psis
from uncertainty_metrics.numpy.information.information_criteria import (
    finite_logp,
    warn_of,
)

__all__ = ["loo_pit"]


@takes_frames
def loo_pit(
    labels: ArrayLike,
    predictive_samples: ArrayLike,
    logp: ArrayLike,
    reff: float = 1.0,
) -> PITInterval:
    """Probability integral transform (PIT) of training labels as if left out (LOO-PIT).

    Draw j of the posterior distribution has a sample x_ij of the label y_i, and a
    weight w_ij by Pareto smoothed importance sampling, as in `psis_loo`, of sum 1 over
    j. As in `regression.sample_pit`, which is the same for equal weights, the label
    counts as one more draw of the mean weight:

      lower = m / (m + 1) sum_j w_ij [x_ij < y_i]
      upper = (m sum_j w_ij [x_ij <= y_i] + 1) / (m + 1)

    The value of `arviz.loo_pit`, sum_j w_ij [x_ij <= y_i], is in this interval; here
    draws of equal logp have equal weights. The intervals of a calibrated model look
    uniform in `regression.pit_histogram` and `regression.pit_diagram`.

    Args:
      labels: real, shape [n] or [n, 1].
      predictive_samples: one sample by each draw, real, shape [n, m].
      logp: real and finite, shape [n, m]: the log-likelihood of each label under each
        draw, m >= 2.
      reff: relative efficiency of the draws, > 0: the share of m independent draws that
        would estimate as well; 1 for independent draws.

    Returns:
      `PITInterval` of `lower` and `upper` in [0, 1], each of the shape of the labels.
      Warns as `psis_loo` does. O(n m log m).

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> draws = np.linspace(-0.1, 0.1, 100)
      >>> labels, noise = np.array([-1.0, 0.0, 1.0]), np.linspace(-2.0, 2.0, 100)
      >>> logp = -0.5 * (labels[:, None] - draws) ** 2
      >>> pit = um.loo_pit(labels, np.tile(noise, (3, 1)), logp)
      >>> [round(float(value), 2) for value in pit.lower]
      [0.23, 0.5, 0.76]

    References:
      Gelfand, Dey and Chang (1992), Model Determination Using Predictive Distributions
      with Implementation via Sampling-Based Methods. Vehtari, Simpson, Gelman, Yao and
      Gabry (2024), Pareto Smoothed Importance Sampling.
    """
    labels = _inputs.as_array("labels", labels)
    samples = _inputs.as_array("predictive_samples", predictive_samples)
    if samples.ndim != 2:
        raise _checks.error(
            "predictive_samples", "of shape [n, m]", f"shape {list(samples.shape)}"
        )
    _checks.last_axis("predictive_samples", samples.shape, labels.shape, "draws")
    logp = finite_logp("logp", logp)
    if logp.shape != samples.shape:
        raise _checks.error(
            "logp",
            f"of the shape of `predictive_samples`, {list(samples.shape)}",
            f"shape {list(logp.shape)}",
        )
    y = _inputs.finite("labels", labels).reshape(-1, 1)
    samples = _inputs.finite("predictive_samples", samples)
    weights, k = _psis.leave_one_out_weights(logp, _psis.check_reff(reff))
    m = samples.shape[1]
    warn_of("Pareto k", k, _psis.max_pareto_k(m))
    below, upto = (
        m * np.minimum(np.sum(weights * ranked, axis=1), 1)
        for ranked in (samples < y, samples <= y)
    )
    ends = (end.reshape(labels.shape) / (m + 1) for end in (below, upto + 1))
    return PITInterval(*ends)
