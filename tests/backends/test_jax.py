"""`uncertainty_metrics.jax`: functions that trace, with nothing to set."""

import os
import subprocess
import sys

import pytest

from tests.backends.conftest import BACKEND, page

if BACKEND != "jax":
    pytest.skip("needs KERAS_BACKEND=jax", allow_module_level=True)

TRACED = """
import os, sys
assert "KERAS_BACKEND" not in os.environ
import jax, numpy as np
import jax.numpy as jnp
import uncertainty_metrics
import uncertainty_metrics.jax as um
assert "KERAS_BACKEND" not in os.environ
assert not {"tensorflow", "torch"} & set(sys.modules)
key = jax.random.key(0)
logits = jax.random.normal(key, (3, 20, 4))
labels = jax.random.randint(key, (3, 20), 0, 4)
for name in ("ece", "brier_score", "negative_log_likelihood", "aurc"):
    function = getattr(um, name)
    of_logits = lambda y, z: function(y, logits=z)
    found = jax.jit(jax.vmap(of_logits))(labels, logits)
    exact = [getattr(um.numpy, name)(y, logits=z) for y, z in zip(labels, logits)]
    np.testing.assert_allclose(found, exact, rtol=1e-5)
    half = logits[0].astype(jnp.bfloat16)
    found = jax.jit(of_logits)(labels[0], half)
    exact = getattr(um.numpy, name)(labels[0], logits=half)
    np.testing.assert_allclose(found, exact, rtol=1e-5)
loss = lambda z, y: um.brier_score(y, logits=z)
gradients = jax.jit(jax.vmap(jax.grad(loss)))(logits, labels)
p = jax.nn.softmax(logits)
off = p - jax.nn.one_hot(labels, 4)
exact = 2 * p * (off - (off * p).sum(-1, keepdims=True)) / 20
np.testing.assert_allclose(gradients, exact, atol=1e-6)
for name in ("ece", "smooth_calibration_error", "averaged_two_bin_calibration_error"):
    error = lambda z: getattr(um, name)(labels[0], logits=z)
    assert (jax.grad(error)(logits[0]) == 0).all(), name
assert um.ExpectedCalibrationError().result() == 0
assert set(um.__all__) == set(dir(um)) == set(uncertainty_metrics.__all__)
try:
    um.ECE
except AttributeError as error:
    start = "module 'uncertainty_metrics.jax' has no attribute 'ECE': here it is "
    assert str(error).startswith(start + "called `ece`")
assert um.regression.ence is uncertainty_metrics.regression.ence
"""

REFUSED = """
import keras
keras.config.backend = lambda: "torch"  # No other backend is installed here.
try:
    import uncertainty_metrics.jax
except ImportError as error:
    print(error)
"""


PAGE, PRINTED = page("jax")


@pytest.mark.parametrize(
    "code", [TRACED, REFUSED, PAGE], ids=["traced", "refused", "page"]
)
def test_in_a_process_of_its_own(code):
    paths = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    if code != REFUSED:
        del environment["KERAS_BACKEND"]
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment,
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    ).stdout
    if code == REFUSED:
        assert "Keras runs on torch" in said
        assert "Import `uncertainty_metrics.jax` before" in said
    if code == PAGE:
        assert said == PRINTED
