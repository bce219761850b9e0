"""Cases of a step of `model.evaluate` and of `model.fit`."""

from __future__ import annotations

from harness import GRAPH, OURS, XLA, Case, Contender

from cases._contenders import SHORT


def _evaluate(classes: int, jit_compile: bool, *hidden: int) -> Case:
    mode = XLA if jit_compile else GRAPH

    def row(label: str, metric: str, **options) -> Contender:
        return Contender(
            OURS,
            label,
            "ours.evaluate",
            {"metric": metric, "jit_compile": jit_compile, "hidden": hidden},
            **options,
        )

    return Case(
        f"evaluate-{classes}-{SHORT[mode]}" + "-deep" * bool(hidden),
        f"`model.evaluate` a step: {classes} classes, batches of 1024, "
        f"{len(hidden) + 1} layers, jit_compile={jit_compile}",
        (
            row("SparseCategoricalAccuracy", "accuracy", baseline=True, quantity=None),
            row("no metric", "none", quantity=None),
            row("plain argmax, max, 3 segment_sum", "plain"),
            row("**ExpectedCalibrationError**", "ece", mode=mode),
            row("**AURC**", "aurc", quantity="aurc"),
        ),
        (1024, classes),
        path=f"`model.evaluate` with ECE, 1024 x {classes}, layers: {len(hidden) + 1}",
        patience=3,
    )


def _fit(loss: str, baseline: str, outputs: int, jit_compile: bool, data: str) -> Case:
    mode = XLA if jit_compile else GRAPH
    names = {
        "brier": "**BrierLoss**",
        "cross-entropy": "SparseCategoricalCrossentropy",
        "crps": "**CRPSSampleLoss**",
        "squared error": "MeanSquaredError",
    }
    return Case(
        f"fit-{loss}-{outputs}-{SHORT[mode]}",
        f"`model.fit` a step: {outputs} outputs, batches of 256, "
        f"jit_compile={jit_compile}",
        tuple(
            Contender(
                OURS,
                names[which],
                "ours.fit",
                {"loss": which, "jit_compile": jit_compile},
                baseline=which == baseline,
                quantity=None,
                mode=mode if which == loss else None,
            )
            for which in (baseline, loss)
        ),
        (256, outputs),
        data,
        path=f"`model.fit` with {names[loss].strip('*')}, a step of 256 x {outputs}",
    )


CASES = (
    *(_evaluate(classes, jit) for classes in (10, 1000) for jit in (False, True)),
    *(_evaluate(10, jit, 1024, 1024) for jit in (False, True)),
    *(
        _fit("brier", "cross-entropy", classes, jit, "predictions")
        for classes in (10, 1000)
        for jit in (False, True)
    ),
    *(_fit("crps", "squared error", 100, jit, "samples") for jit in (False, True)),
)
