"""How often a monitor of calibration has a false alarm, and how late its alarms come.

`python -m studies.monitor_false_alarms` prints four tables, in about ten minutes:

- the share of streams of a calibrated model that ever have an alarm, with a look after
  each example, beside a z-test of the mean gap at 5% that is repeated as often;
- the share of streams in which the interval of the mean gap ever misses the truth;
- the number of examples from a change to the alarm, beside an oracle that knows the
  time and the size of the change and bets on nothing else;
- the mean number of examples to a false alarm of the mode "change".
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from uncertainty_metrics.numpy.calibration.watching.calibration_monitor import (
    CalibrationMonitor,
)

_ALPHA = 0.05
# The number of examples before the first look at the z-test.
_FIRST_LOOK = 30
# By name: a function that draws n scores of an event.
_SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: 1 - 0.3 * rng.random(n) ** 1.5,
    "rare": lambda rng, n: 0.1 * rng.random(n),
}
# By name: shift and scale of the targets, as z-scores of Normal forecasts.
_FORECASTS = {
    "bias .1": (0.1, 1.0),
    "bias .25": (0.25, 1.0),
    "10% too narrow": (0.0, 1.1),
    "25% too narrow": (0.0, 1.25),
    "20% too wide": (0.0, 1 / 1.2),
}


def ever_rejects(z: np.ndarray) -> bool:
    """Says if a z-test at 5% rejects at any look."""
    return bool(np.any(np.abs(z[_FIRST_LOOK - 1 :]) > 1.96))


def false_alarms(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of calibrated streams."""
    n, streams = arguments.examples, arguments.streams
    yield (
        f"{streams} calibrated streams a row, {n} examples each, a look after each "
        f"example: share of streams that ever had an alarm, alpha = {_ALPHA}"
    )
    yield ""
    yield "| stream | monitor | z-test at 5% |"
    yield "|---|---|---|"
    for name in (*_SCORES, "PIT", "PIT of 9 samples"):
        rng = np.random.default_rng(arguments.seed)
        found = []
        for _ in range(streams):
            monitor = CalibrationMonitor(_ALPHA, positive_class=True)
            if name in _SCORES:
                p = _SCORES[name](rng, n)
                labels = rng.random(n) < p
                monitor.update(labels, p)
                gaps, variances = labels - p, p * (1 - p)
            elif name == "PIT":
                pit = rng.random(n)
                monitor.update(pit=pit)
                gaps, variances = pit - 0.5, np.full(n, 1 / 12)
            else:
                ranks = rng.integers(0, 10, n)
                monitor.update(pit=(ranks / 10, (ranks + 1) / 10))
                gaps, variances = (ranks + 0.5) / 10 - 0.5, np.full(n, 0.0825)
            z = np.cumsum(gaps) / np.sqrt(np.cumsum(variances))
            found.append((monitor.alarm is not None, ever_rejects(z)))
        share, other = np.mean(found, axis=0)
        error = np.sqrt(share * (1 - share) / streams)
        yield f"| {name} | {share:.1%} +- {error:.1%} | {other:.1%} |"


