"""A store that grows: what one search over everything would give, and no text compared twice."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.faults.winnow import run_here
from tests.pipelines.dedupe.search import Row, changed, clusters, layer, prose, search, write_pages
from tests.pipelines.store.commits import commits_of
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.integrity import checked_parquet
from winnow.pipelines.store.local import LocalStore
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import run_all
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.recipe import load_recipe


def near_duplicates(numbers: Sequence[int]) -> list[Row]:
    """Two texts each, so close to a similarity of 0.75 that no estimate can tell on which side they are."""
    rows: list[Row] = []
    for number in numbers:
        share = 0.02 + 0.001 * (number % 10)
        for name, words in ((f"{number}", prose(number)), (f"{number}b", changed(prose(number), share, 1000 + number))):
            rows.append({"id": name, "text": " ".join(words)})
    return rows


FIRST, SECOND = near_duplicates(range(20)), near_duplicates(range(20, 40))
LONE: list[Row] = [{"id": f"alone{number}", "text": " ".join(prose(number))} for number in range(1000, 1100)]


def objects_of(folder: Path) -> LocalStore:
    return LocalStore(folder / "store")


def near_rows(folder: Path) -> dict[str, tuple[str, frozenset[str]]]:
    """Of each shard the object of its layer, and the keys of its rows."""
    store = open_store(objects_of(folder))
    generation = store.require_latest()
    keys = {
        row.shard: frozenset(source["record"] for batch in store.batches(row) for source in batch["source"].to_pylist())
        for row in store.manifest(generation, "samples")
    }
    return {row.shard: (row.object, keys[row.shard]) for row in store.manifest(generation, "dedupe.near")}


def tree(folder: Path) -> str:
    return open_store(objects_of(folder)).require_latest().tree_hash


def verdicts(folder: Path) -> dict[str, bytes]:
    objects = objects_of(folder)
    return {info.path: objects.read(info.path) for info in objects.list(layout.VERDICTS)}


def delete_verdicts(folder: Path) -> None:
    for path in verdicts(folder):
        objects_of(folder).delete(path)


def delete_layers(folder: Path) -> None:
    """As if no search had ever been finished."""
    objects = objects_of(folder)
    for path in commits_of(objects, "dedupe.near") + [info.path for info in objects.list("layers/dedupe.near/")]:
        objects.delete(path)


@contextmanager
def unreadable_texts(folder: Path) -> Iterator[None]:
    """For a while no text that the store holds by now can be read; ids and all else can, if it has small blocks."""
    found = {path: path.read_bytes() for path in (folder / "store" / "samples").iterdir()}
    for path, raw in found.items():
        spoilt, parquet = bytearray(raw), pq.ParquetFile(pa.BufferReader(raw)).metadata
        for group in range(parquet.num_row_groups):
            columns = [parquet.row_group(group).column(place) for place in range(parquet.num_columns)]
            (text,) = [column for column in columns if column.path_in_schema == "text"]
            begin = text.dictionary_page_offset or text.data_page_offset
            spoilt[begin : begin + text.total_compressed_size] = b"\xee" * text.total_compressed_size
        path.write_bytes(bytes(spoilt))
    try:
        yield
    finally:
        for path, raw in found.items():
            path.write_bytes(raw)


def test_adding_a_crawl_gives_the_result_of_one_run_and_rewrites_only_changed_shards(tmp_path: Path) -> None:
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    later = [*SECOND, {"id": "0c", "text": " ".join(changed(prose(0), 0.025, 7))}]
    write_pages(whole, {"a": [*FIRST, *LONE], "b": later})
    search(whole)
    write_pages(grown, {"a": [*FIRST, *LONE]})
    search(grown)
    before = near_rows(grown)
    write_pages(grown, {"b": later})
    outcome = search(grown)
    assert outcome.new
    assert layer(grown, "near") == layer(whole, "near")
    assert tree(grown) == tree(whole)
    after = near_rows(grown)
    touched = {shard for shard, (_, keys) in before.items() if keys & {"0", "0b"}}  # 0c is like both of them
    assert {shard for shard in before if after[shard] != before[shard]} == touched
    assert 0 < len(touched) < len(before)
    assert not search(grown).new


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column of an object can be read without the others."""
    monkeypatch.setattr(checked_parquet, "LEAST_BLOCK_BYTES", 1)
    monkeypatch.setattr(checked_parquet, "MOST_BLOCKS", 1 << 30)


