"""Cases of detection and of selective prediction, which rank the examples."""

from __future__ import annotations

from harness import GRAPH, JAX, OURS, XLA, Case, Contender

from cases._contenders import (
    TENSORFLOW_MODES,
    alone,
    ours,
    path_of,
    peer,
    peer_baseline,
)

_THRESHOLDS = 200

_SORT = alone("sort of score and hit in one integer", "sort_integers", GRAPH, XLA, JAX)


def _streamed(
    label: str, name: str, quantity: str = "value", **options: int
) -> tuple[Contender, ...]:
    """`update_state` of a Keras metric with all the data, and `result`."""
    return tuple(
        Contender(
            OURS,
            f"{label} update_state and result; {mode}",
            "ours.keras_value",
            {"name": name, "mode": mode, **options},
            quantity=quantity,
        )
        for mode in TENSORFLOW_MODES
    )


def _auroc(examples: int) -> Case:
    torchmetrics = "torchmetrics BinaryAUROC update and compute"
    # An approximation with another value, which is the same for both contenders.
    binned = f"{_THRESHOLDS} thresholds"
    return Case(
        f"auroc-{examples}",
        f"AUROC: {examples} examples",
        (
            peer_baseline("sklearn roc_auc_score", "ranks.sklearn_auroc"),
            peer(f"{torchmetrics}, exact", "ranks.torchmetrics_auroc", thresholds=None),
            peer(
                f"{torchmetrics}, {binned}",
                "ranks.torchmetrics_auroc",
                quantity=binned,
                thresholds=_THRESHOLDS,
            ),
            *_streamed(
                f"Keras AUC, {binned},", "AUC", binned, num_thresholds=_THRESHOLDS
            ),
            *ours("auroc", *TENSORFLOW_MODES, baseline=True),
            *_streamed("**AUROC**", "AUROC"),
            *_SORT,
        ),
        (examples,),
        "scores",
        path=path_of("AUROC", examples, of=(10**6,)),
    )


def _detection(name: str, case: str, *peers: Contender) -> Case:
    return Case(
        f"{case}-1000000",
        f"{case.upper()}: 10^6 examples",
        (*peers, *ours(name, *TENSORFLOW_MODES, baseline=True), *_SORT),
        (10**6,),
        "scores",
        path=f"{case.upper()}, 10^6",
    )


def _aurc(examples: int) -> Case:
    return Case(
        f"aurc-{examples}",
        f"AURC: {examples} examples",
        (
            peer_baseline(
                "torch-uncertainty AURC, update and compute",
                "ranks.torch_uncertainty_selective",
                name="AURC",
            ),
            *ours("aurc", *TENSORFLOW_MODES, baseline=True),
            *_streamed("**AURC**", "AURC"),
            *_SORT,
        ),
        (examples,),
        "decisions",
        path=path_of("AURC", examples, of=(10**6,)),
    )


def _selective(name: str, what: str, metric: str, **options: float) -> Case:
    return Case(
        f"{name.replace('_', '-')}-1000000",
        f"{what}: 10^6 examples",
        (
            peer_baseline(
                f"torch-uncertainty {metric}, update and compute",
                "ranks.torch_uncertainty_selective",
                name=metric,
            ),
            *ours(name, *TENSORFLOW_MODES, baseline=True, **options),
            *_SORT,
        ),
        (10**6,),
        "decisions",
        tolerance=1e-3,  # torch-uncertainty breaks ties.
        path=f"{what}, 10^6",
    )


CASES = (
    *(case(examples) for case in (_auroc, _aurc) for examples in (50000, 10**6)),
    _detection(
        "aupr",
        "aupr",
        peer_baseline("sklearn average_precision_score", "ranks.sklearn_aupr"),
        peer(
            "torchmetrics BinaryAveragePrecision update and compute, exact",
            "ranks.torchmetrics_aupr",
        ),
    ),
    _detection(
        "fpr_at_tpr",
        "fpr95",
        peer_baseline(
            "torch-uncertainty FPR95, update and compute", "ranks.torch_uncertainty_fpr"
        ),
        peer("sklearn roc_curve", "ranks.sklearn_fpr"),
    ),
    _selective("augrc", "AUGRC", "AUGRC"),
    _selective("coverage_at_risk", "Coverage at risk", "CovAt5Risk", risk=0.05),
    _selective("risk_at_coverage", "Risk at coverage", "RiskAt80Cov", coverage=0.8),
)
