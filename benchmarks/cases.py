"""The cases, each a row that `run.py` and every worker read.

This file needs only the standard library: contenders give the name of their setup
function, and the worker of their environment imports it. Functions of the package
without a case here have one in `rows.py`.
"""

from __future__ import annotations

import dataclasses

from harness import (
    BACKENDS,
    EAGER,
    GRAPH,
    MODES,
    NUMPY,
    OURS,
    PEERS,
    XLA,
    Case,
    Contender,
)

_MODES = MODES[1:]  # The modes of TensorFlow.
_SIZES = ((1024, 10), (8192, 1000), (50000, 1000))
_FORMER = "uncertainty_metrics 0.0.81"
_THRESHOLDS = 200
_DRAWS = 500
_LEVEL = 0.9  # The level of a quantile.
_ALPHA = 0.1  # The share of labels outside an interval.


def _update(name: str, mode: str, **options: int) -> Contender:
    """`update_state` of a Keras metric."""
    return Contender(
        OURS,
        f"**{name}.update_state; {mode}**",
        "ours.keras_update",
        {"name": name, "mode": mode, **options},
        mode=mode,
    )


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
                _update("ExpectedCalibrationError", mode, num_classes=classes)
                for mode in _MODES
            ),
        ),
        (examples, classes),
        path=_path("ECE, update of the metric", examples, classes, of=(8192, 1000)),
    )


def _path(what: str, *size: int, of: tuple[int, ...]) -> str:
    """Returns the row of the summary if the size is the one to show, else ""."""
    return f"{what}, {_times(size)}" if size == of else ""


def _times(size: tuple[int, ...]) -> str:
    return " x ".join(f"10^{len(str(n)) - 1}" if n == 10**6 else str(n) for n in size)


def _ours(
    name: str,
    *modes: str,
    baseline: bool = False,
    quantity: str = "value",
    **options: str | float,
) -> tuple[Contender, ...]:
    """A NumPy function, and its TensorFlow twin in some modes."""
    which = ", ".join(f"{key}={value!r}" for key, value in options.items())
    label = f"{name}({which})" if which else name
    return (
        Contender(
            OURS,
            f"**um.numpy.{label}**",
            "ours.numpy_function",
            {"name": name, **options},
            baseline=baseline,
            quantity=quantity,
            mode=NUMPY,
        ),
        *(
            Contender(
                OURS,
                f"**um.{label}; {mode}**",
                "ours.tensorflow_function",
                {"name": name, "mode": mode, **options},
                quantity=quantity,
                mode=mode,
            )
            for mode in modes
        ),
    )


def _plain(name: str, label: str, *modes: str, **of_contender) -> tuple[Contender, ...]:
    return tuple(
        Contender(
            OURS,
            f"plain {label}; {mode}",
            "ours.plain_function",
            {"name": name, "mode": mode},
            **of_contender,
        )
        for mode in modes
    )


def _fitted(name: str) -> Contender:
    """The fit of a calibrator."""
    return Contender(
        OURS,
        f"**{name}.fit; {NUMPY}**",
        "ours.calibrator",
        {"name": name},
        baseline=True,
        mode=NUMPY,
    )


def _beyond_bins(name: str) -> Contender:
    return Contender(
        OURS,
        f"**{name}; {NUMPY}**",
        f"ours.{name}",
        baseline=name != "sketched_isotonic",
        mode=NUMPY,
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
            _peer("netcal ECE", "netcal", name="ECE"),
            _former_binned("ece"),
            *_ours("ece", *_MODES, baseline=True),
        ),
        (examples, classes),
        path=_path("ECE", examples, classes, of=(50000, 1000)),
    )


def _class_wise(name: str, peer: str, *modes: str, **options: float) -> Case:
    return Case(
        f"{name}-50000x1000",
        f"{name.upper()}: value of 50000 x 1000",
        (
            Contender(PEERS, peer, f"peers.{name}", options, baseline=True),
            _former_binned(name, **options),
            *_ours(name, *modes, baseline=True, **options),
        ),
        (50000, 1000),
        path=f"{name.upper()}, 50000 x 1000",
    )


