# As written by scripts/write_stubs.py.
from typing import overload
import abc
import json
import os
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _archive, _arguments, _inputs, _saved
if TYPE_CHECKING:
    from typing_extensions import Self
_FORMAT = "uncertainty_metrics.Calibrator"
_VERSION = 1
_MAX_HEADER = 2**16
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
        ...

    @classmethod
    def checked(cls, value: Any) -> Layout:
        """Returns one that a file describes."""
        ...

    def check(self, name: str, shape: _checks.Shape) -> None:
        """Raises ValueError for the shape of predictions that are not like those of the
        fit, or of none.
        """
        ...

    def rows(self, name: str, array: np.ndarray) -> np.ndarray:
        """Returns checked predictions, floating [N, K]."""
        ...

    def restored(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns predictions [N, K], or of class 1, [N], of those of all classes."""
        ...
def shape_of(value: Any) -> _checks.Shape:
    """Returns the shape of what is an array, a tensor, or becomes one."""
    ...
def check_some(name: str, p: np.ndarray) -> None:
    """Raises ValueError for a row of probabilities that are all 0."""
    ...
def normalised(p: np.ndarray) -> np.ndarray:
    """Returns rows of sum 1; those of 0 stay."""
    ...
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
        ...

    @property
    def is_fitted(self) -> bool:
        ...

    @property
    def optimality_gap(self) -> float:
        ...

    @_arguments.of_classifier
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
          logits: instead of `probabilities`, floating of the same shape.
          probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
          sample_weight: finite and >= 0, broadcastable to the labels.
          ignore_index: examples with this label are left out.

        Returns:
          The object itself.

        Raises:
          RuntimeError: the fit has not converged.
          ValueError: an argument is not as described, `logits` are rows of
            probabilities, or the examples leave the map open, as those of one class do.
        """
        ...

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
        ...

    def _read(
        self,
        labels: ArrayLike,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> tuple[Layout, _inputs.Examples]:
        """Returns the layout of predictions, and checked examples."""
        ...

    def _arranged(
        self, name: str, array: np.ndarray
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        """Returns predictions [..., K] or of class 1, and the shape of their map."""
        ...

    def _found(self, examples: _inputs.Examples) -> dict[str, np.ndarray]:
        """Returns the arrays of the best map."""
        ...

    @abc.abstractmethod
    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Returns the map of checked predictions [N, K], in float64: the logits of
        "logits", else probabilities.
        """
        ...

    def _check(self, layout: Layout, arrays: dict[str, np.ndarray]) -> None:
        """Raises ValueError for arrays, of a file, that are no map."""
        ...

    def _fitted_layout(self) -> Layout:
        ...

    def _array(self, name: str) -> np.ndarray:
        ...

    def __repr__(self) -> str:
        ...

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        ...

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes the map to a file, an .npz archive without pickles.

        Args:
          path: where to, as it is: no ending is added. Or a file opened for writing
            bytes.
        """
        ...

    @classmethod
    def load(cls, path: str | os.PathLike[str] | IO[bytes]) -> Self:
        """Returns what `save` wrote. Nothing in the file is executed.

        Args:
          path: the file, or a file opened for reading bytes.

        Raises:
          ValueError: the file holds something else, or is damaged.
        """
        ...

    @classmethod
    def _loaded(cls, archive: _archive.Archive) -> Self:
        ...
def check_two(labels: np.ndarray) -> None:
    """Raises ValueError for labels of one class."""
    ...
def check_array(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless an array of a file has the shape, and is finite."""
    ...
