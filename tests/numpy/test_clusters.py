"""Ids of clusters become codes, codes become sums and signs."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy import _clusters

IDS = np.repeat(np.arange(25), 3)


def same_partition(codes, ids):
    """Says if two columns cut the examples into the same clusters."""
    pairs = set(zip(codes.tolist(), list(ids), strict=True))
    return len(pairs) == len(set(codes.tolist())) == len(set(ids))


@pytest.mark.parametrize(
    "ids",
    [
        IDS,
        IDS[::-1].astype(np.uint8),
        IDS * 10**12 - 7,
        IDS.astype(np.float32),
        IDS.tolist(),
        [f"question {i}" for i in IDS],
        np.array([f"question {i}" for i in IDS]),
        np.array([f"question {i}" for i in IDS], object),
        np.datetime64("2020-01-01") + IDS,
        np.iinfo(np.int64).max - IDS,
        np.iinfo(np.uint64).max - IDS.astype(np.uint64),
        (10 * IDS - 125).astype(np.int8),  # The largest difference is 240.
    ],
    ids=lambda ids: f"{type(ids).__name__} {getattr(ids, 'dtype', '')}",
)
def test_codes_cut_the_examples_as_the_ids_do(ids):
    codes, number = _clusters.cluster_codes(ids, len(IDS))
    assert number == 25
    assert codes.dtype == np.int64
    assert same_partition(codes, np.asarray(ids).tolist())
    assert sorted(set(codes.tolist())) == list(range(25))


def test_ids_of_images_are_those_of_their_pixels():
    codes, number = _clusters.cluster_codes(np.arange(30), (30, 2, 3))
    assert number == 30
    np.testing.assert_array_equal(codes, np.repeat(np.arange(30), 6))


def test_only_examples_that_count_have_clusters():
    counted = IDS >= 5
    codes, number = _clusters.cluster_codes(IDS, len(IDS), counted)
    assert number == 20
    assert len(codes) == np.sum(counted)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([1, 2], ValueError, "shape"),
        ([1.5] * 75, ValueError, "not fractions"),
        ([np.nan, *IDS[1:]], ValueError, "an id for each example"),
        ([None, *map(str, IDS[1:])], ValueError, "an id for each example"),
        (["a", *IDS[1:].tolist()], TypeError, "integers, or strings"),
        (np.ma.masked_equal(IDS, 3), ValueError, "an id for each example"),
        ([7] * 75, ValueError, "at least two ids"),
        ([datetime.timedelta(1)] * 75, TypeError, "integers, or strings"),
        (IDS * 1j, TypeError, "integers, or strings"),
    ],
)
def test_wrong_ids_are_refused(ids, error, message):
    with pytest.raises(error, match=message):
        _clusters.cluster_codes(ids, 75)


def test_a_warning_says_how_few_clusters_there_are():
    with pytest.warns(UserWarning, match="There are 19 clusters"):
        _clusters.cluster_codes(np.arange(40) % 19, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _clusters.cluster_codes(np.arange(40) % 20, 40)


def test_guarantees_that_hold_for_few_clusters_say_so():
    ids, x = np.arange(40) % 12, np.linspace(0, 1, 40)
    with pytest.warns(UserWarning, match="12 clusters.*the coverage holds"):
        um.conformal.conformal_quantile(x, 0.2, clusters=ids)
    with pytest.warns(UserWarning, match="12 clusters.*the guarantee holds"):
        um.threshold_at_risk(
            risk=0.2, delta=0.1, correct=x > 0.1, confidences=x, clusters=ids
        )


def test_sums_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(75, 2)), rng.permutation(IDS)
    expected = [values[codes == c].sum(axis=0) for c in range(25)]
    np.testing.assert_allclose(_clusters.cluster_sums(values, codes, 25), expected)
    np.testing.assert_allclose(
        _clusters.cluster_sums(values[:, 0], codes, 25), np.array(expected)[:, 0]
    )


def test_signs_are_fair_and_independent(monkeypatch):
    monkeypatch.setattr(_clusters, "_BLOCK", 1000)
    blocks = list(_clusters.flipped_signs(np.random.default_rng(0), 30, 4001))
    assert max(map(len, blocks)) <= 1000 // 30
    signs = np.concatenate(blocks)
    assert signs.shape == (4001, 30)
    assert np.all(np.abs(signs) == 1)
    sums = signs.T @ signs
    assert np.all(np.abs(signs.sum(axis=0)) < 5.5 * 4001**0.5)
    assert np.all(np.abs(sums[~np.eye(30, dtype=bool)]) < 5.5 * 4001**0.5)
