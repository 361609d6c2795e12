"""Videos that share most of their frames: copies in other containers, sizes and qualities, trimmed or cut out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import VIDEOS, DuplicateKind, Measure, Said, Signature
from winnow.filters.duplicates.searches import PieceSearch
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import LOW_QUALITY, NOT_MEASURED, OK

__all__ = ["KIND", "MOST_VERIFIED", "VpdqConfig"]

MOST_VERIFIED: Final = 1_000
"""The most different videos of a cluster each of which is compared with each; chains of more are not cut."""


@dataclass(frozen=True)
class VpdqConfig:
    """Videos that share most of their frames: copies in other containers, sizes and qualities, trimmed or cut out."""

    radius: Annotated[int, Between(0, 31)] = 31  # bits in which a frame of two videos may differ; vPDQ's threshold
    min_quality: Annotated[int, Between(0, 100)] = 50  # of frames; vPDQ's threshold
    min_share: Annotated[float, Between(0.01, 1.0)] = 0.8
    """Of one of two videos' frames, which the other has: python-threatexchange's QUERY_MATCH."""
    min_other_share: Annotated[float, Between(0, 1)] = 0.0  # of the other's frames: its INDEX_MATCH
    min_frames: Annotated[int, Between(1, 1 << 20)] = 3
    """A video with fewer different frames matches only if `min_share` holds both ways."""
    still_radius: Annotated[int, Between(0, 31)] = 10
    """Frames of one video that differ in no more bits than this are one frame, such as those of a title. Our own."""
    max_cluster: Annotated[int, Between(2, 1 << 40)] = MOST_VERIFIED


def _values(config: VpdqConfig, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    """The hashes of each video's frames, one after another, but for flat frames and those like earlier ones."""
    from winnow.filters.duplicates.perceptual.frames import distinct_frames

    hashes, quality = leaves
    statuses: list[str] = []
    values: list[bytes | None] = []
    for frames, good in zip(hashes, quality, strict=True):  # a video each: some microseconds, and more for films
        if not (frames.is_valid and good.is_valid):
            statuses.append(NOT_MEASURED)
            values.append(None)
            continue
        raw = np.frombuffer(b"".join(frames.as_py()), "<u8").reshape(-1, 4).astype(np.uint64)
        clear = raw[good.values.to_numpy(zero_copy_only=False) >= config.min_quality]
        kept = clear[distinct_frames(clear, config.still_radius)]
        statuses.append(OK if len(kept) else LOW_QUALITY)
        values.append(kept.astype("<u8").tobytes() if len(kept) else None)
    return pa.array(statuses, pa.string()), pa.array(values, pa.large_binary())


def _search() -> PieceSearch:
    from winnow.filters.duplicates.perceptual.frame_pairs import SEARCH

    return SEARCH


def _said(columns: Mapping[str, pa.Array]) -> Said:
    share = columns["own_share"]
    return Said(share, pc.if_else(share.is_valid(), "frames", pa.scalar(None, pa.string())))


def _remarks(_: Any, counted: Mapping[str, int]) -> tuple[str, ...]:
    from winnow.filters.duplicates.perceptual.frames import ALL_VIDEOS

    if not counted.get("hot_buckets"):
        return ()
    return (
        f"{counted['hot_buckets']:,} of {counted['buckets']:,} frames that several videos have are in more than "
        f"{ALL_VIDEOS} ({counted['hot_rows']:,} in total); by such a frame, a video is compared with {ALL_VIDEOS} of "
        "the others, and by its other frames with all",
    )


KIND = DuplicateKind(
    name="vpdq",
    version=2,
    summary="videos that share most of their frames",
    unit=VIDEOS,
    settings=VpdqConfig,
    signature=Signature("video.vpdq", ("hash", "quality"), _values),
    search=_search,
    distinct="videos",
    members="copies",
    measures=(
        Measure("own_share", pa.float64(), lambda found: found.similarity),  # of its frames, which the matched one has
        Measure("other_share", pa.float64(), lambda found: found.back),  # of the matched one's frames, which it has
    ),
    said=_said,
    listed=70,
    null_unless_asked=True,
    chosen=70,
    split=70,
    sent_in_pieces=True,
    remarks=_remarks,
)
