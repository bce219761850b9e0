"""Imports between the rooms go one way, and heavy packages stay unimported."""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "uncertainty_metrics"

# Each room may import itself and the rooms before it. "" is the files at the top.
ROOMS = ("", "numpy", "ops", "tensors", "keras")
# What each room of the report may import. A file is read into data, of which sections
# are computed, which pages show.
REPORT_ROOMS = {
    "data": ("data",),
    "reading": ("data", "reading"),
    "sections": ("data", "sections"),
    "page": ("data", "sections", "page"),
}
STDLIB_FILES = (
    "_user_warnings",
    "_arguments",
    "_checks",
    "_public_names",
    "_typed_names",
    "_optional",
    "_calibration_spec",
    "_results",
    "_tables",
    "version",
)


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).with_suffix("")
        yield path, relative.parts


def imported(tree):
    """Yields (module, whether at the top level) for every import in a file."""
    top = set(tree.body)
    for block in tree.body:
        if isinstance(block, ast.If):  # if TYPE_CHECKING
            continue
        for node in ast.walk(block):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, node in top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield f"{node.module}.{alias.name}", node in top


@pytest.mark.parametrize(
    ("path", "parts"),
    [pytest.param(*found, id="/".join(found[1])) for found in modules()],
)
def test_imports_go_one_way(path, parts):
    room = parts[0] if len(parts) > 1 else ""
    for module, at_top in imported(ast.parse(path.read_text())):
        root, _, rest = module.partition(".")
        target = rest.split(".")[0]
        if root != "uncertainty_metrics":
            continue
        if target == "visualization":
            is_plot = parts[-1].strip("_") == "visualization"  # A table of names.
            assert room == "visualization" or is_plot or not at_top, module
        if room in ROOMS and target in ROOMS[1:]:
            assert ROOMS.index(target) <= ROOMS.index(room) or room == "", module
        if room in ("visualization", "_report"):
            assert target not in ("tensors", "keras"), module
        if target == "_report":
            assert room in ("_report", "") or parts == ("numpy", "_report"), module
        if parts[-1] in STDLIB_FILES and room == "":
            assert target in STDLIB_FILES, module


@pytest.mark.parametrize("report_room", REPORT_ROOMS)
def test_rooms_of_the_report_import_one_way(report_room):
    for path in sorted((PACKAGE / "_report" / report_room).glob("*.py")):
        for module, _ in imported(ast.parse(path.read_text())):
            root, _, rest = module.partition("._report.")
            if root == "uncertainty_metrics" and rest:
                target = rest.split(".")[0]
                assert target in REPORT_ROOMS[report_room], f"{path.name}: {module}"


def needed_by(tree, files):
    """Returns which of `files` a file imports, be it for types alone; but not those
    that it imports inside functions.
    """
    found = set()
    for block in tree.body:
        for node in ast.walk(block) if isinstance(block, ast.If) else [block]:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= names & files or {node.module}
    return found & files


def circles(imports):
    """Returns the modules that import themselves, by way of others or not."""

    def reached(module):
        found, waiting = set(), [module]
        while waiting:
            new = imports[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    return sorted(module for module in imports if module in reached(module))


def test_no_imports_go_in_a_circle():
    files = {
        ".".join(("uncertainty_metrics", *parts)).removesuffix(".__init__"): path
        for path, parts in modules()
    }
    imports = {
        module: needed_by(ast.parse(path.read_text()), files.keys())
        for module, path in files.items()
    }
    assert sum(map(len, imports.values())) > 1000
    assert circles(imports) == []


@pytest.mark.parametrize("name", STDLIB_FILES)
def test_shared_files_need_only_the_standard_library(name):
    for module, _ in imported(ast.parse((PACKAGE / f"{name}.py").read_text())):
        root = module.partition(".")[0]
        known = {*sys.stdlib_module_names, "uncertainty_metrics"}
        assert root in known, module


def test_no_tensorflow_outside_its_rooms():
    for path, parts in modules():
        if parts[0] in ("numpy", "visualization", "_report") or len(parts) == 1:
            for module, _ in imported(ast.parse(path.read_text())):
                root = module.partition(".")[0]
                assert root not in ("tensorflow", "keras", "tf_keras"), path


def test_one_file_knows_which_keras_is_loaded():
    exceptions = set()
    for path, parts in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "tf.keras",
                "xp.keras",
            ):
                exceptions.add(parts)
    assert exceptions == {("keras", "_family")}


def run(code, **options):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def loaded_after(statement, **options):
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    done = run(code, **options)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import uncertainty_metrics; dir(uncertainty_metrics)", ("numpy",)),
        (
            "import uncertainty_metrics.numpy as um; um.ece([0, 1], [.2, .7]);"
            "um.reliability_curve([0, 1], [.2, .9]); um.reliability_diagram",
            (),
        ),
        ("import uncertainty_metrics as um; um.numpy.ece([0, 1], [.2, .7])", ()),
    ],
)
def test_nothing_heavy_is_imported(statement, absent):
    heavy = ("tensorflow", "keras", "tf_keras", "matplotlib", "scipy", "sklearn")
    assert loaded_after(statement).isdisjoint((*heavy, *absent))


def test_unknown_names_raise_attribute_errors():
    import uncertainty_metrics
    import uncertainty_metrics.numpy

    for module in (uncertainty_metrics, uncertainty_metrics.numpy):
        with pytest.raises(AttributeError, match="no_such_metric"):
            module.no_such_metric  # noqa: B018


@pytest.mark.thorough
def test_keras_needs_neither_tensorflow_probability_nor_plots():
    code = """
import uncertainty_metrics as um
um.ExpectedCalibrationError()
um.bayesian_expected_calibration_error
metric = um.BayesianExpectedCalibrationError()
metric.update_state([0, 1], [0.2, 0.7])
metric.result()
"""
    loaded = loaded_after(code, env={**os.environ, "TF_USE_LEGACY_KERAS": "0"})
    # Keras itself imports matplotlib where it is installed.
    assert loaded.isdisjoint(
        (
            *("tensorflow_probability", "tf_keras"),
            *("uncertainty_metrics.visualization", "uncertainty_metrics._report"),
        )
    )
