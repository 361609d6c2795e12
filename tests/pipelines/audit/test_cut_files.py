"""Readers and the audit agree on what a file is, wherever it is cut and whatever a byte of it says."""

import io
from collections.abc import Iterator
from random import Random

import pytest

from tests.pipelines.ingest.bad_files import ODD, damaged, seeds
from winnow.pipelines.ingest.formats import container_reader, format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.records import Covered, Dropped, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.schemas.records import FilePart

LIMITS = ReadLimits(max_body_bytes=1 << 20, max_member_bytes=4 << 20)
FILES = {
    ending: raw for place, files in seeds().items() if place not in ("album", "films") for ending, raw in files.items()
}


def wrong(ending: str, raw: bytes) -> list[str]:
    """What the audit finds wrong with the events of a file, and where the reader itself failed."""
    name = f"file{ending}"
    reader = container_reader("auto", name, ColumnMapping(), checked=False, with_referrers=True)
    events = list(reader(io.BytesIO(raw), FilePart(name, len(raw), 0, len(raw)), LIMITS))
    failed = [one.detail for one in events if isinstance(one, Unreadable) and one.reason == "reader_failed"]
    claims = [Claim(one.span, isinstance(one, Record | Dropped)) for one in events if not isinstance(one, Covered)]
    return failed + format_of("auto", name).check_claims(OpenFile(io.BytesIO(raw), name, len(raw), LIMITS), claims)


def cuts(raw: bytes) -> Iterator[int]:
    """Every place near the beginning, the end and the borders of blocks, and some others."""
    near = (*range(40), *range(len(raw) - 40, len(raw)))
    blocks = (at + more for at in range(0, len(raw), 512) for more in (-1, 1, 100, 156, 200, 500))
    return (at for at in sorted({*near, *blocks, *range(0, len(raw), 61)}) if 0 <= at < len(raw))


@pytest.mark.parametrize("ending", FILES)
def test_a_file_that_is_cut_anywhere_is_accounted_for(ending: str) -> None:
    raw = FILES[ending]
    assert {at: found for at in cuts(raw) if (found := wrong(ending, raw[:at]))} == {}


@pytest.mark.parametrize("ending", ODD["tables"])
def test_odd_beginnings_are_accounted_for(ending: str) -> None:
    assert wrong(ending, ODD["tables"][ending]) == []


@pytest.mark.large
@pytest.mark.parametrize("ending", FILES)
def test_a_file_with_any_byte_changed_is_accounted_for(ending: str) -> None:
    raw = FILES[ending]
    changed = {
        (at, value): raw[:at] + bytes([value]) + raw[at + 1 :]
        for at in range(min(len(raw), 400))
        for value in (0, 1, 0x20, 0x40, 0x7F, 0x80, 0xE0, 0xFF)
    }
    assert {place: found for place, bad in changed.items() if (found := wrong(ending, bad))} == {}


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 2000), marks=pytest.mark.large)])
def test_a_damaged_file_is_accounted_for(ending: str, seeds: range) -> None:
    copies = {seed: damaged(Random(f"{ending} {seed}"), ending, FILES[ending]) for seed in seeds}
    assert {seed: found for seed, bad in copies.items() if (found := wrong(ending, bad))} == {}


def test_a_header_of_a_tar_may_say_anything_of_owner_and_time() -> None:
    raw = bytearray(FILES["-0.tar"])
    raw[108:116], raw[136:148] = b"8" * 8, b"\xff" * 12
    raw[148:156] = b"%06o\0 " % sum(raw[:148] + b" " * 8 + raw[156:512])
    assert wrong("-0.tar", bytes(raw)) == []
