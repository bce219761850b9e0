"""What the tiles of a report find, from p-values and numbers of examples."""

from __future__ import annotations

from uncertainty_metrics._report.sections._blocks import Tile
from uncertainty_metrics._report.sections._calibration_words import capitalized
from uncertainty_metrics._report.sections._p_values import is_borderline, is_clear

# With fewer examples a verdict means almost nothing. Recalibration needs as many.
LEAST = 50
TOO_FEW_TO_SAY = "Too few to say"


def unless_few(tile: Tile, size: float) -> Tile:
    """Returns the tile; if there are few examples, the tile says this instead."""
    if size >= LEAST:
        return tile
    detail = tile.detail
    if not detail.startswith(TOO_FEW_TO_SAY):
        detail = f"From {size:.4g} example{'s' if size != 1 else ''}: {detail}"
    return tile._replace(value=TOO_FEW_TO_SAY, detail=detail, level="unclear")


def graded(p: float, finding: str, otherwise: str) -> tuple[str, str]:
    """Returns the finding for a p-value, and the level of the tile."""
    if is_clear(p):
        return finding, "bad"
    if is_borderline(p):
        return "Borderline", "unclear"
    return otherwise, "good"


def calibrated(p: float, direction: str | None) -> tuple[str, str]:
    """Returns the finding on calibration; the direction is a word such as
    "overconfident", or empty.
    """
    finding = capitalized(direction) if direction else "Miscalibrated"
    return graded(p, finding, "May be calibrated")
