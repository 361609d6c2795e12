"""Batches, and what the steps of the transforms make of one: functions alone, without a pipeline."""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.pipelines.annotate.task import LoadedOperators
from winnow.pipelines.dedupe.clusters import edges_batch, edges_of
from winnow.pipelines.ingest.records import Dropped, Unreadable
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.transforms import batches as batches_module
from winnow.pipelines.transforms.annotate import _bound, annotated
from winnow.pipelines.transforms.batches import (
    TEXTS,
    _Gather,
    _rows,
    batch_of_rows,
    column_of_batch,
    named_column,
    recipe_of,
)
from winnow.pipelines.transforms.near_duplicates import NearDuplicates
from winnow.pipelines.transforms.near_steps import (
    CERTAIN,
    CLUSTER,
    REPRESENTATIVE,
    ROW,
    SIZE,
    find_candidates,
    join_edges,
    mark_rows,
    numbered_rows,
    require_once,
    signed_rows,
    verify_by_text,
)
from winnow.pipelines.transforms.read_samples import ReadSamples, read_samples, refused_batch
from winnow.schemas.errors import RecipeError, SourceError, StageError
from winnow.schemas.identity import digest

SOURCE = pa.struct([("name", pa.string()), ("place", pa.struct([("offset", pa.int64())]))])


def batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_a_column_is_one_by_its_name_or_a_field_of_a_struct() -> None:
    rows = pa.record_batch(
        {
            "id": ["a", "b"],
            "source": pa.array([{"name": "x", "place": {"offset": 7}}, None], SOURCE),
            "source.name": ["own", "other"],
        }
    )
    assert named_column("T", rows, "id").to_pylist() == ["a", "b"]
    assert named_column("T", rows, "source.name").to_pylist() == ["own", "other"]  # the column, not the field
    assert named_column("T", rows, "source.place.offset").to_pylist() == [7, None]
    for name in ("nothing", "source.place.length", "source.name.first", "id.first", "nothing.name"):
        with pytest.raises(StageError, match=f"'{name}'"):
            named_column("T", rows, name)
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(StageError, match="more than one"):
        named_column("T", twice, "a")
    with pytest.raises(StageError, match="dict"):
        named_column("T", {"id": "a"}, "id")


@pytest.mark.parametrize(
    ("values", "kind", "fits"),
    [
        (pa.array(["a"]), pa.large_string(), True),
        (pa.array(["a"]).dictionary_encode(), pa.large_string(), True),
        (pa.array([None]), pa.large_string(), True),
        (pa.array([b"a"]), pa.large_string(), False),
        (pa.array([b"a"]), pa.large_binary(), True),
        (pa.array([1]), pa.large_string(), False),
        (pa.array(["1"]), pa.int64(), False),
        (pa.array([1], pa.int8()), pa.float64(), True),
        (pa.array([1.5]), pa.int64(), False),  # the value would be another
        (pa.array([300]), pa.int8(), False),
        (pa.array([True]), pa.int64(), False),
        (pa.array([True]), pa.bool_(), True),
        (pa.array([["a"]]), pa.list_(pa.large_string()), True),
        (pa.array([["a"]]), pa.list_(pa.int64()), False),
        (pa.array([["a"]]), pa.string(), False),
        (pa.array([{"a": 1}]), pa.struct([("a", pa.float64())]), True),
        (pa.array([{"a": "1"}]), pa.struct([("a", pa.float64())]), False),
    ],
)
def test_a_cast_changes_how_values_are_kept_not_what_they_are(values: pa.Array, kind: pa.DataType, fits: bool) -> None:
    rows = pa.RecordBatch.from_arrays([values], ["a"])
    if fits:
        assert column_of_batch("T", rows, "a", kind).type == kind
        return
    with pytest.raises(StageError, match="'a'"):
        column_of_batch("T", rows, "a", kind)


def test_rows_become_a_batch_of_the_schema_and_the_first_that_does_not_fit_is_named() -> None:
    named = namedtuple("named", ["text", "id"])
    made = batch_of_rows([{"id": "a"}, named(None, "b"), {"text": "x", "id": "c"}], TEXTS)
    assert made.to_pydict() == {"id": ["a", "b", "c"], "text": [None, None, "x"]}
    assert made.schema == TEXTS
    for rows, name in (
        ([{"id": "a"}, {"id": "b", "txt": "x", "a": 1}], "'a'"),
        ([{"text": "x"}], "'id'"),
        ([{"id": 3}], "'id'"),
        ([{"id": "a", "text": b"\xff"}], "'text'"),
        ([{"id": "a"}, ["b"]], "list"),
    ):
        with pytest.raises(StageError, match=name):
            batch_of_rows(cast("list[Any]", rows), TEXTS)


