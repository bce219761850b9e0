"""The words of a report for what its calibration is judged by."""

from __future__ import annotations

from typing import NamedTuple

from uncertainty_metrics._report.data._decided import name_of_event
from uncertainty_metrics._report.data._predictions import (
    Decided,
    has_grades,
    votes_of,
)


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
        return self not in (_OF_DECISIONS, _OF_GRADES, _OF_VOTES)

    @property
    def gap(self) -> str:
        """What the difference of outcome and score is called."""
        return f"{self.outcome} less {self.score}"

    @property
    def grade(self) -> str:
        """What the outcome of one example is called, if it may be between 0 and 1."""
        return self.outcome.removeprefix("mean ")

    @property
    def key(self) -> str:
        """The name of the mean outcome of decisions or answers in `report.json`."""
        return "accuracy" if self.of_event else self.outcome.replace(" ", "_")


_OF_DECISIONS = Terms("confidence", "accuracy", "overconfident", "underconfident")
_OF_GRADES = _OF_DECISIONS._replace(outcome="mean grade")
_OF_VOTES = _OF_DECISIONS._replace(outcome="mean share of votes")

# The end of the caption of a picture, if examples come in clusters.
ON_PICTURES = (
    " Bands and bars are those of clusters; where few clusters are near a score they "
    "are wide."
)


def terms_of(event: str | None) -> Terms:
    """Returns the words for decisions or answers; or for the probabilities of an event
    with this name.
    """
    if event is None:
        return _OF_DECISIONS
    return Terms(f"P({event})", f"share of {event}", "too high", "too low")


def terms_for(model: Decided) -> Terms:
    """Returns the words for what the calibration of a model is judged by."""
    if votes_of(model) is not None:
        return _OF_VOTES
    return _OF_GRADES if has_grades(model) else terms_of(name_of_event(model))


def brier_of_grades(model: Decided) -> str:
    """Returns what the Brier score of a model with grades is."""
    grade = "the grade"
    if votes_of(model) is not None:
        grade = "the share of the votes for the decided class"
    return f"the mean of g (1 - p)^2 + (1 - g) p^2, g {grade} and p the confidence"


def capitalized(words: str) -> str:
    """Returns words with a capital letter first, and the others as they are."""
    return words[:1].upper() + words[1:]
