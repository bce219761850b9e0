"""What Keras metrics receive: forecasts, and data of wrong shapes or values."""

import numpy as np

from tests.makers import Data, bad_data

# Names of bad shapes that Keras can receive: it has one argument for predictions.
KERAS_SHAPES = ("rank", "lengths", "swapped", "empty", "weight shape", "ragged")


def bad_keras_data(bad):
    """Returns (y_true, y_pred, weights or None), and a word of the message."""
    given, word = bad_data(bad)
    word = word.replace("labels", "y_true").replace("probabilities", "y_pred")
    return (given["labels"], given["probabilities"], given.get("sample_weight")), word


class Forecasts:
    """The data that Keras receives for real-valued forecasts.

    Attributes:
      units: size of the last axis of the metric's `y_pred`.
    """

    units: int
    activation = None
    keras_shapes = KERAS_SHAPES
    good_labels = (0.5, 1.0, -1.0, 2.0)

    @property
    def outputs(self):
        return (self.units,)

    def labels(self, rng, n):
        return rng.normal(size=n).astype(np.float32)

    def lattice(self, rng, n=40):
        """Makes numbers that bfloat16 holds exactly."""

        def draw(*shape):
            return (rng.integers(-32, 33, shape) / 16).astype(np.float32)

        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n)
        weights[0] = 1.0
        predictions = np.sort(draw(n, self.units), axis=1)
        return Data(draw(n), predictions, weights)

    def metric_values(self):
        return ["label nan", "nan prediction", "negative weight", "nan weight"]

    def bad_keras_data(self, bad):
        labels = np.array(self.good_labels)
        forecasts = np.ones([4, self.units]) / 2

        def wrong(array, value):
            array = array.copy()
            array.reshape(-1)[2] = value
            return array

        word, change = {
            "rank": ("y_pred", {"y_pred": forecasts[None, None]}),
            "lengths": ("y_true", {"y_true": labels[:3]}),
            "swapped": ("swapped|y_pred", {"y_true": forecasts, "y_pred": labels}),
            "empty": ("y_true", {"y_true": labels[:0], "y_pred": forecasts[:0]}),
            "ragged": ("y_true", {"y_true": [[0.0], [1.0, 2.0], [1.0]]}),
            "label nan": ("y_true", {"y_true": wrong(labels, np.nan)}),
            "nan prediction": ("y_pred", {"y_pred": wrong(forecasts, np.nan)}),
            "weight shape": ("sample_weight", {"weight": np.ones(3)}),
            "negative weight": ("sample_weight", {"weight": wrong(np.ones(4), -1)}),
            "nan weight": ("sample_weight", {"weight": wrong(np.ones(4), np.nan)}),
        }[bad]
        given = {"y_true": labels, "y_pred": forecasts, "weight": None} | change
        return tuple(given.values()), word
