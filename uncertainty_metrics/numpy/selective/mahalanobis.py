"""Mahalanobis distances of features: what is out of distribution, far from all classes.

The sums of a stream are exact but for rounding: they are kept as deviations from means,
which are moved as batches come (Chan, Golub and LeVeque), from a first example on, so
that features which never change have a variance of exactly 0.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy import _inputs, _saved

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Mahalanobis"]

# Directions of less variance than so much of the largest, for each feature, are those
# of rounding: of float32 features that depend on others it is 2^-48.
_NOTHING = 2.0**-44
# So are standard deviations of less than so much of the largest mean.
_CONSTANT = 2.0**-40
# Numbers of a block of distances.
_BLOCK = 2**22
_SIZE = "of a size whose squares float64 holds"


@dataclasses.dataclass(frozen=True)
class _Sums:
    """Of all examples.

    Attributes:
      origin: float64 [D], the first example; the others are less it.
      classes: int64 [K], ascending.
      counts: int64 [K], examples of each class.
      means: float64 [K, D].
      scatter: float64 [D, D], sum of the squared deviations from these.
    """

    origin: np.ndarray
    classes: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, labels: np.ndarray, origin: np.ndarray) -> _Sums:
        """Returns those of examples [N, D] less the origin."""
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
        """Returns those of both, which have one origin."""
        classes = np.union1d(self.classes, other.classes)

        def spread(sums: _Sums) -> tuple[np.ndarray, np.ndarray]:
            places = np.searchsorted(classes, sums.classes)
            counts = np.zeros(len(classes), np.int64)
            means = np.zeros((len(classes), len(self.origin)))
            counts[places], means[places] = sums.counts, sums.means
            return counts, means

        (first, start), (second, end) = spread(self), spread(other)
        counts, steps = first + second, end - start
        means = start + steps * (second / counts)[:, None]
        both = (first > 0) & (second > 0)
        steps, weights = steps[both], (first / counts * second)[both]
        scatter = self.scatter + other.scatter + (steps * weights[:, None]).T @ steps
        return _Sums(self.origin, classes, counts, means, scatter)

    @functools.cached_property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.counts.sum()

    @functools.cached_property
    def whitening(self) -> np.ndarray:
        return self._whitening(self.covariance)

    @functools.cached_property
    def all_in_one(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of all examples, and the whitening of their covariance."""
        shares = self.counts / self.counts.sum()
        mean = shares @ self.means
        steps = self.means - mean
        between = (steps * shares[:, None]).T @ steps
        return mean, self._whitening(self.covariance + between)

    def _whitening(self, covariance: np.ndarray) -> np.ndarray:
        """Returns a map [D, R] to features without covariance and of variance 1."""
        stddevs = np.sqrt(np.diag(covariance))
        varies = stddevs > _CONSTANT * np.max(np.abs(self.means), axis=0)
        if not np.any(varies):
            expected = "among the examples of at least one class"
            received = "the same features in each class"
            raise _checks.error("features", expected, received, verb="differ")
        # Of correlations, so that the unit of a feature does not matter.
        stddevs = stddevs[varies]
        correlations = covariance[np.ix_(varies, varies)] / stddevs / stddevs[:, None]
        values, vectors = np.linalg.eigh(correlations)
        kept = values > len(values) * _NOTHING * values[-1]
        found = np.zeros((len(varies), np.count_nonzero(kept)))
        found[varies] = vectors[:, kept] / np.sqrt(values[kept]) / stddevs[:, None]
        return found


