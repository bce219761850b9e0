"""The kinds of Rows: what the tests need to know about a public name.

The docstring of each kind says which test files read its Rows, in the order in which to
read them, and what each field is for. A Row leaves a test out with `left_out`.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import makers
from tests.catalogue.keras_data import KERAS_SHAPES, Forecasts, bad_keras_data
from tests.makers import (
    BAD_OPTIONS,
    NUMBERS,
    SHAPES,
    VALUES,
    Data,
    data,
    lattice,
)
from uncertainty_metrics import _calibration_spec, _directions

# Options without a default.
REQUIRED = ("norm", "binning_scheme", "max_prob", "class_conditional", "quantiles")

# What a Row leaves out whose results are no numbers that examples add to.
NO_INTERVAL = {
    "test_bootstrap_equals_calls_with_resampled_arguments": (
        "the bootstrap makes intervals of values, not of intervals, tests and curves"
    )
}

kind = dataclasses.dataclass(frozen=True, kw_only=True)
Options = Mapping[str, Any]


def not_there(name: str, package: str) -> str:
    """Returns the message for a name that has a Row but is not in the package."""
    return (
        f"a Row of tests/catalogue names `{name}`, which {package} does not have: "
        f'write `"{name.rpartition(".")[2]}",` into `__all__` of the module that '
        "defines it, and run `python scripts/write_stubs.py`"
    )


def found(name: str, room: ModuleType) -> Any:
    """Returns the object of a public name; the error says how to make it public."""
    try:
        return operator.attrgetter(name)(room)
    except AttributeError as missing:
        raise AttributeError(not_there(name, room.__name__)) from missing


@kind
class Public:
    """What every Row has.

    `tests/repo/test_public_names.py` compares the names with those of the package.

    Attributes:
      name: a public name, with a dot if it is in a subpackage.
      aliases: other public names of the same object.
      left_out: tests that do not run for the Row, by their names, and the reason.
    """

    name: str = dataclasses.field(kw_only=False)
    aliases: tuple[str, ...] = ()
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def find(self, room: ModuleType) -> Any:
        return found(self.name, room)


@kind
class Function(Public):
    """What the Rows of functions share, and what all of them are tested by.

    With arguments that `tests/makers.py` makes of the names of the parameters:
    `tests/numpy/test_catalogue.py` (extreme values, weights, the bootstrap, aliases),
    `tests/numpy/test_interface.py`, `test_missing.py` and `test_frames.py` (arrays of
    any kind, missing values, data frames), `test_resampling_arguments.py`,
    `test_shared_work.py`, `test_threads.py`,
    `tests/tensors/test_catalogue.py` (both halves agree, bad options),
    `tests/tensors/test_fuzz.py` (random calls), `tests/keras/test_lowering.py` (no
    dynamic shapes under XLA), `tests/backends/test_functions.py` (JAX and PyTorch).

    If the Row names a Keras class: `tests/keras/test_catalogue.py` (its values, fit,
    saving, errors), `test_state.py` and `test_beam.py` (states that add),
    `test_monitored.py`, `test_scale.py`, `test_unknown_sizes.py`, `test_interrupted.py`
    and `test_threads.py`, in collections `test_collection.py`, for forecasts
    `test_scoring_rules.py`, and on JAX and PyTorch `tests/backends/test_metrics.py`,
    `test_half_precision.py`, `test_models.py` and `test_torch.py`.
    `benchmarks/rows.py` times the functions and the metrics.

    Attributes:
      half: "numpy" if both halves have the same object, "tensors" if only tensors have
        the function, None if each half has a function of its own.
      jumps: whether the value may jump where a prediction is rounded. Random calls then
        compare only exact predictions, and smoothed labels are those of the largest
        share.
      random: whether the value is random, so that other tests check its distribution.
      unbounded: whether a result may be infinite or NaN; the documentation says where.
        Random calls then accept such results.
      kernel: graphs of one kernel differ in constants only, so that by default one of
        them compiles. Functions of the kernel "ranking" are in
        `tests/numpy/test_ranking.py` too.
      metric: name of the Keras class, if any.
      metric_cases: pairs of options of the Keras class, and of options with which the
        function has the same value for the same data.
      bad_metric_options: options that the Keras class must refuse.
      scale: the size of the values; allowed absolute differences are a share of it.
      precision: the error that a value on tensors may have beyond rounding.
      sketched: whether the metric counts scores that hardly differ as equal; logits of
        the tests then differ by more, and large states are updated less often.
    """

    half: str | None = None
    jumps: bool = False
    random: bool = False
    unbounded: bool = False
    kernel: str | None = None
    metric: str = ""
    metric_cases: tuple[tuple[Options, Options], ...] = ()
    bad_metric_options: tuple[Options, ...] = ()
    scale: float = 1.0
    precision: float = 0.0
    sketched: bool = False

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        room = um if self.half == "tensors" else um_np
        return inspect.signature(self.find(room)).parameters

    @property
    def options(self) -> Mapping[str, tuple]:
        """Good and bad values of the options."""
        return {name: NUMBERS[name] for name in self.parameters if name in NUMBERS}

    @property
    def bad_options(self) -> list[str]:
        """The names of the options for which `BAD_OPTIONS` has bad values."""
        # Some `weights` are an array, not a choice.
        of_arrays = {"weights"} if self._default("weights") is None else set()
        return [k for k in BAD_OPTIONS if self.takes(k) and k not in of_arrays]

    def wrong_values(self, name: str) -> tuple:
        """Returns values of an option that raise; None, or 0 for alpha, may be good."""
        good = (0, 1) if name == "alpha" and self.takes("estimator") else ()
        if name == "threshold" and self.takes("scores"):  # Scores are any numbers.
            good += (-0.1, 1.0, 1.5)
        is_required = _calibration_spec.is_required(self.parameters[name])
        good += (None,) if self._default(name) is None and not is_required else ()
        return tuple(v for v in BAD_OPTIONS[name][1] if v not in good)

    def _default(self, option):
        return getattr(self.parameters.get(option), "default", None)

    def takes(self, option):
        return option in self.parameters

    @property
    def better(self) -> _directions.Direction:
        """Which values are better. The worst of groups, the names of scorers and the
        directions of Keras metrics follow it.
        """
        return _directions.direction(self.name.rpartition(".")[2])

    def worst(self, values):
        """Returns the worst value of groups; empty groups have NaN."""
        return {"smaller": np.nanmax, "larger": np.nanmin}[self.better](values)

    @property
    def metric_class(self):
        return found(self.metric, um)

    def made(self, options, **more):
        """Makes the Keras metric of the row."""
        return self.metric_class(**options, **more)

    def draw(self, rng, shape) -> dict[str, Any]:
        """Makes good arguments, float64 and int64 arrays, for examples of a shape."""
        return makers.arguments(rng, shape, tuple(self.parameters))

    def draw_any(self, rng, shape) -> dict[str, Any]:
        """Makes good arguments, now and then with groups or several labels."""
        made = self.draw(rng, shape)
        return (
            makers.grouped(rng, made, self.parameters) if self.takes("groups") else made
        )


@kind
class Swept(Function):
    """A function with a reference, which both halves are compared with.

    Attributes:
      reference: a naive, independent function with the arguments of the function.
      cases: sets of options with which both are called.
    """

    reference: Callable[..., Any] | None = None
    cases: tuple[Options, ...] = ({},)

    def __post_init__(self):
        if self.cases and self.reference is None:
            raise TypeError(
                f"the Row of `{self.name}` in tests/catalogue has no reference: write "
                "`reference=...,` into it, a function that computes the value by "
                "another way (SciPy, scikit-learn, a closed form, a loop). "
                "`references.mean_of(score)` makes one of the score of an example"
            )


@kind
class Row(Swept):
    """A function of classifier predictions, and its streaming form: `ROWS`.

    Its reference is compared in `tests/numpy/test_catalogue.py`, where the sweeps over
    `every_case` are for these Rows alone (weights, order, logits, two classes, corners,
    bad data), as in `tests/tensors/test_catalogue.py` (eager, graphs, XLA, 16 bits,
    gradients). Groups are in `tests/numpy/test_groups.py`, `tests/tensors/` and
    `tests/keras/test_groups.py`, images in `tests/numpy/test_images.py` and
    `tests/tensors/test_images.py`.

    Attributes:
      array: turns a result into a flat float array, which the tests compare.
      differentiable: whether gradients in the predictions equal finite differences.
      zeros: whether the data have probabilities of 0, where a score may be infinite.
      value: a NumPy function with the value of the metric, if another than the Row's.
    """

    jumps: bool = True
    array: Callable[[Any], np.ndarray] = lambda value: np.atleast_1d(np.asarray(value))
    differentiable: bool = False
    zeros: bool = True
    value: Callable[..., Any] | None = None

    outputs = (3,)
    activation = "softmax"
    keras_shapes = KERAS_SHAPES

    def draw(self, rng, shape):
        case = {k: v for k, v in self.cases[0].items() if k in REQUIRED}
        return {**super().draw(rng, shape), **case}

    def bad_data(self):
        """Returns the names of bad data that this function can receive."""
        predicted = self.takes("labels_predicted")
        return [bad for bad in SHAPES + VALUES if "predicted" not in bad or predicted]

    def data(self, rng, n=40, dtype=np.float64):
        made = data(rng, n=n, dtype=dtype)
        if self.zeros:
            return made
        mixed = (0.9 * made.predictions + 0.1 / 3).astype(dtype)
        return dataclasses.replace(made, predictions=mixed)

    def labels(self, rng, n):
        return rng.integers(0, 3, n)

    def logits(self, rng, shape):
        """Makes logits whose scores the metric does not take for equal."""
        if not (self.sketched or "adaptive" in (self.kernel or "")):
            return rng.normal(size=[*shape, 3]).astype(np.float32)
        logits = np.zeros([*shape, 3], np.float32)
        logits[..., 0] = rng.integers(1, 80, shape) / 16  # Margins share no cell.
        logits[..., 1] = -np.inf
        return rng.permuted(logits, axis=-1)

    def lattice(self, rng, n=40):
        made = lattice(rng, n)
        if self.zeros:
            return made
        rows = np.array([[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]], np.float32)
        rows = rng.permuted(rows[rng.integers(0, 2, n)], axis=1)
        return dataclasses.replace(made, predictions=rows)

    def expected(self, case, data, weighted=False):
        """Returns the value that the metric must have after all the data, flat."""
        return self.expected_of(case, **data.arguments(weighted))

    def expected_of(self, case, **arguments):
        return self.array((self.value or self.find(um_np))(**arguments, **case))

    def metric_values(self):
        """Returns the names of data with good shapes that the metric must refuse."""
        # Functions are tested with these; some need options, or have their own tests.
        left_out = ("infinite logit", "zero weights", "swapped binary", "one-hot")
        left_out += ("too heavy weights", "label beyond int64", "one-hot with logits")
        left_out += ("probabilities as logits", "predicted too large")
        return [bad for bad in VALUES if bad not in left_out]

    def bad_keras_data(self, bad):
        return bad_keras_data(bad)


@kind
class RealRow(Forecasts, Swept):
    """A score of real-valued forecasts, elementwise, and its streaming form.

    These are `REAL_ROWS`. `tests/tensors/test_real_scores.py` compares both halves with
    the reference, and tests shapes, precision, graphs and bad values.

    Attributes:
      make: makes all arguments but the options, from a generator and a shape.
      tail: number of axes that an argument has after the axes of the scores.
      split: turns `y_pred` [..., units] into the arguments after the labels.
      bad_values: for some arguments a value that they must not have.
      numbers: values of options, if those of `NUMBERS` do not suit the function.
    """

    make: Callable[..., dict[str, np.ndarray]]
    tail: Mapping[str, int] = dataclasses.field(default_factory=dict)
    units: int = 1
    split: Callable[..., dict[str, np.ndarray]] | None = None
    bad_values: Mapping[str, float] = dataclasses.field(default_factory=dict)
    numbers: Mapping[str, tuple] = dataclasses.field(default_factory=dict)
    scale: float = 10.0

    @property
    def options(self):
        return {**super().options, **self.numbers}

    def draw(self, rng, shape):
        size = math.prod(shape)
        made = {
            name: value[:size].reshape((*shape, *value.shape[1:]))
            for name, value in self.arguments(rng, (max(size, 2),)).items()
        }
        return {**made, **self.cases[int(rng.integers(len(self.cases)))]}

    def arguments(self, rng, shape=(40,), dtype=np.float64):
        made = self.make(rng, tuple(shape))
        return {name: value.astype(dtype) for name, value in made.items()}

    def expected(self, case, data, weighted=False):
        forecasts = self.split(data.predictions.astype(np.float64))
        scores = self.find(um_np)(data.labels, **forecasts, **case)
        scores = scores.reshape(len(data.labels), -1).mean(axis=1)
        weights = data.weights if weighted else None
        return np.atleast_1d(np.average(scores, weights=weights))


@kind
class DetectionRow(RealRow):
    """A metric of scores that tell positive examples from negative ones.

    `tests/numpy/test_detection.py` and `tests/tensors/test_detection.py` sweep over
    `DETECTION_ROWS`, whose fields are those of a `RealRow`.
    """

    scale: float = 1.0
    sketched: bool = True
    jumps: bool = True
    kernel: str | None = "detection"
    good_labels = (0.0, 1.0, 1.0, 0.0)

    def labels(self, rng, n):
        return rng.integers(0, 2, n)

    def lattice(self, rng, n=40):
        made = super().lattice(rng, n)
        labels = rng.integers(0, 2, n)
        labels[:2] = 0, 1
        made.weights[:2] = 1.0
        return dataclasses.replace(made, labels=labels)

    def expected(self, case, data, weighted=False):
        weights = data.weights if weighted else None
        given = {"labels": data.labels, "scores": data.predictions[:, 0], **case}
        return np.atleast_1d(self.find(um_np)(**given, sample_weight=weights))


@kind
class FunctionRow(Function):
    """Any other function: `FUNCTION_ROWS`, and the plots: `PLOTS`.

    The sweeps know nothing but its parameters. Its reference is in a test of its family
    in `tests/numpy` that names it. `tests/numpy/test_interface.py` draws the plots.

    Attributes:
      make: makes the arguments, if the names of the parameters are not enough.
      fixed: options that every call has.
      words: arguments that may hold strings, and missing values.
    """

    make: Callable[..., dict[str, Any]] | None = None
    fixed: Options = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = ()

    def draw(self, rng, shape):
        made = self.make(rng, shape) if self.make else super().draw(rng, shape)
        return {**made, **self.fixed}


@kind
class MembersRow(FunctionRow):
    """A score of each example of an ensemble, and its mean as a streaming metric.

    These Rows are among `FUNCTION_ROWS`; `tests/keras/test_ensemble.py` has in addition
    the forms of ensembles that Keras receives.

    Attributes:
      outputs: shape of the predictions for one example.
    """

    outputs: tuple[int, ...] = (4, 3)
    scale: float = 4.0
    bad_metric_options: tuple[Options, ...] = ({"from_logits": 1},)

    activation = "softmax"
    labels = Row.labels

    @property
    def _labelled(self):
        return self.takes("sample_weight")  # Others only check the labels' shape.

    @property
    def keras_shapes(self):
        return ("empty", "weight shape") + ("lengths", "ragged") * self._labelled

    def lattice(self, rng, n=40):
        made = lattice(rng, n * math.prod(self.outputs[:-1]))
        rows = 0.5 * made.predictions + np.float32([0.25, 0.125, 0.125])
        rows = rows.reshape(n, *self.outputs)
        return Data(made.labels[:n], rows, data(rng, n).weights)

    def expected(self, case, data, weighted=False):
        rows, function = data.predictions.astype(np.float64), self.find(um_np)
        weights = data.weights if weighted else None
        if self.takes("alphas"):
            scores = function(rows).knowledge_uncertainty
        elif self._labelled:
            given = {"probabilities": rows, "sample_weight": weights}
            return np.atleast_1d(function(data.labels, **given, ensemble_axis=-2))
        else:
            scores = function(probabilities=rows, ensemble_axis=-2)
        return np.atleast_1d(np.average(scores, weights=weights))

    def metric_values(self):
        of_weights = ["negative weight", "nan weight", "infinite weight"]
        values = ["negative probability", "nan probability", *of_weights]
        return values + ["label too large", "label negative"] * self._labelled

    def bad_keras_data(self, bad):
        (labels, rows, weights), word = bad_keras_data(bad)
        if len(self.outputs) == 2:
            rows = np.repeat(np.asarray(rows)[..., None, :], 4, axis=-2)
        return (labels, rows, weights), "y_pred" if bad == "empty" else word


@kind
class SetRow(FunctionRow):
    """A score of prediction sets, and its streaming form, among `FUNCTION_ROWS`."""

    half: str | None = "numpy"
    left_out: Mapping[str, str] = dataclasses.field(default_factory=lambda: NO_INTERVAL)

    outputs = (3,)
    keras_shapes = KERAS_SHAPES
    labels = Row.labels

    @property
    def activation(self):
        from tests.heaviside import heaviside

        return heaviside

    def lattice(self, rng, n=40):
        made = lattice(rng, n)
        sets = (made.predictions > 0.3).astype(np.float32)
        return dataclasses.replace(made, predictions=sets)

    def expected(self, case, data, weighted=False):
        given = {"sets": data.predictions, **case}
        given |= {"labels": data.labels} if self.takes("labels") else {}
        weights = data.weights if weighted else None
        return np.atleast_1d(self.find(um_np)(**given, sample_weight=weights))

    def metric_values(self):
        of_weights = ["negative weight", "nan weight", "infinite weight"]
        values = ["negative probability", "nan probability", *of_weights]
        return [*values, "label too large", "label negative"]

    def bad_keras_data(self, bad):
        (labels, rows, weights), word = bad_keras_data(bad)
        if bad in ("negative probability", "nan probability"):
            return (labels, rows, weights), word
        return (labels, np.round(rows), weights), word


@kind
class ForecastRow(Forecasts, FunctionRow):
    """A score of predicted means and variances, and its streaming form, among
    `FUNCTION_ROWS`.
    """

    scale: float = 10.0

    units = 2

    def expected(self, case, data, weighted=False):
        mean, scale = data.predictions.astype(np.float64).T
        variance = np.exp(2 * scale)
        known = {"predictions": mean, "mean": mean, "targets": data.labels}
        known |= {"uncertainties": variance, "var": variance}
        given = {name: known[name] for name in known if self.takes(name)}
        weights = data.weights if weighted else None
        value = self.find(um_np)(**given, **case, sample_weight=weights)
        return np.atleast_1d(value)


@kind
class LossRow(Public):
    """A Keras loss: a score for each example, whose mean most often is a metric.

    `tests/keras/losses.py` makes a test case of each of its options, which
    `test_losses.py`, `test_penalties.py` and `test_trained_losses.py` sweep over;
    `tests/keras/test_catalogue.py` compares its mean with the metric, and
    `tests/tensors/test_loss_gradients.py` has the gradients.

    Attributes:
      metric: the Keras class of the mean, or else one that takes the same predictions.
      options: options of the loss and of the metric.
      variants: more options of the loss, each tested.
      reference: returns scores of labels, predictions, weights, if the metric does not.
      is_mean: whether the metric is the mean of the loss.
    """

    metric: str
    options: Options = dataclasses.field(default_factory=dict)
    variants: tuple[Options, ...] = ()
    reference: Callable[..., Any] | None = None
    is_mean: bool = True

    @property
    def of_metric(self):
        """The row of the metric."""
        from tests.catalogue import METRICS

        return next(row for row in METRICS if row.metric == self.metric)


@kind
class ObjectRow(Public):
    """A class that is no metric or loss of another Row, or a public module.

    `tests/numpy/test_catalogue.py` and `tests/tensors/test_catalogue.py` copy
    `OBJECTS`. `tests/keras/test_catalogue.py` makes `KERAS_OBJECTS`, layers, a callback
    and metrics without a function, again from their configurations.

    Attributes:
      make: makes an object, from a half and a generator; None for a module.
      halves: the halves in which the name is public.
    """

    make: Callable[..., Any] | None = None
    halves: tuple[str, ...] = ("numpy", "tensors")
