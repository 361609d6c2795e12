"""Damage costs what it touches: ranges still tile, neighbours still come back, nothing is raised."""

import gzip
import io
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.pipelines.ingest.archive_reading import assert_tiles, audit, outline, read
from tests.pipelines.ingest.made_archives import Capture, Kind, gzip_member, pieces, warc_record
from tests.property_sizes import scaled
from winnow.pipelines.ingest.records import Event, ReadLimits, Record, Span, Unreadable

PAGES = [Capture(f"https://example.org/{name}", f"<p>{name}</p>".encode() * 20) for name in "abcdef"]
SMALL = ReadLimits(max_body_bytes=4096, max_header_bytes=2048, max_member_bytes=1 << 20)


def written_by_warcio() -> list[bytes]:
    """Twelve records, each as warcio writes it."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version="1.0")
    records = []
    for i in range(12):
        http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        identity = {"WARC-Record-ID": f"<urn:x:{i}>", "WARC-Date": "2024-05-01T12:00:00Z"}
        body = (f"<p>page {i}</p>\r\n\r\n" * (i * i % 7 + 1)).encode()
        record = writer.create_warc_record(
            f"http://e.org/{i}", "response", io.BytesIO(body), http_headers=http, warc_headers_dict=identity
        )
        start = out.tell()
        writer.write_record(record)
        records.append(out.getvalue()[start:])
    return records


WRITTEN = written_by_warcio()
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda record: record,
    "gz": lambda record: gzip.compress(record, 6, mtime=0),
    "zst": lambda record: zstandard.ZstdCompressor(write_checksum=True).compress(record),
}
FILES = {name: [pack(record) for record in WRITTEN] for name, pack in PACKINGS.items()}


def held(events: list[Event]) -> list[tuple[str | None, str | None, bytes | None]]:
    return [(event.key, event.url, event.body) for event in events if isinstance(event, Record)]


WHOLE = {name: held(read(b"".join(members))) for name, members in FILES.items()}


def check(raw: bytes, packing: str, damaged: set[int]) -> list[Event]:
    """The four promises, for a file in which only these records were touched."""
    events = read(raw, limits=ReadLimits(max_body_bytes=1 << 20))
    assert_tiles(raw, events)
    assert audit(raw, events) == []
    responses = [event for event in events if isinstance(event, Record) and event.metadata["warc_type"] == "response"]
    assert all("http_status" in event.metadata for event in responses)
    found = held(events)
    for ordinal in set(range(12)) - damaged:
        assert WHOLE[packing][ordinal] in found
    return events


@pytest.mark.parametrize("packing", FILES)
def test_the_undamaged_file_is_read_whole(packing: str) -> None:
    assert len(check(b"".join(FILES[packing]), packing, set())) == 12


@pytest.mark.parametrize("packing", FILES)
@given(data=st.data())
@settings(max_examples=scaled(150), deadline=None)
def test_a_flipped_bit_costs_its_own_member_alone(packing: str, data: st.DataObject) -> None:
    members = list(FILES[packing])
    victim = data.draw(st.integers(0, 11))
    place = data.draw(st.integers(0, len(members[victim]) - 1))
    member = bytearray(members[victim])
    member[place] ^= 1 << data.draw(st.integers(0, 7))
    members[victim] = bytes(member)
    check(b"".join(members), packing, {victim})


@pytest.mark.parametrize("packing", FILES)
def test_every_header_byte_may_be_damaged(packing: str) -> None:
    first = FILES[packing][1]
    for place in range(min(len(first), 400)):
        damaged = first[:place] + bytes([first[place] ^ 0x10]) + first[place + 1 :]
        check(b"".join([FILES[packing][0], damaged, *FILES[packing][2:]]), packing, {1})


@pytest.mark.parametrize("packing", FILES)
def test_a_file_cut_anywhere_keeps_what_came_before(packing: str) -> None:
    members = FILES[packing]
    raw = b"".join(members)
    ends = [sum(map(len, members[: i + 1])) for i in range(12)]
    for cut in {len(raw) * percent // 100 for percent in range(100)} | set(range(len(raw) - 60, len(raw))):
        whole = sum(end <= cut for end in ends)
        events = check(raw[:cut], packing, set(range(whole, 12)))
        if packing == "plain" and any(end - 4 <= cut < end for end in ends):  # only its line ends are missing
            assert outline(events)[-1] == outline(check(raw, packing, set()))[whole]
        elif cut not in (0, *ends):
            assert isinstance(events[-1], Unreadable)
            assert events[-1].span.offset == ([0, *ends])[whole]
            assert events[-1].reason == "truncated"


@pytest.mark.parametrize("packing", FILES)
@given(order=st.lists(st.integers(0, 11), min_size=1, max_size=30))
@settings(max_examples=scaled(50), deadline=None)
def test_members_may_be_deleted_repeated_and_reordered(packing: str, order: list[int]) -> None:
    events = check(b"".join(FILES[packing][i] for i in order), packing, set(range(12)) - set(order))
    assert outline(events) == [str(i) for i in order]


@pytest.mark.parametrize("packing", FILES)
@given(data=st.data())
@settings(max_examples=scaled(60), deadline=None)
def test_anything_between_members_is_reported_and_costs_nothing(packing: str, data: st.DataObject) -> None:
    junk = data.draw(
        st.binary(min_size=1, max_size=40) | st.sampled_from([bytes(30), b"\r\n\r\n", b"\r\n", b"\x00\r\n"])
    )
    after = data.draw(st.integers(1, 11))
    members = FILES[packing]
    raw = b"".join([*members[:after], junk, *members[after:]])
    events = check(raw, packing, set())
    expected = "padding" if not junk.strip(b"\r\n\x00") else None
    reasons = [event.reason for event in events if not isinstance(event, Record)]
    assert len(reasons) == 1
    assert expected is None or reasons == [expected]


@given(raw=st.binary(max_size=300), data=st.data())
@settings(max_examples=scaled(200), deadline=None)
def test_any_bytes_at_all_are_accounted_for(raw: bytes, data: st.DataObject) -> None:
    magic = data.draw(
        st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18", b"WARC/1.0\r\n"])
    )
    raw = magic + raw
    events = read(raw, limits=SMALL)
    assert_tiles(raw, events)
    assert_tiles(raw, read(raw, limits=SMALL, arc=True))


@pytest.mark.parametrize("packing", FILES)
@given(data=st.data())
@settings(max_examples=scaled(60), deadline=None)
def test_parts_give_the_events_of_the_whole(packing: str, data: st.DataObject) -> None:
    members = list(FILES[packing])
    for _ in range(data.draw(st.integers(0, 2))):  # some damage, some padding
        at = data.draw(st.integers(0, len(members) - 1))
        members[at] = data.draw(st.sampled_from([members[at][:-3], b"junk" + members[at], members[at] + bytes(5), b""]))
    raw = b"".join(members)
    cuts = data.draw(st.lists(st.integers(0, len(raw)), min_size=1, max_size=4))
    bounds = sorted({0, len(raw), *cuts})
    parts = [event for start, end in pairwise(bounds) for event in read(raw, start, end)]
    assert parts == read(raw)


@pytest.mark.parametrize("packing", FILES)
def test_a_part_may_begin_anywhere(packing: str) -> None:
    raw = b"".join(FILES[packing][:4])
    whole = read(raw)
    for cut in range(len(raw) + 1):
        assert read(raw, 0, cut) + read(raw, cut) == whole if cut else read(raw, 0) == whole


@pytest.mark.parametrize("kind", ["warc", "warc.gz"])
@pytest.mark.parametrize(
    ("length", "reason"),
    [
        ("5", "bad_length"),
        ("99999", "bad_length"),
        ("999999999999999999", "bad_length"),
        ("-5", "bad_header"),
        ("9" * 40, "bad_header"),
        ("many", "bad_header"),
        ("", "bad_header"),
    ],
)
def test_a_lying_length_costs_its_own_record(kind: Kind, length: str, reason: str) -> None:
    liar = Capture("https://example.org/liar", fields={"Content-Length": length})
    raw = b"".join(pieces([PAGES[0], liar, PAGES[1]], kind))
    events = read(raw)
    assert outline(events) == ["a", reason, "b"]
    assert_tiles(raw, events)


def test_a_lying_length_among_records_of_one_member_costs_its_own_record() -> None:
    liar = Capture("https://example.org/liar", fields={"Content-Length": "5"})
    raw = b"".join(pieces([PAGES[0], liar, PAGES[1]], "warc.gz-one"))
    events = read(raw)
    assert outline(events) == ["a", "bad_length", "b"]
    assert [event.span.member for event in events] == [0, 1, 2]


def test_a_missing_length_or_type_is_a_bad_header() -> None:
    for name in (b"Content-Length", b"WARC-Type"):
        bad = warc_record(PAGES[1]).replace(name, b"X-Other", 1)
        assert outline(read(gzip_member(warc_record(PAGES[0])) + gzip_member(bad))) == ["a", "bad_header"]


def test_a_header_of_a_hundred_thousand_lines_is_read_or_refused_by_its_size() -> None:
    long = warc_record(Capture("https://example.org/long", fields={f"X-{i}": "y" for i in range(100_000)}))
    raw = gzip_member(warc_record(PAGES[0])) + gzip_member(long) + gzip_member(warc_record(PAGES[1]))
    assert outline(read(raw, limits=ReadLimits(max_header_bytes=8 << 20))) == ["a", "long", "b"]
    assert outline(read(raw)) == ["a", "bad_header", "b"]


def test_a_header_without_end_is_a_bad_header() -> None:
    endless = b"WARC/1.0\r\n" + b"X: y\r\n" * 100_000
    raw = gzip_member(warc_record(PAGES[0])) + gzip_member(endless) + gzip_member(warc_record(PAGES[1]))
    assert outline(read(raw)) == ["a", "bad_header", "b"]


def test_headers_that_are_not_utf8_are_read() -> None:
    raw = warc_record(PAGES[0]).replace(b"/a\r\n", b"/\xff\x00\r\n")
    assert outline(read(raw)) == ["%FF%00"]


def test_junk_behind_the_record_inside_a_member_is_reported() -> None:
    raw = gzip_member(warc_record(PAGES[0]) + b"junk") + gzip_member(warc_record(PAGES[1]) + b"\r\n")
    events = read(raw)
    assert outline(events) == ["a", "bad_header", "b", "padding"]
    assert [event.span.member for event in events] == [0, 1, 0, 1]
    assert_tiles(raw, events)
    assert audit(raw, events) == []


def test_empty_members_are_padding() -> None:
    empty = gzip.compress(b"", mtime=0)
    raw = empty + empty + gzip_member(warc_record(PAGES[0])) + empty
    events = read(raw)
    assert outline(events) == ["padding", "padding", "a", "padding"]
    assert_tiles(raw, events)
    assert audit(raw, events) == []


def test_of_a_cut_member_the_complete_records_are_kept() -> None:
    noise = [Capture(page.url, Random(i).randbytes(3000)) for i, page in enumerate(PAGES)]
    raw = b"".join(pieces(noise, "warc.gz-one"))
    cut = raw[: len(raw) * 2 // 3]
    events = read(cut)
    assert outline(events) == ["a", "b", "c", "truncated"]
    assert {event.span for event in events} == {Span(0, len(cut), "bytes", member) for member in range(4)}


def test_of_a_corrupt_member_nothing_is_kept_since_nothing_is_proved() -> None:
    raw = bytearray(b"".join(pieces(PAGES, "warc.gz-one")))
    raw[-6] ^= 1  # the checksum
    assert outline(read(bytes(raw))) == ["corrupt_member"]


def test_large_members_are_streamed_through_damage_in_a_bounded_number_of_passes() -> None:
    """A member that is not held, in which many records claim more than may be held."""
    liars = [Capture("https://e.org/liar", b"x", fields={"Content-Length": "20000"}) for _ in range(100)]
    raw = b"".join(pieces([*PAGES, *liars, Capture("https://e.org/z", bytes(50_000))], "warc.gz-one"))
    events = read(raw, limits=SMALL)
    assert outline(events)[:7] == ["a", "b", "c", "d", "e", "f", "bad_length"]
    assert_tiles(raw, events)


@pytest.mark.parametrize(
    "raw",
    [
        b"WARC/1.0\r\n" * 50_000,
        b"WARC/1.0\r\n" * 50_000 + b"\r\n\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 300000\r\n\r\n" * 5_000,
        b"\x1f\x8b\x08\0" * 20_000,
        b"\x28\xb5\x2f\xfd" * 20_000,
    ],
)
def test_a_file_of_false_beginnings_is_one_range_and_takes_no_pass_for_each(raw: bytes) -> None:
    events = read(raw)
    assert_tiles(raw, events)
    assert len(events) == 1
    assert isinstance(events[0], Unreadable)
