"""What a fetch writes is read by ingest and by others' readers as it was sent, and nothing counts before its rows."""

import asyncio
import hashlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.checker import Checker

from tests.pipelines.fetch.farm.farm import Farm, page
from tests.pipelines.fetch.farm.hostile import OK, packed, sends
from tests.pipelines.fetch.live.asking import answered, place
from winnow.pipelines.fetch.live.exchange import Body, Hop, Response
from winnow.pipelines.fetch.live.record import SEGMENT_ROWS, Earlier, SegmentWriter, clear_uncommitted
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.fetch.outcome import LOG, Decision, Outcome, Reason
from winnow.pipelines.ingest.archives.http import HttpHead, header_fields
from winnow.pipelines.ingest.archives.referrers import ReferrerReader
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.recipe.fetch import FetchConfig
from winnow.schemas.records import FilePart

CONFIG = FetchConfig(contact="mailto:crawler@example.org")


@pytest.fixture
def farm() -> Iterator[Farm]:
    with Farm() as farm:
        yield farm


def fetched(url: str, decision: Decision = Decision.FETCHED, reason: Reason = Reason.OK) -> Outcome:
    return Outcome(url=url, canonical=url, decision=decision, reason=reason, attempts=1)


def response(
    header: bytes, body: bytes = b"", url: str = "http://a.example/", began: int = 1_700_000_000_123_456
) -> Response:
    held = Body(Path(tempfile.gettempdir()))
    if body:
        held.add(body)
    head = HttpHead(len(header), int(header.split()[1]), header_fields(header.partition(b"\n")[2]))
    return Response(place(url), b"GET / HTTP/1.1\r\n\r\n", header, head, held, "192.0.2.1", began, 12)


def ingested(objects: ObjectStore, path: str) -> list[Record | Dropped]:
    """The events of a file, as ingest reads it."""
    with objects.open(path) as stream:
        size = objects.size(path)
        found = list(ReferrerReader(read_warc)(stream, FilePart(path, size, 0, size), ReadLimits()))
    assert all(isinstance(one, Record | Dropped) for one in found), found
    return [one for one in found if isinstance(one, Record | Dropped)]


def records(objects: ObjectStore, path: str) -> list[Record]:
    return [one for one in ingested(objects, path) if isinstance(one, Record)]