def _former_binned(name: str, **options: float) -> Contender:
    """The package of 2020; its adaptive bins round in another way."""
    quantity = "value" if name in ("ece", "sce") else f"former {name}"
    label = f"{_FORMER} {name}"
    return _peer(label, "former_binned", quantity, name=name, **options)


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
            _baseline("netcal ECE", "netcal", name="ECE", equal_intervals=False),
            _peer("torch.sort by hand", "ece_adaptive"),
            *_ours("gce", *_MODES, baseline=True, **options),
        ),
        (50000, 1000),
        path="ECE with bins of equal mass, 50000 x 1000",
    )


def _ace_streaming(size: tuple[int, int]) -> Case:
    return Case(
        f"ace-streaming-{size[0]}x{size[1]}",
        f"ACE: streaming update with a batch of {_times(size)}",
        (
            _peer("torch.sort by hand", "ace"),
            _former_binned("ace"),
            # The function on all the data is not the streaming update of the summary.
            *(
                dataclasses.replace(row, mode=None)
                for row in _ours("ace", baseline=True)
            ),
            *(
                _update("AdaptiveCalibrationError", mode, num_classes=size[1])
                for mode in _MODES
            ),
        ),
        size,
        tolerance=1e-2,  # The sketch is not exact.
        path=_path("ACE, update of the metric", *size, of=(8192, 1000)),
    )


def _accumulators(mode: str) -> Case:
    """The price of checks, exact sums and ties, compared with plain float32 sums."""
    return Case(
        f"accumulators-50000x10-{_SHORT[mode]}",
        f"ECE: exact sums beside float32 ones, update of 50000 x 10; {mode}",
        (
            Contender(
                OURS,
                f"plain max, gather, 3 segment_sum; {mode}",
                "ours.plain_update",
                {"mode": mode, "gather": True},
                baseline=True,
            ),
            _update("ExpectedCalibrationError", mode, num_classes=10),
        ),
        (50000, 10),
        path="ECE, exact sums beside float32 ones, 50000 x 10",
        patience=2,
    )


_SHORT = {NUMPY: "numpy", EAGER: "eager", GRAPH: "graph", XLA: "jit"}


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
        f"evaluate-{classes}-{_SHORT[mode]}" + "-deep" * bool(hidden),
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


def _baseline(label: str, setup: str, **options: str | float | None) -> Contender:
    return Contender(PEERS, label, f"peers.{setup}", options, baseline=True)


def _peer(
    label: str,
    setup: str,
    quantity: str | None = "value",
    **options: str | float | None,
) -> Contender:
    return Contender(PEERS, label, f"peers.{setup}", options, quantity=quantity)


def _crps(estimator: str, fastest: str, examples: int, draws: int) -> Case:
    """CRPS, with the fastest estimator of scoringrules of the same definition."""
    numba = "scoringrules crps_ensemble, Numba"
    rows = [
        _baseline(
            f"{numba}, {fastest!r}",
            "scoringrules",
            name="crps_ensemble",
            estimator=fastest,
        ),
        _peer(
            f"np.sort; {numba}, {fastest!r}, sorted_ensemble=True",
            "scoringrules_of_sorted",
            estimator=fastest,
        ),
    ]
    if draws <= 100:  # This estimator takes O(m^2).
        rows.append(
            _peer(
                f"{numba}, {estimator!r}",
                "scoringrules",
                name="crps_ensemble",
                estimator=estimator,
            )
        )
    if estimator == "nrg":
        rows.append(
            _peer("properscoring crps_ensemble", "properscoring", name="crps_ensemble")
        )
    else:
        rows += _plain("crps_score", "tf.sort", GRAPH)
    return Case(
        f"crps-{estimator}-{examples}x{draws}",
        f'CRPS of samples, "{estimator}": {examples} forecasts x {draws}',
        (
            *rows,
            _peer("torch.sort by hand", "crps", fair=estimator == "fair"),
            *_ours("crps_score", *_MODES, baseline=True, estimator=estimator),
        ),
        (examples, draws),
        "samples",
        path=_path(f'CRPS of samples, "{estimator}"', examples, draws, of=(1000, 1000)),
    )


