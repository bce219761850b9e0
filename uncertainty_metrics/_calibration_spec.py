"""The options of a calibration error, and the options of each error that has a name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from uncertainty_metrics import _checks, _user_warnings
from uncertainty_metrics._arguments import ClassifierData

BinningScheme = Literal["even", "adaptive"]
Norm = Literal["l1", "l2", "max"]
YAxis = Literal["accuracy", "frequency"]

DEFAULT_NUM_BINS = 15
BINNING_SCHEMES: tuple[BinningScheme, ...] = get_args(BinningScheme)
NORMS: tuple[Norm, ...] = get_args(Norm)
Y_AXES = get_args(YAxis)


# Where decisions are scored for one column of P(class 1), and nobody asked for it.
ONE_COLUMN = (
    "One column of P(class 1) is scored by its decisions: the larger of p and 1 - p is "
    "compared with whether the decided class is right, which does not see that all "
    "P(class 1) are too low or too high. `positive_class=True` compares P(class 1) "
    "with `label == 1`, as scikit-learn, torchmetrics and R do; `positive_class=False` "
    "computes this value without a warning."
)

_TAKES_BOTH = " (`positive_class=True` or `False` takes both forms)"


# The default of a required argument that comes after optional ones in a signature. Its
# type does not have None, and the function refuses None.
REQUIRED: Any = None


def is_required(parameter: inspect.Parameter) -> bool:
    """Says if a parameter has no default, or has `REQUIRED`."""
    if parameter.default is not REQUIRED:
        return parameter.default is parameter.empty
    return "None" not in str(parameter.annotation)


class CalibrationKey(NamedTuple):
    """The four choices that distinguish calibration errors."""

    binning_scheme: BinningScheme
    max_prob: bool
    class_conditional: bool
    norm: Norm


@dataclasses.dataclass(frozen=True)
class CalibrationSpec:
    """The options of a calibration error; the constructor checks them.

    Attributes:
      binning_scheme: "even" (bins of equal width) or "adaptive" (of equal mass).
      max_prob: True to score the probability of the decided class (outcome: the
        decision is right), False to score that of every class k (outcome:
        `label == k`).
      class_conditional: whether every class is a group with bins of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins of each group, up to 10^6.
      threshold: scores at or below this value are left out; 0.0 keeps all scores.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      positive_class: for two classes: the only scores are P(class 1), with outcome
        `label == 1`, in one group. `max_prob` and `class_conditional` are not read.
        None until `settled` replaces it, by the form of the predictions.
      multilabel: for L labels that are each 0 or 1: the scores are P(label is 1), in
        one group, or with `class_conditional` in L groups. `max_prob` is not read.
      by_form: which convention of two classes `positive_class=None` means. False, for
        the family of the ECE, always means the decision; True means P(class 1) for
        predictions of one column, and else the decision.
    """

    binning_scheme: BinningScheme
    max_prob: bool
    class_conditional: bool
    norm: Norm
    num_bins: int = DEFAULT_NUM_BINS
    threshold: float = 0.0
    datapoints_per_bin: int | None = None
    positive_class: bool | None = False
    multilabel: bool = False
    by_form: bool = False

    def __post_init__(self) -> None:
        _checks.one_of("binning_scheme", self.binning_scheme, BINNING_SCHEMES)
        _checks.one_of("norm", self.norm, NORMS)
        for name in ("max_prob", "class_conditional", "multilabel"):
            _checks.boolean(name, getattr(self, name))
        _checks.boolean_or_none("positive_class", self.positive_class)
        if self.positive_class and self.multilabel:
            raise _checks.error("positive_class", "False with `multilabel`", True)
        num_bins = _checks.bins("num_bins", self.num_bins)
        object.__setattr__(self, "num_bins", num_bins)
        threshold = _checks.number(self.threshold)
        if not 0.0 <= threshold < 1.0:
            raise _checks.error("threshold", "in [0, 1)", repr(self.threshold))
        object.__setattr__(self, "threshold", threshold)
        if self.datapoints_per_bin is not None:
            points = _checks.positive_integer(
                "datapoints_per_bin", self.datapoints_per_bin
            )
            object.__setattr__(self, "datapoints_per_bin", points)
            if self.binning_scheme != "adaptive":
                raise _checks.error(
                    "datapoints_per_bin",
                    'None unless binning_scheme="adaptive"',
                    repr(points),
                )

    def for_data(self, data: ClassifierData) -> CalibrationSpec:
        """Returns the options that fit the data: several labels, or confidences.

        Raises:
          ValueError: the options ask for what these data do not have.
        """
        data.check_confidences()
        spec = self
        if data.multilabel is not False:  # Anything but a boolean is refused.
            spec = dataclasses.replace(self, multilabel=data.multilabel)
        return spec._for_confidences() if data.has_confidences else spec

    def _for_confidences(self) -> CalibrationSpec:
        if not self.max_prob:
            raise _checks.error("max_prob", "True with `confidences`", False)
        if self.class_conditional:
            raise _checks.error("class_conditional", "False with `confidences`", True)
        return dataclasses.replace(self, positive_class=True)

    def settled(self, one_column: bool, decided: bool = False) -> CalibrationSpec:
        """Returns the options with the convention of two classes that `positive_class`
        means for these predictions; the only place that knows the rule.

        Args:
          one_column: whether the predictions are one column: P(class 1), or its logit,
            of shape [...] or [..., 1].
          decided: whether `labels_predicted` is given.
        """
        if self.positive_class is not None:
            return self
        is_event = self.by_form and one_column and not decided
        return _with_convention(self, is_event)

    def warn_of_decisions(self, one_column: bool, decided: bool = False) -> None:
        """Warns if the decision is scored for one column although nobody asked for it;
        the arguments are those of `settled`.
        """
        asked = self.positive_class is not None or self.by_form or decided
        if not asked and one_column and self.uses_decision:
            _user_warnings.warn(ONE_COLUMN)

    def check_classes(self, num_classes: int) -> None:
        """Raises ValueError unless the options fit a number of classes."""
        if self.positive_class and num_classes != 2:
            raise _checks.error(
                "positive_class",
                "False unless there are two classes",
                f"True with {num_classes} classes",
            )

    def num_groups(self, num_classes: int) -> int:
        """Returns how many groups of scores are binned separately."""
        is_pooled = self.positive_class or not self.class_conditional
        return 1 if is_pooled else num_classes

    @property
    def uses_decision(self) -> bool:
        """Whether the score is the probability of the decided class."""
        return self.max_prob and not self.scores_class_1

    @property
    def scores_class_1(self) -> bool:
        """Whether the score is P(class 1) and the outcome `label == 1`."""
        return bool(self.positive_class) or self.multilabel

    @property
    def has_one_score(self) -> bool:
        """Whether an example has one score instead of one for each class."""
        return self.max_prob or self.scores_class_1


@functools.lru_cache(maxsize=256)  # Each batch of a stream asks for it.
def _with_convention(spec: CalibrationSpec, is_event: bool) -> CalibrationSpec:
    return dataclasses.replace(spec, positive_class=is_event)


def check_form(
    name: str, first: bool | None, now: bool, hint: str = _TAKES_BOTH
) -> None:
    """Raises ValueError if a batch is scored by another convention than the first one,
    where `positive_class=None` goes by the form of the predictions.

    Args:
      name: the argument that holds the predictions of the batch.
      first: whether the first batch was of P(class 1); None if there was none.
      now: whether this batch is.
      hint: how to make an object that takes both forms.
    """
    if first in (None, now):
        return
    one, other = (
        "one column, P(class 1)",
        "decisions (a column for each class) or answers",
    )
    expected, received = (one, other) if first else (other, one)
    expected = f"{expected}, as in the first batch{hint}"
    raise _checks.error(name, expected, received, verb="hold")


# The options of each error that has a name: of its function and of its Keras class.
PRESETS = MappingProxyType(
    {
        "expected_calibration_error": CalibrationSpec("even", True, False, "l1"),
        "maximum_calibration_error": CalibrationSpec("even", True, False, "max"),
        "root_mean_squared_calibration_error": CalibrationSpec(
            "adaptive", True, False, "l2"
        ),
        "static_calibration_error": CalibrationSpec("even", False, True, "l1"),
        "adaptive_calibration_error": CalibrationSpec("adaptive", False, True, "l1"),
        "thresholded_adaptive_calibration_error": CalibrationSpec(
            "adaptive", False, True, "l1", threshold=0.01
        ),
    }
)

# The options of an error of a probability and an outcome, in one group of scores.
OF_ONE_SCORE = dataclasses.replace(
    PRESETS["expected_calibration_error"], positive_class=None, by_form=True
)


def preset(
    name: str,
    num_bins: int,
    threshold: float,
    positive_class: bool | None,
    datapoints_per_bin: int | None = None,
) -> CalibrationSpec:
    """Returns the options of an error that has a name, with those that users choose."""
    return dataclasses.replace(
        PRESETS[name],
        num_bins=num_bins,
        threshold=threshold,
        positive_class=positive_class,
        datapoints_per_bin=datapoints_per_bin,
    )


def grid() -> list[CalibrationKey]:
    """Returns every combination of the four choices."""
    return [
        CalibrationKey(scheme, max_prob, class_conditional, norm)
        for scheme in BINNING_SCHEMES
        for max_prob in (True, False)
        for class_conditional in (False, True)
        for norm in NORMS
    ]
