"""What the file of a summary says about few examples: nothing, by any arithmetic."""

import io
import random
from fractions import Fraction

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.numpy.test_summary import KINDS, predictions, summary_of, weighted_or_not
from uncertainty_metrics.numpy.summaries import (
    _discrete_laplace,
    _private_cells,
    _private_counts,
    _sums_by_class,
)

FEW = 5


def saved(summary, private=None):
    """Returns the summary of a file, and the arrays of the file."""
    file = io.BytesIO()
    summary.save(file, private)
    file.seek(0)
    loaded = um.Summary.load(file)
    file.seek(0)
    with np.load(file) as archive:
        return loaded, {name: archive[name] for name in archive.files}


def scores_of(data):
    """Returns scores and outcomes of all classes, [n, K], and the decided class."""
    if "correct" in data:
        p, y = data["confidences"][:, None], np.asarray(data["correct"])[:, None]
        return p, y.astype(float), np.zeros(len(p), int)
    p = data["probabilities"]
    return p, np.eye(p.shape[1])[data["labels"]], p.argmax(axis=1)


def cut(order, blocks, sums):
    """Returns the examples of blocks, which have them one after the other.

    Args:
      order: the examples, by their scores.
      blocks: weights, scores and outcomes of the blocks, [3, B].
      sums: the same of each example, [3, n].
    """
    members, start = [], 0
    for block in blocks.T[np.argsort(blocks[1] / blocks[0])]:
        up_to = np.cumsum(sums[0, order[start:]])
        size = 1 + int(np.argmin(np.abs(up_to - block[0])))
        chosen = order[start : start + size]
        np.testing.assert_allclose(sums[:, chosen].sum(axis=1), block, rtol=1e-9)
        members.append(chosen)
        start += size
    assert start == len(order)
    return members


def members_of(arrays, data):
    """Returns the sets of examples that the blocks of a file are about: of decisions,
    and for each class of the other probabilities. Their sums must be those of the file.
    """
    p, y, decided = scores_of(data)
    n, size = p.shape
    w = data.get("sample_weight", np.ones(n))
    top, right = p[np.arange(n), decided], y[np.arange(n), decided]
    blocks = arrays["decided"]
    of_tops, pure = [], [np.zeros(0, int)] * size
    for k in range(size):
        mine = blocks[2:5, blocks[0] == k]
        rows = np.flatnonzero(decided == k)
        order = rows[np.argsort(top[rows])][::-1]
        # The least confident may be in a mixed block.
        up_to = np.cumsum(w[order])
        num = int(np.argmin(np.abs(up_to - mine[0].sum()))) + 1 if mine.size else 0
        pure[k] = order[:num]
        of_tops += cut(order[:num][::-1], mine, w * np.stack([w**0, top, right]))
    rest = np.setdiff1d(np.arange(n), np.concatenate(pure))
    if len(rest):
        mixed = blocks[2:5, blocks[0] == size]
        order = rest[np.argsort(top[rest])]
        of_tops += cut(order, mixed, w * np.stack([w**0, top, right]))
    of_others = []
    for k in range(size if "others" in arrays else 0):
        mine = arrays["others"][2:5, arrays["others"][0] == k]
        rows = np.setdiff1d(np.arange(n), pure[k])
        order = rows[np.argsort(p[rows, k])]
        sums = w * np.stack([w**0, p[:, k], y[:, k]])
        if size == 2 and len(rest):  # One block has both sides.
            order = np.concatenate([np.setdiff1d(order, rest, True), rest])
            mean = mine[1] / mine[0]
            is_rest = np.isclose(mine[1], sums[1, rest].sum())
            mine = mine[:, np.lexsort((mean, is_rest))]
            of_others.append(cut_in_order(order, mine, sums))
        else:
            of_others.append(cut(order, mine, sums))
    return of_tops, of_others


def cut_in_order(order, blocks, sums):
    members, start = [], 0
    for block in blocks.T:
        size = 1 + int(np.argmin(np.abs(np.cumsum(sums[0, order[start:]]) - block[0])))
        chosen = order[start : start + size]
        np.testing.assert_allclose(sums[:, chosen].sum(axis=1), block, rtol=1e-9)
        members.append(chosen)
        start += size
    return members


