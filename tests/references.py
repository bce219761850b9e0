"""Naive references, independent of the package: loops over examples and bins."""

import fractions
import itertools
import math

import numpy as np
from scipy import optimize, special, stats


def softmax(logits):
    logits = np.asarray(logits, np.float64)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def even_bin(score, num_bins, dtype):
    edges = np.linspace(0, 1, num_bins + 1).astype(dtype)
    for b in range(num_bins):
        if score <= edges[b + 1]:
            return b
    raise AssertionError(score)


def adaptive_bin(index, scores, weights, num_bins):
    # Rational numbers, so that nothing is rounded at the edge of a bin.
    exact = [fractions.Fraction(float(w)) for w in weights]
    pairs = list(zip(scores, exact, strict=True))
    below = sum((w for s, w in pairs if s < scores[index]), fractions.Fraction(0))
    at = sum((w for s, w in pairs if s == scores[index]), fractions.Fraction(0))
    return min(num_bins - 1, int(num_bins * (below + at / 2) / sum(exact)))


def groups(
    labels,
    probabilities,
    max_prob,
    class_conditional,
    labels_predicted=None,
    sample_weight=None,
    ignore_index=None,
    positive_class=False,
):
    """Yields a list of (score, outcome, weight) for each group."""
    probabilities = np.asarray(probabilities)
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    n, classes = probabilities.shape
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    rows = [i for i in range(n) if weights[i] > 0 and labels[i] != ignore_index]
    if positive_class:
        yield [(probabilities[i, 1], labels[i] == 1, weights[i]) for i in rows]
        return
    found = [[] for _ in range(classes if class_conditional else 1)]
    for i in rows:
        if max_prob:
            decision = int(np.argmax(probabilities[i]))
            if labels_predicted is not None:
                decision = labels_predicted[i]
            group = decision if class_conditional else 0
            score = probabilities[i, decision]
            found[group].append((score, decision == labels[i], weights[i]))
            continue
        for k in range(classes):
            group = k if class_conditional else 0
            found[group].append((probabilities[i, k], labels[i] == k, weights[i]))
    yield from found


def bins(
    labels,
    probabilities,
    binning_scheme,
    max_prob,
    class_conditional,
    num_bins=15,
    threshold=0.0,
    datapoints_per_bin=None,
    **data,
):
    """Returns, for each group, a list of (weight, score sum, outcome sum) per bin."""
    result = []
    for group in groups(labels, probabilities, max_prob, class_conditional, **data):
        if threshold > 0:
            group = [example for example in group if example[0] > threshold]
        total = sum(weight for _, _, weight in group)
        count = num_bins
        if datapoints_per_bin is not None:
            count = max(1, int(total / datapoints_per_bin + 1e-9))
        table = np.zeros([count, 3])
        scores = [score for score, _, _ in group]
        weights = [weight for _, _, weight in group]
        for i, (score, outcome, weight) in enumerate(group):
            if binning_scheme == "even":
                b = even_bin(score, count, np.asarray(probabilities).dtype)
            else:
                b = adaptive_bin(i, scores, weights, count)
            table[b] += [weight, weight * float(score), weight * outcome]
        result.append(table)
    return result


def debiased_calibration_error(
    labels,
    probabilities,
    binning_scheme="adaptive",
    max_prob=True,
    class_conditional=False,
    squared=False,
    **data,
):
    """Returns the error minus its bias; a weight is a number of examples."""
    squares = []
    for table in bins(
        labels, probabilities, binning_scheme, max_prob, class_conditional, **data
    ):
        total, square = sum(weight for weight, _, _ in table), 0.0
        for n, score_sum, outcome_sum in table:
            if n > 1.5:
                accuracy = outcome_sum / n
                gap = score_sum / n - accuracy
                variance = accuracy * (1 - accuracy) / (n - 1)
                square += n / total * (gap * gap - variance)
        squares.append(square)
    square = np.mean(squares)
    return square if squared else np.sqrt(max(square, 0))


