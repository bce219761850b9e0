"""What all calibrators have in common: forms of data, refused data, files."""

import io
import json

import numpy as np
import pytest
from scipy import optimize, special

import uncertainty_metrics.numpy as um
from tests.calibrators import (
    CLASSES,
    LINEAR,
    ONE_AGAINST_REST,
    each_linear,
    each_of_rest,
    every,
    network,
    weighted,
)


@every
def test_weights_count_as_repeated_examples(name, rng):
    labels, logits, weights = weighted(rng)
    times = np.repeat(np.arange(len(labels)), weights)
    repeated = CLASSES[name]().fit(labels[times], logits[times])
    expected = repeated.transform(logits)
    logits[weights == 0] = np.nan
    found = CLASSES[name]().fit(labels, logits, sample_weight=weights)
    shown = np.nan_to_num(logits)
    kept = weights > 0
    np.testing.assert_allclose(
        special.softmax(found.transform(shown)[kept], axis=1),
        special.softmax(expected[kept], axis=1),
        atol=1e-8,
    )
    ignored = CLASSES[name]().fit(
        np.where(kept, labels, -1), shown, sample_weight=weights, ignore_index=-1
    )
    np.testing.assert_array_equal(ignored.transform(shown), found.transform(shown))


@every
def test_order_of_examples_and_classes_does_not_matter(name, rng):
    labels, logits = network(rng)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    order, classes = rng.permutation(len(labels)), np.array([2, 0, 3, 1])
    found = CLASSES[name]().fit(labels[order], logits[order]).transform(logits)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    turned = CLASSES[name]().fit(np.argsort(classes)[labels], logits[:, classes])
    found = turned.transform(logits[:, classes])
    np.testing.assert_allclose(found, expected[:, classes], atol=1e-7)


@each_linear
@pytest.mark.parametrize("exponent", [-300, -8, 8, 300])
def test_scale_of_the_logits_does_not_matter(name, exponent, rng):
    labels, logits = network(rng, n=300)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    scaled = logits * 2.0**exponent
    found = CLASSES[name]().fit(labels, scaled).transform(scaled)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("name", ["temperature", *ONE_AGAINST_REST])
def test_constants_added_to_logits_do_not_matter(name, rng):
    labels, logits = network(rng)
    expected = CLASSES[name]().fit(labels, logits).transform(logits)
    shifted = logits + rng.normal(size=[len(labels), 1])
    found = CLASSES[name]().fit(labels, shifted).transform(shifted)
    np.testing.assert_allclose(
        special.softmax(found, axis=1), special.softmax(expected, axis=1), atol=1e-8
    )


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_results_have_the_form_shape_and_dtype_of_the_predictions(name, dtype, rng):
    labels, logits = network(rng)
    logits = logits.astype(dtype)
    p = special.softmax(logits.astype(np.float64), axis=1).astype(dtype)
    tolerance = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}[dtype]
    for form, given in (("logits", logits), ("probabilities", p)):
        given.flags.writeable = False
        scaling = CLASSES[name]().fit(labels, **{form: given})
        assert scaling.is_fitted
        found = scaling.transform(**{form: given})
        assert found.dtype == dtype
        assert found.shape == given.shape
        wide = CLASSES[name]().fit(labels, **{form: given.astype(np.float64)})
        expected = wide.transform(**{form: given.astype(np.float64)})
        if name != "histogram":  # Its bin edges depend on the dtype.
            np.testing.assert_allclose(
                found.astype(float), expected, rtol=tolerance, atol=tolerance
            )
        if form == "probabilities":
            np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
        images = given.reshape(2, 30, 10, 4)
        again = CLASSES[name]().fit(labels.reshape(2, 30, 10), **{form: images})
        np.testing.assert_array_equal(
            again.transform(**{form: images}).reshape(found.shape), found
        )