def smallest_atom(members, n):
    """Returns the number of examples in the smallest set that all sums and differences
    of the blocks can tell from the others: examples of equal columns in the matrix of
    blocks and examples have the same factor in every linear combination.
    """
    matrix = np.zeros((len(members), n), int)
    for row, chosen in zip(matrix, members, strict=True):
        row[chosen] = 1
    return np.unique(matrix, axis=1, return_counts=True)[1].min()


def rare_class_1(rng, n, events):
    """Makes a model of two classes that decides few times for class 1."""
    p = rng.uniform(0.01, 0.45, n)
    p[:events] = rng.uniform(0.6, 0.95, events)
    labels = (rng.random(n) < p).astype(int)
    return {"labels": labels, "probabilities": np.stack([1 - p, p], axis=1)}


def cases(rng, kind, n):
    if kind in KINDS:
        return predictions(rng, kind, n)
    if kind == "weights":
        return predictions(rng, "two classes", n, weighted=True)
    if kind == "rare":
        return rare_class_1(rng, n, 2)
    # Scores whose mirrors 1 - p are exact: the third class is never possible.
    data = predictions(rng, "two classes", n)
    p = np.rint(data["probabilities"][:, 1] * 2**20) / 2**20
    p[0] = 0.5
    rows = [1 - p, p, 0 * p]
    return {"labels": data["labels"], "probabilities": np.stack(rows, axis=1)}


@pytest.mark.parametrize("kind", [*KINDS, "weights", "rare", "third class of 0"])
@pytest.mark.parametrize("n", [50, 61, 300])
def test_no_linear_combination_is_about_fewer_than_five_examples(kind, n, rng):
    data = cases(rng, kind, n)
    _, arrays = saved(summary_of(data))
    decided, others = members_of(arrays, data)
    assert smallest_atom(decided, n) >= FEW
    np.testing.assert_array_equal(np.sort(np.concatenate(decided)), np.arange(n))
    if kind == "answers":
        assert not others
    elif kind == "four classes":
        # What is known of different classes of one example follows from none of the
        # others, but each class must hide it with all that is known of this class.
        for k, of_class in enumerate(others):
            of_one = [block for block in decided if np.all(arrays_of(data, block, k))]
            assert smallest_atom([*of_class, *of_one], n) >= FEW
    else:
        everything = [*decided, *others[0], *others[1]]
        assert smallest_atom(everything, n) >= FEW


def arrays_of(data, block, k):
    return data["probabilities"][block].argmax(axis=1) == k


@pytest.mark.parametrize("events", [0, 1, 4, 5, 9])
def test_the_two_classes_and_the_decisions_are_cut_at_the_same_examples(events, rng):
    """By what a reader sees: the counts of cells from the smallest P(class 1) on."""
    loaded, _ = saved(summary_of(rare_class_1(rng, 80, events)))
    zero, one = (cells.weights for cells in loaded.classes._groups())
    cuts = {*np.cumsum(one)}
    assert {*np.cumsum(zero[::-1])} == cuts
    (decisions,) = loaded.decisions._groups()
    up_to = np.cumsum(np.sort(decisions.weights))
    assert min(*one, *zero, *decisions.weights) >= FEW
    assert up_to[-1] == 80


def test_squared_weights_of_the_labels_are_those_of_the_examples(rng):
    data = predictions(rng, "two classes", 200, weighted=True)
    _, arrays = saved(summary_of(data))
    blocks = np.concatenate([arrays["decided"], arrays["others"]], axis=1)
    w = data["sample_weight"]
    for k in range(2):
        mine = blocks[:, blocks[0] == k]
        # All examples, and those with the label k.
        np.testing.assert_allclose(mine[5].sum(), w @ w)
        np.testing.assert_allclose(mine[6].sum(), (w**2) @ (data["labels"] == k))


