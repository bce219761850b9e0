"""The base class of temperature scalings: it holds, saves and loads the temperature."""

from __future__ import annotations

import json
import math
import pathlib
from typing import TYPE_CHECKING, Any, ClassVar

from uncertainty_metrics import _checks
from uncertainty_metrics._whole_files import written_whole

if TYPE_CHECKING:
    from typing_extensions import Self

_VERSION = 1


def checked_temperature(value: Any) -> float:
    """Returns `value` as a float; raises ValueError unless it is finite and > 0."""
    number = _checks.number(value)
    if not 0 < number < math.inf:
        raise _checks.error("temperature", "finite and > 0", repr(value))
    return number


class Scaling:
    """A temperature that is 1 until it is fitted.

    Files are JSON text. NumPy and the tensors load each other's files.

    Attributes:
      temperature: the fitted temperature, a float > 0; 1.0 before the fit.
      is_fitted: whether the temperature was fitted.
    """

    # What the class scales, in its files: classes of one kind load each other's files.
    _kind: ClassVar[str]

    def __init__(self) -> None:
        self._temperature: float | None = None

    @property
    def temperature(self) -> float:
        return 1.0 if self._temperature is None else self._temperature

    @property
    def is_fitted(self) -> bool:
        return self._temperature is not None

    def _set(self, temperature: Any) -> Self:
        """Sets the temperature; raises ValueError unless it is finite and > 0."""
        self._temperature = checked_temperature(temperature)
        return self

    def _require_fitted(self) -> float:
        """Returns the temperature; raises ValueError before the fit."""
        if not self.is_fitted:
            raise _checks.plain_error(
                "There is no temperature yet: call `fit` first.",
                f"{self!r}, not fitted",
            )
        return self.temperature

    def __repr__(self) -> str:
        return f"{type(self).__name__}(temperature={self.temperature})"

    def get_config(self) -> dict[str, float | None]:
        """Returns the argument of `from_config`: a dict with the temperature, or None
        before the fit.
        """
        return {"temperature": self._temperature}

    @classmethod
    def from_config(cls, config: dict[str, float | None]) -> Self:
        """Returns a scaling with the temperature of a configuration."""
        scaling = cls()
        if config["temperature"] is not None:
            scaling._set(config["temperature"])
        return scaling

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the temperature to a file, as JSON."""
        content = {"class": self._kind, "version": _VERSION, **self.get_config()}
        with written_whole(path) as file:
            file.write(json.dumps(content).encode())

    @classmethod
    def load(cls, path: str | pathlib.Path) -> Self:
        """Returns the scaling that `save` wrote to a file.

        Raises:
          ValueError: the file is not one that `save` of such a class wrote.
        """
        text = pathlib.Path(path).read_text(encoding="utf-8", errors="backslashreplace")
        try:
            content = json.loads(text)
            is_ours = content["class"] == cls._kind and content["version"] == _VERSION
            scaling = cls.from_config(content) if is_ours else None
        except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
            scaling = None
        if scaling is None:
            raise ValueError(
                f"`path` must be a file that `save` wrote for {cls._kind} (version "
                f"{_VERSION}). Received: {str(path)!r} with {text[:100]!r}"
            )
        return scaling
