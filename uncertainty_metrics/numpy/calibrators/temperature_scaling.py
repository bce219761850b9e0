"""Temperature scaling of a classifier, and the likelihood after it, in float64."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks, _temperature
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.numpy import _examples, _inputs, _row_math, _threads
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibrators import _calibrator

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TemperatureScaling", "refined_negative_log_likelihood"]

MAX_STEPS = 100
# A sum that cancels counts as 0 below this multiple of the rounding of its terms.
ROUNDING = 8
_EPSILON = float(np.finfo(np.float64).eps)
# Each Newton step doubles the right digits: the step after one this small is the last.
_LAST_STEP = 1e-9
_LOG_LEAST = math.log(_calibrator.LEAST)


@dataclasses.dataclass(frozen=True)
class Rows:
    """Logits less the largest of their row, in units of the largest such difference.

    Attributes:
      z: float64 [N, K], in [-1, 0]; 0 where the class is impossible.
      possible: 0.0 where a logit was -inf, else 1.0, [N, K]; None if all are possible.
      at_label: z at the label, [N]; -inf if the label is impossible.
      means: of z over the possible classes, [N].
      variances: of z over the possible classes, [N].
      weights: [N], positive, or None.
    """

    z: np.ndarray
    possible: np.ndarray | None
    at_label: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    weights: np.ndarray | None

    def __getitem__(self, chosen: np.ndarray) -> Rows:
        arrays = {name: a[chosen] for name, a in vars(self).items() if a is not None}
        return dataclasses.replace(self, **arrays)

    def mean(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.weights))


def rows_of(examples: _examples.Examples, logits: np.ndarray) -> tuple[Rows, float]:
    """Returns the rows of logits [N, K], and the unit of `z`."""
    z = _row_math.in_blocks(_row_math.below_maximum, logits, logits.shape[1])
    at_label = z[np.arange(len(z)), examples.labels]
    finite = z > -np.inf
    possible = None
    if not np.all(finite):
        z[~finite] = 0
        possible = finite.astype(np.float64)
    unit = float(-z.min()) or 1.0
    z /= unit
    _, means, variances = moments(z, possible, 0.0)
    rows = Rows(z, possible, at_label / unit, means, variances, examples.weights)
    return rows, unit


def moments(
    z: np.ndarray, possible: np.ndarray | None, beta: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns log(sum_k e^(beta z_k)), and the mean and the variance of z under the
    softmax of beta z, [N] each.
    """

    def of_rows(rows: slice) -> np.ndarray:
        block = z[rows]
        mass = np.exp(beta * block)
        if possible is not None:
            mass *= possible[rows]
        total = _row_math.sums(mass)
        mass *= block
        mean = _row_math.sums(mass) / total
        square = _row_math.dot(mass, block) / total
        return np.stack([np.log(total), mean, square - mean**2], axis=1)

    columns = np.empty((len(z), 3))
    _threads.fill_rows(columns, of_rows, z.shape[1])
    logs, means, variances = np.ascontiguousarray(columns.T)
    return logs, means, variances


def inverse_temperature(rows: Rows, start: float | None = None) -> float:
    """Returns the beta that minimises the mean of `logsumexp(beta z) - beta z_label`.

    It is 0 if the logits of the labels are on average no larger than the others, and
    inf if every label has the largest logit.
    """
    gaps = rows.means - rows.at_label
    if rows.mean(gaps) >= -ROUNDING * _EPSILON * rows.mean(np.abs(gaps)):
        return 0.0
    if not np.any(rows.at_label < 0):
        return np.inf
    # The slope increases with beta and changes its sign. So take Newton steps inside
    # the bracket [low, high], or bisect where these are slow. The variance of
    # differences that are far smaller than the largest underflows.
    beta = start or -rows.mean(gaps) / (rows.mean(rows.variances) or 1.0)
    low, high, last = 0.0, np.inf, np.inf
    for _ in range(MAX_STEPS):
        _, means, variances = moments(rows.z, rows.possible, beta)
        slope = rows.mean(means - rows.at_label)
        low, high = (beta, high) if slope < 0 else (low, beta)
        if high - low <= _LAST_STEP * low:  # Rounding would make larger steps.
            return beta
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.divide(slope, rows.mean(variances))
        if abs(step) <= _LAST_STEP * beta:
            return beta - step
        target = beta - step
        # Far below its zero the slope falls by 1 / e in a step of Newton, or by less.
        if not (low < target < high and abs(slope) < last / 3):
            target = np.sqrt(low * high)
        beta, last = float(np.clip(target, beta / 16, beta * 16)), abs(slope)
    raise RuntimeError(
        f"The temperature has not converged in {MAX_STEPS} steps: 1 / temperature is "
        f"between {low} and {high} in units of the largest difference of logits. Look "
        "for extreme logits, and clip them."
    )


