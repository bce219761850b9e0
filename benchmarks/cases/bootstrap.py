"""Cases of bootstrap intervals."""

from __future__ import annotations

from harness import NUMPY, OURS, Case, Contender

from cases._contenders import peer_baseline


def _bootstrap(metric: str) -> Case:
    resamples, examples, classes = 1000, 5000, 10
    options = {"metric": metric, "resamples": resamples}
    return Case(
        f"bootstrap-{metric.replace('_', '-')}-{examples}x{classes}",
        f"BCa interval of {metric}: {resamples} resamples of {examples} x {classes}",
        (
            peer_baseline("scipy.stats.bootstrap", "bootstrap.bootstrap", **options),
            Contender(
                OURS,
                "**um.numpy.bootstrap**",
                "ours.bootstrap",
                options,
                baseline=True,
                mode=NUMPY,
            ),
        ),
        (examples, classes),
        tolerance=2e-2,  # The resamples are random.
        path=f"Bootstrap of {metric}, {resamples} of {examples} x {classes}",
    )


CASES = (*(_bootstrap(metric) for metric in ("brier_score", "ece")),)
