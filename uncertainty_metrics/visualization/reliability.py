"""Reliability diagrams.

`reliability_diagram` computes the data of a diagram and draws it. The two steps are
also separate, for callers that have bin statistics already, as metrics do:
`curve_from_statistics` computes the data, and `draw_reliability` draws them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    BinningScheme,
    CalibrationSpec,
    YAxis,
)
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.visualization import (
    _axes,
    _series,
    reliability_curves,
    score_curves,
)
from uncertainty_metrics.visualization import (
    _reliability_panel as _panel,
)
from uncertainty_metrics.visualization._reliability_panel import Curve
from uncertainty_metrics.visualization.reliability_curves import (
    BinIntervals,
    CurveOptions,
    ReliabilityCurve,
    curve_from_statistics,
    reliability_curve,
)
from uncertainty_metrics.visualization.score_curves import ScoreCurve

__all__ = [
    "MAX_PANELS",
    "BinIntervals",
    "ReliabilityCurve",
    "ReliabilityMethod",
    "curve_from_statistics",
    "draw_reliability",
    "reliability_curve",
    "reliability_diagram",
]

# With more classes than this, the panels of a figure are too small to read.
MAX_PANELS = 20
# Of more labels, those with the largest errors are drawn.
_MOST_LABELS = 12
_MAX_COLUMNS = 5

ReliabilityMethod = Literal["bins", "isotonic", "smooth", "spline"]
METHODS: tuple[ReliabilityMethod, ...] = get_args(ReliabilityMethod)


@takes_frames
def reliability_diagram(
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probabilities: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "even",
    class_conditional: bool = False,
    y_axis: YAxis = "accuracy",
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    probs: ArrayLike | Mapping[str, ArrayLike] | None = None,
    labels_predicted: ArrayLike | Mapping[str, ArrayLike] | None = None,
    sample_weight: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ignore_index: int | None = None,
    error_bars: float | None = None,
    consistency_band: float | Literal[False] | None = None,
    seed: Any = None,
    positive_class: bool | None = None,
    method: ReliabilityMethod = "bins",
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    correct: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidences: ArrayLike | Mapping[str, ArrayLike] | None = None,
    clusters: ArrayLike | Mapping[str, ArrayLike] | None = None,
    label_distributions: ArrayLike | Mapping[str, ArrayLike] | None = None,
    multilabel: bool = False,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Reliability diagram: how often predictions of each confidence are right.

    Each bin has a bar, whose height is its accuracy. The hatched part is the gap
    between the accuracy and the mean confidence. It is above the bar if the accuracy is
    too low, and at the top of the bar if it is too high. The dot has the mean
    confidence and the accuracy of the bin: it is on the diagonal if the bin is
    calibrated, and below it if the bin is overconfident. Bins of fewer than 5 examples
    have only a small dot. The strip at the top shows the share of the scores in each
    bin. The ECE is the mean of the gaps, weighted by these shares.

    With error bars or a band, and for several models, the diagram shows the dots on a
    line for each model, without bars.
    If the Axes already show a reliability diagram, the models are added to it.

    Three methods need no bins. "isotonic" draws the non-decreasing function of the
    score that fits the outcomes best. Its number is the miscalibration (MCB), by which
    the function would improve the Brier score of the outcomes. "smooth" draws the mean
    outcome around each score. Its number is the smooth calibration error (smECE), which
    is also the bandwidth of its Gaussian kernel (but at least 1/128); the strip at the
    top shows the density of the scores under this kernel. "spline" draws the logistic
    regression of the outcomes on a restricted cubic spline of the log-odds of the
    score, with a pointwise confidence band, as is usual for risk models. Its number is
    the mean distance from the diagonal, the integrated calibration index (ICI). For one
    model the strip at the top shows the share of the scores in each bin: upwards for
    the examples whose outcome is true, downwards for the others. Parts that are means
    of fewer than about 5 examples are faded; smooth curves of several models leave them
    out.

    With few examples a gap may be chance. The error bars say how well the data
    determine each accuracy. A dot or a line outside the consistency band is a gap that
    chance alone would rarely give a calibrated model. Bars and band hold for each bin
    or score, not for all together: about one of 20 bins of a calibrated model is
    outside a band of level 0.95. For several models one band is drawn: at each score
    the widest band of the models that have 5 or more examples there.

    Bars and bands need independent examples, or `clusters=`. With clusters a bar is
    that of a ratio of the sums of the clusters in the bin, with Student's quantile; in
    consistency bands the signs of (outcome - score) flip in whole clusters; and the
    band of "spline" has the sandwich variance of the clusters' scores.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. To compare models, pass a mapping from
        their names to their arrays; any array may be such a mapping.
      num_bins: number of bins; for "isotonic" and "spline" of the histogram at the top.
      binning_scheme: Only for method="bins": "even" (bins of equal width) or "adaptive"
        (of equal mass).
      class_conditional: whether to draw one panel per class: for "accuracy" with the
        examples decided as that class, for "frequency" with that class's probability.
      y_axis: "accuracy" of the decision against its confidence, or "frequency" for the
        forecaster's diagram: how often the label is class k against p_k, for class 1 of
        two classes and for all the pairs (example, class) of more.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      error_bars: level in (0, 1) of Wilson's intervals of the accuracies in bins, such
        as 0.95; None draws none. For "spline" the level of the confidence band, and
        None means 0.95.
      consistency_band: Not for "spline": level in (0, 1) of the band in which a
        calibrated model would have its accuracies. It comes from labels that are drawn
        from the forecasts, or with `clusters` from flipped signs, 200 to 1000 times.
        None means 0.95 for "isotonic" and no band for the other methods; False means no
        band.
      seed: Only for `consistency_band`: seed of the drawn labels, all that
        `np.random.default_rng` takes. None draws new labels in each call.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes). True makes `y_axis` "frequency".
      method: "bins", "isotonic", "smooth" or "spline".
      classes: Only for a panel per class: the classes to draw, at most 20; by default
        all of them.
      class_names: Only for a panel per class: the names of all K classes, for the
        titles.
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        Each label has a panel then, and of more than 12 labels the 12 with the largest
        error are drawn. `classes` and `class_names` are those of the labels.
      title: title of the diagram, or of the figure made for the grid of panels.
      ax: matplotlib Axes to draw in; for several panels, an array with Axes for
        each panel. By default a new pyplot figure, which is not shown and has a
        legend; in Axes of your own, `ax.legend()` adds a legend.

    Returns:
      The matplotlib Axes; with `class_conditional` or `multilabel`, an array of Axes in
      the order of the classes or labels, of shape [panels] or the shape of `ax`.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
      >>> ax = um.reliability_diagram(
      ...     [0, 1, 1], probabilities, num_bins=5, ax=Figure().subplots()
      ... )
      >>> ax.get_xlabel(), ax.get_ylabel()
      ('Confidence', 'Accuracy')

    References:
      DeGroot and Fienberg (1983), The Comparison and Evaluation of Forecasters.
      Broecker and Smith (2007), Increasing the Reliability of Reliability Diagrams.
      Guo et al. (2017), On Calibration of Modern Neural Networks.
      Dimitriadis, Gneiting and Jordan (2021), Stable Reliability Diagrams for
      Probabilistic Classifiers. Blasiok and Nakkiran (2023), Smooth ECE: Principled
      Reliability Diagrams via Kernel Smoothing. Austin and Steyerberg (2019), The
      Integrated Calibration Index (ICI) and Related Metrics.
    """
    _checks.one_of("method", method, METHODS)
    data = ClassifierData(
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        probs=probs,
        labels_predicted=labels_predicted,
        sample_weight=sample_weight,
        ignore_index=ignore_index,
        correct=correct,
        confidences=confidences,
        clusters=clusters,
        label_distributions=label_distributions,
        multilabel=multilabel,
    )
    options = CurveOptions(
        num_bins=num_bins,
        binning_scheme=binning_scheme,
        class_conditional=class_conditional,
        y_axis=y_axis,
        threshold=threshold,
        datapoints_per_bin=datapoints_per_bin,
        error_bars=error_bars,
        consistency_band=consistency_band,
        seed=seed,
        positive_class=positive_class,
    )
    curves = _series.each_model(lambda one: _computed(method, one, options), data)
    if list(curves) == [""]:
        if multilabel:
            return _draw_labels(curves[""], classes, class_names, title, ax)
        return _draw(curves[""], classes, class_names, title, None, ax)
    for name, value in (
        ("class_conditional", class_conditional),
        ("multilabel", multilabel),
    ):
        if value:
            raise _checks.error(name, "False for several models", True)
    _check_no_grid(classes, class_names)
    return _draw_models(cast(dict[str, Curve], curves), title, None, ax)