def _walk(labels, probabilities, **data):
    """Returns the distinct scores, and the sum of (y - p) / n up to each."""
    (group,) = groups(labels, probabilities, True, False, **data)
    total = sum(weight for _, _, weight in group)
    scores = sorted({float(score) for score, _, _ in group})
    sums = [
        sum(w * (y - float(p)) for p, y, w in group if p <= score) / total
        for score in scores
    ]
    return scores, sums


def kolmogorov_smirnov_calibration_error(labels, probabilities, **data):
    return max(abs(value) for value in _walk(labels, probabilities, **data)[1])


def kuiper_calibration_error(labels, probabilities, **data):
    sums = [0.0, *_walk(labels, probabilities, **data)[1]]
    return max(sums) - min(sums)


def averaged_two_bin_calibration_error(labels, probabilities, **data):
    scores, sums = _walk(labels, probabilities, **data)
    ends, below = [0.0, *scores, 1.0], [0.0, *sums]
    return sum(
        (ends[i + 1] - ends[i]) * (value**2 + (sums[-1] - value) ** 2)
        for i, value in enumerate(below)
    )


def spiegelhalter_test(labels, probabilities, **data):
    """Returns the statistic and its p-value."""
    (group,) = groups(labels, probabilities, True, False, **data)
    group = [(float(p), y, w) for p, y, w in group]
    top = sum(w * (y - p) * (1 - 2 * p) for p, y, w in group)
    square = sum(w * (1 - 2 * p) ** 2 * p * (1 - p) for p, y, w in group)
    z = top / np.sqrt(square)
    normal = 2 * stats.norm.sf(abs(z))
    cube = sum(w * (1 - 2 * p) ** 4 * p * (1 - p) for p, y, w in group)
    expected = square**3 / cube**2
    if expected >= 10:
        return z, normal
    # Surprises are Poisson, and each number is spread evenly over a unit around it.
    law = stats.poisson(expected)
    number = max(expected + z * np.sqrt(expected), 0)
    nearest = math.floor(number + 0.5)
    above = nearest + 0.5 - number
    point = law.pmf(nearest)
    upper = law.sf(nearest) + above * point
    lower = law.cdf(nearest - 1) + (1 - above) * point
    return z, max(normal, 2 * min(upper, lower))


def smooth_calibration_error(labels, probabilities, bandwidth=None, **data):
    """Returns the error at a bandwidth, or else the error that equals its bandwidth."""
    (group,) = groups(labels, probabilities, True, False, **data)
    scores, outcomes, weights = np.array(group, np.float64).T
    shares = weights * (outcomes - scores) / weights.sum()
    if bandwidth is not None:
        return smooth_norm(scores, shares, bandwidth)
    low, high = abs(shares.sum()), np.abs(shares).sum()
    return optimize.brentq(
        lambda s: smooth_norm(scores, shares, s) - s, max(low / 2, 1e-3), 1.1 * high
    )


def smoothed(points, scores, shares, bandwidth):
    """Returns the sum of shares times the Gaussian kernel and its mirror images."""
    total = np.zeros(np.shape(points))
    for turn in range(-math.ceil(5 * bandwidth) - 1, math.ceil(5 * bandwidth) + 2):
        for image in (2 * turn + scores, 2 * turn - scores):
            density = stats.norm.pdf(points[..., None], image, bandwidth)
            total = total + density @ shares
    return total


def smooth_norm(scores, shares, bandwidth):
    """Returns the integral of the absolute value of `smoothed`, split at its roots."""

    def value(t):
        return float(smoothed(np.asarray(t), scores, shares, bandwidth))

    ends = np.linspace(0, 1, 20 + int(8 / bandwidth))
    signs = smoothed(ends, scores, shares, bandwidth)
    changes = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    roots = [
        optimize.brentq(value, ends[i], ends[i + 1], xtol=1e-14)
        for i in changes
        if value(ends[i]) * value(ends[i + 1]) < 0  # Otherwise it is rounding noise.
    ]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = np.sort(np.concatenate([ends, roots]))
    half = np.diff(ends)[:, None] / 2
    points = ends[:-1, None] + half * (1 + nodes)
    values = np.abs(smoothed(points, scores, shares, bandwidth))
    return float((values @ weights) @ half[:, 0])


