"""Clusters of processes give the numbers of one, over real connections."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
import tensorflow as tf

from tests.keras import workers

pytestmark = [pytest.mark.keras, pytest.mark.thorough]
exhaustive = pytest.mark.exhaustive
ROOT = pathlib.Path(__file__).absolute().parents[2]
SECONDS = 300  # A quiet machine needs 20.


@pytest.fixture
def run(seed, tmp_path):
    """Starts the tasks of a cluster, and returns the results of all but servers."""
    servers, tasks = [], []

    def begin(cluster, part, job, index):
        task = {"cluster": cluster, "task": {"type": job, "index": index}}
        file = tmp_path / f"{job}{index}"
        with file.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.keras.workers", part, str(seed)],
                cwd=ROOT,
                env={
                    **os.environ,
                    "TF_CONFIG": json.dumps(task),
                    "CUDA_VISIBLE_DEVICES": "",
                },
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        (servers if part == "server" else tasks).append(process)
        return file

    def start(**parts):
        addresses = workers.free_addresses(len(parts))
        cluster = {}
        for name in parts:
            cluster.setdefault(name[:-1], []).append(addresses.pop())
        files = {
            name: begin(cluster, part, name[:-1], int(name[-1]))
            for name, part in parts.items()
        }
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            codes = [task.poll() for task in tasks]
            lost = any(codes) or any(server.poll() is not None for server in servers)
            # When a task fails, the others would wait for it.
            if lost or None not in codes:
                break
            time.sleep(0.1)
        outputs = {name: file.read_text() for name, file in files.items()}
        assert codes == [0] * len(tasks), f"{codes}\n" + "\n\n".join(
            f"{name}:\n{output}" for name, output in outputs.items()
        )
        return [
            json.loads(outputs[name].splitlines()[-1])
            for name, part in parts.items()
            if part != "server"
        ]

    yield start
    for process in servers + tasks:
        process.kill()
        process.wait()


@pytest.fixture
def seed(request):
    return request.config.getoption("--seed")


def assert_equal(found, expected, rel=2e-6):
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=rel, abs=2e-7), name


@pytest.mark.parametrize(
    "part",
    [
        # `.ci/run` runs few metrics, under tf_keras, which evaluates a model as well.
        pytest.param("mirrored-few", marks=[exhaustive] * hasattr(tf.keras, "ops")),
        pytest.param("mirrored", marks=exhaustive),
    ],
)
def test_workers_in_step_give_the_values_of_one_process(part, run, seed):
    found = run(worker0=part, worker1=part)
    expected = workers.alone(seed, few=part != "mirrored")
    shares = [one["shares"] for one in found]
    assert sorted(shares) == [[4, 4, 2], [4, 4, 3]]
    for one in found:
        assert one["replicas"] == 2
        assert_equal(one["outside"], expected)
        assert_equal(one["inside"], expected)
        if "evaluate" in one:
            (value,) = expected["expected_calibration_error"]
            assert one["evaluate"] == pytest.approx(value, rel=2e-6, abs=2e-7)


@exhaustive
def test_workers_that_do_not_wait_lose_no_update(run, seed):
    """The `assign_add` of Keras 3 itself would lose a quarter of the updates."""
    (found,) = run(
        worker0="server", worker1="server", ps0="server", chief0="coordinator"
    )
    expected = workers.alone(seed)
    assert_equal(found["outside"], expected)
    assert_equal(found["merged"], expected)
    weight = workers.ROUNDS * workers.data(seed)["weights"].sum()
    assert found["weight"] == pytest.approx(weight, rel=1e-7)
    assert found["examples"] == workers.ROUNDS * workers.N
