"""The data of reliability diagrams."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _calibration_spec, _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._calibration_spec import (
    DEFAULT_NUM_BINS,
    PRESETS,
    BinningScheme,
    CalibrationSpec,
    YAxis,
)
from uncertainty_metrics._results import AnyBinStatistics
from uncertainty_metrics.numpy import _examples, _shares, _text_tables, _wilson
from uncertainty_metrics.numpy._clusters import Clusters
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.bins import _binning, _simulated_bins
from uncertainty_metrics.visualization import _series

__all__ = [
    "BinIntervals",
    "ReliabilityCurve",
    "curve_from_statistics",
    "reliability_curve",
]

# The level at which sizes are found if there are no error bars.
DEFAULT_LEVEL = 0.95
# Labels are redrawn between _MIN_RESAMPLES and _MAX_RESAMPLES times: fewer times if
# there are more examples, so that about _MAX_RESAMPLED labels are drawn in all.
_MAX_RESAMPLES, _MIN_RESAMPLES, _MAX_RESAMPLED = 1000, 200, 100_000_000


class BinIntervals(NamedTuple):
    """An interval of the accuracy of each bin, NaN for an empty bin.

    Attributes:
      level: probability with which each interval holds its accuracy, in (0, 1).
      lower: lower ends, in [0, 1], shape [groups, bins].
      upper: upper ends, in [0, 1], shape [groups, bins].
    """

    level: float
    lower: np.ndarray
    upper: np.ndarray


@dataclasses.dataclass(frozen=True)
class CurveOptions:
    """The options of `reliability_curve`, which describes them."""

    num_bins: int
    binning_scheme: BinningScheme
    class_conditional: bool
    y_axis: YAxis
    threshold: float
    datapoints_per_bin: int | None
    error_bars: float | None
    consistency_band: float | Literal[False] | None
    seed: Any
    positive_class: bool | None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReliabilityCurve(_tables.Table):
    """The numbers of a reliability diagram: one row per group of scores.

    There is one group, or one per class or label. Means of an empty bin are NaN, so
    that plots draw nothing there. It prints as a table with a row for each bin;
    `to_dict`, `to_frame`, `to_markdown` and `to_latex` return the table in these forms.

    Attributes:
      y_axis: "accuracy" or "frequency": the meaning of `accuracies`.
      edges: the bins, `(edges[g, b], edges[g, b + 1]]`, shape [groups, bins + 1].
      counts: total weight in each bin, shape [groups, bins].
      confidences: mean score of each bin, NaN if it is empty, shape [groups, bins].
      accuracies: mean outcome of each bin, NaN if it is empty, shape [groups, bins].
      gaps: `accuracies - confidences`, in [-1, 1]; negative is overconfident.
      proportions: share of the group's weight in each bin, shape [groups, bins].
      errors: l1 calibration error of each group, `sum_b proportions |gaps|`, shape
        [groups]; 0 for a group without scores.
      error: mean of `errors`, which is the calibration error of all groups.
      sizes: number of examples in each bin, shape [groups, bins]; with weights the
        effective number, `(sum w)^2 / sum w^2`, and with clusters the number of
        independent examples that would tell the accuracy as well.
      error_bars: `BinIntervals` of the accuracies, or None.
      consistency_band: `BinIntervals` of the accuracies that a calibrated model would
        have with the same scores, or None.
    """

    y_axis: YAxis
    edges: np.ndarray
    counts: np.ndarray
    confidences: np.ndarray
    accuracies: np.ndarray
    gaps: np.ndarray
    proportions: np.ndarray
    errors: np.ndarray
    error: float
    sizes: np.ndarray
    error_bars: BinIntervals | None = None
    consistency_band: BinIntervals | None = None

    @property
    def num_groups(self) -> int:
        """Number of groups."""
        return len(self.counts)

    def _columns(self) -> dict[str, list[Any]]:
        groups, bins = self.counts.shape
        columns = {
            "group": np.repeat(np.arange(groups), bins),
            "lower": self.edges[:, :-1],
            "upper": self.edges[:, 1:],
            "count": self.counts,
            "proportion": self.proportions,
            "confidence": self.confidences,
            self.y_axis: self.accuracies,
            "gap": self.gaps,
            "size": self.sizes,
        }
        for name in ("error_bars", "consistency_band"):
            intervals = getattr(self, name)
            if intervals is not None:
                columns[f"{name}_lower"] = intervals.lower
                columns[f"{name}_upper"] = intervals.upper
        return {name: values.reshape(-1).tolist() for name, values in columns.items()}

    def _shown(self) -> _tables.Shown:
        groups, bins = self.counts.shape
        means = self.confidences, self.accuracies, self.gaps
        header = ("group", "from", "to", "count", "confidence", self.y_axis, "gap")
        mean = _tables.means(self.counts.ravel().tolist())

        def row(i: int) -> list[object]:
            at = group, start = divmod(i, bins)
            ends = self.edges[group, start : start + 2].tolist()
            count = float(self.counts[at])
            shown = [mean(values[at]) for values in means] if count > 0 else ["--"] * 3
            return [group, *ends, count, *shown][groups == 1 :]

        return _tables.Shown(header[groups == 1 :], groups * bins, row)

    def __repr__(self) -> str:
        error = _tables.means([self.counts.sum().item()])(self.error)
        title = f"ReliabilityCurve: calibration error {error}"
        return f"{title}\n{_text_tables.table(*self._shown())}"


def curve_from_statistics(
    statistics: AnyBinStatistics, *, y_axis: YAxis = "accuracy"
) -> ReliabilityCurve:
    """The data of a reliability diagram, from bin statistics.

    Args:
      statistics: sums in each bin, in any arrays that NumPy can read.
      y_axis: "accuracy" if an outcome is "the decision is right", "frequency" if it is
        "the label is this class". It only names the axes.

    Returns:
      A `ReliabilityCurve`, float64, whose `sizes` are the counts.

    Raises:
      ValueError: `y_axis` is neither "accuracy" nor "frequency".

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> from uncertainty_metrics.visualization import reliability
      >>> stats = um.bin_statistics(
      ...     correct=[1, 0, 1, 1], confidences=[0.9, 0.6, 0.8, 0.7], num_bins=2
      ... )
      >>> curve = reliability.curve_from_statistics(stats)
      >>> curve.accuracies.tolist(), curve.proportions.tolist()
      ([[nan, 0.75]], [[0.0, 1.0]])
    """
    _checks.one_of("y_axis", y_axis, _calibration_spec.Y_AXES)
    edges, counts, score_sums, outcome_sums = (
        np.asarray(values, np.float64)
        for values in (
            statistics.edges,
            statistics.counts,
            statistics.score_sums,
            statistics.outcome_sums,
        )
    )
    statistics = _binning.BinStatistics(
        edges, counts, score_sums, outcome_sums, statistics.additive
    )
    is_filled = counts > 0
    totals = counts.sum(axis=1, keepdims=True)
    proportions = counts / np.where(totals > 0, totals, 1.0)
    confidences = np.where(is_filled, statistics.confidences, np.nan)
    accuracies = np.where(is_filled, statistics.accuracies, np.nan)
    gaps = accuracies - confidences
    return ReliabilityCurve(
        y_axis=y_axis,
        edges=edges,
        counts=counts,
        confidences=confidences,
        accuracies=accuracies,
        gaps=gaps,
        proportions=proportions,
        errors=np.nansum(proportions * np.abs(gaps), axis=1),
        error=_binning.calibration_error(statistics, "l1"),
        sizes=counts,
    )


@takes_frames
def reliability_curve(
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    *,
    num_bins: int = DEFAULT_NUM_BINS,
    binning_scheme: BinningScheme = "even",
    class_conditional: bool = False,
    y_axis: YAxis = "accuracy",
    threshold: float = 0.0,
    datapoints_per_bin: int | None = None,
    logits: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    labels_predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
    error_bars: float | None = None,
    consistency_band: float | None = None,
    seed: Any = None,
    positive_class: bool | None = None,
    correct: ArrayLike | None = None,
    confidences: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    label_distributions: ArrayLike | None = None,
    multilabel: bool = False,
) -> ReliabilityCurve:
    """The data of a reliability diagram.

    The options choose the scores and outcomes that are binned, and so the metric that
    `error` equals (for even bins; for adaptive bins it equals `gce` with the same
    options):

      y_axis       class_conditional  score, outcome                        error
      "accuracy"   False              p of the decision, decision is right  ece
      "accuracy"   True               the same, by decided class            gce
      "frequency"  False, K = 2 (**)  p_1, label == 1                       ece (*)
      "frequency"  False, K > 2       p_k, label == k, all pairs pooled     gce
      "frequency"  True               p_k, label == k, by class k           sce

    With `multilabel=True` it is the last row, with a group for every label.

    (*) with `positive_class=True`. (**) `positive_class=True` chooses this row, too.

    Error bars and band need independent examples, or `clusters=`. With clusters an
    error bar is that of a ratio of the sums of the clusters in the bin, with Student's
    quantile, as in `sensitivity`; in the band the signs of (outcome - score) flip in
    whole clusters, and their spread is at least that of labels drawn from the
    forecasts. `studies/cluster_coverage_pictures.py` shows how often a calibrated model
    is inside.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1].
      num_bins: number of bins.
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
      class_conditional: whether every class is a group with bins of its own.
      y_axis: "accuracy", or "frequency" for the forecaster's diagram.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: Only for "adaptive": number of examples in a bin, instead of
        `num_bins`.
      logits: logits of the same shape, instead of `probabilities`.
      probs: another name for `probabilities`.
      labels_predicted: decided class of each example [...]; by default the argmax.
      sample_weight: weight of each example, >= 0, broadcastable to the labels.
      ignore_index: a label whose examples are left out.
      error_bars: level in (0, 1) of Wilson's intervals of the accuracies, such as 0.95;
        None computes none. They are for `sizes` independent outcomes, and have a
        positive length even if all outcomes of a bin are the same.
      consistency_band: level in (0, 1) of the intervals in which a calibrated model
        would have its accuracies, from labels that are drawn from the forecasts; None
        computes none.
      seed: Only for `consistency_band`: seed of the drawn labels, all that
        `np.random.default_rng` takes. None draws new labels in each call.
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means False, with a warning for one column
        (conventions.md#two-classes).
      correct: right (1), wrong (0) or a grade between, [...] (conventions.md#answers).
      confidences: with `correct`, P(right) in [0, 1], [...] (conventions.md#answers).
      clusters: cluster of each example, integers or strings (conventions.md#clusters).
      label_distributions: instead of labels, the share of each class among votes,
        [..., K] (conventions.md#label-distributions).
      multilabel: whether labels are 0 or 1, shape [..., L] (conventions.md#multilabel).
        Every label is then a group with bins of its own.

    Returns:
      A `ReliabilityCurve` with one group, or one per class or label.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> curve = um.reliability_curve(
      ...     [0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], num_bins=5
      ... )
      >>> curve.counts.tolist(), round(curve.error, 6)
      ([[0.0, 0.0, 0.0, 2.0, 1.0]], 0.2)

    References:
      DeGroot and Fienberg (1983), The Comparison and Evaluation of Forecasters.
      Niculescu-Mizil and Caruana (2005), Predicting Good Probabilities with Supervised
      Learning. Broecker and Smith (2007), Increasing the Reliability of Reliability
      Diagrams.
    """
    return computed(
        ClassifierData(
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
        ),
        CurveOptions(
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
        ),
    )


def computed(data: ClassifierData, options: CurveOptions) -> ReliabilityCurve:
    """Returns the curve for the arguments of `reliability_curve`."""
    examples, spec, y_axis = read(data, options)
    error_bars = _series.level("error_bars", options.error_bars)
    consistency_band = _series.level("consistency_band", options.consistency_band)
    statistics = _binning.bin_statistics(examples, spec)
    curve = curve_from_statistics(statistics, y_axis=y_axis)
    bars = band = None
    if examples.clusters is not None:
        lower, upper, sizes = _of_clusters(
            examples, examples.clusters, spec, statistics, error_bars or DEFAULT_LEVEL
        )
        if error_bars is not None:
            bars = BinIntervals(error_bars, lower, upper)
    else:
        sizes = _simulated_bins.effective_sizes(examples, spec, statistics)
    curve = dataclasses.replace(curve, sizes=sizes)
    if error_bars is not None and bars is None:
        sizes = np.where(curve.sizes > 0, curve.sizes, 1.0)
        if examples.shares is not None:
            of_squares = dataclasses.replace(examples, shares=examples.shares**2)
            squares = _binning.bin_statistics(of_squares, spec).accuracies
            variances = np.maximum(squares - statistics.accuracies**2, 0.0)
            sizes = _wilson.size_of_grades(statistics.accuracies, variances, sizes)
        ends = _wilson.interval(curve.accuracies, sizes, error_bars)
        bars = BinIntervals(error_bars, *ends)
    if consistency_band is not None:
        draws = num_resamples(len(examples.labels))
        ends = _simulated_bins.consistency_band(
            examples, spec, consistency_band, draws, options.seed
        )
        band = BinIntervals(consistency_band, *ends)
    return dataclasses.replace(curve, error_bars=bars, consistency_band=band)


def _of_clusters(
    examples: _examples.Examples,
    clusters: Clusters,
    spec: CalibrationSpec,
    statistics: _binning.BinStatistics,
    level: float,
) -> list[np.ndarray]:
    """Returns both ends of the error bars and the sizes, each [groups, bins]."""
    scored = _simulated_bins.entries(examples, spec, statistics)
    columns = scored.cells.shape[1]
    weights = np.ones(len(scored.cells))
    if examples.weights is not None:
        weights = examples.weights
    found = _shares.intervals_of_bins(
        scored.outcomes.reshape(-1),
        np.repeat(weights, columns),
        clusters._replace(codes=np.repeat(clusters.codes, columns)),
        scored.cells.reshape(-1),
        scored.num_cells + 1,
        level,
    )
    return [each[:-1].reshape(statistics.counts.shape) for each in found]


def read(
    data: ClassifierData, options: CurveOptions
) -> tuple[_examples.Examples, CalibrationSpec, YAxis]:
    """Returns the examples, the options of the bins, and the meaning of the y-axis."""
    y_axis = options.y_axis
    _checks.one_of("y_axis", y_axis, _calibration_spec.Y_AXES)
    _checks.boolean("multilabel", data.multilabel)
    if data.multilabel:
        y_axis = "frequency"
    spec = dataclasses.replace(
        PRESETS["expected_calibration_error"],
        max_prob=y_axis == "accuracy" or data.has_confidences,
        binning_scheme=options.binning_scheme,
        class_conditional=True if data.multilabel else options.class_conditional,
        num_bins=options.num_bins,
        threshold=options.threshold,
        datapoints_per_bin=options.datapoints_per_bin,
        positive_class=options.positive_class,
    )
    examples, spec = _binning.read(data, spec)
    number = None if examples.clusters is None else examples.clusters.number
    if number == len(examples.labels) and examples.weights is None:
        examples = dataclasses.replace(examples, clusters=None)
    if data.has_confidences:
        return examples, spec, y_axis
    pooled = y_axis == "frequency" and not spec.class_conditional
    if pooled and examples.num_classes == 2:
        # Pooling both classes would show every forecast twice, p and 1 - p.
        spec = dataclasses.replace(spec, positive_class=True)
    return examples, spec, "frequency" if spec.positive_class else y_axis


def num_resamples(num_examples: int) -> int:
    """Returns how often to redraw the labels of this number of examples."""
    size = _MAX_RESAMPLED // num_examples
    return max(_MIN_RESAMPLES, min(_MAX_RESAMPLES, size))
