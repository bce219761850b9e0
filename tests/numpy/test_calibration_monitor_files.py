"""Files of monitors: a loaded monitor continues, and damaged files are refused."""

import contextlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from matplotlib.figure import Figure

import uncertainty_metrics.numpy as um
from tests.numpy import test_state


def monitor_of(kind, n=600):
    rng = np.random.default_rng(3)
    monitor = um.CalibrationMonitor(0.01, mode="change", positive_class=True)
    p = 0.5 * rng.random(n)  # Two of the bins get no example.
    if kind == "pit":
        monitor.update(pit=p)
    else:
        monitor.update(rng.random(n) < p, p)
    return monitor


def saved(monitor):
    file = io.BytesIO()
    monitor.save(file)
    return file.getvalue()


KINDS = pytest.mark.parametrize("kind", ["outcomes", "pit"])


@KINDS
def test_loaded_monitors_continue_as_if_they_were_not_saved(kind, tmp_path):
    monitor = monitor_of(kind)
    monitor.save(tmp_path / "monitor.npz")
    again = um.CalibrationMonitor.load(tmp_path / "monitor.npz")
    for other in (again, pickle.loads(pickle.dumps(monitor))):
        assert repr(other) == repr(monitor)
        assert saved(other) == saved(monitor)
        assert other.gap_interval() == monitor.gap_interval()
    more = {"pit": [0.9] * 50} if kind == "pit" else {"labels": [1], "probs": [0.1]}
    for one in (monitor, again):
        one.update(**more)
    assert again.log_e_value == monitor.log_e_value
    assert again.alarm == monitor.alarm


def test_a_monitor_is_saved_right_after_its_alarm():
    monitor = um.CalibrationMonitor()
    while monitor.alarm is None:
        monitor.update(labels=[1], probs=[0.1])
    again = um.CalibrationMonitor.load(io.BytesIO(saved(monitor)))
    assert again.alarm == again.num_examples == monitor.alarm


def test_a_monitor_without_examples_is_saved_with_its_options():
    monitor = um.CalibrationMonitor(0.2, mode="change")
    again = um.CalibrationMonitor.load(io.BytesIO(saved(monitor)))
    assert repr(again) == repr(monitor)
    again.update(pit=[0.5])


def test_files_hold_no_array_as_long_as_the_data():
    with np.load(io.BytesIO(saved(monitor_of("outcomes", 50_000)))) as archive:
        sizes = {name: archive[name].size for name in archive.files}
    assert max(sizes.values()) <= 512


@pytest.mark.parametrize("n", [3, 63, 64, 700, 5000, 50_000])
def test_e_values_in_files_are_at_least_fifty_examples_apart(n):
    monitor = monitor_of("outcomes", n)
    with np.load(io.BytesIO(saved(monitor))) as archive:
        path = archive["path"]
    assert 64 * len(path) <= n
    again = um.CalibrationMonitor.load(io.BytesIO(saved(monitor)))
    numbers, values = again._state.numbers, again._state.path
    assert np.all(np.diff(numbers, prepend=0) >= 64)
    expected = dict(zip(monitor._state.numbers, monitor._state.path, strict=True))
    assert [expected[number] for number in numbers] == list(values)
    p = np.random.default_rng(0).random(3000)
    for one in (monitor, again):  # It goes on with the same e-values.
        for batch in np.split(p, 5):
            one.update(batch < 0.5, batch)
    assert saved(again) == saved(monitor)
    assert again.log_e_value == monitor.log_e_value
    again.plot(Figure().subplots())


def archive(kind="outcomes", header=None, **changes):
    with np.load(io.BytesIO(saved(monitor_of(kind)))) as good:
        arrays = {name: good[name] for name in good.files}
    text = json.loads(arrays.pop("header").item()) | (header or {})
    for name, change in changes.items():
        arrays[name] = change(arrays[name]) if callable(change) else change
    arrays = {name: a for name, a in arrays.items() if a is not None}
    text["arrays"] = list(arrays)
    file = io.BytesIO()
    np.savez(file, header=np.array(json.dumps(text)), **arrays)
    file.seek(0)
    return file