@every
def test_forecasts_of_class_1_equal_those_of_two_classes(name, rng):
    labels, logits = network(rng, classes=2)
    margins = logits[:, 1] - logits[:, 0]
    p = special.expit(margins)
    pairs = np.stack([np.zeros_like(margins), margins], axis=1)
    both = CLASSES[name]().fit(labels, pairs).transform(pairs)
    for form, given, expected in (
        ("logits", margins, both[:, 1] - both[:, 0]),
        ("probabilities", p, None),
    ):
        if expected is None:
            rows = np.stack([1 - p, p], axis=1)
            scaling = CLASSES[name]().fit(labels, probabilities=rows)
            expected = scaling.transform(probabilities=rows)[:, 1]
        one = CLASSES[name]().fit(labels, **{form: given})
        np.testing.assert_allclose(
            one.transform(**{form: given}), expected, rtol=1e-6, atol=1e-12
        )
        column = CLASSES[name]().fit(labels, **{form: given[:, None]})
        found = column.transform(**{form: given[:, None]})
        np.testing.assert_array_equal(found[:, 0], one.transform(**{form: given}))
        if name != "temperature" or form == "probabilities":
            with pytest.raises(ValueError, match=f"`{form}` must be predictions of"):
                one.transform(**{form: given.reshape(-1, 2)})
        else:
            continue
        assert one.transform(**{form: given[3]}).shape == ()


@pytest.mark.parametrize("name", ["temperature", *ONE_AGAINST_REST])
def test_maps_of_probabilities_equal_maps_of_logits(name, rng):
    labels, logits = network(rng)
    p = special.softmax(logits, axis=1)
    of_logits = CLASSES[name]().fit(labels, logits)
    of_p = CLASSES[name]().fit(labels, probabilities=p)
    for scaling in (of_logits, of_p):
        np.testing.assert_allclose(
            special.softmax(scaling.transform(logits), axis=1),
            of_p.transform(probabilities=p),
            atol=1e-8,
        )


@each_linear
def test_linear_maps_refuse_the_form_they_were_not_fitted_to(name, rng):
    labels, logits = network(rng)
    p = special.softmax(logits, axis=1)
    with pytest.raises(ValueError, match="the map was fitted to `logits`"):
        CLASSES[name]().fit(labels, logits).transform(probabilities=p)
    with pytest.raises(ValueError, match="the map was fitted to `probabilities`"):
        CLASSES[name]().fit(labels, probabilities=p).transform(logits)


def test_a_row_that_maps_to_zeros_keeps_its_forecast():
    labels = [0, 1, 2, 0, 1, 2]
    p = np.eye(3)[labels] * 0.7 + 0.1
    map = um.HistogramBinning(num_bins=5).fit(labels, probabilities=p)
    # 0.15 and 0.2 map to 0, and 0.7 maps to 1.
    row = [[0.15, 0.15, 0.7], [0.2, 0.2, 0.2]]
    found = map.transform(probabilities=row)
    np.testing.assert_allclose(found, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)
    given = [[0.1, 0.2, 0.15]]
    found = map.transform(probabilities=given)
    np.testing.assert_allclose(found, np.array(given) / 0.45, rtol=1e-14)
    with np.errstate(divide="ignore"):
        logits = map.transform(np.log([[0.2, 0.2, 0.6], [1e-3, 1e-3, 0.998]]))
    # The bin of 0.6 had no examples, so 0.6 stays; 0.2 maps to 0.
    np.testing.assert_allclose(special.softmax(logits, axis=1), [[0, 0, 1]] * 2)


@each_of_rest
def test_maps_are_monotonic_and_platt_and_beta_keep_calibrated_forecasts(name, rng):
    p = rng.uniform(size=4000)
    labels = rng.uniform(size=4000) < p
    map = CLASSES[name]().fit(labels, probabilities=p)
    grid = np.linspace(0, 1, 301)
    found = map.transform(probabilities=grid)
    if name not in ("histogram", "quadratic", "spline"):
        assert np.all(np.diff(found) >= 0)
    if name in ("platt", "beta", "quadratic", "spline"):
        inside = (grid > 0.05) & (grid < 0.95)
        np.testing.assert_allclose(found[inside], grid[inside], atol=0.08)


# No calibrator harms a calibrated model beyond chance.


