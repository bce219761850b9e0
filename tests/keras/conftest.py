"""Two logical CPUs, so that one machine has two replicas."""

import pytest
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)


@pytest.fixture(scope="session")
def strategy():
    """Returns a strategy of two replicas, which all tests share.

    A second strategy that trains in the same process would fail.
    """
    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert mirrored.num_replicas_in_sync == 2
    return mirrored


def pytest_collection_modifyitems(items):
    """Leaves out under tf_keras the tests marked `tensors`, and those of XLA.

    Keras 3 runs them on the same tensors.
    """
    if hasattr(tf.keras, "ops"):
        return

    def runs(item):
        call = getattr(item, "callspec", None)
        compiles = call is not None and call.params.get("jit_compile")
        return not (compiles or item.get_closest_marker("tensors"))

    items[:] = filter(runs, items)