def _crps_roll(examples: int, draws: int) -> Case:
    return Case(
        f"crps-roll-{examples}x{draws}",
        f'CRPS of samples, "roll" beside "fair": {examples} forecasts x {draws}',
        (
            # Its value differs: it pairs the first sample with the last but one.
            Contender(
                PEERS,
                "scoringrules crps_ensemble, Numba, 'akr'",
                "peers.scoringrules",
                {"name": "crps_ensemble", "estimator": "akr"},
                baseline=True,
                quantity=None,
            ),
            *_ours("crps_score", *_MODES, baseline=True, estimator="roll"),
            *_ours("crps_score", *_MODES, quantity="fair", estimator="fair"),
        ),
        (examples, draws),
        "samples",
    )


def _crps_gradient(examples: int, draws: int) -> Case:
    def ours(estimator: str, quantity: str = "value") -> tuple[Contender, ...]:
        return tuple(
            Contender(
                OURS,
                f"**um.crps_score(estimator={estimator!r}), GradientTape; {mode}**",
                "ours.tensorflow_gradient",
                {"name": "crps_score", "mode": mode, "estimator": estimator},
                baseline=mode == GRAPH and quantity == "value",
                quantity=quantity,
                mode=mode,
            )
            for mode in _MODES
        )

    return Case(
        f"crps-gradient-{examples}x{draws}",
        f'CRPS of samples, "fair", and its gradient: {examples} forecasts x {draws}',
        (
            _baseline("torch.sort by hand, backward", "crps_gradient", fair=True),
            _peer(
                "scoringrules crps_ensemble, PyTorch, 'pwm', backward",
                "scoringrules_gradient",
                estimator="pwm",
            ),
            Contender(
                OURS,
                f"plain tf.sort, GradientTape; {GRAPH}",
                "ours.plain_gradient",
                {"name": "crps_score", "mode": GRAPH},
            ),
            *ours("fair"),
            *ours("roll", "roll"),
        ),
        (examples, draws),
        "samples",
        path=_path("CRPS of samples and gradient", examples, draws, of=(1000, 1000)),
    )


def _brier(examples: int, classes: int, from_logits: bool) -> Case:
    of = "logits" if from_logits else "probabilities"
    options = {"from_logits": from_logits}
    rows = [
        _baseline(
            "torch-uncertainty BrierScore, update and compute",
            "torch_uncertainty_brier",
            **options,
        ),
        _peer("torch by hand", "brier", **options),
    ]
    if not from_logits:
        if examples * classes < 10**7:  # For the larger size it takes seconds.
            rows.append(_peer("sklearn brier_score_loss", "sklearn_brier"))
        rows += _plain("brier_score", "sum of squares, gather", GRAPH, XLA)
    return Case(
        f"brier-{of}-{examples}x{classes}",
        f"Brier score from {of}: {examples} x {classes}",
        (*rows, *_ours("brier_score", *_MODES, baseline=True)),
        (examples, classes),
        "logits" if from_logits else "predictions",
        path=_path(f"Brier score from {of}", examples, classes, of=(50000, 1000)),
    )


def _brier_update(examples: int, classes: int) -> Case:
    return Case(
        f"brier-update-{examples}x{classes}",
        f"Brier score: update with a batch of {examples} x {classes}",
        (
            _baseline(
                "torch-uncertainty BrierScore, update",
                "torch_uncertainty_brier",
                compute=False,
            ),
            *_plain(
                "brier_score",
                "sum of squares, gather, no state",
                GRAPH,
                XLA,
                baseline=True,
            ),
            *(_update("BrierScore", mode) for mode in _MODES),
        ),
        (examples, classes),
        path=_path(
            "Brier score, update of the metric", examples, classes, of=(8192, 1000)
        ),
    )


