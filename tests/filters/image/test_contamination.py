"""Pictures of an evaluation set are found by the nearest listed hash, as brute force finds it."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from winnow.filters.duplicates.hamming_index import HammingIndex
from winnow.filters.image.contamination import HASH, QUALITY, ListConfig, matches, parse_hashes
from winnow.filters.operators import find_operator
from winnow.schemas.errors import RecipeError

GOLDEN = Path(__file__).parent / "golden" / "contamination.json"


def flipped(hashes: NDArray[np.uint64], bits: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Each hash with so many of its bits flipped."""
    drawn, found = np.random.default_rng(seed), hashes.copy()
    for row, count in enumerate(bits.tolist()):
        for bit in drawn.choice(256, count, replace=False).tolist():
            found[row, bit >> 6] ^= np.uint64(1) << np.uint64(bit & 63)
    return found


@pytest.mark.parametrize("radius", [0, 8, 31])
def test_the_nearest_hash_is_that_of_all_pairs(radius: int) -> None:
    drawn = np.random.default_rng(radius)
    listed = drawn.integers(0, 1 << 63, (300, 4), dtype=np.uint64)
    listed[50:100] = listed[:50]  # of equal ones the first counts
    listed[100:150] = flipped(listed[:50], np.full(50, 5), 1)
    wanted = np.concatenate([flipped(listed, drawn.integers(0, 40, 300), 2), listed[:50]])
    apart = np.bitwise_count(wanted[:, None] ^ listed[None]).sum(2).astype(np.int64)
    nearest = apart.argmin(1)
    distance = apart.min(1)
    found, bits = HammingIndex.of(listed).nearest(wanted, radius)
    assert np.array_equal(found, np.where(distance <= radius, nearest, -1))
    assert np.array_equal(bits, np.where(distance <= radius, distance, -1))
    assert radius < 31 or (distance > radius).any()


def test_an_empty_list_and_no_pictures_match_nothing() -> None:
    none = np.zeros((0, 4), np.uint64)
    assert HammingIndex.of(none).nearest(np.ones((2, 4), np.uint64), 31)[0].tolist() == [-1, -1]
    assert HammingIndex.of(np.ones((2, 4), np.uint64)).nearest(none, 31)[0].tolist() == []


def test_each_item_has_its_nearest_listed_picture() -> None:
    listed = parse_hashes(f"# from a benchmark\n{'00' * 32},zero, or nothing\n\n{'ff' * 32}\n".encode(), "eval.txt")
    zero, near, far, full = bytes(32), bytes(31) + b"\x07", bytes(16) + b"\x55" * 16, b"\xff" * 32
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([[zero, far], None, [], [near, None, full], [zero]], pa.list_(pa.binary(32))),
            pa.array([[90, 90], None, [], [50, None, 90], [49]], pa.list_(pa.int16())),
        ],
        [HASH, QUALITY],
    )
    found = matches(batch, listed, ListConfig(list="eval.txt"))
    operator = find_operator("image.contamination")
    golden = {"operator": operator.name, "version": operator.version, "rows": found.to_pylist()}
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert golden == json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert found.to_pydict() == {
        "distance": [[0, None], None, [], [3, None, 0], [None]],
        "matched": [
            ["zero, or nothing", None],
            None,
            [],
            ["zero, or nothing", None, "ff" * 32],
            [None],
        ],
    }
    assert matches(batch.slice(3, 1), listed, ListConfig("eval.txt", radius=2))["distance"].to_pylist() == [
        [None, None, 0]
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no hash; write one with: winnow pdq FOLDER --output eval.txt"),
        (b"# only this\n", "has no hash"),
        (b"00" * 32 + b"\n00ff,short\n", "eval.txt:2: expected 64 hexadecimal digits"),
        (b"\xff\xfe\x00", "eval.txt:1: expected 64 hexadecimal digits"),
        (b"zz" * 32, "eval.txt:1: expected 64 hexadecimal digits"),
    ],
)
def test_a_list_that_is_none_is_refused_with_the_line(content: bytes, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        parse_hashes(content, "eval.txt")
