"""Levels of tests, and coverage of intervals, for outcomes between 0 and 1.

Answers get grades whose mean is the confidence: the model is calibrated. The grades are
shares of 3 votes, or have a Beta distribution with little spread, or with much. The
confidences are uniform on [0.1, 0.9], or on [0.9, 0.99], where most grades are nearly 1
and few are far below: (grade - confidence) is skewed there, and flipped signs are not.
Printed are the shares of data sets that `calibration_test` rejects at 5%, that
`calibration_by_group` rejects at 5% for all examples as one group, by the gap and by
Kuiper, and whose 95% intervals of `calibration_by_group` and of
`calibration_error_interval` leave out 0. All should be at most 0.05.

A second table is of data sets whose grades do not depend on their confidences: there
are two confidences, and all grades are 1 but for a few. Printed is the share of those
in which the report says that surer answers have better, or worse, grades.

`python -m studies.grades_level` prints the shares; `--draws` sets the number of data
sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._predictions import Confidences
from uncertainty_metrics._report.sections._selective_prediction import slope_by_rank

_Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]
_GRADES: dict[str, _Draw] = {
    "3 votes": lambda rng, p: rng.binomial(3, p) / 3,
    "Beta, little spread": lambda rng, p: rng.beta(20 * p, 20 * (1 - p)),
    "Beta, much spread": lambda rng, p: rng.beta(p, 1 - p),
}
# Numbers of answers, of those with the lower confidence, and of those with a low grade.
_CELLS = (
    *((20, 10, 1), (20, 2, 2), (20, 10, 4), (20, 4, 10), (20, 10, 9)),
    *((40, 20, 4), (40, 20, 7), (100, 50, 4), (100, 10, 3), (200, 100, 6)),
)
_CONFIDENCES = {"0.1 to 0.9": (0.1, 0.9), "0.9 to 0.99": (0.9, 0.99)}


def findings(
    rng: np.random.Generator, grades: np.ndarray, confidences: np.ndarray
) -> list[bool]:
    """Returns what a data set of a calibrated model is accused of."""
    data = {"correct": grades, "confidences": confidences}
    tests = [
        um.calibration_test(**data, statistic=statistic, num_resamples=199, seed=rng)
        for statistic in ("gce", "kuiper")
    ]
    everyone = {**data, "groups": np.zeros(len(grades), int)}
    group = um.calibration_by_group(**everyone)[0]
    (own,) = rng.spawn(1)
    walk = um.calibration_by_group(**everyone, statistic="kuiper", seed=own)[0]
    interval = um.calibration_error_interval(**data)
    return [
        *(test.p_value <= 0.05 for test in tests),
        group.p_value <= 0.05,
        walk.p_value <= 0.05,
        not group.lower <= 0 <= group.upper,
        interval.lower > 0,
    ]


def shares_of_slopes(rng: np.random.Generator, draws: int) -> None:
    """Prints how often independent grades seem to depend on confidences."""
    print("\n| n | unsure | low grades | surer answers are better, or worse |")
    print("|---|---|---|---|")
    for n, unsure, low in _CELLS:
        confidences = np.where(np.arange(n) < unsure, 0.5, 0.9)
        found = 0
        for _ in range(draws):
            grades = rng.permutation(np.where(np.arange(n) < low, 0.2, 1.0))
            answers = Confidences("", grades, confidences, are_graded=True)
            lower, upper = slope_by_rank(answers)
            found += lower > 0 or upper < 0
        print(f"| {n} | {unsure} | {low} | {found / draws:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(
        "| n | confidences | grades | gce | Kuiper | group | its Kuiper | its interval "
        "| l2 error |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n in options.examples:
        for of_confidences, ends in _CONFIDENCES.items():
            for of_grades, draw in _GRADES.items():
                found = np.zeros(6)
                for _ in range(options.draws):
                    confidences = rng.uniform(*ends, n)
                    found += findings(rng, draw(rng, confidences), confidences)
                shares = " | ".join(f"{share:.3f}" for share in found / options.draws)
                print(
                    f"| {n} | {of_confidences} | {of_grades} | {shares} |", flush=True
                )
    shares_of_slopes(rng, options.draws)


if __name__ == "__main__":
    main()
