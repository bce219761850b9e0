"""Venn-Abers calibration against isotonic fits that include the new example."""

import fractions
import io

import numpy as np
import pytest
from scipy import special
from sklearn.isotonic import IsotonicRegression

import uncertainty_metrics.numpy as um
from studies import venn_abers


def fits_with(p, labels, weights, new):
    """Returns p0 and p1 [2, n] of n new scores, from two isotonic regressions each."""
    found = np.zeros((2, len(new)))
    kept = np.append(weights, 1) > 0
    for i, score in enumerate(new):
        for label in (0, 1):
            fit = IsotonicRegression().fit(
                np.append(p, score)[kept],
                np.append(labels, label)[kept],
                sample_weight=np.append(weights, 1)[kept],
            )
            found[label, i] = fit.predict([score])[0]
    return found


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_interval_has_the_values_of_two_isotonic_fits(ties, weighted, rng):
    for n in (1, 2, 3, 6, 12, 25, 60):
        p = rng.integers(0, 7, n) / 6 if ties else rng.random(n)
        labels = (rng.random(n) < rng.choice([0.5, p.mean()])).astype(int)
        weights = np.ones(n)
        if weighted:
            weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
            weights[0] = 1.0
        new = np.concatenate([p[:8], rng.random(6), [0.0, 1.0]])
        map = um.VennAbersCalibration()
        map.fit(labels, probabilities=p, sample_weight=weights if weighted else None)
        found = np.array(map.predict_interval(probabilities=new))
        np.testing.assert_allclose(
            found, fits_with(p, labels, weights, new), atol=1e-12
        )
        p0, p1 = found
        assert np.all(p0 < p1)
        q = map.transform(probabilities=new)
        np.testing.assert_allclose(q, p1 / (1 - p0 + p1), rtol=1e-14)
        assert np.all((q > 0) & (q < 1))


def test_labels_of_one_class_and_one_example():
    map = um.VennAbersCalibration().fit([1] * 4, probabilities=[0.2, 0.4, 0.6, 0.8])
    p0, p1 = map.predict_interval(probabilities=[0.1, 0.4, 0.9])
    # A miss is pooled with the hits up to it: with two of the four at 0.4.
    np.testing.assert_allclose(p0, [0, 2 / 3, 4 / 5], atol=1e-15)
    np.testing.assert_array_equal(p1, 1)
    map.fit([0], probabilities=[0.5])
    p0, p1 = map.predict_interval(probabilities=[0.4, 0.5, 0.6])
    np.testing.assert_array_equal(p0, 0)
    np.testing.assert_array_equal(p1, [0.5, 0.5, 1.0])


def test_many_equal_slopes_and_large_weights(rng):
    n = 3000
    p, labels = np.arange(n) / n, np.arange(n) % 2  # Every slope occurs many times.
    weights = np.full(n, 1e290)
    map = um.VennAbersCalibration().fit(labels, probabilities=p)
    p0, p1 = map.predict_interval(probabilities=[0.5, 0.51234])
    np.testing.assert_allclose(
        [p0, p1], fits_with(p, labels, np.ones(n), [0.5, 0.51234]), atol=1e-12
    )
    map.fit(labels, probabilities=p, sample_weight=weights)
    p0, p1 = map.predict_interval(probabilities=p)
    expected = um.IsotonicCalibration().fit(labels, probabilities=p)
    np.testing.assert_allclose(p0, p1, atol=1e-9)
    np.testing.assert_allclose(p0, expected.transform(probabilities=p), atol=1e-9)


def exact_fits(weights, labels, i):
    """Returns p0 and p1 at the distinct score i, as fractions: isotonic regression is
    the largest, over starts, of the smallest mean, over ends, of blocks around i.
    """
    weights = [fractions.Fraction(weight) for weight in weights]
    for label in (0, 1):
        outcomes, masses = (
            [w * y for w, y in zip(weights, labels, strict=True)],
            list(weights),
        )
        outcomes[i], masses[i] = outcomes[i] + label, masses[i] + 1
        yield max(
            min(
                sum(outcomes[start:end]) / sum(masses[start:end])
                for end in range(i + 1, len(weights) + 1)
            )
            for start in range(i + 1)
        )


