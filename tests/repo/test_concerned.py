"""`python -m pytest --name NAME` catches a wrong constant in the formula of a name."""

import shutil

import pytest

from tests.repo.test_contributing import make_copy, run

NUMPY, OPS, KERAS = (
    f"uncertainty_metrics/{room}" for room in ("numpy", "ops", "keras")
)
# For a name of each kind of Row: the same wrong constant in each arithmetic that has
# its formula.
FAULTS = {
    "brier_score": (
        (
            f"{NUMPY}/scoring/scoring_rules.py",
            "_row_math.dot(p, p) - 2 * at_label",
            "1.1 * _row_math.dot(p, p) - 2 * at_label",
        ),
        (
            f"{OPS}/_classifier_scores.py",
            "_squares(p) - 2 * _expected",
            "1.1 * _squares(p) - 2 * _expected",
        ),
    ),
    "ece": (
        (
            f"{NUMPY}/calibration/bins/_binning.py",
            'if norm == "max" else np.mean(errors, axis=-1)',
            'if norm == "max" else 1.01 * np.mean(errors, axis=-1)',
        ),
        (
            f"{OPS}/_binning.py",
            "combined = xp.reduce_mean(errors, axis=-1)",
            "combined = 1.01 * xp.reduce_mean(errors, axis=-1)",
        ),
    ),
    "crps_normal_score": (
        (
            f"{NUMPY}/scoring/forecast_scores.py",
            "2 * density - 1 / np.sqrt(np.pi)",
            "2 * density - 1.01 / np.sqrt(np.pi)",
        ),
        (
            f"{OPS}/_forecast_scores.py",
            "2 * density - 1 / math.sqrt(math.pi)",
            "2 * density - 1.01 / math.sqrt(math.pi)",
        ),
    ),
    "pinball_loss": (
        (
            f"{NUMPY}/scoring/forecast_scores.py",
            "np.multiply(levels - 1, error, out=error)",
            "np.multiply(levels - 1.01, error, out=error)",
        ),
        (
            f"{OPS}/_forecast_scores.py",
            "xp.maximum(levels * error, (levels - 1) * error)",
            "xp.maximum(levels * error, (levels - 1.01) * error)",
        ),
    ),
    "regression.negative_log_likelihood": (
        (
            f"{NUMPY}/regression/normal_scores.py",
            "return 0.5 * (math.log(2 * math.pi)",
            "return 0.5 * (math.log(2.1 * math.pi)",
        ),
        (
            "uncertainty_metrics/tensors/regression/normal_scores.py",
            "return 0.5 * (math.log(2 * math.pi)",
            "return 0.5 * (math.log(2.1 * math.pi)",
        ),
    ),
    "mean_member_uncertainty": (
        (
            f"{NUMPY}/ensemble/uncertainty.py",
            "return 1 - members.classes.max",
            "return 1.01 - members.classes.max",
        ),
        (
            f"{NUMPY}/ensemble/uncertainty.py",
            "return 1 - (exponentials.max",
            "return 1.01 - (exponentials.max",
        ),
        (
            f"{OPS}/_members.py",
            "return 1 - xp.reduce_mean(confidences",
            "return 1.01 - xp.reduce_mean(confidences",
        ),
    ),
    "concordance_index": (
        (
            f"{NUMPY}/survival/concordance.py",
            "(right + ties / 2) / pairs",
            "(right + ties / 3) / pairs",
        ),
    ),
    "conformal.conformal_quantile": (
        (
            f"{NUMPY}/conformal/quantile.py",
            "k = max(rank(len(scores), alpha), 1)",
            "k = max(rank(len(scores), alpha) - 1, 1)",
        ),
    ),
    "PlattScaling": (
        (
            f"{NUMPY}/calibrators/one_against_rest.py",
            "        return special.logit(p)[None]\n",
            "        return special.logit(p)[None] ** 3\n",
        ),
    ),
    "Mahalanobis": (
        (
            f"{NUMPY}/selective/mahalanobis.py",
            "scores = _row_math.dot(y, y)",
            "scores = 1.01 * _row_math.dot(y, y)",
        ),
    ),
    "GaussianNLLLoss": (
        (
            f"{KERAS}/_regression_scorers.py",
            "0.5 * z * z + 0.5 * math.log(2 * math.pi)",
            "0.5 * z * z + 0.5 * math.log(2.1 * math.pi)",
        ),
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository, whose files each test restores."""
    folder = tmp_path_factory.mktemp("copy")
    make_copy(folder)
    return folder


@pytest.mark.exhaustive  # `.ci/run` does the first beside other steps.
@pytest.mark.first(4, "thorough")
@pytest.mark.parametrize("name", FAULTS)
def test_the_loop_of_a_name_fails_for_a_wrong_constant(name, copy, tmp_path):
    for file in {file for file, _, _ in FAULTS[name]}:
        shutil.copy(copy / file, tmp_path / file.replace("/", " "))
    try:
        for file, right, wrong in FAULTS[name]:
            text = (copy / file).read_text()
            assert text.count(right) == 1, (file, right)
            (copy / file).write_text(text.replace(right, wrong))
        # The examples of docstrings alone are no reference.
        options = ("-x", "-p", "no:cacheprovider", "-k", "not test_docstring_examples")
        loop = run(copy, "-m", "pytest", "--name", name, *options)
        assert loop.returncode == 1, loop.stdout + loop.stderr
    finally:
        for file in {file for file, _, _ in FAULTS[name]}:
            shutil.copy(tmp_path / file.replace("/", " "), copy / file)
