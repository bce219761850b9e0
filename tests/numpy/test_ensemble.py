"""Uncertainty and diversity of ensembles against independent references."""

import collections
import itertools

import mpmath
import numpy as np
import pytest
from scipy import spatial, special, stats

import uncertainty_metrics.numpy as um
from tests import references
from tests.ensembles import CROSS_ENTROPIES, SCORES, exact_divergence
from uncertainty_metrics.numpy.ensemble import _predictions

every_score = pytest.mark.parametrize("name", SCORES)
every_cross_entropy = pytest.mark.parametrize("name", CROSS_ENTROPIES)


def predictions(rng, shape=(7, 5, 4)):
    """Makes probabilities with zeros and ties between classes."""
    logits = np.round(2 * rng.normal(size=shape))
    logits[rng.uniform(size=shape) < 0.1] = -np.inf
    logits[..., 0] = np.round(2 * rng.normal(size=shape[:-1]))
    return references.softmax(logits)


def reference(name, p):
    """Returns the score of each example of p [N, M, K], by a loop."""
    rows = []
    for members in p:
        total = stats.entropy(members.mean(axis=0))
        expected = np.mean([stats.entropy(row) for row in members])
        decisions = [int(np.argmax(row)) for row in members]
        pairs = list(itertools.combinations(decisions, 2))
        modal = max(collections.Counter(decisions).values())
        rows.append(
            {
                "model_uncertainty": (total - expected, total, expected),
                "predictive_entropy": total,
                "expected_entropy": expected,
                "mutual_information": total - expected,
                "ensemble_disagreement": sum(a != b for a, b in pairs)
                / max(len(pairs), 1),
                "mean_member_uncertainty": 1 - np.mean([max(row) for row in members]),
                "variation_ratio": 1 - modal / len(members),
            }[name]
        )
    return np.transpose(rows)


def scores(name, *arguments, **options):
    return np.array(getattr(um, name)(*arguments, **options))


@every_score
@pytest.mark.parametrize("shape", [(7, 5, 4), (3, 1, 2), (6, 40, 3)])
def test_scores_equal_the_reference(name, shape, rng):
    p = predictions(rng, shape)
    expected = reference(name, p)
    np.testing.assert_allclose(scores(name, probabilities=p), expected, atol=1e-14)
    with np.errstate(divide="ignore"):
        logits = np.log(p) + 100 * rng.normal(size=(*shape[:2], 1))
    # The rounding of the logarithms may break ties of the votes.
    if name not in ("ensemble_disagreement", "variation_ratio"):
        np.testing.assert_allclose(scores(name, logits), expected, atol=1e-12)
    logits = np.round(2 * rng.normal(size=shape))
    expected = reference(name, references.softmax(logits))
    np.testing.assert_allclose(scores(name, logits), expected, atol=1e-14)


@every_score
def test_ensemble_axis_may_be_any_axis(name, rng):
    p = predictions(rng, (2, 3, 5, 4))
    flat = reference(name, p.reshape(6, 5, 4))
    expected = flat.reshape(*flat.shape[:-1], 2, 3)
    for axis in range(3):
        moved = np.moveaxis(p, -2, axis)
        for ensemble_axis in (axis, axis - 4):
            options = {"ensemble_axis": ensemble_axis}
            result = scores(name, None, moved, **options)
            np.testing.assert_allclose(result, expected, atol=1e-14)
            labelled = scores(name, None, moved, **options, labels=np.zeros([2, 3]))
            np.testing.assert_array_equal(labelled, result)


@every_score
def test_all_forms_of_the_predictions_give_the_same_scores(name, rng):
    p = np.round(predictions(rng, (4, 3, 2)) * 16) / 16
    expected = reference(name, p)
    whole = np.eye(2, dtype=int)[np.argmax(p, axis=-1)]
    for form in (p.tolist(), p.astype(np.float16), p.astype(">f4"), p[..., 1:]):
        result = scores(name, probabilities=form)
        np.testing.assert_allclose(result, expected, atol=1e-12)
        assert result.dtype == np.float64
    np.testing.assert_allclose(
        scores(name, probabilities=whole), reference(name, whole * 1.0), atol=1e-15
    )
    logits = 3 * rng.normal(size=(4, 3, 1))
    pairs = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    np.testing.assert_allclose(scores(name, logits), scores(name, pairs), atol=1e-15)


