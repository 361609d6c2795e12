"""Ranges beside a loop that joins records one by one, and records beside what a whole reader says of them."""

import gzip
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.fetch.archives.loopback import BEGIN, record
from winnow.pipelines.fetch.archives import ranges, record_check
from winnow.pipelines.fetch.archives.ranges import coalesced
from winnow.pipelines.fetch.archives.record_check import flaw_of

URL = "https://a.is/x"


def joined(records: list[tuple[int, int, int]], gap: int, most: int) -> list[tuple[int, int, int, int]]:
    """The same, one record after the other: file, start, stop and the number of records of each range."""
    parts: list[list[tuple[int, int, int]]] = []
    for one in records:
        file, offset, _ = one
        end = max((before[1] + before[2] for before in parts[-1]), default=0) if parts else 0
        if parts and parts[-1][0][0] == file and offset - end <= gap:
            parts[-1].append(one)
        else:
            parts.append([one])
    found = []
    for part in parts:
        rest = part
        while rest:
            start, count = rest[0][1], len(rest)
            while count > 1 and max(one[1] + one[2] for one in rest[:count]) - start > most:
                count -= 1
            found.append((rest[0][0], start, max(one[1] + one[2] for one in rest[:count]), count))
            rest = rest[count:]
    return found


@example([(0, 0, 25), (0, 46, 60), (0, 68, 32), (0, 94, 31)], 37)  # a record within another
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(1, 60)), max_size=40),
    st.integers(0, 50),
)
def test_ranges_are_those_that_joining_one_by_one_gives(records: list[tuple[int, int, int]], gap: int) -> None:
    records = sorted(set(records), key=lambda one: (one[0], one[1]))
    files, offsets, lengths = (np.array([one[part] for one in records], np.int64) for part in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "RANGE_BYTES", 100)
        found = coalesced(files, offsets, lengths, gap)
    asked = [
        (int(files[first]), int(start), int(stop), int(after - first))
        for start, stop, first, after in zip(found.starts, found.stops, found.first[:-1], found.first[1:], strict=True)
    ]
    assert asked == joined(records, gap, 100)


def test_every_cut_or_lengthened_member_is_seen() -> None:
    random = Random(7)
    one = record(URL, random.randbytes(3_000), BEGIN)
    two = record("https://a.is/y", random.randbytes(500), BEGIN)
    assert flaw_of(memoryview(one), URL) is None
    for length in [*range(0, 60), *random.sample(range(60, len(one)), 300)]:
        assert flaw_of(memoryview(one)[:length], URL) is not None
    for extra in range(1, len(two) + 1):
        assert flaw_of(memoryview(one + two[:extra]), URL) is not None
    for start in range(1, 200):
        assert flaw_of(memoryview(one)[start:], URL) is not None


def told(kind: str, length: str, target: str = f"WARC-Target-URI: {URL}\r\n", more: str = "") -> str:
    """A header, and four bytes."""
    return f"WARC/1.0\r\n{more}WARC-Type: {kind}\r\n{target}Content-Length: {length}\r\n\r\nbody\r\n\r\n"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (told("response", "4").lower().replace(": ", ":").replace("warc/", "WARC/"), None),
        (told("response", "4", f"WARC-Target-URI: <{URL}>\r\n"), None),
        (told("response", "4", "WARC-Target-URI: HTTPS://A.is:443/x#f\r\n"), None),
        (told("response", "4", more=f"X: {'y' * 9_000}\r\n"), None),
        (told("request", "4"), "request"),
        (told("response", "4", ""), "another address"),
        (told("response", "x"), "header"),
        (f"WARC/1.0\r\nX: {'y' * 99_000}", "header"),
        ("<html>", "header"),
        ("", "header"),
    ],
)
def test_a_header_is_read_however_it_is_written(header: str, why: str | None) -> None:
    found = flaw_of(memoryview(gzip.compress(header.encode())), URL)
    assert found is None if why is None else found is not None and why in found


def test_a_member_that_inflates_without_end_is_not_inflated_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_check, "_MOST_BYTES", 2 << 20)
    bomb = gzip.compress(told("response", "9").encode() + b"\0" * (8 << 20))
    assert "inflates" in (flaw_of(memoryview(bomb), URL) or "")
