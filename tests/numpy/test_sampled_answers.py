"""Scores of several answers to a question, against loops over the questions."""

import collections

import numpy as np
import pytest

import uncertainty_metrics.numpy as um


def entropy(shares):
    return -sum(share * np.log(share) for share in shares if share > 0)


@pytest.mark.parametrize("kind", [int, str, bool])
def test_agreement_equals_counts_in_a_loop(kind, rng):
    answers = rng.integers(0, 4, [50, 7]).astype(kind)
    result = um.sampled_agreement(answers)
    for i, row in enumerate(answers.tolist()):
        counts = collections.Counter(row)  # Lists equal counts by first occurrence.
        answer, count = counts.most_common(1)[0]
        assert result.answer[i] == answer
        assert result.agreement[i] == count / 7
        expected = entropy([n / 7 for n in counts.values()])
        assert result.entropy[i] == pytest.approx(expected, abs=1e-12)


def test_answers_may_be_strings_of_any_length():
    result = um.sampled_agreement([["yes", "no", "yes"], ["a long answer", "b", "b"]])
    assert result.answer.tolist() == ["yes", "b"]
    column = np.array([["x", "x"], ["y", "x"]], object)
    assert um.sampled_agreement(column).agreement.tolist() == [1.0, 0.5]
    assert um.sampled_agreement([[3.0, 3.0, 4.0]]).answer.tolist() == [3]


def test_one_answer_agrees_with_itself():
    result = um.sampled_agreement([["a"], ["b"]])
    assert result.agreement.tolist() == [1, 1]
    assert result.entropy.tolist() == [0, 0]


@pytest.mark.parametrize("likelihoods", [False, True])
def test_semantic_entropy_equals_the_formula(likelihoods, rng):
    clusters = rng.integers(-2, 2, [40, 6])
    logarithms = rng.normal(-800, 30, [40, 6])  # The likelihoods underflow.
    logarithms[0, :5] = -np.inf
    result = um.semantic_entropy(clusters, logarithms if likelihoods else None)
    for i in range(40):
        p = np.ones(6)
        if likelihoods:
            p = np.exp(logarithms[i] - logarithms[i].max())
        shares = [p[clusters[i] == c].sum() / p.sum() for c in set(clusters[i])]
        assert result[i] == pytest.approx(entropy(shares), abs=1e-12)


def test_semantic_entropy_of_equal_likelihoods_counts_the_answers(rng):
    clusters = rng.integers(0, 3, [20, 5])
    np.testing.assert_allclose(
        um.semantic_entropy(clusters, np.full([20, 5], -3.0)),
        um.semantic_entropy(clusters),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        um.semantic_entropy(clusters), um.sampled_agreement(clusters).entropy
    )


def test_agreement_and_entropy_rank_answers(rng):
    """Confidence is the agreement, or minus the entropy."""
    truth = rng.integers(0, 5, 400)
    skill = rng.uniform(0, 1, 400)
    right = rng.random([400, 9]) < skill[:, None]
    answers = np.where(right, truth[:, None], rng.integers(0, 5, [400, 9]))
    result = um.sampled_agreement(answers)
    correct = result.answer == truth
    assert um.auroc(~correct, result.entropy) > 0.7
    assert um.aurc(confidences=result.agreement, correct=correct) < 1 - correct.mean()
    by_entropy = um.aurc(confidences=-result.entropy, correct=correct)
    assert by_entropy < 1 - correct.mean()


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ([["a"], ["b", "c"]], ValueError, "rows of different lengths"),
        ([], ValueError, r"of shape \[N, S\].*Received: shape \[0\]"),
        (["a", "b"], ValueError, r"Received: shape \[2\]"),
        ([["a", None]], ValueError, "must hold an answer everywhere"),
        ([[np.nan, 1.0]], ValueError, "must hold an answer everywhere"),
        ([[0.5, 1.0]], ValueError, "must hold strings, or integers"),
        (np.float16([[0.5, 1.0]]), ValueError, "must hold strings, or integers"),
        ([[("a",), "b"]], (TypeError, ValueError), "answers"),
    ],
)
def test_bad_answers_raise(answers, error, message):
    with pytest.raises(error, match=message):
        um.sampled_agreement(answers)
    with pytest.raises(error, match=message.replace("answers", "clusters")):
        um.semantic_entropy(answers)


@pytest.mark.parametrize(
    ("log_likelihoods", "message"),
    [
        ([[-1.0]], r"of the shape of `clusters`, \[1, 2\]"),
        ([[-np.inf, -np.inf]], "finite, or -inf for some answers of a row"),
        ([[np.nan, -1.0]], "finite, or -inf"),
        ([[np.inf, -1.0]], "finite, or -inf"),
    ],
)
def test_bad_likelihoods_raise(log_likelihoods, message):
    with pytest.raises(ValueError, match=message):
        um.semantic_entropy([[0, 1]], log_likelihoods)
