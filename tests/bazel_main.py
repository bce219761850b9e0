"""Runs the test file named on the command line: the main of every Bazel test."""

import sys

import pytest

if __name__ == "__main__":
    code = pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]])
    # Of some files, no test runs by default.
    sys.exit(0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code)
