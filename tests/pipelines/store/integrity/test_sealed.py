"""A record is read as it was put, or not at all."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.integrity.sealed import find_record, parse_record, put_record, read_record, sealed
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StoreError


@dataclass(frozen=True)
class Harbour:
    name: str
    berths: int
    depths: tuple[float, ...] = ()


PATH = "commits/text.gopher/k/shard.json"
BREST = Harbour("Brest — été", 12, (9.5, 1e-9))
HERE = MemoryStore("here")


def test_a_record_is_read_as_it_was_put() -> None:
    objects = MemoryStore("sealed-round-trip")
    put_record(objects, PATH, BREST)
    assert read_record(objects, Harbour, PATH) == BREST
    assert sealed("", PATH, BREST) == objects.read(PATH)


@given(st.data())
def test_any_other_byte_is_noticed(data: st.DataObject) -> None:
    raw = bytearray(sealed("", PATH, BREST))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedError, match=f"^memory://here: {PATH} is damaged: "):
        parse_record(Harbour, HERE, PATH, bytes(raw))


@given(st.integers(0, len(sealed("", PATH, BREST)) - 1))
def test_a_shorter_record_is_noticed(size: int) -> None:
    with pytest.raises(DamagedError):
        parse_record(Harbour, HERE, PATH, sealed("", PATH, BREST)[:size])


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"name":"x","berths":1}', b'{"checksum":3}', b"[" * 800 + b"]" * 800])
def test_what_never_was_a_record_is_noticed(raw: bytes) -> None:
    with pytest.raises(DamagedError):
        parse_record(Harbour, HERE, PATH, raw)


def test_a_record_that_is_nested_deeper_than_can_be_written_is_noticed() -> None:
    with pytest.raises(DamagedError):
        parse_record(Harbour, HERE, PATH, b'{"checksum":"0","name":' + b"[" * 900 + b"]" * 900 + b"}")


def test_a_record_under_another_path_is_noticed() -> None:
    with pytest.raises(DamagedError, match="run 'winnow dedupe RECIPE'"):
        parse_record(Harbour, HERE, "commits/dedupe.near/k/shard.json", sealed("", PATH, BREST))


def test_a_record_of_another_store_is_noticed_under_every_path_but_that_which_says_which_store_it_is() -> None:
    one, other = HERE.owned_by("one"), HERE.owned_by("other")
    put_record(one, PATH, BREST)
    assert read_record(one, Harbour, PATH) == BREST
    for objects in (other, HERE):
        with assert_refused(DamagedError, "shard.json", "store.json"):
            read_record(objects, Harbour, PATH)
    put_record(one, "store.json", BREST)
    assert read_record(other, Harbour, "store.json") == BREST


def test_a_missing_record_is_none_or_one_line_with_what_makes_it_again() -> None:
    objects = MemoryStore("sealed-missing")
    assert find_record(objects, Harbour, PATH) is None
    with assert_refused(MissingError, f"memory://sealed-missing: {PATH}", "'winnow annotate RECIPE'"):
        read_record(objects, Harbour, PATH)


def test_a_whole_record_of_another_version_is_not_called_damaged() -> None:
    objects = MemoryStore("sealed-version")
    put_record(objects, PATH, BREST)
    with assert_refused(StoreError, PATH, "Quay") as caught:
        read_record(objects, Quay, PATH)
    assert not isinstance(caught.value, DamagedError)


@dataclass(frozen=True)
class Quay:
    name: str
