"""What a signature binds: the bytes of a file but for the ranges that it leaves out, in whatever order they stand."""

import hashlib

import pytest

from winnow.filters.image.metadata.signing import _binds

FILE = bytes(range(100))


def bound(*ranges: tuple[int, int]) -> dict[str, object]:
    """A binding of the file without its bytes 10 to 20 and 40 to 70."""
    left = FILE[:10] + FILE[20:40] + FILE[70:]
    exclusions = [{"start": start, "length": length} for start, length in ranges]
    return {"alg": "sha256", "hash": hashlib.sha256(left).digest(), "exclusions": exclusions}


@pytest.mark.parametrize(
    "ranges",
    [
        [(10, 10), (40, 30)],
        [(40, 30), (10, 10)],
        [(50, 20), (10, 10), (40, 15)],
        [(40, 30), (45, 5), (10, 10), (10, 3)],
    ],
)
def test_ranges_count_in_the_order_of_the_file(ranges: list[tuple[int, int]]) -> None:
    assert _binds(bound(*ranges), None, FILE) is True


@pytest.mark.parametrize("ranges", [[(10, 10)], [(10, 11), (40, 30)], []])
def test_other_ranges_are_other_bytes(ranges: list[tuple[int, int]]) -> None:
    assert _binds(bound(*ranges), None, FILE) is False


@pytest.mark.parametrize(
    "change",
    [
        {"alg": "md5"},
        {"hash": "text"},
        {"exclusions": {"start": 1}},
        {"exclusions": [[1, 2]]},
        {"exclusions": [{"start": -1, "length": 2}]},
        {"exclusions": [{"start": 1, "length": -2}]},
        {"exclusions": [{"start": "1", "length": 2}]},
        {"exclusions": [{"start": 1}]},
        {"exclusions": [{"start": 0, "length": 1}] * 1025},
    ],
)
def test_what_cannot_be_read_is_unknown(change: dict[str, object]) -> None:
    assert _binds(bound((10, 10), (40, 30)) | change, None, FILE) is None
    assert _binds(None, None, FILE) is None


def test_the_claims_algorithm_is_used_where_the_binding_names_none() -> None:
    value = bound((10, 10), (40, 30)) | {"alg": None}
    assert _binds(value, "sha256", FILE) is True
    assert _binds(value, "sha512", FILE) is False