def corp_decomposition(labels, probabilities, score="brier", **data):
    """Returns miscalibration, discrimination, uncertainty; pools blocks one by one."""
    (group,) = groups(labels, probabilities, True, False, **data)
    blocks = []  # Each is [mass, events, scores].
    for p in sorted({float(p) for p, _, _ in group}):
        mass = sum(w for q, _, w in group if q == p)
        blocks.append([mass, sum(w * y for q, y, w in group if q == p), {p}])
        while len(blocks) > 1 and (
            blocks[-2][1] / blocks[-2][0] >= blocks[-1][1] / blocks[-1][0]
        ):
            mass, events, scores = blocks.pop()
            blocks[-1][0] += mass
            blocks[-1][1] += events
            blocks[-1][2] |= scores
    fitted = {p: e / m for m, e, scores in blocks for p in scores}
    total = sum(w for _, _, w in group)
    rate = sum(w * y for _, y, w in group) / total

    def loss(p, y):
        if score == "brier":
            return (y - p) ** 2
        came = p if y else 1 - p
        return -math.log(came) if came > 0 else math.inf

    def mean(forecast):
        return sum(w * loss(forecast(float(p)), y) for p, y, w in group) / total

    given, best = mean(lambda p: p), mean(fitted.get)
    return given - best, mean(lambda p: rate) - best, mean(lambda p: rate)


def calibration_error(
    labels,
    probabilities,
    binning_scheme,
    max_prob,
    class_conditional,
    norm,
    num_bins=15,
    threshold=0.0,
    datapoints_per_bin=None,
    **data,
):
    """Returns the general calibration error, by its definition."""
    tables = bins(
        labels,
        probabilities,
        binning_scheme,
        max_prob,
        class_conditional,
        num_bins,
        threshold,
        datapoints_per_bin,
        **data,
    )
    errors = []
    for table in tables:
        held = table[table[:, 0] > 0]
        share = held[:, 0] / held[:, 0].sum()
        gaps = np.abs(held[:, 1] - held[:, 2]) / held[:, 0]
        if len(held) == 0:
            errors.append(0.0)
        elif norm == "l1":
            errors.append(np.sum(share * gaps))
        elif norm == "l2":
            errors.append(np.sqrt(np.sum(share * gaps**2)))
        else:
            errors.append(np.max(gaps))
    errors = np.array(errors)
    if norm == "l1":
        return errors.mean()
    return np.sqrt(np.mean(errors**2)) if norm == "l2" else errors.max()


def _rows(labels, probabilities, sample_weight=None):
    """Returns (label, row, weight) of every example."""
    probabilities = np.asarray(probabilities, np.float64)
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    weights = np.ones(len(labels)) if sample_weight is None else sample_weight
    return [
        (int(y), p, float(w))
        for y, p, w in zip(labels, probabilities, weights, strict=True)
        if w > 0
    ]


def slopes(function, value, step=1e-6):
    """Returns central differences of a function of an array, in each entry."""
    found = np.empty(value.shape)
    for i in np.ndindex(value.shape):
        up, down = value.copy(), value.copy()
        up[i] += step
        down[i] -= step
        found[i] = (function(up) - function(down)) / (2 * step)
    return found


def mean_of(score):
    """Returns the reference of a weighted mean of scores.

    `score` computes the score of one example, of its label y, its probabilities [K] and
    the options of the metric.
    """

    def reference(labels, probabilities, sample_weight=None, **options):
        rows = _rows(labels, probabilities, sample_weight)
        scores = [score(y, p, **options) for y, p, _ in rows]
        return np.average(scores, weights=[w for _, _, w in rows])

    return reference