def test_fractional_and_extreme_weights_give_the_exact_fits(rng):
    """Rounded sums of such weights gave fits outside [0, 1], and divisions by 0."""
    makers = (lambda n: rng.random(n), lambda n: 10.0 ** rng.uniform(-20, 20, n))
    weights_of_cases = [make(rng.integers(1, 9)) for make in makers * 30]
    weights_of_cases += [np.array([1, 1e-20]), np.full(9, 0.1), np.full(2, 1e-300)]
    for weights in weights_of_cases:
        n = len(weights)
        p, labels = np.sort(rng.random(n)), rng.integers(0, 2, n)
        map = um.VennAbersCalibration()
        map.fit(labels, probabilities=p, sample_weight=weights)
        found = map.predict_interval(probabilities=p)
        expected = [list(exact_fits(weights, labels.tolist(), i)) for i in range(n)]
        expected = np.array(expected, dtype=np.float64).T
        # The second fit has its full precision, the first that of the rounding of 1.
        np.testing.assert_allclose(found[0], expected[0], atol=1e-15)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
        assert np.all(np.less(*found))
        q = map.transform(probabilities=p)
        assert np.all((q > 0) & (q < 1))
        file = io.BytesIO()
        map.save(file)
        file.seek(0)
        again = um.VennAbersCalibration.load(file)
        np.testing.assert_array_equal(again.predict_interval(probabilities=p), found)


