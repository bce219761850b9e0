"""One temperature and the weights of the members of an ensemble, in float64."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from uncertainty_metrics import _checks, _temperature
from uncertainty_metrics.numpy import _examples, _inputs, _row_math
from uncertainty_metrics.numpy.calibrators import (
    _calibrator,
    _newton,
    temperature_scaling,
)
from uncertainty_metrics.numpy.ensemble import _predictions

__all__ = ["EnsembleTemperatureScaling"]

# Doublings of 1 / T that are tried beyond the range of the members.
_MOST_DOUBLINGS = 24
_PRECISION = 1e-12  # The largest error of log T.


@dataclasses.dataclass(frozen=True)
class _Mixture:
    """The forecasts of members at one temperature, with their best weights.

    Attributes:
      beta: 1 / T, in units of the logits.
      value: mean negative log-likelihood.
      slope: derivative of the value in log beta; the weights are optimal, so that their
        change adds nothing.
      weights: float64 [M], >= 0, of sum 1.
      gap: optimality gap of the weights.
    """

    beta: float
    value: float
    slope: float
    weights: np.ndarray
    gap: float


class _Members:
    """The logits of M members.

    Args:
      examples: the N * M pairs of example and member.
      members: number of members, M.
    """

    def __init__(self, examples: _examples.Examples, members: int):
        logits = temperature_scaling.log_probabilities(examples)
        self.rows, self.unit = temperature_scaling.rows_of(examples, logits)
        self.count = members
        weights = examples.weights
        weights = np.ones(len(logits)) if weights is None else weights
        self._shares = weights[::members] / weights[::members].sum()
        possible = self._by_example(self.rows.at_label > -np.inf)
        if not np.all(np.any(possible, axis=1)):
            least = "-inf" if examples.name == "logits" else "0"
            expected = f"above {least} at every label for at least one member"
            raise _checks.error(examples.name, expected, f"{least} for all members")

    def _by_example(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, self.count)

    def alone(self) -> list[float]:
        """Returns the best 1 / T of each member alone, without impossible labels."""
        possible = self._by_example(self.rows.at_label > -np.inf)
        index = self._by_example(np.arange(possible.size))
        chosen = (index[possible[:, m], m] for m in range(self.count))
        return [temperature_scaling.inverse_temperature(self.rows[i]) for i in chosen]

    def at(self, beta: float) -> _Mixture:
        """Returns the best mixture at a temperature."""
        rows = self.rows
        logs, means, _ = temperature_scaling.moments(rows.z, rows.possible, beta)
        possible = rows.at_label > -np.inf
        z = np.where(possible, rows.at_label, 0.0)
        logs = self._by_example(np.where(possible, beta * z - logs, -np.inf))
        slopes = self._by_example(beta * (z - means))
        top = logs.max(axis=1, keepdims=True)
        q = np.exp(logs - top)
        best = _newton.minimize(
            lambda weights: _likelihood(weights, q, self._shares),
            np.full(self.count, 1 / self.count),
            np.ones(self.count, bool),
        )
        weights = best.point / best.point.sum()
        mixed = q @ weights
        value = -float(self._shares @ (np.log(mixed) + top[:, 0]))
        slope = -float(self._shares @ ((q * slopes) @ weights / mixed))
        return _Mixture(beta, value, slope, weights, best.gap)


def _likelihood(
    weights: np.ndarray, q: np.ndarray, shares: np.ndarray
) -> _newton.Local:
    """Returns mean(-log(q weights)) + sum(weights). The weights >= 0 that minimise this
    sum to 1, and are the best of all weights that sum to 1.
    """
    mixed = q @ weights
    if not np.all(mixed > 0):
        return _newton.Local(math.inf, weights)
    scaled = q / mixed[:, None]
    value = float(weights.sum() - shares @ np.log(mixed))
    hessian = (scaled * shares[:, None]).T @ scaled
    return _newton.Local(value, 1 - shares @ scaled, hessian=hessian)


def _best(members: _Members, name: str) -> _Mixture:
    """Returns the best mixture over all temperatures.

    Raises:
      ValueError: there is no best temperature.
    """
    alone = members.alone()
    finite = [beta for beta in alone if 0 < beta < math.inf]
    if math.inf in alone or not finite:
        raise temperature_scaling.no_optimum(name, max(alone), " of a member")
    mixtures: dict[float, _Mixture] = {}

    def at(log: float) -> _Mixture:
        if log not in mixtures:
            mixtures[log] = members.at(math.exp(log))
        return mixtures[log]

    low, high = math.log(min(finite)), math.log(max(finite))
    step = math.log(2)
    nodes = [low + i * step for i in range(math.ceil((high - low) / step) + 1)]
    for _ in range(_MOST_DOUBLINGS):  # The likelihood may have several minima.
        log = min(nodes, key=lambda node: at(node).value)
        if log == nodes[-1]:
            nodes.append(log + step)
        elif log == nodes[0]:
            nodes.insert(0, log - step)
        else:
            break
    else:
        raise temperature_scaling.no_optimum(name, math.inf if log > high else 0.0)
    slope = at(log).slope
    if slope == 0:
        return at(log)
    other = nodes[nodes.index(log) + (1 if slope < 0 else -1)]
    if slope * at(other).slope > 0:
        raise _newton.error()
    root = optimize.brentq(lambda log: at(log).slope, log, other, xtol=_PRECISION)
    return at(float(root))


class EnsembleTemperatureScaling(_calibrator.Calibrator):
    """Temperature scaling of an ensemble, with a weight for each member.

      q = sum_m w_m softmax(z_m / T),    w_m >= 0,  sum_m w_m = 1

    T, one for all members, and w minimise the negative log-likelihood. For a given T it
    is convex in w; the best T of a grid is refined to the precision of float64. Members
    are scaled before they are averaged, so that T < 1 can correct an average that is
    less confident than its members. A member that adds nothing has weight 0.

    Args:
      ensemble_axis: axis of the members in `logits` or `probabilities`, which have the
        shape [..., M, K], or [..., M, 1] for two classes, and rank >= 3. The result has
        no such axis: logits are log q, up to a constant.

    Attributes:
      temperature: T, a float > 0.
      weights: w, float64 [M].
      optimality_gap: certificate of the fit: how far the negative log-likelihood, in
        nats, mean over the examples, was above its minimum over w at T before the last
        step, estimated from the Newton decrement.
      is_fitted: whether there was a fit.

    Raises:
      ValueError: `ensemble_axis` is not an integer.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> logits = 2 * rng.normal(size=[4000, 3, 5])
      >>> true = 0.75 * logits[:, 0]  # Two members know nothing.
      >>> labels = np.argmax(true + rng.gumbel(size=true.shape), axis=1)
      >>> scaling = um.EnsembleTemperatureScaling().fit(labels, logits)
      >>> bool(scaling.weights[0] > 0.9), round(1 / scaling.temperature, 1)
      (True, 0.8)

    References:
      Rahaman and Thiery (2021), Uncertainty Quantification and Deep Ensembles.
    """

    _takes_labels = False
    _names = ("temperature", "weights", "optimality_gap")

    def __init__(self, *, ensemble_axis: int = 1):
        super().__init__()
        if isinstance(ensemble_axis, bool) or not isinstance(
            ensemble_axis, int | np.integer
        ):
            raise _checks.error("ensemble_axis", "an integer", repr(ensemble_axis))
        self._axis = int(ensemble_axis)

    @property
    def temperature(self) -> float:
        """T, a float > 0."""
        return float(self._array("temperature"))

    @property
    def weights(self) -> np.ndarray:
        """The weights of the members, [M]."""
        return self._array("weights")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"ensemble_axis": self._axis}

    def _moved(self, name: str, array: np.ndarray) -> np.ndarray:
        """Returns predictions with the members on the axis before the last."""
        axis = _predictions.check_members(name, array.shape, self._axis)
        return np.moveaxis(array, axis, -2)

    def _read(
        self,
        labels: ArrayLike | None,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> tuple[_calibrator.Layout, _examples.Examples]:
        _calibrator.check_no_distributions(self, options["label_distributions"])
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        predictions = logits if name == "logits" else probabilities
        array = _inputs.as_array(name, predictions)
        moved = self._moved(name, array)
        labels = _inputs.as_array("labels", labels)
        leading = moved.shape[:-2]
        _predictions.check_labels(labels.shape, name, array.shape, leading)
        # Each member of an example has its label.
        labels = labels.reshape(*leading, 1)
        member_labels = np.broadcast_to(labels, moved.shape[:-1])
        return super()._read(
            member_labels,
            **{"logits": None, "probabilities": None, name: moved},
            **options,
        )

    def _fitted_arrays(self, examples: _examples.Examples) -> dict[str, np.ndarray]:
        members = _Members(examples, examples.counted.shape[-1])
        best = _best(members, examples.name)
        return {
            "temperature": np.array(members.unit / best.beta),
            "weights": best.weights,
            "optimality_gap": np.array(best.gap),
        }

    def _arranged(
        self, name: str, array: np.ndarray
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        moved = self._moved(name, array)
        if moved.shape[-2] != len(self.weights):
            expected = f"{len(self.weights)} members, as in `fit`"
            raise _checks.error(
                name, expected, f"shape {list(array.shape)}", verb="have"
            )
        return moved, moved.shape[:-2] + moved.shape[-1:]

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        if name == "logits":
            z = rows.astype(np.float64)
        else:
            with np.errstate(divide="ignore"):
                z = np.log(rows.astype(np.float64))
        z = _row_math.below_maximum(z) / self.temperature
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        logs = logs.reshape(-1, len(self.weights), z.shape[1])
        mixed = special.logsumexp(logs, axis=1, b=self.weights[:, None])
        return mixed if name == "logits" else _calibrator.normalised(np.exp(mixed))

    def _check(self, layout: _calibrator.Layout, arrays: dict[str, np.ndarray]) -> None:
        _calibrator.check_array("temperature", arrays["temperature"], ())
        _temperature.checked_temperature(arrays["temperature"])
        weights = arrays["weights"]
        _calibrator.check_array("weights", weights, (weights.size,))
        if weights.size == 0 or np.any(weights < 0) or abs(weights.sum() - 1) > 1e-9:
            raise _checks.error("weights", ">= 0, with a sum of 1", weights[:9])
        _calibrator.check_array("optimality_gap", arrays["optimality_gap"], ())
