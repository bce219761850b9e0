from ._numpy import (
    ConformalClassifier as ConformalClassifier,
    ConformalRegressor as ConformalRegressor,
    class_coverage_gap as class_coverage_gap,
    conformal_quantile as conformal_quantile,
    coverage as coverage,
    mean_set_size as mean_set_size,
    size_stratified_coverage as size_stratified_coverage,
)

# Keras metrics and layers.
from ._keras import (
    ConformalCoverage as ConformalCoverage,
    ConformalSetLayer as ConformalSetLayer,
    MeanSetSize as MeanSetSize,
)
