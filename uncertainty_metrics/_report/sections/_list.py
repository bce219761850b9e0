"""The sections of the report, in order."""

from __future__ import annotations

from collections.abc import Iterable

from uncertainty_metrics._report.sections._audit import Audit
from uncertainty_metrics._report.sections._by_horizon import ByHorizon
from uncertainty_metrics._report.sections._calibration import Calibration
from uncertainty_metrics._report.sections._calibration_of_clusters import (
    CalibrationOfClusters,
)
from uncertainty_metrics._report.sections._calibration_of_grades import (
    CalibrationOfGrades,
)
from uncertainty_metrics._report.sections._comparison import (
    Comparison,
    ComparisonOfDecisions,
)
from uncertainty_metrics._report.sections._coverage import Coverage
from uncertainty_metrics._report.sections._data import Basis, Data
from uncertainty_metrics._report.sections._ensemble import Ensemble
from uncertainty_metrics._report.sections._fans import Fans
from uncertainty_metrics._report.sections._forecast_gain import GainOfForecasts
from uncertainty_metrics._report.sections._forecast_scores import ForecastScores
from uncertainty_metrics._report.sections._gain import Gain
from uncertainty_metrics._report.sections._groups import Groups
from uncertainty_metrics._report.sections._intervals import Intervals
from uncertainty_metrics._report.sections._labels import Labels
from uncertainty_metrics._report.sections._model_report import ReportPicture, Section
from uncertainty_metrics._report.sections._pit import Pit
from uncertainty_metrics._report.sections._posterior import Posterior
from uncertainty_metrics._report.sections._quantile_coverage import QuantileCoverage
from uncertainty_metrics._report.sections._quantile_gain import GainOfQuantiles
from uncertainty_metrics._report.sections._quantile_pit import PitOfQuantiles
from uncertainty_metrics._report.sections._quantile_scores import QuantileScoring
from uncertainty_metrics._report.sections._recalibration import Recalibration
from uncertainty_metrics._report.sections._risk import Risk
from uncertainty_metrics._report.sections._sampled_answers import SampledAnswers
from uncertainty_metrics._report.sections._scoring_rules import ScoringRules
from uncertainty_metrics._report.sections._seasonal_skill import SeasonalSkill
from uncertainty_metrics._report.sections._selective_prediction import (
    Abstaining,
    SelectivePrediction,
)
from uncertainty_metrics._report.sections._several_forecasts import SeveralForecasts
from uncertainty_metrics._report.sections._several_models import SeveralModels
from uncertainty_metrics._report.sections._sharpness import Sharpness
from uncertainty_metrics._report.sections._survival import SurvivalRisk
from uncertainty_metrics._report.sections._temperature import Temperature
from uncertainty_metrics._report.sections._unlabelled_data import UnlabelledData
from uncertainty_metrics._report.sections._votes import VotesForClasses

# A reader sees the sections in this order. Each model has those of its task.
SECTIONS: tuple[type[Section], ...] = (
    Gain,
    GainOfForecasts,
    GainOfQuantiles,
    Risk,
    SurvivalRisk,
    Labels,
    Calibration,
    Coverage,
    QuantileCoverage,
    Posterior,
    CalibrationOfGrades,
    CalibrationOfClusters,
    Pit,
    PitOfQuantiles,
    ScoringRules,
    VotesForClasses,
    ForecastScores,
    QuantileScoring,
    SeasonalSkill,
    ByHorizon,
    Fans,
    Sharpness,
    Intervals,
    Recalibration,
    Temperature,
    SelectivePrediction,
    Abstaining,
    UnlabelledData,
    Groups,
    Audit,
    SampledAnswers,
    Ensemble,
    Basis,
    Data,
    Comparison,
    ComparisonOfDecisions,
    SeveralModels,
    SeveralForecasts,
)


def sections_of(task: str) -> list[type[Section]]:
    """Returns the kinds of sections that models of a task may have."""
    return [kind for kind in SECTIONS if task in kind.tasks]


def pictures_of(task: str) -> list[ReportPicture]:
    """Returns the pictures of a task, in the order of the sections."""
    return [picture for kind in sections_of(task) for picture in kind.pictures]


def in_order(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Returns the sections of one model in the order in which a reader sees them.

    A report that opens with risks shows what is of decisions after the groups.
    """
    found = {type(section): section for section in sections}
    if Risk in found and Groups in found:
        kinds = [kind for kind in found if kind is not Groups]
        kinds.insert(kinds.index(SelectivePrediction), Groups)
        found = {kind: found[kind] for kind in kinds}
    return tuple(found.values())