@pytest.mark.usefixtures("small_blocks")
def test_texts_compared_before_are_not_read_again(tmp_path: Path) -> None:
    whole, grown, without = tmp_path / "whole", tmp_path / "grown", tmp_path / "without"
    write_pages(whole, {"a": FIRST, "b": SECOND})
    search(whole)
    write_pages(grown, {"a": FIRST})
    search(grown)
    shutil.copytree(grown, without)
    delete_verdicts(without)
    for folder in (grown, without):
        write_pages(folder, {"b": SECOND})
    with unreadable_texts(grown):
        search(grown)
    assert layer(grown, "near") == layer(whole, "near")
    assert "jaccard" in {row["by"] for key, row in layer(grown, "near").items() if int(key.strip("b")) < 20}
    with unreadable_texts(without), pytest.raises(StoreError, match=r"samples/.* is damaged"):
        search(without)


@pytest.mark.large
@pytest.mark.usefixtures("small_blocks")
def test_another_threshold_and_other_bands_reuse_verdicts(tmp_path: Path) -> None:
    fresh, known = tmp_path / "fresh", tmp_path / "known"
    for folder in (fresh, known):
        write_pages(folder, {"a": FIRST})
    search(known)
    for settings in ("{near: {min_similarity: 0.7501}}", "{near: {min_similarity: 0.75, bands: 7, rows: 16}}"):
        delete_verdicts(fresh)
        search(fresh, settings)
        with unreadable_texts(known):
            search(known, settings)
        assert layer(known, "near") == layer(fresh, "near")


def test_a_replaced_text_is_compared_again(tmp_path: Path) -> None:
    kept = {"id": "kept", "text": " ".join(prose(5))}
    old, new = ({"id": "same id", "text": " ".join(changed(prose(5), share, 2))} for share in (0.022, 0.026))
    write_pages(tmp_path, {"a": [kept, old]})
    search(tmp_path)
    before = layer(tmp_path, "near")["kept"]
    write_pages(tmp_path, {"a": [kept, new]})
    run_all(bind(load_recipe(tmp_path / "recipe.yaml")), Engine("local", 1), Console(quiet=True), replace=True)
    after = layer(tmp_path, "near")["kept"]
    assert [(row["matched"], row["by"]) for row in (before, after)] == [("same id", "jaccard")] * 2
    assert [row["similarity"] for row in (before, after)] == [265 / 327, 260 / 332]


@pytest.mark.large
def test_there_is_one_table_per_shard_and_rewriting_it_changes_nothing(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": FIRST})
    search(tmp_path)
    first = verdicts(tmp_path)
    assert first
    delete_layers(tmp_path)
    for path, raw in first.items():
        objects_of(tmp_path).put(path, raw[:-100])  # what is damaged counts as empty
    search(tmp_path, workers=2)
    assert verdicts(tmp_path) == first
    write_pages(tmp_path, {"b": SECOND})
    search(tmp_path)
    assert first.items() < verdicts(tmp_path).items()
    search(tmp_path, "{near: {min_similarity: 0.75, size: 4}}")  # other shingles: all texts are signed again anyhow
    assert {path.split("/")[1] for path in verdicts(tmp_path)}.isdisjoint({path.split("/")[1] for path in first})


def test_gc_keeps_verdicts_in_use_audit_accepts_them_and_a_purge_deletes_them(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": FIRST})
    outcome = search(tmp_path)
    kept = verdicts(tmp_path)
    objects = objects_of(tmp_path)
    path, raw = next(iter(kept.items()))
    objects.put(f"{path.rpartition('/')[0]}/shard-that-is-gone.{content_name(raw)}.arrow", raw)
    collected = run_here(tmp_path, "gc", "recipe.yaml", "--keep", "1")
    assert collected.status == 0, collected.err
    assert verdicts(tmp_path) == kept
    audited = run_here(tmp_path, "audit", "recipe.yaml")
    assert audited.status == 0, audited.out
    manifest = outcome.store.manifest(outcome.generation, "samples")
    samples = [row for one in manifest for batch in outcome.store.batches(one) for row in batch.to_pylist()]
    (chosen,) = (row["id"].hex() for row in samples if row["source"]["record"] == "3")
    assert run_here(tmp_path, "forget", "recipe.yaml", "--id", chosen).status == 0
    purged = run_here(tmp_path, "gc", "recipe.yaml", "--purge")
    assert purged.status == 0, purged.err
    assert not verdicts(tmp_path)
    search(tmp_path)
    assert not any("3" in cluster for cluster in clusters(tmp_path))
