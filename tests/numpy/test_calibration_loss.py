"""How much of a score recalibration would gain, against loops over the folds."""

import numpy as np
import pytest
from scipy import optimize, special, stats

import uncertainty_metrics.numpy as um


def drawn(rng, n, slope=0.5):
    z = 2 * rng.normal(size=n)
    return (rng.random(n) < special.expit(slope * z)).astype(int), z


def platt(z, labels):
    """Returns slope and constant of logistic regression, by another optimiser."""

    def loss(ac):
        s = ac[0] * z + ac[1]
        return np.mean(np.logaddexp(0, s) - labels * s)

    return optimize.minimize(loss, [1.0, 0.0], tol=1e-12).x


def temperature(z, labels):
    def loss(log_beta):
        logs = special.log_softmax(np.exp(log_beta) * z, axis=1)
        return -np.mean(logs[np.arange(len(labels)), labels])

    return np.exp(-optimize.minimize_scalar(loss, (-1, 1), tol=1e-12).x)


def folds_of(n, seed=0, folds=5):
    return np.random.default_rng(seed).permutation(n) % folds


def brier(p, y):
    return (p - y) ** 2


def log(p, y):
    return -np.where(y == 1, np.log(p), np.log1p(-p))


@pytest.mark.parametrize("score", ["log", "brier"])
def test_of_an_event_it_is_that_of_a_loop_over_the_folds(rng, score):
    labels, z = drawn(rng, 300)
    fold, after = folds_of(300, seed=3, folds=4), np.empty(300)
    for k in range(4):
        a, c = platt(z[fold != k], labels[fold != k])
        after[fold == k] = special.expit(a * z[fold == k] + c)
    p = special.expit(z)
    of_each = {"log": log, "brier": brier}[score]
    before, refined = of_each(p, labels), of_each(after, labels)
    gains = before - refined
    interval = stats.ttest_1samp(gains, 0).confidence_interval(0.9)
    found = um.calibration_loss(
        labels,
        p,
        score=score,
        calibrator=um.PlattScaling,
        folds=4,
        seed=3,
        level=0.9,
    )
    lowers = np.abs(after - 0.5) < np.abs(p - 0.5)
    crossed = (after > 0.5) != (p > 0.5)  # The decided class has less than a half.
    expected = (
        *(before.mean(), refined.mean(), gains.mean(), *interval),
        gains.mean() / before.mean(),
        np.sum(gains[lowers | crossed]) / 300,
        np.sum(gains[~(lowers | crossed)]) / 300,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert found.num_clusters is None
    of_logits = um.calibration_loss(
        labels, logits=z, score=score, calibrator=um.PlattScaling(), folds=4, seed=3
    )
    np.testing.assert_allclose(of_logits[:3], expected[:3], rtol=1e-5)


@pytest.mark.parametrize("columns", [1, 2])
def test_logits_have_the_calibrator_of_their_probabilities(rng, columns):
    labels, z = drawn(rng, 400)
    z += np.sign(z)  # As probabilities, these would all be clipped to 0 and 1.
    logits = z if columns == 1 else np.stack([np.zeros(400), z], axis=1)
    found = um.calibration_loss(labels, logits=logits)
    expected = um.calibration_loss(
        labels, special.expit(z), calibrator=um.BetaCalibration
    )
    np.testing.assert_allclose(found[:4], expected[:4], rtol=1e-9)


@pytest.mark.parametrize("score", ["log", "brier"])
def test_of_classes_it_is_that_of_a_temperature(rng, score):
    z = 3 * rng.normal(size=[400, 4])
    labels = np.argmax(0.5 * z + rng.gumbel(size=z.shape), axis=1)
    fold, after = folds_of(400), np.empty(z.shape)
    for k in range(5):
        t = temperature(z[fold != k], labels[fold != k])
        after[fold == k] = special.softmax(z[fold == k] / t, axis=1)
    p, hot = special.softmax(z, axis=1), np.eye(4)[labels]
    if score == "log":
        before, refined = (-np.log(np.sum(x * hot, axis=1)) for x in (p, after))
    else:
        before, refined = (np.sum((x - hot) ** 2, axis=1) for x in (p, after))
    found = um.calibration_loss(labels, logits=z, score=score)
    expected = before.mean(), refined.mean(), np.mean(before - refined)
    np.testing.assert_allclose(found[:3], expected, rtol=1e-6)
    # This model is too sure everywhere.
    np.testing.assert_allclose(found.overconfident, found.difference)
    assert found.underconfident == 0
    of_p = um.calibration_loss(labels, p, score=score)
    np.testing.assert_allclose(of_p, found, rtol=1e-6, atol=1e-9)


def test_answers_are_events_whose_confidence_is_their_probability(rng):
    correct, z = drawn(rng, 2000)
    given = {"score": "brier", "level": 0.8}
    of_event = um.calibration_loss(correct, special.expit(z), **given)
    found = um.calibration_loss(correct=correct, confidences=special.expit(z), **given)
    np.testing.assert_allclose(found[:6], of_event[:6])
    # Confidences above 1/2 are too high, and those below it too low.
    assert found.overconfident > 0
    assert found.underconfident > 0
    np.testing.assert_allclose(of_event.overconfident, found.difference, rtol=0.2)


def test_a_grade_is_the_mean_over_answers_that_are_right_or_wrong(rng):
    correct, z = drawn(rng, 100)
    grades = np.where(correct == 1, 0.75, 0.25)
    p = special.expit(z)
    found = um.calibration_loss(correct=grades, confidences=p, score="brier")
    expected = np.mean(grades * (1 - p) ** 2 + (1 - grades) * p**2)
    np.testing.assert_allclose(found.loss, expected)
    shares = np.stack([1 - grades, grades], axis=1)
    rows = np.stack([1 - p, p], axis=1)
    of_votes = um.calibration_loss(
        label_distributions=shares, probabilities=rows, score="brier"
    )
    np.testing.assert_allclose(of_votes[:3], found[:3])


def test_labels_of_an_example_have_maps_of_their_own_and_one_fold(rng):
    labels, z = drawn(rng, 150)
    other, y = drawn(rng, 150, slope=2.0)
    both = np.stack([labels, other], axis=1)
    p = special.expit(np.stack([z, y], axis=1))
    found = um.calibration_loss(both, p, multilabel=True, score="brier")
    alone = [
        um.calibration_loss(both[:, k], p[:, k], score="brier", seed=0) for k in (0, 1)
    ]
    mean = np.mean([each[:3] for each in alone], axis=0)
    np.testing.assert_allclose(found[:3], mean)
    assert found.num_clusters is None
    # The interval is that of rows: copies of a column say nothing new.
    twice = np.stack([labels, labels], axis=1)
    copied = um.calibration_loss(twice, p[:, [0, 0]], multilabel=True, score="brier")
    np.testing.assert_allclose(copied, alone[0])


def test_clusters_are_in_one_fold_and_their_sums_make_the_interval(rng):
    labels, z = drawn(rng, 120)
    p, ids = special.expit(z), np.arange(120)
    alone = um.calibration_loss(labels, p)
    each_one = um.calibration_loss(labels, p, clusters=ids)
    np.testing.assert_allclose(each_one, alone)
    assert (each_one.num_clusters, round(each_one.design_effect, 9)) == (120, 1)
    twice = um.calibration_loss(
        np.tile(labels, 2), np.tile(p, 2), clusters=np.tile(ids, 2)
    )
    np.testing.assert_allclose(twice, alone, rtol=1e-6)
    np.testing.assert_allclose(twice.design_effect, 2, rtol=0.02)
    weighted = um.calibration_loss(
        labels, p, clusters=ids, sample_weight=np.full(120, 2.0)
    )
    np.testing.assert_allclose(weighted, alone, rtol=1e-6)


def test_only_ratios_of_weights_matter_and_weight_0_is_left_out(rng):
    labels, z = drawn(rng, 120)
    p, weights = special.expit(z), rng.integers(1, 4, 120)
    found = um.calibration_loss(labels, p, sample_weight=weights)
    scaled = um.calibration_loss(labels, p, sample_weight=7.5 * weights)
    np.testing.assert_allclose(scaled, found, rtol=1e-6)
    more = np.append(weights, 0)
    left_out = um.calibration_loss(
        np.append(labels, 1), np.append(p, 0.5), sample_weight=more
    )
    np.testing.assert_allclose(left_out, found)
    ignored = um.calibration_loss(
        np.append(labels, -1), np.append(p, 0.5), ignore_index=-1
    )
    np.testing.assert_allclose(ignored, um.calibration_loss(labels, p))


def test_probabilities_of_0_at_labels():
    labels = np.tile([0, 1, 2, 0], 10)
    p = np.tile([[0.5, 0.5, 0], [0, 0.6, 0.4], [1, 0, 0], [0.8, 0.1, 0.1]], [10, 1])
    found = um.calibration_loss(labels, p)
    assert found.loss == found.difference == found.lower == found.upper == np.inf
    assert found.share == 1
    assert np.isfinite(found.refined)
    assert np.isfinite(um.calibration_loss(labels, p, score="brier")).all()


def test_a_calibrated_model_gains_nothing_on_average_and_others_less_than_the_truth(
    rng,
):
    """The standard errors hold for any seed: 4 of them, once in 16,000 runs."""
    calibrated, overconfident = [], []
    for _ in range(60):
        labels, z = drawn(rng, 200, slope=1.0)
        calibrated.append(um.calibration_loss(labels, special.expit(z)).difference)
        overconfident.append(
            um.calibration_loss(labels, special.expit(2 * z)).difference
        )
    z = 2 * stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    true, p = special.expit(z), special.expit(2 * z)
    truth = np.mean(special.rel_entr(true, p) + special.rel_entr(1 - true, 1 - p))
    for found, most in ((calibrated, 0), (overconfident, truth)):
        assert np.mean(found) < most + 4 * np.std(found) / 60**0.5
    assert np.mean(overconfident) > truth / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "crps"}, "`score` must be one of"),
        ({"folds": 1}, "`folds` must be an integer of at least 2"),
        ({"folds": 9}, "`folds` must be at most 8, the number of examples"),
        ({"level": 1}, "`level` must be in"),
        ({"seed": -1}, "`seed` must be"),
    ],
)
def test_bad_options(options, message):
    labels, p = [0, 1] * 4, [0.1, 0.9, 0.4, 0.5, 0.6, 0.7, 0.2, 0.3]
    with pytest.raises(ValueError, match=message):
        um.calibration_loss(labels, p, **options)


