"""Tables of verdicts: lookups work in either order of a pair, and merging does not depend on the order of tables."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.filters.duplicates.signatures import Scheme
from winnow.pipelines.dedupe import verdicts
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.dedupe.verdicts import (
    TABLE,
    Verdicts,
    delete_superseded,
    digest_pairs,
    find_verdicts,
    load_verdicts,
    merged,
    packed_pairs,
    put_verdicts,
    verdicts_key,
)
from winnow.pipelines.running.blocks import encode_batch
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.identity import content_name
from winnow.schemas.records import StoreRecord

DIGESTS = st.sampled_from([bytes([one]) * at + bytes(16 - at) for one in (0, 1, 255) for at in (0, 1, 15, 16)])
COUPLES = st.lists(st.tuples(DIGESTS, DIGESTS), max_size=12)


def column(values: list[bytes]) -> pa.FixedSizeBinaryArray:
    return pa.array(values, pa.binary(16))


def table(couples: list[tuple[bytes, bytes]]) -> Verdicts:
    """What is truly so of these pairs: here, how often a byte is in them."""
    pairs = digest_pairs(column([one for one, _ in couples]), column([other for _, other in couples]))
    counts = np.array([(one + other).count(1) for one, other in couples], np.int64)
    return Verdicts.of(pairs, counts, counts * 3)


@given(COUPLES)
def test_a_pair_is_the_same_in_either_order(couples: list[tuple[bytes, bytes]]) -> None:
    one, other = (column(list(side)) for side in ([a for a, _ in couples], [b for _, b in couples]))
    pairs = digest_pairs(one, other)
    assert pairs.tolist() == digest_pairs(other, one).tolist()
    packed = packed_pairs(pairs)
    assert packed.to_pylist() == [min(both) + max(both) for both in couples]


@given(st.lists(COUPLES, min_size=1, max_size=4), COUPLES, st.randoms(use_true_random=False))
def test_only_stored_verdicts_are_found(lists: list, asked: list, drawn) -> None:  # type: ignore[no-untyped-def,type-arg]
    every = merged([table(couples) for couples in lists])
    drawn.shuffle(lists)
    assert merged([table(couples) for couples in lists]).to_batch() == every.to_batch()
    again = Verdicts.from_batch(every.to_batch())
    known = {frozenset(couple) for couples in lists for couple in couples}
    wanted = table(asked)
    found = again.similarities(wanted.pairs)
    expected = {frozenset(couple): (couple[0] + couple[1]).count(1) for couple in asked}
    for pair, similarity in zip(packed_pairs(wanted.pairs).to_pylist(), found.tolist(), strict=True):
        couple = frozenset((pair[:16], pair[16:]))
        if couple in known:
            assert similarity == (1 / 3 if expected[couple] else 0)
        else:
            assert np.isnan(similarity)


@given(COUPLES, COUPLES)
def test_above_the_limit_the_same_verdicts_are_kept_in_any_order(one: list, other: list) -> None:  # type: ignore[type-arg]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verdicts, "MAX_VERDICTS", 3)
        left, right = merged([table(one), table(other)]), merged([table(other), table(one)])
        assert len(left.pairs) <= 3
        assert left.to_batch() == right.to_batch() == table([*one, *other]).to_batch()


def test_a_key_depends_on_shingles_and_not_on_signatures() -> None:
    assert verdicts_key(Scheme("words", 5, 112, 1)) == verdicts_key(Scheme("words", 5, 260, 9))
    assert len({verdicts_key(Scheme(unit, size)) for unit in ("words", "characters") for size in (5, 9)}) == 4
    assert Verdicts.empty().to_batch().schema == TABLE


def make_search(objects: MemoryStore) -> Search:
    """Return a search over two shards, with the verdicts that the store has now."""
    known = find_verdicts(objects, Scheme())
    shards = [CoveredShard(name, "pages", 1, {}, verdicts={"near": known.get(name, ())}) for name in ("one", "two")]
    store = create_or_open(objects, StoreRecord("test", 7, 1024, 1 << 20, 1024, 1 << 20, 1 << 20))
    asked = AskedKind(find_kind("near"), near_settings(NearConfig()))
    return Search(store, put_shards(objects, shards), "scratch", {"near": asked})


def tables(objects: MemoryStore) -> dict[str, bytes]:
    return {info.path: objects.read(info.path) for info in objects.list("verdicts/")}


A, B, C = (bytes([one]) * 16 for one in (2, 1, 3))


def test_a_new_table_includes_the_old_one_and_replaces_it_later() -> None:
    objects = MemoryStore("a table is put")
    first = make_search(objects)
    put_verdicts(first, "near", 0, [table([(A, B)])])
    put_verdicts(first, "near", 0, [table([(A, B)])])  # as a task does that runs twice
    assert not len(load_verdicts(first, "near", 0).pairs)  # a search uses only the tables that existed when it began
    (old,) = tables(objects)
    second = make_search(objects)
    put_verdicts(second, "near", 0, [table([(B, C)])])
    assert len(tables(objects)) == 2
    assert (
        load_verdicts(make_search(objects), "near", 0).to_batch() == table([(A, B), (B, C)]).to_batch()
    )  # as after a stop
    delete_superseded(second)
    assert old not in tables(objects)
    assert load_verdicts(make_search(objects), "near", 0).to_batch() == table([(A, B), (B, C)]).to_batch()
    delete_superseded(make_search(objects))
    assert len(tables(objects)) == 1


def test_tables_of_other_shingles_and_of_removed_shards_are_deleted() -> None:
    objects = MemoryStore("tables are dropped")
    for scheme in (Scheme(), Scheme("characters")):
        for shard in ("one", "gone"):
            objects.put(layout.verdicts_object(verdicts_key(scheme), shard, "0" * 16), b"")
    delete_superseded(make_search(objects))
    assert list(tables(objects)) == [layout.verdicts_object(verdicts_key(Scheme()), "one", "0" * 16)]


def damaged(raw: bytes) -> bytes:
    return raw[:-90] + bytes([raw[-90] ^ 1]) + raw[-89:]


def cut(raw: bytes) -> bytes:
    return raw[:100]


def empty(_: bytes) -> bytes:
    return b""


def foreign(_: bytes) -> bytes:
    return encode_batch(pa.RecordBatch.from_pydict({"pair": ["not a digest"], "common": [1]}))


def impossible(_: bytes) -> bytes:
    return encode_batch(Verdicts(table([(A, B)]).pairs, np.array([2], np.int32), np.array([1], np.int32)).to_batch())


@pytest.mark.parametrize(
    ("spoilt", "own_name"),
    [(damaged, False), (cut, False), (empty, False), (cut, True), (empty, True), (foreign, True), (impossible, True)],
)
def test_a_damaged_or_foreign_table_counts_as_empty(spoilt: Callable[[bytes], bytes], own_name: bool) -> None:
    objects = MemoryStore(f"damaged {spoilt.__name__} {own_name}")
    put_verdicts(make_search(objects), "near", 0, [table([(A, B)])])
    ((path, good),) = tables(objects).items()
    bad = spoilt(good)
    objects.delete(path)
    objects.put(f"{path.rsplit('.', 2)[0]}.{content_name(bad)}.arrow" if own_name else path, bad)
    again = make_search(objects)
    assert not len(load_verdicts(again, "near", 0).pairs)
    put_verdicts(again, "near", 0, [table([(A, B)])])
    delete_superseded(again)
    assert tables(objects) == {path: good}


def test_a_table_deleted_during_a_search_counts_as_empty() -> None:
    objects = MemoryStore("a table that goes")
    put_verdicts(make_search(objects), "near", 1, [table([(A, B)])])
    again = make_search(objects)
    for path in tables(objects):
        objects.delete(path)
    assert not len(load_verdicts(again, "near", 1).pairs)
