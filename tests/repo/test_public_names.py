"""The lists of public names agree: the package, the catalogue, the README."""

import inspect
import pathlib
import re

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue

ROOT = pathlib.Path(__file__).parents[2]

KERAS_CLASSES = {row.metric for row in catalogue.METRICS} | set(catalogue.KERAS_ONLY)
FUNCTIONS = {name for row in catalogue.FUNCTIONS for name in (row.name, *row.aliases)}
FUNCTIONS |= {row.name for row in catalogue.REAL_ROWS + catalogue.DETECTION_ROWS}
TESTED_BY_FILE = (
    catalogue.OTHERS,
    catalogue.TENSORFLOW_ONLY,
    catalogue.KERAS_ONLY,
    catalogue.REGRESSION,
    catalogue.REGRESSION_TENSORFLOW_ONLY,
)
MODULES = (um, um_np, um.regression, um_np.regression)


def test_every_public_name_has_a_row():
    known = KERAS_CLASSES | FUNCTIONS | set().union(*TESTED_BY_FILE[:3])
    assert set(um.__all__) == known
    # The NumPy half has the functions, and one accumulating object.
    tensorflow_only = KERAS_CLASSES | set(catalogue.TENSORFLOW_ONLY) | {"numpy"}
    assert set(um_np.__all__) == known - tensorflow_only | {"GeneralCalibrationError"}
    assert set(um_np.regression.__all__) == set(catalogue.REGRESSION)
    assert set(um.regression.__all__) == set().union(*TESTED_BY_FILE[3:])


def test_every_public_name_is_there():
    for module in MODULES:
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert set(module.__all__) <= set(dir(module))


def test_other_names_are_tested_where_the_catalogue_says():
    for names in TESTED_BY_FILE:
        for name, path in names.items():
            assert name in (ROOT / path).read_text(), name


def test_every_public_name_is_in_the_tables_of_the_readme():
    text = (ROOT / "README.md").read_text()

    def named(text):
        table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
        return set(re.findall(r"`(\w+)`", table))

    assert set(um.__all__) | set(um_np.__all__) <= named(text)
    section = text.partition("### Regression")[2].partition("\n### ")[0]
    assert set(um.regression.__all__) <= named(section)


def test_package_catalogue_readme_and_reference_have_the_same_names():
    pytest.importorskip("mkdocs", reason="the reference needs the extra `docs`")
    from scripts import docs_hooks

    halves = {"uncertainty_metrics": um, "uncertainty_metrics.numpy": um_np}
    catalogued = KERAS_CLASSES | FUNCTIONS | set().union(*TESTED_BY_FILE)
    tables = set(re.findall(r"`(\w+)`", (ROOT / "README.md").read_text()))
    for package, half in halves.items():
        listed = {*half.__all__, *half.regression.__all__} - {"numpy", "regression"}
        pages = docs_hooks.reference()[package].values()
        described = {
            name
            for page in pages
            for entry in page
            if entry.package != "uncertainty_metrics.beam"
            for name in entry.names
        }
        assert described == listed
        assert listed <= catalogued
        assert listed <= tables


def public_objects():
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if getattr(value, "__module__", "").startswith("uncertainty_metrics"):
                yield pytest.param(value, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("value", list(public_objects()))
def test_docstrings_are_complete(value):
    text = inspect.getdoc(value)
    if value.__name__ in ("BinStatistics", "PITInterval", "ReliabilityCurve"):
        assert "Attributes:" in text
        return
    signature = inspect.signature(value)
    called = ("Args:", "Raises:") if signature.parameters else ("Attributes:",)
    for section in (*called, "Example:"):
        assert section in text, section
    arguments = text.partition("Args:")[2].partition("Raises:")[0]
    for name in signature.parameters:
        assert re.search(rf"\b{name}\b", arguments), f"{name} is not described"


@pytest.mark.parametrize("value", list(public_objects()))
def test_signatures_are_annotated(value):
    made = inspect.isclass(value) and not issubclass(value, tuple)
    signature = inspect.signature(value.__init__ if made else value)
    for name, parameter in signature.parameters.items():
        if name != "self":
            assert parameter.annotation is not inspect.Parameter.empty, name
    if not inspect.isclass(value):
        assert signature.return_annotation is not inspect.Signature.empty


def test_both_rooms_have_the_same_signatures():
    shared = FUNCTIONS | set(catalogue.OTHERS) - {
        *("numpy", "regression", "BinStatistics")
    }
    for rooms, name in [
        *(((um, um_np), name) for name in shared),
        *(((um.regression, um_np.regression), name) for name in catalogue.REGRESSION),
    ]:
        ours, theirs = (inspect.signature(getattr(room, name)) for room in rooms)
        ours, theirs = ours.parameters, theirs.parameters
        assert list(ours) == list(theirs), name
        for key, parameter in ours.items():
            assert parameter.default == theirs[key].default, (name, key)
            assert parameter.kind == theirs[key].kind, (name, key)


def test_signature_of_the_general_function_is_pinned():
    parameters = inspect.signature(um.gce).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [
        *("labels", "probabilities", "binning_scheme", "max_prob", "class_conditional"),
        *("norm", "num_bins", "threshold", "datapoints_per_bin"),
    ]


def test_signatures_of_the_scoring_rules_are_pinned():
    for name, expected in {
        "brier_score": ("labels", "probabilities", "logits", "aggregate"),
        "negative_log_likelihood": ("labels", "probabilities", "logits", "aggregate"),
        "brier_decomposition": ("labels", "probabilities", "logits"),
        "brier_decomposition_exact": ("labels", "probabilities", "logits"),
        "crps_normal_score": ("labels", "means", "stddevs"),
        "crps_score": ("labels", "predictive_samples"),
        "pinball_loss": ("labels", "quantile_predictions", "quantiles"),
        "interval_score": ("labels", "lower", "upper", "alpha"),
        "energy_score": ("labels", "predictive_samples"),
        "crps_distribution": ("labels", "distribution"),
        "bayesian_expected_calibration_error": (
            *("num_bins", "logits", "probabilities", "labels_true"),
            *("labels_predicted", "num_ece_samples"),
        ),
        "probability_of_lower_calibration_error": ("samples_a", "samples_b"),
    }.items():
        parameters = inspect.signature(getattr(um, name)).parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert tuple(positional) == expected, name
