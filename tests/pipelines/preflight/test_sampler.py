"""The first records of files: read once for several checks, in bounded memory, and no further than is asked for."""

import json
from pathlib import Path
from typing import BinaryIO

import pytest

from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.rows import Row, SourceRows
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.preflight import sampler as room
from winnow.pipelines.preflight.sampler import Sampled, Sampler, even_files
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.local import LocalStore


class Counting(LocalStore):
    """A folder that counts how often its files are opened."""

    opened = 0

    def open(self, path: str) -> BinaryIO:
        """Open a file."""
        self.opened += 1
        return super().open(path)


@pytest.fixture
def lines(tmp_path: Path) -> tuple[IngestSource, Counting, ObjectInfo]:
    """A source of a file of twenty lines."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"text {number}"}) + "\n" for number in range(20)))
    objects = Counting(tmp_path)
    (info,) = objects.list()
    return IngestSource(SourceRows("a", "web", "", ()), objects, "auto", ColumnMapping(url=None)), objects, info


def texts(sampled: list[Sampled | None]) -> list[str]:
    """The texts of the rows among them."""
    return [str(one.row.text) for one in sampled if one is not None and isinstance(one.row, Row)]


def test_a_file_is_read_once_for_all_that_ask_for_no_more(lines: tuple[IngestSource, Counting, ObjectInfo]) -> None:
    source, objects, info = lines
    sampler = Sampler()
    first = texts(list(sampler.first(source, info, 10)))
    assert first == [f"text {number}" for number in range(10)]
    assert texts(list(sampler.first(source, info, 10))) == first
    assert texts(list(sampler.first(source, info, 3))) == first[:3]
    assert objects.opened == 1
    assert len(texts(list(sampler.first(source, info, 1000)))) == 20
    assert len(texts(list(sampler.first(source, info, 2000)))) == 20
    assert objects.opened == 2


def test_what_is_not_taken_is_not_kept_and_read_when_it_is(lines: tuple[IngestSource, Counting, ObjectInfo]) -> None:
    source, objects, info = lines
    sampler = Sampler()
    reading = sampler.first(source, info, 1000)
    assert next(reading) is not None
    reading.close()  # type: ignore[attr-defined]
    assert len(texts(list(sampler.first(source, info, 1000)))) == 20
    assert objects.opened == 2


def test_records_beyond_the_limit_are_read_again(
    lines: tuple[IngestSource, Counting, ObjectInfo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_HELD", 30)
    source, objects, info = lines
    sampler = Sampler()
    for opened in (1, 2):
        assert texts(list(sampler.first(source, info, 1000))) == [f"text {number}" for number in range(20)]
        assert objects.opened == opened


def test_a_file_that_is_gone_ends_with_nothing(
    lines: tuple[IngestSource, Counting, ObjectInfo], tmp_path: Path
) -> None:
    source, _, info = lines
    (tmp_path / "a.jsonl").unlink()
    sampler = Sampler()
    assert list(sampler.first(source, info, 5)) == [None]
    assert list(sampler.first(source, info, 5)) == [None]


def test_files_are_chosen_evenly_and_empty_ones_not(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text("x" * (number % 2))
    files = sorted(LocalStore(tmp_path).list(), key=lambda info: info.path)
    assert [info.path for info in even_files(files, 5)] == ["1.txt", "3.txt", "5.txt", "7.txt", "9.txt"]
    assert [info.path for info in even_files(files, 2)] == ["3.txt", "7.txt"]