def _computed(
    method: ReliabilityMethod, data: ClassifierData, options: CurveOptions
) -> Curve | list[ScoreCurve]:
    """Returns the curve of a model; a list of curves for classes without bins."""
    if method != "bins":
        curves = score_curves.score_curves(method, data, options)
        return curves if len(curves) > 1 else curves[0]
    if options.consistency_band is False:
        options = dataclasses.replace(options, consistency_band=None)
    return reliability_curves.computed(data, options)


def draw_reliability(
    curve: ReliabilityCurve,
    *,
    classes: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    annotation: str | None = None,
    ax: Any = None,
) -> Any:
    """Draws a `ReliabilityCurve`; a grid of panels if it has more than one group.

    Args:
      curve: the data of the diagram.
      classes: for a curve of several groups, the groups to draw.
      class_names: for a curve of several groups, the names of all groups.
      title: title of the diagram, or of the figure made for the grid of panels.
      annotation: text above the diagram, for a curve of one group; by default its ECE.
      ax: matplotlib Axes to draw in, or an array with Axes for each panel. By default a
        new pyplot figure, which is not shown and has a legend.

    Returns:
      The matplotlib Axes, or an array of Axes.

    Raises:
      ImportError: matplotlib is not installed.
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from matplotlib.figure import Figure
      >>> from uncertainty_metrics.visualization import reliability
      >>> curve = um.reliability_curve(
      ...     correct=[0, 1, 1, 1, 0], confidences=[0.7, 0.7, 0.7, 0.7, 0.7]
      ... )
      >>> ax = reliability.draw_reliability(curve, ax=Figure().subplots())
      >>> [float(bar.get_height()) for bar in ax.containers[0]]
      [0.6]
    """
    return _draw(curve, classes, class_names, title, annotation, ax)