@pytest.mark.parametrize("name", [*CLASSES, "ensemble"])
def test_calibrated_models_do_not_get_worse(name, rng):
    n = 1200
    given = logits = 1.5 * rng.normal(size=[n, 4])
    if name == "ensemble":
        given = logits[:, None] + rng.normal(size=[n, 3, 4])
        logits = np.log(special.softmax(given, axis=2).mean(axis=1))
    labels = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    fold = np.arange(n) % 4
    recalibrated = np.empty_like(logits)
    for k in range(4):
        scaling = CLASSES.get(name, um.EnsembleTemperatureScaling)()
        scaling.fit(labels[fold != k], given[fold != k])
        recalibrated[fold == k] = scaling.transform(given[fold == k])
    # These maps can give probabilities of 0, whose likelihoods cannot be compared.
    score = um.negative_log_likelihood
    if name in ("isotonic", "histogram"):
        score = um.brier_score
    before, after = (
        score(labels, logits=z, aggregate=False) for z in (logits, recalibrated)
    )
    noise = np.std(after - before) / np.sqrt(n)
    # Beside the noise of the difference, each fitted parameter costs about 1 / n.
    size = {"matrix": 20, "odir": 20, "isotonic": 60, "histogram": 60}.get(name, 12)
    assert np.mean(after - before) < 4 * noise + 1.5 * size / n


@every
def test_uncalibrated_models_get_better(name, rng):
    labels, logits = network(rng, n=1500)
    half = np.arange(1500) < 1000
    scaling = CLASSES[name]().fit(labels[half], logits[half])
    recalibrated = scaling.transform(logits[~half])
    before = um.brier_score(labels[~half], logits=logits[~half], aggregate=False)
    after = um.brier_score(labels[~half], logits=recalibrated, aggregate=False)
    noise = np.std(after - before) / np.sqrt(500)
    assert np.mean(after - before) < 3 * noise


# Data and arguments that are refused.


@every
def test_data_that_do_not_determine_the_map_raise(name, rng):
    labels, logits = network(rng)
    scaling = CLASSES[name]()
    with pytest.raises(ValueError, match="call `fit` first"):
        scaling.transform(logits)
    scaling.fit(labels, logits)
    before = scaling.transform(logits)
    flat = np.zeros_like(logits)
    with pytest.raises(ValueError, match=r"`logits` must (differ|hold|be)"):
        scaling.fit(labels, flat)
    if name != "temperature":  # One class is enough for a temperature.
        with pytest.raises(ValueError, match="`labels` must hold two classes"):
            scaling.fit(np.zeros_like(labels), logits)
        with pytest.raises(ValueError, match=r"`logits` must (differ|hold|be)"):
            scaling.fit(labels, flat + np.arange(4.0))
    if name in ONE_AGAINST_REST:
        with pytest.raises(ValueError, match=r"once.* none of class 3"):
            scaling.fit(np.minimum(labels, 2), logits)
    if name in ("platt", "beta"):
        p = special.softmax(logits, axis=1)
        p[:, 2] = p[:, 1] / 4 + np.where(labels == 2, 0.6, 0.3)
        message = "overlap between the labels.*, for class 2"
        with pytest.raises(ValueError, match=message):
            scaling.fit(labels, probabilities=p)
    if name in ("temperature", *LINEAR):
        message = "`logits` must be (wrong|of labels)|no best map of these `logits`"
        with pytest.raises(ValueError, match=message):
            scaling.fit(np.argmax(logits, axis=1), logits)
    np.testing.assert_array_equal(scaling.transform(logits), before)


@every
def test_a_failed_fit_keeps_the_map_of_the_fit_before(name, rng):
    labels, logits = network(rng)
    scaling = CLASSES[name]()
    flat = np.zeros([600, 3])  # Equal scores, and another number of classes.
    with pytest.raises(ValueError, match="`logits` must"):
        scaling.fit(labels % 3, flat)
    assert not scaling.is_fitted
    before = scaling.fit(labels, logits).transform(logits)
    with pytest.raises(ValueError, match="`logits` must"):
        scaling.fit(labels % 3, flat)
    np.testing.assert_array_equal(scaling.transform(logits), before)


@each_linear
def test_separable_data_need_a_ridge(name, rng):
    regularization = {"odir": {"regularization": "odir"}}.get(name, {})
    cls = um.VectorScaling if name == "vector" else um.MatrixScaling
    _, logits = network(rng, n=60)
    worst = np.argmax(logits * [1.0, 2.0, 3.0, 0.5] + [1, 0, 0, -1], axis=1)
    with pytest.raises(ValueError, match="There is no best map of these `logits`"):
        cls(ridge=0.0, **regularization).fit(worst, logits)
    recalibrated = cls(ridge=1.0).fit(worst, logits).transform(logits)
    assert np.mean(np.argmax(recalibrated, axis=1) == worst) > 0.75


