"""Calibration watched for ever, without false alarms from looking often."""

from __future__ import annotations

import math
import reprlib
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._results import ConfidenceInterval, PITInterval
from uncertainty_metrics.numpy import _saved
from uncertainty_metrics.numpy.calibration import (
    _confidence_sequence,
    _monitor_state,
    _monitored,
)
from uncertainty_metrics.numpy.calibration._bets import Mode
from uncertainty_metrics.numpy.calibration._monitor_state import MonitorState

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CalibrationMonitor"]


class CalibrationMonitor:
    """Watches calibration for ever: an alarm that frequent looks do not make false.

    A test at a level of 5% that is repeated every day rejects a calibrated model sooner
    or later, for certain. An e-value may be looked at after each example: of a
    calibrated model it ever reaches 1 / alpha with a probability of at most alpha.

    The e-value is the wealth of someone who bets against calibration and began with 1.
    With the score p_t and the outcome y_t of example t,

      e = 1/K sum over K bets of prod_t (1 + lambda_t (y_t - p_t) h(p_t))

    where lambda_t is known before y_t, and every factor is positive. The hypothesis is
    E[y_t | past, p_t] = p_t. Under it each factor has the mean 1 given the past, so
    that the e-value is 1 on average, and Ville's inequality bounds the probability of
    an alarm. The bets are that all scores, or the scores of one of the even bins
    [0, .2], ..., (.8, 1], are too low, or too high: with c = e^a - 1 and
    h(p) = 1 / (1 + c p), that their log-odds are off by a. Each bet is a mean over five
    sizes of a, and over starts at each example with a part of the wealth, of which the
    first has half; all that is in lambda_t.

    With mode="change" the question is when a model that was calibrated stops being so.
    The wealth of a bet that starts at each example with 1 is added up instead (an
    e-detector). Each alarm may then be a false one, but from the start to a false alarm
    it takes at least 1 / alpha examples on average: an `alpha` of 1e-6 allows one in a
    million examples. `reset` starts anew after an alarm.

    PIT values of forecasts of numbers, `update(pit=...)`, are uniform given the past if
    the forecasts are calibrated. The bets are densities constant in ten cells:
    forecasts are too low, too high, too narrow or too wide, in four sizes each, and the
    discounted histogram of the values before (half an example in each cell at first, a
    memory of a thousand examples).

    What it finds is a deviation from calibration given the past, also where gaps of
    different scores cancel on average; an alarm names no cause. The order of the
    examples, such as that of the forecasts, must not depend on their outcomes: where an
    event is known when it happens, and its absence only at the end of a horizon, both
    come at the end. Forecasts of overlapping times, such as the next 30 days, made
    every day, are not independent: take one in 30. There are no weights.

    Of 500 calibrated streams of 100,000 examples, looked at after each, 1.8% to 4.0%
    ever had an alarm with an alpha of .05, and 61% to 67% a rejection of a z-test at 5%
    after each. Where P(event) becomes too high by .05 after 10,000 examples, it takes
    2383 more to the alarm (median), 1308 with "change" and an alpha of 1e-5, and 292 to
    an oracle that knows when and what changes (`studies/monitor_false_alarms.py`).

    A million examples take about 1.2 seconds of one core; the state is fixed in size.
    Batches of any sizes give the same values, but for rounding.

    Args:
      alpha: bound, in (0, 1), on the probability of ever having a false alarm; with
        "change", one over the mean number of examples to one.
      mode: "test", or "change".
      positive_class: for two classes, whether to watch P(class 1) against `label == 1`,
        as of the risk of an event, instead of the confidence of the decision against
        whether it is right.

    Raises:
      ValueError: an argument is not as described.

    Example:
      >>> import numpy as np
      >>> import uncertainty_metrics.numpy as um
      >>> rng = np.random.default_rng(0)
      >>> monitor = um.CalibrationMonitor(alpha=0.01, positive_class=True)
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
        positive_class: bool = False,
    ):
        self.alpha = _checks.open_unit("alpha", alpha)
        _checks.one_of("mode", mode, get_args(Mode))
        self.mode: Mode = mode
        _checks.boolean("positive_class", positive_class)
        self.positive_class = positive_class
        self._state: MonitorState | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
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
        """Adds a batch, whose examples are in an order that no outcome decides.

        A batch that raises ValueError leaves the monitor as it was.

        Args:
          labels: integer class labels in [0, K), shape [...].
          probabilities: predicted probabilities in [0, 1], shape [..., K]; or P(class
            1) of two classes, shape [...] or [..., 1].
          logits: logits of the same shape, instead of `probabilities`.
          probs: another name for `probabilities`.
          correct: whether each answer is right, 0 or 1, instead of `labels`.
          confidences: with `correct`, how sure each answer was, in [0, 1], of the same
            shape.
          pit: instead of all these, PIT values in [0, 1] of forecasts of numbers, or a
            `PITInterval` of `lower` and `upper`. `quantile_pit` is no good here: its
            values beyond the outer quantiles are not uniform.

        Raises:
          ValueError: an argument is not as described, or PIT values follow outcomes.
        """
        data = {
            "labels": labels,
            "probabilities": probabilities,
            "logits": logits,
            "probs": probs,
        }
        batch = _monitored.read(data, correct, confidences, pit, self.positive_class)
        state = self._state or _monitor_state.empty(batch.kind)
        if batch.kind != state.kind:
            expected = {"pit": "`pit`", "outcomes": "outcomes and probabilities"}
            raise _checks.plain_error(
                f"This monitor was given {expected[state.kind]} before: make another "
                "one for another question.",
                expected[batch.kind],
            )
        log_bound = -math.log(self.alpha)
        self._state = _monitor_state.after(state, batch, self.mode, log_bound)

    def reset(self) -> None:
        """Forgets all examples, and the alarm."""
        self._state = None

    def _known(self) -> MonitorState:
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
        """The e-value: wealth that grows where the model is not calibrated, 1 at first.

        In mode "change" it is the sum of the e-detector, 0 at first, and at most the
        number of examples on average while the model is calibrated. It is infinite
        where float64 cannot hold it.
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_e_value))

    @property
    def alarm(self) -> int | None:
        """Number of the example, from 1 on, at which the e-value first reached
        1 / alpha; None if it did not.
        """
        return None if self._state is None else self._state.alarm

    def gap_interval(self, *, level: float = 0.95) -> ConfidenceInterval:
        """The mean of outcome - score so far, and a confidence sequence of it.

        The interval holds the mean of E[y_t | past] - p_t over the examples so far, for
        all numbers of examples at once, with a probability of at least `level`, whether
        the gap changes or not. It says how large a miscalibration is on average;
        the alarm, which also looks at single bins, may come while it holds 0. Of PIT
        values it is about their mean - 1/2: above 0 if forecasts are too low.

        Args:
          level: in (0, 1).

        Returns:
          `ConfidenceInterval(lower, estimate, upper)`, in [-1, 1], or [-1/2, 1/2].

        Raises:
          ValueError: `level` is not as described, or there are no examples yet.

        References:
          Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform, Nonparametric,
          Nonasymptotic Confidence Sequences.
        """
        level = _checks.open_unit("level", level)
        state = self._known()
        mean = state.gap_sum / state.count
        half = _confidence_sequence.half_width(state.gap_squares, state.count, level)
        most = 0.5 if state.kind == "pit" else 1.0
        return ConfidenceInterval(max(mean - half, -most), mean, min(mean + half, most))

    def plot(self, ax: Any = None) -> Any:
        """Draws the e-value after each example, up to 512 points, and the alarm.

        Args:
          ax: matplotlib Axes to draw in; by default those of a new pyplot figure, which
            is not shown.

        Returns:
          The matplotlib Axes.

        Raises:
          ImportError: matplotlib is not installed.
          ValueError: there are no examples yet.
        """
        from uncertainty_metrics.visualization import _evidence

        state = self._known()
        return _evidence.draw_evidence(
            np.append(state.numbers, state.count),
            np.append(state.path, self.log_e_value),
            alpha=self.alpha,
            alarm=state.alarm,
            ax=ax,
        )

    def save(self, path: _saved.Path) -> None:
        """Writes the monitor as an .npz archive without pickles, which `load` reads.

        No example is in the file: it has what the bets have won, sums of the gaps, and
        up to 512 e-values.

        Args:
          path: where to, as it is: no ending is added. Or a file opened for writing
            bytes.
        """
        _monitor_state.write(path, self.config, self._state)

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Reads a monitor that `save` wrote. Nothing in the file is executed.

        Args:
          path: the file, or a file opened for reading bytes.

        Raises:
          ValueError: the file is not such an archive, or of a later version, or it is
            damaged.
        """
        config, state = _monitor_state.read(path)
        try:
            made = cls(**config)
        except TypeError:
            raise _checks.error(
                "config",
                f"the arguments of `{cls.__name__}`",
                reprlib.repr(config),
                verb="hold",
            ) from None
        made._state = state
        return made
