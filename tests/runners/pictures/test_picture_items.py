"""Samples with several pictures: their items cluster as brute force says, and a row goes only if all its items stay."""

import io
import json
import random
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.pipelines.reading.items import item_of_id
from winnow.pipelines.store.location import open_store_at

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  albums: {root: albums, files: ["*.tar"], class: public}
dedupe: {image_bytes: {}, pdq: {}, representative: [id]}
keep:
  - {drop: list_max(dedupe.pdq.size) > 4, reason: everywhere, when_null: keep}
  - {drop: dedupe.pdq.share >= 0.75, reason: mostly_elsewhere, when_null: keep}
"""
SCENES = 14
Node = tuple[bytes, int]  # a row's id, and an item's number


def scene(number: int, way: str) -> bytes:
    """A picture of a scene: as it is, smaller, recompressed, a bit changed, flat, cut, or no picture."""
    drawn = np.random.default_rng(number)
    coarse = Image.fromarray(drawn.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((96, 72), Image.Resampling.BICUBIC), np.int64)
    pixels = np.clip(smooth + drawn.integers(-9, 10, smooth.shape), 0, 255).astype(np.uint8)
    if way.startswith("changed"):
        left = int(way.removeprefix("changed"))
        pixels[: 3 * left, : 4 * left] = 255 - pixels[: 3 * left, : 4 * left]
    one = Image.fromarray(pixels)
    if way == "small":
        one = one.resize((72, 54), Image.Resampling.LANCZOS)
    if way == "flat":
        one = Image.new("RGB", (60, 60), (number, 80, 90))
    out = io.BytesIO()
    one.save(out, **({"format": "JPEG", "quality": 60} if way == "recompressed" else {"format": "PNG"}))
    content = out.getvalue()
    return b"\x00\x00\x00\x18ftypmp42" + bytes(64) if way == "video" else content[:900] if way == "cut" else content


WAYS = ("as it is", "as it is", "small", "recompressed", "changed2", "changed4", "flat", "cut", "video")


def albums(count: int, seed: int) -> dict[str, list[bytes]]:
    """Samples of one to four pictures each."""
    drawn = random.Random(seed)
    return {
        f"{seed}-{number:03d}": [
            scene(min(drawn.randrange(SCENES), drawn.randrange(SCENES)), drawn.choice(WAYS))
            for _ in range(drawn.choice((1, 1, 2, 3, 4)))
        ]
        for number in range(count)
    }


FIRST, SECOND = albums(34, 1), albums(12, 2)


def write(folder: Path, name: str, samples: Mapping[str, Sequence[bytes]], order: int = 0) -> None:
    (folder / "albums").mkdir(parents=True, exist_ok=True)
    keys = random.Random(order).sample(sorted(samples), len(samples)) if order else sorted(samples)
    with tarfile.open(folder / "albums" / f"{name}.tar", "w") as archive:
        for key in keys:
            for number, content in enumerate(samples[key]):
                kind = "mp4" if content[4:8] == b"ftyp" else "png" if content[1:4] == b"PNG" else "jpg"
                entry = tarfile.TarInfo(f"{key}.{number}.{kind}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def searched(folder: Path, shard_rows: int = 8, workers: int = 1) -> Path:
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", str(workers)))
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("items")
    write(folder, "a", FIRST)
    write(folder, "b", SECOND)
    return searched(folder)


def layer(folder: Path, kind: str) -> dict[Node, dict[str, Any]]:
    """What the layer says of each item."""
    found = {}
    for identity, row in zip(table(folder, "samples")["id"].to_pylist(), rows(folder, kind), strict=True):
        lists = {name: values for name, values in row.items() if name not in ("status", "share")}
        assert len({len(values) for values in lists.values()}) == 1
        for item, values in enumerate(zip(*lists.values(), strict=True)):
            found[identity, item] = dict(zip(lists, values, strict=True))
    return found


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(folder, f"dedupe.{kind}").to_pylist()
    return found


def name(node: Node) -> bytes:
    return (int.from_bytes(node[0]) ^ node[1]).to_bytes(16)


def signatures(folder: Path, kind: str) -> dict[Node, object]:
    """What is compared of each item that is compared."""
    samples = table(folder, "samples")
    ids, media = samples["id"].to_pylist(), samples["media"].to_pylist()
    if kind == "image_bytes":
        return {
            (identity, item): one["sha256"]
            for identity, items in zip(ids, media, strict=True)
            for item, one in enumerate(items)
            if one["mime"].startswith("image/")
        }
    measured = table(folder, "image.pdq").to_pylist()
    return {
        (identity, item): int.from_bytes(row["hash"][item])
        for identity, row in zip(ids, measured, strict=True)
        for item in range(len(row["items"]))
        if row["items"][item] == "ok" and row["quality"][item] >= 50
    }


def brute_force(found: Mapping[Node, object], kind: str) -> dict[Node, dict[str, Any]]:
    """The clusters of every item, from all pairs of items."""

    def apart(one: Node, other: Node) -> int:
        if kind == "image_bytes":
            return 0 if found[one] == found[other] else 99
        return int(int(found[one]) ^ int(found[other])).bit_count()  # type: ignore[call-overload]

    graph = networkx.Graph()
    graph.add_nodes_from(found)
    graph.add_edges_from((one, other) for one in found for other in found if one < other and apart(one, other) <= 31)
    said = {}
    for members in networkx.connected_components(graph):
        for node in members:
            nearest = min(((apart(node, other), name(other)) for other in members if other != node), default=None)
            said[node] = {
                "items": "unmatched" if nearest is None else "ok",
                "cluster": min(map(name, members)),
                "size": len(members),
                "matched": None if nearest is None else nearest[1],
            }
            if kind == "pdq":
                said[node] |= {
                    "hashes": len({found[one] for one in members}),
                    "distance": None if nearest is None else nearest[0],
                }
    return said


@pytest.mark.parametrize("kind", ["image_bytes", "pdq"])
def test_items_cluster_as_all_pairs_of_items_say(store: Path, kind: str) -> None:
    said = layer(store, kind)
    expected = brute_force(signatures(store, kind), kind)
    assert {node: one for node, one in said.items() if one["size"] is not None} == expected
    assert max(one["size"] for one in expected.values()) > 2
    others = {node: one for node, one in said.items() if one["size"] is None}
    assert {value for one in others.values() for key, value in one.items() if key != "items"} == {None}
    known = {"image_bytes": {"not_an_image"}, "pdq": {"not_an_image", "low_quality", "truncated"}}
    assert {one["items"] for one in others.values()} == known[kind]
    for row in rows(store, kind):
        statuses = row["items"]
        first = "ok" if "ok" in statuses else "unmatched" if "unmatched" in statuses else statuses[0]
        assert row["status"] == first
        assert row["share"] == statuses.count("ok") / len(statuses)


def decided(folder: Path) -> dict[bytes, tuple[str, bytes | None]]:
    """Why rows are dropped, and for which."""
    run_here(folder, "plan", "recipe.yaml", "--decisions", "decisions.parquet")
    dropped = pq.read_table(folder / "decisions.parquet").to_pylist()
    return {row["id"]: (row["reason"], row["duplicate_of"]) for row in dropped}


def test_a_row_is_dropped_if_all_its_items_are_in_rows_that_are_kept_before_it(store: Path) -> None:
    ids = sorted(table(store, "samples")["id"].to_pylist())
    expected: dict[bytes, tuple[str, bytes | None]] = {}
    for kind in ("image_bytes", "pdq"):
        of, covered = layer(store, kind), dict[bytes, bytes]()
        for row in [one for one in ids if one not in expected]:
            items = [values for (identity, _), values in sorted(of.items()) if identity == row]
            clusters = [one["cluster"] for one in items]
            if all((one["size"] or 0) > 1 and one["cluster"] in covered for one in items):
                expected[row] = f"duplicate_{kind}", covered[clusters[0]]
            else:
                covered = {**dict.fromkeys((one for one in clusters if one), row), **covered}
    several = {identity for identity, item in layer(store, "pdq") if item > 0}
    found = decided(store)
    assert {row: why for row, why in found.items() if why[0].startswith("duplicate")} == expected
    assert {why for why, _ in found.values()} == {
        "duplicate_image_bytes",
        "duplicate_pdq",
        "everywhere",
        "mostly_elsewhere",
    }
    assert several & set(expected)
    assert_clean(store)


@pytest.mark.large
def test_other_shards_order_and_workers_give_the_same_values(store: Path, tmp_path: Path) -> None:
    write(tmp_path, "a", FIRST, order=1)
    write(tmp_path, "b", SECOND, order=2)
    searched(tmp_path, shard_rows=14, workers=3)
    for kind in ("image_bytes", "pdq"):
        assert layer(tmp_path, kind) == layer(store, kind)
    assert decided(tmp_path) == decided(store)


def objects(folder: Path) -> dict[str, str]:
    store = open_store_at(folder / "store")
    generation = store.require_latest()
    return {row.shard: row.object for row in store.manifest(generation, "dedupe.pdq")}


@pytest.mark.processes
def test_a_grown_store_has_the_values_of_one_search_and_keeps_objects_that_did_not_change(tmp_path: Path) -> None:
    write(tmp_path, "a", FIRST)
    searched(tmp_path)
    before = objects(tmp_path)
    write(tmp_path, "b", {key: items for key, items in SECOND.items() if key < "2-001"})
    searched(tmp_path)
    after = objects(tmp_path)
    assert before.keys() < after.keys()
    assert any(after[shard] == before[shard] for shard in before)
    expected = brute_force(signatures(tmp_path, "pdq"), "pdq")
    assert {node: one for node, one in layer(tmp_path, "pdq").items() if one["size"] is not None} == expected


def test_the_clusters_of_each_item_are_shown_with_what_is_known_of_the_members(store: Path) -> None:
    of = layer(store, "pdq")
    (row, item), said = max(of.items(), key=lambda one: (one[0][1], one[1]["size"] or 0))
    shown = json.loads(ended(run_here(store, "duplicates", "show", "recipe.yaml", row.hex(), "--json")))
    items = shown["clusters"]["pdq"]["items"]
    assert [one["item"] for one in items] == list(range(len(items)))
    assert [one["rows"] for one in items] == [of[row, number]["size"] for number in range(len(items))]
    members = items[item]["members"]
    assert {(member["id"], member["item"]) for member in members} == {
        (node[0].hex(), node[1]) for node, one in of.items() if one["cluster"] == said["cluster"]
    }
    assert all(member["reference"].startswith(("a.tar at", "b.tar at")) for member in members)
    assert {(member["width"], member["height"]) for member in members} <= {(96, 72), (72, 54)}
    assert_told(shown["not_compared"], "pictures are shown")
    one = ended(run_here(store, "duplicates", "show", "recipe.yaml", name((row, item)).hex(), "--kind", "pdq"))
    assert f"pdq: item {item}: cluster {said['cluster'].hex()} of {said['size']} pictures" in one
    assert "this item" in one
    assert item_of_id(name((row, item)), row) == item


def test_the_report_shows_pictures_of_the_largest_clusters_side_by_side(store: Path) -> None:
    ended(run_here(store, "report", "recipe.yaml", "--output", "report.html"))
    page = (store / "report.html").read_text()
    assert page.count('<img src="data:image/jpeg;base64,') > 10
    assert "item " in page
    assert "default-src &#x27;none&#x27;; style-src" in page
