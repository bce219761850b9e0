"""Mahalanobis distances: scikit-learn, batches, singular data, errors and files."""

import io
import json

import numpy as np
import pytest
from scipy import linalg
from sklearn.covariance import EmpiricalCovariance

import uncertainty_metrics.numpy as um
from uncertainty_metrics.numpy.selective import mahalanobis


def clusters(rng, n=200, size=5):
    """Makes correlated features around the means of the classes 1, 4 and 7."""
    classes = np.array([1, 4, 7])
    labels = classes[rng.integers(0, 3, n)]
    means = 3 * rng.normal(size=(8, size))
    noise = rng.normal(size=(n, size)) @ rng.normal(size=(size, size))
    return 100 + means[labels] + noise, labels


def fitted(features, labels, batch=None):
    made = um.Mahalanobis()
    for start in range(0, len(labels), batch or len(labels)):
        block = slice(start, start + (batch or len(labels)))
        made.update(features[block], labels[block])
    return made


def reference(features, labels, points):
    """Returns the distances by scikit-learn, absolute and relative."""
    classes = np.unique(labels)
    means = np.stack([features[labels == k].mean(axis=0) for k in classes])
    deviations = features - means[np.searchsorted(classes, labels)]
    shared = EmpiricalCovariance(assume_centered=True).fit(deviations)
    nearest = np.min([shared.mahalanobis(points - mean) for mean in means], axis=0)
    return nearest, nearest - EmpiricalCovariance().fit(features).mahalanobis(points)


@pytest.mark.parametrize("batch", [None, 1, 7])
def test_equals_scikit_learn(batch, rng, monkeypatch):
    monkeypatch.setattr(mahalanobis, "_BLOCK", 100)  # Points are in several blocks.
    features, labels = clusters(rng)
    points = 100 + 5 * rng.normal(size=(60, 5))
    made = fitted(features, labels, batch)
    for relative, expected in zip(
        (False, True), reference(features, labels, points), strict=True
    ):
        scores = made.score(points.reshape(3, 20, 5), relative=relative)
        np.testing.assert_allclose(scores.reshape(-1), expected, rtol=1e-9, atol=1e-9)
    assert made.classes.tolist() == [1, 4, 7]
    np.testing.assert_allclose(made.means[1], features[labels == 4].mean(axis=0))
    deviations = features - made.means[np.searchsorted(made.classes, labels)]
    np.testing.assert_allclose(made.covariance, deviations.T @ deviations / 200)
    assert made.score(points[0]) == pytest.approx(made.score(points)[0])


