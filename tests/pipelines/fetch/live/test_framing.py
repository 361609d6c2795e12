"""Bodies are cut out of what comes in any pieces as h11 cuts them, whichever way a header says where they end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.fetch.live.framing import Framing, FramingError, framing_of
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.http import HttpHead, header_fields

SIZED, CHUNKED = "Content-Length: {}", "Transfer-Encoding: chunked"
BEHIND = b"HTTP/1.1 200 OK\r\n"


def framing(*fields: str, status: int = 200, version: str = "1.1") -> Framing:
    header = "\r\n".join((f"HTTP/{version} {status} OK", *fields, "", "")).encode()
    return framing_of(header, HttpHead(len(header), status, header_fields(header.partition(b"\n")[2])))


def fed(cut: Framing, pieces: list[bytes]) -> bytes:
    return b"".join(content for piece in pieces if piece for content in cut.content(piece))


def pieces_of(sent: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(sent), *(min(cut, len(sent)) for cut in cuts)})
    return [sent[start:stop] for start, stop in pairwise(places)]


def chunks_of(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


@given(body=st.binary(max_size=60), cuts=st.lists(st.integers(0, 80)), more=st.sampled_from((b"", BEHIND)))
@pytest.mark.parametrize("kind", [SIZED, CHUNKED])
def test_a_body_is_whole_whatever_pieces_it_comes_in(kind: str, body: bytes, cuts: list[int], more: bytes) -> None:
    sent = body if kind == SIZED else chunks_of(pieces_of(body, cuts[:3]))
    for extra in ((), ("Connection: keep-alive",)):  # the second is left to h11
        cut = framing(kind.format(len(body)), *extra)
        assert fed(cut, pieces_of(sent + more, cuts)) == body
        assert cut.is_whole
        assert cut.takes_another == (not more)


@given(body=st.binary(max_size=60), missing=st.integers(1, 9), cuts=st.lists(st.integers(0, 80)))
@pytest.mark.parametrize("extra", [(), ("Connection: close",)])
def test_a_body_that_ends_too_soon_is_cut_off(
    extra: tuple[str, ...], body: bytes, missing: int, cuts: list[int]
) -> None:
    cut = framing(SIZED.format(len(body) + missing), *extra)
    assert fed(cut, pieces_of(body, cuts)) == body
    assert not cut.is_whole
    with pytest.raises(FramingError) as error:
        list(cut.content(b""))
    assert error.value.reason is Reason.CUT_OFF


@pytest.mark.parametrize(
    ("fields", "status", "version", "takes_another"),
    [
        ((SIZED.format(4),), 200, "1.1", True),
        ((SIZED.format(4), SIZED.format(4)), 200, "1.1", True),
        ((SIZED.format("4, 4"),), 200, "1.1", True),
        ((SIZED.format(4), "Connection: close"), 200, "1.1", False),
        ((SIZED.format(4),), 200, "1.0", False),
        ((SIZED.format(4), "Transfer-Encoding: identity"), 200, "1.1", True),
    ],
)
def test_which_connections_can_be_asked_again(
    fields: tuple[str, ...], status: int, version: str, takes_another: bool
) -> None:
    cut = framing(*fields, status=status, version=version)
    assert fed(cut, [b"body"]) == b"body"
    assert (cut.is_whole, cut.takes_another) == (True, takes_another)


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body_end_with_their_header(status: int) -> None:
    assert framing(SIZED.format(9), status=status).is_whole


@pytest.mark.parametrize("length", ["-1", "four", "4, 5", "0x4", "4" * 30])
def test_a_length_that_is_none_is_told(length: str) -> None:
    with pytest.raises(FramingError) as error:
        framing(SIZED.format(length)).content(b"body")
    assert error.value.reason is Reason.PROTOCOL


def test_a_body_of_no_stated_length_ends_with_the_connection() -> None:
    cut = framing()
    assert fed(cut, [b"a", b"b"]) == b"ab"
    assert not cut.is_whole
    assert list(cut.content(b"")) == []
    assert (cut.is_whole, cut.takes_another) == (True, False)