def test_a_heavy_example_does_not_stand_alone(rng):
    data = predictions(rng, "four classes", 400)
    data["sample_weight"] = np.where(np.arange(400) % 40 == 0, 100.0, 1.0)
    _, arrays = saved(summary_of(data))
    for name in ("decided", "others"):
        weights, squares = arrays[name][2], arrays[name][5]
        assert np.all(weights**2 >= FEW * squares * (1 - 1e-9))
    data["sample_weight"] = np.where(np.arange(400) == 7, 1e6, 1.0)
    with pytest.raises(ValueError, match=r"`sample_weight`.*a few large"):
        summary_of(data).save(io.BytesIO())


def test_fewer_than_fifty_examples_are_not_saved(rng, tmp_path):
    for kind in KINDS:
        with pytest.raises(ValueError, match=r"50 examples.*Received: 49$"):
            summary_of(predictions(rng, kind, 49)).save(tmp_path / "file")
        saved(summary_of(predictions(rng, kind, 50)))
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"50 examples.*Received: 0$"):
        um.Summary().save(tmp_path / "file")


@pytest.mark.parametrize("weight", [None, 10.0, 0.1])
def test_cells_of_five_stay_and_cells_of_four_are_joined(weight):
    """Weights that are all equal change nothing."""

    def loaded(correct, confidences):
        weights = {} if weight is None else {"sample_weight": [weight] * len(correct)}
        return saved(
            summary_of({"correct": correct, "confidences": confidences, **weights})
        )[0]

    scores = np.repeat(np.arange(1, 11) / 20, 5)
    scores[:10] = np.repeat([0.9, 0.3], 5)
    five = loaded([1] * 4 + [0] + [1] * 3 + [0] * 2 + [1] * 40, scores)
    (cells,) = five.decisions._groups()
    expected = np.unique(scores)
    np.testing.assert_allclose(cells.scores, expected)
    scores = np.concatenate([np.repeat([0.9, 0.3], 4), np.full(42, 0.95)])
    four = loaded([1] * 3 + [0] + [1] * 2 + [0] * 2 + [1] * 42, scores)
    (cells,) = four.decisions._groups()
    np.testing.assert_allclose(cells.scores, [0.6, 0.95])


def test_rare_classes_share_their_brier_scores_by_weight(rng):
    """Classes 1 and 2 have four examples and one; a third has the standard error."""
    labels = np.array([0] * 45 + [1] * 4 + [2])
    p = np.tile([0.7, 0.2, 0.1], (50, 1))
    summary = summary_of({"labels": labels, "probabilities": p})
    loaded, arrays = saved(summary)
    b = np.sum((p - np.eye(3)[labels]) ** 2, axis=1)
    together = labels > 0
    b = np.where(together, b[together].mean(), b)
    constant = 1 - 2 * np.bincount(labels)[labels] / 50
    constant = constant + np.sum((np.bincount(labels) / 50) ** 2)
    cross = np.mean(constant * b)
    of_squares = np.mean(np.sum((p - np.eye(3)[labels]) ** 2, axis=1) ** 2)
    spread = np.mean(constant**2) - 2 * cross + of_squares - np.mean(constant - b) ** 2
    found = loaded.brier_gain()[0]
    np.testing.assert_allclose(found.mean, np.mean(constant - b))
    np.testing.assert_allclose(found.standard_error, np.sqrt(spread / 50))
    assert np.isclose(arrays["sums"][10, 1], 4 * b[-1])


def test_too_few_decisions_take_those_for_the_most_frequent_class_with_them():
    """Class 2 is decided twice; the block of the six decisions for class 1 stays."""
    decided = np.array([0] * 42 + [1] * 6 + [2] * 2)
    top = np.concatenate([np.linspace(0.5, 0.91, 42), np.full(6, 0.8), [0.6, 0.7]])
    p = np.tile((1 - top[:, None]) / 2, 3)
    p[range(50), decided] = top
    _, arrays = saved(summary_of({"labels": decided, "probabilities": p}))
    groups, _, weights, scores, _ = arrays["decided"]
    of_class = {k: (weights[groups == k], scores[groups == k]) for k in (1, 2, 3)}
    np.testing.assert_allclose(of_class[1], [[6], [4.8]])
    assert of_class[2][0].size == 0
    # The least confident block of class 0 has its five lowest scores.
    np.testing.assert_allclose(of_class[3], [[7], [top[:5].sum() + 1.3]])