def test_a_batch_is_full_by_its_rows_or_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_module, "BATCH_ROWS", 3)
    monkeypatch.setattr(batches_module, "BATCH_BYTES", 10)

    def sizes(lengths: Sequence[int]) -> list[int]:
        gather = _Gather(TEXTS)
        gather.start_bundle()
        found = [made for length in lengths for made in gather.process({"id": "i", "text": "x" * length})]
        found += [left.value for left in gather.finish_bundle()]
        return [made.num_rows for made in found]

    assert sizes([0] * 7) == [3, 3, 1]
    assert sizes([9, 8, 0, 9]) == [1, 2, 1]
    assert sizes([0] * 3) == [3]
    assert sizes([]) == []
    gather = _Gather(TEXTS)
    assert [*gather.process({"id": "failed"})] == []
    gather.start_bundle()
    assert [*gather.finish_bundle()] == []
    many = batch(id=[*range(7)])
    assert [row["id"] for row in _rows(many)] == [*range(7)]


def test_options_are_those_of_a_recipe() -> None:
    source = {"a": {"root": ".", "files": ["*"], "class": "web"}}
    made = recipe_of("T", {"sources": source, "text": "samples.text"})
    assert ([one.name for one in made.sources], made.text) == (["a"], ("samples.text",))
    with pytest.raises(RecipeError, match="T"):
        recipe_of("T", {"text": object()})
    bad: tuple[tuple[Mapping[str, Any], str], ...] = (
        ({"options": {"min_similarity": 7}}, "min_similarity"),
        ({"options": ["fineweb"]}, "list"),
        ({"keep": "some"}, "'some'"),
        ({"partitions": 0}, "not 0"),
        ({"partitions": (1 << 16) + 1}, "65537"),
        ({"partitions": 2.0}, "2.0"),
    )
    for arguments, said in bad:
        with pytest.raises(RecipeError, match=said):
            NearDuplicates(**arguments)
    assert NearDuplicates(partitions=1 << 16, keep="representatives")._partitions == 1 << 16


def near(**options: Any) -> Any:
    return near_settings(NearConfig(**options))


def test_rows_are_numbered_by_their_ids_and_those_with_words_are_signed() -> None:
    for values in (
        pa.array(["a", "b"]),
        pa.array([b"a", b"b"]),
        pa.array([1, 2]),
        pa.array(["a", "b"], pa.large_string()),
    ):
        wanted = [int.from_bytes(digest(one, size=8), "little") for one in values.to_pylist()]
        assert numbered_rows(pa.RecordBatch.from_arrays([values], ["id"]), "id").tolist() == wanted
    for wrong in (pa.array(["a", None]), pa.array([1.5]), pa.array([["a"]])):
        with pytest.raises(StageError, match="'id'"):
            numbered_rows(pa.RecordBatch.from_arrays([wrong], ["id"]), "id")
    texts = ["one two three four five six seven", "", None, "— !", "one two three four five six eight"]
    rows = pa.record_batch({"text": texts, ROW: pa.array(range(5), pa.uint64())})
    signed = signed_rows(rows, "text", near())
    assert signed["row"].to_pylist() == [0, 4]
    assert signed["text"].to_pylist() == [texts[0], texts[4]]


def joined(blocks: Sequence[AddressedBlock], start: str) -> pa.RecordBatch:
    parts = [block.batch for block in blocks if block.origin.startswith(start)]
    return (
        pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
        if parts
        else edges_batch((np.zeros(0, np.uint64),) * 2)
    )


def test_equal_rows_are_joined_at_once_and_others_that_share_a_key_are_candidates() -> None:
    words = [bytes([one]) * 16 for one in (1, 2, 1, 3, 1)]
    rows = np.array([50, 40, 30, 20, 10], np.uint64)
    sent = pa.RecordBatch.from_arrays(
        [pa.array([7, 7, 7, 8, 9], pa.uint64()), pa.array(rows), pa.array(words, pa.binary(16))],
        ["key", "row", "digest"],
    )
    blocks = [*find_candidates(near(), 4, 2, [sent.slice(0, 2), sent.slice(2)])]
    joint = components(*edges_of([joined(blocks, CERTAIN)]))
    assert dict(zip(*(one.tolist() for one in joint), strict=True)) == {10: 10, 30: 10, 50: 10}


def test_pairs_that_share_enough_shingles_are_edges() -> None:
    words = [f"word{number}" for number in range(60)]
    texts = {1: " ".join(words), 2: " ".join([*words, "more"]), 3: " ".join(words[:30])}
    values = pa.record_batch(
        {"row": pa.array([3, 1, 2], pa.uint64()), "value": pa.array([texts[3], texts[1], texts[2]], pa.large_string())}
    )
    firsts = pa.record_batch(
        {
            "first": pa.array([1, 1], pa.uint64()),
            "second": pa.array([2, 3], pa.uint64()),
            "value": pa.array([texts[1], texts[1]], pa.large_string()),
        }
    )
    (block,) = verify_by_text(near(), 5, [values, firsts])
    assert block.batch.to_pydict() == {"first": [1], "second": [2]}
    (none,) = verify_by_text(near(), 5, [values])
    assert none.batch.num_rows == 0


