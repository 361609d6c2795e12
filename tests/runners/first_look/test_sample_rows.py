"""A look meets all parts of the files, and never calls unreadable what it cut off itself."""

import gzip
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.rows import SourceRows
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look import sample_rows as module
from winnow.runners.first_look.sample_rows import SampledRows, sample_rows

LANGUAGES = "abcdefg"
EACH = 2_000
"""Lines of each of seven languages, one after another: some MiB, which compress to more than one window."""


def lines() -> list[bytes]:
    words = random.Random(7)
    return [
        orjson.dumps({"text": f"{language} {words.randbytes(150).hex()}", "language": language}) + b"\n"
        for language in LANGUAGES
        for _ in range(EACH)
    ]


def blocks(rows: list[bytes]) -> list[bytes]:
    return [b"".join(rows[at : at + 500]) for at in range(0, len(rows), 500)]


def sampled(folder: Path, most: int = 210) -> SampledRows:
    objects = open_location(str(folder))
    source = IngestSource(SourceRows("s", "own", "unknown", ()), objects, "auto", ColumnMapping())
    return sample_rows(source, list(objects.list()), most)


def languages(found: SampledRows) -> Counter[str]:
    return Counter(str(row.text)[0] for row in found.rows)


def is_even(counts: Counter[str], of: Iterable[str]) -> bool:
    """Whether none is met less than half as often as it should be."""
    share = counts.total() / len([*of])
    return counts.keys() == {*of} and min(counts.values()) > share / 2


@pytest.mark.parametrize("kind", ["plain", "stream", "members", "zst", "csv", "group", "groups"])
def test_rows_are_from_all_over_a_file(kind: str, tmp_path: Path) -> None:
    rows = lines()
    whole = b"".join(rows)
    if kind == "plain":
        (tmp_path / "a.jsonl").write_bytes(whole)
    elif kind == "stream":
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(whole, 1))
    elif kind == "members":
        (tmp_path / "a.jsonl.gz").write_bytes(b"".join(gzip.compress(block, 1) for block in blocks(rows)))
    elif kind == "zst":
        (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(whole, 1))
    elif kind == "csv":
        texts = [orjson.loads(row)["text"] for row in rows]
        (tmp_path / "a.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    else:
        table = pa.Table.from_pylist([orjson.loads(row) for row in rows])
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=700 if kind == "groups" else len(rows))
    found = sampled(tmp_path)
    assert is_even(languages(found), LANGUAGES)
    assert len({row.key for row in found.rows}) == len(found.rows)  # no row twice
    assert (found.quarantined.total(), found.unreadable, found.read_of, found.large) == (0, {}, {}, 0)


@pytest.mark.parametrize("long", [0, 2 << 20])
def test_no_row_is_read_twice_where_places_lie_close(long: int, tmp_path: Path) -> None:
    rows = lines()[:: EACH // 50]  # fewer than are asked for
    rows[100] = orjson.dumps({"text": "c" + "x" * long}) + b"\n"  # it may lie over several places
    (tmp_path / "a.jsonl").write_bytes(b"".join(rows))
    found = sampled(tmp_path, 2_000)
    assert len({row.key for row in found.rows}) == len(found.rows)
    assert len(found.rows) == len(rows) or long


def test_rows_are_from_all_over_many_files(tmp_path: Path) -> None:
    for number, row in enumerate(lines()[:: EACH // 100]):
        (tmp_path / f"{number:05}.txt").write_text(orjson.loads(row)["text"])
    assert is_even(languages(sampled(tmp_path)), LANGUAGES)


def test_small_files_beside_a_large_one_are_met(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines()))
    for number in range(30):
        (tmp_path / f"b{number}.jsonl").write_text('{"text": "z small"}\n')
    assert languages(sampled(tmp_path))["z"] == 30


@pytest.mark.parametrize("ending", ["jsonl.gz", "jsonl.zst", "csv"])
def test_what_a_limit_cuts_off_is_said_and_not_called_unreadable(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STREAM_BYTES", 0)
    whole = b"".join(lines() * 4)
    if ending == "csv":
        whole = b"text\n" + whole.replace(b",", b";").replace(b'"', b"")
    packed = {"jsonl.gz": lambda: gzip.compress(whole, 1), "jsonl.zst": lambda: zstandard.compress(whole, 1)}
    (tmp_path / f"a.{ending}").write_bytes(packed[ending]() if ending in packed else whole)
    found = sampled(tmp_path)
    read, size = found.read_of[f"a.{ending}"]
    assert 0 < read < size == (tmp_path / f"a.{ending}").stat().st_size
    assert found.rows
    assert found.quarantined.total() == 0


def test_what_inflates_without_end_is_left_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INFLATED_BYTES", 4 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "again and again"}\n' * 400_000, 9))
    found = sampled(tmp_path)
    assert 0 < len(found.rows) <= 210
    assert "a.jsonl.gz" in found.read_of


def test_a_cut_that_is_in_the_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines()[:400]), 1)[:-2_000])
    found = sampled(tmp_path, 10_000)
    assert set(found.quarantined) <= {"truncated", "corrupt_member"}
    assert found.quarantined.total() > 0
    assert found.read_of == {}


def test_a_record_over_the_limit_of_a_look_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMITS", ReadLimits(max_body_bytes=1_000))
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "%s"}\n{"text": "short"}\n' % (b"x" * 2_000))
    found = sampled(tmp_path)
    assert (len(found.rows), found.large, found.quarantined.total()) == (1, 1, 0)
