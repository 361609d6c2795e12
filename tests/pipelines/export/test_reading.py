"""What is read of a store's shard, and in which portions it travels."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_refused
from tests.pipelines.export.drawn_stores import Given, Rows, every, make_draw, words
from winnow.pipelines.export.graph import ReadDrawn, drawn_groups, drawn_places
from winnow.pipelines.export.places.folder import ScratchDisk
from winnow.pipelines.export.planning.cutting import cut_outputs
from winnow.pipelines.export.planning.export_run import ExportDetails, ExportRun, put_details
from winnow.pipelines.export.planning.sizing import Way
from winnow.pipelines.export.reading import mixed_rows
from winnow.pipelines.mix.draws import Draw
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.picked_rows import read_picked
from winnow.pipelines.reading.text_edits import with_keys
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.exchange import MAX_BLOCK_BYTES, Route, split_by_partition
from winnow.pipelines.running.job_tasks import OPENING_BYTES
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity import checked_parquet
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StoreError

TEXT = Column("samples", "text")


def parts(store: Store, draw: Draw, cap: int) -> list[tuple[int, int, int]]:
    """The partition, the rows and the bytes of each portion."""
    cuttings = cut_outputs(store.objects, draw, [Way(cap)])
    strata = tuple(tuple(one.stratum for one in output.strata) for output in draw.plan.outputs)
    details = ExportDetails(cuttings, strata, np.ones(cuttings[Way(cap)].shards, np.bool_))
    export_run = ExportRun(store, ScratchDisk(Path("unused")), (TEXT,), (), (), 7, "plan", "")
    found = []
    for shard in draw.shards:
        for rows, partitions in mixed_rows(export_run, details, with_keys(()), shard):
            for partition, part in split_by_partition(rows, partitions, len(details.places)):
                found.append((partition, part.num_rows, part.nbytes))
    return found


def test_copies_of_large_texts_never_stand_side_by_side() -> None:
    rows = Rows(["a" * 3_000_000, "b" * 11_000_000, "c"], [Given(0, copies=9), Given(1, copies=3), Given(2)])
    found = parts(*make_draw(MemoryStore("large-texts"), {"a": rows}), 1 << 30)
    assert sum(count for _, count, _ in found) == 13
    assert all(size <= 2 * MAX_BLOCK_BYTES or count <= 2 for _, count, size in found)


def test_only_pending_rows_travel(tmp_path: Path) -> None:
    store, draw = make_draw(MemoryStore("pending"), {"a": Rows(words(50), [Given(row) for row in range(50)])})
    cuttings = cut_outputs(store.objects, draw, [Way(4096)])
    counts = cuttings[Way(4096)].outputs[0].counts
    pending = np.zeros(len(counts), np.bool_)
    pending[[1, 4]] = True
    strata = tuple(tuple(one.stratum for one in output.strata) for output in draw.plan.outputs)
    export_run = ExportRun(store, ScratchDisk(tmp_path), (TEXT,), (), (), 7, "plan", "")
    found = mixed_rows(export_run, ExportDetails(cuttings, strata, pending), with_keys(()), draw.shards[0])
    partitions = np.concatenate([of for _, of in found])
    assert dict(zip(*np.unique(partitions, return_counts=True), strict=True)) == {1: counts[1], 4: counts[4]}


def test_row_groups_without_a_drawn_row_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_parquet, "LEAST_BLOCK_BYTES", 1)
    store, draw = make_draw(LocalStore(tmp_path), {"a": Rows(words(40), [])}, row_group_rows=10)
    path = draw.shards[0].objects["samples"]
    group = pq.ParquetFile(tmp_path / path).metadata.row_group(1)
    columns = [group.column(number) for number in range(group.num_columns)]
    text = next(one for one in columns if one.path_in_schema == "text")
    raw = bytearray((tmp_path / path).read_bytes())
    raw[text.data_page_offset : text.data_page_offset + text.total_compressed_size] = bytes(text.total_compressed_size)
    (tmp_path / path).write_bytes(raw)

    def read(rows: list[int]) -> list[str]:
        found = read_picked(store.objects, {"samples": path}, [TEXT], np.array(rows))
        return [text for _, columns in found for text in columns["samples.text"].to_pylist()]

    assert read([3, 9, 20, 39]) == [words(40)[row] for row in (3, 9, 20, 39)]
    with assert_refused(StoreError, path, "'winnow ingest RECIPE'"):
        read([3, 12])


def test_a_row_that_there_is_not_is_named(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path), {"a": Rows(words(4), [])})
    with assert_refused(StoreError, "row 4", "'winnow audit'"):
        list(read_picked(store.objects, draw.shards[0].objects, [TEXT], np.array([0, 4])))


def test_places_are_successive_shards_whose_rows_leave_in_shared_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = {f"s{number}": every(words(20, 20 * number)) for number in range(9)}
    store, draw = make_draw(MemoryStore("places"), shards)
    cuttings = cut_outputs(store.objects, draw, [Way(4096)])
    assert drawn_groups(draw, cuttings) == [range(9)]
    groups_for = partial(shard_groups.groups_for, group_bytes=3 * OPENING_BYTES)
    monkeypatch.setattr(shard_groups, "groups_for", groups_for)
    places = list(drawn_places(draw, drawn_groups(draw, cuttings)))
    assert [shard for place in places for shard in place.shards] == list(draw.shards)
    assert [place.number for place in places] == [0, 1, 2, 3]
    partitions = cuttings[Way(4096)].shards
    strata = tuple(tuple(one.stratum for one in output.strata) for output in draw.plan.outputs)
    scratch = MemoryStore("places-scratch")
    details = put_details(scratch, ExportDetails(cuttings, strata, np.ones(partitions, np.bool_)))
    read = ReadDrawn(ExportRun(store, scratch, (TEXT,), (), (), 7, "plan", details), Route(4, partitions))
    read.setup()
    blocks = [block for place in places for block in read.process(place.to_json())]
    assert len(blocks) <= len(places) * partitions
    assert sum(block.batch.num_rows for block in blocks) == 180
    assert {block.origin for block in blocks} == {f"place-{number:08d}" for number in range(4)}
