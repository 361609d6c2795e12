"""The sketch depends on the set of values alone and is as near to its size as the theory says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.schemas.statistics.distinct import REGISTERS, RELATIVE_ERROR, Distinct


def sketch(values: list[bytes]) -> Distinct:
    found = Distinct()
    found.add(values)
    return found


@given(st.lists(st.binary(max_size=6)), st.lists(st.binary(max_size=6)))
def test_a_union_is_the_sketch_of_all_values(one: list[bytes], two: list[bytes]) -> None:
    union = sketch(one)
    union.absorb(sketch(two))
    assert union.to_json() == sketch(sorted({*one, *two})).to_json()


@pytest.mark.parametrize("size", [0, 1, 10, 1000, 4096, 10_000, 20_000, 60_000])
def test_the_estimate_is_within_three_standard_deviations(size: int) -> None:
    urls = [f"https://www.example.org/articles/{number}.html".encode() for number in range(size)]
    assert abs(sketch(urls).estimate() - size) <= 3 * RELATIVE_ERROR * size


def test_the_estimate_has_no_bias() -> None:
    """Twenty sets of 12 000 values: the mean error is far below that of a single sketch."""
    estimates = [sketch([f"{run}/{number}".encode() for number in range(12_000)]).estimate() for run in range(20)]
    assert abs(sum(estimates) / 20 / 12_000 - 1) <= 3 * RELATIVE_ERROR / 20**0.5


def test_large_sets_by_their_hashes() -> None:
    hashes = np.random.default_rng(5).integers(0, 2**64, 2_000_000, np.uint64, endpoint=False)
    found = Distinct()
    found.add_hashes(hashes)
    assert abs(found.estimate() / 2_000_000 - 1) <= 3 * RELATIVE_ERROR


def test_the_rank_is_the_place_of_the_first_one() -> None:
    found = Distinct()
    found.add_hashes(np.array([1 << 51, (7 << 52) | 1, 9 << 52], np.uint64))
    assert {index: int(found.registers[index]) for index in (0, 7, 9)} == {0: 1, 7: 52, 9: 53}


@pytest.mark.parametrize("size", [0, 3, 800, 820, 5000])
def test_few_and_many_registers_are_read_as_written(size: int) -> None:
    written = sketch([str(number).encode() for number in range(size)]).to_json()
    assert Distinct.from_json(written).to_json() == written


@pytest.mark.parametrize("written", ["", "sparse:0", "sparse:fffff", "dense:AAAA", "dense:!", "sparse:zzz01"])
def test_what_is_no_sketch_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Distinct.from_json(written)


def test_full_registers_do_not_overflow() -> None:
    assert Distinct(np.full(REGISTERS, 53, np.uint8)).estimate() >= 1 << 64
