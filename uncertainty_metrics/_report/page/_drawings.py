"""Draws the pictures of the calibration report, which `_picture_list` lists.

Models are a dict from their names in legends to predictions; a single model has the
name "".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _optional
from uncertainty_metrics._report.data._decided import (
    decisions_of,
    event_of,
    examples_of,
    examples_of_event,
    name_of_event,
)
from uncertainty_metrics._report.data._normal_forecasts import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._report.data._predictions import (
    Confidences,
    Decided,
    Predictions,
    Regression,
    Rows,
    Stream,
    Survival,
    rows_of,
)
from uncertainty_metrics._report.data._risks import Risks, has_risks, risks_of
from uncertainty_metrics._report.sections._bootstrap_intervals import INTERVAL_LEVEL
from uncertainty_metrics._report.sections._calibration_words import Terms, terms_of
from uncertainty_metrics._report.sections._drift import drift_of, statistics_of
from uncertainty_metrics._report.sections._groups import table_of
from uncertainty_metrics._report.sections._posterior import ece_draws
from uncertainty_metrics._report.sections._recalibration import recalibrated
from uncertainty_metrics._report.sections._risk import THRESHOLDS, amount, if_defined
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy.calibration.watching.calibration_by_group import (
    CalibrationByGroup,
)

# In inches. A phone shows this width on the whole screen, so text is large enough.
_WIDTH = 4.5
# Of the histogram of risks; rare events have most risks near 0.
_BINS_OF_RISKS = 50
# Groups of equal size that are drawn on the calibration curve of risks.
_GROUPS_OF_RISKS = 10
# Two reports of the same data draw the same bands.
_SEED = 0
# Most letters in the name of a group: a longer name leaves no room for the gap.
_LONGEST = 28


def _arguments(models: Mapping[str, Decided]) -> dict[str, Any]:
    """Returns one model, or several, as arguments of a diagram."""
    # A model without rows in memory has decisions alone: then those of all are drawn.
    by_decisions = any(
        isinstance(model, Confidences | Stream) for model in models.values()
    )
    given: dict[str, dict[str, Any]] = {
        name: decisions_of(model).arguments
        if by_decisions
        else {"labels": examples_of(model)}
        for name, model in models.items()
    }
    return _by_argument(given)


def _by_argument(given: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns the arguments of each model as arguments of a diagram of all models."""
    names = next(iter(given.values()))
    by_argument = {key: {name: given[name][key] for name in given} for key in names}
    return {key: values.get("", values) for key, values in by_argument.items()}


