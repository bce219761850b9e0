"""Cases of scoring rules, of classes and of real numbers."""

from __future__ import annotations

from harness import GRAPH, JAX, NUMPY, OURS, PEERS, XLA, Case, Contender

from cases._contenders import (
    TENSORFLOW_MODES,
    alone,
    keras_update,
    ours,
    path_of,
    peer,
    peer_baseline,
    plain,
    with_numba,
)

_SIZES = ((1024, 10), (8192, 1000), (50000, 1000))

_LEVEL = 0.9  # The level of a quantile.

_LEVELS = tuple(i / 10 for i in range(1, 10))

_ALPHA = 0.1  # The share of labels outside an interval.

_SORT = (
    *alone("sort of the samples", "sort", NUMPY),
    *alone("network that sorts the samples", "network", GRAPH, XLA, JAX),
)

_SAMPLE_SIZES = ((1000, 100), (1000, 1000), (10000, 100))


def _crps(estimator: str, fastest: str, examples: int, draws: int) -> Case:
    """CRPS, with the fastest estimator of scoringrules of the same definition."""
    numba = "scoringrules crps_ensemble, Numba"
    rows = [
        peer_baseline(
            f"{numba}, {fastest!r}",
            "scoring_rules.scoringrules",
            name="crps_ensemble",
            estimator=fastest,
        ),
        peer(
            f"np.sort; {numba}, {fastest!r}, sorted_ensemble=True",
            "scoring_rules.scoringrules_of_sorted",
            estimator=fastest,
        ),
    ]
    if draws <= 100:  # This estimator takes O(m^2).
        rows.append(
            peer(
                f"{numba}, {estimator!r}",
                "scoring_rules.scoringrules",
                name="crps_ensemble",
                estimator=estimator,
            )
        )
    if estimator == "nrg":
        rows.append(
            peer(
                "properscoring crps_ensemble",
                "scoring_rules.properscoring",
                name="crps_ensemble",
            )
        )
    else:
        rows += plain("crps_score", "tf.sort", GRAPH)
    return Case(
        f"crps-{estimator}-{examples}x{draws}",
        f'CRPS of samples, "{estimator}": {examples} forecasts x {draws}',
        (
            *rows,
            peer("torch.sort by hand", "scoring_rules.crps", fair=estimator == "fair"),
            *ours("crps_score", *TENSORFLOW_MODES, baseline=True, estimator=estimator),
            with_numba("crps_score", estimator=estimator),
            *_SORT,
        ),
        (examples, draws),
        "samples",
        path=path_of(
            f'CRPS of samples, "{estimator}"', examples, draws, of=(1000, 1000)
        ),
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
                "peers.scoring_rules.scoringrules",
                {"name": "crps_ensemble", "estimator": "akr"},
                baseline=True,
                quantity=None,
            ),
            *ours("crps_score", *TENSORFLOW_MODES, baseline=True, estimator="roll"),
            *ours("crps_score", *TENSORFLOW_MODES, quantity="fair", estimator="fair"),
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
            for mode in TENSORFLOW_MODES
        )

    return Case(
        f"crps-gradient-{examples}x{draws}",
        f'CRPS of samples, "fair", and its gradient: {examples} forecasts x {draws}',
        (
            peer_baseline(
                "torch.sort by hand, backward", "scoring_rules.crps_gradient", fair=True
            ),
            peer(
                "scoringrules crps_ensemble, PyTorch, 'pwm', backward",
                "scoring_rules.scoringrules_gradient",
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
            *alone("network that sorts float64 keys", "network", GRAPH, XLA, keys=True),
        ),
        (examples, draws),
        "samples",
        path=path_of("CRPS of samples and gradient", examples, draws, of=(1000, 1000)),
    )


def _brier(examples: int, classes: int, from_logits: bool) -> Case:
    of = "logits" if from_logits else "probabilities"
    options = {"from_logits": from_logits}
    rows = [
        peer_baseline(
            "torch-uncertainty BrierScore, update and compute",
            "scoring_rules.torch_uncertainty_brier",
            **options,
        ),
        peer("torch by hand", "scoring_rules.brier", **options),
    ]
    if not from_logits:
        if examples * classes < 10**7:  # For the larger size it takes seconds.
            rows.append(peer("sklearn brier_score_loss", "scoring_rules.sklearn_brier"))
        rows += plain("brier_score", "sum of squares, gather", GRAPH, XLA)
    return Case(
        f"brier-{of}-{examples}x{classes}",
        f"Brier score from {of}: {examples} x {classes}",
        (*rows, *ours("brier_score", *TENSORFLOW_MODES, baseline=True)),
        (examples, classes),
        "logits" if from_logits else "predictions",
        path=path_of(f"Brier score from {of}", examples, classes, of=(50000, 1000)),
    )


def _brier_update(examples: int, classes: int) -> Case:
    return Case(
        f"brier-update-{examples}x{classes}",
        f"Brier score: update with a batch of {examples} x {classes}",
        (
            peer_baseline(
                "torch-uncertainty BrierScore, update",
                "scoring_rules.torch_uncertainty_brier",
                compute=False,
            ),
            *plain(
                "brier_score",
                "sum of squares, gather, no state",
                GRAPH,
                XLA,
                baseline=True,
            ),
            *(keras_update("BrierScore", mode) for mode in TENSORFLOW_MODES),
        ),
        (examples, classes),
        path=path_of(
            "Brier score, update of the metric", examples, classes, of=(8192, 1000)
        ),
    )


def _brier_decomposition(examples: int, classes: int) -> Case:
    return Case(
        f"brier-decomposition-{examples}x{classes}",
        f"Brier decomposition: {examples} x {classes}",
        (
            *plain(
                "brier_decomposition",
                "argmax, confusion_matrix, gather",
                GRAPH,
                baseline=True,
            ),
            *ours("brier_decomposition", *TENSORFLOW_MODES),
            *(
                keras_update("BrierDecomposition", mode, num_classes=classes)
                for mode in TENSORFLOW_MODES
            ),
        ),
        (examples, classes),
        path=path_of("Brier decomposition", examples, classes, of=(50000, 1000)),
    )


def _likelihood(classes: int) -> Case:
    return Case(
        f"nll-50000x{classes}",
        f"Negative log-likelihood from logits: 50000 x {classes}",
        (
            peer_baseline("torch cross_entropy", "scoring_rules.cross_entropy"),
            *plain("negative_log_likelihood", "TensorFlow op", GRAPH, XLA),
            *ours("negative_log_likelihood", *TENSORFLOW_MODES, baseline=True),
            with_numba("negative_log_likelihood"),
            *alone("exponentials in float64", "exponentials", NUMPY),
        ),
        (50000, classes),
        "logits",
        path=f"Negative log-likelihood from logits, 50000 x {classes}",
    )


def _quantile_score(name: str, data: str, *peers: Contender, **options: float) -> Case:
    what = name.replace("_", " ")
    return Case(
        f"{name.partition('_')[0]}-1000000",
        f"{what.capitalize()}: 10^6 forecasts",
        (
            *peers,
            *ours(name, *TENSORFLOW_MODES, baseline=True, **options),
            with_numba(name, **options),
        ),
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
        (
            *peers,
            *ours(f"regression.{name}", *TENSORFLOW_MODES, baseline=True, **options),
        ),
        (10**6,),
        data,
        path=f"Regression {what}, 10^6",
    )


OF_NUMBERS = (
    *(_crps("nrg", "qd", *size) for size in _SAMPLE_SIZES),
    *(_crps("fair", "pwm", *size) for size in _SAMPLE_SIZES),
    *(_crps_roll(*size) for size in _SAMPLE_SIZES),
    *(_crps_gradient(*size) for size in _SAMPLE_SIZES),
    Case(
        "crps-normal-1000000",
        "CRPS of Normal forecasts: 10^6",
        (
            peer_baseline(
                "scoringrules crps_normal, Numba",
                "scoring_rules.scoringrules",
                name="crps_normal",
            ),
            peer(
                "properscoring crps_gaussian",
                "scoring_rules.properscoring",
                name="crps_gaussian",
            ),
            peer("torch by hand", "scoring_rules.crps_normal"),
            *plain("crps_normal_score", "formula", GRAPH, XLA),
            *ours("crps_normal_score", *TENSORFLOW_MODES, baseline=True),
        ),
        (10**6,),
        "normals",
        path="CRPS of Normal forecasts, 10^6",
    ),
    _quantile_score(
        "pinball_loss",
        "quantile_forecasts",
        peer_baseline(
            "scoringrules quantile_score, Numba",
            "scoring_rules.scoringrules",
            name="quantile_score",
            alpha=_LEVEL,
        ),
        peer(
            "sklearn mean_pinball_loss", "scoring_rules.sklearn_pinball", alpha=_LEVEL
        ),
        peer("torch by hand", "scoring_rules.pinball", level=_LEVEL),
        *alone("difference, two products, maximum", "pinball", NUMPY, level=_LEVEL),
        quantiles=_LEVEL,
    ),
    Case(
        "pinball-100000x9",
        "Pinball loss: 10^5 forecasts of 9 quantiles",
        (
            peer_baseline(
                "scoringrules quantile_score, Numba",
                "scoring_rules.scoringrules_of_levels",
                levels=_LEVELS,
            ),
            peer("torch by hand", "scoring_rules.pinball_of_levels", levels=_LEVELS),
            *ours("pinball_loss", *TENSORFLOW_MODES, baseline=True, quantiles=_LEVELS),
            with_numba("pinball_loss", quantiles=_LEVELS),
        ),
        (100000, len(_LEVELS)),
        "quantiles_of_levels",
        path="Pinball loss, 10^5 x 9 levels",
    ),
    _quantile_score(
        "interval_score",
        "interval_forecasts",
        peer_baseline(
            "scoringrules interval_score, Numba",
            "scoring_rules.scoringrules",
            name="interval_score",
            alpha=_ALPHA,
        ),
        peer("torch by hand", "scoring_rules.interval", alpha=_ALPHA),
        alpha=_ALPHA,
    ),
    Case(
        "energy-1000x50x3",
        "Energy score: 1000 forecasts x 50 samples x 3 dimensions",
        (
            peer_baseline(
                "scoringrules es_ensemble, Numba",
                "scoring_rules.scoringrules",
                name="es_ensemble",
            ),
            peer("torch.cdist by hand", "scoring_rules.energy"),
            *plain("energy_score", "norms of all pairs", GRAPH, XLA),
            *ours("energy_score", *TENSORFLOW_MODES, baseline=True, estimator="nrg"),
        ),
        (1000, 50, 3),
        "samples",
        path="Energy score, 1000 x 50 x 3",
    ),
    _regression(
        "negative_log_likelihood",
        "NLL",
        "normals_by_variance",
        peer_baseline("torch gaussian_nll_loss", "scoring_rules.gaussian_nll"),
        peer(
            "uncertainty-toolbox nll_gaussian",
            "scoring_rules.toolbox",
            name="nll_gaussian",
        ),
        *alone("formula in float64, without checks", "gaussian", NUMPY),
        with_numba("regression.negative_log_likelihood"),
    ),
    _regression(
        "expected_calibration_error",
        "ECE",
        "means_and_variances",
        peer_baseline(
            "torch.bucketize by hand", "scoring_rules.regression_ece", levels=10
        ),
        # It has other levels, from 0 to 1.
        peer(
            "uncertainty-toolbox mean_absolute_calibration_error, vectorized",
            "scoring_rules.toolbox",
            None,
            name="mean_absolute_calibration_error",
            num_bins=10,
            vectorized=True,
        ),
        n_bins=10,
    ),
)

OF_CLASSES = (
    *(
        _brier(*size, from_logits)
        for from_logits in (False, True)
        for size in _SIZES[1:]
    ),
    *(_brier_update(*size) for size in _SIZES[1:]),
    *(_brier_decomposition(*size) for size in _SIZES[1:]),
    *map(_likelihood, (10, 1000)),
)