def marked(keep: str, members: pa.RecordBatch | None, *ids: str) -> list[dict[str, Any]]:
    rows = pa.record_batch({"id": [*ids], ROW: pa.array([int(one) for one in ids], pa.uint64())})
    parts = [rows.slice(0, 1), *([] if members is None else [members]), rows.slice(1)]
    return [row for made in mark_rows("id", keep, 0, parts) for row in made.to_pylist()]


def test_rows_are_marked_with_their_clusters_and_one_of_each_represents_it() -> None:
    edges = edges_batch((np.array([3, 9], np.uint64), np.array([5, 7], np.uint64)))
    blocks = [*join_edges(1, 0, [edges, edges_batch((np.array([9], np.uint64), np.array([3], np.uint64)))])]
    (members,) = [block.batch for block in blocks]
    found = marked("all", members, "5", "4", "3")
    assert [(row["id"], row[CLUSTER], row[SIZE], row[REPRESENTATIVE]) for row in found] == [
        ("5", f"{3:016x}", 4, False),
        ("4", None, 1, True),
        ("3", f"{3:016x}", 4, True),
    ]
    assert [row["id"] for row in marked("representatives", members, "5", "4", "3")] == ["4", "3"]
    assert marked("representatives", members, "5") == []
    assert [(row[CLUSTER], row[SIZE], row[REPRESENTATIVE]) for row in marked("all", None, "5")] == [(None, 1, True)]
    with pytest.raises(StageError, match="'5'"):
        marked("all", members, "5", "4", "5")
    require_once("id", ("name", ["'a'"]))
    with pytest.raises(StageError, match="'a'"):
        require_once("id", ("name", ["'a'", "'b'"]))


def test_operators_read_the_batch_and_those_before_them() -> None:
    operators = _bound([{"text.length": {"where": "samples.url IS NOT NULL"}}, "url.canonical"])
    loaded = LoadedOperators()
    for bound in operators:
        loaded.load(bound)
    rows = batch(url=["https://www.a.example/x", None], body=["Short.", None])
    found = annotated(rows, operators, loaded, "body")
    assert found["text.length.status"].to_pylist() == ["ok", "not_selected"]
    assert found["url.canonical.status"].to_pylist() == ["ok", "no_input"]
    assert found.schema.names[:2] == ["url", "body"]
    with pytest.raises(StageError, match=r"'text\.length\.status'"):
        annotated(rows.append_column("text.length.status", pa.array(["a", "b"])), operators, loaded, "body")
    several: tuple[Any, ...] = ([], "text.length", {"text.length": {}}, None)
    for wrong in several:
        with pytest.raises(RecipeError, match="Annotate"):
            _bound(wrong)
    for operator in ("image.pdq", "caption.length"):
        with pytest.raises(RecipeError, match=operator):
            _bound([operator])


def test_files_become_batches_of_samples_and_lines_of_what_became_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        b'{"id": "a", "text": "one"}',
        b"{",
        b'{"id": "b", "text": ""}',
        b'{"id": "a", "text": "two"}',
        b'{"id": "c", "text": "three"}',
    ]
    raw = b"\n".join(lines) + b"\n"
    (tmp_path / "x.jsonl").write_bytes(raw)
    reading = ReadSamples({"root": str(tmp_path), "files": ["*.jsonl"], "key": "id"}, name="mine")._reading
    monkeypatch.setattr("winnow.pipelines.transforms.read_samples.BATCH_ROWS", 1)
    found = [*read_samples(reading, "x.jsonl", len(raw))]
    made = [one for one in found if isinstance(one, pa.RecordBatch)]
    assert [one["text"].to_pylist() for one in made] == [["one"], ["three"]]
    refused = [one for one in found if isinstance(one, Dropped | Unreadable)]
    table = refused_batch("mine", "x.jsonl", refused).to_pylist()
    assert [row["reason"] for row in table] == ["bad_json", "empty", "duplicate_id"]
    ends = np.cumsum([len(line) + 1 for line in lines]).tolist()
    assert [row["offset"] for row in table] == ends[:3]
    assert {row["path"] for row in table} == {"x.jsonl"}
    for path, size in (("x.jsonl", len(raw) - 1), ("gone.jsonl", 3)):
        with pytest.raises(SourceError, match=path):
            [*read_samples(reading, path, size)]
    several: tuple[dict[str, Any], ...] = ({"main": {}, "fast": {}}, {})
    for wrong in several:
        with pytest.raises(RecipeError, match="extract"):
            ReadSamples({"root": str(tmp_path), "files": ["*"]}, extract=wrong)
