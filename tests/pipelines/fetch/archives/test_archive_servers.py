"""Servers of archives that throttle, break off, lie and lose files; and indexes that lie."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow.parquet as pq
import pytest

from tests.pipelines.fetch.archives.loopback import NAME, Answer, Crawl, Misbehave, Server, pages
from tests.pipelines.fetch.archives.test_archives import ICELANDIC, ask, ingested
from winnow.pipelines.fetch.archives import downloads, ranges
from winnow.pipelines.fetch.archives.record_check import flaw_of
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.fetch.archives.stage import ArchiveAsk, fetch_archive, pending_tasks, plan_archive
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe.fetch import ArchiveQuery, FetchConfig


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    return Crawl(tmp_path_factory.mktemp("crawl"), pages(240), files=2)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(downloads, "LONGEST_WAIT_SECONDS", 0.05)


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many requests, as of a large crawl."""
    monkeypatch.setattr(ranges, "RANGE_BYTES", 1_000)


def fetched(folder: Path, crawl: Crawl, misbehave: Misbehave | None, **config: object) -> tuple[ArchiveAsk, Server]:
    with Server(crawl.folder, misbehave) as server:
        query = ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data=server.address, robots=False)
        asked = ask(folder, query, FetchConfig(**config))  # type: ignore[arg-type]
        fetch_archive(plan_archive(asked), asked)
    return asked, server


def files_of(asked: ArchiveAsk) -> dict[str, bytes]:
    return {info.path: asked.objects.read(info.path) for info in asked.objects.list("warc/")}


def reasons(asked: ArchiveAsk) -> Counter[str]:
    return Counter(read_log(asked.objects)["reason"].to_pylist())


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory, crawl: Crawl) -> dict[str, bytes]:
    return files_of(fetched(tmp_path_factory.mktemp("calm"), crawl, None)[0])


def every(number: int, answer: Answer) -> Misbehave:
    return lambda _, count: answer if count % number else None


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize(
    "misbehave",
    [
        every(3, Answer(503)),
        every(2, Answer(429, {"Retry-After": "0"})),
        lambda _, count: None if count % 3 else Answer(403),
        every(2, Answer(206, cut=700)),
        every(2, Answer(206, cut=0)),
        lambda _, count: Answer(503) if count <= 40 else None,
    ],
    ids=["503", "429", "403", "cut", "nothing", "storm"],
)
def test_the_files_are_the_same_whatever_the_server_does(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes], misbehave: Misbehave
) -> None:
    # Which of two open requests meets the next mischief is chance: eight times in a row it met the same one.
    asked, server = fetched(tmp_path, crawl, misbehave, attempts=20)
    assert files_of(asked) == calm
    assert reasons(asked) == {"ok": 80}
    assert server.requests > 40


@pytest.mark.usefixtures("small_ranges")
def test_no_more_requests_are_open_at_once_than_the_recipe_says(tmp_path: Path, crawl: Crawl) -> None:
    _, server = fetched(tmp_path, crawl, None, per_endpoint=3)
    assert server.most_at_once <= 3


def test_a_range_that_breaks_off_is_continued_where_it_ended(tmp_path: Path, crawl: Crawl) -> None:
    asked, server = fetched(tmp_path, crawl, lambda _, count: Answer(206, cut=1_000) if count == 1 else None)
    assert max(read_log(asked.objects)["attempts"].to_pylist()) == 2
    path, span = server.asked[0]
    first, last = span.removeprefix("bytes=").split("-")
    assert (path, f"bytes={int(first) + 1_000}-{last}") in server.asked


@pytest.mark.usefixtures("small_ranges")
def test_a_pause_that_the_server_asks_for_stops_all_requests(tmp_path: Path, crawl: Crawl) -> None:
    _, server = fetched(
        tmp_path, crawl, lambda _, count: Answer(503, {"Retry-After": "1"}) if count == 5 else None, per_endpoint=4
    )
    before = [moment for moment in server.moments if moment < server.moments[4]]
    during = [moment for moment in server.moments if server.moments[4] + 0.2 < moment < server.moments[4] + 0.9]
    assert len(before) == 4
    assert during == []


def lie(crawl: Crawl, folder: Path, change: Callable[[int, dict[str, object]], dict[str, object]]) -> Path:
    """A copy of the index in which some rows are changed."""
    rows = [change(number, row) for number, row in enumerate(crawl.index_rows())]
    path = folder / f"crawl={NAME}" / "subset=warc" / "part.parquet"
    path.parent.mkdir(parents=True)
    crawl.write_index(str(path), rows)
    return folder


LIES: dict[str, tuple[Callable[[dict[str, object]], dict[str, object]], str]] = {
    "offset": (lambda row: {"warc_record_offset": int(str(row["warc_record_offset"])) + 7}, "no_record"),
    "short": (lambda row: {"warc_record_length": int(str(row["warc_record_length"])) - 9}, "no_record"),
    "long": (lambda row: {"warc_record_length": int(str(row["warc_record_length"])) + 9}, "no_record"),
    "address": (lambda _: {"url": "https://www.site0.is/another"}, "no_record"),
    "beyond": (lambda _: {"warc_record_offset": 2_000_000_000}, "no_record"),
    "huge": (lambda _: {"warc_record_length": 2_000_000_000}, "too_large"),
    "file": (lambda _: {"warc_filename": "crawl-data/none.warc.gz"}, "no_archive"),
    "above": (lambda _: {"warc_filename": "../../etc/passwd"}, "no_archive"),
}


