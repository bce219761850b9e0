"""The one interface of all calibrators: fitted to held-out examples, they map forecasts
to better ones, and are saved and loaded.
"""

from __future__ import annotations

import abc
import json
import os
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _archive, _inputs, _saved

if TYPE_CHECKING:
    from typing_extensions import Self

_FORMAT = "uncertainty_metrics.Calibrator"
_VERSION = 1
_MAX_HEADER = 2**16  # Bytes of what is some hundred.
# Probabilities of 0 and 1 are taken as so far from them.
LEAST = 2.0**-24
_MAX_CLASSES = 2**24


class Layout(NamedTuple):
    """Of the predictions that a calibrator was fitted to.

    Attributes:
      name: "logits" or "probabilities".
      classes: K.
      rank: number of axes where the predictions were those of class 1, but for a last
        one of 1; None where they were [..., K].
    """

    name: str
    classes: int
    rank: int | None

    @classmethod
    def of(cls, name: str, labels: _checks.Shape, predictions: _checks.Shape) -> Layout:
        """Returns that of checked shapes."""
        classes = _checks.layout(labels, predictions, name)
        if classes is not None:
            return cls(name, classes, None)
        return cls(name, 2, len(_without_last(predictions)))

    @classmethod
    def checked(cls, value: Any) -> Layout:
        """Returns one that a file describes."""
        name, classes, rank = value
        _checks.one_of("layout", name, ("logits", "probabilities"))
        whole = type(classes) is int and (rank is None or type(rank) is int)
        if not (whole and 1 <= classes <= _MAX_CLASSES):
            raise _checks.error("layout", "a number of classes", value, verb="have")
        if rank is not None and not (classes == 2 and 0 <= rank <= 64):
            raise _checks.error("layout", "two classes", value, verb="have")
        return cls(name, classes, rank)

    def check(self, name: str, shape: _checks.Shape) -> None:
        """Raises ValueError for the shape of predictions that are not like those of the
        fit, or of none.
        """
        if 0 in shape:
            raise _checks.error(
                name, "at least one example", f"shape {list(shape)}", verb="hold"
            )
        if self.rank is None:
            if not shape or shape[-1] != self.classes:
                expected = f"of shape [..., {self.classes}], as in `fit`"
                raise _checks.error(name, expected, f"shape {list(shape)}")
        elif len(shape) > 1 and len(_without_last(shape)) not in (1, self.rank):
            expected = "those of class 1, of shape [...] or [..., 1], as in `fit`"
            raise _checks.error(name, expected, f"shape {list(shape)}")

    def rows(self, name: str, array: np.ndarray) -> np.ndarray:
        """Returns checked predictions, floating [N, K]."""
        self.check(name, array.shape)
        array = _inputs.native_floating(array)
        columns = self.classes if self.rank is None else 1
        rows = np.ascontiguousarray(array).reshape(-1, columns)
        if name == "logits":
            if self.rank is not None:
                rows = np.concatenate([np.zeros_like(rows), rows], axis=1)
            _inputs.check_logits(rows)
            _inputs.are_probabilities(array.reshape(-1, columns), name=name)
            return rows
        rows = _inputs.check_probabilities(rows, name)
        if self.rank is not None:
            rows = np.concatenate([np.ones_like(rows) - rows, rows], axis=1)
        return rows

    def restored(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns predictions [N, K], or of class 1, [N], of those of all classes."""
        if self.rank is None:
            return rows
        return rows[:, 1] - rows[:, 0] if name == "logits" else rows[:, 1]


def shape_of(value: Any) -> _checks.Shape:
    """Returns the shape of what is an array, a tensor, or becomes one."""
    return tuple(value.shape if hasattr(value, "shape") else np.shape(value))


def _without_last(shape: _checks.Shape) -> _checks.Shape:
    return shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape


def check_some(name: str, p: np.ndarray) -> None:
    """Raises ValueError for a row of probabilities that are all 0."""
    nothing = ~np.any(p > 0, axis=-1)
    if np.any(nothing):
        expected = "above 0 for at least one class of each row"
        raise _checks.error(name, expected, _inputs.first(nothing, p))


def normalised(p: np.ndarray) -> np.ndarray:
    """Returns rows of sum 1; those of 0 stay."""
    total = p.sum(axis=-1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


class Calibrator(abc.ABC):
    """A map of a classifier's forecasts, which `fit` finds and `transform` applies.

    Attributes:
      is_fitted: whether there was a fit.
      optimality_gap: certificate of convergence: estimate of the nats, in the mean over
        the examples, by which the objective was above its minimum before the last step
        of the fit, from the Newton decrement. 0 where the fit is in closed form.
    """

    # The arrays of a fitted map, by name.
    _names: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._arrays: dict[str, np.ndarray] = {}

    @property
    def is_fitted(self) -> bool:
        return self._layout is not None

    @property
    def optimality_gap(self) -> float:
        self._fitted_layout()
        return float(np.max(self._arrays.get("optimality_gap", 0.0)))

    def fit(
        self,
        labels: ArrayLike,
        logits: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Finds the map of held-out examples; where that fails the one before stays.

        Args:
          labels: integers in [0, K), shape [...], of examples that the model was not
            trained on.
          logits: logits of the same shape, instead of `probabilities`.
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          sample_weight: weight of each example, finite and >= 0, broadcastable to the
            labels.
          ignore_index: a label whose examples are left out.

        Returns:
          The object itself.

        Raises:
          RuntimeError: the fit has not converged.
          ValueError: an argument is not as described, `logits` are rows of
            probabilities, or the examples leave the map open, as those of one class do.
        """
        layout, examples = self._read(
            labels,
            logits,
            probabilities,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
        self._arrays = self._found(examples)
        self._layout = layout
        return self

    def transform(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> np.ndarray:
        """Returns the forecasts that the map makes of others: logits of logits,
        probabilities of probabilities.

        Args:
          logits: of the classes of the fit, shape [..., K]; or [...] or [..., 1] where
            `fit` had those of class 1.
          probabilities: instead of `logits`, in [0, 1].

        Returns:
          Of the shape and floating type of what was given; float64 for integers. Rows
          of probabilities sum to 1.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        layout = self._fitted_layout()
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        given = logits if name == "logits" else probabilities
        array, shape = self._arranged(name, _inputs.as_array(name, given))
        rows = layout.rows(name, array)
        if name == "probabilities":
            check_some(name, rows)
        mapped = layout.restored(name, self._mapped(name, rows))
        dtype = array.dtype if _inputs.is_floating(array) else np.float64
        return mapped.reshape(shape).astype(dtype)

    def _read(
        self,
        labels: ArrayLike,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> tuple[Layout, _inputs.Examples]:
        """Returns the layout of predictions, and checked examples."""
        examples = _inputs.examples(labels, probabilities, logits, **options)
        if examples.name == "probabilities":
            p = _inputs.check_probabilities(examples.predictions, examples.name)
            check_some(examples.name, p)
        given = logits if examples.name == "logits" else probabilities
        layout = Layout.of(examples.name, shape_of(labels), shape_of(given))
        return layout, examples

    def _arranged(
        self, name: str, array: np.ndarray
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        """Returns predictions [..., K] or of class 1, and the shape of their map."""
        return array, array.shape

    def _found(self, examples: _inputs.Examples) -> dict[str, np.ndarray]:
        """Returns the arrays of the best map."""
        raise NotImplementedError

    @abc.abstractmethod
    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns the map of checked predictions [N, K], in float64: the logits of
        "logits", else probabilities.
        """

    def _check(self, layout: Layout, arrays: dict[str, np.ndarray]) -> None:
        """Raises ValueError for arrays, of a file, that are no map."""
        raise NotImplementedError

    def _fitted_layout(self) -> Layout:
        if self._layout is None:
            raise _checks.plain_error(
                "There is no map yet: call `fit` first.", f"{self!r}, not fitted"
            )
        return self._layout

    def _array(self, name: str) -> np.ndarray:
        self._fitted_layout()
        return self._arrays[name]

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({options})"

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {}

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes the map to a file, an .npz archive without pickles.

        Args:
          path: where to, as it is: no ending is added. Or a file opened for writing
            bytes.
        """
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "class": type(self).__name__,
            "config": self.get_config(),
            "layout": self._layout,
        }
        text = np.array(json.dumps(header, sort_keys=True))
        entries: dict[str, Any] = {"header": text, **self._arrays}
        with _saved.opened(path, "wb") as file:
            np.savez(file, **entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | IO[bytes]) -> Self:
        """Returns what `save` wrote. Nothing in the file is executed.

        Args:
          path: the file, or a file opened for reading bytes.

        Raises:
          ValueError: the file holds something else, or is damaged.
        """
        with _saved.opened(path, "rb") as file:
            try:
                return cls._loaded(_archive.Archive(file))
            except ValueError as wrong:
                reason = str(wrong)
            except Exception as wrong:  # Of what is no header, or has other types.
                reason = type(wrong).__name__
        expected = f"a file that `save` wrote for {cls.__name__}"
        reason = reason.encode("unicode_escape", "replace").decode()[:200]
        raise _checks.error("path", expected, reason)

    @classmethod
    def _loaded(cls, archive: _archive.Archive) -> Self:
        if archive.declared_bytes("header") > _MAX_HEADER:
            raise ValueError("the header is too long")
        header = json.loads(archive.read(["header"])["header"].item())
        told = {"format": _FORMAT, "version": _VERSION, "class": cls.__name__}
        for name, expected in told.items():
            if header[name] != expected:
                raise _checks.error(name, repr(expected), repr(header[name])[:100])
        made = cls(**header["config"])
        names = [name for name in archive.names if name != "header"]
        if header["layout"] is None:
            expected_names: tuple[str, ...] = ()
        else:
            made._layout = Layout.checked(header["layout"])
            expected_names = cls._names
        if sorted(names) != sorted(expected_names):
            raise ValueError(f"it holds {names}, not {list(expected_names)}")
        arrays = archive.read(names)
        if made._layout is not None:
            for name, array in arrays.items():
                if array.dtype != np.dtype(np.float64):
                    raise _checks.error(name, "of type float64", array.dtype)
            made._check(made._layout, arrays)
        made._arrays = {name: arrays[name] for name in expected_names}
        return made


def check_two(labels: np.ndarray) -> None:
    """Raises ValueError for labels of one class."""
    if np.all(labels == labels[0]):
        raise _checks.error(
            "labels", "two classes or more", f"{labels[0]} alone", verb="hold"
        )


def check_array(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless an array of a file has the shape, and is finite."""
    if array.shape != shape:
        raise _checks.error(name, f"of shape {list(shape)}", list(array.shape))
    if not np.all(np.isfinite(array)):
        raise _checks.error(name, "finite", "NaN or infinite numbers")
