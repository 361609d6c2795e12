"""Bodies that are too large to hold are read piece by piece, wherever they lie and however they were sent."""

import errno
import gzip
import hashlib
import io
import random
import tempfile
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.pipelines.ingest.archive_reading import read
from tests.pipelines.ingest.archives.test_http import ENCODERS, chunked, name_of
from tests.pipelines.ingest.made_archives import KINDS, Capture, Kind, pieces
from winnow.pipelines.ingest.archives.large_bodies import UnreadableBodyError, open_body, read_body
from winnow.pipelines.ingest.records import ReadLimits, Record
from winnow.schemas.errors import StageError

LIMITS = ReadLimits(max_body_bytes=20_000, max_header_bytes=4096)
FILM = random.Random(7).randbytes(2_500_000)  # some bytes could be taken for a chunk with its size
CHUNKED = {"Transfer-Encoding": "chunked"}


def raw_of(body: bytes, kind: Kind, headers: Mapping[str, str] | None = None, **more: Any) -> bytes:
    """An archive with the body between two small ones."""
    film = Capture("https://e.org/film", body, "video/mp4", headers=dict(headers or {}), **more)
    return b"".join(pieces([Capture("https://e.org/a"), film, Capture("https://e.org/b")], kind))


def large_of(raw: bytes, kind: Kind) -> Record:
    found = [one for one in read(raw, limits=LIMITS, arc=kind.startswith("arc")) if isinstance(one, Record)]
    assert [one.body is None for one in found] == [False, True, False]
    return found[1]


def unpacked(raw: bytes, kind: Kind) -> bytes | None:
    """The body, read in pieces of all sizes; None where it breaks off."""
    opened = open_body(io.BytesIO(raw), len(raw), large_of(raw, kind), LIMITS)
    if opened is None:
        return None
    content = opened.content
    whole = b"".join(content.at(at, 70_001) for at in range(0, content.size, 70_001))
    assert opened.sha256 in (None, hashlib.sha256(whole).hexdigest())
    assert content.at(1234, 10) == whole[1234:1244]
    opened.close()
    return whole


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_body_is_read_out_of_every_kind_of_archive(kind: Kind) -> None:
    assert unpacked(raw_of(FILM, kind), kind) == FILM
    assert unpacked(raw_of(chunked(FILM, 65_521), kind, CHUNKED), kind) == FILM


@given(sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=5), kind=st.sampled_from(KINDS))
def test_chunks_of_any_size_are_joined(sizes: Sequence[int], kind: Kind) -> None:
    parts = [FILM[:size] for size in [*sizes, 25_000]]
    stored = b"".join(b"%x;extension\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    assert unpacked(raw_of(stored, kind, CHUNKED), kind) == b"".join(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_in_no_chunks_are_kept_as_they_are(kind: Kind) -> None:
    for stored in (FILM, b"5\r\n" + FILM):
        assert unpacked(raw_of(stored, kind, CHUNKED), kind) == stored


@pytest.mark.parametrize("kind", ["warc", "warc.gz"])
def test_chunks_that_break_off_are_believed_only_of_a_record_that_says_so(kind: Kind) -> None:
    stored = chunked(FILM, 500_000)[:1_200_000]
    assert unpacked(raw_of(stored, kind, CHUNKED), kind) is None
    kept = unpacked(raw_of(stored, kind, CHUNKED, fields={"WARC-Truncated": "length"}), kind)
    assert kept is not None
    assert FILM.startswith(kept)
    assert len(kept) > 1_190_000


@pytest.mark.parametrize("encoder", ENCODERS)
def test_content_codings_are_undone_also_in_chunks_and_when_the_bytes_are_few(encoder: str) -> None:
    name, loose = name_of(encoder), bytes(2_000_000) + FILM[:100_000]  # which takes fewer bytes than are held
    for body in (FILM, loose):
        coded = ENCODERS[encoder](body)
        assert unpacked(raw_of(coded, "warc", {"Content-Encoding": name}), "warc") == body
        wire = raw_of(chunked(coded, 65_521), "warc.gz", {**CHUNKED, "Content-Encoding": name})
        assert unpacked(wire, "warc.gz") == body


def test_of_codings_those_count_that_the_bytes_are_in() -> None:
    several = {"Content-Encoding": "gzip, br"}
    assert unpacked(raw_of(FILM, "warc", several), "warc") == FILM  # decoded before it was stored
    assert unpacked(raw_of(gzip.compress(FILM), "warc", several), "warc") == FILM
    assert unpacked(raw_of(brotli.compress(gzip.compress(FILM), quality=1), "warc", several), "warc") == FILM


def test_a_coding_that_breaks_off_is_believed_only_of_a_record_that_says_so() -> None:
    coded, stored = {"Content-Encoding": "gzip"}, gzip.compress(FILM)[:1_200_000]
    assert unpacked(raw_of(stored, "warc", coded), "warc") is None
    kept = unpacked(raw_of(stored, "warc", coded, fields={"WARC-Truncated": "length"}), "warc")
    assert kept is not None
    assert FILM.startswith(kept)
    assert len(kept) > 1_000_000


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_bomb_ends_at_the_limit_and_leaves_no_body(encoder: str) -> None:
    raw = raw_of(ENCODERS[encoder](bytes(32 << 20)), "warc", {"Content-Encoding": name_of(encoder)})
    limits = replace(LIMITS, max_member_bytes=8 << 20)
    tracemalloc.start()
    assert open_body(io.BytesIO(raw), len(raw), large_of(raw, "warc"), limits) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20


def test_why_a_body_cannot_be_read_is_the_reason_that_a_small_ones_record_has() -> None:
    coded = {"Content-Encoding": "gzip"}
    for body, reason in ((gzip.compress(FILM)[:1_200_000], "bad_encoding"), (gzip.compress(bytes(8 << 20)), "bomb")):
        raw = raw_of(body + bytes(LIMITS.max_body_bytes) * (reason == "bomb"), "warc", coded)
        with pytest.raises(UnreadableBodyError) as caught:
            read_body(io.BytesIO(raw), len(raw), large_of(raw, "warc"), replace(LIMITS, max_member_bytes=3_000_000))
        assert caught.value.reason == reason


def test_an_archive_that_became_shorter_gives_no_body() -> None:
    raw = raw_of(FILM, "warc.gz")
    record = large_of(raw, "warc.gz")
    cut = raw[: record.span.offset + 1_000_000]
    assert open_body(io.BytesIO(cut), len(cut), record, LIMITS) is None


def test_a_full_disk_names_the_folder_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_of(FILM, "warc.gz")
    record = large_of(raw, "warc.gz")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "w+b", buffering=0))  # noqa: SIM115
    with assert_refused(StageError, "TMPDIR"):
        open_body(io.BytesIO(raw), len(raw), record, LIMITS)

    def nowhere() -> IO[bytes]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", nowhere)
    with pytest.raises(StageError, match=r"Permission denied in .* TMPDIR"):  # not the archive's fault
        open_body(io.BytesIO(raw), len(raw), record, LIMITS)
