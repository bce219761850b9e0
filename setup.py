"""Set-up of the package `uncertainty_metrics`.

Its name on a package index is `uncertainty-metrics-kit`, because `uncertainty_metrics`
is an older package there. `python -m build` makes the same bytes of the same files.
"""

import gzip
import os
import pathlib
import re
import tarfile

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

ROOT = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"',
    (ROOT / "uncertainty_metrics" / "version.py").read_text(encoding="utf-8"),
).group(1)

TENSORFLOW = [
    "absl-py>=1.0",
    "keras>=3.10",
    "tensorflow>=2.18",
    "tensorflow-probability>=0.25",
    "tf-keras>=2.18",
]
# The other backends of Keras 3, which need no TensorFlow.
JAX = ["jax>=0.6", "keras>=3.12"]
TORCH = ["keras>=3.12", "torch>=2.6"]
PLOT = ["matplotlib>=3.8"]
PROGRESS = ["tqdm>=4.60"]
BEAM = ["apache-beam>=2.60"]
PARQUET = ["pyarrow>=14"]
INSPECT = ["inspect_ai>=0.3.245"]
MLFLOW = ["mlflow>=3"]
SPARK = ["pyspark[sql]>=4"]  # It needs Java 17 or later.
RAY = ["ray[data]>=2.40"]
EXCEL = ["openpyxl>=3.1"]
FAST = ["numba>=0.61"]
PANDAS = ["pandas>=2"]
SKLEARN = ["scikit-learn>=1.6"]
TENSORBOARD = ["tensorboard>=2.18"]
COLABS = [
    *TENSORFLOW,
    *PLOT,
    "ipykernel>=6.25",
    "nbclient>=0.9",
    "nbformat>=5.9",
    *SKLEARN,
    "statsmodels>=0.14",  # For its data.
]
DOCS = [
    # The pages are made of the public names, which are imported, and of pictures.
    *TENSORFLOW,
    *PLOT,
    *SKLEARN,
    "latex2mathml>=3.77",
    "mkdocs>=1.6",
    "mkdocs-material>=9.6",
    "mkdocstrings[python]>=1.0",
]
# What a change of one metric needs.
DEV = [
    *TENSORFLOW,
    *PLOT,
    "mpmath>=1.3",
    "mypy>=2,<3",
    "properscoring>=0.1",
    "pytest>=7.4",
    "pytest-xdist>=3.5",
    "ruff>=0.17,<0.18",
    *SKLEARN,
    "scoringrules>=0.9",
]
# The time of every file in an archive, in seconds: with the time of the build, two
# builds of the same files would differ. Wheels read it from the environment.
TIME = int(os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600"))
os.umask(0o022)  # The modes of files are in a wheel too.


class ReproducibleSdist(sdist):
    """Makes an sdist whose bytes depend only on the names and contents of its files."""

    def make_archive(self, base_name, *_, base_dir, **__):
        """Returns the path of the archive that it makes of the folder `base_dir`."""
        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=TIME) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as archive,
        ):
            for source in sorted(pathlib.Path(base_dir).rglob("*")):
                archive.add(source, recursive=False, filter=self._without_owner)
        return path

    @staticmethod
    def _without_owner(member):
        mode = 0o755 if member.isdir() else 0o644
        return member.replace(
            mtime=TIME, mode=mode, uid=0, gid=0, uname="", gname="", deep=False
        )


ADDRESS = "https://github.com/uncertainty-metrics/uncertainty_metrics"
# On a package index, links to files and pictures must lead to the repository.
README = (ROOT / "README.md").read_text(encoding="utf-8")
README = re.sub(r"\]\((?!http)(\S+\.png)\)", rf"]({ADDRESS}/raw/main/\1)", README)
README = re.sub(r"\]\((?!http)", f"]({ADDRESS}/blob/main/", README)

setup(
    name="uncertainty-metrics-kit",
    version=VERSION,
    description="Calibration metrics for TensorFlow, Keras and NumPy.",
    long_description=README,
    long_description_content_type="text/markdown",
    url=ADDRESS,
    project_urls={"Changelog": f"{ADDRESS}/blob/main/CHANGELOG.md"},
    license="Apache-2.0",
    license_files=["LICENSE"],
    packages=find_packages(include=["uncertainty_metrics", "uncertainty_metrics.*"]),
    package_data={
        "": ["*.pyi"],
        "uncertainty_metrics": ["data/*.jsonl", "data/*.npz", "py.typed"],
    },
    zip_safe=False,
    python_requires=">=3.10,<3.14",
    install_requires=["numpy>=1.26", "scipy>=1.12"],
    cmdclass={"sdist": ReproducibleSdist},
    entry_points={
        # The second has the name of the distribution, which `uvx` runs.
        "console_scripts": [
            "uncertainty-metrics = uncertainty_metrics.__main__:main",
            "uncertainty-metrics-kit = uncertainty_metrics.__main__:main",
        ],
        # Inspect imports it for metrics named "uncertainty_metrics/ece" and so on.
        "inspect_ai": ["uncertainty_metrics = uncertainty_metrics.inspect"],
    },
    extras_require={
        "jax": JAX,
        "tensorflow": TENSORFLOW,
        "torch": TORCH,
        "plot": PLOT,
        "progress": PROGRESS,
        "beam": BEAM,
        "parquet": PARQUET,
        "spark": SPARK,
        "ray": RAY,
        "excel": EXCEL,
        "fast": FAST,
        "inspect": INSPECT,
        "mlflow": MLFLOW,
        "pandas": PANDAS,
        "sklearn": SKLEARN,
        "tensorboard": TENSORBOARD,
        "colabs": COLABS,
        "dev": DEV,
        "test": [
            *DEV,
            *PROGRESS,
            *BEAM,
            *PARQUET,
            *EXCEL,
            *FAST,
            *PANDAS,
            *TENSORBOARD,
            *COLABS,
            *DOCS,
            "arviz>=0.20,<1",
            "build>=1.2",
            "fairlearn>=0.10",
            "pycocotools>=2.0.8",
            "setuptools>=70.1",
        ],
        "docs": DOCS,
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
