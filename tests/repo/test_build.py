"""The file BUILD, run as Python, as its language is a part of Python."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def glob(include, exclude=()):
    found = {path for pattern in include for path in ROOT.glob(pattern)}
    found -= {path for pattern in exclude for path in ROOT.glob(pattern)}
    return sorted(str(path.relative_to(ROOT)) for path in found if path.is_file())


@pytest.fixture(scope="module")
def rules():
    found = {}

    def rule(name, **fields):
        assert name not in found
        found[name] = fields

    kinds = dict.fromkeys(("py_binary", "py_library", "py_test"), rule)
    ignored = dict.fromkeys(
        ("exports_files", "licenses", "load", "package"), lambda *_, **__: None
    )
    exec((ROOT / "BUILD").read_text(), {"glob": glob, **kinds, **ignored})
    return found


def test_every_file_has_a_target(rules):
    sources = {source for fields in rules.values() for source in fields["srcs"]}
    parts = ("uncertainty_metrics", "tests", "scripts", "studies", "benchmarks")
    parts = (*parts, "conformance")
    assert sources == set(glob(f"{part}/**/*.py" for part in parts))


def test_every_test_file_has_a_target_to_run(rules):
    tests = {fields["args"][0] for fields in rules.values() if "size" in fields}
    assert tests == set(glob(["tests/**/test_*.py"]))
    for fields in rules.values():
        assert {dep.removeprefix(":") for dep in fields.get("deps", ())} <= set(rules)
        assert fields.get("main", fields["srcs"][0]) in fields["srcs"]
