"""What is counted and gathered of clusters, against a count row by row in plain Python."""

import random
from collections import Counter
from uuid import uuid4

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from tests.pipelines.rules.stores import Shard, make_store, samples_table
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.cluster_counts import BIN_NAMES
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.runners.stages.duplicates.clusters import overview
from winnow.schemas.errors import StoreError

GROUPS, NEAR = find_kind("exact").schema, find_kind("near").schema
LANGUAGES = pa.schema([pa.field("status", pa.string()), pa.field("code", pa.string())])
SIZES = {"1": (1,), "2": (2,), "3-4": (3, 4), "5-9": range(5, 10), "10-99": range(10, 100), "100-999": range(100, 1000)}


def made(seed: int, *, texts: bool = True) -> tuple[Browser, list[dict[str, object]]]:
    """A store of three shards of random clusters, and its rows as they are."""
    drawn = random.Random(seed)
    shards = {f"s{number}": Shard("books" if number else "pages", 400) for number in range(3)}
    rows: list[dict[str, object]] = []
    for name, shard in shards.items():
        ids = samples_table(name, shard)["id"].to_pylist()
        rows += [
            {"id": one, "source": shard.source, "code": drawn.choice(["eng_Latn", "tha_Thai", None])} for one in ids
        ]
    members: dict[int, list[dict[str, object]]] = {}
    for row in rows:
        members.setdefault(int(drawn.paretovariate(0.6)) if drawn.random() < 0.9 else 0, []).append(row)
    for number, cluster in members.items():
        name = min(str(row["id"].hex()) for row in cluster)  # type: ignore[attr-defined]
        many = drawn.randint(1, len(cluster))
        for row in cluster:
            alone = len(cluster) == 1
            row |= {"status": "unmatched" if alone else "ok", "cluster": bytes.fromhex(name), "size": len(cluster)}
            row |= {"texts": 1 if alone else many, "matched": None, "similarity": None, "by": None}
            if not alone:
                other = drawn.choice([one for one in cluster if one is not row])
                similarity = drawn.choice([round(drawn.uniform(0.7, 1), 3), 1.0, 1.0])
                row |= {"matched": other["id"], "similarity": similarity}
                row |= {"by": drawn.choice(["estimate", "jaccard", "equal", "equal"])}
            if number == 0:
                row |= dict.fromkeys(("cluster", "size", "texts", "matched", "similarity", "by")) | {
                    "status": "no_text"
                }
    schema = NEAR if texts else pa.schema([one for one in NEAR if one.name != "texts"])
    layers = {"dedupe.near": schema, "dedupe.exact": GROUPS, "text.language": LANGUAGES}
    whole = {
        name: Shard(
            shard.source,
            shard.rows,
            {
                layer: pa.Table.from_pylist(
                    [{one.name: row.get(one.name) for one in columns} for row in rows[400 * at : 400 * at + 400]],
                    schema=columns,
                )
                for layer, columns in layers.items()
            },
        )
        for at, (name, shard) in enumerate(shards.items())
    }
    return Browser(*make_store(MemoryStore(uuid4().hex), whole), ()), rows


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_counted_and_the_largest_described_as_row_by_row(seed: int) -> None:
    browser, rows = made(seed)
    for kind in ("near", "exact"):
        found = overview(browser, kind, 6)
        clusters: dict[object, list[dict[str, object]]] = {}
        for row in rows:
            if row["cluster"] is not None:
                clusters.setdefault(row["cluster"], []).append(row)
        assert (found.rows, found.compared) == (1200, sum(map(len, clusters.values())))
        assert found.forgotten == 0
        large = [cluster for cluster in clusters.values() if len(cluster) > 1]
        assert (found.clusters, found.clustered) == (len(large), sum(map(len, large)))
        assert found.most_rows == max(map(len, large))
        sizes = dict(zip(BIN_NAMES, found.sizes, strict=True))
        assert {name: sizes[name] for name in SIZES} == {
            name: sum(len(cluster) in of for cluster in clusters.values()) for name, of in SIZES.items()
        }

        def rank(cluster: list[dict[str, object]], near: bool = kind == "near") -> tuple[int, int, object]:
            return -int(str(cluster[0]["texts"])) if near else 0, -len(cluster), cluster[0]["cluster"]

        expected = sorted(large, key=rank)[:6]
        assert [one.id for one in found.largest] == [cluster[0]["cluster"].hex() for cluster in expected]  # type: ignore[attr-defined]
        for one, cluster in zip(found.largest, expected, strict=True):
            assert (one.rows, one.found) == (len(cluster), len(cluster))
            assert dict(one.sources) == Counter(row["source"] for row in cluster)
            assert dict(one.languages) == Counter(row["code"] for row in cluster if row["code"])
            lowest = min(float(str(row["similarity"])) for row in cluster)
            others = [row for row in cluster if row["id"] != row["cluster"]]
            least = min(others, key=lambda row: (row["similarity"] if kind == "near" else 0, row["id"]))
            assert one.similarity == (lowest if kind == "near" else None)
            by = {row["by"] for row in cluster if row["similarity"] == lowest}
            assert one.exact == (kind == "near" and "estimate" not in by)
            assert [place.id for place in one.examples] == [one.id, least["id"].hex()]  # type: ignore[attr-defined]


