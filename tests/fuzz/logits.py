"""Huge and masked logits: only their distance from the top of the row counts."""

from __future__ import annotations

import inspect

import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests.fuzz.compiling import KEEPS_FLOAT64, RARELY
from tests.fuzz.functions import in_graph
from tests.fuzz.outcomes import TARGETS, as_text, call

# Functions that read the logits themselves, or are random, are not invariant. The last
# one draws losses in its Row.
_OTHERS = (
    *("knowledge_uncertainty", "bayesian_expected_calibration_error"),
    *("max_logit", "energy", "prediction_rejection_ratio"),
)
NAMES = tuple(
    name
    for name, target in TARGETS.items()
    if name not in _OTHERS and any(p.startswith("logits") for p in target.parameters)
)

_MASK = -1e9
_TOPS = {np.float32: (1e8, -1e8), np.float64: (1e8, 1e30, -1e30, 1e300)}


def _huge(rng, shape, dtype, jumps):
    """Makes logits near a huge number, or ordinary ones of which some are masked."""
    if rng.random() < 0.4 and not (jumps and dtype == np.float32):
        logits = 3 * rng.normal(size=shape)
        masked = rng.random(shape) < 0.4
        masked[..., 0] = False
        return (logits + _MASK * masked).astype(dtype)
    top = dtype(rng.choice(_TOPS[dtype]))
    step = np.spacing(np.abs(top))
    # So many steps that the probability is 0 in either precision, if ranks matter.
    many = 1000 * max(1, 1 / step)
    steps = rng.choice([0, many] if jumps else [0, 1, 2, many], shape)
    steps[..., 0] = 0
    logits = top - steps.astype(dtype) * step
    return np.where(rng.random(shape) < 0.2, np.minimum(logits, 0), logits)


def _reduced(logits):
    exact = logits.astype(np.float64)
    return exact - exact.max(axis=-1, keepdims=True)


def _arguments(rng, target, dtype):
    """Makes arguments with logits of at most six classes: no ties on edges of bins."""
    for _ in range(1000):
        made = target.draw(rng, (7,))
        names = [name for name in made if name.startswith("logits")]
        if names and 2 <= made[names[0]].shape[-1] <= 6:
            break
    else:
        raise AssertionError(f"the Row of {target.name} draws no logits")
    for name in names:
        made[name] = _huge(rng, made[name].shape, dtype, target.jumps)
    if "num_bins" in inspect.signature(target.find(um_np)).parameters:
        made["num_bins"] = 7
    return made, names


def check(name: str, seed: int) -> str | None:
    """Compares values with those of the same logits minus the top of each row."""
    target = TARGETS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    dtype = (np.float32, np.float64)[rng.integers(2) if KEEPS_FLOAT64 else 0]
    arguments, names = _arguments(rng, target, dtype)
    reduced = {key: _reduced(arguments[key]) for key in names}
    expected = call(target.find(um_np), {**arguments, **reduced})
    done = {
        "NumPy": call(target.find(um_np), arguments),
        "tensors": call(target.find(um), arguments),
    }
    drawn = rng.random() < 2 / RARELY
    if drawn and expected.error is None and name != "risk_coverage_curve":
        done["graph"] = in_graph(target, arguments)
    shown = {key: arguments[key].tolist() for key in names}
    if expected.error is not None:  # All weights are 0.
        same = all(as_text(ours) == as_text(expected) for ours in done.values())
        return (
            None if same else f"{as_text(expected)} for the top subtracted from {shown}"
        )
    rtol = 1e-9 if dtype == np.float64 else 3e-4
    precise = 2 * target.precision
    if name == "refined_negative_log_likelihood":
        # With gaps of two scales, 1e13 apart, terms of 1e-13 may cancel to 1e-24.
        rtol = max(rtol, 1e-5)
    for room, ours in done.items():
        if ours.error is not None or not np.allclose(
            ours.values, expected.values, rtol, max(rtol, precise), equal_nan=True
        ):
            return f"{room}: {as_text(ours)} for {as_text(expected)} of {shown}"
    return None
