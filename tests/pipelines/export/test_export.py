"""The whole path of an export: from rows of a store's shards to finished files, whoever does the work."""

import gzip
import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.messages import assert_refused
from tests.pipelines.export.drawn_stores import (
    BOOKS,
    WEB,
    Given,
    Rows,
    every,
    export,
    exports_of,
    identity,
    make_draw,
    tree,
    words,
)
from winnow.filters.spans import SPANS
from winnow.pipelines.export import graph
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import BoundEdit
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import ExportError
from winnow.schemas.mixture import Stratum
from winnow.schemas.problems import Place
from winnow.schemas.tombstones import Tombstone, selector_hash
from winnow.schemas.uint128 import words_of
from winnow.scoring.mixture.orders import export_order, key_of


def order_of(sample: bytes, copy: int) -> int:
    """The place of one copy."""
    ids = words_of(pa.array([sample], pa.binary(16)))
    return int(export_order(ids, key_of(7, "export"), np.array([copy], np.uint16))[0])


def rows_of(folder: Path, split: str = "train") -> list[dict[str, object]]:
    """The rows of a Parquet export, file by file."""
    files = sorted((folder / "data").glob(f"{split}-*"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_each_copy_is_written_once_in_the_order_of_its_hash(tmp_path: Path) -> None:
    shards = {
        "a": Rows(words(5), [Given(0), Given(2, copies=3), Given(4, first=2)]),
        "b": Rows(["uno", "due"], [Given(1, stratum=1)], source="books"),
    }
    store, draw = make_draw(LocalStore(tmp_path / "store"), shards)
    (done,) = export(store, draw, exports_of(tmp_path, "parquet: {path: out, shard_bytes: 2048}"))
    given = [("a", 0, 0), ("a", 2, 0), ("a", 2, 1), ("a", 2, 2), ("a", 4, 2), ("b", 1, 0)]
    ordered = sorted(given, key=lambda one: order_of(identity(one[0], one[1]), one[2]))
    rows = rows_of(tmp_path / "out")
    assert [(row["id"], row["copy"]) for row in rows] == [(identity(s, r).hex(), copy) for s, r, copy in ordered]
    assert [row["text"] for row in rows] == [shards[shard].texts[row] for shard, row, _ in ordered]
    book = next(row for row in rows if row["text"] == "due")
    assert book == {
        "id": identity("b", 1).hex(),
        "text": "due",
        "source": "books",
        "class": "public",
        "language": "ces_Latn",
        "family": "slavic",
        "licence": "CC0-1.0",
        "url": "https://b.example/1",
        "metadata": '{"row":1}',
        "copy": 0,
    }
    assert done.new
    assert done.manifest.outputs == {"train": {"planned": 6, "samples": 6, "shards": 2}}
    assert set(tree(tmp_path / "out")) == {
        "winnow.json",
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
    }
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.processes)])
def test_bytes_are_the_same_for_any_workers_order_of_shards_and_row_groups(tmp_path: Path, workers: int) -> None:
    texts = {"a": every(words(300)), "b": every(words(40, 300)), "c": Rows(words(9), [Given(3, copies=70)])}
    store, draw = make_draw(LocalStore(tmp_path / "one"), texts)
    entries = ["parquet: {path: %s/hf, shard_bytes: 50000}", "jsonl: {path: %s/lines, shard_bytes: 70000}"]
    export(store, draw, exports_of(tmp_path, *(entry % "first" for entry in entries)))
    export(store, draw, exports_of(tmp_path, *(entry % "second" for entry in entries)), workers=workers)
    shuffled = {name: texts[name] for name in ("c", "a", "b")}
    store, draw = make_draw(LocalStore(tmp_path / "two"), shuffled, row_group_rows=64)
    export(store, draw, exports_of(tmp_path, *(entry % "third" for entry in entries)))
    first = tree(tmp_path / "first")
    assert len(first) == 11
    assert tree(tmp_path / "second") == first
    assert tree(tmp_path / "third") == first


@pytest.mark.parametrize(
    ("workers", "shuffle"), [(1, "files"), (1, "engine"), pytest.param(2, "engine", marks=pytest.mark.processes)]
)
def test_bytes_are_the_same_through_relays_by_any_transport_and_with_any_size_of_senders(
    tmp_path: Path, workers: int, shuffle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = {f"s{number}": every(words(50, 50 * number)) for number in range(8)}
    store, draw = make_draw(LocalStore(tmp_path / "store"), shards)
    entries = ["parquet: {path: %s/hf, shard_bytes: 20000}", "jsonl: {path: %s/lines, shard_bytes: 30000}"]
    export(store, draw, exports_of(tmp_path, *(entry % "straight" for entry in entries)))
    monkeypatch.setattr(graph, "Route", partial(Route, most_straight=1))
    monkeypatch.setattr(shard_groups, "groups_for", lambda *_: 5)
    export(
        store, draw, exports_of(tmp_path, *(entry % "relayed" for entry in entries)), workers=workers, shuffle=shuffle
    )
    straight = tree(tmp_path / "straight")
    assert len(straight) > 20
    assert tree(tmp_path / "relayed") == straight


def test_outputs_become_splits_and_an_empty_one_has_no_files(tmp_path: Path) -> None:
    rows = Rows(words(6), [Given(0), Given(1), Given(5, output=1)])
    strata = [[WEB], [Stratum("web", "crawl", "germanic", "deu_Latn", "top")], [BOOKS]]
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows}, strata, ["train", "validation", "late"])
    (done,) = export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))
    assert {name: one["samples"] for name, one in done.manifest.outputs.items()} == {
        "train": 2,
        "validation": 1,
        "late": 0,
    }
    assert [row["band"] for row in rows_of(tmp_path / "out")] == [None, None]
    assert [row["band"] for row in rows_of(tmp_path / "out", "validation")] == ["top"]


