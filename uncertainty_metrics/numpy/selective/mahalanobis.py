"""Mahalanobis distances of features, which are large out of distribution.

The sums of a stream do not cancel: they are sums of deviations from running means
(Chan, Golub and LeVeque). The first example is subtracted from all, so that a feature
that never changes has a variance of exactly 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics._lazy_property import lazy_property
from uncertainty_metrics.numpy import _inputs, _row_math, _saved, _threads
from uncertainty_metrics.numpy._frames import takes_frames

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Mahalanobis"]

# A direction has no variance but rounding errors if its variance, as a share of the
# largest and for each feature, is below this. Rounding to float32 leaves 2^-48.
_LEAST_VARIANCE = 2.0**-44
# A feature is constant if its standard deviation is below this share of its means.
_LEAST_STDDEV = 2.0**-40
# Numbers of a block of distances.
_BLOCK = 2**22
_SIZE = "of a size whose square is in the range of float64"


@dataclasses.dataclass(frozen=True)
class _Sums:
    """Sums over all examples.

    Attributes:
      origin: float64 [D], the first example, which is subtracted from all.
      classes: int64 [K], ascending.
      counts: int64 [K], number of examples of each class.
      means: float64 [K, D], means of the classes, less the origin.
      scatter: float64 [D, D], sum of products of the deviations from the class means.
    """

    origin: np.ndarray
    classes: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, labels: np.ndarray, origin: np.ndarray) -> _Sums:
        """Returns the sums over examples x [N, D], which are less the origin."""
        classes, index, counts = np.unique(
            labels, return_inverse=True, return_counts=True
        )
        starts = np.cumsum(counts) - counts
        ordered = x[np.argsort(index, kind="stable")]
        means = np.add.reduceat(ordered, starts) / counts[:, None]
        deviations = x - means[index]
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = deviations.T @ deviations
        largest = np.max(np.abs(deviations), axis=0)
        wrong = ~(np.diag(scatter) < np.inf) | (largest > 0) & (largest < 1e-140)
        if np.any(wrong):
            received = f"{largest[np.argmax(wrong)]} away from the mean of its class"
            raise _checks.error("features", _SIZE, received)
        return cls(origin, classes, counts, means, scatter)

    def plus(self, other: _Sums) -> _Sums:
        """Returns the sums over the examples of both, whose origins are equal."""
        classes = np.union1d(self.classes, other.classes)

        def expanded(sums: _Sums) -> tuple[np.ndarray, np.ndarray]:
            places = np.searchsorted(classes, sums.classes)
            counts = np.zeros(len(classes), np.int64)
            means = np.zeros((len(classes), len(self.origin)))
            counts[places], means[places] = sums.counts, sums.means
            return counts, means

        (first, start), (second, end) = expanded(self), expanded(other)
        counts, steps = first + second, end - start
        means = start + steps * (second / counts)[:, None]
        in_both = (first > 0) & (second > 0)
        steps, weights = steps[in_both], (first / counts * second)[in_both]
        scatter = self.scatter + other.scatter + (steps * weights[:, None]).T @ steps
        return _Sums(self.origin, classes, counts, means, scatter)

    @lazy_property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.counts.sum()

    @lazy_property
    def whitening(self) -> np.ndarray:
        return self._whitening(self.covariance)

    @lazy_property
    def single_class(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of all examples, and the whitening of their covariance."""
        shares = self.counts / self.counts.sum()
        mean = shares @ self.means
        steps = self.means - mean
        between = (steps * shares[:, None]).T @ steps
        return mean, self._whitening(self.covariance + between)

    def _whitening(self, covariance: np.ndarray) -> np.ndarray:
        """Returns a matrix [D, R] that maps to uncorrelated features of variance 1."""
        stddevs = np.sqrt(np.diag(covariance))
        varies = stddevs > _LEAST_STDDEV * np.max(np.abs(self.means), axis=0)
        if not np.any(varies):
            expected = "among the examples of at least one class"
            received = "the same features in each class"
            raise _checks.error("features", expected, received, verb="differ")
        # The units of features do not matter for correlations.
        stddevs = stddevs[varies]
        correlations = covariance[np.ix_(varies, varies)] / stddevs / stddevs[:, None]
        values, vectors = np.linalg.eigh(correlations)
        large = values > len(values) * _LEAST_VARIANCE * values[-1]
        whitening = np.zeros((len(varies), np.count_nonzero(large)))
        whitening[varies] = vectors[:, large] / np.sqrt(values[large])
        whitening[varies] /= stddevs[:, None]
        return whitening