def test_by_hand():
    """One feature deviates by 1 from means of 0 and 10, so its variance is 1."""
    made = fitted(np.array([[-1.0], [1.0], [9.0], [11.0]]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(made.score([[3.0], [8.0]]), [9, 4])
    # All examples together have a mean of 5 and a variance of 1 + 25.
    found = made.score([[3.0], [8.0]], relative=True)
    np.testing.assert_allclose(found, [9 - 4 / 26, 4 - 9 / 26])


def test_units_of_features_do_not_matter(rng):
    features, labels = clusters(rng)
    units = np.array([1e-100, 1e-9, 1.0, 1e9, 1e100])
    expected = fitted(features, labels).score(features)
    found = fitted(features * units, labels).score(features * units)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_directions_without_variance_do_not_count(rng):
    features, labels = clusters(rng, n=400)
    plain = fitted(features, labels)
    # Features that are constant, constant within a class, and a sum of two others.
    dead = np.full(400, 0.1)
    more = [dead, 0.1 * labels, features[:, 0] + features[:, 1]]
    singular = fitted(np.column_stack([features, *more]), labels)
    points = 100 + 5 * rng.normal(size=(50, 5))
    total = points[:, 0] + points[:, 1]
    rows = np.column_stack([points, rng.normal(size=(50, 2)), total])
    np.testing.assert_allclose(singular.score(rows), plain.score(points), rtol=1e-7)
    # With fewer examples than features, the pseudo-inverse of the correlations is used.
    few, labels = rng.normal(size=(4, 6)), np.zeros(4, int)
    deviations = few - few.mean(axis=0)
    stddevs = deviations.std(axis=0)
    inverse = linalg.pinvh(np.corrcoef(deviations.T))
    points = rng.normal(size=(9, 6))
    scaled = (points - few.mean(axis=0)) / stddevs
    expected = np.einsum("ni,ij,nj->n", scaled, inverse, scaled)
    np.testing.assert_allclose(fitted(few, labels).score(points), expected, rtol=1e-9)


def test_distances_detect_points_far_away(rng):
    features, labels = clusters(rng, n=1000)
    made = fitted(features[:500], labels[:500])
    far = 100 + 12 * rng.normal(size=(500, 5))
    outside = np.repeat([0, 1], 500)
    for relative in (False, True):
        scores = made.score(np.concatenate([features[500:], far]), relative=relative)
        assert um.auroc(outside, scores) > 0.9


def test_refused_batches_do_not_change_the_sums(rng):
    features, labels = clusters(rng)
    made = fitted(features, labels)
    expected = made.score(features)
    huge = np.where(np.arange(200)[:, None] == 9, 1e200, features)
    tiny = 1e-200 * features
    for wrong, name in (
        ((features[:, :3], labels), r"`features` must be .* \[\.\.\., 5\]"),
        ((features, labels[:9]), "`labels` must be of shape"),
        ((labels, features), "`features` must be"),
        ((features[:0], labels[:0]), "`features` must be .* with at least one"),
        (
            (np.where(features > 103, np.nan, features), labels),
            "`features` must be fin",
        ),
        ((features, labels - 2), "`labels` must be integers"),
        ((features, labels + 0.5), "`labels` must be integers"),
        ((huge, labels), "`features` must be of a size"),
        ((tiny, labels), "`features` must be of a size"),
    ):
        with pytest.raises(ValueError, match=name) as raised:
            (um.Mahalanobis() if wrong[0] is tiny else made).update(*wrong)
        assert "Received" in str(raised.value)
    for wrong, name in (
        (features[:, :3], "`features` must be"),
        (features * np.inf, "`features` must be finite"),
        (features * 1e200, "`features` must be of a size"),
    ):
        with pytest.raises(ValueError, match=name):
            made.score(wrong)
    with pytest.raises(ValueError, match="`relative` must be True or False"):
        made.score(features, relative=1)
    np.testing.assert_array_equal(made.score(features), expected)
    for asked in (um.Mahalanobis().score, um.Mahalanobis().save):
        with pytest.raises(ValueError, match="call `update` first"):
            asked(features)
    same = fitted(np.ones((3, 2)), np.zeros(3, int))
    with pytest.raises(ValueError, match="the same features in each class"):
        same.score([[1.0, 1.0]])


def test_loaded_distances_continue_and_damaged_files_raise(rng):
    features, labels = clusters(rng)
    made = fitted(features[:150], labels[:150])
    file = io.BytesIO()
    made.save(file)
    loaded = um.Mahalanobis.load(io.BytesIO(file.getvalue()))
    for one in (made, loaded):
        one.update(features[150:], labels[150:])
    np.testing.assert_array_equal(loaded.score(features), made.score(features))

    with np.load(io.BytesIO(file.getvalue())) as archive:
        entries = dict(archive)
    header = json.loads(entries.pop("header").item())
    for change in (
        {"means": entries["means"][:, :2]},
        {"counts": -entries["counts"]},
        {"classes": entries["classes"][::-1]},
        {"scatter": np.full_like(entries["scatter"], np.nan)},
        {"scatter": np.triu(entries["scatter"])},
        {"origin": entries["origin"].astype(np.float32)},
    ):
        damaged = io.BytesIO()
        text = np.array(json.dumps(header))
        np.savez(damaged, header=text, **{**entries, **change})
        with pytest.raises(ValueError, match=r"`Mahalanobis\.save`"):
            um.Mahalanobis.load(io.BytesIO(damaged.getvalue()))
    with pytest.raises(ValueError, match=r"`Mahalanobis\.save`"):
        um.Mahalanobis.load(io.BytesIO(b"text"))
