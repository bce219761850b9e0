"""Score sketches: an update adds its examples, or raises as a function does."""

from __future__ import annotations

import copy

import numpy as np

import uncertainty_metrics.numpy as um
from tests import makers
from tests.fuzz.mutations import mutated
from tests.fuzz.outcomes import as_text, call, extent, fault, frozen

_DECISIONS = {"max_prob": True, "class_conditional": False}
SKETCHES = {
    "decisions": _DECISIONS,
    "by_decision": _DECISIONS | {"class_conditional": True},
    "positive": _DECISIONS | {"positive_class": True},
    "pooled": _DECISIONS | {"max_prob": False},
    "classes": {"max_prob": False, "class_conditional": True},
}
# Errors that only sketches raise: another number of classes, and no examples.
_OF_SKETCHES = (" classes, as in the first batch", "There are no examples")
BINS = {"num_bins": 5, "binning_scheme": "even", "norm": "l1"}
_ARGUMENTS = ("labels", "probabilities", "sample_weight")


def check(name: str, seed: int) -> str | None:
    """Updates a sketch with arguments that may be bad.

    An update that raises must not change the sketch. Where each score has a cell of its
    own, the answer must be that of the function.
    """
    rng = np.random.default_rng([seed, *name.encode()])
    options = SKETCHES[name]
    good = makers.lattice(rng, 8, 2 if name == "positive" else 3)
    arguments = dict(zip(_ARGUMENTS, vars(good).values(), strict=True))
    sketch = um.ScoreSketch(**options)
    sketch.update(**arguments)
    before = copy.deepcopy(sketch)
    place = str(rng.choice(_ARGUMENTS))
    arguments[place] = mutated(rng, arguments[place])
    snapshot = frozen(arguments)

    def answer():
        alone = um.ScoreSketch(**options)
        alone.update(**arguments)
        sketch.update(**arguments)
        if sketch != before + alone:
            raise AssertionError("a sum of sketches is not the sketch of the sum")
        return alone.general_calibration_error(**BINS)

    def expected():
        return um.general_calibration_error(**arguments, **options, **BINS)

    done, twin = call(answer, {}), call(expected, {})
    if frozen(arguments) != snapshot:
        return "an argument was changed"
    if done.error is not None:
        if sketch != before:
            return f"the sketch changed: {done.error}"
        if any(word in str(done.error) for word in _OF_SKETCHES):
            return None
        complaint = fault(_ARGUMENTS, done.error)
        if complaint:
            return f"{complaint} of {arguments!r}"
    smallest, _ = extent(arguments)
    if smallest < 1e-300:  # Denormal weights are rounded.
        return None
    same = (done.error is None) == (twin.error is None)
    if same and (
        done.error is not None
        or place == "probabilities"
        or np.allclose(done.values, twin.values, 1e-12, 1e-12)
    ):
        return None
    return f"function: {as_text(twin)}; sketch: {as_text(done)} of {arguments!r}"