def no_optimum(name: str, beta: float, where: str = "") -> ValueError:
    """Returns the error for an inverse temperature of 0 or inf."""
    if beta == 0:
        return _checks.error(
            name,
            "larger for the true classes than for the others on average, or no "
            "temperature fits: check the order of classes and rows",
            f"labels whose mean logit is not above the mean of all{where}",
        )
    return _checks.error(
        name,
        "wrong about at least one label: else the likelihood grows without bound as "
        "the temperature goes to 0",
        f"no label whose logit is below the largest of its row{where}",
    )


def _optimal_temperature(examples: _examples.Examples) -> float:
    """Returns the best temperature; raises ValueError if there is none."""
    name = examples.name
    logits = log_probabilities(examples)
    if name == "probabilities":
        logits = np.maximum(logits, _LOG_LEAST)
    rows, unit = rows_of(examples, logits)
    if np.any(np.isneginf(rows.at_label)):
        raise _checks.error(
            name,
            "above -inf at every label, because no temperature changes a -inf",
            "-inf at a label",
        )
    beta = inverse_temperature(rows)
    if not 0 < beta < np.inf:
        raise no_optimum(name, beta)
    return unit / beta


class TemperatureScaling(  # type: ignore[misc]  # `save` takes no open files.
    _temperature.Scaling, _calibrator.Calibrator
):
    """Temperature scaling: divides the logits of a classifier by one number.

    The temperature T minimises the negative log-likelihood of held-out examples,

      T = argmin mean of logsumexp(z / T) - z_y / T

    which is convex in 1 / T: the unique optimum is found to the precision of float64.
    Decisions do not change; T > 1 lowers the confidence of an overconfident model. For
    probabilities p, z = log p, with p clipped to at least 2^-24: so a forecast of 0, as
    random forests make them, can become larger.

    Attributes:
      temperature: T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> scaling = um.TemperatureScaling().fit([0, 1, 0, 1], logits)
      >>> round(scaling.temperature, 6)  # 3 of 4 are right: odds of 3 to 1.
      3.640957
      >>> scaling.transform([[4.0, 0.0]]).round(6).tolist()
      [[1.098612, 0.0]]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    _kind = "recalibration.TemperatureScaling"

    def __init__(self) -> None:
        _calibrator.Calibrator.__init__(self)
        _temperature.Scaling.__init__(self)

    @takes_frames
    def fit(
        self,
        labels: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        ignore_index: int | None = None,
        label_distributions: ArrayLike | None = None,
        multilabel: bool = False,
    ) -> Self:
        """Fits the temperature to held-out examples; a fit that fails changes nothing.

        Args:
          labels: integer class labels in [0, K), shape [...], of examples on which the
            model was not trained.
          logits: logits of the same shape, instead of `probabilities`; -inf is an
            impossible class.
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          sample_weight: weight of each example, >= 0, broadcastable to the labels.
          ignore_index: a label whose examples are left out.
          label_distributions: instead of labels, the share of each class among votes,
            [..., K] (conventions.md#label-distributions).
          multilabel: False: a temperature is one number for all. `PlattScaling` has a
            factor and a constant for each label.

        Returns:
          The object itself.

        Raises:
          RuntimeError: in a graph of TensorFlow, where the temperature has no value.
          ValueError: an argument is not as described, or there is no best temperature:
            the logits of the labels are on average no larger than the others (it would
            be infinite), every label has the largest logit (it would be 0), or a label
            has the logit -inf.
        """
        _calibrator.check_no_labels(self, multilabel)
        options = {"sample_weight": sample_weight, "ignore_index": ignore_index}
        if label_distributions is None:
            temperature = self._optimum(labels, logits, probabilities, **options)
            shape = _calibrator.shape_of(labels)
        else:
            data = ClassifierData(
                labels=labels,
                logits=logits,
                probabilities=probabilities,
                label_distributions=label_distributions,
                **options,
            )
            examples = _examples.examples_of(data)
            temperature = _optimal_temperature(examples.with_one_label_each())
            shape = examples.counted.shape
        self._set(temperature)
        name = "probabilities" if logits is None else "logits"
        predictions = probabilities if logits is None else logits
        shapes = shape, _calibrator.shape_of(predictions)
        self._layout = _calibrator.Layout.of(name, *shapes)
        return self

    def _optimum(
        self,
        labels: Any,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> float:
        examples = _examples.examples(labels, probabilities, logits, **options)
        return _optimal_temperature(examples)

    def transform(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> np.ndarray:
        """Returns z / T for logits, or softmax(log(p) / T) for probabilities.

        Args:
          logits: logits of any shape; -inf stays -inf.
          probabilities: predicted probabilities in [0, 1], instead of `logits`, of the
            classes of `fit`, shape [..., K]; or of class 1, shape [...] or [..., 1], if
            `fit` had probabilities of class 1.

        Returns:
          Logits for logits, and probabilities for probabilities, of the same shape and
          floating type; float64 for integers. Rows of probabilities sum to 1.

        Raises:
          ValueError: there was no fit, the logits are empty or hold NaN or +inf, or the
            probabilities are not as described.
        """
        temperature = self._require_fitted()
        name = _checks.exactly_one(logits=logits, probabilities=probabilities)
        if name == "probabilities":
            return super().transform(probabilities=probabilities)
        logits = _inputs.as_array("logits", logits)
        if logits.size == 0:
            raise _checks.error(
                "logits",
                "at least one example",
                f"shape {list(logits.shape)}",
                verb="hold",
            )
        wide = logits.astype(np.float64)
        bad = ~(wide < np.inf)
        if np.any(bad):
            raise _checks.error("logits", "finite or -inf", _inputs.first(bad, wide))
        if logits.ndim > 1:
            _inputs.are_probabilities(_inputs.native_floating(logits), name="logits")
        return (wide / temperature).astype(_inputs.result_dtype(logits))

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        def softmax(p: np.ndarray) -> np.ndarray:
            logs = np.log(np.maximum(p.astype(np.float64), _calibrator.LEAST))
            return _row_math.softmax(logs / self.temperature)

        return _row_math.in_blocks(softmax, rows, rows.shape[1])

    def get_config(self) -> dict[str, Any]:
        """Returns the temperature, None before the fit, and the layout of the fitted
        predictions, as `from_config` takes them.
        """
        return {**super().get_config(), "layout": self._layout}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a scaling of the temperature in a configuration."""
        scaling = super().from_config(config)
        if config.get("layout") is not None:
            scaling._layout = _calibrator.Layout.checked(config["layout"])
        return scaling


def _mix(words: np.ndarray) -> np.ndarray:
    """Returns uint32 hashes (lowbias32 of Wellons, 2018)."""
    words = words ^ (words >> 16)
    words = words * np.uint32(0x7FEB352D)
    words = words ^ (words >> 15)
    words = words * np.uint32(0x846CA68B)
    return words ^ (words >> 16)


def fold_keys(folds: int, repeats: int, seed: int | None) -> tuple[int, np.ndarray]:
    """Returns the checked number of folds, and a uint32 key for each repeat."""
    folds = _checks.positive_integer("folds", folds)
    if folds < 2:
        raise _checks.error("folds", "an integer of at least 2", folds)
    repeats = _checks.positive_integer("repeats", repeats)
    if seed is None:
        seed = int(np.random.default_rng().integers(2**32))
    if isinstance(seed, bool) or not (
        isinstance(seed, int | np.integer) and 0 <= seed < 2**32
    ):
        raise _checks.error("seed", "None or an integer in [0, 2^32)", repr(seed))
    words = _mix(np.array([seed], np.uint32))
    return folds, _mix(words ^ np.arange(repeats, dtype=np.uint32))


def _fold_numbers(size: int, folds: int, key: np.ndarray) -> np.ndarray:
    """Returns the fold of each example. Of `folds` neighbours one is in each fold, in
    an order that is rotated at random.
    """
    index = np.arange(size, dtype=np.uint32)
    turn = (_mix(index // folds ^ key) >> 1) % folds
    return (index % folds + turn) % folds


def log_probabilities(examples: _examples.Examples) -> np.ndarray:
    """Returns logits [N, K]; for probabilities, their logarithms."""
    if examples.name == "logits":
        return examples.predictions
    p = _inputs.check_probabilities(examples.predictions, examples.name, examples.place)
    _calibrator.check_some(examples.name, p)
    with np.errstate(divide="ignore"):
        return np.log(p.astype(np.float64))


def _refined_likelihood(rows: Rows, name: str, folds: int, keys: np.ndarray) -> float:
    if np.any(np.isneginf(rows.at_label)):
        return np.inf
    whole = inverse_temperature(rows)
    start = whole if 0 < whole < np.inf else None
    scores = np.zeros(len(rows.z))
    for repeat, key in enumerate(keys):
        numbers = _fold_numbers(len(scores), folds, key)
        for fold in range(folds):  # Each fold has its own temperature.
            test = numbers == fold
            beta = inverse_temperature(rows[~test], start)
            if beta == np.inf:
                where = f" outside fold {fold} of repeat {repeat}"
                raise no_optimum(name, beta, where)
            held_out = rows[test]
            logs, _, _ = moments(held_out.z, held_out.possible, beta)
            scores[test] += logs - beta * held_out.at_label
    return rows.mean(scores) / len(keys)


@takes_frames
def refined_negative_log_likelihood(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    folds: int = 2,
    repeats: int = 5,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Negative log-likelihood after temperature scaling, cross-validated.

    The examples are split into folds; each fold is scored at the temperature that
    `TemperatureScaling` finds on the other folds. The result is the mean over all
    examples, and over repeated splits. Unlike the likelihood itself it does not depend
    on the scale of the logits, so that it ranks models by errors that a recalibration
    cannot correct. The Keras metric `RefinedNegativeLogLikelihood` needs one pass: it
    takes the best temperature of the examples that it scores, so it is a little lower.

    Args:
      labels: integer class labels in [0, K), shape [...].
      probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class 1) of
        two classes, shape [...] or [..., 1]. They are read as the logits `log p`.
      logits: logits of the same shape, instead of `probabilities`.
      folds: number of folds, from 2 to the number of examples.
      repeats: number of splits.
      seed: seed of the splits, an integer in [0, 2^32), which gives the same splits in
        NumPy and of tensors. None makes new splits in each call; a compiled function
        keeps those with which it was traced.
      sample_weight: weight of each example, finite and >= 0, broadcastable to the
        labels. An example is in one fold, whatever its weight.
      ignore_index: a label whose examples are left out.

    Returns:
      The mean in nats, >= 0; inf if a label is impossible. Smaller is better. If the
      temperature of a fold is infinite, its forecasts are uniform.

    Raises:
      ValueError: an argument is not as described, or outside a fold every label has the
        largest logit of its row, so that the temperature would be 0.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, logits = [0, 0, 0, 1] * 8, np.tile([4.0, 0.0], [32, 1])
      >>> score = um.refined_negative_log_likelihood(labels, logits=logits, seed=0)
      >>> doubled = um.refined_negative_log_likelihood(
      ...     labels, logits=2 * logits, seed=0
      ... )
      >>> bool(abs(score - doubled) < 1e-12), bool(0.56 < score < 0.62)
      (True, True)

    References:
      Ashukha, Lyzhov, Molchanov and Vetrov (2020), Pitfalls of In-Domain Uncertainty
      Estimation and Ensembling in Deep Learning.
    """
    folds, keys = fold_keys(folds, repeats, seed)
    examples = _examples.examples_of(
        ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            sample_weight=sample_weight,
            ignore_index=ignore_index,
        )
    )
    size = len(examples.labels)
    if folds > size:
        raise _checks.error("folds", f"at most the number of examples, {size}", folds)
    rows, _ = rows_of(examples, log_probabilities(examples))
    return _refined_likelihood(rows, examples.name, folds, keys)