@mean_of
def brier_score(y, p, zero_based=False):
    """Returns the squared distance to the one-hot label, less 1 if not zero-based."""
    distance = np.sum((p - np.eye(len(p))[y]) ** 2)
    return distance if zero_based else distance - 1


@mean_of
def negative_log_likelihood(y, p):
    with np.errstate(divide="ignore"):
        return -np.log(p[y])


@mean_of
def ranked_probability_score(y, p):
    """Returns the score of one example, by a loop over the thresholds of classes."""
    return sum((sum(p[: k + 1]) - (y <= k)) ** 2 for k in range(len(p)))


def brier_decomposition_exact(labels, probabilities, **data):
    """Returns the five parts, by loops over decisions and classes."""
    rows = _rows(labels, probabilities, **data)
    classes = len(rows[0][1])
    total = sum(w for _, _, w in rows)
    outcome = [sum(w for y, _, w in rows if y == j) / total for j in range(classes)]
    resolution = reliability = variance = covariance = 0.0
    for k in range(classes):
        held = [(y, p, w) for y, p, w in rows if int(np.argmax(p)) == k]
        mass = sum(w for _, _, w in held)
        for j in range(classes):
            if not held:
                continue
            d = sum(w for y, _, w in held if y == j) / mass
            f = sum(w * p[j] for _, p, w in held) / mass
            resolution += mass / total * (d - outcome[j]) ** 2
            reliability += mass / total * (f - d) ** 2
            for y, p, w in held:
                variance += w / total * (p[j] - f) ** 2
                covariance += 2 * w / total * (p[j] - f) * ((y == j) - d)
    uncertainty = -sum(share**2 for share in outcome)
    return np.array([uncertainty, resolution, reliability, variance, covariance])


def brier_decomposition(labels, probabilities, **data):
    parts = brier_decomposition_exact(labels, probabilities, **data)
    rows = _rows(labels, probabilities, **data)
    total = sum(w for _, _, w in rows)
    reliability = 0.0
    for _, p, w in rows:
        decision = np.argmax(p)
        held = [(y, v) for y, q, v in rows if np.argmax(q) == decision]
        for j in range(len(p)):
            d = sum(v for y, v in held if y == j) / sum(v for _, v in held)
            reliability += w / total * (p[j] - d) ** 2
    return np.array([parts[0], parts[1], reliability])


def integrated_crps(family):
    """Returns a function that integrates the CRPS of a family of SciPy.

    The family has a location and a scale.
    """
    from scipy import integrate, stats

    options = {"epsabs": 1e-13, "epsrel": 1e-13, "norm": "max"}

    def of_square(function, start, end):
        """Integrates the squares for all examples together."""
        width = end - start
        return integrate.quad_vec(
            lambda t: width * function(start + t * width) ** 2, 0, 1, **options
        )[0]

    def scores(labels, **forecasts):
        location, scale = forecasts.values()
        forecast = getattr(stats, family)(location, scale)
        low, high = location - 20 * scale, location + 20 * scale
        y = labels
        below = [np.minimum(low, y), np.minimum(location, y), y]
        above = [y, np.maximum(location, y), np.maximum(high, y)]
        return sum(
            of_square(function, *ends)
            for function, edges in ((forecast.cdf, below), (forecast.sf, above))
            for ends in itertools.pairwise(edges)
        )

    return scores


def pinball(labels, quantile_predictions, quantiles):
    losses = np.empty(quantile_predictions.shape)
    for i in np.ndindex(losses.shape):
        y, q, t = labels[i[:-1]], quantile_predictions[i], quantiles[i[-1]]
        losses[i] = t * (y - q) if y >= q else (1 - t) * (q - y)
    return losses


