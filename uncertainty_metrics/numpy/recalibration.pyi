# As written by scripts/write_stubs.py.
from typing import overload
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
import numpy as np
from numpy.typing import ArrayLike
from uncertainty_metrics import _checks, _scaling, _spec
from uncertainty_metrics.numpy import _arguments, _calibrator, _inputs
if TYPE_CHECKING:
    from typing_extensions import Self
__all__ = ["TemperatureScaling", "calibrated_negative_log_likelihood"]
_BLOCK_SIZE = 2**16
MAX_STEPS = 100
ROUNDING = 8
_EPSILON = float(np.finfo(np.float64).eps)
_LAST_STEP = 1e-9
@dataclasses.dataclass(frozen=True)
class Rows:
    """Logits less the largest of their row, in units of the largest such distance.

    Attributes:
      z: float64 [N, K], in [-1, 0]; 0 where the class is impossible.
      possible: 0.0 where a logit was -inf, else 1.0, [N, K]; None if all are possible.
      at_label: z at the label, [N]; -inf where that is impossible.
      means: of z over the possible classes, [N].
      variances: likewise.
      weights: [N], positive, or None.
    """

    z: np.ndarray
    possible: np.ndarray | None
    at_label: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    weights: np.ndarray | None

    def __getitem__(self, chosen: np.ndarray) -> Rows:
        ...

    def mean(self, values: np.ndarray) -> float:
        ...
def rows_of(examples: _inputs.Examples, logits: np.ndarray) -> tuple[Rows, float]:
    """Returns the rows of logits [N, K], and the unit of `z`."""
    ...
def moments(
    z: np.ndarray, possible: np.ndarray | None, beta: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns log(sum_k e^(beta z_k)), and mean and variance of z under the softmax of
    beta z, [N] each.
    """
    ...
def inverse_temperature(rows: Rows, start: float | None = None) -> float:
    """Returns the beta of the least mean of `logsumexp(beta z) - beta z_label`.

    The limits are 0, where the logits of the labels are no larger than the others, and
    inf, where every label has the largest.
    """
    ...
def no_optimum(name: str, beta: float, where: str = "") -> ValueError:
    """Returns the error for an inverse temperature of 0 or inf."""
    ...
class TemperatureScaling(  # type: ignore[misc]  # Its files have names.
    _scaling.Scaling, _calibrator.Calibrator
):
    """Temperature scaling: divides the logits of a classifier by one number.

    The temperature T is that of the least negative log-likelihood of held-out examples,

      T = argmin mean of logsumexp(z / T) - z_y / T

    which is convex in 1 / T: the optimum, unique, is found to the precision of float64.
    Decisions stay what they are; T > 1 lowers the confidence of an overconfident model.
    Of probabilities p, z = log p.

    Attributes:
      temperature: T, a float > 0; 1.0 before the fit.
      is_fitted: whether there was a fit.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> logits = [[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 0.0]]
      >>> scaling = um.TemperatureScaling().fit([0, 1, 0, 1], logits)
      >>> round(scaling.temperature, 6)  # 3 of 4 are right: odds of 3 to 1.
      3.640957
      >>> scaling.transform([[4.0, 0.0]]).round(6).tolist()
      [[1.098612, 0.0]]

    References:
      Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks.
    """

    _kind = "recalibration.TemperatureScaling"

    def __init__(self) -> None:
        ...

    @_arguments.of_classifier
    def fit(
        self,
        labels: ArrayLike,
        logits: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        ignore_index: int | None = None,
    ) -> Self:
        """Finds the temperature; where that fails the one before stays.

        Args:
          labels: integers in [0, K), shape [...].
          logits: shape [..., K], [..., 1] or [...]; -inf is an impossible class.
          probabilities: instead of `logits`, in [0, 1]; 0 is an impossible class.
          sample_weight: finite and >= 0, broadcastable to the labels.
          ignore_index: examples with this label are left out.

        Returns:
          The object itself.

        Raises:
          RuntimeError: inside a graph of TensorFlow, which has no number to keep.
          ValueError: an argument is not as described, or no temperature is best: the
            logits of the labels are on average no larger than the others (it would be
            infinite), every label has the largest logit (it would be 0), or one has
            -inf.
        """
        ...

    def _optimum(
        self,
        labels: ArrayLike,
        logits: ArrayLike | None,
        probabilities: ArrayLike | None,
        **options: Any,
    ) -> float:
        ...

    def transform(
        self, logits: ArrayLike | None = None, probabilities: ArrayLike | None = None
    ) -> np.ndarray:
        """Returns the logits divided by the temperature, or the probabilities of that.

        Args:
          logits: of any shape; -inf stays -inf.
          probabilities: instead of `logits`, of the classes of the fit, shape [..., K];
            or [...] or [..., 1] where `fit` had those of class 1.

        Returns:
          Of the shape and floating type of what was given; float64 for integers. Rows
          of probabilities sum to 1.

        Raises:
          ValueError: there was no fit, the logits hold NaN, +inf or nothing, or the
            probabilities are not as described.
        """
        ...

    def _mapped(self, name: str, rows: np.ndarray) -> np.ndarray:
        ...

    def get_config(self) -> dict[str, Any]:
        """Returns the temperature, None before the fit, and what it was fitted to, as
        `from_config` takes it.
        """
        ...

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a scaling of the temperature in a configuration."""
        ...
def fold_keys(folds: int, repeats: int, seed: int) -> tuple[int, np.ndarray]:
    """Returns the checked number of folds, and a uint32 key for each repeat."""
    ...
def log_probabilities(examples: _inputs.Examples) -> np.ndarray:
    """Returns logits [N, K]; of probabilities their logarithms."""
    ...
def calibrated_negative_log_likelihood(
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    logits: ArrayLike | None = None,
    *,
    folds: int = 2,
    repeats: int = 5,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> float:
    """Negative log-likelihood after temperature scaling, cross-validated.

    The examples are split into folds; each is scored at the temperature that
    `TemperatureScaling` finds on the others. The result is the mean over all examples,
    and over repeated splits. Unlike the likelihood itself it does not depend on the
    scale of the logits, so that it ranks models by what a recalibration cannot mend.

    Args:
      labels: integers in [0, K), shape [...].
      probabilities: in [0, 1], shape [..., K], [..., 1] or [...], read as the logits
        `log p`.
      logits: instead of `probabilities`.
      folds: number of folds, from 2 to the number of examples.
      repeats: number of splits.
      seed: of the splits, an integer in [0, 2^32); the same in NumPy and TensorFlow.
      sample_weight: finite and >= 0, broadcastable to the labels. An example of any
        weight is in one fold.
      ignore_index: examples with this label are left out.

    Returns:
      The mean in nats, >= 0; inf where a label is impossible. Smaller is better. Where
      the temperature of a fold is infinite its forecasts are uniform.

    Raises:
      ValueError: an argument is not as described, or outside a fold every label has the
        largest logit of its row: the temperature would be 0.

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> labels, logits = [0, 0, 0, 1] * 8, np.tile([4.0, 0.0], [32, 1])
      >>> score = um.calibrated_negative_log_likelihood(labels, logits=logits)
      >>> doubled = um.calibrated_negative_log_likelihood(labels, logits=2 * logits)
      >>> bool(abs(score - doubled) < 1e-12), bool(0.56 < score < 0.62)
      (True, True)

    References:
      Ashukha, Lyzhov, Molchanov and Vetrov (2020), Pitfalls of In-Domain Uncertainty
      Estimation and Ensembling in Deep Learning.
    """
    ...
