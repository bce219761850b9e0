"""Cases of calibration errors: their values, their updates and their posterior."""

from __future__ import annotations

import dataclasses

from harness import EAGER, GRAPH, NUMPY, OURS, PEERS, XLA, Case, Contender

from cases._contenders import (
    SHORT,
    TENSORFLOW_MODES,
    keras_update,
    ours,
    path_of,
    peer,
    peer_baseline,
    times,
)

_SIZES = ((1024, 10), (8192, 1000), (50000, 1000))

_FORMER = "uncertainty_metrics 0.0.81"

_DRAWS = 500


def _ece_update(examples: int, classes: int) -> Case:
    torchmetrics = "torchmetrics update"
    return Case(
        f"ece-update-{examples}x{classes}",
        f"ECE: update with a batch of {examples} x {classes}",
        (
            Contender(
                PEERS,
                f"{torchmetrics}, validate_args=False",
                "peers.calibration.torchmetrics_ece",
                {"validate_args": False},
                baseline=True,
            ),
            Contender(
                PEERS,
                f"{torchmetrics}, default",
                "peers.calibration.torchmetrics_ece",
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
                for mode in TENSORFLOW_MODES[1:]
            ),
            *(
                keras_update("ExpectedCalibrationError", mode, num_classes=classes)
                for mode in TENSORFLOW_MODES
            ),
        ),
        (examples, classes),
        path=path_of("ECE, update of the metric", examples, classes, of=(8192, 1000)),
    )


def _ece_value(examples: int, classes: int) -> Case:
    return Case(
        f"ece-value-{examples}x{classes}",
        f"ECE: value of {examples} x {classes}",
        (
            Contender(
                PEERS,
                "torchmetrics update and compute, validate_args=False",
                "peers.calibration.torchmetrics_ece",
                {"validate_args": False, "compute": True},
                baseline=True,
            ),
            peer("netcal ECE", "calibration.netcal", name="ECE"),
            _former_binned("ece"),
            *ours("ece", *TENSORFLOW_MODES, baseline=True),
        ),
        (examples, classes),
        path=path_of("ECE", examples, classes, of=(50000, 1000)),
    )


def _class_wise(name: str, label: str, *modes: str, **options: float) -> Case:
    return Case(
        f"{name}-50000x1000",
        f"{name.upper()}: value of 50000 x 1000",
        (
            peer_baseline(label, f"calibration.{name}", **options),
            _former_binned(name, **options),
            *ours(name, *modes, baseline=True, **options),
        ),
        (50000, 1000),
        path=f"{name.upper()}, 50000 x 1000",
    )


def _former_binned(name: str, **options: float) -> Contender:
    """The package of 2020."""
    label = f"{_FORMER} {name}"
    return peer(label, "calibration.former_binned", name=name, **options)


def _equal_mass() -> Case:
    options = {
        "binning_scheme": "adaptive",
        "max_prob": True,
        "class_conditional": False,
        "norm": "l1",
    }
    return Case(
        "ece-adaptive-50000x1000",
        "ECE with bins of equal mass: 50000 x 1000",
        (
            peer_baseline(
                "netcal ECE", "calibration.netcal", name="ECE", equal_intervals=False
            ),
            peer("torch.sort by hand", "calibration.ece_adaptive"),
            *ours("gce", *TENSORFLOW_MODES, baseline=True, **options),
        ),
        (50000, 1000),
        path="ECE with bins of equal mass, 50000 x 1000",
    )


def _ace_streaming(size: tuple[int, int]) -> Case:
    return Case(
        f"ace-streaming-{size[0]}x{size[1]}",
        f"ACE: streaming update with a batch of {times(size)}",
        (
            peer("torch.sort by hand", "calibration.ace"),
            _former_binned("ace"),
            # The function on all the data is not the streaming update of the summary.
            *(
                dataclasses.replace(row, mode=None)
                for row in ours("ace", baseline=True)
            ),
            *(
                keras_update("AdaptiveCalibrationError", mode, num_classes=size[1])
                for mode in TENSORFLOW_MODES
            ),
        ),
        size,
        tolerance=1e-2,  # The sketch is not exact.
        path=f"ACE, update of the metric, {times(size)}",
    )


def _accumulators(mode: str) -> Case:
    """The price of checks, exact sums and ties, compared with plain float32 sums."""
    return Case(
        f"accumulators-50000x10-{SHORT[mode]}",
        f"ECE: exact sums beside float32 ones, update of 50000 x 10; {mode}",
        (
            Contender(
                OURS,
                f"plain max, gather, 3 segment_sum; {mode}",
                "ours.plain_update",
                {"mode": mode, "gather": True},
                baseline=True,
            ),
            keras_update("ExpectedCalibrationError", mode, num_classes=10),
        ),
        (50000, 10),
        path="ECE, exact sums beside float32 ones, 50000 x 10",
        patience=2,
    )


