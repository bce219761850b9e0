"""Axes for the tests of plots."""

import pytest


@pytest.fixture
def close_figures():
    """Closes the figures of pyplot after a test."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def ax():
    """Axes that pyplot does not know."""
    from matplotlib import figure

    return figure.Figure().subplots()
