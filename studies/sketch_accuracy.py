"""Errors of streaming adaptive metrics and of the answers of a `ScoreSketch`.

The Keras metrics with adaptive bins keep a sketch of fixed size;
`uncertainty_metrics.numpy` sorts all the scores. `python -m studies.sketch_accuracy`
prints the worst relative difference of the two over seeds, at the default resolution,
and the difference for each question to a `ScoreSketch`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from benchmarks.data import CALIBRATED, OVERCONFIDENT, predictions

_CLASSES = (2, 10, 100, 1000)
_BATCH = 5000
_METRICS = {
    "ace": um.AdaptiveCalibrationError,
    "tace": um.ThresholdedAdaptiveCalibrationError,
    "rmsce": um.RootMeanSquaredCalibrationError,
}
_DATA = {
    "overconfident": {"temperature": OVERCONFIDENT, "sharpness": 1.0},
    # Most of the scores are closer to 0 or 1 than 1e-6.
    "saturated": {"temperature": OVERCONFIDENT, "sharpness": 20.0},
    "near-calibrated": {"temperature": CALIBRATED, "sharpness": 1.0},
}


class Comparison(NamedTuple):
    """The values of one metric on one data set.

    Attributes:
      exact: the exact value.
      sketch: the value of the sketch.
      half: the exact value for half of the data.
    """

    exact: float
    sketch: float
    half: float

    @property
    def error(self) -> float:
        """Relative error of the sketch."""
        return abs(self.sketch - self.exact) / self.exact

    @property
    def noise(self) -> float:
        """Relative change of the exact value if only half of the data are used."""
        return abs(self.half - self.exact) / self.exact


def compare(
    name: str, labels: np.ndarray, probabilities: np.ndarray, num_bins: int
) -> Comparison:
    """Computes a metric exactly and in batches."""
    metric = _METRICS[name](num_bins=num_bins, num_classes=probabilities.shape[1])
    for start in range(0, len(labels), _BATCH):
        rows = slice(start, start + _BATCH)
        metric.update_state(labels[rows], probabilities[rows])
    exact = getattr(um_np, name)
    half = len(labels) // 2
    return Comparison(
        exact(labels, probabilities, num_bins=num_bins),
        float(metric.result()),
        exact(labels[:half], probabilities[:half], num_bins=num_bins),
    )


# Questions about decisions: the exact function, by the name of the method of a sketch.
_QUESTIONS: dict[str, Callable[..., float]] = {
    name: getattr(um_np, name)
    for name in (
        *("ece", "rmsce", "debiased_calibration_error", "smece"),
        *("ks_calibration_error", "kuiper_calibration_error", "atb", "aurc", "augrc"),
    )
}


def _miscalibration(*data: np.ndarray) -> float:
    return um_np.corp_decomposition(*data).miscalibration


def answers(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, Comparison]:
    """Compares the answers of a sketch about decisions with the exact values."""
    sketch = um_np.ScoreSketch()
    for start in range(0, len(labels), _BATCH):
        rows = slice(start, start + _BATCH)
        sketch.update(labels[rows], probabilities[rows])
    half = len(labels) // 2

    def compared(answer: float, exact: Callable[..., float]) -> Comparison:
        value = exact(labels, probabilities)
        return Comparison(value, answer, exact(labels[:half], probabilities[:half]))

    comparisons = {
        name: compared(getattr(sketch, name)(), exact)
        for name, exact in _QUESTIONS.items()
    }
    parts = sketch.corp_decomposition()
    comparisons["corp: miscalibration"] = compared(
        parts.miscalibration, _miscalibration
    )
    return comparisons


def table_of_answers(examples: int, seeds: int) -> list[str]:
    """Returns the table of the answers of a `ScoreSketch`, and prints it."""
    lines = [
        "",
        "# Answers of a `ScoreSketch` about decisions",
        "",
        "Worst and median difference from the exact value. For comparison: the median "
        "change of the exact value if only half of the data are used.",
        "",
        "| data | K | question | exact | worst | median | half the data |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for data, choices in _DATA.items():
        for classes in _CLASSES:
            found: dict[str, list[Comparison]] = {}
            for seed in range(seeds):
                made = predictions(examples, classes, seed, **choices)
                for name, each in answers(*made).items():
                    found.setdefault(name, []).append(each)
            for name, of_seeds in found.items():
                errors = [abs(each.sketch - each.exact) for each in of_seeds]
                noise = [abs(each.half - each.exact) for each in of_seeds]
                lines.append(
                    f"| {data} | {classes} | {name} "
                    f"| {np.median([each.exact for each in of_seeds]):.3g} "
                    f"| {max(errors):.1e} | {np.median(errors):.1e} "
                    f"| {np.median(noise):.1e} |"
                )
                print(lines[-1], flush=True)
    return lines


_SIZES = (200, 530, 2000, 10_000, 50_000)
_SHARPNESS = (0.3, 2.0, 6.0)
# `sketch_bits` of an earlier default grid by the number of groups; None: the default.
_BITS_BEFORE = {1: 7, 4: 5, 10: 4, 1000: None}


def _drawn(
    n: int, classes: int, sharpness: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns labels, the probabilities from which they are drawn, and weights."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.standard_normal((n, classes)).astype(np.float32)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    cumulative = np.cumsum(p, axis=1, dtype=np.float64)
    uniform = rng.random((n, 1)) * cumulative[:, -1:]
    return (cumulative <= uniform).sum(axis=1), p, rng.exponential(size=n)


def _differences(
    classes: int, labels: np.ndarray, p: np.ndarray, weights: np.ndarray | None
) -> dict[str, tuple[float, float]]:
    """Returns the errors of sketches with the present grid and with the earlier one."""
    found = {}
    for bits in (None, _BITS_BEFORE[1]):
        sketch = um_np.ScoreSketch(sketch_bits=bits)
        sketch.update(labels, p, sample_weight=weights)
        right, top = p.argmax(axis=1) == labels, p.max(axis=1)
        exact = {
            name: _QUESTIONS[name](labels, p, sample_weight=weights)
            for name in ("rmsce", "smece", "ks_calibration_error", "aurc")
        }
        if 0 < right.sum() < len(right):
            exact["auroc"] = um_np.auroc(right, top, sample_weight=weights)
        for name, value in exact.items():
            error = abs(getattr(sketch, name)() - value)
            found[name] = (*found.get(name, ()), error)
    exact = um_np.ace(labels, p, sample_weight=weights)
    for bits in (None, _BITS_BEFORE[classes]):
        each = um_np.ScoreSketch(
            max_prob=False, class_conditional=True, sketch_bits=bits
        )
        each.update(labels, p, sample_weight=weights)
        found[f"ace, K = {classes}"] = (
            *found.get(f"ace, K = {classes}", ()),
            abs(each.ace() - exact),
        )
    return found


def ordinary(seeds: int) -> list[str]:
    """Returns the table of ordinary validation sets, and prints it."""
    lines = [
        "# Answers of a `ScoreSketch` on ordinary validation sets",
        "",
        "Labels are drawn from the softmax of Normal logits times a sharpness. The "
        f"table has the mean absolute difference, over {seeds} draws, from the "
        "function on all predictions, in units of 1e-5: with the present grid / with "
        "an earlier grid.",
        "",
        "| K | sharpness | weights | question | "
        + " | ".join(f"n = {n}" for n in _SIZES)
        + " |",
        "|---" * (4 + len(_SIZES)) + "|",
    ]
    print("\n".join(lines), flush=True)
    for classes in (4, 10, 1000):
        for sharpness in _SHARPNESS:
            for weighted in (False, True)[: 1 if classes == 1000 else 2]:
                cells: dict[str, list[str]] = {}
                for n in _SIZES[: 4 if classes == 1000 else None]:
                    draws = seeds if n <= 2000 else max(1, seeds // 4)
                    found: dict[str, list[tuple[float, float]]] = {}
                    for seed in range(draws):
                        labels, p, weights = _drawn(n, classes, sharpness, seed)
                        given = weights if weighted else None
                        of_draw = _differences(classes, labels, p, given)
                        for name, pair in of_draw.items():
                            found.setdefault(name, []).append(pair)
                    for name, pairs in found.items():
                        now, before = 1e5 * np.mean(pairs, axis=0)
                        cells.setdefault(name, []).append(f"{now:.1f} / {before:.1f}")
                for name, row in cells.items():
                    row += ["-"] * (len(_SIZES) - len(row))
                    lines.append(
                        f"| {classes} | {sharpness:g} | {'yes' if weighted else 'no'} "
                        f"| {name} | {' | '.join(row)} |"
                    )
                    print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Prints the tables, and writes them to the folder of `--out`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=50000)
    parser.add_argument("--bins", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent / "results"
    )
    parser.add_argument(
        "--ordinary", action="store_true", help="use ordinary validation sets instead"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.ordinary:
        lines = ordinary(options.seeds)
        (options.out / "sketch_ordinary.md").write_text("\n".join(lines) + "\n")
        return
    lines = [
        "# Streaming adaptive metrics against exact ones",
        "",
        f"{options.examples} examples, {options.bins} bins, {options.seeds} seeds. "
        "Worst and median relative error of the streaming metric. For comparison: the "
        "median relative change of the exact value if only half of the data are used.",
        "",
        "| data | K | scores within 1e-6 of 0 or 1 | metric | exact | worst | median "
        "| half the data |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for data, choices in _DATA.items():
        for classes in _CLASSES:
            found: dict[str, list[Comparison]] = {name: [] for name in _METRICS}
            for seed in range(options.seeds):
                labels, p = predictions(options.examples, classes, seed, **choices)
                saturated = np.mean((p < 1e-6) | (p > 1 - 1e-6))
                for name, of_seeds in found.items():
                    of_seeds.append(compare(name, labels, p, options.bins))
            for name, of_seeds in found.items():
                errors = [each.error for each in of_seeds]
                lines.append(
                    f"| {data} | {classes} | {saturated:.0%} | {name.upper()} "
                    f"| {np.median([each.exact for each in of_seeds]):.3g} "
                    f"| {max(errors):.1e} | {np.median(errors):.1e} "
                    f"| {np.median([each.noise for each in of_seeds]):.1e} |"
                )
                print(lines[-1], flush=True)
    lines += table_of_answers(options.examples, options.seeds)
    (options.out / "sketch_accuracy.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