@every_score
def test_blocks_do_not_change_the_scores(name, rng, monkeypatch):
    p = predictions(rng)
    whole = scores(name, probabilities=p)
    monkeypatch.setattr(_predictions, "_BLOCK", 50)
    np.testing.assert_array_equal(scores(name, probabilities=p), whole)


def test_rows_need_not_sum_to_one():
    result = scores("model_uncertainty", probabilities=[[[0.5, 0.25], [0.0, 0.75]]])
    total = -0.25 * np.log(0.25) - 0.5 * np.log(0.5)
    expected = -(0.5 * np.log(0.5) + 0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / 2
    np.testing.assert_allclose(result[:, 0], [total - expected, total, expected])


def test_mutual_information_of_equal_members_is_zero(rng):
    p = np.repeat(predictions(rng, (50, 1, 6)), 7, axis=1)
    result = um.mutual_information(probabilities=p)
    assert np.all(result >= 0)
    np.testing.assert_allclose(result, 0, atol=1e-14)
    assert np.all(um.mutual_information(probabilities=p[:, :1]) == 0)
    assert np.all(um.ensemble_disagreement(probabilities=p[:, :1]) == 0)


def test_two_certain_members_that_differ_have_an_uncertainty_of_one_bit():
    logits = [[[0.0, -np.inf], [-np.inf, 0.0]], [[1000.0, 0.0], [0.0, 1000.0]]]
    parts = um.model_uncertainty(logits)
    np.testing.assert_allclose(parts.model_uncertainty, [np.log(2)] * 2, rtol=1e-15)
    np.testing.assert_allclose(parts.total_uncertainty, [np.log(2)] * 2, rtol=1e-15)
    np.testing.assert_array_equal(parts.expected_data_uncertainty, [0, 0])


def test_entropy_of_a_single_model_equals_scipy(rng):
    p = predictions(rng, (2, 3, 5))
    result = um.predictive_entropy(probabilities=p, ensemble_axis=None)
    np.testing.assert_allclose(result, stats.entropy(p, axis=-1), atol=1e-15)
    logits = rng.normal(size=[3, 1])
    p = special.expit(logits[:, 0])
    np.testing.assert_allclose(
        um.predictive_entropy(logits, ensemble_axis=None),
        stats.entropy([p, 1 - p]),
        atol=1e-15,
    )
    one = um.predictive_entropy(probabilities=[0.25] * 4, ensemble_axis=None)
    assert one.shape == ()
    np.testing.assert_allclose(one, np.log(4))


# Dirichlet distributions.


def dirichlet_reference(alphas):
    """Returns knowledge, total and expected data uncertainty, in 60 digits."""
    with mpmath.workdps(60):
        alphas = [mpmath.mpf(float(a)) for a in alphas]
        whole = mpmath.fsum(alphas)
        shares = [a / whole for a in alphas]
        total = -mpmath.fsum(p * mpmath.log(p) for p in shares)
        expected = mpmath.fsum(
            p * (mpmath.digamma(whole + 1) - mpmath.digamma(a + 1))
            for p, a in zip(shares, alphas, strict=True)
        )
        return [float(total - expected), float(total), float(expected)]


ALPHAS = [
    *([1.0, 1.0], [0.5, 2.0, 7.0], [3.0, 4.0, 0.9], [7.9, 0.05, 0.04], [8.0, 1e-3]),
    *([1e-3, 2e-3], [1e-8, 1e-9, 1e-7], [1e-30, 3e-30], [1e-30, 1.0], [1e-12, 1e6]),
    *([1e3, 2e3, 3e3], [1e8, 1e8], [1e15, 3e15], [1e30, 2e30], [100.0, 1.0, 1e-2]),
]


@pytest.mark.parametrize("alphas", ALPHAS, ids=str)
def test_knowledge_equals_mpmath(alphas):
    expected = dirichlet_reference(alphas)
    result = np.array(um.knowledge_uncertainty(alphas))
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-15)
    result = np.array(um.knowledge_uncertainty(logits=np.log(alphas)))
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-13)
    # Even the small difference of two entropies is precise for large alphas.
    knowledge = um.knowledge_uncertainty(alphas).knowledge_uncertainty
    if min(alphas) >= 1e3:
        np.testing.assert_allclose(knowledge, expected[0], rtol=1e-12)


