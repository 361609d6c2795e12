"""Lists of known harm: what their lines may be, and what is near a hash of theirs."""

import hashlib

import numpy as np
import pytest

from tests.messages import assert_told
from winnow.filters.known_harm.lists import HarmList, HashKind, read_hashes
from winnow.filters.known_harm.matching import HarmMatch, HarmMatcher, PdqLimits
from winnow.schemas.errors import RecipeError

SHA, OTHER = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()
MD5 = hashlib.md5(b"a", usedforsecurity=False).hexdigest()


def held(found: HarmList) -> dict[str, set[str]]:
    return {kind: {bytes(row).hex() for row in rows} for kind, rows in found.hashes.items()}


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (f"{SHA}\n\n# a comment\n{OTHER.upper()}  # twice\n{OTHER}\n", "sha256", {"sha256": {SHA, OTHER}}),
        (f"pdq {SHA}\nvideo_md5 {MD5}\n", None, {"pdq": {SHA}, "md5": {MD5}}),
        (f"video_sha256 {SHA} 'Sample Signals' INVESTIGATION_SEED\nurl_md5 {MD5}\n", None, {"sha256": {SHA}}),
        (f"HASH_VIDEO_SHA256 {SHA}\nHASH_VIDEO_MD5 {MD5}\nHASH_PDQ_OCR {SHA}\n", None, {"sha256": {SHA}, "md5": {MD5}}),
        (f"type,signal,added\npdq,{SHA},2026-01-01\nsha256,{OTHER},\n", None, {"pdq": {SHA}, "sha256": {OTHER}}),
        (f"{MD5}\n", None, {"md5": {MD5}}),
        (f'"hash","note"\n"{SHA}","seen"\n', "pdq", {"pdq": {SHA}}),
    ],
)
def test_lines_of_lists(text: str, kind: HashKind | None, expected: dict[str, set[str]]) -> None:
    assert held(read_hashes("own", text.splitlines(), "own.txt", kind)) == expected


def test_types_that_are_not_compared_are_counted() -> None:
    found = read_hashes("own", [f"pdq {SHA}", f"vpdq {SHA}", "trend_query cats"], "own.txt", None)
    assert (held(found), found.skipped) == ({"pdq": {SHA}}, {"trend_query": 1, "vpdq": 1})


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (SHA, None, "own.txt:1 … 64 digits … sha256"),
        (f"{SHA}\n{MD5}", "sha256", "own.txt:2 … sha256 … 64"),
        (f"{SHA}\nnonsense", "sha256", "own.txt:2 … 'nonsense' … 32"),
        ("# empty\n", "pdq", "own.txt … sha256 … md5"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, kind: HashKind | None, said: str) -> None:
    with pytest.raises(RecipeError) as raised:
        read_hashes("own", text.splitlines(), "own.txt", kind)
    assert_told(str(raised.value), said, whole=True)


def test_digests_and_hashes_are_looked_up_in_the_order_of_the_lists() -> None:
    drawn = np.random.default_rng(7)
    hashes = drawn.integers(0, 256, (500, 32), dtype=np.uint8)
    first = read_hashes("first", [f"pdq {bytes(row).hex()}" for row in hashes[:250]], "f", None)
    second = read_hashes("second", [*(f"pdq {bytes(row).hex()}" for row in hashes[250:]), f"sha256 {SHA}"], "s", None)
    matcher = HarmMatcher([first, second], [PdqLimits(31, 50), PdqLimits(5, 80)])
    assert matcher.kinds == {"pdq", "sha256"}
    assert matcher.by_digest("sha256", bytes.fromhex(SHA)) == HarmMatch("second", "sha256")
    assert matcher.by_digest("sha256", bytes.fromhex(OTHER)) is None
    for row in (0, 100, 249, 250, 499):
        for bits in (0, 5, 6, 31, 32):
            flipped = np.unpackbits(hashes[row])
            flipped[drawn.choice(256, bits, replace=False)] ^= 1
            near = bits <= (31 if row < 250 else 5)
            expected = HarmMatch("first" if row < 250 else "second", "pdq", bits) if near else None
            assert matcher.by_pdq(np.packbits(flipped).tobytes(), 90) == expected
    assert matcher.by_pdq(hashes[0].tobytes(), 50) == HarmMatch("first", "pdq")
    assert matcher.by_pdq(hashes[0].tobytes(), 49) is None
    assert matcher.by_pdq(hashes[499].tobytes(), 79) is None
