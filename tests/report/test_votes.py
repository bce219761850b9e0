"""Reports of a classifier whose examples have votes for the classes."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um
from tests.report.reports import approximately, fails, numbers, run, tiles

pytestmark = pytest.mark.usefixtures("undrawn")


def voted(n=200, classes=3, annotators=5, seed=0):
    """Returns the votes [n, annotators] for classes, their shares, and forecasts."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(classes), n)
    votes = (rng.random((n, annotators, 1)) > truth.cumsum(axis=1)[:, None]).sum(axis=2)
    shares = (votes[:, :, None] == np.arange(classes)).mean(axis=1)
    p = np.sqrt(truth) / np.sqrt(truth).sum(axis=1, keepdims=True)
    return votes, shares, p


def values(section):
    return {name: metric["value"] for name, metric in section["metrics"].items()}


def test_decisions_have_their_shares_of_votes_as_grades():
    _, shares, p = voted()
    report = um.report(label_distributions=shares, probabilities=p)
    found = report.to_dict()
    grades = shares[np.arange(200), p.argmax(axis=1)]
    graded = um.report(correct=grades, confidences=p.max(axis=1)).to_dict()
    for name in ("scoring_rules", "selective_prediction", "calibration"):
        assert values(found[name]) == values(graded[name])
    assert found["calibration"]["mean_share_of_votes"] == pytest.approx(grades.mean())
    assert found["intervals"]["metrics"]["mean_share_of_votes"]["low"] < grades.mean()
    assert tiles(found)["Mean share of votes"]["value"] == f"{grades.mean():.3f}"
    assert tiles(found)["Calibration"]["value"] == "Underconfident"
    page = report.summary()
    assert "Surer decisions have more votes." in page
    assert "ccuracy" not in page.replace("accuracy:", "")
    assert "answer" not in page.lower()


def test_scores_of_all_classes_are_means_over_annotators():
    votes, shares, p = voted()
    found = um.report(label_distributions=shares, logits=np.log(p)).to_dict()["votes"]
    options = {"brier_score": {"zero_based": True}, "negative_log_likelihood": {}}
    for name, given in options.items():
        each = [getattr(um, name)(vote, p, **given) for vote in votes.T]
        assert values(found)[name] == pytest.approx(np.mean(each))
    for k in range(3):
        row = found["classes"][f"class {k}"]
        assert row["share_of_votes"] == pytest.approx(shares[:, k].mean())
        assert row["mean_probability"] == pytest.approx(p[:, k].mean())


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_the_code_for_all_classes_fits_to_each_vote(kind):
    votes, shares, p = voted()
    given = p if kind == "probabilities" else np.log(p)
    report = um.report(label_distributions=shares, **{kind: given})
    names = {"votes": shares, kind: given, f"new_{kind}": given}
    exec("\n".join(report.to_dict()["votes"]["code"]), names)
    repeated = np.repeat(given, votes.shape[1], axis=0)
    alone = um.TemperatureScaling().fit(votes.reshape(-1), **{kind: repeated})
    expected = alone.transform(**{kind: given})
    np.testing.assert_allclose(names["recalibrated"], expected, atol=1e-5)
    assert "recalibrated = scaling.transform" in report.summary()


def test_examples_of_weight_0_do_not_count():
    _, shares, p = voted()
    bad, weights = shares.copy(), np.ones(200)
    bad[3], weights[3] = -1, 0
    some = {"groups": np.arange(200) % 2, "classes": ["a", "b", "c"]}
    found = um.report(
        label_distributions=bad, probabilities=p, sample_weight=weights, **some
    ).to_dict()
    kept = np.arange(200) != 3
    some["groups"] = some["groups"][kept]
    expected = um.report(
        label_distributions=shares[kept], probabilities=p[kept], **some
    ).to_dict()
    assert values(found["votes"]) == pytest.approx(values(expected["votes"]))
    assert found["groups"]["verdict"] == expected["groups"]["verdict"]
    assert set(found["votes"]["classes"]) == {"a", "b", "c"}


def test_two_models_of_the_same_votes_are_compared():
    _, shares, p = voted()
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    report = um.report(
        label_distributions=shares, probabilities=p, compare={"b": sharper}
    )
    found = report.to_dict()["comparison"]
    assert "the same votes in the same order" in found["examples"]
    assert found["numbers"]["mean_share_of_votes"]["second"] == pytest.approx(
        shares[np.arange(200), p.argmax(axis=1)].mean()
    )
    assert "neither model clearly has more votes" in report.summary()


def test_batches_and_one_label_each():
    _, shares, p = voted()
    parts = [slice(0, 1), slice(1, 200)]
    shares[0] = [0, 1, 0]
    batches = [{"label_distributions": shares[s], "probabilities": p[s]} for s in parts]
    found = um.report(batches=batches).to_dict()
    whole = um.report(label_distributions=shares, probabilities=p).to_dict()
    assert values(found["votes"]) == values(whole["votes"])
    alone = um.report(label_distributions=np.eye(3)[p.argmax(axis=1)], probabilities=p)
    assert "All votes on an example are for one class" in alone.to_dict()["notes"][-1]


def test_the_printed_code_runs():
    _, shares, p = voted()
    report = um.report(label_distributions=shares, probabilities=p)
    code = report.to_dict()["recalibration"]["code"]
    names = {"votes": shares, "probabilities": p, "new_confidences": np.array([0.4])}
    exec("\n".join(code), names)
    assert 0 < names["recalibrated"][0] < 1


def test_what_does_not_fit_is_refused():
    _, shares, p = voted(20)
    with pytest.raises(ValueError, match="divide votes by their number"):
        um.report(label_distributions=5 * shares, probabilities=p)
    with pytest.raises(ValueError, match="and no labels"):
        um.report(np.zeros(20), label_distributions=shares, probabilities=p)
    with pytest.raises(ValueError, match="must name the 3 classes"):
        um.report(label_distributions=shares, probabilities=p, classes=["a", "b"])


def test_data_frames_are_aligned_by_their_columns():
    pandas = pytest.importorskip("pandas")
    _, shares, p = voted(60)
    found = um.report(
        label_distributions=pandas.DataFrame(shares, columns=[*"abc"]),
        probabilities=pandas.DataFrame(p[:, [2, 0, 1]], columns=[*"cab"]),
    ).to_dict()
    expected = um.report(
        label_distributions=shares, probabilities=p, classes=[*"abc"]
    ).to_dict()
    assert found["votes"] == expected["votes"]


def test_votes_in_a_file(own_directory, capsys):
    _, shares, p = voted()
    given = {"label_distributions": shares, "logits": np.log(p)}
    rest = {"sample_weight": np.arange(200) % 3, "site": np.arange(200) // 50}
    classes = ["a", "b", "c"]
    np.savez("v.npz", **given, **rest, classes=classes, image=np.arange(200))
    options = "--group", "site", "--cluster", "image"
    run("v.npz", *options)
    found = numbers()
    expected = um.report(
        **given,
        sample_weight=rest["sample_weight"],
        classes=classes,
        groups={"site": rest["site"]},
        clusters=np.arange(200),
    ).to_dict()
    for name in ("votes", "scoring_rules", "groups", "calibration"):
        assert found[name] == approximately(expected[name])
    assert "needs one label" in fails(capsys, "v.npz", "--positive-class", "a")
    np.savez("w.npz", label_distributions=shares)
    assert "with `probabilities` or `logits`" in fails(capsys, "w.npz")