def test_the_rows_of_a_cluster_begin_with_the_row_its_match_and_the_name_and_then_the_least_alike() -> None:
    browser, rows = made(1)
    largest = max((row for row in rows if row["size"]), key=lambda row: int(str(row["size"])))
    cluster = {row["id"]: row for row in rows if row["cluster"] == largest["cluster"]}
    for own in list(cluster.values())[:7]:
        place = next(place for place in browser_places(browser) if place.id == own["id"].hex())  # type: ignore[attr-defined]
        (said,) = browser.memberships("near", place)
        assert (said.status, said.rows, said.matched) == ("ok", own["size"], own["matched"].hex())  # type: ignore[attr-defined]
        found = browser.members(said, 8)
        first = list(dict.fromkeys([own["id"], own["matched"], own["cluster"]]))
        rest = sorted(set(cluster) - set(first), key=lambda one: (cluster[one]["similarity"], one))
        assert [bytes.fromhex(one.place.id) for one in found.shown] == [*first, *rest][:8]
        assert found.found == len(cluster)
        assert found.matched is not None
        assert found.matched.id == said.matched
        assert [one.language for one in found.shown] == [
            cluster[bytes.fromhex(one.place.id)]["code"] for one in found.shown
        ]
        assert browser.members(said, 1).matched == found.matched


def browser_places(browser: Browser) -> list[Place]:
    return [
        Place(row, number, identity.hex())
        for row in browser.store.manifest(browser.generation, "samples")
        for number, identity in enumerate(
            one for batch in browser.store.batches(row, ["id"]) for one in batch["id"].to_pylist()
        )
    ]


def test_a_layer_from_before_texts_were_counted_is_read() -> None:
    browser, _ = made(2, texts=False)
    found = overview(browser, "near", 3)
    assert [one.texts for one in found.largest] == [None] * 3
    assert [one.rows for one in found.largest] == sorted((one.rows for one in found.largest), reverse=True)


def test_a_kind_that_was_not_looked_for_is_refused() -> None:
    browser, _ = made(3)
    assert browser.require(None) == ("exact", "near")
    with assert_refused(StoreError, "duplicates were searched"):
        browser.require("url")


def rewritten(objects: ObjectStore, path: str, raw: bytes | None) -> None:
    """Damage an object: put other bytes in its place, or none."""
    objects.delete(path)
    if raw is not None:
        objects.put(path, raw)


@pytest.mark.parametrize("cut", [0, 3, 300, -1, -9])
def test_an_object_that_is_cut_is_named_with_what_to_do(cut: int) -> None:
    browser, _ = made(4)
    path = browser.objects("dedupe.near")["s0"].object
    rewritten(browser.store.objects, path, browser.store.objects.read(path)[:cut])
    with assert_refused(StoreError, path, "'winnow dedupe RECIPE'") as said:
        overview(browser, "near", 3)
    assert "\n" not in str(said.value)


def test_an_object_that_is_gone_is_said_to_be_however_it_is_read() -> None:
    browser, _ = made(4)
    place = next(place for place in browser_places(browser) if place.shard.shard == "s1")
    path = browser.objects("dedupe.near")["s1"].object
    rewritten(browser.store.objects, path, None)
    gone = rf"{path} is missing; run 'winnow dedupe RECIPE', which makes it again$"
    with pytest.raises(StoreError, match=gone):
        overview(browser, "near", 3)
    with pytest.raises(StoreError, match=gone):
        browser.memberships("near", place)


def test_an_object_of_other_columns_is_refused() -> None:
    layers = {"dedupe.exact": pa.table({"status": ["ok", "ok"]})}
    browser = Browser(*make_store(MemoryStore(uuid4().hex), {"s0": Shard("books", 2, layers)}), ())
    path = browser.objects("dedupe.exact")["s0"].object
    with assert_refused(StoreError, path, "column cluster", "'winnow audit'"):
        overview(browser, "exact", 3)


def test_duplicates_of_a_store_that_has_grown_since_are_not_shown() -> None:
    browser, _ = made(4)
    assert browser.stale(None) == {"exact": None, "near": None}
    drawn = {name: Shard("books", 2, {"dedupe.near": lone(name)} if name == "old" else {}) for name in ("old", "new")}
    grown = Browser(*make_store(MemoryStore(uuid4().hex), drawn), ())
    for kind in (None, "near"):
        with assert_refused(StoreError, "searched before samples"):
            grown.require(kind)


def lone(shard: str) -> pa.Table:
    """Two rows of a shard that nothing is like."""
    ids = samples_table(shard, Shard("books", 2))["id"].to_pylist()
    return pa.Table.from_pylist(
        [{"status": "unmatched", "cluster": one, "size": 1, "texts": 1} for one in ids], schema=NEAR
    )