def test_knowledge_agrees_with_samples_of_the_dirichlet(rng):
    alphas = np.array([0.7, 2.0, 1.3])
    entropies = stats.entropy(rng.dirichlet(alphas, 20000), axis=-1)
    knowledge, total, expected = um.knowledge_uncertainty(alphas)
    assert abs(entropies.mean() - expected) < 5 * entropies.std() / np.sqrt(20000)
    np.testing.assert_allclose(total, stats.entropy(alphas))
    np.testing.assert_allclose(knowledge, total - expected)
    stacked = um.knowledge_uncertainty([[alphas], [9 * alphas]])
    for i, factor in enumerate((1, 9)):
        expected = np.transpose([um.knowledge_uncertainty(factor * alphas)])
        np.testing.assert_array_equal(np.array(stacked)[:, i], expected)


def test_knowledge_of_logits_out_of_range():
    # exp(1000) overflows: the knowledge is 0, and only the shares of the classes count.
    # exp(-1000) underflows.
    knowledge, total, expected = um.knowledge_uncertainty(
        logits=[[1000.0, 1001.0], [-1000.0, -1001.0], [1000.0, -1000.0]]
    )
    entropy = stats.entropy(references.softmax([0.0, 1.0]))
    np.testing.assert_allclose(total, [entropy, entropy, 0], atol=1e-15)
    np.testing.assert_allclose(knowledge, [0, entropy, 0], atol=1e-15)
    np.testing.assert_allclose(expected, [entropy, 0, 0], atol=1e-15)


# Cross-entropies.


def cross_entropy_reference(name, labels, p, weights=None):
    losses = []
    for y, members in zip(labels, p, strict=True):
        at_label = np.array([row[y] for row in members])
        with np.errstate(divide="ignore"):
            if name == "ensemble_cross_entropy":
                losses.append(-np.log(np.mean(at_label)))
            else:
                losses.append(np.mean(-np.log(at_label)))
    return losses if weights is None else np.average(losses, weights=weights)


@every_cross_entropy
def test_cross_entropies_equal_the_reference(name, rng):
    p, labels = predictions(rng), rng.integers(0, 4, 7)
    expected = cross_entropy_reference(name, labels, p)
    with np.errstate(divide="ignore"):
        logits = np.log(p) + 3
    for given in ({"probabilities": p}, {"logits": logits}):
        result = scores(name, labels, **given, aggregate=False)
        np.testing.assert_allclose(result, expected, atol=1e-12)
    positive = 0.9 * p + 0.1 / 4
    weights = rng.uniform(size=7)
    expected = cross_entropy_reference(name, labels, positive, weights)
    result = getattr(um, name)(labels, None, positive, sample_weight=weights)
    np.testing.assert_allclose(result, expected, atol=1e-13)
    assert isinstance(result, float)


@every_cross_entropy
def test_cross_entropies_of_images_take_weights_and_ignore_labels(name, rng):
    p = 0.9 * predictions(rng, (2, 3, 5, 4)) + 0.1 / 4
    labels = rng.integers(0, 4, [2, 3])
    labels[1, 2] = -1
    weights = np.array([1.0, 3.0])
    p[1, 2, 0, 0] = np.nan  # This example is ignored.
    options = {"sample_weight": weights, "ignore_index": -1}
    moved = np.moveaxis(p, 2, 0)
    result = scores(
        name, labels, None, moved, aggregate=False, ensemble_axis=0, **options
    )
    kept = labels.reshape(-1) != -1
    flat = cross_entropy_reference(
        name, labels.reshape(-1)[kept], p.reshape(6, 5, 4)[kept]
    )
    expected = np.zeros(6)
    expected[kept] = np.repeat(weights, 3)[kept] * flat
    np.testing.assert_allclose(result, expected.reshape(2, 3), atol=1e-13)
    mean = getattr(um, name)(labels, None, moved, ensemble_axis=0, **options)
    np.testing.assert_allclose(mean, expected.sum() / (1 * 3 + 3 * 2), atol=1e-13)
    removed = {**options, "sample_weight": (labels != -1) * weights[:, None]}
    removed = getattr(um, name)(np.abs(labels), None, moved, ensemble_axis=0, **removed)
    np.testing.assert_allclose(removed, mean, atol=1e-13)


