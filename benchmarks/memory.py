"""Memory that the paths need beyond their input: `python benchmarks/memory.py`.

Each call is measured in a fresh process, at two sizes: the second has more bins for the
same examples, more members for the same number of probabilities, or more examples. A
path is flagged if it grows as an array [N, bins] or [N, M, M] or a copy of all
predictions [N, K] would grow.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import json
import operator
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np
from harness import GRAPH, MODES, NUMPY, XLA

_HERE = Path(__file__).resolve().parent
# A path is flagged if it grows by more than this share of the growth of the forbidden
# array.
SHARE = 0.25
_BYTES = 4
_MEGABYTE = 2**20

Size = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Growth:
    """Two sizes, and an array that no path may make.

    Attributes:
      forbidden: shape of the forbidden array, as text.
      elements: returns the number of its elements for a size.
      make: makes the data of a size.
      sizes: a small and a large size.
      few: a small and a large size for a quick test.
      option: whether the last number of a size is an option of the function, and not a
        size of the data.
    """

    forbidden: str
    elements: Callable[..., int]
    make: Callable[..., tuple[np.ndarray, ...]]
    sizes: tuple[Size, Size]
    few: tuple[Size, Size]
    option: bool = False

    def data(self, size: Size) -> tuple[np.ndarray, ...]:
        """Returns the data of a size, a named tuple."""
        return self.make(*(size[:-1] if self.option else size))


@dataclasses.dataclass(frozen=True)
class Row:
    """A function, or `update_state` of a Keras metric.

    Attributes:
      name: the public name.
      growth: the sizes, and the forbidden array.
      option: the keyword that takes the last number of a size.
      options: other keywords.
      modes: the modes to measure.
      gradient: whether to compute the gradient of its mean in the last argument, too.
    """

    name: str
    growth: Growth
    option: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    modes: tuple[str, ...] = MODES
    gradient: bool = False

    @property
    def title(self) -> str:
        """Its name in the table."""
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        of = f"({', '.join(options)})" if options else ""
        return f"{'gradient of ' * self.gradient}{self.name}{of}"

    @property
    def is_metric(self) -> bool:
        """Whether it is a Keras metric."""
        return self.name.rpartition(".")[2][0].isupper()

    def data(self, size: Size) -> tuple[np.ndarray, ...]:
        """Returns the data of a size, a named tuple."""
        return self.growth.data(size)

    def function(self, mode: str, size: Size) -> Callable[..., Any]:
        """Returns a function that takes the arrays of the data as arguments."""
        options = dict(self.options)
        if self.option is not None:
            options[self.option] = size[-1]
        if mode == NUMPY:
            import uncertainty_metrics.numpy as um
        else:
            import uncertainty_metrics as um
        found = operator.attrgetter(self.name)(um)
        if self.is_metric:
            metric = found(**options)
            return lambda *arguments: metric.update_state(*arguments)
        if self.name == "bootstrap":  # The metric comes first.
            found = functools.partial(found, getattr(um, options.pop("metric")))
        kind = self.growth.make.__annotations__["return"].removeprefix("data.")
        names = getattr(data, kind)._fields
        renamed = {"labels": "labels_true"} if self.name.startswith("bayes") else {}

        def function(*arguments):
            given = zip(names, arguments, strict=True)
            return found(**{renamed.get(k, k): v for k, v in given}, **options)

        return _gradient(function) if self.gradient else function


def _gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow as tf

    def value_and_gradient(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments[-1])
            value = tf.reduce_mean(function(*arguments))
        return value, tape.gradient(value, arguments[-1])

    return value_and_gradient


_BINS = Growth(
    "[N, bins]",
    lambda n, classes, bins: n * bins,
    data.predictions,
    ((200000, 10, 15), (200000, 10, 960)),
    ((2003, 10, 31), (2003, 10, 509)),
    option=True,
)
# Work goes by blocks: no path copies more than a quarter of the predictions at once.
_COPIES = Growth(
    "[N, K]",
    lambda n, classes: n * classes,
    data.predictions,
    ((5000, 1000), (50000, 1000)),
    ((2003, 1000), (9001, 1000)),
)
_COPIES_OF_LOGITS = dataclasses.replace(
    _COPIES, forbidden="[N, K] of logits", make=data.logits
)
_LEVELS = Growth(
    "[N, levels]",
    lambda n, levels: n * levels,
    data.means_and_variances,
    ((200000, 10), (200000, 960)),
    ((1009, 31), (1009, 509)),
    option=True,
)
_DRAWS = Growth(
    "[N, draws]",
    lambda n, classes, draws: n * draws,
    data.predictions,
    ((200000, 10, 50), (200000, 10, 500)),
    ((5003, 10, 31), (5003, 10, 307)),
    option=True,
)
_RESAMPLES = dataclasses.replace(
    _DRAWS,
    sizes=((20000, 10, 100), (20000, 10, 2000)),
    few=((307, 10, 31), (307, 10, 307)),
)
_MEMBERS = Growth(
    "[N, M, M]",
    lambda n, m, classes: n * m * m,
    data.ensemble,
    ((20000, 10, 10), (500, 400, 10)),
    ((307, 17, 3), (31, 167, 3)),
)
_MEMBERS_FIRST = Growth(
    "[N, M, M]",
    lambda m, n, classes: n * m * m,
    data.members,
    ((10, 20000, 10), (400, 500, 10)),
    ((7, 331, 3), (29, 79, 3)),
)
_SAMPLES = Growth(
    "[N, M, M]",
    lambda n, m: n * m * m,
    data.samples,
    ((20000, 10), (500, 400)),
    ((307, 17), (31, 167)),
)


def _double_samples(examples: int, draws: int) -> data.Samples:
    return data.Samples(*(x.astype(float) for x in data.samples(examples, draws)))


_DOUBLES = dataclasses.replace(
    _SAMPLES, forbidden="[N, M, M] for float64", make=_double_samples
)
_VECTORS = Growth(
    "[N, M, M]",
    lambda n, m, d: n * m * m,
    data.samples,
    ((20000, 10, 3), (500, 400, 3)),
    ((307, 17, 3), (31, 167, 3)),
)
_LIKELIHOODS = Growth(
    "[n, M, M]",
    lambda n, m: n * m * m,
    data.log_likelihoods,
    ((20000, 10), (500, 400)),
    ((307, 17), (31, 167)),
)
# An array of thresholds, or of cells of a fine grid, for each example.
_SCORES = Growth(
    "[N, 256]",
    lambda n: n * 256,
    data.scores,
    ((20000,), (400000,)),
    ((1009,), (10007,)),
)
_DECISIONS = dataclasses.replace(_SCORES, make=data.decisions)
_PAIRS = Growth(
    "[N, N]",
    lambda n: n * n,
    data.forecasts,
    ((1000,), (8000,)),
    ((307,), (1009,)),
)
_TENSORFLOW = MODES[1:]
_ADAPTIVE = {"binning_scheme": "adaptive", "norm": "l1"}

ROWS = (
    *(Row(name, _BINS, "num_bins") for name in ("ece", "sce", "ace", "tace")),
    *(
        Row(
            "gce",
            _BINS,
            "num_bins",
            {**_ADAPTIVE, "max_prob": max_prob, "class_conditional": False},
        )
        for max_prob in (True, False)
    ),
    Row("debiased_calibration_error", _BINS, "num_bins"),
    Row(
        "bayesian_expected_calibration_error",
        _DRAWS,
        "num_ece_samples",
        {"num_bins": 15},
    ),
    *(
        Row(name, _BINS, "num_bins", {"num_classes": classes}, modes=_TENSORFLOW)
        for name, classes in (
            ("ExpectedCalibrationError", None),
            ("StaticCalibrationError", 10),
            ("AdaptiveCalibrationError", 10),
            ("BayesianExpectedCalibrationError", None),
            ("DebiasedCalibrationError", None),
        )
    ),
    *(
        Row(name, _COPIES, modes=(NUMPY,))
        for name in ("ece", "sce", "ace", "tace", "brier_score", "brier_decomposition")
    ),
    *(
        Row(name, _COPIES_OF_LOGITS, modes=(NUMPY,))
        for name in ("negative_log_likelihood", "brier_score", "ece", "sce")
    ),
    Row("calibration_test", _RESAMPLES, "num_resamples", modes=(NUMPY,)),
    *(
        Row(
            "bootstrap",
            _RESAMPLES,
            "num_resamples",
            {"metric": metric},
            modes=(NUMPY,),
        )
        for metric in ("brier_score", "ece", "aurc")
    ),
    Row("regression.expected_calibration_error", _LEVELS, "n_bins"),
    Row("regression.expected_normalized_calibration_error", _LEVELS, "n_bins"),
    *(
        Row("crps_score", _SAMPLES, options={"estimator": estimator})
        for estimator in ("fair", "nrg", "roll")
    ),
    *(
        Row(
            "crps_score",
            _SAMPLES,
            options={"estimator": estimator},
            modes=_TENSORFLOW,
            gradient=True,
        )
        for estimator in ("fair", "roll")
    ),
    Row("crps_score", _DOUBLES, modes=_TENSORFLOW, gradient=True),
    Row("energy_score", _VECTORS),
    *(
        Row(name, _MEMBERS)
        for name in (
            "mutual_information",
            "expected_entropy",
            "predictive_entropy",
            "ensemble_disagreement",
            "variation_ratio",
            "mean_member_uncertainty",
        )
    ),
    Row("average_pairwise_diversity", _MEMBERS_FIRST),
    *(Row(name, _LIKELIHOODS) for name in ("psis_loo", "negative_waic")),
    *(Row(name, _SCORES) for name in ("auroc", "aupr", "fpr_at_tpr")),
    *(Row(name, _DECISIONS) for name in ("aurc", "augrc", "coverage_at_risk")),
    *(Row(name, _SCORES, modes=_TENSORFLOW) for name in ("AUROC", "AURC")),
    Row("spce", _PAIRS, modes=(NUMPY,)),
)


def _forget_peak() -> None:
    """Resets the peak to the memory held now, because making the data took more.

    This works on Linux only.
    """
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def _peak() -> int:
    """Returns the peak memory of the process in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _measure(row: Row, mode: str, size: Size) -> dict[str, float]:
    """Returns the megabytes of the input, and of the peak beyond the input."""
    tensors = mode != NUMPY
    if tensors:
        import tensorflow as tf

    def ready(size):
        made = row.data(size)
        arguments = tuple(map(tf.constant, made)) if tensors else made
        function = row.function(mode, size)
        if mode in (GRAPH, XLA):
            function = tf.function(function, jit_compile=mode == XLA)
        return function, arguments, sum(part.nbytes for part in made)

    # A small call first: imports, threads and the first compilation do not count.
    function, arguments, _ = ready(row.growth.few[0])
    function(*arguments)
    function, arguments, nbytes = ready(size)
    _forget_peak()
    before = _peak()
    function(*arguments)
    return {"input": nbytes / _MEGABYTE, "extra": (_peak() - before) / _MEGABYTE}