@pytest.mark.parametrize(
    ("how", "local"), [*((how, True) for how in LIES), *((how, False) for how in ("short", "beyond", "file", "above"))]
)
def test_a_row_of_the_index_that_lies_costs_itself_alone(tmp_path: Path, crawl: Crawl, how: str, local: bool) -> None:
    change, reason = LIES[how]
    index = lie(crawl, tmp_path / "index", lambda number, row: row | change(row) if number % 40 == 0 else row)
    with Server(crawl.folder) as server:
        data = str(crawl.folder) if local else server.address
        asked = ask(
            tmp_path / "out",
            ArchiveQuery(crawl=NAME, where="fetch_status = 200", index=str(index), data=data, robots=False),
        )
        fetch_archive(plan_archive(asked), asked)
    assert reasons(asked) == {"ok": 240 - 6, reason: 6}  # also where several name one place, as "beyond" does
    if how == "short":
        assert len(ingested(tmp_path / "out", LocalStore(tmp_path / "out"))) == 234


@pytest.mark.parametrize("how", ["file", "above", "beyond"])
def test_what_is_no_place_is_not_referred_to(tmp_path: Path, crawl: Crawl, how: str) -> None:
    change, reason = LIES[how]
    index = lie(crawl, tmp_path / "index", lambda number, row: row | change(row) if number % 40 == 0 else row)
    where = "fetch_status = 200"
    with Server(crawl.folder) as server:
        for place, data in (("http", server.address), ("folder", str(crawl.folder))):
            query = ArchiveQuery(
                crawl=NAME, where=where, index=str(index), data=data, robots=False, fetch="by_reference"
            )
            asked = ask(tmp_path / place, query)
            fetch_archive(plan_archive(asked), asked)
            told = reasons(asked)
            assert told["ok"] == 234
            assert set(told) == {"ok", reason}
        rows = ingested(tmp_path / "folder", RangedObjects(LocalStore(tmp_path / "folder"))) if how == "file" else []
    assert len(rows) == (234 if how == "file" else 0)


def test_a_record_of_another_address_is_quarantined_where_nothing_was_copied(tmp_path: Path, crawl: Crawl) -> None:
    change, _ = LIES["address"]
    index = lie(crawl, tmp_path / "index", lambda number, row: row | change(row) if number % 40 == 0 else row)
    query = ArchiveQuery(crawl=NAME, where="fetch_status = 200", index=str(index), data=str(crawl.folder), robots=False)
    copied, referred = (ask(tmp_path / how, replace(query, fetch=how)) for how in ("copy", "by_reference"))
    for asked in (copied, referred):
        fetch_archive(plan_archive(asked), asked)
    details = {row["detail"] for row in read_log(copied.objects).to_pylist() if row["reason"] == "no_record"}
    quarantined: list[dict[str, object]] = []
    rows = ingested(tmp_path / "by_reference", RangedObjects(referred.objects), quarantined)
    assert len(rows) == 234
    assert [row["id"] for row in rows] == [row["id"] for row in ingested(tmp_path / "copy", copied.objects)]
    assert [row["reason"] for row in quarantined] == ["no_record"] * 6
    assert {row["detail"] for row in quarantined} == details


def test_the_lists_of_references_are_looked_for_once(tmp_path: Path, crawl: Crawl) -> None:
    query = ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data=str(crawl.folder), fetch="by_reference")
    asked = ask(tmp_path, replace(query, robots=False))
    fetch_archive(plan_archive(asked), asked)
    counted = CountedLists(tmp_path)
    objects = RangedObjects(counted)
    (info,) = objects.list("warc/")
    before = len(counted.asked)
    for at in range(0, 5_000, 100):
        assert len(objects.read(info.path, at, 100)) == 100
    assert len(counted.asked) == before + 1
    loaded = pickle.loads(pickle.dumps(objects))  # noqa: S301
    assert loaded == objects
    assert loaded.read(info.path, 0, 9) == objects.read(info.path, 0, 9)


class CountedLists(LocalStore):
    """A folder that counts how often it was listed."""

    asked: ClassVar[list[str]] = []

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        self.asked.append(prefix)
        return super().list(prefix)


