"""The variables of TensorFlow: additions to some places, and replicas of a strategy.

The questions here may be asked of the variables of other backends, too; the answer is
no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncertainty_metrics.ops import IS_TENSORFLOW, _execution

if TYPE_CHECKING or IS_TENSORFLOW:
    import tensorflow as tf


def is_variable(value: Any) -> bool:
    """Returns whether the value is a variable of TensorFlow."""
    return IS_TENSORFLOW and isinstance(value, tf.Variable)


def is_plain(value: Any) -> bool:
    """Returns whether the value is a variable of TensorFlow on this machine alone."""
    return is_variable(value) and not isinstance(value, tf.distribute.DistributedValues)


def add_to_places(variable: Any, places: tf.Tensor, values: tf.Tensor) -> None:
    """Adds values [n, ...] to the rows `places` [n] of a plain variable."""
    variable.scatter_add(tf.IndexedSlices(values, places))


def is_replica() -> bool:
    """Returns whether this code runs on one replica of a strategy."""
    return _execution.has_strategy() and not is_coordinator()


def is_coordinator() -> bool:
    """Returns whether this code runs for all replicas of a strategy at once."""
    return IS_TENSORFLOW and tf.distribute.in_cross_replica_context()


def add_on_one_replica(variable: Any, value: tf.Tensor) -> None:
    """Adds a value on one of the replicas; `is_coordinator()` must be true."""

    def add() -> None:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        variable.assign_add(tf.where(replica == 0, value, tf.zeros_like(value)))

    tf.distribute.get_strategy().run(add)


def sum_over_replicas(variable: Any) -> tf.Tensor:
    """Returns the sum of a variable over all replicas; `is_replica()` must be true."""
    return tf.distribute.get_replica_context().merge_call(
        lambda strategy: tf.identity(tf.convert_to_tensor(variable))
    )
