"""A monitor of calibration, whose false alarms are bounded however often one looks."""

from __future__ import annotations

import math
import reprlib
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _calibration_spec, _checks
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics._results import ConfidenceInterval, PITInterval
from uncertainty_metrics.numpy import _saved
from uncertainty_metrics.numpy._frames import takes_frames
from uncertainty_metrics.numpy.calibration.watching import (
    _confidence_sequence,
    _monitor_state,
    _monitored_batches,
)
from uncertainty_metrics.numpy.calibration.watching._betting import Mode
from uncertainty_metrics.numpy.calibration.watching._monitor_state import MonitorState

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CalibrationMonitor"]


class CalibrationMonitor:
    """Watches calibration for any length of time, with a bound on false alarms.

    A test at a level of 5% that is repeated every day rejects a calibrated model sooner
    or later. The e-value of a monitor may be looked at after each example: if the model
    is calibrated, the probability that the e-value ever reaches 1 / alpha is at most
    alpha.

    The e-value is the wealth of a player who starts with 1 and bets that the model is
    not calibrated. With the score p_t and the outcome y_t of example t,

      e = 1/K sum over K bets of prod_t (1 + lambda_t (y_t - p_t) h(p_t))

    where lambda_t is known before y_t and each factor is positive. The hypothesis is
    E[y_t | past, p_t] = p_t. Under the hypothesis each factor has the mean 1 given the
    past, so the e-value is 1 on average, and Ville's inequality bounds the probability
    of an alarm. A bet says that the log-odds of all scores, or of the scores in one of
    the even bins [0, .2], (.2, .4], ..., (.8, 1], are off by a, which may be positive
    or negative. Then h(p) = 1 / (1 + c p) with c = e^a - 1. A bet divides its wealth
    over five sizes of a, and over starts at each example, where the first start gets
    half; lambda_t follows from these shares.

    With mode="change" the question is when a model that was calibrated stops being
    calibrated. There each bet starts with 1 at each example, and the wealth of all
    starts is added up (an e-detector). This sum grows also for a calibrated model, so
    any alarm may be a false one. But a false alarm comes after 1 / alpha examples or
    more on average: an `alpha` of 1e-6 allows one in a million examples. After an
    alarm, `reset` makes the monitor start again.

    PIT values of forecasts of numbers, `update(pit=...)`, are uniform given the past if
    the forecasts are calibrated. There a bet is a density that is constant in each of
    ten cells. Four bets say that the forecasts are too low, too high, too narrow or too
    wide, in four sizes each. The fifth is the histogram of the earlier values, in which
    each cell has half an example at first, and recent examples count most (a memory of
    about a thousand examples).

    An alarm means that the model is not calibrated given the past; it does not name the
    cause. Gaps of different scores that cancel on average raise an alarm too. Pass the
    examples in an order that does not depend on their outcomes, such as the order of
    the forecasts. If an event is known when it happens, but its absence only at the end
    of a horizon, pass both at the end of the horizon. Forecasts of periods that
    overlap, such as forecasts of the next 30 days that are made every day, have
    outcomes that depend on each other: pass one forecast in 30. There are no weights.

    For 500 calibrated streams of 100,000 examples, and a look after each example, 1.8%
    to 4.0% ever had an alarm with an alpha of 0.05; a z-test at 5% rejected 61% to 67%
    at some look. After 10,000 calibrated examples, let P(event) become too high by
    0.05. The alarm then came after a median of 2383 more examples, and of 1308 with
    mode="change" and an alpha of 1e-5. An oracle that knows the time and the size of
    the change took 292 (`studies/monitor_false_alarms.py`).

    A million examples take about 1.2 seconds on one core. The memory of a monitor is
    fixed, and batches of any size lead to the same values, except for rounding.

    There are no `clusters`, because examples may depend on earlier ones: the hypothesis
    is about each forecast given the past. Forecasts whose outcomes are known together,
    such as several answers to one question, do not know each other: pass one of them.

    Args:
      alpha: upper bound on the probability of ever having a false alarm, in (0, 1);
        with mode="change", 1 / alpha is a lower bound on the mean number of examples to
        a false alarm.
      mode: "test" or "change".
      positive_class: of two classes, whether to score P(class 1) instead of the
        decision. None means True if the first batch has one column
        (conventions.md#two-classes); batches of the other form are then refused.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> monitor = um.CalibrationMonitor(alpha=0.01)
      >>> for day in range(10):
      ...     p = rng.uniform(size=500)
      ...     drift = 0.1 * (day >= 5)  # From example 2501 on.
      ...     labels = rng.uniform(size=500) < p - drift
      ...     monitor.update(labels, p)
      >>> 2500 < monitor.alarm < 3500, monitor.e_value > 100
      (True, True)
      >>> lower, mean_gap, upper = monitor.gap_interval()
      >>> lower < -0.05 < upper < 0
      True

    References:
      Arnold, Henzi and Ziegel (2023), Sequentially Valid Tests for Forecast
      Calibration. Waudby-Smith and Ramdas (2024), Estimating Means of Bounded Random
      Variables by Betting. Shin, Ramdas and Rinaldo (2024), E-detectors: A
      Nonparametric Framework for Sequential Change Detection.
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        mode: Mode = "test",
        positive_class: bool | None = None,
    ):
        self.alpha = _checks.open_unit("alpha", alpha)
        _checks.one_of("mode", mode, get_args(Mode))
        self.mode: Mode = mode
        _checks.boolean_or_none("positive_class", positive_class)
        self._positive_class = positive_class
        # What `positive_class=None` means, from the first batch of outcomes on.
        self._of_class_1: bool | None = None
        self._state: MonitorState | None = None

    @property
    def positive_class(self) -> bool | None:
        """Whether scores are P(class 1); None as long as the first batch will tell."""
        given = self._positive_class
        return self._of_class_1 if given is None else given

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the constructor; `positive_class` as it was settled."""
        return {
            "alpha": self.alpha,
            "mode": self.mode,
            "positive_class": self.positive_class,
        }

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        title = f"{type(self).__name__}({options})"
        if self._state is None:
            return f"{title}, no examples"
        alarm = "no alarm" if self.alarm is None else f"alarm at example {self.alarm}"
        return f"{title}, {self.num_examples} examples, {alarm}, e = {self.e_value:.4g}"

    @takes_frames
    def update(
        self,
        labels: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        confidences: ArrayLike | None = None,
        pit: ArrayLike | PITInterval | None = None,
    ) -> None:
        """Adds a batch. A batch that raises ValueError leaves the monitor as it was.

        The order of the examples must not depend on their outcomes.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          probs: another name for `probabilities`.
          correct: whether each answer is right, 0 or 1, [...] (conventions.md#answers).
          confidences: with `correct`, P(right) in [0, 1], [...]
            (conventions.md#answers).
          pit: instead of all other arguments, PIT values in [0, 1], shape [n] or
            [n, 1]; or intervals of PIT values, a `PITInterval` or a tuple `(lower,
            upper)` of two arrays.

        Raises:
          ValueError: an argument is not as described, or earlier batches had PIT values
            and this one has outcomes, or the other way round.
        """
        data = ClassifierData(
            labels=labels,
            probabilities=probabilities,
            logits=logits,
            probs=probs,
            correct=correct,
            confidences=confidences,
        )
        batch = _monitored_batches.read(data, pit, self._positive_class)
        if self._positive_class is None and batch.kind == "outcomes":
            _calibration_spec.check_form(
                data.names_given[-1], self._of_class_1, batch.of_class_1
            )
        state = self._state or _monitor_state.empty(batch.kind)
        if batch.kind != state.kind:
            names = {"pit": "`pit`", "outcomes": "outcomes"}
            raise _checks.plain_error(
                f"Earlier batches of this monitor had {names[state.kind]}: make "
                f"another monitor for {names[batch.kind]}.",
                names[batch.kind],
            )
        if self._positive_class is None and batch.kind == "outcomes":
            self._of_class_1 = batch.of_class_1
        log_bound = -math.log(self.alpha)
        self._state = _monitor_state.after(state, batch, self.mode, log_bound)

    def reset(self) -> None:
        """Forgets all examples, and the alarm."""
        self._state = self._of_class_1 = None

    def _filled_state(self) -> MonitorState:
        """Returns the state; raises ValueError if there are no examples yet."""
        if self._state is None:
            raise _checks.plain_error(
                "There are no examples in this `CalibrationMonitor` yet: call `update` "
                "first.",
                "none",
            )
        return self._state

    @property
    def num_examples(self) -> int:
        """The number of examples so far."""
        return 0 if self._state is None else self._state.count

    @property
    def log_e_value(self) -> float:
        """The natural logarithm of the e-value."""
        if self._state is None:
            return 0.0 if self.mode == "test" else -math.inf
        return self._state.log_e_value(self.mode)

    @property
    def e_value(self) -> float:
        """The e-value: 1 at first, and it grows if the model is not calibrated.

        In mode "change" it is the sum of the e-detector: 0 at first, and on average at
        most the number of examples as long as the model is calibrated. It is infinite
        if it is too large for float64.
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_e_value))

    @property
    def alarm(self) -> int | None:
        """Number of the example, counted from 1, at which the e-value first reached
        1 / alpha; None if it never did.
        """
        return None if self._state is None else self._state.alarm

    def gap_interval(self, *, level: float = 0.95) -> ConfidenceInterval:
        """Mean of outcome - score over all examples so far, and its interval.

        The interval belongs to a confidence sequence: with a probability of at least
        `level`, the intervals after 1, 2, 3, ... examples all hold the true mean of
        E[y_t | past] - p_t, even if the gap changes. It says how large the
        miscalibration is on average. An alarm may come while the interval holds 0,
        because the e-value also depends on single bins. For PIT values the interval is
        about their mean minus 1/2, which is above 0 if the forecasts are too low.

        Args:
          level: level of the interval, in (0, 1).

        Returns:
          `ConfidenceInterval(lower, estimate, upper)`, in [-1, 1]; for PIT values in
          [-1/2, 1/2].

        Raises:
          ValueError: `level` is not as described, or there are no examples yet.

        References:
          Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform, Nonparametric,
          Nonasymptotic Confidence Sequences.
        """
        level = _checks.open_unit("level", level)
        state = self._filled_state()
        mean = state.gap_sum / state.count
        half = _confidence_sequence.half_width(state.gap_squares, state.count, level)
        most = 0.5 if state.kind == "pit" else 1.0
        return ConfidenceInterval(max(mean - half, -most), mean, min(mean + half, most))

    def plot(self, ax: Any = None) -> Any:
        """Draws the e-value against the number of examples, and the alarm.

        The line has up to 512 points; those before a monitor was loaded are at least 64
        examples apart.

        Args:
          ax: matplotlib Axes to draw in; by default the Axes of a new pyplot figure,
            which is not shown.

        Returns:
          The matplotlib Axes.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: there are no examples yet.
        """
        from uncertainty_metrics.visualization import _evidence

        state = self._filled_state()
        return _evidence.draw_evidence(
            np.append(state.numbers, state.count),
            np.append(state.path, self.log_e_value),
            alpha=self.alpha,
            alarm=state.alarm,
            ax=ax,
        )

    def save(self, path: _saved.Path) -> None:
        """Writes the monitor as an .npz archive without pickles, which `load` reads.

        The file has no list of examples: it has the wealth of the bets, the number of
        the last example in each bin, sums of the gaps and of their squares, and
        e-values that are at least 64 examples apart. But it is not anonymous. These
        numbers can determine the scores and outcomes of few examples, of the only
        example in a bin, and of those between two files: keep it where the predictions
        may be.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.
        """
        _monitor_state.write(path, self.config, self._state)

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a monitor that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, has a later version, or is
            damaged.
        """
        config, state = _monitor_state.read(path)
        try:
            loaded = cls(**config)
        except TypeError:
            raise _checks.error(
                "config",
                f"the arguments of `{cls.__name__}`",
                reprlib.repr(config),
                verb="hold",
            ) from None
        loaded._state = state
        return loaded
