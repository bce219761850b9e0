"""The report, in its room; what it needs is imported when it is first used."""

from uncertainty_metrics._report.calibration_report import *  # noqa: F403
