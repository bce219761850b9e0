"""Sums of float64 without rounding: the same bits in any order of the terms."""

from __future__ import annotations

import dataclasses

import numpy as np

# A sum is a number of base 2^32.
_BITS = 32
_MASK = 2**_BITS - 1
# So many terms that a float64 adds their digits without rounding.
_BLOCK = 2**20
# Digits of the largest and of the smallest float64.
LOWEST, HIGHEST = -34, 33


@dataclasses.dataclass(frozen=True, eq=False)
class ExactSums:
    """Non-negative sums, one for each cell.

    There is one way only to write them: no digits of nothing but 0 are kept at either
    end, and 0 has none.

    Attributes:
      digits: uint32 [D, cells]; the sums are `sum_i digits[i] 2^(32 (lowest + i))`.
      lowest: place of the first digit; 0 where there is none.
    """

    digits: np.ndarray
    lowest: int = 0

    @classmethod
    def zeros(cls, num_cells: int) -> ExactSums:
        """Returns sums of no terms."""
        return cls(np.zeros((0, num_cells), np.uint32))

    @property
    def values(self) -> np.ndarray:
        """The sums, rounded to float64 [cells]; they may be infinite."""
        total = np.zeros(self.digits.shape[1])
        with np.errstate(over="ignore"):
            for place, digit in enumerate(self.digits, self.lowest):
                total += np.ldexp(digit.astype(np.float64), _BITS * place)
        return total

    def __add__(self, other: ExactSums) -> ExactSums:
        if not (len(self.digits) and len(other.digits)):
            return self if len(self.digits) else other
        total = _Digits(self.digits.shape[1])
        for part in (self, other):
            for place, digit in enumerate(part.digits, part.lowest):
                total.at(place)[...] += digit
        return total.carried()

    def plus(self, values: np.ndarray, cells: np.ndarray | None = None) -> ExactSums:
        """Returns the sums of more terms: finite float64 [n], and the cell of each,
        which is its place where there are no `cells`. Negative ones must not outweigh
        the others, except by rounding: such a sum is 0.
        """
        total = _Digits(self.digits.shape[1])
        for place, digit in enumerate(self.digits, self.lowest):
            total.at(place)[...] += digit
        cells = np.arange(len(values)) if cells is None else cells
        for start in range(0, len(values), _BLOCK):
            block = slice(start, start + _BLOCK)
            total.add(values[block], cells[block])
        return total.carried()

    def equals(self, other: ExactSums) -> bool:
        """Says if all sums are the same."""
        return self.lowest == other.lowest and np.array_equal(self.digits, other.digits)


class _Digits:
    """Digits with room to spare, int64, by their places."""

    def __init__(self, num_cells: int):
        self._num_cells = num_cells
        self._found: dict[int, np.ndarray] = {}

    def at(self, place: int) -> np.ndarray:
        """Returns the digits of a place, to change."""
        if place not in self._found:
            self._found[place] = np.zeros(self._num_cells, np.int64)
        return self._found[place]

    def add(self, values: np.ndarray, cells: np.ndarray) -> None:
        """Adds terms, a digit of each at a time."""
        while True:
            some = np.flatnonzero(values)
            if len(some) == 0:
                return
            values, cells = values[some], cells[some]
            place = int(np.frexp(np.max(np.abs(values)))[1] - 1) // _BITS
            digit = np.trunc(np.ldexp(values, -_BITS * place))
            values = values - np.ldexp(digit, _BITS * place)
            self.at(place)[...] += np.bincount(cells, digit, self._num_cells).astype(
                np.int64
            )

    def carried(self) -> ExactSums:
        """Returns the sums."""
        if not self._found:
            return ExactSums.zeros(self._num_cells)
        lowest, place, digits = min(self._found), min(self._found), []
        carry = np.zeros(self._num_cells, np.int64)
        while place <= max(self._found) or np.any(carry > 0):
            carry += self._found.get(place, 0)
            digits.append((carry & _MASK).astype(np.uint32))
            carry >>= _BITS
            place += 1
        stacked = np.stack(digits)
        stacked[:, carry < 0] = 0
        held = np.flatnonzero(stacked.any(axis=1))
        if len(held) == 0:
            return ExactSums.zeros(self._num_cells)
        kept = stacked[held[0] : held[-1] + 1]
        return ExactSums(np.ascontiguousarray(kept), lowest + int(held[0]))