@every_cross_entropy
def test_cross_entropies_of_all_binary_forms_are_equal(name, rng):
    logits, labels = 2 * rng.normal(size=[6, 4, 1]), rng.integers(0, 2, 6)
    pairs = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    p = references.softmax(pairs)
    expected = np.mean(cross_entropy_reference(name, labels, p))
    for y in (labels, labels[:, None], labels.astype(float), labels.tolist()):
        for given in (logits, pairs):
            np.testing.assert_allclose(scores(name, y, given), expected, atol=1e-13)
        np.testing.assert_allclose(
            scores(name, y, probabilities=p[..., 1:]), expected, atol=1e-13
        )


def test_cross_entropies_are_precise_where_probabilities_underflow():
    logits = [[[0.0, -2000.0], [0.0, -3000.0]]]
    np.testing.assert_allclose(um.ensemble_cross_entropy([1], logits), 2000 + np.log(2))
    np.testing.assert_allclose(um.gibbs_cross_entropy([1], logits), 2500)
    impossible = [[[0.0, -np.inf], [0.0, 0.0]]]
    np.testing.assert_allclose(um.ensemble_cross_entropy([1], impossible), np.log(4))
    assert um.gibbs_cross_entropy([1], impossible) == np.inf
    assert um.ensemble_cross_entropy([1], [[[0.0, -np.inf]]]) == np.inf
    assert um.ensemble_cross_entropy([0], probabilities=[[[1.0, 0.0]]]) == 0


def test_variance_bound_holds_between_the_cross_entropies(rng):
    p, labels = rng.dirichlet([0.5] * 3, [200, 6]), rng.integers(0, 3, 200)
    ensemble = um.ensemble_cross_entropy(labels, probabilities=p)
    gibbs = um.gibbs_cross_entropy(labels, probabilities=p)
    bound = um.variance_bound(np.moveaxis(p, 1, 0), labels)
    assert bound > 0.01
    assert ensemble <= gibbs - bound


# Pairs of models.


def test_disagreement_and_double_fault_by_hand():
    logits_1 = [[3.0, 1.0], [1.0, 1.0], [0.0, 2.0], [-np.inf, 0.0]]
    logits_2 = [[3.0, 4.0], [2.0, 1.0], [0.0, 2.0], [5.0, 0.0]]
    # The decisions are 0, 0, 1, 1 and 1, 0, 1, 0.
    assert um.disagreement(logits_1, logits_2) == 0.5
    assert um.double_fault(logits_1, logits_2, [0, 1, 1, 0]) == 0.25
    assert um.double_fault(logits_1, logits_2, [[0], [1], [0], [0]]) == 0.5
    images = [np.reshape(x, [2, 2, 2]) for x in (logits_1, logits_2)]
    assert um.disagreement(*images) == 0.5
    assert um.double_fault(*images, [[0, 1], [1, 0]]) == 0.25


