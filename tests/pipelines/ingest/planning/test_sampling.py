"""What a few windows of a source's files say of all of them."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.pipelines.ingest.made_archives import Capture, warc_record
from winnow.pipelines.ingest.planning import sampling
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import Densities, Density, sample_densities
from winnow.pipelines.ingest.rows import SourceRows
from winnow.pipelines.ingest.sections import section
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.store.location import open_location

ROWS = 4000
FIRST = [random.Random(number).randrange(997) for number in range(ROWS)]
TEXTS = [" ".join(f"word{FIRST[n] * k % 997}" for k in range(1, 60 + n % 90)) for n in range(ROWS)]
TEXT_BYTES = sum(map(len, TEXTS))


def lines(first: int, last: int) -> bytes:
    return b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXTS[first:last])


def archive(folder: Path) -> None:
    with open(folder / "a.warc.gz", "wb") as stream:
        for number, text in enumerate(TEXTS):
            html = f"<html><script>{text}</script><p class='{text[:200]}'>{text}</p></html>".encode()
            stream.write(gzip.compress(warc_record(Capture(f"https://a.example/{number}", html), number), 1))


def plain(folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(lines(0, ROWS))


def one_member(folder: Path) -> None:
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines(0, ROWS), 1))


def frames(folder: Path) -> None:
    (folder / "a.jsonl.zst").write_bytes(
        b"".join(zstandard.compress(lines(at, at + 200)) for at in range(0, ROWS, 200))
    )


def table(folder: Path) -> None:
    pq.write_table(pa.table({"text": TEXTS, "other": list(range(ROWS))}), folder / "a.parquet", row_group_size=500)


def documents(folder: Path) -> None:
    for number, text in enumerate(TEXTS[:400]):
        (folder / f"{number:04d}.txt").write_text(text)


def sampled(folder: Path) -> Densities:
    source = IngestSource(SourceRows("s", "web", "", (200,)), open_location(str(folder)), "auto", ColumnMapping())
    return sample_densities(source, list(source.objects.list()))


def only(densities: Densities) -> Density:
    (density,) = densities.found.values()
    return density


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "WINDOW_BYTES", 32 << 10)


@pytest.mark.parametrize("write", [archive, plain, one_member, frames, table], ids=lambda write: write.__name__)
def test_rows_and_text_are_estimated(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    density = only(sampled(tmp_path))
    assert density.rows * size == pytest.approx(ROWS, rel=0.12)
    assert density.text * size == pytest.approx(TEXT_BYTES, rel=0.12)
    assert sampled(tmp_path) == sampled(tmp_path)


def test_files_are_met_in_proportion_to_their_size(tmp_path: Path) -> None:
    documents(tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert only(sampled(tmp_path)).text * size == pytest.approx(size)
    plain(tmp_path)
    assert set(sampled(tmp_path).found) == {"jsonl ", "file "}  # a fifth of the bytes are documents


def test_what_can_be_cut_is_seen(tmp_path: Path) -> None:
    one_member(tmp_path)
    assert not sampled(tmp_path).is_splittable("auto", "x.jsonl.gz")
    frames(tmp_path)
    found = sampled(tmp_path)
    assert found.is_splittable("auto", "x.jsonl.zst")
    assert not found.is_splittable("auto", "x.jsonl.gz")
    assert found.is_splittable("auto", "x.jsonl")
    assert not found.is_splittable("auto", "x.html")


@pytest.mark.parametrize(("write", "rows"), [(frames, 200), (table, 500)], ids=["frames", "row groups"])
def test_the_pieces_of_a_file_are_measured(tmp_path: Path, write: Callable[[Path], None], rows: int) -> None:
    write(tmp_path)
    assert only(sampled(tmp_path)).piece == pytest.approx(TEXT_BYTES * rows / ROWS, rel=0.2)


def test_a_source_of_damage_is_sampled_in_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "__defaults__", (1 << 20,))  # the most that is read of a file
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(0, 10)) + b"\x1f\x8b\x08\0\0\0\0\0\0\0\xff" * 100_000)
    (tmp_path / "b.warc").write_bytes(warc_record(Capture("https://a.example/", bytes(3 << 20))))
    (tmp_path / "c.parquet").write_bytes(bytes(500_000))
    (tmp_path / "d.jsonl.bz2").write_bytes(b"BZh" + bytes(500_000))
    (tmp_path / "e.jsonl").write_bytes(b"PAR1" + bytes(500_000))
    found = sampled(tmp_path)
    assert not found.with_members
    assert found.found["warc "].text == 0
    assert "jsonl " not in found.found  # refused, as by the task that would read it


def test_a_file_that_has_gone_is_passed_over(tmp_path: Path) -> None:
    documents(tmp_path)
    source = IngestSource(SourceRows("s", "web", "", (200,)), open_location(str(tmp_path)), "auto", ColumnMapping())
    listed = list(source.objects.list())
    for path in tmp_path.iterdir():
        path.unlink()
    assert sample_densities(source, listed) == Densities()