def interval(labels, lower, upper, alpha):
    scores = np.empty(np.shape(labels))
    for i in np.ndindex(scores.shape):
        scores[i] = upper[i] - lower[i]
        if labels[i] < lower[i]:
            scores[i] += 2 / alpha * (lower[i] - labels[i])
        if labels[i] > upper[i]:
            scores[i] += 2 / alpha * (labels[i] - upper[i])
    return scores


def confident_rows(labels, probabilities, **data):
    """Returns (confidence, whether right, weight) of every example."""
    rows = _rows(labels, probabilities, **data)
    return [(max(p), bool(np.argmax(p) == y), w) for y, p, w in rows]


def thresholds(rows):
    """Yields score, mass and misses of the examples at or above each distinct score."""
    for threshold in sorted({score for score, _, _ in rows}, reverse=True):
        mass = sum(w for score, _, w in rows if score >= threshold)
        misses = sum(w for score, hit, w in rows if score >= threshold and not hit)
        yield threshold, mass, misses


def _sum_of_reciprocals(start, step):
    """Returns 1 / (start + 1) + ... + 1 / (start + step), for fractions as well."""
    from scipy import special

    if start == int(start) and step == int(step):
        return sum(1 / (start + j) for j in range(1, int(step) + 1))
    return special.digamma(start + step + 1) - special.digamma(start + 1)


def mean_risk(rows):
    """Returns the mean over k of the expected risk of the k most confident examples.

    A weight is a number of examples. If some are fractions, no sum over k exists;
    a function of a real number that agrees with the sum at integers replaces it.
    """
    total = sum(w for _, _, w in rows)
    if total < len(rows):
        rows = [(score, hit, w * len(rows) / total) for score, hit, w in rows]
    if all(w == int(w) for _, _, w in rows):
        rows = [(score, hit, 1) for score, hit, w in rows for _ in range(int(w))]
        rows = sorted(rows, key=lambda row: -row[0])
        risks = []
        for k in range(1, len(rows) + 1):
            last = rows[k - 1][0]
            above = [hit for score, hit, _ in rows if score > last]
            equal = [hit for score, hit, _ in rows if score == last]
            share = (k - len(above)) / len(equal)
            risks.append((above.count(False) + share * equal.count(False)) / k)
        return sum(risks) / len(risks)
    area = mass_before = misses_before = 0.0
    for _, mass, misses in thresholds(rows):
        size, errors = mass - mass_before, misses - misses_before
        excess = misses_before - errors / size * mass_before
        area += errors + excess * _sum_of_reciprocals(mass_before, size)
        mass_before, misses_before = mass, misses
    return area / mass_before


def area_under_risk_coverage_curve(labels, probabilities, **data):
    return mean_risk(confident_rows(labels, probabilities, **data))


def excess_aurc(labels, probabilities, **data):
    """Returns the area minus that of the best order, with right decisions first."""
    rows = confident_rows(labels, probabilities, **data)
    return mean_risk(rows) - mean_risk([(hit, hit, w) for _, hit, w in rows])


def area_under_generalized_risk_coverage_curve(labels, probabilities, **data):
    """Returns the share of pairs whose first example is wrong and more confident."""
    rows = confident_rows(labels, probabilities, **data)
    pairs = 0.0
    for score, hit, weight in rows:
        for other, _, w in rows:
            if not hit:
                pairs += weight * w * ((score > other) + (score == other) / 2)
    return pairs / sum(w for _, _, w in rows) ** 2


def risk_coverage_curve(labels, probabilities, **data):
    rows = confident_rows(labels, probabilities, **data)
    total = sum(w for _, _, w in rows)
    points = [(m / total, e / m, t) for t, m, e in thresholds(rows)]
    return np.array(points).T.reshape(-1)


def coverage_at_risk(labels, probabilities, risk=0.05, **data):
    rows = confident_rows(labels, probabilities, **data)
    total = sum(w for _, _, w in rows)
    return max([0.0, *(m / total for _, m, e in thresholds(rows) if e / m <= risk)])


