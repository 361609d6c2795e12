"""The audit of archives: what a reader got wrong is found without asking a reader."""

import io
import tracemalloc
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from tests.pipelines.ingest.archive_reading import LIMITS, claims, read
from tests.pipelines.ingest.made_archives import KINDS, Capture, Kind, gzip_member, pieces, warc_record
from winnow.pipelines.ingest.records import Span
from winnow.pipelines.ingest.tiling.archives import check_tiling
from winnow.pipelines.ingest.tiling.claims import MAX_FINDINGS, Claim

PAGES = [Capture(f"http://example.org/{name}", f"<p>{name}</p>".encode() * 20) for name in "abcd"]
SEPARATE: tuple[Kind, ...] = ("warc", "warc.gz", "warc.zst", "arc", "arc.gz")


def audited(kind: Kind, broken: Callable[[list[Claim]], Iterable[Claim]]) -> list[str]:
    """What is found when a reader's claims on a sound file are changed as a broken reader would have made them."""
    raw = b"".join(pieces(PAGES, kind))
    return check_tiling(io.BytesIO(raw), broken(claims(read(raw, arc=kind.startswith("arc")))), LIMITS)


def stretched(claim: Claim, more: int) -> Claim:
    return replace(claim, span=replace(claim.span, length=claim.span.length + more))


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_reader_is_proved(kind: Kind) -> None:
    assert audited(kind, lambda honest: honest) == []
    assert audited(kind, lambda honest: honest[::-1]) == []  # the order of the claims does not matter


@pytest.mark.parametrize("kind", SEPARATE)
def test_a_skipped_record_hidden_in_its_neighbours_range_is_found(kind: Kind) -> None:
    def skip(honest: list[Claim]) -> list[Claim]:
        one, two, *rest = honest
        return [stretched(one, two.span.length), *rest]

    [finding] = audited(kind, skip)
    assert "holds" in finding or "claimed" in finding or "that of its block" in finding


@pytest.mark.parametrize("kind", ["warc.gz-one", "warc.zst-one"])
def test_a_record_skipped_inside_a_member_is_found(kind: Kind) -> None:
    assert audited(kind, lambda honest: honest[:-1]) != []
    renumbered = [Claim(Span(0, 0), True)]

    def skip(honest: list[Claim]) -> list[Claim]:
        kept = honest[:1] + honest[2:]
        renumbered[:] = [replace(c, span=replace(c.span, member=i)) for i, c in enumerate(kept)]
        return renumbered

    [finding] = audited(kind, skip)
    assert "4 records" in finding
    assert "3 are claimed" in finding


@pytest.mark.parametrize("kind", SEPARATE)
def test_a_record_skipped_openly_is_a_gap(kind: Kind) -> None:
    [finding] = audited(kind, lambda honest: honest[:1] + honest[2:])
    assert "claimed by nothing" in finding
    [finding] = audited(kind, lambda honest: honest[:-1])
    assert "claimed by nothing" in finding


@pytest.mark.parametrize("kind", SEPARATE)
def test_a_record_read_twice_is_found(kind: Kind) -> None:
    [finding] = audited(kind, lambda honest: [honest[0], *honest])
    assert "not numbered consecutively from 0" in finding


@pytest.mark.parametrize("kind", SEPARATE)
def test_ranges_that_are_not_whole_members_are_found(kind: Kind) -> None:
    def shifted(honest: list[Claim]) -> list[Claim]:
        one, two, *rest = honest
        moved = replace(two.span, offset=two.span.offset + 1, length=two.span.length - 1)
        return [stretched(one, 1), replace(two, span=moved), *rest]

    assert audited(kind, shifted) != []


@pytest.mark.parametrize("kind", SEPARATE)
def test_overlaps_and_ranges_outside_the_file_are_found(kind: Kind) -> None:
    findings = audited(kind, lambda honest: [stretched(honest[0], 5), *honest[1:-1], stretched(honest[-1], 5)])
    assert any("overlaps" in finding for finding in findings)
    assert any("outside this file" in finding for finding in findings)


def test_quarantined_ranges_need_only_be_there() -> None:
    raw = b"".join(pieces(PAGES, "warc.gz"))
    assert check_tiling(io.BytesIO(raw), [Claim(Span(0, len(raw)), False)], LIMITS) == []


def test_a_wrong_length_inside_a_range_is_found() -> None:
    raw = warc_record(PAGES[0]).replace(b"<p>a</p>", b"<p>a</p>more", 1)
    assert len(check_tiling(io.BytesIO(raw), [Claim(Span(0, len(raw)), True)], LIMITS)) == 1


def test_garbage_claimed_as_padding_is_found() -> None:
    raw = warc_record(PAGES[0])
    sound = [Claim(Span(0, len(raw)), True), Claim(Span(len(raw), 6), True)]
    assert check_tiling(io.BytesIO(raw + b"\r\n\r\n\0\0"), sound, LIMITS) == []
    assert len(check_tiling(io.BytesIO(raw + b"junk!!"), sound, LIMITS)) == 1


def test_findings_are_counted_beyond_a_number() -> None:
    wrong = [Claim(Span(i * 2, 1), True) for i in range(1000)]
    findings = check_tiling(io.BytesIO(bytes(2000)), wrong, LIMITS)
    assert len(findings) == MAX_FINDINGS + 1
    assert findings[-1].startswith("and ")


def test_memory_stays_flat_for_a_large_member() -> None:
    packer = zlib.compressobj(1, wbits=31)
    block = bytes(1 << 20)
    head = warc_record(Capture("http://e.org/", b"", fields={"Content-Length": str(64 << 20)})).partition(b"HTTP/")[0]
    raw = packer.compress(head) + b"".join(packer.compress(block) for _ in range(64)) + packer.compress(b"\r\n\r\n")
    raw += packer.flush() + gzip_member(warc_record(PAGES[0]))
    claimed = claims(read(raw))
    tracemalloc.start()
    found = check_tiling(io.BytesIO(raw), claimed, LIMITS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(claimed) == 2
    assert found == []
    assert peak < 8 << 20
