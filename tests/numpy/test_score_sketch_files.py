"""Files of sketches: saved, damaged, hostile, or no sketches at all."""

import contextlib
import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy import test_state
from tests.numpy.test_score_sketch import CLASSES, GROUPS, calibrated, sketch_of
from uncertainty_metrics.numpy.sketch import _grid

CELLS = _grid.num_cells(*_grid.default_bits(1))


def archive(header=None, *, sketch=None, **changes):
    """Returns a file with the sums of all cells of the grid, as older ones are; with
    `places`, of the cells in use.
    """
    sketch = sketch or sketch_of([0, 1], [[0.5, 0.2, 0.3]] * 2)
    classes, sums, least, _ = sketch._content
    size = sketch._num_cells(classes)
    text = {
        "format": "uncertainty_metrics.ScoreSketch",
        "version": 1,
        "config": sketch.config,
        "classes": classes,
        "count": sums.count,
        "lowest": {name: row.lowest for name, row in sums.rows.items()},
        "clusters": None,
    } | (header or {})
    if "places" in changes:
        arrays = {name: row.digits for name, row in sums.rows.items()}
        arrays["places"] = sums.places
    else:
        arrays = {}
        for name, row in sums.rows.items():
            arrays[name] = np.zeros((len(row.digits), size), np.uint32)
            arrays[name][:, sums.places] = row.digits
        if least is not None:
            lower_ends, _ = _grid.rounded_limits(*sketch._bits(classes))
            arrays["least"] = np.tile(lower_ends, size // len(lower_ends))
            arrays["least"][sums.places] = least
    for name, change in changes.items():
        arrays[name] = change(arrays[name]) if callable(change) else change
    arrays = {name: a for name, a in arrays.items() if a is not None}
    text.setdefault("arrays", list(arrays))
    file = io.BytesIO()
    np.savez(file, header=np.array(json.dumps(text)), **arrays)
    file.seek(0)
    return file


ROWS = ("weights", "score_sums", "outcome_sums")
HALF = _grid.middle(*_grid.default_bits(1))  # The only cell in use.


@pytest.mark.parametrize(
    ("header", "arrays", "name"),
    [
        ({"format": "uncertainty_metrics.MetricState"}, {}, "format"),
        ({"version": 2}, {}, "version"),
        ({"config": {"norm": "l1"}}, {}, "config"),
        ({"config": [1]}, {}, "config"),
        ({"config": {"max_prob": "yes"}}, {}, "max_prob"),
        ({"config": {"num_classes": 2}}, {}, "classes"),
        ({"config": {"positive_class": True}}, {}, "positive_class"),
        ({"config": CLASSES}, {}, "weights"),
        ({"classes": 0}, {}, "classes"),
        ({"classes": 10**4, "config": CLASSES}, {}, "weights"),
        ({"count": -1}, {}, "count"),
        ({"count": 10**400}, {}, "count"),
        ({"lowest": 0}, {}, "lowest"),
        ({"lowest": {"weights": 0, "score_sums": 0.5, "outcome_sums": 0}}, {}, "low"),
        ({"lowest": {"weights": 99, "score_sums": 0, "outcome_sums": 0}}, {}, "low"),
        ({}, {"weights": None}, "arrays"),
        ({}, {"weights": np.ones((1, CELLS))}, "weights"),
        ({}, {"weights": np.ones((1, 9), np.uint32)}, "weights"),
        ({}, {"weights": np.ones(CELLS, np.uint32)}, "weights"),
        ({}, {"weights": np.uint32(1)}, "weights"),
        ({}, {"weights": np.zeros((1, CELLS), np.uint32)}, "weights"),
        ({}, {"weights": np.zeros((0, CELLS), np.uint32)}, "weights"),
        ({}, {"outcome_sums": np.ones((1, CELLS), np.uint32)}, "outcome_sums"),
        ({}, {"score_sums": lambda digits: digits // 2}, "score_sums"),
        ({}, {"score_sums": lambda digits: np.roll(digits, 99)}, "score_sums"),
        ({"arrays": [*ROWS, "least"]}, {"least": np.zeros(3)}, "least"),
        ({"arrays": [*ROWS, "least"]}, {"least": np.full(CELLS, 2.0)}, "least"),
        ({"arrays": [*ROWS, "least"]}, {"least": np.full(CELLS, np.nan)}, "least"),
        ({"arrays": [*ROWS, "least"]}, {"least": np.zeros(CELLS, int)}, "least"),
        ({}, {"places": np.array([HALF + 99])}, "score_sums"),
        ({}, {"places": np.array([-1])}, "places"),
        ({}, {"places": np.array([CELLS])}, "places"),
        ({}, {"places": np.array([HALF, HALF])}, "places"),
        ({}, {"places": np.array([[HALF]])}, "places"),
        ({}, {"places": np.array([float(HALF)])}, "places"),
        ({}, {"places": np.arange(2)}, "weights"),
        (
            {"lowest": dict.fromkeys(ROWS, 0)},
            {
                "places": np.array([HALF, HALF + 1]),
                **dict.fromkeys(ROWS, np.array([[1, 0]], np.uint32)),
            },
            "weights",
        ),
    ],
)
def test_files_with_wrong_fields_or_arrays_are_refused(header, arrays, name):
    for old_or_new in ({}, {"places": np.array([HALF])}):
        assert um.ScoreSketch.load(archive(**old_or_new)).accuracy() == 0.5
    with pytest.raises(ValueError, match=rf"`{name}.*Received: ") as raised:
        um.ScoreSketch.load(archive(header, **arrays))
    assert len(str(raised.value)) < 6000


def test_a_sum_with_an_unknown_number_of_examples_has_an_unknown_number():
    known, unknown = (
        um.ScoreSketch.load(archive({"count": count})) for count in (2, None)
    )
    assert (known + known).aurc() == known.aurc()
    for sketch in (unknown, known + unknown, unknown + known, unknown + unknown):
        assert sketch.accuracy() == 0.5
        with pytest.raises(ValueError, match="must hold unit weights"):
            sketch.aurc()


@pytest.mark.first(6, "thorough")
@pytest.mark.parametrize("case", test_state.HOSTILE_ARRAYS)
def test_hostile_files_are_refused_before_they_are_unpacked(case):
    with zipfile.ZipFile(archive()) as good:
        members = {
            name.removesuffix(".npy"): good.read(name) for name in good.namelist()
        }
    members["score_sums"] = test_state.HOSTILE_ARRAYS[case]()
    content = test_state.archive(members.items())
    most, message = test_state.peak(lambda: um.ScoreSketch.load(io.BytesIO(content)))
    assert most < 8 * test_state.MiB
    assert len(message) < 500


def test_damaged_files_raise_or_load_the_same_sketch(rng):
    content = archive().getvalue()
    sketch = um.ScoreSketch.load(io.BytesIO(content))
    for place in rng.integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        with contextlib.suppress(ValueError):
            assert um.ScoreSketch.load(io.BytesIO(bytes(damaged))) == sketch
    with pytest.raises(ValueError, match=r"`ScoreSketch\.save`"):
        um.ScoreSketch.load(io.BytesIO(b"text"))


@pytest.mark.parametrize("options", GROUPS, ids=str)
def test_sketches_can_be_saved_and_pickled(options, rng, tmp_path):
    labels, p = calibrated(rng, 300, 2)
    sketch = sketch_of(labels, p, options, sample_weight=rng.random(300))
    for each in (sketch, um.ScoreSketch(num_classes=2)):
        each.save(tmp_path / "sketch")
        assert um.ScoreSketch.load(tmp_path / "sketch") == each
        for made in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
            assert made == each
            assert type(made) is um.ScoreSketch
    loaded = um.ScoreSketch.load(tmp_path / "sketch")
    loaded.update(labels, p)  # This must not change another sketch or the file.
    assert um.ScoreSketch.load(tmp_path / "sketch") != loaded


def test_files_of_all_cells_of_the_grid_are_read_and_added(rng):
    """Older files are of this form. Those of a `Summary` have least scores, too."""
    summary = um.Summary()
    summary.update(*calibrated(rng, 300, 3), sample_weight=rng.random(300))
    file = io.BytesIO()
    summary.save(file)
    file.seek(0)
    from_file = um.Summary.load(file)
    for sketch in (summary.decisions, summary.classes, from_file.classes):
        old = um.ScoreSketch.load(archive(sketch=sketch))
        assert old == sketch
        assert old + sketch == sketch + old == sketch + sketch
    assert old.conformal_quantile(0.1) == sketch.conformal_quantile(0.1)
    both = um.ScoreSketch.load(archive(sketch=from_file.classes)) + summary.classes
    expected = from_file.classes + summary.classes
    assert both.conformal_quantile(0.1) == expected.conformal_quantile(0.1)


def test_a_sketch_of_many_classes_takes_the_cells_in_use_only(rng):
    """The sums are those of NumPy, and of the same examples with all cells."""
    labels, p = calibrated(rng, 6, 5000)
    sketch, parts = sketch_of(labels, p, CLASSES), um.ScoreSketch(**CLASSES)
    for row in range(6):
        parts.update(labels[[row]], p[[row]])
    assert parts == sketch
    assert len(sketch._content.sums.places) <= 6 * 5000
    groups = sketch._groups()
    assert len(groups) == 5000
    found = [[cells.score_sums.sum(), cells.outcome_sums.sum()] for cells in groups]
    hits = np.bincount(labels, minlength=5000)
    expected = np.stack([p.astype(np.float64).sum(axis=0), hits], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["ScoreSketch", "Summary"])
def test_too_many_classes_are_refused_with_what_to_do(name):
    made = um.Summary() if name == "Summary" else um.ScoreSketch(**CLASSES)
    p = np.zeros((1, 10**6), np.float32)
    p[0, 0] = 1
    with pytest.raises(ValueError, match=r"100,000 classes: .*`correct` and `conf"):
        made.update([0], p)
    with pytest.raises(ValueError, match=r"100,000 classes: .*`correct` and `conf"):
        um.ScoreSketch.load(archive({"classes": 10**4000, "config": CLASSES}))


def test_a_sketch_takes_some_hundred_kilobytes(rng):
    labels, p = calibrated(rng, 20_000, 10, 5.0)

    def size(sketch):
        return sum(row.digits.nbytes for row in sketch._content.sums.rows.values())

    assert size(sketch_of(labels, p)) < 300e3
    assert size(sketch_of(labels, p, CLASSES)) < 450e3
    weighted = sketch_of(labels, p, sample_weight=rng.random(20_000))
    assert size(weighted) < 600e3
