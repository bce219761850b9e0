"""Label shift: classes that are rarer or more frequent in new data than in held-out
data, estimated without new labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _tables
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import (
    _clusters,
    _examples,
    _inputs,
    _row_math,
    _wilson,
)
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibrators import _calibrator
from uncertainty_metrics.numpy.calibrators import _class_priors as priors
from uncertainty_metrics.numpy.calibrators._shifted_samples import (
    Found,
    Map,
    Source,
    Target,
    adapted,
    ends_of,
    found_of_pairs,
    of_samples,
    p_value_of,
    random_weights,
)
from uncertainty_metrics.numpy.calibrators.calibration_loss import map_maker

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LabelShift"]

# With fewer examples of a class, intervals are too short.
_LEAST_SIZE = 5.0
# What is added to the estimated number of new examples of a class, for its interval.
_MORE = 10.0
# Numbers of an array of several resamples.
_BLOCK = 2**18
# Largest error of the sum of shares that are passed.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class ShiftedClasses(_tables.Table):
    """Shares of the classes in new data, as `LabelShift.adapt` returns them.

    It prints as a table; `to_dict`, `to_frame`, `to_markdown` and `to_latex` return it
    in these forms, with a row for each class.

    Attributes:
      prior: share of each class in the new data, float64 [K], of sum 1.
      lower: lower ends of the intervals of the shares, [K].
      upper: upper ends of the intervals of the shares, [K].
      source_prior: share of each class in the held-out data, [K].
      weights: prior / source_prior, [K]: `weights[labels]` are weights by which
        held-out examples stand for the new data.
      consistent: whether the forecasts of the new data look like those of the held-out
        data, of classes with these shares: `p_value` is at least 1 - level.
      p_value: of the test of this.
      accuracy: accuracy to expect in the new data from the decisions of `transform`:
        the mean confidence.
      accuracy_lower: lower end of its interval.
      accuracy_upper: upper end of its interval.
      level: of the intervals.
    """

    prior: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    source_prior: np.ndarray
    consistent: bool
    p_value: float
    accuracy: float
    accuracy_lower: float
    accuracy_upper: float
    level: float
    _fitted: LabelShift = dataclasses.field(repr=False)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each class, prior / source_prior, [K]."""
        return self.prior / self.source_prior

    def transform(
        self, probabilities: ArrayLike | None = None, logits: ArrayLike | None = None
    ) -> np.ndarray:
        """Returns probabilities for the new data: those of the map, times `weights`,
        and divided by their sum.

        Args:
          probabilities: predicted probabilities in [0, 1], shaped as in `fit`.
          logits: logits of the same shape, instead of `probabilities`.

        Returns:
          Probabilities of the same shape and floating type; float64 for integers.

        Raises:
          ValueError: an argument is not as described.
        """
        return self._fitted.transform(probabilities, logits, prior=self.prior)

    def __str__(self) -> str:
        shown = self._shown()
        cells = [list(shown.header), *shown.cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(x.rjust(w) for x, w in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )
        says = "may be" if self.consistent else "is not"
        verdict = f"The shift {says} one of classes only (p = {self.p_value:.3f})."
        return "\n".join([*lines, verdict])

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "class": list(range(len(self.prior))),
            "source_prior": list(self.source_prior),
            "prior": list(self.prior),
            "lower": list(self.lower),
            "upper": list(self.upper),
            "weight": list(self.weights),
        }

    def _shown(self) -> _tables.Shown:
        columns = list(self._columns().values())

        def row(index: int) -> list[object]:
            first, *others = (column[index] for column in columns)
            return [first, *(f"{value:.3f}" for value in others)]

        header = ("class", "held out", "new", "from", "to", "weight")
        return _tables.Shown(header, len(self.prior), row)


