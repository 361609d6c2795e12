"""PDQ hashes of a video's frames, four per second, for finding near-duplicate videos (vPDQ).

Frames are chosen by the video's own time, so a copy with another frame rate has the same hashes.
"""

from dataclasses import dataclass

import pyarrow as pa

from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal

HASHES = Signal("hashes")

WRITES = pa.schema(
    [
        pa.field("hash", pa.list_(pa.binary(32))),  # of each frame
        pa.field("quality", pa.list_(pa.int16())),  # of its hash, from 0 to 100; below 50 it means little
        pa.field("seconds", pa.list_(pa.float64())),  # when each is shown, since the first frame
    ]
)


@dataclass(frozen=True, slots=True)
class VpdqConfig:
    """No options: hashes of two videos are comparable only if they were made alike."""


class FrameHashes:
    """Collects the hashes of one video."""

    def __init__(self) -> None:
        self._seen: list[pa.RecordBatch] = []

    def see(self, _: Signal, batch: pa.RecordBatch) -> None:
        """Add hashes."""
        self._seen.append(batch)

    def end(self, _: VideoFacts) -> pa.RecordBatch:
        """The layer's row."""
        lists = []
        for field in WRITES:
            values = pa.concat_arrays(
                [pa.array([], field.type.value_type), *(batch[field.name] for batch in self._seen)]
            )
            lists.append(pa.ListArray.from_arrays([0, len(values)], values).cast(field.type))
        return pa.RecordBatch.from_arrays(lists, schema=WRITES)


OPERATOR = VideoOperator(
    name="video.vpdq",
    version=2,
    summary="PDQ hashes of four frames of each second of a video, and their quality, for near-duplicates",
    config=VpdqConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset({HASHES}),
    load=lambda _config, _assets: FrameHashes,
)
