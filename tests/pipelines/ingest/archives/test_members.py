"""One compressed member at a time: its exact range and content, or what is wrong with it."""

import gzip
import io
from collections.abc import Callable
from typing import Final

import pytest
import zstandard

from tests.messages import assert_told, assert_told_each
from tests.pipelines.ingest.made_archives import Capture, gzip_member, warc_record, zstd_frame
from winnow.pipelines.ingest.archives.flows import FileFlow
from winnow.pipelines.ingest.archives.members import PROBE_BYTES, GzipMembers, Member, Members
from winnow.pipelines.ingest.archives.zstd_members import MAX_BLOCK_BYTES, ZstdMembers, is_zstd
from winnow.pipelines.ingest.records import ReadLimits

LIMITS: Final = ReadLimits(max_body_bytes=1000, max_member_bytes=300_000)
SMALL, HELD, LARGE = (b"WARC/" + bytes(size) for size in (100, 995, 200_000))
Pack = Callable[[bytes], bytes]


def members(raw: bytes, limits: ReadLimits = LIMITS) -> Members:
    kind = GzipMembers if raw.startswith(b"\x1f\x8b") else ZstdMembers
    return kind(FileFlow(io.BytesIO(raw), len(raw)), lambda first: first.startswith(b"WARC/"), limits)


def stored(content: bytes) -> bytes:
    """A gzip member as long as its content."""
    return gzip.compress(content, 0, mtime=0)


def blocks(*contents: bytes) -> bytes:
    """A zstd frame of stored blocks, without a checksum."""
    heads = [(len(one) << 3 | (at == len(contents))).to_bytes(3, "little") for at, one in enumerate(contents, 1)]
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(head + one for head, one in zip(heads, contents, strict=True))


@pytest.mark.parametrize("pack", [gzip_member, stored, zstd_frame])
def test_a_member_is_where_it_is_and_held_up_to_the_limit(pack: Pack) -> None:
    """A member beyond the limit is verified, but its content is inflated again where it is wanted."""
    packed = [pack(content) for content in (SMALL, HELD, LARGE, SMALL)]
    raw, at = b"".join(packed), 0
    found = members(raw)
    for content, one in zip((SMALL, HELD, LARGE, SMALL), packed, strict=True):
        member = found.read(at)
        assert member == Member(at, len(one), len(content), content if len(content) <= 1000 else None)
        again = found.inflated(member)
        assert again.peek(0, len(content) + 1) == content
        at += len(one)
    assert at == len(raw)


@pytest.mark.parametrize("pack", [gzip_member, zstd_frame])
@pytest.mark.parametrize("content", [SMALL, LARGE])
def test_a_cut_member_is_truncated_wherever_it_is_cut(pack: Pack, content: bytes) -> None:
    kind = "gzip member" if pack is gzip_member else "zstd frame"
    raw = pack(SMALL) + pack(content)
    start = len(pack(SMALL))
    for stop in (start + 6, len(raw) - 9, len(raw) - 1):
        member = members(raw[:stop]).read(start)
        assert (member.length, member.fault) == (0, "truncated")
        assert_told(member.detail, "ends inside", str(kind), whole=True)
        assert member.content is None or content.startswith(member.content)


@pytest.mark.parametrize("pack", [gzip_member, zstd_frame])
def test_the_beginning_of_the_magic_bytes_is_a_cut_member_and_anything_else_none(pack: Pack) -> None:
    raw = pack(SMALL)
    start = len(raw)
    for given in range(3 if pack is gzip_member else 4):
        cut, other = (members(raw + raw[:given] + more).read(start) for more in (b"", b"?"))
        assert cut == Member(start, 0, fault="truncated", detail=cut.detail)
        assert other == Member(start, 0, fault="bad_header", detail=other.detail)
        assert_told_each([cut.detail, other.detail], "member", "member")


@pytest.mark.parametrize("content", [SMALL, LARGE])
@pytest.mark.parametrize("pack", [gzip_member, zstd_frame])
def test_a_member_with_a_wrong_checksum_does_not_inflate(pack: Pack, content: bytes) -> None:
    raw = bytearray(pack(content))
    raw[-5 if pack is gzip_member else -1] ^= 1
    member = members(bytes(raw)).read(0)
    what = "gzip member" if pack is gzip_member else "zstd frame"
    assert (member.length, member.fault, member.detail) == (0, "corrupt_member", f"the {what} does not inflate")


