from ..numpy.conformal.adaptive import AdaptiveConformal as AdaptiveConformal
from ..numpy.conformal.classifier import ConformalClassifier as ConformalClassifier
from ..numpy.conformal.coverage_table import coverage_by_group as coverage_by_group
from ..numpy.conformal.quantile import conformal_quantile as conformal_quantile
from ..numpy.conformal.regressor import ConformalRegressor as ConformalRegressor
from ..numpy.conformal.risk_control import (
    conformal_risk_control as conformal_risk_control,
)
from ..numpy.conformal.set_coverage import (
    class_coverage_gap as class_coverage_gap,
    coverage as coverage,
    mean_set_size as mean_set_size,
    size_stratified_coverage as size_stratified_coverage,
)

# Keras metrics and layers.
from ..keras.layers import ConformalSetLayer as ConformalSetLayer
from ..keras.metrics.conformal import (
    ConformalCoverage as ConformalCoverage,
    MeanSetSize as MeanSetSize,
)