def draw_reliability(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws one reliability diagram with all models.

    If not all models have rows, it shows only the first: `draw_drift` shows both.
    """
    if any(isinstance(model, Stream) for model in models.values()):
        name, model = next(iter(models.items()))
        of_first = f" of {name}" if len(models) > 1 else ""
        return _drawn(
            6.2,
            _draw_curve,
            curve=_curve_of(model, num_bins),
            title=f"Reliability diagram{of_first}",
        )
    arguments, is_of_event = _arguments(models), False
    if all(event_of(model) is not None for model in models.values()):
        # All are rows, as no model is a stream.
        rows = {name: rows_of(model) for name, model in models.items()}
        of_event = {
            name: examples_of_event(each) for name, each in rows.items() if each
        }
        arguments = _by_argument({k: {"labels": each} for k, each in of_event.items()})
        is_of_event = True
    return _drawn(
        6.2,
        um.reliability_diagram,
        **arguments,
        num_bins=num_bins,
        error_bars=INTERVAL_LEVEL,
        consistency_band=INTERVAL_LEVEL,
        seed=_SEED,
        positive_class=is_of_event,
        title="Reliability diagram",
    )


def _curve_of(model: Decided, num_bins: int) -> Any:
    """Returns the reliability curve of all rows of a stream, with error bars."""
    from uncertainty_metrics.visualization import reliability_curves

    statistics = statistics_of(model, num_bins)
    curve = reliability_curves.curve_from_statistics(
        statistics, y_axis="accuracy" if event_of(model) is None else "frequency"
    )
    sizes = np.where(curve.sizes > 0, curve.sizes, np.nan)
    ends = _wilson.interval(curve.accuracies, sizes, INTERVAL_LEVEL)
    bars = reliability_curves.BinIntervals(INTERVAL_LEVEL, *ends)
    return dataclasses.replace(curve, error_bars=bars)


def _draw_curve(ax: Any, curve: Any, title: str) -> None:
    from uncertainty_metrics.visualization import reliability

    reliability.draw_reliability(curve, title=title, ax=ax)


def draw_drift(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws accuracy against confidence for two sets of examples in one diagram."""
    from uncertainty_metrics.visualization import drift

    return _drawn(
        6.2,
        drift.draw,
        drift=drift_of(list(models.values()), num_bins),
        names=list(models),
        level=INTERVAL_LEVEL,
        title="Reliability in both",
    )


def _rows_of_each(models: Mapping[str, Decided]) -> dict[str, Rows]:
    """Returns the rows of the models that have rows."""
    each_rows = {name: rows_of(model) for name, model in models.items()}
    return {name: rows for name, rows in each_rows.items() if rows is not None}


def draw_risk_coverage(models: dict[str, Decided]) -> Any:
    """Draws one diagram with the risk-coverage curves of all models."""
    has_stream = any(isinstance(model, Stream) for model in models.values())
    return _drawn(
        4.6,
        um.risk_coverage_diagram,
        **_arguments(models),
        # The cells of a stream do not say how many examples have equal confidence.
        confidence_band=None if has_stream else INTERVAL_LEVEL,
        title="Risk-coverage diagram",
    )


def draw_recalibrated(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws a diagram before and after the best map for each model that has a map."""
    each_rows = _rows_of_each(models)
    of_maps = {name: recalibrated(rows, num_bins) for name, rows in each_rows.items()}
    return _panels(
        6.0,
        lambda of_model, **options: um.reliability_diagram(
            **of_model.data,
            **{of_model.kind: of_model.drawn},
            num_bins=num_bins,
            consistency_band=INTERVAL_LEVEL,
            seed=_SEED,
            positive_class=of_model.is_of_event,
            **options,
        ),
        {name: of_model for name, of_model in of_maps.items() if of_model.drawn},
        "Before and after recalibration",
    )


def draw_posteriors(models: dict[str, Decided], num_bins: int) -> Any:
    """Draws one diagram with the posteriors of the ECE of all models."""
    draws = {name: ece_draws(model, num_bins) for name, model in models.items()}
    title = f"Posterior of the ECE, {num_bins} bins"
    return _drawn(4.4, um.posterior_diagram, samples=draws, title=title)


def draw_risk_curve(models: dict[str, Any], num_bins: int) -> Any:
    """Draws the calibration curve of risks, of all models that give risks in one."""
    return _drawn(
        6.2,
        _draw_risk_curve,
        models=models,
        num_bins=max(num_bins, _BINS_OF_RISKS),
    )


def _draw_risk_curve(ax: Any, models: dict[str, Any], num_bins: int) -> None:
    from uncertainty_metrics.visualization import _series

    um.reliability_diagram(
        **_risks_by_argument(models),
        num_bins=num_bins,
        method="spline",
        error_bars=INTERVAL_LEVEL,
        positive_class=True,
        title="Calibration curve of the risks",
        ax=ax,
    )
    having = [risks_of(model) for model in models.values() if has_risks(model)]
    for i, risks in enumerate(having):
        _draw_grouped(ax, risks, _series.color(i), _series.marker(i))
    if len(models) == 1:
        legend = _optional.require("matplotlib.legend")
        (box,) = (each for each in ax.artists if isinstance(each, legend.Legend))
        (text,) = box.get_texts()
        text.set(text=_numbers_of_risks(having[0]), fontsize="small")


def _draw_grouped(ax: Any, risks: Risks, color: str, marker: str) -> None:
    """Draws how often the event came in groups of equal size, with intervals."""
    from uncertainty_metrics.visualization import _series

    bins = um.bin_statistics(
        **risks.arguments,
        binning_scheme="adaptive",
        num_bins=_GROUPS_OF_RISKS,
        positive_class=True,
    )
    some = bins.counts[0] > 0
    sizes = bins.counts[0, some] * (risks.sample_size / risks.total)
    means, shares = bins.confidences[0, some], bins.accuracies[0, some]
    low, high = _wilson.interval(shares, sizes, INTERVAL_LEVEL)
    ax.vlines(means, low, high, color=color, linewidth=1, zorder=3)
    style = {"facecolor": "white", "edgecolor": color, "marker": marker, "zorder": 4}
    drawn = ax.scatter(means, shares, s=24, clip_on=False, **style)
    _series.set_tips(
        drawn,
        *(
            f"mean risk {x:.3f}, came in {y:.3f} ({a:.3f} to {b:.3f}), n = {n:.6g}"
            for x, y, a, b, n in zip(means, shares, low, high, sizes, strict=True)
        ),
    )


def _numbers_of_risks(risks: Risks) -> str:
    """Returns lines with the numbers of a calibration curve."""
    index = um.integrated_calibration_index(**risks.arguments)
    values = {
        "O/E": if_defined(um.observed_expected_ratio, **risks.arguments),
        "Intercept": if_defined(um.calibration_intercept, **risks.arguments),
        "Slope": if_defined(um.calibration_slope, **risks.arguments),
        "AUROC": if_defined(
            um.auroc, risks.labels, risks.scores, sample_weight=risks.weights
        ),
        "ICI": index.ici,
    }
    lines = [
        f"{len(risks.labels):,} examples",
        f"{amount(risks.events)} with the event",
    ]
    for name, value in values.items():
        if value is not None:
            lines.append(f"{name} = {getattr(value, 'estimate', value):.3f}")
    return "\n".join(lines)


def draw_decision_curve(models: dict[str, Any]) -> Any:
    """Draws decision curves, of all models that give risks in one diagram."""
    return _drawn(
        4.6,
        um.decision_curve_diagram,
        **_risks_by_argument(models),
        thresholds=THRESHOLDS,
        title="Decision curve",
    )


def _risks_by_argument(models: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments by which diagrams take the risks of one model, or some.

    The weights of a survival model are not numbers of examples. They are divided so
    that their sum is the effective number, which the confidence band needs.
    """
    given: dict[str, dict[str, Any]] = {}
    for name, model in models.items():
        if has_risks(model):
            data = risks_of(model)
            weights = data.weights
            if isinstance(model, Survival) and weights is not None:
                weights = weights * (data.sample_size / data.total)
            given[name] = data._replace(weights=weights).arguments
    return _by_argument(given)


def draw_groups(models: dict[str, Decided]) -> Any:
    """Draws the gaps of the groups, for each model that has groups.

    If there is a single attribute, the title shows its name, and the groups show only
    their values.
    """
    from uncertainty_metrics.visualization import _series
    from uncertainty_metrics.visualization.groups import MOST_GROUPS

    rows = _rows_of_each(models)
    attributes = {_series.plain(name) for each in rows.values() for name in each.groups}
    alone = attributes.pop() if len(attributes) == 1 else ""
    tables = {name: table_of(each) for name, each in rows.items() if each.groups}
    most = max(len(table) for table in tables.values())
    terms = terms_of(name_of_event(next(iter(rows.values()))))
    return _panels(
        1.7 + 0.27 * min(most, MOST_GROUPS),
        lambda table, **options: _draw_groups(table, f"{alone}=", terms, **options),
        tables,
        f"Calibration by {_shortened(alone) or 'group'}",
    )


def _draw_groups(
    table: CalibrationByGroup, prefix: str, terms: Terms, ax: Any, title: str
) -> None:
    um.calibration_by_group_diagram(table, ax=ax, title=title)
    # Names of groups leave little width to the Axes, so the label is aligned right, and
    # its start is below the names.
    what = "Accuracy less mean confidence"
    if terms.of_event:
        what = "Share of the event less its probability"
    ax.set_xlabel(
        f"{what}\n" + rf"{terms.over} $\leftarrow$   $\rightarrow$ {terms.under}",
        loc="right",
    )
    names = [text.get_text().removeprefix(prefix) for text in ax.get_yticklabels()]
    ax.set_yticklabels([_shortened(name) for name in names])


def _shortened(name: str) -> str:
    """Returns a name whose middle is left out if it is long."""
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - len("...")) // 2
    return f"{name[:half]}...{name[-half:]}"


def draw_ensembles(models: dict[str, Predictions], num_bins: int) -> Any:
    """Draws a diagram for each model that is an ensemble."""
    return _panels(
        4.8,
        lambda model, **options: um.ensemble_calibration_diagram(
            **model.arguments, num_bins=num_bins, **options
        ),
        {
            name: model
            for name, model in models.items()
            if isinstance(model, Predictions) and model.members > 1
        },
        "Calibration of the ensemble",
    )


def draw_coverages(models: dict[str, Regression], num_bins: int) -> Any:
    """Draws one diagram with the coverage of intervals of all models."""
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    return _drawn(5.4, _draw_curves, data=data, num_bins=num_bins)


def _draw_curves(ax: Any, data: dict[str, dict[str, Any]], num_bins: int) -> None:
    from uncertainty_metrics.visualization import _series, regression

    for i, (name, arguments) in enumerate(data.items()):
        curve = um.regression.compute_calibration_curve(**arguments, n_bins=num_bins)
        error = um.regression.expected_calibration_error(**arguments, n_bins=num_bins)
        regression.draw_curve(
            ax,
            curve,
            color=_series.color(i),
            marker=_series.marker(i),
            label=_series.label(name, f"ECE = {error:.3f}"),
        )
    regression.label_coverages(ax)
    _series.finish(ax, True, "Coverage of intervals")


def draw_pit_histograms(models: dict[str, Regression], num_bins: int) -> Any:
    """Draws a histogram of the PIT values for each model."""
    return _panels(
        4.0,
        lambda triple, **options: um.regression.pit_diagram(
            um.regression.probability_integral_transform(*triple),
            num_bins,
            consistency_band=INTERVAL_LEVEL,
            **options,
        ),
        _triples(models),
        "PIT histogram",
    )


def draw_errors(models: dict[str, Regression]) -> Any:
    """Draws errors against predicted standard deviations, a panel for each model."""
    return _panels(
        4.4,
        lambda triple, **options: um.regression.uncertainty_error_diagram(
            *triple, **options
        ),
        _triples(models),
        "Uncertainty and error",
    )


def _triples(models: dict[str, Regression]) -> dict[str, tuple[Any, ...]]:
    """Returns predictions, variances and targets by the names of the models."""
    data = {name: normal_arguments(forecasts_of(it)) for name, it in models.items()}
    return {name: tuple(of_model.values())[:3] for name, of_model in data.items()}


def _drawn(height: float, draw_on: Callable[..., Any], **options: Any) -> Any:
    """Returns a figure of one diagram, which `draw_on` draws."""
    figure = _figure(height)
    draw_on(ax=_axes_of(figure), **options)
    _finish(figure)
    return figure


def _panels(
    height: float, draw_one: Callable[..., Any], models: dict[str, Any], title: str
) -> Any:
    """Draws a panel for each model, one below the other, on the same scales."""
    from uncertainty_metrics.visualization import _series

    figure = _figure(height * len(models))
    if "" not in models:
        figure.suptitle(title, fontsize="medium")
    parts = figure.subfigures(len(models), squeeze=False)[:, 0]
    panels = []
    for part, (name, of_model) in zip(parts, models.items(), strict=True):
        panels.append(_axes_of(part))
        draw_one(of_model, ax=panels[-1], title=_series.plain(name) or title)
        _finish(part)
    limits = np.array([[ax.get_xlim(), ax.get_ylim()] for ax in panels])
    lows, highs = limits.min(axis=(0, 2)), limits.max(axis=(0, 2))
    for ax in panels:
        ends = lows[1], highs[1]
        inverted = ax.yaxis_inverted()
        ax.set(xlim=(lows[0], highs[0]), ylim=ends[::-1] if inverted else ends)
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