def test_arrays_of_16_bits_that_may_not_be_written_are_compared():
    """The arrays of tensors are such arrays."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (np.float16, ml_dtypes.bfloat16):
        models = np.array([[[3, 1], [0, 2]], [[3, 4], [0, 2]]], dtype)
        models.flags.writeable = False
        assert um.disagreement(*models) == 0.5
        assert um.double_fault(*models, [1, 0]) == 0.5


def test_divergence_equals_scipy(rng):
    p, q = rng.uniform(size=[2, 20, 5])
    p[rng.uniform(size=p.shape) < 0.2] = 0
    expected = special.kl_div(p, q).sum(axis=-1)
    np.testing.assert_allclose(um.kl_divergence(p, q), expected, rtol=1e-13)
    mean = um.kl_divergence(p, q, aggregate=True)
    np.testing.assert_allclose(mean, expected.mean(), rtol=1e-13)
    np.testing.assert_allclose(um.kl_divergence(9 * p, 9 * q), 9 * expected)
    p, q = rng.dirichlet(np.ones(4), [2, 3, 2])
    expected = special.rel_entr(p, q).sum(axis=-1)
    np.testing.assert_allclose(um.kl_divergence(p, q), expected, rtol=1e-12)


def test_divergence_of_zeros_and_extremes_by_hand():
    tiny = 1e-310  # A subnormal number.
    p = [[0.0, 1.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.5], [tiny, 1.0], [1e-300, 1e300]]
    q = [[0.5, 0.5], [0.0, 1.0], [0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [1e300, 1e300]]
    expected = [np.log(2), np.inf, 0, 0, np.log(2), 1e300]
    np.testing.assert_allclose(um.kl_divergence(p, q), expected, rtol=1e-14)


@pytest.mark.parametrize("distance", [1e-12, 1e-8, 1e-3, 0.2, 0.3, 0.6])
def test_divergence_of_near_distributions_is_precise(distance, rng):
    p = rng.dirichlet(np.ones(5))
    for sign in (-1, 1):
        q = p * (1 + sign * distance * np.array([1, 1, -1, 0.5, -0.25]))
        result = um.kl_divergence(p, q)
        np.testing.assert_allclose(result, exact_divergence(p, q), rtol=1e-13)


def test_divergence_of_logits_equals_scipy(rng):
    first, second = 3 * rng.normal(size=[2, 6, 4])
    first[0, 1] = second[1, 2] = first[2, 3] = second[2, 3] = -np.inf
    p, q = references.softmax(first), references.softmax(second)
    expected = special.rel_entr(p, q).sum(axis=-1)
    assert np.isinf(expected[1])
    result = um.logit_kl_divergence(first + 1000, second - 1000, aggregate=False)
    np.testing.assert_allclose(result, expected, rtol=1e-11)
    finite = np.delete(first, 1, 0), np.delete(second, 1, 0)
    np.testing.assert_allclose(
        um.logit_kl_divergence(*finite), np.delete(expected, 1).mean(), rtol=1e-12
    )
    binary = um.logit_kl_divergence([[2.0]], [[-1.0]])
    pair = um.logit_kl_divergence([[0.0, 2.0]], [[0.0, -1.0]])
    np.testing.assert_allclose(binary, pair, rtol=1e-14)
    # The probability of class 0 underflows, but the logit does not.
    result = um.logit_kl_divergence([[0.0, 0.0]], [[-2000.0, 0.0]])
    np.testing.assert_allclose(result, 1000 - np.log(2))
    # Here that of the other model does, and is not 0 either.
    assert um.logit_kl_divergence([[-2000.0, 0.0]], [[-np.inf, 0.0]]) == np.inf


def test_distances_equal_numpy_and_scipy(rng):
    x, y = rng.normal(size=[2, 2, 3, 4])
    x[0, 1] = y[0, 1]
    for p in (1, 1.5, 2, 7, np.inf):
        expected = np.linalg.norm(x - y, ord=p, axis=-1)
        result = um.lp_distance(x, y, p, aggregate=False)
        np.testing.assert_allclose(result, expected, rtol=1e-14)
        np.testing.assert_allclose(um.lp_distance(x, y, p), expected.mean())
        far = um.lp_distance(x * 1e200, y * 1e200, p, aggregate=False)
        np.testing.assert_allclose(far, expected * 1e200, rtol=1e-14)
    rows = zip(x.reshape(6, 4), y.reshape(6, 4), strict=True)
    expected = np.array([spatial.distance.cosine(*row) for row in rows])
    for scale in (1.0, 1e200, 1e-200):
        result = um.cosine_distance(x * scale, y, aggregate=False)
        np.testing.assert_allclose(result.reshape(-1), expected, atol=1e-14)
        np.testing.assert_allclose(
            um.cosine_similarity(x * scale, y), 1 - expected.mean(), atol=1e-14
        )


def test_cosine_similarity_with_a_zero_vector_is_0():
    x, y = [[0.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [2.0, 2.0]]
    similarity = um.cosine_similarity(x, y, aggregate=False)
    np.testing.assert_allclose(similarity, [0, 1], rtol=1e-15)
    np.testing.assert_allclose(
        um.cosine_distance(x, y, aggregate=False), [1, 0], atol=1e-15
    )
    assert um.lp_distance(x, x, 3) == 0


def test_variance_bound_by_hand():
    # Both members' probabilities of the label are: .5 and 1; .2 and .4; 0 and 0.
    probs = [
        [[0.5, 0.5], [0.8, 0.2], [1.0, 0.0]],
        [[1.0, 0.0], [0.6, 0.4], [1.0, 0.0]],
    ]
    expected = (0.25**2 / 2 + 0.1**2 / (2 * 0.4**2) + 0) / 3
    assert um.variance_bound(probs, [0, 1, 1]) == pytest.approx(expected, rel=1e-14)
    assert um.variance_bound(probs, [0, 1, 1], 2) == pytest.approx(expected, rel=1e-14)
    binary = np.array(probs)[..., 1:]
    assert um.variance_bound(binary, [[0], [1], [1]]) == pytest.approx(expected)
    assert um.variance_bound(probs[:1], [0, 1, 1]) == 0
    images = np.array(probs)[:, :2, None]
    result = um.variance_bound(images, [[0], [1]])
    assert result == pytest.approx(expected * 3 / 2)


# Diversity over pairs.


def pairwise_reference(probs):
    """Returns the mean diversities by a loop over the pairs of members."""
    parts = collections.defaultdict(list)
    for p, q in itertools.combinations(np.asarray(probs, np.float64), 2):
        parts["disagreement"].append(np.mean(p.argmax(-1) != q.argmax(-1)))
        divergences = [exact_divergence(*rows) for rows in zip(p, q, strict=True)]
        parts["average_kl"].append(np.mean(divergences))
        cosines = [
            1 - spatial.distance.cosine(*rows)
            if np.any(rows[0]) * np.any(rows[1])
            else 0
            for rows in zip(p, q, strict=True)
        ]
        parts["cosine_similarity"].append(np.mean(cosines))
    return {name: np.mean(values) for name, values in parts.items()}


def assert_diversity(result, expected, rtol=1e-12):
    assert list(result) == ["disagreement", "average_kl", "cosine_similarity"]
    for name, value in result.items():
        np.testing.assert_allclose(value, expected[name], rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("members", [2, 3, 8])
def test_diversity_equals_the_loop_over_pairs(members, rng):
    probs = rng.dirichlet([0.3] * 4, [members, 6])
    result = um.average_pairwise_diversity(probs)
    assert_diversity(result, pairwise_reference(probs))
    assert all(type(value) is float for value in result.values())
    images = probs.reshape(members, 2, 3, 4)
    assert_diversity(um.average_pairwise_diversity(images, members), result)
    binary = probs[..., 1:2]
    pairs = np.concatenate([1 - binary, binary], axis=-1)
    assert_diversity(um.average_pairwise_diversity(binary), pairwise_reference(pairs))
    any_rows = rng.uniform(size=[members, 6, 4])
    assert_diversity(
        um.average_pairwise_diversity(any_rows), pairwise_reference(any_rows)
    )


@pytest.mark.parametrize("distance", [0.0, 1e-10, 1e-5, 0.1, 0.5])
def test_diversity_of_members_that_nearly_agree_is_precise(distance, rng):
    probs = rng.dirichlet(np.ones(3), 4) * (1 - distance * rng.uniform(size=[5, 4, 3]))
    assert_diversity(um.average_pairwise_diversity(probs), pairwise_reference(probs))


def test_diversity_of_zeros_is_infinite_only_by_definition():
    # The divergence of a pair is finite if the first member, or both, have probability
    # 0.
    probs = np.array([[[0.0, 1.0, 0.0]], [[0.0, 0.5, 0.5]], [[0.25, 0.25, 0.5]]])
    result = um.average_pairwise_diversity(probs)
    assert_diversity(result, pairwise_reference(probs))
    assert um.average_pairwise_diversity(probs[::-1])["average_kl"] == np.inf
    gone = np.concatenate([probs, np.zeros([1, 1, 3])])
    assert um.average_pairwise_diversity(gone)["average_kl"] == np.inf
    nothing = np.concatenate([np.zeros([1, 1, 3]), probs])
    assert_diversity(
        um.average_pairwise_diversity(nothing), pairwise_reference(nothing)
    )
    zeros = um.average_pairwise_diversity(np.zeros([2, 1, 3]))
    assert list(zeros.values()) == [0, 0, 0]


def test_blocks_do_not_change_diversity_and_error_divides_disagreement(
    rng, monkeypatch
):
    probs = rng.dirichlet(np.ones(3), [4, 9])
    whole = um.average_pairwise_diversity(probs)
    relative = um.average_pairwise_diversity(probs, error=0.2)
    assert relative["disagreement"] == pytest.approx(whole["disagreement"] / 0.2)
    assert relative["average_kl"] == whole["average_kl"]
    monkeypatch.setattr(_predictions, "_BLOCK", 30)
    assert_diversity(um.average_pairwise_diversity(probs), whole)
