"""What a calibration error measures: its options, and the options that have a name."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from uncertainty_metrics import _checks

BinningScheme = Literal["even", "adaptive"]
Norm = Literal["l1", "l2", "max"]
YAxis = Literal["accuracy", "frequency"]

DEFAULT_NUM_BINS = 15
BINNING_SCHEMES: tuple[BinningScheme, ...] = get_args(BinningScheme)
NORMS: tuple[Norm, ...] = get_args(Norm)
Y_AXES = get_args(YAxis)


class _Required:
    def __repr__(self) -> str:
        return "<required>"


# The default of arguments that are required, but come after others that are not.
REQUIRED: Any = _Required()


def given(value: Any) -> Any:
    """Returns an argument as it was passed, None where a required one was not."""
    return None if value is REQUIRED else value


class CalibrationKey(NamedTuple):
    """The four choices that tell one calibration error from another."""

    binning_scheme: BinningScheme
    max_prob: bool
    class_conditional: bool
    norm: Norm


@dataclasses.dataclass(frozen=True)
class CalibrationSpec:
    """The options of a calibration error, checked when it is made.

    Attributes:
      binning_scheme: "even" (equal width) or "adaptive" (equal mass).
      max_prob: whether a score is the probability of the decision label (True) or of
        every class (False).
      class_conditional: whether every class is a group of its own.
      norm: "l1", "l2" or "max".
      num_bins: number of bins of each group, up to 10^6.
      threshold: scores at or below it are dropped; 0.0 drops none.
      datapoints_per_bin: for adaptive bins, the mass of a bin instead of `num_bins`.
      positive_class: for two classes, one group with the score P(class 1) and the
        outcome `label == 1`, whatever `max_prob` and `class_conditional` say.
      multilabel: of labels that are each 0 or 1, the scores P(label is 1) in one group,
        or with `class_conditional` in one for each label, whatever `max_prob` says.
    """

    binning_scheme: BinningScheme
    max_prob: bool
    class_conditional: bool
    norm: Norm
    num_bins: int = DEFAULT_NUM_BINS
    threshold: float = 0.0
    datapoints_per_bin: int | None = None
    positive_class: bool = False
    multilabel: bool = False

    def __post_init__(self) -> None:
        _checks.one_of("binning_scheme", self.binning_scheme, BINNING_SCHEMES)
        _checks.one_of("norm", self.norm, NORMS)
        for name in ("max_prob", "class_conditional", "positive_class", "multilabel"):
            _checks.boolean(name, getattr(self, name))
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
        one = self.positive_class or not self.class_conditional
        return 1 if one else num_classes

    @property
    def uses_decision(self) -> bool:
        """Whether the score is the probability of the decision label."""
        return self.max_prob and not self.scores_class_1

    @property
    def scores_class_1(self) -> bool:
        """Whether the score is P(class 1) and the outcome `label == 1`."""
        return self.positive_class or self.multilabel

    @property
    def has_one_score(self) -> bool:
        """Whether an example has one score, not one for each class."""
        return self.max_prob or self.scores_class_1


# The options behind each name. The aliases and the class names are made of these.
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


def grid() -> list[CalibrationKey]:
    """Returns every combination of the four choices."""
    return [
        CalibrationKey(scheme, max_prob, class_conditional, norm)
        for scheme in BINNING_SCHEMES
        for max_prob in (True, False)
        for class_conditional in (False, True)
        for norm in NORMS
    ]
