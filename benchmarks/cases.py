"""The cases: one row each, read by `run.py` and by every worker.

Needs the standard library only: contenders name their setup, and the worker of their
environment imports it.
"""

from __future__ import annotations

from harness import OURS, PEERS, Case, Contender

_MODES = ("eager", "tf.function", "tf.function(jit_compile=True)")
_GRAPH, _XLA = _MODES[1:]
_SIZES = ((1024, 10), (8192, 1000), (50000, 1000))
_THRESHOLDS = 200


def _update(name: str, mode: str, **options: int) -> Contender:
    """`update_state` of a Keras metric."""
    return Contender(
        OURS,
        f"**{name}.update_state; {mode}**",
        "ours.keras_update",
        {"name": name, "mode": mode, **options},
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
    )


def _ours(
    name: str,
    *modes: str,
    baseline: bool = False,
    quantity: str = "value",
    **options: str | int,
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
        ),
        *(
            Contender(
                OURS,
                f"**um.{label}; {mode}**",
                "ours.tensorflow_function",
                {"name": name, "mode": mode, **options},
                quantity=quantity,
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
        (examples, classes),
    )


def _class_wise(name: str, peer: str, *modes: str, **options: float) -> Case:
    return Case(
        f"{name}-50000x1000",
        f"{name.upper()}: value of 50000 x 1000",
        (
            Contender(PEERS, peer, f"peers.{name}", options, baseline=True),
            *_ours(name, *modes, baseline=True),
        ),
        (50000, 1000),
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
            row("**AURC**", "aurc", quantity="aurc"),
        ),
        (1024, classes),
    )


def _baseline(label: str, setup: str, **options: str | int | None) -> Contender:
    return Contender(PEERS, label, f"peers.{setup}", options, baseline=True)


def _peer(
    label: str, setup: str, quantity: str | None = "value", **options: str | int | None
) -> Contender:
    return Contender(PEERS, label, f"peers.{setup}", options, quantity=quantity)


def _crps(estimator: str, fastest: str, examples: int, draws: int) -> Case:
    """With the fastest estimator of scoringrules that has the same definition."""
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
    if draws <= 100:  # O(m^2)
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
        rows += _plain("crps_score", "tf.sort", _GRAPH)
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
    )


def _crps_roll(examples: int, draws: int) -> Case:
    return Case(
        f"crps-roll-{examples}x{draws}",
        f'CRPS of samples, "roll" beside "fair": {examples} forecasts x {draws}',
        (
            # It pairs the first sample with the last but one: another value.
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
                baseline=mode == _GRAPH and quantity == "value",
                quantity=quantity,
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
                f"plain tf.sort, GradientTape; {_GRAPH}",
                "ours.plain_gradient",
                {"name": "crps_score", "mode": _GRAPH},
            ),
            *ours("fair"),
            *ours("roll", "roll"),
        ),
        (examples, draws),
        "samples",
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
        if examples * classes < 10**7:  # It takes seconds of the larger one.
            rows.append(_peer("sklearn brier_score_loss", "sklearn_brier"))
        rows += _plain("brier_score", "sum of squares, gather", _GRAPH, _XLA)
    return Case(
        f"brier-{of}-{examples}x{classes}",
        f"Brier score from {of}: {examples} x {classes}",
        (*rows, *_ours("brier_score", *_MODES, baseline=True)),
        (examples, classes),
        "logits" if from_logits else "predictions",
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
                _GRAPH,
                _XLA,
                baseline=True,
            ),
            *(_update("BrierScore", mode) for mode in _MODES),
        ),
        (examples, classes),
    )


def _brier_decomposition(examples: int, classes: int) -> Case:
    return Case(
        f"brier-decomposition-{examples}x{classes}",
        f"Brier decomposition: {examples} x {classes}",
        (
            *_plain(
                "brier_decomposition",
                "argmax, confusion_matrix, gather",
                _GRAPH,
                baseline=True,
            ),
            *_ours("brier_decomposition", *_MODES),
            *(
                _update("BrierDecomposition", mode, num_classes=classes)
                for mode in _MODES
            ),
        ),
        (examples, classes),
    )