class Mahalanobis:
    """Mahalanobis distance of features: a score of being out of distribution.

    Of the features f of an example, such as those of the layer before the logits, with
    the means m_k of the classes and the one covariance S that these share, of the n
    examples of all updates:

      M(f) = min_k (f - m_k)^T S^-1 (f - m_k)
      S = 1/n sum_i (f_i - m_y(i)) (f_i - m_y(i))^T

    and, in the relative form, with the mean m and the covariance S_0 of all examples as
    of one class, which often does better where what is out of distribution is near:

      M(f) - (f - m)^T S_0^-1 (f - m)

    Both are larger for what is more out of distribution: for `auroc` and its like they
    are the scores as they are.

    The batches of a stream give what all examples at once do. The state is K means and
    one matrix [D, D]; an update costs O(N D^2), the first score after it O(D^3), any
    other O(N D (D + K)). For S to be more than noise there should be many examples for
    each feature. Where S is singular its pseudo-inverse counts, of features scaled to
    variance 1: features that never change, and directions of no variance, say nothing.

    Arrays of other frameworks are taken where they convert to NumPy, as tensors on the
    CPU do; scores are NumPy arrays.

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
        return self._known().classes

    @property
    def means(self) -> np.ndarray:
        """Means of the classes, float64 [K, D]."""
        sums = self._known()
        return sums.origin + sums.means

    @property
    def covariance(self) -> np.ndarray:
        """The covariance that the classes share, float64 [D, D]."""
        return self._known().covariance

    def update(self, features: ArrayLike, labels: ArrayLike) -> None:
        """Adds a batch. A batch that raises ValueError leaves all as it was.

        Args:
          features: finite, shape [..., D], of examples in distribution.
          labels: integers >= 0, shape [...] or [..., 1].

        Raises:
          ValueError: an argument is not as described.
        """
        rows, shape = self._rows(features)
        array = _inputs.as_array("labels", labels)
        if array.shape not in (shape, (*shape, 1)):
            raise _checks.error(
                "labels",
                f"of shape {list(shape)}, of the `features` without their last axis",
                f"shape {list(array.shape)}",
            )
        flat = _inputs.integer_labels("labels", array.reshape(-1), 2**31)
        origin = rows[0] if self._sums is None else self._sums.origin
        more = _Sums.of(rows - origin, flat, origin)
        self._sums = more if self._sums is None else self._sums.plus(more)

    def score(self, features: ArrayLike, *, relative: bool = False) -> np.ndarray:
        """Returns the squared distances to the nearest class.

        Args:
          features: finite, shape [..., D], as those of the updates.
          relative: whether to subtract the squared distance to all classes as one.

        Returns:
          float64, shape [...]; >= 0, or any real number if `relative`. Larger is more
          out of distribution.

        Raises:
          ValueError: an argument is not as described, there was no update, or all
            examples of each class were the same.
        """
        _checks.boolean("relative", relative)
        sums = self._known()
        rows, shape = self._rows(features)
        step = max(1, _BLOCK // (len(sums.classes) + 2 * rows.shape[1]))
        scores = np.empty(len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            centres = sums.means @ sums.whitening
            lengths = np.einsum("kr,kr->k", centres, centres)
            for start in range(0, len(rows), step):
                block = slice(start, start + step)
                x = rows[block] - sums.origin
                y = x @ sums.whitening
                nearest = np.argmin(lengths - 2 * (y @ centres.T), axis=1)
                y -= centres[nearest]  # No difference of large squares.
                scores[block] = np.einsum("nr,nr->n", y, y)
                if relative:
                    mean, whitening = sums.all_in_one
                    y = (x - mean) @ whitening
                    scores[block] -= np.einsum("nr,nr->n", y, y)
        if not np.all(np.isfinite(scores)):
            received = f"{np.max(np.abs(rows))}"
            raise _checks.error("features", _SIZE, received)
        return scores.reshape(shape)[()]

    def _known(self) -> _Sums:
        if self._sums is None:
            raise _checks.plain_error(
                "There are no examples yet: call `update` first.", "none"
            )
        return self._sums

    def _rows(self, features: ArrayLike) -> tuple[np.ndarray, tuple[int, ...]]:
        """Returns checked features [N, D], and the shape of their scores."""
        array = _inputs.as_array("features", features)
        known = self._sums is not None
        size = len(self._known().origin) if known else "D"
        if not array.shape or 0 in array.shape or (known and array.shape[-1] != size):
            expected = f"of shape [..., {size}], with at least one example"
            raise _checks.error("features", expected, f"shape {list(array.shape)}")
        array = _inputs.finite("features", array)
        return array.reshape(-1, array.shape[-1]), array.shape[:-1]

    def save(self, path: _saved.Path) -> None:
        """Writes the sums to a file, an .npz archive without pickles.

        Args:
          path: where to, as it is: no ending is added. Or a file opened for writing
            bytes.

        Raises:
          ValueError: there was no update.
        """
        sums = self._known()
        _FORMAT.write(path, {}, {name: getattr(sums, name) for name in _NAMES})

    @classmethod
    def load(cls, path: _saved.Path) -> Self:
        """Returns what `save` wrote. Nothing in the file is executed.

        Args:
          path: the file, or a file opened for reading bytes.

        Raises:
          ValueError: the file holds something else, or is damaged.
        """
        _, arrays = _FORMAT.read(path, _check_names)
        made = cls()
        made._sums = _checked_sums(arrays)
        return made


_FORMAT = _saved.Format("Mahalanobis", 1, ())
_NAMES = tuple(field.name for field in dataclasses.fields(_Sums))


def _check_names(names: Collection[str]) -> None:
    if tuple(names) != _NAMES:
        raise _FORMAT.broken(f"arrays {list(names)}, not {list(_NAMES)}")


def _checked_sums(arrays: dict[str, np.ndarray]) -> _Sums:
    """Returns sums of a file; raises ValueError for what are none."""
    features, classes = arrays["origin"].size, arrays["classes"].size
    shapes = {
        **{"origin": (features,), "classes": (classes,), "counts": (classes,)},
        **{"means": (classes, features), "scatter": (features, features)},
    }
    for name, array in arrays.items():
        kind = np.int64 if name in ("classes", "counts") else np.float64
        if array.shape != shapes[name] or array.dtype != kind or array.size == 0:
            raise _FORMAT.broken(f"`{name}` of shape {array.shape}, {array.dtype}")
        if not np.all(np.isfinite(array)):
            raise _FORMAT.broken(f"`{name}` that is not finite")
    sums = _Sums(**arrays)
    ascending = np.all(np.diff(sums.classes) > 0) and sums.classes[0] >= 0
    counted = np.all((sums.counts > 0) & (sums.counts < 2**53))
    symmetric = np.array_equal(sums.scatter, sums.scatter.T)
    if not (ascending and counted and symmetric and np.all(np.diag(sums.scatter) >= 0)):
        raise _FORMAT.broken("sums of no examples")
    return sums
