"""Set-up of the package `uncertainty_metrics`."""

import pathlib
import re

from setuptools import find_packages, setup

ROOT = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"',
    (ROOT / "uncertainty_metrics" / "version.py").read_text(encoding="utf-8"),
).group(1)

PLOT = ["matplotlib>=3.8"]
PROGRESS = ["tqdm>=4.60"]
BEAM = ["apache-beam>=2.60"]

setup(
    name="uncertainty_metrics",
    version=VERSION,
    description="Calibration metrics for TensorFlow, Keras and NumPy.",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["uncertainty_metrics", "uncertainty_metrics.*"]),
    package_data={"uncertainty_metrics": ["data/*.npz", "py.typed"]},
    python_requires=">=3.10,<3.14",
    install_requires=[
        "absl-py>=1.0",
        "keras>=3.10",
        "numpy>=1.26",
        "scipy>=1.11",
        "tensorflow>=2.18",
        "tensorflow-probability>=0.25",
        "tf-keras>=2.18",
    ],
    extras_require={
        "plot": PLOT,
        "progress": PROGRESS,
        "beam": BEAM,
        "test": [
            *PLOT,
            *PROGRESS,
            *BEAM,
            "arviz>=0.20,<1",
            "mpmath>=1.3",
            "properscoring>=0.1",
            "pytest>=7.4",
            "pytest-xdist>=3.5",
            "ruff>=0.17,<0.18",
            "scikit-learn>=1.3",
            "scoringrules>=0.10",
        ],
        "docs": ["mkdocs-material>=9.5", "mkdocstrings[python]>=0.25"],
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
