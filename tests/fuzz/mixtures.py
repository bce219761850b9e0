"""`crps_distribution` of mixtures, against an integral between the quantiles."""

from __future__ import annotations

import numpy as np
import tensorflow_probability as tfp

import uncertainty_metrics as um
from tests.distributions import FROZEN, named, reference
from tests.fuzz.outcomes import as_text, call

tfd = tfp.distributions

_FAMILIES = ("Normal", "Laplace", "StudentT", "Uniform", "Gamma", "LogNormal")
NAMES = (*_FAMILIES, "Mixture")


def _parameters(rng, name, dtype):
    """Returns parameters for TFP in float64, which `dtype` holds exactly."""
    if name == "LogNormal":
        loc, scale = rng.normal(), rng.choice([0.05, 0.3, 1.0])
    else:
        loc = rng.choice([0.0, 1.0, 10.0, 30.0, -100.0]) + rng.normal()
        scale = 10 ** rng.uniform(-2, 1)
    made = {
        "StudentT": (rng.choice([1.5, 2, 4, 30]), loc, scale),
        "Uniform": (loc, loc + scale),
        "Gamma": (rng.choice([0.5, 1.0, 3.5, 20.0]), 1 / scale),
    }.get(name, (loc, scale))
    return np.array(made, dtype).astype(np.float64)


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
    components = [FROZEN[n](*p) for n, p in zip(names, parameters, strict=True)]
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
        columns = zip(*parameters, strict=True)
        mixture = tfd.MixtureSameFamily(chosen, named(name, columns, dtype))
    else:
        made = [named(n, p, dtype) for n, p in zip(names, parameters, strict=True)]
        mixture = tfd.Mixture(chosen, made)
    expected, distance = (
        np.array(reference(components, labels, weights, power=power))
        for power in (2, 1)
    )
    done = call(lambda: um.crps_distribution(labels.astype(dtype), mixture), {})
    what = f"weights {weights.tolist()} of {[*map(str, names)]} {parameters}, {labels=}"
    if done.error is not None:
        return f"{as_text(done)} for {expected} of {dtype.__name__}, {what}"
    tolerance = 1e-5 * expected if dtype == np.float64 else 1e-4 * distance
    if not np.all(np.abs(done.values - expected) <= tolerance):
        return f"{done.values} for {expected} of {dtype.__name__}, {what}"
    return None
