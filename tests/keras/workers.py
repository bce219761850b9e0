"""The processes of a cluster, which `test_workers.py` starts.

    python -m tests.keras.workers mirrored|mirrored-few|coordinator|server SEED

prints its results as JSON in the last line. `TF_CONFIG` tells it its role.
"""

import functools
import json
import os
import socket
import sys

import numpy as np
import tensorflow as tf

import uncertainty_metrics as um

# Two workers share the last batch of 21 examples as 3 and 2.
BATCH, N = 8, 21
ROUNDS = 100


def data(seed):
    """Returns labels and predictions of all kinds, and weights."""
    rng = np.random.default_rng(seed)
    arrays = {
        "classes": rng.integers(0, 3, N),
        "probabilities": rng.dirichlet(np.ones(3), N),
        "outcomes": np.arange(N) % 2,
        "scores": rng.normal(size=N),
        "reals": rng.normal(size=N),
        "samples": rng.normal(size=[N, 5]),
        "forecasts": 0.1 + np.abs(rng.normal(size=[N, 2])),
        "weights": rng.choice([0.5, 1.0, 3.0], N),
    }
    return {name: np.float32(array) for name, array in arrays.items()}


def metrics(few=False):
    """Returns the metrics, with the names of their labels and predictions.

    `few` leaves a metric with bins, a mean, and a metric with a sketch.
    """
    sketch = {"sketch_bits": 6}
    classes = ("classes", "probabilities")
    made = [
        (um.ExpectedCalibrationError(), *classes),
        (um.BrierScore(), *classes),
        (um.AUROC(**sketch), "outcomes", "scores"),
    ]
    if not few:
        made += [
            (um.AdaptiveCalibrationError(num_classes=3, **sketch), *classes),
            (um.BrierDecomposition(num_classes=3), *classes),
            (um.CRPSSamples(), "reals", "samples"),
            (um.regression.IntervalCoverage(), "reals", "forecasts"),
        ]
    return {metric.name: (metric, *names) for metric, *names in made}


def update(made, batch):
    """Gives a batch to all metrics."""
    for metric, labels, predictions in made.values():
        metric.update_state(batch[labels], batch[predictions], batch["weights"])


def values(results):
    """Returns results as lists of numbers."""
    return {
        name: [float(part) for part in tf.nest.flatten(result)]
        for name, result in results.items()
    }


def read(made):
    """Returns the results of all metrics."""
    return {name: metric.result() for name, (metric, *_) in made.items()}


def alone(seed, few=False):
    """Returns the results of one process."""
    made = metrics(few)
    update(made, data(seed))
    return values(read(made))


def dataset(arrays):
    """Returns batches that workers share example by example."""
    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    batches = tf.data.Dataset.from_tensor_slices(arrays).batch(BATCH)
    return batches.with_options(options)


def evaluate(strategy, arrays):
    """Returns the metric of a model that predicts its features."""
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.layers.InputLayer([3]),
                tf.keras.layers.Dense(
                    3, use_bias=False, kernel_initializer="identity", trainable=False
                ),
            ]
        )
        metric = um.ExpectedCalibrationError()
        model.compile("sgd", "mse", weighted_metrics=[metric])
    names = ("probabilities", "classes", "weights")
    batches = dataset(tuple(arrays[name] for name in names))
    return model.evaluate(batches, verbose=0, return_dict=True)[metric.name]


def mirrored(seed, few=False):
    """Runs one of two workers that update in step, and returns its results."""
    ring = tf.distribute.experimental.CommunicationImplementation.RING
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            implementation=ring
        )
    )
    arrays = data(seed)
    with strategy.scope():
        made = metrics(few)
    batches = strategy.experimental_distribute_dataset(dataset(arrays))

    @tf.function(input_signature=[batches.element_spec])  # One trace for all sizes.
    def step(batch):
        strategy.run(lambda batch: update(made, batch), args=(batch,))

    @tf.function
    def inside():
        return strategy.run(lambda: read(made))

    shares = []
    for batch in batches:
        step(batch)
        (local,) = strategy.experimental_local_results(batch["weights"])
        shares.append(len(local))
    found = {
        "replicas": strategy.num_replicas_in_sync,
        "shares": shares,
        "outside": values(read(made)),
        "inside": values(inside()),
    }
    # Keras 3 cannot evaluate under this strategy, whatever the metric.
    if not hasattr(tf.keras, "ops"):
        found["evaluate"] = evaluate(strategy, arrays)
    # Wait until the other worker has finished too.
    strategy.reduce("sum", tf.constant(1.0), axis=None)
    return found


def free_addresses(count):
    """Returns addresses at which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return [f"127.0.0.1:{port}" for port in ports]


def server():
    """Serves a coordinator until it is killed."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
    ).join()


def coordinator(seed):
    """Schedules updates on two workers, which do not wait for each other."""
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    queue = tf.distribute.coordinator.ClusterCoordinator(strategy)
    arrays = data(seed)
    with strategy.scope():
        made = metrics()
        plain = um.ExpectedCalibrationError()

    def replica(batch):
        update(made, batch)
        plain.update_state(batch["classes"], batch["probabilities"])

    @tf.function
    def step(batch):
        strategy.run(replica, args=(batch,))

    batches = list(dataset(arrays))
    for _ in range(ROUNDS):
        for batch in batches:
            queue.schedule(step, args=(batch,))
    queue.join()
    merged = metrics()
    for name, (metric, *_) in merged.items():
        metric.merge_state([made[name][0]] * 2)
    counts = tf.reduce_sum(made["expected_calibration_error"][0].counts)
    return {
        "outside": values(read(made)),
        "merged": values(read(merged)),
        "weight": float(counts),
        "examples": float(tf.reduce_sum(plain.counts)),
    }


if __name__ == "__main__":
    part, seed = sys.argv[1:]
    if part == "server":
        server()
    parts = {
        "mirrored": mirrored,
        "mirrored-few": functools.partial(mirrored, few=True),
        "coordinator": coordinator,
    }
    found = parts[part](int(seed))
    print(json.dumps(found), flush=True)
    os._exit(0)  # A normal exit would wait for threads.
