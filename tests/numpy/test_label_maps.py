"""Calibrators of several labels have a map for each, as if each were fitted alone."""

import io

import numpy as np
import pytest

import uncertainty_metrics.numpy as um

CALIBRATORS = {
    "platt": um.PlattScaling(),
    "beta": um.BetaCalibration(),
    "isotonic": um.IsotonicCalibration(),
    "histogram": um.HistogramBinning(num_bins=4),
    "venn_abers": um.VennAbersCalibration(),
}
every = pytest.mark.parametrize("name", CALIBRATORS)


def tags(rng, n=300, labels=3):
    """Makes labels 0 and 1, -1 for unknown, probabilities and weights."""
    p = rng.random([n, labels])
    y = (rng.random([n, labels]) < p ** np.arange(1, labels + 1)).astype(int)
    y[rng.random(y.shape) < 0.1] = -1
    return y, p, rng.gamma(1, size=n)


def new(name):
    return type(CALIBRATORS[name])(**CALIBRATORS[name].get_config())


@every
@pytest.mark.parametrize("form", ["probabilities", "logits"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_has_the_map_that_it_would_have_alone(name, form, weighted, rng):
    y, p, weights = tags(rng)
    given = p if form == "probabilities" else np.log(p / (1 - p))
    weights = weights if weighted else None
    options = {"ignore_index": -1, "sample_weight": weights}
    fitted = new(name).fit(y, **{form: given}, multilabel=True, **options)
    assert fitted.is_fitted
    assert len(fitted.maps) == 3
    found = fitted.transform(**{form: given})
    assert found.shape == given.shape
    for label in range(3):
        alone = new(name).fit(y[:, label], **{form: given[:, label]}, **options)
        expected = alone.transform(**{form: given[:, label]})
        np.testing.assert_array_equal(found[:, label], expected)
        assert alone.maps == ()
    # Of any shape.
    shaped = fitted.transform(**{form: given.reshape(3, 100, 3)})
    np.testing.assert_array_equal(shaped.reshape(300, 3), found)
    # The maps come back from a file.
    file = io.BytesIO()
    fitted.save(file)
    file.seek(0)
    loaded = type(fitted).load(file)
    np.testing.assert_array_equal(loaded.transform(**{form: given}), found)
    # Another fit replaces them.
    loaded.fit(y[:, 0], **{form: given[:, 0]}, **options)
    assert loaded.maps == ()
    assert loaded.transform(**{form: given[:, 0]}).shape == (300,)


def test_maps_of_labels_improve_the_likelihood_of_new_examples(rng):
    y, p, _ = tags(rng, 4000)
    fitted = um.BetaCalibration().fit(
        y[:2000], probabilities=p[:2000], multilabel=True, ignore_index=-1
    )
    options = {"multilabel": True, "ignore_index": -1}
    before = um.negative_log_likelihood(y[2000:], p[2000:], **options)
    better = fitted.transform(probabilities=p[2000:])
    assert um.negative_log_likelihood(y[2000:], better, **options) < before - 0.03
    assert um.sce(y[2000:], better, **options) < um.sce(y[2000:], p[2000:], **options)
    assert fitted.optimality_gap == max(x.optimality_gap for x in fitted.maps)


def test_wrong_labels_are_refused_and_change_nothing(rng):
    y, p, _ = tags(rng)
    fitted = um.PlattScaling().fit(y, None, p, multilabel=True, ignore_index=-1)
    maps = fitted.maps
    one = y.copy()
    one[:, 2] = 1
    for wrong, message in (
        (lambda: fitted.fit(y, None, p, multilabel=True), r"Label 0: `labels` must"),
        (
            lambda: fitted.fit(one, None, p, multilabel=True, ignore_index=-1),
            "Label 2: `labels` must hold two classes or more",
        ),
        (lambda: fitted.fit(y[:, 0], None, p[:, 0], multilabel=True), "multilabel"),
        (lambda: fitted.fit(y, None, p, multilabel=1), "`multilabel` must be"),
        (
            lambda: fitted.fit(probabilities=p, label_distributions=p, multilabel=True),
            "`label_distributions` must be None with `multilabel`",
        ),
        (lambda: fitted.fit(probabilities=p, multilabel=True), "`labels` must be 0"),
        (lambda: fitted.transform(probabilities=p[:, :2]), r"\[..., 3\], the labels"),
        (lambda: fitted.transform(probabilities=p[0, 0]), r"\[..., 3\], the labels"),
        (lambda: fitted.a, "Each label has a map of its own: read those in `maps`"),
        (
            lambda: um.TemperatureScaling().fit(y, None, p, multilabel=True),
            "`multilabel` must be False for TemperatureScaling: take `PlattScaling`",
        ),
        (
            lambda: um.EnsembleTemperatureScaling().fit(y, None, p, multilabel=True),
            "`multilabel` must be False for EnsembleTemperatureScaling",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
        assert fitted.maps is maps
    assert [round(float(each.c[0]), 6) for each in maps]


@every
def test_damaged_files_are_refused(name, rng):
    y, p, _ = tags(rng)
    fitted = new(name).fit(y, None, p, multilabel=True, ignore_index=-1)
    file = io.BytesIO()
    fitted.save(file)
    file.seek(0)
    with np.load(file) as archive:
        entries = {key: archive[key] for key in archive.files}
    header = str(entries["header"])
    for labels in ("2", "4", '"3"', "-1", "true"):
        changed = header.replace('"labels": 3', f'"labels": {labels}')
        assert changed != header
        damaged = io.BytesIO()
        np.savez(damaged, **{**entries, "header": np.array(changed)})
        damaged.seek(0)
        with pytest.raises(ValueError, match="`path` must be a file that `save` wrote"):
            type(fitted).load(damaged)
