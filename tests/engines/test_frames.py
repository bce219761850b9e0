"""Columns and frames of Polars, as arguments of functions, are arrays of numbers."""

import numpy as np
import polars as pl
import pytest

import uncertainty_metrics.numpy as um
from tests import catalogue
from tests.catalogue import each
from tests.fuzz.outcomes import flat

N = 20
ROWS = [
    row
    for row in catalogue.CALLABLES
    if row.half != "tensors" and row not in catalogue.PLOTS
]
NAMES = np.array(["cat", "dog", "eel"])
WORDS = ["a", None, *"abc" * 6]


def framed(arguments):
    """Returns arguments whose arrays of N rows are columns or frames."""
    made = dict(arguments)
    for name, array in arguments.items():
        if isinstance(array, np.ndarray) and array.shape[:1] == (N,) and array.ndim < 3:
            made[name] = (pl.Series, pl.DataFrame)[array.ndim - 1](array)
    return made


@pytest.mark.filterwarnings("ignore::UserWarning")
@each(ROWS)
def test_polars_gives_the_same_values(row, rng):
    arguments = row.draw(rng, (N,))
    arguments |= {"seed": 3} if row.takes("seed") else {}
    found, expected = (
        row.find(um)(**given) for given in (framed(arguments), arguments)
    )
    np.testing.assert_allclose(flat(found), flat(expected), 1e-12)


def test_names_lists_and_missing_values(rng):
    labels = np.append(rng.integers(0, 3, N - 3), range(3))
    p = rng.dirichlet(np.ones(3), N)
    expected = um.ece(labels, p)
    frame = pl.DataFrame(p[:, ::-1], schema=NAMES[::-1].tolist())
    for words in (
        pl.Series(NAMES[labels]),
        pl.Series(NAMES[labels], dtype=pl.Categorical),
    ):
        assert um.ece(words, frame) == expected
    for column in (
        pl.Series(p.tolist()),
        pl.DataFrame({"p": p.tolist()}),
        pl.Series(p.tolist(), dtype=pl.Array(pl.Float64, 3)),
    ):
        assert um.ece(labels, column) == expected
    with pytest.raises(ValueError, match=r"`labels` must .* at \[0\]"):
        um.ece(pl.Series([None, *labels.tolist()[1:]]), p)


def test_groups_and_clusters(rng):
    y, p = rng.integers(0, 2, N), rng.random(N)
    words = pl.Series("word", WORDS)
    by_word = um.brier_score(y, p, groups=words)
    assert by_word.names == ("a", "b", "c", "(missing)")
    np.testing.assert_array_equal(
        by_word.values, um.brier_score(y, p, groups=WORDS).values
    )
    for groups in (words, pl.DataFrame({"word": WORDS})):
        table = um.calibration_by_group(
            y, p, groups=groups, min_examples=2, positive_class=True
        )
        assert {*table.to_dict()["name"]} >= {"word=a", "word=b"}
    ids = [f"patient {k // 2}" for k in range(N)]
    with pytest.warns(UserWarning, match="10 clusters"):
        found = um.auroc_interval(y, p, clusters=pl.Series(ids))
    with pytest.warns(UserWarning, match="10 clusters"):
        assert found == um.auroc_interval(y, p, clusters=ids)
