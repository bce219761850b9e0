"""Cases of members of an ensemble and of posterior draws."""

from __future__ import annotations

from harness import Case

from cases._contenders import (
    TENSORFLOW_MODES,
    ours,
    peer,
    peer_baseline,
    plain,
    with_numba,
)


def _mutual_information(from_logits: bool) -> Case:
    of = "logits" if from_logits else "probabilities"
    return Case(
        f"mutual-information-{of}-50000x10x100",
        f"Mutual information from {of}: 50000 x 10 members x 100",
        (
            peer_baseline(
                "torch-uncertainty MutualInformation, update and compute",
                "ensembles.torch_uncertainty_mutual_information",
                from_logits=from_logits,
            ),
            peer(
                "torch by hand", "ensembles.mutual_information", from_logits=from_logits
            ),
            *ours("mutual_information", *TENSORFLOW_MODES, baseline=True),
            *([with_numba("mutual_information")] if from_logits else []),
        ),
        (50000, 10, 100),
        "ensemble_logits" if from_logits else "ensemble",
        path=f"Mutual information from {of}, 50000 x 10 x 100",
    )


def _of_members(name: str, metric: str) -> Case:
    what = name.replace("_", " ").capitalize()
    return Case(
        f"{name.replace('_', '-')}-50000x10x100",
        f"{what}: 50000 x 10 members x 100",
        (
            peer_baseline(
                f"torch-uncertainty {metric}, update and compute",
                "ensembles.torch_uncertainty_of_members",
                name=metric,
            ),
            peer("torch by hand", f"ensembles.{name}"),
            *ours(name, *TENSORFLOW_MODES, baseline=True),
        ),
        (50000, 10, 100),
        "ensemble",
        path=f"{what}, 50000 x 10 x 100",
    )


CASES = (
    Case(
        "pairwise-diversity-10x50000x100",
        "Average pairwise diversity: 10 members x 50000 x 100",
        (
            *plain(
                "average_pairwise_diversity",
                "loop over pairs",
                *TENSORFLOW_MODES,
                baseline=True,
            ),
            *ours("average_pairwise_diversity", *TENSORFLOW_MODES),
        ),
        (10, 50000, 100),
        "members",
        path="Average pairwise diversity, 10 x 50000 x 100",
    ),
    *(_mutual_information(from_logits) for from_logits in (False, True)),
    _of_members("ensemble_disagreement", "Disagreement"),
    _of_members("expected_entropy", "Entropy"),
    Case(
        "psis-loo-2000x1000",
        "PSIS-LOO: 2000 instances x 1000 draws",
        (
            peer_baseline("ArviZ psislw", "ensembles.psis_loo"),
            *ours("psis_loo", *TENSORFLOW_MODES, baseline=True),
        ),
        (2000, 1000),
        "log_likelihoods",
        path="PSIS-LOO, 2000 x 1000",
    ),
    Case(
        "waic-2000x1000",
        "WAIC: 2000 instances x 1000 draws",
        (
            peer_baseline("ArviZ waic", "ensembles.waic"),
            peer("torch by hand", "ensembles.waic_by_hand"),
            *ours("negative_waic", *TENSORFLOW_MODES, baseline=True),
        ),
        (2000, 1000),
        "log_likelihoods",
        tolerance=1e-3,  # ArviZ divides the variance by another number.
        path="WAIC, 2000 x 1000",
    ),
)