def interval_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of confidence sequences."""
    n, streams = arguments.examples // 10, arguments.intervals
    looks = np.unique(np.geomspace(1, n, 100).astype(int))
    yield f"{streams} streams a row, level 95%, {len(looks)} looks at 1 to {n} examples"
    yield ""
    yield "| scores | gap | ever wrong | width after 1000 | after all |"
    yield "|---|---|---|---|---|"
    for name, make in _SCORES.items():
        for size in (0.0, 0.05):
            rng = np.random.default_rng(arguments.seed)
            wrong, widths = 0, np.zeros(2)
            for _ in range(streams):
                p = make(rng, n)
                # The gap comes and goes.
                gap = size * np.sin(np.arange(n) / 500)
                q = np.clip(p + gap, 0, 1)
                labels = rng.random(n) < q
                truth = np.cumsum(q - p) / np.arange(1, n + 1)
                monitor = CalibrationMonitor(positive_class=True)
                missed, start = False, 0
                for look in looks:
                    monitor.update(labels[start:look], p[start:look])
                    lower, _, upper = monitor.gap_interval()
                    missed |= not lower <= truth[look - 1] <= upper
                    widths += (upper - lower) * np.array(
                        [start < min(1000, n) <= look, look == n]
                    )
                    start = look
                wrong += missed
            share = wrong / streams
            error = np.sqrt(share * (1 - share) / streams)
            text = " | ".join(f"{width:.4f}" for width in widths / streams)
            yield f"| {name} | {size} | {share:.1%} +- {error:.1%} | {text} |"


def first_at(log_values: np.ndarray, bound: float) -> float:
    """Returns the number of the first value that reaches a bound, or infinity."""
    reached = log_values >= bound
    return 1 + int(np.argmax(reached)) if np.any(reached) else math.inf


def delay(monitor: CalibrationMonitor, start: int) -> float:
    """Returns how long after `start` the alarm came; NaN if it came before `start`."""
    alarm = monitor.alarm
    if alarm is None:
        return math.inf
    return alarm - start if alarm > start else math.nan


def _monitors() -> list[CalibrationMonitor]:
    change = CalibrationMonitor(1e-5, mode="change", positive_class=True)
    return [CalibrationMonitor(_ALPHA, positive_class=True), change]


def delay_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of delays."""
    streams, bound = arguments.delays, -math.log(_ALPHA)
    yield (
        f"{streams} streams a row: median number of examples from the change to the "
        f"alarm, mode 'test' with alpha = {_ALPHA}, mode 'change' with alpha = 1e-5"
    )
    yield ""
    yield "| change | after | oracle | test | change |"
    yield "|---|---|---|---|---|"
    for start in (0, 1000, 10_000, 100_000):
        for shift, most in ((0.02, 40_000), (0.05, 10_000), (0.1, 4000)):
            rng = np.random.default_rng(arguments.seed)
            found = []
            for _ in range(streams):
                n = start + most
                p = 0.2 + 0.6 * rng.random(n)
                q = p - shift * (np.arange(n) >= start)
                labels = rng.random(n) < q
                ratios = np.where(labels, q / p, (1 - q) / (1 - p))[start:]
                delays = [first_at(np.cumsum(np.log(ratios)), bound)]
                for monitor in _monitors():
                    monitor.update(labels, p)
                    delays.append(delay(monitor, start))
                found.append(delays)
            yield _row(f"P(event) {shift} too high", start, found)
    for start in (0, 10_000):
        for name, (mean, scale) in _FORECASTS.items():
            rng = np.random.default_rng(arguments.seed)
            found = []
            for _ in range(streams):
                x = rng.normal(size=start + 12_000)
                x[start:] = mean + scale * x[start:]
                after = x[start:]
                ratios = (after**2 - ((after - mean) / scale) ** 2) / 2 - np.log(scale)
                delays = [first_at(np.cumsum(ratios), bound)]
                for monitor in _monitors():
                    monitor.update(pit=special.ndtr(x))
                    delays.append(delay(monitor, start))
                found.append(delays)
            yield _row(f"forecasts: {name}", start, found)


def _row(change: str, start: int, found: list[list[float]]) -> str:
    shown = (f"{m:.0f}" for m in np.nanmedian(np.array(found), axis=0))
    return f"| {change} | {start} | {' | '.join(shown)} |"


def run_length_rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table of run lengths to a false alarm."""
    yield (
        f"Mode 'change', {arguments.runs} runs of calibrated streams: mean number of "
        "examples to a false alarm. A run without an alarm ends at 30 / alpha."
    )
    yield ""
    yield "| stream | alpha | 1 / alpha | mean run length |"
    yield "|---|---|---|---|"
    for name in (*_SCORES, "PIT"):
        for alpha in (0.05, 1e-3):
            rng = np.random.default_rng(arguments.seed)
            lengths = []
            for _ in range(arguments.runs):
                monitor = CalibrationMonitor(alpha, mode="change", positive_class=True)
                size = round(1 / alpha)
                while monitor.alarm is None and monitor.num_examples < 30 / alpha:
                    if name == "PIT":
                        monitor.update(pit=rng.random(size))
                    else:
                        p = _SCORES[name](rng, size)
                        monitor.update(rng.random(size) < p, p)
                lengths.append(monitor.alarm or monitor.num_examples)
            mean = np.mean(lengths)
            error = np.std(lengths) / np.sqrt(arguments.runs)
            length = f"{mean:.0f} +- {error:.0f}"
            yield f"| {name} | {alpha:g} | {1 / alpha:.0f} | {length} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10**5)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--intervals", type=int, default=100)
    parser.add_argument("--delays", type=int, default=50)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for rows in (false_alarms, interval_rows, delay_rows, run_length_rows):
        for row in rows(arguments):
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
