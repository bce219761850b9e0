"""Files of summaries: what no examples can have is refused in one line."""

import io
import json

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.fuzz.damage import damaged, damaged_archive
from tests.numpy.test_summary import KINDS, each_kind, predictions, summary_of
from uncertainty_metrics.numpy.summaries import _summary_files, _sums_by_class

ROW = {name: i for i, name in enumerate(_sums_by_class.SUMS)}


def arrays_of(rng, kind="four classes", weighted=False):
    file = io.BytesIO()
    summary_of(predictions(rng, kind, 120, weighted)).save(file)
    file.seek(0)
    with np.load(file) as archive:
        return {name: archive[name] for name in archive.files}


def file_of(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


def changed(name, change):
    """Returns a change of one row of the sums."""

    def apply(arrays):
        sums = arrays["sums"].copy()
        sums[ROW[name]] = change(sums[ROW[name]])
        arrays["sums"] = sums

    return apply


def headed(**entries):
    def apply(arrays):
        header = json.loads(arrays["header"].item()) | entries
        arrays["header"] = np.array(json.dumps(header))

    return apply


def block(name, row, value):
    """Returns a change of the first block."""

    def apply(arrays):
        blocks = arrays[name].copy()
        blocks[row, 0] = value(blocks[row, 0]) if callable(value) else value
        arrays[name] = blocks

    return apply


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("decided"),
        lambda arrays: arrays.pop("others"),
        lambda arrays: arrays.update(sums=arrays["sums"][:3]),
        lambda arrays: arrays.update(sums=np.full_like(arrays["sums"], np.nan)),
        lambda arrays: arrays.update(sums=0 * arrays["sums"]),
        lambda arrays: arrays.update(sums=arrays["sums"][:, :1]),
        lambda arrays: arrays.update(sums=arrays["sums"].astype(np.float32)),
        lambda arrays: arrays.update(decided=arrays["decided"][:, :-1]),
        lambda arrays: arrays.update(decided=arrays["others"]),
        lambda arrays: arrays.update(others=arrays["decided"]),
        lambda arrays: arrays.update(others=arrays["others"][:4]),
        lambda arrays: arrays.update(others=np.float64(3)),
        lambda arrays: arrays.update(decided=np.full((5, 2), 1e308)),
        lambda arrays: arrays.update(others=arrays["others"][:, :0]),
        lambda arrays: arrays.update(decided=arrays["decided"].astype(np.float32)),
        lambda arrays: arrays.update(header=np.array('{"format": "other"}')),
        headed(version=2),
        headed(of_answers=True),
        headed(of_answers=1),
        headed(of_answers=0),
        headed(class_names=["a"]),
        headed(class_names=[1, 2, 3, 4]),
        headed(private=-1.0),
        headed(private="1"),
        *(
            changed(name, change)
            for name, change in (
                ("examples", lambda row: 0 * row),
                ("examples", lambda row: row + 1e30),
                ("examples", lambda row: row + 1),
                ("examples", lambda row: -row),
                ("examples", lambda row: row + 0.5),
                ("w", lambda row: 250 * row),
                ("w", lambda row: row + np.array([1, -1, 0, 0])),
                ("ww", lambda row: row / 2),
                ("impossible", lambda row: row + 1000),
                ("right", lambda row: 1.01 * row),
                ("confidence", lambda row: 250 * row),
                ("confidence", lambda row: 0.99 * row),
                ("w_gap", lambda row: row + 1),
                ("ww_gap", lambda row: row + 250),
                ("ww_gap_gap", lambda row: 0 * row),
                ("w_b", lambda row: 250 * row),
                ("ww_b", lambda row: 250 * row),
                ("ww_b_b", lambda row: 0 * row),
                ("ww_b_b", lambda row: 250 * row),
                ("ww_l_l", lambda row: 0 * row),
                ("w_l", lambda row: -row),
                ("w_l", lambda row: 0 * row + 1e300),
                ("w_l", lambda row: 1.1 * row),
            )
        ),
        *(
            block(name, row, value)
            for name in ("decided", "others")
            for row, value in (
                *((0, -1.0), (0, 5.0), (0, 0.5), (1, 2.0), (1, -0.1)),
                *((2, 4.0), (2, 0.0), (2, 1e30), (2, lambda x: x + 1)),
                *((3, lambda x: 250 * x + 250), (3, -1.0), (4, -1.0), (4, 250.0)),
                (2, np.nan),
            )
        ),
        block("decided", 3, lambda x: 0.9 * x),
        block("decided", 4, lambda x: x + 1 if x < 5 else x - 1),
        block("others", 4, lambda x: x + 1),
    ],
)
def test_a_file_with_sums_that_no_examples_have_is_refused(change, rng):
    arrays = arrays_of(rng)
    assert um.Summary.load(file_of(arrays)).num_examples == 120
    change(arrays)
    with pytest.raises(ValueError, match=r"^[^\n]*Received: [^\n]*$"):
        um.Summary.load(file_of(arrays))