class Mahalanobis:
    """Mahalanobis distance of features: a score of being out of distribution.

    With the features f of an example, for example the layer before the logits, and the
    class means m_k and the shared covariance S of the n examples of all updates:

      M(f) = min_k (f - m_k)^T S^-1 (f - m_k)
      S = 1/n sum_i (f_i - m_y(i)) (f_i - m_y(i))^T

    The relative form, with the mean m and the covariance S_0 of all examples, often
    better detects examples that are only a little out of distribution:

      M(f) - (f - m)^T S_0^-1 (f - m)

    Both are larger out of distribution, as `auroc`, `aupr` and `fpr_at_tpr` expect.

    The batches of a stream give the same scores as all examples at once. The state is K
    means and one matrix [D, D]; an update costs O(N D^2), the first score after it
    O(D^3), any other O(N D (D + K)). With few examples for each feature S is mostly
    noise. If S is singular, its pseudo-inverse is used, for features scaled to variance
    1: constant features, and directions without variance, do not count.

    Arrays of other frameworks that convert to NumPy, such as tensors on the CPU, are
    accepted; scores are NumPy arrays.

    Attributes:
      classes: int64 [K], labels of the classes, ascending.
      means: m_k, float64 [K, D].
      covariance: S, float64 [D, D].

    Example:
      >>> import uncertainty_metrics.numpy as um
      >>> distance = um.Mahalanobis()
      >>> distance.update([[0.0, 1.0], [2.0, -1.0], [0.0, -1.0], [2.0, 1.0]], [0] * 4)
      >>> distance.update([[9.0, 5.0], [11.0, 5.0]], [1, 1])
      >>> distance.score([[1.0, 0.0], [10.0, 4.0], [1.0, 3.0]]).round(6).tolist()
      [0.0, 1.5, 13.5]

    References:
      Lee, Lee, Lee and Shin (2018), A Simple Unified Framework for Detecting
      Out-of-Distribution Samples and Adversarial Attacks. Ren et al. (2021), A Simple
      Fix to Mahalanobis Distance for Improving Near-OOD Detection.
    """

    def __init__(self) -> None:
        self._sums: _Sums | None = None

    @property
    def classes(self) -> np.ndarray:
        """Labels of the classes, int64 [K], ascending."""
        return self._require_sums().classes

    @property
    def means(self) -> np.ndarray:
        """Means of the classes, float64 [K, D]."""
        sums = self._require_sums()
        return sums.origin + sums.means

    @property
    def covariance(self) -> np.ndarray:
        """The covariance that the classes share, float64 [D, D]."""
        return self._require_sums().covariance

    @takes_frames
    def update(self, features: ArrayLike, labels: ArrayLike) -> None:
        """Adds a batch of examples; a batch that raises ValueError changes nothing.

        Args:
          features: finite, shape [..., D], of examples in distribution.
          labels: integer class labels >= 0, shape [...] or [..., 1].

        Raises:
          ValueError: an argument is not as described.
        """
        rows, shape = self._rows(features)
        array = _inputs.as_array("labels", labels)
        if array.shape not in (shape, (*shape, 1)):
            raise _checks.error(
                "labels",
                f"of shape {list(shape)}, that of `features` without the last axis",
                f"shape {list(array.shape)}",
            )
        flat = _inputs.integer_labels("labels", array.reshape(-1), 2**31)
        origin = rows[0] if self._sums is None else self._sums.origin
        more = _Sums.of(rows - origin, flat, origin)
        self._sums = more if self._sums is None else self._sums.plus(more)

    def score(self, features: ArrayLike, *, relative: bool = False) -> np.ndarray:
        """Returns the squared distances to the nearest class.

        Args:
          features: finite, shape [..., D], with the D of the updates.
          relative: whether to subtract the squared distance to all classes as one.

        Returns:
          float64, shape [...]; >= 0, or any real number if `relative`. Larger is more
          out of distribution.

        Raises:
          ValueError: an argument is not as described, there was no update, or all
            examples of each class were equal.
        """
        _checks.boolean("relative", relative)
        sums = self._require_sums()
        rows, shape = self._rows(features)
        step = max(1, _BLOCK // (len(sums.classes) + 2 * rows.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            centres = sums.means @ sums.whitening
            lengths = np.einsum("kr,kr->k", centres, centres)
            if relative:
                mean, whitening = sums.single_class

            def of_block(block: slice) -> np.ndarray:
                x = rows[block] - sums.origin
                y = x @ sums.whitening
                nearest = np.argmin(lengths - 2 * (y @ centres.T), axis=1)
                y -= centres[nearest]  # Differences of large squares would cancel.
                scores = _row_math.dot(y, y)
                if relative:
                    y = (x - mean) @ whitening
                    scores -= _row_math.dot(y, y)
                return scores

            size = len(sums.classes) + 2 * rows.shape[1]
            parts = _threads.map_blocks(of_block, len(rows), size, step)
        scores = np.concatenate(parts)
        if not np.all(np.isfinite(scores)):
            received = f"{np.max(np.abs(rows))}"
            raise _checks.error("features", _SIZE, received)
        return scores.reshape(shape)[()]

    def _require_sums(self) -> _Sums:
        """Returns the sums; raises ValueError before the first update."""
        if self._sums is None:
            raise _checks.plain_error(
                "There are no examples yet: call `update` first.", "none"
            )
        return self._sums

    def _rows(self, features: ArrayLike) -> tuple[np.ndarray, tuple[int, ...]]:
        """Returns checked features [N, D], and the shape of their scores."""
        array = _inputs.as_array("features", features)
        known = self._sums is not None
        size = len(self._require_sums().origin) if known else "D"
        if not array.shape or 0 in array.shape or (known and array.shape[-1] != size):
            expected = f"of shape [..., {size}], with at least one example"
            raise _checks.error("features", expected, f"shape {list(array.shape)}")
        array = _inputs.finite("features", array)
        return array.reshape(-1, array.shape[-1]), array.shape[:-1]

    def save(self, path: _saved.Path) -> None:
        """Writes the sums to a file, an .npz archive without pickles.

        Args:
          path: the path of the file, to which no ending is added; or a file opened for
            writing bytes.

        Raises:
          ValueError: there was no update.
        """
        sums = self._require_sums()
        _FORMAT.write(path, {}, {name: getattr(sums, name) for name in _NAMES})

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Returns the object that `save` wrote. Nothing in the file is executed.

        Args:
          path: the path of the file; or a file opened for reading bytes.

        Raises:
          ValueError: the file holds something else, or is damaged.
        """
        _, arrays = _FORMAT.read(path, _check_names)
        distance = cls()
        distance._sums = _checked_sums(arrays)
        return distance


_FORMAT = _saved.Format("Mahalanobis", 1, ())
_NAMES = tuple(field.name for field in dataclasses.fields(_Sums))


def _check_names(names: Collection[str]) -> None:
    if tuple(names) != _NAMES:
        raise _FORMAT.broken(f"arrays {list(names)}, not {list(_NAMES)}")


def _checked_sums(arrays: dict[str, np.ndarray]) -> _Sums:
    """Returns the sums that a file holds; raises ValueError if they are not valid."""
    features, classes = arrays["origin"].size, arrays["classes"].size
    shapes = {
        **{"origin": (features,), "classes": (classes,), "counts": (classes,)},
        **{"means": (classes, features), "scatter": (features, features)},
    }
    for name, array in arrays.items():
        dtype = np.int64 if name in ("classes", "counts") else np.float64
        if array.shape != shapes[name] or array.dtype != dtype or array.size == 0:
            raise _FORMAT.broken(f"`{name}` of shape {array.shape}, {array.dtype}")
        if not np.all(np.isfinite(array)):
            raise _FORMAT.broken(f"`{name}` that is not finite")
    sums = _Sums(**arrays)
    ascending = np.all(np.diff(sums.classes) > 0) and sums.classes[0] >= 0
    counted = np.all((sums.counts > 0) & (sums.counts < 2**53))
    symmetric = np.array_equal(sums.scatter, sums.scatter.T)
    if not (ascending and counted and symmetric and np.all(np.diag(sums.scatter) >= 0)):
        raise _FORMAT.broken("arrays that are no sums of examples")
    return sums