def test_bad_calibrators_and_data_that_determine_no_map():
    labels, p = [0, 1] * 5, np.linspace(0.1, 0.9, 10)
    with pytest.raises(TypeError, match="`calibrator` must be a calibrator, a class"):
        um.calibration_loss(labels, p, calibrator="platt")
    with pytest.raises(ValueError, match="outside fold 0"):
        um.calibration_loss([0] * 10, p)
    both, of_both = np.stack([labels, [1] * 10], axis=1), np.stack([p, p], axis=1)
    with pytest.raises(ValueError, match="Label 1: `labels` must hold two classes"):
        um.calibration_loss(both, of_both, multilabel=True, folds=2)
    with pytest.raises(ValueError, match="`correct` with `confidences` must be given"):
        um.calibration_loss(probabilities=p)


def test_folds_are_of_clusters():
    labels, p = [0, 1] * 20, np.linspace(0.1, 0.9, 40)
    with pytest.raises(ValueError, match="`folds` must be at most 20, the number of c"):
        um.calibration_loss(labels, p, clusters=np.arange(40) // 2, folds=21)


@pytest.mark.parametrize("score", ["log", "brier"])
def test_of_a_sketch_it_is_that_of_examples_drawn_for_the_folds(rng, score):
    labels, z = drawn(rng, 400)
    p = np.round(special.expit(z), 1).clip(0.05, 0.95)
    sketch = um.ScoreSketch(positive_class=True)
    sketch.update(labels, p)
    found = sketch.calibration_loss(
        score=score, calibrator=um.PlattScaling, folds=3, seed=7
    )
    values = np.unique(p)
    counts = [[np.sum((labels == k) & (p == v)) for v in values] for k in (0, 1)]
    numbers = np.random.default_rng(7).multinomial(np.array(counts), np.ones(3) / 3)
    y, cell, fold = (
        np.repeat(each, numbers.reshape(-1))
        for each in (axis.reshape(-1) for axis in np.indices(numbers.shape))
    )
    z, after = special.logit(values[cell]), np.empty(400)
    for k in range(3):
        a, c = platt(z[fold != k], y[fold != k])
        after[fold == k] = special.expit(a * z[fold == k] + c)
    of_each = {"log": log, "brier": brier}[score]
    gains = of_each(values[cell], y) - of_each(after, y)
    interval = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    expected = of_each(p, labels).mean(), gains.mean(), *interval
    chosen = found.loss, found.difference, found.lower, found.upper
    np.testing.assert_allclose(chosen, expected, rtol=1e-4, atol=1e-6)


def test_a_sketch_refuses_what_it_does_not_know(rng):
    labels, z = drawn(rng, 100)
    p = special.expit(z)
    weighted = um.ScoreSketch(positive_class=True)
    weighted.update(labels, p, sample_weight=rng.random(100))
    with pytest.raises(ValueError, match="`sample_weight` must be of whole numbers"):
        weighted.calibration_loss()
    pooled = um.ScoreSketch(max_prob=False)
    pooled.update(labels, np.stack([1 - p, p], axis=1))
    with pytest.raises(ValueError, match="must be of one score of each example"):
        pooled.calibration_loss()
    clustered = um.ScoreSketch()
    clustered.update(labels, p, clusters=np.arange(100) // 4)
    with pytest.raises(ValueError, match="`calibration_loss` of independent examples"):
        clustered.calibration_loss()
