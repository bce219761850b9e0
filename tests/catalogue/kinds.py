"""The kinds of rows: what the sweeps need to know about a public name."""

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
from tests.makers import (
    BAD_OPTIONS,
    NUMBERS,
    SHAPES,
    VALUES,
    Data,
    bad_data,
    data,
    lattice,
)
from uncertainty_metrics import _directions

# Names of bad shapes that Keras can receive: it has one argument for predictions.
KERAS_SHAPES = ("rank", "lengths", "swapped", "empty", "weight shape", "ragged")

# Options without a default.
REQUIRED = ("norm", "binning_scheme", "max_prob", "class_conditional", "quantiles")

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
    """What every row has.

    Attributes:
      name: a public name, with a dot if it is in a subpackage.
      aliases: other public names of the same object.
    """

    name: str = dataclasses.field(kw_only=False)
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def find(self, room: ModuleType) -> Any:
        return found(self.name, room)


@kind
class Function(Public):
    """What the rows of functions share.

    Attributes:
      half: "numpy" if both halves have the same object, "tensors" if only tensors have
        the function, None if each half has a function of its own.
      jumps: whether the value may jump where a prediction is rounded.
      random: whether the value is random.
      unbounded: whether a result may be infinite or NaN; the documentation says where.
      interval: whether the bootstrap returns intervals for it.
      kernel: graphs of one kernel differ in constants only; one compiles by default.
      metric: name of the Keras class, if any.
      metric_cases: pairs of options of the Keras class, and of options with which the
        function has the same value for the same data.
      bad_metric_options: options that the Keras class must refuse.
      scale: the size of the values; allowed absolute differences are a share of it.
      precision: the error that a value on tensors may have beyond rounding.
      sketched: whether the metric counts scores that hardly differ as equal.
      wide: whether the arithmetic is float64 for float32 arguments as well.
    """

    half: str | None = None
    jumps: bool = False
    random: bool = False
    unbounded: bool = False
    interval: bool = True
    kernel: str | None = None
    metric: str = ""
    metric_cases: tuple[tuple[Options, Options], ...] = ()
    bad_metric_options: tuple[Options, ...] = ()
    scale: float = 1.0
    precision: float = 0.0
    sketched: bool = False
    wide: bool = False

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
        good += (None,) if self._default(name) is None else ()
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
    """A function with a reference.

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


def bad_keras_data(bad):
    """Returns (y_true, y_pred, weights or None), and a word of the message."""
    given, word = bad_data(bad)
    word = word.replace("labels", "y_true").replace("probabilities", "y_pred")
    return (given["labels"], given["probabilities"], given.get("sample_weight")), word


@kind
class Row(Swept):
    """A function of classifier predictions, and its streaming form.

    Attributes:
      array: turns a result into a flat float array.
      differentiable: whether gradients in the predictions are tested.
      zeros: whether the data have probabilities of 0, where a score may be infinite.
      scale_free: whether equal weights of any size, or only below 1, have no effect.
      slow: whether its graphs are so large that only few of them are built.
      value: a NumPy function with the value of the metric, if another than the row's.
    """

    jumps: bool = True
    array: Callable[[Any], np.ndarray] = lambda value: np.atleast_1d(np.asarray(value))
    differentiable: bool = False
    zeros: bool = True
    scale_free: bool = True
    slow: bool = False
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


class Forecasts:
    """The data that Keras receives for real-valued forecasts.

    Attributes:
      units: size of the last axis of the metric's `y_pred`.
    """

    units: int
    activation = None
    keras_shapes = KERAS_SHAPES
    good_labels = (0.5, 1.0, -1.0, 2.0)

    @property
    def outputs(self):
        return (self.units,)

    def labels(self, rng, n):
        return rng.normal(size=n).astype(np.float32)

    def lattice(self, rng, n=40):
        """Makes numbers that bfloat16 holds exactly."""

        def draw(*shape):
            return (rng.integers(-32, 33, shape) / 16).astype(np.float32)

        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
        weights[0] = 1.0
        predictions = np.sort(draw(n, self.units), axis=1)
        return Data(draw(n), predictions, weights)

    def metric_values(self):
        return ["label nan", "nan prediction", "negative weight", "nan weight"]

    def bad_keras_data(self, bad):
        labels = np.array(self.good_labels)
        forecasts = np.ones([4, self.units]) / 2

        def wrong(array, value):
            array = array.copy()
            array.reshape(-1)[2] = value
            return array

        word, change = {
            "rank": ("y_pred", {"y_pred": forecasts[None, None]}),
            "lengths": ("y_true", {"y_true": labels[:3]}),
            "swapped": ("swapped|y_pred", {"y_true": forecasts, "y_pred": labels}),
            "empty": ("y_true", {"y_true": labels[:0], "y_pred": forecasts[:0]}),
            "ragged": ("y_true", {"y_true": [[0.0], [1.0, 2.0], [1.0]]}),
            "label nan": ("y_true", {"y_true": wrong(labels, np.nan)}),
            "nan prediction": ("y_pred", {"y_pred": wrong(forecasts, np.nan)}),
            "weight shape": ("sample_weight", {"weight": np.ones(3)}),
            "negative weight": ("sample_weight", {"weight": wrong(np.ones(4), -1)}),
            "nan weight": ("sample_weight", {"weight": wrong(np.ones(4), np.nan)}),
        }[bad]
        given = {"y_true": labels, "y_pred": forecasts, "weight": None} | change
        return tuple(given.values()), word


@kind
class RealRow(Forecasts, Swept):
    """A score of real-valued forecasts, elementwise, and its streaming form.

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
    """A metric of scores that tell positive examples from negative ones."""

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
    """Any other function; the sweeps know nothing but its parameters.

    Attributes:
      make: makes the arguments, if the names of the parameters are not enough.
      fixed: options that every call has.
      by_example: whether the function returns a value for each example.
      words: arguments that may hold strings, and missing values.
      effective: whether weights give effective sizes.
    """

    make: Callable[..., dict[str, Any]] | None = None
    by_example: bool = False
    fixed: Options = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = ()
    effective: bool = False

    def draw(self, rng, shape):
        made = self.make(rng, shape) if self.make else super().draw(rng, shape)
        return {**made, **self.fixed}


@kind
class MembersRow(FunctionRow):
    """A score of each example of an ensemble, and its mean as a streaming metric.

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
    """A score of prediction sets, and its streaming form."""

    half: str | None = "numpy"
    interval: bool = False

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
    """A score of predicted means and variances, and its streaming form."""

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
class PlotRow(FunctionRow):
    """A plot: draws into the axes it is given, or into a figure of its own.

    Attributes:
      figure: whether it makes a whole figure, so that it takes no axes.
    """

    half: str | None = "numpy"
    interval: bool = False
    figure: bool = False


@kind
class ObjectRow(Public):
    """A class whose objects are made, copied and pickled, or a public module.

    Attributes:
      make: makes an object, from a half and a generator; None for a module.
      halves: the halves in which the name is public.
    """

    make: Callable[..., Any] | None = None
    halves: tuple[str, ...] = ("numpy", "tensors")


@kind
class KerasRow(Public):
    """Another object for Keras: a layer, a callback, or a metric without a function.

    Attributes:
      make: makes an object, from a folder; its configuration, if any, makes it again.
    """

    make: Callable[..., Any]
