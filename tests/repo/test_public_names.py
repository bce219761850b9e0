"""The lists of public names agree: the package, the catalogue, the guide."""

import inspect
import operator
import pathlib
import re

import pytest

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np
from scripts import names_page, stubs, write_stubs
from tests import catalogue
from tests.catalogue.kinds import Swept
from uncertainty_metrics import _directions
from uncertainty_metrics.keras import _base

ROOT = pathlib.Path(__file__).parents[2]
# Names of modules and packages.
NAMESPACES = {"numpy", "datasets", *catalogue.ROOMS}
# The page of other words leads to the names, but describes none of them.
WORDS = names_page.WORDS
GUIDE = {
    path.stem: path.read_text()
    for path in (ROOT / "docs").rglob("*.md")
    if path not in (WORDS, names_page.PAGE)
}

MODULES = catalogue.modules(um, um_np)
HALVES = {"tensors": um, "numpy": um_np}


def public(module):
    """Returns what is public in a half by its names, those of rooms with a dot."""
    rooms = ((f"{room}.", getattr(module, room)) for room in catalogue.ROOMS)
    return {
        f"{prefix}{name}": getattr(room, name)
        for prefix, room in (("", module), *rooms)
        for name in room.__all__
    }


def test_every_public_name_is_listed():
    missing = stubs.missing()
    assert not missing, "\n".join(missing)


def test_stubs_are_up_to_date():
    assert not write_stubs.outdated(), "run `python scripts/write_stubs.py`"


@pytest.mark.parametrize("half", HALVES)
def test_every_public_name_has_a_row(half):
    complaints = catalogue.complaints(half, public(HALVES[half]))
    assert not complaints, "\n".join(complaints)


def untested(rows):
    """Returns what to write where for the rows without a reference that no test of the
    functions names.
    """
    texts = [
        path.read_text("utf-8")
        for half in HALVES
        for path in (ROOT / "tests" / half).glob("test_*.py")
    ]
    complaints = []
    for row in rows:
        names = "|".join(name.rpartition(".")[2] for name in row.names)
        if isinstance(row, Swept) or any(
            re.search(rf"\b({names})\b", text) for text in texts
        ):
            continue
        complaints.append(
            f"the Row of `{row.name}` in tests/catalogue has no reference, and no test "
            "names the function: write a test into the file of its family in "
            "tests/numpy that compares it with one"
        )
    return complaints


def test_tests_that_rows_leave_out_exist():
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    names = set(re.findall(r"^def (test_\w+)", "\n".join(texts), re.MULTILINE))
    for row in catalogue.CATALOGUE:
        assert row.left_out.keys() <= names, row.name
        assert all(row.left_out.values()), row.name


def test_functions_whose_rows_have_no_reference_have_tests():
    complaints = untested(catalogue.CALLABLES)
    assert not complaints, "\n".join(complaints)


def test_directions_are_those_of_the_docstrings():
    """`_directions.py` and the docstring of a function say the same."""
    words = {"lower": "smaller", "higher": "larger"}
    sentence = r"(lower|smaller|higher|larger)\s+(?:\w+\s+)?(?:is|are)\s+better"
    for row in catalogue.CALLABLES:
        room = um if row.half == "tensors" else um_np
        text = (inspect.getdoc(row.find(room)) or "").lower()
        said = {words.get(word, word) for word in re.findall(sentence, text)}
        has_direction = row.better != "neither" and (said or row.metric)
        if row.better == "larger" or has_direction:
            assert said == {row.better}, (
                f"{row.better.capitalize()} values of `{row.name}` are better in "
                "uncertainty_metrics/_directions.py. Its docstring must say "
                f'"{row.better.capitalize()} is better." Received: {said or "nothing"}'
            )
    names = {row.name.rpartition(".")[2] for row in catalogue.CALLABLES}
    assert names >= _directions.LARGER | _directions.NEITHER


