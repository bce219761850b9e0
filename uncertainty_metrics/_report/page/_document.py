"""The chapters of the report: what the sections show, in order."""

from __future__ import annotations

from typing import NamedTuple

from uncertainty_metrics._report.sections._blocks import Block
from uncertainty_metrics._report.sections._model_report import ModelReport


class Chapter(NamedTuple):
    """A chapter: its title, and its blocks in order."""

    title: str
    blocks: list[Block]


def chapters(report: ModelReport) -> list[Chapter]:
    """Returns a chapter for each section that has a heading."""
    return [
        Chapter(section.heading, [*section.blocks(report)])
        for section in report.sections
        if section.heading
    ]
