"""Sums of float64 without rounding: the same bits in any order of the terms."""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Any

import numpy as np

from uncertainty_metrics import _checks

# A sum is written in base 2^32.
_BITS = 32
_MASK = 2**_BITS - 1
# A float64 adds the digits of a block of this many terms without rounding, and an int64
# adds this many blocks.
_BLOCK, _MAX_BLOCKS = 2**20, 2**10
_LARGE_POWER = 1000
# Numbers in [0, 1] that are added to this are rounded to multiples of 2^-32.
_TO_DIGITS = 1.5 * 2.0**20
# The places of the digits of the smallest float64, and of sums of the largest float64.
_LOWEST, _HIGHEST = -34, 34


@dataclasses.dataclass(frozen=True, eq=False)
class ExactSums:
    """Non-negative sums, one for each cell.

    Equal sums have equal attributes: the first and the last row of digits are not all
    0, and sums that are all 0 have no rows.

    Attributes:
      digits: uint32 [D, cells]; the sums are `sum_i digits[i] 2^(32 (lowest + i))`.
      lowest: place of the first row of digits; 0 if there are no rows.
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
                total += _scaled(digit.astype(np.float64), _BITS * place)
        return total

    def __add__(self, other: ExactSums) -> ExactSums:
        if not (len(self.digits) and len(other.digits)):
            return self if len(self.digits) else other
        return Total(self).plus(other).sums()

    def at(self, cells: np.ndarray) -> ExactSums:
        """Returns the sums of some cells."""
        return _trimmed(self.digits[:, cells], self.lowest)

    def placed(self, cells: np.ndarray, num_cells: int) -> ExactSums:
        """Returns a copy: the sums of `num_cells` cells, these and 0 elsewhere.

        Args:
          cells: where these sums are among them, ascending.
          num_cells: number of cells.
        """
        if num_cells == self._num_cells:
            return ExactSums(self.digits.copy(), self.lowest)
        digits = np.zeros((len(self.digits), num_cells), np.uint32)
        digits[:, cells] = self.digits
        return ExactSums(digits, self.lowest)

    def moved(self, cells: np.ndarray, num_cells: int) -> ExactSums:
        """Returns the sums of new cells, given the new cell of each old one, of which
        there are at most 2^20.
        """
        total = Total(ExactSums.zeros(num_cells))
        for place, digit in enumerate(self.digits, self.lowest):
            total.add_counts(np.bincount(cells, digit, num_cells), place)
        return total.sums()

    def joined(
        self, cells: np.ndarray, other: ExactSums, of_other: np.ndarray, num_cells: int
    ) -> ExactSums:
        """Returns the sums of both in a union of their cells. It is fast if the other
        sums are few: all digits are copied, but those of their cells alone computed.

        Args:
          cells: where these sums are in the union, ascending.
          other: other sums.
          of_other: where they are in the union, ascending.
          num_cells: number of cells of the union.
        """
        if not len(self.digits):
            return other.placed(of_other, num_cells)
        if len(of_other) == self._num_cells == num_cells:
            return self + other
        own = self.placed(cells, num_cells)
        if not len(other.digits):
            return own
        some = own.at(of_other) + other
        lowest = min(own.lowest, some.lowest)
        ours, theirs = (
            slice(each.lowest - lowest, each.lowest - lowest + len(each.digits))
            for each in (own, some)
        )
        digits = own.digits
        if max(ours.stop, theirs.stop) > len(digits):
            digits = np.zeros((max(ours.stop, theirs.stop), num_cells), np.uint32)
            digits[ours] = own.digits
        digits[:, of_other] = 0
        digits[theirs, of_other] = some.digits
        return _trimmed(digits, lowest)

    @property
    def _num_cells(self) -> int:
        return self.digits.shape[1]

    def equals(self, other: ExactSums) -> bool:
        """Says if all sums are the same."""
        return self.lowest == other.lowest and np.array_equal(self.digits, other.digits)


class Total:
    """Sums to which terms can be added, with spare bits in each digit."""

    def __init__(self, sums: ExactSums):
        self._num_cells = sums.digits.shape[1]
        self._digits: dict[int, np.ndarray] = {}  # int64, by their places.
        self._blocks = 0
        self.plus(sums)

    def plus(self, sums: ExactSums) -> Total:
        """Adds sums, cell by cell."""
        for place, digit in enumerate(sums.digits, sums.lowest):
            self._digits_at(place)[...] += digit
        return self

    def add(self, values: np.ndarray, cells: np.ndarray) -> None:
        """Adds finite float64 values [n] to the sums of their cells [n].

        The values in a cell must not have a negative sum, except by rounding.
        """
        for start in range(0, len(values), _BLOCK):
            self._make_room()
            block = slice(start, start + _BLOCK)
            self._add(values[block], cells[block])

    def add_fractions(self, values: np.ndarray, cells: np.ndarray) -> None:
        """Adds up to 2^20 numbers in [0, 1] to the sums of their cells, as `add` does,
        in fewer passes.
        """
        self._make_room()
        digit = values + _TO_DIGITS
        digit -= _TO_DIGITS
        rest = values - digit
        digit_sums = np.bincount(cells, digit, self._num_cells) * 2.0**_BITS
        self._digits_at(-1)[...] += digit_sums.astype(np.int64)
        left = np.flatnonzero(rest != 0)  # Booleans are faster.
        self.add(rest[left], cells[left])

    def add_counts(self, counts: np.ndarray, place: int = 0) -> None:
        """Adds integers up to 2^52, one for each cell, times 2^(32 place)."""
        self._make_room()
        self._digits_at(place)[...] += counts.astype(np.int64)

    def _make_room(self) -> None:
        """Carries the digits before a block that an int64 might not hold."""
        if self._blocks == _MAX_BLOCKS:
            sums, self._digits, self._blocks = self.sums(), {}, 0
            self.plus(sums)
        self._blocks += 1

    def _digits_at(self, place: int) -> np.ndarray:
        if place not in self._digits:
            self._digits[place] = np.zeros(self._num_cells, np.int64)
        return self._digits[place]

    def _add(self, values: np.ndarray, cells: np.ndarray) -> None:
        while True:  # Each round adds one digit of each value.
            largest = max(np.max(values, initial=0), -np.min(values, initial=0))
            if largest == 0:
                return
            place = int(np.frexp(largest)[1] - 1) // _BITS
            digit = np.trunc(_scaled(values, -_BITS * place))
            digit_sums = np.bincount(cells, digit, self._num_cells)
            self._digits_at(place)[...] += digit_sums.astype(np.int64)
            values = values - _scaled(digit, _BITS * place)
            nonzero = np.flatnonzero(values != 0)  # Booleans are faster.
            if len(nonzero) < len(values):
                values, cells = values[nonzero], cells[nonzero]

    def sums(self) -> ExactSums:
        """Returns the sums; 0 for a sum that rounding made negative."""
        if not self._digits:
            return ExactSums.zeros(self._num_cells)
        lowest = place = min(self._digits)
        carry, digits = np.zeros(self._num_cells, np.int64), []
        while place <= max(self._digits) or np.any(carry > 0):
            carry += self._digits.get(place, 0)
            digits.append((carry & _MASK).astype(np.uint32))
            carry >>= _BITS
            place += 1
        stacked = np.stack(digits)
        stacked[:, carry < 0] = 0
        return _trimmed(stacked, lowest)


def _trimmed(digits: np.ndarray, lowest: int) -> ExactSums:
    """Returns sums without rows of zeros at either end."""
    first, end = 0, len(digits)
    while first < end and not digits[first].any():
        first += 1
    while first < end and not digits[end - 1].any():
        end -= 1
    if first == end:
        return ExactSums.zeros(digits.shape[1])
    return ExactSums(np.ascontiguousarray(digits[first:end]), lowest + first)


def _scaled(values: np.ndarray, exponent: int) -> np.ndarray:
    """Returns `values * 2^exponent`, as `ldexp` does, which takes several times as long
    and is needed only where a float64 does not hold the power.
    """
    if abs(exponent) < _LARGE_POWER:
        return values * 2.0**exponent
    return np.ldexp(values, exponent)


def checked(name: str, digits: np.ndarray, lowest: Any, num_cells: int) -> ExactSums:
    """Returns the sums with these attributes; raises ValueError if they are invalid."""
    if digits.dtype.newbyteorder("=") != np.uint32:
        raise _checks.error(name, "of type uint32", f"type {digits.dtype}")
    digits = np.ascontiguousarray(digits.astype(np.uint32, copy=False))
    if digits.ndim != 2 or digits.shape[1] != num_cells:
        expected = f"of shape [digits, {num_cells}]"
        raise _checks.error(name, expected, f"shape {list(digits.shape)}")
    place = lowest if type(lowest) is int else _HIGHEST
    least, most = (_LOWEST, _HIGHEST - len(digits)) if len(digits) else (0, 0)
    if not least <= place <= most:
        expected = f"from {least} to {most}"
        raise _checks.error(f"lowest[{name!r}]", expected, reprlib.repr(lowest))
    if len(digits) and not (np.any(digits[0]) and np.any(digits[-1])):
        raise _checks.error(name, "without rows of zeros at either end", "such rows")
    return ExactSums(digits, lowest)
