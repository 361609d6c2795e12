"""Tars: Python's `tarfile` as the oracle of members, WebDataset's rule of keys, hostile and damaged files."""

import io
import json
import random
import re
import tarfile
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told_each
from tests.pipelines.ingest.parts import assert_tiles, read, reasons
from winnow.pipelines.ingest.formats.webdataset import MOST_MEMBERS, TarReader, key_of
from winnow.pipelines.ingest.records import Caption, Dropped, Event, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.pipelines.ingest.tiling.tars import check_tar

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(300)
READER = TarReader()
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def made(members: Sequence[tuple[str, bytes]], kind: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def of(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """One member of this type, without the end of a tar."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry.tobuf(tarfile.PAX_FORMAT)


def records(events: Sequence[Event]) -> list[Record]:
    return [event for event in events if isinstance(event, Record)]


def audited(raw: bytes, events: Sequence[Event]) -> list[str]:
    claims = [Claim(event.span, not isinstance(event, Unreadable)) for event in events]
    return check_tar(io.BytesIO(raw), claims, len(raw))


def checked(raw: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    events = read(READER, raw, cuts)
    assert_tiles(events, "bytes", len(raw))
    assert audited(raw, events) == []
    return events


def test_a_sample_has_media_captions_and_metadata() -> None:
    said = {"caption": "A foot", "url": "https://a.example/7", "of": {"by": [1, None]}}
    raw = made(
        [
            ("a/7.jpg", JPEG),
            ("a/7.txt", "Ein Fuß\n".encode()),
            (
                "a/7.json",
                json.dumps(said).encode(),
            ),
            ("a/7.side.png", b"\x89PNG\r\n\x1a\n" + bytes(20)),
            ("a/7.cls", b"3"),
            ("a/7.npy", b"\x93NUMPY\x01\x00" + bytes(100)),
        ]
    )
    (found,) = records(checked(raw))
    assert (found.key, found.url, found.text) == ("a/7", "https://a.example/7", None)
    assert found.captions == (Caption("Ein Fuß", "txt"), Caption("A foot", "json:caption"))
    assert found.metadata["cls"] == "3"
    assert found.metadata["json"] == said
    assert [item.key for item in found.items] == ["a/7.jpg", "a/7.side.png", "a/7.npy"]
    jpeg = found.items[0]
    assert raw[jpeg.span.offset : jpeg.span.offset + jpeg.span.length] == jpeg.body == JPEG


def test_captions_come_from_the_key_that_the_recipe_names_each_text_once() -> None:
    said = json.dumps({"says": {"en": ["One", "Two"]}, "caption": "no"}).encode()
    raw = made([("1.jpg", JPEG), ("1.json", said), ("1.txt", b"Two")])
    (found,) = records(read(TarReader(ColumnMapping(captions="says.en")), raw))
    assert found.captions == (Caption("One", "json:says.en"), Caption("Two", "json:says.en"))


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_caption_with_a_byte_order_mark_is_read(charset: str) -> None:
    (found,) = records(checked(made([("1.jpg", JPEG), ("1.txt", "Ein Löwe, ライオン\r\n".encode(charset))])))
    assert found.captions == (Caption("Ein Löwe, ライオン", "txt"),)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("1.txt", b"na\xefve", "byte 2 is not UTF-8"),
        ("1.txt", b"\xff\xfeo\0\0\xd8", "byte 4 is not UTF-16-LE"),
        ("1.json", b"{", "bad_json"),
        ("1.json", b"[1]", "bad_json"),
        ("1.txt", b"", "empty"),
    ],
)
def test_a_sidecar_that_cannot_be_used_is_named_and_costs_no_picture(name: str, content: bytes, why: str) -> None:
    (found,) = records(checked(made([("1.jpg", JPEG), (name, content)])))
    said = found.metadata["unread"]
    assert isinstance(said, dict)
    assert str(said[name[2:]]).startswith(why)
    assert (found.captions, len(found.items)) == ((), 1)


def test_a_sample_without_media_is_its_text_or_quarantined() -> None:
    events = checked(made([("1.txt", b"A text"), ("2.json", b'{"text": "Another"}'), ("3.json", b'{"a": 1}')]))
    assert [found.text for found in records(events)] == ["A text", "Another"]
    assert reasons(events) == ["missing_media"]


def test_a_member_named_as_a_picture_that_is_none_is_an_item_that_says_why() -> None:
    page = b"<html><body>Not found"
    events = checked(made([("1.jpg", JPEG), ("1.a.png", b""), ("1.b.gif", page), ("2.jpg", page), ("2.txt", b"Cat")]))
    (found,) = records(events)
    assert [item.flaw and item.flaw.detail for item in found.items] == [None, "a.png: empty", "b.gif: text/html"]
    assert found.metadata["unread"] == {"a.png": "empty", "b.gif": "text/html"}
    (bad,) = [event for event in events if isinstance(event, Unreadable)]
    assert (bad.reason, bad.detail, bad.key) == ("missing_media", "jpg: text/html", "2")


def test_names_without_a_key_and_directories_are_not_content() -> None:
    raw = of("d/", tarfile.DIRTYPE) + made([("d/.DS_Store", b"x"), ("d/._1.jpg", JPEG), ("__index__", b"x")])
    events = checked(raw)
    assert [event.reason for event in events if isinstance(event, Dropped)] == ["not_content"] * 4 + ["padding"]
    assert len(events) == 5


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (tarfile.LNKTYPE, "1.txt", "hard link"),
        (tarfile.SYMTYPE, "1.txt", "symbolic link"),
        (tarfile.CHRTYPE, "1.txt", "device"),
        (tarfile.BLKTYPE, "1.txt", "device"),
        (tarfile.FIFOTYPE, "1.txt", "pipe"),
        (b"Z", "1.txt", "unknown type"),
    ],
)
def test_what_is_no_file_quarantines_its_sample(kind: bytes, name: str, why: str) -> None:
    raw = made([("0.jpg", JPEG)])[: 512 * 2] + of("1.jpg") + of(name, kind, "/etc/passwd") + made([("2.jpg", JPEG)])
    events = checked(raw)
    (bad,) = [event for event in events if isinstance(event, Unreadable)]
    assert (bad.reason, bad.key) == ("bad_member", "1")
    assert why in bad.detail
    assert [found.key for found in records(events)] == ["0", "2"]


@pytest.mark.parametrize("name", ["/etc/1.jpg", "../1.jpg", "a/../../1.jpg", "../a\nb.jpg"])
def test_a_name_that_leads_outside_is_quarantined(name: str) -> None:
    events = checked(made([(name, JPEG), ("2.jpg", JPEG)]))
    assert reasons(events) == ["bad_member"]
    assert all("\n" not in event.detail for event in events if isinstance(event, Unreadable))


def test_a_member_twice_in_a_sample_is_quarantined() -> None:
    assert reasons(checked(made([("1.jpg", JPEG), ("1.JPG", JPEG), ("2.jpg", JPEG)]))) == ["bad_member"]


def test_a_sample_has_so_many_members() -> None:
    many = made([(f"1.{number}.cls", b"1") for number in range(MOST_MEMBERS + 1)])
    assert reasons(checked(many)) == ["too_large"]


def test_sparse_files_are_quarantined() -> None:
    old = bytearray(of("1.jpg", b"S"))
    old[148:156] = b" " * 8
    old[148:156] = b"%06o\0 " % sum(old)
    events = read(READER, bytes(old))
    assert reasons(events) == ["bad_member"]
    entry = tarfile.TarInfo("1.jpg")
    entry.pax_headers = {"GNU.sparse.major": "1"}
    assert reasons(read(READER, entry.tobuf(tarfile.PAX_FORMAT))) == ["bad_member"]


def test_a_truncated_file_quarantines_its_last_sample() -> None:
    raw = made([("1.jpg", JPEG), ("2.jpg", JPEG), ("2.txt", b"x" * 2000)])
    events = checked(raw[: 512 * 6])
    assert [found.key for found in records(events)] == ["1"]
    (bad,) = [event for event in events if isinstance(event, Unreadable)]
    assert (bad.reason, bad.key, bad.span.length) == ("truncated", "2", 512 * 4)


def test_a_wrong_checksum_costs_one_member() -> None:
    raw = bytearray(made([("1.jpg", JPEG), ("2.jpg", JPEG), ("3.jpg", JPEG)]))
    raw[1024 + 30] ^= 1
    events = checked(bytes(raw))
    assert [found.key for found in records(events)] == ["1", "3"]
    assert reasons(events) == ["bad_header"]


@pytest.mark.parametrize("size", [b"77777777777\0", b"\x80" + b"\xff" * 11, b"\x80\0\0\0\x7f" + b"\xff" * 7])
def test_a_size_that_lies_beyond_the_file_is_no_reason_to_allocate(size: bytes) -> None:
    raw = bytearray(made([("1.jpg", JPEG)]))
    raw[124:136] = size
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    events = checked(bytes(raw))
    assert set(reasons(events)) <= {"truncated", "bad_header"}
    assert not records(events)


def test_a_compressed_tar_is_one_line_that_says_what_to_do() -> None:
    (found,) = read(READER, b"\x1f\x8b" + bytes(2000))
    assert isinstance(found, Unreadable)
    assert "decompress" in found.detail


def test_tars_joined_are_read_to_the_end_and_a_tar_in_a_tar_is_one_medium() -> None:
    inner = made([("x.jpg", JPEG), ("y.jpg", JPEG)])
    raw = made([("1.jpg", JPEG)]) + made([("2.tar", inner)])
    found = records(checked(raw))
    assert [one.key for one in found] == ["1", "2"]
    assert found[1].items[0].body == inner


def test_a_sample_larger_than_the_limit_is_referred_to() -> None:
    limits = ReadLimits(max_body_bytes=1000)
    (found,) = records(read(READER, made([("1.jpg", JPEG * 10), ("1.txt", b"Words")]), limits=limits))
    assert (found.items[0].body, found.items[0].body_bytes) == (None, len(JPEG) * 10)
    assert found.captions == (Caption("Words", "txt"),)


def test_the_audit_finds_two_samples_that_are_claimed_as_one() -> None:
    raw = made([("1.jpg", JPEG), ("2.jpg", JPEG)])
    events = read(READER, raw)
    first = events[0]
    assert isinstance(first, Record)
    wide = Claim(type(first.span)(0, events[1].span.offset + events[1].span.length), True)
    found = check_tar(io.BytesIO(raw), [wide, Claim(events[2].span, True)], len(raw))
    assert_told_each(found, ("bytes 0", "2048", "2 samples"))


NAMES = st.tuples(
    st.sampled_from(["", "a/", "./", "a b/", "é/" + "lang" * 40 + "/"]),
    st.sampled_from(["1", "2", "3", "ü", "x" * 120]),
    st.sampled_from([".jpg", ".txt", ".json", ".left.jpg", ".JPG", ".cls", ""]),
)
MEMBERS = st.lists(st.tuples(NAMES.map("".join), st.sampled_from([b"", b"3", b"{}", JPEG, bytes(512), JPEG * 9])))


def expected(raw: bytes) -> list[str]:
    """The keys that WebDataset's rule gives, over the members that `tarfile` finds."""
    keys: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            rule = re.match(r"^((?:.*/|)[^./]+)[.]([^/]*)$", member.name)
            key = rule[1] if rule else member.name
            if not keys or keys[-1] != key:
                keys.append(key)
    return keys


@given(members=MEMBERS, kind=st.sampled_from(FORMATS), data=st.data())
def test_any_members_give_the_same_samples_however_the_file_is_cut(
    members: list[tuple[str, bytes]], kind: int, data: st.DataObject
) -> None:
    try:
        raw = made(members, kind)
    except ValueError:  # ustar cannot hold such a name
        return
    whole = checked(raw)
    samples = [event for event in whole if not isinstance(event, Dropped)]
    assert [event.key for event in samples] == expected(raw)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        content = {(member.name, member.offset_data): member.size for member in archive}
    for found in records(whole):
        for item in found.items:
            assert content[str(item.key), item.span.offset] == item.span.length
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    assert checked(raw, cuts) == whole


@pytest.mark.parametrize("seed", range(4))
def test_mutated_tars_are_accounted_for(seed: int) -> None:
    random_ = random.Random(seed)
    names = [
        f"{folder}{key}{ending}" for folder in ("", "é" * 60 + "/") for key in range(4) for ending in (".jpg", ".txt")
    ]
    raws = [made([(name, JPEG if name.endswith("g") else b"Words") for name in names], kind) for kind in FORMATS[1:]]
    for _ in range(60):
        raw = bytearray(random_.choice(raws))
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(raw))
            match random_.randrange(3):
                case 0:
                    raw[at] = random_.randrange(256)
                case 1:
                    del raw[at : at + random_.choice([1, 512, 700])]
                case _:
                    raw[at:at] = bytes(random_.randrange(256) for _ in range(random_.choice([1, 512])))
            raw = raw or bytearray(b"x")
        checked(bytes(raw))


def test_keys_end_at_the_first_dot_of_the_last_part() -> None:
    assert [key_of(name) for name in ("a.b/c.d.e", "x", ".x", "a/__m__", "a/__m__.jpg")] == [
        ("a.b/c", "d.e"),
        ("x", ""),
        ("", ""),
        ("", ""),
        ("a/__m__", "jpg"),
    ]
