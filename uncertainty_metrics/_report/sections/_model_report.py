"""The report on one model: sections, each with its numbers, words and pictures."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from uncertainty_metrics._report.data._predictions import Predictions, task_of
from uncertainty_metrics._report.sections._blocks import Block, Picture, Tile
from uncertainty_metrics.version import __version__

PACKAGE = "uncertainty_metrics"
SEED = 0  # The same in every report, so that a report can be repeated.


class ReportPicture(NamedTuple):
    """A picture of the report.

    Attributes:
      file: the name of the file.
      shows: the content of the picture, for the help of the command and the guide.
      draw: a function of models by name and a number of bins that returns the figure; a
        single model has the name "".
      is_drawn: a function of models and a number of bins that says whether these have
        the picture; the report is about the first model.
    """

    file: str
    shows: str
    draw: Callable[[dict[str, Any], int], Any]
    is_drawn: Callable[[Sequence[Any], int], bool] = lambda models, num_bins: True

    def block(self, alt: str, caption: str) -> Picture:
        """Returns the picture as a block: what it shows, and how to read it."""
        return Picture(self.file, alt, caption)


class Section(abc.ABC):
    """A section of the report: its numbers are the fields of a frozen dataclass.

    Attributes:
      name: the key of the section in report.json.
      heading: the heading of its chapter; "" if it has none.
      tasks: the tasks of models that may have it.
      pictures: its pictures.
    """

    name: ClassVar[str]
    heading: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    pictures: ClassVar[tuple[ReportPicture, ...]] = ()

    @classmethod
    @abc.abstractmethod
    def of(cls, report: ModelReport) -> Section | None:
        """Computes the section from the model of a report and from the sections before
        this one; None if the model has no such section.
        """

    @classmethod
    def options(cls, num_bins: int) -> dict[str, float]:
        """Returns the parameters of the section that the report lists."""
        del num_bins
        return {}

    def tiles(self, report: ModelReport) -> Iterable[Tile]:
        """Returns the findings of the section for the verdict."""
        del report
        return ()

    def blocks(self, report: ModelReport) -> Iterable[Block]:
        """Returns what the chapter shows: texts, tables and pictures, in order."""
        del report
        return ()

    def as_json(self) -> dict[str, Any]:
        """Returns the numbers and words of the section for report.json."""
        return _fields(self)


AnySection = TypeVar("AnySection", bound=Section)


@dataclasses.dataclass(frozen=True, eq=False)
class ModelReport:
    """The report on one model, perhaps beside another one.

    Attributes:
      model: the predictions, a `Model`: of which class, a section knows by its tasks.
      num_bins: number of bins of every metric.
      notes: sentences for the reader.
      sections: in the order in which a reader sees them.
      tiles: the verdict.
      other: the report on a model to compare, or None.
    """

    model: Any
    num_bins: int
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    tiles: tuple[Tile, ...] = ()
    other: ModelReport | None = None

    @property
    def task(self) -> str:
        return task_of(self.model)

    @property
    def title(self) -> str:
        """The name of the model."""
        members = self.model.members if isinstance(self.model, Predictions) else 1
        mean = f", the mean of {members} members" if members > 1 else ""
        return f"{self.model.source}{mean}"

    @property
    def both_drawn(self) -> str:
        """A sentence for the caption of a picture, if the report is on two models."""
        return "" if self.other is None else " Both models are drawn."

    def get(self, kind: type[AnySection]) -> AnySection | None:
        """Returns the section of a kind, or None."""
        for section in self.sections:
            if isinstance(section, kind):
                return section
        return None

    def __getitem__(self, kind: type[AnySection]) -> AnySection:
        """Returns the section of a kind that every model of this task has."""
        section = self.get(kind)
        if section is None:
            raise KeyError(kind.__name__)
        return section

    @property
    def options(self) -> dict[str, float]:
        """The parameters of the sections."""
        options: dict[str, float] = {"num_bins": self.num_bins, "seed": SEED}
        for section in self.sections:
            options |= section.options(self.num_bins)
        return options

    def to_dict(self) -> dict[str, Any]:
        """Returns all that report.json holds: also which package made the report."""
        return {
            "package": PACKAGE,
            "version": __version__,
            "task": self.task,
            "options": self.options,
            **self.as_json(),
        }

    def as_json(self) -> dict[str, Any]:
        """Returns the numbers and words of the report on this model."""
        return {
            "source": self.model.source,
            "notes": [*self.notes],
            "tiles": [tile._asdict() for tile in self.tiles],
            **{section.name: section.as_json() for section in self.sections},
        }


def _fields(value: Any) -> dict[str, Any]:
    """Returns the fields of a dataclass; one that is None by default only if it is not
    None.
    """
    return {
        field.name: plain(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.default is not None or getattr(value, field.name) is not None
    }


def plain(value: Any) -> Any:
    """Returns dataclasses and tuples as new dicts and lists."""
    if hasattr(value, "as_json"):
        return value.as_json()
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