def _brier_decomposition(examples: int, classes: int) -> Case:
    return Case(
        f"brier-decomposition-{examples}x{classes}",
        f"Brier decomposition: {examples} x {classes}",
        (
            *_plain(
                "brier_decomposition",
                "argmax, confusion_matrix, gather",
                GRAPH,
                baseline=True,
            ),
            *_ours("brier_decomposition", *_MODES),
            *(
                _update("BrierDecomposition", mode, num_classes=classes)
                for mode in _MODES
            ),
        ),
        (examples, classes),
        path=_path("Brier decomposition", examples, classes, of=(50000, 1000)),
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
        f"bayesian-{num_bins}-{_SHORT[mode]}",
        f"Bayesian ECE: {_DRAWS} draws, {num_bins} bins, 50000 x 10; {mode}",
        tuple(rows),
        (50000, 10),
        tolerance=2e-2,  # The draws are random.
        path=f"Bayesian ECE, {_DRAWS} draws, 50000 x 10" if few else "",
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
        f"fit-{loss}-{outputs}-{_SHORT[mode]}",
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
        for mode in _MODES
    )


def _auroc(examples: int) -> Case:
    torchmetrics = "torchmetrics BinaryAUROC update and compute"
    # An approximation with another value, which is the same for both contenders.
    binned = f"{_THRESHOLDS} thresholds"
    return Case(
        f"auroc-{examples}",
        f"AUROC: {examples} examples",
        (
            _baseline("sklearn roc_auc_score", "sklearn_auroc"),
            _peer(f"{torchmetrics}, exact", "torchmetrics_auroc", thresholds=None),
            _peer(
                f"{torchmetrics}, {binned}",
                "torchmetrics_auroc",
                quantity=binned,
                thresholds=_THRESHOLDS,
            ),
            *_streamed(
                f"Keras AUC, {binned},", "AUC", binned, num_thresholds=_THRESHOLDS
            ),
            *_ours("auroc", *_MODES, baseline=True),
            *_streamed("**AUROC**", "AUROC"),
        ),
        (examples,),
        "scores",
        path=_path("AUROC", examples, of=(10**6,)),
    )


def _detection(name: str, case: str, *peers: Contender) -> Case:
    return Case(
        f"{case}-1000000",
        f"{case.upper()}: 10^6 examples",
        (*peers, *_ours(name, *_MODES, baseline=True)),
        (10**6,),
        "scores",
        path=f"{case.upper()}, 10^6",
    )


def _aurc(examples: int) -> Case:
    return Case(
        f"aurc-{examples}",
        f"AURC: {examples} examples",
        (
            _baseline(
                "torch-uncertainty AURC, update and compute",
                "torch_uncertainty_selective",
                name="AURC",
            ),
            *_ours("aurc", *_MODES, baseline=True),
            *_streamed("**AURC**", "AURC"),
        ),
        (examples,),
        "decisions",
        path=_path("AURC", examples, of=(10**6,)),
    )


def _selective(name: str, what: str, peer: str, **options: float) -> Case:
    return Case(
        f"{name.replace('_', '-')}-1000000",
        f"{what}: 10^6 examples",
        (
            _baseline(
                f"torch-uncertainty {peer}, update and compute",
                "torch_uncertainty_selective",
                name=peer,
            ),
            *_ours(name, *_MODES, baseline=True, **options),
        ),
        (10**6,),
        "decisions",
        tolerance=1e-3,  # torch-uncertainty breaks ties.
        path=f"{what}, 10^6",
    )


