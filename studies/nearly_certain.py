"""Tests and intervals of calibrated models that are nearly certain.

Few errors are expected, so that nothing is Normal. Confidences are all equal, or 1 less
a uniform number with the same mean. The outcomes are drawn from the confidences: the
model is calibrated. Printed are the shares of data sets in which `calibration_by_group`
(one group) and `spiegelhalter_test` reject at 5% and 1%, and the shares of 95%
intervals that leave out the truth: Wilson's interval of the gap of the group, and
`calibration_error_interval`, whose truth is 0.
`python -m studies.nearly_certain` prints the table.
"""

from __future__ import annotations

import argparse

import numpy as np

import uncertainty_metrics.numpy as um


def shares(
    rng: np.random.Generator, confidence: float, kind: str, n: int, draws: int
) -> list[float]:
    """Returns the shares of the columns of the table."""
    rows = []
    for _ in range(draws):
        scale = 2 * rng.random(n) if kind == "unequal" else np.ones(n)
        confidences = 1 - (1 - confidence) * scale
        answers = {
            "correct": rng.random(n) < confidences,
            "confidences": confidences,
        }
        (group,) = um.calibration_by_group(**answers, groups=np.zeros(n, int))
        p_values = group.p_value, um.spiegelhalter_test(**answers).p_value
        rejected = [p <= level for p in p_values for level in (0.05, 0.01)]
        lower = um.calibration_error_interval(**answers).lower
        outside = group.lower > 1e-12 or group.upper < -1e-12
        rows.append([*rejected, outside, lower > 0])
    return np.mean(rows, axis=0).tolist()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--examples", type=int, nargs="+", default=[100, 1000, 20_000])
    parser.add_argument(
        "--confidences", type=float, nargs="+", default=[0.99, 0.999, 0.9999]
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{options.draws} data sets a row.")
    print()
    print(
        "| confidence | kind | n | errors expected | by group, 5% | 1% "
        "| Spiegelhalter, 5% | 1% | Wilson misses | l2 interval misses |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for confidence in options.confidences:
        for kind in ("equal", "unequal"):
            for n in options.examples:
                rng = np.random.default_rng(options.seed)
                found = shares(rng, confidence, kind, n, options.draws)
                cells = " | ".join(f"{share:.1%}" for share in found)
                expected = n * (1 - confidence)
                print(
                    f"| {confidence} | {kind} | {n} | {expected:.3g} | {cells} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
