"""The interface of all calibrators: they are fitted to held-out examples, map forecasts
to calibrated ones, and are saved and loaded.
"""

from __future__ import annotations

import abc
import json
import os
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _typed_names
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _archive, _examples, _inputs, _saved
from uncertainty_metrics.numpy._frames import takes_frames

if TYPE_CHECKING:
    from typing_extensions import Self

_FORMAT = "uncertainty_metrics.Calibrator"
_VERSION = 1
_MAX_HEADER = 2**16  # Bytes; the header of a calibrator has some hundred.
# Probabilities are clipped to at least this distance from 0 and 1.
LEAST = 2.0**-24
_MAX_CLASSES = 2**24


class Layout(NamedTuple):
    """Layout of the predictions that a calibrator was fitted to.

    Attributes:
      name: "logits" or "probabilities".
      classes: number of classes, K.
      rank: for predictions of class 1, their number of axes, without a last axis of 1;
        None for predictions [..., K].
    """

    name: str
    classes: int
    rank: int | None

    @classmethod
    def of(cls, name: str, labels: _checks.Shape, predictions: _checks.Shape) -> Layout:
        """Returns the layout of predictions, given checked shapes."""
        classes = _checks.layout(labels, predictions, name)
        if classes is not None:
            return cls(name, classes, None)
        return cls(name, 2, len(_without_last(predictions)))

    @classmethod
    def checked(cls, value: Any) -> Layout:
        """Returns the layout in a file; raises ValueError if it is not valid."""
        name, classes, rank = value
        _checks.one_of("layout", name, ("logits", "probabilities"))
        whole = type(classes) is int and (rank is None or type(rank) is int)
        if not (whole and 1 <= classes <= _MAX_CLASSES):
            raise _checks.error("layout", "a number of classes", value, verb="have")
        if rank is not None and not (classes == 2 and 0 <= rank <= 64):
            raise _checks.error("layout", "two classes", value, verb="have")
        return cls(name, classes, rank)

    def check(self, name: str, shape: _checks.Shape) -> None:
        """Raises ValueError if a shape of predictions does not fit this layout, or is
        empty.
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
            expected = "predictions of class 1, of shape [...] or [..., 1], as in `fit`"
            raise _checks.error(name, expected, f"shape {list(shape)}")

    def rows(self, name: str, array: np.ndarray) -> np.ndarray:
        """Returns checked predictions, floating [N, K]."""
        self.check(name, array.shape)
        array = _inputs.native_floating(array)
        columns = self.classes if self.rank is None else 1
        rows = np.ascontiguousarray(array).reshape(-1, columns)
        place = _inputs.Place(array.shape)
        if name == "logits":
            _inputs.check_logits(rows, name, place)
            _inputs.are_probabilities(rows, name=name)
            if self.rank is not None:
                rows = np.concatenate([np.zeros_like(rows), rows], axis=1)
            return rows
        rows = _inputs.check_probabilities(rows, name, place)
        if self.rank is not None:
            rows = np.concatenate([np.ones_like(rows) - rows, rows], axis=1)
        return rows

    def restored(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns predictions [N, K] in this layout: [N, K], or [N] for class 1."""
        if self.rank is None:
            return rows
        return rows[:, 1] - rows[:, 0] if name == "logits" else rows[:, 1]


class Predictions(NamedTuple):
    """Checked predictions, to which a map is applied.

    Attributes:
      name: "logits" or "probabilities".
      rows: the predictions, floating [N, K].
      shape: shape of the result of the map.
      dtype: floating type of the result.
    """

    name: str
    rows: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype


def shape_of(value: Any) -> _checks.Shape:
    """Returns the shape of an array, a tensor, or a value that converts to an array."""
    return tuple(value.shape if hasattr(value, "shape") else np.shape(value))


def _without_last(shape: _checks.Shape) -> _checks.Shape:
    return shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape


def check_some(name: str, p: np.ndarray) -> None:
    """Raises ValueError if all probabilities of a row are 0."""
    all_zero = ~np.any(p > 0, axis=-1)
    if np.any(all_zero):
        expected = "above 0 for at least one class of each row"
        raise _checks.error(name, expected, _inputs.first(all_zero, p))


def normalised(p: np.ndarray) -> np.ndarray:
    """Returns rows divided by their sums; rows of zeros stay zeros."""
    total = p.sum(axis=-1, keepdims=True)
    return p / np.where(total > 0, total, 1.0)


class Calibrator(_typed_names.Constructor, abc.ABC):
    """A map of a classifier's forecasts, which `fit` finds and `transform` applies.

    Attributes:
      is_fitted: whether there was a fit.
      maps: after a fit with `multilabel`, the map of each label, a tuple; else ().
      optimality_gap: certificate of the fit: how far the objective, in nats, mean over
        the examples, was above its minimum before the last step, estimated from the
        Newton decrement. 0 if the fit has a closed form.
    """

    # Names of the arrays of a fitted map.
    _names: ClassVar[tuple[str, ...]] = ()
    # Whether `fit` takes several labels, each of which has a map.
    _takes_labels: ClassVar[bool] = True

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._arrays: dict[str, np.ndarray] = {}
        self._maps: tuple[Self, ...] = ()

    @property
    def is_fitted(self) -> bool:
        return self._layout is not None or bool(self._maps)

    @property
    def maps(self) -> tuple[Self, ...]:
        return self._maps

    @property
    def optimality_gap(self) -> float:
        if self._maps:
            return max(each.optimality_gap for each in self._maps)
        self._fitted_layout()
        return float(np.max(self._arrays.get("optimality_gap", 0.0)))

    @takes_frames
    def fit(
        self,
        labels: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        ignore_index: int | None = None,
        label_distributions: ArrayLike | None = None,
        multilabel: bool = False,
    ) -> Self:
        """Fits the map to held-out examples; a fit that fails changes nothing.

        With `multilabel` each label has a map of its own, in `maps`.

        Args:
          labels: integer class labels in [0, K), shape [...], of examples on which the
            model was not trained.
          logits: logits of the same shape, instead of `probabilities`.
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          sample_weight: weight of each example, >= 0, broadcastable to the labels.
          ignore_index: a label whose examples are left out.
          label_distributions: instead of labels, the share of each class among votes,
            [..., K] (conventions.md#label-distributions).
          multilabel: whether labels are 0 or 1, shape [..., L]
            (conventions.md#multilabel).

        Returns:
          The object itself.

        Raises:
          RuntimeError: the fit has not converged.
          ValueError: an argument is not as described, `logits` are rows of
            probabilities, or the examples do not determine the map, for example if all
            have one class.
        """
        _checks.boolean("multilabel", multilabel)
        if multilabel:
            if not self._takes_labels:
                check_no_labels(self, multilabel)
            check_labels_alone(labels, label_distributions)
            self._maps = self._fitted_maps(
                labels, logits, probabilities, sample_weight, ignore_index
            )
            self._arrays, self._layout = {}, None
            return self
        layout, examples = self._read(
            labels,
            logits,
            probabilities,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
            label_distributions=label_distributions,
        )
        self._arrays = self._fitted_arrays(examples)
        self._layout = layout
        self._maps = ()
        return self

    def _fitted_maps(
        self,
        labels: Any,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        sample_weight: ArrayLike | None,
        ignore_index: int | None,
    ) -> tuple[Self, ...]:
        """Returns a map for each of L labels [..., L]."""
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        given = logits if name == "logits" else probabilities
        predictions = _inputs.as_array(name, given)
        labels = _inputs.as_array("labels", labels)
        number = _checks.number_of_labels(labels.shape, predictions.shape, name)
        weights = sample_weight
        if weights is not None:
            weights = _inputs.sample_weights(weights, labels.shape)
            weights = weights.reshape(-1, number)
        maps = []
        for label in range(number):
            column: dict[str, Any] = {name: predictions[..., label].ravel()}
            try:
                each = type(self)(**self.get_config()).fit(
                    labels[..., label].ravel(),
                    **column,
                    sample_weight=None if weights is None else weights[:, label],
                    ignore_index=ignore_index,
                )
            except (ValueError, RuntimeError) as wrong:
                raise type(wrong)(f"Label {label}: {wrong}") from None
            maps.append(each)
        return tuple(maps)

    def transform(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> np.ndarray:
        """Applies the map to forecasts.

        Args:
          logits: logits of the classes of `fit`, shape [..., K]; or of class 1, shape
            [...] or [..., 1], if `fit` had logits of class 1.
          probabilities: predicted probabilities in [0, 1], instead of `logits`.

        Returns:
          Calibrated logits for logits, and probabilities for probabilities, of the same
          shape and floating type; float64 for integers. Rows of probabilities sum to 1.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        if self._maps:
            name = _checks.exactly_one(logits=logits, probabilities=probabilities)
            given = logits if name == "logits" else probabilities
            array, number = _inputs.as_array(name, given), len(self._maps)
            if array.ndim < 2 or array.shape[-1] != number:
                expected = f"of shape [..., {number}], the labels of `fit`"
                raise _checks.error(name, expected, f"shape {list(array.shape)}")
            columns: list[dict[str, Any]] = [
                {name: array[..., label].ravel()} for label in range(number)
            ]
            pairs = zip(self._maps, columns, strict=True)
            mapped = np.stack([each.transform(**x) for each, x in pairs], axis=-1)
            return mapped.reshape(array.shape)
        name, rows, shape, dtype = self._checked(logits, probabilities)
        mapped = self._fitted_layout().restored(name, self._mapped(name, rows))
        return mapped.reshape(shape).astype(dtype)

    def _checked(
        self, logits: ArrayLike | None, probabilities: ArrayLike | None
    ) -> Predictions:
        """Returns checked predictions, in the layout of the fit."""
        layout = self._fitted_layout()
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        predictions = logits if name == "logits" else probabilities
        array, shape = self._arranged(name, _inputs.as_array(name, predictions))
        rows = layout.rows(name, array)
        if name == "probabilities":
            check_some(name, rows)
        return Predictions(name, rows, shape, _inputs.result_dtype(array))

    def _read(
        self,
        labels: ArrayLike | None,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> tuple[Layout, _examples.Examples]:
        """Returns the layout of the predictions, and checked examples."""
        data = ClassifierData(
            labels=labels, logits=logits, probabilities=probabilities, **options
        )
        examples = _examples.examples_of(data)
        if examples.name == "probabilities":
            p = _inputs.check_probabilities(
                examples.predictions, examples.name, examples.place
            )
            check_some(examples.name, p)
        predictions = logits if examples.name == "logits" else probabilities
        shape = examples.counted.shape
        layout = Layout.of(examples.name, shape, shape_of(predictions))
        return layout, examples.with_one_label_each()

    def _arranged(
        self, name: str, array: np.ndarray
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        """Returns predictions [..., K] or of class 1, and the shape of the result."""
        return array, array.shape

    def _fitted_arrays(self, examples: _examples.Examples) -> dict[str, np.ndarray]:
        """Returns the arrays, by name, of the map fitted to these examples."""
        raise NotImplementedError

    @abc.abstractmethod
    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns float64 calibrated predictions [N, K] of checked ones: logits if the
        name is "logits", else probabilities.
        """

    def _check(self, layout: Layout, arrays: dict[str, np.ndarray]) -> None:
        """Raises ValueError unless the arrays of a file are a valid map."""
        raise NotImplementedError

    def _fitted_layout(self) -> Layout:
        if self._maps:
            raise _checks.plain_error(
                "Each label has a map of its own: read those in `maps`.", repr(self)
            )
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
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.
        """
        maps = self._maps or (self,)
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "class": type(self).__name__,
            "config": self.get_config(),
            "layout": maps[0]._layout,
            "labels": len(self._maps),
        }
        text = np.array(json.dumps(header, sort_keys=True))
        entries: dict[str, Any] = {"header": text, **self._arrays}
        for label, each in enumerate(self._maps):
            entries |= {f"{x}_{label}": array for x, array in each._arrays.items()}
        with _saved.opened(path, "wb") as file:
            np.savez(file, **entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | IO[bytes]) -> Self:
        """Returns the object that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file holds something else, or is damaged.
        """
        with _saved.opened(path, "rb") as file:
            try:
                return cls._loaded(_archive.Archive(file))
            except ValueError as wrong:
                reason = str(wrong)
            except Exception as wrong:  # The header is missing, or not valid.
                reason = type(wrong).__name__
        expected = f"a file that `save` wrote for {cls.__name__}"
        reason = reason.encode("unicode_escape", "replace").decode()[:200]
        raise _checks.error("path", expected, reason)

    @classmethod
    def _loaded(cls, archive: _archive.Archive) -> Self:
        if archive.stated_bytes("header") > _MAX_HEADER:
            raise ValueError("the header is too long")
        header = json.loads(archive.read(["header"])["header"].item())
        required = {"format": _FORMAT, "version": _VERSION, "class": cls.__name__}
        for name, expected in required.items():
            if header[name] != expected:
                raise _checks.error(name, repr(expected), repr(header[name])[:100])
        calibrator = cls(**header["config"])
        names = [name for name in archive.names if name != "header"]
        layout, number = header["layout"], header["labels"]
        layout = None if layout is None else Layout.checked(layout)
        if type(number) is not int or not 0 <= number <= len(names):
            raise _checks.error("labels", "a number of labels", number, verb="have")
        endings = [f"_{label}" for label in range(number)] or [""]
        own = () if layout is None else cls._names
        expected_names = [name + ending for ending in endings for name in own]
        if sorted(names) != sorted(expected_names):
            raise ValueError(f"the file holds {names}, not {expected_names}")
        arrays = archive.read(names)
        maps = []
        for ending in endings:
            each = cls(**header["config"])
            each._arrays = {name: arrays[name + ending] for name in own}
            if layout is not None:
                for name, array in each._arrays.items():
                    if array.dtype != np.dtype(np.float64):
                        raise _checks.error(name, "of type float64", array.dtype)
                each._check(layout, each._arrays)
                each._layout = layout
            maps.append(each)
        if not number:
            return maps[0]
        calibrator._maps = tuple(maps)
        return calibrator


def check_no_distributions(calibrator: Calibrator, distributions: Any) -> None:
    """Raises ValueError for a calibrator whose examples must have one label each."""
    if distributions is not None:
        raise _checks.error(
            "label_distributions",
            f"None for {type(calibrator).__name__}: pass the most frequent class as "
            "`labels`",
            "distributions",
        )


def check_labels_alone(labels: Any, distributions: Any) -> None:
    """Raises ValueError unless several labels are given, and no distributions."""
    if distributions is not None:
        expected = "None with `multilabel`"
        raise _checks.error("label_distributions", expected, "distributions")
    if labels is None:
        raise _checks.error("labels", "0 or 1, of shape [..., L]", None)


def check_no_labels(calibrator: Calibrator, multilabel: bool) -> None:
    """Raises ValueError for a calibrator that has one map for all classes."""
    if multilabel is not False:
        expected = f"False for {type(calibrator).__name__}: take `PlattScaling`"
        raise _checks.error("multilabel", expected, multilabel)


def check_two(labels: np.ndarray) -> None:
    """Raises ValueError if all labels are equal."""
    if np.all(labels == labels[0]):
        raise _checks.error(
            "labels", "two classes or more", f"{labels[0]} alone", verb="hold"
        )


def check_array(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless an array of a file has this shape and is finite."""
    if array.shape != shape:
        raise _checks.error(name, f"of shape {list(shape)}", list(array.shape))
    if not np.all(np.isfinite(array)):
        raise _checks.error(name, "finite", "NaN or infinite numbers")