def has_direction(z, labels, diagonal):
    """Returns whether the data are separable, by linear programming."""
    classes = z.shape[1]
    each = np.eye(classes)
    rows = []
    for features, label in zip(z, labels, strict=True):
        for other in range(classes):
            difference = each[label] - each[other]
            slopes = features * difference
            if not diagonal:
                slopes = np.outer(difference, features).reshape(-1)
            rows.append(np.append(slopes, difference))
    rows = np.array(rows)
    found = optimize.linprog(-rows.sum(0), -rows, np.zeros(len(rows)), bounds=(-1, 1))
    return -found.fun > 1e-7


@pytest.mark.parametrize("cls", [um.VectorScaling, um.MatrixScaling])
def test_separable_data_raise_as_linear_programming_says(cls, rng):
    seen = set()
    for noise in (0.0, 0.1, 0.3, 3.0) * 2:
        z = rng.normal(size=[25, 3])
        true = 3 * z * [1.0, 2.0, 3.0]
        labels = np.argmax(true + 3 * noise * rng.gumbel(size=z.shape), axis=1)
        if noise == 0.3:  # Two classes overlap, the third is separable.
            labels = np.where(labels == 2, 2, rng.integers(0, 2, 25))
        open_ended = has_direction(z, labels, cls is um.VectorScaling)
        seen.add(open_ended)
        try:
            cls(ridge=0.0).fit(labels, z)
        except ValueError:
            assert open_ended
        else:
            assert not open_ended
    assert seen == {True, False}


def test_one_pair_of_overlapping_scores_is_enough_to_fit():
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    for cls in (um.PlattScaling, um.BetaCalibration):
        with pytest.raises(ValueError, match="scores that overlap between the labels"):
            cls().fit(labels, probabilities=p)
        swapped = labels.copy()
        swapped[3:5] = 1, 0
        map = cls().fit(swapped, probabilities=p)
        assert map.optimality_gap < 1e-9
    with pytest.raises(ValueError, match="scores that overlap between the labels"):
        um.PlattScaling().fit(1 - labels, probabilities=p)
    # The best map that does not decrease is the constant frequency.
    map = um.BetaCalibration().fit(1 - labels, probabilities=p)
    np.testing.assert_allclose(map.transform(probabilities=p), 0.5, atol=1e-12)


def test_labels_that_share_only_one_score_do_not_overlap():
    # A steeper map through (1/2, 1/2) is always better.
    p, labels = [0.1, 0.2, 0.5, 0.5, 0.8, 0.9], np.array([0, 0, 0, 1, 1, 1])
    for cls in (um.PlattScaling, um.BetaCalibration):
        with pytest.raises(ValueError, match="scores that overlap between the labels"):
            cls().fit(labels, probabilities=p)
    with pytest.raises(ValueError, match="scores that overlap between the labels"):
        um.PlattScaling().fit(1 - labels, probabilities=p)


@pytest.mark.parametrize("cls", [um.PlattScaling, um.IsotonicCalibration])
def test_many_equal_scores_at_first_are_not_taken_for_one_score(cls):
    # The first half of the examples has one score and frequency, the second half
    # others.
    p = np.repeat([0.2, 0.6], 400)
    labels = np.concatenate([np.arange(400) % 4 == 0, np.arange(400) % 4 > 0])
    map = cls().fit(labels, probabilities=p)
    np.testing.assert_allclose(map.transform(probabilities=[0.2, 0.6]), [0.25, 0.75])


def test_a_row_of_low_scores_that_map_to_zeros_keeps_its_forecast():
    # In the fit the label always has 0.6, so scores of at most 0.5 map to 0.
    map = um.HistogramBinning(num_bins=2)
    map.fit([0, 1, 2], probabilities=0.2 + 0.4 * np.eye(3))
    p = np.array([[0.5, 0.3, 0.2]])
    np.testing.assert_allclose(map.transform(probabilities=p), p)
    np.testing.assert_array_equal(map.transform(logits=np.log(p)), np.log(p))


