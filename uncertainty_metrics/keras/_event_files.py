"""Event files, which TensorBoard reads, written without TensorFlow."""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping

import numpy as np

from uncertainty_metrics import _optional

# The version of the format, which the first event of a file holds.
_VERSION = "brain.Event:2"


class EventFile:
    """A new event file in the folder of a run."""

    def __init__(self, folder: str):
        os.makedirs(folder, exist_ok=True)
        source = f"{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._path = os.path.join(folder, f"events.out.tfevents.{source}.v2")
        self._write(file_version=_VERSION)

    def _write(self, **fields: object) -> None:
        """Appends an event with these fields."""
        events = _optional.require("tensorboard.compat.proto.event_pb2")
        records = _optional.require("tensorboard.summary.writer.record_writer")
        event = events.Event(wall_time=time.time(), **fields)
        with open(self._path, "ab") as file:
            records.RecordWriter(file).write(event.SerializeToString())

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes numbers, each with its tag, as `tf.summary.scalar` does."""
        plugin = _optional.require("tensorboard.plugins.scalar.metadata")
        metadata = plugin.create_summary_metadata("", "")
        self._summary(step, {tag: np.float32(x) for tag, x in values.items()}, metadata)

    def images(self, step: int, images: Mapping[str, np.ndarray]) -> None:
        """Writes images uint8 [n, height, width, 4] with their tag, as
        `tf.summary.image` does.
        """
        plugin = _optional.require("tensorboard.plugins.image.metadata")
        tensors = {}
        for tag, pixels in images.items():
            height, width = (str(size).encode() for size in pixels.shape[1:3])
            pngs = [width, height, *map(_png, pixels)]
            tensors[tag] = np.array(pngs, dtype=object)
        metadata = plugin.create_summary_metadata("", "")
        self._summary(step, tensors, metadata)

    def _summary(
        self, step: int, tensors: Mapping[str, object], metadata: object
    ) -> None:
        """Writes tensors, each with its tag; `metadata` names the plugin for them."""
        summary = _optional.require("tensorboard.compat.proto.summary_pb2").Summary
        make = _optional.require("tensorboard.util.tensor_util").make_tensor_proto
        values = [
            summary.Value(tag=tag, tensor=make(tensor), metadata=metadata)
            for tag, tensor in tensors.items()
        ]
        self._write(step=step, summary=summary(value=values))


def _png(pixels: np.ndarray) -> bytes:
    """Returns the PNG file of an image [height, width, 4]."""
    stream = io.BytesIO()
    _optional.require("matplotlib.image").imsave(stream, pixels, format="png")
    return stream.getvalue()
