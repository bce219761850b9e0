"""What a user installs: the wheel, its types and the bounds of its dependencies.

`scripts/check_wheel.py` installs the wheel too, which takes minutes.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from scripts import check_wheel

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    check_wheel.built(folder)
    return folder


@pytest.mark.thorough
def test_wheel_holds_the_package(built):
    (wheel,) = built.glob("*.whl")
    assert check_wheel.contents(wheel) == check_wheel.shipped()
    data = "data/digits_predictions.npz", "data/answers.jsonl"
    for name in ("py.typed", "__init__.pyi", *data):
        assert f"uncertainty_metrics/{name}" in check_wheel.shipped()
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (name for name in file.namelist() if name.endswith("METADATA"))
        licenses = [name for name in file.namelist() if name.endswith("LICENSE")]
        text = file.read(metadata).decode()
        assert file.read(*licenses).decode() == (ROOT / "LICENSE").read_text()
    assert re.search(r"!\[[^]]+\]\(https://\S+/raw/main/docs/\S+\.png\)", text)
    assert not re.search(r"\]\((?!https://)", text), "a link that leads nowhere"
    assert "License-File: LICENSE" in text
    assert "Apache-2.0" in text


@pytest.mark.thorough
def test_sdist_holds_the_sources_of_the_wheel(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    beside = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "setup.py"}
    assert names >= check_wheel.shipped() | beside
    assert not [name for name in names if name.endswith((".pyc", "__pycache__"))]


@pytest.mark.thorough
def test_builds_of_the_same_files_have_the_same_bytes(built, tmp_path):
    (tmp_path / "dist").mkdir()
    umask = os.umask(0o077)  # Nor does another mode of the files change them.
    try:
        check_wheel.built(tmp_path / "dist")
    finally:
        os.umask(umask)
    for path in (*built.glob("*.whl"), *built.glob("*.tar.gz")):
        assert (tmp_path / "dist" / path.name).read_bytes() == path.read_bytes()


def test_an_older_package_in_the_same_folder_is_refused(tmp_path):
    """For pip they are two packages: it installs both into one folder."""
    package = shutil.copytree(
        ROOT / "uncertainty_metrics",
        tmp_path / "uncertainty_metrics",
        ignore=shutil.ignore_patterns("__pycache__", "data"),
    )
    (package / "tensorflow").mkdir()
    for name, files in {
        "uncertainty_metrics-0.0.81": ("__init__", "tensorflow/__init__"),
        "uncertainty_metrics_kit-0.1.0": ("__init__", "_public_names"),
    }.items():
        (tmp_path / f"{name}.dist-info").mkdir()
        records = "".join(f"uncertainty_metrics/{file}.py,,\n" for file in files)
        (tmp_path / f"{name}.dist-info" / "RECORD").write_text(records)
    command = [sys.executable, "-c", "import uncertainty_metrics"]
    environment = {**os.environ, "PYTHONPATH": ""}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert "ImportError: The older package `uncertainty_metrics`" in run.stderr
    assert "Both have uncertainty_metrics/__init__.py. Uninstall both" in run.stderr


def test_oldest_versions_are_the_lower_bounds():
    if check_wheel.OLDEST.read_text() != check_wheel.lower_bounds():
        pytest.fail("run `python scripts/check_wheel.py --write`")