class LabelShift:
    """Label shift: how frequent the classes are in new data without labels, and the
    probabilities that follow.

    The shares of the classes changed, and examples of a class look as before. Then

      q_k = weights_k p_k / sum_j weights_j p_j,  weights_k = prior_k / source prior_k

    are the new probabilities, if p are calibrated. So `fit` first fits a map to
    held-out examples (Alexandari et al. 2020), and `adapt` finds the shares with the
    largest likelihood of new forecasts, the fixed point of the EM algorithm of Saerens
    et al. (2002). The source prior is the mean of the recalibrated forecasts.

    The default map is a temperature with a bias for each class,

      softmax(log p / T + b)

    of the largest likelihood; 1 / T has a penalty so small that it matters only for
    separable classes. The biases have none, so that the mean forecast of the map is the
    share of each class: what the maximum of the likelihood needs.

    Intervals and the test are bootstrapped: examples of both samples get random weights
    (exponential ones, for which no class vanishes), and map, shares and accuracy are
    computed anew. They are for independent examples, or with `clusters` for whole
    clusters with independent weights. The test compares how many new forecasts are in
    each cell (tenths of P(class 1) of two classes; decisions of low and of high
    confidence of more) with what the shares imply. A small p-value says that classes
    changed in more than their shares, or that the map does not calibrate. A large one
    does not show that the shift is one of classes: no test of forecasts can tell a
    shift of classes from every other one.
    With few held-out examples of a class, p-values are larger, and intervals wider, by
    Student's distribution; so a shift of classes only is found inconsistent in about
    5% of data sets, and in fewer where a class has five to ten held-out examples.

    `adapt` takes O((N + M) K^2) for each resample, of N held-out and M new examples.
    The simulations are `studies/label_shift.py`.

    Args:
      calibrator: the map: a class of calibrators, a calibrator, of which copies are
        fitted, or a function without arguments that returns a new one. None for the
        default.
      num_resamples: number of resamples of the bootstrap, at least 100.
      level: of the intervals, in (0, 1). 1 - level is that of the test.
      seed: seed of the resamples, all that `np.random.default_rng` takes.

    Attributes:
      is_fitted: whether there was a fit.

    Raises:
      ValueError, TypeError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(2)
      >>> def draw(n, share):  # Scores of both classes are Normal; p fits a half.
      ...     labels = rng.random(n) < share
      ...     return labels, 1 / (1 + np.exp(-2 * rng.normal(2.0 * labels - 1)))
      >>> shift = um.LabelShift().fit(*draw(2000, 0.5))
      >>> labels, p = draw(2000, 0.1)
      >>> new = shift.adapt(p)
      >>> print(new)
      class  held out    new   from     to  weight
          0     0.501  0.892  0.865  0.923   1.780
          1     0.499  0.108  0.077  0.135   0.217
      The shift may be one of classes only (p = 0.488).

    References:
      Saerens, Latinne and Decaestecker (2002), Adjusting the Outputs of a Classifier to
      New a Priori Probabilities: A Simple Procedure. Alexandari, Kundaje and Shrikumar
      (2020), Maximum Likelihood with Bias-Corrected Calibration is Hard-To-Beat at
      Label Shift Adaptation. Andrews (2002), Higher-Order Improvements of a
      Computationally Attractive k-Step Bootstrap for Extremum Estimators. Hesterberg
      (2015), What Teachers Should Know About the Bootstrap.
    """

    def __init__(
        self,
        *,
        calibrator: Any = None,
        num_resamples: int = 200,
        level: float = 0.95,
        seed: Any = 0,
    ) -> None:
        self._make = map_maker(calibrator)
        self._num_resamples = _checks.positive_integer("num_resamples", num_resamples)
        if self._num_resamples < 100:
            raise _checks.error("num_resamples", "at least 100", num_resamples)
        self._level = _checks.open_unit("level", level)
        self._seed = seed
        self._source: Source | None = None
        self._map: Map | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether there was a fit."""
        return self._source is not None

    @takes_frames
    def fit(
        self,
        labels: ArrayLike,
        probabilities: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fits the map to held-out examples; a fit that fails changes nothing.

        Args:
          labels: integer class labels in [0, K), shape [...], of examples on which the
            model was not trained.
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          sample_weight: weight of each example, >= 0, broadcastable to the labels.
          clusters: cluster of each example, integers or strings
            (conventions.md#clusters).

        Returns:
          The object itself.

        Raises:
          RuntimeError: the fit has not converged.
          ValueError: an argument is not as described, a class has fewer than five
            examples, or the forecasts do not tell two classes apart.
        """
        data = ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            clusters=clusters,
        )
        examples = _examples.examples_of(data).checked()
        predictions = logits if examples.name == "logits" else probabilities
        shape = examples.counted.shape
        layout = _calibrator.Layout.of(
            examples.name, shape, _calibrator.shape_of(predictions)
        )
        rows = _rows(examples.probabilities)
        weights = examples.weights
        if weights is None:
            weights = np.ones(len(rows))
        source = Source(layout, rows, examples.labels, weights, examples.clusters)
        sizes = _sizes(source)
        if min(sizes) < _LEAST_SIZE:
            k = int(np.argmin(sizes))
            what = "examples" if examples.weights is None else "effective examples"
            expected = f"at least {_LEAST_SIZE:.0f} {what} of each class"
            received = f"{sizes[k]:.3g} of class {k}"
            raise _checks.error("labels", expected, received, verb="hold")
        priors.check_distinct(rows, source.labels, weights)
        self._map = self._fitted_map(source)
        self._source = source
        return self

    def adapt(
        self,
        probabilities: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> ShiftedClasses:
        """Estimates the shares of the classes in new data.

        Args:
          probabilities: forecasts of new examples by the same model, shaped as in
            `fit`.
          logits: logits of the same shape, instead of `probabilities`.
          sample_weight: weight of each example, >= 0, broadcastable to the examples.
          clusters: cluster of each new example.

        Returns:
          The shares with their intervals, and what follows of them.

        Raises:
          RuntimeError: a fit has not converged.
          ValueError: there was no fit, or an argument is not as described.
        """
        source, of_all = self._require_fitted()
        target = _target(source.layout, probabilities, logits, sample_weight, clusters)
        places = priors.cells_of(of_all(source.rows), of_all(target.rows))
        number = max(int(each.max()) for each in places) + 1
        cells = [np.eye(number)[each] for each in places]
        found = of_samples(source, target, of_all, cells)
        draws = self._of_resamples(source, target, cells, found.prior[0])
        new_sizes = _size(target.weights) * found.prior[0] + _MORE
        rarest = min(_sizes(source))
        smallest = min(rarest, *new_sizes)
        lower, upper = ends_of(draws.prior, self._level, smallest)
        lowest, highest = ends_of(draws.accuracy, self._level, smallest)
        p_value = p_value_of(found, draws, rarest)
        return ShiftedClasses(
            found.prior[0],
            lower,
            upper,
            found.source_prior[0],
            p_value >= 1 - self._level,
            p_value,
            float(found.accuracy[0]),
            float(lowest),
            float(highest),
            self._level,
            self,
        )

    def transform(
        self,
        probabilities: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        *,
        prior: ArrayLike,
    ) -> np.ndarray:
        """Returns probabilities for data whose classes have known shares.

        Args:
          probabilities: predicted probabilities in [0, 1], shaped as in `fit`.
          logits: logits of the same shape, instead of `probabilities`.
          prior: share of each class, >= 0 and of sum 1, [K]; of one column of forecasts
            also the share of class 1.

        Returns:
          Probabilities of the same shape and floating type; float64 for integers.

        Raises:
          ValueError: there was no fit, or an argument is not as described.
        """
        source, of = self._require_fitted()
        shares = _shares(prior, source.layout)
        name = _checks.exactly_one(probabilities=probabilities, logits=logits)
        given = logits if name == "logits" else probabilities
        array = _inputs.as_array(name, given)
        rows = _rows_of(source.layout, name, array)
        source_prior = np.average(of(source.rows), axis=0, weights=source.weights)
        mapped = adapted(of(rows), shares, source_prior)
        restored = source.layout.restored("probabilities", mapped)
        return restored.reshape(array.shape).astype(_inputs.result_dtype(array))

    def _require_fitted(self) -> tuple[Source, Map]:
        if self._source is None or self._map is None:
            raise _checks.plain_error(
                "There is no map yet: call `fit` first.", "LabelShift, not fitted"
            )
        return self._source, self._map

    def _fitted_map(self, source: Source) -> Map:
        """Returns the map of probabilities [N, K]."""
        data = source.labels, source.weights
        if self._make is None:
            log_rows = np.log(source.rows)
            return _Default(priors.fit_slope_and_biases(log_rows, *data))
        fitted = self._make(source.rows).fit(
            data[0], probabilities=source.rows, sample_weight=data[1]
        )
        return _Fitted(fitted)

    def _of_resamples(
        self,
        source: Source,
        target: Target,
        cells: Sequence[np.ndarray],
        prior: np.ndarray,
    ) -> Found:
        """Returns what samples say with random weights of their examples, or clusters;
        `prior` is that of the samples.
        """
        # Each sample has its generator: how many resamples are a block changes nothing.
        seeds = _inputs.generator(self._seed).integers(2**63, size=2)
        rngs = [np.random.default_rng(seed) for seed in seeds]
        numbers = (len(source.rows) + len(target.rows)) * source.layout.classes
        size, found = max(1, _BLOCK // numbers), []
        for start in range(0, self._num_resamples, size):
            number = min(size, self._num_resamples - start)
            drawn = random_weights(source, number, rngs[0])
            of_new = random_weights(target, number, rngs[1])
            mapped = self._mapped(source, target.rows, drawn)
            found.append(found_of_pairs(*mapped, drawn, of_new, cells, prior))
        return Found(*map(np.concatenate, zip(*found, strict=True)))

    def _mapped(
        self, source: Source, new: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the recalibrated forecasts of both samples, [B, N, K] and [B, M, K],
        by maps fitted with weights [B, N].
        """
        if isinstance(self._map, _Default):
            z = np.log(source.rows)
            fits = priors.refitted(self._map.linear, z, source.labels, weights)
            return priors.mapped(fits, z), priors.mapped(fits, np.log(new))
        maps = [self._fitted_map(source._replace(weights=row)) for row in weights]
        rows = source.rows, new
        of_source, of_new = (np.stack([of(p) for of in maps]) for p in rows)
        return of_source, of_new


@dataclasses.dataclass(frozen=True)
class _Default:
    """The default map of probabilities [N, K]."""

    linear: priors.SlopeAndBiases

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return self.linear(np.log(p))


@dataclasses.dataclass(frozen=True)
class _Fitted:
    """The map of a calibrator."""

    calibrator: Any

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(self.calibrator.transform(probabilities=p))


def _rows(p: np.ndarray) -> np.ndarray:
    """Returns probabilities in float64, at least 2^-24, so that maps can change them.

    Raises:
      ValueError: all probabilities of a row are 0.
    """
    _calibrator.check_some("probabilities", p)
    return np.maximum(p.astype(np.float64), _calibrator.LEAST)


def _rows_of(layout: _calibrator.Layout, name: str, array: np.ndarray) -> np.ndarray:
    """Returns the probabilities of checked new predictions, as `_rows` does."""
    rows = layout.rows(name, array)
    if name == "logits":
        rows = _row_math.softmax(rows.astype(np.float64))
    return _rows(rows)


def _target(
    layout: _calibrator.Layout,
    probabilities: ArrayLike | None,
    logits: ArrayLike | None,
    sample_weight: ArrayLike | None,
    clusters: ArrayLike | None,
) -> Target:
    """Returns the checked new forecasts."""
    name = _checks.exactly_one(probabilities=probabilities, logits=logits)
    array = _inputs.as_array(name, logits if name == "logits" else probabilities)
    rows = _rows_of(layout, name, array)
    shape = array.shape
    if layout.rank is None or (len(shape) > 1 and shape[-1] == 1):
        shape = shape[:-1]
    weights, counted = np.ones(len(rows)), np.ones(len(rows), bool)
    if sample_weight is not None:
        weights = _inputs.sample_weights(sample_weight, shape).reshape(-1)
        counted = weights > 0
    if not np.any(counted):
        expected = "at least one example of positive weight"
        raise _checks.error(name, expected, "none", verb="hold")
    codes = None
    if clusters is not None:
        codes = _clusters.cluster_codes(clusters, shape, counted)
    return Target(rows[counted], weights[counted], codes)


def _size(weights: np.ndarray) -> float:
    """Returns the effective number of examples; that of equal weights is their number,
    rounded so that it is whole.
    """
    return round(_wilson.effective_size(weights), 9) if len(weights) else 0.0


def _sizes(source: Source) -> list[float]:
    """Returns the effective number of examples of each class."""
    classes = range(source.layout.classes)
    return [_size(source.weights[source.labels == k]) for k in classes]


def _shares(prior: ArrayLike, layout: _calibrator.Layout) -> np.ndarray:
    """Returns the checked shares of the classes, [K]."""
    shares = _inputs.finite("prior", prior)
    if shares.ndim == 0 and layout.rank is not None:
        shares = np.array([1 - shares, shares])
    if shares.shape != (layout.classes,):
        expected = f"of shape [{layout.classes}], a share of each class"
        raise _checks.error("prior", expected, f"shape {list(shares.shape)}")
    if np.any(shares < 0) or abs(shares.sum() - 1) > _ROUNDING:
        expected = "shares >= 0 with the sum 1"
        raise _checks.error("prior", expected, shares.tolist())
    return shares / shares.sum()