@pytest.mark.parametrize("pack", [gzip_member, stored, zstd_frame])
def test_a_member_is_a_bomb_beyond_the_limit_alone(pack: Pack) -> None:
    content = LARGE + bytes(200_000)
    raw = pack(content)
    whole = members(raw, ReadLimits(max_body_bytes=1000, max_member_bytes=len(content))).read(0)
    assert whole == Member(0, len(raw), len(content), None)
    bomb = members(raw, ReadLimits(max_body_bytes=1000, max_member_bytes=len(content) - 1)).read(0)
    assert (bomb.length, bomb.fault) == (0, "bomb")
    assert_told(bomb.detail, "member inflates", str(len(content) - 1), whole=True)
    assert bomb.size > len(content) - 1


def test_reserved_flags_of_a_gzip_header_are_refused() -> None:
    raw = bytearray(gzip_member(SMALL))
    raw[3] |= 0x20
    found = members(bytes(raw))
    member = found.read(0)
    assert member == Member(0, 0, fault="corrupt_member", detail=member.detail)
    assert_told(member.detail, "gzip", "reserved flags", whole=True)
    assert not found.begins(0)


def test_blocks_of_a_zstd_frame_that_cannot_be_told_apart() -> None:
    header, reserved, large = blocks()[:6], 3 << 1, (128 << 10) + 1 << 3
    expected = Member(0, 0, fault="corrupt_member", detail="a zstd frame whose blocks cannot be told apart")
    for block in (reserved, large):
        assert members(header + block.to_bytes(3, "little") + bytes(1 << 20)).read(0) == expected


def test_a_frame_of_many_small_blocks_is_read_whole() -> None:
    for content in (SMALL, LARGE[:3000]):
        raw = blocks(*(content[at : at + 1] for at in range(len(content))))
        assert members(raw + zstd_frame(SMALL)).read(0).length == len(raw)
        assert members(raw).read(0).size == len(content)
        assert members(raw).inflated(members(raw).read(0)).peek(0, len(content) + 1) == content


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_791, 65_792, 100_000])
def test_the_size_that_a_frame_declares_is_read_at_every_width(size: int) -> None:
    """One byte below 256, two with 256 added up to 65 791, four beyond."""
    content = bytes(at % 251 for at in range(size))
    raw = zstandard.ZstdCompressor(write_content_size=True).compress(content)
    assert zstandard.get_frame_parameters(raw).content_size == size
    limits = ReadLimits(max_body_bytes=200_000, max_member_bytes=300_000)
    assert members(raw, limits).read(0) == Member(0, len(raw), size, content)


def test_a_frame_that_declares_more_than_its_blocks_can_hold_is_not_inflated() -> None:
    frame = bytearray(b"\x28\xb5\x2f\xfd\xa0" + (128 << 10).to_bytes(4, "little") + blocks(b"a")[6:])
    exact = members(bytes(frame), ReadLimits(max_body_bytes=1 << 20)).read(0)
    assert_told(exact.detail, "zstd frame", whole=True)  # it is tried: one block may hold as much
    frame[5:9] = ((128 << 10) + 1).to_bytes(4, "little")
    more = members(bytes(frame), ReadLimits(max_body_bytes=1 << 20)).read(0)
    assert more == Member(0, 0, fault="corrupt_member", detail=more.detail)
    assert_told(more.detail, "zstd", "blocks", whole=True)


@pytest.mark.parametrize("kind", [0x50, 0x5D, 0x5F])
def test_a_skippable_frame_has_a_length_and_no_content(kind: int) -> None:
    head = bytes([kind]) + b"\x2a\x4d\x18" + (10).to_bytes(4, "little")
    raw = head + bytes(10)
    assert members(raw).read(0) == Member(0, 18, 0, b"")
    assert members(raw + zstd_frame(SMALL)).read(0) == Member(0, 18, 0, b"")
    expected = Member(0, 0, fault="truncated", detail="the file ends inside a skippable frame")
    assert [members(raw[:stop]).read(0) for stop in (17, 8, 7, 4)] == [expected] * 4


