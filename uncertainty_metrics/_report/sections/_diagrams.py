"""Figures of one diagram, or of a panel for each model, of the pictures of a report.

Models are a dict from their names in legends to predictions; a single model has the
name "".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._decided import decisions_of, examples_of
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Rows,
    Stream,
    rows_of,
)
from uncertainty_metrics._report.data._row_clusters import clusters_of, in_clusters
from uncertainty_metrics._report.sections._calibration_words import Terms, capitalized

# In inches. A phone shows this width on the whole screen, so text is large enough.
_WIDTH = 4.5


def arguments_of(
    models: Mapping[str, Decided], with_clusters: bool = False
) -> dict[str, Any]:
    """Returns one model, or several, as arguments of a diagram, which takes clusters if
    `with_clusters`.
    """
    # A model without rows in memory has decisions alone: then those of all are drawn.
    by_decisions = any(
        isinstance(model, Confidences | Stream) for model in models.values()
    )
    given: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        if by_decisions:
            given[name] = decisions_of(model).arguments
            if with_clusters:
                given[name]["clusters"] = clusters_of(model)
        else:
            examples = examples_of(model)
            given[name] = {
                "labels": in_clusters(model, examples) if with_clusters else examples
            }
    return by_argument_of(given)


def by_argument_of(given: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns the arguments of each model as arguments of a diagram of all models."""
    names = next(iter(given.values()))
    by_argument = {key: {name: given[name][key] for name in given} for key in names}
    return {key: values.get("", values) for key, values in by_argument.items()}


def rows_of_each(models: Mapping[str, Decided]) -> dict[str, Rows]:
    """Returns the rows of the models that have rows."""
    each_rows = {name: rows_of(model) for name, model in models.items()}
    return {name: rows for name, rows in each_rows.items() if rows is not None}


def drawn(height: float, draw_on: Callable[..., Any], **options: Any) -> Any:
    """Returns a figure of one diagram, which `draw_on` draws."""
    figure = _figure(height)
    draw_on(ax=_axes_of(figure), **options)
    _finish(figure)
    return figure


def panels(
    height: float, draw_one: Callable[..., Any], models: dict[str, Any], title: str
) -> Any:
    """Draws a panel for each model, one below the other, on the same scales."""
    from uncertainty_metrics.visualization import _series

    figure = _figure(height * len(models))
    if "" not in models:
        figure.suptitle(title, fontsize="medium")
    parts = figure.subfigures(len(models), squeeze=False)[:, 0]
    axes = []
    for part, (name, of_model) in zip(parts, models.items(), strict=True):
        axes.append(_axes_of(part))
        draw_one(of_model, ax=axes[-1], title=_series.plain(name) or title)
        _finish(part)
    limits = np.array([[ax.get_xlim(), ax.get_ylim()] for ax in axes])
    lows, highs = limits.min(axis=(0, 2)), limits.max(axis=(0, 2))
    for ax in axes:
        ends = lows[1], highs[1]
        inverted = ax.yaxis_inverted()
        ax.set(xlim=(lows[0], highs[0]), ylim=ends[::-1] if inverted else ends)
    return figure


def on_own_scales(
    height: float, draw_one: Callable[..., Any], models: Mapping[str, Any]
) -> Any:
    """Draws a panel for each title, one below the other, each on scales of its own, and
    one legend for all.
    """
    from uncertainty_metrics.visualization import _series

    figure = _figure(height * len(models))
    for ax, (title, given) in zip(
        figure.subplots(len(models), squeeze=False)[:, 0], models.items(), strict=True
    ):
        draw_one(given, ax=_series.own(ax))
        ax.set_title(_series.plain(title))
        locator = ax.xaxis.get_major_locator()
        dates = _optional.require("matplotlib.dates")
        if isinstance(locator, dates.DateLocator):
            locator = dates.AutoDateLocator(maxticks=6)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        else:
            ax.locator_params(axis="x", nbins=5)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    _series.legend_below(figure, handles, labels, len(labels))
    figure.legends[0].set_frame_on(False)
    return figure


def of_outcomes(figure: Any, terms: Terms) -> Any:
    """Returns a figure with the name of the mean outcome, which is no accuracy if there
    are grades or votes.
    """
    if terms.key == "accuracy":
        return figure
    from uncertainty_metrics.visualization import _series

    def renamed(text: str) -> str:
        text = text.replace("Accuracy", capitalized(terms.outcome))
        return text.replace("accuracy", terms.outcome)

    for artist in figure.findobj():
        if hasattr(artist, "set_text"):
            artist.set_text(renamed(artist.get_text()))
        if tips := getattr(artist, _series.TIPS, ()):
            _series.set_tips(artist, *map(renamed, tips))
    return figure


def _finish(figure: Any) -> None:
    """Draws few ticks, because their numbers are large, and legends without frames."""
    for ax in figure.axes:
        if ax.get_xlim() != (0, 1):
            ax.locator_params(axis="x", nbins=5)
    for legend in figure.legends:
        legend.set_frame_on(False)


def _axes_of(figure: Any) -> Any:
    from uncertainty_metrics.visualization import _series

    return _series.own(figure.add_subplot())


def _figure(height: float) -> Any:
    module = _optional.require("matplotlib.figure")
    return module.Figure(figsize=(_WIDTH, height), layout="constrained")
