"""Our maps as entries of CalArena, the benchmark of post-hoc calibration.

CalArena (github.com/probkit/CalArena) reads its own calibrators, and those of the dict
`CUSTOM_CALIBRATORS` in `custom_calibrators.py`. In a checkout of it, with this package
installed:

    cp PATH/TO/benchmarks/calarena.py custom_calibrators.py
    python run_benchmark.py --benchmark tabrepo-binary --calibrator um-Spline

An entry whose examples determine no map, for example because scores are separable for
`um-Platt`, leaves the forecasts as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um

_CLASSES = (
    *("TemperatureScaling", "VectorScaling", "MatrixScaling", "PlattScaling"),
    *("BetaCalibration", "QuadraticCalibration", "SplineCalibration"),
    *("IsotonicCalibration", "VennAbersCalibration", "HistogramBinning"),
)


class Entry:
    """A map with the two methods that CalArena calls."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make
        self._map: Any = None

    def fit(self, p_cal: np.ndarray, y_cal: np.ndarray) -> None:
        """Fits the map to probabilities [n, K], or [n] of class 1, and labels [n]."""
        try:
            self._map = self._make().fit(y_cal, probabilities=_normalised(p_cal))
        except ValueError:
            self._map = None

    def predict_proba(self, p_test: np.ndarray) -> np.ndarray:
        """Returns calibrated probabilities [n, K]."""
        p = _normalised(p_test)
        q = p if self._map is None else self._map.transform(probabilities=p)
        return q if q.ndim == 2 else np.stack([1 - q, q], axis=1)


def _normalised(p: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities, [n] or [n, K], whose rows sum to 1."""
    p = np.asarray(p, np.float64)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    return p / p.sum(axis=1, keepdims=True) if p.ndim == 2 else p


CUSTOM_CALIBRATORS: dict[str, Callable[[], Entry]] = {
    "um-" + name.removesuffix("Scaling").removesuffix("Calibration"): (
        lambda name=name: Entry(getattr(um, name))
    )
    for name in _CLASSES
}
