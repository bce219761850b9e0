"""A standard Normal distribution whose CDF went through a map, and its CRPS.

The map is that of `PITCalibration`, known at knots and linear in the CDF between. Here
the knots are quantiles, not values of the CDF: where a forecast is off by 10 standard
deviations, all values of the CDF round to 1.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.polynomial import legendre

from uncertainty_metrics.numpy.regression import pit_recalibration

# What a standard Normal forecast expects its own CRPS to be.
OF_NORMAL = 1 / np.sqrt(np.pi)
# Below this length, in the unit in which the density changes, an interval has its
# integrals by a rule of points: the closed forms are differences of numbers too close.
_SHORT = 1.0
# Below this, quotients of tails come from their expansions.
_FAR = -1e3
_X, _X_WEIGHTS = legendre.leggauss(6)
_NODES, _NODE_WEIGHTS = (_X + 1) / 2, _X_WEIGHTS / 2
# From values at the nodes to integrals from 0 to each node, of the polynomial through
# the values.
_TO_NODES = (
    legendre.legval(_X, legendre.legint(np.eye(6), lbnd=-1)).T
    @ np.linalg.inv(legendre.legvander(_X, 5))
    / 2
)


@dataclasses.dataclass(frozen=True, eq=False)
class MappedNormal:
    """A distribution whose CDF is R(Phi).

    Attributes:
      knots: quantiles, finite, ascending, [J].
      below: R(Phi) there, in (0, 1), ascending, [J].
    """

    knots: np.ndarray
    below: np.ndarray

    def cdf(self, z: np.ndarray) -> np.ndarray:
        """Returns R(Phi(z)), [N]."""
        from scipy import special

        knots, below = self.knots, self.below
        found = np.empty(len(z))
        right = np.searchsorted(knots, z, "right")
        first, last = right == 0, right == len(knots)
        log = special.log_ndtr
        # Of numbers whose squares overflow: log_ndtr is -inf, and so is the difference.
        with np.errstate(over="ignore", invalid="ignore"):
            found[first] = below[0] * _ratio(log(z[first]), log(knots[0]))
            beyond = (1 - below[-1]) * _ratio(log(-z[last]), log(-knots[-1]))
        found[last] = 1 - beyond
        inside = ~first & ~last
        j = right[inside]
        share = _share(knots[j - 1], z[inside], knots[j])
        found[inside] = below[j - 1] + share * (below[j] - below[j - 1])
        return found

    def crps(self, z: np.ndarray) -> np.ndarray:
        """Returns the CRPS of each outcome z, [N]."""
        points, places = np.unique(np.concatenate([self.knots, z]), return_inverse=True)
        left, right, _ = self._integrals(points)
        return (left + right)[places.reshape(-1)[len(self.knots) :]]

    def expected_crps(self) -> float:
        """Returns the CRPS that the distribution expects, int F (1 - F)."""
        return self._integrals(self.knots)[2]

    def _integrals(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Returns int F^2 up to each point, int (1 - F)^2 from it on, and
        int F (1 - F).

        Args:
          points: ascending, with all knots among them, [J].
        """
        f = self.cdf(points)
        steps = np.diff(f)
        lengths = np.diff(points)
        once, twice = _rising(points[:-1], points[1:])
        low, high = f[:-1], 1 - f[:-1]
        of_f = low**2 * lengths + 2 * low * steps * once + steps**2 * twice
        of_rest = high**2 * lengths - 2 * high * steps * once + steps**2 * twice
        left = f[0] ** 2 * _tail(points[:1])[1]
        right = (1 - f[-1]) ** 2 * _tail(-points[-1:])[1]
        up_to = np.concatenate([left, left + np.cumsum(of_f)])
        onwards = right + np.cumsum(of_rest[::-1])
        from_on = np.concatenate([onwards[::-1], right])
        # F (1 - F) = F - F^2, and in the right tail (1 - F) - (1 - F)^2.
        ends = f[0] * _tail(points[:1])[0] + (1 - f[-1]) * _tail(-points[-1:])[0]
        between = np.sum(low * lengths + steps * once)
        mixed = float((ends + between - up_to[-1] - right)[0])
        return up_to, from_on, mixed