def test_a_fetched_page_is_what_ingest_reads(farm: Farm, tmp_path: Path) -> None:
    farm.site(
        "a.example",
        {
            "/": packed("gzip", b"<p>hello</p>", ["gzip"]),
            "/c": sends(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n5\r\nhe\r\n0\r\n\r\n"),
        },
    )
    objects = LocalStore(tmp_path)
    writer = SegmentWriter(objects, CONFIG)
    rows = []
    for path in ("", "c"):
        url = f"http://a.example/{path}"
        with answered(farm, url) as found:
            rows.append(writer.keep(fetched(url), found, hops=[Hop("http://b.example/page", 301)]))
    segment = writer.finish()
    assert segment is not None
    assert segment.rows == 2
    kept = records(objects, f"warc/{segment.name}.warc.gz")
    assert [one.body for one in kept] == [b"<p>hello</p>", b"5\r\nhe"]  # the second looks like a chunk, and is none
    assert [one.url for one in kept] == ["http://a.example/", "http://a.example/c"]
    assert [one.referrers for one in kept] == [("http://b.example/page",)] * 2
    assert [(one.span.offset, one.span.length) for one in kept] == [(row.offset, row.length) for row in rows]
    assert [row.warc for row in rows] == [f"warc/{segment.name}.warc.gz"] * 2


def test_a_row_says_what_came(farm: Farm, tmp_path: Path) -> None:
    headers = {"ETag": '"abc"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    farm.site("a.example", {"/": page("hello", mime="text/html; charset=utf-8", headers=headers)})
    objects = LocalStore(tmp_path)
    writer = SegmentWriter(objects, CONFIG)
    with answered(farm, "http://a.example/") as found:
        row = writer.keep(fetched("http://a.example/"), found)
    writer.note(Outcome(url="x", decision=Decision.FAILED, reason=Reason.NO_ADDRESS))
    writer.finish()
    assert (row.status, row.mime, row.body_bytes, row.etag) == (200, "text/html", 5, '"abc"')
    assert row.sha256 == hashlib.sha256(b"hello").digest()
    assert row.last_modified == "Wed, 21 Oct 2015 07:28:00 GMT"
    assert row.fetched_at == found.began
    stored = read_log(objects).to_pylist()
    assert {one["url"]: one["reason"] for one in stored} == {"http://a.example/": "ok", "x": "no_address"}


def made_segment(objects: ObjectStore) -> str:
    """A file with each kind of record."""
    writer = SegmentWriter(objects, CONFIG, name="one")
    first = response(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"hello")
    writer.keep(
        fetched("http://a.example/"), first, hops=[Hop("http://b.example/\r\nX: 1", 301), Hop("http://c.example/", 302)]
    )
    again = response(first.header, b"hello", "http://a.example/again", 1_700_000_001_000_000)
    same = fetched("http://a.example/again", Decision.REVISITED, Reason.SAME_BYTES)
    writer.keep(same, again, earlier=Earlier(first.place.url, first.began))
    later = response(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", began=1_700_000_002_000_000)
    unchanged = fetched("http://a.example/", Decision.REVISITED, Reason.UNCHANGED)
    row = writer.keep(unchanged, later, earlier=Earlier(first.place.url, first.began))
    assert (row.sha256, row.body_bytes, row.status) == (None, None, 304)
    robots = response(b"HTTP/1.1 200 OK\r\n\r\n", b"User-agent: *\n", "http://a.example/robots.txt")
    writer.keep_beside(robots)
    writer.finish()
    return "warc/one.warc.gz"


def test_other_readers_agree() -> None:
    objects = MemoryStore("other readers")
    raw = objects.read(made_segment(objects))
    kinds = [record.record_type for record in ArchiveIterator(io.BytesIO(raw))]
    assert kinds == [
        WarcRecordType.warcinfo,
        *(WarcRecordType.request, WarcRecordType.response, WarcRecordType.metadata),
        *(WarcRecordType.request, WarcRecordType.revisit, WarcRecordType.metadata) * 2,
    ]
    bodies = [one.content_stream().read() for one in WarcioIterator(io.BytesIO(raw)) if one.rec_type == "response"]
    assert bodies == [b"hello"]
    headers = [one.rec_headers for one in WarcioIterator(io.BytesIO(raw))]
    ids = [header.get_header("WARC-Record-ID") for header in headers]
    assert len(set(ids)) == len(ids)
    assert headers[5].get_header("WARC-Refers-To") == ids[2]
    assert (
        headers[5].get_header("WARC-Refers-To-Date")
        == headers[2].get_header("WARC-Date")
        == "2023-11-14T22:13:20.123456Z"
    )
    assert headers[5].get_header("WARC-Payload-Digest") == headers[2].get_header("WARC-Payload-Digest")
    assert headers[5].get_header("WARC-Profile").endswith("/identical-payload-digest")
    assert headers[8].get_header("WARC-Profile").endswith("/server-not-modified")
    assert headers[3].get_header("WARC-Concurrent-To") == ids[2]


def test_the_digests_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / made_segment(LocalStore(tmp_path))
    checker = Checker(type("Asked", (), {"inputs": [str(file)], "verbose": True})())
    assert checker.process_all() == 0
    assert "digest pass" in capsys.readouterr().out


def test_notes_stay_in_their_lines() -> None:
    """A name, an address or a detail that a server chose cannot add a field."""
    objects = MemoryStore("notes")
    raw = objects.read(made_segment(objects))
    notes = [one.content_stream().read() for one in WarcioIterator(io.BytesIO(raw)) if one.rec_type == "metadata"]
    assert notes[0] == (
        b"decision: fetched\r\nreason: ok\r\nvia: http://b.example/ X: 1\r\nvia: http://c.example/\r\n"
        b"redirect: 301 http://b.example/ X: 1\r\nredirect: 302 http://c.example/\r\nfetchTimeMs: 12\r\n"
    )


def test_ingest_reads_one_sample_and_drops_the_rest() -> None:
    objects = MemoryStore("samples")
    found = ingested(objects, made_segment(objects))
    assert [type(one) for one in found].count(Record) == 1
    assert objects.exists("robots/one.warc.gz")
    assert [one.body for one in records(objects, "robots/one.warc.gz")] == [b"User-agent: *\n"]


def test_the_same_request_has_the_same_ids_whoever_writes_it() -> None:
    first, second = MemoryStore("ids 1"), MemoryStore("ids 2")
    ids = [
        [
            one.rec_headers.get_header("WARC-Record-ID")
            for one in WarcioIterator(io.BytesIO(objects.read(made_segment(objects))))
        ]
        for objects in (first, second)
    ]
    assert ids[0] == ids[1]


def test_a_segment_counts_only_with_its_rows(tmp_path: Path) -> None:
    objects = LocalStore(tmp_path)
    made_segment(objects)
    objects.put("warc/killed.warc.gz", b"half")
    objects.put("robots/killed.warc.gz", b"half")
    objects.put("robots/host_files.jsonl.gz", b"others")
    assert clear_uncommitted(objects) == 2
    assert [one.path for one in objects.list()] == [
        "log/one.parquet",
        "robots/host_files.jsonl.gz",
        "robots/one.warc.gz",
        "warc/one.warc.gz",
    ]
    assert clear_uncommitted(objects) == 0


def test_nothing_is_visible_before_a_segment_is_finished(tmp_path: Path) -> None:
    objects = LocalStore(tmp_path)
    writer = SegmentWriter(objects, CONFIG)
    writer.keep(fetched("http://a.example/"), response(b"HTTP/1.1 200 OK\r\n\r\n", b"x"))
    assert [one.path for one in objects.list() if not one.path.startswith(".tmp")] == []
    writer.discard()
    assert writer.finish() is None
    assert list(tmp_path.rglob("*.gz")) == []


def test_rows_without_records_make_no_archive() -> None:
    objects = MemoryStore("rows alone")
    writer = SegmentWriter(objects, CONFIG, name="rows")
    assert writer.finish() is None
    writer.note(Outcome(url="http://a.example/", decision=Decision.REFUSED, reason=Reason.ROBOTS, detail="Disallow: /"))
    segment = writer.finish()
    assert segment is not None
    assert (segment.bytes, segment.rows) == (0, 1)
    assert [one.path for one in objects.list()] == ["log/rows.parquet"]
    assert pq.read_schema(io.BytesIO(objects.read("log/rows.parquet"))).equals(LOG)


def test_a_segment_is_full_by_its_bytes_or_its_rows() -> None:
    objects = MemoryStore("full")
    by_bytes = SegmentWriter(objects, CONFIG, max_bytes=2000)
    assert [by_bytes.is_full] == [False]
    by_bytes.keep(
        fetched("http://a.example/"), response(b"HTTP/1.1 200 OK\r\n\r\n", hashlib.shake_128(b"x").digest(3000))
    )
    assert by_bytes.is_full
    by_bytes.discard()
    by_rows = SegmentWriter(objects, CONFIG)
    for _ in range(SEGMENT_ROWS):
        by_rows.note(Outcome(url="x", decision=Decision.SKIPPED, reason=Reason.REPEATED))
    assert by_rows.is_full


def test_names_of_segments_differ_and_sort_by_time() -> None:
    names = [SegmentWriter(MemoryStore("names"), CONFIG).name for _ in range(100)]
    assert len(set(names)) == 100
    assert all(len(name) == len("20261130T234327Z-9a59c30d8140") for name in names)


def test_threads_may_share_a_writer() -> None:
    objects = MemoryStore("threads")
    writer = SegmentWriter(objects, CONFIG, name="threads")

    async def run() -> None:
        def keep(number: int) -> None:
            url = f"http://a.example/{number}"
            writer.keep(fetched(url), response(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000, url))

        await asyncio.gather(*(asyncio.to_thread(keep, number) for number in range(200)))

    asyncio.run(run())
    writer.finish()
    assert len(records(objects, "warc/threads.warc.gz")) == 200


FIELD = st.builds(
    lambda name, value: name + b": " + value + b"\r\n",
    st.from_regex(rb"[A-Za-z-]{1,20}", fullmatch=True).filter(
        lambda name: name.lower() not in (b"content-encoding", b"transfer-encoding")
    ),
    st.binary(max_size=40).filter(lambda value: b"\n" not in value and b"\r" not in value),
)


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=2000),
    st.lists(FIELD, max_size=5),
    st.sampled_from([b"", b"transfer-encoding : chunked\r\n", b"Transfer-Encoding:chunked\r\n"]),
)
def test_every_body_is_read_back_by_ingest(body: bytes, fields: list[bytes], transfer: bytes) -> None:
    objects = MemoryStore("every body")
    writer = SegmentWriter(objects, CONFIG, name="body")
    header = b"HTTP/1.1 200 OK\r\n" + b"".join(fields) + transfer + b"\r\n"
    writer.keep(fetched("http://a.example/"), response(header, body))
    writer.finish()
    assert [one.body for one in records(objects, "warc/body.warc.gz")] == ([body] if body else [])
