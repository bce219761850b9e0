"""How often the band of a decision curve claims too much, at all thresholds together.

    python -m studies.decision_curve_claims --data-sets 1000 --seed 1

Prints for each design, of `net_benefit(level=0.95)` at 0.01, ..., 0.99: how often the
band calls the forecast useful at some threshold; how often the true gains of these
forecasts are outside of the band at some threshold; and how often the curve alone is
above those of treating all and none somewhere. Forecasts that do not depend on the
labels are useful at no threshold.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy import stats

import uncertainty_metrics.numpy as um

THRESHOLDS = np.arange(1, 100) / 100


def draw(rng, kind, size, prevalence, each):
    """Returns labels, forecasts, true probabilities and clusters, or None."""
    p = rng.beta(6 * prevalence, 6 * (1 - prevalence), size)
    truth = p if kind == "calibrated" else np.full(size, prevalence)
    if each == 1:
        return rng.uniform(size=size) < truth, p, truth, None
    ids = np.repeat(np.arange(size), each)
    z = (rng.normal(size=size)[ids] + rng.normal(size=len(ids))) / 2**0.5
    return stats.norm.cdf(z) < truth[ids], p[ids], truth[ids], ids


def one(rng, design):
    labels, p, truth, ids = draw(rng, *design)
    found = um.net_benefit(
        labels, p, THRESHOLDS, level=0.95, clusters=ids, num_draws=1000, seed=rng
    )
    gains = (truth[:, None] - THRESHOLDS) / (1 - THRESHOLDS)
    acts = p[:, None] >= THRESHOLDS
    over_none = np.mean(np.where(acts, gains, 0), axis=0)
    over_all = np.mean(np.where(acts, 0, -gains), axis=0)
    slack = 1e-12
    outside = (
        (over_none < found.over_none_lower - slack)
        | (over_none > found.over_none_upper + slack)
        | (over_all < found.over_all_lower - slack)
        | (over_all > found.over_all_upper + slack)
    )
    alone = found.net_benefit > np.maximum(found.treat_all, 0)
    return found.is_useful.any(), outside.any(), alone.any()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    warnings.simplefilter("ignore")  # Fewer than 20 clusters beyond a threshold.
    print("kind        examples  prevalence  useful  outside  curve alone")
    designs = [
        (kind, size, prevalence, 1)
        for kind in ("noise", "calibrated")
        for size in (50, 200, 1000, 10_000)
        for prevalence in (0.02, 0.1, 0.3)
        if size * prevalence >= 4
    ]
    designs += [("noise", size, 0.3, 10) for size in (20, 50, 100)]
    for design in designs:
        kind, size, prevalence, each = design
        found = np.mean([one(rng, design) for _ in range(options.data_sets)], axis=0)
        number = f"{size}" if each == 1 else f"{size}x{each}"
        shown = "  ".join(f"{share:7.3f}" for share in found)
        print(f"{kind:10}  {number:>8}  {prevalence:10}  {shown}", flush=True)


if __name__ == "__main__":
    main()