# By function: the method that shows its result best, and its name in a diagram.
_DIAGRAMS: dict[str, tuple[ReliabilityMethod, str]] = {
    "debiased_calibration_error": ("bins", "Debiased error"),
    "smooth_calibration_error": ("smooth", "smECE"),
    "kolmogorov_smirnov_calibration_error": ("isotonic", "KS"),
    "kuiper_calibration_error": ("isotonic", "Kuiper"),
    "averaged_two_bin_calibration_error": ("isotonic", "ATB"),
}


def method_of(function: str | None) -> ReliabilityMethod:
    """Returns the method of the diagram of a streaming metric, by its function."""
    return _DIAGRAMS.get(function or "", ("bins", ""))[0]


def plot_metric(
    sums: AnyBinStatistics | Cells | None,
    spec: CalibrationSpec,
    value: float,
    function: str | None = None,
    classes: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draws the examples that a streaming calibration error has seen.

    Args:
      sums: statistics of NumPy arrays, or cells if the method of `method_of` needs no
        bins; None if there is no state yet.
      spec: the options of the metric.
      value: the result of the metric.
      function: the name of the function of the metric.
      classes: for several groups, the groups to draw.
      ax: matplotlib Axes to draw in; by default those of a new figure.
    """
    if sums is None:
        raise _checks.plain_error(
            "There is nothing to plot yet: call `update_state` first.", "no batch"
        )
    if np.isnan(value):
        raise _checks.plain_error(
            "There is nothing to plot, because a batch was not valid: call "
            "`reset_state`, and update with valid batches.",
            "a result of NaN",
        )
    method, name = _DIAGRAMS.get(function or "", ("bins", _short_name(spec)))
    text = f"{name} = {value:.3f}"
    y_axis: YAxis = "accuracy" if spec.uses_decision else "frequency"
    curve: Curve
    if isinstance(sums, Cells) and method != "bins":
        curve = score_curves.curve_from_cells(sums, method, y_axis=y_axis)
    else:
        assert not isinstance(sums, Cells)
        curve = curve_from_statistics(sums, y_axis=y_axis)
    if isinstance(curve, ReliabilityCurve) and curve.num_groups > 1:
        title = text if ax is None else None
        return _draw(curve, classes, None, title, None, ax)
    return _draw(curve, classes, None, None, text, ax)


def _short_name(spec: CalibrationSpec) -> str:
    """Returns the name that a diagram gives the error with these options."""
    if spec.positive_class or not spec.class_conditional:
        return {"l1": "ECE", "l2": "RMSCE", "max": "MCE"}[spec.norm]
    if spec.max_prob or spec.norm != "l1":
        return "Calibration error"
    if spec.binning_scheme == "even":
        return "SCE"
    return "TACE" if spec.threshold > 0 else "ACE"


def _draw(
    curve: Curve | list[ScoreCurve],
    classes: Sequence[int] | None,
    class_names: Sequence[str] | None,
    title: str | None,
    annotation: str | None,
    ax: Any,
) -> Any:
    """Draws a model, as a grid of panels if it has more than one group."""
    if isinstance(curve, list) or (
        isinstance(curve, ReliabilityCurve) and curve.num_groups > 1
    ):
        if annotation is not None:
            raise _checks.error(
                "annotation", "None for a diagram of several classes", annotation
            )
        return _draw_grid(curve, classes, class_names, title, ax)
    _check_no_grid(classes, class_names)
    return _draw_models({"": curve}, title, annotation, ax)


def _draw_models(
    curves: Mapping[str, Curve], title: str | None, annotation: str | None, ax: Any
) -> Any:
    """Draws models in one diagram, and adds them to the models that the Axes show."""
    ax, own = _series.axes(ax, 5, 6.4)
    drawn = _panel.earlier(ax)
    if drawn is not None:
        if not drawn.curves:
            raise _checks.error(
                "ax", "Axes without the diagram of a class", "Axes with one"
            )
        shown, given = (next(iter(c.values())).y_axis for c in (drawn.curves, curves))
        if shown != given:
            raise _checks.error(
                "y_axis", f"{shown!r}, as in the diagram that `ax` shows", given
            )
        curves, own = _panel.joined(drawn.curves, curves), drawn.own
        _panel.erase(ax, drawn)
    single = curves[""] if list(curves) == [""] else None
    with _panel.recorded(ax, dict(curves), own):
        if isinstance(single, ReliabilityCurve):
            _panel.draw_group(ax, single)
        else:
            _panel.draw_lines(ax, curves)
        if single is not None:
            text = _panel.annotation(single) if annotation is None else annotation
            _panel.draw_number(ax, text)
        if own or single is None:
            _panel.add_legend(ax, own, columns=1 if single is None else 2)
    _panel.label_axes(ax, next(iter(curves.values())))
    if title is not None:
        ax.set_title(title)
    return ax


def _check_no_grid(
    classes: Sequence[int] | None, class_names: Sequence[str] | None
) -> None:
    for name, value in (("classes", classes), ("class_names", class_names)):
        if value is not None:
            raise _checks.error(
                name,
                "None unless class_conditional=True or multilabel=True",
                repr(value),
            )


def _draw_labels(
    curve: Curve | list[ScoreCurve],
    labels: Sequence[int] | None,
    names: Sequence[str] | None,
    title: str | None,
    ax: Any,
) -> np.ndarray:
    """Draws one panel per label; of many labels those with the largest errors."""
    if isinstance(curve, ScoreCurve):
        curve = [curve]
    errors = [each.error for each in curve] if isinstance(curve, list) else curve.errors
    number = len(errors)
    if names is None:
        names = [f"Label {k}" for k in range(number)]
    if labels is None and number > _MOST_LABELS:
        worst = np.argsort(-np.asarray(errors), kind="stable")[:_MOST_LABELS]
        labels = np.sort(worst).tolist()
        if ax is None:
            chosen = f"the {_MOST_LABELS} of {number} labels with the largest error"
            title = f"{title}: {chosen}" if title else chosen.capitalize()
    return _draw_grid(curve, labels, names, title, ax)


def _draw_grid(
    curve: ReliabilityCurve | list[ScoreCurve],
    classes: Sequence[int] | None,
    class_names: Sequence[str] | None,
    title: str | None,
    ax: Any,
) -> np.ndarray:
    """Draws one panel per class."""
    groups = len(curve) if isinstance(curve, list) else curve.num_groups
    classes = _selected(classes, groups)
    if class_names is None:
        class_names = [f"Class {k}" for k in range(groups)]
    elif isinstance(class_names, str) or len(class_names) != groups:
        raise _checks.error(
            "class_names", f"{groups} names, one per class", class_names
        )
    own = ax is None
    if own:
        panels = _panels(len(classes))
    else:
        panels = np.atleast_1d(np.asarray(ax, dtype=object))
        if panels.size != len(classes):
            raise _checks.error(
                "ax",
                f"None, or an array of {len(classes)} matplotlib Axes, one per class",
                f"an array of {panels.size}",
            )
        if title is not None:
            raise _checks.error(
                "title", "None for Axes of your own: give these titles", repr(title)
            )
        for panel in panels.flat:
            _axes.check(panel)
            if _panel.earlier(panel) is not None:
                raise _checks.error("ax", "Axes without a diagram", "Axes with one")

    for k, panel in zip(classes, panels.flat, strict=True):
        of_class = curve[k] if isinstance(curve, list) else _panel.of_group(curve, k)
        with _panel.recorded(panel, {}, False):
            if isinstance(of_class, ScoreCurve):
                strip = _panel.draw_lines(panel, {"": of_class})
                size = of_class.size
            else:
                strip = _panel.draw_group(panel, of_class)
                size = of_class.counts.sum()
        strip.set_ylabel("")
        annotation = _panel.annotation(of_class)
        if of_class.y_axis == "accuracy" and size > 0:  # The groups differ in size.
            annotation += f", n = {size:.6g}"
        panel.set_title(f"{class_names[k]}\n{annotation}", fontsize="medium")
        _panel.label_axes(panel, of_class)
    if own:
        figure = panels[0].get_figure()
        columns = panels[0].get_gridspec().ncols
        for i, panel in enumerate(panels):
            if i % columns > 0:
                panel.set_ylabel("")
                panel.tick_params(labelleft=False)
            if i + columns < len(panels):  # There is a panel below it.
                panel.set_xlabel("")
                panel.tick_params(labelbottom=False)
        if title is not None:
            figure.suptitle(title)
        columns = 5 if columns > 3 else max(columns, 2)
        _panel.add_legend(panels[0], own, columns, panels)
    return panels


def _selected(classes: Sequence[int] | None, num_classes: int) -> list[int]:
    """Returns the checked classes to draw, all classes by default."""
    if classes is None:
        if num_classes > MAX_PANELS:
            raise _checks.error(
                "classes",
                f"a list of at most {MAX_PANELS} classes to draw, such as [0, 1, 2]",
                f"None with {num_classes} classes",
            )
        return list(range(num_classes))
    try:
        selected = [operator.index(k) for k in classes]
    except TypeError:
        selected = []
    if not (
        0 < len(selected) <= MAX_PANELS and all(0 <= k < num_classes for k in selected)
    ):
        raise _checks.error(
            "classes",
            f"1 to {MAX_PANELS} integers in [0, {num_classes})",
            repr(classes),
            verb="hold",
        )
    return selected


def _panels(number: int) -> np.ndarray:
    """Returns the Axes of a new figure, in rows of about equal length."""
    rows = -(-number // _MAX_COLUMNS)
    columns = -(-number // rows)
    figure = _axes.new_figure(max(2.4 * columns + 0.5, 5.5), 2.9 * rows + 1.0)
    panels = np.empty(number, dtype=object)
    for i in range(number):
        panels[i] = figure.add_subplot(rows, columns, i + 1)
    return panels