def at(place, value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("header", "arrays", "name"),
    [
        ({"format": "uncertainty_metrics.ScoreSketch"}, {}, "format"),
        ({"version": 2}, {}, "version"),
        ({"config": {"norm": "l1"}}, {}, "config"),
        ({"config": [1]}, {}, "config"),
        ({"config": {"alpha": 2.0}}, {}, "alpha"),
        ({"config": {"mode": "never"}}, {}, "mode"),
        ({"kind": "weights"}, {}, "kind"),
        ({"kind": ["pit"]}, {}, "kind"),
        ({"kind": "pit"}, {}, "log_won"),
        ({"count": 0}, {}, "count"),
        ({"count": True}, {}, "count"),
        ({"count": 10**400}, {}, "count"),
        ({"count": 601}, {}, "CalibrationMonitor.save"),
        ({"count": 2**40}, {}, "path"),
        ({"alarm": 0}, {}, "alarm"),
        ({"alarm": 601}, {}, "alarm"),
        ({"alarm": 1.5}, {}, "alarm"),
        ({"gap_sum": "1"}, {}, "CalibrationMonitor.save"),
        ({"gap_sum": 601}, {}, "CalibrationMonitor.save"),
        ({"gap_sum": 10**400}, {}, "CalibrationMonitor.save"),
        ({"gap_squares": -1}, {}, "CalibrationMonitor.save"),
        ({"gap_squares": 601}, {}, "CalibrationMonitor.save"),
        ({}, {"last": None}, "CalibrationMonitor.save"),
        ({}, {"path": None}, "CalibrationMonitor.save"),
        ({}, {"path": np.zeros(3)}, "path"),
        ({}, {"path": at(3, np.nan)}, "path"),
        ({}, {"path": at(3, -np.inf)}, "path"),
        ({}, {"last": at(0, 599)}, "CalibrationMonitor.save"),
        ({}, {"last": at(1, 601)}, "CalibrationMonitor.save"),
        ({}, {"last": at(1, -1)}, "CalibrationMonitor.save"),
        ({}, {"last": at(1, 0)}, "CalibrationMonitor.save"),
        ({}, {"last": lambda a: a.astype(float)}, "last"),
        ({}, {"log_won": at(0, np.nan)}, "log_won"),
        ({}, {"log_won": at(0, np.inf)}, "log_won"),
        ({}, {"log_won": at(0, -np.inf)}, "CalibrationMonitor.save"),
        ({}, {"log_won": at(-1, 0.0)}, "CalibrationMonitor.save"),
        ({}, {"log_won": lambda a: a[:, :3]}, "log_won"),
        ({}, {"histogram": at(0, 1.0)}, "CalibrationMonitor.save"),
    ],
)
def test_files_without_a_valid_monitor_are_refused(header, arrays, name):
    assert repr(um.CalibrationMonitor.load(archive())) == repr(monitor_of("outcomes"))
    with pytest.raises(ValueError, match=rf"`{name}.*Received: ") as raised:
        um.CalibrationMonitor.load(archive(header=header, **arrays))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 6000


@pytest.mark.parametrize("change", [at(0, -1.0), at(0, 2000.0), at(0, np.nan)])
def test_histograms_that_no_pit_values_make_are_refused(change):
    assert repr(um.CalibrationMonitor.load(archive("pit"))) == repr(monitor_of("pit"))
    with pytest.raises(ValueError, match="Received"):
        um.CalibrationMonitor.load(archive("pit", histogram=change))


@pytest.mark.first(6, "thorough")
@pytest.mark.parametrize("case", test_state.HOSTILE_ARRAYS)
def test_hostile_files_are_refused_before_they_are_unpacked(case):
    with zipfile.ZipFile(archive()) as good:
        members = {
            name.removesuffix(".npy"): good.read(name) for name in good.namelist()
        }
    members["path"] = test_state.HOSTILE_ARRAYS[case]()
    content = test_state.archive(members.items())
    load = um.CalibrationMonitor.load
    most, message = test_state.peak(lambda: load(io.BytesIO(content)))
    assert most < 8 * test_state.MiB
    assert len(message) < 500


def test_damaged_files_raise_or_give_the_whole_monitor(rng):
    content = archive().getvalue()
    expected = repr(monitor_of("outcomes"))
    for place in rng.integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        with contextlib.suppress(ValueError):
            loaded = um.CalibrationMonitor.load(io.BytesIO(bytes(damaged)))
            assert repr(loaded) == expected
    with pytest.raises(ValueError, match=r"`CalibrationMonitor\.save`"):
        um.CalibrationMonitor.load(io.BytesIO(b"text"))
