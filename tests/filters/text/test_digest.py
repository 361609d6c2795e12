"""The operator `text.digest`: what is the same in each form, and the digest itself against its author's."""

import json
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.restated_digests import digest_of
from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import scaled
from winnow.filters.language.folding.characters import INVISIBLE
from winnow.filters.operators import find_operator
from winnow.filters.text.digest import OPERATOR, SPACES, WRITES, DigestConfig, Form, digests

WORST = "\uff21 "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "digest.json"

Row = tuple[str, bytes | None, int | None]

_PIECES = (
    *"aZ.!~\x00\x1c\x1f\x7f \n\t\r\v\f\x85\xa0éßЖя漢かㄱ한ع\u061b\u061d\u0600",
    *"\u1680\u180e\u1820\u2000\u2019\u2028\u3000\u3001",
    *"\u200b\u200d\u2060\ufeff\xad\u061c\u202e\u2066\u2069\ufe0f\u3164\u115f\U000e0041\U0001d173\U0001f600\U0001bca1",
    "  ", " \u200b ", "word ", "eight ch", "abcdefgh ", "über ", "слово ", "日本", "x" * 50,
)  # fmt: skip
texts = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


def measured(*texts: str, form: Form = "spaces") -> list[Row]:
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    found = digests(batch, form)
    assert found.schema.equals(WRITES)
    found.validate(full=True)
    return [tuple(row.values()) for row in found.to_pylist()]


def digest(text: str, form: Form = "spaces") -> bytes | None:
    ((_, found, _),) = measured(text, form=form)
    return found


def _is_within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(character) <= high for low, high in ranges)


def spaces(text: str) -> str:
    """The form `spaces`, as its rules say it."""
    seen = "".join(one for one in text if not _is_within(one, INVISIBLE))
    parted = "".join(" " if _is_within(one, SPACES) else one for one in seen)
    return " ".join(word for word in parted.split(" ") if word)


def expected(text: str, form: Form) -> Row:
    left = spaces(text) if form == "spaces" else text
    content = text.encode()
    return ("ok", digest_of(left.encode()), len(content)) if left else ("no_text_left", None, None)


def test_it_is_found_by_its_name() -> None:
    assert find_operator("text.digest") is OPERATOR
    assert DigestConfig().form == "spaces"
    assert OPERATOR.reasons == ("no_text_left",)


@pytest.mark.parametrize(
    ("text", "found"),
    [  # smhasher's murmur3_x64_128 with the seed 0, its two halves as numbers
        ("hello", (0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19)),
        ("The quick brown fox jumps over the lazy dog", (0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347)),
    ],
)
def test_the_digest_is_the_published_one(text: str, found: tuple[int, int]) -> None:
    assert digest(text, "bytes") == b"".join(half.to_bytes(8, "little") for half in found)
    assert digest_of(text.encode()) == digest(text, "bytes")


@pytest.mark.parametrize(
    "text",
    ["a b", " a b ", "a\r\n\tb", "a\u3000\u2028b", "\ufeffa b", "a \u200b b", "\u200fa\u200b b\u2069", "a\xad\xa0b"],
)
def test_white_space_and_what_nobody_sees_do_not_count(text: str) -> None:
    assert digest(text) == digest("a b", "bytes")


@pytest.mark.parametrize("text", ["A b", "ab", "a b.", "a\u0301 b", "á b", "a\x1cb", "a\x00b", "a b\x00"])
def test_all_else_counts(text: str) -> None:
    assert digest(text) != digest("a b")


def test_spaces_are_the_white_space_of_unicode() -> None:
    # Python's isspace also takes the four separators of ASCII, which have not the property.
    spaces_of_python = [point for point in range(0x110000) if chr(point).isspace() and not 0x1C <= point <= 0x1F]
    assert [point for point in range(0x110000) if _is_within(chr(point), SPACES)] == spaces_of_python


def test_every_code_point_is_what_the_rules_say() -> None:
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    kinds: dict[bytes | None, str] = {digest("xy"): "unseen", digest("x y"): "space"}
    chosen = [one for one in points if _is_within(one, INVISIBLE) or ord(one) < 0x3200 or 0xFE00 <= ord(one) < 0x10000]
    found = [kinds.get(row[1], "seen") for row in measured(*(f"x{one}y" for one in chosen))]
    assert found == [
        "unseen" if _is_within(one, INVISIBLE) else "space" if _is_within(one, SPACES) else "seen" for one in chosen
    ]


def test_of_nothing_there_is_no_digest() -> None:
    nothing: Row = ("no_text_left", None, None)
    assert measured("", " \n\u3000", "\u200b\ufeff \u2060", "a") == [nothing, nothing, nothing, expected("a", "spaces")]
    assert measured("", " ", form="bytes") == [nothing, ("ok", digest_of(b" "), 1)]
    assert measured() == []


@settings(deadline=None)
@given(st.lists(st.one_of(texts, st.text(max_size=40)), max_size=6), st.sampled_from(("bytes", "spaces")))
def test_it_is_what_plain_python_says(rows: list[str], form: Form) -> None:
    assert measured(*rows, form=form) == [expected(text, form) for text in rows]


@settings(deadline=None, max_examples=scaled(40))
@given(texts, st.integers(4060, 4120), st.sampled_from(("a", " ", "é", "か", " b", "\n\n", "ab\u200b")))
def test_where_a_block_ends_does_not_matter(text: str, before: int, filling: str) -> None:
    long = (filling * before)[:before] + text + "z " * 2050 + text
    assert measured(long) == [expected(long, "spaces")]


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=8), st.data())
def test_a_row_depends_on_itself_alone(rows: list[str], drawn: st.DataObject) -> None:
    order = drawn.draw(st.permutations(range(len(rows))))
    whole = measured(*rows)
    assert measured(*(rows[at] for at in order)) == [whole[at] for at in order]
    batch = pa.RecordBatch.from_arrays([pa.array(rows, pa.large_string())], names=["text"])
    cut = drawn.draw(st.integers(0, len(rows)))
    parts = [digests(batch.slice(*part), "spaces").to_pylist() for part in ((0, cut), (cut, len(rows) - cut))]
    assert [tuple(row.values()) for part in parts for row in part] == whole


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    text = HOSTILE[name]
    assert measured(text) == [expected(text, "spaces")]
    assert measured(text, form="bytes") == [expected(text, "bytes")]


def test_normal_forms_of_unicode_differ() -> None:
    assert digest("é") != digest(unicodedata.normalize("NFD", "é"))


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    texts = [text for text, *_ in golden["texts"]]
    found = zip(texts, measured(*texts), measured(*texts, form="bytes"), strict=True)
    assert golden["texts"] == [
        [text, row[0], row[1] and row[1].hex(), row[2], plain[1] and plain[1].hex()] for text, row, plain in found
    ]
