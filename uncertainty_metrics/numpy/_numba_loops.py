"""Loops that Numba compiles: one pass over the numbers, where NumPy needs one for each
operation. Only `_compiled_loops` imports this module.

A loop that returns a boolean says if all of its results are ordinary. If not, its
caller checks the arguments, or leaves the work to NumPy.

Compiled code is kept on the disk. A change of this file makes it invalid, a change of
another one does not, so this file imports nothing of the package.
"""

import math

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

# One order of sums is as good as another, and lets the processor add several numbers at
# once. It depends on the processor, and so do the last bits.
_sums_in_any_order = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"}
)
# These results have the bits of NumPy's.
_as_written = numba.njit(cache=True, nogil=True, error_model="numpy")


@intrinsic
def _bits_of(context, number):
    """Returns the bits of a float64 as an int64."""

    def generate(context, builder, signature, arguments):
        integer = context.get_value_type(types.int64)
        return builder.bitcast(arguments[0], integer)

    return types.int64(types.float64), generate


@intrinsic
def _float_of(context, bits):
    """Returns the float64 of these bits, an int64."""

    def generate(context, builder, signature, arguments):
        double = context.get_value_type(types.float64)
        return builder.bitcast(arguments[0], double)

    return types.float64(types.int64), generate


# exp(x) = 2^n exp(r), with n the integer next to x / log(2), and r in +-log(2) / 2.
_PER_LOG2 = 1 / math.log(2)
# log(2) in two parts; n times the first part is exact.
_LOG2 = 6.93145751953125e-1
_REST_OF_LOG2 = 1.42860682030941723212e-6
# After adding this, 3 * 2^51, the last bits of a float64 are those of an integer.
_TO_INTEGER = 6755399441055744.0
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1 / math.factorial(k) for k in range(3, 14)
)
# Between these numbers 2^n is an ordinary float64.
_LEAST, _MOST = -708.0, 709.0
# Sums up to this one have no term that was above `_MOST`.
_ORDINARY = 1e300


@numba.njit(inline="always")
def _exp(x):
    """Returns exp(x), to 2e-16 of it, for x in [_LEAST, _MOST], else that of a limit.

    `math.exp` takes three times as long, because it is not computed for several numbers
    at once.
    """
    x = min(max(x, _LEAST), _MOST)
    shifted = x * _PER_LOG2 + _TO_INTEGER
    n = shifted - _TO_INTEGER
    r = x - n * _LOG2 - n * _REST_OF_LOG2
    # Taylor's series; its next term is below 1e-17.
    p = ((_C13 * r + _C12) * r + _C11) * r + _C10
    p = (((p * r + _C9) * r + _C8) * r + _C7) * r + _C6
    p = (((p * r + _C5) * r + _C4) * r + _C3) * r + 0.5
    return (p * r * r + r + 1.0) * _float_of((_bits_of(shifted) + 1023) << 52)


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(row):
    """Returns the largest number of a row without NaN."""
    largest = row[0]
    for k in range(len(row)):
        largest = max(largest, row[k])
    return np.float64(largest)


@_as_written
def pinball(labels, quantiles, level, out):
    """Writes the pinball losses of quantiles [n] of one level."""
    wrong = 0
    for i in range(len(out)):
        error = np.float64(labels[i]) - np.float64(quantiles[i])
        loss = max(level * error, (level - 1) * error)
        out[i] = loss
        wrong += not loss < np.inf
    return wrong == 0


@_as_written
def pinball_of_levels(labels, quantiles, levels, out):
    """Writes the pinball losses of quantiles [n, Q] of several levels [Q]."""
    wrong = 0
    for i in range(len(out)):
        for j in range(len(levels)):
            error = np.float64(labels[i]) - np.float64(quantiles[i, j])
            loss = max(levels[j] * error, (levels[j] - 1) * error)
            out[i, j] = loss
            wrong += not loss < np.inf
    return wrong == 0


@_as_written
def interval(labels, lower, upper, factor, out):
    """Writes the interval scores [n]; the factor is 2 / alpha."""
    wrong = 0
    for i in range(len(out)):
        y, low, high = (
            np.float64(labels[i]),
            np.float64(lower[i]),
            np.float64(upper[i]),
        )
        outside = max(low - y, 0.0) + max(y - high, 0.0)
        score = outside * factor + (high - low)
        out[i] = score
        wrong += not score < np.inf
    return wrong == 0