def _mutual_information(from_logits: bool) -> Case:
    of = "logits" if from_logits else "probabilities"
    return Case(
        f"mutual-information-{of}-50000x10x100",
        f"Mutual information from {of}: 50000 x 10 members x 100",
        (
            _baseline(
                "torch-uncertainty MutualInformation, update and compute",
                "torch_uncertainty_mutual_information",
                from_logits=from_logits,
            ),
            _peer("torch by hand", "mutual_information", from_logits=from_logits),
            *_ours("mutual_information", *_MODES, baseline=True),
        ),
        (50000, 10, 100),
        "ensemble_logits" if from_logits else "ensemble",
        path=f"Mutual information from {of}, 50000 x 10 x 100",
    )


def _of_members(name: str, peer: str) -> Case:
    what = name.replace("_", " ").capitalize()
    return Case(
        f"{name.replace('_', '-')}-50000x10x100",
        f"{what}: 50000 x 10 members x 100",
        (
            _baseline(
                f"torch-uncertainty {peer}, update and compute",
                "torch_uncertainty_of_members",
                name=peer,
            ),
            _peer("torch by hand", name),
            *_ours(name, *_MODES, baseline=True),
        ),
        (50000, 10, 100),
        "ensemble",
        path=f"{what}, 50000 x 10 x 100",
    )


def _former(name: str, alias: str, data: str, examples: int, **options: float) -> Case:
    """Calibration errors of smoothed outcomes, compared with the package of 2020.

    The folds differ, so the values differ by a part of their standard error.
    """
    return Case(
        f"{alias}-{examples}",
        f"{alias.upper()}: {examples} examples",
        (
            _baseline(
                f"uncertainty_metrics 0.0.81 {name}",
                "former_package",
                name=name,
                **options,
            ),
            *_ours(alias, baseline=True, **options),
        ),
        (examples,),
        data,
        tolerance=0.1,
        path=f"`{alias}`, n = {examples}",
    )


def _quantile_score(name: str, data: str, *peers: Contender, **options: float) -> Case:
    what = name.replace("_", " ")
    return Case(
        f"{name.partition('_')[0]}-1000000",
        f"{what.capitalize()}: 10^6 forecasts",
        (*peers, *_ours(name, *_MODES, baseline=True, **options)),
        (10**6,),
        data,
        path=f"{what.capitalize()}, 10^6",
    )


def _regression(
    name: str, what: str, data: str, *peers: Contender, **options: int
) -> Case:
    return Case(
        f"regression-{what.lower()}-1000000",
        f"Regression {what}: 10^6 forecasts",
        (*peers, *_ours(f"regression.{name}", *_MODES, baseline=True, **options)),
        (10**6,),
        data,
        path=f"Regression {what}, 10^6",
    )


