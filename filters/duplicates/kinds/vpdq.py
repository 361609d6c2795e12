"""Videos that share most of their frames: every pair with a frame in common is compared frame by frame.

Each hash is sent to the partitions of its bands with its video's node and id, as for pictures (`pdq`); a video of ten
seconds sends 9 kB if bands are not split.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import VIDEOS, DuplicateKind, Measure, Signature
from winnow.filters.duplicates.kinds.pdq import HASH_BYTES, hash_blocks, hash_words, split_of
from winnow.filters.duplicates.perceptual.frames import (
    ALL_VIDEOS,
    FrameLists,
    distinct_frames,
    match_shares,
    shared_frames,
)
from winnow.filters.duplicates.perceptual.hamming_partitions import send_to_partitions
from winnow.filters.duplicates.searches import CandidatePairs, Chains, JudgedPairs, PieceSearch, Positions, SentPieces
from winnow.filters.duplicates.stars import Compare, MemberSimilarities
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import LOW_QUALITY, NOT_MEASURED, OK

MOST_VERIFIED: Final = 1_000
"""The most different videos of a cluster each of which is compared with each; chains of more are not cut."""


@dataclass(frozen=True)
class VpdqConfig:
    """Videos that share most of their frames: copies in other containers, sizes and qualities, trimmed, or excerpts."""

    radius: Annotated[int, Between(0, 31)] = 31  # the most differing bits of equal frames; vPDQ's threshold
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
    """The hashes of each video's frames, except flat frames and those similar to earlier ones."""
    hashes, quality = leaves
    statuses: list[str] = []
    values: list[bytes | None] = []
    for frames, good in zip(hashes, quality, strict=True):  # one video each: microseconds, and more for films
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


def _cut(values: pa.Array, blocks: int) -> Iterator[SentPieces]:
    """Send the hash of each frame to the partitions of its bands."""
    held = values.to_pylist()
    of = np.repeat(np.arange(len(held)), [len(value) // HASH_BYTES for value in held])
    raw = pa.py_buffer(b"".join(held))
    hashes = pa.FixedSizeBinaryArray.from_buffers(pa.binary(HASH_BYTES), len(of), [None, raw])
    for positions, partitions in send_to_partitions(hash_words(hashes), split_of(blocks)):
        yield SentPieces(of[positions], hashes.take(pa.array(positions)), partitions)


def _pair(config: VpdqConfig, pieces: pa.Array, of: Positions, block: int, blocks: int) -> CandidatePairs:
    found = shared_frames(hash_words(pieces), of, block, split_of(blocks), config.radius)
    counted = {"buckets": found.frames, "hot_buckets": found.hot_frames, "hot_rows": found.hot_videos}
    return CandidatePairs(found.first, found.second, counted)


def are_copies(
    shares: tuple[NDArray[np.float64], NDArray[np.float64]], sizes: tuple[Positions, Positions], config: VpdqConfig
) -> NDArray[np.bool_]:
    """For each pair of videos, whether one is a copy or an excerpt of the other.

    Args:
        shares: The shares of the first one's frames in the second, and vice versa.
        sizes: The number of frames of each.
        config: The least shares.
    """
    found = np.zeros(len(shares[0]), np.bool_)
    for (own, other), size in zip((shares, shares[::-1]), sizes, strict=True):
        both_ways = other >= config.min_share
        within = (own >= config.min_share) & (other >= config.min_other_share)
        found |= within & (both_ways | (size >= config.min_frames))
    return found


def _judge(config: VpdqConfig, one: pa.Array, other: pa.Array, pairs: tuple[Positions, Positions]) -> JudgedPairs:
    first, second = (FrameLists.of(values.to_pylist()) for values in (one, other))
    return _judged(config, first, second, pairs)


def _judged(
    config: VpdqConfig, first: FrameLists, second: FrameLists, pairs: tuple[Positions, Positions]
) -> JudgedPairs:
    shares = match_shares(first, second, pairs, config.radius)
    return JudgedPairs(*shares, are_copies(shares, (first.sizes[pairs[0]], second.sizes[pairs[1]]), config))


def _compare(config: VpdqConfig, values: pa.Array) -> Compare:
    videos = FrameLists.of(values.to_pylist())

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        found = _judged(config, videos, videos, (np.repeat(some, len(others)), np.tile(others, len(some))))
        shape = (len(some), len(others))
        return MemberSimilarities(found.there.reshape(shape), found.back.reshape(shape), found.enough.reshape(shape))

    return compare


def _said(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    share = columns["own_share"]
    return share, pc.if_else(share.is_valid(), "frames", pa.scalar(None, pa.string()))


def _remarks(_: Any, counted: Mapping[str, int]) -> tuple[str, ...]:
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
    search=PieceSearch(hash_blocks, _cut, _pair, _judge, Chains(MOST_VERIFIED, _compare)),
    distinct="videos",
    members="copies",
    measures=(
        Measure("own_share", pa.float64(), lambda found: found.similarity),  # of its frames, those in the matched video
        Measure("other_share", pa.float64(), lambda found: found.back),  # of the matched one's frames, those in it
    ),
    said=_said,
    listed=70,
    chosen=70,
    split=70,
    sent_in_pieces=True,
    remarks=_remarks,
)
