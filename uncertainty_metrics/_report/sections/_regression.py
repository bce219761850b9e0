"""The sections of the report on a regression: are the error bars right?"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import uncertainty_metrics.numpy as um
from uncertainty_metrics._report.data._normal_forecasts import (
    forecasts_of,
    normal_arguments,
)
from uncertainty_metrics._report.data._predictions import Regression
from uncertainty_metrics._report.sections._bootstrap_intervals import (
    INTERVAL_LEVEL,
    TOO_HIGH,
    options,
    row,
    section,
)
from uncertainty_metrics._report.sections._p_values import (
    against_constant,
    p_value,
    rows,
    verdict_on_chance,
)
from uncertainty_metrics._results import ConfidenceInterval
from uncertainty_metrics.numpy import _wilson
from uncertainty_metrics.numpy.regression import _forecasts, _levels

_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
# Draws of the error of a calibrated model; the same in every report.
_NUM_DRAWS, _SEED = 2000, 0
# n uniform values exceed this Kolmogorov distance / sqrt(n) with probability 5%.
_KOLMOGOROV = 1.358


def _check_size(forecasts: _forecasts.Forecasts) -> None:
    """Raises ValueError if numbers are too large or too small for the intervals.

    The intervals need sixth powers of these numbers.
    """
    stddevs = np.sqrt(forecasts.variances)
    sizes = (forecasts.errors, stddevs, 1 / stddevs, forecasts.errors / stddevs)
    if not all(np.abs(size).max() <= 1e50 for size in sizes):
        raise ValueError(
            "errors, standard deviations, inverse standard deviations, and errors "
            "divided by standard deviations must be at most 1e50. Received: errors up "
            f"to {np.abs(sizes[0]).max():.4g}, "
            f"standard deviations in [{stddevs.min():.4g}, {stddevs.max():.4g}]"
        )


def sections(model: Regression, num_bins: int) -> dict[str, Any]:
    """Returns the sections of the report on one model."""
    forecasts = forecasts_of(model)
    _check_size(forecasts)
    data = normal_arguments(forecasts)
    weights, size = data["sample_weight"], len(forecasts.errors)
    sample_size, total = float(size), float(size)
    if weights is not None:
        sample_size = _wilson.effective_size(weights)
        total = float(forecasts.weights.sum())
    scores = _scores(forecasts, num_bins)
    values = _values(scores, weights, num_bins)
    constant = _against_constant(model, forecasts, scores[:, 1])
    bounds = _intervals(um.bootstrap, forecasts, num_bins)
    by_chance = _temperature_by_chance(sample_size)
    direction, verdict = _verdict_of_temperature(
        values["temperature"], by_chance, bounds.get("temperature")
    )
    return {
        "data": {
            "examples": int(np.size(model.target)),
            "predictions": model.kind,
            "weighted": weights is not None,
            "total_weight": total,
            "effective_examples": sample_size,
        },
        "calibration": _calibration(data, verdict, sample_size, num_bins),
        "pit": _pit(data, sample_size, num_bins),
        "scoring_rules": _scoring_rules(values, constant),
        "sharpness": _sharpness(data),
        "intervals": section(bounds, size, f"{TOO_HIGH}."),
        "recalibration": {
            "direction": direction,
            **_recalibration(data, values["temperature"], by_chance),
        },
    }


def _calibration(
    data: dict[str, Any], verdict: str, sample_size: float, num_bins: int
) -> dict[str, Any]:
    curve = um.regression.compute_calibration_curve(**data, n_bins=num_bins)
    error = um.regression.expected_calibration_error(**data, n_bins=num_bins)
    draws = _drawn_errors(
        tuple(curve["expected_coverage"].tolist()), max(int(sample_size), 1)
    )
    chance, p = float(np.quantile(draws, 0.95)), p_value(draws, error)
    coverages = np.asarray(um.regression.interval_coverage(**data, level=_LEVELS))
    widths = np.asarray(
        um.regression.interval_width(
            data["uncertainties"], _LEVELS, sample_weight=data["sample_weight"]
        )
    )
    coverage_verdict = (
        f"Coverage and level of the intervals differ by {100 * error:.1f} percentage "
        "points on average. By chance alone a calibrated model would show up to about "
        f"{100 * chance:.1f} on such data; {verdict_on_chance(p)}."
    )
    return {
        "verdict": f"{verdict} {coverage_verdict}",
        "metrics": rows(
            {
                "ece": (error, f"Mean of |coverage - level| over {num_bins} levels."),
                "ence": (
                    um.regression.ence(**data, n_bins=num_bins),
                    "Compares predicted variances with squared errors; 0 is best.",
                ),
            }
        ),
        "ece_by_chance": chance,
        "p_value": p,
        "levels": [
            {"level": level, "coverage": float(coverage), "width": float(width)}
            for level, coverage, width in zip(_LEVELS, coverages, widths, strict=True)
        ],
        "curve": {
            "levels": curve["expected_coverage"].tolist(),
            "coverages": curve["observed_coverage"].tolist(),
        },
    }


@functools.lru_cache(maxsize=2)
def _drawn_errors(levels: tuple[float, ...], size: int) -> np.ndarray:
    """Draws the mean |coverage - level| of a calibrated model."""
    edges = np.array([0.0, *levels, 1.0])
    rng = np.random.default_rng(_SEED)
    counts = rng.multinomial(size, np.diff(edges), size=_NUM_DRAWS)
    coverages = np.cumsum(counts[:, :-1], axis=1) / size
    return np.abs(coverages - np.array(levels)).mean(axis=1)


def _pit(data: dict[str, Any], sample_size: float, num_bins: int) -> dict[str, Any]:
    *triple, weights = data.values()
    pit = um.regression.probability_integral_transform(*triple)
    histogram = um.regression.pit_histogram(pit, num_bins, sample_weight=weights)
    mean = _mean(pit, weights)
    variance = _mean((pit - mean) ** 2, weights)
    distance = _distance_from_uniform(pit, weights)
    chance = min(_KOLMOGOROV / sample_size**0.5, 1.0)
    uniform = round(distance, 3) <= round(chance, 3)  # Rounded as in the report.
    verdict = (
        f"The PIT values {'may be' if uniform else 'are not'} uniform, as the PIT "
        "values of calibrated forecasts are: their largest distance from the uniform "
        f"distribution is {distance:.3f}; chance alone gives up to about {chance:.3f}."
    )
    if not uniform:
        # Two standard errors of the mean and of the variance of uniform values.
        if abs(mean - 0.5) > 2 * (1 / 12 / sample_size) ** 0.5:
            side = "high" if mean < 0.5 else "low"
            verdict += f" The predictions tend to be too {side}."
        if abs(variance - 1 / 12) > 2 * (1 / 180 / sample_size) ** 0.5:
            shape = "narrow" if variance > 1 / 12 else "wide"
            verdict += f" The predicted distributions tend to be too {shape}."
    return {
        "verdict": verdict,
        "metrics": rows(
            {
                "mean": (mean, "0.5 if calibrated; lower if predictions are too high."),
                "variance": (
                    variance,
                    "0.0833 if calibrated; higher if intervals are too narrow.",
                ),
                "distance": (distance, "Kolmogorov's, from the uniform distribution."),
            }
        ),
        "distance_by_chance": chance,
        "histogram": {
            name: values.tolist() for name, values in histogram._asdict().items()
        },
    }


def _distance_from_uniform(pit: np.ndarray, weights: np.ndarray | None) -> float:
    order = np.argsort(pit)
    values = pit[order]
    mass = np.ones(len(pit)) if weights is None else weights[order]
    cdf = np.append(0.0, np.cumsum(mass) / mass.sum())
    return float(max(np.max(cdf[1:] - values), np.max(values - cdf[:-1])))


def _mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    return float(np.average(values, weights=weights))


def _scores(forecasts: _forecasts.Forecasts, num_bins: int) -> np.ndarray:
    """Returns the numbers from which `_values` computes the metrics, [n, 5].

    The last column is the index of the first level whose interval holds the target.
    """
    errors, variances, _ = forecasts
    z = forecasts.z
    limits = _levels.normal_limits(_levels.curve_levels(num_bins))
    columns = (
        errors**2,
        um.crps_normal_score(errors, np.zeros_like(errors), np.sqrt(variances)),
        0.5 * (np.log(2 * np.pi * variances) + z**2),
        z**2,
        np.searchsorted(limits, np.abs(z)),
    )
    return np.stack(columns, axis=-1)


def _values(
    scores: np.ndarray, weights: np.ndarray | None, num_bins: int
) -> dict[str, float]:
    """Returns all metrics that have intervals, in one pass for each resample."""
    squares, crps, nll, temperature, _ = np.average(scores, axis=0, weights=weights)
    levels = _levels.curve_levels(num_bins)
    counts = np.bincount(scores[:, -1].astype(np.intp), weights, num_bins + 1)
    coverages = np.cumsum(counts)[:-1] / counts.sum()
    return {
        "rmse": float(squares**0.5),
        "crps": float(crps),
        "negative_log_likelihood": float(nll),
        "ece": float(np.abs(coverages - levels).mean()),
        "temperature": float(temperature),
    }


def _intervals(
    bootstrap: Callable[..., ConfidenceInterval],
    forecasts: _forecasts.Forecasts,
    num_bins: int,
) -> dict[str, dict[str, Any]]:
    """Returns the interval of each metric; no interval if there is one example."""
    size = len(forecasts.errors)
    if size == 1:
        return {}

    def metrics(scores: np.ndarray, sample_weight: np.ndarray | None) -> Any:
        return _values(scores, sample_weight, num_bins)

    with warnings.catch_warnings():
        # The interval of the ECE may miss the ECE of a calibrated model: the report
        # says so itself.
        warnings.filterwarnings("ignore", "The estimate is not in", UserWarning)
        ends = bootstrap(
            metrics,
            scores=_scores(forecasts, num_bins),
            sample_weight=normal_arguments(forecasts)["sample_weight"],
            **options(size),
        )
    return {name: row(*(end[name] for end in ends)) for name in ends.estimate}


def differences(
    first: Regression, second: Regression, num_bins: int
) -> dict[str, dict[str, Any]]:
    """Returns the intervals of the differences between two models on the same examples.

    Each difference is a metric of the first model less this metric of the second.
    """
    of_second = {"scores": _scores(forecasts_of(second), num_bins)}

    def difference(metric: Any, scores: np.ndarray, **others: Any) -> Any:
        return um.bootstrap_difference(metric, {"scores": scores}, of_second, **others)

    return _intervals(difference, forecasts_of(first), num_bins)


def _against_constant(
    model: Regression, forecasts: _forecasts.Forecasts, crps: np.ndarray
) -> dict[str, float]:
    """Compares the model with a constant forecast.

    The constant forecast is Normal, with the mean and the standard deviation of the
    targets.
    """
    weights = normal_arguments(forecasts)["sample_weight"]
    (targets,), _ = _forecasts.included(
        {"targets": model.target}, sample_weight=model.sample_weight
    )
    targets = targets.astype(np.float64)
    mean = _mean(targets, weights)
    stddev = _mean((targets - mean) ** 2, weights) ** 0.5
    scores = um.crps_normal_score(targets, mean, stddev)
    return {"stddev": stddev, **against_constant(crps, scores, weights)}


def _scoring_rules(
    values: dict[str, float], constant: dict[str, float]
) -> dict[str, Any]:
    meanings = {
        "rmse": "Root mean squared error of the means.",
        "crps": "Like absolute error, for the whole distribution.",
        "negative_log_likelihood": "In nats, of the density, so it may be negative.",
    }
    return {
        "metrics": rows(
            {name: (values[name], meaning) for name, meaning in meanings.items()}
        ),
        "constant": constant,
    }


def _likelihood(data: dict[str, Any], factor: float) -> float:
    """Returns the negative log-likelihood with variances times a factor."""
    return um.regression.negative_log_likelihood(
        data["predictions"],
        factor * data["uncertainties"],
        data["targets"],
        sample_weight=data["sample_weight"],
    )


def _sharpness(data: dict[str, Any]) -> dict[str, Any]:
    variances, weights = data["uncertainties"], data["sample_weight"]
    sharpness = um.regression.sharpness(variances, sample_weight=weights)
    error = _mean(np.abs(data["targets"]), weights)
    lowest, highest = np.sqrt([variances.min(), variances.max()])
    metrics = {
        "sharpness": (sharpness, "Mean predicted standard deviation."),
        "lowest_stddev": (lowest, "Smallest predicted standard deviation."),
        "highest_stddev": (highest, "Largest predicted standard deviation."),
        "mean_absolute_error": (
            error,
            "Of the means; 0.798 times the sharpness if calibrated.",
        ),
    }
    if highest <= lowest * (1 + 1e-6):
        verdict = "All examples have the same predicted standard deviation."
    else:
        verdict = (
            f"The predicted standard deviations are {sharpness:.4g} on average, from "
            f"{lowest:.4g} to {highest:.4g}. Small standard deviations are good only "
            "if they are right: compare the sharpness of calibrated models."
        )
    return {"verdict": verdict, "metrics": rows(metrics)}


def _temperature_by_chance(sample_size: float) -> tuple[float, float]:
    """Returns the range by chance of the temperature T of calibrated Normal forecasts.

    n T is chi-squared with n degrees of freedom.
    """
    from scipy import special

    half, tail = sample_size / 2, (1 - INTERVAL_LEVEL) / 2
    low, high = special.gammaincinv(half, [tail, 1 - tail]) / half
    return float(low), float(high)


def _recalibration(
    data: dict[str, Any], temperature: float, by_chance: tuple[float, float]
) -> dict[str, Any]:
    """Returns the section on the one factor that makes the variances right on average.

    Args:
      data: arguments of the metrics.
      temperature: the factor.
      by_chance: the range of the factor for a calibrated model.
    """
    metrics = {
        "temperature": (temperature, "Best factor of the variances, on these data."),
        "stddev_factor": (
            temperature**0.5,
            "Its square root: the factor of the error bars.",
        ),
    }
    if temperature > 0:
        metrics["recalibrated_nll"] = (
            _likelihood(data, temperature),
            "Negative log-likelihood with this factor, same data.",
        )
    return {
        "verdict": "One factor for all variances, the temperature, corrects error bars "
        "that are too wide or too narrow everywhere alike. Fit the temperature with "
        "um.regression.TemperatureScaling, on data that were used neither to train nor "
        "to test the model.",
        "metrics": rows(metrics),
        "temperature_by_chance": list(by_chance),
    }


def _verdict_of_temperature(
    temperature: float, by_chance: tuple[float, float], interval: dict[str, Any] | None
) -> tuple[str, str]:
    """Returns in which direction the error bars are clearly wrong, and a sentence.

    The direction is "over" for overconfident, "under" for underconfident, and "" if the
    data do not show either.
    """
    factor, least, most = (f"{t**0.5:.3g}" for t in (temperature, *by_chance))
    # Errors with heavy tails vary more than chi-squared allows; the bootstrap does not
    # assume Normal errors, so both must agree.
    holds_one = interval is None or interval["low"] <= 1 <= interval["high"]
    # Rounded as in the report.
    if float(least) <= float(factor) <= float(most) or holds_one:
        return "", (
            "Neither clearly overconfident nor underconfident: the errors are "
            f"{factor} times as large as the predicted standard deviations say; chance "
            f"alone gives {least} to {most} times if the errors are Normal."
        )
    side = "over" if temperature > 1 else "under"
    return side, (
        f"{side.capitalize()}confident: the errors are {factor} times as large as the "
        f"predicted standard deviations say; chance alone gives {least} to {most} "
        "times."
    )
