"""The calibration curve of risks as it is drawn."""

import numpy as np
import pytest
from scipy import special

from uncertainty_metrics._report.data._predictions import Predictions
from uncertainty_metrics._report.sections import _risk


@pytest.mark.parametrize("weight", [None, 10.0, 0.1])
def test_drawn_groups_have_wilson_intervals_of_the_numbers_of_examples(weight):
    """Equal weights change nothing. Group g of ten has 2 g events of 20."""
    figure = pytest.importorskip("matplotlib.figure")
    labels = np.concatenate([np.arange(20) < 2 * g for g in range(10)]).astype(int)
    p = np.linspace(0.01, 0.99, 200)
    weights = None if weight is None else np.full(200, weight)
    ax = figure.Figure().subplots()
    model = Predictions(
        "", labels, "probabilities", p, sample_weight=weights, event_class=1
    )
    _risk._draw_grouped(ax, model, "black", "o")
    lines = np.array(ax.collections[0].get_segments())
    z, rate = special.ndtri(0.975), np.arange(10) / 10
    middle = (rate + z**2 / 40) / (1 + z**2 / 20)
    half = np.sqrt(rate * (1 - rate) / 20 + z**2 / 1600) * z / (1 + z**2 / 20)
    np.testing.assert_allclose(lines[:, :, 0].T, 2 * [p.reshape(10, 20).mean(axis=1)])
    np.testing.assert_allclose(
        lines[:, :, 1].T, [middle - half, middle + half], atol=1e-9
    )