def test_every_keras_metric_has_the_direction_of_its_function():
    directions = {"smaller": "down", "larger": "up", "neither": None}
    rows = {row.metric: row for row in catalogue.METRICS}
    for name, value in public(um).items():
        if inspect.isclass(value) and issubclass(value, _base.SumsMetric):
            better = rows[name].better if name in rows else "neither"
            found = getattr(value, "_direction", None)
            assert found == directions[better], name


def test_every_public_name_is_in_the_changelog():
    named = set(re.findall(r"`(?:\w+\.)*(\w+)`", (ROOT / "CHANGELOG.md").read_text()))
    for module in MODULES:
        aliases = {}
        for name in module.__all__:
            aliases.setdefault(getattr(module, name), set()).add(name)
        for names in aliases.values():
            assert names & named or names <= NAMESPACES, (
                f"CHANGELOG.md: write a line with `{min(names)}` below `### Added`"
            )


def test_every_public_name_exists():
    for module in MODULES:
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert set(module.__all__) <= set(dir(module))


def test_every_public_name_is_in_the_tables_of_the_guide():
    text = "\n".join(GUIDE.values())

    def named(text):
        table = "\n".join(line for line in text.splitlines() if line.startswith("|"))
        return set(re.findall(r"`(\w+)`", table))

    functions_and_classes = {*um.__all__, *um_np.__all__} - NAMESPACES
    pages = {"*": (functions_and_classes, named(text))}
    for room in catalogue.ROOMS:
        pages[room] = set(getattr(um, room).__all__), named(GUIDE[room])
    complaints = [
        f"docs/guide/{page}.md: write a line for `{name}` into a table"
        for page, (names, known) in pages.items()
        for name in sorted(names - known)
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.thorough
def test_package_catalogue_guide_and_reference_have_the_same_names():
    pytest.importorskip("mkdocs", reason="the reference needs the extra `docs`")
    from scripts import docs_hooks

    halves = {"uncertainty_metrics": um, "uncertainty_metrics.numpy": um_np}
    tables = set(re.findall(r"`(\w+)`", "\n".join(GUIDE.values())))
    reference = docs_hooks.reference()
    for package, half in halves.items():
        listed = set().union(*(m.__all__ for m in catalogue.modules(half)))
        listed -= NAMESPACES
        pages = reference[package].values()
        described = {
            name
            for page in pages
            for entry in page
            if entry.package not in docs_hooks.ENGINES
            for name in entry.names
        }
        assert described == listed
        assert listed <= tables


def other_words():
    """Returns the names here of each word for them elsewhere."""
    rows = [line.split("|") for line in WORDS.read_text().splitlines() if "|" in line]
    return {
        word.strip(): re.findall(r"`([\w.]+)`", row[2])
        for row in rows
        if not row[1].startswith((" Your", "---"))
        for word in row[1].split(",")
    }


def test_other_words_lead_to_public_names():
    halves = [public(half) for half in HALVES.values()]
    found = other_words()
    assert len(found) >= 40
    for word, names in found.items():
        for name in names:
            assert any(name in half for half in halves), f"{word}: {name}"
    for word in (
        *("confidence calibration", "verbalised confidence", "selective generation"),
        *("P(True)", "reliability curve", "hallucination detection", "sufficiency"),
        *("calibration-in-the-large", "semantic uncertainty", "predictive parity"),
    ):
        assert found[word], word


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


def test_both_halves_have_the_same_signatures():
    for row in catalogue.CALLABLES + catalogue.PLOTS:
        if row.half == "numpy":
            for name in row.names:
                find = operator.attrgetter(name)
                assert find(um) is find(um_np), name
        elif row.half is None:
            ours, theirs = (inspect.signature(row.find(room)) for room in (um, um_np))
            ours, theirs = ours.parameters, theirs.parameters
            assert list(ours) == list(theirs), row.name
            for key, parameter in ours.items():
                assert parameter.default == theirs[key].default, (row.name, key)
                assert parameter.kind == theirs[key].kind, (row.name, key)


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
        "ranked_probability_score": ("labels", "probabilities", "logits", "aggregate"),
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