@pytest.mark.parametrize("cls", [um.PlattScaling, um.BetaCalibration])
def test_optimality_gap_is_the_largest_of_all_classes(cls, rng):
    labels, logits = network(rng)
    p = special.softmax(logits, axis=1)
    gaps = [
        cls().fit(labels == k, probabilities=p[:, k]).optimality_gap for k in range(4)
    ]
    assert max(gaps) > min(gaps)
    found = cls().fit(labels, probabilities=p).optimality_gap
    assert found == pytest.approx(max(gaps), rel=1e-6, abs=0)


@pytest.mark.parametrize("name", [*CLASSES, "ensemble"])
def test_bad_calls_raise_and_keep_the_map(name, rng):
    labels, logits = network(rng)
    cls = CLASSES.get(name, um.EnsembleTemperatureScaling)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    scaling = cls().fit(labels, logits)
    p = special.softmax(logits, axis=-1)
    before = scaling.transform(logits)
    for call in (scaling.transform, lambda x: scaling.fit(labels, x)):
        with pytest.raises(ValueError, match=r"logits; for probabilities use `prob"):
            call(p)
        with pytest.raises(ValueError, match="`logits` must be finite"):
            call(np.full_like(logits, np.nan))
        with pytest.raises(TypeError, match="`logits` must hold numbers"):
            call("abc")
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.fit(labels)
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.transform()
    with pytest.raises(ValueError, match="Exactly one of"):
        scaling.transform(logits, p)
    with pytest.raises(ValueError, match=r"`probabilities` must be in \[0, 1\]"):
        scaling.fit(labels, probabilities=logits)
    with pytest.raises(ValueError, match=r"integers in \[0, 4\)"):
        scaling.fit(labels + 3, logits)
    with pytest.raises(ValueError, match="`sample_weight` must be finite and >= 0"):
        scaling.fit(labels, logits, sample_weight=-np.ones(600))
    with pytest.raises(ValueError, match="`probabilities` must be"):
        scaling.transform(probabilities=np.zeros_like(p))
    with pytest.raises(ValueError, match="`probabilities` must be"):
        scaling.transform(probabilities=p[..., :3])
    with pytest.raises(ValueError, match="`logits` must hold at least one"):
        scaling.transform(logits[:0])
    np.testing.assert_array_equal(scaling.transform(logits), before)


