"""Videos by the hashes of their frames: shares and pairs as comparing all with all gives them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.filters.duplicates.perceptual.test_hamming import changed
from tests.property_sizes import scaled
from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.perceptual.frames import FrameLists, distinct_frames, match_shares, shared_frames
from winnow.filters.duplicates.perceptual.hamming_partitions import partition_count, send_to_partitions

Hashes = NDArray[np.uint64]
Pair = tuple[int, int]


def apart(one: Hashes, other: Hashes) -> int:
    return sum(int(a ^ b).bit_count() for a, b in zip(one.tolist(), other.tolist(), strict=True))


def matched(one: Hashes, other: Hashes, radius: int) -> float:
    """The share of a video's frames that another has: vPDQ's definition, word by word."""
    return sum(any(apart(frame, there) <= radius for there in other) for frame in one) / max(len(one), 1)


def videos_of(seed: int, count: int) -> list[Hashes]:
    """Videos that have whole runs of frames of one another, changed in some bits."""
    random = np.random.default_rng(seed)
    frames = random.integers(0, 2**64, (count + 4, 4), dtype=np.uint64)
    videos = []
    for _ in range(count):
        start, length = random.integers(0, len(frames)), random.integers(1, 7)
        videos.append(changed(frames[start : start + length], int(random.integers(0, 36)), random))
    return videos


def lists_of(videos: list[Hashes]) -> FrameLists:
    return FrameLists.of([video.astype("<u8").tobytes() for video in videos])


def found_pairs(videos: list[Hashes], split: int, radius: int, most: int) -> set[Pair]:
    """What all partitions together find."""
    hashes = np.concatenate(videos)
    owners = np.repeat(np.arange(len(videos)), [len(video) for video in videos])
    positions, partitions = (np.concatenate(ends) for ends in zip(*send_to_partitions(hashes, split), strict=True))
    pairs: set[Pair] = set()
    for partition in range(partition_count(split)):
        held = positions[partitions == partition]
        found = shared_frames(hashes[held], owners[held], partition, split, radius, most)
        pairs |= set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    return pairs


@settings(max_examples=scaled(20), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 31), st.integers(1, 25), st.integers(0, 2))
def test_partitions_find_every_pair_of_videos_with_a_frame_in_common(
    seed: int, radius: int, count: int, split: int
) -> None:
    videos = videos_of(seed, count)
    every = list(combinations(range(len(videos)), 2))
    assert found_pairs(videos, split, radius, most=32) == {
        (one, other) for one, other in every if matched(videos[one], videos[other], radius)
    }


@settings(max_examples=scaled(20), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_shares_are_those_of_the_definition(seed: int, radius: int) -> None:
    videos = videos_of(seed, 6)
    lists = lists_of(videos)
    first, second = (np.array(ends) for ends in zip(*[(a, b) for a in range(6) for b in range(6)], strict=True))
    own, theirs = match_shares(lists, lists, (first, second), radius)
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        assert own[number] == matched(videos[one], videos[other], radius)
        assert theirs[number] == matched(videos[other], videos[one], radius)


def test_a_frame_that_stands_still_counts_once() -> None:
    random = np.random.default_rng(1)
    title, scene = random.integers(0, 2**64, (2, 4), dtype=np.uint64)
    noisy = np.concatenate([changed(title[None].repeat(20, 0), 4, random), scene[None]])
    assert distinct_frames(noisy, 8).tolist() == [0, 20]
    assert distinct_frames(noisy[:0], 8).tolist() == []
    assert len(distinct_frames(np.concatenate([title[None], title[None]]), 0)) == 1


def test_a_frame_of_thousands_of_videos_costs_some_pairs_each_and_joins_copies_all_the_same() -> None:
    random = np.random.default_rng(2)
    title = random.integers(0, 2**64, (1, 4), dtype=np.uint64)
    equal = [title] * 3000
    close = [changed(title, 12, random) for _ in range(1000)]
    for videos in (equal, close):
        pairs = found_pairs(videos, 0, 31, most=8)
        assert len(pairs) <= 16 * 8 * len(videos)
        ends = np.array(sorted(pairs), np.uint64)
        vertices, roots = components(ends[:, 0], ends[:, 1])
        assert len(vertices) == len(videos)
        assert set(roots.tolist()) == {0}


def test_frames_that_many_videos_have_are_counted() -> None:
    random = np.random.default_rng(3)
    hashes = random.integers(0, 2**64, (3, 4), dtype=np.uint64)
    lines = np.concatenate([hashes[[0]].repeat(5, 0), hashes[[1]].repeat(2, 0), hashes[[2]]])
    found = shared_frames(lines, np.arange(8), 0, 0, 31, most=3)
    assert (found.frames, found.hot_frames, found.hot_videos) == (2, 1, 5)
    assert shared_frames(lines, np.arange(8), 1, 0, 31, most=3).frames == 0  # counted in one partition alone


@pytest.mark.large
def test_two_thousand_videos_against_all_with_all() -> None:
    videos = videos_of(5, 2500)
    every = list(combinations(range(len(videos)), 2))
    lists = lists_of(videos)
    first, second = (np.array(ends) for ends in zip(*every, strict=True))
    own, _ = match_shares(lists, lists, (first, second), 31)
    assert found_pairs(videos, 2, 31, most=32) == {pair for pair, share in zip(every, own, strict=True) if share}
