"""How often a calibrated model is inside the bands and error bars of a reliability
diagram, if its examples come in clusters.

The data are those of `studies.cluster_coverage`, without an error. `python -m
studies.cluster_coverage_pictures` prints the share of bins whose error bar holds the
mean forecast, of bins whose accuracy is in the consistency band, and of scores between
0.5 and 0.95 at which the diagonal is in the band of "spline", and the curves of
"smooth" and "isotonic" are in their consistency bands. The level is 95%. `--without`
leaves the clusters out.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator

import numpy as np

from studies import cluster_coverage
from uncertainty_metrics._arguments import ClassifierData
from uncertainty_metrics.visualization import reliability_curves, score_curves

_LEVEL = 0.95


def _options(**chosen: object) -> reliability_curves.CurveOptions:
    options: dict[str, object] = {
        "num_bins": 10,
        "binning_scheme": "even",
        "class_conditional": False,
        "y_axis": "accuracy",
        "threshold": 0.0,
        "datapoints_per_bin": None,
        "error_bars": None,
        "consistency_band": None,
        "seed": None,
        "positive_class": True,
    }
    return reliability_curves.CurveOptions(**{**options, **chosen})  # type: ignore


def inside(data: ClassifierData, rng: np.random.Generator) -> list[float]:
    """Returns the shares of a data set, in the order of the table."""
    both = {"error_bars": _LEVEL, "consistency_band": _LEVEL, "seed": rng}
    curve = reliability_curves.computed(data, _options(**both))
    bars, band = curve.error_bars, curve.consistency_band
    assert bars is not None
    assert band is not None
    found = [
        (bars.lower <= curve.confidences) & (curve.confidences <= bars.upper),
        (band.lower - 1e-9 <= curve.accuracies)
        & (curve.accuracies <= band.upper + 1e-9),
    ]
    shares = [float(each[curve.counts > 0].mean()) for each in found]
    (spline,) = score_curves.score_curves("spline", data, _options())
    assert spline.interval is not None
    ends = spline.interval
    held = (ends.lower <= spline.scores) & (spline.scores <= ends.upper)
    shares.append(float(held.mean()))
    for method in ("smooth", "isotonic"):
        options = _options(consistency_band=_LEVEL, seed=rng)
        (drawn,) = score_curves.score_curves(method, data, options)  # type: ignore
        assert drawn.band is not None
        at = np.interp(drawn.band.scores, drawn.scores, drawn.frequencies)
        held = (drawn.band.lower - 1e-9 <= at) & (at <= drawn.band.upper + 1e-9)
        shares.append(float(held.mean()))
    return shares


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    yield f"{options.data_sets} data sets a row."
    yield ""
    yield (
        "| clusters | sizes | correlation | scores | bars | band | spline | smooth "
        "| isotonic |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(options.seed)
    for number, unequal, correlation, shared in itertools.product(
        options.clusters, (False, True), options.correlations, (True, False)
    ):
        found = []
        for _ in range(options.data_sets):
            outcomes, scores, ids = cluster_coverage.data_set(
                rng, number, unequal, correlation, shared, 0.0
            )
            clusters = None if options.without else ids
            data = ClassifierData(
                labels=outcomes.astype(int), probabilities=scores, clusters=clusters
            )
            found.append(inside(data, rng))
        shares = [f"{share:.1%}" for share in np.mean(found, axis=0)]
        yield (
            f"| {number} | {'1 to 50' if unequal else '10'} | {correlation:g} "
            f"| {'shared' if shared else 'own'} | {' | '.join(shares)} |"
        )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    with warnings.catch_warnings():  # Of few clusters.
        warnings.simplefilter("ignore")
        for row in rows(parser.parse_args()):
            print(row, flush=True)


if __name__ == "__main__":
    main()
