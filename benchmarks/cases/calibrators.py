"""Cases of calibrators, which are fitted."""

from __future__ import annotations

from harness import EAGER, FAST, NUMPY, OURS, Case, Contender

from cases._contenders import peer, peer_baseline


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


CASES = (
    Case(
        "isotonic-1000000",
        "Isotonic regression: fit to 10^6 scores",
        (
            peer_baseline(
                "scikit-learn IsotonicRegression", "calibrators.sklearn_isotonic"
            ),
            *(
                Contender(
                    OURS,
                    f"**{name}; {NUMPY}**",
                    f"ours.{name}",
                    baseline=name == "isotonic",
                    mode=NUMPY,
                )
                for name in ("isotonic", "sketched_isotonic")
            ),
        ),
        (10**6,),
        "scores",
        tolerance=1e-3,
        path="Isotonic regression, 10^6",
    ),
    Case(
        "temperature-10000x100",
        "Temperature scaling: fit to 10000 x 100",
        (
            peer_baseline(
                "netcal TemperatureScaling", "calibrators.netcal_temperature"
            ),
            peer("torch LBFGS by hand", "calibrators.temperature"),
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
            peer_baseline("torch LBFGS by hand", "calibrators.temperature"),
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
            peer_baseline("torch LBFGS by hand", "calibrators.vector", ridge=10.0),
            _fitted("VectorScaling"),
            Contender(
                FAST,
                "**VectorScaling.fit; with Numba**",
                "ours.calibrator_with_numba",
                {"name": "VectorScaling"},
                mode=FAST,
            ),
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
            peer_baseline("scikit-learn LogisticRegression", "calibrators.platt"),
            _fitted("PlattScaling"),
        ),
        (100000, 2),
        path="Platt scaling, 10^5",
    ),
    Case(
        "platt-50000x10",
        "Platt scaling: fits to 50000 x 10, one against rest",
        (
            peer_baseline("scikit-learn LogisticRegression", "calibrators.platt"),
            _fitted("PlattScaling"),
        ),
        (50000, 10),
        tolerance=1e-3,
    ),
)
