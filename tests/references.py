"""Naive definitions, written apart from the package: loops over examples and bins."""

import fractions

import numpy as np


def softmax(logits):
    logits = np.asarray(logits, np.float64)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _even_bin(score, num_bins, dtype):
    edges = np.linspace(0, 1, num_bins + 1).astype(dtype)
    for b in range(num_bins):
        if score <= edges[b + 1]:
            return b
    raise AssertionError(score)


def _adaptive_bin(index, scores, weights, num_bins):
    # In rational numbers, so that nothing is rounded at the edge of a bin.
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
    """Yields lists of (score, outcome, weight), one list a group."""
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
                b = _even_bin(score, count, np.asarray(probabilities).dtype)
            else:
                b = _adaptive_bin(i, scores, weights, count)
            table[b] += [weight, weight * float(score), weight * outcome]
        result.append(table)
    return result


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
    """The general calibration error, by its definition."""
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
