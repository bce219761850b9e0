"""Streaming likelihood at the best temperature: the Keras metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncertainty_metrics import _user_warnings
from uncertainty_metrics.keras import _base, _computed, _scorers, _variables
from uncertainty_metrics.keras.metrics._scores import ScoreMetric
from uncertainty_metrics.ops import _refined_likelihood, _sums, to_numpy, xp

__all__ = ["RefinedNegativeLogLikelihood"]


def _node_sums(scorer: Any, margins: xp.Tensor, weights: xp.Tensor) -> _sums.Sums:
    del scorer
    return _sums.Sums(None, *_refined_likelihood.node_sums(margins, weights))


@_base.register("refined_negative_log_likelihood")
class RefinedNegativeLogLikelihood(ScoreMetric):
    """Negative log-likelihood of all batches after the best temperature, in nats.

      min over T of the mean of -log softmax(z / T)_y

    for logits z (for probabilities, their logarithms) and labels y: the part of
    `NegativeLogLikelihood` that temperature scaling cannot remove. In training, models
    become overconfident long before they stop learning: the negative log-likelihood
    rises, while this metric still falls. So stop early by this metric, and recalibrate
    the trained model:

      keras.callbacks.EarlyStopping("val_refined_nll")

    Labels and predictions are as for `BrierScore`; logits may be -inf. The state has
    the sums of the negative log-likelihood and of its first two derivatives in
    log(1/T), at 17 temperatures from 1/16 to 16. The result is the minimum of the
    interpolant of degree five between two of these temperatures. For normally
    distributed logits it is within 1e-5 of the exact minimum, and T is within 1e-4 of
    its size unless the likelihood hardly depends on T. The errors are largest if all
    examples have the same two logits, one of them K - 1 times: for K of 10, 100 and
    1000, up to 1e-5, 2e-4 and 1e-3, and 0.1%, 0.5% and 2% of T. T is fitted to the
    examples that are scored, so there should not be few.

    If the best T is out of this range, the result is the value at the end of the range,
    the temperature is inf or 0.0, and the first result outside of compiled code warns
    with a RuntimeWarning. A label of probability 0 makes the result infinite, and the
    attributes NaN.

    Args:
      from_logits: whether `y_pred` holds logits instead of probabilities.
      ignore_index: examples with this label are left out.
      name: name of the metric.
      dtype: "float64" for a float64 result; the state keeps its own type.
      sparse_labels: whether labels are integers (True) or one-hot (False). By default
        they are one-hot if `y_true` has the shape of `y_pred`, [..., K].

    Attributes:
      temperature: the best T; 1.0 before the first batch, or if all T are equally good.
      calibration_part: the negative log-likelihood at T = 1 minus the result, >= 0: the
        gain from temperature scaling.

    Raises:
      ValueError: an argument is not as described. For a wrong batch, `update_state`
        raises it in eager execution and keeps the state; a compiled update makes the
        result NaN until `reset_state`.

    Example:
      >>> import uncertainty_metrics as um
      >>> metric = um.RefinedNegativeLogLikelihood(from_logits=True)
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> metric.update_state([0, 1, 0, 1], logits)  # 3 of 4: log 3, and not 4.
      >>> round(float(metric.result()), 4), round(float(metric.temperature), 3)
      (0.5623, 3.641)
      >>> round(float(metric.calibration_part), 4)
      0.4558

    References:
      Berta, Holzmüller, Jordan and Bach (2025), Rethinking Early Stopping: Refine, Then
      Calibrate.
    """

    _reduce = staticmethod(_node_sums)
    _warned_of_end = ""

    def __init__(
        self,
        from_logits: bool = False,
        ignore_index: int | None = None,
        name: str | None = "refined_nll",
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
    ) -> None:
        scorer = _scorers.Margins(
            from_logits=from_logits,
            ignore_index=ignore_index,
            sparse_labels=sparse_labels,
        )
        super().__init__(scorer, name=name, dtype=dtype)
        self._build_sums((_refined_likelihood.SIZE,))

    def _minimum(self) -> _refined_likelihood.Minimum:
        sums, valid = self._read_sums()
        minimum = _refined_likelihood.minimum(sums, self._result_dtype)
        nan = xp.constant(float("nan"), self._result_dtype)
        return _refined_likelihood.Minimum(
            *(xp.where(valid, part, nan) for part in minimum)
        )

    @_computed.in_one_call
    def result(self) -> xp.Tensor:
        """Returns the least negative log-likelihood; 0.0 before the first example that
        counts.
        """
        return self._minimum().value

    @property
    @_computed.in_64_bits
    def temperature(self) -> xp.Tensor:
        """The best temperature, in [1/16, 16]; inf if it is above, 0.0 if below."""
        return self._minimum().temperature

    @property
    @_computed.in_64_bits
    def calibration_part(self) -> xp.Tensor:
        """The negative log-likelihood at temperature 1 minus the refined one, >= 0."""
        return self._minimum().calibration_part

    def _has_same_result_in_steps(self) -> bool:
        return False  # Eager code also warns of a temperature at the end of its range.

    def _warn_if_nan(self, invalid: int, exact: bool) -> None:
        super()._warn_if_nan(invalid, exact)
        if invalid or not exact:
            return
        _, units, hi, lo = map(to_numpy, map(_variables.read, self._state))
        beyond = _refined_likelihood.beyond(units.astype(np.float64) + hi + lo)
        if beyond not in ("", self._warned_of_end):
            self._warned_of_end = beyond
            _user_warnings.warn(
                f"The best temperature of {type(self).__name__} {self.name!r} is "
                f"{beyond}.",
                RuntimeWarning,
            )

    def _set_all(self, variables: list[Any], values: list[Any]) -> None:
        super()._set_all(variables, values)
        self._warned_of_end = ""