@pytest.mark.parametrize("compression", ["zstd", "gzip", "none"])
def test_lines_are_objects_of_the_same_columns(tmp_path: Path, compression: str) -> None:
    rows = every(["plain", 'a "quoted"\nline', "Größe 🦔", None])
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows})
    export(store, draw, exports_of(tmp_path, f"jsonl: {{path: out, compression: {compression}}}"))
    (file,) = (tmp_path / "out").glob("train-00000-of-00001.jsonl*")
    raw = file.read_bytes()
    if compression == "zstd":
        raw = zstandard.ZstdDecompressor().stream_reader(raw).read()
    elif compression == "gzip":
        assert raw[4:8] == bytes(4)  # no time
        raw = gzip.decompress(raw)
    lines = [json.loads(line) for line in raw.splitlines()]
    assert {line["text"] for line in lines} == set(rows.texts)
    assert all(line["metadata"] == {"row": rows.texts.index(line["text"])} for line in lines)
    assert list(lines[0]) == [
        "id", "text", "source", "class", "language", "family", "licence", "url", "metadata", "copy",
    ]  # fmt: skip


def test_edits_are_applied_on_the_way(tmp_path: Path) -> None:
    spans = pa.table({"spans": pa.array([[{"start": 0, "end": 5}], [], None], SPANS)})
    edit = BoundEdit(
        Column("found", "spans"), "delete", None, (), None, None, "edits[0]", Place("r.yaml", 1), "keep", None
    )
    rows = Rows(["Hello there", "as it is", "unmeasured"], [Given(0), Given(1), Given(2)], layers={"found": spans},
                lengths={0: 6})  # fmt: skip
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows})
    export(store, draw, exports_of(tmp_path, "jsonl: {path: out, compression: none}"), edits=[edit])
    lines = (tmp_path / "out" / "train-00000-of-00001.jsonl").read_text().splitlines()
    assert {json.loads(line)["text"] for line in lines} == {" there", "as it is", "unmeasured"}


@pytest.mark.parametrize("by", ["id", "text"])
def test_forgotten_samples_end_the_export_with_one_line(tmp_path: Path, by: str) -> None:
    spans = pa.table({"spans": pa.array([[]] * 9, SPANS)})
    rows = Rows(words(9), [Given(row) for row in range(9)], layers={"found": spans})
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows})
    ids = (identity("a", 3).hex(),) if by == "id" else ()
    digest = hashlib.sha256(str(rows.texts[3]).encode()).hexdigest()
    texts = (selector_hash("sha256", digest).hex(),) if by == "text" else ()
    put_tombstone(store.objects, Tombstone(1, (), (), ids, texts, (), "asked"))
    with assert_refused(ExportError, "1 sample"):
        export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))
    assert not (tmp_path / "out").exists()


def test_a_store_that_is_not_what_was_planned_ends_the_export(tmp_path: Path) -> None:
    rows = Rows(words(4), [Given(0), Given(3)], lengths={3: 99})
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows})
    with assert_refused(ExportError, "row 3", "shard"):
        export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))


def test_a_sample_that_a_draw_gives_twice_is_refused(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(4)), "b": every(words(4))})
    one, other = draw.shards
    draw = replace(draw, shards=(one, replace(other, draw=one.draw, objects=one.objects)))
    with assert_refused(ExportError, "two samples", "copy 0"):
        export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))


def test_what_a_sample_refers_to_is_in_its_metadata(tmp_path: Path) -> None:
    reference = {"path": "a.tar", "offset": 512, "length": 9, "container": "tar", "member": "x.jpg", "etag": None}
    medium = {
        "sha256": None,
        "bytes": 9,
        "mime": "image/jpeg",
        "ref": reference,
        "width": 3,
        "height": 2,
        "orientation": 6,
        "frames": 1,
        "seconds": None,
        "clip": None,
    }
    rows = Rows([None], [Given(0)], media=[medium])
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": rows})
    export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))
    (row,) = rows_of(tmp_path / "out")
    assert row["text"] is None
    assert json.loads(str(row["metadata"])) == {"row": 0, "media": [medium]}


def test_a_draw_that_gives_other_than_its_plan_says_is_refused(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(4)), "b": every(words(4, 4))})
    with assert_refused(ExportError, "8 samples", "4"):
        export(store, replace(draw, shards=draw.shards[:1]), exports_of(tmp_path, "parquet: {path: out}"))


def test_a_plan_that_gives_nothing_is_refused(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": Rows(words(2), [])})
    with pytest.raises(ExportError, match="contains no samples"):
        export(store, draw, exports_of(tmp_path, "parquet: {path: out}"))