def test_a_file_of_fewer_than_fifty_examples_is_refused(rng, monkeypatch):
    file = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(_summary_files, "LEAST_EXAMPLES", 10)
        summary_of(predictions(rng, "answers", 49)).save(file)
        file.seek(0)
        assert um.Summary.load(file).num_examples == 49
    file.seek(0)
    with pytest.raises(ValueError, match="sums of 49 examples"):
        um.Summary.load(file)


def test_impossible_labels_are_examples_and_have_no_weight(rng):
    correct, confidences = np.arange(60) % 6 > 0, np.ones(60)
    summary, file = um.Summary(), io.BytesIO()
    summary.update(
        correct=correct, confidences=confidences, sample_weight=np.full(60, 1e-3)
    )
    summary.save(file)
    file.seek(0)
    assert um.Summary.load(file).impossible == 10


@pytest.mark.parametrize("weight", [1e3, 1e-3])
def test_blocks_of_other_right_answers_than_the_sums_are_refused(weight, rng):
    """A share of 5e-4 of the weight is far more than rounding, in any unit of it."""
    data = predictions(rng, "answers", 120)
    summary, file = um.Summary(), io.BytesIO()
    summary.update(**data, sample_weight=np.full(120, weight))
    summary.save(file)
    file.seek(0)
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["decided"][4, np.argmax(arrays["decided"][4])] -= 0.06 * weight
    with pytest.raises(ValueError, match="blocks and sums of different examples"):
        um.Summary.load(file_of(arrays))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_damaged_file_is_refused_or_gives_possible_means(kind, weighted, rng):
    arrays = arrays_of(rng, kind, weighted)
    whole, refusals = file_of(arrays).getvalue(), []
    for i in range(60):
        if i % 3 == 0:
            content = damaged(rng, whole)
        elif i % 3 == 1:
            content = damaged_archive(rng, whole)
        else:  # One number of an array is another.
            other = {name: array.copy() for name, array in arrays.items()}
            name = str(rng.choice([name for name in arrays if name != "header"]))
            value = rng.choice([-1, 0, 0.5, 1, 250, 1e30, 1e300, np.nan, np.inf, 7])
            other[name].reshape(-1)[rng.integers(other[name].size)] = value
            content = file_of(other).getvalue()
        try:
            loaded = um.Summary.load(io.BytesIO(content))
        except ValueError as error:
            refusals.append(str(error))
            continue
        means = loaded.means()
        for name in ("accuracy", "mean_confidence"):
            assert 0 <= means[name].mean <= 1
        assert 0 <= means["brier_score"].mean <= 2
        assert 50 <= loaded.num_examples <= 2**53
        assert loaded.decisions.ece() <= 1
        (loaded + loaded).save(io.BytesIO())
    assert refusals
    assert not any("\n" in refusal for refusal in refusals)


@each_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_loaded_summaries_add_and_are_saved_again(kind, weighted, rng):
    days = [summary_of(predictions(rng, kind, 150, weighted)) for _ in range(2)]

    def again(summary):
        file = io.BytesIO()
        summary.save(file)
        file.seek(0)
        return um.Summary.load(file)

    loaded = [again(day) for day in days]
    total = loaded[0] + loaded[1]
    assert again(loaded[0]).decisions == loaded[0].decisions
    assert again(loaded[0]).classes == loaded[0].classes
    for saved in (total, again(total), again(loaded[0] + days[1])):
        assert saved.num_examples == 300
        np.testing.assert_allclose(
            saved.means()["gap"], (days[0] + days[1]).means()["gap"], rtol=1e-9
        )
        assert saved.is_weighted == weighted
        for name, cells in (("decisions", saved.decisions), ("classes", saved.classes)):
            if cells is not None:
                for group in cells._groups():
                    assert group.weights.min() >= (2.5 if weighted else 5), name
