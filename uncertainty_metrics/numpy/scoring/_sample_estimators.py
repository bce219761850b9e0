"""The estimators of the spread of samples, and the weights of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs

SpreadEstimator = Literal["fair", "nrg", "almost_fair", "roll"]
# The share of "fair" in "almost_fair" with which its authors train.
ALPHA = 0.95


def check_num_samples(
    estimator: str, num_samples: int | None, name: str = "predictive_samples"
) -> None:
    """Raises ValueError if the samples are too few for the estimator."""
    if is_fair(estimator) and num_samples == 1:
        raise _checks.error(
            name,
            f'at least two samples for estimator="{estimator}"',
            "one sample",
            verb="hold",
        )


def settled(estimator: Any, alpha: Any) -> tuple[Any, float]:
    """Returns the checked estimator and share `alpha`; "almost_fair" becomes "fair" for
    alpha 1 and "nrg" for alpha 0.

    Raises:
      ValueError: the estimator is unknown, or `alpha` is not in [0, 1].
    """
    _checks.one_of("estimator", estimator, get_args(SpreadEstimator))
    alpha = _checks.share("alpha", alpha)
    if estimator == "almost_fair" and alpha in (0.0, 1.0):
        estimator = "fair" if alpha else "nrg"
    return estimator, alpha


def is_fair(estimator: str) -> bool:
    """Says if an estimator excludes the pairs of a sample with itself."""
    return estimator in ("fair", "almost_fair")


def share_of_fair(estimator: str, alpha: float, num_samples: Any) -> Any:
    """Returns the factor from the fair spread of m samples to that of the estimator."""
    return 1 - (1 - alpha) / num_samples if estimator == "almost_fair" else 1.0


def check_member_weights(
    shape: Sequence[int | None], samples: Sequence[int | None], estimator: str
) -> None:
    """Raises ValueError unless weights of this shape fit samples and estimator."""
    name = "member_weights"
    if estimator == "roll":
        raise _checks.error(name, 'None for estimator="roll"', "weights")
    if not any(_checks.compatible(shape, fit) for fit in (samples[-1:], samples)):
        raise _checks.error(
            name,
            f"of shape [m] = {list(samples[-1:])}, or of the shape of the samples, "
            f"{list(samples)}",
            f"shape {list(shape)}",
        )


def checked_member_weights(
    member_weights: ArrayLike, samples: np.ndarray, estimator: str
) -> np.ndarray:
    """Returns weights in the shape of the samples; each row sums to 1."""
    name = "member_weights"
    weights = _inputs.as_array(name, member_weights)
    check_member_weights(weights.shape, samples.shape, estimator)
    weights = _inputs.finite(name, weights)
    if np.any(weights < 0):
        raise _checks.error(name, "weights >= 0", _inputs.first(weights < 0, weights))
    positive = np.sum(weights > 0, axis=-1)
    needed = 2 if is_fair(estimator) else 1
    if np.any(positive < needed):
        expected = f'{needed} or more positive weights for estimator="{estimator}"'
        received = _inputs.first(positive < needed, np.asarray(positive))
        raise _checks.error(name, expected, received, verb="hold")
    # Without this division their sum may overflow.
    weights = weights / np.max(weights, axis=-1, keepdims=True)
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.broadcast_to(weights, samples.shape)