def _bayesian(num_bins: int, mode: str) -> Case:
    """Beside the ECE in the same mode."""
    room = "numpy" if mode == "NumPy" else "tensorflow"
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
            {"num_bins": num_bins, "mode": mode},
        ),
    ]
    if mode == "eager" and num_bins <= 15:  # With many bins its draws are 0 / 0.
        draws = 25
        rows.append(
            Contender(
                OURS,
                f"plain loop over the draws, from {draws} of them; {mode}",
                "ours.plain_bayesian",
                {"num_bins": num_bins, "draws": draws},
            )
        )
    short = {"NumPy": "numpy", "eager": "eager", _GRAPH: "graph", _XLA: "jit"}[mode]
    return Case(
        f"bayesian-{num_bins}-{short}",
        f"Bayesian ECE: 500 draws, {num_bins} bins, 50000 x 10; {mode}",
        tuple(rows),
        (50000, 10),
        tolerance=2e-2,  # The draws are random.
    )


def _fit(loss: str, baseline: str, outputs: int, jit_compile: bool, data: str) -> Case:
    names = {
        "brier": "**BrierLoss**",
        "cross-entropy": "SparseCategoricalCrossentropy",
        "crps": "**CRPSSampleLoss**",
        "squared error": "MeanSquaredError",
    }
    return Case(
        f"fit-{loss}-{outputs}-{'jit' if jit_compile else 'graph'}",
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
            )
            for which in (baseline, loss)
        ),
        (256, outputs),
        data,
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
    binned = f"{_THRESHOLDS} thresholds"  # Another value, the same in both.
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
    )


def _aurc(examples: int) -> Case:
    return Case(
        f"aurc-{examples}",
        f"AURC: {examples} examples",
        (
            _baseline(
                "torch-uncertainty AURC, update and compute", "torch_uncertainty_aurc"
            ),
            *_ours("aurc", *_MODES, baseline=True),
            *_streamed("**AURC**", "AURC"),
        ),
        (examples,),
        "decisions",
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
    )


def _former(name: str, alias: str, data: str, examples: int, **options: float) -> Case:
    """Calibration errors of smoothed outcomes, against the package of 2020.

    The folds differ, and so do the values, by a part of their standard error.
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
            *_ours(alias, **options),
        ),
        (examples,),
        data,
        tolerance=0.1,
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
            *_plain("crps_normal_score", "formula", _GRAPH, _XLA),
            *_ours("crps_normal_score", *_MODES, baseline=True),
        ),
        (10**6,),
        "normals",
    ),
    Case(
        "energy-1000x50x3",
        "Energy score: 1000 forecasts x 50 samples x 3 dimensions",
        (
            _baseline(
                "scoringrules es_ensemble, Numba", "scoringrules", name="es_ensemble"
            ),
            _peer("torch.cdist by hand", "energy"),
            *_plain("energy_score", "norms of all pairs", _GRAPH, _XLA),
            *_ours("energy_score", *_MODES, baseline=True),
        ),
        (1000, 50, 3),
        "samples",
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
            *_plain("negative_log_likelihood", "TensorFlow op", _GRAPH, _XLA),
            *_ours("negative_log_likelihood", *_MODES, baseline=True),
        ),
        (50000, 1000),
        "logits",
    ),
    *(
        _fit("brier", "cross-entropy", classes, jit, "predictions")
        for classes in (10, 1000)
        for jit in (False, True)
    ),
    *(_fit("crps", "squared error", 100, jit, "samples") for jit in (False, True)),
)

_RANKINGS = tuple(
    case(examples) for case in (_auroc, _aurc) for examples in (50000, 10**6)
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
    ),
    *(_mutual_information(from_logits) for from_logits in (False, True)),
    Case(
        "psis-loo-2000x1000",
        "PSIS-LOO: 2000 instances x 1000 draws",
        (
            _baseline("ArviZ psislw", "psis_loo"),
            *_ours("psis_loo", *_MODES, baseline=True),
        ),
        (2000, 1000),
        "log_likelihoods",
    ),
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
                _update("AdaptiveCalibrationError", mode, num_classes=1000)
                for mode in _MODES
            ),
        ),
        (8192, 1000),
        tolerance=1e-2,  # That of the sketch.
    ),
    *(_evaluate(classes, jit) for classes in (10, 1000) for jit in (False, True)),
    *_SCORING_RULES,
    *_RANKINGS,
    *_ENSEMBLES,
    _former("semiparametric_calibration_error", "spce", "forecasts", 2000),
    _former("censored_calibration_error", "cce", "survival", 1000, end_time=1.0),
    *(_bayesian(bins, mode) for bins in (15, 100) for mode in ("NumPy", *_MODES)),
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