def test_a_block_of_cells_of_a_file_has_the_least_score_of_all_of_them():
    """Not that of the first cell: a cell may stand for scores far below it."""
    cells = _private_cells._Fine(
        np.array([5, 6]), np.full((5, 2), [[3.0], [1.5], [1], [3], [1]])
    )
    known = np.full(9, 0.5)
    known[5:7] = 0.4, 0.1
    blocks = _private_cells._blocks(0, cells, np.array([0]), 0.45, known.__getitem__)
    (least,) = blocks.least
    assert least == 0.1


def test_a_rare_class_shares_its_brier_scores_with_the_next_rarest(rng):
    labels = np.repeat([0, 1, 2], [40, 8, 2])
    p = rng.dirichlet(np.ones(3), 50)
    _, arrays = saved(summary_of({"labels": labels, "probabilities": p}))
    b = np.bincount(labels, np.sum((p - np.eye(3)[labels]) ** 2, axis=1))
    together = (b[1] + b[2]) / 10
    expected = [b[0], 8 * together, 2 * together]
    found = _sums_by_class.named(arrays["sums"])["ww_b"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.first(2, "thorough")
@pytest.mark.parametrize("kind", ["two classes", "four classes"])
@weighted_or_not
@pytest.mark.parametrize("n", [50, 400])
def test_conformal_quantiles_of_a_file_are_never_too_small(kind, weighted, n, rng):
    for _ in range(5):
        data = predictions(rng, kind, n, weighted)
        summary = summary_of(data)
        loaded, _ = saved(summary)
        both = saved(loaded + loaded)[0]
        again = um.ScoreSketch.load(io.BytesIO(bytes_of(loaded.classes)))
        for alpha in (0.02, 0.1, 0.3, 0.8):
            found = loaded.classes.conformal_quantile(alpha)
            assert found >= summary.classes.conformal_quantile(alpha) - 1e-3
            assert again.conformal_quantile(alpha) == found
            if not weighted:
                scores = np.sort(1 - data["probabilities"][range(n), data["labels"]])
                rank = int(np.ceil((n + 1) * (1 - alpha) - 1e-9))
                assert found >= (scores[rank - 1] if rank <= n else np.inf)
                twice = np.repeat(scores, 2)
                rank = int(np.ceil((2 * n + 1) * (1 - alpha) - 1e-9))
                assert both.classes.conformal_quantile(alpha) >= (
                    twice[rank - 1] if rank <= 2 * n else np.inf
                )


def test_a_cell_of_two_blocks_of_a_file_has_the_lower_of_their_least_scores():
    """Decisions for class 0 and other probabilities of it, both with the mean 0.386."""
    low, high = (0.335, 0.3325, 0.3325), (0.42, 0.29, 0.29)
    p = [low] * 2 + [high] * 3 + [(0.386, 0.5, 0.114)] * 5 + [(0.38, 0.5, 0.12)] * 5
    p += [(0.1, 0.8, 0.1)] * 35
    labels = np.repeat([0, 1], [5, 45])
    loaded, _ = saved(summary_of({"labels": labels, "probabilities": np.array(p)}))
    cells = loaded.classes._groups()[0]
    np.testing.assert_allclose(cells.scores, [0.1, 0.38, 0.386])
    assert loaded.classes._least_at(cells.places)[2] <= 0.335


@pytest.mark.parametrize("kind", ["two classes", "four classes"])
def test_cells_of_two_files_have_the_lower_of_their_least_scores(kind, rng):
    """Or the quantile of the sum could be too small for the examples of one file."""
    days = [saved(summary_of(predictions(rng, kind, n)))[0].classes for n in (60, 300)]
    for total in (days[0] + days[1], days[1] + days[0]):
        for day in days:
            places = day._content.sums.places
            assert np.all(total._least_at(places) <= day._content.least)


def bytes_of(sketch):
    file = io.BytesIO()
    sketch.save(file)
    return file.getvalue()


# Differential privacy.


def test_noise_is_discrete_laplace():
    """By its mean, absolute values and the largest distance of the distribution."""
    n = 4000
    for scale in (Fraction(1, 2), Fraction(7, 3), Fraction(1) / Fraction(0.1)):
        x = _discrete_laplace.noise(scale, (n,), random.Random(3))
        q = np.exp(-1 / float(scale))
        mean_size, variance = 2 * q / (1 - q**2), 2 * q / (1 - q) ** 2
        assert np.all(x == np.rint(x))
        assert abs(x.mean()) < 5 * np.sqrt(variance / n)
        spread = np.sqrt(variance - mean_size**2)
        assert abs(np.abs(x).mean() - mean_size) < 5 * spread / np.sqrt(n)
        values = np.arange(-30, 31)
        mass = (1 - q) / (1 + q) * q ** np.abs(values)
        below = q**31 / (1 + q)
        found = np.searchsorted(np.sort(x), values, side="right") / n
        # The bound of Dvoretzky, Kiefer and Wolfowitz, for one in a million.
        assert np.abs(found - below - np.cumsum(mass)).max() < np.sqrt(
            np.log(2e6) / (2 * n)
        )


def test_noise_is_not_repeated():
    first, second = (_discrete_laplace.noise(Fraction(100), (40,)) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_one_example_changes_the_counts_by_as_much_as_the_noise_is_for(
    kind, rng, monkeypatch
):
    """All that a file says comes from the counts that get noise."""
    data = predictions(rng, kind, 90)
    seen = []

    def recorded(scale, shape):
        seen.append((scale, shape))
        return np.zeros(shape)

    counted = []
    counts_of = _private_counts._counts

    def remembered(*arguments):
        counted.append(counts_of(*arguments))
        return counted[-1]

    monkeypatch.setattr(_discrete_laplace, "noise", recorded)
    monkeypatch.setattr(_private_counts, "_counts", remembered)
    found = []
    for n in (90, 89):
        counted.clear()
        saved(summary_of({name: x[:n] for name, x in data.items()}), private=2.0)
        found.append(np.concatenate([counts.reshape(-1) for counts in counted]))
    sensitivity = {"two classes": 1, "four classes": 5, "answers": 1}[kind]
    assert np.abs(found[0] - found[1]).sum() == sensitivity
    assert {scale for scale, _ in seen} == {Fraction(sensitivity, 2)}
    assert sum(np.prod(shape) for _, shape in seen[: len(seen) // 2]) == found[0].size


@pytest.mark.parametrize("kind", KINDS)
def test_private_answers_are_near_those_of_the_examples(kind, rng):
    n = 20_000
    summary = summary_of(predictions(rng, kind, n))
    loaded, arrays = saved(summary, private=4.0)
    # Noise and bins: a share of a percent, and more for the sums over four classes.
    means, expected = loaded.means(), summary.means()
    for name in ("accuracy", "mean_confidence", "gap", "brier_score"):
        assert abs(means[name].mean - expected[name].mean) < 0.05
    assert abs(loaded.num_examples / n - 1) < 0.05
    assert abs(loaded.decisions.ece(num_bins=10) - summary.decisions.ece()) < 0.03
    np.testing.assert_allclose(
        means["gap"].standard_error, expected["gap"].standard_error, rtol=0.1
    )
    assert means["brier_score"].standard_error > 0.8 * (
        expected["brier_score"].standard_error
    )
    assert np.all(arrays["decided"][3] <= arrays["decided"][2])
    if kind == "four classes":  # Each count has its noise, but all have one total.
        totals = np.bincount(arrays["others"][0].astype(int), arrays["others"][2])
        np.testing.assert_allclose(totals, loaded.num_examples, rtol=1e-9)
        np.testing.assert_allclose(arrays["decided"][2].sum(), totals[0], rtol=1e-9)
    again, _ = saved(loaded + saved(summary, private=1.0)[0])
    assert (loaded.private, again.private, summary.private) == (4.0, 4.0, None)
    with pytest.raises(ValueError, match="only to another one"):
        loaded + summary


def test_private_needs_new_examples_without_weights(rng):
    data = predictions(rng, "two classes", 100)
    summary = summary_of(data)
    for wrong in (0, -1.0, np.inf, np.nan, True, "1"):
        with pytest.raises(ValueError, match="`private` must be a finite number > 0"):
            summary.save(io.BytesIO(), private=wrong)
    weighted = summary_of({**data, "sample_weight": np.full(100, 2.0)})
    for other in (weighted, saved(summary)[0], saved(summary)[0] + summary):
        with pytest.raises(ValueError, match="without weights and clusters, not"):
            other.save(io.BytesIO(), private=1.0)
    with pytest.raises(ValueError, match="50 examples or more"):
        summary_of({n: x[:10] for n, x in data.items()}).save(io.BytesIO(), 10.0)


def test_private_conformal_quantiles_are_not_too_small_for_the_scores_in_a_bin(
    monkeypatch,
):
    """Without noise: 0.301 is below the middle of its bin, the first of a block."""
    monkeypatch.setattr(_discrete_laplace, "noise", lambda _, shape: np.zeros(shape))
    p, labels = np.repeat([0.295, 0.301], 30), np.repeat([0, 1], 30)
    data = {"labels": labels, "probabilities": np.stack([1 - p, p], axis=1)}
    loaded, _ = saved(summary_of(data), private=100.0)
    assert loaded.classes.conformal_quantile(0.1) >= 1 - 0.301


def test_the_most_frequent_label_takes_what_is_left_by_rounding():
    """A label that does not occur would have -1 examples, which no file may have."""
    sums = np.array([[100.0], [80], [75], [100], [75]])
    decided = _private_cells.Blocks(np.array([4]), sums, np.array([0.25]))
    labels = np.array([33.6, 34.4, 31.6, 0.4])
    found = _private_counts._sums(decided, labels, np.zeros(4), 0.0, 0.0, 0.0)
    assert found[0].tolist() == [34, 34, 32, 0]
    labels = np.array([33.6, 33.7, 32.6, 0.1])
    found = _private_counts._sums(decided, labels, np.zeros(4), 0.0, 0.0, 0.0)
    assert found[0].tolist() == [33, 34, 33, 0]


@pytest.mark.parametrize("kind", ["answers", "two classes"])
def test_without_noise_sums_of_scores_in_the_middle_of_bins_are_exact(
    kind, monkeypatch
):
    monkeypatch.setattr(_discrete_laplace, "noise", lambda _, shape: np.zeros(shape))
    p = np.repeat([0.105, 0.705], [60, 20])
    y = np.concatenate([np.arange(60) < 6, np.arange(20) < 14]).astype(int)
    data = {"correct": y, "confidences": p}
    if kind == "two classes":
        data = {"labels": y, "probabilities": np.stack([1 - p, p], axis=1)}
    _, arrays = saved(summary_of(data), private=100.0)
    found = _sums_by_class.named(arrays["sums"])
    right, sure = y, p
    if kind == "two classes":
        right, sure = (p > 0.5) == y, np.maximum(p, 1 - p)
    b = (1 + (kind == "two classes")) * (y - p) ** 2
    likelihood = -np.log(np.where(y, p, 1 - p))
    expected = {
        **{"right": right.sum(), "confidence": sure.sum()},
        **{"w_gap": (right - sure).sum(), "ww_gap_gap": ((right - sure) ** 2).sum()},
        **{"w_b": b.sum(), "ww_b_b": (b**2).sum()},
        **{"w_l": likelihood.sum(), "ww_l_l": (likelihood**2).sum()},
    }
    for name, value in expected.items():
        assert found[name].sum() == pytest.approx(value, rel=1e-9), name
    np.testing.assert_array_equal(found["examples"], np.bincount(y))
    np.testing.assert_allclose(found["ww_b"], np.bincount(y, b), rtol=1e-9)
