# As written by scripts/write_stubs.py.
import collections.abc
from typing import Any, Literal

from uncertainty_metrics.conformal import (
    AdaptiveConformal as AdaptiveConformal,
    ConformalClassifier as ConformalClassifier,
    coverage_by_group as coverage_by_group,
    conformal_quantile as conformal_quantile,
    ConformalRegressor as ConformalRegressor,
    conformal_risk_control as conformal_risk_control,
    class_coverage_gap as class_coverage_gap,
    coverage as coverage,
    mean_set_size as mean_set_size,
    size_stratified_coverage as size_stratified_coverage,
)
from uncertainty_metrics._torch.loss import Loss as Loss
from uncertainty_metrics._torch.metric import Metric as Metric

class ConformalCoverage(Metric):
    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = 'conformal_coverage',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...

class MeanSetSize(Metric):
    def __init__(
        self,
        ignore_index: int | None = None,
        name: str | None = 'mean_set_size',
        dtype: Any = None,
        *,
        sparse_labels: bool | None = None,
        num_groups: int | None = None,
        **of_torchmetrics: Any,
    ) -> None: ...
