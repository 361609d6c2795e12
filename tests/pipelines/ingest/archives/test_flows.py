"""Bytes by position: a window over a file, or over what a decompressor gives."""

import io
from collections.abc import Iterator

import pytest

from winnow.pipelines.ingest.archives.flows import CHUNK_BYTES, MAX_REWINDS, FileFlow, Flow, HeldFlow, StreamFlow

CONTENT = (bytes(range(251)) * (3 * CHUNK_BYTES // 251 + 1))[: 3 * CHUNK_BYTES + 5]


class Counted(io.BytesIO):
    """A file that counts how many bytes are read of it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.taken += len(found)
        return found


def chunked(content: bytes, size: int) -> StreamFlow:
    def chunks() -> Iterator[bytes]:
        return (content[at : at + size] for at in range(0, len(content), size))

    return StreamFlow(chunks, len(content))


FLOWS = {
    "held": HeldFlow,
    "file": lambda content: FileFlow(io.BytesIO(content), len(content)),
    "chunks": lambda content: chunked(content, 1000),
    "bytes": lambda content: chunked(content, 1),
}


@pytest.mark.parametrize("kind", FLOWS)
def test_bytes_are_where_they_are_and_end_where_the_flow_ends(kind: str) -> None:
    content = CONTENT[:5000]
    flow: Flow = FLOWS[kind](content)
    assert flow.size == 5000
    for at, count in ((0, 10), (5, 10), (990, 20), (4990, 10), (4990, 11), (5000, 1), (3000, 2000), (17, 1)):
        assert flow.peek(at, count) == content[at : at + count]
        assert flow.probe(at, count) == content[at : at + count]
    assert flow.size == 5000


@pytest.mark.parametrize("kind", FLOWS)
def test_a_literal_is_found_where_it_begins_before_the_limit(kind: str) -> None:
    content = bytes(2998) + b"mark" + bytes(1996) + b"mark"
    flow: Flow = FLOWS[kind](content)
    first, second = 2998, 4998
    assert flow.find(b"mark", 0, 5002) == first
    assert flow.find(b"mark", first, first + 1) == first
    assert flow.find(b"mark", 100, first) == -1
    assert flow.find(b"mark", first + 1, 5002) == second
    assert flow.find(b"mark", second, second + 1) == second
    assert flow.find(b"mark", second + 1, 6000) == -1
    assert flow.find(b"none", 0, 5002) == -1


def test_a_literal_is_found_across_the_ends_of_windows() -> None:
    for at in range(CHUNK_BYTES - 4, CHUNK_BYTES + 1):
        content = bytes(at) + b"mark" + bytes(CHUNK_BYTES)
        flow = FileFlow(io.BytesIO(content), len(content))
        assert flow.find(b"mark", 0, len(content)) == at
        flow = FileFlow(io.BytesIO(content), len(content))
        assert flow.peek(at - 1000, 10) == bytes(10)  # the window begins elsewhere
        assert flow.find(b"mark", at - 900, at) == -1
        assert flow.find(b"mark", at - 900, at + 1) == at


def test_what_is_in_the_window_is_not_read_again() -> None:
    stream = Counted(CONTENT)
    flow = FileFlow(stream, len(CONTENT))
    for at in (0, 7, CHUNK_BYTES - 10, 3):
        assert flow.peek(at, 10) == CONTENT[at : at + 10]
    assert stream.taken == CHUNK_BYTES
    assert flow.probe(2 * CHUNK_BYTES, 10) == CONTENT[2 * CHUNK_BYTES :][:10]
    assert stream.taken == CHUNK_BYTES + 10
    assert flow.peek(0, CHUNK_BYTES) == CONTENT[:CHUNK_BYTES]
    assert stream.taken == CHUNK_BYTES + 10
    for at in range(0, len(CONTENT), 1000):
        flow.peek(at, 1000)
    assert stream.taken == len(CONTENT) + 10
    for count in (10, 1 << 30):
        flow.peek(len(CONTENT) - 5, count)
    assert stream.taken == len(CONTENT) + 10


def test_a_file_that_is_shorter_than_listed_ends_where_it_does() -> None:
    assert FileFlow(io.BytesIO(CONTENT[:10]), 20).size == 10
    assert FileFlow(io.BytesIO(CONTENT[:20]), 10).peek(0, 20) == CONTENT[:10]
    stream = io.BytesIO(CONTENT[:20])
    flow = FileFlow(stream, 20)
    stream.truncate(12)
    assert flow.peek(5, 10) == CONTENT[5:12]
    assert flow.size == 12


def test_a_stream_may_begin_again_only_so_often() -> None:
    flow = chunked(CONTENT[:5000], 100)
    for _ in range(MAX_REWINDS):
        assert flow.peek(4000, 10) == CONTENT[4000:4010]
        assert flow.reaches(0)
        assert flow.peek(0, 10) == CONTENT[:10]
    assert flow.peek(4000, 10) == CONTENT[4000:4010]
    assert not flow.reaches(0)
    assert flow.reaches(4000)
    assert flow.reaches(4999)


def test_a_stream_that_gives_less_than_declared_ends_where_it_does() -> None:
    flow = StreamFlow(lambda: iter([b"abc", b"de"]), 100)
    assert flow.peek(3, 10) == b"de"
    assert flow.size == 5
    flow = StreamFlow(lambda: iter([b"abc", b"de"]), 100)
    assert flow.peek(50, 1) == b""
    assert flow.size == 5


def test_a_probe_is_whole_beside_the_end_of_the_window_and_in_one_that_moved() -> None:
    flow = FileFlow(io.BytesIO(CONTENT), len(CONTENT))
    flow.peek(0, 10)
    assert flow.probe(CHUNK_BYTES - 5, 10) == CONTENT[CHUNK_BYTES - 5 :][:10]
    flow.peek(CHUNK_BYTES + 7, 10)
    assert flow.probe(CHUNK_BYTES + 100, 10) == CONTENT[CHUNK_BYTES + 100 :][:10]
    assert flow.probe(3, 10) == CONTENT[3:13]
    assert flow.probe(len(CONTENT) - 3, 10) == CONTENT[-3:]


def test_every_place_of_a_file_can_be_reached() -> None:
    assert FileFlow(io.BytesIO(CONTENT), len(CONTENT)).reaches(0)
    assert HeldFlow(b"").reaches(0)