def _in_a_process(index: int, mode: str, which: int) -> dict[str, float]:
    command = [
        sys.executable,
        __file__,
        "--one",
        f"{index},{MODES.index(mode)},{which}",
    ]
    child = subprocess.run(
        command,
        capture_output=True,
        check=True,
        env={
            "TF_CPP_MIN_LOG_LEVEL": "3",
            # By default glibc keeps freed memory, and reusing it would not raise the
            # peak.
            "MALLOC_ARENA_MAX": "1",
            "MALLOC_MMAP_THRESHOLD_": "65536",
            **os.environ,
            "PYTHONPATH": str(_HERE.parent),
        },
        text=True,
    )
    return json.loads(child.stdout.splitlines()[-1])


def _line(row: Row, mode: str, small: dict, large: dict) -> tuple[str, bool]:
    growth = row.growth
    forbidden, allowed = (
        _BYTES * growth.elements(*size) / _MEGABYTE for size in reversed(growth.sizes)
    )
    grown = large["extra"] - small["extra"]
    flagged = grown > SHARE * (forbidden - allowed)
    cells = (
        row.title,
        mode,
        f"{large['input']:.0f}",
        f"{small['extra']:.0f}",
        f"{large['extra']:.0f}",
        f"{large['extra'] / large['input']:.1f}",
        f"{growth.forbidden} {forbidden:.0f}",
        "**GROWS**" if flagged else "",
    )
    return f"| {' | '.join(cells)} |", flagged