def fitted(z: np.ndarray, weights: np.ndarray | None) -> MappedNormal:
    """Returns the distribution of errors in standard deviations, by `PITCalibration`.

    Args:
      z: errors, [N].
      weights: numbers of examples, [N], or None for ones.

    Raises:
      ValueError: there are fewer than two, or the weights have a sum below 2.
    """
    return MappedNormal(*pit_recalibration.shares_below(z, weights, "targets"))


@np.errstate(invalid="ignore")
def _ratio(log_part: np.ndarray, log_whole: np.ndarray) -> np.ndarray:
    """Returns exp(log_part - log_whole), 0 where both are -inf."""
    return np.nan_to_num(np.exp(log_part - log_whole))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _share(a: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns (Phi(u) - Phi(a)) / (Phi(b) - Phi(a)) for a <= u <= b."""
    from scipy import special

    mirrored = a + b > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    log_low, log_u, log_high = (
        special.log_ndtr(each) for each in (low, np.where(mirrored, -u, u), high)
    )
    share = np.exp(log_u - log_high)
    share *= np.expm1(log_low - log_u) / np.expm1(log_low - log_high)
    # Where Phi does not tell the ends apart, they are close, or all is far out.
    share = np.where(np.isfinite(share), share, 0.0)
    return np.where(mirrored, 1 - share, share)


def _rising(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the integrals over [a, b] of G and of G^2, where G is
    (Phi - Phi(a)) / (Phi(b) - Phi(a)).
    """
    mirrored = a + b > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    lengths = high - low
    once, twice = np.empty(len(a)), np.empty(len(a))
    short = lengths * np.maximum(1, -low) < _SHORT
    for part, rule in ((short, _by_points), (~short, _in_closed_form)):
        once[part], twice[part] = rule(low[part], high[part])
    # Seen from the other side, G is 1 - G.
    return (
        np.where(mirrored, lengths - once, once),
        np.where(mirrored, lengths - 2 * once + twice, twice),
    )


def _by_points(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what `_rising` does, by Gauss's rule."""
    lengths = (b - a)[:, None]
    steps = lengths * _NODES
    density = np.exp(-steps * (a[:, None] + steps / 2))
    g = density @ _TO_NODES.T / (density @ _NODE_WEIGHTS)[:, None]
    return (b - a) * (g @ _NODE_WEIGHTS), (b - a) * (g**2 @ _NODE_WEIGHTS)


def _in_closed_form(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what `_rising` does, for a + b <= 0."""
    from scipy import special

    with np.errstate(over="ignore", invalid="ignore"):
        q = _ratio(special.log_ndtr(a), special.log_ndtr(b))
    (once_a, twice_a), (once_b, twice_b) = _tail(a), _tail(b)
    rise = once_b - q * once_a  # The integral of Phi / Phi(b).
    once = (rise - q * (b - a)) / (1 - q)
    twice = twice_b - q**2 * twice_a - 2 * q * rise + q**2 * (b - a)
    return once, twice / (1 - q) ** 2


def _tail(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the integrals up to u of Phi / Phi(u) and of (Phi / Phi(u))^2."""
    from scipy import special

    root = np.sqrt(2.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        hazard, at_root = (
            np.sqrt(2 / np.pi) / special.erfcx(-each / root) for each in (u, root * u)
        )
        # Phi(sqrt(2) u) / (sqrt(pi) Phi(u)^2), two ways.
        quotient = np.where(
            u < 0,
            root * hazard**2 / at_root,
            special.ndtr(root * u) / (np.sqrt(np.pi) * special.ndtr(u) ** 2),
        )
        far = u < _FAR
        inverse = np.where(far, -1 / u, 0.0)
    once = np.where(far, inverse - 2 * inverse**3, u + hazard)
    twice = np.where(far, inverse / 2 - 0.75 * inverse**3, u + 2 * hazard - quotient)
    return once, twice