@_sums_in_any_order
def likelihood_of_classes(labels, logits, out):
    """Writes -log p_y of each row of logits [n, K].

    The results are not ordinary if a logit is far above that of the label.
    """
    wrong = 0
    for i in range(len(out)):
        row = logits[i]
        of_label = np.float64(row[labels[i]])
        total = 0.0
        for k in range(len(row)):
            total += _exp(np.float64(row[k]) - of_label)
        out[i] = math.log(total)
        wrong += not total < _ORDINARY
    return wrong == 0


@_sums_in_any_order
def likelihood_of_normals(means, variances, targets):
    """Returns the sum of (y - mean)^2 / variance + log(variance) of float32 numbers.

    Float64 holds such squares, and a product of four such variances, whose logarithm
    takes less time than four.
    """
    total = 0.0
    for i in range(len(targets)):
        error = np.float64(targets[i]) - np.float64(means[i])
        total += error * error / np.float64(variances[i])
    rest = len(targets) % 4
    for i in range(rest):
        total += math.log(np.float64(variances[i]))
    for i in range(rest, len(targets), 4):
        product = np.float64(variances[i]) * np.float64(variances[i + 1])
        product *= np.float64(variances[i + 2]) * np.float64(variances[i + 3])
        total += math.log(product)
    return total


@_sums_in_any_order
def crps_of_sorted(labels, ordered, weights, out):
    """Writes the mean of |x - y| minus the sum of w (x - y) for each row of sorted
    samples x [n, m] and its label y; the weights w are of the ranks, [m].
    """
    for i in range(len(out)):
        y, errors, spread = labels[i], 0.0, 0.0
        for j in range(len(weights)):
            error = np.float64(ordered[i, j]) - y
            errors += abs(error)
            spread += weights[j] * error
        out[i] = errors / len(weights) - spread


@_sums_in_any_order
def mean_and_entropies(logits, mean, entropies):
    """Writes the mean of the probabilities of members, [n, K], and the entropy of each
    member, [n, M], for logits [n, M, K].
    """
    n, members, classes = logits.shape
    exponentials = np.empty(classes)
    for i in range(n):
        mean[i] = 0.0
        for j in range(members):
            row = logits[i, j]
            largest, total, weighted = _largest(row), 0.0, 0.0
            for k in range(classes):
                below = np.float64(row[k]) - largest
                exponential = _exp(below) if below > _LEAST else 0.0
                exponentials[k] = exponential
                total += exponential
                weighted += exponential * max(below, _LEAST)
            entropies[i, j] = math.log(total) - weighted / total
            share = 1.0 / (total * members)
            for k in range(classes):
                mean[i, k] += exponentials[k] * share


@_sums_in_any_order
def vector_likelihood(factors, biases, features, labels, weights, p, gradient):
    """Returns the sum of w (logsumexp(f) - f_y) of maps f = factors z + biases of
    features z [n, K]. Writes the probabilities p [n, K], and the gradient [2, K] in
    factors and biases, which is 0 before.
    """
    value = 0.0
    for i in range(len(labels)):
        row, q, label, weight = features[i], p[i], labels[i], weights[i]
        for k in range(len(row)):
            q[k] = factors[k] * row[k] + biases[k]
        largest, total = _largest(q), 0.0
        above = largest - q[label]
        for k in range(len(row)):
            q[k] = _exp(q[k] - largest)
            total += q[k]
        value += weight * (math.log(total) + above)
        for k in range(len(row)):
            q[k] /= total
            gradient[0, k] += weight * q[k] * row[k]
            gradient[1, k] += weight * q[k]
        gradient[0, label] -= weight * row[label]
        gradient[1, label] -= weight
    return value


@_sums_in_any_order
def vector_product(factors, biases, features, weights, p, product):
    """Adds to the product [2, K] that of the Hessian of `vector_likelihood` at the
    probabilities p [n, K] with a vector of factors and biases.
    """
    for i in range(len(weights)):
        row, q, mean = features[i], p[i], 0.0
        for k in range(len(row)):
            mean += q[k] * (factors[k] * row[k] + biases[k])
        for k in range(len(row)):
            change = factors[k] * row[k] + biases[k] - mean
            slope = weights[i] * q[k] * change
            product[0, k] += slope * row[k]
            product[1, k] += slope