def main() -> None:
    """Measures the paths and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", default="*", help="pattern of names: crps*")
    parser.add_argument("--modes", default="", help="numbers of the modes: 0,1,2,3")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        index, mode, which = map(int, options.one.split(","))
        row = ROWS[index]
        print(json.dumps(_measure(row, MODES[mode], row.growth.sizes[which])))
        return

    modes = (
        [MODES[int(i)] for i in options.modes.split(",")] if options.modes else MODES
    )
    print(
        "| path | mode | large input, MB | extra peak of small, MB "
        "| extra peak of large, MB | extra / input | forbidden, MB | |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    found = []
    for index, row in enumerate(ROWS):
        if not fnmatch.fnmatch(row.title, options.paths):
            continue
        for mode in (mode for mode in row.modes if mode in modes):
            try:
                small, large = (_in_a_process(index, mode, which) for which in (0, 1))
            except subprocess.CalledProcessError as error:
                reason = (error.stderr or "").strip().splitlines()[-1:]
                print(f"| {row.title} | {mode} | failed: {reason} |", flush=True)
                found.append(f"{row.title}; {mode} failed")
                continue
            line, flagged = _line(row, mode, small, large)
            print(line, flush=True)
            found += [f"{row.title}; {mode}"] * flagged
    if found:
        raise SystemExit("GROWS OR FAILED:\n  " + "\n  ".join(found))


if __name__ == "__main__":
    sys.path.insert(1, str(_HERE.parent))
    main()
