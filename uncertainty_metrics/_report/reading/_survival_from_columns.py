"""From arrays, or the columns of a file, to the predictions of a survival model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from uncertainty_metrics import _checks
from uncertainty_metrics._report.data._predictions import Survival
from uncertainty_metrics._report.data._risks import checked_risks
from uncertainty_metrics._report.reading import _column_names
from uncertainty_metrics._report.reading._column_names import (
    Choice,
    among,
    existing,
    listed,
)
from uncertainty_metrics._report.reading._typed_commands import typed
from uncertainty_metrics.numpy import _missing, class_names

_TIMES = ("time", "times", "duration", "durations")
_EVENTS = ("event", "events", "event_observed")
_SURVIVAL = ("survival", "survival_probability")
_RISKS = ("risk", "risks")
# The arguments of `um.report`.
ARGUMENTS = ("times", "event", "survival", "at")


class SurvivalNames(NamedTuple):
    """The names of the columns or arrays of a survival model.

    Attributes:
      times: of the event or of the censoring.
      event: whether the event came.
      forecast: the probability of no event by the horizon, or of the event.
      is_risk: whether the forecast is of the event.
    """

    times: str
    event: str
    forecast: str
    is_risk: bool


def names_of(
    header: Iterable[str], choice: Choice, kind: str = "column"
) -> SurvivalNames | None:
    """Returns the names of a survival model; None if a file is not of one.

    Raises:
      ValueError: a name is missing or there twice, or the user does not say the
        horizon.
    """
    header = list(header)
    chosen = (
        [name for name in names if name is not None]
        for names in (
            (choice.times,),
            (choice.event,),
            (choice.survival, choice.risk),
        )
    )
    known_names = (_TIMES, _EVENTS, (*_SURVIVAL, *_RISKS))
    roles = [
        [existing(name, header, kind) for name in given] or among(header, known)
        for given, known in zip(chosen, known_names, strict=True)
    ]
    if choice.horizon is None:
        labels = among(header, _column_names.LABELS)
        is_one = all(roles) and not (labels or choice.of_classes)
        if is_one or choice.of_survival:
            raise ValueError(
                "a survival model needs --horizon, the time by which the event is "
                f"predicted: type {_command(header, choice, roles)}. Received: "
                f"{listed(header)}"
            )
        return None
    if choice.of_answers or choice.of_classes or choice.of_regression or choice.groups:
        raise ValueError(
            "--horizon is for a survival model, and the other options are for a "
            "classifier, a regression or answers: leave out --horizon, or the other "
            "options"
        )
    spelled = (_TIMES[0], _EVENTS[0], f"{_SURVIVAL[0]} or {_RISKS[0]}")
    for names, known in zip(roles, spelled, strict=True):
        if len(names) != 1:
            raise ValueError(
                f"a survival model needs exactly one {kind} called {known}, or named "
                f"with an option, as in {_command(header, choice, roles)}. Received: "
                f"{listed(names or header)}"
            )
    times, event, forecast = (names[0] for names in roles)
    return SurvivalNames(times, event, forecast, _is_risk(forecast, choice))


def _is_risk(forecast: str, choice: Choice) -> bool:
    """Says whether a forecast is the probability of the event, not of none."""
    if forecast in (choice.risk, choice.survival):
        return forecast == choice.risk
    return forecast.lower() not in _SURVIVAL


def _command(header: Sequence[str], choice: Choice, roles: Sequence[list[str]]) -> str:
    """Returns a command that names all columns of a survival model.

    A column that is not known is the next one that has no other role.
    """
    known = [names[0] for names in roles if names]
    rest = iter([*(n for n in header if n not in known), *(3 * ["NAME"])])
    times, event, forecast = (names[0] if names else next(rest) for names in roles)
    option = "risk" if _is_risk(forecast, choice) else "survival"
    at = "TIME" if choice.horizon is None else f"{choice.horizon:g}"
    named = {"horizon": at, "times": times, "event": event, option: forecast}
    return typed(choice, **named)


def survival_of(
    source: str,
    names: SurvivalNames,
    arrays: Mapping[str, Any],
    at: Any,
    sample_weight: Any = None,
    left_out: tuple[str, ...] = (),
) -> Survival:
    """Returns the predictions of a survival model.

    Args:
      source: name of the file.
      names: of the arrays.
      arrays: by their names.
      at: the horizon.
      sample_weight: or None.
      left_out: names of the arrays or columns that mean nothing here.

    Raises:
      ValueError: a value is not as described.
    """
    horizon = _checks.number(at)
    if not 0 <= horizon < np.inf:
        raise _checks.error("at", "a finite time >= 0", repr(at))
    for name in (names.times, names.event):
        _missing.refuse_masked(name, arrays[name])
    times = np.asarray(arrays[names.times])
    forecast = checked_risks(names.forecast, arrays[names.forecast], times.shape)
    event = class_names.text_array(np.asarray(arrays[names.event]), names.event)
    risks = forecast if names.is_risk else 1 - forecast
    return Survival(source, times, event, risks, horizon, sample_weight, left_out)


def survival_of_arguments(
    source: str, given: Mapping[str, Any], sample_weight: Any
) -> Survival:
    """Returns the predictions of a survival model, of the arguments of `um.report`."""
    if sorted(given) != sorted(ARGUMENTS):
        raise ValueError(
            "A survival model needs `times`, `event`, `survival` and `at`, and no "
            f"other predictions. Received: {listed(sorted(given))}"
        )
    names = SurvivalNames("times", "event", "survival", is_risk=False)
    return survival_of(source, names, given, given["at"], sample_weight)