def risk_at_coverage(labels, probabilities, coverage=0.8, **data):
    rows = confident_rows(labels, probabilities, **data)
    total = sum(w for _, _, w in rows)
    return next(e / m for _, m, e in thresholds(rows) if m / total >= coverage)


def oracle_collaborative_accuracy(labels, probabilities, fraction=0.01, **data):
    """Returns the accuracy if an oracle decides the least confident, groups of ties."""
    rows = confident_rows(labels, probabilities, **data)
    total = sum(w for _, _, w in rows)
    left, errors = fraction * total, 0.0
    for score in sorted({score for score, _, _ in rows}):
        size = sum(w for s, _, w in rows if s == score)
        wrong = sum(w for s, hit, w in rows if s == score and not hit)
        taken = min(left, size)
        left -= taken
        errors += wrong * (1 - taken / size)
    return 1 - errors / total


def accuracy(labels, probabilities, labels_predicted=None, sample_weight=None):
    weights = np.ones(len(labels)) if sample_weight is None else sample_weight
    right = total = 0.0
    for i, (y, row, w) in enumerate(zip(labels, probabilities, weights, strict=True)):
        decision = np.argmax(row) if labels_predicted is None else labels_predicted[i]
        right += w * (decision == y)
        total += w
    return right / total


def fpr_at_tpr(labels, scores, tpr=0.95, sample_weight=None):
    weights = np.ones(len(labels)) if sample_weight is None else sample_weight
    rows = [(s, y == 1, w) for s, y, w in zip(scores, labels, weights, strict=True)]
    positives = sum(w for _, hit, w in rows if hit)
    negatives = sum(w for _, hit, w in rows if not hit)
    return min(
        misses / negatives
        for _, mass, misses in thresholds(rows)
        if (mass - misses) / positives >= tpr - 1e-12  # The sums are rounded.
    )


def bin_sums(scores, outcomes, weights, bins):
    """Returns the sums of weights, of weighted scores and of outcomes in even bins."""
    index = np.maximum(np.ceil(np.asarray(scores) * bins).astype(int) - 1, 0)
    parts = (weights, weights * scores, weights * outcomes)
    return tuple(np.bincount(index, part, bins) for part in parts)


def posterior_mean(counts, totals, right, alpha=None):
    """Returns the mean of the posterior of the ECE.

    At a given mean score m of a bin, E|A - m| is a sum of two incomplete betas. Many
    small Gauss rules integrate this over m.
    """
    bins = len(counts)
    alpha = alpha or 1 / (2 * bins)
    nodes, rule = np.polynomial.legendre.leggauss(20)
    error = 0.0
    for b, (n, total, a) in enumerate(zip(counts, totals, right + alpha, strict=True)):
        c, low, high = n + 2 * alpha - a, b / bins, (b + 1) / bins
        share = a / (a + c)
        location = np.clip(((low + high) / 2 + total) / (1 + n), low, high)
        scale = 1 / (bins * np.sqrt(12 * (1 + n)))
        steps = np.arange(-12, 13)
        deviation = np.sqrt(share * (1 - share) / (a + c + 1))
        edges = [location + scale * steps, share + deviation * steps]
        edges += [2.0 ** -np.arange(50), 1 - 2.0 ** -np.arange(50), [low, high]]
        edges = np.unique(np.clip(np.concatenate(edges), low, high))
        m = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
        masses = np.diff(edges)[:, None] * rule / 2
        masses *= stats.norm.pdf(m, location, scale)
        masses /= np.diff(stats.norm.cdf([low, high], location, scale))
        gaps = 2 * m * special.betainc(a, c, m) - m + share
        gaps -= 2 * share * special.betainc(a + 1, c, m)
        error += (a + c) * np.sum(masses * gaps)
    return error / (np.sum(counts) + 2 * bins * alpha)