def test_bad_options_raise():
    for ridge in (-1.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(ValueError, match="`ridge` must be finite and >= 0"):
            um.VectorScaling(ridge=ridge)
    with pytest.raises(ValueError, match="`regularization` must be one of 'ridge'"):
        um.MatrixScaling(regularization="lasso")
    with pytest.raises(ValueError, match="`num_bins` must be"):
        um.HistogramBinning(num_bins=0)
    with pytest.raises(ValueError, match="`ensemble_axis` must be an integer"):
        um.EnsembleTemperatureScaling(ensemble_axis="members")


@each_linear
def test_linear_maps_refuse_infinite_logits(name, rng):
    labels, logits = network(rng)
    scaling = CLASSES[name]().fit(labels, logits)
    logits[0, (labels[0] + 1) % 4] = -np.inf
    for call in (scaling.transform, lambda x: scaling.fit(labels, x)):
        with pytest.raises(
            ValueError, match=r"`logits` must be finite\. Received: -inf"
        ):
            call(logits)


# Files.


@pytest.mark.parametrize("name", [*list(CLASSES)[1:], "ensemble"])
def test_loaded_calibrators_equal_the_saved_ones(name, rng, tmp_path):
    labels, logits = network(rng)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    made = CLASSES.get(name, um.EnsembleTemperatureScaling)()
    path = tmp_path / "map.bin"
    made.save(path)
    assert not type(made).load(path).is_fitted
    made.fit(labels, logits).save(str(path))
    file = io.BytesIO()
    made.save(file)
    assert file.getvalue() == path.read_bytes()
    file.seek(0)
    for source in (path, str(path), file):
        again = type(made).load(source)
        assert type(again) is type(made)
        assert again.get_config() == made.get_config()
        assert again.optimality_gap == made.optimality_gap
        np.testing.assert_array_equal(again.transform(logits), made.transform(logits))
    other = um.PlattScaling if name != "platt" else um.BetaCalibration
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        other.load(path)


def rewritten(path, **changes):
    """Rewrites a file with other arrays or header fields; None removes an array."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").item())
    for key, value in changes.items():
        (header if key in header else arrays)[key] = value
    arrays = {k: v for k, v in arrays.items() if v is not None}
    with open(path, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)


NAN = np.array([np.nan, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "else"},
        {"version": 2},
        {"class": "MatrixScaling"},
        {"config": {"ridge": -1}},
        {"config": {"other": 1}},
        {"config": None},
        {"layout": None},
        {"layout": ["logits", 4]},
        {"layout": ["logits", 5, None]},
        {"layout": ["margins", 4, None]},
        {"layout": ["logits", 4, 1]},
        {"layout": ["logits", 4.0, None]},
        {"layout": ["logits", 10**30, None]},
        {"scales": np.ones(3)},
        {"scales": NAN},
        {"scales": np.ones(4, np.float32)},
        {"scales": np.array([None] * 4)},
        {"scales": None},
        {"more": np.ones(4)},
    ],
    ids=str,
)
def test_files_with_wrong_fields_or_arrays_raise(changes, rng, tmp_path):
    path = tmp_path / "map.npz"
    um.VectorScaling().fit(*network(rng)).save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        um.VectorScaling.load(path)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("beta", {"a": np.array([-1.0, 1.0, 1.0, 1.0])}),
        ("platt", {"c": np.ones(5)}),
        ("isotonic", {"counts": np.array([1.0, 1.0, 1.0, 1e300])}),
        ("isotonic", {"counts": np.array([1.5, 1.0, 1.0, 1.0])}),
        ("isotonic", {"knots": np.ones([2, 3])}),
        ("quadratic", {"a": np.ones(5)}),
        ("spline", {"counts": np.array([1.0, 1.0, 1.0, 1e300])}),
        ("spline", {"knots": np.ones([2, 20])}),
        ("histogram", {"frequencies": np.full([4, 15], 1.5)}),
        ("histogram", {"config": {"num_bins": 7}}),
        ("ensemble", {"weights": np.array([0.5, 0.6, -0.1])}),
        ("ensemble", {"temperature": np.array(0.0)}),
        ("ensemble", {"weights": np.ones([0])}),
    ],
    ids=str,
)
def test_files_with_values_that_are_no_map_raise(name, changes, rng, tmp_path):
    labels, logits = network(rng)
    if name == "ensemble":
        logits = logits[:, None] + rng.normal(size=[600, 3, 4])
    made = CLASSES.get(name, um.EnsembleTemperatureScaling)()
    path = tmp_path / "map.npz"
    made.fit(labels, logits).save(path)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match="`path` must be a file that `save` wrote for"):
        type(made).load(path)


def test_damaged_files_raise(rng, tmp_path):
    path = tmp_path / "map.npz"
    um.PlattScaling().fit(*network(rng)).save(path)
    content = path.read_bytes()
    for part in (b"", content[:100], content[:-30], b"{}", content.replace(b"a", b"b")):
        path.write_bytes(part)
        with pytest.raises(ValueError, match="`path` must be a file that `save`"):
            um.PlattScaling.load(path)


def test_file_of_a_temperature_keeps_the_form_of_predictions(rng, tmp_path):
    labels, logits = network(rng, classes=2)
    p = special.expit(logits[:, 1] - logits[:, 0])
    scaling = um.TemperatureScaling().fit(labels, probabilities=p)
    scaling.save(tmp_path / "temperature.json")
    again = um.TemperatureScaling.load(tmp_path / "temperature.json")
    expected = scaling.transform(probabilities=p)
    np.testing.assert_array_equal(again.transform(probabilities=p), expected)
    # Without a layout, the temperature is for logits.
    old = um.TemperatureScaling.from_config({"temperature": 2.0})
    assert old.is_fitted
    np.testing.assert_array_equal(old.transform([[4.0, 0.0]]), [[2.0, 0.0]])
    with pytest.raises(ValueError, match="call `fit` first"):
        old.transform(probabilities=p)
    for layout in (["logits", "2", None], [], "logits", 3):
        with pytest.raises((TypeError, ValueError)):
            um.TemperatureScaling.from_config({"temperature": 2.0, "layout": layout})
