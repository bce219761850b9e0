"""How losses with a calibration penalty change accuracy and calibration.

`python -m studies.penalties` trains a small network on few examples of overlapping
classes, until it is overconfident. It prints means over the seeds, and the differences
from training with the likelihood alone with their standard errors. Networks with the
same seed have the same data, initial weights and batches. Early stopping and the
temperature use examples that serve neither for training nor for testing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import keras
import numpy as np

import uncertainty_metrics as um
import uncertainty_metrics.numpy as um_np

_STOPPED = "NLL, stopped early"


def _losses() -> dict[str, keras.losses.Loss]:
    return {
        "NLL": um.MMCELoss(0.0, True),
        _STOPPED: um.MMCELoss(0.0, True),
        **{
            f"`SoftCalibrationLoss({weight})`": um.SoftCalibrationLoss(weight, True)
            for weight in (0.5, 2, 8)
        },
        **{
            f"`MMCELoss({weight})`": um.MMCELoss(weight, True) for weight in (4, 16, 64)
        },
    }


_CLASSES, _FEATURES = 5, 16
# The numbers of examples for training, for early stopping and scaling, and for testing.
_SIZES = 1000, 1000, 20000


def data(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns features and labels of Normal classes, in three parts."""
    centres = 0.6 * rng.standard_normal((_CLASSES, _FEATURES))
    labels = rng.integers(0, _CLASSES, sum(_SIZES))
    noise = rng.standard_normal((len(labels), _FEATURES))
    features = (centres[labels] + noise).astype(np.float32)
    cuts = np.cumsum(_SIZES)[:-1]
    return list(zip(np.split(features, cuts), np.split(labels, cuts), strict=True))


def scores(labels: np.ndarray, logits: np.ndarray) -> list[float]:
    """Returns error rate, negative log-likelihood and calibration errors."""
    return [
        100 * (1 - float(um_np.accuracy(labels, logits=logits))),
        float(um_np.negative_log_likelihood(labels, logits=logits)),
        100 * float(um_np.ece(labels, logits=logits)),
        100 * float(um_np.smooth_calibration_error(labels, logits=logits)),
    ]


def trained(name: str, seed: int, epochs: int, batch: int) -> list[float]:
    """Returns the scores of a network, then its scores at the best temperature."""
    train, held_out, test = data(np.random.default_rng(seed))
    keras.utils.set_random_seed(seed)
    layers = [keras.layers.Dense(128, "relu"), keras.layers.Dense(_CLASSES)]
    model = keras.Sequential([keras.Input([_FEATURES]), *layers])
    model.compile(keras.optimizers.Adam(0.003), _losses()[name])
    stop = keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)
    options = {"validation_data": held_out, "callbacks": [stop]}
    model.fit(
        *train,
        batch_size=batch,
        epochs=epochs,
        verbose=0,
        **(options if name == _STOPPED else {}),
    )
    logits = [
        np.asarray(model.predict(features, batch_size=4096, verbose=0), np.float64)
        for features, _ in (held_out, test)
    ]
    scaling = um_np.TemperatureScaling().fit(held_out[1], logits[0])
    scaled = scaling.transform(logits[1])
    return scores(test[1], logits[1]) + scores(test[1], scaled)


_COLUMNS = ("error rate, %", "NLL", "ECE, %", "smECE, %")


def rows(options: argparse.Namespace) -> Iterator[str]:
    """Yields the lines of the table."""
    scores_of_loss = {
        name: np.array(
            [
                trained(name, seed, options.epochs, options.batch)
                for seed in range(options.seeds)
            ]
        )
        for name in _losses()
    }
    yield (
        f"{options.seeds} seeds, {options.epochs} epochs, batches of {options.batch}. "
        "In brackets: the difference from NLL alone with the same seeds, +- its "
        "standard error."
    )
    for title, part in (("As trained", slice(4)), ("Temperature scaled", slice(4, 8))):
        yield f"\n{title}:\n"
        yield "| loss | " + " | ".join(_COLUMNS) + " |"
        yield "|---|" + "---|" * len(_COLUMNS)
        for name, values in scores_of_loss.items():
            changes = (values - scores_of_loss["NLL"])[:, part]
            cells = []
            for mean, change, error, column in zip(
                values[:, part].mean(axis=0),
                changes.mean(axis=0),
                changes.std(axis=0, ddof=1) / np.sqrt(options.seeds),
                _COLUMNS,
                strict=True,
            ):
                digits = 3 if column == "NLL" else 1
                cell = f"{mean:.{digits}f}"
                if np.any(changes):
                    cell += f" ({change:+.{digits}f} +- {error:.{digits}f})"
                cells.append(cell)
            yield f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--batch", type=int, default=100)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
