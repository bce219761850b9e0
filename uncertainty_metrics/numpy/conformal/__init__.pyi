from .adaptive import AdaptiveConformal as AdaptiveConformal
from .classifier import ConformalClassifier as ConformalClassifier
from .set_coverage import (
    class_coverage_gap as class_coverage_gap,
    coverage as coverage,
    mean_set_size as mean_set_size,
    size_stratified_coverage as size_stratified_coverage,
)
from .coverage_table import coverage_by_group as coverage_by_group
from .quantile import conformal_quantile as conformal_quantile
from .regressor import ConformalRegressor as ConformalRegressor
from .risk_control import conformal_risk_control as conformal_risk_control