def test_a_budget_ends_a_run_and_the_next_one_goes_on(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_BYTES", 1_000)
    asked, _ = fetched(tmp_path, crawl, None, budget_bytes=20_000)
    assert 0 < reasons(asked)["budget"] < 80
    again, _ = fetched(tmp_path, crawl, None)
    assert files_of(again) == calm


def test_a_length_that_takes_in_the_next_record_is_no_record(tmp_path: Path, crawl: Crawl) -> None:
    def change(number: int, row: dict[str, object]) -> dict[str, object]:
        file = crawl.folder / str(row["warc_filename"])
        offset = int(str(row["warc_record_offset"]))
        return row | {"warc_record_length": file.stat().st_size - offset} if number == 5 else row

    index = lie(crawl, tmp_path / "index", change)
    query = ArchiveQuery(crawl=NAME, where="fetch_status = 200", index=str(index), data=str(crawl.folder), robots=False)
    asked = ask(tmp_path / "out", query)
    fetch_archive(plan_archive(asked), asked)
    assert reasons(asked) == {"ok": 239, "no_record": 1}


@pytest.mark.usefixtures("small_ranges")
def test_what_could_not_be_had_is_asked_for_again_and_nothing_else(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes]
) -> None:
    asked, _ = fetched(tmp_path, crawl, lambda path, _: Answer(500) if "00001" in path else None, attempts=1)
    told = reasons(asked)
    assert told["ok"] + told["server_error"] == 80
    assert told["server_error"] > 20
    assert files_of(asked) != calm
    again, server = fetched(tmp_path, crawl, None)
    assert {path.rpartition("-")[2] for path, _ in server.asked} == {"00001.warc.gz"}
    assert files_of(again) == calm
    assert reasons(again) == {"ok": 80}
    _, server = fetched(tmp_path, crawl, None)
    assert server.requests == 0


@pytest.mark.usefixtures("small_ranges")
def test_records_between_those_of_an_earlier_run_are_put_in_their_places(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes]
) -> None:
    asked, _ = fetched(tmp_path, crawl, lambda _, count: Answer(500) if count % 3 == 0 else None, attempts=1)
    assert 10 < reasons(asked)["server_error"] < 60
    fetched(tmp_path, crawl, lambda _, count: Answer(500) if count % 2 == 0 else None, attempts=1)
    again, _ = fetched(tmp_path, crawl, None)
    assert files_of(again) == calm
    for row in read_log(again.objects).to_pylist():
        assert flaw_of(memoryview(again.objects.read(row["warc"], row["offset"], row["length"])), row["url"]) is None


def test_what_the_log_has_decided_is_asked_for_again_if_one_says_so(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes]
) -> None:
    asked, _ = fetched(tmp_path, crawl, lambda path, _: Answer(404) if "00001" in path else None)
    assert reasons(asked)["no_archive"] > 20
    _, server = fetched(tmp_path, crawl, None)
    assert server.requests == 0
    with Server(crawl.folder) as server:
        query = replace(asked.query, data=server.address)
        again = replace(asked, query=query, refetch=frozenset({Reason.NO_ARCHIVE}))
        fetch_archive(plan_archive(again), again)
    assert files_of(again) == calm
    assert pending_tasks(plan_archive(asked), asked) == []


@pytest.mark.usefixtures("small_ranges")
def test_a_server_that_is_gone_ends_the_run_soon_and_the_next_one_goes_on(
    tmp_path: Path, crawl: Crawl, calm: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BREAK_AFTER", 5)
    monkeypatch.setattr(downloads, "LONGEST_WAIT_SECONDS", 60.0)
    query = ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data="http://127.0.0.1:9/", robots=False)
    asked = ask(tmp_path, query, FetchConfig(attempts=2, per_endpoint=2))
    fetch_archive(plan_archive(asked), asked)
    assert set(reasons(asked)) == {"connect", "circuit_open"}
    assert files_of(asked) == {}
    again, _ = fetched(tmp_path, crawl, None)
    assert files_of(again) == calm


def test_a_server_without_ranges_is_refused(tmp_path: Path, crawl: Crawl) -> None:
    asked, server = fetched(tmp_path, crawl, lambda *_: Answer(200))
    assert set(reasons(asked)) == {"protocol"}
    assert server.requests < 10


def test_a_folder_of_another_query_is_not_mixed_with_this_one(tmp_path: Path, crawl: Crawl) -> None:
    fetched(tmp_path, crawl, None)
    other = ask(tmp_path, ArchiveQuery(crawl=NAME, where="fetch_status = 200", data=str(crawl.folder), robots=False))
    with pytest.raises(SourceError, match="another query"):
        plan_archive(other)
    assert pq.read_table(tmp_path / "log" / "cc-main-2026-40-000000.parquet").num_rows == 80


def test_forgotten_addresses_are_not_asked_for(tmp_path: Path, crawl: Crawl) -> None:
    query = ArchiveQuery(crawl=NAME, where=ICELANDIC, index=crawl.index, data=str(crawl.folder), robots=False)
    asked = ArchiveAsk(query, LocalStore(tmp_path), "a", 7, FetchConfig(), forgotten=lambda url: "site3.is" in url)
    fetch_archive(plan_archive(asked), asked)
    rows = read_log(asked.objects).to_pylist()
    assert {row["reason"] for row in rows if "site3.is" in row["url"]} == {"forgotten"}
    assert {row["decision"] for row in rows if "site3.is" in row["url"]} == {"refused"}
    assert all(b"site3.is" not in raw for raw in files_of(asked).values())
