"""Finds videos that share most of their frames: every pair with a frame in common is compared frame by frame.

Each hash goes to the partitions of its bands with its video's node and id, as those of pictures do (`hash_blocks`); so
a video of ten seconds sends 9 kB where bands are not split.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from winnow.filters.duplicates.kinds.vpdq import MOST_VERIFIED, VpdqConfig
from winnow.filters.duplicates.perceptual.frames import FrameLists, are_copies, match_shares, shared_frames
from winnow.filters.duplicates.perceptual.hamming_partitions import send_to_partitions
from winnow.filters.duplicates.perceptual.hash_blocks import HASH_BYTES, hash_blocks, hash_words, split_of
from winnow.filters.duplicates.searches import CandidatePairs, Chains, Judged, Pieces, PieceSearch, Positions
from winnow.filters.duplicates.stars import Compare, Likeness

__all__ = ["SEARCH"]


def _cut(values: pa.Array, blocks: int) -> Iterator[Pieces]:
    """The hash of each frame, to the partitions of its bands."""
    held = values.to_pylist()
    of = np.repeat(np.arange(len(held)), [len(value) // HASH_BYTES for value in held])
    raw = pa.py_buffer(b"".join(held))
    hashes = pa.FixedSizeBinaryArray.from_buffers(pa.binary(HASH_BYTES), len(of), [None, raw])
    for positions, partitions in send_to_partitions(hash_words(hashes), split_of(blocks)):
        yield Pieces(of[positions], hashes.take(pa.array(positions)), partitions)


def _pair(config: VpdqConfig, pieces: pa.Array, of: Positions, block: int, blocks: int) -> CandidatePairs:
    found = shared_frames(hash_words(pieces), of, block, split_of(blocks), config.radius)
    counted = {"buckets": found.frames, "hot_buckets": found.hot_frames, "hot_rows": found.hot_videos}
    return CandidatePairs(found.first, found.second, counted)


def _judge(config: VpdqConfig, one: pa.Array, other: pa.Array, pairs: tuple[Positions, Positions]) -> Judged:
    first, second = (FrameLists.of(values.to_pylist()) for values in (one, other))
    return _judged(config, first, second, pairs)


def _judged(config: VpdqConfig, first: FrameLists, second: FrameLists, pairs: tuple[Positions, Positions]) -> Judged:
    shares = match_shares(first, second, pairs, config.radius)
    return Judged(*shares, are_copies(shares, (first.sizes[pairs[0]], second.sizes[pairs[1]]), config))


def _compare(config: VpdqConfig, values: pa.Array) -> Compare:
    videos, there = FrameLists.of(values.to_pylist()), np.arange(len(values))

    def compare(lines: slice) -> Likeness:
        here = there[lines]
        found = _judged(config, videos, videos, (np.repeat(here, len(there)), np.tile(there, len(here))))
        shape = (len(here), len(there))
        return Likeness(found.there.reshape(shape), found.back.reshape(shape), found.enough.reshape(shape))

    return compare


SEARCH: Final = PieceSearch(hash_blocks, _cut, _pair, _judge, Chains(MOST_VERIFIED, _compare))
