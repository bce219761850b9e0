"""`crps_distribution` of mixtures, against an integral between the quantiles."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special, stats

import uncertainty_metrics as um
from tests.fuzz.outcomes import call, told

tfd = tfp.distributions


def _normal(rng):
    return (), tfd.Normal, stats.norm


def _laplace(rng):
    return (), tfd.Laplace, stats.laplace


def _student(rng):
    return (rng.choice([1.5, 2, 4, 30]),), tfd.StudentT, stats.t


def _uniform(rng):
    return (), lambda loc, scale: tfd.Uniform(loc, loc + scale), stats.uniform


def _gamma(rng):
    return (
        (rng.choice([0.5, 1.0, 3.5, 20.0]),),
        lambda shape, loc, scale: tfd.Gamma(shape, 1 / scale),
        lambda shape, loc, scale: stats.gamma(shape, scale=scale),
    )


def _log_normal(rng):
    return (
        (),
        lambda loc, scale: tfd.LogNormal(loc, scale),
        lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)),
    )


_FAMILIES = {
    "Normal": _normal,
    "Laplace": _laplace,
    "StudentT": _student,
    "Uniform": _uniform,
    "Gamma": _gamma,
    "LogNormal": _log_normal,
}
NAMES = (*_FAMILIES, "Mixture")

_ODDS = np.linspace(-32, 32, 81)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _parameters(rng, name, dtype):
    """Returns location and scale as the precision has them, in float64."""
    if name == "LogNormal":
        loc, scale = rng.normal(), rng.choice([0.05, 0.3, 1.0])
    else:
        loc = rng.choice([0.0, 1.0, 10.0, 30.0, -100.0]) + rng.normal()
        scale = 10 ** rng.uniform(-2, 1)
    return np.array([loc, scale], dtype).astype(np.float64)


def _pieces(components, label):
    """Returns all quantiles, ends of supports and the label, in order."""
    points = [[label]]
    for component in components:
        half = special.expit(_ODDS[_ODDS <= 0])
        points += [component.ppf(half), component.isf(half), component.support()]
    points = np.unique(np.concatenate(points))
    return points[np.isfinite(points)]


def _reference(components, weights, label):
    """Returns the score, and the mean distance to the label."""
    points = _pieces(components, label)
    half = np.diff(points)[:, None] / 2
    z = points[:-1, None] + half * (1 + _NODES)
    below = z < label
    # Of the tail, which is small where it is needed.
    tail = sum(
        w * np.where(below, c.cdf(z), c.sf(z))
        for w, c in zip(weights, components, strict=True)
    )
    return [float(np.sum(half * _WEIGHTS * tail**power)) for power in (2, 1)]


def check(name: str, seed: int) -> str | None:
    """Scores labels in, between and far outside of the components."""
    rng = np.random.default_rng([seed, *name.encode()])
    dtype = (np.float32, np.float64)[rng.integers(2)]
    count = int(rng.integers(2, 5))
    weights = rng.dirichlet(np.full(count, rng.choice([0.5, 5.0])))
    weights = (weights + 1e-3).astype(dtype).astype(np.float64)
    weights /= weights.sum()
    names = [name] * count if name in _FAMILIES else rng.choice([*_FAMILIES], count)
    parameters = [_parameters(rng, family, dtype) for family in names]
    families = [_FAMILIES[family](rng) for family in names]
    extras = [[*extra, *p] for (extra, *_), p in zip(families, parameters, strict=True)]
    components = [f(*p) for (*_, f), p in zip(families, extras, strict=True)]
    centre = [component.median() for component in components]
    labels = [
        centre[0],
        np.mean(centre[:2]),
        components[-1].ppf(rng.uniform(0.01, 0.99)),
        np.max(centre) + 100 * rng.random(),
        np.min(centre) - 100 * rng.random(),
    ]
    labels = np.array(labels, dtype).astype(np.float64)
    chosen = tfd.Categorical(probs=weights.astype(dtype))
    if name in _FAMILIES:
        make = families[0][1]
        extras = [[*families[0][0], *p] for p in parameters]  # One shape for all.
        components = [families[0][2](*p) for p in extras]
        columns = [tf.constant(column, dtype) for column in np.transpose(extras)]
        mixture = tfd.MixtureSameFamily(chosen, make(*columns))
    else:
        made = [
            make(*(tf.constant(value, dtype) for value in p))
            for (_, make, _), p in zip(families, extras, strict=True)
        ]
        mixture = tfd.Mixture(chosen, made)
    expected, distance = np.transpose(
        [_reference(components, weights, label) for label in labels]
    )
    done = call(lambda: um.crps_distribution(labels.astype(dtype), mixture), {})
    what = f"weights {weights.tolist()} of {[*map(str, names)]} {extras}, {labels=}"
    if done.error is not None:
        return f"{told(done)} for {expected} of {dtype.__name__}, {what}"
    tolerance = 1e-5 * expected if dtype == np.float64 else 1e-4 * distance
    if not np.all(np.abs(done.values - expected) <= tolerance):
        return f"{done.values} for {expected} of {dtype.__name__}, {what}"
    return None
