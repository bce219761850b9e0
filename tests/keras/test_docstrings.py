"""Metrics and losses say alike what they share; their docstrings are not generated."""

import collections
import inspect
import re

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from tests import catalogue
from tests.repo.test_docstrings import described
from uncertainty_metrics.keras import _base, _loss
from uncertainty_metrics.keras.metrics._cell_scores import CellMetric
from uncertainty_metrics.keras.metrics._ranking import DetectionMetric, SelectiveMetric

pytestmark = [pytest.mark.keras, pytest.mark.tensors]

CLASSES = {
    f"{room}{name}": getattr(module, name)
    for room, module in (
        *(("", um), ("regression.", um.regression)),
        ("conformal.", um.conformal),
    )
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
    and issubclass(getattr(module, name), _base.SumsMetric | _loss.Loss)
}
# The classes whose argument differs from that of all others, so that they say more.
OWN = {
    "bandwidth": {"MMCELoss", "SmoothCalibrationError"},
    "ensemble_axis": {"PredictiveEntropy"},
    "estimator": {"CRPSSampleLoss"},
    "level": {"regression.QuantileCoverage"},
    "from_logits": {"Accuracy", "KnowledgeUncertainty"},
    "multilabel": {"AUROC", "BrierLoss", "BrierScore", "NegativeLogLikelihood"},
    "name": {"MetricCollection"},
    "norm": {"SoftCalibrationLoss"},
    "num_bins": {"SoftCalibrationLoss"},
    "num_classes": {"AUROC", "CalibrationError"},
    "per_image": {"GeneralCalibrationError"},
    "positive_class": {"CalibrationError"},
    "quantiles": {"regression.QuantileCoverage"},
    "sketch_bits": {"AURC", "AUROC", "GeneralCalibrationError"},
    "sparse_labels": {"GeneralCalibrationError"},
    "threshold": {"ThresholdedAdaptiveCalibrationError"},
    "zero_based": {"BrierLoss"},
}
# The classes that have no references of the function, but their own.
OF_THEIR_OWN = {
    "BrierDecomposition",
    "CalibrationError",
    "CoverageAtRisk",
    "FPRAtTPR",
    "MutualInformation",
    "PredictiveEntropy",
    "RefinedNegativeLogLikelihood",
    "RiskAtCoverage",
}


def kind(argument, name):
    """Returns a key that is equal for classes in which an argument means the same."""
    made = CLASSES[name]
    if argument in ("name", "dtype", "ignore_index"):
        return issubclass(made, _loss.Loss)
    if argument == "alpha":  # The share of an estimator, or a level.
        return "estimator" in inspect.signature(made).parameters
    if argument == "scale_transform":  # Some take a scale of 0.
        return name.startswith("regression.")
    if argument == "positive_class":
        return made._by_form
    if argument == "threshold":
        return inspect.signature(made).parameters[argument].default is None
    if argument == "sketch_bits":
        families = CellMetric, SelectiveMetric | DetectionMetric
        return [issubclass(made, family) for family in families]
    return None


def arguments():
    """Returns the classes that have each argument."""
    found = collections.defaultdict(set)
    for name, made in CLASSES.items():
        for argument in described(inspect.getdoc(made)):
            found[argument].add(name)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_every_argument_is_described_in_order(name):
    made = CLASSES[name]
    parameters = list(inspect.signature(made.__init__).parameters)
    assert list(described(inspect.getdoc(made))) == parameters[1:]


@pytest.mark.parametrize("argument", arguments())
def test_classes_describe_an_argument_alike(argument):
    wordings = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in arguments()[argument] - OWN.get(argument, set()):
        text = described(inspect.getdoc(CLASSES[name]))[argument]
        wordings[str(kind(argument, name))][text].append(name)
    differing = [dict(texts) for texts in wordings.values() if len(texts) > 1]
    assert not differing, (
        f"describe `{argument}` in the same words, or write the class into OWN of "
        f"{__file__}: {differing}"
    )


def test_classes_with_words_of_their_own_have_the_argument():
    for argument, names in OWN.items():
        assert names <= arguments()[argument], argument


def section(title, docstring):
    """Returns what a docstring has below a heading, as one line; "" for no heading."""
    found = re.search(rf"^{title}:\n((?:(?:  .*)?\n)+)", docstring + "\n\n", re.M)
    return " ".join(found[1].split()) if found else ""


def test_classes_say_alike_what_they_raise():
    for base in (_base.SumsMetric, _loss.Loss):
        texts = {
            re.search(r"ValueError: .*", section("Raises", inspect.getdoc(made)))[0]
            for name, made in CLASSES.items()
            if issubclass(made, base)
            and name not in ("CalibrationError", "MetricCollection")
        }
        assert len(texts) == 1, texts


@pytest.mark.parametrize("row", catalogue.METRICS, ids=lambda row: row.metric)
def test_a_metric_has_the_references_of_its_function(row):
    of_class = section("References", inspect.getdoc(CLASSES[row.metric]))
    of_function = ""
    if row.name in um_np.__all__ or "." in row.name:
        of_function = section("References", inspect.getdoc(row.find(um_np)))
    assert (of_class != of_function) == (row.metric in OF_THEIR_OWN)
