"""The words of a report for what its calibration is judged by."""

from __future__ import annotations

from typing import Any, NamedTuple


class Terms(NamedTuple):
    """The words for the scores and outcomes by which calibration is judged.

    Attributes:
      score: the noun for a score.
      outcome: the noun for the mean outcome, which a calibrated score equals.
      over: what scores are called that are too high on average.
      under: what scores are called that are too low on average.
    """

    score: str
    outcome: str
    over: str
    under: str

    @property
    def of_event(self) -> bool:
        """Whether the scores are probabilities of an event."""
        return self != _OF_DECISIONS

    @property
    def gap(self) -> str:
        """What the difference of outcome and score is called."""
        return f"{self.outcome} less {self.score}"


_OF_DECISIONS = Terms("confidence", "accuracy", "overconfident", "underconfident")


def terms_of(event: str | None) -> Terms:
    """Returns the words for decisions or answers; or for the probabilities of an event
    with this name.
    """
    if event is None:
        return _OF_DECISIONS
    return Terms(f"P({event})", f"share of {event}", "too high", "too low")


def terms_in(report: dict[str, Any]) -> Terms:
    """Returns the words for the report on one model."""
    return terms_of(report["calibration"]["event"])


def capitalized(words: str) -> str:
    """Returns words with a capital letter first, and the others as they are."""
    return words[:1].upper() + words[1:]
