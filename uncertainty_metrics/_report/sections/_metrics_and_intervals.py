"""The numbers of a section: metrics with their meanings, and intervals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, SupportsFloat, TypeAlias

Number: TypeAlias = Any  # A float, or None where it is not defined.


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric.

    Attributes:
      value: the number; None if it is not defined.
      meaning: what it means, in a few words.
    """

    value: Number
    meaning: str


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate and its interval; None where a number is not defined."""

    low: Number
    estimate: Number
    high: Number

    def side_of(self, value: float) -> int:
        """Returns 1 if the interval lies above a value, -1 if below it, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > value) - int(self.high < value)

    @property
    def holds_zero(self) -> bool:
        """Whether the estimate may be 0, as far as the data show."""
        if self.low is None or self.high is None:
            return True
        return self.low <= 0 <= self.high

    def shown(self) -> str:
        """Returns the text of the estimate, with its interval if there is one."""
        if self.low is None or self.high is None:
            return f"{self.estimate:.3g}"
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclasses.dataclass(frozen=True)
class TestedInterval(Interval):
    """An interval, and the p-value of the test that the estimate is 0."""

    p_value: float


def interval(low: float, estimate: float, high: float) -> Interval:
    """Returns an interval, with None for a number that is NaN: not defined."""
    ends = (None if math.isnan(end) else float(end) for end in (low, estimate, high))
    return Interval(*ends)


def metrics(given: Mapping[str, tuple[SupportsFloat, str]]) -> dict[str, Metric]:
    """Returns the metrics of values with their meanings, by name."""
    return {name: Metric(float(value), text) for name, (value, text) in given.items()}
