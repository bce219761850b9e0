"""The calibration report: predictions become a page, text, pictures and JSON.

`um.report` makes one of arrays; the command line reads files and does the same.

There are three separate steps: `read_predictions` makes arrays of a file; `build` makes
a report of the arrays, with a dataclass for each section; and `render`, `draw` and
`write` show the sections. A new section is one module, and its entry in
`sections._list`.

`tiles` holds the verdict, which is shown first. The calibration of two classes is
judged by the probability of one of them: of the event, if it is named, or of class 1.
The sections on a classifier:

  calibration           the calibration errors, the errors of each class if there are
                        at most 20, and the reliability diagram
  bayesian_ece          the posterior of the ECE: its mean, median and 95% interval
  scoring_rules         Brier score, its parts, and negative log-likelihood
  intervals             95% intervals of accuracy, l2 calibration error and scoring
                        rules
  recalibration         the cross-validated gain by temperature, vector and isotonic
                        maps, and for two classes by maps of P(class 1); and the size of
                        conformal sets at 90%
  selective_prediction  AURC and more: does confidence tell right from wrong decisions?
                        And above which confidence to decide at a promised risk
  risk                  only for two classes, one of which is named as the event: O/E,
                        calibration intercept and slope, AUROC, ICI, decision curve. It
                        is the first section, and `selective_prediction` the last
  groups                only for examples with groups: the calibration of each group,
                        and which groups are miscalibrated
  audit                 only for examples with features: a search for groups whose
                        probabilities are wrong
  unlabelled_data       only with new predictions without labels: the shares of the
                        classes there, and the accuracy to expect
  ensemble              only for the predictions of several members: the effect of
                        averaging them; all other sections are about their mean

Answers with confidences have the same sections, without classes, and also

  calibration_of_grades only for answers with grades: could chance explain the error?
                        It takes the place of `bayesian_ece`
  votes                 only for a classifier with votes for classes instead of labels,
                        whose decisions are answers with grades: the scores of all
                        classes
  sampled_answers       only for questions with several sampled answers: does their
                        agreement tell right answers from wrong ones?

Several labels of each example have one section, `labels`: the share, errors, AUROC and
test of each label, and the means over them.

The sections on a regression:

  calibration_loss      the CRPS, and how much of it a map of CDF values would gain
  calibration           coverage of central intervals; ECE and ENCE
  pit                   the probability integral transform and its histogram
  scoring_rules         RMSE, CRPS and negative log-likelihood
  sharpness             how large the predicted standard deviations are
  intervals             95% bootstrap intervals
  recalibration         the temperature that would make the variances right

The sections on forecasts by quantiles:

  calibration           coverage of the central intervals, and the share of the targets
                        at or below each quantile
  scoring_rules         CRPS (twice the mean pinball loss), its parts, the gain over a
                        constant forecast, and quantiles that cross
  horizons              only for forecasts with horizons: the same at each of them

A survival model has the section `risk` alone, at its horizon.

All tasks have a section `comparison` if a second file is given: both models side by
side, and the intervals of their differences on the same examples. Of several files it
has the table of `um.compare` for all models.

Clusters of examples that depend on each other go to all intervals and tests.

Every run writes these files: `report.html`, the page; the pictures of its sections; and
`report.json`, the numbers and words of all sections by their names. The JSON is strict:
an infinite number is the string "inf" or "-inf", and a number that is not defined, such
as the mean of nothing, is null.
"""

from __future__ import annotations

from uncertainty_metrics._report._arguments import add_arguments, add_sketch_arguments
from uncertainty_metrics._report._command import command, sketch_command
from uncertainty_metrics._report._compare_command import (
    add_compare_arguments,
    compare_command,
)
from uncertainty_metrics._report.calibration_report import (
    DEFAULT_DIRECTORY,
    Report,
    report,
)
from uncertainty_metrics._report.data._predictions import (
    Predictions,
    Regression,
    ReportError,
    visible,
)
from uncertainty_metrics._report.page._picture_files import draw
from uncertainty_metrics._report.page._text import render
from uncertainty_metrics._report.page._writing import as_json, write
from uncertainty_metrics._report.reading._files import read_predictions
from uncertainty_metrics._report.sections._build import build

__all__ = [
    "DEFAULT_DIRECTORY",
    "Predictions",
    "Regression",
    "Report",
    "ReportError",
    "add_arguments",
    "add_compare_arguments",
    "add_sketch_arguments",
    "as_json",
    "build",
    "command",
    "compare_command",
    "draw",
    "read_predictions",
    "render",
    "report",
    "sketch_command",
    "visible",
    "write",
]
