"""`save` replaces a file whole, or leaves it as it was."""

import errno
import os
import stat
import threading

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics import _whole_files
from uncertainty_metrics._whole_files import written_whole


def saved_objects():
    """Returns an object of each kind that has `save`, by the name of its class."""
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    sketch, summary = um.ScoreSketch(), um.Summary()
    monitor, distance = um.CalibrationMonitor(), um.Mahalanobis()
    for streamed in (sketch, summary, monitor):
        streamed.update(y, np.stack([1 - p, p], axis=1))
    distance.update(rng.normal(size=(60, 2)), y)
    invalid = np.array(0)
    state = um.MetricState("AURC", {}, {"invalid": invalid})
    return [
        *(sketch, summary, monitor, distance, state),
        um.TemperatureScaling().fit(y, probabilities=p),
        um.PlattScaling().fit(y, probabilities=p),
        um.IsotonicCalibration().fit(y, probabilities=p),
        um.VennAbersCalibration().fit(y, probabilities=p),
        um.HistogramBinning().fit(y, probabilities=p),
    ]


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


class FullDisk:
    """A file that takes a hundred bytes."""

    def __init__(self, file):
        self._file, self._room = file, 100

    def write(self, data):
        data = bytes(data)
        self._room -= len(data)
        if self._room < 0:
            self._file.write(data[: self._room])
            no_space()
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


def full_disk(*arguments):
    return FullDisk(open(*arguments))


@pytest.mark.parametrize(
    "saved", saved_objects(), ids=lambda saved: type(saved).__name__
)
def test_a_full_disk_leaves_the_file_of_yesterday(saved, tmp_path, monkeypatch):
    path = tmp_path / "file"
    saved.save(path)
    before = path.read_bytes()
    assert os.listdir(tmp_path) == ["file"]
    if hasattr(type(saved), "load"):
        type(saved).load(path)
    if len(before) > 100:
        monkeypatch.setattr(_whole_files, "open", full_disk, raising=False)
    else:  # A file so small may fail when it is closed.
        monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        saved.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@posix
def test_permissions_stay_and_new_files_have_those_of_the_umask(tmp_path):
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        with written_whole(path) as file:
            file.write(b"1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        with written_whole(path) as file:
            file.write(b"2")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert path.read_bytes() == b"2"


@posix
def test_the_owner_stays(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1")
    try:
        os.chown(path, 12_345, 23_456)
    except OSError:
        pytest.skip("this user may give no files away")
    with written_whole(path) as file:
        file.write(b"2")
    assert (path.stat().st_uid, path.stat().st_gid) == (12_345, 23_456)


def test_an_error_of_a_disk_that_writes_later_leaves_the_old_file(
    tmp_path, monkeypatch
):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"), written_whole(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@posix
@pytest.mark.parametrize("exists", [True, False])
def test_the_target_of_a_link_is_replaced(tmp_path, exists):
    folder = tmp_path / "other"
    folder.mkdir()
    if exists:
        (folder / "file").write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(folder / "file")
    with written_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (folder / "file").read_bytes() == b"new"
    assert os.listdir(folder) == ["file"]


@posix
def test_pipes_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    sketch = um.ScoreSketch()
    sketch.save(pipe)
    reader.join(60)
    assert found[0].startswith(b"PK")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_devices_are_written_to_and_stay(tmp_path):
    device = tmp_path / "null"  # Not that of the machine: a fault would replace it.
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("this user may make no devices here")
    um.ScoreSketch().save(device)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_folder_and_a_missing_folder_are_errors(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(OSError, match="directory"):
            um.ScoreSketch().save(path)
    assert os.listdir(tmp_path) == []


def test_a_path_of_bytes_is_a_path(tmp_path):
    um.ScoreSketch().save(os.fsencode(tmp_path / "file"))
    assert um.ScoreSketch.load(tmp_path / "file") == um.ScoreSketch()