def test_slopes_that_differ_by_less_than_rounding_are_told_apart():
    """The slopes from the start to the second and to the third score round to the same
    number, but only the first two scores are pooled.
    """
    map = um.VennAbersCalibration()
    map.fit([1, 0, 1], probabilities=[0.1, 0.2, 0.3], sample_weight=[1e17, 1e20, 2])
    pooled = 1e17 / (1e17 + 1e20)
    p0, p1 = map.predict_interval(probabilities=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(p0, [pooled, pooled, 2 / 3], rtol=1e-12)
    np.testing.assert_allclose(p1, [pooled, pooled, 1], rtol=1e-12)


def test_fractions_of_weights_whose_sum_is_whole_count():
    map = um.VennAbersCalibration()
    map.fit([1, 0], probabilities=[0.5, 0.5], sample_weight=[0.25, 0.75])
    p0, p1 = map.predict_interval(probabilities=[0.5])
    assert (p0.item(), p1.item()) == (0.25 / 2, 1.25 / 2)


def test_logits_and_probabilities_of_all_shapes_and_types(rng):
    labels = rng.integers(0, 2, 60)
    margins = rng.normal(size=60) + labels
    p = special.expit(margins)
    pairs = np.stack([1 - p, p], axis=1)
    one = um.VennAbersCalibration().fit(labels, probabilities=p)
    q, (p0, p1) = one.transform(probabilities=p), one.predict_interval(probabilities=p)
    both = um.VennAbersCalibration().fit(labels, probabilities=pairs)
    np.testing.assert_array_equal(both.transform(probabilities=pairs)[:, 1], q)
    np.testing.assert_allclose(both.transform(probabilities=pairs).sum(axis=1), 1)
    np.testing.assert_array_equal(both.predict_interval(probabilities=pairs), (p0, p1))
    images = pairs.reshape(6, 10, 2)
    shaped = both.predict_interval(probabilities=images)
    np.testing.assert_array_equal(np.reshape(shaped, (2, 60)), (p0, p1))
    column = um.VennAbersCalibration().fit(labels, probabilities=p[:, None])
    assert column.transform(probabilities=p[:, None]).shape == (60, 1)
    assert column.predict_interval(probabilities=p[:, None])[0].shape == (60, 1)
    assert column.predict_interval(probabilities=p[3])[0].shape == ()
    logits = um.VennAbersCalibration().fit(labels, margins)
    np.testing.assert_allclose(special.expit(logits.transform(margins)), q, rtol=1e-9)
    np.testing.assert_allclose(logits.predict_interval(margins), (p0, p1), rtol=1e-9)
    rows = np.stack([np.zeros(60), margins], axis=1)
    of_rows = um.VennAbersCalibration().fit(labels, rows).transform(rows)
    np.testing.assert_allclose(special.softmax(of_rows, axis=1)[:, 1], q, rtol=1e-9)
    for dtype in (np.float16, np.float32):
        narrow = p.astype(dtype)
        map = um.VennAbersCalibration().fit(labels, probabilities=narrow)
        assert map.transform(probabilities=narrow).dtype == dtype
        wide = um.VennAbersCalibration()
        wide.fit(labels, probabilities=narrow.astype(np.float64))
        np.testing.assert_allclose(
            map.predict_interval(probabilities=narrow),
            wide.predict_interval(probabilities=narrow.astype(np.float64)),
        )


def test_weights_are_repetition_and_order_does_not_matter(rng):
    p, labels, weights = rng.random(40), rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    again = rng.permutation(np.repeat(np.arange(40), weights))
    expected = um.VennAbersCalibration().fit(labels[again], probabilities=p[again])
    shown = np.where(weights > 0, p, np.nan)
    map = um.VennAbersCalibration()
    map.fit(labels, probabilities=shown, sample_weight=weights)
    for x in (
        map,
        map.fit(
            np.where(weights > 0, labels, 5),
            probabilities=shown,
            sample_weight=weights,
            ignore_index=5,
        ),
    ):
        np.testing.assert_allclose(
            x.predict_interval(probabilities=p),
            expected.predict_interval(probabilities=p),
            atol=1e-14,
        )


def test_wrong_arguments_are_refused(rng):
    map = um.VennAbersCalibration()
    with pytest.raises(ValueError, match="call `fit` first"):
        map.predict_interval(probabilities=[0.5])
    with pytest.raises(ValueError, match=r"`probabilities` must have two classes.*: 3"):
        map.fit([0, 1, 2], probabilities=np.eye(3))
    assert not map.is_fitted
    map.fit([0, 1], probabilities=[0.2, 0.7])
    with pytest.raises(ValueError, match="Exactly one of `logits` and `probabil"):
        map.predict_interval()
    with pytest.raises(ValueError, match=r"`probabilities` must be in \[0, 1\]"):
        map.predict_interval(probabilities=[1.5])
    with pytest.raises(
        ValueError, match="`probabilities` must be predictions of class 1"
    ):
        map.predict_interval(probabilities=[[0.5, 0.5]])


def test_files_are_loaded_and_damaged_files_refused(rng):
    labels, p = rng.integers(0, 2, 50), rng.random(50)
    map = um.VennAbersCalibration().fit(labels, probabilities=p)
    file = io.BytesIO()
    map.save(file)
    file.seek(0)
    again = um.VennAbersCalibration.load(file)
    np.testing.assert_array_equal(
        again.predict_interval(probabilities=p), map.predict_interval(probabilities=p)
    )
    assert again.optimality_gap == 0
    for name, wrong in (
        ("lower", np.zeros(49)),
        ("lower", np.linspace(1, 0, 50)),
        ("upper", np.linspace(0, 2, 50)),
        ("upper", map._arrays["lower"]),
        ("scores", np.full(50, np.nan)),
        ("scores", np.zeros((2, 25))),
    ):
        file = io.BytesIO()
        changed = um.VennAbersCalibration().fit(labels, probabilities=p)
        changed._arrays = {**map._arrays, name: wrong}
        changed.save(file)
        file.seek(0)
        with pytest.raises(ValueError, match="a file that `save` wrote for"):
            um.VennAbersCalibration.load(file)


@pytest.mark.parametrize("n", [5, 50])
@pytest.mark.parametrize("model", venn_abers.MODELS)
def test_the_end_that_belongs_to_the_label_is_calibrated(model, n, rng):
    sums = []
    for _ in range(250):
        fit, new = venn_abers.draw(rng, model, n), venn_abers.draw(rng, model, 100)
        map = um.VennAbersCalibration().fit(fit.labels, probabilities=fit.p)
        sums.append(venn_abers.residuals(new.labels, venn_abers.own_ends(map, new)))
    assert np.max(np.abs(venn_abers.standard_errors(np.array(sums)))) < 5


def test_log_loss_is_finite_and_few_examples_give_better_maps_than_isotonic_ones(rng):
    gains = []
    for _ in range(60):
        fit, new = venn_abers.draw(rng, "bent", 60), venn_abers.draw(rng, "bent", 300)
        squared = []
        for cls in (um.IsotonicCalibration, um.VennAbersCalibration):
            map = cls().fit(fit.labels, probabilities=fit.p)
            q = map.transform(probabilities=new.p)
            distance, log_loss = venn_abers.distances(new, q)
            squared.append(distance)
        assert log_loss < np.inf
        gains.append(squared[0] - squared[1])
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(60)
