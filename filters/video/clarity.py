"""Sharpness, contrast, entropy and exposure of a video's keyframes, each measured as `image.quality` does."""

from dataclasses import dataclass
from typing import Annotated, Final

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.image.quality import WRITES as QUALITY
from winnow.filters.image.quality import QualityConfig, quality
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.schemas.recipe.checks import Between

_WORST: Final = {"sharpness": "min", "contrast": "min", "entropy": "min", "dark": "max", "bright": "max"}

WRITES: Final = pa.schema(
    [
        pa.field("keyframes", pa.int32()),  # the measured ones
        *(pa.field(form.name, pa.float64()) for form in QUALITY),  # means
        *(pa.field(f"worst_{name}", pa.float64()) for name in _WORST),  # the lowest; of dark and bright the highest
        pa.field("seconds", pa.list_(pa.float64())),  # of each keyframe
        pa.field("sharpness_by_keyframe", pa.list_(pa.float64())),
    ]
)


@dataclass(frozen=True, slots=True)
class ClarityConfig:
    """The size at which keyframes are measured."""

    side: Annotated[int, Between(64, 4096)] = 640
    """Their longer side is shrunk to this, so that videos of any size compare; ours."""


class ClarityWatcher:
    """Keeps a few numbers for each keyframe."""

    def __init__(self) -> None:
        self._found: list[pa.RecordBatch] = []
        self._seconds: list[float] = []

    def see(self, _signal: Signal, batch: pa.RecordBatch) -> None:
        """Measure the next keyframes."""
        self._found.append(quality(batch, QualityConfig()))
        self._seconds += batch.column("seconds").to_pylist()

    def end(self, _facts: VideoFacts) -> pa.RecordBatch:
        """Their means, their worst values, and the sharpness of each."""
        found = pa.Table.from_batches(self._found, schema=QUALITY)
        row: dict[str, object] = {"keyframes": found.num_rows}
        row |= {name: pc.mean(found[name]).as_py() for name in QUALITY.names}
        row |= {f"worst_{name}": getattr(pc, worst)(found[name]).as_py() for name, worst in _WORST.items()}
        row |= {"seconds": self._seconds, "sharpness_by_keyframe": found["sharpness"].to_pylist()}
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


OPERATOR = VideoOperator(
    name="video.clarity",
    version=1,
    summary="sharpness, contrast, entropy and exposure of each video's keyframes",
    config=ClarityConfig,
    writes=lambda _: WRITES,
    wants=lambda config: frozenset({Signal("stills", side=config.side)}),
    load=lambda _config, _assets: ClarityWatcher,
)
