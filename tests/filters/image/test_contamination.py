"""Pictures of an evaluation set are found by the nearest listed hash, as brute force finds it."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.messages import assert_refused
from winnow.filters.duplicates.perceptual.hamming_index import HammingIndex
from winnow.filters.duplicates.vectors.cosines import rounded
from winnow.filters.duplicates.vectors.listed_vectors import nearest_listed, parse_vector_list, vector_list_bytes
from winnow.filters.image.contamination import HASH, QUALITY, ListConfig, matches, near_vectors, parse_hashes
from winnow.filters.models.tensors import tensors_bytes
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
        "status": ["ok", "no_input", "ok", "ok", "ok"],
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
        (b"", "winnow pdq … FOLDER … --output"),
        (b"# only this\n", "has no hash"),
        (b"00" * 32 + b"\n00ff,short\n", "eval.txt:2: expected 64 hexadecimal digits"),
        (b"\xff\xfe\x00", "eval.txt:1: expected 64 hexadecimal digits"),
        (b"zz" * 32, "eval.txt:1: expected 64 hexadecimal digits"),
    ],
)
def test_a_list_that_is_none_is_refused_with_the_line(content: bytes, said: str) -> None:
    with assert_refused(RecipeError, said):
        parse_hashes(content, "eval.txt")


def test_the_nearest_listed_vector_is_that_of_all_pairs_whatever_is_beside_it() -> None:
    drawn = np.random.default_rng(3)
    listed = drawn.standard_normal((5_000, 24)).astype(np.float32)
    listed[4_000:4_100] = listed[:100]  # of equal ones the first counts
    wanted = np.concatenate(
        [listed[:1_200] + 0.1 * drawn.standard_normal((1_200, 24)), drawn.standard_normal((300, 24))]
    )
    wanted = wanted.astype(np.float32)
    wanted[7] = 0
    names = [f"ä{number}" for number in range(len(listed))]
    read = parse_vector_list(vector_list_bytes(rounded(listed)[0], names), "eval.safetensors")
    assert read.names.to_pylist() == names
    near, cosine = nearest_listed(wanted, read, 0.8)
    units = [one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9) for one in (wanted, listed)]
    exact = units[0].astype(np.float64) @ units[1].T
    clear = np.abs(exact.max(axis=1) - 0.8) > 1e-3
    expected = np.where(exact.max(axis=1) >= 0.8, exact.argmax(axis=1), -1)
    assert (near == expected)[clear].all()
    assert (near[:1_200] >= 0).mean() > 0.9
    assert np.abs(cosine - exact.max(axis=1))[near >= 0].max() < 1e-3
    alone = [nearest_listed(wanted[at : at + 1], read, 0.8) for at in range(0, 60)]
    assert [(int(at[0]), float(of[0])) for at, of in alone] == list(
        zip(near[:60].tolist(), cosine[:60].tolist(), strict=True)
    )


def test_each_item_has_its_nearest_listed_vector() -> None:
    listed = parse_vector_list(vector_list_bytes(rounded(np.eye(2, 3, dtype=np.float32))[0], ["one", "two"]), "eval")
    rows = pa.array([[[1, 0.1, 0], None], None, [], [[0, 0, 1], [0, 0.2, 0]]], pa.list_(pa.list_(pa.float32())))
    batch = pa.RecordBatch.from_arrays([rows], ["image.embedding.vector"])
    found = near_vectors(batch, listed, ListConfig("eval", by="embedding"))
    assert found.to_pydict() == {
        "status": ["ok", "no_input", "ok", "ok"],
        "similarity": [[pytest.approx(0.995, abs=1e-3), None], None, [], [None, 1.0]],
        "matched": [["one", None], None, [], [None, "two"]],
    }
    other = parse_vector_list(vector_list_bytes(rounded(np.eye(2, 4, dtype=np.float32))[0], ["one", "two"]), "eval")
    with assert_refused(RecipeError, "eval:", "4 numbers", "image.embedding", "3"):
        near_vectors(batch, other, ListConfig("eval", by="embedding"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a safetensors file"),
        (b"00" * 40, "not a safetensors file"),
        (
            tensors_bytes({"weight": np.ones((1, 3), np.float32)}, {}),
            "winnow vectors … FOLDER … --output",
        ),
        (vector_list_bytes(np.zeros((0, 3), np.int16), []), "do not fit together"),
        (vector_list_bytes(np.zeros((1, 3), np.int16), ["a"]), "vector 0"),
        (vector_list_bytes(np.ones((2, 3), np.int16), ["a"]), "do not fit together"),
    ],
)
def test_a_list_of_vectors_that_is_none_is_refused(content: bytes, said: str) -> None:
    with assert_refused(RecipeError, said) as caught:
        parse_vector_list(content, "eval")
    assert "\n" not in str(caught.value)