def _former(name: str, alias: str, data: str, examples: int, **options: float) -> Case:
    """Calibration errors of smoothed outcomes, compared with the package of 2020.

    The folds differ, so the values differ by a part of their standard error.
    """
    return Case(
        f"{alias}-{examples}",
        f"{alias.upper()}: {examples} examples",
        (
            peer_baseline(
                f"uncertainty_metrics 0.0.81 {name}",
                "calibration.former_package",
                name=name,
                **options,
            ),
            *ours(alias, baseline=True, **options),
        ),
        (examples,),
        data,
        tolerance=0.1,
        path=f"`{alias}`, n = {examples}",
    )


def _bayesian(num_bins: int, mode: str) -> Case:
    """Bayesian ECE, compared with the ECE in the same mode."""
    room = "numpy" if mode == NUMPY else "tensorflow"
    rows = [
        Contender(
            OURS,
            f"um.{'numpy.' if room == 'numpy' else ''}ece; {mode}",
            f"ours.{room}_function",
            {"name": "ece", "num_bins": num_bins}
            | ({"mode": mode} if room == "tensorflow" else {}),
            baseline=True,
            quantity="ece",
        ),
        Contender(
            OURS,
            f"**bayesian_expected_calibration_error; {mode}**",
            "ours.bayesian",
            {"num_bins": num_bins, "draws": _DRAWS, "mode": mode},
            mode=mode,
        ),
    ]
    few = num_bins <= 15
    if few:  # The plain draws are sometimes 0 / 0, and with many bins always.
        draws = 25
        rows.append(
            Contender(
                OURS,
                f"plain loop over the draws, from {draws} of them; {EAGER}",
                "ours.plain_bayesian",
                {"num_bins": num_bins, "draws": draws, "of": _DRAWS},
                baseline=True,
                quantity=None,
            )
        )
    return Case(
        f"bayesian-{num_bins}-{SHORT[mode]}",
        f"Bayesian ECE: {_DRAWS} draws, {num_bins} bins, 50000 x 10; {mode}",
        tuple(rows),
        (50000, 10),
        tolerance=2e-2,  # The draws are random.
        path=f"Bayesian ECE, {_DRAWS} draws, 50000 x 10" if few else "",
    )


CASES = (
    *(_ece_update(*size) for size in _SIZES),
    *(_ece_value(*size) for size in _SIZES),
    _class_wise("sce", "torch.bincount by hand", *TENSORFLOW_MODES),
    _class_wise("ace", "torch.sort by hand"),
    _class_wise("tace", "torch.argsort by hand", threshold=0.01),
    Case(
        "sce-50000x10",
        "SCE: value of 50000 x 10",
        (
            peer_baseline(
                "torch-uncertainty ClasswiseCalibrationError, update and compute",
                "calibration.torch_uncertainty_sce",
            ),
            peer("torch.bincount by hand", "calibration.sce"),
            _former_binned("sce"),
            *ours("sce", *TENSORFLOW_MODES, baseline=True),
        ),
        (50000, 10),
        path="SCE, 50000 x 10",
    ),
    _equal_mass(),
    Case(
        "mce-50000x1000",
        "MCE: value of 50000 x 1000",
        (
            peer_baseline(
                "torchmetrics update and compute, norm='max'",
                "calibration.torchmetrics_ece",
                validate_args=False,
                compute=True,
                norm="max",
            ),
            peer("netcal MCE", "calibration.netcal", name="MCE"),
            *ours("mce", *TENSORFLOW_MODES, baseline=True),
        ),
        (50000, 1000),
        path="MCE, 50000 x 1000",
    ),
    *map(_ace_streaming, _SIZES[1:]),
    *map(_accumulators, (GRAPH, XLA)),
    Case(
        "smece-1000000",
        "Smooth calibration error: 10^6 scores",
        (
            peer_baseline("relplot smECE", "calibration.relplot_smece"),
            Contender(
                OURS, f"**smece; {NUMPY}**", "ours.smece", baseline=True, mode=NUMPY
            ),
        ),
        (10**6,),
        "scores",
        tolerance=2e-2,  # relplot's value is exact only to 1e-3.
        path="Smooth calibration error, 10^6",
    ),
    _former("semiparametric_calibration_error", "spce", "forecasts", 2000),
    _former("censored_calibration_error", "cce", "survival", 1000, end_time=1.0),
    *(
        _bayesian(bins, mode)
        for bins in (15, 100)
        for mode in (NUMPY, *TENSORFLOW_MODES)
    ),
)