def _bootstrap(metric: str) -> Case:
    resamples, examples, classes = 1000, 5000, 10
    options = {"metric": metric, "resamples": resamples}
    return Case(
        f"bootstrap-{metric.replace('_', '-')}-{examples}x{classes}",
        f"BCa interval of {metric}: {resamples} resamples of {examples} x {classes}",
        (
            _baseline("scipy.stats.bootstrap", "bootstrap", **options),
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


_SAMPLE_SIZES = ((1000, 100), (1000, 1000), (10000, 100))
_SCORING_RULES = (
    *(_crps("nrg", "qd", *size) for size in _SAMPLE_SIZES),
    *(_crps("fair", "pwm", *size) for size in _SAMPLE_SIZES),
    *(_crps_roll(*size) for size in _SAMPLE_SIZES),
    *(_crps_gradient(*size) for size in _SAMPLE_SIZES),
    Case(
        "crps-normal-1000000",
        "CRPS of Normal forecasts: 10^6",
        (
            _baseline(
                "scoringrules crps_normal, Numba", "scoringrules", name="crps_normal"
            ),
            _peer("properscoring crps_gaussian", "properscoring", name="crps_gaussian"),
            _peer("torch by hand", "crps_normal"),
            *_plain("crps_normal_score", "formula", GRAPH, XLA),
            *_ours("crps_normal_score", *_MODES, baseline=True),
        ),
        (10**6,),
        "normals",
        path="CRPS of Normal forecasts, 10^6",
    ),
    _quantile_score(
        "pinball_loss",
        "quantile_forecasts",
        _baseline(
            "scoringrules quantile_score, Numba",
            "scoringrules",
            name="quantile_score",
            alpha=_LEVEL,
        ),
        _peer("sklearn mean_pinball_loss", "sklearn_pinball", alpha=_LEVEL),
        _peer("torch by hand", "pinball", level=_LEVEL),
        quantiles=_LEVEL,
    ),
    _quantile_score(
        "interval_score",
        "interval_forecasts",
        _baseline(
            "scoringrules interval_score, Numba",
            "scoringrules",
            name="interval_score",
            alpha=_ALPHA,
        ),
        _peer("torch by hand", "interval", alpha=_ALPHA),
        alpha=_ALPHA,
    ),
    Case(
        "energy-1000x50x3",
        "Energy score: 1000 forecasts x 50 samples x 3 dimensions",
        (
            _baseline(
                "scoringrules es_ensemble, Numba", "scoringrules", name="es_ensemble"
            ),
            _peer("torch.cdist by hand", "energy"),
            *_plain("energy_score", "norms of all pairs", GRAPH, XLA),
            *_ours("energy_score", *_MODES, baseline=True, estimator="nrg"),
        ),
        (1000, 50, 3),
        "samples",
        path="Energy score, 1000 x 50 x 3",
    ),
    *(
        _brier(*size, from_logits)
        for from_logits in (False, True)
        for size in _SIZES[1:]
    ),
    *(_brier_update(*size) for size in _SIZES[1:]),
    *(_brier_decomposition(*size) for size in _SIZES[1:]),
    Case(
        "nll-50000x1000",
        "Negative log-likelihood from logits: 50000 x 1000",
        (
            _baseline("torch cross_entropy", "cross_entropy"),
            *_plain("negative_log_likelihood", "TensorFlow op", GRAPH, XLA),
            *_ours("negative_log_likelihood", *_MODES, baseline=True),
        ),
        (50000, 1000),
        "logits",
        path="Negative log-likelihood from logits, 50000 x 1000",
    ),
    *(
        _fit("brier", "cross-entropy", classes, jit, "predictions")
        for classes in (10, 1000)
        for jit in (False, True)
    ),
    *(_fit("crps", "squared error", 100, jit, "samples") for jit in (False, True)),
)

_RANKINGS = (
    *(case(examples) for case in (_auroc, _aurc) for examples in (50000, 10**6)),
    _detection(
        "aupr",
        "aupr",
        _baseline("sklearn average_precision_score", "sklearn_aupr"),
        _peer(
            "torchmetrics BinaryAveragePrecision update and compute, exact",
            "torchmetrics_aupr",
        ),
    ),
    _detection(
        "fpr_at_tpr",
        "fpr95",
        _baseline(
            "torch-uncertainty FPR95, update and compute", "torch_uncertainty_fpr"
        ),
        _peer("sklearn roc_curve", "sklearn_fpr"),
    ),
    _selective("augrc", "AUGRC", "AUGRC"),
    _selective("coverage_at_risk", "Coverage at risk", "CovAt5Risk", risk=0.05),
    _selective("risk_at_coverage", "Risk at coverage", "RiskAt80Cov", coverage=0.8),
)
_ENSEMBLES = (
    Case(
        "pairwise-diversity-10x50000x100",
        "Average pairwise diversity: 10 members x 50000 x 100",
        (
            *_plain(
                "average_pairwise_diversity", "loop over pairs", *_MODES, baseline=True
            ),
            *_ours("average_pairwise_diversity", *_MODES),
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
            _baseline("ArviZ psislw", "psis_loo"),
            *_ours("psis_loo", *_MODES, baseline=True),
        ),
        (2000, 1000),
        "log_likelihoods",
        path="PSIS-LOO, 2000 x 1000",
    ),
    Case(
        "waic-2000x1000",
        "WAIC: 2000 instances x 1000 draws",
        (
            _baseline("ArviZ waic", "waic"),
            _peer("torch by hand", "waic_by_hand"),
            *_ours("negative_waic", *_MODES, baseline=True),
        ),
        (2000, 1000),
        "log_likelihoods",
        tolerance=1e-3,  # ArviZ divides the variance by another number.
        path="WAIC, 2000 x 1000",
    ),
)
_REGRESSION = (
    _regression(
        "negative_log_likelihood",
        "NLL",
        "normals_by_variance",
        _baseline("torch gaussian_nll_loss", "gaussian_nll"),
        _peer("uncertainty-toolbox nll_gaussian", "toolbox", name="nll_gaussian"),
    ),
    _regression(
        "expected_calibration_error",
        "ECE",
        "means_and_variances",
        _baseline("torch.bucketize by hand", "regression_ece", levels=10),
        # It has other levels, from 0 to 1.
        _peer(
            "uncertainty-toolbox mean_absolute_calibration_error, vectorized",
            "toolbox",
            None,
            name="mean_absolute_calibration_error",
            num_bins=10,
            vectorized=True,
        ),
        n_bins=10,
    ),
)
_INTERVALS = (
    *(_bootstrap(metric) for metric in ("brier_score", "ece")),
    Case(
        "temperature-10000x100",
        "Temperature scaling: fit to 10000 x 100",
        (
            _baseline("netcal TemperatureScaling", "netcal_temperature"),
            _peer("torch LBFGS by hand", "temperature"),
            *(
                Contender(
                    OURS,
                    f"**TemperatureScaling.fit; {mode}**",
                    "ours.temperature",
                    {"mode": mode},
                    baseline=mode == NUMPY,
                    mode=mode,
                )
                for mode in (NUMPY, EAGER)
            ),
        ),
        (10000, 100),
        "logits",
        path="Temperature scaling, 10000 x 100",
    ),
    Case(
        "temperature-50000x100",
        "Temperature scaling: fit to 50000 x 100",
        (
            _baseline("torch LBFGS by hand", "temperature"),
            Contender(
                OURS,
                f"**TemperatureScaling.fit; {NUMPY}**",
                "ours.temperature",
                {"mode": NUMPY},
                baseline=True,
                mode=NUMPY,
            ),
        ),
        (50000, 100),
        "logits",
    ),
    Case(
        "vector-50000x100",
        "Vector scaling: fit to 50000 x 100",
        (
            _baseline("torch LBFGS by hand", "vector", ridge=10.0),
            _fitted("VectorScaling"),
        ),
        (50000, 100),
        "logits",
        tolerance=1e-3,  # The peer computes in float32.
        path="Vector scaling, 50000 x 100",
    ),
    Case(
        "platt-100000",
        "Platt scaling: fit to 10^5",
        (
            _baseline("scikit-learn LogisticRegression", "platt"),
            _fitted("PlattScaling"),
        ),
        (100000, 2),
        path="Platt scaling, 10^5",
    ),
    Case(
        "platt-50000x10",
        "Platt scaling: fits to 50000 x 10, one against rest",
        (
            _baseline("scikit-learn LogisticRegression", "platt"),
            _fitted("PlattScaling"),
        ),
        (50000, 10),
        tolerance=1e-3,
    ),
)

_BEYOND_BINS = (
    Case(
        "smece-1000000",
        "Smooth calibration error: 10^6 scores",
        (_baseline("relplot smECE", "relplot_smece"), _beyond_bins("smece")),
        (10**6,),
        "scores",
        tolerance=2e-2,  # relplot's value is exact only to 1e-3.
        path="Smooth calibration error, 10^6",
    ),
    Case(
        "isotonic-1000000",
        "Isotonic regression: fit to 10^6 scores",
        (
            _baseline("scikit-learn IsotonicRegression", "sklearn_isotonic"),
            _beyond_bins("isotonic"),
            _beyond_bins("sketched_isotonic"),
        ),
        (10**6,),
        "scores",
        tolerance=1e-3,
        path="Isotonic regression, 10^6",
    ),
)

_CASES = (
    *(_ece_update(*size) for size in _SIZES),
    *(_ece_value(*size) for size in _SIZES),
    _class_wise("sce", "torch.bincount by hand", *_MODES),
    _class_wise("ace", "torch.sort by hand"),
    _class_wise("tace", "torch.argsort by hand", threshold=0.01),
    Case(
        "sce-50000x10",
        "SCE: value of 50000 x 10",
        (
            _baseline(
                "torch-uncertainty ClasswiseCalibrationError, update and compute",
                "torch_uncertainty_sce",
            ),
            _peer("torch.bincount by hand", "sce"),
            _former_binned("sce"),
            *_ours("sce", *_MODES, baseline=True),
        ),
        (50000, 10),
        path="SCE, 50000 x 10",
    ),
    _equal_mass(),
    Case(
        "mce-50000x1000",
        "MCE: value of 50000 x 1000",
        (
            _baseline(
                "torchmetrics update and compute, norm='max'",
                "torchmetrics_ece",
                validate_args=False,
                compute=True,
                norm="max",
            ),
            _peer("netcal MCE", "netcal", name="MCE"),
            *_ours("mce", *_MODES, baseline=True),
        ),
        (50000, 1000),
        path="MCE, 50000 x 1000",
    ),
    *map(_ace_streaming, _SIZES[1:]),
    *map(_accumulators, (GRAPH, XLA)),
    *(_evaluate(classes, jit) for classes in (10, 1000) for jit in (False, True)),
    *(_evaluate(10, jit, 1024, 1024) for jit in (False, True)),
    *_BEYOND_BINS,
    *_SCORING_RULES,
    *_RANKINGS,
    *_ENSEMBLES,
    *_REGRESSION,
    *_INTERVALS,
    _former("semiparametric_calibration_error", "spce", "forecasts", 2000),
    _former("censored_calibration_error", "cce", "survival", 1000, end_time=1.0),
    *(_bayesian(bins, mode) for bins in (15, 100) for mode in (NUMPY, *_MODES)),
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
                mode=NUMPY if module == "uncertainty_metrics.numpy" else None,
            )
            for label, module in (
                ("numpy", "numpy"),
                ("**uncertainty_metrics**", "uncertainty_metrics"),
                ("**uncertainty_metrics.numpy**", "uncertainty_metrics.numpy"),
                (
                    "**uncertainty_metrics.numpy, with `ece`**",
                    "uncertainty_metrics.numpy.calibration.confidence_errors",
                ),
            )
        ),
        path="`import uncertainty_metrics.numpy`",
    ),
)

# By setup function for XLA: the function of `backends.py` that does the same.
_ON_BACKENDS = {
    "ours.tensorflow_function": "backends.function",
    "ours.keras_update": "backends.update",
}


def _with_backends(case: Case) -> Case:
    """Adds the contenders of this package on other backends."""
    more = []
    for row in case.contenders:
        if row.mode == XLA and row.setup in _ON_BACKENDS:
            options = {key: x for key, x in row.options.items() if key != "mode"}
            more += [
                dataclasses.replace(
                    row,
                    environment=backend,
                    label=row.label.replace(XLA, backend),
                    setup=_ON_BACKENDS[row.setup],
                    options=options,
                    baseline=False,
                    mode=backend,
                )
                for backend in BACKENDS
            ]
    return dataclasses.replace(case, contenders=(*case.contenders, *more))


CASES = tuple(map(_with_backends, _CASES))
