# As written by scripts/write_stubs.py.
from typing import overload
import io
import reprlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _spec
from uncertainty_metrics._spec import CalibrationSpec
from uncertainty_metrics.numpy import (
    _arguments,
    _exact_sums,
    _inputs,
    _saved,
    _sketch_before,
    _sketch_grid,
    _sketch_sums,
    _tables,
)
from uncertainty_metrics.numpy._score_cells import Cells
from uncertainty_metrics.numpy._sketch_sums import ROWS, SketchSums
if TYPE_CHECKING:
    from typing_extensions import Self
_FORMAT = _saved.Format("ScoreSketch", 1, ("config", "classes", "count", "lowest"))
_ROUNDING = 1e-6
_MAX_COUNT = 2**62
class _Held(NamedTuple):
    """What updates change, together.

    Attributes:
      classes: number of classes, None where it is not known.
      sums: None before the first example.
    """

    classes: int | None
    sums: SketchSums | None
class SketchState:
    """A sketch of scores without the questions."""

    def __init__(
        self,
        *,
        positive_class: bool = False,
        max_prob: bool = True,
        class_conditional: bool = False,
        num_classes: int | None = None,
        ignore_index: int | None = None,
        sketch_bits: int | None = None,
    ):
        ...

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        ...

    def __repr__(self) -> str:
        ...

    def _bits(self, classes: int) -> tuple[int, ...]:
        ...

    def _num_cells(self, classes: int) -> int:
        """Returns the number of cells of all groups."""
        ...

    def _sums_of_file(
        self, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], classes: int
    ) -> SketchSums:
        """Returns the sums of a file, also of one with the cells of before."""
        ...

    @_arguments.of_classifier
    def update(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        labels_predicted: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the sketch as it was.

        Args:
          labels: integers in [0, K), shape [...].
          probabilities: in [0, 1], shape [..., K], [..., 1] or [...].
          logits: instead of `probabilities`, floating of the same shape.
          probs: another name for `probabilities`.
          labels_predicted: decision labels, shape of the labels; by default the argmax.
          sample_weight: finite and >= 0, broadcastable to the labels.

        Raises:
          ValueError: an argument is not as described.
        """
        ...

    def reset(self) -> None:
        """Forgets all examples."""
        ...

    def _groups(self) -> list[Cells]:
        """Returns the cells of each group.

        Raises:
          ValueError: there are no examples yet.
        """
        ...

    def _unit(self) -> float:
        """Returns the number of examples in a weight of 1, at least 1.

        Raises:
          ValueError: it is not known.
        """
        ...

    def __add__(self, other: Self) -> Self:
        ...

    def __radd__(self, other: object) -> Self:
        ...

    def _differences(self, other: SketchState) -> str:
        """Returns in what two sketches differ that must not, for a message."""
        ...

    def __eq__(self, other: object) -> bool:
        ...

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        ...

    def save(self, path: _saved.Path) -> None:
        """Writes the sketch as an .npz archive without pickles, which `load` reads.

        Args:
          path: where to, as it is: no ending is added. Or a file opened for writing
            bytes.
        """
        ...

    @classmethod
    def _of(
        cls, config: dict[str, Any], classes: int | None, sums: SketchSums | None
    ) -> Self:
        """Makes a sketch that holds something."""
        ...

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a sketch that `save` wrote. Nothing in the file is executed.

        Args:
          path: the file, or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, or of a later version, or it is
            damaged. Names and sizes are looked at before anything is unpacked: a file
            does not become more than 128 MiB or 128 times its size.
        """
        ...
