"""The cases: one row each, read by `run.py` and by every worker.

Needs the standard library only: contenders name their setup, and the worker of their
environment imports it.
"""

from __future__ import annotations

from harness import OURS, PEERS, Case, Contender

_MODES = ("eager", "tf.function", "tf.function(jit_compile=True)")
_SIZES = ((1024, 10), (8192, 1000), (50000, 1000))


def _ece_update(examples: int, classes: int) -> Case:
    torchmetrics = "torchmetrics update"
    return Case(
        f"ece-update-{examples}x{classes}",
        f"ECE: update with a batch of {examples} x {classes}",
        (
            Contender(
                PEERS,
                f"{torchmetrics}, validate_args=False",
                "peers.torchmetrics_ece",
                {"validate_args": False},
                baseline=True,
            ),
            Contender(
                PEERS,
                f"{torchmetrics}, default",
                "peers.torchmetrics_ece",
                {"validate_args": True},
            ),
            *(
                Contender(
                    OURS,
                    f"plain argmax, max, 3 segment_sum; {mode}",
                    "ours.plain_update",
                    {"mode": mode},
                    baseline=True,
                )
                for mode in _MODES[1:]
            ),
            *(
                Contender(
                    OURS,
                    f"**ExpectedCalibrationError.update_state; {mode}**",
                    "ours.keras_update",
                    {"name": "ExpectedCalibrationError", "mode": mode},
                )
                for mode in _MODES
            ),
        ),
        examples,
        classes,
    )


def _ours(name: str, *modes: str, baseline: bool = False) -> tuple[Contender, ...]:
    """A NumPy function, and its TensorFlow twin in some modes."""
    return (
        Contender(
            OURS,
            f"**um.numpy.{name}**",
            "ours.numpy_function",
            {"name": name},
            baseline=baseline,
        ),
        *(
            Contender(
                OURS,
                f"**um.{name}; {mode}**",
                "ours.tensorflow_function",
                {"name": name, "mode": mode},
            )
            for mode in modes
        ),
    )


def _ece_value(examples: int, classes: int) -> Case:
    return Case(
        f"ece-value-{examples}x{classes}",
        f"ECE: value of {examples} x {classes}",
        (
            Contender(
                PEERS,
                "torchmetrics update and compute, validate_args=False",
                "peers.torchmetrics_ece",
                {"validate_args": False, "compute": True},
                baseline=True,
            ),
            *_ours("ece", *_MODES, baseline=True),
        ),
        examples,
        classes,
    )


def _class_wise(name: str, peer: str, *modes: str, **options: float) -> Case:
    return Case(
        f"{name}-50000x1000",
        f"{name.upper()}: value of 50000 x 1000",
        (
            Contender(PEERS, peer, f"peers.{name}", options, baseline=True),
            *_ours(name, *modes, baseline=True),
        ),
        50000,
        1000,
    )


def _evaluate(classes: int, jit_compile: bool) -> Case:
    def row(label: str, metric: str, **options) -> Contender:
        return Contender(
            OURS,
            label,
            "ours.evaluate",
            {"metric": metric, "jit_compile": jit_compile},
            **options,
        )

    return Case(
        f"evaluate-{classes}-{'jit' if jit_compile else 'graph'}",
        f"`model.evaluate` a step: {classes} classes, batches of 1024, "
        f"jit_compile={jit_compile}",
        (
            row("SparseCategoricalAccuracy", "accuracy", baseline=True, quantity=None),
            row("no metric", "none", quantity=None),
            row("plain argmax, max, 3 segment_sum", "plain"),
            row("**ExpectedCalibrationError**", "ece"),
        ),
        1024,
        classes,
    )


CASES = (
    *(_ece_update(*size) for size in _SIZES),
    *(_ece_value(*size) for size in _SIZES),
    _class_wise("sce", "torch.bincount by hand", *_MODES),
    _class_wise("ace", "torch.sort by hand"),
    _class_wise("tace", "torch.argsort by hand", threshold=0.01),
    Case(
        "ace-streaming-8192x1000",
        "ACE: streaming update with a batch of 8192 x 1000",
        (
            *_ours("ace", baseline=True),
            *(
                Contender(
                    OURS,
                    f"**AdaptiveCalibrationError.update_state; {mode}**",
                    "ours.keras_update",
                    {"name": "AdaptiveCalibrationError", "mode": mode},
                )
                for mode in _MODES
            ),
        ),
        8192,
        1000,
        tolerance=1e-2,  # That of the sketch.
    ),
    *(_evaluate(classes, jit) for classes in (10, 1000) for jit in (False, True)),
    Case(
        "import",
        "Import in a fresh process",
        tuple(
            Contender(
                OURS,
                label,
                "ours.import_time",
                {"module": module},
                baseline=module == "numpy",
                quantity=None,
            )
            for label, module in (
                ("numpy", "numpy"),
                ("**uncertainty_metrics**", "uncertainty_metrics"),
                ("**uncertainty_metrics.numpy**", "uncertainty_metrics.numpy"),
                (
                    "**uncertainty_metrics.numpy, with `ece`**",
                    "uncertainty_metrics.numpy.calibration",
                ),
            )
        ),
    ),
)
