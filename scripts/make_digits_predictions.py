"""Makes the predictions that `python -m uncertainty_metrics report` reads by default.

The script trains a small Keras classifier on scikit-learn's handwritten digits, and
writes its predictions for digits that it was not trained on to
`uncertainty_metrics/data/digits_predictions.npz`:

  labels: uint8 [n], the digit.
  logits: float32 [n, 10].

The model is overconfident on purpose: it has few training examples, many epochs and no
regularisation, so its cross-entropy goes on falling long after all training digits are
right. The script needs TensorFlow and scikit-learn, and runs in any folder:

    python scripts/make_digits_predictions.py

The seeds are fixed; other versions of the libraries or other hardware may still give
slightly different weights.
"""

from __future__ import annotations

import argparse
import pathlib

import keras
import numpy as np
from sklearn import datasets, model_selection

import uncertainty_metrics.numpy as um

TARGET = (
    pathlib.Path(__file__).resolve().parent.parent
    / "uncertainty_metrics"
    / "data"
    / "digits_predictions.npz"
)
SEED = 0
TRAINING_EXAMPLES = 120
EPOCHS = 400


def predict() -> tuple[np.ndarray, np.ndarray]:
    """Returns the labels and the logits of the held-out digits."""
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    training, held_out, training_labels, held_out_labels = (
        model_selection.train_test_split(
            images,
            labels,
            train_size=TRAINING_EXAMPLES,
            stratify=labels,
            random_state=SEED,
        )
    )
    keras.utils.set_random_seed(SEED)
    model = keras.Sequential(
        [
            keras.Input([images.shape[1]]),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(training, training_labels, batch_size=16, epochs=EPOCHS, verbose=0)
    logits = model.predict(held_out, verbose=0)
    return held_out_labels.astype(np.uint8), logits.astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=TARGET, metavar="FILE")
    target = parser.parse_args().out
    labels, logits = predict()
    np.savez_compressed(target, labels=labels, logits=logits)
    accuracy = np.mean(np.argmax(logits, axis=-1) == labels)
    print(
        f"{target}: {len(labels)} digits, {target.stat().st_size / 1000:.0f} kB, "
        f"accuracy {accuracy:.3f}, ECE {um.ece(labels, logits=logits):.3f}"
    )


if __name__ == "__main__":
    main()
