"""Checks `docs/migration.md`: `python benchmarks/migration.py`.

The script computes the numbers of other packages and ours on the same data, and prints
both. Run it with the Python of the peers, and with a Python that has TensorFlow
Probability; it leaves out packages that it cannot import. It fails if numbers differ
that the page calls equal, or if numbers are equal that the page calls different.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def _import_both() -> tuple[Any, Any]:
    """Imports the package of 2020, if installed, and this one, which has its name."""
    name = "uncertainty_metrics"
    here = {str(ROOT), ""}
    path, sys.path[:] = sys.path[:], [p for p in sys.path if p not in here]
    try:
        former = importlib.import_module(f"{name}.numpy")
        if hasattr(former, "bin_statistics"):  # It is this package, installed.
            former = None
    except ImportError:
        former = None
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]
    sys.path[:] = [str(ROOT), *path]
    return former, importlib.import_module(f"{name}.numpy")


FORMER, um = _import_both()


def data(n: int = 2000, classes: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns labels, logits and probabilities of an overconfident classifier."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), rng.integers(0, classes, n)] += 2
    p = np.exp(logits / 1.5)
    cumulative = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
    labels = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    p = np.exp(logits)
    return labels, logits, p / p.sum(axis=1, keepdims=True)


LABELS, LOGITS, PROBABILITIES = data()
POSITIVE = PROBABILITIES[:, 1]
IS_POSITIVE = (LABELS == 1).astype(int)
SAMPLES = np.random.default_rng(1).normal(size=(200, 20))
TARGETS = np.random.default_rng(2).normal(size=200)

# (name of the number, theirs, ours, whether they are equal)
Row = tuple[str, Callable[[], float], Callable[[], float], bool]


def _gce(scheme: str, norm: str, **options: Any) -> float:
    return um.gce(LABELS, PROBABILITIES, scheme, True, False, norm, **options)


def former_rows() -> Iterator[Row]:
    """The package of 2020."""
    if FORMER is None:
        raise ImportError("uncertainty_metrics 0.0.81")
    np.float = float  # noqa: NPY001 - it uses the name that NumPy 1.20 deprecated.
    args = (LABELS, PROBABILITIES)
    yield (
        "ece, 30 bins",
        lambda: FORMER.ece(*args),
        lambda: um.ece(*args, num_bins=30),
        True,
    )
    yield "ece, defaults", lambda: FORMER.ece(*args), lambda: um.ece(*args), False
    yield (
        "sce, 30 bins",
        lambda: FORMER.sce(*args),
        lambda: um.sce(*args, num_bins=30),
        True,
    )
    yield (
        "rmsce, 100 a bin",
        lambda: FORMER.rmsce(*args),
        lambda: um.rmsce(*args, datapoints_per_bin=100),
        False,
    )
    yield (
        "spce is not a root",
        lambda: FORMER.spce(POSITIVE, IS_POSITIVE.astype(float)),
        lambda: um.spce(POSITIVE, IS_POSITIVE),
        False,
    )
    edges = ([0, 1], [[0.5, 0.5], [0.6, 0.4]])
    yield (
        "ece on edges",
        lambda: FORMER.gce(*edges, "even", True, False, "l1", num_bins=2),
        lambda: um.ece(*edges, num_bins=2),
        False,
    )


def torchmetrics_rows() -> Iterator[Row]:
    """Bins of torchmetrics are closed on the left."""
    import torch
    from torchmetrics.functional import classification, regression

    p, y = torch.tensor(PROBABILITIES), torch.tensor(LABELS)
    for norm, ours in (
        ("l1", lambda: um.ece(LABELS, PROBABILITIES)),
        ("l2", lambda: _gce("even", "l2")),
        ("max", lambda: um.mce(LABELS, PROBABILITIES)),
    ):
        yield (
            f"multiclass_calibration_error, {norm}",
            lambda norm=norm: classification.multiclass_calibration_error(
                p, y, num_classes=5, n_bins=15, norm=norm
            ),
            ours,
            True,
        )
    binary = lambda: classification.binary_calibration_error(  # noqa: E731
        torch.tensor(POSITIVE), torch.tensor(IS_POSITIVE), n_bins=15, norm="l1"
    )
    options = {"positive_class": True}
    yield (
        "binary_calibration_error",
        binary,
        lambda: um.ece(IS_POSITIVE, POSITIVE, **options),
        True,
    )
    yield (
        "binary_calibration_error, ece",
        binary,
        lambda: um.ece(IS_POSITIVE, POSITIVE, positive_class=False),
        False,
    )
    if hasattr(regression, "continuous_ranked_probability_score"):
        crps = lambda: regression.continuous_ranked_probability_score(  # noqa: E731
            torch.tensor(SAMPLES), torch.tensor(TARGETS)
        )
        for estimator in ("nrg", "fair"):
            yield (
                f"continuous_ranked_probability_score, {estimator}",
                crps,
                lambda e=estimator: um.crps_score(TARGETS, SAMPLES, estimator=e).mean(),
                estimator == "nrg",
            )


def netcal_rows() -> Iterator[Row]:
    """The ACE of netcal is another number, the plain mean over the bins."""
    from netcal import metrics

    yield (
        "ECE",
        lambda: metrics.ECE(15).measure(PROBABILITIES, LABELS),
        lambda: um.ece(LABELS, PROBABILITIES),
        True,
    )
    yield (
        "MCE",
        lambda: metrics.MCE(15).measure(PROBABILITIES, LABELS),
        lambda: um.mce(LABELS, PROBABILITIES),
        True,
    )
    yield (
        "ECE of two classes",
        lambda: metrics.ECE(15).measure(POSITIVE, IS_POSITIVE),
        lambda: um.ece(IS_POSITIVE, POSITIVE, positive_class=True),
        True,
    )
    columns = np.stack([1 - POSITIVE, POSITIVE], axis=1)
    for positive in (False, True):
        yield (
            f"ECE of two columns, positive_class={positive}",
            lambda: metrics.ECE(15).measure(columns, IS_POSITIVE),
            lambda positive=positive: um.ece(
                IS_POSITIVE, columns, positive_class=positive
            ),
            positive,
        )
    yield (
        "ACE",
        lambda: metrics.ACE(15).measure(PROBABILITIES, LABELS),
        lambda: um.ace(LABELS, PROBABILITIES),
        False,
    )

    def mean_of_bins():
        bins = um.bin_statistics(LABELS, PROBABILITIES)
        in_bin = bins.counts > 0
        return np.mean(np.abs(bins.accuracies - bins.confidences)[in_bin])

    yield (
        "ACE, mean over bins",
        lambda: metrics.ACE(15).measure(PROBABILITIES, LABELS),
        mean_of_bins,
        True,
    )
    means, stddevs = SAMPLES.mean(axis=1), SAMPLES.std(axis=1)

    def mean_of_even_bins():
        edges = np.histogram_bin_edges(stddevs, 10)
        index = np.searchsorted(edges[1:-1], stddevs, side="right")
        ratios = []
        for in_bin in (index == b for b in np.unique(index)):
            squares = np.mean((means - TARGETS)[in_bin] ** 2)
            ratios.append(abs(1 - np.sqrt(squares / np.mean(stddevs[in_bin] ** 2))))
        return np.mean(ratios)

    def ence():
        return metrics.ENCE(10).measure((means, stddevs), TARGETS)

    yield (
        "ENCE",
        ence,
        lambda: um.regression.ence(means, stddevs**2, TARGETS),
        False,
    )
    yield "ENCE, mean over even bins", ence, mean_of_even_bins, True


def scikit_learn_rows() -> Iterator[Row]:
    """For two classes the Brier score of scikit-learn counts only one class."""
    from sklearn import metrics

    yield (
        "brier_score_loss",
        lambda: metrics.brier_score_loss(IS_POSITIVE, POSITIVE),
        lambda: (
            um.brier_score(IS_POSITIVE, probabilities=POSITIVE, zero_based=True) / 2
        ),
        True,
    )
    yield (
        "roc_auc_score",
        lambda: metrics.roc_auc_score(IS_POSITIVE, POSITIVE),
        lambda: um.auroc(IS_POSITIVE, POSITIVE),
        True,
    )


def tfp_rows() -> Iterator[Row]:
    """Bins of TFP are closed on the left; its resolution sums over the wrong axis."""
    import tensorflow as tf
    import tensorflow_probability as tfp

    labels = tf.constant(LABELS, tf.int32)
    logits = tf.constant(LOGITS, tf.float32)
    yield (
        "tfp.stats.expected_calibration_error",
        lambda: tfp.stats.expected_calibration_error(15, logits, labels),
        lambda: um.ece(LABELS, logits=LOGITS),
        True,
    )
    yield (
        "tfp.stats.brier_score",
        lambda: np.mean(tfp.stats.brier_score(labels, logits)),
        lambda: um.brier_score(LABELS, logits=LOGITS),
        True,
    )
    # The wrong axis hardly matters for balanced classes, so these have unequal sizes.
    skewed = np.repeat([0, 1, 2], [80, 15, 5])
    p = np.full((100, 3), [0.8, 0.15, 0.05])
    for i, (part, equal) in enumerate(
        (("uncertainty", True), ("resolution", False), ("reliability", True))
    ):
        yield (
            f"tfp.stats.brier_decomposition, {part}",
            lambda i=i: tfp.stats.brier_decomposition(
                tf.constant(skewed, tf.int32), tf.math.log(tf.constant(p, tf.float32))
            )[i],
            lambda i=i: um.brier_decomposition(skewed, probabilities=p)[i],
            equal,
        )


def torch_uncertainty_rows() -> Iterator[Row]:
    """Its variation ratio counts votes against the class of the mean."""
    import torch
    from torch_uncertainty.metrics.classification import VariationRatio

    # Two of the three members vote against the class of the mean.
    p = np.array([[[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]]])
    for probabilistic, ours, equal in (
        (False, lambda: um.variation_ratio(probabilities=p)[0], False),
        (
            False,
            lambda: 1 - np.mean(p.argmax(axis=2) == p.mean(axis=1).argmax(axis=1)),
            True,
        ),
        (True, lambda: 1 - p.mean(axis=1).max(), True),
    ):
        yield (
            f"VariationRatio(probabilistic={probabilistic})",
            lambda chosen=probabilistic: VariationRatio(probabilistic=chosen)(
                torch.tensor(p)
            ),
            ours,
            equal,
        )


def arviz_rows() -> Iterator[Row]:
    """PSIS-LOO is equal for reff=1; ArviZ's WAIC has a variance with the divisor m."""
    import arviz

    logp = np.random.default_rng(3).normal(-1, 0.3, size=(50, 400))
    data = arviz.from_dict(
        posterior={"mean": np.zeros([4, 100])},
        log_likelihood={"y": logp.T.reshape(4, 100, 50)},
    )
    for reff in (1.0, 0.5):
        yield (
            f"loo, reff={reff}",
            lambda reff=reff: arviz.loo(data, reff=reff).elpd_loo / 50,
            lambda: um.psis_loo(logp).estimate,
            reff == 1,
        )
    log_means = np.log(np.mean(np.exp(logp), axis=1))
    for name, ours in {
        "waic": lambda: um.negative_waic(logp).estimate,
        "waic, divisor m": lambda: np.mean(log_means - logp.var(axis=1)),
    }.items():
        yield (
            name,
            lambda: arviz.waic(data).elpd_waic / 50,
            ours,
            name != "waic",
        )


def main() -> None:
    """Prints all numbers; fails if the page is wrong."""
    wrong = []
    for rows in (
        former_rows,
        torchmetrics_rows,
        netcal_rows,
        torch_uncertainty_rows,
        scikit_learn_rows,
        arviz_rows,
        tfp_rows,
    ):
        try:
            found = list(rows())
        except ImportError as missing:
            print(f"{rows.__name__}: left out, {missing}")
            continue
        for name, theirs, ours, equal in found:
            a, b = float(theirs()), float(ours())
            print(f"{rows.__name__}: {name}: {a:.7f}, ours {b:.7f}")
            if (abs(a - b) <= 2e-6) != equal:
                wrong.append(name)
    if wrong:
        raise SystemExit(f"docs/migration.md is wrong about: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
