"""Two logical CPUs, so that one machine has two replicas."""

import pytest
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)


def pytest_collection_modifyitems(items):
    """Compiles with XLA in one Keras only: an update is the same tensors in both."""
    if hasattr(tf.keras, "ops"):
        return
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and call.params.get("jit_compile"):
            item.add_marker(pytest.mark.skip(reason="compiled under Keras 3"))
