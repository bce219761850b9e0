"""A report computes what it says itself: it leaves no warning to its reader."""

import numpy as np
import pytest

import uncertainty_metrics.numpy as um


@pytest.mark.thorough
@pytest.mark.filterwarnings("error:One column of P:UserWarning")
def test_a_report_of_one_column_does_not_warn(tmp_path, rng):
    pytest.importorskip("matplotlib")
    p = rng.random(300)
    labels = (rng.random(300) < p).astype(int)
    summary = um.Summary()
    summary.update(labels, p)
    groups = {"site": np.where(rng.random(300) < 0.5, "a", "b")}
    for report in (
        um.report(labels, p, groups=groups),
        um.report(labels, p, compare={"other": p**2}),
        um.report(summary),
    ):
        report.save(tmp_path)
        assert report.to_dict()["calibration"]["metrics"]
