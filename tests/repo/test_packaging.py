"""What a user installs: the wheel, its types and the bounds of its dependencies.

`scripts/check_wheel.py` installs the wheel too, which takes minutes.
"""

import pathlib
import re
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


def test_oldest_versions_are_the_lower_bounds():
    if check_wheel.OLDEST.read_text() != check_wheel.lower_bounds():
        pytest.fail("run `python scripts/check_wheel.py --write`")
