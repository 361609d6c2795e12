"""vPDQ: compares videos by the PDQ hashes of their frames, four per second: the share of one's frames in the other.

Facebook's vPDQ (in ThreatExchange) counts how many hashes of a video have one of another video within a radius of 31
bits, and vice versa. Hashes of low quality are ignored, and so are frames similar to an earlier one of their video: a
title shown for a minute is one frame, so it is not most of a video and connects no unrelated ones.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.perceptual.hamming import bits_apart
from winnow.filters.duplicates.perceptual.hamming_partitions import belongs, partition_pairs
from winnow.schemas.kernels import kernel

ALL_VIDEOS: Final = 32
"""Up to so many videos with one frame are compared each with each; of more, each with so many others at least."""

_AT_ONCE: Final = 1 << 20  # pairs: 16 MiB

Hashes = NDArray[np.uint64]  # four words each
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FrameLists:
    """The hashes of some videos, one video after another."""

    starts: Positions  # of each video's hashes, and the end of the last
    hashes: Hashes

    @property
    def sizes(self) -> Positions:
        """The number of hashes of each video."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, values: list[bytes]) -> "FrameLists":
        """The lists of these values, which are concatenated hashes of 32 bytes."""
        sizes = np.fromiter((len(value) // 32 for value in values), np.int64, len(values))
        hashes = np.frombuffer(b"".join(values), "<u8").reshape(-1, 4).astype(np.uint64)
        return cls(np.append(0, np.cumsum(sizes)), hashes)


@dataclass(frozen=True, slots=True)
class SharedFrames:
    """Pairs of videos with a common frame, each once, the lesser first; and statistics of common frames."""

    first: Positions
    second: Positions
    frames: int  # hashes that at least two videos have
    hot_frames: int  # of these, those of too many videos to compare all pairs
    hot_videos: int  # videos with one, counted once per frame


def distinct_frames(hashes: Hashes, radius: int) -> Positions:
    """The frames of one video that differ by more than `radius` bits from all earlier ones that are kept."""
    return np.flatnonzero(_distinct(np.ascontiguousarray(hashes, np.uint64).reshape(-1, 4), radius))


def match_shares(
    first: FrameLists, second: FrameLists, pairs: tuple[Positions, Positions], radius: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each pair of videos, the share of the first one's frames in the second, and vice versa."""
    shares = np.zeros((2, len(pairs[0])))
    longest = int(np.max(np.diff(second.starts), initial=0))
    _match(
        first.starts, first.hashes, second.starts, second.hashes, *pairs, radius, np.empty(longest, np.bool_), shares
    )
    return shares[0], shares[1]


def shared_frames(
    hashes: Hashes, videos: Positions, partition: int, split: int, radius: int, most: int = ALL_VIDEOS
) -> SharedFrames:
    """The pairs of videos found by a partition of hashes (`winnow.filters.duplicates.perceptual.hamming_partitions`).

    All partitions together give every pair with a common frame, except for frames that more than `most` videos have,
    exactly or nearly: for such a frame a video is paired with at least `most` of the others.

    Args:
        hashes: The hashes sent to the partition.
        videos: The video of each, numbered independently of shards and workers.
        partition: The partition's number.
        split: The number of bits by which bands are split.
        radius: The most bits in which equal frames differ.
        most: Up to this many videos are all compared with each other.
    """
    order = np.lexsort((videos, *hashes.T[::-1]))
    hashes, videos = hashes[order], videos[order]
    fresh = np.ones(len(videos), np.bool_)
    fresh[1:] = (hashes[1:] != hashes[:-1]).any(axis=1)
    bounds = np.append(np.flatnonzero(fresh), len(videos))
    distinct = hashes[bounds[:-1]]
    found = [np.zeros((2, 0), np.int64)]
    here = np.flatnonzero(belongs(distinct, partition, split)) if partition >> split == 0 else np.zeros(0, np.int64)
    sizes = np.diff(bounds)[here]
    found.append(_within(bounds, here, videos, most))
    counts = np.zeros(len(videos), np.int64)
    room = np.empty((2, _AT_ONCE + most * most), np.int64)
    for joined in partition_pairs(distinct, partition, split, radius):
        at = 0
        while at < len(joined.first):
            count, at = _between(joined.first, joined.second, at, bounds, videos, counts, most, room)
            found.append(_each_once(room[:, :count]))
    pairs = _each_once(np.concatenate(found, axis=1))
    shared, hot = sizes[sizes > 1], sizes[sizes > most]
    return SharedFrames(pairs[0], pairs[1], len(shared), len(hot), int(hot.sum()))


def _each_once(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    low, high = np.minimum(*pairs), np.maximum(*pairs)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    fresh = np.ones(len(low), np.bool_)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return np.stack([low[fresh], high[fresh]])


def _within(bounds: Positions, runs: Positions, videos: Positions, most: int) -> NDArray[np.int64]:
    """Pairs of videos with equal hashes, in these runs: each with the `most` that follow it."""
    others = bounds[runs + 1] - bounds[runs] - 1  # of the first of each run
    seen = np.minimum(others, most)
    found = np.empty((2, int((seen * (seen + 1) // 2 + (others - seen) * seen).sum())), np.int64)
    _fill_within(bounds, runs, videos, most, found)
    return found


@kernel
def _fill_within(bounds, runs, videos, most, found):  # type: ignore[no-untyped-def]
    count = 0
    for run in runs:
        end = bounds[run + 1]
        for at in range(bounds[run], end):
            for other in range(at + 1, min(at + 1 + most, end)):
                found[0, count], found[1, count] = videos[at], videos[other]
                count += 1


@kernel
def _between(first, second, at, bounds, videos, counts, most, room):  # type: ignore[no-untyped-def]
    """Pairs of videos with one or the other of two close hashes, until the room is full; returns where to go on.

    A pair is kept if one of its two has fewer than `most` so far. So of a hundred copies of a video the first are
    paired with all, and connect them, and the number of pairs grows with the videos, not with their square.
    """
    count = 0
    while at < len(first) and count + most * most <= room.shape[1]:
        one, other = bounds[first[at]], bounds[second[at]]
        one_end, other_end = bounds[first[at] + 1], bounds[second[at] + 1]
        for left in range(one, min(one_end, one + most)):
            for right in range(other, min(other_end, other + most)):
                if videos[left] == videos[right] or (counts[left] >= most and counts[right] >= most):
                    continue
                counts[left] += 1
                counts[right] += 1
                room[0, count], room[1, count] = videos[left], videos[right]
                count += 1
        at += 1
    return count, at


@kernel
def _distinct(hashes, radius):  # type: ignore[no-untyped-def]
    kept = np.zeros(len(hashes), np.bool_)
    for at in range(len(hashes)):
        alike = False
        for earlier in range(at):
            if kept[earlier] and bits_apart(hashes[at], hashes[earlier], radius) <= radius:
                alike = True
                break
        kept[at] = not alike
    return kept


@kernel
def _match(  # type: ignore[no-untyped-def]
    starts, hashes, other_starts, other_hashes, first, second, radius, matched, shares
):
    for pair in range(len(first)):
        begin, end = starts[first[pair]], starts[first[pair] + 1]
        other, other_end = other_starts[second[pair]], other_starts[second[pair] + 1]
        matched[: other_end - other] = False
        own = theirs = 0
        for at in range(begin, end):
            found = False
            for there in range(other, other_end):
                if found and matched[there - other]:
                    continue
                if bits_apart(hashes[at], other_hashes[there], radius) <= radius:
                    found = True
                    if not matched[there - other]:
                        matched[there - other] = True
                        theirs += 1
            own += found
        shares[0, pair] = own / max(end - begin, 1)
        shares[1, pair] = theirs / max(other_end - other, 1)