@pytest.mark.parametrize("pack", [gzip_member, zstd_frame])
def test_a_member_begins_where_a_record_inflates(pack: Pack) -> None:
    record = warc_record(Capture("https://example.org/a", b"a" * 2 * PROBE_BYTES))
    other, page = pack(b"no record " * 20), pack(record)
    raw = b"junk" + other + page + page
    found = members(page + raw)
    first, second = (len(page) + 4 + len(other) + shift for shift in (0, len(page)))
    assert [at for at in range(1, len(page + raw)) if found.begins(at)] == [first, second]
    end = len(page + raw)
    assert found.next_start(1, end) == first
    assert found.next_start(first, end) == first
    assert found.next_start(first + 1, end) == second
    assert found.next_start(first + 1, second) == -1
    assert found.next_start(first + 1, second + 1) == second


def test_a_search_ends_after_as_many_tries_as_it_is_given() -> None:
    raw = gzip_member(SMALL) + b"\x1f\x8b\x08" * 3 + gzip_member(SMALL)
    found, start = members(raw), len(gzip_member(SMALL)) + 9
    assert [found.next_start(1, len(raw), tries) for tries in (3, 4)] == [-1, start]


@pytest.mark.parametrize("pack", [gzip_member, stored, zstd_frame, blocks])
def test_what_is_damaged_or_cut_before_its_first_bytes_inflate_begins_nowhere(pack: Pack) -> None:
    raw = pack(SMALL)
    before = pack(b"other")
    begins = [members(before + raw[:stop]).begins(len(before)) for stop in range(len(raw) + 1)]
    first = begins.index(True)
    assert first > 6
    assert all(begins[first:])
    assert not any(begins[:first])


def test_a_damaged_block_begins_nowhere() -> None:
    compressed = (20 << 3 | 2 << 1 | 1).to_bytes(3, "little")
    assert not members(blocks()[:6] + compressed + b"\xff" * 20).begins(0)
    assert not members(gzip_member(SMALL)[:10] + b"\xff" * 20).begins(0)


@pytest.mark.parametrize("shift", [0, 100])
def test_a_frame_begins_where_the_first_four_blocks_hold_the_beginning_of_a_record(shift: int) -> None:
    """Wherever it is: parts of a file that looked farther than others would not tile."""
    for empty, begins in ((0, True), (3, True), (4, False)):
        raw = blocks(bytes(shift)) + blocks(*[b""] * empty, SMALL, SMALL)
        assert members(raw).begins(len(blocks(bytes(shift)))) == begins


def test_the_first_bytes_of_a_zstd_file_are_those_of_either_kind_of_frame() -> None:
    assert is_zstd(zstd_frame(SMALL)[:4])
    assert is_zstd(b"\x5d\x2a\x4d\x18")
    assert not is_zstd(gzip_member(SMALL))
    assert not is_zstd(b"\x28\xb5\x2f")


@pytest.mark.parametrize("whole", [0, 1, 2, 11])
def test_the_whole_blocks_of_a_cut_frame_are_its_content(whole: int) -> None:
    contents = [b"WARC/" + bytes([at]) * 60 for at in range(whole + 1)]
    kept, detail = b"".join(contents[:-1]), "the file ends inside a zstd frame"
    for missing in (1, 65, 66, 67, 68):  # in the last block, in its header, before it
        raw = blocks(*contents)[:-missing]
        member = members(raw).read(0)
        assert member == Member(0, 0, len(kept), kept, "truncated", detail)
        assert members(raw).inflated(member).peek(0, 10_000) == kept


def test_a_frame_of_full_blocks_is_read_in_steps_of_more_than_a_chunk() -> None:
    contents = [bytes([at]) * MAX_BLOCK_BYTES for at in range(17)]
    raw, limits = blocks(*contents), ReadLimits(max_body_bytes=1000)
    assert members(raw, limits).read(0) == Member(0, len(raw), 17 * MAX_BLOCK_BYTES, None)
    assert members(raw, limits).inflated(members(raw, limits).read(0)).peek(0, 1 << 30) == b"".join(contents)


@pytest.mark.parametrize("pack", [gzip_member, zstd_frame])
def test_a_member_of_several_chunks_ends_where_the_next_begins(pack: Pack) -> None:
    large = b"WARC/" + bytes(5 << 20)
    raw = pack(large) + pack(SMALL)
    found = members(raw, ReadLimits(max_body_bytes=1000))
    assert found.read(0) == Member(0, len(pack(large)), len(large), None)


def test_a_search_goes_on_from_a_false_start_at_the_beginning() -> None:
    raw = b"\x1f\x8b\x08" + gzip_member(SMALL)
    assert members(raw).next_start(0, len(raw)) == 3
