"""The calibration report: predictions become a page, text, pictures and JSON.

`um.report` makes one of arrays; the command line reads files and does the same.

Three steps, apart: `read_predictions` makes arrays of a file, `build` makes a report of
the arrays, a dict of plain numbers and strings with a key per section, and `render`,
`draw` and `write` show that dict. Another section is another key and its blocks.

`tiles` hold the verdict, the first that is shown. The sections of a classifier:

  calibration           the calibration errors, those of up to 20 single classes, and
                        the reliability diagram
  bayesian_ece          the posterior of the ECE: its mean, median and 95% interval
  scoring_rules         Brier score, its parts, and negative log-likelihood
  intervals             95% intervals of accuracy, l2 calibration error and scoring
                        rules
  mending               what temperature, vector and isotonic maps would give, and for
                        two classes Venn-Abers calibration, cross-validated; and the
                        size of conformal sets at 90%
  selective_prediction  AURC and more: does confidence tell right from wrong decisions?
                        And from which confidence on to decide at a promised risk
  groups                only of examples with groups: the calibration of each, and
                        which are miscalibrated
  ensemble              only of the predictions of several members: what averaging them
                        changed; all other sections are of their mean

Answers with confidences have the same sections, without classes, and

  sampled_answers       only of questions with several sampled answers: does their
                        agreement tell right answers from wrong ones?

Those of a regression:

  calibration           coverage of central intervals; ECE and ENCE
  pit                   the probability integral transform and its histogram
  scoring_rules         RMSE, CRPS and negative log-likelihood
  sharpness             how large the predicted standard deviations are
  intervals             95% bootstrap intervals
  recalibration         the temperature that would make the variances right

And of both `comparison`, only where a second file is given: both models side by side,
and the intervals of the difference, of the same examples.

The files, written on every run: `report.html`, the page; its pictures, of which
`_picture_table` has a row each; and `report.json`, the dict.
The JSON is strict: an infinite number is the string "inf" or "-inf", and null is what
is not defined, such as the mean of nothing.
"""

from __future__ import annotations

from uncertainty_metrics._report._command import (
    add_arguments,
    add_sketch_arguments,
    command,
    sketch_command,
)
from uncertainty_metrics._report._files import read_predictions
from uncertainty_metrics._report._pictures import draw
from uncertainty_metrics._report._predictions import (
    Predictions,
    Regression,
    ReportError,
    visible,
)
from uncertainty_metrics._report._sections import build
from uncertainty_metrics._report._text import render
from uncertainty_metrics._report._writing import as_json, write
from uncertainty_metrics._report.calibration_report import (
    DEFAULT_DIRECTORY,
    Report,
    report,
)

__all__ = [
    "DEFAULT_DIRECTORY",
    "Predictions",
    "Regression",
    "Report",
    "ReportError",
    "add_arguments",
    "add_sketch_arguments",
    "as_json",
    "build",
    "command",
    "draw",
    "read_predictions",
    "render",
    "report",
    "sketch_command",
    "visible",
    "write",
]
