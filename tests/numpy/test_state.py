"""`MetricState` without TensorFlow: hostile files, and impossible numbers."""

import functools
import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

import uncertainty_metrics.numpy as um_np
from uncertainty_metrics import MetricState

HEADER = {
    "format": "uncertainty_metrics.MetricState",
    "version": 1,
    "metric": "BrierScore",
    "config": {},
    "classes": None,
    "arrays": ["invalid", "units", "hi", "lo"],
}


def arrays(units=(0, 0), hi=(0, 0), lo=(0, 0), invalid=0):
    return {
        "invalid": np.array(invalid, np.int64),
        "units": np.array(units, np.int64),
        "hi": np.array(hi, np.float32),
        "lo": np.array(lo, np.float32),
    }


def state(**changes):
    return MetricState("BrierScore", {}, arrays(**changes))


def npy(descr="<i8", shape=(), data=bytes(8), header=None):
    """Returns an array file with any header."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    text = (text if header is None else header).encode("latin1")
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + data


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def members(header=None, **changes):
    found = {"header": saved(np.array(json.dumps(HEADER)))}
    found |= {name: saved(array) for name, array in arrays().items()}
    if header is not None:
        found["header"] = header
    return found | changes


def archive(contents, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for name, content in contents:
            target.writestr(f"{name}.npy", content)
    return file.getvalue()


def peak(function):
    """Returns the peak memory and the message of a call that raises ValueError."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"`.*Received") as raised:
            function()
        return tracemalloc.get_traced_memory()[1], str(raised.value)
    finally:
        tracemalloc.stop()


MiB = 2**20
HUGE = 136 * MiB
# Arrays that no file may hold; the tests of the report use them as well.
HOSTILE_ARRAYS = {
    "a bomb": lambda: npy("<f8", (HUGE // 8,), bytes(HUGE)),
    "a bomb of small numbers": lambda: npy("|i1", (HUGE // 8,), bytes(HUGE // 8)),
    "a bomb of no array": lambda: bytes(HUGE),
    "a header of 4 GB": lambda: b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(HUGE),
    "a huge shape": lambda: npy(shape=(2**40,)),
    "a shape that wraps": lambda: npy(shape=(2**32, 2**32, 2**5)),
    "negative shapes": lambda: npy(shape=(-2, -4), data=bytes(64)),
    "many of no size": lambda: npy("<U0", shape=(2**50,), data=b""),
    "too few bytes": lambda: npy(shape=(3,)),
    "too many bytes": lambda: npy(shape=(), data=bytes(16)),
    "a deep header": lambda: npy(header=300 * "(" + 300 * ")"),
    "a long sum": lambda: npy(header="1+" * 4000 + "1"),
    "a long header": lambda: npy(header="-" * 9000 + "1"),
    "an odd header": lambda: npy(header="{'descr': '\\d'}"),
    "a header that ends": lambda: npy(header="{'shape'"),
    "a version": lambda: b"\x93NUMPY\x03\x00" + bytes(100),
    "no array": lambda: b"text",
    "nothing": lambda: b"",
    "a pickle": lambda: npy("|O", data=b"cos\nsystem\n(S'true'\ntR."),
    "fields": lambda: npy([("a", "<i8")], (20,), bytes(160)),
    "text": lambda: npy("<U4", (20,), bytes(320)),
    "dates": lambda: npy("<M8[s]", (20,), bytes(160)),
}
HOSTILE = {
    **{
        case: functools.partial(lambda array: members(units=array()), array)
        for case, array in HOSTILE_ARRAYS.items()
    },
    "a bomb of a header": lambda: members(
        header=npy(f"<U{HUGE // 4}", data=bytes(HUGE))
    ),
    "deep JSON": lambda: members(header=saved(np.array("[" * 100_000))),
    "another name": lambda: members(other=bytes(HUGE)),
    "a nested name": lambda: members(**{"../units": saved(np.zeros(2))}),
}


@pytest.mark.first(6, "thorough")
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_before_they_are_unpacked(case):
    content = archive(HOSTILE[case]().items())
    assert len(content) < MiB
    most, message = peak(lambda: MetricState.load(io.BytesIO(content)))
    assert most < 8 * MiB
    assert len(message) < 500


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_with_a_name_twice_are_refused():
    contents = [*members().items(), ("units", saved(np.array([1, 2])))]
    with pytest.raises(ValueError, match=r"Received.*units.*units"):
        MetricState.load(io.BytesIO(archive(contents)))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_numpy_does_not_write_is_refused(method):
    content = archive(members().items(), method)
    with pytest.raises(ValueError, match=r"`header`.*compressed"):
        MetricState.load(io.BytesIO(content))


@pytest.mark.thorough
def test_large_states_of_zeros_load_despite_high_compression(tmp_path):
    shape = (2, 3_000_000)
    large = state(units=np.zeros(shape), hi=np.zeros(shape), lo=np.zeros(shape))
    large.save(tmp_path / "state")
    assert MetricState.load(tmp_path / "state") == large


def test_damaged_files_raise_or_load_the_same_state():
    rng = np.random.default_rng(0)
    good = state(units=[5, -3], hi=[0.25, 1], invalid=1)
    file = io.BytesIO()
    good.save(file)
    content = file.getvalue()
    for _ in range(1000):
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        try:
            found = MetricState.load(io.BytesIO(damaged))
        except ValueError:
            continue
        assert found == good


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"invalid": -1}, "invalid"),
        ({"invalid": 2**62}, "invalid"),
        ({"units": [-1, 0]}, "units"),
        ({"units": [[-1, 2], [0, 0]]}, "units"),
        ({"units": [[1, 2], [0, -1]]}, "units"),
        ({"units": [2**62, 0]}, "units"),
        ({"units": [1, -(2**63)]}, "units"),
        ({"units": [[2**61, 2**61], [0, 0]]}, "units"),
        ({"hi": [-1, 0]}, "hi"),
        ({"hi": [[3, -1], [0, 0]]}, "hi"),
        ({"units": [1, 0], "hi": [-1, 0], "lo": [-0.5, 0]}, "hi"),
    ],
)
def test_negative_and_overflowing_counts_raise(changes, word):
    shape = np.shape(max(changes.values(), key=np.ndim)) or (2,)
    made = {name: np.zeros(shape) for name in ("units", "hi", "lo")} | changes
    with pytest.raises(ValueError, match=f"`{word}` must.*Received"):
        state(**made)
    contents = {name: saved(array) for name, array in arrays(**made).items()}
    content = archive(members(**contents).items())
    with pytest.raises(ValueError, match=f"`{word}` must.*Received"):
        MetricState.load(io.BytesIO(content))


def test_sums_of_states_raise_before_they_overflow():
    for large in (state(invalid=2**61), state(units=[2**61, 0])):
        assert large + state() == large
        with pytest.raises(ValueError, match=r"`(invalid|units)` must.*Received"):
            large + large
    less = state(units=[1, -(2**61) - 512])
    with pytest.raises(ValueError, match="`units` must"):
        less + less


def test_fractions_below_their_rounded_weights_are_allowed():
    # For ten weights of 0.6, each counts as 1 in `units` and as -0.4 in `hi`.
    assert state(units=[10, -2], hi=[-4, 0.5]).arrays["units"].tolist() == [10, -2]


def summands():
    """Yields an object of every class that adds, and whether `sum` can add it."""
    batch = [0, 1], [[0.75, 0.25], [0.25, 0.75]]
    sketch = um_np.ScoreSketch()
    metric = um_np.GeneralCalibrationError("even", True, False, "l1")
    for streaming in (sketch.update, metric.update_state):
        streaming(*batch)
    yield from ((state(units=[5, -3]), True), (sketch, True), (metric, True))
    yield um_np.bin_statistics(*batch), False


def test_states_only_add_to_their_own_class():
    message = r"unsupported operand|can only concatenate"
    for one, sums in summands():
        for junk in (None, 3, 0.5, "state", {}, np.ones(2)):
            with pytest.raises(TypeError, match=message):
                one + junk
            with pytest.raises(TypeError, match=message):
                junk + one
        if sums:
            assert type(sum([one, one])) is type(one)


@pytest.mark.parametrize("path", [None, 10**6, ["path"], np.ones(2)])
def test_path_must_be_a_path_or_an_open_file(path):
    scaling = um_np.PlattScaling().fit([0, 1, 0, 1], probabilities=[0.1, 0.7, 0.6, 0.4])
    for one in (state(), um_np.ScoreSketch(), scaling):
        for opened in (one.save, type(one).load):
            with pytest.raises(TypeError, match=r"`path` must be a path, .*Received: "):
                opened(path)
